"""The timeline that stores the existing ordinals as ranges (seed 000: RangesPartitionTimeline)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping

from rewriter.timeline import runs
from rewriter.timeline.kinds.property_text import ORDINAL, from_chunks, separated, to_chunks
from rewriter.timeline.timeline import OrdinalRange


class RangesPartitionTimeline:
    """A timeline stored as ranges of existing ordinals: parallel sorted lists, ``[starts[i], ends[i])``, of which no
    two touch.

    A look-up costs O(log r) for r ranges, a change O(r) in the worst case (a shift of list entries), a batch of m
    O(m log m + r).
    """

    __slots__ = ("_count", "_ends", "_starts")
    __hash__ = None  # type: ignore[assignment]

    PROPERTY = "ranges"

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may be in any order and may overlap. O(n log n)."""
        self._starts, self._ends = runs.of_ranges(ranges)
        self._count = runs.size(self._starts, self._ends)

    @property
    def first(self) -> int | None:
        """The smallest ordinal; ``None`` if the timeline is empty."""
        return self._starts[0] if self._starts else None

    @property
    def latest(self) -> int | None:
        """The largest ordinal; ``None`` if the timeline is empty."""
        return self._ends[-1] - 1 if self._ends else None

    @property
    def count(self) -> int:
        """The number of ordinals that exist. O(1)."""
        return self._count

    @property
    def is_empty(self) -> bool:
        """True if no ordinal exists."""
        return not self._starts

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal. Returns True if it was absent."""
        return self.add_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal. Returns True if it existed."""
        return self.drop_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range. Returns how many of them were absent."""
        added = runs.insert(self._starts, self._ends, ordinals.start, ordinals.end)
        self._count += added
        return added

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range. Returns how many of them existed."""
        dropped = runs.remove(self._starts, self._ends, ordinals.start, ordinals.end)
        self._count -= dropped
        return dropped

    def add_all(self, ordinals: Iterable[int]) -> int:
        """Adds a batch of ordinals. Returns how many were absent. O(m log m + r)."""
        before = self._count
        self._replace(runs.unite_runs((self._starts, self._ends), runs.of_ordinals(ordinals)))
        return self._count - before

    def drop_all(self, ordinals: Iterable[int]) -> int:
        """Drops a batch of ordinals. Returns how many existed. O(m log m + r log m)."""
        before = self._count
        self._replace(runs.subtract_runs((self._starts, self._ends), runs.of_ordinals(ordinals)))
        return before - self._count

    def exists(self, ordinal: int) -> bool:
        """Tests whether the ordinal exists. O(log r)."""
        index = bisect_right(self._starts, ordinal) - 1
        return index >= 0 and ordinal < self._ends[index]

    def is_consistent(self) -> bool:
        """Tests whether the lists are parallel and sorted, no range is empty, no two touch, and the count is
        correct.
        """
        return runs.are_normal(self._starts, self._ends) and self._count == runs.size(self._starts, self._ends)

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """Returns the whole set as sorted, maximal ranges. O(r)."""
        return runs.ranges(self._starts, self._ends)

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the existing ordinals of the range, as ranges clipped to it. O(log r + the ranges returned)."""
        return runs.covered_parts(self._starts, self._ends, ordinals)

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the missing ordinals of the range, as ranges clipped to it. O(log r + the ranges returned)."""
        return runs.missing_parts(self._starts, self._ends, ordinals)

    def to_properties(self) -> dict[str, str]:
        """``ranges.size``, ``ranges0``, …: 'start,end,start,end', ends excluded."""
        return to_chunks(self.PROPERTY, separated(f"{existing.start},{existing.end}" for existing in self.ranges()))

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by the one that ``to_properties`` stored, or by the same text under ``ranges`` alone.

        Returns ``False`` and changes nothing if the text is unreadable or is not a sorted list of ranges that do not
        touch.
        """
        text = from_chunks(properties, self.PROPERTY)
        if text is None or _BOUNDS.fullmatch(text) is None:
            return False
        bounds = [int(bound) for bound in text.split(",")] if text else []
        if not runs.are_normal(bounds[0::2], bounds[1::2]):
            return False
        self._replace((bounds[0::2], bounds[1::2]))
        return True

    def _replace(self, existing: runs.Runs) -> None:
        self._starts, self._ends = existing
        self._count = runs.size(*existing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangesPartitionTimeline) and self.ranges() == other.ranges()

    def __repr__(self) -> str:
        return f"RangesPartitionTimeline({runs.shown_ranges(self.ranges())})"


_BOUNDS = re.compile(f"(?:{ORDINAL}(?:,{ORDINAL})*)?")
