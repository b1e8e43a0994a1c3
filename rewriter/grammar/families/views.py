"""Views: CREATE, ALTER, DROP, SHOW."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from rewriter.errors import ParseError, Span
from rewriter.grammar.statement_parts import Clause, Terminal, values_by_kind
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import ColumnDef, DatabaseName, Name, Query
from rewriter.grammar.unparse import (
    column_text,
    dropping,
    in_database_text,
    listed,
    name_text,
    option,
    options_text,
    properties_text,
    quote_name,
    words,
)
from rewriter.lazy_dataclass import dataclass

RULES = r"""
?statement: create_view | create_view_of_files | alter_view | drop_view | show_views

create_view: "CREATE" [or_replace] [temporary] "VIEW" [if_not_exists] name [view_columns] _view_clause* "AS" QUERY
create_view_of_files: "CREATE" [or_replace] temporary "VIEW" name [columns] using [file_options]
view_columns: "(" view_column ("," view_column)* ")"
view_column: NAME ["COMMENT" STRING]
_view_clause: comment | properties
alter_view: "ALTER" "VIEW" name "AS"? QUERY
drop_view: "DROP" "VIEW" [if_exists] name
show_views: "SHOW" "VIEWS" [in_database] ["LIKE"? STRING]
"""


@dataclass(frozen=True, kw_only=True)
class CreateView(Statement):
    """``CREATE [OR REPLACE] [TEMPORARY] VIEW v [(columns)] … AS query``. ``columns`` is ``None`` without the list."""

    view: Name
    query: Query
    columns: tuple[ColumnDef, ...] | None = None
    temporary: bool = False
    or_replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()

    def permanent_names(self) -> tuple[str, ...]:
        return () if self.temporary else ("view",)

    def unqualified_names(self) -> tuple[str, ...]:
        return ("view",) if self.temporary else ()


@builds("create_view")
def create_view(
    or_replace: bool | None,
    temporary: bool | None,
    if_not_exists: bool | None,
    view: Name,
    columns: tuple[ColumnDef, ...] | None,
    *rest: Any,
) -> CreateView:
    *clauses, query = rest
    values = values_by_kind(clauses)
    if or_replace and if_not_exists:
        raise ParseError(
            "CREATE VIEW with both IF NOT EXISTS and OR REPLACE is not allowed.",
            condition="CREATE_VIEW_WITH_IF_NOT_EXISTS_AND_REPLACE",
            sqlstate="42601",
            position=view.span,
            object=view.last,
            hint="Leave one of them out.",
        )
    if temporary:
        _check_temporary(view, bool(if_not_exists), "TBLPROPERTIES" in values)
    return CreateView(
        view=view,
        query=Query(query.token.text, query.span),
        columns=columns,
        temporary=bool(temporary),
        or_replace=bool(or_replace),
        if_not_exists=bool(if_not_exists),
        comment=values.get("COMMENT"),
        properties=tuple(pair for pair, _ in values.get("TBLPROPERTIES", ())),
    )


def _check_temporary(view: Name, if_not_exists: bool, has_properties: bool) -> None:
    """Refuses what a temporary view cannot have, as Spark does."""
    if len(view.parts) > 1:
        raise ParseError(
            f"The temporary view {view.last} cannot be qualified with {'.'.join(view.parts[:-1])}: it belongs to the "
            "session.",
            condition="INVALID_TEMP_OBJ_QUALIFIER",
            sqlstate="42602",
            position=view.span,
            object=view.last,
            hint=f"Write CREATE TEMPORARY VIEW {view.last}.",
        )
    if if_not_exists:
        raise ParseError(
            "IF NOT EXISTS is not allowed in CREATE TEMPORARY VIEW.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=view.span,
            object=view.last,
            hint="Write CREATE OR REPLACE TEMPORARY VIEW.",
        )
    if has_properties:
        raise ParseError(
            "TBLPROPERTIES are not allowed in CREATE TEMPORARY VIEW: a temporary view has none.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=view.span,
            object=view.last,
            hint="Leave the clause out.",
        )


@builds("view_columns")
def view_columns(*columns: ColumnDef) -> tuple[ColumnDef, ...]:
    return columns


@builds("view_column")
def view_column(name: Terminal, comment: Terminal | None) -> ColumnDef:
    return ColumnDef(name.name, None, comment.string if comment else None, name.span)


@renders(CreateView)
def create_view_text(s: CreateView) -> str:
    columns = [words(quote_name(column.name), option("COMMENT", column.comment)) for column in s.columns or ()]
    return words(
        "CREATE OR REPLACE" if s.or_replace else "CREATE",
        "TEMPORARY VIEW" if s.temporary else "VIEW",
        "IF NOT EXISTS" if s.if_not_exists else None,
        name_text(s.view),
        listed(columns) if columns else None,
        option("COMMENT", s.comment),
        properties_text(s.properties),
        f"AS {s.query.text}",
    )


@dataclass(frozen=True, kw_only=True)
class CreateViewOfFiles(Statement):
    """``CREATE [OR REPLACE] TEMPORARY VIEW v [(columns)] USING format OPTIONS (path '…', …)``.

    ``options`` are without the path. ``columns`` is ``None`` without the list.
    """

    view: Name
    format: str
    path: str
    columns: tuple[ColumnDef, ...] | None = None
    options: tuple[tuple[str, str], ...] = ()
    or_replace: bool = False
    format_span: Span = field(default=Span(0, 0), compare=False)
    option_spans: tuple[Span, ...] = field(default=(), compare=False)

    def unqualified_names(self) -> tuple[str, ...]:
        return ("view",)


@builds("create_view_of_files")
def create_view_of_files(
    or_replace: bool | None,
    temporary: bool,
    view: Name,
    columns: tuple[ColumnDef, ...] | None,
    format: Clause,
    options: Clause | None,
) -> CreateViewOfFiles:
    _check_temporary(view, if_not_exists=False, has_properties=False)
    pairs = () if options is None else options.value
    path = next((value for (key, value), _ in pairs if key.lower() == "path"), None)
    if path is None:
        raise ParseError(
            "CREATE TEMPORARY VIEW … USING needs the path of its files.",
            position=format.value.span,
            object=view.last,
            hint=f"Write USING {format.value.name} OPTIONS (path 'directory').",
        )
    kept = [(pair, span) for pair, span in pairs if pair[0].lower() != "path"]
    return CreateViewOfFiles(
        view=view,
        format=format.value.name,
        path=path,
        columns=columns,
        options=tuple(pair for pair, _ in kept),
        or_replace=bool(or_replace),
        format_span=format.value.span,
        option_spans=tuple(span for _, span in kept),
    )


@renders(CreateViewOfFiles)
def create_view_of_files_text(s: CreateViewOfFiles) -> str:
    return words(
        "CREATE OR REPLACE TEMPORARY VIEW" if s.or_replace else "CREATE TEMPORARY VIEW",
        name_text(s.view),
        listed(map(column_text, s.columns)) if s.columns is not None else None,
        f"USING {quote_name(s.format)}",
        options_text((("path", s.path), *s.options)),
    )


@dataclass(frozen=True, kw_only=True)
class AlterView(Statement):
    """``ALTER VIEW v AS query``: another query under the view's name."""

    view: Name
    query: Query


@builds("alter_view")
def alter_view(view: Name, query: Terminal) -> AlterView:
    return AlterView(view=view, query=Query(query.token.text, query.span))


@renders(AlterView)
def alter_view_text(s: AlterView) -> str:
    return f"ALTER VIEW {name_text(s.view)} AS {s.query.text}"


@dataclass(frozen=True, kw_only=True)
class DropView(Statement):
    view: Name
    if_exists: bool = False


@builds("drop_view")
def drop_view(if_exists: bool | None, view: Name) -> DropView:
    return DropView(view=view, if_exists=bool(if_exists))


@renders(DropView)
def drop_view_text(s: DropView) -> str:
    return dropping("VIEW", s.view, s.if_exists)


@dataclass(frozen=True, kw_only=True)
class ShowViews(Statement):
    like: str | None = None
    database: DatabaseName | None = None


@builds("show_views")
def show_views(database: DatabaseName | None, pattern: Terminal | None) -> ShowViews:
    return ShowViews(like=pattern.string if pattern else None, database=database)


@renders(ShowViews)
def show_views_text(s: ShowViews) -> str:
    return words("SHOW VIEWS", in_database_text(s.database), option("LIKE", s.like))
