"""The newest row of a partition, and what a row records that has ended.

Each commit that changes a partition ends its row and inserts the next. The newest row of a key is the one with the
highest ``row_id``, as commits run one after the other. Write ids would not tell: a lower one may commit later.

A row that ended in the version that made it is a tombstone: no reader ever saw it. It records that the content was
removed without retention: by an OVERWRITE of its period, by a drop while a stream filled it, or because the partition
has another name now. Any other ended row that is the newest of its key records a drop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import cache
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.keys import encoding
from rewriter.catalog.model.json_codec import decode_object
from rewriter.catalog.model.key_ranges import KeyRange, successor
from rewriter.catalog.model.objects import Table
from rewriter.catalog.store import prepared_statements, schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.prepared_statements import insert_rows
from rewriter.catalog.store.sql_differences import SqlDifferences, differences_of


class RowState(Enum):
    """The state of a partition, by the newest row of its key."""

    LIVE = auto()
    DROPPED = auto()
    WIPED = auto()


def state_of(made: int, ended: int) -> RowState:
    """Returns what a row says that these write ids made and ended, if it is the newest of its key.

    >>> state_of(made=3, ended=schema.NEVER), state_of(made=3, ended=5), state_of(made=5, ended=tombstone_end(5))
    (<RowState.LIVE: 1>, <RowState.DROPPED: 2>, <RowState.WIPED: 3>)
    """
    if ended == schema.NEVER:
        return RowState.LIVE
    return RowState.WIPED if ended == tombstone_end(made) else RowState.DROPPED


def tombstone_end(made: int) -> int:
    """Returns the ``ended`` of a tombstone that a write makes."""
    return made


def newest_rows(
    connection: sa.Connection, columns: Sequence[sa.Column[Any]], ranges: Sequence[KeyRange]
) -> sa.Subquery:
    """Returns ``columns`` of the newest row of each key in the disjoint ranges, live or not, unordered.

    ``columns`` are some of ``schema.partitions``; ``ranges`` are at most ``range_query.MOST``. Reads all versions of
    the keys, and no more of them than the index has.
    """
    row = schema.partitions.c
    versions = prepared_statements.search(connection, row.key, (row.key, row.row_id), (), ranges).subquery()
    newest = sa.select(sa.func.max(versions.c.row_id)).group_by(versions.c.key)
    return sa.select(*columns).where(row.row_id.in_(newest)).subquery("newest")


# The entries of the secondary index, ``schema.partition_fields``: written with partitions, once for old catalogs.

#: The number of keys that are held in memory while an old catalog is indexed.
_BATCH = 10_000


def add_entries(connection: sa.Connection, table: Table, keys: Iterable[bytes]) -> None:
    """Inserts the entries of these keys of a table; existing ones stay. One statement, run once for each entry."""
    columns = table.partition_columns
    if len(columns) < 2:
        return
    widths = [encoding.width_of(column.type) for column in columns]
    prefixes = [encoding.entry_prefix(table.id, number) for number in range(len(columns))]
    entries = [
        (entry_prefix + field, key)
        for key in keys
        for entry_prefix, field in zip(prefixes[1:], encoding.split_key(widths, key)[1:], strict=True)
    ]
    # In the order of the index, so that its pages are visited one after the other.
    entries.sort()
    insert_rows(connection, _insert(differences_of(connection.dialect)), ("place", "key"), entries)


def index_all(connection: sa.Connection) -> None:
    """Inserts the entries of all keys in the database. O(rows), in batches."""
    for table in _tables(connection):
        last = encoding.prefix(table.id)
        while batch := _keys_behind(connection, last, successor(encoding.prefix(table.id))):
            add_entries(connection, table, batch)
            last = batch[-1]


@cache
def _insert(differences: SqlDifferences) -> sa.Insert:
    """Returns an INSERT that ignores existing entries."""
    return differences.insert_new(schema.partition_fields)


def _tables(connection: sa.Connection) -> list[Table]:
    """Returns every table that ever existed with a secondary index. Its partition columns never change."""
    row = schema.objects.c
    query = sa.select(row.kind, row.object_id, row.name, row.definition).where(row.kind == "table").order_by(row.row_id)
    warehouse = warehouse_of(connection)
    tables = {
        object_.id: object_
        for object_ in (decode_object(*definition, warehouse) for definition in connection.execute(query))
    }
    return [table for table in tables.values() if isinstance(table, Table) and len(table.partition_columns) > 1]


def _keys_behind(connection: sa.Connection, last: bytes, end: bytes) -> Sequence[bytes]:
    key = schema.partitions.c.key
    query = sa.select(key).where(key > last, key < end).distinct().order_by(key).limit(_BATCH)
    return connection.execute(query).scalars().all()
