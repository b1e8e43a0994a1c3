"""The statements that a catalog's database executes: to count them, or to die before one of them.

BEGIN and COMMIT are included. The state after a statement is the state before the next one, so a process that dies
before each of them dies in every state.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa


def dying_at(moment: int, by: signal.Signals = signal.SIGKILL) -> Callable[..., None]:
    """Returns a function that sends this process a signal at its n-th call."""
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
