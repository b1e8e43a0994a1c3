"""Facts: CREATE FACT with its storage blocks and their tables, DROP FACT."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import ParseError, Span
from rewriter.grammar.statement_parts import (
    Clause,
    Terminal,
    period_name,
    refuse_duplicates,
    values_by_kind,
    whole_number,
)
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import (
    dropping,
    listed,
    literal_text,
    name_text,
    names_text,
    option,
    quote,
    quote_name,
    words,
)
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import Literal, Name

RULES = r"""
?statement: create_fact | drop_fact

create_fact: "CREATE" "FACT" [if_not_exists] name "OF" "CUBE" name [names] \
             ["WEIGHT" NUMBER] ["LATENESS" STRING] [refresh_on_commit] storage+ [rollups]
refresh_on_commit: "REFRESH" "ON" "COMMIT"
rollups: ROLLUPS "(" rollup ("," rollup)* ")"
rollup: NAME [rollup_dimensions] [RETAIN NUMBER NAME]
rollup_dimensions: "(" [NAME ("," NAME)*] ")"
storage: STORED "IN" [storage_name] "(" fact_table ("," fact_table)* ")" ["START" STRING] ["END" STRING]
storage_name: "STORAGE" NAME ["ON" "CLUSTER" NAME]
fact_table: "TABLE" name [names] _fact_table_clause+  -> named_fact_table
          | _fact_table_clause+                 -> unnamed_fact_table
_fact_table_clause: period | periods | partitioned_by_time | raw | trusted | complete | valid_from | valid_to \
                  | retain
period: PERIOD NAME
periods: PERIODS "(" NAME ("," NAME)* ")"
partitioned_by_time: PARTITIONED "BY" NAME "AS" "(" layout_column ("," layout_column)* ")"
layout_column: NAME ["=" STRING]
raw: RAW ["(" raw_column ("," raw_column)* ")"]
raw_column: NAME "AS" EXPRESSION
trusted: TRUSTED
complete: COMPLETE "WITH" "ANY" NAME                                -> complete_with_any
        | COMPLETE "WITH" NAME "IN" "(" literal ("," literal)* ")"  -> complete_with
