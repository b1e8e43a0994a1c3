"""INSERT OVERWRITE DIRECTORY: the rows of a query as files outside of any table."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from rewriter.errors import Span
from rewriter.grammar.row_formats import TEXTFILE, RowFormat
from rewriter.grammar.statement_parts import Clause, Terminal, refuse_duplicates, values_by_kind
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.table_clauses import row_format_text, table_options
from rewriter.grammar.terms import Query
from rewriter.grammar.unparse import listed, quote, quote_name, words
from rewriter.lazy_dataclass import dataclass

RULES = r"""
?statement: insert_directory

insert_directory: "INSERT" "OVERWRITE" [LOCAL] "DIRECTORY" STRING (using | stored_as | row_format | file_options)* QUERY
file_options: OPTIONS "(" property ("," property)* ")"
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
    options: tuple[tuple[str, str], ...] = ()
    path_span: Span = field(default=Span(0, 0), compare=False)
    format_span: Span | None = field(default=None, compare=False)
    option_spans: tuple[Span, ...] = field(default=(), compare=False)


@builds("insert_directory")
def insert_directory(local: Terminal | None, path: Terminal, *rest: Any) -> InsertDirectory:
    *clauses, query = rest
    values = values_by_kind(clauses)
    table = table_options(values)
    options: Any = values.get("OPTIONS", ())
    return InsertDirectory(
        path=path.string,
        query=Query(query.token.text, query.span),
        local=local is not None,
        format=table["format"] or TEXTFILE,
        row_format=table["row_format"],
        options=tuple(pair for pair, _ in options),
        path_span=path.span,
        format_span=table["format_span"],
        option_spans=tuple(span for _, span in options),
    )


@builds("file_options")
def file_options(word: Terminal, *properties: tuple[tuple[str, str], Span]) -> Clause:
    refuse_duplicates([(key, span) for (key, _), span in properties], str.lower)
    return Clause("OPTIONS", properties, word.span)


@renders(InsertDirectory)
def insert_directory_text(s: InsertDirectory) -> str:
    return words(
        "INSERT OVERWRITE LOCAL DIRECTORY" if s.local else "INSERT OVERWRITE DIRECTORY",
        quote(s.path),
        f"USING {quote_name(s.format)}",
        row_format_text(s.row_format),
        f"OPTIONS {listed(f'{quote(key)} = {quote(value)}' for key, value in s.options)}" if s.options else None,
        s.query.text,
    )
