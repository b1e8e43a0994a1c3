r"""A text of the shell as its statements and commands.

A command is the rest of a line that begins with a backslash, or with a point and a letter (``.tables``), where a
statement could begin. A statement ends with ``;``, ``\g`` or, to be shown vertically, ``\G``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from rewriter.errors import ParseError, Span
from rewriter.grammar.lexer import TokenKind, scan
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.text_variables import mask_references

_END = re.compile(r"\\[gG](?!\w)")
_DOT_COMMAND = re.compile(r"\.[A-Za-z]")
#: Words that, alone at the prompt, are a command, as in psql.
_WORDS = {"exit": "\\q", "quit": "\\q", "help": "\\?"}


class PieceKind(Enum):
    """``UNFINISHED`` is a statement without its end, which a script runs, too."""

    STATEMENT = "statement"
    UNFINISHED = "unfinished"
    COMMAND = "command"


@dataclass(frozen=True)
class Piece:
    """A statement without its end, or a command with its backslash. ``end`` is where the next piece may begin."""

    kind: PieceKind
    span: Span
    end: int
    is_vertical: bool = False

    def of(self, text: str) -> str:
        return text[self.span.start : self.span.end]


def pieces(text: str, start: int = 0) -> Iterator[Piece]:
    """Yields the pieces of a text, each when it is requested.

    Raises ``ParseError`` where a string, name or comment is not closed, or a character begins nothing.
    """
    text = mask_references(text)
    while (piece := _next_piece(text, start)) is not None:
        yield piece
        start = piece.end


def _next_piece(text: str, start: int) -> Piece | None:
    """Returns the first piece from an offset on; ``None`` if only blanks and comments are left. O(its length)."""
    first = last = None
    try:
        for token in scan(text, start):
            if first is None and token.text == "." and _is_command(text, token.start):
                return _command(text, token.start)
            if token.kind is TokenKind.OPERATOR and token.text == ";":
                if first is not None and last is not None:
                    return Piece(PieceKind.STATEMENT, Span(first.start, last.end), token.end)
            else:
                first, last = first or token, token
    except ParseError as error:
        at = error.position.start if error.position is not None else len(text)
        if not text.startswith("\\", at):
            raise
        if first is None or last is None:
            return _command(text, at)
        if (end := _END.match(text, at)) is None:
            raise
        return Piece(PieceKind.STATEMENT, Span(first.start, last.end), end.end(), end[0] == "\\G")
    if first is None or last is None:
        return None
    return Piece(PieceKind.UNFINISHED, Span(first.start, last.end), len(text))


def _is_command(text: str, at: int) -> bool:
    line_start = text.rfind("\n", 0, at) + 1
    return not text[line_start:at].strip() and _DOT_COMMAND.match(text, at) is not None


def _command(text: str, start: int) -> Piece:
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    return Piece(PieceKind.COMMAND, Span(start, start + len(text[start:line_end].rstrip())), line_end)


def typed(text: str) -> str:
    """Returns the text that a text at the prompt stands for.

    >>> typed("exit"), typed("Help;"), typed("SELECT 1;")
    ('\\\\q', '\\\\?', 'SELECT 1;')
    """
    return _WORDS.get(text.strip().rstrip(";").rstrip().lower(), text)


def is_complete(text: str) -> bool:
    """Tests whether Enter runs a text: it consists of commands and of statements with their ends, or cannot be read."""
    try:
        return all(piece.kind is not PieceKind.UNFINISHED for piece in pieces(typed(text)))
    except ParseError as error:
        return not _is_open(text, error)


def _is_open(text: str, error: ParseError) -> bool:
    """Tests whether more text could mend the error: a string, name or comment is open."""
    return error.position is not None and text[error.position.start] in "'\"`/"
