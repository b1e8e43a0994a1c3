"""Transactions: open, then committed or aborted. No database transaction stays open in between."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

import sqlalchemy as sa

from rewriter.cancellation import Grace, cancellable
from rewriter.catalog.commit import commit
from rewriter.catalog.commit.commit_context import CommitContext, hold_write_id, next_write_id, not_open
from rewriter.catalog.commit.freshness import Sources, as_sources
from rewriter.catalog.commit.refresh_claims import ClaimRequest, claim
from rewriter.catalog.model.changes import Change, WritePartitions
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, Table
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import Purpose
from rewriter.catalog.store.database import NOW, Database, next_number
from rewriter.catalog.store.prepared_statements import changed_rows, once
from rewriter.errors import CommitUnknownError, Error, OperationalError
from rewriter.gc_pause import paused

if TYPE_CHECKING:
    from rewriter.catalog.commit.stored_timelines import TimelineDifference
    from rewriter.timeline.ranges import RangeSet

#: Seconds for which the end of a transaction waits for another writer.
_GRACE_SECONDS = 1.0


class Writer(Protocol):
    """The transaction of a writing statement: its own, or one of several statements."""

    def allocate_id(self) -> int:
        """As ``Transaction.allocate_id``."""

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """As ``Transaction.write_ids``."""

    def directory_name(self, table: Table) -> str:
        """Returns the name of the directory of a write into the table, new with each call (see
        ``catalog.model.objects``).
        """

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
    not used again. It blocks other transactions no longer than a short database transaction.
    """

    def __init__(self, database: Database, id: int, snapshot: Snapshot) -> None:
        self._database = database
        self._id = id
        self._snapshot = snapshot
        self._write_ids: dict[int, int] = {}
        self._differences: tuple[TimelineDifference, ...] = ()
        self._stale_copies: tuple[bytes, ...] = ()
        self._ended = False

    @classmethod
    def begin(cls, database: Database, snapshot: Snapshot | None, timeout_seconds: float) -> Transaction:
        """Opens a transaction, and aborts the transactions that were silent for longer than the timeout. One write
        transaction.
        """
        with database.write(Purpose.ANNOUNCE) as connection:
            return cls._begun(database, connection, snapshot, timeout_seconds)

    @classmethod
    def begin_claiming(
        cls, database: Database, session: str | None, request: ClaimRequest, timeout_seconds: float
    ) -> tuple[Transaction, RangeSet]:
        """Opens a transaction on a new snapshot of a session that has claimed periods in the same step.

        Returns it and the claimed time; without any, the transaction is to be rolled back. One write transaction.
        """
        with database.write(Purpose.ANNOUNCE) as connection:
            transaction = cls._begun(database, connection, Snapshot.on(database, connection, session), timeout_seconds)
            return transaction, claim(connection, transaction.id, request)

    @classmethod
    def _begun(
        cls, database: Database, connection: sa.Connection, snapshot: Snapshot | None, timeout_seconds: float
    ) -> Transaction:
        if snapshot is None:
            snapshot = Snapshot.on(database, connection)
        abort_dead(connection, timeout_seconds)
        id = next_number(connection, "transaction")
        changed_rows(connection, _open(connection.dialect), own=id, seen=snapshot.sequence)
        return cls(database, id, snapshot)

    @property
    def id(self) -> int:
        """The transaction's number."""
        return self._id

    @property
    def snapshot(self) -> Snapshot:
        """The transaction's view at its start; conflicts are judged against it."""
        return self._snapshot

    @property
    def differences(self) -> tuple[TimelineDifference, ...]:
        """The differences between the rebuilt timelines and their previous state, by table; empty before the commit."""
        return self._differences

    @property
    def stale_copies(self) -> tuple[bytes, ...]:
        """The keys of the partitions whose copies were not registered, because they were changed meanwhile."""
        return self._stale_copies

    def allocate_id(self) -> int:
        """Returns a new id for a table, cube or fact, which is never reused. One short write transaction."""
        with self._database.write() as connection:
            self._check_open(connection)
            return next_number(connection, "object")

    def write_id(self, table: Table) -> int:
        """Returns the transaction's write id of the table, which names its directory. Costs as ``write_ids``."""
        return self.write_ids((table,))[0]

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """Returns the transaction's write ids of tables, in their order. Takes all missing ones, or none.

        Runs one short write transaction, or none if all ids were taken before. Raises TRANSACTION_NOT_OPEN. If the
        directory of an id exists already, another catalog has given that id, such as the one that was lost before an
        older copy was restored. Then all ids on disk are skipped, and noted for VACUUM (``schema.foreign_writes``).
        """
        missing = {table.id for table in tables} - self._write_ids.keys()
        if missing:
            with self._database.write() as connection:
                self._check_open(connection)
                least = {table.id: _after_foreign(connection, table) for table in tables if table.id in missing}
                new_ids = {id: hold_write_id(connection, self._id, id, least=least[id]) for id in sorted(missing)}
            self._write_ids |= new_ids
        return tuple(self._write_ids[table.id] for table in tables)

    def release_write_ids(self, object_ids: Collection[int]) -> None:
        """Releases the write ids of objects that are not created after all. A commit would make unused ids valid.

        Runs one short write transaction, or none if it holds no such id.
        """
        released = self._write_ids.keys() & set(object_ids)
        if not released:
            return
        row = schema.write_ids
        own_ids = sa.and_(row.c.transaction_id == self._id, row.c.object_id.in_(released))
        with self._database.write() as connection:
            self._check_open(connection)
            connection.execute(sa.delete(row).where(own_ids))
        self._write_ids = {id: write_id for id, write_id in self._write_ids.items() if id not in released}

    def directory_name(self, table: Table) -> str:
        """Returns the name of the directory of a write into the table: one for each single-statement transaction."""
        return str(self.write_id(table))

    def heartbeat(self) -> None:
        """Updates the heartbeat. Raises ``ConflictError`` TRANSACTION_NOT_OPEN if others have aborted it."""
        transaction = schema.transactions
        is_own = transaction.c.transaction_id == self._id
        with self._database.write() as connection:
            self._check_open(connection)
            connection.execute(sa.update(transaction).where(is_own).values(heartbeat_at=NOW))

    def commit(
        self, changes: Sequence[Change], sources: Collection[int] | Sources = (), unproven: Collection[int] = ()
    ) -> int:
        """Makes all changes in one step, or none, and returns the number of the commit.

        ``sources`` are the ids of the tables that the writing query scanned. A mapping adds the key ranges that it
        scanned of each table (``None``: all), which proves more. The sources decide whether rollups are fresh.
        ``unproven`` are the tables from which the query read data that no query of a cube may read: no rollup of their
        fact that it computed is fresh.

        Raises ``ConflictError`` (retryable, in a new transaction) if a commit that the snapshot does not see wrote the
        same keys, or others aborted the transaction; ``IntegrityError``, ``DataError`` and ``AnalysisError`` if a
        change does not fit the existing objects. The transaction then stays open for a rollback. Raises
        ``CommitUnknownError`` if the database became unreachable before it confirmed the commit.
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
            # After all changes were applied, only the database's COMMIT can have failed.
            if context is None or not self._is_committed(error):
                raise
        self._differences, self._stale_copies = tuple(context.differences), tuple(context.stale_copies)
        self._ended = True
        if self._database.cache is not None:
            self._database.cache.note_seen_commit(context.sequence)
        return context.sequence

    def rehearse(self, changes: Sequence[Change]) -> None:
        """Makes changes as ``commit`` would now, and rolls them back. Raises the errors that ``commit`` would raise.

        Runs one write transaction, as long as a commit.
        """
        with self._database.write() as connection:
            made = CommitContext.begin(self._database, connection, self._id, self._snapshot, {}, frozenset())
            commit.apply(made, changes, is_rehearsal=True)
            connection.rollback()

    @classmethod
    def rehearse_alone(cls, database: Database, snapshot: Snapshot, changes: Sequence[Change]) -> None:
        """Does what a transaction on the snapshot would that makes these changes and no others, and rolls all of it
        back. Raises the errors that its ``commit`` would raise now. One write transaction.
        """
        with database.write() as connection:
            cls.apply_alone(database, connection, snapshot, changes)
            connection.rollback()

    @staticmethod
    def apply_alone(
        database: Database, connection: sa.Connection, snapshot: Snapshot, changes: Sequence[Change]
    ) -> None:
        """Makes changes as the commit of a transaction on the snapshot, within the caller's write transaction.

        Writes get the write ids of this commit. It makes no directories.
        """
        id = next_number(connection, "transaction")
        changed_rows(connection, _open(connection.dialect), own=id, seen=snapshot.sequence)
        context = CommitContext.begin(database, connection, id, snapshot, {}, frozenset())
        with_own_ids = [
            replace(change, write_id=context.write_id(change.table.id))
            if isinstance(change, WritePartitions)
            else change
            for change in changes
        ]
        commit.apply(context, with_own_ids, is_rehearsal=True)

    def _is_committed(self, failure: OperationalError) -> bool:
        """Returns True if the commit was made although the database did not confirm it. If not, it never will be.

        The rollback comes after anything that the database still does for that commit. Raises ``CommitUnknownError``.
        """
        try:
            self.rollback()
            transaction = schema.transactions
            is_own = transaction.c.transaction_id == self._id
            with self._database.read() as connection:
                return connection.execute(sa.select(transaction.c.state).where(is_own)).scalar() == "committed"
        except OperationalError as error:
            raise CommitUnknownError(
                f"it is unknown whether transaction {self._id} was committed: {failure.message}",
                object=failure.object,
                hint="Check whether the rows of the statement exist before you repeat it.",
            ) from error

    def rollback(self) -> None:
        """Ends the transaction as aborted. Does nothing if it has ended."""
        if self._ended:
            return
        transaction = schema.transactions
        is_own = sa.and_(transaction.c.transaction_id == self._id, transaction.c.state == "open")
        with self._database.write() as connection:
            connection.execute(sa.update(transaction).where(is_own).values(state="aborted"))
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
            self.end_soon()
        except OperationalError as failure:
            # An open transaction dies by timeout; the first error is more informative.
            if not isinstance(error, Error):
                raise
            error.add_note(f"the rollback also failed: {failure}")

    def end_soon(self) -> None:
        """Rolls back. If another writer holds the catalog for longer than a second, another thread goes on to try: a
        statement that was canceled does not wait for it.
        """
        try:
            with cancellable(Grace(_GRACE_SECONDS)):
                self.rollback()
        except OperationalError as error:
            if error.condition != "OPERATION_CANCELED":
                raise
            threading.Thread(target=self._end_later, name="rewriter-rollback", daemon=True).start()

    def _end_later(self) -> None:
        with suppress(Error):
            self.rollback()


def abort_dead(connection: sa.Connection, timeout_seconds: float) -> int:
    """Aborts the open transactions whose last heartbeat is farther away than the timeout, and returns their number."""
    return changed_rows(connection, _abort_silent(connection.dialect), timeout=timeout_seconds)


def note_foreign_write(database: Database, table: Table, write_id: int) -> None:
    """Notes that another catalog has used a write id of a table. One short write transaction."""
    with database.write() as connection:
        _note(connection, {"object_id": table.id, "write_id": write_id})


def _after_foreign(connection: sa.Connection, table: Table) -> int:
    """Returns the least write id of a table from which on no directory exists, and notes the ids that another catalog
    has used. Accesses the disk once, and lists the table's directory if the next id is taken. It looks into no object
    store, which would take long (``note_foreign_write``).
    """
    following = next_write_id(connection, table.id)
    if table.external or not os.path.lexists(os.path.join(table.location, f"{WRITE_ID_LEVEL}={following}")):
        return following
    levels = (name.rpartition("=") for name in os.listdir(table.location))
    ids = [int(id) for level, _, id in levels if level == WRITE_ID_LEVEL and id.isdecimal() and id.isascii()]
    foreign = sorted(id for id in ids if id >= following)
    for id in foreign:
        _note(connection, {"object_id": table.id, "write_id": id})
    return max(foreign, default=following - 1) + 1


def _note(connection: sa.Connection, write: Mapping[str, int]) -> None:
    row = schema.foreign_writes
    noted = sa.select(row).where(row.c.object_id == write["object_id"], row.c.write_id == write["write_id"])
    if connection.execute(noted).first() is None:
        connection.execute(row.insert(), write)


@once
def _abort_silent() -> sa.Update:
    row = schema.transactions
    timeout = sa.bindparam("timeout", 0.0, sa.Double)
    # A heartbeat from the future is one of a clock that was set back.
    silent = sa.or_(row.c.heartbeat_at < NOW - timeout, row.c.heartbeat_at > NOW + timeout)
    return sa.update(row).where(row.c.state == "open", silent).values(state="aborted")


@once
def _open() -> sa.Insert:
    transaction_id, snapshot_sequence = (sa.bindparam(name, 0, sa.BigInteger) for name in ("own", "seen"))
    values = {
        "transaction_id": transaction_id,
        "state": "open",
        "snapshot_seq": snapshot_sequence,
        "begun_at": NOW,
        "heartbeat_at": NOW,
    }
    return schema.transactions.insert().values(values)
