"""Timelines of the time dimensions beside the leading one: the values that live partitions have.

Many partitions may have one value of such a dimension, so a value leaves its timeline only with the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rewriter.catalog.commit.stored_timelines import ABSENT, TimelineChange
from rewriter.catalog.facts.time_binding import Slot, TimeBinding
from rewriter.catalog.model.objects import PartitionValues
from rewriter.catalog.store.schema import FRESH
from rewriter.timeline.calendars import Period


class OtherTimes:
    """Gathers what one commit does to the values of other times in the tables of a fact."""

    def __init__(self) -> None:
        #: By table: values met, by time dimension, and whether a partition that has them surely lives.
        self._met: dict[int, dict[tuple[str, Slot], bool]] = {}

    def written(self, binding: TimeBinding, values: PartitionValues) -> None:
        """Notes that a partition exists."""
        self._note(binding, values, lives=True)

    def dropped(self, binding: TimeBinding, values: PartitionValues) -> None:
        """Notes that a partition was dropped or wiped."""
        self._note(binding, values, lives=False)

    def changes(
        self, binding: TimeBinding, live: Callable[[], Iterable[PartitionValues]]
    ) -> Mapping[tuple[str, Period], TimelineChange]:
        """Returns the changes of a table's timelines, by (time dimension, period).

        ``live`` returns the values of the current partitions. It is called only if one was dropped: O(partitions of the
        table).
        """
        met = self._met.pop(binding.table.id, {})
        lost = {slot_key for slot_key, lives in met.items() if not lives}
        for values in live() if lost else ():
            lost.difference_update(binding.other_slots(values))
            if not lost:
                break
        changes: dict[tuple[str, Period], TimelineChange] = {}
        for key, slot in met:
            change = changes.setdefault((key, slot.period), TimelineChange())
            change.states[slot.ordinal] = ABSENT if (key, slot) in lost else frozenset({FRESH})
        return changes

    def _note(self, binding: TimeBinding, values: PartitionValues, *, lives: bool) -> None:
        for slot_key in binding.other_slots(values):
            self._met.setdefault(binding.table.id, {})[slot_key] = lives
