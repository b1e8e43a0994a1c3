"""``rewriter init``: the proposed statement, and what it says of files that it cannot use."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from terminals import Terminal

from rewriter.cli import main
from rewriter.session import Session


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, count: int = 3000, **others: Any) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    times = pa.array([datetime(2024, 1, 1) + timedelta(minutes=n) for n in range(count)], pa.timestamp("us", "UTC"))
    columns = {
        "at": times,
        "page": [f"p{n % 5}" for n in range(count)],
        "user_id": pa.array(range(count), pa.int64()),
        "ms": pa.array([n % 100 for n in range(count)], pa.int32()),
    }
    pq.write_table(pa.table({**columns, **others}), path)


def test_a_directory_becomes_a_statement_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    write("page views/a.parquet")
    assert main.main(["init", "page views", "--yes"]) == 0
    assert Path("cube.sql").read_text() == (
        "-- Proposed by rewriter init. Events: 3,000, from 2024-01-01 00:00:00 to 2024-01-03 01:59:00. Files: 1.\n"
        "CREATE CUBE page_views FROM parquet.`page views`\n"
        "  TIME at  -- the only column of its type\n"
        "  DIMENSIONS (\n"
        "    page,  -- 5 values\n"
        "    user_id  -- 3,000 values, too many for the rollups below\n"
        "  )\n"
        "  MEASURES (\n"
        "    COUNT(*) AS `events`,  -- the number of events\n"
        "    SUM(ms) AS ms  -- INT; or MAX, MIN\n"
        "  )\n"
        "  ROLLUPS (DAILY (page), MONTHLY (page))  -- days are the partitions of the events: about 1,000 a day\n"
        "  -- TIME ZONE 'Europe/Berlin'  if your days do not begin at midnight in UTC\n"
        ";\n"
    )
    assert "CREATE FACT page_views_all" in capsys.readouterr().out
    with Session("warehouse", engine="duckdb") as session:
        assert list(session.execute("SELECT COUNT(*) FROM page_views").rows()) == [(3000,)]


def test_at_a_terminal_it_asks(tmp_path: Path) -> None:
    write("logs/a.parquet")
    for answer, is_made in (("n", False), ("y", True)):
        Path("cube.sql").unlink(missing_ok=True)
        with Terminal([sys.executable, "-m", "rewriter", "init", "logs"], tmp_path) as terminal:
            terminal.until("Run it now? [y/N]:")
            terminal.type(f"{answer}\r")
            terminal.until("REFRESH FACT logs_all" if is_made else "then run: rewriter -f cube.sql")
            assert terminal.end() == 0
        assert Path("warehouse").exists() is is_made


def test_the_proposal_knows_volume_zone_and_directories(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewriter.cli.init._MANY_A_DAY", 100)
    monkeypatch.setattr("rewriter.cli.init._SAMPLE", 50)
    local = pa.array([datetime(2024, 1, 1) + timedelta(minutes=n) for n in range(300)], pa.timestamp("us"))
    write("logs/day=2024-01-01/a.parquet", 300, at=local)
    assert main.main(["init", "logs"]) == 0
    proposed = Path("cube.sql").read_text()
    assert "-- The numbers of values are those of the first 50 events." in proposed
    assert "-- or FROM parquet.`logs` EXTERNAL, which copies no file" in proposed
    assert "ROLLUPS (HOURLY, DAILY, MONTHLY)  -- hours are the partitions of the events: about 300 a day" in proposed
    assert "-- The times in the files have no zone, and are read as UTC. TIME ZONE" in proposed


def test_without_a_terminal_it_runs_nothing_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    write("logs/day=1/a.parquet")
    assert main.main(["init", "logs", "--cube", "visits"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "Read cube.sql, then run: rewriter -f cube.sql\n"
    assert "CREATE CUBE visits FROM parquet.`logs/*/*.parquet`" in captured.out
    assert not Path("warehouse").exists()
    assert Path("rewriter.toml").read_text().startswith("[profiles.default]")
    assert main.main(["sql", "-f", "cube.sql"]) == 0
    assert main.main(["init", "logs"]) == 2
    assert "cube.sql exists." in capsys.readouterr().err


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("files", "arguments", "code", "message"),
    [
        ([], ["nowhere"], 2, "There is no file or directory nowhere."),
        (["e/a.parquet", "e/b.parquet"], ["e/a.parquet"], 0, ""),
        (["e/a.parquet", "e/b.parquet"], ["e/a.parquet", "e/b.parquet"], 0, ""),
        (["e/a.parquet", "e/b.parquet", "e/c.parquet"], ["e/a.parquet", "e/b.parquet"], 2, "e has other files, too"),
        (["e/a.parquet", "f/b.parquet"], ["e/a.parquet", "f/b.parquet"], 2, "files of one directory"),
        (["e/a.parquet", "e/f/b.parquet"], ["e"], 2, "directories of several depths"),
    ],
)
def test_the_files_that_it_takes(
    files: list[str], arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in files:
        write(file, 10)
    assert main.main(["init", *arguments]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    if code == 0:
        rows = 10 * len(arguments)
        assert f"Events: {rows}," in captured.out


def test_files_that_it_cannot_use(capsys: pytest.CaptureFixture[str]) -> None:
    write("e/a.parquet", 10)
    Path("e/b.parquet").write_text("no parquet")
    assert main.main(["init", "e"]) == 1
    assert "e/b.parquet cannot be read as Parquet" in capsys.readouterr().err
    write("e/b.parquet", 10, ms=[1.5] * 10)
    assert main.main(["init", "e"]) == 1
    assert "e/b.parquet and e/a.parquet have different columns: ms." in capsys.readouterr().err
    Path("e/notes.txt").write_text("a")
    assert main.main(["init", "e"]) == 2
    assert "The files end in parquet, txt." in capsys.readouterr().err
    Path("t.csv").write_text("at,n\n2024-01-01,3\n")
    assert main.main(["init", "t.csv"]) == 1
    captured = capsys.readouterr()
    assert "No column is a TIMESTAMP or DATE: at STRING, n STRING." in captured.err
    assert "to_timestamp" in captured.err
    assert not Path("cube.sql").exists()
