"""The sink of a write into one partition, or into a table without partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.exec.sinks.file_target import FileTarget, Key, WrittenEntry
from rewriter.exec.sinks.open_file import OpenFile

if TYPE_CHECKING:
    import pyarrow as pa


class SinglePartitionSink:
    """Writes rows of the partition ``key`` alone."""

    def __init__(self, target: FileTarget, key: Key) -> None:
        self._file = OpenFile(target, key)

    @property
    def written(self) -> list[WrittenEntry]:
        return self._file.written

    def add(self, key: Key, rows: pa.RecordBatch) -> None:
        assert key == self._file.key, f"rows of {key} in a write of {self._file.key}"
        self._file.add(rows)

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        self._file.discard()
