"""Ctrl-C of a shell: it cancels the statement, and the shell goes on.

The statement runs in a worker thread, and the main thread waits for it. So no ``KeyboardInterrupt`` is raised within a
statement, where it could end a commit halfway, and Spark, which handles SIGINT in its own way if it is started in the
main thread, never sees the signal.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

#: Seconds after which a request that had no effect yet is repeated.
_PAUSE = 0.2
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """The request of Ctrl-C that the shell's current work ends."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._cancels: list[Callable[[], object]] = [cancel]
        self._requested = threading.Event()
        #: Set by the handler of signals, which may be called within itself: an event's lock would not bear that.
        self._is_signaled = False
        #: The signal of the request: SIGINT, or one that asks the program to end.
        self.signal = signal.SIGINT

    @property
    def is_requested(self) -> bool:
        return self._is_signaled

    @property
    def ends_program(self) -> bool:
        """True after SIGTERM or SIGHUP."""
        return self.is_requested and self.signal is not signal.SIGINT

    @contextmanager
    def ending(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Lets a request call ``cancel``, too, again and again while the block runs."""
        self._cancels = [*self._cancels, cancel]
        try:
            yield
        finally:
            self._cancels = self._cancels[:-1]

    def wait(self, seconds: float) -> bool:
        """Waits for a request, and returns whether there was one."""
        return self._requested.wait(seconds)

    def run(self, work: Callable[[], T]) -> T:
        """Runs ``work`` in a worker thread. Ctrl-C, SIGTERM and SIGHUP set ``is_requested`` and cancel the statement;
        the work ends as it wants. Call it in the main thread.
        """
        self._requested.clear()
        self._is_signaled = False
        results: list[T] = []
        failures: list[BaseException] = []
        finished = threading.Event()

        def run() -> None:
            try:
                results.append(work())
            except BaseException as error:
                failures.append(error)
            finally:
                finished.set()

        def request(number: int, _frame: FrameType | None) -> None:
            self.signal, self._is_signaled = signal.Signals(number), True

        before = {number: signal.signal(number, request) for number in _SIGNALS}
        try:
            threading.Thread(target=run, name="rewriter-shell", daemon=True).start()
            while not finished.wait(_PAUSE / 4 if not self.is_requested else _PAUSE):
                if self.is_requested:
                    self._requested.set()
                    # Again and again: the next statement may just begin, and an engine that plans may ignore a call.
                    for cancel in self._cancels:
                        with suppress(Exception):  # The work goes on until it ends, whatever this does.
                            cancel()
        finally:
            # SIGINT at last: its handler may raise here.
            for number, handler in reversed(before.items()):
                signal.signal(number, handler)
        if failures:
            raise failures[0]
        return results[0]
