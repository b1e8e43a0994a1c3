"""Plans one reference to a cube in its SELECT block: its demand, its cover, and the edits of the text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, SupportsInt

from sqlglot import exp

from rewriter.errors import AnalysisError, InternalError, NotSupportedError, Span
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.arms import Arm, key_ranges, within
from rewriter.planner.cover.choose_facts import (
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
from rewriter.planner.cover.secondary_times import SecondaryTimeUse, extents, selections
from rewriter.planner.cover.stored_measures import rounding_tables, widened_measures
from rewriter.planner.model.plan import Reason, ReasonKind, ReferencePlan, Selection, Settings, quote_identifier
from rewriter.planner.rewrite import union_arms as arms_module
from rewriter.planner.rewrite.additivity import (
    Additivity,
    Objection,
    Subject,
    is_aggregate,
    judge,
    refuse_shapes,
    row_aggregate_warnings,
    row_aggregates,
)
from rewriter.planner.rewrite.count_rewrites import Counters, aggregate_edits, shown_edits
from rewriter.planner.rewrite.union_arms import merged_uses
from rewriter.planner.rewrite.united_keys import refuse_united_keys
from rewriter.planner.scope.column_lineage import Columns, NeededColumns
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.inlining import of_source
from rewriter.planner.scope.joins import contributes, filters, nullable, typed_conjuncts
from rewriter.planner.scope.projections import descend, own_nodes
from rewriter.planner.scope.unknown_columns import check_columns
from rewriter.planner.text.query_text import Edit, Part, QueryText
from rewriter.planner.time.exactness import inexact, inside_warnings, instants_inside, unit_warnings
from rewriter.planner.time.time_usage import TimeUse, range_edits, time_use
from rewriter.planner.zones.zone_rewrites import ZoneEdits
from rewriter.timeline.civil import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE
from rewriter.timeline.ranges import RangeSet

if TYPE_CHECKING:
    from rewriter.catalog.model.key_ranges import KeyRange
    from rewriter.catalog.model.objects import Cube, Table
    from rewriter.planner.scope.blocks import Block, CatalogReader, CubeSource
    from rewriter.planner.time.constant_folding import Constants
    from rewriter.timeline.calendars import Calendar


@dataclass(frozen=True)
class PlannedReference:
    """A reference's plan, the edits of the text that carry it out, and the partitions it reads.

    ``splits_partitions`` says that the query treats events of one partition differently by their time.
    ``exact_conditions`` are the identities of the conditions, as typed, that the range of the leading time expresses:
    all rows of the range satisfy them, and no others. ``engine_edits`` returns the edits for an engine, without what
    the cover implies, from the identities of the tables of which nothing else in the query reads rows.
    """

    reference: ReferencePlan
    edits: tuple[Edit, ...]
    uses: tuple[tuple[Table, tuple[KeyRange, ...], tuple[Selection, ...]], ...]
    splits_partitions: bool = False
    exact_conditions: frozenset[int] = frozenset()
    engine_edits: Callable[[Collection[int]], Sequence[Edit]] = field(kw_only=True)


@dataclass
class CubeQuery:
    """One reference to a cube. The caller gives the first fields; each other field is set by the pass named in its
    comment.
    """

    text: QueryText
    block: Block
    source: CubeSource
    blocks: dict[int, Block]
    reader: CatalogReader
    settings: Settings
    constants: Constants
    #: resolve_columns: the columns of the cube in the block, the nodes that may use them, and the conditions of
    #: inlined subqueries, as typed and as read.
    columns: Columns = field(init=False)
    nodes: list[exp.Expr] = field(init=False)
    inlined: list[tuple[exp.Expr, exp.Expr]] = field(init=False)
    #: resolve_columns: whether rows of the cube reach the block's rows; its columns that a NATURAL JOIN compares.
    visible: bool = field(init=False)
    natural_columns: list[str] = field(init=False)
    #: read_time: the ranges, the units and the raw uses of time.
    time: TimeUse = field(init=False)
    #: judge_additivity: which aggregates roll up, and why some uses need the base period.
    additivity: Additivity = field(init=False)
    correlated: list[tuple[exp.Column, exp.Expr]] = field(init=False)
    objections: list[Objection] = field(init=False)
    #: rewrite_counts and later passes: the edits of the text.
    counters: Counters = field(init=False)
    edits: list[Edit] = field(init=False)
    #: find_demand: the needed columns, and the requirements on partitions.
    needed_columns: NeededColumns = field(init=False)
    demand: Demand = field(init=False)
    #: choose_cover, build_arms, check_bounds.
    choice: Choice = field(init=False)
    arms: list[Arm] = field(init=False)
    instants_inside: tuple[int, ...] = field(init=False)

    @property
    def select(self) -> exp.Select:
        """The block as it is planned: subqueries that only project and filter are looked through."""
        return self.block.effective

    @property
    def cube(self) -> Cube:
        return self.source.cube


def plan_reference(
    text: QueryText,
    block: Block,
    source: CubeSource,
    blocks: dict[int, Block],
    reader: CatalogReader,
    settings: Settings,
    constants: Constants,
) -> PlannedReference:
    """Plans one cube of a block: runs ``_PASSES`` in order. A pass refuses a query that it does not understand."""
    query = CubeQuery(text, block, source, blocks, reader, settings, constants)
    for run in _PASSES:
        run(query)
    return _planned(query)


def _check_shapes(query: CubeQuery) -> None:
    """Refuses shapes of blocks that are not understood, and cubes without storage."""
    refuse_shapes(query.text, query.block)
    if not query.source.facts:
        raise AnalysisError(
            f"The cube {query.cube.name} has no fact.",
            condition="NO_CANDIDATE_FACT",
            object=query.cube.name,
            hint=f"CREATE FACT … OF CUBE {query.cube.name} declares where its partitions are.",
        )


def _resolve_columns(query: CubeQuery) -> None:
    """Finds the columns of the cube that the block uses, and where."""
    block, source, select = query.block, query.source, query.select
    query.columns = Columns(query.text, block, source, query.blocks)
    query.inlined = [
        (typed, of_source(read, source.index)) for level in source.levels for typed, read in level.filters()
    ]
    query.nodes = [*block.nodes, *(below_node for _, node in query.inlined for below_node in (node, *descend(node)))]
    check_columns(query.text, block, source, query.blocks, query.nodes)
    # EXISTS returns none of the columns of its subquery.
    query.visible = contributes(select, source.index) and not isinstance(block.select.parent, exp.Exists)
    query.natural_columns = [name for name in block.joined_names if _is_natural(select) and name in source.columns]


def _read_time(query: CubeQuery) -> None:
    """Reads the requested time from the conditions, and the units in which time is used."""
    source, select, columns = query.source, query.select, query.columns
    conditions = [*(read for _, read in query.inlined), *filters(select, source.index)]
    query.time = time_use(query.text, source, conditions, query.nodes, columns, query.constants)
    stars = [node for node in query.nodes if isinstance(node, exp.Star)] if query.visible else []
    stars = [star for star in stars if _is_star(star.parent if isinstance(star.parent, exp.Column) else star, columns)]
    if stars and any(columns.times_in(value) for value in source.columns.values()):
        query.time.raw_uses.append(select)
    query.time.raw_uses += [select for name in query.natural_columns if columns.times_in(source.columns[name])]


def _judge_additivity(query: CubeQuery) -> None:
    """Decides whether rollups give the same result as base rows; each objection is a use that needs the base period."""
    select, source, columns = query.select, query.source, query.columns
    subject = _subject(query.block, source, columns, query.blocks, query.text, shown=query.visible)
    query.additivity = judge(select, query.nodes, subject)
    refuse_united_keys(query.text, select, query.nodes, subject)
    query.correlated = columns.correlated()
    query.objections = [*query.additivity.reasons, *_correlated(query.correlated, columns, query.time)]
    query.objections += merged_uses(query.block, source, columns, query.nodes, query.correlated)
    query.objections += [
        Objection(ReasonKind.MEASURE_OUTSIDE_AGGREGATE, f"the measure {name} is joined by NATURAL JOIN", select)
        for name in query.natural_columns
        if columns.measures_in(source.columns[name])
    ]


def _rewrite_counts(query: CubeQuery) -> None:
    """Rewrites COUNT and AVG as sums of measures, and ``time_range_in`` as a comparison."""
    query.counters = Counters(
        query.text, query.block, query.source, nullable=nullable(query.select, query.source.index)
    )
    is_shown = not query.block.shows_texts and contributes(query.select, query.source.index)
    query.edits = [
        *(shown_edits(query.text, query.block, query.counters) if is_shown else ()),
        *aggregate_edits(
            query.text,
            query.select,
            query.cube,
            query.additivity,
            query.counters,
            frozenset(widened_measures(query.source, query.reader)),
        ),
        *range_edits(query.text, query.time),
        *query.counters.edits,
    ]


def _find_demand(query: CubeQuery) -> None:
    """Collects the requirements on partitions: time, columns, granularity."""
    time, columns, measures = query.time, query.columns, query.counters.measures
    visible_nodes = query.nodes if query.visible else [node for node in query.nodes if not _is_star(node, columns)]
    natural = query.cube.column_order if _is_natural(query.select) else ()
    values = (value for _, value in query.correlated)
    query.needed_columns = columns.needed_columns(
        visible_nodes, values, (*query.counters.relation_measures, *natural), shown=query.visible
    )
    offered = tuple(dict.fromkeys((*query.needed_columns.read, *measures)))
    # If no value of another time can match, no partition is read.
    is_empty = any(not ranges_ for ranges_ in time.secondary_ranges.values())
    query.demand = Demand(
        RangeSet.EMPTY if is_empty else time.requested,
        tuple(time.exact_ranges),
        offered,
        frozenset(time.units),
        additive=not query.objections,
        raw=bool(time.raw_uses),
        bounded=time.bounded or is_empty,
        secondary_uses=tuple(
            SecondaryTimeUse(name, time.secondary_ranges.get(name)) for name in query.cube.times[1:] if name in offered
        ),
        rounded=frozenset(rounding_tables(query.cube, query.source.facts, query.reader, offered)),
        from_now=time.from_now,
    )


def _choose_cover(query: CubeQuery) -> None:
    """Chooses facts and periods, and the cheapest exact cover of the time."""
    choice = choose(query.demand, query.source.facts, query.reader, query.settings)
    if choice is None:
        raise _no_candidate(query.text, query.source, query.demand, query.time)
    query.choice = choice


def _build_arms(query: CubeQuery) -> None:
    """Replaces the cube's name by the union of its arms."""
    query.arms = _arms(query.choice, query.reader, query.demand, query.cube.calendar)
    query.edits.insert(0, _union_of_arms(query))


