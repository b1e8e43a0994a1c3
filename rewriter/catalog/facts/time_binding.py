"""The periods of the partitions of a fact's storage tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

from rewriter.catalog.keys.encoding import prefix, prefix_of
from rewriter.catalog.keys.types import partition_type
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.json_codec import damaged
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Fact, PartitionValues, StorageTable, Table
from rewriter.errors import AnalysisError, DataError, IntegrityError, NotSupportedError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.layouts import TimeLayout, check_distinguishable
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.timeline.calendars import Period

#: The property of a table that names the update period of all its partitions.
UPDATE_PERIOD = "cube.storagetable.partition.update.period"


@dataclass(frozen=True, order=True)
class Slot:
    """A position on a timeline: the period of one update period that a partition's values name."""

    period: Period
    ordinal: int

    @property
    def start(self) -> int:
        """The first instant, in microseconds."""
        return self.period.start(self.ordinal)

    @property
    def end(self) -> int:
        """The instant after the last one."""
        return self.period.end(self.ordinal)


#: The number of partitions whose slots a binding remembers.
_MOST_REMEMBERED = 10_000
#: The values that distinguish the partitions of one period: texts of columns that name no time, and ordinals of the
#: periods of other times; ``None`` is NULL.
Combination = tuple[str | int | None, ...]
_Pick = Callable[[Sequence[str | None]], list[str | None]]


