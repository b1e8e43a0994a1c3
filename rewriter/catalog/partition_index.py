"""The entries of the secondary index, ``schema.partition_fields``: written with partitions, once for old catalogs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from rewriter.catalog import keys, schema
from rewriter.catalog.bulk import insert_rows
from rewriter.catalog.codec import decoded
from rewriter.catalog.models import Table

#: How many keys the filling of an old catalog holds in memory.
_BATCH = 10_000


def add_entries(connection: sa.Connection, table: Table, written: Iterable[bytes]) -> None:
    """The entries of these keys of a table; those that are there stay. One statement, run once for each entry."""
    columns = table.partition_columns
    if len(columns) < 2:
        return
    widths = [keys.width_of(column.type) for column in columns]
    places = [keys.place(table.id, number) for number in range(len(columns))]
    entries = [
        (place + field, key)
        for key in written
        for place, field in zip(places[1:], keys.split(widths, key)[1:], strict=True)
    ]
    # In the order of the index, whose pages are then met one after the other.
    entries.sort()
    insert_rows(connection, _insert(connection), ("place", "key"), entries)


def index_all(connection: sa.Connection) -> None:
    """The entries of all keys in the database. O(rows), in batches."""
    for table in _tables(connection):
        last = keys.prefix(table.id)
        while batch := _keys_behind(connection, last, keys.successor(keys.prefix(table.id))):
            add_entries(connection, table, batch)
            last = batch[-1]


def _insert(connection: sa.Connection) -> sa.Insert:
    """An INSERT that leaves an entry alone which is there already."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(schema.partition_fields).on_conflict_do_nothing()
    return postgresql.insert(schema.partition_fields).on_conflict_do_nothing()


def _tables(connection: sa.Connection) -> list[Table]:
    """Every table that there ever was and that has a secondary index. Its partition columns never change."""
    row = schema.objects.c
    query = sa.select(row.kind, row.object_id, row.name, row.definition).where(row.kind == "table").order_by(row.row_id)
    tables = {thing.id: thing for thing in (decoded(*found) for found in connection.execute(query))}
    return [table for table in tables.values() if isinstance(table, Table) and len(table.partition_columns) > 1]


def _keys_behind(connection: sa.Connection, last: bytes, end: bytes) -> Sequence[bytes]:
    key = schema.partitions.c.key
    query = sa.select(key).where(key > last, key < end).distinct().order_by(key).limit(_BATCH)
    return connection.execute(query).scalars().all()
