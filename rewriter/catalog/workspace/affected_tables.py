"""The tables whose rows changes may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DefinitionChange,
    DropObject,
    DropPartitions,
    MovePartitions,
    PartitionNote,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.objects import Table

if TYPE_CHECKING:
    from rewriter.catalog.reading.snapshot import Snapshot


def affected_tables(changes: Sequence[Change], snapshot: Snapshot) -> frozenset[int]:
    """Returns the ids of the tables whose rows changes may change: the tables of the changes, and of their facts."""
    affected: set[int] = set()
    for change in changes:
        for table in changed_tables(change):
            fact = snapshot.fact_using(table.name)
            names = [] if fact is None else [member.table for storage in fact.storages for member in storage.tables]
            affected |= {table.id, *(snapshot.table(name).id for name in names)}
    return frozenset(affected)


def changed_tables(change: Change) -> tuple[Table, ...]:
    """Returns the tables that a change makes, drops, or changes the partitions of."""
    if isinstance(change, CreateObject | DropObject):
        return (change.object,) if isinstance(change.object, Table) else ()
    if isinstance(change, MovePartitions):
        return change.source, change.target
    if isinstance(change, WritePartitions | AddPartitions | DropPartitions | TruncatePartitions):
        return (change.table,)
    if isinstance(change, DefinitionChange | PartitionNote):
        return ()
    assert_never(change)
