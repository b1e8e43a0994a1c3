"""The choice of the sink of a write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rewriter.exec.sinks.open_file import OpenFile
from rewriter.exec.sinks.packed import PackedSink
from rewriter.exec.sinks.partition_rows import ACCUMULATED_BYTES, PartitionRows, adjacent_rows, sorted_rows
from rewriter.exec.sinks.sink_kinds import SinkChoice, SinkKind
from rewriter.exec.sinks.ungrouped import UngroupedSink

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.formats.file_format import FileFormat
    from rewriter.exec.sinks.file_target import FileTarget, Key, PartitionSink, WrittenEntry


#: The most files with row groups that are open together: each of them holds an eighth of the memory of one.
_MOST_ROW_GROUPS = 8


def choose_sink(
    setting: str,
    format: FileFormat,
    most_partitions: Callable[[], int | None],
    *,
    is_static: bool,
    is_packed: bool,
    has_many_tasks: bool,
    reads_little: bool,
    has_few_tasks: bool,
    max_open_writers: int,
) -> tuple[SinkKind, str]:
    """Returns the sink of a write and the reason in words.

    ``setting`` is a value of ``rewriter.sink``. ``most_partitions`` returns a bound of the number of partitions, if
    there is one, and is called only if the choice depends on it. ``has_many_tasks`` is true of Spark, where each task
    writes files of its own: without grouping, a partition would get a file of each task. A query that ``reads_little``
    runs in one task there, whose sink sorts the rows: that needs no exchange of rows between tasks. Neither do packed
    files of a query that ``has_few_tasks``: each task packs all partitions of its rows.
    """
    if is_static:
        return SinkKind.SINGLE, "there is only one partition"
    if setting != "auto":
        return SinkKind(setting), "rewriter.sink names it"
    if has_many_tasks and reads_little:
        return SinkKind.SORTED, "one task reads all, and sorts it"
    if has_many_tasks and has_few_tasks and is_packed:
        return SinkKind.SORTED, "few tasks read all, and each sorts its rows"
    if is_packed:
        return SinkKind.GROUPED, "a packed file holds several partitions, one after the other"
    if has_many_tasks:
        return SinkKind.GROUPED, "each partition gets files of one task"
    most_open = min(max_open_writers, _MOST_ROW_GROUPS) if format.has_row_groups else max_open_writers
    partitions = most_partitions()
    if partitions is None:
        return SinkKind.GROUPED, "the number of partitions is unknown"
    if partitions > most_open:
        return SinkKind.GROUPED, f"there may be {partitions:,} partitions, more than {most_open:,}"
    return SinkKind.UNGROUPED, f"there are at most {partitions:,} partitions, and {most_open:,} files may be open"


def partition_rows(choice: SinkChoice, batches: Iterable[pa.RecordBatch], data_columns: int) -> PartitionRows:
    """Returns the rows of batches by partition, in the order that the sink takes."""
    if choice.kind is SinkKind.UNGROUPED:
        return sorted_rows(batches, data_columns)
    if choice.kind is SinkKind.SORTED:
        return sorted_rows(batches, data_columns, ACCUMULATED_BYTES)
    return adjacent_rows(batches, data_columns)


def open_sink(
    choice: SinkChoice,
    target: FileTarget,
    static: Key,
    packed_columns: pa.Schema | None = None,
    packed_keys: Sequence[Key] = (),
) -> PartitionSink:
    """Returns the sink for the rows of one task. ``packed_columns`` are the partition columns of packed files."""
    if choice.kind is SinkKind.SINGLE:
        return SinglePartitionSink(target, static)
    if choice.kind is SinkKind.UNGROUPED:
        return UngroupedSink(target, choice.max_open_writers)
    if packed_columns is not None:
        return PackedSink(target, packed_columns, packed_keys)
    return GroupedSink(target)


# The sink of rows that are sorted by partition: one file is open at a time.
#
# It took a quarter of the time of Spark's own ``partitionBy`` for 1,710 partitions of 80,789 rows, because Hadoop's
# local file system starts a process to set the permissions of every file and directory that it makes.


class GroupedSink:
    """Writes one partition after the other. If rows of a partition come again later, they get another file."""

    def __init__(self, target: FileTarget) -> None:
        self.written: list[WrittenEntry] = []
        self._target = target
        self._key: Key | None = None
        self._file: OpenFile | None = None

    def add(self, key: Key, rows: pa.RecordBatch) -> None:
        if self._file is None or key != self._key:
            self.close()
            self._key = key
            self._file = OpenFile(self._target, key)
        self._file.add(rows)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self.written += self._file.written
        self._key = self._file = None

    def discard(self) -> None:
        if self._file is not None:
            self._file.discard()
        self._file = None


# The sink of a write into one partition, or into a table without partitions.


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
