"""Covering a set of time ranges by the partitions that exist (seed 000).

A *slot* is a partition that some candidate has, which lies wholly inside one range of the target and inside one range
of the candidate's validity. A cover is a set of disjoint slots. The best is the least in this order:

1. microseconds missing, 2. cost, 3. number of partitions, 4. weight, each summed over the cover;
5. names: its slots in order of time, each as (start, fact, storage, table, coarser period first), compared as lists
   are: at the first slot that differs, the one that starts earlier, then the one that comes first by name.

No two covers are equal in 5 where no two candidates agree in (fact, storage, table, period), so there is one best.
1 to 4 are one integer, the *price* (``_offers``). Prices add up, so disjoint stretches are filled each by itself.

**A chain** (``chain``). MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ MONTHLY ⊂ QUARTERLY ⊂ YEARLY nest each in the next, and so do
MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ WEEKLY.

a. No slot straddles a slot of a coarser or the same period. So what a cover has in the time of one of the coarsest
   slots is that one partition or finer ones inside, it is free to be any of them, and the best cover takes the cheaper:
   the cheapest partition of that time, or the best that finer periods make of it. What no slot of the coarsest period
   reaches is left to the finer ones. By induction over the periods this is the best cover; ``Chain.fill`` does that.
b. A partition loses against finer ones only if these fill all of its time for less cost; at equal cost they are more.
   A slot holds at least n of the next finer period, and each of those costs at least the lesser of its own cheapest
   partition and what finer ones cost: multiplied down the chain, that is ``Level.below``. Where a partition costs no
   more, finer ones are not looked at. Where each costs one that is so everywhere: take, period by period, all that
   there is.
c. Where finer ones may cost less, they are filled in, too, and both are compared run by run: within a run of slots that
   one run of finer partitions fills, how many of these a slot holds, at least and at most, mostly decides for all.

**Weeks beside months, quarters or years** (``weekly``) overlap without nesting. Let W be the best filling of a stretch
by weeks, days and finer, D that by days and finer. Both are chains.

d. Let the calendar partitions (months and longer) of a cover be given, and ``[b, c)`` be a gap between two of them, or
   between one and the stretch's end. What fills it is a chain again. No week but those from the first Monday r in it to
   the last, l, lies in it. No slot of W straddles a Monday, none of D straddles a midnight. So the best for the gap is
   what D has in [b, r), W in [r, l) and D in [l, c), and its price a difference of sums along W and D. (b and c lie in
   one week only where one of them is an end of the stretch; then D has all of the gap.)
e. So the best cover is a shortest path over the starts and ends of calendar slots and, for each, the Mondays around it
   (cut to the stretch): from a slot's start to its end; from a bound by D to the next Monday; from there by W to the
   Monday before the next bound; from there by D to that bound, or by W past its week. A run of slots that a best path
   takes without fail is one step (``settled`` says when).

**Names.** In a chain only partitions of the same time may cost the same in 1 to 4, and the first by name is taken; a
slot and finer ones inside it never do (b). The path is searched from its end: of two ways on from an instant that are
equal in 1 to 4, one takes a slot there that the other does not, so the first by name, or the one that takes any, is the
start of the least list, and the rest of that is the least by induction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, lt

from rewriter.planner.chain import Chain, Filling, Offer, whole
from rewriter.planner.plan import CoverPart
from rewriter.planner.weekly import fill_with_weeks
from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline


@dataclass(frozen=True)
class Candidate:
    """One (storage table, period) that may serve, with the periods that exist there.

    ``weight`` is its fact's. ``cost`` is that of one partition, in any unit that all candidates share: 1 each to
    count partitions, or their mean bytes, rounded up. It is positive, because to open a partition costs something
    even where it is empty: ``ValueError`` else. ``valid`` leaves only the partitions that lie wholly in one of its
    ranges; ``None`` leaves all.
    """

    fact: str
    storage: str
    table: str
    period: Period
    timeline: PartitionTimeline = field(hash=False)
    weight: int = 0
    cost: int = 1
    valid: RangeSet | None = None

    def __post_init__(self) -> None:
        if self.cost < 1:
            raise ValueError(f"a partition of {self.table} must cost at least 1: {self.cost}")


@dataclass(frozen=True)
class Cover:
    """The partitions that answer a target, and what of it none can answer.

    ``parts`` come coarse to fine, then by (cost, weight, fact, storage, table); no two share an instant, a part
    without partitions does not occur, and ranges of a part do not touch. Together with ``missing`` they are the
    target exactly. ``cost`` and ``weight`` are the sums over all partitions.
    """

    parts: tuple[CoverPart, ...]
    missing: RangeSet
    cost: int = 0
    weight: int = 0

    @property
    def badness(self) -> tuple[int, int, int, int]:
        """What a cover has least of, in order: microseconds missing, cost, partitions, weight."""
        missing = sum(one.end - one.start for one in self.missing)
        return missing, self.cost, sum(part.partitions for part in self.parts), self.weight


def cover(target: RangeSet, candidates: Sequence[Candidate]) -> Cover:
    """The best cover of ``target``: least missing, least cost, fewest partitions, lowest weight, name (proof above).

    A period that sticks out of its target range is not used; what no candidate can cover is ``missing``, to the
    microsecond. Align the target to the base period first, and bound open ends by ``extent``. The order of the
    candidates does not matter if no two agree in fact, storage, table and period.

    Cost: that of ``Chain.fill``, which depends on runs of partitions and on holes where no coarser partition lies over
    them, not on partitions. Only where weeks and calendar periods both exist, calendar partitions inside the target (12
    to 17 a year) cost a few look-ups each, except inside runs of the coarsest that are ``settled``: where years cost so
    little that no week can win, a hundred years of them are as much work as one.
    """
    ranked = sorted(candidates, key=_rank)
    offers, missing = _offers(target, ranked)
    stretches = [(one.start, one.end) for one in target]
    weeks = [offer for offer in offers if offer.period.kind is UpdatePeriod.WEEKLY]
    calendar = [offer for offer in offers if offer.period > UpdatePeriod.WEEKLY]
    if weeks and calendar:
        days = [offer for offer in offers if offer.period < UpdatePeriod.WEEKLY]
        chains = [Chain.of(some, missing) for some in (calendar, weeks + days, days)]
        filling = Filling([], [])
        for stretch in stretches:
            filled = fill_with_weeks(stretch, *chains)
            filling.taken.extend(filled.taken)
            filling.missing.extend(filled.missing)
    else:
        filling = Chain.of(offers, missing).fill(stretches)
    return _cover(filling, dict(zip(offers, ranked, strict=True)))


def best_cover(target: RangeSet, groups: Mapping[str, Sequence[Candidate]]) -> tuple[str, Cover]:
    """The best cover by the candidates of one group alone, and the group's name.

    The order is that of ``cover`` up to the weights, then the group's name. ``ValueError`` without groups.
    """
    covers = {name: cover(target, candidates) for name, candidates in groups.items()}
    best = min(covers, key=lambda name: (covers[name].badness, name))
    return best, covers[best]


def extent(candidates: Sequence[Candidate]) -> TimeRange | None:
    """From the first instant that any candidate has to the last; ``None`` where none has anything.

    O(candidates), and for one with ``valid`` the ranges of its timeline in there.
    """
    starts: list[int] = []
    ends: list[int] = []
    for candidate in candidates:
        period, timeline = candidate.period, candidate.timeline
        first, latest = timeline.first, timeline.latest
        if first is None or latest is None:
            continue
        if candidate.valid is None:
            runs = [OrdinalRange(first, latest + 1)]
        else:
            runs = [run for one in candidate.valid for run in whole(period, timeline, one.start, one.end)]
        starts += [period.start(run.start) for run in runs[:1]]
        ends += [period.start(run.end) for run in runs[-1:]]
    return TimeRange(min(starts), max(ends)) if starts else None


def _rank(candidate: Candidate) -> tuple[int, int, int, str, str, str]:
    """Coarse before fine, then cheap before dear, then by name."""
    return -int(candidate.period), candidate.cost, candidate.weight, *_name(candidate)[:3]


def _name(candidate: Candidate) -> tuple[str, str, str, int]:
    return candidate.fact, candidate.storage, candidate.table, -int(candidate.period)


def _offers(target: RangeSet, ranked: Sequence[Candidate]) -> tuple[list[Offer], int]:
    """The candidates with their prices, and the price of a missing microsecond.

    A price is one integer for (missing, cost, partitions, weight), compared in this order: each counts in a unit
    that no sum of those after it can reach, in any cover of the target, nor the difference of two such sums.
    """
    if not ranked:
        return [], 1
    duration = sum(one.end - one.start for one in target)
    # Every period is a minute or longer, so no cover has more partitions.
    most = duration // MINUTE
    partition = 2 * most * max(abs(candidate.weight) for candidate in ranked) + 1
    cost = partition * (most + 1)
    missing = cost * (most * max(candidate.cost for candidate in ranked) + 1)
    by_name = sorted(range(len(ranked)), key=lambda index: _name(ranked[index]))
    place = {index: position for position, index in enumerate(by_name)}
    offers = [
        Offer(one.period, one.timeline, one.valid, one.cost, one.cost * cost + partition + one.weight, place[index])
        for index, one in enumerate(ranked)
    ]
    return offers, missing


def _cover(filling: Filling, candidates: Mapping[Offer, Candidate]) -> Cover:
    """What was taken, by candidate and in order of time."""
    taken: dict[Offer, list[OrdinalRange]] = {offer: [] for offer in candidates}
    for offer, runs in filling.taken:
        taken[offer] += runs
    parts: list[CoverPart] = []
    cost = weight = 0
    for offer, candidate in candidates.items():
        if taken[offer]:
            ranges = tuple(_joined(taken[offer]))
            part = CoverPart(candidate.fact, candidate.storage, candidate.table, candidate.period, ranges)
            parts.append(part)
            partitions = part.partitions
            cost += candidate.cost * partitions
            weight += candidate.weight * partitions
    return Cover(tuple(parts), RangeSet.of_bounds(filling.missing), cost, weight)


def _joined(runs: list[OrdinalRange]) -> list[OrdinalRange]:
    """In order, with those that touch made one."""
    runs.sort(key=attrgetter("start"))
    if all(map(lt, [run.end for run in runs], [run.start for run in runs[1:]])):
        return runs
    joined: list[OrdinalRange] = []
    end = None
    for run in runs:
        if run.start == end:
            joined[-1] = OrdinalRange(joined[-1].start, run.end)
        else:
            joined.append(run)
        end = run.end
    return joined
