"""Partition and file rows as a commit reads and writes them: the live state, inside the write transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.bulk import insert_rows
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import DataFile, PartitionValues, Table
from rewriter.catalog.partition_index import add_entries
from rewriter.catalog.reads import chunks
from rewriter.catalog.timelines import end_rows


class LivePartition(NamedTuple):
    """A partition as the newest commit left it. ``row_id`` is 0 where it is not stored yet; ``properties`` are JSON."""

    key: bytes
    values: PartitionValues
    location: str | None
    rows: int | None
    bytes: int
    files: int
    row_id: int = 0
    properties: str | None = None


_ROW = schema.partitions.c
#: What a ``LivePartition`` is made of, in its order.
_COLUMNS = (
    _ROW.key, _ROW.partition_values, _ROW.location, _ROW.rows, _ROW.bytes, _ROW.files, _ROW.row_id, _ROW.properties,
)  # fmt: skip


@dataclass(frozen=True)
class Version:
    """What one commit writes into every row of one table: its write id, its number, and the query's source tables."""

    made: int
    commit_seq: int
    sources: Sequence[int] = ()


@dataclass(frozen=True)
class StoredPartition:
    """A live partition and what its row says of its content: up to which commit it knows the others, the ids of the
    tables that it was computed from, and the commit that wrote it.
    """

    live: LivePartition
    as_of: int
    sources: tuple[int, ...]
    commit_seq: int


def stored_by_key(connection: sa.Connection, keys: Sequence[bytes]) -> dict[bytes, StoredPartition]:
    """Those of the partitions that exist, with all that their rows say."""
    row = schema.partitions.c
    found: dict[bytes, StoredPartition] = {}
    for some in chunks(list(dict.fromkeys(keys))):
        query = sa.select(*_COLUMNS, row.as_of, row.sources, row.commit_seq)
        for values in connection.execute(query.where(row.ended == schema.NEVER, row.key.in_(some))):
            key, texts, *rest = values[:-3]
            as_of, sources, commit = values[-3:]
            live = LivePartition(key, tuple(json.loads(texts)), *rest)
            found[key] = StoredPartition(live, as_of, tuple(json.loads(sources)), commit)
    return found


def insert_stored(connection: sa.Connection, table: Table, written: Sequence[StoredPartition], made: int) -> None:
    """New versions of partitions, each with what it says of its content."""
    groups: dict[tuple[int, tuple[int, ...]], list[tuple[LivePartition, int]]] = {}
    for one in written:
        groups.setdefault((one.commit_seq, one.sources), []).append((one.live, one.as_of))
    for (commit_seq, sources), found in groups.items():
        insert_partitions(connection, table, found, Version(made, commit_seq, sources))


def live_by_key(connection: sa.Connection, keys: Sequence[bytes]) -> dict[bytes, LivePartition]:
    """Those of the partitions that exist."""
    found: dict[bytes, LivePartition] = {}
    for some in chunks(keys):
        found.update((live.key, live) for live in _live(connection, schema.partitions.c.key.in_(some)))
    return found


def live_in_range(connection: sa.Connection, keys: KeyRange) -> list[LivePartition]:
    """The partitions that exist in a key range, in key order."""
    row = schema.partitions
    return sorted(_live(connection, row.c.key >= keys.start, row.c.key < keys.end), key=lambda live: live.key)


def dropped_in_range(connection: sa.Connection, keys: KeyRange) -> list[LivePartition]:
    """The partitions of a key range that were dropped, as they were before, in key order."""
    row = schema.partitions
    query = (
        sa.select(*_COLUMNS, row.c.made, row.c.ended)
        .where(row.c.key >= keys.start, row.c.key < keys.end)
        .order_by(row.c.row_id)
    )
    newest = {key: rest for key, *rest in connection.execute(query)}
    return [
        LivePartition(key, tuple(json.loads(values)), *rest)
        for key, (values, *rest, made, ended) in sorted(newest.items())
        # A row that ended as it was made tells of a wipe.
        if ended not in (schema.NEVER, made)
    ]


