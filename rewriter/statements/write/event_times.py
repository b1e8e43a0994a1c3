"""Proves that the events of a write lie in the periods of their partitions.

A cover reads the events of a RAW table by partitions, and a condition selects by the events' time. So a query would
lose an event that lies in the partition of another period. An event without a time belongs into the partition of NULL
time, because a condition on time may rule out all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rewriter.catalog.facts.time_binding import Slot, TimeBinding
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.errors import DataError, Error
from rewriter.exec.engine import EngineQuery, ScanFile, WrittenFile, table_relation
from rewriter.exec.parquet_footers import time_bounds
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.arms import Arm
from rewriter.planner.model.plan import SqlTemplate, quote_identifier
from rewriter.planner.rewrite.union_arms import partition_column, relation
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Partition, PartitionValues, Table
    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.calendars import Period

_START = "rewriter_period_start"


def check_events(table: Table, files: Iterable[WrittenFile], context: Context) -> None:
    """Raises ``DataError`` TIME_OUTSIDE_PARTITION if a file of a RAW table holds an event of another period than its
    partition's, or one without a time. Does nothing for other tables.

    The footers of Parquet files prove most writes, at about 0.2 ms each. The engine reads the times in the other files
    by one query.
    """
    events = _events_of(table, context)
    if events is None:
        return
    scanned = (ScanFile(file.path, file.values, file.bytes, part=file.part) for file in files)
    undecided = [file for file in scanned if not events.footer_proves(file)]
    for error in events.misplaced(undecided, context) if undecided else ():
        raise error


def latest_event(table: Table, files: Iterable[WrittenFile], context: Context) -> int | None:
    """Returns the time of the last event in files of a RAW table, in microseconds, if footers of Parquet files state
    it; else ``None``.
    """
    events = _events_of(table, context)
    if events is None or events.column is None or table.format != "parquet":
        return None
    bounds = [time_bounds(path, events.column) for path in {file.path for file in files}]
    return max((bound[1] for bound in bounds if bound is not None), default=None)


def check_moved(
    source: Table, moved: Iterable[tuple[Partition, PartitionValues]], target: Table, context: Context
) -> None:
    """Raises TIME_OUTSIDE_PARTITION where managed partitions that move into ``target``, each with its new values, hold
    events of other periods. The files of external tables are on the user's word.
    """
    if target.external or _events_of(target, context) is None:
        return
    values = {partition.key: new_values for partition, new_values in moved}
    files = context.snapshot.files(source, [KeyRange.of_key(key) for key in values])
    check_events(
        target,
        (WrittenFile(file.path, values[old.key], file.rows, file.bytes, file.part) for old, file in files),
        context,
    )


def _events_of(table: Table, context: Context) -> _Events | None:
    """Returns the events that a table holds; ``None`` if no fact declares it RAW."""
    fact = context.snapshot.fact_using(table.name)
    stored = fact.storage_table(table.name) if fact is not None else None
    if fact is None or stored is None or stored.raw is None or context.snapshot.table(table.name).id != table.id:
        return None
    time = next((sql for name, sql in stored.raw.items() if name.lower() == stored.time.lower()), stored.time)
    columns = (column for column in table.columns if column.type.lower() == "timestamp")
    spelled = (c.name for c in columns if time.lower() in (c.name.lower(), quote_identifier(c.name).lower()))
    return _Events(TimeBinding(fact, stored, table), context.snapshot.cube(fact.cube), next(spelled, None))


@dataclass(frozen=True)
class _Events:
    """The events of a RAW table: how its partitions name their period, and the column of the time in its files.

    ``column`` is ``None`` if the time is not a TIMESTAMP column as it is.
    """

    binding: TimeBinding
    cube: Cube
    column: str | None

    def footer_proves(self, file: ScanFile) -> bool:
        """Returns True if the footer states that all events of a file lie in the period of its partition."""
        slot = self.binding.locate(file.values)
        if self.column is None or slot is None or file.part is not None or self.binding.table.format != "parquet":
            return False
        bounds = time_bounds(file.path, self.column)
        return bounds is not None and slot.start <= bounds[0] and bounds[1] < slot.end

    def misplaced(self, files: Sequence[ScanFile], context: Context) -> Iterator[DataError]:
        """Yields an error for each period whose partitions hold events of another one, by one query over the files."""
        for start, first, last, events, timed in self._summaries(files, context):
            slot = None if start is None else Slot(self._period, self._period.ordinal(start))
            if slot is not None and timed < events:
                yield self._error(None, slot)
            for time in (first, last):
                if time is not None and (slot is None or not slot.start <= time < slot.end):
                    yield self._error(time, slot)

    def _summaries(self, files: Sequence[ScanFile], context: Context) -> Iterator[Sequence[Any]]:
        """Yields (start of the partitions' period, first time, last time, events, events with a time); instants in
        microseconds, ``None`` for NULL.
        """
        table, stored = self.binding.table, self.binding.storage_table
        layout, time = stored.layouts[self._period], quote_identifier(stored.time)
        slots = [self.binding.locate(values) for values in {file.values for file in files}]
        ordinals = [slot.ordinal for slot in slots if slot is not None]
        arms = [Arm(table, stored, layout, (OrdinalRange(min(ordinals), max(ordinals) + 1),))] if ordinals else []
        arms += [Arm(table, stored, layout, (), null_time=True)] if None in slots else []
        template = SqlTemplate(
            (
                f"SELECT {_START}, MIN({time}) AS earliest, MAX({time}) AS latest, COUNT(*) AS n, "
                f"COUNT({time}) AS timed FROM ",
                *relation(arms, self.cube, [stored.time], {_START: self._start}),
                f" AS {quote_identifier('events')} GROUP BY {_START} ORDER BY {_START}",
            )
        )
        name = f"rw_{next(context.serial)}_events"
        read = table_relation(name, table, tuple(files)).with_hidden_columns()
        try:
            result = context.engine().execute(EngineQuery(template.render(lambda _: name), (read,))).read_all()
        except Error as error:
            error.message = f"The times of the events that {table.name} receives cannot be read: {error.message}"
            error.position = None  # The position was in a generated query.
            raise
        yield from zip(*(column.cast(pa.int64()).to_pylist() for column in result.columns), strict=True)

    def _start(self, arm: Arm) -> str:
        return partition_column(arm, self.binding.storage_table.time, self.cube)

    def _error(self, time: int | None, slot: Slot | None) -> DataError:
        stored = self.binding.storage_table
        event = "without a time" if time is None else f"at {self.cube.calendar.text(time)}"
        return DataError(
            f"An event {event} lies outside the period of its partition {self._partition(slot)} of {stored.table}.",
            condition="TIME_OUTSIDE_PARTITION",
            object=stored.table,
            hint=self._hint(time),
        )

    def _hint(self, time: int | None) -> str:
        stored = self.binding.storage_table
        slot = None if time is None else Slot(self._period, self._period.ordinal(time))
        try:
            return f"Write each event into the partition of its {stored.time}: this one into {self._partition(slot)}."
        except DataError:
            return f"No partition of {stored.table} holds events of that time."

    def _partition(self, slot: Slot | None) -> str:
        """Returns the part of the partitions' names that names a period; ``None`` is NULL."""
        layout = self.binding.storage_table.layouts[self._period]
        values = tuple(None for _ in layout.columns) if slot is None else layout.values(slot.ordinal)
        return partition_name(layout.columns, values)

    @property
    def _period(self) -> Period:
        return next(iter(self.binding.storage_table.layouts))
