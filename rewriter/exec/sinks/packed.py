"""The sink of packed files: Parquet files that hold several partitions each, of rows that are sorted by partition.

A row group holds whole partitions, or a piece of one, so that the statistics of the partition columns tell a reader
which row groups it can skip. The partition columns are the last columns of the file.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from rewriter.exec.formats.parquet import WRITER as PARQUET
from rewriter.exec.sinks.file_target import named_in_errors
from rewriter.exec.sinks.held_rows import HeldRows
from rewriter.exec.sinks.partition_rows import check_years

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.sinks.file_target import FileTarget, Key, WrittenEntry

#: A row group ends with the partition that reaches this many rows. Smaller groups would make footers that cost
#: more than the rows; of larger ones, more rows would have to be read for one small partition.
GROUP_ROWS = 65_536


@dataclass
class _Part:
    """The place of a partition in the open file: its first row group, and the row group behind the last."""

    first: int
    end: int = 0
    rows: int = 0


class PackedSink:
    """Writes packed files, one at a time, in ``target.directory``. A file ends with the partition that makes it reach
    ``target.target_bytes``.

    ``columns`` is a schema of the partition columns; their values are converted from the texts of the keys. If ``keys``
    are given, a key that is added is the text of a number: an index of them.
    """

    def __init__(self, target: FileTarget, columns: pa.Schema, keys: Sequence[Key] = ()) -> None:
        self.written: list[WrittenEntry] = []
        self._target = target
        self._columns = columns
        self._numbered_keys = keys
        self._key: Key | None = None
        self._writer: Any = None
        self._path = ""
        self._row_groups = 0
        #: The partitions of the open file, and those with rows in the next row group, with the rows of each batch.
        self._parts: dict[Key, _Part] = {}
        self._batch_parts: list[_Part] = []
        self._batch_keys: list[tuple[Key, int]] = []
        self._held = HeldRows()

    def add(self, key: Key, rows: pa.RecordBatch) -> None:
        """Adds rows of one partition. A partition that was left and appears again gets a place in another file."""
        if self._numbered_keys:
            key = tuple(self._numbered_keys[int(key[0] or 0)])
        if key != self._key:
            self._finish_partition()
            if key in self._parts:
                self.close()
            self._key = key
        if key not in self._parts:
            # A partition may move to a file or table whose partitions have directories.
            self._target.level_names(key)
            self._parts[key] = _Part(self._row_groups)
        part = self._parts[key]
        if not self._batch_parts or self._batch_parts[-1] is not part:
            self._batch_parts.append(part)
        part.rows += rows.num_rows
        self._batch_keys.append((key, rows.num_rows))
        self._held.add(rows, rows.num_rows * sum([len(text or "") for text in key]))
        if self._held.are_enough:
            self._flush()

    def close(self) -> None:
        """Finishes the open file."""
        self._flush()
        if self._writer is not None:
            with named_in_errors(self._path):
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
            with named_in_errors(self._path):
                self._writer.close()
        self._writer = None

    def _finish_partition(self) -> None:
        """Ends the row group, and the file, where they are large enough."""
        if self._key is None:
            return
        is_continued = self._parts[self._key].first < self._row_groups
        if self._held.rows >= GROUP_ROWS or is_continued:
            self._flush()
        target_bytes = self._target.target_bytes
        if self._writer is None or self._held.rows or target_bytes is None:
            return
        if os.path.getsize(self._path) >= target_bytes:
            self.close()

    def _flush(self) -> None:
        """Writes the rows that are held as one row group."""
        table = self._held.take()
        if table is None:
            return
        for index, field in enumerate(self._columns):
            values = [key[index] for key, _ in self._batch_keys]
            table = table.append_column(field, _repeated(values, [rows for _, rows in self._batch_keys], field.type))
        self._batch_keys = []
        if self._writer is None:
            self._open(table.schema)
        with named_in_errors(self._path):
            self._writer.write_table(table)
        self._row_groups += 1
        for part in self._batch_parts:
            part.end = self._row_groups
        self._batch_parts = []

    def _open(self, schema: pa.Schema) -> None:
        os.makedirs(self._target.directory, exist_ok=True)
        self._path = os.path.join(self._target.directory, f"part-{uuid.uuid4().hex}.parquet")
        with named_in_errors(self._path):
            self._writer = PARQUET.open(self._path, schema, {})


def _repeated(texts: Sequence[str | None], counts: Sequence[int], type_: pa.DataType) -> pa.Array:
    """Returns the values of canonical texts, each as often as ``counts`` says. Timestamps are in UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_temporal(type_):
        check_years(texts)
    values = pa.array(texts, pa.string())
    if pa.types.is_timestamp(type_):
        values = values.cast(pa.timestamp(type_.unit))
    values = values.cast(type_)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(accumulate(counts), pa.int32()), values)
    return pc.run_end_decode(runs)


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
