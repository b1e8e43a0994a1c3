"""The statements that a catalog's database is given: to count them, or to die before one of them.

BEGIN and COMMIT are among them. Behind a statement nothing is otherwise than before the next one, so whoever dies at
each of them dies at every moment.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa


def dying_at(moment: int, by: signal.Signals = signal.SIGKILL) -> Callable[..., None]:
    """What sends this process a signal when it is called for the n-th time."""
    seen = 0

    def count(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == moment:
            os.kill(os.getpid(), by)

    return count


def watch(note: Callable[[str], object]) -> Callable[[], None]:
    """Calls ``note`` with each statement before it runs, in this process, until the returned function is called."""

    def embedded(dbapi: Any, *_: object) -> None:
        if isinstance(dbapi, sqlite3.Connection):
            dbapi.set_trace_callback(note)

    def plain(dbapi: Any, *_: object) -> None:
        if isinstance(dbapi, sqlite3.Connection):
            dbapi.set_trace_callback(None)

    def on_a_server(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        if connection.dialect.name != "sqlite":
            note(statement)

    def committed(connection: sa.Connection) -> None:
        if connection.dialect.name != "sqlite":
            note("COMMIT")

    listeners = [
        (sa.pool.Pool, "checkout", embedded),
        (sa.pool.Pool, "checkin", plain),
        (sa.Engine, "before_cursor_execute", on_a_server),
        (sa.Engine, "commit", committed),
    ]
    for target, name, listener in listeners:
        sa.event.listen(target, name, listener)

    def end() -> None:
        for target, name, listener in listeners:
            sa.event.remove(target, name, listener)

    return end
