"""Copies of objects and tables, as a snapshot sees them, from a catalog into an empty one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.store import schema
from rewriter.catalog.store.bulk_insert import insert_rows

#: The number of rows that are in memory while they are copied.
_BATCH = 10_000


def copy_objects(source: sa.Connection, target: sa.Connection, sequence: int) -> None:
    """Copies all objects as the snapshot of a commit sees them, and the counters of a catalog. O(objects)."""
    row, maker, ender = schema.objects.c, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    visible = (
        sa.select(*_columns(schema.objects, ended=sa.literal(schema.NEVER)))
        .join_from(schema.objects, maker, _is_id(maker, row.object_id, row.made))
        .join(ender, _is_id(ender, row.object_id, row.ended), isouter=True)
        .where(maker.c.commit_seq <= sequence, sa.or_(ender.c.commit_seq.is_(None), ender.c.commit_seq > sequence))
        .order_by(row.row_id)
    )
    _insert(target, schema.objects, _rows(source, visible))
    # The write id that made each object. All others of a table come with its rows.
    makers = sa.select(schema.write_ids).join_from(
        schema.write_ids, schema.objects, _is_id(schema.write_ids, row.object_id, row.made)
    )
    is_kept = set(map(tuple, target.execute(sa.select(row.object_id, row.made))))
    _insert(target, schema.write_ids, (ids for ids in _rows(source, makers.distinct()) if ids[:2] in is_kept))
    counter = schema.counters
    for name, value in source.execute(sa.select(counter.c.name, counter.c.value)):
        newest = sequence if name == "commit" else value
        target.execute(sa.update(counter).where(counter.c.name == name).values(value=newest))


def copy_tables(source: sa.Connection, target: sa.Connection, tables: Collection[int], sequence: int) -> None:
    """Copies all versions of the partitions, files and timelines of tables that the snapshot of a commit may see.

    A row that a later commit has ended is live in the copy. O(rows of the tables), in batches.
    """
    for table_id in sorted(tables):
        _copy_write_ids(source, target, table_id, sequence)
        keys = KeyRange.of_prefix(prefix(table_id))
        write_id = schema.write_ids.c
        seen = sa.select(write_id.write_id).where(write_id.object_id == table_id, write_id.commit_seq <= sequence)
        for table, is_of_table in (
            (schema.partitions, schema.partitions.c.table_id == table_id),
            (schema.files, _within(schema.files.c.key, keys)),
            (schema.timeline_ranges, schema.timeline_ranges.c.table_id == table_id),
        ):
            ended = sa.case((table.c.ended.in_(seen), table.c.ended), else_=schema.NEVER)
            query = sa.select(*_columns(table, ended=ended)).where(is_of_table, table.c.made.in_(seen))
            # The newest version of a key is the one that was inserted last.
            _insert(target, table, _rows(source, query.order_by(table.c.row_id)))
        place = schema.partition_fields.c.place
        entries = sa.select(schema.partition_fields).where(_within(place, keys)).order_by(place)
        _insert(target, schema.partition_fields, _rows(source, entries))


def _copy_write_ids(source: sa.Connection, target: sa.Connection, table_id: int, sequence: int) -> None:
    """Copies the write ids of a table up to a commit, and the transactions that held them."""
    ids, transaction = schema.write_ids.c, schema.transactions.c
    copied_ids = set(target.execute(sa.select(ids.write_id).where(ids.object_id == table_id)).scalars())
    of_table = (ids.object_id == table_id, ids.commit_seq <= sequence)
    new_ids = _rows(source, sa.select(schema.write_ids).where(*of_table))
    _insert(target, schema.write_ids, (row for row in new_ids if row[1] not in copied_ids))
    copied_transactions = set(target.execute(sa.select(transaction.transaction_id)).scalars())
    holders = sa.select(schema.transactions).where(
        transaction.transaction_id.in_(sa.select(ids.transaction_id).where(*of_table))
    )
    _insert(target, schema.transactions, (row for row in _rows(source, holders) if row[0] not in copied_transactions))


def _columns(table: sa.Table, ended: sa.ColumnElement[int]) -> list[sa.ColumnElement[Any]]:
    """Returns the columns of a versioned table in order, without the number of the row."""
    columns = [column for column in table.c if column.name != "row_id"]
    return [ended.label("ended") if column.name == "ended" else column for column in columns]


def _within(key: sa.Column[bytes], keys: KeyRange) -> sa.ColumnElement[bool]:
    return sa.and_(key >= keys.start, key < keys.end)


def _is_id(ids: Any, object_id: sa.Column[int], write_id: sa.Column[int]) -> sa.ColumnElement[bool]:
    return sa.and_(ids.c.object_id == object_id, ids.c.write_id == write_id)


def _rows(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in connection.execute(query).partitions(_BATCH):
        yield from map(tuple, batch)


def _insert(connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[Any, ...]]) -> None:
    columns = [column.name for column in table.c if column.name != "row_id"]
    batch: list[tuple[Any, ...]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            insert_rows(connection, table.insert(), columns, batch)
            batch = []
    insert_rows(connection, table.insert(), columns, batch)
