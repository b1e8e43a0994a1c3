"""Progress of a statement: the calls of a callback, and the line on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.runtime import progress as module
from rewriter.runtime.progress import Progress, ProgressReporter, contents

ROWS = ", ".join(f"({number}, {number % 40})" for number in range(400))
INSERT = f"INSERT INTO t VALUES {ROWS}"


def run(warehouse: Path, *statements: str) -> list[Progress]:
    """Returns the reports of the statements."""
    told: list[Progress] = []
    with rewriter.connect(warehouse, engine="duckdb", progress=told.append) as connection:
        for statement in statements:
            connection.execute(statement)
    return told


def phases(told: list[Progress]) -> list[str]:
    """Returns the phases in order, without consecutive repetitions."""
    return [report.phase for at, report in enumerate(told) if at == 0 or told[at - 1].phase != report.phase]


@pytest.mark.parametrize("where", ["", "LOCATION '{place}'"])
def test_an_insert_plans_writes_and_commits(tmp_path: Path, where: str) -> None:
    create = f"CREATE TABLE t (x BIGINT) PARTITIONED BY (day BIGINT) {where.format(place=tmp_path / 'there')}"
    told = run(tmp_path / "w", create, INSERT)
    assert phases(told) == ["planning", "writing", "committing"]
    assert told[-1] == Progress("committing", 0, 40, "partitions")


def test_create_table_as_and_several_inserts(tmp_path: Path) -> None:
    run(tmp_path, "CREATE TABLE s (x BIGINT, day BIGINT)", f"INSERT INTO s VALUES {ROWS}")
    told = run(tmp_path, "CREATE TABLE t PARTITIONED BY (day) AS SELECT * FROM s")
    assert phases(told)[-2:] == ["writing", "committing"]
    run(tmp_path, "CREATE TABLE u (x BIGINT)", "CREATE TABLE v (x BIGINT)")
    told = run(tmp_path, "FROM t INSERT INTO u SELECT x INSERT INTO v SELECT x")
    assert phases(told)[-1] == "committing"
    assert told[-1].total == 2


def test_files_are_counted_while_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.01)
    numbers = pa.array(range(1_000_000))
    pq.write_table(pa.table({"x": numbers, "day": pa.array([n % 40 for n in range(1_000_000)])}), tmp_path / "source")
    long = f"INSERT INTO t SELECT x, day FROM parquet.`{tmp_path}/source`"
    told = run(tmp_path / "w", "CREATE TABLE t (x BIGINT) PARTITIONED BY (day BIGINT)", long)
    seen = [report for report in told if report.phase == "writing"]
    assert len(seen) > 1
    assert seen[-1].done > 0
    assert seen[-1].bytes > 0
    assert seen[-1].unit == "files"


def test_msck_lists_checks_and_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)
    directory = tmp_path / "there"
    for day in range(100):
        (directory / f"day={day}").mkdir(parents=True)
    create = f"CREATE EXTERNAL TABLE t (x BIGINT) PARTITIONED BY (day INT) LOCATION '{directory}'"
    told = run(tmp_path / "w", create, "MSCK REPAIR TABLE t")
    assert phases(told) == ["listing", "checking", "committing"]
    assert told[-1] == Progress("committing", 0, 100, "partitions")
    assert [report for report in told if report.phase == "checking"][-1] == Progress(
        "checking", 100, 100, "directories"
    )
    assert phases(run(tmp_path / "w", "MSCK REPAIR TABLE t SYNC PARTITIONS")) == ["checking", "listing", "checking"]


def test_it_is_told_a_few_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    told: list[Progress] = []
    advance = ProgressReporter(told.append).counter("listing", "directories")
    for _ in range(1000):
        now += 0.001
        advance(1)
    assert len(told) in (4, 5)
    assert told[0].done == 0
    assert told[-1].done > 700


def test_who_fails_to_listen_changes_nothing(tmp_path: Path) -> None:
    def fail(_: Progress) -> None:
        raise ValueError("full")

    with rewriter.connect(tmp_path, engine="duckdb", progress=fail) as connection:
        connection.execute("CREATE TABLE t (x BIGINT) PARTITIONED BY (day BIGINT)")
        with pytest.warns(RuntimeWarning, match="full"):
            assert connection.execute(INSERT).rowcount == 400
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            connection.execute("SHOW PARTITIONS t")


def test_hidden_files_are_an_engines_own(tmp_path: Path) -> None:
    for name in ("_temporary/0/a", ".b", "c=_1/d", "c=2/e", "f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12")
    assert contents(str(tmp_path)) == (3, 6)
    assert contents(str(tmp_path / "nowhere")) == (0, 0)


SQL = f"CREATE TABLE t (x BIGINT) PARTITIONED BY (day BIGINT); {INSERT}; SHOW PARTITIONS t LIMIT 1"


def command(warehouse: Path) -> list[str]:
    return [sys.executable, "-m", "rewriter", "sql", "-w", str(warehouse), "--engine", "duckdb", "-e", SQL]


def test_nothing_is_left_on_a_terminal(tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    child = subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += (more := os.read(master, 1000))
        except OSError:  # Linux says so where the other end is closed
            break
        if not more:
            break
    os.close(master)
    out = child.communicate()[0]
    assert child.returncode == 0
    assert b"day=0" in out
    assert b"\x1b" not in out
    assert not shown or shown.endswith(b"\x1b[2K")  # On a slow machine, a line was shown, and removed.


def test_what_is_no_terminal_stays_clean(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path), capture_output=True, check=True)
    assert done.stderr == b""


LONG = "SELECT SUM(pow(a.id, 0.5) * pow(b.id, 0.3)) AS s FROM t a CROSS JOIN t b"


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """A warehouse with the table ``t`` of numbers, so many that ``LONG`` takes about a second."""
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (id BIGINT)")
        connection.append("t", pa.table({"id": pa.array(range(12_000), pa.int64())}))
    return tmp_path / "w"


def test_a_query_runs_by_percent(numbers: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = run(numbers, LONG)
    assert phases(told) == ["planning", "running"]
    running = [report for report in told if report.phase == "running" and report.total]
    assert {(report.total, report.unit) for report in running} == {(100, "percent")}
    assert 0 < running[-1].done <= 100
    assert capfd.readouterr() == ("", "")  # DuckDB has a bar of its own.


def test_without_a_callback_nothing_is_measured(numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewriter.exec.duckdb.engine import _OpenedQuery

    monkeypatch.setattr(_OpenedQuery, "measure", lambda _: pytest.fail("measured"))
    with rewriter.connect(numbers, engine="duckdb") as connection:
        connection.execute(LONG).fetchall()


def test_rows_are_computed_while_they_are_read(numbers: Path) -> None:
    told: list[Progress] = []
    with rewriter.connect(numbers, engine="duckdb", progress=told.append) as connection:
        cursor = connection.execute("SELECT a.id AS a FROM t a CROSS JOIN t b WHERE pow(a.id * b.id, 0.3) % 7.0 = 1.0")
        cursor.fetchall()
    assert "running" in phases(told)


def test_a_write_has_the_share_of_its_query(numbers: Path) -> None:
    told = run(numbers, "CREATE TABLE u (s DOUBLE)", f"INSERT INTO u {LONG}")
    assert phases(told) == ["planning", "writing", "committing"]
    writing = [report for report in told if report.phase == "writing"]
    assert writing[-1].fraction
    assert writing[-1].share == writing[-1].fraction
    assert (writing[-1].unit, writing[-1].total) == ("files", None)


def test_a_part_belongs_to_its_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)
    told: list[Progress] = []
    reporter = ProgressReporter(told.append)
    whole = Progress("compacting", 10, 40, "partitions", subject="t")
    with reporter.within(whole, 20):
        reporter.report("running", 50, 100, "percent")
        with reporter.within(Progress("checking")):
            reporter.report("committing", total=5, unit="partitions")
        reporter.report("waiting", subject="another writer")
    reporter.report("running", 1, 2, "tasks")
    half = Progress("compacting", 10, 40, "partitions", subject="t", fraction=0.5)
    assert told == [
        whole,
        half,
        half,
        Progress("waiting", subject="another writer"),
        Progress("running", 1, 2, "tasks"),
    ]
