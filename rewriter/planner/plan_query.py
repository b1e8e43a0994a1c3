"""Planning: a query and a snapshot of the catalog to rewritten SQL, the partitions it reads and what it covers.

``_PASSES`` lists the steps in order; each fills in its part of one record, ``QueryPlanning``. Names are resolved, each
reference to a cube is planned in its own SELECT block, and all edits of the user's text are made at once. Planning
reads timelines only; no partition is enumerated and nothing is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from rewriter.cancellation import check_cancellation
from rewriter.catalog.model.objects import TableKind
from rewriter.catalog.model.system_tables import SystemTable
from rewriter.catalog.model.temporary_views import session_of
from rewriter.errors import AnalysisError, Error, MissingDataError, NotSupportedError, Span
from rewriter.grammar.literal_rows import is_literal_rows
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.clock_readings import clock_readings
from rewriter.planner.cube_reference import PlannedReference, plan_reference
from rewriter.planner.derivation import derive
from rewriter.planner.model.plan import (
    Coverage,
    CoverPart,
    Derivation,
    Plan,
    Reading,
    ReferencePlan,
    Settings,
    SqlTemplate,
    TableAggregate,
    TableToken,
    TableUse,
    TextEdits,
    quote_identifier,
)
from rewriter.planner.rewrite.count_rewrites import counted_rows_edits, shown_edits
from rewriter.planner.rewrite.united_keys import refuse_united_outside
from rewriter.planner.scope.blocks import (
    Block,
    CatalogReader,
    CubeSource,
    Resolved,
    TableReference,
    current_edits,
    databases,
    is_item,
    key_of,
    renames,
    resolve,
)
from rewriter.planner.scope.column_lineage import NO_TABLE
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.disambiguate import disambiguated
from rewriter.planner.scope.expand_views import expand
from rewriter.planner.scope.item_names import item_name, item_name_edits
from rewriter.planner.scope.joins import filters
from rewriter.planner.scope.pushdown import Pushdown
from rewriter.planner.scope.unparsed_query import plan_verbatim
from rewriter.planner.table_pruning import Pruner, Pruning
from rewriter.planner.text.derived_text import in_view, with_table_queries
from rewriter.planner.text.literals import date_literal, timestamp_literal
from rewriter.planner.text.query_text import Edit, QueryText
from rewriter.planner.text.quoted_names import quoted_name_warnings
from rewriter.planner.text.sqlglot_trees import walk
from rewriter.planner.time.constant_folding import Constants
from rewriter.planner.time.mistaken_constants import check_literals
from rewriter.planner.time.time_usage import bad_call
from rewriter.planner.zones.zone_rewrites import calendar_of_today, check_clocks, check_seconds
from rewriter.terminal_text import counted
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Table
    from rewriter.grammar.lexer import Token
    from rewriter.grammar.terms import Query
    from rewriter.planner.text.query_text import QueryText
    from rewriter.timeline.calendars import Calendar

#: How many remedies the hint of an error names.
_MOST_REMEDIES = 4
#: How many warnings a query gets for aggregates over rows that are not events.
_MOST_ROW_AGGREGATES = 3
_ADVICE = (
    "Load the missing partitions, or SET rewriter.partial_data = true to compute the result from the "
    "existing partitions.",
    "EXPLAIN COVER shows every candidate.",
)


def plan_query(query: Query, reader: CatalogReader, settings: Settings, parameters: Mapping[str, object]) -> Plan:
    """Plans one query. ``parameters`` are the values of its named parameters (``:name``).

    A query that names no cube keeps its text; only table names become tokens. Raises ``ParseError``,
    ``AnalysisError``, ``NotSupportedError``, and ``MissingDataError`` where partitions are missing and
    ``settings.partial_data`` is off. Positions refer to the statement.
    """
    text = with_table_queries(QueryText(query.text, query.span.start, query.tokens))
    if is_literal_rows(text.text, text.tokens):
        return _plan_of_literals(text, settings, parameters)
    try:
        unread = text.unread()
        if unread is not None:
            if text.nests_too_deeply:
                raise unread  # which no engine reads, either
            return plan_verbatim(text, reader, unread, dict(parameters))
        text = expand(disambiguated(text, reader.current, reader.is_temporary), reader)
        return _plan(text, reader, settings, parameters)
    except Error as error:
        in_view(error, text)
        raise
    except RecursionError:
        raise NotSupportedError("This query is nested too deeply.", hint="Split it with CTEs.") from None


def _plan_of_literals(text: QueryText, settings: Settings, parameters: Mapping[str, object]) -> Plan:
    """The plan of rows of literals, which read nothing."""
    derivation = Derivation(doubt=f"its query has {NO_TABLE}") if settings.derive else None
    return Plan(SqlTemplate((text.text,)), (), Coverage(), parameters=dict(parameters), derivation=derivation)


@dataclass
class QueryPlanning:
    """A query on its way to a plan. The first fields are given; each of the others is set by the pass that it names."""

    text: QueryText
    reader: CatalogReader
    settings: Settings
    parameters: Mapping[str, object]
    #: resolve_names: the SELECT blocks with their cubes and tables; the branch of the outermost UNION ALL of each node.
    resolved: Resolved = field(init=False)
    branches: dict[int, int] = field(init=False)
    constants: Constants = field(init=False)
    #: plan_cubes: a plan for each reference to a cube; the edits of the text, to which later passes add.
    planned: list[PlannedReference] = field(init=False)
    edits: list[Edit] = field(init=False)
    cube_readings: list[Reading] = field(init=False)
    #: prune_tables: the partitions of plain tables that may hold rows.
    prunings: list[Pruning] = field(init=False)
    clock_edits: Callable[[], list[Edit]] = field(init=False)
    #: derive_rows: what the rows are derived from, and what each branch reads.
    derivation: Derivation | None = field(init=False)
    readings: list[Reading] = field(init=False)
    #: settle_words: what changed in the text beside the cubes.
    notes: tuple[str, ...] = field(init=False)
    #: check_coverage.
    coverage: Coverage = field(init=False)
    warnings: list[str] = field(init=False)


def _resolve_names(query: QueryPlanning) -> None:
    """Finds the relation that each name means, block by block."""
    query.resolved = resolve(query.text, query.reader)
    query.branches = _branches(query.text.tree)
    query.constants = Constants(query.settings.now, query.parameters)


def _plan_cubes(query: QueryPlanning) -> None:
    """Plans each reference to a cube by itself (``cube_reference.PASSES``)."""
    resolved = query.resolved
    if any(block.cubes for block in resolved.blocks):
        check_literals(query.text)
    blocks = {id(block.select): block for block in resolved.blocks}
    query.planned, query.cube_readings = [], []
    query.edits = [Edit(table.span, (TableToken(table.table, table.alias),)) for table in resolved.tables]
    for block in resolved.blocks:
        for source in block.cubes:
            reference = _placed(query, block, source, blocks)
            query.planned.append(reference)
            query.edits += reference.edits
            uses = tuple(TableUse(*use) for use in reference.uses)
            unread = () if uses else _tables(source, query.reader)
            query.cube_readings.append(
                Reading(uses, query.branches.get(id(source.node)), unread, start=source.span.start)
            )
    refuse_united_outside(query.text, resolved.blocks)
    query.edits += [edit for block in resolved.blocks if block.shows_texts for edit in shown_edits(query.text, block)]
    query.edits += [edit for counted in resolved.counted for edit in counted_rows_edits(query.text, counted)]


def _check_table_calls(query: QueryPlanning) -> None:
    """Refuses functions of ours outside of cubes, and clocks that do not follow a cube's time zone."""
    _check_calls(query.text, query.edits)
    for calendar in {reference.reference.calendar for reference in query.planned}:
        if not calendar.is_utc:
            check_clocks(query.text, query.constants, calendar)
            check_seconds(query.text, [(table.node, table.table) for table in query.resolved.tables], calendar)


