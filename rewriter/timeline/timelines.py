"""Timelines: which periods of one kind exist in a storage table (seed 000).

A timeline holds ordinals (see ``UpdatePeriod``), knows nothing of time or tables, and answers existence from memory.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True)
class OrdinalRange:
    """The ordinals from ``start`` up to, but not including, ``end``. Never empty: ``start < end`` or ``ValueError``."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError(f"an ordinal range must start before it ends: {self.start} >= {self.end}")

    def __len__(self) -> int:
        return self.end - self.start


class PartitionTimeline(Protocol):
    """A set of ordinals. Adding what is there and dropping what is absent change nothing and answer so."""

    @property
    def first(self) -> int | None:
        """The least ordinal, ``None`` when empty."""
        ...

    @property
    def latest(self) -> int | None:
        """The greatest ordinal, ``None`` when empty."""
        ...

    @property
    def count(self) -> int:
        """How many ordinals exist."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether no ordinal exists."""
        ...

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal; whether it was absent."""
        ...

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal; whether it was there."""
        ...

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range; how many of them were absent."""
        ...

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range; how many of them were there."""
        ...

    def exists(self, ordinal: int) -> bool:
        """Whether the ordinal exists."""
        ...

    def is_consistent(self) -> bool:
        """Whether the inner state keeps its invariants."""
        ...

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """The whole set as sorted, maximal ranges."""
        ...

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """What exists of the range, as sorted, maximal ranges clipped to it."""
        ...

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """What does not exist of the range, as sorted, maximal ranges clipped to it."""
        ...

    def to_properties(self) -> dict[str, str]:
        """The set as key-value pairs."""
        ...

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by what ``to_properties`` gave.

        Answers ``False`` and changes nothing where the pairs hold no consistent timeline of this kind.
        """
        ...


class RangesPartitionTimeline:
    """A timeline kept as ranges of existence: parallel sorted lists, ``[starts[i], ends[i])``, of which no two touch.

    Look-ups cost O(log r) for r ranges, changes O(r) in the worst case (a shift of list entries).
    """

    __slots__ = ("_count", "_ends", "_starts")
    __hash__ = None  # type: ignore[assignment]

    PROPERTY = "ranges"

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may come in any order and overlap. O(n log n)."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        for current in sorted(ranges):
            if self._ends and current.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], current.end)
            else:
                self._starts.append(current.start)
                self._ends.append(current.end)
        self._count = sum(self._ends) - sum(self._starts)

    @property
    def first(self) -> int | None:
        """The least ordinal, ``None`` when empty."""
        return self._starts[0] if self._starts else None

    @property
    def latest(self) -> int | None:
        """The greatest ordinal, ``None`` when empty."""
        return self._ends[-1] - 1 if self._ends else None

    @property
    def count(self) -> int:
        """How many ordinals exist. O(1)."""
        return self._count

    @property
    def is_empty(self) -> bool:
        """Whether no ordinal exists."""
        return not self._starts

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal; whether it was absent."""
        return self.add_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal; whether it was there."""
        return self.drop_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range; how many of them were absent."""
        # Ranges that overlap or touch are merged with the new one.
        low = bisect_left(self._ends, ordinals.start)
        high = bisect_right(self._starts, ordinals.end)
        start, end = ordinals.start, ordinals.end
        if low < high:
            start, end = min(start, self._starts[low]), max(end, self._ends[high - 1])
        before = sum(self._ends[low:high]) - sum(self._starts[low:high])
        self._starts[low:high] = [start]
        self._ends[low:high] = [end]
        added = end - start - before
        self._count += added
        return added

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range; how many of them were there."""
        low, high = self._overlapping(ordinals)
        if low == high:
            return 0
        before = sum(self._ends[low:high]) - sum(self._starts[low:high])
        starts: list[int] = []
        ends: list[int] = []
        if self._starts[low] < ordinals.start:
            starts.append(self._starts[low])
            ends.append(ordinals.start)
        if ordinals.end < self._ends[high - 1]:
            starts.append(ordinals.end)
            ends.append(self._ends[high - 1])
        self._starts[low:high] = starts
        self._ends[low:high] = ends
        dropped = before - (sum(ends) - sum(starts))
        self._count -= dropped
        return dropped

    def exists(self, ordinal: int) -> bool:
        """Whether the ordinal exists. O(log r)."""
        at = bisect_right(self._starts, ordinal) - 1
        return at >= 0 and ordinal < self._ends[at]

    def is_consistent(self) -> bool:
        """Whether the lists are parallel, sorted, of non-empty ranges that do not touch, and the count is theirs."""
        return (
            len(self._starts) == len(self._ends)
            and all(start < end for start, end in zip(self._starts, self._ends, strict=True))
            and all(end < start for end, start in zip(self._ends, self._starts[1:], strict=False))
            and self._count == sum(self._ends) - sum(self._starts)
        )

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """The whole set as sorted, maximal ranges. O(r)."""
        return tuple(map(OrdinalRange, self._starts, self._ends))

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """What exists of the range, clipped to it. O(log r) and what it answers."""
        low, high = self._overlapping(ordinals)
        return tuple(
            OrdinalRange(max(self._starts[i], ordinals.start), min(self._ends[i], ordinals.end))
            for i in range(low, high)
        )

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """What does not exist of the range, clipped to it. O(log r) and what it answers."""
        low, high = self._overlapping(ordinals)
        from_ends = [ordinals.start, *self._ends[low:high]]
        to_starts = [*self._starts[low:high], ordinals.end]
        gaps = zip(from_ends, to_starts, strict=True)
        return tuple(OrdinalRange(start, end) for start, end in gaps if start < end)

    def to_properties(self) -> dict[str, str]:
        """One pair: ``ranges`` holds 'start,end,start,end', ends excluded."""
        return {self.PROPERTY: ",".join(f"{r.start},{r.end}" for r in self.ranges())}

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by what ``to_properties`` gave; ``False``, and nothing changed, where that is unreadable."""
        text = properties.get(self.PROPERTY)
        if text is None or _BOUNDS.fullmatch(text) is None:
            return False
        bounds = [int(bound) for bound in text.split(",")] if text else []
        read = RangesPartitionTimeline()
        read._starts, read._ends = bounds[0::2], bounds[1::2]
        read._count = sum(read._ends) - sum(read._starts)
        if not read.is_consistent():
            return False
        self._starts, self._ends, self._count = read._starts, read._ends, read._count
        return True

    def _overlapping(self, ordinals: OrdinalRange) -> tuple[int, int]:
        """Indexes of the ranges that share an ordinal with the given one."""
        return bisect_right(self._ends, ordinals.start), bisect_left(self._starts, ordinals.end)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RangesPartitionTimeline) and self._starts == other._starts and self._ends == other._ends
        )

    def __repr__(self) -> str:
        return f"RangesPartitionTimeline({' ∪ '.join(f'[{r.start}, {r.end})' for r in self.ranges()) or '∅'})"


_BOUNDS = re.compile(r"(?:-?[0-9]{1,18}(?:,-?[0-9]{1,18})*)?")
