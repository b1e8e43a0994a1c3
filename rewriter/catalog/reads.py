"""What the database holds for a reader: each function runs a few statements at most on the connection it is given.

Pages of partitions are given the database: a statement of theirs runs by itself, which takes a third of the time.

A row is visible where the write id that made it is valid and the one that ended it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, cast

import sqlalchemy as sa

from rewriter.catalog import schema, stretches
from rewriter.catalog.codec import Object, decoded
from rewriter.catalog.database import Database
from rewriter.catalog.identity import IDENTITY
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import NO_PROPERTIES, DataFile, Partition, Table
from rewriter.catalog.names import database_key
from rewriter.catalog.prepared import Prepared, fetch, fetch_value, once, prepared
from rewriter.catalog.writeids import ValidTxnList, ValidWriteIdList
from rewriter.errors import OperationalError
from rewriter.timeline.timelines import OrdinalRange

#: (update period, time dimension in lower case, ``schema.FRESH``, …): one stored timeline of a table.
TimelineKey = tuple[int, str, int]

#: All stored timelines of a table.
StoredTimelines = Mapping[TimelineKey, Sequence[OrdinalRange]]

#: The most values of one ``IN (…)``.
CHUNK = 900

#: The limit of what has none.
_ALL = (1 << 63) - 1


def chunks(items: Sequence[Any], size: int = CHUNK) -> Iterator[Sequence[Any]]:
    """The items in lists of at most ``size``, so that no statement has too many parameters."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def transaction_list(connection: sa.Connection) -> tuple[tuple[int, int], int, ValidTxnList]:
    """The version of the schema and the tables' identity, the newest commit's number and the transactions seen now.

    One statement, hence one state of the database.
    """
    found = fetch(connection, _transactions(connection.dialect))
    newest = {name: value for name, value, *_ in found}
    open_ids = frozenset(transaction_id for _, _, transaction_id, *_ in found if transaction_id is not None)
    return found[0][3:], newest["commit"], ValidTxnList(newest["transaction"], open_ids)


@once
def _transactions() -> sa.Select[Any]:
    counter, transaction = schema.counters, schema.transactions
    version = sa.select(schema.schema_version.c.version).scalar_subquery()
    return (
        sa.select(counter.c.name, counter.c.value, transaction.c.transaction_id, version, IDENTITY)
        .select_from(counter.outerjoin(transaction, transaction.c.state == "open"))
        .where(counter.c.name.in_(("commit", "transaction")))
    )


def write_id_list(
    connection: sa.Connection, object_id: int, sequence: int, transactions: ValidTxnList
) -> ValidWriteIdList:
    """The write ids of an object that are valid as of a commit. Two statements."""
    given = {"object": object_id, "sequence": sequence}
    high: int | None = fetch_value(connection, _high(connection.dialect), **given)
    if high is None:
        return ValidWriteIdList(str(object_id), 0)
    found = fetch(connection, _not_seen(connection.dialect), **given, high=high)
    # One that was open at the snapshot stays open for it, whatever became of it since.
    aborted = frozenset(w for w, holder, state in found if state == "aborted" and transactions.may_see(holder))
    open_ids = frozenset(w for w, _, _ in found) - aborted
    return ValidWriteIdList(str(object_id), high, open_ids, aborted)


@once
def _high() -> sa.Select[Any]:
    held = schema.write_ids.c
    # The addition keeps the index on commit numbers out: the newest ids, read backwards, are the answer almost at once.
    query = sa.select(held.write_id).where(
        held.object_id == _number("object"), held.commit_seq + 0 <= _number("sequence")
    )
    return query.order_by(held.write_id.desc()).limit(1)


@once
def _not_seen() -> sa.CompoundSelect[Any]:
    held, transaction = schema.write_ids, schema.transactions
    below = (
        sa.select(held.c.write_id, held.c.transaction_id, transaction.c.state)
        .join_from(held, transaction, transaction.c.transaction_id == held.c.transaction_id)
        .where(held.c.object_id == _number("object"), held.c.write_id + 0 < _number("high"))
    )
    return sa.union_all(below.where(held.c.commit_seq.is_(None)), below.where(held.c.commit_seq > _number("sequence")))


def _number(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, 0, sa.BigInteger)


def are_committed(connection: sa.Connection, object_id: int, ids: ValidWriteIdList) -> bool:
    """Whether all that a list sees was committed, and all that it calls aborted was. One statement, or two."""
    held, transaction = schema.write_ids, schema.transactions
    query = sa.select(sa.func.count()).where(
        held.c.object_id == object_id, held.c.write_id <= ids.high_water_mark, held.c.commit_seq.is_not(None)
    )
    if ids.invalid:
        query = query.where(held.c.write_id.not_in(_numbers("invalid", ids.invalid)))
    if connection.execute(query).scalar_one() != ids.count:
        return False
    if not ids.aborted:
        return True
    aborted = (
        sa.select(sa.func.count())
        .join_from(held, transaction, transaction.c.transaction_id == held.c.transaction_id)
        .where(held.c.object_id == object_id, held.c.write_id.in_(_numbers("aborted", ids.aborted)))
        .where(transaction.c.state == "aborted")
    )
    return connection.execute(aborted).scalar_one() == len(ids.aborted)


