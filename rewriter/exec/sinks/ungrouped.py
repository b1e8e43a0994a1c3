"""The sink of rows in any order: the files of several partitions are open at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.exec.sinks.held_rows import MOST_HELD_BYTES
from rewriter.exec.sinks.open_file import OpenFile

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.sinks.file_target import FileTarget, Key, WrittenEntry


class UngroupedSink:
    """Writes up to ``max_open_writers`` partitions at a time.

    If there are more, the file of the partition whose rows came longest ago is closed, and rows of it that follow get
    another file. All open files together hold ``MOST_HELD_BYTES``: then the one that holds most is written.
    """

    def __init__(self, target: FileTarget, max_open_writers: int) -> None:
        self.written: list[WrittenEntry] = []
        self._target = target
        self._max_open_writers = max_open_writers
        #: The least recently used first.
        self._open: dict[Key, OpenFile] = {}
        self._held_bytes = 0

    def add(self, key: Key, rows: pa.RecordBatch) -> None:
        file = self._open.pop(key, None) or self._opened(key)
        self._open[key] = file
        held_before = file.held_bytes
        file.add(rows)
        self._held_bytes += file.held_bytes - held_before
        while self._held_bytes >= MOST_HELD_BYTES:
            largest = max(self._open.values(), key=lambda open_file: open_file.held_bytes)
            self._held_bytes -= largest.held_bytes
            largest.flush()

    def close(self) -> None:
        while self._open:
            self._close_first()

    def discard(self) -> None:
        for file in self._open.values():
            file.discard()
        self._open = {}

    def _opened(self, key: Key) -> OpenFile:
        """Returns a new file of a partition."""
        if len(self._open) >= self._max_open_writers:
            self._close_first()
        return OpenFile(self._target, key)

    def _close_first(self) -> None:
        file = self._open[next(iter(self._open))]
        self._held_bytes -= file.held_bytes
        file.close()
        del self._open[file.key]
        self.written += file.written
