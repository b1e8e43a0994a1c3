"""Covers a set of time ranges by existing partitions (seed 000).

A *slot* is a partition of a candidate that lies wholly inside one range of the target and inside one range of the
candidate's validity. A cover is a set of disjoint slots. The best cover is the least in this order:

1. microseconds missing, 2. cost, 3. number of partitions, 4. weight, each summed over the cover;
5. names: its slots in order of time, each as (start, rollups before events, fact, storage, table, coarser period
   first), compared like lists:
   at the first slot that differs, the one that starts earlier, then the one that is first by name.

No two covers are equal in 5 if no two candidates agree in (fact, storage, table, period), so there is one best cover.
1 to 4 are one integer, the *price* (``_price``). Prices add up, so disjoint segments are filled independently.

**A chain** (``nested_cover``). Each period of MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ MONTHLY ⊂ QUARTERLY ⊂ YEARLY nests in the
next, and so does each of MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ WEEKLY.

a. No slot straddles a slot of a coarser or the same period. So in the time of one of the coarsest slots, a cover has
   either that one partition or finer ones inside, with a free choice, and the best cover takes the cheaper: the
   cheapest partition of that time, or the best that finer periods make of it. Time that no slot of the coarsest period
   reaches is left to the finer ones. By induction over the periods this is the best cover; ``Chain.fill`` does that.
b. A partition loses against finer ones only if these fill all of its time for less cost: at equal cost there are more
   of them. A slot holds at least n of the next finer period, and each of those costs at least the lesser of its own
   cheapest partition and the price of finer ones: multiplied down the chain, that is ``Level.least_finer_cost``. Where
   a partition costs no more, finer ones are not examined. If every partition costs one, that holds everywhere: take,
   period by period, all existing partitions.
c. Where finer ones may cost less, they are filled in, too, and both are compared run by run: within a run of slots that
   one run of finer partitions fills, the least and the greatest number of these in a slot mostly decide for all.

**Weeks beside months, quarters or years** (``weekly_cover``) overlap without nesting. Let W be the best filling of a
segment by weeks, days and finer periods, D the best filling by days and finer periods. Both are chains.

d. Let the calendar partitions (months and longer) of a cover be given, and ``[b, c)`` be a gap between two of them, or
   between one and the segment's end. The partitions that fill it are a chain again. Only the weeks from the first
   Monday r in it to the last, l, lie in it. No slot of W straddles a Monday, none of D straddles a midnight. So the
   best for the gap is D's part of [b, r), W's of [r, l) and D's of [l, c), and its price is a difference of sums along
   W and D. (b and c lie in one week only if one of them is an end of the segment; then D fills the whole gap.)
e. So the best cover is a shortest path over the starts and ends of calendar slots and, for each, the Mondays around it
   (cut to the segment): from a slot's start to its end; from a bound by D to the next Monday; from there by W to the
   Monday before the next bound; from there by D to that bound, or by W past its week. A run of slots that every best
   path takes is one step (``forced_runs`` states the condition).

**Names.** In a chain only partitions of the same time may cost the same in 1 to 4, and the first by name is taken; a
slot and finer ones inside it never do (b). The path is searched from its end. If two ways on from an instant are equal
in 1 to 4, only one of them takes a certain slot there. Take the slot that is first by name; if only one way takes a
slot at all, take that one. This is the start of the least list, and the rest follows by induction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, lt

from rewriter.planner.cover.nested_cover import Chain, Filling, PricedCandidate
from rewriter.planner.cover.weekly_cover import fill_with_weeks
from rewriter.planner.model.plan import CoverPart
from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline


@dataclass(frozen=True)
class Candidate:
    """One (storage table, period) that may serve, with the periods that exist there.

    ``weight`` is its fact's. ``cost`` is that of one partition, in a unit that all candidates share: 1 each to count
    partitions, or their mean bytes, rounded up. It is positive, because opening a partition has a cost even if the
    partition is empty; other values raise ``ValueError``. The timeline is cut to the window of
    validity (``validity.cut``). The partitions of a RAW table hold ``events``: at the same price, rollups of their
    period come before them.
    """

    fact: str
    storage: str
    table: str
    period: Period
    timeline: PartitionTimeline = field(hash=False)
    weight: int = 0
    cost: int = 1
    events: bool = False

    def __post_init__(self) -> None:
        if self.cost < 1:
            raise ValueError(f"a partition of {self.table} must cost at least 1: {self.cost}")


@dataclass(frozen=True)
class Cover:
    """The partitions that cover a target, and the part of the target that no candidate covers.

    ``parts`` come coarse to fine, then by (cost, weight, fact, storage, table). No two share an instant, every part has
    partitions, and ranges of a part do not touch. Together with ``missing`` they are the target exactly. ``cost`` and
    ``weight`` are the sums over all partitions.
    """

    parts: tuple[CoverPart, ...]
    missing: RangeSet
    cost: int = 0
    weight: int = 0

    @property
    def badness(self) -> tuple[int, int, int, int]:
        """The sums that a best cover minimizes, in order: microseconds missing, cost, partitions, weight."""
        missing = sum(time_range.end - time_range.start for time_range in self.missing)
        return missing, self.cost, sum(part.partitions for part in self.parts), self.weight


def cover(target: RangeSet, candidates: Sequence[Candidate]) -> Cover:
    """Returns the best cover of ``target``: least missing, least cost, fewest partitions, lowest weight, name (proof
    above).

    A period that sticks out of its target range is not used. Time that no candidate can cover is ``missing``, to the
    microsecond. Align the target to the base period first, and bound open ends by ``extent``. The order of the
    candidates does not matter if no two agree in fact, storage, table and period.

    Cost: that of ``Chain.fill``, which depends on the runs of partitions and on the holes that no coarser partition
    covers, not on the number of partitions. Only if weeks and calendar periods both exist, calendar partitions inside
    the target (12 to 17 a year) cost a few look-ups each, except inside runs of the coarsest that are settled
    (``forced_runs``): if years cost so little that no week can win, a hundred years of them are as much work as one.

    >>> from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
    >>> from rewriter.timeline.time_bounds import parse_instant
    >>> month, day = UpdatePeriod.MONTHLY, UpdatePeriod.DAILY
    >>> start, end = parse_instant("2015-01-01"), parse_instant("2015-02-04")
    >>> january = month.ordinal(start)
    >>> february = day.ordinal(parse_instant("2015-02-01"))
    >>> months = RangesPartitionTimeline([OrdinalRange(january, january + 1)])
    >>> days = RangesPartitionTimeline([OrdinalRange(february, february + 2)])
    >>> best = cover(
    ...     RangeSet.of(TimeRange(start, end)),
    ...     [Candidate("f", "s", "monthly", month, months), Candidate("f", "s", "daily", day, days)],
    ... )
    >>> [(part.table, part.partitions) for part in best.parts], best.cost
    ([('monthly', 1), ('daily', 2)], 3)
    >>> print(best.missing)
    [2015-02-03, 2015-02-04)
    """
    sorted_candidates = sorted(candidates, key=_rank)
    priced_candidates, missing = _price(target, sorted_candidates)
    segments = [(time_range.start, time_range.end) for time_range in target]
    weeks = [priced for priced in priced_candidates if priced.period.kind is UpdatePeriod.WEEKLY]
    calendar = [priced for priced in priced_candidates if priced.period > UpdatePeriod.WEEKLY]
    if weeks and calendar:
        days = [priced for priced in priced_candidates if priced.period < UpdatePeriod.WEEKLY]
        chains = [Chain.of(members, missing) for members in (calendar, weeks + days, days)]
        filling = Filling([], [])
        for segment in segments:
            segment_filling = fill_with_weeks(segment, *chains)
            filling.partitions.extend(segment_filling.partitions)
            filling.gaps.extend(segment_filling.gaps)
    else:
        filling = Chain.of(priced_candidates, missing).fill(segments)
    return _cover(filling, dict(zip(priced_candidates, sorted_candidates, strict=True)))


def extent(candidates: Sequence[Candidate]) -> TimeRange | None:
    """Returns the range from the first instant of any candidate to the last; ``None`` without partitions.
    O(candidates).
    """
    starts: list[int] = []
    ends: list[int] = []
    for candidate in candidates:
        period, timeline = candidate.period, candidate.timeline
        first, latest = timeline.first, timeline.latest
        if first is None or latest is None:
            continue
        starts.append(period.start(first))
        ends.append(period.start(latest + 1))
    return TimeRange(min(starts), max(ends)) if starts else None


def _rank(candidate: Candidate) -> tuple[int, int, int, bool, str, str, str]:
    """Returns the sort key: coarse before fine, then cheap before expensive, then by name."""
    return -int(candidate.period), candidate.cost, candidate.weight, *_name(candidate)[:4]


def _name(candidate: Candidate) -> tuple[bool, str, str, str, int]:
    return candidate.events, candidate.fact, candidate.storage, candidate.table, -int(candidate.period)


def _price(target: RangeSet, sorted_candidates: Sequence[Candidate]) -> tuple[list[PricedCandidate], int]:
    """Returns the candidates with their prices, and the price of a missing microsecond.

    A price is one integer for (missing, cost, partitions, weight), compared in this order. Each counts in a unit that
    no sum of the later ones can reach, in any cover of the target, nor the difference of two such sums.
    """
    if not sorted_candidates:
        return [], 1
    duration = sum(time_range.end - time_range.start for time_range in target)
    # Every period is a minute or longer, so no cover has more partitions.
    max_partitions = duration // MINUTE
    partition_price = 2 * max_partitions * max(abs(candidate.weight) for candidate in sorted_candidates) + 1
    cost_price = partition_price * (max_partitions + 1)
    missing_price = cost_price * (max_partitions * max(candidate.cost for candidate in sorted_candidates) + 1)
    by_name = sorted(range(len(sorted_candidates)), key=lambda index: _name(sorted_candidates[index]))
    rank_of = {index: position for position, index in enumerate(by_name)}
    priced_candidates = [
        PricedCandidate(
            candidate.period,
            candidate.timeline,
            candidate.cost,
            candidate.cost * cost_price + partition_price + candidate.weight,
            rank_of[index],
        )
        for index, candidate in enumerate(sorted_candidates)
    ]
    return priced_candidates, missing_price


def _cover(filling: Filling, candidates: Mapping[PricedCandidate, Candidate]) -> Cover:
    """Returns the cover of the taken partitions, by candidate and in order of time."""
    runs_by_candidate: dict[PricedCandidate, list[OrdinalRange]] = {priced: [] for priced in candidates}
    for priced, runs in filling.partitions:
        runs_by_candidate[priced] += runs
    parts: list[CoverPart] = []
    cost = weight = 0
    for priced, candidate in candidates.items():
        if runs_by_candidate[priced]:
            ranges = tuple(_join_runs(runs_by_candidate[priced]))
            part = CoverPart(candidate.fact, candidate.storage, candidate.table, candidate.period, ranges)
            parts.append(part)
            partitions = part.partitions
            cost += candidate.cost * partitions
            weight += candidate.weight * partitions
    return Cover(tuple(parts), RangeSet.of_bounds(filling.gaps), cost, weight)


def _join_runs(runs: list[OrdinalRange]) -> list[OrdinalRange]:
    """Returns the runs in order, with touching runs merged."""
    runs.sort(key=attrgetter("start"))
    if all(map(lt, [run.end for run in runs], [run.start for run in runs[1:]])):
        return runs
    joined_runs: list[OrdinalRange] = []
    end = None
    for run in runs:
        if run.start == end:
            joined_runs[-1] = OrdinalRange(joined_runs[-1].start, run.end)
        else:
            joined_runs.append(run)
        end = run.end
    return joined_runs
