"""Writes Arrow tables as ORC files, and reads ORC files, by Arrow's library.

A timestamp is written as an instant (``timestamp with local time zone``), which every reader finds at the same time:
the other timestamps of ORC are times of a clock at the writer's place. Some times differ between readers, or cannot be
read by some of them, and are refused: dates before 1582-10-15 (Spark takes them as Julian ones), timestamps that do not
fit 64 bits of nanoseconds (Arrow cannot read them), and parts of a second before 1970 (Spark cannot read them as Arrow
writes them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.catalog.filesystems.reading import arrow_source
from rewriter.catalog.filesystems.stored_reader import StoredReader
from rewriter.exec.formats.file_format import FileFormat, FileReader, FileWriter, OpenFile

if TYPE_CHECKING:
    import pyarrow as pa

#: In days since 1970: 1582-10-15, the first day of the Gregorian calendar.
_FIRST_GREGORIAN_DAY = -141_427
#: In microseconds since 1970: 1677-09-22 and 2262-04-11, which nanoseconds can express.
_FIRST_INSTANT, _LAST_INSTANT = -9_223_286_400_000_000, 9_223_286_400_000_000
SECOND = 1_000_000
#: The attribute of a type in Spark's files that names Spark's own type, and the types whose values are stored as such.
#: It stores others as numbers: a TIMESTAMP_NTZ and an INTERVAL, for example.
_SPARK_TYPE = b"spark.sql.catalyst.type"
_PLAIN_TYPES = re.compile(
    r"(bigint|binary|boolean|byte|char|date|decimal|double|float|int|integer|long|short|smallint|string|timestamp|"
    r"tinyint|varchar)\b"
)
_UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": SECOND, "ns": 1_000_000_000}


class _OrcWriter:
    """Writes tables of one schema into a new ORC file."""

    def __init__(self, path: str) -> None:
        import pyarrow.orc

        self._writer: Any = pyarrow.orc.ORCWriter(path, compression="snappy")

    def write_table(self, table: pa.Table) -> None:
        """Writes rows. Raises ``ValueError`` for times that not every reader finds again."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            for chunk in column.chunks:
                _check_times(name, chunk)
        self._writer.write(table)

    def close(self) -> None:
        self._writer.close()


def _open(path: str, schema: pa.Schema, options: Mapping[str, str]) -> FileWriter:
    return _OrcWriter(path)


def _check_times(name: str, values: pa.Array) -> None:
    """Raises ``ValueError`` for a date or timestamp, also within nested values, that is not written."""
    for array in _scalars(values):
        refused = _refused(array)
        if refused is not None:
            raise ValueError(
                f"[TIME_OUTSIDE_ORC] The value {refused} of the column {name} cannot be stored in an ORC file so that "
                "every program reads it."
            )


