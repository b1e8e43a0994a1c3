"""The copies of partitions on secondary clusters, as a snapshot sees them (seed 004)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import sqlalchemy as sa

from rewriter.catalog.model.key_ranges import KeyRange, merged, outside
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.model.stored_rows import damaged_partition
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading.queries import check_readable, copied_ranges, files
from rewriter.catalog.reading.snapshot_reads import SnapshotReads
from rewriter.catalog.reading.versioned_reads import PartitionFiles, hold
from rewriter.catalog.store import schema
from rewriter.catalog.store.database import Database


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
            return merged(KeyRange(start, end) for start, end in connection.execute(query))

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
            listed = files(connection, self.write_ids(table.id), ranges, cluster.lower())
            return tuple([(by_key[key], file) for key, file in listed if key in by_key])


#: The most partitions whose files are looked up by key; the files of more are read with those between them.
_MOST_KEYS = 2048
