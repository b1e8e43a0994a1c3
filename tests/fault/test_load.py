"""A hundred readers and eight writers at once on PostgreSQL: the only errors are conflicts, which are retried and
counted.

Four processes have 25 readers and two writers each, all of them threads. A reader always sees whole commits, and never
an older state than before.
"""

from __future__ import annotations

import gc
import json
import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from private_postgres import Server, private_server

from rewriter.catalog import Catalog, Snapshot, Transaction
from rewriter.catalog.model.changes import CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, DataFile, Table
from rewriter.errors import ConflictError

PROCESSES, READERS, WRITERS = 4, 25, 2
EVERYBODY = range(PROCESSES * WRITERS)

#: The partitions that each writer overwrites in one commit, the partition that all count up in turn, and the one that
#: all add a file to.
OWN, COUNTER, SHARED = range(5), "counter", "shared"


@dataclass
class Process:
    """The threads of one process until ``end``, and their counts."""

    warehouse: Path
    url: str
    number: int
    end: float
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Runs all threads to their end."""
        catalog = Catalog.open(self.warehouse, self.url)
        writers = [self.number * WRITERS + n for n in range(WRITERS)]
        works: list[Callable[[], None]] = [lambda: self._read(catalog)] * READERS
        works += [lambda writer=writer: self._write(catalog, writer) for writer in writers]  # type: ignore[misc]
        threads = [threading.Thread(target=self._guarded, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        catalog.close()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException:
            self.failures.append(traceback.format_exc())

    def _read(self, catalog: Catalog) -> None:
        newest = 0
        while time.monotonic() < self.end:
            snapshot = catalog.snapshot()
            assert snapshot.sequence >= newest
            newest = snapshot.sequence
            check_whole(snapshot)
            self.counts["reads"] += 1

    def _write(self, catalog: Catalog, writer: int) -> None:
        number = 0
        while time.monotonic() < self.end:
            number += 1
            self._until_done(lambda: _own(catalog, writer, number))  # noqa: B023 - it is called at once
            self._until_done(lambda: _count(catalog))
            self.counts["commits"] += 2
            self.counts["counted"] += 1

    def _until_done(self, run: Callable[[], None]) -> None:
        while True:
            try:
                return run()
            except ConflictError as error:
                if error.sqlstate != "40001":
                    raise
                self.counts["retries"] += 1


def _files(tx: Transaction, value: str, rows: int) -> tuple[DataFile, ...]:
    return (DataFile(f"/w/{tx.id}/{value}", rows, 1),)


def _own(catalog: Catalog, writer: int, number: int) -> None:
    """Overwrites the writer's partitions, each with as many rows as it has written times, and adds to the shared."""
    with catalog.begin() as tx:
        table, shared = tx.snapshot.table("own"), tx.snapshot.table("shared")
        values = [f"{writer}-{n}" for n in OWN]
        parts = tuple(PartitionWrite((value,), _files(tx, value, number)) for value in values)
        added = (PartitionWrite((SHARED,), _files(tx, SHARED, 1)),)
        tx.commit(
            [
                WritePartitions(table, tx.write_id(table), parts, overwrite=True),
                WritePartitions(shared, tx.write_id(shared), added, overwrite=False),
            ]
        )


def _count(catalog: Catalog) -> None:
    """Writes one row more than it saw."""
    with catalog.begin() as tx:
        table = tx.snapshot.table("own")
        seen = tx.snapshot.partition(table, (COUNTER,))
        rows = 1 if seen is None else (seen.rows or 0) + 1
        change = (PartitionWrite((COUNTER,), _files(tx, COUNTER, rows)),)
        tx.commit([WritePartitions(table, tx.write_id(table), change, overwrite=True)])


def check_whole(snapshot: Snapshot) -> int:
    """Checks that each commit exists completely or not at all. Returns the number of commits of writers' own
    partitions.
    """
    own, shared = snapshot.table("own"), snapshot.table("shared")
    rows = {str(partition.values[0]): partition.rows or 0 for partition in snapshot.partitions(own)}
    written = [{rows.get(f"{writer}-{n}", 0) for n in OWN} for writer in EVERYBODY]
    assert all(len(numbers) == 1 for numbers in written), rows
    total = sum(numbers.pop() for numbers in written)
    added = snapshot.partition(shared, (SHARED,))
    assert total == (0 if added is None else added.files)
    return total


def _started(process: Process) -> int:
    child = os.fork()
    if child == 0:
        gc.disable()
        try:
            process.run()
            told = {"counts": process.counts, "failures": process.failures}
            (process.warehouse / f"{process.number}.json").write_text(json.dumps(told), encoding="utf-8")
        finally:
            os._exit(0)
    return child


def _load(warehouse: Path, url: str, seconds: float) -> None:
    catalog = Catalog.open(warehouse, url)
    with catalog.begin() as tx:
        columns = (Column("x", "int"),), (Column("dt", "string"),)
        tables = [Table(tx.allocate_id(), name, *columns, "parquet", f"/w/{name}") for name in ("own", "shared")]
        tx.commit(list(map(CreateObject, tables)))
    end = time.monotonic() + seconds
    children = [_started(Process(warehouse, url, number, end)) for number in range(PROCESSES)]
    for child in children:
        os.waitpid(child, 0)
    told = [json.loads((warehouse / f"{number}.json").read_text(encoding="utf-8")) for number in range(PROCESSES)]
    assert [report["failures"] for report in told] == [[]] * PROCESSES
    counts: Counter[str] = Counter()
    for report in told:
        counts += Counter(report["counts"])
    print(f"{seconds:.0f} s: {dict(counts)}")
    snapshot = catalog.snapshot()
    counter = snapshot.partition(snapshot.table("own"), (COUNTER,))
    assert counter is not None
    assert counter.rows == counts["counted"], "an update was lost"
    assert check_whole(snapshot) == counts["commits"] - counts["counted"]
    assert snapshot.sequence == 1 + counts["commits"]
    assert counts["reads"] > 100
    assert not snapshot.transactions.open
    commits = [event.commit_sequence for event in catalog.events(limit=1_000_000) if event.kind == "COMMIT"]
    assert commits == list(range(1, snapshot.sequence + 1))
    catalog.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Starts a server with enough connections."""
    with private_server(max_connections=200) as server:
        server.sql("ALTER SYSTEM SET fsync = off")
        server.sql("SELECT pg_reload_conf()")
        yield server


def test_a_hundred_readers_and_eight_writers(tmp_path: Path, server: Server) -> None:
    _load(tmp_path, server.schema("seconds"), 5.0)


@pytest.mark.long
def test_a_minute_of_load(tmp_path: Path, server: Server) -> None:
    _load(tmp_path, server.schema("minute"), 60.0)