def overlapped(slot: Slot, period: Period) -> range:
    """Returns the ordinals of the periods that share time with the slot."""
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
        """True if the table holds base partitions."""
        return any(self.is_base(period) for period in self.storage_table.layouts)

    def is_base(self, period: Period) -> bool:
        """Tests whether the table's partitions of a period hold base rows (``Fact.is_base``)."""
        return self.fact.is_base(self.storage_table, period)

    def since(self, made_by: int) -> int:
        """Returns the commit since which the table belongs to a fact that the commit ``made_by`` created."""
        return max(made_by, self.storage_table.joined)

    def first_since(self, made_by: int) -> int:
        """Returns the commit since which the table belongs to the fact, or to dropped facts of the same meaning."""
        return max(min([made_by, *(life.created for life in self.fact.earlier)]), self.storage_table.joined)

    def was_member(self, commit: int) -> bool:
        """Tests whether the table belonged to a dropped fact of the same meaning when a commit wrote into it."""
        joined = self.storage_table.joined
        return any(max(life.created, joined) < commit <= life.dropped for life in self.fact.earlier)

    @property
    def is_trusted(self) -> bool:
        """True if the owner guarantees its rollups: TRUSTED tables are never outdated or unproven."""
        return self.storage_table.trusted

    @property
    def coarser_periods(self) -> tuple[Period, ...]:
        """The periods of the table that hold rollups, fine to coarse."""
        return tuple(sorted(period for period in self.storage_table.layouts if not self.is_base(period)))

    @property
    def rollup_periods(self) -> tuple[Period, ...]:
        """The periods of the table whose freshness is tracked, fine to coarse; none if the table is TRUSTED."""
        return () if self.is_trusted else self.coarser_periods

    @property
    def parted(self) -> bool:
        """True if a period consists of several partitions."""
        return self.storage_table.parted

    @cached_property
    def combination_names(self) -> tuple[str, ...]:
        """The names of a combination's elements, in lower case: the columns that name no time, in the table's order,
        and then the other time dimensions.
        """
        return (*(self._names[index] for index in self._timeless_indexes), *self._other_keys)

    def combination(self, values: PartitionValues, slot: Slot | None) -> Combination:
        """Returns the values that distinguish a partition within its period; ``slot`` is its slot (``locate``)."""
        timeless_values = tuple(values[index] for index in self._timeless_indexes)
        return (*timeless_values, *self._other_ordinals(values, slot.period if slot else self.base_period))

    def other_slots(self, values: PartitionValues) -> Iterator[tuple[str, Slot]]:
        """Yields the slots of a partition in the other time dimensions, each with the dimension's name in lower case.

        A dimension whose value is NULL has no slot.
        """
        if self.storage_table.others:
            slot = self.locate(values)
            period = slot.period if slot else self.base_period
            for key, ordinal in zip(self._other_keys, self._other_ordinals(values, period), strict=True):
                if ordinal is not None:
                    yield key, Slot(period, ordinal)

    def is_whole(self, combinations: Collection[Combination]) -> bool:
        """Returns True if a period with these combinations is complete (COMPLETE WITH). O(combinations)."""
        listed = {
            completion.column.lower(): set(completion.values)
            for completion in self.storage_table.complete
            if completion.values is not None
        }
        required_values = [(index, listed[name]) for index, name in enumerate(self.combination_names) if name in listed]
        complete = {
            tuple(combination[index] for index, _ in required_values)
            for combination in combinations
            if all(combination[index] in required for index, required in required_values)
        }
        return bool(combinations) and len(complete) == math.prod(len(required) for _, required in required_values)

    def common_elements(self, other: TimeBinding) -> tuple[tuple[int, int], ...]:
        """Returns the indexes of the elements that the combinations of both tables have in common."""
        other_indexes = {name: index for index, name in enumerate(other.combination_names)}
        return tuple(
            (index, other_indexes[name]) for index, name in enumerate(self.combination_names) if name in other_indexes
        )

    def common_values(
        self, own_period: Period, combination: Combination, rollup: TimeBinding, period: Period
    ) -> Iterator[Combination]:
        """Yields the common elements of the combination of a partition of ``own_period``, as rollups of ``period``
        have them.

        For another time, these are the periods that share time with the partition's; a single one if the
        partition's period nests in ``period``.
        """
        alternatives: list[Sequence[str | int | None]] = []
        for _, index in rollup.common_elements(self):
            value = combination[index]
            times = overlapped(Slot(own_period, value), period) if isinstance(value, int) else None
            alternatives.append((value,) if times is None else times)
        return itertools.product(*alternatives)

    def key_ranges(self, period: Period, ordinals: OrdinalRange) -> tuple[KeyRange, ...]:
        """Returns key ranges with all partitions of these periods. They may contain other partitions, too."""
        return time_ranges(self.table, self.storage_table.layouts[period], [ordinals])

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name.lower() for column in self.table.partition_columns)

    @cached_property
    def _other_keys(self) -> tuple[str, ...]:
        return tuple(other.time.lower() for other in self.storage_table.others)

    @cached_property
    def _timeless_indexes(self) -> tuple[int, ...]:
        layouts_of_times = self.storage_table.layouts_of_times
        time_columns = {
            column.lower() for layouts in layouts_of_times for layout in layouts.values() for column in layout.columns
        }
        return tuple(index for index, name in enumerate(self._names) if name not in time_columns)

    @cached_property
    def _readers(self) -> tuple[tuple[Period, TimeLayout, _Pick], ...]:
        return tuple(
            (period, layout, self._picker(layout)) for period, layout in sorted(self.storage_table.layouts.items())
        )

    @cached_property
    def _other_readers(self) -> dict[Period, tuple[tuple[TimeLayout, _Pick], ...]]:
        return {
            period: tuple((o.layouts[period], self._picker(o.layouts[period])) for o in self.storage_table.others)
            for period in self.storage_table.layouts
        }

    def _picker(self, layout: TimeLayout) -> _Pick:
        indexes = [self._names.index(column.lower()) for column in layout.columns]
        return lambda values: [values[index] for index in indexes]

    def _other_ordinals(self, values: Sequence[str | None], period: Period) -> tuple[int | None, ...]:
        """Returns each other time's ordinal, ``None`` for NULL. ``DataError`` if the values name no such period."""
        texts_by_layout = [(layout, pick(values)) for layout, pick in self._other_readers[period]]
        return tuple(
            layout.ordinal(texts) if any(v is not None for v in texts) else None for layout, texts in texts_by_layout
        )

    def check_period(self, values: Sequence[str | None], properties: Mapping[str, str], slot: Slot | None) -> None:
        """Raises ``DataError`` INVALID_TIME_PARTITION if a partition's ``UPDATE_PERIOD`` differs from its slot."""
        declared = declared_period(properties)
        if declared is not None and slot is not None and slot.period.kind is not declared:
            raise DataError(
                f"partition {partition_name(self.table.partition_columns, tuple(values))} of "
                f"{self.table.name}: its property {UPDATE_PERIOD} is {declared.name}, but its values "
                f"name a {slot.period.name} period",
                condition="INVALID_TIME_PARTITION",
                object=self.table.name,
                hint="Remove the property: the values already determine the period.",
            )

    def locate(self, values: Sequence[str | None]) -> Slot | None:
        """Returns the slot that the partition's values name; ``None`` for the NULL partition of a base table.

        Raises ``DataError`` INVALID_TIME_PARTITION if they fit no layout of the table, or more than one. All times of a
        partition are of one period, or NULL. The slots of the first partitions are cached: a commit needs each
        of them several times.
        """
        key = tuple(values)
        if key in self._located:
            return self._located[key]
        slot = self._slot(key)
        if len(self._located) < _MOST_REMEMBERED:
            self._located[key] = slot
        return slot

    def places(self, values: Sequence[PartitionValues]) -> list[tuple[Period, int] | None]:
        """Returns the period and the ordinal of the slot of each partition, and raises, as ``locate`` does.

        In a table of one layout, nothing is called for each partition whose time the layout has kept.
        """
        if len(self._readers) == 1 and not self.storage_table.others:
            ((period, layout, _),) = self._readers
            indexes = [self._names.index(column.lower()) for column in layout.columns]
            times = values
            if indexes != list(range(len(self._names))):
                times = list(zip(*(map(itemgetter(index), values) for index in indexes), strict=True))
            ordinals = layout.ordinals(times)
            if isinstance(period, UpdatePeriod):  # Zones skip dates, which name no partition.
                pairs = zip(values, ordinals, strict=True)
                return [self._place(of) if ordinal is None else (period, ordinal) for of, ordinal in pairs]
        return list(map(self._place, values))

    def _place(self, values: PartitionValues) -> tuple[Period, int] | None:
        slot = self.locate(values)
        return None if slot is None else (slot.period, slot.ordinal)

    @cached_property
    def _located(self) -> dict[PartitionValues, Slot | None]:
        return {}

    def _slot(self, values: PartitionValues) -> Slot | None:
        slots, first_error = self._match_layouts(values)
        if len(slots) == 1:
            return slots[0]
        name = partition_name(self.table.partition_columns, values)
        if first_error is not None and not slots and len(self._readers) == 1:
            raise self._unreadable(name, first_error)
        raise self._ambiguous(name, slots)

    def _match_layouts(self, values: PartitionValues) -> tuple[list[Slot | None], DataError | None]:
        """Returns the slot of a partition by each layout that its values match, and the error of the first other
        layout.
        """
        slots: list[Slot | None] = []
        first_error: DataError | None = None
        for period, layout, pick in self._readers:
            time_values = pick(values)
            timeless = self.is_base(period) and all(value is None for value in time_values)
            try:
                slot = None if timeless else Slot(period, layout.ordinal(time_values))
                if slot is not None:
                    _check_length(slot, self)
                for ordinal in self._other_ordinals(values, period):
                    if ordinal is not None:
                        _check_length(Slot(period, ordinal), self)
                slots.append(slot)
            except DataError as error:
                first_error = first_error or error
        return slots, first_error

    def _unreadable(self, name: str, error: DataError) -> DataError:
        """Returns the error of the only layout, for the partition ``name``."""
        is_wall_column = error.object is not None and error.object.lower() in self.storage_table.wall_columns
        return DataError(
            f"partition {name} of {self.table.name}: {error.message}",
            condition="INVALID_TIME_PARTITION",
            object=error.object,
            hint=f"{(error.hint or '').removesuffix('.')}, midnight on the clocks of {self.fact.zone}."
            if is_wall_column
            else error.hint,
        )

    def _ambiguous(self, name: str, slots: Sequence[Slot | None]) -> DataError:
        """Returns the error of a partition whose values match several layouts, or none of several."""
        other_layouts = {period: [layout for layout, _ in readers] for period, readers in self._other_readers.items()}
        layouts = "; ".join(
            f"{period.name} "
            + ", ".join(
                part.declared for period_layout in (layout, *other_layouts[period]) for part in period_layout.parts
            )
            for period, layout, _ in self._readers
        )
        matching_periods = " and ".join((slot.period if slot else self.base_period).name for slot in slots) or "none"
        return DataError(
            f"partition {name} of {self.table.name} must match exactly one of its time layouts, "
            f"but matches {matching_periods}",
            condition="INVALID_TIME_PARTITION",
            object=self.table.name,
            hint=f"The layouts of {self.table.name} are {layouts}.",
        )


