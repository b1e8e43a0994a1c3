"""A write in the terms of sinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rewriter.catalog.keys.values import DEFAULT_PARTITION, escape
from rewriter.exec.sinks.file_target import FileTarget
from rewriter.exec.sinks.partition_limit import PartitionLimit
from rewriter.exec.sinks.table_sink import FileTableSink
from rewriter.exec.sql_types import arrow_type, parse_type

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.engine import Write

#: The characters that are escaped in a partition's path, with their replacements.
_ESCAPES = {char: escape(char) for char in map(chr, range(1, 256)) if escape(char) != char}


def file_sink(write: Write, text: Callable[[int, Any], str | None] | None = None) -> FileTableSink:
    """Returns the sink of a write in this process. ``text`` is as in ``FileTableSink``."""
    most = write.most_partitions
    sink = FileTableSink(
        write.used_sink,
        file_target(write),
        len(write.columns),
        [column.name for column in write.dynamic_columns],
        packed_columns(write),
        () if write.packing is None else write.packing.keys,
        text,
        None if most is None or not write.dynamic_columns else PartitionLimit(most),
    )
    names = [column.name for column in write.partition_columns]
    sink.set_static_partition(dict(zip(names, write.static, strict=False)))
    return sink


def file_target(write: Write) -> FileTarget:
    """Returns the place and the form of the files of a write."""
    columns = write.partition_columns if write.packing is None else write.packing.columns
    return FileTarget(
        write.directory,
        write.format.lower(),
        tuple(escape(column.name) for column in columns),
        _ESCAPES,
        DEFAULT_PARTITION,
        write.sink.target_file_bytes,
        write.options,
    )


def packed_columns(write: Write) -> pa.Schema | None:
    """Returns the partition columns as packed files store them; ``None`` for other files."""
    import pyarrow as pa

    if write.packing is None:
        return None
    return pa.schema([pa.field(column.name, arrow_type(parse_type(column.type))) for column in write.packing.columns])
