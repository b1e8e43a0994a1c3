"""Calendars of time zones: the instants at which the days and longer periods of a zone begin and end.

An instant plus the zone's offset at it is the *wall time*: microseconds since 1970-01-01T00:00:00 on the zone's clocks.
``Calendar.of`` returns an update period in the zone. DAILY and coarser periods begin where the zone's days begin.
HOURLY and MINUTELY stay periods of UTC, so that none is doubled or skipped when clocks change. In UTC, ``Calendar.of``
returns the ``UpdatePeriod`` itself. Offsets come from ``zoneinfo``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC as _UTC
from datetime import datetime, timedelta
from functools import cache, cached_property, lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rewriter.errors import AnalysisError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.civil import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE
from rewriter.timeline.periods import PeriodArithmetic, UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant, format_instants

_EPOCH = datetime(1970, 1, 1, tzinfo=_UTC)
_WALL_EPOCH = datetime(1970, 1, 1)
_MICRO = timedelta(microseconds=1)
#: ``datetime`` ends with year 9999. Within three days of the ends of time, the offset at these instants is used.
_LOW, _HIGH = MIN_INSTANT + 3 * DAY, MAX_INSTANT - 3 * DAY
#: Zones have been defined and changed between these years. After them, their rules repeat.
_FIRST_YEAR, _LAST_YEAR = 1840, 2040


@dataclass(frozen=True)
class Transition:
    """A change of the offset from UTC at ``instant``; all fields are in microseconds."""

    instant: int
    before: int
    after: int


@dataclass(frozen=True)
class Calendar:
    """The calendar of a zone. Use ``calendar_of`` to get it.

    >>> from rewriter.timeline.time_bounds import parse_instant
    >>> tokyo = calendar_of("Asia/Tokyo")
    >>> day = tokyo.of(UpdatePeriod.DAILY)
    >>> format_instant(day.floor(parse_instant("2015-01-29T20")))
    '2015-01-29T15'
    >>> tokyo.of(UpdatePeriod.HOURLY) is UpdatePeriod.HOURLY
    True
    """

    zone: str

    @property
    def is_utc(self) -> bool:
        """True if this is the calendar of UTC, in which an instant is its own wall time."""
        return self.zone == "UTC"

    def of(self, kind: UpdatePeriod) -> Period:
        """Returns the periods of that kind in this calendar: the periods that partitions of a cube in this zone
        hold.
        """
        return kind if self.is_utc or kind < UpdatePeriod.DAILY else _zoned(kind, self)

    def offset(self, instant: int) -> int:
        """Returns the distance from UTC at an instant, in microseconds; positive east of UTC."""
        return 0 if self.is_utc else _offset(self._zone, min(max(instant, _LOW), _HIGH))

    def wall(self, instant: int) -> int:
        """Returns the wall time at an instant."""
        return instant + self.offset(instant)

    def instant(self, wall: int) -> int:
        """Returns the instant of a wall time, by the rule of java.time: a wall time inside a gap moves forward by the
        length of the gap; if a wall time occurs twice, the earlier instant is returned.
        """
        if self.is_utc:
            return wall
        local = _WALL_EPOCH + timedelta(microseconds=min(max(wall, _LOW), _HIGH))
        return wall - (self._zone.utcoffset(local) or timedelta()) // _MICRO

    def transitions(self, start: int, end: int) -> Iterator[Transition]:
        """Returns the changes of the offset in ``[start, end)``, in order. Each year is searched once and then
        cached.
        """
        if self.is_utc:
            return
        first, last = (_EPOCH + timedelta(microseconds=min(max(at, _LOW), _HIGH)) for at in (start, end))
        for year in range(first.year, last.year + 1):
            yield from (transition for transition in _transitions(self.zone, year) if start <= transition.instant < end)

    def since(self, finest: UpdatePeriod) -> int | None:
        """Returns the first instant from which every day of the zone consists of whole ``finest`` periods and no clock
        goes back over midnight. ``None`` if this does not hold even today; ``MIN_INSTANT`` in UTC.
        """
        return MIN_INSTANT if self.is_utc else _since(self.zone, finest)

    def text(self, instant: int) -> str:
        """Returns the shortest text of the instant's wall time. If that wall time occurs twice, the text in UTC, with a
        Z.
        """
        if self.is_utc:
            return format_instant(instant)
        wall = self.wall(instant)
        if not _LOW <= instant <= _HIGH or self.instant(wall) == instant:
            return format_instant(instant if instant in (MIN_INSTANT, MAX_INSTANT) else wall)
        text = format_instant(instant)
        return f"{text}Z" if "T" in text else f"{text}T00Z"

    def texts(self, instants: Sequence[int]) -> list[str]:
        """Returns ``text`` of each instant."""
        return format_instants(instants) if self.is_utc else list(map(self.text, instants))

    def shown(self, ranges: TimeRange | RangeSet) -> str:
        """Returns the ranges as text, followed by the zone's name if it is not UTC."""
        if self.is_utc:
            return str(ranges)
        time_ranges = (ranges,) if isinstance(ranges, TimeRange) else ranges.ranges
        text = " ∪ ".join(f"[{self.text(time_range.start)}, {self.text(time_range.end)})" for time_range in time_ranges)
        return f"{text} {self.zone}" if text else str(ranges)

    @cached_property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone)