def _prune_tables(query: QueryPlanning) -> None:
    """Finds the partitions of plain tables that the conditions may leave."""
    text, resolved, planned = query.text, query.resolved, query.planned
    calendar = calendar_of_today(text, {reference.reference.calendar for reference in planned})
    names = _columns(text, resolved)
    query.clock_edits = cache(partial(now_edits, text, query.constants, calendar, names, bool(planned)))
    pushdown = Pushdown(text.nodes)
    constants = replace(query.constants, calendar=calendar)
    pruner = Pruner(
        text, resolved.blocks, query.parameters, query.clock_edits, constants, pushdown, query.settings.explain
    )
    query.prunings = [pruner.pruned(table) for table in resolved.tables]


def _derive_rows(query: QueryPlanning) -> None:
    """Follows the rows down to the tables, where an INSERT asks for it, and lists what is read."""
    text, tables = query.text, query.resolved.tables
    query.derivation = derive(text, query.resolved, query.prunings, query.planned) if query.settings.derive else None
    pruned = zip(tables, query.prunings, strict=True)
    query.readings = [_reading(table, pruning, query) for table, pruning in pruned]
    query.readings += query.cube_readings
    if query.derivation is not None and query.derivation.doubt is None:
        # All rows of every reading went into the query's, so what they have read adds up.
        query.readings = [replace(reading, branch=number) for number, reading in enumerate(query.readings)]


