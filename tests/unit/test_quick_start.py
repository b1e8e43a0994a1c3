"""Commands import few modules before their first row. Imports take most of the time of a short command.

Each command runs in a child process, which counts the modules that a bare Python does not have. The counts leave out
the standard library, which an environment may load at its start, and numpy, which pyarrow loads if it is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from terminals import Terminal

from rewriter.cli import main
from rewriter.statements.dispatch import runners

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt));
INSERT INTO hours VALUES (1, '2013-01-01-00'), (2, '2013-01-01-01');
"""
QUERY = "SELECT SUM(n) AS n FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T02')"
_CHILD = """
import json, sys
before = set(sys.modules)
from rewriter.cli.main import main

def report():
    names = {name for name in set(sys.modules) - before if name.partition(".")[0] != "numpy"}
    print("MODULES" + json.dumps(sorted(names)) + "END", flush=True)

"""
_COMMAND = _CHILD + "code = main(sys.argv[1:])\nreport()\nsys.exit(code)"
_PROMPT = (
    _CHILD
    + """
from prompt_toolkit import PromptSession

def prompt(*_, **__):
    report()
    raise EOFError

PromptSession.prompt = prompt
main(sys.argv[1:])
"""
)
#: What no short command loads.
NEVER = ("pyspark", "pandas", "lark", "rich", "rewriter.catalog.commit.transaction", "rewriter.statements.write.insert")
ENGINES = ("pyarrow", "duckdb", "rewriter.exec.engine", "rewriter.exec.formats")
PLANNER = ("sqlglot", "rewriter.planner.scope", "rewriter.planner.plan_query", "rewriter.exec.translate")
CATALOG = ("sqlalchemy", "rewriter.catalog.catalog", "rewriter.session")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quick") / "w"
    assert main.main(["sql", "-w", str(folder), "--engine", "duckdb", "-e", SETUP]) == 0
    return folder


def reported(output: str) -> list[str]:
    modules: list[str] = json.loads(output.partition("MODULES")[2].partition("END")[0])
    return modules


def imported(*words: str) -> list[str]:
    """Returns the modules that a command has imported."""
    done = subprocess.run([sys.executable, "-c", _COMMAND, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return reported(done.stdout)


def own(modules: list[str]) -> list[str]:
    return [name for name in modules if name.partition(".")[0] == "rewriter"]


def check(modules: list[str], most: int, most_own: int, absent: tuple[str, ...]) -> None:
    """Fails if there are more modules, or more of ours, than that, or one of a package that should be absent."""
    packages = tuple(f"{package}." for package in absent)
    unwanted_modules = [name for name in modules if f"{name}.".startswith(packages)]
    assert unwanted_modules == []
    installed_modules = [name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names]
    counts = len(installed_modules), len(own(modules))
    assert counts[0] <= most, (counts, installed_modules)
    assert counts[1] <= most_own, (counts, own(modules))


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_an_option_that_runs_nothing(option: str) -> None:
    check(imported(option), 37, 24, (*NEVER, *ENGINES, *PLANNER, *CATALOG, "prompt_toolkit", "ssl", "logging"))


def test_show_tables(warehouse: Path) -> None:
    modules = imported("-w", str(warehouse), "--engine", "duckdb", "-e", "SHOW TABLES")
    check(modules, 356, 248, (*NEVER, *ENGINES, *PLANNER, "prompt_toolkit"))


def test_a_query_of_a_cube(warehouse: Path) -> None:
    modules = imported("-w", str(warehouse), "--engine", "duckdb", "-e", QUERY)
    check(
        modules, 600, 411, (*NEVER, "prompt_toolkit", "rewriter.statements.define.tables", "rewriter.catalog.workspace")
    )


def test_the_prompt(warehouse: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROMPT, "-w", str(warehouse), "--engine", "duckdb"]
    with Terminal(command, tmp_path) as terminal:
        while "END" not in terminal.everything.decode():
            assert terminal.read(5), terminal.everything.decode()
    check(reported(terminal.everything.decode()), 236, 75, (*NEVER, *ENGINES, *PLANNER, *CATALOG))


def test_each_runner_is_found_by_the_text_of_its_module() -> None:
    """Without the imports of all families, which are what is left to try where no text tells."""
    kinds = sorted(f"{kind.__module__}:{kind.__name__}" for kind in runners())
    program = (
        "import importlib, sys\n"
        "from rewriter.statements import dispatch\n"
        "dispatch.runners = dict\n"
        "for name in sys.argv[1:]:\n"
        "    module, _, kind = name.partition(':')\n"
        "    if dispatch.runner_of(getattr(importlib.import_module(module), kind)) is None:\n"
        "        print(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *kinds], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len(kinds) > 50
