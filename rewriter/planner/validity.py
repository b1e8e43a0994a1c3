"""Validity windows: a storage answers only for the time between its START and its END (``semantics.md``, Covering)."""

from __future__ import annotations

from rewriter.catalog.models import Storage
from rewriter.planner.chain import whole
from rewriter.timeline.bounds import resolve_bound
from rewriter.timeline.calendars import Calendar, Period
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.ranges_timeline import RangesPartitionTimeline
from rewriter.timeline.timelines import PartitionTimeline


def window(storage: Storage, now: int, calendar: Calendar) -> RangeSet:
    """The time for which a storage answers: ``START`` included, ``END`` excluded; all of it without them.

    ``now`` is what relative bounds begin with, in microseconds UTC; wall times are the calendar's. Empty where the
    start is not before the end.
    """
    if not storage.is_bounded:
        return RangeSet.ALL
    start = MIN_INSTANT if storage.start is None else resolve_bound(storage.start, now, calendar)
    end = MAX_INSTANT if storage.end is None else resolve_bound(storage.end, now, calendar)
    return RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY


def cut(line: PartitionTimeline, period: Period, valid: RangeSet) -> PartitionTimeline:
    """The periods of a timeline that lie wholly in a window: the timeline itself, or O(ranges) in there."""
    if valid == RangeSet.ALL:
        return line
    return RangesPartitionTimeline(run for one in valid for run in whole(period, line, one.start, one.end))


def described(storage: Storage) -> str:
    """``START '…' END '…'``, as far as there is any."""
    ends = (("START", storage.start), ("END", storage.end))
    return " ".join(f"{word} '{text}'" for word, text in ends if text is not None)
