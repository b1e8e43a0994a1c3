"""Tests of PostgreSQL catalogs only: URLs, a server that refuses or stops, text and numbers that it cannot store."""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa
from postgres import PostgresServer

import rewriter
from rewriter.catalog import Catalog
from rewriter.catalog.model.changes import AddPartitions, CreateObject, PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, DataFile, Table
from rewriter.catalog.store import migrations
from rewriter.catalog.store.database import Database
from rewriter.errors import CommitUnknownError, ConflictError, DataError, Error, InterfaceError, OperationalError

from .support import STRING, Warehouse, names, write

SECRET = "g3heim"


@pytest.fixture
def w(tmp_path: Path, postgres_url: str) -> Iterator[Warehouse]:
    warehouse = Warehouse(Catalog.open(tmp_path, postgres_url), postgres_url)
    yield warehouse
    warehouse.catalog.close()


def refused(warehouse: Path, url: str | sa.URL, kind: type[Error] = OperationalError) -> Error:
    """Returns the error of opening a catalog. The password is not in it, not even in its traceback."""
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    with pytest.raises(kind) as caught:
        Catalog.open(warehouse, text)
    error = caught.value
    assert SECRET not in f"{''.join(traceback.format_exception(error))} {error.hint} {error.object}"
    assert error.hint
    return error


# --- opening -------------------------------------------------------------------------------------------------------


def test_a_catalog_is_kept(tmp_path: Path, postgres_url: str) -> None:
    first = Warehouse(Catalog.open(tmp_path, postgres_url), postgres_url)
    table = first.create("T")
    first.catalog.close()
    first.catalog.close()
    # What is there is in the database; the directory only says which one it is.
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse.json"]
    with closing(Catalog.open(tmp_path, postgres_url.replace("+psycopg", ""))) as second:
        assert second.snapshot().table("t") == table


def test_an_older_catalog_is_upgraded_at_once_or_not_at_all(tmp_path: Path, postgres_url: str) -> None:
    def news(connection: sa.Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE news (x INTEGER)")

    def fails(connection: sa.Connection) -> None:
        connection.exec_driver_sql("INSERT INTO news VALUES (1)")
        raise RuntimeError("no power")

    w = Warehouse(Catalog.open(tmp_path, postgres_url), postgres_url)
    with pytest.raises(RuntimeError):
        Database(postgres_url, (*migrations.STEPS, news, fails))
    w.opened().close()
    Database(postgres_url, (*migrations.STEPS, news)).close()
    assert w.sql("SELECT version FROM schema_version") == [(len(migrations.STEPS) + 1,)]
    assert w.sql("SELECT count(*) FROM news") == [(0,)]
    assert refused(tmp_path, postgres_url).condition == "CATALOG_TOO_NEW"


def test_every_earlier_version_is_upgraded(tmp_path: Path, postgres_url: str) -> None:
    Database(postgres_url, migrations.STEPS[:1]).close()
    w = Warehouse(Catalog.open(tmp_path, postgres_url), postgres_url)
    w.sql("ALTER TABLE partitions DROP COLUMN properties")
    w.sql("UPDATE schema_version SET version = 4")
    assert w.opened().snapshot().tables() == ()
    w.into(w.create("t"), "a")


def test_the_indexes_of_few_rows_are_partial(w: Warehouse) -> None:
    definitions = dict(w.sql("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'partitions'"))
    assert " WHERE " in definitions["open_partitions"]
    assert " WHERE " in definitions["partitions_with_origins"]
    assert " WHERE " not in definitions["partitions_by_commit"]


def test_several_processes_make_the_same_catalog(tmp_path: Path, postgres_url: str) -> None:
    code = "import sys; from rewriter.catalog import Catalog; Catalog.open(sys.argv[1], sys.argv[2]).begin()"
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), postgres_url]) for _ in range(3)]
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    with closing(Catalog.open(tmp_path, postgres_url)) as catalog:
        assert catalog.begin().id == 4


