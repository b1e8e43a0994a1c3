"""Two connections on one warehouse, in two threads or processes: docs/explanation/consistency.md over the DB-API."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rewriter
from rewriter.dbapi import Connection

#: Runs a program that has the variable ``warehouse``, and returns a function that waits for its end.
Start = Callable[[str], Callable[[], None]]

#: Increments the number in the table five times, each in a transaction that is repeated after a conflict.
INCREMENT = """
import rewriter
with rewriter.connect(warehouse, "duckdb", autocommit=False) as connection:
    for _ in range(5):
        while True:
            try:
                (n,) = connection.execute("SELECT n FROM t WHERE p = 'counter'").fetchone()
                connection.execute("INSERT OVERWRITE t PARTITION (p = 'counter') VALUES (?)", [n + 1])
                connection.commit()
                break
            except rewriter.OperationalError as error:
                assert error.retryable and error.sqlstate == "40001", error
                connection.rollback()
"""

#: Commits rows, and a change of a partition.
CHANGE = """
import rewriter
with rewriter.connect(warehouse, "duckdb") as connection:
    connection.cursor().executemany("INSERT INTO t VALUES (?, 'new')", [(n,) for n in range(100)])
    connection.execute("INSERT OVERWRITE t PARTITION (p = 'counter') VALUES (1000)")
"""


@pytest.fixture(params=["threads", "processes"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Start:
    warehouse = str(tmp_path / "w")

    def in_thread(program: str) -> Callable[[], None]:
        failures: list[BaseException] = []

        def run() -> None:
            try:
                exec(program, {"warehouse": warehouse})
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()

        def wait() -> None:
            thread.join()
            assert failures == []

        return wait

    def in_process(program: str) -> Callable[[], None]:
        command = [sys.executable, "-c", f"warehouse = {warehouse!r}\n{program}"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))

        def wait() -> None:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err

        return wait

    return in_thread if request.param == "threads" else in_process


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "w", "duckdb") as opened:
        opened.execute("CREATE TABLE t (n BIGINT) PARTITIONED BY (p STRING)")
        opened.execute("INSERT INTO t VALUES (0, 'counter')")
        yield opened


def test_no_update_is_lost(connection: Connection, start: Start) -> None:
    """The first transaction to commit wins; the second is repeated, and reads what the first wrote."""
    for wait in [start(INCREMENT), start(INCREMENT)]:
        wait()
    assert connection.execute("SELECT n FROM t").fetchall() == [(10,)]
    assert connection.execute("SHOW PARTITIONS t").fetchall() == [("p=counter",)]


def test_a_transaction_sees_one_state(connection: Connection, start: Start) -> None:
    connection.execute("START TRANSACTION")
    query = "SELECT COUNT(*), MAX(n) FROM t"
    assert connection.execute(query).fetchall() == [(1, 0)]
    start(CHANGE)()
    assert connection.execute(query).fetchall() == [(1, 0)]
    connection.execute("INSERT INTO t VALUES (5, 'own')")

    def overwrite() -> None:
        connection.execute("INSERT OVERWRITE t PARTITION (p = 'counter') VALUES (2000)")
        connection.commit()

    # Both wrote the partition, so this one fails, and nothing of it stays.
    with pytest.raises(rewriter.OperationalError) as caught:
        overwrite()
    assert caught.value.sqlstate == "40001"
    connection.rollback()
    assert connection.execute(query).fetchall() == [(101, 1000)]


def test_a_result_keeps_its_state(connection: Connection, start: Start) -> None:
    """A write is visible completely or not at all, and not to a statement that began before it."""
    connection.cursor().executemany("INSERT INTO t VALUES (?, 'old')", [(n,) for n in range(10_000)])
    cursor = connection.execute("SELECT n FROM t WHERE p <> 'counter'")
    first = cursor.fetchone()
    wait = start(CHANGE)
    seen = set()
    for _ in range(20):
        seen.add(connection.execute("SELECT COUNT(*) FROM t WHERE p = 'new'").fetchone())
    wait()
    assert seen <= {(0,), (100,)}
    assert connection.execute("SELECT COUNT(*) FROM t WHERE p = 'new'").fetchone() == (100,)
    assert first is not None
    assert sorted([first, *cursor.fetchall()]) == [(n,) for n in range(10_000)]
