"""The differences between the SQL of SQLite and the SQL of PostgreSQL, as a value.

What differs in connections, locks and errors is in ``backend.Backend``; what one function of SQL needs is beside it,
registered with SQLAlchemy's compiler (``database_server``, ``filters.key_sql``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from rewriter.lazy_dataclass import dataclass


@dataclass(frozen=True)
class SqlDifferences:
    """What one database needs.

    ``is_embedded`` says that there is no server connection that can be lost: SQLAlchemy's own way, which takes five
    times the time of a short statement, has no advantage over the driver's then. ``insert_new`` builds an INSERT that
    ignores existing rows. ``range_join`` builds the SELECT of columns of the key's table for the rows whose key is in
    one of the ranges of a table ``(start, end)`` and that satisfy the conditions; each range is one of the index.
    ``raise_sequence`` sets the sequence of new values of a column of integers above the values that are there.
    """

    is_embedded: bool
    insert_new: Callable[[sa.Table], sa.Insert]
    range_join: Callable[
        [sa.CTE, sa.Column[bytes], Sequence[sa.Column[Any]], Sequence[sa.ColumnElement[bool]]], sa.Select[Any]
    ]
    raise_sequence: Callable[[sa.Connection, sa.Column[int]], None]


def differences_of(dialect: sa.Dialect) -> SqlDifferences:
    """Returns the differences of the database that a dialect is for. Raises ``KeyError`` for any other database."""
    return _BY_DIALECT[dialect.name]


def _insert_new_on_sqlite(table: sa.Table) -> sa.Insert:
    return sqlite.insert(table).on_conflict_do_nothing()


def _insert_new_on_postgresql(table: sa.Table) -> sa.Insert:
    from sqlalchemy.dialects import postgresql  # Loaded when it is used: a tenth of a second.

    return postgresql.insert(table).on_conflict_do_nothing()


def _plain_join(
    ranges: sa.CTE,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
) -> sa.Select[Any]:
    start, end = ranges.c.column1, ranges.c.column2
    return sa.select(*columns).join_from(ranges, key.table, sa.and_(key >= start, key < end)).where(*conditions)


def _lateral_join(
    ranges: sa.CTE,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
) -> sa.Select[Any]:
    """PostgreSQL cannot estimate bounds that are not constants, and would read the complete table instead of many
    ranges that may each hold a part of it. A LATERAL subquery with its own order prevents that.
    """
    start, end = ranges.c.column1, ranges.c.column2
    lateral = sa.select(*columns).where(key >= start, key < end, *conditions).order_by(key).lateral("found")
    return sa.select(*lateral.c).join_from(ranges, lateral, sa.true())


def _no_sequence(_connection: sa.Connection, _column: sa.Column[int]) -> None:
    """SQLite numbers new rows after the last one."""


def _raise_serial(connection: sa.Connection, column: sa.Column[int]) -> None:
    newest = connection.execute(sa.select(sa.func.max(column))).scalar()
    if newest is not None:
        sequence = sa.func.pg_get_serial_sequence(column.table.name, column.name)
        connection.execute(sa.select(sa.func.setval(sequence, newest)))


_BY_DIALECT = {
    "sqlite": SqlDifferences(
        is_embedded=True,
        insert_new=_insert_new_on_sqlite,
        range_join=_plain_join,
        raise_sequence=_no_sequence,
    ),
    "postgresql": SqlDifferences(
        is_embedded=False,
        insert_new=_insert_new_on_postgresql,
        range_join=_lateral_join,
        raise_sequence=_raise_serial,
    ),
}
