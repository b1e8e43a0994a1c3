"""Functions that plant a fault in layouts, weeks, other times and zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewriter.planner.cover import choose_facts, secondary_times
from rewriter.planner.rewrite import union_arms
from rewriter.planner.time.time_usage import TimeUse
from rewriter.planner.zones import zone_rewrites
from rewriter.timeline import layouts
from rewriter.timeline.calendars import Calendar
from rewriter.timeline.civil import DAY, MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet
from rewriter.timeline.timeline import OrdinalRange

from .plants import Patch


def days_and_months_change_places(patch: Patch) -> None:
    """Swaps day and month in the names of days if both are possible, as in 2013-01-02."""
    fields_of, ordinal_of = layouts._fields_of, layouts._ordinal_of

    def changed(period: UpdatePeriod, fields: Mapping[str, int]) -> dict[str, int]:
        swapped = dict(fields)
        if period is UpdatePeriod.DAILY and swapped["dd"] <= 12:
            swapped["dd"], swapped["MM"] = swapped["MM"], swapped["dd"]
        return swapped

    patch.setattr(layouts, "_fields_of", lambda period, ordinal: changed(period, fields_of(period, ordinal)))
    patch.setattr(layouts, "_ordinal_of", lambda period, fields: ordinal_of(period, changed(period, fields)))


def weeks_count_by_their_last_day(patch: Patch) -> None:
    """Includes a week in a range if its Sunday is in the range."""
    snapped = choose_facts.snapped

    def planted(wanted: RangeSet, base: Any) -> RangeSet:
        if base.kind is not UpdatePeriod.WEEKLY:
            return snapped(wanted, base)
        earlier = (
            replace(
                stretch,
                start=max(stretch.start - 6 * DAY, MIN_INSTANT),
                end=stretch.end - 6 * DAY * (stretch.end < MAX_INSTANT),
            )
            for stretch in wanted
        )
        return snapped(RangeSet.of(*(stretch for stretch in earlier if stretch.start < stretch.end)), base)

    patch.setattr(choose_facts, "snapped", planted)


def weeks_are_of_their_mondays_year(patch: Patch) -> None:
    fields_of = layouts._fields_of

    def planted(period: UpdatePeriod, ordinal: int) -> dict[str, int]:
        numbers = fields_of(period, ordinal)
        return {**numbers, "YYYY": numbers["yyyy"]} if "YYYY" in numbers else numbers

    patch.setattr(layouts, "_fields_of", planted)


def other_times_cut_nothing(patch: Patch) -> None:
    """Uses rollups even if an end of another time's range is inside their periods."""
    patch.setattr(choose_facts, "cut_by", lambda *args: False)


def other_times_end_early(patch: Patch) -> None:
    """Omits the last requested period of another time."""
    ordinals_of = secondary_times._ordinals

    def planted(*args: Any) -> tuple[OrdinalRange, ...]:
        return tuple(
            OrdinalRange(ordinals.start, max(ordinals.start + 1, ordinals.end - 1)) for ordinals in ordinals_of(*args)
        )

    patch.setattr(secondary_times, "_ordinals", planted)


def other_times_are_in_no_unit(patch: Patch) -> None:
    """Ignores the units of functions of another time. Those of the leading time still restrict the periods."""
    record = TimeUse.record

    def planted(self: TimeUse, column: Any) -> None:
        if column.name != "seen":
            record(self, column)

    patch.setattr(TimeUse, "record", planted)


def days_begin_at_their_last_offset(patch: Patch) -> None:
    """Shifts the rows of a zone's day to the time at which it would begin if its clocks had changed before."""
    start_of = union_arms.start_of

    def planted(period: Any, wall: str, ranges: Sequence[OrdinalRange]) -> str:
        return start_of(_Late(period), wall, ranges)

    patch.setattr(union_arms, "start_of", planted)


class _Late:
    """A period of a zone whose starts are computed with the offset at their ends."""

    def __init__(self, period: Any) -> None:
        self.period, self.kind, self.calendar, self.ordinal = period, period.kind, period.calendar, period.ordinal

    def start(self, ordinal: int) -> int:
        return int(self.kind.start(ordinal) - self.calendar.offset(self.period.end(ordinal)))


def days_end_at_their_first_offset(patch: Patch) -> None:
    """Reads a bound in the text of a query with the offset at which its day begins."""

    def planted(self: Calendar, wall: int) -> int:
        return wall if self.is_utc else wall - self.offset(instant(self, wall // DAY * DAY))

    instant = Calendar.instant
    patch.setattr(Calendar, "instant", planted)


def walls_are_of_utc(patch: Patch) -> None:
    """Lets functions of time read the clocks of UTC."""
    patch.setattr(zone_rewrites, "wall_time", lambda calendar, name, within: name)
