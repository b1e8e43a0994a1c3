"""Validity windows: storages, and single tables of theirs, serve only the time between their START and their END
(``semantics.md``, Covering).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsInt

from rewriter.planner.cover.nested_cover import whole_periods
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import resolve_bound

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Storage, StorageTable
    from rewriter.timeline.calendars import Calendar, Period
    from rewriter.timeline.timeline import PartitionTimeline


def is_bounded(storage: Storage, table: StorageTable) -> bool:
    """Tests whether a table of a storage serves only a part of all time."""
    return any(bound is not None for bounded in (storage, table) for bound in (bounded.start, bounded.end))


def window(storage: Storage, table: StorageTable, now: SupportsInt, calendar: Calendar) -> RangeSet:
    """Returns the time that a table serves: its storage's window and its own, ``START`` included, ``END`` excluded.

    ``now`` is the origin of relative bounds, in microseconds UTC; wall times are the calendar's. Empty if a start is
    not before its end.
    """
    if not is_bounded(storage, table):
        return RangeSet.ALL
    return between(storage.start, storage.end, now, calendar) & between(table.start, table.end, now, calendar)


def between(start: str | None, end: str | None, now: SupportsInt, calendar: Calendar) -> RangeSet:
    """Returns the time between two bounds as they were typed; empty if the start is not before the end.

    >>> from rewriter.timeline.calendars import calendar_of
    >>> print(between("2015-01-01", "2015-02-01", 0, calendar_of("UTC")))
    [2015-01-01, 2015-02-01)
    >>> print(between("2015-02-01", "2015-02-01", 0, calendar_of("UTC")))
    ∅
    """
    low = MIN_INSTANT if start is None else resolve_bound(start, now, calendar)
    high = MAX_INSTANT if end is None else resolve_bound(end, now, calendar)
    return RangeSet.of(TimeRange(low, high)) if low < high else RangeSet.EMPTY


def cut(line: PartitionTimeline, period: Period, valid: RangeSet) -> PartitionTimeline:
    """Returns the periods of a timeline that lie wholly in a window. Returns the timeline itself, or costs O(ranges in
    the window).
    """
    if valid == RangeSet.ALL:
        return line
    return RangesPartitionTimeline(
        run for time_range in valid for run in whole_periods(period, line, time_range.start, time_range.end)
    )


def described(*parts: Storage | StorageTable) -> str:
    """Returns ``START '…' END '…'`` of a storage and of a table in it, as far as they are declared."""
    windows = ((("START", part.start), ("END", part.end)) for part in parts)
    texts = (" ".join(f"{word} '{text}'" for word, text in ends if text is not None) for ends in windows)
    return "; ".join(filter(None, texts))
