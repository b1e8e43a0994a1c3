"""Scripts by the command line: commands, variables, output files, exit codes, pipes."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rewriter.cli.main import main

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt));
INSERT INTO hours VALUES (1, '2013-01-01-00'), (2, '2013-01-01-01'), (4, '2013-01-01-03');
CREATE VIEW v AS SELECT n FROM hours;
CREATE DATABASE other;
"""


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    options = ["-w", str(tmp_path / "w"), "--engine", "duckdb", "--format", "csv"]
    assert main(["sql", *options, "-e", SETUP]) == 0
    return options


Run = tuple[int, str, str]


def run(options: list[str], text: str, capsys: pytest.CaptureFixture[str], *more: str) -> Run:
    capsys.readouterr()
    code = main([*options, "-e", text, *more])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\dt", "hours"),
        (".tables", "hours"),
        ("\\dt h*", "hours"),
        ("\\dv", "v,"),
        ("\\dc", "c,"),
        ("\\df", "f,c,HOURLY"),
        ("\\l", "other"),
        ("\\l o*", "other"),
        ("\\d", "f,c,HOURLY"),
        ("\\d hours", "n,bigint"),
        ("\\d default.hours;", "n,bigint"),
        ("\\d c", "bigint"),
        ("\\d f", "hours"),
        ("\\d v", "n,bigint"),
        ("\\dp hours", "dt=2013-01-01-03"),
        ("\\c other\n\\dt", "table,type"),
        ("\\explain SELECT n FROM hours;", "hours"),
        ("SELECT n FROM hours;\n\\explain", "hours"),
        ("\\cover SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02')", "HOURLY: 2 partitions"),
        ("\\coverage f", "missing"),
        ("\\coverage f '2013-01-01' '2013-01-01 02:00'", "HOURLY"),
        ("\\echo a  'b  c'", "a b  c\n"),
        ("\\format jsonl\nSELECT 1 AS a", '{"a": 1}'),
        ("\\pset format tsv\nSELECT 1 AS a, 2 AS b", "a\tb"),
        (".mode vertical\nSELECT 1 AS a", "a | 1"),
        ("\\pset null -\nSELECT NULL AS a", "a\n-\n"),
        ("\\null 'no value'\nSELECT NULL AS a", "a\nno value\n"),
        ("\\format table\n\\x\nSELECT 1 AS a", "-[ row 1 ]-"),
        ("\\set x '2013-01-01-01'\nSELECT n FROM hours WHERE dt = :'x'", "n\n2\n"),
        ('\\set c n\nSELECT :c FROM :"t" WHERE n = 4; -- \\set', "n\n4\n"),
        ("SELECT 1 AS a \\G", "a | 1"),
        ("\\?", "\\coverage"),
    ],
)
def test_commands(options: list[str], text: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(options, text, capsys, "--var", "t=hours")
    assert code == 0, err
    assert expected in out
    assert "Error" not in err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\\nope", "There is no command \\nope."),
        ("\\timin", "Did you mean \\timing?"),
        ("\\dp", "\\dp lacks its argument."),
        ("\\q now", "\\q takes no argument."),
        ("\\format xml", "'xml' is no format."),
        ("\\x perhaps", "Write on, off or auto."),
        ("\\timing perhaps", "neither on nor off"),
        ("\\null ,", "In CSV"),
        ("\\set 1x 2", "not the name of a variable"),
        ("\\unset nope", "There is no variable nope."),
        ("\\watch soon", "no number of seconds"),
        ("\\watch nan", "no number of seconds"),
        ("\\coverage", "lacks its argument"),
        ("\\coverage f 2013", "a range or none"),
        ("\\coverage nope", "FACT_NOT_FOUND"),
        ("\\coverage f 2014 2013", "INVALID_TIME_RANGE"),
        ("\\d a b", "is not a name"),
        ("\\d `x", "is not a name"),
        ("\\d nope; DROP TABLE hours", "is not a name"),
        ("\\dp hours WHERE 1=1", "is not a name"),
        ("\\explain", "No statement was run yet."),
        ("\\i nothing.sql", "PATH_NOT_FOUND"),
        ("\\o /nowhere/file", "FAILED_WRITE_FILE"),
        ("\\e", "needs a terminal"),
        ("\\echo 'a", "is not closed"),
    ],
)
def test_mistakes(options: list[str], text: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(options, text, capsys)
    assert code == 1
    assert out == ""
    assert problem in err
    assert "Traceback" not in err
    assert "INTERNAL" not in err


def test_errors_end_a_script_unless_it_goes_on(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT 1 AS a;\nSELECT nope;\n\\nope\nSELECT 2 AS a;"
    code, out, err = run(options, text, capsys)
    assert (code, out) == (1, "a\n1\n")
    assert "line 2: SELECT nope;\n               ^^^^" in err
    code, out, err = run(options, text, capsys, "--continue")
    assert (code, out) == (1, "a\n1\na\n2\n")
    assert err.count("Error:") == 2
    code, out, err = run(options, "SELECT 1 AS a;\nSELECT 'open", capsys)
    assert (code, out) == (1, "")  # A text that cannot be read is not begun.


def test_carets_stand_under_the_typed_text(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(
        options, "SELECT 1;\n  SELECT :'long', nope FROM :t;", capsys, "--var", "t=hours", "--var", "long=xxxxxxxxxxxx"
    )
    assert code == 1
    assert "line 2:   SELECT :'long', nope FROM :t;\n                          ^^^^" in err


def test_hive_variables(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT n FROM ${hivevar:t} WHERE dt = '${hivevar:day}-${hiveconf:hour}'"
    more = ("--hivevar", "t=hours", "--hivevar", "day=2013-01-01", "--hiveconf", "hour=03")
    assert run(options, text, capsys, *more) == (0, "n\n4\n", "")
    code, _, err = run(options, text, capsys, *more, "--var", "t=hours WHERE 1=1 --")
    assert code == 1
    assert "INVALID_VARIABLE_VALUE" in err


def test_timing_goes_to_stderr(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT SUM(n) AS n FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02')"
    code, out, err = run(options, text, capsys, "--timing")
    assert (code, out) == (0, "n\n3\n")
    assert err.startswith("(1 row, ")
    assert err.endswith(" s, 2 of 3 partitions)\n")


def test_an_output_file_appears_when_all_has_run(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before")
    target.chmod(0o640)
    assert run(options, "SELECT 1 AS a; SELECT nope", capsys, "-o", str(target))[:2] == (1, "")
    assert target.read_text() == "before"
    assert run(options, "SELECT 1 AS a; SELECT 2 AS a", capsys, "-o", str(target)) == (0, "", "")
    assert target.read_text() == "a\n1\na\n2\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "w"]
    code, _, err = run(options, "SELECT 1", capsys, "--output", str(tmp_path / "no" / "out"))
    assert (code, "FAILED_WRITE_FILE" in err) == (1, True)
    assert run(options, "SELECT 1 AS a", capsys, "-o", "/dev/null") == (0, "", "")


def test_files_read_files(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.sql", tmp_path / "second file.sql"
    first.write_text(f"\\set x 3\n\\i '{second}'\nSELECT 'after' AS a;")
    second.write_text("SELECT :x AS x;\n")
    assert main([*options, "-f", str(first)]) == 0
    assert capsys.readouterr().out == "x\n3\na\nafter\n"
    second.write_text("SELECT 1 AS a;\nSELECT nope;")
    assert main([*options, "-f", str(first)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a\n1\n"
    assert "line 2: SELECT nope;" in captured.err
    second.write_text(f"\\i {second}\n")
    assert main([*options, "-f", str(second)]) == 1
    assert "more than 20 deep" in capsys.readouterr().err


def test_stdin_without_a_flag(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ([], ["shell"], ["sql"], ["sql", "-f", "-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 5 AS five"))
        assert main([*words, *options]) == 0
        assert capsys.readouterr() == ("five\n5\n", "")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(options) == 0


def test_exit_codes(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options, "\\q", capsys)[0] == 0
    assert run(options, "SELECT 1; \\q\nSELECT nope", capsys)[0] == 0
    assert main(["-w", "/dev/null", "-e", "SHOW TABLES"]) == 2
    assert main(["-w", str(tmp_path / "absent"), "--engine", "duckdb", "-e", "SELECT * FROM t"]) == 2
    assert main([*options, "--format", "xml", "-e", "SELECT 1"]) == 2
    assert main([*options, "-e", "SELECT 1", "-f", "x.sql"]) == 2
    assert main([*options, "--profile", "nope", "-e", "SELECT 1"]) == 2


def command(options: list[str], *more: str) -> list[str]:
    return [sys.executable, "-m", "rewriter", *options, *more]


LONG = "SELECT SUM(pow(a.n, 0.5) * b.n) AS s FROM many a" + "".join(f" CROSS JOIN many {name}" for name in "bcde")


def test_ctrl_c_cancels_and_ends_a_script(options: list[str], tmp_path: Path) -> None:
    many = ", ".join(f"({n})" for n in range(99))
    assert main([*options, "-e", f"CREATE TABLE many AS SELECT * FROM VALUES {many} AS v(n)"]) == 0
    target = tmp_path / "out"
    process = subprocess.Popen(
        command(options, "-o", str(target), "-e", f"\\echo begun\nSELECT 1 AS a;\n\\timing\n{LONG}; SELECT 2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "Timing is on.\n"
    time.sleep(0.3)  # Nothing depends on it: the query takes minutes.
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "Interrupted.\n")
    assert not target.exists()


def test_a_closed_pipe_is_quiet(options: list[str]) -> None:
    many = " UNION ALL ".join(["SELECT * FROM hours"] * 50)
    script = "\n".join([f"SELECT a.n FROM ({many}) a CROSS JOIN hours b CROSS JOIN hours c CROSS JOIN hours d;"] * 20)
    for form in ("csv", "json", "vertical"):
        process = subprocess.Popen(
            command([*options, "--format", form], "-e", script), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_no_colours_and_no_control_characters_where_it_is_no_terminal(options: list[str]) -> None:
    text = "EXPLAIN COVER SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02'); \\coverage f"
    done = subprocess.run(
        command(options, "-e", text), capture_output=True, check=True, env={**os.environ, "FORCE_COLOR": ""}
    )
    assert b"\x1b" not in done.stdout + done.stderr


def test_json_is_one_document_for_each_result(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run([*options[:-1], "json"], "SELECT n FROM hours ORDER BY n", capsys)
    assert code == 0
    assert json.loads(out) == [{"n": 1}, {"n": 2}, {"n": 4}]


def test_an_envelope_says_what_a_result_lacks(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    options = [*options[:-1], "envelope"]
    script = (
        "SET rewriter.partial_data = true; SELECT SUM(n) AS n FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-02')"
    )
    code, out, _ = run(options, script, capsys)
    assert code == 0
    envelopes = [json.loads(text) for text in re.split(r"(?<=^})\n", out.strip(), flags=re.MULTILINE)]
    setting, sums = envelopes
    assert (setting["rows"], setting["row_count"]) == ([{"key": "rewriter.partial_data", "value": "true"}], 1)
    assert "complete" not in setting
    assert sums["columns"] == [{"name": "n", "type": "bigint"}]
    assert (sums["row_count"], sums["complete"], len(sums["rows"])) == (1, False, 1)
    assert sums["missing"]
    assert sums["warnings"]
    _, out, _ = run(options, "SELECT n FROM hours WHERE n > 99", capsys)
    assert json.loads(out)["rows"] == []


def make_many(options: list[str]) -> None:
    many = ", ".join(f"({n})" for n in range(99))
    assert main([*options, "-e", f"CREATE TABLE many AS SELECT * FROM VALUES {many} AS v(n)"]) == 0


ENDLESS = "SELECT a.n FROM many a" + "".join(f" CROSS JOIN many {name}" for name in "bcdef")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_rows_that_are_written(
    options: list[str], tmp_path: Path, form: str, number: signal.Signals, code: int
) -> None:
    make_many(options)
    target = tmp_path / "out"
    with open(tmp_path / "rows", "wb") as rows:
        process = subprocess.Popen(
            command([*options[:-1], form], "-e", ENDLESS), stdout=rows, stderr=subprocess.PIPE, text=True
        )
        while not (tmp_path / "rows").stat().st_size:
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, "Interrupted.\n")
    if form == "csv":
        process = subprocess.Popen(
            command(options, "-o", str(target), "-e", ENDLESS), stderr=subprocess.PIPE, text=True
        )
        while not [path for path in tmp_path.glob(".out-*") if path.stat().st_size]:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.communicate(timeout=60)[1] == "Interrupted.\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["rows", "w"]


def test_the_beginning_of_a_result_through_a_pipe(options: list[str]) -> None:
    make_many(options)
    shell_command = " ".join(map(shlex.quote, command(options, "-e", ENDLESS))) + " | head -1"
    done = subprocess.run(["bash", "-c", shell_command], capture_output=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (b"n\n", b"")


def test_a_full_disk(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(options, "-e", "SELECT 1"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: [DISK_FULL]")
    assert "Traceback" not in done.stderr
    code, out, err = run(options, "\\o /dev/full\nSELECT 1;\nSELECT 2 AS two", capsys, "--continue")
    assert code == 1
    assert "DISK_FULL" in err
    assert "two\n2\n" in out


def test_the_bytes_of_pipes_are_utf_8(options: list[str]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    text = "\ufeffSELECT 'é€' AS a".encode()
    done = subprocess.run(command(options), input=text, capture_output=True, env=environment, check=True)
    assert done.stdout == "a\né€\n".encode()
    done = subprocess.run(command(options), input=b"SELECT '\xff'", capture_output=True, env=environment, check=False)
    assert done.returncode == 1
    assert b"it is not UTF-8" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams(options: list[str], closed: str) -> None:
    shell_command = " ".join(map(shlex.quote, command(options, "-e", "SELECT 1 AS a"))) + f" {closed}"
    done = subprocess.run(["bash", "-c", shell_command], capture_output=True, check=False)
    assert b"INTERNAL" not in done.stdout + done.stderr
    assert b"Traceback" not in done.stdout + done.stderr


def test_small_mistakes(options: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*options, "-f", ""]) == 1
    assert "PATH_NOT_FOUND" in capsys.readouterr().err
    assert main([*options, "--var", "1x=2", "-e", "SELECT 1"]) == 2
    assert main([*options, "--var", "=2", "-e", "SELECT 1"]) == 2
    assert main([*options, "--hiveconf", "=2", "-e", "SELECT 1"]) == 2
    assert "One query is expected." in run(options, "\\explain SELECT 1; SELECT nosuch", capsys)[2]
    assert run(options, "\\set\tx 1;\nSELECT :x AS x", capsys)[:2] == (0, "x\n1\n")
    assert "INTERNAL" not in run(options, "\\i a\0b\n", capsys)[2]
    assert "INTERNAL" not in run(options, "\\o a\0b\n", capsys)[2]
    assert main(["--debug", "sql", *options, "-e", "SELECT 1"]) == 0
    assert main([*options, "-e", "SELECT 1 AS a", "-o", "-"]) == 0
    assert capsys.readouterr().out.endswith("a\n1\n")
