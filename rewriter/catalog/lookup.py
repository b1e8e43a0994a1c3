"""Partitions found by scans of their keys: whole, by key, by name or counted, page by page.

Rows are versioned, so pages read one after another under one list of write ids are one state; no database transaction
stays open between them, and memory holds one page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa

from rewriter.catalog import keys, reads
from rewriter.catalog.database import Database
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Partition, PartitionValues, Table
from rewriter.catalog.name_maker import NameMaker
from rewriter.catalog.scan_plans import Scan
from rewriter.catalog.values import canonical, parse_partition_name, partition_name
from rewriter.catalog.writeids import ValidWriteIdList
from rewriter.errors import DataError, InterfaceError

#: How many rows one statement reads at most.
PAGE = 10_000

_Row = TypeVar("_Row", bytes, Partition)


@dataclass(frozen=True)
class Lookup:
    """The partitions of a table that the scans find, in key order. What is asked for is read each time anew.

    ``limit`` is the most that is answered; ``after``, the key or name of a partition, which need not exist (any more),
    answers those behind it only.
    """

    database: Database
    table: Table
    ids: ValidWriteIdList
    scans: tuple[Scan, ...]

    @property
    def ranges(self) -> tuple[KeyRange, ...]:
        """The stretches of keys that are searched."""
        return tuple(scan.keys for scan in self.scans)

    def partitions(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[Partition]:
        """The partitions, one by one."""

        def page(connection: sa.Connection, stretch: KeyRange, size: int) -> list[Partition]:
            return reads.partition_page(connection, self.table, self.ids, stretch, size)

        return self._stream(page, lambda partition: partition.key, limit, after)

    def found_keys(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[bytes]:
        """Their keys. Nothing else is read."""

        def page(connection: sa.Connection, stretch: KeyRange, size: int) -> list[bytes]:
            return reads.key_page(connection, self.ids, stretch, size)

        return self._stream(page, lambda key: key, limit, after)

    def names(self, limit: int | None = None, after: bytes | str | None = None) -> Iterator[str]:
        """Their names, made of the keys."""
        return map(NameMaker(self.table.partition_columns).name_of, self.found_keys(limit, after))

    def count(self) -> int:
        """How many there are. The database counts where a scan has no filter; else their keys are read."""
        with self.database.read() as connection:
            plain = sum(
                reads.partition_count(connection, self.ids, scan.keys) for scan in self.scans if not scan.filters
            )
        filtered = Lookup(self.database, self.table, self.ids, tuple(scan for scan in self.scans if scan.filters))
        return plain + sum(1 for _ in filtered.found_keys())

    def fields_of(self, key: bytes) -> tuple[bytes, ...]:
        """The key's fields, which order as the values do."""
        return keys.split([keys.width_of(column.type) for column in self.table.partition_columns], key)

    def values_of(self, key: bytes) -> PartitionValues:
        """The partition's values."""
        columns = self.table.partition_columns
        return tuple(
            keys.decode_value(column.type, part) for column, part in zip(columns, self.fields_of(key), strict=True)
        )

    def name_of(self, key: bytes) -> str:
        """The partition's name, ``c=US/d=1``."""
        return partition_name(self.table.partition_columns, self.values_of(key))

    def _stream(
        self,
        page: Callable[[sa.Connection, KeyRange, int], list[_Row]],
        key_of: Callable[[_Row], bytes],
        limit: int | None,
        after: bytes | str | None,
    ) -> Iterator[_Row]:
        if limit is not None and limit < 0:
            raise InterfaceError(f"a limit is 0 or more, not {limit}")
        behind = self._key(after) if isinstance(after, str) else after
        return self._rows(page, key_of, limit, b"" if behind is None else behind + b"\x00")

    def _rows(
        self,
        page: Callable[[sa.Connection, KeyRange, int], list[_Row]],
        key_of: Callable[[_Row], bytes],
        limit: int | None,
        least: bytes,
    ) -> Iterator[_Row]:
        left = limit
        for scan in self.scans:
            start = max(scan.start, least)
            while start < scan.end and left != 0:
                size = PAGE if left is None or scan.filters else min(PAGE, left)
                with self.database.read() as connection:
                    rows = page(connection, KeyRange(start, scan.end), size)
                for row in rows:
                    if scan.filters and not scan.holds(self.fields_of(key_of(row))):
                        continue
                    yield row
                    if left is not None:
                        left -= 1
                        if not left:
                            return
                if len(rows) < size:
                    break
                start = key_of(rows[-1]) + b"\x00"

    def _key(self, name: str) -> bytes:
        """The key of a partition's name; ``DataError`` where it is none of this table's."""
        columns, pairs = self.table.partition_columns, parse_partition_name(name)
        if [pair[0].lower() for pair in pairs] != [column.name.lower() for column in columns]:
            raise DataError(
                f"'{name}' is no partition name of '{self.table.name}'",
                condition="INVALID_PARTITION_SPEC",
                object=self.table.name,
                hint=f"its partitions are named {'/'.join(f'{column.name}=…' for column in columns)}",
            )
        values = [canonical(column, value) for column, (_, value) in zip(columns, pairs, strict=True)]
        return keys.encode(self.table.id, [column.type for column in columns], values)
