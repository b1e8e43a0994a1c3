"""Statements in the form of the driver: built once, run many times, without SQLAlchemy's work for each run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.store.sql_differences import differences_of
from rewriter.lazy_dataclass import dataclass

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
        """Returns all parameter values, with the values of one run."""
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
    """A dialect that equals the dialects of other connections to a server of the same version."""

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
        return prepare_statement(cast(Callable[..., sa.ClauseElement], build)(*shape), dialect)

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


def changed_rows(connection: sa.Connection, statement: Prepared, **values: object) -> int:
    """Returns the number of rows that a statement has changed."""
    if _is_embedded(connection):
        return _sqlite(connection, statement, values).rowcount
    return connection.exec_driver_sql(statement.text, statement.parameters(values)).rowcount


def _is_embedded(connection: sa.Connection) -> bool:
    return differences_of(connection.dialect).is_embedded


def _sqlite(connection: sa.Connection, statement: Prepared, values: Mapping[str, object]) -> sqlite3.Cursor:
    return cast(sqlite3.Cursor, connection.connection.cursor().execute(statement.text, statement.parameters(values)))


def prepare_statement(query: sa.ClauseElement, dialect: sa.Dialect) -> Prepared:
    """Prepares a statement for a dialect. Parameters that each run gives have a value all the same."""
    compiled = cast(Any, query.compile(dialect=dialect, compile_kwargs={"render_postcompile": True}))
    names = compiled.positiontup if compiled.positional else None
    return Prepared(str(compiled), compiled.params, None if names is None else tuple(names))


# Bulk inserts into a table, at little more than the driver's own cost.


def insert_rows(
    connection: sa.Connection, statement: sa.Insert, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Runs one INSERT, built once for all rows, for each row, whose values are in the order of ``columns``.

    The values go to the driver as they are (numbers, text, bytes, None), because the conversions by the columns' types
    would take longer than the insert itself.
    """
    if not rows:
        return
    text, names = _compiled(connection.dialect, statement, tuple(columns))
    if names is None:
        connection.exec_driver_sql(text, [dict(zip(columns, row, strict=True)) for row in rows])
        return
    in_order = itemgetter(*map(list(columns).index, names))
    connection.exec_driver_sql(text, list(map(in_order, rows)))


@lru_cache(maxsize=64)
def _compiled(dialect: sa.Dialect, statement: sa.Insert, columns: tuple[str, ...]) -> tuple[str, list[str] | None]:
    """Returns the text, and the columns in the order of its parameters if the driver uses positions."""
    compiled = statement.compile(dialect=dialect, column_keys=list(columns))
    return compiled.string, list(compiled.positiontup or ()) if compiled.positional else None


# Rows with keys in key ranges: one statement for many ranges, executed as ranges of an index.
#
# The key ranges are the rows of a VALUES, and each of them is a range of the index that begins with the key column.
# Each database has its own form of that join (``sql_differences``).

#: The maximum number of key ranges of one statement: two parameters each.
MOST = 256


def search(
    connection: sa.Connection,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
    ranges: Sequence[KeyRange],
) -> sa.Select[Any]:
    """Returns a SELECT of ``columns``, among them ``key``, from the key's table, of the rows that satisfy the
    conditions, unordered.

    Each row comes once if the ranges, at most ``MOST``, are disjoint. If each of them is one key, they become an IN,
    which takes a fraction of the time to build.
    """
    if len(ranges) == 1:
        (key_range,) = ranges
        return sa.select(*columns).where(key >= key_range.start, key < key_range.end, *conditions)
    if all(key_range.is_one_key for key_range in ranges):
        return sa.select(*columns).where(key.in_([key_range.start for key_range in ranges]), *conditions)
    return range_join(connection.dialect, key, columns, conditions, *range_parameters(ranges))


def range_join(
    dialect: sa.Dialect,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
    size: int,
    values: Mapping[str, bytes],
) -> sa.Select[Any]:
    """Returns the SELECT over ``size`` ranges, with the parameters of ``range_parameters``, which have defaults."""
    return differences_of(dialect).range_join(_table(size, values), key, columns, conditions)


def range_parameters(ranges: Sequence[KeyRange]) -> tuple[int, dict[str, bytes]]:
    """Returns the padded number of ranges and their parameters. Padding limits the number of SQL texts."""
    size = 1 << (len(ranges) - 1).bit_length()
    padded = [*ranges, *[KeyRange(b"", b"")] * (size - len(ranges))]
    values = {f"start_{index}": key_range.start for index, key_range in enumerate(padded)}
    return size, values | {f"end_{index}": key_range.end for index, key_range in enumerate(padded)}


def _table(size: int, values: Mapping[str, bytes]) -> sa.CTE:
    columns = (sa.column("column1", sa.LargeBinary), sa.column("column2", sa.LargeBinary))
    return _text(size).bindparams(**values).columns(*columns).cte("key_ranges")


@cache
def _text(size: int) -> sa.TextClause:
    """Returns a ``VALUES`` of so many rows of two parameters. Parsing it takes longer than running it."""
    names = [(f"start_{index}", f"end_{index}") for index in range(size)]
    text = sa.text(f"VALUES {', '.join(f'(:{start}, :{end})' for start, end in names)}")
    return text.bindparams(*(sa.bindparam(name, b"", sa.LargeBinary) for pair in names for name in pair))
