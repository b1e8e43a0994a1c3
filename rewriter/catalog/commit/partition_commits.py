"""Partition commit as part of a commit: which partitions a stream leaves open, and which are committed now.

A partition is open from the batch that makes it until the trigger of its table fires. The trigger is judged inside the
commit of each batch, so that no failure comes between the two. An open partition has the state OPEN in the timelines of
its fact, which no cover uses, and its rows are no event there. Its commit is one: rollups over its time are outdated
from then on. Rows that a stream adds to a committed partition are late: they count for covers at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.commit import conflicts
from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.conflicts import Claims
from rewriter.catalog.facts.time_binding import Slot, TimeBinding
from rewriter.catalog.model.partition_commit import PartitionCommitRule, rule_of
from rewriter.catalog.model.proofs import NO_BASE_READ, UNKNOWN, Proof
from rewriter.catalog.store import schema
from rewriter.catalog.store.database_server import NOW
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
    from rewriter.catalog.commit.partition_rows import StoredPartition
    from rewriter.catalog.commit.timeline_updates import FactTimelineUpdates
    from rewriter.catalog.model.changes import Batch, CommitPartitions
    from rewriter.catalog.model.objects import PartitionValues, Table
    from rewriter.catalog.reading.snapshot import Snapshot

_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class CommitClock:
    """The state by which one commit judges the trigger of a table. Times are in microseconds since 1970.

    ``rule`` is ``None`` if the table has no trigger: everything is due. ``watermark`` is the watermark of all streams
    of the table; ``None`` if it is unknown.
    """

    rule: PartitionCommitRule | None
    watermark: int | None
    now: int

    def is_due(self, slot: Slot | None, written_at: int) -> bool:
        """Tests whether the partition of a slot is to be committed. The slot is ``None`` in a table of no fact. A
        stream wrote the partition last at the time ``written_at``.
        """
        rule = self.rule
        if rule is None:
            return True
        if rule.by_partition_time:
            return slot is not None and self.watermark is not None and slot.end + rule.delay <= self.watermark
        # A time of the future is one of a clock that was set back.
        return (slot is None or slot.end <= self.now) and abs(self.now - written_at) >= rule.delay


class PartitionCommits:
    """Opens and commits the partitions of the tables of one commit."""

    def __init__(self, context: CommitContext, timeline_updates: FactTimelineUpdates) -> None:
        self._context = context
        self._timeline_updates = timeline_updates
        #: By table and stream: the watermark of the stream with this commit's batch, and its number of late partitions.
        self._watermarks: dict[tuple[int, str], int] = {}
        self._late: dict[tuple[int, str], int] = {}
        #: The rules that were read, by table.
        self._rules: dict[int, PartitionCommitRule | None] = {}

    def left_open(
        self,
        table: Table,
        batch: Batch,
        slots: Mapping[bytes, Slot | None],
        uncommitted: Collection[bytes],
        late: Collection[bytes],
    ) -> Collection[bytes]:
        """Returns the partitions that a stream's batch writes and leaves open.

        ``slots`` are the slots of all its partitions, by key; empty in a table of no fact. ``uncommitted`` are new or
        open; ``late`` were committed before. The partition of NULL time is never open: its period has no end.
        """
        times = [slot.start for slot in slots.values() if slot is not None]
        times += [] if batch.event_time is None else [batch.event_time]
        if times:
            self._watermarks[table.id, batch.stream] = max(times)
        rule = self._rule(table)
        if rule is None:
            return ()
        clock = self._clock(table, rule)
        left_open = {
            key
            for key in uncommitted
            if not (slots and slots[key] is None) and not clock.is_due(slots.get(key), clock.now)
        }
        self._late[table.id, batch.stream] = len(late)
        self._note(table, rule, late, is_late=True)
        self._note(table, rule, [key for key in uncommitted if key not in left_open])
        return left_open

    def watermark(self, table: Table, stream: str) -> int | None:
        """Returns the watermark of a stream that this commit's batch brings, as far as the batch alone tells."""
        return self._watermarks.get((table.id, stream))

    def late(self, table: Table, stream: str) -> int:
        """Returns the number of partitions that this commit's batch of a stream commits again."""
        return self._late.get((table.id, stream), 0)

    def commit(self, change: CommitPartitions) -> None:
        """Commits the open partitions of a change."""
        table = self._context.live_table(change.table)
        stored = [*rows.open_partitions(self._context.connection, table)]
        if change.keys is None:
            self._commit_due(table, stored)
        else:
            named = frozenset(change.keys)
            self._commit(table, [partition for partition, _ in stored if partition.live.key in named])

    def commit_due(self, table: Table) -> None:
        """Commits the open partitions of a table that are due. One statement if none is open."""
        self._commit_due(table, rows.open_partitions(self._context.connection, table))

    def _commit_due(self, table: Table, open_partitions: Sequence[tuple[StoredPartition, float]]) -> None:
        if not open_partitions:
            return
        clock, timeline_update = self._clock(table, self._rule(table)), self._timeline_updates.of(table)
        due = [
            partition
            for partition, written_at in open_partitions
            if partition.commit_seq != self._context.sequence  # The write of this commit has judged it.
            and clock.is_due(_slot(timeline_update, table, partition.live.values), round(written_at * _MICROSECONDS))
        ]
        self._commit(table, due)

    def _commit(self, table: Table, partitions: Sequence[StoredPartition]) -> None:
        """Commits open partitions: each gets a version that is an event of its fact."""
        if not partitions:
            return
        context, timeline_update = self._context, self._timeline_updates.of(table)
        made = context.write_id(table.id)
        committed = []
        for partition in partitions:
            slot = _slot(timeline_update, table, partition.live.values)
            proof = committed_proof(timeline_update, table, slot)
            committed.append(replace(partition, proof=proof, commit_seq=context.sequence))
            if timeline_update is not None:
                timeline_update.note_written(table, partition.live.values, slot, proof)
        keys = [partition.live.key for partition in committed]
        rows.end_partitions(context.connection, [partition.live for partition in partitions], made)
        rows.insert_stored(context.connection, table, committed, made)
        conflicts.record(context.connection, table, Claims(shared_keys=keys), context.sequence)
        self._note(table, self._rule(table), keys)

    def _note(
        self, table: Table, rule: PartitionCommitRule | None, keys: Collection[bytes], *, is_late: bool = False
    ) -> None:
        """Logs commits of partitions, and notes them for the policies of their table."""
        if keys:
            self._context.log("COMMIT_PARTITION", table, partitions=len(keys), late=is_late)
        row, connection = schema.pending_policies, self._context.connection
        for key in keys if rule is not None and rule.policies else ():
            connection.execute(sa.delete(row).where(row.c.table_id == table.id, row.c.key == key))
            values = {"table_id": table.id, "key": key, "commit_seq": self._context.sequence, "late": is_late}
            connection.execute(row.insert(), values)

    def _rule(self, table: Table) -> PartitionCommitRule | None:
        if table.id not in self._rules:
            live = self._context.live(table)
            self._rules[table.id] = None if live is None else rule_of(live.properties)
        return self._rules[table.id]

    def _clock(self, table: Table, rule: PartitionCommitRule | None) -> CommitClock:
        own = {stream: mark for (table_id, stream), mark in self._watermarks.items() if table_id == table.id}
        transaction = schema.transactions.c
        query = sa.select(transaction.heartbeat_at).where(transaction.transaction_id == self._context.transaction_id)
        return _clock(self._context.connection, table, rule, self._context.connection.execute(query).scalar_one(), own)


