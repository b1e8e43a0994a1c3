"""Wall times and instants of a zone as Spark SQL, exact within a range of time.

The changes of the offset inside the range are known (``timeline.calendars``), so they are written out as a CASE over
instants. Both engines then agree with each other and with the plan, whatever zone tables they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import assert_never

from rewriter.errors import NotSupportedError
from rewriter.planner.text.edits import Part
from rewriter.planner.text.literals import timestamp_literal
from rewriter.timeline.calendars import Calendar, Period, Transition, ZonedPeriod
from rewriter.timeline.civil import HOUR, MINUTE, SECOND
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import TimeRange
from rewriter.timeline.timeline import OrdinalRange

#: The maximum number of offset changes in an expression. A century of summer times has 200.
MOST_CHANGES = 1000

#: The first instant of a part (``None``: from the beginning), and the part's offsets in microseconds.
Piece = tuple[int | None, tuple[int, ...]]


def moved(expression: str, micros: int) -> str:
    """Returns a timestamp, moved later by whole seconds."""
    if not micros:
        return expression
    unit, length = next(
        (unit_length for unit_length in (("HOUR", HOUR), ("MINUTE", MINUTE)) if micros % unit_length[1] == 0),
        ("SECOND", SECOND),
    )
    return f"timestampadd({unit}, {micros // length}, {expression})"


def offsets(calendar: Calendar, extent: TimeRange) -> list[Piece]:
    """Returns the zone's offset from UTC in each part of the range."""
    pieces: list[Piece] = [(None, (calendar.offset(extent.start),))]
    pieces += [(change.instant, (change.after,)) for change in _changes(calendar, extent.start + 1, extent.end)]
    return _merge_pieces(pieces)


def truncations(period: Period, calendar: Calendar, extent: TimeRange) -> list[Piece]:
    """Returns, for each part of the range, the offset at an instant, and the offset that leads back from the start of
    its period.

    ``period`` is of the calendar. The starts of hours and minutes have the offset of the instant itself, as in Spark.
    """
    if isinstance(period, UpdatePeriod):
        return [(start, (offset, offset)) for start, (offset,) in offsets(calendar, extent)]
    if not isinstance(period, ZonedPeriod):
        assert_never(period)
    starts: list[int] = []
    for change in _changes(calendar, period.floor(extent.start), extent.end):
        ordinal = period.ordinal(change.instant)
        # After a gap at midnight, the day begins at another wall time than the days before and after it.
        starts += [change.instant, period.start(ordinal), period.start(ordinal + 1), period.start(ordinal + 2)]
    bounds = [None, *sorted({start for start in starts if extent.start < start < extent.end})]
    pieces: list[Piece] = []
    for bound in bounds:
        at = extent.start if bound is None else bound
        ordinal = period.ordinal(at)
        pieces.append((bound, (calendar.offset(at), period.kind.start(ordinal) - period.start(ordinal))))
    return _merge_pieces(pieces)


def wall_time(calendar: Calendar, instant: str, extent: TimeRange) -> str:
    """Returns the wall time at an instant of the range, as a timestamp in UTC."""
    return _text(instant, offsets(calendar, extent))


def truncated(unit: str, period: Period, calendar: Calendar, instant: str, extent: TimeRange) -> str:
    """Returns the first instant of the period around an instant of the range. ``unit`` is the name for date_trunc."""

    def rendered(shift: tuple[int, ...]) -> tuple[str]:
        return (moved(f"date_trunc('{unit}', {moved(instant, shift[0])})", -shift[1]),)

    pieces = truncations(period, calendar, extent) if isinstance(period, ZonedPeriod) else [(None, (0, 0))]
    return "".join(map(str, cases(instant, pieces, rendered)))


def start_of(period: ZonedPeriod, wall: str, ranges: Sequence[OrdinalRange]) -> str:
    """Returns the first instant of the period that begins at the wall time, which is that of one of the ordinals."""
    first, last = ranges[0].start, ranges[-1].end
    ordinals = {first}
    for change in _changes(period.calendar, period.start(first), period.start(last) + 1):
        # The start of the day after a change, or of the day that begins with a gap and of the one after it.
        ordinals |= {period.ordinal(change.instant) + step for step in (0, 1)}
    bounds = sorted(ordinal for ordinal in ordinals if first <= ordinal < last)
    pieces: list[Piece] = [
        (
            None if ordinal == first else period.kind.start(ordinal),
            (period.start(ordinal) - period.kind.start(ordinal),),
        )
        for ordinal in bounds
    ]
    return _text(wall, _merge_pieces(pieces))


def _changes(calendar: Calendar, start: int, end: int) -> Iterator[Transition]:
    """Returns the changes of the offset in ``[start, end)``. Raises ``NotSupportedError`` if there are too many, before
    it searches all years up to a time like 9999.
    """
    for number, change in enumerate(calendar.transitions(start, end)):
        if number >= MOST_CHANGES:
            raise NotSupportedError(
                f"The clocks of {calendar.zone} change too often in this range for a function of time.",
                condition="UNCERTAIN_TIME_ZONE",
                object=calendar.zone,
                hint="Use a shorter range.",
            )
        yield change


def _merge_pieces(pieces: list[Piece]) -> list[Piece]:
    """Returns the pieces without those that have the same offsets as the piece before."""
    return pieces[:1] + [piece for before, piece in pairwise(pieces) if piece[1] != before[1]]


def cases(
    subject: str, pieces: Sequence[Piece], rendered: Callable[[tuple[int, ...]], Sequence[Part]]
) -> tuple[Part, ...]:
    """Returns the rendered offsets of the part of the range in which ``subject`` lies: a CASE, or a single
    expression.
    """
    if len(pieces) == 1:
        return tuple(rendered(pieces[0][1]))
    parts: list[Part] = ["CASE"]
    for (_, piece), (piece_start, _) in pairwise(pieces):
        parts += [f" WHEN {subject} < {timestamp_literal(piece_start or 0)} THEN ", *rendered(piece)]
    return (*parts, " ELSE ", *rendered(pieces[-1][1]), " END")


def _text(subject: str, pieces: Sequence[Piece]) -> str:
    """Returns the subject, moved by the single offset of each piece."""
    return "".join(map(str, cases(subject, pieces, lambda shift: [moved(subject, shift[0])])))
