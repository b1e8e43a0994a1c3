"""Changes of one commit to the same partition: INTOs are merged.

A commit applies its changes in order, but a partition has one row of each write id. So the changes of several
statements either concern different partitions, so that their order does not matter, or are INTOs, whose files add up.
Where their order matters, ``catalog.workspace`` finds their net effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from rewriter.catalog.commit.move_changes import moved_ranges
from rewriter.catalog.commit.reserved_properties import is_immutable, not_empty
from rewriter.catalog.filters.predicates import intersection
from rewriter.catalog.keys.encoding import partition_key
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    DropPartitions,
    ListedPartition,
    NoteFiles,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.origins import merged_origins
from rewriter.catalog.reading.pending_changes import changed_in_transaction
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import PartitionValues, Table

    #: The writes of each partition, by the id of its table and its values.
    _Writers = Mapping[tuple[int, PartitionValues], Sequence[PartitionWrite]]

_Kind = TypeVar("_Kind", bound=Change)


@dataclass(frozen=True)
class WrittenKeys:
    """The keys of one table that earlier statements have written: exclusively, or as INTOs, which add up."""

    exclusive: tuple[KeyRange, ...] = ()
    shared: tuple[KeyRange, ...] = ()


def with_written_keys(
    earlier_keys: Mapping[int, WrittenKeys], changes: Iterable[Change]
) -> tuple[dict[int, WrittenKeys], bool]:
    """Returns the written keys of each table, by id, including the keys of additional changes; and whether one of the
    changes writes a partition of an earlier one, and not both are INTOs: then their order matters.

    Raises ``NotSupportedError`` CHANGED_IN_TRANSACTION where their order matters in an external table, and
    ``AnalysisError`` IMMUTABLE_TABLE if both are INTOs of a table that accepts only one. O(keys) in the earlier changes
    of the tables and in the new ones.
    """
    keys_by_table, has_order = dict(earlier_keys), False
    for change in changes:
        is_into = _is_into(change)
        if isinstance(change, WritePartitions) and is_into and is_immutable(change.table):
            _check_not_filled(change, keys_by_table.get(change.table.id, WrittenKeys()))
        for table, ranges in _written_ranges(change):
            earlier, new_keys = keys_by_table.get(table.id, WrittenKeys()), merge_ranges(ranges)
            if intersection(earlier.exclusive, new_keys) or (not is_into and intersection(earlier.shared, new_keys)):
                if table.external:
                    raise changed_in_transaction(
                        table.name, "two statements of a transaction cannot change the same partition of it"
                    )
                has_order = True
            keys_by_table[table.id] = (
                replace(earlier, shared=merge_ranges((*earlier.shared, *new_keys)))
                if is_into
                else replace(earlier, exclusive=merge_ranges((*earlier.exclusive, *new_keys)))
            )
    return keys_by_table, has_order


def merged_changes(changes: Sequence[_Kind]) -> list[_Kind | WritePartitions | NoteFiles]:
    """Returns the same changes with each partition in one of them: several INTOs of a partition become one write.

    No rollup is proven by such a write, as by an INTO onto existing rows. The listed files of external tables come
    last, so that they concern the partitions that remain.
    """
    other_changes = [change for change in changes if not isinstance(change, NoteFiles)]
    return [
        *with_merged_inserts(other_changes),
        *_merged_file_notes([change for change in changes if isinstance(change, NoteFiles)]),
    ]


def _merged_file_notes(changes: Sequence[NoteFiles]) -> Iterator[NoteFiles]:
    """Yields one change for each table. A partition whose files differ between two statements has changed."""
    partitions: dict[int, dict[bytes, ListedPartition]] = {}
    for change in changes:
        by_key = partitions.setdefault(change.table.id, {})
        for partition in change.partitions:
            first = by_key.get(partition.key)
            is_unchanged = first is None or partition.before == first.after
            by_key[partition.key] = ListedPartition(
                partition.key, (first or partition).before if is_unchanged else None, partition.after
            )
    for table_id, by_key in partitions.items():
        table = next(change.table for change in changes if change.table.id == table_id)
        yield NoteFiles(table, tuple(by_key.values()))


def with_merged_inserts(changes: Sequence[_Kind]) -> list[_Kind | WritePartitions]:
    """Returns the same changes with several INTOs of a partition as one write."""
    inserts = [change for change in changes if isinstance(change, WritePartitions) and _is_into(change)]
    writers: dict[tuple[int, PartitionValues], list[PartitionWrite]] = {}
    for change in inserts:
        for partition in change.partitions:
            writers.setdefault((change.table.id, partition.values), []).append(partition)
    repeated = {key: writes for key, writes in writers.items() if len(writes) > 1}
    if not repeated:
        return list(changes)
    _check_filled_once(inserts, writers)
    remaining_changes = [
        _without(change, repeated) if isinstance(change, WritePartitions) else change for change in changes
    ]
    merged_writes = [
        _merge_inserts(table_id, inserts, repeated) for table_id in dict.fromkeys(table_id for table_id, _ in repeated)
    ]
    return [
        change
        for change in (*remaining_changes, *merged_writes)
        if not isinstance(change, WritePartitions) or change.partitions or change.wipes
    ]


def _check_filled_once(inserts: Sequence[WritePartitions], writers: _Writers) -> None:
    """Raises IMMUTABLE_TABLE if several INTOs add files to one partition of a table that accepts only one."""
    for change in inserts:
        for partition in change.partitions if is_immutable(change.table) else ():
            if sum(bool(write.files) for write in writers[change.table.id, partition.values]) > 1:
                raise not_empty(change.table, partition.values)


def _merge_inserts(table_id: int, inserts: Sequence[WritePartitions], repeated: _Writers) -> WritePartitions:
    """Returns the one write of a table's repeated partitions, with the files and the origins of all of its INTOs."""
    table_inserts = [change for change in inserts if change.table.id == table_id]
    return replace(
        table_inserts[0],
        partitions=tuple(
            PartitionWrite(values, tuple(file for partition in writes for file in partition.files))
            for (id_of_table, values), writes in repeated.items()
            if id_of_table == table_id
        ),
        sources={key: None for change in table_inserts for key in change.sources or {}},
        unproven=frozenset((table_id,)),
        origins=merged_origins(origin for change in table_inserts for origin in change.origins),
        keeps_time=False,
    )


