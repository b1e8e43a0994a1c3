"""Queries of the database for a reader. Each function runs at most a few statements on the given connection.

Pages of partitions take the database instead: their statement runs by itself, which needs a third of the time.

A row is visible if the write id that made it is valid and the one that ended it is not.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

import sqlalchemy as sa

from rewriter.catalog.model.changes import Batch
from rewriter.catalog.model.json_codec import Object, damaged, decode_object
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.objects import NO_PROPERTIES, PROPERTIES_KEY, DataFile, Partition, Table, database_key
from rewriter.catalog.model.stored_paths import PathIndex, RealPaths, loaded_path
from rewriter.catalog.model.stored_rows import all_parts_in, check_types, check_values, damaged_partition, properties_in
from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList
from rewriter.catalog.store import prepared_statements, schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.database_server import IDENTITY
from rewriter.catalog.store.prepared_statements import (
    Prepared,
    fetch,
    fetch_value,
    once,
    per_dialect,
    prepare_statement,
)
from rewriter.errors import OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.catalog.store.database import Database

#: (update period, time dimension in lower case, ``schema.FRESH``, …): one stored timeline of a table.
TimelineKey = tuple[int, str, int]

#: All stored timelines of a table.
StoredTimelines = Mapping[TimelineKey, Sequence[OrdinalRange]]

#: The maximum number of values of one ``IN (…)``.
_CHUNK = 900

#: The limit of a query without one.
_ALL = (1 << 63) - 1


def chunks(items: Sequence[Any], size: int = _CHUNK) -> Iterator[Sequence[Any]]:
    """Yields the items in lists of at most ``size``, so that no statement has too many parameters."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def objects(
    connection: sa.Connection,
    sequence: int,
    name: str | None = None,
    kind: str | None = None,
    id: int | None = None,
    created: bool = False,
) -> list[tuple[Object, int]]:
    """Returns the objects that a commit's snapshot sees, each with a commit number. One statement.

    The number is the number of the commit that made the object's version or, with ``created``, its first version.
    """
    criteria = {
        name_: value
        for name_, value in (("name", name and name.lower()), ("kind", kind), ("id", id))
        if value is not None
    }
    query = _objects(connection.dialect, *criteria, *(("created",) if created else ()))
    rows = fetch(connection, query, **criteria, sequence=sequence)
    warehouse = warehouse_of(connection)
    return [(decode_object(*values, warehouse), commit) for *values, commit in rows]


@once
def _objects(*criteria: str) -> sa.Select[Any]:
    row, maker, ender = schema.objects, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    sequence = _number("sequence")
    first = schema.objects.alias("first")
    creator = sa.select(sa.func.min(first.c.commit_seq)).where(first.c.object_id == row.c.object_id).scalar_subquery()
    query = (
        sa.select(row.c.kind, row.c.object_id, row.c.name, row.c.definition)
        .add_columns(creator if "created" in criteria else row.c.commit_seq)
        .join_from(row, maker, sa.and_(maker.c.object_id == row.c.object_id, maker.c.write_id == row.c.made))
        .join(
            ender,
            sa.and_(ender.c.object_id == row.c.object_id, ender.c.write_id == row.c.ended),
            isouter=True,
        )
        .where(maker.c.commit_seq <= sequence, sa.or_(ender.c.commit_seq.is_(None), ender.c.commit_seq > sequence))
    )
    if "name" in criteria:
        query = query.where(row.c.name_key == sa.bindparam("name", "", sa.Text))
    if "kind" in criteria:
        query = query.where(row.c.kind == sa.bindparam("kind", "", sa.Text))
    if "id" in criteria:
        query = query.where(row.c.object_id == _number("id"))
    return query


def object_under(connection: sa.Connection, object_id: int, ids: ValidWriteIdList) -> Object | None:
    """Returns an object as its own write ids see it; ``None`` if they do not see it. One statement."""
    row = schema.objects
    query = sa.select(row.c.kind, row.c.object_id, row.c.name, row.c.definition)
    definition = connection.execute(query.where(row.c.object_id == object_id, *visible(row, ids))).first()
    return None if definition is None else decode_object(*definition, warehouse_of(connection))


