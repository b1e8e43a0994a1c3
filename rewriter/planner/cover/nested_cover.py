"""Fills segments of time along a chain of periods, each of which nests in the next (proof in ``cover``).

Chains are MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ WEEKLY and MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ MONTHLY ⊂ QUARTERLY ⊂ YEARLY, or any
part of one. A *slot* is one partition's time. Two slots of a chain are disjoint or one contains the other, so each
maximal slot is decided independently: its own partition, or the best filling by finer ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import assert_never

from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.calendars import Period, ZonedPeriod
from rewriter.timeline.civil import DAY, HOUR, MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

#: From the first instant up to, but not including, the second.
Segment = tuple[int, int]


@dataclass(frozen=True, eq=False)
class PricedCandidate:
    """The partitions of one candidate. Compared by identity.

    ``price`` is the price of one partition: all its sums in one integer, of which ``cost`` is the leading part
    (``cover._price``). ``rank`` is the candidate's position among all by name, and no two have the same.
    """

    period: Period
    timeline: PartitionTimeline
    cost: int
    price: int
    rank: int


def available(priced: PricedCandidate, start: int, end: int) -> Sequence[OrdinalRange]:
    """Returns the periods of the candidate that lie wholly in ``[start, end)``."""
    return whole_periods(priced.period, priced.timeline, start, end)


def whole_periods(period: Period, timeline: PartitionTimeline, start: int, end: int) -> tuple[OrdinalRange, ...]:
    """Returns the existing periods that lie wholly in ``[start, end)``."""
    first = period.ordinal(start)
    if period.start(first) < start:
        first += 1
    # The period that contains the end is not whole. If the end is its start, the period before it is the last one.
    stop = period.ordinal(end)
    return timeline.covered(OrdinalRange(first, stop)) if first < stop else ()


#: Partitions of one candidate that a cover takes, as runs in order of time.
CandidateRuns = tuple[PricedCandidate, Sequence[OrdinalRange]]


@dataclass(frozen=True)
class Filling:
    """Disjoint partitions, and the segments that remain unfilled; neither is ordered."""

    partitions: list[CandidateRuns]
    gaps: list[Segment]


@dataclass(frozen=True)
class Level:
    """The candidates of one period, best first.

    ``least_finer_cost`` is a lower bound of the cost of filling one of these periods by finer partitions, ``None`` on
    the finest level.
    """

    candidates: tuple[PricedCandidate, ...]
    least_finer_cost: int | None


@dataclass(frozen=True)
class Chain:
    """Candidates whose periods nest, coarse to fine; ``missing_price`` is the price of an unfilled microsecond."""

    levels: tuple[Level, ...]
    missing_price: int

    @classmethod
    def of(cls, priced_candidates: Iterable[PricedCandidate], missing_price: int) -> Chain:
        """Returns the chain of candidates, which may be in any order."""
        by_period: dict[Period, list[PricedCandidate]] = {}
        for priced in sorted(priced_candidates, key=lambda priced: (priced.period, priced.price, priced.rank)):
            by_period.setdefault(priced.period, []).append(priced)
        levels: list[Level] = []
        cheapest, finer = 0, None
        for period, candidates in by_period.items():
            least_finer_cost = None if finer is None else slots_in(period, finer)[0] * cheapest
            levels.append(Level(tuple(candidates), least_finer_cost))
            cheapest = candidates[0].cost if least_finer_cost is None else min(candidates[0].cost, least_finer_cost)
            finer = period
        return cls(tuple(reversed(levels)), missing_price)

    def fill(self, segments: list[Segment]) -> Filling:
        """Returns the filling with the least price for each segment: missing time, and the prices of disjoint
        partitions inside it.

        Cost: for each candidate one look-up per segment still open, plus the runs returned. For candidates that finer
        periods may undercut (``Level.least_finer_cost``), also the cost of filling their runs with those. It never
        depends on the number of partitions.
        """
        filled: list[CandidateRuns] = []
        for depth, level in enumerate(self.levels):
            for priced in level.candidates:
                runs, segments = take(priced, segments)
                if level.least_finer_cost is None or priced.cost <= level.least_finer_cost:
                    filled.append((priced, runs))
                else:
                    finer = Chain(self.levels[depth + 1 :], self.missing_price)
                    filled += _contested(priced, runs, finer)
        return Filling(filled, segments)


class CostIndex:
    """A filling in order of time, with its price up to any instant that is in it and at which no partition is cut."""

    def __init__(self, filling: Filling, missing_price: int) -> None:
        pieces: list[tuple[int, int, PricedCandidate | None, int, int]] = [(*gap, None, 0, 0) for gap in filling.gaps]
        for priced, runs in filling.partitions:
            begin = priced.period.start
            pieces += [(begin(run.start), begin(run.end), priced, run.start, run.end) for run in runs]
        pieces.sort(key=itemgetter(0))
        self._pieces = pieces
        self._starts = [piece[0] for piece in pieces]
        self._missing_price = missing_price
        self._prices_before: list[int] = []
        total = 0
        for index, piece in enumerate(pieces):
            self._prices_before.append(total)
            total += self._piece_price(index, piece[1])

    def price_before(self, instant: int) -> int:
        """Returns the price from the start. O(log pieces)."""
        index = bisect_left(self._starts, instant)
        if index < len(self._starts) and self._starts[index] == instant:
            return self._prices_before[index]
        return self._prices_before[index - 1] + self._piece_price(index - 1, instant)

    def price_of(self, start: int, end: int) -> int:
        """Returns the price of ``[start, end)``, all of which is in the filling."""
        return self.price_before(end) - self.price_before(start)

    def candidate_at(self, instant: int) -> PricedCandidate | None:
        """Returns the candidate that fills the instant."""
        return self._pieces[bisect_right(self._starts, instant) - 1][2]

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, PricedCandidate | None]]:
        """Returns the pieces that overlap ``[start, end)``, as (start, end, candidate), in order. O(log pieces + the
        pieces returned).
        """
        low, high = bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)
        return ((begin, stop, priced) for begin, stop, priced, _, _ in self._pieces[max(low, 0) : high])

    def part(self, start: int, end: int) -> Filling:
        """Returns the part of the filling in ``[start, end)``. The cost grows with its pieces."""
        cut = Filling([], [])
        for index in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)):
            low, high, priced, first, stop = self._pieces[index]
            if priced is None:
                cut.gaps.append((max(low, start), min(high, end)))
            else:
                first = first if start <= low else priced.period.ordinal(start)
                # Not the ordinal of the piece's own end: the zone may have left out a date before it.
                stop = stop if high <= end else priced.period.ordinal(end)
                cut.partitions.append((priced, [OrdinalRange(first, stop)]))
        return cut

    def uniform_parts(self, period: Period, run: OrdinalRange) -> Iterator[OrdinalRange]:
        """Returns the run in parts: single periods, and longer ones that one piece fills completely."""
        cuts = {run.start, run.end}
        low, high = bisect_left(self._starts, period.start(run.start)), bisect_left(self._starts, period.start(run.end))
        for start in self._starts[low:high]:
            ordinal = period.ordinal(start)
            cuts.add(ordinal)
            if period.start(ordinal) < start:
                cuts.add(ordinal + 1)
        ordered = sorted(cuts)
        return map(OrdinalRange, ordered[:-1], ordered[1:])

    def _piece_price(self, index: int, end: int) -> int:
        """Returns the price of a piece up to ``end``."""
        start, high, priced, first, stop = self._pieces[index]
        if priced is None:
            return (end - start) * self._missing_price
        return ((stop if end == high else priced.period.ordinal(end)) - first) * priced.price


def slots_in(coarse: Period, fine: Period) -> tuple[int, int]:
    """Returns the least and the greatest number of periods of the finer kind in one period of the coarser kind."""
    if fine.kind in _MONTHS:
        months = _MONTHS[coarse.kind] // _MONTHS[fine.kind]
        return months, months
    shortest, longest = lengths(coarse)
    length = _LENGTHS[fine.kind][0]
    return shortest // length, longest // length


def lengths(period: Period) -> tuple[int, int]:
    """Returns the shortest and the longest length of a period of that kind, in microseconds."""
    shortest, longest = _LENGTHS[period.kind]
    if isinstance(period, UpdatePeriod):
        return shortest, longest
    if isinstance(period, ZonedPeriod):
        # Clocks change, and dates are left out or repeated.
        return max(shortest - 2 * DAY, HOUR), longest + DAY
    assert_never(period)


_MONTHS = {UpdatePeriod.MONTHLY: 1, UpdatePeriod.QUARTERLY: 3, UpdatePeriod.YEARLY: 12}
#: The shortest and the longest period of each kind. Periods that nest in months have one length.
_LENGTHS = {
    UpdatePeriod.MINUTELY: (MINUTE, MINUTE),
    UpdatePeriod.HOURLY: (HOUR, HOUR),
    UpdatePeriod.DAILY: (DAY, DAY),
    UpdatePeriod.WEEKLY: (7 * DAY, 7 * DAY),
    UpdatePeriod.MONTHLY: (28 * DAY, 31 * DAY),
    UpdatePeriod.QUARTERLY: (90 * DAY, 92 * DAY),
    UpdatePeriod.YEARLY: (365 * DAY, 366 * DAY),
}


def take(priced: PricedCandidate, segments: list[Segment]) -> tuple[list[OrdinalRange], list[Segment]]:
    """Returns all partitions of the candidate that lie wholly inside the segments, and the segments that remain."""
    period = priced.period
    # Thousands of holes are thousands of runs: up to days, a product gives the same result in a third of the time.
    length = _LENGTHS[period][0] if isinstance(period, UpdatePeriod) and period <= UpdatePeriod.DAILY else None
    taken_runs: list[OrdinalRange] = []
    remaining: list[Segment] = []
    for start, end in segments:
        runs = available(priced, start, end)
        if not runs:
            remaining.append((start, end))
            continue
        taken_runs += runs
        if length is None:
            starts, ends = [period.start(run.start) for run in runs], [period.start(run.end) for run in runs]
        else:
            starts, ends = [run.start * length for run in runs], [run.end * length for run in runs]
        remaining += [gap for gap in zip([start, *ends], [*starts, end], strict=True) if gap[0] < gap[1]]
    return taken_runs, remaining


def _contested(priced: PricedCandidate, runs: list[OrdinalRange], finer: Chain) -> list[CandidateRuns]:
    """Returns the runs' partitions, except where finer ones fill the whole slot for less."""
    begin = priced.period.start
    rival = CostIndex(finer.fill([(begin(run.start), begin(run.end)) for run in runs]), finer.missing_price)
    kept_runs: list[OrdinalRange] = []
    filled: list[CandidateRuns] = [(priced, kept_runs)]
    for run in runs:
        position = run.start
        for lost_run in _undercut(priced, run, rival):
            if position < lost_run.start:
                kept_runs.append(OrdinalRange(position, lost_run.start))
            filled += rival.part(begin(lost_run.start), begin(lost_run.end)).partitions
            position = lost_run.end
        if position < run.end:
            kept_runs.append(OrdinalRange(position, run.end))
    return filled


def _undercut(priced: PricedCandidate, run: OrdinalRange, rival: CostIndex) -> Iterator[OrdinalRange]:
    """Returns the slots of the run that the rival fills for less. There are none where it leaves time missing, which
    costs more.
    """
    begin = priced.period.start
    for part in rival.uniform_parts(priced.period, run):
        if len(part) > 1:
            piece = rival.candidate_at(begin(part.start))
            if piece is None:
                continue
            least, greatest = slots_in(priced.period, piece.period)
            if priced.price <= least * piece.price:
                continue
            if priced.price > greatest * piece.price:
                yield part
                continue
        # Calendar periods differ in length. Where that decides, the result has a range for each anyway.
        for ordinal in range(part.start, part.end):
            if rival.price_of(begin(ordinal), begin(ordinal + 1)) < priced.price:
                yield OrdinalRange(ordinal, ordinal + 1)