def _union_of_arms(query: CubeQuery, time: int | None = None, lone_tables: Collection[int] = ()) -> Edit:
    """Returns the edit that replaces the cube's name. With ``time``, the leading time of all rows is that instant. The
    rows of ``lone_tables`` need no condition.
    """
    source = query.source
    read, unread = query.needed_columns.read, query.needed_columns.unread
    extras = query.counters.extras
    parts: list[Part] = [*arms_module.relation(query.arms, query.cube, read, extras, unread, time, lone_tables)]
    if not source.node.alias:
        parts.append(f" AS {quote_identifier(source.node.name)}")
    return Edit(source.span, tuple(parts), f"{query.cube.name} becomes {_counted(query.arms)}")


# The text for an engine lacks what the cover implies: conditions on time, each row's time, the choice of partitions.


def _engine_edits(query: CubeQuery, edits: tuple[Edit, ...], lone_tables: Collection[int]) -> tuple[Edit, ...]:
    """Returns the edits of a text for an engine, which returns the same rows in less time.

    Conditions on the leading time that became its range are true for each instant of it. The time of a row is the start
    of its period. If all of these starts lie in the range, the conditions are left out; and if nothing else uses time,
    one instant is the time of all rows. An engine is given the partitions of the cover, and no others, so that a table
    that the text reads once needs no condition on them.
    """
    if not _is_within_range(query):
        return (_union_of_arms(query, None, lone_tables), *edits[1:]) if lone_tables else edits
    conditions = [] if nullable(query.select, query.source.index) else _implied_conditions(query)
    spans = dict.fromkeys(span for _, span in conditions)
    time: int | None = None
    leading = query.cube.times[0].lower()
    if _is_only_bounded(query) and leading in map(str.lower, query.needed_columns.read):
        first = query.arms[0]
        is_unread = query.time.taken_conditions <= {id(node) for node, _ in conditions}
        time = 0 if is_unread else first.layout.period.start(first.ranges[0].start)
    others = [edit for edit in edits[1:] if not any(edit.span.is_within(span) for span in spans)]
    return (_union_of_arms(query, time, lone_tables), *(Edit(span, ("TRUE",)) for span in spans), *others)


