"""What a query needs of a rollup: columns, units of time and the shape of its range, without a value of its text.

The shape of a range says how long it is and on which periods it begins and ends, and not when. For advice a shape is
placed at the newest times of the data, so needs of last year still tell which rollups would serve them now.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT, MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.planner.model.plan import Plan, ReferencePlan
    from rewriter.timeline.calendars import Calendar

#: The most shapes of a need. A query with more ranges is judged by its most frequent shapes.
_MOST_SHAPES = 8
#: Half a minute: what places a bound inside of every period.
_INSIDE = MINUTE // 2

#: How many periods before the last one of the data ranges are placed that begin or end with a period of a kind: such
#: that they lie differently in days, weeks, months, quarters and years.
_SHIFTS = {
    UpdatePeriod.MINUTELY: (4_627, 15_449, 26_233, 37_057),
    UpdatePeriod.HOURLY: (77, 257, 437, 617),
    UpdatePeriod.DAILY: (3, 10, 18, 25),
    UpdatePeriod.WEEKLY: (0, 1, 2, 3),
    UpdatePeriod.MONTHLY: (0, 2, 4, 7),
    UpdatePeriod.QUARTERLY: (0, 1, 2, 3),
    UpdatePeriod.YEARLY: (0,),
}


@dataclass(frozen=True)
class RangeShape:
    """``times`` ranges of ``count`` whole ``unit`` periods; 0 of them are all time until the last end of a unit.

    The range begins, or with ``at_end`` ends, where an ``anchor`` period does. An end without an anchor is the end of
    the data. Without a unit the bounds lie inside of minutes, and the range is ``count`` minutes long.
    """

    unit: UpdatePeriod | None
    count: int
    anchor: UpdatePeriod | None
    at_end: bool = False
    times: int = 1

    def rounded(self) -> RangeShape:
        """Returns the shape with a length that is one of a few: it differs by 5 % at most."""
        if self.count <= 40:
            return self
        return replace(self, count=round(1.1 ** round(math.log(self.count, 1.1))))

    def placed(self, extent: TimeRange, calendar: Calendar) -> list[TimeRange]:
        """Returns ranges of this shape inside of the time of the data: the newest ones, at a few places of the longer
        periods around them, because the shape does not say where in a month a range of days begins. Ranges that the
        data are too short for are cut; no range is empty.
        """
        if self.count == 0:
            end = extent.end if self.anchor is None else calendar.of(self.anchor).floor(extent.end)
            return [TimeRange(extent.start, end)] if extent.start < end else []
        step = self.anchor or (UpdatePeriod.DAILY if self.unit and self.unit >= UpdatePeriod.DAILY else self.unit)
        period = calendar.of(step or UpdatePeriod.MINUTELY)
        last = period.ordinal(extent.end)
        ends = [period.start(last - shift) for shift in _SHIFTS[period.kind]]
        ranges = [self._before(end, calendar) for end in (*ends, extent.end)]
        whole = [range_ for range_ in ranges[:-1] if range_.start >= extent.start]
        if whole:
            return whole
        start, end = max(ranges[-1].start, extent.start), min(ranges[-1].end, extent.end)
        return [TimeRange(start, end)] if start < end else []

    def _before(self, end: int, calendar: Calendar) -> TimeRange:
        """Returns the newest range of this shape that ends at an instant, or before."""
        if self.unit is None:
            return TimeRange(end - _INSIDE - self.count * MINUTE, end - _INSIDE)
        unit = calendar.of(self.unit)
        if self.at_end:
            end = end if self.anchor is None else calendar.of(self.anchor).floor(end)
            return TimeRange(unit.start(unit.ordinal(unit.ceil(end)) - self.count), end)
        start = unit.start(unit.ordinal(end) - self.count)
        start = start if self.anchor is None else calendar.of(self.anchor).floor(start)
        return TimeRange(start, unit.start(unit.ordinal(start) + self.count))


@dataclass(frozen=True)
class RollupNeed:
    """What a reference to a cube needs. ``units`` are the calendar units in which it uses time. With ``needs_base``
    only base rows serve it. ``shapes`` are those of its ranges.
    """

    columns: tuple[str, ...]
    units: tuple[UpdatePeriod, ...]
    needs_base: bool
    shapes: tuple[RangeShape, ...]

    @classmethod
    def of(cls, reference: ReferencePlan, other_times: Iterable[str] = ()) -> RollupNeed:
        """Returns the need of a planned reference. ``other_times`` are the times of the cube besides the leading one:
        partitions of a rollup that ROLLUPS makes do not name them.
        """
        others = {name.lower() for name in other_times}
        needs_base = bool(reference.reasons) or any(name.lower() in others for name in reference.columns)
        counts = Counter(_shapes(reference))
        shapes = (
            RangeShape(shape.unit, shape.count, shape.anchor, shape.at_end, times)
            for shape, times in counts.most_common(_MOST_SHAPES)
        )
        columns = tuple(sorted(name.lower() for name in reference.columns))
        units = tuple(sorted(unit for unit, _ in reference.units))
        return cls(columns, tuple(dict.fromkeys(units)), needs_base, tuple(shapes))

    def as_text(self) -> str:
        """Returns the need as JSON, which ``of_text`` reads."""
        shapes = [
            [_name(shape.unit), shape.count, _name(shape.anchor), shape.at_end, shape.times] for shape in self.shapes
        ]
        units = [unit.name for unit in self.units]
        return json.dumps([self.columns, units, self.needs_base, shapes], separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def of_text(cls, text: str) -> RollupNeed:
        columns, units, needs_base, shapes = json.loads(text)
        return cls(
            tuple(columns),
            tuple(UpdatePeriod[unit] for unit in units),
            needs_base,
            tuple(
                RangeShape(_period(unit), count, _period(anchor), at_end, times)
                for unit, count, anchor, at_end, times in shapes
            ),
        )

    def under_names(self, named: Callable[[str], str]) -> RollupNeed:
        """Returns the need with other names of its columns, which ``named`` returns."""
        return replace(self, columns=tuple(sorted(map(named, self.columns))))

    def rounded(self) -> RollupNeed:
        """Returns the need with rounded lengths of its ranges."""
        return replace(self, shapes=tuple(shape.rounded() for shape in self.shapes))

    def requested(self, extent: TimeRange, calendar: Calendar) -> Iterator[tuple[RangeSet, float]]:
        """Yields ranges of each shape in the time of the data, and how often the query has each on average."""
        for shape in self.shapes:
            placed = shape.placed(extent, calendar)
            for range_ in placed:
                yield RangeSet.of(range_), shape.times / len(placed)


@dataclass(frozen=True)
class PeriodReads:
    """How many partitions of a period of a table a query has read."""

    table: str
    period: UpdatePeriod
    partitions: int


def reads_of(plan: Plan) -> Iterator[tuple[ReferencePlan, tuple[PeriodReads, ...]]]:
    """Yields each reference to a cube, and what it reads."""
    for reference in plan.coverage.references:
        yield reference, tuple(PeriodReads(p.table, p.period.kind, p.partitions) for p in reference.parts)


def _shapes(reference: ReferencePlan) -> Iterator[RangeShape]:
    calendar = reference.calendar
    last_end = max((time.end for time in reference.requested), default=None)
    for time in reference.asked:
        starts_open, ends_open = time.start <= MIN_INSTANT, time.end >= MAX_INSTANT
        if starts_open:
            kinds = () if ends_open else _aligned(time.end, calendar)
            yield RangeShape(kinds[0] if kinds else UpdatePeriod.MINUTELY, 0, kinds[0] if kinds else None)
            continue
        starts = _aligned(time.start, calendar)
        if ends_open:
            unit = calendar.of(starts[0] if starts else UpdatePeriod.MINUTELY)
            end = time.start + 1 if last_end is None else max(last_end, time.start + 1)
            count = unit.ordinal(end - 1) + 1 - unit.ordinal(time.start)
            yield RangeShape(unit.kind, count, None, at_end=True)
            continue
        ends = _aligned(time.end, calendar)
        unit_kind = next((kind for kind in starts if kind in ends), None)
        if unit_kind is None:
            yield RangeShape(None, max(1, -((time.start - time.end) // MINUTE)), None)
            continue
        unit = calendar.of(unit_kind)
        count = unit.ordinal(time.end) - unit.ordinal(time.start)
        at_end = ends[0] > starts[0]
        yield RangeShape(unit_kind, count, ends[0] if at_end else starts[0], at_end)


def _aligned(instant: int, calendar: Calendar) -> list[UpdatePeriod]:
    """Returns the kinds of periods that begin at an instant, the longest first."""
    return [kind for kind in sorted(UpdatePeriod, reverse=True) if calendar.of(kind).is_aligned(instant)]


def _name(period: UpdatePeriod | None) -> str | None:
    return None if period is None else period.name


def _period(name: str | None) -> UpdatePeriod | None:
    return None if name is None else UpdatePeriod[name]
