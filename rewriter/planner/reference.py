"""Plans one reference to a cube in its SELECT block: what it asks for, what covers it, and the edits that follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from sqlglot import exp

from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Cube, Table
from rewriter.errors import AnalysisError, InternalError, NotSupportedError, Span
from rewriter.planner import arms as arms_module
from rewriter.planner.additivity import Objection, Subject, is_aggregate, judge
from rewriter.planner.aggregates import aggregate_edits
from rewriter.planner.arms import Arm
from rewriter.planner.blocks import Block, CatalogReader, CubeSource
from rewriter.planner.candidates import (
    Choice,
    Demand,
    check_certain,
    choose,
    missing_columns,
    nearest_aligned,
    null_time_arm,
    storage_table_of,
    table_of,
    timeless_outside,
)
from rewriter.planner.columns import Columns
from rewriter.planner.constants import Constants
from rewriter.planner.counters import Counters
from rewriter.planner.inlining import of_source
from rewriter.planner.joins import contributes, filters, nullable
from rewriter.planner.othertimes import OtherUse, extents, selections
from rewriter.planner.plan import Reason, ReasonKind, ReferencePlan, Selection, Settings, quote_identifier
from rewriter.planner.projections import descend, own_nodes
from rewriter.planner.scalars import is_scalar
from rewriter.planner.shapes import refuse_shapes
from rewriter.planner.text import Edit, Part, QueryText
from rewriter.planner.timeuse import TimeUse, range_edits, time_use
from rewriter.planner.zoneuse import ZoneEdits
from rewriter.timeline.calendars import Calendar, Period
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT, UpdatePeriod
from rewriter.timeline.ranges import RangeSet


@dataclass(frozen=True)
class PlannedReference:
    """A reference's plan, the edits of the text that carry it out, and the partitions it reads."""

    reference: ReferencePlan
    edits: tuple[Edit, ...]
    uses: tuple[tuple[Table, tuple[KeyRange, ...], tuple[Selection, ...]], ...]


def plan_reference(
    text: QueryText,
    block: Block,
    source: CubeSource,
    blocks: dict[int, Block],
    reader: CatalogReader,
    settings: Settings,
    constants: Constants,
) -> PlannedReference:
    """Plans one cube of a block. Shapes that are not understood are refused."""
    refuse_shapes(text, block)
    if not source.facts:
        raise AnalysisError(
            f"The cube {source.cube.name} has no fact.",
            condition="NO_CANDIDATE_FACT",
            object=source.cube.name,
            hint=f"CREATE FACT … OF CUBE {source.cube.name} says where its partitions are.",
        )
    columns = Columns(text, block, source, blocks)
    select, index = block.effective, source.index
    inlined = [of_source(node, index) for level in source.levels for node in level.filters()]
    nodes = [*block.nodes, *(inner for node in inlined for inner in (node, *descend(node)))]
    columns.check(nodes)
    conditions = [*inlined, *filters(select, index)]
    time = time_use(text, source, conditions, nodes, columns, constants)
    # EXISTS shows nothing of what its subquery selects.
    visible = contributes(select, index) and not isinstance(block.select.parent, exp.Exists)
    stars = any(_is_star(node, columns) for node in nodes) and visible
    if stars and any(columns.times_in(value) for value in source.columns.values()):
        time.raw.append(select)
    shared = [name for name in block.joined_names if _is_natural(select) and name in source.columns]
    time.raw += [select for name in shared if columns.times_in(source.columns[name])]
    additivity = judge(select, nodes, _subject(block, source, columns, blocks, text, shown=visible))
    correlated = columns.correlated()
    objections = [*additivity.reasons, *_correlated(correlated, columns, time)]
    objections += [
        Objection(ReasonKind.MEASURE_OUTSIDE_AGGREGATE, f"the measure {name} is joined by NATURAL JOIN", select)
        for name in shared
        if columns.measures_in(source.columns[name])
    ]
    reasons = [Reason(one.kind, f"{one.text}: {_words(text, one.node)}") for one in objections]
    reasons += [Reason(ReasonKind.RAW_TIME, f"time is used as it is: {_words(text, node)}") for node in time.raw]
    counters = Counters(text, block, source, absent=nullable(select, index))
    edits = [*aggregate_edits(text, select, additivity, counters), *range_edits(text, time), *counters.edits]
    shown = nodes if visible else [node for node in nodes if not _is_star(node, columns)]
    natural = source.cube.column_order if _is_natural(select) else ()
    needed = columns.needed(shown, (value for _, value in correlated), (*counters.named, *natural))
    leading, *further = source.cube.times
    others = tuple(OtherUse(name, time.others.get(name)) for name in further if name in (*needed, *counters.used))
    # Where another time can have no value, there is nothing to read.
    nothing = any(not asked for asked in time.others.values())
    demand = Demand(
        RangeSet.EMPTY if nothing else time.wanted,
        tuple(time.exact),
        tuple(dict.fromkeys((*needed, *counters.used))),
        frozenset(time.units),
        additive=not objections,
        raw=bool(time.raw),
        bounded=time.bounded or nothing,
        others=others,
    )
    choice = choose(demand, source.facts, reader, settings)
    if choice is None:
        raise _no_candidate(text, source, demand, time)
    arms = _arms(choice, reader, demand, source.cube.calendar)
    parts: list[Part] = [*arms_module.relation(arms, source.cube, needed, counters.extras)]
    if not source.node.alias:
        parts.append(f" AS {quote_identifier(source.node.name)}")
    if not source.cube.calendar.is_utc:
        within = arms_module.within(arms, [use.time for use in others], source.cube.calendar)
        for name, there in within.items():
            check_certain(there, choice.facts, name)
        within[leading.lower()] = choice.target
        edits += ZoneEdits(text, block, source, columns, constants, within).edits(edits)
    edits.insert(0, Edit(source.span, tuple(parts), f"{source.cube.name} becomes {_counted(len(arms))}"))
    reference = ReferencePlan(
        cube=source.cube.name,
        alias=source.alias or source.node.alias_or_name,
        wanted=choice.target,
        parts=choice.cover.parts,
        missing=choice.cover.missing,
        outdated=choice.outdated,
        periods=choice.periods,
        causes=choice.causes,
        reasons=tuple(dict.fromkeys(reasons)),
        units=tuple((unit, _words(text, node)) for unit, node in sorted(time.units.items(), key=lambda u: u[0])),
        warnings=(
            *_inside_warnings(time, choice.base, source.cube),
            *(() if demand.bounded else _timeless_warnings(choice, reader)),
        ),
        edits=tuple(edit.what for edit in edits if edit.what),
        position=text.place(source.span),
        cost=choice.cost,
        others=tuple((use.time, use.asked) for use in choice.others if use.asked is not None),
        calendar=source.cube.calendar,
    )
    uses = tuple(
        (arm.table, arms_module.key_ranges(arm), (Selection(arm.layout, arm.ranges, arm.null_time, arm.others),))
        for arm in arms
    )
    return PlannedReference(reference, tuple(edits), uses)


