"""The names of a warehouse in a session of Spark, and the views and functions of that session in queries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rewriter
from rewriter.errors import AnalysisError, NotSupportedError
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.spark.session_kinds import is_connect
from rewriter.spark import SparkLake

WORLD = """
CREATE CUBE visits (page STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE hours (page STRING, n BIGINT, ms BIGINT) PARTITIONED BY (h STRING);
CREATE FACT f OF CUBE visits STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (h)) ROLLUPS (DAILY);
INSERT INTO hours MARK COMPLETE FROM '2024-01-01' TO '2024-01-03'
  SELECT concat('p', id % 3), id % 5, id,
    date_format(timestamp_seconds(1704067200 + 3600 * (id % 48)), 'yyyy-MM-dd-HH') FROM range(200);
REFRESH FACT f;
CREATE TABLE plain (a INT, code CHAR(3)) PARTITIONED BY (d DATE);
INSERT INTO plain VALUES (1, 'x', DATE '2024-03-31'), (2, NULL, DATE '2024-10-27'), (3, 'z', NULL);
CREATE TEMPORARY TABLE hidden (a INT)
"""

FIRST_DAY = sum(id % 5 for id in range(200) if id % 48 < 24)


@pytest.fixture
def user(spark: SparkEngine) -> Any:
    from pyspark.sql import SparkSession

    spark.explain(EngineQuery("SELECT 1"))
    session = SparkSession.active().newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    return session


@pytest.fixture
def lake(tmp_path: Path, user: Any) -> Iterator[SparkLake]:
    with rewriter.spark.register(user, tmp_path / "w") as registered:
        for statement in WORLD.split(";"):
            registered.connection.execute(statement)
        registered.refresh()
        yield registered


def views(session: Any) -> list[str]:
    return sorted(table.name for table in session.catalog.listTables() if table.isTemporary)


def test_names_are_found_and_reading_one_names_the_call(lake: SparkLake, user: Any) -> None:
    assert lake.names == ("lake_f", "lake_f_daily", "lake_hours", "lake_plain", "lake_visits")
    assert views(user) == list(lake.names)
    assert [(column.name, column.dataType) for column in user.catalog.listColumns("lake_visits")] == [
        ("page", "string"), ("n", "bigint"), ("ms", "bigint"), ("at", "timestamp"),
    ]  # fmt: skip
    for name, query in (
        ("visits", "SELECT SUM(n) FROM lake_visits WHERE at < '2024-01-02'"),
        ("visits", "SELECT COUNT(*) FROM lake_visits"),
        ("plain", "SELECT 1 FROM range(0) WHERE EXISTS (SELECT 1 FROM lake_plain)"),
        ("plain", "SELECT a FROM lake_plain LIMIT 0"),
        ("f", "CREATE TEMPORARY VIEW other AS SELECT * FROM lake_f"),
        ("plain", "CACHE TABLE lake_plain"),
    ):
        with pytest.raises(Exception, match="is planned for each query") as caught:
            user.sql(query).collect()
        assert f'call lake.sql("SELECT … FROM {name}")' in str(caught.value), query
    with pytest.raises(AnalysisError, match=r"lake\.sql"):
        lake.sql("SELECT * FROM lake_plain")
    assert lake.sql("SELECT SUM(n) AS n FROM visits WHERE at < '2024-01-02'").first()[0] == FIRST_DAY


def test_refresh_follows_the_warehouse_and_close_leaves_the_session_as_it_was(tmp_path: Path, user: Any) -> None:
    from pyspark.sql import SparkSession

    user.range(3).createOrReplaceTempView("own")

    def state() -> object:
        return dict(user.conf.getAll), views(user), user.catalog.currentDatabase(), SparkSession.getActiveSession()

    before = state()
    with rewriter.spark.register(user, tmp_path / "w", prefix="shop", partial_data=True) as lake:
        lake.connection.execute("CREATE TABLE t (a INT)")
        lake.connection.execute("CREATE DATABASE d")
        lake.connection.execute("CREATE TABLE d.u (b STRUCT<x: INT>)")
        lake.refresh()
        assert views(user) == ["own", "shop_d_u", "shop_t"]
        lake.connection.execute("DROP TABLE t")
        lake.refresh()
        assert lake.names == ("shop_d_u",)
        # A notebook runs its cell again.
        with rewriter.spark.register(user, tmp_path / "w", prefix="shop") as again:
            assert again.names == ("shop_d_u",)
    assert state() == before


def test_views_of_the_user_are_not_replaced(tmp_path: Path, user: Any) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (a INT)")
    user.range(3).createOrReplaceTempView("lake_t")
    with pytest.raises(rewriter.InterfaceError, match="view lake_t that is not one of rewriter"):
        rewriter.spark.register(user, tmp_path / "w")
    assert user.table("lake_t").count() == 3
    user.conf.set("spark.sql.legacy.storeAnalyzedPlanForView", "true")
    with pytest.raises(rewriter.InterfaceError, match="keeps the plans of views"):
        rewriter.spark.register(user, tmp_path / "w", prefix="x")
    assert views(user) == ["lake_t"]
    for session, prefix in ((3, "lake"), (user, "a b")):
        with pytest.raises(rewriter.InterfaceError):
            rewriter.spark.register(session, tmp_path / "w", prefix=prefix)


def test_temporary_views_of_the_session_in_queries(lake: SparkLake, user: Any) -> None:
    connection, before = lake.connection, views(user)
    user.sql("SELECT concat('p', id) AS page, id * 10 AS weight FROM range(3)").createOrReplaceTempView("Names")
    query = "SELECT weight, SUM(n) FROM visits JOIN names USING (page) WHERE at < '2024-01-02' GROUP BY 1 ORDER BY 1"
    by_page = connection.execute("SELECT SUM(n) FROM visits WHERE at < '2024-01-02' GROUP BY page ORDER BY page")
    expected = [(10 * number, n) for number, (n,) in enumerate(by_page.fetchall())]
    assert connection.execute(query).fetchall() == expected
    frame = lake.sql(query)
    assert [tuple(row) for row in frame.collect()] == expected
    # Each statement reads the view as it is then; a DataFrame that exists does not change.
    user.sql("SELECT 'p1' AS page, 7 AS weight").createOrReplaceTempView("names")
    assert connection.execute(query).fetchall() == [(7, expected[1][1])]
    assert [tuple(row) for row in lake.sql(query).collect()] == [(7, expected[1][1])]
    assert [tuple(row) for row in frame.collect()] == expected
    # A name of the warehouse comes first.
    user.range(5).createOrReplaceTempView("plain")
    assert connection.execute("SELECT COUNT(*) FROM plain").fetchall() == [(3,)]
    assert connection.execute("INSERT INTO plain SELECT 9, page, DATE '2024-01-01' FROM names").rowcount == 1
    with pytest.raises(NotSupportedError, match="can only be read"):
        connection.execute("INSERT INTO names VALUES ('p', 1)")
    with pytest.raises(rewriter.Error):
        connection.execute("CREATE VIEW v AS SELECT * FROM names")
    user.catalog.dropTempView("names")
    for text in (query, "SELECT * FROM names", "SELECT * FROM other.names"):
        with pytest.raises(AnalysisError) as caught:
            connection.execute(text)
        assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    user.catalog.dropTempView("plain")
    assert views(user) == before
    assert [table.name for table in user.catalog.listTables("global_temp") if table.namespace == ["global_temp"]] == []


def test_a_rollup_that_is_filled_from_a_view_is_unproven(lake: SparkLake, user: Any) -> None:
    user.sql("SELECT 'p0' AS page, 1L AS n, 2L AS ms, '2024-01-01' AS day").createOrReplaceTempView("mine")
    connection = lake.connection
    connection.execute("INSERT OVERWRITE f_daily SELECT page, n, ms, day FROM mine")
    assert connection.execute("SELECT SUM(n) FROM visits WHERE at < '2024-01-02'").fetchall() == [(FIRST_DAY,)]


@pytest.fixture
def connect_user(connect: SparkEngine) -> Any:
    """A session of Spark Connect."""
    connect.explain(EngineQuery("SELECT 1"))
    session = connect._running_spark().session.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    return session


@pytest.fixture(params=["user", "connect_user"])
def functions(request: pytest.FixtureRequest) -> Any:
    """A session whose functions queries call: a classic one, and one of Spark Connect."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def function_lake(tmp_path: Path, functions: Any) -> Iterator[SparkLake]:
    with rewriter.spark.register(functions, tmp_path / "w") as registered:
        for statement in WORLD.split(";"):
            registered.connection.execute(statement)
        yield registered


