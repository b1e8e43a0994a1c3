"""The use of a cube's time dimensions in a block: the ranges that it requests, and the units in which it uses time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import AnalysisError, DataError, Span
from rewriter.grammar.lexer import TokenKind, string_value
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.projections import substituted
from rewriter.planner.text.literals import timestamp_literal
from rewriter.planner.text.query_text import Copied, Edit, QueryText
from rewriter.planner.text.sqlglot_trees import one_of, walk
from rewriter.planner.time.constant_folding import Constants, Kind, as_timestamp
from rewriter.planner.time.exactness import compared_ranges
from rewriter.planner.time.granularity import check_unit, used_unit
from rewriter.planner.time.mistaken_constants import check_constants
from rewriter.planner.time.time_expressions import utc_time
from rewriter.planner.time.time_predicates import Reader, ranges_of
from rewriter.timeline.calendars import UTC, Calendar
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import is_relative, resolve_bound

if TYPE_CHECKING:
    from rewriter.planner.scope.blocks import CubeSource
    from rewriter.planner.scope.column_lineage import Columns


@dataclass
class TimeUse:
    """The use of time. ``requested`` are the instants of the leading time dimension that the block lets through
    (``bounded``: not NULL); ``secondary_ranges``, by name, the instants of other dimensions that it bounds. The other
    fields are about all dimensions: ``exact_ranges`` are the ranges that ``time_range_in`` names, ``units`` the units
    in which time is used and the nodes that use them, ``raw_uses`` other uses, ``compared_ranges`` the ranges for which
    comparisons with constants are true that are no range of the block. ``from_now`` says that a bound of the leading
    dimension is computed from the present. ``taken_conditions`` are the identities of the conditions that became part
    of ``requested``: they are true for all of its instants.
    """

    requested: RangeSet = RangeSet.ALL
    bounded: bool = False
    secondary_ranges: dict[str, RangeSet] = field(default_factory=dict)
    exact_ranges: list[TimeRange] = field(default_factory=list)
    units: dict[UpdatePeriod, exp.Expr] = field(default_factory=dict)
    raw_uses: list[exp.Expr] = field(default_factory=list)
    compared_ranges: list[RangeSet] = field(default_factory=list)
    calls: list[tuple[exp.Anonymous, RangeSet]] = field(default_factory=list)
    calendar: Calendar = UTC
    from_now: bool = False
    taken_conditions: set[int] = field(default_factory=set)

    def record(self, column: exp.Column) -> None:
        """Records an occurrence of a time dimension that is not a range."""
        unit, outermost = used_unit(column, self.calendar)
        is_utc = self.calendar.is_utc or utc_time(column, self.calendar.zone) is not None
        if unit is UpdatePeriod.HOURLY and not is_utc and self.calendar.since(unit) is None:
            unit = UpdatePeriod.MINUTELY  # the zone's hours are not UTC hours
        if unit is None:
            self.raw_uses.append(outermost)
        else:
            self.units.setdefault(unit, outermost)

    def exact_among(self, conditions: Sequence[tuple[exp.Expr, exp.Expr]]) -> frozenset[int]:
        """Returns the identities of the conditions, as typed, that ``requested`` took over exactly.

        ``conditions`` are pairs of a condition as typed and a part of it as read. All parts must have been taken.
        """
        doubted_ids = {id(typed) for typed, read in conditions if id(read) not in self.taken_conditions}
        return frozenset(id(typed) for typed, _ in conditions) - doubted_ids


def time_use(
    text: QueryText,
    source: CubeSource,
    conditions: Iterable[exp.Expr],
    nodes: Sequence[exp.Expr],
    columns: Columns,
    constants: Constants,
) -> TimeUse:
    """Reads the ranges from ``conditions`` and the units from ``nodes``, the block's own nodes and those inlined.

    Raises ``DataError`` and ``AnalysisError``, with position, for an unreadable ``time_range_in``.
    """
    use = TimeUse(calendar=constants.calendar)
    ranges_of_call: dict[int, RangeSet] = {}

    def bounds_of(call: exp.Anonymous) -> RangeSet | None:
        if not _is_call_of(call, columns):
            return None
        if id(call) not in ranges_of_call:
            ranges_of_call[id(call)] = _time_range_in(text, call, constants)
            use.calls.append((call, ranges_of_call[id(call)]))
            use.exact_ranges.extend(ranges_of_call[id(call)])
        return ranges_of_call[id(call)]

    consumed: set[int] = set()
    left = list(conditions)
    for dimension in source.cube.times:
        reader = _reader(text, source, dimension, columns, constants, bounds_of)
        is_leading = dimension == source.cube.times[0]
        count = len(left)
        let_through, left = _take_ranges(use, left, reader, consumed, is_leading=is_leading)
        bounded = len(left) < count
        if is_leading:
            use.requested, use.bounded = let_through, bounded
        elif bounded:
            use.secondary_ranges[dimension] = let_through
    for node in nodes:
        if not _may_use(type(node)):
            continue
        if isinstance(node, _TRUNCATIONS):
            check_unit(text, node)
        if isinstance(node, exp.Identifier):
            if isinstance(node.parent, exp.Join) and _is_joined_time(node, columns):
                use.raw_uses.append(node)
            continue
        if id(node) in consumed:
            continue
        if _is_time_range_in(node):
            assert isinstance(node, exp.Anonymous)
            if not any(columns.is_time(column) for column in node.find_all(exp.Column)):
                continue  # another cube's
            ranges = bounds_of(node)
            if ranges is None:
                raise bad_call(text, node)
            consumed |= {id(descendant) for descendant in walk(node)}
            _record_call(use, node, ranges)
        elif isinstance(node, exp.Column) and columns.is_time(node):
            check_constants(text, node, constants)
            use.record(node)
            use.compared_ranges.extend(compared_ranges(node, constants))
    use.calls.extend(_read_calls_of_levels(text, source, constants))
    return use


_TRUNCATIONS = (exp.TimestampTrunc, exp.DateTrunc)
_may_use = one_of(*_TRUNCATIONS, exp.Identifier, exp.Anonymous, exp.Column)


def _reader(
    text: QueryText,
    source: CubeSource,
    dimension: str,
    columns: Columns,
    constants: Constants,
    bounds_of: Callable[[exp.Anonymous], RangeSet | None],
) -> Reader:
    """Reads predicates over one time dimension."""

    def own_bounds(call: exp.Anonymous) -> RangeSet | None:
        return bounds_of(call) if _is_call_of(call, columns, dimension) else None

    def pattern_of(call: exp.TimeToStr) -> str | None:
        tokens = text.within(text.call(call)[1]) if "start" in call.meta else []
        return string_value(tokens[-1]) if tokens and tokens[-1].kind is TokenKind.STRING else None

    finest = min((fact.base_period.kind for fact in source.facts), default=UpdatePeriod.MINUTELY)
    return Reader(
        lambda column: columns.is_time(column, dimension), constants, own_bounds, pattern_of=pattern_of, finest=finest
    )


def _take_ranges(
    use: TimeUse, conditions: list[exp.Expr], reader: Reader, consumed: set[int], *, is_leading: bool
) -> tuple[RangeSet, list[exp.Expr]]:
    """Takes over the conditions that reduce to ranges of one dimension. Returns what they let through together, and the
    other conditions.
    """
    let_through, left = RangeSet.ALL, conditions
    pending: list[exp.Expr] = []
    while len(left) != len(pending):
        # Between the ends that a round finds, the next one also reads recurring fields: months, then their days.
        pending, left = left, []
        for condition in pending:
            reader = reader if reader.bounds is let_through else replace(reader, bounds=let_through)
            # A predicate that reduces to ranges is not true for NULL, so it also holds for rows without the cube.
            ranges = ranges_of(condition, reader)
            if ranges is None:
                left.append(condition)
                continue
            let_through = let_through & ranges
            descendants = list(walk(condition))
            consumed |= {id(node) for node in descendants}
            if is_leading:
                use.taken_conditions.add(id(condition))
                use.from_now |= any(_is_present(node, reader.constants) for node in descendants)
    return let_through, left


def _is_joined_time(node: exp.Identifier, columns: Columns) -> bool:
    """Tests whether a name in USING means a time dimension."""
    value = columns.joined_value(node)
    return value is not None and bool(columns.times_in(value))


def _record_call(use: TimeUse, call: exp.Anonymous, ranges: RangeSet) -> None:
    """Records a ``time_range_in`` that is not a condition of the block: it needs periods that nest in its range."""
    unit = _edges(ranges, use.calendar)
    if unit is None:
        use.raw_uses.append(call)
    else:
        use.units.setdefault(unit, call)


def _read_calls_of_levels(
    text: QueryText, source: CubeSource, constants: Constants
) -> Iterator[tuple[exp.Anonymous, RangeSet]]:
    """Returns the ``time_range_in`` calls in the select lists between cube and block, which are edited even if nothing
    outside reads them.
    """
    is_called = bool(source.levels) and any(map(_is_time_range_in, text.find_all(exp.Anonymous)))
    for level in source.levels if is_called else ():
        for item in level.select.expressions:
            for call in substituted(item, level.value_of).find_all(exp.Anonymous):
                if _is_time_range_in(call) and call.expressions:
                    yield call, _time_range_in(text, call, constants)


def _edges(ranges: RangeSet, calendar: Calendar) -> UpdatePeriod | None:
    """Returns the coarsest period such that both ends of a range are its edges: inside one, the range is true or false
    throughout.
    """
    bounds = [bound for time_range in ranges for bound in (time_range.start, time_range.end)]
    for period in sorted(UpdatePeriod, reverse=True):
        if period is not UpdatePeriod.WEEKLY and all(calendar.of(period).is_aligned(bound) for bound in bounds):
            return period
    return None


def range_edits(text: QueryText, use: TimeUse) -> list[Edit]:
    """Returns edits that write ``time_range_in`` calls as plain ranges of the named column."""
    edits: dict[Span, Edit] = {}
    for call, ranges in use.calls:
        span, _ = text.call(call)
        first = text.index_at(call.meta["start"]) + 2
        comma = text.comma(first)
        name = Copied(Span(text.tokens[first].start, text.tokens[comma - 1].end))
        if ranges:
            start, end = ranges.ranges[0].start, ranges.ranges[-1].end
            parts = (" >= ", timestamp_literal(start), " AND ", name, " < ", timestamp_literal(end))
            edits[span] = Edit(span, ("(", name, *parts, ")"), "time_range_in becomes a range")
        else:
            # Never true, and NULL for NULL like any range.
            edits[span] = Edit(span, ("(", name, " < ", name, ")"), "time_range_in becomes an empty range")
    return list(edits.values())


def bad_call(text: QueryText, call: exp.Anonymous) -> AnalysisError:
    """Returns the error for a ``time_range_in`` that names no time dimension of a cube."""
    return AnalysisError(
        "time_range_in needs a time dimension of a cube in this FROM clause.",
        position=text.place(text.call(call)[0]),
        object="time_range_in",
        hint="Write time_range_in(time_dimension, 'from'[, 'to']).",
    )


def _is_time_range_in(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "TIME_RANGE_IN"


def _is_present(node: exp.Expr, constants: Constants) -> bool:
    """Tests whether a node is the present moment, or a ``time_range_in`` that begins or ends with it."""
    if isinstance(node, exp.CurrentTimestamp | exp.CurrentDate):
        return True
    if _is_time_range_in(node):
        bounds = [constants.fold(bound) for bound in node.expressions[1:]]
        return len(bounds) < 2 or any(constant is not None and is_relative(constant.text) for constant in bounds)
    return isinstance(node, exp.Anonymous) and node.name.upper() == "NOW"


def _is_call_of(call: exp.Anonymous, columns: Columns, dimension: str | None = None) -> bool:
    first = call.expressions[0] if call.expressions else None
    return isinstance(first, exp.Column) and columns.is_time(first, dimension)


def _time_range_in(text: QueryText, call: exp.Anonymous, constants: Constants) -> RangeSet:
    position = text.place(text.call(call)[0])
    if len(call.expressions) not in (2, 3):
        raise bad_call(text, call)
    bounds = [_instant(text, argument, position, constants) for argument in call.expressions[1:]]
    start, end = bounds[0], bounds[1] if len(bounds) == 2 else int(constants.now)
    if start > end:
        raise DataError(
            "The range of time_range_in ends before it begins.",
            condition="INVALID_TIME_RANGE",
            position=position,
            hint="The first bound is the start (included), the second the end (excluded).",
        )
    return RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY


def _instant(text: QueryText, argument: exp.Expr, call: Span, constants: Constants) -> int:
    """Returns an instant in microseconds."""
    span = text.span_of(argument)
    position = text.place(span) if span else call
    folded = constants.fold(argument)
    if folded is None or folded.kind not in (Kind.STRING, Kind.TIMESTAMP, Kind.DATE):
        expectation = "a constant" if folded is None else "a string or a time"
        raise DataError(
            f"A bound of time_range_in must be {expectation}.",
            condition="INVALID_TIME_BOUND",
            position=position,
            hint="Write '2013-01-29T06' or 'now.day - 7 days'.",
        )
    if folded.kind is not Kind.STRING:
        instant = as_timestamp(folded, constants.calendar)
        assert instant is not None
        return instant.number
    try:
        return resolve_bound(folded.text, constants.now, constants.calendar)
    except DataError as error:
        raise error.at(position) from None
