"""Commits of inserts of 1, 365 and 10,000 partitions, and of several processes at once, on SQLite and PostgreSQL.

Each partition is an hour with one file. The time is the time of ``Transaction.commit``. Begin and write id come before
it, as in an INSERT, and no engine runs. The first commit of a process, when SQLAlchemy builds its statements, is not
included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.lookups import Place, Taken, measured, numbered, open_catalog, postgresql_urls
from benchmarks.timing import Figure, Table
from rewriter.catalog import Catalog, Transaction
from rewriter.catalog.model import objects
from rewriter.catalog.model.changes import CreateObject, PartitionWrite, WritePartitions
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod

#: Partitions of one commit, and the number of commits whose median is taken.
SIZES = {1: 101, 365: 21, 10_000: 5}
WRITERS = (1, 2, 4)
SECONDS = 5.0

HOURS = TimeLayout.of(UpdatePeriod.HOURLY, [("dt", None)])
MONTHS = TimeLayout.of(UpdatePeriod.MONTHLY, [("dt", None)])


def on_sqlite() -> Iterator[Table]:
    """Returns the tables of figures."""
    with tempfile.TemporaryDirectory(prefix="rewriter-commits-") as folder:
        yield from _measure("SQLite", numbered(Path(folder), None))


def on_postgresql() -> Iterator[Table]:
    """Returns the same on a PostgreSQL server of its own, over a socket."""
    with tempfile.TemporaryDirectory(prefix="rewriter-commits-") as folder, postgresql_urls() as make:
        yield from _measure("PostgreSQL", numbered(Path(folder), make))


def _measure(database: str, new_place: Callable[[], Place]) -> Iterator[Table]:
    figures: list[Figure] = []
    for size, repeat in SIZES.items():
        for label, in_fact in (("a table", False), ("the base of a fact", True)):
            figures += inserts(new_place(), f"{size:,} of {label}", size, repeat, in_fact=in_fact)
    yield Table(f"Commits of inserts on {database}", tuple(figures))
    yield Table(f"Writers of different partitions on {database}", tuple(_throughput(new_place)))


def inserts(warehouse: Place, label: str, size: int, repeat: int, *, in_fact: bool) -> list[Figure]:
    """Measures commits of new partitions, and of the same ones overwritten."""
    catalog = open_catalog(warehouse)
    table = make(catalog, in_fact=in_fact)
    insert(catalog, table, range(size), overwrite=False)
    new = [insert(catalog, table, range(n * size, (n + 1) * size), overwrite=False) for n in range(1, repeat + 1)]
    again = [insert(catalog, table, range(size), overwrite=True) for _ in range(repeat)]
    assert len(catalog.snapshot().partitions(table)) == (repeat + 1) * size
    catalog.close()
    return [_median(new).figure(f"new, {label}"), _median(again).figure(f"overwritten, {label}")]


def make(catalog: Catalog, *, in_fact: bool) -> objects.Table:
    """Creates the table of hours. With ``in_fact`` it is the base of a fact whose months are another table."""
    with catalog.begin() as tx:
        table, rollup = (_table(tx, name) for name in ("hours", "months"))
        cube = objects.Cube(tx.allocate_id(), "c", (), (), ("t",), ("t",))
        stored = (
            objects.StorageTable("hours", "t", {UpdatePeriod.HOURLY: HOURS}),
            objects.StorageTable("months", "t", {UpdatePeriod.MONTHLY: MONTHS}),
        )
        fact = objects.Fact(tx.allocate_id(), "f", "c", (objects.Storage("s", stored),))
        tx.commit([CreateObject(table), *(map(CreateObject, (rollup, cube, fact)) if in_fact else ())])
    return table


def _table(tx: Transaction, name: str) -> objects.Table:
    columns = (objects.Column("x", "int"),), (objects.Column("dt", "string"),)
    return objects.Table(tx.allocate_id(), name, *columns, "parquet", f"/w/{name}")


def insert(catalog: Catalog, table: objects.Table, hours: Sequence[int], *, overwrite: bool) -> Taken:
    """Writes these hours, numbered from 1970-01-01, and returns the time of the commit alone."""
    with catalog.begin() as tx:
        write_id = tx.write_id(table)
        values = [HOURS.values(hour) for hour in hours]
        files = [objects.DataFile(f"/w/hours/{write_id}/dt={v[0]}/part-0.parquet", 1_000, 50_000) for v in values]
        parts = tuple(PartitionWrite(v, (file,)) for v, file in zip(values, files, strict=True))
        change = WritePartitions(table, write_id, parts, overwrite)
        return measured(lambda: tx.commit([change]))


def _median(taken: Sequence[Taken]) -> Taken:
    return sorted(taken, key=lambda run: run.seconds)[len(taken) // 2]


def _throughput(new_place: Callable[[], Place]) -> Iterator[Figure]:
    for writers in WRITERS:
        warehouse = new_place()
        catalog = open_catalog(warehouse)
        make(catalog, in_fact=False)
        before = catalog.snapshot().sequence
        given = [json.dumps([str(warehouse[0]), warehouse[1], writer, SECONDS]) for writer in range(writers)]
        children = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.commits", argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for argument in given
        ]
        for go in (False, True):
            for child in children:
                assert child.stdin is not None
                assert child.stdout is not None
                _ = child.stdin.close() if go else child.stdout.readline()
        counts = [int(child.stdout.read()) for child in children if child.stdout is not None and child.wait() == 0]
        assert sum(counts) + writers == catalog.snapshot().sequence - before
        catalog.close()
        note = f"{sum(counts) / SECONDS:,.0f} inserts/s, {min(counts):,} to {max(counts):,} of each writer"
        yield Figure(f"insert of one partition, {writers} writers", SECONDS / sum(counts), note)


def _child(warehouse: Place, writer: int, seconds: float) -> None:
    """Inserts partitions of its own, one by one, after a start command, and prints the number within the time."""
    catalog = open_catalog(warehouse)
    table = catalog.snapshot().table("hours")
    insert(catalog, table, [writer * 1_000_000], overwrite=False)
    print("ready", flush=True)
    sys.stdin.readline()
    end, count = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        count += 1
        insert(catalog, table, [writer * 1_000_000 + count], overwrite=False)
    print(count)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    _child((Path(given[0]), given[1]), *given[2:])
