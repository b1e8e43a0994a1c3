"""Freshness: whether a rollup partition still says what the base partitions below it say.

Every write of base content, in a managed base table of a fact, is an event with the number of its commit. A rollup
partition is fresh where no event inside its time is newer than its ``as_of``, the commit up to which its content knows
the base. Dropping base partitions is retention and no event; neither does it undo one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from rewriter.catalog import reads, schema
from rewriter.catalog.binding import Slot, TimeBinding
from rewriter.catalog.database import Database
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.snapshot import Snapshot
from rewriter.errors import DataError
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timelines import RangesPartitionTimeline

#: The ``as_of`` of content of which nothing can be proven.
UNKNOWN = -1
#: The ``as_of`` of a partition that was registered empty. A rollup is right so where no base content ever was; a base
#: partition is no event.
REGISTERED = 0

#: The tables that a query scanned, by id: the key ranges read, or ``None`` for all.
Sources = Mapping[int, Sequence[KeyRange] | None]


def overlapped(slot: Slot, period: UpdatePeriod) -> range:
    """The ordinals of the periods that share time with the slot."""
    return range(period.ordinal(slot.start), period.ordinal(slot.end - 1) + 1)


class BaseContent:
    """The events in the base tables of a fact after a commit, asked by rollup period."""

    def __init__(self, connection: sa.Connection, bindings: Sequence[TimeBinding], after: int) -> None:
        """Reads the events with commit numbers above ``after``: one indexed statement for each base table."""
        self._events: list[tuple[str, Slot | None, int]] = []
        self._newest_by_time: dict[str, int] = {}
        self._by_period: dict[tuple[str, UpdatePeriod], dict[int, int]] = {}
        row = schema.partitions
        for binding in bindings:
            if not binding.has_base or binding.table.external:
                continue
            query = sa.select(row.c.partition_values, row.c.commit_seq)
            news = (row.c.table_id == binding.table.id, row.c.commit_seq > after, row.c.as_of != REGISTERED)
            written = connection.execute(query.where(*news))
            for values, commit in written:
                self._note(binding, tuple(json.loads(values)), commit)

    def _note(self, binding: TimeBinding, values: tuple[str | None, ...], commit: int) -> None:
        try:
            slot = binding.locate(values)
        except DataError:
            return  # A partition that is gone, from before the fact: no timeline ever held it.
        if slot is None or slot.period == binding.base_period:
            key = binding.time_key
            self._events.append((key, slot, commit))
            self._newest_by_time[key] = max(commit, self._newest_by_time.get(key, UNKNOWN))

    def newest(self, time_key: str, slot: Slot) -> int:
        """The newest event that may concern a rollup partition; ``UNKNOWN`` where there is none.

        Base partitions that name another time dimension may hold rows of any time, so each of them counts.
        """
        index = self._by_period.get((time_key, slot.period))
        if index is None:
            index = self._by_period[time_key, slot.period] = self._index(time_key, slot.period)
        others = (commit for key, commit in self._newest_by_time.items() if key != time_key)
        return max(index.get(slot.ordinal, UNKNOWN), *others, UNKNOWN)

    def _index(self, time_key: str, period: UpdatePeriod) -> dict[int, int]:
        newest: dict[int, int] = {}
        for key, slot, commit in self._events:
            if key == time_key and slot is not None:
                for ordinal in overlapped(slot, period):
                    newest[ordinal] = max(commit, newest.get(ordinal, UNKNOWN))
        return newest

    def is_fresh(self, time_key: str, slot: Slot, as_of: int) -> bool:
        """Whether a rollup partition with this ``as_of`` is fresh."""
        return as_of != UNKNOWN and self.newest(time_key, slot) <= as_of


class Provenance:
    """Up to which commit the rollup partitions that one transaction computes know the base of a fact."""

    def __init__(
        self,
        database: Database,
        snapshot: Snapshot,
        sources: Sources,
        bindings: Sequence[TimeBinding],
        fact_commit: int,
    ) -> None:
        """``snapshot`` is what the transaction read, ``fact_commit`` the commit that made the fact."""
        self._database = database
        self._snapshot = snapshot
        self._sources = {b.table.id: sources[b.table.id] for b in bindings if b.table.id in sources}
        self._used = [b for b in bindings if b.table.id in self._sources]
        self._bindings = bindings
        self._fact_is_news = fact_commit > snapshot.sequence
        self._read: tuple[list[tuple[Slot, int]], RangeSet] | None = None
        self._lacking: RangeSet | None = None
        self._least: dict[UpdatePeriod, dict[int, int]] = {}

    def as_of(self, binding: TimeBinding, slot: Slot) -> int:
        """The commit up to which the partition knows its base: that of the snapshot, or of the oldest rollup read.

        ``UNKNOWN`` where an outdated rollup was read, or where a base partition inside the slot was neither read nor
        stood in a rollup that was; base partitions that retention dropped count, as they cannot be read any more.
        """
        if not self._used:
            return self._snapshot.sequence
        if self._fact_is_news or any(b.time_key != binding.time_key for b in self._bindings):
            return self._snapshot.sequence if self._all_bases_whole() else UNKNOWN
        if self._what_is_lacking() & RangeSet.of(TimeRange(slot.start, slot.end)):
            return UNKNOWN
        least = self._least.get(slot.period)
        if least is None:
            least = self._least[slot.period] = _least_by_ordinal(self._what_was_read()[0], slot.period)
        return min(least.get(slot.ordinal, self._snapshot.sequence), self._snapshot.sequence)

    def _is_whole_base(self, binding: TimeBinding) -> bool:
        """Whether a table was read whole that holds base partitions, and no rollups that may be outdated."""
        return binding.has_base and not binding.rollup_periods and self._sources[binding.table.id] is None

    def _all_bases_whole(self) -> bool:
        """Whether exactly the base tables were read, all of them whole, and retention dropped nothing."""
        bases = [b for b in self._bindings if b.has_base]
        if any(b.table.id not in self._sources for b in bases) or not all(map(self._is_whole_base, self._used)):
            return False
        return self._fact_is_news or all(self._base_line(b, retired=True).is_empty for b in bases)

    def _base_line(self, binding: TimeBinding, *, retired: bool = False) -> RangesPartitionTimeline:
        line = self._snapshot.retired if retired else self._snapshot.timeline
        return line(binding.table.name, binding.base_period, binding.time_key)

    def _what_was_read(self) -> tuple[list[tuple[Slot, int]], RangeSet]:
        """The rollup partitions read, each with its ``as_of``, and all the time that was read."""
        if self._read is None:
            rollups: list[tuple[Slot, int]] = []
            times: list[TimeRange] = []
            for binding in self._used:
                self._read_table(binding, rollups, times)
            self._read = rollups, RangeSet(times)
        return self._read

    def _read_table(self, binding: TimeBinding, rollups: list[tuple[Slot, int]], times: list[TimeRange]) -> None:
        if self._is_whole_base(binding) and len(binding.storage_table.layouts) == 1:
            times += _times(binding.base_period, self._base_line(binding))
            return
        table, key_ranges, snapshot = binding.table, self._sources[binding.table.id], self._snapshot
        outdated = {
            period: snapshot.outdated(table.name, period, binding.time_key) for period in binding.rollup_periods
        }
        with self._database.read() as connection:
            ids = snapshot.write_ids(table.id)
            for partition, as_of in reads.partitions(connection, table, ids, key_ranges):
                slot = binding.locate(partition.values)
                if slot is None:
                    continue
                times.append(TimeRange(slot.start, slot.end))
                if slot.period in outdated:
                    rollups.append((slot, UNKNOWN if outdated[slot.period].exists(slot.ordinal) else as_of))

    def _what_is_lacking(self) -> RangeSet:
        """The time of base partitions, retired ones included, that the transaction did not read in any form."""
        if self._lacking is None:
            needed: list[TimeRange] = []
            for binding in self._bindings:
                if binding.has_base:
                    needed += _times(binding.base_period, self._base_line(binding))
                    needed += _times(binding.base_period, self._base_line(binding, retired=True))
            self._lacking = RangeSet(needed) - self._what_was_read()[1]
        return self._lacking


def as_sources(sources: Collection[int] | Sources) -> Sources:
    """Ids of tables as sources that were read whole; a mapping as it is."""
    return sources if isinstance(sources, Mapping) else dict.fromkeys(sources)


def _times(period: UpdatePeriod, line: RangesPartitionTimeline) -> list[TimeRange]:
    return [TimeRange(period.start(r.start), period.start(r.end)) for r in line.ranges()]


def _least_by_ordinal(rollups: Sequence[tuple[Slot, int]], period: UpdatePeriod) -> dict[int, int]:
    least: dict[int, int] = {}
    for slot, as_of in rollups:
        for ordinal in overlapped(slot, period):
            least[ordinal] = min(as_of, least.get(ordinal, as_of))
    return least
