"""Partitions found by scans of their keys, or by a secondary index: their rows, keys, names or number, page by page.

Rows are versioned, so consecutive pages read under one list of write ids show one state. No database transaction
stays open between them. Memory holds one page and, for a secondary index, at most ``access_paths.MOST_GATHERED`` keys.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from rewriter.catalog.filters.explain import filter_text, key_range_text
from rewriter.catalog.filters.key_sql import Condition
from rewriter.catalog.filters.residual_sql import Residual, residual_of
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.partition_names import NameMaker
from rewriter.catalog.keys.values import canonical, parse_partition_name
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import DataFile, Partition, PartitionValues, Table
from rewriter.catalog.model.stored_rows import KEY_ERRORS, damaged_partition, reading_key
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.access_paths import MOST_GATHERED, Choice, IndexPath, choose
from rewriter.catalog.store import schema
from rewriter.catalog.store.prepared_statements import MOST
from rewriter.errors import DataError, InterfaceError
from rewriter.grammar.unparse import quote_name
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import sqlalchemy as sa

    from rewriter.catalog.filters.scan_plans import Scan
    from rewriter.catalog.model.write_ids import ValidWriteIdList
    from rewriter.catalog.store.database import Database
    from rewriter.catalog.store.leases import LeasedSnapshot

#: The maximum number of rows read by one statement.
PAGE = 10_000
#: The maximum number of key ranges that an explanation lists.
_MAX_SHOWN_RANGES = 64
#: The bound of the counted keys for an estimate if there is only one access path.
_ESTIMATED = 10_000

_Row = TypeVar("_Row", bytes, Partition)
#: Reads at most so many rows of some key ranges, in key order, for which the condition is TRUE.
_Page = Callable[[Sequence[KeyRange], int, Condition | None], list[_Row]]


@dataclass(frozen=True)
class Lookup:
    """The partitions of a table that the scans find, in key order. Each call reads them again.

    ``scans`` define the result. The access path is chosen, by counts, when first needed: the scans, or
    one of ``indexes``, each of which contains the complete result. ``snapshot`` protects the files.

    Methods that return partitions have a ``limit``, the maximum number of results, and an ``after``, the key or name of
    a partition, which need not exist: only partitions behind it are returned.
    """

    database: Database
    table: Table
    ids: ValidWriteIdList
    scans: tuple[Scan, ...]
    indexes: tuple[IndexPath, ...] = ()
    snapshot: LeasedSnapshot | None = None

    @property
    def ranges(self) -> tuple[KeyRange, ...]:
        """The key ranges that contain the complete result, on each access path."""
        return tuple(scan.keys for scan in self.scans)

    @cached_property
    def choice(self) -> Choice:
        """The access path. Runs a few bounded counts if there are several; otherwise reads nothing."""
        return choose(self.database, self.ranges, self.indexes)

    @cached_property
    def residual(self) -> Residual:
        """The condition by which the database tests the keys that the scans visit."""
        return self._residual(schema.partitions.c.key)

    def partitions(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[Partition]:
        """Yields the partitions."""
        return chain.from_iterable(self.partition_pages(limit, after))

    def partition_pages(
        self, limit: int | None = None, after: bytes | str | None = None
    ) -> Iterator[Sequence[Partition]]:
        """Yields the partitions in the pages that the statements read."""

        def page(key_ranges: Sequence[KeyRange], size: int, condition: Condition | None) -> list[Partition]:
            return queries.partition_page(self.database, self.table, self.ids, key_ranges, size, condition)

        return self._limited(page, attrgetter("key"), limit, after)

    def among(self, partitions: Sequence[Partition]) -> Iterator[Partition]:
        """Yields the partitions among the given ones, sorted by key, that it finds. Reads nothing. O(keys in scans)."""
        key_of = attrgetter("key")
        for scan in self.scans:
            start, end = (bisect_left(partitions, edge, key=key_of) for edge in (scan.start, scan.end))
            for partition in partitions[start:end]:
                if not scan.filters or scan.holds(self.fields_of(partition.key)):
                    yield partition

    def files(self, partitions: Sequence[Partition]) -> list[tuple[Partition, DataFile]]:
        """Returns the files of found partitions in (key, path) order: the newest OVERWRITE and the INTOs after it.

        Returns nothing for an external table, whose readers list its directories. The caller holds the snapshot
        (``leases``).
        """
        found: list[tuple[Partition, DataFile]] = []
        if self.table.external:
            return found
        by_key = {partition.key: partition for partition in partitions}
        filled = sorted([partition.key for partition in partitions if partition.files])
        ranges: list[KeyRange] = []
        for scan in self.scans:
            if scan.filters:
                keys = filled[bisect_left(filled, scan.start) : bisect_left(filled, scan.end)]
                ranges += map(KeyRange.of_key, keys)
            else:
                ranges.append(scan.keys)
        with self.database.read() as connection:
            if self.snapshot is not None:
                queries.check_readable(connection, self.snapshot.sequence)
            for file_keys, files in queries.files(connection, self.ids, ranges):
                unknown = next(filterfalse(by_key.__contains__, file_keys), None)
                if unknown is not None:
                    raise damaged_partition(
                        self.table.name, f"a file has the key {unknown.hex()}, but no partition has this key"
                    )
                found += zip(map(by_key.__getitem__, file_keys), files, strict=True)
        return found

    def found_keys(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[bytes]:
        """Yields the keys. Reads nothing else."""
        return chain.from_iterable(self._key_pages(limit, after))

    def _key_pages(self, limit: int | None, after: bytes | str | None) -> Iterator[Sequence[bytes]]:
        def page(key_ranges: Sequence[KeyRange], size: int, condition: Condition | None) -> list[bytes]:
            return queries.key_page(self.database, self.ids, key_ranges, size, condition)

        return self._limited(page, lambda key: key, limit, after)

    def names(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[str]:
        """Yields the names, made from the keys."""
        maker = NameMaker(self.table.partition_columns)
        return chain.from_iterable(map(maker.names_of, self._key_pages(limit, after)))

    def named_keys(self) -> Iterator[tuple[str, bytes]]:
        """Yields the names, each with its key, in key order."""
        maker = NameMaker(self.table.partition_columns)
        return chain.from_iterable(zip(maker.names_of(page), page, strict=True) for page in self._key_pages(None, None))

    def count(self) -> int:
        """Returns their number. The database counts if it tests the complete filter, or for scans without a filter."""
        exact_ranges = self._exact_ranges()
        if exact_ranges is not None:
            with self.database.read() as connection:
                return queries.partition_count(connection, self.ids, *exact_ranges)
        ranges = [scan.keys for scan in self.scans if not scan.filters]
        with self.database.read() as connection:
            counted = queries.partition_count(connection, self.ids, ranges) if ranges else 0
        filtered = Lookup(self.database, self.table, self.ids, tuple(scan for scan in self.scans if scan.filters))
        return counted + sum(1 for _ in filtered.found_keys())

    def row_total(self) -> int | None:
        """Returns the number of rows in them; ``None`` if not all are counted, or if the database does not test the
        complete filter.
        """
        exact_ranges = self._exact_ranges()
        if exact_ranges is None:
            return None
        with self.database.read() as connection:
            return queries.row_total(connection, self.ids, *exact_ranges)

    def edge_key(self, *, last: bool) -> bytes | None:
        """Returns the first or the last key that has rows. Needs a ``row_total``."""
        exact_ranges = self._exact_ranges()
        if exact_ranges is None:
            return None
        with self.database.read() as connection:
            return queries.edge_key(connection, self.ids, *exact_ranges, last=last)

    def _exact_ranges(self) -> tuple[Sequence[KeyRange], Condition | None] | None:
        """Returns the key ranges and the condition by which the database selects exactly the result, if it can."""
        gathered = self._gathered()
        if gathered is not None:
            return list(map(KeyRange.of_key, gathered)), None
        return (self.ranges, self.residual.condition) if self.residual.exact else None

    def explained(self) -> tuple[str, ...]:
        """Returns the lines of an explanation: the access path, its ranges, the remaining filter, the numbers of keys.

        The estimate is the count by which the path was chosen, ``≥`` if counting stopped. Runs the lookup to count the
        visited keys (entries of the index, including entries of older versions) and the found ones.
        """
        index, table = self.choice.index, self.table
        if index is None:
            access_path, head_bytes, columns = "by key", encoding.prefix(table.id), table.partition_columns
            entries, key_ranges = schema.partitions.c.key, self.ranges
            filters = [scan.filters for scan in self.scans]
        else:
            columns = table.partition_columns[index.column : index.column + 1]
            access_path, head_bytes = (
                f"by index on {quote_name(columns[0].name)}",
                encoding.entry_prefix(table.id, index.column),
            )
            entries, key_ranges = schema.partition_fields.c.place, index.entry_ranges
            filters = [index.filters] * len(key_ranges)
        visited = queries.entry_count(self.database, entries, key_ranges)
        exact, estimate = self.choice.exact, self.choice.entries
        if not self.indexes:
            exact, estimate = visited <= _ESTIMATED, min(visited, _ESTIMATED)
        shown = [key_range_text(columns, head_bytes, key_range) for key_range in key_ranges]
        common = len(set(filters)) == 1
        if not common:
            tests = [
                f" where {filter_text(table.partition_columns, conjunction)}" if conjunction else ""
                for conjunction in filters
            ]
            shown = [text + test for text, test in zip(shown, tests, strict=True)]
        if not shown:
            shown = ["nothing"]
        if len(shown) > _MAX_SHOWN_RANGES:
            shown = [*shown[:_MAX_SHOWN_RANGES], f"… and {len(shown) - _MAX_SHOWN_RANGES} more"]
        filter_lines = [f"filter: {filter_text(table.partition_columns, filters[0])}"] if common and filters[0] else []
        estimated = f"{'' if exact else '≥ '}{estimate:,}"
        counts = f"keys: {estimated} estimated, {visited:,} visited, {self.count():,} found"
        return (access_path, *shown, *filter_lines, counts)

    def holds(self, key: bytes) -> bool:
        """Returns True if the lookup finds a key of the table. O(log n) in the scans, plus the cost of the filters."""
        scan = self._scan_with(key)
        return scan is not None and scan.holds(self.fields_of(key))

    def _scan_with(self, key: bytes) -> Scan | None:
        index = bisect_right(self.scans, key, key=_start) - 1
        return self.scans[index] if index >= 0 and key < self.scans[index].end else None

    def fields_of(self, key: bytes) -> tuple[bytes, ...]:
        """Returns the key's fields, which sort like the values."""
        try:
            return encoding.split_key(self._widths, key)
        except KEY_ERRORS as error:
            raise damaged_partition(key, f"{type(error).__name__}: {error}") from error

    @cached_property
    def _widths(self) -> list[int | None]:
        return [encoding.width_of(column.type) for column in self.table.partition_columns]

    def values_of(self, key: bytes) -> PartitionValues:
        """Returns the partition's values."""
        columns = self.table.partition_columns
        fields = self.fields_of(key)
        with reading_key(key):
            return tuple(
                encoding.decode_value(column.type, field) for column, field in zip(columns, fields, strict=True)
            )

    def _limited(
        self, page: _Page[_Row], key_of: Callable[[_Row], bytes], limit: int | None, after: bytes | str | None
    ) -> Iterator[Sequence[_Row]]:
        if limit is not None and limit < 0:
            raise InterfaceError(f"a limit is 0 or more, not {limit}")
        after_key = self.key_named(after) if isinstance(after, str) else after
        start = b"" if after_key is None else after_key + b"\x00"
        return self._matching(page, key_of, limit, start)

    def _matching(
        self, page: _Page[_Row], key_of: Callable[[_Row], bytes], limit: int | None, start: bytes
    ) -> Iterator[Sequence[_Row]]:
        """Yields all results from the key ``start`` on, ``limit`` at most, as long as the caller reads more."""
        if limit == 0:
            return
        gathered = self._gathered()
        if gathered is not None:
            filtered, condition, key_ranges = False, None, list(map(KeyRange.of_key, gathered))
        else:
            filtered, condition, key_ranges = not self.residual.exact, self.residual.condition, list(self.ranges)
        remaining = [
            KeyRange(max(key_range.start, start), key_range.end) for key_range in key_ranges if key_range.end > start
        ]
        size = PAGE if limit is None or filtered else min(PAGE, limit)
        rows_left = limit
        for rows in self._pages(page, key_of, remaining, size, condition):
            matching = [row for row in rows if self.holds(key_of(row))] if filtered else rows
            if rows_left is not None and len(matching) >= rows_left:
                yield matching[:rows_left]
                return
            yield matching
            rows_left = None if rows_left is None else rows_left - len(matching)

    def _pages(
        self,
        page: _Page[_Row],
        key_of: Callable[[_Row], bytes],
        remaining: list[KeyRange],
        size: int,
        condition: Condition | None,
    ) -> Iterator[Sequence[_Row]]:
        """Yields the visible rows that satisfy the condition, in key order, from pages of at most ``size``.

        One statement reads as many key ranges as fit a page: if they do not fit, half as many are tried. A key range
        that is longer than a page is read alone, page by page.
        """
        remaining.reverse()
        range_count = len(remaining)
        while remaining:
            range_count = min(range_count, len(remaining), MOST)
            has_many = range_count > 1
            rows = page(remaining[: -range_count - 1 : -1], size + has_many, condition)
            if has_many and len(rows) > size:
                range_count //= 2
                continue
            yield rows
            last = remaining[-range_count]
            del remaining[-range_count:]
            if not has_many and len(rows) == size:
                remaining.append(KeyRange(key_of(rows[-1]) + b"\x00", last.end))
            elif 2 * len(rows) <= size:
                range_count *= 2

    def _gathered(self) -> list[bytes] | None:
        """Returns the matching keys, in order, from an index; ``None`` if the scans are the access path."""
        index = self.choice.index
        if index is None:
            return None
        # If the entries leave no filter open, they differ from the scans only by their ranges.
        residual = self._residual(schema.partition_fields.c.key) if index.filters else Residual(None, True)
        keys = queries.indexed_keys(self.database, index.search_ranges, MOST_GATHERED + 1, residual.condition)
        if len(keys) > MOST_GATHERED:
            return None  # More keys were added since the count: too many to hold.
        # The condition holds for keys inside the scans; whether a key is inside is tested here.
        return sorted(filter(self._scan_with if residual.exact else self.holds, keys))

    def _residual(self, key: sa.ColumnElement[bytes]) -> Residual:
        return residual_of(self.scans, self._widths, key)

    def key_named(self, name: str) -> bytes:
        """Returns the key of a partition's name. Raises ``DataError`` if the name is not one of this table."""
        columns, pairs = self.table.partition_columns, parse_partition_name(name)
        if [pair[0].lower() for pair in pairs] != [column.name.lower() for column in columns]:
            raise DataError(
                f"'{name}' is not a partition name of '{self.table.name}'",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
                object=self.table.name,
                hint=f"Its partitions are named {'/'.join(f'{column.name}=…' for column in columns)}.",
            )
        values = [canonical(column, value) for column, (_, value) in zip(columns, pairs, strict=True)]
        return encoding.encode(self.table.id, [column.type for column in columns], values)


def _start(scan: Scan) -> bytes:
    return scan.start
