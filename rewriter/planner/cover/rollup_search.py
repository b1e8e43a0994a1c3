"""Finds a set of rollups under which queries read few rows.

A greedy choice takes the rollup that saves most, again and again (Harinarayan, Rajaraman, Ullman: Implementing Data
Cubes Efficiently, 1996). It saves 63 % of what the best set of its size saves, where a rollup never hurts. Here one
may: a cover takes the fewest partitions, so a month with more rows than its days is read instead of them. So not one
set is extended but the best few (a beam; of a small lattice nearly all sets), and in the end single rollups are
exchanged as long as that reads less. Tests compare the results with the best sets of small lattices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rewriter.cancellation import check_cancellation
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.planner.cover.hypothetical_rollups import Available, CostModel

#: How many extensions of sets one step looks at, and the least number of sets that it extends.
_MOST_EXTENSIONS, _LEAST_WIDTH = 1200, 3
#: The most exchanges. Each reads strictly less than the one before; so many were never needed.
_MOST_EXCHANGES = 100
#: What less of the rows counts as less: sums of floats differ by as much.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Limits:
    """The limits of a set: its bytes (``None`` for any), its number of rollups, and what each of them has to save, as a
    part of the rows that the queries would read of the base alone.
    """

    most_bytes: float | None = None
    most_rollups: int = 16
    least_part: float = 0.01


def find_rollups(model: CostModel, limits: Limits) -> tuple[int, ...]:
    """Returns the numbers of the chosen candidates, in the order in which they save.

    For n candidates, a set of k, and m classes that a candidate serves, costs O(k · m · w · n), where w · n
    is ``_MOST_EXTENSIONS`` at most, or 3 n; and O(k · n · m) for an exchange.
    """
    sizes = [rollup.total_bytes for rollup in model.rollups]
    empty = _Set(model, sizes, ())
    least = limits.least_part * model.base_rows
    starts = [_widest_worth(_beam(empty, limits, by_size=False), least)]
    if limits.most_bytes is not None:
        starts.append(_widest_worth(_beam(empty, limits, by_size=True), least))
    best = min((_exchanged(each, limits) for each in starts), key=lambda each: (each.rows, each.bytes))
    return _ordered(empty, best)


class _Set:
    """A set of candidates, with the rows that each class of needs reads under it."""

    def __init__(self, model: CostModel, sizes: Sequence[float], numbers: Iterable[int]) -> None:
        self.model = model
        self.sizes = sizes
        self.numbers = frozenset(numbers)
        self.bytes = sum(sizes[number] for number in self.numbers)
        self.available: list[Available] = [model.chosen(index, self.numbers) for index in range(len(model.classes))]
        self.by_class = [model.class_rows(index, available) for index, available in enumerate(self.available)]
        self.rows = sum(self.by_class)

    def saving(self, number: int) -> float:
        """Returns the rows that another candidate saves. Costs O(classes that it serves)."""
        saved = 0.0
        for index in self.model.classes_of[number]:
            changed = self.model.changed(index, self.available[index], number)
            if changed is not None:
                saved += self.by_class[index] - self.model.class_rows(index, changed)
        return saved

    def with_(self, number: int) -> _Set:
        return _Set(self.model, self.sizes, self.numbers | {number})

    def without(self, number: int) -> _Set:
        return _Set(self.model, self.sizes, self.numbers - {number})

    def extensions(self, limits: Limits) -> Iterable[int]:
        """Returns the candidates that may be added within the bytes."""
        left = float("inf") if limits.most_bytes is None else limits.most_bytes - self.bytes
        return [n for n, size in enumerate(self.sizes) if n not in self.numbers and size <= left]


def _beam(empty: _Set, limits: Limits, *, by_size: bool) -> list[_Set]:
    """Returns the best sets of no, one, two, … candidates that were found. With ``by_size``, those are extended that
    save most for each byte.
    """
    width = max(_LEAST_WIDTH, _MOST_EXTENSIONS // max(1, len(empty.sizes)))
    beam, best = [empty], [empty]
    while len(best) <= limits.most_rollups:
        check_cancellation()
        rows = {
            each.numbers | {number}: (each.rows - each.saving(number), each, number)
            for each in beam
            for number in each.extensions(limits)
        }

        def worth(item: tuple[float, _Set, int]) -> tuple[float, float]:
            left, each, number = item
            size = each.bytes + each.sizes[number]
            return (-(empty.rows - left) / max(size, 1.0) if by_size else left), size

        steps = sorted(rows.values(), key=worth)[:width]
        if not steps:
            break
        beam = [each.with_(number) for _, each, number in steps]
        best.append(min(beam, key=lambda each: (each.rows, each.bytes)))
        if best[-1].rows >= best[-2].rows * (1 - _ROUNDING):
            break
    return best


def _widest_worth(best: Sequence[_Set], least: float) -> _Set:
    """Returns the largest of the sets each of which saves enough compared with the one before."""
    chosen = best[0]
    for each in best[1:]:
        if chosen.rows - each.rows < max(least, _ROUNDING * chosen.rows) or each.rows >= chosen.rows:
            break
        chosen = each
    return chosen


def _exchanged(current: _Set, limits: Limits) -> _Set:
    """Returns a set of the same number of candidates of which no single one can be exchanged so that less is read."""
    for _ in range(_MOST_EXCHANGES):
        check_cancellation()
        better = _best_exchange(current, limits)
        if better is None:
            return current
        current = better
    return current


def _best_exchange(current: _Set, limits: Limits) -> _Set | None:
    best_rows = current.rows * (1 - _ROUNDING)
    best: tuple[_Set, int] | None = None
    for number in sorted(current.numbers):
        smaller = current.without(number)
        for other in smaller.extensions(limits):
            rows = smaller.rows - smaller.saving(other)
            if other != number and rows < best_rows:
                best_rows, best = rows, (smaller, other)
    return None if best is None else best[0].with_(best[1])


def _ordered(empty: _Set, chosen: _Set) -> tuple[int, ...]:
    """Returns the numbers of a set in the order in which they save most."""
    current, ordered = empty, list[int]()
    while left := sorted(chosen.numbers - current.numbers):
        number = max(left, key=lambda each: (current.saving(each), -each))
        ordered.append(number)
        current = current.with_(number)
    return tuple(ordered)