@dataclass(frozen=True, eq=False)
class ZonedPeriod(PeriodArithmetic):
    """A period of a zone's calendar, DAILY or coarser, with the methods of ``UpdatePeriod``. ``Calendar.of`` interns
    these objects.

    A date that the zone skips (2011-12-30 in Apia) is a day of length zero: it begins where the next day begins.
    """

    kind: UpdatePeriod
    calendar: Calendar

    @property
    def name(self) -> str:
        """DAILY, WEEKLY, …"""
        return self.kind.name

    def ordinal(self, instant: int) -> int:
        """Returns the ordinal of the period that contains ``instant``."""
        return self.kind.ordinal(self.calendar.wall(instant))

    def start(self, ordinal: int) -> int:
        """Returns the first instant of the period."""
        return self.calendar.instant(self.kind.start(ordinal))

    def nests_in(self, other: PeriodArithmetic) -> bool:
        """Tests whether every period of this kind is within one period of the other kind."""
        return isinstance(other, ZonedPeriod) and self.kind.nests_in(other.kind)

    def holds(self, finer: UpdatePeriod) -> bool:
        """Tests whether these periods consist of whole UTC hours (or minutes) under the zone's current rules."""
        return finer < UpdatePeriod.DAILY and self.calendar.since(finer) is not None

    def __int__(self) -> int:
        return int(self.kind)

    def __lt__(self, other: Period) -> bool:
        return int(self) < int(other)

    def __gt__(self, other: Period) -> bool:
        return int(self) > int(other)

    def __le__(self, other: Period) -> bool:
        return int(self) <= int(other)

    def __ge__(self, other: Period) -> bool:
        return int(self) >= int(other)


Period = UpdatePeriod | ZonedPeriod

UTC = Calendar("UTC")


@cache
def calendar_of(zone: str) -> Calendar:
    """Returns the calendar of a zone by its name in the IANA database; the calendar of UTC by any of its names.

    Raises ``AnalysisError`` UNKNOWN_TIME_ZONE. Offsets and abbreviations raise it, too: they have no calendar rules.

    >>> calendar_of("Etc/UTC").zone, calendar_of("America/New_York").zone
    ('UTC', 'America/New_York')
    """
    if zone.upper() in ("UTC", "Z", "ETC/UTC"):
        return UTC
    try:
        is_known = "/" in zone and ZoneInfo(zone).key == zone
    except (ZoneInfoNotFoundError, ValueError, OSError):
        is_known = False
    if not is_known:
        raise AnalysisError(
            f"'{zone}' is not a time zone",
            condition="UNKNOWN_TIME_ZONE",
            object=zone,
            hint="Name a zone of the IANA database, with its exact spelling: 'America/New_York', 'Asia/Tokyo', 'UTC'.",
        )
    return Calendar(zone)


@cache
def _zoned(kind: UpdatePeriod, calendar: Calendar) -> ZonedPeriod:
    return ZonedPeriod(kind, calendar)


def _offset(zone: ZoneInfo, instant: int) -> int:
    local = (_EPOCH + timedelta(microseconds=instant)).astimezone(zone)
    return (local.utcoffset() or timedelta()) // _MICRO


@lru_cache(maxsize=4096)
def _transitions(zone: str, year: int) -> tuple[Transition, ...]:
    """Returns the transitions of one UTC year. The search goes day by day, because no zone ever changed twice
    in a day.
    """
    calendar = calendar_of(zone)
    year_start = (datetime(year, 1, 1, tzinfo=_UTC) - _EPOCH) // _MICRO
    days = 366 if (datetime(year, 12, 31) - datetime(year, 1, 1)).days == 365 else 365
    transitions: list[Transition] = []
    before = calendar.offset(year_start - 1)
    for day in range(days):
        low, high = year_start + day * DAY - 1, year_start + (day + 1) * DAY - 1
        after = calendar.offset(high)
        if after == before:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if calendar.offset(middle) == before else (low, middle)
        transitions.append(Transition(high, before, after))
        before = after
    return tuple(transitions)


@cache
def _since(zone: str, finest: UpdatePeriod) -> int | None:
    unit = {UpdatePeriod.MINUTELY: MINUTE, UpdatePeriod.HOURLY: HOUR}.get(finest, 1)
    calendar = calendar_of(zone)
    last_break = MIN_INSTANT
    offset = calendar.offset(MIN_INSTANT)
    for year in range(_FIRST_YEAR, _LAST_YEAR + 1):
        for transition in _transitions(zone, year):
            offset = transition.after
            if transition.before % unit or transition.instant % unit or _breaks_days(transition):
                last_break = transition.instant
    # A break in the last years recurs in every later year.
    recurs = last_break > calendar.instant(UpdatePeriod.YEARLY.start(_LAST_YEAR - 5 - 1970))
    return None if offset % unit or recurs else last_break


def _breaks_days(transition: Transition) -> bool:
    """Tests whether clocks go back into a day that was over, or if a gap begins before a midnight and ends after it."""
    wall_before, wall_after = transition.instant + transition.before, transition.instant + transition.after
    if wall_after < wall_before:
        return (wall_before - 1) // DAY > wall_after // DAY
    midnight = -(-wall_before // DAY) * DAY
    return wall_before < midnight < wall_after
