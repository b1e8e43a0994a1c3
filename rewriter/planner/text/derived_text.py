"""A query text assembled from pieces of another one; its places refer to the text that the user typed."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate

from rewriter.errors import Error, InternalError, Span
from rewriter.grammar.lexer import Token, TokenKind
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.text.query_text import QueryText, in_word


@dataclass(frozen=True)
class Piece:
    """Text that represents ``span`` of another text: character by character where ``is_exact``, else as a whole."""

    text: str
    span: Span
    is_exact: bool = False


@dataclass(frozen=True)
class Replacement:
    """Replaces a span of a text by pieces (an empty span inserts)."""

    span: Span
    pieces: tuple[Piece, ...]


class DerivedText(QueryText):
    """The text that ``pieces`` of ``base`` spell. ``views`` are names of views by the span where the user names them.

    Positions are mapped through ``base`` to the statement. A span that lies in two pieces reaches from the first to
    the second.
    """

    def __init__(self, base: QueryText, pieces: Sequence[Piece], views: Mapping[Span, str]) -> None:
        self._base, self._views = base, dict(views)
        self._pieces = [piece for piece in pieces if piece.text]
        super().__init__("".join(piece.text for piece in self._pieces), base.origin)
        self._piece_starts = list(accumulate((len(piece.text) for piece in self._pieces), initial=0))[:-1]

    @property
    def typed(self) -> str:
        return self._base.typed

    def place(self, span: Span) -> Span:
        """Returns the span in the statement's text. O(log n) in the pieces."""
        first, last = self._stands_for(span.start), self._stands_for(max(span.start, span.end - 1))
        return self._base.place(Span(min(first.start, last.start), max(first.end, last.end)))

    def view_at(self, span: Span) -> str | None:
        """Returns the view that the statement names at ``span``."""
        if span in self._views:
            return self._views[span]
        return self._base.view_at(span) if isinstance(self._base, DerivedText) else None

    def _stands_for(self, offset: int) -> Span:
        index = max(0, bisect.bisect_right(self._piece_starts, offset) - 1)
        piece = self._pieces[index]
        if not piece.is_exact:
            return piece.span
        start = piece.span.start + offset - self._piece_starts[index]
        return Span(start, start + 1)


def replaced(text: QueryText, span: Span, replacements: Sequence[Replacement]) -> tuple[Piece, ...]:
    """Returns the pieces that spell ``span`` of a text after the replacements inside it; they must not overlap."""
    pieces: list[Piece] = []
    position = span.start
    for replacement in sorted(replacements, key=lambda r: (r.span.start, r.span.end)):
        if replacement.span.start < span.start or replacement.span.end > span.end:
            continue
        if replacement.span.start < position:
            raise InternalError(f"two replacements overlap at {replacement.span.start}")
        pieces += [_copy(text, Span(position, replacement.span.start)), *replacement.pieces]
        position = replacement.span.end
    return (*pieces, _copy(text, Span(position, span.end)))


def alias_text(text: QueryText, end: int, name: str, columns: str = "") -> str:
    """Returns `` AS name(columns)`` for a text before ``end``, apart from the word that may follow there."""
    separator = " " if not columns and in_word(text.text[end : end + 1]) else ""
    return f" AS {quote_identifier(name)}{columns}{separator}"


def _copy(text: QueryText, span: Span) -> Piece:
    return Piece(text.text[span.start : span.end], span, is_exact=True)


def in_view(error: Error, text: QueryText) -> Error:
    """Returns the error; where its place is the place of a view's name, its message now names the view."""
    view = text.view_at(error.position) if isinstance(text, DerivedText) and error.position is not None else None
    if view is not None and f"view {view}" not in error.message:
        error.message = f"In the view {view}: {error.message}"
    return error


# ``TABLE t`` in place of a query, which sqlglot cannot read: it becomes ``SELECT * FROM t`` in the text.

#: The words before a query in a set operation, and those before the parenthesis around one.
_SET_WORDS = ("UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS")
_BEFORE_PARENTHESIS = (*_SET_WORDS, "FROM", "JOIN", "AS", "IN", "EXISTS", "LATERAL", "NOT", "SELECT", "WHERE")


def with_table_queries(text: QueryText) -> QueryText:
    """Returns the query with ``SELECT * FROM`` for each TABLE that begins a query; ``text`` itself without one.

    Positions refer to the statement. Costs a walk over the tokens.
    """
    if "TABLE" not in text.words:
        return text
    spans = [token.span for index, token in enumerate(text.tokens) if _begins_query(text.tokens, index)]
    if not spans:
        return text
    replacements = [Replacement(span, (Piece("SELECT * FROM", span),)) for span in spans]
    return DerivedText(text, replaced(text, Span(0, len(text.text)), replacements), {})


def _begins_query(tokens: Sequence[Token], index: int) -> bool:
    if not tokens[index].is_word("TABLE") or index + 1 == len(tokens):
        return False
    if tokens[index + 1].kind not in (TokenKind.WORD, TokenKind.IDENTIFIER):
        return False
    if index + 2 < len(tokens) and tokens[index + 2].is_operator("("):
        return False
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.is_operator("("):
        # A function may take a relation: f(TABLE t).
        return (
            index == 1
            or tokens[index - 2].is_word(*_BEFORE_PARENTHESIS)
            or tokens[index - 2].kind is (TokenKind.OPERATOR)
        )
    if before.is_operator(")"):
        return tokens[0].is_word("WITH") and _follows_ctes(tokens, index)
    return before.is_word(*_SET_WORDS)


def _follows_ctes(tokens: Sequence[Token], index: int) -> bool:
    """Tests whether the parenthesis before a token ends the last common table expression: ``AS (…) TABLE t``."""
    depth = 0
    for position in range(index - 1, 1, -1):
        depth += tokens[position].is_operator(")") - tokens[position].is_operator("(")
        if depth == 0:
            return tokens[position - 1].is_word("AS")
    return False
