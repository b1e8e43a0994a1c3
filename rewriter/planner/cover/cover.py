"""Covers a set of time ranges by existing partitions (seed 000).

A *slot* is a partition of a candidate that lies wholly inside one range of the target and inside one range of the
candidate's validity. A cover is a set of disjoint slots. The best cover is the least in this order:

1. microseconds missing, 2. cost, 3. number of partitions, 4. weight, each summed over the cover;
5. names: its slots in order of time, each as (start, rollups before events, fewer rows before more, fact, storage,
   table, coarser period first), compared like lists:
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
   path takes is one step (``_forced_runs`` states the condition).

**Names.** In a chain only partitions of the same time may cost the same in 1 to 4, and the first by name is taken; a
slot and finer ones inside it never do (b). The path is searched from its end. If two ways on from an instant are equal
in 1 to 4, only one of them takes a certain slot there. Take the slot that is first by name; if only one way takes a
slot at all, take that one. This is the start of the least list, and the rest follows by induction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations
from operator import attrgetter, lt
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.nested_cover import (
    CandidateRuns,
    Chain,
    CostIndex,
    Filling,
    PricedCandidate,
    Segment,
    available,
    lengths,
    slots_in,
    take,
)
from rewriter.planner.model.plan import CoverPart, Settings
from rewriter.timeline import runs
from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import DAY, MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.planner.scope.blocks import CatalogReader


@dataclass(frozen=True)
class Candidate:
    """One (storage table, period) that may serve, with the periods that exist there.

    ``weight`` is its fact's. ``cost`` is the cost of one partition, in a unit that all candidates share: 1 each to
    count partitions, or their mean bytes, rounded up. It is positive, because opening a partition has a cost even if
    the partition is empty; other values raise ``ValueError``. The timeline is cut to the window of
    validity (``validity.cut``). The partitions of a RAW table hold ``events``: at the same price, rollups of their
    period come before them. Of rollups at the same price, the one with the least ``row_rank`` comes first.
    """

    fact: str
    storage: str
    table: str
    period: Period
    timeline: PartitionTimeline = field(hash=False)
    weight: int = 0
    cost: int = 1
    events: bool = False
    row_rank: int = 0

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

    Costs what ``Chain.fill`` costs. This depends on the runs of partitions and on the holes that no coarser partition
    covers, not on the number of partitions. Only if weeks and calendar periods both exist, calendar partitions inside
    the target (12 to 17 a year) cost a few look-ups each, except inside runs of the coarsest that are settled
    (``_forced_runs``): if years cost so little that no week can win, a hundred years of them are as much work as one.

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


#: The most tables of which all sets are tried; of more, those of the best cover alone.
_MOST_TABLES = 5


def cover_by_scans(target: RangeSet, candidates: Sequence[Candidate], scan_cost: int) -> Cover:
    """Returns the best cover of ``target`` where each table that is read costs ``scan_cost`` more, whatever is read of
    it. ``cost`` of the result includes that.

    The best cover that may read a set of tables is ``cover`` of their candidates; the best of these is that of some
    set. Costs up to 32 times what ``cover`` costs. With more than five tables, the sets are each table alone, and
    without one, of those that the cover without such costs reads, and the result may cost more than the best one.
    """

    def priced(tables: Collection[str]) -> Cover:
        filled = cover(target, [candidate for candidate in candidates if candidate.table in tables])
        return replace(filled, cost=filled.cost + scan_cost * len({part.table for part in filled.parts}))

    if not scan_cost:
        return cover(target, candidates)
    every = {candidate.table for candidate in candidates}
    best = priced(every)
    tables = sorted(every if len(every) <= _MOST_TABLES else {part.table for part in best.parts})
    for size in range(1, len(tables)) if len(tables) <= _MOST_TABLES else (1, len(tables) - 1):
        if scan_cost * size < best.cost:
            # Fewer tables never cover more time.
            best = min((best, *map(priced, combinations(tables, size))), key=attrgetter("badness"))
    return best


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


def _rank(candidate: Candidate) -> tuple[int, int, int, bool, int, str, str, str]:
    """Returns the sort key: coarse before fine, then cheap before expensive, then by name."""
    return -int(candidate.period), candidate.cost, candidate.weight, *_name(candidate)[:5]


def _name(candidate: Candidate) -> tuple[bool, int, str, str, str, int]:
    place = candidate.fact, candidate.storage, candidate.table
    return candidate.events, candidate.row_rank, *place, -int(candidate.period)


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
    for priced, priced_runs in filling.partitions:
        runs_by_candidate[priced] += priced_runs
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


# Weeks beside months, quarters and years, which overlap without nesting: a shortest path (proof in ``cover``).


@dataclass(frozen=True)
class _Step:
    """A calendar partition, or a run of them: a step of the path from its start to its end."""

    candidate: PricedCandidate
    run: OrdinalRange
    start: int
    end: int
    price: int


@dataclass(frozen=True)
class _Bound:
    """An instant at which calendar partitions start or end, in its week, ``[low, high)``, cut to the segment.

    ``takes_week`` says that the path that reaches ``low`` takes the week. ``step`` is the step of the path that reaches
    ``instant``; without one, that path goes on to ``high`` by days.
    """

    low: int
    instant: int
    high: int
    takes_week: bool
    step: _Step | None


def fill_with_weeks(segment: Segment, calendar: Chain, weeks: Chain, days: Chain) -> Filling:
    """Returns the filling of a segment with the least price. ``weeks`` is the chain of weeks, days and finer periods,
    ``days`` the chain without weeks.

    Costs what both chains cost, plus a few look-ups of a price for each calendar partition inside the segment. Of the
    calendar partitions that are settled (``_forced_runs``), only the last are examined, until a path reaches one
    without a week over its start.
    """
    weekly_filling = weeks.fill([segment])
    if not any(available(priced, *segment) for level in calendar.levels for priced in level.candidates):
        return weekly_filling
    by_week, by_day = (
        CostIndex(weekly_filling, weeks.missing_price),
        CostIndex(days.fill([segment]), days.missing_price),
    )
    path = _Path(segment, by_week, by_day, weeks.levels[0].candidates[0].period)
    start, position = segment
    for priced, run in reversed(_forced_runs(segment, calendar, weeks, days, by_day)):
        begin = priced.period.start
        path.extend(_steps((begin(run.end), position), calendar), begin(run.end))
        position, stop = begin(run.end), run.end
        while stop > run.start and not path.is_clean:
            stop -= 1
            path.extend(_steps((begin(stop), position), calendar), begin(stop))
            position = begin(stop)
        if run.start < stop:
            first, remaining_run = begin(run.start), OrdinalRange(run.start, stop)
            path.extend([_Step(priced, remaining_run, first, position, len(remaining_run) * priced.price)])
            position = first
    path.extend(_steps((start, position), calendar))
    return path.partitions()


def _steps(segment: Segment, calendar: Chain) -> list[_Step]:
    """Returns the best partition of each calendar slot inside the segment."""
    steps: list[_Step] = []
    for level in calendar.levels if segment[0] < segment[1] else ():
        remaining = [segment]
        for priced in level.candidates:
            runs, remaining = take(priced, remaining)
            for run in runs:
                start = priced.period.start(run.start)
                for ordinal in range(run.start, run.end):
                    end = priced.period.end(ordinal)
                    steps.append(_Step(priced, OrdinalRange(ordinal, ordinal + 1), start, end, priced.price))
                    start = end
    return steps


class _Path:
    """The way on with the least price, from each bound of calendar partitions to the end of the segment.

    It is built from the end: ``bounds`` come from the last to the first.
    """

    def __init__(self, segment: Segment, by_week: CostIndex, by_day: CostIndex, week: Period) -> None:
        self.bounds: list[_Bound] = []
        self._segment, self._by_week, self._by_day, self._week = segment, by_week, by_day, week
        # The price from a bound on, by its instant.
        self._cheapest: dict[int, int] = {}
        # The price after the current bound's week: weeks and days up to the next bound's week, then that bound's price.
        self._following, self._beyond = by_week.price_before(segment[1]), 0

    @property
    def is_clean(self) -> bool:
        """True if the way on from the Monday before the first bound takes no week over that bound."""
        return not self.bounds[-1].takes_week

    def extend(self, steps: Iterable[_Step], *instants: int) -> None:
        """Adds the bounds of the steps, and these instants, in front. None of them is later than the first bound."""
        leaving: dict[int, list[_Step]] = {instant: [] for instant in instants}
        for step in steps:
            leaving.setdefault(step.start, []).append(step)
            leaving.setdefault(step.end, [])
        for instant in sorted(leaving.keys() - self._cheapest.keys(), reverse=True):
            self._add(instant, leaving[instant])

    def _add(self, instant: int, steps: Sequence[_Step]) -> None:
        """Adds one bound in front."""
        start, end = self._segment
        by_week, by_day, week = self._by_week, self._by_day, self._week
        number = week.ordinal(instant)
        monday = week.start(number)
        low = max(monday, start)
        high = instant if instant == monday else min(week.end(number), end)
        week_low, week_high = by_week.price_before(low), by_week.price_before(high)
        beyond = self._beyond + self._following - week_high
        day = by_day.price_before(instant)
        price = by_day.price_before(high) - day + beyond
        chosen_step = None
        for step in steps:
            other = step.price + self._cheapest[step.end]
            first = (
                chosen_step.candidate if chosen_step else (by_week if instant == high else by_day).candidate_at(instant)
            )
            if other < price or (other == price and _earlier(step.candidate, first)):
                price, chosen_step = other, step
        self._cheapest[instant] = price
        price += day - by_day.price_before(low)
        passing = week_high - week_low + beyond
        takes_week = passing < price or (
            passing == price and low < instant and _earlier(by_week.candidate_at(low), by_day.candidate_at(low))
        )
        self.bounds.append(_Bound(low, instant, high, takes_week, chosen_step))
        self._following, self._beyond = week_low, passing if takes_week else price

    def partitions(self) -> Filling:
        """Returns the partitions along the path."""
        filled: list[CandidateRuns] = []
        legs: list[tuple[CostIndex, int, int]] = []
        bounds = self.bounds[::-1]
        index_of = {bound.instant: index for index, bound in enumerate(bounds)}
        (position, end), index = self._segment, 0
        while index < len(bounds):
            bound = bounds[index]
            legs.append((self._by_week, position, bound.high if bound.takes_week else bound.low))
            if not bound.takes_week:
                legs.append((self._by_day, bound.low, bound.instant))
                while bound.step is not None:
                    filled.append((bound.step.candidate, [bound.step.run]))
                    index = index_of[bound.step.end]
                    bound = bounds[index]
                legs.append((self._by_day, bound.instant, bound.high))
            position, index = bound.high, index + 1
        legs.append((self._by_week, position, end))
        gaps: list[Segment] = []
        for cost_index, low, high in legs:
            if low < high:
                part = cost_index.part(low, high)
                filled += part.partitions
                gaps += part.gaps
        return Filling(filled, gaps)


def _earlier(first: PricedCandidate | None, second: PricedCandidate | None) -> bool:
    """Tests whether one candidate comes before another by name. Any candidate comes before ``None``."""
    return first is not None and (second is None or first.rank < second.rank)


# Finds runs of the coarsest calendar partitions that no week can beat, so that the search can skip their inside.
#
# Let Y be such a partition, ``[b, e)``, and let the best way on from the Monday before e take no week over e. A cover
# that does not take Y either has a week over b, or starts again at b.
#
# - If it starts again, its partitions in Y's time are finer (another of the same time would come after Y). Each
#   microsecond costs at least as much as by the finer candidate that is the cheapest for its length, and missing time
#   costs more: in all, ``cheapest``. If Y costs less, Y is taken.
# - If it has a week over b, the first month of Y cannot be taken whole, so up to its end there are weeks and finer
#   only; up to the end of the first quarter nothing coarser than months, and so on: in all, ``passing_price``. Instead
#   it could fill the days from Monday to b, six at most, and take Y. If these cost less than ``passing_price``, no best
#   way has that week.
#
# If it has a week over e, too, the same is true: the way on from the Monday before e is as good without that week,
# and then days fill the rest of Y's time, which cost no less than the candidates above.
#
# So in a run of such partitions it is enough to find one whose end has no week over it: then none has, back to the
# start of the run, and all of them are taken. Both comparisons are strict, so that no name decides.


def _forced_runs(
    segment: Segment, calendar: Chain, weeks: Chain, days: Chain, by_day: CostIndex
) -> list[tuple[PricedCandidate, OrdinalRange]]:
    """Returns the runs of the coarsest calendar partitions in the segment that meet the condition above, in order of
    time.

    ``by_day`` is the segment filled by ``days``. Cost: one look-up for each of the coarsest candidates, and the pieces
    of ``by_day`` in the runs returned.
    """
    top, *finer = calendar.levels
    week = weeks.levels[0].candidates[0].period
    cheapest, passing_price = _prices(
        top.candidates[0].period, [level.candidates for level in reversed(finer)], _candidates_of(weeks)
    )
    settled_runs: list[tuple[PricedCandidate, OrdinalRange]] = []
    remaining = [segment]
    for priced in top.candidates:
        taken_runs, remaining = take(priced, remaining)
        cheap = {
            candidate for candidate in _candidates_of(days) if priced.price + 6 * _day(candidate, week) < passing_price
        }
        if cheap and priced.price < cheapest:
            settled_runs += [
                (priced, part) for run in taken_runs for part in _after_cheap_days(priced.period, run, by_day, cheap)
            ]
    return sorted(settled_runs, key=lambda settled_run: settled_run[0].period.start(settled_run[1].start))


def _prices(
    top: Period, finer: Sequence[Sequence[PricedCandidate]], weekly: Sequence[PricedCandidate]
) -> tuple[int, int]:
    """Returns ``cheapest`` and ``passing_price`` (see above). ``finer`` are the calendar
    candidates below the top, from the finest period on.
    """
    priced_candidates, passing_price, position = list(weekly), 0, 0
    for level in finer:
        first_end, _ = lengths(level[0].period)
        passing_price += _charged(priced_candidates, first_end - position)
        priced_candidates += level
        position = first_end
    shortest, _ = lengths(top)
    return _charged(priced_candidates, shortest), passing_price + _charged(priced_candidates, shortest - position)


def _charged(priced_candidates: Sequence[PricedCandidate], duration: int) -> int:
    """Returns the minimum cost of that many microseconds by these candidates."""
    return min(priced.price * duration // lengths(priced.period)[1] for priced in priced_candidates)


def _day(priced: PricedCandidate, week: Period) -> int:
    """Returns the maximum cost of a day of the week's calendar by the candidate."""
    if priced.period.kind is UpdatePeriod.DAILY:
        return priced.price
    day = UpdatePeriod.DAILY if isinstance(week, UpdatePeriod) else week.calendar.of(UpdatePeriod.DAILY)
    return priced.price * slots_in(day, priced.period)[1]