def declared_period(properties: Mapping[str, str]) -> UpdatePeriod | None:
    """Returns the period in the property ``UPDATE_PERIOD`` of a table; ``None`` if it is not set.

    Raises ``AnalysisError`` UNKNOWN_UPDATE_PERIOD for an invalid value.
    """
    text = properties.get(UPDATE_PERIOD)
    if text is None:
        return None
    try:
        return UpdatePeriod.named(text)
    except AnalysisError as error:
        error.message = f"the property {UPDATE_PERIOD} is '{text}', which is not an update period"
        raise


def _check_length(slot: Slot, binding: TimeBinding) -> None:
    """Raises for a date that the zone skips, because it names no partition."""
    if not isinstance(slot.period, UpdatePeriod) and slot.start == slot.end:
        named = format_instant(slot.period.kind.start(slot.ordinal))
        raise DataError(
            f"{binding.fact.zone} has no {named}: its clocks skipped that day",
            condition="INVALID_TIME_PARTITION",
            object=binding.table.name,
            hint="Omit the partition: no time is missing without it.",
        )


def bind(fact: Fact, find: Callable[[str], object]) -> tuple[TimeBinding, ...]:
    """Returns the bindings of a new fact's tables, in its order; ``find`` returns the object of a name, or ``None``.

    Raises ``AnalysisError`` if a table does not exist, ``IntegrityError`` if one is named twice, ``NotSupportedError``
    if COMPLETE WITH does not cover a partition column that the time layouts leave over, or if such a column stands
    before the columns of time.
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
                hint="Create the storage tables of a fact before the fact.",
            )
        if table.id in bindings:
            raise IntegrityError(
                f"fact '{fact.name}' names the table '{table.name}' twice",
                condition="DUPLICATE_STORAGE_TABLE",
                object=table.name,
                hint="Give one TABLE clause all update periods of the table.",
            )
        _check_columns(table, storage_table)
        bindings[table.id] = TimeBinding(fact, storage_table, table)
    return tuple(bindings.values())


def _check_columns(table: Table, storage_table: StorageTable) -> None:
    columns = [column.name.lower() for column in table.partition_columns]
    check_distinguishable(storage_table.layouts.values())
    names, complete = set(columns), {completion.column.lower() for completion in storage_table.complete}
    for period, layout in storage_table.layouts.items():
        timed = [column.lower() for column in layout.columns]
        if set(timed) - names:
            raise AnalysisError(
                f"'{sorted(set(timed) - names)[0]}' of the {period.name} layout is not a partition "
                f"column of '{table.name}'",
                condition="INVALID_TIME_LAYOUT",
                object=table.name,
                hint=f"Its partition columns are {', '.join(c.name for c in table.partition_columns) or 'none'}.",
            )
        other_layouts = [other.layouts[period] for other in storage_table.others]
        for period_layout in (layout, *other_layouts):
            _check_types(table, period_layout)
        timeless_columns = names - set(timed) - {column.lower() for other in other_layouts for column in other.columns}
        if timeless_columns - complete:
            column = sorted(timeless_columns - complete)[0]
            raise NotSupportedError(
                f"the {period.name} layout of '{table.name}' does not use the partition column "
                f"'{column}', so one partition could make an incomplete period look complete",
                condition="INCOMPLETE_TIME_LAYOUT",
                object=table.name,
                hint=f"Declare when a period is whole: COMPLETE WITH {column} IN (…), or COMPLETE WITH ANY {column}.",
            )
        if complete - timeless_columns:
            raise AnalysisError(
                f"'{sorted(complete - timeless_columns)[0]}' is not a partition column of '{table.name}' that "
                "is outside the time layout",
                condition="INVALID_FACT",
                object=table.name,
                hint="COMPLETE WITH names the partition columns outside the time layout.",
            )
        if set(columns[: len(timed)]) != set(timed):
            raise NotSupportedError(
                f"'{table.name}' has other partition columns before the time columns",
                condition="INVALID_TIME_LAYOUT",
                object=table.name,
                hint="PARTITIONED BY (time columns, then the others).",
            )


def _check_types(table: Table, layout: TimeLayout) -> None:
    types = {column.name.lower(): column.type for column in table.partition_columns}
    for part in layout.parts:
        if partition_type(types[part.column.lower()]).name != part.type:
            raise AnalysisError(
                f"'{part.column}' has the type {types[part.column.lower()]} in '{table.name}', but the "
                f"type {part.type} in its {layout.period.name} layout",
                condition="INVALID_TIME_LAYOUT",
                object=part.column,
                hint="A layout must have the types of the partition columns.",
            )


# The key ranges of a table that contain the partitions of some periods. The time columns are the first ones.

#: If keys are not in time order, up to this many periods have a range each; for more, one range is the whole table.
_MOST_RANGES = 100


def time_values(table: Table, layout: TimeLayout, ordinal: int) -> PartitionValues:
    """Returns the values of the first partition columns, in the table's order, that name the period."""
    named = dict(zip((column.lower() for column in layout.columns), layout.values(ordinal), strict=True))
    try:
        return tuple(named[column.name.lower()] for column in table.partition_columns[: len(named)])
    except KeyError as error:
        raise damaged(f"the table '{table.name}'", table.name, f"its fact has no time column {error}") from None


