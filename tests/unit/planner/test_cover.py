"""The cover: the seed's tables, weeks and costs, ties, validity, what a hole costs, and what work it is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.planner.cover.cover import Candidate, Cover, cover, extent
from rewriter.timeline.calendars import calendar_of
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant
from rewriter.timeline.timeline import OrdinalRange
from tests.unit.planner.covering import (
    DAILY,
    HOURLY,
    MINUTELY,
    MONTHLY,
    QUARTERLY,
    WEEKLY,
    YEARLY,
    between,
    has,
    ordinals,
    segments,
    shape,
)

YEAR = ("2014", "2017")
SEED = RangeSet.of(between("2015-01-29T06", "2015-03-01T06"))


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([has(MONTHLY, YEAR), has(DAILY, YEAR), has(HOURLY, YEAR)], {"monthly": 1, "daily": 2, "hourly": 24}),
        ([has(HOURLY, YEAR)], {"hourly": 744}),
        ([has(MONTHLY, YEAR), has(HOURLY, YEAR)], {"monthly": 1, "hourly": 72}),
        ([has(DAILY, YEAR), has(HOURLY, YEAR)], {"daily": 30, "hourly": 24}),
        ([has(DAILY, YEAR, without=["2015-02-10"]), has(HOURLY, YEAR)], {"daily": 29, "hourly": 48}),
    ],
    ids=["all rollups", "hours only", "no days", "no months", "one day missing"],
)
def test_the_seeds_tables(candidates: list[Candidate], expected: dict[str, int]) -> None:
    covered = cover(SEED, candidates)
    assert shape(covered) == expected
    assert covered.missing == RangeSet.EMPTY


def test_the_seeds_best_case_names_the_partitions() -> None:
    covered = cover(SEED, [has(HOURLY, YEAR), has(DAILY, YEAR), has(MONTHLY, YEAR)])
    assert [part.period for part in covered.parts] == [MONTHLY, DAILY, HOURLY]
    assert segments(covered, "monthly") == "[2015-02-01, 2015-03-01)"
    assert segments(covered, "daily") == "[2015-01-30, 2015-02-01)"
    assert segments(covered, "hourly") == "[2015-01-29T06, 2015-01-30) ∪ [2015-03-01, 2015-03-01T06)"


def test_quarters_serve_where_they_are_whole() -> None:
    target = RangeSet.of(between("2015-02-10", "2015-11-10"))
    covered = cover(target, [has(period, YEAR) for period in (YEARLY, QUARTERLY, MONTHLY, DAILY, HOURLY, MINUTELY)])
    assert shape(covered) == {"quarterly": 2, "monthly": 2, "daily": 19 + 9}
    assert segments(covered, "quarterly") == "[2015-04-01, 2015-10-01)"
    assert segments(covered, "monthly") == "[2015-03-01, 2015-04-01) ∪ [2015-10-01, 2015-11-01)"
    assert segments(covered, "daily") == "[2015-02-10, 2015-03-01) ∪ [2015-11-01, 2015-11-10)"


def test_a_missing_day_hides_no_other() -> None:
    target = RangeSet.of(between("2015-02-01", "2015-03-01"))
    covered = cover(target, [has(DAILY, YEAR, without=["2015-02-03"])])
    assert shape(covered) == {"daily": 27}
    assert str(covered.missing) == "[2015-02-03, 2015-02-04)"


@given(st.integers(0, 24 * 31 - 1))
def test_one_missing_hour_never_changes_the_rest(hour: int) -> None:
    start = SEED.ranges[0].start + HOURLY.start(hour)
    gap = RangeSet.of(TimeRange(start, HOURLY.start(HOURLY.ordinal(start) + 1)))
    full = [has(MONTHLY, YEAR), has(DAILY, YEAR), has(HOURLY, YEAR)]
    holed = [has(MONTHLY, YEAR), has(DAILY, YEAR), has(HOURLY, YEAR)]
    assert holed[2].timeline.drop(HOURLY.ordinal(start))
    complete, covered = cover(SEED, full), cover(SEED, holed)
    hours_used = RangeSet.of(between("2015-01-29T06", "2015-01-30"), between("2015-03-01", "2015-03-01T06"))
    assert covered.parts[:2] == complete.parts[:2]
    assert covered.missing == gap & hours_used
    if not covered.missing:
        assert covered == complete
    else:
        assert covered.parts[2].partitions == complete.parts[2].partitions - 1


def test_a_gap_is_filled_from_another_table() -> None:
    target = RangeSet.of(between("2015-02-01", "2015-02-11"))
    main = has(DAILY, ("2015-02-01", "2015-02-11"), without=["2015-02-04", "2015-02-07"], table="main")
    spare = has(DAILY, ("2015-02-01", "2015-02-05"), table="spare", weight=1)
    hours = has(HOURLY, ("2015-02-06", "2015-02-08"), table="hours")
    covered = cover(target, [hours, spare, main])
    assert [(part.table, part.partitions) for part in covered.parts] == [("main", 8), ("spare", 1), ("hours", 24)]
    assert segments(covered, "spare") == "[2015-02-04, 2015-02-05)"
    assert segments(covered, "hours") == "[2015-02-07, 2015-02-08)"
    assert not covered.missing


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"weight": 1, "fact": "z", "table": "z"}, {"weight": 2, "fact": "a", "table": "a"}),
        ({"fact": "a", "storage": "z", "table": "z"}, {"fact": "b", "storage": "a", "table": "a"}),
        ({"storage": "a", "table": "z"}, {"storage": "b", "table": "a"}),
        ({"table": "a"}, {"table": "b"}),
    ],
    ids=["weight", "fact", "storage", "table"],
)
def test_equal_periods_come_from_the_lowest_weight_then_name(better: dict[str, str], worse: dict[str, str]) -> None:
    days = [has(DAILY, YEAR, **kind) for kind in (better, worse)]  # type: ignore[arg-type]
    for candidates in (days, days[::-1]):
        covered = cover(SEED, candidates)
        assert [part.table for part in covered.parts] == [better["table"]]


def test_fewer_partitions_beat_a_lower_weight() -> None:
    covered = cover(SEED, [has(MONTHLY, YEAR, weight=9), has(DAILY, YEAR), has(HOURLY, YEAR)])
    assert shape(covered)["monthly"] == 1


def test_periods_that_stick_out_of_a_range_are_not_used() -> None:
    target = RangeSet.of(between("2015-02-01", "2015-02-14"), between("2015-02-15", "2015-03-01"))
    covered = cover(target, [has(MONTHLY, YEAR), has(DAILY, YEAR)])
    assert shape(covered) == {"daily": 27}
    assert segments(covered, "daily") == str(target)


def test_ends_inside_the_finest_period_are_missing() -> None:
    target = RangeSet.of(between("2015-02-03T04:00:00.000001", "2015-02-03T07:30"))
    covered = cover(target, [has(HOURLY, YEAR)])
    assert shape(covered) == {"hourly": 2}
    assert str(covered.missing) == "[2015-02-03T04:00:00.000001, 2015-02-03T05) ∪ [2015-02-03T07, 2015-02-03T07:30)"
    inside = RangeSet.of(between("2015-02-03T04:10", "2015-02-03T04:50"))
    assert cover(inside, [has(HOURLY, YEAR)]) == Cover((), inside)


def test_nothing_to_cover_and_nothing_to_cover_with() -> None:
    assert cover(RangeSet.EMPTY, [has(DAILY, YEAR)]) == Cover((), RangeSet.EMPTY)
    assert cover(SEED, []) == Cover((), SEED)
    assert cover(SEED, [has(DAILY)]) == Cover((), SEED)
    assert cover(SEED, [has(DAILY, ("2014", "2015"))]) == Cover((), SEED)


def test_an_open_target_takes_all_there_is() -> None:
    covered = cover(RangeSet.ALL, [has(DAILY, ("2015-02-01", "2015-02-03")), has(YEARLY, ("2012", "2014"))])
    assert shape(covered) == {"daily": 2, "yearly": 2}
    assert str(covered.missing) == "[-∞, 2012-01-01) ∪ [2014-01-01, 2015-02-01) ∪ [2015-02-03, ∞)"


def test_the_extent_reaches_from_the_first_to_the_last_instant() -> None:
    candidates = [has(DAILY, ("2015-01-29", "2015-03-02")), has(MONTHLY, ("2014-11", "2015-03")), has(HOURLY)]
    assert str(extent(candidates)) == "[2014-11-01, 2015-03-02)"
    assert extent([has(HOURLY)]) is None
    assert extent([]) is None


def test_the_extent_is_cut_to_what_is_valid() -> None:
    valid = RangeSet.of(between("2015-01-15", "2015-03-10"), between("2016-02-02", "2016-02-03"))
    assert str(extent([has(MONTHLY, YEAR, valid=valid)])) == "[2015-02-01, 2015-03-01)"
    assert str(extent([has(DAILY, YEAR, valid=valid)])) == "[2015-01-15, 2016-02-03)"
    assert extent([has(YEARLY, YEAR, valid=valid)]) is None


# --- weeks --------------------------------------------------------------------------------------------------------

SUMMER = RangeSet.of(between("2015-06-01", "2015-08-03"))


def test_weeks_serve_where_months_would_strand_a_rest() -> None:
    covered = cover(SUMMER, [has(WEEKLY, YEAR), has(MONTHLY, YEAR)])
    assert (shape(covered), covered.missing) == ({"weekly": 9}, RangeSet.EMPTY)


def test_months_and_days_are_fewer_than_weeks() -> None:
    covered = cover(SUMMER, [has(WEEKLY, YEAR), has(MONTHLY, YEAR), has(DAILY, YEAR)])
    assert (shape(covered), covered.missing) == ({"monthly": 2, "daily": 2}, RangeSet.EMPTY)


def test_weeks_alone_nest_days() -> None:
    target = RangeSet.of(between("2015-02-10T06", "2015-03-03T06"))
    covered = cover(target, [has(WEEKLY, YEAR), has(DAILY, YEAR, without=["2015-02-12"]), has(HOURLY, YEAR)])
    assert shape(covered) == {"weekly": 2, "daily": 4 + 1, "hourly": 18 + 24 + 6}
    assert segments(covered, "weekly") == "[2015-02-16, 2015-03-02)"


def test_of_a_week_and_a_month_that_overlap_serves_the_one_that_leaves_less_missing() -> None:
    week, month = has(WEEKLY, ("2015-06-29", "2015-07-06")), has(MONTHLY, ("2015-07", "2015-08"))
    wide, narrow = between("2015-06-01", "2015-08-01"), between("2015-06-01", "2015-07-10")
    covered = cover(RangeSet.of(wide), [week, month])
    assert (shape(covered), str(covered.missing)) == ({"monthly": 1}, "[2015-06-01, 2015-07-01)")
    covered = cover(RangeSet.of(narrow), [week, month])
    assert (shape(covered), str(covered.missing)) == (
        {"weekly": 1},
        "[2015-06-01, 2015-06-29) ∪ [2015-07-06, 2015-07-10)",
    )


def test_a_straddling_week_serves_for_a_day_that_is_missing() -> None:
    target = RangeSet.of(between("2015-06-01", "2015-08-01"))
    days = has(DAILY, YEAR, without=["2015-06-30"])
    june, both = has(MONTHLY, YEAR, without=["2015-06"]), has(MONTHLY, YEAR)
    # Four weeks of June, the straddling one, and July from its sixth day: three weeks and five days.
    covered = cover(target, [has(WEEKLY, YEAR), june, days])
    assert (shape(covered), covered.missing) == ({"weekly": 8, "daily": 5}, RangeSet.EMPTY)
    assert shape(cover(target, [has(WEEKLY, YEAR), both, days])) == {"monthly": 2}


def test_one_missing_hour_changes_nothing_beside_weeks() -> None:
    target = RangeSet.of(between("2015-01-29T06", "2015-03-11T06"))
    candidates = [has(period, YEAR) for period in (MONTHLY, WEEKLY, DAILY)]
    covered = cover(target, [*candidates, has(HOURLY, YEAR)])
    holed = cover(target, [*candidates, has(HOURLY, YEAR, without=["2015-03-11T03"])])
    assert shape(covered) == {"monthly": 1, "weekly": 1, "daily": 2 + 1 + 2, "hourly": 24}
    assert holed.parts[:-1] == covered.parts[:-1]
    assert shape(holed)["hourly"] == 23
    assert str(holed.missing) == "[2015-03-11T03, 2015-03-11T04)"


# --- costs --------------------------------------------------------------------------------------------------------

FEBRUARY = RangeSet.of(between("2015-02-01", "2015-03-01"))


def test_days_that_cost_less_than_their_month_serve_where_all_are_there() -> None:
    month, days = has(MONTHLY, YEAR, cost=1000), has(DAILY, YEAR, cost=10)
    covered = cover(FEBRUARY, [month, days])
    assert (shape(covered), covered.badness) == ({"daily": 28}, (0, 280, 28, 0))
    covered = cover(FEBRUARY, [month, has(DAILY, YEAR, without=["2015-02-03"], cost=10)])
    assert (shape(covered), covered.badness) == ({"monthly": 1}, (0, 1000, 1, 0))


def test_at_equal_cost_the_fewer_partitions_serve() -> None:
    covered = cover(FEBRUARY, [has(MONTHLY, YEAR, cost=280), has(DAILY, YEAR, cost=10)])
    assert shape(covered) == {"monthly": 1}


def test_the_length_of_a_month_may_decide() -> None:
    target = RangeSet.of(between("2015-01", "2015-05"))
    covered = cover(target, [has(MONTHLY, YEAR, cost=300), has(DAILY, YEAR, cost=10)])
    assert segments(covered, "daily") == str(FEBRUARY)
    assert shape(covered) == {"monthly": 3, "daily": 28}


def test_a_quarter_is_weighed_against_what_is_best_for_each_of_its_months() -> None:
    target = RangeSet.of(between("2015-01", "2015-04"))
    months, days = has(MONTHLY, YEAR, cost=300), has(DAILY, YEAR, cost=10)
    # January and March by month, February by days: 880.
    assert shape(cover(target, [has(QUARTERLY, YEAR, cost=881), months, days])) == {"monthly": 2, "daily": 28}
    assert shape(cover(target, [has(QUARTERLY, YEAR, cost=880), months, days])) == {"quarterly": 1}


def test_a_hole_in_cheap_hours_costs_one_day() -> None:
    hours = has(HOURLY, YEAR, without=["2015-02-03T04"], cost=1)
    covered = cover(FEBRUARY, [has(DAILY, YEAR, cost=100), hours])
    assert shape(covered) == {"daily": 1, "hourly": 27 * 24}
    assert segments(covered, "daily") == "[2015-02-03, 2015-02-04)"


def test_a_date_that_a_zone_leaves_out_costs_nothing() -> None:
    apia = calendar_of("Pacific/Apia")
    month, day = apia.of(MONTHLY), apia.of(DAILY)
    december = MONTHLY.ordinal(parse_instant("2011-12"))
    target = RangeSet.of(TimeRange(month.start(december), month.end(december)))
    days = RangesPartitionTimeline([ordinals(DAILY, "2011-12-01", "2012-01-01")])
    assert days.drop(DAILY.ordinal(parse_instant("2011-12-30")))
    months = RangesPartitionTimeline([OrdinalRange(december, december + 1)])
    # 30 days, although the month's dates go up to 31.
    covered = cover(
        target, [Candidate("f", "s", "m", month, months, cost=305), Candidate("f", "s", "d", day, days, cost=10)]
    )
    assert (shape(covered), covered.missing) == ({"d": 30}, RangeSet.EMPTY)
    assert covered.parts[0].ranges == days.ranges()


def test_less_missing_is_worth_any_cost() -> None:
    covered = cover(FEBRUARY, [has(DAILY, YEAR, without=["2015-02-03"]), has(MINUTELY, YEAR, cost=10**15)])
    assert (shape(covered), covered.missing) == ({"daily": 27, "minutely": 1440}, RangeSet.EMPTY)


def test_the_cheaper_of_two_tables_serves_whatever_its_weight() -> None:
    covered = cover(FEBRUARY, [has(DAILY, YEAR, table="a", cost=2), has(DAILY, YEAR, table="z", weight=9)])
    assert (shape(covered), covered.badness) == ({"z": 28}, (0, 28, 28, 28 * 9))


@pytest.mark.parametrize("cost", [0, -1])
def test_every_partition_costs_something(cost: int) -> None:
    with pytest.raises(ValueError, match="daily must cost at least 1"):
        has(DAILY, YEAR, cost=cost)


# --- ties ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("weeks", "expected"), [("a", {"a": 5}), ("c", {"b": 4, "m": 1}), ("b", {"b": 5})])
def test_where_all_else_is_equal_the_first_difference_is_decided_by_name(weeks: str, expected: dict[str, int]) -> None:
    # Five weeks, or July with two days before it and two after: first of all a week or a day of table b.
    target = RangeSet.of(between("2015-06-29", "2015-08-03"))
    candidates = [has(WEEKLY, YEAR, table=weeks), has(DAILY, YEAR, table="b"), has(MONTHLY, YEAR, table="m")]
    for given_order in (candidates, candidates[::-1]):
        covered = cover(target, given_order)
        assert (covered.badness, covered.parts[-1].period) == ((0, 5, 5, 0), DAILY if weeks == "c" else WEEKLY)
        assert shape(covered) == expected
    lighter = [replace(candidate, weight=1) if candidate.period is WEEKLY else candidate for candidate in candidates]
    assert shape(cover(target, lighter)) == {"b": 4, "m": 1}


# --- validity --------------------------------------------------------------------------------------------------


def test_only_partitions_that_are_wholly_valid_count() -> None:
    target = RangeSet.of(between("2015-01-29", "2015-03-03"))
    valid = RangeSet.of(between("2015-01-30T12", "2015-02-20"), between("2015-02-20T00:00:00.000001", "2015-04-01"))
    covered = cover(target, [has(DAILY, YEAR, valid=valid), has(MONTHLY, YEAR, valid=valid)])
    assert shape(covered) == {"daily": 1 + 19 + 8 + 2}
    assert str(covered.missing) == "[2015-01-29, 2015-01-31) ∪ [2015-02-20, 2015-02-21)"
    covered = cover(target, [has(DAILY, YEAR, valid=RangeSet.EMPTY)])
    assert covered == Cover((), target)


# --- work ---------------------------------------------------------------------------------------------------------


class CountingTimeline(RangesPartitionTimeline):
    """Counts the calls and their results."""

    asked = 0
    answered = 0

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the base class's result and counts the call."""
        count = super().covered(ordinals)
        self.asked += 1
        self.answered += len(count)
        return count

    def exists(self, ordinal: int) -> bool:
        """Must not be called, because it tests one partition at a time."""
        raise AssertionError(f"asked for the single ordinal {ordinal}")


