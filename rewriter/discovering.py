"""Tables whose partitions are discovered: nothing is registered, and each statement looks at the directories itself.

Directories that the statement's filter rules out are not entered. What lies among them and names no partition, or one
that another directory names, is an error: whoever left it out would answer without its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from rewriter.catalog import keys
from rewriter.catalog.lookup import Lookup
from rewriter.catalog.models import Partition, PartitionValues, Table
from rewriter.catalog.partition_paths import is_discovered
from rewriter.catalog.scan_filters import ScanFilter
from rewriter.catalog.scan_plans import PartitionFilterGenerator
from rewriter.catalog.scan_text import filter_text
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.values import partition_name
from rewriter.directories import list_directories, printable
from rewriter.errors import Error, OperationalError, Span

#: What a statement, which has one snapshot, has seen: it looks once.
_SEEN: WeakKeyDictionary[Snapshot, dict[tuple[int, ScanFilter | None], dict[bytes, Partition]]] = WeakKeyDictionary()


def discovered(table: Table, wanted: ScanFilter | None, snapshot: Snapshot) -> dict[bytes, Partition]:
    """The partitions that satisfy a filter by key, in key order, each with its directory; the same for one snapshot.

    Raises ``OperationalError`` INVALID_PARTITION_DIRECTORY and AMBIGUOUS_PARTITION_DIRECTORY, and what
    ``list_directories`` raises, which says what it costs.
    """
    seen = _SEEN.setdefault(snapshot, {})
    if (table.id, wanted) not in seen:
        seen[table.id, wanted] = _listed(table, wanted)
    return seen[table.id, wanted]


def _listed(table: Table, wanted: ScanFilter | None) -> dict[bytes, Partition]:
    listed = list_directories(table, wanted)
    for stray in listed.strays:
        raise OperationalError(
            f"{printable(stray.path)}, below the table {table.name}, is no partition: {stray.reason}.",
            condition="INVALID_PARTITION_DIRECTORY",
            object=table.name,
            hint=f"Move it away, or give it a name that begins with a dot; MSCK TABLE {table.name} lists all such.",
        )
    groups = listed.by_key()
    for group in groups.values():
        if len(group) > 1:
            name = partition_name(table.partition_columns, group[0].values)
            raise OperationalError(
                f"Several directories are the partition {name} of {table.name}: "
                f"{', '.join(one.path for one in group[:3])}.",
                condition="AMBIGUOUS_PARTITION_DIRECTORY",
                object=table.name,
                hint="Move the files of one into the other, and remove the directory.",
            )
    return {key: Partition(key, groups[key][0].values, groups[key][0].path) for key in sorted(groups)}


@dataclass(frozen=True)
class Discovery:
    """What satisfies a filter, as a ``Lookup`` of the catalog answers it."""

    table: Table
    wanted: ScanFilter | None
    snapshot: Snapshot

    def found_keys(self) -> Iterator[bytes]:
        """The keys, in their order."""
        return iter(self._found)

    def count(self) -> int:
        """How many there are."""
        return len(self._found)

    def values_of(self, key: bytes) -> PartitionValues:
        """The partition's values."""
        return self._found[key].values

    def fields_of(self, key: bytes) -> tuple[bytes, ...]:
        """The key's fields, which order as the values do."""
        return keys.split([keys.width_of(column.type) for column in self.table.partition_columns], key)

    def names(self) -> Iterator[str]:
        """Their names, ``c=US/d=1``, in key order."""
        return (name for name, _ in self.named_keys())

    def named_keys(self) -> Iterator[tuple[str, bytes]]:
        """Their names, each with its key, in key order."""
        columns = self.table.partition_columns
        return ((partition_name(columns, one.values), key) for key, one in self._found.items())

    def explained(self) -> tuple[str, ...]:
        """How they are found, line by line."""
        columns = self.table.partition_columns
        text = filter_text(columns, PartitionFilterGenerator(len(columns)).plan(self.wanted).plans)
        return ("by listing directories", *([f"filter: {text}"] if text != "TRUE" else []))

    @cached_property
    def _found(self) -> dict[bytes, Partition]:
        return discovered(self.table, self.wanted, self.snapshot)


def look_up(table: Table, wanted: ScanFilter | None, snapshot: Snapshot, position: Span) -> Lookup | Discovery:
    """The partitions of a table that satisfy a filter, wherever they are told; raises as ``discovered`` does, there."""
    if not is_discovered(table):
        return snapshot.lookup(table, wanted)
    try:
        discovered(table, wanted, snapshot)
    except Error as error:
        raise error.at(position) from None
    return Discovery(table, wanted, snapshot)