def _refused(array: pa.Array) -> str | None:
    """Returns the text of a value that is not written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date32(array.type):
        days = array.cast(pa.int32())
        mask = pc.less(days, _FIRST_GREGORIAN_DAY)
    elif pa.types.is_timestamp(array.type):
        second = _UNITS_PER_SECOND[array.type.unit]
        instants, bounds = array.cast(pa.int64()), (_FIRST_INSTANT, _LAST_INSTANT)
        first, last = (bound // SECOND * second for bound in bounds)
        outside = pc.or_(pc.less(instants, first), pc.greater(instants, last))
        seconds = pc.multiply(pc.divide(instants, second), second)
        mask = pc.or_(outside, pc.and_(pc.less(instants, 0), pc.not_equal(seconds, instants)))
    else:
        return None
    refused = array.filter(mask)
    if not len(refused):
        return None
    is_timestamp = pa.types.is_timestamp(array.type)
    plain = refused.cast(pa.timestamp(array.type.unit)) if is_timestamp else refused
    return str(plain.slice(0, 1).cast(pa.string())[0])


def _scalars(array: pa.Array) -> Iterator[pa.Array]:
    """Yields the arrays of scalars of which an array of nested values consists."""
    import pyarrow as pa

    if not pa.types.is_nested(array.type):
        yield array
        return
    if pa.types.is_map(array.type):
        # Arrow flattens lists, but not maps.
        array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    flat = array.flatten()
    for child in flat if isinstance(flat, list) else [flat]:
        yield from _scalars(child)


def _has_clock_times(type_: pa.DataType) -> bool:
    """Tests whether values of a type have timestamps without a zone."""
    import pyarrow as pa

    if pa.types.is_timestamp(type_):
        return type_.tz is None
    return any(_has_clock_times(type_.field(index).type) for index in range(type_.num_fields))


def _in_microseconds(type_: pa.DataType) -> pa.DataType:
    """Returns a type with microseconds in its timestamps, also in nested values."""
    import pyarrow as pa

    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", tz="UTC")
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_in_microseconds(type_.value_type)))
    if pa.types.is_map(type_):
        fields = (field.with_type(_in_microseconds(field.type)) for field in (type_.key_field, type_.item_field))
        return pa.map_(*fields)
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_in_microseconds(field.type)) for field in type_])
    return type_


def _read_columns(path: str, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yields the columns of the file that have one of these names, ignoring case; a table for each stripe.

    Timestamps are in microseconds. Raises ``ValueError`` for columns that cannot be found by name, and for times that
    Arrow reads otherwise than Spark.
    """
    import pyarrow as pa
    import pyarrow.orc

    source = arrow_source(path)
    file = pyarrow.orc.ORCFile(source)
    stored_names = list(file.schema.names)
    if stored_names and all(name.startswith("_col") for name in stored_names):
        raise ValueError("[DUCKDB_UNSUPPORTED] The ORC file has numbers instead of names of columns (_col0, …)")
    wanted = {name.lower() for name in names}
    chosen = [name for name in stored_names if name.lower() in wanted]
    if len({name.lower() for name in chosen}) < len(chosen):
        raise ValueError("[DUCKDB_UNSUPPORTED] The ORC file has columns whose names differ in their case alone")
    for name in chosen:
        if _has_clock_times(file.schema.field(name).type):
            raise ValueError(
                f"[DUCKDB_UNSUPPORTED] The column {name} of the ORC file has timestamps of the clock of the program "
                "that wrote it, which is not known on DuckDB"
            )
    for number in range(file.nstripes):
        try:
            # Without a column, Arrow loses the number of rows.
            batch = file.read_stripe(number, columns=chosen or stored_names[:1])
        except pa.ArrowInvalid as error:
            if "nanosecond resolution" not in str(error):
                raise
            text = "The ORC file has timestamps before 1677 or after 2262, which are not supported on DuckDB"
            raise ValueError(f"[DUCKDB_UNSUPPORTED] {text}") from None
        table = pa.Table.from_batches([batch])
        for index, field in enumerate(table.schema):
            column = table.column(index)
            for scalars in (scalars for chunk in column.chunks if chosen for scalars in _scalars(chunk)):
                refused = _refused(scalars)
                if refused is not None:
                    raise ValueError(
                        f"[DUCKDB_UNSUPPORTED] The column {field.name} of the ORC file has the value {refused}, which "
                        "programs read differently"
                    )
            # Parts of a microsecond are cut: those before 1970 have been refused.
            declared = _in_microseconds(field.type)
            if declared != field.type:
                table = table.set_column(index, field.name, column.cast(declared, safe=False))
        if number == file.nstripes - 1 and isinstance(source, StoredReader):
            source.require_unchanged()
        yield table


def _schema(path: str, options: Mapping[str, str]) -> pa.Schema:
    """Returns the columns of a file. Raises ``ValueError`` for one that Spark reads by a type that its numbers hide."""
    import pyarrow.orc

    schema = pyarrow.orc.ORCFile(arrow_source(path)).schema
    for column in schema:
        hidden = _hidden_type(column)
        if hidden is not None:
            raise ValueError(f"column {column.name}: its type {hidden.upper()} is not supported")
    return schema


def _hidden_type(field: pa.Field) -> str | None:
    """Returns Spark's name of a type, also in nested values, that the file stores as another one."""
    children = [field.type.field(index) for index in range(field.type.num_fields)]
    if children:
        return next((hidden for hidden in map(_hidden_type, children) if hidden is not None), None)
    name = (field.metadata or {}).get(_SPARK_TYPE, b"int").decode()
    return None if _PLAIN_TYPES.match(name) else str(name)


def _rows(path: str) -> int:
    import pyarrow.orc

    return int(pyarrow.orc.ORCFile(arrow_source(path)).nrows)


def _check(path: str, options: Mapping[str, str]) -> Iterator[None]:
    import pyarrow.orc

    file = pyarrow.orc.ORCFile(arrow_source(path))
    for number in range(file.nstripes):
        file.read_stripe(number)
        yield


def _pieces(path: str, open_file: OpenFile, columns: pa.Schema, options: Mapping[str, str]) -> Iterator[pa.Table]:
    return _read_columns(path, columns.names)


WRITER = FileFormat("orc", _open, has_row_groups=True)
READER = FileReader(_schema, _check, check_head=lambda path, options: _rows(path), rows=_rows, pieces=_pieces)
