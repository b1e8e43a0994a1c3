"""Interval literals, in all forms of Spark 4: ``INTERVAL 7 DAYS``, ``INTERVAL '1 day 2 hours'``, ``INTERVAL '1-2' YEAR
TO MONTH``.

An ANSI interval consists either of months or of microseconds. Spark refuses a mixture, so there is none here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from rewriter.timeline.civil import DAY, HOUR, MINUTE, SECOND

_MONTHS = {"YEAR": 12, "MONTH": 1}
_MICROS = {
    "WEEK": 7 * DAY, "DAY": DAY, "HOUR": HOUR, "MINUTE": MINUTE, "SECOND": SECOND, "MILLISECOND": 1000,
    "MICROSECOND": 1,
}  # fmt: skip
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_LIMITS = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}
_AMOUNT = re.compile(r"\s*(?P<sign>[+-]?)(?P<whole>[0-9]{1,9})(?:\.(?P<fraction>[0-9]{1,6}))?\s*", re.ASCII)
_STEP = re.compile(r"\s*(?P<amount>[+-]?[0-9]+(?:\.[0-9]+)?)\s+(?P<unit>[a-zA-Z]+)(?:\s+|$)", re.ASCII)
_YEARS_AND_MONTHS = re.compile(r"(?P<sign>[+-]?)(?P<years>[0-9]{1,4})-(?P<months>[0-9]{1,2})", re.ASCII)


@dataclass(frozen=True)
class Interval:
    """A length of calendar months or of microseconds; one of the two is 0."""

    months: int = 0
    micros: int = 0

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.micros)


NO_INTERVAL = Interval()


def interval_literal(node: exp.Interval) -> Interval | None:
    """Returns the interval that a literal means, or ``None`` if it is not a literal or Spark would not read it so."""
    amount, sign = node.this, 1
    if isinstance(amount, exp.Neg):
        amount, sign = amount.this, -1
    if not isinstance(amount, exp.Literal):
        return None
    match node.args.get("unit"):
        case None:
            interval = _steps(amount.name)
        case exp.Var() as unit:
            interval = unit_interval(amount.name, unit.name)
        case exp.IntervalSpan() as span:
            interval = _span(amount.name, span.this.name.upper(), span.expression.name.upper())
        case _:
            return None
    return -interval if interval is not None and sign < 0 else interval


def unit_interval(amount: str, unit: str) -> Interval | None:
    """Returns an amount of one unit, as in ``INTERVAL '-7' DAYS``. Only seconds may have a fraction."""
    name, match = unit.upper().removesuffix("S"), _AMOUNT.fullmatch(amount)
    if match is None or (match["fraction"] and name != "SECOND"):
        return None
    count = int(match["whole"]) * (-1 if match["sign"] == "-" else 1)
    if name in _MONTHS:
        return Interval(months=count * _MONTHS[name])
    if name not in _MICROS:
        return None
    fraction = int((match["fraction"] or "").ljust(6, "0")) * (-1 if match["sign"] == "-" else 1)
    return Interval(micros=count * _MICROS[name] + fraction)


def _steps(text: str) -> Interval | None:
    months, micros, at = 0, 0, 0
    kinds = set()
    while at < len(text):
        step = _STEP.match(text, at)
        interval = unit_interval(step["amount"], step["unit"]) if step is not None else None
        if step is None or interval is None:
            return None
        kinds.add(step["unit"].upper().removesuffix("S") in _MONTHS)
        months, micros, at = months + interval.months, micros + interval.micros, step.end()
    return Interval(months, micros) if len(kinds) == 1 else None


def _span(text: str, first: str, last: str) -> Interval | None:
    if (first, last) == ("YEAR", "MONTH"):
        match = _YEARS_AND_MONTHS.fullmatch(text)
        if match is None or int(match["months"]) > 11:
            return None
        months = int(match["years"]) * 12 + int(match["months"])
        return Interval(months=-months if match["sign"] == "-" else months)
    if first not in _FIELDS or last not in _FIELDS or _FIELDS.index(first) >= _FIELDS.index(last):
        return None
    fields = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]
    pattern = r"(?P<sign>[+-]?)" + "".join(
        f"(?P<{field}>[0-9]{{1,{9 if field == first else 2}}})"
        + (r"(?:\.(?P<fraction>[0-9]{1,6}))?" if field == "SECOND" else "")
        + ("" if field == last else " " if field == "DAY" else ":")
        for field in fields
    )
    match = re.fullmatch(pattern, text, re.ASCII)
    if match is None or any(int(match[field]) > _LIMITS[field] for field in fields[1:]):
        return None
    micros = sum(int(match[field]) * _MICROS[field] for field in fields)
    if last == "SECOND":
        micros += int((match["fraction"] or "").ljust(6, "0"))
    return Interval(micros=-micros if match["sign"] == "-" else micros)
