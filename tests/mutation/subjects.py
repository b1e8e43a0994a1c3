"""The packages whose mutants are tried, and the tests that try them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Subject → its modules, as patterns below ``rewriter``.
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "catalog/facts": ("catalog/facts/*.py",),
    "freshness": ("catalog/commit/freshness.py", "catalog/commit/completeness.py"),
    "planner/cover": ("planner/cover/*.py",),
    "planner/rewrite": ("planner/rewrite/*.py",),
    "timeline": ("timeline/*.py", "timeline/kinds/*.py"),
    "certificate": ("certificate/*.py",),
}
#: The tests that try mutants: quick ones and unit tests, all without Spark, PostgreSQL and a browser.
TESTS = (
    *(f"tests/unit/{folder}" for folder in ("timeline", "planner", "certificate", "catalog", "html", "terminal")),
    *(f"tests/unit/statements/{folder}" for folder in ("define", "maintain", "query", "show", "write")),
    "tests/unit/test_doctests.py",
    "tests/planner",
    "tests/golden",
)
#: Of tests of several cases, all cases of these run, and one share of the others, whatever the commit is.
_WHOLE = (
    *("tests/unit/timeline/", "tests/unit/certificate/test_law.py", "tests/unit/catalog/test_freshness.py"),
    *("tests/unit/test_doctests.py", "tests/planner/", "tests/golden/"),
)
SHARE = 0


class Selection:
    """A plugin of pytest that selects these tests."""

    def __init__(self) -> None:
        self._long: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._long = {item.nodeid for item in items if item.get_closest_marker("long")}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Runs after ``rotation`` has marked the cases of other shares as long ones."""
        session.items = [item for item in session.items if self._is_selected(item)]

    def _is_selected(self, item: pytest.Item) -> bool:
        is_apart = any(item.get_closest_marker(name) for name in ("spark", "browser")) or "postgres" in item.nodeid
        if is_apart or item.nodeid in self._long:
            return False
        is_single = "[" not in item.nodeid or item.nodeid.startswith(_WHOLE)
        return is_single or not item.get_closest_marker("long")


def modules(subject: str) -> list[Path]:
    """Returns the files of a subject, sorted."""
    return sorted(path for pattern in SUBJECTS[subject] for path in (ROOT / "rewriter").glob(pattern))
