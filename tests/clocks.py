"""A clock that tests set: that of Python's ``time`` module, and that of SQLite in the databases of catalogs.

Files get the times of the system's clock, as on a file server whose clock is another one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import sqlalchemy as sa

DAY = 86_400.0
#: The Julian day at which 1970 begins.
_EPOCH = 2440587.5


class Clock:
    """The system's clock, moved by ``offset`` seconds."""

    def __init__(self) -> None:
        self.offset = 0.0
        self._time = time.time

    def now(self) -> float:
        return self._time() + self.offset

    def nanoseconds(self) -> int:
        return int(self.now() * 1e9)

    def _prepare(self, dbapi: Any, _record: object) -> None:
        dbapi.create_function("julianday", 1, lambda _: _EPOCH + self.now() / DAY)


@contextmanager
def moved_clock() -> Iterator[Clock]:
    """Moves the clock of the catalogs that are opened in the block."""
    clock = Clock()
    sa.event.listen(sa.Engine, "connect", clock._prepare)
    try:
        with mock.patch("time.time", clock.now), mock.patch("time.time_ns", clock.nanoseconds):
            yield clock
    finally:
        sa.event.remove(sa.Engine, "connect", clock._prepare)
