"""Where among a table's partition keys the partitions of some periods lie. The time columns are the first ones."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.keys import KeyRange, prefix, prefix_of
from rewriter.catalog.models import PartitionValues, Table
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.timelines import OrdinalRange

#: Where time is not in key order, so many periods have a range each; for more, one range holds the whole table.
_MOST_RANGES = 100


def time_values(table: Table, layout: TimeLayout, ordinal: int) -> PartitionValues:
    """The values of the first partition columns, in the table's order, that name the period."""
    named = dict(zip((column.lower() for column in layout.columns), layout.values(ordinal), strict=True))
    return tuple(named[column.name.lower()] for column in table.partition_columns[: len(named)])


def time_ranges(table: Table, layout: TimeLayout, ordinals: Sequence[OrdinalRange]) -> tuple[KeyRange, ...]:
    """Keys among which all partitions of these periods are. Others may lie there, too, so what is found is judged.

    One range for each of ``ordinals`` where the keys are in time order; otherwise one for each period, or for all.
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


def null_time(table: Table, layout: TimeLayout) -> KeyRange:
    """The keys of the partitions whose time is NULL."""
    types = [column.type for column in table.partition_columns]
    return KeyRange.of_prefix(prefix_of(table.id, types, [None] * len(layout.columns)))
