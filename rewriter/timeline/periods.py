"""Update periods and their ordinals: the calendar as integers.

An *instant* is a number of microseconds since 1970-01-01T00:00:00Z. An *ordinal* numbers the periods of one kind, so
that consecutive periods have consecutive numbers. Minutes, hours, days, months, quarters and years count from 1970;
ISO weeks count from the week that starts on Monday 1969-12-29. The calendar is proleptic Gregorian, in UTC, for the
years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from rewriter.errors import AnalysisError
from rewriter.timeline.civil import DAY, HOUR, MINUTE, civil_from_days, days_from_civil


class PeriodArithmetic:
    """The methods that the periods of every calendar share. A subclass maps an instant to its ordinal, and an ordinal
    to the start of its period.
    """

    def ordinal(self, instant: int) -> int:
        """Returns the ordinal of the period that contains ``instant``."""
        raise NotImplementedError

    def start(self, ordinal: int) -> int:
        """Returns the first instant of the period."""
        raise NotImplementedError

    def holds(self, finer: UpdatePeriod) -> bool:
        """Tests whether these periods consist of whole periods of the finer kind."""
        raise NotImplementedError

    def ordinals(self, instants: Iterable[int]) -> list[int]:
        """Returns ``ordinal`` of each instant; faster than the single calls."""
        return list(map(self.ordinal, instants))

    def starts(self, ordinals: Iterable[int]) -> list[int]:
        """Returns ``start`` of each ordinal; faster than the single calls."""
        return list(map(self.start, ordinals))

    def end(self, ordinal: int) -> int:
        """Returns the first instant after the period."""
        return self.start(ordinal + 1)

    def floor(self, instant: int) -> int:
        """Returns the last start of a period at or before ``instant``."""
        return self.start(self.ordinal(instant))

    def ceil(self, instant: int) -> int:
        """Returns the first start of a period at or after ``instant``."""
        ordinal = self.ordinal(instant)
        start = self.start(ordinal)
        return start if start == instant else self.start(ordinal + 1)

    def is_aligned(self, instant: int) -> bool:
        """Tests whether a period starts at ``instant``."""
        return self.floor(instant) == instant


class UpdatePeriod(PeriodArithmetic, IntEnum):
    """The length of time that one partition holds. Finer periods compare less than coarser ones. All methods are O(1).

    >>> UpdatePeriod.DAILY < UpdatePeriod.MONTHLY
    True
    >>> month = UpdatePeriod.MONTHLY.ordinal(0)
    >>> month, UpdatePeriod.MONTHLY.end(month) // DAY
    (0, 31)
    """

    MINUTELY = 1
    HOURLY = 2
    DAILY = 3
    WEEKLY = 4
    MONTHLY = 5
    QUARTERLY = 6
    YEARLY = 7

    @classmethod
    def named(cls, text: str) -> UpdatePeriod:
        """Returns the period with that name, in any case. Raises ``AnalysisError`` UNKNOWN_UPDATE_PERIOD for other
        names.

        >>> UpdatePeriod.named("daily").name
        'DAILY'
        """
        try:
            return cls[text.upper()]
        except KeyError:
            raise AnalysisError(
                f"'{text}' is not an update period",
                condition="UNKNOWN_UPDATE_PERIOD",
                object=text,
                hint=f"Use one of {', '.join(period.name for period in cls)}.",
            ) from None

    @property
    def kind(self) -> UpdatePeriod:
        """The period itself. In the calendar of a zone, the period is another object of this kind (``calendars``)."""
        return self

    def ordinal(self, instant: int) -> int:
        """Returns the ordinal of the period that contains ``instant``."""
        length = _FIXED.get(self)
        if length is not None:
            return instant // length
        day = instant // DAY
        if self is UpdatePeriod.WEEKLY:
            return (day + _MONDAY_SHIFT) // 7
        year, month, _ = civil_from_days(day)
        return ((year - 1970) * 12 + month - 1) // _MONTHS[self]

    def start(self, ordinal: int) -> int:
        """Returns the first instant of the period."""
        length = _FIXED.get(self)
        if length is not None:
            return ordinal * length
        if self is UpdatePeriod.WEEKLY:
            return (ordinal * 7 - _MONDAY_SHIFT) * DAY
        years, month = divmod(ordinal * _MONTHS[self], 12)
        return days_from_civil(1970 + years, month + 1, 1) * DAY

    def ordinals(self, instants: Iterable[int]) -> list[int]:
        """Returns ``ordinal`` of each instant; faster than the single calls.

        >>> UpdatePeriod.DAILY.ordinals([0, DAY - 1, DAY])
        [0, 0, 1]
        """
        length = _FIXED.get(self)
        return super().ordinals(instants) if length is None else [instant // length for instant in instants]

    def starts(self, ordinals: Iterable[int]) -> list[int]:
        """Returns ``start`` of each ordinal; faster than the single calls."""
        length = _FIXED.get(self)
        return super().starts(ordinals) if length is None else [ordinal * length for ordinal in ordinals]

    def nests_in(self, other: PeriodArithmetic) -> bool:
        """Tests whether every period of this kind is within one period of the other kind. Each kind nests in itself.

        Weeks straddle months, quarters and years: WEEKLY nests in WEEKLY only. Hours and minutes nest in the days of a
        zone that consist of them.

        >>> UpdatePeriod.DAILY.nests_in(UpdatePeriod.MONTHLY), UpdatePeriod.WEEKLY.nests_in(UpdatePeriod.MONTHLY)
        (True, False)
        """
        if not isinstance(other, UpdatePeriod):
            return other.holds(self)
        return self is other or (self < other and self is not UpdatePeriod.WEEKLY)

    def holds(self, finer: UpdatePeriod) -> bool:
        """Tests whether these periods consist of whole periods of the finer kind."""
        return finer.nests_in(self)


_FIXED = {UpdatePeriod.MINUTELY: MINUTE, UpdatePeriod.HOURLY: HOUR, UpdatePeriod.DAILY: DAY}
_MONTHS = {UpdatePeriod.MONTHLY: 1, UpdatePeriod.QUARTERLY: 3, UpdatePeriod.YEARLY: 12}
_MONDAY_SHIFT = 3  # 1969-12-29, the Monday of week 0, is three days before 1970-01-01
