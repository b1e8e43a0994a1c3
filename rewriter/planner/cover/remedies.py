"""Statements that make existing but unused rollup partitions serve, suggested where a query misses their time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.planner.cover.open_ends import extent
from rewriter.planner.cover.prune_causes import fitting, instants
from rewriter.planner.cover.sources import Source, SourceTimelines, Timelines
from rewriter.timeline.ranges import RangeSet, TimeRange


def remedies(sources: Sequence[Source], lines: Timelines, missing: RangeSet, target: RangeSet) -> tuple[str, ...]:
    """Returns one sentence for each fact or table whose rollups would serve time that is missing from the target.

    CHECK FACT … ACCEPT and REFRESH FACT need all base periods of a rollup. If some no longer exist, only loading them
    or a statement of the owner helps. No statement makes an outdated rollup right.
    """
    sentences: list[str] = []
    for source in sources:
        open_time = instants(source.period, lines[source].open, missing) & missing
        if open_time:
            sentences.append(
                f"{_at(source, open_time)} a stream still fills {source.storage_table.table}: its trigger, or "
                f"ALTER TABLE {source.storage_table.table} COMMIT PARTITION, makes the partitions visible"
            )
        copied_time = instants(source.period, lines[source].outdated, missing) & missing
        if source.is_base and copied_time:
            table = source.storage_table.table
            sentences.append(
                f"{_at(source, copied_time)} {table} has copies of content that has changed since: run the INSERT "
                "that filled them again"
            )
        if missing and not source.is_base:
            requested = fitting(source.period, missing, target)
            sentences += _sentences(source, lines[source], _base(source, lines), requested)
    return tuple(dict.fromkeys(sentences))


def extent_sentences(sources: Sequence[Source], lines: Timelines, missing: RangeSet) -> tuple[str, ...]:
    """Returns where the existing partitions begin and end, each if time beyond it is missing."""
    existing = extent((source.period, line) for source in sources for line in lines[source].existing)
    if existing is None or not missing:
        return ()
    text = sources[0].fact.calendar.text
    sentences = []
    if missing.ranges[0].start < existing.start:
        sentences.append(f"The data begin at {text(existing.start)}")
    if missing.ranges[-1].end > existing.end:
        sentences.append(f"The data end at {text(existing.end)}")
    return tuple(sentences)


def _sentences(source: Source, there: SourceTimelines, base: RangeSet, requested: RangeSet) -> Iterator[str]:
    period, fact, table = source.period, source.fact.name, source.storage_table.table
    unproven, incomplete, outdated = (
        instants(period, line, requested) & requested for line in (there.unproven, there.incomplete, there.outdated)
    )
    complete_base = RangeSet(
        TimeRange(start, end)
        for time_range in base
        if (start := period.ceil(time_range.start)) < (end := period.floor(time_range.end))
    )
    if unproven & complete_base:
        yield (
            f"CHECK FACT {fact} {_bounds(source, unproven & complete_base)} ACCEPT proves rollups that "
            "agree with the base"
        )
    if (unproven | incomplete | outdated) & complete_base:
        time = (unproven | incomplete | outdated) & complete_base
        yield f"REFRESH FACT {fact} {_bounds(source, time)} computes rollups of {table} from the base"
    if unproven - complete_base:
        yield (
            f"{_at(source, unproven - complete_base)} {table} has rollups without a proof, and their base is "
            f"incomplete: load the base and run CHECK FACT {fact} ACCEPT, or, if you know that they "
            f"are correct, run ALTER FACT {fact} TABLE {table} SET TRUSTED"
        )
    if incomplete - complete_base:
        yield (
            f"{_at(source, incomplete - complete_base)} {table} has rollups whose base was incomplete: load "
            f"the base and run REFRESH FACT {fact}, or, if nothing happened in the missing periods, "
            f"run ALTER FACT {fact} MARK COMPLETE {_bounds(source, incomplete - complete_base)}, or, if you "
            f"know that they are correct, run ALTER FACT {fact} TABLE {table} SET TRUSTED"
        )


def _base(source: Source, lines: Timelines) -> RangeSet:
    """Returns the time of the existing base periods of a source's fact."""
    return RangeSet(
        TimeRange(other.period.start(ordinals.start), other.period.start(ordinals.end))
        for other, timelines in lines.items()
        if other.fact is source.fact and other.is_base
        for ordinals in timelines.fresh.ranges()
    )


def _at(source: Source, time: RangeSet) -> str:
    return f"At {source.fact.calendar.shown(time)}"


def _bounds(source: Source, time: RangeSet) -> str:
    text = source.fact.calendar.text
    return f"FROM '{text(time.ranges[0].start)}' TO '{text(time.ranges[-1].end)}'"
