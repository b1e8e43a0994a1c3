"""The end of an engine's work before it is done: by Ctrl-C, or by another thread."""

from __future__ import annotations

import os
import queue
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rewriter.errors import OperationalError

T = TypeVar("T")

_TRIES = 50


class Cancellation:
    """The request of another thread that a statement ends. A statement has one of its own, with its id."""

    def __init__(self) -> None:
        self.query_id = str(uuid.uuid4())
        self._requested = threading.Event()

    @property
    def is_requested(self) -> bool:
        return self._requested.is_set()

    def request(self) -> None:
        """Ends the statement soon, if it is running, with ``canceled``. May be called from any thread."""
        self._requested.set()

    def check(self) -> None:
        """Raises ``OperationalError`` OPERATION_CANCELED after a request."""
        if self.is_requested:
            raise canceled()


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


def current_cancellation() -> Cancellation | None:
    """Returns that of the statement that runs in this thread; ``None`` outside of statements."""
    return _current.get()


@contextmanager
def cancellable(cancellation: Cancellation | None) -> Iterator[None]:
    """Lets a request end the work of the block."""
    token = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(token)


def canceled() -> OperationalError:
    """Returns the error of a statement that another thread has canceled."""
    return OperationalError(
        "The statement was canceled.",
        condition="OPERATION_CANCELED",
        sqlstate="HY008",
        hint="None of its changes were kept. Execute it again if it is still wanted.",
    )


class _Worker:
    """A thread that runs one piece of work after the other. A new thread for each costs a query a millisecond."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="rewriter-engine", daemon=True).start()

    def start(self, work: Callable[[], None]) -> None:
        self._work.put(work)

    def _run(self) -> None:
        while True:
            work = self._work.get()
            work()
            del work


#: The workers without work. A fork has no threads.
_idle_workers: list[_Worker] = []
os.register_at_fork(after_in_child=_idle_workers.clear)


def interruptible(run: Callable[[], T], cancel: Callable[[], None] | None = None) -> T:
    """Runs ``run`` in a worker thread while this thread stays open for Ctrl-C, which calls ``cancel`` to end the work.
    A request to the current ``Cancellation`` does the same, and raises ``canceled``.

    DuckDB does not check for signals in every phase of a query. Spark's own handling of SIGINT left jobs running and
    the session hanging; it installs no handler if it is started outside the main thread.
    """
    cancellation = current_cancellation() or Cancellation()
    cancellation.check()
    results: list[T] = []
    failure: list[BaseException] = []
    finished = threading.Event()

    def work() -> None:
        try:
            results.append(run())
        except BaseException as error:
            failure.append(error)
        finally:
            finished.set()

    try:
        worker = _idle_workers.pop()
    except IndexError:
        worker = _Worker()
    worker.start(work)
    try:
        # Not join: after an exception inside it, Python 3.11 assumes that the thread has ended.
        while not finished.wait(0.1):
            if cancellation.is_requested:
                _end(cancel, finished)
                raise canceled()
    except KeyboardInterrupt:
        _end(cancel, finished)
        raise
    finally:
        if finished.is_set():
            _idle_workers.append(worker)
    if failure:
        raise failure[0]
    return results[0]


def _end(cancel: Callable[[], None] | None, finished: threading.Event) -> None:
    """Ends the work. An engine that is still planning may ignore the first call."""
    for _ in range(_TRIES if cancel is not None else 0):
        assert cancel is not None
        cancel()
        if finished.wait(0.2):
            break
