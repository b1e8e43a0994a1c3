"""What a block says about a cube's time dimensions: the ranges that it asks for, the units in which it uses time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rewriter.errors import AnalysisError, DataError, Span
from rewriter.planner.blocks import CubeSource
from rewriter.planner.columns import Columns
from rewriter.planner.constants import Constants, Kind, as_timestamp
from rewriter.planner.literals import timestamp_literal
from rewriter.planner.predicates import Reader, ranges_of
from rewriter.planner.projections import substituted
from rewriter.planner.shapes import check_unit
from rewriter.planner.text import Copied, Edit, QueryText
from rewriter.planner.trees import one_of, walk
from rewriter.planner.units import used_unit
from rewriter.timeline.bounds import resolve_bound
from rewriter.timeline.calendars import UTC, Calendar
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange


@dataclass
class TimeUse:
    """``wanted`` are the instants of the leading time dimension that the block lets through (``bounded``: not NULL);
    ``others``, by name, those of other dimensions that it bounds. Of all of them, ``exact`` are those ranges that
    ``time_range_in`` names, ``units`` the units in which time is used and the nodes that do, ``raw`` other uses.
    """

    wanted: RangeSet = RangeSet.ALL
    bounded: bool = False
    others: dict[str, RangeSet] = field(default_factory=dict)
    exact: list[TimeRange] = field(default_factory=list)
    units: dict[UpdatePeriod, exp.Expr] = field(default_factory=dict)
    raw: list[exp.Expr] = field(default_factory=list)
    calls: list[tuple[exp.Anonymous, RangeSet]] = field(default_factory=list)
    calendar: Calendar = UTC

    def used(self, column: exp.Column) -> None:
        """Notes an occurrence of a time dimension that is no range."""
        unit, outermost = used_unit(column, self.calendar)
        if unit is UpdatePeriod.HOURLY and self.calendar.since(unit) is None:
            unit = UpdatePeriod.MINUTELY  # the zone's hours are not those of UTC
        if unit is None:
            self.raw.append(outermost)
        else:
            self.units.setdefault(unit, outermost)


def time_use(
    text: QueryText,
    source: CubeSource,
    conditions: Iterable[exp.Expr],
    nodes: Sequence[exp.Expr],
    columns: Columns,
    constants: Constants,
) -> TimeUse:
    """Reads the ranges from ``conditions`` and the units from ``nodes``, the block's own nodes and those inlined.

    Raises ``DataError`` and ``AnalysisError``, with position, for a ``time_range_in`` that cannot be read.
    """
    use = TimeUse(calendar=constants.calendar)
    known: dict[int, RangeSet] = {}

    def bounds_of(call: exp.Anonymous) -> RangeSet | None:
        if not _is_call_of(call, columns):
            return None
        if id(call) not in known:
            known[id(call)] = _time_range_in(text, call, constants)
            use.calls.append((call, known[id(call)]))
            use.exact.extend(known[id(call)])
        return known[id(call)]

    consumed: set[int] = set()
    left = list(conditions)
    for dimension in source.cube.times:
        reader = _reader(dimension, columns, constants, bounds_of)
        wanted, bounded = RangeSet.ALL, False
        for _ in range(2):
            # Between the ends that the first round finds, the second also reads what comes again and again: months.
            conditions, left = left, []
            for condition in conditions:
                reader = reader if reader.within is wanted else replace(reader, within=wanted)
                # What reduces to ranges is not true of NULL, so it holds of rows in which the cube is absent, too.
                ranges = ranges_of(condition, reader)
                if ranges is None:
                    left.append(condition)
                    continue
                wanted, bounded = wanted & ranges, True
                consumed |= {id(node) for node in walk(condition)}
        if dimension == source.cube.times[0]:
            use.wanted, use.bounded = wanted, bounded
        elif bounded:
            use.others[dimension] = wanted
    for node in nodes:
        if not _may_use(type(node)):
            continue
        if isinstance(node, _TRUNCATIONS):
            check_unit(text, node)
        if isinstance(node, exp.Identifier) and isinstance(node.parent, exp.Join):
            value = columns.joined(node)
            if value is not None and columns.times_in(value):
                use.raw.append(node)  # USING (t)
        if _is_time_range_in(node) and id(node) not in consumed:
            assert isinstance(node, exp.Anonymous)
            if not any(columns.is_time(column) for column in node.find_all(exp.Column)):
                continue  # another cube's
            if bounds_of(node) is None:
                raise bad_call(text, node)
            consumed |= {id(inner) for inner in walk(node)}
            unit = _edges(known[id(node)], constants.calendar)
            if unit is None:
                use.raw.append(node)
            else:
                use.units.setdefault(unit, node)
        elif isinstance(node, exp.Column) and id(node) not in consumed and columns.is_time(node):
            use.used(node)
    for level in source.levels:
        for item in level.select.expressions:
            # Calls in a select list that nothing outside reads are edited all the same.
            for call in substituted(item, level.value_of).find_all(exp.Anonymous):
                if _is_time_range_in(call) and call.expressions:
                    use.calls.append((call, _time_range_in(text, call, constants)))
    return use


_TRUNCATIONS = (exp.TimestampTrunc, exp.DateTrunc)
_may_use = one_of(*_TRUNCATIONS, exp.Identifier, exp.Anonymous, exp.Column)


def _reader(
    dimension: str, columns: Columns, constants: Constants, bounds_of: Callable[[exp.Anonymous], RangeSet | None]
) -> Reader:
    """Reads predicates over one time dimension."""

    def own_bounds(call: exp.Anonymous) -> RangeSet | None:
        return bounds_of(call) if _is_call_of(call, columns, dimension) else None

    return Reader(lambda column: columns.is_time(column, dimension), constants, own_bounds)


def _edges(ranges: RangeSet, calendar: Calendar) -> UpdatePeriod | None:
    """The coarsest period whose edges both ends of a range are: inside one, the range is true or false throughout."""
    bounds = [bound for one in ranges for bound in (one.start, one.end)]
    for period in sorted(UpdatePeriod, reverse=True):
        if period is not UpdatePeriod.WEEKLY and all(calendar.of(period).is_aligned(bound) for bound in bounds):
            return period
    return None


def range_edits(text: QueryText, use: TimeUse) -> list[Edit]:
    """``time_range_in`` calls as plain ranges of what the user named."""
    edits: dict[Span, Edit] = {}
    for call, ranges in use.calls:
        span, _ = text.call(call)
        first = text.index_at(call.meta["start"]) + 2
        comma = text.comma(first)
        name = Copied(Span(text.tokens[first].start, text.tokens[comma - 1].end))
        if ranges:
            start, end = ranges.ranges[0].start, ranges.ranges[-1].end
            between = (" >= ", timestamp_literal(start), " AND ", name, " < ", timestamp_literal(end))
            edits[span] = Edit(span, ("(", name, *between, ")"), "time_range_in becomes a range")
        else:
            # Never true, and NULL of NULL as any range is.
            edits[span] = Edit(span, ("(", name, " < ", name, ")"), "time_range_in becomes an empty range")
    return list(edits.values())


def bad_call(text: QueryText, call: exp.Anonymous) -> AnalysisError:
    """The error for a ``time_range_in`` that names no time dimension of a cube."""
    return AnalysisError(
        "time_range_in needs a time dimension of a cube in this FROM clause.",
        position=text.place(text.call(call)[0]),
        object="time_range_in",
        hint="Write time_range_in(time_dimension, 'from'[, 'to']).",
    )


def _is_time_range_in(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "TIME_RANGE_IN"


def _is_call_of(call: exp.Anonymous, columns: Columns, dimension: str | None = None) -> bool:
    first = call.expressions[0] if call.expressions else None
    return isinstance(first, exp.Column) and columns.is_time(first, dimension)


def _time_range_in(text: QueryText, call: exp.Anonymous, constants: Constants) -> RangeSet:
    place = text.place(text.call(call)[0])
    if len(call.expressions) not in (2, 3):
        raise bad_call(text, call)
    bounds = [_bound(text, argument, place, constants) for argument in call.expressions[1:]]
    start, end = bounds[0], bounds[1] if len(bounds) == 2 else constants.now
    if start > end:
        raise DataError(
            "The range of time_range_in ends before it begins.",
            condition="INVALID_TIME_RANGE",
            position=place,
            hint="The first bound is the start (included), the second the end (excluded).",
        )
    return RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY


def _bound(text: QueryText, argument: exp.Expr, call: Span, constants: Constants) -> int:
    """An instant in microseconds."""
    span = text.span_of(argument)
    place = text.place(span) if span else call
    folded = constants.fold(argument)
    if folded is None or folded.kind not in (Kind.STRING, Kind.TIMESTAMP, Kind.DATE):
        what = "a constant" if folded is None else "a text or a time"
        raise DataError(
            f"A bound of time_range_in must be {what}.",
            condition="INVALID_TIME_BOUND",
            position=place,
            hint="Write '2013-01-29T06' or 'now.day - 7 days'.",
        )
    if folded.kind is not Kind.STRING:
        instant = as_timestamp(folded, constants.calendar)
        assert instant is not None
        return instant.number
    try:
        return resolve_bound(folded.text, constants.now, constants.calendar)
    except DataError as error:
        raise error.at(place) from None
