"""The key ranges of a table that contain the partitions of some periods. The time columns are the first ones."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.keys.encoding import prefix, prefix_of
from rewriter.catalog.model.json_codec import damaged
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import PartitionValues, Table
from rewriter.errors import DataError
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.timeline import OrdinalRange

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
