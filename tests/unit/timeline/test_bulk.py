"""Ranges made many at once are those made one by one."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.runs import ranges_of
from rewriter.timeline.timeline import OrdinalRange

KINDS = pytest.mark.parametrize("kind", [OrdinalRange, TimeRange])


@KINDS
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_they_are_those_made_one_by_one(kind: Any, count: int) -> None:
    starts, ends = [7 * at for at in range(count)], [7 * at + 1 + at % 6 for at in range(count)]
    ranges = ranges_of(kind, starts, ends)
    assert ranges == tuple(kind(start, end) for start, end in zip(starts, ends, strict=True))
    assert [hash(range_) for range_ in ranges] == [hash(kind(range_.start, range_.end)) for range_ in ranges]


@KINDS
@pytest.mark.parametrize("count", [1, 7, 8, 1000])
def test_none_is_empty(kind: Any, count: int) -> None:
    starts = list(range(0, 10 * count, 10))
    ends = [start + 5 for start in starts]
    for at in (0, count // 2, count - 1):
        for length in (0, -1):
            wrong = [*ends[:at], starts[at] + length, *ends[at + 1 :]]
            with pytest.raises(ValueError, match="must start before it ends"):
                ranges_of(kind, starts, wrong)
    with pytest.raises(ValueError, match="begin and"):
        ranges_of(kind, starts, ends[:-1])


def test_they_do_not_change() -> None:
    for range_ in (*ranges_of(OrdinalRange, [1] * 9, [2] * 9), *ranges_of(TimeRange, [1] * 9, [2] * 9)):
        with pytest.raises(FrozenInstanceError):
            range_.start = 0  # type: ignore[misc]


def test_bounds_in_any_order_are_merged_where_they_touch_or_overlap() -> None:
    separate = [(10 * at, 10 * at + 9) for at in range(20)]
    assert RangeSet.of_bounds(reversed(separate)).ranges == tuple(TimeRange(*bounds) for bounds in separate)
    touching = [*separate, (9, 10), (105, 125)]
    assert RangeSet.of_bounds(touching) == RangeSet.of(*(TimeRange(*bounds) for bounds in touching))
    assert len(RangeSet.of_bounds(touching)) == 17
