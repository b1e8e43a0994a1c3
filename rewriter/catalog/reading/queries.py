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
from typing import Any, cast

import sqlalchemy as sa

from rewriter.catalog.model.json_codec import Object, damaged, decoded
from rewriter.catalog.model.key_ranges import KeyRange, merged
from rewriter.catalog.model.objects import NO_PROPERTIES, DataFile, Partition, Table
from rewriter.catalog.model.qualified_names import database_key
from rewriter.catalog.model.real_paths import PathIndex, RealPaths
from rewriter.catalog.model.stored_paths import loaded
from rewriter.catalog.model.stored_rows import all_parts_in, check_types, check_values, damaged_partition, properties_in
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading.write_id_queries import _number, _numbers
from rewriter.catalog.store import range_query, schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.database import Database
from rewriter.catalog.store.prepared_statements import Prepared, fetch, once, per_dialect, prepared
from rewriter.errors import OperationalError
from rewriter.timeline.timeline import OrdinalRange

#: (update period, time dimension in lower case, ``schema.FRESH``, …): one stored timeline of a table.
TimelineKey = tuple[int, str, int]

#: All stored timelines of a table.
StoredTimelines = Mapping[TimelineKey, Sequence[OrdinalRange]]

#: The maximum number of values of one ``IN (…)``.
CHUNK = 900

#: The limit of a query without one.
_ALL = (1 << 63) - 1


def chunks(items: Sequence[Any], size: int = CHUNK) -> Iterator[Sequence[Any]]:
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

    The number is that of the commit that made the object's version or, with ``created``, its first version.
    """
    criteria = {
        name_: value
        for name_, value in (("name", name and name.lower()), ("kind", kind), ("id", id))
        if value is not None
    }
    query = _objects(connection.dialect, *criteria, *(("created",) if created else ()))
    rows = fetch(connection, query, **criteria, sequence=sequence)
    warehouse = warehouse_of(connection)
    return [(decoded(*values, warehouse), commit) for *values, commit in rows]


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
    return None if definition is None else decoded(*definition, warehouse_of(connection))


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
        [location and loaded(location, warehouse) for location in locations] if table.external else locations
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
    keys = [bytes(key) for key, location in rows if any(path_index.overlapping(real.of(loaded(location, warehouse))))]
    ranges = merged(map(KeyRange.of_key, keys))
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
    for chunk in chunks(ranges, range_query.MOST):
        size, values = range_query.range_parameters(chunk)
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
        size, values = range_query.range_parameters(entry_ranges)
        rows = database.rows(_indexed_keys(database.dialect, size), {**values, "most": limit})
    else:
        with database.read() as connection:
            query = range_query.search(connection, entry.place, (entry.place, entry.key), (condition,), entry_ranges)
            rows = _fetched(connection, query.limit(limit))
    return [key for _, key in rows]


#: How many rows of files are read and converted at once.
_FILES = 4096


def files(
    connection: sa.Connection, ids: ValidWriteIdList, ranges: Sequence[KeyRange], cluster: str | None = None
) -> Iterator[tuple[bytes, DataFile]]:
    """Yields the visible files of partitions in sorted, disjoint key ranges, in (key, path) order: those of the primary
    cluster, or the copies on another one, whose name is in lower case.

    Each comes with its partition's key. One statement for up to ``range_query.MOST`` ranges.
    """
    row = schema.files if cluster is None else schema.copied_files
    conditions = () if cluster is None else (schema.copied_files.c.cluster == cluster,)
    columns = (row.c.key, row.c.path, row.c.rows, row.c.bytes, row.c.part)
    warehouse = warehouse_of(connection)
    for chunk in chunks(ranges, range_query.MOST):
        query = range_query.search(connection, row.c.key, columns, (*visible(row, ids), *conditions), chunk)
        for page in connection.execute(query.order_by("key", "path")).partitions(_FILES):
            keys, paths, rows, sizes, parts = zip(*page, strict=True)
            for path, row_count, size in zip(paths, rows, sizes, strict=True):
                if not (isinstance(path, str) and isinstance(size, int) and isinstance(row_count, int | None)):
                    raise damaged(f"the file {path!r}", str(path), "it has no path, byte count or row count")
            absolute = {path: loaded(path, warehouse) for path in dict.fromkeys(paths)}
            columns_read = (map(absolute.__getitem__, paths), rows, sizes, all_parts_in(parts, paths))
            yield from zip(keys, map(DataFile._make, zip(*columns_read, strict=True)), strict=True)


def check_readable(connection: sa.Connection, sequence: int) -> None:
    """Raises ``OperationalError`` SNAPSHOT_TOO_OLD if VACUUM has removed files that a snapshot of this commit may see.

    One statement.
    """
    counter = schema.counters.c
    removed = connection.execute(sa.select(counter.value).where(counter.name == "vacuumed")).scalar_one()
    if removed > sequence:
        raise OperationalError(
            f"the files of commit {sequence} may no longer exist: VACUUM has removed files that were "
            f"replaced up to commit {removed}",
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
    return {name: merged(ranges) for name, ranges in by_cluster.items()}


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
        entries = range_query.range_join(dialect, key, (key,), (), size, {})
    entries = entries.limit(_limit_parameter())
    return prepared(sa.select(sa.func.count()).select_from(entries.subquery()), dialect)


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
            query = range_query.search(
                connection, row.c.key, columns, all_conditions(visible(row, ids), condition), ranges
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
        size, values = range_query.range_parameters(ranges)
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
    return prepared(
        range_query.range_join(dialect, key, columns, conditions, size, {}).limit(_limit_parameter()), dialect
    )


def _committed() -> tuple[sa.ColumnElement[bool], ...]:
    """Returns the visibility conditions on partitions for a list of write ids without open and aborted ones."""
    row, high = schema.partitions.c, _number("high")
    return row.made <= high, row.ended > high


def _limit_parameter() -> sa.BindParameter[int]:
    return sa.bindparam("most", _ALL, sa.BigInteger)


def all_conditions(
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
