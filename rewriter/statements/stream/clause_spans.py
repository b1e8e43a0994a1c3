"""The positions of the parts of a SELECT that cannot be computed for each row of a stream alone."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.errors import InternalError, Span
from rewriter.grammar.lexer import Token
from rewriter.planner.text.query_text import QueryText

#: The first words of the clauses that follow FROM.
_FIRST_WORDS = (
    "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "QUALIFY", "WINDOW", "SORT", "CLUSTER", "DISTRIBUTE",
)  # fmt: skip


def clause_span(text: QueryText, words: str) -> Span:
    """Returns the stretch of a clause of the outer SELECT that begins with ``words``; the whole query if it has no such
    words. A column may have the name of a clause, so the last one counts.
    """
    outer = list(_outer(text))
    first, *rest = words.split()
    starts = [
        index
        for index, token in enumerate(outer)
        if token.is_word(first)
        and all(after.is_word(word) for after, word in zip(outer[index + 1 :], rest, strict=False))
    ]
    if not starts:
        return text.place(Span(0, len(text.text)))
    last = starts[-1] + len(rest)
    while last + 1 < len(outer) and not outer[last + 1].is_word(*_FIRST_WORDS):
        last += 1
    return text.place(Span(outer[starts[-1]].start, outer[last].end))


def word_span(text: QueryText, *words: str) -> Span:
    """Returns the first of these words outside parentheses; the whole query if it has none."""
    spans = [token.span for token in _outer(text) if token.is_word(*words)]
    return text.place(spans[0] if spans else Span(0, len(text.text)))


def call_span(text: QueryText, node: exp.Expr) -> Span:
    """Returns the stretch of an aggregate or of a window with its OVER; the whole item of the select list where the
    parser kept no place of the call.
    """
    is_window = isinstance(node, exp.Window)
    called = node.find(exp.Func) if is_window else node
    try:
        call, _ = text.call(called if called is not None else node)
    except InternalError:
        return text.place(_enclosing(text, text.span_of(node)))
    if not is_window:
        return text.place(call)
    index = text.index_at(call.start)
    while not text.tokens[index].is_word("OVER"):
        index += 1
    end = text.closing(index + 1) if text.tokens[index + 1].is_operator("(") else index + 1
    return text.place(Span(call.start, text.tokens[end].end))


def table_span(text: QueryText, table: exp.Table) -> Span:
    """Returns the stretch of the name of a table, without its alias."""
    spans = [span for span in map(text.span_of, table.parts) if span is not None]
    return text.place(Span(spans[0].start, spans[-1].end) if spans else Span(0, len(text.text)))


def joined_span(text: QueryText, relation: exp.Expr, side: str) -> Span:
    """Returns the stretch of a joined relation, from the word of its side on."""
    span = text.span_of(relation) or Span(0, len(text.text))
    before = [token for token in text.tokens if token.is_word(side) and token.end <= span.start]
    return text.place(Span(before[-1].start if before else span.start, span.end))


def _enclosing(text: QueryText, argument: Span | None) -> Span:
    """Returns the call of ANY or SOME around its argument, or the whole item of the select list."""
    if argument is None:
        return Span(0, len(text.text))
    call = text.enclosing_call(argument)
    if call is not None and text.tokens[text.index_at(call.start)].is_word("ANY", "SOME"):
        return call
    return text.select_item(argument.start)


def _outer(text: QueryText) -> Iterator[Token]:
    """Yields the tokens outside parentheses, and each closing one."""
    depth = 0
    for token in text.tokens:
        depth -= token.is_operator(")", "]")
        if depth == 0:
            yield token
        depth += token.is_operator("(", "[")
