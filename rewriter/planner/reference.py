"""Plans one reference to a cube in its SELECT block: what it asks for, what covers it, and the edits that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlglot import exp

from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Table
from rewriter.errors import AnalysisError, DataError, InternalError, Span
from rewriter.planner import arms as arms_module
from rewriter.planner.additivity import Additivity, judge
from rewriter.planner.aggregates import aggregate_edits, column_text
from rewriter.planner.arms import Arm
from rewriter.planner.blocks import (
    Block,
    CatalogReader,
    filters,
    inner_queries,
    joined,
    own_nodes,
)
from rewriter.planner.candidates import (
    Choice,
    Demand,
    choose,
    missing_columns,
    nearest_aligned,
    storage_table_of,
    table_of,
)
from rewriter.planner.columns import Columns
from rewriter.planner.constants import Constants, Kind
from rewriter.planner.literals import timestamp_literal
from rewriter.planner.plan import ReferencePlan, Selection, Settings, quote_identifier
from rewriter.planner.predicates import ranges_of
from rewriter.planner.shapes import check_unit, refuse_shapes
from rewriter.planner.text import Edit, Part, QueryText
from rewriter.planner.units import used_unit
from rewriter.timeline.bounds import resolve_bound
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT, UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange


@dataclass(frozen=True)
class PlannedReference:
    """A reference's plan, the edits of the text that carry it out, and the partitions it reads."""

    reference: ReferencePlan
    edits: tuple[Edit, ...]
    uses: tuple[tuple[Table, tuple[KeyRange, ...], tuple[Selection, ...]], ...]


@dataclass
class _TimeUse:
    """What the block's predicates and expressions say about time."""

    wanted: RangeSet
    exact: list[TimeRange]
    units: set[UpdatePeriod]
    raw: list[exp.Expr]
    bounded: bool
    calls: list[tuple[exp.Anonymous, RangeSet]]


def plan_reference(
    text: QueryText,
    block: Block,
    blocks: Sequence[Block],
    reader: CatalogReader,
    settings: Settings,
    constants: Constants,
) -> PlannedReference:
    """Plans the one cube of a block. Shapes that are not understood yet are refused."""
    refuse_shapes(text, block)
    source = block.cubes[0]
    if not source.facts:
        raise AnalysisError(
            f"The cube {source.cube.name} has no fact.",
            condition="NO_CANDIDATE_FACT",
            object=source.cube.name,
            hint=f"CREATE FACT … OF CUBE {source.cube.name} says where its partitions are.",
        )
    columns = Columns(text, block, blocks)
    nodes = list(own_nodes(block.select))
    columns.check(nodes)
    time = _time_use(text, block, nodes, columns, constants)
    additivity = judge(block.select, nodes, source.cube, columns.measure, columns.type_of)
    correlated = columns.correlated(inner_queries(block.select))
    needed = columns.needed(nodes, additivity, correlated)
    reasons = [f"{reason.text}: {_words(text, reason.node)}" for reason in additivity.reasons]
    reasons += [f"time is used as it is: {_words(text, node)}" for node in time.raw]
    if correlated:
        reasons.append("a correlated subquery reads the cube's columns")
    demand = Demand(
        time.wanted,
        tuple(time.exact),
        needed,
        frozenset(time.units),
        additive=not additivity.reasons and not correlated,
        raw=bool(time.raw),
        bounded=time.bounded,
    )
    choice = choose(demand, source.facts, reader, settings)
    if choice is None:
        raise _no_candidate(text, block, demand, time)
    arms = _arms(choice, reader, demand)
    edits, notes = _edits(text, block, additivity, time, arms, needed)
    reference = ReferencePlan(
        cube=source.cube.name,
        alias=source.alias,
        wanted=choice.target,
        parts=choice.cover.parts,
        missing=choice.cover.missing,
        outdated=choice.outdated,
        periods=choice.periods,
        causes=choice.causes,
        reasons=tuple(dict.fromkeys(reasons)),
        warnings=tuple(_inside_warnings(time.wanted, choice.base, source.cube.name)),
        edits=tuple(notes),
        position=source.span,
    )
    uses = tuple(
        (arm.table, arms_module.key_ranges(arm), (Selection(arm.layout, arm.ranges, arm.null_time),)) for arm in arms
    )
    return PlannedReference(reference, tuple(edits), uses)


