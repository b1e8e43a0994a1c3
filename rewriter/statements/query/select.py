"""Queries: plan, find the files, run. Also the parts that EXPLAIN uses."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, DataFile, FilesTable, Partition, Table, TableKind, View
from rewriter.catalog.model.system_tables import SystemTable
from rewriter.catalog.storage.data_files import FoundFile, directory, directory_not_found, expand, external_files
from rewriter.catalog.storage.discovered_partitions import discovered
from rewriter.catalog.storage.partition_directories import is_directory
from rewriter.connectors.table_source import is_source
from rewriter.errors import (
    EngineError,
    Error,
    MissingDataError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Span,
)
from rewriter.exec.batch_stream import BatchStream, Failure
from rewriter.exec.data_files import stored_rows
from rewriter.exec.engine import EngineQuery, OpenFrame, Relation, ScanFile, scanned, table_relation
from rewriter.grammar.families import queries as s
from rewriter.grammar.lexer import TokenKind, identifier_value, string_value, tokens
from rewriter.grammar.terms import Query
from rewriter.planner.model.plan import Clock, Plan, TableUse
from rewriter.planner.plan_query import plan_query
from rewriter.runtime.prepared_queries import Prepared, query_key
from rewriter.runtime.result import Amount, Result, Scan, ShadowProof, Stats, Verification, spark_type
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.computed_pruning import prune_by_computed_predicates
from rewriter.statements.query.engine_errors import misspelled_function, with_position
from rewriter.statements.query.footer_aggregates import FooterQuery, are_of_footers, computed_query, footer_query
from rewriter.statements.query.routing import UNREACHABLE, choose_route, unreachable
from rewriter.statements.resolve.file_options import csv_options, declared_columns
from rewriter.statements.resolve.named_objects import columns_of_view, typed_name
from rewriter.statements.resolve.partition_specs import check_unmoved
from rewriter.statements.system_tables.rows import batches
from rewriter.statements.system_tables.system_read import SystemRead
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.catalog.reading.versioned_reads import PartitionFiles
    from rewriter.grammar.statements import Statement
    from rewriter.planner.routing.routes import Route
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.runtime.statement_context import Context


@runs(s.Select, in_transaction=True, without_warehouse=True)
def select(statement: s.Select, context: Context) -> Result:
    """Runs a query. Starts the engine if none has started; rows are read as they are fetched."""
    started = time.perf_counter()
    context, proof = with_proof(statement.query, context)
    after_proof = time.perf_counter()
    prepared, stream = _started(statement, context)
    if context.shadow_proofs is not None and prepared.plan.coverage.references:
        context.shadow_proofs.note_query(time.perf_counter() - after_proof)
    if proof is not None and proof.is_pending:
        stream.on_end(partial(start_proof, proof, prepared.plan, context))
    stream.hold(context.snapshot)
    stream.convert_errors(lambda error: _later(error, statement.query, prepared, context.snapshot))
    seconds = time.perf_counter() - started - prepared.planning_seconds
    return Result(
        "SELECT",
        tuple(Column(field.name, spark_type(field.type)) for field in stream.schema),
        stream=stream,
        coverage=prepared.plan.coverage,
        plan=prepared.plan,
        warnings=(
            *prepared.plan.warnings,
            *_failed_over(prepared.route),
            *_noted(statement.query, prepared.plan, context),
        ),
        stats=Stats(
            prepared.scans,
            planning_seconds=prepared.planning_seconds,
            execution_seconds=seconds,
            verification=prepared.verification,
            shadow_proof=proof,
        ),
        cluster=prepared.route.cluster,
        certify=_certify(statement.query, prepared, context),
        open_frame=partial(_open_frame, statement.query, prepared, context),
    )


def lazy_select(statement: Statement, context: Context) -> Result:
    """Plans a query whose rows a DataFrame of Spark is to read: nothing is computed. Raises the errors of planning."""
    if not isinstance(statement, s.Select):
        raise ProgrammingError(
            "Only a query is a DataFrame.", position=statement.span, hint="Use execute for other statements."
        )
    prepared = prepare(statement.query, context)
    return Result(
        "SELECT",
        coverage=prepared.plan.coverage,
        plan=prepared.plan,
        warnings=(*prepared.plan.warnings, *_failed_over(prepared.route)),
        stats=Stats(prepared.scans, planning_seconds=prepared.planning_seconds, verification=prepared.verification),
        cluster=prepared.route.cluster,
        certify=_certify(statement.query, prepared, context),
        open_frame=partial(_open_frame, statement.query, prepared, context),
    )


def _open_frame(query: Query, prepared: Prepared, context: Context) -> OpenFrame:
    """Returns the DataFrame of a prepared query, over the files of the snapshot that it was planned for."""
    if context.snapshot.has_own_changes:
        raise NotSupportedError(
            "A transaction that has changed something has no DataFrames: its files go if it is rolled back.",
            position=query.span,
            hint="COMMIT first.",
        )
    views = {relation.name for relation in prepared.query.relations if relation.view is not None}
    if len(views) < sum(is_source(use.table) or isinstance(use.table, SystemTable) for use in prepared.plan.uses):
        raise NotSupportedError(
            "A query of a registered source or a system table has no DataFrame: its rows are read once.",
            position=query.span,
            hint="Use fetch_arrow_table, and spark.createDataFrame.",
        )
    context.snapshot.hold_files_at_once()
    try:
        opened = context.on(prepared.route.cluster).engine().open_frame(prepared.query)
    except Error as error:
        raise with_position(error, query, prepared.query.sql) from None
    return replace(opened, held=context.snapshot)


def _certify(query: Query, prepared: Prepared, context: Context) -> Callable[[], Mapping[str, Any]] | None:
    has_cover = bool(prepared.plan.coverage.references) and (not context.snapshot.states or query.states is not None)
    return partial(_certificate, query, prepared, context) if has_cover else None


def _noted(query: Query, plan: Plan, context: Context) -> Iterator[str]:
    """Notes a query in the query log, where the session asks for it. Yields a warning if the log cannot be written."""
    log, snapshot = context.query_log, context.snapshot
    if log is None or not context.settings.logs_queries or not plan.coverage.references or snapshot.has_own_changes:
        return
    log.note(query.text, plan, snapshot)
    warning = log.write(context.catalog) if log.is_due else None
    if warning is not None:
        yield warning


def with_proof(query: Query, context: Context) -> tuple[Context, ShadowProof | None]:
    """Draws whether the query gets a shadow proof. One that comes before the query ends here: where rollups differ, the
    query reads the state without them.
    """
    proofs, settings = context.shadow_proofs, context.settings.shadow_proofs
    if proofs is None or context.transaction is not None or not proofs.is_due(settings):
        return context, None
    proof = ShadowProof()
    if settings.is_before:
        start_proof(proof, prepare(query, context).plan, context)
        proof.wait_cancellable()
    return context.renewed() if proof.differing else context, proof


def start_proof(proof: ShadowProof, plan: Plan, context: Context, failure: Failure | None = None) -> None:
    """Starts the proof of a query that has ended. It ends at once where the query has failed."""
    assert context.shadow_proofs is not None
    references = plan.coverage.references if failure is None else ()
    parts = [part for reference in references for part in reference.parts]
    context.shadow_proofs.start(parts, context.settings.shadow_proofs, proof)


def _certificate(query: Query, prepared: Prepared, context: Context) -> Mapping[str, Any]:
    """Returns the certificate of a query that was run: the verified one, or one that is made now, of the snapshot that
    the query read.
    """
    return certify(query, context) if prepared.verification is None else prepared.verification.certificate


def certify(query: Query, context: Context) -> Mapping[str, Any]:
    """Returns the certificate of a query, which is as strict as the query itself. Raises as ``plan_select`` and
    ``certificate_of`` do.
    """
    from rewriter.statements.query.certificates import certificate_of  # Few ask for it.

    plan, _ = plan_select(query, replace(context, planning=replace(context.planning, certify=True)))
    return certificate_of(plan, query, context)


def _started(statement: s.Select, context: Context) -> tuple[Prepared, BatchStream]:
    """Starts a query on the first cluster that has everything and can be reached. A required one is the only one."""
    while True:
        prepared = prepare(statement.query, context)
        try:
            return prepared, _stream(prepared, context.on(prepared.route.cluster))
        except Error as error:
            cluster = prepared.route.cluster
            if error.condition != UNREACHABLE or cluster is None or context.required_cluster[0] is not None:
                raise with_position(error, statement.query, prepared.query.sql) from None
            context = replace(context, unreachable=(*context.unreachable, unreachable(cluster, error.message)))


def _failed_over(route: Route) -> Iterator[str]:
    for attempt in route.attempts:
        if attempt.reason is not None:
            yield f"{attempt}: the query ran on {route.cluster}"


def _stream(prepared: Prepared, context: Context) -> BatchStream:
    """Starts a query. The files of registered sources and system tables are removed after the statement, so the result
    is held in memory.
    """
    if any(is_source(use.table) or isinstance(use.table, SystemTable) for use in prepared.plan.uses):
        return BatchStream.of_table(context.engine().execute(prepared.query).read_all())
    return context.engine().stream_rows(prepared.query)


def _later(error: Error, query: Query, prepared: Prepared, snapshot: Snapshot) -> Error:
    """Returns an error of a batch as the error of the query's first batch would be."""
    if isinstance(error, EngineError):
        snapshot.check_readable()  # An engine misses a file; the catalog has the cause.
    return with_position(error, query, prepared.query.sql)


