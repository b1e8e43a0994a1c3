"""Rows that a sink holds until they make a row group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows are written when so many of them, or so many bytes, are held.
MOST_HELD_ROWS = 1_000_000
MOST_HELD_BYTES = 64 * 1024 * 1024


class HeldRows:
    """Batches of rows that are written together. ``rows`` and ``bytes`` are their sizes."""

    def __init__(self) -> None:
        self.rows = self.bytes = 0
        self._batches: list[Any] = []

    @property
    def are_enough(self) -> bool:
        """Tests whether the rows have to be written, because memory is limited."""
        return self.rows >= MOST_HELD_ROWS or self.bytes >= MOST_HELD_BYTES

    def add(self, batch: pa.RecordBatch, bytes_beside: int = 0) -> None:
        """Holds a batch. ``bytes_beside`` are the bytes of columns that it gets when it is written."""
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes + bytes_beside

    def take(self) -> pa.Table | None:
        """Returns the rows as one table, and holds none. ``None`` if no batch was added."""
        import pyarrow as pa

        if not self._batches:
            return None
        table = pa.Table.from_batches(self._batches)
        self._batches, self.rows, self.bytes = [], 0, 0
        return table
