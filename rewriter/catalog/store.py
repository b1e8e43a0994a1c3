"""The catalog of a warehouse: its database, snapshots, transactions and log."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rewriter.catalog import moves, schema, transaction
from rewriter.catalog.cache import CatalogCache
from rewriter.catalog.cache_metrics import MEANINGS
from rewriter.catalog.database import Database, stored_version
from rewriter.catalog.follower import Follower, purge_events
from rewriter.catalog.listed_reads import ListedReads
from rewriter.catalog.models import PartitionValues
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.transaction import Transaction
from rewriter.catalog.warming import Prewarming
from rewriter.catalog.writeids import ValidWriteIdList
from rewriter.errors import InterfaceError, OperationalError

#: The catalog's file in the warehouse directory.
FILE_NAME = "catalog.db"

#: A transaction without a heartbeat for that long is aborted by whoever begins the next one.
TRANSACTION_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True)
class Event:
    """An entry of the notification log (seed 001).

    ``kind`` is ``CREATE_TABLE``, ``INSERT``, ``INSERT_OVERWRITE``, ``ADD_PARTITION``, …, and ``COMMIT``, which closes a
    transaction. ``payload`` holds ``write_ids``: the text of the object's valid write ids, of a commit those of all.
    """

    sequence: int
    transaction_id: int
    commit_sequence: int
    kind: str
    object_id: int | None
    payload: Mapping[str, Any]


class Catalog:
    """Tables, partitions, cubes and facts of one warehouse. Threads may share it; a forked process opens its own."""

    def __init__(self, warehouse: Path, database: Database) -> None:
        self._warehouse = warehouse
        self._database = database
        self._follower: Follower | None = None
        self._prewarming: Prewarming | None = None

    @classmethod
    def open(cls, warehouse: str | os.PathLike[str], url: str | None = None) -> Catalog:
        """Opens the catalog of a directory; creates both where they are not there, upgrades an older one.

        ``url`` names the PostgreSQL database that holds it (``postgresql+psycopg://user:password@host:5432/database``);
        without one it is a SQLite file in the directory. Raises ``OperationalError``: NOT_A_CATALOG for what is
        somebody else's, CATALOG_TOO_NEW, CATALOG_UNAVAILABLE, CATALOG_DATABASE_NOT_FOUND, CATALOG_ACCESS_DENIED; and
        ``InterfaceError``: INVALID_CATALOG_URL, POSTGRES_DRIVER_NOT_FOUND.
        """
        path = Path(warehouse).expanduser().absolute()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OperationalError(
                f"the warehouse {path} cannot be made: {error.strerror}",
                condition="CATALOG_UNAVAILABLE",
                object=str(path),
                hint="name a directory that exists or can be made",
            ) from error
        return cls(path, Database(path / FILE_NAME if url is None else url))

    @staticmethod
    def exists(warehouse: str | os.PathLike[str], url: str | None = None) -> bool:
        """Whether there is a directory with a catalog; ``open`` would make what is not there. Raises what it does."""
        path = Path(warehouse).expanduser().absolute()
        return (path / FILE_NAME).exists() if url is None else path.is_dir() and stored_version(url) > 0

    @staticmethod
    def stored_version(warehouse: str | os.PathLike[str], url: str | None = None) -> int:
        """The version of the schema of a catalog that ``exists``, whatever this release knows. Raises what it does."""
        path = Path(warehouse).expanduser().absolute()
        return stored_version(path / FILE_NAME if url is None else url)

    @property
    def warehouse(self) -> Path:
        """The directory, absolute."""
        return self._warehouse

    @property
    def database(self) -> Database:
        """What it is kept in, for whoever looks at all of it: VACUUM, checks, dumps."""
        return self._database

    def snapshot(self, session: str | None = None) -> Snapshot:
        """Everything that is committed now, temporary tables of one session included. One read."""
        return Snapshot.take(self._database, session)

    def begin(self, snapshot: Snapshot | None = None) -> Transaction:
        """Opens a transaction on the given snapshot, or on one taken now. Dead transactions are aborted first."""
        return Transaction.begin(self._database, snapshot, TRANSACTION_TIMEOUT_SECONDS)

    def rename_partition(self, table: str, values: PartitionValues, new_values: PartitionValues) -> None:
        """ALTER TABLE … PARTITION … RENAME TO PARTITION …, in canonical values. Raises what ``moves.rename`` raises."""
        moves.finish(self, self.snapshot().table(table))
        snapshot = self.snapshot()
        moves.rename(self, partial(self.begin, snapshot), snapshot, snapshot.table(table), values, new_values)

    def exchange_partitions(self, target: str, source: str, prefixes: Sequence[PartitionValues]) -> int:
        """ALTER TABLE target EXCHANGE PARTITION … WITH TABLE source: what lies below each prefix, in canonical values,
        moves from ``source`` to ``target``. Answers how many partitions. Raises what ``moves.exchange`` raises.
        """
        for name in (target, source):
            moves.finish(self, self.snapshot().table(name))
        snapshot = self.snapshot()
        begin = partial(self.begin, snapshot)
        return moves.exchange(self, begin, snapshot, snapshot.table(target), snapshot.table(source), prefixes)

    def abort_dead(self, timeout_seconds: float) -> int:
        """Aborts the open transactions whose last heartbeat is older than the timeout; how many."""
        with self._database.write() as connection:
            return transaction.abort_dead(connection, timeout_seconds)

    def events(self, after: int = 0, limit: int = 1000) -> tuple[Event, ...]:
        """The notification log after an event's number, oldest first, at most ``limit`` entries."""
        number = schema.events.c.event_seq
        query = sa.select(schema.events).where(number > after).order_by(number).limit(limit)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return tuple(Event(e, t, c, kind, object_id, json.loads(text)) for e, t, c, kind, object_id, text in rows)

    def purge_events(self, older_than_seconds: float) -> int:
        """Deletes the log's entries of commits that are older, on the database's clock; how many. The rest has no gaps.

        A cache that had not read them notices, and reads the lists of what it holds anew. One write transaction.
        """
        return purge_events(self._database, older_than_seconds)

    @property
    def cache(self) -> CatalogCache | None:
        """What is kept in memory; ``None`` where nothing is."""
        return self._database.cache

    def reads_under(self, ids: ValidWriteIdList) -> ListedReads:
        """What a list of write ids that somebody brings sees of its object, without any snapshot. Reads nothing."""
        return ListedReads(self._database, int(ids.table), ids, checked=False)

    def use_cache(
        self, capacity: int, *, follow: bool = True, prewarm: bool = False, retention: float | None = None
    ) -> None:
        """Keeps what snapshots read in memory, ``capacity`` bytes at most; 0 ends that. What was kept before goes.

        With ``follow`` a thread reads the notification log, so that few calls are needed to know what holds; with
        ``prewarm`` another one reads the whole catalog, as far as there is room. The first deletes the entries of the
        log that are older than ``retention``, in seconds; ``None`` keeps all. Two statements.
        """
        if capacity < 0:
            raise InterfaceError(f"a cache has 0 bytes or more, not {capacity}")
        self._end_cache()
        if not capacity:
            return
        cache = CatalogCache(capacity)
        self._follower = Follower(self._database, cache, retention)
        self._follower.step()
        self._database.cache = cache
        if follow:
            self._follower.start()
        if prewarm:
            self._prewarming = Prewarming(self._database, cache)

    @property
    def follower(self) -> Follower | None:
        """What reads the log for the cache."""
        return self._follower

    @property
    def prewarming(self) -> Prewarming | None:
        """The prewarm that was begun, or has ended."""
        return self._prewarming

    def cache_metrics(self) -> dict[str, int]:
        """What the cache counts, by name (``cache_metrics.MEANINGS``); all 0 where there is none."""
        return dict.fromkeys(MEANINGS, 0) if self.cache is None else self.cache.metrics()

    def _end_cache(self) -> None:
        self._database.cache = None
        prewarming, self._prewarming = self._prewarming, None
        follower, self._follower = self._follower, None
        if prewarming is not None:
            prewarming.stop()
        if follower is not None:
            follower.stop()

    def close(self) -> None:
        """Gives back all connections. Idempotent; snapshots and transactions of it can no longer read."""
        self._end_cache()
        self._database.close()
