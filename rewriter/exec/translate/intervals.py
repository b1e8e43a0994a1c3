"""Literal intervals, and times plus and minus them, for the allow-list of ``expressions``."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import reduce

from sqlglot import exp

from rewriter.exec.sql_types import DATE, TIMESTAMP, VOID, interval_of
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Typed
from rewriter.lazy_dataclass import dataclass

_DAY = 86_400_000_000
#: Microseconds by the units of a day-time interval, and months by the units of a year-month interval, from the largest
#: on.
_MICROS = {"DAY": _DAY, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_MONTHS = {"YEAR": 12, "MONTH": 1}
_UNITS = (*_MONTHS, *_MICROS)
CLOCK_UNITS = ("HOUR", "MINUTE", "SECOND")
_MOST_DIGITS = 9
#: ``'1 02:03:04.5'`` and its parts: the text of ``INTERVAL '…' DAY TO SECOND``.
_TEXTS = {
    ("YEAR", "MONTH"): r"(?P<YEAR>\d+)-(?P<MONTH>\d+)",
    ("DAY", "HOUR"): r"(?P<DAY>\d+) (?P<HOUR>\d+)",
    ("DAY", "MINUTE"): r"(?P<DAY>\d+) (?P<HOUR>\d+):(?P<MINUTE>\d+)",
    ("DAY", "SECOND"): r"(?P<DAY>\d+) (?P<HOUR>\d+):(?P<MINUTE>\d+):(?P<SECOND>\d+)(?:\.(?P<FRACTION>\d{1,6}))?",
    ("HOUR", "MINUTE"): r"(?P<HOUR>\d+):(?P<MINUTE>\d+)",
    ("HOUR", "SECOND"): r"(?P<HOUR>\d+):(?P<MINUTE>\d+):(?P<SECOND>\d+)(?:\.(?P<FRACTION>\d{1,6}))?",
    ("MINUTE", "SECOND"): r"(?P<MINUTE>\d+):(?P<SECOND>\d+)(?:\.(?P<FRACTION>\d{1,6}))?",
}
_MOST = {"MONTH": 11, "HOUR": 23, "MINUTE": 59, "SECOND": 59}


@dataclass(frozen=True)
class _Interval:
    """A literal interval: months or microseconds, ``first`` TO ``last``."""

    amount: int
    first: str
    last: str

    @property
    def is_months(self) -> bool:
        return self.first in _MONTHS

    def plus(self, other: _Interval) -> _Interval:
        """Returns the sum of two intervals of the same kind."""
        units = sorted((self.first, self.last, other.first, other.last), key=_UNITS.index)
        return _Interval(self.amount + other.amount, units[0], units[-1])

    @property
    def name(self) -> str:
        """The interval as Spark shows it."""
        sizes = {unit: size for unit, size in {**_MONTHS, **_MICROS}.items() if self._has(unit)}
        fields, rest = {}, abs(self.amount)
        for unit, size in sizes.items():
            fields[unit], rest = divmod(rest, size)
        span = self.first if self.first == self.last else f"{self.first} TO {self.last}"
        return f"INTERVAL '{'-' * (self.amount < 0)}{_shown(fields, rest)}' {span}"

    def _has(self, unit: str) -> bool:
        return _UNITS.index(self.first) <= _UNITS.index(unit) <= _UNITS.index(self.last)


def _shown(fields: dict[str, int], micros: int) -> str:
    if not fields.keys() & _MICROS.keys():
        return "-".join(map(str, fields.values()))
    clock = ":".join(f"{number:02d}" for unit, number in fields.items() if unit != "DAY")
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return " ".join(filter(None, (str(fields["DAY"]) if "DAY" in fields else "", clock + fraction)))


def with_interval(e: Expressions, node: exp.Expr, scope: Scope) -> Typed | None:
    """Returns a date or timestamp plus or minus a literal interval, and a literal interval of several units; ``None``
    for other nodes.
    """
    if isinstance(node, exp.Add) and _is_interval(e, node):
        return interval_value(e, node, scope)
    is_left, is_right = _is_interval(e, node.this), _is_interval(e, node.expression)
    if is_left is is_right or not isinstance(node, exp.Add | exp.Sub):
        return None
    operand, other = (node.this, node.expression) if is_left else (node.expression, node.this)
    value = e.translate(other, scope)
    if value.type.is_interval or value.type == VOID:
        return None
    e.entries.add(ENTRY)
    if is_left and isinstance(node, exp.Sub):
        e.refuse(node, "An interval minus a time")
    interval, factor = _multiplied(e, operand, scope)
    if not value.type.is_datetime:
        e.refuse(node, f"An interval and {value.type}")
    is_days = interval.first == interval.last == "DAY" and factor is None
    type_ = TIMESTAMP if value.type == DATE and not (interval.is_months or is_days) else value.type
    operator = "-" if isinstance(node, exp.Sub) else "+"
    sql = plain_cast(f"{value.sql} {operator} {_step(interval, factor, is_days)}", type_)
    return Typed(sql, type_, _name(value, operator, _shown_interval(e, operand, interval), factor, is_days))


def _step(interval: _Interval, factor: Typed | None, is_days: bool) -> str:
    """Returns DuckDB's interval. Its number is multiplied in 128 bits, and the cast detects an overflow."""
    amount = interval.amount // _DAY if is_days else interval.amount
    number = str(amount) if factor is None else f"CAST(CAST({factor.sql} AS HUGEINT) * {amount} AS BIGINT)"
    if interval.is_months:
        return f"to_months(CAST({number} AS INTEGER))"
    return f"INTERVAL ({number}) DAY" if is_days else f"to_microseconds({number})"


