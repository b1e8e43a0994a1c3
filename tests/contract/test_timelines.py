"""One suite for every kind of partition timeline: each behaves like a set of ordinals."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline, RangesPartitionTimeline

KINDS: list[Callable[[Iterable[OrdinalRange]], PartitionTimeline]] = [RangesPartitionTimeline]

SPACE = range(-4, 28)
ordinal_ranges = st.tuples(st.integers(-4, 26), st.integers(1, 9)).map(lambda t: OrdinalRange(t[0], t[0] + t[1]))
operations = st.one_of(
    st.tuples(st.sampled_from(["add", "drop"]), st.integers(-4, 26)),
    st.tuples(st.sampled_from(["add_range", "drop_range"]), ordinal_ranges),
)

pytestmark = pytest.mark.parametrize("kind", KINDS)
Kind = Callable[..., PartitionTimeline]


def runs(ordinals: set[int]) -> tuple[OrdinalRange, ...]:
    """The maximal ranges of a set of ordinals."""
    starts = sorted(o for o in ordinals if o - 1 not in ordinals)
    ends = sorted(o + 1 for o in ordinals if o + 1 not in ordinals)
    return tuple(map(OrdinalRange, starts, ends))


def apply(model: set[int], name: str, argument: int | OrdinalRange) -> int:
    """Does to the model what the operation says; how many ordinals changed."""
    touched = {argument} if isinstance(argument, int) else set(range(argument.start, argument.end))
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
def test_a_timeline_behaves_like_a_set(kind: Kind, steps: list[tuple[str, int | OrdinalRange]]) -> None:
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


@given(ranges=st.lists(ordinal_ranges, max_size=6), others=st.lists(ordinal_ranges, max_size=3))
def test_properties_carry_the_whole_timeline(
    kind: Kind, ranges: list[OrdinalRange], others: list[OrdinalRange]
) -> None:
    timeline, other = kind(ranges), kind(others)
    properties = timeline.to_properties()
    assert all(isinstance(text, str) for pair in properties.items() for text in pair)
    assert other.init_from_properties(properties)
    assert_same(other, {o for r in ranges for o in range(r.start, r.end)})
    assert other == timeline


def test_what_is_there_is_not_added_and_what_is_absent_not_dropped(kind: Kind) -> None:
    timeline = kind([OrdinalRange(3, 5)])
    assert timeline.add(3) is False
    assert timeline.drop(5) is False
    assert timeline.drop(99) is False
    assert timeline.add(5) is True
    assert timeline.drop(3) is True
    assert timeline.ranges() == (OrdinalRange(4, 6),)


def test_dropping_from_an_empty_timeline_does_nothing(kind: Kind) -> None:
    timeline = kind(())
    assert timeline.drop(1) is False
    assert timeline.drop_range(OrdinalRange(0, 9)) == 0
    assert timeline.is_empty
    assert timeline.is_consistent()


def test_unreadable_properties_change_nothing(kind: Kind) -> None:
    timeline = kind([OrdinalRange(3, 5)])
    for properties in ({}, {"other": "1,2"}):
        assert timeline.init_from_properties(properties) is False
        assert timeline.ranges() == (OrdinalRange(3, 5),)


@pytest.mark.parametrize("end", [3, 2])
def test_an_ordinal_range_is_never_empty(kind: Kind, end: int) -> None:
    with pytest.raises(ValueError, match="must start before it ends"):
        kind([OrdinalRange(3, end)])


def test_the_seeds_example(kind: Kind) -> None:
    timeline = kind(())
    assert [timeline.add(o) for o in (1, 2, 3, 5, 6, 9, 11, 15, 16)] == [True] * 9
    assert timeline.ranges() == tuple(OrdinalRange(*r) for r in [(1, 4), (5, 7), (9, 10), (11, 12), (15, 17)])
    assert (timeline.first, timeline.latest, timeline.count) == (1, 16, 9)


class TestRanges:
    """What only the timeline of ranges promises."""

    def test_its_property_is_a_list_of_bounds(self, kind: Kind) -> None:
        timeline = RangesPartitionTimeline([OrdinalRange(5, 7), OrdinalRange(-3, 4)])
        assert timeline.to_properties() == {"ranges": "-3,4,5,7"}
        assert RangesPartitionTimeline().to_properties() == {"ranges": ""}

    @pytest.mark.parametrize(
        "text",
        [
            "1",
            "1,2,3",
            "2,1",
            "1,1",
            "1,3,3,5",
            "1,3,2,5",
            "5,7,1,3",
            "1,2,",
            ",",
            " 1,2",
            "1, 2",
            "a,b",
            "1_0,20",
            "+1,2",
        ],
    )
    def test_broken_properties_are_refused(self, kind: Kind, text: str) -> None:
        timeline = RangesPartitionTimeline([OrdinalRange(3, 5)])
        assert timeline.init_from_properties({"ranges": text}) is False
        assert timeline.ranges() == (OrdinalRange(3, 5),)

    @pytest.mark.parametrize(
        ("starts", "ends", "count"),
        [
            ([1], [3, 5], 2),
            ([1, 5], [3], 2),
            ([1, 5], [3, 5], 2),
            ([1, 6], [3, 5], 1),
            ([1, 3], [3, 5], 4),
            ([1, 2], [3, 5], 5),
            ([5, 1], [7, 3], 4),
            ([1, 5], [3, 7], 3),
        ],
    )
    def test_every_broken_invariant_shows(self, kind: Kind, starts: list[int], ends: list[int], count: int) -> None:
        timeline = RangesPartitionTimeline([OrdinalRange(1, 3), OrdinalRange(5, 7)])
        assert timeline.is_consistent()
        timeline._starts, timeline._ends, timeline._count = starts, ends, count
        assert not timeline.is_consistent()
