"""Fills a cache in the background: small pages, each on a connection for a moment, and a rest behind each."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

import sqlalchemy as sa

from rewriter.catalog import reads, schema
from rewriter.catalog.cache import CatalogCache
from rewriter.catalog.cache_entries import size_of
from rewriter.catalog.cache_questions import DEFINITION, PARTITIONS, TIMELINES, Question
from rewriter.catalog.codec import Object
from rewriter.catalog.database import Database
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.models import Partition, Table
from rewriter.catalog.renewing import renewed
from rewriter.catalog.writeids import ValidTxnList, ValidWriteIdList
from rewriter.errors import Error

LOGGER = logging.getLogger("rewriter.catalog.cache")

#: How many partitions or objects one statement reads: decoding them takes less than a thread's turn.
PAGE = 200
#: How long a list of transactions is used, in seconds. An older one costs one read later, never a wrong answer.
LIST_LASTS = 120.0

#: Asked between two pages; TRUE ends the work.
Stop = Callable[[], bool]


def warm(
    database: Database,
    cache: CatalogCache,
    object_id: int,
    ids: ValidWriteIdList,
    questions: Collection[Question],
    stop: Stop = lambda: False,
) -> int:
    """Reads an object under a list into the cache, and of a table what the questions ask for; how many answers.

    Of an object that is not there any more everything is let go.
    """
    with database.read() as connection:
        found = reads.object_under(connection, object_id, ids)
    if found is None:
        cache.forget(object_id)
        return 0
    return _keep(database, cache, found, ids, questions, stop, if_room=False)


def _keep(
    database: Database,
    cache: CatalogCache,
    found: Object,
    ids: ValidWriteIdList,
    questions: Collection[Question],
    stop: Stop,
    *,
    if_room: bool,
) -> int:
    object_id = found.id
    kept = int(cache.keep(object_id, DEFINITION, ids, found, if_room=if_room))
    if not isinstance(found, Table):
        return kept
    if TIMELINES in questions:
        # Readers are told of a damaged one.
        with suppress(ValueError):
            kept += cache.keep(object_id, TIMELINES, ids, read_timelines(database, object_id, ids), if_room=if_room)
    if PARTITIONS in questions:
        partitions = renewed(database, found, ids, cache.last(object_id, PARTITIONS))
        if partitions is None:
            partitions = _all_partitions(database, found, ids, stop, cache.room(if_room=if_room))
        if partitions is not None:
            kept += cache.keep(object_id, PARTITIONS, ids, partitions, if_room=if_room)
    return kept


def read_timelines(database: Database, table_id: int, ids: ValidWriteIdList) -> reads.StoredTimelines:
    """All stored timelines of a table, as they are shared: nobody can change them. One statement.

    Raises ``ValueError`` where one is damaged.
    """
    with database.read() as connection:
        found = reads.timelines(connection, table_id, ids)
    return {key: tuple(ranges) for key, ranges in found.items()}


def prewarm(database: Database, cache: CatalogCache, stop: Stop = lambda: False) -> int:
    """Reads definitions, timelines and partitions of everything into the cache as long as there is room; how many
    tables. Nobody waits for it: what a reader brings is kept first, and it never takes a reader's place in memory.
    """
    began, done = -LIST_LASTS, 0
    sequence, transactions = 0, ValidTxnList(0, frozenset())
    for object_id in _object_ids(database):
        if stop():
            break
        if time.monotonic() - began > LIST_LASTS:
            with database.read() as connection:
                version, sequence, transactions = reads.transaction_list(connection)
            database.check_version(*version)
            began = time.monotonic()
        with database.read() as connection:
            ids = reads.write_id_list(connection, object_id, sequence, transactions)
            found = reads.object_under(connection, object_id, ids)
        cache.learn(object_id, ids, sequence)
        if found is None:
            continue  # Made since the list of transactions was read.
        if _keep(database, cache, found, ids, (TIMELINES, PARTITIONS), stop, if_room=True):
            cache.name(found, sequence)
        done += isinstance(found, Table)
    return done


class Prewarming:
    """A prewarm in a thread of its own."""

    def __init__(self, database: Database, cache: CatalogCache) -> None:
        self._database, self._cache = database, cache
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="catalog-prewarm", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            prewarm(self._database, self._cache, self._stopped.is_set)
        except Error as error:
            # What was not read ahead is read when it is asked for.
            LOGGER.warning("the cache is not filled further: %s", error.message)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for its end; whether it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ends it behind the page that it reads."""
        self._stopped.set()
        self._thread.join()


def _object_ids(database: Database) -> Iterator[int]:
    """The ids of all live objects, page by page."""
    row, last = schema.objects, 0
    while True:
        query = sa.select(row.c.object_id).where(row.c.ended == schema.NEVER, row.c.object_id > last)
        with database.read() as connection:
            found = list(connection.execute(query.order_by(row.c.object_id).limit(PAGE)).scalars())
        yield from found
        if len(found) < PAGE:
            return
        last = found[-1]


def _all_partitions(
    database: Database, table: Table, ids: ValidWriteIdList, stop: Stop, room: int
) -> tuple[Partition, ...] | None:
    """All partitions of a table in key order, as many statements as pages; ``None`` where it was stopped, or where
    they take more bytes than there is room for.
    """
    whole = KeyRange.of_prefix(prefix(table.id))
    found: list[Partition] = []
    taken = 0
    while not stop() and taken <= room:
        began = time.monotonic()
        behind = found[-1].key + b"\x00" if found else whole.start
        page = reads.partition_page(database, table, ids, [KeyRange(behind, whole.end)], PAGE)
        found += page
        taken += size_of((), page)
        if len(page) < PAGE:
            return tuple(found)
        # Half of the time belongs to the readers.
        time.sleep(time.monotonic() - began)
    return None
