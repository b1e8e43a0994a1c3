"""Streams: ``INSERT … SELECT … FROM STREAM format.`path` OPTIONS (…)``, SHOW STREAMS, STOP and DROP STREAM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from rewriter.errors import ParseError, Span
from rewriter.grammar.families.writes import Insert, insert_text
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, string_value, tokens
from rewriter.grammar.parser import read_by_grammar
from rewriter.grammar.query_spans import first_stream, misplaced_parameter, names_stream
from rewriter.grammar.statements import Statement, builds, reads, renders
from rewriter.grammar.terms import Query
from rewriter.grammar.unparse import quote
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

RULES = r"""
?statement: show_streams | stop_stream | drop_stream

show_streams: "SHOW" "STREAMS"
stop_stream: "STOP" "STREAM" (NAME | STRING)
drop_stream: "DROP" "STREAM" (NAME | STRING)
"""


@dataclass(frozen=True, kw_only=True)
class InsertStream(Statement):
    """``INSERT INTO t … SELECT … FROM STREAM format.`path` OPTIONS ('stream' = 'id', …) …``.

    ``insert`` is the same INSERT over the files: blanks replace STREAM and OPTIONS in its query, so that positions are
    positions in ``typed``, the query as typed. ``options`` are (key, value, span), keys in lower case.
    """

    loads_stream: ClassVar[bool] = True

    insert: Insert
    typed: Query
    format: str
    path: str
    options: tuple[tuple[str, str, Span], ...] = field(compare=False)
    path_span: Span = field(default=Span(0, 0), compare=False)


@renders(InsertStream)
def insert_stream_text(s: InsertStream) -> str:
    return insert_text(replace(s.insert, query=s.typed))


@reads("INSERT")
def read_insert(text: str, statement_tokens: Sequence[Token]) -> Statement | None:
    """Parses an INSERT of a STREAM. Leaves others to the grammar."""
    if first_stream(text, statement_tokens) is None:
        return None
    statement = read_by_grammar(text, statement_tokens)
    return streamed(statement) if isinstance(statement, Insert) else statement


def streamed(insert: Insert) -> Insert | InsertStream:
    """Returns the INSERT, as an ``InsertStream`` if its query reads from a STREAM.

    Raises ``ParseError`` for two streams, OVERWRITE, MARK COMPLETE, and options that are no list of strings.
    """
    text = insert.query.text
    typed_tokens = insert.query.tokens or tokens(text)
    starts = [index for index in range(len(typed_tokens)) if names_stream(typed_tokens, index)]
    if not starts:
        return insert
    base = insert.query.span.start
    start = starts[0]
    if len(starts) > 1:
        raise _wrong("A query reads from one STREAM.", typed_tokens[starts[1]], base, "Use an INSERT for each stream.")
    if insert.overwrite:
        raise _wrong("A STREAM cannot be read by INSERT OVERWRITE.", typed_tokens[start], base, "Write INSERT INTO.")
    if insert.complete is not None:
        hint = "Use MARK COMPLETE as a statement of its own."
        raise _wrong("An INSERT of a STREAM marks nothing complete.", typed_tokens[start], base, hint)
    format_token, path_token = typed_tokens[start + 1], typed_tokens[start + 3]
    options, end = _options(typed_tokens, start + 4, base)
    blanked = [typed_tokens[start].span]
    if end > start + 4:
        blanked.append(Span(typed_tokens[start + 4].start, typed_tokens[end - 1].end))
    for span in blanked:
        text = f"{text[: span.start]}{_blank(text[span.start : span.end])}{text[span.end :]}"
    return InsertStream(
        span=insert.span,
        insert=replace(insert, query=Query(text, insert.query.span)),
        typed=insert.query,
        format=format_token.text,
        path=identifier_value(path_token),
        options=options,
        path_span=Span(format_token.start + base, path_token.end + base),
    )


def _options(typed_tokens: Sequence[Token], index: int, base: int) -> tuple[tuple[tuple[str, str, Span], ...], int]:
    """Returns the options at a token, and the index behind them. Without OPTIONS there are none."""
    if index >= len(typed_tokens) or not typed_tokens[index].is_word("OPTIONS"):
        return (), index
    options: list[tuple[str, str, Span]] = []
    index += 1
    separator = "("
    while True:
        if not _at(typed_tokens, index).is_operator(separator):
            raise _expected(f"'{separator}'", _at(typed_tokens, index), base)
        key, equals, value = (_at(typed_tokens, index + step) for step in (1, 2, 3))
        if key.kind is not TokenKind.STRING:
            raise _expected("a string", key, base)
        if not equals.is_operator("="):
            raise _expected("'='", equals, base)
        if value.kind is not TokenKind.STRING:
            raise _expected("a string", value, base)
        name, span = string_value(key).strip().lower(), Span(key.start + base, value.end + base)
        if any(name == other for other, _, _ in options):
            raise ParseError(
                f"The option '{name}' occurs twice.",
                condition="DUPLICATE_KEY",
                sqlstate="23505",
                position=span,
                object=name,
                hint="Leave one of them out.",
            )
        options.append((name, string_value(value), span))
        index, separator = index + 4, ","
        if _at(typed_tokens, index).is_operator(")"):
            return tuple(options), index + 1


def _at(typed_tokens: Sequence[Token], index: int) -> Token:
    end = typed_tokens[-1].end
    return typed_tokens[index] if index < len(typed_tokens) else Token(TokenKind.OPERATOR, "", end, end)


def _expected(expected: str, token: Token, base: int) -> ParseError:
    if token.kind is TokenKind.PARAMETER:
        return misplaced_parameter(Span(token.start + base, token.end + base))
    near = f"'{token.shown}'" if token.text else "end of input"
    return _wrong(f"Syntax error at or near {near}.", token, base, f"Expected {expected}: OPTIONS ('key' = 'value').")


def _wrong(message: str, token: Token, base: int, hint: str) -> ParseError:
    return ParseError(message, position=Span(token.start + base, token.end + base), hint=hint)


def _blank(text: str) -> str:
    return "".join(char if char in "\r\n" else " " for char in text)


@dataclass(frozen=True, kw_only=True)
class ShowStreams(Statement):
    """``SHOW STREAMS``."""


@builds("show_streams")
def show_streams() -> ShowStreams:
    return ShowStreams()


@renders(ShowStreams)
def show_streams_text(_: ShowStreams) -> str:
    return "SHOW STREAMS"


@dataclass(frozen=True, kw_only=True)
class StopStream(Statement):
    """``STOP STREAM id``, the id as a word or a string."""

    stream: str
    stream_span: Span = field(default=Span(0, 0), compare=False)


@builds("stop_stream")
def stop_stream(stream: Terminal) -> StopStream:
    return StopStream(stream=_id(stream), stream_span=stream.span)


def _id(stream: Terminal) -> str:
    return stream.string if stream.type == "STRING" else stream.name


@renders(StopStream)
def stop_stream_text(s: StopStream) -> str:
    return f"STOP STREAM {quote(s.stream)}"


@dataclass(frozen=True, kw_only=True)
class DropStream(Statement):
    """``DROP STREAM id``, the id as a word or a string."""

    stream: str
    stream_span: Span = field(default=Span(0, 0), compare=False)


@builds("drop_stream")
def drop_stream(stream: Terminal) -> DropStream:
    return DropStream(stream=_id(stream), stream_span=stream.span)


@renders(DropStream)
def drop_stream_text(s: DropStream) -> str:
    return f"DROP STREAM {quote(s.stream)}"
