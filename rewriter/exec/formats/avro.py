"""Reads and writes Avro files with fastavro.

A table finds its columns by name, in any case; one that a file lacks is NULL. Dates are days, timestamps microseconds
since 1970 in UTC (``timestamp-micros``), decimals bytes; ``timestamp-millis``, enums and ``fixed`` are read, too. Files
that are written are compressed by deflate, which every reader has; files that are read may have any codec of fastavro.

fastavro would make Python's times of numbers, which end in the year 9999. So it gets the file without the logical
types: the numbers become Arrow's values here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from rewriter.catalog.filesystems.reading import open_bytes
from rewriter.exec.formats.file_format import FileFormat, FileReader, FileWriter, OpenFile

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 10_000
_BLOCK_BYTES = 64_000
#: The beginning of a file, as Avro's specification has it.
_HEADER = {
    "type": "record",
    "name": "header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
    ],
}
_SCHEMA, _MARK, _SYNC_BYTES = "avro.schema", b"Obj\x01", 16
_INT, _LONG = "int", "long"
#: The logical types of integers that are times.
_DATE = "date"
_INSTANTS = ("timestamp-millis", "timestamp-micros")


class _AvroWriter:
    """Writes tables of one schema into a new file. Every column may be NULL."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        from fastavro.write import Writer

        fields = [{"name": field.name, "type": ["null", _avro_type(field)], "default": None} for field in schema]
        self._file = open(path, "wb")  # noqa: SIM115
        self._writer: Any = Writer(
            self._file,
            {"type": "record", "name": "topLevelRecord", "fields": fields},
            codec="deflate",
            sync_interval=_BLOCK_BYTES,
        )

    def write_table(self, table: pa.Table) -> None:
        for batch in table.to_batches(max_chunksize=_ROWS):
            columns = [_written(column) for column in batch.columns]
            for row in zip(*columns, strict=True):
                self._writer.write(dict(zip(table.column_names, row, strict=True)))

    def close(self) -> None:
        self._writer.flush()
        self._file.close()


def _open(path: str, schema: pa.Schema, options: Mapping[str, str]) -> FileWriter:
    return _AvroWriter(path, schema)


def _avro_type(field: pa.Field) -> object:
    import pyarrow as pa

    type_ = field.type
    if pa.types.is_decimal(type_):
        return {"type": "bytes", "logicalType": "decimal", "precision": type_.precision, "scale": type_.scale}
    if pa.types.is_timestamp(type_):
        return {"type": _LONG, "logicalType": "timestamp-micros"}
    if pa.types.is_date32(type_):
        return {"type": _INT, "logicalType": "date"}
    for is_of, name in (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_int64, _LONG),
        (pa.types.is_integer, _INT),
        (pa.types.is_float32, "float"),
        (pa.types.is_float64, "double"),
        (pa.types.is_string, "string"),
        (pa.types.is_large_string, "string"),
        (pa.types.is_binary, "bytes"),
        (pa.types.is_large_binary, "bytes"),
        (pa.types.is_null, "string"),
    ):
        if is_of(type_):
            return name
    raise ValueError(f"the type {type_} of the column {field.name} cannot be in an Avro file")


def _written(array: pa.Array) -> list[Any]:
    """Returns the values of a column as fastavro takes them: times as numbers."""
    import pyarrow as pa

    if pa.types.is_date32(array.type):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_timestamp(array.type):
        return list(array.cast(pa.timestamp("us", tz=array.type.tz)).cast(pa.int64()).to_pylist())
    if pa.types.is_decimal(array.type):
        return [None if value is None else _unscaled(value) for value in array.to_pylist()]
    return list(array.to_pylist())


def _unscaled(value: Decimal) -> bytes:
    """Returns a decimal of that scale as Avro stores it. fastavro takes ten times the time."""
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)))
    number = -number if sign else number
    return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)


class _Rest:
    """The bytes of a file behind others that replace its beginning, as fastavro reads them: it seeks nothing."""

    def __init__(self, beginning: bytes, file: IO[bytes]) -> None:
        self._beginning = io.BytesIO(beginning)
        self._file = file

    def read(self, size: int) -> bytes:
        head = self._beginning.read(size)
        return head if len(head) == size else head + self._file.read(size - len(head))


