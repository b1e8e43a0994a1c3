"""A PostgreSQL server that stops, is slow, full or has no connection left: a clear error soon, nothing half done, and
the next call works once it is back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from postgres import SERVER

from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.changes import CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.models import Column, DataFile, Table
from rewriter.errors import OperationalError


class Server:
    """A PostgreSQL server of a test's own, with few connections, that can be stopped and started."""

    def __init__(self, directory: Path) -> None:
        import pgserver
        from pgserver._commands import POSTGRES_BIN_PATH

        self._server = pgserver.get_server(directory)
        self._bin, self._directory = POSTGRES_BIN_PATH, directory
        self.url = self._server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        self.sql("ALTER SYSTEM SET max_connections = 12")
        self.stop()
        self.start()

    def sql(self, statement: str) -> list[Any]:
        """Runs a statement behind the catalog's back."""
        engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            result = connection.exec_driver_sql(statement)
            return list(result) if result.returns_rows else []

    def stop(self, how: str = "immediate") -> None:
        """Stops it as a crash would, or ``fast``."""
        self._control("stop", "-m", how)

    def start(self) -> None:
        """Starts it again; it recovers."""
        socket = sa.make_url(self.url).query["host"]
        self._control("start", "-l", str(self._directory / "log"), "-o", f'-h "" -k {socket}')

    def close(self) -> None:
        """Ends it, whoever started it last."""
        self.stop()
        self._server.cleanup()

    def _control(self, *arguments: str) -> None:
        owner = self._directory.owner()
        command = [str(self._bin / "pg_ctl"), "-w", "-D", str(self._directory), *arguments]
        subprocess.run(command, check=True, user=owner, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if find_spec("pgserver") is None:
        if os.environ.get(SERVER):
            pytest.skip("nobody stops the server that is given, and pgserver, which makes another, is not there")
        pytest.fail("pgserver is not installed here")
    directory = Path(tempfile.mkdtemp(prefix="pg"))
    made = Server(directory)
    yield made
    made.close()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def catalog(tmp_path: Path, server: Server) -> Iterator[Catalog]:
    """A catalog in a schema of its own, with a table ``t`` that has a partition."""
    name = f"of_{tmp_path.name}".lower().replace("-", "_")
    server.sql(f'CREATE SCHEMA "{name}"')
    made = Catalog.open(tmp_path, url_of(server, name))
    with made.begin() as tx:
        columns = (Column("x", "int"),), (Column("dt", "string"),)
        tx.commit([CreateObject(Table(tx.allocate_id(), "t", *columns, "parquet", "/w/t"))])
    write(made, "2012")
    yield made
    made.close()
    server.sql(f'DROP SCHEMA "{name}" CASCADE')


def url_of(server: Server, schema: str, settings: str = "") -> str:
    """The URL of a schema, with settings of the connection."""
    options = {"options": f"-csearch_path={schema} {settings}".rstrip()}
    return sa.make_url(server.url).update_query_dict(options).render_as_string(hide_password=False)


@contextmanager
def opened(catalog: Catalog, server: Server, settings: str) -> Iterator[Catalog]:
    """The same catalog by connections with other settings."""
    schema = f"of_{catalog.warehouse.name}".lower().replace("-", "_")
    with closing(Catalog.open(catalog.warehouse, url_of(server, schema, settings))) as other:
        yield other


def write(catalog: Catalog, *values: str) -> int:
    """An INSERT of these partitions."""
    table = catalog.snapshot().table("t")
    with catalog.begin() as tx:
        write_id = tx.write_id(table)
        parts = tuple(PartitionWrite((v,), (DataFile(f"/w/t/{write_id}/{v}", 1, 1),)) for v in values)
        return tx.commit([WritePartitions(table, write_id, parts, overwrite=False)])


def state(snapshot: Snapshot) -> object:
    """What a reader sees."""
    table = snapshot.table("t")
    return snapshot.sequence, snapshot.partitions(table), snapshot.files(table)


def refused(run: Callable[[], object], *conditions: str, within: float = 10.0) -> OperationalError:
    """The error that it must end with, soon, and with a hint."""
    start = time.monotonic()
    with pytest.raises(OperationalError) as caught:
        run()
    assert time.monotonic() - start < within
    assert caught.value.condition in conditions, caught.value
    assert caught.value.hint
    return caught.value


def check_whole(catalog: Catalog) -> None:
    """The log has no gaps, and knows each commit."""
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
    # By itself: who was there goes on, under the snapshots and in the transactions that they had.
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
    holder = sa.create_engine(url_of(server, schema))
    with opened(catalog, server, "-clock_timeout=300ms") as waiting, holder.connect() as held:
        before = state(waiting.snapshot())
        held.exec_driver_sql("SELECT value FROM counters WHERE name = 'commit' FOR UPDATE")
        refused(waiting.begin, "CATALOG_BUSY")
        refused(lambda: write(waiting, "2013"), "CATALOG_BUSY")
        assert state(waiting.snapshot()) == before  # Readers wait for nobody.
        held.rollback()
        write(waiting, "2013")
        check_whole(waiting)
    holder.dispose()


def test_an_answer_takes_too_long(catalog: Catalog, server: Server) -> None:
    schema = f"of_{catalog.warehouse.name}".lower()
    holder = sa.create_engine(url_of(server, schema))
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
    with opened(catalog, server, "") as other:
        taken: list[sa.Connection] = []
        try:
            with suppress(sa.exc.OperationalError):
                taken += (engine.connect() for _ in range(50))
            assert 5 < len(taken) < 12
            refused(lambda: Catalog.open(catalog.warehouse, server.url), "CATALOG_UNAVAILABLE")
            # Who has one keeps it.
            assert state(catalog.snapshot()) == before
            write(other, "2013")
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
    """As the server says it, at the last statement of a commit."""
    before, schema = state(catalog.snapshot()), f"of_{catalog.warehouse.name}".lower()
    server.sql(
        f'CREATE FUNCTION "{schema}".no_room() RETURNS trigger LANGUAGE plpgsql AS '
        "$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
    )
    server.sql(f'CREATE TRIGGER no_room BEFORE INSERT ON "{schema}".events EXECUTE FUNCTION "{schema}".no_room()')
    error = refused(lambda: write(catalog, "2013"), "CATALOG_UNAVAILABLE")
    assert "disk" in (error.hint or "")
    assert state(catalog.snapshot()) == before
    assert not catalog.snapshot().transactions.open
    server.sql(f'DROP TRIGGER no_room ON "{schema}".events')
    write(catalog, "2013")
    check_whole(catalog)
