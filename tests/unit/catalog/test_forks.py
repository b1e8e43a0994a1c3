"""A process may fork at any moment: its child reads the catalog, whatever the threads of the parent were doing."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from rewriter.catalog.store.database import LONGEST_WAIT, Database


def ended(child_work: Callable[[], object]) -> int:
    """Returns the status of a forked child that does the work; 0 is success. One that hangs is killed after 10 s."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        try:
            child_work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def one_row(database: Database) -> None:
    with database.read() as connection:
        connection.execute(sa.text("SELECT 1"))


def test_children_read_while_threads_open_connections(tmp_path: Path) -> None:
    """SQLite's lock of its memory is held for a moment when a connection opens: without the guard one in three hung."""
    database, stopped = Database(tmp_path / "catalog.db"), threading.Event()

    def open_and_read() -> None:
        opened = Database(tmp_path / "catalog.db")
        while not stopped.is_set():
            one_row(opened)
            opened.close()  # The next read opens another connection.

    threads = [threading.Thread(target=open_and_read) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert [ended(lambda: one_row(database)) for _ in range(20)] == [0] * 20
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
        database.close()


def test_a_fork_does_not_wait_for_a_long_call(tmp_path: Path) -> None:
    database, entered, stopped = Database(tmp_path / "catalog.db"), threading.Event(), threading.Event()

    def read_long() -> None:
        with database.read():
            entered.set()
            stopped.wait(60)

    thread = threading.Thread(target=read_long)
    thread.start()
    entered.wait()
    began = time.monotonic()
    try:
        assert ended(lambda: None) == 0
        assert time.monotonic() - began < 10 * LONGEST_WAIT
        one_row(database)  # Calls begin again after it.
    finally:
        stopped.set()
        thread.join()
        database.close()


def test_a_thread_may_fork_inside_its_own_call(tmp_path: Path) -> None:
    database = Database(tmp_path / "catalog.db")
    began = time.monotonic()
    with database.read():
        assert ended(lambda: one_row(database)) == 0
    assert time.monotonic() - began < LONGEST_WAIT
    one_row(database)
    database.close()
