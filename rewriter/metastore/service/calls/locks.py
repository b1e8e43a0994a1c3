"""The locks that clients of one server ask for, with Hive's rules. They are advisory: nothing here checks them.

They are in the memory of one server process: clients of other servers, and sessions of SQL, do not see them. What
keeps the catalog consistent are its transactions, not these locks.

A request gets all of its locks, or waits for all. It waits while an earlier request, waiting or not, conflicts with it:
first come, first served. So a waiting exclusive lock stops later shared ones. Since a request waits for earlier ones
only, the state of a request follows from the list of those before it, and an acquired lock stays acquired.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum

from rewriter.errors import DataError, OperationalError
from rewriter.lazy_dataclass import dataclass

#: Seconds without a heartbeat after which a lock expires; Hive's default for ``hive.txn.timeout``.
TIMEOUT_SECONDS = 300.0


class LockType(IntEnum):
    """What a lock permits others, with Hive's numbers. A ``SHARED_WRITE`` admits readers, but no other writer."""

    SHARED_READ = 1
    SHARED_WRITE = 2
    EXCLUSIVE = 3


class LockState(IntEnum):
    """The state of a request, with Hive's numbers. Here a request has one of the first two. One that has ended is an
    error instead of ``ABORT``, and none is ``NOT_ACQUIRED``, because no client asks for a lock without waiting.
    """

    ACQUIRED = 1
    WAITING = 2
    ABORT = 3
    NOT_ACQUIRED = 4


@dataclass(frozen=True)
class LockComponent:
    """A lock of a database, of one of its tables, or of a partition of that, by its name. Names are in lower case."""

    type: LockType
    database: str
    table: str | None = None
    partition: str | None = None


@dataclass(frozen=True)
class LockRequest:
    """The locks that a client wants at once. ``transaction`` is the one with which they end; ``None``: no one."""

    components: tuple[LockComponent, ...]
    transaction: int | None = None
    user: str = ""
    host: str = ""
    agent: str = ""


@dataclass(frozen=True)
class Lock:
    """A request under its number. ``state`` is its state when it was last looked at. Times are times of the clock of
    its ``Locks``, in seconds; ``blocked_by`` is the number of a request that it waits for.
    """

    id: int
    request: LockRequest
    state: LockState
    heartbeat_at: float
    heartbeats: int = 0
    acquired_at: float | None = None
    blocked_by: int | None = None


def conflicts(one: LockComponent, other: LockComponent) -> bool:
    """Returns whether two locks of different requests exclude each other, as in Hive.

    A shared lock of a database is held by its users against DROP DATABASE: it does not conflict with what happens to
    one of the tables.
    """
    if one.database != other.database or _differ(one.table, other.table):
        return False
    if _differ(one.partition, other.partition):
        return False
    types = {one.type, other.type}
    if LockType.EXCLUSIVE not in types:
        return types == {LockType.SHARED_WRITE}
    return not (_admits_tables(one, other) or _admits_tables(other, one))


def _differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other


def _admits_tables(one: LockComponent, other: LockComponent) -> bool:
    return one.table is None and one.type is LockType.SHARED_READ and other.table is not None


