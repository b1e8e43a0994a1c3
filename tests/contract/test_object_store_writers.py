"""Writers of one table in an object store: conflicts, cancellation, batches, and tables on both sides."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from object_store import CREDENTIALS, ObjectStore

from rewriter.errors import ConflictError, Error
from rewriter.session import Session
from rewriter.storage.filesystems.options import store_options


@pytest.fixture
def session(tmp_path: Path, object_store: ObjectStore) -> Iterator[Session]:
    with opened(tmp_path, object_store) as session:
        session.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}'")
        session.execute("CREATE TABLE d.t (a INT) PARTITIONED BY (p INT)")
        session.execute("INSERT INTO d.t VALUES (1, 1)")
        yield session


def opened(tmp_path: Path, store: ObjectStore) -> Session:
    return Session(tmp_path / "warehouse", "duckdb", filesystems=store_options(store.options, "test"))


def rows(session: Session, sql: str = "SELECT * FROM d.t ORDER BY a") -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def test_the_files_of_a_conflict_go(session: Session, tmp_path: Path, object_store: ObjectStore) -> None:
    session.execute("START TRANSACTION")
    session.execute("INSERT OVERWRITE d.t VALUES (2, 1)")
    assert rows(session) == [(2, 1)]
    with opened(tmp_path, object_store) as other:
        other.execute("INSERT OVERWRITE d.t VALUES (3, 1)")
    before = len(object_store.files())
    with pytest.raises(ConflictError):
        session.execute("COMMIT")
    assert len(object_store.files()) == before - 1
    assert rows(session) == [(3, 1)]


def test_a_canceled_upload_leaves_nothing(session: Session, object_store: ObjectStore) -> None:
    before = object_store.files()
    object_store.fail(lambda method, path: 0.3 if method == "PUT" else None)
    values = ", ".join(f"({number}, {number})" for number in range(2, 100))
    session.execute("ALTER TABLE d.t SET TBLPROPERTIES ('rewriter.packed' = 'false')")

    def cancel() -> None:
        while not any(request.method == "PUT" for request in object_store.requests):
            time.sleep(0.01)
        session.cancel()

    object_store.forget()
    thread = threading.Thread(target=cancel)
    thread.start()
    began = time.monotonic()
    with pytest.raises(Error) as caught:
        session.execute(f"INSERT INTO d.t VALUES {values}")
    assert caught.value.condition == "OPERATION_CANCELED"
    assert time.monotonic() - began < 20
    thread.join()
    object_store.fail(None)
    assert object_store.files() == before
    assert rows(session) == [(1, 1)]


def test_batches_are_appended_once(session: Session, object_store: ObjectStore) -> None:
    data = pa.table({"a": pa.array([2, 3], pa.int32()), "p": pa.array([1, 2], pa.int32())})
    for _ in range(2):
        session.append("d.t", data, batch_id="b")
    assert rows(session) == [(1, 1), (2, 1), (3, 2)]
    session.execute("ALTER TABLE d.t SET TBLPROPERTIES ('rewriter.auto_compact.files' = '2')")
    session.append("d.t", data)
    assert rows(session, "SELECT COUNT(*) FROM d.t") == [(5,)]


def test_partitions_change_sides(session: Session, object_store: ObjectStore) -> None:
    session.execute("CREATE TABLE near (a INT) PARTITIONED BY (p INT)")
    session.execute("INSERT INTO near VALUES (7, 7)")
    session.execute("ALTER TABLE near EXCHANGE PARTITION (p = 1) WITH TABLE d.t")
    session.execute("ALTER TABLE d.t EXCHANGE PARTITION (p = 7) WITH TABLE near")
    session.execute("SET rewriter.least_retention_hours = 0")
    session.execute("INSERT INTO near VALUES (8, 1)")
    session.execute("INSERT INTO d.t VALUES (9, 7)")
    for _ in range(2):
        assert rows(session, "SELECT * FROM near ORDER BY a") == [(1, 1), (8, 1)]
        assert rows(session) == [(7, 7), (9, 7)]
        assert rows(session, "DESCRIBE EXTENDED d.t PARTITION (p = 7)")
        assert rows(session, "SHOW TABLE EXTENDED LIKE 'near' PARTITION (p = 1)")
        session.execute("VACUUM RETAIN 0 HOURS")
    session.execute("ALTER TABLE near COMPACT")
    session.execute("ALTER TABLE d.t COMPACT")
    session.execute("VACUUM RETAIN 0 HOURS")
    assert rows(session, "SELECT * FROM near ORDER BY a") == [(1, 1), (8, 1)]
    assert rows(session) == [(7, 7), (9, 7)]
    assert all(key.startswith("t-") for key in object_store.files())


def test_a_process_ends(tmp_path: Path, object_store: ObjectStore) -> None:
    """The threads of the client do not keep it, nor is anything said."""
    object_store.put("x.csv", b"a\n1\n")
    options = "\n".join(
        f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
        for name, value in object_store.options[object_store.uri].items()
    )
    (tmp_path / "rewriter.toml").write_text(f'[filesystems."{object_store.uri}"]\n{options}\n')
    command = [sys.executable, "-m", "rewriter", "sql", "-w", "w", "--engine", "duckdb", "-e"]
    uri = object_store.uri
    script = f"CREATE DATABASE d LOCATION '{uri}/d'; CREATE TABLE d.t AS SELECT a FROM csv.`{uri}/x.csv`"
    ended = subprocess.run(
        [*command, script], cwd=tmp_path, capture_output=True, text=True, timeout=60, env={**os.environ, **CREDENTIALS}
    )
    assert (ended.returncode, ended.stderr) == (0, "")
