"""Reads of one object under its write ids: from memory if an equivalent list has read it, otherwise from the store."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar, cast

from rewriter.catalog.cache.entries import (
    DEFINITION,
    PARTITIONS,
    TIMELINES,
    Question,
    files_in,
    files_satisfying,
    one_partition,
    partitions_in,
    select_partitions,
)
from rewriter.catalog.filters.scan_plans import PartitionFilterGenerator, scans_of_plan, within_ranges
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.objects import DataFile, Partition, Table
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.access_paths import index_paths
from rewriter.catalog.reading.partition_lookup import Lookup
from rewriter.catalog.reading.partition_refresh import renewed
from rewriter.catalog.reading.queries import are_committed, read_timelines
from rewriter.catalog.store.leases import LeasedSnapshot, needs_lease
from rewriter.errors import DataError, Error
from rewriter.gc_pause import paused

if TYPE_CHECKING:
    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.model.key_ranges import KeyRange
    from rewriter.catalog.model.write_ids import ValidWriteIdList
    from rewriter.catalog.store.database import Database

_Result = TypeVar("_Result")

#: The maximum number of partitions held for the files of a complete table. More are reduced to those with files.
MOST_HELD = 50_000

PartitionFiles = tuple[tuple[Partition, DataFile], ...]


class ListedReads:
    """Reads one object as the commits of a list of write ids leave it. One thread at a time; results are immutable.

    ``checked``: the list sees only committed writes, like the lists of snapshots. Any other list is checked
    before the store is read: a result read before a write commits must not be cached for a list that sees the write.
    ``snapshot`` is the owner of the list, which protects the files that it reads.
    """

    def __init__(
        self,
        database: Database,
        object_id: int,
        ids: ValidWriteIdList,
        snapshot: LeasedSnapshot | None = None,
        *,
        checked: bool = True,
    ) -> None:
        self.object_id = object_id
        self.ids = ids
        self._checked = checked
        self._database = database
        self._cache = database.cache
        self._snapshot = snapshot

    def _cached_result(self, question: Question, read: Callable[[], _Result]) -> _Result:
        def checked_read() -> _Result:
            self._check()
            return read()

        return (
            checked_read()
            if self._cache is None
            else self._cache.get_or_read(self.object_id, question, self.ids, checked_read)
        )

    def _check(self) -> None:
        if self._checked:
            return
        with self._database.read() as connection:
            committed = are_committed(connection, self.object_id, self.ids)
        if not committed:
            raise DataError(
                f"'{self.ids}' includes writes that were not committed, or lists writes as aborted that were not",
                condition="INVALID_WRITE_ID_LIST",
                hint="Pass a list that was valid when it was fetched; uncommitted writes cannot be read.",
            )
        self._checked = True

    def definition(self, missing: Callable[[], Error]) -> Object:
        """Returns the object as the list sees it. Raises the error of ``missing`` if it sees none. One indexed read."""

        def read() -> Object:
            with self._database.read() as connection:
                object_ = queries.object_under(connection, self.object_id, self.ids)
            if object_ is None:
                raise missing()
            return object_

        return self._cached_result(DEFINITION, read)

    def partition(self, table: Table, key: bytes) -> Partition | None:
        """Returns the partition with a key; ``None`` if there is none. One indexed read."""
        all_partitions = self._all_partitions()
        if all_partitions is None:
            return self._cached_result(one_partition(key), partial(self._read_partition, table, key))
        index = bisect_left(all_partitions, key, key=attrgetter("key"))
        return all_partitions[index] if index < len(all_partitions) and all_partitions[index].key == key else None

    def _read_partition(self, table: Table, key: bytes) -> Partition | None:
        get, values = queries.partition_get(self._database.dialect, self.ids), {"high": self.ids.high_water_mark}
        partitions = queries.partitions_of(
            table, self._database.rows(get, {"key": key, **values}), self._database.warehouse
        )
        return partitions[0] if partitions else None

    def lookup(self, table: Table, scan_filter: ScanFilter | None, ranges: Sequence[KeyRange] | None = None) -> Lookup:
        """Returns a lookup of the partitions that satisfy a bound filter (``None``: all) with keys in any of the ranges
        (``None``: all). They are read from the store when they are used.
        """
        plan = PartitionFilterGenerator(len(table.partition_columns)).plan(scan_filter)
        scans = scans_of_plan(plan, table.partition_columns, prefix(table.id))
        if ranges is not None:
            scans = within_ranges(scans, ranges)
        # If the scans leave no filter open, they visit exactly the result, and no index does better.
        indexes = index_paths(plan, table) if any(scan.filters for scan in scans) else ()
        return Lookup(self._database, table, self.ids, scans, indexes, self._snapshot)

    def partitions(self, table: Table, ranges: tuple[KeyRange, ...]) -> tuple[Partition, ...]:
        """Returns the partitions with keys in any of the merged ranges, in key order, each once."""
        return self._partitions(self.lookup(table, None, ranges), partitions_in(ranges))

    def satisfying(self, table: Table, scan_filter: ScanFilter | None) -> tuple[Partition, ...]:
        """Returns the partitions that satisfy a bound filter (``None``: all), in key order."""
        if scan_filter is None:
            return self._cached_result(PARTITIONS, partial(self._read_all, table))
        return self._partitions(self.lookup(table, scan_filter), select_partitions(scan_filter))

    def _read_all(self, table: Table) -> tuple[Partition, ...]:
        cached = None if self._cache is None else self._cache.last(self.object_id, PARTITIONS)
        partitions = renewed(self._database, table, self.ids, cached)
        if partitions is not None:
            return partitions
        with paused():
            return tuple(self.lookup(table, None).partitions())

    def count(self, table: Table) -> int:
        """Returns the number of partitions. If memory does not have them, the database counts: one statement."""
        all_partitions = self._all_partitions()
        return self.lookup(table, None).count() if all_partitions is None else len(all_partitions)

    def _partitions(self, lookup: Lookup, question: Question) -> tuple[Partition, ...]:
        all_partitions = self._all_partitions()
        if all_partitions is not None:
            return tuple(lookup.among(all_partitions))
        return self._cached_result(question, lambda: tuple(lookup.partitions()))

    def _all_partitions(self) -> tuple[Partition, ...] | None:
        """Returns all partitions, in key order, if memory has them."""
        if self._cache is None:
            return None
        return cast(tuple[Partition, ...] | None, self._cache.get(self.object_id, PARTITIONS, self.ids))

    def files_in(
        self, table: Table, ranges: tuple[KeyRange, ...] | None, partitions: Callable[[], tuple[Partition, ...]]
    ) -> PartitionFiles:
        """Returns the files of the partitions with keys in any of the merged ranges (``None``: all), in (key, path)
        order.

        ``partitions`` returns these partitions, so that a caller that needs both reads them once. Empty for an external
        table, whose readers list its directories. Raises SNAPSHOT_TOO_OLD.
        """
        if self._snapshot is not None:
            hold(self._database, self._snapshot)

        def read() -> PartitionFiles:
            lookup = self.lookup(table, None, ranges)
            may_be_many = table.partition_columns and ranges is None and self._all_partitions() is None
            if may_be_many and self.count(table) > MOST_HELD:
                listed = tuple(partition for partition in lookup.partitions() if partition.files)
            else:
                listed = partitions()
            with paused():
                return tuple(lookup.files(listed))

        return self._cached_result(files_in(ranges), read)

    def files_satisfying(self, table: Table, scan_filter: ScanFilter) -> PartitionFiles:
        """Returns the files of the partitions that satisfy a bound filter, likewise."""
        if self._snapshot is not None:
            hold(self._database, self._snapshot)
        return self._cached_result(
            files_satisfying(scan_filter),
            lambda: tuple(self.lookup(table, scan_filter).files(self.satisfying(table, scan_filter))),
        )

    def copied_ranges(self, table: Table, cluster: str) -> tuple[KeyRange, ...]:
        """Returns the merged key ranges of the partitions that a secondary cluster has. One read, without the cache."""
        self._check()
        with self._database.read() as connection:
            return queries.copied_ranges(connection, table.id, self.ids).get(cluster.lower(), ())

    def timelines(self) -> queries.StoredTimelines:
        """Returns all stored timelines of a table. One statement. Raises ``ValueError`` if one is damaged."""
        return self._cached_result(TIMELINES, partial(read_timelines, self._database, self.object_id, self.ids))


def hold(database: Database, snapshot: LeasedSnapshot) -> None:
    """Ensures that files stay as long as the snapshot lives, even if their list comes from memory.

    A snapshot that needs a lease gets it first and is checked afterwards, because VACUUM may have run before.
    """
    database.leases.hold(snapshot)
    if needs_lease(snapshot):
        with database.read() as connection:
            queries.check_readable(connection, snapshot.sequence)
