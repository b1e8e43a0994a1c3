"""The database below the catalog: connections, short read and write transactions, the clock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

import sqlalchemy as sa

from rewriter.catalog.cache.mean_sizes import VolumeCache
from rewriter.catalog.store import migrations, postgresql, schema, sqlite
from rewriter.catalog.store.backend import OPTION, Backend, Purpose
from rewriter.catalog.store.database_server import IDENTITY
from rewriter.catalog.store.database_server import NOW as NOW
from rewriter.catalog.store.leases import Leases
from rewriter.catalog.store.prepared_statements import Prepared, changed_rows, fetch, fetch_value, once
from rewriter.catalog.store.sqlite import is_writable
from rewriter.errors import DataError, OperationalError

if TYPE_CHECKING:
    from rewriter.catalog.cache.cache import CatalogCache


class Database:
    """A catalog's database. All methods are thread-safe; a forked child opens new connections."""

    def __init__(
        self,
        source: Path | str | sa.URL,
        steps: tuple[migrations.Step, ...] = migrations.STEPS,
        warehouse: Path | None = None,
        *,
        create: bool = True,
    ) -> None:
        """Opens a SQLite file (a path) or a PostgreSQL database (a URL), makes or upgrades the schema.

        ``warehouse`` is the base directory of relative paths; without one it is the directory of the SQLite file. A
        SQLite file that this process may not write is opened for reading, and every write is refused (``refusal``).
        Raises ``OperationalError`` if it is not a catalog or cannot be used; CATALOG_MISSING if it is empty and not to
        be created; CATALOG_READ_ONLY if it has an older schema and may not be written; and the errors of
        ``postgresql.backend``.
        """
        if warehouse is None and isinstance(source, Path):
            warehouse = source.absolute().parent
        #: The base directory of relative paths; ``""`` if there is none.
        self.warehouse = "" if warehouse is None else str(warehouse)
        #: Makes the error that every write raises; ``None`` if the catalog may be written.
        self.refusal: Callable[[], OperationalError] | None = None
        self.volumes = VolumeCache()
        self.leases = Leases(self)
        #: The cache that snapshots read first; ``None`` if every read goes to the database.
        self.cache: CatalogCache | None = None
        self.version = len(steps)
        self._identity: int | None = None
        if isinstance(source, Path) and not is_writable(source):
            self._backend = sqlite.readonly_backend(source)
            self.refusal = partial(sqlite.write_refused, source)
        else:
            self._backend = _backend(source)
        engine = self._backend.engine
        common_options = {OPTION: self.warehouse}
        self._engines = {
            purpose: engine.execution_options(
                rewriter_purpose=purpose, **common_options, **self._backend.options.get(purpose, {})
            )
            for purpose in Purpose
        }
        sa.event.listen(engine, "begin", self._begin)
        _OPEN.add(self)
        try:
            self._upgrade(steps, create)
        except BaseException:
            self.close()
            raise

    def _begin(self, connection: sa.Connection) -> None:
        self._backend.begin(connection, connection.get_execution_options()["rewriter_purpose"])

    def _upgrade(self, steps: tuple[migrations.Step, ...], create: bool) -> None:
        with self.read() as connection:
            version = migrations.version_of(connection)
        if version == len(steps):
            return
        if version == 0 and not create:
            raise OperationalError(
                f"the catalog {self._backend.address} is empty",
                condition="CATALOG_MISSING",
                object=self._backend.address,
            )
        if self.refusal is not None and version < len(steps):
            error = self.refusal()
            error.message = f"{error.message}, and must be upgraded from schema version {version} to {len(steps)}"
            error.hint = "run `rewriter catalog upgrade` once as a user with write permission"
            raise error
        with self._exclusive(Purpose.MIGRATE) as connection:
            migrations.migrate(connection, steps)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Yields a connection that sees one state of the database until it is released."""
        # The transaction begins here, because SQLAlchemy does not see the direct statements of the driver.
        with (
            _our_errors(self._backend),
            _driver_calls(),
            self._engines[Purpose.READ].connect() as connection,
            connection.begin(),
        ):
            yield connection
            self._backend.read(connection.connection.dbapi_connection)

    @property
    def dialect(self) -> sa.Dialect:
        """The SQL dialect in which statements for ``rows`` are prepared."""
        return self._backend.engine.dialect

    def rows(self, statement: Prepared, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Returns the rows of one statement that runs by itself, outside a transaction: it sees one state.

        Takes a third of the time of ``read`` and SQLAlchemy for one row.
        """
        with _our_errors(self._backend), _driver_calls(), closing(self._backend.engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute(statement.text, statement.parameters(values))
            rows = cast(list[tuple[Any, ...]], cursor.fetchall())
            cursor.close()
            self._backend.read(connection.dbapi_connection)
            return rows

    def select(self, statement: str, values: Mapping[str, object]) -> Sequence[Sequence[Any]]:
        """Returns the rows of a SELECT, given as text with parameters ``:name``. It sees one state."""
        with self.read() as connection:
            return connection.execute(sa.text(statement), dict(values)).fetchall()

    @contextmanager
    def write(self, purpose: Purpose = Purpose.WRITE) -> Iterator[sa.Connection]:
        """Yields the connection of the only writer: all or nothing. It waits for its turn, and sees all earlier
        commits.

        Raises the error of ``refusal`` if the catalog may only be read.
        """
        if self.refusal is not None:
            raise self.refusal()
        with self._exclusive(purpose) as connection:
            self.check(connection)
            yield connection

    def check(self, connection: sa.Connection) -> None:
        """Raises the errors of ``check_version``. One statement."""
        ((version, identity),) = fetch(connection, _version(connection.dialect))
        self.check_version(version, identity)

    def check_version(self, version: int, identity: int) -> None:
        """Raises ``OperationalError`` CATALOG_TOO_NEW if the schema was upgraded to the schema of a later release.

        Raises CATALOG_REPLACED if the tables are not the ones that were seen first (``database_server.IDENTITY``):
        cached reads of one catalog are invalid in another, even in an earlier copy of the same one.
        """
        if version != self.version:
            raise migrations.too_new(version, self.version)
        if self._identity is None:
            self._identity = identity
        elif identity != self._identity:
            address = self._backend.address
            raise OperationalError(
                f"the tables in {address} are no longer the catalog that was opened",
                condition="CATALOG_REPLACED",
                object=address,
                hint="Close the catalog and open it again; uncommitted changes are lost.",
            )

    @contextmanager
    def _exclusive(self, purpose: Purpose) -> Iterator[sa.Connection]:
        with _our_errors(self._backend), _driver_calls(), self._engines[purpose].begin() as connection:
            yield connection

    def forget(self) -> None:
        """Leaves all connections, the lease, and the cache, which has no follower here, to the parent of a fork."""
        self.leases = Leases(self)
        self.cache = None
        self._backend.engine.dispose(close=False)

    def close(self) -> None:
        """Releases all connections, and the lease. Idempotent."""
        self.leases.close()
        with _driver_calls():
            self._backend.engine.dispose()


def stored_version(source: Path | str | sa.URL) -> int:
    """Returns the version of a database's schema, 0 for an empty database.

    Raises ``OperationalError`` if it is not a catalog or cannot be read.
    """
    backend = (
        sqlite.readonly_backend(source) if isinstance(source, Path) and not is_writable(source) else _backend(source)
    )
    try:
        with _our_errors(backend), _driver_calls(), backend.engine.connect() as connection:
            return migrations.version_of(connection)
    finally:
        with _driver_calls():
            backend.engine.dispose()


def _backend(source: Path | str | sa.URL) -> Backend:
    return sqlite.backend(source) if isinstance(source, Path) else postgresql.backend(source)


_OPEN: WeakSet[Database] = WeakSet()


def _forked() -> None:
    for database in _OPEN:
        database.forget()


os.register_at_fork(after_in_child=_forked)


def next_number(connection: sa.Connection, name: str, count: int = 1) -> int:
    """Takes ``count`` numbers of a sequence and returns the first; locks the sequence until the transaction ends."""
    changed_rows(connection, _count_on(connection.dialect), counter=name, more=count)
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
        raise backend.translated(backend.address, error.orig or error, error.connection_invalidated) from error
    except driver.Error as error:
        raise backend.translated(backend.address, error, False) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise DataError(
            f"the catalog {backend.address} cannot hold this: {error}",
            condition="CATALOG_VALUE",
            object=backend.address,
        ) from error


# A fork waits until no other thread is in a call of a database's driver. SQLite and libpq have locks of their own. A
# forked child has one thread, so a lock that another thread held at the fork is never released there, and the child's
# first call waits for ever. After ``LONGEST_WAIT`` the process forks nevertheless.

#: How long a fork waits for calls of other threads, in seconds.
LONGEST_WAIT = 1.0


class _ForkGuard:
    """The calls in progress, by thread. One exists in a process: ``_driver_calls`` enters it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._depths: dict[int, int] = {}
        self._forking = False

    def enter(self) -> None:
        """Counts a call of this thread. A thread without a call waits while another thread forks."""
        thread = threading.get_ident()
        with self._changed:
            if self._forking and thread not in self._depths:
                self._changed.wait_for(lambda: not self._forking, LONGEST_WAIT)
            self._depths[thread] = self._depths.get(thread, 0) + 1

    def leave(self) -> None:
        """Ends the last call that this thread entered."""
        thread = threading.get_ident()
        with self._changed:
            depth = self._depths.get(thread, 0)
            if depth > 1:
                self._depths[thread] = depth - 1
            else:
                self._depths.pop(thread, None)
                self._changed.notify_all()

    def before_fork(self) -> None:
        """Holds new calls back, and waits for the calls of other threads."""
        own_thread = {threading.get_ident()}
        # Released after the fork, so that no thread holds it at the fork.
        self._changed.acquire()
        self._forking = True
        self._changed.wait_for(lambda: self._depths.keys() <= own_thread, LONGEST_WAIT)

    def after_fork(self) -> None:
        """Lets calls begin again, in the parent."""
        self._forking = False
        self._changed.notify_all()
        self._changed.release()

    def in_child(self) -> None:
        """Forgets the threads that the child does not have."""
        thread = threading.get_ident()
        self._changed = threading.Condition()
        self._forking = False
        self._depths = {thread: self._depths[thread]} if thread in self._depths else {}


_GUARD = _ForkGuard()
os.register_at_fork(before=_GUARD.before_fork, after_in_parent=_GUARD.after_fork, after_in_child=_GUARD.in_child)


@contextmanager
def _driver_calls() -> Iterator[None]:
    """Encloses calls of a database's driver. It may be nested."""
    _GUARD.enter()
    try:
        yield
    finally:
        _GUARD.leave()
