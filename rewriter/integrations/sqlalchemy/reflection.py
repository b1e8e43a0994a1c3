"""The catalog as inspectors read it, in the state that the connection's next statement sees.

Cubes and facts are listed as tables, because queries read them as such. No engine starts, except for the columns of a
view that only an engine can determine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import exc
from sqlalchemy.engine import reflection

from rewriter.catalog.model.json_codec import Object
from rewriter.catalog.model.objects import Column, Cube, Fact, Table, View
from rewriter.catalog.model.qualified_names import database_of, full_name, short_name
from rewriter.catalog.model.temporary_names import session_of, shown
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.errors import Error
from rewriter.integrations.sqlalchemy.types import column_type
from rewriter.session import Session
from rewriter.statements.resolve.named_objects import columns_of_view

#: The name of the index that stands for the partition columns, as that of Trino's dialect.
PARTITION_INDEX = "partition"


class CatalogReflection:
    """The methods of a dialect that inspectors call. A missing object raises ``NoSuchTableError``."""

    @reflection.cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        with _catalog(connection) as (_, snapshot):
            return [database.name for database in snapshot.databases()]

    @reflection.cache
    def has_schema(self, connection: Any, schema_name: str, **kw: Any) -> bool:
        return schema_name.lower() in self.get_schema_names(connection, **kw)

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (session, snapshot):
            return _names((*snapshot.tables(), *snapshot.cubes(), *snapshot.facts()), schema or session.database)

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (session, snapshot):
            return _names(snapshot.views(), schema or session.database)

    @reflection.cache
    def get_temp_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (_, snapshot):
            return _temporary(snapshot.tables())

    @reflection.cache
    def get_temp_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        with _catalog(connection) as (_, snapshot):
            return _temporary(snapshot.views())

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        with _catalog(connection) as (session, snapshot):
            return _found(session, snapshot, table_name, schema) is not None

    @reflection.cache
    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        object_ = _object(connection, view_name, schema)
        if not isinstance(object_, View):
            raise _missing(view_name, schema)
        return object_.query

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        with _catalog(connection) as (session, snapshot):
            object_ = _require(session, snapshot, table_name, schema)
            columns = _columns(object_, snapshot)
        if isinstance(object_, View) and not (columns and all(column.type for column in columns)):
            columns = self._described(connection, table_name, schema, columns)
        return [_column(column) for column in columns]

    @reflection.cache
    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        object_ = _object(connection, table_name, schema)
        if not isinstance(object_, Table) or not object_.partition_columns:
            return []
        names = [column.name for column in object_.partition_columns]
        return [{"name": PARTITION_INDEX, "column_names": names, "unique": False}]

    @reflection.cache
    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return {"text": getattr(_object(connection, table_name, schema), "comment", None)}

    @reflection.cache
    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        object_ = _object(connection, table_name, schema)
        if not isinstance(object_, Table):
            return {}
        options: dict[str, Any] = {"rewriter_format": object_.format}
        if object_.partition_columns:
            options["rewriter_partitioned_by"] = tuple(column.name for column in object_.partition_columns)
        return options

    @reflection.cache
    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        _object(connection, table_name, schema)
        return {"constrained_columns": [], "name": None}

    @reflection.cache
    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        return _no_constraints(connection, table_name, schema)

    @reflection.cache
    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        return _no_constraints(connection, table_name, schema)

    @reflection.cache
    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        return _no_constraints(connection, table_name, schema)

    def _described(self, connection: Any, name: str, schema: str | None, columns: list[Column]) -> list[Column]:
        """Returns the columns of a view as the engine determines them, with the comments that the catalog has."""
        quote: Callable[[str], str] = connection.dialect.identifier_preparer.quote_identifier
        view = quote(name) if schema is None else f"{quote(schema)}.{quote(name)}"
        rows = connection.exec_driver_sql(f"DESCRIBE QUERY SELECT * FROM {view}").all()
        comments = {column.name: column.comment for column in columns}
        return [Column(row[0], row[1], comments.get(row[0])) for row in rows]


@contextmanager
def _catalog(connection: Any) -> Iterator[tuple[Session, Snapshot]]:
    """Yields the session and the state of its next statement. Errors become those of SQLAlchemy."""
    try:
        session: Session = connection.connection.dbapi_connection.session
        yield session, session.snapshot()
    except Error as error:
        wrapped = exc.DBAPIError.instance(None, None, error, Error, dialect=connection.dialect)
        raise wrapped from error


def _object(connection: Any, name: str, schema: str | None) -> Object:
    with _catalog(connection) as (session, snapshot):
        return _require(session, snapshot, name, schema)


def _require(session: Session, snapshot: Snapshot, name: str, schema: str | None) -> Object:
    object_ = _found(session, snapshot, name, schema)
    if object_ is None:
        raise _missing(name, schema)
    return object_


def _found(session: Session, snapshot: Snapshot, name: str, schema: str | None) -> Object | None:
    """Returns the object that a query would read under the name; ``None`` if there is none."""
    temporary = None if schema is not None else snapshot.temporary_view(name) or snapshot.temporary(name)
    if temporary is None and "." in name:
        return None
    found = temporary or snapshot.named(full_name(schema or session.database, name))
    return found if isinstance(found, Table | View | Cube | Fact) else None


def _missing(name: str, schema: str | None) -> exc.NoSuchTableError:
    return exc.NoSuchTableError(name if schema is None else f"{schema}.{name}")


def _names(objects: Iterable[Any], database: str) -> list[str]:
    """Returns the names of the stored objects of a database."""
    return [
        short_name(object_.name)
        for object_ in objects
        if session_of(object_.name) is None and database_of(object_.name) == database.lower()
    ]


def _temporary(objects: Iterable[Any]) -> list[str]:
    return [shown(short_name(object_.name)) for object_ in objects if session_of(object_.name) is not None]


def _columns(object_: Object, snapshot: Snapshot) -> list[Column]:
    if isinstance(object_, Table):
        return list(object_.all_columns)
    if isinstance(object_, View):
        return columns_of_view(object_, snapshot)
    if isinstance(object_, Cube):
        return _cube_columns(object_, object_.column_order)
    assert isinstance(object_, Fact)
    cube = snapshot.cube(object_.cube)
    return _cube_columns(cube, cube.column_order if object_.columns is None else object_.columns)


def _cube_columns(cube: Cube, names: Iterable[str]) -> list[Column]:
    """Returns the dimensions, measures and times of these names."""
    columns = {column.name.lower(): column for column in cube.dimensions}
    columns |= {measure.name.lower(): Column(measure.name, measure.type) for measure in cube.measures}
    columns |= {time.lower(): Column(time, "timestamp") for time in cube.times}
    return [columns[name.lower()] for name in names]


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column_type(column.type),
        "nullable": True,
        "default": column.default,
        "comment": column.comment,
    }


def _no_constraints(connection: Any, name: str, schema: str | None) -> list[Any]:
    _object(connection, name, schema)
    return []
