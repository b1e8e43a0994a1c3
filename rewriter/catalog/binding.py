"""How the partitions of a fact's storage tables stand in time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from rewriter.catalog.keys import KeyRange, prefix_of, successor
from rewriter.catalog.models import Fact, PartitionValues, StorageTable, Table
from rewriter.catalog.values import partition_name
from rewriter.errors import AnalysisError, DataError, IntegrityError, NotSupportedError
from rewriter.timeline.calendars import Period
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant
from rewriter.timeline.timelines import OrdinalRange


@dataclass(frozen=True, order=True)
class Slot:
    """A place on a timeline: the partition of one update period that a partition's values name."""

    period: Period
    ordinal: int

    @property
    def start(self) -> int:
        """The first instant, in microseconds."""
        return self.period.start(self.ordinal)

    @property
    def end(self) -> int:
        """The instant after the last."""
        return self.period.end(self.ordinal)


@dataclass(frozen=True)
class TimeBinding:
    """A storage table of a fact together with the table it names."""

    fact: Fact
    storage_table: StorageTable
    table: Table

    @cached_property
    def time_key(self) -> str:
        """The time dimension that the partitions name, in lower case."""
        return self.storage_table.time.lower()

    @cached_property
    def base_period(self) -> Period:
        """The base period of the fact (not of this table)."""
        return self.fact.base_period

    @property
    def has_base(self) -> bool:
        """Whether the table holds base partitions."""
        return self.base_period in self.storage_table.layouts

    @property
    def promised(self) -> bool:
        """Whether the owner promises that it is right: external or TRUSTED tables are never outdated."""
        return self.table.external or self.storage_table.trusted

    @property
    def rollup_periods(self) -> tuple[Period, ...]:
        """The periods of the table whose freshness we keep, fine to coarse; none where the owner promises it."""
        if self.promised:
            return ()
        return tuple(sorted(period for period in self.storage_table.layouts if period != self.base_period))

    @property
    def parted(self) -> bool:
        """Whether a period consists of several partitions, because there are partition columns that name no time."""
        return bool(self.storage_table.complete)

    @cached_property
    def further(self) -> tuple[str, ...]:
        """The partition columns that name no time, in lower case and in the table's order."""
        return tuple(self._names[place] for place in self._further)

    def combination(self, values: PartitionValues) -> PartitionValues:
        """The values of the further partition columns among those of a partition."""
        return tuple(values[place] for place in self._further)

    def is_whole(self, combinations: Collection[PartitionValues]) -> bool:
        """Whether a period with partitions for these combinations is whole, as COMPLETE WITH says. O(combinations)."""
        listed = {one.column.lower(): set(one.values) for one in self.storage_table.complete if one.values is not None}
        places = [(place, listed[name]) for place, name in enumerate(self.further) if name in listed]
        found = {
            tuple(combination[place] for place, _ in places)
            for combination in combinations
            if all(combination[place] in wanted for place, wanted in places)
        }
        return bool(combinations) and len(found) == math.prod(len(wanted) for _, wanted in places)

    def shared(self, other: TimeBinding) -> tuple[tuple[int, int], ...]:
        """The further partition columns that both tables have: their places in the combinations of each."""
        theirs = {name: place for place, name in enumerate(other.further)}
        return tuple((place, theirs[name]) for place, name in enumerate(self.further) if name in theirs)

    def key_range(self, period: Period, ordinals: OrdinalRange) -> KeyRange:
        """Keys among which all partitions of these periods are. The time columns must be the first ones."""
        layout, types = self.storage_table.layouts[period], [column.type for column in self.table.partition_columns]
        first = prefix_of(self.table.id, types, layout.values(ordinals.start))
        return KeyRange(first, successor(prefix_of(self.table.id, types, layout.values(ordinals.end - 1))))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name.lower() for column in self.table.partition_columns)

    @cached_property
    def _further(self) -> tuple[int, ...]:
        timed = {column.lower() for layout in self.storage_table.layouts.values() for column in layout.columns}
        return tuple(place for place, name in enumerate(self._names) if name not in timed)

    @cached_property
    def _readers(
        self,
    ) -> tuple[tuple[Period, TimeLayout, Callable[[Sequence[str | None]], list[str | None]]], ...]:
        readers = []
        for period, layout in sorted(self.storage_table.layouts.items()):
            places = [self._names.index(column.lower()) for column in layout.columns]
            readers.append((period, layout, lambda values, places=places: [values[place] for place in places]))
        return tuple(readers)

    def locate(self, values: Sequence[str | None]) -> Slot | None:
        """The slot that the partition's values name; ``None`` for the NULL partition of a base table.

        Raises ``DataError`` INVALID_TIME_PARTITION where they fit no layout of the table, or more than one.
        """
        if self.has_base and all(v is None for place, v in enumerate(values) if place not in self._further):
            return None
        slots: list[Slot] = []
        first: DataError | None = None
        for period, layout, pick in self._readers:
            try:
                slot = Slot(period, layout.ordinal(pick(values)))
                _check_length(slot, self)
                slots.append(slot)
            except DataError as error:
                first = first or error
        if len(slots) == 1:
            return slots[0]
        name = partition_name(self.table.partition_columns, tuple(values))
        if first is not None and not slots and len(self._readers) == 1:
            raise DataError(
                f"partition {name} of {self.table.name}: {first.message}",
                condition="INVALID_TIME_PARTITION",
                object=first.object,
                hint=first.hint,
            )
        layouts = "; ".join(
            f"{period.name} " + ", ".join(f"{part.column} '{part.pattern}'" for part in layout.parts)
            for period, layout, _ in self._readers
        )
        fits = " and ".join(slot.period.name for slot in slots) or "none"
        raise DataError(
            f"partition {name} of {self.table.name} must fit exactly one of its time layouts, and fits {fits}",
            condition="INVALID_TIME_PARTITION",
            object=self.table.name,
            hint=f"the layouts of {self.table.name} are {layouts}",
        )