def names_in(connection: sa.Connection, database: str, limit: int = 20) -> list[str]:
    """Returns names of live objects in a database other than ``default``, at most ``limit``. One statement."""
    row, key = schema.objects, database_key(database)
    inside = sa.and_(row.c.name_key > key, row.c.name_key < key[:-1] + chr(ord(key[-1]) + 1))
    query = sa.select(row.c.name).where(inside, row.c.ended == schema.NEVER).order_by(row.c.name_key).limit(limit)
    return list(connection.execute(query).scalars().all())


def partition_get(dialect: sa.Dialect, ids: ValidWriteIdList) -> Prepared:
    """Prepares the query of the visible partition with the key ``:key``, for ``partitions_of``.

    ``:high`` is the high-water mark.
    """
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


def partitions_of(table: Table, rows: Iterable[tuple[Any, ...]], warehouse: str) -> list[Partition]:
    """Returns the partitions in rows of ``partition_get``, for the catalog of a warehouse."""
    columns = list(zip(*rows, strict=True))
    if not columns:
        return []
    keys, texts, locations, counts, sizes, files, property_texts = columns
    try:
        # Parsing one text of all values takes a third of the time of parsing the texts one by one.
        value_lists = json.loads(f"[{','.join(texts)}]")
        check_values(value_lists, len(table.partition_columns))
        check_types(locations, str, NoneType)
        check_types(counts, int, NoneType)
        check_types(chain(sizes, files), int)
        if len(value_lists) != len(keys):
            raise ValueError("not one list of values for each partition")
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged_partition(table.name, f"{type(error).__name__}: {error}") from error
    values = map(tuple, value_lists)
    properties = [properties_in(text, table.name) if text else NO_PROPERTIES for text in property_texts]
    row_counts = [None] * len(keys) if table.external else counts
    full_locations = (
        [location and loaded_path(location, warehouse) for location in locations] if table.external else locations
    )
    fields = zip(keys, values, full_locations, row_counts, sizes, files, properties, strict=True)
    return list(map(Partition._make, fields))


