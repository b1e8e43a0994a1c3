"""The base periods of a fact that exist after a commit. They distinguish an incomplete rollup from a complete one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import sqlalchemy as sa

from rewriter.catalog.commit.completeness import PeriodPartitions
from rewriter.catalog.commit.freshness import times_of
from rewriter.catalog.commit.origin_changes import has_dependents
from rewriter.catalog.commit.stored_timelines import States, TimelineChange, stored_lines
from rewriter.catalog.facts.time_binding import Slot, TimeBinding
from rewriter.catalog.store import schema
from rewriter.timeline.ranges import RangeSet, TimeRange


class BasePresence:
    """The base periods that exist, or that retention dropped.

    A period of several partitions counts if its existing and its dropped partitions together make it whole. Dropping
    half of a period does not make the other half exist.
    """

    def __init__(
        self,
        connection: sa.Connection,
        bindings: Sequence[TimeBinding],
        rebuilt: Collection[int],
        parts: PeriodPartitions,
    ) -> None:
        """``rebuilt`` are the ids of the tables whose timelines the commit builds from scratch."""
        self._connection = connection
        self._parts = parts
        self._bindings = [binding for binding in bindings if binding.has_base]
        self._rebuilt = rebuilt
        self._changes: dict[int, TimelineChange] = {}
        self._present: dict[str, RangeSet] = {}
        self._stale: dict[str, RangeSet] = {}
        #: By time dimension: the periods of several partitions, one of which retention dropped, by table.
        self._retired: dict[str, list[tuple[TimeBinding, RangeSet]]] = {}

    def change(self, binding: TimeBinding, change: TimelineChange) -> None:
        """Notes the change of a table's base periods by this commit. Must be called before any other method."""
        self._changes[binding.table.id] = change

    def is_whole(self, binding: TimeBinding, slot: Slot) -> bool:
        """Returns True if every base period inside a slot exists.

        Runs one statement for each base table, at the first call. Runs one more for each run of periods inside the slot
        that consist of several partitions, one of which retention dropped.
        """
        key = binding.time_key
        if key not in self._present:
            self._read(key)
        missing = RangeSet.of(TimeRange(slot.start, slot.end)) - self._present[key]
        for base, retired in self._retired[key]:
            missing -= self._once_whole(base, retired & missing)
        return not missing

    def checked(self, binding: TimeBinding, slot: Slot, states: States, dependent: bool) -> States:
        """Returns the final state of a rollup slot that would be fresh.

        It is outdated over a base period that is. A ``dependent`` slot is right only if the whole base exists.
        """
        if states != {schema.FRESH} or binding.is_trusted:
            return states
        if self._is_stale(binding, slot):
            return frozenset({schema.OUTDATED})
        if dependent and not self.is_whole(binding, slot):
            return frozenset({schema.INCOMPLETE})
        return states

    @cached_property
    def _copied_bases(self) -> Sequence[TimeBinding]:
        """The base tables with partitions that rest on others: only these become outdated."""
        return [base for base in self._bindings if has_dependents(self._connection, base.table.id)]

    def _is_stale(self, binding: TimeBinding, slot: Slot) -> bool:
        """Returns True if a base period inside a slot rests on content that has changed. Base periods with another
        leading time may hold rows of any time.
        """
        for base in self._copied_bases:
            if base.time_key not in self._present:
                self._read(base.time_key)
        time = RangeSet.of(TimeRange(slot.start, slot.end))
        stale_times = self._stale.items() if self._copied_bases else ()
        return any(stale if key != binding.time_key else stale & time for key, stale in stale_times)

    def _read(self, key: str) -> None:
        """Reads the times of all base periods of one time dimension that exist, and of those that retention dropped."""
        present: list[TimeRange] = []
        stale = RangeSet.EMPTY
        self._retired[key] = []
        for binding in self._bindings:
            if binding.time_key == key:
                period, table = binding.base_period, binding.table
                lines = stored_lines(None if table.id in self._rebuilt else self._connection, table.id, period, key)
                if table.id in self._changes:
                    self._changes[table.id].apply(lines)
                retired = times_of(period, lines[schema.RETIRED])
                present += times_of(period, lines[schema.FRESH])
                stale |= times_of(period, lines[schema.OUTDATED]) | times_of(period, lines[schema.UNPROVEN])
                if binding.parted:
                    self._retired[key].append((binding, retired))
                else:
                    present += retired
        self._present[key], self._stale[key] = RangeSet(present), stale

    def _once_whole(self, base: TimeBinding, retired: RangeSet) -> RangeSet:
        """Returns the periods all of whose required partitions exist or were dropped."""
        period = base.base_period
        slots = [
            Slot(period, ordinal)
            for time in retired
            for ordinal in range(period.ordinal(time.start), period.ordinal(time.end - 1) + 1)
        ]
        parts_by_slot = self._parts.of(base, slots)
        return RangeSet(
            TimeRange(slot.start, slot.end)
            for slot, parts in parts_by_slot.items()
            if base.is_whole({part.combination for part in parts if not part.proof.is_open})
        )
