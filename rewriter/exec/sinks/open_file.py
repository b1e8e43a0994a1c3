"""The open file of one partition: its rows are held until they make a row group."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any

from rewriter.exec.formats.registry import format_named
from rewriter.exec.sinks.file_target import named_in_errors
from rewriter.exec.sinks.held_rows import HeldRows

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.sinks.file_target import FileTarget, Key, WrittenEntry


class OpenFile:
    """Writes the rows of one partition as one file, or as several of about ``target.target_bytes``."""

    def __init__(self, target: FileTarget, key: Key) -> None:
        self.key = key
        self.written: list[WrittenEntry] = []
        self._target = target
        self._held = HeldRows()
        self._rows = 0
        self._writer: Any = None
        self._path = ""

    @property
    def held_bytes(self) -> int:
        """The bytes of the rows that are held."""
        return self._held.bytes

    def add(self, rows: pa.RecordBatch) -> None:
        self._held.add(rows)
        if self._held.are_enough:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that are held, as one row group."""
        table = self._held.take()
        if table is None:
            return
        if self._writer is None:
            self._open(table.schema)
        with named_in_errors(self._path):
            self._writer.write_table(table)
        self._rows += table.num_rows
        if self._target.target_bytes is not None and os.path.getsize(self._path) >= self._target.target_bytes:
            self._finish()

    def close(self) -> None:
        """Finishes the file, which then is in ``written``."""
        self.flush()
        self._finish()

    def discard(self) -> None:
        if self._writer is not None:
            with named_in_errors(self._path):
                self._writer.close()
        self._writer = None

    def _open(self, schema: pa.Schema) -> None:
        folder = self._target.partition_directory(self.key)
        os.makedirs(folder, exist_ok=True)
        format = format_named(self._target.format)
        self._path = os.path.join(folder, f"part-{uuid.uuid4().hex}{format.file_ending(self._target.options)}")
        with named_in_errors(self._path):
            self._writer = format.open(self._path, schema, self._target.options)

    def _finish(self) -> None:
        if self._writer is None:
            return
        with named_in_errors(self._path):
            self._writer.close()
        self.written.append((self._path, self.key, self._rows, os.path.getsize(self._path), None))
        self._writer, self._rows = None, 0
