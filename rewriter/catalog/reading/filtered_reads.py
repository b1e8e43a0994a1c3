"""The reading API of a metastore (seed 001): the partitions of a table that satisfy a filter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from rewriter.catalog.filters.predicates import ScanFilter, bind_filter, bind_text
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.reading.partition_lookup import Lookup
from rewriter.grammar.filters import Filter


class FilteredReads(ABC):
    """Reads of partitions by a filter as a tree or as text, which are all lookups of a snapshot."""

    @abstractmethod
    def lookup(self, table: Table, scan_filter: ScanFilter | None, ranges: Sequence[KeyRange] | None = None) -> Lookup:
        """Returns a lookup of the partitions that satisfy a bound filter."""

    def get_partitions_by_expr(
        self, table: Table, tree: Filter | None, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[Partition, ...]:
        """Returns the partitions for which a filter is TRUE (``None``: all), in key order, which is that of the values.

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
