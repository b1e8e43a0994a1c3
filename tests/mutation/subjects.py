"""The packages whose mutants are tried, and the tests that try them."""

from __future__ import annotations

from collections import Counter
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
#: The tests that try mutants: quick ones and unit tests, all without Spark and PostgreSQL.
TESTS = (
    *(f"tests/unit/{folder}" for folder in ("timeline", "planner", "certificate", "catalog")),
    "tests/unit/test_doctests.py",
    "tests/planner",
    "tests/golden",
)
#: The share that runs of tests of many cases, whatever the commit is, and of these folders. All cases of others run.
SHARE, _MANY = 0, 40
_SHARED = ("tests/unit/certificate/", "tests/unit/catalog/")


class Selection:
    """A plugin of pytest that selects these tests."""

    def __init__(self) -> None:
        self._long: set[str] = set()
        self._cases: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._long = {item.nodeid for item in items if item.get_closest_marker("long")}
        self._cases = Counter(map(_test_of, items))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Runs after ``rotation`` has marked the cases of other shares as long ones."""
        session.items = [item for item in session.items if self._is_selected(item)]

    def _is_selected(self, item: pytest.Item) -> bool:
        if item.nodeid in self._long or item.get_closest_marker("spark") or "postgres" in item.nodeid:
            return False
        if not item.get_closest_marker("long"):
            return True
        return self._cases[_test_of(item)] <= _MANY and not item.nodeid.startswith(_SHARED)


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def modules(subject: str) -> list[Path]:
    """Returns the files of a subject, sorted."""
    return sorted(path for pattern in SUBJECTS[subject] for path in (ROOT / "rewriter").glob(pattern))
