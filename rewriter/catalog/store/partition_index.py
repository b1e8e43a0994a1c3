"""The entries of the secondary index, ``schema.partition_fields``: written with partitions, once for old catalogs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import sqlalchemy as sa

from rewriter.catalog.keys import encoding
from rewriter.catalog.model.json_codec import decoded
from rewriter.catalog.model.key_ranges import successor
from rewriter.catalog.model.objects import Table
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.bulk_insert import insert_rows
from rewriter.catalog.store.sql_differences import SqlDifferences, differences_of

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
        for entry_prefix, field in zip(prefixes[1:], encoding.split(widths, key)[1:], strict=True)
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
        object_.id: object_ for object_ in (decoded(*definition, warehouse) for definition in connection.execute(query))
    }
    return [table for table in tables.values() if isinstance(table, Table) and len(table.partition_columns) > 1]


def _keys_behind(connection: sa.Connection, last: bytes, end: bytes) -> Sequence[bytes]:
    key = schema.partitions.c.key
    query = sa.select(key).where(key > last, key < end).distinct().order_by(key).limit(_BATCH)
    return connection.execute(query).scalars().all()
