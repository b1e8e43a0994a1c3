"""Rows that a program hands over as Arrow data, as a file that both engines read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from rewriter.catalog.model.objects import Column
from rewriter.errors import DataError, InterfaceError
from rewriter.exec.data_files import spark_type
from rewriter.exec.formats.parquet import WRITER as PARQUET

if TYPE_CHECKING:
    import pyarrow as pa

#: The readers that were read here, as long as they live.
_read_readers: WeakSet[pa.RecordBatchReader] = WeakSet()


def batches_of(data: Any) -> pa.RecordBatchReader:
    """Returns the batches of an Arrow table, batch or reader, or of any object with an Arrow stream
    (``__arrow_c_stream__``), such as a DataFrame of Polars or pandas.

    Raises ``InterfaceError`` for other objects and for a reader that was read here before, and ``DataError``
    INVALID_ARROW_DATA for an object whose export fails.
    """
    import pyarrow as pa

    if isinstance(data, pa.RecordBatchReader):
        if data in _read_readers:
            raise InterfaceError(
                "This RecordBatchReader has been read before: its rows are gone.",
                hint="Make a new one, or pass a Table, which can be read again.",
            )
        _read_readers.add(data)
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if isinstance(data, pa.Table):
        return data.to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(data)
        except Exception as error:
            raise _unreadable(error) from error
    raise InterfaceError(
        f"Rows cannot be taken from a {type(data).__name__}.",
        hint="Pass a pyarrow Table, RecordBatch or RecordBatchReader, or a DataFrame that exports Arrow data.",
    )


def plain_table(data: Any) -> pa.Table:
    """Returns Arrow data, or a DataFrame that exports it, as a table of the types that ``spool`` stores.

    Raises ``InterfaceError`` for other objects, and ``DataError`` INVALID_ARROW_DATA for values that no table can hold.
    """
    import pyarrow as pa

    with closing(batches_of(data)) as batches:
        schema = pa.schema([pa.field(field.name, _stored(field.type)) for field in batches.schema])
        rows = list(_read(batches))
        try:
            stored = (
                [_as_stored(array, field.type) for array, field in zip(batch.columns, schema, strict=True)]
                for batch in rows
            )
            return pa.Table.from_batches(
                [pa.RecordBatch.from_arrays(arrays, schema=schema) for arrays in stored], schema
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise _not_stored(error) from None


def spool(
    batches: pa.RecordBatchReader, directory: str, type_of: Callable[[pa.Field], pa.DataType]
) -> tuple[str, tuple[Column, ...]]:
    """Writes the rows into a Parquet file in a directory, and returns its path and its columns. Holds one batch in
    memory.

    Timestamps become microseconds in UTC, unsigned integers become the next wider type, decimals become decimals of at
    most 38 digits without a negative scale, and texts and dictionaries become plain strings. ``type_of`` returns the
    type of a column, which has a type in place of ``null``. Raises ``DataError`` INVALID_ARROW_DATA for values and
    types that a table cannot hold, and where the reader fails.
    """
    import pyarrow as pa

    if not batches.schema.names:
        raise DataError(
            "The Arrow data has no columns.",
            condition="INVALID_ARROW_DATA",
            hint="Pass a column for each column of the table that is to be filled.",
        )
    path = os.path.join(directory, "rows.parquet")
    try:
        fields = [pa.field(field.name, _stored(type_of(field))) for field in batches.schema]
        columns = tuple([Column(field.name, spark_type(field.type)) for field in fields])
        with closing(PARQUET.open(path, pa.schema(fields), {})) as writer:
            for batch in _read(batches):
                arrays = [_as_stored(array, field.type) for array, field in zip(batch.columns, fields, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError) as error:
        raise _not_stored(error) from None
    return path, columns


def _not_stored(error: Exception) -> DataError:
    return DataError(
        f"The Arrow data cannot be stored: {str(error).strip().splitlines()[0].rstrip('.')}.",
        condition="INVALID_ARROW_DATA",
        hint="Convert the column to a type of Spark SQL before: pyarrow.Table.cast.",
    )


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the batches with rows."""
    try:
        yield from (batch for batch in batches if batch.num_rows)
    except Exception as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> DataError:
    return DataError(
        f"The rows cannot be read: {type(error).__name__}: {error}",
        condition="INVALID_ARROW_DATA",
        hint="The reader that was passed failed. Nothing was written.",
    )


def _as_stored(array: pa.Array, type_: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_dictionary(array.type) and pa.types.is_string_view(array.type.value_type):
        # Arrow takes no values of such a dictionary.
        array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.string()))
    return array if array.type == type_ else array.cast(type_)


def _stored(type_: pa.DataType) -> pa.DataType:
    """Returns the type as which a value is stored."""
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return _stored(type_.value_type)
    if pa.types.is_timestamp(type_):
        # A timestamp without a zone is one in UTC, as a TIMESTAMP_NTZ is in a session in UTC.
        return pa.timestamp("us", "UTC")
    if pa.types.is_date64(type_):
        return pa.date32()
    if pa.types.is_decimal(type_):
        # Spark SQL has at most 38 digits, and no negative scale. A value that does not fit is an error of the cast.
        precision, scale = type_.precision - min(type_.scale, 0), max(type_.scale, 0)
        return pa.decimal128(min(precision, 38), min(scale, 38))
    wider_types = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
    if pa.types.is_uint64(type_):
        return pa.decimal128(20, 0)
    if pa.types.is_float16(type_):
        return pa.float32()
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_) or pa.types.is_fixed_size_binary(type_):
        return pa.binary()
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return pa.list_(pa.field("element", _stored(type_.value_type)))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _stored(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_stored(type_.key_type), _stored(type_.item_type))
    return wider_types.get(type_, type_)
