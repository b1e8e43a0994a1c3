"""The transactions that clients of one server have opened. Each is a transaction of the catalog.

Its state, and its write ids, are in the catalog's database. The server keeps what it needs to go on with it. Clients of
another server cannot use it, and it does not outlive the server: whoever begins a transaction later aborts it there,
after its timeout.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.catalog.reading.history import transaction_state
from rewriter.errors import ConflictError, DataError, Error, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.service.calls.locks import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.commit.transaction import Transaction
    from rewriter.catalog.model.objects import Table

#: The most transactions that one call opens, as Hive's ``hive.txn.max.open.batch``.
MOST_AT_ONCE = 1000
#: The most ended transactions whose ends are remembered.
_MOST_ENDED = 1 << 16
_COMMITTED, _ABORTED = "committed", "aborted"


@dataclass(frozen=True)
class Opener:
    """Who has opened a transaction, as the client says."""

    user: str = ""
    host: str = ""
    agent: str = ""


@dataclass
class _Open:
    """An open transaction. ``lock`` is held by the call that uses it, and protects the fields below."""

    catalog: Catalog
    transaction: Transaction
    opener: Opener
    heartbeat_at: float
    heartbeats: int = 0
    write_ids: dict[int, int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


class ClientTransactions:
    """Open transactions by their numbers. Threads may share it.

    ``clock`` gives seconds. A transaction is aborted after ``timeout_seconds`` without a heartbeat, by the next call
    that comes. All calls with a number raise ``OperationalError`` TRANSACTION_NOT_FOUND for one that this server has
    not opened, or that was committed, and TRANSACTION_ABORTED for one that was aborted.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        self._open: dict[int, _Open] = {}
        self._ended: OrderedDict[int, str] = OrderedDict()

    def open(self, catalog: Catalog, count: int, opener: Opener) -> list[int]:
        """Opens transactions on the newest state, at most ``MOST_AT_ONCE``, and returns their numbers, ascending. One
        short write transaction for each.

        Raises ``DataError`` INVALID_TRANSACTION_COUNT.
        """
        if count < 1:
            raise DataError(
                f"{count} transactions cannot be opened.",
                condition="INVALID_TRANSACTION_COUNT",
                hint="Open at least one.",
            )
        self.expire()
        snapshot = catalog.snapshot()
        ids: list[int] = []
        for _ in range(min(count, MOST_AT_ONCE)):
            transaction = catalog.begin(snapshot)
            with self._lock:
                self._open[transaction.id] = _Open(catalog, transaction, opener, self._clock())
            ids.append(transaction.id)
        return ids

    def commit(self, id: int) -> None:
        """Commits a transaction: its write ids become valid. Does nothing for one that was committed before, so that a
        client may repeat the call. One short write transaction.
        """
        self.expire()
        if self._end_of(id) == _COMMITTED:
            return
        try:
            with self._using(id) as held:
                held.transaction.commit([])
                self._note_end(id, _COMMITTED)
        except OperationalError:
            # An earlier call may have committed it without learning so.
            if self._end_of(id) != _COMMITTED:
                raise

    def abort(self, id: int) -> None:
        """Aborts a transaction. Does nothing for one that was aborted before. One short write transaction."""
        self.expire()
        with self._lock:
            held = self._open.get(id)
        if held is not None:
            with held.lock:
                self._roll_back(id, held)
        if self._end_of(id) != _ABORTED:
            raise _not_open(id, self._end_of(id), self._timeout)

    def heartbeat(self, id: int) -> None:
        """Notes, here and in the catalog, that the client is alive. One short write transaction."""
        self.expire()
        with self._using(id) as held:
            held.transaction.heartbeat()
            held.heartbeat_at, held.heartbeats = self._clock(), held.heartbeats + 1

    def allocate(self, ids: Collection[int], table: Table) -> list[tuple[int, int]]:
        """Returns pairs of a transaction and its write id of a table, in the order of the transactions' numbers.

        Takes the missing ids, each in a short write transaction; none if one of the transactions is not open.
        """
        self.expire()
        wanted = sorted(set(ids))
        for id in wanted:
            self.check_open(id)
        pairs: list[tuple[int, int]] = []
        for id in wanted:
            with self._using(id) as held:
                held.write_ids[table.id] = held.transaction.write_id(table)
                pairs.append((id, held.write_ids[table.id]))
        return pairs

    def held_write_ids(self, table: Table) -> frozenset[int]:
        """Returns the write ids of a table that open transactions of this server hold. O(open transactions)."""
        with self._lock:
            return frozenset(held.write_ids[table.id] for held in self._open.values() if table.id in held.write_ids)

    def opener(self, id: int) -> tuple[Opener, int]:
        """Returns who has opened an open transaction, and the number of its heartbeats; no one for any other."""
        with self._lock:
            held = self._open.get(id)
            return (Opener(), 0) if held is None else (held.opener, held.heartbeats)

    def is_open(self, id: int) -> bool:
        """Returns whether this server has a transaction open. Does not ask the catalog."""
        with self._lock:
            return id in self._open

    def check_open(self, id: int) -> None:
        """Raises an error unless this server has a transaction open. Does not ask the catalog."""
        with self._lock:
            if id not in self._open:
                raise _not_open(id, self._ended.get(id), self._timeout)

    def expire(self) -> None:
        """Aborts the transactions that were silent for too long. One that cannot be aborted now is left to the next
        call. O(open transactions).
        """
        oldest = self._clock() - self._timeout
        with self._lock:
            silent = [(id, held) for id, held in self._open.items() if held.heartbeat_at < oldest]
        for id, held in silent:
            if not held.lock.acquire(blocking=False):
                continue  # A call uses it.
            try:
                if held.heartbeat_at < oldest:
                    with suppress(Error):
                        self._roll_back(id, held)
            finally:
                held.lock.release()

    @contextmanager
    def _using(self, id: int) -> Iterator[_Open]:
        """Yields an open transaction that no other call uses meanwhile."""
        with self._lock:
            held = self._open.get(id)
        if held is None:
            raise _not_open(id, self._end_of(id), self._timeout)
        with held.lock:
            try:
                yield held
            except ConflictError as error:
                if error.condition != "TRANSACTION_NOT_OPEN":
                    raise
                state = transaction_state(held.catalog.database, id)
                self._note_end(id, _COMMITTED if state == _COMMITTED else _ABORTED)
                raise _not_open(id, self._end_of(id), self._timeout) from error

    def _roll_back(self, id: int, held: _Open) -> None:
        """Aborts a transaction unless it has ended. One whose commit was not confirmed may have committed."""
        if self.is_open(id):
            held.transaction.rollback()
            state = transaction_state(held.catalog.database, id)
            self._note_end(id, _COMMITTED if state == _COMMITTED else _ABORTED)

    def _end_of(self, id: int) -> str | None:
        with self._lock:
            return self._ended.get(id)

    def _note_end(self, id: int, state: str) -> None:
        with self._lock:
            self._open.pop(id, None)
            self._ended[id] = state
            if len(self._ended) > _MOST_ENDED:
                self._ended.popitem(last=False)


def _not_open(id: int, end: str | None, timeout: float) -> OperationalError:
    if end == _ABORTED:
        return OperationalError(
            f"The transaction {id} was aborted.",
            condition="TRANSACTION_ABORTED",
            object=str(id),
            hint=f"A client aborted it, or it had no heartbeat for {timeout:g} seconds. Open a new one.",
        )
    reason = "was committed" if end == _COMMITTED else "was not opened by this server"
    return OperationalError(
        f"The transaction {id} {reason}.",
        condition="TRANSACTION_NOT_FOUND",
        object=str(id),
        hint="Open one with open_txns, and use it with the same server.",
    )