valid_from: START STRING
valid_to: END STRING
retain: RETAIN NUMBER NAME
drop_fact: "DROP" "FACT" [if_exists] name [CASCADE]
"""


@dataclass(frozen=True)
class LayoutColumn:
    """``column`` or ``column = 'pattern'`` in ``PARTITIONED BY time AS (…)``."""

    column: str
    pattern: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("layout_column")
def layout_column(column: Terminal, pattern: Terminal | None) -> LayoutColumn:
    return LayoutColumn(column.name, pattern.string if pattern else None, column.span)


@builds("partitioned_by_time")
def partitioned_by_time(word: Terminal, time: Terminal, *columns: LayoutColumn) -> Clause:
    refuse_duplicates([(column.column, column.span) for column in columns], str.lower)
    return Clause("PARTITIONED BY", (time.name, columns), word.span)


def layout_text(time: str, columns: Iterable[LayoutColumn]) -> str:
    parts = (
        quote_name(column.column) + ("" if column.pattern is None else f" = {quote(column.pattern)}")
        for column in columns
    )
    return f"PARTITIONED BY {quote_name(time)} AS {listed(parts)}"


@dataclass(frozen=True)
class CompleteWith:
    """``COMPLETE WITH column IN (…)``, or ``COMPLETE WITH ANY column`` (``values`` is ``None``)."""

    column: str
    values: tuple[Literal, ...] | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("complete_with")
def complete_with(word: Terminal, column: Terminal, *values: Literal) -> Clause:
    return Clause("COMPLETE", CompleteWith(column.name, values, column.span), word.span)


@builds("complete_with_any")
def complete_with_any(word: Terminal, column: Terminal) -> Clause:
    return Clause("COMPLETE", CompleteWith(column.name, None, column.span), word.span)


def complete_text(rule: CompleteWith) -> str:
    if rule.values is None:
        return f"COMPLETE WITH ANY {quote_name(rule.column)}"
    return f"COMPLETE WITH {quote_name(rule.column)} IN {listed(map(literal_text, rule.values))}"


@dataclass(frozen=True)
class RawColumn:
    """``column AS expression`` in ``RAW (…)``: a column of the cube, as the user's SQL over the table's columns."""

    column: str
    expression: str
    span: Span = field(default=Span(0, 0), compare=False)
    expression_span: Span = field(default=Span(0, 0), compare=False)


@builds("raw_column")
def raw_column(column: Terminal, expression: Terminal) -> RawColumn:
    return RawColumn(column.name, expression.token.text, column.span, expression.span)


@dataclass(frozen=True)
class FactTable:
    """One ``TABLE …`` of a storage block. ``periods`` are names of update periods, upper case.

    ``flags`` are read here and checked later: ``TRUSTED``, ``COMPLETE``. ``complete`` is the value of COMPLETE WITH,
    ``raw`` the value of RAW; ``None`` without it.
    ``start`` and ``end`` bound the time for which the table is used. ``columns`` are the columns of the cube that the
    table has; ``None`` if its own columns say that. ``retain`` is how long MAINTAIN FACT keeps its partitions.
    """

    table: Name | None
    periods: tuple[str, ...]
    partitioned_by: tuple[tuple[str, tuple[LayoutColumn, ...]], ...]
    flags: tuple[str, ...] = ()
    complete: tuple[CompleteWith, ...] = ()
    start: str | None = None
    end: str | None = None
    raw: tuple[RawColumn, ...] | None = None
    columns: tuple[str, ...] | None = None
    retain: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("named_fact_table")
def named_fact_table(name: Name, columns: tuple[str, ...] | None, *clauses: Clause) -> FactTable:
    return fact_table(name, name.span, clauses, columns)


@builds("unnamed_fact_table")
def unnamed_fact_table(*clauses: Clause) -> FactTable:
    return fact_table(None, clauses[0].span, clauses)


def fact_table(
    name: Name | None, span: Span, clauses: Sequence[Clause], columns: tuple[str, ...] | None = None
) -> FactTable:
    """Returns a table of a storage block; ``ParseError`` unless it has one period clause and a layout for each time, or
    is RAW and has neither: then a transform of its time says both.
    """
    repeatable = ("PARTITIONED BY", "COMPLETE")
    values = values_by_kind(clause for clause in clauses if clause.kind not in repeatable)
    layouts = [clause for clause in clauses if clause.kind == "PARTITIONED BY"]
    complete = [clause.value for clause in clauses if clause.kind == "COMPLETE"]
    refuse_duplicates([(clause.value[0], clause.span) for clause in layouts], str.lower)
    refuse_duplicates([(rule.column, rule.span) for rule in complete], str.lower)
    missing = "PERIOD" if "PERIOD" not in values else "PARTITIONED BY" if not layouts else None
    if missing and not ("RAW" in values and "PERIOD" not in values and not layouts):
        raise ParseError(
            f"A table of a fact lacks {missing}.",
            position=span,
            hint="Write TABLE t PERIOD DAILY PARTITIONED BY event_time AS (dt = 'yyyy-MM-dd').",
        )
    flags = (["TRUSTED"] if "TRUSTED" in values else []) + (["COMPLETE"] if complete else [])
    return FactTable(
        table=name,
        periods=values.get("PERIOD", ()),
        partitioned_by=tuple(clause.value for clause in layouts),
        flags=tuple(flags),
        complete=tuple(complete),
        raw=values.get("RAW"),
        start=values.get("START"),
        end=values.get("END"),
        columns=columns,
        retain=values.get("RETAIN"),
        span=span,
    )


@builds("period")
def period(word: Terminal, name: Terminal) -> Clause:
    return Clause("PERIOD", (period_name(name),), word.span)


@builds("periods")
def periods(word: Terminal, *names: Terminal) -> Clause:
    refuse_duplicates([(name.name, name.span) for name in names], str.lower)
    return Clause("PERIOD", tuple(period_name(name) for name in names), word.span)


@builds("raw")
def raw(word: Terminal, *columns: RawColumn | None) -> Clause:
    given_columns = tuple(column for column in columns if column is not None)
    refuse_duplicates([(column.column, column.span) for column in given_columns], str.lower)
    return Clause("RAW", given_columns, word.span)


def raw_text(columns: Sequence[RawColumn]) -> str:
    if not columns:
        return "RAW"
    return f"RAW {listed(f'{quote_name(column.column)} AS {column.expression}' for column in columns)}"


@builds("trusted")
def trusted(word: Terminal) -> Clause:
    return Clause("TRUSTED", True, word.span)


@builds("valid_from")
def valid_from(word: Terminal, bound: Terminal) -> Clause:
    return Clause("START", bound.string, word.span)


@builds("valid_to")
def valid_to(word: Terminal, bound: Terminal) -> Clause:
    return Clause("END", bound.string, word.span)


@builds("retain")
def retain(word: Terminal, number: Terminal, unit: Terminal) -> Clause:
    return Clause("RETAIN", length_of_time(number, unit), word.span)


def length_of_time(number: Terminal, unit: Terminal) -> str:
    """Returns ``90 DAYS`` as a length of time: ``90 days``. The statement checks it."""
    return f"{number.token.text} {unit.name.lower()}"


def retain_text(length: str | None) -> str | None:
    return None if length is None else f"RETAIN {length.upper()}"


def _periods_text(periods: Sequence[str]) -> str | None:
    if len(periods) == 1:
        return f"PERIOD {periods[0]}"
    return f"PERIODS {listed(periods)}" if periods else None


def fact_table_text(table: FactTable) -> str:
    return words(
        f"TABLE {name_text(table.table)}" if table.table is not None else None,
        names_text(table.columns),
        _periods_text(table.periods),
        *(layout_text(time, columns) for time, columns in table.partitioned_by),
        None if table.raw is None else raw_text(table.raw),
        *(flag for flag in table.flags if flag != "COMPLETE"),
        *map(complete_text, table.complete),
        option("START", table.start),
        option("END", table.end),
        retain_text(table.retain),
    )


@dataclass(frozen=True)
class FactStorage:
    """A storage block: ``STORED IN [STORAGE s [ON CLUSTER c]] ( … ) [START '…'] [END '…']``.

    ``name`` is ``default`` when unnamed.
    """

    name: str
    tables: tuple[FactTable, ...]
    cluster: str | None = None
    start: str | None = None
    end: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("storage")
def storage(keyword: Terminal, name_and_cluster: Any, *rest: Any) -> FactStorage:
    *tables, start, end = rest
    name, cluster, span = name_and_cluster or ("default", None, keyword.span)
    return FactStorage(
        name=name,
        tables=tuple(tables),
        cluster=cluster,
        start=start.string if start else None,
        end=end.string if end else None,
        span=span,
    )


@builds("storage_name")
def storage_name(name: Terminal, cluster: Terminal | None) -> tuple[str, str | None, Span]:
    return name.name, cluster.name if cluster else None, name.span


def storage_text(storage: FactStorage) -> str:
    has_name = storage.name != "default" or storage.cluster is not None
    return words(
        "STORED IN",
        f"STORAGE {quote_name(storage.name)}" if has_name else None,
        f"ON CLUSTER {quote_name(storage.cluster)}" if storage.cluster is not None else None,
        listed(map(fact_table_text, storage.tables)),
        option("START", storage.start),
        option("END", storage.end),
    )


@dataclass(frozen=True)
class Rollup:
    """``MONTHLY (page, country)`` of ROLLUPS: a period, and the dimensions of the rollup: all of them for ``None``, and
    none for ``MONTHLY ()``. ``retain`` is the length of ``RETAIN 2 YEARS``.
    """

    period: str
    dimensions: tuple[str, ...] | None = None
    retain: str | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("rollup")
def rollup(
    name: Terminal,
    dimensions: tuple[str, ...] | None,
    _word: Terminal | None,
    number: Terminal | None,
    unit: Terminal | None,
) -> Rollup:
    if dimensions is not None:
        refuse_duplicates([(dimension, name.span) for dimension in dimensions], str.lower)
    retain = None if number is None or unit is None else length_of_time(number, unit)
    return Rollup(period_name(name), dimensions, retain, name.span)


@builds("rollup_dimensions")
def rollup_dimensions(*names: Terminal | None) -> tuple[str, ...]:
    return tuple(name.name for name in names if name is not None)


@builds("rollups")
def rollups(_word: Terminal, *items: Rollup) -> tuple[Rollup, ...]:
    return items


def rollup_text(rollup: Rollup) -> str:
    return words(rollup.period, names_text(rollup.dimensions), retain_text(rollup.retain))


@dataclass(frozen=True, kw_only=True)
class CreateFact(Statement):
    name: Name
    cube: Name
    storages: tuple[FactStorage, ...]
    columns: tuple[str, ...] | None = None
    weight: int = 0
    lateness: str | None = None
    if_not_exists: bool = False
    rollups: tuple[Rollup, ...] = ()
    refresh_on_commit: bool = False
    lateness_span: Span = field(default=Span(0, 0), compare=False)

    def permanent_names(self) -> tuple[str, ...]:
        return "name", "cube"


@builds("refresh_on_commit")
def refresh_on_commit() -> bool:
    return True


@builds("create_fact")
def create_fact(if_not_exists: bool | None, name: Name, cube: Name, *rest: Any) -> CreateFact:
    columns, weight, lateness, on_commit, *storages, rollups = rest
    refuse_duplicates([(storage.name, storage.span) for storage in storages], str.lower)
    size = 0 if weight is None else whole_number(weight)
    if size is None:
        raise ParseError(
            "WEIGHT is a whole number of at most 18 digits.", position=weight.span, hint="Write WEIGHT 10."
        )
    return CreateFact(
        name=name,
        cube=cube,
        storages=tuple(storages),
        columns=columns,
        weight=size,
        lateness=lateness.string if lateness else None,
        if_not_exists=bool(if_not_exists),
        rollups=rollups or (),
        refresh_on_commit=bool(on_commit),
        lateness_span=lateness.span if lateness else Span(0, 0),
    )


@renders(CreateFact)
def create_fact_text(s: CreateFact) -> str:
    return words(
        "CREATE FACT",
        "IF NOT EXISTS" if s.if_not_exists else None,
        f"{name_text(s.name)} OF CUBE {name_text(s.cube)}",
        names_text(s.columns),
        f"WEIGHT {s.weight}" if s.weight else None,
        option("LATENESS", s.lateness),
        "REFRESH ON COMMIT" if s.refresh_on_commit else None,
        *map(storage_text, s.storages),
        f"ROLLUPS {listed(map(rollup_text, s.rollups))}" if s.rollups else None,
    )


@dataclass(frozen=True, kw_only=True)
class DropFact(Statement):
    """``DROP FACT f``, with CASCADE also the tables that ROLLUPS has created."""

    name: Name
    if_exists: bool = False
    cascade: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("drop_fact")
def drop_fact(if_exists: bool | None, name: Name, cascade: Terminal | None) -> DropFact:
    return DropFact(name=name, if_exists=bool(if_exists), cascade=cascade is not None)


@renders(DropFact)
def drop_fact_text(s: DropFact) -> str:
    return words(dropping("FACT", s.name, s.if_exists), "CASCADE" if s.cascade else None)
