"""CREATE TABLE … AS query and CREATE TABLE … LIKE.

Table and rows come in one commit. Until then no reader sees anything; after a failure nothing is left but, where the
process died, a directory that nothing refers to.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rewriter.catalog.changes import AddPartitions, Change, CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.models import Column, Partition, Table
from rewriter.catalog.partition_paths import is_discovered
from rewriter.catalog.transaction import Writer
from rewriter.context import Context
from rewriter.ddl import Place, referred, split_columns
from rewriter.errors import AnalysisError, Error, OperationalError
from rewriter.exec.engine import EngineQuery, WrittenFile
from rewriter.files import directory
from rewriter.grammar import statements as s
from rewriter.heartbeats import heartbeat
from rewriter.managed import grouped, make_folder, removed_on_failure, removed_on_refusal
from rewriter.reading import Prepared, placed, prepare
from rewriter.result import Result
from rewriter.specs import Spec
from rewriter.targets import Target
from rewriter.writing import move, rows_of, staged, stats_of, taken_back, written


def create_table_like(statement: s.CreateTableLike, context: Context) -> Result:
    """CREATE TABLE … LIKE: the columns, partition columns, format and comment of a table, none of its rows.

    Properties are those of the statement: those of the source belong to its timelines.
    """
    source = context.table(statement.source)
    place = Place.of(statement, context, source)
    if place.is_there:
        return Result("CREATE TABLE")
    with context.begin() as transaction:
        try:
            table = place.table(transaction.allocate_id(), source.columns, source.partition_columns)
            transaction.commit([CreateObject(table)])
        except Error as error:
            raise error.at(statement.table.span) from None
    return Result("CREATE TABLE")


def create_table_as(statement: s.CreateTableAs, context: Context) -> Result:
    """CREATE [OR REPLACE] TABLE … AS: the columns of the query, those of PARTITIONED BY last, and its rows.

    Nothing runs where IF NOT EXISTS meets a table. The rows remember which tables they were computed from, as those of
    an INSERT do: a fact that takes the table over later holds what came out of rollups for outdated.
    """
    place = Place.of(statement, context)
    if place.is_there and statement.if_not_exists:
        return Result("CREATE TABLE", rowcount=0)
    prepared = prepare(statement.query, context)
    started = time.perf_counter()
    try:
        found = context.engine().columns(prepared.query)
    except Error as error:
        raise placed(error, statement.query, prepared.query.sql) from None
    columns, partition_columns = _columns(statement, found)
    with context.begin() as transaction:
        table = place.table(transaction.allocate_id(), columns, partition_columns)
        target = _target(table, found)
        query = replace(prepared.query, sql=target.arranged(prepared.query.sql))
        create = _create_external if table.external else _create_managed
        try:
            files = create(statement, target, query, _Commit(transaction, place.replaced, _sources(prepared)), context)
        except Error as error:
            raise error.at(statement.table.span) from None
    return _result(prepared, files, time.perf_counter() - started)


@dataclass(frozen=True)
class _Commit:
    """The commit to come: what it ends, and which tables its rows were computed from."""

    transaction: Writer
    replaced: tuple[Change, ...]
    sources: frozenset[int]

    def make(self, table: Table, rows: Sequence[Change]) -> None:
        """Commits the table with its rows."""
        self.transaction.commit([*self.replaced, CreateObject(table), *rows], self.sources)


def _sources(prepared: Prepared) -> frozenset[int]:
    """The ids of the tables that the query reads, and of those of their facts that it could have read."""
    readings = prepared.plan.readings
    read = {use.table.id for reading in readings for use in reading.uses if use.table.id > 0}
    return frozenset(read | {table.id for reading in readings for table in reading.unread})


def _columns(statement: s.CreateTableAs, found: Sequence[Column]) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Data and partition columns out of what the query answers."""
    answered = [s.ColumnDef(column.name, column.type, None, statement.query.span) for column in found]
    by_name: dict[str, s.ColumnDef] = {}
    for one in answered:
        if one.name.lower() in by_name:
            raise AnalysisError(
                f"The column {one.name} already exists: the query answers it twice.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=statement.query.span,
                object=one.name,
                hint="Give one of them an alias: … AS name.",
            )
        by_name[one.name.lower()] = one
    hint = f"The query answers {', '.join(column.name for column in by_name.values())}."
    partitioning = [referred(one, by_name, statement.table, hint) for one in statement.partitioned_by]
    return split_columns(statement.table, answered, partitioning, statement.partitioned_by)