def known_before(connection: sa.Connection, keys: Sequence[bytes]) -> set[bytes]:
    """Those of the partitions that exist, or once did."""
    row = schema.partitions
    found: set[bytes] = set()
    for some in chunks(keys):
        found.update(connection.execute(sa.select(row.c.key).where(row.c.key.in_(some)).distinct()).scalars())
    return found


def _live(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Iterable[LivePartition]:
    row = schema.partitions
    query = sa.select(*_COLUMNS).where(row.c.ended == schema.NEVER, *conditions)
    for key, values, *rest in connection.execute(query):
        yield LivePartition(key, tuple(json.loads(values)), *rest)


def insert_partitions(
    connection: sa.Connection, table: Table, written: Sequence[tuple[LivePartition, int]], version: Version
) -> None:
    """New versions of partitions, each with its ``as_of``, and the entries of new keys in the secondary index."""
    _insert_rows(connection, table, written, version, schema.NEVER)
    add_entries(connection, table, (live.key for live, _ in written))


def insert_tombstones(
    connection: sa.Connection, table: Table, removed: Sequence[LivePartition], version: Version
) -> None:
    """Rows that nobody sees, which tell that an OVERWRITE removed the content of these partitions."""
    _insert_rows(connection, table, [(live, -1) for live in removed], version, version.made)


#: What ``_insert_rows`` writes, in its order.
_WRITTEN = (
    "key", "partition_values", "location", "rows", "bytes", "files", "as_of", "properties",
    "table_id", "sources", "made", "ended", "commit_seq",
)  # fmt: skip


def _insert_rows(
    connection: sa.Connection,
    table: Table,
    written: Iterable[tuple[LivePartition, int]],
    version: Version,
    ended: int,
) -> None:
    common = (table.id, json.dumps(list(version.sources)), version.made, ended, version.commit_seq)
    encoded = cache(json.JSONEncoder(ensure_ascii=False).encode)  # Partitions share most of their values.
    rows = [
        (
            live.key, f"[{', '.join(map(encoded, live.values))}]", live.location, live.rows, live.bytes, live.files,
            as_of, live.properties, *common,
        )
        for live, as_of in written
    ]  # fmt: skip
    insert_rows(connection, schema.partitions.insert(), _WRITTEN, rows)


def insert_files(
    connection: sa.Connection, added: Mapping[bytes, Sequence[DataFile]], version: Version, *, base: bool
) -> None:
    """The files that a write added, by partition key."""
    rows = [
        {
            "key": key,
            "path": file.path,
            "rows": file.rows,
            "bytes": file.bytes,
            "base": base,
            "made": version.made,
            "ended": schema.NEVER,
            "commit_seq": version.commit_seq,
        }
        for key, files in added.items()
        for file in files
    ]
    if rows:
        connection.execute(schema.files.insert(), rows)


def live_files(connection: sa.Connection, keys: Sequence[bytes]) -> dict[bool, dict[bytes, list[DataFile]]]:
    """The files that these partitions have, by whether an OVERWRITE added them, and by partition key."""
    row = schema.files.c
    found: dict[bool, dict[bytes, list[DataFile]]] = {True: {}, False: {}}
    for some in chunks(keys):
        query = sa.select(row.key, row.path, row.rows, row.bytes, row.base).order_by(row.row_id)
        for key, path, count, size, base in connection.execute(
            query.where(row.key.in_(some), row.ended == schema.NEVER)
        ):
            found[base].setdefault(key, []).append(DataFile(path, count, size))
    return found


def end_partitions(connection: sa.Connection, gone: Sequence[LivePartition], made: int) -> None:
    """Ends the rows of these partitions; their files stay as they are."""
    end_rows(connection, schema.partitions, [live.row_id for live in gone], made)


def end_files(connection: sa.Connection, keys: Sequence[bytes], made: int) -> None:
    """Ends all files of the partitions with these keys."""
    row = schema.files
    for some in chunks(keys):
        connection.execute(sa.update(row).where(row.c.key.in_(some), row.c.ended == schema.NEVER).values(ended=made))
