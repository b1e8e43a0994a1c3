"""COMPACT as part of a commit: other files with the same rows.

Content and all that is known of it stay as they were: a partition's new row keeps the number of the commit that wrote
its content, as that of ANALYZE does. So no rollup is outdated, and who writes the partition meanwhile meets nobody.
"""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from rewriter.catalog import partition_rows as rows
from rewriter.catalog import schema
from rewriter.catalog.changes import CompactPartitions
from rewriter.catalog.context import CommitContext
from rewriter.catalog.models import DataFile, Table
from rewriter.catalog.partition_rows import LivePartition, StoredPartition, Version
from rewriter.catalog.reads import chunks
from rewriter.catalog.timelines import end_rows
from rewriter.errors import ConflictError, InternalError

#: A live file and its row.
_LiveFile = tuple[int, DataFile]


def compact(context: CommitContext, change: CompactPartitions) -> None:
    """Ends the files that were read and adds those that were written of them; what an INTO added meanwhile stays.

    Raises ``ConflictError`` where one of the files that were read is gone from its partition, or the table's columns
    were altered.
    """
    table, connection = context.live_table(change.table), context.connection
    live = context.live(table)
    context.check_columns(table if live is None else replace(table, name=live.name))
    if context.write_id(table.id) != change.write_id:
        raise InternalError(f"the write id {change.write_id} of '{table.name}' is not the transaction's")
    keys = [one.key for one in change.partitions]
    stored, files = rows.stored_by_key(connection, keys), _live_files(connection, keys)
    renewed: list[StoredPartition] = []
    ended: list[int] = []
    for one in change.partitions:
        there = {file.path: row_id for row_id, file in files.get(one.key, ())}
        if one.key not in stored or not there.keys() >= set(one.replaced):
            raise _came_between(table)
        ended += [there[path] for path in one.replaced]
        kept = [file for _, file in files[one.key] if file.path not in one.replaced]
        renewed.append(replace(stored[one.key], live=_counted(stored[one.key].live, [*kept, *one.files])))
    end_rows(connection, schema.files, ended, change.write_id)
    rows.end_partitions(connection, [one.live for one in stored.values()], change.write_id)
    rows.insert_stored(connection, table, renewed, change.write_id)
    version = Version(change.write_id, context.sequence)
    rows.insert_files(connection, {one.key: one.files for one in change.partitions}, version, base=True)
    context.log("COMPACT", table, partitions=len(renewed))


def _counted(live: LivePartition, files: list[DataFile]) -> LivePartition:
    counts = [file.rows for file in files]
    known = live.rows if None in counts else sum(count or 0 for count in counts)
    return live._replace(rows=known, bytes=sum(file.bytes for file in files), files=len(files))


def _live_files(connection: sa.Connection, keys: list[bytes]) -> dict[bytes, list[_LiveFile]]:
    row = schema.files.c
    found: dict[bytes, list[_LiveFile]] = {}
    for some in chunks(keys):
        query = sa.select(row.key, row.row_id, row.path, row.rows, row.bytes)
        for key, row_id, *file in connection.execute(query.where(row.key.in_(some), row.ended == schema.NEVER)):
            found.setdefault(key, []).append((row_id, DataFile(*file)))
    return found


def _came_between(table: Table) -> ConflictError:
    return ConflictError(
        f"another transaction has replaced files of '{table.name}' since they were read to be compacted",
        object=table.name,
        hint="run the statement again",
    )
