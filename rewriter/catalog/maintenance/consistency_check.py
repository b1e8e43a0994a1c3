"""``rewriter catalog check``: the invariants between the rows of a catalog, checked row by row.

All reads see one state of the database. Nothing is written, and concurrent writers do not wait. The check reads every
row, rebuilds every timeline, and checks every file that readers see on disk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from types import NoneType
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.fact_timelines import FactTimelineUpdate
from rewriter.catalog.facts.time_binding import bind
from rewriter.catalog.filesystems.reading import stored_size
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.maintenance import file_garbage
from rewriter.catalog.model.json_codec import decode_object
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges, outside
from rewriter.catalog.model.objects import DEFAULT_DATABASE, Cube, Namespace, Table, database_of
from rewriter.catalog.model.stored_paths import loaded_path
from rewriter.catalog.model.stored_rows import check_types, ids_in, origins_in, part_in, properties_in, values_in
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.errors import Error
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.catalog.commit.stored_timelines import TimelineDifference
    from rewriter.catalog.maintenance.file_garbage import StoredTable
    from rewriter.catalog.store.database import Database


@dataclass(frozen=True)
class Finding:
    """A problem: the object that it concerns, and a sentence."""

    object: str
    problem: str


def findings(database: Database) -> Iterator[Finding]:
    """Yields all problems of a catalog; nothing for a correct one. O(rows and files)."""
    with database.read() as connection:
        snapshot = Snapshot.on(database, connection)
        names = _names(connection)
        for part in (_counters, _transactions, _log):
            yield from (Finding("catalog", problem) for problem in part(connection))
        yield from _write_ids(connection, names)
        broken = list(_definitions(connection))
        yield from broken
        for table, column in (
            (schema.objects, schema.objects.c.object_id),
            (schema.partitions, schema.partitions.c.table_id),
            (schema.timeline_ranges, schema.timeline_ranges.c.table_id),
            (schema.partition_copies, schema.partition_copies.c.table_id),
        ):
            yield from _versions(connection, table, column, names)
        yield from _claims(connection, names)
        widths = (
            {}
            if broken
            else {
                known_table.table.id: len(known_table.table.partition_columns)
                for known_table in file_garbage.stored_tables(connection)
            }
        )
        unreadable = list(_unreadable(connection, names, widths))
        yield from unreadable
        if broken or unreadable:
            return  # The remaining checks need readable tables.
        yield from _objects(connection, snapshot)
        known_tables = file_garbage.stored_tables(connection)
        yield from _keys(connection, {prefix(known_table.table.id) for known_table in known_tables})
        for known_table in known_tables:
            for object_name, problem in _check_table(connection, known_table):
                yield Finding(object_name, problem)
            copies = () if known_table.dropped is not None else _check_copies(connection, known_table.table)
            for object_name, problem in copies:
                yield Finding(object_name, problem)
        yield from _same_paths(connection)
        yield from _timelines(database, connection, snapshot, names)


def _unreadable(connection: sa.Connection, names: dict[int, str], widths: dict[int, int]) -> Iterator[Finding]:
    """Checks the types and the JSON texts in the rows of partitions, timelines and files.

    ``widths`` are the numbers of partition columns of tables.
    """
    row = schema.partitions.c
    columns = (row.table_id, row.key, row.partition_values, row.location, row.rows, row.bytes, row.files)
    query = sa.select(*columns, row.properties, row.sources, row.doubt, row.origins)
    for table, key, values, location, count, size, files, *texts in connection.execute(query):
        properties, sources, doubt, origins = texts
        name = names.get(table, f"id {table}")
        try:
            if len(values_in(values, name)) != widths.get(table, len(values_in(values, name))):
                raise ValueError(f"it does not have {widths[table]} values")
            properties_in(properties, name)
            ids_in(sources, name)
            origins_in(origins, name)
            check_types((location, doubt), str, NoneType)
            check_types((size, files), int)
            check_types((count,), int, NoneType)
            check_types((key,), bytes)
        except (Error, ValueError) as error:
            yield Finding(name, f"a row of its partitions cannot be read: {error}")
    line = schema.timeline_ranges.c
    for table, start, end in connection.execute(sa.select(line.table_id, line.start_ordinal, line.end_ordinal)):
        if not (isinstance(start, int) and isinstance(end, int)):
            yield Finding(names.get(table, f"id {table}"), f"{start!r} to {end!r} is not a valid range of a timeline")
    file = schema.files.c
    for path, count, size, part in connection.execute(sa.select(file.path, file.rows, file.bytes, file.part)):
        if not (isinstance(path, str) and isinstance(size, int) and isinstance(count, int | None)):
            yield Finding("catalog", f"a row of files cannot be read: {path!r}")
            continue
        try:
            part_in(part, path)
        except Error as error:
            yield Finding("catalog", f"a row of files cannot be read: {error.message}")


def _names(connection: sa.Connection) -> dict[int, str]:
    """Returns the last name of every object that ever existed, by its id."""
    row = schema.objects.c
    rows = connection.execute(sa.select(row.object_id, row.name).order_by(row.row_id))
    return {row.object_id: row.name for row in rows}


def _counters(connection: sa.Connection) -> Iterator[str]:
    """Checks that counters are not behind the numbers in use, and that commits and events have no gap."""
    counter = schema.counters.c
    values = {row.name: row.value for row in connection.execute(sa.select(counter.name, counter.value))}
    used = {
        "transaction": (schema.transactions.c.transaction_id,),
        "object": (schema.objects.c.object_id, schema.write_ids.c.object_id),
        "commit": (schema.transactions.c.commit_seq,),
        "event": (schema.events.c.event_seq,),
    }
    for name, columns in used.items():
        newest = max(connection.execute(sa.select(sa.func.max(column))).scalar() or 0 for column in columns)
        if name not in values:
            yield f"the counter {name} is missing"
        elif values[name] < newest:
            yield f"the counter {name} is {values[name]}, but {newest} is already in use"
        elif name == "commit" and values[name] > newest:
            yield f"the counter commit is {values[name]}, but the newest commit is {newest}"
        elif name == "event" and newest and values[name] > newest:
            yield f"the counter event is {values[name]}, but the newest event is {newest}"
    if values.get("vacuumed", 0) > values.get("commit", 0):
        yield f"VACUUM has removed files up to commit {values['vacuumed']}, which does not exist yet"


def _transactions(connection: sa.Connection) -> Iterator[str]:
    """Checks that exactly the committed transactions have a commit number, each its own, without a gap."""
    row = schema.transactions.c
    wrong = sa.or_(
        row.state.not_in(("open", "committed", "aborted")),
        sa.and_(row.state == "committed", row.commit_seq.is_(None)),
        sa.and_(row.state != "committed", row.commit_seq.is_not(None)),
    )
    for number, state, commit in connection.execute(
        sa.select(row.transaction_id, row.state, row.commit_seq).where(wrong)
    ):
        yield f"transaction {number} is {state}, and its commit number is {commit}"
    number_counts = sa.select(
        sa.func.count(row.commit_seq), sa.func.count(sa.distinct(row.commit_seq)), sa.func.max(row.commit_seq)
    )
    number_count, distinct_count, newest = connection.execute(number_counts).one()
    if number_count != distinct_count:
        yield f"{number_count - distinct_count} transactions share a commit number with another one"
    if distinct_count != (newest or 0):
        yield f"only {distinct_count} of the commits up to {newest} have a transaction"


def _log(connection: sa.Connection) -> Iterator[str]:
    """Checks that events are numbered without a gap, belong to committed transactions, and close each commit once."""
    row, transaction = schema.events.c, schema.transactions.c
    oldest, newest, count = connection.execute(
        sa.select(sa.func.min(row.event_seq), sa.func.max(row.event_seq), sa.func.count())
    ).one()
    if count and newest - oldest + 1 != count:
        yield f"the log has {count} events between {oldest} and {newest}: some are missing"
    outside = (
        sa.select(row.event_seq, row.commit_seq)
        .join_from(schema.events, schema.transactions, transaction.transaction_id == row.transaction_id, isouter=True)
        .where(transaction.commit_seq.is_distinct_from(row.commit_seq))
        .order_by(row.event_seq)
    )
    for number, commit in connection.execute(outside):
        yield f"event {number} belongs to commit {commit}, which is not the commit of its transaction"
    closing = sa.select(row.commit_seq).where(row.kind == "COMMIT").order_by(row.commit_seq)
    commits = list(connection.execute(closing).scalars())
    if commits and commits != list(range(commits[0], commits[-1] + 1)):
        yield f"the log does not have exactly one end event for each commit from {commits[0]} to {commits[-1]}"


def _write_ids(connection: sa.Connection, names: dict[int, str]) -> Iterator[Finding]:
    """Checks that a transaction holds each write id, with its commit number, and that an object's ids have no gap."""
    id_row, transaction = schema.write_ids.c, schema.transactions.c
    wrong = (
        sa.select(id_row.object_id, id_row.write_id, id_row.commit_seq, transaction.commit_seq)
        .join_from(
            schema.write_ids, schema.transactions, transaction.transaction_id == id_row.transaction_id, isouter=True
        )
        .where(sa.or_(transaction.state.is_(None), transaction.commit_seq.is_distinct_from(id_row.commit_seq)))
    )
    for object_id, write_id, commit, made in connection.execute(wrong):
        yield Finding(
            _name(names, object_id),
            f"the write id {write_id} belongs to commit {commit}, but its transaction to {made}",
        )
    newest = sa.func.max(id_row.write_id)
    gaps = (
        sa.select(id_row.object_id, newest, sa.func.count())
        .group_by(id_row.object_id)
        .having(newest != sa.func.count())
    )
    for object_id, last, count in connection.execute(gaps):
        yield Finding(_name(names, object_id), f"it has {count} write ids, but the newest is {last}")
    object_ids = sa.select(id_row.object_id).where(id_row.commit_seq.is_not(None)).distinct()
    for object_id in connection.execute(object_ids).scalars():
        if object_id not in names:
            yield Finding(_name(names, object_id), "it has committed write ids, but no object has this id")


