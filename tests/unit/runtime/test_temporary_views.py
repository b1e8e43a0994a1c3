"""Temporary views are of one session: no other sees them, the catalog does not change, and no plan outlives them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError, Error, OperationalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

CUBE = (
    "CREATE TABLE hourly (n BIGINT, dt STRING, hr STRING) PARTITIONED BY (dt, hr)",
    "CREATE TABLE daily (n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE CUBE visits (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE visits STORED IN ("
    "TABLE hourly PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd', hr = 'HH'), "
    "TABLE daily PERIOD DAILY PARTITIONED BY t AS (dt))",
)


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        yield opened


@pytest.fixture
def other(session: Session, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(session.catalog.warehouse, duckdb) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(sql).rows()]


def raised(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql)
    assert "@" not in f"{caught.value.message} {caught.value.hint} {caught.value.object}"
    return caught.value


def test_no_other_session_sees_it_and_the_catalog_stays(session: Session, other: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 'stored' AS what")
    before = session.catalog.snapshot().sequence
    session.execute("CREATE TEMPORARY VIEW t AS SELECT 'temporary' AS what")
    session.execute("CREATE TEMPORARY VIEW v AS SELECT what FROM t")
    session.execute("ALTER VIEW v AS SELECT concat(what, '!') AS what FROM t")
    session.execute("ALTER VIEW v RENAME TO w")
    assert rows(session, "SELECT * FROM w") == [("temporary!",)]
    session.execute("DROP VIEW w")
    assert session.catalog.snapshot().sequence == before
    assert rows(other, "SELECT * FROM t") == [("stored",)]
    assert rows(other, "SHOW VIEWS") == []
    assert raised(other, "DROP VIEW t").condition == "WRONG_COMMAND_FOR_OBJECT_TYPE"
    assert rows(session, "SHOW VIEWS") == [("t", None, True)]


def test_a_kept_plan_does_not_outlive_a_change_of_views(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 1 AS a")
    query = "SELECT a FROM t"
    assert [rows(session, query) for _ in range(3)] == [[(1,)]] * 3
    session.execute("CREATE TEMPORARY VIEW t AS SELECT 2 AS a")
    assert [rows(session, query) for _ in range(3)] == [[(2,)]] * 3
    session.execute("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT 3 AS a")
    assert rows(session, query) == [(3,)]
    session.execute("ALTER VIEW t AS SELECT 4 AS a")
    assert rows(session, query) == [(4,)]
    session.execute("ALTER VIEW t RENAME TO u")
    assert rows(session, query) == [(1,)]
    session.execute("ALTER VIEW u RENAME TO T")
    assert rows(session, query) == [(4,)]
    session.execute("DROP VIEW t")
    assert rows(session, query) == [(1,)]


def test_it_is_planned_as_a_stored_view_is(session: Session) -> None:
    for sql in CUBE:
        session.execute(sql)
    first = [f"(1, '2024-05-01', '{hour:02}')" for hour in range(24)]
    second = [f"(2, '2024-05-02', '{hour:02}')" for hour in range(5)]
    session.execute(f"INSERT INTO hourly VALUES {', '.join(first + second)}")
    session.execute("REFRESH FACT f")
    body = "SELECT n, t FROM visits WHERE t >= '2024-05-01'"
    session.execute(f"CREATE VIEW stored AS {body}")
    session.execute(f"CREATE TEMPORARY VIEW own AS {body}")
    query = "SELECT SUM(n) AS n FROM {} WHERE t < '2024-05-02 05:00:00'"
    plans = [session.plan(query.format(name)) for name in ("stored", "own")]
    parts = [[reference.parts for reference in plan.coverage.references] for plan in plans]
    assert parts[0] == parts[1]
    assert {use.table.name for use in plans[1].uses} == {"daily", "hourly"}
    assert [rows(session, query.format(name)) for name in ("stored", "own")] == [[(34,)], [(34,)]]
    session.execute("CREATE TEMPORARY VIEW visits AS SELECT CAST(7 AS BIGINT) AS n")
    assert rows(session, query.format("stored")) == rows(session, query.format("own")) == [(34,)]
    assert rows(session, "SELECT n FROM visits") == [(7,)]


def test_a_stored_view_and_its_columns_ignore_it(session: Session) -> None:
    session.execute("CREATE TABLE t (a INT)")
    session.execute("CREATE VIEW v AS SELECT * FROM t")
    session.execute("CREATE VIEW vv AS SELECT * FROM v")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute("CREATE TEMPORARY VIEW t AS SELECT 'x' AS b, 'y' AS c")
    session.execute("CREATE TEMPORARY VIEW v AS SELECT b FROM t")
    assert rows(session, "SELECT * FROM vv") == [(1,)]
    assert rows(session, "SELECT * FROM default.v") == [(1,)]
    assert rows(session, "DESCRIBE vv") == rows(session, "DESCRIBE default.v") == [("a", "int", None)]
    assert rows(session, "SELECT * FROM v") == [("x",)]
    assert raised(session, "CREATE VIEW w AS SELECT * FROM t").condition == "INVALID_TEMP_OBJ_REFERENCE"
    assert raised(session, "CREATE OR REPLACE VIEW vv AS SELECT 1 AS a WHERE 1 IN (SELECT 1 FROM v)").condition == (
        "INVALID_TEMP_OBJ_REFERENCE"
    )
    session.execute("CREATE VIEW w AS SELECT * FROM default.t")
    session.execute("CREATE VIEW x AS WITH t AS (SELECT 5 AS five) SELECT * FROM t")
    assert rows(session, "SELECT * FROM w") == [(1,)]
    assert rows(session, "SELECT * FROM x") == [(5,)]


def test_a_view_that_reads_a_dropped_one_never_reads_a_stored_table(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 'stored' AS what")
    session.execute("CREATE TEMPORARY VIEW t AS SELECT 'temporary' AS what")
    session.execute("CREATE TEMPORARY VIEW v AS SELECT what FROM t")
    session.execute("DROP VIEW t")
    assert raised(session, "SELECT * FROM v").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert rows(session, "DESCRIBE EXTENDED v")[0][0] == "# Detailed View Information"
    session.execute("CREATE TEMPORARY VIEW t AS SELECT 'again' AS what")
    assert rows(session, "SELECT * FROM v") == [("again",)]


def test_it_needs_no_warehouse(session: Session) -> None:
    session.execute("CREATE TEMPORARY VIEW v AS SELECT 1 AS one")
    assert rows(session, "SELECT one FROM v") == [(1,)]
    session.execute("ALTER VIEW v AS SELECT 2 AS two")
    session.execute("DROP VIEW v")
    session.execute("DROP VIEW IF EXISTS v")
    with pytest.raises(OperationalError) as caught:
        session.execute("DROP VIEW v")
    assert caught.value.condition == "WAREHOUSE_NOT_FOUND"
    assert not (Path(session.catalog.warehouse) / "_catalog").exists()
    assert not Path(session.catalog.warehouse).exists()


def test_a_transaction_reads_it_and_does_not_undo_it(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 1 AS a")
    session.execute("CREATE TEMPORARY VIEW v AS SELECT a + 1 AS b FROM t")
    session.execute("START TRANSACTION")
    assert rows(session, "SELECT * FROM v") == [(2,)]
    session.execute("CREATE TEMPORARY VIEW w AS SELECT b + 1 AS c FROM v")
    session.execute("ROLLBACK")
    assert rows(session, "SELECT * FROM w") == [(3,)]


def test_a_query_that_is_not_parsed_does_not_take_a_table_of_its_name(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 1 AS a")
    session.execute("CREATE TEMPORARY VIEW t AS SELECT 2 AS a")
    with pytest.raises(Error):
        session.execute("SELECT a FROM t WHERE a !> 5")


def test_names_are_found_in_any_case_and_in_any_database(session: Session) -> None:
    session.execute("CREATE DATABASE sales")
    session.execute("CREATE TEMPORARY VIEW Mixed AS SELECT 1 AS a")
    session.execute("USE sales")
    session.execute("CREATE TABLE mixed AS SELECT 2 AS a")
    assert rows(session, "SELECT a FROM MIXED") == [(1,)]
    assert rows(session, "SELECT a FROM sales.mixed") == [(2,)]
    assert rows(session, "SHOW VIEWS") == [("Mixed", None, True)]
    assert rows(session, "SHOW COLUMNS IN mixed") == [("a",)]
    with pytest.raises(AnalysisError):
        session.execute("INSERT INTO mixed VALUES (3)")
    session.execute("DROP VIEW mixed")
    session.execute("INSERT INTO mixed VALUES (3)")
    assert sorted(rows(session, "SELECT a FROM mixed")) == [(2,), (3,)]


def test_drop_table_drops_it_as_spark_does(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 1 AS a")
    session.execute("CREATE TEMPORARY VIEW t AS SELECT 2 AS a")
    session.execute("DROP TABLE t")
    assert rows(session, "SELECT a FROM t") == [(1,)]
