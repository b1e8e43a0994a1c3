"""Rows with keys in stretches of keys: one statement for many stretches, executed as ranges of an index.

The stretches are the rows of a VALUES, and each of them is a range of the index that begins with the key column. SQLite
does so for a join. PostgreSQL cannot estimate bounds that are not constants, and would rather read the whole table than
many ranges that may each hold a part of it; a LATERAL subquery with its own order leaves it no choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange

#: The maximum number of stretches of one statement: two parameters each.
MOST = 256


def search(
    connection: sa.Connection,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
    stretches: Sequence[KeyRange],
) -> sa.Select[Any]:
    """Returns a SELECT of ``columns``, among them ``key``, from the key's table, where the conditions hold, unordered.

    Each row comes once if the stretches, at most ``MOST``, are disjoint. If each of them is one key, they become an IN,
    which takes a fraction of the time to build.
    """
    if len(stretches) == 1:
        (only,) = stretches
        return sa.select(*columns).where(key >= only.start, key < only.end, *conditions)
    if all(stretch.is_one_key for stretch in stretches):
        return sa.select(*columns).where(key.in_([stretch.start for stretch in stretches]), *conditions)
    return joined(connection.dialect, key, columns, conditions, *filled(stretches))


def joined(
    dialect: sa.Dialect,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
    size: int,
    values: Mapping[str, bytes],
) -> sa.Select[Any]:
    """Returns the SELECT over ``size`` stretches, with the parameters of ``filled``, which have defaults."""
    stretch_table = _table(size, values)
    start, end = stretch_table.c.column1, stretch_table.c.column2
    if dialect.name == "sqlite":
        return (
            sa.select(*columns).join_from(stretch_table, key.table, sa.and_(key >= start, key < end)).where(*conditions)
        )
    lateral = sa.select(*columns).where(key >= start, key < end, *conditions).order_by(key).lateral("found")
    return sa.select(*lateral.c).join_from(stretch_table, lateral, sa.true())


def filled(stretches: Sequence[KeyRange]) -> tuple[int, dict[str, bytes]]:
    """Returns the padded number of stretches and their parameters. Padding limits the number of SQL texts."""
    size = 1 << (len(stretches) - 1).bit_length()
    padded = [*stretches, *[KeyRange(b"", b"")] * (size - len(stretches))]
    values = {f"start_{at}": stretch.start for at, stretch in enumerate(padded)}
    return size, values | {f"end_{at}": stretch.end for at, stretch in enumerate(padded)}


def _table(size: int, values: Mapping[str, bytes]) -> sa.CTE:
    columns = (sa.column("column1", sa.LargeBinary), sa.column("column2", sa.LargeBinary))
    return _text(size).bindparams(**values).columns(*columns).cte("stretches")


@cache
def _text(size: int) -> sa.TextClause:
    """Returns a ``VALUES`` of so many rows of two parameters. Parsing it takes longer than running it."""
    names = [(f"start_{at}", f"end_{at}") for at in range(size)]
    text = sa.text(f"VALUES {', '.join(f'(:{start}, :{end})' for start, end in names)}")
    return text.bindparams(*(sa.bindparam(name, b"", sa.LargeBinary) for pair in names for name in pair))