def _versions(
    connection: sa.Connection, table: sa.Table, column: sa.Column[int], names: dict[int, str]
) -> Iterator[Finding]:
    """Checks that commits made and ended the rows, in this order, and that the rows name them."""
    row, maker, ender = table.c, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    wrong_commit = row.commit_seq > maker.c.commit_seq if "as_of" in row else row.commit_seq != maker.c.commit_seq
    wrong = [
        maker.c.commit_seq.is_(None),
        sa.and_(row.ended != schema.NEVER, ender.c.commit_seq.is_(None)),
        ender.c.commit_seq < maker.c.commit_seq,
        wrong_commit,
    ]
    if "as_of" in row:
        wrong.append(row.as_of > maker.c.commit_seq)
    query = (
        sa.select(row.row_id, column, row.made, row.ended)
        .join_from(table, maker, sa.and_(maker.c.object_id == column, maker.c.write_id == row.made), isouter=True)
        .join(ender, sa.and_(ender.c.object_id == column, ender.c.write_id == row.ended), isouter=True)
        .where(sa.or_(*wrong))
        .order_by(row.row_id)
    )
    for row_id, object_id, made, ended in connection.execute(query):
        end = "" if ended == schema.NEVER else f" and ended by {ended}"
        yield Finding(
            _name(names, object_id),
            f"row {row_id} of {table.name}, made by write id {made}{end}, does not match any commit",
        )
    for object_id in connection.execute(sa.select(column).distinct()).scalars():
        if object_id not in names:
            yield Finding(_name(names, object_id), f"it has rows in {table.name}, but no object has this id")


