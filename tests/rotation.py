"""Selects the seeds and cases of the ordinary run: one share, which the commit determines.

The other shares have the mark ``long``. ``pytest`` and ``pytest -m long`` together run everything, and ordinary runs of
some commits cover everything. ``REWRITER_TEST_SEED`` selects a share. A failure prints it. Cases and seeds that failed
once are in ``regressions.toml`` and run with every share. Slow tests, listed in ``slow_tests.toml``, have more shares.
"""

from __future__ import annotations

import math
import os
import subprocess
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

VARIABLE = "REWRITER_TEST_SEED"
#: The most shares of a parametrized test without a mark.
_PARTS = 8
#: The seconds that a slow test may take in an ordinary run, on average over the commits, and the most times as many
#: shares for that: of tests in general, of tests that read the whole tree, and of recorded outputs.
_SECONDS, _MOST_TIMES, _MOST_TIMES_OF_TREE, _MOST_TIMES_OF_GOLDENS = 0.4, 64, 8, 4
#: Tests of one case run with every second commit, but for these.
_GOLDENS = ("tests/golden/", "tests/planner/")
_ALWAYS = ("tests/unit/documents/", "tests/unit/test_", *_GOLDENS)
#: Name of a slow test → the seconds of a case.
SLOW_TESTS: Mapping[str, float] = tomllib.loads(Path(__file__).with_name("slow_tests.toml").read_text(encoding="utf-8"))
#: Name of a test → the cases (the text in brackets) and the seeds that failed once.
REGRESSIONS: Mapping[str, Sequence[str | int]] = tomllib.loads(
    Path(__file__).with_name("regressions.toml").read_text(encoding="utf-8")
)
#: With fewer files than that, a person has selected them: slow tests run.
_FEW_FILES = 20
T = TypeVar("T")


def turn() -> int:
    """Returns the number that selects the shares: from the environment, else from the commit, else 0.

    It is stored in the environment, so that the processes of ``pytest -n`` collect the same tests.
    """
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(_of_the_commit())
    return int(os.environ[VARIABLE])


def _of_the_commit() -> int:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return 0
    return int(commit[:8], 16) if commit else 0


def share(pool: Sequence[T], parts: int) -> list[T]:
    """Returns every ``parts``-th of the pool, from a position that the commit selects. Neighbors are in different
    shares. Adds the regressions of the running test, which need not be in the pool.
    """
    running_test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0].partition("[")[0]
    # Beyond 64, the number is mixed with itself: a test that runs with every 16th commit does not always get one share.
    selected = list(pool[(turn() + turn() // _MOST_TIMES) % parts :: parts])
    return [*selected, *(seed for seed in REGRESSIONS.get(running_test, ()) if seed not in selected)]  # type: ignore[list-item]


def mark_shares(items: Sequence[pytest.Item]) -> None:
    """Marks the cases of a test: those of one share run by default, and the others are long.

    ``share(parts)`` sets the number of shares; ``share(parts, "spark")`` divides only the cases with that mark, and
    ``share(1)`` runs all. A test without the mark has as many shares as cases, but eight at most, and its name selects
    the first one: of two cases for two engines, some tests run one, and other tests the other. A test of one case has
    two shares, and a slow test more: it runs with some commits only, so that it costs a commit 0.4 seconds on average,
    as far as 64 times as many shares allow (eight times, for tests of documents; four times, for golden files). Cases
    that are named individually run, and so do regressions and the quick tests.
    """
    is_selection = len({item.nodeid.partition("::")[0] for item in items}) < _FEW_FILES
    cases: dict[tuple[str, int | None], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("share")
        parts, *names = (None,) if mark is None else mark.args
        if all(item.get_closest_marker(name) for name in names):
            cases.setdefault((item.nodeid.partition("[")[0], parts), []).append(item)
    for (test, marked_parts), pool in cases.items():
        parts = marked_parts or min(len(pool), _PARTS)
        parts = parts if len(pool) >= parts else 1
        is_always = test.startswith(_ALWAYS)
        has_one_case = not marked_parts and len(pool) == 1 and not is_always
        cost = SLOW_TESTS.get(test, 0) * len(pool) / parts
        is_golden = test.startswith(_GOLDENS)
        most = _MOST_TIMES_OF_GOLDENS if is_golden else _MOST_TIMES_OF_TREE if is_always else _MOST_TIMES
        times = min(max(math.ceil(cost / _SECONDS), 1 + has_one_case), most)
        if is_selection or pool[0].get_closest_marker("quick"):
            times = 1
        first = turn() if marked_parts and times == 1 else turn() + zlib.crc32(test.encode())
        parts *= times
        now = range(first % parts, len(pool), parts)
        regressions = {f"{test}[{case}]" for case in REGRESSIONS.get(test, ())}
        for number in set(range(len(pool))) - set(now):
            if pool[number].nodeid not in regressions:
                pool[number].add_marker("long")