def _implied_conditions(query: CubeQuery) -> list[tuple[exp.Expr, Span]]:
    """Returns conditions of WHERE that became the range of the leading time, and their places. Some have no known
    place: an engine computes them.
    """
    typed, read = (select.args.get("where") for select in (query.block.select, query.select))
    pairs = list(typed_conjuncts(typed, read))
    exact = query.time.exact_among(pairs)
    places = ((read_part, query.text.comparison(part)) for part, read_part in pairs if id(part) in exact)
    return [(part, span) for part, span in places if span is not None]


def _is_only_bounded(query: CubeQuery) -> bool:
    """Tests whether nothing uses a time but conditions that became the range of the leading one."""
    time = query.time
    is_used = time.units or time.raw_uses or time.compared_ranges or time.secondary_ranges or query.correlated
    return time.bounded and not is_used


def _is_within_range(query: CubeQuery) -> bool:
    """Tests whether each row of the arms has the start of its period as its leading time, and that is in the range."""
    calendar, leading = query.cube.calendar, query.cube.times[0]
    if not calendar.is_utc or query.choice.raw or not query.arms:
        return False
    return all(
        arm.ranges
        and not arm.null_time
        and arm.storage_table.raw is None
        and arm.storage_table.time.lower() == leading.lower()
        and not arm.within(leading, calendar) - query.time.requested
        for arm in query.arms
    )


