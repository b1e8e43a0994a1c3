"""The storage tables of a fact with their periods, and periods as stretches of time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.civil import MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import earlier

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Cube, Fact, Measure, Storage, StorageTable, Table
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.timeline import OrdinalRange


@dataclass(frozen=True)
class StoredPeriod:
    """A storage table of a fact, with one of its periods."""

    fact: Fact
    storage: Storage
    table: StorageTable
    period: Period

    @property
    def is_base(self) -> bool:
        """True if its partitions hold base rows."""
        return self.fact.is_base(self.table, self.period)


def stored_periods(fact: Fact) -> list[StoredPeriod]:
    """Returns all (storage table, period) of a fact, in its order, coarse before fine."""
    return [
        StoredPeriod(fact, storage, table, period)
        for storage in fact.storages
        for table in storage.tables
        for period in sorted(table.layouts, reverse=True)
    ]


def base_periods(fact: Fact) -> list[StoredPeriod]:
    """Returns the places of the base of a fact: one, or several copies."""
    return [stored for stored in stored_periods(fact) if stored.is_base]


def carried(columns: Collection[str] | None, cube: Cube) -> tuple[tuple[Column, ...], tuple[Measure, ...]]:
    """Returns the dimensions and measures of a cube among some columns; all of them for ``None``."""
    names = None if columns is None else {name.lower() for name in columns}
    return (
        tuple(column for column in cube.dimensions if names is None or column.name.lower() in names),
        tuple(measure for measure in cube.measures if names is None or measure.name.lower() in names),
    )


def surplus_columns(stored: StoredPeriod, table: Table, cube: Cube) -> list[str]:
    """Returns the columns of the table of a rollup that the fact does not list for it: REFRESH FACT has no values for
    them, and leaves the table alone. Those that ALTER CUBE … DROP has left in a table that ROLLUPS has made do not
    count: they are NULL from then on.
    """
    layouts = [layout for layouts in stored.table.layouts_of_times for layout in layouts.values()]
    known = cube.columns_in(stored.fact.columns_of(stored.table)) | {time.lower() for time in stored.table.times}
    known |= {column.lower() for layout in layouts for column in layout.columns}
    filled = table.partition_columns if stored.table.made else table.all_columns
    return [column.name for column in filled if column.name.lower() not in known]


def skipped_tables(fact: Fact, snapshot: Snapshot) -> dict[str, list[str]]:
    """Returns the managed tables of rollups that REFRESH FACT leaves alone, by name, each with the columns that it has
    and the fact does not list.
    """
    cube, skipped = snapshot.cube(fact.cube), dict[str, list[str]]()
    for stored in stored_periods(fact):
        table = snapshot.table(stored.table.table)
        if not (stored.is_base or stored.table.trusted or table.external):
            columns = surplus_columns(stored, table, cube)
            skipped |= {table.name: columns} if columns else {}
    return skipped


def widths(stored: StoredPeriod, time: RangeSet, snapshot: Snapshot) -> Iterator[tuple[tuple[str, ...], RangeSet]]:
    """Yields the parts of a time of whole periods, each with the columns that its partitions lack because the table got
    them later; the partitions that have all columns come last. Yields no empty part. O(ranges).
    """
    table, period = stored.table, stored.period
    for number, widening in enumerate(table.widenings):
        if widening.columns:
            line = snapshot.lacking(table.table, period, table.time, widening.columns)
            lacking = times(period, line.ranges()) & time
            if lacking:
                yield table.lacking_columns(number), lacking
            time -= lacking
    if time:
        yield (), time


def passed_time(stored: StoredPeriod, now: int) -> RangeSet:
    """Returns the time of the whole periods that the RETAIN of a table does not keep at an instant, in microseconds
    since 1970.
    """
    if stored.table.retain is None:
        return RangeSet.EMPTY
    cutoff = earlier(stored.table.retain, now, stored.fact.calendar)
    return RangeSet.of(TimeRange(MIN_INSTANT, stored.period.floor(cutoff)))


def times(period: Period, ordinals: Sequence[OrdinalRange]) -> RangeSet:
    """Returns the time of periods."""
    starts, ends = period.starts(r.start for r in ordinals), period.starts(r.end for r in ordinals)
    return RangeSet.of_bounds(list(zip(starts, ends, strict=True)))


def time_of_ordinals(period: Period, ordinals: Iterable[int]) -> RangeSet:
    """Returns the time of single periods."""
    return RangeSet(TimeRange(period.start(ordinal), period.end(ordinal)) for ordinal in ordinals)


def first_periods(period: Period, time: RangeSet, count: int) -> RangeSet:
    """Returns the time of the oldest ``count`` periods of a time that consists of whole periods. O(ranges)."""
    taken: list[TimeRange] = []
    for range_ in time:
        if count <= 0:
            break
        first = period.ordinal(range_.start)
        end = min(period.ordinal(range_.end - 1) + 1, first + count)
        taken.append(TimeRange(range_.start, period.start(end)))
        count -= end - first
    return RangeSet(taken)


def within(period: Period, time: RangeSet) -> RangeSet:
    """Returns the time of the periods that lie wholly inside the time."""
    # The first period that starts in a range follows the one before the range.
    before = period.ordinals(range_.start - 1 for range_ in time)
    starts = period.starts(ordinal + 1 for ordinal in before)
    ends = period.starts(period.ordinals(range_.end for range_ in time))
    return RangeSet.of_bounds([pair for pair in zip(starts, ends, strict=True) if pair[0] < pair[1]])
