"""Columns and comments of a table: ALTER TABLE … ADD COLUMNS, RENAME and DROP COLUMN, ALTER COLUMN, CHANGE COLUMN,
COMMENT ON.

No file is read or written: rows that are older than a column have NULL in it. A type may only become one that holds all
values of the old one, and that both engines read from files of the old one. A column keeps the name that its values
have in files (``Column.stored``), and no later column gets that name there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.catalog.model import wider_types
from rewriter.catalog.model.changes import AlterColumns
from rewriter.catalog.model.objects import parts_of
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, Span
from rewriter.grammar.families import columns as s
from rewriter.grammar.lexer import identifier_value, tokens
from rewriter.grammar.terms import ColumnDef
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import new_column, no_partition_default
from rewriter.statements.resolve.default_values import check_default
from rewriter.statements.resolve.partition_specs import check_unique

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewriter.catalog.model.objects import Column, Table
    from rewriter.grammar.terms import Name
    from rewriter.runtime.statement_context import Context

_WIDER = (
    "TINYINT to SMALLINT to INT to BIGINT, TINYINT, SMALLINT, INT or FLOAT to DOUBLE, DECIMAL to a greater precision "
    "with the same scale"
)

#: The property of a table that Spark made by USING. Spark keeps its columns in other properties.
_PROVIDER = "spark.sql.sources.provider"


@runs(s.AddColumns)
def add_columns(statement: s.AddColumns, context: Context) -> Result:
    """ALTER TABLE … ADD COLUMNS: adds columns behind the data columns, before the partition columns. Facts over the
    table stay.

    Raises COLUMN_ALREADY_EXISTS, and ``ConflictError`` where another transaction has written the table meanwhile.
    """
    table = _own_table(statement.table, context)
    check_unique(statement.columns, table)
    _commit(AlterColumns(table, tuple(map(new_column, statement.columns))), statement.table.span, context)
    return Result("ALTER TABLE ADD COLUMNS")


@runs(s.RenameColumn)
def rename_column(statement: s.RenameColumn, context: Context) -> Result:
    """ALTER TABLE … RENAME COLUMN a TO b. Existing and later files have the values under the stored name.

    Raises UNRESOLVED_COLUMN and COLUMN_ALREADY_EXISTS; COLUMN_IN_USE if a view or a fact reads the column;
    ``NotSupportedError`` for a partition column and for an external table; and ``ConflictError`` where another
    transaction has written the table meanwhile.
    """
    table = _own_table(statement.table, context)
    column = _data_column(table, statement.column, statement.column_span, "renamed")
    named = ColumnDef(statement.to, column.type, None, statement.to_span)
    name = new_column(named).name
    if name.lower() != column.name.lower():
        check_unique([named], table)
        check_no_view_reads(table.name, column.name, statement.column_span, context, name)
    if name != column.name:
        _commit(AlterColumns(table, renamed={column.name: name}), statement.column_span, context)
    return Result("ALTER TABLE RENAME COLUMN")


@runs(s.DropColumns)
def drop_columns(statement: s.DropColumns, context: Context) -> Result:
    """ALTER TABLE … DROP COLUMNS (a, …). Files keep the values, which no later column gets.

    Raises as RENAME COLUMN does, and ``NotSupportedError`` for the last data column and for text files, whose values
    have no names.
    """
    table = _own_table(statement.table, context)
    dropped = [
        _data_column(table, name, span, "dropped")
        for name, span in zip(statement.columns, statement.spans, strict=True)
    ]
    check_unique([ColumnDef(c.name, c.type, None, span) for c, span in zip(dropped, statement.spans, strict=True)])
    reason = ""
    if len(dropped) == len(table.columns):
        reason = "a table has at least one data column"
    elif not DATA_FORMATS[table.format].names_columns:
        reason = f"the files of the format {table.format} have values without names, in the order of the columns"
    if reason:
        raise NotSupportedError(
            f"The column {dropped[0].name} of {table.name} cannot be dropped: {reason}.",
            position=statement.spans[0],
            object=dropped[0].name,
            hint=f"Create a table without it: CREATE TABLE new AS SELECT … FROM {table.name}.",
        )
    for column, span in zip(dropped, statement.spans, strict=True):
        check_no_view_reads(table.name, column.name, span, context)
    span = Span(statement.spans[0].start, statement.spans[-1].end)
    _commit(AlterColumns(table, dropped=tuple(column.name for column in dropped)), span, context)
    return Result("ALTER TABLE DROP COLUMNS")


def _data_column(table: Table, name: str, span: Span, change: str) -> Column:
    """Returns a data column that may get another name, or leave. ``change`` is the word for that in messages."""
    column = _named_column(table, name, span)
    reason, hint = "", f"CREATE VIEW v AS SELECT … FROM {table.name} shows other columns."
    if column in table.partition_columns:
        reason = "the directories of its partitions have its name"
        hint = f"Create a table with other partition columns: CREATE TABLE new … AS SELECT … FROM {table.name}."
    elif table.external:
        reason = "other programs write the files of an external table, by the names that its columns have"
    if reason:
        raise NotSupportedError(
            f"The column {column.name} of {table.name} cannot be {change}: {reason}.",
            position=span,
            object=column.name,
            hint=hint,
        )
    return column


def check_no_view_reads(source: str, column: str, span: Span, context: Context, new_name: str | None = None) -> None:
    """Raises ``IntegrityError`` COLUMN_IN_USE if a view reads a table or cube, or such a view, and names a column, or
    the name that it is to have: a name in a view could mean another column then. NATURAL JOIN names all columns.
    """
    queries = {view.name: view.query for view in context.snapshot.views()}
    for view in views_reading(source, queries):
        named = [name for name in (column, new_name) if name is not None and has_word(queries[view], name)]
        if not named and not has_word(queries[view], "natural"):
            continue
        raise IntegrityError(
            f"The view {view} reads {source} and {f'names {named[0]}' if named else 'has a NATURAL JOIN'}.",
            condition="COLUMN_IN_USE",
            position=span,
            object=column,
            hint="Drop the view, or create it again without the column, first.",
        )


def views_reading(source: str, queries: Mapping[str, str]) -> list[str]:
    """Returns the views whose queries, by name, name a table or cube, or such a view."""
    readers, sources = list[str](), [source]
    while sources:
        source = sources.pop()
        name = parts_of(source)[-1]
        more = [view for view, query in queries.items() if view not in readers and has_word(query, name)]
        readers += more
        sources += more
    return readers


def has_word(query: str, name: str) -> bool:
    """Tests whether a query has a name as a word, or in backquotes."""
    key = name.lower()
    return any(identifier_value(token).lower() == key for token in tokens(query))


@runs(s.CommentColumn)
def comment_column(statement: s.CommentColumn, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … COMMENT or TYPE, CHANGE COLUMN, COMMENT ON COLUMN.

    Raises ``NotSupportedError`` for another name, and for a type that is not a wider one; ``IntegrityError``
    COLUMN_IN_USE if a fact reads a column whose type changes; ``ConflictError`` where another transaction has written
    the table meanwhile.
    """
    table = _own_table(statement.table, context)
    column = _named_column(table, statement.column, statement.column_span)
    renamed = statement.renamed
    types: dict[str, str] = {}
    if renamed is not None and (renamed.name.lower() != column.name.lower() or renamed.type != column.type):
        _check_wider(table, column, renamed)
        types = {column.name: str(renamed.type)}
    comments: dict[str | None, str | None] = {}
    if renamed is None or statement.comment is not None:
        comments = {column.name: statement.comment}
    if comments or types:
        _commit(AlterColumns(table, comments=comments, types=types), statement.table.span, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.SetDefault)
