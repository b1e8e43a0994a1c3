"""Constant expressions of time, folded as Spark 4 would evaluate them in a UTC session.

Only forms whose value in Spark is certain are folded; everything else answers ``None``, and the predicate that holds
it is no range. A string is read as a timestamp or a date by the side it is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum

from sqlglot import exp

from rewriter.errors import DataError
from rewriter.planner.units import unit_named
from rewriter.timeline.bounds import parse_instant
from rewriter.timeline.civil import civil_from_days, days_from_civil, month_length
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT, UpdatePeriod


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
    """What folding needs to know: the statement's ``now`` (microseconds) and the values of named parameters."""

    now: int
    parameters: Mapping[str, object]

    def fold(self, node: exp.Expr) -> Constant | None:
        """The value of a constant expression, or ``None`` where it is not constant or not certain."""
        match node:
            case exp.Paren():
                return self.fold(node.this)
            case exp.Literal() if node.is_string:
                return Constant(Kind.STRING, text=node.this)
            case exp.Literal():
                return Constant(Kind.INTEGER, int(node.this)) if re.fullmatch(r"[0-9]{1,18}", node.this) else None
            case exp.Neg():
                value = self.fold(node.this)
                return Constant(Kind.INTEGER, -value.number) if value and value.kind is Kind.INTEGER else None
            case exp.Placeholder():
                return self._parameter(node)
            case exp.CurrentTimestamp():
                return Constant(Kind.TIMESTAMP, self.now)
            case exp.CurrentDate():
                return Constant(Kind.DATE, UpdatePeriod.DAILY.floor(self.now))
            case exp.Anonymous() if node.name.upper() == "NOW" and not node.expressions:
                return Constant(Kind.TIMESTAMP, self.now)
            case exp.Cast() | exp.TryCast():
                return self._cast(node)
            case exp.TsOrDsToDate() if not node.args.get("format"):
                return as_date(self.fold(node.this))
            case exp.TimestampTrunc() | exp.DateTrunc():
                return self._truncated(node)
            case exp.Interval():
                return self._interval(node)
            case exp.Add() | exp.Sub():
                return self._sum(node)
        return None

    def _parameter(self, node: exp.Placeholder) -> Constant | None:
        value = self.parameters.get(node.name)
        match value:
            case bool() | None:
                return None
            case int():
                return Constant(Kind.INTEGER, value)
            case str():
                return Constant(Kind.STRING, text=value)
            case datetime():
                return Constant(Kind.TIMESTAMP, instant_of(value))
            case date():
                return Constant(Kind.DATE, (value.toordinal() - _EPOCH_DAY) * _DAY)
        return None

    def _cast(self, node: exp.Expr) -> Constant | None:
        value = self.fold(node.this)
        if node.args["to"].is_type("date"):
            return as_date(value)
        if node.args["to"].is_type("timestamp", "timestamptz", "timestampltz"):
            return as_timestamp(value)
        return None

    def _truncated(self, node: exp.Expr) -> Constant | None:
        value, unit = as_timestamp(self.fold(node.this)), node.args.get("unit")
        period = unit_named(unit.name) if unit is not None else None
        if value is None or period is None or node.args.get("zone"):
            return None
        kind = Kind.DATE if isinstance(node, exp.DateTrunc) else Kind.TIMESTAMP
        if kind is Kind.DATE and period < UpdatePeriod.WEEKLY:
            return None  # TRUNC answers NULL for units finer than a week
        return Constant(kind, period.floor(value.number))

    def _interval(self, node: exp.Interval) -> Constant | None:
        amount, unit = node.this, node.args.get("unit")
        if not isinstance(amount, exp.Literal) or not isinstance(unit, exp.Var):
            return None
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,9}\s*", amount.name):
            return None
        count, name = int(amount.name), unit.name.upper().removesuffix("S")
        if name in _MONTHS:
            return Constant(Kind.INTERVAL, months=count * _MONTHS[name])
        if name in _MICROS:
            return Constant(Kind.INTERVAL, count * _MICROS[name])
        return None

    def _sum(self, node: exp.Expr) -> Constant | None:
        left, right = self.fold(node.this), self.fold(node.expression)
        if isinstance(node, exp.Add) and left and left.kind is Kind.INTERVAL:
            left, right = right, left
        if left is None or right is None or right.kind is not Kind.INTERVAL:
            return None
        sign = -1 if isinstance(node, exp.Sub) else 1
        # A date plus whole days stays a date in Spark; as an instant it is the same midnight.
        if left.kind in (Kind.TIMESTAMP, Kind.DATE):
            moved = _moved(left.number, sign * right.months) + sign * right.number
            return _within(Constant(Kind.TIMESTAMP, moved))
        return None


def instant_of(value: datetime) -> int:
    """A Python datetime as microseconds UTC; without a zone it is taken as UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def as_timestamp(value: Constant | None) -> Constant | None:
    """What Spark gets by casting to TIMESTAMP, where that is certain."""
    if value is None or value.kind is Kind.TIMESTAMP:
        return value
    if value.kind is Kind.DATE:
        return Constant(Kind.TIMESTAMP, value.number)
    if value.kind is Kind.STRING and _TIMESTAMP_TEXT.fullmatch(value.text):
        return _parsed(value.text, Kind.TIMESTAMP)
    return None


def as_date(value: Constant | None) -> Constant | None:
    """What Spark gets by casting to DATE, where that is certain."""
    if value is None or value.kind is Kind.DATE:
        return value
    if value.kind is Kind.TIMESTAMP:
        return Constant(Kind.DATE, UpdatePeriod.DAILY.floor(value.number))
    if value.kind is Kind.STRING and _DATE_TEXT.fullmatch(value.text):
        return _parsed(value.text, Kind.DATE)
    return None


def _parsed(text: str, kind: Kind) -> Constant | None:
    try:
        return Constant(kind, parse_instant(text))
    except DataError:
        return None


def _moved(instant: int, months: int) -> int:
    """``instant`` some calendar months later; the day of the month is clamped, as Spark does."""
    if not months:
        return instant
    days, clock = divmod(instant, _DAY)
    year, month, day = civil_from_days(days)
    total = year * 12 + month - 1 + months
    year, month = total // 12, total % 12 + 1
    if not 1 <= year <= 9999:
        return MAX_INSTANT
    return days_from_civil(year, month, min(day, month_length(year, month))) * _DAY + clock


def _within(value: Constant) -> Constant | None:
    return value if MIN_INSTANT <= value.number < MAX_INSTANT else None


_DAY = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MICROS = {"WEEK": 7 * _DAY, "DAY": _DAY, "HOUR": _DAY // 24, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_DATE_TEXT = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)
_TIMESTAMP_TEXT = re.compile(r"\d{4}(-\d{2}(-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z?)?)?)?", re.ASCII)
