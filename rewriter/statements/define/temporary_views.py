"""Temporary views: they live in the session, so no statement about them reaches the catalog."""

from __future__ import annotations

from dataclasses import replace

from rewriter.catalog.model.temporary_names import shown
from rewriter.catalog.model.temporary_views import TemporaryView, view_name
from rewriter.errors import IntegrityError, ParseError
from rewriter.grammar.families.tables import Rename
from rewriter.grammar.families.views import AlterView, CreateView
from rewriter.grammar.terms import Name
from rewriter.runtime.statement_context import Context
from rewriter.statements.define.tables import plain_name
from rewriter.statements.define.view_queries import check_query


def create_temporary_view(statement: CreateView, context: Context) -> None:
    """Creates or replaces a temporary view.

    Raises TEMP_TABLE_OR_VIEW_ALREADY_EXISTS 42P07 for the name of a temporary table or view, and the errors of
    ``check_query``.
    """
    name = plain_name(statement.view, "view")
    _check_free(statement.view, context, replaces=statement.or_replace)
    reads = check_query(statement.query, statement.view, view_name(name), context, statement.columns, temporary=True)
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


def alter_temporary_view(view: TemporaryView, statement: AlterView, context: Context) -> None:
    """Gives a temporary view another query; its comment stays. Raises the errors of ``check_query``."""
    reads = check_query(statement.query, statement.view, view.name, context, temporary=True)
    query, database = statement.query.text, context.snapshot.current
    changed = replace(view, query=query, columns=(), database=database, reads=reads)
    context.temporaries.views = context.temporaries.views.with_view(changed)


def drop_temporary_view(view: TemporaryView, context: Context) -> None:
    """Drops a temporary view. Temporary views that read it fail when they are used."""
    context.temporaries.views = context.temporaries.views.without(view)


def rename_temporary_view(view: TemporaryView, statement: Rename, context: Context) -> None:
    """Renames a temporary view. Raises ``ParseError`` for a new name in a database, and
    TEMP_TABLE_OR_VIEW_ALREADY_EXISTS 42P07.
    """
    name = Name(statement.to.parts, statement.to.span)
    if len(name.parts) > 1:
        raise ParseError(
            f"The temporary view {shown(view.name)} cannot be moved into a database.",
            position=name.span,
            object=shown(view.name),
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