def _target(table: Table, found: Sequence[Column]) -> Target:
    """The whole table, filled by position from the columns as the query answers them."""
    columns = {column.name.lower(): column for column in table.all_columns}
    provided = tuple(columns[column.name.lower()] for column in found)
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
    folder = make_folder(table, commit.transaction)
    # The directory of the table bears its id, which nobody else ever gets: all of it is this statement's.
    with removed_on_failure(table.location), heartbeat(commit.transaction):
        files = written(query, statement.query, target, folder, context)
    partitions = tuple(PartitionWrite(values, found) for values, found in grouped(files).items())
    writes = [WritePartitions(table, write_id, partitions, overwrite=True)] if partitions else []
    context.progress.tell("committing", total=len(partitions), unit="partitions")
    with removed_on_refusal(table.location):
        commit.make(table, writes)
    return files


def _create_external(
    statement: s.CreateTableAs,
    target: Target,
    query: EngineQuery,
    commit: _Commit,
    context: Context,
) -> tuple[WrittenFile, ...]:
    """Into a directory that holds nothing yet: through a staging directory in it, then the commit."""
    table = target.table
    context.require_transactional(table)
    _refuse_filled(table, statement)
    with staged(table) as staging, _emptied_on_failure(table):
        with heartbeat(commit.transaction):
            files = written(query, statement.query, target, staging, context)
        partitions = grouped(files)
        registered = table.partition_columns and not is_discovered(table)
        adds = [AddPartitions(table, tuple(map(PartitionWrite, partitions)))] if registered and partitions else []
        context.progress.tell("committing", total=len(partitions), unit="partitions")
        moved: list[str] = []
        with taken_back(moved, BaseException):
            for values, found in partitions.items():
                move(found, directory(table, Partition(b"", values)), uuid.uuid4().hex, moved)
        # Only an error of ours says surely that nothing was committed; otherwise the files must stay.
        with taken_back(moved, Error):
            commit.make(table, adds)
    return files


def _refuse_filled(table: Table, statement: s.CreateTableAs) -> None:
    """As Spark: what lies there already would become rows of the new table."""
    if os.path.exists(table.location) and (not os.path.isdir(table.location) or os.listdir(table.location)):
        raise OperationalError(
            f"CREATE TABLE … AS cannot create {table.name} at {table.location}, which is not an empty directory.",
            condition="LOCATION_ALREADY_EXISTS",
            sqlstate="42710",
            position=statement.table.span,
            object=table.name,
            hint="Name another directory; or CREATE TABLE … LOCATION without a query takes over what is there.",
        )


@contextmanager
def _emptied_on_failure(table: Table) -> Iterator[None]:
    """Removes what is empty below the table's directory, which held nothing before, where the block fails."""
    try:
        yield
    except BaseException:
        for folder, _, _ in os.walk(table.location, topdown=False):
            if folder != table.location and not os.listdir(folder):
                os.rmdir(folder)
        raise


def _result(prepared: Prepared, files: Sequence[WrittenFile], seconds: float) -> Result:
    return Result(
        "CREATE TABLE",
        rowcount=rows_of(files),
        coverage=prepared.plan.coverage,
        plan=prepared.plan,
        warnings=prepared.plan.warnings,
        stats=stats_of(files, seconds, prepared),
    )
