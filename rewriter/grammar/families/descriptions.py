"""Descriptions of objects: DESCRIBE, SHOW CREATE, SHOW COLUMNS, SHOW TBLPROPERTIES, SHOW TABLE EXTENDED."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import AnalysisError, ParseError, Span
from rewriter.grammar.parser import read_by_grammar
from rewriter.grammar.query_spans import may_be_name, read_name, read_query, starts_query, unexpected_token
from rewriter.grammar.shared_rules import property_key
from rewriter.grammar.statement_parts import Clause, Terminal, require_values, values_by_kind
from rewriter.grammar.statements import Statement, builds, reads, renders
from rewriter.grammar.terms import ColumnName, DatabaseName, Name, PartitionItem, Query
from rewriter.grammar.unparse import in_database_text, name_text, option, partition_text, quote, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.lexer import Token

_HISTORY_HINT = "Write DESCRIBE HISTORY t [LIMIT n]."

RULES = r"""
?statement: describe | show_create | show_columns | show_tblproperties | show_table_extended

describe: ("DESC" | "DESCRIBE") (EXTENDED | FORMATTED | TABLE | CUBE | FACT)* name _described
_described: [partition_spec] [property_path] [as_json]
show_create: "SHOW" "CREATE" (TABLE | VIEW | CUBE | FACT) name [as_serde]
as_serde: "AS" "SERDE"
show_columns: "SHOW" "COLUMNS" ("IN" | "FROM") name [in_database]
show_tblproperties: "SHOW" TBLPROPERTIES name ["(" _property_key ")"]
show_table_extended: "SHOW" "TABLE" "EXTENDED" [in_database] "LIKE" STRING [partition_spec]
"""


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """``DESCRIBE [EXTENDED|FORMATTED] [TABLE] t [PARTITION (…)] [column] [AS JSON]``.

    ``kind`` is ``TABLE``, ``CUBE`` or ``FACT``; a cube or fact has no other fields than the name.
    """

    name: Name
    kind: str = "TABLE"
    extended: bool = False
    partition: tuple[PartitionItem, ...] | None = None
    column: ColumnName | None = None
    as_json: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",) if self.kind in ("CUBE", "FACT") else ()


@builds("describe")
def describe(*parts: Any) -> Describe:
    *options, name, partition, column, as_json = parts
    groups = ["kind" if option.type in ("TABLE", "CUBE", "FACT") else "detail" for option in options]
    values = values_by_kind(
        Clause(group, option.type, option.span) for group, option in zip(groups, options, strict=True)
    )
    kind = values.get("kind", "TABLE")
    require_values(partition or ())
    extra_span = name.span if as_json else column.span if column else partition[-1].span if partition else None
    if kind != "TABLE" and extra_span is not None:
        raise ParseError(
            f"DESCRIBE {kind} can only describe a {kind.lower()} as a whole.",
            position=extra_span,
            hint=f"Write DESCRIBE {kind} {name.last}, or DESCRIBE TABLE of one of its tables.",
        )
    return Describe(
        name=name,
        kind=kind,
        extended="detail" in values,
        partition=partition,
        column=column,
        as_json=bool(as_json),
    )


@renders(Describe)
def describe_text(s: Describe) -> str:
    return words(
        "DESCRIBE",
        s.kind,
        "EXTENDED" if s.extended else None,
        name_text(s.name),
        partition_text(s.partition),
        name_text(s.column) if s.column is not None else None,
        "AS JSON" if s.as_json else None,
    )


@dataclass(frozen=True, kw_only=True)
class DescribeQuery(Statement):
    """``DESCRIBE [QUERY] query``."""

    query: Query


@renders(DescribeQuery)
def describe_query_text(s: DescribeQuery) -> str:
    return f"DESCRIBE QUERY {s.query.text}"


@reads("DESC", "DESCRIBE")
def read_description(text: str, statement_tokens: Sequence[Token]) -> Statement:
    """DESCRIBE of a query, of a history, or of what the grammar says."""
    if len(statement_tokens) > 2 and statement_tokens[1].is_word("HISTORY") and may_be_name(statement_tokens[2]):
        return _read_history(statement_tokens)
    query_tokens = _described_query(statement_tokens[1:])
    if query_tokens:
        return DescribeQuery(query=read_query(text, query_tokens))
    return read_by_grammar(text, statement_tokens)


def _described_query(remaining: Sequence[Token]) -> Sequence[Token]:
    """Returns the tokens of the query that DESCRIBE describes, if it is one; ``DESCRIBE TABLE t`` is about a table."""
    if remaining and remaining[0].is_word("QUERY") and starts_query(remaining, 1):
        return remaining[1:]
    return remaining if len(remaining) > 1 and starts_query(remaining, 0) and not remaining[0].is_word("TABLE") else ()


@dataclass(frozen=True, kw_only=True)
class DescribeHistory(Statement):
    """``DESCRIBE HISTORY t [LIMIT n]``; ``name`` is a table, view, cube or fact."""

    name: Name
    limit: int | None = None


@renders(DescribeHistory)
def describe_history_text(s: DescribeHistory) -> str:
    return words(f"DESCRIBE HISTORY {name_text(s.name)}", None if s.limit is None else f"LIMIT {s.limit}")


def _read_history(statement_tokens: Sequence[Token]) -> DescribeHistory:
    name, index = read_name(statement_tokens, 2, _HISTORY_HINT)
    if index == len(statement_tokens):
        return DescribeHistory(name=name)
    number = statement_tokens[index + 1] if index + 1 < len(statement_tokens) else None
    if not statement_tokens[index].is_word("LIMIT"):
        raise unexpected_token(statement_tokens, index, _HISTORY_HINT)
    if number is None or not number.text.isdecimal():
        raise unexpected_token(statement_tokens, index + 1, _HISTORY_HINT)
    if index + 2 < len(statement_tokens):
        raise unexpected_token(statement_tokens, index + 2, _HISTORY_HINT)
    return DescribeHistory(name=name, limit=int(number.text))


@dataclass(frozen=True, kw_only=True)
class ShowCreate(Statement):
    """``SHOW CREATE TABLE|VIEW|CUBE|FACT x [AS SERDE]``; ``kind`` is the word before the name."""

    kind: str
    name: Name
    as_serde: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",) if self.kind in ("CUBE", "FACT") else ()


@builds("show_create")
def show_create(kind: Terminal, name: Name, as_serde: bool | None) -> ShowCreate:
    return ShowCreate(kind=kind.type, name=name, as_serde=bool(as_serde))


@builds("as_serde")
def as_serde() -> bool:
    return True


@renders(ShowCreate)
def show_create_text(s: ShowCreate) -> str:
    return words(f"SHOW CREATE {s.kind}", name_text(s.name), "AS SERDE" if s.as_serde else None)


@dataclass(frozen=True, kw_only=True)
class ShowColumns(Statement):
    """``SHOW COLUMNS IN t [IN database]``: the database is part of the name."""

    table: Name


@builds("show_columns")
def show_columns(table: Name, database: DatabaseName | None) -> ShowColumns:
    return ShowColumns(table=table if database is None else inside(table, database))


def inside(table: Name, database: DatabaseName) -> Name:
    """Returns the table in a database that is named behind it, as in SHOW COLUMNS IN t IN db; it may be named before
    it, too.

    Raises ``AnalysisError`` SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE 42K05 if these differ.
    """
    if len(table.parts) > 1 and table.parts[-2].lower() != database.text.lower():
        raise AnalysisError(
            f"SHOW COLUMNS names two databases, {table.parts[-2]} and {database.text}.",
            condition="SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE",
            sqlstate="42K05",
            position=database.span,
            object=database.text,
            hint=f"Write SHOW COLUMNS IN {'.'.join(table.parts)}.",
        )
    return table if len(table.parts) > 1 else Name((database.text, *table.parts), table.span)


@renders(ShowColumns)
def show_columns_text(s: ShowColumns) -> str:
    return f"SHOW COLUMNS IN {name_text(s.table)}"


@dataclass(frozen=True, kw_only=True)
class ShowTableProperties(Statement):
    """``SHOW TBLPROPERTIES t [('key')]``."""

    table: Name
    key: str | None = None


@builds("show_tblproperties")
def show_tblproperties(_word: Terminal, table: Name, key: Terminal | ColumnName | None = None) -> ShowTableProperties:
    return ShowTableProperties(table=table, key=property_key(key) if key is not None else None)


@renders(ShowTableProperties)
def show_table_properties_text(s: ShowTableProperties) -> str:
    return words("SHOW TBLPROPERTIES", name_text(s.table), None if s.key is None else f"({quote(s.key)})")


@dataclass(frozen=True, kw_only=True)
class ShowTableExtended(Statement):
    """``SHOW TABLE EXTENDED [IN database] LIKE 'pattern' [PARTITION (…)]``."""

    like: str
    database: DatabaseName | None = None
    partition: tuple[PartitionItem, ...] | None = None
    like_span: Span = field(default=Span(0, 0), compare=False)


@builds("show_table_extended")
def show_table_extended(
    database: DatabaseName | None, pattern: Terminal, partition: tuple[PartitionItem, ...] | None
) -> ShowTableExtended:
    require_values(partition or ())
    return ShowTableExtended(like=pattern.string, database=database, partition=partition, like_span=pattern.span)


@renders(ShowTableExtended)
def show_table_extended_text(s: ShowTableExtended) -> str:
    return words(
        "SHOW TABLE EXTENDED", in_database_text(s.database), option("LIKE", s.like), partition_text(s.partition)
    )