def _check_length(slot: Slot, binding: TimeBinding) -> None:
    """A date that the zone leaves out is the name of no partition."""
    if not isinstance(slot.period, UpdatePeriod) and slot.start == slot.end:
        named = format_instant(slot.period.kind.start(slot.ordinal))
        raise DataError(
            f"{binding.fact.zone} has no {named}: its clocks went past that day",
            condition="INVALID_TIME_PARTITION",
            object=binding.table.name,
            hint="leave the partition out; no time is missing without it",
        )


def bind(fact: Fact, find: Callable[[str], object]) -> tuple[TimeBinding, ...]:
    """The bindings of a new fact's tables, in its order; ``find`` answers the object of a name, or ``None``.

    Raises ``AnalysisError`` where a table is not there, ``IntegrityError`` where one is named twice,
    ``NotSupportedError`` where the time layouts leave partition columns over of which COMPLETE WITH says nothing, and
    where such columns stand before those of time.
    """
    bindings: dict[int, TimeBinding] = {}
    for storage_table in fact.tables:
        table = find(storage_table.table)
        if not isinstance(table, Table):
            raise AnalysisError(
                f"the table '{storage_table.table}' of fact '{fact.name}' cannot be found",
                condition="TABLE_OR_VIEW_NOT_FOUND",
                sqlstate="42P01",
                object=storage_table.table,
                hint="create the storage tables of a fact before the fact",
            )
        if table.id in bindings:
            raise IntegrityError(
                f"fact '{fact.name}' names the table '{table.name}' twice",
                condition="DUPLICATE_STORAGE_TABLE",
                object=table.name,
                hint="give one TABLE clause all update periods of the table",
            )
        _check_columns(table, storage_table)
        bindings[table.id] = TimeBinding(fact, storage_table, table)
    return tuple(bindings.values())


def _check_columns(table: Table, storage_table: StorageTable) -> None:
    columns = [column.name.lower() for column in table.partition_columns]
    names, complete = set(columns), {one.column.lower() for one in storage_table.complete}
    for period, layout in storage_table.layouts.items():
        timed = [column.lower() for column in layout.columns]
        if set(timed) - names:
            raise AnalysisError(
                f"'{sorted(set(timed) - names)[0]}' of the {period.name} layout is no partition column of "
                f"'{table.name}'",
                condition="INVALID_TIME_LAYOUT",
                object=table.name,
                hint=f"its partition columns are {', '.join(c.name for c in table.partition_columns) or 'none'}",
            )
        further = names - set(timed)
        if further - complete:
            column = sorted(further - complete)[0]
            raise NotSupportedError(
                f"the {period.name} layout of '{table.name}' leaves the partition column '{column}' over, so a period "
                "could exist because a part of it landed",
                condition="INCOMPLETE_TIME_LAYOUT",
                object=table.name,
                hint=f"say when a period is whole: COMPLETE WITH {column} IN (…), or COMPLETE WITH ANY {column}",
            )
        if complete - further:
            raise AnalysisError(
                f"'{sorted(complete - further)[0]}' is no partition column of '{table.name}' beside those of time",
                condition="INVALID_FACT",
                object=table.name,
                hint="COMPLETE WITH names the partition columns that name no time",
            )
        if complete and columns[: len(timed)] != timed:
            raise NotSupportedError(
                f"'{table.name}' has partition columns before those of time, or these in another order than "
                f"its {period.name} layout",
                condition="INVALID_TIME_LAYOUT",
                object=table.name,
                hint="PARTITIONED BY (time columns, coarse to fine, then the others)",
            )