def _claims(connection: sa.Connection, names: dict[int, str]) -> Iterator[Finding]:
    row, counter = schema.claimed_ranges.c, schema.counters.c
    newest = sa.select(counter.value).where(counter.name == "commit").scalar_subquery()
    wrong = sa.or_(row.commit_seq > newest, row.start_key >= row.end_key)
    for row_id, table_id in connection.execute(sa.select(row.row_id, row.table_id).where(wrong)):
        yield Finding(
            _name(names, table_id), f"row {row_id} of claimed_ranges belongs to no commit, or its range is empty"
        )
    for table_id in connection.execute(sa.select(row.table_id).distinct()).scalars():
        if table_id not in names:
            yield Finding(_name(names, table_id), "it has rows in claimed_ranges, but no object has this id")


def _definitions(connection: sa.Connection) -> Iterator[Finding]:
    row = schema.objects.c
    for row_id, *definition in connection.execute(
        sa.select(row.row_id, row.kind, row.object_id, row.name, row.definition)
    ):
        try:
            decode_object(*definition, warehouse_of(connection))
        except Exception as error:  # Any error that a damaged text may cause.
            yield Finding(definition[2], f"row {row_id} of objects cannot be read: {type(error).__name__}: {error}")


def _objects(connection: sa.Connection, snapshot: Snapshot) -> Iterator[Finding]:
    """Checks that each name and each id has one live object, in an existing database."""
    row = schema.objects.c
    for column, noun in ((row.name_key, "name"), (row.object_id, "id")):
        query = sa.select(sa.func.min(row.name), sa.func.count()).where(row.ended == schema.NEVER)
        for name, count in connection.execute(query.group_by(column).having(sa.func.count() > 1)):
            yield Finding(name, f"{count} live objects have the same {noun}")
    objects = [object_ for object_, _ in queries.objects(connection, snapshot.sequence)]
    databases = {object_.name for object_ in objects if isinstance(object_, Namespace)} | {DEFAULT_DATABASE}
    for object_ in objects:
        if not isinstance(object_, Namespace) and database_of(object_.name) not in databases:
            yield Finding(object_.name, f"there is no database '{database_of(object_.name)}'")


