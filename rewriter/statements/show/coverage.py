"""SHOW TIMELINES, SHOW COVERAGE, SHOW LATEST: the time for which a fact has data. All read timelines only, and no
partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import time_ranges
from rewriter.catalog.model.objects import Column, Fact, StorageTable
from rewriter.errors import AnalysisError, DataError, Error, only_ours
from rewriter.grammar.families import timelines as s
from rewriter.grammar.terms import Literal, Name, parse_name
from rewriter.planner.cover.choose_facts import check_certain, incomplete_reason, unproven_reason
from rewriter.planner.cover.cover import Candidate, cover, extent
from rewriter.planner.cover.fact_chart import fact_chart
from rewriter.planner.cover.fact_coverage import FactCoverage, instants
from rewriter.planner.cover.open_ends import widened
from rewriter.planner.model.coverage_chart import CoverageChart, overlapping
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.words_relied_on import OWNER, words_of_table
from rewriter.statements.resolve.fact_periods import skipped_tables, stored_periods, widths
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.terminal_text import counted
from rewriter.timeline.kinds.registry import implementation
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant
from rewriter.timeline.time_bounds import resolve_bound

if TYPE_CHECKING:
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.planner.model.plan import Settings
    from rewriter.timeline.calendars import Calendar, Period


@runs(s.ShowTimelines, in_transaction=True)
def show_timelines(statement: s.ShowTimelines, context: Context) -> Result:
    """Returns one row per (storage table, period, time).

    ``first`` and ``latest`` are the names of partitions: dates of the cube's calendar, hours and minutes of UTC.
    ``reason`` states why partitions are unproven or incomplete, which columns some lack, and that REFRESH FACT skips a
    table, which has a column that the fact does not list. The other time dimensions of a table have rows of their own,
    beside the rows of its leading one.
    """
    fact = named_fact(statement.fact, context)
    period = _period(statement)
    if statement.storage is not None:
        _check_storage(statement.storage, fact, statement)
    skipped = skipped_tables(fact, context.snapshot)
    rows: list[Row] = []
    for storage in fact.storages:
        if statement.storage is not None and storage.name.lower() != statement.storage.lower():
            continue
        for table in storage.tables:
            for table_period in sorted(table.layouts, reverse=True):
                if period is None or table_period.kind is period:
                    columns = skipped.get(table.table, ())
                    rows += [_timeline_row(fact, table, table_period, time, columns, context) for time in table.times]
    shown = (
        *strings("table", "period", "time", "implementation", "first", "latest"),
        *(Column(name, "bigint") for name in ("partitions", "holes", "ranges")),
        Column("consistent", "boolean"),
        *(Column(name, "bigint") for name in ("outdated", "unproven", "incomplete", "open")),
        *strings("reason"),
    )
    return listing("SHOW TIMELINES", shown, rows)


def _timeline_row(
    fact: Fact, table: StorageTable, period: Period, time: str, surplus: Sequence[str], context: Context
) -> Row:
    timeline_key = (table.table, period, time)
    line, outdated = context.snapshot.timeline(*timeline_key), context.snapshot.outdated(*timeline_key)
    unproven, incomplete = context.snapshot.unproven(*timeline_key), context.snapshot.incomplete(*timeline_key)
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
        unproven.count,
        incomplete.count,
        context.snapshot.open(*timeline_key).count,
        _reason(fact, table, period, surplus, context) if time == table.time else None,
    )


def _reason(fact: Fact, table: StorageTable, period: Period, surplus: Sequence[str], context: Context) -> str | None:
    """Returns why rollup partitions are unproven or incomplete, which columns some lack, on whose word others count as
    right, and by which columns (``surplus``) REFRESH FACT skips the table; ``None`` where none is.
    """
    timeline_key = (table.table, period, table.time)
    unproven, incomplete = context.snapshot.unproven(*timeline_key), context.snapshot.incomplete(*timeline_key)
    is_skipped = surplus and not fact.is_base(table, period)
    reasons = [f"REFRESH FACT skips the table, which has {', '.join(surplus)}"] if is_skipped else []
    if unproven.count:
        ordinals = unproven.ranges()
        storage = context.snapshot.table(table.table)
        noted = context.snapshot.doubts(storage, time_ranges(storage, table.layouts[period], ordinals))
        reasons.append(unproven_reason(noted))
    if incomplete.count:
        lacking = RangeSet(instants(period, ordinals_lacking) for ordinals_lacking in incomplete.ranges())
        base = fact.base_period
        for other in fact.tables:
            if base in other.layouts and fact.is_base(other, base):
                timeline = context.snapshot.timeline(other.table, base, other.time)
                lacking = lacking - RangeSet(instants(base, ordinals_present) for ordinals_present in timeline.ranges())
        reasons.append(incomplete_reason(base, lacking))
    if table.last_widening() is not None:
        stored = next(s for s in stored_periods(fact) if s.table is table and s.period is period)
        for columns, time in widths(stored, RangeSet.ALL, context.snapshot):
            if columns:
                count = sum(len(overlapping(period, range_)) for range_ in time)
                reasons.append(f"{counted(count, 'partition')} without {', '.join(columns)}")
    return "; ".join((*reasons, *_words(fact, table, period, context))) or None


def _words(fact: Fact, table: StorageTable, period: Period, context: Context) -> Iterator[str]:
    """Yields on whose word rollup partitions of a table and period count as right."""
    is_base = fact.is_base(table, period)
    if table.trusted and not is_base:
        yield OWNER
        return
    storage, snapshot = context.snapshot.table(table.table), context.snapshot
    timeline_key = (table.table, period, table.time)
    used = [*snapshot.timeline(*timeline_key).ranges(), *snapshot.incomplete(*timeline_key).ranges()]
    yield from words_of_table(storage, time_ranges(storage, table.layouts[period], used), context)
    outdated = snapshot.outdated(*timeline_key).ranges() if is_base else ()
    for text in words_of_table(storage, time_ranges(storage, table.layouts[period], outdated), context):
        yield f"{text}, which has changed"


def _period(statement: s.ShowTimelines) -> UpdatePeriod | None:
    if statement.period is None:
        return None
    try:
        return UpdatePeriod.named(statement.period)
    except Error as error:
        raise error.at(statement.span) from None


def _check_storage(name: str, fact: Fact, statement: s.ShowTimelines) -> None:
    names = [storage.name for storage in fact.storages]
    if name.lower() not in {storage_name.lower() for storage_name in names}:
        raise AnalysisError(
            f"The fact {fact.name} has no storage {name}.",
            condition="STORAGE_NOT_FOUND",
            position=statement.span,
            object=name,
            hint=f"Its storages are {', '.join(names)}.",
        )


@runs(s.ShowCoverage, in_transaction=True)
def show_coverage(statement: s.ShowCoverage, context: Context) -> Result:
    """Returns the partitions that a query over the range would use, and the missing ranges, in order of time.

    Rows of (from, to, status, table, period, partitions). ``status`` is ``covered``, ``missing`` (in units of the
    base period), or missing and overlapped by an existing partition: ``outdated``, older than its base,
    ``incomplete``, computed from a base that lacked periods, ``unproven``, or ``open``, filled by a stream. Without
    bounds the range is the range of a query over all time: the extent of all partitions, and the time that LATENESS
    promises.
    """
    coverage = coverage_of(named_fact(statement.fact, context), context)
    fact = coverage.fact
    everything = coverage.extent() if statement.start is None else None
    covered = coverage.over(asked(statement, fact, context, everything))
    rows = [
        _row(fact.calendar, period_range, "covered", part.table, part.period, len(ordinals))
        for part in covered.parts
        for ordinals, period_range in ((r, instants(part.period, r)) for r in part.ranges)
    ]
    rows += [
        _row(fact.calendar, unused.time, unused.state, unused.table, unused.period, unused.partitions)
        for unused in covered.unused
    ]
    base = fact.base_period
    rows += [_row(fact.calendar, r, "missing", None, base, len(overlapping(base, r))) for r in covered.missing]
    rows.sort(key=lambda pair: pair[0])
    columns = (*strings("from", "to", "status", "table", "period"), Column("partitions", "bigint"))
    return listing("SHOW COVERAGE", columns, [row for _, row in rows])


@runs(s.ShowLatest, in_transaction=True)
def show_latest(statement: s.ShowLatest, context: Context) -> Result:
    """Returns the time up to which a fact is complete: a row for each period, coarse to fine, and one for all of them
    together.

    Rows of (period, from, complete_to, latest, missing). ``from`` is the first instant that exists, and
    ``complete_to`` the end of the stretch from there without a hole. ``latest`` is the end of the last period of
    which any partition exists, complete or not, used or not. ``missing`` is the number of periods (in the last row,
    base periods) that lack between the two. ``period`` is NULL in the last row; all bounds are NULL where nothing
    exists. O(ranges).
    """
    coverage = coverage_of(named_fact(statement.fact, context), context)
    fact = coverage.fact
    unused = [candidate for candidates in coverage.unused.values() for candidate in candidates]
    rows = []
    for period in (*sorted({candidate.period for candidate in coverage.fresh}, reverse=True), None):
        candidates, uncovered_candidates = (
            [candidate for candidate in group if period is None or candidate.period is period]
            for group in (coverage.fresh, unused)
        )
        span = widened(extent([*candidates, *uncovered_candidates]), coverage.windows, context.snapshot, period)
        rows.append(_latest_row(period, candidates, span, fact))
    columns = (*strings("period", "from", "complete_to", "latest"), Column("missing", "bigint"))
    return listing("SHOW LATEST", columns, rows)


def _latest_row(
    period: Period | None, candidates: Sequence[Candidate], existing_time: TimeRange | None, fact: Fact
) -> Row:
    name, everything = None if period is None else period.name, extent(candidates)
    if existing_time is None:
        return name, None, None, None, 0
    calendar, unit = fact.calendar, period or fact.base_period
    start = existing_time.start if everything is None else everything.start
    missing = cover(RangeSet.of(TimeRange(start, existing_time.end)), candidates).missing
    complete_to = missing.ranges[0].start if missing else existing_time.end
    lacking = sum(len(overlapping(unit, gap)) for gap in missing)
    return name, *map(calendar.text, (start, complete_to, existing_time.end)), lacking


def coverage_of(fact: Fact, context: Context) -> FactCoverage:
    """Returns the coverage of a fact as the statement's queries would see it."""
    return FactCoverage(fact, context.snapshot, context.planning)


