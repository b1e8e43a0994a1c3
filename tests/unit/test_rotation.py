"""Shares of seeds and cases: together they are everything, and a number repeats each of them."""

from __future__ import annotations

import os

import pytest
import rotation


class Case:
    """A test case as far as shares ask for it: its name, and the marks it has."""

    def __init__(self, nodeid: str, *marks: pytest.Mark) -> None:
        self.nodeid = nodeid
        self.marks = {mark.name: mark for mark in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)

    def add_marker(self, name: str) -> None:
        self.marks[name] = getattr(pytest.mark, name).mark


def ordinary(cases: list[Case]) -> set[str]:
    """Returns the cases that run without ``-m long``."""
    rotation.mark_shares(cases)  # type: ignore[arg-type]
    return {case.nodeid for case in cases if "long" not in case.marks}


def test_all_shares_together_are_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    for number in range(4):
        monkeypatch.setenv(rotation.VARIABLE, str(number))
        now = ordinary([Case(f"a::test[{n}]", pytest.mark.share(4).mark) for n in range(10)])
        assert now == {f"a::test[{n}]" for n in rotation.share(range(10), 4)}
        assert len(now) in (2, 3)
        seen += now
    assert sorted(seen) == sorted(f"a::test[{n}]" for n in range(10))


@pytest.mark.share(1)
@pytest.mark.parametrize("count", [1, 2, 4, 8, 17])
def test_the_shares_of_a_test_without_a_mark(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Each case runs in one of them, and tests of different names begin with different cases."""
    names = [f"a::test_{n}" for n in range(20)]
    seen: list[str] = []
    for number in range(min(count, 8)):
        monkeypatch.setenv(rotation.VARIABLE, str(number))
        now = ordinary([Case(f"{name}[{n}]") for name in names for n in range(count)])
        assert {nodeid.partition("[")[0] for nodeid in now} == set(names)
        if count > 1:
            assert len({nodeid.partition("[")[2] for nodeid in now}) > 1
        seen += now
    assert sorted(seen) == sorted(f"{name}[{n}]" for name in names for n in range(count))


def test_only_cases_of_a_mark_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.VARIABLE, "1")
    mark = pytest.mark.share(2, "spark").mark
    cases = [Case(f"a::test[duckdb-{n}]", mark) for n in range(2)]
    cases += [Case(f"a::test[spark-{n}]", mark, pytest.mark.spark.mark) for n in range(2)]
    assert ordinary(cases) == {"a::test[duckdb-0]", "a::test[duckdb-1]", "a::test[spark-1]"}


def test_a_case_that_is_asked_for_by_its_name_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.VARIABLE, "1")
    assert ordinary([Case("a::test[7]", pytest.mark.share(3).mark)]) == {"a::test[7]"}


def test_regressions_run_with_every_share(monkeypatch: pytest.MonkeyPatch) -> None:
    name = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    monkeypatch.setattr(rotation, "REGRESSIONS", {"a::test": ["3", "x > '2'"], name: [2, 17]})
    for number in range(5):
        monkeypatch.setenv(rotation.VARIABLE, str(number))
        cases = [Case(f"a::test[{case}]", pytest.mark.share(5).mark) for case in (*range(10), "x > '2'")]
        assert {"a::test[3]", "a::test[x > '2']"} < ordinary(cases)
        assert sorted(rotation.share(range(5), 5)) == sorted({number, 2, 17})


def test_slow_tests_run_with_some_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "_SECONDS", 1)
    monkeypatch.setattr(rotation, "SLOW_TESTS", {"a::slow": 4, "a::cases": 1.5, "a::marked": 8})
    runs: dict[str, int] = {}
    for number in range(32):
        monkeypatch.setenv(rotation.VARIABLE, str(number))
        others = [Case(f"{other}::test") for other in range(20)] + [Case("tests/golden/a::test")]
        cases = [
            Case("a::slow"),
            Case("a::short"),
            Case("a::quick", pytest.mark.quick.mark),
            *(Case(f"a::cases[{case}]") for case in range(8)),
        ]
        cases += [Case(f"a::marked[{case}]", pytest.mark.share(1).mark) for case in range(2)]
        for name in ordinary(cases + others):
            runs[name] = runs.get(name, 0) + 1
        assert len(ordinary([Case("a::slow")])) == 1, "a person has selected it"
    assert (runs["a::slow"], runs["a::short"]) == (8, 16)
    assert {runs[f"{other}::test"] for other in range(20)} == {16}
    assert (runs["a::quick"], runs["tests/golden/a::test"]) == (32, 32)
    assert sum(runs.get(f"a::cases[{case}]", 0) for case in range(8)) == 16
    assert {runs[f"a::marked[{case}]"] for case in range(2)} == {2}


def test_the_listed_tests_exist(request: pytest.FixtureRequest) -> None:
    folder = request.config.rootpath
    for test in (*rotation.REGRESSIONS, *rotation.SLOW_TESTS):
        path, *_, name = test.split("::")
        assert f"def {name}(" in (folder / path).read_text(encoding="utf-8")


def test_the_commit_chooses_and_processes_started_from_here_choose_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rotation.VARIABLE)
    chosen = rotation.turn()
    assert os.environ[rotation.VARIABLE] == str(chosen)
    monkeypatch.setattr(rotation, "_of_the_commit", lambda: chosen + 1)
    assert rotation.turn() == chosen


def test_without_a_repository_the_first_share_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rotation.VARIABLE)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert rotation.turn() == 0
