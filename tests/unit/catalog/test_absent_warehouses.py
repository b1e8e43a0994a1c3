"""Opening creates nothing: the first statement that creates an object makes the warehouse."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import rewriter
from rewriter.catalog import Catalog
from rewriter.cli import main
from rewriter.errors import Error
from rewriter.session import Session

#: Statements that need a warehouse.
NEEDING = [
    "SHOW TABLES",
    "SHOW DATABASES",
    "SHOW PARTITIONS t",
    "USE default",
    "DESCRIBE t",
    "SELECT * FROM t",
    "SELECT 1 FROM d.t",
    "EXPLAIN SELECT * FROM t",
    "INSERT INTO t VALUES (1)",
    "DROP TABLE t",
    "DROP DATABASE d",
    "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
    "VACUUM",
    "VACUUM DRY RUN",
    "MSCK REPAIR TABLE t",
    "ANALYZE TABLE t COMPUTE STATISTICS",
    "START TRANSACTION",
    "CREATE TABLE c AS SELECT * FROM t",
    "CREATE TABLE c LIKE t",
    "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY at AS (dt))",
    "CREATE TABLE d.t (x INT)",
]
#: Statements that touch no object.
FREE = [
    "DROP TABLE IF EXISTS t",
    "DROP VIEW IF EXISTS d.v",
    "DROP DATABASE IF EXISTS d CASCADE",
    "SELECT 1",
    "SELECT x + 1 FROM VALUES (1) AS v(x)",
    "EXPLAIN SELECT 1",
    "SET rewriter.partial_data = true",
    "SET",
    "RESET rewriter.partial_data",
    "DESCRIBE QUERY SELECT 1 AS a",
]
#: Statements that make it.
CREATING = [
    "CREATE TABLE t (x INT)",
    "CREATE TEMPORARY TABLE t (x INT)",
    "CREATE TABLE t AS SELECT 1 AS x",
    "CREATE VIEW v AS SELECT 1 AS a",
    "CREATE CUBE c (x BIGINT MEASURE SUM, at TIMESTAMP TIME)",
    "CREATE DATABASE d",
]


@pytest.mark.parametrize("statement", NEEDING)
def test_a_statement_that_needs_a_warehouse_names_the_path(
    tmp_path: Path, catalog_url: str | None, statement: str
) -> None:
    directory = tmp_path / "mistyped" / "w"
    with Session(directory, "duckdb", catalog=catalog_url) as session:
        with pytest.raises(Error) as caught:
            session.execute(statement)
        assert caught.value.condition == "WAREHOUSE_NOT_FOUND"
        assert str(directory) in caught.value.message
    assert list(tmp_path.iterdir()) == []
    assert not Catalog.exists(directory, catalog_url)


@pytest.mark.parametrize("statement", FREE)
def test_a_statement_of_no_object_needs_none(tmp_path: Path, statement: str) -> None:
    (tmp_path / "f.csv").write_text("1\n")
    with Session(tmp_path / "w", "duckdb") as session:
        session.execute(statement).fetch()
        assert session.execute(f"SELECT * FROM csv.`{tmp_path}/f.csv`").fetch() == []
    assert sorted(os.listdir(tmp_path)) == ["f.csv"]


@pytest.mark.parametrize("statement", CREATING)
def test_a_statement_that_creates_an_object_makes_it(tmp_path: Path, catalog_url: str | None, statement: str) -> None:
    directory = tmp_path / "new" / "w"
    with rewriter.connect(directory, "duckdb", catalog=catalog_url, cache_bytes=1 << 20) as connection:
        connection.execute("SELECT 1")
        assert not directory.exists()
        connection.execute(statement)
        assert (directory / "warehouse.json").exists()
        connection.execute("SHOW TABLES").fetchall()
        assert connection.session.catalog.cache is not None
    with Session(directory, "duckdb", catalog=catalog_url) as session:
        session.execute("SHOW TABLES")


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE t (x NOTYPE)", "CREATE TABLE t (x", "CREATE VIEW v AS SELECT * FROM t"]
)
def test_a_statement_that_fails_makes_none(tmp_path: Path, statement: str) -> None:
    with Session(tmp_path / "w", "duckdb") as session, pytest.raises(Error):
        session.execute(statement)
    assert list(tmp_path.iterdir()) == []


def test_another_session_makes_it_meanwhile(tmp_path: Path, catalog_url: str | None) -> None:
    with (
        Session(tmp_path / "w", "duckdb", catalog=catalog_url) as first,
        Session(tmp_path / "w", "duckdb", catalog=catalog_url) as second,
    ):
        assert first.execute("SELECT 1").fetch() == [(1,)]
        second.execute("CREATE TABLE t AS SELECT 7 AS x")
        assert first.execute("SELECT x FROM t").fetch() == [(7,)]
        with pytest.raises(Error) as caught:
            first.execute("CREATE TABLE t (x INT)")
        assert caught.value.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_commands_make_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = str(tmp_path / "w")
    for arguments in (
        ["sql", "-e", "SHOW TABLES", "--engine", "duckdb"],
        ["rewrite", "SELECT * FROM t"],
        ["catalog", "upgrade"],
        ["catalog", "check"],
        ["catalog", "dump"],
        ["catalog", "adopt"],
    ):
        assert main.main([*arguments, "-w", directory]) == 2
        error = capsys.readouterr().err
        assert "WAREHOUSE_NOT_FOUND" in error
        assert directory in error
    assert main.main(["sql", "-w", directory, "--engine", "duckdb", "-e", "SELECT 1"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_other_things_is_refused(tmp_path: Path, catalog_url: str | None) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    before = os.listdir(tmp_path)
    for action in (
        lambda: Session(tmp_path, "duckdb", catalog=catalog_url),
        lambda: Catalog.open(tmp_path, catalog_url),
        lambda: Catalog.create_new(tmp_path, catalog_url),
    ):
        with pytest.raises(Error) as caught:
            action()
        assert caught.value.condition == "NOT_A_WAREHOUSE"
        assert "thesis.txt" in caught.value.message
    assert os.listdir(tmp_path) == before


def test_what_file_systems_put_into_a_directory_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".DS_Store").write_text("x")
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE t (x INT)")


def test_an_explicit_command_makes_an_empty_one(tmp_path: Path) -> None:
    assert main.main(["catalog", "new", "-w", str(tmp_path / "w")]) == 0
    with Session(tmp_path / "w", "duckdb") as session:
        assert session.execute("SHOW TABLES").fetch() == []
