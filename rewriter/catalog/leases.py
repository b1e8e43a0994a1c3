"""Leases: how VACUUM learns of snapshots that are still being read.

A process that reads files of a snapshot for longer than ``LEASED_AFTER_SECONDS`` says so in a row of ``leases``: the
oldest commit that it needs, renewed by a thread while the snapshot lives. A shorter statement writes nothing.

Why no file goes that a living reader needs: a snapshot of commit s needs a file only if the file's row has not ended by
s. VACUUM takes rows that a commit c has ended, where c is older than the retention and no open transaction and no
lease is of a commit before c. Let such a file be needed by a snapshot of s < c. The snapshot was taken before c was
visible, so it is older than the retention, which is longer than it takes to write a lease; as it lives and its files
were asked for, there is a lease of s or less, and VACUUM leaves c alone. Who asks for files of an older snapshot than
that first gets his lease, and then looks whether VACUUM came before it. A process that was stopped for longer than
``EXPIRY_SECONDS``, or could not reach the database for so long, is taken for dead; what it then reads fails by name.
"""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.clock import NOW
from rewriter.errors import Error

if TYPE_CHECKING:
    from rewriter.catalog.database import Database

#: How old a snapshot is, in seconds, when a lease is written for it; all of it must be far below VACUUM's retention.
LEASED_AFTER_SECONDS = 60.0
#: How often the thread looks.
EVERY_SECONDS = 20.0
#: A lease that was not renewed for so long is a dead process's.
EXPIRY_SECONDS = 600.0


class Held(Protocol):
    """A snapshot: the newest commit that it sees, and when it was taken, on the clock of ``time.monotonic``."""

    @property
    def sequence(self) -> int: ...

    @property
    def taken(self) -> float: ...


def needs_lease(snapshot: Held) -> bool:
    """Whether a snapshot is so old that its files stay only by a lease."""
    return time.monotonic() - snapshot.taken > LEASED_AFTER_SECONDS


class Leases:
    """The snapshots whose files this process reads, and its row. All methods may be used from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = weakref.ref(database)
        self._id = uuid.uuid4().hex
        self._lock = threading.Lock()
        #: Held while the row is written, which may take long: nobody waits for it who writes none.
        self._writing = threading.Lock()
        self._held: weakref.WeakSet[Held] = weakref.WeakSet()
        #: The commit in the row, and when it was written.
        self._published: tuple[int, float] | None = None
        self._stop: threading.Event | None = None

    def hold(self, snapshot: Held) -> None:
        """From now on, and as long as the snapshot lives, its files stay. One write only if it is old already."""
        with self._lock:
            self._held.add(snapshot)
            if self._stop is None:
                self._stop = threading.Event()
                keeper = threading.Thread(target=_keep, args=(weakref.ref(self), self._stop), name="rewriter-leases")
                keeper.daemon = True
                keeper.start()
        if needs_lease(snapshot):
            self.renew()

    def renew(self) -> None:
        """Writes the row where it is needed and not of now, removes it where it is not needed any more."""
        with self._writing:
            with self._lock:
                held = list(self._held)
            now, database = time.monotonic(), self._database()
            old = [one.sequence for one in held if needs_lease(one)]
            del held
            if database is None or (not old and self._published is None):
                return
            if old and self._published is not None:
                sequence, written = self._published
                if sequence <= min(old) and now - written < EVERY_SECONDS / 2:
                    return
            with database.write() as connection:
                connection.execute(sa.delete(schema.leases).where(schema.leases.c.lease_id == self._id))
                if old:
                    row = {"lease_id": self._id, "commit_seq": min(old), "renewed_at": NOW}
                    connection.execute(schema.leases.insert().values(row))
            self._published = (min(old), now) if old else None

    def close(self) -> None:
        """Ends the thread and the lease."""
        with self._lock:
            if self._stop is not None:
                self._stop.set()
            self._held.clear()
        with suppress(Error):  # It then ends by itself.
            self.renew()


def _keep(leases: weakref.ref[Leases], stop: threading.Event) -> None:
    while not stop.wait(EVERY_SECONDS):
        one = leases()
        if one is None:
            return
        with suppress(Error):  # The next time may do; a lease lasts much longer.
            one.renew()
        del one
