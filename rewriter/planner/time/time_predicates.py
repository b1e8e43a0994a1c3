"""The instants that a predicate on a time dimension lets through.

``ranges_of`` returns an exact set of half-open ranges, in microseconds, or ``None`` if the predicate does not reduce to
one. It is then ordinary use of the time dimension and remains a row filter. SQL has three truth values, and NOT swaps
only two of them. So a predicate is tracked where it is true and where it is false, separately from where it is NULL.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum, auto

from sqlglot import exp

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.sqlglot_trees import find_all
from rewriter.planner.time.constant_folding import NO_INTERVAL, Constant, Constants, Kind, as_date, as_timestamp
from rewriter.planner.time.datetime_fields import counted_field, unit_of
from rewriter.planner.time.texts_of_times import PatternOf, Texts, texts_of
from rewriter.planner.time.time_expressions import Chain, climb
from rewriter.timeline.calendars import UTC, Calendar, Period
from rewriter.timeline.civil import DAY, MAX_INSTANT, MIN_INSTANT, civil_from_days, days_from_civil
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

IsTime = Callable[[exp.Column], bool]
BoundsOf = Callable[[exp.Anonymous], RangeSet | None]


@dataclass(frozen=True)
class Truth:
    """The instants for which a predicate is true, those for which it is false, and its value for a NULL time."""

    true: RangeSet
    false: RangeSet
    at_null: bool | None = None

    def negated(self) -> Truth:
        return Truth(self.false, self.true, None if self.at_null is None else not self.at_null)


@dataclass(frozen=True)
class Reader:
    """Reads predicates over one time dimension. Every method returns ``None`` for a predicate that it does not
    understand.

    The result for recurring fields, ``month(t) = 2``, holds for the instants of ``bounds``. Fields of a unit below
    ``finest`` are not read.
    """

    is_time: IsTime
    constants: Constants
    bounds_of: BoundsOf
    bounds: RangeSet = RangeSet.ALL
    pattern_of: PatternOf | None = None
    finest: UpdatePeriod = UpdatePeriod.MINUTELY

    def truth(self, node: exp.Expr) -> Truth | None:
        """Returns the instants for which the predicate ``node`` is true and false. Linear in its nodes and the
        ranges.
        """
        match node:
            case exp.Paren():
                return self.truth(node.this)
            case exp.And() | exp.Or():
                return self._connected(node)
            case exp.Not():
                operand_truth = self.truth(node.this)
                return operand_truth.negated() if operand_truth is not None else None
            case exp.Is():
                return self._is(node)
            case exp.Between() if not node.args.get("symmetric"):
                low = self._compared(exp.GTE, node.this, node.args["low"])
                high = self._compared(exp.LTE, node.this, node.args["high"])
                return _conjunction([low, high]) if low is not None and high is not None else None
            case exp.In():
                return self._in(node)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                truth = self._null_safe(node.this, node.expression) or self._null_safe(node.expression, node.this)
                return truth.negated() if truth is not None and isinstance(node, exp.NullSafeNEQ) else truth
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                left, right = node.this, node.expression
                truth = self._compared(type(node), left, right)
                return truth if truth is not None else self._compared(_FLIPPED[type(node)], right, left)
            case exp.Anonymous():
                return self._call(node)
        value = self.constants.truth(node)
        if value is not None:
            return _constant(value)
        return _UNKNOWN if self.constants.is_null(node) else None

    def _connected(self, node: exp.Expr) -> Truth | None:
        # A chain of a thousand ORs is a tree as deep.
        parts = list(node.flatten())
        truths = [self.truth(part) for part in parts]
        is_and = isinstance(node, exp.And)
        # a OR b is NOT (NOT a AND NOT b).
        understood = [truth if is_and else truth.negated() for truth in truths if truth is not None]
        if len(understood) == len(truths):
            both: Truth | None = _conjunction(understood)
        else:
            pending = [part for part, truth in zip(parts, truths, strict=True) if truth is None]
            both = self._narrowed(_conjunction(understood), pending, negated=not is_and)
        return both if both is None or is_and else both.negated()

    def _narrowed(self, truth: Truth, parts: list[exp.Expr], *, negated: bool) -> Truth | None:
        """Returns ``truth AND parts`` (or their negations), for parts that are understood where ``truth`` is true, in
        some order. Elsewhere it must be false.
        """
        while parts:
            pending = []
            for part in parts:
                is_two_valued = truth.true | truth.false == RangeSet.ALL
                part_truth = replace(self, bounds=truth.true & self.bounds).truth(part) if is_two_valued else None
                if part_truth is None:
                    pending.append(part)
                    continue
                part_truth = part_truth.negated() if negated else part_truth
                at_null = _conjunction([truth, part_truth]).at_null
                truth = Truth(truth.true & part_truth.true, truth.false | (truth.true & part_truth.false), at_null)
            if len(pending) == len(parts):
                return None
            parts = pending
        return truth

    def _is(self, node: exp.Is) -> Truth | None:
        if isinstance(node.expression, exp.Null):
            if self._operand(node.this) is not None:
                return _IS_NULL
            operand_truth = self.truth(node.this)
            decided = operand_truth.true | operand_truth.false if operand_truth is not None else RangeSet.EMPTY
            return (
                Truth(RangeSet.ALL - decided, decided, operand_truth.at_null is None)
                if operand_truth is not None
                else None
            )
        operand_truth, tested = self.truth(node.this), self.constants.truth(node.expression)
        if operand_truth is None or tested is None:
            return None
        true = operand_truth.true if tested else operand_truth.false
        return Truth(true, RangeSet.ALL - true, operand_truth.at_null is tested)

    def _compared(self, op: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Truth | None:
        """Reads ``left op right``, where the left side is a function of time and the right side a constant, or both are
        integers.
        """
        if op is exp.NEQ:
            equal = self._compared(exp.EQ, left, right)
            return equal.negated() if equal is not None else None
        operand = self._operand(left)
        if operand is None:
            number, other = self.constants.fold(left), self.constants.fold(right)
            if number is None or other is None or not number.kind is other.kind is Kind.INTEGER:
                return None
            return _constant(_NUMBERS[op](number.number, other.number))
        if self.constants.is_null(right):
            return _UNKNOWN
        value = self.constants.fold(right)
        true = self._where(op, operand, value) if value is not None else None
        return Truth(true, RangeSet.ALL - true) if true is not None else None

    def _where(self, op: type[exp.Expr], operand: Operand, value: Constant) -> RangeSet | None:
        if operand.form is Form.FIELD:
            if operand.unit is not None and operand.unit < self.finest:
                return None
            return select(_NUMBERS[op], operand, value, self.bounds)
        return compare(op, operand, value)

    def _null_safe(self, left: exp.Expr, right: exp.Expr) -> Truth | None:
        if self._operand(left) is None:
            return None
        if self.constants.is_null(right):
            return _IS_NULL
        equal = self._compared(exp.EQ, left, right)
        return Truth(equal.true, equal.false, at_null=False) if equal is not None else None

    def _in(self, node: exp.In) -> Truth | None:
        operand, items = self._operand(node.this), node.expressions
        if operand is None or not items or any(node.args.get(key) for key in ("query", "unnest", "field")):
            return None
        nulls = [self.constants.is_null(item) for item in items]
        values = [self.constants.fold(item) for item, null in zip(items, nulls, strict=True) if not null]
        constants = [value for value in values if value is not None]
        if len(constants) < len(values) or not _cast_alike(operand, constants):
            return None
        range_sets = [self._where(exp.EQ, operand, value) for value in constants]
        sets = [range_set for range_set in range_sets if range_set is not None]
        if len(sets) < len(range_sets):
            return None
        true = _union(sets)
        return Truth(true, RangeSet.EMPTY if any(nulls) else RangeSet.ALL - true)

    def _call(self, node: exp.Anonymous) -> Truth | None:
        name = node.name.upper()
        if name == "TIME_RANGE_IN":
            bounds = self.bounds_of(node)
            return Truth(bounds, RangeSet.ALL - bounds) if bounds is not None else None
        if name in ("ISNULL", "ISNOTNULL") and len(node.expressions) == 1:
            if self._operand(node.expressions[0]) is None:
                return None
            return _IS_NULL if name == "ISNULL" else _IS_NULL.negated()
        return None

    def _operand(self, node: exp.Expr) -> Operand | None:
        columns = find_all(node, exp.Column)
        if len(columns) != 1 or not self.is_time(columns[0]):
            return None
        return operand_of(node, columns[0], self.constants, self.pattern_of)


def ranges_of(node: exp.Expr, reader: Reader) -> RangeSet | None:
    """Returns the instants (of ``reader.within``, if that matters) for which ``node`` is true, or ``None`` if it is not
    a range predicate of this time dimension. A predicate that rows without a time satisfy is none: a set of instants
    cannot express that.

    ``reader.bounds_of`` raises for an unreadable ``time_range_in`` of this dimension.
    """
    truth = reader.truth(node)
    return None if truth is None or truth.at_null else truth.true


def _conjunction(parts: Iterable[Truth]) -> Truth:
    """Returns the conjunction: true where all parts are true, false where any part is false."""
    parts = list(parts)
    at_null = {part.at_null for part in parts}
    return Truth(
        RangeSet.ALL - _union(RangeSet.ALL - part.true for part in parts),
        _union(part.false for part in parts),
        False if False in at_null else None if None in at_null else True,
    )


def _union(sets: Iterable[RangeSet]) -> RangeSet:
    return RangeSet(time_range for ranges in sets for time_range in ranges)


def _cast_alike(operand: Operand, values: list[Constant]) -> bool:
    """Tests whether all items of a list are cast as each would be alone; Spark uses one type for all of them."""
    kinds = {value.kind for value in values}
    if not operand.chain.date or len(kinds) < 2:
        return len(kinds) < 2 or kinds <= {Kind.STRING, Kind.DATE, Kind.TIMESTAMP}
    # Beside a TIMESTAMP, a text is no longer a DATE.
    return all(_midnight(value) for value in values)


def _midnight(value: Constant) -> bool:
    return value.kind is not Kind.STRING or as_timestamp(as_date(value)) == as_timestamp(value)


def _constant(value: bool) -> Truth:
    return _TRUE if value else _TRUE.negated()


_TRUE = Truth(RangeSet.ALL, RangeSet.EMPTY, at_null=True)
_UNKNOWN = Truth(RangeSet.EMPTY, RangeSet.EMPTY, at_null=None)
_IS_NULL = Truth(RangeSet.EMPTY, RangeSet.ALL, at_null=True)
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
_NUMBERS: dict[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.EQ: operator.eq, exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt, exp.GTE: operator.ge,
}  # fmt: skip


# Monotone functions of the time dimension t, and the ranges of t for which a comparison with a constant holds.

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


#: The maximum number of months, quarters, days or hours that are examined to find the periods that a field selects.
_LONGEST_LOOK = 2_500
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

    ``None`` if they are not certain, or ``within`` has an open end or more than ``_LONGEST_LOOK`` units.
    """
    kind, shift, number = operand.unit, operand.chain.shift, _as_number(value)
    if kind is None or number is None or shift != NO_INTERVAL:
        return None
    if any(time_range.start == MIN_INSTANT or time_range.end == MAX_INSTANT for time_range in bounds):
        return None
    unit = operand.calendar.of(kind)
    spans = [range(unit.ordinal(time_range.start), unit.ordinal(time_range.end - 1) + 1) for time_range in bounds]
    if sum(map(len, spans)) > _LONGEST_LOOK:
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


def _as_number(value: Constant) -> int | None:
    """Returns the number that a constant is beside an INT: a text is cast to a number. ``None`` if it is not
    certain.
    """
    if value.kind is Kind.STRING and re.fullmatch(r"[0-9]{1,9}", value.text, re.ASCII):
        return int(value.text)
    return value.number if value.kind is Kind.INTEGER else None


def _year_start(value: Constant) -> int | None:
    """Returns the start of the year with that number."""
    number = _as_number(value)
    return None if number is None else days_from_civil(min(max(number, _YEARS[0]), _YEARS[-1]), 1, 1) * DAY