def set_default(statement: s.SetDefault, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … SET DEFAULT, DROP DEFAULT: what later inserts write; existing rows stay.

    Raises UNRESOLVED_COLUMN and INVALID_DEFAULT_VALUE, and ``NotSupportedError`` for a partition column.
    """
    table = _own_table(statement.table, context)
    column = _named_column(table, statement.column, statement.column_span)
    if column in table.partition_columns:
        raise no_partition_default(column.name, statement.column_span)
    default = statement.default
    if default is not None:
        check_default(default, column.type, column.name, statement.default_span, "ALTER TABLE ALTER COLUMN")
    if default != column.default:
        _commit(AlterColumns(table, defaults={column.name: default}), statement.table.span, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.CommentTable)
def comment_table(statement: s.CommentTable, context: Context) -> Result:
    """COMMENT ON TABLE."""
    table = context.table(statement.table)
    _commit(AlterColumns(table, comments={None: statement.comment}), statement.table.span, context)
    return Result("COMMENT ON TABLE")


def _named_column(table: Table, name: str, span: Span) -> Column:
    column = next((candidate for candidate in table.all_columns if candidate.name.lower() == name.lower()), None)
    if column is not None:
        return column
    raise AnalysisError(
        f"The table {table.name} has no column {name}.",
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        sqlstate="42703",
        position=span,
        object=name,
        hint=f"The columns are {', '.join(column.name for column in table.all_columns)}.",
    )


def _own_table(name: Name, context: Context) -> Table:
    """Returns a table whose columns a session may change. Raises ``NotSupportedError`` CLIENT_TABLE for one that Spark
    made by USING: Spark reads its columns in its properties.
    """
    table = context.table(name)
    if table.properties.get(_PROVIDER, "hive").lower() != "hive":
        raise NotSupportedError(
            f"The columns of {table.name} are in its properties, where Spark put them.",
            condition="CLIENT_TABLE",
            sqlstate="0A000",
            position=name.span,
            object=table.name,
            hint="Change them in Spark.",
        )
    return table


def _check_wider(table: Table, column: Column, renamed: ColumnDef) -> None:
    """Raises ``NotSupportedError`` unless the column keeps its name, and the new type is safe for existing files."""
    reason, hint = "", f"Add a column, or create a new table: CREATE TABLE new AS SELECT … FROM {table.name}."
    if renamed.name.lower() != column.name.lower():
        reason = "CHANGE changes types and comments"
        hint = f"ALTER TABLE {table.name} RENAME COLUMN {column.name} TO {renamed.name}."
    elif column in table.partition_columns:
        reason = "its values are the names of the partitions"
    elif not reads_as_wider(column.type, str(renamed.type)):
        reason = "existing files are not rewritten"
        hint += f" A type may become a wider one: {_WIDER}."
    elif not DATA_FORMATS[table.format].widens:
        reason = f"the files of the format {table.format} may be read differently"
    if reason:
        raise NotSupportedError(
            f"The column {column.name} {column.type} of {table.name} cannot become {renamed.name} "
            f"{renamed.type}: {reason}.",
            position=renamed.span,
            object=column.name,
            hint=hint,
        )


def reads_as_wider(type_: str, new_type: str) -> bool:
    """Returns whether both engines read every value of Parquet files of a type as the same value of a new type."""
    is_exact_double = new_type == "double" and type_ in ("tinyint", "smallint", "int")
    return is_exact_double or wider_types.is_wider(new_type, type_)


def _commit(change: AlterColumns, span: Span, context: Context) -> None:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([change])
        except Error as error:
            raise error.at(span) from None
