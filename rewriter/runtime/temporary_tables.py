"""A session's temporary tables: where their files are, and how they end. Also its temporary views, which have none.

Rows are in the catalog under names that only their session finds (``catalog.model.temporary_views``). Files are in a
directory of the session below the warehouse, which every engine reaches. Both are removed when the session is closed.
If its process dies instead, they stay, invisible, until another session on that machine makes its first temporary
table. A file in the directory identifies the process and the machine that it belongs to; the file is locked as long
as that process lives.
"""

from __future__ import annotations

import fcntl
import os
import socket
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import DropObject
from rewriter.catalog.model.temporary_views import NO_VIEWS, OWNER, plainly
from rewriter.directory_changes import discard_tree
from rewriter.errors import Error, OperationalError, disk_full, is_disk_full
from rewriter.runtime.sources import Sources

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog

_PREFIX = "temporary-"
_OWNER = "owner"


def show_plainly(error: Error, session: str | None) -> None:
    """Replaces the internal names of temporary tables and views in an error by the names that were typed."""
    for owner in (session, OWNER):
        error.message = plainly(error.message, owner)
        error.hint = error.hint and plainly(error.hint, owner)
        error.object = error.object and plainly(error.object, owner)


class Temporaries:
    """The temporary tables and views of one session. Nothing of it is in the catalog or on disk before ``start``."""

    def __init__(self) -> None:
        self.views = NO_VIEWS
        self.sources = Sources()
        self._session: str | None = None
        #: The owner file, which is open and locked while the session has tables.
        self._owner: int | None = None

    @property
    def session(self) -> str | None:
        """Returns the session's id within the names of its tables; ``None`` while it has made none."""
        return self._session

    def start(self, catalog: Catalog) -> str:
        """Returns the session's id. The first call assigns it, and removes the temporary tables of dead processes.

        Raises ``OperationalError`` where its directory cannot be made.
        """
        if self._session is None:
            _sweep(catalog)
            session = uuid.uuid4().hex
            folder = folder_of(catalog, session)
            try:
                folder.mkdir(parents=True)
                self._owner = _owned(folder)
            except OSError as error:
                if is_disk_full(error):
                    raise disk_full(f"The directory {folder} of temporary tables", str(folder)) from error
                raise OperationalError(
                    f"The directory {folder} of temporary tables cannot be created: {error.strerror}.",
                    condition="FAILED_WRITE_FILE",
                    sqlstate="58030",
                    object=str(folder),
                    hint="Check that this user can write to the warehouse, and that it has free space.",
                ) from error
            self._session = session
        return self._session

    def close(self, catalog: Catalog) -> None:
        """Drops all tables of the session, and removes their files. Idempotent."""
        self.sources.close()
        session, self._session = self._session, None
        owner, self._owner = self._owner, None
        try:
            if session is not None:
                _end(catalog, session)
        finally:
            if owner is not None:
                os.close(owner)


def folder_of(catalog: Catalog, session: str) -> Path:
    """Returns the directory of a session's temporary tables."""
    return catalog.warehouse / f"{_PREFIX}{session}"


def _sweep(catalog: Catalog) -> None:
    """Drops the temporary tables of dead processes of this machine."""
    for owner in catalog.warehouse.glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            host, pid, *locked = owner.read_text(encoding="utf-8").split(" ")
            if host == socket.gethostname() and not (_is_locked(owner) if locked else _lives(int(pid))):
                _end(catalog, owner.parent.name.removeprefix(_PREFIX))
        except (OSError, ValueError):
            continue  # another process sweeps, or it is no directory of ours


def _owned(folder: Path) -> int:
    """Makes the owner file and locks it. Returns its descriptor.

    A process id may soon belong to another process, but a lock ends with its own. The file gets its name only once
    it is locked.
    """
    unfinished = folder / f".{_OWNER}"
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        word = " locked"
    except OSError:
        word = ""  # A file system without locks.
    os.write(descriptor, f"{socket.gethostname()} {os.getpid()}{word}".encode())
    os.rename(unfinished, folder / _OWNER)
    return descriptor


def _is_locked(owner: Path) -> bool:
    descriptor = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def _lives(pid: int) -> bool:
    """Returns whether there is such a process. Used for an owner file without a lock."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _end(catalog: Catalog, session: str) -> None:
    with catalog.begin() as transaction:
        tables = transaction.snapshot.temporary_tables(session)
        if tables:
            transaction.commit([DropObject(table) for table in tables])
    discard_tree(str(folder_of(catalog, session)), (str(catalog.warehouse),))
