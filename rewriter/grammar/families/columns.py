"""Columns of tables, and comments: ADD COLUMNS, RENAME and DROP COLUMN, ALTER and CHANGE COLUMN, COMMENT ON."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.table_clauses import table_and_column
from rewriter.grammar.terms import ColumnDef, Name
from rewriter.grammar.unparse import column_text, listed, name_text, option, quote, quote_name, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

RULES = r"""
?statement: add_columns | rename_column | drop_columns | comment_column | comment_on

add_columns: "ALTER" "TABLE" name "ADD" ("COLUMN" | "COLUMNS") (columns "CASCADE"? | column ("," column)*)
rename_column: "ALTER" "TABLE" name "RENAME" "COLUMN" NAME "TO" NAME [CASCADE]
drop_columns: "ALTER" "TABLE" name "DROP" ("COLUMN" | "COLUMNS") ("(" NAME ("," NAME)* ")" | NAME) [CASCADE]
comment_column: "ALTER" "TABLE" name ("ALTER" | "CHANGE") "COLUMN"? NAME "COMMENT" STRING
              | "ALTER" "TABLE" name ("ALTER" | "CHANGE") "COLUMN"? NAME "TYPE" type         -> column_type
              | "ALTER" "TABLE" name ("ALTER" | "CHANGE") "COLUMN"? NAME "SET" "DEFAULT" EXPRESSION -> set_default
              | "ALTER" "TABLE" name ("ALTER" | "CHANGE") "COLUMN"? NAME "DROP" "DEFAULT"  -> drop_default
              | "ALTER" "TABLE" name ("ALTER" | "CHANGE") "COLUMN"? NAME "DROP" NOT NULL   -> drop_not_null
              | "ALTER" "TABLE" name "CHANGE" "COLUMN"? NAME NAME type ["COMMENT" STRING]    -> change_column
comment_on: "COMMENT" "ON" "TABLE" name "IS" (STRING | NULL)
          | "COMMENT" "ON" "COLUMN" name "IS" (STRING | NULL)    -> comment_on_column
"""


@dataclass(frozen=True, kw_only=True)
class AddColumns(Statement):
    """``ALTER TABLE t ADD COLUMNS (c type [COMMENT '…'], …) [CASCADE]``: Hive's word says what is always so here."""

    table: Name
    columns: tuple[ColumnDef, ...]


@builds("add_columns")
def add_columns(table: Name, *columns: Any) -> AddColumns:
    definitions: tuple[ColumnDef, ...] = columns[0] if isinstance(columns[0], tuple) else columns
    for definition in definitions:
        if definition.default is not None:
            raise NotSupportedError(
                "ADD COLUMNS with DEFAULT is not supported: rows that are older than a column have NULL in it.",
                position=definition.default_span,
                object=definition.name,
                hint=f"Omit DEFAULT, then ALTER TABLE {table.last} ALTER COLUMN {definition.name} SET DEFAULT … for "
                "later rows.",
            )
        if definition.not_null:
            raise NotSupportedError(
                "ADD COLUMNS with NOT NULL is not supported: rows that are older than a column have NULL in it.",
                position=definition.not_null_span,
                object=definition.name,
                hint="Omit NOT NULL, or CREATE a TABLE with the column and INSERT the rows there.",
            )
    return AddColumns(table=table, columns=definitions)


@renders(AddColumns)
def add_columns_text(s: AddColumns) -> str:
    return f"ALTER TABLE {name_text(s.table)} ADD COLUMNS {listed(map(column_text, s.columns))}"


@dataclass(frozen=True, kw_only=True)
class RenameColumn(Statement):
    """``ALTER TABLE t RENAME COLUMN a TO b [CASCADE]``: with CASCADE, views follow."""

    table: Name
    column: str
    to: str
    cascade: bool = False
    column_span: Span = field(default=Span(0, 0), compare=False)
    to_span: Span = field(default=Span(0, 0), compare=False)


@builds("rename_column")
def rename_column(table: Name, column: Terminal, to: Terminal, cascade: Terminal | None) -> RenameColumn:
    return RenameColumn(
        table=table,
        column=column.name,
        to=to.name,
        cascade=cascade is not None,
        column_span=column.span,
        to_span=to.span,
    )


@renders(RenameColumn)
def rename_column_text(s: RenameColumn) -> str:
    change = f"RENAME COLUMN {quote_name(s.column)} TO {quote_name(s.to)}"
    return words(f"ALTER TABLE {name_text(s.table)}", change, "CASCADE" if s.cascade else None)


@dataclass(frozen=True, kw_only=True)
class DropColumns(Statement):
    """``ALTER TABLE t DROP COLUMNS (c, …) [CASCADE]``, or ``DROP COLUMN c``: with CASCADE, views are dropped."""

    table: Name
    columns: tuple[str, ...]
    cascade: bool = False
    spans: tuple[Span, ...] = field(default=(), compare=False)


@builds("drop_columns")
def drop_columns(table: Name, *columns_and_cascade: Any) -> DropColumns:
    *columns, cascade = columns_and_cascade
    names, spans = tuple(column.name for column in columns), tuple(column.span for column in columns)
    return DropColumns(table=table, columns=names, cascade=cascade is not None, spans=spans)


