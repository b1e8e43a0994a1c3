"""Queries and EXPLAIN, which are recognized by their first word, without the grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.errors import Error, NotSupportedError, ParseError, Span
from rewriter.grammar.families.deletes import Delete
from rewriter.grammar.families.maintenance import RepairTable
from rewriter.grammar.families.multi_inserts import MultiInsert, read_inserts, split_inserts
from rewriter.grammar.families.partitions import (
    AddPartitions,
    DropPartitions,
    ExchangePartitions,
    RenamePartition,
    ShowPartitions,
    Touch,
    Truncate,
)
from rewriter.grammar.families.storage import SetFileFormat, SetLocation, SetSerde
from rewriter.grammar.families.streams import streamed
from rewriter.grammar.families.writes import Insert, LoadData
from rewriter.grammar.lexer import Token, shifted, tokens
from rewriter.grammar.parser import begins_statement, read_by_grammar, read_statement
from rewriter.grammar.query_spans import QUERY_STARTS, first_stream, read_query, starts_query
from rewriter.grammar.statements import Statement, reads, renders
from rewriter.grammar.terms import Query
from rewriter.grammar.unparse import render
from rewriter.lazy_dataclass import dataclass

_EXPLAINED = ("REWRITE", "COVER", "SCAN", "ENGINE", "CERTIFICATE", "ALL")
#: Spark's forms that show what a form of ours shows.
_SYNONYMS = {"EXTENDED": "ALL", "FORMATTED": "ENGINE"}
#: Spark's other forms, each with what comes near.
_SPARK_EXPLAINED = {
    "COST": "EXPLAIN SCAN shows the partitions, files and bytes that are read, and EXPLAIN ENGINE the engine's plan.",
    "CODEGEN": "EXPLAIN ENGINE shows the engine's plan; Spark's own session shows the code that it generates.",
    "LOGICAL": "EXPLAIN REWRITE shows the query that the engine gets, and EXPLAIN ENGINE the engine's plan.",
}


@dataclass(frozen=True, kw_only=True)
class Select(Statement):
    """SELECT, WITH, VALUES, FROM … SELECT: any statement that returns rows."""

    query: Query


@reads(*QUERY_STARTS, "(")
def read_rows(text: str, statement_tokens: Sequence[Token]) -> Statement:
    """Parses a query, or the inserts that follow WITH or FROM."""
    if statement_tokens[0].is_word("WITH", "FROM") and (parts := split_inserts(statement_tokens)):
        statement = read_inserts(text, parts)
        stream = first_stream(text, statement_tokens) if isinstance(statement, MultiInsert) else None
        if stream is not None:
            raise NotSupportedError(
                "Several INSERTs cannot read one STREAM.",
                condition="STREAM_QUERY",
                position=stream.span,
                hint="Write an INSERT INTO for each table, each with its own stream id and checkpoint.",
            )
        return streamed(statement) if isinstance(statement, Insert) else statement
    return Select(query=_with_comments(text, read_query(text, statement_tokens)))


def _with_comments(text: str, query: Query) -> Query:
    """Returns the query with the comments before and behind it, by which tools tag their queries."""
    if query.span == Span(0, len(text)):
        return query
    comment_end = next((token.start for token in tokens(text[query.span.end :])), len(text) - query.span.end)
    comments = text[query.span.end : query.span.end + comment_end].rstrip()
    span = Span(len(text) - len(text.lstrip()), query.span.end + len(comments))
    return Query(text[span.start : span.end], span, shifted(query.tokens or (), query.span.start - span.start))


@renders(Select)
def select_text(s: Select) -> str:
    return s.query.text


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    """``what`` is ``REWRITE``, ``COVER``, ``SCAN``, ``ENGINE``, ``CERTIFICATE`` or ``ALL`` (the default)."""

    what: str
    query: Query


@renders(Explain)
def explain_text(s: Explain) -> str:
    return f"EXPLAIN {s.what} {s.query.text}"


@dataclass(frozen=True, kw_only=True)
class ExplainScan(Statement):
    """``EXPLAIN SCAN`` of a statement that finds partitions. The statement is not executed."""

    statement: ShowPartitions | DropPartitions


@renders(ExplainScan)
def explain_scan_text(s: ExplainScan) -> str:
    return f"EXPLAIN SCAN {render(s.statement)}"


@dataclass(frozen=True, kw_only=True)
class ExplainWrite(Statement):
    """``EXPLAIN`` of INSERT in all its forms and of LOAD DATA: the partitions it would replace. It is not executed."""

    statement: Insert | MultiInsert | LoadData


@renders(ExplainWrite)
def explain_write_text(s: ExplainWrite) -> str:
    return f"EXPLAIN {render(s.statement)}"


@dataclass(frozen=True, kw_only=True)
class ExplainChange(Statement):
    """``EXPLAIN`` of a statement that changes partitions, or their storage. It is not executed."""

    statement: Statement


_CHANGES = (
    AddPartitions,
    DropPartitions,
    RenamePartition,
    ExchangePartitions,
    Truncate,
    Delete,
    Touch,
    SetLocation,
    SetFileFormat,
    SetSerde,
    RepairTable,
)


@renders(ExplainChange)
def explain_change_text(s: ExplainChange) -> str:
    return f"EXPLAIN {render(s.statement)}"


@reads("EXPLAIN")
def read_explain(text: str, statement_tokens: Sequence[Token]) -> Explain | ExplainScan | ExplainWrite | ExplainChange:
    stream = first_stream(text, statement_tokens)
    if stream is not None:
        raise NotSupportedError(
            "EXPLAIN of a STREAM is not supported.",
            condition="STREAM_QUERY",
            position=stream.span,
            hint="EXPLAIN the query over the files, without STREAM and OPTIONS.",
        )
    form, query = "ALL", statement_tokens[1:]
    if query and query[0].is_word(*_SYNONYMS):
        form, query = _SYNONYMS[query[0].upper], query[1:]
        if starts_query(query, 0) and not split_inserts(query):
            return Explain(what=form, query=read_query(text, query))
        form = "ALL"
    before = query and query[0].is_word("WITH", "FROM") and split_inserts(query)
    if before or (query and query[0].is_word("INSERT", "LOAD")):
        statement = read_statement(text, query)
        if not isinstance(statement, Insert | MultiInsert | LoadData):
            raise _unexplained(query, statement_tokens)
        return ExplainWrite(statement=replace(statement, span=Span(query[0].start, query[-1].end)))
    if query and query[0].is_word("ALTER", "TRUNCATE", "MSCK", "REPAIR", "DELETE"):
        change = read_statement(text, query)
        if isinstance(change, _CHANGES):
            return ExplainChange(statement=replace(change, span=Span(query[0].start, query[-1].end)))
    if query and query[0].is_word(*_EXPLAINED):
        form, query = query[0].upper, query[1:]
    elif query and query[0].is_word(*_SPARK_EXPLAINED):
        raise NotSupportedError(
            f"EXPLAIN {query[0].upper} is not supported.",
            position=query[0].span,
            hint=_SPARK_EXPLAINED[query[0].upper],
        )
    if starts_query(query, 0):
        return Explain(what=form, query=read_query(text, query))
    if form == "SCAN" and query and query[0].is_word("SHOW", "ALTER"):
        statement = read_by_grammar(text, query)
        if isinstance(statement, ShowPartitions | DropPartitions):
            return ExplainScan(statement=replace(statement, span=Span(query[0].start, query[-1].end)))
    raise _unexplained(query, statement_tokens)


def _unexplained(remaining: Sequence[Token], statement_tokens: Sequence[Token]) -> Error:
    """Returns the error for an EXPLAIN of a statement that is not a query; ``remaining`` is the required form."""
    if remaining and begins_statement(remaining[0]):
        finds = remaining[0].is_word("SHOW", "ALTER")
        return NotSupportedError(
            f"EXPLAIN of {remaining[0].upper} is not supported yet.",
            position=remaining[0].span,
            hint="EXPLAIN SCAN explains SHOW PARTITIONS and ALTER TABLE … DROP PARTITION; EXPLAIN explains statements "
            "that change partitions."
            if finds
            else "EXPLAIN the query alone.",
        )
    near = f"'{remaining[0].shown}'" if remaining else "end of input"
    position = remaining[0].span if remaining else Span(statement_tokens[-1].end, statement_tokens[-1].end)
    options = ", ".join((*_EXPLAINED, *QUERY_STARTS[:3]))
    return ParseError(f"Syntax error at or near {near}.", position=position, hint=f"Expected {options}.")
