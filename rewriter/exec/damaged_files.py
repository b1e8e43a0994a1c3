"""Finds the damaged file after an engine failed to read: engines do not always name it, and their messages differ.

The files of the query are read again only after a failure, footers first, until one fails here, too. If a value was
refused, CSV and JSON files are searched for it: at that point no engine reports the file, column and line.
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rewriter.errors import EngineError, Error, is_of_signal_handler
from rewriter.exec.data_files import unreadable
from rewriter.exec.formats.registry import reader_named
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.exec.engine import Relation

#: Conditions that are less specific than our own reading of the file.
_NAMELESS = ("DUCKDB_ERROR", "SPARK_ERROR", "FAILED_READ_FILE")
#: Conditions of a value that cannot be converted to a type, and the patterns by which messages name both.
_OF_VALUES = ("CAST_INVALID_INPUT", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", "DUCKDB_UNSUPPORTED")
_VALUES = (
    re.compile(r"""The value '(?P<value>.*)' of the type "STRING" cannot be cast to "(?P<type>[^"]*)\"""", re.DOTALL),
    re.compile(r"""Could not convert string "(?P<value>.*)" to (?P<type>DECIMAL\(\d+, ?\d+\))""", re.DOTALL),
    re.compile(r"Reading the text '(?P<value>.*)' as (?P<type>DATE|TIMESTAMP|DOUBLE) is not supported", re.DOTALL),
    re.compile(r"(?P<value>\S+) cannot be represented as (?P<type>Decimal\(\d+, ?\d+\))"),
)
#: The time limit for reading files, in seconds.
_SECONDS = 10.0


def name_damaged_file(error: Error, relations: Sequence[Relation], conditions: Sequence[str]) -> Error:
    """Returns the error, or ``EngineError`` FAILED_READ_FILE with the path if a file causes one of ``conditions``.

    If a value does not fit its column in a CSV or JSON file, the error includes the position of the value. If bytes are
    no theta sketch, it names their column, file and partition.

    Costs a search of the message if it names the file; otherwise a reading of the files, ten seconds at most.
    """
    if error.condition in _OF_VALUES:
        return _locate_value(error, relations)
    if error.condition in _OF_SKETCHES:
        return _locate_sketch(error, relations)
    if error.condition not in conditions:
        return error
    for relation in relations:
        for file in relation.files:
            if file.path in error.message:
                if error.condition == "FAILED_READ_FILE" and error.hint:
                    return error
                return unreadable(file.path, error.message)
    try:
        for _ in _read_files(relations, time.monotonic() + _SECONDS):
            pass
    except EngineError as failure:
        if error.condition in _NAMELESS:
            return failure
        error.message, error.object = f"{error.message.rstrip('.')}, in the file {failure.object}.", failure.object
    return error


def _locate_value(error: Error, relations: Sequence[Relation]) -> Error:
    """Returns the error with the position of its value, if a column of that type has the value in a text file."""
    message_match = next((candidate for pattern in _VALUES if (candidate := pattern.search(error.message))), None)
    if message_match is None:
        return error
    # Spark shows a value as a literal.
    texts = {message_match["value"].strip(), re.sub(r"\\(.)", r"\1", message_match["value"]).strip()}
    deadline = time.monotonic() + _SECONDS
    for relation in relations:
        columns = {
            column.stored_name.lower(): column.name
            for column in relation.columns
            if _normalized_type(column.type) == _normalized_type(message_match["type"])
        }
        if reader_named(relation.format).values is None or not columns:
            continue
        for file in relation.files:
            try:
                for line, name, value in _values(relation, file.path):
                    if value.strip() in texts and name.lower() in columns:
                        location = (
                            f"It is in the column {columns[name.lower()]} in line {line} of the file {file.path}."
                        )
                        error.message, error.object = f"{error.message.rstrip('.')}. {location}", file.path
                        return error
                    if time.monotonic() > deadline:
                        return error
            except (Error, OSError, ValueError, csv.Error):
                continue  # This file did not cause the engine's error, or the error would have said so.
    return error


#: Conditions of bytes that are no theta sketch.
_OF_SKETCHES = ("THETA_INVALID_INPUT_SKETCH_BUFFER", "THETA_INVALID_INPUT_SKETCH_BUFFER_FAMILY")


def _locate_sketch(error: Error, relations: Sequence[Relation]) -> Error:
    """Returns the error with the column and the file of the first value that is no theta sketch, in a column of Parquet
    files that has sketches, too, or is the only one of bytes.
    """
    deadline = time.monotonic() + _SECONDS
    for relation in relations:
        columns = [column.stored_name for column in relation.columns if column.type == "binary"]
        partition_columns = [column.stored_name for column in relation.stored_partition_columns]
        paths = [file.path for file in relation.files if relation.format == "parquet" and not is_uri(file.path)]
        bad: dict[str, str] = {}
        with_sketches = set()
        for path in paths if columns else ():
            try:
                for name, value, partition in _binary_values(path, columns, partition_columns):
                    if _is_sketch(value):
                        with_sketches.add(name)
                    elif name not in bad:
                        bad[name] = f"{path}{f', in the partition {partition}' if partition else ''}"
            except (OSError, ValueError):
                continue
            if time.monotonic() > deadline:
                break
        for name, place in bad.items():
            if name in with_sketches or len(columns) == 1:
                error.message = f"{error.message.rstrip('.')}. It is in the column {name} of the file {place}."
                error.hint = error.hint or "Write the partition again with INSERT OVERWRITE, from its events."
                return error
    return error


def _binary_values(
    path: str, columns: Sequence[str], partition_columns: Sequence[str]
) -> Iterator[tuple[str, bytes, str]]:
    """Yields the values of columns, each with its name, and with the partition of its row, if the file has several."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    names, keys = (
        [name for name in wanted if name in file.schema_arrow.names] for wanted in (columns, partition_columns)
    )
    for batch in file.iter_batches(columns=[*names, *keys]):
        for row in batch.to_pylist():
            of_row = "/".join(f"{name}={row[name]}" for name in keys)
            yield from ((name, row[name], of_row) for name in names if row[name] is not None)


