"""Freshness: whether a rollup partition still says what the base partitions below it say.

Every write of base content, in a managed base table of a fact, is an event with the number of its commit. A rollup
partition is fresh where no event inside its time is newer than its ``as_of``, the commit up to which its content knows
the base. Dropping base partitions is retention and no event; neither does it undo one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.binding import Combination, Slot, TimeBinding, overlapped
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.snapshot import Snapshot
from rewriter.errors import DataError
from rewriter.timeline.calendars import Period
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline

#: The ``as_of`` of content of which nothing can be proven.
UNKNOWN = -1
#: The ``as_of`` of a partition that was registered empty. A rollup is right so where no base content ever was; a base
#: partition is no event.
REGISTERED = 0

#: The tables that a query scanned, by id: the key ranges read, or ``None`` for all.
Sources = Mapping[int, Sequence[KeyRange] | None]


class BaseContent:
    """The events in the base tables of a fact after a commit, asked by rollup period."""

    def __init__(self, connection: sa.Connection, bindings: Sequence[TimeBinding], after: int) -> None:
        """Reads the events with commit numbers above ``after``: one indexed statement for each base table."""
        self._bases = [binding for binding in bindings if binding.has_base and not binding.table.external]
        self._events: dict[int, list[tuple[Slot | None, Combination, int]]] = {}
        self._newest_by_time: dict[str, int] = {}
        self._by_period: dict[tuple[int | None, int, Period], dict[tuple[int, Combination], int]] = {}
        row = schema.partitions
        for binding in self._bases:
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
            self._events.setdefault(binding.table.id, []).append((slot, binding.combination(values, slot), commit))
            key = binding.time_key
            self._newest_by_time[key] = max(commit, self._newest_by_time.get(key, UNKNOWN))

    def newest(self, binding: TimeBinding, slot: Slot, combination: Combination | None = ()) -> int:
        """The newest event that may concern a rollup partition; ``UNKNOWN`` where there is none.

        ``combination`` tells it from the others of its period: base partitions with another value in a column that both
        tables have, or in no such period of another time that both have, do not concern it; ``None`` leaves no base
        partition of its time out. Base partitions that name another leading time may hold rows of any time, so each of
        them counts.
        """
        found = [commit for key, commit in self._newest_by_time.items() if key != binding.time_key]
        for base in self._bases:
            if base.time_key == binding.time_key:
                shared = () if combination is None else binding.shared(base)
                mine = tuple((combination or ())[place] for place, _ in shared)
                index = self._index(None if combination is None else binding, base, slot.period)
                found.append(index.get((slot.ordinal, mine), UNKNOWN))
        return max(found, default=UNKNOWN)

    def _index(
        self, rollup: TimeBinding | None, base: TimeBinding, period: Period
    ) -> dict[tuple[int, Combination], int]:
        """The newest events of one base table by ordinal of a rollup period and what its combinations share with those
        of the rollup; of all combinations together without one.
        """
        place = (rollup.table.id if rollup else None, base.table.id, period)
        known = self._by_period.get(place)
        if known is not None:
            return known
        newest = self._by_period[place] = {}
        for slot, combination, commit in self._events.get(base.table.id, ()):
            if slot is not None:
                seen = base.seen_from(slot.period, combination, rollup, period) if rollup else ((),)
                for values, ordinal in itertools.product(seen, overlapped(slot, period)):
                    newest[ordinal, values] = max(commit, newest.get((ordinal, values), UNKNOWN))
        return newest

    def is_fresh(self, binding: TimeBinding, slot: Slot, as_of: int, combination: Combination = ()) -> bool:
        """Whether a rollup partition with this ``as_of`` is fresh."""
        return as_of != UNKNOWN and self.newest(binding, slot, combination) <= as_of


class Provenance:
    """Up to which commit the rollup partitions that one transaction computes know the base of a fact."""

    def __init__(
        self,
        snapshot: Snapshot,
        sources: Sources,
        bindings: Sequence[TimeBinding],
        fact_commit: int,
    ) -> None:
        """``snapshot`` is what the transaction read, ``fact_commit`` the commit that made the fact."""
        self._snapshot = snapshot
        self._sources = {b.table.id: sources[b.table.id] for b in bindings if b.table.id in sources}
        self._used = [b for b in bindings if b.table.id in self._sources]
        self._bindings = bindings
        self._fact_is_news = fact_commit > snapshot.sequence
        self._unproven: RangeSet | None = None
        self._read: set[Period] = set()
        #: Partitions that were left unread where others of their period were read, each with its combination.
        self._left: list[tuple[TimeBinding, Slot, Combination]] = []
        #: The time of base periods of several partitions of which none was read, by table.
        self._unread: list[tuple[TimeBinding, RangeSet]] = []
        self._concerning: dict[tuple[int, Period, Combination], RangeSet] = {}

    def as_of(self, binding: TimeBinding, slot: Slot, combination: Combination) -> int:
        """The commit up to which the partition knows its base: that of the snapshot.

        A rollup that was fresh in the snapshot says what the base said in it, whenever it was written. ``UNKNOWN``
        where one was read that was not, or whose period does not nest in the slot, or where a base partition inside
        the slot was neither read nor stood in a rollup that was; base partitions that retention dropped count, as they
        cannot be read any more. Of a period of several partitions, those with another value in a column that both
        tables have do not concern it, and need not be read.
        """
        if not self._used:
            return self._snapshot.sequence
        if self._fact_is_news or any(b.time_key != binding.time_key for b in self._bindings):
            proven = self._all_bases_whole() and binding.base_period.nests_in(slot.period)
            return self._snapshot.sequence if proven else UNKNOWN
        time = RangeSet.of(TimeRange(slot.start, slot.end))
        if (self._what_is_unproven() | self._left_unread(binding, slot.period, combination)) & time:
            return UNKNOWN
        if any(self._missed(base, unread & time, binding, slot.period, combination) for base, unread in self._unread):
            return UNKNOWN
        if not all(period.nests_in(slot.period) for period in self._read):
            return UNKNOWN  # weeks do not add up to months
        return self._snapshot.sequence

    def _is_whole_base(self, binding: TimeBinding) -> bool:
        """Whether a table was read whole that holds base partitions, and no rollups that may be outdated."""
        return binding.has_base and not binding.rollup_periods and self._sources[binding.table.id] is None

    def _all_bases_whole(self) -> bool:
        """Whether exactly the base tables were read, all of them whole, and retention dropped nothing."""
        bases = [b for b in self._bindings if b.has_base]
        if any(b.table.id not in self._sources for b in bases) or not all(map(self._is_whole_base, self._used)):
            return False
        return self._fact_is_news or not any(self._retired(b) for b in bases)

    def _fresh(self, binding: TimeBinding, period: Period) -> PartitionTimeline:
        return self._snapshot.timeline(binding.table.name, period, binding.time_key)

    def _retired(self, binding: TimeBinding) -> RangeSet:
        """The time of base periods that were dropped, or of which a partition was."""
        line = self._snapshot.retired(binding.table.name, binding.base_period, binding.time_key)
        return _times(binding.base_period, line)

    def _what_is_unproven(self) -> RangeSet:
        """The time of rollups read that were not fresh, and of base partitions that were not read in any form."""
        if self._unproven is None:
            stale, read = RangeSet.EMPTY, RangeSet.EMPTY
            for binding in self._used:
                stale_here, read_here = self._read_table(binding)
                stale, read = stale | stale_here, read | read_here
            for binding in self._bindings:
                if binding.has_base:
                    stale |= self._retired(binding) - read
                    unread = _times(binding.base_period, self._fresh(binding, binding.base_period)) - read
                    if binding.parted and binding in self._used:
                        self._unread.append((binding, unread))
                    else:
                        stale |= unread
            self._unproven = stale
        return self._unproven

    def _read_table(self, binding: TimeBinding) -> tuple[RangeSet, RangeSet]:
        """The time of what was read of a table: of rollups that were not fresh, and of all that was whole."""
        if self._is_whole_base(binding) and len(binding.storage_table.layouts) == 1:
            self._read.add(binding.base_period)
            return RangeSet.EMPTY, _times(binding.base_period, self._fresh(binding, binding.base_period))
        table, snapshot = binding.table, self._snapshot
        fresh = {period: self._fresh(binding, period) for period in binding.storage_table.layouts}
        stale: list[TimeRange] = []
        base: list[TimeRange] = []
        rollups: list[TimeRange] = []
        read: dict[Slot, set[bytes]] = {}
        for partition in snapshot.partitions(table, self._sources[table.id]):
            slot = binding.locate(partition.values)
            if slot is None:
                continue
            self._read.add(slot.period)
            read.setdefault(slot, set()).add(partition.key)
            time = TimeRange(slot.start, slot.end)
            if fresh[slot.period].exists(slot.ordinal):
                (base if slot.period == binding.base_period else rollups).append(time)
            elif slot.period in binding.rollup_periods:
                stale.append(time)
        if binding.parted:
            self._note_unread(binding, read)
        return RangeSet(stale), RangeSet(base) | RangeSet(rollups)

    def _note_unread(self, binding: TimeBinding, read: Mapping[Slot, Collection[bytes]]) -> None:
        """Notes the partitions with content that were not read, of periods of which others were."""
        for period in {slot.period for slot in read}:
            ordinals = [slot.ordinal for slot in read if slot.period is period]
            keys = binding.key_ranges(period, OrdinalRange(min(ordinals), max(ordinals) + 1))
            for partition in self._snapshot.partitions(binding.table, keys):
                slot = binding.locate(partition.values)
                if slot is not None and partition.files and partition.key not in read.get(slot, (partition.key,)):
                    self._left.append((binding, slot, binding.combination(partition.values, slot)))

    def _missed(
        self, base: TimeBinding, unread: RangeSet, rollup: TimeBinding, period: Period, combination: Combination
    ) -> bool:
        """Whether a base partition with content, in time of which nothing was read, concerns a rollup partition."""
        for one in unread:
            ordinals = OrdinalRange(base.base_period.ordinal(one.start), base.base_period.ordinal(one.end - 1) + 1)
            for partition in self._snapshot.partitions(base.table, base.key_ranges(base.base_period, ordinals)):
                slot = base.locate(partition.values)
                if slot is None or not partition.files or not unread.contains(slot.start):
                    continue
                theirs = base.combination(partition.values, slot)
                if slot.period == base.base_period and _concerns(base, slot, theirs, rollup, period, combination):
                    return True
        return False

    def _left_unread(self, rollup: TimeBinding, period: Period, combination: Combination) -> RangeSet:
        """The time of those that concern rollup partitions of a period with this combination."""
        place = (rollup.table.id, period, combination)
        if place not in self._concerning:
            self._concerning[place] = RangeSet(
                TimeRange(slot.start, slot.end)
                for base, slot, theirs in self._left
                if _concerns(base, slot, theirs, rollup, period, combination)
            )
        return self._concerning[place]


def _concerns(
    base: TimeBinding, slot: Slot, theirs: Combination, rollup: TimeBinding, period: Period, combination: Combination
) -> bool:
    """Whether a partition may hold rows of the rollup partitions of a period with this combination."""
    mine = tuple(combination[place] for place, _ in rollup.shared(base))
    return mine in base.seen_from(slot.period, theirs, rollup, period)


def as_sources(sources: Collection[int] | Sources) -> Sources:
    """Ids of tables as sources that were read whole; a mapping as it is."""
    return sources if isinstance(sources, Mapping) else dict.fromkeys(sources)


def _times(period: Period, line: PartitionTimeline) -> RangeSet:
    return RangeSet(TimeRange(period.start(r.start), period.start(r.end)) for r in line.ranges())
