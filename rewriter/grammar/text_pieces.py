"""Text as it is typed, in pieces: tokens, comments, and what is no token yet. For completion and highlighting.

``lexer.tokens`` refuses text that is not finished; here a string that is not closed is a piece up to the end. Both use
one pattern, so the pieces of a finished text are its tokens and its comments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import Enum
from operator import attrgetter
from typing import NamedTuple

from rewriter.errors import ParseError
from rewriter.grammar.lexer import PATTERN, Token, TokenKind, end_of_comment


class PieceKind(Enum):
    """Kinds of pieces: kinds of tokens, comments, quotes and comments that are not closed, and stray characters."""

    WORD = "word"
    IDENTIFIER = "identifier"
    STRING = "string"
    NUMBER = "number"
    OPERATOR = "operator"
    PARAMETER = "parameter"
    COMMENT = "comment"
    #: An open ``'``, ``"``, `` ` `` or ``/*``, and all that follows it.
    UNCLOSED = "unclosed"
    #: A character that begins nothing.
    STRAY = "stray"


#: How far the pattern reads on to decide where a piece ends: ``http`` becomes one word with ``://x``.
_LOOKAHEAD = 6


class Piece(NamedTuple):
    """A piece of the text at ``[start, end)``."""

    kind: PieceKind
    text: str
    start: int
    end: int

    @property
    def token(self) -> Token | None:
        """The piece as a token; ``None`` if it is none."""
        kind = _TOKENS.get(self.kind)
        return None if kind is None else Token(kind, self.text, self.start, self.end)


_TOKENS = {PieceKind[kind.name]: kind for kind in TokenKind}
_KINDS = {kind.name: kind for kind in PieceKind}


def pieces(text: str, start: int = 0) -> Iterator[Piece]:
    """Yields the pieces of the text from an offset, at which none is open, to its end. Never raises. Linear."""
    match = PATTERN.match
    raw: Piece | None = None  # An r that may begin a raw string.
    while True:
        hit = match(text, start)
        if hit is None:
            piece = _unreadable(text, start)
            if raw is not None and piece.kind is PieceKind.UNCLOSED and raw.end == piece.start:
                piece = Piece(PieceKind.UNCLOSED, text[raw.start :], raw.start, piece.end)
                raw = None
        else:
            name = hit.lastgroup or "END"
            if name == "END":
                if raw is not None:
                    yield raw
                return
            begin, end = hit.span(name)
            kind = _KINDS[name]
            if kind is PieceKind.COMMENT and text[begin] == "/":
                try:
                    end = end_of_comment(text, begin)
                except ParseError:
                    kind, end = PieceKind.UNCLOSED, len(text)
            piece = Piece(kind, text[begin:end], begin, end)
        if raw is not None:
            yield raw
        raw = piece if piece.text in ("r", "R") else None
        if raw is None:
            yield piece
        start = piece.end


def _unreadable(text: str, position: int) -> Piece:
    """Returns the piece for text that begins no token."""
    start = position
    while text[start].isspace():
        start += 1
    if text[start] in "'\"`":
        return Piece(PieceKind.UNCLOSED, text[start:], start, len(text))
    return Piece(PieceKind.STRAY, text[start], start, start + 1)


class TextPieces:
    """The pieces of a text that is being edited: after a change, those in front of it are kept."""

    def __init__(self) -> None:
        #: The number of pieces that the last change of the text has kept.
        self.unchanged = 0
        self._text = ""
        self._pieces: list[Piece] = []
        self._more: Iterator[Piece] = iter(())

    def until(self, text: str, position: int) -> Sequence[Piece]:
        """Returns the pieces of ``text`` from its start to the first that begins at ``position`` or behind it, or to
        the end. Do not change the result. Costs the pieces between the first change and the position.
        """
        if text != self._text:
            self._edit(text)
        read_pieces = self._pieces
        while (not read_pieces or read_pieces[-1].start < position) and self._piece(len(read_pieces)) is not None:
            pass
        return read_pieces

    def statement(self, text: str, position: int, most: int) -> list[Piece]:
        """Returns the pieces between the semicolon that ends in front of ``position`` and the next one, without both;
        of the pieces behind the position only the ones that begin in the next ``most`` characters.
        """
        read_pieces = self.until(text, position)
        end = len(read_pieces) - (bool(read_pieces) and read_pieces[-1].start >= position)
        start = end
        while start and not (read_pieces[start - 1].text == ";" and read_pieces[start - 1].end <= position):
            start -= 1
        statement_pieces = list(read_pieces[start:end])
        while (piece := self._piece(end)) is not None and piece.text != ";" and piece.start < position + most:
            statement_pieces.append(piece)
            end += 1
        return statement_pieces

    def _piece(self, index: int) -> Piece | None:
        """Returns a piece by its number, the next one at most; ``None`` behind the last."""
        if index == len(self._pieces):
            piece = next(self._more, None)
            if piece is not None:
                self._pieces.append(piece)
            return piece
        return self._pieces[index]

    def _edit(self, text: str) -> None:
        unchanged = _common_length(self._text, text) - _LOOKAHEAD
        read_pieces = self._pieces
        # The pieces up to the change stay; an open quote and the r before it do not.
        keep = bisect_right(read_pieces, unchanged, key=attrgetter("end")) if unchanged > 0 else 0
        while keep and (read_pieces[keep - 1].kind is PieceKind.UNCLOSED or read_pieces[keep - 1].text in ("r", "R")):
            keep -= 1
        self._pieces = read_pieces[:keep]
        self.unchanged = keep
        self._text = text
        self._more = pieces(text, read_pieces[keep - 1].end if keep else 0)


def _common_length(one: str, other: str) -> int:
    """Returns the length of the longest common start. O(n), in a few comparisons of slices."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
