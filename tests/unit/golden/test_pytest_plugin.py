"""The plugin of pytest in projects of users: what it collects, reports, rewrites, and leaves alone.

Each test starts some processes of pytest, so half of them are behind ``pytest -m long``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rewriter.session import Session

ROOT = Path(__file__).parents[3]
GOOD = "query\nSELECT 1 AS a\n----\na\n-\n1\n"
BAD = "# Comment.\n\nquery\nSELECT 2 AS a\n----\na\n-\n1\n\n# The end."


class Project:
    """A project of a user with its own configuration of pytest, which has the plugin as an installed one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        installed = folder / "site" / "golden_plugin-1.dist-info"
        installed.mkdir(parents=True)
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: golden-plugin\nVersion: 1\n")
        points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
        lines = "".join(f"{name} = {module}\n" for name, module in points.items())
        (installed / "entry_points.txt").write_text(f"[pytest11]\n{lines}")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("REWRITER_", "PYTEST_"))}
        self.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(installed.parent)])
        self.write("pytest.ini", "[pytest]\n")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def pytest(self, *arguments: str, code: int = 0, **variables: str) -> str:
        """Returns what a run of pytest writes."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "INTERNALERROR" not in done.stdout
        return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_files_of_subfolders_are_tests(project: Project) -> None:
    project.write("sql/a.golden", GOOD)
    project.write("sql/deep/b.golden", GOOD.replace("\n", "\r\n"))
    project.write("sql/c.test", "no golden file of ours")
    project.write("test_own.py", "def test_own(): pass\n")
    names = project.pytest("--collect-only", "-q").split()
    assert names[:3] == ["sql/a.golden::golden", "sql/deep/b.golden::golden", "test_own.py::test_own"]
    assert "3 passed" in project.pytest()
    assert "1 passed, 2 deselected" in project.pytest("-k", "deep")
    assert "1 passed" in project.pytest("sql/deep/b.golden::golden")


def test_a_difference_is_readable_and_can_be_accepted(project: Project) -> None:
    path = project.write("a.golden", BAD)
    shown = project.pytest(code=1)
    assert "Traceback" not in shown
    lines = (
        f"{path}:3: query\nSELECT 2 AS a\n--- expected\n+++ actual\n@@ -6,3 +6,3 @@\n a\n -\n-1\n+2\n\n"
        "--rewrite accepts the actual output.\n"
    )
    assert lines in shown
    assert "FAILED a.golden::golden" in shown
    assert path.read_text() == BAD
    assert "rewritten: a.golden::golden" in project.pytest("--rewrite")
    assert path.read_text() == BAD.replace("\n1\n", "\n2\n")
    assert "rewritten" not in project.pytest("--rewrite")
    project.pytest()


def test_an_error_is_not_accepted(project: Project) -> None:
    path = project.write("a.golden", "query\nSELECT nope\n----\n")
    for arguments in ((), ("--rewrite",)):
        shown = project.pytest(*arguments, code=1)
        assert "UNRESOLVED_COLUMN" in shown or "nope" in shown
        assert "(an error is not accepted here)" in shown
        assert "Traceback" not in shown
    assert path.read_text() == "query\nSELECT nope\n----\n"


@pytest.mark.long
def test_processes_of_xdist_share_the_files(project: Project) -> None:
    for number in range(4):
        project.write(f"{number}.golden", GOOD if number % 2 else BAD)
    assert "2 failed, 2 passed" in project.pytest("-n", "2", code=1)
    shown = project.pytest("-n", "2", "--rewrite")
    assert sorted(re.findall(r"rewritten: (\S+)::golden", shown)) == ["0.golden", "2.golden"]
    assert "4 passed" in shown
    project.pytest("-n", "2")


def test_mistakes_in_a_file_are_errors_of_collection(project: Project) -> None:
    project.write("a.golden", GOOD + "\nqurey\nSELECT 1\n----\n")
    project.write("b.golden", "sql\n\xff----\n----\n")
    (project.folder / "b.golden").write_bytes(b"sql\n\xff\n----\n")
    shown = project.pytest(code=2)
    assert "Line 8: unknown command qurey." in shown
    assert "Hint: Did you mean query?" in shown
    assert f"The file {project.folder}/b.golden is not text in UTF-8." in shown
    assert "Traceback" not in shown


def test_files_of_other_programs_are_left_alone(project: Project) -> None:
    project.write("a.golden", "package main\n\nfunc main() {}\n")
    project.write("b.golden", "----\nsome text\n")
    project.write("c.test", GOOD)
    (project.folder / "d.golden").write_bytes(bytes(range(256)))
    project.write("test_own.py", "def test_own(): pass\n")
    plain = project.pytest("-p", "no:rewriter_pytest")
    own = project.pytest()
    times = re.compile(r"in \d+\.\d+s")
    plugins = re.compile(r"^plugins: .*\n", re.MULTILINE)
    assert plugins.sub("", times.sub("", own)) == plugins.sub("", times.sub("", plain))


@pytest.mark.long
def test_files_that_are_named_are_collected(project: Project) -> None:
    project.write("a.test", GOOD)
    project.write("b.golden", "SELECT 3 AS c\n")
    assert "1 passed" in project.pytest("a.test")
    assert "+c\n+-\n+3" in project.pytest("b.golden", code=1)
    project.pytest("b.golden", "--rewrite")
    assert (project.folder / "b.golden").read_text() == "query\nSELECT 3 AS c\n----\nc\n-\n3\n"


@pytest.mark.long
def test_patterns_of_the_project_choose_the_files(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\nrewriter_golden = *.test queries/*.sql\n")
    project.write("a.golden", GOOD)
    project.write("b.test", GOOD)
    project.write("queries/c.sql", GOOD)
    project.write("other/d.sql", "SELECT 1")
    names = project.pytest("--collect-only", "-q").split()
    assert names[:2] == ["b.test::golden", "queries/c.sql::golden"]
    assert "2 passed" in project.pytest()


@pytest.mark.long
def test_the_warehouse_of_the_user_is_read(project: Project) -> None:
    for name, value in (("one", 1), ("two", 2)):
        with Session(project.folder / "stores" / name, "duckdb") as session:
            session.execute(f"CREATE TABLE t AS SELECT {value} AS a")
    path = project.write("sql/a.golden", "query\nSELECT a FROM t\n----\na\n-\n1\n")
    project.write("sql/b.golden", "setup\nCREATE TABLE t AS SELECT 1 AS a\n----\n\nsql\nDROP TABLE t\n----\nOK\n")
    assert "TABLE_OR_VIEW_NOT_FOUND" in project.pytest(code=1)
    project.write("pytest.ini", "[pytest]\nrewriter_warehouse = stores/one\n")
    project.pytest()
    assert "+2" in project.pytest(code=1, REWRITER_WAREHOUSE="stores/two")
    project.pytest("--rewriter-warehouse=stores/one", REWRITER_WAREHOUSE="stores/two")
    assert "TABLE_OR_VIEW_NOT_FOUND" in project.pytest("--rewriter-warehouse=", code=1)
    assert "[WAREHOUSE_NOT_FOUND]" in project.pytest("--rewriter-warehouse=nowhere", code=1)
    path.write_text("sql\nDROP TABLE t\n----\nOK\n")
    for arguments in ((), ("--rewrite",)):
        assert "[GOLDEN_FILE_READS_ONLY]" in project.pytest(*arguments, code=1)
    path.write_text("options warehouse=write\nsql\nDROP TABLE t\n----\nOK\n")
    project.pytest()
    assert "TABLE_OR_VIEW_NOT_FOUND" in project.pytest(code=1)


@pytest.mark.long
def test_an_option_of_the_project_keeps_its_definition(project: Project) -> None:
    project.write("a.golden", BAD)
    project.write(
        "conftest.py",
        "def pytest_addoption(parser):\n    parser.addoption('--rewrite', action='store_true', help='our own')\n",
    )
    assert "our own" in project.pytest("--help")
    project.pytest(code=1)
    assert "1 passed" in project.pytest("--rewrite")
    project.write("conftest.py", "def pytest_addoption(parser):\n    parser.addoption('--rewrite', help='a text')\n")
    project.write("a.golden", BAD)
    assert "1 failed" in project.pytest("--rewrite", "text", code=1)
    assert (project.folder / "a.golden").read_text() == BAD


def test_the_plugin_imports_nothing_of_the_package() -> None:
    code = "import sys, rewriter_pytest; print([name for name in sys.modules if name.split('.')[0] == 'rewriter'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