def asked(
    statement: s.ShowCoverage | s.ShowWork | s.CheckFact | s.RefreshFact,
    fact: Fact,
    context: Context,
    everything: TimeRange | None,
) -> RangeSet:
    """Returns the range of FROM … TO …, or ``everything`` without it.

    Raises ``DataError`` at a bound, or for a range that ends before it begins, and ``NotSupportedError`` for one
    that the zone's calendar does not allow.
    """
    if statement.start is not None and statement.end is not None:
        return range_between(statement.start, statement.end, fact, context)
    range_ = RangeSet.EMPTY if everything is None else RangeSet.of(everything)
    check_certain(range_, [fact])
    return range_


def range_between(first: Literal, last: Literal, fact: Fact, context: Context) -> RangeSet:
    """Returns the range of two bounds as typed, in the fact's calendar. Raises as ``asked`` does."""
    calendar = fact.calendar
    start, end = _instant(first, context, calendar), _instant(last, context, calendar)
    if start > end:
        raise DataError(
            f"The range begins at {calendar.text(start)}, after its end at {calendar.text(end)}.",
            condition="INVALID_TIME_RANGE",
            position=first.span,
            hint="Swap the bounds.",
        )
    range_ = RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY
    check_certain(range_, [fact])
    return range_


def _instant(literal: Literal, context: Context, calendar: Calendar) -> int:
    try:
        return resolve_bound(literal.text, context.planning.now, calendar)
    except Error as error:
        raise error.at(literal.span) from None