def _keys(connection: sa.Connection, prefixes: set[bytes]) -> Iterator[Finding]:
    """Checks the rows without an id of their table: each key begins with the prefix of a table."""
    for table, key in (
        (schema.files, schema.files.c.key),
        (schema.partition_fields, schema.partition_fields.c.place),
        (schema.partition_fields, schema.partition_fields.c.key),
    ):
        begun = sa.func.substr(key, 1, 9)
        for head, count in connection.execute(sa.select(begun, sa.func.count()).group_by(begun)):
            if bytes(head) not in prefixes:
                yield Finding("catalog", f"{count} rows of {table.name} belong to no table ({bytes(head).hex()})")


def _same_paths(connection: sa.Connection) -> Iterator[Finding]:
    """Checks that no two live rows name one file, or one part of a packed file."""
    row, count_rows = schema.files.c, sa.func.count()
    query = sa.select(row.path, count_rows).where(row.ended == schema.NEVER).group_by(row.path)
    repeated = query.having(count_rows > 1, count_rows > sa.func.count(sa.distinct(row.part)))
    for path, count in connection.execute(repeated.order_by(row.path)):
        path_text = loaded_path(path, warehouse_of(connection))
        yield Finding(path_text, f"{count} live rows name this file: its rows are counted more than once")


def _timelines(
    database: Database, connection: sa.Connection, snapshot: Snapshot, names: dict[int, str]
) -> Iterator[Finding]:
    """Checks that stored timelines follow from the committed partitions, and that only tables of facts have any."""
    context = CommitContext(database, connection, 0, snapshot, {}, frozenset(), snapshot.sequence + 1)
    bound: set[int] = set()
    for fact, made_by in context.live_facts():
        if not isinstance(context.live_object(fact.cube), Cube):
            yield Finding(fact.name, f"there is no cube '{fact.cube}'")
        try:
            bindings = bind(fact, context.live_object)
            bound.update(binding.table.id for binding in bindings)
            for difference in FactTimelineUpdate(context, bindings, made_by).compare():
                yield Finding(difference.table, _difference(difference))
        except Error as error:
            yield Finding(fact.name, f"its timelines cannot be built: {error.message}")
    row = schema.timeline_ranges.c
    for table_id in connection.execute(sa.select(row.table_id).where(row.ended == schema.NEVER).distinct()).scalars():
        if table_id not in bound:
            yield Finding(_name(names, table_id), "it has timelines, but belongs to no fact")


def _difference(difference: TimelineDifference) -> str:
    period = UpdatePeriod(difference.period).name if difference.period in list(UpdatePeriod) else difference.period
    stored, rebuilt = (", ".join(schema.state_names(states)) or "absent" for states in (difference.was, difference.now))
    ordinals = difference.ordinals
    return (
        f"the timeline {period} of {difference.time_key} says {stored} for the ordinals {ordinals.start} to "
        f"{ordinals.end - 1}, but the partitions give {rebuilt}"
    )


def _name(names: dict[int, str], object_id: int) -> str:
    return names.get(object_id, f"id {object_id}")


# The invariants of the copies of one table on secondary clusters: their ranges, and their files.


