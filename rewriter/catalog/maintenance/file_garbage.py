"""VACUUM's part in the catalog: the files that are no longer needed, and the end of their rows.

It takes three short steps, so that a process killed between them never makes a reader miss a file. First, the files are
chosen in one state of the database. Second, one commit number declares them removed; a reader of an older state gets an
error instead of a file. Third, after the files are removed, their rows are deleted. Rows of partitions stay, because
timelines and conflicts are judged by them. ``leases`` proves that no live reader needs one of the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.commit.exposures import EXPOSED, NOTHING
from rewriter.catalog.commit.reserved_properties import is_exposed
from rewriter.catalog.commit.transaction import abort_dead
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.json_codec import decode_object
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Namespace, Table
from rewriter.catalog.model.stored_paths import loaded_path
from rewriter.catalog.model.stored_rows import part_in, properties_in
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.database_server import NOW
from rewriter.catalog.store.leases import EXPIRY_SECONDS
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.store.database import Database

#: The name of a database table with paths of files, and the number of one of its rows.
FileRow = tuple[str, int]
#: The database tables with paths of files: the files of primary clusters, and copies.
_FILE_TABLES = (schema.files, schema.copied_files)
#: A write into a table: (table's id, write id).
Write = tuple[int, int]


@dataclass(frozen=True)
class StoredTable:
    """The last version of a table; ``dropped`` is the commit that dropped it, ``None`` for a live table. ``former`` are
    the directories that its writes had in earlier versions alone, on clusters that it left.
    """

    table: Table
    dropped: int | None
    former: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """The directories of the table's writes: its location if it is managed, and the locations of its copies."""
        return _places(self.table)


@dataclass(frozen=True)
class UnneededFile:
    """A file that no reader needs; ``rows`` are the catalog's rows of it, all ended, the last one by ``commit``."""

    table: Table
    path: str
    bytes: int
    commit: int
    rows: tuple[FileRow, ...]
    dropped: bool


def stored_tables(connection: sa.Connection) -> list[StoredTable]:
    """Returns all tables that ever existed, in order of their ids. O(versions of tables)."""
    row, ender = schema.objects.c, schema.write_ids.c
    query = (
        sa.select(row.kind, row.object_id, row.name, row.definition, row.ended, ender.commit_seq)
        .join_from(
            schema.objects,
            schema.write_ids,
            sa.and_(ender.object_id == row.object_id, ender.write_id == row.ended),
            isouter=True,
        )
        .where(row.kind == "table")
        .order_by(row.object_id, row.row_id)
    )
    by_id: dict[int, StoredTable] = {}
    warehouse = warehouse_of(connection)
    for *definition, ended, commit in connection.execute(query):
        table = decode_object(*definition, warehouse)
        assert isinstance(table, Table)
        earlier = by_id.get(table.id)
        before = () if earlier is None else (*earlier.former, *earlier.places)
        former = tuple(dict.fromkeys(place for place in before if place not in _places(table)))
        by_id[table.id] = StoredTable(table, None if ended == schema.NEVER else commit, former)
    return list(by_id.values())


def _places(table: Table) -> tuple[str, ...]:
    own = () if table.external else (table.location,)
    return (*own, *(copy.location for copy in table.copies))


def table_ids(connection: sa.Connection) -> set[int]:
    """Returns the ids of all tables that ever existed."""
    row = schema.objects.c
    return set(connection.execute(sa.select(row.object_id).where(row.kind == "table").distinct()).scalars())


def database_locations(connection: sa.Connection) -> list[str]:
    """Returns the own directories of all databases that ever existed."""
    row = schema.objects.c
    query = sa.select(row.kind, row.object_id, row.name, row.definition).where(row.kind == "database")
    databases = (decode_object(*definition, warehouse_of(connection)) for definition in connection.execute(query))
    return sorted(
        {
            database.location
            for database in databases
            if isinstance(database, Namespace) and database.location is not None
        }
    )


def ended_writes(connection: sa.Connection, writes: Collection[Write]) -> set[Write]:
    """Returns the given writes of this catalog whose transaction has ended: their directories get no more files.

    A write of another catalog under the same number is not among them (``foreign_writes``).
    """
    write_id, transaction = schema.write_ids.c, schema.transactions.c
    ended: set[Write] = set()
    for chunk in chunks(sorted({table_id for table_id, _ in writes})):
        query = (
            sa.select(write_id.object_id, write_id.write_id)
            .join_from(schema.write_ids, schema.transactions, transaction.transaction_id == write_id.transaction_id)
            .where(write_id.object_id.in_(chunk), transaction.state.in_(("committed", "aborted")))
        )
        ended.update((table_id, write_id) for table_id, write_id in connection.execute(query))
    return (ended & set(writes)) - foreign_writes(connection)


