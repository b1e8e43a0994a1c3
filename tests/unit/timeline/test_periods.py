"""Ordinals against the standard library's calendar, and nesting against real boundaries."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewriter.errors import AnalysisError
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.periods import UpdatePeriod

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

periods = st.sampled_from(UpdatePeriod)
moments = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59, 999_999)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)


def micros(*fields: int) -> int:
    return (datetime(*fields, tzinfo=UTC) - EPOCH) // MICROSECOND


def expected_start(period: UpdatePeriod, moment: datetime) -> datetime:
    """Returns the start of the period that contains the moment, by ``datetime`` alone."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        UpdatePeriod.MINUTELY: moment.replace(second=0, microsecond=0),
        UpdatePeriod.HOURLY: moment.replace(minute=0, second=0, microsecond=0),
        UpdatePeriod.DAILY: midnight,
        UpdatePeriod.WEEKLY: midnight - timedelta(days=moment.weekday()),
        UpdatePeriod.MONTHLY: midnight.replace(day=1),
        UpdatePeriod.QUARTERLY: midnight.replace(day=1, month=(moment.month - 1) // 3 * 3 + 1),
        UpdatePeriod.YEARLY: midnight.replace(day=1, month=1),
    }[period]


@given(periods, moments)
@example(UpdatePeriod.WEEKLY, EPOCH)
@example(UpdatePeriod.MONTHLY, datetime(1900, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC))
@example(UpdatePeriod.DAILY, datetime(2000, 2, 29, tzinfo=UTC))
@example(UpdatePeriod.MINUTELY, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
def test_the_period_of_an_instant_starts_where_the_calendar_says(period: UpdatePeriod, moment: datetime) -> None:
    instant = (moment - EPOCH) // MICROSECOND
    start = (expected_start(period, moment) - EPOCH) // MICROSECOND
    ordinal = period.ordinal(instant)
    assert period.start(ordinal) == period.floor(instant) == start
    assert period.start(ordinal) <= instant < period.end(ordinal) == period.start(ordinal + 1)
    assert period.is_aligned(instant) == (instant == start)
    assert period.ceil(instant) == (instant if instant == start else period.end(ordinal))


@pytest.mark.parametrize(
    ("period", "instant", "ordinal"),
    [
        (UpdatePeriod.MINUTELY, micros(1970, 1, 1, 1, 1), 61),
        (UpdatePeriod.HOURLY, micros(1970, 1, 2, 3), 27),
        (UpdatePeriod.DAILY, micros(2015, 1, 29), (date(2015, 1, 29) - date(1970, 1, 1)).days),
        (UpdatePeriod.WEEKLY, micros(1969, 12, 29), 0),
        (UpdatePeriod.WEEKLY, micros(1970, 1, 5), 1),
        (UpdatePeriod.MONTHLY, micros(2015, 2, 1), 45 * 12 + 1),
        (UpdatePeriod.QUARTERLY, micros(2015, 6, 30), 45 * 4 + 1),
        (UpdatePeriod.YEARLY, micros(2015, 12, 31), 45),
        (UpdatePeriod.YEARLY, micros(1969, 12, 31), -1),
    ],
)
def test_ordinals_count_from_1970(period: UpdatePeriod, instant: int, ordinal: int) -> None:
    assert period.ordinal(instant) == ordinal


def test_the_open_ends_are_whole_periods_of_every_kind_but_weeks() -> None:
    assert micros(1, 1, 1) == MIN_INSTANT
    assert micros(9999, 12, 31, 23, 59, 59, 999_999) == MAX_INSTANT - 1
    for period in UpdatePeriod:
        assert period.is_aligned(MIN_INSTANT)
        assert period.is_aligned(MAX_INSTANT) == (period is not UpdatePeriod.WEEKLY)
    assert UpdatePeriod.YEARLY.ordinal(MAX_INSTANT) == 8030


@pytest.mark.parametrize("fine", UpdatePeriod)
@pytest.mark.parametrize("coarse", UpdatePeriod)
def test_a_period_nests_where_no_boundary_of_the_other_cuts_it(fine: UpdatePeriod, coarse: UpdatePeriod) -> None:
    boundaries = [coarse.start(coarse.ordinal(micros(2014, 1, 1)) + i) for i in range(10)]
    assert fine.nests_in(coarse) == all(fine.is_aligned(boundary) for boundary in boundaries)


def test_periods_are_ordered_from_fine_to_coarse() -> None:
    lengths = [period.end(0) - period.start(0) for period in sorted(UpdatePeriod)]
    assert lengths == sorted(lengths)


def test_names_are_read_in_any_case() -> None:
    assert UpdatePeriod.named("hourly") is UpdatePeriod.HOURLY
    assert UpdatePeriod.named("Weekly") is UpdatePeriod.WEEKLY


@pytest.mark.parametrize("name", ["HOUR", "", "HOURLY ", "1"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        UpdatePeriod.named(name)
    assert caught.value.condition == "UNKNOWN_UPDATE_PERIOD"
    assert all(period.name in (caught.value.hint or "") for period in UpdatePeriod)
