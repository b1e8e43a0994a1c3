"""Output on a terminal: no control characters of data or of a statement, and aligned carets. CSV round-trips."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rewriter.cli import main
from rewriter.display.terminal.rendering import FORMATS, RAW_FORMATS, render_lines
from rewriter.errors import ParseError, Span, render
from rewriter.terminal_text import printable, width

#: Whatever a terminal acts on, each beside an ordinary character.
ACTING = (
    "\x00\x07\x08\x0b\x0c\r\x1b\x1f\x7f\x80\x9b\x9f\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\ud800"
)
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def test_printable() -> None:
    assert printable("a\tb\nc é 漢 😀") == "a\tb\nc é 漢 😀"
    assert printable("\x1b[31m\x9b\x7f") == "\\u001b[31m\\u009b\\u007f"
    for char in ACTING:
        assert printable(f"a{char}b") == f"a\\u{ord(char):04x}b"


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in RAW_FORMATS])
def test_no_format_but_csv_and_tsv_prints_what_a_terminal_acts_on(form: str) -> None:
    row = (f"a{ACTING}", [ACTING], {ACTING: ACTING})
    for line in render_lines([f"n{ACTING}", "b", "c"], [row], form):
        assert not RAW.search(line)
        line.encode()


def test_json_round_trips() -> None:
    text = ACTING.replace("\ud800", "") + "\\u001b \" \\ 'é"
    (line,) = render_lines(["a\x9b"], [(text,)], "jsonl")
    assert json.loads(line) == {"a\x9b": text}
    assert json.loads("\n".join(render_lines(["a\x9b"], [(text,)] * 2, "json"))) == [{"a\x9b": text}] * 2


@pytest.mark.parametrize("null", ["", "\\N", "NULL", "-"])
def test_csv_round_trips_and_tells_null_from_the_empty_string(null: str) -> None:
    values = ["", None, "NULL", "\\N", "-", "a\rb", "\r", "\n", "a\r\nb", 'say "x"', "a,b", " ", "\x1b", "plain"]
    lines = list(render_lines(["a", "b\r"], [(value, "x") for value in values], "csv", null))
    text = "\n".join(lines) + "\n"
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))] == [
        "a", *(null if value is None else value for value in values)
    ]  # fmt: skip
    # A field is NULL if it is the text of NULL without quotes.
    assert [line.startswith(f"{null},") for line in lines[1:]] == [value is None for value in values]


def test_the_text_of_null_in_tables() -> None:
    assert list(render_lines(["a"], [(None,), ("",)], "table"))[2:] == ["NULL", ""]
    assert list(render_lines(["a"], [(None,), ("",)], "table", "∅"))[2:] == ["∅", ""]


def test_carets_stand_below_what_is_shown() -> None:
    for before, pointed in (
        ("ab", "xyz"),
        ("漢字 ", "漢"),
        ("\x1b[1m", "x\x07"),
        ("\ta", "b"),
        ("e\u0301", "x"),
        ("\r", "y"),
    ):
        text = f"SELECT 1,\n{before}{pointed} FROM t"
        start = text.index(pointed, text.index("\n") + 1 + len(before))
        error = ParseError("no", position=Span(start, start + len(pointed)))
        _, shown, carets = render(error, text).splitlines()
        column = width(carets.rstrip("^").expandtabs())
        assert shown.expandtabs().startswith("line 2: ")
        assert width(f"line 2: {printable(before)}".expandtabs()) == column
        assert carets.count("^") == width(printable(pointed))
        assert not RAW.search(shown)


@pytest.mark.parametrize("before", [0, 100, 5_000])
@pytest.mark.parametrize("after", [0, 5_000])
@pytest.mark.parametrize("pointed", ["x", "y" * 3_000])
def test_a_long_line_is_shown_around_the_caret(before: int, after: int, pointed: str) -> None:
    text = f"SELECT 1,\n{'a' * before}{pointed}{'b' * after}"
    start = len("SELECT 1,\n") + before
    _, shown, carets = render(ParseError("no", position=Span(start, start + len(pointed))), text).splitlines()
    assert len(shown) < 300
    column = len(carets) - carets.count("^")
    assert shown[column : len(carets)] == pointed[: carets.count("^")]
    assert column == len("line 2: ") or shown[column - 1] == "a"
    assert ("… " in shown[:10]) == (before > 200)
    assert len(carets) <= len(shown)


HOSTILE = "\x1b]0;owned\x07\x9b31m\x7f\u202e"


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    directory = str(tmp_path / "w")
    sql = (
        "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING); "
        "CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);"
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt));"
        "ALTER TABLE hours ADD PARTITION (dt='2013-01-01-00')"
    )
    assert main.main(["sql", "-w", directory, "--engine", "duckdb", "-e", sql]) == 0
    return directory


QUERY = f"SELECT SUM(n) AS `a{HOSTILE}`, '{HOSTILE}' AS b FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T01')"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT '{HOSTILE}' AS `{HOSTILE}`",
        f"EXPLAIN {QUERY}",
        f"EXPLAIN COVER {QUERY}",
        f"SELECT * FROM `{HOSTILE}`",
        f"SELECT {HOSTILE} nonsense",
        f"{HOSTILE}",
        f"CREATE TABLE t (`{HOSTILE}` INT COMMENT '{HOSTILE}') COMMENT '{HOSTILE}'; DESCRIBE EXTENDED t",
        f"CREATE TABLE t (x INT) TBLPROPERTIES ('{HOSTILE}' = '{HOSTILE}'); SHOW CREATE TABLE t; SHOW TBLPROPERTIES t",
        f"SELECT CAST('{HOSTILE}' AS INT)",
        f"SET rewriter.{HOSTILE} = 1",
        f"SHOW PARTITIONS hours PARTITION (dt = '{HOSTILE}')",
    ],
)
@pytest.mark.parametrize("form", ["table", "json", "markdown"])
def test_no_statement_prints_them(warehouse: str, sql: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    main.main(["sql", "-w", warehouse, "--engine", "duckdb", "--format", form, "-e", sql])
    captured = capsys.readouterr()
    assert not RAW.search(captured.out + captured.err)


def on_terminal(*arguments: str) -> str:
    """Returns the output of the command on a terminal, of both streams."""
    here, there = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rewriter", *arguments], stdout=there, stderr=there, stdin=subprocess.DEVNULL
    ) as process:
        os.close(there)
        output = b""
        while True:
            try:
                part = os.read(here, 4096)
            except OSError:
                break
            if not part:
                break
            output += part
        process.wait()
    os.close(here)
    return output.decode().replace("\r\n", "\n")


def test_a_pipe_gets_data_as_it_is_and_a_terminal_does_not(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    select = ["sql", "-w", warehouse, "--engine", "duckdb", "--format", "csv", "-e", f"SELECT '{HOSTILE}' AS a"]
    rewrite = ["rewrite", "-w", warehouse, QUERY]
    assert main.main(select) == 0
    assert capsys.readouterr().out == f"a\n{HOSTILE}\n"
    assert main.main(rewrite) == 0
    assert HOSTILE in capsys.readouterr().out
    assert not RAW.search(on_terminal(*rewrite))
    # The line of progress is rewritten in place; of the data nothing is raw.
    assert printable(HOSTILE) in on_terminal(*select)
    assert "\x1b]0;" not in on_terminal(*select)


def test_wrong_arguments_are_printed_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["sql", "-e", "x", f"--{HOSTILE}"], [HOSTILE], ["sql", "-e", "x", "--format", HOSTILE]):
        assert main.main(arguments) == 2
        assert not RAW.search(capsys.readouterr().err)
    assert main.main(["sql", "-w", f"/nowhere/{HOSTILE}", "-f", f"/nowhere/{HOSTILE}"]) == 1
    assert not RAW.search(capsys.readouterr().err)
