"""The schema of a data file as stored in it: column names and types, read without any engine, hence alike on all.

What a format needs is in its module of ``formats``.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.model.objects import Column
from rewriter.data_formats import CSV, DATA_FORMATS, DataFormat, Reading, known_format
from rewriter.errors import EngineError, InterfaceError, NotSupportedError
from rewriter.exec.formats import csv
from rewriter.exec.formats.csv_dialects import has_dialect
from rewriter.exec.formats.registry import format_named, reader_named
from rewriter.exec.sql_types import arrow_type, parse_type
from rewriter.uris import is_uri, normalize_uri

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.engine import Relation, ScanFile
    from rewriter.exec.formats.file_format import FileReader


def check_format(format: str) -> str:
    """Returns the format in lower case. Raises ``NotSupportedError`` for an unknown one."""
    if known_format(format) is None:
        raise NotSupportedError(
            f"The file format {format} is not supported.", object=format, hint=f"Use one of {', '.join(DATA_FORMATS)}."
        )
    return format.lower()


def check_usable(format: str) -> DataFormat:
    """Returns the format, of which files are about to be read or written.

    Raises ``NotSupportedError`` for an unknown one, and ``InterfaceError`` FORMAT_LIBRARY_NOT_FOUND if the package that
    reads and writes its files is not installed.
    """
    data_format = DATA_FORMATS[check_format(format)]
    if data_format.library is not None and find_spec(data_format.library) is None:
        raise InterfaceError(
            f"Files of the format {data_format.name} are read and written by the package {data_format.library}, which "
            "is not installed.",
            condition="FORMAT_LIBRARY_NOT_FOUND",
            object=data_format.name,
            hint=f"Run pip install 'rewriter[{data_format.extra}]'.",
        )
    return data_format


def check_written(format: str, columns: Sequence[Column]) -> None:
    """Raises ``NotSupportedError`` for columns that files of the format do not hold, and the errors of
    ``check_usable``.
    """
    data_format = check_usable(format)
    unwritable = data_format.unwritable
    for column in columns:
        if unwritable is not None and re.search(unwritable, column.type.lower()):
            raise NotSupportedError(
                f"Writing the column {column.name}, {column.type.upper()}, as {data_format.title} is not supported: "
                "the names of a JSON object are strings.",
                object=column.name,
                hint="Use a table of the format parquet or orc, or a MAP<STRING, …>.",
            )


def file_columns(format: str, path: str, options: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """Names and types of the columns of ``path``: a file, or the first file of a directory or pattern.

    Costs one footer (parquet, orc), one line (csv) or a reading of the whole file (json). Raises ``EngineError``.
    """
    format = check_usable(format).name
    file = _first_file(path)
    try:
        return tuple(_column(field) for field in reader_named(format).schema(file, options or {}))
    except (OSError, ValueError, UnicodeError) as error:
        raise unreadable(file, error, _hint(file, format, error)) from None


def _hint(file: str, format: str, error: Exception) -> str:
    named = _format_of_name(file)
    if named is not None and named.name != format:
        return f"By its name, it is {named.a_file}. Read {named.name}.`…`."
    if str(error).startswith("column "):
        return "CREATE TABLE t (…) with the other columns and the LOCATION of the files reads them."
    return DAMAGED_FILE


def _column(field: pa.Field) -> Column:
    try:
        return Column(field.name, spark_type(field.type))
    except ValueError as error:
        raise ValueError(f"column {field.name}: {error}") from None


def stored_columns(format: str, path: str) -> tuple[Column, ...]:
    """Returns the columns of one file, with any name, as stored. In parquet files, a timestamp without a zone is a
    ``timestamp_ntz``, and a timestamp in nanoseconds has no supported type. Costs as ``file_columns``. Raises
    ``EngineError``.
    """
    reader = reader_named(check_usable(format).name)
    try:
        return tuple(Column(field.name, _stored_type(field.type, reader)) for field in reader.schema(path, {}))
    except (OSError, ValueError, UnicodeError) as error:
        raise unreadable(path, error, _hint(path, format, error)) from None


def _stored_type(type_: pa.DataType, reader: FileReader) -> str:
    import pyarrow as pa

    if reader.has_local_times and pa.types.is_timestamp(type_) and (type_.tz is None or type_.unit == "ns"):
        return "timestamp_ntz" if type_.tz is None else "timestamp in nanoseconds"
    return spark_type(type_)


def stored_rows(format: str, path: str) -> int | None:
    """Returns the number of rows that a file declares; ``None`` if files of the format declare none. Raises
    ``EngineError``.
    """
    count = reader_named(check_usable(format).name).rows
    try:
        return None if count is None else count(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def write_empty(
    path: str, columns: Sequence[Column], format: str = "parquet", options: Mapping[str, str] | None = None
) -> None:
    """Writes a file without rows. Raises ``NotSupportedError`` for columns of types that only Spark handles."""
    import pyarrow as pa

    data_format = check_usable(format)
    if data_format.is_text and not data_format.has_header:
        with open(path, "w", encoding="utf-8"):
            return
    schema = pa.schema([pa.field(column.name, arrow_type(parse_type(column.type))) for column in columns])
    with closing(format_named(format).open(path, schema, options or {})) as writer:
        writer.write_table(schema.empty_table())


def is_read_by_us(relation: Relation, reading: Reading) -> bool:
    """Tests whether our reader reads the files of a relation for an engine that reads their format in this way: also if
    their options state a dialect of CSV.
    """
    is_csv = relation.format.lower() == CSV.name
    return reading is Reading.OURS or (is_csv and has_dialect(relation.options))


#: The hint for a file that cannot be read.
DAMAGED_FILE = (
    "Check that the file is complete and has the format that the table or query names. Copy a damaged file back, or "
    "write its partition again: INSERT OVERWRITE t PARTITION (…) SELECT …."
)


def unreadable(path: str, error: object, hint: str = DAMAGED_FILE) -> EngineError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return EngineError(
        f"The file {path} cannot be read: {lines[0].rstrip('.')}.",
        condition="FAILED_READ_FILE",
        sqlstate="KD001",
        object=path,
        hint=hint,
    )


def _format_of_name(path: str) -> DataFormat | None:
    """Returns the format that the ending of a file's name states, if queries read files of it by their path."""
    name = path.rpartition("/")[2].lower()
    endings = name.split(".")[1:]
    named = (DATA_FORMATS[ending] for ending in endings if ending in DATA_FORMATS)
    return next((data_format for data_format in named if data_format.is_source), None)


