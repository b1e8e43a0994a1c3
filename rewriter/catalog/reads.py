"""What the database holds for a reader: each function runs a few statements at most on the connection it is given.

A row is visible where the write id that made it is valid and the one that ended it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, cast

import sqlalchemy as sa

from rewriter.catalog import schema, stretches
from rewriter.catalog.codec import Object, decoded
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import NO_PROPERTIES, DataFile, Partition, Table
from rewriter.catalog.names import database_key
from rewriter.catalog.prepared import Prepared, prepared
from rewriter.catalog.writeids import ValidTxnList, ValidWriteIdList
from rewriter.timeline.timelines import OrdinalRange

#: (update period, time dimension in lower case, ``schema.FRESH``, …): one stored timeline of a table.
TimelineKey = tuple[int, str, int]

#: All stored timelines of a table.
StoredTimelines = Mapping[TimelineKey, Sequence[OrdinalRange]]

#: The most values of one ``IN (…)``.
CHUNK = 900

#: The limit of what has none.
_ALL = (1 << 63) - 1

#: What ``json.loads`` does of a text that has no blanks around it; the text and where to begin → value and end.
_JSON = json.JSONDecoder().raw_decode


def chunks(items: Sequence[Any], size: int = CHUNK) -> Iterator[Sequence[Any]]:
    """The items in lists of at most ``size``, so that no statement has too many parameters."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def transaction_list(connection: sa.Connection) -> tuple[int, int, ValidTxnList]:
    """The version of the schema, the newest commit's number and the transactions seen now.

    One statement, hence one state of the database.
    """
    counter, transaction = schema.counters, schema.transactions
    version = sa.select(schema.schema_version.c.version).scalar_subquery()
    rows = connection.execute(
        sa.select(counter.c.name, counter.c.value, transaction.c.transaction_id, version)
        .select_from(counter.outerjoin(transaction, transaction.c.state == "open"))
        .where(counter.c.name.in_(("commit", "transaction")))
    ).all()
    newest = {name: value for name, value, _, _ in rows}
    open_ids = frozenset(transaction_id for _, _, transaction_id, _ in rows if transaction_id is not None)
    return rows[0][3], newest["commit"], ValidTxnList(newest["transaction"], open_ids)


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


def are_committed(connection: sa.Connection, object_id: int, ids: ValidWriteIdList) -> bool:
    """Whether all that a list sees was committed. One statement."""
    held = schema.write_ids
    query = sa.select(sa.func.count()).where(
        held.c.object_id == object_id, held.c.write_id <= ids.high_water_mark, held.c.commit_seq.is_not(None)
    )
    if ids.invalid:
        query = query.where(held.c.write_id.not_in(_numbers("invalid", ids.invalid)))
    return connection.execute(query).scalar_one() == ids.count


