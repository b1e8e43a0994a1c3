"""Statements in the form of the driver: built once, run many times, without SQLAlchemy's work for each run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import sqlalchemy as sa

from rewriter.catalog.store.sql_differences import differences_of

_Shape = ParamSpec("_Shape")
_Built = TypeVar("_Built")


@dataclass(frozen=True)
class Prepared:
    """The text of a statement in the driver's form, and the constant values of its parameters.

    ``names`` are the parameters in their order if the driver uses positions.
    """

    text: str
    constants: Mapping[str, object]
    names: tuple[str, ...] | None

    def parameters(self, values: Mapping[str, object]) -> Mapping[str, object] | tuple[object, ...]:
        """Returns all parameter values, with those of one run."""
        all_values = {**self.constants, **values}
        return all_values if self.names is None else tuple(map(all_values.__getitem__, self.names))

    def parameter_sets(
        self, name: str, column: Iterable[object], **common: object
    ) -> list[Mapping[str, object] | tuple[object, ...]]:
        """Returns the parameter values of many runs that differ in one parameter."""
        if self.names is None:
            return [{**self.constants, **common, name: value} for value in column]
        values = {**self.constants, **common}
        position = self.names.index(name)
        values_before = tuple(map(values.__getitem__, self.names[:position]))
        values_after = tuple(map(values.__getitem__, self.names[position + 1 :]))
        return [(*values_before, value, *values_after) for value in column]


@dataclass(frozen=True)
class _SameDialect:
    """A dialect that equals those of other connections to a server of the same version."""

    name: str
    driver: str
    server_version: tuple[int, ...] | None
    dialect: sa.Dialect = field(compare=False)


def per_dialect(
    build: Callable[Concatenate[sa.Dialect, _Shape], _Built],
) -> Callable[Concatenate[sa.Dialect, _Shape], _Built]:
    """Decorates a function of a dialect and hashable arguments: its results are cached, at most 64.

    Catalogs on servers of one version share them, so that opening another catalog compiles no statement again.
    """

    @lru_cache(maxsize=64)
    def built(same: _SameDialect, *shape: Any) -> _Built:
        return cast(Callable[..., _Built], build)(same.dialect, *shape)

    def of_dialect(dialect: sa.Dialect, *shape: Any) -> _Built:
        version = getattr(dialect, "server_version_info", None)
        return built(_SameDialect(dialect.name, dialect.driver, version, dialect), *shape)

    return cast(Callable[Concatenate[sa.Dialect, _Shape], _Built], of_dialect)


def once(build: Callable[_Shape, sa.ClauseElement]) -> Callable[Concatenate[sa.Dialect, _Shape], Prepared]:
    """Decorates a builder of a statement: the result is prepared once for each kind of dialect and set of arguments."""

    def built(dialect: sa.Dialect, *shape: Any) -> Prepared:
        return prepared(cast(Callable[..., sa.ClauseElement], build)(*shape), dialect)

    return cast(Callable[Concatenate[sa.Dialect, _Shape], Prepared], per_dialect(built))


def fetch(connection: sa.Connection, statement: Prepared, **values: object) -> list[tuple[Any, ...]]:
    """Returns all rows of a statement in the connection's transaction, as the driver makes them."""
    if _is_embedded(connection):
        return _sqlite(connection, statement, values).fetchall()
    with connection.exec_driver_sql(statement.text, statement.parameters(values)) as result:
        return cast(list[tuple[Any, ...]], cast(Any, result.cursor).fetchall())


def fetch_value(connection: sa.Connection, statement: Prepared, **values: object) -> Any:
    """Returns the first value of the first row of a statement; ``None`` if there is no row."""
    rows = fetch(connection, statement, **values)
    return rows[0][0] if rows else None


def changed(connection: sa.Connection, statement: Prepared, **values: object) -> int:
    """Returns the number of rows that a statement has changed."""
    if _is_embedded(connection):
        return _sqlite(connection, statement, values).rowcount
    return connection.exec_driver_sql(statement.text, statement.parameters(values)).rowcount


def _is_embedded(connection: sa.Connection) -> bool:
    return differences_of(connection.dialect).is_embedded


def _sqlite(connection: sa.Connection, statement: Prepared, values: Mapping[str, object]) -> sqlite3.Cursor:
    return cast(sqlite3.Cursor, connection.connection.cursor().execute(statement.text, statement.parameters(values)))


def prepared(query: sa.ClauseElement, dialect: sa.Dialect) -> Prepared:
    """Prepares a statement for a dialect. Parameters that each run gives have a value all the same."""
    compiled = cast(Any, query.compile(dialect=dialect, compile_kwargs={"render_postcompile": True}))
    names = compiled.positiontup if compiled.positional else None
    return Prepared(str(compiled), compiled.params, None if names is None else tuple(names))
