"""The packages whose mutants are tried, and the tests that try them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
#: The arguments of pytest: the share of cases is always the same one, whatever the commit is (``SHARE``).
TESTS = (
    *(f"tests/unit/{folder}" for folder in ("timeline", "planner", "certificate", "catalog", "statements")),
    "tests/planner",
    "tests/golden",
    "-m",
    "not long and not spark",
)
SHARE = 0


def modules(subject: str) -> list[Path]:
    """Returns the files of a subject, sorted."""
    return sorted(path for pattern in SUBJECTS[subject] for path in (ROOT / "rewriter").glob(pattern))