def partition_page(
    database: Database,
    table: Table,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[Partition]:
    """Returns at most ``limit`` visible partitions of up to ``range_query.MOST`` key ranges, in key order.

    They are the first ones of one range, or any of several. ``condition`` is an additional one on rows of
    ``schema.partitions``. One statement.
    """
    rows = _partition_rows(database, _partition_columns(), ids, ranges, limit, condition)
    return partitions_of(table, rows, database.warehouse)


def partitions_at(database: Database, table: Table, ids: ValidWriteIdList, paths: Collection[str]) -> list[Partition]:
    """Returns the visible partitions whose own location equals one of the paths, is below one, or above one.

    Links are resolved.
    """
    row, real = schema.partitions, RealPaths()
    query = sa.select(row.c.key, row.c.location).where(
        row.c.table_id == table.id, row.c.location.is_not(None), *visible(row, ids)
    )
    with database.read() as connection:
        warehouse, rows = warehouse_of(connection), _fetched(connection, query)
    if not rows:
        return []
    path_index = PathIndex((real.of(path), path) for path in paths)
    keys = [
        bytes(key) for key, location in rows if any(path_index.overlapping(real.of(loaded_path(location, warehouse))))
    ]
    ranges = merge_ranges(map(KeyRange.of_key, keys))
    return [partition for chunk in chunks(ranges) for partition in partition_page(database, table, ids, chunk, _ALL)]


def key_page(
    database: Database,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[bytes]:
    """Returns the keys of the partitions of ``partition_page``. One statement that reads nothing else."""
    rows = _partition_rows(database, (schema.partitions.c.key,), ids, ranges, limit, condition)
    return list(map(itemgetter(0), rows))


def entry_count(database: Database, key: sa.Column[bytes], ranges: Sequence[KeyRange], limit: int | None = None) -> int:
    """Returns the number of rows of any version with a key in the ranges, up to ``limit``. Reads only the index."""
    total = 0
    for chunk in chunks(ranges, prepared_statements.MOST):
        size, values = prepared_statements.range_parameters(chunk)
        remaining = {"most": _ALL if limit is None else limit - total}
        ((counted,),) = database.rows(_entry_count(database.dialect, key, size), {**values, **remaining})
        total += int(counted)
        if total == limit:
            break
    return total


def indexed_keys(
    database: Database,
    entry_ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> list[bytes]:
    """Returns the keys with an entry of the secondary index in the ranges, at most ``limit`` of them, unordered.

    ``condition`` is an additional one on rows of ``schema.partition_fields``.
    """
    entry = schema.partition_fields.c
    if condition is None:
        size, values = prepared_statements.range_parameters(entry_ranges)
        rows = database.rows(_indexed_keys(database.dialect, size), {**values, "most": limit})
    else:
        with database.read() as connection:
            query = prepared_statements.search(
                connection, entry.place, (entry.place, entry.key), (condition,), entry_ranges
            )
            rows = _fetched(connection, query.limit(limit))
    return [key for _, key in rows]


#: How many rows of files are read and converted at once.
_FILES = 4096


def files(
    connection: sa.Connection, ids: ValidWriteIdList, ranges: Sequence[KeyRange], cluster: str | None = None
) -> Iterator[tuple[Sequence[bytes], Sequence[DataFile]]]:
    """Yields the visible files of partitions in sorted, disjoint key ranges, in (key, path) order: the files of the
    primary cluster, or the copies on another one, whose name is in lower case.

    They come in pages: the keys of the files' partitions, and the files. One statement for up to
    ``range_query.MOST`` ranges.
    """
    row = schema.files if cluster is None else schema.copied_files
    conditions = () if cluster is None else (schema.copied_files.c.cluster == cluster,)
    columns = (row.c.key, row.c.path, row.c.rows, row.c.bytes, row.c.part)
    warehouse = warehouse_of(connection)
    for chunk in chunks(ranges, prepared_statements.MOST):
        query = prepared_statements.search(connection, row.c.key, columns, (*visible(row, ids), *conditions), chunk)
        for page in connection.execute(query.order_by("key", "path")).partitions(_FILES):
            keys, paths, rows, sizes, parts = zip(*page, strict=True)
            for path, row_count, size in zip(paths, rows, sizes, strict=True):
                if not (isinstance(path, str) and isinstance(size, int) and isinstance(row_count, int | None)):
                    raise damaged(f"the file {path!r}", str(path), "it has no path, byte count or row count")
            absolute = {path: loaded_path(path, warehouse) for path in dict.fromkeys(paths)}
            columns_read = (map(absolute.__getitem__, paths), rows, sizes, all_parts_in(parts, paths))
            yield keys, list(map(DataFile._make, zip(*columns_read, strict=True)))


def check_readable(connection: sa.Connection, sequence: int) -> None:
    """Raises ``OperationalError`` SNAPSHOT_TOO_OLD if VACUUM has removed files that a snapshot of this commit may see.

    One statement.
    """
    counter = schema.counters.c
    removed = connection.execute(sa.select(counter.value).where(counter.name == "vacuumed")).scalar_one()
    if removed > sequence:
        raise OperationalError(
            f"the files of commit {sequence} may no longer exist: VACUUM has removed files that were "
            f"replaced up to commit {removed}, which is the oldest one that can be read",
            condition="SNAPSHOT_TOO_OLD",
            hint="Run the statement again on the newest state; VACUUM … RETAIN n HOURS keeps files longer.",
        )


def timelines(connection: sa.Connection, table_id: int, ids: ValidWriteIdList) -> dict[TimelineKey, list[OrdinalRange]]:
    """Returns all timelines of a table. One statement, whose result is as large as the number of ranges."""
    row = schema.timeline_ranges
    query = sa.select(row.c.period, row.c.time_key, row.c.state, row.c.start_ordinal, row.c.end_ordinal)
    ranges_by_key: dict[TimelineKey, list[OrdinalRange]] = {}
    for period, time_key, state, start, end in connection.execute(
        query.where(row.c.table_id == table_id, *visible(row, ids))
    ):
        if not (isinstance(start, int) and isinstance(end, int)):
            raise ValueError(f"{start!r} to {end!r} is not a valid range of a timeline")
        ranges_by_key.setdefault((period, time_key, state), []).append(OrdinalRange(start, end))
    return ranges_by_key


def copied_ranges(connection: sa.Connection, table_id: int, ids: ValidWriteIdList) -> dict[str, tuple[KeyRange, ...]]:
    """Returns the merged key ranges of the partitions that each secondary cluster has, by its name in lower case. One
    statement.
    """
    row = schema.partition_copies
    query = sa.select(row.c.cluster, row.c.start_key, row.c.end_key)
    by_cluster: dict[str, list[KeyRange]] = {}
    for name, start, end in connection.execute(query.where(row.c.table_id == table_id, *visible(row, ids))):
        by_cluster.setdefault(name, []).append(KeyRange(start, end))
    return {name: merge_ranges(ranges) for name, ranges in by_cluster.items()}


def _partition_columns() -> tuple[sa.Column[Any], ...]:
    row = schema.partitions.c
    return row.key, row.partition_values, row.location, row.rows, row.bytes, row.files, row.properties


def _in_key_order(
    connection: sa.Connection, query: sa.Select[Any], ranges: Sequence[KeyRange], limit: int
) -> list[tuple[Any, ...]]:
    """Returns at most ``limit`` rows with the key as first column: the first ones of one range, any of several."""
    if len(ranges) == 1:
        return _fetched(connection, query.order_by("key").limit(limit))
    # With an ORDER BY the database would read everything in the ranges before it returns the first row.
    return sorted(_fetched(connection, query.limit(limit)), key=itemgetter(0))


def _fetched(connection: sa.Connection, query: sa.Select[Any]) -> list[tuple[Any, ...]]:
    """Returns all rows as the driver makes them: bytes, texts and numbers, without SQLAlchemy's rows around them."""
    with connection.execute(query) as result:
        return cast(list[tuple[Any, ...]], result.cursor.fetchall())


@per_dialect
def _entry_count(dialect: sa.Dialect, key: sa.Column[bytes], size: int) -> Prepared:
    """Prepares a count of entries in ``size`` ranges, at most ``:most``, with the names of ``range_parameters``."""
    if size == 1:
        start, end = (sa.bindparam(name, b"", sa.LargeBinary) for name in ("start_0", "end_0"))
        entries = sa.select(key).where(key >= start, key < end)
    else:
        entries = prepared_statements.range_join(dialect, key, (key,), (), size, {})
    entries = entries.limit(_limit_parameter())
    return prepare_statement(sa.select(sa.func.count()).select_from(entries.subquery()), dialect)


@per_dialect
def _indexed_keys(dialect: sa.Dialect, size: int) -> Prepared:
    """Prepares the query of the entries of the secondary index in ``size`` ranges, at most ``:most``."""
    entry = schema.partition_fields.c
    return _prepared_range_join(dialect, entry.place, (entry.place, entry.key), (), size)


def _partition_rows(
    database: Database,
    columns: tuple[sa.Column[Any], ...],
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    limit: int,
    condition: sa.ColumnElement[bool] | None,
) -> list[tuple[Any, ...]]:
    """Returns at most ``limit`` rows of partitions with the key as first column, in key order.

    They are the first ones of one range, or any of several.
    """
    row = schema.partitions
    if condition is not None or ids.invalid:
        with database.read() as connection:
            query = prepared_statements.search(
                connection, row.c.key, columns, _all_conditions(visible(row, ids), condition), ranges
            )
            return _in_key_order(connection, query, ranges, limit)
    parameters: dict[str, object] = {"high": ids.high_water_mark, "most": limit}
    if len(ranges) == 1:
        values = {"start": ranges[0].start, "end": ranges[0].end}
        return database.rows(_select_range(database.dialect, columns), values | parameters)
    if all(key_range.is_one_key for key_range in ranges):
        # Keys from a secondary index are many and need no ranges.
        size = 1 << (len(ranges) - 1).bit_length()
        keys = [*(key_range.start for key_range in ranges), *[b""] * (size - len(ranges))]
        statement, values = (
            _select_keys(database.dialect, columns, size),
            {f"key_{n}": key for n, key in enumerate(keys)},
        )
    else:
        size, values = prepared_statements.range_parameters(ranges)
        statement = _select_ranges(database.dialect, columns, size)
    return sorted(database.rows(statement, values | parameters), key=itemgetter(0))


@once
def _select_range(columns: tuple[sa.Column[Any], ...]) -> sa.Select[Any]:
    """Selects at most ``:most`` rows with keys from ``:start`` to ``:end`` that the write ids up to ``:high`` see."""
    key = schema.partitions.c.key
    start, end = (sa.bindparam(name, b"", sa.LargeBinary) for name in ("start", "end"))
    return sa.select(*columns).where(key >= start, key < end, *_committed()).order_by(key).limit(_limit_parameter())


@once
def _select_keys(columns: tuple[sa.Column[Any], ...], size: int) -> sa.Select[Any]:
    """Selects at most ``:most`` rows with one of ``size`` keys that the write ids up to ``:high`` see."""
    keys = [sa.bindparam(f"key_{index}", b"", sa.LargeBinary) for index in range(size)]
    return sa.select(*columns).where(schema.partitions.c.key.in_(keys), *_committed()).limit(_limit_parameter())


@per_dialect
def _select_ranges(dialect: sa.Dialect, columns: tuple[sa.Column[Any], ...], size: int) -> Prepared:
    """Prepares the query of at most ``:most`` rows in ``size`` key ranges that the write ids up to ``:high`` see."""
    return _prepared_range_join(dialect, schema.partitions.c.key, columns, _committed(), size)


def _prepared_range_join(
    dialect: sa.Dialect,
    key: sa.Column[Any],
    columns: tuple[sa.Column[Any], ...],
    conditions: tuple[sa.ColumnElement[bool], ...],
    size: int,
) -> Prepared:
    return prepare_statement(
        prepared_statements.range_join(dialect, key, columns, conditions, size, {}).limit(_limit_parameter()), dialect
    )


def _committed() -> tuple[sa.ColumnElement[bool], ...]:
    """Returns the visibility conditions on partitions for a list of write ids without open and aborted ones."""
    row, high = schema.partitions.c, _number("high")
    return row.made <= high, row.ended > high


def _limit_parameter() -> sa.BindParameter[int]:
    return sa.bindparam("most", _ALL, sa.BigInteger)


def _all_conditions(
    conditions: tuple[sa.ColumnElement[bool], ...], condition: sa.ColumnElement[bool] | None
) -> tuple[sa.ColumnElement[bool], ...]:
    return conditions if condition is None else (*conditions, condition)


def visible(row: sa.Table, ids: ValidWriteIdList) -> tuple[sa.ColumnElement[bool], ...]:
    """Returns the conditions on a versioned table of the schema that select the rows that these write ids see."""
    made, ended = row.c.made <= ids.high_water_mark, row.c.ended > ids.high_water_mark
    if not ids.invalid:
        return made, ended
    made = sa.and_(made, row.c.made.not_in(_numbers("invalid", ids.invalid)))
    if not ids.open:
        return made, ended  # Only commits mark rows as ended, never aborted transactions.
    still_open = row.c.ended.in_(_numbers("open", ids.open))
    return made, row.c.ended >= ids.min_open, sa.or_(ended, still_open)


def read_timelines(database: Database, table_id: int, ids: ValidWriteIdList) -> StoredTimelines:
    """Returns all stored timelines of a table, immutable so that they can be shared. One statement.

    Raises ``ValueError`` if one is damaged.
    """
    with database.read() as connection:
        ranges_by_key = timelines(connection, table_id, ids)
    return {key: tuple(ranges) for key, ranges in ranges_by_key.items()}


# Counts of partitions and of their rows, which the database makes. Rows are versioned as in ``queries``.


def partition_count(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    condition: sa.ColumnElement[bool] | None = None,
) -> int:
    """Returns the number of visible partitions in key ranges. One statement for up to ``range_query.MOST`` ranges."""
    row = schema.partitions
    conditions = _all_conditions(visible(row, ids), condition)
    return sum(
        _count(connection, prepared_statements.search(connection, row.c.key, (row.c.key,), conditions, chunk))
        for chunk in chunks(ranges, prepared_statements.MOST)
    )


def row_total(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    condition: sa.ColumnElement[bool] | None = None,
) -> int | None:
    """Returns the number of rows in the visible partitions in disjoint key ranges; ``None`` if the rows of a file were
    not counted. One statement for up to ``range_query.MOST`` ranges.
    """
    row = schema.partitions
    conditions = _all_conditions(visible(row, ids), condition)
    total = 0
    for chunk in chunks(ranges, prepared_statements.MOST):
        columns = (row.c.key, row.c.rows, row.c.files)
        partition = prepared_statements.search(connection, row.c.key, columns, conditions, chunk).subquery().c
        counted = sa.func.sum(sa.case((partition.files > 0, partition.rows)))
        uncounted = sa.func.count(sa.case((sa.and_(partition.files > 0, partition.rows.is_(None)), 1)))
        rows, files_without_count = connection.execute(sa.select(counted, uncounted)).one()
        if files_without_count:
            return None
        total += int(rows or 0)
    return total


def edge_key(
    connection: sa.Connection,
    ids: ValidWriteIdList,
    ranges: Sequence[KeyRange],
    condition: sa.ColumnElement[bool] | None = None,
    *,
    last: bool,
) -> bytes | None:
    """Returns the first or the last key of the visible partitions in sorted, disjoint key ranges that have rows.

    One statement for each range until one is found.
    """
    row = schema.partitions
    conditions = _all_conditions((*visible(row, ids), row.c.files > 0, row.c.rows > 0), condition)
    for key_range in reversed(ranges) if last else ranges:
        query = prepared_statements.search(connection, row.c.key, (row.c.key,), conditions, [key_range])
        key = connection.execute(query.order_by(row.c.key.desc() if last else row.c.key).limit(1)).scalar()
        if key is not None:
            return bytes(key)
    return None


def _count(connection: sa.Connection, query: sa.Select[Any]) -> int:
    counted = sa.select(sa.func.count()).select_from(query.subquery())
    return int(connection.execute(counted).scalar_one())


# Queries about committed batches. A batch is committed for ever, so they need no snapshot.


def has_batch(connection: sa.Connection, table_id: int, id: str) -> bool:
    """Returns whether a batch without a stream was committed to a table. One look-up."""
    row = schema.batches.c
    query = sa.select(row.row_id).where(row.table_id == table_id, row.stream == "", row.checkpoint == "")
    return connection.execute(query.where(row.batch == id)).first() is not None


def last_batch(connection: sa.Connection, table_id: int, stream: str) -> Batch | None:
    """Returns the last batch of a stream that was committed to a table; ``None`` for no batch. One look-up."""
    row = schema.batches.c
    query = sa.select(row.batch, row.checkpoint).where(row.table_id == table_id, row.stream == stream)
    last = connection.execute(query).first()
    return None if last is None else Batch(last.batch, stream, last.checkpoint)


@dataclass(frozen=True)
class StreamProgress:
    """The progress of a stream in its table: its watermark, in microseconds since 1970 (``None``: unknown), and the
    number of times that late rows of it have committed a partition again.
    """

    watermark: int | None = None
    late: int = 0


def progress_of(connection: sa.Connection, table_id: int, stream: str) -> StreamProgress:
    """Returns the progress of a stream. One look-up."""
    row = schema.batches.c
    query = sa.select(row.watermark, row.late).where(row.table_id == table_id, row.stream == stream)
    last = connection.execute(query).first()
    return StreamProgress() if last is None else StreamProgress(last.watermark, last.late or 0)


# The SELECTs of transaction lists and lists of write ids.

#: A list that may see all transactions: the write ids of the committed ones are valid.
ALL_COMMITTED = ValidTxnList(schema.NEVER, frozenset())


def transaction_list(connection: sa.Connection) -> tuple[tuple[int, int], int, ValidTxnList, bool]:
    """Returns the version of the schema and the tables' identity, the newest commit's number, the transactions, and
    whether the catalog has properties.

    Runs one statement, so the result is one state of the database.
    """
    rows = fetch(connection, _transactions(connection.dialect))
    newest = {name: value for name, value, *_ in rows}
    open_ids = frozenset(transaction_id for _, _, transaction_id, *_ in rows if transaction_id is not None)
    *_, version, identity, has_properties = rows[0]
    return (version, identity), newest["commit"], ValidTxnList(newest["transaction"], open_ids), bool(has_properties)


@once
def _transactions() -> sa.Select[Any]:
    counter, transaction = schema.counters, schema.transactions
    version = sa.select(schema.schema_version.c.version).scalar_subquery()
    is_live = sa.and_(schema.objects.c.name_key == PROPERTIES_KEY, schema.objects.c.ended == schema.NEVER)
    has_properties = sa.select(schema.objects.c.row_id).where(is_live).exists()
    return (
        sa.select(counter.c.name, counter.c.value, transaction.c.transaction_id, version, IDENTITY, has_properties)
        .select_from(counter.outerjoin(transaction, transaction.c.state == "open"))
        .where(counter.c.name.in_(("commit", "transaction")))
    )


def write_id_list(
    connection: sa.Connection, object_id: int, sequence: int, transactions: ValidTxnList
) -> ValidWriteIdList:
    """Returns the write ids of an object that are valid as of a commit. Two statements."""
    parameters = {"object": object_id, "sequence": sequence}
    high: int | None = fetch_value(connection, _high(connection.dialect), **parameters)
    if high is None:
        return ValidWriteIdList(str(object_id), 0)
    not_seen = fetch(connection, _not_seen(connection.dialect), **parameters, high=high)
    # A transaction that was open at the snapshot stays open for it, whatever its later state.
    aborted = frozenset(w for w, holder, state in not_seen if state == "aborted" and transactions.may_see(holder))
    open_ids = frozenset(w for w, _, _ in not_seen) - aborted
    return ValidWriteIdList(str(object_id), high, open_ids, aborted)


@once
def _high() -> sa.Select[Any]:
    write_id = schema.write_ids.c
    # The addition disables the index on commit numbers: a backward scan of the newest ids finds the result sooner.
    query = sa.select(write_id.write_id).where(
        write_id.object_id == _number("object"), write_id.commit_seq + 0 <= _number("sequence")
    )
    return query.order_by(write_id.write_id.desc()).limit(1)


@once
def _not_seen() -> sa.CompoundSelect[Any]:
    write_ids, transaction = schema.write_ids, schema.transactions
    below = (
        sa.select(write_ids.c.write_id, write_ids.c.transaction_id, transaction.c.state)
        .join_from(write_ids, transaction, transaction.c.transaction_id == write_ids.c.transaction_id)
        .where(write_ids.c.object_id == _number("object"), write_ids.c.write_id + 0 < _number("high"))
    )
    return sa.union_all(
        below.where(write_ids.c.commit_seq.is_(None)), below.where(write_ids.c.commit_seq > _number("sequence"))
    )


def _number(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, 0, sa.BigInteger)


def are_committed(connection: sa.Connection, object_id: int, ids: ValidWriteIdList) -> bool:
    """Returns True if all writes that a list sees were committed, and all that it calls aborted were aborted.

    Runs one statement, or two.
    """
    write_ids, transaction = schema.write_ids, schema.transactions
    query = sa.select(sa.func.count()).where(
        write_ids.c.object_id == object_id,
        write_ids.c.write_id <= ids.high_water_mark,
        write_ids.c.commit_seq.is_not(None),
    )
    if ids.invalid:
        query = query.where(write_ids.c.write_id.not_in(_numbers("invalid", ids.invalid)))
    if connection.execute(query).scalar_one() != ids.count:
        return False
    if not ids.aborted:
        return True
    aborted = (
        sa.select(sa.func.count())
        .join_from(write_ids, transaction, transaction.c.transaction_id == write_ids.c.transaction_id)
        .where(write_ids.c.object_id == object_id, write_ids.c.write_id.in_(_numbers("aborted", ids.aborted)))
        .where(transaction.c.state == "aborted")
    )
    return connection.execute(aborted).scalar_one() == len(ids.aborted)


def _numbers(name: str, numbers: Iterable[int]) -> sa.BindParameter[Any]:
    return sa.bindparam(name, sorted(numbers), expanding=True, literal_execute=True)
