"""REFRESH FACT … MAX n PARTITIONS: shares of several workers, their claims, and what a dead worker leaves."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.errors import AnalysisError, ConflictError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.session import Session

DAYS = [f"2024-01-{day:02d}" for day in range(1, 13)]
SETUP = (
    "CREATE TABLE hours (item STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (item STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE weeks (item STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE CUBE sales (item STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'), "
    "TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (dt), TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
    "INSERT INTO hours VALUES "
    + ", ".join(f"('{item}', 1, '{day}-{hour:02d}')" for item in "ab" for day in DAYS for hour in range(24)),
)

#: A worker takes shares until nothing is left. It prints the days of each write; ``stuck`` sleeps in the first one.
WORKER = """
import json, sys, time
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

warehouse, url, seconds, stuck = sys.argv[1], sys.argv[2] or None, sys.argv[3], sys.argv[4] == "stuck"

class Recorded(DuckDBEngine):
    def write(self, query, write):
        files = super().write(query, write)
        print(json.dumps(sorted({file.values[0] for file in files})), flush=True)
        time.sleep(600 if stuck else 0.05)
        return files

with Session(warehouse, Recorded(), catalog=url) as session:
    session.execute(f"SET rewriter.claim_seconds = {seconds}")
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        statuses = {row[5] for row in session.execute("REFRESH FACT f MAX 2 PARTITIONS").fetch()}
        if not statuses:
            break
        if "refreshed" not in statuses:
            time.sleep(0.05)