@renders(DropColumns)
def drop_columns_text(s: DropColumns) -> str:
    change = f"DROP COLUMNS {listed(map(quote_name, s.columns))}"
    return words(f"ALTER TABLE {name_text(s.table)}", change, "CASCADE" if s.cascade else None)


@dataclass(frozen=True, kw_only=True)
class CommentColumn(Statement):
    """``ALTER TABLE t ALTER COLUMN c COMMENT '…'``, ``ALTER COLUMN c TYPE type``, or ``CHANGE COLUMN c c type [COMMENT
    '…']``.

    ``comment`` is ``None`` if ``COMMENT ON COLUMN t.c IS NULL`` removes it, and if CHANGE does not mention it.
    ``renamed`` is what CHANGE or TYPE says of the column: its name must be as it is, its type may be a wider one.
    """

    table: Name
    column: str
    comment: str | None
    renamed: ColumnDef | None = None
    column_span: Span = field(default=Span(0, 0), compare=False)


@builds("comment_column")
def comment_column(table: Name, column: Terminal, comment: Terminal) -> CommentColumn:
    return CommentColumn(table=table, column=column.name, comment=comment.string, column_span=column.span)


@builds("column_type")
def column_type(table: Name, column: Terminal, type_: str) -> CommentColumn:
    return CommentColumn(
        table=table,
        column=column.name,
        comment=None,
        renamed=ColumnDef(column.name, type_, None, column.span),
        column_span=column.span,
    )


@builds("change_column")
def change_column(table: Name, column: Terminal, name: Terminal, type_: str, comment: Terminal | None) -> CommentColumn:
    return CommentColumn(
        table=table,
        column=column.name,
        comment=comment.string if comment else None,
        renamed=ColumnDef(name.name, type_, None, name.span),
        column_span=column.span,
    )


@builds("comment_on_column")
def comment_on_column(name: Name, comment: Terminal) -> CommentColumn:
    table, column = table_and_column(name)
    return CommentColumn(
        table=table,
        column=column,
        comment=comment.string if comment.type == "STRING" else None,
        column_span=name.span,
    )


@renders(CommentColumn)
def comment_column_text(s: CommentColumn) -> str:
    if s.renamed is not None:
        change = words(quote_name(s.column), column_text(s.renamed), option("COMMENT", s.comment))
        return f"ALTER TABLE {name_text(s.table)} CHANGE COLUMN {change}"
    return f"COMMENT ON COLUMN {name_text(s.table)}.{quote_name(s.column)} IS {text_or_null(s.comment)}"


@dataclass(frozen=True, kw_only=True)
class SetDefault(Statement):
    """``ALTER TABLE t ALTER COLUMN c SET DEFAULT literal``, or ``DROP DEFAULT`` (``default`` is ``None``)."""

    table: Name
    column: str
    default: str | None
    column_span: Span = field(default=Span(0, 0), compare=False)
    default_span: Span = field(default=Span(0, 0), compare=False)


@builds("set_default")
def set_default(table: Name, column: Terminal, text: Terminal) -> SetDefault:
    return SetDefault(
        table=table, column=column.name, default=text.token.text, column_span=column.span, default_span=text.span
    )


@builds("drop_default")
def drop_default(table: Name, column: Terminal) -> SetDefault:
    return SetDefault(table=table, column=column.name, default=None, column_span=column.span)


@renders(SetDefault)
def set_default_text(s: SetDefault) -> str:
    change = "DROP DEFAULT" if s.default is None else f"SET DEFAULT {s.default}"
    return f"ALTER TABLE {name_text(s.table)} ALTER COLUMN {quote_name(s.column)} {change}"


@dataclass(frozen=True, kw_only=True)
class DropNotNull(Statement):
    """``ALTER TABLE t ALTER COLUMN c DROP NOT NULL``."""

    table: Name
    column: str
    column_span: Span = field(default=Span(0, 0), compare=False)


@builds("drop_not_null")
def drop_not_null(table: Name, column: Terminal, *_: Terminal) -> DropNotNull:
    return DropNotNull(table=table, column=column.name, column_span=column.span)


@renders(DropNotNull)
def drop_not_null_text(s: DropNotNull) -> str:
    return f"ALTER TABLE {name_text(s.table)} ALTER COLUMN {quote_name(s.column)} DROP NOT NULL"


@dataclass(frozen=True, kw_only=True)
class CommentTable(Statement):
    """``COMMENT ON TABLE t IS '…'``, or ``IS NULL`` (``comment`` is ``None``)."""

    table: Name
    comment: str | None


@builds("comment_on")
def comment_on(table: Name, comment: Terminal) -> CommentTable:
    return CommentTable(table=table, comment=comment.string if comment.type == "STRING" else None)


@renders(CommentTable)
def comment_table_text(s: CommentTable) -> str:
    return f"COMMENT ON TABLE {name_text(s.table)} IS {text_or_null(s.comment)}"


def text_or_null(text: str | None) -> str:
    return "NULL" if text is None else quote(text)
