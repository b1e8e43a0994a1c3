"""The catalog in a SQLite file that this process may not write: another user's, or one on a read-only file system.

SQLite reads a database with a write-ahead log only through the files ``-wal`` and ``-shm`` next to it, which a process
without the right to write cannot make. So a connection uses one of three access modes, chosen again whenever one is
taken from the pool, because a writer may start or stop at any time:

- Both files exist: a writer works, or was killed. The database is opened as it is, and SQLite reads the log, too.
- None exists, and the file system is read-only: ``immutable=1``. SQLite then takes no locks, so the file is checked
  before and after each use: another process may write it through a mount that is not read-only.
- Otherwise: a private copy of the file, and of the log if only the log exists, made while both stay the same.
"""

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
from rewriter.catalog.store.sqlite import BUSY_TIMEOUT_SECONDS, SameFile, translated
from rewriter.errors import OperationalError
from rewriter.scratch_directories import ScratchDirectory

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


def refused(path: Path) -> OperationalError:
    """Returns the error of a write into the catalog."""
    reason = "is on a read-only file system" if _is_read_only(path.parent) else "cannot be written by this user"
    return OperationalError(
        f"the warehouse {path.parent} {reason}",
        condition="CATALOG_READ_ONLY",
        object=str(path.parent),
        hint="Queries, SHOW, DESCRIBE and EXPLAIN work; to change it, get write permission for the "
        "directory and all its files.",
    )


def backend(path: Path) -> Backend:
    """Returns the database in an existing file, for reading only."""
    source = _Source(path)
    engine = sa.create_engine(
        "sqlite://",
        creator=source.connect,
        poolclass=sa.pool.QueuePool,
        pool_size=4,
        max_overflow=-1,
    )
    same_file = SameFile(path)
    sa.event.listen(engine, "do_connect", same_file.check)
    sa.event.listen(engine, "checkout", same_file.check)
    sa.event.listen(engine, "checkout", source.check)
    return Backend(str(path), engine, _begin, translated, {}, source.check_same)


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
        """Returns the access mode, the state of the file if SQLite cannot detect its changes, and that of its log."""
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


def _begin(connection: sa.Connection, _purpose: Purpose) -> None:
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
