"""Strings as Spark casts them to TIMESTAMP: what decides an instant, and what is not certain."""

from __future__ import annotations

import pytest

from rewriter.timeline.ranges import format_instant
from rewriter.timeline.timestamp_casts import date_text, is_malformed_timestamp, timestamp_text


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2015", "2015-01-01"),
        (" 2015-3 ", "2015-03-01"),
        ("2015-3-1 6", "2015-03-01T06"),
        ("2015-03-01T23:59:59.1234567", "2015-03-01T23:59:59.123456"),
        ("2015-03-01 06:00:00+10:30", "2015-02-28T19:30"),
        ("2015-03-01 06:00:00-10:30", "2015-03-01T16:30"),
        ("2015-03-01 06:00:00 +1030", "2015-02-28T19:30"),
        ("2015-03-01 06:00:00+10", "2015-02-28T20"),
        ("2015-03-01 06:00:00+10:59", "2015-02-28T19:01"),
        ("2015-03-01 06:00:00+18:00", "2015-02-28T12"),
        ("2015-03-01 06:00:00+18:01", None),
        ("2015-03-01 06:00:00+10:60", None),
        ("2015-03-01 06:00:00Z", "2015-03-01T06"),
        ("2015-03-01 24:00:00", None),
        ("2015-03-01 23:60:00", None),
        ("2015-03-01 23:59:60", None),
        ("0001-01-01 00:00:00", "-∞"),
        ("0001-01-01 00:00:00+01", None),
        ("9999-12-31 23:59:59-01", None),
        ("0000-01-01", None),
    ],
)
def test_a_text_is_an_instant_or_uncertain(text: str, instant: str | None) -> None:
    result = timestamp_text(text)
    assert (None if result is None else format_instant(result)) == instant


@pytest.mark.parametrize(
    ("text", "day", "is_malformed"),
    [
        ("2015-02-28", True, False),
        ("2015-02-29", False, True),
        ("2015-13-01", False, True),
        ("0001-01-01", True, False),
        ("0000-01-01", False, False),
        ("2015-03-01 24:00:00", True, True),
        ("2015-03-01 00:60:00", True, True),
        ("2015-03-01 00:00:60", True, True),
        ("2015-03-01 23:59:59", True, False),
        ("tomorrow?", False, False),
        ("never", False, True),
        ("nowhere", False, False),
        ("x2015", False, True),
    ],
)
def test_what_fails_for_certain(text: str, day: bool, is_malformed: bool) -> None:
    assert (date_text(text) is not None, is_malformed_timestamp(text)) == (day, is_malformed)