class Locks:
    """The locks of one server. Threads may share it; no call waits for a lock.

    ``clock`` gives seconds. A lock without a transaction expires ``timeout_seconds`` after its last heartbeat; the end
    of a connection does not release it. A lock of a transaction ends with the transaction. All calls but ``acquire``
    raise ``OperationalError`` LOCK_NOT_FOUND for a lock that was released, or has expired.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, timeout_seconds: float = TIMEOUT_SECONDS, first: int = 0
    ) -> None:
        self.clock = clock
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        #: The requests in the order in which they came, and the numbers of the requests of each database.
        self._locks: dict[int, Lock] = {}
        self._of_database: dict[str, dict[int, None]] = {}
        # Numbers of an earlier process are not given again: its clients may still use them.
        self._first = first or time.time_ns() // 1000
        self._next = self._first

    def acquire(self, request: LockRequest) -> Lock:
        """Adds a request, which has its locks or waits. O(requests of the same databases).

        Raises ``DataError`` INVALID_LOCK_REQUEST if it has no components.
        """
        if not request.components:
            raise DataError(
                "The request names no locks.", condition="INVALID_LOCK_REQUEST", hint="Name at least one component."
            )
        with self._lock:
            self._expire()
            id, self._next = self._next, self._next + 1
            for component in request.components:
                self._of_database.setdefault(component.database, {})[id] = None
            self._locks[id] = Lock(id, request, LockState.WAITING, self.clock())
            return self._looked_at(id)

    def find(self, id: int) -> Lock:
        """Returns a lock in its present state. Counts as no heartbeat. O(requests of the same databases)."""
        with self._lock:
            self._expire()
            return self._looked_at(id)

    def heartbeat(self, id: int) -> Lock:
        """Notes that the client of a lock is alive, and returns the lock as ``find`` does."""
        with self._lock:
            self._expire()
            lock = self._existing(id)
            self._locks[id] = replace(lock, heartbeat_at=self.clock(), heartbeats=lock.heartbeats + 1)
            return self._looked_at(id)

    def release(self, id: int) -> None:
        """Ends a lock that is held or waits. Does nothing for one that has ended before.

        Raises ``OperationalError`` LOCK_OF_TRANSACTION for a lock that is held by a transaction: it ends with it.
        """
        with self._lock:
            self._expire()
            if id not in self._locks and self._first <= id < self._next:
                return
            lock = self._looked_at(id)
            if lock.request.transaction is not None and lock.state is LockState.ACQUIRED:
                raise OperationalError(
                    f"The lock {id} belongs to the transaction {lock.request.transaction}.",
                    condition="LOCK_OF_TRANSACTION",
                    object=str(id),
                    hint="It ends when the transaction is committed or aborted.",
                )
            self._remove(id)

    def transactions(self) -> frozenset[int]:
        """Returns the transactions that have requests. O(requests)."""
        with self._lock:
            held_by = {lock.request.transaction for lock in self._locks.values()}
        return frozenset(transaction for transaction in held_by if transaction is not None)

    def end_transactions(self, ids: Collection[int]) -> None:
        """Ends all locks of transactions. O(requests)."""
        with self._lock:
            for lock in list(self._locks.values()):
                if lock.request.transaction in ids and lock.request.transaction is not None:
                    self._remove(lock.id)

    def all(self) -> Sequence[Lock]:
        """Returns all locks in their present state, in the order of their requests. O(requests²) at worst."""
        with self._lock:
            self._expire()
            return [self._looked_at(id) for id in list(self._locks)]

    def _existing(self, id: int) -> Lock:
        lock = self._locks.get(id)
        if lock is None:
            raise OperationalError(
                f"There is no lock {id}.",
                condition="LOCK_NOT_FOUND",
                object=str(id),
                hint=f"It was released, or had no heartbeat for {self._timeout:g} seconds. Ask for a new one.",
            )
        return lock

    def _looked_at(self, id: int) -> Lock:
        """Returns a request whose state was brought up to date."""
        lock = self._existing(id)
        if lock.state is LockState.WAITING:
            blocked_by = next(self._blocking(lock), None)
            if blocked_by is None:
                lock = replace(lock, state=LockState.ACQUIRED, acquired_at=self.clock(), blocked_by=None)
            else:
                lock = replace(lock, blocked_by=blocked_by)
            self._locks[id] = lock
        return lock

    def _blocking(self, lock: Lock) -> Iterator[int]:
        """Yields the earlier requests that a request waits for."""
        own = lock.request
        for component in own.components:
            for id in self._of_database[component.database]:
                if id >= lock.id:
                    break
                other = self._locks[id].request
                if own.transaction is not None and own.transaction == other.transaction:
                    continue
                if any(conflicts(component, theirs) for theirs in other.components):
                    yield id

    def _expire(self) -> None:
        oldest = self.clock() - self._timeout
        for lock in list(self._locks.values()):
            if lock.request.transaction is None and lock.heartbeat_at < oldest:
                self._remove(lock.id)

    def _remove(self, id: int) -> None:
        for component in self._locks.pop(id).request.components:
            ids = self._of_database.get(component.database, {})
            ids.pop(id, None)
            if not ids:
                self._of_database.pop(component.database, None)
