"""DEFAULT values of columns: literals of the column's own type.

The text of the literal is stored as it was typed. Spark evaluates any constant expression and casts it; a literal of
the column's type is the part of it whose value is the same on every engine and at every time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError, NotSupportedError, Span
from rewriter.grammar.lexer import Token, TokenKind, string_value, tokens
from rewriter.planner.text.literals import string_literal

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
#: The default context rounds to 28 digits.
_EXACT = Context(prec=100)
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_LIMITED = re.compile(r"(?:var)?char\((\d+)\)")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?")


def check_default(text: str, type_: str, column: str, position: Span, command: str) -> str:
    """Returns the text of a DEFAULT as it is stored.

    Raises ``AnalysisError`` INVALID_DEFAULT_VALUE.DATA_TYPE, .NOT_CONSTANT or .SUBQUERY_EXPRESSION 42623 as Spark
    does, and ``NotSupportedError`` for constants that are not literals.
    """
    literal = tokens(text)
    if any(token.is_word("SELECT") for token in literal):
        raise _invalid(text, column, position, command, "SUBQUERY_EXPRESSION", "contains a subquery")
    if len(literal) == 1 and literal[0].kind in (TokenKind.WORD, TokenKind.IDENTIFIER) and not _is_constant(literal[0]):
        raise _invalid(text, column, position, command, "NOT_CONSTANT", "is not a constant")
    if _kind(literal) is None:
        raise NotSupportedError(
            f"The DEFAULT value {text} of the column {column} is not a literal.",
            position=position,
            object=column,
            hint="Write the value itself, such as 1, 'text', true, DATE '2024-01-31' or NULL.",
        )
    if _sql(literal, type_) is None:
        reason = f"is no literal of the column's type {type_.upper()}"
        raise _invalid(text, column, position, command, "DATA_TYPE", reason)
    return text


def default_sql(column: Column) -> str:
    """Returns the DEFAULT of a column, NULL if it has none, as an expression of the column's type."""
    sql = None if column.default is None else _sql(tokens(column.default), column.type)
    return sql or f"CAST(NULL AS {column.type})"


def _invalid(text: str, column: str, position: Span, command: str, subcondition: str, reason: str) -> AnalysisError:
    return AnalysisError(
        f"Failed to execute {command}: the DEFAULT value {text} of the column {column} {reason}.",
        condition=f"INVALID_DEFAULT_VALUE.{subcondition}",
        sqlstate="42623",
        position=position,
        object=column,
        hint="Write a literal of the column's type, such as 1, 'text', true, DATE '2024-01-31' or NULL.",
    )


def _is_constant(token: Token) -> bool:
    return token.is_word("NULL", "TRUE", "FALSE", "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_USER")


def _kind(literal: Sequence[Token]) -> str | None:
    """Returns the kind of a literal: NULL, BOOLEAN, NUMBER, STRING, DATE or TIMESTAMP; ``None`` for anything else."""
    first = literal[0] if literal else None
    if first is None:
        return None
    if len(literal) == 1:
        if first.is_word("NULL"):
            return "NULL"
        if first.is_word("TRUE", "FALSE"):
            return "BOOLEAN"
        return {TokenKind.NUMBER: "NUMBER", TokenKind.STRING: "STRING"}.get(first.kind)
    if len(literal) == 2 and first.is_operator("-", "+") and literal[1].kind is TokenKind.NUMBER:
        return "NUMBER"
    if len(literal) == 2 and first.is_word("DATE", "TIMESTAMP") and literal[1].kind is TokenKind.STRING:
        return first.upper
    return None


def _sql(literal: Sequence[Token], type_: str) -> str | None:
    """Returns a literal as an expression of a type; ``None`` if it is none of this type."""
    kind = _kind(literal)
    if kind == "NULL":
        return f"CAST(NULL AS {type_})"
    if kind == "BOOLEAN":
        return literal[0].upper if type_ == "boolean" else None
    if kind == "NUMBER":
        return _number("-" if literal[0].is_operator("-") else "", literal[-1].text, type_)
    if kind == "STRING":
        return _string(string_value(literal[0]), type_)
    if kind == "DATE" and type_ == "date":
        value = string_value(literal[1])
        return f"DATE '{value}'" if _is_time(value) and len(value) == 10 else None
    if kind == "TIMESTAMP" and type_ == "timestamp":
        value = string_value(literal[1])
        return f"TIMESTAMP '{value}'" if _is_time(value) else None
    return None


def _number(sign: str, text: str, type_: str) -> str | None:
    if not _NUMBER.fullmatch(text):
        return None  # It has a suffix.
    has_exponent = "e" in text.lower()
    if type_ == "double":
        return f"{sign}{text}" if has_exponent else f"{sign}{text}D"
    if type_ == "float":
        return None if has_exponent else f"{sign}{text}F"
    if has_exponent:
        return None
    value = Decimal(f"{sign}{text}")
    if type_ in _BITS:
        limit = 2 ** (_BITS[type_] - 1)
        fits = text.isdigit() and -limit <= value < limit and value > -(2**63)
        return f"CAST({sign}{text} AS {type_})" if fits else None
    match = _DECIMAL.fullmatch(type_)
    if match is None:
        return None
    precision, scale = int(match[1]), int(match[2])
    scaled = value.scaleb(scale, _EXACT)
    fits = (
        sum(map(str.isdigit, text)) <= 38
        and scaled == scaled.to_integral_value()
        and -(10**precision) < scaled < 10**precision
    )
    return f"CAST({sign}{text} AS {type_})" if fits else None


def _string(value: str, type_: str) -> str | None:
    limited = _LIMITED.fullmatch(type_)
    if type_ != "string" and (limited is None or len(value) > int(limited[1])):
        return None
    return string_literal(value)


def _is_time(value: str) -> bool:
    if not _TIMESTAMP.fullmatch(value):
        return False
    try:
        date.fromisoformat(value[:10])
        return len(value) == 10 or bool(datetime.fromisoformat(value))
    except ValueError:
        return False
