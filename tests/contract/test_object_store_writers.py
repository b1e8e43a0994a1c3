"""Writers of one table in an object store: conflicts, cancellation, batches, and tables on both sides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from object_store import CREDENTIALS, ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import ConflictError, Error
from rewriter.session import Session
from rewriter.statements.write import insert


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


def test_a_stream_writes_there(session: Session, tmp_path: Path, object_store: ObjectStore) -> None:
    """In the background, too, with a success file for each partition that is complete."""
    properties = (
        "'rewriter.partition_commit.trigger' = 'partition time', "
        "'rewriter.partition_commit.policies' = 'metastore, success-file'"
    )
    session.execute(f"CREATE TABLE d.hours (n BIGINT) PARTITIONED BY (h STRING) TBLPROPERTIES ({properties})")
    session.execute("CREATE CUBE d.c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    session.execute("USE d")
    session.execute("CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h))")
    source = tmp_path / "in"
    source.mkdir()
    for hour in (0, 1):
        pq.write_table(pa.table({"n": [hour], "h": [f"2026-01-01-0{hour}"]}), source / f"{hour}.parquet")
        session.execute(
            f"INSERT INTO hours FROM STREAM parquet.`{source}` "
            f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path / 'checkpoint'}')"
        )
    assert rows(session, "SELECT n, h FROM hours ORDER BY n") == [(0, "2026-01-01-00"), (1, "2026-01-01-01")]
    markers = [key for key in object_store.files() if key.endswith("_SUCCESS")]
    assert [key.split("/")[1] for key in markers] == ["h=2026-01-01-00"]
    assert json.loads(object_store.get(markers[0]))["rows"] == 1
    session.execute("ALTER TABLE hours DROP PARTITION (h = '2026-01-01-00')")
    assert not [key for key in object_store.files() if key.endswith("_SUCCESS")]


def two_warehouses(tmp_path: Path, store: ObjectStore) -> tuple[Session, Session]:
    """Returns the sessions of two catalogs that keep one database at one place, where they give the same write ids."""
    both = []
    for name in ("a", "b"):
        session = Session(tmp_path / name, "duckdb", filesystems=store_options(store.options, "test"))
        session.execute(f"CREATE DATABASE d LOCATION '{store.uri}/shared'")
        session.execute("CREATE TABLE d.t (x INT)")
        both.append(session)
    return both[0], both[1]


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SELECT CAST('no' AS INT)", "CAST_INVALID_INPUT"),
        ("SELECT 1 WHERE false", None),
        ("SELECT 3", "WRITE_DIRECTORY_EXISTS"),
    ],
)
def test_what_another_catalog_has_committed_stays(
    tmp_path: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, query: str, condition: str | None
) -> None:
    """A statement that has begun fails, writes nothing, or finds files under its write id when it uploads."""
    first, second = two_warehouses(tmp_path, object_store)
    original = insert.write_rows

    def meanwhile(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(insert, "write_rows", original)
        first.execute("INSERT INTO d.t VALUES (1), (2)")
        return original(*arguments, **options)

    monkeypatch.setattr(insert, "write_rows", meanwhile)
    with first, second:
        if condition is None:
            second.execute(f"INSERT INTO d.t {query}")
        else:
            with pytest.raises(Error) as caught:
                second.execute(f"INSERT INTO d.t {query}")
            assert caught.value.condition == condition
        assert len(object_store.files()) == 1
        assert rows(first, "SELECT * FROM d.t ORDER BY x") == [(1,), (2,)]
        second.execute("SET rewriter.least_retention_hours = 0")
        if condition == "WRITE_DIRECTORY_EXISTS":
            second.execute("VACUUM RETAIN 0 HOURS")
            assert rows(first, "SELECT * FROM d.t ORDER BY x") == [(1,), (2,)]


def test_a_rollback_keeps_what_another_catalog_has(tmp_path: Path, object_store: ObjectStore) -> None:
    first, second = two_warehouses(tmp_path, object_store)
    with first, second:
        second.execute("START TRANSACTION")
        second.execute("INSERT INTO d.t VALUES (3)")
        (key,) = object_store.files()
        other = object_store.put(f"{key.rpartition('/')[0]}/other.parquet", b"of another catalog")
        second.execute("ROLLBACK")
        assert [f"{object_store.uri}/{key}" for key in object_store.files()] == [other]


@pytest.mark.parametrize("fails", [False, True])
def test_copies_of_another_catalog_stay(tmp_path: Path, object_store: ObjectStore, fails: bool) -> None:
    """REPLICATE removes only its own copies, and does not begin where others are."""
    clusters = {"C1": {"engine": "duckdb"}, "C2": {"filesystem": f"{object_store.uri}/c2", "engine": "duckdb"}}
    with opened(tmp_path, object_store) as session:
        session.execute(f"SET hive.cluster.properties = '{json.dumps(clusters)}'")
        session.execute("SET hive.default.cluster.name = 'C1'")
        session.execute("CREATE TABLE t (a INT) ON CLUSTER C1")
        session.execute("INSERT INTO t VALUES (1)")
        placed: list[str] = []

        def fault(method: str, path: str) -> str | None:
            if method != "PUT" or not path.endswith(".parquet"):
                return None
            object_store.fail(lambda method, path: "403" if method == "PUT" else None)
            placed.append(path)
            return "403"

        object_store.fail(fault)
        with pytest.raises(Error, match="cannot be written"):
            session.execute("REPLICATE TABLE t TO CLUSTER C2")
        object_store.fail(None)
        folder = placed[0].removeprefix(f"/{object_store.bucket}/").rpartition("/")[0]
        stem, _, write_id = folder.rpartition("=")
        other = f"{stem}={int(write_id) + 1}/other.parquet"
        if fails:
            object_store.put(other, b"of another catalog")
            with pytest.raises(Error) as caught:
                session.execute("REPLICATE TABLE t TO CLUSTER C2")
            assert caught.value.condition == "WRITE_DIRECTORY_EXISTS"
        else:

            def put_other(method: str, path: str) -> str | None:
                if method == "PUT" and "part-" in path:
                    object_store.fail(lambda method, path: "403" if method == "PUT" and "part-" in path else None)
                    object_store.put(other, b"of another catalog")
                    return "403"
                return None

            object_store.fail(put_other)
            with pytest.raises(Error, match="cannot be written"):
                session.execute("REPLICATE TABLE t TO CLUSTER C2")
        object_store.fail(None)
        assert object_store.files() == [other]
        session.execute("REPLICATE TABLE t TO CLUSTER C2")
        assert len(object_store.files()) == 2
