"""Transactions: open, then committed or aborted. No database transaction stays open in between."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import TracebackType

import sqlalchemy as sa

from rewriter.catalog import commit, schema
from rewriter.catalog.changes import Change
from rewriter.catalog.context import CommitContext, hold_write_id, not_open
from rewriter.catalog.database import NOW, Database, next_number
from rewriter.catalog.freshness import Sources, as_sources
from rewriter.catalog.models import Table
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.timelines import TimelineDifference
from rewriter.errors import CommitUnknownError, Error, OperationalError


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
        with database.write() as connection:
            abort_dead(connection, timeout_seconds)
            id = next_number(connection, "transaction")
            connection.execute(
                transaction.insert().values(
                    transaction_id=id, state="open", snapshot_seq=0, begun_at=NOW, heartbeat_at=NOW
                )
            )
            if snapshot is None:
                snapshot = Snapshot.on(database, connection)
            connection.execute(
                sa.update(transaction).where(transaction.c.transaction_id == id).values(snapshot_seq=snapshot.sequence)
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
        if table.id not in self._write_ids:
            with self._database.write() as connection:
                self._check_open(connection)
                self._write_ids[table.id] = hold_write_id(connection, self._id, table.id)
        return self._write_ids[table.id]

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
                made = CommitContext(self._database, connection, self._id, self._snapshot, read, frozenset(unproven))
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
    transaction = schema.transactions
    dead = sa.and_(transaction.c.state == "open", transaction.c.heartbeat_at < NOW - timeout_seconds)
    return connection.execute(sa.update(transaction).where(dead).values(state="aborted")).rowcount
