"""Queries stay in the user's words. This says where one begins, and refuses what only looks like one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token
from rewriter.grammar.statements import Query

#: The words that begin a query; parentheses may stand before them.
QUERY_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")

_CHANGES = ("UPDATE", "DELETE", "MERGE")


def starts_query(tokens: Sequence[Token], index: int) -> bool:
    """Whether a query begins at the token: a word that begins one, or parentheses around it."""
    while index < len(tokens) and tokens[index].is_operator("("):
        index += 1
    return index < len(tokens) and tokens[index].is_word(*QUERY_STARTS)


def read_query(text: str, tokens: Sequence[Token]) -> Query:
    """The query that the tokens of ``text`` spell, verbatim.

    Nothing is understood but the outline: ``NotSupportedError`` for a multi-insert and for WITH before INSERT,
    ``ParseError`` where no query begins.
    """
    start = next((token for token in tokens if not token.is_operator("(")), None)
    if start is None or not start.is_word(*QUERY_STARTS):
        near = f"'{start.text}'" if start else "end of input"
        position = start.span if start else Span(tokens[-1].end, tokens[-1].end) if tokens else None
        raise ParseError(
            f"Syntax error at or near {near}.", position=position, hint=f"Expected {', '.join(QUERY_STARTS)}."
        )
    if start.is_word("WITH"):
        _check_main(tokens)
    _check_inserts(tokens)
    span = Span(tokens[0].start, tokens[-1].end)
    return Query(text[span.start : span.end], span)


def _check_main(tokens: Sequence[Token]) -> None:
    """Refuses what follows the common table expressions of WITH and is no query."""
    depth = 0
    for token, after in pairwise(tokens):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth or not token.is_operator(")") or after.is_operator(",") or after.is_word("AS"):
            continue
        if after.is_word("INSERT"):
            raise NotSupportedError(
                "WITH before INSERT is not supported.",
                position=after.span,
                hint="Put WITH where the query begins: INSERT INTO t WITH x AS (…) SELECT …",
            )
        if after.is_word(*_CHANGES):
            raise NotSupportedError(
                f"{after.upper} is not supported: rows are not changed in place.",
                position=after.span,
                hint="Write the partition anew: INSERT OVERWRITE t PARTITION (…) SELECT …",
            )
        return


def _check_inserts(tokens: Sequence[Token]) -> None:
    """Refuses ``FROM s INSERT … INSERT …``."""
    depth = 0
    for token, after in pairwise(tokens):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word("INSERT") and after.is_word("INTO", "OVERWRITE"):
            raise NotSupportedError(
                "An INSERT after the query's FROM (multi-insert) is not supported yet.",
                position=token.span,
                hint="Write one statement for each target: INSERT INTO t SELECT … FROM s",
            )
