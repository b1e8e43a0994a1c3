"""The catalog's cache: a cached read compared with the same read from the store, and the speed at which a follower
reads the log.

Each reader takes a snapshot, which reads the list of transactions once with or without a cache, and is not measured.
Then it looks up a table, one of its partitions, and, if it must be read, the table's list of write ids.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.lookups import postgresql_urls
from benchmarks.timing import Figure, Table, ratio, shown
from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.metastore_writes import CachedCatalog
from rewriter.catalog.model.changes import AddPartitions, AlterTable, CreateObject, DropPartitions, PartitionWrite
from rewriter.catalog.model.objects import Column
from rewriter.catalog.model.objects import Table as CatalogTable

MEMORY = 1 << 28
PARTITIONS = 10_000
#: The number of commits with two events each in the log that a follower reads.
COMMITS = 1000
#: The tables and partitions that a prewarm reads.
BIG, BIG_PARTITIONS = 2, 50_000
_VALUES = ("2013-01-01-00005",)


def on_sqlite() -> Table:
    """Returns the figures of a catalog in a SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        return _measured("SQLite", Path(folder), None)


def on_postgresql() -> Table:
    """Returns the figures of a catalog on PostgreSQL, over a socket."""
    with tempfile.TemporaryDirectory() as folder, postgresql_urls() as make:
        return _measured("PostgreSQL", Path(folder), make())


def _measured(title: str, folder: Path, url: str | None) -> Table:
    store = Catalog.open(folder, url)
    table = _table(store, "t")
    values = [(f"2013-01-01-{number:05}",) for number in range(PARTITIONS)]
    with store.begin() as transaction:
        transaction.commit(
            [AddPartitions(table, tuple(PartitionWrite(partition_values, ()) for partition_values in values))]
        )
    cached = Catalog.open(folder, url)
    cached.use_cache(MEMORY, follow=False)
    slow, fast, listed = _reads(store, 100), _reads(cached, 2000), _listed_reads(cached, 2000)
    figures = [
        Figure("table and partition, from the store", slow[0], f"with the table's list of write ids; {_cpu(slow)}"),
        Figure("table and partition, from memory", fast[0], f"{ratio(slow[0], fast[0])} less; {_cpu(fast)}"),
        Figure(
            "— by callers that bring a list as text", listed[0], f"{ratio(slow[0], listed[0])} less; {_cpu(listed)}"
        ),
    ]
    figures.append(_follower(folder, url, cached, table))
    figures += _beside_a_prewarm(folder, url)
    for catalog in (store, cached):
        catalog.close()
    return Table(f"The catalog's cache, on {title}", tuple(figures))


def _table(catalog: Catalog, name: str) -> CatalogTable:
    with catalog.begin() as transaction:
        columns = (Column("x", "int"),), (Column("dt", "string"),)
        table = CatalogTable(transaction.allocate_id(), name, *columns, "parquet", f"/w/{name}")
        transaction.commit([CreateObject(table)])
    return table


def _reads(catalog: Catalog, number: int) -> tuple[float, float]:
    """Returns the median of reads, each with a snapshot of its own: wall time, and CPU time."""
    return _medians([_both(partial(_read, catalog.snapshot())) for _ in range(number)])


def _medians(taken: list[tuple[float, float]]) -> tuple[float, float]:
    clock, worked = (statistics.median(some) for some in zip(*taken, strict=True))
    return clock, worked


def _both(run: Callable[[], object]) -> tuple[float, float]:
    start, worked = time.perf_counter(), time.thread_time()
    run()
    return time.perf_counter() - start, time.thread_time() - worked


def _cpu(taken: tuple[float, float]) -> str:
    return f"CPU {shown(taken[1])}"


def _read(snapshot: Snapshot) -> None:
    if snapshot.partition(snapshot.table("t"), _VALUES) is None:
        raise AssertionError("the partition is not found")


def _listed_reads(catalog: Catalog, number: int) -> tuple[float, float]:
    reads = CachedCatalog(catalog)
    ids = reads.valid_write_id_list("t")
    run = partial(_read_listed, reads, ids)
    return _medians([_both(run) for _ in range(number)])


def _read_listed(reads: CachedCatalog, ids: str) -> None:
    reads.get_table("t", ids)
    reads.get_partition("t", _VALUES, ids)


def _follower(folder: Path, url: str | None, catalog: Catalog, table: CatalogTable) -> Figure:
    """Measures a follower that has missed some thousand events."""
    writer = Catalog.open(folder, url)
    for number in range(COMMITS):
        with writer.begin() as transaction:
            transaction.commit([AlterTable(table, {"n": str(number)})])
    writer.close()
    if catalog.follower is None:
        raise AssertionError("there is no follower")
    before = catalog.cache_metrics()["events"]
    spent = _both(catalog.follower.catch_up)
    events = catalog.cache_metrics()["events"] - before
    rate = f"{events / spent[0]:,.0f} events/s; {_cpu(spent)}"
    return Figure(f"catch-up of a follower, {events:,} events", spent[0], rate)


def _beside_a_prewarm(folder: Path, url: str | None) -> list[Figure]:
    """Measures cached reads while nothing else runs, and while another thread fills memory."""
    big = Catalog.open(folder, url)
    tables = [_table(big, f"big{number}") for number in range(BIG)]
    for table in tables:
        values = [PartitionWrite((f"{number:09}",), ()) for number in range(BIG_PARTITIONS)]
        with big.begin() as transaction:
            transaction.commit([AddPartitions(table, tuple(values))])
    big.use_cache(MEMORY, follow=False)
    _read(big.snapshot())
    alone = _spread(big, lambda: True, 2000)
    big.use_cache(MEMORY, follow=False, prewarm=True)
    _read(big.snapshot())
    prewarming = big.prewarming
    if prewarming is None:
        raise AssertionError("there is no prewarm")
    start = time.perf_counter()
    beside = _spread(big, lambda: not prewarming.wait(0), 1_000_000)
    spent = time.perf_counter() - start
    held = big.cache_metrics()["bytes"]
    renewed = _renewed(big, tables[0])
    big.close()
    return [
        Figure("snapshot and cached read, alone", alone[0], f"99 % within {shown(alone[1])}"),
        Figure("— during a prewarm", beside[0], f"99 % within {shown(beside[1])}"),
        Figure(
            f"prewarm of {BIG * BIG_PARTITIONS:,} partitions",
            spent,
            f"{held / 1e6:,.0f} MB; readers ran all the time",
        ),
        Figure(f"renewal of {BIG_PARTITIONS:,} partitions in memory after a DROP of one", renewed[0], _cpu(renewed)),
    ]


def _renewed(catalog: Catalog, table: CatalogTable) -> tuple[float, float]:
    """Measures how long a follower takes to update a set of partitions after a change of one."""
    taken = []
    for number in range(20):
        with catalog.begin() as transaction:
            transaction.commit([DropPartitions(table, (catalog.snapshot().partitions(table)[number].key,))])
        if catalog.follower is None:
            raise AssertionError("there is no follower")
        catalog.follower.catch_up()
        taken.append(_both(catalog.follower.refresh))
    return _medians(taken)


def _spread(catalog: Catalog, goes_on: Callable[[], bool], most: int) -> tuple[float, float]:
    """Returns the median and the 99th percentile of snapshots with a cached read, a millisecond apart."""
    taken: list[float] = []
    pause = threading.Event()
    while goes_on() and len(taken) < most:
        taken.append(_timed(lambda: _read(catalog.snapshot())))
        pause.wait(0.001)
    taken.sort()
    return taken[len(taken) // 2], taken[len(taken) * 99 // 100]


def _timed(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
