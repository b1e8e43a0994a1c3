"""Many rows into a table, at little more than the driver's own cost."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import sqlalchemy as sa


def insert_rows(
    connection: sa.Connection, statement: sa.Insert, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Runs one INSERT for each row, whose values are in the order of ``columns``.

    The values go to the driver as they are (numbers, text, bytes, None), because what the columns' types would do to
    each of them takes longer than the insert itself.
    """
    if not rows:
        return
    compiled = statement.compile(dialect=connection.dialect, column_keys=list(columns))
    if not compiled.positional:
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        connection.exec_driver_sql(compiled.string, named)
        return
    in_order = itemgetter(*map(list(columns).index, compiled.positiontup or ()))
    connection.exec_driver_sql(compiled.string, list(map(in_order, rows)))
