"""The examples in docstrings are run: of the public interface, the timelines, the catalog's plain data, and covers."""

import doctest
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PACKAGES = [
    "rewriter.dbapi",
    "rewriter.errors",
    "rewriter.runtime.result",
    "rewriter.runtime.progress",
    "rewriter.connectors",
    "rewriter.exec.spark_functions",
    "rewriter.exec.translate.function_support",
    "rewriter.planner.model",
    "rewriter.timeline",
    "rewriter.catalog.keys",
    "rewriter.catalog.facts",
    "rewriter.catalog.model",
    "rewriter.catalog.filters",
    "rewriter.catalog.clusters",
    "rewriter.planner.cover",
    "rewriter.cli.doctor_checks",
    "rewriter.metastore",
    "rewriter.serve",
]

#: There are more. A refactoring that loses most examples, or does not find them, fails.
LEAST_EXAMPLES = 40


def modules(name: str) -> Iterator[ModuleType]:
    """Returns a package, or a module, and all modules in it."""
    module = import_module(name)
    yield module
    for inner in pkgutil.walk_packages(getattr(module, "__path__", []), f"{name}."):
        yield import_module(inner.name)


def test_examples_in_docstrings_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = {module.__name__: doctest.testmod(module) for name in PACKAGES for module in modules(name)}
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) >= LEAST_EXAMPLES
