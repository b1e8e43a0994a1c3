"""Resolves names behind FROM to catalog names, and finds the databases that precede columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from rewriter.catalog.model.qualified_names import CATALOG, full_name
from rewriter.errors import Span
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.text.edits import Edit
from rewriter.planner.text.literals import string_literal
from rewriter.planner.text.query_text import QueryText, has_place

#: A database and a name in it, in lower case.
Key = tuple[str, str]


def key_of(node: exp.Table, current: str) -> Key | None:
    """Returns the meaning of a name behind FROM where ``current`` is the database of names without one.

    Returns ``None`` where it has other parts than a database of ours and a name.
    """
    if not isinstance(node.this, exp.Identifier) or "." in node.name or "." in node.db:
        return None
    if node.args.get("catalog") is not None and node.catalog.lower() != CATALOG:
        return None
    return (node.db or current).lower(), node.name.lower()


def catalog_name(node: exp.Table, current: str) -> str | None:
    """Returns the same as the catalog's name; ``None`` where the catalog cannot have such a name."""
    key = key_of(node, current)
    return None if key is None else full_name(key[0], node.name)


def prefix_of(database: str) -> str:
    """Returns the prefix that binds a name to a database, whatever the current database and the CTEs in scope."""
    return f"{quote_identifier(database)}."


def meant(text: QueryText, column: exp.Column) -> Key | None:
    """Returns the table of a column that also names its database, unless it is in a hint."""
    database, table = column.args.get("db"), column.args.get("table")
    if not (has_place(database) and has_place(table)) or text.in_hint(column):
        return None
    if column.args.get("catalog") is not None and column.catalog.lower() != CATALOG:
        return None
    return database.name.lower(), table.name.lower()


def databases(text: QueryText, keys: Collection[Key | None]) -> Iterator[tuple[Span, exp.Column]]:
    """Yields the span of ``sales.`` in ``sales.flights.carrier``, with the column, for the tables ``keys``.

    The relation that replaces such a name belongs to no database.
    """
    for column in text.find_all(exp.Column) if keys else ():
        key = meant(text, column)
        if key is not None and key in keys:
            first = column.args.get("catalog") or column.args["db"]
            yield Span(first.meta["start"], column.args["table"].meta["start"]), column


def current_edits(text: QueryText, current: str) -> list[Edit]:
    """Replaces ``current_database()`` and ``current_schema()`` by the session's own: an engine has another current
    database.

    An item of a SELECT list keeps the name that Spark gives to both. Costs a look at every token.
    """
    edits = []
    tokens = text.tokens
    for index, token in enumerate(tokens[:-2]):
        if not token.is_word("CURRENT_DATABASE", "CURRENT_SCHEMA") or (index and tokens[index - 1].is_operator(".")):
            continue
        if tokens[index + 1].is_operator("(") and tokens[index + 2].is_operator(")"):
            value = string_literal(current)
            name = quote_identifier("current_schema()")
            replacement = f"{value} AS {name}" if is_item(text, index, 3) else value
            edits.append(
                Edit(Span(token.start, tokens[index + 2].end), (replacement,), f"{token.text}() becomes {value}")
            )
    return edits


def is_item(text: QueryText, index: int, length: int) -> bool:
    """Tests whether some tokens, a call without arguments, are a whole item of a SELECT list without an alias."""
    tokens = text.tokens
    next_token = tokens[index + length] if index + length < len(tokens) else None
    if next_token is not None and not (next_token.is_operator(",", ")") or next_token.is_word("FROM")):
        return False
    if not index or not (tokens[index - 1].is_operator(",") or tokens[index - 1].is_word("SELECT", "DISTINCT")):
        return False
    return text.items.directly_in_list(index)
