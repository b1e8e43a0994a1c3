"""Days and civil dates of the proleptic Gregorian calendar, in plain integers.

``datetime`` stops at the end of 9999, whereas an open range ends *at* 10000-01-01; these functions have no such end.
The method is Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": years start in March, so that the leap
day is the last.
"""

from __future__ import annotations

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

MIN_YEAR = 1
MAX_YEAR = 9999

_DAYS_IN_ERA = 146_097  # 400 years
_EPOCH_FROM_MARCH_OF_YEAR_0 = 719_468
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Returns the number of days from 1970-01-01 to the date. ``month`` is 1–12; a ``day`` outside the month counts on
    from its first day.

    >>> days_from_civil(1970, 2, 1), days_from_civil(2015, 1, 32) == days_from_civil(2015, 2, 1)
    (31, True)
    """
    year_from_march = year - (month <= 2)
    era, year_of_era = divmod(year_from_march, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_IN_ERA + day_of_era - _EPOCH_FROM_MARCH_OF_YEAR_0


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Returns the year, month (1–12) and day (1–31) of the date that is ``days`` after 1970-01-01.

    >>> civil_from_days(-1)
    (1969, 12, 31)
    """
    era, day_of_era = divmod(days + _EPOCH_FROM_MARCH_OF_YEAR_0, _DAYS_IN_ERA)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def month_length(year: int, month: int) -> int:
    """Returns the number of days in the month.

    >>> month_length(2016, 2), month_length(1900, 2)
    (29, 28)
    """
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTH_LENGTHS[month - 1] + leap


#: The open ends of time: the start of year 1 and the end of year 9999.
MIN_INSTANT = days_from_civil(MIN_YEAR, 1, 1) * DAY


MAX_INSTANT = days_from_civil(MAX_YEAR + 1, 1, 1) * DAY
