"""What the database holds for a reader: each function runs one or two statements on the connection it is given.

A row is visible where the write id that made it is valid and the one that ended it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.codec import Object, decoded
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import DataFile, Partition, Table
from rewriter.catalog.writeids import ValidTxnList, ValidWriteIdList
from rewriter.timeline.timelines import OrdinalRange

#: (update period, time dimension in lower case, ``schema.FRESH``, …): one stored timeline of a table.
TimelineKey = tuple[int, str, int]

#: The most values of one ``IN (…)``.
CHUNK = 900


def chunks(items: Sequence[Any], size: int = CHUNK) -> Iterator[Sequence[Any]]:
    """The items in lists of at most ``size``, so that no statement has too many parameters."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def transaction_list(connection: sa.Connection) -> tuple[int, ValidTxnList]:
    """The newest commit's number and the transactions seen now. One statement, hence one state of the database."""
    counter, transaction = schema.counters, schema.transactions
    rows = connection.execute(
        sa.select(counter.c.name, counter.c.value, transaction.c.transaction_id)
        .select_from(counter.outerjoin(transaction, transaction.c.state == "open"))
        .where(counter.c.name.in_(("commit", "transaction")))
    ).all()
    newest = {name: value for name, value, _ in rows}
    open_ids = frozenset(transaction_id for _, _, transaction_id in rows if transaction_id is not None)
    return newest["commit"], ValidTxnList(newest["transaction"], open_ids)


def write_id_list(
    connection: sa.Connection, object_id: int, sequence: int, transactions: ValidTxnList
) -> ValidWriteIdList:
    """The write ids of an object that are valid as of a commit. Two statements."""
    held, transaction = schema.write_ids, schema.transactions
    # The addition keeps the index on commit numbers out: the newest ids, read backwards, are the answer almost at once.
    high = connection.execute(
        sa.select(held.c.write_id)
        .where(held.c.object_id == object_id, held.c.commit_seq + 0 <= sequence)
        .order_by(held.c.write_id.desc())
        .limit(1)
    ).scalar()
    if high is None:
        return ValidWriteIdList(str(object_id), 0)
    below = (
        sa.select(held.c.write_id, held.c.transaction_id, transaction.c.state)
        .join_from(held, transaction, transaction.c.transaction_id == held.c.transaction_id)
        .where(held.c.object_id == object_id, held.c.write_id + 0 < high)
    )
    rows = connection.execute(
        sa.union_all(below.where(held.c.commit_seq.is_(None)), below.where(held.c.commit_seq > sequence))
    ).all()
    # One that was open at the snapshot stays open for it, whatever became of it since.
    aborted = frozenset(w for w, holder, state in rows if state == "aborted" and transactions.may_see(holder))
    open_ids = frozenset(w for w, _, _ in rows) - aborted
    return ValidWriteIdList(str(object_id), high, open_ids, aborted)


def objects(
    connection: sa.Connection, sequence: int, name: str | None = None, kind: str | None = None
) -> list[tuple[Object, int]]:
    """The objects that a commit's snapshot sees, with the number of the commit that made each. One statement."""
    row, maker, ender = schema.objects, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    query = (
        sa.select(row.c.kind, row.c.object_id, row.c.name, row.c.definition, row.c.commit_seq)
        .join_from(row, maker, sa.and_(maker.c.object_id == row.c.object_id, maker.c.write_id == row.c.made))
        .join(
            ender,
            sa.and_(ender.c.object_id == row.c.object_id, ender.c.write_id == row.c.ended),
            isouter=True,
        )
        .where(maker.c.commit_seq <= sequence, sa.or_(ender.c.commit_seq.is_(None), ender.c.commit_seq > sequence))
    )
    if name is not None:
        query = query.where(row.c.name_key == name.lower())
    if kind is not None:
        query = query.where(row.c.kind == kind)
    return [(decoded(*values), commit) for *values, commit in connection.execute(query)]


