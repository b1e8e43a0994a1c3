"""Checks the query of a view when the view is created or gets another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit.reserved_properties import credentials_refused
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar.lexer import TokenKind, tokens
from rewriter.planner.scope.blocks import resolve
from rewriter.planner.scope.deterministic import brings_code, called_code
from rewriter.planner.scope.disambiguate import disambiguated
from rewriter.planner.scope.expand_views import expand, names_in
from rewriter.planner.scope.item_names import Offered, OutputColumns
from rewriter.planner.text.derived_text import in_view, with_table_queries
from rewriter.planner.text.query_text import QueryText
from rewriter.uris import has_credentials

if TYPE_CHECKING:
    from rewriter.grammar.terms import ColumnDef, Name, Query
    from rewriter.runtime.statement_context import Context


def check_query(
    query: Query,
    view: Name,
    name: str,
    context: Context,
    columns: Sequence[ColumnDef] | None = None,
    temporary: bool = False,
) -> frozenset[str]:
    """Reads the query as the users of the view will, and raises the errors that they would get.

    ``name`` is the view's name in the catalog. Returns the names, in lower case, of the temporary objects that the
    query names. Only a ``temporary`` view may name them, and call functions that run code.
    """
    for token in tokens(query.text):
        if token.kind is TokenKind.PARAMETER:
            raise NotSupportedError(
                "Parameters are not allowed in the query of a view.",
                condition="UNSUPPORTED_FEATURE.PARAMETER_MARKER_IN_UNEXPECTED_STATEMENT",
                sqlstate="0A000",
                position=token.span.shifted(query.span.start),
                object=name,
                hint="Write the value itself, or move the condition to the query that reads the view.",
            )
        if has_credentials(token.text):
            raise credentials_refused(name).at(token.span.shifted(query.span.start))
    text = with_table_queries(QueryText(query.text, query.span.start))
    unread = text.unread()
    if unread is not None:
        raise unread
    code = None if temporary else called_code(text.tokens)
    if code is not None:
        raise brings_code(name, code).at(text.place(code.span))
    snapshot = context.snapshot
    expanded = expand(disambiguated(text, snapshot.current, context.is_temporary), snapshot, created_view=name)
    try:
        resolve(expanded, snapshot)
    except Error as error:
        raise in_view(error, expanded) from None
    except RecursionError:
        raise NotSupportedError("This query is nested too deeply.", position=query.span, object=name) from None
    read = {node.name: span for node, span in names_in(text) if not node.db and context.is_temporary(node.name)}
    if read and not temporary:
        raise _outlives(name, *next((read_name, text.place(span)) for read_name, span in read.items()), context)
    _check_columns(query, view, columns, OutputColumns(expanded.tree, snapshot).of_query(expanded.tree))
    return frozenset(map(str.lower, read))


def _outlives(view: str, name: str, position: Span | None, context: Context) -> AnalysisError:
    """Returns the error for a temporary object in a stored view, which outlives it; other sessions do not see it."""
    kind = "table" if context.snapshot.temporary_view(name) is None else "view"
    return AnalysisError(
        f"The view {view} cannot read the temporary {kind} {name}, which ends with the session.",
        condition="INVALID_TEMP_OBJ_REFERENCE",
        sqlstate="42K0F",
        position=position,
        object=name,
        hint=f"Create the {kind} without TEMPORARY, or CREATE TEMPORARY VIEW {view}; default.name refers to the "
        "permanent object of that name.",
    )


def _check_columns(query: Query, view: Name, declared: Sequence[ColumnDef] | None, offered: Offered) -> None:
    """Checks that the query returns as many columns as the list names, or has distinct names, as far as they can be
    determined.
    """
    names = [column.name for column in offered if column]
    if declared is not None and None not in offered and len(declared) != len(names):
        difference = "NOT_ENOUGH" if len(names) < len(declared) else "TOO_MANY"
        raise AnalysisError(
            f"The view {view.last} has {len(declared)} columns, but its query returns {len(names)}.",
            condition=f"CREATE_VIEW_COLUMN_ARITY_MISMATCH.{difference}_DATA_COLUMNS",
            sqlstate="21S01",
            position=Span(declared[0].span.start, declared[-1].span.end),
            object=view.last,
            hint=f"It returns {', '.join(name or '…' for name in names)}.",
        )
    lowered = [name.lower() for name in names if name]
    repeated_name = next((name for name in lowered if lowered.count(name) > 1), None)
    if declared is None and repeated_name is not None:
        raise AnalysisError(
            f"The column {repeated_name} already exists: the query of the view returns it twice.",
            condition="COLUMN_ALREADY_EXISTS",
            sqlstate="42711",
            position=query.span,
            object=repeated_name,
            hint=f"Name the columns: CREATE VIEW {view.last} (…) AS, or give one of them an alias.",
        )
