"""The mutants of a function, and the list of the explained ones."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.mutation.mutants import mutants
from tests.mutation.subjects import SUBJECTS, modules

EXAMPLE = '''
MOST = 3

class Box:
    def fits(self, low: int = 0) -> bool:
        """Returns 1."""
        if low < self.size <= 5:
            self.seen = True
        assert low != 7, f"{low + 1}"
        return not low or all(n for n in self.parts if n)
'''
CHANGES = (
    "low < self.size <= 5 → True",
    "low < self.size <= 5 → False",
    "low < self.size <= 5 → low <= self.size <= 5",
    "low < self.size <= 5 → low >= self.size <= 5",
    "low < self.size <= 5 → low < self.size < 5",
    "low < self.size <= 5 → low < self.size > 5",
    "5 → 6",
    "self.seen = True → (removed)",
    "True → False",
    "return not low or all((n for n in self.parts if n)) → return None",
    "not low or all((n for n in self.parts if n)) → not low and all((n for n in self.parts if n))",
    "not low or all((n for n in self.parts if n)) → all((n for n in self.parts if n))",
    "not low or all((n for n in self.parts if n)) → not low",
    "not low → low",
    "all((n for n in self.parts if n)) → any((n for n in self.parts if n))",
    "n → True",
)


def test_each_mutant_changes_one_place_of_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutation.mutants.ROOT", tmp_path)
    path = tmp_path / "rewriter" / "box.py"
    path.parent.mkdir()
    path.write_text(EXAMPLE, encoding="utf-8")
    assert [mutant.name for mutant in mutants(path)] == [f"box.py Box.fits: {change}" for change in CHANGES]


def test_the_explained_mutants_exist() -> None:
    """A name that a change of the code has removed must leave the list."""
    names = {mutant.name for subject in SUBJECTS for path in modules(subject) for mutant in mutants(path)}
    explained = tomllib.loads((Path(__file__).parent / "explained.toml").read_text(encoding="utf-8"))
    assert explained.keys() == {"equivalent", "accepted"}
    assert {name for reasons in explained.values() for name in reasons} - names == set()