def _header(file: IO[bytes]) -> dict[str, Any]:
    """Reads the header of a file. Raises ``ValueError``."""
    from fastavro import schemaless_reader

    try:
        header: Any = schemaless_reader(file, _HEADER, None)
    except Exception as error:  # fastavro raises any error on other bytes.
        raise ValueError("it is no Avro file") from error
    if header["magic"] != _MARK or _SCHEMA not in header["meta"]:
        raise ValueError("it is no Avro file")
    return dict(header)


def _fields(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    schema = json.loads(header["meta"][_SCHEMA])
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ValueError("its rows are no records")
    return list(schema["fields"])


def _is_null(type_: object) -> bool:
    return type_ == "null" or (isinstance(type_, dict) and type_.get("type") == "null")


def _stored_type(type_: Any) -> pa.DataType:
    """Returns Arrow's type of a type of Avro. Raises ``ValueError`` for one that no column can have."""
    import pyarrow as pa

    if isinstance(type_, list):
        types = [_stored_type(member) for member in type_ if not _is_null(member)]
        if not types:
            return pa.null()
        if len(set(types)) == 1:
            return types[0]
        # Spark reads such unions as the wider type, too.
        for narrow, wide in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64())):
            if set(types) == {narrow, wide}:
                return wide
        raise ValueError(f"its type {json.dumps(type_)} is a union of several types")
    logical = type_.get("logicalType") if isinstance(type_, dict) else None
    name = type_["type"] if isinstance(type_, dict) else type_
    if isinstance(name, list | dict):
        return _stored_type(name)
    if logical == "decimal" and name in ("bytes", "fixed"):
        return pa.decimal128(type_["precision"], type_.get("scale", 0))
    if logical == _DATE and name == _INT:
        return pa.date32()
    if logical in _INSTANTS and name == _LONG:
        return pa.timestamp("us", tz="UTC")
    if logical is not None and logical.startswith("local-timestamp-"):
        return pa.timestamp("us")
    if logical is not None and logical.startswith("time-"):
        raise ValueError(f"its type {logical} is a time of day")
    plain = {
        "null": pa.null(),
        "boolean": pa.bool_(),
        _INT: pa.int32(),
        _LONG: pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "bytes": pa.binary(),
        "fixed": pa.binary(),
        "string": pa.string(),
        "enum": pa.string(),
    }
    if name not in plain:
        raise ValueError(f"its type {name} is not supported")
    return plain[name]


def _is_of_millis(type_: Any) -> bool:
    members = type_ if isinstance(type_, list) else [type_]
    return any(isinstance(member, dict) and member.get("logicalType") == "timestamp-millis" for member in members)


def _without_logical_types(type_: Any) -> Any:
    if isinstance(type_, list):
        return [_without_logical_types(member) for member in type_]
    if not isinstance(type_, dict):
        return type_
    plain = {key: value for key, value in type_.items() if key != "logicalType"}
    for key in ("type", "items", "values"):
        if key in plain:
            plain[key] = _without_logical_types(plain[key])
    if "fields" in plain:
        plain["fields"] = [{**field, "type": _without_logical_types(field["type"])} for field in plain["fields"]]
    return plain


