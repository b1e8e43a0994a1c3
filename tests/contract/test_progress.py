"""Progress of statements on each engine, and that a request to cancel ends them soon, wherever they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import rewriter
from rewriter.dbapi import Connection
from rewriter.exec.engine import Engine
from rewriter.runtime.progress import Progress
from rewriter.session import Session

CLIENTS = ["duckdb", "spark", "connect"]
#: The seconds until a canceled statement has ended.
SOON = 4.0
#: Takes some twenty seconds on either engine.
LONG = "SELECT SUM(pow(a.n, 0.5) * pow(b.n, 0.3)) AS s FROM t a CROSS JOIN t b WHERE b.n < 20000"


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


def test_a_query_and_a_write_report_and_are_canceled(connection: Connection, observed: Observed) -> None:
    canceled(observed, "running", LONG, connection)
    running = [report for report in observed.told if report.phase == "running" and report.total]
    unit = "percent" if connection.session.engine_name == "duckdb" else "tasks"
    assert {report.unit for report in running} == {unit}
    assert all(0 <= report.done <= (report.total or 0) for report in running)
    connection.execute("CREATE TABLE u (s DOUBLE)")
    canceled(observed, "writing", f"INSERT INTO u {LONG}", connection)
    assert connection.execute("SELECT COUNT(*) FROM u").fetchall() == [(0,)]
    assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]
