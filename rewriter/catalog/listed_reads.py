"""Reads about one object under its write ids: from memory where an equivalent list has read it, else from the store."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TypeVar, cast

from rewriter.catalog import reads
from rewriter.catalog.cache_questions import (
    DEFINITION,
    PARTITIONS,
    TIMELINES,
    Question,
    files_in,
    files_satisfying,
    one_partition,
    partitions_in,
    satisfying,
)
from rewriter.catalog.codec import Object
from rewriter.catalog.database import Database
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.leases import Held, needs_lease
from rewriter.catalog.lookup import Lookup
from rewriter.catalog.models import DataFile, Partition, Table
from rewriter.catalog.renewing import renewed
from rewriter.catalog.scan_filters import ScanFilter
from rewriter.catalog.scan_plans import PartitionFilterGenerator, laid_out, within_ranges
from rewriter.catalog.warming import read_timelines
from rewriter.catalog.ways import index_ways
from rewriter.catalog.writeids import ValidWriteIdList
from rewriter.errors import DataError, Error

_Answer = TypeVar("_Answer")

PartitionFiles = tuple[tuple[Partition, DataFile], ...]


class ListedReads:
    """What one list of write ids sees of its object. One thread at a time; the answers are shared, and immutable.

    ``checked``: the list is known to see committed writes only, as those of snapshots do. Any other is checked before
    the store is read: what it does not see yet must not stand in memory under a list that sees it later. ``snapshot``
    is whose list it is, for which files that it asks for stay.
    """

    def __init__(
        self,
        database: Database,
        object_id: int,
        ids: ValidWriteIdList,
        snapshot: Held | None = None,
        *,
        checked: bool = True,
    ) -> None:
        self.object_id = object_id
        self.ids = ids
        self._checked = checked
        self._database = database
        self._cache = database.cache
        self._snapshot = snapshot

    def _kept(self, question: Question, read: Callable[[], _Answer]) -> _Answer:
        def checked() -> _Answer:
            self._check()
            return read()

        return checked() if self._cache is None else self._cache.answer(self.object_id, question, self.ids, checked)

    def _check(self) -> None:
        if self._checked:
            return
        with self._database.read() as connection:
            committed = reads.are_committed(connection, self.object_id, self.ids)
        if not committed:
            raise DataError(
                f"'{self.ids}' sees writes that were not committed, or calls aborted what was not",
                condition="INVALID_WRITE_ID_LIST",
                hint="bring a list that was valid when it was fetched; nobody reads what is not committed",
            )
        self._checked = True

    def definition(self, missing: Callable[[], Error]) -> Object:
        """The object as the list sees it; raises what ``missing`` makes where it sees none. One indexed read."""

        def read() -> Object:
            with self._database.read() as connection:
                found = reads.object_under(connection, self.object_id, self.ids)
            if found is None:
                raise missing()
            return found

        return self._kept(DEFINITION, read)

    def partition(self, table: Table, key: bytes) -> Partition | None:
        """The partition with a key; ``None`` where there is none. One indexed read."""
        whole = self._whole()
        if whole is None:
            return self._kept(one_partition(key), partial(self._read_partition, table, key))
        at = bisect_left(whole, key, key=attrgetter("key"))
        return whole[at] if at < len(whole) and whole[at].key == key else None

    def _read_partition(self, table: Table, key: bytes) -> Partition | None:
        get, values = reads.partition_get(self._database.dialect, self.ids), {"high": self.ids.high_water_mark}
        found = reads.partitions_of(table, self._database.rows(get, {"key": key, **values}))
        return found[0] if found else None

    def lookup(self, table: Table, wanted: ScanFilter | None, ranges: Sequence[KeyRange] | None = None) -> Lookup:
        """The partitions that satisfy a bound filter (``None``: all) with keys in any of the ranges (``None``: all),
        found when they are asked for, in the store.
        """
        plan = PartitionFilterGenerator(len(table.partition_columns)).plan(wanted)
        scans = laid_out(plan, table.partition_columns, prefix(table.id))
        if ranges is not None:
            scans = within_ranges(scans, ranges)
        # Where the scans leave nothing open they visit what they answer, and no index does better.
        indexes = index_ways(plan, table) if any(scan.filters for scan in scans) else ()
        return Lookup(self._database, table, self.ids, scans, indexes, self._snapshot)

    def partitions(self, table: Table, ranges: tuple[KeyRange, ...]) -> tuple[Partition, ...]:
        """The partitions with keys in any of the merged ranges, in key order, each once."""
        return self._found(self.lookup(table, None, ranges), partitions_in(ranges))

    def satisfying(self, table: Table, wanted: ScanFilter | None) -> tuple[Partition, ...]:
        """The partitions that satisfy a bound filter (``None``: all), in key order."""
        if wanted is None:
            return self._kept(PARTITIONS, partial(self._read_all, table))
        return self._found(self.lookup(table, wanted), satisfying(wanted))

    def _read_all(self, table: Table) -> tuple[Partition, ...]:
        held = None if self._cache is None else self._cache.last(self.object_id, PARTITIONS)
        found = renewed(self._database, table, self.ids, held)
        return tuple(self.lookup(table, None).partitions()) if found is None else found

    def _found(self, lookup: Lookup, question: Question) -> tuple[Partition, ...]:
        whole = self._whole()
        if whole is not None:
            return tuple(lookup.among(whole))
        return self._kept(question, lambda: tuple(lookup.partitions()))

    def _whole(self) -> tuple[Partition, ...] | None:
        """All partitions, in key order, where memory has them."""
        if self._cache is None:
            return None
        return cast(tuple[Partition, ...] | None, self._cache.held(self.object_id, PARTITIONS, self.ids))

    def files_in(self, table: Table, ranges: tuple[KeyRange, ...] | None) -> PartitionFiles:
        """The files of the partitions with keys in any of the merged ranges (``None``: all), in (key, path) order.

        An external table answers none: who reads it lists its directories. Raises SNAPSHOT_TOO_OLD.
        """
        self._hold()

        def read() -> PartitionFiles:
            found = self.satisfying(table, None) if ranges is None else self.partitions(table, ranges)
            return tuple(self.lookup(table, None, ranges).files(found))

        return self._kept(files_in(ranges), read)

    def files_satisfying(self, table: Table, wanted: ScanFilter) -> PartitionFiles:
        """The files of the partitions that satisfy a bound filter, likewise."""
        self._hold()
        return self._kept(
            files_satisfying(wanted),
            lambda: tuple(self.lookup(table, wanted).files(self.satisfying(table, wanted))),
        )

    def _hold(self) -> None:
        """Sees to it that files stay as long as the snapshot lives, though memory may answer which they are.

        One that needs a lease for that gets it first, and is looked at then: VACUUM may have come before.
        """
        if self._snapshot is None:
            return
        self._database.leases.hold(self._snapshot)
        if needs_lease(self._snapshot):
            with self._database.read() as connection:
                reads.check_readable(connection, self._snapshot.sequence)

    def timelines(self) -> reads.StoredTimelines:
        """All stored timelines of a table. One statement. Raises ``ValueError`` where one is damaged."""
        return self._kept(TIMELINES, partial(read_timelines, self._database, self.object_id, self.ids))
