"""``system.partitions``: the partitions that the catalog lists, with their files and rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from rewriter.catalog.keys.partition_names import NameMaker
from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.model.proofs import OPEN
from rewriter.errors import Error
from rewriter.runtime.result import Row
from rewriter.statements.system_tables.system_read import SystemRead, schema_and_name


def partitions(read: SystemRead) -> Iterator[Row]:
    """Yields the partitions of the tables that the query names, or of all, in key order. Holds a page of them.

    If the query names the partitions, too, each is looked up by its key. Tables whose partitions are discovered have
    none in the catalog.
    """
    names = read.values_of(2)
    for table in read.tables():
        if not table.partition_columns or is_discovered(table):
            continue
        for page in _all_pages(table, read) if names is None else _named_pages(table, names, read):
            yield from _rows(table, page)


#: Partitions in key order, each with whether a stream fills it.
_Page = Sequence[tuple[Partition, bool]]


def _all_pages(table: Table, read: SystemRead) -> Iterator[_Page]:
    snapshot = read.context.snapshot
    open_keys: frozenset[bytes] | None = None
    for page in snapshot.lookup(table, None).partition_pages():
        if open_keys is None:
            open_keys = snapshot.open_keys(table)
        yield [(partition, partition.key in open_keys) for partition in page]


def _named_pages(table: Table, names: Sequence[str], read: SystemRead) -> Iterator[_Page]:
    snapshot = read.context.snapshot
    lookup = snapshot.lookup(table, None)
    keys = []
    for name in names:
        try:
            keys.append(lookup.key_named(name))
        except Error:
            continue  # No partition of this table has such a name.
    for key in sorted(set(keys)):
        ranges = (KeyRange.of_key(key),)
        yield [(partition, OPEN in snapshot.doubts(table, ranges)) for partition in snapshot.partitions(table, ranges)]


def _rows(table: Table, page: _Page) -> Iterator[Row]:
    """Yields the rows of a page. The catalog does not list the files of external tables."""
    columns = [column.name for column in table.partition_columns]
    names = NameMaker(table.partition_columns).names_of([partition.key for partition, _ in page])
    for name, (partition, is_open) in zip(names, page, strict=True):
        yield (
            *schema_and_name(table),
            name,
            _json(dict(zip(columns, partition.values, strict=True))),
            "open" if is_open else "committed",
            partition.rows,
            None if table.external else partition.files,
            None if table.external else partition.bytes,
            partition.location,
            _json(partition.properties) if partition.properties else None,
        )


def _json(values: Mapping[str, str | None]) -> str:
    return json.dumps(dict(values), ensure_ascii=False, separators=(",", ":"))