def _check_copies(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Yields all problems of the copies of a live table. O(its ranges and copied files)."""
    row = schema.partition_copies.c
    query = sa.select(row.cluster, row.start_key, row.end_key).where(row.table_id == table.id)
    by_cluster: dict[str, list[KeyRange]] = {}
    for cluster, start, end in connection.execute(query.where(row.ended == schema.NEVER)):
        by_cluster.setdefault(cluster, []).append(KeyRange(start, end))
    clusters = {copy.cluster.lower() for copy in table.copies}
    for cluster, ranges in by_cluster.items():
        if cluster not in clusters:
            yield table.name, f"it has copies on {cluster}, which is none of its clusters"
        if any(not first.start < first.end <= second.start for first, second in pairwise(sorted(ranges))):
            yield table.name, f"its ranges of copies on {cluster} overlap"
    yield from _files(connection, table, {cluster: merge_ranges(ranges) for cluster, ranges in by_cluster.items()})


def _files(connection: sa.Connection, table: Table, by_cluster: dict[str, tuple[KeyRange, ...]]) -> Iterator[Problem]:
    """Checks that each copy has the rows of its partition, that files belong to copies, and that they are on disk."""
    keys = KeyRange.of_prefix(prefix(table.id))
    file, partition = schema.copied_files.c, schema.partitions.c
    live = sa.select(file.cluster, file.key, file.path, file.rows, file.bytes, file.part).where(
        file.key >= keys.start, file.key < keys.end, file.ended == schema.NEVER
    )
    rows: dict[tuple[str, bytes], int | None] = {}
    warehouse = warehouse_of(connection)
    for cluster, key, path, count, size, part in connection.execute(live.order_by(file.key)):
        rows[cluster, key] = _sum(rows.get((cluster, key), 0), count)
        if outside([key], by_cluster.get(cluster, ())):
            yield table.name, f"the copied file {path} on {cluster} belongs to no copy"
        packed = part_in(part, path)
        problem = _file_problem(loaded_path(path, warehouse), size if packed is None else packed.file_bytes)
        if problem is not None:
            yield table.name, f"the copied file {problem}"
    partitions = sa.select(partition.key, partition.rows, partition.files).where(
        partition.key >= keys.start, partition.key < keys.end, partition.ended == schema.NEVER
    )
    for key, count, files in connection.execute(partitions.order_by(partition.key)):
        for cluster, ranges in by_cluster.items():
            if outside([key], ranges):
                continue
            copied = rows.get((cluster, key), 0)
            differs = None not in (copied, count) and copied != count
            if not table.external and (differs or (files and (cluster, key) not in rows)):
                yield table.name, f"the copy of the partition with the key {key.hex()} on {cluster} has other rows"


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


# The invariants of one table: its partitions, their keys and statistics, their files, their secondary index.

#: The subject, and the problem.
Problem = tuple[str, str]


@dataclass
class _FileTotals:
    """The totals of the live files of a partition; ``rows`` is ``None`` if a file was not counted."""

    files: int
    bytes: int
    rows: int | None


def _check_table(connection: sa.Connection, table_row: StoredTable) -> Iterator[Problem]:
    """Yields all problems of a table. VACUUM may have removed a dropped one's files. O(its rows and live files)."""
    table = table_row.table
    yield from _check_partition_keys(connection, table)
    yield from _file_versions(connection, table)
    yield from _index(connection, table)
    if table_row.dropped is None:
        yield from _partitions(connection, table)
        yield from _check_partition_files(connection, table)


def _check_partition_keys(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Checks that keys belong to the table, and that one row of each key is live."""
    row, table_keys = schema.partitions.c, KeyRange.of_prefix(encoding.prefix(table.id))
    is_outside = sa.or_(row.key < table_keys.start, row.key >= table_keys.end)
    query = sa.select(sa.func.count()).select_from(schema.partitions).where(row.table_id == table.id, is_outside)
    if count := connection.execute(query).scalar():
        yield table.name, f"{count} of its partition rows have keys of another table"
    live = sa.select(row.key, row.partition_values).where(row.table_id == table.id, row.ended == schema.NEVER)
    last = None
    for key, values in connection.execute(live.order_by(row.key)):
        name = _check_partition_name(table, values)
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


def _check_partition_name(table: Table, text: str) -> str:
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
                _check_partition_name(table, values),
                f"it records {files} files of {size} bytes, but has {totals.files} of {totals.bytes}",
            )
        elif rows is not None and totals.rows is not None and rows != totals.rows:
            yield _check_partition_name(table, values), f"it records {rows} rows, but its files have {totals.rows}"
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


def _check_partition_files(connection: sa.Connection, table: Table) -> Iterator[Problem]:
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
        path = loaded_path(stored_path, warehouse)
        if table.external:
            yield table.name, f"it is external, but has a row for the file {path}"
            continue
        problem = _file_problem(path, size)
        if problem is not None:
            yield table.name, f"the file {problem}"


def _file_problem(path: str, size: int) -> str | None:
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
            fields = encoding.split_key(widths, key)
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
