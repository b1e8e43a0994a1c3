"""Monotone functions of the time dimension t, and the ranges of t for which a comparison with a constant holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from sqlglot import exp

from rewriter.planner.time.constant_folding import Constant, Constants, Kind, as_date, as_timestamp
from rewriter.planner.time.datetime_fields import counted_field, unit_of
from rewriter.planner.time.interval_literals import NO_INTERVAL
from rewriter.planner.time.texts_of_times import PatternOf, Texts, texts_of
from rewriter.planner.time.time_expressions import Chain, climb
from rewriter.timeline.calendars import UTC, Calendar, Period
from rewriter.timeline.civil import DAY, MAX_INSTANT, MIN_INSTANT, civil_from_days, days_from_civil
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

_P = UpdatePeriod


class Form(Enum):
    """The form of the operand's value for a time: the time itself, its year's number, the number of its unit within a
    longer one (which recurs), or a text (``texts_of_times``).
    """

    TIME = auto()
    YEAR = auto()
    FIELD = auto()
    TEXT = auto()


@dataclass(frozen=True)
class Operand:
    """A ``Chain`` of t whose value is the start of ``unit`` (``None``: t itself), in some form."""

    chain: Chain
    unit: UpdatePeriod | None
    form: Form = Form.TIME
    calendar: Calendar = UTC
    texts: Texts | None = None

    @property
    def is_wall(self) -> bool:
        """True if the value is read off the zone's clocks: a date, a field or a text, and no instant."""
        return not self.calendar.is_utc and (self.chain.date or self.form is not Form.TIME)


#: Times outside the years 1 to 9999 are cut off. A move as long as all of them is useless.
_LOW, _HIGH = 2 * MIN_INSTANT - MAX_INSTANT, 2 * MAX_INSTANT - MIN_INSTANT
_YEARS = range(-9_999, 20_000)


#: The maximum number of months, quarters, days or hours that are examined to find those that a field selects.
LONGEST_LOOK = 2_500
_FIELDS: dict[type[exp.Expr], UpdatePeriod] = {
    exp.Year: _P.YEARLY, exp.Quarter: _P.QUARTERLY, exp.Month: _P.MONTHLY, exp.Day: _P.DAILY, exp.DayOfMonth: _P.DAILY,
    exp.Hour: _P.HOURLY,
}  # fmt: skip


def _field_of(node: exp.Expr) -> tuple[UpdatePeriod | None, exp.Expr | None]:
    """Returns the unit that ``year(x)``, ``EXTRACT(MONTH FROM x)`` or ``date_part('day', x)`` counts, and x."""
    match node:
        case exp.Extract():
            unit, source = counted_field(node.name), node.expression
        case exp.Anonymous() if node.name.upper() in ("DATE_PART", "DATEPART") and len(node.expressions) == 2:
            unit, source = counted_field(node.expressions[0].name), node.expressions[1]
        case _:
            unit, source = _FIELDS.get(type(node)), node.this
    return (unit, source) if isinstance(source, exp.Expr) else (None, None)


def operand_of(
    node: exp.Expr, column: exp.Column, constants: Constants, pattern_of: PatternOf | None = None
) -> Operand | None:
    """Returns ``node`` as a monotone function of ``column``, which it contains; ``None`` if it is not one.

    ``pattern_of`` returns the pattern of a date_format as it was typed. Without it, the order of texts is not known.
    """
    chain, outermost = climb(column, constants, node)
    if not constants.calendar.is_utc and not _holds_in_zone(chain):
        return None
    calendar = constants.calendar
    if chain.shift.months or not chain.starts:
        return None  # not every time is another time plus a month
    if outermost is node:
        return Operand(chain, chain.unit, calendar=calendar)
    while isinstance(node, exp.Paren):
        node = node.this
    if outermost.parent is not node:
        return None
    field, source = _field_of(node)
    if field is not None and source is outermost and (chain.unit is None or chain.unit.nests_in(field)):
        if field is _P.HOURLY and (chain.date or not calendar.is_utc):
            return None  # a date has the hour 0; the zone's hours are not counted from the start of its day
        return Operand(chain, field, Form.YEAR if field is _P.YEARLY else Form.FIELD, calendar)
    texts = texts_of(node, outermost, is_date=chain.date, pattern_of=pattern_of)
    if texts is None or not (calendar.is_utc or (texts.unit is not None and texts.unit >= _P.DAILY)):
        return None  # an hour of the zone's clocks may occur twice
    if chain.unit is not None and texts.unit is not None and not chain.unit.nests_in(texts.unit):
        return None
    return Operand(chain, texts.unit or chain.unit, Form.TEXT, calendar, texts)


def _holds_in_zone(chain: Chain) -> bool:
    """Tests whether a chain means the same in a zone: a date may move by days, an instant must not move."""
    whole_days = chain.date and not chain.shift.months and chain.shift.micros % DAY == 0
    return whole_days or chain.shift == NO_INTERVAL


