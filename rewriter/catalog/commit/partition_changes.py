"""INSERT, ADD PARTITION and DROP PARTITION, as part of a commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.commit import conflicts
from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.conflicts import Claims
from rewriter.catalog.commit.move_changes import moved_ranges
from rewriter.catalog.commit.partition_commits import PartitionCommits, committed_proof
from rewriter.catalog.commit.partition_rows import LivePartition, Version
from rewriter.catalog.commit.reserved_properties import is_immutable, not_empty
from rewriter.catalog.facts.time_binding import Slot, TimeBinding, declared_period
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.encoding import partition_key
from rewriter.catalog.keys.paths import is_discovered, not_registered
from rewriter.catalog.keys.values import check_added, check_path, partition_name, require_canonical
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterStorages,
    Change,
    CreateObject,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.objects import Column, Cube, DataFile, Fact, PartitionValues, Table
from rewriter.catalog.model.origins import Origins, copies_within, merged_origins, within_time
from rewriter.catalog.model.proofs import BEFORE_FACT, BY_ADD_PARTITION, OPEN_PROOF, REGISTERED, UNKNOWN, Proof
from rewriter.catalog.model.stored_rows import origins_in, properties_in
from rewriter.errors import ConflictError, IntegrityError, InternalError, partitions_not_found
from rewriter.lazy_dataclass import dataclass
from rewriter.terminal_text import counted

if TYPE_CHECKING:
    import sqlalchemy as sa

    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
    from rewriter.catalog.commit.freshness import Sources
    from rewriter.catalog.commit.timeline_updates import FactTimelineUpdates


@dataclass(frozen=True)
class _Effect:
    """The effect of an INSERT, by key: the partitions that it writes, the existing ones among them, their slots (empty
    outside facts), the partitions that are open after it, and the doubts of the partitions that it adds rows to.
    """

    written: Mapping[bytes, PartitionWrite]
    live: Mapping[bytes, LivePartition]
    slots: Mapping[bytes, Slot | None]
    open_keys: Collection[bytes]
    doubts: Mapping[bytes, str | None]


class PartitionChanges:
    """Applies ``WritePartitions``, ``AddPartitions`` and ``DropPartitions``."""

    def __init__(
        self, context: CommitContext, timeline_updates: FactTimelineUpdates, commits: PartitionCommits
    ) -> None:
        self._context = context
        self._timeline_updates = timeline_updates
        self._commits = commits
        #: By identity of the change: its partitions by key.
        self._named: dict[int, dict[bytes, PartitionWrite]] = {}

    def check_conflicts(self, changes: Sequence[Change]) -> None:
        """Claims the keys of all changes. Raises ``ConflictError`` if a commit not in the snapshot wrote one of them.

        Raises ``DataError`` for values that are not canonical.
        """
        by_table: dict[int, tuple[Table, Claims]] = {}
        for change in changes:
            if isinstance(change, WritePartitions | AddPartitions | DropPartitions):
                if is_discovered(change.table):
                    raise not_registered(change.table)
                self._claim(change, by_table.setdefault(change.table.id, (change.table, Claims()))[1])
            for table, ranges in (*moved_ranges(change), *self._joining(change)):
                by_table.setdefault(table.id, (table, Claims()))[1].ranges += ranges
        for table, claims in by_table.values():
            snapshot_sequence, commit = self._context.snapshot.sequence, self._context.sequence
            conflicts.check(self._context.connection, table, claims, snapshot_sequence, commit)
            conflicts.record(self._context.connection, table, claims, commit)

    def _joining(self, change: Change) -> Iterator[tuple[Table, Sequence[KeyRange]]]:
        """Yields all keys of each table that joins a fact with measures that are declared NOT NULL: its rows were
        examined in the snapshot, and statements that began before it joined do not examine theirs.
        """
        if isinstance(change, AlterStorages):
            fact, storages = change.fact, change.storages
        elif isinstance(change, CreateObject) and isinstance(change.object, Fact):
            fact, storages = replace(change.object, storages=()), change.object.storages
        else:
            return
        cube, carried = self._context.snapshot.named(fact.cube), fact.columns
        if not isinstance(cube, Cube) or not any(
            measure.not_null and (carried is None or measure.name in carried) for measure in cube.measures
        ):
            return
        for stored in (stored for storage in storages for stored in storage.tables):
            table = self._context.snapshot.named(stored.table)
            if isinstance(table, Table) and fact.storage_table(stored.table) is None:
                yield table, [KeyRange.of_prefix(encoding.prefix(table.id))]

    def write(self, change: WritePartitions) -> None:
        """Writes the partitions of an INSERT, and ends the partitions that it wipes."""
        sources, _ = self._read_by(change)
        table, version = self._table(change.table), self._version(change.table, sources)
        self._context.check_columns(table)
        if version.made != change.write_id:
            raise InternalError(f"the write id {change.write_id} of '{table.name}' is not the transaction's")
        if change.wipes and not change.overwrite:
            raise InternalError("only an OVERWRITE can wipe partitions")
        written = self._named[id(change)]
        live = rows.live_by_key(self._context.connection, list(written))
        if change.if_not_exists and live:
            raise ConflictError(
                f"partition {_name(table, next(iter(live.values())))} of '{table.name}' was created in the meantime",
                object=table.name,
            )
        if not change.overwrite:
            self._refuse_immutable(table, written, live)
            # Adding nothing to a partition with content changes nothing.
            written = {k: w for k, w in written.items() if w.files or k not in live or not live[k].files}
            live = {k: partition for k, partition in live.items() if k in written}
        connection = self._context.connection
        wiped = self._in_wipes(change, written, rows.live_in_range)
        doubts = {} if change.overwrite else self._doubts(table, live)
        slots = self._locate(table, written)
        effect = _Effect(written, live, slots, self._left_open(change, written, live, slots), doubts)
        rows.end_partitions(connection, [*live.values(), *wiped], version.made)
        if change.overwrite:
            _end_files(connection, live, wiped, version.made)
        # In a period of several partitions, a dropped one counts as wiped from now on, too.
        timeline_update = self._timeline_updates.of(table)
        parted = timeline_update is not None and timeline_update.binding(table).parted
        wiped_rows = [*wiped, *(self._in_wipes(change, written, rows.dropped_in_range) if parted else ())]
        rows.insert_tombstones(connection, table, wiped_rows, version)
        self._insert(change, effect, version)
        self._note_wiped(table, wiped_rows)
        self._context.log(
            "INSERT_OVERWRITE" if change.overwrite else "INSERT", table, partitions=len(written), wiped=len(wiped)
        )

    def _refuse_immutable(
        self, table: Table, written: Mapping[bytes, PartitionWrite], live: Mapping[bytes, LivePartition]
    ) -> None:
        filled = [key for key, partition in live.items() if partition.files and written[key].files]
        table_now = self._context.live(table) if filled else None
        if table_now is not None and is_immutable(table_now):
            raise not_empty(table_now, live[filled[0]].values)

    def add(self, change: AddPartitions) -> None:
        """Registers partitions. Raises ``IntegrityError`` PARTITIONS_ALREADY_EXIST if one exists, and the errors of
        ``check_added``.
        """
        table, version = self._table(change.table), self._version(change.table)
        check_added(table, change.partitions)
        if any(partition.files for partition in change.partitions):
            raise InternalError("ADD PARTITION cannot register partitions with files")
        added = self._named[id(change)]
        live = rows.live_by_key(self._context.connection, list(added))
        if live and not change.if_not_exists:
            names = ", ".join(sorted(_name(table, partition) for partition in live.values()))
            raise IntegrityError(
                f"cannot add partition(s) {names} of '{table.name}' because they already exist",
                condition="PARTITIONS_ALREADY_EXIST",
                sqlstate="428FT",
                object=table.name,
                hint="Add IF NOT EXISTS, or drop the existing partition first.",
            )
        added = {key: partition for key, partition in added.items() if key not in live}
        slots = self._locate(table, added)
        self._refuse_dropped(table, added, slots)
        timeline_update = self._timeline_updates.of(table)
        known_keys = rows.known_before(self._context.connection, list(added)) if timeline_update is not None else set()
        proofs = {
            key: self._added(
                timeline_update,
                table,
                slots.get(key),
                key in known_keys,
                _origins(change, partition.values, slots.get(key)),
            )
            for key, partition in added.items()
        }
        new_rows = [(_new(key, partition, ()), proofs[key]) for key, partition in added.items()]
        rows.insert_partitions(self._context.connection, table, new_rows, version)
        if timeline_update is not None:
            for key, partition in added.items():
                timeline_update.note_written(table, partition.values, slots[key], proofs[key])
        self._context.log("ADD_PARTITION", table, partitions=len(added))

    def _added(
        self,
        timeline_update: FactTimelineUpdate | None,
        table: Table,
        slot: Slot | None,
        existed: bool,
        origins: Origins,
    ) -> Proof:
        """Returns the proof of a registered partition. ``origins`` are what its INSERT rests on there.

        A base partition that comes back empty changes the content that earlier rollups included; a new one does not. A
        later fact judges by the row.
        """
        if timeline_update is not None and not timeline_update.is_base(table, slot):
            return Proof(REGISTERED, BY_ADD_PARTITION)
        doubt = BEFORE_FACT if timeline_update is None else None
        if table.external:
            return Proof(UNKNOWN, doubt)  # It comes with files.
        if timeline_update is None:
            return Proof(self._context.snapshot.sequence if existed else REGISTERED, doubt)
        return Proof(self._context.snapshot.sequence if existed else REGISTERED, origins=origins)

    def drop(self, change: DropPartitions) -> None:
        """Ends partitions and their files. Raises ``AnalysisError`` PARTITIONS_NOT_FOUND if one does not exist."""
        table, version = self._table(change.table), self._version(change.table)
        keys = sorted(set(change.keys))
        live = rows.live_by_key(self._context.connection, keys)
        if len(live) < len(keys):
            raise partitions_not_found(
                f"{len(keys) - len(live)} of {len(keys)} partitions",
                table.name,
                hint="DROP IF EXISTS ignores missing partitions.",
            )
        table_range = KeyRange.of_prefix(encoding.prefix(table.id))
        if keys and not (keys[0] in table_range and keys[-1] in table_range):
            raise InternalError(f"a key does not belong to the table '{table.name}'")
        rows.end_partitions(self._context.connection, list(live.values()), version.made)
        rows.end_files(self._context.connection, keys, version.made)
        # Covers never saw an open partition, but a rollup may include it: its drop is no retention.
        discarded = [partition for partition in live.values() if partition.is_open]
        discarded += [LivePartition(partition_key(table, values), values, None, 0, 0, 0) for values in change.passing]
        rows.insert_tombstones(self._context.connection, table, discarded, version)
        self._note_wiped(table, discarded)
        timeline_update = self._timeline_updates.of(table)
        if timeline_update is not None:
            for partition in live.values():
                if not partition.is_open:
                    timeline_update.note_dropped(table, partition.values)
        self._context.log("DROP_PARTITION", table, partitions=len(live))

    def _claim(self, change: WritePartitions | AddPartitions | DropPartitions, claims: Claims) -> None:
        if isinstance(change, DropPartitions):
            passing = [partition_key(change.table, values) for values in change.passing]
            claims.ranges += merge_ranges([*change.ranges, *map(KeyRange.of_key, (*change.keys, *passing))])
            return
        repeated = isinstance(change, AddPartitions)
        named = self._named[id(change)] = _by_key(change.table, change.partitions, repeated=repeated)
        if isinstance(change, AddPartitions):
            claims.rows += named
        elif isinstance(change, WritePartitions):
            (claims.rows if change.overwrite else claims.shared_keys).extend(named)
            claims.ranges += change.wipes
        else:
            assert_never(change)

    def _table(self, table: Table) -> Table:
        return self._context.live_table(table)

    def _version(self, table: Table, sources: Sources | None = None) -> Version:
        read = self._context.sources if sources is None else sources
        return Version(self._context.write_id(table.id), self._context.sequence, sorted(read))

    def _read_by(self, change: WritePartitions) -> tuple[Sources, Collection[int]]:
        """Returns the sources that the query of a write has read, and the tables that leave its result unproven."""
        if change.sources is None:
            return self._context.sources, change.unproven or self._context.unproven
        return change.sources, change.unproven

    def _in_wipes(
        self,
        change: WritePartitions,
        written: dict[bytes, PartitionWrite],
        read: Callable[[sa.Connection, KeyRange], list[LivePartition]],
    ) -> list[LivePartition]:
        """Returns the partitions that ``read`` finds in the wiped ranges of a write, except the partitions that it
        writes.
        """
        table_range = KeyRange.of_prefix(encoding.prefix(change.table.id))
        in_wipes: dict[bytes, LivePartition] = {}
        for wipe in change.wipes:
            in_wipes |= {partition.key: partition for partition in read(self._context.connection, wipe & table_range)}
        return [partition for key, partition in in_wipes.items() if key not in written]

    def _left_open(
        self,
        change: WritePartitions,
        written: Mapping[bytes, PartitionWrite],
        live: Mapping[bytes, LivePartition],
        slots: Mapping[bytes, Slot | None],
    ) -> Collection[bytes]:
        """Returns the written partitions that are open after the write: the ones that were open, unless a stream's
        batch commits them, and the ones that the batch opens.
        """
        was_open = {key for key, previous in live.items() if previous.is_open and not written[key].is_new}
        if change.batch is None:
            return was_open
        late = (live.keys() - was_open) | self._late_keys(change.table, written.keys() - live.keys(), slots)
        return self._commits.left_open(change.table, change.batch, slots, written.keys() - late, late)

    def _insert(self, change: WritePartitions, effect: _Effect, version: Version) -> None:
        table, timeline_update = change.table, self._timeline_updates.of(change.table)
        written, slots = effect.written, effect.slots
        self._refuse_late_events(change, effect)
        sources, unproven = self._read_by(change)
        # The table may join a fact later, which then judges the partition by its row.
        outside_facts = Proof(self._context.snapshot.sequence, BEFORE_FACT)
        new_rows: list[tuple[LivePartition, Proof]] = []
        for key, partition in written.items():
            files = () if table.external else partition.files
            previous = effect.live.get(key)
            appended = previous is not None and previous.files > 0 and not change.overwrite
            if key in effect.open_keys:
                proof = OPEN_PROOF
            elif previous is not None and previous.is_open:
                proof = committed_proof(timeline_update, table, slots.get(key))
            elif appended:
                # Rows added to an unproven partition make it neither proven nor outdated.
                earlier = origins_in(previous.origins, key) if previous is not None else ()
                origins = merged_origins((*earlier, *_origins(change, partition.values, slots.get(key))))
                proof = Proof(UNKNOWN, effect.doubts.get(key), origins)
            elif timeline_update is not None and partition.values in change.proofs:
                proof = timeline_update.net_proof(table, partition.values, slots[key], change.proofs[partition.values])
            elif timeline_update is not None:
                proof = timeline_update.proof(table, partition.values, slots[key], sources, unproven, change.doubt)
                slot = slots[key]
                if timeline_update.is_base(table, slot):
                    proof = proof._replace(origins=_origins(change, partition.values, slot))
                elif slot is not None and not proof.is_unproven:
                    # A rollup of copies is as new as they are, also when they are gone.
                    copied = copies_within(change.origins, slot.start, slot.end)
                    proof = proof._replace(origins=merged_origins((*proof.origins, *copied)))
            else:
                proof = outside_facts._replace(origins=_origins(change, partition.values, None))
            new_rows.append((_new(key, partition, files, previous, keep_statistics=appended), proof))
            if timeline_update is None:
                continue
            if key in effect.open_keys:
                timeline_update.note_opened(table, slots[key])
            else:
                timeline_update.note_written(table, partition.values, slots[key], proof)
        rows.insert_partitions(self._context.connection, table, new_rows, version)
        if not table.external:
            added = {key: partition.files for key, partition in written.items()}
            rows.insert_files(self._context.connection, added, version, base=change.overwrite)

    def _late_keys(self, table: Table, new: Collection[bytes], slots: Mapping[bytes, Slot | None]) -> set[bytes]:
        """Returns the new partitions whose time covers already know: retention dropped the partition, or other
        partitions make its period whole.
        """
        late = rows.retired(self._context.connection, sorted(new))
        timeline_update = self._timeline_updates.of(table)
        if timeline_update is not None:
            whole = timeline_update.whole(table, {slot for key in new if (slot := slots[key]) is not None})
            late |= {key for key in new if slots[key] in whole}
        return late

    def _refuse_late_events(self, change: WritePartitions, effect: _Effect) -> None:
        """Raises the error of ``_refuse_dropped`` for rows that are added to partitions; not for OVERWRITE, which loads
        whole ones.
        """
        if not change.overwrite:
            new = {key: partition for key, partition in effect.written.items() if key not in effect.live}
            self._refuse_dropped(change.table, new, effect.slots)

    def _refuse_dropped(
        self, table: Table, new: Mapping[bytes, PartitionWrite], slots: Mapping[bytes, Slot | None]
    ) -> None:
        """Raises ``IntegrityError`` LATE_EVENTS if one of the new partitions is a base partition that RETAIN has
        dropped: it would not hold what it held, and nothing could compute the rollups over it again.
        """
        timeline_update = self._timeline_updates.of(table)
        retain = None if timeline_update is None else timeline_update.binding(table).storage_table.retain
        if timeline_update is None or retain is None:
            return
        base = [key for key in sorted(new) if timeline_update.is_base(table, slots[key])]
        gone = rows.retired(self._context.connection, base)
        if gone:
            raise IntegrityError(
                f"rows for {counted(len(gone), 'partition')} of '{table.name}' are too late, such as "
                f"{partition_name(table.partition_columns, new[min(gone)].values)}: MAINTAIN FACT has dropped these "
                "partitions, and the rollups over them could not be computed again",
                condition="LATE_EVENTS",
                object=table.name,
                hint="Leave these rows out, or load the whole partitions with INSERT OVERWRITE. Let RETAIN "
                f"{retain.upper()} be longer than events may be late.",
            )

    def _doubts(self, table: Table, live: Mapping[bytes, LivePartition]) -> dict[bytes, str | None]:
        """Returns the reasons why rollup partitions of a fact that hold rows are unproven; nothing for all others."""
        timeline_update = self._timeline_updates.of(table)
        if timeline_update is None:
            return {}
        binding = timeline_update.binding(table)
        filled = [
            key
            for key, partition in live.items()
            if partition.files > 0 and not timeline_update.is_base(table, binding.locate(partition.values))
        ]
        stored = rows.stored_by_key(self._context.connection, filled) if filled else {}
        for partition in stored.values():
            lacking = binding.storage_table.first_lacking(partition.commit_seq)
            if lacking is not None and binding.storage_table.lacking_columns(lacking):
                raise _narrow_partition(table, binding, partition.live)
        standing = {key: timeline_update.stored_proof(table, partition) for key, partition in stored.items()}
        return {key: proof.doubt for key, proof in standing.items() if proof.is_unproven}

    def _locate(self, table: Table, written: dict[bytes, PartitionWrite]) -> dict[bytes, Slot | None]:
        """Returns the slots of the partitions in time; ``DataError`` if one fits no layout. Empty outside facts."""
        timeline_update = self._timeline_updates.of(table)
        if timeline_update is None:
            return {}
        binding = timeline_update.binding(table)
        slots = {key: binding.locate(partition.values) for key, partition in written.items()}
        for key, partition in written.items():
            binding.check_period(partition.values, partition.properties, slots[key])
        return slots

    def _note_wiped(self, table: Table, wiped: Sequence[LivePartition]) -> None:
        timeline_update = self._timeline_updates.of(table)
        if timeline_update is not None:
            for partition in wiped:
                timeline_update.note_wiped(table, partition.values)


def _end_files(
    connection: sa.Connection, live: Mapping[bytes, LivePartition], wiped: Sequence[LivePartition], write_id: int
) -> None:
    """Ends the files of the partitions that an OVERWRITE replaces or wipes."""
    rows.end_files(connection, [key for key, partition in live.items() if partition.files], write_id)
    rows.end_files(connection, [partition.key for partition in wiped], write_id)


def _origins(change: WritePartitions | AddPartitions, values: PartitionValues, slot: Slot | None) -> Origins:
    """Returns what a written partition rests on that is no rollup."""
    if isinstance(change, WritePartitions) and values in change.proofs:
        return change.proofs[values].proof.origins
    if slot is None or not change.keeps_time:
        return change.origins
    return within_time(change.origins, slot.start, slot.end)


def _by_key(
    table: Table, partitions: Sequence[PartitionWrite], *, repeated: bool = False
) -> dict[bytes, PartitionWrite]:
    """Returns the partitions by key. Values must be canonical; a duplicate is a caller's bug unless ``repeated``."""
    by_key: dict[bytes, PartitionWrite] = {}
    key_of = _encoder(table)
    for partition in partitions:
        if partition.properties:
            declared_period(partition.properties)  # raises if it is not a period
        key = key_of(partition.values)
        if key in by_key and not repeated:
            name = partition_name(table.partition_columns, partition.values)
            raise InternalError(f"one write names the partition {name} twice")
        by_key.setdefault(key, partition)
    return by_key