def prepare(query: Query, context: Context) -> Prepared:
    """Plans a query and looks up the files of the partitions that its plan reads. Starts an engine only for queries of
    files. A query that ran before under the same state of the catalog is taken from the session.
    """
    started = time.perf_counter()
    context.progress.report("planning")
    snapshot, clock = context.snapshot, Clock(int(context.planning.now))
    key = None
    if context.transaction is None and not context.unreachable and not snapshot.states:
        views = snapshot.temporary_views.version
        placing = (context.clusters, context.required_cluster[0])
        key = query_key(query, snapshot.current, views, context.planning, context.parameters, placing)
    prepared = None if key is None else context.prepared.get(key, snapshot.state)
    if prepared is None or not _reads_the_same(prepared, query, context):
        context = replace(context, planning=replace(context.planning, now=clock))
        plan = _plan(query, snapshot, context)
        settled_plan = prune_by_computed_predicates(plan, query, snapshot, context, prepare)
        routed_plan, route = _routed(settled_plan, query, context)
        # The certificate names the time of its making, on which no plan depends.
        is_timeless = not clock.was_read
        verification = _verified(routed_plan, query, context)
        prepared = _prepared(query, routed_plan, context.on(route.cluster))
        prepared = replace(prepared, route=route, verification=verification)
        is_settled = settled_plan is plan and is_timeless and not prepared.from_footers
        is_kept = is_settled and all(_is_kept(use, context) for use in plan.uses)
        if key is not None and is_kept:
            context.prepared.keep(key, snapshot.state, prepared)
    else:
        snapshot.hold_files()
    return replace(prepared, planning_seconds=time.perf_counter() - started)


