"""The contract of timelines: the periods of one kind that exist in a storage table (seed 000).

A timeline holds ordinals (see ``UpdatePeriod``). It has no reference to times or tables, and all look-ups are in
memory. The kinds differ in their representation and its cost; ``kinds.registry`` looks a kind up by name. For n
ordinals in r maximal ranges (r <= n), at any distances between them, each kind holds and stores at most:

- EndsAndHoles: r - 1 holes, two numbers each; 39 characters of properties for a hole, and 40 in addition
- Ranges: r ranges, two numbers each; 38 characters for a range
- StoreAll: n numbers, in a set and in order; 19 characters for an ordinal
- Bitmap: 2 bytes for an ordinal, or 8 KiB for 65,536 neighbors if that is less, and 20 bytes for each 65,536
  neighbors that hold any; a third more characters than bytes

A change costs O(log n), plus a shift of O(r) list entries in EndsAndHoles and Ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, order=True, slots=True)
class OrdinalRange:
    """The ordinals from ``start`` up to, but not including, ``end``. Raises ``ValueError`` unless ``start < end``.

    Examples:
        >>> len(OrdinalRange(3, 7))
        4
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError(f"an ordinal range must start before it ends: {self.start} >= {self.end}")

    def __len__(self) -> int:
        return self.end - self.start


class PartitionTimeline(Protocol):
    """A set of ordinals. Adding existing ordinals and dropping absent ones change nothing, and the result says so.

    An ordinal has at most 17 digits, far more than any period of the years 1 to 9999 needs.
    """

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may be in any order and may overlap."""

    @property
    def first(self) -> int | None:
        """The smallest ordinal; ``None`` if the timeline is empty."""
        ...

    @property
    def latest(self) -> int | None:
        """The largest ordinal; ``None`` if the timeline is empty."""
        ...

    @property
    def count(self) -> int:
        """The number of ordinals that exist."""
        ...

    @property
    def is_empty(self) -> bool:
        """True if no ordinal exists."""
        ...

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal. Returns True if it was absent."""
        ...

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal. Returns True if it existed."""
        ...

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range. Returns how many of them were absent."""
        ...

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range. Returns how many of them existed."""
        ...

    def add_all(self, ordinals: Iterable[int]) -> int:
        """Adds a batch, in any order and with repetitions. Returns how many ordinals were absent, each counted once."""
        ...

    def drop_all(self, ordinals: Iterable[int]) -> int:
        """Drops a batch, in any order and with repetitions. Returns how many ordinals existed, each counted once."""
        ...

    def exists(self, ordinal: int) -> bool:
        """Tests whether the ordinal exists."""
        ...

    def is_consistent(self) -> bool:
        """Tests whether the internal state satisfies its invariants."""
        ...

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """Returns the whole set as sorted, maximal ranges."""
        ...

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the existing ordinals of the range, as sorted, maximal ranges clipped to it."""
        ...

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the missing ordinals of the range, as sorted, maximal ranges clipped to it."""
        ...

    def to_properties(self) -> dict[str, str]:
        """Returns the set as key-value pairs. No value is longer than 3,999 characters.

        The keys are relative: the caller that stores the pairs adds the names of the table, the period and the time
        dimension in front. A partition is written as its ordinal in decimal. The minimal keys of a kind are always
        written, so that values of an earlier state cannot mislead a reader if the store cannot delete keys.
        """
        ...

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by the one that ``to_properties`` stored.

        Returns ``False`` and changes nothing if the pairs hold no consistent timeline of this kind.
        """
        ...
