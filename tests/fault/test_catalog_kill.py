"""SIGKILL at every point of a commit, and several processes writing at once: the state is that before or after a
commit.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from postgres import seeds
from rotation import turn
from statements import dying_at, watch

from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.changes import AddPartitions, CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Cube, DataFile, Fact, Storage, StorageTable, Table
from rewriter.errors import ConflictError, OperationalError
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import PartitionTimeline

P = UpdatePeriod
HOURS = [f"2013-01-01-{hour:02d}" for hour in range(24)]

#: A writer that commits batches of 40 hours until it is killed. It prints a line when it begins.
WRITER = """
import sys
from rewriter.catalog import Catalog
from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import DataFile
from rewriter.errors import ConflictError
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod

warehouse, url, first, batches = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), int(sys.argv[4])
layout = TimeLayout.of(UpdatePeriod.HOURLY, [("dt", None)])
catalog = Catalog.open(warehouse, url)
table = catalog.snapshot().table("hours")
print("begun", flush=True)
for batch in range(first, first + batches):
    values = [layout.values(batch * 40 + n) for n in range(40)]
    with catalog.begin() as tx:
        write_id = tx.write_id(table)
        parts = tuple(PartitionWrite(v, (DataFile(f"/w/{write_id}/{v[0]}", 1, 1),)) for v in values)
        shared = PartitionWrite(("2013-06-01-00",), (DataFile(f"/w/{write_id}/shared", 1, 1),))
        tx.commit([WritePartitions(table, write_id, (*parts, shared), overwrite=False)])