def _verified(plan: Plan, query: Query, context: Context) -> Verification | None:
    """Returns the checker's verdict on a plan, where the session asks for it. Raises ``IntegrityError``
    CERTIFICATE_REFUTED.
    """
    if not context.planning.certify or not plan.coverage.references or not _is_certified(query, context):
        return None
    from rewriter.statements.query.certificates import verify_plan  # Few ask for it.

    return verify_plan(plan, query, context)


def _is_certified(query: Query, context: Context) -> bool:
    """Tests whether a certificate can say what is read: rows of committed states."""
    return not context.snapshot.has_own_changes and (not context.snapshot.states or query.states is not None)


def _is_listed(use: TableUse) -> bool:
    """Tests whether the catalog lists the files of a table."""
    return use.table.kind is TableKind.MANAGED


def relation_numbers(uses: Sequence[TableUse], context: Context) -> Iterator[int]:
    """Returns numbers for the names of a query's relations. A text for DuckDB has the same ones each time, so that its
    translation is kept. Spark's views need new ones.
    """
    is_same = context.engine_name == "duckdb" and all(_is_kept(use, context) for use in uses)
    return itertools.count() if is_same else context.serial


def _is_kept(use: TableUse, context: Context) -> bool:
    """Tests whether a query of a table is kept for the next run. On DuckDB it is kept also for an external table, whose
    directories must have the same files then: a view of Spark has a list of files of its own.
    """
    return _is_listed(use) or (use.table.kind is TableKind.EXTERNAL and context.engine_name == "duckdb")


