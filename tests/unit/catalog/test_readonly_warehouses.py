"""A process that may not write a warehouse can read it: without the right to write, or on a read-only file system, with
or without a writer. Every write is refused with one of our errors.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from postgres import PostgresServer

from rewriter.errors import Error
from rewriter.session import Session

NOBODY = 65534

#: Runs statements as another user and prints what came out, as JSON. WAIT waits for a line.
CHILD = """
import json, os, sys, tempfile
from rewriter.errors import Error
from rewriter.session import Session
uid, place, *statements = sys.argv[1:]
# What is imported late may lie where the other user cannot read it.
with tempfile.TemporaryDirectory() as folder, Session(folder + "/w", "duckdb") as session:
    for statement in ("CREATE TABLE t AS SELECT 1 AS x", "INSERT INTO t VALUES (1)", *statements):
        try:
            statement == "WAIT" or session.execute(statement).fetch()
        except Error:
            pass
if int(uid):
    os.setgroups([])
    os.setgid(int(uid))
    os.setuid(int(uid))
try:
    with Session(place, "duckdb") as session:
        for statement in statements:
            if statement == "WAIT":
                sys.stdin.readline()
                continue
            try:
                result = session.execute(statement)
                answer = [list(row) for row in result.fetch()] if result.columns is not None else []
            except Error as error:
                answer = error.condition
            print(json.dumps(answer), flush=True)
except Error as error:
    print(json.dumps(error.condition), flush=True)
