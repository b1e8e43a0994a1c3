"""INSERT OVERWRITE DIRECTORY: the rows of a query as files outside of any table."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from rewriter.errors import Span
from rewriter.grammar.row_formats import TEXTFILE, RowFormat
from rewriter.grammar.statement_parts import Terminal, values_by_kind
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.table_clauses import row_format_text, table_options
from rewriter.grammar.terms import Query
from rewriter.grammar.unparse import options_text, quote, quote_name, words
from rewriter.lazy_dataclass import dataclass

RULES = r"""
?statement: insert_directory

insert_directory: "INSERT" "OVERWRITE" [LOCAL] "DIRECTORY" STRING (using | stored_as | row_format | file_options)* QUERY
"""


@dataclass(frozen=True, kw_only=True)
class InsertDirectory(Statement):
    """``INSERT OVERWRITE [LOCAL] DIRECTORY 'path' [USING format [OPTIONS (…)] | ROW FORMAT … STORED AS format] query``.

    Without a format, the files are text files, as in Hive.
    """

    path: str
    query: Query
    local: bool = False
    format: str = TEXTFILE
    row_format: RowFormat | None = None
    serde_properties: tuple[tuple[str, str], ...] | None = None
    options: tuple[tuple[str, str], ...] = ()
    path_span: Span = field(default=Span(0, 0), compare=False)
    format_span: Span | None = field(default=None, compare=False)
    option_spans: tuple[Span, ...] = field(default=(), compare=False)


@builds("insert_directory")
def insert_directory(local: Terminal | None, path: Terminal, *rest: Any) -> InsertDirectory:
    *clauses, query = rest
    values = values_by_kind(clauses)
    table = table_options(values)
    return InsertDirectory(
        path=path.string,
        query=Query(query.token.text, query.span),
        local=local is not None,
        format=table["format"] or TEXTFILE,
        row_format=table["row_format"],
        serde_properties=table["serde_properties"],
        options=table["options"] or (),
        path_span=path.span,
        format_span=table["format_span"],
        option_spans=table["option_spans"],
    )


@renders(InsertDirectory)
def insert_directory_text(s: InsertDirectory) -> str:
    return words(
        "INSERT OVERWRITE LOCAL DIRECTORY" if s.local else "INSERT OVERWRITE DIRECTORY",
        quote(s.path),
        f"USING {quote_name(s.format)}" if s.serde_properties is None else None,
        row_format_text(s.row_format, s.serde_properties),
        options_text(s.options),
        s.query.text,
    )
