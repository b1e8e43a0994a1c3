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
from dataclasses import field, replace

from rewriter.cancellation import WAITING, current_cancellation
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.background import repeating

#: The least time between two calls about one phase, in seconds.
PAUSE_SECONDS = 0.25
#: The largest share of the time that is spent on scanning a directory: a slow one is scanned less often.
_SHARE = 0.05


#: The phases of an engine that computes, and of a statement that writes.
_RUNNING, _WRITING = "running", "writing"


@dataclass(frozen=True)
class Progress:
    """The progress of a statement in one of its phases.

    A query is ``planning``, ``starting`` (the ``subject`` is Spark), ``running`` (percent on DuckDB, tasks on Spark).
    INSERT and CREATE TABLE … AS are ``planning``, ``writing`` (files so far, and their bytes), ``committing`` (a
    number of partitions); MSCK is ``listing`` (directories so far), ``checking`` (directories of new partitions),
    ``committing``. REFRESH FACT is ``refreshing`` (partitions, the subject is the table), COMPACT ``compacting``
    (partitions), CHECK FACT ``checking``, ANALYZE ``analyzing`` (tables), VACUUM ``removing`` (files). The
    import of a metastore is ``comparing`` (the subject is a database) and ``importing`` (partitions of a table). Each
    statement may be ``waiting``: ``subject`` is what it waits for. The shell is ``reading`` the rows of a result.

    ``phase`` is one of these words. ``done`` is a number of units, of ``total``, which is ``None`` where it is unknown;
    ``unit`` is a plural, empty where nothing is counted. ``bytes`` are the bytes of written files so far. ``fraction``
    is the share of the phase's work that the engine has done, where that is better known than ``done``.

    Examples:
        >>> Progress("removing", done=25, total=100, unit="files").share
        0.25
    """

    phase: str
    done: int = 0
    total: int | None = None
    unit: str = ""
    bytes: int = 0
    subject: str = ""
    fraction: float | None = None

    @property
    def share(self) -> float | None:
        """Returns the share of the phase's work that is done, from 0 to 1; ``None`` where nobody knows it."""
        if self.fraction is not None:
            return min(1.0, max(0.0, self.fraction))
        return None if not self.total or not self.done else min(1.0, self.done / self.total)


@dataclass
class ProgressReporter:
    """Reports one statement's progress: each phase when it begins, and then at most every ``PAUSE_SECONDS``.

    ``report`` may be called from several threads. An exception of ``callback`` becomes a ``RuntimeWarning``, and
    nothing more is reported: a statement never depends on its observer.
    """

    callback: Callable[[Progress], object] | None = None
    _phase: tuple[str, str] = field(default=("", ""), init=False)
    _last: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    #: The phase that all others belong to, and the number of its units that are being done.
    _whole: Progress | None = field(default=None, init=False)
    _step: int = field(default=1, init=False)

    @property
    def is_listening(self) -> bool:
        return self.callback is not None

    def report(
        self, phase: str, done: int = 0, total: int | None = None, unit: str = "", bytes: int = 0, subject: str = ""
    ) -> None:
        """Reports the progress of the statement, unless it was reported less than ``PAUSE_SECONDS`` ago.

        In a block of ``within``, the phase stays the phase of the block, unless the statement waits, or an engine
        starts.
        """
        self._report(Progress(phase, done, total, unit, bytes, subject))

    def _report(self, progress: Progress) -> None:
        with self._lock:
            if self.callback is None:
                return
            whole = self._whole
            if whole is not None and progress.phase not in (WAITING, "starting"):
                if progress.phase == _RUNNING and progress.total:
                    whole = self._whole = replace(whole, fraction=self._fraction(whole, progress))
                progress = whole
            now, phase = time.monotonic(), (progress.phase, progress.subject)
            if phase == self._phase and now - self._last < PAUSE_SECONDS:
                return
            self._phase, self._last = phase, now
            try:
                self.callback(progress)
            except Exception as error:
                self.callback = None
                warnings.warn(f"Progress is no longer reported: {error!r}", RuntimeWarning, stacklevel=4)

    def _fraction(self, whole: Progress, part: Progress) -> float:
        share = part.done / part.total if part.total else 0.0
        return (whole.done + self._step * share) / whole.total if whole.total else share

    def counter(self, phase: str, unit: str, total: int | None = None) -> Callable[[int], None]:
        """Begins a phase. Returns a function that takes the number of further units that are done.

        The function may be called from any thread. It raises OPERATION_CANCELED after a request to the statement of
        the thread that began the phase.
        """
        count = 0
        cancellation = current_cancellation()

        def advance(increment: int) -> None:
            nonlocal count
            count += increment
            if cancellation is not None:
                cancellation.check()
            self.report(phase, count, total, unit)

        advance(0)
        return advance

    @contextmanager
    def within(self, whole: Progress, step: int = 1) -> Iterator[None]:
        """Reports what happens in the block as a part of ``whole``: of ``step`` further units of it.

        A block inside another one changes nothing.
        """
        if self._whole is not None:
            yield
            return
        with self._lock:
            self._whole, self._step = whole, step
        try:
            self._report(whole)
            yield
        finally:
            with self._lock:
                self._whole = None

    @contextmanager
    def watching(self, folder: str) -> Iterator[None]:
        """Reports, from a separate thread, the files that a write has in its directory while the block runs."""
        if self.callback is None or self._whole is not None:
            yield
            return

        def watch() -> float:
            start_time = time.monotonic()
            files, size = contents(folder)
            with self._lock:
                if self._whole is not None:
                    self._whole = replace(self._whole, done=files, bytes=size)
            self.report(_WRITING)
            return max(PAUSE_SECONDS, (time.monotonic() - start_time) / _SHARE)

        with self.within(Progress(_WRITING, unit="files")), repeating(watch, "rewriter-progress", PAUSE_SECONDS):
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