"""

WRITES = [
    "CREATE TABLE n (x INT)",
    "INSERT INTO t VALUES (9)",
    "DROP TABLE t",
    "VACUUM",
    "CREATE VIEW v AS SELECT 1 AS a",
    "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
    "START TRANSACTION",
    "CREATE TEMPORARY TABLE n (x INT)",
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Creates a directory that other users reach, too. Those of pytest are private."""
    with tempfile.TemporaryDirectory(prefix="rewriter-readonly-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def warehouse(folder: Path) -> Path:
    with Session(folder / "w", "duckdb") as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("INSERT INTO t VALUES (1), (2)")
    return folder / "w"


def as_user(uid: int, prefix: tuple[str, ...], directory: Path, *statements: str) -> subprocess.Popen[str]:
    command = [*prefix, sys.executable, "-c", CHILD, str(uid), str(directory), *statements]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answers(directory: Path, *statements: str, uid: int = NOBODY, prefix: tuple[str, ...] = ()) -> list[Any]:
    if uid and os.geteuid() != 0:
        pytest.skip("only root can be another user")
    out, _ = as_user(uid, prefix, directory, *statements).communicate(timeout=120)
    return [json.loads(line) for line in out.splitlines()]


def mounted(directory: Path, goal: Path) -> tuple[str, ...]:
    """Returns the prefix of a command that sees a directory at another path, read-only."""
    goal.mkdir()
    script = f'mount --bind {directory} {goal} && mount -o remount,bind,ro {goal} && exec "$@"'
    prefix = ("unshare", "-m", "sh", "-c", script, "sh")
    try:
        probe = subprocess.run([*prefix, "true"], capture_output=True, check=False, timeout=30)
    except OSError:
        pytest.skip("there is no unshare")
    if probe.returncode:
        pytest.skip("nothing may be mounted here")
    return prefix


def beside(directory: Path, state: str) -> sqlite3.Connection | None:
    """Brings the files beside the catalog into a state: a killed writer, or one that lives, leaves both."""
    file = directory / "catalog.db"
    if state == "no log":
        assert not Path(f"{file}-wal").exists()
        return None
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("SELECT version FROM schema_version").fetchall()
    with Session(directory, "duckdb") as session:  # What it commits stays in the log, as another one has the file open.
        session.execute("INSERT INTO t VALUES (4)")
    assert os.path.getsize(f"{file}-wal") > 0
    if state == "writer":
        return writer
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{file}{suffix}", f"{file}{suffix}.killed")
    writer.close()
    for suffix in ("", "-wal", "-shm"):
        os.replace(f"{file}{suffix}.killed", f"{file}{suffix}")
    if state == "log only":
        os.remove(f"{file}-shm")
    return None


STATES = ["no log", "writer", "killed writer", "log only"]


@pytest.mark.share(3)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("by", ["permissions", "mount", "mount of another user"])
def test_it_is_read_and_not_written(warehouse: Path, folder: Path, state: str, by: str) -> None:
    writer = beside(warehouse, state)
    before = sorted(path.name for path in warehouse.iterdir())
    mount = by != "permissions"
    prefix = mounted(warehouse, folder / "mounted") if mount else ()
    where = folder / "mounted" if mount else warehouse
    reads = ["SELECT SUM(x) FROM t", "SHOW TABLES", "EXPLAIN SELECT * FROM t", "SELECT 1"]
    results = answers(where, *reads, *WRITES, uid=0 if by == "mount" else NOBODY, prefix=prefix)
    total = 3 if state == "no log" else 7
    assert results[0] == [[total]]
    assert [row[0] for row in results[1]] == ["t"]
    assert isinstance(results[2], list)
    assert results[3] == [[1]]
    assert results[4:] == ["CATALOG_READ_ONLY"] * len(WRITES)
    assert sorted(path.name for path in warehouse.iterdir()) == before
    if writer is not None:
        writer.close()
    with Session(warehouse, "duckdb") as session:
        session.execute("INSERT INTO t VALUES (1)")
        assert session.execute("SELECT SUM(x) FROM t").fetch() == [(total + 1,)]


@pytest.mark.parametrize("by", ["permissions", "mount"])
def test_a_writer_comes_and_goes_beside_a_reader(warehouse: Path, folder: Path, by: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    mount = by == "mount"
    prefix = mounted(warehouse, folder / "mounted") if mount else ()
    where = folder / "mounted" if mount else warehouse
    query, statements = "SELECT SUM(x) FROM t", []
    for _ in range(4):
        statements += [query, "WAIT"]
    child = as_user(NOBODY, prefix, where, *statements)
    assert child.stdin is not None
    assert child.stdout is not None
    assert json.loads(child.stdout.readline()) == [[3]]

    def then(total: int) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline()) == [[total]]

    with Session(warehouse, "duckdb") as session:
        session.execute("INSERT INTO t VALUES (10)")
        then(13)  # It is in the log only.
        session.execute("INSERT INTO t VALUES (10)")
        then(23)
    with Session(warehouse, "duckdb") as session:
        session.execute("INSERT INTO t VALUES (10)")
    then(33)
    child.stdin.close()
    assert child.wait(60) == 0


def test_an_older_schema_is_not_upgraded_without_the_right_to(warehouse: Path) -> None:
    with sqlite3.connect(warehouse / "catalog.db") as connection:
        connection.execute("UPDATE schema_version SET version = version - 1")
    connection.close()
    assert answers(warehouse, "SELECT SUM(x) FROM t") == ["CATALOG_READ_ONLY"]


def test_a_directory_that_may_not_be_read(warehouse: Path) -> None:
    warehouse.chmod(0o700)
    assert answers(warehouse, "SELECT SUM(x) FROM t") == ["CATALOG_UNAVAILABLE"]
    warehouse.chmod(0o755)
    (warehouse / "catalog.db").chmod(0o600)
    assert answers(warehouse, "SELECT SUM(x) FROM t") == ["CATALOG_UNAVAILABLE"]


def test_an_absent_warehouse_below_what_may_not_be_written(folder: Path) -> None:
    assert answers(folder / "w", "SELECT 1", "SHOW TABLES", "CREATE TABLE t (x INT)") == [
        [[1]],
        "WAREHOUSE_NOT_FOUND",
        "CATALOG_UNAVAILABLE",
    ]


def test_a_moved_warehouse_is_read_where_it_may_not_be_written(warehouse: Path, folder: Path) -> None:
    warehouse.rename(folder / "moved")
    assert answers(folder / "moved", "SELECT SUM(x) FROM t", "DROP TABLE t") == [[[3]], "CATALOG_READ_ONLY"]


def test_a_server_whose_warehouse_may_not_be_written(folder: Path, postgres_url: str) -> None:
    """The catalog may be written, the files may not: the write fails by our error, and leaves nothing."""
    moved = folder / "w"
    with Session(moved, "duckdb", catalog=postgres_url) as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("INSERT INTO t VALUES (1), (2)")
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    moved.chmod(0o555)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with Session(moved, "duckdb", catalog=postgres_url) as session:
                assert session.execute("SELECT SUM(x) FROM t").fetch() == [(3,)]
                os.seteuid(NOBODY)
                assert session.execute("SELECT SUM(x) FROM t").fetch() == [(3,)]
                try:
                    session.execute("INSERT INTO t VALUES (9)")
                except Error as error:
                    code = 0 if error.condition == "FAILED_WRITE_FILE" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with Session(moved, "duckdb", catalog=postgres_url) as session:
        assert session.execute("SELECT SUM(x) FROM t").fetch() == [(3,)]


def test_a_role_that_may_only_read(tmp_path: Path, postgres_url: str, postgres_server: PostgresServer) -> None:
    """SELECT on the tables of the catalog is all that a reader needs."""
    with Session(tmp_path / "w", "duckdb", catalog=postgres_url) as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("INSERT INTO t VALUES (1), (2)")
    url = sa.make_url(postgres_url)
    schema = str(url.query["options"]).partition("=")[2]
    role = f"{schema}_role"
    postgres_server.run(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    try:
        postgres_server.run(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        postgres_server.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
        own_url = url.set(username=role, password="x").render_as_string(hide_password=False)
        with Session(tmp_path / "w", "duckdb", catalog=own_url) as session:
            assert session.execute("SELECT SUM(x) FROM t").fetch() == [(3,)]
            assert session.execute("SHOW TABLES").fetch()[0][0] == "t"
            for change in ("INSERT INTO t VALUES (3)", "DROP TABLE t", "CREATE TABLE u (x INT)"):
                with pytest.raises(Error) as raised:
                    session.execute(change)
                assert raised.value.condition == "CATALOG_ACCESS_DENIED"
            assert session.execute("SELECT SUM(x) FROM t").fetch() == [(3,)]
    finally:
        postgres_server.run(f"DROP OWNED BY {role}")
        postgres_server.run(f"DROP ROLE {role}")
