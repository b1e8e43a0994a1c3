"""All partitions of a table under one list of write ids, out of those under another: what may differ is read alone."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from rewriter.catalog import reads, schema
from rewriter.catalog.database import Database
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.models import Partition, Table
from rewriter.catalog.stretches import MOST as PAGE
from rewriter.catalog.writeids import ValidWriteIdList

#: Where more partitions than that may differ, all are read anew.
MOST = 2_000


def renewed(
    database: Database, table: Table, ids: ValidWriteIdList, held: tuple[ValidWriteIdList, tuple[Partition, ...]] | None
) -> tuple[Partition, ...] | None:
    """All partitions of a table in key order as ``ids`` see them, of those that another list has seen; ``None`` where
    nothing is held, or more than ``MOST`` may differ.

    One statement that reads the index of versions alone, and one for each ``PAGE`` partitions that may differ.
    """
    if held is None:
        return None
    old_ids, old = held
    changed = _may_differ(database, table, ids, old_ids)
    if len(changed) > MOST:
        return None
    now: list[Partition] = []
    for some in reads.chunks(changed, PAGE):
        now += reads.partition_page(database, table, ids, [KeyRange.of_key(key) for key in some], len(some))
    others = set(changed)
    return tuple(sorted([*(one for one in old if one.key not in others), *now], key=attrgetter("key")))


def _may_differ(database: Database, table: Table, one: ValidWriteIdList, other: ValidWriteIdList) -> list[bytes]:
    """The keys of partitions of which two lists may see different rows, at most one more than ``MOST``.

    Rows are neither changed nor removed, but for being ended, so a list sees others only where a write that it sees,
    and the other does not, made or ended one. All that is above one of the lists counts as such.
    """
    row, whole = schema.partitions.c, KeyRange.of_prefix(prefix(table.id))
    low = min(one.high_water_mark, other.high_water_mark)
    between = sorted(id for id in one.invalid ^ other.invalid if id <= low)
    numbers: sa.BindParameter[Any] = sa.bindparam("between", between, expanding=True, literal_execute=True)

    def is_between(column: sa.Column[int]) -> sa.ColumnElement[bool]:
        above = sa.and_(column > low, column != schema.NEVER)
        return sa.or_(above, column.in_(numbers)) if between else above

    query = (
        sa.select(row.key)
        .where(row.key >= whole.start, row.key < whole.end, sa.or_(is_between(row.made), is_between(row.ended)))
        .distinct()
        .limit(MOST + 1)
    )
    with database.read() as connection:
        return list(connection.execute(query).scalars())
