"""How CREATE TABLE spells the rows of text and CSV files: the clauses, options and properties that say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.model.row_formats import (
    ESCAPE,
    FIELD,
    HEADER_LINES,
    NULL,
    OPTION_PROPERTY,
    TEXTFILE,
    csv_properties,
    row_format_properties,
)
from rewriter.data_formats import CSV
from rewriter.errors import NotSupportedError, Span
from rewriter.exec.formats.csv_dialects import SERDE
from rewriter.grammar.row_formats import RowFormat, checked_row_format
from rewriter.statements.resolve.file_options import (
    check_csv_type,
    check_written_options,
    csv_options,
    hive_csv_options,
)

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Table
    from rewriter.grammar.families.tables import NewTable

#: Properties that Hive takes as separators of text files, with the clauses that state them.
_CLAUSES = {FIELD: "FIELDS TERMINATED BY", ESCAPE: "ESCAPED BY", NULL: "NULL DEFINED AS"}


def spelled_rows(statement: NewTable, format: str, like: Table | None) -> dict[str, str]:
    """Returns how rows of text and CSV files are spelled, as properties: as the statement says, or as in the table that
    is copied. Raises ``NotSupportedError`` for options and properties by which the files would be read differently.
    """
    if like is not None and statement.format is None:
        options = like.file_options
        spelled = row_format_properties(options) if format == TEXTFILE else csv_properties(options)
        return spelled | {key: value for key, value in options.items() if key == HEADER_LINES}
    skipped = next((value for key, value in statement.properties if key.lower() == HEADER_LINES), None)
    if format == TEXTFILE:
        properties = _separators(statement)
    elif format == CSV.name and statement.serde_properties is not None:
        properties = csv_properties(hive_csv_options(statement.serde_properties, statement.format_span))
    elif format == CSV.name and statement.options is not None:
        if skipped is not None and skipped != "0":
            raise _refused_skipping(statement)
        return csv_properties(csv_options(statement.options, statement.option_spans))
    else:
        check_written_options(format, statement.options or (), statement.option_spans)
        return {}
    if statement.options:
        check_written_options(TEXTFILE, statement.options, statement.option_spans)
    return properties if skipped is None else properties | {HEADER_LINES: _checked_skipped_lines(skipped, statement)}


def _separators(statement: NewTable) -> dict[str, str]:
    """Returns the separators of text files as properties. Hive also takes those in TBLPROPERTIES."""
    stated = {} if statement.row_format is None else _texts(statement.row_format)
    spans: dict[str, Span] = {}
    for (key, value), span in zip(statement.properties, statement.property_spans, strict=True):
        if key in _CLAUSES:
            stated[_CLAUSES[key]], spans[_CLAUSES[key]] = value, span
    if not stated:
        return {}
    rows = checked_row_format(stated, spans) if spans else statement.row_format
    assert rows is not None
    texts = _texts(rows)
    return row_format_properties({key: texts[clause] for key, clause in _CLAUSES.items() if clause in texts})


def _texts(rows: RowFormat) -> dict[str, str]:
    """Returns the clauses of a row format."""
    escape = {} if rows.escape is None else {_CLAUSES[ESCAPE]: rows.escape}
    return {_CLAUSES[FIELD]: rows.field, **escape, _CLAUSES[NULL]: rows.null}


def check_csv_columns(columns: Sequence[Column], properties: Mapping[str, str], position: Span) -> None:
    """Raises ``NotSupportedError`` for a column that files with these options do not hold, and for one of OpenCSVSerde
    that is no STRING: Hive takes each of them for one.
    """
    if not any(name.startswith(OPTION_PROPERTY) for name in properties):
        return
    for column in columns:
        check_csv_type(column, position)
    if OPTION_PROPERTY + SERDE not in properties:
        return
    other = next((column for column in columns if column.type.lower() != "string"), None)
    if other is not None:
        raise NotSupportedError(
            f"The column {other.name} of a table of OpenCSVSerde is {other.type.upper()}, but Hive reads STRING.",
            position=position,
            object=other.name,
            hint=f"Declare it STRING, and write CAST({other.name} AS {other.type.upper()}) in a view; or USING csv "
            "OPTIONS (…), whose columns have types.",
        )


def _checked_skipped_lines(text: str, statement: NewTable) -> str:
    """Returns how many lines of each file are skipped. Raises ``NotSupportedError`` at the table's name."""
    if text.strip().isascii() and text.strip().isdigit():
        return str(int(text))
    raise NotSupportedError(
        f"The property {HEADER_LINES} has the value '{text}'.",
        position=statement.table.span,
        object=HEADER_LINES,
        hint="It is a number: '1'.",
    )


def _refused_skipping(statement: NewTable) -> NotSupportedError:
    return NotSupportedError(
        f"The property {HEADER_LINES} is Hive's, and not of tables USING csv.",
        position=statement.table.span,
        object=HEADER_LINES,
        hint="Write OPTIONS (header 'true').",
    )
