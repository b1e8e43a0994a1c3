"""One suite for every kind of partition timeline: each must behave like a set of ordinals."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.timeline.kinds.bitmap import BitmapPartitionTimeline
from rewriter.timeline.kinds.ends_and_holes import EndsAndHolesPartitionTimeline
from rewriter.timeline.kinds.store_all import StoreAllPartitionTimeline
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

KINDS: list[Callable[[Iterable[OrdinalRange]], PartitionTimeline]] = [
    EndsAndHolesPartitionTimeline,
    RangesPartitionTimeline,
    StoreAllPartitionTimeline,
    BitmapPartitionTimeline,
]

SPACE = range(-4, 28)
ordinal_ranges = st.tuples(st.integers(-4, 26), st.integers(1, 9)).map(lambda t: OrdinalRange(t[0], t[0] + t[1]))
operations = st.one_of(
    st.tuples(st.sampled_from(["add", "drop"]), st.integers(-4, 26)),
    st.tuples(st.sampled_from(["add_range", "drop_range"]), ordinal_ranges),
    st.tuples(st.sampled_from(["add_all", "drop_all"]), st.lists(st.integers(-4, 26), max_size=8)),
)

pytestmark = pytest.mark.parametrize("kind", KINDS)
Kind = Callable[..., PartitionTimeline]


def runs(ordinals: set[int]) -> tuple[OrdinalRange, ...]:
    """Returns the maximal ranges of a set of ordinals."""
    starts = sorted(o for o in ordinals if o - 1 not in ordinals)
    ends = sorted(o + 1 for o in ordinals if o + 1 not in ordinals)
    return tuple(map(OrdinalRange, starts, ends))


Argument = int | OrdinalRange | list[int]


def apply(model: set[int], name: str, argument: Argument) -> int:
    """Applies the operation to the model and returns the number of changed ordinals."""
    if isinstance(argument, OrdinalRange):
        argument = list(range(argument.start, argument.end))
    touched = {argument} if isinstance(argument, int) else set(argument)
    before = len(model)
    if name.startswith("add"):
        model |= touched
    else:
        model -= touched
    return abs(len(model) - before)


def assert_same(timeline: PartitionTimeline, model: set[int]) -> None:
    assert timeline.is_consistent()
    assert timeline.ranges() == runs(model)
    assert timeline.count == len(model)
    assert timeline.is_empty == (not model)
    assert timeline.first == min(model, default=None)
    assert timeline.latest == max(model, default=None)
    assert {o for o in SPACE if timeline.exists(o)} == model & set(SPACE)


@settings(max_examples=200)
@given(steps=st.lists(operations, max_size=25))
def test_a_timeline_behaves_like_a_set(kind: Kind, steps: list[tuple[str, Argument]]) -> None:
    timeline, model = kind(()), set[int]()
    for name, argument in steps:
        assert getattr(timeline, name)(argument) == apply(model, name, argument)
        assert_same(timeline, model)


@given(ranges=st.lists(ordinal_ranges, max_size=6), window=ordinal_ranges)
def test_covered_and_missing_split_a_window(kind: Kind, ranges: list[OrdinalRange], window: OrdinalRange) -> None:
    timeline = kind(ranges)
    model = {o for r in ranges for o in range(r.start, r.end)}
    inside = set(range(window.start, window.end))
    assert timeline.covered(window) == runs(model & inside)
    assert timeline.missing(window) == runs(inside - model)
    assert_same(timeline, model)


@given(ranges=st.lists(ordinal_ranges, max_size=6), second_ranges=st.lists(ordinal_ranges, max_size=3))
def test_properties_carry_the_whole_timeline(
    kind: Kind, ranges: list[OrdinalRange], second_ranges: list[OrdinalRange]
) -> None:
    timeline, second = kind(ranges), kind(second_ranges)
    properties = timeline.to_properties()
    assert all(isinstance(text, str) for pair in properties.items() for text in pair)
    assert second.init_from_properties(properties)
    assert_same(second, {o for r in ranges for o in range(r.start, r.end)})
    assert second == timeline


def test_what_is_there_is_not_added_and_what_is_absent_not_dropped(kind: Kind) -> None:
    timeline = kind([OrdinalRange(3, 5)])
    assert timeline.add(3) is False
    assert timeline.drop(5) is False
    assert timeline.drop(99) is False
    assert timeline.add(5) is True
    assert timeline.drop(3) is True
    assert timeline.ranges() == (OrdinalRange(4, 6),)


def test_unreadable_properties_change_nothing(kind: Kind) -> None:
    timeline = kind([OrdinalRange(3, 5)])
    for properties in ({}, {"other": "1,2"}):
        assert timeline.init_from_properties(properties) is False
        assert timeline.ranges() == (OrdinalRange(3, 5),)


@pytest.mark.parametrize("end", [3, 2])
def test_an_ordinal_range_is_never_empty(kind: Kind, end: int) -> None:
    with pytest.raises(ValueError, match="must start before it ends"):
        kind([OrdinalRange(3, end)])


def test_a_batch_counts_each_ordinal_once(kind: Kind) -> None:
    timeline = kind([OrdinalRange(3, 5)])
    assert timeline.add_all([9, 4, 9, 5, -1]) == 3
    assert timeline.ranges() == (OrdinalRange(-1, 0), OrdinalRange(3, 6), OrdinalRange(9, 10))
    assert timeline.drop_all(iter([3, 9, 3, 77])) == 2
    assert timeline.ranges() == (OrdinalRange(-1, 0), OrdinalRange(4, 6))
    assert (timeline.add_all([]), timeline.drop_all([])) == (0, 0)
    assert timeline.drop_all([-1, 4, 5]) == 3
    assert timeline.is_empty


@pytest.mark.parametrize("ordinal", [-(10**17) + 1, -1_034_593_920, 4_223_371_680, 10**17 - 1])
def test_every_ordinal_of_seventeen_digits_has_its_place(kind: Kind, ordinal: int) -> None:
    timeline, second = kind(()), kind(())
    assert timeline.add(ordinal) is True
    assert (timeline.first, timeline.latest, timeline.count) == (ordinal, ordinal, 1)
    assert timeline.exists(ordinal)
    assert timeline.is_consistent()
    assert second.init_from_properties(timeline.to_properties())
    assert second == timeline


def test_the_seeds_example_of_ranges(kind: Kind) -> None:
    timeline = kind(())
    assert [timeline.add(o) for o in (1, 2, 3, 5, 6, 9, 11, 15, 16)] == [True] * 9
    assert timeline.ranges() == tuple(OrdinalRange(*r) for r in [(1, 4), (5, 7), (9, 10), (11, 12), (15, 17)])
    assert (timeline.first, timeline.latest, timeline.count) == (1, 16, 9)


def test_the_seeds_example_of_ends_and_holes(kind: Kind) -> None:
    timeline = kind(())
    assert timeline.add_all([1, 2, 3, 4, 9, 10]) == 6
    assert (timeline.first, timeline.latest) == (1, 10)
    assert timeline.missing(OrdinalRange(1, 11)) == (OrdinalRange(5, 9),)
    assert timeline.drop(10)
    assert timeline.latest == 9
    assert timeline.drop(9)
    assert timeline.latest == 4
    assert timeline.missing(OrdinalRange(1, 5)) == ()


def test_values_stay_short_and_keys_of_an_emptier_state_are_overwritten(kind: Kind) -> None:
    # A metastore keeps 4,000 characters of a value. Properties are altered, never deleted.
    timeline, stored = kind(OrdinalRange(o, o + 2) for o in range(23_000_000, 23_030_000, 5)), dict[str, str]()
    while True:
        stored |= timeline.to_properties()
        assert max(map(len, stored.values())) <= 3999
        second = kind([OrdinalRange(7, 8)])
        assert second.init_from_properties(stored)
        assert second == timeline
        if timeline.is_empty:
            break
        timeline.drop_range(OrdinalRange(23_000_100 if timeline.count > 40 else 0, 23_030_000))


class TestFaultsOfLens:
    """Faults of Lens's timelines."""

    def test_dropping_an_absent_partition_invents_none(self, kind: Kind) -> None:
        timeline = kind([OrdinalRange(3, 6)])
        for absent in (8, 6, 2, -5):
            assert timeline.drop(absent) is False
            assert timeline.ranges() == (OrdinalRange(3, 6),)
            assert timeline.is_consistent()

    def test_dropping_from_an_empty_timeline_does_not_fail(self, kind: Kind) -> None:
        timeline = kind(())
        assert timeline.drop(1) is False
        assert timeline.drop_range(OrdinalRange(0, 9)) == 0
        assert timeline.drop_all([1, 2]) == 0
        assert timeline.is_empty
        assert timeline.is_consistent()

    def test_adding_what_is_there_answers_the_same_everywhere(self, kind: Kind) -> None:
        timeline = kind(())
        assert [timeline.add(o) for o in (5, 5, 9, 7, 7, 9)] == [True, False, True, True, False, False]

    def test_two_hours_five_years_apart_do_not_make_43000_holes(self, kind: Kind) -> None:
        timeline = kind(())
        timeline.add(394_464)
        timeline.add(394_464 + 5 * 365 * 24)
        properties = timeline.to_properties()
        assert len(properties) <= 4
        assert sum(map(len, properties.values())) < 120
        assert timeline.missing(OrdinalRange(394_464, 438_265)) == (OrdinalRange(394_465, 438_264),)
