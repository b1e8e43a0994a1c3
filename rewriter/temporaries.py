"""A session's temporary tables: where their files lie, and how they end.

Rows are in the catalog under names that only their session finds (``catalog.temporary``), files in a directory of the
session below the warehouse, which every engine reaches. Both go when the session is closed. Where its process dies
instead, they stay, unseen, until another session of that machine makes its first temporary table: the directory says
which process of which machine it belongs to.
"""

from __future__ import annotations

import os
import shutil
import socket
import uuid
from pathlib import Path

from rewriter.catalog.changes import DropObject
from rewriter.catalog.store import Catalog
from rewriter.errors import OperationalError

_PREFIX = "temporary-"
_OWNER = "owner"


class Temporaries:
    """The temporary tables of one session. There is nothing of it in the catalog or on disk before ``start``."""

    def __init__(self) -> None:
        self._session: str | None = None

    @property
    def session(self) -> str | None:
        """What names the session in the names of its tables; ``None`` while it has made none."""
        return self._session

    def start(self, catalog: Catalog) -> str:
        """The session's name, given when first asked for: then what dead processes left goes, too.

        Raises ``OperationalError`` where its directory cannot be made.
        """
        if self._session is None:
            _sweep(catalog)
            session = uuid.uuid4().hex
            folder = folder_of(catalog, session)
            try:
                folder.mkdir(parents=True)
                (folder / _OWNER).write_text(f"{socket.gethostname()} {os.getpid()}", encoding="utf-8")
            except OSError as error:
                raise OperationalError(
                    f"The directory {folder} of temporary tables cannot be made: {error.strerror}.",
                    condition="FAILED_WRITE_FILE",
                    sqlstate="58030",
                    object=str(folder),
                    hint="See that the warehouse may be written and has room.",
                ) from error
            self._session = session
        return self._session

    def close(self, catalog: Catalog) -> None:
        """Ends all tables of the session, and removes their files. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            _end(catalog, session)


def folder_of(catalog: Catalog, session: str) -> Path:
    """The directory of a session's temporary tables."""
    return catalog.warehouse / f"{_PREFIX}{session}"


def _sweep(catalog: Catalog) -> None:
    """Ends the temporary tables of processes of this machine that are no more."""
    for owner in catalog.warehouse.glob(f"{_PREFIX}*/{_OWNER}"):
        try:
            host, pid = owner.read_text(encoding="utf-8").rsplit(" ", 1)
            if host == socket.gethostname() and not _lives(int(pid)):
                _end(catalog, owner.parent.name.removeprefix(_PREFIX))
        except (OSError, ValueError):
            continue  # somebody else sweeps, or it is no directory of ours


def _lives(pid: int) -> bool:
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
    shutil.rmtree(folder_of(catalog, session), ignore_errors=True)
