"""Temporary tables belong to one session: others do not see them, and they are removed when it is closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog.model.temporary_views import session_of
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, ParseError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session


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


def test_every_statement_works_and_others_see_nothing(session: Session, other: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE t (id INT) PARTITIONED BY (dt STRING)")
    session.execute("INSERT INTO t PARTITION (dt) VALUES (1, 'a'), (2, 'b')")
    session.execute("ALTER TABLE t ADD PARTITION (dt = 'c')")
    session.execute("ALTER TABLE t ADD COLUMNS (v STRING)")
    session.execute("INSERT OVERWRITE t PARTITION (dt = 'a') VALUES (3, 'x')")
    session.execute("ALTER TABLE t DROP PARTITION (dt = 'b')")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('k' = 'v')")
    assert rows(session, "SHOW PARTITIONS t") == [("dt=a",), ("dt=c",)]
    assert rows(session, "SELECT t.id, v, dt FROM t") == [(3, "x", "a")]
    assert rows(session, "SHOW TABLES") == [("t", "TEMPORARY", "parquet", "dt")]
    assert ("Table", "t", "") in rows(session, "DESCRIBE EXTENDED t")
    assert rows(other, "SHOW TABLES") == []
    with pytest.raises(AnalysisError) as caught:
        other.execute("SELECT * FROM t")
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    session.execute("DROP TABLE t")
    assert rows(session, "SHOW TABLES") == []


def test_it_hides_the_permanent_table_of_its_name(session: Session, other: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 'permanent' AS what")
    session.execute("CREATE TEMPORARY TABLE t AS SELECT concat('not ', what) AS what FROM t")
    assert rows(session, "SELECT what FROM t") == [("not permanent",)]
    assert rows(session, "SELECT what FROM T AS x") == [("not permanent",)]
    assert rows(session, "SELECT what FROM default.t") == [("permanent",)]
    assert rows(session, "SELECT t.what, p.what FROM t JOIN default.t p ON true") == [("not permanent", "permanent")]
    assert rows(other, "SELECT what FROM t") == [("permanent",)]
    session.execute("INSERT OVERWRITE t VALUES ('changed')")
    session.execute("DROP TABLE IF EXISTS t")
    assert rows(session, "SELECT what FROM t") == [("permanent",)]
    assert rows(session, "SHOW TABLES") == [("t", "MANAGED", "parquet", "")]


def test_a_view_reads_what_it_read_when_it_was_made(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT 1 AS a")
    session.execute("CREATE VIEW v AS SELECT a FROM t")
    session.execute("CREATE VIEW w AS SELECT a + 1 AS a FROM v")
    session.execute("CREATE TEMPORARY TABLE t AS SELECT 100 AS a")
    assert rows(session, "SELECT t.a, v.a, w.a FROM t, v, w") == [(100, 1, 2)]
    session.execute("CREATE TEMPORARY TABLE v AS SELECT 200 AS a")
    assert rows(session, "SELECT v.a, w.a FROM v, w") == [(200, 2)]
    assert rows(session, "DESCRIBE v") == [("a", "int", None)]


def test_what_outlives_it_cannot_read_it(session: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE t (visits BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE CUBE c (visits BIGINT MEASURE COUNT, at TIMESTAMP TIME)")
    fact = "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY at AS (dt = 'yyyy-MM-dd'))"
    for sql, at in [(fact, "t PERIOD"), ("CREATE VIEW v AS SELECT visits FROM t WHERE dt = 'x'", "t WHERE")]:
        with pytest.raises(AnalysisError) as caught:
            session.execute(sql)
        assert caught.value.condition == "INVALID_TEMP_OBJ_REFERENCE"
        assert caught.value.position is not None
        assert caught.value.position.start == sql.index(at)
        assert caught.value.object == "t"


def test_a_fact_keeps_reading_its_own_table(session: Session) -> None:
    session.execute("CREATE CUBE c (visits BIGINT MEASURE COUNT, at TIMESTAMP TIME)")
    session.execute("CREATE TABLE t (visits BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY at AS (dt = 'yyyy-MM-dd'))")
    session.execute("INSERT INTO t VALUES (7, '2015-01-01')")
    session.execute("CREATE TEMPORARY TABLE t (visits BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("INSERT INTO t VALUES (99, 'no date at all')")
    query = "SELECT sum(visits) FROM c WHERE time_range_in(at, '2015-01-01', '2015-01-02')"
    assert rows(session, query) == [(7,)]
    assert rows(session, "SELECT visits FROM t") == [(99,)]


def test_errors_name_it_as_it_was_typed(session: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE sample (a INT) PARTITIONED BY (dt STRING)")
    for sql in [
        "ALTER TABLE sample DROP PARTITION (dt = 'x')",
        "INSERT INTO sample VALUES (1)",
        "ALTER TABLE sample ADD COLUMNS (a INT)",
        "SELECT * FROM sampel",
        "CREATE TEMPORARY TABLE sample (a INT)",
    ]:
        with pytest.raises(Error) as caught:
            session.execute(sql)
        assert "sample" in f"{caught.value.message} {caught.value.hint} {caught.value.object}"
        assert "@" not in f"{caught.value.message} {caught.value.hint} {caught.value.object}"


def test_replacing_and_not_existing(session: Session) -> None:
    session.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
    session.execute("CREATE TEMPORARY TABLE IF NOT EXISTS t AS SELECT 2 AS a")
    assert rows(session, "SELECT a FROM t") == [(1,)]
    session.execute("CREATE OR REPLACE TEMPORARY TABLE t AS SELECT a + 1 AS a FROM t")
    assert rows(session, "SELECT a FROM t") == [(2,)]
    with pytest.raises(IntegrityError):
        session.execute("CREATE TEMPORARY TABLE T (a INT)")
    session.execute("CREATE TEMPORARY TABLE u LIKE t")
    assert rows(session, "SHOW TABLES") == [("t", "TEMPORARY", "parquet", ""), ("u", "TEMPORARY", "parquet", "")]


def test_it_is_described_as_it_was_typed(session: Session) -> None:
    session.execute("CREATE VIEW t AS SELECT 1 AS v")
    session.execute("CREATE TEMPORARY TABLE t (a INT) PARTITIONED BY (p STRING)")
    session.execute("ALTER TABLE t ADD PARTITION (p = 'x')")
    session.execute("CREATE DATABASE d")
    for database in ("default", "d"):
        session.execute(f"USE {database}")
        assert rows(session, "DESCRIBE t a") == [("col_name", "a"), ("data_type", "int"), ("comment", "NULL")]
        assert rows(session, "SHOW COLUMNS IN t") == [("a",), ("p",)]
        shown = {str(row[0]): row[1] for row in rows(session, "DESCRIBE EXTENDED t")}
        assert (shown["Table"], shown["Type"], "Database" in shown) == ("t", "TEMPORARY", False)
        described = json.loads(str(rows(session, "DESCRIBE EXTENDED t PARTITION (p = 'x') AS JSON")[0][0]))
        assert (described["table_name"], described["namespace"], described["type"]) == ("t", [], "TEMPORARY")
        (row,) = rows(session, "SHOW TABLE EXTENDED LIKE 't' PARTITION (p = 'x')")
        assert row[:3] == ("", "t", True)
        assert ("", "t", True) in [row[:3] for row in rows(session, "SHOW TABLE EXTENDED LIKE '*'")]
        assert rows(session, "SHOW TBLPROPERTIES t ('k')") == [("k", "Table t does not have property: k")]
        ((created,),) = rows(session, "SHOW CREATE TABLE t")
        assert str(created).startswith("CREATE TEMPORARY TABLE t (")
    session.execute("DROP TABLE t")
    session.execute(str(created))
    assert rows(session, "SHOW PARTITIONS t") == []


def test_explain_names_it_as_it_was_typed(session: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE t (a INT) PARTITIONED BY (p STRING)")
    session.execute("INSERT INTO t VALUES (1, 'x')")
    session_id = "@" + "0" * 32
    lines = [
        rows(session, f"EXPLAIN {kind} SELECT a, '{session_id}' FROM t WHERE p = 'x'") for kind in ("REWRITE", "SCAN")
    ]
    assert lines[0] == [(f"SELECT a, '{session_id}' FROM `t` AS t WHERE p = 'x'",)]
    assert str(lines[1][0][0]).startswith("t: 1 of 1 partition")
    for statement in ("SHOW PARTITIONS t", "ALTER TABLE t DROP PARTITION (p = 'x')"):
        assert "@" not in str(rows(session, f"EXPLAIN SCAN {statement}"))
    with pytest.raises(Error) as caught:
        session.plan("SELECT * FROM tt")
    assert "@" not in f"{caught.value.message} {caught.value.hint} {caught.value.object}"


def test_nothing_is_left_after_close(tmp_path: Path, duckdb: DuckDBEngine) -> None:
    outside = tmp_path / "outside"
    with Session(tmp_path / "w", duckdb) as session:
        session.execute("CREATE TEMPORARY TABLE t AS SELECT 1 AS a")
        session.execute(f"CREATE TEMPORARY TABLE e LOCATION '{outside}' AS SELECT 1 AS a")
        (folder,) = (tmp_path / "w").glob("temporary-*")
        token = folder.name.removeprefix("temporary-")
        assert len(session.catalog.snapshot().temporary_tables(token)) == 2
    assert not folder.exists()
    assert list(outside.iterdir()), "files of an external table are its owner's"
    with Session(tmp_path / "w", duckdb) as session:
        assert session.catalog.snapshot().temporary_tables(token) == ()
        assert rows(session, "SHOW TABLES") == []


_DIES = """
import os, sys
from rewriter.session import Session
session = Session(sys.argv[1], "duckdb")
session.execute("CREATE TEMPORARY TABLE t AS SELECT 1 AS a")
os._exit(9)
"""


def test_a_process_that_died_is_cleared_up_by_the_next(tmp_path: Path, duckdb: DuckDBEngine) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    died = subprocess.run([sys.executable, "-c", _DIES, str(tmp_path / "w")], env=environment, check=False)
    assert died.returncode == 9
    (folder,) = (tmp_path / "w").glob("temporary-*")
    token = folder.name.removeprefix("temporary-")
    with Session(tmp_path / "w", duckdb) as session:
        assert rows(session, "SHOW TABLES") == []
        assert len(session.catalog.snapshot().temporary_tables(token)) == 1
        session.execute("CREATE TEMPORARY TABLE u (a INT)")
        assert not folder.exists()
        assert session.catalog.snapshot().temporary_tables(token) == ()
        assert rows(session, "SHOW TABLES") == [("u", "TEMPORARY", "parquet", "")]


def test_a_living_process_keeps_its_tables(session: Session, other: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE t AS SELECT 1 AS a")
    other.execute("CREATE TEMPORARY TABLE t AS SELECT 2 AS a")
    assert rows(session, "SELECT a FROM t") == [(1,)]
    assert rows(other, "SELECT a FROM t") == [(2,)]


def test_names_of_temporary_tables_cannot_be_typed(session: Session) -> None:
    name = "t@" + "0" * 32
    assert session_of(name) == "0" * 32
    with pytest.raises(AnalysisError) as caught:
        session.execute(f"CREATE TABLE `{name}` (a INT)")
    assert caught.value.condition == "INVALID_SCHEMA_OR_RELATION_NAME"


def test_a_new_name_leaves_it_temporary(session: Session, other: Session) -> None:
    session.execute("CREATE TABLE kept AS SELECT 'permanent' AS what")
    session.execute("CREATE TEMPORARY TABLE t AS SELECT 'temporary' AS what")
    session.execute("ALTER TABLE t RENAME TO kept")
    assert rows(session, "SELECT what FROM kept") == [("temporary",)]
    assert rows(session, "SELECT what FROM default.kept") == [("permanent",)]
    assert rows(other, "SELECT what FROM kept") == [("permanent",)]
    session.execute("ALTER TABLE kept RENAME TO KEPT")
    session.execute("ALTER TABLE kept RENAME TO t2")
    assert rows(session, "SELECT t2.what, kept.what FROM t2, kept") == [("temporary", "permanent")]
    session.execute("CREATE DATABASE d")
    session.execute("USE d")
    session.execute("ALTER TABLE t2 RENAME TO t3")
    assert rows(session, "SHOW TABLES IN d") == [("t3", "TEMPORARY", "parquet", "")]
    with pytest.raises(ParseError) as caught:
        session.execute("ALTER TABLE t3 RENAME TO d.t3")
    assert caught.value.position is not None
    assert caught.value.position.start == len("ALTER TABLE t3 RENAME TO ")
    session.execute("CREATE TEMPORARY TABLE taken (a INT)")
    with pytest.raises(IntegrityError, match="Cannot rename t3 to taken"):
        session.execute("ALTER TABLE t3 RENAME TO taken")
    session.close()
    assert rows(other, "SHOW TABLES IN d") == []
    assert rows(other, "SELECT what FROM kept") == [("permanent",)]


def test_its_name_is_no_longer_a_views(session: Session) -> None:
    session.execute("CREATE TABLE kept (a INT)")
    session.execute("CREATE VIEW v AS SELECT a FROM kept")
    session.execute("CREATE TEMPORARY TABLE v (x STRING COMMENT 'own') TBLPROPERTIES ('k' = 'own')")
    assert rows(session, "DESCRIBE v") == [("x", "string", "own")]
    assert rows(session, "SHOW COLUMNS IN v") == [("x",)]
    assert rows(session, "SHOW TBLPROPERTIES v") == [("k", "own")]
    for sql in ["ALTER VIEW v RENAME TO w", "DROP VIEW v", "DROP VIEW IF EXISTS v"]:
        with pytest.raises(AnalysisError) as caught:
            session.execute(sql)
        assert caught.value.condition == "EXPECT_VIEW_NOT_TABLE.USE_ALTER_TABLE" or "DROP" in sql
        assert "@" not in f"{caught.value.message} {caught.value.hint} {caught.value.object}"
    assert rows(session, "SHOW VIEWS") == [("v", None, False)]
    session.execute("DROP VIEW default.v")
    assert rows(session, "SHOW VIEWS") == []


def test_what_is_made_lies_in_the_current_database(session: Session, other: Session) -> None:
    """A new table, view, cube or fact is not a temporary table, even if one has its name; cubes and facts never are."""
    session.execute("CREATE DATABASE d")
    for name in ("t", "v", "c", "f"):
        session.execute(f"CREATE TABLE {name} AS SELECT 'default' AS what")
        session.execute(f"CREATE TEMPORARY TABLE {name} AS SELECT 'temporary' AS what")
    session.execute("USE d")
    session.execute("CREATE OR REPLACE TABLE t AS SELECT 'd' AS what")
    session.execute("CREATE VIEW v AS SELECT 'd' AS what")
    session.execute("CREATE CUBE c (visits BIGINT MEASURE COUNT, at TIMESTAMP TIME)")
    session.execute("CREATE TABLE h (visits BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD DAILY PARTITIONED BY at AS (dt = 'yyyy-MM-dd'))")
    for name in ("t", "v", "c", "f"):
        assert rows(session, f"SELECT what FROM {name}") == [("temporary",)]
        assert rows(other, f"SELECT what FROM default.{name}") == [("default",)]
    assert rows(other, "SELECT d.t.what, d.v.what FROM d.t, d.v") == [("d", "d")]
    assert rows(other, "SHOW FACTS IN d") == [("f", "c", "DAILY", "h", 0)]
    for sql in [
        "SHOW TIMELINES OF f", "SHOW LATEST OF f", "CHECK FACT f", "REFRESH FACT f DRY RUN", "REFRESH TIMELINES OF f",
        "SHOW COVERAGE OF f FROM '2015-01-01' TO '2015-01-02'", "DESCRIBE FACT f", "SHOW CREATE FACT f",
        "DESCRIBE CUBE c", "SHOW CREATE CUBE c", "DROP FACT f", "DROP CUBE c",
    ]:  # fmt: skip
        session.execute(sql)
    assert rows(other, "SHOW FACTS IN d") == rows(other, "SHOW CUBES IN d") == []
    session.execute("CREATE TABLE c LIKE t")
    assert rows(other, "SHOW COLUMNS IN c IN d") == [("what",)]


def test_partitions_do_not_move_out_of_it(session: Session, other: Session) -> None:
    """Their files would go with the session."""
    session.execute("CREATE TABLE kept (a INT) PARTITIONED BY (p INT)")
    session.execute("CREATE TEMPORARY TABLE t LIKE kept")
    session.execute("CREATE TEMPORARY TABLE u LIKE kept")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    session.execute("INSERT INTO kept VALUES (3, 3)")
    sql = "ALTER TABLE kept EXCHANGE PARTITION (p = 1) WITH TABLE t"
    with pytest.raises(NotSupportedError) as caught:
        session.execute(sql)
    assert caught.value.condition == "EXCHANGE_FROM_TEMPORARY"
    assert caught.value.position is not None
    assert caught.value.position.start == sql.rindex("t")
    assert "@" not in f"{caught.value.message} {caught.value.hint} {caught.value.object}"
    session.execute("ALTER TABLE u EXCHANGE PARTITION (p = 1) WITH TABLE t")
    session.execute("ALTER TABLE u EXCHANGE PARTITION (p = 3) WITH TABLE kept")
    assert rows(session, "SELECT a FROM u ORDER BY a") == [(1,), (3,)]
    session.execute("INSERT INTO kept SELECT * FROM u")
    session.close()
    assert rows(other, "SELECT a FROM kept ORDER BY a") == [(1,), (3,)]


def test_a_database_before_a_column_means_the_permanent_table(session: Session) -> None:
    session.execute("CREATE TABLE t AS SELECT * FROM VALUES (1, 'a'), (2, 'b'), (3, 'c') AS v(p, what)")
    session.execute("CREATE TEMPORARY TABLE t AS SELECT * FROM VALUES (1, 'x') AS v(p, what)")
    counted = "SELECT p, (SELECT count(*) FROM t WHERE p = default.t.p) AS n FROM default.t ORDER BY p"
    assert rows(session, counted) == [(1, 1), (2, 0), (3, 0)]
    assert rows(session, "SELECT default.t.what FROM default.t WHERE p IN (SELECT p FROM t)") == [("a",)]
    aliased = "SELECT o.p FROM default.t o WHERE EXISTS (SELECT 1 FROM t WHERE t.p = o.p)"
    assert rows(session, aliased) == [(1,)]
    for sql, at in [
        ("SELECT p FROM default.t WHERE EXISTS (SELECT 1 FROM t WHERE t.p = default.t.p)", "t WHERE EXISTS"),
        ("SELECT default.t.what, t.what FROM default.t, t", "t, t"),
    ]:
        with pytest.raises(Error) as caught:
            session.execute(sql)
        assert caught.value.condition == "AMBIGUOUS_REFERENCE"
        assert caught.value.position is not None
        assert caught.value.position.start == sql.rindex(at)
    with pytest.raises(Error):
        session.execute("SELECT default.t.what FROM t")


def test_what_describes_a_temporary_table_has_its_plain_name(session: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE t (id INT) PARTITIONED BY (dt STRING)")
    session.execute("ALTER TABLE t ADD PARTITION (dt = 'a')")
    for sql in ("DESCRIBE EXTENDED t", "DESCRIBE EXTENDED t PARTITION (dt = 'a')"):
        assert [row[1] for row in rows(session, sql) if row[0] == "Table"] == ["t"]


def test_tables_of_a_process_that_lives_stay_and_those_of_a_dead_one_go_though_its_id_is_used_again(
    tmp_path: Path, duckdb: DuckDBEngine
) -> None:
    """The owner file of a dead process names an id that lives: ours. Only the lock distinguishes them."""
    warehouse = tmp_path / "warehouse"
    with Session(warehouse, duckdb) as living, Session(warehouse, duckdb) as other:
        living.execute("CREATE TEMPORARY TABLE kept AS SELECT 1 AS x")
        (kept,) = warehouse.glob("temporary-*/owner")
        dead = warehouse / "temporary-00000000000000000000000000000000"
        dead.mkdir()
        (dead / "owner").write_text(kept.read_text())
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "file").write_text("x")
        (dead / "link").symlink_to(outside)
        other.execute("CREATE TEMPORARY TABLE another AS SELECT 2 AS x")
        assert not dead.exists()
        assert (outside / "file").exists()
        assert kept.exists()
        assert living.execute("SELECT * FROM kept").fetch() == [(1,)]
