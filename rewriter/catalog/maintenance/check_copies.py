"""The invariants of the copies of one table on secondary clusters: their ranges, and their files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import sqlalchemy as sa

from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.maintenance.check_partitions import Problem, file_problem
from rewriter.catalog.model.key_ranges import KeyRange, merged, outside
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.stored_paths import loaded
from rewriter.catalog.model.stored_rows import part_in
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of


def check_copies(connection: sa.Connection, table: Table) -> Iterator[Problem]:
    """Yields all problems of the copies of a live table. O(its ranges and copied files)."""
    row = schema.partition_copies.c
    query = sa.select(row.cluster, row.start_key, row.end_key).where(row.table_id == table.id)
    by_cluster: dict[str, list[KeyRange]] = {}
    for cluster, start, end in connection.execute(query.where(row.ended == schema.NEVER)):
        by_cluster.setdefault(cluster, []).append(KeyRange(start, end))
    clusters = {copy.cluster.lower() for copy in table.copies}
    for cluster, ranges in by_cluster.items():
        if cluster not in clusters:
            yield table.name, f"it has copies on {cluster}, which is none of its clusters"
        if any(not first.start < first.end <= second.start for first, second in pairwise(sorted(ranges))):
            yield table.name, f"its ranges of copies on {cluster} overlap"
    yield from _files(connection, table, {cluster: merged(ranges) for cluster, ranges in by_cluster.items()})


def _files(connection: sa.Connection, table: Table, by_cluster: dict[str, tuple[KeyRange, ...]]) -> Iterator[Problem]:
    """Checks that each copy has the rows of its partition, that files belong to copies, and that they are on disk."""
    keys = KeyRange.of_prefix(prefix(table.id))
    file, partition = schema.copied_files.c, schema.partitions.c
    live = sa.select(file.cluster, file.key, file.path, file.rows, file.bytes, file.part).where(
        file.key >= keys.start, file.key < keys.end, file.ended == schema.NEVER
    )
    rows: dict[tuple[str, bytes], int | None] = {}
    warehouse = warehouse_of(connection)
    for cluster, key, path, count, size, part in connection.execute(live.order_by(file.key)):
        rows[cluster, key] = _sum(rows.get((cluster, key), 0), count)
        if outside([key], by_cluster.get(cluster, ())):
            yield table.name, f"the copied file {path} on {cluster} belongs to no copy"
        packed = part_in(part, path)
        problem = file_problem(loaded(path, warehouse), size if packed is None else packed.file_bytes)
        if problem is not None:
            yield table.name, f"the copied file {problem}"
    partitions = sa.select(partition.key, partition.rows, partition.files).where(
        partition.key >= keys.start, partition.key < keys.end, partition.ended == schema.NEVER
    )
    for key, count, files in connection.execute(partitions.order_by(partition.key)):
        for cluster, ranges in by_cluster.items():
            if outside([key], ranges):
                continue
            copied = rows.get((cluster, key), 0)
            differs = None not in (copied, count) and copied != count
            if not table.external and (differs or (files and (cluster, key) not in rows)):
                yield table.name, f"the copy of the partition with the key {key.hex()} on {cluster} has other rows"


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
