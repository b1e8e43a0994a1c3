"""Timelines of the time dimensions beside the leading one: the values that live partitions have.

Many partitions may have one value of such a dimension, so a value leaves its timeline only with the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rewriter.catalog.binding import Slot, TimeBinding
from rewriter.catalog.models import PartitionValues
from rewriter.catalog.schema import FRESH
from rewriter.catalog.timelines import ABSENT, TimelineChange
from rewriter.timeline.calendars import Period


class OtherTimes:
    """Gathers what one commit does to the values of other times in the tables of a fact."""

    def __init__(self) -> None:
        #: By table: values met, by time dimension, and whether a partition that has them surely lives.
        self._met: dict[int, dict[tuple[str, Slot], bool]] = {}

    def written(self, binding: TimeBinding, values: PartitionValues) -> None:
        """A partition is there."""
        self._note(binding, values, lives=True)

    def gone(self, binding: TimeBinding, values: PartitionValues) -> None:
        """A partition was dropped or wiped."""
        self._note(binding, values, lives=False)

    def changes(
        self, binding: TimeBinding, live: Callable[[], Iterable[PartitionValues]]
    ) -> Mapping[tuple[str, Period], TimelineChange]:
        """What becomes of a table's timelines, by (time dimension, period). ``live`` are the values of the partitions
        that there are now; they are read only where one was dropped: O(partitions of the table).
        """
        met = self._met.pop(binding.table.id, {})
        lost = {place for place, lives in met.items() if not lives}
        for values in live() if lost else ():
            lost.difference_update(binding.other_slots(values))
            if not lost:
                break
        found: dict[tuple[str, Period], TimelineChange] = {}
        for key, slot in met:
            change = found.setdefault((key, slot.period), TimelineChange())
            change.states[slot.ordinal] = ABSENT if (key, slot) in lost else frozenset({FRESH})
        return found

    def _note(self, binding: TimeBinding, values: PartitionValues, *, lives: bool) -> None:
        for place in binding.other_slots(values):
            self._met.setdefault(binding.table.id, {})[place] = lives