def partition_page(
    connection: sa.Connection, table: Table, ids: ValidWriteIdList, keys: KeyRange, limit: int
) -> list[Partition]:
    """The first visible partitions of a key range, in key order. One statement."""
    row = schema.partitions
    columns = (row.c.key, row.c.partition_values, row.c.location, row.c.rows, row.c.bytes, row.c.files)
    query = (
        sa.select(*columns, row.c.properties)
        .where(*_visible(row, ids), *_between(row))
        .order_by(row.c.key)
        .limit(limit)
    )
    return [
        Partition(
            key,
            tuple(json.loads(values)),
            location,
            None if table.external else rows,
            size,
            files,
            json.loads(given) if given else {},
        )
        for key, values, location, rows, size, files, given in connection.execute(query, _scan(keys))
    ]


def key_page(connection: sa.Connection, ids: ValidWriteIdList, keys: KeyRange, limit: int) -> list[bytes]:
    """The keys of these partitions. One statement that reads nothing else."""
    row = schema.partitions
    query = sa.select(row.c.key).where(*_visible(row, ids), *_between(row)).order_by(row.c.key).limit(limit)
    return list(connection.execute(query, _scan(keys)).scalars())


def partition_count(connection: sa.Connection, ids: ValidWriteIdList, keys: KeyRange) -> int:
    """How many partitions of a key range are visible. One statement."""
    row = schema.partitions
    query = sa.select(sa.func.count()).select_from(row).where(*_visible(row, ids), *_between(row))
    return int(connection.execute(query, _scan(keys)).scalar_one())


def files(connection: sa.Connection, ids: ValidWriteIdList, keys: KeyRange) -> Iterator[tuple[bytes, DataFile]]:
    """The visible files of a key range with their partition's key, in (key, path) order. One statement."""
    for key, path, rows, size in connection.execute(_files(ids).where(*_between(schema.files)), _scan(keys)):
        yield key, DataFile(path, rows, size)


def files_of(
    connection: sa.Connection, ids: ValidWriteIdList, keys: Sequence[bytes]
) -> Iterator[tuple[bytes, DataFile]]:
    """The same for partitions with these keys, which are sorted. One statement for each ``CHUNK`` of them."""
    for some in chunks(keys):
        for key, path, rows, size in connection.execute(_files(ids).where(schema.files.c.key.in_(some))):
            yield key, DataFile(path, rows, size)


def _files(ids: ValidWriteIdList) -> sa.Select[Any]:
    row = schema.files
    columns = (row.c.key, row.c.path, row.c.rows, row.c.bytes)
    return sa.select(*columns).where(*_visible(row, ids)).order_by(row.c.key, row.c.path)


def timelines(connection: sa.Connection, table_id: int, ids: ValidWriteIdList) -> dict[TimelineKey, list[OrdinalRange]]:
    """All timelines of a table. One statement, whose answer has the size of the ranges."""
    row = schema.timeline_ranges
    query = sa.select(row.c.period, row.c.time_key, row.c.state, row.c.start_ordinal, row.c.end_ordinal)
    found: dict[TimelineKey, list[OrdinalRange]] = {}
    for period, time_key, state, start, end in connection.execute(
        query.where(row.c.table_id == table_id, *_visible(row, ids))
    ):
        found.setdefault((period, time_key, state), []).append(OrdinalRange(start, end))
    return found


def _scan(keys: KeyRange) -> dict[str, bytes]:
    """A range as values of ``_between``."""
    return {"first_key": keys.start, "end_key": keys.end}


def _visible(row: sa.Table, ids: ValidWriteIdList) -> tuple[sa.ColumnElement[bool], ...]:
    made, ended = row.c.made <= ids.high_water_mark, row.c.ended > ids.high_water_mark
    if not ids.invalid:
        return made, ended
    made = sa.and_(made, row.c.made.not_in(_numbers("invalid", ids.invalid)))
    if not ids.open:
        return made, ended  # Rows are marked as ended by commits only, never by those that aborted.
    still_open = row.c.ended.in_(_numbers("open", ids.open))
    return made, row.c.ended >= ids.min_open, sa.or_(ended, still_open)


def _numbers(name: str, numbers: Iterable[int]) -> sa.BindParameter[Any]:
    return sa.bindparam(name, sorted(numbers), expanding=True, literal_execute=True)


def _between(row: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
    """The keys of one scan. A statement is built once and run for each."""
    return row.c.key >= sa.bindparam("first_key"), row.c.key < sa.bindparam("end_key")
