"""The column that a literal is compared with, and the literals that other columns are compared with beside it."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.errors import ParseError
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, string_value
from rewriter.lazy_dataclass import dataclass

_COMPARING = ("=", "==", "<=>", "<", "<=", ">", ">=", "<>", "!=")
_LITERALS = (TokenKind.STRING, TokenKind.NUMBER)


@dataclass(frozen=True)
class Compared:
    """A column with its qualifiers. ``typed_literal`` says that DATE or TIMESTAMP is in front of the literal."""

    column: tuple[str, ...]
    typed_literal: bool = False


def compared_column(before: Sequence[Token]) -> Compared | None:
    """Returns the column that a literal behind these tokens is compared with; ``None`` if it is with none.

    ``dt =``, ``dt IN ('a',``, ``dt BETWEEN 'a' AND``. Linear in the literals of an IN list.
    """
    end = len(before)
    typed_literal = bool(end) and before[end - 1].is_word("DATE", "TIMESTAMP")
    end -= typed_literal
    if end < 2:
        return None
    last = before[end - 1]
    if last.is_operator(*_COMPARING):
        end -= 1
    elif last.is_operator("(", ","):
        while end and (before[end - 1].is_operator(",", "-") or _is_literal(before[end - 1])):
            end -= 1
        if end < 2 or not before[end - 1].is_operator("(") or not before[end - 2].is_word("IN"):
            return None
        end -= 2
    elif last.is_word("BETWEEN", "LIKE"):
        end -= 1
    elif last.is_word("AND"):
        end -= 1
        while end and _is_literal(before[end - 1]):
            end -= 1
        if not end or end == len(before) - 1 - typed_literal or not before[end - 1].is_word("BETWEEN"):
            return None
        end -= 1
    else:
        return None
    if end and before[end - 1].is_word("NOT"):
        end -= 1
    column = _column_before(before, end)
    return Compared(column, typed_literal) if column else None


def given_values(before: Sequence[Token]) -> tuple[tuple[str, str], ...]:
    """Returns the columns that are equal to a literal beside the cursor: the columns of a conjunction, or of a spec.

    None where an OR is beside them.
    """
    given: list[tuple[str, str]] = []
    depth = 0
    for index in range(len(before) - 1, -1, -1):
        token = before[index]
        if token.is_operator(")"):
            depth += 1
        elif token.is_operator("("):
            if not depth:
                break
            depth -= 1
        elif not depth and token.is_word("OR"):
            return ()
        elif not depth and token.is_operator("=", "==") and index + 1 < len(before):
            literal = before[index + 2 :] if before[index + 1].is_word("DATE", "TIMESTAMP") else before[index + 1 :]
            column = _column_before(before, index)
            if column and literal and literal[0].kind in _LITERALS:
                given.append((column[-1], _value(literal[0])))
    return tuple(reversed(given))


def _value(literal: Token) -> str:
    try:
        return string_value(literal) if literal.kind is TokenKind.STRING else literal.text
    except ParseError:
        return literal.text


def _is_literal(token: Token) -> bool:
    return token.kind in _LITERALS or token.is_word("DATE", "TIMESTAMP", "NULL", "TRUE", "FALSE")


def _column_before(tokens: Sequence[Token], end: int) -> tuple[str, ...]:
    parts: list[str] = []
    while end and tokens[end - 1].kind in (TokenKind.WORD, TokenKind.IDENTIFIER):
        parts.insert(0, identifier_value(tokens[end - 1]))
        if end < 2 or not tokens[end - 2].is_operator("."):
            break
        end -= 2
    return tuple(parts)
