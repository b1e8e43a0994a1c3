"""The word DEFAULT in the rows of an INSERT: INSERT INTO t VALUES (DEFAULT, 1), INSERT INTO t SELECT DEFAULT, 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rewriter.catalog.model.objects import Column
from rewriter.errors import AnalysisError, Error, Span
from rewriter.grammar.lexer import Token, tokens
from rewriter.grammar.terms import Query
from rewriter.statements.resolve.default_values import default_sql

#: In a query with one of them, a SELECT item DEFAULT is a column.
_NO_ITEMS = ("FROM", "UNION", "EXCEPT", "MINUS", "INTERSECT")


def with_defaults(query: Query, columns: Sequence[Column]) -> Query:
    """Returns a query with the DEFAULT of the column in place of each item DEFAULT; otherwise the query itself.

    Items are those of VALUES, or of a SELECT without FROM: elsewhere DEFAULT is a column. ``columns`` are those that
    the query fills, in its order. Raises ``AnalysisError`` DEFAULT_PLACEMENT_INVALID 42608 for DEFAULT inside an
    expression. A query without the word costs one look at its text.
    """
    if "DEFAULT" not in query.text.upper():
        return query
    query_tokens = query.tokens or tuple(tokens(query.text))
    edits: list[tuple[Token, str]] = []
    for index, item in _items(query_tokens):
        keywords = [token for position, token in enumerate(item) if _is_keyword(item, position)]
        if keywords and len(item) > 1:
            raise AnalysisError(
                "DEFAULT is part of an expression here.",
                condition="DEFAULT_PLACEMENT_INVALID",
                sqlstate="42608",
                position=keywords[0].span.shifted(query.span.start),
                object="DEFAULT",
                hint="Write DEFAULT alone, as the value of a column.",
            )
        if keywords:
            edits.append((keywords[0], default_sql(columns[index]) if index < len(columns) else "NULL"))
    if not edits:
        return query
    text = query.text
    for token, sql in reversed(edits):
        text = f"{text[: token.start]}{sql}{text[token.end :]}"
    return Query(text, query.span)


@contextmanager
def errors_at(position: Span | None) -> Iterator[None]:
    """Gives errors a position; ``None`` leaves theirs. A query with DEFAULT replaced has other places than its text."""
    try:
        yield
    except Error as error:
        error.position = position or error.position
        raise


def _is_keyword(item: Sequence[Token], index: int) -> bool:
    """Tests for DEFAULT that is no part of a name with points, such as ``default.t``."""
    neighbours = [item[near] for near in (index - 1, index + 1) if 0 <= near < len(item)]
    return item[index].is_word("DEFAULT") and not any(token.is_operator(".") for token in neighbours)


def _items(query_tokens: Sequence[Token]) -> Iterator[tuple[int, Sequence[Token]]]:
    """Yields the items of VALUES or of a SELECT list, each with its position in the row."""
    if query_tokens[0].is_word("VALUES"):
        yield from _items_of_rows(query_tokens[1:])
    elif query_tokens[0].is_word("SELECT") and not any(token.is_word(*_NO_ITEMS) for token in query_tokens):
        yield from enumerate(_split(query_tokens[1:]))


def _items_of_rows(row_tokens: Sequence[Token]) -> Iterator[tuple[int, Sequence[Token]]]:
    for row in _split(row_tokens):
        if len(row) > 1 and row[0].is_operator("(") and row[-1].is_operator(")"):
            yield from enumerate(_split(row[1:-1]))
        else:
            yield 0, row


def _split(item_tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yields the parts between commas that no brackets enclose."""
    depth, start = 0, 0
    for index, token in enumerate(item_tokens):
        depth += token.is_operator("(", "[") - token.is_operator(")", "]")
        if not depth and token.is_operator(","):
            yield item_tokens[start:index]
            start = index + 1
    yield item_tokens[start:]
