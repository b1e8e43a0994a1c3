"""The streams that go on in the background of a session."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.registry import current, using
from rewriter.errors import Error, foreign
from rewriter.grammar.terms import parse_name
from rewriter.runtime.program_statements import StartStream

if TYPE_CHECKING:
    from rewriter.exec.engine import Engine


class RunningStream:
    """A stream in the background, which ``StreamWriter.into`` starts. ``id`` is its id in the warehouse. All methods
    may be used from any thread.
    """

    def __init__(self, id: str, work: Callable[[], None], stopping: threading.Event) -> None:
        """Starts ``work`` in a thread. It ends soon after ``stopping`` is set."""
        self.id = id
        self._work = work
        self._stopping = stopping
        self._error: Error | None = None
        #: Python's own ``join`` takes a thread for ended if Ctrl-C comes while it waits.
        self._ended = threading.Event()
        self._stores = current()
        threading.Thread(target=self._run, name=f"rewriter-stream-{id}", daemon=True).start()

    def _run(self) -> None:
        try:
            with using(self._stores):
                self._work()
        except Error as error:
            self._error = error
        except Exception as error:
            self._error = foreign(error)
        finally:
            self._ended.set()

    @property
    def is_running(self) -> bool:
        """Tests whether the stream goes on."""
        return not self._ended.is_set()

    @property
    def error(self) -> Error | None:
        """The error that ended the stream, if any."""
        return self._error

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the stream has ended, at most ``timeout`` seconds; returns whether it has. Raises its error."""
        if not self._ended.wait(timeout):
            return False
        if self._error is not None:
            raise self._error
        return True

    def stop(self) -> None:
        """Ends the stream after its current batch, and waits for that. Raises its error."""
        self.request_stop()
        self.wait()

    def request_stop(self) -> None:
        """Lets the stream end after its current batch."""
        self._stopping.set()


class RunningStreams:
    """The streams of a session. ``new_engine`` makes an engine for one of them, which the stream closes."""

    def __init__(self, new_engine: Callable[[], Engine]) -> None:
        self.new_engine = new_engine
        self._streams: list[RunningStream] = []

    def add(self, stream: RunningStream) -> None:
        """Adds a stream, which ``close`` ends."""
        self._streams = [*(other for other in self._streams if other.is_running or other.error), stream]

    def latest(self) -> RunningStream:
        """Returns the stream that was added last."""
        return self._streams[-1]

    def wait(self, check: Callable[[], object] = lambda: None) -> None:
        """Waits until all streams have ended. Raises the error of the first that failed.

        ``check`` is called twice a second; an exception of it ends the wait.
        """
        for stream in self._streams:
            # Short waits, so that Ctrl-C is noticed.
            while not stream.wait(0.5):
                check()

    def close(self) -> None:
        """Ends all streams, each after its current batch."""
        streams, self._streams = self._streams, []
        if not streams:
            return
        from rewriter.exec.engine import CLOSING_SECONDS

        for stream in streams:
            stream.request_stop()
        deadline = time.monotonic() + CLOSING_SECONDS
        for stream in streams:
            stream._ended.wait(max(0.0, deadline - time.monotonic()))


class StreamWriter:
    """A streaming DataFrame on its way into a table. ``Connection.stream`` makes it."""

    def __init__(self, frame: object, start: Callable[[StartStream], RunningStream]) -> None:
        self._frame = frame
        self._start = start

    def into(
        self, table: str, *, stream_id: str, checkpoint: str | os.PathLike[str], trigger: str = "available now"
    ) -> RunningStream:
        """Starts the stream in the background. Its batches are appended to the table by the names of the columns, each
        at most once.

        ``stream_id`` is the id of the stream in the warehouse, ``checkpoint`` a directory of this stream alone.
        ``trigger`` is "available now", which loads what exists and ends, an interval such as "10 seconds", or
        "continuous batches". Raises ``InterfaceError`` for a frame that is no streaming DataFrame,
        ``NotSupportedError`` with Spark Connect, ``AnalysisError`` for a table or an option, and ``ConflictError``
        STREAM_RUNNING. Errors of batches are raised by ``RunningStream.wait`` and ``stop``.
        """
        return self._start(
            StartStream(
                frame=self._frame,
                table=parse_name(table),
                stream=stream_id,
                checkpoint=os.fspath(checkpoint) if isinstance(checkpoint, os.PathLike) else checkpoint,
                trigger=trigger,
            )
        )
