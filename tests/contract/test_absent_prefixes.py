"""Directories in an object store: one exists if a file or a marker lies below its path."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import Error
from rewriter.session import Session


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path, object_store: ObjectStore) -> Iterator[Session]:
    engine = request.getfixturevalue(request.param)
    with Session(tmp_path / "w", engine, filesystems=store_options(object_store.options, "test")) as opened:
        yield opened


@pytest.fixture
def on_duckdb(tmp_path: Path, object_store: ObjectStore) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb", filesystems=store_options(object_store.options, "test")) as opened:
        yield opened


def put(store: ObjectStore, key: str, *values: int) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array(values, pa.int64())}), buffer)
    store.put(key, buffer.getvalue())


def fill(session: Session, store: ObjectStore) -> None:
    """A fact of external hours in the store and managed days on disk, both days refreshed."""
    for number in range(48):
        put(store, f"h/p=2024-01-0{1 + number // 24}-{number % 24:02}/part.parquet", number)
    for sql in (
        f"CREATE EXTERNAL TABLE h (n BIGINT) PARTITIONED BY (p STRING) LOCATION '{store.uri}/h'",
        "MSCK REPAIR TABLE h",
        "CREATE TABLE d (n BIGINT) PARTITIONED BY (p STRING)",
        "CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (p), "
        "TABLE d PERIOD DAILY PARTITIONED BY t AS (p))",
        "REFRESH FACT f",
    ):
        session.execute(sql)


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def failure(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql).fetch()
    return caught.value


def test_a_prefix_without_keys_is_absent(session: Session, object_store: ObjectStore) -> None:
    """Spark has no client for the store here. The listing is ours, and comes before it."""
    place = f"{object_store.uri}/e/p=1"
    session.execute(f"CREATE EXTERNAL TABLE e (n BIGINT) PARTITIONED BY (p INT) LOCATION '{object_store.uri}/e'")
    session.execute("ALTER TABLE e ADD PARTITION (p = 1)")
    for sql in ("SELECT * FROM e", "SELECT COUNT(*) FROM e", "SELECT MAX(n) FROM e", "SELECT * FROM e LIMIT 1"):
        error = failure(session, sql)
        assert (error.condition, error.object) == ("PATH_NOT_FOUND", place), sql
    object_store.put("e/p=1", b"a file in place of the directory")
    assert failure(session, "SELECT * FROM e").condition == "PATH_NOT_FOUND"
    object_store.delete("e/p=1")
    for key in ("e/p=1/", "e/p=1/_SUCCESS"):  # The marker of an empty directory, and a hidden file.
        if key.endswith("/"):
            object_store.client.create_dir(f"{object_store.bucket}/e/p=1")
        else:
            object_store.put(key, b"")
        assert rows(session, "SELECT * FROM e") == []
        assert rows(session, "SELECT COUNT(*) FROM e") == [(0,)]
        object_store.client.delete_dir(f"{object_store.bucket}/e/p=1")
        assert failure(session, "SELECT * FROM e").condition == "PATH_NOT_FOUND"


def test_an_unpartitioned_table_and_a_bucket_that_does_not_exist(session: Session, object_store: ObjectStore) -> None:
    session.execute(f"CREATE EXTERNAL TABLE e (n BIGINT) LOCATION '{object_store.uri}/e'")
    assert failure(session, "SELECT * FROM e").condition == "PATH_NOT_FOUND"
    session.execute(f"CREATE EXTERNAL TABLE b (n BIGINT) LOCATION '{object_store.uri}-absent/e'")
    assert failure(session, "SELECT COUNT(*) FROM b").condition in ("PATH_NOT_FOUND", "FAILED_READ_FILE")


def test_a_partition_in_the_store_of_a_table_on_disk(
    on_duckdb: Session, tmp_path: Path, object_store: ObjectStore
) -> None:
    session, place = on_duckdb, f"{object_store.uri}/elsewhere"
    put(object_store, "elsewhere/part.parquet", 5)
    session.execute(f"CREATE EXTERNAL TABLE e (n BIGINT) PARTITIONED BY (p INT) LOCATION '{tmp_path}/e'")
    session.execute("INSERT INTO e VALUES (1, 1)")
    session.execute(f"ALTER TABLE e ADD PARTITION (p = 2) LOCATION '{place}'")
    assert rows(session, "SELECT SUM(n) FROM e") == [(6,)]
    assert rows(session, "SELECT COUNT(*) FROM e") == [(2,)]
    object_store.client.delete_dir(f"{object_store.bucket}/elsewhere")
    assert failure(session, "SELECT SUM(n) FROM e").object == place


def test_rollups_over_an_absent_prefix(on_duckdb: Session, object_store: ObjectStore) -> None:
    session = on_duckdb
    fill(session, object_store)
    kept = rows(session, "SELECT p, n FROM d ORDER BY p")
    object_store.client.delete_dir(f"{object_store.bucket}/h/p=2024-01-02-05")
    for sql in ("SELECT SUM(n) FROM h", "ANALYZE TABLE h COMPUTE STATISTICS", "REFRESH TABLE h", "CHECK FACT f"):
        error = failure(session, sql)
        assert (error.condition, error.object) == ("PATH_NOT_FOUND", f"{object_store.uri}/h/p=2024-01-02-05")
    assert [(row[2], row[4], str(row[5])[:7]) for row in rows(session, "REFRESH FACT f FORCE")] == [
        ("2024-01-01", "fresh", "refresh"),
        ("2024-01-02", "fresh", "skipped"),
    ]
    assert rows(session, "SELECT p, n FROM d ORDER BY p") == kept
    assert rows(session, "SHOW MISSING PARTITIONS OF f") == [
        ("h", "HOURLY", "2024-01-02T05", "2024-01-02T06", 1, "load")
    ]
    put(object_store, "h/p=2024-01-02-05/part.parquet", 1029)
    session.execute("REFRESH FACT f")
    assert rows(session, "SELECT SUM(n) FROM d") == [(2128,)]


def test_hours_that_are_marked_complete(on_duckdb: Session, object_store: ObjectStore) -> None:
    """The owner's word that nothing happened makes the marker of a directory."""
    session = on_duckdb
    fill(session, object_store)
    session.execute("ALTER FACT f MARK COMPLETE FROM '2024-01-03' TO '2024-01-03T02'")
    assert rows(session, "SELECT COUNT(*) FROM h WHERE p >= '2024-01-03'") == [(0,)]


def test_no_further_request_is_made(on_duckdb: Session, object_store: ObjectStore) -> None:
    """The listing of a partition's files says whether the directory exists. A work list lists the directory above."""
    session = on_duckdb
    fill(session, object_store)
    for sql, listings in (
        ("SELECT SUM(n) FROM h", 48),
        ("SELECT SUM(n) FROM h WHERE p < '2024-01-02'", 24),
        ("REFRESH FACT f", 48),
        ("SHOW MISSING PARTITIONS OF f", 1),
        ("SHOW OUTDATED PARTITIONS OF f FROM '2024-01-02' TO '2024-01-03'", 1),
        ("ALTER TABLE h ADD PARTITION (p = '2024-01-03-00')", 0),
    ):
        object_store.forget()
        session.execute(sql).fetch()
        assert len([request for request in object_store.requests if request.is_listing]) == listings, sql