def _after_cheap_days(
    period: Period, run: OrdinalRange, by_day: CostIndex, cheap: set[PricedCandidate]
) -> Iterable[OrdinalRange]:
    """Returns the parts of the run in which cheap candidates alone fill the week before each partition's start."""
    dear: list[tuple[int, int]] = []
    for start, end, priced in by_day.pieces(period.start(run.start) - _WEEK, period.start(run.end)):
        if priced not in cheap:
            dear.append((period.ordinal(start) + 1, period.ordinal(end + _WEEK - 1) + 1))
    return runs.missing_parts(*runs.of_bounds(bounds for bounds in dear if bounds[0] < bounds[1]), run)


def _candidates_of(chain: Chain) -> list[PricedCandidate]:
    return [priced for level in chain.levels for priced in level.candidates]


#: The maximum length of a week, even if a zone repeats a date.
_WEEK = 8 * DAY


# The cost of a partition in a cover: one, or the mean bytes of its table and period (``semantics.md``, Covering).

#: The name of a storage table, and one of its periods.
TablePeriod = tuple[str, Period]


@dataclass(frozen=True)
class Costs:
    """The cost of a partition of each (storage table, period): all in bytes, or all one. ``scan_bytes`` is the cost of
    each table that is read, beside its partitions.

    ``by_bytes`` says that bytes were requested. ``unknown_sizes`` names the (table, period) pairs whose bytes are
    unknown. If there are any, each partition costs one.

    >>> from rewriter.timeline.periods import UpdatePeriod
    >>> daily = ("sales_daily", UpdatePeriod.DAILY)
    >>> bytes_of = Costs(by_bytes=True, bytes_by_period={daily: 4096})
    >>> bytes_of.of_partition(*daily), Costs().of_partition(*daily)
    (4096, 1)
    >>> bytes_of.described(Cover((), RangeSet.EMPTY, cost=8192))
    'about 8,192 bytes'
    """

    by_bytes: bool = False
    bytes_by_period: Mapping[TablePeriod, int] = field(default_factory=dict)
    unknown_sizes: tuple[str, ...] = ()
    scan_bytes: int = 0

    @property
    def of_scan(self) -> int:
        """The cost of each table that is read; 0 where partitions are counted."""
        return 0 if self.unknown_sizes else self.scan_bytes

    def of_partition(self, table: str, period: Period) -> int:
        """Returns the cost of one partition, at least 1."""
        return max(1, self.bytes_by_period.get((table, period), 1))

    def described(self, covered: Cover) -> str:
        """Returns a cover's cost in words; '' if partitions are counted, which is the default."""
        if self.unknown_sizes:
            return f"partitions, because the bytes of {', '.join(self.unknown_sizes)} are unknown"
        tables = len({part.table for part in covered.parts})
        scans = f", {tables * self.scan_bytes:,} of them for {tables} tables" if self.scan_bytes else ""
        return f"about {covered.cost:,} bytes{scans if tables != 1 else scans[:-1]}" if self.by_bytes else ""


def costs(candidates: Iterable[TablePeriod], reader: CatalogReader, settings: Settings) -> Costs:
    """Returns the costs of the candidates' partitions. Candidates without partitions can be omitted."""
    if not settings.cost_in_bytes:
        return Costs()
    sizes = {(table, period): reader.mean_bytes(table, period) for table, period in candidates}
    unknown_sizes = tuple(f"{table} {period.name}" for (table, period), size in sizes.items() if size is None)
    known_sizes = {pair: size for pair, size in sizes.items() if size is not None}
    return Costs(True, {} if unknown_sizes else known_sizes, unknown_sizes, settings.scan_bytes)
