"""Which calendar unit a function of the time dimension depends on.

``date_trunc('day', t)``, ``to_date(t)`` and ``dayofweek(t)`` depend only on t's day: they give every instant of a day
the same value. So a period answers a query that uses them if it nests in the day (``semantics.md``, rule 2). A
function that is not known here is raw use of t, which only the base period serves.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.planner.constants import Constants, Kind
from rewriter.planner.predicates import Reader
from rewriter.planner.scalars import is_qualified
from rewriter.planner.timechains import climb, truncation
from rewriter.planner.timefields import field_unit, pattern_unit, unit_named
from rewriter.timeline.calendars import UTC, Calendar
from rewriter.timeline.civil import DAY, HOUR, MINUTE
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT, UpdatePeriod

__all__ = ["COMPARISONS", "truncation", "unit_named", "used_unit", "value_unit"]

_P = UpdatePeriod
#: Functions that answer a value which is no time, or a time that does not stay in its unit.
_VALUES: dict[type[exp.Expr], UpdatePeriod] = {
    exp.Year: _P.YEARLY, exp.Quarter: _P.QUARTERLY, exp.Month: _P.MONTHLY, exp.Monthname: _P.MONTHLY,
    exp.WeekOfYear: _P.WEEKLY,
    exp.Day: _P.DAILY, exp.DayOfMonth: _P.DAILY, exp.DayOfWeek: _P.DAILY, exp.DayOfYear: _P.DAILY,
    exp.Dayname: _P.DAILY, exp.UnixDate: _P.DAILY,
    # The next Monday depends on the week alone, any other day on which day it is.
    exp.NextDay: _P.DAILY,
    exp.Hour: _P.HOURLY, exp.Minute: _P.MINUTELY,
}  # fmt: skip
_LENGTHS = ((_P.DAILY, DAY), (_P.HOURLY, HOUR), (_P.MINUTELY, MINUTE))
_MONTHS = ((_P.YEARLY, 12), (_P.QUARTERLY, 3), (_P.MONTHLY, 1))
#: What compares two values.
COMPARISONS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In,
)  # fmt: skip
#: Literals alone: comparing with the present or with a parameter is raw use.
_LITERALS = Constants(0, {})


def value_unit(node: exp.Expr, operand: exp.Expr) -> UpdatePeriod | None:
    """The unit that ``node`` depends on, as a function of ``operand`` alone, or ``None`` for a function not known."""
    match node:
        case exp.Extract():
            return field_unit(node.name) if node.expression is operand else None
        case exp.TimeToStr():
            return pattern_unit(node.text("format")) if node.this is operand else None
        case exp.Anonymous():
            return _named_unit(node, operand)
    extra = any(value for key, value in node.args.items() if key not in ("this", "safe", "expression"))
    return _VALUES.get(type(node)) if node.this is operand and not extra else None


def _named_unit(node: exp.Anonymous, operand: exp.Expr) -> UpdatePeriod | None:
    """Functions that sqlglot does not know."""
    name, arguments = "" if is_qualified(node) else node.name.upper(), node.expressions
    if name == "WEEKDAY" and arguments == [operand]:
        return _P.DAILY
    if len(arguments) != 2:
        return None
    first, second = arguments
    match name:
        case "DATE_PART" | "DATEPART" if second is operand and first.is_string:
            return field_unit(first.name)
        case "WINDOW" if first is operand and second.is_string:
            # Windows and buckets are counted from 1970-01-01, so seven days are no ISO week.
            return _bucket_unit(exp.Interval(this=exp.Literal.string(second.name)))
        case "TIME_BUCKET" if second is operand:
            return _bucket_unit(first)
    return None


def _bucket_unit(length: exp.Expr) -> UpdatePeriod | None:
    """The coarsest unit of which buckets of that length consist."""
    folded = _LITERALS.fold(length)
    if folded is None or folded.kind is not Kind.INTERVAL:
        return None
    sizes, size = (_MONTHS, folded.months) if folded.months else (_LENGTHS, folded.number)
    return next((unit for unit, whole in sizes if size > 0 and size % whole == 0), None)


def used_unit(column: exp.Column, calendar: Calendar = UTC) -> tuple[UpdatePeriod | None, exp.Expr]:
    """The unit in which an occurrence of t is used, and the outermost function that says so.

    ``None`` is raw use. ``year(to_date(t))`` depends on the year alone, because days nest in years;
    ``CASE WHEN t >= '2013-02-01' …`` on the month, because a month begins there.
    """
    chain, node = climb(column, _LITERALS)
    unit, parent = chain.depends, node.parent
    outer = value_unit(parent, node) if parent is not None else None
    if outer is not None and parent is not None:
        unit, node = chain.seen(outer), parent
    compared = _compared_unit(column, node, calendar)
    if compared is not None and (unit is None or unit.nests_in(compared)):
        return compared, node
    return unit, node if unit is not None else column


def _compared_unit(column: exp.Column, operand: exp.Expr, calendar: Calendar) -> UpdatePeriod | None:
    """The coarsest unit whose starts are all the instants where a comparison of ``operand`` with literals changes."""
    comparison = operand.parent
    if not isinstance(comparison, (*COMPARISONS, exp.Is)) or _in_condition(comparison) or _reads_now(comparison):
        return None
    truth = Reader(lambda one: one is column, Constants(0, {}, calendar), lambda call: None).truth(comparison)
    if truth is None:
        return None
    edges = {edge for one in (*truth.true, *truth.false) for edge in (one.start, one.end)}
    edges -= {MIN_INSTANT, MAX_INSTANT}
    return next((unit for unit in reversed(_P) if all(calendar.of(unit).is_aligned(edge) for edge in edges)), None)


def _in_condition(node: exp.Expr) -> bool:
    """Whether a node stands in WHERE or ON, where it is a range that the caller has read, or raw use by definition."""
    found = node.find_ancestor(exp.Where, exp.Join, exp.Select)
    return isinstance(found, exp.Where | exp.Join) and not isinstance(found.parent, exp.Filter)


def _reads_now(node: exp.Expr) -> bool:
    return any(
        isinstance(inner, exp.CurrentTimestamp | exp.CurrentDate)
        or (isinstance(inner, exp.Anonymous) and inner.name.upper() == "NOW")
        for inner in node.walk()
    )
