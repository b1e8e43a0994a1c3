"""CREATE CUBE, and DROP of cubes and facts. A cube's columns are checked against each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import CreateObject, DropObject
from rewriter.catalog.model.objects import (
    DEFAULT_PRECISION,
    KINDS_OF_ORDER,
    PRECISIONS,
    Aggregate,
    Column,
    Cube,
    Fact,
    Measure,
    Table,
    seen_from,
)
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar.families.cubes import CreateCube, CubeColumn, DropCube
from rewriter.grammar.families.facts import DropFact
from rewriter.grammar.statement_parts import refuse_duplicates
from rewriter.planner.rewrite.count_rewrites import ambiguity, declaration_hint
from rewriter.runtime.result import Result
from rewriter.runtime.statement_context import Context, single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.kept_proofs import proofs_at_stake
from rewriter.statements.define.tables import already_exists, plain_name
from rewriter.statements.resolve.named_objects import named_cube, named_fact
from rewriter.statements.resolve.partition_specs import check_unique
from rewriter.timeline.calendars import calendar_of

if TYPE_CHECKING:
    from rewriter.grammar.terms import Name
    from rewriter.timeline.calendars import Calendar


@runs(CreateCube, without_warehouse=True)
def create_cube(statement: CreateCube, context: Context) -> Result:
    """CREATE CUBE: columns with unique names, at least one TIME, COUNTED BY that names a COUNT measure.

    The name is plain; a cube of an earlier version may have another one. Warns where measures are declared COUNT but
    none is known to count events: COUNT(*) is refused then.
    """
    name = single(statement.name)
    try:
        calendar = calendar_of(statement.time_zone or "UTC")
    except Error as error:
        raise error.at(statement.name.span) from None
    if context.snapshot.named(name) is not None:
        if statement.if_not_exists:
            return Result("CREATE CUBE")
        raise already_exists(statement.name)
    with context.catalog.begin(context.snapshot) as transaction:
        cube = build_cube(statement, transaction.allocate_id(), calendar)
        try:
            transaction.commit([CreateObject(cube)])
        except Error as error:
            raise error.at(statement.name.span) from None
    warnings = (f"COUNT(*) is refused. {ambiguity(cube)} {declaration_hint(cube)}",) if cube.count_is_ambiguous else ()
    return Result("CREATE CUBE", warnings=warnings)


def build_cube(statement: CreateCube, id: int, calendar: Calendar) -> Cube:
    """Returns the cube that a statement declares, under its id. Raises INVALID_CUBE, and the errors of the name."""
    plain_name(statement.name, "cube")
    _check_columns(statement)
    return Cube(
        id=id,
        name=single(statement.name),
        dimensions=tuple(Column(c.name, c.type) for c in statement.columns if c.role == "DIMENSION"),
        measures=tuple(
            Measure(
                c.name,
                c.type,
                Aggregate(c.role),
                c.counted_by,
                c.not_null,
                c.events,
                c.bucketed_by,
                c.ordered_by,
                c.per,
                DEFAULT_PRECISION if c.role == "THETA_UNION" and c.precision is None else c.precision,
            )
            for c in statement.columns
            if c.role not in ("DIMENSION", "TIME")
        ),
        times=tuple(c.name for c in statement.columns if c.role == "TIME"),
        column_order=tuple(c.name for c in statement.columns),
        zone=calendar.zone,
    )


def _check_columns(statement: CreateCube) -> None:
    check_unique(statement.columns)
    by_name = {column.name.lower(): column for column in statement.columns}
    times = [column for column in statement.columns if column.role == "TIME"]
    if not times:
        raise _invalid_cube(
            "A cube needs a time dimension.", statement.name.span, "Add a column such as: departed TIMESTAMP TIME."
        )
    for time in times:
        if time.type != "timestamp":
            raise _invalid_cube(
                f"The time dimension {time.name} is a {time.type}.", time.span, "Declare it TIMESTAMP TIME."
            )
    for column in statement.columns:
        _check_measure(column, by_name)
    _check_marks([column for column in statement.columns if column.events])


_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


#: The types of measures of a kind that has few.
_TYPES_OF_KINDS = {
    "BOOL_AND": ("boolean",),
    "BOOL_OR": ("boolean",),
    "BIT_AND": ("tinyint", "smallint", "int", "bigint"),
    "BIT_OR": ("tinyint", "smallint", "int", "bigint"),
    "BITMAP_OR": ("binary",),
    "THETA_UNION": ("binary",),
}


def _check_measure(column: CubeColumn, by_name: dict[str, CubeColumn]) -> None:
    if column.role == "COUNT" and column.type not in ("bigint", "int"):
        raise _invalid_cube(
            f"The COUNT measure {column.name} is a {column.type}.", column.span, "Declare it BIGINT MEASURE COUNT."
        )
    if column.role == "SUM" and not column.type.startswith(_NUMBERS):
        raise _invalid_cube(f"A {column.type} cannot be summed.", column.span, "Give the measure a numeric type.")
    nested = ("array", "map", "struct", "variant")
    if (column.role in ("MIN", "MAX") and column.type.startswith((*nested, "binary"))) or (
        column.role in ("LAST", "FIRST") and column.type.startswith(nested)
    ):
        raise _invalid_cube(
            f"A {column.type} does not support {column.role}.", column.span, "Give the measure a plain type."
        )
    if column.role in _TYPES_OF_KINDS and column.type not in _TYPES_OF_KINDS[column.role]:
        types = " or ".join(map(str.upper, _TYPES_OF_KINDS[column.role]))
        raise _invalid_cube(
            f"A {column.role} measure cannot be {column.type.upper()}.", column.span, f"Declare {column.name} {types}."
        )
    if column.precision is not None and column.precision not in PRECISIONS:
        raise _invalid_cube(
            f"The precision {column.precision} of {column.name} is not from {PRECISIONS[0]} to {PRECISIONS[-1]}.",
            column.span,
            f"A sketch has 2^precision hashes. The relative standard error of {DEFAULT_PRECISION} is 1.6 percent.",
        )
    if column.bucketed_by is not None:
        bucket = by_name.get(column.bucketed_by.lower())
        if bucket is None or bucket.role != "DIMENSION" or bucket.type != "bigint":
            raise _invalid_cube(
                f"The measure {column.name} cannot be BUCKETED BY {column.bucketed_by}, which is no BIGINT dimension "
                "of this cube.",
                column.span,
                "Name a BIGINT dimension that has bitmap_bucket_number(id).",
            )
    if column.ordered_by is not None:
        _check_order(column, by_name)
    if column.counted_by is None:
        return
    counter = by_name.get(column.counted_by.lower())
    if column.role != "SUM" or counter is None or counter.role != "COUNT":
        reason = (
            "only a SUM measure can be counted"
            if column.role != "SUM"
            else f"{column.counted_by} is not a COUNT measure of this cube"
        )
        raise _invalid_cube(
            f"The measure {column.name} cannot be COUNTED BY {column.counted_by}: {reason}.",
            column.span,
            f"Declare {column.counted_by} BIGINT MEASURE COUNT: the number of rows where {column.name} is not NULL.",
        )


#: The types of the times of LAST and FIRST values.
_TYPES_OF_ORDER = ("timestamp", "date", "tinyint", "smallint", "int", "bigint")


def _check_order(column: CubeColumn, by_name: dict[str, CubeColumn]) -> None:
    kind = KINDS_OF_ORDER[Aggregate(column.role)].value
    order = by_name.get((column.ordered_by or "").lower())
    if order is None or order.role != kind or order.type not in _TYPES_OF_ORDER:
        raise _invalid_cube(
            f"The {column.role} measure {column.name} cannot be BY {column.ordered_by}, which is no {kind} measure of "
            "times or integers of this cube.",
            column.span,
            f"Declare {column.ordered_by} TIMESTAMP MEASURE {kind}: the time of each value of {column.name}.",
        )
    if column.not_null and not order.not_null:
        raise _invalid_cube(
            f"The measure {column.name} is NOT NULL, but rows without {order.name} have none.",
            column.span,
            f"Declare {order.name} NOT NULL, too.",
        )
    refuse_duplicates([(name, column.span) for name in column.per], str.lower)
    for name in column.per:
        if name.lower() not in by_name or by_name[name.lower()].role != "DIMENSION":
            raise _invalid_cube(
                f"{name} is no dimension of this cube.", column.span, "PER lists the dimensions of a series."
            )


def _check_marks(marked: list[CubeColumn]) -> None:
    if len(marked) > 1:
        first, second = marked[:2]
        raise _invalid_cube(
            f"Both {first.name} and {second.name} are declared to count the events of the cube.",
            second.span,
            "Keep EVENTS on the measure for COUNT(*), and remove it from the others.",
        )


def _invalid_cube(message: str, position: Span, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_CUBE", position=position, hint=hint)


@runs(DropCube)
def drop_cube(statement: DropCube, context: Context) -> Result:
    """DROP CUBE; refused while the cube has facts."""
    if statement.if_exists and not isinstance(context.snapshot.find(single(statement.name)), Cube):
        return Result("DROP CUBE")
    cube = named_cube(statement.name, context)
    return _drop((cube,), "DROP CUBE", statement.name, context)


@runs(DropFact)
def drop_fact(statement: DropFact, context: Context) -> Result:
    """DROP FACT; its storage tables stay, but CASCADE drops the tables that ROLLUPS has made."""
    if statement.if_exists and not isinstance(context.snapshot.find(single(statement.name)), Fact):
        return Result("DROP FACT")
    fact = named_fact(statement.name, context)
    made = [context.snapshot.table(table.table) for table in fact.tables if table.made]
    if statement.cascade:
        return _drop((fact, *made), "DROP FACT", statement.name, context)
    warnings = list(proofs_at_stake(fact, context))
    result = _drop((fact,), "DROP FACT", statement.name, context)
    if made:
        names = ", ".join(seen_from(context.snapshot.current, table.name) for table in made)
        warnings.append(f"the tables that ROLLUPS has made stay, until DROP TABLE drops them: {names}")
    return replace(result, warnings=tuple(warnings))


def _drop(objects: Iterable[Cube | Fact | Table], kind: str, name: Name, context: Context) -> Result:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([DropObject(object_) for object_ in objects])
        except Error as error:
            raise error.at(name.span) from None
    return Result(kind)


def not_supported(feature: str, position: Span, hint: str) -> NotSupportedError:
    """Returns the error for a feature that this version does not support yet."""
    return NotSupportedError(f"{feature} is not supported yet.", position=position, hint=hint)
