"""Counts of partitions and of their rows, which the database makes. Rows are versioned as in ``queries``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading.queries import all_conditions, chunks, visible
from rewriter.catalog.store import range_query, schema


def partition_count(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    condition: sa.ColumnElement[bool] | None = None,
) -> int:
    """Returns the number of visible partitions in key ranges. One statement for up to ``range_query.MOST`` ranges."""
    row = schema.partitions
    conditions = all_conditions(visible(row, ids), condition)
    return sum(
        _count(connection, range_query.search(connection, row.c.key, (row.c.key,), conditions, chunk))
        for chunk in chunks(ranges, range_query.MOST)
    )


def row_total(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    condition: sa.ColumnElement[bool] | None = None,
) -> int | None:
    """Returns the number of rows in the visible partitions in disjoint key ranges; ``None`` if the rows of a file were
    not counted. One statement for up to ``range_query.MOST`` ranges.
    """
    row = schema.partitions
    conditions = all_conditions(visible(row, ids), condition)
    total = 0
    for chunk in chunks(ranges, range_query.MOST):
        columns = (row.c.key, row.c.rows, row.c.files)
        partition = range_query.search(connection, row.c.key, columns, conditions, chunk).subquery().c
        counted = sa.func.sum(sa.case((partition.files > 0, partition.rows)))
        uncounted = sa.func.count(sa.case((sa.and_(partition.files > 0, partition.rows.is_(None)), 1)))
        rows, files_without_count = connection.execute(sa.select(counted, uncounted)).one()
        if files_without_count:
            return None
        total += int(rows or 0)
    return total


def edge_key(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    condition: sa.ColumnElement[bool] | None = None,
    *,
    last: bool,
) -> bytes | None:
    """Returns the first or the last key of the visible partitions in sorted, disjoint key ranges that have rows.

    One statement for each range until one is found.
    """
    row = schema.partitions
    conditions = all_conditions((*visible(row, ids), row.c.files > 0, row.c.rows > 0), condition)
    for key_range in reversed(ranges) if last else ranges:
        query = range_query.search(connection, row.c.key, (row.c.key,), conditions, [key_range])
        key = connection.execute(query.order_by(row.c.key.desc() if last else row.c.key).limit(1)).scalar()
        if key is not None:
            return bytes(key)
    return None


def _count(connection: sa.Connection, query: sa.Select[Any]) -> int:
    counted = sa.select(sa.func.count()).select_from(query.subquery())
    return int(connection.execute(counted).scalar_one())
