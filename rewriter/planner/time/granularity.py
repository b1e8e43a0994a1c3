"""The calendar unit that a function of the time dimension depends on.

``date_trunc('day', t)``, ``to_date(t)`` and ``dayofweek(t)`` depend only on t's day: they have the same value for every
instant of a day. So a period serves a query that uses them if it nests in the day (``semantics.md``, rule 2). A
function that is not listed here is raw use of t, which only the base period serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.grammar.lexer import TokenKind
from rewriter.planner.scope.deterministic import is_qualified
from rewriter.planner.time.constant_folding import Constants, Kind
from rewriter.planner.time.datetime_fields import field_unit, pattern_unit, unit_named
from rewriter.planner.time.time_expressions import climb, truncation, utc_time
from rewriter.planner.time.time_predicates import Reader
from rewriter.timeline.calendars import UTC, Calendar
from rewriter.timeline.civil import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import QueryText

__all__ = ["COMPARISONS", "truncation", "unit_named", "used_unit", "value_unit"]

_P = UpdatePeriod
#: Functions whose value is not a time, or a time that does not stay in its unit.
_VALUES: dict[type[exp.Expr], UpdatePeriod] = {
    exp.Year: _P.YEARLY, exp.Quarter: _P.QUARTERLY, exp.Month: _P.MONTHLY, exp.Monthname: _P.MONTHLY,
    exp.WeekOfYear: _P.WEEKLY,
    exp.Day: _P.DAILY, exp.DayOfMonth: _P.DAILY, exp.DayOfWeek: _P.DAILY, exp.DayOfYear: _P.DAILY,
    exp.Dayname: _P.DAILY, exp.UnixDate: _P.DAILY,
    # The next Monday depends on the week alone; any other weekday depends on the day.
    exp.NextDay: _P.DAILY,
    exp.Hour: _P.HOURLY, exp.Minute: _P.MINUTELY,
}  # fmt: skip
_LENGTHS = ((_P.DAILY, DAY), (_P.HOURLY, HOUR), (_P.MINUTELY, MINUTE))
_MONTHS = ((_P.YEARLY, 12), (_P.QUARTERLY, 3), (_P.MONTHLY, 1))
#: Nodes that compare two values.
COMPARISONS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In,
)  # fmt: skip
#: Literals alone: a comparison with the present or with a parameter is raw use.
_LITERALS = Constants(0, {})


def value_unit(node: exp.Expr, operand: exp.Expr) -> UpdatePeriod | None:
    """Returns the unit that ``node`` depends on, as a function of ``operand`` alone, or ``None`` for an unknown
    function.
    """
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
    """Returns the unit of functions that sqlglot does not have."""
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
    """Returns the coarsest unit of which buckets of that length consist."""
    folded = _LITERALS.fold(length)
    if folded is None or folded.kind is not Kind.INTERVAL:
        return None
    sizes, size = (_MONTHS, folded.months) if folded.months else (_LENGTHS, folded.number)
    return next((unit for unit, size_of_unit in sizes if size > 0 and size % size_of_unit == 0), None)


def used_unit(column: exp.Column, calendar: Calendar = UTC) -> tuple[UpdatePeriod | None, exp.Expr]:
    """Returns the unit in which an occurrence of t is used, and the outermost function that decides it.

    ``None`` is raw use. ``year(to_date(t))`` depends on the year alone, because days nest in years;
    ``CASE WHEN t >= '2013-02-01' …`` depends on the month, because a month begins there. What UTC's clocks show depends
    on the hour, of which the zone's days consist as well as UTC's days.
    """
    utc = None if calendar.is_utc else utc_time(column, calendar.zone)
    chain, node = climb(column if utc is None else utc, _LITERALS)
    unit, parent = chain.depends, node.parent
    outer_unit = value_unit(parent, node) if parent is not None else None
    if outer_unit is not None and parent is not None:
        unit, node = chain.coarsest_unit(outer_unit), parent
    if utc is not None:
        return None if unit is None else min(unit, _P.HOURLY), node
    compared = _compared_unit(column, node, calendar)
    if compared is not None and (unit is None or unit.nests_in(compared)):
        return compared, node
    return unit, node if unit is not None else column


def _compared_unit(column: exp.Column, operand: exp.Expr, calendar: Calendar) -> UpdatePeriod | None:
    """Returns the coarsest unit whose starts include all instants at which comparing ``operand`` with literals
    changes.
    """
    comparison = operand.parent
    if not isinstance(comparison, (*COMPARISONS, exp.Is)) or _in_condition(comparison) or _reads_now(comparison):
        return None
    truth = Reader(lambda node: node is column, Constants(0, {}, calendar), lambda call: None).truth(comparison)
    if truth is None:
        return None
    edges = {edge for time_range in (*truth.true, *truth.false) for edge in (time_range.start, time_range.end)}
    edges -= {MIN_INSTANT, MAX_INSTANT}
    return next((unit for unit in reversed(_P) if all(calendar.of(unit).is_aligned(edge) for edge in edges)), None)


def _in_condition(node: exp.Expr) -> bool:
    """Tests whether a node is in WHERE or ON, where it is a range that the caller has read, or raw use by
    definition.
    """
    clause = node.find_ancestor(exp.Where, exp.Join, exp.Select)
    return isinstance(clause, exp.Where | exp.Join) and not isinstance(clause.parent, exp.Filter)


def _reads_now(node: exp.Expr) -> bool:
    return any(
        isinstance(descendant, exp.CurrentTimestamp | exp.CurrentDate)
        or (isinstance(descendant, exp.Anonymous) and descendant.name.upper() == "NOW")
        for descendant in node.walk()
    )


def check_unit(text: QueryText, call: exp.Expr) -> None:
    """Refuses a unit that sqlglot reads differently from Spark: in ``date_trunc(month, t)`` Spark sees a column, and
    ``trunc(t, 'q')`` is NULL.
    """
    span, argument_span = text.call(call)
    tokens = text.within(argument_span)
    unit = tokens[0] if isinstance(call, exp.TimestampTrunc) else tokens[-1]
    literal = unit.kind is TokenKind.STRING
    if literal and unit_named(call.text("unit")) is None:
        return  # raw use
    if not literal or unit_named(unit.text[1:-1]) is None:
        raise NotSupportedError(
            "The unit of a truncation must be a literal that Spark supports if the query reads a cube.",
            position=text.place(span),
            object=unit.text,
            hint="Write it in quotes and in full: date_trunc('month', t).",
        )
