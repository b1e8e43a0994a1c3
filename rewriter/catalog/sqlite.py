"""The catalog in a SQLite file: the embedded default."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rewriter.catalog.backend import Backend, Purpose
from rewriter.errors import OperationalError

#: How long a writer waits for another one's short transaction, in seconds.
BUSY_TIMEOUT_SECONDS = 60


def backend(path: Path) -> Backend:
    """The database in this file, which is made when it is first used."""
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
    return Backend(str(path), engine, _begin, _translated, {})


def _prepare(dbapi: Any, _record: Any) -> None:
    # The driver's own BEGIN would be deferred and late; ours is sent by ``_begin``.
    dbapi.isolation_level = None
    dbapi.execute("PRAGMA journal_mode = WAL")
    dbapi.execute("PRAGMA synchronous = FULL")


class _SameFile:
    """Refuses to go on where another file has taken the place of the one that was opened first.

    A connection stays with the file that it has opened, which nobody else finds any more; and what was read of one
    catalog means nothing in another, be it only the same one of yesterday.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Device and number of the file; another file gets that number only once no connection holds the first one.
        self._known: tuple[int, int] | None = None
        self._is_gone = False

    def check(self, *_: object) -> None:
        """Raises ``OperationalError`` CATALOG_REPLACED, and ever since. One look at the directory.

        Whoever connects for the first time makes the file; later ones must not.
        """
        try:
            status = os.stat(self._path)
            found = status.st_dev, status.st_ino
        except OSError:
            found = None
        if self._known is None:
            self._known = found
        elif self._is_gone or found != self._known:
            self._is_gone = True
            raise self._replaced()

    def _replaced(self) -> OperationalError:
        return OperationalError(
            f"the file {self._path} is not the catalog any more that was opened",
            condition="CATALOG_REPLACED",
            object=str(self._path),
            hint="close the catalog and open it again; what was not committed is lost",
        )


def _begin(connection: sa.Connection, purpose: Purpose) -> None:
    cursor = connection.connection.cursor()
    if purpose is Purpose.READ:
        cursor.execute("BEGIN")
    else:
        # What is not waited for goes to disk with the next commit that is; until then only the machine's death undoes
        # it, and that is the death of all that know of it.
        cursor.execute(f"PRAGMA synchronous = {'NORMAL' if purpose is Purpose.ANNOUNCE else 'FULL'}")
        cursor.execute("BEGIN IMMEDIATE")
    cursor.close()


def _translated(place: str, error: BaseException, _lost: bool) -> OperationalError:
    text = str(error)
    if "not a database" in text:
        return OperationalError(
            f"{place} is not a catalog", condition="NOT_A_CATALOG", object=place, hint="name another warehouse"
        )
    if "locked" in text or "busy" in text:
        return OperationalError(
            f"the catalog {place} is locked by another process: {text}",
            condition="CATALOG_BUSY",
            object=place,
            hint="try again; if it stays so, look for a process that holds the file",
        )
    return OperationalError(
        f"the catalog {place} cannot be read or written: {text}",
        condition="CATALOG_UNAVAILABLE",
        object=place,
        hint="see that the directory exists, may be written and has room",
    )
