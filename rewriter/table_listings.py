"""SHOW TABLE EXTENDED, SHOW COLUMNS and SHOW TBLPROPERTIES, from the catalog alone."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.models import Column, Table, View
from rewriter.catalog.statistics import without_statistics
from rewriter.catalog.temporary import place_of
from rewriter.context import Context
from rewriter.grammar import statements as s
from rewriter.lookups import columns_of_view, partition_named, require_columns
from rewriter.metadata import partition_metadata, schema_text, table_text, view_metadata
from rewriter.result import Result, Row
from rewriter.showing import fits_pattern, listing, strings
from rewriter.typetrees import drawn

_EXTENDED = (*strings("namespace", "tableName"), Column("isTemporary", "boolean"), *strings("information"))


def show_table_extended(statement: s.ShowTableExtended, context: Context) -> Result:
    """Rows of (namespace, tableName, isTemporary, information), as Spark answers them; views stand among the tables.

    Of the current database, or that of IN; temporary tables are in none, and among those of each.

    With PARTITION the pattern is the name of one table. Raises, at the pattern, TABLE_OR_VIEW_NOT_FOUND 42P01, and what
    ``lookups.partition_named`` raises. Lists the files of external tables.
    """
    database = context.database(statement.database).name
    if statement.partition is not None:
        temporary = statement.database is None and context.is_temporary(statement.like)
        parts = (statement.like,) if temporary else (database, statement.like)
        table = context.table(s.Name(parts, statement.like_span))
        partition = partition_named(table, statement.partition, context)
        information = schema_text(partition_metadata(table, partition, context), "")
        return listing("SHOW TABLE EXTENDED", _EXTENDED, [_row(table, information)])
    things: list[Table | View] = [*context.snapshot.tables(), *context.snapshot.views()]
    rows = [
        _row(thing, _information(thing, context))
        for thing in things
        if place_of(thing.name)[0] in (database, "") and fits_pattern(statement.like, place_of(thing.name)[1])
    ]
    return listing("SHOW TABLE EXTENDED", _EXTENDED, sorted(rows, key=lambda row: (str(row[1]).lower(), row[0])))


def _row(thing: Table | View, information: str) -> Row:
    database, name = place_of(thing.name)
    return database, name, not database, information


def _information(thing: Table | View, context: Context) -> str:
    if isinstance(thing, Table):
        return table_text(thing, context)
    columns = columns_of_view(thing, context)
    known = bool(columns) and all(column.type for column in columns)
    return schema_text(view_metadata(thing, context), drawn(columns) if known else "")


def show_columns(statement: s.ShowColumns, context: Context) -> Result:
    """The names of the columns of a table or view, partition columns last. Raises UNKNOWN_VIEW_COLUMNS."""
    found = _table_or_view(statement.table, context)
    if isinstance(found, Table):
        columns: Sequence[Column] = found.all_columns
    else:
        columns = require_columns(found, statement.table.span, context)
    return listing("SHOW COLUMNS", strings("col_name"), [(column.name,) for column in columns])


def refresh_table(statement: s.RefreshTable, context: Context) -> Result:
    """Looks whether there is such a table or view. Files of external tables are listed by each statement anew, and
    all else is read under its snapshot, so there is nothing to forget.
    """
    _table_or_view(statement.table, context)
    return Result("REFRESH TABLE")


def show_table_properties(statement: s.ShowTableProperties, context: Context) -> Result:
    """Rows of (key, value), by key. Of a key that is not there the value says so, as in Spark."""
    found = _table_or_view(statement.table, context)
    properties = without_statistics(found.properties)
    if statement.key is not None:
        name = ".".join(filter(None, place_of(found.name)))
        absent = f"Table {name} does not have property: {statement.key}"
        rows: list[Row] = [(statement.key, properties.get(statement.key, absent))]
    else:
        rows = sorted(properties.items())
    return listing("SHOW TBLPROPERTIES", strings("key", "value"), rows)


def _table_or_view(name: s.Name, context: Context) -> Table | View:
    found = context.named(name)
    return found if isinstance(found, View) else context.table(name)
