"""Strings as Spark 4 casts them to DATE and TIMESTAMP, in a UTC session.

Spark's casts are lenient: '2013-1-5', surrounding blanks, any text after the day for a DATE. Strings that Spark reads
are read alike here, except for uncertain ones (names of zones, years of more than four digits, times without a day).
These are ``None``, like strings that Spark refuses.
"""

from __future__ import annotations

import re

from rewriter.timeline.civil import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE, SECOND, days_from_civil, month_length

_DAY_PART = r" *(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})"
_DATE = re.compile(_DAY_PART + r"(?:[ T].*)?)?)? *", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    _DAY_PART + r"(?:[ T](?P<hour>[0-9]{1,2})"
    r"(?::(?P<minute>[0-9]{1,2})"
    # A zone may follow the seconds only.
    r"(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]{0,9}))?"
    r"(?: *(?P<zone>Z|UTC|[+-][0-9]{1,2}(?::[0-9]{1,2})?|[+-][0-9]{4}))?"
    r")?)?)?)?)? *",
    re.ASCII,
)
_LONGEST_OFFSET = 18 * HOUR


def date_text(text: str) -> int | None:
    """Returns the first instant of the day that ``CAST(text AS DATE)`` returns, or ``None`` if it is not certain."""
    match = _DATE.fullmatch(text)
    return _day(match) if match is not None else None


def timestamp_text(text: str, *, has_zone: bool = True) -> int | None:
    """Returns the instant that ``CAST(text AS TIMESTAMP)`` returns, or ``None`` if it is not certain. Without
    ``has_zone``, the cast is to TIMESTAMP_NTZ: a zone in the text has no effect.
    """
    match = _TIMESTAMP.fullmatch(text)
    day = _day(match) if match is not None else None
    if match is None or day is None:
        return None
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    offset = _offset(match["zone"])
    if hour > 23 or minute > 59 or second > 59 or offset is None:
        return None
    fraction = int((match["fraction"] or "")[:6].ljust(6, "0"))
    instant = day + hour * HOUR + minute * MINUTE + second * SECOND + fraction - (offset if has_zone else 0)
    return instant if MIN_INSTANT <= instant < MAX_INSTANT else None


#: Texts that Spark casts to neither type, whatever follows: blanks, words other than now and the like, numbers that are
#: no years, a day before its year, other punctuation.
_NO_TIME = re.compile(
    r"[0-9]{0,3}|[0-9]{8,}|[0-9]{1,3}[-/.].*|[0-9]{4}[/.].*|(?!epoch|now|yesterday)[a-su-z].*", re.ASCII | re.I | re.S
)


def is_malformed_date(text: str) -> bool:
    """Tests whether ``CAST(text AS DATE)`` certainly fails."""
    match = _DATE.fullmatch(text)
    return _is_no_day(match) if match is not None else _NO_TIME.fullmatch(text.strip(" ")) is not None


def is_malformed_timestamp(text: str) -> bool:
    """Tests whether ``CAST(text AS TIMESTAMP)`` certainly fails."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return _NO_TIME.fullmatch(text.strip(" ")) is not None
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    return _is_no_day(match) or hour > 23 or minute > 59 or second > 59


def _is_no_day(match: re.Match[str]) -> bool:
    return int(match["year"]) >= 1 and _day(match) is None


def has_zone(text: str) -> bool:
    """Tests whether a timestamp text names a zone."""
    match = _TIMESTAMP.fullmatch(text)
    return match is not None and match["zone"] is not None


def _day(match: re.Match[str]) -> int | None:
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= month_length(year, month):
        return None
    return days_from_civil(year, month, day) * DAY


def _offset(zone: str | None) -> int | None:
    """Returns the zone's distance from UTC, positive east of UTC; ``None`` if Spark refuses it."""
    if zone in (None, "Z", "UTC"):
        return 0
    digits = zone[1:]
    if ":" in digits:
        hours, minutes = (int(part) for part in digits.split(":"))
    else:
        hours, minutes = (int(digits[:2]), int(digits[2:])) if len(digits) == 4 else (int(digits), 0)
    offset = hours * HOUR + minutes * MINUTE
    if minutes > 59 or offset > _LONGEST_OFFSET:
        return None
    return -offset if zone[0] == "-" else offset
