"""The database below the catalog: connections, short read and write transactions, the clock."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rewriter.catalog import migrations, schema
from rewriter.catalog.volumes import VolumeCache
from rewriter.errors import OperationalError

#: How long a writer waits for another one's short transaction, in seconds.
BUSY_TIMEOUT_SECONDS = 60

#: Seconds since 1970 on the database's clock, at the start of the statement.
NOW: sa.ColumnElement[float] = sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Double())


class Database:
    """A catalog's SQLite file. All methods may be used from several threads; a forked child opens its own."""

    def __init__(self, path: Path, steps: tuple[migrations.Step, ...] = migrations.STEPS) -> None:
        """Opens the file, makes or upgrades the schema. ``OperationalError`` where the file is no catalog."""
        self.path = path
        self.volumes = VolumeCache()
        self._engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(path)),
            connect_args={"timeout": BUSY_TIMEOUT_SECONDS},
            pool_size=4,
            max_overflow=-1,
        )
        self._writer = self._engine.execution_options(rewriter_write=True)
        sa.event.listen(self._engine, "connect", _prepare)
        sa.event.listen(self._engine, "begin", _begin)
        try:
            self._upgrade(steps)
        except BaseException:
            self.close()
            raise

    def _upgrade(self, steps: tuple[migrations.Step, ...]) -> None:
        with self.read() as connection:
            if migrations.version_of(connection) == len(steps):
                return
        with self.write() as connection:
            migrations.migrate(connection, steps)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection that sees one state of the database until it is given back."""
        with _our_errors(self.path), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """The one writer's connection: all or nothing, from ``BEGIN IMMEDIATE`` to the end of the block."""
        with _our_errors(self.path), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Gives back all connections. Idempotent."""
        self._engine.dispose()


def next_number(connection: sa.Connection, name: str, count: int = 1) -> int:
    """Takes ``count`` numbers of a sequence and answers the first; until the end of the transaction nobody else can."""
    counter = schema.counters
    connection.execute(sa.update(counter).where(counter.c.name == name).values(value=counter.c.value + count))
    newest: int = connection.execute(sa.select(counter.c.value).where(counter.c.name == name)).scalar_one()
    return newest - count + 1


def _prepare(dbapi: Any, _record: Any) -> None:
    # The driver's own BEGIN would be deferred and late; ours is sent by the "begin" event.
    dbapi.isolation_level = None
    dbapi.execute("PRAGMA journal_mode = WAL")
    dbapi.execute("PRAGMA synchronous = FULL")


def _begin(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("rewriter_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise _translated(path, error.orig or error) from error
    except sqlite3.Error as error:
        raise _translated(path, error) from error


def _translated(path: Path, error: BaseException) -> OperationalError:
    text = str(error)
    if "not a database" in text:
        return OperationalError(
            f"{path} is not a catalog", condition="NOT_A_CATALOG", object=str(path), hint="name another warehouse"
        )
    if "locked" in text or "busy" in text:
        return OperationalError(
            f"the catalog {path} is locked by another process: {text}",
            condition="CATALOG_BUSY",
            object=str(path),
            hint="try again; if it stays so, look for a process that holds the file",
        )
    return OperationalError(
        f"the catalog {path} cannot be read or written: {text}",
        condition="CATALOG_UNAVAILABLE",
        object=str(path),
        hint="see that the directory exists, may be written and has room",
    )
