"""Transactions: open, then committed or aborted. No database transaction stays open in between."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Protocol

import sqlalchemy as sa

from rewriter.catalog import commit, schema
from rewriter.catalog.backend import Purpose
from rewriter.catalog.changes import Change
from rewriter.catalog.context import CommitContext, hold_write_id, not_open
from rewriter.catalog.database import NOW, Database, next_number
from rewriter.catalog.freshness import Sources, as_sources
from rewriter.catalog.models import Table
from rewriter.catalog.prepared import changed, once
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.timelines import TimelineDifference
from rewriter.collector import paused
from rewriter.errors import CommitUnknownError, Error, OperationalError


class Writer(Protocol):
    """What a statement that writes needs of its transaction, whether that is its own or one of several statements."""

    def allocate_id(self) -> int:
        """As ``Transaction.allocate_id``."""

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """As ``Transaction.write_ids``."""

    def directory_name(self, table: Table) -> str:
        """What the directory of a write into the table is called, which is new with each call (see ``models``)."""

    def heartbeat(self) -> None:
        """As ``Transaction.heartbeat``."""

    def commit(
        self, changes: Sequence[Change], sources: Collection[int] | Sources = (), unproven: Collection[int] = ()
    ) -> object:
        """As ``Transaction.commit``: now, or together with the other statements."""

    def __enter__(self) -> Writer: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class Transaction:
    """A writer's transaction and what it saw at its start.

    A context manager: leaving the block without ``commit`` rolls back. Write ids and object ids that were taken are
    not used again. Nothing that it does blocks others for longer than a short database transaction.
    """

    def __init__(self, database: Database, id: int, snapshot: Snapshot) -> None:
        self._database = database
        self._id = id
        self._snapshot = snapshot
        self._write_ids: dict[int, int] = {}
        self._differences: tuple[TimelineDifference, ...] = ()
        self._ended = False

    @classmethod
    def begin(cls, database: Database, snapshot: Snapshot | None, timeout_seconds: float) -> Transaction:
        """Opens a transaction, and aborts those that were silent for longer than the timeout. One write transaction."""
        transaction = schema.transactions
        with database.write(Purpose.ANNOUNCE) as connection:
            abort_dead(connection, timeout_seconds)
            id = next_number(connection, "transaction")
            seen = 0 if snapshot is None else snapshot.sequence
            changed(connection, _open(connection.dialect), own=id, seen=seen)
            if snapshot is None:
                snapshot = Snapshot.on(database, connection)
                connection.execute(
                    sa.update(transaction)
                    .where(transaction.c.transaction_id == id)
                    .values(snapshot_seq=snapshot.sequence)
                )
        return cls(database, id, snapshot)

    @property
    def id(self) -> int:
        """The transaction's number."""
        return self._id

    @property
    def snapshot(self) -> Snapshot:
        """What it saw at its start; conflicts are judged against it."""
        return self._snapshot

    @property
    def differences(self) -> tuple[TimelineDifference, ...]:
        """What the timelines that its commit rebuilt said otherwise before; empty until then. In order of tables."""
        return self._differences

    def allocate_id(self) -> int:
        """A new id for a table, cube or fact, never given again. One short write transaction."""
        with self._database.write() as connection:
            self._check_open(connection)
            return next_number(connection, "object")

    def write_id(self, table: Table) -> int:
        """The transaction's write id of the table, which names its directory. One short write transaction per table."""
        return self.write_ids((table,))[0]

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """The transaction's write ids of tables, in their order. Those that it has not yet it takes all or none.

        One short write transaction for all of them, none where it has them. Raises TRANSACTION_NOT_OPEN.
        """
        wanted = {table.id for table in tables} - self._write_ids.keys()
        if wanted:
            with self._database.write() as connection:
                self._check_open(connection)
                taken = {table_id: hold_write_id(connection, self._id, table_id) for table_id in sorted(wanted)}
            self._write_ids |= taken
        return tuple(self._write_ids[table.id] for table in tables)

    def let_go(self, object_ids: Collection[int]) -> None:
        """Gives up the write ids of objects that are not made after all: a commit would make them valid for nothing.

        One short write transaction, none where it holds none of them.
        """
        held = self._write_ids.keys() & set(object_ids)
        if not held:
            return
        row = schema.write_ids
        mine = sa.and_(row.c.transaction_id == self._id, row.c.object_id.in_(held))
        with self._database.write() as connection:
            self._check_open(connection)
            connection.execute(sa.delete(row).where(mine))
        self._write_ids = {id: write_id for id, write_id in self._write_ids.items() if id not in held}

    def directory_name(self, table: Table) -> str:
        """What the directory of a write into the table is called: a transaction of one statement makes one of them."""
        return str(self.write_id(table))

    def heartbeat(self) -> None:
        """Says that the writer lives. ``ConflictError`` TRANSACTION_NOT_OPEN where others have aborted it."""
        transaction = schema.transactions
        mine = transaction.c.transaction_id == self._id
        with self._database.write() as connection:
            self._check_open(connection)
            connection.execute(sa.update(transaction).where(mine).values(heartbeat_at=NOW))

    def commit(
        self, changes: Sequence[Change], sources: Collection[int] | Sources = (), unproven: Collection[int] = ()
    ) -> int:
        """Makes all changes at once, or none, and answers the number of the commit.

        ``sources`` are the ids of the tables that the writing query scanned; as a mapping, with the key ranges it
        scanned of each (``None``: all), which proves more. They decide whether rollups are fresh. ``unproven`` are
        those of which it read what no query of a cube may read: nothing of their fact that it computed is fresh.

        Raises ``ConflictError`` (retryable, in a new transaction) where a commit that the snapshot does not see wrote
        the same keys, or the transaction was aborted by others; ``IntegrityError``, ``DataError`` and
        ``AnalysisError`` where a change does not fit what exists. The transaction then stays open for a rollback.
        ``CommitUnknownError`` where the database went away before it said whether it had committed.
        """
        read = as_sources(sources)
        context: CommitContext | None = None
        try:
            with self._database.write() as connection:
                made = CommitContext.begin(
                    self._database, connection, self._id, self._snapshot, read, frozenset(unproven)
                )
                with paused():
                    commit.apply(made, changes)
                context = made
        except OperationalError as error:
            # Where all was applied, it was the database's COMMIT that failed.
            if context is None or not self._is_committed(error):
                raise
        self._differences = tuple(context.differences)
        self._ended = True
        if self._database.cache is not None:
            self._database.cache.seen(context.sequence)
        return context.sequence

    def rehearse(self, changes: Sequence[Change]) -> None:
        """Makes changes as ``commit`` would now, and takes all of it back: raises what ``commit`` would raise.

        One write transaction, rolled back, of the length of a commit.
        """
        with self._database.write() as connection:
            made = CommitContext.begin(self._database, connection, self._id, self._snapshot, {}, frozenset())
            commit.apply(made, changes)
            connection.rollback()

    def _is_committed(self, failure: OperationalError) -> bool:
        """Whether the commit was made, though the database did not say so; it never will be where it was not.

        The rollback comes after whatever the database still does of it. Raises ``CommitUnknownError``.
        """
        try:
            self.rollback()
            transaction = schema.transactions
            mine = transaction.c.transaction_id == self._id
            with self._database.read() as connection:
                return connection.execute(sa.select(transaction.c.state).where(mine)).scalar() == "committed"
        except OperationalError as error:
            raise CommitUnknownError(
                f"whether transaction {self._id} was committed cannot be told: {failure.message}",
                object=failure.object,
                hint="do not repeat the statement before you have looked whether its rows are there",
            ) from error

    def rollback(self) -> None:
        """Ends the transaction as aborted. Does nothing where it has ended."""
        if self._ended:
            return
        transaction = schema.transactions
        mine = sa.and_(transaction.c.transaction_id == self._id, transaction.c.state == "open")
        with self._database.write() as connection:
            connection.execute(sa.update(transaction).where(mine).values(state="aborted"))
        self._ended = True

    def _check_open(self, connection: sa.Connection) -> None:
        row = schema.transactions
        state = connection.execute(sa.select(row.c.state).where(row.c.transaction_id == self._id)).scalar()
        if state != "open":
            raise not_open(self._id)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.rollback()
        except OperationalError as failure:
            # An open transaction is harmless and dies by timeout; the first error tells more.
            if not isinstance(error, Error):
                raise
            error.add_note(f"rolling back failed, too: {failure}")


def abort_dead(connection: sa.Connection, timeout_seconds: float) -> int:
    """Aborts the open transactions whose last heartbeat is older than the timeout; how many."""
    return changed(connection, _abort_silent(connection.dialect), timeout=timeout_seconds)


@once
def _abort_silent() -> sa.Update:
    row = schema.transactions
    silent = row.c.heartbeat_at < NOW - sa.bindparam("timeout", 0.0, sa.Double)
    return sa.update(row).where(row.c.state == "open", silent).values(state="aborted")


@once
def _open() -> sa.Insert:
    own, seen = (sa.bindparam(name, 0, sa.BigInteger) for name in ("own", "seen"))
    given = {"transaction_id": own, "state": "open", "snapshot_seq": seen, "begun_at": NOW, "heartbeat_at": NOW}
    return schema.transactions.insert().values(given)
