"""INSERT, ADD PARTITION and DROP PARTITION, as part of a commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence

import sqlalchemy as sa

from rewriter.catalog import conflicts, keys
from rewriter.catalog import partition_rows as rows
from rewriter.catalog.binding import Slot, declared_period
from rewriter.catalog.changes import AddPartitions, Change, DropPartitions, PartitionWrite, WritePartitions
from rewriter.catalog.conflicts import Claims
from rewriter.catalog.context import CommitContext
from rewriter.catalog.factwork import FactWorks
from rewriter.catalog.freshness import REGISTERED, UNKNOWN, Sources
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Column, DataFile, PartitionValues, Table
from rewriter.catalog.move_changes import moved_ranges
from rewriter.catalog.partition_paths import is_discovered, not_registered
from rewriter.catalog.partition_rows import LivePartition, Version
from rewriter.catalog.values import check_path, partition_name, require_canonical
from rewriter.errors import AnalysisError, ConflictError, IntegrityError, InternalError


class PartitionChanges:
    """Applies ``WritePartitions``, ``AddPartitions`` and ``DropPartitions``."""

    def __init__(self, context: CommitContext, works: FactWorks) -> None:
        self._context = context
        self._works = works
        #: By identity of the change: its partitions by key.
        self._named: dict[int, dict[bytes, PartitionWrite]] = {}

    def check_conflicts(self, changes: Sequence[Change]) -> None:
        """Claims the keys of all changes; ``ConflictError`` where a commit that the transaction did not see wrote them.

        Raises ``DataError`` for values that are not canonical.
        """
        by_table: dict[int, tuple[Table, Claims]] = {}
        for change in changes:
            if isinstance(change, WritePartitions | AddPartitions | DropPartitions):
                if is_discovered(change.table):
                    raise not_registered(change.table)
                self._claim(change, by_table.setdefault(change.table.id, (change.table, Claims()))[1])
            for table, ranges in moved_ranges(change):
                by_table.setdefault(table.id, (table, Claims()))[1].ranges += ranges
        for table, claims in by_table.values():
            seen, own = self._context.snapshot.sequence, self._context.sequence
            conflicts.check(self._context.connection, table, claims, seen, own)
            conflicts.record(self._context.connection, table, claims, own)

    def write(self, change: WritePartitions) -> None:
        """The partitions as an INSERT leaves them, and the end of those that it wipes."""
        sources, _ = self._read_by(change)
        table, version = self._table(change.table), self._version(change.table, sources)
        self._context.check_columns(table)
        if version.made != change.write_id:
            raise InternalError(f"the write id {change.write_id} of '{table.name}' is not the transaction's")
        if change.wipes and not change.overwrite:
            raise InternalError("only an OVERWRITE may wipe")
        written = self._named[id(change)]
        live = rows.live_by_key(self._context.connection, list(written))
        if change.if_not_exists and live:
            raise ConflictError(
                f"partition {_name(table, next(iter(live.values())))} of '{table.name}' exists by now",
                object=table.name,
            )
        if not change.overwrite:
            # Adding nothing to what has content changes nothing.
            written = {k: w for k, w in written.items() if w.files or k not in live or not live[k].files}
            live = {k: partition for k, partition in live.items() if k in written}
        connection = self._context.connection
        wiped = self._in_wipes(change, written, rows.live_in_range)
        rows.end_partitions(connection, [*live.values(), *wiped], version.made)
        if change.overwrite:
            rows.end_files(connection, [k for k, partition in live.items() if partition.files], version.made)
            rows.end_files(connection, [partition.key for partition in wiped], version.made)
        # Of a period of several partitions, one that was dropped is nothing from now on, too.
        work = self._works.of(table)
        parted = work is not None and work.binding(table).parted
        gone = [*wiped, *(self._in_wipes(change, written, rows.dropped_in_range) if parted else ())]
        rows.insert_tombstones(connection, table, gone, version)
        self._insert(change, written, live, version)
        self._note_wiped(table, gone)
        self._context.log(
            "INSERT_OVERWRITE" if change.overwrite else "INSERT", table, partitions=len(written), wiped=len(wiped)
        )

    def add(self, change: AddPartitions) -> None:
        """Registers partitions; ``IntegrityError`` PARTITIONS_ALREADY_EXIST where one is there."""
        table, version = self._table(change.table), self._version(change.table)
        if any(partition.files for partition in change.partitions):
            raise InternalError("ADD PARTITION registers partitions without files")
        added = self._named[id(change)]
        live = rows.live_by_key(self._context.connection, list(added))
        if live and not change.if_not_exists:
            names = ", ".join(sorted(_name(table, partition) for partition in live.values()))
            raise IntegrityError(
                f"cannot add partition(s) {names} of '{table.name}' because they already exist",
                condition="PARTITIONS_ALREADY_EXIST",
                sqlstate="428FT",
                object=table.name,
                hint="add IF NOT EXISTS, or drop the existing partition first",
            )
        added = {key: partition for key, partition in added.items() if key not in live}
        slots = self._locate(table, added)
        work = self._works.of(table)
        # A base partition that comes back empty is news for the rollups that knew its content; a new one is none.
        before = rows.known_before(self._context.connection, list(added)) if work is not None else set()
        as_of = {
            key: self._context.snapshot.sequence
            if work is not None and key in before and work.is_base(table, slots[key])
            else REGISTERED
            for key in added
        }
        new = [(_new(key, partition, ()), as_of[key]) for key, partition in added.items()]
        rows.insert_partitions(self._context.connection, table, new, version)
        if work is not None:
            for key, partition in added.items():
                work.wrote(table, partition.values, slots[key], as_of[key])
        self._context.log("ADD_PARTITION", table, partitions=len(added))

    def drop(self, change: DropPartitions) -> None:
        """Ends partitions and their files; ``AnalysisError`` PARTITIONS_NOT_FOUND where one is not there."""
        table, version = self._table(change.table), self._version(change.table)
        wanted = sorted(set(change.keys))
        live = rows.live_by_key(self._context.connection, wanted)
        if len(live) < len(wanted):
            raise AnalysisError(
                f"{len(wanted) - len(live)} of {len(wanted)} partitions cannot be found in table '{table.name}'",
                condition="PARTITIONS_NOT_FOUND",
                sqlstate="428FT",
                object=table.name,
                hint="SHOW PARTITIONS lists what exists; IF EXISTS drops only that",
            )
        if not all(key in KeyRange.of_prefix(keys.prefix(table.id)) for key in wanted):
            raise InternalError(f"a key is none of table '{table.name}'")
        rows.end_partitions(self._context.connection, list(live.values()), version.made)
        rows.end_files(self._context.connection, wanted, version.made)
        work = self._works.of(table)
        if work is not None:
            for partition in live.values():
                work.dropped(table, partition.values)
        self._context.log("DROP_PARTITION", table, partitions=len(live))

    def _claim(self, change: WritePartitions | AddPartitions | DropPartitions, claims: Claims) -> None:
        if isinstance(change, DropPartitions):
            claims.ranges += keys.merged([*change.ranges, *map(KeyRange.of_key, change.keys)])
            return
        repeated = isinstance(change, AddPartitions)
        named = self._named[id(change)] = _by_key(change.table, change.partitions, repeated=repeated)
        if isinstance(change, AddPartitions):
            claims.rows += named
            return
        (claims.rows if change.overwrite else claims.shared).extend(named)
        claims.ranges += change.wipes

    def _table(self, table: Table) -> Table:
        return self._context.live_table(table)

    def _version(self, table: Table, sources: Sources | None = None) -> Version:
        read = self._context.sources if sources is None else sources
        return Version(self._context.write_id(table.id), self._context.sequence, sorted(read))

    def _read_by(self, change: WritePartitions) -> tuple[Sources, Collection[int]]:
        """What the query of a write has read, and the tables of which it proves nothing."""
        if change.sources is None:
            return self._context.sources, change.unproven or self._context.unproven
        return change.sources, change.unproven

    def _in_wipes(
        self,
        change: WritePartitions,
        written: dict[bytes, PartitionWrite],
        read: Callable[[sa.Connection, KeyRange], list[LivePartition]],
    ) -> list[LivePartition]:
        """What ``read`` finds in the ranges that a write wipes, but for what it writes."""
        own = KeyRange.of_prefix(keys.prefix(change.table.id))
        found: dict[bytes, LivePartition] = {}
        for wipe in change.wipes:
            found |= {partition.key: partition for partition in read(self._context.connection, wipe & own)}
        return [partition for key, partition in found.items() if key not in written]

    def _insert(
        self,
        change: WritePartitions,
        written: dict[bytes, PartitionWrite],
        live: dict[bytes, LivePartition],
        version: Version,
    ) -> None:
        table, work, slots = change.table, self._works.of(change.table), self._locate(change.table, written)
        sources, unproven = self._read_by(change)
        new: list[tuple[LivePartition, int]] = []
        for key, partition in written.items():
            files = () if table.external else partition.files
            before = live.get(key)
            appended = before is not None and before.files > 0 and not change.overwrite
            if appended:
                as_of = UNKNOWN
            else:
                as_of = (
                    work.as_of(table, partition.values, slots[key], sources, unproven)
                    if work is not None
                    # A later fact may have the table, and judges it by what its rows say.
                    else UNKNOWN
                    if table.id in unproven
                    else self._context.snapshot.sequence
                )
            new.append((_new(key, partition, files, before, keep_statistics=appended), as_of))
            if work is not None:
                work.wrote(table, partition.values, slots[key], as_of)
        rows.insert_partitions(self._context.connection, table, new, version)
        if not table.external:
            added = {key: partition.files for key, partition in written.items()}
            rows.insert_files(self._context.connection, added, version, base=change.overwrite)

    def _locate(self, table: Table, written: dict[bytes, PartitionWrite]) -> dict[bytes, Slot | None]:
        """Where the partitions stand in time; ``DataError`` where one fits no layout. Empty outside facts."""
        work = self._works.of(table)
        if work is None:
            return {}
        binding = work.binding(table)
        slots = {key: binding.locate(partition.values) for key, partition in written.items()}
        for key, partition in written.items():
            binding.check_period(partition.values, partition.properties, slots[key])
        return slots

    def _note_wiped(self, table: Table, wiped: Sequence[LivePartition]) -> None:
        work = self._works.of(table)
        if work is not None:
            for partition in wiped:
                work.wiped(table, partition.values)


def _by_key(
    table: Table, partitions: Sequence[PartitionWrite], *, repeated: bool = False
) -> dict[bytes, PartitionWrite]:
    """The partitions by key. Values must be canonical; a repetition is a bug of the caller unless it may occur."""
    found: dict[bytes, PartitionWrite] = {}
    key_of = _encoder(table)
    for partition in partitions:
        declared_period(partition.properties)  # raises where it is none
        key = key_of(partition.values)
        if key in found and not repeated:
            name = partition_name(table.partition_columns, partition.values)
            raise InternalError(f"one write names the partition {name} twice")
        found.setdefault(key, partition)
    return found


def _encoder(table: Table) -> Callable[[PartitionValues], bytes]:
    """Makes keys of values, which must be canonical; each value of a column is checked and encoded once."""
    columns, prefix = table.partition_columns, keys.prefix(table.id)
    known: list[tuple[Column, dict[str | None, bytes]]] = [(column, {}) for column in columns]

    def encoded(values: PartitionValues) -> bytes:
        if len(values) != len(columns):
            require_canonical(columns, values)
        key = prefix
        for (column, fields), value in zip(known, values, strict=True):
            field = fields.get(value)
            if field is None:
                require_canonical((column,), (value,))
                check_path(column, value)
                field = fields[value] = keys.encode_value(column.type, value)
            key += field
        return key

    return encoded


def _new(
    key: bytes,
    partition: PartitionWrite,
    files: Sequence[DataFile],
    before: LivePartition | None = None,
    *,
    keep_statistics: bool = False,
) -> LivePartition:
    """The partition with its added files: on top of what it had, or in place of it."""
    if not files and before is None and not partition.properties:
        return LivePartition(key, partition.values, partition.location, 0, 0, 0)
    counts = [file.rows for file in files]
    size, number = sum(file.bytes for file in files), len(files)
    if before is not None and keep_statistics:
        counts.append(before.rows)
        size, number = size + before.bytes, number + before.files
    known = None if any(count is None for count in counts) else sum(count or 0 for count in counts)
    location = partition.location if before is None or partition.location is not None else before.location
    properties = before.properties if before is not None else None
    if partition.properties:
        properties = json.dumps({**json.loads(properties or "{}"), **partition.properties}, ensure_ascii=False)
    return LivePartition(key, partition.values, location, known, size, number, properties=properties)


def _name(table: Table, partition: LivePartition) -> str:
    return partition_name(table.partition_columns, partition.values)
