"""A plugin of pytest that runs golden files of SQL: each ``*.golden`` file of a project is one test.

Outside of the package ``rewriter``, whose import takes half a second: runs of pytest in projects without golden files
must not pay for it. Here only pytest is imported; the rest when a golden file is found. ``docs/reference/golden.md``
describes the options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rewriter.golden.golden_file import GoldenFile
    from rewriter.golden.runner import UserWarehouse

#: The names of golden files that are collected if they are named on the command line.
_SUFFIXES = (".golden", ".test")
#: Signs that a ``.golden`` file is ours, and not of another program: a line that is a command, and a separator.
_COMMAND = re.compile(
    rb"^(?:setup|query|sql|error|rewrite|cover|scan|coverage|explain|parse|options)(?: +\w+=\S*)*[ \r]*$", re.MULTILINE
)
_LOOKED_AT_BYTES = 1 << 20
_SEPARATOR = re.compile(rb"^----\r?$", re.MULTILINE)
_REWRITE = "--rewrite"
_ABSENT = object()
_REWRITTEN = "rewriter_rewritten"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rewriter", "golden files of SQL")
    group.addoption("--rewriter-warehouse", metavar="DIR", help="the warehouse that golden files read; '' for none")
    group.addoption("--rewriter-catalog", metavar="URL", help="the PostgreSQL database of its catalog")
    parser.addini("rewriter_golden", "patterns of the names of golden files", type="args", default=[])
    parser.addini("rewriter_warehouse", "the warehouse that golden files read, relative to this file", default="")
    parser.addini("rewriter_catalog", "the PostgreSQL database of its catalog", default="")


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> Iterator[None]:
    """Adds ``--rewrite`` after all others have added their options: where it exists, it keeps its definition.

    pytest rewrites the assertions of a plugin's whole distribution. The package ``rewriter`` has none that a test
    would report, and rewriting its modules takes some twenty seconds.
    """
    getattr(early_config.pluginmanager.rewrite_hook, "_must_rewrite", set()).discard("rewriter")
    yield
    if early_config.getoption(_REWRITE, default=_ABSENT) is _ABSENT:
        group = parser.getgroup("rewriter", "golden files of SQL")
        group.addoption(_REWRITE, action="store_true", help="write the actual output into golden files")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if _is_golden(file_path, parent):
        collector: pytest.Collector = GoldenCollector.from_parent(parent, path=file_path)
        return collector
    return None


def _is_golden(path: Path, parent: pytest.Collector) -> bool:
    """Tests whether a file is to be collected: by the project's patterns, or named by the user, or by its content."""
    if path.suffix in _SUFFIXES and parent.session.isinitpath(path):
        return True
    if patterns := parent.config.getini("rewriter_golden"):
        return any(path.match(pattern) for pattern in patterns)
    if path.suffix != _SUFFIXES[0]:
        return False
    try:
        with path.open("rb") as file:
            content = file.read(_LOOKED_AT_BYTES)
    except OSError:
        return False
    return _SEPARATOR.search(content) is not None and _COMMAND.search(content) is not None


def _warehouse(config: pytest.Config) -> UserWarehouse | None:
    """Returns the user's warehouse. Its path is relative to the working directory or, in pytest's configuration, to
    the directory of that file.
    """
    from rewriter.golden.runner import UserWarehouse

    path, folder = _given(config, "warehouse"), config.invocation_params.dir
    if path is None:
        path = config.getini("rewriter_warehouse")
        folder = config.rootpath if config.inipath is None else config.inipath.parent
    if not path:
        return None
    catalog = _given(config, "catalog")
    return UserWarehouse(
        str(folder / path), (config.getini("rewriter_catalog") if catalog is None else catalog) or None
    )


def _given(config: pytest.Config, name: str) -> str | None:
    """Returns the value of the option, else of the environment variable."""
    value = config.getoption(f"--rewriter-{name}")
    return os.environ.get(f"REWRITER_{name.upper()}") if value is None else str(value)


def _rewrites(config: pytest.Config) -> bool:
    return config.getoption(_REWRITE, default=False) is True


class GoldenCollector(pytest.File):
    """A golden file. It is one test, because its cases share a warehouse and run one after the other."""

    def collect(self) -> Iterator[GoldenTest]:
        from rewriter.errors import Error, render
        from rewriter.golden.golden_file import read_golden_file
        from rewriter.golden.runner import bytes_of, text_of

        try:
            read = bytes_of(self.path)
            file = read_golden_file(text_of(self.path, read))
        except Error as error:
            raise self.CollectError(f"{self.path}\n{render(error)}") from None
        test: GoldenTest = GoldenTest.from_parent(self, name="golden", read=read, file=file)
        yield test


class GoldenTest(pytest.Item):
    """The cases of a golden file."""

    def __init__(self, *, read: bytes, file: GoldenFile, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._read = read
        self._file = file

    def runtest(self) -> None:
        from rewriter.golden.runner import accept, run_report, run_text

        rewrite = _rewrites(self.config)
        run = run_text(self.path, self._read, self._file, _warehouse(self.config))
        if rewrite and accept(run):
            self.user_properties.append((_REWRITTEN, self.nodeid))
        if differences := run_report(run, rewrite=rewrite):
            hint = (
                "Cases that fail with an error are not accepted." if rewrite else "--rewrite accepts the actual output."
            )
            raise GoldenDifference(f"{differences}\n\n{hint}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Returns the differences, or an error of ours with its hint, without a traceback."""
        from rewriter.errors import Error, InternalError, render
        from rewriter.terminal_text import printable

        if isinstance(excinfo.value, GoldenDifference):
            return printable(str(excinfo.value))
        if isinstance(excinfo.value, Error) and not isinstance(excinfo.value, InternalError):
            return f"{self.path}\n{render(excinfo.value)}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        first = self._file.cases[0].start - 1 if self._file.cases else 0
        # pytest writes :: for the dots of this text where it ends the id of the test.
        return self.path, first, self.nodeid.partition("::")[0]


class GoldenDifference(Exception):
    """The output of a golden file is another one than the file has."""


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Names the rewritten files. Writes nothing in other runs."""
    if not _rewrites(config):
        return
    reports = [run_report for kind in ("passed", "failed") for run_report in terminalreporter.getreports(kind)]
    for run_report in reports:
        if run_report.when == "call":
            for name, value in run_report.user_properties:
                if name == _REWRITTEN:
                    terminalreporter.write_line(f"rewritten: {value}")
