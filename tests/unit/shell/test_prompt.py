"""The prompt in a real terminal."""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
import time
from pathlib import Path

import pytest
from terminals import Terminal

from rewriter.cli.main import main

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt));
INSERT INTO hours VALUES (1, '2013-01-01-00'), (2, '2013-01-01-01'), (4, '2013-01-01-03');
"""
LONG = "SELECT SUM(pow(a.n, 0.5) * b.n) AS s FROM {0} a" + "".join(f" CROSS JOIN {{0}} {name}" for name in "bcde") + ";"


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    assert main(["sql", "-w", str(tmp_path / "w"), "--engine", "duckdb", "-e", SETUP]) == 0
    return tmp_path / "w"


def shell(warehouse: Path, *options: str, columns: int = 100, engine: str = "duckdb", **environment: str) -> Terminal:
    command = [sys.executable, "-m", "rewriter", "-w", str(warehouse), "--engine", engine, *options]
    terminal = Terminal(command, warehouse.parent, columns, **environment)
    terminal.until("default>")
    return terminal


def test_a_session(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        assert "rewriter: w, on duckdb." in terminal.shown()
        terminal.type("SELECT SUM(n) AS total\r")
        terminal.until(lambda shown: shown.count("SELECT SUM") == 1)
        shown = terminal.enter("FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02');")
        assert "total\n-----\n    3\n(1 row, " in shown
        assert "2 of 3 partitions)" in shown
        shown = terminal.run("SELECT nope FROM hours;")
        assert "line 1: SELECT nope FROM hours;\n               ^^^^" in shown
        assert "Traceback" not in shown
        assert "Timing is off." in terminal.run("\\timing")
        assert "-[ row 1 ]-\none | 1\ndefault>" in terminal.run("SELECT 1 AS one \\G")
        terminal.run("\\set day '2013-01-01-00'")
        assert "n\n-\n1\ndefault>" in terminal.run("SELECT n FROM hours WHERE dt = :'day';")
        assert "There is no command \\nope." in terminal.run("\\nope")
        assert "list the commands" in terminal.run("\\?")
        shown = terminal.run("\\coverage f")
        assert "HOURLY" in shown
        assert "missing" in shown
        shown = terminal.run("START TRANSACTION;")
        assert "default*>" in shown
        terminal.type("\x04")
        terminal.until("The open transaction is rolled back.")
        assert terminal.end() == 0
    history = warehouse.parent / ".local/state/rewriter/history"
    assert stat.S_IMODE(os.stat(history).st_mode) == 0o600
    with shell(warehouse) as terminal:
        terminal.type("\x12coverage")  # Ctrl-R searches.
        terminal.until("\\coverage f")
        terminal.type("\r")
        terminal.type("\x03")
        assert "\\timing" in terminal.run("help")
        terminal.type("exit\r")
        assert terminal.end() == 0


@pytest.mark.long
def test_completion_knows_the_position(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        terminal.type("SELECT * FROM ho")
        _complete(terminal, "FROM hours")
        terminal.type(" WHERE dt = '2013-01-01-")

        def is_offered(shown: str) -> bool:
            if all(f"2013-01-01-0{hour} " in shown for hour in (0, 1, 3)):
                return True
            time.sleep(0.2)
            terminal.type("\x7f-")  # On a busy machine, values come at a later key.
            return False

        terminal.until(is_offered)
        terminal.type("0")
        shown = terminal.enter("3';")
        assert "\n4 | 2013-01-01-03\n" in shown
        terminal.type("\\cov")
        _complete(terminal, "\\coverage")


def _complete(terminal: Terminal, expected: str) -> None:
    """Presses Tab until a text is completed: the names are read in the background."""

    def is_completed(shown: str) -> bool:
        if expected in shown:
            return True
        time.sleep(0.2)
        terminal.type("\t")
        return False

    terminal.until(is_completed)


def test_ctrl_c_discards_a_text_and_cancels_a_query(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        terminal.run(
            "CREATE TABLE many AS SELECT * FROM VALUES " + ", ".join(f"({n})" for n in range(99)) + " AS v(n);"
        )
        terminal.type("SELECT nothing")
        terminal.until("SELECT nothing")
        terminal.type("\x03")
        terminal.until(lambda _: terminal.prompts() == 3)
        terminal.type(LONG.format("many") + "\r")
        time.sleep(0.5)  # Nothing depends on it: the query takes minutes.
        terminal.type("\x03")
        terminal.until("Canceled.")
        assert "one\n---\n  1\n" in terminal.run("SELECT 1 AS one;")
        assert "Traceback" not in terminal.shown()


def test_watch_ends_with_ctrl_c(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        terminal.run("SELECT COUNT(*) AS n FROM hours;")
        terminal.type("\\watch 0.1\r")
        terminal.until(lambda shown: shown.count("n\n-\n3") > 3)
        terminal.type("\x03")
        terminal.until(
            lambda shown: shown.rstrip().splitlines()[-2].startswith("default>") or "default>" in shown[-120:]
        )
        terminal.type("\\q\r")
        assert terminal.end() == 0


@pytest.mark.spark
def test_ctrl_c_cancels_a_query_of_spark(warehouse: Path) -> None:
    with shell(warehouse, "--master", "local[1]", engine="spark") as terminal:
        assert "spark starts" in terminal.until("spark starts")  # The prompt does not wait for it.
        terminal.run("CREATE TABLE many (n BIGINT);")
        assert "(1 row" in terminal.run("SELECT SUM(id) AS n FROM range(10);")
        terminal.type("SELECT SUM(a.id * b.id % 7) AS n FROM range(1000000) a CROSS JOIN range(1000000) b;\r")
        terminal.until("Running")
        terminal.type("\x03")
        terminal.until("Canceled.")
        assert "one\n---\n  1\n" in terminal.run("SELECT 1 AS one;")
        terminal.type("\x04")
        assert terminal.end() == 0
        assert b"Traceback" not in terminal.everything
        assert b"WARN" not in terminal.everything


@pytest.mark.parametrize(("count", "is_bracketed"), [(1000, True), (150, False)])
def test_a_long_script_is_pasted(warehouse: Path, count: int, is_bracketed: bool) -> None:
    lines = [f"SELECT {number} AS v{number};" for number in range(count)]
    with shell(warehouse) as terminal:
        terminal.run("\\timing off")
        text = "\r".join(lines)
        text = f"\x1b[200~{text}\x1b[201~\r" if is_bracketed else f"{text}\r"
        for start in range(0, len(text), 512):
            terminal.type(text[start : start + 512])
            terminal.read(0)
        terminal.until(
            lambda shown: f"\n{' ' * (len(str(count - 1)) == 2)}{count - 1}\ndefault>" in shown.replace("\n ", "\n")
        )
        shown = terminal.shown()
        for number in (0, 1, count // 2, count - 2, count - 1):
            assert re.search(rf"^ *v{number}\n-+\n *{number}$", shown, re.MULTILINE)
        assert b"Error" not in terminal.everything
        terminal.type("\x04")
        assert terminal.end() == 0


@pytest.mark.parametrize("columns", [40, 24])
def test_a_narrow_terminal(warehouse: Path, columns: int) -> None:
    with shell(warehouse, columns=columns) as terminal:
        shown = terminal.run("SELECT repeat('w', 200) AS wide, 1 AS b;")
        assert "…" in shown
        terminal.run("EXPLAIN COVER SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02');")
        terminal.run("\\coverage f")
        terminal.run("\\x auto")
        assert "-[ row 1 ]-" in terminal.run("SELECT 1 AS first_column, 2 AS second_column, 3 AS third_column;")
        assert "Traceback" not in terminal.shown()


def test_the_terminal_is_resized(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        for columns, lines, letter in ((60, 20, "x"), (120, 40, "y")):
            terminal.resize(columns, lines)
            terminal.type(f"SELECT repeat('{letter}', 300) AS wide;\r")
            terminal.until(f"\n{letter * (columns - 1)}…")


def test_data_cannot_act_on_the_terminal(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        for form in ("table", "vertical", "csv", "tsv", "json", "jsonl", "envelope", "markdown"):
            terminal.run(f"\\format {form}")
            terminal.run(r"SELECT '\u001b]0;title\u0007' AS `a` , '\u009b31m\u202e' AS b;")
        terminal.run("\\echo \x1b\x1b")
        assert b"\x1b]0;title" not in terminal.everything
        assert "\x9b31m".encode() not in terminal.everything
        assert "\u202e".encode() not in terminal.everything


def test_the_end_of_the_terminal_ends_the_shell(warehouse: Path) -> None:
    with shell(warehouse) as terminal:
        terminal.process.kill(signal.SIGHUP)
        assert terminal.end() != 0


def test_rows_go_to_a_file_and_come_from_one(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT 7 AS seven;\n\\set x 5\n")
    with shell(warehouse) as terminal:
        terminal.run("\\format csv")
        terminal.run(f"\\o {tmp_path / 'out.csv'}")
        terminal.run("SELECT n FROM hours ORDER BY n;")
        terminal.run("\\o")
        assert (tmp_path / "out.csv").read_text() == "n\n1\n2\n4\n"
        assert "seven\n7\n" in terminal.run(f"\\i {tmp_path / 'q.sql'}")
        assert "\n5\n" in terminal.run("SELECT :x;")
        assert "FAILED_WRITE_FILE" in terminal.run(f"\\o {tmp_path / 'no' / 'file'}")
        assert "PATH_NOT_FOUND" in terminal.run("\\i nothing.sql")


def test_the_editor(warehouse: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/1/42/ "$1"\n')
    editor.chmod(0o755)
    with shell(warehouse, EDITOR=str(editor), VISUAL="") as terminal:
        terminal.run("SELECT 1 AS one;")
        terminal.type("\\e\r")
        terminal.until("default> SELECT 42 AS one;")
        assert "one\n---\n 42\n" in terminal.enter("")
        assert "Traceback" not in terminal.shown()


@pytest.mark.long
def test_a_broken_environment_ends_nothing(warehouse: Path) -> None:
    (warehouse.parent / ".local/state/rewriter/history").mkdir(parents=True)
    with shell(warehouse, PAGER='"unclosed', EDITOR='"unclosed', VISUAL="") as terminal:
        assert "\n40\n" in terminal.run("SELECT explode(sequence(1, 40)) AS n;")
        assert "is not closed" in terminal.run("\\e")
        terminal.run("\\o /dev/full")
        assert "DISK_FULL" in terminal.run("SELECT 1 AS one;")
        assert "two\n---\n  2\n" in terminal.run("SELECT 2 AS two;")
        for _ in range(5):
            terminal.type("\x03")
        terminal.run("SELECT 3 AS three;")
        assert b"Traceback" not in terminal.everything
        assert b"INTERNAL" not in terminal.everything
        terminal.type("\x04")
        assert terminal.end() == 0