@pytest.mark.spark
def test_functions_of_the_session_in_queries_of_tables(function_lake: SparkLake, functions: Any) -> None:
    from pyspark.sql.types import IntegerType, StringType

    lake, user, connection = function_lake, functions, function_lake.connection
    user.udf.register("twice", lambda value: None if value is None else 2 * value, IntegerType())
    user.sql("CREATE TEMPORARY FUNCTION plus(x INT) RETURNS INT RETURN twice(x) + 1")
    query = "SELECT plus(a) AS x, twice(a) AS y FROM plain WHERE twice(a) > 2 ORDER BY a"
    assert connection.execute(query).fetchall() == [(5, 4), (7, 6)]
    frame = lake.sql(query)
    assert [tuple(row) for row in frame.collect()] == [(5, 4), (7, 6)]
    # Each query has the function as it is then; a DataFrame that exists does not change.
    user.udf.register("twice", lambda value: 3 * value, IntegerType())
    assert connection.execute(query).fetchall() == [(4, 3), (7, 6), (10, 9)]
    assert [tuple(row) for row in frame.collect()] == [(5, 4), (7, 6)]
    assert connection.execute("INSERT INTO plain SELECT twice(a), code, d FROM plain WHERE a = 3").rowcount == 1
    assert connection.execute("SELECT a FROM plain WHERE a > 3").fetchall() == [(9,)]
    # A built-in function stays what it is, and a time what it is in UTC.
    user.udf.register("upper", lambda value: "?", StringType())
    values = "SELECT upper(code) AS u, twice(a) AS x, CAST(TIMESTAMP '2024-01-01 00:00:00' AS STRING) AS t FROM plain"
    assert connection.execute(f"{values} WHERE a = 1").fetchall() == [("X  ", 3, "2024-01-01 00:00:00")]
    assert connection.execute(f"EXPLAIN ENGINE {values}").fetchall()
    for name in ("twice", "plus", "upper"):
        user.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
    for text in (query, "SELECT plus(a) FROM plain"):
        with pytest.raises(rewriter.Error) as caught:
            connection.execute(text)
        assert caught.value.condition == "UNRESOLVED_ROUTINE"


