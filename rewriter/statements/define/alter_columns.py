"""Columns and comments of a table: ALTER TABLE … ADD COLUMNS, ALTER COLUMN … COMMENT, COMMENT ON.

No file is read or written: rows that are older than a column have NULL in it.
"""

from __future__ import annotations

from rewriter.catalog.model.changes import AlterColumns
from rewriter.catalog.model.objects import Column, Table
from rewriter.errors import AnalysisError, Error, NotSupportedError
from rewriter.grammar.families import columns as s
from rewriter.grammar.terms import Name
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import new_column
from rewriter.statements.resolve.partition_specs import check_unique


@runs(s.AddColumns)
def add_columns(statement: s.AddColumns, context: Context) -> Result:
    """ALTER TABLE … ADD COLUMNS: adds columns behind the data columns, before the partition columns. Facts over the
    table stay.

    Raises COLUMN_ALREADY_EXISTS, and ``ConflictError`` where another transaction has written the table meanwhile.
    """
    table = context.table(statement.table)
    check_unique(statement.columns, table)
    _commit(AlterColumns(table, tuple(map(new_column, statement.columns))), statement.table, context)
    return Result("ALTER TABLE ADD COLUMNS")


@runs(s.CommentColumn)
def comment_column(statement: s.CommentColumn, context: Context) -> Result:
    """ALTER TABLE … ALTER COLUMN … COMMENT, COMMENT ON COLUMN, and CHANGE COLUMN where it changes no more than that."""
    table = context.table(statement.table)
    column = _column(statement, table)
    renamed = statement.renamed
    if renamed is not None and (renamed.name.lower() != column.name.lower() or renamed.type != column.type):
        raise NotSupportedError(
            f"The column {column.name} {column.type} of {table.name} cannot become {renamed.name} "
            f"{renamed.type}: existing files are not rewritten.",
            position=renamed.span,
            object=column.name,
            hint=f"Add a column, or create a new table: CREATE TABLE new AS SELECT … FROM {table.name}.",
        )
    if renamed is None or statement.comment is not None:
        _commit(AlterColumns(table, comments={column.name: statement.comment}), statement.table, context)
    return Result("ALTER TABLE ALTER COLUMN")


@runs(s.CommentTable)
def comment_table(statement: s.CommentTable, context: Context) -> Result:
    """COMMENT ON TABLE."""
    table = context.table(statement.table)
    _commit(AlterColumns(table, comments={None: statement.comment}), statement.table, context)
    return Result("COMMENT ON TABLE")


def _column(statement: s.CommentColumn, table: Table) -> Column:
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


def _commit(change: AlterColumns, name: Name, context: Context) -> None:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([change])
        except Error as error:
            raise error.at(name.span) from None
