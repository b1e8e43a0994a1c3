"""Cubes: CREATE, ALTER, DROP, SHOW."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from rewriter.errors import ParseError, Span
from rewriter.grammar.datatypes import check_type_depth
from rewriter.grammar.statement_parts import Clause, Terminal, values_by_kind, whole_number
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import (
    dropping,
    in_database_text,
    listed,
    name_text,
    names_text,
    option,
    quote_name,
    words,
)
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.terms import DatabaseName, Name

RULES = r"""
?statement: create_cube | alter_cube | drop_cube_columns | rename_cube_column | widen_cube_column | drop_cube
          | show_cubes | show_facts

create_cube: "CREATE" "CUBE" [if_not_exists] name cube_columns ["TIME" "ZONE" STRING]
cube_columns: "(" cube_column ("," cube_column)* ")"
cube_column: NAME type                                                       -> dimension
           | NAME type TIME                                                  -> time_dimension
           | NAME type "MEASURE" _measure_kind _measure_option*              -> measure
_measure_kind: COUNT | SUM | MIN | MAX | BOOL_AND | BOOL_OR | BIT_AND | BIT_OR | BITMAP_OR | THETA_UNION | LAST
             | FIRST
_measure_option: counted_by | bucketed_by | precision | ordered_by | events | not_null
counted_by: COUNTED "BY" NAME
bucketed_by: BUCKETED "BY" NAME
precision: PRECISION NUMBER
ordered_by: "BY" NAME PER names
events: EVENTS
alter_cube: "ALTER" "CUBE" name "ADD" ("COLUMN" | "COLUMNS")? cube_columns
drop_cube_columns: "ALTER" "CUBE" name "DROP" ("COLUMN" | "COLUMNS")? ("(" NAME ("," NAME)* ")" | NAME) [CASCADE]
rename_cube_column: "ALTER" "CUBE" name "RENAME" "COLUMN"? NAME "TO" NAME [CASCADE]
widen_cube_column: "ALTER" "CUBE" name "ALTER" "COLUMN"? NAME "TYPE" type
drop_cube: "DROP" "CUBE" [if_exists] name
show_cubes: "SHOW" "CUBES" [in_database]
show_facts: "SHOW" "FACTS" [in_database]
"""


@dataclass(frozen=True)
class CubeColumn:
    """A column of CREATE CUBE.

    ``role`` is ``DIMENSION``, ``TIME``, or the aggregate of a measure (``COUNT``, ``SUM``, ``MIN``, …).
    ``events`` marks the COUNT measure that counts events.
    """

    name: str
    type: str
    role: str = "DIMENSION"
    counted_by: str | None = None
    not_null: bool = False
    events: bool = False
    bucketed_by: str | None = None
    ordered_by: str | None = None
    per: tuple[str, ...] = ()
    precision: int | None = None
    span: Span = field(default=Span(0, 0), compare=False)


@builds("dimension")
def dimension(name: Terminal, type_: str) -> CubeColumn:
    check_type_depth(type_, name.span)
    return CubeColumn(name.name, type_, span=name.span)


@builds("time_dimension")
def time_dimension(name: Terminal, type_: str, _word: Terminal) -> CubeColumn:
    return CubeColumn(name.name, type_, "TIME", span=name.span)


@builds("measure")
def measure(name: Terminal, type_: str, aggregate: Terminal, *options: Clause) -> CubeColumn:
    values = values_by_kind(options)
    counter = values.get("COUNTED BY")
    if counter and aggregate.type != "SUM":
        raise ParseError(
            f"COUNTED BY is only for a measure declared SUM, not {aggregate.type}.",
            position=next(option.span for option in options if option.kind == "COUNTED BY"),
            hint="COUNTED BY names the COUNT measure that makes AVG of a SUM measure possible.",
        )
    if "EVENTS" in values and aggregate.type != "COUNT":
        raise ParseError(
            f"EVENTS is only for a measure declared COUNT, not {aggregate.type}.",
            position=next(option.span for option in options if option.kind == "EVENTS"),
            hint="MEASURE COUNT EVENTS is the measure that COUNT(*) sums.",
        )
    bucket = values.get("BUCKETED BY")
    if (bucket is not None) is not (aggregate.type == "BITMAP_OR"):
        raise ParseError(
            "BUCKETED BY is only for a measure declared BITMAP_OR."
            if bucket is not None
            else f"The BITMAP_OR measure {name.name} does not say which dimension has its bucket.",
            position=name.span if bucket is None else next(o.span for o in options if o.kind == "BUCKETED BY"),
            hint="Write MEASURE BITMAP_OR BUCKETED BY a dimension that has bitmap_bucket_number(id).",
        )
    precision = values.get("PRECISION")
    if precision is not None and aggregate.type != "THETA_UNION":
        raise ParseError(
            f"PRECISION is only for a measure declared THETA_UNION, not {aggregate.type}.",
            position=next(option.span for option in options if option.kind == "PRECISION"),
            hint="PRECISION is the binary logarithm of how many hashes a sketch has: MEASURE THETA_UNION PRECISION 12.",
        )
    order, per = values.get("BY", (None, ()))
    if (order is not None) is not (aggregate.type in ("LAST", "FIRST")):
        raise ParseError(
            f"BY and PER are only for a measure declared LAST or FIRST, not {aggregate.type}."
            if order is not None
            else f"The {aggregate.type} measure {name.name} does not say by which measure, and of which series.",
            position=name.span if order is None else next(o.span for o in options if o.kind == "BY"),
            hint="Write MEASURE LAST BY a MAX measure of times PER (the dimensions of a series).",
        )
    not_null, events = "NOT NULL" in values, "EVENTS" in values
    return CubeColumn(
        name.name, type_, aggregate.type, counter, not_null, events, bucket, order, per, precision, span=name.span
    )


@builds("counted_by")
def counted_by(word: Terminal, name: Terminal) -> Clause:
    return Clause("COUNTED BY", name.name, word.span)


@builds("bucketed_by")
def bucketed_by(word: Terminal, name: Terminal) -> Clause:
    return Clause("BUCKETED BY", name.name, word.span)


@builds("precision")
def precision(word: Terminal, number: Terminal) -> Clause:
    precision = whole_number(number)
    if precision is None:
        raise ParseError(
            f"The precision {number.token.text} is not a whole number.",
            position=number.span,
            hint="Write MEASURE THETA_UNION PRECISION 12.",
        )
    return Clause("PRECISION", precision, word.span)


@builds("ordered_by")
def ordered_by(name: Terminal, word: Terminal, dimensions: tuple[str, ...]) -> Clause:
    return Clause("BY", (name.name, dimensions), word.span)


@builds("events")
def events(word: Terminal) -> Clause:
    return Clause("EVENTS", True, word.span)


def cube_column_text(column: CubeColumn) -> str:
    measure = column.role not in ("DIMENSION", "TIME")
    return words(
        quote_name(column.name),
        column.type,
        f"MEASURE {column.role}" if measure else "TIME" if column.role == "TIME" else None,
        "EVENTS" if column.events else None,
        f"COUNTED BY {quote_name(column.counted_by)}" if column.counted_by is not None else None,
        f"BUCKETED BY {quote_name(column.bucketed_by)}" if column.bucketed_by is not None else None,
        f"PRECISION {column.precision}" if column.precision is not None else None,
        f"BY {quote_name(column.ordered_by)} PER {names_text(column.per)}" if column.ordered_by is not None else None,
        "NOT NULL" if column.not_null else None,
    )


@dataclass(frozen=True, kw_only=True)
class CreateCube(Statement):
    name: Name
    columns: tuple[CubeColumn, ...]
    if_not_exists: bool = False
    time_zone: str | None = None

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("create_cube")
def create_cube(
    if_not_exists: bool | None, name: Name, columns: tuple[CubeColumn, ...], zone: Terminal | None
) -> CreateCube:
    return CreateCube(
        name=name,
        columns=columns,
        if_not_exists=bool(if_not_exists),
        time_zone=zone.string if zone else None,
    )


@builds("cube_columns")
def cube_columns(*columns: CubeColumn) -> tuple[CubeColumn, ...]:
    return columns


@renders(CreateCube)
def create_cube_text(s: CreateCube) -> str:
    return words(
        "CREATE CUBE",
        "IF NOT EXISTS" if s.if_not_exists else None,
        name_text(s.name),
        listed(map(cube_column_text, s.columns)),
        option("TIME ZONE", s.time_zone),
    )


@dataclass(frozen=True, kw_only=True)
class AlterCube(Statement):
    """``ALTER CUBE c ADD (column, …)``: dimensions and measures that the base has already."""

    name: Name
    columns: tuple[CubeColumn, ...]

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("alter_cube")
def alter_cube(name: Name, columns: tuple[CubeColumn, ...]) -> AlterCube:
    return AlterCube(name=name, columns=columns)


@renders(AlterCube)
def alter_cube_text(s: AlterCube) -> str:
    return f"ALTER CUBE {name_text(s.name)} ADD {listed(map(cube_column_text, s.columns))}"


@dataclass(frozen=True, kw_only=True)
class DropCubeColumns(Statement):
    """``ALTER CUBE c DROP (column, …) [CASCADE]``: with CASCADE, views are dropped."""

    name: Name
    columns: tuple[str, ...]
    cascade: bool = False
    spans: tuple[Span, ...] = field(default=(), compare=False)

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("drop_cube_columns")
def drop_cube_columns(name: Name, *columns_and_cascade: Any) -> DropCubeColumns:
    *columns, cascade = columns_and_cascade
    return DropCubeColumns(
        name=name,
        cascade=cascade is not None,
        columns=tuple(column.name for column in columns),
        spans=tuple(column.span for column in columns),
    )


@renders(DropCubeColumns)
def drop_cube_columns_text(s: DropCubeColumns) -> str:
    change = f"DROP {listed(map(quote_name, s.columns))}"
    return words(f"ALTER CUBE {name_text(s.name)}", change, "CASCADE" if s.cascade else None)


@dataclass(frozen=True, kw_only=True)
class RenameCubeColumn(Statement):
    """``ALTER CUBE c RENAME COLUMN a TO b [CASCADE]``: with CASCADE, views follow."""

    name: Name
    column: str
    to: str
    cascade: bool = False
    column_span: Span = field(default=Span(0, 0), compare=False)
    to_span: Span = field(default=Span(0, 0), compare=False)

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("rename_cube_column")
def rename_cube_column(name: Name, column: Terminal, to: Terminal, cascade: Terminal | None) -> RenameCubeColumn:
    return RenameCubeColumn(
        name=name,
        column=column.name,
        to=to.name,
        cascade=cascade is not None,
        column_span=column.span,
        to_span=to.span,
    )


@renders(RenameCubeColumn)
def rename_cube_column_text(s: RenameCubeColumn) -> str:
    change = f"RENAME COLUMN {quote_name(s.column)} TO {quote_name(s.to)}"
    return words(f"ALTER CUBE {name_text(s.name)}", change, "CASCADE" if s.cascade else None)


@dataclass(frozen=True, kw_only=True)
class WidenCubeColumn(Statement):
    """``ALTER CUBE c ALTER column TYPE type``: a type that holds all values of the old one."""

    name: Name
    column: str
    type: str
    column_span: Span = field(default=Span(0, 0), compare=False)

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("widen_cube_column")
def widen_cube_column(name: Name, column: Terminal, type_: str) -> WidenCubeColumn:
    return WidenCubeColumn(name=name, column=column.name, type=type_, column_span=column.span)


@renders(WidenCubeColumn)
def widen_cube_column_text(s: WidenCubeColumn) -> str:
    return f"ALTER CUBE {name_text(s.name)} ALTER {quote_name(s.column)} TYPE {s.type}"


@dataclass(frozen=True, kw_only=True)
class DropCube(Statement):
    name: Name
    if_exists: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("drop_cube")
def drop_cube(if_exists: bool | None, name: Name) -> DropCube:
    return DropCube(name=name, if_exists=bool(if_exists))


@renders(DropCube)
def drop_cube_text(s: DropCube) -> str:
    return dropping("CUBE", s.name, s.if_exists)


@dataclass(frozen=True, kw_only=True)
class ShowCubes(Statement):
    """``SHOW CUBES`` or, with ``facts``, ``SHOW FACTS``."""

    facts: bool = False
    database: DatabaseName | None = None


@builds("show_cubes")
def show_cubes(database: DatabaseName | None) -> ShowCubes:
    return ShowCubes(database=database)


@builds("show_facts")
def show_facts(database: DatabaseName | None) -> ShowCubes:
    return ShowCubes(facts=True, database=database)


@renders(ShowCubes)
def show_cubes_text(s: ShowCubes) -> str:
    return words("SHOW FACTS" if s.facts else "SHOW CUBES", in_database_text(s.database))
