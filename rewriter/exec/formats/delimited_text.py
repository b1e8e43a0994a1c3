"""Hive's text files: a row a line, fields between separators, as its LazySimpleSerDe reads and writes them.

Lines end with a line feed, a carriage return, or both. Lacking fields are NULL, surplus ones are ignored, and an empty
field of a type other than STRING is NULL. With an escape character, ``\\n`` and ``\\r`` are the ends of lines, and any
other character behind it is itself. Lines that Hive skips at the beginning of a file have the names of the columns in
written files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.reading import open_bytes
from rewriter.exec.formats.csv_dialects import skipped_line, skipped_lines
from rewriter.exec.formats.file_format import FileFormat, FileReader, FileWriter, OpenFile
from rewriter.exec.formats.json_lines import plain_times
from rewriter.exec.formats.text_input import text_lines

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 10_000
_LETTERS = {"n": "\n", "r": "\r"}
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
#: The names of options are Hive's.
_FIELD, _ESCAPE, _NULL = "field.delim", "escape.delim", "serialization.null.format"


def _read_columns(
    path: str, open_file: OpenFile, columns: pa.Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a file as texts. Empty texts of columns that are no strings are NULL. Raises ``ValueError``
    for a file that is not UTF-8, with the line, and for another compression than gzip and bzip2.

    ``open_file`` opens the path. It is an argument because workers of Spark, to which this code travels, have no other
    part of this package.
    """
    import pyarrow as pa

    are_strings = [pa.types.is_string(field.type) for field in columns]
    rows = _read_rows(path, open_file, len(columns), options)
    while chunk := list(islice(rows, _ROWS)):
        arrays = [
            pa.array(texts if is_string else [text or None for text in texts], pa.string())
            for is_string, texts in zip(are_strings, zip(*chunk, strict=True), strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=columns.names)


def _read_rows(path: str, open_file: OpenFile, count: int, options: Mapping[str, str]) -> Iterator[list[str | None]]:
    """Yields the first ``count`` fields of each line; ``None`` is NULL."""
    separator, escape, null = options[_FIELD], options.get(_ESCAPE), options[_NULL]
    absent: list[str | None] = [None] * count
    for _, line in islice(text_lines(path, open_file), skipped_lines(options), None):
        fields = _split_fields(line.removesuffix("\n"), separator, escape)[:count]
        texts = [None if field == null else _unescaped(field, escape) for field in fields]
        yield texts + absent[len(texts) :]


def _split_fields(line: str, separator: str, escape: str | None) -> list[str]:
    """Returns the fields of a line as they are stored."""
    parts = line.split(separator)
    if escape is None or escape not in line:
        return parts
    fields: list[str] = []
    is_continued = False
    for part in parts:
        if is_continued:
            fields[-1] += separator + part
        else:
            fields.append(part)
        # A separator behind an odd number of escape characters is escaped.
        is_continued = (len(part) - len(part.rstrip(escape))) % 2 == 1
    return fields


def _unescaped(field: str, escape: str | None) -> str:
    if escape is None or escape not in field:
        return field
    return re.sub(f"{re.escape(escape)}(.)", lambda match: _LETTERS.get(match[1], match[1]), field, flags=re.DOTALL)


class _TextWriter:
    """Writes tables of one schema into a new file. The options are the reader's."""

    def __init__(self, path: str, names: Sequence[str], options: Mapping[str, str]) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
        self._separator, self._escape, self._null = options[_FIELD], options.get(_ESCAPE), options[_NULL]
        self._file.writelines([skipped_line(names)] * skipped_lines(options))

    def write_table(self, table: pa.Table) -> None:
        """Writes rows. Raises ``ValueError`` for a value that would be read as another one."""
        for batch in table.to_batches(max_chunksize=_ROWS):
            columns = [
                [self._stored(name, text) for text in _texts(name, column)]
                for name, column in zip(table.column_names, batch.columns, strict=True)
            ]
            for text in columns[0]:
                if text.startswith("\ufeff"):
                    raise _unstorable(table.column_names[0], "begins with a byte order mark, which readers remove")
            self._file.writelines(f"{self._separator.join(row)}\n" for row in zip(*columns, strict=True))

    def close(self) -> None:
        self._file.close()

    def _stored(self, name: str, text: str | None) -> str:
        if text is None:
            return self._null
        if self._escape is not None:
            escape = self._escape
            text = text.replace(escape, escape * 2).replace(self._separator, escape + self._separator)
            text = text.replace("\n", f"{escape}n").replace("\r", f"{escape}r")
        elif self._separator in text:
            raise _unstorable(name, "contains the separator of fields")
        elif "\n" in text or "\r" in text:
            raise _unstorable(name, "contains the end of a line")
        if text == self._null:
            raise _unstorable(name, "is the text of NULL")
        return text


def _open(path: str, schema: pa.Schema, options: Mapping[str, str]) -> FileWriter:
    return _TextWriter(path, schema.names, options)


def _schema(path: str, options: Mapping[str, str]) -> pa.Schema:
    raise ValueError("text files name no columns")


def _check(path: str, options: Mapping[str, str]) -> Iterator[None]:
    for _ in _read_rows(path, open_bytes, 1, options):
        yield


def _values(path: str, columns: Sequence[str], options: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    for number, row in enumerate(_read_rows(path, open_bytes, len(columns), options), 1 + skipped_lines(options)):
        yield from ((number, name, value) for name, value in zip(columns, row, strict=True) if value is not None)


WRITER = FileFormat("textfile", _open, has_row_groups=False)
READER = FileReader(_schema, _check, values=_values, pieces=_read_columns)


def _unstorable(name: str, reason: str) -> ValueError:
    return ValueError(f"[VALUE_OUTSIDE_TEXTFILE] A value of the column {name} {reason}.")


def _texts(name: str, array: pa.Array) -> Sequence[str | None]:
    """Returns the values of a column as texts."""
    import pyarrow as pa

    type_ = array.type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        texts: list[str | None] = array.to_pylist()
        return texts
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        times = plain_times(name, array, "VALUE_OUTSIDE_TEXTFILE", "text files")
        return [text.rstrip("0").rstrip(".") if text is not None and "." in text else text for text in times]
    if pa.types.is_decimal(type_):
        return [None if value is None else f"{value:f}" for value in array.to_pylist()]
    plain = array.cast(pa.string()).to_pylist()
    if pa.types.is_floating(type_):
        return [None if text is None else _NOT_FINITE.get(text, text) for text in plain]
    return list(plain)
