"""Signs of life of who writes, while an engine works or a session thinks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rewriter.catalog.transaction import Writer
from rewriter.errors import ConflictError, Error

_HEARTBEAT_SECONDS = 10.0


@contextmanager
def heartbeat(transaction: Writer) -> Iterator[None]:
    """Tells the catalog now and then that this writer lives, in the block."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(_HEARTBEAT_SECONDS):
            try:
                transaction.heartbeat()
            except ConflictError:
                # Not open any more: the commit will say the same, in the statement's own thread.
                return
            except Error:
                continue  # What does not last; the next beat may come through.

    thread = threading.Thread(target=beat, name="rewriter-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
