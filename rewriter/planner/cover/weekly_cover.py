"""Weeks beside months, quarters and years, which overlap without nesting: a shortest path (proof in ``cover``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewriter.planner.cover.forced_runs import forced_runs
from rewriter.planner.cover.nested_cover import Chain, Filling, Ledger, Offer, Stretch, Taken, available, take
from rewriter.timeline.calendars import Period
from rewriter.timeline.timeline import OrdinalRange


@dataclass(frozen=True)
class _Step:
    """A calendar partition, or a run of them: a step of the path from its start to its end."""

    offer: Offer
    run: OrdinalRange
    start: int
    end: int
    price: int


@dataclass(frozen=True)
class _Bound:
    """An instant at which calendar partitions start or end, in its week, ``[low, high)``, cut to the stretch.

    ``passed`` says that the path that reaches ``low`` takes the week. ``step`` is the step of the path that reaches
    ``instant``; without one, that path goes on to ``high`` by days.
    """

    low: int
    instant: int
    high: int
    passed: bool
    step: _Step | None


def fill_with_weeks(stretch: Stretch, calendar: Chain, weeks: Chain, days: Chain) -> Filling:
    """The filling of a stretch with the least price. ``weeks`` is the chain of weeks, days and finer periods, ``days``
    the chain without weeks.

    Cost: that of both chains, plus a few look-ups of a price for each calendar partition inside the stretch. Of those
    that are settled (``forced_runs``), only the last are examined, until a path reaches one without a week over its
    start.
    """
    filled = weeks.fill([stretch])
    if not any(available(offer, *stretch) for level in calendar.levels for offer in level.offers):
        return filled
    by_week, by_day = Ledger(filled, weeks.missing), Ledger(days.fill([stretch]), days.missing)
    path = _Path(stretch, by_week, by_day, weeks.levels[0].offers[0].period)
    start, position = stretch
    for offer, run in reversed(forced_runs(stretch, calendar, weeks, days, by_day)):
        begin = offer.period.start
        path.extend(_steps((begin(run.end), position), calendar), begin(run.end))
        position, stop = begin(run.end), run.end
        while stop > run.start and not path.is_clean:
            stop -= 1
            path.extend(_steps((begin(stop), position), calendar), begin(stop))
            position = begin(stop)
        if run.start < stop:
            first, rest = begin(run.start), OrdinalRange(run.start, stop)
            path.extend([_Step(offer, rest, first, position, len(rest) * offer.price)])
            position = first
    path.extend(_steps((start, position), calendar))
    return path.walked()


def _steps(stretch: Stretch, calendar: Chain) -> list[_Step]:
    """The best partition of each calendar slot inside the stretch."""
    steps: list[_Step] = []
    for level in calendar.levels if stretch[0] < stretch[1] else ():
        remaining = [stretch]
        for offer in level.offers:
            runs, remaining = take(offer, remaining)
            for run in runs:
                start = offer.period.start(run.start)
                for ordinal in range(run.start, run.end):
                    end = offer.period.end(ordinal)
                    steps.append(_Step(offer, OrdinalRange(ordinal, ordinal + 1), start, end, offer.price))
                    start = end
    return steps


class _Path:
    """The way on with the least price, from each bound of calendar partitions to the end of the stretch.

    It is built from the end: ``bounds`` come from the last to the first.
    """

    def __init__(self, stretch: Stretch, by_week: Ledger, by_day: Ledger, week: Period) -> None:
        self.bounds: list[_Bound] = []
        self._stretch, self._by_week, self._by_day, self._week = stretch, by_week, by_day, week
        # The price from a bound on, by its instant.
        self._cheapest: dict[int, int] = {}
        # The price after the current bound's week: weeks and days up to the next bound's week, then that bound's price.
        self._following, self._beyond = by_week.until(stretch[1]), 0

    @property
    def is_clean(self) -> bool:
        """True if the way on from the Monday before the first bound takes no week over that bound."""
        return not self.bounds[-1].passed

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
        start, end = self._stretch
        by_week, by_day, week = self._by_week, self._by_day, self._week
        number = week.ordinal(instant)
        monday = week.start(number)
        low = max(monday, start)
        high = instant if instant == monday else min(week.end(number), end)
        week_low, week_high = by_week.until(low), by_week.until(high)
        beyond = self._beyond + self._following - week_high
        day = by_day.until(instant)
        price = by_day.until(high) - day + beyond
        chosen = None
        for step in steps:
            other = step.price + self._cheapest[step.end]
            first = chosen.offer if chosen else (by_week if instant == high else by_day).at(instant)
            if other < price or (other == price and _earlier(step.offer, first)):
                price, chosen = other, step
        self._cheapest[instant] = price
        price += day - by_day.until(low)
        passing = week_high - week_low + beyond
        passed = passing < price or (passing == price and low < instant and _earlier(by_week.at(low), by_day.at(low)))
        self.bounds.append(_Bound(low, instant, high, passed, chosen))
        self._following, self._beyond = week_low, passing if passed else price

    def walked(self) -> Filling:
        """The partitions along the path."""
        taken: list[Taken] = []
        legs: list[tuple[Ledger, int, int]] = []
        bounds = self.bounds[::-1]
        index_of = {bound.instant: index for index, bound in enumerate(bounds)}
        (position, end), index = self._stretch, 0
        while index < len(bounds):
            bound = bounds[index]
            legs.append((self._by_week, position, bound.high if bound.passed else bound.low))
            if not bound.passed:
                legs.append((self._by_day, bound.low, bound.instant))
                while bound.step is not None:
                    taken.append((bound.step.offer, [bound.step.run]))
                    index = index_of[bound.step.end]
                    bound = bounds[index]
                legs.append((self._by_day, bound.instant, bound.high))
            position, index = bound.high, index + 1
        legs.append((self._by_week, position, end))
        missing: list[Stretch] = []
        for ledger, low, high in legs:
            if low < high:
                part = ledger.within(low, high)
                taken += part.taken
                missing += part.missing
        return Filling(taken, missing)


def _earlier(first: Offer | None, second: Offer | None) -> bool:
    """True if one offer comes before another by name. Any offer comes before ``None``."""
    return first is not None and (second is None or first.place < second.place)
