"""Views: CREATE and DROP VIEW.

A view is the text of a query under a name. Its body is checked when it is made and read again whenever it is used:
what it reads may be dropped, and a view says so when it is used then.
"""

from __future__ import annotations

from rewriter.catalog.changes import Change, CreateObject, DropObject
from rewriter.catalog.codec import kind_of
from rewriter.catalog.models import View
from rewriter.catalog.temporary import session_of, shown
from rewriter.context import Context, single
from rewriter.ddl import already_exists, plain_name
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.grammar.lexer import TokenKind, tokens
from rewriter.planner.apart import told_apart
from rewriter.planner.blocks import Resolved, resolve
from rewriter.planner.derived import in_view
from rewriter.planner.expand import expand
from rewriter.planner.offers import Offered, Offers
from rewriter.planner.text import QueryText
from rewriter.result import Result
from rewriter.specs import check_unique


def create_view(statement: s.CreateView, context: Context) -> Result:
    """CREATE [OR REPLACE] VIEW. The query must be readable, name what exists, have no parameters and not read the view.

    Raises ``ParseError`` and ``AnalysisError`` with places in the statement, RECURSIVE_VIEW for a cycle. Starts no
    engine: whether the columns exist is seen when the view is used.
    """
    name = plain_name(statement.view, "view")
    check_unique(statement.columns or ())
    found = context.snapshot.named(name)
    if found is not None and statement.if_not_exists:
        return Result("CREATE VIEW")
    if found is not None and not statement.or_replace:
        raise already_exists(statement.view)
    if found is not None and not isinstance(found, View):
        raise AnalysisError(
            f"The {kind_of(found)} {found.name} does not support CREATE OR REPLACE VIEW.",
            condition="EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE",
            sqlstate="42809",
            position=statement.view.span,
            object=found.name,
            hint="Choose a different name.",
        )
    _check(statement, name, context)
    with context.begin() as transaction:
        view = View(
            id=transaction.allocate_id(),
            name=name,
            query=statement.query.text,
            columns=tuple((column.name, column.comment) for column in statement.columns or ()),
            comment=statement.comment,
            properties=dict(statement.properties),
            database=context.snapshot.current,
        )
        changes: list[Change] = [] if found is None else [DropObject(found)]
        try:
            transaction.commit([*changes, CreateObject(view)])
        except Error as error:
            raise error.at(statement.view.span) from None
    return Result("CREATE VIEW")


def _check(statement: s.CreateView, name: str, context: Context) -> None:
    """Reads the query as its users will: raises whatever they would meet."""
    query = statement.query
    for token in tokens(query.text):
        if token.kind is TokenKind.PARAMETER:
            raise NotSupportedError(
                "Parameters are not allowed in the query of a view.",
                condition="UNSUPPORTED_FEATURE.PARAMETER_MARKER_IN_UNEXPECTED_STATEMENT",
                sqlstate="0A000",
                position=token.span.shifted(query.span.start),
                object=name,
                hint="Write the value itself, or let the query that uses the view compare.",
            )
    text = QueryText(query.text, query.span.start)
    unread = text.unread()
    if unread is not None:
        raise unread
    expanded = expand(told_apart(text, context.snapshot.current, context.is_temporary), context.snapshot, within=name)
    try:
        _refuse_temporary(resolve(expanded, context.snapshot), expanded, name)
    except Error as error:
        raise in_view(error, expanded) from None
    except RecursionError:
        raise NotSupportedError("This query nests too deeply.", position=query.span, object=name) from None
    _check_columns(statement, Offers(expanded.tree, context.snapshot).answered(expanded.tree))


def _refuse_temporary(resolved: Resolved, text: QueryText, name: str) -> None:
    """A view outlives the temporary tables of its author, and others do not see them."""
    for one in resolved.tables:
        if session_of(one.table.name):
            raise AnalysisError(
                f"The view {name} cannot read the temporary table {shown(one.table.name)}, which it outlives.",
                condition="INVALID_TEMP_OBJ_REFERENCE",
                sqlstate="42K0F",
                position=text.place(one.span),
                object=shown(one.table.name),
                hint="Create the table without TEMPORARY; default.name is the table that it hides.",
            )


def _check_columns(statement: s.CreateView, offered: Offered) -> None:
    """The query answers as many columns as the list names, or has names of its own that differ, as far as is known."""
    names = [column.name for column in offered if column]
    declared = statement.columns
    if declared is not None and None not in offered and len(declared) != len(names):
        many = "NOT_ENOUGH" if len(names) < len(declared) else "TOO_MANY"
        raise AnalysisError(
            f"The view {statement.view.last} has {len(declared)} columns, and its query answers {len(names)}.",
            condition=f"CREATE_VIEW_COLUMN_ARITY_MISMATCH.{many}_DATA_COLUMNS",
            sqlstate="21S01",
            position=Span(declared[0].span.start, declared[-1].span.end),
            object=statement.view.last,
            hint=f"It answers {', '.join(name or '…' for name in names)}.",
        )
    known = [name.lower() for name in names if name]
    twice = next((name for name in known if known.count(name) > 1), None)
    if declared is None and twice is not None:
        raise AnalysisError(
            f"The column {twice} already exists: the query of the view answers it twice.",
            condition="COLUMN_ALREADY_EXISTS",
            sqlstate="42711",
            position=statement.query.span,
            object=twice,
            hint=f"Name the columns: CREATE VIEW {statement.view.last} (…) AS, or give one of them an alias.",
        )


def drop_view(statement: s.DropView, context: Context) -> Result:
    """DROP VIEW. Views that read it stay, and fail when they are used.

    Raises VIEW_NOT_FOUND, unless IF EXISTS, and WRONG_COMMAND_FOR_OBJECT_TYPE for what is no view.
    """
    name = single(statement.view)
    found = context.named(statement.view)
    if found is None and statement.if_exists:
        return Result("DROP VIEW")
    if found is not None and not isinstance(found, View):
        kind = kind_of(found).upper()
        raise AnalysisError(
            f"The operation DROP VIEW requires a VIEW. But {found.name} is a {kind}.",
            condition="WRONG_COMMAND_FOR_OBJECT_TYPE",
            sqlstate="42809",
            position=statement.view.span,
            object=found.name,
            hint=f"Use DROP {kind} instead.",
        )
    try:
        view = context.snapshot.view(name)
        with context.begin() as transaction:
            transaction.commit([DropObject(view)])
    except Error as error:
        raise error.at(statement.view.span) from None
    return Result("DROP VIEW")