def _encoder(table: Table) -> Callable[[PartitionValues], bytes]:
    """Returns a function from canonical values to keys; each value of a column is checked and encoded once."""
    columns, prefix = table.partition_columns, encoding.prefix(table.id)
    encoded_fields: list[tuple[Column, dict[str | None, bytes]]] = [(column, {}) for column in columns]

    def encoded(values: PartitionValues) -> bytes:
        if len(values) != len(columns):
            require_canonical(columns, values)
        key = prefix
        for (column, fields), value in zip(encoded_fields, values, strict=True):
            field = fields.get(value)
            if field is None:
                require_canonical((column,), (value,))
                check_path(column, value)
                field = fields[value] = encoding.encode_value(column.type, value)
            key += field
        return key

    return encoded


_FILE_ROWS, _FILE_BYTES = attrgetter("rows"), attrgetter("bytes")


def _new(
    key: bytes,
    partition: PartitionWrite,
    files: Sequence[DataFile],
    previous: LivePartition | None = None,
    *,
    keep_statistics: bool = False,
) -> LivePartition:
    """Returns the partition with its added files: in addition to its earlier ones, or instead of them."""
    previous = None if partition.is_new else previous
    if not files and previous is None and not partition.properties:
        return LivePartition(key, partition.values, partition.location, 0, 0, 0)
    counts = list(map(_FILE_ROWS, files))
    size, number = sum(map(_FILE_BYTES, files)), len(files)
    if previous is not None and keep_statistics:
        counts.append(previous.rows)
        size, number = size + previous.bytes, number + previous.files
    row_count = None if None in counts else sum(counts)
    location = partition.location if previous is None or partition.location is not None else previous.location
    properties = previous.properties if previous is not None else None
    if partition.properties:
        properties = json.dumps({**properties_in(properties, key), **partition.properties}, ensure_ascii=False)
    return LivePartition(key, partition.values, location, row_count, size, number, properties=properties)


def _narrow_partition(table: Table, binding: TimeBinding, partition: LivePartition) -> IntegrityError:
    """Returns the error for rows that are added to a rollup partition without columns that its table has got since."""
    fact = binding.fact.name
    return IntegrityError(
        f"the partition {_name(table, partition)} of '{table.name}' was computed before columns were added to this "
        f"rollup: rows with them cannot be added to it",
        condition="NARROW_PARTITION",
        object=table.name,
        hint=f"REFRESH FACT {fact} computes it with all columns; INSERT OVERWRITE replaces it.",
    )


def _name(table: Table, partition: LivePartition) -> str:
    return partition_name(table.partition_columns, partition.values)
