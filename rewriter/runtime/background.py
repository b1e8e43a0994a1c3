"""Work that repeats in a thread of its own while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rewriter.cancellation import Cancellation, cancellable
from rewriter.errors import Error


@contextmanager
def repeating(action: Callable[[], float | None], name: str, pause: float) -> Iterator[None]:
    """Runs ``action`` in a thread while the block runs, the first time after ``pause`` seconds.

    ``action`` returns the seconds until its next run, or ``None`` to end. The block ends when a run in progress has
    ended. ``name`` is the thread's.
    """
    stopped = threading.Event()
    cancellation = Cancellation()

    def run() -> None:
        wait: float | None = pause
        try:
            with cancellable(cancellation):
                while wait is not None and not stopped.wait(wait):
                    wait = action()
        except Error:
            if not stopped.is_set():
                raise

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        cancellation.request()  # A run that waits for another writer ends, too.
        thread.join()


@contextmanager
def signs_of_life(
    report: Callable[[], None], name: str, pause: float, is_final: Callable[[Error], bool]
) -> Iterator[None]:
    """Reports every ``pause`` seconds, while the block runs, that it lives. ``name`` is the thread's.

    A report that fails is passed over, as the next may succeed. After an error that ``is_final`` there is none.
    """

    def beat() -> float | None:
        try:
            report()
        except Error as error:
            if is_final(error):
                return None
        return pause

    with repeating(beat, name, pause):
        yield
