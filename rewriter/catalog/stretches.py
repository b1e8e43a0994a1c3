"""Rows whose key lies in stretches of keys: one statement for many stretches, answered by ranges of an index.

The stretches are the rows of a VALUES, and each of them is a range of the index that begins with the key column. SQLite
does so for a join. PostgreSQL knows nothing of bounds that are not constants and would sooner read the whole table than
many ranges that may hold a part of it each; a LATERAL subquery with an order of its own leaves it no choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.keys import KeyRange

#: The most stretches of one statement: two parameters each.
MOST = 256


def search(
    connection: sa.Connection,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
    stretches: Sequence[KeyRange],
) -> sa.Select[Any]:
    """SELECT of ``columns``, among them ``key``, from the key's table, where the conditions hold, in no order.

    Each row comes once if the stretches, at most ``MOST``, are apart from each other. Where each is one key, they are
    an IN, which takes a fraction of the time to build.
    """
    if len(stretches) == 1:
        (only,) = stretches
        return sa.select(*columns).where(key >= only.start, key < only.end, *conditions)
    if all(one.is_one_key for one in stretches):
        return sa.select(*columns).where(key.in_([one.start for one in stretches]), *conditions)
    return joined(connection.dialect, key, columns, conditions, *filled(stretches))


def joined(
    dialect: sa.Dialect,
    key: sa.Column[bytes],
    columns: Sequence[sa.Column[Any]],
    conditions: Sequence[sa.ColumnElement[bool]],
    size: int,
    values: Mapping[str, bytes],
) -> sa.Select[Any]:
    """The SELECT over ``size`` stretches, with the parameters that ``filled`` names; those without values have some."""
    given = _table(size, values)
    start, end = given.c.column1, given.c.column2
    if dialect.name == "sqlite":
        return sa.select(*columns).join_from(given, key.table, sa.and_(key >= start, key < end)).where(*conditions)
    each = sa.select(*columns).where(key >= start, key < end, *conditions).order_by(key).lateral("found")
    return sa.select(*each.c).join_from(given, each, sa.true())


def filled(stretches: Sequence[KeyRange]) -> tuple[int, dict[str, bytes]]:
    """How many rows a table of the stretches has, and its parameters: with empty stretches, so that few texts serve."""
    size = 1 << (len(stretches) - 1).bit_length()
    every = [*stretches, *[KeyRange(b"", b"")] * (size - len(stretches))]
    values = {f"start_{at}": one.start for at, one in enumerate(every)}
    return size, values | {f"end_{at}": one.end for at, one in enumerate(every)}


def _table(size: int, values: Mapping[str, bytes]) -> sa.CTE:
    columns = (sa.column("column1", sa.LargeBinary), sa.column("column2", sa.LargeBinary))
    return _text(size).bindparams(**values).columns(*columns).cte("stretches")


@cache
def _text(size: int) -> sa.TextClause:
    """``VALUES`` of so many rows of two parameters. To read it takes longer than to run it."""
    names = [(f"start_{at}", f"end_{at}") for at in range(size)]
    text = sa.text(f"VALUES {', '.join(f'(:{start}, :{end})' for start, end in names)}")
    return text.bindparams(*(sa.bindparam(name, b"", sa.LargeBinary) for pair in names for name in pair))
