"""The catalog of a warehouse: its database, snapshots, transactions and log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.cache.cache import CatalogCache
from rewriter.catalog.cache.entries import MEANINGS
from rewriter.catalog.maintenance.warehouse_identity import FILE_NAME as FILE_NAME
from rewriter.catalog.maintenance.warehouse_identity import Adoption, adopt, check, check_blank, create_new
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.reading.versioned_reads import ListedReads
from rewriter.catalog.store import migrations, postgresql, schema, stream_runs
from rewriter.catalog.store.database import Database, stored_version
from rewriter.errors import InterfaceError, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.scratch_directories import ScratchDirectory
from rewriter.uris import is_uri, shown

if TYPE_CHECKING:
    from rewriter.catalog.commit.refresh_claims import ClaimRequest
    from rewriter.catalog.commit.transaction import Transaction
    from rewriter.catalog.following.log_follower import Follower
    from rewriter.catalog.following.prewarm import Prewarming
    from rewriter.catalog.model.changes import Batch, Change
    from rewriter.catalog.model.objects import PartitionValues, Table
    from rewriter.catalog.model.write_ids import ValidWriteIdList
    from rewriter.catalog.reading.queries import StreamProgress
    from rewriter.catalog.store.stream_runs import PendingPolicies
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.ranges import RangeSet

#: A transaction without a heartbeat for that long is aborted when the next one begins.
TRANSACTION_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True)
class Event:
    """An entry of the notification log, with the number ``sequence``, of the transaction ``transaction_id`` and
    its commit ``commit_sequence``. ``object_id`` is the object that was changed.

    ``kind`` is ``CREATE_TABLE``, ``INSERT``, ``INSERT_OVERWRITE``, ``ADD_PARTITION``, …, or ``COMMIT``, which closes a
    transaction. ``payload`` has ``write_ids``, the text of the object's valid write ids. For a commit it has the write
    ids of all objects of the transaction.
    """

    sequence: int
    transaction_id: int
    commit_sequence: int
    kind: str
    object_id: int | None
    payload: Mapping[str, Any]


class Catalog:
    """Tables, partitions, cubes and facts of one warehouse. Threads may share it; a forked process opens its own."""

    def __init__(self, warehouse: Path, url: str | None) -> None:
        self._warehouse = warehouse
        self._url = url
        #: ``None`` if the warehouse is absent and was not used yet.
        self._opened: Database | None = None
        self._absent_warehouse: _AbsentWarehouse | None = None
        self._cached: dict[str, Any] | None = None
        self._follower: Follower | None = None
        self._prewarming: Prewarming | None = None

    @classmethod
    def open(cls, warehouse: str | os.PathLike[str], url: str | None = None, *, create: bool = True) -> Catalog:
        """Opens the catalog of a directory, and upgrades an older one.

        If the directory or the catalog does not exist, it is created. Without ``create`` it is created when the first
        transaction begins; until then the catalog is empty (``is_absent``).

        ``url`` names the PostgreSQL database of the catalog
        (``postgresql+psycopg://user:password@host:5432/database``). Without a URL the catalog is a SQLite file in the
        directory. Raises ``OperationalError``: NOT_A_CATALOG for a database of another program, CATALOG_TOO_NEW,
        CATALOG_UNAVAILABLE, CATALOG_DATABASE_NOT_FOUND, CATALOG_ACCESS_DENIED, and the errors of
        ``warehouse_identity.check_blank`` and ``warehouse_identity.check``, such as NOT_A_WAREHOUSE. Raises
        ``InterfaceError``: INVALID_CATALOG_URL, POSTGRES_DRIVER_NOT_FOUND.
        """
        catalog = cls(_absolute(warehouse), url)
        if not catalog.find_warehouse() and create:
            catalog._create_warehouse()
        return catalog

    @staticmethod
    def exists(warehouse: str | os.PathLike[str], url: str | None = None) -> bool:
        """Tests whether the directory has a catalog. Raises the errors of ``stored_version``."""
        path = _absolute(warehouse)
        return path.is_dir() and (url is not None or (path / FILE_NAME).exists()) and _version(path, url) > 0

    @staticmethod
    def stored_version(warehouse: str | os.PathLike[str], url: str | None = None) -> int:
        """Returns the schema version of an existing catalog, even if this release does not support it. Raises the
        errors of ``exists``.
        """
        return _version(_absolute(warehouse), url)

    @staticmethod
    def check_current(warehouse: str | os.PathLike[str], url: str | None = None) -> None:
        """Raises ``OperationalError`` CATALOG_TOO_OLD for a catalog that ``open`` would upgrade, and the errors of
        ``exists``.
        """
        version = _version(_absolute(warehouse), url)
        if 0 < version < len(migrations.STEPS):
            raise migrations.too_old(version)

    @classmethod
    def restore(
        cls, warehouse: str | os.PathLike[str], url: str | None, lines: Iterable[str], *, adopt: bool = False
    ) -> int:
        """Fills an empty catalog with a dump. Creates the directory and the catalog if they do not exist. Raises the
        errors of ``dump.restore``.
        """
        from rewriter.catalog.maintenance.dump import restore

        path = _absolute(warehouse)
        with closing(_created_database(path, url)) as database:
            return restore(database, path, lines, adopt=adopt)

    @classmethod
    def create_new(cls, warehouse: str | os.PathLike[str], url: str | None = None) -> None:
        """Creates an empty catalog for a directory that has lost its catalog, or for a new directory.

        Raises ``IntegrityError`` CATALOG_NOT_EMPTY, and ``OperationalError`` NOT_A_WAREHOUSE.
        """
        from rewriter.catalog.maintenance.dump import check_empty

        path = _absolute(warehouse)
        try:
            check_blank(path, _catalog_address(path, url))
        except OperationalError as error:
            if error.condition != "CATALOG_MISSING":
                raise
        with closing(_created_database(path, url)) as database:
            with database.read() as connection:
                check_empty(connection)
            create_new(database, path)

    @classmethod
    def adopt(
        cls, warehouse: str | os.PathLike[str], url: str | None = None, *, copy_outside: bool = False
    ) -> Adoption:
        """Declares that a directory and a catalog belong together, regardless of their identities. Raises the errors of
        ``adopt.adopt``, CATALOG_MISSING, and WAREHOUSE_LINKED if the catalog's file has another hard link.
        """
        path = _absolute(warehouse)
        _check_exists(path, url)
        with closing(_database(path, url, create=False)) as database:
            try:
                check(database, path, _catalog_address(path, url), is_shared=url is not None)
            except OperationalError as error:
                if error.condition not in ("CATALOG_OF_ANOTHER_WAREHOUSE", "WAREHOUSE_COPIED", "NOT_A_WAREHOUSE"):
                    raise
            refusal = database.refusal() if database.refusal is not None else None
            is_copy = refusal is not None and refusal.condition == "WAREHOUSE_COPIED"
            if refusal is not None and not is_copy:
                raise refusal
            if url is None and os.stat(path / FILE_NAME).st_nlink > 1:
                raise OperationalError(
                    f"the file {path / FILE_NAME} is a hard link: writes to it would also appear under its other name",
                    condition="WAREHOUSE_COPIED",
                    object=str(path),
                    hint=f"Replace it with a copy first: cp {FILE_NAME} new && mv new {FILE_NAME}.",
                )
            database.refusal = None
            return adopt(database, path, is_copy=is_copy, copy_outside=copy_outside)

    @property
    def is_absent(self) -> bool:
        """Returns True if the last check found no warehouse."""
        return self._opened is None

    def find_warehouse(self) -> bool:
        """Opens the warehouse if it exists now, and returns True then. Raises the errors of ``open``."""
        if self._opened is not None:
            return True
        address = _catalog_address(self._warehouse, self._url)
        database = None
        if self._url is not None or _is_filled(self._warehouse / FILE_NAME):
            try:
                database = _database(self._warehouse, self._url, create=False)
            except OperationalError as error:
                if error.condition != "CATALOG_MISSING":
                    raise
        if database is None:
            check_blank(self._warehouse, address)
            return False
        self._open_database(database)
        return True

    def _create_warehouse(self) -> None:
        """Creates the directory and the catalog."""
        check_blank(self._warehouse, _catalog_address(self._warehouse, self._url))
        self._open_database(_created_database(self._warehouse, self._url))

    def _open_database(self, database: Database) -> None:
        try:
            address = _catalog_address(self._warehouse, self._url)
            check(database, self._warehouse, address, is_shared=self._url is not None)
        except BaseException:
            database.close()
            raise
        cached = self._cached
        self._end_cache()
        self._opened = database
        if cached is not None:
            self.use_cache(**cached)

    @property
    def _database(self) -> Database:
        if self._opened is not None:
            return self._opened
        if self._absent_warehouse is None:
            self._absent_warehouse = _AbsentWarehouse(self._warehouse)
        return self._absent_warehouse.database

    @property
    def warehouse(self) -> Path:
        """The absolute path of the directory."""
        return self._warehouse

    @property
    def identity(self) -> str:
        """The identity of the warehouse, which its directory repeats; '' where it does not exist. One read."""
        with self._database.read() as connection:
            return str(connection.execute(sa.select(schema.warehouse.c.identity)).scalar() or "")

    @property
    def database(self) -> Database:
        """The database of the catalog, for code that reads all of it: VACUUM, checks, dumps."""
        return self._database

    def snapshot(self, session: str | None = None) -> Snapshot:
        """Returns a snapshot of all commits until now, with the temporary tables of one session. One read."""
        return Snapshot.take(self._database, session)

    def begin(self, snapshot: Snapshot | None = None) -> Transaction:
        """Opens a transaction on the given snapshot, or on a new one. Dead transactions are aborted first.

        Creates a warehouse that does not exist.
        """
        from rewriter.catalog.commit.transaction import Transaction

        if not self.find_warehouse():
            self._create_warehouse()
        return Transaction.begin(self._database, snapshot, TRANSACTION_TIMEOUT_SECONDS)

    def begin_claiming(self, session: str | None, request: ClaimRequest) -> tuple[Transaction, RangeSet]:
        """Opens a transaction on a new snapshot, which claims periods of a rollup table until it ends. Returns it and
        the claimed time (``refresh_claims``). One write transaction.
        """
        from rewriter.catalog.commit.transaction import Transaction

        return Transaction.begin_claiming(self._database, session, request, TRANSACTION_TIMEOUT_SECONDS)

    def claimed_time(self, table: Table, period: Period) -> RangeSet:
        """Returns the time of the periods of a table that workers are refreshing now. One read."""
        from rewriter.catalog.commit.refresh_claims import claimed_time

        with self._database.read() as connection:
            return claimed_time(connection, table.id, period)

    def rehearse(self, snapshot: Snapshot, changes: Sequence[Change]) -> None:
        """Raises the errors that a commit of these changes would raise now, on a transaction with this snapshot.

        Changes nothing. One write transaction of the database, which is rolled back.
        """
        from rewriter.catalog.commit.transaction import Transaction

        Transaction.rehearse_alone(self._database, snapshot, changes)

    def rename_partition(self, table: str, values: PartitionValues, new_values: PartitionValues) -> None:
        """ALTER TABLE … PARTITION … RENAME TO PARTITION …, with canonical values. Raises the errors of
        ``partition_moves.rename``.
        """
        from rewriter.catalog import partition_moves

        self.finish_moves(self.snapshot().table(table))
        snapshot = self.snapshot()
        begin = partial(self.begin, snapshot)
        partition_moves.rename(begin, self.begin, snapshot, snapshot.table(table), values, new_values)

    def exchange_partitions(self, target: str, source: str, prefixes: Sequence[PartitionValues]) -> int:
        """ALTER TABLE target EXCHANGE PARTITION … WITH TABLE source. Moves the partitions below each prefix of
        canonical values from ``source`` to ``target``, and returns their number. Raises the errors of
        ``partition_moves.exchange``.
        """
        from rewriter.catalog import partition_moves

        for name in (target, source):
            self.finish_moves(self.snapshot().table(name))
        snapshot = self.snapshot()
        begin = partial(self.begin, snapshot)
        tables = snapshot.table(target), snapshot.table(source)
        return partition_moves.exchange(begin, self.begin, snapshot, *tables, prefixes)

    def finish_moves(self, table: Table) -> None:
        """Finishes the directory moves that the table notes. A reader without write permission for the catalog leaves
        them, and reads the directories at their old paths. Raises the errors of ``partition_moves.finish``.
        """
        from rewriter.catalog import partition_moves

        if self._database.refusal is None:
            partition_moves.finish(self.begin, table)

    def abort_dead(self, timeout_seconds: float) -> int:
        """Aborts the open transactions whose last heartbeat is older than the timeout, and returns their number."""
        from rewriter.catalog.commit import transaction

        with self._database.write() as connection:
            return transaction.abort_dead(connection, timeout_seconds)

    def events(self, after: int = 0, limit: int = 1000) -> tuple[Event, ...]:
        """Returns at most ``limit`` entries of the notification log after an event's number, oldest first."""
        number = schema.events.c.event_seq
        query = sa.select(schema.events).where(number > after).order_by(number).limit(limit)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return tuple(Event(e, t, c, kind, object_id, json.loads(text)) for e, t, c, kind, object_id, text in rows)

    def purge_events(self, older_than_seconds: float) -> int:
        """Deletes the log entries of older commits, by the clock of the database, and returns their number. The
        remaining entries have no gaps.

        A cache that has not read the deleted entries detects this, and reads its write-id lists again. One write
        transaction.
        """
        from rewriter.catalog.following.log_follower import purge_events

        return purge_events(self._database, older_than_seconds)

    @property
    def cache(self) -> CatalogCache | None:
        """The cache in memory, or ``None``."""
        return self._database.cache

    def reads_under(self, ids: ValidWriteIdList) -> ListedReads:
        """Returns a reader for one object under the given write-id list, without a snapshot. Reads nothing itself."""
        return ListedReads(self._database, int(ids.table), ids, checked=False)

    def use_cache(
        self, capacity: int, *, follow: bool = True, prewarm: bool = False, retention: float | None = None
    ) -> None:
        """Keeps the results of snapshot reads in memory, at most ``capacity`` bytes. 0 turns the cache off. The
        previous cache is discarded.

        With ``follow`` a thread reads the notification log, so that few calls are needed to validate cached results. It
        deletes log entries older than ``retention`` seconds; ``None`` keeps all. With ``prewarm`` another thread reads
        the whole catalog, until the cache is full. Two statements.
        """
        from rewriter.catalog.following.log_follower import Follower
        from rewriter.catalog.following.prewarm import Prewarming

        if capacity < 0:
            raise InterfaceError(f"the cache size must be 0 bytes or more, not {capacity}")
        self._end_cache()
        if not capacity:
            return
        self._cached = {"capacity": capacity, "follow": follow, "prewarm": prewarm, "retention": retention}
        cache = CatalogCache(capacity)
        self._follower = Follower(self._database, cache, retention)
        self._follower.step()
        self._database.cache = cache
        if follow:
            self._follower.start()
        if prewarm:
            self._prewarming = Prewarming(self._database, cache)

    def has_batch(self, table: Table, id: str) -> bool:
        """Returns whether a batch was committed to the table under this id, without a stream. One read."""
        with self._database.read() as connection:
            return queries.has_batch(connection, table.id, id)

    def last_batch(self, table: Table, stream: str) -> Batch | None:
        """Returns the last batch of a stream that was committed to the table. One read."""
        with self._database.read() as connection:
            return queries.last_batch(connection, table.id, stream)

    def stream_progress(self, table: Table, stream: str) -> StreamProgress:
        """Returns how far a stream has come in the table. One read."""
        with self._database.read() as connection:
            return queries.progress_of(connection, table.id, stream)

    def due_partitions(self, table: Table, snapshot: Snapshot) -> list[bytes]:
        """Returns the keys of the open partitions of a table that are due now. One read if none is open."""
        from rewriter.catalog.commit.partition_commits import due_partitions

        with self._database.read() as connection:
            return due_partitions(connection, snapshot, table)

    def pending_policies(self, table: Table) -> tuple[PendingPolicies, ...]:
        """Returns the commits of a table's partitions whose policies have not run, the oldest first. One read."""
        with self._database.read() as connection:
            return stream_runs.pending_policies(connection, table.id)

    def settle_policies(self, table: Table, pending: PendingPolicies) -> None:
        """Notes that the policies of a commit have run. One short write."""
        with self._database.write() as connection:
            stream_runs.settle(connection, table.id, pending)

    @property
    def follower(self) -> Follower | None:
        """The follower of the log, or ``None``."""
        return self._follower

    @property
    def prewarming(self) -> Prewarming | None:
        """The prewarm that was started. It may have ended."""
        return self._prewarming

    def cache_metrics(self) -> dict[str, int]:
        """Returns the metrics of the cache by name (``metrics.MEANINGS``). Without a cache all are 0."""
        return dict.fromkeys(MEANINGS, 0) if self.cache is None else self.cache.metrics()

    def _end_cache(self) -> None:
        self._cached = None
        for database in (self._opened, None if self._absent_warehouse is None else self._absent_warehouse.database):
            if database is not None:
                database.cache = None
        prewarming, self._prewarming = self._prewarming, None
        follower, self._follower = self._follower, None
        if prewarming is not None:
            prewarming.stop()
        if follower is not None:
            follower.stop()

    def close(self) -> None:
        """Closes all connections. Idempotent. Snapshots and transactions of the catalog can no longer read."""
        self._end_cache()
        for database in (self._opened, self._absent_warehouse):
            if database is not None:
                database.close()


class _AbsentWarehouse:
    """The empty catalog of a warehouse that does not exist. Other processes do not see it."""

    def __init__(self, warehouse: Path) -> None:
        self._folder = ScratchDirectory("absent")
        self.database = Database(Path(self._folder.path) / FILE_NAME, warehouse=warehouse)

    def close(self) -> None:
        self.database.close()
        self._folder.remove()


def _absolute(warehouse: str | os.PathLike[str]) -> Path:
    if is_uri(os.fspath(warehouse)):
        raise InterfaceError(
            f"The warehouse {shown(os.fspath(warehouse))} is not a local directory.",
            object="warehouse",
            hint="Name a local directory; CREATE DATABASE … LOCATION 's3://…' keeps tables in an object store.",
        )
    return Path(warehouse).expanduser().absolute()


def _catalog_address(warehouse: Path, url: str | None) -> str:
    """Returns the catalog's name in messages."""
    return str(warehouse / FILE_NAME) if url is None else postgresql.address(url)


def _is_filled(file: Path) -> bool:
    """Returns True if a SQLite file exists and is not empty, or its directory cannot be read."""
    try:
        return os.stat(file).st_size > 0
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _version(warehouse: Path, url: str | None) -> int:
    if url is None:
        return stored_version(warehouse / FILE_NAME) if _is_filled(warehouse / FILE_NAME) else 0
    return stored_version(url)


def _database(warehouse: Path, url: str | None, *, create: bool) -> Database:
    return Database(warehouse / FILE_NAME if url is None else url, warehouse=warehouse, create=create)


def _created_database(warehouse: Path, url: str | None) -> Database:
    """Returns the catalog's database. Creates it and the directory if they do not exist."""
    try:
        warehouse.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OperationalError(
            f"the warehouse {warehouse} cannot be created: {error.strerror}",
            condition="CATALOG_UNAVAILABLE",
            object=str(warehouse),
            hint="Name a directory that exists or can be created.",
        ) from error
    return _database(warehouse, url, create=True)


def _check_exists(warehouse: Path, url: str | None) -> None:
    """Raises an error if there is no catalog: the errors of ``check_blank``, and WAREHOUSE_NOT_FOUND."""
    if _version(warehouse, url) == 0:
        check_blank(warehouse, _catalog_address(warehouse, url))
        raise not_found(warehouse)


def not_found(warehouse: str | os.PathLike[str], hint: str | None = None) -> OperationalError:
    """Returns the error of a statement or command that needs a warehouse if there is none."""
    return OperationalError(
        f"There is no warehouse in {warehouse}.",
        condition="WAREHOUSE_NOT_FOUND",
        object=str(warehouse),
        hint=hint or "Check the name of the directory. CREATE TABLE, CREATE CUBE, … creates a warehouse.",
    )
