"""One commit: checks, rows, timelines, freshness and the log, inside one short write transaction."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.changes import (
    AddPartitions,
    AlterTable,
    Change,
    CreateObject,
    DropObject,
    RefreshTimelines,
    WritePartitions,
)
from rewriter.catalog.context import CommitContext
from rewriter.catalog.factwork import FactWorks
from rewriter.catalog.object_changes import ObjectChanges
from rewriter.catalog.partition_changes import PartitionChanges


def apply(context: CommitContext, changes: Sequence[Change]) -> None:
    """Makes all changes, in order, and writes the log. Whatever it raises, the caller rolls everything back."""
    works = FactWorks(context)
    objects, partitions = ObjectChanges(context, works), PartitionChanges(context, works)
    partitions.check_conflicts(changes)
    for change in changes:
        if isinstance(change, CreateObject):
            objects.create(change.object)
        elif isinstance(change, DropObject):
            objects.drop(change.object)
        elif isinstance(change, AlterTable):
            objects.alter(change)
        elif isinstance(change, RefreshTimelines):
            objects.refresh_timelines(change.fact)
        elif isinstance(change, WritePartitions):
            partitions.write(change)
        elif isinstance(change, AddPartitions):
            partitions.add(change)
        else:
            partitions.drop(change)
    works.finish()
    context.write_log()
