"""The catalog in a SQLite file: the embedded default."""

from __future__ import annotations

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
    sa.event.listen(engine, "connect", _prepare)
    return Backend(str(path), engine, _begin, _translated, {})


def _prepare(dbapi: Any, _record: Any) -> None:
    # The driver's own BEGIN would be deferred and late; ours is sent by ``_begin``.
    dbapi.isolation_level = None
    dbapi.execute("PRAGMA journal_mode = WAL")
    dbapi.execute("PRAGMA synchronous = FULL")


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