def _subject(
    block: Block, source: CubeSource, columns: Columns, blocks: dict[int, Block], text: QueryText, *, shown: bool
) -> Subject:
    select = block.effective
    all_columns = [columns if one is source else Columns(text, block, one, blocks) for one in block.cubes]
    counted = [one for one in block.cubes if contributes(select, one.index)]
    tested = not contributes(select, source.index) or _only_tested(block.select)
    if len(counted) > 1 and not tested:
        _refuse_counts(text, select, counted)
    return Subject(
        cube=source.cube,
        measure_of=columns.measure,
        any_measure=lambda column: any(one.measure(column) is not None for one in all_columns),
        type_of=columns.type_of,
        joined=lambda name: (value := columns.joined(name)) is not None and columns.measures_in(value),
        shown=shown and any(columns.measures_in(value) for value in source.columns.values()),
        tested=tested,
        alone=not tested and len(counted) == 1,
    )


def _only_tested(select: exp.Select) -> bool:
    """Whether a block answers rows of which only the existence matters: EXISTS (…), x IN (…)."""
    grouped = any(select.args.get(key) for key in ("group", "having", "qualify", "offset"))
    if grouped or any(is_aggregate(node) or isinstance(node, exp.Window) for node in own_nodes(select)):
        return False
    if isinstance(select.parent, exp.Exists):
        return True
    inside = isinstance(select.parent, exp.Subquery) and isinstance(select.parent.parent, exp.In)
    return inside and not select.args.get("limit")


def _refuse_counts(text: QueryText, select: exp.Select, counted: list[CubeSource]) -> None:
    """COUNT beside two cubes: neither's events are what its rows are."""
    counting = next((one for one in counted if one.cube.count_measure is not None), None)
    if counting is None:
        return
    for node in own_nodes(select):
        if isinstance(node, exp.Count | exp.CountIf) and not isinstance(node.this, exp.Distinct):
            raise NotSupportedError(
                "COUNT over two cubes in one FROM clause does not say whose events it counts.",
                condition="AMBIGUOUS_COUNT",
                position=text.place(text.call(node)[0]),
                object=counting.cube.name,
                hint="Aggregate one of them in a subquery of its own, or sum the measure that counts.",
            )


def _correlated(found: list[tuple[exp.Column, exp.Expr]], columns: Columns, time: TimeUse) -> Iterator[Objection]:
    """What subqueries that read columns of the cube demand: as functions of dimensions they are free."""
    for column, value in found:
        if columns.measures_in(value):
            yield Objection(ReasonKind.CORRELATED, "a correlated subquery reads a measure", column)
        elif columns.times_in(value):
            if isinstance(value, exp.Column):
                time.used(column)
            else:
                time.raw.append(column)
        if not _is_function(column):
            yield Objection(ReasonKind.CORRELATED, "a correlated subquery is not known to be deterministic", column)


