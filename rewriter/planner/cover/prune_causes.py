"""Explains why a candidate does not serve: the parts of the requested time that it lacks, in its own periods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rewriter.planner.cover.sources import Source, SourceTimelines
from rewriter.planner.cover.validity import described
from rewriter.planner.model.plan import Cause, CoverPart, PruneCause
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.timeline.calendars import Period

#: Explains why partitions of a candidate do not serve at some time; '' if the cause says it all.
ReasonReader = Callable[[Source, PruneCause, RangeSet], str]


def fitting(period: Period, requested: RangeSet, target: RangeSet) -> RangeSet:
    """Returns the whole periods around ``requested`` that lie inside the target."""
    return RangeSet.of(
        *(
            TimeRange(start, end)
            for time_range in target
            for gap in requested & RangeSet.of(time_range)
            if (start := max(period.ceil(time_range.start), period.floor(gap.start)))
            < (end := min(period.floor(time_range.end), period.ceil(gap.end)))
        )
    )


def nearest_misses(
    source: Source,
    timelines: SourceTimelines,
    missing: RangeSet,
    target: RangeSet,
    valid: RangeSet,
    reason_of: ReasonReader,
) -> Iterator[Cause]:
    """Explains why a (storage table, period) does not fill the missing time: the smallest set of its own periods that
    it lacks.
    """
    if not missing:
        return
    period, shown = source.period, source.fact.calendar.shown
    requested = fitting(period, missing, target)
    useless = {kind: instants(period, line, missing) & requested for kind, line in _useless(timelines).items()}
    crossing = instants(period, timelines.fresh, missing) & requested
    if missing - requested:
        detail = f"no {period.name} period that holds {shown(missing - requested)} is inside the requested range"
        yield Cause(PruneCause.REACHES_BEYOND, str(source), detail)
    if crossing:
        # Only weeks do that: they hold days of two months.
        detail = f"has {shown(crossing)}, which overlaps other partitions of the cover"
        yield Cause(PruneCause.REACHES_BEYOND, str(source), detail)
    outside = requested - fitting(period, requested & valid, requested & valid)
    if outside:
        detail = f"is not valid at {shown(outside)}: {described(source.storage, source.storage_table)}"
        yield Cause(PruneCause.OUTSIDE_VALIDITY, str(source), detail)
    lacking = requested - crossing - outside
    for time in useless.values():
        lacking = lacking - time
    if lacking:
        yield Cause(PruneCause.PARTITIONS_MISSING, str(source), f"lacks {shown(lacking)}")
    yield from _causes(source, useless, reason_of, "")


def times(part: CoverPart) -> Iterator[TimeRange]:
    """Returns the time of a part's partitions."""
    return (TimeRange(part.period.start(ordinals.start), part.period.start(ordinals.end)) for ordinals in part.ranges)


def left_to_finer(
    source: Source, timelines: SourceTimelines, finer: RangeSet, reason_of: ReasonReader
) -> Iterator[Cause]:
    """Returns the causes where finer periods (``finer`` is their time) serve time that this one would serve if its
    partitions existed and were fresh.
    """
    covered = fitting(source.period, finer, finer)
    useless = {kind: instants(source.period, line, covered) & covered for kind, line in _useless(timelines).items()}
    lacking = covered - instants(source.period, timelines.fresh, covered)
    for time in useless.values():
        lacking = lacking - time
    if lacking:
        yield Cause(
            PruneCause.PARTITIONS_MISSING,
            str(source),
            f"lacks {source.fact.calendar.shown(lacking)}, which finer periods cover",
        )
    yield from _causes(source, useless, reason_of, ", which finer periods cover")


def _useless(timelines: SourceTimelines) -> dict[PruneCause, PartitionTimeline]:
    """Returns the partitions that exist and do not serve, by the cause."""
    return {
        PruneCause.PARTITIONS_OUTDATED: timelines.outdated,
        PruneCause.PARTITIONS_INCOMPLETE: timelines.incomplete,
        PruneCause.PARTITIONS_UNPROVEN: timelines.unproven,
        PruneCause.PARTITIONS_OPEN: timelines.open,
        PruneCause.PARTITIONS_NARROW: timelines.narrow,
    }


_WORDS = {
    PruneCause.PARTITIONS_OUTDATED: "outdated",
    PruneCause.PARTITIONS_INCOMPLETE: "incomplete",
    PruneCause.PARTITIONS_UNPROVEN: "unproven",
    PruneCause.PARTITIONS_OPEN: "open",
    PruneCause.PARTITIONS_NARROW: "narrow",
}


def _causes(source: Source, useless: dict[PruneCause, RangeSet], reason_of: ReasonReader, end: str) -> Iterator[Cause]:
    for kind, time in useless.items():
        if time:
            reason = reason_of(source, kind, time)
            detail = f"is {_WORDS[kind]} at {source.fact.calendar.shown(time)}{end}{f' ({reason})' if reason else ''}"
            yield Cause(kind, str(source), detail)


def instants(period: Period, timeline: PartitionTimeline, time_ranges: RangeSet) -> RangeSet:
    """Returns the partitions of a timeline that overlap ``time_ranges``, as instants. O(ranges)."""
    overlapping = []
    for time_range in time_ranges:
        ordinals = OrdinalRange(period.ordinal(time_range.start), period.ordinal(time_range.end - 1) + 1)
        overlapping += [TimeRange(period.start(r.start), period.start(r.end)) for r in timeline.covered(ordinals)]
    return RangeSet.of(*overlapping)
