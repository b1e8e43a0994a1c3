"""All kinds of timelines through the same histories, beside a plain set."""

from collections.abc import Iterable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rewriter.timeline.kinds.bitmap import BitmapPartitionTimeline
from rewriter.timeline.kinds.ends_and_holes import EndsAndHolesPartitionTimeline
from rewriter.timeline.kinds.store_all import StoreAllPartitionTimeline
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

KINDS: tuple[type[PartitionTimeline], ...] = (
    EndsAndHolesPartitionTimeline,
    RangesPartitionTimeline,
    StoreAllPartitionTimeline,
    BitmapPartitionTimeline,
)
#: Around 0, around a border of a bitmap's containers, and far away: few enough that operations meet.
ordinals = st.one_of(st.integers(-12, 12), st.integers(65_530, 65_542), st.integers(-65_540, -65_532))
windows = st.tuples(ordinals, st.integers(1, 9)).map(lambda t: OrdinalRange(t[0], t[0] + t[1]))
batches = st.lists(ordinals, max_size=12)


def runs(members: set[int]) -> tuple[OrdinalRange, ...]:
    starts = sorted(o for o in members if o - 1 not in members)
    ends = sorted(o + 1 for o in members if o + 1 not in members)
    return tuple(map(OrdinalRange, starts, ends))


def members(ranges: Iterable[OrdinalRange]) -> set[int]:
    return {ordinal for each in ranges for ordinal in range(each.start, each.end)}


class SideBySide(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model = set[int]()
        self.timelines: list[PartitionTimeline] = []

    @initialize(given=st.lists(windows, max_size=4))
    def start(self, given: list[OrdinalRange]) -> None:
        self.model = members(given)
        self.timelines = [kind(given) for kind in KINDS]

    def change(self, name: str, argument: object, touched: set[int]) -> None:
        changed = touched - self.model if name.startswith("add") else touched & self.model
        answers = [getattr(timeline, name)(argument) for timeline in self.timelines]
        assert answers == [len(changed)] * len(answers)
        if isinstance(argument, int):
            assert all(isinstance(answer, bool) for answer in answers)
        self.model ^= changed

    @rule(ordinal=ordinals, name=st.sampled_from(["add", "drop"]))
    def change_one(self, ordinal: int, name: str) -> None:
        self.change(name, ordinal, {ordinal})

    @rule(window=windows, name=st.sampled_from(["add_range", "drop_range"]))
    def change_range(self, window: OrdinalRange, name: str) -> None:
        self.change(name, window, members([window]))

    @rule(batch=batches, name=st.sampled_from(["add_all", "drop_all"]))
    def change_batch(self, batch: list[int], name: str) -> None:
        self.change(name, batch, set(batch))

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def drop_end(self, data: st.DataObject) -> None:
        ordinal = data.draw(st.sampled_from([min(self.model), max(self.model)]))
        self.change("drop", ordinal, {ordinal})

    @rule()
    def stored_and_read(self) -> None:
        read = [kind([OrdinalRange(1, 3)]) for kind in KINDS]
        for timeline, copy in zip(self.timelines, read, strict=True):
            assert copy.init_from_properties(timeline.to_properties())
            assert copy == timeline
        self.timelines = read

    @rule(window=windows)
    def asked(self, window: OrdinalRange) -> None:
        inside = members([window])
        for timeline in self.timelines:
            assert timeline.covered(window) == runs(self.model & inside)
            assert timeline.missing(window) == runs(inside - self.model)
            assert {ordinal for ordinal in inside if timeline.exists(ordinal)} == self.model & inside

    @invariant()
    def agree(self) -> None:
        for timeline in self.timelines:
            assert timeline.is_consistent()
            assert timeline.ranges() == runs(self.model)
            assert timeline.count == len(self.model)
            assert timeline.is_empty == (not self.model)
            assert timeline.first == min(self.model, default=None)
            assert timeline.latest == max(self.model, default=None)


TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
