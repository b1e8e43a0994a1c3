"""Time ranges and sets of them, in microseconds since 1970-01-01T00:00:00Z."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from rewriter.timeline import runs
from rewriter.timeline.bulk_ranges import ranges_of
from rewriter.timeline.civil import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE, SECOND, civil_from_days


@dataclass(frozen=True, order=True, slots=True)
class TimeRange:
    """The instants from ``start`` up to, but not including, ``end``. Raises ``ValueError`` unless ``start < end``.

    >>> str(TimeRange(0, DAY))
    '[1970-01-01, 1970-01-02)'
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError(f"a time range must start before it ends: {self.start} >= {self.end}")

    def __str__(self) -> str:
        return f"[{format_instant(self.start)}, {format_instant(self.end)})"


class RangeSet:
    """An immutable set of instants, stored as sorted, disjoint ranges of which no two touch.

    Two sets of the same instants are therefore equal and have the same hash. ``&``, ``|`` and ``-`` are linear in the
    number of ranges. Clipping by a set of one range costs a binary search and the ranges returned.

    >>> days = RangeSet.of(TimeRange(0, 2 * DAY), TimeRange(DAY, 4 * DAY))
    >>> print(days)
    [1970-01-01, 1970-01-05)
    >>> print(days - RangeSet.of(TimeRange(DAY, 2 * DAY)))
    [1970-01-01, 1970-01-02) ∪ [1970-01-03, 1970-01-05)
    >>> print(days & RangeSet.of(TimeRange(9 * DAY, 10 * DAY)))
    ∅
    """

    __slots__ = ("_ranges",)

    EMPTY: ClassVar[RangeSet]
    ALL: ClassVar[RangeSet]

    _ranges: tuple[TimeRange, ...]

    def __init__(self, ranges: Iterable[TimeRange] = ()) -> None:
        self._ranges = _normalised(ranges)

    @classmethod
    def of(cls, *ranges: TimeRange) -> RangeSet:
        """Returns the union of the ranges, which may be in any order and may overlap. O(n log n)."""
        return cls(ranges)

    @classmethod
    def of_bounds(cls, bounds: Iterable[tuple[int, int]]) -> RangeSet:
        """Returns the union of non-empty ``[start, end)`` pairs in any order. O(n log n), or O(n) if they are
        sorted.
        """
        return cls._from_normalised(ranges_of(TimeRange, *runs.of_bounds(bounds)))

    @classmethod
    def _from_normalised(cls, ranges: tuple[TimeRange, ...]) -> RangeSet:
        range_set = cls.__new__(cls)
        range_set._ranges = ranges
        return range_set

    @property
    def ranges(self) -> tuple[TimeRange, ...]:
        """The ranges, in order."""
        return self._ranges

    def contains(self, instant: int) -> bool:
        """Tests whether the instant is in the set. O(log n)."""
        position = bisect_right(self._ranges, instant, key=_start) - 1
        return position >= 0 and instant < self._ranges[position].end

    def __or__(self, other: RangeSet) -> RangeSet:
        if not self._ranges or not other._ranges:
            return self if self._ranges else other
        return RangeSet(self._ranges + other._ranges)

    def __and__(self, other: RangeSet) -> RangeSet:
        if len(other._ranges) == 1:
            return self._clipped(other._ranges[0])
        if len(self._ranges) == 1:
            return other._clipped(self._ranges[0])
        return RangeSet._from_normalised(tuple(_intersections(self._ranges, other._ranges)))

    def __sub__(self, other: RangeSet) -> RangeSet:
        return RangeSet._from_normalised(tuple(_differences(self._ranges, other._ranges)))

    def _clipped(self, window: TimeRange) -> RangeSet:
        low = bisect_right(self._ranges, window.start, key=_end)
        high = bisect_left(self._ranges, window.end, key=_start)
        clipped = self._ranges[low:high]
        return RangeSet._from_normalised(
            tuple(TimeRange(max(r.start, window.start), min(r.end, window.end)) for r in clipped)
        )

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[TimeRange]:
        return iter(self._ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeSet) and self._ranges == other._ranges

    def __hash__(self) -> int:
        return hash(self._ranges)

    def __str__(self) -> str:
        return " ∪ ".join(map(str, self._ranges)) or "∅"

    def __repr__(self) -> str:
        return f"RangeSet({self})"


def _start(time_range: TimeRange) -> int:
    return time_range.start


def _end(time_range: TimeRange) -> int:
    return time_range.end


def _normalised(ranges: Iterable[TimeRange]) -> tuple[TimeRange, ...]:
    """Returns the ranges sorted, with overlapping or touching ranges merged."""
    merged: list[TimeRange] = []
    for current in sorted(ranges, key=_start):
        if merged and current.start <= merged[-1].end:
            if current.end > merged[-1].end:
                merged[-1] = TimeRange(merged[-1].start, current.end)
        else:
            merged.append(current)
    return tuple(merged)


def _intersections(left: tuple[TimeRange, ...], right: tuple[TimeRange, ...]) -> Iterator[TimeRange]:
    i = j = 0
    while i < len(left) and j < len(right):
        start, end = max(left[i].start, right[j].start), min(left[i].end, right[j].end)
        if start < end:
            yield TimeRange(start, end)
        if left[i].end < right[j].end:
            i += 1
        else:
            j += 1


def _differences(left: tuple[TimeRange, ...], right: tuple[TimeRange, ...]) -> Iterator[TimeRange]:
    j = 0
    for current in left:
        start = current.start
        while j < len(right) and right[j].end <= start:
            j += 1
        k = j
        while k < len(right) and right[k].start < current.end:
            if start < right[k].start:
                yield TimeRange(start, right[k].start)
            start = max(start, right[k].end)
            k += 1
        # The last range visited may reach into the next range of the left side.
        j = max(j, k - 1)
        if start < current.end:
            yield TimeRange(start, current.end)


RangeSet.EMPTY = RangeSet()
RangeSet.ALL = RangeSet((TimeRange(MIN_INSTANT, MAX_INSTANT),))


def format_instant(us: int) -> str:
    """Returns the shortest text that names the instant exactly, in UTC.

    That is '2013-01-29', '2013-01-29T06', '2013-01-29T06:30', '2013-01-29T06:30:15' or '2013-01-29T06:30:15.123456'.
    The open ends read '-∞' and '∞'. ``time_bounds.parse_instant`` reads every other text back.

    >>> format_instant(6 * HOUR), format_instant(MAX_INSTANT)
    ('1970-01-01T06', '∞')
    """
    if us <= MIN_INSTANT:
        return "-∞"
    if us >= MAX_INSTANT:
        return "∞"
    days, remainder = divmod(us, DAY)
    year, month, day = civil_from_days(days)
    hour, remainder = divmod(remainder, HOUR)
    minute, remainder = divmod(remainder, MINUTE)
    second, fraction = divmod(remainder, SECOND)
    text = f"{year:04d}-{month:02d}-{day:02d}"
    if fraction:
        return f"{text}T{hour:02d}:{minute:02d}:{second:02d}.{fraction:06d}"
    if second:
        return f"{text}T{hour:02d}:{minute:02d}:{second:02d}"
    if minute:
        return f"{text}T{hour:02d}:{minute:02d}"
    return f"{text}T{hour:02d}" if hour else text
