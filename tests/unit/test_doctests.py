"""The examples in docstrings are run: of the timelines, of the catalog's plain data, and of covers."""

import doctest
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

PACKAGES = [
    "rewriter.timeline",
    "rewriter.catalog.keys",
    "rewriter.catalog.facts",
    "rewriter.catalog.model",
    "rewriter.catalog.filters",
    "rewriter.catalog.clusters",
    "rewriter.planner.cover",
    "rewriter.doctor",
    "rewriter.hive",
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


def test_examples_in_docstrings_are_right():
    results = {module.__name__: doctest.testmod(module) for name in PACKAGES for module in modules(name)}
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) >= LEAST_EXAMPLES