def _settle_words(query: QueryPlanning) -> None:
    """Replaces clocks, the current database and qualifiers by their values, and keeps the names of items."""
    text, current = query.text, query.reader.current
    edited = {edit.span for edit in query.edits}
    # The engine has to ask for what the partitions were chosen by.
    timed = query.planned or query.settings.now_is_fixed or any(pruning.timed for pruning in query.prunings)
    now = query.clock_edits() if timed else []
    values = [*current_edits(text, current), *(edit for edit in now if edit.span not in edited)]
    other_edits = [*_qualifier_edits(text, query.resolved, current), *values]
    query.edits += other_edits
    query.edits += _names_kept(text, query.edits, {edit.span for edit in values})
    query.notes = tuple(dict.fromkeys(edit.what for edit in other_edits))


def _check_coverage(query: QueryPlanning) -> None:
    """Raises ``MissingDataError`` for time without partitions, or warns where partial data is allowed."""
    query.coverage = Coverage(tuple(reference.reference for reference in query.planned))
    query.warnings = [warning for reference in query.planned for warning in reference.reference.warnings]
    row_aggregates = dict.fromkeys(text for reference in query.planned for text in reference.reference.row_aggregates)
    query.warnings += list(row_aggregates)[:_MOST_ROW_AGGREGATES]
    query.warnings += quoted_name_warnings(query.text, _column_names(query.resolved))
    for reference in query.coverage.references:
        if reference.missing:
            if not query.settings.partial_data:
                raise _missing(reference)
            shown = reference.calendar.shown(reference.missing)
            query.warnings.append(f"partial data: {reference.cube} lacks {shown}")


#: How a query is planned, in order; EXPLAIN shows what they find.
_PASSES: tuple[Callable[[QueryPlanning], None], ...] = (
    _resolve_names,
    _plan_cubes,
    _check_table_calls,
    _prune_tables,
    _derive_rows,
    _settle_words,
    _check_coverage,
)


def _plan(text: QueryText, reader: CatalogReader, settings: Settings, parameters: Mapping[str, object]) -> Plan:
    query = QueryPlanning(text, reader, settings, parameters)
    for run in _PASSES:
        check_cancellation()
        run(query)
    return Plan(
        text.apply(query.edits),
        tuple(query.readings),
        query.coverage,
        tuple(query.warnings),
        query.notes,
        dict(parameters),
        query.derivation,
        None if settings.derive else _row_limit(text, query.resolved, parameters),
        () if settings.derive else _table_aggregates(text, query.resolved, query.prunings),
        clock_readings(text, query.resolved) if settings.clocks and query.planned else (),
        TextEdits(text.text, text.typed, text.replacements(query.edits)) if settings.certify else None,
        _engine_template(query),
    )


