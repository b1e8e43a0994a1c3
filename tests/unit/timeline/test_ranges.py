"""Range sets against sets of integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange, format_instant
from rewriter.timeline.time_bounds import parse_instant

SPACE = range(24)
time_ranges = st.tuples(st.integers(0, 22), st.integers(1, 8)).map(lambda t: TimeRange(t[0], min(t[0] + t[1], 24)))
lists = st.lists(time_ranges, max_size=8)


def instants(ranges: RangeSet | list[TimeRange]) -> set[int]:
    return {instant for r in ranges for instant in range(r.start, r.end)}


def assert_normal(ranges: RangeSet) -> None:
    assert all(left.end < right.start for left, right in zip(ranges.ranges, ranges.ranges[1:], strict=False))


@given(lists)
def test_a_set_holds_the_instants_of_its_ranges(ranges: list[TimeRange]) -> None:
    normalized = RangeSet.of(*ranges)
    assert_normal(normalized)
    assert instants(normalized) == instants(ranges) == {i for i in SPACE if normalized.contains(i)}
    assert bool(normalized) == bool(ranges)
    assert len(normalized) == len(normalized.ranges)
    assert not normalized.contains(-1)
    assert not normalized.contains(24)


@given(lists, lists)
def test_the_algebra_is_that_of_sets(left: list[TimeRange], right: list[TimeRange]) -> None:
    a, b = RangeSet.of(*left), RangeSet.of(*right)
    for normalized, expected in (
        (a | b, instants(left) | instants(right)),
        (a & b, instants(left) & instants(right)),
        (a - b, instants(left) - instants(right)),
    ):
        assert_normal(normalized)
        assert instants(normalized) == expected


@given(lists, lists)
def test_equal_instants_make_equal_sets(left: list[TimeRange], right: list[TimeRange]) -> None:
    a, b = RangeSet.of(*left), RangeSet.of(*right)
    assert (a == b) == (instants(left) == instants(right))
    assert (a - b) | (a & b) == a
    assert hash((a - b) | (a & b)) == hash(a)


def test_touching_ranges_become_one() -> None:
    assert RangeSet.of(TimeRange(5, 9), TimeRange(0, 5)).ranges == (TimeRange(0, 9),)


def test_the_whole_and_the_empty_set() -> None:
    some = RangeSet.of(TimeRange(3, 5), TimeRange(8, 9))
    assert RangeSet.ALL & some == some
    assert some & RangeSet.ALL == some
    assert not RangeSet.EMPTY & some
    assert some - RangeSet.ALL == RangeSet.EMPTY
    assert RangeSet.EMPTY | some == some
    assert RangeSet.ALL - some == RangeSet.of(TimeRange(MIN_INSTANT, 3), TimeRange(5, 8), TimeRange(9, MAX_INSTANT))


@pytest.mark.parametrize("end", [5, 4])
def test_a_range_is_never_empty(end: int) -> None:
    with pytest.raises(ValueError, match="must start before it ends"):
        TimeRange(5, end)


@pytest.mark.parametrize(
    "text",
    [
        "2013-01-29",
        "2013-01-29T06",
        "2013-01-29T06:30",
        "2013-01-29T06:30:15",
        "2013-01-29T06:30:15.123456",
        "2013-01-29T00:30",
        "2013-01-29T00:00:00.000001",
        "1969-12-31T23:59:59.999999",
        "0001-01-01T00:00:00.000001",
        "9999-12-31T23",
    ],
)
def test_an_instant_is_written_in_its_shortest_form(text: str) -> None:
    assert format_instant(parse_instant(text)) == text


@given(st.integers(MIN_INSTANT + 1, MAX_INSTANT - 1))
def test_what_is_written_is_read_back(instant: int) -> None:
    assert parse_instant(format_instant(instant)) == instant


def test_sets_are_written_as_people_write_them() -> None:
    january = TimeRange(parse_instant("2013-01-29T06"), parse_instant("2013-03-01T06"))
    assert str(january) == "[2013-01-29T06, 2013-03-01T06)"
    later = TimeRange(parse_instant("2014"), MAX_INSTANT)
    assert str(RangeSet.of(later, january)) == "[2013-01-29T06, 2013-03-01T06) ∪ [2014-01-01, ∞)"
    assert str(RangeSet.EMPTY) == "∅"
    assert str(RangeSet.ALL) == "[-∞, ∞)"
