"""Finds where a constant expression stands in place of a literal: ``dt < current_date - INTERVAL 90 DAYS``.

Only the outline is read. The expression remains in the user's words, and is computed before its statement runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.grammar.lexer import Token, TokenKind
from rewriter.grammar.query_spans import starts_query

#: The words that are calls without parentheses.
CLOCK_WORDS = ("CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")

_COMPARISONS = ("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=")
_ARITHMETIC = ("+", "-", "*", "/", "%", "||", "(", ":", "::")
#: The words that end a value: those of filters, and those behind the bounds of a range of time.
_ENDS = ("AND", "OR", "TO", "MAX", "DRY", "ACCEPT")


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
    is_name = name.kind is TokenKind.IDENTIFIER or (name.kind is TokenKind.WORD and not name.is_word(*CLOCK_WORDS))
    return end if is_name and _end_of_expression(tokens, end + 1) == end + 1 else index


def _end_of_expression(tokens: Sequence[Token], index: int) -> int:
    end = _end_of_value(tokens, index)
    value = tokens[index:end]
    if not value or _is_literal(value) or unquoted_date(tokens, index) is not None or starts_query(tokens, index):
        return index
    is_expression = any(
        token.is_operator(*_ARITHMETIC) or token.is_word(*CLOCK_WORDS, "CASE") or token.kind is TokenKind.PARAMETER
        for token in value
    )
    return end if is_expression else index


def unquoted_date(tokens: Sequence[Token], index: int) -> str | None:
    """Returns the text of a date that is typed without quotes, which is a subtraction: ``2015-01-31``."""
    parts = tokens[index : index + 5]
    texts = [part.text for part in parts]
    if len(parts) < 5 or texts[1::2] != ["-", "-"] or not all(text.isdigit() for text in texts[::2]):
        return None
    return "".join(texts) if len(texts[0]) == 4 and max(map(len, texts[2::2])) <= 2 else None


def _end_of_value(tokens: Sequence[Token], index: int) -> int:
    depth = 0
    for position in range(index, len(tokens)):
        token = tokens[position]
        depth -= token.is_operator(")", "]") or token.is_word("END")
        if depth < 0 or (not depth and (token.is_operator(",", *_COMPARISONS) or token.is_word(*_ENDS))):
            return position
        depth += token.is_operator("(", "[") or token.is_word("CASE")
    return len(tokens)


def _is_literal(value: Sequence[Token]) -> bool:
    """Tests for the tokens of a literal: a number with or without a minus, strings, DATE or TIMESTAMP and a string."""
    if len(value) > 1 and value[0].is_operator("-"):
        return len(value) == 2 and value[1].kind is TokenKind.NUMBER
    strings = value[1:] if value[0].is_word("DATE", "TIMESTAMP") else value
    return len(value) == 1 and value[0].kind is TokenKind.NUMBER or all(t.kind is TokenKind.STRING for t in strings)
