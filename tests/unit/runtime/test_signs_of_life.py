"""Signs of life while work goes on: a failure passes, the loss of what they keep alive does not."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from rewriter.catalog.commit.transaction import Writer
from rewriter.errors import ConflictError, Error, OperationalError
from rewriter.runtime.heartbeat import heartbeat


class Reported:
    """A transaction whose heartbeats fail in turn with some errors, and then succeed."""

    def __init__(self, *errors: Error) -> None:
        self.errors = list(errors)
        self.ended = threading.Event()
        self.count = 0

    def heartbeat(self) -> None:
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        self.ended.set()


def _is_beating() -> bool:
    return any(thread.name == "rewriter-heartbeat" for thread in threading.enumerate())


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("It is locked.", condition="CATALOG_BUSY"),
        ConflictError("Another transaction interfered.", condition="CATALOG_BUSY"),
    ],
)
def test_a_failure_passes(error: Error) -> None:
    transaction = Reported(error, error)
    with heartbeat(cast(Writer, transaction), 0.04):
        assert transaction.ended.wait(30)
    assert transaction.count >= 3
    assert not _is_beating()


def test_an_aborted_transaction_gets_no_more() -> None:
    transaction: Any = Reported(ConflictError("It was aborted.", condition="TRANSACTION_NOT_OPEN"))
    with heartbeat(transaction, 0.04):
        for thread in threading.enumerate():
            if thread.name == "rewriter-heartbeat":
                thread.join(30)
        assert not _is_beating()
    assert (transaction.count, transaction.ended.is_set()) == (1, False)
