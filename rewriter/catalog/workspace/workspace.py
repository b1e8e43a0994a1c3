"""The private catalog of one transaction, and the changes of its statements in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rewriter.catalog.commit.merged_changes import WrittenKeys
from rewriter.catalog.commit.transaction import Transaction
from rewriter.catalog.model.changes import Change
from rewriter.catalog.model.objects import Table
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.pending_changes import OwnRows
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.store.database import Database
from rewriter.catalog.workspace.affected_tables import affected_tables
from rewriter.catalog.workspace.net_changes import net_changes
from rewriter.catalog.workspace.table_copies import copy_objects, copy_tables
from rewriter.scratch_directories import ScratchDirectory

#: Numbers that no identity of an opened catalog equals, which are positive.
_IDENTITIES = itertools.count(-1, -1)


class Workspace:
    """The changes of a transaction's statements over its snapshot. One thread at a time.

    The private catalog is made at its first use, with the changes of the statements so far. A transaction that only
    writes does not make it. It is a copy of the rows of the changed tables and those of their facts: O(rows).
    """

    def __init__(self, source: Database, snapshot: Snapshot, write_id: Callable[[Table], int]) -> None:
        """``source`` is the catalog, and ``snapshot`` what the transaction sees of it. ``write_id`` returns the
        transaction's write id of a table.
        """
        self._source = source
        self._snapshot = snapshot
        self._write_id = write_id
        self._changes: tuple[Change, ...] = ()
        self._identity = next(_IDENTITIES)
        self._affected: frozenset[int] = frozenset()
        #: The changes of the statements that are not in the private catalog yet.
        self._waiting: tuple[Sequence[Change], ...] = ()
        self._count = 0
        self._folder: ScratchDirectory | None = None
        self._private: Database | None = None
        self._copied: set[int] = set()

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all statements, in their order."""
        return self._changes

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
    def applying(
        self, changes: Sequence[Change], keys: Mapping[int, WrittenKeys], *, kept: bool
    ) -> Iterator[Sequence[Change]]:
        """Applies the changes of the next statement, and yields the net changes of all, as ``net`` does.

        The changes are undone if the block raises, or unless they are to be ``kept``. Raises the errors of a commit.
        """
        private = self.database()
        self._copy(changes)
        snapshot = Snapshot.take(private)
        with private.write() as connection:
            Transaction.apply_alone(private, connection, snapshot, changes)
            yield net_changes(connection, self._snapshot, (*self._changes, *changes), keys, self._write_id)
            if not kept:
                connection.rollback()
        if kept:
            self._note(changes)

    def net(self, keys: Mapping[int, WrittenKeys]) -> Sequence[Change]:
        """Returns the net changes of all statements (``net_changes``). ``keys`` are those that they have written."""
        with self.database().read() as connection:
            return net_changes(connection, self._snapshot, self._changes, keys, self._write_id)

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
            self._folder.remove()

    def _note(self, changes: Sequence[Change]) -> None:
        self._count += 1
        self._changes = (*self._changes, *changes)
        self._affected |= affected_tables(changes, self._snapshot)

    def _created(self) -> Database:
        self._folder = ScratchDirectory("transaction")
        warehouse = Path(self._source.warehouse) if self._source.warehouse else None
        private = Database(Path(self._folder.path) / "workspace.db", warehouse=warehouse)
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
