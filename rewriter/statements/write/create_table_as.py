"""CREATE TABLE … AS query and CREATE TABLE … LIKE.

The table and its rows come in one commit. No reader sees anything before. A failure leaves nothing; if the process
dies, a directory may remain that nothing refers to.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.changes import AddPartitions, Change, CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, Partition, Table
from rewriter.catalog.storage.data_files import directory
from rewriter.directory_changes import remove_empty
from rewriter.errors import AnalysisError, Error, OperationalError
from rewriter.grammar.datatypes import check_type_depth
from rewriter.grammar.families import tables as s
from rewriter.grammar.terms import ColumnDef
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.heartbeat import heartbeat
from rewriter.runtime.result import Result, ShadowProof
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import CreationTarget, split_columns
from rewriter.statements.query.engine_errors import with_position
from rewriter.statements.query.select import prepare, start_proof, with_proof
from rewriter.statements.resolve.locations import refuse_external_write
from rewriter.statements.resolve.partition_specs import Spec
from rewriter.statements.write.insert import move, staging_directory, take_back_files, write_query
from rewriter.statements.write.insert_target import Target
from rewriter.statements.write.managed_write import (
    directory_exists,
    group_files,
    make_write_directory,
    of_new_table,
    removed_on_failure,
    removed_on_refusal,
    rows_of,
    stats_of,
    tiny_files_warning,
)
from rewriter.statements.write.rollup_proof import read_origins

if TYPE_CHECKING:
    from rewriter.catalog.commit.transaction import Writer
    from rewriter.catalog.model.origins import Origins
    from rewriter.exec.engine import EngineQuery, WrittenFile
    from rewriter.runtime.prepared_queries import Prepared
    from rewriter.runtime.statement_context import Context


@runs(s.CreateTableLike, in_transaction=True, without_warehouse=True)
def create_table_like(statement: s.CreateTableLike, context: Context) -> Result:
    """CREATE TABLE … LIKE: copies the columns, partition columns, format and comment of a table, none of its rows.

    The properties are the statement's properties: the source's properties belong to its timelines.
    """
    source = context.table(statement.source)
    creation = CreationTarget.of(statement, context, source)
    if creation.is_there:
        return Result("CREATE TABLE")
    with context.begin() as transaction:
        try:
            columns = tuple(replace(column, stored=None) for column in source.columns)
            table = creation.table(transaction.allocate_id(), columns, source.partition_columns)
            transaction.commit([CreateObject(table)])
        except Error as error:
            raise error.at(statement.table.span) from None
    return Result("CREATE TABLE")


@runs(s.CreateTableAs, in_transaction=True, without_warehouse=True)
def create_table_as(statement: s.CreateTableAs, context: Context) -> Result:
    """CREATE [OR REPLACE] TABLE … AS: the columns of the query, the columns of PARTITIONED BY last, and its rows.

    Nothing runs where IF NOT EXISTS finds a table. The rows remember which tables they were computed from, as the rows
    of an INSERT do: a fact that takes over the table later treats rows computed from rollups as outdated.
    """
    creation = CreationTarget.of(statement, context)
    if creation.is_there and statement.if_not_exists:
        return Result("CREATE TABLE", rowcount=0)
    context, proof = with_proof(statement.query, context)
    creation = CreationTarget.of(statement, context)
    context = _required(creation, context)
    prepared = prepare(statement.query, context)
    creation = creation.on(prepared.route.cluster or creation.cluster)
    context = creation.context
    started = time.perf_counter()
    try:
        query_columns = context.engine().columns(prepared.query, declared=True)
    except Error as error:
        raise with_position(error, statement.query, prepared.query.sql) from None
    columns, partition_columns = _columns(statement, query_columns)
    with context.begin() as transaction:
        table = creation.table(transaction.allocate_id(), columns, partition_columns)
        refuse_external_write(table, position=statement.table.span)
        target = _target(table, query_columns)
        query = prepared.query.with_sql(target.arranged(prepared.query.sql))
        create = _create_external if table.external else _create_managed
        try:
            origins = read_origins(table, prepared.plan.readings, context)
            commit = _Commit(transaction, creation.replaced, _sources(prepared), origins)
            files = create(statement, target, query, commit, context)
        except Error as error:
            raise error.at(statement.table.span) from None
    if proof is not None and proof.is_pending:
        start_proof(proof, prepared.plan, context)
    return _result(table, prepared, files, time.perf_counter() - started, proof)


def _required(creation: CreationTarget, context: Context) -> Context:
    """Returns the context of the query: the cluster that ON CLUSTER names is the only one."""
    if creation.statement.cluster is None or creation.cluster is None:
        return context
    return replace(context, required=(creation.cluster, f"ON CLUSTER {creation.cluster}"))


@dataclass(frozen=True)
class _Commit:
    """The pending commit: the objects it replaces, the tables that its rows were computed from, and what was read of
    facts.
    """

    transaction: Writer
    replaced: tuple[Change, ...]
    sources: frozenset[int]
    origins: Origins

    def make(self, table: Table, rows: Sequence[Change]) -> None:
        """Commits the table with its rows."""
        self.transaction.commit([*self.replaced, CreateObject(table), *rows], self.sources)


def _sources(prepared: Prepared) -> frozenset[int]:
    """Returns the ids of the tables that the query reads, and of the tables of their facts that it could have read."""
    readings = prepared.plan.readings
    table_ids = {use.table.id for reading in readings for use in reading.uses if use.table.kind.is_in_catalog}
    return frozenset(table_ids | {table.id for reading in readings for table in reading.unread})


def _columns(
    statement: s.CreateTableAs, query_result: Sequence[Column]
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Splits the columns of the query into data and partition columns."""
    query_columns = [ColumnDef(column.name, column.type, None, statement.query.span) for column in query_result]
    by_name: dict[str, ColumnDef] = {}
    for column in query_columns:
        check_type_depth(column.type or "", statement.query.span)
        if column.name.lower() in by_name:
            raise AnalysisError(
                f"The column {column.name} already exists: the query returns it twice.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=statement.query.span,
                object=column.name,
                hint="Give one of them an alias: … AS name.",
            )
        by_name[column.name.lower()] = column
    hint = f"The query returns {', '.join(column.name for column in by_name.values())}."
    return split_columns(statement.table, query_columns, statement.partitioned_by, hint)


