"""Rows with keys in key ranges: one statement for many ranges, executed as ranges of an index.

The key ranges are the rows of a VALUES, and each of them is a range of the index that begins with the key column.
Each database has its own form of that join (``sql_differences``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.store.sql_differences import differences_of

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
