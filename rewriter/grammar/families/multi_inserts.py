"""INSERT behind the WITH or FROM of its query: ``WITH x AS (…) INSERT … SELECT …``, ``FROM s INSERT … INSERT …``.

The text before INSERT and the text behind its head form one query. It is assembled character by character, with blanks
in between, so that positions in it are positions in the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.families.output_directories import InsertDirectory
from rewriter.grammar.families.writes import Insert, insert_text
from rewriter.grammar.parser import read_by_grammar
from rewriter.grammar.query_spans import after_with
from rewriter.grammar.statements import Statement, renders
from rewriter.grammar.terms import Query
from rewriter.grammar.unparse import words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.lexer import Token

_HINT = "Write WITH x AS (…) INSERT INTO t SELECT …, or FROM s INSERT INTO t SELECT … INSERT INTO u SELECT …."


@dataclass(frozen=True, kw_only=True)
class MultiInsert(Statement):
    """``[WITH …] FROM source INSERT … SELECT … INSERT … SELECT …``, with at least two INSERTs.

    ``source`` reaches from WITH or FROM to the first INSERT; the query of each insert is only its SELECT.
    """

    source: Query
    inserts: tuple[Insert, ...]


@renders(MultiInsert)
def multi_insert_text(s: MultiInsert) -> str:
    return words(s.source.text, *map(insert_text, s.inserts))


def split_inserts(tokens: Sequence[Token]) -> tuple[Sequence[Token], ...]:
    """Returns the tokens before the first INSERT INTO|OVERWRITE outside parentheses, then each INSERT; empty without
    one.
    """
    heads: list[int] = []
    depth = 0
    for index, (token, after) in enumerate(pairwise(tokens)):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word("INSERT") and after.is_word("INTO", "OVERWRITE"):
            heads.append(index)
    if not heads:
        return ()
    return (tokens[: heads[0]], *(tokens[start:end] for start, end in pairwise([*heads, len(tokens)])))


def read_inserts(text: str, parts: Sequence[Sequence[Token]]) -> Insert | InsertDirectory | MultiInsert:
    """Parses the INSERTs behind the WITH or FROM of their queries, from the parts that ``split_inserts`` returns."""
    source_tokens, *inserts = parts
    parsed: list[Insert | InsertDirectory] = []
    for number, insert_tokens in enumerate(inserts):
        end = Span(insert_tokens[-1].end, insert_tokens[-1].end)
        try:
            statement = read_by_grammar(text, insert_tokens)
        except ParseError as error:
            if error.position == end and number + 1 < len(inserts):
                # Not the end of the input, but the next INSERT.
                error.message, error.position = "Syntax error at or near 'INSERT'.", inserts[number + 1][0].span
            raise
        assert isinstance(statement, Insert | InsertDirectory)
        parsed.append(replace(statement, span=Span(insert_tokens[0].start, insert_tokens[-1].end)))
    return _assembled(text, source_tokens, parsed)


def _assembled(
    text: str, source_tokens: Sequence[Token], inserts: Sequence[Insert | InsertDirectory]
) -> Insert | InsertDirectory | MultiInsert:
    """Builds the statement whose tokens from WITH or FROM on are ``source_tokens``. Each insert has only its part.

    Raises ``ParseError`` if the parts do not form queries, ``NotSupportedError`` for a second WITH.
    """
    source_index = after_with(source_tokens) if source_tokens[0].is_word("WITH") else 0
    source = Query(
        text[source_tokens[0].start : source_tokens[-1].end], Span(source_tokens[0].start, source_tokens[-1].end)
    )
    if source_index < len(source_tokens) and (
        not source_tokens[source_index].is_word("FROM") or _selects(source_tokens[source_index:])
    ):
        raise _misplaced(inserts[0])
    if source_index == len(source_tokens):
        if len(inserts) > 1:
            raise _misplaced(inserts[1])
        if inserts[0].query.text[:4].upper() == "WITH":
            start = inserts[0].query.span.start
            raise NotSupportedError(
                "A second WITH after INSERT is not supported.",
                position=Span(start, start + len("WITH")),
                hint="Put all common table expressions into one WITH.",
            )
    else:
        for insert in inserts:
            if insert.query.text[:6].upper() != "SELECT":
                raise ParseError(
                    "Expected SELECT after an INSERT that follows FROM.", position=insert.query.span, hint=_HINT
                )
    if len(inserts) > 1:
        return MultiInsert(source=source, inserts=tuple(map(_into_table, inserts)))
    single_insert = inserts[0]
    if isinstance(single_insert, InsertDirectory):
        return replace(single_insert, query=joined(source, single_insert.query))
    return Insert(
        table=single_insert.table,
        query=joined(source, single_insert.query),
        overwrite=single_insert.overwrite,
        partition=single_insert.partition,
        if_not_exists=single_insert.if_not_exists,
        columns=single_insert.columns,
        by_name=single_insert.by_name,
    )


def joined(source: Query, insert: Query) -> Query:
    """Joins two spans of one statement to a query, with blanks instead of the text between them."""
    gap = max(1, insert.span.start - source.span.end)
    return Query(f"{source.text}{' ' * gap}{insert.text}", Span(source.span.start, insert.span.end))


def _selects(tokens: Sequence[Token]) -> bool:
    """Tests whether FROM is followed by a SELECT of its own, outside parentheses."""
    depth = 0
    for token in tokens:
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word("SELECT"):
            return True
    return False


def _into_table(insert: Insert | InsertDirectory) -> Insert:
    """Returns an INSERT of several. Raises ``NotSupportedError`` for a directory: several are committed together."""
    if isinstance(insert, Insert):
        return insert
    raise NotSupportedError(
        "INSERT OVERWRITE DIRECTORY beside other INSERTs is not supported.",
        position=insert.path_span,
        object=insert.path,
        hint="Write it as a statement of its own: FROM s INSERT OVERWRITE DIRECTORY '…' SELECT ….",
    )


def _misplaced(insert: Insert | InsertDirectory) -> ParseError:
    start = insert.span.start
    return ParseError("Syntax error at or near 'INSERT'.", position=Span(start, start + len("INSERT")), hint=_HINT)