"""


def _warehouse(directory: Path, url: str | None) -> Catalog:
    """Creates hours with days over them. The first day exists in both and is fresh. Its last hours have no rows."""
    catalog = Catalog.open(directory, url)
    periods = {"hours": P.HOURLY, "days": P.DAILY}
    with catalog.begin() as tx:
        tables = [
            Table(tx.allocate_id(), name, (), (Column("dt", "string"),), "parquet", f"/w/{name}") for name in periods
        ]
        storage = Storage(
            "s", tuple(StorageTable(n, "t", {p: TimeLayout.of(p, [("dt", None)])}) for n, p in periods.items())
        )
        cube = Cube(tx.allocate_id(), "c", (), (), ("t",), ("t",))
        fact = Fact(tx.allocate_id(), "f", "c", (storage,))
        tx.commit([*map(CreateObject, tables), CreateObject(cube), CreateObject(fact)])
    _write(catalog, "hours", HOURS[:20])
    _write(catalog, "days", ["2013-01-01"], reads="hours")
    hours = catalog.snapshot().table("hours")
    with catalog.begin() as tx:
        tx.commit([AddPartitions(hours, tuple(PartitionWrite((hour,)) for hour in HOURS[20:]))])
    assert catalog.snapshot().timeline("days", P.DAILY, "t").count == 1
    return catalog


def _write(catalog: Catalog, name: str, values: list[str], *, wipe: bool = False, reads: str | None = None) -> int:
    """Writes partitions, computed from all rows of the table that the transaction ``reads``."""
    table = catalog.snapshot().table(name)
    sources = set() if reads is None else {catalog.snapshot().table(reads).id}
    with catalog.begin() as tx:
        write_id = tx.write_id(table)
        parts = tuple(PartitionWrite((v,), (DataFile(f"/w/{name}/{write_id}/{v}", 1, 1),)) for v in values)
        everything = KeyRange.of_prefix(prefix(table.id))
        wipes = (everything,) if wipe else ()
        return tx.commit([WritePartitions(table, write_id, parts, overwrite=wipe, wipes=wipes)], sources)


def _lines(snapshot: Snapshot) -> tuple[Callable[[str, P, str], PartitionTimeline], ...]:
    return (snapshot.timeline, snapshot.outdated, snapshot.unproven, snapshot.incomplete)


def _state(snapshot: Snapshot) -> tuple[object, ...]:
    """Returns all that a reader can see."""
    seen: list[object] = [snapshot.sequence, snapshot.tables(), snapshot.facts()]
    for table in snapshot.tables():
        seen += [snapshot.partitions(table), snapshot.files(table)]
        for period in (P.HOURLY, P.DAILY):
            seen += [line(table.name, period, "t").ranges() for line in _lines(snapshot)]
    return tuple(seen)


def _check_log(catalog: Catalog) -> None:
    events = catalog.events(limit=100_000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    commits = [event.commit_sequence for event in events if event.kind == "COMMIT"]
    assert commits == list(range(1, catalog.snapshot().sequence + 1))


def _forked(action: Callable[[], None]) -> int:
    """Runs the action in a child process and returns its wait status."""
    child = os.fork()
    if child == 0:
        # The child lacks the threads of engines that other tests started. The objects of these engines must not be
        # collected.
        gc.disable()
        try:
            action()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def _killed_at(directory: Path, url: str | None, moment: int) -> bool:
    """Runs an OVERWRITE in a child that kills itself at the n-th moment. Returns True if it reached that moment.

    Moments are those of ``statements``.
    """

    def run() -> None:
        count = dying_at(moment)
        catalog = Catalog.open(directory, url)
        watch(count)
        _write(catalog, "hours", HOURS[10:], wipe=True)

    status = _forked(run)
    assert not os.WIFSIGNALED(status) or os.WTERMSIG(status) == signal.SIGKILL
    return os.WIFSIGNALED(status)


def test_killed_at_every_statement_of_a_write(tmp_path: Path, catalog_url: str | None) -> None:
    catalog = _warehouse(tmp_path, catalog_url)
    before = _state(catalog.snapshot())
    catalog.close()
    # Every third moment is tried, from one that the commit selects on.
    moment, stride = 1 + turn() % 3, 3
    while _killed_at(tmp_path, catalog_url, moment):
        assert _state(Catalog.open(tmp_path, catalog_url).snapshot()) == before
        moment += stride
    # All statements of begin, write id and commit were tried. The last child survived and committed.
    assert moment > 30
    catalog = Catalog.open(tmp_path, catalog_url)
    assert _is_written(catalog.snapshot())
    assert len(catalog.snapshot().transactions.open) >= moment // stride // 2
    _check_log(catalog)
    # The transactions of dead processes are still open, and block no other transaction.
    _write(catalog, "hours", ["2013-01-02-00"])
    assert catalog.abort_dead(0.0) >= moment // stride // 2
    assert not catalog.snapshot().transactions.open


def _is_written(snapshot: Snapshot) -> bool:
    hours = snapshot.table("hours")
    return (
        [p.values[0] for p in snapshot.partitions(hours)] == HOURS[10:]
        and len(snapshot.files(hours)) == 14
        and snapshot.timeline("hours", P.HOURLY, "t").count == 14
        and snapshot.outdated("days", P.DAILY, "t").count == 1
        and snapshot.timeline("days", P.DAILY, "t").is_empty
    )


@pytest.mark.parametrize(("catalog_url", "seed"), seeds(3), indirect=["catalog_url"])
def test_killed_at_random_moments(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    rng = random.Random(seed)
    catalog = _warehouse(tmp_path, catalog_url)
    for attempt in range(2):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), catalog_url or "", str(1000 + 100 * attempt), "100"],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        time.sleep(rng.uniform(0.005, 0.15))
        child.kill()
        child.wait()
        child.stdout.close()
        _check_batches(catalog, f"seed {seed}")
    _write(catalog, "hours", ["2014-01-01-00"])
    _check_log(catalog)


def _check_batches(catalog: Catalog, note: str) -> int:
    """Checks that every batch exists with all of its partitions, files and hours on the timeline, or not at all."""
    snapshot = catalog.snapshot()
    layout = TimeLayout.of(P.HOURLY, [("dt", None)])
    hours = snapshot.table("hours")
    ordinals = [layout.ordinal(p.values) for p in snapshot.partitions(hours)]
    batches = [o // 40 for o in ordinals if 1000 <= o // 40 < 2000]
    assert all(batches.count(batch) == 40 for batch in set(batches)), note
    line = snapshot.timeline("hours", P.HOURLY, "t")
    assert sorted(o for r in line.ranges() for o in range(r.start, r.end)) == sorted(ordinals), note
    shared = [file for partition, file in snapshot.files(hours) if partition.values == ("2013-06-01-00",)]
    assert len(shared) == len(set(batches)), note
    assert len(snapshot.files(hours)) == 20 + len(batches) + len(shared), note
    return len(set(batches))


def test_two_processes_write_at_once(tmp_path: Path, catalog_url: str | None) -> None:
    catalog = _warehouse(tmp_path, catalog_url)
    batches = 25 if catalog_url is None else 8
    arguments = [sys.executable, "-c", WRITER, str(tmp_path), catalog_url or ""]
    children = [
        subprocess.Popen([*arguments, str(first), str(batches)], stdout=subprocess.DEVNULL) for first in (1000, 1500)
    ]
    checks = 0
    while any(child.poll() is None for child in children):
        _check_batches(catalog, f"check {checks}")
        checks += 1
    assert [child.wait() for child in children] == [0, 0]
    assert checks > 1
    assert _check_batches(catalog, "at the end") == 2 * batches
    _check_log(catalog)


def test_a_process_that_was_aborted_while_it_slept_cannot_commit(tmp_path: Path, catalog_url: str | None) -> None:
    catalog = _warehouse(tmp_path, catalog_url)
    table = catalog.snapshot().table("hours")
    sleeper = catalog.begin()
    change = WritePartitions(table, sleeper.write_id(table), (PartitionWrite(("2013-01-05-00",)),), overwrite=False)
    before = _state(catalog.snapshot())
    assert os.WEXITSTATUS(_forked(lambda: os._exit(Catalog.open(tmp_path, catalog_url).abort_dead(0.0)))) == 1
    with pytest.raises(ConflictError):
        sleeper.commit([change])
    assert _state(catalog.snapshot()) == before


#: A process that writes the partition of its hour and reports it. It commits on command.
TURNS = """
import sys
from rewriter.catalog import Catalog
from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.errors import ConflictError

