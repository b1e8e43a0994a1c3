"""Rows whose key lies in stretches of keys: one statement for many stretches, answered by ranges of an index.

The stretches are the rows of a VALUES, and each of them is a range of the index that begins with the key column. SQLite
does so for a join. PostgreSQL knows nothing of bounds that are not constants and would sooner read the whole table than
many ranges that may hold a part of it each; a LATERAL subquery with an order of its own leaves it no choice.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    given = _values(stretches)
    start, end = given.c.column1, given.c.column2
    if connection.dialect.name == "sqlite":
        return sa.select(*columns).join_from(given, key.table, sa.and_(key >= start, key < end)).where(*conditions)
    each = sa.select(*columns).where(key >= start, key < end, *conditions).order_by(key).lateral("found")
    return sa.select(*each.c).join_from(given, each, sa.true())


def _values(stretches: Sequence[KeyRange]) -> sa.CTE:
    """The stretches as a table of ``column1`` and ``column2``, filled up with empty ones, so that few texts serve."""
    size = 1 << (len(stretches) - 1).bit_length()
    filled = [*stretches, *[KeyRange(b"", b"")] * (size - len(stretches))]
    text = sa.text(f"VALUES {', '.join(f'(:start_{at}, :end_{at})' for at in range(size))}")
    values = {f"start_{at}": one.start for at, one in enumerate(filled)}
    values |= {f"end_{at}": one.end for at, one in enumerate(filled)}
    bounds = [sa.bindparam(name, value, sa.LargeBinary) for name, value in values.items()]
    columns = (sa.column("column1", sa.LargeBinary), sa.column("column2", sa.LargeBinary))
    return text.bindparams(*bounds).columns(*columns).cte("stretches")
