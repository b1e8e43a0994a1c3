"""From a time range and the rules of a block to the cover: which facts and periods may serve, and which do.

Facts are judged in groups: one group for all facts where the block is additive, one for each single fact where it is
not. The base period is the finest that any fact has which carries the columns: all facts of a cube describe the same
events, so a fact that begins coarser is a rollup, and never makes an answer less exact. The best group is the one that
lacks least, then costs fewest partitions, then weighs least, then comes first by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rewriter.catalog.models import Fact, StorageTable, Table
from rewriter.errors import NotSupportedError
from rewriter.planner.arms import Arm, key_ranges
from rewriter.planner.blocks import CatalogReader
from rewriter.planner.causes import fitting, instants, left_to_finer, nearest_misses, times
from rewriter.planner.costs import Costs, costs
from rewriter.planner.cover import Candidate, Cover, cover
from rewriter.planner.othertimes import OtherUse, cut_by, undeclared
from rewriter.planner.plan import Cause, PruneCause, Settings
from rewriter.planner.sources import Source, Timelines
from rewriter.planner.validity import cut, is_bounded, window
from rewriter.timeline.calendars import Calendar, Period
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT, UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant
from rewriter.timeline.timelines import PartitionTimeline


@dataclass(frozen=True)
class Demand:
    """What a block asks of a cube.

    ``wanted`` are the instants that its predicates let through; ``exact`` says that ``time_range_in`` named them, so
    they must be whole base periods. ``units`` are the calendar units in which time is used; ``raw`` that it is used
    as it is. ``columns`` are needed. All but ``wanted`` and ``bounded`` are of all time dimensions; ``others`` are what
    is asked of those beside the leading one.
    """

    wanted: RangeSet
    exact: tuple[TimeRange, ...]
    columns: tuple[str, ...]
    units: frozenset[UpdatePeriod]
    additive: bool
    raw: bool
    bounded: bool
    others: tuple[OtherUse, ...] = ()


@dataclass(frozen=True)
class Choice:
    """The chosen group: its cover, the range that it was asked for, and why others fell out."""

    base: Period
    target: RangeSet
    cover: Cover
    outdated: RangeSet
    facts: tuple[Fact, ...]
    periods: tuple[Period, ...]
    causes: tuple[Cause, ...]
    cost: str
    others: tuple[OtherUse, ...] = ()


def choose(demand: Demand, facts: Sequence[Fact], reader: CatalogReader, settings: Settings) -> Choice | None:
    """The best group's cover; ``None`` where no fact carries what is needed, or ``time_range_in`` cuts periods."""
    carrying = [fact for fact in facts if not missing_columns(fact, demand)]
    lacking = tuple(_lacks_columns(fact, demand) for fact in facts if fact not in carrying)
    if not carrying:
        return None
    base = min(fact.base_period for fact in carrying)
    if any(not (base.is_aligned(r.start) and base.is_aligned(r.end)) for r in demand.exact if _closed_range(r)):
        return None
    others = tuple(replace(o, asked=None if o.asked is None else snapped(o.asked, base)) for o in demand.others)
    demand = replace(demand, others=others)
    groups = _groups(carrying, base, additive=demand.additive and not demand.raw)
    coarser = [fact for fact in carrying if not any(fact in group for group in groups)]
    sources = [
        Source(fact, storage, table, period)
        for fact in carrying
        for storage in fact.storages
        for table in storage.tables
        for period in sorted(table.layouts)
    ]
    now = settings.now
    valid = {source: window(source.storage, source.storage_table, now, source.fact.calendar) for source in sources}
    lines = {
        source: (
            cut(_timeline(reader, source), source.period, valid[source]),
            cut(_outdated(reader, source), source.period, valid[source]),
        )
        for source in sources
    }
    # An open end means the extent of all candidates, not only of the group that will serve.
    target = _closed(snapped(demand.wanted, base), [(s.period, line) for s, both in lines.items() for line in both])
    check_certain(target, carrying)
    priced = costs(
        (
            (source.storage_table.table, source.period)
            for source, (fresh, _) in lines.items()
            if not fresh.is_empty and _excluded(source, base, demand, settings) is None
        ),
        reader,
        by_bytes=settings.cost_in_bytes,
    )
    choices = [_judge(group, base, target, demand, lines, valid, priced, settings) for group in groups]
    # Rows without a time belong to the answer, too: a fact that does not have them lacks something.
    timeless = set() if demand.bounded or len(choices) < 2 else {f.name for f in carrying if null_time_arm(reader, f)}
    best, best_sources = min(choices, key=lambda pair: (_lacks_timeless(pair[0], timeless), *_badness(pair[0])))
    left = tuple(
        Cause(PruneCause.OTHER_FACT, str(source), "another fact lacks less or costs less")
        for choice, sources in choices
        if choice is not best
        for source in sources
        if source not in best_sources
    )
    left += tuple(
        Cause(
            PruneCause.PERIOD_TOO_COARSE,
            fact.name,
            f"begins with {fact.base_period.name}, another fact with {base.name}",
        )
        for fact in coarser
    )
    causes = tuple(sorted((*lacking, *best.causes, *left), key=lambda cause: (cause.kind, cause.candidate)))
    return replace(best, causes=causes, others=demand.others)


