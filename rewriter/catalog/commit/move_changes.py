"""RENAME and EXCHANGE PARTITION, TRUNCATE, SET LOCATION and the like, as part of a commit."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from os.path import normpath
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.external_file_changes import with_digest
from rewriter.catalog.commit.origin_changes import has_dependents
from rewriter.catalog.commit.partition_rows import LivePartition, StoredPartition, Version
from rewriter.catalog.facts.time_binding import Slot, TimeBinding, overlapped
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.directory_moves import directory
from rewriter.catalog.keys.encoding import partition_key
from rewriter.catalog.keys.values import check_kept, partition_name
from rewriter.catalog.model.changes import (
    AcceptPartitions,
    AddPartitions,
    AlterPartitions,
    Change,
    DefinitionChange,
    DropPartitions,
    MovePartitions,
    PartitionAlteration,
    PartitionMove,
    PartitionNote,
    RejectPartitions,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.model.origins import Origin, OriginKind, copies_within, merged_origins
from rewriter.catalog.model.proofs import (
    BEFORE_FACT,
    BY_CLIENT,
    BY_EXCHANGE,
    BY_LOCATION,
    BY_RENAME,
    OPEN_PROOF,
    REGISTERED,
    UNKNOWN,
    Proof,
)
from rewriter.catalog.model.stored_rows import properties_in
from rewriter.errors import (
    ConflictError,
    IntegrityError,
    InternalError,
    partitions_not_found,
)
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
    from rewriter.catalog.commit.timeline_updates import FactTimelineUpdates


def moved_ranges(change: Change) -> Iterable[tuple[Table, Sequence[KeyRange]]]:
    """Yields the keys that a change of this module writes, by table: exclusively, all of them recorded as ranges."""
    if isinstance(change, MovePartitions):
        keys = [partition_key(change.target, move.values) for move in change.moves]
        yield change.source, _ranges(change.source_ranges, [move.key for move in change.moves])
        yield change.target, _ranges(change.target_ranges, keys)
    elif isinstance(change, AcceptPartitions | RejectPartitions):
        yield change.table, [KeyRange.of_key(key) for key in change.keys]
    elif isinstance(change, TruncatePartitions):
        yield change.table, _ranges(change.ranges, change.keys)
    elif isinstance(change, AlterPartitions):
        yield change.table, _ranges(change.ranges, [alteration.key for alteration in change.alterations])
    elif not isinstance(change, DefinitionChange | PartitionNote | WritePartitions | AddPartitions | DropPartitions):
        assert_never(change)


class MoveChanges:
    """Applies ``MovePartitions``, ``TruncatePartitions`` and ``AlterPartitions``."""

    def __init__(self, context: CommitContext, timeline_updates: FactTimelineUpdates) -> None:
        self._context = context
        self._timeline_updates = timeline_updates
        #: By id of a table: the base tables of its fact that have copies.
        self._copied_bases: dict[int, list[TimeBinding]] = {}

    def move(self, change: MovePartitions) -> None:
        """Moves partitions to other keys. Raises PARTITIONS_NOT_FOUND and PARTITIONS_ALREADY_EXIST, both 428FT."""
        source = self._unchanged(change.source)
        target = source if change.target.id == source.id else self._unchanged(change.target)
        connection = self._context.connection
        stored = self._stored(source, [move.key for move in change.moves])
        for partition in stored.values():
            if partition.live.is_open:
                raise _open_partition(source, partition.live.values)
        check_kept(target, [(stored[move.key].live.values, move.values) for move in change.moves])
        moves_by_key = {partition_key(target, move.values): move for move in change.moves}
        if len(moves_by_key) < len(stored):
            raise InternalError(f"two partitions would have one name in '{target.name}'")
        self._check_free(target, list(moves_by_key))
        leaving = [partition.live for partition in stored.values()]
        filled = [live.key for live in leaving if live.files]
        files = rows.live_files(connection, filled)
        self._leave(change, leaving)
        rows.end_files(connection, filled, self._version(source).made)
        self._arrive(change, moves_by_key, stored)
        new_keys_by_old = {move.key: new_key for new_key, move in moves_by_key.items()}
        for base in (True, False):
            added = {new_keys_by_old[key]: moved_files for key, moved_files in files[base].items()}
            rows.insert_files(connection, added, self._version(target), base=base)
        self._log_move(change, stored)

    def truncate(self, change: TruncatePartitions) -> None:
        """Ends the files of partitions, which stay. Empty partitions do not change."""
        table = self._context.live_table(change.table)
        if table.external:
            raise InternalError(f"the catalog does not own the files of the external table '{table.name}'")
        version, connection = self._version(table), self._context.connection
        filled = [partition.live for partition in self._stored(table, change.keys).values() if partition.live.files]
        rows.end_partitions(connection, filled, version.made)
        rows.end_files(connection, [live.key for live in filled], version.made)
        emptied = [
            (live._replace(rows=0, bytes=0, files=0), OPEN_PROOF if live.is_open else Proof(UNKNOWN)) for live in filled
        ]
        rows.insert_partitions(connection, table, emptied, version)
        timeline_update = self._timeline_updates.of(table)
        if timeline_update is not None:
            for live in filled:
                if live.is_open:
                    continue
                timeline_update.note_written(
                    table, live.values, timeline_update.binding(table).locate(live.values), Proof(UNKNOWN)
                )
        self._context.log("TRUNCATE", table, partitions=len(filled))

    def accept(self, change: AcceptPartitions) -> None:
        """Notes that the partitions include the base as the transaction's snapshot saw it. Their content stays."""
        table = self._context.live_table(change.table)
        stored, timeline_update = self._stored(table, change.keys), self._timeline_updates.of(table)
        accepted = [
            StoredPartition(
                with_digest(partition.live, change.files.get(key)) if table.external else partition.live,
                self._accepted(timeline_update, table, partition.live),
                partition.sources,
                self._context.sequence,
            )
            for key, partition in stored.items()
        ]
        self._judge(table, stored.values(), accepted)
        self._context.log("ACCEPT_PARTITION", table, partitions=len(accepted))

    def reject(self, change: RejectPartitions) -> None:
        """Notes that the partitions differ from the base. Their content stays, and nothing proves it any more."""
        table = self._context.live_table(change.table)
        stored, differs = self._stored(table, change.keys).values(), Proof(UNKNOWN, change.doubt)
        rejected = [replace(partition, proof=differs, commit_seq=self._context.sequence) for partition in stored]
        self._judge(table, stored, rejected)
        self._context.log("REJECT_PARTITION", table, partitions=len(rejected))

    def _judge(self, table: Table, stored: Collection[StoredPartition], judged: Sequence[StoredPartition]) -> None:
        """Makes new versions of partitions, with other proofs."""
        version, timeline_update = self._version(table), self._timeline_updates.of(table)
        rows.end_partitions(self._context.connection, [partition.live for partition in stored], version.made)
        rows.insert_stored(self._context.connection, table, judged, version.made)
        if timeline_update is not None:
            for partition in judged:
                slot = timeline_update.binding(table).locate(partition.live.values)
                timeline_update.note_written(table, partition.live.values, slot, partition.proof)

    def _accepted(self, timeline_update: FactTimelineUpdate | None, table: Table, partition: LivePartition) -> Proof:
        """Returns the proof of a partition that equals the base in the transaction's snapshot."""
        slot = None if timeline_update is None else timeline_update.binding(table).locate(partition.values)
        if slot is None:
            return Proof(self._context.snapshot.sequence)
        commit, period = self._context.sequence, int(slot.period)
        word = Origin(OriginKind.ACCEPTED, table.id, period, commit, slot.start, slot.end, commit)
        return Proof(self._context.snapshot.sequence, origins=merged_origins((word, *self._copied(table, slot))))

    def _copied(self, table: Table, slot: Slot) -> Iterator[Origin]:
        """Yields what the base of a fact was copied from in the time of a rollup."""
        if table.id not in self._copied_bases:
            bases = (base for base in self._context.bindings_with(table.id) if base.has_base)
            self._copied_bases[table.id] = [
                base for base in bases if has_dependents(self._context.connection, base.table.id)
            ]
        for base in self._copied_bases[table.id]:
            ordinals = overlapped(slot, base.base_period)
            ranges = base.key_ranges(base.base_period, OrdinalRange(ordinals.start, ordinals.stop))
            for origins in self._context.snapshot.origins(base.table, ranges).values():
                yield from copies_within(origins, slot.start, slot.end)

    def alter(self, change: AlterPartitions) -> None:
        """Sets another location or additional properties.

        Timelines and freshness do not change, unless a partition of an external table has other files: because it
        moves, or because a client says so.
        """
        table = self._context.live_table(change.table)
        stored, version = (
            self._stored(table, [alteration.key for alteration in change.alterations]),
            self._version(table),
        )
        rows.end_partitions(self._context.connection, [partition.live for partition in stored.values()], version.made)
        timeline_update = self._timeline_updates.of(table)
        altered = [
            self._altered(table, stored[alteration.key], alteration, timeline_update)
            for alteration in change.alterations
        ]
        if timeline_update is not None:
            for partition in altered:
                _check_period(timeline_update, table, partition.live)
        rows.insert_stored(self._context.connection, table, altered, version.made)
        self._context.log("ALTER_PARTITION", table, partitions=len(altered))

    def _altered(
        self,
        table: Table,
        stored: StoredPartition,
        change: PartitionAlteration,
        timeline_update: FactTimelineUpdate | None,
    ) -> StoredPartition:
        live = stored.live
        altered = replace(stored, live=_altered(live, change))
        directory_before = directory(table, Partition(live.key, live.values, live.location))
        is_moved = change.location is not None and normpath(change.location) != normpath(directory_before)
        if stored.proof.is_open or not (is_moved or change.has_other_files):
            return altered
        slot = timeline_update.binding(table).locate(live.values) if timeline_update is not None else None
        is_rollup = timeline_update is not None and not timeline_update.is_base(table, slot)
        doubt = BY_LOCATION if is_moved else BY_CLIENT
        proof = Proof(UNKNOWN, doubt if is_rollup else None)
        if timeline_update is not None:
            timeline_update.note_written(table, live.values, slot, proof)
        return StoredPartition(with_digest(altered.live, None), proof, stored.sources, self._context.sequence)

    def _leave(self, change: MovePartitions, partitions: Sequence[LivePartition]) -> None:
        """Ends partitions under their old keys: by a wipe if they were renamed, by a drop otherwise."""
        table, version = change.source, self._version(change.source)
        renamed, timeline_update = change.target.id == table.id, self._timeline_updates.of(table)
        rows.end_partitions(self._context.connection, partitions, version.made)
        if renamed:
            rows.insert_tombstones(self._context.connection, table, partitions, version)
        if timeline_update is not None:
            for live in partitions:
                (timeline_update.note_wiped if renamed else timeline_update.note_dropped)(table, live.values)

    def _arrive(
        self, change: MovePartitions, moves_by_key: dict[bytes, PartitionMove], stored: dict[bytes, StoredPartition]
    ) -> None:
        """Inserts the rows of the moved partitions and passes them to their fact."""
        target, connection = change.target, self._context.connection
        timeline_update = self._timeline_updates.of(target)
        known_keys = rows.known_before(connection, list(moves_by_key)) if timeline_update is not None else set()
        moved_rows = []
        for new_key, move in moves_by_key.items():
            stored_partition = stored[move.key]
            live = with_digest(
                stored_partition.live._replace(key=new_key, values=move.values, location=move.location), None
            )
            proof = self._proof(change, move, stored_partition, existed=new_key in known_keys)
            moved_rows.append(StoredPartition(live, proof, stored_partition.sources, self._context.sequence))
            if timeline_update is not None:
                _check_period(timeline_update, target, live)
                timeline_update.note_written(
                    target, move.values, timeline_update.binding(target).locate(move.values), proof
                )
        rows.insert_stored(connection, target, moved_rows, self._version(target).made)

    def _proof(
        self, change: MovePartitions, move: PartitionMove, stored_partition: StoredPartition, *, existed: bool
    ) -> Proof:
        """Returns the proof of moved content in the fact of its new table.

        Base content is new there. Content computed from the tables of that fact keeps its proof at the same time and
        the same combination; under another name, or from elsewhere, it is unproven.
        """
        timeline_update, renamed = self._timeline_updates.of(change.target), change.source.id == change.target.id
        external = change.target.external
        if timeline_update is None:
            if external:
                return Proof(UNKNOWN, BEFORE_FACT)
            return (
                stored_partition.proof
                if stored_partition.proof.is_unproven
                else stored_partition.proof._replace(doubt=BEFORE_FACT)
            )
        slot = timeline_update.binding(change.target).locate(move.values)
        if timeline_update.is_base(change.target, slot):
            is_nothing = (
                stored_partition.proof.as_of == REGISTERED
                and not stored_partition.live.files
                and not existed
                and not external
            )
            as_of = REGISTERED if is_nothing else self._context.snapshot.sequence
            return Proof(as_of, origins=stored_partition.proof.origins)
        origin = None if renamed else (change.source, stored_partition.live.values)
        holds = timeline_update.proof_still_holds(
            change.target, move.values, slot, origin, stored_partition.sources, stored_partition.commit_seq
        )
        return stored_partition.proof if holds else Proof(UNKNOWN, BY_RENAME if renamed else BY_EXCHANGE)

    def _unchanged(self, table: Table) -> Table:
        """Returns the table. No other transaction may have altered it: an EXCHANGE has compared the columns."""
        self._context.live_table(table)
        live = self._context.live_object(table.name)
        if not isinstance(live, Table) or replace(live, comment=table.comment, properties=table.properties) != table:
            raise ConflictError(f"another transaction has altered the table '{table.name}'", object=table.name)
        return table

    def _stored(self, table: Table, keys: Sequence[bytes]) -> dict[bytes, StoredPartition]:
        if not all(key in KeyRange.of_prefix(encoding.prefix(table.id)) for key in keys):
            raise InternalError(f"a key does not belong to the table '{table.name}'")
        stored = rows.stored_by_key(self._context.connection, keys)
        if len(stored) < len(set(keys)):
            absent = len(set(keys)) - len(stored)
            raise partitions_not_found(f"{absent} of {len(set(keys))} partitions", table.name)
        return stored

    def _check_free(self, target: Table, keys: Sequence[bytes]) -> None:
        existing = rows.live_by_key(self._context.connection, keys)
        if existing:
            raise already_exist(target, [live.values for live in existing.values()])

    def _version(self, table: Table) -> Version:
        return Version(self._context.write_id(table.id), self._context.sequence)

    def _log_move(self, change: MovePartitions, stored: dict[bytes, StoredPartition]) -> None:
        source, target = change.source, change.target
        if source.id == target.id:
            names = [[_name(source, stored[move.key].live.values), _name(target, move.values)] for move in change.moves]
            self._context.log("RENAME_PARTITION", target, partitions=len(names), names=names)
            return
        self._context.log("EXCHANGE_PARTITION", target, partitions=len(stored), source=source.name)
        self._context.log("EXCHANGE_PARTITION", source, partitions=len(stored), target=target.name)


