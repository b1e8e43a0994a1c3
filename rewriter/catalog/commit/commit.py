"""One commit: checks, rows, timelines, freshness and the log, inside one short write transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from rewriter.catalog.commit import (
    batch_changes,
    compact_changes,
    exposures,
    external_file_changes,
    location_claims,
    property_changes,
    statistics_changes,
    stored_credentials,
)
from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.copy_changes import CopyChanges
from rewriter.catalog.commit.move_changes import MoveChanges
from rewriter.catalog.commit.object_changes import ObjectChanges
from rewriter.catalog.commit.partition_changes import PartitionChanges
from rewriter.catalog.commit.partition_commits import PartitionCommits
from rewriter.catalog.commit.timeline_updates import FactTimelineUpdates
from rewriter.catalog.model.changes import (
    AcceptPartitions,
    AddCopies,
    AddPartitions,
    AlterColumns,
    AlterDatabase,
    AlterPartitions,
    AlterStorages,
    AlterTable,
    Change,
    CommitBatch,
    CommitPartitions,
    CompactPartitions,
    CreateObject,
    DropCopies,
    DropObject,
    DropPartitions,
    MovePartitions,
    NoteFiles,
    NoteStatistics,
    RefreshTimelines,
    RejectPartitions,
    RenameObject,
    SetCatalogProperty,
    SetClusters,
    SetLateness,
    SetTrusted,
    TruncatePartitions,
    WritePartitions,
)


def apply(context: CommitContext, changes: Sequence[Change], *, is_rehearsal: bool = False) -> None:
    """Makes all changes, in order, and writes the log. If it raises, the caller rolls everything back.

    A commit makes the directories of exposed tables (``exposures``); a rehearsal does not.
    """
    timeline_updates = FactTimelineUpdates(context)
    commits = PartitionCommits(context, timeline_updates)
    objects, partitions, moves = (
        ObjectChanges(context, timeline_updates),
        PartitionChanges(context, timeline_updates, commits),
        MoveChanges(context, timeline_updates),
    )
    copies = CopyChanges(context, objects)
    partitions.check_conflicts(changes)
    for change in changes:
        stored_credentials.check(change)
        if isinstance(change, CreateObject):
            objects.create(change.object)
        elif isinstance(change, DropObject):
            objects.drop(change.object)
        elif isinstance(change, RenameObject):
            objects.rename(change)
        elif isinstance(change, SetCatalogProperty):
            property_changes.set_property(context, objects, change)
        elif isinstance(change, AlterDatabase):
            objects.alter_database(change.database)
        elif isinstance(change, AlterTable):
            objects.alter(change)
        elif isinstance(change, AlterColumns):
            objects.alter_columns(change)
        elif isinstance(change, SetLateness):
            objects.set_lateness(change)
        elif isinstance(change, SetTrusted):
            objects.set_trusted(change)
        elif isinstance(change, AcceptPartitions):
            moves.accept(change)
        elif isinstance(change, RejectPartitions):
            moves.reject(change)
        elif isinstance(change, AlterStorages):
            objects.alter_storages(change)
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
        elif isinstance(change, NoteFiles):
            external_file_changes.note(context, timeline_updates, change)
        elif isinstance(change, CompactPartitions):
            compact_changes.compact(context, change)
        elif isinstance(change, CommitBatch):
            batch_changes.note(context, change, commits)
        elif isinstance(change, CommitPartitions):
            commits.commit(change)
        elif isinstance(change, AddCopies):
            copies.add(change)
        elif isinstance(change, DropCopies):
            copies.drop(change)
        elif isinstance(change, SetClusters):
            copies.set_clusters(change)
        elif isinstance(change, DropPartitions):
            partitions.drop(change)
        else:
            assert_never(change)
        copies.follow(change)
    location_claims.check(context, changes)
    timeline_updates.finish()
    made = exposures.expose(context, changes, is_rehearsal=is_rehearsal)
    try:
        context.write_log()
    except BaseException:
        exposures.discard(context, made)
        raise
