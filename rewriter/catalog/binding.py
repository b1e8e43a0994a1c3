"""How the partitions of a fact's storage tables stand in time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Fact, PartitionValues, StorageTable, Table
from rewriter.catalog.partition_types import partition_type
from rewriter.catalog.time_keys import time_ranges
from rewriter.catalog.values import partition_name
from rewriter.errors import AnalysisError, DataError, IntegrityError, NotSupportedError
from rewriter.timeline.calendars import Period
from rewriter.timeline.layouts import TimeLayout, check_told_apart
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant
from rewriter.timeline.timelines import OrdinalRange

#: The property of a table that names the update period of all its partitions.
UPDATE_PERIOD = "cube.storagetable.partition.update.period"


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


#: What tells the partitions of one period from each other: texts of columns that name no time, ordinals of the periods
#: that they name of other times; ``None`` is NULL.
Combination = tuple[str | int | None, ...]
_Pick = Callable[[Sequence[str | None]], list[str | None]]


def overlapped(slot: Slot, period: Period) -> range:
    """The ordinals of the periods that share time with the slot."""
    return range(period.ordinal(slot.start), period.ordinal(slot.end - 1) + 1)


@dataclass(frozen=True)
class TimeBinding:
    """A storage table of a fact together with the table it names."""

    fact: Fact
    storage_table: StorageTable
    table: Table

    @cached_property
    def time_key(self) -> str:
        """The leading time dimension, in lower case."""
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
        """Whether a period consists of several partitions."""
        return self.storage_table.parted

    @cached_property
    def further(self) -> tuple[str, ...]:
        """What a combination consists of, in lower case: columns that name no time, in the table's order, and the other
        time dimensions.
        """
        return (*(self._names[place] for place in self._further), *self._other_keys)

    def combination(self, values: PartitionValues, slot: Slot | None) -> Combination:
        """What tells a partition from the others of its period; ``slot`` is where it stands (``locate``)."""
        plain = tuple(values[place] for place in self._further)
        return (*plain, *self._other_ordinals(values, slot.period if slot else self.base_period))

    def other_slots(self, values: PartitionValues) -> Iterator[tuple[str, Slot]]:
        """Where a partition that ``locate`` reads stands in the other time dimensions, given in lower case; nowhere in
        one that is NULL.
        """
        if self.storage_table.others:
            slot = self.locate(values)
            period = slot.period if slot else self.base_period
            for key, ordinal in zip(self._other_keys, self._other_ordinals(values, period), strict=True):
                if ordinal is not None:
                    yield key, Slot(period, ordinal)

    def is_whole(self, combinations: Collection[Combination]) -> bool:
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
        """What the combinations of both tables have in common: its places in those of each."""
        theirs = {name: place for place, name in enumerate(other.further)}
        return tuple((place, theirs[name]) for place, name in enumerate(self.further) if name in theirs)

    def seen_from(
        self, own: Period, combination: Combination, rollup: TimeBinding, period: Period
    ) -> Iterator[Combination]:
        """What both tables know of the combination of a partition of period ``own``, as rollup partitions of ``period``
        say it: of another time, the periods that share time with the partition's; one where those nest in them.
        """
        known: list[Sequence[str | int | None]] = []
        for _, place in rollup.shared(self):
            value = combination[place]
            times = overlapped(Slot(own, value), period) if isinstance(value, int) else None
            known.append((value,) if times is None else times)
        return itertools.product(*known)

    def key_ranges(self, period: Period, ordinals: OrdinalRange) -> tuple[KeyRange, ...]:
        """Keys among which all partitions of these periods are; others may be there, too."""
        return time_ranges(self.table, self.storage_table.layouts[period], [ordinals])

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name.lower() for column in self.table.partition_columns)

    @cached_property
    def _other_keys(self) -> tuple[str, ...]:
        return tuple(other.time.lower() for other in self.storage_table.others)

    @cached_property
    def _further(self) -> tuple[int, ...]:
        named = [self.storage_table.layouts, *(other.layouts for other in self.storage_table.others)]
        timed = {column.lower() for layouts in named for layout in layouts.values() for column in layout.columns}
        return tuple(place for place, name in enumerate(self._names) if name not in timed)

    @cached_property
    def _readers(self) -> tuple[tuple[Period, TimeLayout, _Pick], ...]:
        return tuple(
            (period, layout, self._picking(layout)) for period, layout in sorted(self.storage_table.layouts.items())
        )

    @cached_property
    def _other_readers(self) -> dict[Period, tuple[tuple[TimeLayout, _Pick], ...]]:
        return {
            period: tuple((o.layouts[period], self._picking(o.layouts[period])) for o in self.storage_table.others)
            for period in self.storage_table.layouts
        }

    def _picking(self, layout: TimeLayout) -> _Pick:
        places = [self._names.index(column.lower()) for column in layout.columns]
        return lambda values: [values[place] for place in places]

    def _other_ordinals(self, values: Sequence[str | None], period: Period) -> tuple[int | None, ...]:
        """What the values name of each other time; ``DataError`` where they name no such period, and are not NULL."""
        named = [(layout, pick(values)) for layout, pick in self._other_readers[period]]
        return tuple(layout.ordinal(one) if any(v is not None for v in one) else None for layout, one in named)

    def check_period(self, values: Sequence[str | None], properties: Mapping[str, str], slot: Slot | None) -> None:
        """Raises ``DataError`` INVALID_TIME_PARTITION where a partition's own ``UPDATE_PERIOD`` is not its slot's."""
        declared = declared_period(properties)
        if declared is not None and slot is not None and slot.period.kind is not declared:
            raise DataError(
                f"partition {partition_name(self.table.partition_columns, tuple(values))} of {self.table.name}: its "
                f"property {UPDATE_PERIOD} says {declared.name}, and its values name a {slot.period.name} period",
                condition="INVALID_TIME_PARTITION",
                object=self.table.name,
                hint="leave the property out: the values say it, too",
            )

    def locate(self, values: Sequence[str | None]) -> Slot | None:
        """The slot that the partition's values name; ``None`` for the NULL partition of a base table.

        Raises ``DataError`` INVALID_TIME_PARTITION where they fit no layout of the table, or more than one; all times
        that a partition names are of one period, or NULL.
        """
        slots: list[Slot | None] = []
        first: DataError | None = None
        for period, layout, pick in self._readers:
            named = pick(values)
            timeless = period == self.base_period and all(value is None for value in named)
            try:
                slot = None if timeless else Slot(period, layout.ordinal(named))
                if slot is not None:
                    _check_length(slot, self)
                for ordinal in self._other_ordinals(values, period):
                    if ordinal is not None:
                        _check_length(Slot(period, ordinal), self)
                slots.append(slot)
            except DataError as error:
                first = first or error
        if len(slots) == 1:
            return slots[0]
        name = partition_name(self.table.partition_columns, tuple(values))
        if first is not None and not slots and len(self._readers) == 1:
            walls = first.object is not None and first.object.lower() in self.storage_table.wall_columns
            raise DataError(
                f"partition {name} of {self.table.name}: {first.message}",
                condition="INVALID_TIME_PARTITION",
                object=first.object,
                hint=f"{first.hint}, midnight on the clocks of {self.fact.zone}" if walls else first.hint,
            )
        others = {period: [layout for layout, _ in found] for period, found in self._other_readers.items()}
        layouts = "; ".join(
            f"{period.name} " + ", ".join(part.declared for one in (layout, *others[period]) for part in one.parts)
            for period, layout, _ in self._readers
        )
        fits = " and ".join((slot.period if slot else self.base_period).name for slot in slots) or "none"
        raise DataError(
            f"partition {name} of {self.table.name} must fit exactly one of its time layouts, and fits {fits}",
            condition="INVALID_TIME_PARTITION",
            object=self.table.name,
            hint=f"the layouts of {self.table.name} are {layouts}",
        )


def declared_period(properties: Mapping[str, str]) -> UpdatePeriod | None:
    """The period that the property ``UPDATE_PERIOD`` of a table names; ``None`` where it is not set.

    Raises ``AnalysisError`` UNKNOWN_UPDATE_PERIOD for a value that is none.
    """
    text = properties.get(UPDATE_PERIOD)
    if text is None:
        return None
    try:
        return UpdatePeriod.named(text)
    except AnalysisError as error:
        error.message = f"the property {UPDATE_PERIOD} is '{text}', which is no update period"
        raise


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
    check_told_apart(storage_table.layouts.values())
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
        others = [other.layouts[period] for other in storage_table.others]
        for one in (layout, *others):
            _check_types(table, one)
        further = names - set(timed) - {column.lower() for one in others for column in one.columns}
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
        if set(columns[: len(timed)]) != set(timed):
            raise NotSupportedError(
                f"'{table.name}' has partition columns before those of time",
                condition="INVALID_TIME_LAYOUT",
                object=table.name,
                hint="PARTITIONED BY (time columns, then the others)",
            )


def _check_types(table: Table, layout: TimeLayout) -> None:
    types = {column.name.lower(): column.type for column in table.partition_columns}
    for part in layout.parts:
        if partition_type(types[part.column.lower()]).name != part.type:
            raise AnalysisError(
                f"'{part.column}' is of the type {types[part.column.lower()]} in '{table.name}', and of the type "
                f"{part.type} in its {layout.period.name} layout",
                condition="INVALID_TIME_LAYOUT",
                object=part.column,
                hint="a layout has the types of the partition columns",
            )
