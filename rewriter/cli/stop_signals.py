"""The signals that end a command that runs until its user stops it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """Yields an event that Ctrl-C and SIGTERM set. A second signal ends the process at once."""
    import threading

    stopped = threading.Event()

    def stop(*_: object) -> None:
        restore()
        stopped.set()

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    try:
        yield stopped
    finally:
        restore()
