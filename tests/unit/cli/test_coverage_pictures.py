"""``rewriter coverage FACT --svg | --html``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from rewriter.cli import main

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt));
ALTER TABLE days ADD PARTITION (dt='2015-06-16') PARTITION (dt='2015-06-18')
"""


@pytest.fixture
def coverage(tmp_path: Path) -> list[str]:
    assert main.main(["sql", "-w", str(tmp_path / "w"), "--engine", "duckdb", "-e", SETUP]) == 0
    return ["coverage", "-w", str(tmp_path / "w")]


def test_pictures(coverage: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main.main([*coverage, "f", "--svg", "-"]) == 0
    svg = capsys.readouterr().out
    ElementTree.fromstring(svg)
    files = [str(tmp_path / name) for name in ("a.svg", "a.html")]
    assert (
        main.main([*coverage, "f", "--svg", files[0], "--html", files[1], "--require", "2015-06-16", "2015-06-17"]) == 0
    )
    assert capsys.readouterr().out == ""
    assert "[2015-06-16, 2015-06-17)" in Path(files[0]).read_text()
    assert Path(files[1]).read_text().startswith("<!DOCTYPE html>")


def test_errors_are_ours(coverage: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = {
        ("nope", "--svg", "-"): "[FACT_NOT_FOUND]",
        ("f; DROP TABLE days", "--svg", "-"): "[PARSE_SYNTAX_ERROR]",
        ("f", "--html", str(tmp_path / "no" / "a.html")): "[FAILED_WRITE_FILE]",
        ("f", "--svg", "-", "--require", "x", "y"): "Error: [",
        ("f", "--svg", "-", "--require", "2015-06-17", "2015-06-16"): "[INVALID_TIME_RANGE]",
        ("f", "--svg", "-", "--json"): "--json prints the list",
        ("f", "--svg", ""): "--svg needs the name of a file",
        ("f", "--html", "", "--json"): "--html needs the name of a file",
    }
    for words, message in cases.items():
        capsys.readouterr()
        assert main.main([*coverage, *words]) in (1, 2)
        captured = capsys.readouterr()
        assert message in captured.err
        assert "Traceback" not in captured.err
        assert captured.out == ""
    assert main.main(["coverage", "-w", str(tmp_path / "absent"), "f", "--svg", "-"]) != 0
    assert not (tmp_path / "absent").exists()
