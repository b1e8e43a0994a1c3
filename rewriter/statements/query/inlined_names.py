"""The queries of a statement with SQL functions and session variables inlined, before anything else reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewriter.errors import Span
from rewriter.grammar.families.functions import CreateFunction
from rewriter.grammar.families.multi_inserts import MultiInsert
from rewriter.grammar.families.queries import Select
from rewriter.grammar.families.views import AlterView, CreateView
from rewriter.grammar.parser import parse
from rewriter.grammar.terms import Query, parts_in
from rewriter.runtime.parameters import BoundText

if TYPE_CHECKING:
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.grammar.statements import Statement
    from rewriter.planner.text.query_text import Edit, QueryText

#: Statements that keep the text of their query, in which names are looked up at each use.
_KEEPING = (CreateView, AlterView, CreateFunction)


def inlined_statement(statement: Statement, text: str, snapshot: Snapshot) -> tuple[Statement, BoundText] | None:
    """Returns the statement over its text with all SQL functions and session variables inlined, and the way back to
    positions in ``text``; ``None`` where it names none.

    The text is what is planned, cached and certified. Raises the errors of ``planner.scope.sql_functions``. Costs a
    walk over the tokens of its queries, and the parsing of those that name any.
    """
    if isinstance(statement, _KEEPING):
        return None
    edits: dict[Span, tuple[Span, str]] = {}
    for query in _queries(statement):
        for edit in _edits(query, snapshot):
            span = edit.span.shifted(query.span.start)
            edits[span] = (span, "".join(map(str, edit.parts)))
    if not edits:
        return None
    made, position, lengths = [], 0, []
    for span, value in sorted(edits.values(), key=lambda edit: (edit[0].start, edit[0].end)):
        apart = _apart(text, span, value)
        made += [text[position : span.start], apart]
        lengths.append((span, len(apart)))
        position = span.end
    bound = BoundText("".join([*made, text[position:]]), {}, tuple(lengths))
    return parse(bound.text), bound


def inlined_query(text: str, snapshot: Snapshot) -> Query:
    """Returns a query of the program itself with all SQL functions and session variables inlined."""
    inlined = inlined_statement(Select(query=Query(text, Span(0, len(text)))), text, snapshot)
    return Query(text if inlined is None else inlined[1].text)


def _apart(text: str, span: Span, value: str) -> str:
    """Returns a replacement with blanks where it would join with the words beside it."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    left = " " if before and (before.isalnum() or before in "_`'\"") else ""
    return f"{left}{value}{' ' if after and (after.isalnum() or after in '_`') else ''}"


def _queries(statement: Statement) -> Iterator[Query]:
    """Yields the queries of a statement. Each query of several INSERTs has their source before it."""
    if isinstance(statement, MultiInsert):
        source = statement.source
        for insert in statement.inserts:
            gap = insert.query.span.start - source.span.end
            yield Query(source.text + " " * gap + insert.query.text, Span(source.span.start, insert.query.span.end))
        return
    for part in parts_in(statement, (Query, MultiInsert)):
        if isinstance(part, MultiInsert):
            yield from _queries(part)
        else:
            yield part


def _edits(query: Query, snapshot: Snapshot) -> list[Edit]:
    from rewriter.grammar.lexer import tokens
    from rewriter.planner.scope.sql_functions import Inliner, may_name

    if not may_name(query.tokens if query.tokens is not None else tokens(query.text), snapshot):
        return []
    from rewriter.planner.scope.expand_views import columns_of_views
    from rewriter.planner.text.query_text import QueryText

    read: QueryText = QueryText(query.text, query.span.start, query.tokens)
    if read.unread() is not None:
        return []  # The planner refuses it, or an engine reads it as typed.
    return Inliner(snapshot, columns_of_views(snapshot)).edits(read, snapshot.current)