def _records(file: IO[bytes], header: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the rows behind a header that was read, with numbers and bytes for values of logical types."""
    import fastavro

    plain = json.dumps(_without_logical_types(json.loads(header["meta"][_SCHEMA]))).encode()
    beginning = io.BytesIO()
    fastavro.schemaless_writer(beginning, _HEADER, {**header, "meta": {**header["meta"], _SCHEMA: plain}})
    yield from fastavro.reader(_Rest(beginning.getvalue(), file))


def _read_columns(
    path: str, open_file: OpenFile, columns: pa.Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file: exactly these columns, of these types. A column that the file lacks is NULL.

    Raises ``ValueError`` for a damaged file, and where the type of a column in the file is not the table's type, or one
    that it holds exactly.
    """
    import pyarrow as pa

    with open_file(path) as file:
        header = _header(file)
        fields: dict[str, dict[str, Any]] = {}
        for stored in _fields(header):
            if stored["name"].lower() in fields:
                raise ValueError("it has columns whose names differ in their case alone")
            fields[stored["name"].lower()] = stored
        chosen = [fields.get(name.lower()) for name in columns.names]
        stored_types = [None if field is None else _type_of(field) for field in chosen]
        for column, field, type_ in zip(columns, chosen, stored_types, strict=True):
            if field is not None and not _is_held(type_, column.type):
                raise ValueError(f"it stores the column {column.name} as {type_}, but the table has {column.type}")
        records = _records(file, header)
        while chunk := _chunk(records):
            arrays = [
                pa.nulls(len(chunk), column.type)
                if field is None or type_ is None
                else _array([record[field["name"]] for record in chunk], field["type"], type_, column.type)
                for column, field, type_ in zip(columns, chosen, stored_types, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=columns.names)


def _type_of(field: Mapping[str, Any]) -> pa.DataType:
    try:
        return _stored_type(field["type"])
    except ValueError as error:
        raise ValueError(f"column {field['name']}: {error}") from None


def _chunk(records: Iterator[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    try:
        return list(islice(records, _ROWS))
    except (OSError, MemoryError):
        raise
    except Exception as error:  # fastavro and its codecs raise any error on a damaged block.
        raise ValueError(f"a block is damaged, or its codec is not supported: {error}") from error


def _is_held(stored: pa.DataType, declared: pa.DataType) -> bool:
    """Returns whether a column of a table can have the values of a column of a file without a change. Values that do
    not fit fail when they are read.
    """
    import pyarrow as pa

    is_integer = bool(pa.types.is_integer(stored))
    if stored == declared or pa.types.is_null(stored):
        return True
    if pa.types.is_integer(declared):
        return is_integer
    if pa.types.is_decimal(declared):
        return is_integer or bool(pa.types.is_decimal(stored) and stored.scale <= declared.scale)
    return bool(pa.types.is_float64(declared) and (is_integer or pa.types.is_float32(stored)))


def _array(values: list[Any], avro: Any, stored: pa.DataType, declared: pa.DataType) -> pa.Array:
    """Returns values of fastavro as an array of the declared type. Raises ``ValueError`` for one that does not fit."""
    import pyarrow as pa

    if pa.types.is_decimal(stored):
        values = [None if value is None else _decimal(value, stored.scale) for value in values]
    elif pa.types.is_timestamp(stored) and _is_of_millis(avro):
        values = [None if value is None else value * 1000 for value in values]
    elif pa.types.is_float64(stored) or pa.types.is_float32(stored):
        values = [None if value is None else float(value) for value in values]
    array = pa.array(values, stored)
    return array if stored == declared else array.cast(declared)


def _decimal(unscaled: bytes, scale: int) -> Decimal:
    number = int.from_bytes(unscaled, "big", signed=True)
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


def _schema(path: str, options: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    with open_bytes(path) as file:
        return pa.schema([pa.field(field["name"], _type_of(field)) for field in _fields(_header(file))])


def _rows(path: str) -> int:
    """Returns the sum of the numbers that stand before each block. Reads the file, and decodes nothing."""
    rows = 0
    with open_bytes(path) as file:
        sync = _header(file)["sync"]
        while (count := _number(file)) is not None:
            size = _number(file)
            if count < 0 or size is None or size < 0 or len(file.read(size)) < size or file.read(_SYNC_BYTES) != sync:
                raise ValueError(f"the block after row {rows} is damaged")
            rows += count
    return rows


def _number(file: IO[bytes]) -> int | None:
    """Reads a number as Avro encodes it; ``None`` at the end of the file. Raises ``ValueError`` for other bytes."""
    number = shift = 0
    while byte := file.read(1):
        number |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return (number >> 1) ^ -(number & 1)
        if shift > 63:
            break
    if shift:
        raise ValueError("a number before a block is damaged")
    return None


def _check(path: str, options: Mapping[str, str]) -> Iterator[None]:
    with open_bytes(path) as file:
        header = _header(file)
        records = _records(file, header)
        while _chunk(records):
            yield


WRITER = FileFormat("avro", _open, has_row_groups=False)
READER = FileReader(
    _schema,
    _check,
    check_head=lambda path, options: _rows(path),
    rows=_rows,
    pieces=_read_columns,
    has_local_times=True,
)
