"""Columns and comments of a table: ALTER TABLE … ADD COLUMNS, ALTER COLUMN, CHANGE COLUMN, COMMENT ON.

No file is read or written: rows that are older than a column have NULL in it. A type may only become one that holds all
values of the old one, and that both engines read from files of the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.catalog.model import wider_types
from rewriter.catalog.model.changes import AlterColumns
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import AnalysisError, Error, NotSupportedError
from rewriter.grammar.families import columns as s
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import new_column, no_partition_default
from rewriter.statements.resolve.default_values import check_default
from rewriter.statements.resolve.partition_specs import check_unique

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Table
    from rewriter.grammar.terms import ColumnDef, Name
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
    _commit(AlterColumns(table, tuple(map(new_column, statement.columns))), statement.table, context)
    return Result("ALTER TABLE ADD COLUMNS")


@runs(s.CommentColumn)
def comment_column(statement: s.CommentColumn, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … COMMENT or TYPE, CHANGE COLUMN, COMMENT ON COLUMN.

    Raises ``NotSupportedError`` for another name, and for a type that is not a wider one; ``IntegrityError``
    COLUMN_IN_USE if a fact reads a column whose type changes; ``ConflictError`` where another transaction has written
    the table meanwhile.
    """
    table = _own_table(statement.table, context)
    column = _column(statement, table)
    renamed = statement.renamed
    types: dict[str, str] = {}
    if renamed is not None and (renamed.name.lower() != column.name.lower() or renamed.type != column.type):
        _check_wider(table, column, renamed)
        types = {column.name: str(renamed.type)}
    comments: dict[str | None, str | None] = {}
    if renamed is None or statement.comment is not None:
        comments = {column.name: statement.comment}
    if comments or types:
        _commit(AlterColumns(table, comments=comments, types=types), statement.table, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.SetDefault)
def set_default(statement: s.SetDefault, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … SET DEFAULT, DROP DEFAULT: what later inserts write; existing rows stay.

    Raises UNRESOLVED_COLUMN and INVALID_DEFAULT_VALUE, and ``NotSupportedError`` for a partition column.
    """
    table = _own_table(statement.table, context)
    column = _column(statement, table)
    if column in table.partition_columns:
        raise no_partition_default(column.name, statement.column_span)
    default = statement.default
    if default is not None:
        check_default(default, column.type, column.name, statement.default_span, "ALTER TABLE ALTER COLUMN")
    if default != column.default:
        _commit(AlterColumns(table, defaults={column.name: default}), statement.table, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.CommentTable)
def comment_table(statement: s.CommentTable, context: Context) -> Result:
    """COMMENT ON TABLE."""
    table = context.table(statement.table)
    _commit(AlterColumns(table, comments={None: statement.comment}), statement.table, context)
    return Result("COMMENT ON TABLE")


def _column(statement: s.CommentColumn | s.SetDefault, table: Table) -> Column:
    column = next(
        (candidate for candidate in table.all_columns if candidate.name.lower() == statement.column.lower()), None
    )
    if column is not None:
        return column
    raise AnalysisError(
        f"The table {table.name} has no column {statement.column}.",
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        sqlstate="42703",
        position=statement.column_span,
        object=statement.column,
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
        reason = "existing files are not rewritten"
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


def _commit(change: AlterColumns, name: Name, context: Context) -> None:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([change])
        except Error as error:
            raise error.at(name.span) from None
