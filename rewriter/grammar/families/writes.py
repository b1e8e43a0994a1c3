"""Writes of rows: INSERT in all its forms, LOAD DATA."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from rewriter.errors import ParseError, Span
from rewriter.grammar.families.fact_changes import MarkComplete, mark_complete_text
from rewriter.grammar.statement_parts import Terminal, require_values
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import Name, PartitionItem, Query
from rewriter.grammar.unparse import name_text, names_text, partition_text, quote, words
from rewriter.lazy_dataclass import dataclass

RULES = r"""
?statement: insert | load_data

insert: "INSERT" (INTO | OVERWRITE) "TABLE"? name [partition_spec [IF "NOT" "EXISTS"]] \
        [names | by_name] [mark_complete] QUERY
by_name: "BY" NAME_WORD
load_data: "LOAD" "DATA" [LOCAL] "INPATH" STRING [OVERWRITE] "INTO" "TABLE" name [partition_spec]

NAME_WORD: "NAME"
"""


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    """``INSERT INTO|OVERWRITE [TABLE] t [PARTITION (…) [IF NOT EXISTS]] [(cols)|BY NAME] [MARK COMPLETE FROM a TO b]
    query``.

    ``partition`` is ``None`` without the clause. A WITH or FROM that stands before INSERT belongs to ``query``, in
    which blanks replace the text between them.
    """

    table: Name
    query: Query
    overwrite: bool = False
    partition: tuple[PartitionItem, ...] | None = None
    if_not_exists: bool = False
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    complete: MarkComplete | None = None


@builds("insert")
def insert(
    how: Terminal,
    table: Name,
    partition: tuple[PartitionItem, ...] | None,
    if_not_exists: Terminal | None,
    columns: tuple[str, ...] | bool | None,
    complete: MarkComplete | None,
    query: Terminal,
) -> Insert:
    if if_not_exists is not None:
        check_if_not_exists(how, partition or (), if_not_exists)
    return Insert(
        table=table,
        query=Query(query.token.text, query.span),
        overwrite=how.type == "OVERWRITE",
        partition=partition,
        if_not_exists=if_not_exists is not None,
        columns=columns if isinstance(columns, tuple) else None,
        by_name=columns is True,
        complete=complete,
    )


def check_if_not_exists(how: Terminal, partition: Iterable[PartitionItem], clause: Terminal) -> None:
    """Raises ``ParseError`` if INSERT's IF NOT EXISTS has no meaning; ``how`` is INTO or OVERWRITE."""
    if how.type == "INTO":
        raise ParseError(
            "The statement or clause: INSERT INTO ... IF NOT EXISTS is not valid.",
            condition="INVALID_STATEMENT_OR_CLAUSE",
            sqlstate="42601",
            position=clause.span,
            hint="IF NOT EXISTS goes with INSERT OVERWRITE.",
        )
    dynamic = next((item for item in partition if item.value is None), None)
    if dynamic is not None:
        raise if_not_exists_of(dynamic.column, dynamic.span)


def if_not_exists_of(column: str, position: Span) -> ParseError:
    """Returns the error for INSERT OVERWRITE … IF NOT EXISTS with a dynamic partition column."""
    return ParseError(
        f"Operation not allowed: IF NOT EXISTS with dynamic partitions: {column}.",
        condition="INVALID_STATEMENT_OR_CLAUSE",
        sqlstate="42601",
        position=position,
        object=column,
        hint="Give every partition column a value, or leave IF NOT EXISTS out.",
    )


@builds("by_name")
def by_name(_word: Terminal) -> bool:
    return True


@renders(Insert)
def insert_text(s: Insert) -> str:
    return words(
        "INSERT OVERWRITE TABLE" if s.overwrite else "INSERT INTO TABLE",
        name_text(s.table),
        partition_text(s.partition),
        "IF NOT EXISTS" if s.if_not_exists else None,
        "BY NAME" if s.by_name else names_text(s.columns),
        None if s.complete is None else mark_complete_text(s.complete),
        s.query.text,
    )


@dataclass(frozen=True, kw_only=True)
class LoadData(Statement):
    """``LOAD DATA [LOCAL] INPATH 'path' [OVERWRITE] INTO TABLE t [PARTITION (…)]``."""

    path: str
    table: Name
    partition: tuple[PartitionItem, ...] | None = None
    overwrite: bool = False
    local: bool = False
    path_span: Span = field(default=Span(0, 0), compare=False)


@builds("load_data")
def load_data(
    local: Terminal | None,
    path: Terminal,
    overwrite: Terminal | None,
    table: Name,
    partition: tuple[PartitionItem, ...] | None,
) -> LoadData:
    require_values(partition or ())
    return LoadData(
        path=path.string,
        table=table,
        partition=partition,
        overwrite=overwrite is not None,
        local=local is not None,
        path_span=path.span,
    )


@renders(LoadData)
def load_data_text(s: LoadData) -> str:
    return words(
        "LOAD DATA LOCAL INPATH" if s.local else "LOAD DATA INPATH",
        quote(s.path),
        "OVERWRITE INTO TABLE" if s.overwrite else "INTO TABLE",
        name_text(s.table),
        partition_text(s.partition),
    )
