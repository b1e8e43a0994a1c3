"""FROM source INSERT … INSERT …: several writes into managed tables in one transaction.

Everything is checked before any work, all tables are read under one snapshot, and one commit makes all changes:
after any failure, nothing was written. A source that must not be computed twice (``planner.shared_source``) is computed
once, into a directory of files that is removed afterwards.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.commit.merged_changes import with_merged_inserts
from rewriter.catalog.keys.values import partition_name
from rewriter.directory_changes import discard_tree
from rewriter.errors import AnalysisError, Error, NotSupportedError, OperationalError, disk_full, is_disk_full
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.exec.formats.parquet import WRITER as PARQUET
from rewriter.grammar.families.multi_inserts import MultiInsert, joined
from rewriter.grammar.terms import Query
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import Coverage, quote_identifier
from rewriter.planner.shared_source import Shared, shared_part
from rewriter.runtime.result import Result, Scan, Stats
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.engine_errors import with_position
from rewriter.statements.query.select import prepare
from rewriter.statements.write.external_base_changes import Listing, note_changed
from rewriter.statements.write.insert import (
    Checked,
    change_of,
    check_insert,
    marked_complete,
    only_adds,
    retry_on_conflict,
    write_query,
)
from rewriter.statements.write.managed_write import (
    WriteChange,
    WriteDirectory,
    proven,
    rows_of,
    write_reported,
    write_tables,
)
from rewriter.statements.write.rollup_proof import read_origins, unproven_warning

if TYPE_CHECKING:
    from rewriter.catalog.model.changes import WritePartitions
    from rewriter.catalog.model.objects import PartitionValues
    from rewriter.grammar.families.writes import Insert
    from rewriter.runtime.prepared_queries import Prepared
    from rewriter.runtime.statement_context import Context

#: The beginning of the name of the directory, below the warehouse, for the rows of a source. What a killed process
#: leaves is found by VACUUM.
SOURCE = ".rewriter-source-"


@runs(MultiInsert, in_transaction=True, writes=lambda statement: [insert.table for insert in statement.inserts])
def multi_insert(statement: MultiInsert, context: Context) -> Result:
    """Runs a multi-insert: all or nothing. Retried after a conflict as INSERT is, if it overwrites nothing.

    Raises the errors of each statement before any work, and CONFLICTING_INSERTS where one of them overwrites a
    partition that another one writes.
    """
    return retry_on_conflict(lambda now: _multi_insert(statement, now), all(map(only_adds, statement.inserts)), context)


def _multi_insert(statement: MultiInsert, context: Context) -> Result:
    started = time.perf_counter()
    shared_relation = shared_part(statement.source, context.snapshot)
    branches = _branches(statement, context)
    if note_changed([listing for branch in branches for listing in branch.listings(context)], context):
        context = context.renewed()
        shared_relation, branches = shared_part(statement.source, context.snapshot), _branches(statement, context)
    _refuse_same(branches)
    listings = [listing for branch in branches for listing in branch.listings(context)]
    if not branches:
        return Result("INSERT", rowcount=0)
    with _computed(shared_relation, statement.source, context) as source:
        if source is not None:
            branches = [source.under(branch, context) for branch in branches]
        files = _write(branches, listings, context)
    plans = [branch.prepared.plan for branch in branches]
    scans = [scan for branch in branches for scan in branch.prepared.scans] if source is None else source.scans
    return Result(
        "INSERT",
        rowcount=rows_of([file for branch_files in files for file in branch_files]),
        coverage=Coverage(tuple(reference for plan in plans for reference in plan.coverage.references)),
        warnings=tuple(dict.fromkeys(warning for branch in branches for warning in _warnings(branch, context))),
        stats=_sum_stats(branches, files, scans, started),
    )


def _sum_stats(
    branches: Sequence[Checked], files: Sequence[Sequence[WrittenFile]], scans: Sequence[Scan], started: float
) -> Stats:
    """Returns the statistics of all INSERTs together. What two of them write to one partition counts once."""
    all_files = [file for branch_files in files for file in branch_files]
    planning = sum(branch.prepared.planning_seconds for branch in branches)
    return Stats(
        tuple(scans),
        written_partitions=len(
            {
                (branch.target.table.id, file.values)
                for branch, branch_files in zip(branches, files, strict=True)
                for file in branch_files
            }
        ),
        written_files=len({file.path for file in all_files}),
        written_bytes=sum(file.bytes for file in all_files),
        planning_seconds=planning,
        execution_seconds=time.perf_counter() - started - planning,
    )


def _warnings(branch: Checked, context: Context) -> tuple[str, ...]:
    return (*branch.prepared.plan.warnings, *unproven_warning(branch.doubt, branch.target, context))


def _branches(statement: MultiInsert, context: Context) -> list[Checked]:
    checked_inserts = (_checked(statement.source, insert, context) for insert in statement.inserts)
    return [branch for branch in checked_inserts if branch is not None]


def _checked(source: Query, insert: Insert, context: Context) -> Checked | None:
    joined_insert = replace(insert, query=joined(source, insert.query))
    table = context.table(insert.table)
    if table.external:
        raise NotSupportedError(
            f"{table.name} is an external table: files in plain directories cannot be part of a transaction.",
            condition="MULTI_INSERT_EXTERNAL",
            position=insert.table.span,
            object=table.name,
            hint=f"Write INSERT INTO {table.name} SELECT … FROM … as a separate statement.",
        )
    return check_insert(joined_insert, context, insert.query.span)


# ---- partitions that are written twice


def _refuse_same(branches: Sequence[Checked]) -> None:
    """Refuses, before any work, two static INSERTs of which one overwrites the partition that the other writes."""
    for number, branch in enumerate(branches):
        for other in branches[:number]:
            if branch.target.table.id != other.target.table.id:
                continue
            first, second = branch.target, other.target
            if not (branch.statement.overwrite or other.statement.overwrite):
                continue
            if first.is_static and second.is_static and first.static == second.static:
                raise _conflict(branch, first.static)


def _conflict(insert: Checked, values: PartitionValues) -> AnalysisError:
    table = insert.target.table
    name = partition_name(table.partition_columns, values) if values else ""
    target = f"the partition {name} of {table.name}" if name else f"the table {table.name}"
    return AnalysisError(
        f"An INSERT overwrites {target}, which another one of the same statement writes.",
        condition="CONFLICTING_INSERTS",
        position=insert.statement.table.span,
        object=table.name,
        hint="Write each partition in only one of them, or use INSERT INTO in all of them.",
    )


def _changes(
    branches: Sequence[Checked],
    files: Sequence[Sequence[WrittenFile]],
    directories: Mapping[int, WriteDirectory],
    context: Context,
) -> list[WriteChange]:
    """Returns the changes for the catalog, with each partition once."""
    changes: list[tuple[Checked, WritePartitions]] = []
    for branch, branch_files in zip(branches, files, strict=True):
        table = branch.target.table
        change = change_of(
            branch.statement,
            branch.target,
            directories[table.id].write_id,
            branch_files,
            branch.doubt,
            context,
            branch.prepared.plan,
        )
        if change is not None:
            sources, unproven = proven(branch.prepared.plan.readings, context)
            origins = read_origins(change.table, branch.prepared.plan.readings, context)
            changes.append((branch, replace(change, sources=sources, unproven=unproven, origins=origins)))
    for number, (branch, change) in enumerate(changes):
        for other, earlier in changes[:number]:
            if earlier.table.id == change.table.id:
                _refuse_overlap(branch, change, other, earlier)
    marked: list[WriteChange] = []
    for branch in branches:
        own_change = next((change for other, change in changes if other is branch), None)
        readings = branch.prepared.plan.readings
        for registered in marked_complete(branch, own_change, context):
            marked.append(replace(registered, origins=read_origins(registered.table, readings, context)))
    return [*with_merged_inserts([change for _, change in changes]), *marked]


def _refuse_overlap(insert: Checked, change: WritePartitions, other: Checked, earlier: WritePartitions) -> None:
    if not (change.overwrite or earlier.overwrite):
        return
    values_written, values_before = ({p.values for p in write.partitions} for write in (change, earlier))
    common_values = values_written & values_before
    for wiping, wiper, values in ((change, insert, values_before), (earlier, other, values_written)):
        prefix = wiper.target.static
        common_values |= {value for value in values if wiping.wipes and value[: len(prefix)] == prefix}
    if common_values:
        raise _conflict(insert, min(common_values, key=lambda values: [value or "" for value in values]))


def _write(branches: Sequence[Checked], listings: Sequence[Listing], context: Context) -> list[tuple[WrittenFile, ...]]:
    files: list[tuple[WrittenFile, ...]] = []

    def fill(directories: Mapping[int, WriteDirectory]) -> list[WriteChange]:
        for branch in branches:
            files.append(
                write_query(
                    branch.query,
                    branch.statement.query,
                    branch.target,
                    directories[branch.target.table.id].folder,
                    context,
                )
            )
        return _changes(branches, files, directories, context)

    tables = {branch.target.table.id: branch.target.table for branch in branches}
    try:
        write_tables(list(tables.values()), fill, (), context, listings)
    except Error as error:
        raise error.at(branches[0].statement.query.span) from None
    return files


# ---- a source that is computed once


@dataclass(frozen=True)
class _Source:
    """A source whose one relation is stored in files.

    ``text`` is the source that reads these files instead; ``length`` is the length of the source as typed.
    """

    text: str
    length: int
    scans: tuple[Scan, ...]

    def under(self, insert: Checked, context: Context) -> Checked:
        """Returns the INSERT, reading from the files. Its readings and its proof stay as planned over the source
        itself.
        """
        query = insert.statement.query
        body = query.text[self.length :]
        try:
            prepared = prepare(Query(f"{self.text} {body}", query.span), context)
        except Error as error:
            error.position = None
            raise error.at(query.span) from None
        return replace(insert, query=prepared.query.with_sql(insert.target.arranged(prepared.query.sql)))


@contextmanager
def _computed(shared_relation: Shared | None, source: Query, context: Context) -> Iterator[_Source | None]:
    """Computes the shared part of a source into a directory of the warehouse, which is removed afterwards."""
    if shared_relation is None:
        yield None
        return
    prepared = prepare(shared_relation.query, context)
    folder = os.path.join(context.catalog.warehouse, f"{SOURCE}{uuid.uuid4().hex}")
    try:
        _fill(folder, shared_relation, prepared, context)
        reference = f"parquet.{quote_identifier(folder)}"
        alias = f" AS {quote_identifier(shared_relation.alias)}" if shared_relation.alias else ""
        text = (
            f"{source.text[: shared_relation.span.start]} {reference}{alias}{source.text[shared_relation.span.end :]}"
        )
        yield _Source(text, len(source.text), prepared.scans)
    finally:
        discard_tree(folder, (str(context.catalog.warehouse),))


def _write_empty(folder: str, query: EngineQuery, context: Context) -> None:
    """Writes a file without rows, of the types of a query."""
    empty = context.engine().execute(query.with_sql(f"SELECT * FROM (\n{query.sql}\n) AS s LIMIT 0"))
    with closing(PARQUET.open(os.path.join(folder, "none.parquet"), empty.schema, {})) as writer:
        writer.write_table(empty.schema.empty_table())


def _fill(folder: str, shared_relation: Shared, prepared: Prepared, context: Context) -> None:
    try:
        columns = context.engine().columns(prepared.query)
    except Error as error:
        raise with_position(error, shared_relation.query, prepared.query.sql) from None
    names = [column.name.lower() for column in columns]
    for number, column in enumerate(columns):
        if column.name.lower() in names[:number] or column.type == "void":
            has_type = column.type != "void"
            raise AnalysisError(
                f"The source returns a column {column.name} {'twice' if has_type else 'of no type, NULL'}.",
                condition="COLUMN_ALREADY_EXISTS" if has_type else "UNSUPPORTED_DATATYPE",
                sqlstate="42711" if has_type else "0A000",
                position=shared_relation.query.span,
                object=column.name,
                hint="Give each column a different name." if has_type else "Write CAST(NULL AS type).",
            )

    def fill(directory: str) -> tuple[WrittenFile, ...]:
        return context.engine().write(prepared.query, Write(directory, "parquet", columns, ()))

    try:
        if not write_reported(fill, folder):
            _write_empty(folder, prepared.query, context)
    except Error as error:
        raise with_position(error, shared_relation.query, prepared.query.sql) from None
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The directory {folder}") from error
        raise OperationalError(
            f"The source cannot be stored in {folder}: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            position=shared_relation.query.span,
            hint="Check that this user can write to the warehouse, and that it has free space.",
        ) from error
    stored_columns = context.engine().file_columns("parquet", folder)
    for column, stored_column in zip(columns, stored_columns, strict=True):
        if column.type != stored_column.type:
            raise NotSupportedError(
                f"The source's column {column.name} is a {column.type.upper()}, which cannot be stored in a file.",
                position=shared_relation.query.span,
                object=column.name,
                hint=f"Write CAST({column.name} AS STRING) in the source, or one INSERT for each target.",
            )
