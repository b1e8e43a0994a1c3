"""Many rows into a table, at little more than the driver's own cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa


def insert_rows(
    connection: sa.Connection, statement: sa.Insert, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Runs one INSERT for each row, whose values are in the order of ``columns``.

    The values go to the driver as they are (numbers, text, bytes, None), because what the columns' types would do to
    each of them takes longer than the insert itself. A statement that is a constant is made into text only once.
    """
    if not rows:
        return
    text, given = _prepared(statement, connection.dialect, tuple(columns))
    connection.exec_driver_sql(text, list(map(given, rows)))


@lru_cache(maxsize=32)
def _prepared(
    statement: sa.Insert, dialect: sa.Dialect, columns: tuple[str, ...]
) -> tuple[str, Callable[[tuple[object, ...]], Any]]:
    """The statement's text, and what makes a row into what the driver takes with it."""
    compiled = statement.compile(dialect=dialect, column_keys=columns)
    if not compiled.positional:
        return compiled.string, lambda row: dict(zip(columns, row, strict=True))
    return compiled.string, itemgetter(*map(columns.index, compiled.positiontup or ()))
