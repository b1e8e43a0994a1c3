"""Runs histories one after the other. Each has a warehouse and a database of its own."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from rewriter.catalog import Catalog

from . import checking
from .checking import Tally
from .operations import build
from .worker import Task, started

#: Opens an empty database for one history and drops it at the end. ``None`` means the file in the warehouse.
Databases = Callable[[], AbstractContextManager["str | None"]]


@dataclass(frozen=True)
class Size:
    """The number of processes of a history, and how much each of them does."""

    workers: int = 4
    steps: int = 24


class HistoryError(AssertionError):
    """A history whose results cannot be correct. The message says how to run it again."""


def run(
    seeds: Iterable[int],
    directory: Path,
    databases: Databases,
    size: Size,
    plant: str = "",
) -> Tally:
    """Runs the histories of these seeds. Raises ``HistoryError`` for the first wrong one and keeps its warehouse."""
    total = Tally()
    for seed in seeds:
        warehouse = directory / f"history-{seed}"
        with databases() as url:
            try:
                total += _one(seed, warehouse, url, size, plant)
            except Exception as error:
                raise HistoryError(
                    f"seed {seed} ({warehouse}): {error!r}\nREWRITER_HISTORY={seed} runs it again"
                ) from error
        shutil.rmtree(warehouse)
    return total


def _one(seed: int, warehouse: Path, url: str | None, size: Size, plant: str) -> Tally:
    rng = random.Random(seed)
    catalog = Catalog.open(warehouse, url)
    try:
        build(catalog)
        tasks = [Task(warehouse, url, seed, n, size.steps, *_death(rng, size), plant) for n in range(size.workers)]
        children = [started(task) for task in tasks]
        statuses = [os.waitpid(child, 0)[1] for child in children]
        for task, status in zip(tasks, statuses, strict=True):
            died = os.WIFSIGNALED(status) and (task.killed_at or task.killed_after)
            assert status == 0 or died, f"{task} has failed: {task.failure.read_text(encoding='utf-8')}"
        return replace(checking.check(catalog, url), died=sum(map(os.WIFSIGNALED, statuses)))
    finally:
        catalog.close()


def _death(rng: random.Random, size: Size) -> tuple[int, float]:
    """Returns when a process dies: at which call of the database, and after how many seconds. 0 is never."""
    chance = rng.random()
    if chance < 0.2:
        return rng.randrange(30, 40 * size.steps), 0.0
    return 0, rng.uniform(0.05, 0.03 * size.steps) if chance < 0.4 else 0.0
