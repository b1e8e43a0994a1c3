"""Heartbeats of an open transaction while the engine works or the session is idle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rewriter.runtime.background import signs_of_life

if TYPE_CHECKING:
    from rewriter.catalog.commit.transaction import Writer
    from rewriter.errors import Error

_HEARTBEAT_SECONDS = 10.0


@contextmanager
def heartbeat(transaction: Writer, expiry_seconds: float | None = None) -> Iterator[None]:
    """Reports to the catalog, in the block, that this writer lives: several times within ``expiry_seconds``, after
    which others may abort it.
    """
    pause = _HEARTBEAT_SECONDS if expiry_seconds is None else min(_HEARTBEAT_SECONDS, expiry_seconds / 4)

    with signs_of_life(transaction.heartbeat, "rewriter-heartbeat", pause, _is_aborted):
        yield


def _is_aborted(error: Error) -> bool:
    """Tests whether the transaction is no longer open: the commit reports the same, in the statement's own thread."""
    return error.condition == "TRANSACTION_NOT_OPEN"