def _engine_template(query: QueryPlanning) -> SqlTemplate | None:
    """Returns the text without what covers imply; ``None`` if there is no cube."""
    if not query.planned:
        return None
    lone_tables = _lone_tables(query)
    edits = {id(edit): edit for edit in query.edits}
    implied: list[Edit] = []
    for reference in query.planned:
        for edit in reference.edits:
            del edits[id(edit)]
        implied += reference.engine_edits(lone_tables)
    replaced = [edit.span for edit in implied if edit.span.start < edit.span.end]
    others = (edit for edit in edits.values() if not any(edit.span.is_within(span) for span in replaced))
    return query.text.apply([*implied, *others])


def _lone_tables(query: QueryPlanning) -> frozenset[int]:
    """Returns the managed tables that the text reads in one place, of which an engine is given the rows of that place
    alone.
    """
    uses = [use.table for reading in query.readings for use in reading.uses if use.table.kind is TableKind.MANAGED]
    places = Counter(table.id for table in uses)
    covered = {table.id for reference in query.planned for table, *_ in reference.uses}
    return frozenset(id_ for id_ in covered if places[id_] == 1)


def _placed(query: QueryPlanning, block: Block, source: CubeSource, blocks: dict[int, Block]) -> PlannedReference:
    """Plans a reference; an error without a place gets the place of the cube's name."""
    check_cancellation()
    try:
        zoned = replace(query.constants, calendar=source.cube.calendar)
        return plan_reference(query.text, block, source, blocks, query.reader, query.settings, zoned)
    except Error as error:
        raise error.at(query.text.place(source.span)) from None


def _check_calls(text: QueryText, edits: Sequence[Edit]) -> None:
    """Refuses a ``time_range_in`` that belongs to no cube: engines do not have this function."""
    edited = {edit.span for edit in edits}
    for call in text.find_all(exp.Anonymous):
        if call.name.upper() == "TIME_RANGE_IN" and text.call(call)[0] not in edited:
            raise bad_call(text, call)


def _has_database(table: Table) -> bool:
    return isinstance(table, SystemTable) or (table.kind.is_in_catalog and session_of(table.name) is None)


def _qualifier_edits(text: QueryText, resolved: Resolved, current: str) -> list[Edit]:
    """``sales.flights.carrier`` becomes ``flights.carrier``: what takes a table's place has no database."""
    named = [reference.node for reference in resolved.tables if _has_database(reference.table)]
    named += [source.node for block in resolved.blocks for source in block.cubes]
    keys = {key for node in named if not node.alias and (key := key_of(node, current)) is not None}
    return [
        Edit(span, ("",), f"{column.db}.{column.table} becomes {column.table}")
        for span, column in databases(text, keys)
    ]


def _columns(text: QueryText, resolved: Resolved) -> Collection[str]:
    """The names, in lower case, that columns of a query's relations have, as far as is known; over tables alone also
    the names that columns of derived tables may have.
    """
    over_cubes = any(block.cubes for block in resolved.blocks)
    names = _column_names(resolved)
    return names if over_cubes else names | {alias.alias.lower() for alias in text.find_all(exp.Alias)}


def _column_names(resolved: Resolved) -> set[str]:
    """The names, in lower case, that columns of a query's relations have, as far as is known."""
    names: set[str] = set()
    for block in resolved.blocks:
        names.update(*(cube.columns for cube in block.cubes), *(other.columns or () for other in block.others))
    return {name.lower() for name in names}


def _names_kept(text: QueryText, edits: Sequence[Edit], changed: Collection[Span]) -> list[Edit]:
    """The names of items that the edits of ``changed`` stretches change, where other edits do not name them."""
    if not changed:
        return []
    named = [edit.span.end for edit in edits if edit.span.start == edit.span.end]
    starts = sorted(span.start for span in changed)

    def is_changed(_: exp.Expr, span_of_node: Span) -> bool:
        return (
            bisect_left(starts, span_of_node.start) < bisect_left(starts, span_of_node.end)
            and span_of_node not in changed
        )

    blocks = text.find_all(exp.Select)
    return [edit for block in blocks for edit in item_name_edits(text, block, is_changed, named)]


_CLOCKS = ("CURRENT_TIMESTAMP", "CURRENT_DATE", "NOW", "CURDATE", "UNIX_TIMESTAMP")