def _check_not_filled(change: WritePartitions, written_keys: WrittenKeys) -> None:
    for partition in change.partitions:
        key = (KeyRange.of_key(partition_key(change.table, partition.values)),)
        is_changed = intersection(written_keys.exclusive, key)  # It may be empty again.
        if partition.files and intersection(written_keys.shared, key) and not is_changed:
            raise not_empty(change.table, partition.values)


def _without(change: WritePartitions, repeated: Mapping[tuple[int, PartitionValues], object]) -> WritePartitions:
    remaining = tuple(
        partition for partition in change.partitions if (change.table.id, partition.values) not in repeated
    )
    return replace(change, partitions=remaining)


def _is_into(change: Change) -> bool:
    return isinstance(change, WritePartitions) and not change.overwrite


def _written_ranges(change: Change) -> Iterator[tuple[Table, Sequence[KeyRange]]]:
    """Yields the keys that a change of partitions writes, by table."""
    if isinstance(change, WritePartitions | AddPartitions):
        keys = (KeyRange.of_key(partition_key(change.table, partition.values)) for partition in change.partitions)
        yield change.table, [*keys, *(change.wipes if isinstance(change, WritePartitions) else ())]
    elif isinstance(change, DropPartitions):
        yield change.table, [*change.ranges, *map(KeyRange.of_key, change.keys)]
    else:
        yield from moved_ranges(change)
