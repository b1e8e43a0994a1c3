"""What is known of a table's or a partition's content: how much it is, and the statistics that are about it.

Managed content is told apart by the commits that wrote it, that of external tables by the files that are there now,
with their sizes and times: statistics of any other content are stale, and none of their figures is answered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.catalog.history import Content
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import DataFile, Partition, Table
from rewriter.catalog.scan_filters import ScanFilter
from rewriter.catalog.statistics import ColumnStatistics, Statistics, digest, statistics_in
from rewriter.context import Context
from rewriter.files import directory, external_files
from rewriter.reading import the_partition

_FEW = 64


@dataclass(frozen=True)
class Known:
    """``rows`` is ``None`` where nobody counted this content. ``columns`` are named in lower case.

    ``stale``: ANALYZE has counted another content than this one.
    """

    rows: int | None
    files: int
    bytes: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    stale: bool = False


def partitions_of(table: Table, wanted: ScanFilter | None, context: Context) -> tuple[Partition, ...]:
    """The partitions that satisfy a filter (``None``: all); of a table without partition columns the only one."""
    if table.external and not table.partition_columns:
        return (the_partition(table),)
    return context.snapshot.satisfying(table, wanted)


def files_of(table: Table, partitions: Sequence[Partition], context: Context) -> dict[bytes, list[DataFile]]:
    """The files of these partitions, by key: from the catalog, or by listing where the table is external."""
    found: dict[bytes, list[DataFile]] = {partition.key: [] for partition in partitions}
    if table.external:
        for partition, file in external_files(table, tuple(partitions)):
            found[partition.key].append(DataFile(file.path, None, file.bytes))
        return found
    for partition, stored in context.snapshot.files(table, _keys(partitions)):
        if partition.key in found:
            found[partition.key].append(stored)
    return found


def contents_of(table: Table, partitions: Sequence[Partition], context: Context) -> dict[bytes, Content]:
    """Which content these partitions have, by key."""
    return {one.key: one for one in context.snapshot.contents(table, _keys(partitions))}


def _keys(partitions: Sequence[Partition]) -> list[KeyRange] | None:
    """The keys of few partitions; of many the whole table is read at once, as it costs less."""
    return [KeyRange.of_key(partition.key) for partition in partitions] if len(partitions) <= _FEW else None


def content_of(table: Table, partition: Partition | None, context: Context) -> str:
    """What tells the content of a partition, or of the whole table (``None``), from any other.

    Of an external table, its files are listed. Linear in the partitions, or the files.
    """
    if table.external:
        partitions = partitions_of(table, None, context) if partition is None else (partition,)
        return digest(_listed(table, partitions))
    ranges = None if partition is None else [KeyRange.of_key(partition.key)]
    return content_text(context.snapshot.contents(table, ranges))


def content_text(contents: Sequence[Content]) -> str:
    """What ``content_of`` answers of managed partitions with these contents."""
    return digest((one.key.hex(), one.commit) for one in contents)


def known_of(table: Table, partition: Partition | None, context: Context) -> Known:
    """What is known of a partition, or of the whole table. Costs what ``content_of`` costs."""
    stored = statistics_in(table.properties if partition is None else partition.properties)
    current = stored if stored is not None and stored.content == content_of(table, partition, context) else None
    partitions = partitions_of(table, None, context) if partition is None else (partition,)
    columns = current.columns if current is not None else {}
    stale = stored is not None and current is None
    if table.external:
        found = [file.bytes for files in files_of(table, partitions, context).values() for file in files]
        return Known(current.rows if current is not None else None, len(found), sum(found), columns, stale)
    counts = [one.rows for one in partitions]
    rows = None if None in counts else sum(count or 0 for count in counts)
    size, number = sum(one.bytes for one in partitions), sum(one.files for one in partitions)
    return Known(rows, number, size, columns, stale)


def statistics_for(stored: Statistics | None, new: Statistics) -> Statistics:
    """New statistics with what earlier ones say of the same content."""
    if stored is None or stored.content != new.content:
        return new
    rows = stored.rows if new.rows is None else new.rows
    return Statistics(new.content, rows, new.files, new.bytes, {**stored.columns, **new.columns})


def _listed(table: Table, partitions: Sequence[Partition]) -> Iterator[tuple[object, ...]]:
    for partition in partitions:
        yield partition.key.hex(), directory(table, partition) if table.partition_columns else table.location
        for _, file in external_files(table, (partition,)):
            yield file.path, file.bytes, _modified(file.path)


def _modified(path: str) -> int:
    """When a file was changed last, in nanoseconds; -1 where it has vanished since it was listed."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
