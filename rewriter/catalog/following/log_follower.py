"""Reads the notification log for a cache, in the background, and refreshes the objects that commits have changed."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rewriter.catalog.cache.log_view import COMMIT, LogEntry
from rewriter.catalog.following.prewarm import LOGGER, warm
from rewriter.catalog.store import schema
from rewriter.catalog.store.database import NOW, Database
from rewriter.errors import Error

if TYPE_CHECKING:
    from rewriter.catalog.cache.cache import CatalogCache

#: How many events one statement reads.
PAGE = 1000
#: The first and the longest wait between reads without new events, in seconds. A reader that sees a commit which the
#: follower has not read yet ends the wait.
_SHORTEST_WAIT, LONGEST_WAIT = 0.02, 2.0
#: The seconds between deletions of old entries of the log, if the follower deletes them.
_PURGED_EVERY = 3600.0
#: How often metrics are logged at most, in seconds.
LOGGED_EVERY = 60.0


class Follower:
    """Keeps a cache current from the log of a database. ``step`` and ``refresh`` can also be called without the thread.

    With ``retention`` it deletes log entries that are older, in seconds.
    """

    def __init__(self, database: Database, cache: CatalogCache, retention: float | None = None) -> None:
        self._database = database
        self._cache = cache
        self._retention = retention
        self._purged_at = -_PURGED_EVERY
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the following thread. Call it once."""
        self._thread = threading.Thread(target=self._run, name="catalog-cache", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after its current page. Idempotent."""
        self._stopped.set()
        # A forked child has no such thread; but the thread may have held the lock of what it waits for.
        if self._thread is not None and self._thread.is_alive() and self._thread is not threading.current_thread():
            self._cache.behind.set()
            self._thread.join()

    def step(self, limit: int = PAGE) -> int:
        """Reads at most ``limit`` events after the last one and returns their number. Three statements under one
        snapshot.

        The first time, and after a gap in the log, it starts after the newest event. Raises the errors of a database
        read.
        """
        position = self._cache.position
        with self._database.read() as connection:
            self._database.check(connection)
            newest, commit = newest_numbers(connection)
            rows = [] if position < 0 else _events_behind(connection, position, limit)
        if position < 0:
            self._cache.restart(newest, commit)
        elif newest < position:
            LOGGER.warning("the catalog's log ends at event %d, before %d: the cache starts over", newest, position)
            self._cache.restart(newest, commit, was_lost=True)
        elif _has_gap(rows, position, newest, limit):
            LOGGER.warning("the catalog's log has lost events after %d: write-id lists are read again", position)
            self._cache.restart(newest, commit)
        else:
            self._cache.apply([_entry(*row) for row in rows])
            self._cache.note_newest(newest)
            return len(rows)
        self._cache.note_newest(newest)
        return 0

    def catch_up(self) -> int:
        """Reads all events, or a page of them after ``stop``, and returns their number."""
        total = 0
        while True:
            event_count = self.step()
            total += event_count
            if event_count < PAGE or self._stopped.is_set():
                return total

    def refresh(self) -> int:
        """Refreshes the cached definitions, timelines and partition lists that commits have changed, and returns their
        number.
        """
        renewed = 0
        for object_id, ids, questions in self._cache.take_changed():
            if self._stopped.is_set():
                break
            renewed += warm(self._database, self._cache, object_id, ids, questions, self._stopped.is_set)
        self._cache.count_refreshed(renewed)
        return renewed

    def _purge(self) -> None:
        if self._retention is not None and time.monotonic() - self._purged_at > _PURGED_EVERY:
            self._purged_at = time.monotonic()
            purge_events(self._database, self._retention)

    def _run(self) -> None:
        wait, logged = _SHORTEST_WAIT, time.monotonic()
        before = self._cache.metrics()
        while not self._stopped.is_set():
            self._cache.behind.clear()
            try:
                event_count = self.catch_up()
                if event_count:
                    self.refresh()
                self._purge()
                wait = _SHORTEST_WAIT if event_count else min(2 * wait, LONGEST_WAIT)
            except Error as error:
                # Readers get the same error and report it. Here the read is tried again, less and less often.
                LOGGER.warning("the catalog's log cannot be read now: %s", error.message)
                wait = LONGEST_WAIT
                self._stopped.wait(wait)
            if time.monotonic() - logged > LOGGED_EVERY:
                logged, after = time.monotonic(), self._cache.metrics()
                if after != before:
                    LOGGER.info("catalog cache: %s", after, extra={"metrics": after})
                before = after
            self._cache.behind.wait(wait)


def purge_events(database: Database, older_than_seconds: float) -> int:
    """Deletes the log entries of older commits, by the clock of the database, and returns their number. One write
    transaction.
    """
    row, deleted_count = schema.events.c, schema.transactions.c
    is_old = sa.select(sa.func.max(deleted_count.commit_seq)).where(
        deleted_count.state == "committed", deleted_count.heartbeat_at < NOW - older_than_seconds
    )
    with database.write() as connection:
        newest = connection.execute(is_old).scalar() or 0
        return connection.execute(sa.delete(schema.events).where(row.commit_seq <= newest)).rowcount


def newest_numbers(connection: sa.Connection) -> tuple[int, int]:
    """Returns the numbers of the newest event and of the newest commit. One statement."""
    counter = schema.counters
    query = sa.select(counter.c.name, counter.c.value).where(counter.c.name.in_(("event", "commit")))
    newest = {row.name: row.value for row in connection.execute(query)}
    return newest["event"], newest["commit"]


def _events_behind(connection: sa.Connection, position: int, limit: int) -> list[Any]:
    event = schema.events.c
    query = sa.select(event.event_seq, event.commit_seq, event.kind, event.object_id, event.payload)
    return list(connection.execute(query.where(event.event_seq > position).order_by(event.event_seq).limit(limit)))


def _has_gap(rows: list[Any], position: int, newest: int, limit: int) -> bool:
    """Returns True if numbers are missing up to the last row, or after the last row of a short page."""
    last = rows[-1][0] if rows else position
    return last - position != len(rows) or (len(rows) < limit and last != newest)


def _entry(number: int, commit: int, kind: str, object_id: int | None, payload: str) -> LogEntry:
    values = json.loads(payload)
    if kind != COMMIT:
        return LogEntry(number, commit, kind, object_id, str(values.get("name", "")))
    return LogEntry(
        number,
        commit,
        kind,
        None,
        write_ids={int(object_key): text for object_key, text in values["write_ids"].items()},
    )