def foreign_writes(connection: sa.Connection) -> set[Write]:
    """Returns the writes whose directories another catalog made, even if this one has given the same numbers."""
    row = schema.foreign_writes.c
    return {(table_id, write_id) for table_id, write_id in connection.execute(sa.select(row.object_id, row.write_id))}


def allocated_writes(connection: sa.Connection) -> set[Write]:
    """Returns all writes whose numbers this catalog gave, and which no other catalog made."""
    row = schema.write_ids.c
    rows = connection.execute(sa.select(row.object_id, row.write_id))
    return {(table_id, write_id) for table_id, write_id in rows} - foreign_writes(connection)


def referenced_paths(connection: sa.Connection, paths: Collection[str]) -> set[str]:
    """Returns the given paths that a row of any table and version names. Reads the paths of all files."""
    path_set = set(paths)
    return {path for path in _all_paths(connection) if path in path_set} if path_set else set()


def referenced_below(connection: sa.Connection, directories: Collection[str]) -> set[str]:
    """Returns the given directories, or links to some, below which a row names a file. Reads all files' paths."""
    stems = {f"{directory}/": directory for directory in directories}
    paths = _all_paths(connection) if stems else ()
    return {directory for path in paths for stem, directory in stems.items() if path.startswith(stem)}


def horizon(connection: sa.Connection, retained_seconds: float) -> int:
    """Returns the newest commit whose replaced files are no longer needed.

    It and all commits before it are older than the retention, and no open transaction and no lease needs a state before
    it. A commit from the future, of a clock that was set back, is as old as the oldest commit after it. Five
    statements.
    """
    transaction, lease, counter = schema.transactions.c, schema.leases.c, schema.counters.c
    newest = sa.select(counter.value).where(counter.name == "commit")
    is_committed, is_recent = transaction.state == "committed", transaction.heartbeat_at > NOW - retained_seconds
    newest_old = sa.select(sa.func.max(transaction.commit_seq)).where(is_committed, ~is_recent)
    last_old = connection.execute(newest_old).scalar() or 0
    before_recent = sa.select(sa.func.min(transaction.commit_seq) - 1).where(
        is_committed, is_recent, sa.or_(transaction.heartbeat_at <= NOW, transaction.commit_seq > last_old)
    )
    writing = sa.select(sa.func.min(transaction.snapshot_seq)).where(transaction.state == "open")
    leased = sa.select(sa.func.min(lease.commit_seq)).where(lease.renewed_at > NOW - EXPIRY_SECONDS)
    limits = [connection.execute(query).scalar() for query in (newest, before_recent, writing, leased)]
    return min(int(limit) for limit in limits if limit is not None)


def unneeded_files(
    connection: sa.Connection, tables: Sequence[StoredTable], limit: int, only: int | None = None
) -> list[UnneededFile]:
    """Returns the files all of whose rows were ended, or whose table was dropped, by a commit up to ``limit``.

    ``only`` restricts them to the files that the table of that id ever had. ``tables`` are all tables: a file that
    another partition or table has now, after RENAME or EXCHANGE, is needed. Reads the ended rows of all files and, if
    there are any, the paths of all files.
    """
    rows_by_path: dict[str, list[tuple[StoredTable, FileRow, int, int]]] = {}
    for table in tables:
        for files in _FILE_TABLES:
            for row_id, path, size, commit in _ended_rows(connection, files, table, limit):
                rows_by_path.setdefault(path, []).append((table, (files.name, row_id), size, commit))
    if not rows_by_path:
        return []
    row_counts = Counter(path for path in _all_paths(connection) if path in rows_by_path)
    return [
        UnneededFile(
            last.table,
            path,
            size,
            max(commit for *_, commit in rows),
            tuple(row_id for _, row_id, _, _ in rows),
            last.dropped is not None,
        )
        for path, rows in sorted(rows_by_path.items())
        if row_counts[path] == len(rows) and only in (None, *(owner.table.id for owner, _, _, _ in rows))
        for last, _, size, _ in rows[-1:]
    ]


def declare_removed(
    database: Database, files: Sequence[UnneededFile], retained_seconds: float, timeout_seconds: float
) -> list[UnneededFile]:
    """Declares these files removed, except the ones that are needed by now, and returns them. One transaction.

    Also aborts dead transactions and removes dead leases.
    """
    counter, lease = schema.counters, schema.leases
    with database.write() as connection:
        abort_dead(connection, timeout_seconds)
        connection.execute(sa.delete(lease).where(lease.c.renewed_at <= NOW - EXPIRY_SECONDS))
        limit = horizon(connection, retained_seconds)
        removable = [file for file in files if file.commit <= limit]
        newest = max((file.commit for file in removable), default=0)
        is_older = sa.and_(counter.c.name == "vacuumed", counter.c.value < newest)
        connection.execute(sa.update(counter).where(is_older).values(value=newest))
    return removable


