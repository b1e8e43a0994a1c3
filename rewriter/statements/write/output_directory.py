"""INSERT OVERWRITE DIRECTORY: the rows of a query as files in a directory that belongs to no table.

The files are written into a directory beside it, which then takes its place. No reader sees a part of them, and a
failure leaves the old content.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Column
from rewriter.catalog.model.row_formats import ESCAPE, FIELD, NULL, TEXTFILE
from rewriter.data_formats import CSV, DATA_FORMATS
from rewriter.directory_changes import discard_tree
from rewriter.errors import AnalysisError, Error, NotSupportedError, OperationalError, Span, disk_full, is_disk_full
from rewriter.exec.data_files import write_empty
from rewriter.exec.engine import Write, WrittenFile
from rewriter.exec.formats.csv_writer import AS_SPARK
from rewriter.exec.formats.registry import format_named
from rewriter.grammar.families.output_directories import InsertDirectory
from rewriter.grammar.row_formats import RowFormat
from rewriter.grammar.terms import ColumnDef, Name
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import check_columns_of_format, new_column
from rewriter.statements.query.engine_errors import with_position
from rewriter.statements.query.select import prepare
from rewriter.statements.resolve.file_options import (
    check_csv_type,
    check_written_options,
    csv_options,
    hive_csv_options,
)
from rewriter.statements.resolve.location_conflicts import check_output_directory
from rewriter.statements.resolve.locations import check_table_format, local
from rewriter.statements.resolve.type_trees import type_tree
from rewriter.statements.write.managed_write import rows_of, stats_of, write_reported

if TYPE_CHECKING:
    from rewriter.runtime.prepared_queries import Prepared
    from rewriter.runtime.statement_context import Context

_TYPES = frozenset(
    "boolean tinyint smallint int bigint float double decimal string char varchar binary date timestamp array map "
    "struct".split()
)


@runs(InsertDirectory)
def insert_directory(statement: InsertDirectory, context: Context) -> Result:
    """INSERT OVERWRITE [LOCAL] DIRECTORY: replaces everything in the directory, which need not exist.

    A relative path starts at the working directory. Raises UNSAFE_LOCATION for a directory that shares files with a
    table, LINK_NOT_FOLLOWED for a link, and DIRECTORY_WRITE_FAILED for errors of the disk.
    """
    format = check_table_format(statement.format, statement.format_span or statement.path_span, statement.path)
    options = _file_options(statement, format)
    path = local(statement.path, os.getcwd(), Name((statement.path,), statement.path_span))
    _check_place(path, statement.path_span, context)
    prepared = prepare(statement.query, context)
    context = context.on(prepared.route.cluster)
    started = time.perf_counter()
    try:
        query_columns = context.engine().columns(prepared.query)
    except Error as error:
        raise with_position(error, statement.query, prepared.query.sql) from None
    columns = _columns(query_columns, format, statement, has_header=options.get("header", "").lower() == "true")

    def fill(directory: str) -> tuple[WrittenFile, ...]:
        write = Write(directory, format, columns, (), options=options)
        with context.progress.watching(directory):
            return context.engine().write(prepared.query, write)

    with _replacing(path, statement.path_span) as staging:
        try:
            files = write_reported(fill, staging)
        except Error as error:
            raise with_position(error, statement.query, prepared.query.sql) from None
        if not files:
            with suppress(NotSupportedError):  # A directory without files has no rows, either.
                ending = format_named(format).file_ending(options)
                write_empty(os.path.join(staging, f"part-{uuid.uuid4().hex}{ending}"), columns, format, options)
        # A directory of the way may have become a link.
        _check_place(path, statement.path_span, context)
    return _result(files, prepared, time.perf_counter() - started)


def _result(files: Sequence[WrittenFile], prepared: Prepared, seconds: float) -> Result:
    return Result(
        "INSERT",
        rowcount=rows_of(files),
        coverage=prepared.plan.coverage,
        plan=prepared.plan,
        warnings=prepared.plan.warnings,
        stats=stats_of(files, seconds, prepared),
    )


def _file_options(statement: InsertDirectory, format: str) -> dict[str, str]:
    """Returns the options by which the files are written: CSV as Spark writes it with the options of the statement.

    Raises ``NotSupportedError`` for options by which files of another format would be written differently.
    """
    if format == CSV.name:
        if statement.serde_properties is None:
            options = csv_options(statement.options, statement.option_spans)
        else:
            options = hive_csv_options(statement.serde_properties, statement.format_span)
        return {**options, AS_SPARK: "true"}
    check_written_options(format, statement.options, statement.option_spans)
    return {} if format != TEXTFILE else _separators(statement.row_format or RowFormat())


def _columns(
    query_columns: Sequence[Column], format: str, statement: InsertDirectory, has_header: bool
) -> tuple[Column, ...]:
    """Returns the columns of the files. Raises COLUMN_ALREADY_EXISTS, and ``NotSupportedError`` for types that files of
    the format do not hold.
    """
    span = statement.query.span
    names_columns = has_header or (DATA_FORMATS[format].names_columns and format != CSV.name)
    seen_names: set[str] = set()
    for column in query_columns:
        if column.name.lower() in seen_names and names_columns:
            raise AnalysisError(
                f"The column {column.name} already exists: the query returns it twice.",
                condition="COLUMN_ALREADY_EXISTS",
                sqlstate="42711",
                position=span,
                object=column.name,
                hint="Give one of them an alias: … AS name.",
            )
        seen_names.add(column.name.lower())
        if type_tree(column.type).name not in _TYPES and column.type != "void":
            raise NotSupportedError(
                f"A column of the type {column.type} is not supported.",
                condition="UNSUPPORTED_DATATYPE",
                sqlstate="0A000",
                position=span,
                object=column.name,
                hint="Write CAST(… AS STRING).",
            )
    columns = tuple(new_column(ColumnDef(column.name, column.type, None, span)) for column in query_columns)
    check_columns_of_format(format, columns, span)
    for column in columns if format == CSV.name else ():
        check_csv_type(column, span)
    if not names_columns:
        return tuple(Column(f"c{number}", column.type) for number, column in enumerate(columns))
    return columns


def _separators(rows: RowFormat) -> dict[str, str]:
    return {FIELD: rows.field, **({} if rows.escape is None else {ESCAPE: rows.escape}), NULL: rows.null}


def _check_place(path: str, span: Span, context: Context) -> None:
    try:
        check_output_directory(path, context)
    except Error as error:
        raise error.at(span) from None
    if os.path.islink(path):
        raise OperationalError(
            f"{path} is a symbolic link, which is not followed.",
            condition="LINK_NOT_FOLLOWED",
            position=span,
            object=path,
            hint="Name the directory that it leads to.",
        )
    if os.path.lexists(path) and not os.path.isdir(path):
        raise OperationalError(
            f"{path} is not a directory.",
            condition="DIRECTORY_WRITE_FAILED",
            position=span,
            object=path,
            hint="Name a directory, or one that does not exist.",
        )


@contextmanager
def _replacing(path: str, span: Span) -> Iterator[str]:
    """Yields a directory beside another one, whose place it takes after the block. A failure leaves the old content."""
    above = os.path.dirname(path)
    mark = uuid.uuid4().hex
    staging, old = (os.path.join(above, f".rewriter-{kind}-{mark}") for kind in ("new", "old"))
    try:
        os.makedirs(above, exist_ok=True)
        yield staging
        _exchange(staging, path, old)
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The directory {path}", path) from error
        raise OperationalError(
            f"The directory {path} cannot be replaced: {error.strerror or error}.",
            condition="DIRECTORY_WRITE_FAILED",
            position=span,
            object=path,
            hint=f"Check the directory {above}.",
        ) from error
    finally:
        discard_tree(staging, (above,))
    discard_tree(old, (above,))


def _exchange(staging: str, path: str, old: str) -> None:
    """Puts a new directory in the place of an existing one, which is called ``old`` then."""
    if not os.path.lexists(path):
        os.rename(staging, path)
        return
    os.rename(path, old)
    try:
        os.rename(staging, path)
    except BaseException:
        os.rename(old, path)
        raise