def test_a_database_of_somebody_else(tmp_path: Path, w: Warehouse) -> None:
    w.sql("DROP TABLE schema_version")
    assert refused(tmp_path, w.url or "").condition == "NOT_A_CATALOG"


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ({"database": "no such"}, "CATALOG_DATABASE_NOT_FOUND"),
        ({"username": "nobody"}, "CATALOG_ACCESS_DENIED"),
        ({"host": "localhost", "port": 1, "query": {}}, "CATALOG_UNAVAILABLE"),
        ({"host": "nowhere.invalid", "query": {}}, "CATALOG_UNAVAILABLE"),
        ({"query": {"host": "/nowhere"}}, "CATALOG_UNAVAILABLE"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_server_that_cannot_be_used(
    tmp_path: Path, postgres_url: str, change: dict[str, object], condition: str
) -> None:
    url = sa.make_url(postgres_url).set(password=SECRET)
    if "query" not in change:
        change = {**change, "query": dict(url.query)}
    error = refused(tmp_path, url.set(**change))  # type: ignore[arg-type]
    assert error.condition == condition
    assert error.object is not None
    assert error.object.startswith("postgresql://")


def test_a_schema_that_is_not_there_or_not_ours(
    tmp_path: Path, postgres_url: str, postgres_server: PostgresServer
) -> None:
    url = sa.make_url(postgres_url)
    assert (
        refused(tmp_path, url.update_query_dict({"options": "-csearch_path=nowhere"})).condition
        == "CATALOG_DATABASE_NOT_FOUND"
    )
    role = f"{str(url.query['options']).partition('=')[2]}_role"
    postgres_server.run(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'")
    try:
        error = refused(tmp_path, url.set(username=role, password=SECRET))
    finally:
        postgres_server.run(f"DROP ROLE {role}")
    # A schema that the user may not even look into is none to it.
    assert error.condition in ("CATALOG_ACCESS_DENIED", "CATALOG_DATABASE_NOT_FOUND")


@pytest.mark.parametrize(
    "url",
    [
        "hello",
        f"mysql://u:{SECRET}@h/db",
        "sqlite:///catalog.db",
        f"postgresql+asyncpg://u:{SECRET}@h/db",
        f"postgresql://u:{SECRET}@{SECRET}@h/db",
        f"postgresql://u:12@3/{SECRET}@h/db",
        f"postgresql://u:{SECRET}@h:port/db",
        f"postgresql://h:{SECRET}",
        f"postgresql://u:{SECRET}@/db?host=127.0.0.1&port=abc",
        f"postgresql://u:{SECRET}@/db?row_factory=abc",
        f"postgresql://u:{SECRET}@h/d%00b",
        f"postgresql://u:{SECRET}%00@h/db",
    ],
)
def test_what_is_no_url_of_postgresql(tmp_path: Path, url: str) -> None:
    assert refused(tmp_path, url, InterfaceError).condition == "INVALID_CATALOG_URL"


def test_options_that_nobody_knows(tmp_path: Path, postgres_url: str) -> None:
    url = sa.make_url(postgres_url).set(password=SECRET)
    assert refused(tmp_path, url.update_query_dict({"sslmood": "x"})).condition == "INVALID_CATALOG_URL"
    assert refused(tmp_path, url.update_query_dict({"options": "-cnosuch=1"})).condition == "INVALID_CATALOG_URL"


@contextmanager
def own_database(server: PostgresServer, url: str, options: str) -> Iterator[str]:
    """Returns the URL of a database that was created with these options. It is dropped at the end of the block."""
    name = f"rewriter_test_{uuid.uuid4().hex}"
    server.run(f"CREATE DATABASE {name} {options} TEMPLATE template0")
    try:
        yield sa.make_url(url).set(database=name).difference_update_query(["options"]).render_as_string(False)
    finally:
        server.run(f"DROP DATABASE {name} WITH (FORCE)")


def test_an_encoding_that_cannot_hold_all_names(
    tmp_path: Path, postgres_url: str, postgres_server: PostgresServer
) -> None:
    with own_database(postgres_server, postgres_url, "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'") as url:
        assert refused(tmp_path, url).condition == "CATALOG_ENCODING"


def test_a_missing_driver_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = refused(tmp_path, "postgresql://h/db", InterfaceError)
    assert error.condition == "POSTGRES_DRIVER_NOT_FOUND"
    assert error.hint is not None
    assert "rewriter[postgres]" in error.hint


# --- values --------------------------------------------------------------------------------------------------------


def test_what_is_compared_is_compared_by_its_bytes(w: Warehouse) -> None:
    """A locale would order é next to e, and an upgrade of the server's system may change it under an index."""
    indexed = """
        SELECT DISTINCT c.relname, a.attname, l.collname FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = i.indexrelid
        JOIN pg_collation l ON l.oid = a.attcollation
        WHERE c.relnamespace = current_schema()::regnamespace
    """
    collations = {(table, column): collation for table, column, collation in w.sql(indexed)}
    assert collations[("objects", "name_key")] == "C"
    assert set(collations.values()) == {"C"}
    ordered = (
        "SELECT collation_name FROM information_schema.columns WHERE table_name = 'files' AND column_name = 'path'"
    )
    assert set(w.sql(f"{ordered} AND table_schema = current_schema()")) == {("C",)}


def test_the_character_that_text_cannot_hold(w: Warehouse) -> None:
    """U+0000 stands escaped in JSON. Where a text is stored as it is, it is refused; so is half a surrogate pair."""
    with w.catalog.begin() as tx:
        columns = (Column("x", "int", "a\0b"),)
        t = Table(tx.allocate_id(), "t", columns, (STRING,), "parquet", "/w/t", comment="\0", properties={"\0": "\0"})
        tx.commit([CreateObject(t)])
    assert w.opened().snapshot().table("t") == t
    w.into(t, "a")
    for wrong in (PartitionWrite(("b",), location="/x\0y"), PartitionWrite(("b",), properties={"k": "\udc80"})):
        change = [AddPartitions(t, (wrong,))]
        with pytest.raises(DataError) as caught:
            w.commit(lambda tx, change=change: change)  # type: ignore[misc]
        assert caught.value.condition == "CATALOG_VALUE"
    with pytest.raises(DataError):
        w.create("n\0n")
    assert names(w.catalog.snapshot(), t) == ["a"]


def test_numbers_over_64_bits(w: Warehouse) -> None:
    t = w.create("t")
    with w.catalog.begin() as tx:
        big = (DataFile("/w/t/a", (1 << 63) - 1, (1 << 63) - 1),)
        tx.commit([WritePartitions(t, tx.write_id(t), (PartitionWrite(("a",), big),), overwrite=False)])
    assert w.catalog.snapshot().partitions(t)[0].rows == (1 << 63) - 1
    with pytest.raises(DataError) as caught:
        w.into(t, "a")
    assert caught.value.condition == "CATALOG_VALUE"
    with pytest.raises(DataError):
        w.catalog.events(after=1 << 64)


def test_thousands_of_keys_and_of_write_ids(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")
    values = [f"{number:05}" for number in range(2500)]
    w.into(t, *values)
    w.overwrite(t, *values)
    w.sql(
        "INSERT INTO transactions (transaction_id, state, snapshot_seq, begun_at, heartbeat_at)"
        " SELECT n, CASE WHEN n % 2 = 0 THEN 'open' ELSE 'aborted' END, 0, 4e9, 4e9 FROM generate_series(101, 6100) n"
    )
    w.sql("INSERT INTO write_ids SELECT :u, n - 95, n, NULL FROM generate_series(101, 6100) n", u=u.id)
    w.sql("UPDATE counters SET value = 6100 WHERE name = 'transaction'")
    w.into(u, "a")
    snapshot = w.catalog.snapshot()
    assert len(snapshot.write_ids(u.id).invalid) == 6000
    assert names(snapshot, u) == ["a"]
    assert names(snapshot, t) == values
    assert len(snapshot.files(t)) == 2500


# --- a server that goes away ---------------------------------------------------------------------------------------


def backends(w: Warehouse, url: str) -> list[int]:
    """Returns the server processes of the connections with this name, whatever they did last."""
    name = str(sa.make_url(url).query["application_name"])
    return [pid for (pid,) in w.sql("SELECT pid FROM pg_stat_activity WHERE application_name = :name", name=name)]  # type: ignore[misc]


def test_a_server_that_was_restarted_is_found_again(w: Warehouse) -> None:
    url = f"{w.url}&application_name=restarted"
    with closing(Catalog.open(w.catalog.warehouse, url)) as catalog:
        snapshot = catalog.snapshot()
        for pid in backends(w, url):
            w.sql("SELECT pg_terminate_backend(:pid, 5000)", pid=pid)
        assert snapshot.tables() == ()
        catalog.begin().rollback()


def test_a_connection_that_is_lost_before_the_commit(w: Warehouse) -> None:
    t = w.create("t")
    url = f"{w.url}&application_name=lost"
    with closing(Catalog.open(w.catalog.warehouse, url)) as catalog:

        def kill(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
            if "INSERT INTO files" in statement:
                for pid in backends(w, url):
                    w.sql("SELECT pg_terminate_backend(:pid, 5000)", pid=pid)

        tx = catalog.begin()
        change = write(tx, t, "a")
        sa.event.listen(sa.Engine, "before_cursor_execute", kill)
        try:
            with pytest.raises(OperationalError) as caught, tx:
                tx.commit([change])
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", kill)
        assert caught.value.condition == "CATALOG_CONNECTION_LOST"
        assert names(catalog.snapshot(), t) == []
        assert not catalog.snapshot().transactions.open
        w.into(t, "a")


#: The request of the client.
COMMIT = b"Q\0\0\0\x0bCOMMIT\0"


class Proxy:
    """Stands between clients and the server, and cuts the connection once, at the COMMIT of a commit.

    ``armed`` is ``before`` the server reads it, or ``after`` it has replied. If the proxy is ``deaf``, it accepts no
    client after that.
    """

    def __init__(self, server: sa.URL) -> None:
        self.armed: str | None = None
        self.deaf = False
        self._server = server
        self._directory = tempfile.TemporaryDirectory(prefix="pg")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self._directory.name}/.s.PGSQL.5432")
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        url = self._server.set(host=None, port=None).update_query_dict({"host": self._directory.name})
        return url.render_as_string(hide_password=False)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                if self.deaf and self.armed is None:
                    client.close()
                else:
                    threading.Thread(target=self._serve, args=(client, self._connected()), daemon=True).start()

    def _connected(self) -> socket.socket:
        host, port = self._server.host or str(self._server.query["host"]), self._server.port or 5432
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        logged = False
        with client, server, suppress(OSError):
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    logged = logged or (ready is client and b"INSERT INTO events" in data)
                    if ready is client and self.armed and logged and data.startswith(COMMIT):
                        where, self.armed = self.armed, None
                        if where == "after":
                            server.sendall(data)
                            server.recv(1 << 16)
                        return
                    logged = logged and not data.startswith(COMMIT)
                    (server if ready is client else client).sendall(data)

    def close(self) -> None:
        self._listener.close()
        self._directory.cleanup()


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("deaf", [False, True])
def test_a_connection_that_is_lost_in_the_commit(w: Warehouse, where: str, deaf: bool) -> None:
    """Commits are reported as committed, others as not committed, and unknown outcomes as unknown."""
    t = w.create("t")
    committed = where == "after"
    directory = w.catalog.warehouse
    with closing(Proxy(sa.make_url(w.url or ""))) as proxy, closing(Catalog.open(directory, proxy.url)) as catalog:
        tx = catalog.begin()
        change = write(tx, t, "a")
        proxy.armed, proxy.deaf = where, deaf
        if deaf:
            with pytest.raises(CommitUnknownError) as unknown, tx:
                tx.commit([change])
            assert (unknown.value.condition, unknown.value.sqlstate) == ("COMMIT_UNKNOWN", "08007")
        elif committed:
            with tx:
                assert tx.commit([change]) == w.catalog.snapshot().sequence == 2
        else:
            with pytest.raises(OperationalError) as caught, tx:
                tx.commit([change])
            assert caught.value.condition == "CATALOG_CONNECTION_LOST"
    assert names(w.catalog.snapshot(), t) == (["a"] if committed else [])
    # Open transactions block no others.
    w.into(t, "a")
    assert len(w.catalog.snapshot().files(t)) == (2 if committed else 1)
    assert [event.kind for event in w.catalog.events()].count("COMMIT") == (3 if committed else 2)


def test_files_stay_where_the_commit_is_unknown(tmp_path: Path, postgres_url: str) -> None:
    """A statement that fails removes its files, but not where the catalog may refer to them."""
    with closing(Proxy(sa.make_url(postgres_url))) as proxy:
        connection = rewriter.connect(tmp_path, engine="duckdb", catalog=proxy.url)
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE t (x INT)")
        proxy.armed, proxy.deaf = "after", True
        with pytest.raises(CommitUnknownError):
            cursor.execute("INSERT INTO t VALUES (1)")
        with suppress(Error):
            connection.close()
    with rewriter.connect(tmp_path, engine="duckdb", catalog=postgres_url) as second:
        cursor = second.cursor()
        cursor.execute("SELECT x FROM t")
        assert cursor.fetchall() == [(1,)]


# --- locks ---------------------------------------------------------------------------------------------------------


def test_a_deadlock_with_somebody_else_is_a_conflict(w: Warehouse) -> None:
    """Another session holds a table that a writer needs, and then wants what the writer holds."""
    t = w.create("t")
    engine = sa.create_engine(w.url or "")
    tx = w.catalog.begin()
    change = write(tx, t, "a")
    with engine.begin() as second:
        second.exec_driver_sql("SET LOCAL deadlock_timeout = '20s'")
        second.exec_driver_sql("LOCK TABLE claimed_ranges IN ACCESS EXCLUSIVE MODE")
        wanting = threading.Timer(0.2, second.exec_driver_sql, ["SELECT value FROM counters FOR UPDATE"])
        wanting.start()
        with pytest.raises(ConflictError) as caught:
            tx.commit([change])
        wanting.join()
    engine.dispose()
    assert (caught.value.condition, caught.value.sqlstate) == ("CATALOG_BUSY", "40001")
    tx.commit([change])
    assert names(w.catalog.snapshot(), t) == ["a"]


def test_readers_wait_for_nobody(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a")
    engine = sa.create_engine(w.url or "")
    with engine.begin() as second:
        second.exec_driver_sql("SELECT value FROM counters FOR UPDATE")
        assert names(w.opened().snapshot(), t) == ["a"]
    engine.dispose()
