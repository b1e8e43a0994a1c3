"""Options for pytest, and the distribution of the tests over the processes of ``pytest -n``."""

from __future__ import annotations

import functools
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# A run in the background begins with SIGINT ignored, which children inherit. Tests of Ctrl-C need the usual handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: The longest tests begin first, after the tests of Spark, so that no process ends with one of them.
_ORDER = (
    "tests/differential",
    "tests/fault",
    "tests/metastore",
    "tests/histories",
    "tests/golden",
    "tests/planner",
    "tests/contract",
)
_SPARK = "spark"
_QUICK = "quick"


def pytest_addoption(parser: pytest.Parser) -> None:
    # The plugin for golden files (rewriter_pytest) adds this option only where a project has none, and obeys it here.
    parser.addoption("--rewrite", action="store_true", default=False, help="write what came out into the golden files")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if config.option.numprocesses:
        config.option.dist, config.option.loadscopereorder = "loadscope", False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out the files of other tests where ``-m quick`` asks for the quick ones."""
    if config.option.markexpr != _QUICK or collection_path.is_dir():
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return None if any(case.startswith(name) for case in _quick_cases()) or name.endswith("conftest.py") else True


@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks the quick tests and the tests that take Spark, and tells the scheduler which the latter are."""
    for item in items:
        if _takes_spark(item):
            item.add_marker(_SPARK)
        elif item.nodeid.startswith(_quick_cases()):
            item.add_marker(_QUICK)
    yield
    items.sort(key=_place)
    if hasattr(config, "workerinput"):
        listed = Path(config.workerinput["spark_tests"])
        own = listed.with_suffix(f".{os.getpid()}")
        own.write_text("\0".join(item.nodeid for item in items if item.get_closest_marker(_SPARK)), encoding="utf-8")
        own.replace(listed)


@functools.cache
def _quick_cases() -> tuple[str, ...]:
    """Returns the beginnings of the names of the quick tests, from ``tests/quick.txt``."""
    lines = (Path(__file__).parent / "tests" / "quick.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def _takes_spark(item: pytest.Item) -> bool:
    """True if the test has the Spark fixture, or a parameter that makes another fixture ask for it."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return _SPARK in getattr(item, "fixturenames", ()) or any(
        _SPARK in value if isinstance(value, tuple) else isinstance(value, str) and value == _SPARK
        for value in parameters
    )


def _place(item: pytest.Item) -> int:
    if item.get_closest_marker(_SPARK):
        return -1
    return next((i for i, beginning in enumerate(_ORDER) if item.nodeid.startswith(beginning)), len(_ORDER))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["spark_tests"] = str(Path(_shared().name) / "spark_tests")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Keeps the tests of a file in one process, because they share fixtures.

    Tests that take Spark are one group, so that there is one JVM. pytest 9 loses the marks of groups that pytest-xdist
    has.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):  # type: ignore[misc]
        @functools.cached_property
        def spark_tests(self) -> frozenset[str]:
            return frozenset((Path(_shared().name) / "spark_tests").read_text(encoding="utf-8").split("\0"))

        def _split_scope(self, nodeid: str) -> str:
            return _SPARK if nodeid in self.spark_tests else nodeid.partition("::")[0]

    return Groups(config, log)


@functools.cache
def _shared() -> tempfile.TemporaryDirectory[str]:
    """Returns a directory of this run and its processes."""
    return tempfile.TemporaryDirectory(prefix="rewriter-tests-")
