"""A SQLite catalog that is locked, full, not writable or replaced: a clear error soon, nothing half done, and it works
again after the failure.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.catalog import FILE_NAME
from rewriter.catalog.model.changes import CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, DataFile, Table
from rewriter.catalog.store import sqlite
from rewriter.errors import OperationalError

#: More partitions than fit into the space of a full disk.
MANY = tuple(f"2013-{n:05d}" for n in range(2_000))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """Opens a catalog with a table ``t`` that has a partition."""
    opened = Catalog.open(tmp_path)
    with opened.begin() as tx:
        columns = (Column("x", "int"),), (Column("dt", "string"),)
        tx.commit([CreateObject(Table(tx.allocate_id(), "t", *columns, "parquet", "/w/t"))])
    write(opened, ("2012",))
    yield opened
    opened.close()


def write(catalog: Catalog, values: tuple[str, ...]) -> int:
    """Returns an INSERT of these partitions."""
    table = catalog.snapshot().table("t")
    with catalog.begin() as tx:
        write_id = tx.write_id(table)
        parts = tuple(PartitionWrite((v,), (DataFile(f"/w/t/{write_id}/{v}", 1, 1),)) for v in values)
        return tx.commit([WritePartitions(table, write_id, parts, overwrite=False)])


def state(snapshot: Snapshot) -> object:
    """Returns what a reader sees."""
    table = snapshot.table("t")
    return snapshot.sequence, snapshot.partitions(table), snapshot.files(table)


def refused(run: Callable[[], object], condition: str, within: float = 5.0) -> OperationalError:
    """Returns the error of the call, which must come soon and have a hint."""
    start = time.monotonic()
    with pytest.raises(OperationalError) as caught:
        run()
    assert time.monotonic() - start < within
    assert caught.value.condition == condition, caught.value
    assert caught.value.hint
    return caught.value


def check_whole(catalog: Catalog) -> None:
    """Checks that the file is sound and the log has no gaps."""
    with closing(sqlite3.connect(catalog.warehouse / FILE_NAME)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    events = catalog.events(limit=100_000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))


@contextmanager
def locked(catalog: Catalog) -> Iterator[None]:
    """Lets another transaction write at the same time, without an end."""
    with closing(sqlite3.connect(catalog.warehouse / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def test_the_file_is_locked_for_longer_than_we_wait(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_SECONDS", 0.2)
    with closing(Catalog.open(catalog.warehouse)) as waiting:
        before, table = state(waiting.snapshot()), waiting.snapshot().table("t")
        tx = waiting.begin()
        change = WritePartitions(table, tx.write_id(table), (PartitionWrite(("2013",)),), overwrite=False)
        with locked(catalog):
            refused(waiting.begin, "CATALOG_BUSY")
            refused(lambda: tx.commit([change]), "CATALOG_BUSY")
            assert state(waiting.snapshot()) == before  # Readers do not wait.
        # Now it can write. The refused call has had no effect.
        assert tx.commit([change]) == waiting.snapshot().sequence
        write(waiting, ("2014",))
        check_whole(waiting)


def test_who_holds_the_file_for_less_is_waited_for(catalog: Catalog) -> None:
    child = os.fork()
    if child == 0:
        gc.disable()
        with locked(catalog):
            time.sleep(1.0)
        os._exit(0)
    time.sleep(0.3)
    write(catalog, ("2013",))
    assert os.waitpid(child, 0)[1] == 0


@contextmanager
def full_disk() -> Iterator[None]:
    """Limits the growth of the files of a database that is opened now to a few pages."""

    def limit(dbapi: sqlite3.Connection, _record: object) -> None:
        (pages,) = dbapi.execute("PRAGMA page_count").fetchone()
        dbapi.execute(f"PRAGMA max_page_count = {pages + 4}")

    sa.event.listen(sa.Engine, "connect", limit)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "connect", limit)


def test_the_disk_is_full(catalog: Catalog) -> None:
    before = state(catalog.snapshot())
    with full_disk(), closing(Catalog.open(catalog.warehouse)) as starved:
        error = refused(lambda: write(starved, MANY), "DISK_FULL")
        assert "no space" in error.message
        assert "Free disk space" in (error.hint or "")
        assert state(starved.snapshot()) == before
        assert not starved.snapshot().transactions.open
    assert state(catalog.snapshot()) == before
    write(catalog, MANY)
    check_whole(catalog)


def test_the_system_refuses_to_write(catalog: Catalog) -> None:
    """The write-ahead log may not grow: nothing of the commit is written."""
    before = state(catalog.snapshot())

    def starve() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with closing(Catalog.open(catalog.warehouse)) as starved:
            try:
                write(starved, MANY)
            except OperationalError as error:
                return 7 if error.condition == "CATALOG_UNAVAILABLE" and state(starved.snapshot()) == before else 8
        return 9

    assert in_a_child(starve) == 7
    assert state(catalog.snapshot()) == before
    write(catalog, MANY)
    check_whole(catalog)


def in_a_child(run: Callable[[], int]) -> int:
    """Returns the exit code of a forked process; 1 for any other failure."""
    child = os.fork()
    if child == 0:
        gc.disable()
        code = 1
        try:
            code = run()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_file_that_may_not_be_written() -> None:
    with tempfile.TemporaryDirectory(prefix="readonly") as folder:
        warehouse = Path(folder)
        Catalog.open(warehouse).close()

        def run() -> int:
            if os.geteuid() == 0:
                os.setuid(65534)  # Root may write everything.
            try:
                with closing(Catalog.open(warehouse)) as catalog:
                    catalog.begin()
            except OperationalError as error:
                return 7 if error.condition == "CATALOG_READ_ONLY" and "write" in (error.hint or "") else 8
            return 9

        warehouse.chmod(0o555)
        for file in warehouse.iterdir():
            file.chmod(0o444)
        assert in_a_child(run) == 7
        warehouse.chmod(stat.S_IRWXU)
        for file in warehouse.iterdir():
            file.chmod(stat.S_IRUSR | stat.S_IWUSR)
        with closing(Catalog.open(warehouse)) as catalog:
            catalog.begin().rollback()


@pytest.mark.parametrize("by", ["nothing", "a copy", "another catalog"])
def test_the_file_is_replaced_while_it_is_open(catalog: Catalog, tmp_path: Path, by: str) -> None:
    """The numbers of one catalog have other meanings in another. No result comes from the other, and no lost file is
    written.
    """
    file, old = tmp_path / FILE_NAME, catalog.snapshot()
    before, sequence = state(old), old.sequence
    late, tx = catalog.snapshot(), catalog.begin()
    kept = tmp_path / "kept.db"
    with closing(sqlite3.connect(file)) as current, closing(sqlite3.connect(kept)) as copy:
        current.backup(copy)
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    if by == "a copy":
        shutil.copy(kept, file)
    elif by == "another catalog":
        Catalog.create_new(tmp_path)
    runs: list[Callable[[], object]] = [catalog.snapshot, catalog.begin, lambda: late.table("t"), tx.rollback]
    for run in runs:
        refused(run, "CATALOG_REPLACED")
    assert file.exists() == (by != "nothing")
    if by == "nothing":
        refused(lambda: Catalog.open(tmp_path), "CATALOG_MISSING")
        return
    with closing(Catalog.open(tmp_path)) as again:
        assert again.snapshot().sequence == (sequence if by == "a copy" else 0)
        if by == "a copy":
            assert state(again.snapshot()) == before
            write(again, ("2013",))
        check_whole(again)
