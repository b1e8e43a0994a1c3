"""Keeps what a snapshot has read for the next snapshot of the same state."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewriter.catalog.filters.predicates import ScanFilter
from rewriter.catalog.model.json_codec import Object
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition
from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.versioned_reads import PartitionFiles
from rewriter.timeline.timeline import PartitionTimeline

#: The most partitions, files and ranges of timelines that the next snapshot takes over: some 20 MB.
MOST_ROWS = 20_000
#: The most results that it takes over.
MOST_RESULTS = 2_000


#: A table, and which of its partitions: those with keys in ranges, those that satisfy a filter, or all.
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
        if results > MOST_RESULTS:
            return False
        ranges = sum([len(ranges) for stored in self.stored.values() for ranges in stored.values()])
        ranges += sum([len(held) for by_cluster in self.copied_ranges.values() for held in by_cluster.values()])
        return ranges + sum(map(len, listings)) <= MOST_ROWS
