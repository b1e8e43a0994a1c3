"""Renders statements and their parts as text that ``parse`` reads as an equal value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from rewriter.errors import InternalError
from rewriter.grammar.dialect_rules import keywords
from rewriter.grammar.filters import And, Between, Comparison, Filter, InList, IsNull, Like, Not, Or
from rewriter.grammar.statements import RENDERERS, Statement

if TYPE_CHECKING:
    from rewriter.grammar.terms import ColumnDef, ColumnName, DatabaseName, Literal, Name, PartitionItem

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000"}
_TO_ESCAPE = re.compile(r"[\\'\n\r\t\0]")


def render(statement: Statement) -> str:
    """Returns one line of SQL (a query keeps its own lines) without ``;``, such that ``parse(render(s)) == s``.

    The same statement always gives the same text. Names are quoted where they must be, values always by ``quote``.
    """
    renderer = RENDERERS.get(type(statement))
    if renderer is None:
        raise InternalError(f"there is no renderer for the statement {type(statement).__name__}")
    return renderer(statement)


def quote(text: str) -> str:
    """Returns the text as a string literal of Spark SQL, on one line."""
    return "'" + _TO_ESCAPE.sub(lambda hit: _ESCAPES[hit.group()], text) + "'"


def quote_name(name: str) -> str:
    """Returns the name, in backquotes unless it is plain and no keyword of the dialect. The database ``default`` needs
    none.
    """
    if _PLAIN.fullmatch(name) and (name.upper() not in keywords() or name.upper() == "DEFAULT"):
        return name
    return "`" + name.replace("`", "``") + "`"


def literal_text(literal: Literal) -> str:
    """Returns the literal as it is typed, strings always by ``quote``."""
    if literal.kind == "string":
        return quote(literal.text)
    if literal.kind in ("date", "timestamp"):
        return f"{literal.kind.upper()} {quote(literal.text)}"
    return literal.text.upper() if literal.kind == "boolean" else literal.text or "NULL"


def words(*parts: str | None) -> str:
    """Joins the parts that are present with blanks."""
    return " ".join(part for part in parts if part)


def listed(items: Iterable[str]) -> str:
    """In parentheses, with commas."""
    return f"({', '.join(items)})"


def option(keyword: str, text: str | None) -> str | None:
    """Returns a keyword and its string; ``None`` without one."""
    return None if text is None else f"{keyword} {quote(text)}"


def name_text(name: Name | ColumnName) -> str:
    return ".".join(map(quote_name, name.parts))


def names_text(names: Iterable[str] | None) -> str | None:
    return None if names is None else listed(map(quote_name, names))


def column_text(column: ColumnDef) -> str:
    if column.transform is not None:
        return f"{column.transform}({quote_name(column.name)})"
    default = None if column.default is None else f"DEFAULT {column.default}"
    not_null = "NOT NULL" if column.not_null else None
    return words(quote_name(column.name), column.type, not_null, default, option("COMMENT", column.comment))


def database_text(database: DatabaseName) -> str:
    return quote_name(database.text)


def in_database_text(database: DatabaseName | None) -> str | None:
    return None if database is None else f"IN {database_text(database)}"


def partition_text(spec: tuple[PartitionItem, ...] | None) -> str | None:
    if spec is None:
        return None
    items = (
        quote_name(item.column) if item.value is None else f"{quote_name(item.column)} = {literal_text(item.value)}"
        for item in spec
    )
    return f"PARTITION {listed(items)}"


def properties_text(properties: tuple[tuple[str, str], ...]) -> str | None:
    """TBLPROPERTIES; ``None`` without any."""
    if not properties:
        return None
    return "TBLPROPERTIES " + listed(f"{quote(key)} = {quote(value)}" for key, value in properties)


def options_text(options: tuple[tuple[str, str], ...]) -> str | None:
    """OPTIONS; ``None`` without any."""
    return f"OPTIONS {listed(f'{quote(key)} = {quote(value)}' for key, value in options)}" if options else None


def dropping(kind: str, name: Name, if_exists: bool, purge: bool = False) -> str:
    """DROP of an object of the kind."""
    return words("DROP", kind, "IF EXISTS" if if_exists else None, name_text(name), "PURGE" if purge else None)


def render_filter(tree: Filter) -> str:
    """Returns text that ``parse_filter`` reads as an equal tree. Names are quoted where they must be, values always."""
    match tree:
        case Or():
            return " OR ".join(map(render_filter, tree.operands))
        case And():
            return " AND ".join(_enclosed(operand, Or) for operand in tree.operands)
        case Not():
            return f"NOT {_enclosed(tree.operand, (And, Or))}"
        case Comparison():
            return f"{quote_name(tree.column)} {tree.op} {literal_text(tree.value)}"
        case Like():
            return f"{quote_name(tree.column)} LIKE {literal_text(tree.pattern)}"
        case InList():
            return f"{quote_name(tree.column)} IN ({', '.join(map(literal_text, tree.values))})"
        case Between():
            return f"{quote_name(tree.column)} BETWEEN {literal_text(tree.low)} AND {literal_text(tree.high)}"
        case IsNull():
            return f"{quote_name(tree.column)} IS NULL"
        case _:
            assert_never(tree)


def _enclosed(tree: Filter, looser_kinds: type | tuple[type, ...]) -> str:
    text = render_filter(tree)
    return f"({text})" if isinstance(tree, looser_kinds) else text
