"""Queries: plan, find the files, run. Also what EXPLAIN says about them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from rewriter.catalog.keys import encode
from rewriter.catalog.models import Column, Partition, Table
from rewriter.catalog.partition_paths import is_discovered
from rewriter.catalog.temporary import plainly
from rewriter.context import Context
from rewriter.discovering import Discovery, discovered
from rewriter.errors import Error, Span
from rewriter.exec.engine import EngineQuery, Relation, ScanFile
from rewriter.explaining import indented
from rewriter.files import FoundFile, directory, expand, external_files
from rewriter.grammar import statements as s
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.moving import check_unmoved
from rewriter.narrowing import narrowed
from rewriter.planner.explain import counted, explain_cover, explain_rewrite
from rewriter.planner.plan import Plan, TableUse
from rewriter.planner.planner import plan_query
from rewriter.result import Result, Row, Scan, Stats, spark_type


@dataclass(frozen=True)
class Prepared:
    """A planned query with everything that its engine needs, and how much it reads."""

    plan: Plan
    query: EngineQuery
    scans: tuple[Scan, ...]
    planning_seconds: float


def select(statement: s.Select, context: Context) -> Result:
    """Runs a query. The engine starts now if none has; rows are read as they are fetched."""
    prepared = prepare(statement.query, context)
    started = time.perf_counter()
    try:
        reader = context.engine().execute(prepared.query)
    except Error as error:
        raise placed(error, statement.query, prepared.query.sql) from None
    seconds = time.perf_counter() - started
    return Result(
        "SELECT",
        tuple(Column(field.name, spark_type(field.type)) for field in reader.schema),
        reader=reader,
        coverage=prepared.plan.coverage,
        plan=prepared.plan,
        warnings=prepared.plan.warnings,
        stats=Stats(prepared.scans, planning_seconds=prepared.planning_seconds, execution_seconds=seconds),
    )


def prepare(query: s.Query, context: Context) -> Prepared:
    """Plans a query and looks up the files of the partitions that its plan reads. Starts an engine for files alone."""
    started = time.perf_counter()
    plan = _planned(query, context)
    names: dict[int, str] = {}
    relations: list[Relation] = []
    for use in plan.uses:
        names[use.table.id] = (
            f"rw_{next(context.serial)}_{re.sub('[^a-z0-9]+', '_', use.table.name.lower()).strip('_')}"
        )
        relations.append(_relation(names[use.table.id], use, query, context))
    scans = tuple(
        Scan(use.table.name, _partitions(use, context), len(one.files), sum(file.bytes for file in one.files))
        for use, one in zip(plan.uses, relations, strict=True)
    )
    sql = plan.template.render(lambda table: names[table.id])
    engine_query = EngineQuery(sql, tuple(relations), plan.parameters)
    return Prepared(plan, engine_query, scans, time.perf_counter() - started)


def _planned(query: s.Query, context: Context) -> Plan:
    return narrowed(plan_query(query, context.snapshot, context.planning, context.parameters), context)


def explain(statement: s.Explain, context: Context) -> Result:
    """EXPLAIN: rows of one column, one line each. Only ENGINE starts an engine.

    REWRITE and ENGINE are as strict as the query itself; COVER, SCAN and ALL show what is missing instead of failing.
    """
    tolerant = replace(context, planning=replace(context.planning, partial_data=True, explain=True))
    query = statement.query
    if statement.what == "ENGINE":
        prepared = prepare(query, context)
        try:
            text = context.engine().explain(prepared.query)
        except Error as error:
            raise placed(error, query, prepared.query.sql) from None
        plan = prepared.plan
    else:
        chosen = context if statement.what == "REWRITE" else tolerant
        plan = _planned(query, chosen)
        text = _explained(statement.what, plan, query, chosen)
    rows: list[Row] = [(line,) for line in plainly(text, context.snapshot.session).splitlines()]
    return Result("EXPLAIN", (Column("plan", "string"),), rows, rowcount=len(rows), coverage=plan.coverage, plan=plan)


def _explained(what: str, plan: Plan, query: s.Query, context: Context) -> str:
    if what == "REWRITE":
        return explain_rewrite(plan)
    if what == "COVER":
        return explain_cover(plan)
    if what == "SCAN":
        return explain_scan(plan, query, context)
    sections = (explain_rewrite(plan), explain_cover(plan), explain_scan(plan, query, context))
    titles = ("REWRITE", "COVER", "SCAN")
    return "\n\n".join(f"== {title} ==\n{text}" for title, text in zip(titles, sections, strict=True))


def explain_scan(plan: Plan, query: s.Query, context: Context) -> str:
    """For each table: partitions, files and bytes that the query reads, and how they are found where it is narrowed.

    Looks up the files; starts no engine.
    """
    lines = []
    totals = [0, 0, 0]
    for use in plan.uses:
        if use.table.id < 0:
            found = _expanded(use.table, query)
            counts = (0, len(found), sum(one.bytes for one in found))
        else:
            files = scan_files(use, context)
            counts = (_partitions(use, context), len(files), sum(file.bytes for file in files))
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        lines.append(f"{use.table.name}: {_amount(*counts, use, context)}")
        if use.table.partition_columns:
            lines += _ways(use, context)
        lines += _references(use, plan, context)
    if not lines:
        return "The query reads no table."
    if len(plan.uses) > 1:
        lines.append(f"total: {counted(totals[0], 'partition')}, {counted(totals[1], 'file')}, {totals[2]:,} bytes")
    return "\n".join(lines)


def _references(use: TableUse, plan: Plan, context: Context) -> list[str]:
    """Of each reference to a table how many partitions it keeps, where there are several; and what was computed."""
    named = [(one, mine) for one in plan.readings for mine in one.uses if one.alias and mine.table.id == use.table.id]
    lines = [f"  {one.alias}: {_kept(mine, context)}" for one, mine in named if use.table.partition_columns]
    lines = lines if len(named) > 1 else []
    return [*lines, *dict.fromkeys(f"  {note}" for one, _ in named for note in one.notes)]


def _kept(use: TableUse, context: Context) -> str:
    if use.wanted is None:
        return "all partitions"
    return f"{counted(context.snapshot.lookup(use.table, use.wanted).count(), 'partition')}"


def _ways(use: TableUse, context: Context) -> list[str]:
    """How a query finds the partitions of a table that it does not read whole, line by line."""
    lines: list[str] = []
    if is_discovered(use.table):
        return indented(Discovery(use.table, use.wanted, context.snapshot))
    if use.wanted is not None:
        lines += indented(context.snapshot.lookup(use.table, use.wanted))
    if use.ranges or (use.ranges is not None and use.wanted is None):
        lookup = context.snapshot.lookup(use.table, None, use.ranges)
        lines += indented(lookup)
        chosen = sum(use.keeps(one.values) for one in context.snapshot.partitions(use.table, use.ranges))
        if chosen < lookup.count():
            lines.append(f"  chosen by period and time: {chosen:,}")
    return lines


def _amount(partitions: int, files: int, size: int, use: TableUse, context: Context) -> str:
    amount = f"{counted(files, 'file')}, {size:,} bytes"
    if not use.table.partition_columns:
        return amount
    if use.wanted is None or is_discovered(use.table):
        return f"{counted(partitions, 'partition')}, {amount}"
    known = context.snapshot.lookup(use.table, None).count()
    return f"{partitions} of {counted(known, 'partition')}, {amount}"


def selected(use: TableUse, context: Context) -> tuple[Partition, ...]:
    """The partitions of a table that a plan reads, in key order."""
    if is_discovered(use.table):
        is_read = use.ranges is None or use.wanted is not None
        return tuple(discovered(use.table, use.wanted, context.snapshot).values()) if is_read else ()
    covered = context.snapshot.partitions(use.table, use.ranges)
    found = {one.key: one for one in covered if use.keeps(one.values)}
    if use.wanted is not None:
        found |= {one.key: one for one in context.snapshot.satisfying(use.table, use.wanted)}
    return tuple(found[key] for key in sorted(found))


def scan_files(use: TableUse, context: Context) -> tuple[ScanFile, ...]:
    """The files of these partitions: from the catalog, or by listing where the table is external."""
    table = use.table
    if not table.external:
        found = [(p, f) for p, f in context.snapshot.files(table, use.ranges) if use.keeps(p.values)]
        if use.wanted is not None:
            covered = {partition.key for partition, _ in found}
            wanted = context.snapshot.files_satisfying(table, use.wanted)
            found += [(p, f) for p, f in wanted if p.key not in covered]
        return tuple(ScanFile(f.path, p.values, f.bytes) for p, f in found)
    partitions = selected(use, context) if table.partition_columns else (the_partition(table),)
    files = tuple(ScanFile(f.path, p.values, f.bytes) for p, f in external_files(table, partitions))
    absent = [p for p in partitions if not os.path.isdir(directory(table, p))] if table.partition_columns else []
    if absent:
        check_unmoved(table, absent, context)
    return files


def the_partition(table: Table) -> Partition:
    """The one partition of an unpartitioned external table: its location."""
    return Partition(encode(table.id, (), ()), (), location=table.location)


def _relation(name: str, use: TableUse, query: s.Query, context: Context) -> Relation:
    table = use.table
    if table.id < 0:
        found = _expanded(table, query)
        try:
            columns = context.engine().file_columns(table.format, table.location)
        except Error as error:
            raise error.at(_file_span(table, query)) from None
        return Relation(name, table.format, columns, (), tuple(ScanFile(f.path, (), f.bytes) for f in found))
    try:
        files = scan_files(use, context)
    except Error as error:
        raise error.at(query.span) from None
    return Relation(name, table.format, table.columns, table.partition_columns, files, grown=True)


def _expanded(table: Table, query: s.Query) -> tuple[FoundFile, ...]:
    try:
        return expand(table.location)
    except Error as error:
        raise error.at(_file_span(table, query)) from None


def _file_span(table: Table, query: s.Query) -> Span | None:
    """Where the query names the file ``format.`path```."""
    found = tokens(query.text)
    for first, second in zip(found, found[2:], strict=False):
        if second.kind is TokenKind.IDENTIFIER and identifier_value(second) == table.location:
            return Span(first.start, second.end).shifted(query.span.start)
    return query.span


def _partitions(use: TableUse, context: Context) -> int:
    return len(selected(use, context)) if use.table.partition_columns else 0


_QUOTED = re.compile(r"`((?:[^`]|``)+)`|\"((?:[^\"]|\"\")+)\"")


def placed(error: Error, query: s.Query, sql: str) -> Error:
    """An engine's error about ``sql``, placed in the user's query.

    Where the engine names a place, it is that of the same token in the user's text; otherwise it is the name that the
    message quotes; otherwise the whole query.
    """
    theirs, ours = error.position, tokens(query.text)
    error.position = (None if theirs is None else _same_token(theirs, sql, ours)) or _quoted_name(error, ours)
    if error.position is not None:
        error.position = error.position.shifted(query.span.start)
    if error.hint is None:
        error.hint = next((hint for prefix, hint in _HINTS.items() if error.condition.startswith(prefix)), _ANY_HINT)
    return error.at(query.span)


_HINTS = {
    "UNRESOLVED_COLUMN": "DESCRIBE a table, cube or fact to see its columns.",
    "CAST_INVALID_INPUT": "Correct the value, or leave its row out with WHERE.",
    "DIVIDE_BY_ZERO": "Write NULLIF(…, 0) as the divisor.",
    "PARTITION_VALUE_TOO_LONG": "Partition by something shorter, and keep the long text in a data column.",
    "INVALID_PARTITION_VALUE": "Leave its row out with WHERE, or make another value of it.",
}
_ANY_HINT = "The engine refused the query; EXPLAIN REWRITE shows what it was given."


def _same_token(place: Span, sql: str, ours: Sequence[Token]) -> Span | None:
    """The stretch of the user's tokens that became the stretch ``place`` of the engine's text."""
    theirs = tokens(sql)
    matcher = SequenceMatcher(None, [t.text for t in theirs], [t.text for t in ours], autojunk=False)
    found = [
        ours[block.b + number]
        for block in matcher.get_matching_blocks()
        for number, token in enumerate(theirs[block.a : block.a + block.size])
        if token.start < max(place.end, place.start + 1) and place.start < token.end
    ]
    return Span(found[0].start, found[-1].end) if found else None


def _quoted_name(error: Error, ours: Sequence[Token]) -> Span | None:
    """Where the user's text holds the name that the error is about."""
    quoted = (first or second for first, second in _QUOTED.findall(error.message))
    wanted = [name.lower() for name in (*((error.object,) if error.object else ()), *quoted)]
    places: dict[str, Span] = {}
    for token in ours:
        if token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER):
            places.setdefault(identifier_value(token).lower(), token.span)
    return next((places[name] for name in wanted if name in places), None)
