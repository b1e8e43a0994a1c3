"""Update periods and their ordinals: the calendar as integers.

An *instant* is a number of microseconds since 1970-01-01T00:00:00Z. An *ordinal* numbers the periods of one kind, so
that consecutive periods have consecutive numbers: minutes, hours, days, months, quarters and years count from 1970,
ISO weeks from the one that starts on Monday 1969-12-29. The calendar is proleptic Gregorian, in UTC; years 1 to 9999
are meant.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError
from rewriter.timeline.civil import DAY, HOUR, MAX_YEAR, MIN_YEAR, MINUTE, civil_from_days, days_from_civil

if TYPE_CHECKING:
    from rewriter.timeline.calendars import Period

#: The open ends of time: the start of year 1 and the end of year 9999.
MIN_INSTANT = days_from_civil(MIN_YEAR, 1, 1) * DAY
MAX_INSTANT = days_from_civil(MAX_YEAR + 1, 1, 1) * DAY


class UpdatePeriod(IntEnum):
    """How much time one partition holds. Finer periods compare less than coarser ones. All methods are O(1)."""

    MINUTELY = 1
    HOURLY = 2
    DAILY = 3
    WEEKLY = 4
    MONTHLY = 5
    QUARTERLY = 6
    YEARLY = 7

    @classmethod
    def named(cls, text: str) -> UpdatePeriod:
        """The period with that name, in any case; ``AnalysisError`` UNKNOWN_UPDATE_PERIOD where there is none."""
        try:
            return cls[text.upper()]
        except KeyError:
            raise AnalysisError(
                f"'{text}' is no update period",
                condition="UNKNOWN_UPDATE_PERIOD",
                object=text,
                hint="use one of " + ", ".join(period.name for period in cls),
            ) from None

    @property
    def kind(self) -> UpdatePeriod:
        """The period itself: in the calendar of a zone it is another object of this kind (``calendars``)."""
        return self

    def ordinal(self, instant: int) -> int:
        """The ordinal of the period that contains ``instant``."""
        length = _FIXED.get(self)
        if length is not None:
            return instant // length
        day = instant // DAY
        if self is UpdatePeriod.WEEKLY:
            return (day + _MONDAY_SHIFT) // 7
        year, month, _ = civil_from_days(day)
        return ((year - 1970) * 12 + month - 1) // _MONTHS[self]

    def start(self, ordinal: int) -> int:
        """The first instant of the period."""
        length = _FIXED.get(self)
        if length is not None:
            return ordinal * length
        if self is UpdatePeriod.WEEKLY:
            return (ordinal * 7 - _MONDAY_SHIFT) * DAY
        years, month = divmod(ordinal * _MONTHS[self], 12)
        return days_from_civil(1970 + years, month + 1, 1) * DAY

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
        """Whether every period of this kind lies within one period of the other kind. Each kind nests in itself.

        Weeks straddle months, quarters and years: WEEKLY nests in WEEKLY only. Hours and minutes nest in the days of a
        zone that consist of them.
        """
        if not isinstance(other, UpdatePeriod):
            return other.holds(self)
        return self is other or (self < other and self is not UpdatePeriod.WEEKLY)


_FIXED = {UpdatePeriod.MINUTELY: MINUTE, UpdatePeriod.HOURLY: HOUR, UpdatePeriod.DAILY: DAY}
_MONTHS = {UpdatePeriod.MONTHLY: 1, UpdatePeriod.QUARTERLY: 3, UpdatePeriod.YEARLY: 12}
_MONDAY_SHIFT = 3  # 1969-12-29, the Monday of week 0, lies three days before 1970-01-01