def now_edits(
    text: QueryText, constants: Constants, calendar: Calendar, columns: Collection[str], over_cubes: bool
) -> list[Edit]:
    """``current_timestamp``, ``now()``, ``unix_timestamp()`` and ``current_date`` as the statement's own instant and
    the calendar's date of it, so that text and cover agree.

    An item of a SELECT list keeps its name. Where one of ``columns`` is called so, the word alone means that, as in
    Spark; over cubes that is refused.
    """
    edits: list[Edit] = []
    if text.words.isdisjoint(_CLOCKS):
        return edits
    for index, token in enumerate(text.tokens):
        if not token.is_word(*_CLOCKS):
            continue
        following = text.tokens[index + 1 : index + 3]
        called = len(following) == 2 and following[0].is_operator("(") and following[1].is_operator(")")
        before = text.tokens[index - 1] if index else token
        if before.is_operator(".", ")") or before.is_word("AS") or (following and following[0].is_operator(".")):
            continue  # a name
        if token.is_word("NOW", "CURDATE", "UNIX_TIMESTAMP") and not called:
            continue
        if not called and token.text.lower() in columns:
            if not over_cubes:
                continue
            raise AnalysisError(
                f"{token.text} is the name of both a column and a function.",
                condition="AMBIGUOUS_REFERENCE",
                sqlstate="42704",
                position=text.place(token.span),
                object=token.text,
                hint=f"Write {token.text}() for the current time, or qualify the column with its relation.",
            )
        value, name = _evaluate_now(token, int(constants.now), calendar)
        shown = f"{value} AS {quote_identifier(name)}" if is_item(text, index, 3 if called else 1) else value
        span = Span(token.start, following[1].end if called else token.end)
        edits.append(Edit(span, (shown,), f"{token.text} becomes {value}"))
    return edits


def _evaluate_now(token: Token, now: int, calendar: Calendar) -> tuple[str, str]:
    """Returns the value of a function of the present as a literal, and the name that an item of it has in Spark."""
    if token.is_word("UNIX_TIMESTAMP"):
        return f"{now // 1_000_000}L", "unix_timestamp(current_timestamp(), yyyy-MM-dd HH:mm:ss)"
    if token.is_word("CURRENT_DATE", "CURDATE"):
        return date_literal(calendar.wall(now)), "current_date()"
    return timestamp_literal(now), f"{token.text.lower()}()"


def _reading(reference: TableReference, pruning: Pruning, query: QueryPlanning) -> Reading:
    """Returns the partitions that a reference to a table itself reads."""
    table = reference.table
    use = TableUse(table, None) if pruning.wanted is None else TableUse(table, (), wanted=pruning.wanted)
    notes = tuple(f"not used: {condition}" for condition in pruning.unused)
    start, branch = query.text.place(reference.span).start, query.branches.get(id(reference.node))
    return Reading((use,), branch, alias=reference.node.alias_or_name, notes=notes, start=start)


def _tables(source: CubeSource, reader: CatalogReader) -> tuple[Table, ...]:
    """All tables of the facts that a reference may read."""
    names = {
        stored.table.lower(): stored.table
        for fact in source.facts
        for storage in fact.storages
        for stored in storage.tables
    }
    return tuple(map(reader.table, names.values()))


def _branches(tree: exp.Expr) -> dict[int, int]:
    """The number of the branch of the outermost UNION ALL that contains each node, by the identity of the node; empty
    where there is none.
    """
    left, branches = [tree], []
    while left:
        node = left.pop()
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            left += (node.expression, node.this)
        else:
            branches.append(node)
    if len(branches) == 1:
        return {}
    return {id(node): number for number, branch in enumerate(branches) for node in walk(branch)}


def _missing(reference: ReferencePlan) -> MissingDataError:
    shown_in = reference.calendar.shown
    ranges = tuple(shown_in(item) for item in reference.missing)
    shown = ", ".join(ranges[:20]) + (f" and {len(ranges) - 20} more ranges" if len(ranges) > 20 else "")
    outdated = f" (of these outdated: {shown_in(reference.outdated)})" if reference.outdated else ""
    return MissingDataError(
        f"The cube {reference.cube} has no partitions for {shown}{outdated}.",
        missing=ranges,
        causes=tuple(str(cause) for cause in reference.causes),
        position=reference.position,
        object=reference.cube,
        hint=" ".join([*_ADVICE, *(f"{item}." for item in reference.remedies[:_MOST_REMEDIES])]),
    )


