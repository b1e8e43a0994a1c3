"""Calendars of time zones: where the days and longer periods of a zone begin and end, as instants.

An instant plus the zone's offset at it is the *wall time*: microseconds since 1970-01-01T00:00:00 on the zone's clocks.
``Calendar.of`` answers an update period as the zone has it: DAILY and coarser ones begin where the zone's days begin;
HOURLY and MINUTELY stay those of UTC, so that none is doubled or left out when clocks change. In UTC it is the
``UpdatePeriod`` itself. Offsets are those of ``zoneinfo``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC as _UTC
from datetime import datetime, timedelta
from functools import cache, cached_property, lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rewriter.errors import AnalysisError
from rewriter.timeline.civil import DAY, HOUR, MINUTE
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT, UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant

_EPOCH = datetime(1970, 1, 1, tzinfo=_UTC)
_WALL_EPOCH = datetime(1970, 1, 1)
_MICRO = timedelta(microseconds=1)
#: ``datetime`` ends with 9999; offsets within a few days of the ends of time are those of these instants.
_LOW, _HIGH = MIN_INSTANT + 3 * DAY, MAX_INSTANT - 3 * DAY
#: Between these years zones have been defined and changed; after them their rules repeat.
_FIRST_YEAR, _LAST_YEAR = 1840, 2040


@dataclass(frozen=True)
class Transition:
    """At ``instant`` the offset from UTC changes; all in microseconds."""

    instant: int
    before: int
    after: int


@dataclass(frozen=True)
class Calendar:
    """The calendar of a zone. Get one by ``calendar_of``: there is one for each zone."""

    zone: str

    @property
    def is_utc(self) -> bool:
        """Whether this is the calendar of UTC, in which an instant is its own wall time."""
        return self.zone == "UTC"

    def of(self, kind: UpdatePeriod) -> Period:
        """The periods of that kind that partitions of a cube with this calendar hold."""
        return kind if self.is_utc or kind < UpdatePeriod.DAILY else _zoned(kind, self)

    def offset(self, instant: int) -> int:
        """The distance from UTC at an instant, in microseconds: positive in the east."""
        return 0 if self.is_utc else _offset(self._zone, min(max(instant, _LOW), _HIGH))

    def wall(self, instant: int) -> int:
        """The wall time at an instant."""
        return instant + self.offset(instant)

    def instant(self, wall: int) -> int:
        """The instant of a wall time, as java.time has it: one that is left out is moved forward by the length of the
        gap, of two instants it is the earlier.
        """
        if self.is_utc:
            return wall
        local = _WALL_EPOCH + timedelta(microseconds=min(max(wall, _LOW), _HIGH))
        return wall - (self._zone.utcoffset(local) or timedelta()) // _MICRO

    def transitions(self, start: int, end: int) -> Iterator[Transition]:
        """The changes of the offset in ``[start, end)``, in order. Years are looked through once each."""
        if self.is_utc:
            return
        first, last = (_EPOCH + timedelta(microseconds=min(max(at, _LOW), _HIGH)) for at in (start, end))
        for year in range(first.year, last.year + 1):
            yield from (one for one in _transitions(self.zone, year) if start <= one.instant < end)

    def since(self, finest: UpdatePeriod) -> int | None:
        """From which instant on the zone's days are made of whole periods ``finest``, and follow each other: no clock
        goes back over midnight. ``None`` where they are not even today. ``MIN_INSTANT`` in UTC.
        """
        return MIN_INSTANT if self.is_utc else _since(self.zone, finest)

    def text(self, instant: int) -> str:
        """The shortest text of the instant's wall time; where that is not the instant's alone, of UTC with a Z."""
        wall = self.wall(instant)
        if self.is_utc or not _LOW <= instant <= _HIGH or self.instant(wall) == instant:
            return format_instant(instant if instant in (MIN_INSTANT, MAX_INSTANT) else wall)
        text = format_instant(instant)
        return f"{text}Z" if "T" in text else f"{text}T00Z"

    def shown(self, ranges: TimeRange | RangeSet) -> str:
        """The ranges in words, with the zone's name behind them where it is not UTC."""
        if self.is_utc:
            return str(ranges)
        each = (ranges,) if isinstance(ranges, TimeRange) else ranges.ranges
        text = " ∪ ".join(f"[{self.text(one.start)}, {self.text(one.end)})" for one in each)
        return f"{text} {self.zone}" if text else str(ranges)

    @cached_property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone)