"""


class Acting(DuckDBEngine):
    """DuckDB that lets others act before its next write."""

    before_writing: Callable[[], object] = staticmethod(lambda: None)

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        act, self.before_writing = self.before_writing, lambda: None
        act()
        return super().write(query, write)


@pytest.fixture
def engine() -> Iterator[Acting]:
    engine = Acting()
    yield engine
    engine.close()


@pytest.fixture
def session(engine: Acting, tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine, catalog=catalog_url) as opened:
        for statement in SETUP:
            opened.execute(statement)
        yield opened


@pytest.fixture
def other(session: Session, duckdb: DuckDBEngine, tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    """A second session with a catalog of its own."""
    with Session(tmp_path / "warehouse", duckdb, catalog=catalog_url) as opened:
        yield opened


def _refresh(session: Session, rest: str = "") -> list[tuple[Any, ...]]:
    """Returns rows of (table, from, was, status, partitions)."""
    rows = session.execute(f"REFRESH FACT f {rest}").fetch()
    return [(table, first, was, status, count) for table, _, first, _, was, status, count in rows]


def _claims(session: Session) -> int:
    """Returns the number of claims whose transaction is open."""
    row, transaction = schema.refresh_claims.c, schema.transactions.c
    query = sa.select(sa.func.count()).where(row.transaction_id == transaction.transaction_id)
    with session.catalog.database.read() as connection:
        return connection.execute(query.where(transaction.state == "open")).scalar_one()


def _silence(session: Session, seconds: float) -> None:
    """Makes all open transactions silent for some time."""
    row = schema.transactions
    with session.catalog.database.write() as connection:
        beat = row.c.heartbeat_at - seconds
        connection.execute(sa.update(row).where(row.c.state == "open").values(heartbeat_at=beat))


def test_the_oldest_partitions_come_first_and_the_rest_is_left(session: Session) -> None:
    left = "left: MAX was reached"
    assert _refresh(session, "MAX 3 PARTITIONS DRY RUN") == [
        ("weeks", "2024-01-01", "missing", "to refresh", 1),
        ("days", "2024-01-01", "missing", "to refresh", 2),
        ("days", "2024-01-03", "missing", left, 10),
    ]
    assert _refresh(session, "MAX 3 PARTITIONS") == [
        ("weeks", "2024-01-01", "missing", "refreshed", 1),
        ("days", "2024-01-01", "missing", "refreshed", 2),
        ("days", "2024-01-03", "missing", left, 10),
    ]
    session.execute("INSERT INTO hours VALUES ('c', 1, '2024-01-02-05')")
    assert _refresh(session, "FROM '2024-01-02' TO '2024-01-06' MAX 2 PARTITIONS") == [
        ("weeks", "2024-01-01", "outdated", "refreshed", 1),
        ("days", "2024-01-02", "outdated", "refreshed", 1),
        ("days", "2024-01-03", "missing", left, 3),
    ]
    assert _refresh(session, "MAX 100 PARTITIONS") == [("days", "2024-01-03", "missing", "refreshed", 10)]
    assert _refresh(session, "MAX 100 PARTITIONS") == []
    total = session.execute("SELECT SUM(n) FROM days").fetch()
    assert total == session.execute("SELECT SUM(n) FROM hours").fetch() == [(2 * 24 * 12 + 1,)]
    assert _claims(session) == 0


def test_what_another_statement_refreshes_is_left_to_it(session: Session, engine: Acting, other: Session) -> None:
    seen: list[list[tuple[Any, ...]]] = []

    def act() -> None:
        # The other session has claimed the week: the second takes the two oldest days, and reports the week.
        seen.append(_refresh(other, "MAX 2 PARTITIONS DRY RUN"))
        seen.append(_refresh(other, "MAX 2 PARTITIONS"))

    engine.before_writing = act
    assert _refresh(session, "MAX 1 PARTITIONS")[0] == ("weeks", "2024-01-01", "missing", "refreshed", 1)
    rest = [("days", "2024-01-03", "missing", "left: MAX was reached", 10)]
    taken = ("weeks", "2024-01-01", "missing", "left: another statement refreshes it", 1)
    assert seen == [
        [taken, ("days", "2024-01-01", "missing", "to refresh", 2), *rest],
        [taken, ("days", "2024-01-01", "missing", "refreshed", 2), *rest],
    ]
    assert _refresh(session, "MAX 20 PARTITIONS") == [("days", "2024-01-03", "missing", "refreshed", 10)]


def test_an_error_ends_the_claim(session: Session, engine: Acting, other: Session) -> None:
    def fail() -> None:
        assert _claims(other) == 1
        raise AnalysisError("no power", condition="UNSUPPORTED")

    engine.before_writing = fail
    with pytest.raises(AnalysisError, match="no power"):
        _refresh(session, "MAX 1 PARTITIONS")
    assert _claims(other) == 0
    assert _refresh(other, "MAX 1 PARTITIONS")[0] == ("weeks", "2024-01-01", "missing", "refreshed", 1)


def test_a_worker_that_only_slept_cannot_commit(session: Session, engine: Acting, other: Session) -> None:
    def overtake() -> None:
        _silence(other, 121)
        assert _refresh(other, "MAX 1 PARTITIONS")[0] == ("weeks", "2024-01-01", "missing", "refreshed", 1)

    engine.before_writing = overtake
    before = sorted((session.catalog.warehouse).rglob("*"))
    with pytest.raises(ConflictError) as caught:
        _refresh(session, "MAX 1 PARTITIONS")
    assert caught.value.condition == "TRANSACTION_NOT_OPEN"
    after = {path for path in session.catalog.warehouse.rglob("*") if path.is_file()} - set(before)
    assert len({path for path in after if path.suffix == ".parquet"}) == 1
    assert session.execute("SELECT SUM(n) FROM weeks").fetch() == [(2 * 24 * 7,)]


def test_a_changed_fact_stops_the_statement(session: Session, engine: Acting, other: Session) -> None:
    engine.before_writing = lambda: other.execute("ALTER FACT f SET LATENESS '1 hour'")
    with pytest.raises(ConflictError, match="changed during REFRESH FACT") as caught:
        _refresh(session, "MAX 9 PARTITIONS")
    assert caught.value.retryable
    assert _claims(session) == 0


class _Worker:
    """A worker in a process of its own."""

    def __init__(self, warehouse: Path, url: str | None, seconds: int = 120, stuck: str = "") -> None:
        arguments = [sys.executable, "-c", WORKER, str(warehouse), url or "", str(seconds), stuck]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def start(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def written(self) -> list[str]:
        """Returns the names of the partitions that it has written, when it has ended."""
        out, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0
        return [day for line in out.splitlines() for day in json.loads(line)]


def test_two_workers_do_everything_once(session: Session, catalog_url: str | None) -> None:
    workers = [_Worker(session.catalog.warehouse, catalog_url) for _ in range(2)]
    for worker in workers:
        worker.start()
    shares = [worker.written() for worker in workers]
    assert all(shares)
    # The days from the 1st to the 12th, and the week that is complete.
    assert sorted(shares[0] + shares[1]) == sorted([*DAYS, "2024-W01"])
    assert _refresh(session) == []
    assert session.execute("SELECT COUNT(*), SUM(n) FROM days").fetch() == [(2 * 12, 2 * 24 * 12)]
    assert _claims(session) == 0


def test_the_share_of_a_killed_worker_is_taken_over(session: Session, catalog_url: str | None) -> None:
    worker = _Worker(session.catalog.warehouse, catalog_url, seconds=3600, stuck="stuck")
    worker.start()
    assert json.loads(worker.line()) == ["2024-W01"]
    worker.process.kill()
    worker.process.communicate()
    taken = ("weeks", "2024-01-01", "missing", "left: another statement refreshes it", 1)
    assert _refresh(session, "MAX 5 PARTITIONS") == [
        taken,
        ("days", "2024-01-01", "missing", "refreshed", 5),
        ("days", "2024-01-06", "missing", "left: MAX was reached", 7),
    ]
    assert _refresh(session, "MAX 7 PARTITIONS") == [taken, ("days", "2024-01-06", "missing", "refreshed", 7)]
    _silence(session, 3601)
    assert _refresh(session, "MAX 7 PARTITIONS") == [("weeks", "2024-01-01", "missing", "refreshed", 1)]
    assert _claims(session) == 0


def test_a_claim_is_renewed_while_its_worker_works_and_expires_after_it(
    session: Session, catalog_url: str | None
) -> None:
    worker = _Worker(session.catalog.warehouse, catalog_url, seconds=1, stuck="stuck")
    worker.start()
    assert json.loads(worker.line()) == ["2024-W01"]

    def beat() -> float:
        with session.catalog.database.read() as connection:
            row = schema.transactions.c
            return connection.execute(sa.select(row.heartbeat_at).where(row.state == "open")).scalar_one()

    first, deadline = beat(), time.monotonic() + 60
    while beat() == first and time.monotonic() < deadline:
        time.sleep(0.1)
    assert beat() > first
    worker.process.kill()
    worker.process.communicate()
    refreshed: list[tuple[Any, ...]] = []
    while not refreshed and time.monotonic() < deadline:
        rows = _refresh(session, "MAX 1 PARTITIONS")
        refreshed = [row for row in rows if row[:4] == ("weeks", "2024-01-01", "missing", "refreshed")]
        time.sleep(0.1)
    assert len(refreshed) == 1
