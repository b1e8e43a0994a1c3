"""Processes that die at a counted moment: before a statement of the catalog's database, or at a step on disk.

The state after a statement is the state before the next one, and steps on disk are counted before and after them. So a
process that dies at each counted moment dies in every state.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

from statements import dying_at, watch

from rewriter.exec.sinks.choice import GroupedSink
from rewriter.session import Session


def died(run: Callable[[], None]) -> bool:
    """Returns True if a child process that runs this was killed. It must not fail in another way."""
    child = os.fork()
    if child == 0:
        # The child lacks the threads of engines that other tests started. The objects of these engines must not be
        # collected.
        gc.disable()
        code = 1
        try:
            run()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def killed_at(
    warehouse: Path, statement: str, moment: int, url: str | None = None, first: tuple[str, ...] = ()
) -> bool:
    """Returns True if a child that runs the statement reached its n-th moment, where it kills itself.

    Steps on disk are directories and files that are created, renamed and removed, and finished files of partitions.
    Moments of the statements that come ``first`` are not counted.
    """

    def run() -> None:
        count = dying_at(moment)
        with Session(warehouse, "duckdb", catalog=url) as session:
            for argument in first:
                session.execute(argument)
            watch(count)
            for owner, name in ((os, "rename"), (os, "remove"), (os, "makedirs"), (os, "link"), (GroupedSink, "close")):
                setattr(owner, name, _counted(getattr(owner, name), count))
            session.execute(statement)

    return died(run)


def _counted(step: Callable[..., object], count: Callable[[], None]) -> Callable[..., object]:
    def run(*args: object, **options: object) -> object:
        count()
        answer = step(*args, **options)
        count()
        return answer

    return run