def _target(table: Table, provided_columns: Sequence[Column]) -> Target:
    """Returns a target that is the whole table, filled by position from the columns as the query returns them."""
    columns = {column.name.lower(): column for column in table.all_columns}  # A write computes the hidden ones.
    provided = tuple(columns[column.name.lower()] for column in provided_columns)
    spec = Spec({}, frozenset(range(len(table.partition_columns))))
    return Target(table, spec, provided, (), {}, reordered=provided != table.all_columns)


def _create_managed(
    statement: s.CreateTableAs,
    target: Target,
    query: EngineQuery,
    commit: _Commit,
    context: Context,
) -> tuple[WrittenFile, ...]:
    table = target.table
    (write_id,) = commit.transaction.write_ids((table,))
    if os.path.lexists(table.location):
        raise directory_exists(table, table.location)
    directory = of_new_table(make_write_directory(table, commit.transaction, context, write_id), table)
    with closing(directory), removed_on_failure(directory), heartbeat(commit.transaction):
        files = write_query(query, statement.query, target, directory.folder, context)
        by_partition = group_files(files)
        directory.publish((file for partition_files in by_partition.values() for file in partition_files), context)
    partitions = tuple(
        PartitionWrite(values, directory.moved(partition_files)) for values, partition_files in by_partition.items()
    )
    write = WritePartitions(table, write_id, partitions, overwrite=True, origins=commit.origins)
    writes = [write] if partitions else []
    context.progress.report("committing", total=len(partitions), unit="partitions")
    with removed_on_refusal(directory):
        commit.make(table, writes)
    return files


def _create_external(
    statement: s.CreateTableAs,
    target: Target,
    query: EngineQuery,
    commit: _Commit,
    context: Context,
) -> tuple[WrittenFile, ...]:
    """Writes into a directory that holds nothing yet: through a staging directory in it, then the commit."""
    table = target.table
    context.require_transactional(table)
    _refuse_filled(table, statement)
    with staging_directory(table) as staging, _emptied_on_failure(table):
        with heartbeat(commit.transaction):
            files = write_query(query, statement.query, target, staging, context)
        partitions = group_files(files)
        registered = table.partition_columns and not is_discovered(table)
        adds = [AddPartitions(table, tuple(map(PartitionWrite, partitions)))] if registered and partitions else []
        context.progress.report("committing", total=len(partitions), unit="partitions")
        moved_paths: list[str] = []
        with take_back_files(table, moved_paths, BaseException):
            for values, partition_files in partitions.items():
                move(table, partition_files, directory(table, Partition(b"", values)), uuid.uuid4().hex, moved_paths)
        # Only one of our own errors shows that nothing was committed; after any other error the files must stay.
        with take_back_files(table, moved_paths, Error):
            commit.make(table, adds)
    return files


def _refuse_filled(table: Table, statement: s.CreateTableAs) -> None:
    """Refuses a directory that is not empty, as Spark does: its files would become rows of the new table."""
    if os.path.exists(table.location) and (not os.path.isdir(table.location) or os.listdir(table.location)):
        raise OperationalError(
            f"CREATE TABLE … AS cannot create {table.name} at {table.location}, which is not an empty directory.",
            condition="LOCATION_ALREADY_EXISTS",
            sqlstate="42710",
            position=statement.table.span,
            object=table.name,
            hint="Name another directory; or CREATE TABLE … LOCATION without a query uses the existing files.",
        )


@contextmanager
def _emptied_on_failure(table: Table) -> Iterator[None]:
    """Removes empty directories below the table's directory, which held nothing before, if the block fails."""
    try:
        yield
    except BaseException:
        for name in os.listdir(table.location):
            remove_empty(os.path.join(table.location, name), (table.location,))
        raise


def _result(
    table: Table, prepared: Prepared, files: Sequence[WrittenFile], seconds: float, proof: ShadowProof | None
) -> Result:
    return Result(
        "CREATE TABLE",
        rowcount=rows_of(files),
        coverage=prepared.plan.coverage,
        plan=prepared.plan,
        warnings=(*prepared.plan.warnings, *tiny_files_warning(table, files)),
        stats=stats_of(files, seconds, prepared, proof),
    )
