"""INSERT OVERWRITE DIRECTORY: both engines write the same rows, and replace the whole directory or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rewriter.errors import AnalysisError, DataError, Error, IntegrityError, NotSupportedError, OperationalError
from rewriter.exec.engine import Engine
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

CLAUSES = {
    "parquet": "USING parquet OPTIONS (compression = 'snappy')",
    "orc": "STORED AS ORC",
    "json": "USING json",
    "csv": "USING csv OPTIONS (header = true, escape = '\"')",
}
QUERY = "SELECT id, s FROM VALUES (1, 'a,\"b'), (2, NULL), (3, '') AS v(id, s)"
ROWS: list[tuple[Any, ...]] = [(1, 'a,"b'), (2, None), (3, "")]


@contextmanager
def warehouse(directory: Path, engine: Engine) -> Iterator[Session]:
    with Session(directory / "w", engine) as session:
        session.execute("CREATE TABLE m (a INT)")
        yield session


def content(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("format", CLAUSES)
def test_a_directory_is_replaced(format: str, engine: Engine, spark: SparkEngine, tmp_path: Path) -> None:
    out = tmp_path / "above" / "out"
    with warehouse(tmp_path, engine) as session:
        for query, expected in ((QUERY, ROWS), (f"{QUERY} WHERE id > 2", ROWS[2:]), (f"{QUERY} WHERE id > 3", [])):
            result = session.execute(f"INSERT OVERWRITE DIRECTORY '{out}' {CLAUSES[format]} {query}")
            assert result.rowcount == len(expected)
            cast = "CAST(id AS INT), s" if format in ("csv", "json") else "*"
            if expected or format in ("parquet", "orc"):
                rows = session.execute(f"SELECT {cast} FROM {format}.`{out}` ORDER BY 1").fetch()
                assert rows == expected
            reader = spark._running_spark().session.read.schema("id INT, s STRING").format(format)
            frame = reader.option("header", "true").option("escape", '"').option("nullValue", "\x01").load(str(out))
            assert sorted(row[0] for row in frame.collect()) == [row[0] for row in expected]
            (out / "old").mkdir()
            (out / "old" / "file").write_text("x")
    assert os.listdir(tmp_path / "above") == ["out"]


def test_without_a_format_the_files_are_those_of_hive(engine: Engine, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with warehouse(tmp_path, engine) as session:
        for clause, text in (
            ("", "1\x01a\n\\N\x01\n"),
            (r"ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t' NULL DEFINED AS '-'", "1\ta\n-\t\n"),
        ):
            query = "SELECT * FROM VALUES (1, 'a'), (NULL, '') AS v(x, y) ORDER BY y DESC"
            session.execute(f"INSERT OVERWRITE LOCAL DIRECTORY '{out}' {clause} {query}")
            written = "".join((out / name).read_text() for name in content(out))
            assert sorted(written.splitlines()) == sorted(text.splitlines())
        session.execute(f"INSERT OVERWRITE DIRECTORY '{out}' SELECT 1, 1")
        assert [(out / name).read_text() for name in content(out)] == ["1\x011\n"]


def test_a_query_may_read_the_directory_that_it_replaces(engine: Engine, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with warehouse(tmp_path, engine) as session:
        session.execute(f"INSERT OVERWRITE DIRECTORY '{out}' USING parquet {QUERY}")
        session.execute(
            f"WITH x AS (SELECT * FROM parquet.`{out}`) INSERT OVERWRITE DIRECTORY '{out}' USING parquet "
            "SELECT id + 10 AS id FROM x"
        )
        assert session.execute(f"SELECT id FROM parquet.`{out}` ORDER BY id").fetch() == [(11,), (12,), (13,)]


def test_a_failure_leaves_the_old_content(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").write_text("x")
    failing: dict[str, type[Error]] = {
        "SELECT CAST(s AS INT) FROM VALUES ('1'), ('x') AS v(s)": DataError,
        r"SELECT 'a\nb'": DataError,
        "SELECT * FROM nothing": AnalysisError,
    }
    with warehouse(tmp_path, engine) as session:
        for query, error in failing.items():
            with pytest.raises(error):
                session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'out'}' {query}")
            assert sorted(os.listdir(tmp_path)) == ["out", "w"]
            assert content(tmp_path / "out") == ["file"]


def test_directories_that_share_files_with_a_table_are_refused(duckdb: Engine, tmp_path: Path) -> None:
    with warehouse(tmp_path, duckdb) as session:
        session.execute("INSERT INTO m VALUES (1)")
        session.execute(f"CREATE TABLE e (a INT) PARTITIONED BY (p INT) LOCATION '{tmp_path / 'e' / 'f'}'")
        shared = "TBLPROPERTIES ('rewriter.shared' = 'true')"
        session.execute(f"CREATE TABLE s (a INT) LOCATION '{tmp_path / 's'}' {shared}")
        session.execute(f"ALTER TABLE e ADD PARTITION (p = 1) LOCATION '{tmp_path / 'g' / 'h'}'")
        (managed,) = (tmp_path / "w").glob("m-*")
        (tmp_path / "link").symlink_to(tmp_path / "e")
        for directory in (
            "/", tmp_path, tmp_path / "w", managed, managed / "x", tmp_path / "e", tmp_path / "e" / "f", tmp_path / "s",
            tmp_path / "e" / "f" / "p=1", tmp_path / "g", tmp_path / "g" / "h", tmp_path / "g" / "h" / "i",
            tmp_path / "link" / "f", f"{tmp_path}/x/../e", tmp_path / "w" / "other-7",
        ):  # fmt: skip
            with pytest.raises(IntegrityError) as caught:
                session.execute(f"INSERT OVERWRITE DIRECTORY '{directory}' SELECT 1")
            assert caught.value.condition == "UNSAFE_LOCATION", directory
        assert session.execute("SELECT * FROM m").fetch() == [(1,)]


def test_links_are_not_followed(duckdb: Engine, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "inner").symlink_to(tmp_path / "kept")
    (tmp_path / "file").write_text("x")
    with warehouse(tmp_path, duckdb) as session:
        with pytest.raises(OperationalError) as caught:
            session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'link'}' SELECT 1")
        assert caught.value.condition == "LINK_NOT_FOLLOWED"
        with pytest.raises(OperationalError) as caught:
            session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'file'}' SELECT 1")
        assert caught.value.condition == "DIRECTORY_WRITE_FAILED"
        session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'out'}' SELECT 1")
    assert content(tmp_path / "kept") == ["file"]
    assert not (tmp_path / "out" / "inner").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "USING csv OPTIONS (header = 'no') SELECT 1",
        "USING parquet OPTIONS (compression = 'gzip') SELECT 1",
        "USING json OPTIONS (dateFormat = 'yyyy') SELECT 1",
        "STORED AS SEQUENCEFILE SELECT 1",
    ],
)
def test_files_that_would_be_written_otherwise_are_refused(statement: str, duckdb: Engine, tmp_path: Path) -> None:
    with warehouse(tmp_path, duckdb) as session, pytest.raises(NotSupportedError):
        session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'out'}' {statement}")
    assert not (tmp_path / "out").exists()


def test_columns_that_files_do_not_hold_are_refused(duckdb: Engine, tmp_path: Path) -> None:
    with warehouse(tmp_path, duckdb) as session:
        for query, error in (("SELECT 1 AS a, 2 AS A", AnalysisError), ("SELECT NULL AS a", NotSupportedError)):
            with pytest.raises(error):
                session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'out'}' USING parquet {query}")
        session.execute("START TRANSACTION")
        with pytest.raises(Error):
            session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'out'}' SELECT 1")
    assert not (tmp_path / "out").exists()
