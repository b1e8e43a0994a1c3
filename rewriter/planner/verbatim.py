"""Queries that sqlglot cannot read: they run as typed, with the names of tables replaced by token.

Only where that is certain: the query names no cube and no fact, and every name of a table that stands behind FROM or
JOIN is replaced. Any other way to name one (``FROM a, b``) is left as typed, which the engine then refuses as
unknown; it cannot read anything else by it.
"""

from __future__ import annotations

from rewriter.catalog.models import Table
from rewriter.errors import Error
from rewriter.grammar.lexer import Token, TokenKind, identifier_value
from rewriter.planner.blocks import CatalogReader
from rewriter.planner.plan import Coverage, Plan, Reading, TableToken, TableUse, quote_identifier
from rewriter.planner.text import Edit, QueryText

_BEFORE_TABLE = ("FROM", "JOIN", "TABLE")
#: Words behind a table's name that are no alias.
_AFTER_TABLE = (
    "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "UNION", "INTERSECT",
    "EXCEPT", "MINUS", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "ANTI", "SEMI", "ON", "USING",
    "LATERAL", "WINDOW", "QUALIFY", "TABLESAMPLE", "PIVOT", "UNPIVOT", "SELECT", "FOR", "VERSION", "TIMESTAMP",
)  # fmt: skip


def plan_verbatim(text: QueryText, reader: CatalogReader, reason: Error, parameters: dict[str, object]) -> Plan:
    """The plan of a query that was not read, for ``reason``; raises ``reason`` where the query may name a cube or a
    fact.
    """
    tables = {table.name.lower(): table for table in reader.tables()}
    cubes = {cube.name.lower() for cube in reader.cubes()} | {fact.name.lower() for fact in reader.facts()}
    cubes |= {view.name.lower() for view in reader.views()}
    words = [_value(token) for token in text.tokens]
    if any(word in cubes for word in words):
        raise reason
    edits: list[Edit] = []
    used: dict[int, Table] = {}
    for index, token in enumerate(text.tokens):
        table = tables.get(words[index]) if words[index] else None
        if table is None or index == 0 or not text.tokens[index - 1].is_word(*_BEFORE_TABLE):
            continue
        if _defines_cte(text.tokens, words, table.name.lower()):
            raise reason
        following = text.tokens[index + 1] if index + 1 < len(text.tokens) else None
        # TABLE t takes no alias.
        aliased = text.tokens[index - 1].is_word("TABLE") or (following is not None and _is_alias(following))
        edits.append(Edit(token.span, (TableToken(table, None if aliased else quote_identifier(table.name)),)))
        used[table.id] = table
    readings = tuple(Reading((TableUse(table, None),)) for table in used.values())
    return Plan(text.apply(edits), readings, Coverage(), parameters=parameters)


def _value(token: Token) -> str:
    named = token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER)
    return identifier_value(token).lower() if named else ""


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
