"""Chooses the facts and periods that serve a block, from its time range and its rules, and computes their cover.

Facts are judged in groups: all facts are one group if the block is additive; otherwise each fact is a group. The base
period is the finest base period of the facts that carry the columns. All facts of a cube describe the same events, so
a fact that begins coarser is a rollup and never makes a result less exact. The best group is the one that lacks the
least time, then costs the fewest partitions, then has the lowest weight, then is first by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, SupportsInt

from rewriter.catalog.facts.time_binding import time_ranges
from rewriter.catalog.model.proofs import BEFORE_FACT, INCOMPLETE, OPEN
from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.arms import Arm, key_ranges
from rewriter.planner.cover.cover import Candidate, Costs, Cover, costs, cover_by_scans
from rewriter.planner.cover.open_ends import ClosedRanges, close_ends, extent, is_open, promised, widened
from rewriter.planner.cover.prune_causes import fitting, instants, left_to_finer, nearest_misses, times
from rewriter.planner.cover.secondary_times import SecondaryTimeUse, cut_by, undeclared
from rewriter.planner.cover.sources import Source, SourceTimelines, Timelines, split_by_width
from rewriter.planner.cover.validity import cut, is_bounded, window
from rewriter.planner.model.plan import Cause, OpenEnd, PruneCause, Settings
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, StorageTable, Table
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.timeline.calendars import Calendar, Period


@dataclass(frozen=True)
class Demand:
    """The requirements of a block on a cube.

    ``requested`` are the instants that its predicates let through. ``exact_ranges`` are the ranges that
    ``time_range_in`` named, which must be whole base periods. ``units`` are the calendar units in which time is used;
    ``raw`` says that it is used as it is. ``columns`` are needed; ``rounded`` are the tables that round sums of them.
    All but ``requested`` and ``bounded`` refer to all time dimensions; ``secondary_uses`` are the requirements on those
    beside the leading one. ``from_now`` says that a bound of ``requested`` is computed from the present.
    """

    requested: RangeSet
    exact_ranges: tuple[TimeRange, ...]
    columns: tuple[str, ...]
    units: frozenset[UpdatePeriod]
    additive: bool
    raw: bool
    bounded: bool
    secondary_uses: tuple[SecondaryTimeUse, ...] = ()
    rounded: frozenset[str] = frozenset()
    from_now: bool = False


@dataclass(frozen=True)
class Choice:
    """The chosen group: its cover, the range that it should cover, and why others were excluded.

    Partitions were searched in ``target``. ``beyond`` lies behind open ends and is missing, too. ``newest`` is the end
    of all existing partitions of all candidates, if an end was open. ``remedies`` say how existing rollups can be made
    to serve where time is missing. ``raw`` says that the base rows are events with a time of their own.
    """

    base: Period
    target: RangeSet
    cover: Cover
    outdated: RangeSet
    facts: tuple[Fact, ...]
    periods: tuple[Period, ...]
    causes: tuple[Cause, ...]
    cost: str
    secondary_uses: tuple[SecondaryTimeUse, ...] = ()
    beyond: RangeSet = RangeSet.EMPTY
    begin: OpenEnd | None = None
    end: OpenEnd | None = None
    newest: int | None = None
    remedies: tuple[str, ...] = ()
    raw: bool = False


@dataclass(frozen=True)
class _Base:
    """The base period, and whether the base rows are events with a time of their own (``RAW``). If they are, tables of
    the same period that hold no events are rollups.
    """

    period: Period
    is_raw: bool

    def holds(self, source: Source) -> bool:
        """Tests whether the rows of a source are the base rows."""
        return source.period is self.period and source.storage_table.holds_base(self.is_raw)

    def begins(self, fact: Fact) -> bool:
        """Tests whether a fact has base rows."""
        return fact.base_period is self.period and (not self.is_raw or fact.is_raw)

    def target(self, requested: RangeSet) -> RangeSet:
        """Returns the base periods that hold rows of ``requested``."""
        return touched(requested, self.period) if self.is_raw else snapped(requested, self.period)


def choose(demand: Demand, facts: Sequence[Fact], reader: CatalogReader, settings: Settings) -> Choice | None:
    """Returns the best group's cover; ``None`` if no fact carries the needed columns, or if ``time_range_in`` cuts
    periods.
    """
    carrying = [fact for fact in facts if not missing_columns(fact, demand)]
    lacking = tuple(_lacks_columns(fact, demand) for fact in facts if fact not in carrying)
    if not carrying:
        return None
    base = _find_base(carrying)
    if not base.is_raw:
        if _cuts_periods(demand.exact_ranges, base.period):
            return None
        demand = replace(demand, secondary_uses=_snap_secondary_uses(demand.secondary_uses, base.period))
    groups = _groups(carrying, base, additive=demand.additive and not demand.raw)
    sources = _list_sources(carrying)
    now = settings.now
    valid = {source: window(source.storage, source.storage_table, now, source.fact.calendar) for source in sources}
    lines = {
        source: SourceTimelines(
            *(cut(line, source.period, valid[source]) for line in _timelines(reader, source, demand.columns))
        )
        for source in sources
    }
    closing, newest = _close_ends(base.target(demand.requested), carrying, lines, valid, reader, now, demand)
    target = closing.searched
    check_certain(target, carrying)
    priced = _price_sources(lines, base, demand, reader, settings)
    doubts = _DoubtReader(reader, lines, base.period, demand.columns)
    choices = [_judge(group, base, target, demand, lines, valid, priced, settings, doubts) for group in groups]
    # Rows without a time belong to the result, too: a fact that does not have them is incomplete.
    timeless = set() if demand.bounded or len(choices) < 2 else {f.name for f in carrying if null_time_arm(reader, f)}
    best, best_sources = min(choices, key=lambda pair: (_lacks_timeless(pair[0], timeless), *_badness(pair[0])))
    causes = (
        *lacking,
        *best.causes,
        *_name_lost_candidates(choices, best, best_sources),
        *_name_coarser_facts(carrying, groups, base),
        *_name_missing_ends(best_sources, closing.beyond),
    )
    return replace(
        best,
        causes=tuple(sorted(causes, key=lambda cause: (cause.kind, cause.candidate))),
        secondary_uses=demand.secondary_uses,
        beyond=closing.beyond,
        begin=closing.begin,
        end=closing.end,
        newest=newest,
        remedies=(*_extent_sentences(best_sources, lines, best.cover.missing | closing.beyond), *best.remedies),
    )


def allowed_sources(demand: Demand, facts: Sequence[Fact], settings: Settings) -> list[Source]:
    """Returns the candidates that ``choose`` lets serve a demand, whatever partitions they have. Reads nothing."""
    carrying = [fact for fact in facts if not missing_columns(fact, demand)]
    if not carrying:
        return []
    base = _find_base(carrying)
    sources = [
        source
        for group in _groups(carrying, base, additive=demand.additive and not demand.raw)
        for source in _list_sources(group)
        if _excluded(source, base, demand, settings) is None
    ]
    return [source for source in sources if not any(_straddles(source, other, base.period) for other in sources)]


def missing_columns(fact: Fact, demand: Demand) -> list[str]:
    """Returns the needed columns that a fact does not carry."""
    if fact.columns is None:
        return [use.time for use in demand.secondary_uses if use.time not in fact.times and not fact.is_raw]
    carried = {name.lower() for name in (*fact.columns, *fact.times)}
    return [name for name in demand.columns if name.lower() not in carried]


def _missing_in_table(source: Source, demand: Demand) -> list[str]:
    """Returns the needed columns that a table of a fact does not have: it is a narrow rollup."""
    if source.storage_table.columns is None:
        return []
    own = {name.lower() for name in (*source.storage_table.columns, *source.fact.times)}
    return [name for name in demand.columns if name.lower() not in own]


def _row_ranks(sources: Sequence[Source], reader: CatalogReader) -> Mapping[Source, int]:
    """Returns a rank of each source: of the sources of one period, the one whose partitions have fewer rows comes
    first. Nothing for facts without narrow rollups, whose tables of a period have the same rows.

    The mean bytes of a partition tell that, if they are known of all; otherwise the number of dimensions does.
    """
    if all(source.storage_table.columns is None for source in sources):
        return {}
    alone = [period for period, count in Counter(source.period for source in sources).items() if count == 1]
    sizes = {
        source: 0 if source.period in alone else reader.mean_bytes(source.storage_table.table, source.period)
        for source in sources
    }
    unknown = {source.period for source, size in sizes.items() if size is None}

    def order(source: Source) -> tuple[int, int]:
        return 0 if source.period in unknown else sizes[source] or 0, _count_dimensions(source, reader)

    return {source: rank for rank, source in enumerate(sorted(sources, key=order))}


def _count_dimensions(source: Source, reader: CatalogReader) -> int:
    own = source.fact.columns_of(source.storage_table)
    return sum(own is None or dimension.name in own for dimension in reader.cube(source.fact.cube).dimensions)


def touched(requested: RangeSet, base: Period) -> RangeSet:
    """Returns the base periods that have an instant in common with ``requested``, as ranges."""
    touched_ranges = []
    for time_range in requested:
        start = time_range.start if time_range.start <= MIN_INSTANT else base.floor(time_range.start)
        end = time_range.end if time_range.end >= MAX_INSTANT else base.ceil(time_range.end)
        touched_ranges.append(TimeRange(start, end))
    return RangeSet.of(*touched_ranges)


def snapped(requested: RangeSet, base: Period) -> RangeSet:
    """Returns the base periods that start inside ``requested``, as ranges: a row's time is the start of its base
    period.
    """
    snapped_ranges = []
    for time_range in requested:
        start = time_range.start if time_range.start <= MIN_INSTANT else base.ceil(time_range.start)
        end = time_range.end if time_range.end >= MAX_INSTANT else base.ceil(time_range.end)
        if start < end:
            snapped_ranges.append(TimeRange(start, end))
    return RangeSet.of(*snapped_ranges)


def _lacks_columns(fact: Fact, demand: Demand) -> Cause:
    return Cause(PruneCause.COLUMN_MISSING, fact.name, f"lacks {', '.join(missing_columns(fact, demand))}")


def _find_base(carrying: Sequence[Fact]) -> _Base:
    """Returns the finest base period of the facts that carry the columns. Its rows are events if one of them is raw."""
    finest = min(fact.base_period for fact in carrying)
    return _Base(finest, any(fact.is_raw and fact.base_period is finest for fact in carrying))


def _cuts_periods(exact_ranges: Sequence[TimeRange], base: Period) -> bool:
    """Tests whether a range of ``time_range_in`` begins or ends inside a base period."""
    bounds = [bound for r in exact_ranges if _closed_range(r) for bound in (r.start, r.end)]
    return not all(map(base.is_aligned, bounds))


def _snap_secondary_uses(uses: Sequence[SecondaryTimeUse], base: Period) -> tuple[SecondaryTimeUse, ...]:
    return tuple(
        replace(use, requested=None if use.requested is None else snapped(use.requested, base)) for use in uses
    )


def _list_sources(facts: Sequence[Fact]) -> list[Source]:
    """Returns each period of each storage table of the facts: the candidates, before any of them is judged."""
    return [
        Source(fact, storage, table, period)
        for fact in facts
        for storage in fact.storages
        for table in storage.tables
        for period in sorted(table.layouts)
    ]


def _price_sources(lines: Timelines, base: _Base, demand: Demand, reader: CatalogReader, settings: Settings) -> Costs:
    """Returns the costs of the candidates that have partitions and that the demand does not exclude."""
    return costs(
        (
            (source.storage_table.table, source.period)
            for source, timelines in lines.items()
            if not timelines.fresh.is_empty and _excluded(source, base, demand, settings) is None
        ),
        reader,
        settings,
    )


def _name_lost_candidates(
    choices: Sequence[tuple[Choice, tuple[Source, ...]]], best: Choice, best_sources: Sequence[Source]
) -> Iterator[Cause]:
    """Returns a cause for each candidate that could have served, but only in a group that is not the best."""
    for choice, sources in choices:
        for source in sources if choice is not best else ():
            if source not in best_sources:
                detail = "another fact has fewer missing partitions or a lower cost"
                yield Cause(PruneCause.OTHER_FACT, str(source), detail)


def _name_coarser_facts(carrying: Sequence[Fact], groups: Sequence[list[Fact]], base: _Base) -> Iterator[Cause]:
    """Returns a cause for each fact that is in no group, since it begins coarser than the base."""
    finest = "events" if base.is_raw else base.period.name
    for fact in carrying:
        if not any(fact in group for group in groups):
            detail = f"begins with {fact.base_period.name}, another fact with {finest}"
            yield Cause(PruneCause.PERIOD_TOO_COARSE, fact.name, detail)


def _name_missing_ends(sources: Sequence[Source], beyond: RangeSet) -> Iterator[Cause]:
    """Returns a cause for each candidate of the best group if time behind an open end is missing."""
    for source in sources if beyond else ():
        detail = f"lacks {source.fact.calendar.shown(beyond)}"
        yield Cause(PruneCause.PARTITIONS_MISSING, str(source), detail)


def _groups(facts: Sequence[Fact], base: _Base, *, additive: bool) -> list[list[Fact]]:
    """Returns all facts together if partitions of several may be mixed. Otherwise each fact alone, and only facts whose
    base period is the finest: coarser facts are rollups of the same events.
    """
    if additive:
        return [list(facts)]
    return [[fact] for fact in facts if base.begins(fact)]


def _judge(
    facts: list[Fact],
    base: _Base,
    target: RangeSet,
    demand: Demand,
    lines: Timelines,
    valid: Mapping[Source, RangeSet],
    priced: Costs,
    settings: Settings,
    doubts: _DoubtReader,
) -> tuple[Choice, tuple[Source, ...]]:
    """Returns one group's choice, and its candidates; ``lines`` are the timelines of all of them, ``valid`` their
    windows.
    """
    causes: list[Cause] = []
    sources: list[Source] = []
    for source in lines:
        if source.fact not in facts:
            continue
        cause = _excluded(source, base, demand, settings)
        if cause is None:
            sources.append(source)
        else:
            causes.append(cause)
    straddling = [source for source in sources if any(_straddles(source, other, base.period) for other in sources)]
    sources = [source for source in sources if source not in straddling]
    causes += [_straddling(source) for source in straddling]
    serving = {source: _serving(source, lines[source].fresh, base, demand.requested) for source in sources}
    ranks = _row_ranks(sources, doubts.reader)
    candidates = [_candidate(source, timeline, priced, ranks.get(source, 0)) for source, timeline in serving.items()]
    best = cover_by_scans(target, candidates, priced.of_scan)
    outdated = RangeSet.EMPTY
    for source in sources:
        timelines = lines[source]
        outdated = outdated | instants(source.period, timelines.outdated, fitting(source.period, best.missing, target))
        causes += nearest_misses(source, timelines, best.missing, target, valid[source], doubts.reason)
        if settings.explain and source.period is not base.period:
            finer = RangeSet.of(
                *(time_range for part in best.parts if part.period < source.period for time_range in times(part))
            )
            causes += left_to_finer(source, timelines, finer & valid[source], doubts.reason)
    outdated = outdated & best.missing
    periods = tuple(sorted({source.period for source in sources}, reverse=True))
    cost = priced.described(best)
    helping = _remedies(sources, lines, best.missing, target, demand.columns)
    choice = Choice(base.period, target, best, outdated, tuple(facts), periods, tuple(causes), cost, remedies=helping)
    return replace(choice, raw=base.is_raw), tuple(sources)


def _serving(source: Source, timeline: PartitionTimeline, base: _Base, requested: RangeSet) -> PartitionTimeline:
    """Returns the periods that serve: base rows wherever the predicate takes some of them, and rollups where it takes
    all.
    """
    return timeline if not base.is_raw or base.holds(source) else cut(timeline, source.period, requested)


def _excluded(source: Source, base: _Base, demand: Demand, settings: Settings) -> Cause | None:
    period, unnamed = source.period, undeclared(demand.secondary_uses, source.storage_table)
    if unnamed:
        return Cause(PruneCause.COLUMN_MISSING, str(source), f"is not partitioned by {', '.join(unnamed)}")
    lacking = _missing_in_table(source, demand)
    if lacking:
        return Cause(PruneCause.COLUMN_MISSING, str(source), f"lacks {', '.join(lacking)}")
    if not base.holds(source):
        # The base period always serves: its rows are the reference, however their time is used.
        if demand.raw:
            return Cause(
                PruneCause.PERIOD_TOO_COARSE, str(source), "time is used directly, which needs the base period"
            )
        if source.storage_table.table in demand.rounded:
            return Cause(PruneCause.COLUMN_MISSING, str(source), "holds sums of FLOAT as FLOAT, which rounds them")
        if not demand.additive:
            return Cause(PruneCause.NOT_ADDITIVE, str(source), "the block is not additive, which needs the base period")
        calendar = source.fact.calendar
        coarse = [unit.name for unit in sorted(demand.units) if not period.nests_in(calendar.of(unit))]
        if coarse:
            return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), f"does not nest in {', '.join(coarse)}")
        secondary_use = next((use for use in demand.secondary_uses if cut_by(use, period)), None)
        if secondary_use is not None:
            requested = calendar.shown(secondary_use.requested or RangeSet.ALL)
            detail = f"{secondary_use.time} is restricted to {requested}, which cuts {period.name} periods"
            return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), detail)
        uses_time = bool(demand.units or demand.secondary_uses)
        if not base.period.nests_in(period) and (uses_time or _loses_starts(period, base.period, demand.requested)):
            # A base row counts as of the start of its week, and so does its month; the rollup's rows lie in their own.
            reason = "time is used" if uses_time else f"the range cuts {base.period.name} periods"
            detail = f"{reason}, and {base.period.name} does not nest in it"
            return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), detail)
    if settings.periods is not None and period.kind not in settings.periods:
        return Cause(PruneCause.EXCLUDED_BY_SETTING, str(source), "SET rewriter.periods excludes this period")
    return None


def _straddles(source: Source, other: Source, base: Period) -> bool:
    """Tests whether a source's periods do not nest with another's, as UTC hours in the days of Kolkata. The
    source that is the base serves, or the one in which the base nests.
    """
    finer, coarser = sorted((source.period, other.period), key=int)
    if isinstance(coarser, UpdatePeriod) or not isinstance(finer, UpdatePeriod) or finer.nests_in(coarser):
        return False
    return source.period is (coarser if finer is base else finer)


def _straddling(source: Source) -> Cause:
    zone = source.fact.zone
    return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), f"UTC hours do not nest in the days of {zone}")


def check_certain(target: RangeSet, facts: Sequence[Fact], time: str | None = None) -> None:
    """Raises ``NotSupportedError`` if part of the time lies before the zone's days consisted of whole hours and minutes
    (as far as the facts have them) and followed each other. ``time`` is a dimension beside the leading one.
    """
    calendar = facts[0].calendar
    finest = (UpdatePeriod.DAILY, UpdatePeriod.HOURLY, UpdatePeriod.MINUTELY)
    kinds = {*finest, *(period.kind for fact in facts for table in fact.tables for period in table.layouts)}
    since = max(
        (first_certain for kind in kinds if (first_certain := calendar.since(kind)) is not None), default=MIN_INSTANT
    )
    if target and target.ranges[0].start < since:
        first = format_instant(target.ranges[0].start)
        raise NotSupportedError(
            f"The calendar of {calendar.zone} before {format_instant(since)}Z is not supported: its "
            "days do not consist of whole hours there, or a clock went back over midnight; "
            f"{time or 'the range'} begins at {first}Z.",
            condition="UNCERTAIN_TIME_ZONE",
            object=calendar.zone,
            hint=f"Restrict {time or 'time'} to '{format_instant(since)}Z' or later.",
        )


def _loses_starts(period: Period, base: Period, requested: RangeSet) -> bool:
    """Tests whether a candidate period begins in a gap of ``requested`` inside a longer base period. The predicate
    would drop its rows.
    """
    target = snapped(requested, base)
    for gap in target - requested:
        start = period.ceil(gap.start)
        if start < gap.end and not RangeSet.of(TimeRange(start, period.end(period.ordinal(start)))) - target:
            return True
    return False


def _closed_range(time_range: TimeRange) -> bool:
    return time_range.start > MIN_INSTANT or time_range.end < MAX_INSTANT


def null_time_arm(reader: CatalogReader, fact: Fact) -> Arm | None:
    """Returns the base partition of a fact whose time is NULL, if it exists. No window contains NULL."""
    return next(_null_time_arms(reader, fact, bounded=False), None)


def timeless_outside(reader: CatalogReader, facts: Sequence[Fact]) -> Iterator[str]:
    """Returns the tables with a base partition whose time is NULL and which therefore lies outside their storage's
    window.
    """
    for fact in facts:
        yield from (arm.table.name for arm in _null_time_arms(reader, fact, bounded=True))


def _null_time_arms(reader: CatalogReader, fact: Fact, *, bounded: bool) -> Iterator[Arm]:
    for storage in fact.storages:
        for storage_table in storage.tables:
            period = fact.base_period
            layout = storage_table.layouts.get(period) if fact.is_base(storage_table, period) else None
            if layout is not None and is_bounded(storage, storage_table) is bounded:
                arm = Arm(table_of(reader, storage_table), storage_table, layout, (), null_time=True)
                if reader.partitions(arm.table, key_ranges(arm)):
                    yield arm


def _lacks_timeless(choice: Choice, timeless: set[str]) -> bool:
    return bool(timeless) and not any(fact.name in timeless for fact in choice.facts)


def _badness(choice: Choice) -> tuple[int, int, int, int, tuple[str, ...]]:
    missing, cost, partitions, _ = choice.cover.badness
    weight = min(fact.weight for fact in choice.facts)
    return missing, cost, partitions, weight, tuple(fact.name.lower() for fact in choice.facts)


def _candidate(source: Source, timeline: PartitionTimeline, priced: Costs, row_rank: int) -> Candidate:
    table, period = source.storage_table.table, source.period
    cost = priced.of_partition(table, period)
    is_raw = source.storage_table.raw is not None
    return Candidate(
        source.fact.name, source.storage.name, table, period, timeline, source.fact.weight, cost, is_raw, row_rank
    )


def _timelines(reader: CatalogReader, source: Source, columns: Sequence[str]) -> Iterator[PartitionTimeline]:
    timeline_key = (source.storage_table.table, source.period, source.storage_table.time)
    wide, narrow = split_by_width(source, columns, reader.timeline(*timeline_key), reader)
    yield wide
    for line in (reader.outdated, reader.unproven, reader.incomplete, reader.open):
        yield line(*timeline_key)
    yield narrow


def _close_ends(
    requested: RangeSet,
    facts: Sequence[Fact],
    lines: Timelines,
    valid: Mapping[Source, RangeSet],
    reader: CatalogReader,
    now: SupportsInt,
    demand: Demand,
) -> tuple[ClosedRanges, int | None]:
    """Returns ``requested`` with open ends closed at the extent of all candidates, not only of the group that will
    serve, and the end of that extent if an end is open.
    """
    if not is_open(requested):
        return ClosedRanges(requested), None
    existing = extent((source.period, line) for source, timelines in lines.items() for line in timelines.existing)
    windows = {source.storage_table.table: (source, window) for source, window in valid.items()}
    existing = widened(existing, ((s.fact, s.storage_table, window) for s, window in windows.values()), reader)
    promise = promised(facts, ((source.fact, window) for source, window in valid.items()), now)
    closing = close_ends(requested, existing, promise, ignored_from=int(now) if demand.from_now else None)
    return closing, None if existing is None else existing.end


def storage_table_of(facts: Sequence[Fact], fact: str, table: str) -> StorageTable:
    """Returns the storage table of that name in that fact."""
    return next(t for f in facts if f.name == fact for t in f.tables if t.table == table)


def table_of(reader: CatalogReader, storage_table: StorageTable) -> Table:
    """Returns the table behind a storage table."""
    return reader.table(storage_table.table)


def nearest_aligned(time_range: TimeRange, base: Period, calendar: Calendar) -> str:
    """Returns the aligned range nearest to ``time_range`` (outward), as text for a hint."""
    return calendar.shown(TimeRange(base.floor(time_range.start), base.ceil(time_range.end)))


# Statements that make existing but unused rollup partitions serve, suggested where a query misses their time.


def _remedies(
    sources: Sequence[Source], lines: Timelines, missing: RangeSet, target: RangeSet, columns: Sequence[str]
) -> tuple[str, ...]:
    """Returns one sentence for each fact or table whose rollups would serve time that is missing from the target.

    CHECK FACT … ACCEPT and REFRESH FACT need all base periods of a rollup. If some no longer exist, only loading them
    or a statement of the owner helps. No statement makes an outdated rollup right.
    """
    sentences: list[str] = []
    for source in sources if missing else ():
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
        if not source.is_base:
            requested = fitting(source.period, missing, target)
            sentences += _sentences(source, lines[source], _base(source, lines), requested, columns)
    return tuple(dict.fromkeys(sentences))


def _extent_sentences(sources: Sequence[Source], lines: Timelines, missing: RangeSet) -> tuple[str, ...]:
    """Returns where the existing partitions begin and end, each if time beyond it is missing."""
    if not missing:
        return ()
    existing = extent((source.period, line) for source in sources for line in lines[source].existing)
    if existing is None:
        return ()
    text = sources[0].fact.calendar.text
    sentences = []
    if missing.ranges[0].start < existing.start:
        sentences.append(f"The data begin at {text(existing.start)}")
    if missing.ranges[-1].end > existing.end:
        sentences.append(f"The data end at {text(existing.end)}")
    return tuple(sentences)


def _sentences(
    source: Source, there: SourceTimelines, base: RangeSet, requested: RangeSet, columns: Sequence[str]
) -> Iterator[str]:
    period, fact, table = source.period, source.fact.name, source.storage_table.table
    unproven, incomplete, outdated, narrow = (
        instants(period, line, requested) & requested
        for line in (there.unproven, there.incomplete, there.outdated, there.narrow)
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
    if (unproven | incomplete | outdated | narrow) & complete_base:
        time = (unproven | incomplete | outdated | narrow) & complete_base
        yield f"REFRESH FACT {fact} {_bounds(source, time)} computes rollups of {table} from the base"
    if narrow - complete_base:
        yield (
            f"{_at(source, narrow - complete_base)} {table} lacks {_later(source, columns)}, and its base is "
            "incomplete: it serves queries that do not need that. To compute it, load the base and run REFRESH FACT "
            f"{fact}"
        )
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


def _later(source: Source, columns: Sequence[str]) -> str:
    """Returns which of some columns the table of a candidate got later, as text."""
    later = {name.lower() for name in source.storage_table.lacking_columns(0)}
    return ", ".join(name for name in columns if name.lower() in later)


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


# Explains why existing partitions are not used: the catalog's notes on them, and the gaps in their base.

#: The maximum number of reasons that are shown for one candidate.
_MOST_REASONS = 3


@dataclass(frozen=True)
class _DoubtReader:
    """Reads the reasons on demand: plans that serve everything read none."""

    reader: CatalogReader
    lines: Timelines
    base: Period
    columns: Sequence[str]

    def reason(self, source: Source, kind: PruneCause, time: RangeSet) -> str:
        """Returns the reason why partitions of a candidate are unproven, incomplete, open or narrow; '' for any other
        cause.
        """
        if kind is PruneCause.PARTITIONS_OPEN:
            return OPEN
        if kind is PruneCause.PARTITIONS_NARROW:
            return f"it was computed before the table got {_later(source, self.columns)}"
        if kind is PruneCause.PARTITIONS_UNPROVEN:
            return self._unproven(source, time)
        return self._incomplete(source, time) if kind is PruneCause.PARTITIONS_INCOMPLETE else ""

    def _unproven(self, source: Source, time: RangeSet) -> str:
        period, storage_table = source.period, source.storage_table
        table = self.reader.table(storage_table.table)
        ordinals = [
            OrdinalRange(period.ordinal(time_range.start), period.ordinal(time_range.end - 1) + 1)
            for time_range in time
        ]
        return unproven_reason(self.reader.doubts(table, time_ranges(table, storage_table.layouts[period], ordinals)))

    def _incomplete(self, source: Source, time: RangeSet) -> str:
        """Returns the number of base periods of the fact that are missing inside the partitions now."""
        lacking = time
        for other, timelines in self.lines.items():
            if other.fact is source.fact and other.is_base:
                ranges = timelines.fresh.ranges()
                lacking = lacking - RangeSet(
                    TimeRange(other.period.start(r.start), other.period.start(r.end)) for r in ranges
                )
        return incomplete_reason(source.fact.base_period, lacking)


def unproven_reason(reasons: Sequence[str]) -> str:
    """Returns the reasons why some partitions are unproven, as one text: the first ones, and the number of the
    others.
    """
    shown_reasons = [reason for reason in reasons if reason != INCOMPLETE] or [BEFORE_FACT]
    omitted = len(shown_reasons) - _MOST_REASONS
    return "; ".join([*shown_reasons[:_MOST_REASONS], *([f"{omitted} more reasons"] if omitted > 0 else [])])


def incomplete_reason(base: Period, lacking: RangeSet) -> str:
    """Returns the number of base periods that incomplete partitions lack, as text. ``lacking`` is the time without
    them.
    """
    count = sum(base.ordinal(time_range.end - 1) + 1 - base.ordinal(time_range.start) for time_range in lacking)
    if count == 0:
        return "it was computed before its base was complete"
    return f"its base lacks {count:,} {base.name} {'period' if count == 1 else 'periods'}"