def missing_columns(fact: Fact, demand: Demand) -> list[str]:
    """The needed columns that a fact does not carry."""
    if fact.columns is None:
        return [use.time for use in demand.others if use.time not in fact.times]
    carried = {name.lower() for name in (*fact.columns, *fact.times)}
    return [name for name in demand.columns if name.lower() not in carried]


def snapped(wanted: RangeSet, base: Period) -> RangeSet:
    """The base periods that start inside ``wanted``, as ranges: a row's time is the start of its base period."""
    found = []
    for one in wanted:
        start = one.start if one.start <= MIN_INSTANT else base.ceil(one.start)
        end = one.end if one.end >= MAX_INSTANT else base.ceil(one.end)
        if start < end:
            found.append(TimeRange(start, end))
    return RangeSet.of(*found)


def _lacks_columns(fact: Fact, demand: Demand) -> Cause:
    return Cause(PruneCause.COLUMN_MISSING, fact.name, f"does not carry {', '.join(missing_columns(fact, demand))}")


def _groups(facts: Sequence[Fact], base: Period, *, additive: bool) -> list[list[Fact]]:
    """All facts together where partitions of several may be mixed; each alone where not, and only those whose base
    period is the finest: what is coarser is a rollup of the same events.
    """
    if additive:
        return [list(facts)]
    return [[fact] for fact in facts if fact.base_period is base]


def _judge(
    facts: list[Fact],
    base: Period,
    target: RangeSet,
    demand: Demand,
    lines: Timelines,
    valid: Mapping[Source, RangeSet],
    priced: Costs,
    settings: Settings,
) -> tuple[Choice, tuple[Source, ...]]:
    """One group's choice, and its candidates; ``lines`` are the timelines of all of them, ``valid`` their windows."""
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
    straddling = [source for source in sources if any(_straddles(source, other, base) for other in sources)]
    sources = [source for source in sources if source not in straddling]
    causes += [_straddling(source) for source in straddling]
    found = cover(target, [_candidate(source, lines[source][0], priced) for source in sources])
    outdated = RangeSet.EMPTY
    for source in sources:
        fresh, stale = lines[source]
        outdated = outdated | instants(source.period, stale, fitting(source.period, found.missing, target))
        causes += nearest_misses(source, fresh, stale, found.missing, target, valid[source])
        if settings.explain and source.period is not base:
            finer = RangeSet.of(*(one for part in found.parts if part.period < source.period for one in times(part)))
            causes += left_to_finer(source, fresh, stale, finer & valid[source])
    outdated = outdated & found.missing
    periods = tuple(sorted({source.period for source in sources}, reverse=True))
    cost = priced.described(found.cost)
    return Choice(base, target, found, outdated, tuple(facts), periods, tuple(causes), cost), tuple(sources)


def _excluded(source: Source, base: Period, demand: Demand, settings: Settings) -> Cause | None:
    period, unnamed = source.period, undeclared(demand.others, source.storage_table)
    if unnamed:
        return Cause(PruneCause.COLUMN_MISSING, str(source), f"is not partitioned by {', '.join(unnamed)}")
    if period is not base:
        # The base period always serves: its rows are the reference, whatever their time is used for.
        if demand.raw:
            return Cause(
                PruneCause.PERIOD_TOO_COARSE, str(source), "time is used as it is, which needs the base period"
            )
        if not demand.additive:
            return Cause(PruneCause.NOT_ADDITIVE, str(source), "the block is not additive, which needs the base period")
        calendar = source.fact.calendar
        coarse = [unit.name for unit in sorted(demand.units) if not period.nests_in(calendar.of(unit))]
        if coarse:
            return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), f"does not nest in {', '.join(coarse)}")
        inside = next((use for use in demand.others if cut_by(use, period)), None)
        if inside is not None:
            asked = calendar.shown(inside.asked or RangeSet.ALL)
            detail = f"{inside.time} is asked for at {asked}, which cuts {period.name} periods"
            return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), detail)
        uses_time = bool(demand.units or demand.others)
        if not base.nests_in(period) and (uses_time or _loses_starts(period, base, demand.wanted)):
            # A base row counts as of the start of its week, and so does its month; the rollup's rows lie in their own.
            used = "time is used" if uses_time else f"the range cuts {base.name} periods"
            detail = f"{used}, and {base.name} does not nest in it"
            return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), detail)
    if settings.periods is not None and period.kind not in settings.periods:
        return Cause(PruneCause.EXCLUDED_BY_SETTING, str(source), "SET rewriter.periods leaves this period out")
    return None


def _straddles(source: Source, other: Source, base: Period) -> bool:
    """Whether a source's periods do not nest with another's, as hours of UTC in the days of Kolkata: of the two the one
    that is the base serves, or that in which the base nests.
    """
    finer, coarser = sorted((source.period, other.period), key=int)
    if isinstance(coarser, UpdatePeriod) or not isinstance(finer, UpdatePeriod) or finer.nests_in(coarser):
        return False
    return source.period is (coarser if finer is base else finer)


