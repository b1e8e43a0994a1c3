"""CHECK FACT: whether the rollups of a fact say what its base says, and whether the facts of a cube agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rewriter.catalog.models import Column, Cube, Fact, Measure, Storage, StorageTable
from rewriter.comparing import Comparison, Difference, differences
from rewriter.context import Context
from rewriter.coverage import asked, overlapping
from rewriter.errors import Error
from rewriter.grammar import statements as s
from rewriter.grammar.render import quote
from rewriter.planner.arms import Arm
from rewriter.planner.candidates import check_certain
from rewriter.planner.cover import Candidate, cover, extent
from rewriter.planner.othertimes import OtherUse, extents
from rewriter.planner.validity import cut, window
from rewriter.result import Result, Row
from rewriter.showing import listing, named_fact, strings
from rewriter.timeline.calendars import Calendar, Period
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline

#: The most differences that one comparison shows; the rest is counted.
MOST_SHOWN = 100
_RANGES_SHOWN = 3


@dataclass(frozen=True)
class Place:
    """Where a fact has partitions of one period."""

    fact: Fact
    storage: Storage
    table: StorageTable
    period: Period


def check_fact(statement: s.CheckFact, context: Context) -> Result:
    """Compares every rollup, every copy of the base and every other fact of the cube with the base of the fact.

    Rows of (checked, period, from, to, row, measure, base, found, finding, partitions). Of each comparison first what
    was not compared (``outdated``, or ``not checked`` with the reason), then the differences in order, at most 100,
    with the number of those left out, and last a summary: ``agrees``, ``differs`` or ``nothing compared``. Partitions
    that share time with the range are in it. Every comparison is one query, over both sides' partitions only.
    """
    fact = named_fact(statement.fact, context)
    cube = context.snapshot.cube(fact.cube)
    facts = [fact, *(other for other in context.snapshot.facts_of(cube.name) if other.id != fact.id)]
    there = [_candidate(place, context) for one in facts for place in places(one)]
    wanted = asked(statement, fact, context, extent(there))
    rows: list[Row] = []
    try:
        for place in places(fact):
            rows += _check_place(place, cube, wanted, context)
        for other in facts[1:]:
            rows += _check_other(fact, other, cube, wanted, context)
    except Error as error:
        error.position = None  # It was a place in a query that nobody typed.
        raise error.at(statement.fact.span) from None
    columns = strings("checked", "period", "from", "to", "row", "measure", "base", "found", "finding")
    return listing("CHECK FACT", (*columns, Column("partitions", "bigint")), rows)


def places(fact: Fact) -> list[Place]:
    """All (storage table, period) of a fact, in its order, coarse before fine."""
    return [
        Place(fact, storage, table, period)
        for storage in fact.storages
        for table in storage.tables
        for period in sorted(table.layouts, reverse=True)
    ]


def base_places(fact: Fact) -> list[Place]:
    """Where the base of a fact lies: one place, or several copies."""
    return [place for place in places(fact) if place.period is fact.base_period]


def whole_base(bases: Sequence[Place], context: Context) -> RangeSet:
    """The time of base periods that are there as a whole, while their storages are valid."""
    found = RangeSet.EMPTY
    for place in bases:
        found |= times(place.period, fresh_line(place, context).ranges())
    return found


def times(period: Period, ordinals: Sequence[OrdinalRange]) -> RangeSet:
    """The time of periods."""
    return RangeSet(TimeRange(period.start(r.start), period.start(r.end)) for r in ordinals)


def within(period: Period, time: RangeSet) -> RangeSet:
    """The periods that lie wholly inside the time."""
    pairs = ((period.ceil(one.start), period.floor(one.end)) for one in time)
    return RangeSet(TimeRange(start, end) for start, end in pairs if start < end)


def inside(ordinals: Sequence[OrdinalRange], period: Period, wanted: RangeSet) -> RangeSet:
    """The time of those of the periods that share time with the range."""
    outward = RangeSet(TimeRange(period.floor(one.start), period.ceil(one.end)) for one in wanted)
    return times(period, ordinals) & outward


def ordinals_of(period: Period, time: RangeSet) -> tuple[OrdinalRange, ...]:
    """The periods that share time with some ranges."""
    return tuple(overlapping(period, one) for one in time)


def base_arms(bases: Sequence[Place], time: RangeSet, context: Context) -> tuple[Arm, ...]:
    """The base partitions of some time, which must be there."""
    parts = cover(time, [_candidate(place, context) for place in bases]).parts
    tables = {place.table.table: place for place in bases}
    return tuple(_arm(tables[part.table], part.ranges, context) for part in parts)


def carried(fact: Fact, cube: Cube) -> tuple[tuple[Column, ...], tuple[Measure, ...]]:
    """The dimensions and measures that a fact carries."""
    names = None if fact.columns is None else {name.lower() for name in fact.columns}
    return (
        tuple(column for column in cube.dimensions if names is None or column.name.lower() in names),
        tuple(measure for measure in cube.measures if names is None or measure.name.lower() in names),
    )


def _check_place(place: Place, cube: Cube, wanted: RangeSet, context: Context) -> Iterator[Row]:
    bases = base_places(place.fact)
    if place in bases:
        bases = bases[: bases.index(place)]  # A copy is compared with those before it.
    if not bases:
        return
    period, name = place.period, place.table.table
    outdated = inside(context.snapshot.outdated(name, period, place.table.time).ranges(), period, wanted)
    if outdated:
        yield from _told(name, period, outdated, "outdated", cube.calendar)
    fresh = inside(fresh_line(place, context).ranges(), period, wanted)
    finest = place.fact.base_period
    if not finest.nests_in(period):
        for one in fresh:
            reason = f"not checked: {finest.name} periods do not add up to {period.name} ones"
            yield from _told(name, period, RangeSet.of(one), reason, cube.calendar)
        return
    whole = whole_base(bases, context)
    checked = RangeSet(r for one in fresh for r in _periods_without(period, one, RangeSet.of(one) - whole))
    for one in fresh - checked:
        lacking = RangeSet.of(one) - whole
        reason = f"not checked: the base lacks {_shortened(lacking, cube.calendar)}"
        yield from _told(name, period, RangeSet.of(one), reason, cube.calendar)
    dimensions, measures = carried(place.fact, cube)
    arm = _arm(place, ordinals_of(period, checked), context)
    base = base_arms(bases, checked, context)
    times = place.table.times[1:]
    yield from _compared(name, Comparison(cube, period, base, (arm,), times, dimensions, measures), checked, context)


def _check_other(fact: Fact, other: Fact, cube: Cube, wanted: RangeSet, context: Context) -> Iterator[Row]:
    finer, period = sorted((fact.base_period, other.base_period))
    mine, theirs = base_places(fact), base_places(other)
    both = whole_base(mine, context) & whole_base(theirs, context)
    both = both if finer.nests_in(period) else RangeSet.EMPTY
    checked = inside(ordinals_of(period, within(period, both)), period, wanted)
    (dimensions, measures), (their_dimensions, their_measures) = carried(fact, cube), carried(other, cube)
    comparison = Comparison(
        cube,
        period,
        base_arms(mine, checked, context),
        base_arms(theirs, checked, context),
        tuple(time for time in fact.times[1:] if time in other.times),
        tuple(column for column in dimensions if column in their_dimensions),
        tuple(measure for measure in measures if measure in their_measures),
    )
    yield from _compared(f"fact {other.name}", comparison, checked, context)


def _compared(name: str, comparison: Comparison, checked: RangeSet, context: Context) -> Iterator[Row]:
    """The differences as rows, and the summary."""
    period, count = comparison.period, 0
    if checked:
        for count, difference in enumerate(differences(comparison, context), start=1):
            if count <= MOST_SHOWN:
                yield _difference(name, comparison, difference)
        if count > MOST_SHOWN:
            yield (name, period.name, *[None] * 6, f"{count - MOST_SHOWN} more differences are not shown", None)
    start = comparison.cube.calendar.text(checked.ranges[0].start) if checked else None
    end = comparison.cube.calendar.text(checked.ranges[-1].end) if checked else None
    finding = "nothing compared" if not checked else "differs" if count else "agrees"
    yield (name, period.name, start, end, *[None] * 4, finding, _count(period, checked))


def _difference(name: str, comparison: Comparison, found: Difference) -> Row:
    period = comparison.period
    pairs = zip(comparison.keys, found.values, strict=True)
    row = ", ".join(f"{column.name}={_text(value, literal=True) or 'NULL'}" for column, value in pairs)
    text = comparison.cube.calendar.text
    start, end = text(period.start(found.ordinal)), text(period.end(found.ordinal))
    values = (_text(found.base), _text(found.found))
    return name, period.name, start, end, row or None, found.measure, *values, found.finding, None


def _text(value: object, *, literal: bool = False) -> str | None:
    """A value as text; ``literal`` quotes what is a text, so that it is not taken for NULL."""
    if value is None or isinstance(value, str):
        return quote(value) if literal and isinstance(value, str) else value
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def _told(name: str, period: Period, time: RangeSet, finding: str, calendar: Calendar) -> Iterator[Row]:
    for one in time:
        ends = (calendar.text(one.start), calendar.text(one.end))
        yield (name, period.name, *ends, *[None] * 4, finding, _count(period, RangeSet.of(one)))


def _shortened(time: RangeSet, calendar: Calendar) -> str:
    """The first ranges, and how many more there are."""
    shown = ", ".join(calendar.shown(one) for one in time.ranges[:_RANGES_SHOWN])
    more = len(time.ranges) - _RANGES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _count(period: Period, time: RangeSet) -> int:
    return sum(len(one) for one in ordinals_of(period, time))


def _periods_without(period: Period, time: TimeRange, lacking: RangeSet) -> RangeSet:
    """The periods of some time in which nothing is lacking."""
    return RangeSet.of(time) - times(period, ordinals_of(period, lacking))


def fresh_line(place: Place, context: Context) -> PartitionTimeline:
    """What is there, whole and fresh, while its storage is valid."""
    line = context.snapshot.timeline(place.table.table, place.period, place.table.time)
    return cut(line, place.period, window(place.storage, place.table, context.planning.now, place.fact.calendar))


def _candidate(place: Place, context: Context) -> Candidate:
    line = fresh_line(place, context)
    return Candidate(place.fact.name, place.storage.name, place.table.table, place.period, line)


def _arm(place: Place, ranges: Sequence[OrdinalRange], context: Context) -> Arm:
    """The partitions of some periods. Raises ``NotSupportedError`` where their other times lie before the zone's
    calendar is certain.
    """
    table, period, calendar = place.table, place.period, place.fact.calendar
    arm = Arm(context.snapshot.table(table.table), table, table.layouts[period], tuple(ranges))
    uses = [OtherUse(other.time, None) for other in table.others]
    arm = replace(arm, extents=extents(uses, table, period, context.snapshot))
    for other in table.others:
        check_certain(arm.within(other.time, calendar), [place.fact], other.time)
    return arm
