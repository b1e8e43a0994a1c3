"""The rows of system tables as Arrow batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from rewriter.catalog.cache.entries import MEANINGS
from rewriter.catalog.catalog import not_found
from rewriter.catalog.keys.partition_names import NameMaker
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import (
    CATALOG,
    DEFAULT_DATABASE,
    Column,
    Cube,
    Fact,
    Partition,
    StorageTable,
    Table,
    View,
    database_of,
    parts_of,
)
from rewriter.catalog.model.proofs import OPEN
from rewriter.catalog.model.system_tables import SYSTEM_TABLES, SystemTable, is_system_database
from rewriter.catalog.model.temporary_views import session_of
from rewriter.errors import Error
from rewriter.exec.sql_types import arrow_type, parse_type
from rewriter.statements.system_tables.system_read import SystemRead, microseconds, schema_and_name
from rewriter.terminal_text import encodable

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.catalog.model.json_codec import Object
    from rewriter.runtime.result import Row
    from rewriter.timeline.calendars import Period


# ``system.partitions``: the partitions that the catalog lists, with their files and rows.


def partitions(read: SystemRead) -> Iterator[Row]:
    """Yields the partitions of the tables that the query names, or of all, in key order. Holds a page of them.

    If the query names the partitions, too, each is looked up by its key. Tables whose partitions are discovered have
    none in the catalog.
    """
    names = read.values_of(2)
    for table in read.tables():
        if not table.partition_columns or is_discovered(table):
            continue
        for page in _all_pages(table, read) if names is None else _named_pages(table, names, read):
            yield from _rows(table, page)


#: Partitions in key order, each with whether a stream fills it.
_Page = Sequence[tuple[Partition, bool]]


def _all_pages(table: Table, read: SystemRead) -> Iterator[_Page]:
    snapshot = read.context.snapshot
    open_keys: frozenset[bytes] | None = None
    for page in snapshot.lookup(table, None).partition_pages():
        if open_keys is None:
            open_keys = snapshot.open_keys(table)
        yield [(partition, partition.key in open_keys) for partition in page]


def _named_pages(table: Table, names: Sequence[str], read: SystemRead) -> Iterator[_Page]:
    snapshot = read.context.snapshot
    lookup = snapshot.lookup(table, None)
    keys = []
    for name in names:
        try:
            keys.append(lookup.key_named(name))
        except Error:
            continue  # No partition of this table has such a name.
    for key in sorted(set(keys)):
        ranges = (KeyRange.of_key(key),)
        yield [(partition, OPEN in snapshot.doubts(table, ranges)) for partition in snapshot.partitions(table, ranges)]


def _rows(table: Table, page: _Page) -> Iterator[Row]:
    """Yields the rows of a page. The catalog does not list the files of external tables."""
    columns = [column.name for column in table.partition_columns]
    names = NameMaker(table.partition_columns).names_of([partition.key for partition, _ in page])
    for name, (partition, is_open) in zip(names, page, strict=True):
        yield (
            *schema_and_name(table),
            name,
            _json(dict(zip(columns, partition.values, strict=True))),
            "open" if is_open else "committed",
            partition.rows,
            None if table.external else partition.files,
            None if table.external else partition.bytes,
            partition.location,
            _json(partition.properties) if partition.properties else None,
        )


def _json(values: Mapping[str, str | None]) -> str:
    return json.dumps(dict(values), ensure_ascii=False, separators=(",", ":"))


# ``system.transactions``: the transactions of the catalog as the snapshot sees them.


def transactions(read: SystemRead) -> Iterator[Row]:
    """Yields the transactions, oldest first. One that committed after the snapshot is open here.

    ``objects`` are the objects that it wrote, by name; objects that were dropped since, and temporary ones, are absent.
    """
    snapshot = read.context.snapshot
    named = (snapshot.tables(), snapshot.views(), snapshot.cubes(), snapshot.facts(), snapshot.functions())
    kinds = (*named, snapshot.databases())
    names = {
        object_.id: object_.name
        for kind in kinds
        for object_ in kind
        if session_of(object_.name) is None and object_.id
    }
    for transaction in snapshot.transaction_records():
        objects = sorted(names[object_id] for object_id in transaction.objects if object_id in names)
        yield (
            transaction.id,
            transaction.state,
            microseconds(transaction.begun_at),
            microseconds(transaction.heartbeat_at),
            microseconds(transaction.ended_at),
            transaction.snapshot_commit,
            transaction.commit,
            ", ".join(objects) or None,
        )


# ``system.timelines``: the ranges of time for which the tables of facts have partitions, by their state.


def timelines(read: SystemRead) -> Iterator[Row]:
    """Yields a row for each maximal range of periods in one state, of each storage table, period and time dimension.

    ``retired`` are base periods that were dropped. ``narrow`` are rollups that lack columns which their table got
    later; they are in another state, too. Reads the timelines of the tables that the query names; no partition.
    """
    facts = read.context.snapshot.facts()
    tables = {table.name.lower(): table for table in read.tables()} if facts else {}
    for fact in facts:
        for storage in fact.storages:
            for storage_table in storage.tables:
                table = tables.get(storage_table.table.lower())
                if table is not None:
                    for period in sorted(storage_table.layouts, reverse=True):
                        for time in storage_table.times:
                            yield from _ranges(fact, storage.name, storage_table, table, period, time, read)


def _ranges(
    fact: Fact, storage: str, storage_table: StorageTable, table: Table, period: Period, time: str, read: SystemRead
) -> Iterator[Row]:
    snapshot = read.context.snapshot
    lines = {
        "fresh": snapshot.timeline,
        **snapshot.unused_timelines,
        "open": snapshot.open,
        "retired": snapshot.retired,
        "narrow": snapshot.lacking,
    }
    for state, line in lines.items():
        for ordinals in line(storage_table.table, period, time).ranges():
            yield (
                *schema_and_name(table),
                *parts_of(fact.name),
                *parts_of(fact.cube),
                storage,
                period.name,
                time,
                state,
                period.start(ordinals.start),
                period.start(ordinals.end),
                ordinals.end - ordinals.start,
            )


# ``system.cache`` and ``system.queries``: the state of the session. Nothing of it is in the catalog.


def cache(read: SystemRead) -> Iterator[Row]:
    """Yields the rows of SHOW CACHE."""
    metrics = read.context.catalog.cache_metrics()
    for name, meaning in MEANINGS.items():
        yield name, metrics[name], meaning


def queries(read: SystemRead) -> Iterator[Row]:
    """Yields the last statements of the session, oldest first; the last one is the statement that reads them."""
    for statement in read.context.queries.statements():
        stats, failure = statement.stats, statement.failure
        yield (
            statement.query_id,
            microseconds(statement.started_at),
            microseconds(statement.ended_at),
            encodable(statement.text),
            statement.status,
            None if stats is None else stats.planning_seconds,
            None if stats is None else stats.execution_seconds,
            statement.row_count,
            None if failure is None else failure.condition,
            None if failure is None else encodable(failure.message),
        )


# The tables of ``information_schema``: databases, tables, columns and views, with the names of the SQL standard.


def schemata(read: SystemRead) -> Iterator[Row]:
    """Yields the databases, including the databases of system tables."""
    warehouse = read.context.catalog.warehouse.absolute()
    for database in read.context.snapshot.all_databases():
        below = warehouse if database.name == DEFAULT_DATABASE else warehouse / f"{database.name}.db"
        location = None if is_system_database(database) else database.location or str(below)
        yield CATALOG, database.name, database.comment, location


def tables(read: SystemRead) -> Iterator[Row]:
    """Yields the tables, views, cubes and facts that the session sees, and the system tables.

    ``table_type`` is BASE TABLE, VIEW, LOCAL TEMPORARY, TEMPORARY VIEW, CUBE, FACT or SYSTEM TABLE.
    """
    for object_ in _objects(read):
        is_table = isinstance(object_, Table)
        is_stored = is_table and not isinstance(object_, SystemTable)
        yield (
            CATALOG,
            *schema_and_name(object_),
            _type_of(object_),
            "YES" if is_stored else "NO",
            object_.comment if isinstance(object_, Table | View) else None,
            object_.format if isinstance(object_, Table) and is_stored else None,
            object_.location if isinstance(object_, Table) and is_stored else None,
        )


def views(read: SystemRead) -> Iterator[Row]:
    """Yields the views with the texts of their queries."""
    for view in read.among(read.context.snapshot.views()):
        if isinstance(view, View):
            yield CATALOG, *schema_and_name(view), view.query, view.comment


def columns(read: SystemRead) -> Iterator[Row]:
    """Yields the columns of all that ``tables`` lists, partition columns last, as ``SELECT *`` has them.

    The columns of a view are the columns that its query has now: none if it cannot be read. ``extra_info`` is
    ``partition key``, or the role of a cube's column: ``dimension``, ``time`` or ``measure sum``.
    """
    cubes = {cube.name.lower(): cube for cube in read.context.snapshot.cubes()}
    for object_ in _objects(read):
        match object_:
            case Table():
                described = [
                    (column, "NO" if column.not_null else "YES", _partition_key(column, object_))
                    for column in object_.all_columns
                ]
            case View():
                described = [(column, "YES", None) for column in read.view_columns(object_)]
            case Cube():
                described = _of_cube(object_, object_.column_order)
            case Fact():
                cube = cubes.get(object_.cube.lower())
                described = [] if cube is None else _of_cube(cube, _columns_of_fact(object_, cube))
            case _:
                continue
        for position, (column, is_nullable, role) in enumerate(described, 1):
            yield (
                CATALOG,
                *schema_and_name(object_),
                column.name,
                position,
                column.default,
                is_nullable,
                column.type or None,
                column.comment,
                role,
            )


def _objects(read: SystemRead) -> Iterator[Object]:
    """Yields everything that a query can name in FROM, system tables last."""
    snapshot = read.context.snapshot
    system_tables = [t for t in SYSTEM_TABLES.values() if snapshot.system_database(database_of(t.name)) is not None]
    yield from read.tables()
    for objects in (snapshot.views(), snapshot.cubes(), snapshot.facts(), system_tables):
        yield from read.among(objects)


def _type_of(object_: Object) -> str:
    match object_:
        case SystemTable():
            return "SYSTEM TABLE"
        case Table():
            return "BASE TABLE" if session_of(object_.name) is None else "LOCAL TEMPORARY"
        case View():
            return "VIEW" if session_of(object_.name) is None else "TEMPORARY VIEW"
    return type(object_).__name__.upper()


def _partition_key(column: Column, table: Table) -> str | None:
    is_key = column in table.partition_columns and not isinstance(table, SystemTable)
    return "partition key" if is_key else None


def _of_cube(cube: Cube, names: Sequence[str]) -> list[tuple[Column, str, str | None]]:
    """Returns columns of a cube, each with whether it may be NULL, and its role."""
    dimensions = {column.name: column for column in cube.dimensions}
    measures = {measure.name: measure for measure in cube.measures}
    described: list[tuple[Column, str, str | None]] = []
    for name in names:
        if name in dimensions:
            described.append((dimensions[name], "YES", "dimension"))
        elif name in measures:
            measure = measures[name]
            role = f"measure {measure.aggregate.value.lower()}"
            described.append((Column(name, measure.type), "NO" if measure.not_null else "YES", role))
        else:
            described.append((Column(name, "timestamp"), "YES", "time"))
    return described


def _columns_of_fact(fact: Fact, cube: Cube) -> Sequence[str]:
    if fact.columns is None:
        return cube.column_order
    own = {name.lower() for name in fact.columns}
    return [name for name in cube.column_order if name.lower() in own]


_BATCH_ROWS = 10_000

_OF_SESSION: Mapping[str, Callable[[SystemRead], Iterator[Row]]] = {
    "system.cache": cache,
    "system.queries": queries,
}
#: What yields the rows of each system table.
ROWS: Mapping[str, Callable[[SystemRead], Iterator[Row]]] = {
    "information_schema.schemata": schemata,
    "information_schema.tables": tables,
    "information_schema.columns": columns,
    "information_schema.views": views,
    "system.partitions": partitions,
    "system.timelines": timelines,
    "system.transactions": transactions,
    **_OF_SESSION,
}


def batches(read: SystemRead) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a system table. Holds one batch.

    Raises ``OperationalError`` WAREHOUSE_NOT_FOUND for tables about the catalog where there is none.
    """
    import pyarrow as pa

    catalog = read.context.catalog
    if catalog.is_absent and read.table.name not in _OF_SESSION:
        raise not_found(catalog.warehouse)
    schema = pa.schema([(column.name, arrow_type(parse_type(column.type))) for column in read.table.all_columns])
    rows = ROWS[read.table.name](read)
    while chunk := list(islice(rows, _BATCH_ROWS)):
        arrays = [pa.array(values, field.type) for values, field in zip(zip(*chunk, strict=True), schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
