"""COMPACT as part of a commit: other files with the same rows.

The content and the proofs stay as they were: the new row of a partition keeps the number of the commit that wrote its
content, as the row of ANALYZE does. So no rollup becomes outdated, and a concurrent write of the partition does not
conflict.
"""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.partition_rows import StoredPartition, Version
from rewriter.catalog.commit.stored_timelines import end_rows
from rewriter.catalog.model.changes import CompactPartitions
from rewriter.catalog.model.objects import DataFile, Table
from rewriter.catalog.model.stored_paths import loaded
from rewriter.catalog.model.stored_rows import part_in
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.errors import ConflictError, InternalError

#: A live file and its row.
_LiveFile = tuple[int, DataFile]


def compact(context: CommitContext, change: CompactPartitions) -> None:
    """Ends the files that were read and adds the compacted ones; files of a concurrent INTO stay.

    Raises ``ConflictError`` if one of the files that were read is no longer in its partition, or the table's columns
    were altered.
    """
    table, connection = context.live_table(change.table), context.connection
    live = context.live(table)
    context.check_columns(table if live is None else replace(table, name=live.name))
    if context.write_id(table.id) != change.write_id:
        raise InternalError(f"the write id {change.write_id} of '{table.name}' is not the transaction's")
    keys = [partition.key for partition in change.partitions]
    stored, files = rows.stored_by_key(connection, keys), _live_files(connection, keys)
    new_versions: list[StoredPartition] = []
    ended: list[int] = []
    for partition in change.partitions:
        rows_by_path = {file.path: row_id for row_id, file in files.get(partition.key, ())}
        if partition.key not in stored or not rows_by_path.keys() >= set(partition.replaced):
            raise _conflict(table)
        ended += [rows_by_path[path] for path in partition.replaced]
        remaining = [file for _, file in files[partition.key] if file.path not in partition.replaced]
        previous = stored[partition.key]
        new_versions.append(replace(previous, live=rows.with_files(previous.live, [*remaining, *partition.files])))
    end_rows(connection, schema.files, ended, change.write_id)
    rows.end_partitions(connection, [partition.live for partition in stored.values()], change.write_id)
    rows.insert_stored(connection, table, new_versions, change.write_id)
    version = Version(change.write_id, context.sequence)
    rows.insert_files(
        connection, {partition.key: partition.files for partition in change.partitions}, version, base=True
    )
    context.log("COMPACT", table, partitions=len(new_versions))


def _live_files(connection: sa.Connection, keys: list[bytes]) -> dict[bytes, list[_LiveFile]]:
    row = schema.files.c
    files_by_key: dict[bytes, list[_LiveFile]] = {}
    warehouse = warehouse_of(connection)
    for chunk in chunks(keys):
        query = sa.select(row.key, row.row_id, row.path, row.rows, row.bytes, row.part)
        live = query.where(row.key.in_(chunk), row.ended == schema.NEVER)
        for key, row_id, path, count, size, part in connection.execute(live):
            file = DataFile(loaded(path, warehouse), count, size, part_in(part, path))
            files_by_key.setdefault(key, []).append((row_id, file))
    return files_by_key


def _conflict(table: Table) -> ConflictError:
    return ConflictError(
        f"another transaction replaced files of '{table.name}' after COMPACT read them",
        object=table.name,
        hint="Run the statement again.",
    )
