"""SHOW TABLE EXTENDED, SHOW COLUMNS and SHOW TBLPROPERTIES, from the catalog alone."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.model.column_statistics import without_statistics
from rewriter.catalog.model.objects import Column, Table, View
from rewriter.catalog.model.system_tables import SystemTable
from rewriter.catalog.model.temporary_names import place_of
from rewriter.grammar.families import descriptions as s
from rewriter.grammar.terms import Name
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.name_patterns import fits_pattern
from rewriter.statements.resolve.named_objects import columns_of_view, partition_named, require_columns
from rewriter.statements.resolve.type_trees import drawn
from rewriter.statements.show.object_metadata import partition_metadata, schema_text, table_text, view_metadata

_EXTENDED = (*strings("namespace", "tableName"), Column("isTemporary", "boolean"), *strings("information"))


@runs(s.ShowTableExtended, in_transaction=True)
def show_table_extended(statement: s.ShowTableExtended, context: Context) -> Result:
    """Returns rows of (namespace, tableName, isTemporary, information), as Spark does; views are listed among the
    tables.

    Lists the current database, or that of IN. Temporary tables are in no database, and are listed with each.

    With PARTITION the pattern is the name of one table. Raises, at the pattern, TABLE_OR_VIEW_NOT_FOUND 42P01, and
    the errors of ``named_objects.partition_named``. Lists the files of external tables.
    """
    database = context.database(statement.database).name
    if statement.partition is not None:
        temporary = statement.database is None and context.is_temporary(statement.like)
        parts = (statement.like,) if temporary else (database, statement.like)
        table = context.table(Name(parts, statement.like_span))
        partition = partition_named(table, statement.partition, context)
        information = schema_text(partition_metadata(table, partition, context), "")
        return listing("SHOW TABLE EXTENDED", _EXTENDED, [_row(table, information)])
    relations: list[Table | View] = [*context.snapshot.tables(), *context.snapshot.views()]
    rows = [
        _row(relation, _information(relation, context))
        for relation in relations
        if place_of(relation.name)[0] in (database, "") and fits_pattern(statement.like, place_of(relation.name)[1])
    ]
    return listing("SHOW TABLE EXTENDED", _EXTENDED, sorted(rows, key=lambda row: (str(row[1]).lower(), row[0])))


def _row(relation: Table | View, information: str) -> Row:
    database, name = place_of(relation.name)
    return database, name, not database, information


def _information(relation: Table | View, context: Context) -> str:
    if isinstance(relation, Table):
        return table_text(relation, context)
    columns = columns_of_view(relation, context.snapshot)
    all_typed = bool(columns) and all(column.type for column in columns)
    return schema_text(view_metadata(relation, context), drawn(columns) if all_typed else "")


@runs(s.ShowColumns, in_transaction=True, reads_system_tables=True)
def show_columns(statement: s.ShowColumns, context: Context) -> Result:
    """Returns the names of the columns of a table or view, partition columns last. Raises UNKNOWN_VIEW_COLUMNS."""
    object_ = _table_or_view(statement.table, context)
    if isinstance(object_, Table):
        columns: Sequence[Column] = object_.all_columns
    else:
        columns = require_columns(object_, statement.table.span, context)
    return listing("SHOW COLUMNS", strings("col_name"), [(column.name,) for column in columns])


@runs(s.ShowTableProperties, in_transaction=True)
def show_table_properties(statement: s.ShowTableProperties, context: Context) -> Result:
    """Returns rows of (key, value), by key. For a missing key the value says so, as in Spark."""
    object_ = _table_or_view(statement.table, context)
    properties = without_statistics(object_.properties)
    if statement.key is not None:
        name = ".".join(filter(None, place_of(object_.name)))
        absence_text = f"Table {name} does not have property: {statement.key}"
        rows: list[Row] = [(statement.key, properties.get(statement.key, absence_text))]
    else:
        rows = sorted(properties.items())
    return listing("SHOW TBLPROPERTIES", strings("key", "value"), rows)


def _table_or_view(name: Name, context: Context) -> Table | View:
    object_ = context.named(name)
    return object_ if isinstance(object_, View | SystemTable) else context.table(name)