def _time_use(text: QueryText, block: Block, nodes: list[exp.Expr], columns: Columns, constants: Constants) -> _TimeUse:
    use = _TimeUse(RangeSet.ALL, [], set(), [], bounded=False, calls=[])
    known: dict[int, RangeSet] = {}

    def bounds_of(call: exp.Anonymous) -> RangeSet | None:
        if (
            not call.expressions
            or not isinstance(call.expressions[0], exp.Column)
            or not columns.is_time(call.expressions[0])
        ):
            return None
        if id(call) not in known:
            known[id(call)] = _time_range_in(text, call, constants)
            use.calls.append((call, known[id(call)]))
            use.exact.extend(known[id(call)])
        return known[id(call)]

    consumed: set[int] = set()
    for conjunct in filters(block.select):
        ranges = ranges_of(conjunct, columns.is_time, constants, bounds_of)
        if ranges is not None:
            use.wanted = use.wanted & ranges
            use.bounded = True
            consumed |= {id(node) for node in conjunct.walk()}
    for node in nodes:
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            check_unit(text, node)
        if isinstance(node, exp.Identifier) and isinstance(node.parent, exp.Join) and columns.is_time(joined(node)):
            use.raw.append(node)  # USING (t)
        if isinstance(node, exp.Anonymous) and node.name.upper() == "TIME_RANGE_IN" and id(node) not in consumed:
            _check_call(text, node, columns)
            if bounds_of(node) is None:
                raise _bad_call(text, node)
            consumed |= {id(inner) for inner in node.walk()}
            use.raw.append(node)
        elif isinstance(node, exp.Column) and id(node) not in consumed and columns.is_time(node):
            unit, outermost = used_unit(node)
            if unit is None:
                use.raw.append(outermost)
            else:
                use.units.add(unit)
    return use


def _check_call(text: QueryText, call: exp.Anonymous, columns: Columns) -> None:
    first = call.expressions[0] if call.expressions else None
    if not isinstance(first, exp.Column) or not columns.is_time(first):
        raise _bad_call(text, call)


def _bad_call(text: QueryText, call: exp.Anonymous) -> AnalysisError:
    return AnalysisError(
        "time_range_in needs a time dimension of a cube in this FROM clause.",
        position=text.place(text.call(call)[0]),
        object="time_range_in",
        hint="Write time_range_in(time_dimension, 'from'[, 'to']).",
    )


def _time_range_in(text: QueryText, call: exp.Anonymous, constants: Constants) -> RangeSet:
    place = text.place(text.call(call)[0])
    if len(call.expressions) not in (2, 3):
        raise _bad_call(text, call)
    bounds = []
    for argument in call.expressions[1:]:
        span = text.span_of(argument)
        folded = constants.fold(argument)
        if folded is None:
            raise DataError(
                "A bound of time_range_in must be a constant.",
                condition="INVALID_TIME_BOUND",
                position=text.place(span) if span else place,
                hint="Write '2013-01-29T06' or 'now.day - 7 days'.",
            )
        if folded.kind in (Kind.INTEGER, Kind.INTERVAL):
            raise DataError(
                "A bound of time_range_in must be a text or a time.",
                condition="INVALID_TIME_BOUND",
                position=text.place(span) if span else place,
                hint="Write '2013-01-29T06' or 'now.day - 7 days'.",
            )
        if folded.kind is Kind.STRING:
            try:
                bounds.append(resolve_bound(folded.text, constants.now))
            except DataError as error:
                raise error.at(text.place(span) if span else place) from None
        else:
            bounds.append(folded.number)
    start, end = bounds[0], bounds[1] if len(bounds) == 2 else constants.now
    if start > end:
        raise DataError(
            "The range of time_range_in ends before it begins.",
            condition="INVALID_TIME_RANGE",
            position=place,
            hint="The first bound is the start (included), the second the end (excluded).",
        )
    return RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY


def _arms(choice: Choice, reader: CatalogReader, demand: Demand) -> list[Arm]:
    found = []
    for part in choice.cover.parts:
        storage_table = storage_table_of(choice.facts, part.fact, part.table)
        found.append(
            Arm(table_of(reader, storage_table), storage_table, storage_table.layouts[part.period], part.ranges)
        )
    if not demand.bounded and choice.base is not None:
        found += _null_arms(choice, reader)
    return found


