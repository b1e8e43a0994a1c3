"""The state of each kind of timeline: its invariants, its size for hostile patterns, its form as properties."""

from base64 import b64decode, b64encode
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sortedcontainers import SortedSet

from rewriter.timeline.kinds.bitmap import BitmapPartitionTimeline
from rewriter.timeline.kinds.ends_and_holes import EndsAndHolesPartitionTimeline
from rewriter.timeline.kinds.store_all import StoreAllPartitionTimeline
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

FIVE_YEARS_OF_HOURS = 5 * 365 * 24
KINDS: tuple[type[PartitionTimeline], ...] = (
    EndsAndHolesPartitionTimeline,
    RangesPartitionTimeline,
    StoreAllPartitionTimeline,
    BitmapPartitionTimeline,
)


def broken(kind: type[PartitionTimeline], properties: dict[str, str]) -> None:
    """Checks that the properties are refused, and nothing changes."""
    timeline = kind([OrdinalRange(3, 5)])
    assert timeline.init_from_properties(properties) is False
    assert timeline.ranges() == (OrdinalRange(3, 5),)


def hostile() -> Iterator[list[int]]:
    """Sets of ordinals that cost some way of keeping them dearly."""
    yield [0, FIVE_YEARS_OF_HOURS]
    yield list(range(0, 10_000, 2))
    yield [o for o in range(10_000) if o % 3]
    yield list(range(0, 1_000 * 65_536, 65_536))
    yield list(range(0, 200 * 2**32, 2**32))


