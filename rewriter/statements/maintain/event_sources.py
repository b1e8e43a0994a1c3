"""The sources of CREATE CUBE … FROM: files that are copied or stay where they are, tables and views of events."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rewriter.catalog.facts.time_binding import declared_period
from rewriter.catalog.keys.types import partition_type
from rewriter.catalog.keys.values import hidden_column
from rewriter.catalog.model.objects import Column, Cube, Fact, Table
from rewriter.catalog.model.stored_paths import READ_FILES, files_hint
from rewriter.catalog.storage.data_files import FoundFile, visible_files
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import AnalysisError, Error, Span
from rewriter.exec.data_files import stored_columns
from rewriter.grammar.terms import Name, Query
from rewriter.grammar.unparse import name_text
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.statement_context import single
from rewriter.statements.query.select import prepare
from rewriter.statements.resolve.locations import check_table_format
from rewriter.terminal_text import counted
from rewriter.timeline.inferred_layouts import inferred_layout
from rewriter.uris import is_in_store, is_uri

if TYPE_CHECKING:
    from rewriter.grammar.families.cube_from import CreateCubeFrom
    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.layouts import TimeLayout


#: The footers that are read to find columns that the first file does not have.
_MOST_READ_FOOTERS = 20


@dataclass(frozen=True)
class ExternalFiles:
    """Files in directories such as ``day=2024-05-01``, which stay where they are."""

    format: str
    location: str
    partition_columns: tuple[Column, ...]


@dataclass(frozen=True)
class EventSource:
    """Events, with their columns without partition columns.

    ``text`` is what a query reads after FROM. ``copied`` is what the copy reads: a stream of files, which reads each
    file once; ``None`` where the events stay in ``table``, or in ``external`` files, whose partitions have ``layout``.
    """

    columns: tuple[Column, ...]
    text: str
    copied: str | None = None
    table: Table | None = None
    external: ExternalFiles | None = None
    layout: TimeLayout | None = None
    #: Files are read with the columns of the first one: a warning if others have more; '' if none of them does.
    left_out: str = ""

    def named(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


def event_source(statement: CreateCubeFrom, context: Context) -> EventSource:
    """Returns the source that a statement names. Raises INVALID_CUBE for cubes and facts, for files without directories
    that name a time where they are EXTERNAL, and for a table whose partitions name no time.
    """
    source = statement.source
    names_format = len(source.parts) == 2 and source.parts[0].lower() in DATA_FORMATS
    is_path = names_format and not source.last.isidentifier()
    if len(source.parts) == 1 and not source.last.isidentifier() and os.path.exists(source.last):
        raise _files_without_format(source)
    table = None if is_path else context.snapshot.named(single(source))
    if isinstance(table, Cube | Fact):
        raise invalid_cube(
            f"{source.last} is a {'cube' if isinstance(table, Cube) else 'fact'}: its rows are sums, and no events.",
            source.span,
            "Name files, or a table or view in which each row is an event.",
        )
    if table is not None and statement.external:
        raise invalid_cube(
            f"EXTERNAL is about files, and {source.last} is a {'table' if isinstance(table, Table) else 'view'}.",
            source.span,
            "Leave EXTERNAL out: a table of events stays as it is.",
        )
    if isinstance(table, Table):
        return EventSource(
            table.columns, name_text(source), table=table, layout=_layout_of(table, source.span, context)
        )
    if table is None and not names_format:
        if len(source.parts) == 1 and os.path.exists(source.last):
            raise _files_without_format(source)
        context.table(source)  # Raises that it cannot be found.
    if statement.external:
        return _external(source, context)
    text = name_text(source)
    columns = event_columns(f"SELECT * FROM {text}", source.span, context)
    if table is not None or is_in_store(source.last):
        return EventSource(columns, text, copied=text)
    left_out = _left_out(source.parts[0], visible_files(os.path.abspath(source.last)) or [], columns)
    return EventSource(columns, text, copied=f"STREAM {_files(source)}", left_out=left_out)


def _left_out(format: str, files: Sequence[FoundFile], columns: Sequence[Column]) -> str:
    """Returns a warning if a file has columns that the first one does not have. Reads up to twenty files."""
    names = {column.name.lower() for column in columns}
    step = max(1, len(files) // _MOST_READ_FOOTERS)
    for file in files[::-step] if not DATA_FORMATS[format.lower()].is_text else ():
        more = [column.name for column in stored_columns(format, file.path) if column.name.lower() not in names]
        if more:
            return (
                f"{file.path} has {counted(len(more), 'column')} that {files[0].path} does not have, and "
                f"{'it is' if len(more) == 1 else 'they are'} left out: {', '.join(more)}. To have them, write the "
                "first file again with all columns, or name the files with all columns alone."
            )
    return ""


def event_columns(sql: str, span: Span, context: Context) -> tuple[Column, ...]:
    """Returns the columns of a query over the events, whose errors get the position ``span``."""
    try:
        prepared = prepare(Query(sql, span), context)
        return context.engine().columns(prepared.query)
    except Error as error:
        error.position = None  # The position was in the text of the query.
        error.hint = error.hint or "SELECT * FROM the same source shows its columns."
        raise error.at(span) from None


def invalid_cube(message: str, span: Span, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_CUBE", position=span, hint=hint)


def _files_without_format(source: Name) -> AnalysisError:
    return AnalysisError(
        f"The table or view {source.last} cannot be found.",
        condition="TABLE_OR_VIEW_NOT_FOUND",
        sqlstate="42P01",
        position=source.span,
        object=source.last,
        hint=files_hint(source.last) or f"{READ_FILES}FROM parquet.`{source.last}`.",
    )


def _files(source: Name, path: str | None = None) -> str:
    quoted = (path or source.last).replace("`", "``")
    return f"{source.parts[0].lower()}.`{quoted}`"


def _layout_of(table: Table, span: Span, context: Context) -> TimeLayout:
    """Returns the layout of a table's partitions: that of its transform, or inferred from their columns and the first
    partition.
    """
    hidden = hidden_column(table)
    if hidden is not None and hidden.transform is not None:
        return hidden.transform.layout
    columns = [(column.name, partition_type(column.type).name) for column in table.partition_columns]
    first = next(iter(context.snapshot.lookup(table, None).partitions()), None) if columns else None
    values = None if first is None else first.values
    layout = inferred_layout(columns, values, declared_period(table.properties)) if columns else None
    if layout is None:
        names = ", ".join(name for name, _ in columns)
        shown = "" if values is None else f" = {', '.join(map(str, values))}"
        reason = f"is partitioned by {names}{shown}" if columns else "has no partitions"
        raise invalid_cube(
            f"Nothing says which time the partitions of {table.name} hold: it {reason}.",
            span,
            "Write CREATE CUBE and CREATE FACT, whose PARTITIONED BY says it."
            if columns
            else f"CREATE VIEW v AS SELECT * FROM {table.name}, and CREATE CUBE … FROM v: it copies the events.",
        )
    return layout


def _external(source: Name, context: Context) -> EventSource:
    """Returns files whose directories name a time, as the partitions of an external table."""
    format_, path = check_table_format(source.parts[0], source.span, source.last), source.last
    location = path if is_uri(path) else os.path.abspath(path)
    try:
        files = visible_files(location)
    except Error as error:
        raise error.at(source.span) from None
    if not files:
        raise invalid_cube(
            f"{path} is no directory with files." if files is None else f"The directory {path} has no files.",
            source.span,
            "EXTERNAL needs a directory, whose directories name the time of their events, such as day=2024-05-01.",
        )
    directories = dict.fromkeys(os.path.dirname(file.path)[len(location) :].strip("/") for file in files)
    levels = [[level.partition("=") for level in directory.split("/")] for directory in directories]
    names = tuple(name for name, _, _ in levels[0])
    for directory, parts in zip(directories, levels, strict=True):
        if not all(equals for _, equals, _ in parts):
            raise _misplaced(directory, path, source.span)
        if tuple(name for name, _, _ in parts) != names:
            raise invalid_cube(
                f"The directories {next(iter(directories))} and {directory} of {path} name different columns.",
                source.span,
                "Rename them, or leave EXTERNAL out: the files are copied once, into partitions.",
            )
    values = [tuple(unquote(value) for _, _, value in parts) for parts in levels]
    texts = list(zip(*values, strict=True))
    digits = [all(value.isascii() and value.isdigit() for value in column) for column in texts]
    widths = [len({len(value) for value in column}) for column in texts]
    # Values such as 05 are texts; 5 beside 10 are numbers, and 5 alone is one where no text has this form.
    for are_numbers in ([is_digit and width > 1 for is_digit, width in zip(digits, widths, strict=True)], digits):
        types = tuple("int" if is_number else "string" for is_number in are_numbers)
        layout = inferred_layout(list(zip(names, types, strict=True)), values[0])
        if layout is not None:
            break
    else:
        raise _misplaced(next(iter(directories)), path, source.span)
    first = _files(source, files[0].path)
    partition_columns = tuple(map(Column, names, types))
    columns = event_columns(f"SELECT * FROM {first}", source.span, context)
    external = ExternalFiles(format_, location, partition_columns)
    return EventSource(columns, first, external=external, layout=layout, left_out=_left_out(format_, files, columns))


def _misplaced(directory: str, path: str, span: Span) -> AnalysisError:
    place = f"The directory {directory} of {path} names no time" if directory else f"Files lie in {path} itself"
    return invalid_cube(
        f"{place}: a query of a day would read them all.",
        span,
        "Put the files into directories such as day=2024-05-01, or leave EXTERNAL out and name the files by a pattern, "
        f"such as {path}/*/*.parquet: they are copied once, without the values of directories.",
    )