def _reads_the_same(prepared: Prepared, query: Query, context: Context) -> bool:
    """Tests whether the external tables of a kept query have the files that they had: it lists them, and raises as
    ``prepare`` does.
    """
    plan, relations = prepared.plan, prepared.query.relations
    if all(map(_is_listed, plan.uses)):
        return True
    context = context.on(prepared.route.cluster)
    return len(relations) == len(plan.uses) and all(
        _is_listed(use) or _relation(relation.name, use, query, context, plan.row_limit)[0] == relation
        for relation, use in zip(relations, plan.uses, strict=True)
    )


def _prepared(query: Query, plan: Plan, context: Context) -> Prepared:
    computed = computed_query(plan, context)
    if computed is not None:
        return Prepared(plan, computed, (_scan(plan.uses[0].table, 0, 0, 0, context),), planning_seconds=0.0)
    try:
        footers = read_footers(plan, context)
    except Error as error:
        raise error.at(query.span) from None
    if footers is not None:
        scan = _scan(plan.uses[0].table, footers.partitions, footers.read_files, footers.read_bytes, context)
        return Prepared(plan, footers.query, (scan,), planning_seconds=0.0, from_footers=True)
    names: dict[int, str] = {}
    relations: list[Relation] = []
    scans: list[Scan] = []
    serial = relation_numbers(plan.uses, context)
    for use in plan.uses:
        table_words = re.sub("[^a-z0-9]+", "_", use.table.name.lower()).strip("_")
        names[use.table.id] = f"rw_{next(serial)}_{table_words}"
        relation, partitions = _relation(names[use.table.id], use, query, context, plan.row_limit)
        relations.append(relation)
        size = sum([file.bytes for file in relation.files])
        scans.append(_scan(use.table, partitions, len({file.path for file in relation.files}), size, context))
    template = plan.template if plan.engine_template is None else plan.engine_template
    sql = template.render(lambda table: names[table.id])
    cover = plan.coverage.summary
    engine_query = EngineQuery(
        sql,
        tuple(relations),
        plan.parameters,
        query.tokens if sql == query.text else None,
        f"{cover} | {query.text}" if cover else query.text,
        reads_cube=bool(plan.coverage.references),
    )
    return Prepared(plan, engine_query, tuple(scans), planning_seconds=0.0)


def _scan(table: Table, partitions: int, files: int, size: int, context: Context) -> Scan:
    """Returns the part of a table that a statement reads."""
    is_listed = table.kind.lists_partitions
    # Another object than the snapshot that holds the files, so that they are not held longer than for the rows.
    unheld = context.snapshot.within(context.snapshot.current)
    return Scan(table.name, partitions, files, size, partial(_whole, table, unheld) if is_listed else None)


def _whole(table: Table, snapshot: Snapshot) -> Amount:
    """Returns the amount of all that a table has. Of an external table, only the registered partitions are known."""
    snapshot = snapshot.within(snapshot.current)
    partitions = snapshot.partition_count(table) if table.partition_columns else 0
    if table.external:
        return Amount(partitions)
    files = [file for _, file in snapshot.files(table, None)]
    return Amount(partitions, len({file.path for file in files}), sum([file.bytes for file in files]))


def read_footers(plan: Plan, context: Context) -> FooterQuery | None:
    """Returns the query of the values that the footers of a plan's files have; ``None`` if the engine has to read the
    files. Raises as the look-up of files does.
    """
    if not are_of_footers(plan):
        return None
    (use,) = plan.uses
    if not use.table.external or _is_copied(use.table, context):
        count, data_files = _scanned_managed(use, context)
        return footer_query(plan, count, ((partition.values, file) for partition, file in data_files))
    partitions = _external_partitions(use, context)
    count = len(partitions) if use.table.partition_columns else 0
    found_files = _external_files(use.table, partitions, context)
    return footer_query(plan, count, ((p.values, DataFile(f.path, None, f.bytes)) for p, f in found_files))


