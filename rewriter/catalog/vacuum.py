"""VACUUM's part in the catalog: which files nobody needs any more, and the end of their rows.

Three short steps, so that a process that is killed between them leaves nothing that a reader could miss: the files are
chosen in one state of the database; then one commit number says up to where they are gone, and whoever sees an older
state is told so instead of a file; after the files are removed, their rows go. Rows of partitions stay: timelines are
built of them, and conflicts judged. ``leases`` says why no living reader needs one of the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.clock import NOW
from rewriter.catalog.codec import decoded
from rewriter.catalog.database import Database
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.leases import EXPIRY_SECONDS
from rewriter.catalog.models import Namespace, Table
from rewriter.catalog.reads import chunks
from rewriter.catalog.transaction import abort_dead

#: A write into a table: (table's id, write id).
Write = tuple[int, int]


@dataclass(frozen=True)
class Known:
    """A table as the catalog last knew it; ``dropped`` is the commit that dropped it, ``None`` where it is there."""

    table: Table
    dropped: int | None


@dataclass(frozen=True)
class Unneeded:
    """A file that no reader needs; ``rows`` are those of the catalog that name it, all ended by ``commit`` at last."""

    table: Table
    path: str
    bytes: int
    commit: int
    rows: tuple[int, ...]
    dropped: bool


def tables(connection: sa.Connection) -> list[Known]:
    """All tables that there ever were, in order of their ids. O(versions of tables)."""
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
    found: dict[int, Known] = {}
    for *definition, ended, commit in connection.execute(query):
        table = decoded(*definition)
        assert isinstance(table, Table)
        found[table.id] = Known(table, None if ended == schema.NEVER else commit)
    return list(found.values())


def table_ids(connection: sa.Connection) -> set[int]:
    """The ids of all tables that there ever were."""
    row = schema.objects.c
    return set(connection.execute(sa.select(row.object_id).where(row.kind == "table").distinct()).scalars())


def database_locations(connection: sa.Connection) -> list[str]:
    """The directories of all databases that there ever were and that have one of their own."""
    row = schema.objects.c
    query = sa.select(row.kind, row.object_id, row.name, row.definition).where(row.kind == "database")
    found = (decoded(*one) for one in connection.execute(query))
    return sorted({one.location for one in found if isinstance(one, Namespace) and one.location is not None})


def ended_writes(connection: sa.Connection, writes: Collection[Write]) -> set[Write]:
    """Those of the writes whose transaction has committed or was aborted: nothing comes into their directories."""
    held, transaction = schema.write_ids.c, schema.transactions.c
    found: set[Write] = set()
    for some in chunks(sorted({table_id for table_id, _ in writes})):
        query = (
            sa.select(held.object_id, held.write_id)
            .join_from(schema.write_ids, schema.transactions, transaction.transaction_id == held.transaction_id)
            .where(held.object_id.in_(some), transaction.state.in_(("committed", "aborted")))
        )
        found.update((table_id, write_id) for table_id, write_id in connection.execute(query))
    return found & set(writes)


def named_paths(connection: sa.Connection, paths: Collection[str]) -> set[str]:
    """Those of the paths that a row names, of whatever table and version. Reads the paths of all files."""
    wanted = set(paths)
    return {path for path in _all_paths(connection) if path in wanted} if wanted else set()


def horizon(connection: sa.Connection, retained_seconds: float) -> int:
    """The newest commit that has replaced files which nobody needs: it and all before it are older than the retention,
    and no open transaction and no lease is of a state before it. Three statements.
    """
    transaction, lease, counter = schema.transactions.c, schema.leases.c, schema.counters.c
    newest = sa.select(counter.value).where(counter.name == "commit")
    young = sa.select(sa.func.min(transaction.commit_seq) - 1).where(
        transaction.state == "committed", transaction.heartbeat_at > NOW - retained_seconds
    )
    writing = sa.select(sa.func.min(transaction.snapshot_seq)).where(transaction.state == "open")
    leased = sa.select(sa.func.min(lease.commit_seq)).where(lease.renewed_at > NOW - EXPIRY_SECONDS)
    limits = [connection.execute(query).scalar() for query in (newest, young, writing, leased)]
    return min(int(limit) for limit in limits if limit is not None)


def unneeded(connection: sa.Connection, known: Sequence[Known], limit: int, only: int | None = None) -> list[Unneeded]:
    """The files of which every row was ended, or whose table was dropped, by a commit up to ``limit``; with ``only``
    those that the table of that id had at some time.

    ``known`` are all tables: a file that another partition or table has by now, after RENAME or EXCHANGE, is needed.
    Reads the ended rows of all files, and the paths of all where there are such rows.
    """
    found: dict[str, list[tuple[Known, int, int, int]]] = {}
    for one in known:
        for row_id, path, size, commit in _ended_rows(connection, one, limit):
            found.setdefault(path, []).append((one, row_id, size, commit))
    if not found:
        return []
    named = Counter(path for path in _all_paths(connection) if path in found)
    return [
        Unneeded(
            last.table,
            path,
            size,
            max(commit for *_, commit in rows),
            tuple(row_id for _, row_id, _, _ in rows),
            last.dropped is not None,
        )
        for path, rows in sorted(found.items())
        if named[path] == len(rows) and only in (None, *(one.table.id for one, _, _, _ in rows))
        for last, _, size, _ in rows[-1:]
    ]


def give_up(
    database: Database, chosen: Sequence[Unneeded], retained_seconds: float, timeout_seconds: float
) -> list[Unneeded]:
    """Says that these files are gone, but for those that somebody needs by now, and answers them. One transaction.

    Aborts dead transactions and removes dead leases on the way.
    """
    counter, lease = schema.counters, schema.leases
    with database.write() as connection:
        abort_dead(connection, timeout_seconds)
        connection.execute(sa.delete(lease).where(lease.c.renewed_at <= NOW - EXPIRY_SECONDS))
        limit = horizon(connection, retained_seconds)
        gone = [one for one in chosen if one.commit <= limit]
        newest = max((one.commit for one in gone), default=0)
        mine = sa.and_(counter.c.name == "vacuumed", counter.c.value < newest)
        connection.execute(sa.update(counter).where(mine).values(value=newest))
    return gone


def forget(database: Database, removed: Iterable[Unneeded]) -> None:
    """Removes the rows of files that are removed. One short transaction for each ten thousand."""
    row = schema.files
    for some in chunks([row_id for one in removed for row_id in one.rows], 10_000):
        with database.write() as connection:
            for ids in chunks(some):
                connection.execute(sa.delete(row).where(row.c.row_id.in_(ids)))


def _ended_rows(connection: sa.Connection, one: Known, limit: int) -> Iterator[tuple[int, str, int, int]]:
    """Row id, path, bytes and the ending commit of the rows of a table that ended by a commit."""
    row, ender, keys = schema.files.c, schema.write_ids.c, KeyRange.of_prefix(prefix(one.table.id))
    mine = (row.key >= keys.start, row.key < keys.end)
    if one.dropped is not None and one.dropped <= limit:
        for row_id, path, size in connection.execute(sa.select(row.row_id, row.path, row.bytes).where(*mine)):
            yield row_id, path, size, one.dropped
        return
    query = (
        sa.select(row.row_id, row.path, row.bytes, ender.commit_seq)
        .join_from(
            schema.files,
            schema.write_ids,
            sa.and_(ender.object_id == one.table.id, ender.write_id == row.ended),
        )
        .where(*mine, row.ended < schema.NEVER, ender.commit_seq <= limit)
    )
    for row_id, path, size, commit in connection.execute(query):
        yield row_id, path, size, commit


def _all_paths(connection: sa.Connection) -> Iterator[str]:
    with connection.execute(sa.select(schema.files.c.path).execution_options(yield_per=10_000)) as found:
        yield from found.scalars()
