"""The end of an engine's work before it is done: by Ctrl-C, or by another thread."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from rewriter.cancellation import Cancellation, Observer, canceled, current_cancellation
from rewriter.errors import Error

T = TypeVar("T")

#: The seconds in which an engine should end its work, and those between two requests that it does.
PATIENCE_SECONDS, _TRY_SECONDS = 10.0, 0.2
#: The pause between two measurements of progress, in seconds.
_PAUSE_SECONDS = 0.25


#: What an engine has done of its work: a number of units, their total, and their plural.
Measured = tuple[int, int, str]


class _Worker:
    """A thread that runs one piece of work after the other. A new thread for each costs a query a millisecond."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Callable[[], None], threading.Event]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="rewriter-engine", daemon=True).start()

    def start(self, work: Callable[[], None], finished: threading.Event) -> None:
        self._work.put((work, finished))

    def _run(self) -> None:
        while True:
            work, finished = self._work.get()
            work()
            del work
            # First, so that the next work of the thread that waits finds this worker.
            _idle_workers.append(self)
            finished.set()


#: The workers without work. A fork has no threads.
_idle_workers: list[_Worker] = []
os.register_at_fork(after_in_child=_idle_workers.clear)


def interruptible(
    run: Callable[[], T],
    cancel: Callable[[], None] | None = None,
    measure: Callable[[], Measured | None] | None = None,
    patience: float = PATIENCE_SECONDS,
    check: Callable[[], None] | None = None,
) -> T:
    """Runs ``run`` in a worker thread while this thread stays open for Ctrl-C, which calls ``cancel`` to end the work.
    A request to the current ``Cancellation`` does the same, and raises ``canceled``. Without ``cancel``, or if
    it does not end the work within ``patience`` seconds, the work goes on alone, and its result is dropped.

    ``measure`` is called a few times a second, in this thread, if somebody observes the statement, and its result is
    reported as the phase ``running``. Work of a tenth of a second is not measured. ``check`` is called in this thread,
    too, and leaves the work alone by raising.

    DuckDB does not check for signals in every phase of a query. Spark's own handling of SIGINT left jobs running and
    the session hanging; it installs no handler if it is started outside the main thread.
    """
    cancellation = current_cancellation() or Cancellation()
    cancellation.check()
    results: list[T] = []
    failure: list[BaseException] = []
    finished = threading.Event()

    context = copy_context()

    def work() -> None:
        try:
            results.append(context.run(run))
        except BaseException as error:
            failure.append(error)

    try:
        worker = _idle_workers.pop()
    except IndexError:
        worker = _Worker()
    worker.start(work, finished)
    try:
        # Not join: after an exception inside it, Python 3.11 assumes that the thread has ended.
        measured_at = 0.0
        while not finished.wait(0.1):
            if cancellation.is_requested:
                _end(cancel, finished, patience)
                raise canceled()
            if check is not None:
                check()
            if measure is not None and cancellation.observer.is_listening:
                now = time.monotonic()
                if now - measured_at >= _PAUSE_SECONDS:
                    measured_at = now
                    _report(cancellation.observer, measure())
    except Error:
        raise
    except BaseException:  # Ctrl-C, or what the caller's own handler of a signal raises.
        _end(cancel, finished, patience)
        raise
    if failure:
        raise failure[0]
    return results[0]


def _report(observer: Observer, measured: Measured | None) -> None:
    if measured is None:
        observer.report("running")
    else:
        observer.report("running", *measured)


def _end(cancel: Callable[[], None] | None, finished: threading.Event, patience: float) -> None:
    """Ends the work. An engine that is still planning may ignore the first call."""
    deadline = time.monotonic() + patience
    while cancel is not None and time.monotonic() < deadline:
        cancel()
        if finished.wait(_TRY_SECONDS):
            break
