"""Heartbeats of an open transaction while the engine works or the session is idle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rewriter.catalog.commit.transaction import Writer
from rewriter.errors import ConflictError, Error
from rewriter.runtime.background import repeating

_HEARTBEAT_SECONDS = 10.0


@contextmanager
def heartbeat(transaction: Writer) -> Iterator[None]:
    """Reports to the catalog, in the block, that this writer lives."""

    def beat() -> float | None:
        try:
            transaction.heartbeat()
        except ConflictError:
            # The transaction is no longer open: the commit reports the same, in the statement's own thread.
            return None
        except Error:
            return _HEARTBEAT_SECONDS  # A passing failure; the next beat may succeed.
        return _HEARTBEAT_SECONDS

    with repeating(beat, "rewriter-heartbeat", _HEARTBEAT_SECONDS):
        yield
