"""Engines that cannot be reached: the error, and the test of an address before Spark tries it for minutes.

ENGINE_UNREACHABLE says that the statement failed because of where it ran, and not because of what it was: the same
statement may succeed on another cluster, or later. It is raised

- when nothing listens at the address of a Spark master or a Spark Connect server, or it does not respond as one,
- when the process of Spark, its application, or the session on the server is gone while a statement runs,
- when a cluster gives a waiting statement no executor.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

from rewriter.errors import EngineError

#: The seconds until an address counts as unreachable.
REACH_SECONDS = 10.0

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

    ``engine`` and ``shown`` are what the message says. Costs a connection, or up to ``REACH_SECONDS`` for each address.
    """
    reason = "it has no address"
    for host, port in addresses:
        try:
            socket.create_connection((host.strip("[]"), port), REACH_SECONDS).close()
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


def no_executors(address: str, seconds: float) -> EngineError:
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
