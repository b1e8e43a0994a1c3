"""Weeks against months, quarters and years, which overlap without nesting: a shortest path (``cover`` says why)."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.planner.chain import Chain, Filling, Ledger, Offer, Stretch, Taken, take
from rewriter.timeline.calendars import Period
from rewriter.timeline.timelines import OrdinalRange


@dataclass(frozen=True)
class _Partition:
    """One calendar partition: a step of the path from its start to its end."""

    offer: Offer
    ordinal: int
    end: int


@dataclass(frozen=True)
class _Bound:
    """An instant at which calendar partitions start or end, in its week, ``[low, high)``, cut to the stretch.

    ``passed`` says that the path which comes to ``low`` takes the week, and ``partition`` what the path takes that
    comes to ``instant``; without one it goes on to ``high`` by days.
    """

    low: int
    instant: int
    high: int
    passed: bool
    partition: _Partition | None


def fill_with_weeks(stretch: Stretch, calendar: Chain, weeks: Chain, days: Chain) -> Filling:
    """The least price for a stretch; ``weeks`` is the chain of weeks, days and finer, ``days`` that without weeks.

    Cost: that of both chains, and for each calendar partition inside the stretch a few look-ups of a price.
    """
    partitions = _partitions(stretch, calendar)
    filled = weeks.fill([stretch])
    if not partitions:
        return filled
    by_week, by_day = Ledger(filled, weeks.missing), Ledger(days.fill([stretch]), days.missing)
    week = weeks.levels[0].offers[0].period
    return _walked(stretch, _path(stretch, partitions, by_week, by_day, week), by_week, by_day)


def _partitions(stretch: Stretch, calendar: Chain) -> dict[int, list[_Partition]]:
    """The best partition of each calendar slot inside the stretch, by the slot's start."""
    found: dict[int, list[_Partition]] = {}
    for level in calendar.levels:
        remaining = [stretch]
        for offer in level.offers:
            runs, remaining = take(offer, remaining)
            for run in runs:
                start = offer.period.start(run.start)
                for ordinal in range(run.start, run.end):
                    end = offer.period.end(ordinal)
                    found.setdefault(start, []).append(_Partition(offer, ordinal, end))
                    start = end
    return found


def _path(
    stretch: Stretch, partitions: dict[int, list[_Partition]], by_week: Ledger, by_day: Ledger, week: Period
) -> list[_Bound]:
    """The bounds, in order of time, with the way on from each that has the least price up to the stretch's end."""
    start, end = stretch
    instants = sorted(partitions.keys() | {one.end for those in partitions.values() for one in those})
    bounds: list[_Bound] = []
    least: dict[int, int] = {}
    # What follows the bound's week: weeks and days up to the next bound's, then that bound's price.
    following, beyond = by_week.until(end), 0
    for instant in reversed(instants):
        monday = week.floor(instant)
        low = max(monday, start)
        high = instant if instant == monday else min(week.end(week.ordinal(instant)), end)
        week_low, week_high = by_week.until(low), by_week.until(high)
        beyond += following - week_high
        day = by_day.until(instant)
        price = by_day.until(high) - day + beyond
        chosen = None
        for one in partitions.get(instant, ()):
            other = one.offer.price + least[one.end]
            first = chosen.offer if chosen else (by_week if instant == high else by_day).at(instant)
            if other < price or (other == price and _earlier(one.offer, first)):
                price, chosen = other, one
        least[instant] = price
        price += day - by_day.until(low)
        passing = week_high - week_low + beyond
        passed = passing < price or (passing == price and low < instant and _earlier(by_week.at(low), by_day.at(low)))
        bounds.append(_Bound(low, instant, high, passed, chosen))
        following, beyond = week_low, passing if passed else price
    return bounds[::-1]


def _walked(stretch: Stretch, bounds: list[_Bound], by_week: Ledger, by_day: Ledger) -> Filling:
    """The partitions along the path."""
    taken: list[Taken] = []
    legs: list[tuple[Ledger, int, int]] = []
    index_of = {bound.instant: index for index, bound in enumerate(bounds)}
    position, index = stretch[0], 0
    while index < len(bounds):
        bound = bounds[index]
        legs.append((by_week, position, bound.high if bound.passed else bound.low))
        if not bound.passed:
            legs.append((by_day, bound.low, bound.instant))
            while bound.partition is not None:
                offer, ordinal = bound.partition.offer, bound.partition.ordinal
                taken.append((offer, [OrdinalRange(ordinal, ordinal + 1)]))
                index = index_of[bound.partition.end]
                bound = bounds[index]
            legs.append((by_day, bound.instant, bound.high))
        position, index = bound.high, index + 1
    legs.append((by_week, position, stretch[1]))
    missing: list[Stretch] = []
    for ledger, start, end in legs:
        if start < end:
            part = ledger.within(start, end)
            taken += part.taken
            missing += part.missing
    return Filling(taken, missing)


def _earlier(one: Offer | None, other: Offer | None) -> bool:
    """Whether one partition comes before another by name; any comes before none."""
    return one is not None and (other is None or one.place < other.place)
