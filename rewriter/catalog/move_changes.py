"""RENAME and EXCHANGE PARTITION, TRUNCATE, SET LOCATION and the like, as part of a commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rewriter.catalog import keys
from rewriter.catalog import partition_rows as rows
from rewriter.catalog.changes import (
    AlterPartitions,
    Change,
    MovePartitions,
    PartitionAlteration,
    PartitionMove,
    TruncatePartitions,
)
from rewriter.catalog.context import CommitContext
from rewriter.catalog.factwork import FactWork, FactWorks
from rewriter.catalog.freshness import REGISTERED, UNKNOWN
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import PartitionValues, Table
from rewriter.catalog.partition_rows import LivePartition, StoredPartition, Version
from rewriter.catalog.values import partition_name, require_canonical
from rewriter.errors import AnalysisError, ConflictError, IntegrityError, InternalError


def moved_ranges(change: Change) -> Iterable[tuple[Table, Sequence[KeyRange]]]:
    """The keys that a change of this module writes, by table: exclusively, all of them recorded as ranges."""
    if isinstance(change, MovePartitions):
        goals = [partition_key(change.target, move.values) for move in change.moves]
        yield change.source, _ranges(change.source_ranges, [move.key for move in change.moves])
        yield change.target, _ranges(change.target_ranges, goals)
    elif isinstance(change, TruncatePartitions):
        yield change.table, _ranges(change.ranges, change.keys)
    elif isinstance(change, AlterPartitions):
        yield change.table, _ranges(change.ranges, [one.key for one in change.alterations])


def partition_key(table: Table, values: PartitionValues) -> bytes:
    """The key of these values in a table. ``DataError`` INVALID_PARTITION_SPEC where they are not canonical."""
    require_canonical(table.partition_columns, values)
    return keys.encode(table.id, [column.type for column in table.partition_columns], values)


class MoveChanges:
    """Applies ``MovePartitions``, ``TruncatePartitions`` and ``AlterPartitions``."""

    def __init__(self, context: CommitContext, works: FactWorks) -> None:
        self._context = context
        self._works = works

    def move(self, change: MovePartitions) -> None:
        """Partitions under other keys. Raises PARTITIONS_NOT_FOUND and PARTITIONS_ALREADY_EXIST, both 428FT."""
        source = self._unchanged(change.source)
        target = source if change.target.id == source.id else self._unchanged(change.target)
        connection = self._context.connection
        stored = self._found(source, [move.key for move in change.moves])
        goals = {partition_key(target, move.values): move for move in change.moves}
        if len(goals) < len(stored):
            raise InternalError(f"two partitions would have one name in '{target.name}'")
        self._check_free(target, list(goals))
        gone = [one.live for one in stored.values()]
        filled = [live.key for live in gone if live.files]
        files = rows.live_files(connection, filled)
        self._leave(change, gone)
        rows.end_files(connection, filled, self._version(source).made)
        self._arrive(change, goals, stored)
        moved = {move.key: goal for goal, move in goals.items()}
        for base in (True, False):
            added = {moved[key]: found for key, found in files[base].items()}
            rows.insert_files(connection, added, self._version(target), base=base)
        self._log_move(change, stored)

    def truncate(self, change: TruncatePartitions) -> None:
        """Ends the files of partitions, which stay. What was empty already is as it was."""
        table = self._context.live_table(change.table)
        if table.external:
            raise InternalError(f"the files of the external table '{table.name}' are not the catalog's")
        version, connection = self._version(table), self._context.connection
        filled = [one.live for one in self._found(table, change.keys).values() if one.live.files]
        rows.end_partitions(connection, filled, version.made)
        rows.end_files(connection, [live.key for live in filled], version.made)
        emptied = [(live._replace(rows=0, bytes=0, files=0), UNKNOWN) for live in filled]
        rows.insert_partitions(connection, table, emptied, version)
        work = self._works.of(table)
        if work is not None:
            for live in filled:
                work.wrote(table, live.values, work.binding(table).locate(live.values), UNKNOWN)
        self._context.log("TRUNCATE", table, partitions=len(filled))

    def alter(self, change: AlterPartitions) -> None:
        """Another location or more properties. To timelines and freshness nothing has happened."""
        table = self._context.live_table(change.table)
        stored, version = self._found(table, [one.key for one in change.alterations]), self._version(table)
        rows.end_partitions(self._context.connection, [one.live for one in stored.values()], version.made)
        altered = [replace(stored[one.key], live=_altered(stored[one.key].live, one)) for one in change.alterations]
        work = self._works.of(table)
        if work is not None:
            for one in altered:
                _check_period(work, table, one.live)
        rows.insert_stored(self._context.connection, table, altered, version.made)
        self._context.log("ALTER_PARTITION", table, partitions=len(altered))

    def _leave(self, change: MovePartitions, gone: Sequence[LivePartition]) -> None:
        """The end of partitions under their old keys: by a wipe where they were renamed, by a drop otherwise."""
        table, version = change.source, self._version(change.source)
        renamed, work = change.target.id == table.id, self._works.of(table)
        rows.end_partitions(self._context.connection, gone, version.made)
        if renamed:
            rows.insert_tombstones(self._context.connection, table, gone, version)
        if work is not None:
            for live in gone:
                (work.wiped if renamed else work.dropped)(table, live.values)

    def _arrive(
        self, change: MovePartitions, goals: dict[bytes, PartitionMove], stored: dict[bytes, StoredPartition]
    ) -> None:
        """The rows of the moved partitions, and what their fact makes of them."""
        target, connection = change.target, self._context.connection
        work = self._works.of(target)
        before = rows.known_before(connection, list(goals)) if work is not None else set()
        new = []
        for goal, move in goals.items():
            was = stored[move.key]
            live = was.live._replace(key=goal, values=move.values, location=move.location)
            as_of = self._as_of(change, move, was, known=goal in before)
            new.append(StoredPartition(live, as_of, was.sources, self._context.sequence))
            if work is not None:
                _check_period(work, target, live)
                work.wrote(target, move.values, work.binding(target).locate(move.values), as_of)
        rows.insert_stored(connection, target, new, self._version(target).made)

    def _as_of(self, change: MovePartitions, move: PartitionMove, was: StoredPartition, *, known: bool) -> int:
        """Up to which commit moved content knows the base of the fact that it comes to.

        Base content is news there. What was computed from the tables of that fact is of the time and the combination
        that it was computed for; under another name it proves nothing.
        """
        work, renamed = self._works.of(change.target), change.source.id == change.target.id
        if work is None:
            # A later fact may be one of the tables that it was computed from.
            return UNKNOWN if renamed and was.sources else was.as_of
        slot = work.binding(change.target).locate(move.values)
        if work.is_base(change.target, slot):
            is_nothing = was.as_of == REGISTERED and not was.live.files and not known
            return REGISTERED if is_nothing else self._context.snapshot.sequence
        left = None if renamed else (change.source, was.live.values)
        holds = work.still_holds(change.target, move.values, slot, left, was.sources, was.commit_seq)
        return was.as_of if holds else UNKNOWN

    def _unchanged(self, table: Table) -> Table:
        """The table, which nobody may have altered since: both tables of an EXCHANGE agreed in their columns then."""
        self._context.live_table(table)
        live = self._context.live_object(table.name)
        if not isinstance(live, Table) or replace(live, comment=table.comment, properties=table.properties) != table:
            raise ConflictError(f"another transaction has altered the table '{table.name}'", object=table.name)
        return table

    def _found(self, table: Table, wanted: Sequence[bytes]) -> dict[bytes, StoredPartition]:
        if not all(key in KeyRange.of_prefix(keys.prefix(table.id)) for key in wanted):
            raise InternalError(f"a key is none of table '{table.name}'")
        stored = rows.stored_by_key(self._context.connection, wanted)
        if len(stored) < len(set(wanted)):
            raise AnalysisError(
                f"{len(set(wanted)) - len(stored)} of {len(set(wanted))} partitions cannot be found in table "
                f"'{table.name}'",
                condition="PARTITIONS_NOT_FOUND",
                sqlstate="428FT",
                object=table.name,
                hint="SHOW PARTITIONS lists what exists",
            )
        return stored

    def _check_free(self, target: Table, goals: Sequence[bytes]) -> None:
        taken = rows.live_by_key(self._context.connection, goals)
        if taken:
            raise already_exist(target, [live.values for live in taken.values()])

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


def already_exist(table: Table, taken: Sequence[PartitionValues]) -> IntegrityError:
    """The error for names that partitions of a table have already."""
    names = ", ".join(sorted(_name(table, values) for values in taken))
    return IntegrityError(
        f"cannot rename or move to partition(s) {names} of '{table.name}' because they already exist",
        condition="PARTITIONS_ALREADY_EXIST",
        sqlstate="428FT",
        object=table.name,
        hint="choose a different name, or drop the existing partition first",
    )


def _altered(live: LivePartition, change: PartitionAlteration) -> LivePartition:
    properties = live.properties
    if change.properties:
        properties = json.dumps({**json.loads(properties or "{}"), **change.properties}, ensure_ascii=False)
    return live._replace(location=live.location if change.location is None else change.location, properties=properties)


def _check_period(work: FactWork, table: Table, live: LivePartition) -> None:
    """``DataError`` where the name fits no layout, or the partition's own period is not that of its name."""
    binding = work.binding(table)
    binding.check_period(live.values, json.loads(live.properties or "{}"), binding.locate(live.values))


def _ranges(ranges: Sequence[KeyRange], named: Iterable[bytes]) -> list[KeyRange]:
    """The ranges, and the keys that lie in none of them."""
    alone = (key for key in named if not any(key in one for one in ranges))
    return [*ranges, *map(KeyRange.of_key, alone)]


def _name(table: Table, values: PartitionValues) -> str:
    return partition_name(table.partition_columns, values)
