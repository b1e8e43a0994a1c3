"""Leases, by which VACUUM detects snapshots that are still being read.

A process that reads files of a snapshot for longer than ``LEASED_AFTER_SECONDS`` has a row in ``leases``: the oldest
commit that it needs, renewed by a thread while the snapshot lives. A shorter statement writes nothing.

VACUUM removes no file that a live reader needs. Proof: A snapshot of commit s needs a file only if the file's row has
not ended by s. VACUUM takes rows that a commit c has ended, where c is older than the retention and no open transaction
and no lease is of a commit before c. Assume that a snapshot of s < c needs such a file. The snapshot was taken before c
was visible, so it is older than the retention, which is longer than it takes to write a lease. As it lives and its
files were requested, there is a lease of s or less, and VACUUM leaves c alone. A reader that requests files of a
snapshot older than that first gets its lease, and then checks whether VACUUM ran before. A process that was stopped for
longer than ``EXPIRY_SECONDS``, or could not reach the database for so long, counts as dead; its later reads fail by
name.
"""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Protocol

import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.catalog.store.database_server import NOW
from rewriter.errors import Error, OperationalError

#: The age of a snapshot, in seconds, at which a lease is written; all of these must be far below VACUUM's retention.
LEASED_AFTER_SECONDS = 60.0
#: The interval of the thread, in seconds.
EVERY_SECONDS = 20.0
#: A lease that was not renewed for this long, in seconds, belongs to a dead process.
EXPIRY_SECONDS = 600.0


class LeaseDatabase(Protocol):
    """The database that holds the leases, which may be read-only."""

    #: Makes the error that every write raises; ``None`` if the catalog may be written.
    refusal: Callable[[], OperationalError] | None

    def write(self) -> AbstractContextManager[sa.Connection]: ...


class LeasedSnapshot(Protocol):
    """A snapshot: the newest commit that it sees, and the time at which it was taken, by ``time.monotonic``."""

    @property
    def sequence(self) -> int: ...

    @property
    def taken_at(self) -> float: ...


def needs_lease(snapshot: LeasedSnapshot) -> bool:
    """Returns True if a snapshot is so old that its files stay only with a lease."""
    return time.monotonic() - snapshot.taken_at > LEASED_AFTER_SECONDS


class Leases:
    """The snapshots whose files this process reads, and its row. All methods may be used from several threads."""

    def __init__(self, database: LeaseDatabase) -> None:
        self._database = weakref.ref(database)
        self._id = uuid.uuid4().hex
        self._lock = threading.Lock()
        #: Held while the row is written, which may take long. Only other writes of the row wait for it.
        self._writing = threading.Lock()
        self._snapshots: weakref.WeakSet[LeasedSnapshot] = weakref.WeakSet()
        #: The commit in the row, and the time of its write.
        self._published: tuple[int, float] | None = None
        self._stop: threading.Event | None = None

    def hold(self, snapshot: LeasedSnapshot) -> None:
        """Protects the files of a snapshot while it exists. Writes once, and only if the snapshot is already old."""
        with self._lock:
            self._snapshots.add(snapshot)
            if self._stop is None:
                self._stop = threading.Event()
                keeper = threading.Thread(target=_keep, args=(weakref.ref(self), self._stop), name="rewriter-leases")
                keeper.daemon = True
                keeper.start()
        if needs_lease(snapshot):
            self.renew()

    def renew(self) -> None:
        """Writes the row if it is needed and not current; deletes it if it is no longer needed."""
        with self._writing:
            with self._lock:
                snapshots = list(self._snapshots)
            now, database = time.monotonic(), self._database()
            sequences = [snapshot.sequence for snapshot in snapshots if needs_lease(snapshot)]
            del snapshots
            if database is None or (not sequences and self._published is None):
                return
            if database.refusal is not None:
                # Without write permission there is no lease: reads of files that VACUUM removes fail with the file's
                # path.
                return
            if sequences and self._published is not None:
                sequence, updated = self._published
                if sequence <= min(sequences) and now - updated < EVERY_SECONDS / 2:
                    return
            with database.write() as connection:
                connection.execute(sa.delete(schema.leases).where(schema.leases.c.lease_id == self._id))
                if sequences:
                    row = {"lease_id": self._id, "commit_seq": min(sequences), "renewed_at": NOW}
                    connection.execute(schema.leases.insert().values(row))
            self._published = (min(sequences), now) if sequences else None

    def close(self) -> None:
        """Ends the thread and the lease."""
        with self._lock:
            if self._stop is not None:
                self._stop.set()
            self._snapshots.clear()
        with suppress(Error):  # The lease then expires.
            self.renew()


def _keep(leases: weakref.ref[Leases], stop: threading.Event) -> None:
    while not stop.wait(EVERY_SECONDS):
        keeper = leases()
        if keeper is None:
            return
        with suppress(Error):  # The next try may succeed; a lease lasts much longer.
            keeper.renew()
        del keeper