def _row(
    calendar: Calendar, time: TimeRange, status: str, table: str | None, period: Period, partitions: int
) -> tuple[TimeRange, Row]:
    row = (calendar.text(time.start), calendar.text(time.end), status, table, period.name, partitions)
    return time, row


# The chart of a fact that a command or a page names.


def named_fact_of(name: str, snapshot: Snapshot) -> Fact:
    """Returns the fact ``f`` or ``db.f``. Raises ``ParseError`` for what is no name, and ``AnalysisError``
    FACT_NOT_FOUND.
    """
    with only_ours():
        typed = parse_name(name)
        return snapshot.fact(single(Name(typed.parts if len(typed.parts) > 1 else (snapshot.current, *typed.parts))))


def named_fact_chart(
    name: str, snapshot: Snapshot, settings: Settings, bounds: tuple[str, str] | None = None
) -> CoverageChart:
    """Returns the chart of the fact ``f`` or ``db.f``, over all time or between two bounds, as SHOW COVERAGE has them.

    Raises the errors of ``named_fact_of``, and ``DataError`` for a bound that is no time, and INVALID_TIME_RANGE for
    bounds in the wrong order. O(ranges).
    """
    with only_ours():
        fact = named_fact_of(name, snapshot)
        if bounds is None:
            return fact_chart(fact, snapshot, settings)
        start, end = (resolve_bound(bound, settings.now, fact.calendar) for bound in bounds)
        if start > end:
            raise DataError(
                f"The range begins at {fact.calendar.text(start)}, after its end at {fact.calendar.text(end)}.",
                condition="INVALID_TIME_RANGE",
                hint="Swap the bounds.",
            )
        requested = RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY
        return fact_chart(fact, snapshot, settings, requested)
