"""Progress of statements on each engine, and that a request to cancel ends them soon, wherever they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import rewriter
from rewriter.cli.doctor_checks import spark as spark_check
from rewriter.dbapi import Connection
from rewriter.exec.engine import Engine
from rewriter.runtime.progress import Progress
from rewriter.session import Session

#: A canceled task of Spark goes on for minutes where Java compiles little, so Spark is for the long tests.
CLIENTS = [
    "duckdb",
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long]),
    pytest.param("connect", marks=[pytest.mark.spark, pytest.mark.long]),
]
#: The seconds until a canceled statement has ended.
SOON = 8.0
#: Takes some ten seconds on either engine. After a cancellation, Spark's task goes on for so long.
LONG = "SELECT SUM(pow(a.n, 0.5) * pow(b.n, 0.3)) AS s FROM t a CROSS JOIN t b WHERE b.n < 10000"


class Observed:
    """Reports, and the cancellation of the statement once it has made some progress in a phase."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self.phase = ""
        self.connection: Connection | None = None
        self.canceled_at = 0.0

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)
        if progress.phase == self.phase and progress.share is not None and not self.canceled_at:
            self.canceled_at = time.monotonic()
            # From another thread, as the callback may run in that of the statement.
            assert self.connection is not None
            threading.Thread(target=self.connection.cancel).start()

    def cancel_in(self, phase: str, connection: Connection) -> None:
        """Cancels what the connection executes next, when some of the phase is done."""
        self.told, self.phase, self.connection, self.canceled_at = [], phase, connection, 0.0


@pytest.fixture(params=CLIENTS)
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def observed() -> Observed:
    return Observed()


@pytest.fixture
def connection(tmp_path: Path, engine: Engine, observed: Observed) -> Iterator[Connection]:
    with Connection(Session(tmp_path / "w", engine, progress=observed)) as opened:
        opened.execute("CREATE TABLE t (n BIGINT)")
        opened.append("t", pa.table({"n": pa.array(range(50_000), pa.int64())}))
        opened.execute("SELECT COUNT(*) FROM t").fetchall()
        yield opened


def canceled(observed: Observed, phase: str, statement: str, connection: Connection) -> None:
    observed.cancel_in(phase, connection)
    with pytest.raises(rewriter.OperationalError) as caught:
        connection.execute(statement)
    ended = time.monotonic()
    assert caught.value.condition == "OPERATION_CANCELED"
    assert observed.canceled_at, [report.phase for report in observed.told]
    assert ended - observed.canceled_at < SOON


def test_a_query_and_a_write_report_and_are_canceled(
    connection: Connection, observed: Observed, request: pytest.FixtureRequest
) -> None:
    canceled(observed, "running", LONG, connection)
    running = [report for report in observed.told if report.phase == "running" and report.total]
    unit = "percent" if connection.session.engine_name == "duckdb" else "tasks"
    assert {report.unit for report in running} == {unit}
    assert all(0 <= report.done <= (report.total or 0) for report in running)
    if request.node.callspec.params["engine"] == "connect":
        return  # The canceled task still has a core, and writes are those of the classic Spark.
    connection.execute("CREATE TABLE u (s DOUBLE)")
    canceled(observed, "writing", f"INSERT INTO u {LONG}", connection)
    assert connection.execute("SELECT COUNT(*) FROM u").fetchall() == [(0,)]
    assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]


def doubled(levels: int) -> str:
    """Returns a query that Spark plans for a long time: each of its parts reads the one before twice."""
    parts = ["c0 AS (SELECT n FROM t)"]
    for level in range(1, levels + 1):
        parts.append(f"c{level} AS (SELECT n + 1 AS n FROM c{level - 1} UNION ALL SELECT n * 2 AS n FROM c{level - 1})")
    return f"WITH {', '.join(parts)} SELECT SUM(n) AS s FROM c{levels}"


@pytest.mark.parametrize("engine", CLIENTS[1:], indirect=True)
def test_a_query_that_is_being_planned_is_canceled(connection: Connection, tmp_path: Path) -> None:
    """While it is analyzed, and while it is optimized: jobs that it starts later are canceled, too."""
    connection.execute("CREATE TABLE u (s BIGINT)")
    before = sorted(tmp_path.rglob("*.parquet"))
    for after, statement in ((0.7, doubled(10)), (3.0, f"INSERT INTO u {doubled(10)}")):
        thread = threading.Timer(after, connection.cancel)
        thread.start()
        started = time.monotonic()
        with pytest.raises(rewriter.OperationalError) as caught:
            connection.execute(statement)
        assert caught.value.condition == "OPERATION_CANCELED"
        assert time.monotonic() - started < after + SOON
        assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]
    assert sorted(tmp_path.rglob("*.parquet")) == before


def read_all(cursor: rewriter.Cursor) -> None:
    while cursor.fetchone() is not None:
        pass


def test_rows_that_are_being_read_are_canceled(connection: Connection) -> None:
    query = "SELECT a.n AS a, b.n AS b FROM t a CROSS JOIN t b"
    if connection.session.engine_name == "spark":
        query += " LIMIT 2000000"
    cursor = connection.execute(query)
    asked: list[float] = []

    def cancel() -> None:
        asked.append(time.monotonic())
        connection.cancel()

    threading.Timer(0.3, cancel).start()
    with pytest.raises(rewriter.OperationalError) as caught:
        read_all(cursor)
    assert caught.value.condition == "OPERATION_CANCELED"
    assert time.monotonic() - asked[0] < SOON
    assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]


@pytest.mark.usefixtures("spark")
def test_the_start_of_spark_is_a_phase_and_the_doctor_starts_it(tmp_path: Path) -> None:
    told: list[Progress] = []
    with rewriter.connect(tmp_path / "w", engine="spark", progress=told.append) as connection:
        connection.execute("SELECT 1").fetchall()
        assert Progress("starting", subject="Spark") in told
        told.clear()
        connection.execute("SELECT 2").fetchall()
        assert "starting" not in {report.phase for report in told}
    (check,) = spark_check(None, is_started=True, is_chosen=True)
    assert check.status == "ok"
    assert check.detail.startswith("It started, and a query ran")
