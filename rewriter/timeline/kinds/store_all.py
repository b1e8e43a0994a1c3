"""The timeline that stores every ordinal (seed 000: StoreAllPartitionTimeline)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from sortedcontainers import SortedSet

from rewriter.timeline import runs
from rewriter.timeline.kinds.property_text import ORDINAL, from_chunks, separated, to_chunks

if TYPE_CHECKING:
    from rewriter.timeline.timeline import OrdinalRange


class StoreAllPartitionTimeline:
    """A timeline stored as a sorted set: for few partitions, far apart.

    A look-up costs O(1), a change O(log n), a batch of m O((m + n) log (m + n)). An operation on a range costs the
    number of ordinals in it.
    """

    __slots__ = ("_ordinals",)
    __hash__ = None  # type: ignore[assignment]

    PROPERTY = "partitions"

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may be in any order and may overlap. O(n log n)."""
        self._ordinals = SortedSet(ordinal for existing in ranges for ordinal in range(existing.start, existing.end))

    @property
    def first(self) -> int | None:
        """The smallest ordinal; ``None`` if the timeline is empty."""
        return self._ordinals[0] if self._ordinals else None

    @property
    def latest(self) -> int | None:
        """The largest ordinal; ``None`` if the timeline is empty."""
        return self._ordinals[-1] if self._ordinals else None

    @property
    def count(self) -> int:
        """The number of ordinals that exist. O(1)."""
        return len(self._ordinals)

    @property
    def is_empty(self) -> bool:
        """True if no ordinal exists."""
        return not self._ordinals

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal. Returns True if it was absent. O(log n)."""
        if ordinal in self._ordinals:
            return False
        self._ordinals.add(ordinal)
        return True

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal. Returns True if it existed. O(log n)."""
        if ordinal not in self._ordinals:
            return False
        self._ordinals.remove(ordinal)
        return True

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range. Returns how many of them were absent."""
        return self.add_all(range(ordinals.start, ordinals.end))

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range. Returns how many of them existed. O(existing ones)."""
        return self.drop_all(list(self._within(ordinals)))

    def add_all(self, ordinals: Iterable[int]) -> int:
        """Adds a batch of ordinals. Returns how many were absent."""
        before = len(self._ordinals)
        self._ordinals.update(ordinals)
        return len(self._ordinals) - before

    def drop_all(self, ordinals: Iterable[int]) -> int:
        """Drops a batch of ordinals. Returns how many existed."""
        before = len(self._ordinals)
        self._ordinals.difference_update(ordinals)
        return before - len(self._ordinals)

    def exists(self, ordinal: int) -> bool:
        """Tests whether the ordinal exists. O(1)."""
        return ordinal in self._ordinals

    def is_consistent(self) -> bool:
        """Tests whether the ordered list holds exactly the members of the set and increases strictly. O(n)."""
        # A SortedSet keeps a set, which serves ``len`` and ``in``, and an ordered list, which serves iteration.
        order = list(self._ordinals)
        return (
            len(order) == len(self._ordinals)
            and all(ordinal in self._ordinals for ordinal in order)
            and all(left < right for left, right in pairwise(order))
        )

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """Returns the whole set as sorted, maximal ranges. O(n)."""
        return runs.ranges(*runs.of_sorted(list(self._ordinals)))

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the existing ordinals of the range, as ranges. O(log n + the number of ordinals in it)."""
        return runs.ranges(*runs.of_sorted(list(self._within(ordinals))))

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the missing ordinals of the range, as ranges. O(log n + the number of ordinals in it)."""
        return runs.missing_parts(*runs.of_sorted(list(self._within(ordinals))), ordinals)

    def to_properties(self) -> dict[str, str]:
        """``partitions.size``, ``partitions0``, …: the ordinals, comma separated."""
        return to_chunks(self.PROPERTY, separated(map(str, self._ordinals)))

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by the one that ``to_properties`` stored, or by the same list under ``partitions`` alone.

        Returns ``False`` and changes nothing if the text is unreadable or the ordinals do not increase strictly.
        """
        text = from_chunks(properties, self.PROPERTY)
        if text is None or _ORDINALS.fullmatch(text) is None:
            return False
        ordinals = [int(ordinal) for ordinal in text.split(",")] if text else []
        if not all(left < right for left, right in pairwise(ordinals)):
            return False
        self._ordinals = SortedSet(ordinals)
        return True

    def _within(self, ordinals: OrdinalRange) -> Iterable[int]:
        within: Iterable[int] = self._ordinals.irange(ordinals.start, ordinals.end, inclusive=(True, False))
        return within

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreAllPartitionTimeline) and bool(self._ordinals == other._ordinals)

    def __repr__(self) -> str:
        return f"StoreAllPartitionTimeline({runs.shown_ranges(self.ranges())})"


_ORDINALS = re.compile(f"(?:{ORDINAL}(?:,{ORDINAL})*)?")
