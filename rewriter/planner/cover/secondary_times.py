"""Time dimensions other than the leading one: which partitions can cover them, and which of those are needed.

The cover is computed on the leading time alone. A condition on another time stays a predicate on the rows, whose value
an arm computes from the partition. So a period serves only if no end of the requested ranges of that time lies inside
one of its partitions' periods, either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import Selection
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import StorageTable
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.layouts import TimeLayout


@dataclass(frozen=True)
class SecondaryTimeUse:
    """A time dimension beside the leading one that a block needs. ``requested`` are the instants that its predicates
    let through; ``None`` if nothing bounds it and rows without a value belong to the result.
    """

    time: str
    requested: RangeSet | None


def undeclared(uses: Sequence[SecondaryTimeUse], storage_table: StorageTable) -> list[str]:
    """Returns the dimensions that the rows of a table do not have: the dimensions that its partitions do not name. An
    event of a RAW table has all of them.
    """
    return [use.time for use in uses if use.time not in storage_table.times and storage_table.raw is None]


def cut_by(use: SecondaryTimeUse, period: Period) -> bool:
    """Tests whether an end of the requested ranges lies inside one of the periods."""
    range_ends = {edge for time_range in use.requested or () for edge in (time_range.start, time_range.end)} - {
        MIN_INSTANT,
        MAX_INSTANT,
    }
    return not all(period.is_aligned(edge) for edge in range_ends)


def layout_of(storage_table: StorageTable, time: str, period: Period) -> TimeLayout:
    """Returns the layout in which the partitions of a period name a dimension beside the leading one."""
    return next(other.layouts[period] for other in storage_table.others if other.time.lower() == time.lower())


def selections(
    uses: Sequence[SecondaryTimeUse], storage_table: StorageTable, period: Period, reader: CatalogReader
) -> tuple[Selection, ...]:
    """Returns, for each bounded dimension, its periods in the requested ranges, from the first to the last that any
    partition has. The partitions of a RAW table do not select: the conditions select among its events.
    """
    if storage_table.raw is not None:
        return ()
    return tuple(
        Selection(
            layout_of(storage_table, use.time, period),
            _ordinals(use.requested, period, reader.timeline(storage_table.table, period, use.time)),
        )
        for use in uses
        if use.requested is not None
    )


def extents(
    uses: Sequence[SecondaryTimeUse], storage_table: StorageTable, period: Period, reader: CatalogReader
) -> Mapping[str, tuple[OrdinalRange, ...]]:
    """Returns, for each dimension in lower case, the periods of it that rows of partitions of ``period`` may have; none
    if no partition has any. The result holds all of them, and may hold more.
    """
    return {
        use.time.lower(): _ordinals(
            RangeSet.ALL if use.requested is None else use.requested,
            period,
            reader.timeline(storage_table.table, period, use.time),
        )
        for use in uses
    }


def _ordinals(requested: RangeSet, period: Period, line: PartitionTimeline) -> tuple[OrdinalRange, ...]:
    if line.first is None or line.latest is None:
        return ()
    extent = RangeSet.of(TimeRange(period.start(line.first), period.end(line.latest)))
    return tuple(
        OrdinalRange(period.ordinal(time_range.start), period.ordinal(time_range.end - 1) + 1)
        for time_range in requested & extent
    )
