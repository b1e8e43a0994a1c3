"""Time bounds as users write them: absolute ('2015-01-29T06') and relative to now ('now.day - 7 days')."""

from __future__ import annotations

import re
from typing import NoReturn, SupportsInt

from rewriter.errors import AnalysisError, DataError, Span
from rewriter.timeline.calendars import UTC, Calendar
from rewriter.timeline.civil import (
    DAY,
    HOUR,
    MAX_INSTANT,
    MAX_YEAR,
    MIN_INSTANT,
    MIN_YEAR,
    MINUTE,
    SECOND,
    civil_from_days,
    days_from_civil,
    month_length,
)
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timestamp_casts import date_text, is_malformed_date, is_malformed_timestamp

_ABSOLUTE = re.compile(
    r"(?P<year>[0-9]{4})"
    r"(?:-(?P<month>[0-9]{2})"
    r"(?:-(?P<day>[0-9]{2})"
    r"(?:-(?P<dashed_hour>[0-9]{2})"
    r"|[T ](?P<hour>[0-9]{2})"
    r"(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,6}))?)?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?"
    r")?)?)?"
)
_NOW = re.compile(r"\s*now(?:\s*\.\s*(?P<unit>[a-z]+))?\s*", re.IGNORECASE | re.ASCII)
_STEP = re.compile(r"(?P<sign>[+-])\s*(?P<count>[0-9]+)\s*(?P<unit>[a-z]+)\s*", re.IGNORECASE | re.ASCII)
_LENGTH = re.compile(r"\s*[0-9]+\s*[a-z]+(?:\s+[0-9]+\s*[a-z]+)*\s*", re.IGNORECASE | re.ASCII)
_LENGTH_STEP = re.compile(r"([0-9]+)\s*([a-z]+)", re.IGNORECASE | re.ASCII)

_ABSOLUTE_HINT = (
    "Write 2015, 2015-01, 2015-01-29, 2015-01-29T06, 2015-01-29-06, 2015-01-29T06:30, 2015-01-29T06:30:15 "
    "or 2015-01-29T06:30:15.123456; a time of day after T can be followed by Z or an offset such as +02:00."
)
_RELATIVE_HINT = "Write now, now.day, now.day - 7 days or now.month - 1 month + 2 days."

_TRUNCATIONS = {
    "minute": UpdatePeriod.MINUTELY,
    "hour": UpdatePeriod.HOURLY,
    "day": UpdatePeriod.DAILY,
    "week": UpdatePeriod.WEEKLY,
    "month": UpdatePeriod.MONTHLY,
    "quarter": UpdatePeriod.QUARTERLY,
    "year": UpdatePeriod.YEARLY,
}
_LENGTHS = {"minute": MINUTE, "hour": HOUR, "day": DAY, "week": 7 * DAY}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNITS = ", ".join(_TRUNCATIONS)
_LONGEST_OFFSET = 18 * HOUR


