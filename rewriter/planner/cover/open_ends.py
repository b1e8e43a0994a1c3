"""Open ends of a range: where they lie, and which parts of a range lie wholly beyond them.

An open end lies at the end of the newest period of which any partition exists: whole or not, fresh or outdated, in any
candidate. Partitions that streams still fill do not exist yet for a cube. So missing parts of that period are reported,
as in a closed range. A fact that declares its LATENESS moves the end on, to the data that should exist by now. An open
begin lies at the start of the oldest such period. A range that lies wholly beyond an end is missing: nothing says that
nothing happened there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, SupportsInt

from rewriter.catalog.facts.time_binding import TimeBinding, keys_outside
from rewriter.errors import DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import OpenEnd
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import earlier

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, StorageTable
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.timeline import PartitionTimeline

_OLDEST = "the start of the oldest existing period"
_NEWEST = "the end of the newest existing period"


@dataclass(frozen=True)
class ClosedRanges:
    """A set of ranges with its open ends closed.

    Partitions are searched in ``searched``. ``beyond`` lies wholly beyond an open end, and is missing. ``begin`` and
    ``end`` say where ends were closed; ``None`` if none was open, or if its position is unknown.
    """

    searched: RangeSet
    beyond: RangeSet = RangeSet.EMPTY
    begin: OpenEnd | None = None
    end: OpenEnd | None = None


def is_open(requested: RangeSet) -> bool:
    """Tests whether any range has no begin or no end."""
    return any(time_range.start <= MIN_INSTANT or time_range.end >= MAX_INSTANT for time_range in requested)


def close_ends(
    requested: RangeSet, existing: TimeRange | None, promise: OpenEnd | None, *, ignored_from: int | None
) -> ClosedRanges:
    """Returns ``requested`` with its open ends closed at the ends of ``existing``, the extent of all candidates
    (``None`` if they have no partitions), or at the ``promise`` if that is later.

    All of time asks for the existing partitions, and therefore for nothing of a fact that has none. Behind
    ``ignored_from``, an open end that follows other ranges asks for nothing: ``to_date(t) <> current_date`` does not
    mean tomorrow.
    """
    if not is_open(requested):
        return ClosedRanges(requested)
    begin = None if existing is None else OpenEnd(existing.start, _OLDEST)
    end = None if existing is None else OpenEnd(existing.end, _NEWEST)
    if promise is not None and (end is None or promise.at > end.at):
        end = promise
    # If the position of an end is unknown, an open range is empty, and so lies beyond it.
    first, last = MAX_INSTANT if begin is None else begin.at, MIN_INSTANT if end is None else end.at
    within, beyond = _split_at_ends(requested, first, last, ignored_from)
    return ClosedRanges(
        RangeSet(within),
        RangeSet(beyond),
        begin if any(time_range.start <= MIN_INSTANT for time_range in requested) else None,
        end if any(time_range.end >= MAX_INSTANT for time_range in requested) else None,
    )


def _split_at_ends(
    requested: RangeSet, first: int, last: int, ignored_from: int | None
) -> tuple[list[TimeRange], list[TimeRange]]:
    """Returns the ranges with their open ends moved to ``first`` and ``last``, and the ranges that lie wholly beyond
    one.
    """
    within, beyond = [], []
    for time_range in requested:
        opens, ends = time_range.start <= MIN_INSTANT, time_range.end >= MAX_INSTANT
        start, stop = first if opens else time_range.start, last if ends else time_range.end
        if start < stop:
            within.append(TimeRange(start, stop))
        elif opens and ends:
            beyond += [TimeRange(MIN_INSTANT, last)] if last > MIN_INSTANT else []
        elif opens or len(requested) == 1 or ignored_from is None or time_range.start < ignored_from:
            beyond.append(time_range)
    return within, beyond


def extent(lines: Iterable[tuple[Period, PartitionTimeline]]) -> TimeRange | None:
    """Returns the range from the first instant of the timelines' periods to the last; ``None`` if they are empty."""
    starts, ends = [], []
    for period, line in lines:
        if line.first is not None and line.latest is not None:
            starts.append(period.start(line.first))
            ends.append(period.end(line.latest))
    return TimeRange(min(starts), max(ends)) if starts else None


def widened(
    existing: TimeRange | None,
    tables: Iterable[tuple[Fact, StorageTable, RangeSet]],
    reader: CatalogReader,
    period_kind: Period | None = None,
) -> TimeRange | None:
    """Returns ``existing``, extended by periods beyond it of which some partitions exist, but which are in no timeline
    because they are not whole. ``period_kind`` restricts them to one kind of period. ``tables`` come with their
    windows.

    Only tables with several partitions for a period have such periods. Costs one indexed read of the keys beyond for
    each.
    """
    extents = [] if existing is None else [existing]
    for fact, storage_table, windows_ in tables:
        if storage_table.parted:
            extents += [
                time_range
                for time_range in _beyond(existing, fact, storage_table, reader, period_kind)
                if not RangeSet.of(time_range) - windows_
            ]
    return (
        TimeRange(min(time_range.start for time_range in extents), max(time_range.end for time_range in extents))
        if extents
        else None
    )


def _beyond(
    existing: TimeRange | None,
    fact: Fact,
    storage_table: StorageTable,
    reader: CatalogReader,
    period_kind: Period | None,
) -> Iterator[TimeRange]:
    """Returns the periods of which partitions of a table exist, at least all periods that reach beyond ``existing``."""
    table = reader.table(storage_table.table)
    binding = TimeBinding(fact, storage_table, table)
    ranges = [
        keys
        for period, layout in storage_table.layouts.items()
        if period_kind is None or period is period_kind
        for keys in (
            keys_outside(table, layout)
            if existing is None
            else keys_outside(table, layout, period.ordinal(existing.start - 1), period.ordinal(existing.end))
        )
    ]
    for partition in reader.partitions(table, ranges):
        try:
            slot = binding.locate(partition.values)
        except DataError:
            continue  # A key that names no period has no time that could be requested.
        is_open = slot is not None and reader.open(table.name, slot.period, storage_table.time).exists(slot.ordinal)
        if slot is not None and not is_open and (period_kind is None or slot.period is period_kind):
            yield TimeRange(slot.start, slot.end)


def promised(facts: Sequence[Fact], windows: Iterable[tuple[Fact, RangeSet]], now: SupportsInt) -> OpenEnd | None:
    """Returns the latest end up to which a fact should have data, by its LATENESS: the end of its whole base periods
    that were over that long ago, within its tables' windows. ``None`` if no fact declares a LATENESS.
    """
    windows_ = list(windows)
    promises: list[OpenEnd] = []
    for fact in facts:
        if fact.lateness is None:
            continue
        end = fact.base_period.floor(earlier(fact.lateness, int(now), fact.calendar))
        over = RangeSet(time_range for of, window in windows_ if of is fact for time_range in window)
        over &= RangeSet.of(TimeRange(MIN_INSTANT, end)) if end > MIN_INSTANT else RangeSet.EMPTY
        if over:
            promises.append(OpenEnd(over.ranges[-1].end, f"now minus the LATENESS '{fact.lateness}' of {fact.name}"))
    return max(promises, key=lambda open_end: open_end.at, default=None)
