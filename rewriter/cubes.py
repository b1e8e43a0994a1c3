"""CREATE CUBE, and DROP of cubes and facts. A cube's columns are checked against each other."""

from __future__ import annotations

from rewriter.catalog.changes import CreateObject, DropObject
from rewriter.catalog.models import Aggregate, Column, Cube, Fact, Measure
from rewriter.context import Context, single
from rewriter.ddl import already_exists
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.result import Result
from rewriter.showing import named_cube, named_fact
from rewriter.specs import check_unique
from rewriter.timeline.calendars import calendar_of


def create_cube(statement: s.CreateCube, context: Context) -> Result:
    """CREATE CUBE: columns with unique names, at least one TIME, COUNTED BY that names a COUNT measure."""
    name = single(statement.name)
    try:
        calendar = calendar_of(statement.time_zone or "UTC")
    except Error as error:
        raise error.at(statement.name.span) from None
    if context.snapshot.named(name) is not None:
        if statement.if_not_exists:
            return Result("CREATE CUBE")
        raise already_exists(statement.name)
    _check_columns(statement)
    with context.catalog.begin(context.snapshot) as transaction:
        cube = Cube(
            id=transaction.allocate_id(),
            name=name,
            dimensions=tuple(Column(c.name, c.type) for c in statement.columns if c.role == "DIMENSION"),
            measures=tuple(
                Measure(c.name, c.type, Aggregate(c.role), c.counted_by, c.not_null)
                for c in statement.columns
                if c.role not in ("DIMENSION", "TIME")
            ),
            times=tuple(c.name for c in statement.columns if c.role == "TIME"),
            column_order=tuple(c.name for c in statement.columns),
            zone=calendar.zone,
        )
        try:
            transaction.commit([CreateObject(cube)])
        except Error as error:
            raise error.at(statement.name.span) from None
    return Result("CREATE CUBE")


def _check_columns(statement: s.CreateCube) -> None:
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


_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def _check_measure(column: s.CubeColumn, by_name: dict[str, s.CubeColumn]) -> None:
    if column.role == "COUNT" and column.type not in ("bigint", "int"):
        raise _invalid_cube(
            f"The COUNT measure {column.name} is a {column.type}.", column.span, "Declare it BIGINT MEASURE COUNT."
        )
    if column.role == "SUM" and not column.type.startswith(_NUMBERS):
        raise _invalid_cube(f"A {column.type} cannot be summed.", column.span, "Give the measure a number's type.")
    if column.role in ("MIN", "MAX") and column.type.startswith(("array", "map", "struct", "binary")):
        raise _invalid_cube(f"A {column.type} has no {column.role}.", column.span, "Give the measure a plain type.")
    if column.counted_by is None:
        return
    counter = by_name.get(column.counted_by.lower())
    if column.role != "SUM" or counter is None or counter.role != "COUNT":
        reason = (
            "only a SUM measure is counted"
            if column.role != "SUM"
            else f"{column.counted_by} is no COUNT measure of this cube"
        )
        raise _invalid_cube(
            f"The measure {column.name} cannot be COUNTED BY {column.counted_by}: {reason}.",
            column.span,
            f"Declare {column.counted_by} BIGINT MEASURE COUNT: the number of rows where {column.name} is not NULL.",
        )


def _invalid_cube(message: str, position: Span, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_CUBE", position=position, hint=hint)


def drop_cube(statement: s.DropCube, context: Context) -> Result:
    """DROP CUBE; refused while it has facts."""
    if statement.if_exists and not isinstance(context.snapshot.find(single(statement.name)), Cube):
        return Result("DROP CUBE")
    cube = named_cube(statement.name, context)
    return _drop(cube, "DROP CUBE", statement.name, context)


def drop_fact(statement: s.DropFact, context: Context) -> Result:
    """DROP FACT; its storage tables stay."""
    if statement.if_exists and not isinstance(context.snapshot.find(single(statement.name)), Fact):
        return Result("DROP FACT")
    fact = named_fact(statement.name, context)
    return _drop(fact, "DROP FACT", statement.name, context)


def _drop(found: Cube | Fact, kind: str, name: s.Name, context: Context) -> Result:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([DropObject(found)])
        except Error as error:
            raise error.at(name.span) from None
    return Result(kind)


def not_supported(what: str, position: Span, hint: str) -> NotSupportedError:
    """The refusal of something that a later version will answer."""
    return NotSupportedError(f"{what} is not supported yet.", position=position, hint=hint)