# Queries for which no row is read: the number of rows of a table, and the bounds and the NULLs of its columns.
#
# A query is recognised by its tree, clause by clause: whatever is not listed here is computed by an engine.

#: The clauses that such a SELECT may have.
_CLAUSES = frozenset(("expressions", "from_", "where"))
_FUNCTIONS: dict[type[exp.Expr], Literal["COUNT", "MIN", "MAX"]] = {
    exp.Count: "COUNT",
    exp.Min: "MIN",
    exp.Max: "MAX",
}


def _table_aggregates(text: QueryText, resolved: Resolved, prunings: Sequence[Pruning]) -> tuple[TableAggregate, ...]:
    """Returns the items of a query if each of them is such an aggregate, over all rows of partitions that the query
    selects; otherwise nothing.
    """
    select = text.tree
    if not isinstance(select, exp.Select) or len(resolved.blocks) != 1 or len(resolved.tables) != 1:
        return ()
    (block,), (reference,), (pruning,) = resolved.blocks, resolved.tables, prunings
    table = reference.table
    if not table.kind.is_in_catalog or block.cubes or reference.node is not _only_relation(select):
        return ()
    if not {name for name, value in select.args.items() if value} <= _CLAUSES or pruning.timed:
        return ()
    if not all(id(condition) in pruning.exact_conditions for condition in filters(select, 0)):
        return ()
    names = {reference.node.alias_or_name.lower(), ""}
    items = [_aggregate(item, text, table, names) for item in select.expressions]
    return tuple(item for item in items if item is not None) if None not in items else ()


def _aggregate(item: exp.Expr, text: QueryText, table: Table, names: set[str]) -> TableAggregate | None:
    call = item.this if isinstance(item, exp.Alias) else item
    operands = {name for name, value in call.args.items() if value and name != "big_int"}
    if operands != {"this"}:
        return None
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Star | exp.Literal):
        is_bare_star = isinstance(call.this, exp.Literal) or not any(call.this.args.values())
        return TableAggregate("COUNT", _name(item, text)) if is_bare_star else None
    function = _FUNCTIONS.get(type(call))
    column = _column(call.this, table, names)
    return None if function is None or column is None else TableAggregate(function, _name(item, text), column)


def _column(node: exp.Expr, table: Table, names: set[str]) -> Column | None:
    if not isinstance(node, exp.Column) or node.db or node.table.lower() not in names:
        return None
    return next((column for column in table.all_columns if column.name.lower() == node.name.lower()), None)


def _name(item: exp.Expr, text: QueryText) -> str:
    if isinstance(item, exp.Alias):
        return item.alias
    span = text.call(item)[0]
    return item_name(text.text[span.start : span.end])


# Renders a plan as text: the rewritten SQL, and the cover with the reasons that narrowed the choice.


def explain_rewrite(plan: Plan) -> str:
    """Returns the rewritten SQL over the storage tables' own names."""
    return plan.sql


def explain_cover(plan: Plan) -> str:
    """Describes each reference to a cube: range, allowed periods and why, cover, missing ranges, prune
    causes, edits.
    """
    if not plan.coverage.references:
        return "The query references no cube."
    lines = [line for reference in plan.coverage.references for line in _lines(reference)]
    return "\n".join([*lines, *(f"edit: {edit}" for edit in plan.edits)])


def _part_ranges(part: CoverPart) -> RangeSet:
    """Returns the time ranges that a part of a cover supplies."""
    return RangeSet.of(*(TimeRange(part.period.start(r.start), part.period.start(r.end)) for r in part.ranges))