def delete_rows(database: Database, removed: Iterable[UnneededFile]) -> None:
    """Deletes the rows of removed files. One short transaction for each ten thousand."""
    file_rows = [file_row for file in removed for file_row in file.rows]
    for row in _FILE_TABLES:
        for chunk in chunks([row_id for name, row_id in file_rows if name == row.name], 10_000):
            with database.write() as connection:
                for ids in chunks(chunk):
                    connection.execute(sa.delete(row).where(row.c.row_id.in_(ids)))


def _ended_rows(
    connection: sa.Connection, files: sa.Table, table_row: StoredTable, limit: int
) -> Iterator[tuple[int, str, int, int]]:
    """Yields row id, path, size of the file and ending commit of the ended rows of a table."""
    row, ender, keys = files.c, schema.write_ids.c, KeyRange.of_prefix(prefix(table_row.table.id))
    in_table = (row.key >= keys.start, row.key < keys.end)
    warehouse = warehouse_of(connection)
    if table_row.dropped is not None and table_row.dropped <= limit:
        rows = sa.select(row.row_id, row.path, row.bytes, row.part).where(*in_table)
        for row_id, path, size, part in connection.execute(rows):
            yield row_id, loaded_path(path, warehouse), _file_bytes(path, size, part), table_row.dropped
        return
    query = (
        sa.select(row.row_id, row.path, row.bytes, row.part, ender.commit_seq)
        .join_from(
            files,
            schema.write_ids,
            sa.and_(ender.object_id == table_row.table.id, ender.write_id == row.ended),
        )
        .where(*in_table, row.ended < schema.NEVER, ender.commit_seq <= limit)
    )
    for row_id, path, size, part, commit in connection.execute(query):
        yield row_id, loaded_path(path, warehouse), _file_bytes(path, size, part), commit


def _file_bytes(path: str, size: int, part_text: str | None) -> int:
    """Returns the size of a file: of a packed one, the size that the rows of all its parts repeat."""
    part = part_in(part_text, path)
    return size if part is None else part.file_bytes


def _all_paths(connection: sa.Connection) -> Iterator[str]:
    warehouse = warehouse_of(connection)
    for files in _FILE_TABLES:
        with connection.execute(sa.select(files.c.path).execution_options(yield_per=10_000)) as result:
            yield from (loaded_path(path, warehouse) for path in result.scalars())


# VACUUM's part in exposed tables: the directories that clients may still read (``catalog.commit.exposures``).
#
# Rows of partitions stay when they end, so they say until when a directory was the newest one.


def needed_directories(connection: sa.Connection, table_id: int, limit: int) -> set[str]:
    """Returns the directories of a table, below the table's directory, that a state after the commit ``limit`` names;
    none if the table was not exposed in any of them.

    Two statements, and O(partitions and versions since then).
    """
    if not _was_exposed(connection, table_id, limit):
        return set()
    row, keys = schema.partitions, KeyRange.of_prefix(prefix(table_id))
    query = _since(sa.select(row.c.key, row.c.properties), row, table_id, limit).where(
        row.c.key >= keys.start, row.c.key < keys.end, row.c.properties.is_not(None)
    )
    named = (properties_in(text, key).get(EXPOSED) for key, text in connection.execute(query))
    return {NOTHING, *(directory for directory in named if directory is not None)}


def written_tables(connection: sa.Connection, ids: Collection[int]) -> set[int]:
    """Returns the given ids under which this catalog has begun to write a table. Others are of another catalog."""
    row = schema.write_ids.c
    found: set[int] = set()
    for chunk in chunks(sorted(ids)):
        query = sa.select(row.object_id).where(row.object_id.in_(chunk)).distinct()
        found.update(connection.execute(query).scalars())
    return found


def _was_exposed(connection: sa.Connection, table_id: int, limit: int) -> bool:
    row, warehouse = schema.objects, warehouse_of(connection)
    columns = sa.select(row.c.kind, row.c.object_id, row.c.name, row.c.definition)
    query = _since(columns, row, table_id, limit).where(row.c.object_id == table_id, row.c.kind == "table")
    versions = (decode_object(*values, warehouse) for values in connection.execute(query))
    return any(isinstance(version, Table) and is_exposed(version) for version in versions)


def _since(query: sa.Select[Any], row: sa.Table, table_id: int, limit: int) -> sa.Select[Any]:
    """Returns a query of those rows of a table that are current, or that a commit after ``limit`` ended."""
    ender = schema.write_ids.c
    ended_by = sa.and_(ender.object_id == table_id, ender.write_id == row.c.ended)
    return query.join_from(row, schema.write_ids, ended_by, isouter=True).where(
        sa.or_(row.c.ended == schema.NEVER, ender.commit_seq > limit)
    )
