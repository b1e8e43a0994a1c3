"""Writes sorted Arrow batches into packed files: Parquet files that hold several partitions each. Both engines use it.

A row group holds whole partitions, or a piece of one, so that the statistics of the partition columns tell a reader
which row groups it can skip. The partition columns are the last columns of the file. The code also runs in Spark's
Python workers, shipped by value like the module that it imports.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rewriter.exec.partitioned_writer import MOST_GROUP_BYTES, MOST_GROUP_ROWS, level_names, parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple["str | None", ...]
#: First row group, number of row groups, partitions of the file, bytes of the file, and position, as ``PackedPart`` has
#: them.
Place = tuple[int, int, int, int, "int | None"]

#: A row group ends with the partition that reaches this many rows. Smaller groups would make footers that cost
#: more than the rows; of larger ones, more rows would have to be read for one small partition.
GROUP_ROWS = 65_536


@dataclass
class _Part:
    """The place of a partition in the open file: its first row group, and the row group behind the last."""

    first: int
    end: int = 0
    rows: int = 0


class PackedFileList:
    """Writes packed files, one at a time, in ``directory``. A file ends with the partition that makes it reach
    ``target_bytes``.

    ``columns`` is a schema of the partition columns; their values are converted from the texts of the keys (``None`` is
    NULL). If ``keys`` are given, a key that is added is the text of a number: an index of them. ``written`` collects
    (path, key, rows, bytes, place). If there are more than ``max_partitions``, only the first are written, and the rest
    are counted in ``unwritten_partitions``, by runs.
    """

    def __init__(
        self,
        directory: str,
        columns: pa.Schema,
        target_bytes: int,
        levels: Sequence[str],
        escapes: Mapping[str, str],
        null: str,
        max_partitions: int | None = None,
        keys: Sequence[Key] = (),
    ) -> None:
        self.directory = directory
        self.written: list[tuple[str, Key, int, int, Place]] = []
        self.unwritten_partitions = 0
        self._columns = columns
        self._target_bytes = target_bytes
        self._levels = tuple(levels)
        self._escapes = str.maketrans(dict(escapes))
        self._null = null
        self._max_partitions = max_partitions
        self._numbered_keys = keys
        self._keys = 0
        self._key: Key | None = None
        self._writer: Any = None
        self._path = ""
        self._row_groups = 0
        #: The partitions of the open file, and those with rows in the next row group.
        self._parts: dict[Key, _Part] = {}
        self._batch_parts: list[_Part] = []
        self._batches: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, key: Key, batch: pa.RecordBatch) -> None:
        """Adds rows of one partition. A partition that was left and appears again gets a place in another file."""
        if self._numbered_keys:
            key = tuple(self._numbered_keys[int(key[0] or 0)])
        if key != self._key:
            self._finish_partition()
            if key in self._parts:
                self.close()
            self._key = key
            self._keys += 1
            self.unwritten_partitions += self._max_partitions is not None and self._keys > self._max_partitions
        if self.unwritten_partitions:
            return
        if key not in self._parts:
            # A partition may move to a file or table whose partitions have directories.
            tuple(level_names(self._levels, key, self._escapes, self._null))
            self._parts[key] = _Part(self._row_groups)
        part = self._parts[key]
        if not self._batch_parts or self._batch_parts[-1] is not part:
            self._batch_parts.append(part)
        part.rows += batch.num_rows
        self._batches.append(self._with_key(batch, key))
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= MOST_GROUP_ROWS or self._bytes >= MOST_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Finishes the open file."""
        self._flush()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            file_bytes = os.path.getsize(self._path)
            sizes = _shares(file_bytes, [part.rows for part in self._parts.values()])
            is_sorted = _are_sorted(list(self._parts), self._columns)
            for position, ((key, part), size) in enumerate(zip(self._parts.items(), sizes, strict=True)):
                row_groups = part.end - part.first
                place = (part.first, row_groups, len(self._parts), file_bytes, position if is_sorted else None)
                self.written.append((self._path, key, part.rows, size, place))
        self._parts, self._row_groups, self._key = {}, 0, None

    def discard(self) -> None:
        """Closes the open file after a failure. It is not listed as written."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def _finish_partition(self) -> None:
        """Ends the row group, and the file, where they are large enough."""
        if self._key is None or self.unwritten_partitions:
            return
        is_continued = self._parts[self._key].first < self._row_groups
        if self._rows >= GROUP_ROWS or is_continued:
            self._flush()
        if self._writer is not None and not self._batches and os.path.getsize(self._path) >= self._target_bytes:
            self.close()

    def _flush(self) -> None:
        """Writes the rows that are held as one row group."""
        import pyarrow as pa

        if not self._batches:
            return
        table = pa.Table.from_batches(self._batches)
        if self._writer is None:
            self._open(table.schema)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._row_groups += 1
        for part in self._batch_parts:
            part.end = self._row_groups
        self._batch_parts = []
        self._batches, self._rows, self._bytes = [], 0, 0

    def _open(self, schema: pa.Schema) -> None:
        os.makedirs(self.directory, exist_ok=True)
        self._path = os.path.join(self.directory, f"part-{uuid.uuid4().hex}.parquet")
        self._writer = parquet_writer(self._path, schema)

    def _with_key(self, batch: pa.RecordBatch, key: Key) -> pa.RecordBatch:
        """Returns the rows with the partition columns."""
        import pyarrow as pa

        arrays = [
            pa.repeat(_typed(text, field.type), batch.num_rows) for text, field in zip(key, self._columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=pa.schema([*batch.schema, *self._columns]))


def _typed(text: str | None, type_: pa.DataType) -> pa.Scalar:
    """Returns the value of a canonical text. Timestamps are in UTC."""
    import pyarrow as pa

    if text is None or pa.types.is_string(type_):
        return pa.scalar(text, type_)
    texts = pa.array([text], pa.string())
    if pa.types.is_timestamp(type_):
        return texts.cast(pa.timestamp(type_.unit)).cast(type_)[0]
    return texts.cast(type_)[0]


def _are_sorted(keys: Sequence[Key], columns: pa.Schema) -> bool:
    """Tests whether keys ascend as both engines compare their values, NULL first. False for types of which this is not
    certain.
    """
    import pyarrow as pa

    types = columns.types
    if not all(pa.types.is_string(type_) or pa.types.is_integer(type_) or pa.types.is_date(type_) for type_ in types):
        return False
    comparable_keys = [tuple(map(_comparable, key, types)) for key in keys]
    return all(before < after for before, after in pairwise(comparable_keys))


def _comparable(text: str | None, type_: pa.DataType) -> tuple[bool, int, str]:
    import pyarrow as pa

    is_integer = pa.types.is_integer(type_)
    return text is not None, int(text or 0) if is_integer else 0, "" if is_integer else text or ""


def _shares(total: int, weights: Sequence[int]) -> Iterator[int]:
    """Yields whole numbers in proportion to the weights, which add up to ``total``."""
    weight, before, position = sum(weights), 0, 0
    for part in weights:
        position += part
        share = total * position // weight if weight else 0
        yield share - before
        before = share
