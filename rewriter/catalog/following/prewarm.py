"""Fills a cache in the background: in small pages, each with a short connection and a pause after it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.cache.entries import DEFINITION, PARTITIONS, TIMELINES, Question, size_of
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.partition_refresh import renewed
from rewriter.catalog.reading.queries import read_timelines, transaction_list, write_id_list
from rewriter.catalog.store import schema
from rewriter.errors import Error

if TYPE_CHECKING:
    from rewriter.catalog.cache.cache import CatalogCache
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.store.database import Database

LOGGER = logging.getLogger("rewriter.catalog.cache")

#: How many partitions or objects one statement reads: decoding them takes less than a thread's turn.
PAGE = 200
#: How long a list of transactions is used, in seconds. An older one costs one more read, never a wrong result.
_LIST_LIFETIME_SECONDS = 120.0

#: Called between two pages; True ends the work.
Stop = Callable[[], bool]


def warm(
    database: Database,
    cache: CatalogCache,
    object_id: int,
    ids: ValidWriteIdList,
    questions: Collection[Question],
    stop: Stop = lambda: False,
) -> int:
    """Reads an object under a list into the cache, with the parts of a table that the questions name. Returns the
    number of cached results.

    Discards all results of an object that no longer exists.
    """
    with database.read() as connection:
        object_ = queries.object_under(connection, object_id, ids)
    if object_ is None:
        cache.forget(object_id)
        return 0
    return _keep(database, cache, object_, ids, questions, stop, if_room=False)


def _keep(
    database: Database,
    cache: CatalogCache,
    object_: Object,
    ids: ValidWriteIdList,
    questions: Collection[Question],
    stop: Stop,
    *,
    if_room: bool,
) -> int:
    object_id = object_.id
    kept_count = int(cache.keep(object_id, DEFINITION, ids, object_, if_room=if_room))
    if not isinstance(object_, Table):
        return kept_count
    if TIMELINES in questions:
        # Readers get the error of a damaged one.
        with suppress(ValueError):
            kept_count += cache.keep(
                object_id, TIMELINES, ids, read_timelines(database, object_id, ids), if_room=if_room
            )
    if PARTITIONS in questions:
        partitions = renewed(database, object_, ids, cache.last(object_id, PARTITIONS))
        if partitions is None:
            partitions = _all_partitions(database, object_, ids, stop, cache.room(if_room=if_room))
        if partitions is not None:
            kept_count += cache.keep(object_id, PARTITIONS, ids, partitions, if_room=if_room)
    return kept_count


def prewarm(database: Database, cache: CatalogCache, stop: Stop = lambda: False) -> int:
    """Reads the definitions, timelines and partitions of all objects into the cache until it is full. Returns the
    number of tables. Results of readers have priority: a prewarm never evicts them.
    """
    list_read_at, object_count = -_LIST_LIFETIME_SECONDS, 0
    sequence, transactions = 0, ValidTxnList(0, frozenset())
    for object_id in _object_ids(database):
        if stop():
            break
        if time.monotonic() - list_read_at > _LIST_LIFETIME_SECONDS:
            with database.read() as connection:
                version, sequence, transactions, _ = transaction_list(connection)
            database.check_version(*version)
            list_read_at = time.monotonic()
        with database.read() as connection:
            ids = write_id_list(connection, object_id, sequence, transactions)
            object_ = queries.object_under(connection, object_id, ids)
        cache.note_write_ids(object_id, ids, sequence)
        if object_ is None:
            continue  # Made since the list of transactions was read.
        if _keep(database, cache, object_, ids, (TIMELINES, PARTITIONS), stop, if_room=True):
            cache.name(object_, sequence)
        object_count += isinstance(object_, Table)
    return object_count


class Prewarming:
    """A prewarm in its own thread."""

    def __init__(self, database: Database, cache: CatalogCache) -> None:
        self._database, self._cache = database, cache
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="catalog-prewarm", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            prewarm(self._database, self._cache, self._stopped.is_set)
        except Error as error:
            # Other results are read when a reader needs them.
            LOGGER.warning("the cache is not filled further: %s", error.message)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, and returns True if it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ends the prewarm after its current page."""
        self._stopped.set()
        self._thread.join()


def _object_ids(database: Database) -> Iterator[int]:
    """Yields the ids of all live objects, page by page."""
    row, last = schema.objects, 0
    while True:
        query = sa.select(row.c.object_id).where(row.c.ended == schema.NEVER, row.c.object_id > last)
        with database.read() as connection:
            page_ids = list(connection.execute(query.order_by(row.c.object_id).limit(PAGE)).scalars())
        yield from page_ids
        if len(page_ids) < PAGE:
            return
        last = page_ids[-1]


def _all_partitions(
    database: Database, table: Table, ids: ValidWriteIdList, stop: Stop, room: int
) -> tuple[Partition, ...] | None:
    """Returns all partitions of a table in key order, with one statement per page. Returns ``None`` if it was stopped,
    or if they need more bytes than the cache has left.
    """
    table_range = KeyRange.of_prefix(prefix(table.id))
    partitions: list[Partition] = []
    size = 0
    while not stop() and size <= room:
        page_started_at = time.monotonic()
        start = partitions[-1].key + b"\x00" if partitions else table_range.start
        page = queries.partition_page(database, table, ids, [KeyRange(start, table_range.end)], PAGE)
        partitions += page
        size += size_of((), page)
        if len(page) < PAGE:
            return tuple(partitions)
        # Half of the time belongs to the readers.
        time.sleep(time.monotonic() - page_started_at)
    return None