def objects(
    connection: sa.Connection, sequence: int, name: str | None = None, kind: str | None = None, id: int | None = None
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
    if id is not None:
        query = query.where(row.c.object_id == id)
    return [(decoded(*values), commit) for *values, commit in connection.execute(query)]


def object_under(connection: sa.Connection, object_id: int, ids: ValidWriteIdList) -> Object | None:
    """An object as its own write ids see it; ``None`` where they see none. One statement."""
    row = schema.objects
    query = sa.select(row.c.kind, row.c.object_id, row.c.name, row.c.definition)
    found = connection.execute(query.where(row.c.object_id == object_id, *visible(row, ids))).first()
    return None if found is None else decoded(*found)


def names_in(connection: sa.Connection, database: str, limit: int = 20) -> list[str]:
    """Names of live objects that lie in a database other than ``default``, at most ``limit``. One statement."""
    row, key = schema.objects, database_key(database)
    inside = sa.and_(row.c.name_key > key, row.c.name_key < key[:-1] + chr(ord(key[-1]) + 1))
    query = sa.select(row.c.name).where(inside, row.c.ended == schema.NEVER).order_by(row.c.name_key).limit(limit)
    return list(connection.execute(query).scalars().all())


def partition_query(ids: ValidWriteIdList) -> sa.Select[Any]:
    """The visible partition with the key ``:key``, as ``partitions_of`` reads it."""
    row = schema.partitions
    return sa.select(*_partition_columns()).where(
        row.c.key == sa.bindparam("key", b"", sa.LargeBinary), *visible(row, ids)
    )


def partitions_of(table: Table, rows: Iterable[tuple[Any, ...]]) -> list[Partition]:
    """The partitions that rows of ``partition_query`` tell."""
    known, texts = not table.external, _JSON
    return [
        Partition(
            key,
            tuple(texts(values, 0)[0]),
            location,
            rows if known else None,
            size,
            files,
            json.loads(given) if given else NO_PROPERTIES,
        )
        for key, values, location, rows, size, files, given in rows
    ]


def partition_page(
    connection: sa.Connection,
    table: Table,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[Partition]:
    """At most ``limit`` visible partitions of up to ``stretches.MOST`` key ranges, in key order: of one range the
    first, of several any. ``condition`` is a further one on rows of ``schema.partitions``. One statement.
    """
    return partitions_of(table, _found(connection, _partition_columns(), ids, ranges, limit, condition))


def key_page(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[bytes]:
    """The keys of the partitions that ``partition_page`` answers. One statement that reads nothing else."""
    return [key for (key,) in _found(connection, (schema.partitions.c.key,), ids, ranges, limit, condition)]


def partition_count(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    condition: sa.ColumnElement[bool] | None = None,
) -> int:
    """How many partitions of key ranges are visible. One statement for up to ``stretches.MOST`` ranges."""
    row = schema.partitions
    conditions = _with(visible(row, ids), condition)
    return sum(
        _count(connection, stretches.search(connection, row.c.key, (row.c.key,), conditions, some))
        for some in chunks(ranges, stretches.MOST)
    )


def entry_count(
    connection: sa.Connection, key: sa.Column[bytes], ranges: Sequence[KeyRange], most: int | None = None
) -> int:
    """How many rows of any version have their key in the ranges, as far as ``most``. Reads the key's index only."""
    total = 0
    for some in chunks(ranges, stretches.MOST):
        size, values = stretches.filled(some)
        left = {"most": _ALL if most is None else most - total}
        total += int(_run(connection, _entry_count(connection.dialect, key, size), {**values, **left}).scalar_one())
        if total == most:
            break
    return total


def indexed_keys(
    connection: sa.Connection,
    places: Sequence[KeyRange],
    most: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[bytes]:
    """The keys with an entry of the secondary index in the places, at most ``most`` of them, in no order.

    ``condition`` is a further one on rows of ``schema.partition_fields``.
    """
    entry = schema.partition_fields
    query = stretches.search(connection, entry.c.place, (entry.c.place, entry.c.key), _with((), condition), places)
    return [key for _, key in connection.execute(query.limit(most)).all()]


def files(
    connection: sa.Connection, ids: ValidWriteIdList, ranges: Sequence[KeyRange]
) -> Iterator[tuple[bytes, DataFile]]:
    """The visible files of partitions in key ranges, which are sorted and apart, with their partition's key, in (key,
    path) order. One statement for up to ``stretches.MOST`` ranges.
    """
    row = schema.files
    columns = (row.c.key, row.c.path, row.c.rows, row.c.bytes)
    for some in chunks(ranges, stretches.MOST):
        query = stretches.search(connection, row.c.key, columns, visible(row, ids), some)
        for key, path, rows, size in connection.execute(query.order_by("key", "path")):
            yield key, DataFile(path, rows, size)


def timelines(connection: sa.Connection, table_id: int, ids: ValidWriteIdList) -> dict[TimelineKey, list[OrdinalRange]]:
    """All timelines of a table. One statement, whose answer has the size of the ranges."""
    row = schema.timeline_ranges
    query = sa.select(row.c.period, row.c.time_key, row.c.state, row.c.start_ordinal, row.c.end_ordinal)
    found: dict[TimelineKey, list[OrdinalRange]] = {}
    for period, time_key, state, start, end in connection.execute(
        query.where(row.c.table_id == table_id, *visible(row, ids))
    ):
        found.setdefault((period, time_key, state), []).append(OrdinalRange(start, end))
    return found


def _partition_columns() -> tuple[sa.Column[Any], ...]:
    row = schema.partitions.c
    return row.key, row.partition_values, row.location, row.rows, row.bytes, row.files, row.properties


def _in_key_order(
    connection: sa.Connection, query: sa.Select[Any], ranges: Sequence[KeyRange], limit: int
) -> list[tuple[Any, ...]]:
    """At most ``limit`` rows, whose first column is the key: the first ones of one range, any of several."""
    if len(ranges) == 1:
        return _fetched(connection, query.order_by("key").limit(limit))
    # An ORDER BY of a database would read all that there is in the ranges before it answers the first row.
    return sorted(_fetched(connection, query.limit(limit)), key=itemgetter(0))


def _fetched(connection: sa.Connection, query: sa.Select[Any]) -> list[tuple[Any, ...]]:
    """All rows, as the driver makes them: bytes, texts and numbers, without SQLAlchemy's rows around them."""
    with connection.execute(query) as result:
        return cast(list[tuple[Any, ...]], result.cursor.fetchall())


def _count(connection: sa.Connection, query: sa.Select[Any]) -> int:
    counted = sa.select(sa.func.count()).select_from(query.subquery())
    return int(connection.execute(counted).scalar_one())


def _run(connection: sa.Connection, statement: Prepared, values: Mapping[str, object]) -> sa.CursorResult[Any]:
    return connection.exec_driver_sql(statement.text, statement.given(values))


@lru_cache(maxsize=64)
def _entry_count(dialect: sa.Dialect, key: sa.Column[bytes], size: int) -> Prepared:
    """``:most`` at most of the entries in ``size`` stretches, as ``stretches.filled`` names them."""
    if size == 1:
        start, end = (sa.bindparam(name, b"", sa.LargeBinary) for name in ("start_0", "end_0"))
        found = sa.select(key).where(key >= start, key < end)
    else:
        found = stretches.joined(dialect, key, (key,), (), size, {})
    found = found.limit(sa.bindparam("most", _ALL, sa.BigInteger))
    return prepared(sa.select(sa.func.count()).select_from(found.subquery()), dialect)


def _found(
    connection: sa.Connection,
    columns: tuple[sa.Column[Any], ...],
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None,
) -> list[tuple[Any, ...]]:
    """At most ``limit`` rows of partitions, whose first column is the key: the first ones of one range, any of
    several; in key order.
    """
    row = schema.partitions
    plain = condition is None and not ids.invalid
    if plain and len(ranges) == 1:
        given = {"start": ranges[0].start, "end": ranges[0].end, "high": ids.high_water_mark, "most": limit}
        with _run(connection, _of_range(connection.dialect, columns), given) as result:
            return cast(list[tuple[Any, ...]], result.cursor.fetchall())
    if plain and all(one.is_one_key for one in ranges):
        # Keys out of a secondary index are many and need no ranges.
        size = 1 << (len(ranges) - 1).bit_length()
        wanted = [*(one.start for one in ranges), *[b""] * (size - len(ranges))]
        values = {f"key_{at}": key for at, key in enumerate(wanted)}
        given = {**values, "high": ids.high_water_mark, "most": limit}
        with _run(connection, _of_keys(connection.dialect, columns, size), given) as result:
            return sorted(cast(list[tuple[Any, ...]], result.cursor.fetchall()), key=itemgetter(0))
    query = stretches.search(connection, row.c.key, columns, _with(visible(row, ids), condition), ranges)
    return _in_key_order(connection, query, ranges, limit)


@lru_cache(maxsize=64)
def _of_range(dialect: sa.Dialect, columns: tuple[sa.Column[Any], ...]) -> Prepared:
    """``:most`` at most of the rows with keys from ``:start`` to ``:end`` that the write ids up to ``:high`` see."""
    row, high = schema.partitions.c, sa.bindparam("high", 0, sa.BigInteger)
    start, end = (sa.bindparam(name, b"", sa.LargeBinary) for name in ("start", "end"))
    query = sa.select(*columns).where(row.key >= start, row.key < end, row.made <= high, row.ended > high)
    return prepared(query.order_by(row.key).limit(sa.bindparam("most", _ALL, sa.BigInteger)), dialect)


@lru_cache(maxsize=64)
def _of_keys(dialect: sa.Dialect, columns: tuple[sa.Column[Any], ...], size: int) -> Prepared:
    """``:most`` at most of the rows with one of ``size`` keys that the write ids up to ``:high`` see."""
    row, high = schema.partitions.c, sa.bindparam("high", 0, sa.BigInteger)
    keys = [sa.bindparam(f"key_{at}", b"", sa.LargeBinary) for at in range(size)]
    query = sa.select(*columns).where(row.key.in_(keys), row.made <= high, row.ended > high)
    return prepared(query.limit(sa.bindparam("most", _ALL, sa.BigInteger)), dialect)


def _with(
    conditions: tuple[sa.ColumnElement[bool], ...], condition: sa.ColumnElement[bool] | None
) -> tuple[sa.ColumnElement[bool], ...]:
    return conditions if condition is None else (*conditions, condition)


def visible(row: sa.Table, ids: ValidWriteIdList) -> tuple[sa.ColumnElement[bool], ...]:
    """The conditions on a versioned table of the schema that leave what these write ids see."""
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
