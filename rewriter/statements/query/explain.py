"""EXPLAIN SCAN of the statements that find partitions by themselves: SHOW PARTITIONS and DROP PARTITION."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.objects import Column, TableKind
from rewriter.catalog.model.temporary_views import plainly, with_typed_names
from rewriter.catalog.storage.discovered_partitions import Discovery
from rewriter.connectors.table_source import is_source, source_predicates
from rewriter.errors import Error
from rewriter.grammar.families.partitions import ShowPartitions
from rewriter.grammar.families.queries import Explain, ExplainScan
from rewriter.grammar.unparse import render_filter
from rewriter.planner.plan_query import explain_cover, explain_rewrite
from rewriter.runtime.result import Result, Row
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.engine_errors import with_position
from rewriter.statements.query.footer_aggregates import computed_query
from rewriter.statements.query.select import certify, expanded, plan_select, prepare, read_footers, scan_size
from rewriter.statements.query.words_relied_on import words_of_plan
from rewriter.statements.resolve.partition_specs import dropped, list_partitions
from rewriter.terminal_text import counted
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.catalog.reading.partition_lookup import Lookup
    from rewriter.grammar.terms import Query
    from rewriter.planner.model.plan import Plan, TableUse
    from rewriter.planner.routing.routes import Route
    from rewriter.runtime.statement_context import Context


@runs(ExplainScan, in_transaction=True, without_warehouse=True)
def explain_scan(statement: ExplainScan, context: Context) -> Result:
    """Returns, in rows of one column, how the statement finds the partitions that it shows (before LIMIT) or drops.

    Raises the errors of the statement's syntax and names. An empty result is not an error here.
    """
    explained_statement = statement.statement
    if isinstance(explained_statement, ShowPartitions):
        lookup = list_partitions(explained_statement, context)
        lines = [f"{lookup.table.name}: {_found_partitions(lookup)}", *_indented(lookup)]
    else:
        lines = []
        for spec in dropped(explained_statement, context):
            lookup = spec.lookup(context.snapshot)
            conditions = ", ".join(map(render_filter, spec.conditions))
            lines += [
                f"{lookup.table.name} PARTITION ({conditions}): {_found_partitions(lookup)}",
                *_indented(lookup),
            ]
    return explain_query(lines, context)


def explain_query(lines: Iterable[str], context: Context) -> Result:
    """Returns the result of EXPLAIN: rows of one column, with the names of temporary tables as they were typed, and
    without the passwords and signatures of URIs.
    """
    rows: list[Row] = [(mask_credentials(plainly(line, context.snapshot.session)),) for line in lines]
    return Result("EXPLAIN", (Column("plan", "string"),), rows, rowcount=len(rows))


def _indented(lookup: Lookup | Discovery) -> list[str]:
    """Returns the lines of ``Lookup.explained``, indented below the line of their table."""
    return [f"  {line}" for line in lookup.explained()]


def _found_partitions(lookup: Lookup | Discovery) -> str:
    return counted(lookup.count(), "partition")


@runs(Explain, in_transaction=True, without_warehouse=True)
def explain(statement: Explain, context: Context) -> Result:
    """EXPLAIN: rows of one column, one line each. Only ENGINE starts an engine.

    REWRITE and ENGINE are as strict as the query itself; COVER, SCAN and ALL show what is missing instead of failing.
    """
    if statement.what == "CERTIFICATE":
        return _explain_certificate(statement.query, context)
    tolerant = replace(context, planning=replace(context.planning, partial_data=True, explain=True))
    query = statement.query
    if statement.what == "ENGINE":
        prepared = prepare(query, context)
        try:
            text = context.on(prepared.route.cluster).engine().explain(prepared.query)
        except Error as error:
            raise with_position(error, query, prepared.query.sql) from None
        plan = prepared.plan
    else:
        planning_context = context if statement.what == "REWRITE" else tolerant
        plan, route = plan_select(query, planning_context)
        text = _explained(statement.what, plan, route, query, planning_context.on(route.cluster))
    result = explain_query(text.splitlines(), context)
    result.coverage, result.plan = plan.coverage, plan
    return result


def _explain_certificate(query: Query, context: Context) -> Result:
    """Returns the certificate of a query as JSON, in rows of one column."""
    text = json.dumps(certify(query, context), ensure_ascii=False, indent=2)
    return explain_query(text.splitlines(), context)


def _explained(form: str, plan: Plan, route: Route, query: Query, context: Context) -> str:
    if form == "REWRITE":
        return explain_rewrite(plan)
    cover = "\n".join((explain_cover(plan), *words_of_plan(plan, context)))
    if form == "COVER":
        return cover
    scan = "\n".join((*(route.lines if context.clusters else ()), _scan_text(plan, query, context)))
    if form == "SCAN":
        return scan
    sections = (explain_rewrite(plan), cover, scan)
    titles = ("REWRITE", "COVER", "SCAN")
    return "\n\n".join(f"== {title} ==\n{text}" for title, text in zip(titles, sections, strict=True))


def _scan_text(plan: Plan, query: Query, context: Context) -> str:
    """Returns, for each table, the partitions, files and bytes that the query reads, and how they are found if not all
    are read.

    Looks up the files; starts no engine.
    """
    if computed_query(plan, context) is not None:
        (use,) = plan.uses
        header = f"{use.table.name}: no file; the catalog has the numbers of rows and the partition values"
        return "\n".join([header, *(_access_paths(use, context) if use.table.partition_columns else ())])
    footers = read_footers(plan, context)
    if footers is not None:
        (use,) = plan.uses
        amount = _amount(footers.partitions, counted(footers.files, "file"), use, context)
        header = f"{use.table.name}: {amount}; only the footers are read"
        return "\n".join([header, *(_access_paths(use, context) if use.table.partition_columns else ())])
    lines = []
    totals = [0, 0, 0]
    for use in plan.uses:
        if use.table.kind in (TableKind.SOURCE, TableKind.SYSTEM):
            predicates = source_predicates(use.table, use.wanted)
            kind = "a source" if is_source(use.table) else "a system table"
            lines.append(
                f"{with_typed_names(use.table.name)}: {kind}" + "".join(f"\n  predicate: {p.text}" for p in predicates)
            )
            continue
        if use.table.kind is TableKind.FILES:
            named_files = expanded(use.table, query)
            counts = (0, len(named_files), sum(file.bytes for file in named_files))
        else:
            partitions_read, files = scan_size(use, context, plan.row_limit)
            counts = (partitions_read, len({file.path for file in files}), sum(file.bytes for file in files))
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        amount = f"{counted(counts[1], 'file')}, {counts[2]:,} bytes"
        lines.append(f"{use.table.name}: {_amount(counts[0], amount, use, context)}")
        if plan.row_limit is not None:
            lines.append("  LIMIT: no more files are read than its rows need")
        if use.table.partition_columns:
            lines += _access_paths(use, context)
        lines += _references(use, plan, context)
    if not lines:
        return "The query reads no table."
    if len(plan.uses) > 1:
        lines.append(f"total: {counted(totals[0], 'partition')}, {counted(totals[1], 'file')}, {totals[2]:,} bytes")
    return "\n".join(lines)


def _references(use: TableUse, plan: Plan, context: Context) -> list[str]:
    """Returns how many partitions each reference to a table keeps, if there are several, and the notes about computed
    conditions.
    """
    references = [
        (reading, reading_use)
        for reading in plan.readings
        for reading_use in reading.uses
        if reading.alias and reading_use.table.id == use.table.id
    ]
    lines = [
        f"  {reading.alias}: {_kept_text(reading_use, context)}"
        for reading, reading_use in references
        if use.table.partition_columns
    ]
    lines = lines if len(references) > 1 else []
    return [*lines, *dict.fromkeys(f"  {note}" for reading, _ in references for note in reading.notes)]


def _kept_text(use: TableUse, context: Context) -> str:
    if use.wanted is None:
        return "all partitions"
    return f"{counted(context.snapshot.lookup(use.table, use.wanted).count(), 'partition')}"


def _access_paths(use: TableUse, context: Context) -> list[str]:
    """Returns, line by line, how a query finds the partitions of a table that it does not read whole."""
    lines: list[str] = []
    if is_discovered(use.table):
        return _indented(Discovery(use.table, use.wanted, context.snapshot))
    if use.wanted is not None:
        lines += _indented(context.snapshot.lookup(use.table, use.wanted))
    if use.ranges or (use.ranges is not None and use.wanted is None):
        lookup = context.snapshot.lookup(use.table, None, use.ranges)
        lines += _indented(lookup)
        values = [partition.values for partition in context.snapshot.partitions(use.table, use.ranges)]
        kept_partitions = sum(use.kept(values))
        if kept_partitions < lookup.count():
            lines.append(f"  chosen by period and time: {kept_partitions:,}")
    return lines


def _amount(partitions: int, amount: str, use: TableUse, context: Context) -> str:
    """Returns how many partitions of a table are read, and the amount of files."""
    if not use.table.partition_columns:
        return amount
    if use.wanted is None or is_discovered(use.table):
        return f"{counted(partitions, 'partition')}, {amount}"
    total = context.snapshot.lookup(use.table, None).count()
    return f"{partitions} of {counted(total, 'partition')}, {amount}"
