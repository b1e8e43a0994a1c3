"""The command ``rewriter doctor``, and its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rewriter
from rewriter.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "doctor.md"
_MARK = re.compile(r"\[(ok|warning|error|skipped)\] +([A-Za-z ]+):")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("REWRITER_WAREHOUSE", "REWRITER_ENGINE", "REWRITER_CATALOG", "REWRITER_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_the_table_of_the_page_lists_the_checks(capsys: pytest.CaptureFixture[str]) -> None:
    with rewriter.connect("data/warehouse", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (n BIGINT)")
    assert main.main(["doctor", "-w", "data/warehouse", "--engine", "duckdb"]) == 0
    page = PAGE.read_text(encoding="utf-8")
    table = {row.split("|")[1].strip() for row in page.splitlines() if row.startswith("| ")} - {"check", "---"}
    assert table == {name for _, name in _MARK.findall(capsys.readouterr().out)} | {"Names of files"}


def test_errors_end_with_one_and_nothing_is_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main.main(["doctor", "-w", "w", "--profile", "none"]) == 1
    assert "[error]   Configuration: There is no profile 'none'" in capsys.readouterr().out
    assert main.main(["doctor", "-w", "w"]) in (0, 1)  # 1 on a machine without Java
    assert list(tmp_path.iterdir()) == []


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert main.main(["doctor", "-w", "file", "--engine", "duckdb", "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)
    assert {tuple(check) for check in checks} == {("name", "status", "detail", "advice")}
    (warehouse,) = (check for check in checks if check["name"] == "Warehouse")
    assert warehouse["status"] == "error"


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["doctor", "--sparc"]) == 2
    assert "--spark" in capsys.readouterr().err
