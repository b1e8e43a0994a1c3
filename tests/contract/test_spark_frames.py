"""Queries as DataFrames of Spark: ``connection.sql`` and ``cursor.to_spark``, in the session that the user has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import rewriter
from rewriter.dbapi import Connection
from rewriter.errors import MissingDataError
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine

WORLD = """
CREATE CUBE visits (page STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, paid DECIMAL(10,2) MEASURE SUM,
  worst DOUBLE MEASURE MAX, at TIMESTAMP TIME);
CREATE TABLE hours (page STRING, n BIGINT, ms BIGINT, paid DECIMAL(10,2), worst DOUBLE) PARTITIONED BY (h STRING);
CREATE FACT f OF CUBE visits STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (h)) ROLLUPS (DAILY, MONTHLY);
INSERT INTO hours MARK COMPLETE FROM '2024-01-01' TO '2024-02-03'
  SELECT concat('p', id % 3), id % 5, id, CAST(id AS DECIMAL(10,2)) / 4, id * 0.5,
    date_format(timestamp_seconds(1704067200 + 3600 * (id % 780)), 'yyyy-MM-dd-HH') FROM range(2000);
REFRESH FACT f;
CREATE TABLE plain (a INT, s STRING) PARTITIONED BY (d DATE);
INSERT INTO plain VALUES (1, 'x', DATE '2024-03-31'), (2, NULL, DATE '2024-10-27'), (3, 'z', NULL)
"""
RANGE = "at >= '2024-01-01 07:00' AND at < '2024-02-02 05:00'"
TOTAL = f"SELECT page, SUM(n) AS n, SUM(ms) AS ms FROM visits WHERE {RANGE} GROUP BY page ORDER BY page"
QUERIES = [
    TOTAL,
    f"SELECT to_date(at) AS d, CAST(MIN(date_trunc('day', at)) AS STRING) AS begun, MAX(worst) AS worst, COUNT(*) AS n "
    f"FROM visits WHERE {RANGE} GROUP BY 1 ORDER BY 1",
    f"SELECT SUM(paid) AS paid, SUM(n) / 7 AS part, MAX(TIMESTAMP '2024-01-01 00:30') AS t FROM visits WHERE {RANGE}",
    "SELECT hour(at) AS h, SUM(n) AS n FROM visits WHERE to_date(at) = '2024-01-31' GROUP BY 1 ORDER BY 1",
    "SELECT a, s, d, CAST('2024-03-31 02:30:00' AS TIMESTAMP) AS t FROM plain ORDER BY a",
    "SELECT p.a, v.n FROM plain p CROSS JOIN (SELECT SUM(n) AS n FROM visits WHERE at < '2024-01-08') v ORDER BY 1",
    "SELECT 1 AS a",
]


@pytest.fixture
def user(spark: SparkEngine) -> Any:
    """A session with settings that change what texts and casts mean."""
    from pyspark.sql import SparkSession

    spark.explain(EngineQuery("SELECT 1"))
    session = SparkSession.active().newSession()
    for name, value in (("session.timeZone", "America/New_York"), ("ansi.enabled", "false")):
        session.conf.set(f"spark.sql.{name}", value)
    session.conf.set("spark.sql.parquet.filterPushdown.decimal", "false")
    return session


@pytest.fixture
def lake(tmp_path: Path, user: Any) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "w", engine=user) as connection:
        for statement in WORLD.split(";"):
            connection.execute(statement)
        yield connection


def rows(frame: Any) -> list[tuple[object, ...]]:
    """Returns the rows of a DataFrame, with instants as the DB-API returns them."""
    table = frame.toArrow()
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.share(1)
@pytest.mark.parametrize("query", QUERIES)
def test_a_frame_has_the_rows_of_the_query(lake: Connection, query: str) -> None:
    cursor = lake.execute(query)
    expected = cursor.fetchall()
    for frame in (lake.sql(query), cursor.to_spark()):
        found = rows(frame)
        assert [[_utc(value) for value in row] for row in found] == [[_utc(value) for value in row] for row in expected]
        assert frame.columns == [column[0] for column in cursor.description or ()]


def _utc(value: Any) -> object:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def test_the_session_of_the_user_has_the_frame_and_is_left_as_it_was(lake: Connection, user: Any) -> None:
    from pyspark.sql import SparkSession

    user.range(3).createOrReplaceTempView("own")

    def state() -> object:
        names = [(table.name, table.isTemporary) for table in user.catalog.listTables()]
        return dict(user.conf.getAll), names, user.catalog.currentDatabase(), SparkSession.getActiveSession()

    before = state()
    frame = lake.sql(TOTAL)
    assert frame.sparkSession is user
    ((expected,),) = lake.execute(f"SELECT SUM(n) FROM visits WHERE {RANGE}").fetchall()
    assert user.sql("SELECT SUM(n) FROM {totals}", totals=frame).first()[0] == expected
    own = user.sql("SELECT concat('p', id) AS page, id FROM own")
    assert [row.id for row in own.join(frame, "page").orderBy("id").collect()] == [0, 1, 2]
    assert [row.id for row in frame.join(own, "page").orderBy("id").collect()] == [0, 1, 2]
    assert frame.cache().count() == 3
    frame.unpersist()
    assert state() == before
    frame.createOrReplaceTempView("totals")
    assert user.sql("SELECT COUNT(*) FROM totals WHERE n > 0").first()[0] == 3
    user.catalog.dropTempView("totals")


def test_a_frame_reads_the_commit_at_which_it_was_made(lake: Connection) -> None:
    frame, cursor = lake.sql(TOTAL), lake.execute(TOTAL)
    before = rows(frame)
    lake.execute("INSERT INTO hours VALUES ('p0', 1000, 0, 0, 0, '2024-01-15-08'), ('p9', 7, 0, 0, 0, '2024-01-15-08')")
    lake.execute("REFRESH FACT f")
    lake.execute("ALTER TABLE hours COMPACT 'major'")
    lake.execute("SET rewriter.least_retention_hours = 0")
    lake.execute("VACUUM RETAIN 0 HOURS")
    assert rows(frame) == before
    assert rows(cursor.to_spark()) == before == rows(frame.filter("n > 0"))
    now = rows(lake.sql(TOTAL))
    assert len(now) == 4
    assert frame.rewriter.certificate["commit"] < lake.sql(TOTAL).rewriter.certificate["commit"]
    # What is released goes with the next VACUUM. A frame then fails, or has its old rows: never others.
    frame.rewriter.close()
    cursor.close()
    lake.execute("VACUUM RETAIN 0 HOURS")
    try:
        released: object = rows(frame)
    except Exception as error:
        released = str(error)
    assert released == before or "does not exist" in str(released) or "FILE_NOT_EXIST" in str(released)
    assert rows(lake.sql(TOTAL)) == now


def test_attributes_of_a_frame(lake: Connection) -> None:
    frame = lake.sql(
        "SELECT SUM(n) AS n FROM visits WHERE at >= :a AND at < :b", {"a": "2024-01-01", "b": "2024-01-08"}
    )
    assert frame.rewriter.coverage.complete
    assert "f_daily" in frame.rewriter.rewritten_sql
    assert frame.rewriter.certificate["references"][0]["pieces"][0]["table"] == "f_daily"
    with pytest.raises(rewriter.InterfaceError, match="returns no rows"):
        frame.rewriter.fetchall()
    lake.execute("SET rewriter.partial_data = true")
    with pytest.warns(rewriter.PartialResultWarning):
        partly = lake.sql("SELECT SUM(n) AS n FROM visits WHERE at >= '2024-01-01' AND at < '2024-03-01'")
    assert [str(missing) for missing in partly.rewriter.coverage.missing] == ["[2024-02-03, 2024-03-01)"]


def test_what_is_no_frame(lake: Connection, user: Any, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        lake.sql("SELECT SUM(n) FROM visits WHERE at >= '2024-02-01' AND at < '2024-03-01'")
    for statement in ("SHOW TABLES", "INSERT INTO plain VALUES (1, 'x', NULL)", "DROP TABLE plain"):
        with pytest.raises(rewriter.ProgrammingError, match="Only a query is a DataFrame"):
            lake.sql(statement)
    with pytest.raises(rewriter.InterfaceError, match="has no DataFrame"):
        lake.execute("SHOW TABLES").to_spark()
    with pytest.raises(rewriter.InterfaceError, match="Nothing has been executed"):
        lake.cursor().to_spark()
    with pytest.raises(rewriter.NotSupportedError, match="system table"):
        lake.sql("SELECT * FROM system.timelines")
    lake.execute("START TRANSACTION")
    lake.execute("INSERT INTO plain VALUES (4, 'x', NULL)")
    with pytest.raises(rewriter.NotSupportedError, match="COMMIT first"):
        lake.sql("SELECT a FROM plain")
    lake.execute("ROLLBACK")
    assert rows(lake.sql("SELECT COUNT(*) AS n FROM plain")) == [(3,)]
    with pytest.raises(rewriter.NotSupportedError, match="Only the Spark engine") as caught:
        rewriter.connect(tmp_path / "d", engine="duckdb").sql("SELECT 1 AS a")
    assert "fetch_df" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "value", "query", "remedy"),
    [
        ("spark.sql.caseSensitive", "true", "SELECT a FROM plain", "unset"),
        ("spark.sql.parquet.filterPushdown.decimal", "true", TOTAL.replace("SUM(ms)", "SUM(paid)"), "set"),
    ],
)
def test_a_setting_that_would_change_the_rows(
    lake: Connection, user: Any, name: str, value: str, query: str, remedy: str
) -> None:
    before = user.conf.get(name)
    user.conf.set(name, value)
    with pytest.raises(rewriter.NotSupportedError, match=name) as caught:
        lake.sql(query)
    assert caught.value.condition == "SPARK_SETTING_CHANGES_RESULTS"
    assert f"spark.conf.{remedy}(" in (caught.value.hint or "")
    user.conf.set(name, before)
    assert rows(lake.sql(query))


def test_an_expression_that_fails_fails_in_the_frame(lake: Connection) -> None:
    """Also where the session of the user is lenient: NULL in place of an overflow would be another number."""
    frame = lake.sql("SELECT CAST(a + 2147483647 AS INT) AS a FROM plain")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        frame.collect()
    assert rows(lake.sql("SELECT CAST(a AS DECIMAL(5,2)) AS d FROM plain WHERE a = 1")) == [(Decimal("1.00"),)]


def test_frames_of_a_closed_connection_end_by_name_or_stay(tmp_path: Path, user: Any) -> None:
    with rewriter.connect(tmp_path / "w", engine=user) as connection:
        for statement in WORLD.split(";"):
            connection.execute(statement)
        frame = connection.sql(TOTAL)
        before = rows(frame)
    assert rows(frame) == before
    with pytest.raises(rewriter.InterfaceError):
        _ = frame.rewriter.certificate
    assert user.range(2).count() == 2
