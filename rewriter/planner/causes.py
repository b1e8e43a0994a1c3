"""Why a place that may serve does not: what it lacks, in its own periods, of what is asked."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.planner.plan import Cause, CoverPart, PruneCause
from rewriter.planner.sources import Source
from rewriter.planner.validity import described
from rewriter.timeline.calendars import Period
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline


def fitting(period: Period, wanted: RangeSet, target: RangeSet) -> RangeSet:
    """The whole periods around what is wanted that lie inside the target."""
    return RangeSet.of(
        *(
            TimeRange(start, end)
            for one in target
            for gap in wanted & RangeSet.of(one)
            if (start := max(period.ceil(one.start), period.floor(gap.start)))
            < (end := min(period.floor(one.end), period.ceil(gap.end)))
        )
    )


def nearest_misses(
    source: Source,
    fresh: PartitionTimeline,
    stale: PartitionTimeline,
    missing: RangeSet,
    target: RangeSet,
    valid: RangeSet,
) -> Iterator[Cause]:
    """Why one (storage table, period) does not fill what is missing, in its own periods: the least that it lacks."""
    period, shown = source.period, source.fact.calendar.shown
    asked = fitting(period, missing, target)
    outdated = instants(period, stale, missing) & asked
    crossing = instants(period, fresh, missing) & asked
    if missing - asked:
        detail = f"no {period.name} period that holds {shown(missing - asked)} lies in what is asked"
        yield Cause(PruneCause.REACHES_BEYOND, str(source), detail)
    if crossing:
        # Only weeks do that: they hold days of two months.
        detail = f"has {shown(crossing)}, which also holds what other partitions serve"
        yield Cause(PruneCause.REACHES_BEYOND, str(source), detail)
    outside = asked - fitting(period, asked & valid, asked & valid)
    if outside:
        detail = f"is not valid at {shown(outside)}: {described(source.storage, source.storage_table)}"
        yield Cause(PruneCause.OUTSIDE_VALIDITY, str(source), detail)
    lacking = asked - outdated - crossing - outside
    if lacking:
        yield Cause(PruneCause.PARTITIONS_MISSING, str(source), f"lacks {shown(lacking)}")
    if outdated:
        yield Cause(PruneCause.PARTITIONS_OUTDATED, str(source), f"is outdated at {shown(outdated)}")


def times(part: CoverPart) -> Iterator[TimeRange]:
    """The time of a part's partitions."""
    return (TimeRange(part.period.start(one.start), part.period.start(one.end)) for one in part.ranges)


def left_to_finer(
    source: Source, fresh: PartitionTimeline, stale: PartitionTimeline, finer: RangeSet
) -> Iterator[Cause]:
    """Where finer periods (``finer`` is their time) serve what this one would, were its partitions there and fresh."""
    whole = fitting(source.period, finer, finer)
    outdated = instants(source.period, stale, whole) & whole
    lacking = whole - instants(source.period, fresh, whole) - outdated
    if lacking:
        yield Cause(
            PruneCause.PARTITIONS_MISSING,
            str(source),
            f"lacks {source.fact.calendar.shown(lacking)}, which finer periods serve",
        )
    if outdated:
        detail = f"is outdated at {source.fact.calendar.shown(outdated)}, which finer periods serve"
        yield Cause(PruneCause.PARTITIONS_OUTDATED, str(source), detail)


def instants(period: Period, timeline: PartitionTimeline, within: RangeSet) -> RangeSet:
    """The partitions of a timeline that overlap ``within``, as instants; the cost is that of the ranges."""
    found = []
    for one in within:
        ordinals = OrdinalRange(period.ordinal(one.start), period.ordinal(one.end - 1) + 1)
        found += [TimeRange(period.start(r.start), period.start(r.end)) for r in timeline.covered(ordinals)]
    return RangeSet.of(*found)
