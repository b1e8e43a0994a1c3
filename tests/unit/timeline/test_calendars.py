"""Calendars of zones, against zoneinfo: every boundary of eleven years, and of far ones."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from rewriter.errors import AnalysisError, DataError
from rewriter.timeline.calendars import Calendar, ZonedPeriod, calendar_of
from rewriter.timeline.civil import MIN_INSTANT
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant, resolve_bound

P = UpdatePeriod
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
QUARTER = timedelta(minutes=15)
ZONES = [
    "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Sao_Paulo", "America/Havana",
    "Pacific/Apia", "Atlantic/Azores", "Asia/Tokyo",
]  # fmt: skip
YEARS = [*range(2010, 2021), 1955, 2045, 9900]


def micros(at: datetime) -> int:
    return (at - EPOCH) // MICRO


def first_instants(zone: str, year: int) -> dict[date, datetime]:
    """Returns the first instant of each date of a year in the zone, searched among all quarters of an hour."""
    tz = ZoneInfo(zone)
    at = datetime(year, 1, 1, tzinfo=UTC) - timedelta(hours=36)
    transitions: dict[date, datetime] = {}
    while at.year <= year or at.day < 3:
        local = at.astimezone(tz).date()
        if local not in transitions:
            transitions[local] = at
        at += QUARTER
    return {day: start for day, start in transitions.items() if day.year == year}


def day_number(day: date) -> int:
    return (day - date(1970, 1, 1)).days


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("year", [2010, 2011, 2015, 2018, 2045])
def test_days_begin_at_their_first_instant(zone: str, year: int) -> None:
    daily = calendar_of(zone).of(P.DAILY)
    starts = first_instants(zone, year)
    for day, start in starts.items():
        ordinal = day_number(day)
        assert daily.start(ordinal) == micros(start), day
        assert daily.ordinal(micros(start)) == ordinal
        assert daily.ordinal(micros(start) - 1) < ordinal
        assert daily.is_aligned(micros(start))
        assert not daily.is_aligned(micros(start) + 1)
        assert daily.ceil(micros(start) + 1) == daily.end(ordinal)
    left_out = [day for day in (date(year, 1, 2) + timedelta(n) for n in range(363)) if day not in starts]
    for day in left_out:
        assert daily.start(day_number(day)) == daily.end(day_number(day))
    assert bool(left_out) == (zone == "Pacific/Apia" and year == 2011)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("year", YEARS)
def test_longer_periods_begin_with_their_first_day(zone: str, year: int) -> None:
    calendar = calendar_of(zone)
    daily = calendar.of(P.DAILY)
    for month in range(1, 13):
        first = date(year, month, 1)
        start = daily.start(day_number(first))
        assert calendar.of(P.MONTHLY).floor(start + 40 * 3600 * 10**6) == start
        assert calendar.of(P.MONTHLY).ordinal(start) == (year - 1970) * 12 + month - 1
        assert calendar.of(P.QUARTERLY).is_aligned(start) == (month % 3 == 1)
        assert calendar.of(P.YEARLY).is_aligned(start) == (month == 1)
        monday = first - timedelta(days=first.weekday())
        assert calendar.of(P.WEEKLY).floor(start) == daily.start(day_number(monday))


@pytest.mark.parametrize("zone", ZONES)
def test_wall_times_are_read_as_zoneinfo_reads_them(zone: str) -> None:
    calendar, tz = calendar_of(zone), ZoneInfo(zone)
    for year in (1955, 2011, 2015, 2016, 2040):
        wall = datetime(year, 1, 1)
        while wall.year == year:
            aware = wall.replace(tzinfo=tz)
            assert calendar.instant(micros(wall.replace(tzinfo=UTC))) == micros(aware.astimezone(UTC)), wall
            instant = wall.replace(tzinfo=UTC)
            assert calendar.wall(micros(instant)) == micros(instant.astimezone(tz).replace(tzinfo=UTC)), wall
            wall += timedelta(minutes=90)


@pytest.mark.parametrize("zone", ZONES)
def test_transitions_are_all_changes_of_the_offset(zone: str) -> None:
    calendar, tz = calendar_of(zone), ZoneInfo(zone)
    start, end = datetime(2009, 6, 1, tzinfo=UTC), datetime(2021, 6, 1, tzinfo=UTC)
    expected = []
    at = start
    while at < end:
        if (at + QUARTER).astimezone(tz).utcoffset() != at.astimezone(tz).utcoffset():
            expected.append(at + QUARTER)
        at += QUARTER
    changes = list(calendar.transitions(micros(start), micros(end)))
    assert [change.instant for change in changes] == [micros(change) for change in expected]
    for change in changes:
        assert calendar.offset(change.instant - 1) == change.before != change.after == calendar.offset(change.instant)


def test_new_york_loses_and_doubles_no_hour() -> None:
    daily = calendar_of("America/New_York").of(P.DAILY)
    lengths = {day: daily.end(day_number(day)) - daily.start(day_number(day)) for day in
               (date(2015, 3, 8), date(2015, 3, 9), date(2015, 11, 1))}  # fmt: skip
    assert [length // (3600 * 10**6) for length in lengths.values()] == [23, 24, 25]
    assert (
        P.HOURLY.ordinal(daily.end(day_number(date(2015, 3, 8))))
        - P.HOURLY.ordinal(daily.start(day_number(date(2015, 3, 8))))
        == 23
    )


def test_what_nests_in_the_days_of_a_zone() -> None:
    def holds(zone: str) -> list[bool]:
        daily = calendar_of(zone).of(P.DAILY)
        return [kind.nests_in(daily) for kind in (P.MINUTELY, P.HOURLY, P.DAILY)]

    assert holds("America/New_York") == holds("Asia/Tokyo") == holds("Atlantic/Azores") == [True, True, False]
    assert holds("Asia/Kolkata") == holds("Asia/Kathmandu") == holds("Australia/Lord_Howe") == [True, False, False]
    new_york = calendar_of("America/New_York")
    assert new_york.of(P.DAILY).nests_in(new_york.of(P.MONTHLY))
    assert not new_york.of(P.WEEKLY).nests_in(new_york.of(P.MONTHLY))
    assert not new_york.of(P.MONTHLY).nests_in(new_york.of(P.DAILY))
    assert not new_york.of(P.DAILY).nests_in(P.HOURLY)
    assert new_york.of(P.DAILY) is new_york.of(P.DAILY)
    assert sorted([new_york.of(P.YEARLY), P.HOURLY, new_york.of(P.DAILY)], key=int)[0] is P.HOURLY
    assert P.HOURLY < new_york.of(P.DAILY) < new_york.of(P.MONTHLY)


def test_since_when_days_are_made_of_whole_hours() -> None:
    def since(zone: str, kind: UpdatePeriod) -> str | None:
        since = calendar_of(zone).since(kind)
        return None if since is None else Calendar("UTC").text(since)

    assert since("America/New_York", P.HOURLY) == since("America/New_York", P.MINUTELY) == "1883-11-18T17"
    assert since("Africa/Monrovia", P.MINUTELY) == "1972-01-07T00:44:30"
    assert since("America/Caracas", P.HOURLY) == "2016-05-01T07"
    assert since("Asia/Kolkata", P.HOURLY) is None
    # Until 2010 clocks went back at one past midnight, into a day that was over.
    assert since("America/St_Johns", P.DAILY) == "2010-11-07T02:31"
    # In 1919 clocks went from 23:30 to 0:30: a day began half an hour late.
    assert since("America/Toronto", P.DAILY) == "1919-03-31T04:30"
    assert calendar_of("America/New_York").since(P.DAILY) == MIN_INSTANT


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "America/Havana", "Pacific/Apia"])
def test_texts_of_instants_are_read_back(zone: str) -> None:
    calendar = calendar_of(zone)
    for day in (date(2015, 3, 8), date(2015, 11, 1), date(2011, 12, 30), date(2015, 6, 1)):
        for minutes in range(0, 48 * 60, 15):
            instant = micros(datetime.combine(day, time(), UTC)) + minutes * 60 * 10**6
            assert parse_instant(calendar.text(instant), calendar) == instant


def test_what_is_shown_says_the_zone() -> None:
    calendar = calendar_of("America/New_York")
    day = calendar.of(P.DAILY)
    start = day.floor(micros(datetime(2015, 11, 1, 12, tzinfo=UTC)))
    hour = 3600 * 10**6
    assert calendar.shown(TimeRange(start, day.end(day.ordinal(start)))) == "[2015-11-01, 2015-11-02) America/New_York"
    # One o'clock comes twice; what has it second is named in UTC.
    assert calendar.shown(RangeSet.of(TimeRange(start + hour, start + 2 * hour))) == (
        "[2015-11-01T01, 2015-11-01T06Z) America/New_York"
    )
    assert calendar_of("UTC").shown(RangeSet.EMPTY) == calendar.shown(RangeSet.EMPTY) == "∅"


def test_bounds_are_of_the_calendar() -> None:
    tokyo, new_york = calendar_of("Asia/Tokyo"), calendar_of("America/New_York")
    now = parse_instant("2015-03-08T16")
    assert resolve_bound("now.day", now, tokyo) == parse_instant("2015-03-08T15")
    assert resolve_bound("now.day - 1 day", now, tokyo) == parse_instant("2015-03-07T15")
    assert resolve_bound("now.month", now, tokyo) == parse_instant("2015-02-28T15")
    assert resolve_bound("2015-03-09T00:00+02:00", now, tokyo) == parse_instant("2015-03-08T22")
    assert resolve_bound("now - 1 day", now, new_york) == parse_instant("2015-03-07T17")
    assert resolve_bound("now - 24 hours", now, new_york) == parse_instant("2015-03-07T16")
    # What spring leaves out is moved on; of what autumn has twice it is the first.
    assert parse_instant("2015-03-08T02:30", new_york) == parse_instant("2015-03-08T07:30")
    assert parse_instant("2015-11-01T01:30", new_york) == parse_instant("2015-11-01T05:30")
    with pytest.raises(DataError):
        parse_instant("2015-13", tokyo)


@pytest.mark.parametrize("name", ["Nowhere/City", "EST", "+02:00", "america/new_york", "../etc/passwd", "", "a/\0"])
def test_other_names_are_no_zones(name: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        calendar_of(name)
    assert caught.value.condition == "UNKNOWN_TIME_ZONE"


def test_utc_is_the_plain_calendar() -> None:
    for name in ("UTC", "utc", "Z", "Etc/UTC"):
        assert calendar_of(name) is calendar_of("UTC")
    assert all(calendar_of("UTC").of(kind) is kind for kind in P)
    assert isinstance(calendar_of("Asia/Tokyo").of(P.DAILY), ZonedPeriod)
