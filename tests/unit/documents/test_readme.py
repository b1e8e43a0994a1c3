"""README: its query and its program run over the demo, its figures are measured ones, it links to every page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from documents import dead_links
from page_runner import DOCS, ROOT, blocks, is_same_output

from rewriter.cli.main import main

PATH = ROOT / "README.md"
README = PATH.read_text(encoding="utf-8")
BLOCKS = {
    language: [block for block in blocks(PATH) if block.language == language] for language in ("sql", "text", "sh")
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        assert main(["demo", "--engine", "duckdb"]) == 0
        # The demo ends with an outdated month.
        assert main(["sql", "-w", "demo/warehouse", "--engine", "duckdb", "-e", "REFRESH FACT flights_all"]) == 0
    return folder


def printed(*words: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert main(list(words)) == 0
    return output.getvalue()


def test_the_query_returns_the_rows(demo: Path) -> None:
    (query,), (rows,) = BLOCKS["sql"], BLOCKS["text"]
    assert (
        printed("sql", "-w", str(demo / "demo" / "warehouse"), "--engine", "duckdb", "-e", query.text).strip()
        == rows.text
    )


def test_the_query_reads_as_many_partitions_as_the_text_says(demo: Path) -> None:
    (query,) = BLOCKS["sql"]
    with_rollups = printed(
        "sql", "-w", str(demo / "demo" / "warehouse"), "--engine", "duckdb", "-e", f"EXPLAIN COVER {query.text}"
    )
    hours = "SET rewriter.periods = 'HOURLY'"
    without = printed(
        "sql",
        "-w",
        str(demo / "demo" / "warehouse"),
        "--engine",
        "duckdb",
        "-e",
        f"{hours}; EXPLAIN COVER {query.text}",
    )
    totals = [re.findall(r"total: (\d+) partitions", text) for text in (with_rollups, without)]
    assert re.findall(r"reads (\d+) partitions instead of (\d+)", README) == [(totals[0][0], totals[1][0])]


def test_the_program_prints_its_output(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program, output) = [block for block in blocks(PATH) if block.language in ("python", "output")]
    monkeypatch.chdir(demo)
    with contextlib.redirect_stdout(io.StringIO()) as lines:
        exec(compile(program.text, "README.md", "exec"), {})
    assert is_same_output(output.text.splitlines(), lines.getvalue().splitlines())


def test_the_commands_are_those_of_the_check() -> None:
    first, second = (block.text for block in BLOCKS["sh"])
    assert first == "pip install '.[demo]' && rewriter demo"
    install, test = second.split(" && ")
    check = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert install.replace("pip install", "pip install --quiet") in check
    assert test in check


def test_the_figures_are_measured_ones() -> None:
    table = README.partition("## Figures")[2].partition("\n## ")[0]
    measured = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    figures = re.findall(r"\d[\d.]* (?:s|ms|µs)\b", table)
    assert len(figures) > 10
    assert [figure for figure in figures if f"| {figure} |" not in measured] == []


def test_every_page_is_linked() -> None:
    pages = {page.relative_to(ROOT).as_posix() for page in DOCS.rglob("*.md") if "dialect" not in page.parent.name}
    assert sorted(pages - set(re.findall(r"\]\(([^)#]+)", README))) == []
    assert dead_links(PATH) == []


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120
