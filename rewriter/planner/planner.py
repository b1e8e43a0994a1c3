"""Planning: a query and a snapshot of the catalog to rewritten SQL, the partitions it reads and what it covers.

``plan_query`` resolves names, plans each reference to a cube in its own SELECT block, and makes all edits of the
user's text at once. Planning reads timelines only; no partition is enumerated and nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from sqlglot import exp

from rewriter.catalog.models import Table
from rewriter.catalog.temporary import session_of
from rewriter.errors import AnalysisError, Error, MissingDataError, NotSupportedError, Span
from rewriter.grammar.statements import Query
from rewriter.planner.apart import told_apart
from rewriter.planner.blocks import Block, CatalogReader, CubeSource, Resolved, TableReference, resolve
from rewriter.planner.constants import Constants
from rewriter.planner.derived import in_view
from rewriter.planner.expand import expand
from rewriter.planner.literals import date_literal, timestamp_literal
from rewriter.planner.names import current_edits, databases, key_of
from rewriter.planner.plan import Coverage, Plan, Reading, ReferencePlan, Settings, TableToken, TableUse
from rewriter.planner.pruning import Pruner, Pruning
from rewriter.planner.reference import PlannedReference, plan_reference
from rewriter.planner.text import Edit, QueryText
from rewriter.planner.timeuse import bad_call
from rewriter.planner.verbatim import plan_verbatim
from rewriter.planner.zoneclocks import calendar_of_today, check_clocks, check_seconds
from rewriter.timeline.calendars import Calendar


def plan_query(query: Query, reader: CatalogReader, settings: Settings, parameters: Mapping[str, object]) -> Plan:
    """Plans one query. ``parameters`` are the values of its named parameters (``:name``).

    A query that names no cube keeps its text; only table names become tokens. Raises ``ParseError``,
    ``AnalysisError``, ``NotSupportedError``, and ``MissingDataError`` where partitions are missing and
    ``settings.partial_data`` is off. Positions are those of the statement.
    """
    text = QueryText(query.text, query.span.start)
    try:
        unread = text.unread()
        if unread is not None:
            return plan_verbatim(text, reader, unread, dict(parameters))
        text = expand(told_apart(text, reader.current, lambda name: reader.temporary(name) is not None), reader)
        return _plan(text, reader, settings, parameters)
    except Error as error:
        in_view(error, text)
        raise
    except RecursionError:
        raise NotSupportedError("This query nests too deeply.", hint="Split it with CTEs.") from None


def _plan(text: QueryText, reader: CatalogReader, settings: Settings, parameters: Mapping[str, object]) -> Plan:
    resolved = resolve(text, reader)
    constants = Constants(settings.now, parameters)
    edits = [Edit(one.span, (TableToken(one.table, one.alias),)) for one in resolved.tables]
    planned: list[PlannedReference] = []
    blocks = {id(block.select): block for block in resolved.blocks}
    branches = _branches(text.tree)
    readings: list[Reading] = []
    for block in resolved.blocks:
        for source in block.cubes:
            one = _placed(text, block, source, blocks, reader, settings, constants)
            planned.append(one)
            uses = tuple(TableUse(*use) for use in one.uses)
            unread = () if uses else _tables(source, reader)
            readings.append(Reading(uses, _branch(source.node, branches), unread))
    for one in planned:
        edits += one.edits
    _check_calls(text, edits)
    calendars = {one.reference.calendar for one in planned}
    for calendar in calendars:
        if not calendar.is_utc:
            check_clocks(text, constants, calendar)
            check_seconds(text, [(one.node, one.table) for one in resolved.tables], calendar)
    there = {edit.span for edit in edits}
    names = _columns(text, resolved)
    clock = cache(partial(_now_edits, text, constants, calendar_of_today(text, calendars), names, bool(planned)))
    pruner = Pruner(text, resolved.blocks, parameters, clock, settings.explain)
    found = [pruner.pruned(one) for one in resolved.tables]
    readings[:0] = [
        _reading(one, pruning, _branch(one.node, branches)) for one, pruning in zip(resolved.tables, found, strict=True)
    ]
    # What partitions were chosen by is what the engine has to ask.
    now = clock() if planned or any(one.timed for one in found) else []
    others = [
        *_qualifier_edits(text, resolved, reader.current),
        *current_edits(text, reader.current),
        *(edit for edit in now if edit.span not in there),
    ]
    edits += others
    coverage = Coverage(tuple(one.reference for one in planned))
    warnings = [warning for one in planned for warning in one.reference.warnings]
    for reference in coverage.references:
        if reference.missing:
            if not settings.partial_data:
                raise _missing(reference)
            warnings.append(f"partial data: {reference.cube} lacks {reference.calendar.shown(reference.missing)}")
    notes = tuple(dict.fromkeys(edit.what for edit in others))
    return Plan(text.apply(edits), tuple(readings), coverage, tuple(warnings), notes, dict(parameters))


def _placed(
    text: QueryText,
    block: Block,
    source: CubeSource,
    blocks: dict[int, Block],
    reader: CatalogReader,
    settings: Settings,
    constants: Constants,
) -> PlannedReference:
    """Plans a reference; an error without a place gets that of the cube's name."""
    try:
        zoned = replace(constants, calendar=source.cube.calendar)
        return plan_reference(text, block, source, blocks, reader, settings, zoned)
    except Error as error:
        raise error.at(text.place(source.span)) from None


