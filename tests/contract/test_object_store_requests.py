"""What a query asks an object store for: no listing for managed tables, and only the bytes that it needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, object_store: ObjectStore) -> Iterator[Session]:
    with opened(tmp_path, object_store) as session:
        session.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}'")
        yield session


def opened(tmp_path: Path, store: ObjectStore) -> Session:
    return Session(tmp_path / "warehouse", "duckdb", filesystems=store_options(store.options, "test"))


def fetched(store: ObjectStore) -> int:
    return sum(request.bytes for request in store.requests if request.method == "GET")


def test_no_managed_table_is_listed(session: Session, tmp_path: Path, object_store: ObjectStore) -> None:
    for packed in ("true", "false"):
        table = f"d.t_{packed}"
        session.execute(
            f"CREATE TABLE {table} (a INT) PARTITIONED BY (p INT) TBLPROPERTIES ('rewriter.packed' = '{packed}')"
        )
        session.execute(f"INSERT INTO {table} SELECT id, id % 20 FROM (SELECT explode(sequence(1, 100)) AS id)")
    object_store.forget()
    with opened(tmp_path, object_store) as other:  # Nothing is kept in it.
        other.plan("SELECT * FROM d.t_true WHERE p < 10")
        assert object_store.requests == []
        for table in ("d.t_true", "d.t_false"):
            for query in (
                f"SELECT SUM(a) FROM {table} WHERE p < 10",
                f"SELECT MAX(a), COUNT(*) FROM {table}",
                f"SELECT * FROM {table} LIMIT 3",
                f"SHOW PARTITIONS {table}",
                f"DESCRIBE EXTENDED {table}",
                f"EXPLAIN SELECT * FROM {table}",
                f"ANALYZE TABLE {table} COMPUTE STATISTICS",
            ):
                other.execute(query).fetch()
    assert object_store.requests
    assert not [request for request in object_store.requests if request.is_listing]


def test_two_listings_check_the_directory_of_a_write(session: Session, object_store: ObjectStore) -> None:
    """One before the engine writes, and one before the upload."""
    session.execute("CREATE TABLE d.t (a INT)")
    object_store.forget()
    session.execute("INSERT INTO d.t VALUES (1)")
    listings = [request.query for request in object_store.requests if request.is_listing]
    assert len(listings) == 2
    assert "max-keys=1&" in listings[0]


def test_a_query_fetches_what_it_needs(session: Session, tmp_path: Path, object_store: ObjectStore) -> None:
    session.execute("CREATE TABLE d.t (a INT, b STRING, c DOUBLE) PARTITIONED BY (p INT)")
    session.execute(
        "INSERT INTO d.t SELECT id, sha2(CAST(id AS STRING), 256), sqrt(id), id DIV 100000 "
        "FROM (SELECT explode(sequence(0, 399999)) AS id)"
    )
    size = sum(object_store.client.get_file_info(f"{object_store.bucket}/{key}").size for key in object_store.files())
    assert size > 20_000_000
    for query, most in (
        ("SELECT COUNT(*), MAX(a) FROM d.t", 0.01),  # footers
        ("SELECT SUM(c) FROM d.t WHERE p = 2", 0.06),  # one column of one partition
        ("SELECT SUM(a) FROM d.t WHERE a BETWEEN 5 AND 9", 0.06),  # one row group
        ("SELECT SUM(c) FROM d.t", 0.2),  # one column
    ):
        with opened(tmp_path, object_store) as other:
            object_store.forget()
            other.execute(query).fetch()
        assert fetched(object_store) <= most * size, query
    # What was fetched of managed files is kept.
    session.execute("SELECT SUM(c) FROM d.t").fetch()
    object_store.forget()
    session.execute("SELECT SUM(c) FROM d.t").fetch()
    assert fetched(object_store) == 0
