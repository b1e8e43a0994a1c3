"""The default timeline: its two ends and the holes between them (seed 000: EndsAndHolesPartitionTimeline)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping

from rewriter.timeline import runs
from rewriter.timeline.kinds.property_text import ORDINAL, from_chunks, separated, to_chunks
from rewriter.timeline.timeline import OrdinalRange


class EndsAndHolesPartitionTimeline:
    """A timeline stored as its first and latest ordinal and the holes between them.

    Holes are runs of missing ordinals, never single ordinals: two partitions years apart have one hole. A look-up costs
    O(log h) for h holes, a change O(h) in the worst case (a shift of list entries), a batch of m O(m log m + h).

    >>> days = EndsAndHolesPartitionTimeline([OrdinalRange(1, 4), OrdinalRange(6, 9)])
    >>> days.first, days.latest, days.holes
    (1, 8, (OrdinalRange(start=4, end=6),))
    >>> days.add(4), days.exists(5), days.count
    (True, False, 7)
    """

    __slots__ = ("_first", "_hole_ends", "_hole_starts", "_latest", "_missing_count")
    __hash__ = None  # type: ignore[assignment]

    _first: int | None
    _latest: int | None
    _hole_starts: list[int]
    _hole_ends: list[int]
    _missing_count: int  # the number of ordinals in the holes

    def __init__(self, ranges: Iterable[OrdinalRange] = ()) -> None:
        """The union of the ranges, which may be in any order and may overlap. O(n log n)."""
        self._replace(runs.of_ranges(ranges))

    @property
    def first(self) -> int | None:
        """The smallest ordinal; ``None`` if the timeline is empty."""
        return self._first

    @property
    def latest(self) -> int | None:
        """The largest ordinal; ``None`` if the timeline is empty."""
        return self._latest

    @property
    def holes(self) -> tuple[OrdinalRange, ...]:
        """The missing ordinals between ``first`` and ``latest``, as sorted, maximal ranges. O(h)."""
        return runs.ranges(self._hole_starts, self._hole_ends)

    @property
    def count(self) -> int:
        """The number of ordinals that exist. O(1)."""
        if self._first is None or self._latest is None:
            return 0
        return self._latest + 1 - self._first - self._missing_count

    @property
    def is_empty(self) -> bool:
        """True if no ordinal exists."""
        return self._first is None

    def add(self, ordinal: int) -> bool:
        """Adds one ordinal. Returns True if it was absent."""
        return self.add_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def drop(self, ordinal: int) -> bool:
        """Drops one ordinal. Returns True if it existed."""
        return self.drop_range(OrdinalRange(ordinal, ordinal + 1)) == 1

    def add_range(self, ordinals: OrdinalRange) -> int:
        """Adds all ordinals of the range: fills holes and moves the ends outwards. Returns how many were absent."""
        before = self.count
        start, end = ordinals.start, ordinals.end
        if self._first is None or self._latest is None:
            self._first, self._latest = start, end - 1
            return self.count
        self._missing_count -= runs.remove(self._hole_starts, self._hole_ends, start, end)
        if end < self._first:
            self._missing_count += runs.insert(self._hole_starts, self._hole_ends, end, self._first)
        elif start > self._latest + 1:
            self._missing_count += runs.insert(self._hole_starts, self._hole_ends, self._latest + 1, start)
        self._first, self._latest = min(self._first, start), max(self._latest, end - 1)
        return self.count - before

    def drop_range(self, ordinals: OrdinalRange) -> int:
        """Drops all ordinals of the range: makes a hole or moves an end inwards. Returns how many of them existed."""
        before = self.count
        if self._first is None or self._latest is None:
            return 0
        start, end = max(ordinals.start, self._first), min(ordinals.end, self._latest + 1)
        if start >= end:
            return 0
        self._missing_count += runs.insert(self._hole_starts, self._hole_ends, start, end)
        self._trim(self._first, self._latest)
        return before - self.count

    def add_all(self, ordinals: Iterable[int]) -> int:
        """Adds a batch of ordinals. Returns how many were absent. O(m log m + h)."""
        before = self.count
        self._replace(runs.unite_runs(self._existing(), runs.of_ordinals(ordinals)))
        return self.count - before

    def drop_all(self, ordinals: Iterable[int]) -> int:
        """Drops a batch of ordinals. Returns how many existed. O(m log m + h log m)."""
        before = self.count
        self._replace(runs.subtract_runs(self._existing(), runs.of_ordinals(ordinals)))
        return before - self.count

    def exists(self, ordinal: int) -> bool:
        """Returns True if the ordinal is between the ends and in no hole. O(log h)."""
        if self._first is None or self._latest is None or not self._first <= ordinal <= self._latest:
            return False
        index = bisect_right(self._hole_starts, ordinal) - 1
        return index < 0 or ordinal >= self._hole_ends[index]

    def is_consistent(self) -> bool:
        """Tests whether both ends are set or neither is, they are in order, and the holes are sorted, disjoint and
        between them.

        Holes do not touch each other or the ends. An empty timeline has no holes, and the number of missing ordinals is
        the number of ordinals in the holes.
        """
        if not runs.are_normal(self._hole_starts, self._hole_ends):
            return False
        if self._missing_count != runs.size(self._hole_starts, self._hole_ends):
            return False
        if self._first is None or self._latest is None:
            return self._first is self._latest and not self._hole_starts
        if not self._hole_starts:
            return self._first <= self._latest
        return self._first < self._hole_starts[0] and self._hole_ends[-1] <= self._latest

    def ranges(self) -> tuple[OrdinalRange, ...]:
        """Returns the whole set as sorted, maximal ranges. O(h)."""
        return runs.ranges(*self._existing())

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the existing ordinals of the range, as ranges clipped to it. O(log h + the ranges returned)."""
        if self._first is None or self._latest is None:
            return ()
        start, end = max(ordinals.start, self._first), min(ordinals.end, self._latest + 1)
        return runs.missing_parts(self._hole_starts, self._hole_ends, OrdinalRange(start, end)) if start < end else ()

    def missing(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """Returns the missing ordinals of the range, as ranges clipped to it. O(log h + the ranges returned)."""
        if self._first is None or self._latest is None:
            return (ordinals,)
        before, after = min(ordinals.end, self._first), max(ordinals.start, self._latest + 1)
        inside = runs.covered_parts(self._hole_starts, self._hole_ends, ordinals)
        head = (OrdinalRange(ordinals.start, before),) if ordinals.start < before else ()
        tail = (OrdinalRange(after, ordinals.end),) if after < ordinals.end else ()
        return head + inside + tail

    def to_properties(self) -> dict[str, str]:
        """``first``, ``latest`` (empty text if there is none), ``holes.size``, ``holes0``, …: '5..8,11', both ends
        included.
        """
        holes = (str(h.start) if len(h) == 1 else f"{h.start}..{h.end - 1}" for h in self.holes)
        ends = {
            "first": "" if self._first is None else str(self._first),
            "latest": "" if self._latest is None else str(self._latest),
        }
        return {**ends, **to_chunks("holes", separated(holes))}

    def init_from_properties(self, properties: Mapping[str, str]) -> bool:
        """Replaces the set by the one that ``to_properties`` stored.

        Every hole may be listed on its own, or all of them under ``holes`` alone, as in the seed. Returns ``False`` and
        changes nothing if the text is unreadable or the holes do not increase strictly between the ends.
        """
        first, latest = properties.get("first", "-"), properties.get("latest", "-")
        holes = _holes(from_chunks(properties, "holes"))
        if holes is None or _END.fullmatch(first) is None or _END.fullmatch(latest) is None:
            return False
        stored = EndsAndHolesPartitionTimeline()
        stored._first = int(first) if first else None
        stored._latest = int(latest) if latest else None
        stored._hole_starts, stored._hole_ends = holes
        stored._missing_count = runs.size(*holes)
        if not stored.is_consistent():
            return False
        self._replace(stored._existing())
        return True

    def _existing(self) -> runs.Runs:
        """Returns the existing runs: a run starts where a hole ends, and ends where the next hole starts. O(h)."""
        if self._first is None or self._latest is None:
            return [], []
        return [self._first, *self._hole_ends], [*self._hole_starts, self._latest + 1]

    def _replace(self, existing: runs.Runs) -> None:
        starts, ends = existing
        self._first = starts[0] if starts else None
        self._latest = ends[-1] - 1 if ends else None
        self._hole_starts, self._hole_ends = ends[:-1], starts[1:]
        self._missing_count = runs.size(self._hole_starts, self._hole_ends)

    def _trim(self, first: int, latest: int) -> None:
        """Moves the ends inwards past the holes that now reach them."""
        if self._hole_starts[0] == first:
            first = self._hole_ends[0]
            self._missing_count -= first - self._hole_starts[0]
            del self._hole_starts[0], self._hole_ends[0]
        if first > latest:
            self._first = self._latest = None
            return
        if self._hole_starts and self._hole_ends[-1] == latest + 1:
            latest = self._hole_starts[-1] - 1
            self._missing_count -= self._hole_ends[-1] - self._hole_starts[-1]
            del self._hole_starts[-1], self._hole_ends[-1]
        self._first, self._latest = first, latest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EndsAndHolesPartitionTimeline) and self.ranges() == other.ranges()

    def __repr__(self) -> str:
        return f"EndsAndHolesPartitionTimeline({runs.shown_ranges(self.ranges())})"


_HOLE = rf"{ORDINAL}(?:\.\.{ORDINAL})?"
_HOLES = re.compile(f"(?:{_HOLE}(?:,{_HOLE})*)?")
_END = re.compile(f"(?:{ORDINAL})?")


def _holes(text: str | None) -> runs.Runs | None:
    """Returns the holes that a text lists, neighbors merged; ``None`` if the text is unreadable or they do not
    increase.
    """
    if text is None or _HOLES.fullmatch(text) is None:
        return None
    bounds: list[tuple[int, int]] = []
    for hole in text.split(",") if text else ():
        first, _, latest = hole.partition("..")
        start, end = int(first), int(latest or first) + 1
        if start >= end or (bounds and start < bounds[-1][1]):
            return None
        bounds.append((start, end))
    return runs.of_bounds(bounds)