def compare(op: type[exp.Expr], operand: Operand, value: Constant) -> RangeSet | None:
    """Returns the instants t with ``operand(t) op value``, for =, <, <=, > and >=; ``None`` if they are not certain."""
    instant = _instant(operand, value) if operand.texts is None else None
    if operand.texts is not None:
        compared = operand.texts.compared(op, value.text) if value.kind is Kind.STRING else None
        if compared is not None and compared.instant is None:
            return RangeSet.EMPTY
        op, instant = (compared.op, compared.instant) if compared is not None else (op, None)
    if instant is None:
        return None
    shift = operand.chain.shift.micros
    if abs(shift) > MAX_INSTANT - MIN_INSTANT:
        return None
    unit = _unit(operand)
    if operand.unit is not None and unit is None:
        return None
    # f(t) >= c ⟺ t >= ceil(c), and f(t) > c ⟺ t >= the first unit that starts after c; without a unit the step is 1 µs.
    at_least = unit.ceil(instant) if unit else instant
    next_instant = unit.end(unit.ordinal(instant)) if unit else instant + 1
    if op is exp.EQ:
        start, end = at_least, next_instant if at_least == instant else at_least
    else:
        edge = at_least if op in (exp.GTE, exp.LT) else next_instant
        start, end = (edge, _HIGH) if op in (exp.GTE, exp.GT) else (_LOW, edge)
    start, end = max(start - shift, MIN_INSTANT), min(end - shift, MAX_INSTANT)
    if operand.is_wall:
        start, end = (at if at in (MIN_INSTANT, MAX_INSTANT) else operand.calendar.instant(at) for at in (start, end))
    return RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY


def _unit(operand: Operand) -> Period | None:
    """Returns the operand's unit as ``compare`` counts it: on the zone's clocks, or among instants."""
    return operand.unit if operand.unit is None or operand.is_wall else unit_of(operand.unit, operand.calendar)


def select(op: Callable[[int, int], bool], operand: Operand, value: Constant, bounds: RangeSet) -> RangeSet | None:
    """Returns the instants t of ``within`` with ``operand(t) op value``, for an operand whose values recur.

    ``None`` if they are not certain, or ``within`` has an open end or more than ``LONGEST_LOOK`` units.
    """
    kind, shift, number = operand.unit, operand.chain.shift, as_number(value)
    if kind is None or number is None or shift != NO_INTERVAL:
        return None
    if any(time_range.start == MIN_INSTANT or time_range.end == MAX_INSTANT for time_range in bounds):
        return None
    unit = operand.calendar.of(kind)
    spans = [range(unit.ordinal(time_range.start), unit.ordinal(time_range.end - 1) + 1) for time_range in bounds]
    if sum(map(len, spans)) > LONGEST_LOOK:
        return None
    ordinals = {o for span in spans for o in span if op(_number(kind, o), number)}
    pairs = ((unit.start(o), unit.end(o)) for o in ordinals)
    return RangeSet(TimeRange(start, end) for start, end in pairs if start < end) & bounds


def _number(unit: UpdatePeriod, ordinal: int) -> int:
    """Returns the value of ``quarter``, ``month``, ``day`` or ``hour`` for a period."""
    if unit is _P.HOURLY:
        return ordinal % 24
    if unit is _P.DAILY:
        return civil_from_days(ordinal)[2]
    return ordinal % (4 if unit is _P.QUARTERLY else 12) + 1


def _instant(operand: Operand, value: Constant) -> int | None:
    """Returns the constant as an instant, coerced as in Spark to the operand's type."""
    if operand.form is Form.YEAR:
        return _year_start(value)
    if value.kind not in (Kind.STRING, Kind.DATE, Kind.TIMESTAMP):
        return None
    if operand.is_wall:
        # Beside a DATE, a TIMESTAMP would be compared with its midnight, in UTC.
        day = as_date(value) if value.kind is not Kind.TIMESTAMP else None
        return day.number if day else None
    folded = as_timestamp(value, operand.calendar)
    if operand.chain.date and value.kind is Kind.STRING:
        day = as_date(value)
        # A DATE plus an interval is a TIMESTAMP in some forms. Then only a text that is the same as both is accepted.
        folded = day if operand.chain.shift == NO_INTERVAL or as_timestamp(day) == folded else None
    return folded.number if folded else None


def as_number(value: Constant) -> int | None:
    """Returns the number that a constant is beside an INT: a text is cast to a number. ``None`` if it is not
    certain.
    """
    if value.kind is Kind.STRING and re.fullmatch(r"[0-9]{1,9}", value.text, re.ASCII):
        return int(value.text)
    return value.number if value.kind is Kind.INTEGER else None


def _year_start(value: Constant) -> int | None:
    """Returns the start of the year with that number."""
    number = as_number(value)
    return None if number is None else days_from_civil(min(max(number, _YEARS[0]), _YEARS[-1]), 1, 1) * DAY
