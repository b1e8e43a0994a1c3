"""Spark reads tables in object stores by a client of Hadoop, ``s3a://``, whose jars PySpark does not have.

Here Hadoop's own file system of mounts stands in for the client: it shows a local copy of the bucket as ``s3a://``.
What is tested is what Spark is told; the client itself is not.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from object_store import ObjectStore

from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import Error
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

pytestmark = pytest.mark.spark

QUERIES = (
    "SELECT * FROM d.{} ORDER BY a",
    "SELECT a FROM d.{} WHERE p = 'a b/%' ORDER BY a",
    "SELECT p, SUM(a) FROM d.{} GROUP BY p ORDER BY p",
    "SELECT COUNT(*) FROM d.{}",
)


def filled(directory: Path, store: ObjectStore) -> Session:
    session = Session(directory, "duckdb", filesystems=store_options(store.options, "test"))
    session.execute(f"CREATE DATABASE d LOCATION '{store.uri}/db'")
    for format in ("parquet", "csv", "json", "orc", "textfile"):
        session.execute(f"CREATE TABLE d.{format} (a INT, b STRING) PARTITIONED BY (p STRING) STORED AS {format}")
    for packed in ("true", "false"):
        properties = f"TBLPROPERTIES ('rewriter.packed' = '{packed}')"
        session.execute(f"CREATE TABLE d.packed_{packed} (a INT, b STRING) PARTITIONED BY (p STRING) {properties}")
    for table in [*TABLES, "textfile"]:
        session.execute(f"INSERT INTO d.{table} VALUES (1, 'x', 'a b/%'), (2, NULL, 'ä+'), (3, 'z', NULL)")
        session.execute(f"INSERT INTO d.{table} VALUES (4, 'w', 'ä+')")
        session.execute(f"ALTER TABLE d.{table} PARTITION (p = 'ä+') RENAME TO PARTITION (p = 'ö&')")
    return session


TABLES = ["parquet", "csv", "json", "orc", "packed_true", "packed_false"]


def test_spark_reads_what_duckdb_wrote(spark: SparkEngine, tmp_path: Path, object_store: ObjectStore) -> None:
    mounted = tmp_path / "mounted"
    with filled(tmp_path / "w", object_store) as session:
        expected = {query: session.execute(query).fetch() for query in queries()}
    for key in object_store.files():
        (mounted / key).parent.mkdir(parents=True, exist_ok=True)
        (mounted / key).write_bytes(object_store.get(key))
    settings = {
        "fs.s3a.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "fs.s3a.impl.disable.cache": "true",
        "fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
        f"fs.viewfs.mounttable.{object_store.bucket}.link./db": f"file://{mounted}/db",
    }
    options = store_options(object_store.options, "test")
    with Session(tmp_path / "w", spark, filesystems=options) as session:
        with pytest.raises(Error) as caught:
            session.execute("SELECT * FROM d.parquet").fetch()
        assert caught.value.condition == "OBJECT_STORE_CLIENT_NOT_FOUND"
        assert "\n\tat " not in str(caught.value)
        assert spark._started is not None
        started = (spark._started.session, spark._started.small_session)
        try:
            for spark_session in started:
                for name, value in settings.items():
                    spark_session.conf.set(name, value)
            for query in queries():
                assert expected[query]
                assert session.execute(query).fetch() == expected[query], query
        finally:
            for spark_session in started:
                for name in settings:
                    spark_session.conf.unset(name)
        with pytest.raises(Error) as caught:
            session.execute("SELECT * FROM d.textfile").fetch()
        assert caught.value.condition == "OBJECT_STORE_UNSUPPORTED"


def test_a_local_spark_writes_and_the_files_are_uploaded(
    spark: SparkEngine, tmp_path: Path, object_store: ObjectStore
) -> None:
    options = store_options(object_store.options, "test")
    rows = "VALUES (9, 'n', 'n'), (8, NULL, 'a b/%'), (7, '', NULL)"
    new = [(9, "n", "n"), (8, None, "a b/%"), (7, "", None), (1, "y", "one")]
    with filled(tmp_path / "w", object_store) as session:
        expected = {
            table: sorted(session.execute(f"SELECT * FROM d.{table}").fetch() + new, key=str)
            for table in [*TABLES, "textfile"]
        }
    with Session(tmp_path / "w", spark, filesystems=options) as session:
        for table in expected:
            session.execute(f"INSERT INTO d.{table} {rows}")
            session.execute(f"INSERT OVERWRITE d.{table} PARTITION (p = 'one') SELECT 1, 'y'")
        session.execute(f"CREATE TABLE d.n AS {rows}")
        session.execute("START TRANSACTION")
        session.execute("INSERT INTO d.n VALUES (1, 'back', 'x')")
        session.execute("ROLLBACK")
    with Session(tmp_path / "w", "duckdb", filesystems=options) as session:
        for table, content in expected.items():
            actual = session.execute(f"SELECT * FROM d.{table}").fetch()
            assert sorted(actual, key=str) == content, table
        assert session.execute("SELECT count(*) FROM d.n").fetch() == [(3,)]


def test_a_spark_of_other_machines_is_refused(
    spark: SparkEngine, tmp_path: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "w", object_store).close()
    before = object_store.files()
    monkeypatch.setattr(spark._awaited_spark(), "shares_files", False)
    with Session(tmp_path / "w", spark, filesystems=store_options(object_store.options, "test")) as session:
        for statement in ("INSERT INTO d.parquet VALUES (9, 'n', 'n')", "CREATE TABLE d.n AS SELECT 1 AS a"):
            with pytest.raises(Error) as caught:
                session.execute(statement)
            assert caught.value.condition == "OBJECT_STORE_WRITE"
    assert object_store.files() == before


def queries() -> list[str]:
    return [query.format(table) for table in TABLES for query in QUERIES]