def test_the_work_depends_on_ranges_that_matter_not_on_partitions() -> None:
    days = CountingTimeline([ordinals(DAILY, "2005", "2025")])
    assert all(days.drop(DAILY.ordinal(parse_instant(f"{year}-06-15"))) for year in range(2005, 2025))
    minutes = CountingTimeline([ordinals(MINUTELY, "2005", "2025")])
    # Thousands of holes in the minutes, all of them under days that exist.
    hole = MINUTELY.ordinal(parse_instant("2012-01-02"))
    assert all(minutes.drop(hole + 7 * i) for i in range(5000))
    candidates = [Candidate("f", "s", "d", DAILY, days), Candidate("f", "s", "m", MINUTELY, minutes)]
    covered = cover(RangeSet.of(between("2010-02-10T06:17", "2020-11-05T18:43")), candidates)
    assert covered.missing == RangeSet.EMPTY
    assert (days.asked, days.answered) == (1, 12)
    # Both ends and the eleven days of June.
    assert (minutes.asked, minutes.answered) == (13, 13)


@pytest.mark.parametrize("years", [1, 50])
def test_neither_costs_nor_weeks_look_at_single_partitions(years: int) -> None:
    target = RangeSet.of(between("1950-02-10T06:17", f"{1950 + years + 1}-11-05T18:43"))
    costs = {WEEKLY: 200, DAILY: 30, HOURLY: 1, MINUTELY: 1}
    candidates = [
        Candidate("f", "s", p.name, p, CountingTimeline([ordinals(p, "1900", "2100")]), cost=cost)
        for p, cost in costs.items()
    ]
    covered = cover(target, candidates)
    assert shape(covered).keys() == {"HOURLY", "MINUTELY"}
    months = Candidate("f", "s", "m", MONTHLY, CountingTimeline([ordinals(MONTHLY, "1900", "2100")]), cost=700)
    covered = cover(target, [*candidates, months])
    assert shape(covered).keys() == {"m", "HOURLY", "MINUTELY"}
    for candidate in (*candidates, months):
        assert isinstance(candidate.timeline, CountingTimeline)
        assert candidate.timeline.answered <= candidate.timeline.asked <= 16
