"""Fills stretches of time along a chain of periods, each of which nests in the next (proof in ``cover``).

Chains are MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ WEEKLY and MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ MONTHLY ⊂ QUARTERLY ⊂ YEARLY, or any
part of one. A *slot* is one partition's time. Two slots of a chain are disjoint or one contains the other, so each
maximal slot is decided independently: its own partition, or the best filling by finer ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import DAY, HOUR, MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

#: From the first instant up to, but not including, the second.
Stretch = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Offer:
    """The partitions of one candidate. Compared by identity.

    ``price`` is that of one partition: all its sums in one integer, of which ``cost`` is the leading part
    (``cover._offers``). ``place`` is the candidate's position among all by name, and no two have the same.
    """

    period: Period
    timeline: PartitionTimeline
    cost: int
    price: int
    place: int


def available(offer: Offer, start: int, end: int) -> Sequence[OrdinalRange]:
    """The periods of the offer that lie wholly in ``[start, end)``."""
    return whole(offer.period, offer.timeline, start, end)


def whole(period: Period, timeline: PartitionTimeline, start: int, end: int) -> tuple[OrdinalRange, ...]:
    """The existing periods that lie wholly in ``[start, end)``."""
    first = period.ordinal(start)
    if period.start(first) < start:
        first += 1
    # The period that contains the end is not whole. If the end is its start, the period before it is the last one.
    stop = period.ordinal(end)
    return timeline.covered(OrdinalRange(first, stop)) if first < stop else ()


#: Partitions of one offer that a cover takes, as runs in order of time.
Taken = tuple[Offer, Sequence[OrdinalRange]]


@dataclass(frozen=True)
class Filling:
    """Disjoint partitions, and the stretches that remain unfilled; neither is ordered."""

    taken: list[Taken]
    missing: list[Stretch]


@dataclass(frozen=True)
class Level:
    """The offers of one period, best first.

    ``least_finer_cost`` is a lower bound of the cost of filling one of these periods by finer partitions, ``None`` on
    the finest level.
    """

    offers: tuple[Offer, ...]
    least_finer_cost: int | None


@dataclass(frozen=True)
class Chain:
    """Offers whose periods nest, coarse to fine; ``missing`` is the price of an unfilled microsecond."""

    levels: tuple[Level, ...]
    missing: int

    @classmethod
    def of(cls, offers: Iterable[Offer], missing: int) -> Chain:
        """The chain of offers, which may be in any order."""
        by_period: dict[Period, list[Offer]] = {}
        for offer in sorted(offers, key=lambda offer: (offer.period, offer.price, offer.place)):
            by_period.setdefault(offer.period, []).append(offer)
        levels: list[Level] = []
        cheapest, finer = 0, None
        for period, own in by_period.items():
            least_finer_cost = None if finer is None else slots_in(period, finer)[0] * cheapest
            levels.append(Level(tuple(own), least_finer_cost))
            cheapest = own[0].cost if least_finer_cost is None else min(own[0].cost, least_finer_cost)
            finer = period
        return cls(tuple(reversed(levels)), missing)

    def fill(self, stretches: list[Stretch]) -> Filling:
        """The filling with the least price for each stretch: missing time, and the prices of disjoint partitions inside
        it.

        Cost: for each offer one look-up per stretch still open, plus the runs returned. For offers that finer periods
        may undercut (``Level.least_finer_cost``), also the cost of filling their runs with those. It never depends on
        the number of partitions.
        """
        taken: list[Taken] = []
        for depth, level in enumerate(self.levels):
            for offer in level.offers:
                runs, stretches = take(offer, stretches)
                if level.least_finer_cost is None or offer.cost <= level.least_finer_cost:
                    taken.append((offer, runs))
                else:
                    finer = Chain(self.levels[depth + 1 :], self.missing)
                    taken += _contested(offer, runs, finer)
        return Filling(taken, stretches)


class Ledger:
    """A filling in order of time, with its price up to any instant that is in it and at which no partition is cut."""

    def __init__(self, filling: Filling, missing: int) -> None:
        pieces: list[tuple[int, int, Offer | None, int, int]] = [(*gap, None, 0, 0) for gap in filling.missing]
        for offer, runs in filling.taken:
            begin = offer.period.start
            pieces += [(begin(run.start), begin(run.end), offer, run.start, run.end) for run in runs]
        pieces.sort(key=itemgetter(0))
        self._pieces = pieces
        self._starts = [piece[0] for piece in pieces]
        self._missing = missing
        self._before: list[int] = []
        total = 0
        for index, piece in enumerate(pieces):
            self._before.append(total)
            total += self._part(index, piece[1])

    def until(self, instant: int) -> int:
        """The price from the start. O(log pieces)."""
        index = bisect_left(self._starts, instant)
        if index < len(self._starts) and self._starts[index] == instant:
            return self._before[index]
        return self._before[index - 1] + self._part(index - 1, instant)

    def between(self, start: int, end: int) -> int:
        """The price of ``[start, end)``, all of which is in the filling."""
        return self.until(end) - self.until(start)

    def at(self, instant: int) -> Offer | None:
        """The offer that fills the instant."""
        return self._pieces[bisect_right(self._starts, instant) - 1][2]

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int, Offer | None]]:
        """The pieces that overlap ``[start, end)``, as (start, end, offer), in order. O(log pieces + the pieces
        returned).
        """
        low, high = bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)
        return ((begin, stop, offer) for begin, stop, offer, _, _ in self._pieces[max(low, 0) : high])

    def within(self, start: int, end: int) -> Filling:
        """The part of the filling in ``[start, end)``. The cost is that of its pieces."""
        cut = Filling([], [])
        for index in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)):
            low, high, offer, first, stop = self._pieces[index]
            if offer is None:
                cut.missing.append((max(low, start), min(high, end)))
            else:
                first = first if start <= low else offer.period.ordinal(start)
                # Not the ordinal of the piece's own end: the zone may have left out a date before it.
                stop = stop if high <= end else offer.period.ordinal(end)
                cut.taken.append((offer, [OrdinalRange(first, stop)]))
        return cut

    def steady(self, period: Period, run: OrdinalRange) -> Iterator[OrdinalRange]:
        """The run in parts: single periods, and longer ones that one piece fills completely."""
        cuts = {run.start, run.end}
        low, high = bisect_left(self._starts, period.start(run.start)), bisect_left(self._starts, period.start(run.end))
        for start in self._starts[low:high]:
            ordinal = period.ordinal(start)
            cuts.add(ordinal)
            if period.start(ordinal) < start:
                cuts.add(ordinal + 1)
        ordered = sorted(cuts)
        return map(OrdinalRange, ordered[:-1], ordered[1:])

    def _part(self, index: int, end: int) -> int:
        """The price of a piece up to ``end``."""
        start, high, offer, first, stop = self._pieces[index]
        if offer is None:
            return (end - start) * self._missing
        return ((stop if end == high else offer.period.ordinal(end)) - first) * offer.price


def slots_in(coarse: Period, fine: Period) -> tuple[int, int]:
    """The least and the greatest number of periods of the finer kind in one period of the coarser kind."""
    if fine.kind in _MONTHS:
        months = _MONTHS[coarse.kind] // _MONTHS[fine.kind]
        return months, months
    shortest, longest = lengths(coarse)
    length = _LENGTHS[fine.kind][0]
    return shortest // length, longest // length


def lengths(period: Period) -> tuple[int, int]:
    """The shortest and the longest length of a period of that kind, in microseconds."""
    shortest, longest = _LENGTHS[period.kind]
    if isinstance(period, UpdatePeriod):
        return shortest, longest
    # Clocks change, and dates are left out or repeated.
    return max(shortest - 2 * DAY, HOUR), longest + DAY


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


def take(offer: Offer, stretches: list[Stretch]) -> tuple[list[OrdinalRange], list[Stretch]]:
    """All partitions of the offer that lie wholly inside the stretches, and the stretches that remain."""
    period = offer.period
    # Thousands of holes are thousands of runs: up to days, a product gives the same result in a third of the time.
    length = _LENGTHS[period][0] if isinstance(period, UpdatePeriod) and period <= UpdatePeriod.DAILY else None
    taken: list[OrdinalRange] = []
    remaining: list[Stretch] = []
    for start, end in stretches:
        runs = available(offer, start, end)
        if not runs:
            remaining.append((start, end))
            continue
        taken += runs
        if length is None:
            starts, ends = [period.start(run.start) for run in runs], [period.start(run.end) for run in runs]
        else:
            starts, ends = [run.start * length for run in runs], [run.end * length for run in runs]
        remaining += [gap for gap in zip([start, *ends], [*starts, end], strict=True) if gap[0] < gap[1]]
    return taken, remaining


def _contested(offer: Offer, runs: list[OrdinalRange], finer: Chain) -> list[Taken]:
    """The runs' partitions, except where finer ones fill the whole slot for less."""
    begin = offer.period.start
    rival = Ledger(finer.fill([(begin(run.start), begin(run.end)) for run in runs]), finer.missing)
    kept: list[OrdinalRange] = []
    taken: list[Taken] = [(offer, kept)]
    for run in runs:
        position = run.start
        for lost in _undercut(offer, run, rival):
            if position < lost.start:
                kept.append(OrdinalRange(position, lost.start))
            taken += rival.within(begin(lost.start), begin(lost.end)).taken
            position = lost.end
        if position < run.end:
            kept.append(OrdinalRange(position, run.end))
    return taken


def _undercut(offer: Offer, run: OrdinalRange, rival: Ledger) -> Iterator[OrdinalRange]:
    """The slots of the run that the rival fills for less. There are none where it leaves time missing, which costs
    more.
    """
    begin = offer.period.start
    for part in rival.steady(offer.period, run):
        if len(part) > 1:
            piece = rival.at(begin(part.start))
            if piece is None:
                continue
            fewest, most = slots_in(offer.period, piece.period)
            if offer.price <= fewest * piece.price:
                continue
            if offer.price > most * piece.price:
                yield part
                continue
        # Calendar periods differ in length. Where that decides, the result has a range for each anyway.
        for ordinal in range(part.start, part.end):
            if rival.between(begin(ordinal), begin(ordinal + 1)) < offer.price:
                yield OrdinalRange(ordinal, ordinal + 1)
