"""VACUUM's part in exposed tables: the directories that clients may still read (``catalog.commit.exposures``).

Rows of partitions stay when they end, so they say until when a directory was the newest one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.commit.exposures import EXPOSED, NOTHING
from rewriter.catalog.commit.reserved_properties import is_exposed
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.json_codec import decoded
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.stored_rows import properties_in
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of


def needed_directories(connection: sa.Connection, table_id: int, limit: int) -> set[str]:
    """Returns the directories of a table, below that of the table, that a state after the commit ``limit`` names; none
    if the table was not exposed in any of them.

    Two statements, and O(partitions and versions since then).
    """
    if not _was_exposed(connection, table_id, limit):
        return set()
    row, keys = schema.partitions, KeyRange.of_prefix(prefix(table_id))
    query = _since(sa.select(row.c.key, row.c.properties), row, table_id, limit).where(
        row.c.key >= keys.start, row.c.key < keys.end, row.c.properties.is_not(None)
    )
    named = (properties_in(text, key).get(EXPOSED) for key, text in connection.execute(query))
    return {NOTHING, *(directory for directory in named if directory is not None)}


def written_tables(connection: sa.Connection, ids: Collection[int]) -> set[int]:
    """Returns those of the ids under which this catalog has begun to write a table. Others are of another catalog."""
    row = schema.write_ids.c
    found: set[int] = set()
    for chunk in chunks(sorted(ids)):
        query = sa.select(row.object_id).where(row.object_id.in_(chunk)).distinct()
        found.update(connection.execute(query).scalars())
    return found


def _was_exposed(connection: sa.Connection, table_id: int, limit: int) -> bool:
    row, warehouse = schema.objects, warehouse_of(connection)
    columns = sa.select(row.c.kind, row.c.object_id, row.c.name, row.c.definition)
    query = _since(columns, row, table_id, limit).where(row.c.object_id == table_id, row.c.kind == "table")
    versions = (decoded(*values, warehouse) for values in connection.execute(query))
    return any(isinstance(version, Table) and is_exposed(version) for version in versions)


def _since(query: sa.Select[Any], row: sa.Table, table_id: int, limit: int) -> sa.Select[Any]:
    """Returns a query of those rows of a table that are current, or that a commit after ``limit`` ended."""
    ender = schema.write_ids.c
    ended_by = sa.and_(ender.object_id == table_id, ender.write_id == row.c.ended)
    return query.join_from(row, schema.write_ids, ended_by, isouter=True).where(
        sa.or_(row.c.ended == schema.NEVER, ender.commit_seq > limit)
    )
