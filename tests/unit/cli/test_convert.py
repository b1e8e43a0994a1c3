"""``rewriter convert``: where the script goes, what is reported, and the exit code."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rewriter.cli.main import main
from rewriter.session import Session

QUERY = "SELECT 1 / a AS q FROM v;\n"
TABLE = "CREATE TABLE v (a INT);\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "job.hql"
    path.write_text(TABLE + QUERY, encoding="utf-8")
    return path


def test_the_script_goes_to_stdout_and_the_report_to_stderr(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(script)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{TABLE}SELECT try_divide(1, a) /* rewriter: ")
    assert captured.err == "2 statements: 1 changed, 0 not converted.\n"


def test_it_goes_into_a_file(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(script), "-o", str(tmp_path / "new.sql")]) == 0
    assert capsys.readouterr().out == ""
    assert "try_divide" in (tmp_path / "new.sql").read_text(encoding="utf-8")
    assert main(["convert", str(script), "-o", str(tmp_path / "none" / "new.sql")]) != 0


def test_differences_alone(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(script), "--diff"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"--- {script}", f"+++ {script} (converted)"]
    assert lines[4] == f"-{QUERY.rstrip()}"


def test_check_writes_no_script(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(script), "--check"]) == 1
    assert capsys.readouterr().out == ""
    script.write_text(TABLE, encoding="utf-8")
    assert main(["convert", str(script), "--check"]) == 0
    assert main(["convert", str(script), "--check", "--diff"]) == 2


def test_the_dialect_is_that_of_the_name_or_of_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def converted(*options: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(TABLE + QUERY))
        main(["convert", "-", *options])
        return capsys.readouterr().out

    assert converted() == TABLE + QUERY
    assert "try_divide" in converted("--lenient")
    assert "try_divide" in converted("--from", "hive")


def test_a_statement_that_is_not_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.sql"
    path.write_text("SELECT 1;\n\nMERGE INTO v USING w ON TRUE;", encoding="utf-8")
    assert main(["convert", str(path)]) == 1
    assert capsys.readouterr().err.startswith(
        f"{path}:3: MERGE INTO v USING w ON TRUE\n  MERGE is not supported.\n  Hint: "
    )


def test_a_script_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.sql"
    path.write_text("SELECT 'x", encoding="utf-8")
    assert main(["convert", str(path)]) == 2
    assert "This string is not closed." in capsys.readouterr().err
    path.write_bytes(b"SELECT '\xff'")
    assert main(["convert", str(path)]) != 0
    assert main(["convert", str(tmp_path / "none.sql")]) != 0
    assert "Traceback" not in capsys.readouterr().err


def test_types_of_a_warehouse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.hql"
    path.write_text("SELECT CAST(s AS INT) AS i FROM t;\n", encoding="utf-8")
    with Session(tmp_path / "warehouse", "duckdb") as session:
        session.execute("CREATE TABLE t (s STRING) PARTITIONED BY (dt STRING)")
    assert main(["convert", str(path)]) == 1
    assert main(["convert", str(path), "-w", str(tmp_path / "warehouse")]) == 0
    assert "TRY_CAST(CASE WHEN s RLIKE" in capsys.readouterr().out
    assert main(["convert", str(path), "-w", str(tmp_path / "nowhere")]) != 0
    assert main(["convert", str(path), "--catalog", "postgresql://x"]) == 2
