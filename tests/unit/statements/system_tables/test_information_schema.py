"""Databases, tables, columns and views as tables, and what may not be done with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.model.changes import CreateObject
from rewriter.catalog.model.objects import Namespace
from rewriter.catalog.model.system_tables import SYSTEM_TABLES
from rewriter.errors import AnalysisError, Error, NotSupportedError, OperationalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session
from rewriter.statements.system_tables.rows import ROWS

SETUP = """
CREATE DATABASE sales COMMENT 'what was sold';
CREATE TABLE t (x INT COMMENT 'a number', y STRING DEFAULT 'q') PARTITIONED BY (dt STRING, hr INT);
CREATE TABLE sales.u (a DECIMAL(10,2), m MAP<STRING,INT>) COMMENT 'of u';
CREATE VIEW v (twice COMMENT 'of x', dt) COMMENT 'of v' AS SELECT x * 2L, dt FROM t;
CREATE CUBE flights (
  carrier STRING, flights BIGINT MEASURE COUNT EVENTS, delay DOUBLE MEASURE SUM, departed TIMESTAMP TIME);
CREATE TABLE days (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT some OF CUBE flights (carrier, flights, departed) STORED IN
  (TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt))
"""


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        list(opened.script(SETUP))
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def refused(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql)
    return caught.value


def test_every_system_table_has_rows_to_compute() -> None:
    assert set(ROWS) == set(SYSTEM_TABLES)


@pytest.mark.parametrize("name", SYSTEM_TABLES)
def test_a_table_returns_the_columns_that_it_describes(session: Session, name: str) -> None:
    result = session.execute(f"SELECT * FROM {name}")
    returned = [(column.name, column.type) for column in result.columns or ()]
    assert returned == [row[:2] for row in rows(session, f"DESCRIBE {name}")]
    assert [row[0] for row in rows(session, f"SHOW COLUMNS IN {name}")] == [column for column, _ in returned]
    database, table = name.split(".")
    listed = f"FROM information_schema.columns WHERE table_schema = '{database}' AND table_name = '{table}'"
    assert rows(session, f"SELECT column_name, data_type {listed} ORDER BY ordinal_position") == returned


def test_schemata(session: Session) -> None:
    assert rows(session, "SELECT schema_name, comment FROM information_schema.schemata ORDER BY 1") == [
        ("default", "Default database"),
        ("information_schema", "Objects of the catalog"),
        ("sales", "what was sold"),
        ("system", "State of the catalog and of the session"),
    ]
    (location,) = rows(session, "SELECT location FROM information_schema.schemata WHERE schema_name = 'sales'")
    assert location == (str(session.catalog.warehouse / "sales.db"),)


def test_tables_of_every_kind(session: Session) -> None:
    session.execute("CREATE TEMPORARY TABLE mine (q INT)")
    session.execute("CREATE TEMPORARY VIEW seen AS SELECT q FROM mine")
    user_rows = rows(
        session,
        "SELECT table_schema, table_name, table_type, is_insertable_into, comment, data_source_format "
        "FROM information_schema.tables WHERE table_type <> 'SYSTEM TABLE' ORDER BY 2, 1",
    )
    assert user_rows == [
        ("default", "days", "BASE TABLE", "YES", None, "parquet"),
        ("default", "flights", "CUBE", "NO", None, None),
        (None, "mine", "LOCAL TEMPORARY", "YES", None, "parquet"),
        (None, "seen", "TEMPORARY VIEW", "NO", None, None),
        ("default", "some", "FACT", "NO", None, None),
        ("default", "t", "BASE TABLE", "YES", None, "parquet"),
        ("sales", "u", "BASE TABLE", "YES", "of u", "parquet"),
        ("default", "v", "VIEW", "NO", "of v", None),
    ]
    assert rows(session, "SELECT table_name FROM information_schema.tables WHERE table_schema IS NULL ORDER BY 1") == [
        ("mine",),
        ("seen",),
    ]


def test_columns_have_types_defaults_comments_and_roles(session: Session) -> None:
    columns = "column_name, ordinal_position, column_default, is_nullable, data_type, comment, extra_info"

    def of(name: str) -> list[tuple[object, ...]]:
        where = f"WHERE table_name = '{name}' ORDER BY ordinal_position"
        return rows(session, f"SELECT {columns} FROM information_schema.columns {where}")

    assert of("t") == [
        ("x", 1, None, "YES", "int", "a number", None),
        ("y", 2, "'q'", "YES", "string", None, None),
        ("dt", 3, None, "YES", "string", None, "partition key"),
        ("hr", 4, None, "YES", "int", None, "partition key"),
    ]
    assert [row[4] for row in of("u")] == ["decimal(10,2)", "map<string,int>"]
    # The engine knows the type of an expression.
    assert of("v") == [
        ("twice", 1, None, "YES", "bigint", "of x", None),
        ("dt", 2, None, "YES", "string", None, None),
    ]
    assert [(row[0], row[4], row[6]) for row in of("flights")] == [
        ("carrier", "string", "dimension"),
        ("flights", "bigint", "measure count"),
        ("delay", "double", "measure sum"),
        ("departed", "timestamp", "time"),
    ]
    assert [row[0] for row in of("some")] == ["carrier", "flights", "departed"]


def test_views_that_cannot_be_read_have_no_columns(session: Session) -> None:
    session.execute("CREATE VIEW broken AS SELECT a FROM sales.u")
    session.execute("DROP TABLE sales.u")
    assert rows(session, "SELECT view_definition FROM information_schema.views WHERE table_name = 'broken'") == [
        ("SELECT a FROM sales.u",)
    ]
    assert rows(session, "SELECT * FROM information_schema.columns WHERE table_name = 'broken'") == []


def test_a_view_may_read_the_columns_of_itself(session: Session) -> None:
    session.execute("CREATE VIEW own AS SELECT count(*) + 1 AS n FROM information_schema.columns")
    session.execute("CREATE VIEW over AS SELECT n + CAST(1 AS DECIMAL(3,1)) AS m FROM own")
    assert rows(
        session,
        "SELECT table_name, column_name, data_type FROM information_schema.columns "
        "WHERE table_name IN ('own', 'over') ORDER BY 1",
    ) == [("over", "m", "decimal(22,1)"), ("own", "n", "bigint")]
    assert rows(session, "SELECT n > 1 FROM own") == [(True,)]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("table_schema = 'sales'", ["u"]),
        ("table_schema = 'SALES'", []),
        ("table_name IN ('T', 't', 'u')", ["t", "u"]),
        ("table_schema IN ('default', 'sales') AND table_name IN ('t', 'T', 'u')", ["t", "u"]),
        ("table_schema = 'default' AND table_name = 'sales.u'", []),
        ("table_name LIKE 't%'", ["t"]),
        ("NOT table_name <> 't'", ["t"]),
        ("lower(table_name) = 'u'", ["u"]),
        ("table_name = 't' OR table_schema = 'sales'", ["t", "u"]),
        ("table_name = 't' AND table_schema IS NULL", []),
        ("table_name > 's' AND table_name < 'u'", ["some", "t"]),
        ("table_name = ''", []),
        ("table_name = '__HIVE_DEFAULT_PARTITION__'", ["__HIVE_DEFAULT_PARTITION__"]),
        ("table_name = concat('', 't')", ["t"]),
    ],
)
def test_conditions_choose_the_same_rows_before_and_after_they_are_read(
    session: Session, where: str, names: list[str]
) -> None:
    session.execute("CREATE TABLE __HIVE_DEFAULT_PARTITION__ (x INT)")
    ours = "table_schema NOT IN ('information_schema', 'system')"
    for table in ("tables", "columns"):
        name = f"information_schema.{table}"
        found = rows(session, f"SELECT DISTINCT table_name FROM {name} WHERE {where} AND {ours} ORDER BY 1")
        assert [name for (name,) in found] == names, table
        # No condition is pushed into a subquery that changes the columns.
        copied = f"SELECT concat(table_name, '') AS table_name, concat(table_schema, '') AS table_schema FROM {name}"
        plain = f"SELECT DISTINCT table_name FROM ({copied}) WHERE {where} AND {ours} ORDER BY 1"
        assert rows(session, plain) == found


def test_they_join_with_tables_and_go_into_tables(session: Session) -> None:
    session.execute("INSERT INTO t VALUES (1, 'a', '2024-01-01', 1)")
    assert rows(
        session,
        "WITH c AS (SELECT * FROM information_schema.columns WHERE table_name = 't') "
        "SELECT t.x, c.column_name FROM t JOIN c ON c.ordinal_position = t.x + 2 "
        "WHERE EXISTS (SELECT 1 FROM information_schema.tables i WHERE i.table_name = c.table_name)",
    ) == [(1, "dt")]
    session.execute("CREATE TABLE kept AS SELECT table_name, table_type FROM information_schema.tables")
    assert ("kept",) not in rows(session, "SELECT table_name FROM kept")
    session.execute(
        "INSERT INTO kept SELECT table_name, table_type FROM information_schema.tables WHERE table_name = 'kept'"
    )
    assert rows(session, "SELECT table_type FROM kept WHERE table_name = 'kept'") == [("BASE TABLE",)]
    qualified = (
        "SELECT information_schema.tables.table_name FROM information_schema.tables WHERE tables.table_name = 't'"
    )
    assert rows(session, qualified) == [("t",)]
    assert rows(session, "SELECT table_name FROM spark_catalog.INFORMATION_SCHEMA.Tables WHERE table_name = 't'") == [
        ("t",)
    ]


def test_the_current_database_may_be_one_of_them(session: Session) -> None:
    session.execute("USE information_schema")
    assert session.database == "information_schema"
    assert rows(session, "SELECT count(*) FROM tables WHERE table_name = 't'") == [(1,)]
    assert ("tables", "SYSTEM", "", "") in rows(session, "SHOW TABLES")
    assert refused(session, "CREATE TABLE n (x INT)").condition == "SYSTEM_TABLE_IS_READ_ONLY"
    session.execute("CREATE TEMPORARY TABLE n (x INT)")
    assert rows(session, "SELECT * FROM n") == []


def test_statements_about_databases_list_them(session: Session) -> None:
    assert rows(session, "SHOW DATABASES") == [("default",), ("information_schema",), ("sales",), ("system",)]
    assert rows(session, "SHOW TABLES IN information_schema 't*'") == [("tables", "SYSTEM", "", "")]
    assert ("Comment", "Objects of the catalog") in rows(session, "DESCRIBE DATABASE information_schema")
    assert rows(session, "DESCRIBE information_schema.views view_definition")[1] == ("data_type", "string")
    assert rows(session, "SHOW VIEWS IN system") == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO ^system.cache SELECT 'a', 1, 'b'",
        "INSERT OVERWRITE ^information_schema.tables SELECT 1",
        "FROM t INSERT INTO sales.u SELECT 1, NULL INSERT INTO ^system.cache SELECT 1",
        "DROP TABLE ^system.partitions",
        "DROP TABLE IF EXISTS ^system.nothing",
        "DROP VIEW ^information_schema.views",
        "ALTER TABLE ^system.partitions ADD COLUMNS (x INT)",
        "ALTER TABLE ^system.partitions DROP PARTITION (table_name = 't')",
        "ALTER TABLE ^system.partitions RENAME TO mine",
        "ALTER TABLE t RENAME TO ^system.t",
        "ALTER TABLE ^system.partitions SET TBLPROPERTIES ('a' = 'b')",
        "TRUNCATE TABLE ^system.queries",
        "ANALYZE TABLE ^system.queries COMPUTE STATISTICS",
        "CREATE TABLE ^system.mine (x INT)",
        "CREATE TABLE IF NOT EXISTS ^spark_catalog.system.queries (x INT)",
        "CREATE OR REPLACE TABLE ^system.queries AS SELECT 1 AS x",
        "CREATE TABLE mine LIKE ^information_schema.tables",
        "CREATE VIEW ^information_schema.mine AS SELECT 1 AS x",
        "CREATE CUBE ^system.c (n BIGINT MEASURE COUNT, at TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE flights STORED IN (TABLE ^system.cache PERIOD DAILY PARTITIONED BY departed AS (dt))",
        "CREATE DATABASE ^system",
        "CREATE DATABASE IF NOT EXISTS ^information_schema",
        "DROP DATABASE ^information_schema CASCADE",
        "DROP DATABASE IF EXISTS ^system",
        "SHOW PARTITIONS ^system.partitions",
        "SHOW CREATE TABLE ^information_schema.tables",
        "EXPLAIN ALTER TABLE ^system.cache DROP PARTITION (metric = 'a')",
    ],
)
def test_they_are_read_only(session: Session, sql: str) -> None:
    before = session.catalog.snapshot().sequence
    error = refused(session, sql.replace("^", ""))
    assert isinstance(error, NotSupportedError)
    assert error.condition == "SYSTEM_TABLE_IS_READ_ONLY"
    assert error.position is not None
    assert error.position.start == sql.index("^")
    assert session.catalog.snapshot().sequence == before


def test_rows_of_a_program_do_not_go_into_them(session: Session) -> None:
    import pyarrow as pa

    with pytest.raises(NotSupportedError, match="SYSTEM_TABLE_IS_READ_ONLY"):
        session.append("system.cache", pa.table({"metric": ["a"]}))


def test_names_that_do_not_exist(session: Session) -> None:
    for sql in ("SELECT * FROM information_schema.table", "DESCRIBE information_schema.table"):
        error = refused(session, sql)
        assert (error.condition, "information_schema.tables" in str(error.hint)) == ("TABLE_OR_VIEW_NOT_FOUND", True)


def test_time_travel_is_refused(session: Session) -> None:
    for version in ("VERSION AS OF 1", "TIMESTAMP AS OF '2024-01-01'"):
        with pytest.raises(Error):
            session.execute(f"SELECT * FROM information_schema.tables {version}")


def test_a_database_of_a_user_hides_ours(tmp_path: Path, duckdb: DuckDBEngine) -> None:
    """Catalogs of earlier releases may have such a database: its names keep their meaning."""
    with closing(Catalog.open(tmp_path / "w")) as catalog, catalog.begin() as transaction:
        transaction.commit([CreateObject(Namespace(transaction.allocate_id(), "information_schema"))])
    with Session(tmp_path / "w", duckdb) as session:
        session.execute("CREATE TABLE information_schema.tables (x INT)")
        session.execute("INSERT INTO information_schema.tables VALUES (7)")
        assert rows(session, "SELECT * FROM information_schema.tables") == [(7,)]
        assert refused(session, "SELECT * FROM information_schema.columns").condition == "TABLE_OR_VIEW_NOT_FOUND"
        assert rows(session, "SHOW TABLES IN information_schema") == [("tables", "MANAGED", "parquet", "")]
        assert rows(session, "SHOW DATABASES LIKE 'inf*'") == [("information_schema",)]
        assert rows(session, "SELECT count(*) FROM system.cache") == [(17,)]
        session.execute("CREATE DATABASE IF NOT EXISTS information_schema")
        session.execute("DROP DATABASE information_schema CASCADE")
        assert rows(session, "SELECT count(*) FROM information_schema.views") == [(0,)]


def test_they_are_those_of_a_transaction(session: Session) -> None:
    session.execute("START TRANSACTION")
    session.execute("CREATE TABLE young (x INT)")
    found = "SELECT table_name FROM information_schema.tables WHERE table_name = 'young'"
    assert rows(session, found) == [("young",)]
    session.execute("ROLLBACK")
    assert rows(session, found) == []


def test_a_missing_warehouse_has_none(tmp_path: Path, duckdb: DuckDBEngine) -> None:
    with Session(tmp_path / "absent", duckdb) as session:
        with pytest.raises(OperationalError, match="WAREHOUSE_NOT_FOUND"):
            session.execute("SELECT * FROM information_schema.tables")
        assert rows(session, "SELECT text FROM system.queries")[0] == ("SELECT * FROM information_schema.tables",)
        with pytest.raises((AnalysisError, NotSupportedError, OperationalError)):
            session.execute("CREATE TABLE system.t (x INT)")
        assert not (tmp_path / "absent").exists()