def time_ranges(table: Table, layout: TimeLayout, ordinals: Sequence[OrdinalRange]) -> tuple[KeyRange, ...]:
    """Returns key ranges with all partitions of these periods. The caller removes other partitions in these ranges.

    One range for each of ``ordinals`` if the keys are in time order; otherwise one for each period, or for all.
    """

    def of(ordinal: int) -> KeyRange:
        types = [column.type for column in table.partition_columns]
        return KeyRange.of_prefix(prefix_of(table.id, types, time_values(table, layout, ordinal)))

    leading = [column.name.lower() for column in table.partition_columns[: len(layout.columns)]]
    if layout.text_ordered and leading == [column.lower() for column in layout.columns]:
        return tuple(KeyRange(of(run.start).start, of(run.end - 1).end) for run in ordinals)
    if sum(map(len, ordinals)) <= _MOST_RANGES:
        return tuple(of(ordinal) for run in ordinals for ordinal in range(run.start, run.end))
    return (KeyRange.of_prefix(prefix(table.id)),)


def keys_outside(
    table: Table, layout: TimeLayout, last: int | None = None, first: int | None = None
) -> tuple[KeyRange, ...]:
    """Returns key ranges with all partitions of the periods up to ``last`` and from ``first`` on.

    Without either, the ranges contain all partitions. They may contain other ones, too. The complete table if keys are
    not in time order.
    """
    table_range = KeyRange.of_prefix(prefix(table.id))
    leading = [column.name.lower() for column in table.partition_columns[: len(layout.columns)]]
    if last is None or first is None or not layout.text_ordered:
        return (table_range,)
    if leading != [column.lower() for column in layout.columns]:
        return (table_range,)
    try:
        (before,), (after,) = (
            time_ranges(table, layout, [OrdinalRange(ordinal, ordinal + 1)]) for ordinal in (last, first)
        )
    except DataError:
        return (table_range,)  # One end is in a year that the values cannot name.
    return (KeyRange(table_range.start, before.end), KeyRange(after.start, table_range.end))


def null_time(table: Table, layout: TimeLayout) -> KeyRange:
    """Returns the keys of the partitions whose time is NULL."""
    types = [column.type for column in table.partition_columns]
    return KeyRange.of_prefix(prefix_of(table.id, types, [None] * len(layout.columns)))
