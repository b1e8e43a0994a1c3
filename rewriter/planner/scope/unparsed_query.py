"""Queries that sqlglot cannot parse: they run as typed, with the names of tables replaced token by token.

This is done only where it is certain: the query names no cube and no fact, and every table name behind FROM or JOIN is
replaced. Any other way to name a table (``FROM a, b``) is left as typed. The engine then refuses the name as unknown;
it cannot read any other table by it.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewriter.catalog.model.objects import CATALOG, Table, parts_of, short_name
from rewriter.catalog.model.temporary_views import session_of, with_typed_names
from rewriter.errors import Error, Span
from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.planner.model.plan import Coverage, Plan, Reading, TableToken, TableUse, quote_identifier
from rewriter.planner.scope.blocks import CatalogReader, current_edits
from rewriter.planner.text.query_text import Edit, QueryText
from rewriter.planner.text.quoted_names import quoted_name_warnings

_BEFORE_TABLE = ("FROM", "JOIN", "TABLE")
#: Words behind a table's name that are not an alias.
_AFTER_TABLE = (
    "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "UNION", "INTERSECT",
    "EXCEPT", "MINUS", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ANTI", "SEMI", "ON", "USING",
    "LATERAL", "WINDOW", "QUALIFY", "TABLESAMPLE", "PIVOT", "UNPIVOT", "SELECT", "FOR", "VERSION", "TIMESTAMP",
)  # fmt: skip


def plan_verbatim(text: QueryText, reader: CatalogReader, reason: Error, parameters: dict[str, object]) -> Plan:
    """Returns the plan of a query that was not parsed, for ``reason``; raises ``reason`` if it may name a cube or a
    fact.
    """
    tables = {parts_of(table.name.lower()): table for table in reader.tables()}
    refused_names = _list_refused_names(reader, tables)
    words = [_value(token) for token in text.tokens]
    if any(word in refused_names for word in words):
        raise reason
    edits = current_edits(text, reader.current)
    tables_by_id: dict[int, Table] = {}
    for index, token in enumerate(text.tokens):
        if index == 0 or not words[index] or not text.tokens[index - 1].is_word(*_BEFORE_TABLE):
            continue
        last, key = _name_at(text.tokens, words, index, reader.current)
        table = tables.get(key)
        if table is None:
            continue
        if last == index and _defines_cte(text.tokens, words, key[1]):
            raise reason
        following = text.tokens[last + 1] if last + 1 < len(text.tokens) else None
        # TABLE t takes no alias.
        aliased = text.tokens[index - 1].is_word("TABLE") or (following is not None and _is_alias(following))
        alias = None if aliased else quote_identifier(short_name(table.name))
        edits.append(Edit(Span(token.start, text.tokens[last].end), (TableToken(table, alias),)))
        tables_by_id[table.id] = table
    readings = tuple(Reading((TableUse(table, None),)) for table in tables_by_id.values())
    columns = {column.name.lower() for table in tables_by_id.values() for column in table.all_columns}
    warnings = tuple(quoted_name_warnings(text, columns))
    return Plan(text.apply(edits), readings, Coverage(), warnings, parameters=parameters)


def _list_refused_names(reader: CatalogReader, tables: Iterable[tuple[str, str]]) -> set[str]:
    """Returns the names, in lower case, that a query may not contain as a word: of cubes, facts and views, and of
    temporary tables, which may hide another table.
    """
    kinds = (reader.cubes(), reader.facts(), reader.views())
    refused_names = {with_typed_names(short_name(entry.name)).lower() for kind in kinds for entry in kind}
    return refused_names | {with_typed_names(name) for _, name in tables if session_of(name)}


def _name_at(tokens: tuple[Token, ...], words: list[str], index: int, current: str) -> tuple[int, tuple[str, str]]:
    """Returns the last token of the name that begins at ``index``, and the name's key.

    A name with more parts than ours have denotes nothing.
    """
    parts = [words[index]]
    while index + 2 < len(tokens) and tokens[index + 1].is_operator(".") and words[index + 2]:
        index += 2
        parts.append(words[index])
    if len(parts) == 3 and parts[0] == CATALOG:
        del parts[0]
    database = parts[0] if len(parts) == 2 else current
    return index, (database, parts[-1] if len(parts) < 3 else "")


def _value(token: Token) -> str:
    is_name = token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER)
    return identifier_value(token).lower() if is_name else ""


def _is_alias(token: Token) -> bool:
    if token.kind is TokenKind.IDENTIFIER or token.is_word("AS"):
        return True
    return token.kind is TokenKind.WORD and not token.is_word(*_AFTER_TABLE)


def _defines_cte(tokens: tuple[Token, ...], words: list[str], name: str) -> bool:
    return any(
        word == name and tokens[index - 1].is_word("WITH", ",") and tokens[index + 1].is_word("AS")
        for index, word in enumerate(words[:-1])
        if index
    )
