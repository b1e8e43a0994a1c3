"""Ends a statement whose Spark has stopped, or has no executors. Spark itself would wait for ever.

A JVM without memory may lose the thread that schedules its jobs, or hang while it ends. Then no call into it fails.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from rewriter.errors import EngineError, InterfaceError

#: The setting of Spark that has the seconds, and its default.
TIMEOUT_SETTING, _DEFAULT_SECONDS = "spark.rewriter.executorTimeout", 120.0
#: The pause between two looks, in seconds. Shorter work is not looked at.
_PAUSE_SECONDS = 1.0


def seconds_of(text: str | None) -> float:
    """Returns the seconds of the setting. Raises ``InterfaceError`` for a text that is no number of them."""
    try:
        seconds = _DEFAULT_SECONDS if text is None else float(text)
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
        seconds: float = _DEFAULT_SECONDS,
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
                    failures.append(_no_executors(self._address, self._seconds))
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


# Engines that cannot be reached: the error, and the test of an address before Spark tries it for minutes.
#
# ENGINE_UNREACHABLE says that the statement failed because of where it ran, and not because of what it was: the same
# statement may succeed on another cluster, or later. It is raised
#
# - when nothing listens at the address of a Spark master or a Spark Connect server, or it does not respond as one,
# - when the process of Spark, its application, or the session on the server is gone while a statement runs,
# - when a cluster gives a waiting statement no executor.

#: The seconds until an address counts as unreachable.
_REACH_SECONDS = 10.0

#: What Spark says when an application has ended, or the session of a server: the process may live on.
_LOST = re.compile(
    r"Master removed our application|All masters are unresponsive|Application has been killed|"
    r"stopped SparkContext|SparkContext (was|has been) shut ?down|Job \d+ cancelled because SparkContext|"
    r"\[NO_ACTIVE_SESSION\]|\[INVALID_HANDLE\.SESSION_(CHANGED|NOT_FOUND|CLOSED)\]|\[RESPONSE_ALREADY_RECEIVED\]"
)


class SparkStopped(Exception):
    """A Spark that executes nothing any more was found by ``watch``. It becomes ENGINE_UNREACHABLE."""


def says_lost(text: str) -> bool:
    """Tests whether a message of Spark says that its application or session is gone."""
    return _LOST.search(text) is not None


def reach(engine: str, addresses: Iterable[tuple[str, int]], shown: str) -> None:
    """Raises ``EngineError`` ENGINE_UNREACHABLE unless something listens at one of the addresses.

    ``engine`` and ``shown`` are what the message says. Costs a connection, or ``_REACH_SECONDS`` for each address.
    """
    reason = "it has no address"
    for host, port in addresses:
        try:
            socket.create_connection((host.strip("[]"), port), _REACH_SECONDS).close()
            return
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    raise unreachable(engine, shown, reason)


def unreachable(engine: str, address: str, reason: str) -> EngineError:
    """Returns ENGINE_UNREACHABLE for an engine that could not be connected to."""
    return EngineError(
        f"{engine} at {address} cannot be reached: {reason.rstrip('.')}.",
        condition="ENGINE_UNREACHABLE",
        sqlstate="08001",
        object=address,
        hint="Check the address, and that the master or the server runs there. "
        "docs/how-to/spark-cluster.md starts both.",
    )


def lost(address: str) -> EngineError:
    """Returns ENGINE_UNREACHABLE for an engine that worked, and is gone."""
    return EngineError(
        f"The connection to Spark at {address} was lost while the statement ran.",
        condition="ENGINE_UNREACHABLE",
        sqlstate="08001",
        object=address,
        hint="None of the statement's changes were kept. The next statement connects again, except over a session of "
        "Spark that was handed in: then open a new connection. If its log has OutOfMemoryError, raise "
        "spark.driver.memory.",
    )


def _no_executors(address: str, seconds: float) -> EngineError:
    """Returns ENGINE_UNREACHABLE for a cluster without executors."""
    return EngineError(
        f"Spark at {address} had no executor for {seconds:.0f} s: all workers are gone, or other applications have all "
        "cores or all memory.",
        condition="ENGINE_UNREACHABLE",
        sqlstate="08001",
        object=address,
        hint="None of the statement's changes were kept. Check the workers on the page of the master; "
        "spark.cores.max limits the cores of an application. spark.rewriter.executorTimeout are the seconds.",
    )