def _lines(reference: ReferencePlan) -> Iterator[str]:
    cube_text = reference.cube if reference.alias == reference.cube else f"{reference.cube} as {reference.alias}"
    shown = reference.calendar.shown
    yield f"{cube_text}: {shown(reference.requested)}"
    for time, ranges in reference.secondary_ranges:
        yield f"  {time}: {shown(ranges)}"
    for side, open_end in (("begin", reference.open_begin), ("end", reference.open_end)):
        if open_end is not None:
            yield f"  open {side}: closed at {reference.calendar.text(open_end.at)}, {open_end.reason}"
    if reference.inexact:
        yield f"  exact: no, a base period is read completely or not at all at {', '.join(reference.inexact)}"
    yield from _period_lines(reference)
    for part in reference.parts:
        source_text = f"{part.fact}.{part.table} {part.period.name}"
        yield f"  {source_text}: {counted(part.partitions, 'partition')} {shown(_part_ranges(part))}"
    if not reference.parts:
        yield "  no partitions"
    total = sum(part.partitions for part in reference.parts)
    yield f"  total: {counted(total, 'partition')}"
    if reference.cost:
        yield f"  cost: {reference.cost}"
    yield f"  missing: {shown(reference.missing) if reference.missing else 'nothing'}"
    if reference.outdated:
        yield f"  of these outdated: {shown(reference.outdated)}"
    for cause in reference.causes:
        yield f"  pruned: {cause}"
    for edit in reference.edits:
        yield f"  edit: {edit}"
    for warning in (*reference.warnings, *reference.row_aggregates):
        yield f"  warning: {warning}"


def _period_lines(reference: ReferencePlan) -> Iterator[str]:
    yield f"  periods allowed: {', '.join(period.name for period in reference.periods) or 'none'}"
    if not reference.reasons and not reference.units:
        yield "    why: single rows are not needed, and time is only used as a range"
    for reason in reference.reasons:
        yield f"    base period only: {reason}"
    for unit, words in reference.units:
        yield f"    must nest in {unit.name}: {words}"


# Queries whose result needs few files of their table. A query is recognised by its tree, clause by clause: whatever
# is not listed here is read the ordinary way.

#: The clauses that a SELECT may have whose LIMIT any rows satisfy.
_LIMITED = frozenset(("expressions", "from_", "limit"))
#: The parts that the name of the table may have: no TABLESAMPLE, no version, no join.
_RELATION = frozenset(("this", "db", "alias"))


def _row_limit(text: QueryText, resolved: Resolved, parameters: Mapping[str, object]) -> int | None:
    """Returns the number of rows of its only table that a query needs, whichever they are; ``None`` if that is not
    certain.
    """
    select = text.tree
    if not isinstance(select, exp.Select) or len(resolved.blocks) != 1 or len(resolved.tables) != 1:
        return None
    (block,), (reference,) = resolved.blocks, resolved.tables
    if block.cubes or not reference.table.kind.is_in_catalog or reference.node is not _only_relation(select):
        return None
    clauses = {name for name, value in select.args.items() if value}
    if clauses != _LIMITED or not all(map(_is_row_by_row, select.expressions)):
        return None
    return _row_count(select.args["limit"], parameters)


def _only_relation(select: exp.Select) -> exp.Expr | None:
    """Returns the relation of a FROM that is a name, perhaps with an alias, and nothing else."""
    source = select.args.get("from_")
    relation = None if source is None else source.this
    if not isinstance(relation, exp.Table) or renames(relation):
        return None
    return relation if {name for name, value in relation.args.items() if value} <= _RELATION else None


def _is_row_by_row(item: exp.Expr) -> bool:
    """Tests whether an item gives one value for each row: no aggregate, no window, no generator."""
    return all(is_scalar(node) for node in walk(item))


def _row_count(limit: exp.Expr, parameters: Mapping[str, object]) -> int | None:
    """Returns the number of rows of a LIMIT with a literal or a bound parameter; ``None`` for any other."""
    value = limit.args.get("expression") if isinstance(limit, exp.Limit) else None
    if isinstance(value, exp.Literal) and not value.is_string and value.this.isascii() and value.this.isdigit():
        return int(value.this)
    bound = parameters.get(value.name) if isinstance(value, exp.Placeholder) else None
    return bound if type(bound) is int and bound >= 0 else None
