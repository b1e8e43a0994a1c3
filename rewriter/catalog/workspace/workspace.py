"""The private catalog of one transaction, and the changes of its statements in it."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from rewriter.catalog.commit.transaction import Transaction
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    MovePartitions,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.objects import Table
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.pending_changes import OwnRows
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.store.database import Database
from rewriter.catalog.workspace.table_copies import copy_objects, copy_tables

#: Numbers that no identity of an opened catalog equals, which are positive.
_IDENTITIES = itertools.count(-1, -1)


class Workspace:
    """The changes of a transaction's statements over its snapshot. One thread at a time.

    The private catalog is made at its first use, with the changes of the statements so far. A transaction that only
    writes does not make it. It is a copy of the rows of the changed tables and those of their facts: O(rows).
    """

    def __init__(self, source: Database, snapshot: Snapshot) -> None:
        """``source`` is the catalog, and ``snapshot`` what the transaction sees of it."""
        self._source = source
        self._snapshot = snapshot
        self._identity = next(_IDENTITIES)
        self._affected: frozenset[int] = frozenset()
        #: The changes of the statements that are not in the private catalog yet.
        self._waiting: tuple[Sequence[Change], ...] = ()
        self._count = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._private: Database | None = None
        self._copied: set[int] = set()

    @property
    def is_used(self) -> bool:
        """True if the private catalog exists: a statement has read what an earlier one has changed, or changed it
        again.
        """
        return self._private is not None

    def add(self, changes: Sequence[Change]) -> None:
        """Adds the changes of the next statement, which are applied at the next use."""
        self._waiting = (*self._waiting, changes)
        self._note(changes)

    @contextmanager
    def applying(self, changes: Sequence[Change], *, kept: bool) -> Iterator[sa.Connection]:
        """Applies the changes of the next statement, and yields a connection to the private catalog that sees them.

        They are undone if the block raises, or unless they are to be ``kept``. Raises the errors of a commit.
        """
        private = self.database()
        self._copy(changes)
        snapshot = Snapshot.take(private)
        with private.write() as connection:
            Transaction.apply_alone(private, connection, snapshot, changes)
            yield connection
            if not kept:
                connection.rollback()
        if kept:
            self._note(changes)

    def database(self) -> Database:
        """Returns the private catalog. The commit of each statement is the next number after that of the snapshot."""
        if self._private is None:
            self._private = self._created()
        while self._waiting:
            changes, *later = self._waiting
            self._copy(changes)
            snapshot = Snapshot.take(self._private)
            with self._private.write() as connection:
                Transaction.apply_alone(self._private, connection, snapshot, changes)
            self._waiting = tuple(later)
        return self._private

    def own_rows(self) -> OwnRows | None:
        """Returns the rows that the transaction's next statement sees; ``None`` if it has changed none."""
        if not self._affected:
            return None
        return OwnRows(self._identity, self._affected, self._snapshot.sequence + self._count, self.database)

    def close(self) -> None:
        """Removes the private catalog. Idempotent."""
        if self._private is not None:
            self._private.close()
        if self._folder is not None:
            with suppress(OSError):
                self._folder.cleanup()

    def _note(self, changes: Sequence[Change]) -> None:
        self._count += 1
        self._affected |= affected_tables(changes, self._snapshot)

    def _created(self) -> Database:
        self._folder = tempfile.TemporaryDirectory(prefix="rewriter-transaction-", ignore_cleanup_errors=True)
        warehouse = Path(self._source.warehouse) if self._source.warehouse else None
        private = Database(Path(self._folder.name) / "workspace.db", warehouse=warehouse)
        with self._source.read() as source, private.write() as target:
            queries.check_readable(source, self._snapshot.sequence)
            copy_objects(source, target, self._snapshot.sequence)
        return private

    def _copy(self, changes: Sequence[Change]) -> None:
        """Copies the rows of the tables that changes affect, unless they were copied before."""
        assert self._private is not None
        missing = affected_tables(changes, self._snapshot) - self._copied
        if missing:
            with self._source.read() as source, self._private.write() as target:
                queries.check_readable(source, self._snapshot.sequence)
                copy_tables(source, target, missing, self._snapshot.sequence)
            self._copied |= missing


def affected_tables(changes: Sequence[Change], snapshot: Snapshot) -> frozenset[int]:
    """Returns the ids of the tables whose rows changes may change: those of the changes, and of their facts."""
    affected: set[int] = set()
    for change in changes:
        for table in changed_tables(change):
            fact = snapshot.fact_using(table.name)
            names = [] if fact is None else [member.table for storage in fact.storages for member in storage.tables]
            affected |= {table.id, *(snapshot.table(name).id for name in names)}
    return frozenset(affected)


def changed_tables(change: Change) -> tuple[Table, ...]:
    """Returns the tables that a change makes, drops, or changes the partitions of."""
    if isinstance(change, CreateObject | DropObject):
        return (change.object,) if isinstance(change.object, Table) else ()
    if isinstance(change, MovePartitions):
        return change.source, change.target
    if isinstance(change, WritePartitions | AddPartitions | DropPartitions | TruncatePartitions):
        return (change.table,)
    return ()