def plan_select(query: Query, context: Context) -> tuple[Plan, Route]:
    """Returns the plan of a query, and its route. Raises as ``prepare`` does, and looks up no files."""
    return _routed(_planned(query, context.snapshot, context), query, context)


def _planned(query: Query, reader: CatalogReader, context: Context) -> Plan:
    return prune_by_computed_predicates(_plan(query, reader, context), query, reader, context, prepare)


def _plan(query: Query, reader: CatalogReader, context: Context) -> Plan:
    """Plans a query. A misspelled function is told before missing partitions."""
    try:
        return plan_query(query, reader, context.planning, context.parameters)
    except MissingDataError as error:
        raise misspelled_function(query) or error from None


def _routed(plan: Plan, query: Query, context: Context) -> tuple[Plan, Route]:
    try:
        return choose_route(plan, lambda reader: _planned(query, reader, context), context)
    except Error as error:
        raise error.at(query.span) from None


def selected_partitions(use: TableUse, context: Context) -> tuple[Partition, ...]:
    """Returns the partitions of a table that a plan reads, in key order. Raises ``OperationalError`` PATH_NOT_FOUND if
    they are discovered and the location of the table does not exist.
    """
    if is_discovered(use.table):
        is_read = use.ranges is None or use.wanted is not None
        partitions = tuple(discovered(use.table, use.wanted, context.snapshot).values()) if is_read else ()
        if is_read and not partitions and not is_directory(use.table.location):
            raise directory_not_found(use.table, None)
        return partitions
    covered = context.snapshot.partitions(use.table, use.ranges)
    if use.selections:
        covered = tuple(itertools.compress(covered, use.kept([partition.values for partition in covered])))
    if use.wanted is None:
        return covered
    by_key = {partition.key: partition for partition in covered}
    by_key |= {partition.key: partition for partition in context.snapshot.satisfying(use.table, use.wanted)}
    return tuple(by_key[key] for key in sorted(by_key))


def scan_files(use: TableUse, context: Context) -> tuple[ScanFile, ...]:
    """Returns the files of the partitions that a plan reads of a table."""
    return scan_size(use, context)[1]


def scan_size(use: TableUse, context: Context, most_rows: int | None = None) -> tuple[int, tuple[ScanFile, ...]]:
    """Returns the number of partitions that a plan reads of a table, and their files. An unpartitioned table has 0.

    If the plan reads a whole managed table, partitions without files are counted and not read. With ``most_rows``, the
    files are the first ones that have so many rows.
    """
    table = use.table
    first_files = None if most_rows is None else _first_files(use, most_rows, context)
    if first_files is not None:
        return len({file.values for file in first_files}) if table.partition_columns else 0, first_files
    if not table.external or _is_copied(table, context):
        count, data_files = _scanned_managed(use, context)
        return count, scanned(data_files)
    partitions = _external_partitions(use, context)
    found_files = _external_files(table, partitions, context)
    files = tuple([ScanFile(f.path, p.values, f.bytes, f.modified) for p, f in found_files])
    return len(partitions) if table.partition_columns else 0, files


def _scanned_managed(use: TableUse, context: Context) -> tuple[int, PartitionFiles]:
    """Returns the number of partitions that a plan reads of a managed table, and their files, from the catalog."""
    table = use.table
    if _is_copied(table, context):
        partitions = _partitions_of(use, context)
        count = len(partitions) if table.partition_columns else 0
        return count, context.snapshot.copied_files(table, str(context.cluster), partitions)
    if not table.partition_columns:
        return 0, context.snapshot.files(table, use.ranges)
    if use.ranges is None and use.wanted is None and not use.selections:
        files = context.snapshot.files(table, None)
        return context.snapshot.partition_count(table), files
    partitions = selected_partitions(use, context)
    files = context.snapshot.files(table, use.ranges)
    if use.selections:
        keys = {partition.key for partition in partitions}
        files = tuple([(p, f) for p, f in files if p.key in keys])
    if use.wanted is not None:
        covered = {partition.key for partition, _ in files}
        satisfying = context.snapshot.files_satisfying(table, use.wanted)
        files += tuple([(p, f) for p, f in satisfying if p.key not in covered])
    return len(partitions), files


