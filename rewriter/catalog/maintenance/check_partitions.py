"""The invariants of one table: its partitions, their keys and statistics, their files, their secondary index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog.filesystems.reading import stored_size
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.maintenance.file_garbage import StoredTable
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.stored_paths import loaded
from rewriter.catalog.model.stored_rows import part_in
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.errors import Error

#: The subject, and the problem.
Problem = tuple[str, str]


@dataclass
class _FileTotals:
    """The totals of the live files of a partition; ``rows`` is ``None`` if a file was not counted."""

    files: int
    bytes: int
    rows: int | None


def check_table(connection: sa.Connection, table_row: StoredTable) -> Iterator[Problem]:
    """Yields all problems of a table. VACUUM may have removed a dropped one's files. O(its rows and live files)."""
    table = table_row.table
    yield from _keys(connection, table)
    yield from _file_versions(connection, table)
    yield from _index(connection, table)
    if table_row.dropped is None:
        yield from _partitions(connection, table)
        yield from _files(connection, table)


def _keys(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Checks that keys belong to the table, and that one row of each key is live."""
    row, table_keys = schema.partitions.c, KeyRange.of_prefix(encoding.prefix(table.id))
    is_outside = sa.or_(row.key < table_keys.start, row.key >= table_keys.end)
    query = sa.select(sa.func.count()).select_from(schema.partitions).where(row.table_id == table.id, is_outside)
    if count := connection.execute(query).scalar():
        yield table.name, f"{count} of its partition rows have keys of another table"
    live = sa.select(row.key, row.partition_values).where(row.table_id == table.id, row.ended == schema.NEVER)
    last = None
    for key, values in connection.execute(live.order_by(row.key)):
        name = _name(table, values)
        if key == last:
            yield name, "several of its rows are live"
        elif _key_of(table, values) != key:
            yield name, "its key does not match its values"
        last = key


def _key_of(table: Table, text: str) -> bytes | None:
    """Returns the key of stored values; ``None`` if they are damaged."""
    try:
        return encoding.encode(table.id, [column.type for column in table.partition_columns], json.loads(text))
    except (Error, ValueError, TypeError, AttributeError):
        return None


def _name(table: Table, text: str) -> str:
    try:
        return f"{table.name} {partition_name(table.partition_columns, json.loads(text))}".rstrip()
    except (ValueError, TypeError):
        return f"{table.name} {text}"


def _file_versions(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Checks that commits made and ended the rows of files, in this order, and that the rows name them."""
    row, maker, ender = schema.files.c, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    table_keys = KeyRange.of_prefix(encoding.prefix(table.id))
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
        .where(row.key >= table_keys.start, row.key < table_keys.end, wrong)
    )
    for row_id, path in connection.execute(query.order_by(row.row_id)):
        yield table.name, f"row {row_id} of files, {path}, does not match any commit"


def _partitions(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Checks that statistics match the live files, and that each live file belongs to a live partition."""
    row, totals_by_key = schema.partitions.c, _file_totals(connection, table)
    live = sa.select(row.key, row.partition_values, row.files, row.bytes, row.rows)
    for key, values, files, size, rows in connection.execute(
        live.where(row.table_id == table.id, row.ended == schema.NEVER).order_by(row.key)
    ):
        totals = totals_by_key.pop(key, _FileTotals(0, 0, 0))
        if (files, size) != (totals.files, totals.bytes):
            yield (
                _name(table, values),
                f"it records {files} files of {size} bytes, but has {totals.files} of {totals.bytes}",
            )
        elif rows is not None and totals.rows is not None and rows != totals.rows:
            yield _name(table, values), f"it records {rows} rows, but its files have {totals.rows}"
    if totals_by_key:
        count = sum(orphan.files for orphan in totals_by_key.values())
        yield table.name, f"{count} live files belong to {len(totals_by_key)} partitions that do not exist"


def _file_totals(connection: sa.Connection, table: Table) -> dict[bytes, _FileTotals]:
    row, table_keys = schema.files.c, KeyRange.of_prefix(encoding.prefix(table.id))
    counted = sa.func.count(row.rows)
    query = sa.select(row.key, sa.func.count(), sa.func.sum(row.bytes), sa.func.sum(row.rows), counted)
    return {
        key: _FileTotals(files, int(size), int(rows or 0) if counted_rows == files else None)
        for key, files, size, rows, counted_rows in connection.execute(
            query.where(row.key >= table_keys.start, row.key < table_keys.end, row.ended == schema.NEVER).group_by(
                row.key
            )
        )
    }


def _files(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Checks that every file that readers see exists with its size. A packed file has one row for each of its parts."""
    row, table_keys = schema.files.c, KeyRange.of_prefix(encoding.prefix(table.id))
    query = sa.select(row.path, row.bytes, row.part).where(
        row.key >= table_keys.start, row.key < table_keys.end, row.ended == schema.NEVER
    )
    warehouse = warehouse_of(connection)
    packed: set[str] = set()
    for stored_path, part_bytes, part_text in connection.execute(query.order_by(row.key, row.path)):
        part = part_in(part_text, stored_path)
        if part is not None and stored_path in packed:
            continue
        size = part_bytes if part is None else part.file_bytes
        packed |= set() if part is None else {stored_path}
        path = loaded(stored_path, warehouse)
        if table.external:
            yield table.name, f"it is external, but has a row for the file {path}"
            continue
        problem = file_problem(path, size)
        if problem is not None:
            yield table.name, f"the file {problem}"


def file_problem(path: str, size: int) -> str | None:
    """Returns why a file is not the one that was written; ``None`` if it exists with its size."""
    try:
        actual_size = stored_size(path)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return None if actual_size == size else f"{path} has {actual_size} bytes, but was written with {size}"


def _index(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Checks that the secondary index has the fields of all keys of any version, and nothing else."""
    entry, row, table_keys = (
        schema.partition_fields.c,
        schema.partitions.c,
        KeyRange.of_prefix(encoding.prefix(table.id)),
    )
    entries_of_table = sa.select(entry.place, entry.key).where(
        entry.place >= table_keys.start, entry.place < table_keys.end
    )
    unmatched = {(index_entry, key) for index_entry, key in connection.execute(entries_of_table)}
    columns = table.partition_columns
    widths = [encoding.width_of(column.type) for column in columns]
    written = (
        sa.select(row.key)
        .where(row.table_id == table.id, row.key >= table_keys.start, row.key < table_keys.end)
        .distinct()
    )
    missing = 0
    for key in connection.execute(written).scalars() if len(columns) > 1 else ():
        try:
            fields = encoding.split(widths, key)
        except (ValueError, IndexError):
            yield table.name, f"the key {key.hex()} does not match the column types"
            continue
        for number in range(1, len(columns)):
            index_entry = (encoding.entry_prefix(table.id, number, fields[number]), key)
            missing += index_entry not in unmatched
            unmatched.discard(index_entry)
    if missing:
        yield table.name, f"{missing} entries are missing from its secondary index: filters would miss partitions"
    if unmatched:
        yield table.name, f"{len(unmatched)} entries of its secondary index belong to no partition"
