"""How far a statement is: told to whoever asked for it, a few times a second at most.

Where nobody asked nothing is counted and no thread is started.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

#: The least time between two calls about one phase, in seconds.
PAUSE_SECONDS = 0.25
#: A directory that takes long to look through is looked through less often: this part of the time at most.
_SHARE = 0.05


@dataclass(frozen=True)
class Progress:
    """How far a statement is in one of its phases.

    INSERT and CREATE TABLE … AS are ``planning``, ``writing`` (files so far, and their bytes), ``committing`` (of so
    many partitions); MSCK is ``listing`` (directories so far), ``checking`` (directories of new partitions),
    ``committing``. ``total`` is ``None`` where nobody knows it; ``unit`` is a plural, empty where nothing is counted.
    """

    phase: str
    done: int = 0
    total: int | None = None
    unit: str = ""
    bytes: int = 0


@dataclass
class Teller:
    """Tells one statement's progress: each phase when it begins, and then at most every ``PAUSE_SECONDS``.

    ``tell`` may be called from several threads. An exception of ``callback`` becomes a ``RuntimeWarning``, after which
    nothing more is told: what a statement does never depends on who looks.
    """

    callback: Callable[[Progress], object] | None = None
    _phase: str = field(default="", init=False)
    _last: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def tell(self, phase: str, done: int = 0, total: int | None = None, unit: str = "", bytes: int = 0) -> None:
        """Says how far the statement is, unless it was said just now."""
        with self._lock:
            now = time.monotonic()
            if self.callback is None or (phase == self._phase and now - self._last < PAUSE_SECONDS):
                return
            self._phase, self._last = phase, now
            try:
                self.callback(Progress(phase, done, total, unit, bytes))
            except Exception as error:
                self.callback = None
                warnings.warn(f"Progress is not told any more: {error!r}", RuntimeWarning, stacklevel=3)

    def counter(self, phase: str, unit: str, total: int | None = None) -> Callable[[int], None]:
        """Begins a phase; what it answers is told of how many further units are done."""
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            self.tell(phase, done, total, unit)

        advance(0)
        return advance

    @contextmanager
    def watching(self, folder: str) -> Iterator[None]:
        """Tells, from a thread of its own, what files a write has in its directory while the block runs."""
        if self.callback is None:
            yield
            return
        done = threading.Event()
        self.tell("writing", unit="files")

        def watch() -> None:
            pause = PAUSE_SECONDS
            while not done.wait(pause):
                started = time.monotonic()
                files, size = contents(folder)
                self.tell("writing", files, None, "files", size)
                pause = max(PAUSE_SECONDS, (time.monotonic() - started) / _SHARE)

        thread = threading.Thread(target=watch, name="rewriter-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def contents(folder: str) -> tuple[int, int]:
    """How many files lie in a directory and below it, and their bytes. What vanishes meanwhile is not counted.

    Hidden files, and all in hidden directories, are an engine's own.
    """
    files = size = 0
    left = [folder]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.name.startswith((".", "_")) and "=" not in entry.name:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    else:
                        files, size = files + 1, size + entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return files, size
