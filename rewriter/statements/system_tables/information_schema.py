"""The tables of ``information_schema``: databases, tables, columns and views, with the names of the SQL standard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewriter.catalog.model.json_codec import Object
from rewriter.catalog.model.objects import Column, Cube, Fact, Table, View
from rewriter.catalog.model.qualified_names import CATALOG, DEFAULT_DATABASE, database_of
from rewriter.catalog.model.system_tables import SYSTEM_TABLES, SystemTable, is_system_database
from rewriter.catalog.model.temporary_names import session_of
from rewriter.runtime.result import Row
from rewriter.statements.system_tables.system_read import SystemRead, schema_and_name


def schemata(read: SystemRead) -> Iterator[Row]:
    """Yields the databases, including those of system tables."""
    warehouse = read.context.catalog.warehouse.absolute()
    for database in read.context.snapshot.all_databases():
        below = warehouse if database.name == DEFAULT_DATABASE else warehouse / f"{database.name}.db"
        location = None if is_system_database(database) else database.location or str(below)
        yield CATALOG, database.name, database.comment, location


def tables(read: SystemRead) -> Iterator[Row]:
    """Yields the tables, views, cubes and facts that the session sees, and the system tables.

    ``table_type`` is BASE TABLE, VIEW, LOCAL TEMPORARY, TEMPORARY VIEW, CUBE, FACT or SYSTEM TABLE.
    """
    for object_ in _objects(read):
        is_table = isinstance(object_, Table)
        is_stored = is_table and not isinstance(object_, SystemTable)
        yield (
            CATALOG,
            *schema_and_name(object_),
            _type_of(object_),
            "YES" if is_stored else "NO",
            object_.comment if isinstance(object_, Table | View) else None,
            object_.format if isinstance(object_, Table) and is_stored else None,
            object_.location if isinstance(object_, Table) and is_stored else None,
        )


def views(read: SystemRead) -> Iterator[Row]:
    """Yields the views with the texts of their queries."""
    for view in read.among(read.context.snapshot.views()):
        if isinstance(view, View):
            yield CATALOG, *schema_and_name(view), view.query, view.comment


def columns(read: SystemRead) -> Iterator[Row]:
    """Yields the columns of all that ``tables`` lists, partition columns last, as ``SELECT *`` has them.

    The columns of a view are those that its query has now: none if it cannot be read. ``extra_info`` is
    ``partition key``, or the role of a cube's column: ``dimension``, ``time`` or ``measure sum``.
    """
    cubes = {cube.name.lower(): cube for cube in read.context.snapshot.cubes()}
    for object_ in _objects(read):
        match object_:
            case Table():
                described = [(column, "YES", _partition_key(column, object_)) for column in object_.all_columns]
            case View():
                described = [(column, "YES", None) for column in read.view_columns(object_)]
            case Cube():
                described = _of_cube(object_, object_.column_order)
            case Fact():
                cube = cubes.get(object_.cube.lower())
                described = [] if cube is None else _of_cube(cube, _columns_of_fact(object_, cube))
            case _:
                continue
        for position, (column, is_nullable, role) in enumerate(described, 1):
            yield (
                CATALOG,
                *schema_and_name(object_),
                column.name,
                position,
                column.default,
                is_nullable,
                column.type or None,
                column.comment,
                role,
            )


def _objects(read: SystemRead) -> Iterator[Object]:
    """Yields everything that a query can name in FROM, system tables last."""
    snapshot = read.context.snapshot
    system_tables = [t for t in SYSTEM_TABLES.values() if snapshot.system_database(database_of(t.name)) is not None]
    yield from read.tables()
    for objects in (snapshot.views(), snapshot.cubes(), snapshot.facts(), system_tables):
        yield from read.among(objects)


def _type_of(object_: Object) -> str:
    match object_:
        case SystemTable():
            return "SYSTEM TABLE"
        case Table():
            return "BASE TABLE" if session_of(object_.name) is None else "LOCAL TEMPORARY"
        case View():
            return "VIEW" if session_of(object_.name) is None else "TEMPORARY VIEW"
    return type(object_).__name__.upper()


def _partition_key(column: Column, table: Table) -> str | None:
    is_key = column in table.partition_columns and not isinstance(table, SystemTable)
    return "partition key" if is_key else None


def _of_cube(cube: Cube, names: Sequence[str]) -> list[tuple[Column, str, str | None]]:
    """Returns columns of a cube, each with whether it may be NULL, and its role."""
    dimensions = {column.name: column for column in cube.dimensions}
    measures = {measure.name: measure for measure in cube.measures}
    described: list[tuple[Column, str, str | None]] = []
    for name in names:
        if name in dimensions:
            described.append((dimensions[name], "YES", "dimension"))
        elif name in measures:
            measure = measures[name]
            role = f"measure {measure.aggregate.value.lower()}"
            described.append((Column(name, measure.type), "NO" if measure.not_null else "YES", role))
        else:
            described.append((Column(name, "timestamp"), "YES", "time"))
    return described


def _columns_of_fact(fact: Fact, cube: Cube) -> Sequence[str]:
    if fact.columns is None:
        return cube.column_order
    own = {name.lower() for name in fact.columns}
    return [name for name in cube.column_order if name.lower() in own]
