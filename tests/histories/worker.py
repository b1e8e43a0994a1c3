"""One process of a history: it writes and reads at random, and logs each result before it continues."""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from statements import dying_at, watch

from rewriter.catalog import Catalog, Snapshot
from rewriter.errors import ConflictError

from . import plants
from .asking import ask, questions
from .operations import changes, choose, sources


@dataclass(frozen=True)
class Task:
    """The task of one process. ``plant`` names a planted bug.

    The process dies at its call number ``killed_at`` of the database, or after ``killed_after`` seconds. 0 is never.
    """

    warehouse: Path
    url: str | None
    seed: int
    number: int
    steps: int
    killed_at: int = 0
    killed_after: float = 0.0
    plant: str = ""

    def catalog(self) -> Catalog:
        """Opens the catalog. Each process of a history has another kind of cache: none; a small one that is not kept
        current; one that a thread updates; one that is updated now and then.
        """
        catalog = Catalog.open(self.warehouse, self.url)
        if self.number % 4:
            catalog.use_cache((0, 20_000, 1 << 20, 1 << 20)[self.number % 4], follow=self.number % 4 == 2)
        return catalog

    @property
    def log(self) -> Path:
        """The log of the process: a line of JSON for each result."""
        return self.warehouse / f"worker-{self.number}.log"

    @property
    def failure(self) -> Path:
        """The file for the traceback of an unexpected error."""
        return self.log.with_suffix(".failure")


def started(task: Task) -> int:
    """Returns the id of a started process."""
    child = os.fork()
    if child == 0:
        # The child lacks the threads of engines that other tests started. The objects of these engines must not be
        # collected.
        gc.disable()
        _work(task)
    return child


def _work(task: Task) -> NoReturn:
    code = 1
    try:
        if task.killed_at:
            _kill_at(task.killed_at)
        if task.killed_after:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # It ends the process as SIGKILL does.
            signal.setitimer(signal.ITIMER_REAL, task.killed_after)
        if task.plant:
            plants.PLANTS[task.plant]()
        Worker(task).run()
        code = 0
    except BaseException:
        task.failure.write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(code)


def _kill_at(moment: int) -> None:
    """Kills this process before its n-th statement."""
    count = dying_at(moment)
    watch(count)


class Worker:
    """Reads, writes and waits at random."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._rng = random.Random(f"{task.seed}/{task.number}")
        self._catalog = task.catalog()
        self._held: list[Snapshot] = []
        self._file = os.open(task.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def run(self) -> None:
        """Executes all steps."""
        for _ in range(self._task.steps):
            chance = self._rng.random()
            if chance < 0.3:
                self._read()
            elif chance < 0.95:
                self._write()
            elif chance < 0.99:
                started = time.monotonic()
                self._log(aborted=self._catalog.abort_dead(0.0), start=started)
            elif self._catalog.follower is not None and chance < 0.995:
                self._catalog.follower.catch_up()
                self._catalog.follower.refresh()
            else:
                self._pause(0.02)

    def _read(self) -> None:
        """Queries a new snapshot, or an older one that was queried before or not."""
        start = time.monotonic()
        if self._held and self._rng.random() < 0.4:
            snapshot = self._held.pop(0)
            start = 0.0  # It may have any age.
        else:
            snapshot = self._catalog.snapshot()
        if self._rng.random() < 0.3:
            self._held.append(snapshot)
            self._log(read=snapshot.sequence, start=start, answers=[])
            return
        asked = questions(self._rng, snapshot, self._rng.choice([1, 2, 5]))
        answers = [[question, ask(snapshot, question)] for question in asked]
        self._log(read=snapshot.sequence, start=start, answers=answers)

    def _write(self) -> None:
        held = self._held[0] if self._held and self._rng.random() < 0.2 else None
        start = time.monotonic()
        with self._catalog.begin(held) as tx:
            begun = time.monotonic()
            try:
                operation = choose(self._rng, tx, self._task.number)
                if operation is None:
                    return
                told = {"seen": tx.snapshot.sequence, "operation": operation.logged()}
                self._log(intent=tx.id, start=start, begun=begun, **told)
                self._pause(self._rng.choice([0, 0, 0.003, 0.01, 0.04]))
                if self._rng.random() < 0.05:
                    return
                change, commit_start = changes(operation, tx), time.monotonic()
                number = tx.commit(change, sources(operation, tx))
            except ConflictError as error:
                self._log(conflict=tx.id, condition=error.condition, retryable=error.sqlstate == "40001")
                return
        self._log(committed=tx.id, number=number, start=commit_start, differences=list(map(str, tx.differences)))

    def _pause(self, most: float) -> None:
        if most:
            time.sleep(self._rng.uniform(0, most))

    def _log(self, **entry: Any) -> None:
        line = json.dumps({**entry, "end": time.monotonic()}, ensure_ascii=False)
        os.write(self._file, f"{line}\n".encode())
