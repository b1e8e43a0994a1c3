"""Ctrl-C while an engine is running."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 50


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

    threading.Thread(target=work, name="rewriter-engine", daemon=True).start()
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
    if failure:
        raise failure[0]
    return results[0]
