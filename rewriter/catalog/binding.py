"""How the partitions of a fact's storage tables stand in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rewriter.catalog.models import Fact, StorageTable, Table
from rewriter.catalog.values import partition_name
from rewriter.errors import AnalysisError, DataError, IntegrityError, NotSupportedError
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod


@dataclass(frozen=True, order=True)
class Slot:
    """A place on a timeline: the partition of one update period that a partition's values name."""

    period: UpdatePeriod
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
    def base_period(self) -> UpdatePeriod:
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
    def rollup_periods(self) -> tuple[UpdatePeriod, ...]:
        """The periods of the table whose freshness we keep, fine to coarse; none where the owner promises it."""
        if self.promised:
            return ()
        return tuple(sorted(period for period in self.storage_table.layouts if period != self.base_period))

    @cached_property
    def _readers(
        self,
    ) -> tuple[tuple[UpdatePeriod, TimeLayout, Callable[[Sequence[str | None]], list[str | None]]], ...]:
        names = [column.name.lower() for column in self.table.partition_columns]
        readers = []
        for period, layout in sorted(self.storage_table.layouts.items()):
            places = [names.index(column.lower()) for column in layout.columns]
            readers.append((period, layout, lambda values, places=places: [values[place] for place in places]))
        return tuple(readers)

    def locate(self, values: Sequence[str | None]) -> Slot | None:
        """The slot that the partition's values name; ``None`` for the NULL partition of a base table.

        Raises ``DataError`` INVALID_TIME_PARTITION where they fit no layout of the table, or more than one.
        """
        if self.has_base and all(value is None for value in values):
            return None
        slots: list[Slot] = []
        first: DataError | None = None
        for period, layout, pick in self._readers:
            try:
                slots.append(Slot(period, layout.ordinal(pick(values))))
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


def bind(fact: Fact, find: Callable[[str], object]) -> tuple[TimeBinding, ...]:
    """The bindings of a new fact's tables, in its order; ``find`` answers the object of a name, or ``None``.

    Raises ``AnalysisError`` where a table is not there, ``IntegrityError`` where one is named twice, and
    ``NotSupportedError`` where the time layouts leave partition columns over.
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
    names = {column.name.lower() for column in table.partition_columns}
    for period, layout in storage_table.layouts.items():
        wanted = {column.lower() for column in layout.columns}
        if wanted - names:
            raise AnalysisError(
                f"'{sorted(wanted - names)[0]}' of the {period.name} layout is no partition column of '{table.name}'",
                condition="INVALID_TIME_LAYOUT",
                object=table.name,
                hint=f"its partition columns are {', '.join(c.name for c in table.partition_columns) or 'none'}",
            )
        if names - wanted:
            raise NotSupportedError(
                f"the {period.name} layout of '{table.name}' leaves the partition column '{sorted(names - wanted)[0]}' "
                "over, so a period could exist because a part of it landed",
                condition="INCOMPLETE_TIME_LAYOUT",
                object=table.name,
                hint="partition the storage table by time alone",
            )