@dataclass(frozen=True, eq=False)
class ZonedPeriod:
    """A period of a zone's calendar, DAILY or coarser, with the methods of ``UpdatePeriod``, interned by
    ``Calendar.of``.

    A date that the zone leaves out (Apia's 2011-12-30) is a day without length: it begins where the next one does.
    """

    kind: UpdatePeriod
    calendar: Calendar

    @property
    def name(self) -> str:
        """DAILY, WEEKLY, …"""
        return self.kind.name

    def ordinal(self, instant: int) -> int:
        """The ordinal of the period that contains ``instant``."""
        return self.kind.ordinal(self.calendar.wall(instant))

    def start(self, ordinal: int) -> int:
        """The first instant of the period."""
        return self.calendar.instant(self.kind.start(ordinal))

    def end(self, ordinal: int) -> int:
        """The first instant after the period."""
        return self.start(ordinal + 1)

    def floor(self, instant: int) -> int:
        """The last start of a period at or before ``instant``."""
        return self.start(self.ordinal(instant))

    def ceil(self, instant: int) -> int:
        """The first start of a period at or after ``instant``."""
        ordinal = self.ordinal(instant)
        start = self.start(ordinal)
        return start if start == instant else self.start(ordinal + 1)

    def is_aligned(self, instant: int) -> bool:
        """Whether a period starts at ``instant``."""
        return self.floor(instant) == instant

    def nests_in(self, other: Period) -> bool:
        """Whether every period of this kind lies within one period of the other kind."""
        return isinstance(other, ZonedPeriod) and self.kind.nests_in(other.kind)

    def holds(self, finer: UpdatePeriod) -> bool:
        """Whether these periods consist of whole hours, or minutes, of UTC, as the zone is today."""
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
    """The calendar of a zone by its name in the IANA database; UTC by any of its names.

    Raises ``AnalysisError`` UNKNOWN_TIME_ZONE: for offsets and abbreviations, too, which have no calendar's rules.
    """
    if zone.upper() in ("UTC", "Z", "ETC/UTC"):
        return UTC
    try:
        known = "/" in zone and ZoneInfo(zone).key == zone
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = False
    if not known:
        raise AnalysisError(
            f"'{zone}' is no time zone",
            condition="UNKNOWN_TIME_ZONE",
            object=zone,
            hint="name a zone of the IANA database, as it is spelt there: 'America/New_York', 'Asia/Tokyo', 'UTC'",
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
    """The transitions of one year of UTC. They are sought day by day: no zone ever changed twice in one."""
    calendar = calendar_of(zone)
    begin = (datetime(year, 1, 1, tzinfo=_UTC) - _EPOCH) // _MICRO
    days = 366 if (datetime(year, 12, 31) - datetime(year, 1, 1)).days == 365 else 365
    found: list[Transition] = []
    before = calendar.offset(begin - 1)
    for day in range(days):
        low, high = begin + day * DAY - 1, begin + (day + 1) * DAY - 1
        after = calendar.offset(high)
        if after == before:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if calendar.offset(middle) == before else (low, middle)
        found.append(Transition(high, before, after))
        before = after
    return tuple(found)


@cache
def _since(zone: str, finest: UpdatePeriod) -> int | None:
    unit = {UpdatePeriod.MINUTELY: MINUTE, UpdatePeriod.HOURLY: HOUR}.get(finest, 1)
    calendar = calendar_of(zone)
    since = MIN_INSTANT
    offset = calendar.offset(MIN_INSTANT)
    for year in range(_FIRST_YEAR, _LAST_YEAR + 1):
        for one in _transitions(zone, year):
            offset = one.after
            if one.before % unit or one.instant % unit or _breaks_days(one):
                since = one.instant
    # What happens in the last years happens ever after.
    lasting = since > calendar.instant(UpdatePeriod.YEARLY.start(_LAST_YEAR - 5 - 1970))
    return None if offset % unit or lasting else since


def _breaks_days(one: Transition) -> bool:
    """Whether clocks go back into a day that was over, or a gap begins before a midnight and ends after it."""
    left, entered = one.instant + one.before, one.instant + one.after
    if entered < left:
        return (left - 1) // DAY > entered // DAY
    midnight = -(-left // DAY) * DAY
    return left < midnight < entered
