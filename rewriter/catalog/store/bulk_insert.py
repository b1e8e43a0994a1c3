"""Bulk inserts into a table, at little more than the driver's own cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

import sqlalchemy as sa


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
