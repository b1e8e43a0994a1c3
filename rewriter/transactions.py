"""START TRANSACTION … COMMIT | ROLLBACK: several statements over one snapshot, and one commit for all that they change.

Each statement does its work as it would alone, files included, and hands its changes over instead of committing them.
They are rehearsed then, so what cannot be committed is said by the statement that asked for it, which leaves nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from types import TracebackType

from rewriter.catalog.changes import Change, CreateObject, DropObject, WritePartitions
from rewriter.catalog.freshness import Sources, as_sources
from rewriter.catalog.models import Table
from rewriter.catalog.pending import Pending
from rewriter.catalog.several import WrittenKeys, joined, together
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.store import Catalog
from rewriter.catalog.transaction import Writer
from rewriter.errors import CommitUnknownError, ConflictError, Error, NotSupportedError, ProgrammingError
from rewriter.heartbeats import heartbeat

_AGAIN = "ROLLBACK, then START TRANSACTION and run all its statements again: they read one snapshot"


class OpenTransaction:
    """A session's transaction of several statements, from START TRANSACTION on. One thread at a time.

    A thread of its own tells the catalog that the session lives. Until COMMIT nobody sees anything of it. Its files lie
    where those of all writes lie: ROLLBACK removes them, and those of a process that died are files of nobody.
    """

    def __init__(self, catalog: Catalog, session: str | None) -> None:
        """Takes the snapshot, under which all statements read and conflicts are judged. One read and one write."""
        self._transaction = catalog.begin(catalog.snapshot(session))
        self._snapshot = self._transaction.snapshot
        self._changes: tuple[Change, ...] = ()
        self._keys: dict[int, WrittenKeys] = {}
        self._directories: dict[int, int] = {}
        self._allocated: set[int] = set()
        self._beating = ExitStack()
        self._beating.enter_context(heartbeat(self._transaction))

    @property
    def snapshot(self) -> Snapshot:
        """What the next statement sees."""
        return self._snapshot

    def part(self) -> Writer:
        """The transaction as one statement sees it that writes."""
        return _Part(self)

    def commit(self) -> None:
        """Makes all changes in one database transaction, or none; it has ended after that.

        Raises what ``Transaction.commit`` raises; files are left only where the commit may have come to pass.
        """
        self._beating.close()
        with self._transaction:
            if not self._changes:
                return
            made = {change.object.id for change in self._changes if isinstance(change, CreateObject)}
            try:
                self._transaction.let_go(self._allocated - made)
                self._transaction.commit(together(self._changes))
            except CommitUnknownError:
                raise
            except Error as error:
                self._remove_files()
                if isinstance(error, ConflictError):
                    error.hint = "Nothing was written: START TRANSACTION and run all its statements again."
                raise

    def rollback(self) -> None:
        """Ends the transaction; nothing of it is left, but empty directories of tables."""
        self._beating.close()
        self._remove_files()
        self._transaction.rollback()

    def allocate_id(self) -> int:
        """As ``Transaction.allocate_id``."""
        id = self._transaction.allocate_id()
        self._allocated.add(id)
        return id

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """As ``Transaction.write_ids``: one for each table, whatever statement asks."""
        return self._transaction.write_ids(tables)

    def directory_name(self, table: Table) -> str:
        """A directory for each statement that writes into the table; all bear the write id."""
        self._directories[table.id] = number = self._directories.get(table.id, 0) + 1
        name = self._transaction.directory_name(table)
        return name if number == 1 else f"{name}.{number}"

    def heartbeat(self) -> None:
        """As ``Transaction.heartbeat``."""
        self._transaction.heartbeat()

    def add(self, changes: Sequence[Change]) -> None:
        """The changes of one statement, to be committed with the others; all of them, or none where it raises.

        Raises CHANGED_IN_TRANSACTION where they would not mean what they mean after a commit of those before them, and
        what ``Transaction.commit`` would raise now.
        """
        before = Pending.of(self._changes)
        for change in changes:
            if isinstance(change, DropObject):
                before.check_droppable(change.object)
        keys = joined(self._keys, changes)
        objects = [change for change in self._changes if isinstance(change, CreateObject | DropObject)]
        try:
            self._transaction.rehearse([*objects, *changes])
        except ConflictError as error:
            error.hint = f"{_AGAIN}."
            raise
        self._changes, self._keys = (*self._changes, *changes), keys
        self._snapshot = self._transaction.snapshot.over(Pending.of(self._changes))

    def _remove_files(self) -> None:
        for change in self._changes:
            if isinstance(change, WritePartitions):
                for folder in _folders(change):
                    shutil.rmtree(folder, ignore_errors=True)
        for change in self._changes:
            if isinstance(change, CreateObject) and isinstance(change.object, Table) and not change.object.external:
                _remove_empty(change.object.location)


class _Part:
    """One statement's part in an open transaction: a ``Writer`` whose commit hands the changes over."""

    def __init__(self, whole: OpenTransaction) -> None:
        self._whole = whole
        self.allocate_id = whole.allocate_id
        self.write_ids = whole.write_ids
        self.directory_name = whole.directory_name
        self.heartbeat = whole.heartbeat

    def commit(
        self, changes: Sequence[Change], sources: Collection[int] | Sources = (), unproven: Collection[int] = ()
    ) -> None:
        """Adds the changes. What the statement's query has read is told with its writes, each of which it concerns."""
        read = as_sources(sources)
        self._whole.add(
            [
                replace(change, sources=read, unproven=frozenset(unproven))
                if isinstance(change, WritePartitions) and change.sources is None
                else change
                for change in changes
            ]
        )

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing: a statement that fails has added nothing, and the transaction stays open."""


def _folders(change: WritePartitions) -> set[str]:
    """The directories of a write below its table's."""
    place = change.table.location
    files = (os.path.relpath(file.path, place) for partition in change.partitions for file in partition.files)
    return {os.path.join(place, path.split(os.sep)[0]) for path in files}


def _remove_empty(root: str) -> None:
    """Removes a directory and those in it, but for what holds files."""
    for folder, _, _ in os.walk(root, topdown=False):
        with suppress(OSError):
            os.rmdir(folder)


def not_in_transaction(why: str, object: str | None = None) -> NotSupportedError:
    """The error for what cannot wait for a COMMIT."""
    return NotSupportedError(
        f"{why}, and cannot be part of a transaction of several statements.",
        condition="NOT_IN_TRANSACTION",
        sqlstate="25001",
        object=object,
        hint="COMMIT or ROLLBACK first; alone it is a transaction of its own.",
    )


def already_open() -> ProgrammingError:
    """The error of START TRANSACTION within a transaction."""
    return ProgrammingError(
        "A transaction is open already, and transactions do not nest.",
        condition="TRANSACTION_ALREADY_OPEN",
        sqlstate="25001",
        hint="COMMIT or ROLLBACK it first.",
    )


def none_open(statement: str) -> ProgrammingError:
    """The error of COMMIT and ROLLBACK without a transaction."""
    return ProgrammingError(
        f"There is no open transaction to {statement}: statements outside of one commit by themselves.",
        condition="NO_OPEN_TRANSACTION",
        sqlstate="25P01",
        hint="START TRANSACTION opens one.",
    )


def not_committed() -> ProgrammingError:
    """The error of a script that ends within a transaction, of which nothing is left then."""
    return ProgrammingError(
        "The statements end without COMMIT: what they did since START TRANSACTION is rolled back.",
        condition="TRANSACTION_NOT_COMMITTED",
        sqlstate="25000",
        hint="COMMIT at the end, or ROLLBACK where that is meant.",
    )
