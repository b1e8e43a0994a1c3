"""Partitions found by scans of their keys, or by a secondary index: whole, by key, by name or counted, page by page.

Rows are versioned, so pages read one after another under one list of write ids are one state; no database transaction
stays open between them, and memory holds one page and, of a secondary index, at most ``ways.MOST_GATHERED`` keys.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TypeVar

import sqlalchemy as sa

from rewriter.catalog import keys, reads, schema
from rewriter.catalog.database import Database
from rewriter.catalog.key_sql import Condition
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.leases import Held
from rewriter.catalog.models import DataFile, Partition, PartitionValues, Table
from rewriter.catalog.name_maker import NameMaker
from rewriter.catalog.residuals import Residual, residual_of
from rewriter.catalog.scan_plans import Scan
from rewriter.catalog.scan_text import filter_text, stretch_text
from rewriter.catalog.stretches import MOST
from rewriter.catalog.values import canonical, parse_partition_name
from rewriter.catalog.ways import MOST_GATHERED, Choice, IndexWay, choose
from rewriter.catalog.writeids import ValidWriteIdList
from rewriter.errors import DataError, InterfaceError
from rewriter.grammar.render import quote_name

#: How many rows one statement reads at most.
PAGE = 10_000
#: How many stretches an explanation lists.
SHOWN = 64
#: How far keys are counted for an estimate where there is nothing to choose.
ESTIMATED = 10_000

_Row = TypeVar("_Row", bytes, Partition)
#: Reads at most so many rows of some stretches, in key order, those for which the condition is TRUE.
_Page = Callable[[Sequence[KeyRange], int, Condition | None], list[_Row]]


@dataclass(frozen=True)
class Lookup:
    """The partitions of a table that the scans find, in key order. What is asked for is read each time anew.

    ``scans`` say what is found. How it is found is chosen, by counts, when first needed: by the scans, or by one of
    ``indexes``, in which all of it is, too. ``snapshot`` is whose files they are. ``limit`` is the most that is
    answered; ``after``, the key or name of a partition, which need not exist (any more), answers those behind it only.
    """

    database: Database
    table: Table
    ids: ValidWriteIdList
    scans: tuple[Scan, ...]
    indexes: tuple[IndexWay, ...] = ()
    snapshot: Held | None = None

    @property
    def ranges(self) -> tuple[KeyRange, ...]:
        """The stretches of keys in which all that is found lies, whatever way it is found."""
        return tuple(scan.keys for scan in self.scans)

    @cached_property
    def choice(self) -> Choice:
        """The way that is taken. A few bounded counts where there are several, else nothing is read."""
        return choose(self.database, self.ranges, self.indexes)

    @cached_property
    def residual(self) -> Residual:
        """What the database tests of the keys that the scans visit."""
        return self._residual(schema.partitions.c.key)

    def partitions(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[Partition]:
        """The partitions, one by one."""
        return chain.from_iterable(self.partition_pages(limit, after))

    def partition_pages(
        self, limit: int | None = None, after: bytes | str | None = None
    ) -> Iterator[Sequence[Partition]]:
        """The partitions, as many at once as a statement reads."""

        def page(stretches: Sequence[KeyRange], size: int, condition: Condition | None) -> list[Partition]:
            return reads.partition_page(self.database, self.table, self.ids, stretches, size, condition)

        return self._limited(page, attrgetter("key"), limit, after)

    def among(self, partitions: Sequence[Partition]) -> Iterator[Partition]:
        """Those of the table's partitions, all given in key order, that it finds. Reads nothing. O(keys in scans)."""
        key_of = attrgetter("key")
        for scan in self.scans:
            start, end = (bisect_left(partitions, edge, key=key_of) for edge in (scan.start, scan.end))
            for partition in partitions[start:end]:
                if not scan.filters or scan.holds(self.fields_of(partition.key)):
                    yield partition

    def files(self, partitions: Sequence[Partition]) -> Iterator[tuple[Partition, DataFile]]:
        """The files of the partitions, which it found, in (key, path) order: those of the newest OVERWRITE and the
        INTOs after it.

        An external table answers none: who reads it lists its directories. Who asks holds the snapshot (``leases``).
        """
        if self.table.external:
            return
        by_key = {partition.key: partition for partition in partitions}
        filled = sorted(partition.key for partition in partitions if partition.files)
        ranges: list[KeyRange] = []
        for scan in self.scans:
            if scan.filters:
                inside = filled[bisect_left(filled, scan.start) : bisect_left(filled, scan.end)]
                ranges += map(KeyRange.of_key, inside)
            else:
                ranges.append(scan.keys)
        with self.database.read() as connection:
            if self.snapshot is not None:
                reads.check_readable(connection, self.snapshot.sequence)
            for key, file in reads.files(connection, self.ids, ranges):
                yield by_key[key], file

    def found_keys(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[bytes]:
        """Their keys. Nothing else is read."""
        return chain.from_iterable(self._key_pages(limit, after))

    def _key_pages(self, limit: int | None, after: bytes | str | None) -> Iterator[Sequence[bytes]]:
        def page(stretches: Sequence[KeyRange], size: int, condition: Condition | None) -> list[bytes]:
            return reads.key_page(self.database, self.ids, stretches, size, condition)

        return self._limited(page, lambda key: key, limit, after)

    def names(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[str]:
        """Their names, made of the keys."""
        maker = NameMaker(self.table.partition_columns)
        return chain.from_iterable(map(maker.names_of, self._key_pages(limit, after)))

    def named_keys(self) -> Iterator[tuple[str, bytes]]:
        """Their names, each with its key, in key order."""
        maker = NameMaker(self.table.partition_columns)
        return chain.from_iterable(zip(maker.names_of(page), page, strict=True) for page in self._key_pages(None, None))

    def count(self) -> int:
        """How many there are. The database counts where it tests all of the filter, or a scan has none."""
        gathered = self._gathered()
        if gathered is not None:
            with self.database.read() as connection:
                return reads.partition_count(connection, self.ids, list(map(KeyRange.of_key, gathered)))
        if self.residual.exact:
            with self.database.read() as connection:
                return reads.partition_count(connection, self.ids, self.ranges, self.residual.condition)
        plain = [scan.keys for scan in self.scans if not scan.filters]
        with self.database.read() as connection:
            counted = reads.partition_count(connection, self.ids, plain) if plain else 0
        filtered = Lookup(self.database, self.table, self.ids, tuple(scan for scan in self.scans if scan.filters))
        return counted + sum(1 for _ in filtered.found_keys())

    def explained(self) -> tuple[str, ...]:
        """How they are found, line by line: the way, its stretches, what is then tested, and how many keys that takes.

        The estimate is that by which the way was chosen, ``≥`` where counting stopped. Finds them to say how many keys
        (entries of the index, those of older versions included) are visited and how many are found.
        """
        index, table = self.choice.index, self.table
        if index is None:
            way, head, columns = "by key", keys.prefix(table.id), table.partition_columns
            entries, stretches = schema.partitions.c.key, self.ranges
            filters = [scan.filters for scan in self.scans]
        else:
            columns = table.partition_columns[index.column : index.column + 1]
            way, head = f"by index on {quote_name(columns[0].name)}", keys.place(table.id, index.column)
            entries, stretches = schema.partition_fields.c.place, index.places
            filters = [index.filters] * len(stretches)
        visited = reads.entry_count(self.database, entries, stretches)
        exact, estimate = self.choice.exact, self.choice.entries
        if not self.indexes:
            exact, estimate = visited <= ESTIMATED, min(visited, ESTIMATED)
        shown = [stretch_text(columns, head, one) for one in stretches]
        common = len(set(filters)) == 1
        if not common:
            tests = [f" where {filter_text(table.partition_columns, one)}" if one else "" for one in filters]
            shown = [text + test for text, test in zip(shown, tests, strict=True)]
        if not shown:
            shown = ["nothing"]
        if len(shown) > SHOWN:
            shown = [*shown[:SHOWN], f"… and {len(shown) - SHOWN} more"]
        left = [f"filter: {filter_text(table.partition_columns, filters[0])}"] if common and filters[0] else []
        estimated = f"{'' if exact else '≥ '}{estimate:,}"
        counts = f"keys: {estimated} estimated, {visited:,} visited, {self.count():,} found"
        return (way, *shown, *left, counts)

    def holds(self, key: bytes) -> bool:
        """Whether a key of the table is one that counts. O(log n) in the scans, and what their filters take."""
        scan = self._scan_with(key)
        return scan is not None and scan.holds(self.fields_of(key))

    def _scan_with(self, key: bytes) -> Scan | None:
        at = bisect_right(self.scans, key, key=_start) - 1
        return self.scans[at] if at >= 0 and key < self.scans[at].end else None

    def fields_of(self, key: bytes) -> tuple[bytes, ...]:
        """The key's fields, which order as the values do."""
        return keys.split(self._widths, key)

    @cached_property
    def _widths(self) -> list[int | None]:
        return [keys.width_of(column.type) for column in self.table.partition_columns]

    def values_of(self, key: bytes) -> PartitionValues:
        """The partition's values."""
        columns = self.table.partition_columns
        return tuple(
            keys.decode_value(column.type, part) for column, part in zip(columns, self.fields_of(key), strict=True)
        )

    def _limited(
        self, page: _Page[_Row], key_of: Callable[[_Row], bytes], limit: int | None, after: bytes | str | None
    ) -> Iterator[Sequence[_Row]]:
        if limit is not None and limit < 0:
            raise InterfaceError(f"a limit is 0 or more, not {limit}")
        behind = self._key(after) if isinstance(after, str) else after
        least = b"" if behind is None else behind + b"\x00"
        return self._found(page, key_of, limit, least)

    def _found(
        self, page: _Page[_Row], key_of: Callable[[_Row], bytes], limit: int | None, least: bytes
    ) -> Iterator[Sequence[_Row]]:
        """All that is found from the key ``least`` on, ``limit`` at most, as long as somebody asks for more."""
        if limit == 0:
            return
        gathered = self._gathered()
        if gathered is not None:
            filtered, condition, stretches = False, None, list(map(KeyRange.of_key, gathered))
        else:
            filtered, condition, stretches = not self.residual.exact, self.residual.condition, list(self.ranges)
        wanted = [KeyRange(max(one.start, least), one.end) for one in stretches if one.end > least]
        size = PAGE if limit is None or filtered else min(PAGE, limit)
        left = limit
        for rows in self._pages(page, key_of, wanted, size, condition):
            some = [row for row in rows if self.holds(key_of(row))] if filtered else rows
            if left is not None and len(some) >= left:
                yield some[:left]
                return
            yield some
            left = None if left is None else left - len(some)

    def _pages(
        self,
        page: _Page[_Row],
        key_of: Callable[[_Row], bytes],
        left: list[KeyRange],
        size: int,
        condition: Condition | None,
    ) -> Iterator[Sequence[_Row]]:
        """What is visible in the stretches and satisfies the condition, in key order, from pages of at most ``size``.

        One statement reads as many stretches as fit a page: where they do not, half as many are tried. A stretch that
        is longer than a page is read alone, page by page.
        """
        left.reverse()
        width = len(left)
        while left:
            width = min(width, len(left), MOST)
            several = width > 1
            rows = page(left[: -width - 1 : -1], size + several, condition)
            if several and len(rows) > size:
                width //= 2
                continue
            yield rows
            last = left[-width]
            del left[-width:]
            if not several and len(rows) == size:
                left.append(KeyRange(key_of(rows[-1]) + b"\x00", last.end))
            elif 2 * len(rows) <= size:
                width *= 2

    def _gathered(self) -> list[bytes] | None:
        """The keys that count, in order, from an index; ``None`` where the scans are the way."""
        index = self.choice.index
        if index is None:
            return None
        # Where the entries leave nothing open, the scans differ from them by their ranges alone.
        tested = self._residual(schema.partition_fields.c.key) if index.filters else Residual(None, True)
        found = reads.indexed_keys(self.database, index.stretches, MOST_GATHERED + 1, tested.condition)
        if len(found) > MOST_GATHERED:
            return None  # More have come since they were counted: too many to be held.
        # The condition is one on keys that lie in the scans; which do is tested here.
        return sorted(filter(self._scan_with if tested.exact else self.holds, found))

    def _residual(self, key: sa.ColumnElement[bytes]) -> Residual:
        return residual_of(self.scans, self._widths, key)

    def _key(self, name: str) -> bytes:
        """The key of a partition's name; ``DataError`` where it is none of this table's."""
        columns, pairs = self.table.partition_columns, parse_partition_name(name)
        if [pair[0].lower() for pair in pairs] != [column.name.lower() for column in columns]:
            raise DataError(
                f"'{name}' is no partition name of '{self.table.name}'",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
                object=self.table.name,
                hint=f"its partitions are named {'/'.join(f'{column.name}=…' for column in columns)}",
            )
        values = [canonical(column, value) for column, (_, value) in zip(columns, pairs, strict=True)]
        return keys.encode(self.table.id, [column.type for column in columns], values)


def _start(scan: Scan) -> bytes:
    return scan.start
