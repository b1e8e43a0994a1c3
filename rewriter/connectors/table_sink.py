"""Sinks: users' Python objects that take the rows of a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rewriter.errors import InterfaceError

if TYPE_CHECKING:
    import pyarrow as pa


@runtime_checkable
class PartitionableTableSink(Protocol):
    """A table with partitions that a query fills: ``Connection.write``.

    The methods are called in this order, for each write. If ``enable_dynamic_partition_grouping`` was called and
    returned true, the rows come sorted by the dynamic partition columns, and the sink can have one partition open at a
    time. If it returned false, the rows come in any order. If it was not called, the writer cannot sort (a stream), or
    must not (``SET rewriter.sink = ungrouped``): the rows come in any order.
    """

    def set_static_partition(self, partition: Mapping[str, str]) -> None:
        """Takes the values of the static partition columns; empty if there are none."""

    def get_dynamic_partition_field_names(self) -> Sequence[str]:
        """Returns the names of the partition columns whose values come from the rows."""

    def enable_dynamic_partition_grouping(self) -> bool:
        """Returns whether the rows shall be sorted by the dynamic partition columns. Not called if there are none."""

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Takes all rows: the columns of the query, then the static partition columns as strings.

        It is called once, also if there are no rows. An error in it fails the write; it has to undo what it did itself.
        """


def check_sink(sink: PartitionableTableSink) -> None:
    """Raises ``InterfaceError`` for an object that is no sink."""
    if not isinstance(sink, PartitionableTableSink):
        raise InterfaceError(
            f"{type(sink).__name__} is not a sink.",
            hint="A sink has set_static_partition, get_dynamic_partition_field_names, "
            "enable_dynamic_partition_grouping and write.",
        )


def with_static_columns(batches: Iterable[pa.RecordBatch], partition: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Yields the rows with the static partition columns."""
    import pyarrow as pa

    for batch in batches:
        arrays = [pa.repeat(pa.scalar(value, pa.string()), batch.num_rows) for value in partition.values()]
        fields = [*batch.schema, *(pa.field(name, pa.string()) for name in partition)]
        yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=pa.schema(fields))
