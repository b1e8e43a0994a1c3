"""Finds runs of the coarsest calendar partitions that no week can beat, so that the search can skip their inside.

Let Y be such a partition, ``[b, e)``, and let the best way on from the Monday before e take no week over e. A cover
that does not take Y either has a week over b, or starts again at b.

- If it starts again, its partitions in Y's time are finer (another of the same time would come after Y). Each
  microsecond costs at least as much as by the finer offer that is the cheapest for its length, and missing time costs
  more: in all, ``least``. If Y costs less, Y is taken.
- If it has a week over b, the first month of Y cannot be taken whole, so up to its end there are weeks and finer only;
  up to the end of the first quarter nothing coarser than months, and so on: in all, ``passed``. Instead it could fill
  the days from Monday to b, six at most, and take Y. If these cost less than ``passed``, no best way has that week.

If it has a week over e, too, the same is true: the way on from the Monday before e is as good without that week, and
then days fill the rest of Y's time, which cost no less than the offers above.

So in a run of such partitions it is enough to find one whose end has no week over it: then none has, back to the start
of the run, and all of them are taken. Both comparisons are strict, so that no name decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rewriter.planner.cover.nested_cover import Chain, Ledger, Offer, Stretch, lengths, slots_in, take
from rewriter.timeline import runs
from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import DAY
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange


def forced_runs(
    stretch: Stretch, calendar: Chain, weeks: Chain, days: Chain, by_day: Ledger
) -> list[tuple[Offer, OrdinalRange]]:
    """The runs of the coarsest calendar partitions in the stretch that meet the condition above, in order of time.

    ``by_day`` is the stretch filled by ``days``. Cost: one look-up for each of the coarsest offers, and the pieces of
    ``by_day`` in the runs returned.
    """
    top, *finer = calendar.levels
    week = weeks.levels[0].offers[0].period
    cheapest, passed = _prices(top.offers[0].period, [level.offers for level in reversed(finer)], _offers(weeks))
    settled_runs: list[tuple[Offer, OrdinalRange]] = []
    remaining = [stretch]
    for offer in top.offers:
        taken, remaining = take(offer, remaining)
        cheap = {candidate for candidate in _offers(days) if offer.price + 6 * _day(candidate, week) < passed}
        if cheap and offer.price < cheapest:
            settled_runs += [
                (offer, part) for run in taken for part in _after_cheap_days(offer.period, run, by_day, cheap)
            ]
    return sorted(settled_runs, key=lambda settled_run: settled_run[0].period.start(settled_run[1].start))


def _prices(top: Period, finer: Sequence[Sequence[Offer]], weekly: Sequence[Offer]) -> tuple[int, int]:
    """Returns ``least`` and ``passed``. ``finer`` are the calendar offers below the top, from the finest period on."""
    offers, passed, position = list(weekly), 0, 0
    for own in finer:
        first_end, _ = lengths(own[0].period)
        passed += _charged(offers, first_end - position)
        offers += own
        position = first_end
    shortest, _ = lengths(top)
    return _charged(offers, shortest), passed + _charged(offers, shortest - position)


def _charged(offers: Sequence[Offer], duration: int) -> int:
    """The minimum cost of that many microseconds by these offers."""
    return min(offer.price * duration // lengths(offer.period)[1] for offer in offers)


def _day(offer: Offer, week: Period) -> int:
    """The maximum cost of a day of the week's calendar by the offer."""
    if offer.period.kind is UpdatePeriod.DAILY:
        return offer.price
    day = UpdatePeriod.DAILY if isinstance(week, UpdatePeriod) else week.calendar.of(UpdatePeriod.DAILY)
    return offer.price * slots_in(day, offer.period)[1]


def _after_cheap_days(period: Period, run: OrdinalRange, by_day: Ledger, cheap: set[Offer]) -> Iterable[OrdinalRange]:
    """The parts of the run in which cheap offers alone fill the week before each partition's start."""
    dear: list[tuple[int, int]] = []
    for start, end, offer in by_day.pieces(period.start(run.start) - _WEEK, period.start(run.end)):
        if offer not in cheap:
            dear.append((period.ordinal(start) + 1, period.ordinal(end + _WEEK - 1) + 1))
    return runs.missing(*runs.of_bounds(bounds for bounds in dear if bounds[0] < bounds[1]), run)


def _offers(chain: Chain) -> list[Offer]:
    return [offer for level in chain.levels for offer in level.offers]


#: The maximum length of a week, even if a zone repeats a date.
_WEEK = 8 * DAY
