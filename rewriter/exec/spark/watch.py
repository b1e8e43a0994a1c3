"""Ends a statement whose Spark has stopped, or has no executors. Spark itself would wait for ever.

A JVM without memory may lose the thread that schedules its jobs, or hang while it ends. Then no call into it fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from rewriter.errors import InterfaceError
from rewriter.exec.spark.reachability import SparkStopped, no_executors

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


class Watch:
    """Looks at a Spark while work runs. ``is_running`` is false for a Spark that executes nothing any more.

    ``count`` returns the number of executors, which may be 0 for ``seconds``; without it they are not counted.
    """

    def __init__(
        self,
        address: str,
        is_running: Callable[[], bool],
        count: Callable[[], int] | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> None:
        self._address = address
        self._is_running = is_running
        self._count = count
        self._seconds = seconds

    @contextmanager
    def over(self, cancel: Callable[[], None]) -> Iterator[Callable[[], None]]:
        """Watches for the duration of a block. Yields a function that raises at once if the work has no end:
        ``SparkStopped``, or ``EngineError`` ENGINE_UNREACHABLE without executors. Before that, ``cancel`` is called.
        """
        failures: list[Exception] = []
        ended = threading.Event()

        def look() -> None:
            missing_since: float | None = None
            while not ended.wait(_PAUSE_SECONDS):
                if not self._is_running():
                    failures.append(SparkStopped(self._address))
                    return
                try:
                    has_executors = self._count is None or self._count() > 0
                except Exception:  # The next look finds that Spark is gone.
                    continue
                if has_executors:
                    missing_since = None
                    continue
                missing_since = missing_since or monotonic()
                if monotonic() - missing_since >= self._seconds:
                    failures.append(no_executors(self._address, self._seconds))
                    with suppress(Exception):
                        cancel()
                    return

        def check() -> None:
            if failures:
                raise failures[0]

        threading.Thread(target=look, name="rewriter-spark-watch", daemon=True).start()
        try:
            yield check
        except SparkStopped:
            raise
        except Exception:
            check()  # The canceled work has failed.
            raise
        finally:
            ended.set()
