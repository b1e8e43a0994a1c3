"""Sources: tables whose rows come from a user's Python object."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rewriter.catalog.keys.types import partition_type
from rewriter.catalog.model.objects import Column, SourceTable, Table, TableKind
from rewriter.catalog.model.temporary_views import OWNER, stored_name, with_typed_names
from rewriter.connectors.partition_predicate import PartitionPredicate, predicates_of
from rewriter.errors import DataError, Error, InterfaceError, NotSupportedError, OperationalError
from rewriter.exec.arrow_input import plain_table
from rewriter.exec.data_files import spark_type
from rewriter.exec.engine import Relation, ScanFile
from rewriter.exec.sinks.choice import SinglePartitionSink
from rewriter.exec.sinks.file_target import FileTarget
from rewriter.exec.spark.session_kinds import check_frame, is_spark_frame
from rewriter.exec.sql_types import arrow_type, parse_type

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.catalog.filters.predicates import ScanFilter

#: A file of a source's rows ends here.
_FILE_BYTES = 128 * 1024 * 1024
#: The ids of sources begin here, downwards. The files that a query names have the numbers from -1 down.
_FIRST_ID = -1_000_000


@runtime_checkable
class PartitionableTableSource(Protocol):
    """A table with partitions that queries read: ``Connection.register_source``."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of all rows, with the columns of partitions at any place."""

    def get_partition_field_names(self) -> Sequence[str]:
        """Returns the names of the partition columns."""

    def apply_partition_pruning(self, partition_predicates: Sequence[PartitionPredicate]) -> PartitionableTableSource:
        """Returns a source of the rows in the partitions that match all predicates, and perhaps of further rows.

        It is called only for queries that have such predicates, and leaves this source as it is.
        """

    def read(self) -> Iterable[pa.RecordBatch]:
        """Returns the rows as batches of ``schema``. They are read once."""


class FrameSource:
    """The rows of a DataFrame of Spark, whenever they are read. The engine of the same Spark reads them in place."""

    def __init__(self, frame: Any) -> None:
        check_frame(frame)
        self.frame = frame

    @property
    def schema(self) -> pa.Schema:
        from rewriter.exec.spark.spilled_rows import arrow_schema

        try:
            return arrow_schema(self.frame)
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InterfaceError(f"The DataFrame has a column that no table can have: {reason}.") from None

    def get_partition_field_names(self) -> Sequence[str]:
        return ()

    def apply_partition_pruning(self, partition_predicates: Sequence[PartitionPredicate]) -> FrameSource:
        return self

    def read(self) -> Iterator[pa.RecordBatch]:
        yield from plain_table(self.frame.toArrow()).to_batches()


class ArrowSource:
    """Rows in memory: Arrow data, or those of a DataFrame of pandas or Polars at the time of the call."""

    def __init__(self, data: object) -> None:
        self._table = plain_table(data)

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def get_partition_field_names(self) -> Sequence[str]:
        return ()

    def apply_partition_pruning(self, partition_predicates: Sequence[PartitionPredicate]) -> ArrowSource:
        return self

    def read(self) -> Iterator[pa.RecordBatch]:
        yield from self._table.to_batches()


def as_source(data: Any) -> PartitionableTableSource:
    """Returns a source as it is, and a DataFrame of Spark, pandas or Polars or Arrow data as one. Raises
    ``InterfaceError`` for other objects.
    """
    # A DataFrame of Spark Connect seems to have every attribute: each may be a column.
    if is_spark_frame(data):
        return FrameSource(data)
    if isinstance(data, PartitionableTableSource):
        return data
    if isinstance(data, type) or not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        raise InterfaceError(
            f"{type(data).__name__} is not a source.",
            hint="Pass a DataFrame of Spark, pandas or Polars, Arrow data, or an object with schema, "
            "get_partition_field_names, apply_partition_pruning and read.",
        )
    return ArrowSource(data)


def source_table(name: str, number: int, source: PartitionableTableSource) -> Table:
    """Returns a table that has the columns of a source: data columns, then partition columns.

    Raises ``InterfaceError`` for columns that no table has.
    """
    try:
        columns = [Column(field.name, spark_type(field.type)) for field in source.schema]
    except ValueError as error:
        raise InterfaceError(f"The source {name} has a column of another type: {error}.", object=name) from None
    if not columns:
        raise InterfaceError(f"The source {name} has no columns.", object=name, hint="Pass data with a column.")
    by_name = {column.name.lower(): column for column in columns}
    partition_names = [partition_name.lower() for partition_name in source.get_partition_field_names()]
    unknown = [partition_name for partition_name in partition_names if partition_name not in by_name]
    if len(by_name) < len(columns) or len(set(partition_names)) < len(partition_names) or unknown:
        raise InterfaceError(
            f"The source {name} has no column {unknown[0]}." if unknown else f"The source {name} names a column twice.",
            object=name,
            hint=f"The columns of its schema are {', '.join(column.name for column in columns)}.",
        )
    partition_columns = tuple(by_name[partition_name] for partition_name in partition_names)
    for column in partition_columns:
        partition_type(column.type)
    data_columns = tuple(column for column in columns if column not in partition_columns)
    return SourceTable(
        _FIRST_ID - number, stored_name(name, OWNER), data_columns, partition_columns, "parquet", "", external=True
    )


