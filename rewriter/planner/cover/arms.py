"""The arms of a cover: a storage table, a period, and the partitions of it that are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import null_time, time_ranges
from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import Selection, TableUse
from rewriter.timeline.civil import MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.catalog.model.key_ranges import KeyRange
    from rewriter.catalog.model.objects import StorageTable, Table
    from rewriter.timeline.calendars import Calendar
    from rewriter.timeline.layouts import TimeLayout
    from rewriter.timeline.timeline import OrdinalRange


@dataclass(frozen=True)
class Arm:
    """The partitions of one period in one storage table. With ``null_time`` and no ranges: those whose time is NULL.

    ``secondary_selections`` select among them by other time dimensions. ``extents`` map the needed dimensions, in lower
    case, to the periods that the rows may have; they are set only where a plan needs them, as in a zone.
    """

    table: Table
    storage_table: StorageTable
    layout: TimeLayout
    ranges: tuple[OrdinalRange, ...]
    null_time: bool = False
    secondary_selections: tuple[Selection, ...] = ()
    extents: Mapping[str, tuple[OrdinalRange, ...]] = field(default_factory=dict)

    def ordinals(self, time: str) -> tuple[OrdinalRange, ...]:
        """Returns the periods of a time dimension that the arm's rows may have. The dimension is the leading one or one
        with an extent.
        """
        return self.ranges if time.lower() == self.storage_table.time.lower() else self.extents[time.lower()]

    def within(self, time: str, calendar: Calendar) -> RangeSet:
        """Returns the time of these periods."""
        period = calendar.of(self.layout.period)
        return RangeSet(
            TimeRange(period.start(ordinals.start), period.start(ordinals.end)) for ordinals in self.ordinals(time)
        )


def key_ranges(arm: Arm) -> tuple[KeyRange, ...]:
    """Returns the ranges of partition keys that contain the arm's partitions. Other partitions may lie there, too."""
    if arm.null_time:
        return (null_time(arm.table, arm.layout),)
    return time_ranges(arm.table, arm.layout, arm.ranges)


def within(arms: Sequence[Arm], times: Iterable[str], calendar: Calendar) -> dict[str, RangeSet]:
    """Returns, for each time dimension in lower case, ranges that contain every value of it in the arms' rows."""
    return {
        time.lower(): RangeSet(time_range for arm in arms for time_range in arm.within(time, calendar))
        for time in times
    }


def time_of(arms: Sequence[Arm], time: str, calendar: Calendar) -> TimeRange:
    """Returns the time from the first instant of a time dimension in the arms' rows to the last.

    Returns the first instant of all where no arm has any rows.
    """
    ranges = RangeSet(time_range for arm in arms for time_range in arm.within(time, calendar)).ranges
    return TimeRange(ranges[0].start, ranges[-1].end) if ranges else TimeRange(MIN_INSTANT, MIN_INSTANT + 1)


def uses_of(arms: Sequence[Arm]) -> tuple[TableUse, ...]:
    """Returns the partitions of the arms, once for each table."""
    by_table: dict[int, tuple[Table, list[Arm]]] = {}
    for arm in arms:
        by_table.setdefault(arm.table.id, (arm.table, []))[1].append(arm)
    return tuple(
        TableUse(
            table,
            merge_ranges(key_range for arm in table_arms for key_range in key_ranges(arm)),
            tuple(Selection(arm.layout, arm.ranges, arm.null_time, arm.secondary_selections) for arm in table_arms),
        )
        for table, table_arms in by_table.values()
    )
