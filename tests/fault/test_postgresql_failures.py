"""A PostgreSQL server that stops, is slow, full or has no connection left: a clear error soon, nothing half done, and
the next call works after the failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa
from private_postgres import Server, private_server

from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.model.changes import CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, DataFile, Table
from rewriter.errors import OperationalError


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with private_server(max_connections=12) as server:
        yield server


@pytest.fixture
def catalog(tmp_path: Path, server: Server) -> Iterator[Catalog]:
    """Opens a catalog in a schema of its own, with a table ``t`` that has a partition."""
    name = f"of_{tmp_path.name}".lower().replace("-", "_")
    opened = Catalog.open(tmp_path, server.schema(name))
    with opened.begin() as tx:
        columns = (Column("x", "int"),), (Column("dt", "string"),)
        tx.commit([CreateObject(Table(tx.allocate_id(), "t", *columns, "parquet", "/w/t"))])
    write(opened, "2012")
    yield opened
    opened.close()
    server.sql(f'DROP SCHEMA "{name}" CASCADE')


@contextmanager
def opened(catalog: Catalog, server: Server, settings: str) -> Iterator[Catalog]:
    """Opens the same catalog by connections with other settings."""
    schema = f"of_{catalog.warehouse.name}".lower().replace("-", "_")
    with closing(Catalog.open(catalog.warehouse, server.url_of(schema, settings))) as opened:
        yield opened


def write(catalog: Catalog, *values: str) -> int:
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


def refused(run: Callable[[], object], *conditions: str, within: float = 10.0) -> OperationalError:
    """Returns the error of the call, which must come soon and have a hint."""
    start = time.monotonic()
    with pytest.raises(OperationalError) as caught:
        run()
    assert time.monotonic() - start < within
    assert caught.value.condition in conditions, caught.value
    assert caught.value.hint
    return caught.value


def check_whole(catalog: Catalog) -> None:
    """Checks that the log has no gaps and contains each commit."""
    events = catalog.events(limit=100_000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    commits = [event.commit_sequence for event in events if event.kind == "COMMIT"]
    assert commits == list(range(1, catalog.snapshot().sequence + 1))


@pytest.mark.parametrize("how", ["immediate", "fast"])
def test_the_server_stops_and_is_started_again(catalog: Catalog, server: Server, how: str) -> None:
    before, old, table = state(catalog.snapshot()), catalog.snapshot(), catalog.snapshot().table("t")
    tx = catalog.begin()
    change = WritePartitions(table, tx.write_id(table), (PartitionWrite(("2013",)),), overwrite=False)
    gone = "CATALOG_CONNECTION_LOST", "CATALOG_UNAVAILABLE"
    server.stop(how)
    try:
        refused(catalog.snapshot, *gone)
        refused(catalog.begin, *gone)
        refused(lambda: tx.commit([change]), *gone)
        refused(lambda: Catalog.open(catalog.warehouse, server.url), "CATALOG_UNAVAILABLE")
    finally:
        server.start()
    # Without help: existing users continue, with their snapshots and transactions.
    assert state(old) == before == state(catalog.snapshot())
    assert tx.commit([change]) == old.sequence + 1
    write(catalog, "2014")
    check_whole(catalog)


def test_the_server_stops_in_the_middle_of_a_commit(catalog: Catalog, server: Server) -> None:
    before, table = state(catalog.snapshot()), catalog.snapshot().table("t")
    tx = catalog.begin()
    change = WritePartitions(table, tx.write_id(table), (PartitionWrite(("2013",)),), overwrite=False)

    def stop(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO events"):
            server.stop()

    sa.event.listen(sa.Engine, "before_cursor_execute", stop)
    try:
        refused(lambda: tx.commit([change]), "CATALOG_CONNECTION_LOST", "CATALOG_UNAVAILABLE")
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", stop)
        server.start()
    assert state(catalog.snapshot()) == before
    tx.rollback()
    write(catalog, "2013")
    check_whole(catalog)


def test_somebody_holds_the_lock_of_writers(catalog: Catalog, server: Server) -> None:
    schema = f"of_{catalog.warehouse.name}".lower()
    holder = sa.create_engine(server.url_of(schema))
    with opened(catalog, server, "-clock_timeout=300ms") as waiting, holder.connect() as held:
        before = state(waiting.snapshot())
        held.exec_driver_sql("SELECT value FROM counters WHERE name = 'commit' FOR UPDATE")
        refused(waiting.begin, "CATALOG_BUSY")
        refused(lambda: write(waiting, "2013"), "CATALOG_BUSY")
        assert state(waiting.snapshot()) == before  # Readers do not wait.
        held.rollback()
        write(waiting, "2013")
        check_whole(waiting)
    holder.dispose()


def test_an_answer_takes_too_long(catalog: Catalog, server: Server) -> None:
    schema = f"of_{catalog.warehouse.name}".lower()
    holder = sa.create_engine(server.url_of(schema))
    with opened(catalog, server, "-cstatement_timeout=300ms") as waiting, holder.connect() as held:
        before = state(waiting.snapshot())
        held.exec_driver_sql("LOCK TABLE partitions IN ACCESS EXCLUSIVE MODE")
        refused(lambda: state(waiting.snapshot()), "CATALOG_BUSY")
        refused(lambda: write(waiting, "2013"), "CATALOG_BUSY")
        held.rollback()
        assert state(waiting.snapshot()) == before
        write(waiting, "2013")
        check_whole(waiting)
    holder.dispose()


def test_no_connection_is_left(catalog: Catalog, server: Server) -> None:
    before = state(catalog.snapshot())
    engine = sa.create_engine(server.url, poolclass=sa.NullPool)
    with opened(catalog, server, "") as second:
        taken: list[sa.Connection] = []
        try:
            with suppress(sa.exc.OperationalError):
                taken += (engine.connect() for _ in range(50))
            assert 5 < len(taken) < 12
            refused(lambda: Catalog.open(catalog.warehouse, server.url), "CATALOG_UNAVAILABLE")
            # A user that has a connection keeps it.
            assert state(catalog.snapshot()) == before
            write(second, "2013")
        finally:
            for connection in taken:
                connection.close()
    deadline = time.monotonic() + 10
    while server.sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")[0][0] > 5:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with opened(catalog, server, "") as again:
        write(again, "2014")
        check_whole(again)


def test_the_disk_of_the_server_is_full(catalog: Catalog, server: Server) -> None:
    """Raises the error that the server reports, at the last statement of a commit."""
    before, schema = state(catalog.snapshot()), f"of_{catalog.warehouse.name}".lower()
    server.sql(
        f'CREATE FUNCTION "{schema}".no_room() RETURNS trigger LANGUAGE plpgsql AS '
        "$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
    )
    server.sql(f'CREATE TRIGGER no_room BEFORE INSERT ON "{schema}".events EXECUTE FUNCTION "{schema}".no_room()')
    error = refused(lambda: write(catalog, "2013"), "DISK_FULL")
    assert "disk" in error.message
    assert "Free disk space" in (error.hint or "")
    assert state(catalog.snapshot()) == before
    assert not catalog.snapshot().transactions.open
    server.sql(f'DROP TRIGGER no_room ON "{schema}".events')
    write(catalog, "2013")
    check_whole(catalog)
