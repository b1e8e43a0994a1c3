"""The timeline that keeps one bit for each ordinal, compressed (Lemire et al., *Roaring Bitmaps*)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping

from pyroaring import BitMap64

from rewriter.timeline import runs
from rewriter.timeline.property_text import LONGEST, from_chunks, to_chunks
from rewriter.timeline.timelines import OrdinalRange

# A bitmap holds numbers from 0 to 2^64 - 1: an ordinal is kept as what it is above -2^60, which leaves room for all of
# 17 digits. A multiple of 65,536 keeps neighbours in the containers where they would be without it.
_OFFSET = 2**60
_LIMIT = 10**17


class BitmapPartitionTimeline:
    """A timeline kept as a roaring bitmap: for many partitions with many holes.

    For each 65,536 neighbouring ordinals that hold any, it keeps a container: a list (2 bytes an ordinal) or all bits
    (8 KiB), whichever is less, or a list of runs (4 bytes a run) where a batch found that to be less still. Look-ups
    and changes cost O(log n), a batch of m O(m log m), and what concerns ranges O(containers): a year of minutes has
    nine.
    """

    __slots__ = ("_bitmap",)
    __hash__ = None  # type: ignore[assignment]

    PROPERTY = "bitmap"

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may come in any order and overlap."""
        self._bitmap = BitMap64()
        for each in ranges:
            self._bitmap.add_range(each.start + _OFFSET, each.end + _OFFSET)

    @property
    def first(self) -> int | None:
        """The least ordinal, ``None`` when empty."""
        return self._bitmap.min() - _OFFSET if self._bitmap else None

    @property
    def latest(self) -> int | None:
        """The greatest ordinal, ``None`` when empty."""
        return self._bitmap.max() - _OFFSET if self._bitmap else None

    @property
    def count(self) -> int:
        """How many ordinals exist. O(containers)."""
        return len(self._bitmap)

    @property
    def is_empty(self) -> bool:
        """Whether no ordinal exists."""
        return not self._bitmap

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal; whether it was absent."""
        return not self.exists(ordinal) and self.add_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal; whether it was there."""
        # The bitmap's own way to remove one number never gives up a list of runs, however long it grows.
        return self.exists(ordinal) and self.drop_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range; how many of them were absent."""
        before = len(self._bitmap)
        self._bitmap.add_range(ordinals.start + _OFFSET, ordinals.end + _OFFSET)
        return len(self._bitmap) - before

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range; how many of them were there."""
        before = len(self._bitmap)
        self._bitmap.remove_range(ordinals.start + _OFFSET, ordinals.end + _OFFSET)
        return before - len(self._bitmap)

    def add_all(self, ordinals: Iterable[int]) -> int:
        """Adds a batch; how many ordinals were absent."""
        before = len(self._bitmap)
        self._bitmap |= BitMap64([ordinal + _OFFSET for ordinal in ordinals])
        self._bitmap.run_optimize()
        return len(self._bitmap) - before

    def drop_all(self, ordinals: Iterable[int]) -> int:
        """Drops a batch; how many ordinals were there."""
        before = len(self._bitmap)
        self._bitmap -= BitMap64([ordinal + _OFFSET for ordinal in ordinals])
        self._bitmap.run_optimize()
        return before - len(self._bitmap)

    def exists(self, ordinal: int) -> bool:
        """Whether the ordinal exists."""
        return ordinal + _OFFSET in self._bitmap

    def is_consistent(self) -> bool:
        """Whether everything in the bitmap stands for an ordinal of at most 17 digits."""
        return _is_in_bounds(self._bitmap)

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """The whole set as sorted, maximal ranges. O(containers and ranges)."""
        return _ranges(self._bitmap)

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """What exists of the range, clipped to it."""
        inside = self._bitmap.copy()
        inside.remove_range(0, ordinals.start + _OFFSET)
        inside.remove_range(ordinals.end + _OFFSET, 2**64 - 1)
        return _ranges(inside)

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """What does not exist of the range, clipped to it."""
        return runs.missing(*runs.of_ranges(self.covered(ordinals)), ordinals)

    def to_properties(self) -> dict[str, str]:
        """``bitmap.size``, ``bitmap0``, …: base64 of Roaring's portable 64-bit format, of the ordinals plus 2^60."""
        self._bitmap.run_optimize()
        text = b64encode(self._bitmap.serialize()).decode("ascii")
        return to_chunks(self.PROPERTY, [text[at : at + LONGEST] for at in range(0, len(text), LONGEST)])

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by what ``to_properties`` gave; ``False``, and nothing changed, where that is unreadable."""
        text = from_chunks(properties, self.PROPERTY)
        if text is None:
            return False
        try:
            data = b64decode(text, validate=True)
            read = BitMap64.deserialize(data)
        except (ValueError, IndexError):  # IndexError: of no bytes at all
            return False
        # The library reads a bitmap from the front; what follows it would be lost without a word.
        if len(read.serialize()) != len(data) or not _is_in_bounds(read):
            return False
        self._bitmap = read
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BitmapPartitionTimeline) and self._bitmap == other._bitmap

    def __repr__(self) -> str:
        return f"BitmapPartitionTimeline({runs.shown(self.ranges())})"


def _ranges(bitmap: BitMap64) -> tuple[OrdinalRange, ...]:
    """The runs of a bitmap: they start at what has no predecessor, and end at what is a successor only."""
    successors = bitmap.shift(1)
    starts = bitmap - successors
    ends = successors - bitmap
    return runs.ranges([start - _OFFSET for start in starts], [end - _OFFSET for end in ends])


def _is_in_bounds(bitmap: BitMap64) -> bool:
    return not bitmap or (bitmap.min() - _OFFSET > -_LIMIT and bitmap.max() - _OFFSET < _LIMIT)
