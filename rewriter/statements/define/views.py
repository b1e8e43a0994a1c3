"""Views: CREATE, ALTER and DROP VIEW.

A view is the text of a query under a name. Its body is checked when it is created, and read again at each use. The
objects that it reads may be dropped; then its use raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.commit.reserved_properties import COMMENT, credentials_refused
from rewriter.catalog.model.changes import Change, CreateObject, DropObject
from rewriter.catalog.model.json_codec import kind_of
from rewriter.catalog.model.objects import SourceTable, View
from rewriter.catalog.model.temporary_views import TemporaryView, view_name, with_typed_names
from rewriter.connectors.table_source import read_only
from rewriter.data_formats import CSV, DATA_FORMATS
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, ParseError, Span
from rewriter.grammar.families import views as s
from rewriter.grammar.lexer import TokenKind, tokens
from rewriter.grammar.terms import Name, Query
from rewriter.grammar.unparse import quote, quote_name
from rewriter.planner.scope.blocks import resolve
from rewriter.planner.scope.cte_references import names_in
from rewriter.planner.scope.deterministic import brings_code, called_code
from rewriter.planner.scope.disambiguate import disambiguated
from rewriter.planner.scope.expand_views import columns_of_views, expand
from rewriter.planner.scope.item_names import Offered, OutputColumns
from rewriter.planner.scope.sql_functions import Inliner, inlined, may_name
from rewriter.planner.text.derived_text import in_view, with_table_queries
from rewriter.planner.text.query_text import QueryText
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.functions import invalid_temporary
from rewriter.statements.define.tables import already_exists, plain_name
from rewriter.statements.resolve.file_options import check_written_options, csv_options, declared_columns
from rewriter.statements.resolve.locations import check_table_format
from rewriter.statements.resolve.partition_specs import check_unique
from rewriter.uris import has_credentials

if TYPE_CHECKING:
    from rewriter.grammar.families.tables import Rename
    from rewriter.grammar.families.views import AlterView, CreateView
    from rewriter.grammar.terms import ColumnDef


@runs(s.CreateView, in_transaction=True, without_warehouse=True)
def create_view(statement: s.CreateView, context: Context) -> Result:
    """CREATE [OR REPLACE] [TEMPORARY] VIEW. The query must be readable, name existing objects, have no parameters and
    not read the view.

    Raises ``ParseError`` and ``AnalysisError`` with positions in the statement, RECURSIVE_VIEW for a cycle. Starts
    no engine: a missing column is detected when the view is used.
    """
    check_unique(statement.columns or ())
    if statement.temporary:
        create_temporary_view(statement, context)
        return Result("CREATE VIEW")
    name = plain_name(statement.view, "view")
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
    _check_query(statement.query, statement.view, name, context, statement.columns)
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


@runs(s.AlterView, in_transaction=True, without_warehouse=True)
def alter_view(statement: s.AlterView, context: Context) -> Result:
    """ALTER VIEW … AS: another query. Comment and properties stay; columns are the new query's columns.

    Raises VIEW_NOT_FOUND, EXPECT_VIEW_NOT_TABLE for an object that is not a view, and the errors of ``_check_query``.
    """
    object_ = context.named(statement.view)
    if object_ is not None and not isinstance(object_, View):
        raise AnalysisError(
            f"The {kind_of(object_)} {object_.name} does not support ALTER VIEW … AS.",
            condition="EXPECT_VIEW_NOT_TABLE.NO_ALTERNATIVE",
            sqlstate="42809",
            position=statement.view.span,
            object=object_.name,
            hint="Name a view.",
        )
    view = context.view(statement.view)
    if isinstance(view, TemporaryView):
        _alter_temporary_view(view, statement, context)
        return Result("ALTER VIEW")
    _check_query(statement.query, statement.view, view.name, context)
    with context.begin() as transaction:
        query, database = statement.query.text, context.snapshot.current
        changed = replace(view, id=transaction.allocate_id(), query=query, columns=(), database=database)
        try:
            transaction.commit([DropObject(view), CreateObject(changed)])
        except Error as error:
            raise error.at(statement.view.span) from None
    return Result("ALTER VIEW")


@runs(s.DropView, in_transaction=True, without_warehouse=True)
def drop_view(statement: s.DropView, context: Context) -> Result:
    """DROP VIEW, of a temporary view first. Views that read it stay, and fail when they are used.

    Raises VIEW_NOT_FOUND, unless IF EXISTS, and WRONG_COMMAND_FOR_OBJECT_TYPE for an object that is not a view.
    """
    name = single(statement.view)
    object_ = context.named(statement.view)
    if isinstance(object_, TemporaryView):
        _drop_temporary_view(object_, context)
        return Result("DROP VIEW")
    if object_ is None and statement.if_exists:
        return Result("DROP VIEW")
    if isinstance(object_, SourceTable):
        raise read_only(object_).at(statement.view.span)
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


@runs(s.CreateViewOfFiles, in_transaction=True, without_warehouse=True)
def create_files_view(statement: s.CreateViewOfFiles, context: Context) -> Result:
    """CREATE TEMPORARY VIEW … USING: a temporary view of a query that reads the files with their options.

    Raises ``NotSupportedError`` for options that the format does not have. Reads no files.
    """
    format = check_table_format(statement.format, statement.format_span, statement.path)
    arguments = [quote(statement.path), f"format => {quote(format)}"]
    if format == CSV.name:
        csv_options(statement.options, statement.option_spans)
        columns = statement.columns or ()
        if columns:
            schema = ", ".join(f"{quote_name(column.name)} {column.type}" for column in columns)
            arguments.append(f"schema => {quote(schema)}")
            try:
                declared_columns(schema)
            except Error as error:
                raise error.at(columns[0].span) from None
        arguments += [f"{quote_name(key)} => {quote(value)}" for key, value in statement.options]
    elif statement.columns is not None or not DATA_FORMATS[format].is_source:
        raise NotSupportedError(
            f"A temporary view of {format} files with columns of its own is not supported.",
            position=statement.format_span,
            object=statement.view.last,
            hint=f"Write CREATE TEMPORARY VIEW {statement.view.last} AS SELECT … FROM {format}.`path`.",
        )
    else:
        check_written_options(format, statement.options, statement.option_spans)
    query = Query(f"SELECT * FROM read_files({', '.join(arguments)})", statement.format_span)
    create_temporary_view(
        s.CreateView(view=statement.view, query=query, temporary=True, or_replace=statement.or_replace), context
    )
    return Result("CREATE VIEW")


# Temporary views: they live in the session, so no statement about them reaches the catalog.


def create_temporary_view(statement: CreateView, context: Context) -> None:
    """Creates or replaces a temporary view.

    Raises TEMP_TABLE_OR_VIEW_ALREADY_EXISTS 42P07 for the name of a temporary table or view, and the errors of
    ``_check_query``.
    """
    name = plain_name(statement.view, "view")
    _check_free(statement.view, context, replaces=statement.or_replace)
    reads = _check_query(statement.query, statement.view, view_name(name), context, statement.columns, temporary=True)
    view = TemporaryView(
        id=0,
        name=view_name(name),
        query=statement.query.text,
        columns=tuple((column.name, column.comment) for column in statement.columns or ()),
        comment=statement.comment,
        database=context.snapshot.current,
        reads=reads,
    )
    context.temporaries.views = context.temporaries.views.with_view(view)


def _alter_temporary_view(view: TemporaryView, statement: AlterView, context: Context) -> None:
    """Gives a temporary view another query; its comment stays. Raises the errors of ``_check_query``."""
    reads = _check_query(statement.query, statement.view, view.name, context, temporary=True)
    query, database = statement.query.text, context.snapshot.current
    changed = replace(view, query=query, columns=(), database=database, reads=reads)
    context.temporaries.views = context.temporaries.views.with_view(changed)


def _drop_temporary_view(view: TemporaryView, context: Context) -> None:
    """Drops a temporary view. Temporary views that read it fail when they are used."""
    context.temporaries.views = context.temporaries.views.without(view)


def rename_temporary_view(view: TemporaryView, statement: Rename, context: Context) -> None:
    """Renames a temporary view. Raises ``ParseError`` for a new name in a database, and
    TEMP_TABLE_OR_VIEW_ALREADY_EXISTS 42P07.
    """
    name = Name(statement.to.parts, statement.to.span)
    if len(name.parts) > 1:
        raise ParseError(
            f"The temporary view {with_typed_names(view.name)} cannot be moved into a database.",
            position=name.span,
            object=with_typed_names(view.name),
            hint=f"Write RENAME TO {name.last}.",
        )
    plain_name(name, "view")
    _check_free(name, context)
    renamed = replace(view, name=view_name(name.last))
    context.temporaries.views = context.temporaries.views.without(view).with_view(renamed)


def _check_free(name: Name, context: Context, replaces: bool = False) -> None:
    existing = context.snapshot.temporary_view(name.last)
    if (existing is None or replaces) and context.snapshot.temporary(name.last) is None:
        return
    raise IntegrityError(
        f"Cannot create the temporary view {name.last} because it already exists."
        if existing is not None
        else f"Cannot create the temporary view {name.last} because a temporary table has this name.",
        condition="TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
        sqlstate="42P07",
        position=name.span,
        object=name.last,
        hint="Choose a different name, drop it first, or write CREATE OR REPLACE TEMPORARY VIEW."
        if existing is not None
        else f"Choose a different name, or DROP TABLE {name.last} first.",
    )


# The query of a view, when the view is created or gets another one.


def _check_query(
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
    if not temporary:
        _check_names(text, name, context)
    calls = inlined(text, snapshot, snapshot.current, columns_of_views(snapshot), temporary)
    expanded = expand(disambiguated(calls, snapshot.current, context.is_temporary), snapshot, created_view=name)
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


def _check_names(text: QueryText, view: str, context: Context) -> None:
    """Refuses temporary functions and variables in a stored view."""
    snapshot = context.snapshot
    if may_name(text.tokens, snapshot):
        inliner = Inliner(snapshot, columns_of_views(snapshot))
        for span, temporary_name, kind in inliner.temporary_names(text, snapshot.current):
            raise invalid_temporary(view, "VIEW", temporary_name, kind).at(text.place(span))


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
