"""Partitions of a table whose partition column is computed from each row (``days(ts)``): what no commit gives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rewriter.catalog.keys.hidden_columns import files_of_others
from rewriter.errors import NotSupportedError
from rewriter.timeline.layouts import TimeLayout

if TYPE_CHECKING:
    from rewriter.catalog.model.changes import PartitionWrite
    from rewriter.catalog.model.objects import PartitionValues, Table


def check_added(table: Table, partitions: Iterable[PartitionWrite]) -> None:
    """Raises ``NotSupportedError`` for a new partition with files of others, and ``DataError`` INVALID_TIME_PARTITION
    for a value that is computed from no time.
    """
    for index, column in enumerate(table.partition_columns):
        if column.transform is None:
            continue
        layout = TimeLayout.of(column.transform.period, [(column.name, None)], {column.name: column.type})
        for partition in partitions:
            if partition.location is not None:
                raise files_of_others(table, column)
            value = partition.values[index]
            if value is not None:
                layout.ordinal((value,))


def check_kept(table: Table, moves: Iterable[tuple[PartitionValues, PartitionValues]]) -> None:
    """Raises ``NotSupportedError`` for a partition that would get another value than the one of its rows. ``moves`` are
    old and new values.
    """
    hidden = [(at, column) for at, column in enumerate(table.partition_columns) if column.transform is not None]
    for old, new in moves if hidden else ():
        for index, column in hidden:
            if old[index] != new[index] and column.transform is not None:
                raise NotSupportedError(
                    f"The partition cannot get another value of {column.name}, which is computed from the "
                    f"{column.transform.source} of its rows.",
                    object=column.name,
                    hint=f"INSERT INTO {table.name} … SELECT … puts rows into their partitions.",
                )
