"""Shadow proofs: of some queries over cubes, the rollups that were read are compared with their base.

A proof has a session of its own, in a thread of its own, over the same catalog. Rollups that differ leave the covers.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from rewriter.catalog.filesystems.registry import current, using
from rewriter.errors import Error, foreign
from rewriter.runtime.program_statements import EarlierProofs, ProveRollups

if TYPE_CHECKING:
    from rewriter.planner.model.plan import CoverPart
    from rewriter.runtime.result import ShadowProof
    from rewriter.runtime.settings import ShadowProofSettings


class ProvingSession(Protocol):
    """The session in which proofs run."""

    def prove(self, statement: ProveRollups) -> None:
        """Runs a proof."""

    def cancel(self) -> None:
        """Ends the proof."""

    def close(self) -> None:
        """Releases the session."""


#: The time of a proof, in times of a query: proofs of 1 % of the queries take 2 % more time.
_QUERIES_PER_PROOF = 2


class ShadowProofs:
    """The shadow proofs of a session, one at a time. ``open_session`` opens the session in which they run.

    Where a part of the queries gets a proof, each proof earns twice the mean time of the session's queries. One that
    takes longer is a debt, and the next ones end at once until it is paid.
    """

    def __init__(self, open_session: Callable[[], ProvingSession]) -> None:
        self._open_session = open_session
        self._queries, self._query_seconds = 0, 0.0
        #: What proofs have earned and not taken, in seconds.
        self._balance = 0.0
        self._session: ProvingSession | None = None
        self._latest: ShadowProof | None = None
        self._is_closed = False
        #: The longest time of the latest proof.
        self._seconds = 0.0
        self._earlier = EarlierProofs()
        self._warnings: list[str] = []

    @staticmethod
    def is_due(settings: ShadowProofSettings) -> bool:
        """Draws whether a query gets a proof."""
        return settings.percent > 0 and random.random() * 100 < settings.percent

    def note_query(self, seconds: float) -> None:
        """Adds the time of a query over cubes."""
        self._queries += 1
        self._query_seconds += seconds

    def _has_time(self, settings: ShadowProofSettings) -> bool:
        """Tests whether the proofs so far took no longer than they have earned, with what the next one earns."""
        if settings.is_of_all:
            return True
        if self._queries:
            self._balance += _QUERIES_PER_PROOF * self._query_seconds / self._queries
        return self._balance >= 0

    def start(self, parts: Sequence[CoverPart], settings: ShadowProofSettings, proof: ShadowProof) -> None:
        """Starts a proof of the parts of a cover in the background. It ends at once where nothing is to be compared, no
        time is left, beside a running proof, and after ``close``.
        """
        proof.is_pending = False
        is_busy = self._is_closed or (self._latest is not None and self._latest.is_running)
        if not parts or is_busy or not self._has_time(settings):
            proof.end()
            return
        self._latest, self._seconds = proof, settings.seconds
        statement = ProveRollups(
            parts=parts, seconds=settings.seconds, share=settings.share, earlier=self._earlier, proof=proof
        )
        stores, started = current(), time.monotonic()

        def run() -> None:
            error = None
            try:
                with using(stores):
                    if self._session is None:
                        self._session = self._open_session()
                    self._prove(self._session, statement)
            except Error as failure:
                error = failure
            except Exception as failure:
                error = foreign(failure)
            proof.error = error
            warning = proof.warning()
            if warning is not None:
                self._warnings.append(warning)
            if not settings.is_of_all:
                self._balance -= time.monotonic() - started
            proof.end()

        threading.Thread(target=run, name="rewriter-shadow-proof", daemon=True).start()

    def _prove(self, session: ProvingSession, statement: ProveRollups) -> None:
        deadline = threading.Timer(statement.seconds, session.cancel)
        deadline.daemon = True
        deadline.start()
        try:
            session.prove(statement)
        except Error as error:
            if error.condition != "OPERATION_CANCELED":
                raise
        finally:
            deadline.cancel()

    def take_warnings(self) -> tuple[str, ...]:
        """Returns the warnings of the proofs that have ended since the last call."""
        warnings = []
        while self._warnings:
            warnings.append(self._warnings.pop(0))
        return tuple(warnings)

    def wait(self) -> None:
        """Waits for the running proof, which has a limit of time."""
        if self._latest is not None:
            from rewriter.exec.engine import CLOSING_SECONDS

            self._latest.wait(self._seconds + CLOSING_SECONDS)

    def close(self) -> None:
        """Waits for the running proof, and closes its session."""
        self._is_closed = True
        self.wait()
        session, self._session = self._session, None
        if session is not None:
            session.close()