def _is_function(column: exp.Column) -> bool:
    """Whether the subqueries around a column answer the same for the same outer row."""
    select = column.parent_select
    while select is not None:
        if any(select.args.get(key) for key in ("limit", "offset", "qualify", "laterals", "windows")):
            return False
        for node in own_nodes(select):
            known = is_scalar(node) or isinstance(node, exp.Sum | exp.Count | exp.Min | exp.Max | exp.Avg)
            if isinstance(node, exp.Window | exp.TableSample) or (isinstance(node, exp.Func) and not known):
                return False
        parent = select.parent
        if isinstance(parent, exp.Exists) or (
            isinstance(parent, exp.Subquery) and not isinstance(parent.parent, exp.From | exp.Join)
        ):
            return True
        select = select.parent_select
    return False


def _is_star(node: exp.Expr, columns: Columns) -> bool:
    """Whether a node is ``*`` or ``alias.*`` of the source."""
    if isinstance(node, exp.Column):
        return isinstance(node.this, exp.Star) and columns.owned(node)
    return isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column)


def _is_natural(select: exp.Select) -> bool:
    return any(str(join.args.get("method") or "").upper() == "NATURAL" for join in select.args.get("joins") or ())


def _arms(choice: Choice, reader: CatalogReader, demand: Demand, calendar: Calendar) -> list[Arm]:
    found = []
    for part in choice.cover.parts:
        storage_table = storage_table_of(choice.facts, part.fact, part.table)
        found.append(
            Arm(table_of(reader, storage_table), storage_table, storage_table.layouts[part.period], part.ranges)
        )
    if not demand.bounded:
        found += _null_arms(choice, reader)
    picked = (_picked(arm, choice, reader, calendar) for arm in found)
    # Where no partition has a value that is asked for, there is nothing to read either.
    return [arm for arm in picked if all(other.ranges for other in arm.others)]


def _picked(arm: Arm, choice: Choice, reader: CatalogReader, calendar: Calendar) -> Arm:
    """The arm with what is asked of other times, and in a zone with what its rows may have of them."""
    place = (choice.others, arm.storage_table, calendar.of(arm.layout.period), reader)
    return replace(arm, others=selections(*place), extents={} if calendar.is_utc else extents(*place))


def _null_arms(choice: Choice, reader: CatalogReader) -> list[Arm]:
    """The base partition whose time is NULL, which no range excludes; of the first fact that has one.

    Where another time matters, that of a fact that begins coarser serves only if its periods may.
    """
    serving = {choice.base, *choice.periods}
    telling = (fact for fact in choice.facts if not choice.others or fact.base_period in serving)
    for fact in sorted(telling, key=lambda f: (f.weight, f.name)):
        arm = null_time_arm(reader, fact)
        if arm is not None:
            return [arm]
    return []


def _counted(arms: int) -> str:
    return {0: "an empty relation", 1: "one arm"}.get(arms, f"a union of {arms} arms")


def _inside_warnings(time: TimeUse, base: Period, cube: Cube) -> Iterator[str]:
    """Ends inside a base period, but for its last second: plain SQL over the base rows would do the same, yet it
    surprises.
    """
    article = "an" if base is UpdatePeriod.HOURLY else "a"
    warned: set[int] = set()
    for one in chain(time.wanted, *time.others.values()):
        for bound in (one.start, one.end):
            # An inclusive bound (``<= '05:00'``, ``= '05:30'``) has become the microsecond behind it.
            typed = bound - 1 if base.is_aligned(bound - 1) or bound - 1 in warned else bound
            if MIN_INSTANT < bound < MAX_INSTANT and base.ceil(typed) - typed > 1_000_000 and typed not in warned:
                warned.add(typed)
                yield (
                    f"{cube.calendar.text(typed)} lies inside {article} {base.name} period of {cube.name}: "
                    "a row's time is the start of its period"
                )


def _timeless_warnings(choice: Choice, reader: CatalogReader) -> Iterator[str]:
    for table in timeless_outside(reader, choice.facts):
        yield f"the rows of {table} that have no time are left out: its storage answers for a window of time only"


def _no_candidate(text: QueryText, source: CubeSource, demand: Demand, time: TimeUse) -> AnalysisError:
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
    shown = source.cube.calendar.shown(unaligned)
    call = next((call for call, ranges in time.calls if unaligned in ranges.ranges), None)
    return AnalysisError(
        f"time_range_in promises exactness, but {shown} does not consist of whole {base.name} periods.",
        condition="UNALIGNED_TIME_RANGE",
        position=text.place(text.call(call)[0]) if call is not None else None,
        object=source.cube.name,
        hint=f"The nearest range of whole periods is {nearest_aligned(unaligned, base, source.cube.calendar)}.",
    )


def _words(text: QueryText, node: exp.Expr) -> str:
    """The user's own words for a node, shortened."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Select):
        return "SELECT …"
    span: Span | None = text.span_of(node)
    if span is None:
        return node.key.upper()
    if isinstance(node, exp.Func | exp.Cast | exp.Extract) and not (node._meta and "start" in node.meta):
        span = text.enclosing_call(span) or span
    elif isinstance(node, exp.Func):
        with suppress(InternalError):  # a function without parentheses
            span = text.call(node)[0]
    words = " ".join(text.text[span.start : span.end].split())
    return words if len(words) <= 60 else words[:57] + "…"
