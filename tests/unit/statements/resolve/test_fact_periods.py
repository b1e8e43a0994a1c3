"""Periods as stretches of time: whole periods inside a time, their first ones, and their texts, in any calendar."""

from __future__ import annotations

import random

import pytest

from rewriter.statements.resolve.fact_periods import first_periods, times, within
from rewriter.timeline.calendars import Period, calendar_of
from rewriter.timeline.civil import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant
from rewriter.timeline.time_bounds import parse_instant
from rewriter.timeline.timeline import OrdinalRange
from tests.rotation import turn

#: Apia left out 2011-12-30; Kathmandu's days begin at a quarter to; New York changes its clocks.
ZONES = ("UTC", "Pacific/Apia", "Asia/Kathmandu", "America/New_York")
PERIODS = [calendar_of(zone).of(period) for zone in ZONES for period in UpdatePeriod]
ids = [f"{zone}-{period.name}" for zone in ZONES for period in UpdatePeriod]
FIRST = parse_instant("2011-10-01")


def _times(source: random.Random, unit: int) -> RangeSet:
    bounds = sorted(FIRST + source.randrange(200 * 24) * unit for _ in range(12))
    return RangeSet(TimeRange(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=True) if a < b)


@pytest.mark.parametrize("period", PERIODS, ids=ids)
def test_whole_periods_inside_a_time(period: Period) -> None:
    source = random.Random(turn())
    for unit in (HOUR, 7 * MINUTE, 5 * HOUR):
        time = _times(source, unit)
        expected = [(period.ceil(range_.start), period.floor(range_.end)) for range_ in time]
        assert within(period, time) == RangeSet(TimeRange(a, b) for a, b in expected if a < b)
    assert within(period, RangeSet.EMPTY) == times(period, ()) == RangeSet.EMPTY
    assert within(period, RangeSet.ALL).ranges[0].start == period.ceil(MIN_INSTANT)


@pytest.mark.parametrize("period", PERIODS, ids=ids)
def test_the_first_periods_of_a_time(period: Period) -> None:
    source = random.Random(turn())
    start = period.ordinal(FIRST)
    chosen = sorted(source.sample(range(start, start + 100), 40))
    time = times(
        period,
        [OrdinalRange(ordinal, ordinal + 1) for ordinal in chosen if period.start(ordinal) < period.end(ordinal)],
    )
    assert first_periods(period, time, 0) == RangeSet.EMPTY
    assert first_periods(period, time, 10**9) == time
    seen = RangeSet.EMPTY
    for _ in range(100):
        share = first_periods(period, time - seen, 3)
        # Whole periods, older than all that is left.
        assert within(period, share) == share
        assert share - time == RangeSet.EMPTY
        rest = time - seen - share
        assert not rest or not share or share.ranges[-1].end <= rest.ranges[0].start
        seen |= share
        if not share:
            break
    assert seen == time


@pytest.mark.parametrize("zone", ZONES)
def test_texts_of_many_instants(zone: str) -> None:
    calendar, source = calendar_of(zone), random.Random(turn())
    for unit in (DAY, HOUR, 15 * MINUTE, 1):
        instants = [FIRST // unit * unit + source.randrange(10**6) * unit for _ in range(50)]
        assert calendar.texts(instants) == [calendar.text(instant) for instant in instants]
    ends = [MIN_INSTANT, MIN_INSTANT + DAY, MAX_INSTANT - HOUR, MAX_INSTANT]
    assert calendar_of("UTC").texts(ends) == ["-∞", "0001-01-02", "9999-12-31T23", "∞"]
    assert calendar.texts(ends) == [calendar.text(instant) for instant in ends]
    assert calendar.texts([]) == []
    assert format_instant(parse_instant("1969-12-31T23")) == "1969-12-31T23"
