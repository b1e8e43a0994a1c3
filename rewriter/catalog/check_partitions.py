"""What must hold of one table: its partitions, their keys and statistics, their files, their secondary index."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog import keys, schema
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Table
from rewriter.catalog.vacuum import Known
from rewriter.catalog.values import partition_name
from rewriter.errors import Error

#: What it is about, and what is off.
Problem = tuple[str, str]


@dataclass
class _Amount:
    """What the live files of a partition amount to; ``rows`` is ``None`` where one was not counted."""

    files: int
    bytes: int
    rows: int | None


def check_table(connection: sa.Connection, known: Known) -> Iterator[Problem]:
    """All that is off in one table. Of a dropped one VACUUM may have removed the files. O(its rows and live files)."""
    table = known.table
    yield from _keys(connection, table)
    yield from _file_versions(connection, table)
    yield from _index(connection, table)
    if known.dropped is None:
        yield from _partitions(connection, table)
        yield from _files(connection, table)


def _keys(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Keys are the table's, and one row of each is live."""
    row, mine = schema.partitions.c, KeyRange.of_prefix(keys.prefix(table.id))
    astray = sa.or_(row.key < mine.start, row.key >= mine.end)
    query = sa.select(sa.func.count()).select_from(schema.partitions).where(row.table_id == table.id, astray)
    if count := connection.execute(query).scalar():
        yield table.name, f"{count} rows of its partitions have keys of another table"
    live = sa.select(row.key, row.partition_values).where(row.table_id == table.id, row.ended == schema.NEVER)
    last = None
    for key, values in connection.execute(live.order_by(row.key)):
        thing = _name(table, values)
        if key == last:
            yield thing, "several of its rows are live"
        elif _key_of(table, values) != key:
            yield thing, "its key is not that of its values"
        last = key


def _key_of(table: Table, text: str) -> bytes | None:
    """The key of stored values; ``None`` where they are damaged."""
    try:
        return keys.encode(table.id, [column.type for column in table.partition_columns], json.loads(text))
    except (Error, ValueError, TypeError, AttributeError):
        return None


def _name(table: Table, text: str) -> str:
    try:
        return f"{table.name} {partition_name(table.partition_columns, json.loads(text))}".rstrip()
    except (ValueError, TypeError):
        return f"{table.name} {text}"


def _file_versions(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Rows of files are made and ended by commits, in this order, and say which."""
    row, maker, ender = schema.files.c, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    mine = KeyRange.of_prefix(keys.prefix(table.id))
    wrong = sa.or_(
        maker.c.commit_seq.is_(None),
        sa.and_(row.ended != schema.NEVER, ender.c.commit_seq.is_(None)),
        ender.c.commit_seq < maker.c.commit_seq,
        row.commit_seq != maker.c.commit_seq,
    )
    query = (
        sa.select(row.row_id, row.path)
        .join_from(
            schema.files, maker, sa.and_(maker.c.object_id == table.id, maker.c.write_id == row.made), isouter=True
        )
        .join(ender, sa.and_(ender.c.object_id == table.id, ender.c.write_id == row.ended), isouter=True)
        .where(row.key >= mine.start, row.key < mine.end, wrong)
    )
    for row_id, path in connection.execute(query.order_by(row.row_id)):
        yield table.name, f"row {row_id} of files, {path}, fits no commits"


def _partitions(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Statistics are those of the live files, and each live file is of a live partition."""
    row, amounts = schema.partitions.c, _amounts(connection, table)
    live = sa.select(row.key, row.partition_values, row.files, row.bytes, row.rows)
    for key, values, files, size, rows in connection.execute(
        live.where(row.table_id == table.id, row.ended == schema.NEVER).order_by(row.key)
    ):
        found = amounts.pop(key, _Amount(0, 0, 0))
        if (files, size) != (found.files, found.bytes):
            yield (
                _name(table, values),
                f"it says {files} files of {size} bytes, and has {found.files} of {found.bytes}",
            )
        elif rows is not None and found.rows is not None and rows != found.rows:
            yield _name(table, values), f"it says {rows} rows, and its files have {found.rows}"
    if amounts:
        count = sum(one.files for one in amounts.values())
        yield table.name, f"{count} live files belong to {len(amounts)} partitions that are not there"


def _amounts(connection: sa.Connection, table: Table) -> dict[bytes, _Amount]:
    row, mine = schema.files.c, KeyRange.of_prefix(keys.prefix(table.id))
    counted = sa.func.count(row.rows)
    query = sa.select(row.key, sa.func.count(), sa.func.sum(row.bytes), sa.func.sum(row.rows), counted)
    return {
        key: _Amount(files, int(size), int(rows or 0) if known == files else None)
        for key, files, size, rows, known in connection.execute(
            query.where(row.key >= mine.start, row.key < mine.end, row.ended == schema.NEVER).group_by(row.key)
        )
    }


def _files(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Every file that readers see is there, in its size."""
    row, mine = schema.files.c, KeyRange.of_prefix(keys.prefix(table.id))
    query = sa.select(row.path, row.bytes).where(row.key >= mine.start, row.key < mine.end, row.ended == schema.NEVER)
    for path, size in connection.execute(query.order_by(row.key, row.path)):
        if table.external:
            yield table.name, f"it is external, and has a row for the file {path}"
            continue
        try:
            found = os.stat(path).st_size
        except OSError as error:
            yield table.name, f"the file {path} cannot be read: {error.strerror}"
            continue
        if found != size:
            yield table.name, f"the file {path} has {found} bytes, and was written with {size}"


def _index(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """The secondary index has the fields of each key that ever was, and nothing else."""
    entry, row, mine = schema.partition_fields.c, schema.partitions.c, KeyRange.of_prefix(keys.prefix(table.id))
    placed = sa.select(entry.place, entry.key).where(entry.place >= mine.start, entry.place < mine.end)
    left = {(place, key) for place, key in connection.execute(placed)}
    columns = table.partition_columns
    widths = [keys.width_of(column.type) for column in columns]
    written = sa.select(row.key).where(row.table_id == table.id, row.key >= mine.start, row.key < mine.end).distinct()
    missing = 0
    for key in connection.execute(written).scalars() if len(columns) > 1 else ():
        try:
            fields = keys.split(widths, key)
        except (ValueError, IndexError):
            yield table.name, f"the key {key.hex()} is none of its types"
            continue
        for number in range(1, len(columns)):
            place = (keys.place(table.id, number, fields[number]), key)
            missing += place not in left
            left.discard(place)
    if missing:
        yield table.name, f"{missing} entries of its secondary index are missing: filters would not find partitions"
    if left:
        yield table.name, f"{len(left)} entries of its secondary index are of no partition"
