"""Sets of ordinals as runs: two parallel sorted lists, ``[starts[i], ends[i])``, of which no two overlap or touch.

The arithmetic that timelines share. Functions that say so change the lists in place; none keeps them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import lt, sub

from rewriter.timeline.bulk import ranges_of
from rewriter.timeline.timelines import OrdinalRange

Runs = tuple[list[int], list[int]]


def of_bounds(bounds: Iterable[tuple[int, int]]) -> Runs:
    """The union of ``[start, end)`` pairs, which may come in any order and overlap. O(n log n), O(n) if sorted."""
    ordered = sorted(bounds)
    starts = [start for start, _ in ordered]
    ends = [end for _, end in ordered]
    if all(map(lt, ends, starts[1:])):
        return starts, ends  # nothing to merge, as mostly
    starts, ends = [], []
    for start, end in ordered:
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return starts, ends


def of_ranges(ranges: Iterable[OrdinalRange]) -> Runs:
    """The union of ranges, which may come in any order and overlap. O(n log n)."""
    return of_bounds((ordinals.start, ordinals.end) for ordinals in ranges)


def of_sorted(ordinals: Sequence[int]) -> Runs:
    """The runs of strictly increasing ordinals. O(n)."""
    if not ordinals:
        return [], []
    # The steps are taken without a line of Python for each ordinal: batches hold hundreds of thousands.
    steps = map(sub, ordinals[1:], ordinals)
    breaks = [at for at, step in enumerate(steps, 1) if step != 1]
    starts = [ordinals[0], *(ordinals[at] for at in breaks)]
    ends = [*(ordinals[at - 1] + 1 for at in breaks), ordinals[-1] + 1]
    return starts, ends


def of_ordinals(ordinals: Iterable[int]) -> Runs:
    """The runs of ordinals, which may come in any order and repeat. O(n log n)."""
    return of_sorted(sorted(set(ordinals)))


def size(starts: Sequence[int], ends: Sequence[int]) -> int:
    """How many ordinals the runs hold. O(r)."""
    return sum(ends) - sum(starts)


def are_normal(starts: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether the lists are parallel, sorted, of non-empty runs that do not touch. O(r)."""
    return (
        len(starts) == len(ends)
        and all(start < end for start, end in zip(starts, ends, strict=True))
        and all(end < start for end, start in zip(ends, starts[1:], strict=False))
    )


def insert(starts: list[int], ends: list[int], start: int, end: int) -> int:
    """Adds ``[start, end)`` in place; how many ordinals were absent. O(log r), and the shift of list entries."""
    # Runs that overlap or touch are merged with the new one.
    low, high = bisect_left(ends, start), bisect_right(starts, end)
    if low < high:
        start, end = min(start, starts[low]), max(end, ends[high - 1])
    added = end - start - size(starts[low:high], ends[low:high])
    starts[low:high] = [start]
    ends[low:high] = [end]
    return added


def remove(starts: list[int], ends: list[int], start: int, end: int) -> int:
    """Drops ``[start, end)`` in place; how many ordinals were there. O(log r), and the shift of list entries."""
    low, high = _overlapping(starts, ends, start, end)
    if low == high:
        return 0
    before = size(starts[low:high], ends[low:high])
    kept = [(starts[low], start), (end, ends[high - 1])]
    left = [(a, b) for a, b in kept if a < b]
    starts[low:high] = [a for a, _ in left]
    ends[low:high] = [b for _, b in left]
    return before - sum(b - a for a, b in left)


def united(left: Runs, right: Runs) -> Runs:
    """What either holds. O(r) of both."""
    # Two sorted stretches, one after the other, are what sorting is fastest at.
    return of_bounds([*zip(*left, strict=True), *zip(*right, strict=True)])


def without(left: Runs, right: Runs) -> Runs:
    """What the left holds and the right does not. O(r) of both."""
    gaps = [gap for start, end in zip(*left, strict=True) for gap in missing(*right, OrdinalRange(start, end))]
    return [gap.start for gap in gaps], [gap.end for gap in gaps]


def ranges(starts: Sequence[int], ends: Sequence[int]) -> tuple[OrdinalRange, ...]:
    """The runs as ranges. O(r)."""
    return ranges_of(OrdinalRange, starts, ends)


def covered(starts: Sequence[int], ends: Sequence[int], window: OrdinalRange) -> tuple[OrdinalRange, ...]:
    """What the runs hold of the window, clipped to it. O(log r) and what it answers."""
    low, high = _overlapping(starts, ends, window.start, window.end)
    if low == high:
        return ()
    # Only the first and the last run may reach beyond the window.
    first, last = list(starts[low:high]), list(ends[low:high])
    first[0], last[-1] = max(first[0], window.start), min(last[-1], window.end)
    return ranges(first, last)


def missing(starts: Sequence[int], ends: Sequence[int], window: OrdinalRange) -> tuple[OrdinalRange, ...]:
    """What the runs do not hold of the window, clipped to it. O(log r) and what it answers."""
    low, high = _overlapping(starts, ends, window.start, window.end)
    first, last = [window.start, *ends[low:high]], [*starts[low:high], window.end]
    # Only the first and the last gap can be empty: runs neither touch nor reach beyond the window from inside.
    if first[0] >= last[0]:
        del first[0], last[0]
    if last and first[-1] >= last[-1]:
        del first[-1], last[-1]
    return ranges(first, last)


def shown(ordinals: Iterable[OrdinalRange]) -> str:
    """Ranges for a person: ``[1, 4) ∪ [5, 7)``; ``∅`` where there are none."""
    return " ∪ ".join(f"[{each.start}, {each.end})" for each in ordinals) or "∅"


def _overlapping(starts: Sequence[int], ends: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """Indexes of the runs that share an ordinal with ``[start, end)``."""
    return bisect_right(ends, start), bisect_left(starts, end)
