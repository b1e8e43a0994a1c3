"""Reads one statement: by the reader of its first word, which its family has registered, or else by the grammar."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.gc_pause import paused
from rewriter.grammar.lexer import Token, tokens
from rewriter.grammar.query_spans import QUERY_STARTS, first_stream, read_query
from rewriter.grammar.statements import Statement, readers
from rewriter.grammar.unsupported import refusal

if TYPE_CHECKING:
    from rewriter.grammar.filters import Filter

_STATEMENTS = (
    "SELECT, INSERT, FROM … INSERT, DELETE, LOAD DATA, CREATE, DROP, ALTER TABLE, TRUNCATE TABLE, MSCK REPAIR TABLE, "
    "ANALYZE TABLE, VACUUM, SHOW, DESCRIBE, USE, CHECK FACT, REFRESH, EXPLAIN, SET, RESET, START TRANSACTION, COMMIT, "
    "ROLLBACK, CACHE TABLE, UNCACHE TABLE, CLEAR CACHE, REPLICATE TABLE, RECOMMEND ROLLUPS"
)


def parse(text: str) -> Statement:
    """Returns the one statement that ``text`` holds; a ``;`` may follow it. Keywords may be typed in any case.

    Spans are offsets into ``text``. A query is kept verbatim, from its first to its last token. Raises
    ``ParseError`` with position and hint if the text cannot be read, ``NotSupportedError`` with an
    alternative if it is understood and refused. Linear in the text; a query costs the lexer and little more,
    the first other statement the loading of the grammar (about 0.02 s).
    """
    with paused():
        statement_tokens = _one_statement(text, tokens(text))
        statement = read_statement(text, statement_tokens)
        stream = None if statement.loads_stream else first_stream(text, statement_tokens)
        if stream is not None:
            raise NotSupportedError(
                "A STREAM is read by INSERT INTO alone.",
                condition="STREAM_QUERY",
                position=stream.span,
                hint="Write INSERT INTO a table that exists; without STREAM, a query reads the files once.",
            )
    return replace(statement, span=Span(statement_tokens[0].start, statement_tokens[-1].end))


def _one_statement(text: str, statement_tokens: Sequence[Token]) -> Sequence[Token]:
    """Returns the tokens of the only statement, without ``;``."""
    end = len(statement_tokens)
    while end and statement_tokens[end - 1].is_operator(";"):
        end -= 1
    if not end:
        raise ParseError(
            "There is no statement.",
            condition="PARSE_EMPTY_STATEMENT",
            sqlstate="42617",
            position=Span(len(text), len(text)),
            hint=f"Write one: {_STATEMENTS}.",
        )
    for token in statement_tokens[:end] if ";" in text else ():
        if token.is_operator(";"):
            script = refusal(statement_tokens, 1) if statement_tokens[0].is_word("BEGIN") else None
            raise script or ParseError(
                "Syntax error at or near ';': there is more than one statement.",
                position=token.span,
                hint="Execute the statements one by one.",
            )
    return statement_tokens[:end]


def read_statement(text: str, statement_tokens: Sequence[Token]) -> Statement:
    """Parses tokens of ``text``, at least one, to a statement. The errors are the errors of ``parse``."""
    reader = readers().get(statement_tokens[0].upper)
    statement = reader(text, statement_tokens) if reader is not None else None
    return read_by_grammar(text, statement_tokens) if statement is None else statement


def read_by_grammar(text: str, statement_tokens: Sequence[Token]) -> Statement:
    """Parses the tokens by the grammar; checks the query that the statement ends in."""
    # The grammar is loaded here, at first use, because most statements are queries and need none of it.
    from rewriter.grammar.dialect_parser import SyntaxFailure, parse_tokens

    try:
        statement = parse_tokens(statement_tokens, text)
    except SyntaxFailure as failure:
        if failure.index == 0:
            raise refusal(statement_tokens, 0) or ParseError(
                f"Syntax error at or near '{statement_tokens[0].shown}'.",
                position=statement_tokens[0].span,
                hint=f"Statements are {_STATEMENTS}.",
            ) from None
        raise refusal(failure.tokens, failure.index) or failure.error from None
    query = getattr(statement, "query", None)
    if query is None:
        return statement
    query_tokens = _from(statement_tokens, query.span.start)
    checked: Statement = replace(cast(Any, statement), query=read_query(text, query_tokens))
    return checked


def _from(statement_tokens: Sequence[Token], start: int) -> Sequence[Token]:
    """Returns the tokens that begin at an offset or behind it."""
    return statement_tokens[bisect_left(statement_tokens, start, key=attrgetter("start")) :]


def begins_statement(token: Token) -> bool:
    """Tests whether a statement other than a query begins with the token. Loads the grammar."""
    from rewriter.grammar.dialect_parser import first_words

    return token.is_word(*(readers().keys() - QUERY_STARTS), *first_words())


def parse_filter(text: str) -> Filter:
    """Parses all of ``text`` to a filter; spans are offsets into ``text``. Linear in the text.

    Raises ``ParseError`` with position and hint if it cannot be read, ``AnalysisError`` FILTER_TOO_DEEP.
    """

    from rewriter.grammar.dialect_parser import parse_filter_tokens

    return parse_filter_tokens(tokens(text), text)
