"""The result of a statement: rows with their columns, and statistics of what was read and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Column
from rewriter.errors import DataError, only_ours
from rewriter.planner.model.plan import Coverage, Plan

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[object, ...]


@dataclass(frozen=True)
class Scan:
    """The part of a table that a statement read."""

    table: str
    partitions: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Stats:
    """The work of a statement. Seconds are wall time; ``execution_seconds`` end when the engine first returns."""

    scans: tuple[Scan, ...] = ()
    written_partitions: int = 0
    written_files: int = 0
    written_bytes: int = 0
    planning_seconds: float = 0.0
    execution_seconds: float = 0.0

    @property
    def partitions(self) -> int:
        """Returns the number of partitions read, of all tables."""
        return sum(scan.partitions for scan in self.scans)

    @property
    def files(self) -> int:
        """Returns the number of files read, of all tables."""
        return sum(scan.files for scan in self.scans)

    @property
    def bytes(self) -> int:
        """Returns the bytes of the files read, of all tables."""
        return sum(scan.bytes for scan in self.scans)


@dataclass
class Result:
    """The result of one statement.

    ``kind`` names the statement (``SELECT``, ``CREATE TABLE`` …). ``columns`` is ``None`` where a statement returns
    no rows. Rows come from an engine's ``reader`` as they arrive, or are in ``data``; they can be taken once, by
    ``rows`` or by ``arrow_table``. ``rowcount`` is the number of rows written, or of rows where it is known, else
    -1. ``differs`` states that CHECK FACT found a difference from the base.
    """

    kind: str
    columns: tuple[Column, ...] | None = None
    data: Sequence[Row] = ()
    reader: pa.RecordBatchReader | None = None
    rowcount: int = -1
    coverage: Coverage = field(default_factory=Coverage)
    plan: Plan | None = None
    warnings: tuple[str, ...] = ()
    stats: Stats = field(default_factory=Stats)
    differs: bool = False
    _rows: Iterator[Row] | None = field(default=None, init=False, repr=False)

    def rows(self) -> Iterator[Row]:
        """Returns the rows not taken yet, as Python values; timestamps are aware and in UTC.

        All calls return the same iterator. From a reader, one batch is held at a time.
        """
        if self._rows is None:
            self._rows = iter(self.data) if self.reader is None else self._from_reader(self.reader)
        return self._rows

    def _from_reader(self, reader: pa.RecordBatchReader) -> Iterator[Row]:
        while True:
            with only_ours():
                batch = next(reader, None)
            if batch is None:
                return
            for start in range(0, batch.num_rows, _SLICE):
                part = batch.slice(start, _SLICE)
                with only_ours():
                    columns = [_python_values(column) for column in part.columns]
                yield from zip(*columns, strict=True) if columns else (() for _ in range(part.num_rows))

    def fetch(self, count: int | None = None) -> list[Row]:
        """Returns at most ``count`` rows, or all, as a list."""
        return list(self.rows() if count is None else islice(self.rows(), count))

    def arrow_table(self) -> pa.Table:
        """Returns all rows as an Arrow table."""
        with only_ours():
            return self._arrow_table()

    def _arrow_table(self) -> pa.Table:
        if self.reader is not None:
            return self.reader.read_all()
        import pyarrow as pa

        columns = self.columns or ()
        schema = pa.schema([(column.name, _arrow_types().get(column.type, pa.string())) for column in columns])
        arrays = [
            pa.array([row[i] for row in self.data], type=schema_field.type) for i, schema_field in enumerate(schema)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def close(self) -> None:
        """Closes the engine's reader. Idempotent."""
        if self.reader is not None:
            with only_ours():
                self.reader.close()


_SLICE = 4096


def _arrow_types() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {"string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}


def _python_values(array: pa.Array) -> list[object]:
    import pyarrow as pa

    try:
        values: list[object] = array.to_pylist()
    except (OverflowError, ValueError) as error:
        raise DataError(
            f"A value of the type {spark_type(array.type)} cannot be shown: {error}.",
            condition="DATETIME_OVERFLOW",
            sqlstate="22008",
            hint="Python supports the years 1 to 9999: write CAST(… AS STRING), or fetch Arrow.",
        ) from None
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        return [value.astimezone(UTC) if isinstance(value, datetime) else value for value in values]
    return values


def spark_type(arrow_type: pa.DataType) -> str:
    """Returns Spark's spelling of an Arrow type that engines return."""
    import pyarrow as pa

    is_, name = pa.types, str(arrow_type)
    if name in _SPELLING:
        return _SPELLING[name]
    if is_.is_timestamp(arrow_type):
        return "timestamp" if arrow_type.tz is not None else "timestamp_ntz"
    if is_.is_decimal(arrow_type):
        return f"decimal({arrow_type.precision},{arrow_type.scale})"
    if is_.is_map(arrow_type):
        return f"map<{spark_type(arrow_type.key_type)},{spark_type(arrow_type.item_type)}>"
    if is_.is_list(arrow_type) or is_.is_large_list(arrow_type):
        return f"array<{spark_type(arrow_type.value_type)}>"
    if is_.is_struct(arrow_type):
        fields = (arrow_type.field(i) for i in range(arrow_type.num_fields))
        return f"struct<{','.join(f'{struct_field.name}:{spark_type(struct_field.type)}' for struct_field in fields)}>"
    return name


_SPELLING = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "halffloat": "float",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "string_view": "string",
    "binary": "binary",
    "large_binary": "binary",
    "date32[day]": "date",
    "duration[us]": "interval day to second",
    "month_interval": "interval year to month",
    "null": "void",
}


def strings(*names: str) -> tuple[Column, ...]:
    """Returns columns of the type STRING."""
    return tuple(Column(name, "string") for name in names)


def listing(kind: str, columns: tuple[Column, ...], rows: list[Row]) -> Result:
    """Returns a result whose rows are complete."""
    return Result(kind, columns, rows, rowcount=len(rows))
