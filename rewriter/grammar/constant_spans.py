"""Finds where a constant expression stands in place of a literal: ``dt < current_date - INTERVAL 90 DAYS``.

Only the outline is read: operands, and operators between them. The expression remains in the user's words, and is
computed before its statement runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.grammar.lexer import Token, TokenKind
from rewriter.grammar.query_spans import starts_query

#: The words that are calls without parentheses.
CLOCK_WORDS = ("CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")

_COMPARISONS = ("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=")
_INFIX = ("+", "-", "*", "/", "%", "||", "::")
_NAMES = (TokenKind.WORD, TokenKind.IDENTIFIER)
_SINGULAR = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_UNITS = (*_SINGULAR, *(f"{unit}S" for unit in _SINGULAR), "TO")
_NEITHER = ("AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "NULL", "TRUE", "FALSE")


def end_of_constant(tokens: Sequence[Token], index: int, may_be_column: bool) -> int:
    """Returns the number of the token behind the constant expression that begins at ``index``; ``index`` itself where
    none does, but a literal, a name, a query or text that is no value.

    ``may_be_column``: the grammar accepts a column there, too. Where a condition begins, a constant is one whose
    comparison with a column follows: ``current_date > dt``, not ``current_date > '5'``.
    """
    end = _end_of_expression(tokens, index)
    if end == index or not may_be_column or tokens[index - 1].is_operator(*_COMPARISONS):
        return end
    if end + 1 >= len(tokens) or not tokens[end].is_operator(*_COMPARISONS):
        return index
    name = tokens[end + 1]
    is_name = name.kind in _NAMES and not name.is_word(*CLOCK_WORDS)
    return end if is_name and _end_of_expression(tokens, end + 1) == end + 1 else index


def unquoted_date(tokens: Sequence[Token], index: int) -> str | None:
    """Returns the text of a date that is typed without quotes, which is a subtraction: ``2015-01-31``."""
    parts = tokens[index : index + 5]
    texts = [part.text for part in parts]
    if len(parts) < 5 or texts[1::2] != ["-", "-"] or not all(text.isdigit() for text in texts[::2]):
        return None
    return "".join(texts) if len(texts[0]) == 4 and max(map(len, texts[2::2])) <= 2 else None


def _end_of_expression(tokens: Sequence[Token], index: int) -> int:
    """Returns the end of an expression that is more than a literal or a name; ``index`` where there is none."""
    end, operands = _end_of_operand(tokens, index), 1
    while index < end < len(tokens) and tokens[end].is_operator(*_INFIX):
        behind = _end_of_operand(tokens, end + 1)
        if behind == end + 1:
            return index
        end, operands = behind, operands + 1
    if end == index or unquoted_date(tokens, index) is not None or starts_query(tokens, index):
        return index
    is_simple = operands == 1 and not tokens[index].is_word(*CLOCK_WORDS) and _is_literal_or_name(tokens[index:end])
    return index if is_simple else end


def _end_of_operand(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of the token behind a literal, a name, a call, CASE … END or parentheses."""
    start = index
    while index < len(tokens) and tokens[index].is_operator("+", "-"):
        index += 1
    token = tokens[index] if index < len(tokens) else None
    if token is None or token.is_word(*_NEITHER) or token.is_operator("+", "-"):
        return start
    if token.is_operator("(") or token.is_word("CASE"):
        return _closed(tokens, index)
    if token.kind is TokenKind.STRING or (token.is_word("DATE", "TIMESTAMP") and _is_string(tokens, index + 1)):
        index += 1
        while _is_string(tokens, index):
            index += 1
        return index
    if token.is_word("INTERVAL"):
        return _end_of_interval(tokens, index + 1)
    if token.kind in (TokenKind.NUMBER, TokenKind.PARAMETER):
        return index + 1
    if token.is_operator(":"):  # A parameter whose name is a token of its own.
        return index + 2 if index + 1 < len(tokens) and tokens[index + 1].kind is TokenKind.WORD else start
    if token.kind not in _NAMES:
        return start
    is_call = index + 1 < len(tokens) and tokens[index + 1].is_operator("(")
    return _closed(tokens, index + 1) if is_call else index + 1


def _end_of_interval(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of the token behind the amounts and units of an INTERVAL."""
    while index < len(tokens):
        token = tokens[index]
        is_amount = token.kind in (TokenKind.NUMBER, TokenKind.STRING) or (
            token.is_operator("-") and tokens[index - 1].is_word("INTERVAL")
        )
        is_unit = token.is_word(*_UNITS) and (not token.is_word("TO") or _is_unit(tokens, index + 1))
        if not is_amount and not is_unit:
            break
        index += 1
    return index


def _is_unit(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].is_word(*_UNITS)


def _closed(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of the token behind the parentheses, or the CASE, that opens at ``index``."""
    depth = 0
    for position in range(index, len(tokens)):
        depth += tokens[position].is_operator("(", "[") or tokens[position].is_word("CASE")
        depth -= tokens[position].is_operator(")", "]") or tokens[position].is_word("END")
        if not depth:
            return position + 1
    return len(tokens)


def _is_string(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].kind is TokenKind.STRING


def _is_literal_or_name(operand: Sequence[Token]) -> bool:
    if operand[0].is_operator("-"):
        return len(operand) == 2 and operand[1].kind is TokenKind.NUMBER
    strings = operand[1:] if operand[0].is_word("DATE", "TIMESTAMP") else operand
    is_single = len(operand) == 1 and operand[0].kind in (*_NAMES, TokenKind.NUMBER)
    return is_single or all(token.kind is TokenKind.STRING for token in strings)
