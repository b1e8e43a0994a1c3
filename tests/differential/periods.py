"""Periods of the histories: the calendar by ``datetime`` and ``zoneinfo``, not by the code under test.

A period has the same numbers and methods as ``rewriter``'s own, of which only the names are used. Minutes, hours, days,
months, quarters and years count from 1970, weeks from the week of Monday 1969-12-29. Instants are microseconds since
1970 in UTC. Days and longer periods are those of the period's zone, hours and minutes those of UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from rewriter.timeline.periods import UpdatePeriod

P = UpdatePeriod
MINUTE = 60_000_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_LENGTHS = {P.MINUTELY: MINUTE, P.HOURLY: HOUR}
_MONTHS = {P.MONTHLY: 1, P.QUARTERLY: 3, P.YEARLY: 12}
_DAY_0, _MONDAY_0 = date(1970, 1, 1), date(1969, 12, 29)


@dataclass(frozen=True, eq=False)
class Period:
    """A kind of period in a zone. ``period`` returns the only instance of each."""

    kind: UpdatePeriod
    zone: str

    @property
    def name(self) -> str:
        return self.kind.name

    def ordinal(self, instant: int) -> int:
        """Returns the number of the period that contains an instant."""
        length = _LENGTHS.get(self.kind)
        return instant // length if length else self._of_day(wall(self.zone, instant).date())

    def start(self, ordinal: int) -> int:
        """Returns the first instant of a period."""
        length = _LENGTHS.get(self.kind)
        return ordinal * length if length else midnight(self.zone, self.first_day(ordinal))

    def end(self, ordinal: int) -> int:
        return self.start(ordinal + 1)

    def floor(self, instant: int) -> int:
        return self.start(self.ordinal(instant))

    def ceil(self, instant: int) -> int:
        floor = self.floor(instant)
        return floor if floor == instant else self.end(self.ordinal(instant))

    def is_aligned(self, instant: int) -> bool:
        return self.floor(instant) == instant

    def nests_in(self, coarser: Period | UpdatePeriod) -> bool:
        """Returns True if each of these periods lies in one of the others. No schema has periods that do not nest in
        their zone.
        """
        return self.kind == coarser.kind or (self < coarser and self.kind is not P.WEEKLY)

    def civil(self, ordinal: int) -> datetime:
        """Returns the start of a period by the clock that names it."""
        length = _LENGTHS.get(self.kind)
        if length:
            return wall("UTC", ordinal * length)
        return datetime.combine(self.first_day(ordinal), time())

    def first_day(self, ordinal: int) -> date:
        """Returns the first date of a period of days or more."""
        if self.kind is P.DAILY:
            return _DAY_0 + timedelta(days=ordinal)
        if self.kind is P.WEEKLY:
            return _MONDAY_0 + timedelta(weeks=ordinal)
        years, month = divmod(ordinal * _MONTHS[self.kind], 12)
        return date(1970 + years, month + 1, 1)

    def _of_day(self, day: date) -> int:
        if self.kind is P.DAILY:
            return (day - _DAY_0).days
        if self.kind is P.WEEKLY:
            return (day - _MONDAY_0).days // 7
        return ((day.year - 1970) * 12 + day.month - 1) // _MONTHS[self.kind]

    def __hash__(self) -> int:
        return int(self.kind)

    def __lt__(self, other: Period | UpdatePeriod) -> bool:
        return self.kind < other.kind

    def __gt__(self, other: Period | UpdatePeriod) -> bool:
        return self.kind > other.kind


@cache
def period(kind: UpdatePeriod, zone: str = "UTC") -> Period:
    """Returns the periods of a kind in a zone."""
    return Period(kind, zone)


@cache
def wall(zone: str, instant: int) -> datetime:
    """Returns the time of the zone's clocks at an instant. ``fold`` is 1 if they show it for the second time."""
    return (_EPOCH + timedelta(microseconds=instant)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def instant_text(zone: str, instant: int, separator: str = " ") -> str:
    """Returns a text that means the instant if texts are read in the zone: its wall time, or UTC's with a Z."""
    local = wall(zone, instant)
    if local.fold:
        return f"{wall('UTC', instant).isoformat(sep=separator)}Z"
    return local.isoformat(sep=separator)


@cache
def midnight(zone: str, day: date) -> int:
    """Returns the first instant of a zone's day, searched among all quarters of an hour."""
    at = (datetime.combine(day, time(), UTC) - _EPOCH) // _MICRO
    if zone == "UTC":
        return at
    at -= 18 * HOUR
    while wall(zone, at).date() < day:
        at += HOUR // 4
    return at
