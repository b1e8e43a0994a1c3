"""The timeline that stores one bit for each ordinal, compressed (Lemire et al., *Roaring Bitmaps*)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping

from pyroaring import BitMap64

from rewriter.timeline import runs
from rewriter.timeline.kinds.property_text import LONGEST, from_chunks, to_chunks
from rewriter.timeline.timeline import OrdinalRange

# A bitmap holds numbers from 0 to 2^64 - 1. An ordinal is stored as its distance from -2^60, which leaves room for all
# ordinals of 17 digits. The offset is a multiple of 65,536, so it does not change which neighbors share a container.
_OFFSET = 2**60
_LIMIT = 10**17


class BitmapPartitionTimeline:
    """A timeline stored as a roaring bitmap: for many partitions with many holes.

    Each block of 65,536 neighboring ordinals that holds any has a container: a list (2 bytes an ordinal) or all bits
    (8 KiB), whichever is smaller, or a list of runs (4 bytes a run) if a batch found that to be smaller still. Look-ups
    and changes cost O(log n), a batch of m costs O(m log m), and operations on ranges cost O(containers). A year of
    minutes has nine containers.
    """

    __slots__ = ("_bitmap",)
    __hash__ = None  # type: ignore[assignment]

    PROPERTY = "bitmap"

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may be in any order and may overlap."""
        self._bitmap = BitMap64()
        for existing in ranges:
            self._bitmap.add_range(existing.start + _OFFSET, existing.end + _OFFSET)

    @property
    def first(self) -> int | None:
        """The smallest ordinal; ``None`` if the timeline is empty."""
        return self._bitmap.min() - _OFFSET if self._bitmap else None

    @property
    def latest(self) -> int | None:
        """The largest ordinal; ``None`` if the timeline is empty."""
        return self._bitmap.max() - _OFFSET if self._bitmap else None

    @property
    def count(self) -> int:
        """The number of ordinals that exist. O(containers)."""
        return len(self._bitmap)

    @property
    def is_empty(self) -> bool:
        """True if no ordinal exists."""
        return not self._bitmap

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal. Returns True if it was absent."""
        return not self.exists(ordinal) and self.add_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal. Returns True if it existed."""
        # The bitmap's removal of one number never converts a list of runs, even if it becomes long.
        return self.exists(ordinal) and self.drop_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range. Returns how many of them were absent."""
        before = len(self._bitmap)
        self._bitmap.add_range(ordinals.start + _OFFSET, ordinals.end + _OFFSET)
        return len(self._bitmap) - before

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range. Returns how many of them existed."""
        before = len(self._bitmap)
        self._bitmap.remove_range(ordinals.start + _OFFSET, ordinals.end + _OFFSET)
        return before - len(self._bitmap)

    def add_all(self, ordinals: Iterable[int]) -> int:
        """Adds a batch of ordinals. Returns how many were absent."""
        before = len(self._bitmap)
        self._bitmap |= BitMap64([ordinal + _OFFSET for ordinal in ordinals])
        self._bitmap.run_optimize()
        return len(self._bitmap) - before

    def drop_all(self, ordinals: Iterable[int]) -> int:
        """Drops a batch of ordinals. Returns how many existed."""
        before = len(self._bitmap)
        self._bitmap -= BitMap64([ordinal + _OFFSET for ordinal in ordinals])
        self._bitmap.run_optimize()
        return before - len(self._bitmap)

    def exists(self, ordinal: int) -> bool:
        """Tests whether the ordinal exists."""
        return ordinal + _OFFSET in self._bitmap

    def is_consistent(self) -> bool:
        """Tests whether every number in the bitmap represents an ordinal of at most 17 digits."""
        return _is_in_bounds(self._bitmap)

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """Returns the whole set as sorted, maximal ranges. O(containers and ranges)."""
        return _ranges(self._bitmap)

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the existing ordinals of the range, as ranges clipped to it."""
        inside = self._bitmap.copy()
        inside.remove_range(0, ordinals.start + _OFFSET)
        inside.remove_range(ordinals.end + _OFFSET, 2**64 - 1)
        return _ranges(inside)

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the missing ordinals of the range, as ranges clipped to it."""
        return runs.missing_parts(*runs.of_ranges(self.covered(ordinals)), ordinals)

    def to_properties(self) -> dict[str, str]:
        """``bitmap.size``, ``bitmap0``, …: base64 of Roaring's portable 64-bit format, of the ordinals plus 2^60."""
        self._bitmap.run_optimize()
        text = b64encode(self._bitmap.serialize()).decode("ascii")
        return to_chunks(self.PROPERTY, [text[offset : offset + LONGEST] for offset in range(0, len(text), LONGEST)])

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by the one that ``to_properties`` stored. Returns ``False`` and changes nothing if it is
        unreadable.
        """
        text = from_chunks(properties, self.PROPERTY)
        if text is None:
            return False
        try:
            data = b64decode(text, validate=True)
            read = BitMap64.deserialize(data)
        except (ValueError, IndexError):  # IndexError: for empty data
            return False
        # The library reads a bitmap from the front and silently ignores trailing bytes.
        if len(read.serialize()) != len(data) or not _is_in_bounds(read):
            return False
        self._bitmap = read
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BitmapPartitionTimeline) and self._bitmap == other._bitmap

    def __repr__(self) -> str:
        return f"BitmapPartitionTimeline({runs.shown_ranges(self.ranges())})"


def _ranges(bitmap: BitMap64) -> tuple[OrdinalRange, ...]:
    """Returns the runs of a bitmap. A run starts at a member without a predecessor and ends at the successor of its
    last member.
    """
    successors = bitmap.shift(1)
    starts = bitmap - successors
    ends = successors - bitmap
    return runs.ranges([start - _OFFSET for start in starts], [end - _OFFSET for end in ends])


def _is_in_bounds(bitmap: BitMap64) -> bool:
    return not bitmap or (bitmap.min() - _OFFSET > -_LIMIT and bitmap.max() - _OFFSET < _LIMIT)
