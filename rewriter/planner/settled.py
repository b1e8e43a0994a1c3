"""Runs of the coarsest calendar partitions that no week can win against, so that a search need not look inside.

Let Y be such a partition, ``[b, e)``, and let the best way on from the Monday before e take no week over e. A cover
that does not take Y either has a week over b, or starts anew at b.

- If it starts anew, its partitions in Y's time are finer (another of the same time would come after Y). Whatever they
  are, a microsecond costs no less than by the finer offer that is the cheapest for its length, and missing time costs
  more: in all, ``least``. Where Y costs less, Y is taken.
- If it has a week over b, the first month of Y is not to be had whole, so up to its end there are weeks and finer only;
  up to the end of the first quarter nothing coarser than months, and so on: in all, ``passed``. Instead it could fill
  the days from Monday to b, six at most, and take Y. Where these cost less than ``passed``, no best way has that week.

If it has a week over e, too, the same is true: the way on from the Monday before e is as good without that week, and
then days fill what is left of Y's time, which cost no less than the offers above.

So in a run of such partitions it is enough to find one whose end has no week over it: then none has, back to the start
of the run, and all of them are taken. Both comparisons are strict, so that no name decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rewriter.planner.chain import Chain, Ledger, Offer, Stretch, lengths, slots_in, take
from rewriter.timeline import runs
from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import DAY
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timelines import OrdinalRange


def settled(
    stretch: Stretch, calendar: Chain, weeks: Chain, days: Chain, by_day: Ledger
) -> list[tuple[Offer, OrdinalRange]]:
    """Runs of the coarsest calendar partitions in the stretch as above, in order of time.

    ``by_day`` is the stretch filled by ``days``. Cost: one look-up for each of the coarsest offers, and the pieces of
    ``by_day`` in what they answer.
    """
    top, *finer = calendar.levels
    week = weeks.levels[0].offers[0].period
    least, passed = _prices(top.offers[0].period, [level.offers for level in reversed(finer)], _offers(weeks))
    found: list[tuple[Offer, OrdinalRange]] = []
    remaining = [stretch]
    for offer in top.offers:
        taken, remaining = take(offer, remaining)
        cheap = {one for one in _offers(days) if offer.price + 6 * _day(one, week) < passed}
        if cheap and offer.price < least:
            found += [(offer, part) for run in taken for part in _after_cheap_days(offer.period, run, by_day, cheap)]
    return sorted(found, key=lambda one: one[0].period.start(one[1].start))


def _prices(top: Period, finer: Sequence[Sequence[Offer]], weekly: Sequence[Offer]) -> tuple[int, int]:
    """``least`` and ``passed``; ``finer`` are the calendar offers below the top, from the finest period on."""
    offers, passed, position = list(weekly), 0, 0
    for own in finer:
        first_end, _ = lengths(own[0].period)
        passed += _charged(offers, first_end - position)
        offers += own
        position = first_end
    shortest, _ = lengths(top)
    return _charged(offers, shortest), passed + _charged(offers, shortest - position)


def _charged(offers: Sequence[Offer], duration: int) -> int:
    """What so many microseconds cost by these offers, at least."""
    return min(offer.price * duration // lengths(offer.period)[1] for offer in offers)


def _day(offer: Offer, week: Period) -> int:
    """What a day of the week's calendar costs by the offer, at most."""
    if offer.period.kind is UpdatePeriod.DAILY:
        return offer.price
    day = UpdatePeriod.DAILY if isinstance(week, UpdatePeriod) else week.calendar.of(UpdatePeriod.DAILY)
    return offer.price * slots_in(day, offer.period)[1]


def _after_cheap_days(period: Period, run: OrdinalRange, by_day: Ledger, cheap: set[Offer]) -> Iterable[OrdinalRange]:
    """The parts of the run of partitions before whose starts a week is filled by cheap offers only."""
    dear: list[tuple[int, int]] = []
    for start, end, offer in by_day.pieces(period.start(run.start) - _WEEK, period.start(run.end)):
        if offer not in cheap:
            dear.append((period.ordinal(start) + 1, period.ordinal(end + _WEEK - 1) + 1))
    return runs.missing(*runs.of_bounds(bounds for bounds in dear if bounds[0] < bounds[1]), run)


def _offers(chain: Chain) -> list[Offer]:
    return [offer for level in chain.levels for offer in level.offers]


#: No week is longer, also where a zone repeats a date.
_WEEK = 8 * DAY
