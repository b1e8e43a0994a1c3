"""Ctrl-C while an engine is running."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 50


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

    DuckDB does not check for signals in every phase of a query. Spark's own handling of SIGINT left jobs running and
    the session hanging; it installs no handler if it is started outside the main thread.
    """
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
            pass
    except KeyboardInterrupt:
        # An engine that is still planning may ignore the first call.
        for _ in range(_TRIES if cancel is not None else 0):
            assert cancel is not None
            cancel()
            if finished.wait(0.2):
                break
        raise
    finally:
        if finished.is_set():
            _idle_workers.append(worker)
    if failure:
        raise failure[0]
    return results[0]
