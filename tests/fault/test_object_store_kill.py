"""A process killed at a request of an INSERT, a COMPACT or a VACUUM loses nothing, and VACUUM finds what it has left.

The store kills the process: before or after it carries out the n-th request that changes it. In the ordinary run one
moment of each statement is tried, which the commit selects; ``pytest -m long`` tries all of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from object_store import CREDENTIALS, ObjectStore
from rotation import turn

from rewriter.catalog.filesystems.options import store_options
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.store import schema
from rewriter.session import Session

FILL = "INSERT OVERWRITE d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')"
STATEMENTS = {
    "into": "INSERT INTO d.t VALUES (4, 'a'), (5, 'b'), (6, 'x')",
    "overwrite": "INSERT OVERWRITE d.t VALUES (4, 'a'), (5, 'b'), (6, 'x')",
    "compact": "ALTER TABLE d.t COMPACT",
    "vacuum": "VACUUM RETAIN 0 HOURS",
}
AFTER = {
    "into": [(1, "a"), (2, "b"), (3, "c"), (4, "a"), (5, "b"), (6, "x")],
    "overwrite": [(3, "c"), (4, "a"), (5, "b"), (6, "x")],
}
#: Forks a process for each line that it reads: the parent has never used a store, whose threads a fork would lack.
HOST = """
import json, os, sys
import pyarrow.fs, pyarrow.parquet, duckdb, fsspec
from rewriter.session import Session
from rewriter.catalog.filesystems.options import store_options
for line in sys.stdin:
    warehouse, options, statements = json.loads(line)
    child = os.fork()
    if child == 0:
        sys.stdin.readline()
        with Session(warehouse, "duckdb", filesystems=store_options(options, "test")) as session:
            for statement in statements:
                session.execute(statement)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Host:
    """Runs statements in processes that a store may kill."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOST],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **CREDENTIALS},
        )

    def dies(self, warehouse: Path, store: ObjectStore, statements: list[str], moment: int) -> bool:
        """Runs the statements in a process that is killed at the n-th moment of the last one; returns whether it was.
        Each request that changes the store has two moments: before it, and after it.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        requests = [0]
        child: list[int] = []

        def kill(method: str, path: str) -> str | None:
            if method in ("PUT", "POST", "DELETE") and child:
                requests[0] += 1
                if requests[0] == (moment + 1) // 2:
                    os.kill(child[0], signal.SIGKILL)
                    return "cut" if moment % 2 else None
            return None

        store.fail(kill)
        # The child begins when it reads its number of statements, after its id is known here.
        print(json.dumps([str(warehouse), store.options, statements]), file=self._process.stdin, flush=True)
        child.append(int(self._process.stdout.readline()))
        print(file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        store.fail(None)
        assert status in (0, signal.SIGKILL)
        return status == signal.SIGKILL

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_killed_statement(host: Host, tmp_path: Path, object_store: ObjectStore, name: str, every: bool) -> None:
    warehouse = tmp_path / "warehouse"
    settings = ["SET rewriter.least_retention_hours = 0"]
    with Session(warehouse, "duckdb", filesystems=store_options(object_store.options, "test")) as session:
        session.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}'")
        properties = "TBLPROPERTIES ('rewriter.packed' = 'false')"
        session.execute(f"CREATE TABLE d.t (a INT) PARTITIONED BY (p STRING) {properties}")
        session.execute(settings[0])
        moments = range(1, 100) if every else [1 + turn() % 6]
        for moment in moments:
            session.execute("ALTER TABLE d.t DROP IF EXISTS PARTITION (p = 'x')")
            session.execute(FILL)
            if name in ("compact", "vacuum"):
                for value in (1, 2, 3):
                    session.execute(f"ALTER TABLE d.t DROP PARTITION (p = '{'abc'[value - 1]}')")
                    session.execute(f"INSERT INTO d.t VALUES ({value}, '{'abc'[value - 1]}')")
                    if name == "compact":
                        session.execute("INSERT INTO d.t SELECT a + 10, p FROM d.t WHERE a = " + str(value))
            before = rows(session)
            killed = host.dies(warehouse, object_store, [*settings, STATEMENTS[name]], moment)
            after = AFTER.get(name, before)
            assert rows(session) == (before if killed else after)
            age_transactions(session)
            session.execute(STATEMENTS["vacuum"])
            assert rows(session) == (before if killed else after)
            assert {f"{object_store.uri}/{key}" for key in object_store.files()} == live_files(session)
            with session._scope():
                assert [finding.problem for finding in findings(session.catalog.database)] == []
            if not killed:
                break
        assert killed is not every


def rows(session: Session) -> list[tuple[object, ...]]:
    return session.execute("SELECT a, p FROM d.t ORDER BY a").fetch()


def live_files(session: Session) -> set[str]:
    snapshot = session.snapshot()
    return {file.path for _, file in snapshot.files(snapshot.table("d.t"), None)}


def age_transactions(session: Session) -> None:
    """Makes the transactions of dead processes silent for long."""
    row = schema.transactions.c
    with session.catalog.database.write() as connection:
        old = sa.update(schema.transactions).values(heartbeat_at=row.heartbeat_at - 100 * 3600)
        connection.execute(old.where(row.state == "open"))
