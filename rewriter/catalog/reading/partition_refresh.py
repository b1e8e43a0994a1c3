"""Refresh of all partitions of a table from one list of write ids to another: reads only partitions that may differ."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.catalog.store.prepared_statements import MOST as PAGE

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Partition, Table
    from rewriter.catalog.model.write_ids import ValidWriteIdList
    from rewriter.catalog.store.database import Database

#: If more partitions than this may differ, all are read again.
MOST = 2_000


def renewed(
    database: Database,
    table: Table,
    ids: ValidWriteIdList,
    cached: tuple[ValidWriteIdList, tuple[Partition, ...]] | None,
) -> tuple[Partition, ...] | None:
    """Returns all partitions of a table in key order as ``ids`` see them, from the partitions that another list has
    seen.

    Returns ``None`` if nothing is cached, or more than ``MOST`` may differ. Runs one statement that reads only the
    index of versions, and one for each ``PAGE`` partitions that may differ.
    """
    if cached is None:
        return None
    old_ids, old_partitions = cached
    changed = _may_differ(database, table, ids, old_ids)
    if len(changed) > MOST:
        return None
    reread: list[Partition] = []
    for chunk in queries.chunks(changed, PAGE):
        reread += queries.partition_page(database, table, ids, [KeyRange.of_key(key) for key in chunk], len(chunk))
    changed_keys = set(changed)
    return tuple(
        sorted(
            [*(partition for partition in old_partitions if partition.key not in changed_keys), *reread],
            key=attrgetter("key"),
        )
    )


def _may_differ(database: Database, table: Table, first: ValidWriteIdList, second: ValidWriteIdList) -> list[bytes]:
    """Returns the keys for which two lists may see different rows, at most one more than ``MOST``.

    Rows are never changed or removed, only ended. So two lists differ only in rows that a write made or ended which
    one of the lists does not see. All writes above one of the lists count as such.
    """
    row, table_range = schema.partitions.c, KeyRange.of_prefix(prefix(table.id))
    low = min(first.high_water_mark, second.high_water_mark)
    hidden_ids = sorted(id for id in first.invalid ^ second.invalid if id <= low)
    numbers: sa.BindParameter[Any] = sa.bindparam("between", hidden_ids, expanding=True, literal_execute=True)

    def is_hidden(column: sa.Column[int]) -> sa.ColumnElement[bool]:
        is_later = sa.and_(column > low, column != schema.NEVER)
        return sa.or_(is_later, column.in_(numbers)) if hidden_ids else is_later

    query = (
        sa.select(row.key)
        .where(
            row.key >= table_range.start, row.key < table_range.end, sa.or_(is_hidden(row.made), is_hidden(row.ended))
        )
        .distinct()
        .limit(MOST + 1)
    )
    with database.read() as connection:
        return list(connection.execute(query).scalars())
