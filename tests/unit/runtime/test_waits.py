"""Waits for another writer of the catalog: what is reported, and that a request to cancel ends them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rewriter
from rewriter.cancellation import Cancellation
from rewriter.catalog.catalog import Catalog
from rewriter.runtime.progress import Progress
from rewriter.statements.write import insert


class Waiting:
    """Reports of a statement, and an event for the first one that waits."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self.began = threading.Event()

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)
        if progress.phase == "waiting":
            self.began.set()


def prepared(directory: Path, catalog_url: str | None, progress: Callable[[Progress], object]) -> rewriter.Connection:
    connection = rewriter.connect(directory / "w", engine="duckdb", catalog=catalog_url, progress=progress)
    connection.execute("CREATE TABLE t (n BIGINT, p INT) PARTITIONED BY (p)")
    for _ in range(2):
        connection.append("t", pa.table({"n": pa.array([1, 2], pa.int64()), "p": pa.array([1, 2], pa.int32())}))
    return connection


STATEMENTS = [
    "INSERT INTO t VALUES (1, 1)",
    "CREATE TABLE u AS SELECT * FROM t",
    "ALTER TABLE t COMPACT",
    "ALTER TABLE t DROP PARTITION (p = 1)",
    "VACUUM",
    "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_wait_for_another_writer_is_canceled(
    tmp_path: Path, catalog_url: str | None, statement: str, capfd: pytest.CaptureFixture[str]
) -> None:
    waiting = Waiting()
    with (
        prepared(tmp_path, catalog_url, waiting) as connection,
        closing(Catalog.open(tmp_path / "w", catalog_url)) as other,
    ):
        files = sorted((tmp_path / "w").rglob("*.parquet"))
        requested: list[float] = []

        def cancel() -> None:
            assert waiting.began.wait(20)
            time.sleep(0.3)
            requested.append(time.monotonic())
            connection.cancel()

        with other.database.write():
            thread = threading.Thread(target=cancel)
            thread.start()
            with pytest.raises(rewriter.OperationalError) as caught:
                connection.execute(statement)
            ended = time.monotonic()
            thread.join()
        assert caught.value.condition == "OPERATION_CANCELED"
        assert ended - requested[0] < 10  # The other writer ends later.
        report = next(report for report in waiting.told if report.phase == "waiting")
        assert report.subject.startswith("another writer of the catalog ")
        assert "password" not in report.subject
        # The session goes on, and the statement has changed nothing.
        assert sorted((tmp_path / "w").rglob("*.parquet")) == files
        assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(4,)]
        connection.execute("INSERT INTO t VALUES (3, 3)")
        still_open = "SELECT COUNT(*) FROM system.transactions WHERE state = 'open'"
        end = time.monotonic() + 30
        while connection.execute(still_open).fetchall() != [(0,)]:  # Its transaction ends once it gets the catalog.
            assert time.monotonic() < end
            time.sleep(0.05)
    assert capfd.readouterr().err == ""


def test_a_wait_ends_with_the_other_writer(tmp_path: Path, catalog_url: str | None) -> None:
    waiting = Waiting()
    with (
        prepared(tmp_path, catalog_url, waiting) as connection,
        closing(Catalog.open(tmp_path / "w", catalog_url)) as other,
    ):
        entered = threading.Event()

        def hold() -> None:
            with other.database.write():
                entered.set()
                waiting.began.wait(20)
                time.sleep(0.5)

        thread = threading.Thread(target=hold)
        thread.start()
        entered.wait(20)
        assert connection.execute("INSERT INTO t VALUES (3, 3)").rowcount == 1
        thread.join()
        assert waiting.began.is_set()


def test_no_wait_is_reported_without_another_writer(tmp_path: Path, catalog_url: str | None) -> None:
    waiting = Waiting()
    prepared(tmp_path, catalog_url, waiting).close()
    assert not waiting.began.is_set()


def test_a_request_before_a_wait_ends_it(tmp_path: Path) -> None:
    """Without another thread's timing: the request comes while the statement reports that it waits."""
    connections: list[rewriter.Connection] = []

    def cancel(progress: Progress) -> None:
        if progress.phase == "waiting":
            connections[0].cancel()

    with prepared(tmp_path, None, cancel) as connection, closing(Catalog.open(tmp_path / "w")) as other:
        connections.append(connection)
        with other.database.write(), pytest.raises(rewriter.OperationalError) as caught:
            connection.execute("INSERT INTO t VALUES (1, 1)")
        assert caught.value.condition == "OPERATION_CANCELED"


def test_a_request_after_the_rows_of_an_external_table_were_replaced_is_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = f"""
        CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
        CREATE EXTERNAL TABLE hours (n BIGINT) PARTITIONED BY (dt STRING) LOCATION '{tmp_path / "hours"}';
        CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
        CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt),
          TABLE days PERIOD DAILY PARTITIONED BY t AS (dt));
        INSERT INTO hours VALUES (1, '2013-01-01-05')
    """
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        list(connection.session.script(setup))
        remove_file = insert.remove_file

        def canceling(*arguments: Any) -> None:
            remove_file(*arguments)
            connection.cancel()

        monkeypatch.setattr(insert, "remove_file", canceling)
        connection.execute("INSERT OVERWRITE hours PARTITION (dt = '2013-01-01-05') VALUES (100)")
        assert connection.execute("SELECT n FROM hours").fetchall() == [(100,)]
        connection.execute("REFRESH FACT f")


def test_an_interrupt_that_fails_keeps_no_other_from_its_end() -> None:
    cancellation = Cancellation()
    ended: list[int] = []

    def broken() -> None:
        raise RuntimeError

    with cancellation.interrupting(broken), cancellation.interrupting(lambda: ended.append(1)):
        cancellation.request()
    assert ended == [1]
