"""SHOW, DESCRIBE and ANALYZE for tables in several databases, and for temporary ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        for statement in [
            "CREATE DATABASE sales",
            "CREATE TABLE t (own INT) PARTITIONED BY (p INT)",
            "CREATE TABLE sales.t (x INT, y STRING) PARTITIONED BY (p INT) TBLPROPERTIES ('k' = 'sales')",
            "CREATE TABLE sales.u (z INT)",
            "INSERT INTO sales.t VALUES (5, 'five', 1), (6, 'six', 1)",
        ]:
            opened.execute(statement)
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(sql).rows()]


def test_columns_have_no_database(session: Session) -> None:
    session.execute("USE sales")
    session.execute("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS x, p")
    assert ("max", "6") in rows(session, "DESCRIBE EXTENDED t x")
    assert ("max", "1") in rows(session, "DESCRIBE FORMATTED t p")
    session.execute("CREATE TEMPORARY TABLE x AS SELECT 1 AS x")
    assert ("max", "6") in rows(session, "DESCRIBE EXTENDED t x")


def test_show_columns_of_another_database(session: Session) -> None:
    assert rows(session, "SHOW COLUMNS IN t IN sales") == [("x",), ("y",), ("p",)]
    assert rows(session, "SHOW COLUMNS FROM sales.t FROM spark_catalog.SALES") == [("x",), ("y",), ("p",)]
    session.execute("USE sales")
    assert rows(session, "SHOW COLUMNS IN t IN default") == [("own",), ("p",)]
    assert rows(session, "SHOW COLUMNS IN t") == [("x",), ("y",), ("p",)]
    sql = "SHOW COLUMNS IN sales.t IN default"
    with pytest.raises(AnalysisError) as caught:
        session.execute(sql)
    assert caught.value.condition == "SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE"
    assert caught.value.position is not None
    assert caught.value.position.start == sql.index("default")


def test_show_table_extended_of_one_database(session: Session) -> None:
    session.execute("CREATE VIEW sales.v AS SELECT x FROM sales.t")
    session.execute("CREATE TEMPORARY TABLE t AS SELECT 1 AS temporary")
    assert [row[:3] for row in rows(session, "SHOW TABLE EXTENDED LIKE '*'")] == [
        ("", "t", True),
        ("default", "t", False),
    ]
    in_sales = [("", "t", True), ("sales", "t", False), ("sales", "u", False), ("sales", "v", False)]
    assert [row[:3] for row in rows(session, "SHOW TABLE EXTENDED IN sales LIKE '*'")] == in_sales
    session.execute("USE sales")
    assert [row[:3] for row in rows(session, "SHOW TABLE EXTENDED LIKE 'T|v'")] == [
        row for row in in_sales if row[1] != "u"
    ]
    text = rows(session, "SHOW TABLE EXTENDED LIKE 'u'")[0][3]
    assert "Database: sales\nTable: u\n" in str(text)
    session.execute("DROP TABLE t")
    for sql in [
        "SHOW TABLE EXTENDED LIKE 't' PARTITION (p = 1)",
        "SHOW TABLE EXTENDED IN sales LIKE 't' PARTITION (p = 1)",
    ]:
        (row,) = rows(session, sql)
        assert row[:3] == ("sales", "t", False)
        assert "2 rows" in str(row[3])
    with pytest.raises(AnalysisError) as caught:
        session.execute("SHOW TABLE EXTENDED IN default LIKE 't' PARTITION (p = 1)")
    assert caught.value.condition == "PARTITIONS_NOT_FOUND"


def test_show_table_extended_of_a_temporary_partition(session: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE t PARTITIONED BY (p) AS SELECT 1 AS temporary, 1 AS p")
    (row,) = rows(session, "SHOW TABLE EXTENDED LIKE 't' PARTITION (p = 1)")
    assert row[:3] == ("", "t", True)


def test_described_with_its_database(session: Session) -> None:
    session.execute("USE sales")
    for sql in ["DESCRIBE EXTENDED t", "DESCRIBE EXTENDED t PARTITION (p = 1)"]:
        assert {("Database", "sales", ""), ("Table", "t", "")} <= set(rows(session, sql))
    ((text,),) = rows(session, "DESCRIBE EXTENDED t AS JSON")
    described = json.loads(str(text))
    assert (described["table_name"], described["namespace"], described["schema_name"]) == ("t", ["sales"], "sales")
    assert rows(session, "SHOW TBLPROPERTIES u ('k')") == [("k", "Table sales.u does not have property: k")]


def test_a_temporary_table_described_has_no_database(session: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE mine AS SELECT 1 AS a")
    extended = rows(session, "DESCRIBE EXTENDED mine")
    assert {("Table", "mine", ""), ("Type", "TEMPORARY", "")} <= set(extended)
    assert "Database" not in {row[0] for row in extended}
    ((text,),) = rows(session, "DESCRIBE EXTENDED mine AS JSON")
    described = json.loads(str(text))
    assert (described["table_name"], described["namespace"]) == ("mine", [])
    assert rows(session, "SHOW TBLPROPERTIES mine ('k')") == [("k", "Table mine does not have property: k")]


def test_analyze_tables_of_one_database(session: Session) -> None:
    def counted(table: str) -> bool:
        return "rewriter.statistics" in session.catalog.snapshot().table(table).properties

    folder = session.catalog.warehouse / "outside"
    for name in ("here", "sales.there"):
        (folder / name).mkdir(parents=True)
        session.execute(f"CREATE TABLE {name} (a INT) USING parquet LOCATION '{folder}/{name}'")
    session.execute("ANALYZE TABLES IN sales COMPUTE STATISTICS")
    assert (counted("here"), counted("sales.there")) == (False, True)
    session.execute("ANALYZE TABLES COMPUTE STATISTICS")
    assert counted("here")
    sql = "ANALYZE TABLES IN nosuch COMPUTE STATISTICS"
    with pytest.raises(AnalysisError) as caught:
        session.execute(sql)
    assert caught.value.condition == "SCHEMA_NOT_FOUND"
    assert caught.value.position is not None
    assert caught.value.position.start == sql.index("nosuch")


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_text_files_keep_the_letters_of_their_columns(session: Session, file_format: str) -> None:
    """A header or key is compared as it stands: files of other letters would not be read, or read as NULL."""
    session.execute(f"CREATE TABLE upper_ (A INT) USING {file_format} PARTITIONED BY (p INT)")
    session.execute(f"CREATE TABLE lower_ (a INT) USING {file_format} PARTITIONED BY (p INT)")
    session.execute("ALTER TABLE upper_ ADD PARTITION (p = 1)")
    with pytest.raises(AnalysisError) as caught:
        session.execute("ALTER TABLE lower_ EXCHANGE PARTITION (p = 1) WITH TABLE upper_")
    assert caught.value.condition == "TABLES_INCOMPATIBLE_SCHEMAS"
