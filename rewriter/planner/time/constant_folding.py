"""Constant expressions of time, folded as Spark 4 would evaluate them in a UTC session.

Only forms whose value in Spark is certain are folded. Other forms fold to ``None``, and a predicate that contains one
is no range. A string is read as a timestamp or a date, depending on the side it is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import SupportsInt

from sqlglot import exp

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.sqlglot_trees import TIMESTAMPS, is_of_type
from rewriter.planner.time.datetime_fields import unit_named
from rewriter.timeline.calendars import UTC as UTC_CALENDAR
from rewriter.timeline.calendars import Calendar
from rewriter.timeline.civil import (
    DAY,
    HOUR,
    MAX_INSTANT,
    MIN_INSTANT,
    MINUTE,
    SECOND,
    civil_from_days,
    days_from_civil,
    month_length,
)
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timestamp_casts import date_text, has_zone, timestamp_text


class Kind(Enum):
    TIMESTAMP = "timestamp"
    DATE = "date"
    STRING = "string"
    INTEGER = "integer"
    INTERVAL = "interval"


@dataclass(frozen=True)
class Constant:
    """A folded value: microseconds for times, a number, a text, or an interval of months and microseconds."""

    kind: Kind
    number: int = 0
    text: str = ""
    months: int = 0


@dataclass(frozen=True)
class Constants:
    """The context of folding: the statement's ``now`` (microseconds), the values of named parameters, and the calendar
    in which texts and dates are read.
    """

    now: SupportsInt
    parameters: Mapping[str, object]
    calendar: Calendar = UTC_CALENDAR

    def fold(self, node: exp.Expr) -> Constant | None:
        """Returns the value of a constant expression, or ``None`` if it is not constant, NULL, or not certain.

        In the calendar of a zone, a TIMESTAMP is an instant and a DATE a wall time.
        """
        value = self._folded(node)
        return value if self.calendar.is_utc or value is None or self._is_certain(node, value) else None

    def _is_certain(self, node: exp.Expr, value: Constant) -> bool:
        """Tests whether a value means the same whatever the session's zone is. It does not if a TIMESTAMP is made of an
        expression without a zone, or moved by calendar days. Hours have the same length in every zone.
        """
        if value.kind is not Kind.TIMESTAMP or isinstance(node, exp.Paren | exp.CurrentTimestamp):
            return True
        match node:
            case exp.Anonymous():
                return node.name.upper() == "NOW"
            case exp.Placeholder():
                parameter = self.parameters.get(node.name)
                return isinstance(parameter, datetime) and parameter.tzinfo is not None
            case exp.Cast() | exp.TryCast():
                constant = self.fold(node.this)
                texts = constant is not None and constant.kind is Kind.STRING and has_zone(constant.text)
                return is_of_type(node.args["to"], *TIMESTAMPS) and (
                    texts or (constant is not None and constant.kind is Kind.TIMESTAMP)
                )
            case exp.Add() | exp.Sub():
                left, right = self.fold(node.this), self.fold(node.expression)
                times = [operand for operand in (left, right) if operand is not None and operand.kind is Kind.TIMESTAMP]
                steps = [operand for operand in (left, right) if operand is not None and operand.kind is Kind.INTERVAL]
                if not times or not steps or steps[0].months:
                    return False
                return abs(steps[0].number) < DAY or _has_only_clock_units(node)
            case exp.TimestampAdd():
                start = self.fold(node.this)
                is_instant = start is not None and start.kind is Kind.TIMESTAMP
                return is_instant and node.text("unit").upper().removesuffix("S") in _CLOCK_UNITS
        return False

    def _folded(self, node: exp.Expr) -> Constant | None:
        match node:
            case exp.Paren():
                return self.fold(node.this)
            case exp.Literal() if node.is_string:
                return Constant(Kind.STRING, text=node.this)
            case exp.Literal():
                return _integer(int(node.this)) if re.fullmatch(r"[0-9]{1,18}", node.this) else None
            case exp.Neg():
                return _negative(self.fold(node.this))
            case exp.Placeholder():
                return self._parameter(node)
            case exp.CurrentTimestamp() if not node.this:
                return Constant(Kind.TIMESTAMP, int(self.now))
            case exp.CurrentDate() if not node.this:
                return _day_of(self.calendar.wall(int(self.now)))
            case exp.Anonymous():
                return self._fold_call(node)
            case exp.Cast() | exp.TryCast():
                return self._cast(node)
            case exp.Interval():
                interval = _interval_literal(node)
                return Constant(Kind.INTERVAL, interval.micros, months=interval.months) if interval else None
            case exp.Add() | exp.Sub():
                return self._sum(node)
            case exp.Mul():
                return _product(self.fold(node.this), self.fold(node.expression))
            case exp.TimestampFromParts():
                parts = [node.args.get(key) for key in ("year", "month", "day", "hour", "min", "sec")]
                return None if node.args.get("zone") else self._make_time(Kind.TIMESTAMP, parts)
        return self._function(node)

    def is_null(self, node: exp.Expr) -> bool:
        """Tests whether a constant is certainly NULL: the literal, a parameter without a value, a cast of one."""
        match node:
            case exp.Null():
                return True
            case exp.Paren() | exp.Cast() | exp.TryCast():
                return self.is_null(node.this)
            case exp.Placeholder():
                return node.name in self.parameters and self.parameters[node.name] is None
        return False

    def is_naive(self, node: exp.Expr) -> bool:
        """Tests whether a node is a parameter that is a datetime without a zone."""
        placeholder = node.unnest()
        parameter = self.parameters.get(placeholder.name) if isinstance(placeholder, exp.Placeholder) else None
        return isinstance(parameter, datetime) and parameter.tzinfo is None

    def truth(self, node: exp.Expr) -> bool | None:
        """Returns the value of TRUE, FALSE or a bool parameter; ``None`` for all other nodes."""
        value = node.this if isinstance(node, exp.Boolean) else None
        if isinstance(node, exp.Placeholder):
            value = self.parameters.get(node.name)
        return value if isinstance(value, bool) else None

    def _parameter(self, node: exp.Placeholder) -> Constant | None:
        value = self.parameters.get(node.name)
        match value:
            case bool() | None:
                return None
            case int():
                return _integer(value)
            case str():
                return Constant(Kind.STRING, text=value)
            case datetime():
                return _if_in_range(Constant(Kind.TIMESTAMP, _instant_of(value)))
            case date():
                return Constant(Kind.DATE, (value.toordinal() - _EPOCH_DAY) * DAY)
        return None

    def _fold_call(self, node: exp.Anonymous) -> Constant | None:
        match node.name.upper():
            case "NOW" if not node.expressions:
                return Constant(Kind.TIMESTAMP, int(self.now))
            case "MAKE_DATE" if len(node.expressions) == 3:
                return self._make_time(Kind.DATE, node.expressions)
        return None

    def _make_time(self, kind: Kind, parts: list[exp.Expr | None]) -> Constant | None:
        """Folds make_date and make_timestamp of plain integers. Calls that Spark refuses are not folded."""
        folded = [self.fold(part) if part is not None else None for part in parts]
        numbers = [constant.number for constant in folded if constant is not None and constant.kind is Kind.INTEGER]
        if len(numbers) != len(parts) or not 1 <= numbers[0] <= 9999 or not all(0 <= n <= 99 for n in numbers[1:]):
            return None
        year, *other_numbers = numbers
        text = f"{year:04d}-" + ":".join(f"{number:02d}" for number in other_numbers).replace(":", "-", 1).replace(
            ":", " ", 1
        )
        instant = timestamp_text(text)
        return Constant(kind, instant) if instant is not None else None

    def _cast(self, node: exp.Expr) -> Constant | None:
        value, kind = self.fold(node.this), node.args["to"]
        if value is None or node.args.get("format"):
            return None
        if is_of_type(kind, exp.DType.DATE):
            return as_date(value, self.calendar)
        if is_of_type(kind, *TIMESTAMPS):
            return as_timestamp(value, self.calendar)
        if is_of_type(kind, exp.DType.TIMESTAMPNTZ):
            # Without a time zone, a zone in the text is ignored; in UTC everything else is the same instant.
            return None if value.kind is Kind.STRING and has_zone(value.text) else as_timestamp(value)
        if is_of_type(kind, exp.DType.INT, exp.DType.BIGINT):
            return value if value.kind is Kind.INTEGER else None
        return value if is_of_type(kind, exp.DType.TEXT) and value.kind is Kind.STRING else None

    def _function(self, node: exp.Expr) -> Constant | None:
        match node:
            case exp.TsOrDsToDate():
                return self._to_date(node)
            case exp.TimestampTrunc() | exp.DateTrunc():
                return self._truncated(node)
            case exp.LastDay() if not node.args.get("unit"):
                value = as_date(self.fold(node.this), self.calendar)
                month = UpdatePeriod.MONTHLY
                return Constant(Kind.DATE, month.end(month.ordinal(value.number)) - DAY) if value else None
            case exp.AddMonths() | exp.TsOrDsAdd() | exp.TimestampAdd():
                value, step = self.fold(node.this), self.step(node)
                time = as_timestamp(value) if isinstance(node, exp.TimestampAdd) else as_date(value, self.calendar)
                return _move_time(time, step) if time is not None and step is not None else None
        return None

    def step(self, node: exp.Expr) -> Interval | None:
        """Returns the interval that ``timestampadd(unit, n, …)``, ``date_add(…, n)`` or ``add_months(…, n)`` adds, or
        ``None`` if it is not constant.
        """
        count = self.fold(node.expression)
        unit = "MONTH" if isinstance(node, exp.AddMonths) else node.text("unit").upper()
        if count is None or count.kind is not Kind.INTEGER or (isinstance(node, exp.TsOrDsAdd) and unit != "DAY"):
            return None
        if unit == "QUARTER":
            return Interval(months=3 * count.number)
        return _unit_interval(str(count.number), unit)

    def _to_date(self, node: exp.TsOrDsToDate) -> Constant | None:
        value, pattern = self.fold(node.this), node.args.get("format")
        if value is not None and value.kind is Kind.STRING and pattern is not None:
            shape = _DATE_PATTERNS.get(pattern.name)
            digits = shape.fullmatch(value.text) if shape is not None else None
            return as_date(Constant(Kind.STRING, text="-".join(digits.groups()))) if digits else None
        return as_date(value, self.calendar)

    def _truncated(self, node: exp.Expr) -> Constant | None:
        operand, unit = self.fold(node.this), node.args.get("unit")
        value = as_timestamp(operand)
        period = unit_named(unit.name) if unit is not None else None
        if value is None or period is None or node.args.get("zone"):
            return None
        kind = Kind.DATE if isinstance(node, exp.DateTrunc) else Kind.TIMESTAMP
        if not self.calendar.is_utc:
            # date_trunc returns the zone's midnight, which is compared as its date. A text may be on another clock.
            kind, value = Kind.DATE, as_date(operand, self.calendar)
            is_midnight = period >= UpdatePeriod.DAILY and operand is not None and operand.kind is not Kind.STRING
            if value is None or (isinstance(node, exp.TimestampTrunc) and not is_midnight):
                return None
        if isinstance(node, exp.DateTrunc) and period < UpdatePeriod.WEEKLY:
            return None  # TRUNC returns NULL for units finer than a week
        return _if_in_range(Constant(kind, period.floor(value.number)))

    def _sum(self, node: exp.Expr) -> Constant | None:
        left, right = self.fold(node.this), self.fold(node.expression)
        if isinstance(node, exp.Sub):
            right = _negative(right)
        elif left is not None and right is not None and right.kind in (Kind.DATE, Kind.TIMESTAMP):
            left, right = right, left
        if left is None or right is None:
            return None
        match left.kind, right.kind:
            case Kind.INTEGER, Kind.INTEGER:
                return _integer(left.number + right.number)
            case Kind.INTERVAL, Kind.INTERVAL:
                return _interval(left.months + right.months, left.number + right.number)
            case Kind.DATE, Kind.INTEGER:
                return _move_time(left, Interval(micros=right.number * DAY))
            case ((Kind.DATE | Kind.TIMESTAMP), Kind.INTERVAL):
                return _move_time(left, Interval(right.months, right.number))
        return None


def _has_only_clock_units(node: exp.Expr) -> bool:
    """Tests whether all intervals are of hours and shorter units, which have the same length in every zone."""
    return all(
        isinstance(interval.args.get("unit"), exp.Var)
        and interval.text("unit").upper().removesuffix("S") in _CLOCK_UNITS
        for interval in node.find_all(exp.Interval)
    )


def _instant_of(value: datetime) -> int:
    """Returns a Python datetime as microseconds UTC. A datetime without a zone is taken as UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def as_timestamp(value: Constant | None, calendar: Calendar = UTC_CALENDAR) -> Constant | None:
    """Returns the result of Spark's cast to TIMESTAMP in a session of the calendar's zone; ``None`` if it is not
    certain.
    """
    if value is None or value.kind is Kind.TIMESTAMP:
        return value
    if value.kind is Kind.DATE:
        return Constant(Kind.TIMESTAMP, calendar.instant(value.number))
    instant = timestamp_text(value.text) if value.kind is Kind.STRING else None
    if instant is None:
        return None
    return Constant(Kind.TIMESTAMP, instant if has_zone(value.text) else calendar.instant(instant))


