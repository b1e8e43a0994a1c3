"""Reads and writes Parquet files. Written files keep statistics of the columns for which they are exact."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rewriter.catalog.filesystems.reading import arrow_source
from rewriter.exec.formats.file_format import FileFormat, FileReader, FileWriter

if TYPE_CHECKING:
    import pyarrow as pa


class _ParquetWriter:
    """Writes tables of one schema into a new file; each is one row group."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # A minimum and a maximum do not show whether NaN occurs, and both engines assume that it does not.
        # Column names here are names of leaves: nested columns have no statistics.
        exact_columns = [field.name for field in schema if not pa.types.is_floating(field.type)]
        self._writer: Any = pq.ParquetWriter(path, schema, compression="snappy", write_statistics=exact_columns)

    def write_table(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def close(self) -> None:
        self._writer.close()


def _open(path: str, schema: pa.Schema, options: Mapping[str, str]) -> FileWriter:
    return _ParquetWriter(path, schema)


#: The key under which Spark keeps the types of its columns, and those whose values a file stores as other ones.
_SPARK_COLUMNS = b"org.apache.spark.sql.parquet.row.metadata"
_HIDDEN_TYPES = ("interval", "udt", "variant")


def _schema(path: str, options: Mapping[str, str]) -> pa.Schema:
    """Returns the columns of a file. Raises ``ValueError`` for one that Spark reads by a type that its values hide: an
    INTERVAL is stored as a number.
    """
    import pyarrow.parquet as pq

    schema = pq.read_schema(arrow_source(path))
    for name, hidden in _hidden_columns((schema.metadata or {}).get(_SPARK_COLUMNS)):
        if name in schema.names:
            raise ValueError(f"column {name}: its type {hidden.upper()} is not supported")
    return schema


def _hidden_columns(text: bytes | None) -> Iterator[tuple[str, str]]:
    """Yields the names of columns that have such a type, also in nested values, and the type."""
    with suppress(ValueError, LookupError, TypeError):  # Another program may have written the text.
        for column in json.loads(text or "{}").get("fields", ()):
            left = [column["type"]]
            while left:
                type_ = left.pop()
                if isinstance(type_, Mapping):
                    parts = [type_.get(key) for key in ("elementType", "keyType", "valueType")]
                    left += [part for part in parts if part is not None]
                    left += [field["type"] for field in type_.get("fields", ())]
                    type_ = type_["type"]
                if type_.startswith(_HIDDEN_TYPES):
                    yield column["name"], type_


def _rows(path: str) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(arrow_source(path)).num_rows)


def _check(path: str, options: Mapping[str, str]) -> Iterator[None]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(arrow_source(path)) as file:
        for _ in file.iter_batches():
            yield


WRITER = FileFormat("parquet", _open, has_row_groups=True)
READER = FileReader(_schema, _check, check_head=lambda path, options: _rows(path), rows=_rows, has_local_times=True)
