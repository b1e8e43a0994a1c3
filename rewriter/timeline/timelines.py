"""The contract of timelines: which periods of one kind exist in a storage table (seed 000).

A timeline holds ordinals (see ``UpdatePeriod``), knows nothing of time or tables, and answers existence from memory.
Its kinds differ in what they keep and what that costs; ``timeline_classes`` finds one by its name. Of n ordinals in r
maximal ranges (r <= n), whatever the distances between them, each keeps and stores at most:

- EndsAndHoles: r - 1 holes, two numbers each; 39 characters of properties for a hole, 40 besides
- Ranges: r ranges, two numbers each; 38 characters for a range
- StoreAll: n numbers, in a set and in order; 19 characters for an ordinal
- Bitmap: 2 bytes for an ordinal, or 8 KiB for 65,536 neighbours if that is less, and 20 bytes for each 65,536
  neighbours that hold any; a third more characters than bytes

A change costs O(log n) and, of EndsAndHoles and Ranges, a shift of O(r) list entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True, slots=True)
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
    """A set of ordinals. Adding what is there and dropping what is absent change nothing and answer so.

    An ordinal has at most 17 digits, far more than any period of the years 1 to 9999 needs.
    """

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may come in any order and overlap."""

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

    def add_all(self, ordinals: Iterable[int]) -> int:
        """Adds a batch, in any order and with repetitions; how many ordinals were absent, each counted once."""
        ...

    def drop_all(self, ordinals: Iterable[int]) -> int:
        """Drops a batch, in any order and with repetitions; how many ordinals were there, each counted once."""
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
        """The set as key-value pairs, of which no value is longer than 3,999 characters.

        The keys are relative: who stores the pairs puts the table's, the period's and the time dimension's names in
        front. A partition is written as its ordinal in decimal. The least keys of a kind are written whatever it
        holds, so that what an earlier state left in a store that cannot delete keys misleads nobody.
        """
        ...

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by what ``to_properties`` gave.

        Answers ``False`` and changes nothing where the pairs hold no consistent timeline of this kind.
        """
        ...
