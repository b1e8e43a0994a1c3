"""Without PySpark: DuckDB is the default engine, the shell and doctor say so, and Spark is refused with the remedy.

Each test runs a child process whose import path has no PySpark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminals import Terminal

import rewriter
from rewriter.exec.spark.installation import INSTALL

_SITE = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a Python that finds no PySpark, and no configuration of the user."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SITE)
    root = str(Path(rewriter.__file__).parents[1])
    own = {name: text for name, text in os.environ.items() if not name.startswith("REWRITER_")}
    paths = {"PYTHONPATH": f"{folder}{os.pathsep}{root}", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    return {**own, **paths}


def run(environment: dict[str, str], *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
        cwd=environment["HOME"],
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_the_child_has_no_spark(environment: dict[str, str]) -> None:
    assert "ModuleNotFoundError" in run(environment, "-c", "import pyspark", code=1).stderr


def test_statements_run_on_duckdb_by_default(environment: dict[str, str]) -> None:
    script = "CREATE TABLE t AS SELECT 1 AS a; SELECT SUM(a) AS s FROM t"
    done = run(environment, "-m", "rewriter", "-w", "w", "--format", "jsonl", "-e", script)
    assert json.loads(done.stdout.splitlines()[-1]) == {"s": 1}
    program = "with rewriter.connect('w') as c: print(c.session.engine_name, c.execute('SELECT a FROM t').fetchall())"
    assert run(environment, "-c", f"import rewriter\n{program}").stdout == "duckdb [(1,)]\n"
    program = "with Session('w') as s: print(s.engine_name)"
    assert run(environment, "-c", f"from rewriter.session import Session\n{program}").stdout == "duckdb\n"


@pytest.mark.parametrize("engine", [("--engine", "spark"), ("--engine", "local[2]"), ("--master", "local[2]")])
def test_spark_is_refused_with_what_installs_it(environment: dict[str, str], engine: tuple[str, ...]) -> None:
    run(environment, "-m", "rewriter", "-w", "w", *engine, "-e", "CREATE TABLE t (a INT)")
    done = run(environment, "-m", "rewriter", "-w", "w", *engine, "-e", "SELECT a FROM t", code=2)
    assert done.stdout == ""
    assert "[SPARK_NOT_FOUND] Spark is not installed." in done.stderr
    assert f"Hint: Run {INSTALL}, or use the engine duckdb." in done.stderr


def test_the_client_of_spark_connect_is_refused_by_its_own_name(environment: dict[str, str]) -> None:
    words = ("-m", "rewriter", "-w", "w", "--engine", "sc://127.0.0.1:1", "-e", "SELECT 1")
    assert "Run pip install 'rewriter[connect]'." in run(environment, *words, code=2).stderr


def test_doctor_says_why_duckdb_is_the_engine(environment: dict[str, str]) -> None:
    checks = json.loads(run(environment, "-m", "rewriter", "doctor", "-w", "w", "--json").stdout)
    by_name = {check["name"]: check for check in checks}
    assert "engine duckdb" in by_name["Configuration"]["detail"]
    assert by_name["Spark"]["status"] == "skipped"
    assert INSTALL in by_name["Spark"]["detail"]
    words = ("-m", "rewriter", "doctor", "-w", "w", "--json", "--engine", "spark")
    (spark,) = [check for check in json.loads(run(environment, *words, code=1).stdout) if check["name"] == "Spark"]
    assert (spark["status"], INSTALL in spark["advice"]) == ("error", True)


def test_the_shell_says_it_once(environment: dict[str, str], tmp_path: Path) -> None:
    own = {name: environment[name] for name in ("PYTHONPATH", "HOME", "XDG_CONFIG_HOME")}
    command = [sys.executable, "-m", "rewriter", "-w", str(tmp_path / "w")]
    with Terminal(command, tmp_path, 120, **own) as terminal:
        terminal.until("default>")
        assert "rewriter: w, on duckdb." in terminal.shown()
        assert terminal.shown().count(f"Spark is not installed, so that the engine is duckdb. {INSTALL}") == 1
    with Terminal([*command, "--engine", "duckdb"], tmp_path, 120, **own) as terminal:
        terminal.until("default>")
        assert "Spark is not installed" not in terminal.shown()
