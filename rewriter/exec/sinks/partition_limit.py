"""The limit of the partitions of a write. An excess ends the write while its rows are read."""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.sinks.file_target import Key

#: The partitions of so many bytes of rows are counted before the first of these rows is written.
AHEAD_BYTES = 32 * 1024 * 1024
#: Of the partitions that the limit allows, the share that a task finds before it looks at the other tasks' partitions.
_SHARE = 64
_DIGEST_BYTES = 8
#: The empty file of a task that has found too many partitions, beside the files of digests.
_EXCESS = "excess"


class TooManyPartitionsError(Exception):
    """Rows of a write belong to more partitions than its limit allows."""


class SharedPartitions:
    """The partitions that all tasks of a write have found, in a directory that they share: each task appends digests
    of its own to a file.

    Files are read on from the last position, so that each task reads each digest once.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._own_name = uuid.uuid4().hex
        self._digests: set[bytes] = set()
        self._unwritten = bytearray()
        self._positions: dict[str, int] = {}

    def add(self, key: Key) -> None:
        """Adds a partition of this task."""
        digest = blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        self._digests.add(digest)
        self._unwritten += digest

    def count(self) -> int:
        """Returns the number of partitions that are known of all tasks. Raises ``OSError``."""
        os.makedirs(self._directory, exist_ok=True)
        with open(os.path.join(self._directory, self._own_name), "ab") as file:
            file.write(self._unwritten)
        self._unwritten.clear()
        for name in os.listdir(self._directory):
            if name != self._own_name:
                self._read(name)
        return len(self._digests)

    def note_excess(self) -> None:
        """Tells all readers of the directory that there are too many partitions. Raises ``OSError``."""
        os.makedirs(self._directory, exist_ok=True)
        with open(os.path.join(self._directory, _EXCESS), "ab"):
            pass

    def has_excess(self) -> bool:
        """Returns whether a task has noted an excess."""
        return os.path.exists(os.path.join(self._directory, _EXCESS))

    def _read(self, name: str) -> None:
        position = self._positions.get(name, 0)
        with open(os.path.join(self._directory, name), "rb") as file:
            file.seek(position)
            content = file.read()
        end = len(content) - len(content) % _DIGEST_BYTES
        self._digests.update(content[start : start + _DIGEST_BYTES] for start in range(0, end, _DIGEST_BYTES))
        self._positions[name] = position + end


class PartitionLimit:
    """Counts the partitions of a write, and with ``shared`` the partitions that other tasks have written down."""

    def __init__(self, most: int, shared: SharedPartitions | None = None) -> None:
        self._most = most
        self._shared = shared
        self._keys: set[Key] = set()

    def count(self, key: Key) -> None:
        """Counts a partition once. Raises ``TooManyPartitionsError`` if there are more than the limit allows."""
        if key in self._keys:
            return
        self._keys.add(key)
        if len(self._keys) > self._most:
            raise TooManyPartitionsError
        if self._shared is not None:
            self._shared.add(key)
            is_due = len(self._keys) % (self._most // _SHARE + 1) == 0
            if is_due and self._shared.count() > self._most:
                raise TooManyPartitionsError


def counted_ahead(
    rows: Iterable[tuple[Key, pa.RecordBatch]], limit: PartitionLimit
) -> Iterator[tuple[Key, pa.RecordBatch]]:
    """Yields rows of partitions, in their order. Holds ``AHEAD_BYTES`` of them, whose partitions are counted: where
    partitions are small, an excess is noticed before the first file is written.

    Raises ``TooManyPartitionsError``.
    """
    held: deque[tuple[Key, pa.RecordBatch, int]] = deque()
    held_bytes = 0
    for key, batch in rows:
        limit.count(key)
        size = batch.nbytes
        held.append((key, batch, size))
        held_bytes += size
        while held_bytes > AHEAD_BYTES:
            first_key, first_batch, first_size = held.popleft()
            held_bytes -= first_size
            yield first_key, first_batch
    while held:
        last_key, last_batch, _ = held.popleft()
        yield last_key, last_batch
