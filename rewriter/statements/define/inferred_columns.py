"""The columns of a new table that declares none: those of the files in its LOCATION, and of their directories, as Spark
infers them. Where Spark's inference cannot be followed exactly, the columns must be declared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from rewriter.catalog.keys.values import DEFAULT_PARTITION
from rewriter.catalog.model.objects import Column
from rewriter.catalog.storage.data_files import FoundFile, visible_files
from rewriter.catalog.storage.partition_directories import names_in
from rewriter.data_formats import CSV, DATA_FORMATS, JSON, PARQUET
from rewriter.errors import AnalysisError, Error, NotSupportedError
from rewriter.exec.data_files import file_columns, stored_columns, unreadable
from rewriter.exec.formats.json_lines import spark_types
from rewriter.grammar.terms import ColumnDef
from rewriter.statements.resolve.file_options import csv_options
from rewriter.statements.resolve.locations import absolute

if TYPE_CHECKING:
    from rewriter.grammar.families.tables import CreateTable


#: Files without rows that some programs write beside Parquet files, in the order in which Spark prefers their columns.
_SUMMARIES = ("_common_metadata", "_metadata")


class InferredColumns(NamedTuple):
    """A statement with the columns that were inferred, and the warning that shows them."""

    statement: CreateTable
    warning: str


def infer_columns(statement: CreateTable, format: str, warehouse: Path) -> InferredColumns:
    """Returns a CREATE TABLE without columns with those of the files in its location. Partition columns that it does
    not declare are those of the directories.

    Costs a listing, and one footer (parquet), the footer or first line of each file (orc, avro, csv), or a reading of
    all files (json). Raises ``AnalysisError`` UNABLE_TO_INFER_SCHEMA, ``NotSupportedError`` where Spark's types are not
    certain, and the errors of damaged files, at the name of the table.
    """
    assert statement.location is not None
    location = absolute(statement.location, warehouse, statement.table)
    try:
        files = visible_files(location) or []
        if not files:
            raise AnalysisError(
                f"There is no file in {location} that gives {statement.table.last} its columns.",
                condition="UNABLE_TO_INFER_SCHEMA",
                sqlstate="42KD9",
                object=location,
                hint="Declare the columns: CREATE TABLE t (name type, …).",
            )
        columns = _columns_of_files(statement, format, location, [file.path for file in files])
        partition_columns = () if statement.partitioned_by else _columns_of_directories(location, files)
    except Error as error:
        raise error if error.position is not None else error.at(statement.table.span) from None
    shown = ", ".join(f"{column.name} {column.type.upper()}" for column in columns)
    place = (_summary(location) or "the first file by path") if format == PARQUET.name else "the files"
    warning = f"The columns are those of {place} in {location}: {shown}."
    if partition_columns:
        partitions = ", ".join(f"{column.name} {column.type.upper()}" for column in partition_columns)
        warning += f" The directories name the partition columns {partitions}."
    if partition_columns or statement.partitioned_by:
        warning += f" MSCK REPAIR TABLE {statement.table.last} adds the partitions."
    span = statement.table.span
    definitions = tuple(ColumnDef(column.name, column.type, span=span) for column in columns)
    levels = tuple(ColumnDef(column.name, column.type, span=span) for column in partition_columns)
    return InferredColumns(
        replace(statement, columns=definitions, partitioned_by=statement.partitioned_by or levels), warning
    )


def _columns_of_files(statement: CreateTable, format: str, location: str, paths: Sequence[str]) -> tuple[Column, ...]:
    """Returns the columns of the first file by path (parquet), or those that all files have."""
    if format == CSV.name:
        if statement.options is None:
            raise _unknown(
                "The statement does not say whether the first line of a CSV file has the names of its columns",
                "Write OPTIONS (header 'true') or OPTIONS (header 'false'), or declare the columns.",
            )
        options = csv_options(statement.options, statement.option_spans)
        return _same_columns(paths, [file_columns(format, path, options) for path in paths])
    if format == JSON.name:
        try:
            return tuple(Column(name, type_name) for name, type_name in spark_types(paths).items())
        except (OSError, UnicodeError) as error:
            raise unreadable(", ".join(paths[:3]), error) from None
        except ValueError as error:
            raise _unknown(f"The types of the columns are not certain: {error}") from None
    if DATA_FORMATS[format].is_text:
        raise _unknown(f"Files of the format {format} name no columns")
    if format == PARQUET.name:
        summary = _summary(location)
        return _stored_columns(format, paths[0] if summary is None else f"{location}/{summary}")
    return _same_columns(paths, [_stored_columns(format, path) for path in paths])


def _summary(location: str) -> str | None:
    names = names_in(location)
    return next((name for name in _SUMMARIES if name in names), None)


def _stored_columns(format: str, path: str) -> tuple[Column, ...]:
    columns = stored_columns(format, path)
    for column in columns:
        if column.type == "timestamp in nanoseconds":
            raise _unknown(f"The column {column.name} of {path} is a {column.type}, which Spark does not read")
    # As in queries of files, a time without a zone is one in UTC.
    return tuple(replace(column, type=re.sub(r"\btimestamp_ntz\b", "timestamp", column.type)) for column in columns)


def _same_columns(paths: Sequence[str], columns: Sequence[tuple[Column, ...]]) -> tuple[Column, ...]:
    """Returns the columns of each file, which must be the same: Spark takes those of any."""
    other = next((path for path, own in zip(paths, columns, strict=True) if own != columns[0]), None)
    if other is not None:
        raise _unknown(f"The files {paths[0]} and {other} have different columns")
    return columns[0]


def _columns_of_directories(location: str, files: Sequence[FoundFile]) -> tuple[Column, ...]:
    """Returns the partition columns that directories such as ``dt=2024-05-31`` name, with the types of Spark."""
    directories = dict.fromkeys(os.path.dirname(file.path)[len(location) :].strip("/") for file in files)
    levels = [[level.partition("=") for level in path.split("/")] if path else [] for path in directories]
    names = [name for name, _, _ in levels[0]]
    for path, parts in zip(directories, levels, strict=True):
        if not all(name and equals and "%" not in name for name, equals, _ in parts):
            raise _unknown(f"The directory {path} of {location} names no partition as column=value")
        if [name for name, _, _ in parts] != names:
            shown = " and ".join(repr(directory) for directory in (next(iter(directories)), path))
            raise _unknown(f"The directories {shown} of {location} name different columns")
    texts = [{unquote(parts[index][2]) for parts in levels} for index in range(len(names))]
    return tuple(Column(name, _type(name, values)) for name, values in zip(names, texts, strict=True))


def _type(name: str, texts: set[str]) -> str:
    """Returns the type that Spark infers for a partition column with these values."""
    types = {text: _type_of_text(text) for text in sorted(texts - {DEFAULT_PARTITION})}
    uncertain = next((text for text, type_name in types.items() if type_name is None), None)
    if uncertain is not None:
        raise _uncertain(name, f"the value '{uncertain}'")
    type_names = set(types.values())
    for common_type, others in _COMMON_TYPES.items():
        if common_type in type_names and type_names <= {common_type, *others}:
            return common_type
    raise _uncertain(name, "numbers and dates" if type_names else "no value")


#: The type of values of several types.
_COMMON_TYPES = {"int": (), "date": (), "bigint": ("int",), "string": ("int", "bigint", "date")}
#: Texts that are neither numbers nor times for Spark, where they are not among ``_NUMBERS``.
_STRINGS = re.compile(r"[A-Za-z].*|\d{4}-\d{2}([-T]\d{2}){0,2}", re.ASCII | re.DOTALL)
_NUMBERS = ("nan", "infinity")


def _type_of_text(text: str) -> str | None:
    """Returns the type that Spark infers for one value; ``None`` where it is not certain."""
    if re.fullmatch(r"[+-]?[0-9]+", text):
        number = int(text)
        return "int" if -(2**31) <= number < 2**31 else "bigint" if -(2**63) <= number < 2**63 else None
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        try:
            date.fromisoformat(text)
        except ValueError:
            return None if text.startswith("0000") else "string"
        return "date"
    return "string" if _STRINGS.fullmatch(text) and text.lower() not in _NUMBERS else None


def _uncertain(name: str, values: str) -> NotSupportedError:
    return _unknown(
        f"The type of the partition column {name} is not certain: the directories have {values}",
        f"Declare the partition columns: PARTITIONED BY ({name} STRING). The files still give the others.",
    )


def _unknown(reason: str, hint: str = "Declare the columns: CREATE TABLE t (name type, …).") -> NotSupportedError:
    return NotSupportedError(f"{reason}.", hint=hint)
