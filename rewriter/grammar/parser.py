"""Reads one statement. Queries and settings are read here by their first word, all else by ``dialect.lark``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.collector import paused
from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.inserts import assembled, split_inserts
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, string_value, tokens
from rewriter.grammar.queries import QUERY_STARTS, read_query, starts_query
from rewriter.grammar.refusals import refusal
from rewriter.grammar.statements import (
    Describe,
    DescribeQuery,
    DropPartitions,
    Explain,
    ExplainScan,
    Insert,
    Query,
    ResetSetting,
    Select,
    SetSetting,
    ShowPartitions,
    Statement,
)

_EXPLAINED = ("REWRITE", "COVER", "SCAN", "ENGINE", "ALL")
_SPARK_EXPLAINED = ("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL")
_BY_GRAMMAR = (
    "CREATE", "DROP", "ALTER", "INSERT", "LOAD", "TRUNCATE", "SHOW", "DESC", "DESCRIBE", "USE", "CHECK",
    "REFRESH", "MSCK", "REPAIR", "ANALYZE", "COMMENT", "VACUUM", "START", "BEGIN", "COMMIT", "ROLLBACK",
)  # fmt: skip
_STATEMENTS = (
    "SELECT, INSERT, FROM … INSERT, LOAD DATA, CREATE, DROP, ALTER TABLE, TRUNCATE TABLE, MSCK REPAIR TABLE, "
    "ANALYZE TABLE, VACUUM, SHOW, DESCRIBE, USE, CHECK FACT, REFRESH, EXPLAIN, SET, RESET, START TRANSACTION, COMMIT, "
    "ROLLBACK"
)


def parse(text: str) -> Statement:
    """The one statement that ``text`` holds; a ``;`` may follow it. Keywords may be typed in any case.

    Spans are offsets into ``text``. A query is kept verbatim, from its first to its last token. Raises
    ``ParseError`` with position and hint where the text cannot be read, ``NotSupportedError`` with what serves
    instead where it is understood and refused. Linear in the text; a query costs the lexer and little more,
    the first other statement the loading of the grammar (about 0.15 s).
    """
    with paused():
        found = _one_statement(text, tokens(text))
        statement = _dispatch(text, found)
    return replace(statement, span=Span(found[0].start, found[-1].end))


def _one_statement(text: str, found: Sequence[Token]) -> Sequence[Token]:
    """The tokens of the only statement, without ``;``."""
    end = len(found)
    while end and found[end - 1].is_operator(";"):
        end -= 1
    if not end:
        raise ParseError(
            "There is no statement.",
            condition="PARSE_EMPTY_STATEMENT",
            sqlstate="42617",
            position=Span(len(text), len(text)),
            hint=f"Write one: {_STATEMENTS}.",
        )
    for token in found[:end] if ";" in text else ():
        if token.is_operator(";"):
            raise ParseError(
                "Syntax error at or near ';': there is more than one statement.",
                position=token.span,
                hint="Execute the statements one by one.",
            )
    return found[:end]


def _dispatch(text: str, found: Sequence[Token]) -> Statement:
    first = found[0]
    before, *inserts = (first.is_word("WITH", "FROM") and split_inserts(found)) or ((),)
    if before:
        return _inserts(text, before, inserts)
    if first.is_word(*QUERY_STARTS) or first.is_operator("("):
        return Select(query=_with_comments(text, read_query(text, found)))
    if first.is_word("EXPLAIN"):
        return _explain(text, found)
    if first.is_word("DESC", "DESCRIBE") and (described := _described_query(found[1:])):
        return DescribeQuery(query=read_query(text, described))
    if first.is_word("SET"):
        return _set(text, found)
    if first.is_word("RESET"):
        return _reset(text, found)
    if first.is_word(*_BY_GRAMMAR):
        return _by_grammar(text, found)
    refused = refusal(found, 0)
    if refused is not None:
        raise refused
    raise ParseError(
        f"Syntax error at or near '{first.text}'.", position=first.span, hint=f"Statements are {_STATEMENTS}."
    )


def _inserts(text: str, before: Sequence[Token], inserts: Sequence[Sequence[Token]]) -> Statement:
    """INSERTs behind the WITH or FROM of their queries."""
    found: list[Insert] = []
    for number, one in enumerate(inserts):
        end = Span(one[-1].end, one[-1].end)
        try:
            statement = _by_grammar(text, one)
        except ParseError as error:
            if error.position == end and number + 1 < len(inserts):
                # Not the end of the input, but the next INSERT.
                error.message, error.position = "Syntax error at or near 'INSERT'.", inserts[number + 1][0].span
            raise
        assert isinstance(statement, Insert)
        found.append(replace(statement, span=Span(one[0].start, one[-1].end)))
    return assembled(text, before, found)


def _with_comments(text: str, query: Query) -> Query:
    """The query with the comments before and behind it, by which tools tag what they send."""
    behind = next((token.start for token in tokens(text[query.span.end :])), len(text) - query.span.end)
    rest = text[query.span.end : query.span.end + behind].rstrip()
    span = Span(len(text) - len(text.lstrip()), query.span.end + len(rest))
    return Query(text[span.start : span.end], span)


def _by_grammar(text: str, found: Sequence[Token]) -> Statement:
    # Lark is loaded here, at first use, because most statements are queries and need none of it.
    from rewriter.grammar.lalr import SyntaxFailure, parse_tokens

    try:
        statement = parse_tokens(found, text)
    except SyntaxFailure as failure:
        raise refusal(failure.tokens, failure.index) or failure.error from None
    if isinstance(statement, Describe) and statement.column is not None and (refused := refusal(found, 1)):
        raise refused  # DESCRIBE FUNCTION f is about no table FUNCTION.
    query = getattr(statement, "query", None)
    if query is not None:
        read_query(text, [token for token in found if token.start >= query.span.start])
    return statement


def _explain(text: str, found: Sequence[Token]) -> Explain | ExplainScan:
    what, query = "ALL", found[1:]
    if query and query[0].is_word(*_EXPLAINED):
        what, query = query[0].upper, query[1:]
    elif query and query[0].is_word(*_SPARK_EXPLAINED):
        raise NotSupportedError(
            f"EXPLAIN {query[0].upper} is not supported.",
            position=query[0].span,
            hint="EXPLAIN ENGINE shows the engine's plan; EXPLAIN shows everything.",
        )
    if query and query[0].is_word(*_BY_GRAMMAR, "SET", "RESET", "EXPLAIN"):
        if what == "SCAN" and query[0].is_word("SHOW", "ALTER"):
            statement = _by_grammar(text, query)
            if isinstance(statement, ShowPartitions | DropPartitions):
                return ExplainScan(statement=replace(statement, span=Span(query[0].start, query[-1].end)))
        finds = query[0].is_word("SHOW", "ALTER")
        raise NotSupportedError(
            f"EXPLAIN of {query[0].upper} is not supported yet.",
            position=query[0].span,
            hint="EXPLAIN SCAN explains SHOW PARTITIONS and ALTER TABLE … DROP PARTITION."
            if finds
            else "EXPLAIN the query alone.",
        )
    if not starts_query(query, 0):
        near, position = _near(query, found)
        options = ", ".join((*_EXPLAINED, *QUERY_STARTS[:3]))
        raise ParseError(f"Syntax error at or near {near}.", position=position, hint=f"Expected {options}.")
    return Explain(what=what, query=read_query(text, query))


def _described_query(rest: Sequence[Token]) -> Sequence[Token]:
    """The tokens of the query that DESCRIBE describes, if it is one; ``DESCRIBE TABLE t`` is about a table."""
    if rest and rest[0].is_word("QUERY") and starts_query(rest, 1):
        return rest[1:]
    return rest if len(rest) > 1 and starts_query(rest, 0) and not rest[0].is_word("TABLE") else ()


def _set(text: str, found: Sequence[Token]) -> SetSetting:
    if len(found) == 1:
        return SetSetting()
    if found[1].is_word("TIME") and len(found) > 2 and found[2].is_word("ZONE"):
        raise NotSupportedError(
            "SET TIME ZONE is not supported.",
            position=Span(found[1].start, found[2].end),
            hint="Sessions run in UTC; a cube names its own zone: CREATE CUBE … TIME ZONE '…'.",
        )
    key, after = _key(text, found)
    if after == len(found):
        return SetSetting(key=key)
    if not found[after].is_operator("="):
        raise ParseError(
            f"Syntax error at or near '{found[after].text}'.",
            condition="INVALID_SET_SYNTAX",
            sqlstate="42000",
            position=found[after].span,
            hint="Write SET key = value, SET key, or SET.",
        )
    value = found[after + 1 :]
    if not value:
        return SetSetting(key=key, value="")
    if len(value) == 1 and value[0].kind is TokenKind.STRING:
        return SetSetting(key=key, value=string_value(value[0]))
    return SetSetting(key=key, value=text[value[0].start : value[-1].end])


def _reset(text: str, found: Sequence[Token]) -> ResetSetting:
    if len(found) == 1:
        return ResetSetting()
    key, after = _key(text, found)
    if after < len(found):
        raise ParseError(
            f"Syntax error at or near '{found[after].text}'.",
            position=found[after].span,
            hint="Write RESET key, or RESET.",
        )
    return ResetSetting(key=key)


def _key(text: str, found: Sequence[Token]) -> tuple[str, int]:
    """The key of a setting, which begins at the second token and has no blanks, and the index of what follows it."""
    first, end = found[1], 1
    if first.kind is TokenKind.IDENTIFIER:
        return identifier_value(first), 2
    while end < len(found) and (end == 1 or found[end].start == found[end - 1].end):
        token = found[end]
        if token.kind not in (TokenKind.WORD, TokenKind.NUMBER) and not token.is_operator(".", "-", ":"):
            break
        end += 1
    if end == 1 or first.kind is not TokenKind.WORD:
        raise ParseError(
            f"Syntax error at or near '{first.text}'.",
            condition="INVALID_SET_SYNTAX",
            sqlstate="42000",
            position=first.span,
            hint="A key is words with points between them: SET rewriter.partial_data = true",
        )
    return text[first.start : found[end - 1].end], end


def _near(rest: Sequence[Token], found: Sequence[Token]) -> tuple[str, Span]:
    if rest:
        return f"'{rest[0].text}'", rest[0].span
    return "end of input", Span(found[-1].end, found[-1].end)