def _csv_header(path: str, separator: str) -> tuple[str, ...]:
    """Returns the names in the first line of a CSV file. Raises ``EngineError`` if they are not valid column names."""
    try:
        return csv.header(path, separator)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def by_header(files: Sequence[ScanFile], separator: str, relation: Relation) -> list[tuple[ScanFile, ...]]:
    """Groups CSV files of a table by header. Files with only the first columns form one group for each number of
    columns; if columns were dropped, files with any columns that the table has had form one for each header.

    The other files, which ``common_header`` checks, are the last group. Reads the first line of each file.
    """
    names = [column.name.lower() for column in relation.columns]
    ever = {*names, *map(str.lower, relation.dropped)}
    files_by_header: dict[tuple[str, ...], list[ScanFile]] = {}
    other_files: list[ScanFile] = []
    for file in files:
        header = [name.lower() for name in _csv_header(file.path, separator)]
        is_shorter = len(header) < len(names) and header == names[: len(header)]
        if is_shorter or (relation.dropped and ever.issuperset(header)):
            files_by_header.setdefault(tuple(header), []).append(file)
        else:
            other_files.append(file)
    return [tuple(group) for group in (*files_by_header.values(), other_files) if group]


def common_header(paths: Iterable[str], separator: str) -> tuple[str, ...]:
    """Returns the header that all these CSV files have. Raises ``EngineError`` naming the first file with another
    header.
    """
    header: tuple[str, ...] | None = None
    for path in paths:
        file_header = _csv_header(path, separator)
        if header is not None and file_header != header:
            raise unreadable(path, "its header differs from that of the other files")
        header = file_header
    return header or ()


def _first_file(path: str) -> str:
    if is_uri(path):
        return _first_object(normalize_uri(path))
    local = "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else os.path.abspath(path)
    for root in [local] if os.path.exists(local) else sorted(glob.glob(local)):
        if not os.path.isdir(root):
            return root
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
            for name in sorted(names):
                if not name.startswith((".", "_")):
                    return os.path.join(folder, name)
    raise _nothing_there(path)


def _first_object(uri: str) -> str:
    store = store_of(uri)
    if store.find(uri) is not None:
        return uri
    for file in store.files_below(uri):
        if not any(level.startswith((".", "_")) for level in file.path[len(uri) + 1 :].split("/")):
            return file.path
    raise _nothing_there(uri)


def _nothing_there(path: str) -> EngineError:
    return EngineError(
        f"Path does not exist: {path}.",
        condition="PATH_NOT_FOUND",
        sqlstate="42K03",
        object=path,
        hint="Name a file, or a directory with files.",
    )


def spark_type(type_: pa.DataType) -> str:
    """Returns Spark's name of an Arrow type. Timestamps without a zone are taken as UTC. Raises ``ValueError`` for a
    type that Spark SQL does not have.
    """
    import pyarrow as pa

    names_of_types = {
        pa.bool_(): "boolean",
        pa.int8(): "tinyint",
        pa.int16(): "smallint",
        pa.int32(): "int",
        pa.int64(): "bigint",
        pa.uint8(): "smallint",
        pa.uint16(): "int",
        pa.uint32(): "bigint",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.string(): "string",
        pa.large_string(): "string",
        pa.binary(): "binary",
        pa.large_binary(): "binary",
        pa.date32(): "date",
        pa.null(): "string",
    }
    if type_ in names_of_types:
        return names_of_types[type_]
    if pa.types.is_timestamp(type_):
        return "timestamp"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_dictionary(type_):
        return spark_type(type_.value_type)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"array<{spark_type(type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"map<{spark_type(type_.key_type)},{spark_type(type_.item_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{','.join(f'{field.name}:{spark_type(field.type)}' for field in type_)}>"
    raise ValueError(f"its type {type_} has no counterpart in Spark SQL")
