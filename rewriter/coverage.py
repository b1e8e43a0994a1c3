"""What a fact can answer: SHOW TIMELINES, SHOW COVERAGE, SHOW LATEST. All read timelines only, and no partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rewriter.catalog.models import Column, Fact, StorageTable
from rewriter.context import Context
from rewriter.errors import AnalysisError, DataError, Error
from rewriter.grammar import statements as s
from rewriter.planner.candidates import check_certain, snapped
from rewriter.planner.costs import costs
from rewriter.planner.cover import Candidate, cover, extent
from rewriter.planner.validity import cut, window
from rewriter.result import Result, Row
from rewriter.showing import listing, named_fact, strings
from rewriter.timeline.bounds import resolve_bound
from rewriter.timeline.calendars import Calendar, Period
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant
from rewriter.timeline.timeline_classes import implementation
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline


def show_timelines(statement: s.ShowTimelines, context: Context) -> Result:
    """One row per (storage table, period, time). ``first`` and ``latest`` are what partitions are named by: dates of
    the cube's calendar, hours and minutes of UTC.

    Beside the leading dimension of a table stand the values that its partitions have of the others.
    """
    fact = named_fact(statement.fact, context)
    period = _period(statement)
    if statement.storage is not None:
        _check_storage(statement.storage, fact, statement)
    rows: list[Row] = []
    for storage in fact.storages:
        if statement.storage is not None and storage.name.lower() != statement.storage.lower():
            continue
        for table in storage.tables:
            for one in sorted(table.layouts, reverse=True):
                if period is None or one.kind is period:
                    rows += [_timeline_row(table, one, time, context) for time in table.times]
    columns = (
        *strings("table", "period", "time", "implementation", "first", "latest"),
        *(Column(name, "bigint") for name in ("partitions", "holes", "ranges")),
        Column("consistent", "boolean"),
        Column("outdated", "bigint"),
    )
    return listing("SHOW TIMELINES", columns, rows)


def _timeline_row(table: StorageTable, period: Period, time: str, context: Context) -> Row:
    line = context.snapshot.timeline(table.table, period, time)
    outdated = context.snapshot.outdated(table.table, period, time)
    first, latest = line.first, line.latest
    span = 0 if first is None or latest is None else latest - first + 1
    return (
        table.table,
        period.name,
        time,
        implementation(line),
        None if first is None else format_instant(period.kind.start(first)),
        None if latest is None else format_instant(period.kind.start(latest)),
        line.count,
        span - line.count,
        len(line.ranges()),
        line.is_consistent(),
        outdated.count,
    )


def _period(statement: s.ShowTimelines) -> UpdatePeriod | None:
    if statement.period is None:
        return None
    try:
        return UpdatePeriod.named(statement.period)
    except Error as error:
        raise error.at(statement.span) from None


def _check_storage(name: str, fact: Fact, statement: s.ShowTimelines) -> None:
    known = [storage.name for storage in fact.storages]
    if name.lower() not in {one.lower() for one in known}:
        raise AnalysisError(
            f"The fact {fact.name} has no storage {name}.",
            condition="STORAGE_NOT_FOUND",
            position=statement.span,
            object=name,
            hint=f"Its storages are {', '.join(known)}.",
        )


def show_coverage(statement: s.ShowCoverage, context: Context) -> Result:
    """What a query over the range would use, and what is missing, in order of time.

    Rows of (from, to, status, table, period, partitions); ``status`` is ``covered``, ``missing`` (in units of the base
    period) or ``outdated``: what is missing and overlaps a partition that is there, but older than its base. Without
    bounds it is the extent of all partitions.
    """
    fact = named_fact(statement.fact, context)
    fresh = _candidates(fact, context.snapshot.timeline, context)
    stale = _candidates(fact, context.snapshot.outdated, context)
    target = snapped(asked(statement, fact, context, extent([*fresh, *stale])), fact.base_period)
    found = cover(target, fresh)
    rows = [
        _row(fact.calendar, period_range, "covered", part.table, part.period, len(ordinals))
        for part in found.parts
        for ordinals, period_range in ((r, _instants(part.period, r)) for r in part.ranges)
    ]
    missing = found.missing
    for one in sorted(stale, key=lambda candidate: -int(candidate.period)):
        for gap in missing:
            for ordinals in one.timeline.covered(overlapping(one.period, gap)):
                outdated = RangeSet.of(_instants(one.period, ordinals)) & RangeSet.of(gap)
                rows += [_row(fact.calendar, r, "outdated", one.table, one.period, len(ordinals)) for r in outdated]
                missing = missing - outdated
    base = fact.base_period
    rows += [_row(fact.calendar, r, "missing", None, base, len(overlapping(base, r))) for r in missing]
    rows.sort(key=lambda pair: pair[0])
    columns = (*strings("from", "to", "status", "table", "period"), Column("partitions", "bigint"))
    return listing("SHOW COVERAGE", columns, [row for _, row in rows])


def show_latest(statement: s.ShowLatest, context: Context) -> Result:
    """Up to when a fact is complete: a row for each period, coarse to fine, and one for all of them together.

    Rows of (period, from, complete_to, latest, missing): from the first instant that is there to the end of the
    stretch without a hole, to the end of the last partition; ``missing`` are periods (in the last row, base periods)
    that lack between the two. ``period`` is NULL in the last row, all bounds are where nothing is there; what is
    outdated is not there. O(ranges).
    """
    fact = named_fact(statement.fact, context)
    candidates = _candidates(fact, context.snapshot.timeline, context)
    periods = sorted({one.period for one in candidates}, reverse=True)
    rows = [
        _latest_row(period, [one for one in candidates if one.period is period], period, fact.calendar)
        for period in periods
    ]
    rows.append(_latest_row(None, candidates, fact.base_period, fact.calendar))
    columns = (*strings("period", "from", "complete_to", "latest"), Column("missing", "bigint"))
    return listing("SHOW LATEST", columns, rows)


def _latest_row(period: Period | None, candidates: Sequence[Candidate], unit: Period, calendar: Calendar) -> Row:
    name, everything = None if period is None else period.name, extent(candidates)
    if everything is None:
        return name, None, None, None, 0
    missing = cover(RangeSet.of(everything), candidates).missing
    complete_to = missing.ranges[0].start if missing else everything.end
    lacking = sum(len(overlapping(unit, one)) for one in missing)
    return name, *map(calendar.text, (everything.start, complete_to, everything.end)), lacking


def _candidates(fact: Fact, line: Callable[[str, Period, str], PartitionTimeline], context: Context) -> list[Candidate]:
    """What a fact has, as ``line`` says of each (storage table, period), in its validity window."""
    found = []
    for storage in fact.storages:
        for table in storage.tables:
            valid = window(storage, table, context.planning.now, fact.calendar)
            for period in table.layouts:
                line_there = cut(line(table.table, period, table.time), period, valid)
                found.append(Candidate(fact.name, storage.name, table.table, period, line_there))
    there = [(one.table, one.period) for one in found if not one.timeline.is_empty]
    priced = costs(there, context.snapshot, by_bytes=context.planning.cost_in_bytes)
    return [replace(one, cost=priced.of(one.table, one.period)) for one in found]


def asked(
    statement: s.ShowCoverage | s.CheckFact | s.RefreshFact, fact: Fact, context: Context, everything: TimeRange | None
) -> RangeSet:
    """The range of FROM … TO …, or ``everything`` without it. Raises ``DataError`` at a bound, or for a range that
    ends before it begins, ``NotSupportedError`` for one that the zone's calendar does not allow.
    """
    found = _asked(statement, fact.calendar, context, everything)
    check_certain(found, [fact])
    return found


def _asked(
    statement: s.ShowCoverage | s.CheckFact | s.RefreshFact,
    calendar: Calendar,
    context: Context,
    everything: TimeRange | None,
) -> RangeSet:
    if statement.start is None or statement.end is None:
        return RangeSet.EMPTY if everything is None else RangeSet.of(everything)
    start, end = _bound(statement.start, context, calendar), _bound(statement.end, context, calendar)
    if start > end:
        raise DataError(
            f"The range begins at {calendar.text(start)}, after its end at {calendar.text(end)}.",
            condition="INVALID_TIME_RANGE",
            position=statement.start.span,
            hint="Swap the bounds.",
        )
    return RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY


def _bound(literal: s.Literal, context: Context, calendar: Calendar) -> int:
    try:
        return resolve_bound(literal.text, context.planning.now, calendar)
    except Error as error:
        raise error.at(literal.span) from None


def overlapping(period: Period, time: TimeRange) -> OrdinalRange:
    """The periods that share time with a range."""
    return OrdinalRange(period.ordinal(time.start), period.ordinal(time.end - 1) + 1)


def _instants(period: Period, ordinals: OrdinalRange) -> TimeRange:
    return TimeRange(period.start(ordinals.start), period.start(ordinals.end))


def _row(
    calendar: Calendar, time: TimeRange, status: str, table: str | None, period: Period, partitions: int
) -> tuple[TimeRange, Row]:
    row = (calendar.text(time.start), calendar.text(time.end), status, table, period.name, partitions)
    return time, row