def _is_copied(table: Table, context: Context) -> bool:
    """Tests whether the statement reads the copies of a table that a secondary cluster has."""
    if context.cluster is None or not table.copies:
        return False
    return not context.clusters.is_primary(table, context.cluster)


def _partitions_of(use: TableUse, context: Context) -> tuple[Partition, ...]:
    """Returns the partitions that a plan reads; of an unpartitioned table, its one partition in the catalog."""
    return selected_partitions(use, context) if use.table.partition_columns else context.snapshot.partitions(use.table)


def _external_partitions(use: TableUse, context: Context) -> tuple[Partition, ...]:
    return selected_partitions(use, context) if use.table.partition_columns else (the_partition(use.table),)


def _external_files(
    table: Table, partitions: tuple[Partition, ...], context: Context
) -> Iterator[tuple[Partition, FoundFile]]:
    """Yields the files of these partitions of an external table, by listing. Raises for partitions that moved, and for
    directories that do not exist, also if they have vanished since they were listed.
    """
    if not table.partition_columns or is_uri(table.location):
        yield from external_files(table, partitions)
        return
    try:
        yield from external_files(table, partitions)
    except OperationalError:
        check_unmoved(table, _without_directory(table, partitions), context)
        raise
    vanished = _without_directory(table, partitions)
    if vanished:
        check_unmoved(table, vanished, context)
        raise directory_not_found(table, vanished[0])


def _without_directory(table: Table, partitions: Iterable[Partition]) -> list[Partition]:
    """Returns the partitions whose directory, if it is local, does not exist."""
    located = ((directory(table, partition), partition) for partition in partitions)
    return [partition for path, partition in located if not is_uri(path) and not os.path.isdir(path)]


#: The most files of an external table whose rows are counted for a LIMIT.
_MOST_COUNTED_FILES = 1000


def _first_files(use: TableUse, most_rows: int, context: Context) -> tuple[ScanFile, ...] | None:
    """Returns the first files of a table that have so many rows, or all; ``None`` if too many rows are not known.

    A file whose rows the catalog does not know counts as empty. Reads the partitions of the catalog up to the last one
    whose rows are needed.
    """
    table = use.table
    if _is_copied(table, context):
        return None
    if table.external:
        return _first_external_files(use, most_rows, context)
    rows = 0
    paths: set[str] = set()
    ranges = use.ranges
    if ranges is None and table.partition_columns:
        ranges = _first_partitions(table, most_rows, context)
    all_files = context.snapshot.files(table, ranges)
    for _, file in all_files:
        if rows >= most_rows:
            break
        rows += file.rows or 0
        paths.add(file.path)
    return scanned((partition, file) for partition, file in all_files if file.path in paths)


def _first_partitions(table: Table, most_rows: int, context: Context) -> tuple[KeyRange, ...]:
    """Returns the keys of the first partitions of a managed table that have so many rows, or of all."""
    rows, first, last = 0, None, b""
    for partition in context.snapshot.lookup(table, None).partitions():
        if rows >= most_rows:
            break
        rows += partition.rows or 0
        first = partition.key if first is None else first
        last = partition.key
    return () if first is None else (KeyRange(first, KeyRange.of_key(last).end),)


def _first_external_files(use: TableUse, most_rows: int, context: Context) -> tuple[ScanFile, ...] | None:
    """Does the same for Parquet files of an external table, by listing directories and reading footers until the rows
    suffice.
    """
    table = use.table
    if table.format.lower() != "parquet":
        return None
    partitions = _external_partitions(use, context)
    rows = 0
    files: list[ScanFile] = []
    for partition in partitions:
        if rows >= most_rows:
            break
        is_local = table.partition_columns and not is_uri(table.location)
        if is_local and not os.path.isdir(directory(table, partition)):
            return None
        for _, file in external_files(table, (partition,)):
            if rows >= most_rows:
                break
            if len(files) == _MOST_COUNTED_FILES:
                return None
            try:
                rows += stored_rows("parquet", file.path) or 0
            except Error:
                return None
            files.append(ScanFile(file.path, partition.values, file.bytes, file.modified))
    return tuple(files)


def the_partition(table: Table) -> Partition:
    """Returns the one partition of an unpartitioned external table: its location."""
    return Partition(encode(table.id, (), ()), (), location=table.location)