def _shift_to_zone(query: CubeQuery) -> None:
    """Rewrites uses of time in a cube with a time zone, for the time ranges that the arms may contain."""
    calendar = query.cube.calendar
    if calendar.is_utc:
        return
    ranges_by_time = within(query.arms, [use.time for use in query.demand.secondary_uses], calendar)
    for name, ranges in ranges_by_time.items():
        check_certain(ranges, query.choice.facts, name)
    ranges_by_time[query.cube.times[0].lower()] = query.choice.target
    zone = ZoneEdits(query.text, query.block, query.source, query.columns, query.constants, ranges_by_time)
    query.edits += zone.edits(query.edits[1:])


def _check_bounds(query: CubeQuery) -> None:
    """Finds bounds inside a base period; an error where the settings are strict."""
    time, base = query.time, query.choice.base
    # Events have a time of their own.
    ranges = () if query.choice.raw else (time.requested, *time.secondary_ranges.values(), *time.compared_ranges)
    query.instants_inside = tuple(instants_inside(ranges, base))
    if query.instants_inside and query.settings.strict_bounds:
        raise inexact(query.cube, base, query.instants_inside)


#: How a reference to a cube is planned, in order.
_PASSES: tuple[Callable[[CubeQuery], None], ...] = (
    _check_shapes,
    _resolve_columns,
    _read_time,
    _judge_additivity,
    _rewrite_counts,
    _find_demand,
    _choose_cover,
    _build_arms,
    _shift_to_zone,
    _check_bounds,
)


