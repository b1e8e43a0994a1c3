"""The last statements of a session, for ``system.queries``."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.exec.batch_stream import BatchStream, Failure, StreamProgress
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.runtime.result import Result, Stats

#: How many statements a session remembers, and how many characters of the text of each.
MOST_STATEMENTS, LONGEST_TEXT = 1000, 10_000


@dataclass
class LoggedStatement:
    """A statement and what became of it. Times are seconds since 1970 on the clock of this process.

    It holds neither the result nor its error, which would keep files and snapshots.
    """

    text: str
    query_id: str
    started_at: float = field(default_factory=time.time)
    stats: Stats | None = None
    _returned_at: float | None = None
    _rows: int | None = None
    _failure: Failure | None = None
    _progress: StreamProgress | None = None
    _stream: weakref.ref[BatchStream] | None = None

    def of(self, result: Result) -> Result:
        """Notes the result of the statement, and returns it."""
        self.stats = result.stats
        if result.stream is None:
            self._rows = result.rowcount if result.rowcount >= 0 else None
        else:
            self._progress, self._stream = result.stream.progress, weakref.ref(result.stream)
        return result

    def end(self, failure: Failure | None = None) -> None:
        """Notes that the statement has returned, or failed."""
        self._returned_at, self._failure = time.time(), failure

    @property
    def status(self) -> str:
        """Returns ``running`` until the statement returns, ``fetching`` until the last row of its result is read, then
        ``finished``; or ``closed`` if the result was closed before, or left behind; ``canceled`` or ``failed``.
        """
        if self.failure is not None:
            return "canceled" if self.failure.condition in _CANCELED else "failed"
        if self._returned_at is None:
            return "running"
        if self._progress is None or self._progress.is_complete:
            return "finished"
        is_held = self._stream is not None and self._stream() is not None
        return "fetching" if is_held and self._progress.ended_at is None else "closed"

    @property
    def ended_at(self) -> float | None:
        """The time of its end, or of the end of its result; ``None`` before, and for a result that was left behind."""
        return self._returned_at if self._progress is None else self._progress.ended_at

    @property
    def row_count(self) -> int | None:
        """The rows that it wrote, or that were read of its result; ``None`` where they are not counted."""
        return self._rows if self._progress is None else self._progress.rows

    @property
    def failure(self) -> Failure | None:
        """The error that it raised, or its result while it was read."""
        return self._failure if self._progress is None else self._progress.failure


class RecentStatements:
    """The last ``MOST_STATEMENTS`` statements, the oldest first. Another thread may read them."""

    def __init__(self) -> None:
        self._statements: deque[LoggedStatement] = deque(maxlen=MOST_STATEMENTS)

    def statements(self) -> tuple[LoggedStatement, ...]:
        return tuple(self._statements)

    @contextmanager
    def running(self, text: str, query_id: str) -> Iterator[LoggedStatement]:
        """Notes a statement, which runs inside of the block."""
        shown = mask_credentials(text)
        statement = LoggedStatement(shown if len(shown) <= LONGEST_TEXT else f"{shown[: LONGEST_TEXT - 1]}…", query_id)
        self._statements.append(statement)
        try:
            yield statement
        except BaseException as error:
            statement.end(Failure.of(error))
            raise
        statement.end()


_CANCELED = ("OPERATION_CANCELED", KeyboardInterrupt.__name__)
