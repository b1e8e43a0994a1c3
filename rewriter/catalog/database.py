"""The database below the catalog: connections, short read and write transactions, the clock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

import sqlalchemy as sa

from rewriter.catalog import migrations, postgresql, schema, sqlite
from rewriter.catalog.backend import Backend, Purpose
from rewriter.catalog.cache import CatalogCache
from rewriter.catalog.clock import NOW as NOW
from rewriter.catalog.identity import IDENTITY
from rewriter.catalog.leases import Leases
from rewriter.catalog.prepared import Prepared, changed, fetch, fetch_value, once
from rewriter.catalog.volumes import VolumeCache
from rewriter.errors import DataError, OperationalError


class Database:
    """A catalog's database. All methods may be used from several threads; a forked child connects anew."""

    def __init__(self, place: Path | str | sa.URL, steps: tuple[migrations.Step, ...] = migrations.STEPS) -> None:
        """Opens a SQLite file (a path) or a PostgreSQL database (a URL), makes or upgrades the schema.

        ``OperationalError`` where it is no catalog or cannot be used; what ``postgresql.backend`` raises.
        """
        self.volumes = VolumeCache()
        self.leases = Leases(self)
        #: What snapshots read first; ``None`` where every read goes to the database.
        self.cache: CatalogCache | None = None
        self.version = len(steps)
        self._identity: int | None = None
        self._backend = _backend(place)
        engine = self._backend.engine
        self._engines = {
            purpose: engine.execution_options(rewriter_purpose=purpose, **self._backend.options.get(purpose, {}))
            for purpose in Purpose
        }
        sa.event.listen(engine, "begin", self._begin)
        _OPEN.add(self)
        try:
            self._upgrade(steps)
        except BaseException:
            self.close()
            raise

    def _begin(self, connection: sa.Connection) -> None:
        self._backend.begin(connection, connection.get_execution_options()["rewriter_purpose"])

    def _upgrade(self, steps: tuple[migrations.Step, ...]) -> None:
        with self.read() as connection:
            if migrations.version_of(connection) == len(steps):
                return
        with self._alone(Purpose.MIGRATE) as connection:
            migrations.migrate(connection, steps)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection that sees one state of the database until it is given back."""
        # It begins here and not with the first statement: of those that the driver is given directly nobody tells.
        with _our_errors(self._backend), self._engines[Purpose.READ].connect() as connection, connection.begin():
            yield connection

    @property
    def dialect(self) -> sa.Dialect:
        """In whose words statements for ``rows`` are prepared."""
        return self._backend.engine.dialect

    def rows(self, statement: Prepared, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """What one statement answers that runs by itself, in no transaction of ours: it sees one state.

        A third of the time that ``read`` and SQLAlchemy take for one row.
        """
        with _our_errors(self._backend), closing(self._backend.engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute(statement.text, statement.given(values))
            rows = cast(list[tuple[Any, ...]], cursor.fetchall())
            cursor.close()
            return rows

    @contextmanager
    def write(self, purpose: Purpose = Purpose.WRITE) -> Iterator[sa.Connection]:
        """The one writer's connection: all or nothing. It waits for its turn, and sees what those before committed."""
        with self._alone(purpose) as connection:
            self.check(connection)
            yield connection

    def check(self, connection: sa.Connection) -> None:
        """Raises what ``check_version`` raises. One statement."""
        ((version, identity),) = fetch(connection, _version(connection.dialect))
        self.check_version(version, identity)

    def check_version(self, found: int, identity: int) -> None:
        """``OperationalError``: CATALOG_TOO_NEW where the schema is not that of this release, as it was upgraded since;
        CATALOG_REPLACED where the tables are not those that were seen first (``identity.IDENTITY``): what was read of
        one catalog means nothing in another, be it only the same one of yesterday.
        """
        if found != self.version:
            raise migrations.too_new(found, self.version)
        if self._identity is None:
            self._identity = identity
        elif identity != self._identity:
            place = self._backend.place
            raise OperationalError(
                f"the tables in {place} are not the catalog any more that was opened",
                condition="CATALOG_REPLACED",
                object=place,
                hint="close the catalog and open it again; what was not committed is lost",
            )

    @contextmanager
    def _alone(self, purpose: Purpose) -> Iterator[sa.Connection]:
        with _our_errors(self._backend), self._engines[purpose].begin() as connection:
            yield connection

    def forget(self) -> None:
        """Leaves to the process that this one was forked from all connections, the lease, and the cache, which nobody
        feeds here.
        """
        self.leases = Leases(self)
        self.cache = None
        self._backend.engine.dispose(close=False)

    def close(self) -> None:
        """Gives back all connections, and the lease. Idempotent."""
        self.leases.close()
        self._backend.engine.dispose()


def stored_version(place: Path | str | sa.URL) -> int:
    """The version of a database's schema, 0 where it holds nothing. ``OperationalError`` where it is no catalog or
    cannot be read.
    """
    backend = _backend(place)
    try:
        with _our_errors(backend), backend.engine.connect() as connection:
            return migrations.version_of(connection)
    finally:
        backend.engine.dispose()


def _backend(place: Path | str | sa.URL) -> Backend:
    return sqlite.backend(place) if isinstance(place, Path) else postgresql.backend(place)


_OPEN: WeakSet[Database] = WeakSet()


def _forked() -> None:
    for database in _OPEN:
        database.forget()


os.register_at_fork(after_in_child=_forked)


def next_number(connection: sa.Connection, name: str, count: int = 1) -> int:
    """Takes ``count`` numbers of a sequence and answers the first; until the end of the transaction nobody else can."""
    changed(connection, _count_on(connection.dialect), counter=name, more=count)
    newest: int = fetch_value(connection, _counted(connection.dialect), counter=name)
    return newest - count + 1


@once
def _version() -> sa.Select[Any]:
    return sa.select(schema.schema_version.c.version, IDENTITY)


@once
def _count_on() -> sa.Update:
    counter, more = schema.counters, sa.bindparam("more", 0, sa.BigInteger)
    return sa.update(counter).where(counter.c.name == _counter()).values(value=counter.c.value + more)


@once
def _counted() -> sa.Select[Any]:
    return sa.select(schema.counters.c.value).where(schema.counters.c.name == _counter())


def _counter() -> sa.BindParameter[str]:
    return sa.bindparam("counter", "", sa.Text)


@contextmanager
def _our_errors(backend: Backend) -> Iterator[None]:
    driver = backend.engine.dialect.loaded_dbapi
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise backend.translated(backend.place, error.orig or error, error.connection_invalidated) from error
    except driver.Error as error:
        raise backend.translated(backend.place, error, False) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise DataError(
            f"the catalog {backend.place} cannot hold this: {error}", condition="CATALOG_VALUE", object=backend.place
        ) from error
