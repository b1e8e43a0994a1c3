"""Ctrl-C while an engine works."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 50


def interruptible(run: Callable[[], T], cancel: Callable[[], None] | None = None) -> T:
    """Runs in a worker thread, while this one stays open for Ctrl-C; then ``cancel`` ends the work.

    DuckDB does not look for signals in every phase of a query. Spark's own handling of SIGINT left jobs running and the
    session hanging; started in a thread that is not the main one, it installs none.
    """
    answer: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            answer.append(run())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="rewriter-engine", daemon=True).start()
    try:
        # Not join: an exception inside it makes Python 3.11 believe that the thread has ended.
        while not done.wait(0.1):
            pass
    except KeyboardInterrupt:
        # An engine that is still planning may overhear the first call.
        for _ in range(_TRIES if cancel is not None else 0):
            assert cancel is not None
            cancel()
            if done.wait(0.2):
                break
        raise
    if failure:
        raise failure[0]
    return answer[0]