def objects(
    connection: sa.Connection, sequence: int, name: str | None = None, kind: str | None = None, id: int | None = None
) -> list[tuple[Object, int]]:
    """The objects that a commit's snapshot sees, with the number of the commit that made each. One statement."""
    given = {
        name_: value
        for name_, value in (("name", name and name.lower()), ("kind", kind), ("id", id))
        if value is not None
    }
    found = fetch(connection, _objects(connection.dialect, *given), **given, sequence=sequence)
    return [(decoded(*values), commit) for *values, commit in found]


@once
def _objects(*by: str) -> sa.Select[Any]:
    row, maker, ender = schema.objects, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    sequence = _number("sequence")
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
    if "name" in by:
        query = query.where(row.c.name_key == sa.bindparam("name", "", sa.Text))
    if "kind" in by:
        query = query.where(row.c.kind == sa.bindparam("kind", "", sa.Text))
    if "id" in by:
        query = query.where(row.c.object_id == _number("id"))
    return query


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


def partition_get(dialect: sa.Dialect, ids: ValidWriteIdList) -> Prepared:
    """The visible partition with the key ``:key``, as ``partitions_of`` reads it; ``:high`` is the high-water mark."""
    return _get_under(dialect, ids) if ids.invalid else _get(dialect)


@once
def _get() -> sa.Select[Any]:
    key = sa.bindparam("key", b"", sa.LargeBinary)
    return sa.select(*_partition_columns()).where(schema.partitions.c.key == key, *_committed())


@once
def _get_under(ids: ValidWriteIdList) -> sa.Select[Any]:
    row = schema.partitions
    return sa.select(*_partition_columns()).where(
        row.c.key == sa.bindparam("key", b"", sa.LargeBinary), *visible(row, ids)
    )


def partitions_of(table: Table, rows: Iterable[tuple[Any, ...]]) -> list[Partition]:
    """The partitions that rows of ``partition_get`` tell."""
    columns = list(zip(*rows, strict=True))
    if not columns:
        return []
    keys, texts, locations, counts, sizes, files, given = columns
    # One text of all values is read in a third of the time that the texts take one by one.
    values = map(tuple, json.loads(f"[{','.join(texts)}]"))
    properties = [json.loads(one) if one else NO_PROPERTIES for one in given]
    known = [None] * len(keys) if table.external else counts
    # A partition is a tuple of these fields, and is made of them by no call of Python's.
    fields = zip(keys, values, locations, known, sizes, files, properties, strict=True)
    return list(map(partial(tuple.__new__, Partition), fields))