@pytest.mark.spark
def test_functions_of_the_session_are_refused_over_cubes(function_lake: SparkLake, functions: Any) -> None:
    from pyspark.sql.types import LongType

    lake, user = function_lake, functions
    user.udf.register("twice", lambda value: 2 * value, LongType())
    # Another query has called it before.
    assert lake.connection.execute("SELECT twice(a) AS x FROM plain WHERE a = 1").fetchall() == [(2,)]
    for query in (
        "SELECT twice(SUM(n)) AS n FROM visits WHERE at < '2024-01-02'",
        "SELECT SUM(n) AS n FROM visits WHERE at < '2024-01-02' AND twice(length(page)) > 3",
        "SELECT twice(a) AS x FROM plain, (SELECT SUM(n) AS n FROM visits WHERE at < '2024-01-02')",
    ):
        for run in (lake.connection.execute, lake.sql):
            with pytest.raises(NotSupportedError) as caught:
                run(query)
            assert caught.value.condition == "SPARK_FUNCTION_OVER_CUBE"
            assert query[caught.value.position.start :].startswith("twice(")
    if not is_connect(user):  # A DataFrame of Spark Connect is of another session, which lacks the function.
        frame = lake.sql("SELECT SUM(n) AS n FROM visits WHERE at < '2024-01-02'")
        assert frame.selectExpr("twice(n)").first()[0] == 2 * FIRST_DAY


def test_copies_of_a_session_end_with_their_queries(
    connect_user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.types import IntegerType

    copies = []

    def clone(session: Any) -> Any:
        copies.append(type(session).cloneSession(session))
        return copies[-1]

    monkeypatch.setattr(connect_user, "cloneSession", lambda: clone(connect_user))
    before = connect_user.conf.getAll
    with rewriter.spark.register(connect_user, tmp_path / "w") as lake:
        connection = lake.connection
        connection.execute("CREATE TABLE t (a INT)")
        connection.execute("INSERT INTO t VALUES (1), (2)")
        connect_user.udf.register("twice", lambda value: 2 * value, IntegerType())
        connect_user.sql("SELECT 9 AS a").createOrReplaceTempView("t")
        assert connection.execute("SELECT twice(a) AS x FROM t ORDER BY x").fetchall() == [(2,), (4,)]
        frames = [lake.sql("SELECT twice(a) AS x FROM t") for _ in range(2)]
        assert [copy.is_stopped for copy in copies[-2:]] == [False, False]
        assert sorted(row.x for row in frames[0].collect()) == [2, 4]
        frames[0].rewriter.close()
        assert sorted(row.x for row in frames[1].collect()) == [2, 4]
        assert [copy.is_stopped for copy in copies[-2:]] == [True, False]
        with pytest.raises(rewriter.Error):
            connection.execute("SELECT thrice(a) FROM t")
        assert sum(not copy.is_stopped for copy in copies) == 1
    assert all(copy.is_stopped for copy in copies)
    assert connect_user.conf.getAll == before
    assert connect_user.sql("SELECT twice(a) AS x FROM t").collect() == [(18,)]


def test_the_module_is_imported_by_its_name() -> None:
    """In a process of its own: here it is imported already."""
    for statement in (
        "import rewriter.spark",
        "from rewriter.spark import register",
        "import rewriter as r; r.spark",
    ):
        run = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=False)
        assert run.returncode == 0, (statement, run.stderr)
