"""START TRANSACTION … COMMIT | ROLLBACK: several statements over one snapshot, and one commit for all their changes.

Each statement does its work as it would alone, files included, and hands its changes over instead of committing
them. The transaction then rehearses them, so that the statement itself raises if its changes cannot be committed,
and leaves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from rewriter.catalog.commit.freshness import Sources, as_sources
from rewriter.catalog.commit.merged_changes import WrittenKeys, merged_changes, with_written_keys
from rewriter.catalog.filesystems.removal import discard_files
from rewriter.catalog.model.changes import Change, CreateObject, DropObject, WritePartitions
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.stored_paths import roots_of
from rewriter.catalog.reading.pending_changes import Pending
from rewriter.catalog.workspace.workspace import Workspace
from rewriter.directory_changes import discard_tree, remove_empty
from rewriter.errors import CommitUnknownError, ConflictError, Error
from rewriter.runtime.heartbeat import heartbeat
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.commit.transaction import Writer
    from rewriter.catalog.reading.snapshot import Snapshot

_AGAIN = "ROLLBACK, then START TRANSACTION and run all its statements again: they read one snapshot"


class OpenTransaction:
    """A session's transaction of several statements, from START TRANSACTION on. One thread at a time.

    A separate thread sends heartbeats to the catalog. Until COMMIT no other session sees any change. The
    transaction's files are in the same places as the files of all writes: ROLLBACK removes them, and VACUUM removes the
    files of a process that died.
    """

    def __init__(self, catalog: Catalog, session: str | None) -> None:
        """Takes the snapshot under which all statements read and conflicts are judged. Costs one read and one write."""
        self._warehouse = catalog.warehouse
        self._transaction = catalog.begin(catalog.snapshot(session))
        self._snapshot = self._transaction.snapshot
        self._workspace = Workspace(catalog.database, self._snapshot, self._transaction.write_id)
        self._keys: dict[int, WrittenKeys] = {}
        self._directories: dict[int, int] = {}
        self._allocated: set[int] = set()
        self._beating = ExitStack()
        self._beating.enter_context(heartbeat(self._transaction))

    @property
    def snapshot(self) -> Snapshot:
        """Returns the snapshot of the next statement."""
        return self._snapshot

    @property
    def has_changes(self) -> bool:
        """Returns whether a statement has handed over changes."""
        return bool(self._workspace.changes)

    def part(self) -> Writer:
        """Returns the transaction as a ``Writer`` for one statement."""
        return _Part(self)

    def commit(self) -> None:
        """Makes all changes in one database transaction, or none; then the transaction has ended.

        Raises the errors of ``Transaction.commit``. Files are left only where the commit may have succeeded.
        """
        self._beating.close()
        with self._transaction, closing(self._workspace):
            if not self._workspace.changes:
                return
            try:
                is_used = self._workspace.is_used
                changes = self._workspace.net(self._keys) if is_used else merged_changes(self._workspace.changes)
                created_ids = {change.object.id for change in changes if isinstance(change, CreateObject)}
                self._transaction.release_write_ids(self._allocated - created_ids)
                self._transaction.commit(changes)
            except CommitUnknownError:
                raise
            except Error as error:
                self._discard()
                if isinstance(error, ConflictError):
                    error.hint = "Nothing was written: START TRANSACTION and run all its statements again."
                raise
            if is_used:
                self._remove_files(_directories(changes))
                self._remove_directories(created_ids)

    def rollback(self) -> None:
        """Ends the transaction; leaves nothing of it but empty directories of tables."""
        self._beating.close()
        self._workspace.close()
        self._discard()
        self._transaction.end_soon()

    def allocate_id(self) -> int:
        """As ``Transaction.allocate_id``."""
        id = self._transaction.allocate_id()
        self._allocated.add(id)
        return id

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """As ``Transaction.write_ids``: one for each table, the same for all statements."""
        return self._transaction.write_ids(tables)

    def directory_name(self, table: Table) -> str:
        """Returns a new directory name for each statement that writes into the table; all contain the write id."""
        self._directories[table.id] = number = self._directories.get(table.id, 0) + 1
        name = self._transaction.directory_name(table)
        return name if number == 1 else f"{name}.{number}"

    def heartbeat(self) -> None:
        """As ``Transaction.heartbeat``."""
        self._transaction.heartbeat()

    def add(self, changes: Sequence[Change]) -> None:
        """Adds the changes of one statement, to be committed with the others: all of them, or none if it raises.

        Raises the errors that ``Transaction.commit`` would raise now, and CHANGED_IN_TRANSACTION for a partition of an
        external table that a transaction cannot change twice.
        """
        self._keys = self._rehearsed(changes, kept=True)
        self._snapshot = self._transaction.snapshot.over(
            Pending.of(self._workspace.changes, self._workspace.own_rows())
        )

    def rehearse(self, changes: Sequence[Change]) -> None:
        """Raises the errors of ``add``, and adds nothing."""
        self._rehearsed(changes, kept=False)

    def _rehearsed(self, changes: Sequence[Change], kept: bool) -> dict[int, WrittenKeys]:
        """Returns the keys that are written with these changes. Adds them to the workspace if they are ``kept``."""
        before = Pending.of(self._workspace.changes)
        dropped = [change.object for change in changes if isinstance(change, DropObject)]
        keys, has_order = with_written_keys(self._keys, changes)
        has_order |= any(map(before.has_changed, dropped))
        try:
            if has_order or self._workspace.is_used:
                with self._workspace.applying(changes, keys, kept=kept) as net:
                    self._transaction.rehearse(net)
            else:
                objects = [
                    change for change in self._workspace.changes if isinstance(change, CreateObject | DropObject)
                ]
                self._transaction.rehearse([*objects, *changes])
                if kept:
                    self._workspace.add(changes)
        except ConflictError as error:
            error.hint = f"{_AGAIN}."
            raise
        return keys

    def _discard(self) -> None:
        """Removes the files of all statements, and the empty directories of tables that they would have created."""
        self._remove_files(frozenset())
        self._remove_directories(frozenset())

    def _remove_directories(self, kept: Collection[int]) -> None:
        """Removes the empty directories of the tables that statements made, except those with these ids."""
        for change in self._workspace.changes:
            table = change.object if isinstance(change, CreateObject) else None
            if isinstance(table, Table) and not table.external and table.id not in kept and not is_uri(table.location):
                remove_empty(table.location, roots_of(table, self._warehouse))

    def _remove_files(self, kept: Collection[str]) -> None:
        """Removes the directories of all writes, except those with these paths; in object stores, their files."""
        for change in self._workspace.changes:
            if isinstance(change, WritePartitions):
                for folder in _folders(change):
                    if folder in kept:
                        continue
                    if is_uri(folder):
                        files = [file.path for partition in change.partitions for file in partition.files]
                        discard_files(path for path in dict.fromkeys(files) if path.startswith(f"{folder}/"))
                    else:
                        discard_tree(folder, roots_of(change.table, self._warehouse))


class _Part:
    """One statement's part in an open transaction: a ``Writer`` whose commit hands the changes over."""

    def __init__(self, open_transaction: OpenTransaction) -> None:
        self._open_transaction = open_transaction
        self.allocate_id = open_transaction.allocate_id
        self.write_ids = open_transaction.write_ids
        self.directory_name = open_transaction.directory_name
        self.heartbeat = open_transaction.heartbeat

    def commit(
        self, changes: Sequence[Change], sources: Collection[int] | Sources = (), unproven: Collection[int] = ()
    ) -> None:
        """Adds the changes. The sources that the statement's query has read are added to each of its writes."""
        read = as_sources(sources)
        self._open_transaction.add(
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
        """Does nothing: a statement that fails has added nothing, and the transaction stays open."""


def _folders(change: WritePartitions) -> set[str]:
    """Returns the directories of a write below its table's."""
    location = change.table.location
    stem = os.path.join(location, "")
    paths = (file.path for partition in change.partitions for file in partition.files)
    return {stem + path[len(stem) :].split(os.sep)[0] for path in paths if path.startswith(stem)}


def _directories(changes: Sequence[Change]) -> set[str]:
    """Returns all directories above the files that changes write. A moved file is in the directory of another table."""
    directories: set[str] = set()
    for change in changes:
        for partition in change.partitions if isinstance(change, WritePartitions) else ():
            for file in partition.files:
                folder = os.path.dirname(file.path)
                while folder not in directories and folder != os.path.dirname(folder):
                    directories.add(folder)
                    folder = os.path.dirname(folder)
    return directories
