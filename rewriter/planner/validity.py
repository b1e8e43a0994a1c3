"""Validity windows: storages, and single tables of theirs, answer only for the time between their START and their END
(``semantics.md``, Covering).
"""

from __future__ import annotations

from rewriter.catalog.models import Storage, StorageTable
from rewriter.planner.chain import whole
from rewriter.timeline.bounds import resolve_bound
from rewriter.timeline.calendars import Calendar, Period
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.ranges_timeline import RangesPartitionTimeline
from rewriter.timeline.timelines import PartitionTimeline


def is_bounded(storage: Storage, table: StorageTable) -> bool:
    """Whether a table of a storage answers for a part of all time only."""
    return any(bound is not None for one in (storage, table) for bound in (one.start, one.end))


def window(storage: Storage, table: StorageTable, now: int, calendar: Calendar) -> RangeSet:
    """The time for which a table answers: its storage's window and its own, ``START`` included, ``END`` excluded.

    ``now`` is what relative bounds begin with, in microseconds UTC; wall times are the calendar's. Empty where a start
    is not before its end.
    """
    if not is_bounded(storage, table):
        return RangeSet.ALL
    return between(storage.start, storage.end, now, calendar) & between(table.start, table.end, now, calendar)


def between(start: str | None, end: str | None, now: int, calendar: Calendar) -> RangeSet:
    """The time between two bounds as they were typed; empty where the start is not before the end."""
    low = MIN_INSTANT if start is None else resolve_bound(start, now, calendar)
    high = MAX_INSTANT if end is None else resolve_bound(end, now, calendar)
    return RangeSet.of(TimeRange(low, high)) if low < high else RangeSet.EMPTY


def cut(line: PartitionTimeline, period: Period, valid: RangeSet) -> PartitionTimeline:
    """The periods of a timeline that lie wholly in a window: the timeline itself, or O(ranges) in there."""
    if valid == RangeSet.ALL:
        return line
    return RangesPartitionTimeline(run for one in valid for run in whole(period, line, one.start, one.end))


def described(*parts: Storage | StorageTable) -> str:
    """``START '…' END '…'``, as far as there is any: of a storage, and of a table in it."""
    windows = ((("START", one.start), ("END", one.end)) for one in parts)
    texts = (" ".join(f"{word} '{text}'" for word, text in ends if text is not None) for ends in windows)
    return "; ".join(filter(None, texts))