def _planned(query: CubeQuery) -> PlannedReference:
    """Returns the plan of a reference after all passes have run."""
    text, source, time, choice = query.text, query.source, query.time, query.choice
    reasons = [
        Reason(objection.kind, f"{objection.text}: {_words_of(text, objection.node)}") for objection in query.objections
    ]
    reasons += [
        Reason(ReasonKind.RAW_TIME, f"time is used directly: {_words_of(text, node)}") for node in time.raw_uses
    ]
    units = {unit: _words_of(text, node) for unit, node in sorted(time.units.items(), key=lambda use: use[0])}
    reference = ReferencePlan(
        cube=query.cube.name,
        alias=source.alias or source.node.alias_or_name,
        requested=choice.target | choice.beyond,
        parts=choice.cover.parts,
        missing=choice.cover.missing | choice.beyond,
        outdated=choice.outdated,
        periods=choice.periods,
        causes=choice.causes,
        reasons=tuple(dict.fromkeys(reasons)),
        units=tuple(units.items()),
        warnings=(
            *inside_warnings(query.instants_inside, choice.base, query.cube),
            *(() if choice.raw else unit_warnings(units, choice.base, query.cube)),
            *_lag_warnings(choice, query.demand, query.settings.now, query.cube),
            *(() if query.demand.bounded else _timeless_warnings(choice, query.reader)),
        ),
        row_aggregates=_row_aggregates(query),
        columns=query.demand.columns,
        asked=query.demand.requested,
        edits=tuple(edit.what for edit in query.edits if edit.what),
        position=text.place(source.span),
        offset=source.span.start,
        cost=choice.cost,
        secondary_ranges=tuple((use.time, use.requested) for use in choice.secondary_uses if use.requested is not None),
        calendar=query.cube.calendar,
        open_begin=choice.begin,
        open_end=choice.end,
        inexact=tuple(map(query.cube.calendar.text, query.instants_inside)),
        remedies=choice.remedies,
        badness=choice.cover.badness,
    )
    uses = tuple(
        (arm.table, key_ranges(arm), (Selection(arm.layout, arm.ranges, arm.null_time, arm.secondary_selections),))
        for arm in query.arms
    )
    splits_partitions = choice.raw and _splits_partitions(query)
    wheres = [select.args.get("where") for select in (query.block.select, query.select)]
    exact_conditions = time.exact_among([*query.inlined, *typed_conjuncts(*wheres)])
    edits = tuple(query.edits)
    return PlannedReference(
        reference,
        edits,
        uses,
        splits_partitions,
        exact_conditions,
        engine_edits=partial(_engine_edits, query, edits),
    )


def _row_aggregates(query: CubeQuery) -> tuple[str, ...]:
    """Returns the warnings for aggregates over base rows that are not events."""
    if query.choice.raw:
        return ()
    rewritten = {id(average.node) for average in query.additivity.averages}
    aggregates = row_aggregates(query.nodes, query.cube, query.columns.measure, rewritten)
    tables = [part.table for part in query.choice.cover.parts]
    return row_aggregate_warnings(aggregates, query.cube, tables, partial(_words_of, query.text))


def _splits_partitions(query: CubeQuery) -> bool:
    """Tests whether the time of an event matters within its base period, or another time of it at all."""
    time, base, calendar = query.time, query.choice.base, query.cube.calendar
    if query.choice.secondary_uses:
        return True
    bounds = [bound for range_ in time.requested for bound in (range_.start, range_.end)]
    are_whole = all(base.is_aligned(bound) for bound in bounds if MIN_INSTANT < bound < MAX_INSTANT)
    return bool(time.raw_uses) or not are_whole or not all(base.nests_in(calendar.of(unit)) for unit in time.units)


def _subject(
    block: Block, source: CubeSource, columns: Columns, blocks: dict[int, Block], text: QueryText, *, shown: bool
) -> Subject:
    select = block.effective
    all_columns = [
        columns if cube_source is source else Columns(text, block, cube_source, blocks) for cube_source in block.cubes
    ]
    counted = [cube_source for cube_source in block.cubes if contributes(select, cube_source.index)]
    tested = not contributes(select, source.index) or _only_tested(block.select)
    if len(counted) > 1 and not tested:
        _refuse_counts(text, select, counted)
    return Subject(
        cube=source.cube,
        measure_of=columns.measure,
        owns=columns.owned,
        any_measure=lambda column: any(other_columns.measure(column) is not None for other_columns in all_columns),
        type_of=columns.type_of,
        join_value=lambda name: (value := columns.joined_value(name)) is not None and columns.measures_in(value),
        shows_rows=shown and any(columns.measures_in(value) for value in source.columns.values()),
        tested=tested,
        is_only_cube=not tested and len(counted) == 1,
    )