@pytest.mark.parametrize("ordinals", list(hostile()))
class TestHostilePatterns:
    """The bounds of the table in ``rewriter/timeline/timeline.py``, by the number of entries and of characters."""

    def characters(self, timeline: PartitionTimeline) -> int:
        return sum(map(len, timeline.to_properties().values()))

    def test_ends_and_holes_keeps_one_hole_less_than_there_are_ranges(self, ordinals: list[int]) -> None:
        timeline = EndsAndHolesPartitionTimeline()
        for ordinal in ordinals:
            timeline.add(ordinal)
        holes = len(timeline.ranges()) - 1
        assert len(timeline._hole_starts) == len(timeline._hole_ends) == len(timeline.holes) == holes
        assert self.characters(timeline) <= 40 + 39 * holes

    def test_ranges_keeps_the_ranges(self, ordinals: list[int]) -> None:
        timeline = RangesPartitionTimeline()
        for ordinal in ordinals:
            timeline.add(ordinal)
        assert len(timeline._starts) == len(timeline._ends) == len(timeline.ranges()) <= len(ordinals)
        assert self.characters(timeline) <= 10 + 38 * len(timeline.ranges())

    def test_store_all_keeps_the_ordinals(self, ordinals: list[int]) -> None:
        timeline = StoreAllPartitionTimeline()
        for ordinal in ordinals:
            timeline.add(ordinal)
        assert len(timeline._ordinals) == len(ordinals)
        assert self.characters(timeline) <= 10 + 19 * len(ordinals)

    def test_a_bitmap_keeps_two_bytes_an_ordinal_or_all_bits_of_a_container(self, ordinals: list[int]) -> None:
        timeline = BitmapPartitionTimeline()
        for ordinal in ordinals:
            timeline.add(ordinal)
        containers = len({ordinal // 65_536 for ordinal in ordinals})
        size = len(timeline._bitmap.serialize())
        assert size <= min(2 * len(ordinals), 8_192 * containers) + 8 + 20 * containers
        assert self.characters(timeline) <= 10 + (size + 2) * 4 / 3


def test_a_year_of_minutes_with_a_thousand_holes_is_small() -> None:
    year = OrdinalRange(23_667_840, 23_667_840 + 525_600)
    gone = range(year.start + 100, year.end, 525)[:1_000]
    texts = {}
    for kind in (EndsAndHolesPartitionTimeline, RangesPartitionTimeline, BitmapPartitionTimeline):
        timeline = kind([year])
        assert timeline.drop_all(gone) == 1_000
        texts[kind] = sum(len(key) + len(value) for key, value in timeline.to_properties().items())
    assert texts[EndsAndHolesPartitionTimeline] < 10_000
    assert texts[BitmapPartitionTimeline] < 6_000
    assert texts[RangesPartitionTimeline] < 20_000


def test_properties_of_one_kind_are_none_of_another() -> None:
    for kind in KINDS:
        for state in KINDS:
            if kind is not state:
                broken(state, kind([OrdinalRange(1, 3)]).to_properties())


class TestRanges:
    def test_its_form(self) -> None:
        timeline = RangesPartitionTimeline([OrdinalRange(5, 7), OrdinalRange(-3, 4)])
        assert timeline.to_properties() == {"ranges.size": "1", "ranges0": "-3,4,5,7"}
        assert RangesPartitionTimeline().to_properties() == {"ranges.size": "0"}

    def test_the_form_of_one_value_is_read_too(self) -> None:
        timeline = RangesPartitionTimeline()
        assert timeline.init_from_properties({"ranges": "-3,4,5,7"})
        assert timeline.ranges() == (OrdinalRange(-3, 4), OrdinalRange(5, 7))
        assert timeline.init_from_properties({"ranges": ""})
        assert timeline.is_empty

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
    def test_broken_properties_are_refused(self, text: str) -> None:
        broken(RangesPartitionTimeline, {"ranges": text})

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
    def test_every_broken_invariant_shows(self, starts: list[int], ends: list[int], count: int) -> None:
        timeline = RangesPartitionTimeline([OrdinalRange(1, 3), OrdinalRange(5, 7)])
        assert timeline.is_consistent()
        timeline._starts, timeline._ends, timeline._count = starts, ends, count
        assert not timeline.is_consistent()


class TestEndsAndHoles:
    def test_its_form(self) -> None:
        timeline = EndsAndHolesPartitionTimeline([OrdinalRange(-3, 4), OrdinalRange(5, 7), OrdinalRange(9, 10)])
        assert timeline.to_properties() == {"first": "-3", "latest": "9", "holes.size": "1", "holes0": "4,7..8"}
        assert EndsAndHolesPartitionTimeline().to_properties() == {"first": "", "latest": "", "holes.size": "0"}

    @pytest.mark.parametrize(
        "holes",
        [
            {"holes": "5,6,7,8"},
            {"holes": "5..8"},
            {"holes": "5,6..8"},
            {"holes.size": "1", "holes0": "5,6,7,8"},
            {"holes.size": "2", "holes0": "5,6,", "holes1": "7,8"},
            {"holes.size": "1", "holes0": "5..8", "holes1": "9", "holes": "2"},
        ],
    )
    def test_the_seeds_form_is_read(self, holes: dict[str, str]) -> None:
        timeline = EndsAndHolesPartitionTimeline()
        assert timeline.init_from_properties({"first": "1", "latest": "10", **holes})
        assert timeline.ranges() == (OrdinalRange(1, 5), OrdinalRange(9, 11))
        assert timeline.count == 6
        assert timeline.is_consistent()

    def test_the_seeds_example_keeps_the_holes_as_one_range(self) -> None:
        timeline = EndsAndHolesPartitionTimeline()
        timeline.add_all([1, 2, 3, 4, 9, 10])
        assert (timeline.first, timeline.latest, timeline.holes) == (1, 10, (OrdinalRange(5, 9),))
        timeline.drop(10)
        timeline.drop(9)
        assert (timeline.first, timeline.latest, timeline.holes) == (1, 4, ())

    @pytest.mark.parametrize(
        "properties",
        [
            {"latest": "9", "holes": ""},
            {"first": "1", "holes": ""},
            {"first": "1", "latest": "9"},
            {"first": "", "latest": "9", "holes": ""},
            {"first": "1", "latest": "", "holes": ""},
            {"first": "", "latest": "", "holes": "3"},
            {"first": "9", "latest": "1", "holes": ""},
            {"first": "1", "latest": "9", "holes": "1"},
            {"first": "1", "latest": "9", "holes": "9"},
            {"first": "1", "latest": "9", "holes": "0..3"},
            {"first": "1", "latest": "9", "holes": "7..12"},
            {"first": "1", "latest": "9", "holes": "6,3"},
            {"first": "1", "latest": "9", "holes": "3,3"},
            {"first": "1", "latest": "9", "holes": "3..5,5"},
            {"first": "1", "latest": "9", "holes": "5..3"},
            {"first": "1", "latest": "9", "holes": "5..4"},
            {"first": "1", "latest": "9", "holes": "3,"},
            {"first": "1", "latest": "9", "holes": "3 ,4"},
            {"first": "1", "latest": "9", "holes": "3..4..5"},
            {"first": "1", "latest": "9", "holes.size": "2", "holes0": "3"},
            {"first": "1", "latest": "9", "holes.size": "-1"},
            {"first": "1", "latest": "9", "holes.size": "one", "holes0": "3"},
            {"first": "2015-01-29", "latest": "2015-03-01", "holes": ""},
        ],
    )
    def test_broken_properties_are_refused(self, properties: dict[str, str]) -> None:
        broken(EndsAndHolesPartitionTimeline, properties)

    @pytest.mark.parametrize(
        ("first", "latest", "starts", "ends", "lost"),
        [
            (None, 10, [], [], 0),
            (1, None, [], [], 0),
            (None, None, [5], [9], 4),
            (None, None, [], [], 1),
            (10, 1, [], [], 0),
            (1, 10, [5], [9], 3),
            (1, 10, [1], [3], 2),
            (1, 10, [0], [3], 3),
            (1, 10, [9], [11], 2),
            (1, 10, [5], [12], 7),
            (1, 10, [5, 7], [9], 4),
            (1, 10, [5, 7], [7, 8], 3),
            (1, 10, [7, 3], [9, 5], 4),
            (1, 10, [5, 7], [5, 9], 2),
        ],
    )
    def test_every_broken_invariant_shows(
        self, first: int | None, latest: int | None, starts: list[int], ends: list[int], lost: int
    ) -> None:
        timeline = EndsAndHolesPartitionTimeline([OrdinalRange(1, 5), OrdinalRange(9, 11)])
        assert timeline.is_consistent()
        timeline._first, timeline._latest = first, latest
        timeline._hole_starts, timeline._hole_ends, timeline._missing_count = starts, ends, lost
        assert not timeline.is_consistent()


class TestStoreAll:
    def test_its_form(self) -> None:
        timeline = StoreAllPartitionTimeline([OrdinalRange(-2, 1), OrdinalRange(5, 6)])
        assert timeline.to_properties() == {"partitions.size": "1", "partitions0": "-2,-1,0,5"}
        assert StoreAllPartitionTimeline().to_properties() == {"partitions.size": "0"}

    def test_the_seeds_form_of_one_list_is_read(self) -> None:
        timeline = StoreAllPartitionTimeline()
        assert timeline.init_from_properties({"partitions": "1,2,3,9"})
        assert timeline.ranges() == (OrdinalRange(1, 4), OrdinalRange(9, 10))

    @pytest.mark.parametrize("text", ["1,1", "2,1", "1,", ",1", "1..3", "1, 2", "x", "1.5", "2015-01-29"])
    def test_broken_properties_are_refused(self, text: str) -> None:
        broken(StoreAllPartitionTimeline, {"partitions": text})

    def test_every_broken_invariant_shows(self) -> None:
        timeline = StoreAllPartitionTimeline([OrdinalRange(1, 4)])
        assert timeline.is_consistent()
        for members, order in (
            ([1, 2, 3, 4], [1, 2, 3]),
            ([1, 2], [1, 2, 3]),
            ([1, 2, 9], [1, 2, 3]),
            ([1, 2], [1, 1]),
        ):
            timeline._ordinals = SortedSet(members)
            timeline._ordinals._list.clear()
            timeline._ordinals._list.update(order)
            assert not timeline.is_consistent()
        timeline._ordinals = SortedSet([1, 2, 3])
        timeline._ordinals._list._lists[0].reverse()
        assert not timeline.is_consistent()


class TestBitmap:
    def test_its_form(self) -> None:
        properties = BitmapPartitionTimeline([OrdinalRange(-3, 4), OrdinalRange(5, 7)]).to_properties()
        assert properties.keys() == {"bitmap.size", "bitmap0"}
        assert BitmapPartitionTimeline().to_properties() == {"bitmap.size": "1", "bitmap0": "AAAAAAAAAAA="}

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text[:-4],
            lambda text: text + "AAAA",
            lambda text: "AAAA" + text,
            lambda text: "!" + text,
            lambda text: text[:-1],
            lambda text: "",
            lambda text: "é" + text,
        ],
    )
    def test_broken_properties_are_refused(self, change: object) -> None:
        assert callable(change)
        text = BitmapPartitionTimeline([OrdinalRange(-3, 4), OrdinalRange(5, 9)]).to_properties()["bitmap0"]
        broken(BitmapPartitionTimeline, {"bitmap": change(text)})

    @pytest.mark.parametrize("value", [0, 2**60 - 10**17, 2**60 + 10**17, 2**64 - 1])
    def test_the_broken_invariant_shows(self, value: int) -> None:
        timeline = BitmapPartitionTimeline([OrdinalRange(1, 4)])
        assert timeline.is_consistent()
        timeline._bitmap.add(value)
        assert not timeline.is_consistent()
        broken(BitmapPartitionTimeline, timeline.to_properties())

    @settings(max_examples=300, deadline=None)
    @given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
    def test_changed_bytes_are_refused_or_another_sound_timeline(self, changes: list[tuple[int, int]]) -> None:
        written = BitmapPartitionTimeline([OrdinalRange(0, 9), OrdinalRange(12, 70_000), OrdinalRange(80_001, 80_002)])
        written.add_all(range(200_000, 210_000, 7))
        data = bytearray(b64decode(written.to_properties()["bitmap0"] + written.to_properties().get("bitmap1", "")))
        for at, byte in changes:
            data[at % len(data)] = byte
        timeline = BitmapPartitionTimeline()
        if timeline.init_from_properties({"bitmap": b64encode(data).decode()}):
            assert timeline.is_consistent()
            assert timeline.count == sum(map(len, timeline.ranges()))
        else:
            assert timeline.is_empty

    def test_bytes_after_the_bitmap_are_refused(self) -> None:
        written = BitmapPartitionTimeline([OrdinalRange(-3, 4)])
        data = b64decode(written.to_properties()["bitmap0"])
        broken(BitmapPartitionTimeline, {"bitmap": b64encode(data + b"\0\0").decode()})

    def test_holes_do_not_make_a_list_of_runs_longer_than_all_bits(self) -> None:
        # A list of 32,768 runs takes 128 KiB, all bits of the container 8.
        by_one, by_batch = (BitmapPartitionTimeline([OrdinalRange(0, 65_536)]) for _ in range(2))
        for ordinal in range(0, 65_536, 2):
            by_one.drop(ordinal)
        by_batch.drop_all(range(0, 65_536, 2))
        assert by_one.count == by_batch.count == 32_768
        for timeline in (by_one, by_batch):
            assert len(timeline._bitmap.serialize()) < 8_192 + 64

    def test_batches_find_the_containers_that_runs_keep_smaller(self) -> None:
        timeline = BitmapPartitionTimeline()
        timeline.add_all(range(1, 65_536, 2))
        timeline.add_all(ordinal for ordinal in range(0, 65_536, 2) if ordinal % 1_000)
        assert len(timeline._bitmap.serialize()) < 64 + 4 * 67
        timeline.drop_all(range(500, 65_536, 1_000))
        assert len(timeline._bitmap.serialize()) < 64 + 4 * 133
