"""Warnings for double-quoted words that are names of columns: Spark reads them as strings, and so does this planner."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rewriter.grammar.lexer import TokenKind, string_value

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import QueryText

#: Calls that take a word such as ``"day"``, which a column may be called, too.
_TAKING_WORDS = frozenset(
    "DATE_TRUNC TRUNC DATE_PART DATEPART EXTRACT DATE_FORMAT TO_DATE TO_TIMESTAMP TO_CHAR TIMESTAMPADD DATEADD "
    "DATEDIFF TIMESTAMPDIFF NAMED_STRUCT".split()
)


def quoted_name_warnings(text: QueryText, columns: Collection[str]) -> list[str]:
    """Returns one warning for each column among ``columns`` (in lower case) whose name is in double quotes."""
    warnings: dict[str, str] = {}
    for token in text.tokens:
        if token.kind is not TokenKind.STRING or not token.text.startswith('"'):
            continue
        word = string_value(token)
        call = text.enclosing_call(token.span) if word.lower() in columns else None
        function = "" if call is None else text.tokens[text.index_at(call.start)].text.upper()
        if word.lower() in columns and function not in _TAKING_WORDS:
            warnings.setdefault(word.lower(), f'"{word}" is a string, as in Spark; write the column {word} as `{word}`')
    return list(warnings.values())
