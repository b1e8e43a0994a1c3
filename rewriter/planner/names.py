"""What a name behind FROM means to the catalog, and the databases that stand before columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from rewriter.catalog.names import CATALOG, full_name
from rewriter.errors import Span
from rewriter.planner.literals import string_literal
from rewriter.planner.plan import quote_identifier
from rewriter.planner.text import Edit, QueryText, has_place

#: A database and a name in it, in lower case.
Key = tuple[str, str]


def key_of(node: exp.Table, current: str) -> Key | None:
    """What a name behind FROM means where ``current`` is the database of names without one; ``None`` where it has other
    parts than a database of ours and a name.
    """
    if not isinstance(node.this, exp.Identifier) or "." in node.name or "." in node.db:
        return None
    if node.args.get("catalog") is not None and node.catalog.lower() != CATALOG:
        return None
    return (node.db or current).lower(), node.name.lower()


def catalog_name(node: exp.Table, current: str) -> str | None:
    """The same as the catalog's name; ``None`` where the catalog can have none so called."""
    key = key_of(node, current)
    return None if key is None else full_name(key[0], node.name)


def prefix_of(database: str) -> str:
    """What stands before a name to say that it is of a database, whatever is current and whatever CTEs are in sight."""
    return f"{quote_identifier(database)}."


def meant(column: exp.Column) -> Key | None:
    """The table that a column says it is of, where it names its database, too, and is not a place in a hint."""
    database, table = column.args.get("db"), column.args.get("table")
    if not (has_place(database) and has_place(table)) or column.find_ancestor(exp.Hint):
        return None
    if column.args.get("catalog") is not None and column.catalog.lower() != CATALOG:
        return None
    return database.name.lower(), table.name.lower()


def databases(text: QueryText, keys: Collection[Key | None]) -> Iterator[tuple[Span, exp.Column]]:
    """``sales.`` in ``sales.flights.carrier``, with the column, for the tables ``keys``: what takes the place of a name
    belongs to no database.
    """
    for column in text.find_all(exp.Column) if keys else ():
        key = meant(column)
        if key is not None and key in keys:
            first = column.args.get("catalog") or column.args["db"]
            yield Span(first.meta["start"], column.args["table"].meta["start"]), column


def current_edits(text: QueryText, current: str) -> list[Edit]:
    """``current_database()`` and ``current_schema()`` as the session's own: an engine has another current database.

    An item of a SELECT list keeps its name. Costs a look at every token.
    """
    edits = []
    found = text.tokens
    for index, token in enumerate(found[:-2]):
        if not token.is_word("CURRENT_DATABASE", "CURRENT_SCHEMA") or (index and found[index - 1].is_operator(".")):
            continue
        if found[index + 1].is_operator("(") and found[index + 2].is_operator(")"):
            value = string_literal(current)
            name = quote_identifier(f"{token.text.lower()}()")
            shown = f"{value} AS {name}" if _is_item(text, index) else value
            edits.append(Edit(Span(token.start, found[index + 2].end), (shown,), f"{token.text}() becomes {value}"))
    return edits


def _is_item(text: QueryText, index: int) -> bool:
    """Whether the call without arguments at a token is all of an item of a SELECT list, and has no alias."""
    found, depth = text.tokens, 0
    if index + 3 < len(found) and not (found[index + 3].is_operator(",", ")") or found[index + 3].is_word("FROM")):
        return False
    if not index or not (found[index - 1].is_operator(",") or found[index - 1].is_word("SELECT", "DISTINCT")):
        return False
    for token in reversed(found[:index]):
        depth += token.is_operator(")", "]") - token.is_operator("(", "[")
        if depth < 0 or (depth == 0 and token.is_word("FROM", "WHERE", "BY", "HAVING", "ON", "VALUES", "IN")):
            return False
        if depth == 0 and token.is_word("SELECT"):
            return True
    return False