def _open_partition(table: Table, values: PartitionValues) -> IntegrityError:
    """Returns the error for a RENAME or EXCHANGE of a partition that a stream fills."""
    return IntegrityError(
        f"the partition {_name(table, values)} of '{table.name}' is open: a stream still fills it",
        condition="PARTITION_OPEN",
        object=table.name,
        hint=f"Commit it first: ALTER TABLE {table.name} COMMIT PARTITION (…).",
    )


def already_exist(table: Table, partitions: Sequence[PartitionValues]) -> IntegrityError:
    """Returns the error for names that partitions of a table have already."""
    names = ", ".join(sorted(_name(table, values) for values in partitions))
    return IntegrityError(
        f"cannot rename or move to partition(s) {names} of '{table.name}' because they already exist",
        condition="PARTITIONS_ALREADY_EXIST",
        sqlstate="428FT",
        object=table.name,
        hint="Choose a different name, or drop the existing partition first.",
    )


def _altered(live: LivePartition, change: PartitionAlteration) -> LivePartition:
    properties = live.properties
    if change.properties or change.removed:
        stored = properties_in(properties, live.key)
        remaining = {key: value for key, value in stored.items() if key not in change.removed}
        properties = json.dumps({**remaining, **change.properties}, ensure_ascii=False)
    return live._replace(location=live.location if change.location is None else change.location, properties=properties)


def _check_period(timeline_update: FactTimelineUpdate, table: Table, live: LivePartition) -> None:
    """Raises ``DataError`` if the name fits no layout, or the partition's declared period differs from its name's."""
    binding = timeline_update.binding(table)
    binding.check_period(live.values, properties_in(live.properties, table.name), binding.locate(live.values))


def _ranges(ranges: Sequence[KeyRange], named: Iterable[bytes]) -> list[KeyRange]:
    """Returns the ranges, and the keys outside them."""
    separate_keys = (key for key in named if not any(key in key_range for key_range in ranges))
    return [*ranges, *map(KeyRange.of_key, separate_keys)]


def _name(table: Table, values: PartitionValues) -> str:
    return partition_name(table.partition_columns, values)
