"""Which seeds and cases the ordinary run takes of many: one share, which changes with the commit.

The other shares have the mark ``long``: ``pytest`` and ``pytest -m long`` together run everything, and ordinary runs
alone see everything in the course of some commits. ``REWRITER_TEST_SEED`` names a share; a failure prints it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

VARIABLE = "REWRITER_TEST_SEED"
T = TypeVar("T")


def turn() -> int:
    """The number that chooses the shares: of the environment, else of the commit, else 0.

    It goes into the environment, so that the processes of ``pytest -n`` collect the same tests.
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
    """Every ``parts``-th of the pool, from a place that the commit chooses: neighbours come into different shares."""
    return list(pool[turn() % parts :: parts])


def mark_shares(items: Sequence[pytest.Item]) -> None:
    """In a test marked ``share(parts)``, the cases of one share run by default, and the others are long.

    With ``share(parts, "spark")`` only the cases of that mark are shared out. Cases that are named one by one run.
    """
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("share")
        if mark is not None and all(item.get_closest_marker(name) for name in mark.args[1:]):
            cases.setdefault((item.nodeid.partition("[")[0], mark.args[0]), []).append(item)
    for (_, parts), pool in cases.items():
        now = share(range(len(pool)), parts) if len(pool) >= parts else range(len(pool))
        for number in set(range(len(pool))) - set(now):
            pool[number].add_marker("long")
