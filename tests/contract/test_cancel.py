"""``connection.cancel()`` from another thread, on both engines: the statement raises, and leaves nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import rewriter
from rewriter.dbapi import Connection
from rewriter.exec.engine import Engine
from rewriter.session import Session

#: Takes minutes on either engine.
SLOW = "SELECT SUM(pow(a.n, 0.5) + b.n) AS s FROM t a CROSS JOIN t b CROSS JOIN t c WHERE a.n + b.n + c.n >= 0"


@pytest.fixture
def connection(tmp_path: Path, engine: Engine) -> Iterator[Connection]:
    with Connection(Session(tmp_path / "w", engine)) as opened:
        opened.execute("CREATE TABLE t (n BIGINT)")
        opened.append("t", pa.table({"n": pa.array(range(50_000), pa.int64())}))
        opened.execute("SELECT COUNT(*) FROM t").fetchall()
        yield opened


def canceled(connection: Connection, run: Callable[[], object], after: float = 1.0) -> float:
    """Runs something, cancels it after some time, and returns the seconds from then to its error."""
    asked: list[float] = []

    def ask() -> None:
        time.sleep(after)
        asked.append(time.monotonic())
        connection.cancel()

    thread = threading.Thread(target=ask)
    thread.start()
    with pytest.raises(rewriter.OperationalError) as caught:
        run()
    thread.join()
    assert (caught.value.condition, caught.value.sqlstate) == ("OPERATION_CANCELED", "HY008")
    return time.monotonic() - asked[0]


def files(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.suffix == ".parquet"}


def test_a_query(connection: Connection) -> None:
    cursor = connection.cursor()
    assert canceled(connection, lambda: cursor.execute(SLOW)) < 15
    with pytest.raises(rewriter.InterfaceError):
        cursor.fetchall()
    assert cursor.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]


def test_an_insert_leaves_nothing(connection: Connection, tmp_path: Path) -> None:
    connection.execute("CREATE TABLE u (s DOUBLE) PARTITIONED BY (p BIGINT)")
    connection.execute("INSERT INTO u VALUES (1, 1)")
    before, sequence = files(tmp_path), connection.session.catalog.snapshot().sequence
    slow_insert = f"INSERT OVERWRITE u SELECT s, CAST(s AS BIGINT) % 2 AS p FROM ({SLOW}) AS q"
    assert canceled(connection, lambda: connection.execute(slow_insert)) < 15
    assert connection.session.catalog.snapshot().sequence == sequence
    assert files(tmp_path) == before
    assert connection.execute("SELECT * FROM u").fetchall() == [(1.0, 1)]
    assert not connection.session.catalog.snapshot().transactions.open


def test_in_a_transaction(connection: Connection) -> None:
    """The canceled statement is undone, and the transaction stays open."""
    connection.execute("CREATE TABLE u (n DOUBLE)")
    connection.execute("START TRANSACTION")
    connection.execute("INSERT INTO u VALUES (1)")
    canceled(connection, lambda: connection.execute(f"INSERT INTO u {SLOW}"))
    assert connection.session.in_transaction
    connection.execute("INSERT INTO u VALUES (2)")
    connection.commit()
    assert sorted(connection.execute("SELECT n FROM u").fetchall()) == [(1.0,), (2.0,)]


def test_a_result_that_is_being_read(connection: Connection) -> None:
    query = "SELECT a.n AS a, b.n AS b FROM t a CROSS JOIN t b"
    if connection.session.engine_name == "spark":
        query += " LIMIT 1000000"
    cursor = connection.execute(query)
    cursor.fetchmany(10)
    connection.cancel()
    for _ in range(2):
        with pytest.raises(rewriter.OperationalError) as caught:
            cursor.fetch_record_batches().read_all()
        assert caught.value.condition == "OPERATION_CANCELED"
    with pytest.raises(rewriter.OperationalError):
        cursor.fetchall()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_without_a_statement_it_does_nothing(connection: Connection) -> None:
    connection.cancel()
    assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]
    connection.cancel()
    with Connection(Session(connection.session.catalog.warehouse, connection.session._started_engine())) as other:
        thread = threading.Thread(target=connection.cancel)
        thread.start()
        assert other.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]
        thread.join()
    connection.close()
    with pytest.raises(rewriter.InterfaceError):
        connection.cancel()
