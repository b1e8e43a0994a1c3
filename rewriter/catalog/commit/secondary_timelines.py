"""Timelines of the time dimensions other than the leading one: the values that live partitions have.

Many partitions may have one value of such a dimension, so a value leaves its timeline only with the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rewriter.catalog.commit.stored_timelines import ABSENT, TimelineChange
from rewriter.catalog.facts.time_binding import Slot, TimeBinding
from rewriter.catalog.model.objects import PartitionValues
from rewriter.catalog.store.schema import FRESH
from rewriter.timeline.calendars import Period


class SecondaryTimelines:
    """Collects the changes of one commit to the values of other times in the tables of a fact."""

    def __init__(self) -> None:
        #: By table: the noted values, by time dimension, and True if a partition that has them certainly exists.
        self._noted: dict[int, dict[tuple[str, Slot], bool]] = {}

    def note_written(self, binding: TimeBinding, values: PartitionValues) -> None:
        """Notes that a partition exists."""
        self._note(binding, values, is_live=True)

    def note_dropped(self, binding: TimeBinding, values: PartitionValues) -> None:
        """Notes that a partition was dropped or wiped."""
        self._note(binding, values, is_live=False)

    def changes(
        self, binding: TimeBinding, live: Callable[[], Iterable[PartitionValues]]
    ) -> Mapping[tuple[str, Period], TimelineChange]:
        """Returns the changes of a table's timelines, by (time dimension, period).

        ``live`` returns the values of the current partitions. It is called only if one was dropped: O(partitions of the
        table).
        """
        noted = self._noted.pop(binding.table.id, {})
        lost_slots = {slot_key for slot_key, is_live in noted.items() if not is_live}
        for values in live() if lost_slots else ():
            lost_slots.difference_update(binding.other_slots(values))
            if not lost_slots:
                break
        changes: dict[tuple[str, Period], TimelineChange] = {}
        for key, slot in noted:
            change = changes.setdefault((key, slot.period), TimelineChange())
            change.states[slot.ordinal] = ABSENT if (key, slot) in lost_slots else frozenset({FRESH})
        return changes

    def _note(self, binding: TimeBinding, values: PartitionValues, *, is_live: bool) -> None:
        for slot_key in binding.other_slots(values):
            self._noted.setdefault(binding.table.id, {})[slot_key] = is_live
