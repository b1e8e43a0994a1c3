"""The catalog in a SQLite file: the embedded default."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rewriter.cancellation import waits_for
from rewriter.catalog.store.backend import Backend, Purpose
from rewriter.errors import OperationalError, disk_full, is_disk_full

#: The maximum wait of a writer for another one's short transaction, in seconds.
BUSY_TIMEOUT_SECONDS = 60
#: A step of that wait, in milliseconds.
_STEP_MILLISECONDS = 200
#: The maximum wait for another process that opens a new file at the same time, in seconds.
_SWITCH_SECONDS = 10


def backend(path: Path) -> Backend:
    """Returns the database in this file, which is made on first use."""
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_TIMEOUT_SECONDS},
        pool_size=4,
        max_overflow=-1,
    )
    file = SameFile(path)
    sa.event.listen(engine, "do_connect", file.check)
    sa.event.listen(engine, "connect", _prepare)
    sa.event.listen(engine, "checkout", file.check)
    return Backend(str(path), engine, _begin, translated, {})


def _prepare(dbapi: Any, _record: Any) -> None:
    # The driver's own BEGIN would be deferred and late; ``_begin`` sends another one.
    dbapi.isolation_level = None
    _use_write_ahead_log(dbapi)
    dbapi.execute("PRAGMA synchronous = FULL")


def _use_write_ahead_log(dbapi: Any) -> None:
    """Switches to the write-ahead log. Waits for a process that does so now: SQLite's own timeout is not used there."""
    deadline = time.monotonic() + _SWITCH_SECONDS
    while True:
        try:
            dbapi.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            waits_for("another process that opens the catalog")
            time.sleep(0.01)
        else:
            return


class SameFile:
    """Refuses to continue if another file has replaced the one that was opened first.

    A connection stays with the file that it has opened, which no other process finds any more. Cached reads of one
    catalog are invalid in another, even in an earlier copy of the same one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Device and inode of the file; another file gets that inode only once no connection holds the first one.
        self._opened_identity: tuple[int, int] | None = None
        self._is_gone = False

    def check(self, *_: object) -> None:
        """Raises ``OperationalError`` CATALOG_REPLACED, from then on always. Accesses the directory once.

        The first connection makes the file; later ones must not.
        """
        try:
            status = os.stat(self._path)
            identity = status.st_dev, status.st_ino
        except OSError:
            identity = None
        if self._opened_identity is None:
            self._opened_identity = identity
        elif self._is_gone or identity != self._opened_identity:
            self._is_gone = True
            raise self._replaced()

    def _replaced(self) -> OperationalError:
        return OperationalError(
            f"the file {self._path} is no longer the catalog that was opened",
            condition="CATALOG_REPLACED",
            object=str(self._path),
            hint="Close the catalog and open it again; uncommitted changes are lost.",
        )


def _begin(connection: sa.Connection, purpose: Purpose) -> None:
    cursor = connection.connection.cursor()
    if purpose is Purpose.READ:
        cursor.execute("BEGIN")
    else:
        # An announcement goes to disk with the next commit that waits. Until then only the death of the machine
        # undoes it, which also ends all processes that have read it.
        cursor.execute(f"PRAGMA synchronous = {'NORMAL' if purpose is Purpose.ANNOUNCE else 'FULL'}")
        _begin_writing(cursor, str(connection.engine.url.database))
    cursor.close()


def _begin_writing(cursor: Any, path: str) -> None:
    """Begins the transaction of the only writer. Waits for another one in short steps, as SQLite's own wait can be
    neither seen nor canceled.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    cursor.execute(f"PRAGMA busy_timeout = {_STEP_MILLISECONDS}")
    try:
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                waits_for(f"another writer of the catalog {path}")
            else:
                return
    finally:
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_SECONDS * 1000}")


def translated(catalog_address: str, error: BaseException, _lost: bool) -> OperationalError:
    text = str(error)
    if "not a database" in text:
        return OperationalError(
            f"{catalog_address} is not a catalog",
            condition="NOT_A_CATALOG",
            object=catalog_address,
            hint="Name another warehouse.",
        )
    if "locked" in text or "busy" in text:
        return OperationalError(
            f"the catalog {catalog_address} is locked by another process: {text}",
            condition="CATALOG_BUSY",
            object=catalog_address,
            hint="Try again; if the error persists, find the process that has the file open.",
        )
    if is_disk_full(error):
        return disk_full(f"the catalog {catalog_address}", catalog_address)
    return OperationalError(
        f"the catalog {catalog_address} cannot be read or written: {text}",
        condition="CATALOG_UNAVAILABLE",
        object=catalog_address,
        hint="Check that the directory exists, that this user can read and write it, and that it has free space.",
    )
