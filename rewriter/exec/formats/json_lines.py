"""Reads and writes JSON: one object a line. Written ones have every column of the row, as Spark writes it.

NaN and the infinities are texts, as in Spark's files. A DECIMAL is a text, too, because many readers take a number as a
double. A timestamp has microseconds and the zone UTC, binary data are base64. A column of files that are read is
BOOLEAN, BIGINT, DOUBLE or STRING, the first that fits all its values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.reading import open_text
from rewriter.exec.formats.file_format import FileFormat, FileReader, FileWriter

if TYPE_CHECKING:
    import pyarrow as pa

#: In days and microseconds since 1970: the years 1 to 9999.
_DAYS = -719_162, 2_932_896
_MICROSECONDS = _DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1
_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_ROWS = 10_000


class _JsonWriter:
    """Writes tables of one schema into a new file."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="\n")  # noqa: SIM115

    def write_table(self, table: pa.Table) -> None:
        """Writes rows. Raises ``ValueError`` for times outside of the years 1 to 9999."""
        for batch in table.to_batches(max_chunksize=_ROWS):
            columns = [_texts_of(name, column) for name, column in zip(table.column_names, batch.columns, strict=True)]
            self._file.writelines(f"{text}\n" for text in _objects(table.column_names, columns, batch.num_rows))

    def close(self) -> None:
        self._file.close()


def _open(path: str, schema: pa.Schema, options: Mapping[str, str]) -> FileWriter:
    return _JsonWriter(path)


def _objects(names: Sequence[str], columns: Sequence[Sequence[str]], count: int) -> list[str]:
    """Returns the texts of objects, of which each column has the values of one field."""
    keys = [_quoted(name) for name in names]
    if not columns:
        return ["{}"] * count
    fields = [[f"{key}:{text}" for text in column] for key, column in zip(keys, columns, strict=True)]
    return [f"{{{','.join(row)}}}" for row in zip(*fields, strict=True)]


def _texts_of(name: str, array: pa.Array) -> list[str]:
    """Returns the values of an array, which belong to the column ``name``, as JSON."""
    import base64

    import pyarrow as pa

    type_ = array.type
    if pa.types.is_nested(type_):
        return _nested_texts(name, array)
    if pa.types.is_floating(type_):
        return [_number(text) for text in array.cast(pa.string()).to_pylist()]
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        times = plain_times(name, array, "TIME_OUTSIDE_JSON", "JSON files")
        return [_quoted(text if text is None or " " not in text else f"{text.replace(' ', 'T')}Z") for text in times]
    if pa.types.is_decimal(type_):
        return ["null" if value is None else f'"{value:f}"' for value in array.to_pylist()]
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return ["null" if value is None else f'"{base64.b64encode(value).decode()}"' for value in array.to_pylist()]
    return [_quoted(value) for value in array.to_pylist()]


def _nested_texts(name: str, array: pa.Array) -> list[str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_struct(array.type):
        parts = [_texts_of(name, part) for part in array.flatten()]
        texts = _objects([field.name for field in array.type], parts, len(array))
    else:
        opening, closing = "[", "]"
        if pa.types.is_map(array.type):
            opening, closing = "{", "}"
            # Arrow flattens lists, but not maps.
            array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
            keys, values = array.flatten().flatten()
            pairs = zip(keys.to_pylist(), _texts_of(name, values), strict=True)
            entry_texts = [f"{_quoted(key)}:{text}" for key, text in pairs]
        else:
            entry_texts = _texts_of(name, array.flatten())
        texts, start = [], 0
        for length in pc.list_value_length(array).to_pylist():
            end = start + (length or 0)
            texts.append(f"{opening}{','.join(entry_texts[start:end])}{closing}")
            start = end
    return [text if valid else "null" for text, valid in zip(texts, array.is_valid().to_pylist(), strict=True)]


def plain_times(name: str, array: pa.Array, condition: str, files: str) -> list[str | None]:
    """Returns dates or timestamps as texts, with a blank and microseconds. Raises ``ValueError`` with the condition for
    times outside of the years 1 to 9999, which ``files`` do not hold.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    is_date = pa.types.is_date(array.type)
    plain = array if is_date else array.cast(pa.timestamp("us", tz=array.type.tz)).cast(pa.int64())
    numbers = plain.cast(pa.int32()) if is_date else plain
    first, last = _DAYS if is_date else _MICROSECONDS
    if pc.any(pc.or_(pc.less(numbers, first), pc.greater(numbers, last))).as_py():
        raise ValueError(
            f"[{condition}] A value of the column {name} is not between the years 1 and 9999, which {files} can hold."
        )
    texts: list[str | None] = (array if is_date else numbers.cast(pa.timestamp("us"))).cast(pa.string()).to_pylist()
    return texts


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(text: str | None) -> str:
    """Returns a double as Arrow spells it as a number of JSON that is not an integer: -0 would lose its sign."""
    if text is None:
        return "null"
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    return text if "." in text or "e" in text else f"{text}.0"


def _schema(path: str, options: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    types: dict[str, str] = {}
    for row in _rows(path):
        for name, value in row.items():
            types[name] = _wider(types.get(name, "void"), _json_type(value))
    arrow_types = {"boolean": pa.bool_(), "bigint": pa.int64(), "double": pa.float64()}
    return pa.schema([pa.field(name, arrow_types.get(type_name, pa.string())) for name, type_name in types.items()])


def spark_types(paths: Iterable[str]) -> dict[str, str]:
    """Returns the columns that Spark infers from JSON files together, with their types, sorted by name. Reads the whole
    files. Raises ``ValueError`` for values of which it infers another type than BOOLEAN, BIGINT, DOUBLE or STRING.
    """
    types: dict[str, str] = {}
    for path in paths:
        for row in _rows(path):
            for name, value in row.items():
                if isinstance(value, int) and not -(2**63) <= value < 2**63:
                    raise ValueError(f"the field {name} has an integer that is no BIGINT")
                # Spark takes an empty text for NULL when it infers types.
                types[name] = _wider(types.get(name, "void"), "void" if value == "" else _json_type(value))
    return {name: "string" if type_name == "void" else type_name for name, type_name in sorted(types.items())}


def _rows(path: str) -> Iterator[dict[str, object]]:
    with open_text(path) as file:
        for line in file:
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("a line is not a JSON object")
            yield row


def _json_type(value: object) -> str:
    if value is None:
        return "void"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint" if -(2**63) <= value < 2**63 else "double"
    if isinstance(value, float):
        return "double"
    if isinstance(value, str):
        return "string"
    raise ValueError("nested JSON values are not supported")


def _wider(left: str, right: str) -> str:
    if left == right or right == "void":
        return left
    if left == "void":
        return right
    return "double" if {left, right} == {"bigint", "double"} else "string"


def _check(path: str, options: Mapping[str, str]) -> Iterator[None]:
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not isinstance(json.loads(line), dict):
                raise ValueError(f"line {number} is not a JSON object")
            yield


def _values(path: str, columns: Sequence[str], options: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            row = json.loads(line, parse_float=str, parse_int=str) if line.strip() else {}
            for name, value in row.items():
                yield number, name, value if isinstance(value, str) else json.dumps(value)


WRITER = FileFormat("json", _open, has_row_groups=False)
READER = FileReader(_schema, _check, values=_values)
