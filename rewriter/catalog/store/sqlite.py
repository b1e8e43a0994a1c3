"""The catalog in a SQLite file: the embedded default."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
import urllib.parse
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rewriter.cancellation import waits_for
from rewriter.catalog.store.backend import Backend, Purpose
from rewriter.errors import OperationalError, disk_full, is_disk_full
from rewriter.scratch_directories import ScratchDirectory

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
    file = _SameFile(path)
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


class _SameFile:
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


# The catalog in a SQLite file that this process may not write: another user's, or one on a read-only file system.
#
# SQLite reads a database with a write-ahead log only through the files ``-wal`` and ``-shm`` next to it, which a
# process without the right to write cannot make. So a connection uses one of three access modes, chosen again
# whenever one is taken from the pool, because a writer may start or stop at any time:
#
# - Both files exist: a writer works, or was killed. The database is opened as it is, and SQLite reads the log, too.
# - None exists, and the file system is read-only: ``immutable=1``. SQLite then takes no locks, so the file is checked
#   before and after each use: another process may write it through a mount that is not read-only.
# - Otherwise: a private copy of the file, and of the log if only the log exists, made while both stay the same.

_LOG_SUFFIXES = ("-wal", "-shm")
#: The number of attempts to copy while another process writes, and the pause after each, in seconds.
_TRIES, _PAUSE = 50, 0.05

#: The size, the modification time and the inode of a file; ``None`` if it does not exist.
_FileState = tuple[int, int, int] | None


def is_writable(path: Path) -> bool:
    """Returns True if this process may write a catalog's file, and create the files next to it that SQLite needs.

    For a missing file, returns True if it may be made. Accesses the disk a few times.
    """
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    files = [Path(f"{path}{suffix}") for suffix in ("", *_LOG_SUFFIXES)]
    return _may_write(folder, os.W_OK | os.X_OK) and all(_may_write(file) for file in files if os.path.lexists(file))


def write_refused(path: Path) -> OperationalError:
    """Returns the error of a write into the catalog."""
    reason = "is on a read-only file system" if _is_read_only(path.parent) else "cannot be written by this user"
    return OperationalError(
        f"the warehouse {path.parent} {reason}",
        condition="CATALOG_READ_ONLY",
        object=str(path.parent),
        hint="Queries, SHOW, DESCRIBE and EXPLAIN work; to change it, get write permission for the "
        "directory and all its files.",
    )


def readonly_backend(path: Path) -> Backend:
    """Returns the database in an existing file, for reading only."""
    source = _Source(path)
    engine = sa.create_engine(
        "sqlite://",
        creator=source.connect,
        poolclass=sa.pool.QueuePool,
        pool_size=4,
        max_overflow=-1,
    )
    same_file = _SameFile(path)
    sa.event.listen(engine, "do_connect", same_file.check)
    sa.event.listen(engine, "checkout", same_file.check)
    sa.event.listen(engine, "checkout", source.check)
    return Backend(str(path), engine, _begin_readonly, translated, {}, source.check_same)


class _Connection(sqlite3.Connection):
    """A connection, and the state of the files when it was opened."""

    access_mode: tuple[object, ...] = ()
    is_immutable = False


class _Source:
    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._lock = threading.Lock()
        self._copy: tuple[tuple[object, ...], ScratchDirectory] | None = None

    def connect(self) -> _Connection:
        """Returns a connection to the current content of the files."""
        for _ in range(_TRIES):
            access_mode = self._access_mode()
            kind, main, wal = access_mode
            if main is None or not os.access(self._path, os.R_OK):
                raise sqlite3.OperationalError("this user has no permission to read it")
            if kind == "shared":
                connection = _opened(self._path, "mode=ro")
            elif kind == "immutable":
                connection = _opened(self._path, "mode=ro&immutable=1")
                connection.is_immutable = True
            else:
                copy = self._copied(access_mode, with_log=wal is not None)
                if copy is None:
                    waits_for(f"writers of the catalog {self._path}")
                    time.sleep(_PAUSE)
                    continue
                connection = _opened(copy, "mode=rw")
            connection.access_mode = access_mode
            return connection
        raise sqlite3.OperationalError("database is locked: it changes too often to be copied")

    def check(self, dbapi: Any, *_: object) -> None:
        """Discards a pooled connection if the database changed, or its log files were added or removed."""
        if dbapi.access_mode != self._access_mode():
            raise sa.exc.DisconnectionError

    def check_same(self, dbapi: Any) -> None:
        """Raises if the file was changed while it was read as immutable."""
        if dbapi.is_immutable and _file_state(self._path) != dbapi.access_mode[1]:
            raise sqlite3.OperationalError("database is locked: it was changed while it was read")

    def _access_mode(self) -> tuple[Any, ...]:
        """Returns the access mode, the state of the file if SQLite cannot detect its changes, and its log's."""
        main, (wal, shm) = _file_state(self._path), (_file_state(self._path + suffix) for suffix in _LOG_SUFFIXES)
        if wal is not None and shm is not None:
            return "shared", main and main[2:], None
        if wal is None and _is_read_only(Path(self._path)):
            return "immutable", main, None
        return "copy", main, wal

    def _copied(self, access_mode: tuple[object, ...], *, with_log: bool) -> str | None:
        """Returns the copy's path; ``None`` if the files changed meanwhile. Threads share one copy."""
        with self._lock:
            if self._copy is None or self._copy[0] != access_mode:
                folder = ScratchDirectory("catalog")
                for suffix in ("", "-wal") if with_log else ("",):
                    shutil.copyfile(self._path + suffix, os.path.join(folder.path, "catalog.db" + suffix))
                if self._access_mode() != access_mode:
                    folder.remove()
                    return None
                self._copy = access_mode, folder
            return os.path.join(self._copy[1].path, "catalog.db")


def _opened(path: str, options: str) -> _Connection:
    return sqlite3.connect(
        f"file:{urllib.parse.quote(path)}?{options}",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )


def _begin_readonly(connection: sa.Connection, _purpose: Purpose) -> None:
    connection.exec_driver_sql("BEGIN")


def _file_state(path: str) -> _FileState:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _is_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _may_write(path: Path, mode: int = os.W_OK) -> bool:
    """Checks access by the effective user, as opening the file would."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids) and not _is_read_only(path)