def due_partitions(connection: sa.Connection, snapshot: Snapshot, table: Table) -> list[bytes]:
    """Returns the keys of the open partitions of a table that are due now. One statement if none is open."""
    open_partitions = rows.open_partitions(connection, table)
    if not open_partitions:
        return []
    fact = snapshot.fact_using(table.name)
    stored = fact.storage_table(table.name) if fact is not None else None
    binding = TimeBinding(fact, stored, table) if fact is not None and stored is not None else None
    now = connection.execute(sa.select(NOW)).scalar_one()
    clock = _clock(connection, table, rule_of(table.properties), now, {})
    return [
        partition.live.key
        for partition, written_at in open_partitions
        if clock.is_due(
            None if binding is None else binding.locate(partition.live.values), round(written_at * _MICROSECONDS)
        )
    ]


def _clock(
    connection: sa.Connection, table: Table, rule: PartitionCommitRule | None, now: float, own: Mapping[str, int]
) -> CommitClock:
    """Returns the clock of a table. ``now`` is in seconds; ``own`` are the watermarks that a commit brings."""
    watermark = None
    if rule is not None and rule.by_partition_time:
        watermark = _table_watermark(connection, table, rule, now, own)
    return CommitClock(rule, watermark, round(now * _MICROSECONDS))


def _table_watermark(
    connection: sa.Connection, table: Table, rule: PartitionCommitRule, now: float, own: Mapping[str, int]
) -> int | None:
    """Returns the least watermark of the streams of a table; ``None`` if one is unknown, or if no stream is active.

    The watermark of a stream is unknown from its first run to its first batch.
    """
    run, last, writer, transaction = schema.streams, schema.batches, schema.write_ids.c, schema.transactions.c
    is_last = sa.and_(last.c.table_id == run.c.table_id, last.c.stream == run.c.stream)
    committed_by = sa.and_(writer.object_id == table.id, writer.commit_seq == last.c.commit_seq)
    query = (
        sa.select(run.c.stream, last.c.watermark, sa.func.coalesce(transaction.heartbeat_at, run.c.started_at))
        .outerjoin_from(run, last, is_last)
        .outerjoin(schema.write_ids, committed_by)
        .outerjoin(schema.transactions, transaction.transaction_id == writer.transaction_id)
        .where(run.c.table_id == table.id)
    )
    watermarks: dict[str, int | None] = dict(own)
    for stream, watermark, active_at in connection.execute(query):
        silent = 0.0 if stream in own else abs(now - active_at)
        if rule.idle_timeout is None or silent * _MICROSECONDS <= rule.idle_timeout:
            watermarks[stream] = greatest(watermark, own.get(stream))
    known_marks = [mark for mark in watermarks.values() if mark is not None]
    return min(known_marks, default=None) if len(known_marks) == len(watermarks) else None


def greatest(first: int | None, second: int | None) -> int | None:
    """Returns the greater of two watermarks, either of which may be unknown."""
    return max((mark for mark in (first, second) if mark is not None), default=None)


def committed_proof(timeline_update: FactTimelineUpdate | None, table: Table, slot: Slot | None) -> Proof:
    """Returns the proof of a partition that a stream has filled: base content is an event, and a rollup is unproven."""
    is_rollup = timeline_update is not None and not timeline_update.is_base(table, slot)
    return Proof(UNKNOWN, NO_BASE_READ if is_rollup else None)


def _slot(timeline_update: FactTimelineUpdate | None, table: Table, values: PartitionValues) -> Slot | None:
    return None if timeline_update is None else timeline_update.binding(table).locate(values)