def _relation(name: str, use: TableUse, query: Query, context: Context, most_rows: int | None) -> tuple[Relation, int]:
    """Returns what the engine reads for a table, and the number of its partitions."""
    table = use.table
    if is_source(table):
        try:
            return context.temporaries.sources.read(name, table, use.wanted, context.engine()), 0
        except Error as error:
            raise error.at(query.span) from error.__cause__
    if isinstance(table, SystemTable):
        read = SystemRead(table, use.wanted, context, partial(_view_columns, context=context))
        return context.temporaries.sources.store(name, table, batches(read)), 0
    if isinstance(table, FilesTable) and context.batch is not None and table.location == context.batch.location:
        return replace(context.batch.relation, name=name), 0
    if isinstance(table, FilesTable):
        named_files = expanded(table, query)
        try:
            options = csv_options(tuple(table.file_options.items())) if table.file_options else {}
            if table.schema is None:
                columns = context.engine().file_columns(table.format, table.location, options)
            else:
                columns = declared_columns(table.schema)
        except Error as error:
            raise error.at(_file_span(table, query)) from None
        files = tuple(ScanFile(f.path, (), f.bytes) for f in named_files)
        return Relation(name, table.format, columns, (), files, options=options), 0
    try:
        count, files = scan_size(use, context, most_rows)
    except Error as error:
        raise error.at(query.span) from None
    return scan_relation(name, use, files), count


def scan_relation(name: str, use: TableUse, files: tuple[ScanFile, ...]) -> Relation:
    """Returns what an engine reads for the use of a table: its files, and the patterns that all values of its partition
    columns follow which a plan reads.
    """
    layouts = {None if selection.null_time else selection.layout for selection in use.selections}
    layout = layouts.pop() if len(layouts) == 1 and use.wanted is None else None
    patterns = () if layout is None else tuple((part.column.lower(), part.pattern) for part in layout.parts)
    return replace(table_relation(name, use.table, files), time_patterns=patterns)


def _view_columns(view: View, context: Context) -> Sequence[Column]:
    """Returns the columns of a view, with the types that the engine gives them; none if it cannot be read now."""
    columns = columns_of_view(view, context.snapshot)
    if columns and all(column.type for column in columns):
        return columns
    comments = dict(view.columns)
    query = Query(f"SELECT * FROM {typed_name(view)}")
    planning = replace(context.planning, partial_data=True)
    try:
        plan = plan_query(query, context.snapshot, planning, {})
        names = {use.table.id: f"rw_{next(context.serial)}_view" for use in plan.uses}
        relations = [_without_rows(names[use.table.id], use, query, context) for use in plan.uses]
        sql = plan.template.render(lambda table: names[table.id])
        engine_columns = context.engine().columns(EngineQuery(sql, tuple(relations)))
    except Error:
        return columns
    return [replace(column, comment=comments.get(column.name)) for column in engine_columns]


def _without_rows(name: str, use: TableUse, query: Query, context: Context) -> Relation:
    """Returns what the engine needs of a table to know the types of a query. Reads no partition."""
    table = use.table
    match table.kind:
        case TableKind.FILES:
            return _relation(name, use, query, context, None)[0]
        case TableKind.SOURCE | TableKind.SYSTEM:
            return Relation(name, "parquet", table.all_columns, (), ())
        case TableKind.MANAGED | TableKind.EXTERNAL | TableKind.DISCOVERED | TableKind.STATE:
            return table_relation(name, table)
        case _:
            assert_never(table.kind)


def expanded(table: Table, query: Query) -> tuple[FoundFile, ...]:
    try:
        return expand(table.location)
    except Error as error:
        raise error.at(_file_span(table, query)) from None


def _file_span(table: Table, query: Query) -> Span | None:
    """Returns the position of the file ``format.`path``` in the query."""
    query_tokens = tokens(query.text)
    for first, second in zip(query_tokens, query_tokens[2:], strict=False):
        is_call = second.kind is TokenKind.STRING and string_value(second) == table.location
        if is_call or (second.kind is TokenKind.IDENTIFIER and identifier_value(second) == table.location):
            return Span(second.start if is_call else first.start, second.end).shifted(query.span.start)
    return query.span
