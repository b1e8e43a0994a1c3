"""MARK COMPLETE: makes base periods that are absent from a stretch of time present and empty.

The owner of a fact thereby states that nothing happened in hours for which no data came. The periods are registered
without rows, in one commit; in an external table, their directories are made before. A rollup that was computed without
them is then complete. A period that was dropped had rows, so it stays dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit import partition_rows
from rewriter.catalog.facts.time_binding import TimeBinding, time_values
from rewriter.catalog.keys.encoding import partition_key
from rewriter.catalog.model.changes import AddPartitions, PartitionWrite
from rewriter.catalog.model.objects import Column, Fact, Partition, PartitionValues, StorageTable, Table
from rewriter.catalog.storage.data_files import directory
from rewriter.catalog.storage.partition_directories import make_directories, names_in
from rewriter.errors import AnalysisError, DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.validity import window
from rewriter.statements.resolve.fact_periods import StoredPeriod, base_periods, time_of_ordinals, times, within
from rewriter.statements.show.coverage import range_between
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.grammar.families import fact_changes as s
    from rewriter.runtime.statement_context import Context

#: The most base periods that one statement marks.
_MOST_PERIODS = 1_000_000


@dataclass(frozen=True)
class Absence:
    """The base periods of one table that are absent from a range of time. Those in ``dropped`` stay absent, and those
    in ``filled``, which a stream fills, until its trigger commits them.
    """

    stored: StoredPeriod
    time: RangeSet
    dropped: RangeSet
    filled: RangeSet

    def partitions(
        self, context: Context, written: Collection[PartitionValues] = frozenset()
    ) -> tuple[PartitionWrite, ...]:
        """Returns the partitions, without rows, that make the absent periods complete, beside the ``written`` ones.

        Raises ``AnalysisError`` FILES_NOT_REGISTERED where the directory of such a partition in an external table
        has files.
        """
        return tuple(PartitionWrite(values) for values in _values(self.stored, self.time, written, context))


def absences(fact: Fact, action: s.MarkComplete, context: Context, table: str | None = None) -> tuple[Absence, ...]:
    """Returns the periods that the base of a fact lacks in the range of MARK COMPLETE; with ``table``, the periods of
    that table alone.

    Each period is marked in the first table whose storage is valid then. Raises ``DataError`` for a bound that
    cannot be read or lies inside a base period, and for a range of more than ``_MOST_PERIODS`` of them.
    """
    base = fact.base_period
    requested = range_between(action.start, action.end, fact, context)
    if any(not (base.is_aligned(range_.start) and base.is_aligned(range_.end)) for range_ in requested):
        raise DataError(
            f"MARK COMPLETE takes whole {base.name} periods of the fact {fact.name}.",
            condition="INVALID_TIME_RANGE",
            position=action.span,
            object=fact.name,
            hint=f"Write bounds at which {base.name} periods begin.",
        )
    if sum(base.ordinal(range_.end - 1) + 1 - base.ordinal(range_.start) for range_ in requested) > _MOST_PERIODS:
        raise DataError(
            f"MARK COMPLETE takes at most {_MOST_PERIODS:,} {base.name} periods at once.",
            condition="INVALID_TIME_RANGE",
            position=action.span,
            object=fact.name,
            hint="Mark a shorter range.",
        )
    stored_periods = [
        stored for stored in base_periods(fact) if table is None or stored.table.table.lower() == table.lower()
    ]
    existing = dropped = RangeSet.EMPTY
    for stored in base_periods(fact):
        existing |= times(base, context.snapshot.timeline(stored.table.table, base, stored.table.time).ranges())
        dropped |= times(base, context.snapshot.retired(stored.table.table, base, stored.table.time).ranges())
    remaining, result = requested - existing, []
    for stored in stored_periods:
        valid = within(base, window(stored.storage, stored.table, context.planning.now, fact.calendar))
        absent = remaining & valid
        filled = times(base, context.snapshot.open(stored.table.table, base, stored.table.time).ranges())
        gone = dropped | _dropped_before(stored, absent - dropped, context)
        result.append(Absence(stored, absent - gone, absent & gone, absent & filled - gone))
        remaining = remaining - valid
    return tuple(result)


def _dropped_before(stored: StoredPeriod, absent: RangeSet, context: Context) -> RangeSet:
    """Returns the periods of which a partition was dropped before the fact was created: they had rows, and are not
    empty. One look-up for each partition that would be marked.
    """
    table = context.snapshot.table(stored.table.table)
    binding = TimeBinding(stored.fact, stored.table, table)
    keys = {partition_key(table, values): values for values in _partition_values(stored, absent, table)}
    if not keys:
        return RangeSet.EMPTY
    with context.catalog.database.read() as connection:
        gone = partition_rows.retired(connection, sorted(keys))
    slots = [slot for key in gone if (slot := binding.locate(keys[key])) is not None]
    return time_of_ordinals(stored.period, sorted({slot.ordinal for slot in slots}))


def additions(fact: Fact, action: s.MarkComplete, context: Context) -> tuple[list[AddPartitions], tuple[Absence, ...]]:
    """Returns the changes that MARK COMPLETE makes to a whole fact, and the absences that they fill."""
    absences_ = absences(fact, action, context)
    changes = []
    for absence in absences_:
        partitions = absence.partitions(context)
        if partitions:
            table = context.snapshot.table(absence.stored.table.table)
            _make_directories(table, partitions, context)
            changes.append(AddPartitions(table, partitions, if_not_exists=True))
    return changes, absences_


def loaded_window(
    action: s.MarkComplete, binding: TimeBinding | None, written: Iterable[PartitionValues], context: Context
) -> tuple[AddPartitions, ...]:
    """Returns the partitions that MARK COMPLETE of an INSERT adds to the base partitions that the INSERT writes.

    The caller has called ``check_window`` before.
    """
    if binding is None:
        return ()
    written_values = set(written)
    changes = []
    for absence in absences(binding.fact, action, context, binding.table.name):
        partitions = absence.partitions(context, written_values)
        if partitions:
            _make_directories(binding.table, partitions, context)
            changes.append(AddPartitions(binding.table, partitions, if_not_exists=True))
    return tuple(changes)


def empty_copies(
    action: s.MarkComplete | None, binding: TimeBinding | None, written: Iterable[PartitionValues], context: Context
) -> list[PartitionValues]:
    """Returns the existing base partitions that have no rows because an INSERT found none to copy, and for which an
    INSERT OVERWRITE has looked again: in the range of its MARK COMPLETE, and in the periods that it writes.
    """
    if binding is None or not binding.has_base or (action is None and not binding.parted):
        return []
    requested = RangeSet.EMPTY if action is None else range_between(action.start, action.end, binding.fact, context)
    slots = {slot for values in written if (slot := binding.locate(values)) is not None}
    requested |= RangeSet(TimeRange(slot.start, slot.end) for slot in slots if binding.is_base(slot.period))
    period = binding.base_period
    runs = (OrdinalRange(period.ordinal(time.start), period.ordinal(time.end - 1) + 1) for time in requested)
    ranges = [key_range for run in runs for key_range in binding.key_ranges(period, run)]
    copied = context.snapshot.origins(binding.table, ranges) if ranges else {}
    partitions = context.snapshot.partitions(binding.table, ranges) if copied else ()
    return [partition.values for partition in partitions if copied.get(partition.key) and not partition.files]


def _make_directories(table: Table, partitions: Iterable[PartitionWrite], context: Context) -> None:
    """Makes the directories of empty partitions of an external table: one that does not exist is not empty."""
    if table.external and context.rehearsed is None:
        make_directories(table, [directory(table, Partition(b"", partition.values)) for partition in partitions])


def check_window(action: s.MarkComplete, binding: TimeBinding | None, context: Context) -> None:
    """Refuses MARK COMPLETE of an INSERT before any work, with the errors of ``absences``.

    Raises ``AnalysisError`` NOT_A_BASE_TABLE where the table holds no base partitions of a fact.
    """
    if binding is None or not binding.has_base:
        raise AnalysisError(
            "MARK COMPLETE is only allowed in an INSERT into a table with base partitions of a fact.",
            condition="NOT_A_BASE_TABLE",
            position=action.span,
            hint="Leave the clause out, or write ALTER FACT … MARK COMPLETE FROM … TO ….",
        )
    absences(binding.fact, action, context, binding.table.name)


def _values(
    stored: StoredPeriod, ranges: RangeSet, written: Collection[PartitionValues], context: Context
) -> Iterator[PartitionValues]:
    """Yields the partitions to mark, whose directories in an external table are empty."""
    table = context.snapshot.table(stored.table.table)
    for values in _partition_values(stored, ranges, table):
        if values in written:
            continue
        if table.external:
            _check_empty(directory(table, Partition(b"", values)), table.name)
        yield values


def _partition_values(stored: StoredPeriod, ranges: RangeSet, table: Table) -> Iterator[PartitionValues]:
    period = stored.period
    layout = stored.table.layouts[period]
    combinations = list(_combinations(stored.table, table.partition_columns[len(layout.columns) :]))
    for range_ in ranges:
        for ordinal in range(period.ordinal(range_.start), period.ordinal(range_.end - 1) + 1):
            if period.start(ordinal) == period.end(ordinal):
                continue  # A date that the zone leaves out has no partition.
            for other_values in combinations:
                yield (*time_values(table, layout, ordinal), *other_values)


def _combinations(storage_table: StorageTable, other_columns: Sequence[Column]) -> Iterator[PartitionValues]:
    """Returns the values that COMPLETE WITH requires within one period. Where any value serves, and for another time,
    NULL does.
    """
    rules = {rule.column.lower(): rule.values for rule in storage_table.complete}
    return itertools.product(*(rules.get(column.name.lower()) or (None,) for column in other_columns))


def _check_empty(path: str, name: str) -> None:
    if names_in(path):
        raise AnalysisError(
            f"The directory {path} of the external table {name} is not registered and has files.",
            condition="FILES_NOT_REGISTERED",
            object=name,
            hint=f"MSCK REPAIR TABLE {name} registers it.",
        )
