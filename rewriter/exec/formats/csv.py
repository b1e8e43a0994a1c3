"""Reads and writes CSV files: a header, a delimiter between fields, quotes around strings.

Without a dialect, the option of files that are read is ``delimiter``, one character, by default a comma. Every column
is a string, and an empty field is NULL: engines infer types differently, and a CAST in the query states the type.
Files with other options are in a dialect (``csv_dialects``), read by ``csv_rows`` and written by ``csv_writer``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.reading import open_bytes, open_text
from rewriter.errors import NotSupportedError
from rewriter.exec.formats.csv_dialects import ENDINGS, csv_dialect, has_dialect
from rewriter.exec.formats.csv_rows import read_csv_columns, read_csv_rows, split_csv_rows
from rewriter.exec.formats.csv_writer import AS_SPARK, CsvDialectWriter
from rewriter.exec.formats.file_format import FileFormat, FileReader, FileWriter

if TYPE_CHECKING:
    import pyarrow as pa


def delimiter(options: Mapping[str, str]) -> str:
    """Returns the delimiter of fields. Raises ``NotSupportedError`` for unknown options."""
    for name in options:
        if name.lower() != "delimiter":
            raise NotSupportedError(f"The file option {name} is not supported.", object=name, hint="Use delimiter.")
    value = next(iter(options.values()), ",")
    if len(value) != 1 or value in '"\r\n':
        raise NotSupportedError("A delimiter must be one character, and not a quote or a line end.", object="delimiter")
    return value


def header(path: str, separator: str) -> tuple[str, ...]:
    """Returns the names in the first line of a file. Raises ``ValueError`` if they are not valid column names."""
    try:
        with open_text(path, newline="") as file:
            names = next(csv.reader(file, delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None
    return _checked_names(names)


def _open(path: str, schema: pa.Schema, options: Mapping[str, str]) -> FileWriter:
    if has_dialect(options):
        return CsvDialectWriter(path, schema, options)
    import pyarrow.csv

    writer: FileWriter = pyarrow.csv.CSVWriter(path, schema)
    return writer


def _ending(options: Mapping[str, str]) -> str:
    if not has_dialect(options):
        return ""
    return ENDINGS[csv_dialect({name: value for name, value in options.items() if name != AS_SPARK}).compression]


def _schema(path: str, options: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    names = _dialect_names(path, options) if has_dialect(options) else header(path, delimiter(options))
    return pa.schema([pa.field(name, pa.string()) for name in names])


def _dialect_names(path: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the names in the header of a file, or Spark's for one without: ``_c0``, ``_c1``, …"""
    dialect = csv_dialect(options)
    _, fields = next(split_csv_rows(path, open_bytes, dialect), (0, []))
    if not dialect.header:
        return tuple(f"_c{number}" for number in range(len(fields)))
    return _checked_names([field or "" for field in fields])


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if not names or any(not name for name in names) or len({name.lower() for name in names}) < len(names):
        raise ValueError("its first line is not a header with a different name for each column")
    return tuple(names)


def _check(path: str, options: Mapping[str, str]) -> Iterator[None]:
    if has_dialect(options):
        for _ in split_csv_rows(path, open_bytes, csv_dialect(options)):
            yield
        return
    with open_text(path, newline="") as file:
        lines = csv.reader(file, delimiter=delimiter(options), strict=True)
        width = len(next(lines, []))
        for fields in lines:
            if len(fields) not in (width, 0):
                raise ValueError(f"line {lines.line_num} has {len(fields)} fields, but the header has {width}")
            yield


def _values(path: str, columns: Sequence[str], options: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yields the values of a file. The line is the one where the row ends, or where a row of a dialect begins."""
    if has_dialect(options):
        for line, texts in read_csv_rows(path, open_bytes, columns, csv_dialect(options)):
            yield from ((line, name, text) for name, text in zip(columns, texts, strict=True) if text is not None)
        return
    with open_text(path, newline="") as file:
        lines = csv.reader(file, delimiter=delimiter(options), strict=True)
        names = next(lines, [])
        for fields in lines:
            yield from ((lines.line_num, name, value) for name, value in zip(names, fields, strict=False))


def _check_head(path: str, options: Mapping[str, str]) -> None:
    if not has_dialect(options):
        header(path, delimiter(options))


WRITER = FileFormat("csv", _open, has_row_groups=False, ending=_ending)
READER = FileReader(_schema, _check, check_head=_check_head, values=_values, pieces=read_csv_columns)
