"""The command line: what goes where, exit codes, carets, and what it costs."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.cli import main
from rewriter.display.terminal.rendering import FORMATS, render_lines

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt));
ALTER TABLE hours ADD PARTITION (dt='2013-01-01-00') PARTITION (dt='2013-01-01-01'); -- the end
"""
QUERY = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02')"


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    assert main.main(["sql", "-w", str(tmp_path), "-e", SETUP]) == 0
    return str(tmp_path)


def test_results_go_to_stdout(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["sql", "-w", warehouse, "-e", "SHOW TABLES; SHOW CUBES"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[:3] == [
        "table | type    | format  | partitioned_by",
        "------+---------+---------+---------------",
        "hours | MANAGED | parquet | dt",
    ]


def test_errors_go_to_stderr_with_a_caret_into_the_text(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["sql", "-w", warehouse, "-e", "SHOW TABLES;\n  SHOW PARTITIONS hour;\nSHOW CUBES"]) == 1
    captured = capsys.readouterr()
    assert "hours" in captured.out
    assert "dimensions" not in captured.out
    assert captured.err.splitlines() == [
        "Error: [TABLE_OR_VIEW_NOT_FOUND] the table or view 'hour' cannot be found",
        "line 2:   SHOW PARTITIONS hour;",
        "                          ^^^^",
        "Hint: Did you mean hours?",
    ]


def test_files_and_stdin(
    warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.sql").write_text("\ufeffSHOW CUBES;\nFLY", encoding="utf-8")
    assert main.main(["sql", "-w", warehouse, "-f", str(tmp_path / "q.sql"), "--format", "csv"]) == 1
    captured = capsys.readouterr()
    assert captured.out == 'cube,dimensions,measures,times\nc,"",n,t\n'
    assert "line 2: FLY" in captured.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("SHOW FACTS"))
    assert main.main(["sql", "-w", warehouse, "-f", "-", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "fact": "f", "cube": "c", "base_period": "HOURLY", "tables": "hours", "weight": 0
    }  # fmt: skip
    monkeypatch.setattr(sys, "stdin", io.StringIO("SHOW FACTS;"))
    assert main.main(["-w", warehouse, "--format", "json"]) == 0
    assert [fact["fact"] for fact in json.loads(capsys.readouterr().out)] == ["f"]
    assert main.main(["sql", "-w", warehouse, "-f", str(tmp_path / "absent.sql")]) == 1
    (tmp_path / "binary.sql").write_bytes(b"\xff\xfe\x00")
    assert main.main(["sql", "-w", warehouse, "-f", str(tmp_path / "binary.sql")]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_several_texts_run_one_after_the_other_in_one_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = ["sql", "-w", str(tmp_path), "--engine", "duckdb", "--format", "csv"]
    texts = ["SET rewriter.partial_data = true; CREATE TABLE t (x INT)", "INSERT INTO t VALUES (1)", "SELECT * FROM t"]
    assert (
        main.main([*sql, "-e", texts[0], "-e", texts[1], "--execute", texts[2], "-e", "SET rewriter.partial_data"]) == 0
    )
    assert capsys.readouterr().out.splitlines()[-4:] == ["x", "1", "key,value", "rewriter.partial_data,true"]
    assert main.main([*sql, "-e", "SELECT 1 AS a", "-e", "\n SELECT nope", "-e", "DROP TABLE t"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a\n1\n"
    assert "line 2:  SELECT nope\n                ^^^^" in captured.err
    assert (
        main.main([*sql, "-e", "BEGIN; INSERT INTO t VALUES (2)", "-e", "COMMIT", "-e", "SELECT COUNT(*) AS n FROM t"])
        == 0
    )
    assert capsys.readouterr().out == "n\n2\n"


def test_the_text_of_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = ["sql", "-w", str(tmp_path), "--engine", "duckdb", "-e", "SELECT NULL AS a, '' AS b, '-' AS c"]
    for form, null, expected in (
        ("csv", None, 'a,b,c\n,"",-\n'),
        ("csv", "-", 'a,b,c\n-,"","-"\n'),
        ("markdown", "-", "| a | b | c |\n| --- | --- | --- |\n| - |  | - |\n"),
        ("tsv", None, "a\tb\tc\n\\N\t\t-\n"),
        ("vertical", "-", "-[ row 1 ]-\na | -\nb |\nc | -\n"),
        ("json", None, '[{"a": null, "b": "", "c": "-"}]\n'),
        ("jsonl", None, '{"a": null, "b": "", "c": "-"}\n'),
    ):
        assert main.main([*sql, "--format", form, *([] if null is None else ["--null", null])]) == 0
        assert capsys.readouterr().out == expected
    assert main.main([*sql, "--format", "csv", "--null", "a,b"]) == 2
    assert "INTERFACE_ERROR" in capsys.readouterr().err


def test_a_script_without_commit_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = ["sql", "-w", str(tmp_path), "--engine", "duckdb", "-e"]
    assert main.main([*sql, "CREATE TABLE t (x INT); START TRANSACTION; INSERT INTO t VALUES (1)"]) == 1
    assert capsys.readouterr().err.startswith("Error: [TRANSACTION_NOT_COMMITTED] The statements end without COMMIT")
    assert main.main([*sql, "START TRANSACTION; INSERT INTO t VALUES (2); SELECT * FROM nope; COMMIT"]) == 1
    assert capsys.readouterr().err.endswith("Warning: The open transaction is rolled back.\n")
    assert main.main([*sql, "START TRANSACTION; INSERT INTO t VALUES (3); COMMIT; BEGIN; ROLLBACK"]) == 0
    assert capsys.readouterr().err == ""
    assert main.main([*sql, "SELECT * FROM t", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["x", "3"]


def test_where_an_open_end_was_closed_is_said(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT SUM(n) FROM c WHERE t >= '2013-01-01'"
    assert main.main(["sql", "-w", warehouse, "--engine", "duckdb", "-e", sql]) == 0
    assert capsys.readouterr().err == (
        "Note: the range of c ends at 2013-01-01T02, the end of the newest existing period\n"
    )


def test_rewrite(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["rewrite", "-w", warehouse, QUERY]) == 0
    captured = capsys.readouterr()
    assert "FROM hours WHERE dt >= '2013-01-01-00' AND dt <= '2013-01-01-01'" in captured.out
    assert captured.err == ""
    assert main.main(["rewrite", "-w", warehouse, QUERY.replace("T02", "T03")]) == 1
    assert "[2013-01-01T02, 2013-01-01T03)" in capsys.readouterr().err
    partial = ["rewrite", "-w", warehouse, "--set", "partial_data=true", QUERY.replace("T02", "T03")]
    assert main.main(partial) == 0
    captured = capsys.readouterr()
    assert "FROM hours" in captured.out
    assert captured.err.startswith("Warning: ")
    assert main.main(["rewrite", "-w", warehouse, "DROP TABLE hours"]) == 1


def test_the_environment_names_the_warehouse(
    warehouse: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REWRITER_WAREHOUSE", warehouse)
    assert main.main(["sql", "-e", "SHOW CUBES"]) == 0
    assert "c " in capsys.readouterr().out


def test_files_are_described_without_a_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": pa.array([1], "int32"), "b": ["x"]}), "day.parquet")
    sql = ["sql", "-w", str(tmp_path / "absent"), "--engine", "duckdb", "--format", "csv", "-e"]
    assert main.main([*sql, "DESCRIBE parquet.`day.parquet`; DESCRIBE parquet.`day.parquet` b"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[1:3], lines[-3:-1]) == (["a,int,", "b,string,"], ["col_name,b", "data_type,string"])
    assert main.main([*sql, "DESCRIBE parquet.`nope.parquet`"]) == 1
    assert "PATH_NOT_FOUND" in capsys.readouterr().err
    assert not (tmp_path / "absent").exists()


def test_a_catalog_on_postgresql(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = ["-w", str(tmp_path / "w")]
    # Rewriting makes neither a warehouse nor a catalog.
    for _ in range(2):
        assert main.main(["rewrite", *warehouse, "--catalog", postgres_url, QUERY]) == 2
        assert "WAREHOUSE_NOT_FOUND" in capsys.readouterr().err
        (tmp_path / "w").mkdir(exist_ok=True)
    assert main.main(["sql", *warehouse, "--catalog", postgres_url, "-e", SETUP]) == 0
    assert not (tmp_path / "w" / "catalog.db").exists()
    monkeypatch.setenv("REWRITER_CATALOG", postgres_url)
    assert main.main(["sql", *warehouse, "-e", "SHOW TABLES"]) == 0
    assert "hours" in capsys.readouterr().out
    assert main.main(["rewrite", *warehouse, QUERY]) == 0
    assert "hours" in capsys.readouterr().out
    monkeypatch.setenv("REWRITER_CATALOG", "postgresql://u:g3heim@localhost:1/db")
    assert main.main(["sql", *warehouse, "--debug", "-e", "SHOW TABLES"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("Error: [CATALOG_UNAVAILABLE] the catalog postgresql://…@localhost:1/db cannot be")
    assert "g3heim" not in captured.out + captured.err


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ["sql", "-w", "/dev/null", "-e", "SHOW TABLES"]),
        (2, ["sql", "-w", "{w}", "--set", "rewriter.partial_data", "-e", "SHOW TABLES"]),
        (2, ["sql", "-w", "{w}", "--set", "rewriter.nope=1", "-e", "SHOW TABLES"]),
        (1, ["sql", "-w", "{w}", "-e", "SELECT 'open"]),
        (2, ["sql", "-w", "{w}", "--engine", "duckdb", "--master", "local", "-e", "SHOW TABLES"]),
        (2, ["sql", "-w", "{w}", "--catalog", "mysql://h/db", "-e", "SHOW TABLES"]),
        (2, ["sql", "-w", "{w}", "--var", "x", "-e", "SHOW TABLES"]),
        (1, ["golden", "{w}/nothing"]),
        (1, ["demo", "{w}"]),
    ],
)
def test_mistakes_are_errors_without_traceback(
    warehouse: str, code: int, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([argument.replace("{w}", warehouse) for argument in arguments]) == code
    err = capsys.readouterr().err
    assert err.startswith("Error: [")
    assert "\nHint: " in err
    assert "internal" not in err


def test_internal_errors_are_one_line(
    warehouse: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("oh\nno")

    monkeypatch.setattr("rewriter.session.Session.execute", broken)
    assert main.main(["sql", "-w", warehouse, "-e", "SHOW TABLES"]) == 1
    err = capsys.readouterr().err
    assert err.splitlines()[0] == "Error: [INTERNAL_ERROR] RuntimeError: oh no"
    assert "Traceback" not in err
    assert main.main(["sql", "-w", warehouse, "--debug", "-e", "SHOW TABLES"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_help_and_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--help"]) == 0
    assert "rewrite" in capsys.readouterr().out
    for arguments, code in ((["--version"], 0), (["sql", "-e", "a", "-f", "b"], 2), (["fly"], 2), (["--fly"], 2)):
        assert main.main(arguments) == code
    assert main.main(["fl\x1b[31my"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_file_in_place_of_a_command_is_told_how_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "query.sql"
    script.write_text("SELECT 1;")
    assert main.main([str(script)]) == 2
    assert f"use -f {script}." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("DROP CUBE c CASCADE", "Only DROP DATABASE has CASCADE."),
        ("DROP TABLE t RESTRICT", "Only DROP DATABASE has CASCADE."),
        ("SELECT * FROM parquet.`{files}`", "By its name, it is a CSV file. Read csv.`…`."),
        ("SELECT * FROM json.`{files}/a.csv.gz`", "By its name, it is a CSV file. Read csv.`…`."),
        ("SELECT * FROM orc.`{files}/b.orc`", "Check that the file is complete"),
    ],
)
def test_hints(warehouse: str, tmp_path: Path, statement: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.csv", "a.csv.gz", "b.orc"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    text = statement.replace("{files}", str(tmp_path))
    assert main.main(["sql", "-w", warehouse, "--engine", "duckdb", "-e", text]) == 1
    assert f"\nHint: {hint}" in capsys.readouterr().err


def run(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rewriter", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_rewrite_loads_nothing_heavy(warehouse: str) -> None:
    """Its cost is a figure of ``benchmarks``: under half a second of CPU."""
    heavy = ("pyspark", "duckdb", "pyarrow", "pandas", "rich", "lark")
    code = (
        "import sys; from rewriter.cli.main import main; code = main(sys.argv[1:]);"
        f"sys.exit(code or sum(m in sys.modules for m in {heavy!r}))"
    )
    command = [sys.executable, "-c", code, "rewrite", "-w", warehouse, QUERY]
    subprocess.run(command, check=True, capture_output=True)


def test_interrupted(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = run("sql", "-w", str(tmp_path / "w"), "-f", str(fifo))
    with open(fifo, "w"):  # Returns when the process opens the file.
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in err


#: Sends Ctrl-C to the process when it begins to load a module.
_INTERRUPTING = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_MODULE"]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "module", ["rewriter.errors", "rewriter.cli.main", "rewriter.cli.shell", "rewriter.shell.executor"]
)
def test_interrupted_before_the_first_statement(tmp_path: Path, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(_INTERRUPTING)
    script = tmp_path / "s.sql"
    script.write_text("SELECT 1;\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "INTERRUPTED_MODULE": module}
    words = [
        sys.executable,
        "-m",
        "rewriter",
        "sql",
        "-w",
        str(tmp_path / "w"),
        "--engine",
        "duckdb",
        "-f",
        str(script),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_interrupted_between_statements(tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text("SELECT 1 AS a;\n" * 20_000)
    process = run("sql", "-w", str(tmp_path / "w"), "--engine", "duckdb", "-f", str(script))
    assert process.stdout is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.endswith("Interrupted.\n")
    assert "Traceback" not in err
    assert len(out.splitlines()) < 60_000


def test_a_closed_pipe_is_quiet(warehouse: str) -> None:
    sql = "SET;" * 3000
    process = run("sql", "-w", warehouse, "-e", sql)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.wait(timeout=20)


NAMES = ["text", "n", "price", "at"]
ROWS = [
    ("plain", 1, Decimal("1.50"), datetime(2013, 1, 29, 6, tzinfo=UTC)),
    ('a,"b"|c\nd', None, None, date(2013, 1, 29)),
    ("中", -20, 0.1, datetime(2013, 1, 29, 6, 0, 0, 120000, tzinfo=UTC)),
]


class TestRendering:
    def test_table(self) -> None:
        assert list(render_lines(NAMES, ROWS, "table")) == [
            "text       |    n | price | at",
            "-----------+------+-------+-----------------------",
            "plain      |    1 |  1.50 | 2013-01-29 06:00:00",
            'a,"b"|c\\nd | NULL |  NULL | 2013-01-29',
            # A wide character takes two columns.
            "中         |  -20 |   0.1 | 2013-01-29 06:00:00.12",
        ]

    def test_csv_reads_back(self) -> None:
        text = "\n".join(render_lines(NAMES, ROWS, "csv"))
        assert list(csv.reader(io.StringIO(text))) == [
            NAMES,
            ["plain", "1", "1.50", "2013-01-29 06:00:00"],
            ['a,"b"|c\nd', "", "", "2013-01-29"],
            ["中", "-20", "0.1", "2013-01-29 06:00:00.12"],
        ]

    def test_json_has_one_object_a_line(self) -> None:
        lines = [json.loads(line) for line in render_lines(NAMES, ROWS, "jsonl")]
        assert json.loads("\n".join(render_lines(NAMES, ROWS, "json"))) == lines
        assert lines[0] == {"text": "plain", "n": 1, "price": "1.50", "at": "2013-01-29 06:00:00"}
        assert lines[1]["n"] is None
        (odd,) = render_lines(["a", "a", "b"], [(float("nan"), float("-inf"), [1, {"k": b"\x01"}])], "jsonl")
        assert json.loads(odd) == {"a": "NaN", "a_2": "-Infinity", "b": [1, {"k": "01"}]}

    def test_markdown(self) -> None:
        lines = list(render_lines(NAMES, ROWS, "markdown"))
        assert lines[1] == "| --- | ---: | ---: | --- |"
        assert lines[3] == '| a,"b"\\|c\\nd | NULL | NULL | 2013-01-29 |'

    @pytest.mark.parametrize("form", [form for form in FORMATS if form != "envelope"])
    def test_no_rows(self, form: str) -> None:
        lines = list(render_lines(["a", "b"], [], form))
        assert (
            lines
            == {
                "table": ["a | b", "--+--"],
                "csv": ["a,b"],
                "json": ["[]"],
                "jsonl": [],
                "tsv": ["a\tb"],
                "vertical": [],
                "markdown": ["| a | b |", "| --- | --- |"],
            }[form]
        )


NINE_WEEKS = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE weeks (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (dt) TRUSTED,
  TABLE days PERIOD DAILY PARTITIONED BY t AS (dt));
ALTER TABLE weeks ADD PARTITION (dt='2015-W23') PARTITION (dt='2015-W24');
ALTER TABLE days ADD PARTITION (dt='2015-06-16') PARTITION (dt='2015-06-17');
EXPLAIN COVER SELECT SUM(n) FROM c WHERE t >= '2015-06-01' AND t < '2015-06-21'
"""


def test_a_terminal_gets_the_cover_as_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main.main(["sql", "-w", str(tmp_path / "w"), "-e", NINE_WEEKS]) == 0
    assert "█" not in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main.main(["sql", "-w", str(tmp_path / "w"), "-e", NINE_WEEKS.strip().rpartition(";")[2]]) == 0
    lines = capsys.readouterr().out.splitlines()
    picture = [line.split() for line in lines if line.startswith(("WEEKLY", "DAILY", "missing"))]
    assert [line[:-1] for line in picture] == [
        ["WEEKLY", "weeks", "2", "of", "2"],
        ["DAILY", "days", "2", "of", "2"],
        ["missing", "4", "DAILY", "periods"],
    ]
    # The three bars fill the twenty days between them: each cell is someone's.
    bars = [line[-1] for line in picture]
    assert all(any(cell != "·" for cell in cells) for cells in zip(*bars, strict=True))
    assert bars[0].startswith("█" * 40)


class TestGoldenFiles:
    TEXT = (
        "# A comment.\n\nparse\nshow   tables\n----\nSHOW TABLES\n\n"
        "sql format=csv\nSET rewriter.periods\n----\nkey,value\nwrong\n\n"
        "error\nSHOW PARTITIONS nope\n----\n"
    )

    def test_a_difference_is_shown_and_can_be_accepted(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "a.test"
        file.write_text(self.TEXT)
        assert main.main(["golden", str(tmp_path)]) == 1
        captured = capsys.readouterr()
        assert f"{file}:8: sql" in captured.out
        assert '-wrong\n+rewriter.periods,""\n' in captured.out
        assert "3 cases, 2 failed." in captured.out
        assert "--rewrite" in captured.err
        assert main.main(["golden", str(file), "--rewrite"]) == 0
        assert main.main(["golden", str(file)]) == 0
        assert file.read_text().startswith(self.TEXT[: self.TEXT.index("wrong")] + 'rewriter.periods,""\n\nerror\n')
        assert "TABLE_OR_VIEW_NOT_FOUND" in file.read_text()

    def test_a_file_that_is_no_text_is_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name, data in (("a.test", bytes(range(256))), ("b.test", b"\xff\xfe"), ("c.test", b"sql\x00\n\x1b[31m")):
            (tmp_path / name).write_bytes(data)
            assert main.main(["golden", str(tmp_path / name)]) == 1
            err = capsys.readouterr().err
            assert err.startswith("Error: [INVALID_GOLDEN_FILE]")
            assert "\nHint: " in err
            assert "\x1b" not in err
            assert main.main(["golden", "--rewrite", str(tmp_path / name)]) == 1
            assert (tmp_path / name).read_bytes() == data
            capsys.readouterr()

    def test_in_an_existing_warehouse(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        warehouse = tmp_path / "w"
        sql = ["sql", "-w", str(warehouse), "--engine", "duckdb", "-e"]
        assert main.main([*sql, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1)"]) == 0
        file = tmp_path / "a.test"
        file.write_text("sql\nSELECT * FROM t\n----\nx\n-\n1\n\nsql\nINSERT INTO t VALUES (2)\n----\nOK, 1 rows\n")
        assert main.main(["golden", "-w", str(warehouse), str(file)]) == 1
        assert "[GOLDEN_FILE_READS_ONLY]" in capsys.readouterr().out
        file.write_text(f"options warehouse=write\n{file.read_text()}")
        assert main.main(["golden", "-w", str(warehouse), str(file)]) == 0
        assert main.main(["golden", str(file)]) == 2
        assert main.main(["golden", "-w", str(warehouse), str(file)]) == 1
        capsys.readouterr()
        assert main.main([*sql, "SELECT COUNT(*) AS n FROM t", "--format", "csv"]) == 0
        assert capsys.readouterr().out == "n\n3\n"
        assert main.main(["golden", "-w", str(tmp_path / "absent"), str(file)]) == 2
        assert "WAREHOUSE_NOT_FOUND" in capsys.readouterr().err
        assert not (tmp_path / "absent").exists()

    def test_failures_are_never_accepted(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "a.test"
        text = "sql\nSHOW PARTITIONS nope\n----\nas it was\n\nerror\nSHOW TABLES\n----\nas it was, too\n"
        file.write_text(text)
        assert main.main(["golden", str(file), "--rewrite"]) == 1
        assert file.read_text() == text
        assert "2 cases, 2 failed." in capsys.readouterr().out

    def test_output_with_blank_lines(self, tmp_path: Path) -> None:
        file = tmp_path / "a.test"
        file.write_text("explain\nSELECT 1\n----\n\nparse\nSET a\n----\n\n# The end.\n")
        assert main.main(["golden", str(file), "--rewrite"]) == 0
        once = file.read_text()
        assert once.count("----\n----\n") == 2
        assert once.endswith("SET a\n\n# The end.\n")
        assert main.main(["golden", str(file), "--rewrite"]) == 0
        assert file.read_text() == once
        assert main.main(["golden", str(file)]) == 0

    @pytest.mark.parametrize("text", ["fly\nx\n----\n", "sql\nSELECT 1\n", "sql colour=red\nSELECT 1\n----\n"])
    def test_what_is_no_golden_file(self, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "a.test").write_text(text)
        assert main.main(["golden", str(tmp_path / "a.test")]) == 1
        assert "INVALID_GOLDEN_FILE" in capsys.readouterr().err

    def test_several_paths_and_the_variable_of_the_warehouse(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        warehouse = str(tmp_path / "w")
        assert main.main(["sql", "-w", warehouse, "--engine", "duckdb", "-e", "CREATE TABLE t AS SELECT 1 AS x"]) == 0
        (tmp_path / "sub").mkdir()
        for name in ("sub/a.golden", "sub/b.test", "c.golden"):
            (tmp_path / name).write_text("query\nSELECT x FROM t\n----\nx\n-\n1\n")
        monkeypatch.setenv("REWRITER_WAREHOUSE", warehouse)
        capsys.readouterr()
        assert main.main(["golden", str(tmp_path / "sub"), str(tmp_path / "c.golden"), str(tmp_path / "sub")]) == 0
        assert capsys.readouterr().out == "3 cases, 0 failed.\n"
        assert main.main(["golden", "-w", "", str(tmp_path / "c.golden")]) == 1

    def test_init_writes_a_file_that_passes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        warehouse, file = str(tmp_path / "w"), tmp_path / "a.golden"
        assert main.main(["sql", "-w", warehouse, "--engine", "duckdb", "-e", "CREATE TABLE t AS SELECT 1 AS x"]) == 0
        init = ["golden", "init", str(file), "-w", warehouse]
        assert (
            main.main([*init, "--now", "2024-02-03", "-e", "SELECT x FROM t;", "-e", "SELECT current_date() AS d"]) == 0
        )
        assert file.read_text() == (
            "# Accept changed results: rewriter golden --rewrite.\noptions engine=duckdb now=2024-02-03\n\n"
            "query\nSELECT x FROM t;\n----\nx\n-\n1\n\nquery\nSELECT current_date() AS d;\n----\n"
            "d\n----------\n2024-02-03\n"
        )
        assert main.main(["golden", "-w", warehouse, str(file)]) == 0
        capsys.readouterr()
        before = file.read_text()
        assert main.main([*init, "-e", "SELECT 1"]) == 1  # It exists.
        assert "FAILED_WRITE_FILE" in capsys.readouterr().err
        assert file.read_text() == before

    def test_init_reads_a_file_of_sql(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, file = tmp_path / "q.sql", tmp_path / "a.golden"
        source.write_text("-- The first.\nSELECT now() IS NULL AS n;\nSELECT 2 AS two\n")
        assert main.main(["golden", "init", str(file), "-f", str(source)]) == 0
        text = file.read_text()
        assert "query\n-- The first.\nSELECT now() IS NULL AS n;\n----\nn\n-----\nfalse\n\nquery\n" in text
        assert re.search(r"^options engine=duckdb now=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$", text, re.MULTILINE)
        assert main.main(["golden", str(file)]) == 0

    @pytest.mark.parametrize("sql", ["SELECT nope", "DROP TABLE t", "SELECT 'open", "", "-- nothing"])
    def test_init_writes_nothing_if_a_query_fails(
        self, tmp_path: Path, sql: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        warehouse, file = str(tmp_path / "w"), tmp_path / "a.golden"
        assert main.main(["sql", "-w", warehouse, "--engine", "duckdb", "-e", "CREATE TABLE t AS SELECT 1 AS x"]) == 0
        assert main.main(["golden", "init", str(file), "-w", warehouse, "-e", "SELECT 1", "-e", sql]) == (
            0 if sql in ("", "-- nothing") else 1
        )
        assert file.exists() == (sql in ("", "-- nothing"))
        file.unlink(missing_ok=True)
        assert main.main(["golden", "init", str(file), "-w", warehouse, "-e", sql]) == (
            2 if sql in ("", "-- nothing") else 1
        )
        assert not file.exists()
        assert main.main(["golden", "init", str(file), "-e", "SELECT 1", "--now", "soon"]) == 2
        assert not file.exists()
        assert main.main(["golden", "init", str(tmp_path / "no" / "a.golden"), "-e", "SELECT 1 AS a"]) == 1
        assert "Traceback" not in capsys.readouterr().err


ROLLUPS = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt),
  TABLE days PERIOD DAILY PARTITIONED BY t AS (dt) TRUSTED);
"""
HOURS = ", ".join(f"(1, '2013-01-01-{hour:02d}')" for hour in range(24))


@pytest.mark.parametrize(("total", "code"), [(24, 0), (25, 1)])
def test_a_check_that_differs_exits_1(
    tmp_path: Path, total: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = f"INSERT INTO hours VALUES {HOURS}; INSERT INTO days VALUES ({total}, '2013-01-01')"
    run = ["sql", "--engine", "duckdb", "-w", str(tmp_path), "-e"]
    assert main.main([*run, f"{ROLLUPS}{filled}"]) == 0
    assert main.main([*run, "CHECK FACT f FROM '2014' TO '2015'"]) == 0  # Nothing is compared.
    capsys.readouterr()
    assert main.main([*run, "CHECK FACT f; SELECT 'later' AS word"]) == code
    captured = capsys.readouterr()
    assert ("differs" in captured.out, "agrees" in captured.out) == (code == 1, code == 0)
    assert captured.out.endswith("later\n")
    assert captured.err == ""