def _name(value: Typed, operator: str, shown: str | None, factor: Typed | None, is_days: bool) -> str | None:
    if shown is None or value.name is None or (factor is not None and factor.name is None):
        return None
    if is_days and value.type == DATE:
        days = f"extractansiintervaldays({shown})"
        return f"date_add({value.name}, {days if operator == '+' else f'(- {days})'})"
    return f"{value.name} {operator} {shown if factor is None else f'({shown} * {factor.name})'}"


def _is_interval(e: Expressions, node: exp.Expr) -> bool:
    """Tests for an interval: of one unit or several, in parentheses, or multiplied by a number."""
    node = node.unnest()
    if isinstance(node, exp.Mul):
        return _is_interval(e, node.this) or _is_interval(e, node.expression)
    if isinstance(node, exp.Add) and isinstance(node.this, exp.Interval) and e.text.has_long_intervals:
        return _is_interval(e, node.expression)
    return isinstance(node, exp.Interval)


def _shown_interval(e: Expressions, node: exp.Expr, interval: _Interval) -> str | None:
    """Returns Spark's name of an interval; ``None`` if it may be a sum of two, which has another one."""
    return None if e.text.has_interval_sums and node.find(exp.Add) is not None else interval.name


def _multiplied(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[_Interval, Typed | None]:
    """Returns an interval and the integer by which it is multiplied."""
    inner = node.unnest()
    if not isinstance(inner, exp.Mul):
        return _interval(e, inner), None
    is_left = _is_interval(e, inner.this)
    operand, other = (inner.this, inner.expression) if is_left else (inner.expression, inner.this)
    if isinstance(operand.unnest(), exp.Mul) or _is_interval(e, other):
        e.refuse(inner, f"The arithmetic of intervals {e.text.shown(inner)}")
    factor = e.translate(other, scope)
    if not factor.type.is_integer:
        e.refuse(inner, f"An interval multiplied by {factor.type}")
    return _interval(e, operand.unnest()), factor


def _interval(e: Expressions, node: exp.Expr) -> _Interval:
    if isinstance(node, exp.Add):
        # ``INTERVAL 1 DAY 2 HOURS``. A plus between them is the sign of the second number.
        first, second = _interval(e, node.this), _interval(e, node.expression)
        if first.is_months != second.is_months:
            e.refuse(node, "An interval of months and days")
        return first.plus(second)
    e.allow_only(node, "this", "unit")
    text = str(node.this.this) if isinstance(node.this, exp.Literal) else ""
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        interval = _spanning(text, (str(unit.this).upper(), str(unit.expression).upper()))
    else:
        interval = _of_units(f"{text} {unit.name}" if isinstance(unit, exp.Var) else text)
    if interval is None:
        e.refuse(node, f"The interval {e.text.shown(node)}")
    return interval


def interval_of_one_unit(e: Expressions, node: exp.Expr) -> tuple[int, str]:
    """Returns the amount and the unit of a literal interval. A week is 7 days. Refuses an interval of several units."""
    interval = _interval(e, node)
    amount, rest = divmod(interval.amount, {**_MONTHS, **_MICROS}[interval.first])
    if rest or interval.first != interval.last:
        e.refuse(node, f"The interval {e.text.shown(node)}")
    return amount, interval.first


def _of_units(text: str) -> _Interval | None:
    """Reads ``1 day`` and ``1 day 2 hours``."""
    if not re.fullmatch(rf" *(?:-?\d{{1,{_MOST_DIGITS}}}(?:\.\d{{1,6}})? +[a-z]+ *)+", text, re.ASCII | re.IGNORECASE):
        return None
    words = text.upper().split()
    intervals = []
    for digits, word in zip(words[::2], words[1::2], strict=True):
        number, unit = Decimal(digits), word.removesuffix("S")
        if unit == "WEEK":
            number, unit = number * 7, "DAY"
        if unit not in _UNITS or (number % 1 and unit != "SECOND"):
            return None
        intervals.append(_Interval(int(number * {**_MONTHS, **_MICROS}[unit]), unit, unit))
    if len({interval.is_months for interval in intervals}) > 1:
        return None
    return reduce(_Interval.plus, intervals)


def _spanning(text: str, span: tuple[str, str]) -> _Interval | None:
    """Reads the text of an interval from one unit to another."""
    match = re.fullmatch(f"[+-]?{_TEXTS.get(span, '(?!)')}", text, re.ASCII)
    if match is None:
        return None
    fields = {unit: digits for unit, digits in match.groupdict().items() if digits is not None}
    fraction = fields.pop("FRACTION", "")
    numbers = {unit: int(digits) for unit, digits in fields.items()}
    too_large = (number > _MOST.get(unit, number) for unit, number in numbers.items() if unit != span[0])
    if any(too_large) or len(fields[span[0]]) > _MOST_DIGITS:
        return None
    sizes = {**_MONTHS, **_MICROS}
    amount = sum(number * sizes[unit] for unit, number in numbers.items()) + int(fraction.ljust(6, "0") or 0)
    return _Interval(-amount if text.startswith("-") else amount, *span)


def interval_value(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates a literal interval as a value."""
    interval = _interval(e, node)
    if interval.is_months and not -(2**31) <= interval.amount < 2**31:
        e.refuse(node, f"The interval {e.text.shown(node)}")
    type_ = interval_of(interval.first.lower(), interval.last.lower())
    return Typed(plain_cast(str(interval.amount), type_), type_, _shown_interval(e, node, interval))


ENTRY = Entry(
    "Operators",
    "time ± INTERVAL n SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|YEAR …, time ± INTERVAL '…' unit TO unit, n * INTERVAL …",
    "parts of a unit other than SECOND",
)
