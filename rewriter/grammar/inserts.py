"""INSERT behind the WITH or FROM of its query: ``WITH x AS (…) INSERT … SELECT …``, ``FROM s INSERT … INSERT …``.

What stands before INSERT and what stands behind its head are one query. It is put together character by character,
with blanks in between, so that places in it are those of the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token
from rewriter.grammar.queries import after_with
from rewriter.grammar.statements import Insert, MultiInsert, Query

_HINT = "Write WITH x AS (…) INSERT INTO t SELECT …, or FROM s INSERT INTO t SELECT … INSERT INTO u SELECT …"


def split_inserts(tokens: Sequence[Token]) -> tuple[Sequence[Token], ...]:
    """What stands before the first INSERT INTO|OVERWRITE outside parentheses, then each INSERT; empty without one."""
    heads: list[int] = []
    depth = 0
    for index, (token, after) in enumerate(pairwise(tokens)):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word("INSERT") and after.is_word("INTO", "OVERWRITE"):
            heads.append(index)
    if not heads:
        return ()
    return (tokens[: heads[0]], *(tokens[start:end] for start, end in pairwise([*heads, len(tokens)])))


def assembled(text: str, before: Sequence[Token], inserts: Sequence[Insert]) -> Insert | MultiInsert:
    """The statement of which ``before`` are the tokens from WITH or FROM on. Each insert has its own part alone.

    Raises ``ParseError`` where the parts do not make queries, ``NotSupportedError`` for a second WITH.
    """
    main = after_with(before) if before[0].is_word("WITH") else 0
    source = Query(text[before[0].start : before[-1].end], Span(before[0].start, before[-1].end))
    if main < len(before) and (not before[main].is_word("FROM") or _selects(before[main:])):
        raise _misplaced(inserts[0])
    if main == len(before):
        if len(inserts) > 1:
            raise _misplaced(inserts[1])
        if inserts[0].query.text[:4].upper() == "WITH":
            start = inserts[0].query.span.start
            raise NotSupportedError(
                "A second WITH behind INSERT is not supported.",
                position=Span(start, start + len("WITH")),
                hint="Put all common table expressions into one WITH.",
            )
    else:
        for one in inserts:
            if one.query.text[:6].upper() != "SELECT":
                raise ParseError(
                    "SELECT is expected behind an INSERT that follows FROM.", position=one.query.span, hint=_HINT
                )
    if len(inserts) > 1:
        return MultiInsert(source=source, inserts=tuple(inserts))
    only = inserts[0]
    return Insert(
        table=only.table,
        query=joined(source, only.query),
        overwrite=only.overwrite,
        partition=only.partition,
        if_not_exists=only.if_not_exists,
        columns=only.columns,
        by_name=only.by_name,
    )


def joined(before: Query, behind: Query) -> Query:
    """The query that two stretches of one statement make, blanks in the place of what is between them."""
    gap = max(1, behind.span.start - before.span.end)
    return Query(f"{before.text}{' ' * gap}{behind.text}", Span(before.span.start, behind.span.end))


def _selects(tokens: Sequence[Token]) -> bool:
    """Whether FROM is followed by a SELECT of its own, outside parentheses."""
    depth = 0
    for token in tokens:
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word("SELECT"):
            return True
    return False


def _misplaced(insert: Insert) -> ParseError:
    start = insert.span.start
    return ParseError("Syntax error at or near 'INSERT'.", position=Span(start, start + len("INSERT")), hint=_HINT)
