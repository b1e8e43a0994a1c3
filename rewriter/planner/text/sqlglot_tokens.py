"""sqlglot's tokens of a text. Long lists of literals are converted from our own tokens.

sqlglot's tokenizer takes a third of the time that it needs to parse ``IN (1, 2, …)``. A literal that both lexers read
alike (digits alone, or a quoted text without escapes and quotes in it) is converted in half of the time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot import Token as SqlglotToken
from sqlglot import TokenType
from sqlglot.dialects.dialect import Dialect

from rewriter.grammar.lexer import Token, TokenKind

#: The least number of tokens of a list that is converted.
_LONG_LIST = 64
_PUNCTUATION = {",": TokenType.COMMA, "(": TokenType.L_PAREN, ")": TokenType.R_PAREN}


def sqlglot_tokens(dialect: Dialect, text: str, tokens: Sequence[Token]) -> list[Any]:
    """Returns what ``dialect.tokenize(text)`` returns. ``tokens`` are our lexer's of a text of the same length that
    differs from it at most inside strings with escapes. Raises sqlglot's ``TokenError``.
    """
    # sqlglot counts a carriage return as the end of a line in some places and not in others.
    convertible = len(tokens) >= _LONG_LIST and "\r" not in text
    lists = list(_literal_lists(tokens, text)) if convertible else []
    if not lists:
        return dialect.tokenize(text)
    blanked: list[str] = []
    position = 0
    for first, last in lists:
        blanked += (text[position : tokens[first].start], _blanks(text[tokens[first].start : tokens[last].start]))
        position = tokens[last].start
    outside = dialect.tokenize("".join([*blanked, text[position:]]))
    starts = [token.start for token in outside]
    converted: list[Any] = []
    position = 0
    for first, last in lists:
        before = bisect_left(starts, tokens[first].start)
        converted += outside[position:before]
        converted += _converted(tokens[first:last], text)
        position = before
    return converted + outside[position:]


def _literal_lists(tokens: Sequence[Token], text: str) -> Iterator[tuple[int, int]]:
    """Yields the index of the first token of each long list to convert, and the index behind its last token.

    A list is ``(``, plain literals, commas and parentheses. Its last ``)`` is left to sqlglot.
    """
    first, last, end = -1, 0, 0
    follows_literal = False
    for index, token in enumerate(tokens):
        kind, typed, start, token_end = token
        if first < 0:
            if typed == "(":
                first, last, follows_literal = index, index, False
            end = token_end
            continue
        listed = start == end or text[end:start] == " " or not text[end:start].strip(" \n")
        end = token_end
        if listed and kind is TokenKind.OPERATOR and typed in _PUNCTUATION:
            follows_literal = False
            if typed == ")":
                last = index
        elif listed and not follows_literal and _is_plain(token):
            follows_literal = True
        else:
            if last - first >= _LONG_LIST:
                yield first, last
            first = -1
    if first >= 0 and last - first >= _LONG_LIST:
        yield first, last


def _is_plain(token: Token) -> bool:
    """Tests whether both lexers read a literal alike and give it the same text."""
    text = token.text
    if token.kind is TokenKind.NUMBER:
        return text.isascii() and text.isdigit()
    if token.kind is TokenKind.STRING:
        return (
            text[0] in "'\""
            and text[0] not in text[1:-1]
            and "\\" not in text
            and "\n" not in text
            and "\r" not in text
        )
    return False


def _blanks(text: str) -> str:
    """Returns blanks of the length of a text, with its line ends: sqlglot counts lines."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _converted(tokens: Sequence[Token], text: str) -> list[Any]:
    """Returns sqlglot's tokens for ours, which are plain literals and punctuation."""
    converted: list[Any] = []
    append = converted.append
    line = text.count("\n", 0, tokens[0].start) + 1
    line_start = text.rfind("\n", 0, tokens[0].start) + 1
    position = tokens[0].start
    for kind, typed, start, end in tokens:
        if start - position > 1 or text[position:start] == "\n":
            line += text.count("\n", position, start)
            line_start = max(line_start, text.rfind("\n", position, start) + 1)
        position = end
        if kind is TokenKind.OPERATOR:
            append(SqlglotToken(_PUNCTUATION[typed], typed, line, end - line_start, start, end - 1))
        elif kind is TokenKind.STRING:
            append(SqlglotToken(TokenType.STRING, typed[1:-1], line, end - line_start, start, end - 1))
        else:
            append(SqlglotToken(TokenType.NUMBER, typed, line, end - line_start, start, end - 1))
    return converted
