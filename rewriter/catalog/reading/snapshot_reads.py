"""Keeps what a snapshot has read for the next snapshot of the same state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.facts import timeline_properties
from rewriter.catalog.filters.predicates import ScanFilter, bind_filter, bind_text
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges, outside
from rewriter.catalog.model.origins import Origin, OriginKind, Origins
from rewriter.catalog.model.proofs import DIFFERING, OPEN
from rewriter.catalog.model.stored_rows import damaged_partition
from rewriter.catalog.reading import history, queries
from rewriter.catalog.reading.queries import check_readable, copied_ranges, files
from rewriter.catalog.reading.versioned_reads import PartitionFiles, hold
from rewriter.catalog.store import schema
from rewriter.errors import OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline import runs
from rewriter.timeline.kinds.registry import DEFAULT

if TYPE_CHECKING:
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.model.objects import Fact, Partition, Table
    from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList
    from rewriter.catalog.reading.partition_lookup import Lookup
    from rewriter.catalog.store.database import Database
    from rewriter.grammar.filters import Filter
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

#: The most partitions, files and ranges of timelines that the next snapshot takes over: some 20 MB.
MOST_ROWS = 20_000
#: The most results that it takes over.
_MOST_RESULTS = 2_000


#: A table, and which of its partitions: partitions with keys in ranges, partitions that satisfy a filter, or all.
FilesKey = tuple[int, tuple[KeyRange, ...] | ScanFilter | None]


@dataclass(frozen=True)
class CatalogState:
    """A state of a catalog as a session sees it. Snapshots of equal states return the same to every read.

    ``catalog`` is the identity of the opened catalog, ``sequence`` the number of the newest commit.
    """

    catalog: int
    sequence: int
    transactions: ValidTxnList
    session: str | None


@dataclass(frozen=True)
class SnapshotReads:
    """The results of reads under one state, by what was asked. One thread at a time."""

    state: CatalogState
    write_ids: dict[int, ValidWriteIdList] = field(default_factory=dict)
    by_name: dict[str, Object | None] = field(default_factory=dict)
    by_kind: dict[str, tuple[Object, ...]] = field(default_factory=dict)
    partitions: dict[tuple[int, tuple[KeyRange, ...]], tuple[Partition, ...]] = field(default_factory=dict)
    satisfying: dict[tuple[int, ScanFilter | None], tuple[Partition, ...]] = field(default_factory=dict)
    files: dict[FilesKey, PartitionFiles] = field(default_factory=dict)
    #: The stored timelines of each table that was read; and the timelines made from them, by table.
    stored: dict[int, queries.StoredTimelines] = field(default_factory=dict)
    timelines: dict[tuple[int, queries.TimelineKey], PartitionTimeline] = field(default_factory=dict)
    #: By table and name of the cluster: the keys of the partitions that a secondary cluster has.
    copied_ranges: dict[int, dict[str, tuple[KeyRange, ...]]] = field(default_factory=dict)

    @property
    def is_small(self) -> bool:
        """Returns whether the results are few enough for the next snapshot to keep them."""
        listings = (*self.partitions.values(), *self.satisfying.values(), *self.files.values(), *self.by_kind.values())
        results = len(self.by_name) + len(self.write_ids) + len(self.timelines) + len(listings)
        if results > _MOST_RESULTS:
            return False
        ranges = sum([len(ranges) for stored in self.stored.values() for ranges in stored.values()])
        ranges += sum([len(held) for by_cluster in self.copied_ranges.values() for held in by_cluster.values()])
        return ranges + sum(map(len, listings)) <= MOST_ROWS


# The copies of partitions on secondary clusters, as a snapshot sees them (seed 004).


class CopyReads(ABC):
    """Reads of copies, which are all reads of a snapshot under the write ids of a table."""

    _database: Database
    _reads: SnapshotReads

    @property
    @abstractmethod
    def sequence(self) -> int:
        """The number of the newest commit that the snapshot sees."""

    @property
    @abstractmethod
    def taken_at(self) -> float:
        """The time at which the snapshot was taken."""

    @abstractmethod
    def write_ids(self, object_id: int) -> ValidWriteIdList:
        """Returns the visible write ids of a table."""

    @abstractmethod
    def _store(self, object_id: int) -> Database:
        """Returns the database that has the rows of a table."""

    def copied_ranges(self, table: Table, cluster: str) -> tuple[KeyRange, ...]:
        """Returns merged key ranges: a secondary cluster has each partition of the table in them, whole.

        A table without secondary clusters costs nothing; others cost one indexed read for each snapshot.
        """
        if not table.copies:
            return ()
        if table.id not in self._reads.copied_ranges:
            with self._store(table.id).read() as connection:
                self._reads.copied_ranges[table.id] = copied_ranges(connection, table.id, self.write_ids(table.id))
        return self._reads.copied_ranges[table.id].get(cluster.lower(), ())

    def once_copied_ranges(self, table: Table, cluster: str) -> tuple[KeyRange, ...]:
        """Returns merged key ranges of all copies that a secondary cluster has or had. O(versions of ranges)."""
        row = schema.partition_copies.c
        query = sa.select(row.start_key, row.end_key).where(row.table_id == table.id, row.cluster == cluster.lower())
        with self._store(table.id).read() as connection:
            return merge_ranges(KeyRange(start, end) for start, end in connection.execute(query))

    def copied_files(self, table: Table, cluster: str, partitions: Sequence[Partition]) -> PartitionFiles:
        """Returns the files of partitions, given in key order, that a secondary cluster has, in (key, path) order.

        The files stay as long as the snapshot lives. Raises as ``Snapshot.files`` does. One statement for 256 runs.
        """
        hold(self._database, self)
        by_key = {partition.key: partition for partition in partitions}
        held = self.copied_ranges(table, cluster)
        if outside(by_key, held):
            raise damaged_partition(table.name, f"a partition is read on {cluster}, which does not have it")
        ranges = [KeyRange.of_key(key) for key in by_key] if len(by_key) <= _MOST_KEYS else held
        with self._store(table.id).read() as connection:
            check_readable(connection, self.sequence)
            pages = files(connection, self.write_ids(table.id), ranges, cluster.lower())
            listed = [pair for keys, found in pages for pair in zip(keys, found, strict=True)]
            return tuple([(by_key[key], file) for key, file in listed if key in by_key])


#: The most partitions whose files are looked up by key; the files of more are read with those between them.
_MOST_KEYS = 2048


# The reading API of a metastore (seed 001): the partitions of a table that satisfy a filter.


class FilteredReads(ABC):
    """Reads of partitions by a filter as a tree or as text, which are all lookups of a snapshot."""

    @abstractmethod
    def lookup(self, table: Table, scan_filter: ScanFilter | None, ranges: Sequence[KeyRange] | None = None) -> Lookup:
        """Returns a lookup of the partitions that satisfy a bound filter."""

    def get_partitions_by_expr(
        self, table: Table, tree: Filter | None, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[Partition, ...]:
        """Returns the partitions for which a filter is TRUE (``None``: all), in key order, which is the order of the
        values.

        ``limit`` is the maximum number. ``after`` is a key or name; only partitions behind it are returned. Raises the
        errors of ``bind_filter``. Reads only the ranges of the index that ``access_paths`` chooses; ``lookup``
        streams, names and counts.
        """
        bound = None if tree is None else bind_filter(tree, table.partition_columns)
        return tuple(self.lookup(table, bound).partitions(limit, after))

    def get_partitions_by_filter(
        self, table: Table, text: str, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[Partition, ...]:
        """Does the same for a filter as text, which is data and never becomes SQL. Raises ``ParseError``, too."""
        return tuple(self.lookup(table, bind_text(text, table.partition_columns)).partitions(limit, after))

    def list_partitions_by_filter(
        self, table: Table, text: str, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[Partition, ...]:
        """Returns the name of ``get_partitions_by_filter`` in the Flink proposal."""
        return self.get_partitions_by_filter(table, text, limit, after)

    def partition_names_by_filter(
        self, table: Table, text: str, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[str, ...]:
        """Returns the names (``c=US/d=1``) of these partitions, in key order. Reads only the keys."""
        return tuple(self.lookup(table, bind_text(text, table.partition_columns)).names(limit, after))

    def count_partitions_by_filter(self, table: Table, text: str) -> int:
        """Returns the number of partitions that satisfy a filter. The database counts if ranges of keys decide."""
        return self.lookup(table, bind_text(text, table.partition_columns)).count()


# The proofs in the rows of partitions, as a snapshot sees them: why some are unproven, and what others rest on.


class ProofReads(ABC):
    """Reads of proofs, which are all reads of a snapshot under the write ids of a table."""

    _database: Database

    @property
    @abstractmethod
    def sequence(self) -> int:
        """The number of the newest commit that the snapshot sees."""

    @abstractmethod
    def write_ids(self, object_id: int) -> ValidWriteIdList:
        """Returns the visible write ids of a table."""

    @abstractmethod
    def _store(self, object_id: int) -> Database:
        """Returns the database that has the rows of a table."""

    def doubts(self, table: Table, ranges: Sequence[KeyRange]) -> tuple[str, ...]:
        """Returns the reasons why partitions with keys in any of the ranges are unproven, the most frequent one first;
        then the words that they rest on.

        Costs a scan of the partitions in the ranges, inside the database.
        """
        with self._store(table.id).read() as connection:
            doubts = history.doubts(connection, self.write_ids(table.id), merge_ranges(ranges))
        words = self.words(
            origin
            for origins in self.origins(table, ranges).values()
            for origin in origins
            if origin.kind is not OriginKind.COPIED  # a change there makes it outdated
            and (origin.table != table.id or origin.accepted != origin.as_of)  # an accepted partition itself
        )
        return (*doubts, *(f"it rests {word}, and that has changed or is not given any more" for word in words))

    def origins(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> Mapping[bytes, Origins]:
        """Returns what partitions with keys in any of the ranges (``None``: all) rest on, by key. Partitions that rest
        on nothing are left out. One indexed statement, which reads the others alone.
        """
        key_ranges = None if ranges is None else merge_ranges(ranges)
        with self._store(table.id).read() as connection:
            return history.origins(connection, self.write_ids(table.id), table.id, key_ranges)

    def words(self, origins: Iterable[Origin]) -> tuple[str, ...]:
        """Returns what content with some origins rests on, as texts, each once, in order, such as 'on the content of
        hours'. One indexed read for each table.
        """
        by_table: dict[int, set[OriginKind]] = {}
        for origin in origins:
            by_table.setdefault(origin.table, set()).add(origin.kind)
        words: list[str] = []
        for table_id, kinds in by_table.items():
            with self._database.read() as connection:
                objects = queries.objects(connection, self.sequence, id=table_id)
            name = objects[0][0].name if objects else f"the dropped table with the id {table_id}"
            words += [_WORDS[kind].format(name) for kind in kinds]
        return tuple(sorted(words))

    def open_keys(self, table: Table) -> frozenset[bytes]:
        """Returns the keys of the partitions of a table that streams fill. O(partitions), inside the database."""
        return self._keys_in_doubt(table, [OPEN])

    def differing_keys(self, table: Table) -> frozenset[bytes]:
        """Returns the keys of the rollup partitions of a table that a comparison has found to differ from the base, and
        that nothing has written since. O(partitions), inside the database.
        """
        return self._keys_in_doubt(table, DIFFERING)

    def _keys_in_doubt(self, table: Table, reasons: Collection[str]) -> frozenset[bytes]:
        with self._store(table.id).read() as connection:
            return history.keys_in_doubt(connection, self.write_ids(table.id), table.id, reasons)


_WORDS = {
    OriginKind.TRUSTED: "on the word of the owner of {} (TRUSTED)",
    OriginKind.ACCEPTED: "on the acceptance of {} by CHECK FACT",
    OriginKind.COPIED: "on the content of {}",
}


# Timelines from their stored ranges.


def implementation(table: Table, fact: Fact | None, period: Period, time: str) -> str:
    """Returns the name of the class of a timeline of a table that a fact uses, which the table's properties choose."""
    storage_table = fact.storage_table(table.name) if fact is not None else None
    if storage_table is None:
        return DEFAULT
    return timeline_properties.chosen(table.properties, storage_table, period, time)


def existing_ranges(stored: queries.StoredTimelines, key: queries.TimelineKey) -> Sequence[OrdinalRange]:
    """Returns the stored ranges of one timeline; for fresh periods, the ranges that were not retired."""
    period, time, state = key
    ranges, retired = stored.get(key, ()), stored.get((period, time, schema.RETIRED), ())
    if state != schema.FRESH or not retired:
        return ranges
    # The period is complete by its rule, but a partition was dropped: the others do not have the former content.
    return runs.ranges(*runs.subtract_runs(runs.of_ranges(ranges), runs.of_ranges(retired)))


def damaged_timeline(table: Table, error: ValueError) -> OperationalError:
    """Returns the error DAMAGED_TIMELINE."""
    return OperationalError(
        f"a stored timeline of '{table.name}' is damaged: {error}",
        condition="DAMAGED_TIMELINE",
        object=table.name,
        hint="REFRESH TIMELINES OF its fact rebuilds it from the partitions.",
    )
