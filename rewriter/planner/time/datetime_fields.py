"""Names of calendar units in Spark's functions: units of truncation, fields of extract, pattern letters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.timeline.calendars import Calendar, Period

_P = UpdatePeriod
_UNITS = {
    "MINUTE": _P.MINUTELY, "HOUR": _P.HOURLY,
    "DAY": _P.DAILY, "DD": _P.DAILY, "WEEK": _P.WEEKLY,
    "MONTH": _P.MONTHLY, "MM": _P.MONTHLY, "MON": _P.MONTHLY,
    "QUARTER": _P.QUARTERLY, "YEAR": _P.YEARLY, "YYYY": _P.YEARLY, "YY": _P.YEARLY,
}  # fmt: skip
#: The fields of EXTRACT and date_part, with all their spellings. Seconds are finer than any period.
_FIELDS = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), _P.YEARLY),
    **dict.fromkeys(("QUARTER", "QTR"), _P.QUARTERLY),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), _P.MONTHLY),
    # The year of the ISO week changes with the week, not with the year.
    **dict.fromkeys(("YEAROFWEEK", "WEEK", "W", "WEEKS"), _P.WEEKLY),
    **dict.fromkeys(("DAY", "D", "DAYS", "DAYOFWEEK", "DOW", "DAYOFWEEK_ISO", "DOW_ISO", "DOY"), _P.DAILY),
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), _P.HOURLY),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), _P.MINUTELY),
}
#: The directives with which sqlglot replaces pattern letters. All letters with the same directive have the same unit:
#: Spark refuses the week year Y, so %Y is always the calendar year.
_DIRECTIVES = {
    **dict.fromkeys(("%Y", "%y"), _P.YEARLY),
    **dict.fromkeys(("%m", "%-m", "%B", "%b"), _P.MONTHLY),
    **dict.fromkeys(("%d", "%-d", "%j", "%-j", "%a", "%A"), _P.DAILY),
    **dict.fromkeys(("%H", "%-H", "%I", "%-I", "%p"), _P.HOURLY),
    **dict.fromkeys(("%M", "%-M"), _P.MINUTELY),
}
#: Letters that sqlglot does not replace.
_LETTERS = {
    "G": _P.YEARLY, "Q": _P.QUARTERLY, "q": _P.QUARTERLY, "L": _P.MONTHLY, "F": _P.DAILY, "k": _P.HOURLY,
    "K": _P.HOURLY,
}  # fmt: skip
_PATTERN_PART = re.compile(r"(?P<quoted>'[^']*')|(?P<directive>%-?.)(?:strict)?|(?P<letter>[A-Za-z])|[^A-Za-z%']")


def unit_named(name: str) -> UpdatePeriod | None:
    """Returns the period that a unit of date_trunc or trunc names, or ``None``. Units finer than a minute are
    ``None``.
    """
    return _UNITS.get(name.upper())


def field_unit(name: str) -> UpdatePeriod | None:
    """Returns the period on which a field of EXTRACT or date_part depends, or ``None``."""
    return _FIELDS.get(name.upper())


def counted_field(name: str) -> UpdatePeriod | None:
    """Returns the unit that a field of EXTRACT or date_part counts, if that is year, quarter, month, day of the month
    or hour.
    """
    unit = field_unit(name)
    is_counted = unit in (_P.YEARLY, _P.QUARTERLY, _P.MONTHLY, _P.HOURLY) or name.upper() in ("DAY", "D", "DAYS")
    return unit if is_counted else None


def pattern_unit(pattern: str) -> UpdatePeriod | None:
    """Returns the finest unit in a pattern of date_format, as sqlglot translated it; ``None`` if a letter is
    unknown.
    """
    units: set[UpdatePeriod] = set()
    at = 0
    while at < len(pattern):
        part = _PATTERN_PART.match(pattern, at)
        if part is None:
            return None
        symbol = part["directive"] or part["letter"]
        if symbol:
            unit = _DIRECTIVES.get(symbol) or _LETTERS.get(symbol)
            if unit is None:
                return None
            units.add(unit)
        at = part.end()
    # Periods of months nest, and patterns have no weeks: the finest unit decides all the others.
    return min(units, default=None)


def unit_of(kind: UpdatePeriod, calendar: Calendar) -> Period | None:
    """Returns the unit of time functions in a zone: its days and longer units, and the UTC hours and minutes if the
    zone's are the same (``Calendar.since`` says since when). ``None`` if they differ.
    """
    return None if kind < UpdatePeriod.DAILY and calendar.since(kind) is None else calendar.of(kind)
