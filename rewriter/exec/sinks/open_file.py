"""The open file of one partition: its rows are held until they make a row group."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any

from rewriter.exec.formats.registry import format_named
from rewriter.exec.sinks.file_target import FileTarget, Key, WrittenEntry

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows are written when so many of them, or so many bytes, are held.
MOST_HELD_ROWS = 1_000_000
MOST_HELD_BYTES = 64 * 1024 * 1024


class OpenFile:
    """Writes the rows of one partition as one file, or as several of about ``target.target_bytes``."""

    def __init__(self, target: FileTarget, key: Key) -> None:
        self.key = key
        self.written: list[WrittenEntry] = []
        self.held_bytes = 0
        self._target = target
        self._batches: list[Any] = []
        self._held_rows = self._rows = 0
        self._writer: Any = None
        self._path = ""

    def add(self, rows: pa.RecordBatch) -> None:
        self._batches.append(rows)
        self._held_rows += rows.num_rows
        self.held_bytes += rows.nbytes
        if self._held_rows >= MOST_HELD_ROWS or self.held_bytes >= MOST_HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that are held, as one row group."""
        import pyarrow as pa

        if not self._batches:
            return
        table = pa.Table.from_batches(self._batches)
        if self._writer is None:
            self._open(table.schema)
        self._writer.write_table(table)
        self._rows += table.num_rows
        self._batches, self._held_rows, self.held_bytes = [], 0, 0
        if self._target.target_bytes is not None and os.path.getsize(self._path) >= self._target.target_bytes:
            self._finish()

    def close(self) -> None:
        """Finishes the file, which then is in ``written``."""
        self.flush()
        self._finish()

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _open(self, schema: pa.Schema) -> None:
        folder = self._target.partition_directory(self.key)
        os.makedirs(folder, exist_ok=True)
        format = format_named(self._target.format)
        self._path = os.path.join(folder, f"part-{uuid.uuid4().hex}.{format.name}")
        self._writer = format.open(self._path, schema, self._target.options)

    def _finish(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self.written.append((self._path, self.key, self._rows, os.path.getsize(self._path), None))
        self._writer, self._rows = None, 0
