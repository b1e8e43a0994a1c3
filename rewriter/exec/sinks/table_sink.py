"""The sink of tables of files, by the protocol of users' sinks (``connectors.table_sink``): engines ask it whether it
wants the rows of a partition together, and pass it all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rewriter.exec.sinks.choice import open_sink, partition_rows
from rewriter.exec.sinks.partition_rows import write_rows
from rewriter.exec.sinks.sink_kinds import SinkChoice, SinkKind

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.sinks.file_target import FileTarget, Key, PartitionSink, WrittenEntry
    from rewriter.exec.sinks.partition_limit import PartitionLimit


class FileTableSink:
    """Writes rows whose first ``data_columns`` columns are data, and whose others are the dynamic partition columns.

    ``text`` converts a value of a dynamic column (by its number) to text; without it, these columns are texts.
    ``packed_columns`` and ``packed_keys`` are the columns and keys of ``packed.PackedSink``. A sink that is not asked
    about grouping gets rows in any order: it is an ungrouped one. ``limit`` is the limit of the partitions.
    """

    def __init__(
        self,
        choice: SinkChoice,
        target: FileTarget,
        data_columns: int,
        dynamic: Sequence[str],
        packed_columns: pa.Schema | None = None,
        packed_keys: Sequence[Key] = (),
        text: Callable[[int, Any], str | None] | None = None,
        limit: PartitionLimit | None = None,
    ) -> None:
        self._choice = choice
        self._target = target
        self._data_columns = data_columns
        self._dynamic = dynamic
        self._packed_columns = packed_columns
        self._packed_keys = packed_keys
        self._text = text
        self._limit = limit
        self._static: Key = ()
        self._was_asked = False
        self._sink: PartitionSink | None = None

    def set_static_partition(self, partition: Mapping[str, str | None]) -> None:
        self._static = tuple(partition.values())

    def get_dynamic_partition_field_names(self) -> Sequence[str]:
        return self._dynamic

    def enable_dynamic_partition_grouping(self) -> bool:
        self._was_asked = True
        return self._choice.is_grouped

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Writes all rows. Raises ``ValueError`` for values that files or directories cannot hold, and
        ``TooManyPartitionsError`` for rows beyond the limit.
        """
        choice = self._choice
        if self._dynamic and not self._was_asked:
            choice = replace(choice, kind=SinkKind.UNGROUPED)
        self._sink = open_sink(choice, self._target, self._static, self._packed_columns, self._packed_keys)
        write_rows(
            partition_rows(choice, batches, self._data_columns), self._sink, self._static, self._text, self._limit
        )

    @property
    def written(self) -> Sequence[WrittenEntry]:
        """Returns the files that were written."""
        return () if self._sink is None else self._sink.written
