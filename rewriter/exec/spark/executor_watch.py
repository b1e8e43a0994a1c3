"""Ends a statement whose cluster has no executors. Spark would wait for ever, and say so only in its log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from rewriter.errors import InterfaceError
from rewriter.exec.spark.reachability import no_executors

#: The setting of Spark that has the seconds, and its default.
TIMEOUT_SETTING, DEFAULT_SECONDS = "spark.rewriter.executorTimeout", 120.0
#: The pause between two looks, in seconds. Shorter work is not looked at.
_PAUSE_SECONDS = 1.0


def seconds_of(text: str | None) -> float:
    """Returns the seconds of the setting. Raises ``InterfaceError`` for a text that is no number of them."""
    try:
        seconds = DEFAULT_SECONDS if text is None else float(text)
    except ValueError:
        seconds = -1
    if not seconds > 0:
        raise InterfaceError(
            f"{TIMEOUT_SETTING} is {text!r}, which is no number of seconds.", object=TIMEOUT_SETTING, hint="Write 120."
        )
    return seconds


class ExecutorWatch:
    """Counts the executors while work runs. ``count`` returns their number, which may be 0 for ``seconds``."""

    def __init__(self, count: Callable[[], int], seconds: float) -> None:
        self._count = count
        self.seconds = seconds

    @contextmanager
    def over(self, cancel: Callable[[], None]) -> Iterator[threading.Event]:
        """Watches for the duration of a block. Calls ``cancel`` when the time is over, and sets the event before."""
        expired, ended = threading.Event(), threading.Event()

        def look() -> None:
            missing_since: float | None = None
            while not ended.wait(_PAUSE_SECONDS):
                try:
                    has_executors = self._count() > 0
                except Exception:  # Spark is gone, and the work fails by itself.
                    return
                if has_executors:
                    missing_since = None
                    continue
                missing_since = missing_since or monotonic()
                if monotonic() - missing_since >= self.seconds:
                    expired.set()
                    with suppress(Exception):
                        cancel()

        threading.Thread(target=look, name="rewriter-executor-watch", daemon=True).start()
        try:
            yield expired
        finally:
            ended.set()


@contextmanager
def executors_awaited(watch: ExecutorWatch | None, address: str, cancel: Callable[[], None]) -> Iterator[None]:
    """Raises ``EngineError`` ENGINE_UNREACHABLE if the work of the block has no executors for too long."""
    if watch is None:
        yield
        return
    with watch.over(cancel) as expired:
        try:
            yield
        except Exception:
            if expired.is_set():
                raise no_executors(address, watch.seconds) from None
            raise