def parse_instant(text: str, calendar: Calendar = UTC) -> int:
    """Returns the instant of an absolute bound, in microseconds UTC: the start of the year, month, day, … that it
    names.

    A bound without a zone is a wall time of the calendar.

    Digits are ASCII, and their number is fixed. Nothing is rolled over: '2015-13' and '2015-1' are errors.
    Raises ``DataError`` INVALID_TIME_BOUND.

    >>> parse_instant("1970-01-02") // DAY
    1
    >>> parse_instant("1970-01-01T06:30+02:00") // MINUTE
    270
    """
    match = _ABSOLUTE.fullmatch(text)
    if match is None:
        raise _invalid(text, "it does not have the form of a time", _ABSOLUTE_HINT)
    year = _number(text, "year", match["year"], MIN_YEAR, MAX_YEAR)
    month = _number(text, "month", match["month"] or "01", 1, 12)
    day = _number(text, "day", match["day"] or "01", 1, month_length(year, month))
    hour = _number(text, "hour", match["hour"] or match["dashed_hour"] or "00", 0, 23)
    minute = _number(text, "minute", match["minute"] or "00", 0, 59)
    second = _number(text, "second", match["second"] or "00", 0, 59)
    fraction = int((match["fraction"] or "").ljust(6, "0"))
    local = days_from_civil(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second * SECOND + fraction
    has_zone = match["zone"] is not None
    instant = local - _offset(text, match["zone"]) if has_zone else calendar.instant(local)
    return _in_range(text, instant, text)


def resolve_bound(text: str, now: SupportsInt, calendar: Calendar = UTC) -> int:
    """Returns the instant of a bound, absolute or relative to ``now`` (microseconds UTC).

    Only a relative bound reads ``now``.
    A relative bound is ``now``, then ``.unit``, which goes back to the start of the current unit, then any number of
    steps such as ``- 7 days``, taken from left to right. A step of months keeps the day of the month, or takes the
    month's last day. Units: minute, hour, day, week (ISO), month, quarter, year; case and plural do not matter. Days
    and longer units are the calendar's: a step of them keeps the wall time.
    Raises ``DataError`` INVALID_TIME_BOUND, naming the part that is wrong.

    >>> now = parse_instant("2015-03-31T10:20")
    >>> resolve_bound("now.day - 1 month", now) == parse_instant("2015-02-28")
    True
    """
    match = _NOW.match(text)
    if match is None:
        return parse_instant(text, calendar)
    instant = int(now)
    if match["unit"] is not None:
        instant = calendar.of(_TRUNCATIONS[_unit(text, match["unit"], plural=False)]).floor(instant)
    position = match.end()
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise _invalid(text, f"'{text[position:]}' is not a time step", _RELATIVE_HINT)
        count = _count(text, step["count"])
        count = count if step["sign"] == "+" else -count
        instant = _stepped(instant, count, _unit(text, step["unit"], plural=True), calendar)
        instant = _in_range(text, instant, step[0].strip())
        position = step.end()
    return instant


def is_relative(text: str) -> bool:
    """Tests whether a bound is relative to now."""
    return _NOW.match(text) is not None


def earlier(length: str, instant: int, calendar: Calendar = UTC) -> int:
    """Returns the instant that is a length of time such as '6 hours' or '1 day 12 hours' before another instant.

    The steps are the steps of a relative bound, taken from left to right: days and longer units are the calendar's.
    Raises ``DataError`` INVALID_LATENESS if the text is not a length, or the result is outside the years 1 to 9999.
    """
    if _LENGTH.fullmatch(length) is None:
        raise _no_length(length)
    steps = "".join(f" - {count} {unit}" for count, unit in _LENGTH_STEP.findall(length))
    try:
        return resolve_bound(f"now{steps}", instant, calendar)
    except DataError:
        raise _no_length(length) from None


def _no_length(length: str) -> DataError:
    return DataError(
        f"'{length}' is not a length of time",
        condition="INVALID_LATENESS",
        object=length,
        hint=f"Write a number and a unit, as in '6 hours' or '1 day 12 hours'; the units are {_UNITS}.",
    )


def _stepped(instant: int, count: int, unit: str, calendar: Calendar) -> int:
    if unit in ("minute", "hour"):
        return instant + count * _LENGTHS[unit]
    wall = calendar.wall(instant)
    moved_wall = _moved(wall, count, unit)
    return calendar.instant(moved_wall) if moved_wall != wall else instant


def _moved(instant: int, count: int, unit: str) -> int:
    if unit in _LENGTHS:
        return instant + count * _LENGTHS[unit]
    days, time_of_day = divmod(instant, DAY)
    year, month, day = civil_from_days(days)
    years, month_index = divmod(year * 12 + month - 1 + count * _MONTHS[unit], 12)
    clamped = min(day, month_length(years, month_index + 1))
    return days_from_civil(years, month_index + 1, clamped) * DAY + time_of_day


def _unit(text: str, written: str, *, plural: bool) -> str:
    unit = written.lower()
    if plural and unit not in _TRUNCATIONS:
        unit = unit.removesuffix("s")
    if unit not in _TRUNCATIONS:
        raise _invalid(text, f"'{written}' is not a unit of time", f"The units are {_UNITS}.")
    return unit


def _count(text: str, digits: str) -> int:
    if len(digits) > 12:
        raise _invalid(text, f"'{digits}' is too large", _RELATIVE_HINT)
    return int(digits)


def _number(text: str, name: str, digits: str, low: int, high: int) -> int:
    number = int(digits)
    if not low <= number <= high:
        raise _invalid(text, f"the {name} {digits} is not in {low}–{high}", _ABSOLUTE_HINT)
    return number


def _offset(text: str, zone: str | None) -> int:
    """Returns the zone's distance from UTC, in microseconds; positive east of UTC."""
    if zone is None or zone == "Z":
        return 0
    minutes = _number(text, "minute of the offset", zone[4:], 0, 59)
    offset = int(zone[1:3]) * HOUR + minutes * MINUTE
    if offset > _LONGEST_OFFSET:
        raise _invalid(text, f"the offset {zone} is longer than 18 hours", _ABSOLUTE_HINT)
    return -offset if zone[0] == "-" else offset


def _in_range(text: str, instant: int, part: str) -> int:
    if not MIN_INSTANT <= instant <= MAX_INSTANT:
        raise _invalid(text, f"'{part}' is outside the years {MIN_YEAR} to {MAX_YEAR}", None)
    return instant


def _invalid(text: str, reason: str, hint: str | None) -> DataError:
    return DataError(f"'{text}' is not a time bound: {reason}", condition="INVALID_TIME_BOUND", object=text, hint=hint)


# Errors for constants that are no times where a time is needed: Spark's conditions, and what to write instead.

_DAY = re.compile(r"([0-9]{4})\s*-\s*([0-9]{1,2})\s*-\s*([0-9]{1,2})", re.ASCII)
_DIGITS = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})", re.ASCII)


