"""The size of a table's or a partition's content, and the statistics that describe it.

Managed content is identified by the commits that wrote it, content of external tables by the current files, with their
sizes and times. Statistics of any other content are stale, and none of their values is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.catalog.model.column_statistics import ColumnStatistics, Statistics, digest, statistics_in
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import DataFile, Partition, Table
from rewriter.catalog.storage.data_files import FoundFile, directory, external_files
from rewriter.errors import OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.statements.query.select import the_partition

if TYPE_CHECKING:
    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.catalog.reading.history import Content
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.runtime.statement_context import Context

_FEW = 64


@dataclass(frozen=True)
class ContentStatistics:
    """The known size and statistics. ``rows`` is ``None`` where this content was not counted. ``columns`` are by stored
    name, in lower case.

    ``stale``: ANALYZE has counted another content than this one.
    """

    rows: int | None
    files: int
    bytes: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    stale: bool = False


def partitions_of(table: Table, scan_filter: ScanFilter | None, context: Context) -> tuple[Partition, ...]:
    """Returns the partitions that satisfy a filter (``None``: all); for an unpartitioned table its only one."""
    if table.external and not table.partition_columns:
        return (the_partition(table),)
    return context.snapshot.satisfying(table, scan_filter)


def files_of(table: Table, partitions: Sequence[Partition], snapshot: Snapshot) -> dict[bytes, list[DataFile]]:
    """Returns the files of these partitions, by key: from the catalog, or by listing where the table is external."""
    by_key: dict[bytes, list[DataFile]] = {partition.key: [] for partition in partitions}
    if table.external:
        for partition, file in external_files(table, tuple(partitions)):
            by_key[partition.key].append(DataFile(file.path, None, file.bytes))
        return by_key
    for partition, stored in snapshot.files(table, _keys(partitions)):
        if partition.key in by_key:
            by_key[partition.key].append(stored)
    return by_key


def contents_of(table: Table, partitions: Sequence[Partition], snapshot: Snapshot) -> dict[bytes, Content]:
    """Returns the contents of these partitions, by key."""
    return {content.key: content for content in snapshot.contents(table, _keys(partitions))}


def _keys(partitions: Sequence[Partition]) -> list[KeyRange] | None:
    """Returns the keys of few partitions, or ``None`` for many: reading the whole table at once costs less then."""
    return [KeyRange.of_key(partition.key) for partition in partitions] if len(partitions) <= _FEW else None


def content_of(table: Table, partition: Partition | None, context: Context) -> str:
    """Returns a text that identifies the content of a partition, or of the whole table (``None``).

    For an external table, its files are listed. Linear in the partitions, or the files.
    """
    if table.external:
        partitions = partitions_of(table, None, context) if partition is None else (partition,)
        return digest(part for listed in partitions for part in _listed(table, listed, _files(table, listed)))
    ranges = None if partition is None else [KeyRange.of_key(partition.key)]
    return content_text(context.snapshot.contents(table, ranges))


def content_text(contents: Sequence[Content]) -> str:
    """Returns the result of ``content_of`` for managed partitions with these contents."""
    return digest((content.key.hex(), content.commit) for content in contents)


def statistics_of(table: Table, partition: Partition | None, context: Context) -> ContentStatistics:
    """Returns the size and statistics of a partition, or of the whole table. Costs as much as ``content_of``.

    Returns no values for an external table whose files cannot be listed: queries of it state the reason.
    """
    stored = statistics_in(table.properties if partition is None else partition.properties)
    try:
        return _statistics_of(table, partition, stored, context)
    except OperationalError as error:
        if error.condition not in ("FAILED_READ_FILE", "PATH_NOT_FOUND"):
            raise
        return ContentStatistics(None, 0, 0, stale=stored is not None)


def _statistics_of(
    table: Table, partition: Partition | None, stored: Statistics | None, context: Context
) -> ContentStatistics:
    current = stored if stored is not None and stored.content == content_of(table, partition, context) else None
    partitions = partitions_of(table, None, context) if partition is None else (partition,)
    columns = current.columns if current is not None else {}
    stale = stored is not None and current is None
    if table.external:
        sizes = [file.bytes for files in files_of(table, partitions, context.snapshot).values() for file in files]
        return ContentStatistics(current.rows if current is not None else None, len(sizes), sum(sizes), columns, stale)
    counts = [member.rows for member in partitions]
    rows = None if None in counts else sum(count or 0 for count in counts)
    size, number = sum(member.bytes for member in partitions), sum(member.files for member in partitions)
    return ContentStatistics(rows, number, size, columns, stale)


def statistics_for(stored: Statistics | None, new: Statistics) -> Statistics:
    """Returns new statistics, completed by earlier ones of the same content."""
    if stored is None or stored.content != new.content:
        return new
    rows = stored.rows if new.rows is None else new.rows
    return Statistics(new.content, rows, new.files, new.bytes, {**stored.columns, **new.columns})


def listed_content(table: Table, partition: Partition, files: Iterable[FoundFile]) -> str:
    """Returns the result of ``content_of`` for a partition of an external table with these files, in order of their
    paths.
    """
    return digest(_listed(table, partition, files))


def _listed(table: Table, partition: Partition, files: Iterable[FoundFile]) -> Iterator[tuple[object, ...]]:
    yield partition.key.hex(), directory(table, partition) if table.partition_columns else table.location
    for file in files:
        yield file.path, file.bytes, file.modified


def _files(table: Table, partition: Partition) -> Iterator[FoundFile]:
    return (file for _, file in external_files(table, (partition,)))