def _straddling(source: Source) -> Cause:
    zone = source.fact.zone
    return Cause(PruneCause.PERIOD_TOO_COARSE, str(source), f"hours of UTC do not nest in the days of {zone}")


def check_certain(target: RangeSet, facts: Sequence[Fact], time: str | None = None) -> None:
    """Raises ``NotSupportedError`` where some of the time lies before the zone's days were made of whole hours and
    minutes, as far as the facts have them, and followed each other. ``time`` is a dimension beside the leading one.
    """
    calendar = facts[0].calendar
    finest = (UpdatePeriod.DAILY, UpdatePeriod.HOURLY, UpdatePeriod.MINUTELY)
    kinds = {*finest, *(period.kind for fact in facts for table in fact.tables for period in table.layouts)}
    since = max((known for kind in kinds if (known := calendar.since(kind)) is not None), default=MIN_INSTANT)
    if target and target.ranges[0].start < since:
        first = format_instant(target.ranges[0].start)
        raise NotSupportedError(
            f"The calendar of {calendar.zone} before {format_instant(since)}Z is not supported: its days are not made "
            f"of whole hours there, or a clock went back over midnight; {time or 'the range'} begins at {first}Z.",
            condition="UNCERTAIN_TIME_ZONE",
            object=calendar.zone,
            hint=f"Ask for {time or 'time'} from '{format_instant(since)}Z' on.",
        )


def _loses_starts(period: Period, base: Period, wanted: RangeSet) -> bool:
    """Whether a period that might serve begins in a gap of ``wanted`` inside a base period, which is shorter: the
    predicate would drop its rows.
    """
    target = snapped(wanted, base)
    for gap in target - wanted:
        start = period.ceil(gap.start)
        if start < gap.end and not RangeSet.of(TimeRange(start, period.end(period.ordinal(start)))) - target:
            return True
    return False


def _closed_range(one: TimeRange) -> bool:
    return one.start > MIN_INSTANT or one.end < MAX_INSTANT


def null_time_arm(reader: CatalogReader, fact: Fact) -> Arm | None:
    """The base partition of a fact whose time is NULL, if there is one. No window holds NULL."""
    return next(_null_time_arms(reader, fact, bounded=False), None)


def timeless_outside(reader: CatalogReader, facts: Sequence[Fact]) -> Iterator[str]:
    """The tables with a base partition whose time is NULL, and which therefore lies outside their storage's window."""
    for fact in facts:
        yield from (arm.table.name for arm in _null_time_arms(reader, fact, bounded=True))


def _null_time_arms(reader: CatalogReader, fact: Fact, *, bounded: bool) -> Iterator[Arm]:
    for storage in fact.storages:
        for storage_table in storage.tables:
            layout = storage_table.layouts.get(fact.base_period)
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


def _candidate(source: Source, timeline: PartitionTimeline, priced: Costs) -> Candidate:
    table, period = source.storage_table.table, source.period
    cost = priced.of(table, period)
    return Candidate(source.fact.name, source.storage.name, table, period, timeline, source.fact.weight, cost)


def _timeline(reader: CatalogReader, source: Source) -> PartitionTimeline:
    return reader.timeline(source.storage_table.table, source.period, source.storage_table.time)


def _outdated(reader: CatalogReader, source: Source) -> PartitionTimeline:
    return reader.outdated(source.storage_table.table, source.period, source.storage_table.time)


def _closed(target: RangeSet, timelines: list[tuple[Period, PartitionTimeline]]) -> RangeSet:
    """``target`` with open ends cut at the extent of all partitions that exist, outdated ones included."""
    if not any(one.start <= MIN_INSTANT or one.end >= MAX_INSTANT for one in target):
        return target
    starts = [period.start(line.first) for period, line in timelines if line.first is not None]
    ends = [period.end(line.latest) for period, line in timelines if line.latest is not None]
    if not starts:
        # Nothing exists: what is open at an end asks for nothing, what is bounded still asks.
        return RangeSet.of(*(one for one in target if one.start > MIN_INSTANT and one.end < MAX_INSTANT))
    found = []
    for one in target:
        start = max(one.start, min(starts)) if one.start <= MIN_INSTANT else one.start
        end = min(one.end, max(ends)) if one.end >= MAX_INSTANT else one.end
        if start < end:
            found.append(TimeRange(start, end))
    return RangeSet.of(*found)


def storage_table_of(facts: Sequence[Fact], fact: str, table: str) -> StorageTable:
    """The storage table of that name in that fact."""
    return next(t for f in facts if f.name == fact for t in f.tables if t.table == table)


def table_of(reader: CatalogReader, storage_table: StorageTable) -> Table:
    """The table behind a storage table."""
    return reader.table(storage_table.table)


def nearest_aligned(one: TimeRange, base: Period, calendar: Calendar) -> str:
    """The aligned range nearest to ``one``, as text for a hint: outward."""
    return calendar.shown(TimeRange(base.floor(one.start), base.ceil(one.end)))
