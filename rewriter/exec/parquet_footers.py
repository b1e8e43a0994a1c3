"""Rows, NULLs and the least and greatest values of Parquet files, from their footers. No row is read.

Values are integers: days, microseconds UTC, unscaled decimals. Bounds are known only for types whose statistics are
exact: integers, DATE, TIMESTAMP and DECIMAL. Statistics of texts may be cut, and statistics of floating-point numbers
leave out NaN and do not tell 0.0 from -0.0. INT96 has none. Dates and times before Spark's change of the calendar are
unknown, because Spark may shift them.

Footers are kept in this process. A kept footer is used only while the file is the same one, unchanged: its inode, size
and times are compared each time; in an object store, its size and ETag, unless it never changes.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rewriter.catalog.filesystems.registry import store_of
from rewriter.exec.data_files import unreadable
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import is_uri

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: The most row groups times columns of all footers that are kept, at about 150 bytes each.
_MOST_CHUNKS = 1_000_000
#: A file that changed so recently, in nanoseconds, may change again without another time of its last change.
_CLOCK_TICK = 2_000_000_000
#: The least and greatest known values by type. Spark may shift days before 1582-10-15 and times before 1900.
_LIMITS = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "date": (-141_427, 2_932_896),
    "timestamp": (-2_208_988_800_000_000, 253_402_300_799_999_999),
}
_INTEGERS = {("INT32", 8): "tinyint", ("INT32", 16): "smallint", ("INT32", 32): "int", ("INT64", 64): "bigint"}
_PLAIN = {"INT32": "int", "INT64": "bigint", "FLOAT": "float", "DOUBLE": "double", "BOOLEAN": "boolean"}
#: Writers that compare decimals in bytes as signed numbers. Older ones of Java compared them as unsigned.
_SIGNED_DECIMALS = re.compile(r"parquet-cpp-arrow |DuckDB |parquet-mr version 1\.\d\d\.")


#: Types for which footers have the number of NULLs, but no bounds.
_UNBOUNDED = ("string", "float", "double", "boolean")


def has_bounds(type_name: str) -> bool:
    """Tests whether footers may have the least and the greatest value of a column that is declared so."""
    return type_name in _LIMITS or type_name.startswith("decimal(")


def has_nulls(type_name: str) -> bool:
    """Tests whether footers may have the number of NULLs of a column that is declared so."""
    return has_bounds(type_name) or type_name in _UNBOUNDED


class Chunk(NamedTuple):
    """A column in one row group: the number of NULLs, and the bounds of its other values; ``None`` if not known."""

    nulls: int | None = None
    least: int | None = None
    greatest: int | None = None


class RowGroup(NamedTuple):
    """The rows of a row group, and its columns, in the order of ``Footer.types``."""

    rows: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Footer:
    """The figures of a Parquet file.

    ``types`` are Spark's types of the top-level columns, by name in lower case; ``None`` for any other type, or if
    several columns have the name.
    """

    types: Mapping[str, str | None]
    row_groups: tuple[RowGroup, ...]

    @property
    def rows(self) -> int:
        return sum([group.rows for group in self.row_groups])


class Footers:
    """The footers that a process keeps; those used longest ago are dropped. For several threads."""

    def __init__(self, most_chunks: int = _MOST_CHUNKS) -> None:
        self._most_chunks = most_chunks
        #: The layout of the file that was read last.
        self._layout: _Layout | None = None
        self.forget()

    def forget(self) -> None:
        """Drops all footers. Needed in a forked process, too, where another thread may have held the lock."""
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[tuple[int, ...], Footer, int]] = OrderedDict()
        self._chunks = 0

    def read(self, path: str, is_final: bool = False) -> tuple[Footer, int]:
        """Returns the footer of a file, and the number of its bytes that were read; 0 if it was kept.

        ``is_final`` says that the file never changes again. Costs 3 µs for a kept footer, and about 100 µs for another.
        Raises ``OSError`` and ``ValueError`` for files that cannot be read.
        """
        if is_uri(path):
            return self._read_object(path, is_final)
        identity = _identity(os.stat(path))
        kept = self._found(path, identity)
        if kept is not None:
            return kept, 0
        began = time.time_ns()
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            footer, self._layout, bytes = _read(file, self._layout)
            identity = _identity(status)
            is_same = identity == _identity(os.fstat(file.fileno()))
        if is_final or (is_same and status.st_mtime_ns < began - _CLOCK_TICK):
            self._keep(path, identity, footer)
        return footer, bytes

    def _read_object(self, path: str, is_final: bool) -> tuple[Footer, int]:
        """Reads a file of an object store. That a kept footer of one that may change is its own costs a request."""
        kept = self._found(path, ()) if is_final else None
        if kept is not None:
            return kept, 0
        with store_of(path).open(path) as file:
            identity = () if is_final else (file.size(), *file.metadata().get("ETag", os.urandom(16)))
            kept = self._found(path, identity)
            if kept is not None:
                return kept, 0
            footer, self._layout, bytes = _read(file, self._layout)
        self._keep(path, identity, footer)
        return footer, bytes

    def _found(self, path: str, identity: tuple[int, ...]) -> Footer | None:
        with self._lock:
            kept = self._kept.get(path)
            if kept is None or kept[0] != identity:
                return None
            self._kept.move_to_end(path)
            return kept[1]

    def _keep(self, path: str, identity: tuple[int, ...], footer: Footer) -> None:
        chunks = len(footer.row_groups) * max(len(footer.types), 1)
        with self._lock:
            earlier = self._kept.pop(path, None)
            self._kept[path] = identity, footer, chunks
            self._chunks += chunks - (0 if earlier is None else earlier[2])
            while self._chunks > self._most_chunks:
                self._chunks -= self._kept.popitem(last=False)[1][2]


#: The footers of this process.
FOOTERS = Footers()
os.register_at_fork(after_in_child=FOOTERS.forget)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Returns the values that are the same while a path names the same, unchanged file. The time of the last change of
    the inode differs even if a program sets the time of the last change of the content back.
    """
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read(file: Any, earlier: _Layout | None) -> tuple[Footer, _Layout, int]:
    """Returns a footer, its layout, which is the earlier one if that fits, and the number of its bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(file)
        layout = earlier if earlier is not None and earlier.fits(metadata) else _Layout.of(metadata)
        return _footer(metadata, layout), layout, metadata.serialized_size
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None


def _footer(metadata: pq.FileMetaData, layout: _Layout) -> Footer:
    groups = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows = group.num_rows
        chunks = [
            Chunk() if column is None else column.chunk(group.column(column.index), rows) for column in layout.columns
        ]
        groups.append(RowGroup(rows, tuple(chunks)))
    if sum([group.rows for group in groups]) != metadata.num_rows:
        raise ValueError("its numbers of rows contradict each other")
    return Footer(layout.types, tuple(groups))


@dataclass(frozen=True)
class _Layout:
    """The schema of files, usually of many, with the figures that it allows, in the order of ``types``."""

    schema: pq.ParquetSchema
    paths: tuple[str, ...]
    writer: str | None
    types: Mapping[str, str | None]
    columns: tuple[_Column | None, ...]

    @classmethod
    def of(cls, metadata: pq.FileMetaData) -> _Layout:
        schema, writer = metadata.schema, metadata.created_by
        columns: dict[str, _Column | None] = {}
        for index in range(metadata.num_columns):
            column = _Column.of(index, schema.column(index), _SIGNED_DECIMALS.match(writer or "") is not None)
            names = [column.path.lower()]
            if column.type is None:
                # A level above a nested column, or a name with a dot.
                parts = names[0].split(".")
                names = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
            for name in names:
                columns[name] = None if column.type is None or name in columns else column
        types = {name: None if column is None else column.type for name, column in columns.items()}
        return cls(schema, _paths(metadata), writer, types, tuple(columns.values()))

    def fits(self, metadata: pq.FileMetaData) -> bool:
        """Tests whether another file has the same schema. Arrow does not compare the names of groups."""
        is_same = self.writer == metadata.created_by and self.schema.equals(metadata.schema)
        return is_same and self.paths == _paths(metadata)


def _paths(metadata: pq.FileMetaData) -> tuple[str, ...]:
    return tuple([metadata.schema.column(index).path for index in range(metadata.num_columns)])


@dataclass(frozen=True)
class _Column:
    """A leaf of a schema. One without a type has no figures: a nested one, or one of a type that is not listed."""

    index: int
    path: str
    type: str | None
    is_required: bool
    is_in_bytes: bool
    factor: int
    limits: tuple[int, int] | None

    @classmethod
    def of(cls, index: int, column: pq.ColumnSchema, has_signed_decimals: bool) -> _Column:
        is_nested = column.path != column.name or column.max_repetition_level > 0 or column.max_definition_level > 1
        logical_type = json.loads(column.logical_type.to_json())
        type_ = None if is_nested else _spark_type(column.physical_type, logical_type)
        limits = _LIMITS.get(type_ or "")
        if type_ is not None and type_.startswith("decimal"):
            limits = (1 - 10**column.precision, 10**column.precision - 1)
        is_in_bytes = column.physical_type == "FIXED_LEN_BYTE_ARRAY"
        return cls(
            index,
            column.path,
            type_,
            column.max_definition_level == 0,
            is_in_bytes,
            1000 if logical_type.get("timeUnit") == "milliseconds" else 1,
            None if is_in_bytes and not has_signed_decimals else limits,
        )

    def chunk(self, chunk: pq.ColumnChunkMetaData, rows: int) -> Chunk:
        """Returns the figures of the column in a row group; statistics that contradict each other are not known."""
        statistics = chunk.statistics if chunk.num_values == rows else None
        nulls = 0 if self.is_required else None
        if statistics is None:
            return Chunk(nulls)
        if statistics.has_null_count:
            nulls = statistics.null_count
        if nulls is not None and not 0 <= nulls <= rows:
            return Chunk()
        if self.limits is None or not statistics.has_min_max or nulls == rows:
            return Chunk(nulls)
        least, greatest = self._value(statistics.min_raw), self._value(statistics.max_raw)
        if not self.limits[0] <= least <= greatest <= self.limits[1]:
            return Chunk(nulls)
        return Chunk(nulls, least, greatest)

    def _value(self, raw: Any) -> int:
        return int.from_bytes(raw, "big", signed=True) if self.is_in_bytes else int(raw) * self.factor


def _spark_type(physical: str, logical: Mapping[str, Any]) -> str | None:
    """Returns the type that both engines read a column as; ``None`` for a type without figures."""
    match logical:
        case {"Type": "None"}:
            return _PLAIN.get(physical)
        case {"Type": "Int", "bitWidth": bits, "isSigned": True}:
            return _INTEGERS.get((physical, bits))
        case {"Type": "Date"}:
            return "date" if physical == "INT32" else None
        case {"Type": "String"}:
            return "string" if physical == "BYTE_ARRAY" else None
        case {"Type": "Timestamp", "timeUnit": "microseconds" | "milliseconds"}:
            return "timestamp" if physical == "INT64" else None
        case {"Type": "Decimal", "precision": precision, "scale": scale}:
            is_supported = physical in ("INT32", "INT64", "FIXED_LEN_BYTE_ARRAY") and precision <= 38
            return f"decimal({precision},{scale})" if is_supported else None
    return None


def time_bounds(path: str, column: str) -> tuple[int, int] | None:
    """Returns the smallest and largest value of a TIMESTAMP column of a Parquet file, as instants in microseconds.

    Returns ``None`` unless every row group states both and has no NULL: the rows must be read then. Costs one footer,
    about 0.2 ms. Raises ``EngineError`` if the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    fields = [field for field in schema if field.name.lower() == column.lower()]
    if len(fields) != 1 or fields[0].type != pa.timestamp("us", tz="UTC"):
        return None
    index = next(i for i in range(metadata.num_columns) if metadata.schema.column(i).path == fields[0].name)
    bounds: list[tuple[int, int]] = []
    for number in range(metadata.num_row_groups):
        statistics = metadata.row_group(number).column(index).statistics
        is_stated = statistics is not None and statistics.has_min_max and statistics.has_null_count
        if not is_stated or statistics.null_count:
            return None
        bounds.append((statistics.min_raw, statistics.max_raw))
    return (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else None
