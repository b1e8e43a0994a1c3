"""``TABLE t`` in place of a query, which sqlglot cannot read: it becomes ``SELECT * FROM t`` in the text."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.errors import Span
from rewriter.grammar.lexer import Token, TokenKind
from rewriter.planner.text.derived_text import DerivedText, Piece, Replacement, replaced
from rewriter.planner.text.query_text import QueryText

#: The words before a query in a set operation, and those before the parenthesis around one.
_SET_WORDS = ("UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS")
_BEFORE_PARENTHESIS = (*_SET_WORDS, "FROM", "JOIN", "AS", "IN", "EXISTS", "LATERAL", "NOT", "SELECT", "WHERE")


def with_table_queries(text: QueryText) -> QueryText:
    """Returns the query with ``SELECT * FROM`` for each TABLE that begins a query; ``text`` itself without one.

    Positions are those of the statement. Costs a walk over the tokens.
    """
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
