"""The signals that end a command that runs until its user stops it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stop_signals() -> Iterator[Callable[[float | None], bool]]:
    """Yields a function that waits for Ctrl-C or SIGTERM, at most for some seconds, and returns True if one of them
    came. A second signal ends the process at once.

    The main thread calls it, where the handler runs, too. An ``Event`` would block itself: a handler that sets it may
    come while ``wait`` holds its lock.
    """
    import queue

    signals: queue.SimpleQueue[None] = queue.SimpleQueue()

    def wait(seconds: float | None = None) -> bool:
        try:
            signals.get(timeout=seconds)
        except queue.Empty:
            return False
        signals.put(None)  # The next call returns, too.
        return True

    def stop(*_: object) -> None:
        restore()
        signals.put(None)

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    try:
        yield wait
    finally:
        restore()
