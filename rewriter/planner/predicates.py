"""Which instants a predicate on a time dimension lets through.

``ranges_of`` answers an exact set of half-open ranges, in microseconds, or ``None`` where the predicate does not
reduce to one: then it is ordinary use of the time dimension and stays a row filter. A comparison on
``date_trunc('day', t)``, ``to_date(t)`` or ``year(t)`` is a range too, because these functions order as time does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rewriter.planner.constants import Constant, Constants, Kind, as_date, as_timestamp
from rewriter.planner.units import truncation
from rewriter.timeline.civil import days_from_civil
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT, UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

IsTime = Callable[[exp.Column], bool]
BoundsOf = Callable[[exp.Anonymous], RangeSet | None]


@dataclass(frozen=True)
class Operand:
    """``t`` itself (no unit) or a function of it that answers the start of the unit, or the year's number."""

    unit: UpdatePeriod | None
    date: bool = False
    year: bool = False


def ranges_of(node: exp.Expr, is_time: IsTime, constants: Constants, bounds_of: BoundsOf) -> RangeSet | None:
    """The instants for which ``node`` is true, or ``None`` where it is no range predicate of this time dimension.

    ``bounds_of`` reads a ``time_range_in`` call of this dimension (it raises for unreadable bounds).
    """
    match node:
        case exp.Paren():
            return ranges_of(node.this, is_time, constants, bounds_of)
        case exp.And() | exp.Or():
            left = ranges_of(node.this, is_time, constants, bounds_of)
            right = ranges_of(node.expression, is_time, constants, bounds_of)
            if left is None or right is None:
                return None
            return left & right if isinstance(node, exp.And) else left | right
        case exp.Not():
            inner = ranges_of(node.this, is_time, constants, bounds_of)
            # NULL stays NULL under NOT, and a time of a partition is never NULL inside a range.
            return None if inner is None else RangeSet.ALL - inner
        case exp.Between() if not node.args.get("symmetric"):
            operand = _operand(node.this, is_time)
            low = _compare(exp.GTE, operand, constants.fold(node.args["low"]))
            high = _compare(exp.LTE, operand, constants.fold(node.args["high"]))
            return None if low is None or high is None else low & high
        case exp.In() if node.expressions and not node.args.get("query"):
            operand = _operand(node.this, is_time)
            found = RangeSet.EMPTY
            for item in node.expressions:
                one = _compare(exp.EQ, operand, constants.fold(item))
                if one is None:
                    return None
                found = found | one
            return found
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            operand, value = _operand(node.this, is_time), constants.fold(node.expression)
            if operand is not None:
                return _compare(type(node), operand, value)
            operand, value = _operand(node.expression, is_time), constants.fold(node.this)
            return _compare(_FLIPPED[type(node)], operand, value)
        case exp.Anonymous() if node.name.upper() == "TIME_RANGE_IN":
            return bounds_of(node)
    return None


def _operand(node: exp.Expr, is_time: IsTime) -> Operand | None:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return Operand(None) if is_time(node) else None
    if isinstance(node, exp.Year) and isinstance(node.this, exp.TsOrDsToDate):
        inner = _operand(node.this.this, is_time)
        return Operand(UpdatePeriod.YEARLY, year=True) if inner == Operand(None) else None
    child = node.this if isinstance(node.this, exp.Expr) else None
    unit = truncation(node, child) if child is not None else None
    if unit is None or child is None:
        return None
    inner = _operand(child, is_time)
    if inner is None or inner.year or (inner.unit is not None and not inner.unit.nests_in(unit)):
        return None
    return Operand(unit, date=not isinstance(node, exp.TimestampTrunc))


def _compare(op: type[exp.Expr], operand: Operand | None, value: Constant | None) -> RangeSet | None:
    """The instants t with ``operand(t) op value``; ``operand`` answers the start of its unit."""
    if operand is None or value is None:
        return None
    bound = _bound(operand, value)
    if bound is None:
        return None
    unit = operand.unit
    # f(t) >= c ⟺ t >= ceil(c), and f(t) > c ⟺ t >= the first unit that starts after c; without a unit the step is 1 µs.
    at_least = unit.ceil(bound) if unit else bound
    above = (unit.end(unit.ordinal(bound)) if unit else bound + 1) if bound < MAX_INSTANT else MAX_INSTANT
    if op is exp.GTE:
        return _between(at_least, MAX_INSTANT)
    if op is exp.GT:
        return _between(above, MAX_INSTANT)
    if op is exp.LT:
        return _between(MIN_INSTANT, at_least)
    if op is exp.LTE:
        return _between(MIN_INSTANT, above)
    equal = _between(at_least, above) if at_least == bound else RangeSet.EMPTY
    return equal if op is exp.EQ else RangeSet.ALL - equal


def _bound(operand: Operand, value: Constant) -> int | None:
    """The constant as an instant, coerced as Spark does for the operand's type."""
    if operand.year:
        if value.kind is not Kind.INTEGER or not 1 <= value.number <= 9999:
            return None
        return days_from_civil(value.number, 1, 1) * 86_400_000_000
    if value.kind is Kind.INTEGER or value.kind is Kind.INTERVAL:
        return None
    if operand.date and value.kind is Kind.STRING:
        folded = as_date(value)
    else:
        folded = as_timestamp(value)
    return folded.number if folded else None


def _between(start: int, end: int) -> RangeSet:
    start, end = max(start, MIN_INSTANT), min(end, MAX_INSTANT)
    return RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY


_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
