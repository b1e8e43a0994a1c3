"""The value that all pictures of coverage are drawn from: rows of ranges over one axis of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.calendars import UTC, Calendar, Period
from rewriter.timeline.civil import DAY, HOUR, MAX_INSTANT, MIN_INSTANT, MINUTE, SECOND
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.planner.model.plan import ReferencePlan


class ChartState(Enum):
    """The state of the periods of a row. ``TAKEN`` periods are among the periods that exist; all other states are
    disjoint. ``DROPPED`` periods do not exist any more.
    """

    TAKEN = "taken"
    EXISTING = "exists"
    OUTDATED = "outdated"
    INCOMPLETE = "incomplete"
    UNPROVEN = "unproven"
    DIFFERING = "differs"
    OPEN = "open"
    OUTSIDE = "outside"
    DROPPED = "dropped"

    @property
    def meaning(self) -> str:
        """Returns the state in words."""
        return _MEANINGS[self]


_MEANINGS = {
    ChartState.TAKEN: "the query takes it",
    ChartState.EXISTING: "it exists",
    ChartState.OUTDATED: "older than its base",
    ChartState.INCOMPLETE: "computed while its base lacked periods",
    ChartState.UNPROVEN: "nothing proves its content",
    ChartState.DIFFERING: "a comparison has found that it differs from its base",
    ChartState.OPEN: "a stream fills it",
    ChartState.OUTSIDE: "outside of the time that its storage serves",
    ChartState.DROPPED: "its base partition was dropped",
}
#: The states of periods that exist, each once.
EXISTING_STATES = tuple(state for state in ChartState if state not in (ChartState.TAKEN, ChartState.DROPPED))


@dataclass(frozen=True)
class ChartRow:
    """The periods of one (storage table, period), in ascending ranges by state. A state without periods is absent."""

    fact: str
    storage: str
    table: str
    period: Period
    ordinals: Mapping[ChartState, Sequence[OrdinalRange]]

    def count(self, *states: ChartState) -> int:
        """Returns the number of periods in these states; of all that exist without one."""
        return sum(len(ordinals) for state in states or EXISTING_STATES for ordinals in self.ordinals.get(state, ()))

    def ranges(self, state: ChartState) -> RangeSet:
        """Returns the time of the periods in a state. O(ranges)."""
        return joined_periods(self.period, self.ordinals.get(state, ()))

    def slices(self, window: TimeRange, count: int) -> list[tuple[ChartState | None, bool]]:
        """Returns the worst state in each of ``count`` slices of ``window``, and whether it holds for all of the slice.

        So one outdated hour of ten years is seen. O(count · log ranges + ranges).
        """
        ranges = [(state, self.ranges(state)) for state in _WORST_FIRST if state in self.ordinals]
        return [_worst(slice_, ranges) for slice_ in slices_of(window, count)]


@dataclass(frozen=True)
class CoverageChart:
    """What exists in the storage tables of a fact or a cube, what is missing, and what a query takes.

    ``requested`` is the time asked for, and ``window`` the time that is drawn (``window_of``); ``None`` where that is
    empty. ``missing`` is the time of a query for which it gets no rows; in the chart of a fact, the time of which no
    partition exists. ``outdated`` is the share of it that exists only outdated, as far as a plan states it. ``base`` is
    the unit of ``missing``; ``None`` if it is unknown. ``is_whole`` says that the rows have all that exists, and not
    only what the query takes.
    """

    subject: str
    requested: RangeSet
    window: TimeRange | None
    rows: tuple[ChartRow, ...]
    missing: RangeSet
    outdated: RangeSet = RangeSet.EMPTY
    base: Period | None = None
    calendar: Calendar = field(default=UTC)
    is_whole: bool = True

    @property
    def title(self) -> str:
        """Returns the subject and the time asked for. It is long where that has many ranges."""
        return f"{self.subject}: {self.calendar.shown(self.requested)}"

    @property
    def lacking(self) -> str:
        """Returns how much is missing, as ``3 HOURLY periods and all time from 2030-01-01``, or ``2 ranges``."""
        closed = [gap for gap in self.missing if not is_open(gap)]
        parts = []
        if closed or not self.missing:
            parts.append(
                _counted(len(closed), "range")
                if self.base is None
                else _counted(sum(len(overlapping(self.base, gap)) for gap in closed), f"{self.base.name} period")
            )
        for gap in filter(is_open, self.missing):
            before = f" before {self.calendar.text(gap.end)}" if gap.end < MAX_INSTANT else ""
            since = f" from {self.calendar.text(gap.start)}" if gap.start > MIN_INSTANT else ""
            parts.append(f"all time{before}{since}")
        return " and ".join(parts)

    @property
    def emptiness(self) -> str:
        """Returns, in words, why no time is drawn."""
        return "all of this time is missing" if self.missing else "nothing exists in this time"

    def count(self, state: ChartState) -> int:
        """Returns the number of periods in a state, in all rows."""
        return sum(row.count(state) for row in self.rows)


_WORST_FIRST = (
    ChartState.DIFFERING,
    ChartState.OUTDATED,
    ChartState.INCOMPLETE,
    ChartState.UNPROVEN,
    ChartState.OPEN,
    ChartState.TAKEN,
    ChartState.EXISTING,
    ChartState.OUTSIDE,
    ChartState.DROPPED,
)


def _worst(slice_: RangeSet, ranges: Iterable[tuple[ChartState, RangeSet]]) -> tuple[ChartState | None, bool]:
    for state, time in ranges:
        if share := slice_ & time:
            return state, share == slice_
    return None, True


def slices_of(window: TimeRange, count: int) -> Iterator[RangeSet]:
    """Yields ``count`` slices of a window, of the same length up to a microsecond, and never empty."""
    length = window.end - window.start
    for number in range(count):
        start = window.start + length * number // count
        yield RangeSet.of(TimeRange(start, max(window.start + length * (number + 1) // count, start + 1)))


def reference_chart(reference: ReferencePlan) -> CoverageChart:
    """Returns what the plan of a reference to a cube takes and lacks, without what else exists."""
    rows = tuple(
        ChartRow(part.fact, part.storage, part.table, part.period, {ChartState.TAKEN: part.ranges})
        for part in reference.parts
    )
    return CoverageChart(
        reference.cube,
        reference.requested,
        window_of(reference.requested, rows, reference.missing),
        rows,
        reference.missing,
        reference.outdated,
        calendar=reference.calendar,
        is_whole=False,
    )


def hull_of(requested: RangeSet) -> TimeRange | None:
    """Returns the time from the first wanted instant to the last, with open ends; ``None`` if nothing is wanted."""
    return TimeRange(requested.ranges[0].start, requested.ranges[-1].end) if requested else None


def window_of(
    requested: RangeSet, rows: Iterable[ChartRow] = (), missing: RangeSet = RangeSet.EMPTY
) -> TimeRange | None:
    """Returns the time to draw: that from the first wanted instant to the last; ``None`` where that is empty.

    An open end is closed where ``rows`` end. If time beyond it is missing, a twentieth of the window is added, so that
    the missing time is seen.
    """
    hull = hull_of(requested)
    if hull is None:
        return None
    edges = [edge for range_ in requested for edge in (range_.start, range_.end) if MIN_INSTANT < edge < MAX_INSTANT]
    for row in rows:
        for runs in filter(None, row.ordinals.values()):
            ends = row.period.start(runs[0].start), row.period.start(runs[-1].end)
            edges += (min(max(edge, hull.start), hull.end) for edge in ends)
    if not edges or min(edges) == max(edges):
        return None
    start, end = min(edges), max(edges)
    more = _rounded((end - start) // 20)
    if missing and missing.ranges[0].start <= MIN_INSTANT:
        start = max(start - more, MIN_INSTANT)
    if missing and missing.ranges[-1].end >= MAX_INSTANT:
        end = min(end + more, MAX_INSTANT)
    return TimeRange(start, end)


def _rounded(length: int) -> int:
    unit = next((unit for unit in (DAY, HOUR, MINUTE, SECOND) if unit <= length), SECOND)
    return max(length // unit, 1) * unit


def is_open(gap: TimeRange) -> bool:
    """Tests whether a range has no begin or no end."""
    return gap.start <= MIN_INSTANT or gap.end >= MAX_INSTANT


def overlapping(period: Period, time: TimeRange) -> OrdinalRange:
    """Returns the periods that share time with a range."""
    return OrdinalRange(period.ordinal(time.start), period.ordinal(time.end - 1) + 1)


def joined_periods(period: Period, ranges: Sequence[OrdinalRange]) -> RangeSet:
    """Returns the time of ranges of periods. A period of no length, a date that a zone skips, has none."""
    bounds = zip(
        period.starts(ordinals.start for ordinals in ranges),
        period.starts(ordinals.end for ordinals in ranges),
        strict=True,
    )
    return RangeSet.of_bounds((start, end) for start, end in bounds if start < end)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
