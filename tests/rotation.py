"""Selects the seeds and cases of the ordinary run: one share, which the commit determines.

The other shares have the mark ``long``. ``pytest`` and ``pytest -m long`` together run everything, and ordinary runs of
some commits cover everything. ``REWRITER_TEST_SEED`` selects a share. A failure prints it.
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
    shares.
    """
    return list(pool[turn() % parts :: parts])


def mark_shares(items: Sequence[pytest.Item]) -> None:
    """Marks the cases of a test with ``share(parts)``: those of one share run by default, and the others are long.

    With ``share(parts, "spark")`` only the cases with that mark are divided. Cases that are named individually run.
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
