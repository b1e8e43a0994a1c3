"""Finds runs of the coarsest calendar partitions that no week can beat, so that the search can skip their inside.

Let Y be such a partition, ``[b, e)``, and let the best way on from the Monday before e take no week over e. A cover
that does not take Y either has a week over b, or starts again at b.

- If it starts again, its partitions in Y's time are finer (another of the same time would come after Y). Each
microsecond costs at least as much as by the finer candidate that is the cheapest for its length, and missing time costs
more: in all, ``cheapest``. If Y costs less, Y is taken. - If it has a week over b, the first month of Y cannot be taken
whole, so up to its end there are weeks and finer only; up to the end of the first quarter nothing coarser than months,
and so on: in all, ``passing_price``. Instead it could fill the days from Monday to b, six at most, and take Y. If these
cost less than ``passing_price``, no best way has that week.

If it has a week over e, too, the same is true: the way on from the Monday before e is as good without that week, and
then days fill the rest of Y's time, which cost no less than the candidates above.

So in a run of such partitions it is enough to find one whose end has no week over it: then none has, back to the start
of the run, and all of them are taken. Both comparisons are strict, so that no name decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rewriter.planner.cover.nested_cover import Chain, CostIndex, PricedCandidate, Segment, lengths, slots_in, take
from rewriter.timeline import runs
from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import DAY
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange


def forced_runs(
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
    return runs.missing(*runs.of_bounds(bounds for bounds in dear if bounds[0] < bounds[1]), run)


def _candidates_of(chain: Chain) -> list[PricedCandidate]:
    return [priced for level in chain.levels for priced in level.candidates]


#: The maximum length of a week, even if a zone repeats a date.
_WEEK = 8 * DAY
