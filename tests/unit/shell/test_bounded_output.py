"""Large results in a real terminal: the first rows, the rest in files, and Ctrl-C in every phase."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from terminals import Terminal

from rewriter.cli.main import main

#: A query of so many rows that nobody waits for all of them.
ENDLESS = "SELECT a.n, b.n AS m, concat('zw', 'ölf') AS t FROM many a" + "".join(
    f" CROSS JOIN many {name}" for name in "bcde"
)
COUNTED = "SELECT explode(sequence(1, {})) AS n"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    numbers = ", ".join(f"({number})" for number in range(99))
    script = (
        "CREATE TABLE many (n INT) PARTITIONED BY (p INT);"
        f"INSERT INTO many SELECT n, n % 3 FROM VALUES {numbers} AS v(n)"
    )
    assert main(["sql", "-w", str(folder / "w"), "--engine", "duckdb", "-e", script]) == 0
    return folder / "w"


def command(warehouse: Path, *options: str, engine: str = "duckdb") -> list[str]:
    return [sys.executable, "-m", "rewriter", "-w", str(warehouse), "--engine", engine, *options]


def shell(warehouse: Path, *options: str, engine: str = "duckdb", **environment: str) -> Terminal:
    terminal = Terminal(command(warehouse, *options, engine=engine), warehouse.parent, **environment)
    terminal.until("default>")
    return terminal


def test_a_terminal_shows_the_first_rows(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        assert "the first 1,000 rows" in terminal.run("\\maxrows")
        terminal.run("\\maxrows 3")
        shown = terminal.run(f"{COUNTED.format(2000)};")
        assert "\n3\nNote: The first 3 rows are shown, the result has more." in shown
        assert "\\maxrows 0 shows all rows" in shown
        assert "\n(first 3 rows, " in shown
        shown = terminal.run("SHOW PARTITIONS many;")
        assert "p=2\n(3 rows, " in shown
        terminal.run("\\pset max_rows 2")
        shown = terminal.run("SHOW PARTITIONS many;")
        assert "p=1\nNote: The first 2 of 3 rows are shown." in shown
        assert "(2 of 3 rows, " in shown
        shown = terminal.run(f"{COUNTED.format(77)} \\G")
        assert "-[ row 2 ]-\nn | 2\nNote: The first 2 rows are shown" in shown
        terminal.run("\\format csv")
        assert "\n40\n(40 rows, " in terminal.run(f"{COUNTED.format(40)};")
        terminal.run("\\format table")
        terminal.run("\\maxrows 0")
        assert "\n2000\n(2000 rows, " in terminal.run(f"{COUNTED.format(2000)};")
        assert "'-1' is no number of rows." in terminal.run("\\maxrows -1")
        assert "Traceback" not in terminal.shown()


def test_files_and_pipes_are_complete(warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = COUNTED.format(3000)
    for options in ([], ["--format", "vertical"]):
        assert main([*command(warehouse)[3:], *options, "-e", query]) == 0
        text, messages = capsys.readouterr()
        assert text.count("\n") == (6000 if options else 3002)
        assert messages == ""
    with shell(warehouse) as terminal:
        terminal.run("\\maxrows 1")
        terminal.run(f"\\o {tmp_path / 'rows.txt'}")
        assert "(3000 rows, " in terminal.run(f"{query};")
        terminal.run("\\o")
    assert (tmp_path / "rows.txt").read_text().count("\n") == 3002


def test_a_script_on_a_terminal_shows_the_first_rows(warehouse: Path) -> None:
    with Terminal(command(warehouse, "-e", COUNTED.format(1500)), warehouse.parent) as terminal:
        assert terminal.end() == 0
        assert "\n1000\nNote: The first 1,000 rows are shown" in terminal.shown()


@pytest.mark.parametrize("form", ["table", "vertical", "csv", "jsonl", "markdown"])
def test_ctrl_c_while_rows_are_laid_out_and_printed(warehouse: Path, form: str) -> None:
    """The table and Markdown are laid out, of which nothing is shown before; the other formats are printed."""
    with shell(warehouse) as terminal:
        terminal.run("\\pager off")
        terminal.run("\\maxrows 0")
        terminal.run(f"\\format {form}")
        terminal.type(f"{ENDLESS};\r")
        terminal.until(" rows  0:" if form in ("table", "markdown") else "zwölf")
        terminal.type("\x03\x03")
        terminal.until(lambda _: any("Canceled." in line for line in terminal.screen()))
        terminal.run("\\format table")
        assert "one\n---\n  1\n" in terminal.run("SELECT 1 AS one;")
        assert b"Traceback" not in terminal.everything


def test_ctrl_c_ends_the_pager(warehouse: Path, tmp_path: Path) -> None:
    """The pager does not end at Ctrl-C by itself, and does not read."""
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\ntrap "" INT\necho "in the pager"\nexec sleep 600\n')
    pager.chmod(0o755)
    with shell(warehouse, PAGER=str(pager)) as terminal:
        terminal.run("\\maxrows 100000")
        for number, query in enumerate((COUNTED.format(50), COUNTED.format(50_000)), 1):
            terminal.type(f"{query};\r")
            terminal.until(lambda shown, number=number: shown.count("in the pager") == number)
            terminal.type("\x03")
            terminal.until(lambda shown, number=number: shown.count("Canceled.") == number)
            assert "two\n---\n  2\n" in terminal.run("SELECT 2 AS two;")
        assert "\n49\n" not in terminal.shown()
        assert b"Traceback" not in terminal.everything


@pytest.mark.spark
def test_ctrl_c_while_rows_of_spark_are_laid_out(warehouse: Path) -> None:
    with shell(warehouse, "--master", "local[1]", engine="spark") as terminal:
        terminal.run("\\pager off")
        terminal.run("\\maxrows 5")
        assert "(first 5 rows, " in terminal.run("SELECT id FROM range(1000000);")
        terminal.run("\\maxrows 0")
        terminal.type("SELECT id FROM range(8000000);\r")
        terminal.until(" rows  0:")
        terminal.type("\x03")
        terminal.until("Canceled.")
        assert "one\n---\n  1\n" in terminal.run("SELECT 1 AS one;")
        assert b"Traceback" not in terminal.everything
