"""The files of external partitions of a fact, as part of a commit. A detected change of a base partition is an event
for the fact; a rollup partition becomes unproven by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.partition_rows import LivePartition, StoredPartition
from rewriter.catalog.model.column_statistics import FILES
from rewriter.catalog.model.proofs import BY_OTHER_FILES, UNKNOWN, Proof
from rewriter.catalog.model.stored_rows import properties_in

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
    from rewriter.catalog.commit.timeline_updates import FactTimelineUpdates
    from rewriter.catalog.model.changes import ListedPartition, NoteFiles
    from rewriter.catalog.model.objects import Table


def recorded_digest(properties: Mapping[str, str]) -> str | None:
    """Returns the digest of a partition's files when rollups last used them, or when CHECK FACT accepted the partition;
    ``None`` if unknown.
    """
    return properties.get(FILES)


def is_news(partition: ListedPartition, recorded: str | None) -> bool:
    """Returns True if a listing shows other content than the content of the files with the digest ``recorded``."""
    return partition.before is None or partition.before != partition.after or recorded not in (None, partition.after)


def with_digest(live: LivePartition, digest: str | None) -> LivePartition:
    """Returns the partition with this digest in its properties instead of the old one; ``None`` removes it."""
    properties: dict[str, str] = properties_in(live.properties, live.key)
    properties.pop(FILES, None)
    if digest is not None:
        properties[FILES] = digest
    return live._replace(properties=json.dumps(properties, ensure_ascii=False) if properties else None)


def note(context: CommitContext, timeline_updates: FactTimelineUpdates, change: NoteFiles) -> None:
    """Makes new versions of the partitions whose digest differs. Those with changed content get this commit.

    Reads the rows of the given partitions. Writes nothing if each has its digest already.
    """
    table = context.live(change.table)
    timeline_update = timeline_updates.of(table) if table is not None else None
    if table is None or timeline_update is None:
        return
    listed_partitions = {partition.key: partition for partition in change.partitions}
    changed: list[StoredPartition] = []
    news = 0
    stored = rows.stored_by_key(context.connection, list(listed_partitions))
    for key, partition in stored.items():
        slot = timeline_update.binding(table).locate(partition.live.values)
        if partition.commit_seq == context.sequence:
            continue  # A partition that this commit registers is an event already, or is unproven.
        if not timeline_update.is_base(table, slot):
            rollup = _noted_rollup(timeline_update, table, partition, listed_partitions[key], context.sequence)
            if rollup is not partition:
                changed.append(rollup)
            if rollup.proof != partition.proof:
                news += 1
                timeline_update.note_written(table, rollup.live.values, slot, rollup.proof)
            continue
        digest = recorded_digest(properties_in(partition.live.properties, table.name))
        live = with_digest(partition.live, listed_partitions[key].after)
        if is_news(listed_partitions[key], digest):
            news += 1
            changed.append(StoredPartition(live, Proof(UNKNOWN), partition.sources, context.sequence))
            timeline_update.note_written(table, live.values, slot, Proof(UNKNOWN))
        elif digest != listed_partitions[key].after:
            changed.append(replace(partition, live=live))
    if changed:
        made = context.write_id(table.id)
        rows.end_partitions(context.connection, [stored[partition.live.key].live for partition in changed], made)
        rows.insert_stored(context.connection, table, changed, made)
        context.log("NOTE_FILES", table, partitions=len(changed), changed=news)


def _noted_rollup(
    timeline_update: FactTimelineUpdate, table: Table, stored: StoredPartition, listed: ListedPartition, commit: int
) -> StoredPartition:
    """Returns a rollup partition as it is after ``commit``: unproven if a listing shows other files than the accepted
    ones, or if its files were written. One that is unproven keeps its reason. Otherwise returns ``stored``.
    """
    digest = recorded_digest(properties_in(stored.live.properties, table.name))
    if not is_news(listed, digest) or (digest is None and listed.before is not None):
        return stored
    live = with_digest(stored.live, None)
    if timeline_update.stored_proof(table, stored).is_unproven:
        return stored if digest is None else replace(stored, live=live)
    return StoredPartition(live, Proof(UNKNOWN, BY_OTHER_FILES), stored.sources, commit)
