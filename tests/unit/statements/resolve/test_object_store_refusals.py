"""What object stores do not have is refused by name, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import Error, InterfaceError, NotSupportedError
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, object_store: ObjectStore) -> Iterator[Session]:
    options = store_options(object_store.options, "test")
    with Session(tmp_path / "warehouse", "duckdb", filesystems=options) as opened:
        opened.execute(f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (p INT) LOCATION '{object_store.uri}/e'")
        opened.execute("ALTER TABLE e ADD PARTITION (p = 1)")
        opened.execute(f"CREATE EXTERNAL TABLE u (a INT) LOCATION '{object_store.uri}/u'")
        opened.execute("CREATE TABLE t (a INT) PARTITIONED BY (p INT)")
        yield opened


WRITE, UNSUPPORTED = "OBJECT_STORE_WRITE", "OBJECT_STORE_UNSUPPORTED"
STATEMENTS = [
    ("INSERT INTO e VALUES (1, 1)", WRITE),
    ("INSERT OVERWRITE u VALUES (1)", WRITE),
    ("EXPLAIN INSERT OVERWRITE e VALUES (1, 1)", WRITE),
    ("FROM u INSERT INTO u SELECT a INSERT INTO t SELECT a, 1", "MULTI_INSERT_EXTERNAL"),
    ("LOAD DATA INPATH '/nowhere' INTO TABLE u", WRITE),
    ("CREATE TABLE n LOCATION '{uri}/n' AS SELECT 1 AS a", WRITE),
    ("ALTER TABLE e PARTITION (p = 1) RENAME TO PARTITION (p = 2)", "DIRECTORY_NOT_MOVABLE"),
    ("INSERT OVERWRITE DIRECTORY '{uri}/out' SELECT 1 AS a", "UNSUPPORTED"),
    ("CREATE DATABASE d LOCATION 's3://me:secret@bucket/x'", "UNSUPPORTED"),
    ("CREATE EXTERNAL TABLE n (a INT) LOCATION 's3://bucket/a/../b'", "UNSUPPORTED"),
    ("CREATE EXTERNAL TABLE n (a INT) LOCATION 's3://bucket/a*'", "UNSUPPORTED"),
    ("CREATE EXTERNAL TABLE n (a INT) LOCATION 'hdfs://host/a'", "UNSUPPORTED"),
    ("CREATE EXTERNAL TABLE n (a INT) LOCATION 's3://'", "UNSUPPORTED"),
    ("ALTER TABLE u SET LOCATION 'gs://bucket/a'", "UNSUPPORTED"),
    ("ALTER TABLE e ADD PARTITION (p = 4) LOCATION ''", "UNSUPPORTED"),
    ("CREATE EXTERNAL TABLE n (a INT) LOCATION '{uri}/e/p=1'", "SHARED_LOCATION"),
    ("CREATE EXTERNAL TABLE n (a INT) LOCATION '{uri}'", "SHARED_LOCATION"),
    ("CREATE DATABASE d LOCATION '{uri}/e/x'", "UNSAFE_LOCATION"),
    ("ALTER TABLE e ADD PARTITION (p = 3) LOCATION '{uri}/u'", "SHARED_LOCATION"),
]


@pytest.mark.parametrize(("statement", "condition"), STATEMENTS, ids=[text[:60] for text, _ in STATEMENTS])
def test_a_statement_is_refused(
    session: Session, object_store: ObjectStore, statement: str, condition: str | None
) -> None:
    with pytest.raises(Error) as caught:
        session.execute(statement.replace("{uri}", object_store.uri))
    assert condition is None or caught.value.condition == condition
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    assert object_store.files() == []
    assert not [name for name in session.execute("SHOW TABLES").fetch() if "n" in name]


def test_streams_are_refused(session: Session, tmp_path: Path, object_store: ObjectStore) -> None:
    source, checkpoint = f"{object_store.uri}/in", str(tmp_path / "checkpoint")
    for path, place in ((source, checkpoint), (str(tmp_path), source)):
        with pytest.raises(NotSupportedError) as caught:
            session.execute(
                f"INSERT INTO t FROM STREAM parquet.`{path}` OPTIONS ('stream' = 's', 'checkpoint' = '{place}')"
            )
        assert caught.value.condition == UNSUPPORTED
    assert not Path(checkpoint).exists()


def test_appends_are_refused(session: Session) -> None:
    with pytest.raises(NotSupportedError) as caught:
        session.append("u", pa.table({"a": pa.array([1], pa.int32())}))
    assert caught.value.condition == WRITE


def test_managed_places_are_guarded(session: Session, object_store: ObjectStore) -> None:
    session.execute(f"CREATE DATABASE d LOCATION '{object_store.uri}/db'")
    session.execute("CREATE TABLE d.m (a INT)")
    for place in ("db", "db/m-9", "db/other-1/x"):
        with pytest.raises(Error) as caught:
            session.execute(f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{object_store.uri}/{place}'")
        assert caught.value.condition == "UNSAFE_LOCATION"
    session.execute(f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{object_store.uri}/dbx'")


def test_a_warehouse_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InterfaceError, match="not a local directory"):
        Session("s3://bucket/warehouse", "duckdb")
    assert list(tmp_path.iterdir()) == []