def _null_arms(choice: Choice, reader: CatalogReader) -> list[Arm]:
    """The base partition whose time is NULL, which no range excludes; of the first fact that has one."""
    for fact in sorted(choice.facts, key=lambda f: (f.weight, f.name)):
        for storage_table in fact.tables:
            layout = storage_table.layouts.get(fact.base_period)
            if layout is None:
                continue
            arm = Arm(table_of(reader, storage_table), storage_table, layout, (), null_time=True)
            if reader.partitions(arm.table, arms_module.key_ranges(arm)):
                return [arm]
    return []


def _edits(
    text: QueryText,
    block: Block,
    additivity: Additivity,
    time: _TimeUse,
    arms: list[Arm],
    needed: tuple[str, ...],
) -> tuple[list[Edit], list[str]]:
    source = block.cubes[0]
    parts: list[Part] = arms_module.relation(arms, source.cube, needed)
    if not source.node.alias:
        parts.append(f" AS {quote_identifier(source.node.name)}")
    edits = [Edit(source.span, tuple(parts), f"{source.cube.name} becomes {_counted(len(arms))}")]
    for call, ranges in time.calls:
        edits.append(_range_edit(text, call, ranges))
    edits += aggregate_edits(text, block, additivity)
    return edits, [edit.what for edit in edits if edit.what]


def _counted(arms: int) -> str:
    return {0: "an empty relation", 1: "one arm"}.get(arms, f"a union of {arms} arms")


def _range_edit(text: QueryText, call: exp.Anonymous, ranges: RangeSet) -> Edit:
    span, _ = text.call(call)
    name = column_text(call.expressions[0])
    if not ranges:
        predicate = "(1 = 0)"
    else:
        one = ranges.ranges[0]
        predicate = f"({name} >= {timestamp_literal(one.start)} AND {name} < {timestamp_literal(one.end)})"
    return Edit(span, (predicate,), "time_range_in becomes a range")


def _inside_warnings(wanted: RangeSet, base: UpdatePeriod | None, cube: str) -> Iterator[str]:
    """Ends inside a base period, but for its last second: plain SQL over the base rows would do the same, yet it
    surprises.
    """
    if base is None:
        return
    for one in wanted:
        for bound in (one.start, one.end):
            # An inclusive bound on an edge (``<= '05:00'``) has become the microsecond behind it.
            typed = bound - 1 if base.is_aligned(bound - 1) else bound
            if MIN_INSTANT < bound < MAX_INSTANT and base.ceil(typed) - typed > 1_000_000:
                shown = TimeRange(bound, bound + 1)
                yield (
                    f"{str(shown).split(',')[0][1:]} lies inside a {base.name} period of {cube}: "
                    "a row's time is the start of its period"
                )


def _no_candidate(text: QueryText, block: Block, demand: Demand, time: _TimeUse) -> AnalysisError:
    source = block.cubes[0]
    lacking = {fact.name: missing_columns(fact, demand) for fact in source.facts}
    if all(lacking.values()):
        listed = "; ".join(f"{name} lacks {', '.join(columns)}" for name, columns in lacking.items())
        return AnalysisError(
            f"No fact of the cube {source.cube.name} carries all the columns that are needed: {listed}.",
            condition="NO_CANDIDATE_FACT",
            object=source.cube.name,
        )
    base = min(fact.base_period for fact in source.facts if not lacking[fact.name])
    unaligned = next(r for r in demand.exact if not (base.is_aligned(r.start) and base.is_aligned(r.end)))
    call = next((call for call, ranges in time.calls if unaligned in ranges.ranges), None)
    return AnalysisError(
        f"time_range_in promises exactness, but {unaligned} does not consist of whole {base.name} periods.",
        condition="UNALIGNED_TIME_RANGE",
        position=text.place(text.call(call)[0]) if call is not None else None,
        object=source.cube.name,
        hint=f"The nearest range of whole periods is {nearest_aligned(unaligned, base)}.",
    )


def _words(text: QueryText, node: exp.Expr) -> str:
    """The user's own words for a node, shortened."""
    if isinstance(node, exp.Select):
        return "SELECT …"
    span: Span | None = text.span_of(node)
    if span is None:
        return node.key.upper()
    if isinstance(node, exp.Func) and node._meta and "start" in node.meta:
        with suppress(InternalError):  # a function without parentheses
            span = text.call(node)[0]
    words = " ".join(text.text[span.start : span.end].split())
    return words if len(words) <= 60 else words[:57] + "…"