def _only_tested(select: exp.Select) -> bool:
    """Tests whether a query uses only the existence of a block's rows: EXISTS (…), x IN (…)."""
    grouped = any(select.args.get(key) for key in ("group", "having", "qualify", "offset"))
    if grouped or any(is_aggregate(node) or isinstance(node, exp.Window) for node in own_nodes(select)):
        return False
    if isinstance(select.parent, exp.Exists):
        return True
    is_in_operand = isinstance(select.parent, exp.Subquery) and isinstance(select.parent.parent, exp.In)
    return is_in_operand and not select.args.get("limit")


def _refuse_counts(text: QueryText, select: exp.Select, counted: list[CubeSource]) -> None:
    """Refuses COUNT over two cubes: it does not say whose events it counts."""
    counting = next((cube_source for cube_source in counted if cube_source.cube.counters), None)
    if counting is None:
        return
    for node in own_nodes(select):
        if isinstance(node, exp.Count | exp.CountIf) and not isinstance(node.this, exp.Distinct):
            raise NotSupportedError(
                "COUNT over two cubes in one FROM clause is ambiguous: either cube's events could be counted.",
                condition="AMBIGUOUS_COUNT",
                position=text.place(text.call(node)[0]),
                object=counting.cube.name,
                hint="Aggregate one of them in a separate subquery, or write SUM of the COUNT measure.",
            )


def _correlated(
    correlated_columns: list[tuple[exp.Column, exp.Expr]], columns: Columns, time: TimeUse
) -> Iterator[Objection]:
    """Yields the objections of subqueries that read columns of the cube; functions of dimensions need none."""
    for column, value in correlated_columns:
        if columns.measures_in(value):
            yield Objection(ReasonKind.CORRELATED, "a correlated subquery reads a measure", column)
        elif columns.times_in(value):
            if isinstance(value, exp.Column):
                time.record(column)
            else:
                time.raw_uses.append(column)
        if not _is_function(column):
            yield Objection(ReasonKind.CORRELATED, "a correlated subquery is not known to be deterministic", column)


def _is_function(column: exp.Column) -> bool:
    """Tests whether the subqueries around a column return the same result for the same outer row."""
    select = column.parent_select
    while select is not None:
        if any(select.args.get(key) for key in ("limit", "offset", "qualify", "laterals", "windows")):
            return False
        for node in own_nodes(select):
            is_allowed = is_scalar(node) or isinstance(node, exp.Sum | exp.Count | exp.Min | exp.Max | exp.Avg)
            if isinstance(node, exp.Window | exp.TableSample) or (isinstance(node, exp.Func) and not is_allowed):
                return False
        parent = select.parent
        if isinstance(parent, exp.Exists) or (
            isinstance(parent, exp.Subquery) and not isinstance(parent.parent, exp.From | exp.Join)
        ):
            return True
        select = select.parent_select
    return False


def _is_star(node: exp.Expr, columns: Columns) -> bool:
    """Tests whether a node is ``*`` or ``alias.*`` of the source."""
    if isinstance(node, exp.Column):
        return isinstance(node.this, exp.Star) and columns.owned(node)
    return isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column)


def _is_natural(select: exp.Select) -> bool:
    return any(str(join.args.get("method") or "").upper() == "NATURAL" for join in select.args.get("joins") or ())


def _arms(choice: Choice, reader: CatalogReader, demand: Demand, calendar: Calendar) -> list[Arm]:
    arms = []
    for part in choice.cover.parts:
        storage_table = storage_table_of(choice.facts, part.fact, part.table)
        arms.append(
            Arm(table_of(reader, storage_table), storage_table, storage_table.layouts[part.period], part.ranges)
        )
    if not demand.bounded:
        arms += _null_arms(choice, reader)
    arms_ = (_with_secondary_times(arm, choice, reader, calendar) for arm in arms)
    # If no partition has a requested value, the arm is not read either.
    return [arm for arm in arms_ if all(other.ranges for other in arm.secondary_selections)]


