"""Wall times and instants of a zone as Spark SQL, exact within a stretch of time.

The changes of the offset inside the stretch are known (``timeline.calendars``), so they are written out: a CASE over
instants. Both engines then agree with each other and with the plan, whatever tables of zones they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from rewriter.errors import NotSupportedError
from rewriter.planner.literals import timestamp_literal
from rewriter.planner.text import Part
from rewriter.timeline.calendars import Calendar, Period, Transition, ZonedPeriod
from rewriter.timeline.civil import HOUR, MINUTE, SECOND
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import TimeRange
from rewriter.timeline.timelines import OrdinalRange

#: How many changes of the offset an expression may tell apart; a century of summer times has 200.
MOST_CHANGES = 1000

#: From which instant on (``None``: from the first) what is said: offsets, in microseconds.
Piece = tuple[int | None, tuple[int, ...]]


def moved(expression: str, micros: int) -> str:
    """A timestamp, later by whole seconds."""
    if not micros:
        return expression
    unit, length = next(
        (one for one in (("HOUR", HOUR), ("MINUTE", MINUTE)) if micros % one[1] == 0), ("SECOND", SECOND)
    )
    return f"timestampadd({unit}, {micros // length}, {expression})"


def offsets(calendar: Calendar, within: TimeRange) -> list[Piece]:
    """The zone's offset from UTC in each part of the stretch."""
    pieces: list[Piece] = [(None, (calendar.offset(within.start),))]
    pieces += [(one.instant, (one.after,)) for one in _changes(calendar, within.start + 1, within.end)]
    return _merged(pieces)


def truncations(period: Period, calendar: Calendar, within: TimeRange) -> list[Piece]:
    """For each part of the stretch, the offset at an instant and that which leads back from the start of its period.

    ``period`` is of the calendar; the starts of hours and minutes have the offset of the instant itself, as in Spark.
    """
    if not isinstance(period, ZonedPeriod):
        return [(start, (offset, offset)) for start, (offset,) in offsets(calendar, within)]
    starts: list[int] = []
    for one in _changes(calendar, period.floor(within.start), within.end):
        ordinal = period.ordinal(one.instant)
        # A gap at midnight begins the day at another wall time than those before and after it.
        starts += [one.instant, period.start(ordinal), period.start(ordinal + 1), period.start(ordinal + 2)]
    bounds = [None, *sorted({start for start in starts if within.start < start < within.end})]
    pieces: list[Piece] = []
    for bound in bounds:
        at = within.start if bound is None else bound
        ordinal = period.ordinal(at)
        pieces.append((bound, (calendar.offset(at), period.kind.start(ordinal) - period.start(ordinal))))
    return _merged(pieces)


def wall_time(calendar: Calendar, instant: str, within: TimeRange) -> str:
    """The wall time at an instant of the stretch, as a timestamp in UTC."""
    return _text(instant, offsets(calendar, within))


def truncated(unit: str, period: Period, calendar: Calendar, instant: str, within: TimeRange) -> str:
    """The first instant of the period around an instant of the stretch; ``unit`` is what date_trunc calls it."""

    def rendered(found: tuple[int, ...]) -> tuple[str]:
        return (moved(f"date_trunc('{unit}', {moved(instant, found[0])})", -found[1]),)

    pieces = truncations(period, calendar, within) if isinstance(period, ZonedPeriod) else [(None, (0, 0))]
    return "".join(map(str, cases(instant, pieces, rendered)))


def start_of(period: ZonedPeriod, wall: str, ranges: Sequence[OrdinalRange]) -> str:
    """The first instant of the period that begins at the wall time, which is that of one of the ordinals."""
    first, last = ranges[0].start, ranges[-1].end
    ordinals = {first}
    for one in _changes(period.calendar, period.start(first), period.start(last) + 1):
        # The start of the day after a change, or of the day that begins with a gap and of the one after it.
        ordinals |= {period.ordinal(one.instant) + step for step in (0, 1)}
    bounds = sorted(ordinal for ordinal in ordinals if first <= ordinal < last)
    pieces: list[Piece] = [
        (
            None if ordinal == first else period.kind.start(ordinal),
            (period.start(ordinal) - period.kind.start(ordinal),),
        )
        for ordinal in bounds
    ]
    return _text(wall, _merged(pieces))


def _changes(calendar: Calendar, start: int, end: int) -> Iterator[Transition]:
    """The changes of the offset in ``[start, end)``. Raises ``NotSupportedError`` where they are too many, before all
    years up to a time like 9999 are looked through.
    """
    for number, one in enumerate(calendar.transitions(start, end)):
        if number >= MOST_CHANGES:
            raise NotSupportedError(
                f"The clocks of {calendar.zone} change too often in this range for a function of time.",
                condition="UNCERTAIN_TIME_ZONE",
                object=calendar.zone,
                hint="Ask for a shorter range.",
            )
        yield one


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Without those that say the same as the one before."""
    return pieces[:1] + [piece for before, piece in pairwise(pieces) if piece[1] != before[1]]


def cases(
    subject: str, pieces: Sequence[Piece], rendered: Callable[[tuple[int, ...]], Sequence[Part]]
) -> tuple[Part, ...]:
    """What is said of each part of the stretch in which ``subject`` lies: a CASE, or the one thing that there is."""
    if len(pieces) == 1:
        return tuple(rendered(pieces[0][1]))
    found: list[Part] = ["CASE"]
    for (_, said), (bound, _) in pairwise(pieces):
        found += [f" WHEN {subject} < {timestamp_literal(bound or 0)} THEN ", *rendered(said)]
    return (*found, " ELSE ", *rendered(pieces[-1][1]), " END")


def _text(subject: str, pieces: Sequence[Piece]) -> str:
    """The subject, moved by the one offset that each piece says."""
    return "".join(map(str, cases(subject, pieces, lambda found: [moved(subject, found[0])])))


def unit_of(kind: UpdatePeriod, calendar: Calendar) -> Period | None:
    """The unit of time functions in a zone: its days and longer ones, and the hours and minutes of UTC where the zone's
    are the same (since when, ``Calendar.since`` says); ``None`` where they are not.
    """
    return None if kind < UpdatePeriod.DAILY and calendar.since(kind) is None else calendar.of(kind)
