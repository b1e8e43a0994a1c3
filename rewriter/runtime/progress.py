"""Reports the progress of a statement to a callback a few times a second at most.

Without a callback, nothing is counted and no thread is started.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rewriter.runtime.background import repeating

#: The least time between two calls about one phase, in seconds.
PAUSE_SECONDS = 0.25
#: The largest share of the time that is spent on scanning a directory: a slow one is scanned less often.
_SHARE = 0.05


@dataclass(frozen=True)
class Progress:
    """The progress of a statement in one of its phases.

    INSERT and CREATE TABLE … AS are ``planning``, ``writing`` (files so far, and their bytes), ``committing`` (a
    number of partitions); MSCK is ``listing`` (directories so far), ``checking`` (directories of new partitions),
    ``committing``. ``total`` is ``None`` where it is unknown; ``unit`` is a plural, empty where nothing is counted.
    """

    phase: str
    done: int = 0
    total: int | None = None
    unit: str = ""
    bytes: int = 0


@dataclass
class ProgressReporter:
    """Reports one statement's progress: each phase when it begins, and then at most every ``PAUSE_SECONDS``.

    ``report`` may be called from several threads. An exception of ``callback`` becomes a ``RuntimeWarning``, and
    nothing more is reported: a statement never depends on its observer.
    """

    callback: Callable[[Progress], object] | None = None
    _phase: str = field(default="", init=False)
    _last: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def report(self, phase: str, done: int = 0, total: int | None = None, unit: str = "", bytes: int = 0) -> None:
        """Reports the progress of the statement, unless it was reported less than ``PAUSE_SECONDS`` ago."""
        with self._lock:
            now = time.monotonic()
            if self.callback is None or (phase == self._phase and now - self._last < PAUSE_SECONDS):
                return
            self._phase, self._last = phase, now
            try:
                self.callback(Progress(phase, done, total, unit, bytes))
            except Exception as error:
                self.callback = None
                warnings.warn(f"Progress is no longer reported: {error!r}", RuntimeWarning, stacklevel=3)

    def counter(self, phase: str, unit: str, total: int | None = None) -> Callable[[int], None]:
        """Begins a phase. Returns a function that takes the number of further units that are done."""
        count = 0

        def advance(increment: int) -> None:
            nonlocal count
            count += increment
            self.report(phase, count, total, unit)

        advance(0)
        return advance

    @contextmanager
    def watching(self, folder: str) -> Iterator[None]:
        """Reports, from a separate thread, the files that a write has in its directory while the block runs."""
        if self.callback is None:
            yield
            return
        self.report("writing", unit="files")

        def watch() -> float:
            start_time = time.monotonic()
            files, size = contents(folder)
            self.report("writing", files, None, "files", size)
            return max(PAUSE_SECONDS, (time.monotonic() - start_time) / _SHARE)

        with repeating(watch, "rewriter-progress", PAUSE_SECONDS):
            yield


def contents(folder: str) -> tuple[int, int]:
    """Returns the number of files in a directory and below it, and their bytes. Files that vanish meanwhile do not
    count.

    Hidden files, and all files in hidden directories, are an engine's own and do not count.
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