def _is_sketch(value: bytes) -> bool:
    from rewriter.exec.theta_sketches import problem_of_header, read_sketch

    if find_spec("datasketches") is None:
        return problem_of_header(value) is None
    try:
        read_sketch(value)
    except ValueError:
        return False
    return True


def _normalized_type(type: str) -> str:
    """Returns a type, spelled as the messages of all engines name it."""
    return type.lower().replace(" ", "")


def _values(relation: Relation, path: str) -> Iterator[tuple[int, str, str]]:
    """Returns the values of a text file: each with the line where its row ends, and its column as named in the file."""
    values, names = reader_named(relation.format).values, [column.stored_name for column in relation.columns]
    return iter(()) if values is None else values(path, names, relation.options)


def _read_files(relations: Sequence[Relation], deadline: float) -> Iterator[None]:
    """Reads the files, cheap reads first. Raises ``EngineError`` at the first file that cannot be read."""
    for read_file in (_read_head, _read_all):
        for relation in relations:
            for file in relation.files:
                if time.monotonic() > deadline:
                    return
                try:
                    read_file(relation, file.path, deadline)
                except EngineError:
                    raise
                except Exception as error:  # A library may raise any exception on a damaged file.
                    if is_of_signal_handler(error):
                        raise
                    raise unreadable(file.path, error) from None
                yield


def _read_head(relation: Relation, path: str, _deadline: float) -> None:
    check_head = reader_named(relation.format).check_head
    if check_head is not None:
        check_head(path, relation.options)


def _read_all(relation: Relation, path: str, deadline: float) -> None:
    for _ in reader_named(relation.format).check(path, relation.options):
        if time.monotonic() > deadline:
            return
