"""Time bounds: the forms that are read, and the reasons for which others are not."""

from datetime import UTC, datetime, timedelta

import pytest

from rewriter.errors import DataError
from rewriter.timeline.civil import MIN_INSTANT
from rewriter.timeline.ranges import format_instant
from rewriter.timeline.time_bounds import parse_instant, resolve_bound

NOW = parse_instant("2015-03-31T05:42:17.25")


def micros(*fields: int) -> int:
    return (datetime(*fields, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("2015", (2015, 1, 1)),
        ("2015-02", (2015, 2, 1)),
        ("2015-01-29", (2015, 1, 29)),
        ("2016-02-29", (2016, 2, 29)),
        ("2000-02-29", (2000, 2, 29)),
        ("2015-01-29T06", (2015, 1, 29, 6)),
        ("2015-01-29-06", (2015, 1, 29, 6)),
        ("2015-01-29 06", (2015, 1, 29, 6)),
        ("2015-01-29T06:30", (2015, 1, 29, 6, 30)),
        ("2015-01-29T06:30:15", (2015, 1, 29, 6, 30, 15)),
        ("2015-01-29 06:30:15.5", (2015, 1, 29, 6, 30, 15, 500_000)),
        ("2015-01-29T06:30:15.000001", (2015, 1, 29, 6, 30, 15, 1)),
        ("2015-01-29T06Z", (2015, 1, 29, 6)),
        ("2015-01-29T06:00:00Z", (2015, 1, 29, 6)),
        ("2015-01-29T06:30+05:30", (2015, 1, 29, 1)),
        ("2015-01-29T22-08:00", (2015, 1, 30, 6)),
        ("0001-01-01", (1, 1, 1)),
        ("9999-12-31T23:59:59.999999", (9999, 12, 31, 23, 59, 59, 999_999)),
        ("1969-12-31T23:59", (1969, 12, 31, 23, 59)),
    ],
)
def test_absolute_bounds(text: str, fields: tuple[int, ...]) -> None:
    assert parse_instant(text) == resolve_bound(text, NOW) == micros(*fields)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 2015",
        "2015 ",
        "2015\n",
        "15",
        "02015",
        "2015-1",
        "2015-13",
        "2015-00",
        "2015-01-",
        "2015-1-29",
        "2015-02-29",
        "1900-02-29",
        "2015-04-31",
        "2015-01-00",
        "2015-01-29T",
        "2015-01-29T6",
        "2015-01-29T24",
        "2015-01-29-24",
        "2015-01-29-06:30",
        "2015-01-29-06Z",
        "2015-01-29T06:60",
        "2015-01-29T06:30:60",
        "2015-01-29T06:30:15.",
        "2015-01-29T06:30:15.1234567",
        "2015-01-29t06",
        "2015-01-29  06",
        "2015-01-29Z",
        "2015-01-29T06z",
        "2015-01-29T06+0530",
        "2015-01-29T06+05:60",
        "2015-01-29T06+18:01",
        "0000-01-01",
        "0001-01-01T00+01:00",
        "9999-12-31T23-02:00",
        "２０１５",
        "+2015",
        "2015-01 + 1 day",
        "yesterday",
    ],
)
def test_what_has_no_such_form_is_refused(text: str) -> None:
    for read in (parse_instant, lambda bound: resolve_bound(bound, NOW)):
        with pytest.raises(DataError) as caught:
            read(text)
        assert caught.value.condition == "INVALID_TIME_BOUND"
        assert f"'{text}'" in caught.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2015-03-31T05:42:17.250000"),
        ("NOW", "2015-03-31T05:42:17.250000"),
        (" now ", "2015-03-31T05:42:17.250000"),
        ("now.minute", "2015-03-31T05:42"),
        ("now.hour", "2015-03-31T05"),
        ("now.day", "2015-03-31"),
        ("now.week", "2015-03-30"),
        ("now.month", "2015-03-01"),
        ("now.quarter", "2015-01-01"),
        ("now.year", "2015-01-01"),
        ("now.day - 7 days", "2015-03-24"),
        ("now.day-7days", "2015-03-24"),
        ("Now.Day - 1 Day", "2015-03-30"),
        ("now.month -1 month + 2 days", "2015-02-03"),
        ("now.day - 1 month", "2015-02-28"),
        ("now.day - 1 month + 1 month", "2015-03-28"),
        ("now.day + 1 quarter", "2015-06-30"),
        ("now.day + 11 months", "2016-02-29"),
        ("now.day + 11 months - 4 years", "2012-02-29"),
        ("now.day + 11 months + 1 year", "2017-02-28"),
        ("now.year - 45 years - 1 month", "1969-12-01"),
        ("now.hour + 90 minutes", "2015-03-31T06:30"),
        ("now.week - 2 weeks", "2015-03-16"),
        ("now - 0 days", "2015-03-31T05:42:17.250000"),
        ("now - 24 hours", "2015-03-30T05:42:17.250000"),
    ],
)
def test_relative_bounds(text: str, expected: str) -> None:
    assert format_instant(resolve_bound(text, NOW)) == expected


def test_a_bound_may_reach_the_open_end() -> None:
    assert resolve_bound("now.year - 2014 years", NOW) == MIN_INSTANT


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("now.fortnight", "'fortnight'"),
        ("now.days", "'days'"),
        ("now.", "'.'"),
        ("now.day - 7", "'- 7'"),
        ("now.day - days", "'- days'"),
        ("now.day 7 days", "'7 days'"),
        ("now.day - 7 moons", "'moons'"),
        ("now.day - 7 dayss", "'dayss'"),
        ("now - 1.5 days", "'- 1.5 days'"),
        ("now.day - 7 days or so", "'or so'"),
        ("nowadays", "'adays'"),
        ("now - 99999999 years", "'- 99999999 years'"),
        ("now + 8000 years - 8000 years", "'+ 8000 years'"),
        ("now - 9999999999999999 days", "'9999999999999999'"),
        ("now - 1 wee\u212a", "'wee'"),
        ("2015-13-01", "month 13"),
        ("2015-02-30", "day 30"),
        ("2015-02-03T25", "hour 25"),
    ],
)
def test_an_error_names_the_part_that_is_wrong(text: str, part: str) -> None:
    with pytest.raises(DataError) as caught:
        resolve_bound(text, NOW)
    assert caught.value.condition == "INVALID_TIME_BOUND"
    assert part in caught.value.message.removeprefix(f"'{text}'")
