"""One commit: checks, rows, timelines, freshness and the log, inside one short write transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

import sqlalchemy as sa

from rewriter.catalog.clusters.definitions import changed_properties
from rewriter.catalog.commit import exposures, external_file_changes, location_claims, reserved_properties
from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.copy_changes import CopyChanges
from rewriter.catalog.commit.move_changes import MoveChanges
from rewriter.catalog.commit.object_changes import ObjectChanges
from rewriter.catalog.commit.partition_changes import PartitionChanges
from rewriter.catalog.commit.partition_commits import PartitionCommits, greatest
from rewriter.catalog.commit.partition_rows import StoredPartition, Version
from rewriter.catalog.commit.stored_timelines import end_rows
from rewriter.catalog.commit.timeline_updates import FactTimelineUpdates
from rewriter.catalog.model.changes import (
    AcceptPartitions,
    AddCopies,
    AddPartitions,
    AlterColumns,
    AlterCube,
    AlterDatabase,
    AlterPartitions,
    AlterStorages,
    AlterTable,
    Change,
    CommitBatch,
    CommitPartitions,
    CompactPartitions,
    Counted,
    CreateObject,
    DropCopies,
    DropObject,
    DropPartitions,
    MovePartitions,
    NoteFiles,
    NoteStatistics,
    RefreshTimelines,
    RejectPartitions,
    RenameObject,
    SetCatalogProperty,
    SetClusters,
    SetLateness,
    SetRefreshOnCommit,
    SetRetention,
    SetTrusted,
    TruncatePartitions,
    WritePartitions,
    is_committed,
)
from rewriter.catalog.model.objects import PROPERTIES_KEY, CatalogProperties, DataFile, Table
from rewriter.catalog.model.stored_paths import loaded_path
from rewriter.catalog.model.stored_rows import part_in, properties_in
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.queries import chunks, has_batch, last_batch, progress_of
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.database import next_number
from rewriter.errors import ConflictError, InternalError
from rewriter.uris import has_credentials

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext


def apply(context: CommitContext, changes: Sequence[Change], *, is_rehearsal: bool = False) -> None:
    """Makes all changes, in order, and writes the log. If it raises, the caller rolls everything back.

    A commit makes the directories of exposed tables (``exposures``); a rehearsal does not.
    """
    timeline_updates = FactTimelineUpdates(context)
    commits = PartitionCommits(context, timeline_updates)
    objects, partitions, moves = (
        ObjectChanges(context, timeline_updates),
        PartitionChanges(context, timeline_updates, commits),
        MoveChanges(context, timeline_updates),
    )
    copies = CopyChanges(context, objects)
    partitions.check_conflicts(changes)
    for change in changes:
        reserved_properties.check_credentials(change)
        if isinstance(change, CreateObject):
            objects.create(change.object)
        elif isinstance(change, DropObject):
            objects.drop(change.object)
        elif isinstance(change, RenameObject):
            objects.rename(change)
        elif isinstance(change, SetCatalogProperty):
            set_property(context, objects, change)
        elif isinstance(change, AlterDatabase):
            objects.alter_database(change.database)
        elif isinstance(change, AlterTable):
            objects.alter(change)
        elif isinstance(change, AlterColumns):
            objects.alter_columns(change)
        elif isinstance(change, AlterCube):
            objects.alter_cube(change)
        elif isinstance(change, SetRefreshOnCommit):
            objects.set_refresh_on_commit(change)
        elif isinstance(change, SetRetention):
            objects.set_retention(change)
        elif isinstance(change, SetLateness):
            objects.set_lateness(change)
        elif isinstance(change, SetTrusted):
            objects.set_trusted(change)
        elif isinstance(change, AcceptPartitions):
            moves.accept(change)
        elif isinstance(change, RejectPartitions):
            moves.reject(change)
        elif isinstance(change, AlterStorages):
            objects.alter_storages(change)
        elif isinstance(change, RefreshTimelines):
            objects.refresh_timelines(change.fact)
        elif isinstance(change, WritePartitions):
            partitions.write(change)
        elif isinstance(change, AddPartitions):
            partitions.add(change)
        elif isinstance(change, MovePartitions):
            moves.move(change)
        elif isinstance(change, TruncatePartitions):
            moves.truncate(change)
        elif isinstance(change, AlterPartitions):
            moves.alter(change)
        elif isinstance(change, NoteStatistics):
            _note_statistics(context, change)
        elif isinstance(change, NoteFiles):
            external_file_changes.note(context, timeline_updates, change)
        elif isinstance(change, CompactPartitions):
            compact(context, change)
        elif isinstance(change, CommitBatch):
            note(context, change, commits)
        elif isinstance(change, CommitPartitions):
            commits.commit(change)
        elif isinstance(change, AddCopies):
            copies.add(change)
        elif isinstance(change, DropCopies):
            copies.drop(change)
        elif isinstance(change, SetClusters):
            copies.set_clusters(change)
        elif isinstance(change, DropPartitions):
            partitions.drop(change)
        else:
            assert_never(change)
        copies.follow(change)
    location_claims.check(context, changes)
    timeline_updates.finish()
    made = exposures.expose(context, changes, is_rehearsal=is_rehearsal)
    try:
        context.write_log()
    except BaseException:
        exposures.discard(context, made)
        raise


# The note of a batch as part of a commit: it makes the commit of the batch the only one.


def note(context: CommitContext, change: CommitBatch, commits: PartitionCommits) -> None:
    """Notes a batch, and commits the partitions that are due. Raises the errors of ``CommitBatch``. At most five
    statements if no partition is open.
    """
    table, batch, connection = context.live_table(change.table), change.batch, context.connection
    if batch.stream:
        is_repeated = is_committed(batch, last_batch(connection, table.id, batch.stream))
    else:
        is_repeated = has_batch(connection, table.id, batch.id)
    if is_repeated:
        raise ConflictError(
            f"The batch {batch.id} was committed to {table.name} in the meantime.",
            condition="BATCH_COMMITTED",
            object=table.name,
            hint="Its rows are in the table once.",
        )
    row = schema.batches
    values = {
        "table_id": table.id, "stream": batch.stream, "checkpoint": batch.checkpoint, "batch": batch.id,
        "commit_seq": context.sequence,
    }  # fmt: skip
    if batch.stream:
        before = progress_of(connection, table.id, batch.stream)
        values["watermark"] = greatest(before.watermark, commits.watermark(table, batch.stream))
        values["late"] = before.late + commits.late(table, batch.stream)
        connection.execute(sa.delete(row).where(row.c.table_id == table.id, row.c.stream == batch.stream))
    connection.execute(row.insert(), values)
    if batch.stream:
        commits.commit_due(table)


# COMPACT as part of a commit: other files with the same rows.
#
# The content and the proofs stay as they were: the new row of a partition keeps the number of the commit that wrote
# its content, as the row of ANALYZE does. So no rollup becomes outdated, and a concurrent write of the partition does
# not conflict.

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
            file = DataFile(loaded_path(path, warehouse), count, size, part_in(part, path))
            files_by_key.setdefault(key, []).append((row_id, file))
    return files_by_key


def _conflict(table: Table) -> ConflictError:
    return ConflictError(
        f"another transaction replaced files of '{table.name}' after COMPACT read them",
        object=table.name,
        hint="Run the statement again.",
    )


# The catalog's properties as part of a commit. They are one object, of which a commit makes a new version.


def set_property(context: CommitContext, objects: ObjectChanges, change: SetCatalogProperty) -> None:
    """Sets a property, or removes it. A change that another commit has made since the transaction began is a conflict:
    the properties are checked together. The last property ends the object.
    """
    versions = queries.objects(context.connection, context.sequence, name=PROPERTIES_KEY)
    live, made_by = versions[0] if versions else (None, 0)
    seen = context.snapshot.properties()
    if context.snapshot.sequence < made_by < context.sequence or (live is None and seen):
        raise ConflictError(
            "another transaction has changed the properties of the catalog",
            object=change.name,
            hint="Run the statement again.",
        )
    before = dict(live.properties) if isinstance(live, CatalogProperties) else {}
    after = changed_properties(before, change.name, change.value)
    if has_credentials(change.value or ""):
        raise reserved_properties.credentials_refused(change.name)
    if after == before:
        return
    if live is None:
        objects.create(CatalogProperties(next_number(context.connection, "object"), after))
    elif after:
        objects.alter_properties(CatalogProperties(live.id, after))
    else:
        objects.drop(live)


# ANALYZE as part of a commit: the statistics of partitions change; their content and proofs do not.


def _note_statistics(context: CommitContext, change: NoteStatistics) -> None:
    """Makes new versions of the partitions whose content is still the counted one.

    Each keeps the number of the commit that wrote its content, and its proof. For facts, and for writers that do not
    see this commit, nothing changes.
    """
    table = context.live_table(change.table)
    counted_by_key = {partition.key: partition for partition in change.partitions}
    row = schema.partitions
    updated_count = 0
    for keys in chunks(list(counted_by_key)):
        query = sa.select(row).where(row.c.key.in_(keys), row.c.ended == schema.NEVER)
        versions = [dict(version) for version in context.connection.execute(query).mappings()]
        unchanged = [version for version in versions if version["commit_seq"] == counted_by_key[version["key"]].commit]
        if unchanged:
            made = context.write_id(table.id)
            end_rows(context.connection, row, [version["row_id"] for version in unchanged], made)
            context.connection.execute(
                row.insert(), [_version(version, counted_by_key[version["key"]], made) for version in unchanged]
            )
            updated_count += len(unchanged)
    context.log("ANALYZE", table, partitions=updated_count)


def _version(before: Mapping[str, Any], counted: Counted, made: int) -> dict[str, Any]:
    properties = {**properties_in(before["properties"], before["key"]), **counted.properties}
    columns = {name: value for name, value in before.items() if name != "row_id"}
    return {
        **columns,
        "rows": before["rows"] if counted.rows is None else counted.rows,
        "properties": json.dumps(properties, ensure_ascii=False) if properties else None,
        "made": made,
        "ended": schema.NEVER,
    }
