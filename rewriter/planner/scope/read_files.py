"""The table function ``read_files('path', format => 'csv', header => true)``: files with their options in a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.objects import FilesTable
from rewriter.catalog.model.row_formats import csv_properties
from rewriter.data_formats import CSV, SOURCE_FORMATS
from rewriter.errors import NotSupportedError, ParseError, Span

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import QueryText

_NAME = "read_files"
_FORM = "read_files('path', format => 'csv', header => true, schema => 'id INT, name STRING')"


def calls_read_files(node: exp.Table) -> bool:
    """Tests whether a relation behind FROM is a call of ``read_files``."""
    return isinstance(node.this, exp.Anonymous) and node.this.name.lower() == _NAME and not node.db


def call_span(node: exp.Table, query: QueryText) -> Span:
    """Returns the place of a call in the text of its query, up to its closing parenthesis."""
    first = query.index_at(node.this.meta["start"])
    depth = 0
    for token in query.tokens[first:]:
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_operator(")"):
            return Span(query.tokens[first].start, token.end)
    raise ParseError("The call of read_files cannot be parsed.", position=query.place(query.tokens[first].span))


def files_of_call(node: exp.Table, number: int, query: QueryText) -> FilesTable:
    """Returns the files that a call names. The options are checked when these are read.

    Raises ``ParseError`` for arguments that are no literals, and ``NotSupportedError`` for options of formats that have
    none.
    """
    call = call_span(node, query)
    span = query.place(call)
    path: str | None = None
    named: dict[str, str] = {}
    for argument in node.this.expressions:
        is_named = isinstance(argument, exp.Kwarg)
        name, value = (argument.this.name, argument.expression) if is_named else ("", argument)
        text = _literal(value)
        is_path = not is_named and path is None and not named
        if text is None or not (is_named or is_path) or name.lower() in map(str.lower, named):
            raise ParseError(
                "The arguments of read_files are a path and named literals.",
                position=span,
                object=_NAME,
                hint=f"Write {_FORM}.",
            )
        if is_named:
            named[name] = text
        else:
            path = text
    lower = {name.lower(): name for name in named}
    format = named.pop(lower["format"]).lower() if "format" in lower else None
    schema = named.pop(lower["schema"]) if "schema" in lower else None
    if path is None or format not in SOURCE_FORMATS:
        raise NotSupportedError(
            "read_files takes a path and a format that queries read.",
            position=span,
            object=_NAME,
            hint=f"Write {_FORM}. The formats are {', '.join(SOURCE_FORMATS)}.",
        )
    if format != CSV.name and (named or schema is not None):
        raise NotSupportedError(
            f"read_files has no options for files of the format {format}.",
            position=span,
            object=format,
            hint=f"Write {format}.`path`.",
        )
    properties = csv_properties({"header": "false", **named} if "header" not in lower else named)
    return FilesTable(
        number,
        query.text[call.start : call.end],
        (),
        (),
        format=format,
        location=path,
        external=True,
        properties=properties if format == CSV.name else {},
        schema=schema,
    )


def _literal(value: exp.Expr) -> str | None:
    """Returns the text of a literal; ``None`` for any other expression."""
    if isinstance(value, exp.Boolean):
        return str(value.this).lower()
    return str(value.this) if isinstance(value, exp.Literal) else None
