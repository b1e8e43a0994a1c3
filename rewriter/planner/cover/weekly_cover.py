"""Weeks beside months, quarters and years, which overlap without nesting: a shortest path (proof in ``cover``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewriter.planner.cover.forced_runs import forced_runs
from rewriter.planner.cover.nested_cover import (
    CandidateRuns,
    Chain,
    CostIndex,
    Filling,
    PricedCandidate,
    Segment,
    available,
    take,
)
from rewriter.timeline.calendars import Period
from rewriter.timeline.timeline import OrdinalRange


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

    Cost: that of both chains, plus a few look-ups of a price for each calendar partition inside the segment. Of those
    that are settled (``forced_runs``), only the last are examined, until a path reaches one without a week over its
    start.
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
    for priced, run in reversed(forced_runs(segment, calendar, weeks, days, by_day)):
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
