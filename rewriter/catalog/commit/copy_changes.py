"""Copies of partitions on secondary clusters, as part of a commit (seed 004).

A secondary cluster has a partition whole, with the content that it has now, or not at all. So each change of a
partition's content takes its key out of the copies, in the same commit. COMPACT makes other files of the same rows, and
leaves the copies as they are. RENAME and EXCHANGE take the copies along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, assert_never

import sqlalchemy as sa

from rewriter.catalog.commit import conflicts
from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.conflicts import Claims
from rewriter.catalog.commit.partition_rows import Version
from rewriter.catalog.commit.stored_timelines import end_rows
from rewriter.catalog.keys.encoding import partition_key, prefix
from rewriter.catalog.model.changes import (
    AddCopies,
    AddPartitions,
    AlterPartitions,
    Change,
    CopiedPartition,
    DefinitionChange,
    DropCopies,
    DropPartitions,
    MovePartitions,
    NoteFiles,
    PartitionNote,
    SetClusters,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges, outside, without
from rewriter.catalog.model.objects import ClusterLocation, DataFile, Table
from rewriter.catalog.model.stored_paths import all_stored, loaded_path
from rewriter.catalog.model.stored_rows import part_in, stored_part
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.prepared_statements import insert_rows
from rewriter.errors import ConflictError, IntegrityError, InternalError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.object_changes import ObjectChanges

_INSERT_RANGE, _INSERT_FILE = schema.partition_copies.insert(), schema.copied_files.insert()


@dataclass(frozen=True)
class _Held:
    """A live row of ``partition_copies``."""

    row_id: int
    cluster: str
    keys: KeyRange


class CopyChanges:
    """Applies ``AddCopies``, ``DropCopies`` and ``SetClusters``, and what other changes do to copies."""

    def __init__(self, context: CommitContext, objects: ObjectChanges) -> None:
        self._context = context
        self._objects = objects
        #: By table: the live ranges. A table without copies costs one indexed read.
        self._held: dict[int, list[_Held]] = {}

    def follow(self, change: Change) -> None:
        """Keeps the copies true to a change that was applied."""
        if isinstance(change, MovePartitions):
            self._move(change)
            return
        table, ranges = _changed_content(change)
        if table is not None and ranges and self._ranges(table.id):
            self._give_up(table, merge_ranges(ranges))

    def add(self, change: AddCopies) -> None:
        """Registers copies. Partitions that were changed since they were copied are noted as stale instead."""
        table = self._context.live_table(change.table)
        live = self._context.live(table)
        cluster = change.cluster.lower()
        if table.external:
            raise InternalError(f"the files of the external table '{table.name}' have no copies")
        if live is None or live.copy_on(cluster) is None:
            raise ConflictError(
                f"another transaction has dropped the cluster {change.cluster} of '{table.name}'", object=table.name
            )
        if self._context.write_id(table.id) != change.write_id:
            raise InternalError(f"the write id {change.write_id} of '{table.name}' is not the transaction's")
        copied = self._find_usable(table, change)
        self._context.stale_copies += [part.key for part in change.partitions if part.key not in copied]
        if not copied:
            return
        self._end_files(cluster, [KeyRange.of_key(key) for key in copied], change.write_id)
        version = Version(change.write_id, self._context.sequence)
        self._insert_files(cluster, {key: partition.files for key, partition in copied.items()}, version)
        self._extend_ranges(table, cluster, copied, version)
        self._context.log("ADD_COPIES", table, partitions=len(copied), cluster=change.cluster)

    def drop(self, change: DropCopies) -> None:
        """Gives up copies. Missing ones are no error."""
        table = self._context.live_table(change.table)
        keys = [KeyRange.of_prefix(prefix(table.id))] if change.keys is None else map(KeyRange.of_key, change.keys)
        self._give_up(table, merge_ranges(keys), change.cluster.lower())
        self._context.log("DROP_COPIES", table, cluster=change.cluster)

    def set_clusters(self, change: SetClusters) -> None:
        """Sets the descriptors of a table. Raises ``IntegrityError`` CLUSTER_INCOMPLETE if the new primary cluster
        lacks a partition.
        """
        table = self._context.live_table(change.table)
        live = self._context.live(table)
        if live is None or (live.cluster, live.copies, live.location) != (table.cluster, table.copies, table.location):
            raise ConflictError(f"another transaction has altered the clusters of '{table.name}'", object=table.name)
        altered = replace(live, copies=change.copies, cluster=live.cluster or change.cluster)
        if change.primary is not None:
            altered = self._with_primary(live, change)
        remaining = {copy.cluster.lower() for copy in change.copies}
        for cluster in {copy.cluster.lower() for copy in live.copies} - remaining:
            self._give_up(live, (KeyRange.of_prefix(prefix(live.id)),), cluster)
        self._objects.renew(altered)
        self._context.log("ALTER_TABLE", altered)

    def _with_primary(self, table: Table, change: SetClusters) -> Table:
        """Exchanges the files of a table and the copies of its new primary cluster."""
        connection, whole = self._context.connection, KeyRange.of_prefix(prefix(table.id))
        primary, previous = str(change.primary).lower(), str(change.previous).lower()
        claims = Claims(ranges=[whole])
        conflicts.check(connection, table, claims, self._context.snapshot.sequence, self._context.sequence)
        conflicts.record(connection, table, claims, self._context.sequence)
        (location,) = [copy.location for copy in table.copies if copy.cluster.lower() == primary]
        held = merge_ranges([held.keys for held in self._ranges(table.id) if held.cluster == primary])
        live = rows.live_in_range(connection, whole)
        absent = outside([partition.key for partition in live], held)
        if absent:
            raise IntegrityError(
                f"{change.primary} lacks {len(absent)} of {len(live)} partitions of '{table.name}'",
                condition="CLUSTER_INCOMPLETE",
                object=change.primary,
                hint=f"Run REPLICATE TABLE {table.name} TO CLUSTER {change.primary} first.",
            )
        version = Version(self._context.write_id(table.id), self._context.sequence)
        keys = [partition.key for partition in live]
        by_origin, copied = rows.live_files(connection, keys), self._copied(primary, keys)
        originals = {key: [file for files in by_origin.values() for file in files.get(key, ())] for key in keys}
        rows.end_files(connection, keys, version.made)
        self._give_up(table, (whole,), primary)
        self._give_up(table, (whole,), previous)
        rows.insert_files(connection, copied, version, base=True)
        self._insert_files(previous, originals, version)
        stored = rows.stored_by_key(connection, keys)
        rows.end_partitions(connection, [partition.live for partition in stored.values()], version.made)
        counted = [replace(part, live=rows.with_files(part.live, copied.get(key, ()))) for key, part in stored.items()]
        rows.insert_stored(connection, table, counted, version.made)
        self._insert_ranges(table, previous, _runs(keys, (), keys), version)
        return replace(table, cluster=change.primary, location=location, copies=change.copies)

    def _move(self, change: MovePartitions) -> None:
        """Takes the copies of moved partitions to their new keys, on the clusters that the new table has, too."""
        if not self._ranges(change.source.id) and not self._ranges(change.target.id):
            return
        target_table = self._context.live(change.target)
        clusters = {copy.cluster.lower() for copy in (target_table.copies if target_table else ())}
        new_keys = {move.key: partition_key(change.target, move.values) for move in change.moves}
        moved: dict[str, dict[bytes, list[DataFile]]] = {}
        for cluster in clusters:
            ranges = [held.keys for held in self._ranges(change.source.id) if held.cluster == cluster]
            keys = [key for key in new_keys if any(key in key_range for key_range in ranges)]
            files = self._copied(cluster, keys)
            moved[cluster] = {new_keys[key]: files.get(key, []) for key in keys}
        self._give_up(change.source, merge_ranges(map(KeyRange.of_key, new_keys)))
        self._give_up(change.target, merge_ranges(map(KeyRange.of_key, new_keys.values())))
        version = Version(self._context.write_id(change.target.id), self._context.sequence)
        for cluster, by_key in moved.items():
            self._insert_files(cluster, by_key, version)
            self._insert_ranges(change.target, cluster, list(map(KeyRange.of_key, sorted(by_key))), version)

    def _given_up(self, paths: Collection[str]) -> set[str]:
        """Returns the given paths that an ended row has. Reads the paths of all ended rows of files."""
        warehouse = warehouse_of(self._context.connection)
        ended: set[str] = set()
        for files in (schema.files, schema.copied_files):
            query = sa.select(files.c.path).where(files.c.ended != schema.NEVER)
            ended.update(loaded_path(path, warehouse) for path in self._context.connection.execute(query).scalars())
        return ended & set(paths)

    def _unchanged(self, table: Table, partitions: Sequence[CopiedPartition]) -> Iterator[CopiedPartition]:
        """Yields the partitions that have the content and the files that were copied. Partitions of one packed file
        may have changed their names.
        """
        connection, keys = self._context.connection, [partition.key for partition in partitions]
        stored = rows.stored_by_key(connection, keys)
        by_origin = rows.live_files(connection, keys)
        for partition in partitions:
            paths = {file.path for files in by_origin.values() for file in files.get(partition.key, ())}
            live = stored.get(partition.key)
            if live is not None and live.commit_seq == partition.commit and paths == set(partition.originals):
                yield partition

    def _find_usable(self, table: Table, change: AddCopies) -> dict[bytes, CopiedPartition]:
        """Returns the unchanged partitions by key, without copies that were there before and were given up since."""
        copied = {partition.key: partition for partition in self._unchanged(table, change.partitions)}
        if not change.were_there:
            return copied
        given_up = self._given_up({file.path for partition in copied.values() for file in partition.files})
        return {k: p for k, p in copied.items() if not any(file.path in given_up for file in p.files)}

    def _ranges(self, table_id: int) -> list[_Held]:
        if table_id not in self._held:
            row = schema.partition_copies.c
            query = sa.select(row.row_id, row.cluster, row.start_key, row.end_key)
            live = self._context.connection.execute(query.where(row.table_id == table_id, row.ended == schema.NEVER))
            self._held[table_id] = [
                _Held(row_id, cluster, KeyRange(start, end)) for row_id, cluster, start, end in live
            ]
        return self._held[table_id]

    def _give_up(self, table: Table, given_up: Sequence[KeyRange], cluster: str | None = None) -> None:
        """Takes merged key ranges out of the copies on one cluster, or on all."""
        overlapping = [
            held
            for held in self._ranges(table.id)
            if cluster in (None, held.cluster) and any(held.keys.overlaps(keys) for keys in given_up)
        ]
        if not overlapping:
            return
        version = Version(self._context.write_id(table.id), self._context.sequence)
        self._end_ranges(table, overlapping, version.made)
        for held in overlapping:
            self._end_files(held.cluster, [keys & held.keys for keys in given_up], version.made)
            self._insert_ranges(table, held.cluster, without([held.keys], given_up), version)

    def _extend_ranges(self, table: Table, cluster: str, added: Iterable[bytes], version: Version) -> None:
        """Adds keys to the ranges that a cluster holds. Ranges that stay as they are keep their rows."""
        previous = [held for held in self._ranges(table.id) if held.cluster == cluster]
        runs = _runs(self._live_keys(table), merge_ranges([held.keys for held in previous]), added)
        unchanged = {held.keys for held in previous} & set(runs)
        self._end_ranges(table, [held for held in previous if held.keys not in unchanged], version.made)
        self._insert_ranges(table, cluster, [keys for keys in runs if keys not in unchanged], version)

    def _end_ranges(self, table: Table, ended: Sequence[_Held], write_id: int) -> None:
        row_ids = {held.row_id for held in ended}
        end_rows(self._context.connection, schema.partition_copies, sorted(row_ids), write_id)
        self._held[table.id] = [held for held in self._ranges(table.id) if held.row_id not in row_ids]

    def _insert_ranges(self, table: Table, cluster: str, ranges: Sequence[KeyRange], version: Version) -> None:
        columns = ("table_id", "cluster", "start_key", "end_key", "made", "ended", "commit_seq")
        common = (version.made, schema.NEVER, version.commit_seq)
        range_rows = [(table.id, cluster, keys.start, keys.end, *common) for keys in ranges]
        insert_rows(self._context.connection, _INSERT_RANGE, columns, range_rows)
        self._held.pop(table.id, None)  # The new rows have numbers that only the database knows.

    def _end_files(self, cluster: str, ranges: Iterable[KeyRange], write_id: int) -> None:
        row = schema.copied_files
        for keys in ranges:
            if keys.start < keys.end:
                in_range = (row.c.key >= keys.start, row.c.key < keys.end, row.c.ended == schema.NEVER)
                ended = sa.update(row).where(row.c.cluster == cluster, *in_range).values(ended=write_id)
                self._context.connection.execute(ended)

    def _insert_files(self, cluster: str, added: Mapping[bytes, Sequence[DataFile]], version: Version) -> None:
        keyed_files = [(key, file) for key, files in added.items() for file in files]
        paths = all_stored([file.path for _, file in keyed_files], warehouse_of(self._context.connection))
        common = (cluster, version.made, schema.NEVER, version.commit_seq)
        file_rows = [
            (key, path, file.rows, file.bytes, stored_part(file.part), *common)
            for (key, file), path in zip(keyed_files, paths, strict=True)
        ]
        columns = ("key", "path", "rows", "bytes", "part", "cluster", "made", "ended", "commit_seq")
        insert_rows(self._context.connection, _INSERT_FILE, columns, file_rows)

    def _copied(self, cluster: str, keys: Sequence[bytes]) -> dict[bytes, list[DataFile]]:
        """Returns the live copied files of these partitions, by key."""
        row, warehouse = schema.copied_files.c, warehouse_of(self._context.connection)
        by_key: dict[bytes, list[DataFile]] = {}
        for chunk in chunks(keys):
            query = sa.select(row.key, row.path, row.rows, row.bytes, row.part).order_by(row.row_id)
            live = query.where(row.key.in_(chunk), row.cluster == cluster, row.ended == schema.NEVER)
            for key, path, count, size, part in self._context.connection.execute(live):
                by_key.setdefault(key, []).append(
                    DataFile(loaded_path(path, warehouse), count, size, part_in(part, path))
                )
        return by_key

    def _live_keys(self, table: Table) -> list[bytes]:
        row, keys = schema.partitions.c, KeyRange.of_prefix(prefix(table.id))
        query = sa.select(row.key).where(row.key >= keys.start, row.key < keys.end, row.ended == schema.NEVER)
        return list(self._context.connection.execute(query.order_by(row.key)).scalars())


def _changed_content(change: Change) -> tuple[Table | None, Sequence[KeyRange]]:
    """Returns the table whose content a change alters, and the keys."""
    match change:
        case WritePartitions(table=table):
            keys = [partition_key(table, partition.values) for partition in change.partitions]
            return table, [*map(KeyRange.of_key, keys), *change.wipes]
        case AddPartitions(table=table):
            return table, [KeyRange.of_key(partition_key(table, partition.values)) for partition in change.partitions]
        case DropPartitions(table=table) | TruncatePartitions(table=table):
            return table, list(map(KeyRange.of_key, change.keys))
        case AlterPartitions(table=table):
            moved = [alteration.key for alteration in change.alterations if alteration.location is not None]
            return table, list(map(KeyRange.of_key, moved))
        case NoteFiles(table=table):
            changed = [part.key for part in change.partitions if part.before is None or part.before != part.after]
            return table, list(map(KeyRange.of_key, changed))
    if isinstance(change, DefinitionChange | PartitionNote | MovePartitions):
        return None, ()
    assert_never(change)


def _runs(live: Sequence[bytes], held: Sequence[KeyRange], added: Iterable[bytes]) -> list[KeyRange]:
    """Returns the maximal runs of neighbors among the live keys, in order, that a cluster holds or that are added."""
    absent = set(outside(live, held)) - set(added)
    runs: list[KeyRange] = []
    for is_absent, keys in groupby(live, absent.__contains__):
        if not is_absent:
            run_keys = list(keys)
            runs.append(KeyRange(run_keys[0], KeyRange.of_key(run_keys[-1]).end))
    return runs


def _without_cluster(copies: Sequence[ClusterLocation], cluster: str) -> tuple[ClusterLocation, ...]:
    """Returns the descriptors of the other clusters."""
    return tuple(copy for copy in copies if copy.cluster.lower() != cluster.lower())