def is_source(table: Table) -> bool:
    """Returns whether a table stands for a registered source."""
    return table.kind is TableKind.SOURCE


def read_only(table: Table) -> NotSupportedError:
    """Returns the error of a statement that takes a source for a table."""
    return NotSupportedError(
        f"{with_typed_names(table.name)} is a registered source: it can only be read, in queries.",
        condition="SOURCE_IS_READ_ONLY",
        object=with_typed_names(table.name),
        hint="INSERT INTO a table … SELECT … FROM it stores its rows; Connection.write passes rows to a sink.",
    )


def source_predicates(table: Table, wanted: ScanFilter | None) -> tuple[PartitionPredicate, ...]:
    """Returns the predicates that a source gets for a query's filter on its partition columns."""
    return predicates_of(table.partition_columns, wanted)


def read_source(
    name: str, table: Table, source: PartitionableTableSource, wanted: ScanFilter | None, directory: str
) -> Relation:
    """Reads the rows of a source that a query needs into files in ``directory``, and returns them as a relation.

    Raises ``OperationalError`` SOURCE_FAILED for errors of the source, with the original as its cause, and
    ``DataError`` SOURCE_SCHEMA_MISMATCH for rows of another schema.
    """
    import pyarrow as pa

    declared = {field.name: field.type for field in source.schema}
    schema = pa.schema(
        [pa.field(column.name, _stored_type(column, declared[column.name])) for column in table.all_columns]
    )

    def batches() -> Iterator[pa.RecordBatch]:
        predicates = source_predicates(table, wanted)
        yield from _batches(source.apply_partition_pruning(predicates) if predicates else source, table, schema)

    try:
        return stored_relation(name, table, batches(), directory)
    except Exception as error:
        if isinstance(error, Error):
            raise
        raise OperationalError(
            f"The source {with_typed_names(table.name)} failed: {type(error).__name__}: {error}.",
            condition="SOURCE_FAILED",
            object=with_typed_names(table.name),
            hint="The error came from its apply_partition_pruning or read.",
        ) from error


def stored_relation(name: str, table: Table, batches: Iterable[pa.RecordBatch], directory: str) -> Relation:
    """Writes rows with the types of a table's columns into files in ``directory``, and returns them as a relation."""
    sink = SinglePartitionSink(FileTarget(directory, "parquet", (), {}, "", _FILE_BYTES), ())
    try:
        for batch in batches:
            if batch.num_rows:
                sink.add((), batch)
        sink.close()
    except BaseException:
        sink.discard()
        raise
    files = tuple(ScanFile(path, (), size, os.stat(path).st_mtime_ns) for path, _, _, size, _ in sink.written)
    return Relation(name, "parquet", table.all_columns, (), files)


def _batches(source: PartitionableTableSource, table: Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields the rows in the order and with the types of the table's columns."""
    import pyarrow as pa

    for batch in source.read():
        by_name = {name.lower(): number for number, name in enumerate(batch.schema.names)}
        names = [column.name.lower() for column in table.all_columns]
        if sorted(by_name) != sorted(names) or len(batch.schema.names) != len(names):
            raise _mismatch(table, f"columns {', '.join(batch.schema.names)}")
        try:
            arrays = [batch.column(by_name[name]).cast(field.type) for name, field in zip(names, schema, strict=True)]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _mismatch(table, str(error).partition("\n")[0].rstrip(".")) from None
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _stored_type(column: Column, declared: pa.DataType) -> pa.DataType:
    """Returns the type of a column in the files; nested values keep theirs."""
    import pyarrow as pa

    is_of_spark_alone = pa.types.is_nested(declared) or pa.types.is_binary(declared)
    return declared if is_of_spark_alone else arrow_type(parse_type(column.type))


def _mismatch(table: Table, reason: str) -> DataError:
    return DataError(
        f"The source {with_typed_names(table.name)} returned rows that do not fit its schema: {reason}.",
        condition="SOURCE_SCHEMA_MISMATCH",
        object=with_typed_names(table.name),
        hint="The method read() returns batches with the columns of schema.",
    )
