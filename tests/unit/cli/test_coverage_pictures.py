"""``rewriter coverage FACT --svg | --html``, and ``rewriter coverage --query SQL --svg | --html``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from rewriter.cli import main

SVG = "{http://www.w3.org/2000/svg}"

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


QUERY = "SELECT SUM(n) FROM c WHERE t >= '2015-06-16' AND t < '2015-06-19'"


def test_the_cover_of_a_query(coverage: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main.main([*coverage, "--query", QUERY, "--svg", "-"]) == 0
    texts = ["".join(text.itertext()) for text in ElementTree.fromstring(capsys.readouterr().out).iter(f"{SVG}text")]
    assert texts[0] == "c: [2015-06-16, 2015-06-19)"
    assert {"days DAILY", "2 of 2", "missing", "1 DAILY period"} <= set(texts)
    file = tmp_path / "a.html"
    assert main.main([*coverage, "--query", QUERY, "--html", str(file)]) == 0
    assert "c: [2015-06-16, 2015-06-19)" in file.read_text()


def test_the_covers_of_a_query_are_drawn_below_each_other(
    coverage: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    query = f"{QUERY} UNION ALL SELECT SUM(n) FROM c WHERE t >= '2015-06-16' AND t < '2015-06-17'"
    assert main.main([*coverage, "--query", query, "--svg", "-"]) == 0
    tree = ElementTree.fromstring(capsys.readouterr().out)
    (second,) = [group for group in tree.iter(f"{SVG}g") if group.get("transform")]
    assert next(iter(second.itertext())) == "c: [2015-06-16, 2015-06-17)"
    assert str(second.get("transform")) == "translate(0 120)"
    assert float(str(tree.get("height"))) == 120 + 80 + 20
    file = tmp_path / "a.html"
    assert main.main([*coverage, "--query", query, "--html", str(file)]) == 0
    assert file.read_text().count('class="chart" id="chart') == 2


def test_a_query_that_cannot_be_planned_has_its_place(coverage: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main.main([*coverage, "--query", "SELECT SUM(m) FROM c", "--svg", "-"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "line 1: SELECT SUM(m) FROM c\n                   ^" in captured.err


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
        ("--svg", "-"): "Name a fact, or a query",
        ("f", "--query", QUERY, "--svg", "-"): "Name a fact, or a query",
        ("--query", QUERY): "write --svg or --html",
        ("--query", QUERY, "--svg", "-", "--require", "2015", "2016"): "no --require",
        ("--query", "SELECT 1", "--svg", "-"): "references no cube",
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