def _check_calls(text: QueryText, edits: Sequence[Edit]) -> None:
    """Refuses a ``time_range_in`` that belongs to no cube: no engine knows the function."""
    edited = {edit.span for edit in edits}
    for call in text.find_all(exp.Anonymous):
        if call.name.upper() == "TIME_RANGE_IN" and text.call(call)[0] not in edited:
            raise bad_call(text, call)


def _qualifier_edits(text: QueryText, resolved: Resolved, current: str) -> list[Edit]:
    """``sales.flights.carrier`` becomes ``flights.carrier``: what takes a table's place has no database."""
    named = [one.node for one in resolved.tables if one.table.id >= 0 and session_of(one.table.name) is None]
    named += [source.node for block in resolved.blocks for source in block.cubes]
    keys = {key for node in named if not node.alias and (key := key_of(node, current)) is not None}
    return [
        Edit(span, ("",), f"{column.db}.{column.table} becomes {column.table}")
        for span, column in databases(text, keys)
    ]


def _columns(text: QueryText, resolved: Resolved) -> Collection[str]:
    """The names, in lower case, that columns of a query's relations have, as far as is known; over tables alone also
    those that columns of derived tables may have.
    """
    over_cubes = any(block.cubes for block in resolved.blocks)
    found = set() if over_cubes else {one.alias.lower() for one in text.find_all(exp.Alias)}
    for block in resolved.blocks:
        found.update(*(cube.columns for cube in block.cubes), *(other.columns or () for other in block.others))
    return found


def _now_edits(
    text: QueryText, constants: Constants, calendar: Calendar, columns: Collection[str], over_cubes: bool
) -> list[Edit]:
    """``current_timestamp``, ``now()`` and ``current_date`` as the statement's own instant and the calendar's date of
    it, so that text and cover agree.

    Where one of ``columns`` is called so, the word alone means that, as in Spark; over cubes that is refused.
    """
    edits = []
    for index, token in enumerate(text.tokens):
        if not token.is_word("CURRENT_TIMESTAMP", "CURRENT_DATE", "NOW", "CURDATE"):
            continue
        following = text.tokens[index + 1 : index + 3]
        called = len(following) == 2 and following[0].is_operator("(") and following[1].is_operator(")")
        before = text.tokens[index - 1] if index else token
        if before.is_operator(".", ")") or before.is_word("AS") or (following and following[0].is_operator(".")):
            continue  # a name
        if token.is_word("NOW", "CURDATE") and not called:
            continue
        if not called and token.text.lower() in columns:
            if not over_cubes:
                continue
            raise AnalysisError(
                f"{token.text} is the name of a column, and of a function.",
                condition="AMBIGUOUS_REFERENCE",
                sqlstate="42704",
                position=text.place(token.span),
                object=token.text,
                hint=f"Write {token.text}() for the present moment, and qualify the column by its relation.",
            )
        today = token.is_word("CURRENT_DATE", "CURDATE")
        now = constants.now
        value = date_literal(calendar.wall(now)) if today else timestamp_literal(now)
        edits.append(
            Edit(
                Span(token.start, following[1].end if called else token.end), (value,), f"{token.text} becomes {value}"
            )
        )
    return edits


def _reading(reference: TableReference, found: Pruning, branch: int | None) -> Reading:
    """What a reference to a table itself reads."""
    table = reference.table
    use = TableUse(table, None) if found.wanted is None else TableUse(table, (), wanted=found.wanted)
    notes = tuple(f"not used: {one}" for one in found.unused)
    return Reading((use,), branch, alias=reference.node.alias_or_name, notes=notes)


def _tables(source: CubeSource, reader: CatalogReader) -> tuple[Table, ...]:
    """All tables of the facts that a reference may be answered from."""
    names = {one.table.lower(): one.table for fact in source.facts for place in fact.storages for one in place.tables}
    return tuple(map(reader.table, names.values()))


def _branches(tree: exp.Expr) -> dict[int, int]:
    """The number of each branch of the outermost UNION ALL, by the identity of its node; empty where there is none."""
    left, found = [tree], []
    while left:
        node = left.pop()
        if isinstance(node, exp.Union) and not node.args.get("distinct"):
            left += (node.expression, node.this)
        else:
            found.append(node)
    return {id(node): number for number, node in enumerate(found)} if len(found) > 1 else {}


def _branch(node: exp.Expr, branches: dict[int, int]) -> int | None:
    above: exp.Expr | None = node
    while above is not None and id(above) not in branches:
        above = above.parent
    return None if above is None else branches[id(above)]


def _missing(reference: ReferencePlan) -> MissingDataError:
    shown_in = reference.calendar.shown
    ranges = tuple(shown_in(one) for one in reference.missing)
    shown = ", ".join(ranges[:20]) + (f" and {len(ranges) - 20} more ranges" if len(ranges) > 20 else "")
    outdated = f" (of it outdated: {shown_in(reference.outdated)})" if reference.outdated else ""
    return MissingDataError(
        f"The cube {reference.cube} has no partitions for {shown}{outdated}.",
        missing=ranges,
        causes=tuple(str(cause) for cause in reference.causes),
        position=reference.position,
        object=reference.cube,
        hint="Load the missing partitions, or SET rewriter.partial_data = true to answer from what is there. "
        "EXPLAIN COVER shows every candidate.",
    )