def refuse_number(number: str, time_type: str, number_type: str, position: Span | None, *, is_list: bool) -> NoReturn:
    """Raises the error for a number, as it is typed, that is compared with a time. ``is_list``: it is an item of IN."""
    raise AnalysisError(
        f"A {time_type} cannot be compared with {number}, which is {number_type}.",
        condition="DATATYPE_MISMATCH.DATA_DIFF_TYPES" if is_list else "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
        sqlstate="42K09",
        position=position,
        hint=_quoted(number),
    )


def _quoted(number: str) -> str:
    day = _DAY.fullmatch(number)
    if day is not None:
        year, month, day_of_month = day.groups()
        difference = int(year) - int(month) - int(day_of_month)
        return f"Write '{year}-{month}-{day_of_month}'. Without quotes it is a subtraction, {difference}."
    digits = _DIGITS.fullmatch(number)
    text = "-".join(digits.groups()) if digits else number
    return f"Write '{text}'." if date_text(text) is not None else "Write a time in quotes, such as '2013-07-01'."


def check_text(text: str, time_type: str, position: Span | None) -> None:
    """Raises ``DataError`` if a string that is compared with a DATE or a TIMESTAMP certainly is none."""
    if _is_malformed(text, time_type):
        raise DataError(
            f'The value \'{text}\' of the type "STRING" cannot be cast to "{time_type}" because it is malformed.',
            condition="CAST_INVALID_INPUT",
            sqlstate="22018",
            position=position,
            hint="Write a time that exists, such as '2013-02-28' or '2013-02-28 06:00:00'.",
        )


def check_literal(text: str, time_type: str, position: Span | None) -> None:
    """Raises ``AnalysisError`` if the text of ``DATE '…'`` or ``TIMESTAMP '…'`` certainly is invalid."""
    if _is_malformed(text, time_type):
        raise AnalysisError(
            f"The value of the literal {time_type} '{text}' is invalid.",
            condition="INVALID_TYPED_LITERAL",
            sqlstate="42604",
            position=position,
            hint="Write a time that exists, such as DATE '2013-02-28' or TIMESTAMP '2013-02-28 06:00:00'.",
        )


def _is_malformed(text: str, time_type: str) -> bool:
    """Tests whether a text certainly is no value of the type."""
    return is_malformed_date(text) if time_type == "DATE" else is_malformed_timestamp(text)
