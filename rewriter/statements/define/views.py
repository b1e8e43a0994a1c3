"""Views: CREATE and DROP VIEW.

A view is the text of a query under a name. Its body is checked when it is created, and read again at each use. The
objects that it reads may be dropped; then its use raises.
"""

from __future__ import annotations

from rewriter.catalog.commit.reserved_properties import COMMENT
from rewriter.catalog.model.changes import Change, CreateObject, DropObject
from rewriter.catalog.model.json_codec import kind_of
from rewriter.catalog.model.objects import View
from rewriter.catalog.model.temporary_names import session_of, shown
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar.families import views as s
from rewriter.grammar.lexer import TokenKind, tokens
from rewriter.planner.scope.blocks import Resolved, resolve
from rewriter.planner.scope.disambiguate import disambiguated
from rewriter.planner.scope.expand_views import brings_code, called_code, expand
from rewriter.planner.scope.output_columns import Offered, OutputColumns
from rewriter.planner.text.derived_text import in_view
from rewriter.planner.text.query_text import QueryText
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import already_exists, plain_name
from rewriter.statements.resolve.partition_specs import check_unique


@runs(s.CreateView, in_transaction=True, without_warehouse=True)
def create_view(statement: s.CreateView, context: Context) -> Result:
    """CREATE [OR REPLACE] VIEW. The query must be readable, name existing objects, have no parameters and not read the
    view.

    Raises ``ParseError`` and ``AnalysisError`` with positions in the statement, RECURSIVE_VIEW for a cycle. Starts
    no engine: a missing column is detected when the view is used.
    """
    name = plain_name(statement.view, "view")
    check_unique(statement.columns or ())
    existing = context.snapshot.named(name)
    if existing is not None and statement.if_not_exists:
        return Result("CREATE VIEW")
    if existing is not None and not statement.or_replace:
        raise already_exists(statement.view)
    if existing is not None and not isinstance(existing, View):
        raise AnalysisError(
            f"The {kind_of(existing)} {existing.name} does not support CREATE OR REPLACE VIEW.",
            condition="EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE",
            sqlstate="42809",
            position=statement.view.span,
            object=existing.name,
            hint="Choose a different name.",
        )
    _check(statement, name, context)
    properties = dict(statement.properties)
    with context.begin() as transaction:
        view = View(
            id=transaction.allocate_id(),
            name=name,
            query=statement.query.text,
            columns=tuple((column.name, column.comment) for column in statement.columns or ()),
            comment=properties.pop(COMMENT, None) if statement.comment is None else statement.comment,
            properties=properties,
            database=context.snapshot.current,
        )
        changes: list[Change] = [] if existing is None else [DropObject(existing)]
        try:
            transaction.commit([*changes, CreateObject(view)])
        except Error as error:
            raise error.at(statement.view.span) from None
    return Result("CREATE VIEW")


def _check(statement: s.CreateView, name: str, context: Context) -> None:
    """Reads the query as the users of the view will, and raises the errors that they would get."""
    query = statement.query
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
    text = QueryText(query.text, query.span.start)
    unread = text.unread()
    if unread is not None:
        raise unread
    function = called_code(text)
    if function is not None:
        raise brings_code(name, function).at(text.place(function.span))
    expanded = expand(
        disambiguated(text, context.snapshot.current, context.is_temporary), context.snapshot, created_view=name
    )
    try:
        _refuse_temporary(resolve(expanded, context.snapshot), expanded, name)
    except Error as error:
        raise in_view(error, expanded) from None
    except RecursionError:
        raise NotSupportedError("This query is nested too deeply.", position=query.span, object=name) from None
    _check_columns(statement, OutputColumns(expanded.tree, context.snapshot).of_query(expanded.tree))


def _refuse_temporary(resolved: Resolved, text: QueryText, name: str) -> None:
    """Refuses temporary tables: a view outlives those of its author, and other sessions do not see them."""
    for table_use in resolved.tables:
        if session_of(table_use.table.name):
            raise AnalysisError(
                f"The view {name} cannot read the temporary table {shown(table_use.table.name)}: the view "
                "outlives the table.",
                condition="INVALID_TEMP_OBJ_REFERENCE",
                sqlstate="42K0F",
                position=text.place(table_use.span),
                object=shown(table_use.table.name),
                hint="Create the table without TEMPORARY; default.name refers to the permanent table of that name.",
            )


def _check_columns(statement: s.CreateView, offered: Offered) -> None:
    """Checks that the query returns as many columns as the list names, or has distinct names, as far as they can be
    determined.
    """
    names = [column.name for column in offered if column]
    declared = statement.columns
    if declared is not None and None not in offered and len(declared) != len(names):
        difference = "NOT_ENOUGH" if len(names) < len(declared) else "TOO_MANY"
        raise AnalysisError(
            f"The view {statement.view.last} has {len(declared)} columns, but its query returns {len(names)}.",
            condition=f"CREATE_VIEW_COLUMN_ARITY_MISMATCH.{difference}_DATA_COLUMNS",
            sqlstate="21S01",
            position=Span(declared[0].span.start, declared[-1].span.end),
            object=statement.view.last,
            hint=f"It returns {', '.join(name or '…' for name in names)}.",
        )
    lowered = [name.lower() for name in names if name]
    repeated_name = next((name for name in lowered if lowered.count(name) > 1), None)
    if declared is None and repeated_name is not None:
        raise AnalysisError(
            f"The column {repeated_name} already exists: the query of the view returns it twice.",
            condition="COLUMN_ALREADY_EXISTS",
            sqlstate="42711",
            position=statement.query.span,
            object=repeated_name,
            hint=f"Name the columns: CREATE VIEW {statement.view.last} (…) AS, or give one of them an alias.",
        )


@runs(s.DropView, in_transaction=True)
def drop_view(statement: s.DropView, context: Context) -> Result:
    """DROP VIEW. Views that read it stay, and fail when they are used.

    Raises VIEW_NOT_FOUND, unless IF EXISTS, and WRONG_COMMAND_FOR_OBJECT_TYPE for an object that is not a view.
    """
    name = single(statement.view)
    object_ = context.named(statement.view)
    if object_ is None and statement.if_exists:
        return Result("DROP VIEW")
    if object_ is not None and not isinstance(object_, View):
        kind = kind_of(object_).upper()
        raise AnalysisError(
            f"The operation DROP VIEW requires a VIEW. But {object_.name} is a {kind}.",
            condition="WRONG_COMMAND_FOR_OBJECT_TYPE",
            sqlstate="42809",
            position=statement.view.span,
            object=object_.name,
            hint=f"Use DROP {kind} instead.",
        )
    try:
        view = context.snapshot.view(name)
        with context.begin() as transaction:
            transaction.commit([DropObject(view)])
    except Error as error:
        raise error.at(statement.view.span) from None
    return Result("DROP VIEW")