def as_date(value: Constant | None, calendar: Calendar = UTC_CALENDAR) -> Constant | None:
    """Returns the result of Spark's cast to DATE in a session of the calendar's zone; ``None`` if it is not certain."""
    if value is None or value.kind is Kind.DATE:
        return value
    if value.kind is Kind.TIMESTAMP:
        return _day_of(calendar.wall(value.number))
    instant = date_text(value.text) if value.kind is Kind.STRING else None
    return Constant(Kind.DATE, instant) if instant is not None else None


def _move_time(value: Constant, interval: Interval) -> Constant | None:
    """Returns a time moved by some months or microseconds, the day of the month clamped as in Spark; ``None`` outside
    the years 1 to 9999. A DATE stays a DATE if it moves by whole days.
    """
    instant = value.number + interval.micros
    if interval.months:
        days, clock = divmod(instant, DAY)
        year, month, day = civil_from_days(days)
        year, month = divmod(year * 12 + month - 1 + interval.months, 12)
        if not 1 <= year <= 9999:
            return None
        instant = days_from_civil(year, month + 1, min(day, month_length(year, month + 1))) * DAY + clock
    kind = value.kind if interval.micros % DAY == 0 else Kind.TIMESTAMP
    return _if_in_range(Constant(kind, instant))


def _day_of(instant: int) -> Constant:
    return Constant(Kind.DATE, UpdatePeriod.DAILY.floor(instant))


