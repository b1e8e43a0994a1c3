"""Progress of a statement: the calls of a callback, and the line on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.runtime import progress as module
from rewriter.runtime.progress import Progress, ProgressReporter, contents
from rewriter.terminal.progress_line import ProgressLine, line

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


@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        (Progress("planning"), "Planning …"),
        (Progress("writing", unit="files"), "Writing …"),
        (Progress("writing", 1234, None, "files", 5_600_000), "Writing: 1,234 files, 5.6 MB"),
        (Progress("writing", 1, None, "files", 999), "Writing: 1 files, 999 bytes"),
        (Progress("checking", 300, 10_000, "directories"), "Checking: 300 of 10,000 directories"),
        (Progress("committing", 0, 365, "partitions"), "Committing 365 partitions …"),
    ],
)
def test_a_line(progress: Progress, shown: str) -> None:
    assert line(progress) == shown


SQL = f"CREATE TABLE t (x BIGINT) PARTITIONED BY (day BIGINT); {INSERT}; SHOW PARTITIONS t LIMIT 1"


def command(warehouse: Path) -> list[str]:
    return [sys.executable, "-m", "rewriter", "sql", "-w", str(warehouse), "--engine", "duckdb", "-e", SQL]


def test_a_terminal_shows_one_line_and_then_none(tmp_path: Path) -> None:
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
    text = shown.decode()
    assert "\r\x1b[2KPlanning …" in text
    assert "\r\x1b[2KCommitting 40 partitions …" in text
    assert text.endswith("\r\x1b[2K")
    assert "\n" not in text


def test_a_line_is_no_wider_than_its_terminal() -> None:
    master, terminal = pty.openpty()
    try:
        for columns, shown in ((20, b"Committing 12,345,6"), (0, b"Committing 12,345,678 partitions \xe2\x80\xa6")):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            with open(terminal, "w", encoding="utf-8", closefd=False) as stream:
                ProgressLine(stream)(Progress("committing", 0, 12_345_678, "partitions"))
            assert os.read(master, 1000) == b"\r\x1b[2K" + shown
    finally:
        os.close(terminal)
        os.close(master)


def test_what_is_no_terminal_stays_clean(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path), capture_output=True, check=True)
    assert done.stderr == b""
