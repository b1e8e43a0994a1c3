"""A writer that stops at any point of an INSERT or a DROP and is killed there: the state is that before or after, and
readers continue.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rotation import turn
from statements import dying_at, watch

from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.commit.transaction import Transaction
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.objects import Column, Cube, DataFile, Fact, Storage, StorageTable, Table
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import PartitionTimeline

PERIODS = {"days": UpdatePeriod.DAILY, "months": UpdatePeriod.MONTHLY}
DAYS = [f"2013-01-{day:02d}" for day in range(1, 11)]

#: The maximum time of a reader on a slow machine in seconds: far less than writers wait for each other.
SOON = 10.0


def insert(tx: Transaction, name: str, values: list[str]) -> Change:
    """Returns a write of these partitions."""
    table = tx.snapshot.table(name)
    write_id = tx.write_id(table)
    parts = tuple(PartitionWrite((v,), (DataFile(f"/w/{name}/{write_id}/{v}", 1, 1),)) for v in values)
    return WritePartitions(table, write_id, parts, overwrite=False)


def drop(tx: Transaction) -> Change:
    """Returns the drop of the last three days."""
    table = tx.snapshot.table("days")
    return DropPartitions(table, tuple(encode(table.id, ["string"], [day]) for day in DAYS[2:5]))


ACTIONS: dict[str, Callable[[Transaction], Change]] = {
    "INTO": lambda tx: insert(tx, "days", [*DAYS[5:], "2013-02-01"]),
    "DROP": drop,
}


def warehouse(directory: Path, url: str | None) -> Catalog:
    """Creates days with a fresh month over them. Most of its days have no rows."""
    catalog = Catalog.open(directory, url)
    with catalog.begin() as tx:
        columns = (Column("dt", "string"),)
        tables = [Table(tx.allocate_id(), name, (), columns, "parquet", f"/w/{name}") for name in PERIODS]
        stored = (StorageTable(n, "t", {p: TimeLayout.of(p, [("dt", None)])}) for n, p in PERIODS.items())
        cube = Cube(tx.allocate_id(), "c", (), (), ("t",), ("t",))
        fact = Fact(tx.allocate_id(), "f", "c", (Storage("s", tuple(stored)),))
        tx.commit([*map(CreateObject, tables), CreateObject(cube), CreateObject(fact)])
    with catalog.begin() as tx:
        empty = tuple(PartitionWrite((f"2013-01-{day}",)) for day in range(11, 32))
        days = tx.snapshot.table("days")
        tx.commit([insert(tx, "days", DAYS), AddPartitions(days, empty)])
    with catalog.begin() as tx:
        tx.commit([insert(tx, "months", ["2013-01"])], {days.id})
    assert catalog.snapshot().timeline("months", UpdatePeriod.MONTHLY, "t").count == 1
    return catalog


def _lines(snapshot: Snapshot) -> tuple[Callable[[str, UpdatePeriod, str], PartitionTimeline], ...]:
    return (snapshot.timeline, snapshot.outdated, snapshot.retired, snapshot.unproven, snapshot.incomplete)


def state(snapshot: Snapshot) -> tuple[object, ...]:
    """Returns all that a reader sees."""
    seen: list[object] = [snapshot.sequence]
    for table in snapshot.tables():
        seen += [snapshot.partitions(table), snapshot.files(table)]
        for line in _lines(snapshot):
            seen.append(line(table.name, PERIODS[table.name], "t").ranges())
    return tuple(seen)


def stopped_at(directory: Path, url: str | None, action: str, moment: int) -> int | None:
    """Starts a process that executes the change and stops at the n-th moment; ``None`` if it ends before.

    A moment is before each statement of the database, including BEGIN and COMMIT.
    """
    child = os.fork()
    if child == 0:
        gc.disable()
        code = 1
        try:
            _run(directory, url, action, moment)
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        return child
    assert status == 0, f"{action} has failed at moment {moment}"
    return None


def _run(directory: Path, url: str | None, action: str, moment: int) -> None:
    count = dying_at(moment, signal.SIGSTOP)
    catalog = Catalog.open(directory, url)
    watch(count)
    with catalog.begin() as tx:
        tx.commit([ACTIONS[action](tx)])


@pytest.mark.parametrize("action", ACTIONS)
def test_stopped_and_killed_at_every_call(tmp_path: Path, catalog_url: str | None, action: str) -> None:
    catalog = warehouse(tmp_path, catalog_url)
    old, before = catalog.snapshot(), state(catalog.snapshot())
    # A process costs more than a statement: every second moment is tried, on PostgreSQL every fifth, each time others.
    stride = 2 if catalog_url is None else 5
    moment = 1 + (turn() + len(action)) % stride
    tried = 0
    while (child := stopped_at(tmp_path, catalog_url, action, moment)) is not None:
        start = time.monotonic()
        assert state(catalog.snapshot()) == before, f"{action} is half done at moment {moment}"
        assert time.monotonic() - start < SOON, f"{action} has stopped at moment {moment}, and readers with it"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert state(catalog.snapshot()) == before, f"{action} is half done, killed at moment {moment}"
        moment, tried = moment + stride, tried + 1
    assert tried > 25 // stride - 1
    after = state(catalog.snapshot())
    assert after != before
    assert catalog.snapshot().sequence == old.sequence + 1
    _check_after(catalog.snapshot(), action)
    assert state(old) == before  # An earlier snapshot is unchanged, whichever process dies.
    with catalog.begin() as tx:
        tx.commit([insert(tx, "days", ["2013-03-01"])])
    events = catalog.events(limit=10_000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))


def _check_after(snapshot: Snapshot, action: str) -> None:
    days = snapshot.table("days")
    fresh = snapshot.timeline("months", UpdatePeriod.MONTHLY, "t").count
    assert (len(snapshot.partitions(days)), len(snapshot.files(days)), fresh) == {
        "INTO": (32, 16, 0),
        "DROP": (28, 7, 1),  # Retention makes nothing outdated.
    }[action]
