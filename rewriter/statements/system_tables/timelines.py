"""``system.timelines``: the ranges of time for which the tables of facts have partitions, by their state."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.catalog.model.objects import Fact, StorageTable, Table
from rewriter.catalog.model.qualified_names import parts_of
from rewriter.runtime.result import Row
from rewriter.statements.system_tables.system_read import SystemRead, schema_and_name
from rewriter.timeline.calendars import Period


def timelines(read: SystemRead) -> Iterator[Row]:
    """Yields a row for each maximal range of periods in one state, of each storage table, period and time dimension.

    ``retired`` are base periods that were dropped. Reads the timelines of the tables that the query names; no
    partition.
    """
    facts = read.context.snapshot.facts()
    tables = {table.name.lower(): table for table in read.tables()} if facts else {}
    for fact in facts:
        for storage in fact.storages:
            for storage_table in storage.tables:
                table = tables.get(storage_table.table.lower())
                if table is not None:
                    for period in sorted(storage_table.layouts, reverse=True):
                        for time in storage_table.times:
                            yield from _ranges(fact, storage.name, storage_table, table, period, time, read)


def _ranges(
    fact: Fact, storage: str, storage_table: StorageTable, table: Table, period: Period, time: str, read: SystemRead
) -> Iterator[Row]:
    snapshot = read.context.snapshot
    lines = {
        "fresh": snapshot.timeline,
        **snapshot.unused_timelines,
        "open": snapshot.open,
        "retired": snapshot.retired,
    }
    for state, line in lines.items():
        for ordinals in line(storage_table.table, period, time).ranges():
            yield (
                *schema_and_name(table),
                *parts_of(fact.name),
                *parts_of(fact.cube),
                storage,
                period.name,
                time,
                state,
                period.start(ordinals.start),
                period.start(ordinals.end),
                ordinals.end - ordinals.start,
            )
