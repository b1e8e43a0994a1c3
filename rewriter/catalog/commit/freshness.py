"""Freshness: a rollup partition is fresh if it matches the base partitions inside its time.

Every write of base content in a base table of a fact is an event with the number of its commit. The files of an
external base table are written by others; there the events are a new partition and a detected change of files. A
rollup partition is fresh if no event inside its time is newer than its ``as_of``, the newest commit of the base that
its content includes. Dropping a base partition is retention: it is no event, and it does not undo one.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.facts.time_binding import Combination, Slot, TimeBinding, overlapped
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.origins import Origin, OriginKind, Origins, merged_origins
from rewriter.catalog.model.proofs import FROM_UNPROVEN, INCOMPLETE, NO_BASE_READ, REGISTERED, UNKNOWN, Proof
from rewriter.catalog.model.stored_rows import values_in
from rewriter.catalog.store import schema
from rewriter.errors import DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline import runs
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.timeline.calendars import Period

#: The tables that a query scanned, by id: the key ranges read, or ``None`` for all.
Sources = Mapping[int, Sequence[KeyRange] | None]


class BaseContent:
    """The events in the base tables of a fact after a commit, by rollup period."""

    def __init__(
        self, connection: sa.Connection, bindings: Sequence[TimeBinding], after: int, before: int = schema.NEVER
    ) -> None:
        """Reads the events with commit numbers above ``after``, and below ``before``: one indexed statement for each
        base table.
        """
        self._bases = [binding for binding in bindings if binding.has_base]
        self._events: dict[int, list[tuple[Slot | None, Combination, int]]] = {}
        self._newest_by_time: dict[str, int] = {}
        self._by_period: dict[tuple[int | None, int, Period], dict[tuple[int, Combination], int]] = {}
        row = schema.partitions
        for binding in self._bases:
            joined = binding.storage_table.joined
            of_table = (row.c.table_id == binding.table.id, row.c.commit_seq < before)
            query: sa.Select[Any] = sa.select(row.c.partition_values, row.c.commit_seq).where(*of_table)
            if joined > after:
                query = _events_at_joining(query, binding)
            else:
                query = query.where(row.c.commit_seq > after, row.c.as_of != REGISTERED)
            written = connection.execute(query)
            for values, commit in written:
                self._note(binding, values_in(values, binding.table.name), max(commit, joined))

    def _note(self, binding: TimeBinding, values: tuple[str | None, ...], commit: int) -> None:
        try:
            slot = binding.locate(values)
        except DataError:
            return  # A dropped partition from before the fact: it was never in a timeline.
        if slot is None or binding.is_base(slot.period):
            self._events.setdefault(binding.table.id, []).append((slot, binding.combination(values, slot), commit))
            key = binding.time_key
            self._newest_by_time[key] = max(commit, self._newest_by_time.get(key, UNKNOWN))

    def newest(self, binding: TimeBinding, slot: Slot, combination: Combination | None = ()) -> int:
        """Returns the newest event that may affect a rollup partition; ``UNKNOWN`` if there is none.

        ``combination`` identifies the partition within its period. Base partitions do not affect it if they have
        another value in a column of both tables, or lie in no such period of another time of both tables. ``None``
        takes every base partition of its time into account. Base partitions with another leading time may hold rows of
        any time, so each of them counts.
        """
        commits = [commit for key, commit in self._newest_by_time.items() if key != binding.time_key]
        for base in self._bases:
            if base.time_key == binding.time_key:
                common_indexes = () if combination is None else binding.common_elements(base)
                shared_values = tuple((combination or ())[position] for position, _ in common_indexes)
                index = self._index(None if combination is None else binding, base, slot.period)
                commits.append(index.get((slot.ordinal, shared_values), UNKNOWN))
        return max(commits, default=UNKNOWN)

    def _index(
        self, rollup: TimeBinding | None, base: TimeBinding, period: Period
    ) -> dict[tuple[int, Combination], int]:
        """Returns the newest events of one base table, by the ordinal of a rollup period and the values that its
        combinations share with the rollup's combinations. Without a rollup, all combinations count together.
        """
        index_key = (rollup.table.id if rollup else None, base.table.id, period)
        cached = self._by_period.get(index_key)
        if cached is not None:
            return cached
        newest = self._by_period[index_key] = {}
        for slot, combination, commit in self._events.get(base.table.id, ()):
            if slot is not None:
                rollup_values = base.common_values(slot.period, combination, rollup, period) if rollup else ((),)
                for values, ordinal in itertools.product(rollup_values, overlapped(slot, period)):
                    newest[ordinal, values] = max(commit, newest.get((ordinal, values), UNKNOWN))
        return newest

    def is_fresh(self, binding: TimeBinding, slot: Slot, as_of: int, combination: Combination = ()) -> bool:
        """Returns True if a rollup partition with this ``as_of`` is fresh."""
        return as_of != UNKNOWN and self.newest(binding, slot, combination) <= as_of


def _events_at_joining(query: sa.Select[Any], base: TimeBinding) -> sa.Select[Any]:
    """Selects the events of a base table that was added to its fact: its content at that commit came with it."""
    row, ender, joined = schema.partitions, schema.write_ids, base.storage_table.joined
    its_end = sa.and_(ender.c.object_id == row.c.table_id, ender.c.write_id == row.c.ended)
    query = query.join_from(row, ender, its_end, isouter=True)
    query = query.where(sa.or_(row.c.ended == schema.NEVER, ender.c.commit_seq >= joined))
    if base.table.external:  # No digest covers the files that it had.
        return query.where(sa.or_(row.c.as_of != REGISTERED, row.c.commit_seq < joined))
    return query.where(row.c.as_of != REGISTERED)


@dataclass(frozen=True)
class _ReadTimes:
    """The times that a query read of a table: base periods and fresh rollups, and rollups of the other states."""

    complete: RangeSet = RangeSet.EMPTY
    incomplete: RangeSet = RangeSet.EMPTY
    unproven: RangeSet = RangeSet.EMPTY
    stale: RangeSet = RangeSet.EMPTY


@dataclass(frozen=True)
class _ReadOrigins:
    """The origins of a rollup partition that a query read, the word of its own owner included."""

    binding: TimeBinding
    slot: Slot
    combination: Combination
    origins: Origins


class Provenance:
    """The newest base commit that the rollup partitions computed by one transaction include."""

    def __init__(
        self,
        snapshot: Snapshot,
        sources: Sources,
        bindings: Sequence[TimeBinding],
        fact_commit: int,
    ) -> None:
        """``snapshot`` is what the transaction read, ``fact_commit`` the commit that created the fact."""
        self._snapshot = snapshot
        self._sources = {
            binding.table.id: sources[binding.table.id] for binding in bindings if binding.table.id in sources
        }
        self._read_bindings = [binding for binding in bindings if binding.table.id in self._sources]
        self._bindings = bindings
        self._fact_created_after_snapshot = fact_commit > snapshot.sequence
        #: The stale times, computed at the first call.
        self._outdated_times: RangeSet | None = None
        #: The times read from base periods and fresh rollups, and from unproven rollups.
        self._complete = self._unproven = RangeSet.EMPTY
        self._read: set[Period] = set()
        #: Partitions that were not read although others of their period were, each with its combination.
        self._unread_parts: list[tuple[TimeBinding, Slot, Combination]] = []
        #: The times of base periods of several partitions, none of which was read, by table.
        self._unread: list[tuple[TimeBinding, RangeSet]] = []
        self._unread_times_cache: dict[tuple[int, Period, Combination], RangeSet] = {}
        #: What was read on others' word, by the start of its time.
        self._read_origins: list[_ReadOrigins] = []

    def proof(self, binding: TimeBinding, slot: Slot, combination: Combination) -> Proof:
        """Returns the proof of a partition: ``as_of``, and ``INCOMPLETE`` if part of its time was not read.

        The partition is unproven if the query read no table of the fact.
        """
        if not self._read_bindings:
            return Proof(UNKNOWN, NO_BASE_READ)
        as_of, time = self._as_of(binding, slot, combination), RangeSet.of(TimeRange(slot.start, slot.end))
        if self._unproven & time:
            return Proof(UNKNOWN, FROM_UNPROVEN)
        if as_of == UNKNOWN:
            return Proof(UNKNOWN)
        if self._fact_created_after_snapshot:
            # The snapshot has no timelines of the fact, so the commit judges which base periods exist.
            return Proof(as_of, INCOMPLETE)
        if any(b.time_key != binding.time_key for b in self._bindings):
            return Proof(as_of)
        read_at = self._snapshot.sequence
        origins = merged_origins(o._replace(as_of=read_at) for o in self._origins_in(binding, slot, combination))
        return Proof(as_of, INCOMPLETE if time - self._complete else None, origins)

    def _origins_in(self, binding: TimeBinding, slot: Slot, combination: Combination) -> Iterator[Origin]:
        """Yields what the rollups inside a slot rest on that were read."""
        first = bisect_left(self._read_origins, slot.start, key=attrgetter("slot.start"))
        for read in itertools.islice(self._read_origins, first, None):
            if read.slot.start >= slot.end:
                return
            if _may_affect(read.binding, read.slot, read.combination, binding, slot.period, combination):
                yield from read.origins

    def _as_of(self, binding: TimeBinding, slot: Slot, combination: Combination) -> int:
        """Returns the commit up to which the partition includes its base: the commit of the snapshot.

        A rollup that was fresh in the snapshot equals the base in it, whenever it was written. Returns ``UNKNOWN`` if
        one that was not fresh was read, or one whose period does not nest in the slot, or if a base partition inside
        the slot was neither read nor included in a rollup that was. Base partitions that retention dropped count,
        because they cannot be read any more. In a period of several partitions, those with another value in a column of
        both tables do not count, and need not be read.
        """
        if self._fact_created_after_snapshot or any(b.time_key != binding.time_key for b in self._bindings):
            proven = self._all_bases_whole() and binding.base_period.nests_in(slot.period)
            return self._snapshot.sequence if proven else UNKNOWN
        time = RangeSet.of(TimeRange(slot.start, slot.end))
        if (self._unusable_times() | self._times_of_unread_parts(binding, slot.period, combination)) & time:
            return UNKNOWN
        if any(
            self._misses_content(base, unread & time, binding, slot.period, combination)
            for base, unread in self._unread
        ):
            return UNKNOWN
        if not all(period.nests_in(slot.period) for period in self._read):
            return UNKNOWN  # weeks do not add up to months
        return self._snapshot.sequence

    def _is_whole_base(self, binding: TimeBinding) -> bool:
        """Returns True if a table was read whole that holds base partitions and no rollups, which may be outdated."""
        return binding.has_base and not binding.rollup_periods and self._sources[binding.table.id] is None

    def _all_bases_whole(self) -> bool:
        """Returns True if exactly the base tables were read, all of them whole, and retention dropped nothing."""
        bases = [binding for binding in self._bindings if binding.has_base]
        if any(binding.table.id not in self._sources for binding in bases) or not all(
            map(self._is_whole_base, self._read_bindings)
        ):
            return False
        return self._fact_created_after_snapshot or not any(self._retired(b) or self._open(b) for b in bases)

    def _fresh(self, binding: TimeBinding, period: Period) -> PartitionTimeline:
        return self._snapshot.timeline(binding.table.name, period, binding.time_key)

    def _open(self, binding: TimeBinding) -> RangeSet:
        """Returns the time of base periods that streams fill."""
        line = self._snapshot.open(binding.table.name, binding.base_period, binding.time_key)
        return times_of(binding.base_period, line)

    def _retired(self, binding: TimeBinding) -> RangeSet:
        """Returns the time of base periods that were dropped, entirely or in part."""
        line = self._snapshot.retired(binding.table.name, binding.base_period, binding.time_key)
        return times_of(binding.base_period, line)

    def _unusable_times(self) -> RangeSet:
        """Returns the time of outdated rollups that were read, and of base partitions that were not read at all."""
        if self._outdated_times is None:
            stale, read = RangeSet.EMPTY, RangeSet.EMPTY
            for binding in self._read_bindings:
                times = self._read_table(binding)
                stale, read = stale | times.stale, read | times.complete | times.incomplete
                self._complete, self._unproven = self._complete | times.complete, self._unproven | times.unproven
            for binding in self._bindings:
                if binding.has_base:
                    stale |= self._retired(binding) - read
                    unread = times_of(binding.base_period, self._fresh(binding, binding.base_period)) - read
                    if binding.parted and binding in self._read_bindings:
                        self._unread.append((binding, unread))
                    else:
                        stale |= unread
            self._outdated_times = stale
            self._read_origins.sort(key=attrgetter("slot.start"))
        return self._outdated_times

    def _read_table(self, binding: TimeBinding) -> _ReadTimes:
        """Returns the times that were read of a table."""
        if self._is_whole_base(binding) and len(binding.storage_table.layouts) == 1:
            self._read.add(binding.base_period)
            return _ReadTimes(complete=times_of(binding.base_period, self._fresh(binding, binding.base_period)))
        table, snapshot = binding.table, self._snapshot
        lines = {
            period: {
                "complete": self._fresh(binding, period),
                "incomplete": snapshot.incomplete(table.name, period, binding.time_key),
                "unproven": snapshot.unproven(table.name, period, binding.time_key),
            }
            for period in binding.storage_table.layouts
        }
        ordinals: dict[Period, set[int]] = {period: set() for period in lines}
        read: dict[Slot, set[bytes]] = {}
        coarser_periods, is_parted = binding.coarser_periods, binding.parted
        origins = snapshot.origins(table) if coarser_periods else {}
        partitions = snapshot.partitions(table, self._sources[table.id])
        # A base has many partitions: nothing is called for each of them.
        for partition, place in zip(partitions, binding.places([p.values for p in partitions]), strict=True):
            if place is None:
                continue
            period, ordinal = place
            ordinals[period].add(ordinal)
            if is_parted:
                read.setdefault(Slot(period, ordinal), set()).add(partition.key)
            if period in coarser_periods:
                slot = Slot(period, ordinal)
                rests_on = (*_word_of(binding, slot), *origins.get(partition.key, ()))
                combination = binding.combination(partition.values, slot) if rests_on else ()
                self._read_origins += [_ReadOrigins(binding, slot, combination, rests_on)] if rests_on else []
        if is_parted:
            self._note_unread(binding, read)
        times = dict.fromkeys(("complete", "incomplete", "unproven", "stale"), RangeSet.EMPTY)
        for period in lines:
            if ordinals[period]:
                self._read.add(period)
                left = [*runs.ranges(*runs.of_ordinals(ordinals[period]))]
                # The lines may have many more ranges than were read.
                for state, line in lines[period].items():
                    times[state] |= _times_of_runs(period, [part for run in left for part in line.covered(run)])
                    left = [part for run in left for part in line.missing(run)]
                if period in binding.rollup_periods:
                    times["stale"] |= _times_of_runs(period, left)
        return _ReadTimes(**times)

    def _note_unread(self, binding: TimeBinding, read: Mapping[Slot, Collection[bytes]]) -> None:
        """Notes the partitions with content that were not read although others of their period were."""
        for period in {slot.period for slot in read}:
            ordinals = [slot.ordinal for slot in read if slot.period is period]
            keys = binding.key_ranges(period, OrdinalRange(min(ordinals), max(ordinals) + 1))
            for partition in self._snapshot.partitions(binding.table, keys):
                slot = binding.locate(partition.values)
                has_content = partition.files or binding.table.external
                if slot is not None and has_content and partition.key not in read.get(slot, (partition.key,)):
                    self._unread_parts.append((binding, slot, binding.combination(partition.values, slot)))

    def _misses_content(
        self, base: TimeBinding, unread: RangeSet, rollup: TimeBinding, period: Period, combination: Combination
    ) -> bool:
        """Returns True if an unread base partition with content affects a rollup partition."""
        for unread_time in unread:
            ordinals = OrdinalRange(
                base.base_period.ordinal(unread_time.start), base.base_period.ordinal(unread_time.end - 1) + 1
            )
            for partition in self._snapshot.partitions(base.table, base.key_ranges(base.base_period, ordinals)):
                slot = base.locate(partition.values)
                has_content = partition.files or base.table.external
                if slot is None or not has_content or not unread.contains(slot.start):
                    continue
                base_combination = base.combination(partition.values, slot)
                if base.is_base(slot.period) and _may_affect(base, slot, base_combination, rollup, period, combination):
                    return True
        return False

    def _times_of_unread_parts(self, rollup: TimeBinding, period: Period, combination: Combination) -> RangeSet:
        """Returns the time of the unread partitions that affect rollups of a period with this combination."""
        cache_key = (rollup.table.id, period, combination)
        if cache_key not in self._unread_times_cache:
            self._unread_times_cache[cache_key] = RangeSet(
                TimeRange(slot.start, slot.end)
                for base, slot, base_combination in self._unread_parts
                if _may_affect(base, slot, base_combination, rollup, period, combination)
            )
        return self._unread_times_cache[cache_key]


def _may_affect(
    base: TimeBinding,
    slot: Slot,
    base_values: Combination,
    rollup: TimeBinding,
    period: Period,
    combination: Combination,
) -> bool:
    """Returns True if a base partition may hold rows of the rollups of a period with this combination."""
    shared_values = tuple(combination[index] for index, _ in rollup.common_elements(base))
    return shared_values in base.common_values(slot.period, base_values, rollup, period)


def _word_of(binding: TimeBinding, slot: Slot) -> Origins:
    """Returns the declaration that the rollups of a TRUSTED table rest on; nothing for other tables."""
    if not binding.is_trusted:
        return ()
    return (Origin(OriginKind.TRUSTED, binding.table.id, int(slot.period), REGISTERED, slot.start, slot.end),)


def as_sources(sources: Collection[int] | Sources) -> Sources:
    """Converts ids of tables to sources that were read whole; returns a mapping unchanged."""
    return sources if isinstance(sources, Mapping) else dict.fromkeys(sources)


def times_of(period: Period, timeline: PartitionTimeline) -> RangeSet:
    """Returns the time of the periods on a timeline."""
    return _times_of_runs(period, timeline.ranges())


def _times_of_runs(period: Period, ordinals: Iterable[OrdinalRange]) -> RangeSet:
    return RangeSet(TimeRange(period.start(run.start), period.start(run.end)) for run in ordinals)
