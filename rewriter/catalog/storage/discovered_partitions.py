"""Tables whose partitions are discovered: none is registered, and each statement looks at the directories itself.

Directories that the statement's filter excludes are not entered. A directory among them that names no partition, or
one that another directory names, is an error, because leaving it out would lose its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from rewriter.catalog.filters.explain import filter_text
from rewriter.catalog.filters.scan_plans import PartitionFilterGenerator
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.storage.partition_directories import list_directories, printable
from rewriter.errors import Error, OperationalError, Span
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.catalog.reading.partition_lookup import Lookup
    from rewriter.catalog.reading.snapshot import Snapshot

#: The partitions that a statement, which has one snapshot, has listed: it lists them once.
_DISCOVERED: WeakKeyDictionary[Snapshot, dict[tuple[int, ScanFilter | None], dict[bytes, Partition]]] = (
    WeakKeyDictionary()
)


def discovered(table: Table, scan_filter: ScanFilter | None, snapshot: Snapshot) -> dict[bytes, Partition]:
    """Returns the partitions that satisfy a filter by key, in key order, each with its directory; the same for one
    snapshot.

    Raises ``OperationalError`` INVALID_PARTITION_DIRECTORY and AMBIGUOUS_PARTITION_DIRECTORY, and the errors of
    ``list_directories``, which also states the cost.
    """
    partitions_by_filter = _DISCOVERED.setdefault(snapshot, {})
    if (table.id, scan_filter) not in partitions_by_filter:
        partitions_by_filter[table.id, scan_filter] = _listed_partitions(table, scan_filter)
    return partitions_by_filter[table.id, scan_filter]


def _listed_partitions(table: Table, scan_filter: ScanFilter | None) -> dict[bytes, Partition]:
    listing = list_directories(table, scan_filter)
    for stray in listing.stray_directories:
        raise OperationalError(
            f"{printable(stray.path)}, below the table {table.name}, is not a partition: {stray.reason}.",
            condition="INVALID_PARTITION_DIRECTORY",
            object=table.name,
            hint=f"Move it away, or give it a name that begins with a dot; MSCK TABLE {table.name} lists "
            "all such entries.",
        )
    groups = listing.by_key()
    for group in groups.values():
        if len(group) > 1:
            name = partition_name(table.partition_columns, group[0].values)
            raise OperationalError(
                f"Several directories hold the partition {name} of {table.name}: "
                f"{', '.join(duplicate.path for duplicate in group[:3])}.",
                condition="AMBIGUOUS_PARTITION_DIRECTORY",
                object=table.name,
                hint="Move all files into one of them, and remove the others.",
            )
    return {key: Partition(key, groups[key][0].values, groups[key][0].path) for key in sorted(groups)}


@dataclass(frozen=True)
class Discovery:
    """The partitions that satisfy a filter, with the interface of a ``Lookup`` of the catalog."""

    table: Table
    scan_filter: ScanFilter | None
    snapshot: Snapshot

    def found_keys(self) -> Iterator[bytes]:
        """Returns the keys, in their order."""
        return iter(self._partitions_by_key)

    def count(self) -> int:
        """Returns the number of partitions."""
        return len(self._partitions_by_key)

    def values_of(self, key: bytes) -> PartitionValues:
        """Returns the partition's values."""
        return self._partitions_by_key[key].values

    def fields_of(self, key: bytes) -> tuple[bytes, ...]:
        """Returns the key's fields, which order as the values do."""
        return encoding.split_key([encoding.width_of(column.type) for column in self.table.partition_columns], key)

    def names(self) -> Iterator[str]:
        """Returns their names, ``c=US/d=1``, in key order."""
        return (name for name, _ in self.named_keys())

    def named_keys(self) -> Iterator[tuple[str, bytes]]:
        """Returns their names, each with its key, in key order."""
        columns = self.table.partition_columns
        return ((partition_name(columns, partition.values), key) for key, partition in self._partitions_by_key.items())

    def explained(self) -> tuple[str, ...]:
        """Returns how they are found, line by line."""
        columns = self.table.partition_columns
        text = filter_text(columns, PartitionFilterGenerator(len(columns)).plan(self.scan_filter).plans)
        return ("by listing directories", *([f"filter: {text}"] if text != "TRUE" else []))

    @cached_property
    def _partitions_by_key(self) -> dict[bytes, Partition]:
        return discovered(self.table, self.scan_filter, self.snapshot)


def look_up(table: Table, scan_filter: ScanFilter | None, snapshot: Snapshot, position: Span) -> Lookup | Discovery:
    """Returns the partitions of a table that satisfy a filter, registered or discovered.

    Raises as ``discovered`` does, at the position.
    """
    if not is_discovered(table):
        return snapshot.lookup(table, scan_filter)
    try:
        discovered(table, scan_filter, snapshot)
    except Error as error:
        raise error.at(position) from None
    return Discovery(table, scan_filter, snapshot)
