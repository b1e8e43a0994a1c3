"""Statements of maintenance: their progress, and that a request to cancel during it ends them and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import rewriter
from rewriter.runtime import progress as module
from rewriter.runtime.progress import Progress

#: Statements, and the first report of their phase.
CASES = {
    "REFRESH FACT f FORCE": Progress("refreshing", 0, 3, "partitions", subject="days"),
    "CHECK FACT f": Progress("checking", 0, 2, "comparisons", subject="hours"),
    "ALTER TABLE plain COMPACT": Progress("compacting", 0, 2, "partitions", subject="plain"),
    "ANALYZE TABLE plain COMPUTE STATISTICS FOR ALL COLUMNS": Progress("analyzing", subject="plain"),
    "ANALYZE TABLES IN default COMPUTE STATISTICS": Progress("analyzing", 0, 4, "tables", subject="days"),
    "VACUUM RETAIN 0 HOURS": Progress("removing", 0, 4, "files"),
    "MSCK REPAIR TABLE outside": Progress("listing", 0, None, "directories"),
    "INSERT INTO plain SELECT * FROM plain": Progress("writing", 0, None, "files"),
    "CREATE TABLE copy AS SELECT * FROM plain": Progress("writing", 0, None, "files"),
}


class Reports:
    """Collects reports; ``cancel_in`` names the phase in which it cancels the statement."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self.cancel_in = ""
        self.connection: rewriter.Connection | None = None

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)
        if progress.phase == self.cancel_in:
            assert self.connection is not None
            self.connection.cancel()


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Reports:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)
    return Reports()


@pytest.fixture
def connection(tmp_path: Path, reports: Reports) -> Iterator[rewriter.Connection]:
    with rewriter.connect(tmp_path / "w", engine="duckdb", progress=reports) as opened:
        reports.connection = opened
        opened.execute("CREATE CUBE c (carrier STRING, flights BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        for table in ("hours", "days"):
            opened.execute(f"CREATE TABLE {table} (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING)")
        opened.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
            "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
        )
        opened.execute(
            "INSERT INTO hours PARTITION (dt) MARK COMPLETE FROM '2013-01-01' TO '2013-01-04' "
            "VALUES ('AA', 1, '2013-01-01-00'), ('AA', 2, '2013-01-02-05')"
        )
        opened.execute("REFRESH FACT f")
        opened.execute("CREATE TABLE plain (n BIGINT, p INT) PARTITIONED BY (p)")
        for _ in range(2):
            opened.append("plain", pa.table({"n": pa.array([1, 2]), "p": pa.array([1, 2], pa.int32())}))
        for day in range(3):
            (tmp_path / "outside" / f"d={day}").mkdir(parents=True)
        opened.execute(
            f"CREATE EXTERNAL TABLE outside (n BIGINT) PARTITIONED BY (d INT) LOCATION '{tmp_path / 'outside'}'"
        )
        opened.execute("CREATE TABLE old (n BIGINT, p INT) PARTITIONED BY (p)")
        for _ in range(4):
            opened.append("old", pa.table({"n": pa.array([1]), "p": pa.array([1], pa.int32())}))
        opened.execute("DROP TABLE old")
        opened.execute("SET rewriter.least_retention_hours = 0")
        reports.told.clear()
        yield opened


@pytest.mark.parametrize("statement", CASES)
def test_a_statement_reports_its_progress(connection: rewriter.Connection, reports: Reports, statement: str) -> None:
    connection.execute(statement)
    expected = CASES[statement]
    assert expected in reports.told
    assert next(report for report in reports.told if report.phase == expected.phase) == expected


@pytest.mark.parametrize("statement", CASES)
def test_a_request_ends_a_statement(
    connection: rewriter.Connection, reports: Reports, statement: str, tmp_path: Path
) -> None:
    sequence = connection.session.catalog.snapshot().sequence
    files = sorted((tmp_path / "w").rglob("*.parquet"))
    reports.cancel_in = CASES[statement].phase
    with pytest.raises(rewriter.OperationalError) as caught:
        connection.execute(statement)
    assert caught.value.condition == "OPERATION_CANCELED"
    assert connection.session.catalog.snapshot().sequence == sequence
    assert sorted((tmp_path / "w").rglob("*.parquet")) == files
    assert not connection.session.catalog.snapshot().transactions.open
    reports.cancel_in = ""
    connection.execute(statement)
    assert connection.execute("SELECT flights FROM c WHERE t < TIMESTAMP '2013-01-02'").fetchall() == [(1,)]


def test_vacuum_counts_what_it_removes(connection: rewriter.Connection, reports: Reports) -> None:
    connection.execute("VACUUM RETAIN 0 HOURS")
    assert reports.told[-1] == Progress("removing", 4, 4, "files")
    assert reports.told[-1].share == 1.0
