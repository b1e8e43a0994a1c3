"""Several changes of one commit that meet in a partition: INTOs become one, all else is refused.

A commit applies its changes in order, but a partition has one row of each write id. So changes of several statements
are either of other partitions, where their order means nothing, or INTOs, whose files add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rewriter.catalog.changes import AddPartitions, Change, DropPartitions, PartitionWrite, WritePartitions
from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.models import PartitionValues, Table
from rewriter.catalog.move_changes import moved_ranges, partition_key
from rewriter.catalog.pending import changed
from rewriter.catalog.scan_filters import intersection

_Kind = TypeVar("_Kind", bound=Change)


@dataclass(frozen=True)
class WrittenKeys:
    """The keys of one table that earlier statements have written: alone, or as INTOs, which add up."""

    exclusive: tuple[KeyRange, ...] = ()
    shared: tuple[KeyRange, ...] = ()


def joined(known: Mapping[int, WrittenKeys], changes: Iterable[Change]) -> dict[int, WrittenKeys]:
    """The keys of each table, by id, with those of further changes.

    ``NotSupportedError`` CHANGED_IN_TRANSACTION where one of these meets an earlier one, unless both are INTOs.
    O(keys) in the earlier ones of the tables and in the new ones.
    """
    found = dict(known)
    for change in changes:
        is_into = _is_into(change)
        for table, ranges in _written(change):
            before, new = found.get(table.id, WrittenKeys()), merged(ranges)
            if intersection(before.exclusive, new) or (not is_into and intersection(before.shared, new)):
                raise changed(
                    table.name,
                    "another statement writes the same partitions before COMMIT only where both are INSERT INTO",
                )
            found[table.id] = (
                replace(before, shared=merged((*before.shared, *new)))
                if is_into
                else replace(before, exclusive=merged((*before.exclusive, *new)))
            )
    return found


def together(changes: Sequence[_Kind]) -> list[_Kind | WritePartitions]:
    """The same changes with each partition in one of them: what several INTOs fill is one write.

    Of that no rollup is proven to be right, as of an INTO onto rows that are there.
    """
    intos = [change for change in changes if isinstance(change, WritePartitions) and _is_into(change)]
    writers: dict[tuple[int, PartitionValues], list[PartitionWrite]] = {}
    for change in intos:
        for partition in change.partitions:
            writers.setdefault((change.table.id, partition.values), []).append(partition)
    several = {key: found for key, found in writers.items() if len(found) > 1}
    if not several:
        return list(changes)
    alone = [_without(change, several) if isinstance(change, WritePartitions) else change for change in changes]
    merged_writes = []
    for table_id in dict.fromkeys(table_id for table_id, _ in several):
        mine = [change for change in intos if change.table.id == table_id]
        partitions = tuple(
            PartitionWrite(values, tuple(file for partition in found for file in partition.files))
            for (of, values), found in several.items()
            if of == table_id
        )
        sources = {key: None for change in mine for key in change.sources or {}}
        merged_writes.append(replace(mine[0], partitions=partitions, sources=sources, unproven=frozenset((table_id,))))
    return [
        change
        for change in (*alone, *merged_writes)
        if not isinstance(change, WritePartitions) or change.partitions or change.wipes
    ]


def _without(change: WritePartitions, several: Mapping[tuple[int, PartitionValues], object]) -> WritePartitions:
    left = tuple(one for one in change.partitions if (change.table.id, one.values) not in several)
    return replace(change, partitions=left)


def _is_into(change: Change) -> bool:
    return isinstance(change, WritePartitions) and not change.overwrite


def _written(change: Change) -> Iterator[tuple[Table, Sequence[KeyRange]]]:
    """The keys that a change of partitions writes, by table."""
    if isinstance(change, WritePartitions | AddPartitions):
        keys = (KeyRange.of_key(partition_key(change.table, one.values)) for one in change.partitions)
        yield change.table, [*keys, *(change.wipes if isinstance(change, WritePartitions) else ())]
    elif isinstance(change, DropPartitions):
        yield change.table, [*change.ranges, *map(KeyRange.of_key, change.keys)]
    else:
        yield from moved_ranges(change)