catalog = Catalog.open(sys.argv[1], sys.argv[2] or None)
table = catalog.snapshot().table("hours")
with catalog.begin() as tx:
    change = WritePartitions(table, tx.write_id(table), (PartitionWrite((sys.argv[3],)),), overwrite=True)
    print("begun", flush=True)
    sys.stdin.readline()
    try:
        tx.commit([change])
        print("committed")
    except ConflictError as error:
        print(error.condition, error.sqlstate)
"""


def test_processes_meet_in_partitions_only(tmp_path: Path, catalog_url: str | None) -> None:
    catalog = _warehouse(tmp_path, catalog_url)
    arguments = [sys.executable, "-c", TURNS, str(tmp_path), catalog_url or ""]
    writers = [
        subprocess.Popen([*arguments, hour], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for hour in ("2013-01-01-00", "2013-01-01-01", "2013-01-01-00")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
    said = [writer.communicate("go\n")[0] for writer in writers]
    assert said == ["committed\n", "committed\n", "CONCURRENT_WRITE 40001\n"]
    assert not catalog.snapshot().transactions.open
    _check_log(catalog)


def test_a_forked_child_does_not_speak_on_its_parents_connection(tmp_path: Path, catalog_url: str | None) -> None:
    catalog = _warehouse(tmp_path, catalog_url)
    before = catalog.snapshot()
    children = []
    for child in range(3):
        pid = os.fork()
        if pid == 0:
            gc.disable()
            code = 1
            try:
                for batch in range(3):
                    _write(catalog, "hours", [f"2013-02-0{child + 1}-0{batch}"])
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    for batch in range(3):
        _write(catalog, "hours", [f"2013-03-01-0{batch}"])
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    assert catalog.snapshot().sequence == before.sequence + 12
    assert len(catalog.snapshot().partitions(before.table("hours"))) == 24 + 12
    _check_log(catalog)


def test_a_writer_that_stops_in_the_middle_blocks_nobody_for_long(tmp_path: Path, postgres_url: str) -> None:
    """The writer is stopped inside its database transaction, while it holds the lock. The server ends it."""
    catalog = _warehouse(tmp_path, postgres_url)
    options = sa.make_url(postgres_url).query["options"]
    impatient = sa.make_url(postgres_url).update_query_dict(
        {"options": f"{options} -cidle_in_transaction_session_timeout=1s -clock_timeout=100ms"}
    )
    url = impatient.render_as_string(hide_password=False)

    def run() -> None:
        stopping = Catalog.open(tmp_path, url)
        table = stopping.snapshot().table("hours")
        with stopping.begin() as tx:
            change = WritePartitions(table, tx.write_id(table), (PartitionWrite(("2013-01-05-00",)),), overwrite=False)

            def stop(_connection: object, _cursor: object, statement: str, *_: object) -> None:
                if statement.startswith("INSERT INTO events"):
                    os.kill(os.getpid(), signal.SIGSTOP)

            sa.event.listen(sa.Engine, "before_cursor_execute", stop)
            tx.commit([change])

    child = os.fork()
    if child == 0:
        gc.disable()
        try:
            run()
        except OperationalError as error:
            os._exit(7 if error.condition == "CATALOG_CONNECTION_LOST" else 1)
        finally:
            os._exit(2)
    assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
    second = Catalog.open(tmp_path, url)
    with pytest.raises(OperationalError) as caught:
        second.begin()
    assert (caught.value.condition, caught.value.sqlstate) == ("CATALOG_BUSY", None)
    # The other writers wait longer and then continue.
    _write(catalog, "hours", ["2013-01-05-00"])
    os.kill(child, signal.SIGCONT)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7
    assert len(catalog.snapshot().files(catalog.snapshot().table("hours"))) == 21
    _check_log(catalog)