def _with_secondary_times(arm: Arm, choice: Choice, reader: CatalogReader, calendar: Calendar) -> Arm:
    """Returns the arm with the requested ranges of other times and, in a zone, the ranges that its rows may have."""
    selection_arguments = (choice.secondary_uses, arm.storage_table, calendar.of(arm.layout.period), reader)
    return replace(
        arm,
        secondary_selections=selections(*selection_arguments),
        extents={} if calendar.is_utc else extents(*selection_arguments),
    )


def _null_arms(choice: Choice, reader: CatalogReader) -> list[Arm]:
    """Returns the base partition whose time is NULL, which no range excludes, from the first fact that has one.

    If another time matters, a fact that begins at a coarser period serves only if its periods are allowed.
    """
    serving = {choice.base, *choice.periods}
    candidates = (fact for fact in choice.facts if not choice.secondary_uses or fact.base_period in serving)
    for fact in sorted(candidates, key=lambda f: (f.weight, f.name)):
        arm = null_time_arm(reader, fact)
        if arm is not None:
            return [arm]
    return []


def _counted(arms: Sequence[Arm]) -> str:
    scans = len(arms_module.scans(arms))
    if scans == len(arms):
        return {0: "an empty relation", 1: "one arm"}.get(scans, f"a union of {scans} arms")
    return f"{len(arms)} arms in {'one scan' if scans == 1 else f'a union of {scans} scans'}"


# Errors and warnings of a reference to a cube, and the user's words in them.


def _lag_warnings(choice: Choice, demand: Demand, now: SupportsInt, cube: Cube) -> Iterator[str]:
    """Yields a warning that says how far the data ends before now, for a range computed from now with an open end."""
    newest = choice.newest
    if not demand.from_now or choice.end is None or newest is None:
        return
    instant = int(now)
    if newest < choice.base.floor(instant):
        text = cube.calendar.text
        yield f"{cube.name} ends at {text(newest)}, {_duration(instant - newest)} before now ({text(instant)})"


def _duration(length: int) -> str:
    """Returns a length of time in its two greatest units, rounded down."""
    parts = []
    for name, unit in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        count, length = divmod(length, unit)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return " ".join(parts[:2]) or "less than a minute"


def _timeless_warnings(choice: Choice, reader: CatalogReader) -> Iterator[str]:
    for table in timeless_outside(reader, choice.facts):
        yield f"the rows of {table} without a time are left out: its storage is limited to a window of time"


def _no_candidate(text: QueryText, source: CubeSource, demand: Demand, time: TimeUse) -> AnalysisError:
    lacking = {fact.name: missing_columns(fact, demand) for fact in source.facts}
    if all(lacking.values()):
        fact_texts = "; ".join(f"{name} lacks {', '.join(columns)}" for name, columns in lacking.items())
        return AnalysisError(
            f"No fact of the cube {source.cube.name} has all required columns: {fact_texts}.",
            condition="NO_CANDIDATE_FACT",
            object=source.cube.name,
        )
    base = min(fact.base_period for fact in source.facts if not lacking[fact.name])
    unaligned = next(r for r in demand.exact_ranges if not (base.is_aligned(r.start) and base.is_aligned(r.end)))
    range_text = source.cube.calendar.shown(unaligned)
    call = next((call for call, ranges in time.calls if unaligned in ranges.ranges), None)
    return AnalysisError(
        f"time_range_in promises exactness, but {range_text} does not consist of whole {base.name} periods.",
        condition="UNALIGNED_TIME_RANGE",
        position=text.place(text.call(call)[0]) if call is not None else None,
        object=source.cube.name,
        hint=f"The nearest range of whole periods is {nearest_aligned(unaligned, base, source.cube.calendar)}.",
    )


def _words_of(text: QueryText, node: exp.Expr) -> str:
    """Returns the user's own words for a node, shortened."""
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
