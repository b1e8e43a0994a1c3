"""One commit: checks, rows, timelines, freshness and the log, inside one short write transaction."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog import compact_changes, statistics_changes
from rewriter.catalog.changes import (
    AddPartitions,
    AlterColumns,
    AlterPartitions,
    AlterTable,
    Change,
    CompactPartitions,
    CreateObject,
    DropObject,
    MovePartitions,
    NoteStatistics,
    RefreshTimelines,
    RenameObject,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.context import CommitContext
from rewriter.catalog.factwork import FactWorks
from rewriter.catalog.move_changes import MoveChanges
from rewriter.catalog.object_changes import ObjectChanges
from rewriter.catalog.partition_changes import PartitionChanges


def apply(context: CommitContext, changes: Sequence[Change]) -> None:
    """Makes all changes, in order, and writes the log. Whatever it raises, the caller rolls everything back."""
    works = FactWorks(context)
    objects, partitions, moves = (
        ObjectChanges(context, works),
        PartitionChanges(context, works),
        MoveChanges(context, works),
    )
    partitions.check_conflicts(changes)
    for change in changes:
        if isinstance(change, CreateObject):
            objects.create(change.object)
        elif isinstance(change, DropObject):
            objects.drop(change.object)
        elif isinstance(change, RenameObject):
            objects.rename(change)
        elif isinstance(change, AlterTable):
            objects.alter(change)
        elif isinstance(change, AlterColumns):
            objects.alter_columns(change)
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
            statistics_changes.note(context, change)
        elif isinstance(change, CompactPartitions):
            compact_changes.compact(context, change)
        else:
            partitions.drop(change)
    works.finish()
    context.write_log()