def _negative(value: Constant | None) -> Constant | None:
    if value is None or value.kind not in (Kind.INTEGER, Kind.INTERVAL):
        return None
    return Constant(value.kind, -value.number, months=-value.months)


def _product(left: Constant | None, right: Constant | None) -> Constant | None:
    if left is not None and left.kind is Kind.INTEGER:
        left, right = right, left
    if left is None or right is None or right.kind is not Kind.INTEGER:
        return None
    if left.kind is Kind.INTEGER:
        return _integer(left.number * right.number)
    if left.kind is Kind.INTERVAL:
        return _interval(left.months * right.number, left.number * right.number)
    return None


def _integer(number: int) -> Constant | None:
    """Returns an INT. Outside its range Spark's arithmetic overflows, or the type differs."""
    return Constant(Kind.INTEGER, number) if -(2**31) <= number < 2**31 else None


def _interval(months: int, micros: int) -> Constant | None:
    return None if months and micros else Constant(Kind.INTERVAL, micros, months=months)


def _if_in_range(value: Constant) -> Constant | None:
    return value if MIN_INSTANT <= value.number < MAX_INSTANT else None


_CLOCK_UNITS = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
#: Patterns of to_date, as sqlglot translated them, with the texts that every spelling of the pattern reads alike.
_DATE_PATTERNS = {
    "%Y-%mstrict-%dstrict": re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII),
    "%Y%mstrict%dstrict": re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})", re.ASCII),
}


# Interval literals, in all forms of Spark 4: ``INTERVAL 7 DAYS``, ``INTERVAL '1 day 2 hours'``, ``INTERVAL '1-2' YEAR
# TO MONTH``.
#
# An ANSI interval consists either of months or of microseconds. Spark refuses a mixture, so there is none here.

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


def _interval_literal(node: exp.Interval) -> Interval | None:
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
            interval = _unit_interval(amount.name, unit.name)
        case exp.IntervalSpan() as span:
            interval = _span(amount.name, span.this.name.upper(), span.expression.name.upper())
        case _:
            return None
    return -interval if interval is not None and sign < 0 else interval


def _unit_interval(amount: str, unit: str) -> Interval | None:
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
        interval = _unit_interval(step["amount"], step["unit"]) if step is not None else None
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