def partition_page(
    database: Database,
    table: Table,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[Partition]:
    """At most ``limit`` visible partitions of up to ``stretches.MOST`` key ranges, in key order: of one range the
    first, of several any. ``condition`` is a further one on rows of ``schema.partitions``. One statement.
    """
    return partitions_of(table, _found(database, _partition_columns(), ids, ranges, limit, condition))


def key_page(
    database: Database,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[bytes]:
    """The keys of the partitions that ``partition_page`` answers. One statement that reads nothing else."""
    found = _found(database, (schema.partitions.c.key,), ids, ranges, limit, condition)
    return list(map(itemgetter(0), found))


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


def entry_count(database: Database, key: sa.Column[bytes], ranges: Sequence[KeyRange], most: int | None = None) -> int:
    """How many rows of any version have their key in the ranges, as far as ``most``. Reads the key's index only."""
    total = 0
    for some in chunks(ranges, stretches.MOST):
        size, values = stretches.filled(some)
        left = {"most": _ALL if most is None else most - total}
        ((counted,),) = database.rows(_entry_count(database.dialect, key, size), {**values, **left})
        total += int(counted)
        if total == most:
            break
    return total


def indexed_keys(
    database: Database,
    places: Sequence[KeyRange],
    most: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[bytes]:
    """The keys with an entry of the secondary index in the places, at most ``most`` of them, in no order.

    ``condition`` is a further one on rows of ``schema.partition_fields``.
    """
    entry = schema.partition_fields.c
    if condition is None:
        size, values = stretches.filled(places)
        found = database.rows(_indexed_keys(database.dialect, size), {**values, "most": most})
    else:
        with database.read() as connection:
            query = stretches.search(connection, entry.place, (entry.place, entry.key), (condition,), places)
            found = _fetched(connection, query.limit(most))
    return [key for _, key in found]


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


def check_readable(connection: sa.Connection, sequence: int) -> None:
    """Raises ``OperationalError`` SNAPSHOT_TOO_OLD where VACUUM has removed files that a snapshot of this commit may
    see. One statement.
    """
    counter = schema.counters.c
    removed = connection.execute(sa.select(counter.value).where(counter.name == "vacuumed")).scalar_one()
    if removed > sequence:
        raise OperationalError(
            f"the files that commit {sequence} saw may be gone: VACUUM has removed what was replaced up to commit "
            f"{removed}",
            condition="SNAPSHOT_TOO_OLD",
            hint="run the statement again, over the newest state; VACUUM … RETAIN n HOURS keeps files for longer",
        )


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


@lru_cache(maxsize=64)
def _entry_count(dialect: sa.Dialect, key: sa.Column[bytes], size: int) -> Prepared:
    """``:most`` at most of the entries in ``size`` stretches, as ``stretches.filled`` names them."""
    if size == 1:
        start, end = (sa.bindparam(name, b"", sa.LargeBinary) for name in ("start_0", "end_0"))
        found = sa.select(key).where(key >= start, key < end)
    else:
        found = stretches.joined(dialect, key, (key,), (), size, {})
    found = found.limit(_most())
    return prepared(sa.select(sa.func.count()).select_from(found.subquery()), dialect)


@lru_cache(maxsize=64)
def _indexed_keys(dialect: sa.Dialect, size: int) -> Prepared:
    """``:most`` at most of the places and keys of the secondary index in ``size`` stretches."""
    entry = schema.partition_fields.c
    return _of_stretches(dialect, entry.place, (entry.place, entry.key), (), size)


def _found(
    database: Database,
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
    if condition is not None or ids.invalid:
        with database.read() as connection:
            query = stretches.search(connection, row.c.key, columns, _with(visible(row, ids), condition), ranges)
            return _in_key_order(connection, query, ranges, limit)
    given: dict[str, object] = {"high": ids.high_water_mark, "most": limit}
    if len(ranges) == 1:
        values = {"start": ranges[0].start, "end": ranges[0].end}
        return database.rows(_of_range(database.dialect, columns), values | given)
    if all(one.is_one_key for one in ranges):
        # Keys out of a secondary index are many and need no ranges.
        size = 1 << (len(ranges) - 1).bit_length()
        wanted = [*(one.start for one in ranges), *[b""] * (size - len(ranges))]
        statement, values = _of_keys(database.dialect, columns, size), {f"key_{n}": key for n, key in enumerate(wanted)}
    else:
        size, values = stretches.filled(ranges)
        statement = _of_ranges(database.dialect, columns, size)
    return sorted(database.rows(statement, values | given), key=itemgetter(0))


@once
def _of_range(columns: tuple[sa.Column[Any], ...]) -> sa.Select[Any]:
    """``:most`` at most of the rows with keys from ``:start`` to ``:end`` that the write ids up to ``:high`` see."""
    key = schema.partitions.c.key
    start, end = (sa.bindparam(name, b"", sa.LargeBinary) for name in ("start", "end"))
    return sa.select(*columns).where(key >= start, key < end, *_committed()).order_by(key).limit(_most())


@once
def _of_keys(columns: tuple[sa.Column[Any], ...], size: int) -> sa.Select[Any]:
    """``:most`` at most of the rows with one of ``size`` keys that the write ids up to ``:high`` see."""
    keys = [sa.bindparam(f"key_{at}", b"", sa.LargeBinary) for at in range(size)]
    return sa.select(*columns).where(schema.partitions.c.key.in_(keys), *_committed()).limit(_most())


@lru_cache(maxsize=64)
def _of_ranges(dialect: sa.Dialect, columns: tuple[sa.Column[Any], ...], size: int) -> Prepared:
    """``:most`` at most of the rows in ``size`` stretches that the write ids up to ``:high`` see."""
    return _of_stretches(dialect, schema.partitions.c.key, columns, _committed(), size)


def _of_stretches(
    dialect: sa.Dialect,
    key: sa.Column[Any],
    columns: tuple[sa.Column[Any], ...],
    conditions: tuple[sa.ColumnElement[bool], ...],
    size: int,
) -> Prepared:
    return prepared(stretches.joined(dialect, key, columns, conditions, size, {}).limit(_most()), dialect)


def _committed() -> tuple[sa.ColumnElement[bool], ...]:
    """What a list of write ids without open and aborted ones sees of partitions."""
    row, high = schema.partitions.c, _number("high")
    return row.made <= high, row.ended > high


def _most() -> sa.BindParameter[int]:
    return sa.bindparam("most", _ALL, sa.BigInteger)


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
