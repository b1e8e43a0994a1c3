"""The database below the catalog: connections, short read and write transactions, the clock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from rewriter.catalog import migrations, postgresql, schema, sqlite
from rewriter.catalog.backend import Backend, Purpose
from rewriter.catalog.prepared import Prepared, prepared
from rewriter.catalog.volumes import VolumeCache
from rewriter.errors import DataError


class _Now(sa.ColumnElement[float]):
    type = sa.Double()
    inherit_cache = True


@compiles(_Now, "sqlite")
def _sqlite_now(_element: _Now, _compiler: Any, **_: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(_Now, "postgresql")
def _postgresql_now(_element: _Now, _compiler: Any, **_: Any) -> str:
    return "CAST(EXTRACT(epoch FROM statement_timestamp()) AS double precision)"


#: Seconds since 1970 on the database's clock, at the start of the statement.
NOW: sa.ColumnElement[float] = _Now()


class Database:
    """A catalog's database. All methods may be used from several threads; a forked child connects anew."""

    def __init__(self, place: Path | str | sa.URL, steps: tuple[migrations.Step, ...] = migrations.STEPS) -> None:
        """Opens a SQLite file (a path) or a PostgreSQL database (a URL), makes or upgrades the schema.

        ``OperationalError`` where it is no catalog or cannot be used; what ``postgresql.backend`` raises.
        """
        self.volumes = VolumeCache()
        self.version = len(steps)
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
        with _our_errors(self._backend), self._engines[Purpose.READ].connect() as connection:
            yield connection

    @property
    def dialect(self) -> sa.Dialect:
        """In whose words ``rows`` takes statements."""
        return self._backend.engine.dialect

    def prepared(self, query: sa.Select[Any]) -> Prepared:
        """A statement for ``rows``."""
        return prepared(query, self.dialect)

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
    def write(self) -> Iterator[sa.Connection]:
        """The one writer's connection: all or nothing. It waits for its turn, and sees what those before committed."""
        with self._alone(Purpose.WRITE) as connection:
            self.check_version(connection.execute(sa.select(schema.schema_version.c.version)).scalar_one())
            yield connection

    def check_version(self, found: int) -> None:
        """``OperationalError`` CATALOG_TOO_NEW where the schema is not that of this release: it was upgraded since."""
        if found != self.version:
            raise migrations.too_new(found, self.version)

    @contextmanager
    def _alone(self, purpose: Purpose) -> Iterator[sa.Connection]:
        with _our_errors(self._backend), self._engines[purpose].begin() as connection:
            yield connection

    def forget(self) -> None:
        """Leaves all connections to the process that this one was forked from."""
        self._backend.engine.dispose(close=False)

    def close(self) -> None:
        """Gives back all connections. Idempotent."""
        self._backend.engine.dispose()


def is_made(place: Path | str | sa.URL) -> bool:
    """Whether a database holds anything. ``OperationalError`` where that is no catalog or cannot be read."""
    backend = _backend(place)
    try:
        with _our_errors(backend), backend.engine.connect() as connection:
            return migrations.version_of(connection) > 0
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
    counter = schema.counters
    connection.execute(sa.update(counter).where(counter.c.name == name).values(value=counter.c.value + count))
    newest: int = connection.execute(sa.select(counter.c.value).where(counter.c.name == name)).scalar_one()
    return newest - count + 1


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
