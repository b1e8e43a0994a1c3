"""What Spark makes of our queries: hints, adaptive plans, conditions that a cover implies; errors of Python code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rewriter
from rewriter.errors import NotSupportedError
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.spark import SparkLake

pytestmark = pytest.mark.spark

WORLD = """
CREATE CUBE visits (page STRING, n BIGINT MEASURE COUNT, ms BIGINT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE hours (page STRING, n BIGINT, ms BIGINT) PARTITIONED BY (h STRING);
CREATE FACT f OF CUBE visits STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (h)) ROLLUPS (DAILY);
INSERT INTO hours MARK COMPLETE FROM '2024-01-01' TO '2024-01-03'
  SELECT concat('p', id % 3), id % 5, id,
    date_format(timestamp_seconds(1704067200 + 3600 * (id % 48)), 'yyyy-MM-dd-HH') FROM range(200);
REFRESH FACT f;
CREATE TABLE pages (page STRING, name STRING);
INSERT INTO pages VALUES ('p0', 'a'), ('p1', 'b');
CREATE TABLE places (place STRING) PARTITIONED BY (`of` STRING)
"""
TIME = "at >= '2024-01-01 05:00' AND at < '2024-01-03'"
NAMES = f"SELECT {{hint}} name, SUM(n) AS n FROM visits v JOIN pages d ON v.page = d.page WHERE {TIME} GROUP BY name"


@pytest.fixture
def user(spark: SparkEngine) -> Any:
    from pyspark.sql import SparkSession

    spark.explain(EngineQuery("SELECT 1"))
    session = SparkSession.active().newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.sql.adaptive.enabled", "true")
    return session


@pytest.fixture
def lake(tmp_path: Path, user: Any) -> Iterator[SparkLake]:
    with rewriter.spark.register(user, tmp_path / "w") as registered:
        for statement in WORLD.split(";"):
            registered.connection.execute(statement)
        yield registered


def executed_plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.mark.parametrize(
    ("hint", "join"),
    [
        ("", "SortMergeJoin"),
        ("/*+ BROADCAST(d) */", "BroadcastHashJoin [page"),
        ("/*+ BROADCAST(v) */", "BroadcastHashJoin [page"),
    ],
)
def test_hints_of_joins_with_a_cube_and_adaptive_plans(lake: SparkLake, hint: str, join: str) -> None:
    query = NAMES.format(hint=hint)
    frame = lake.sql(query)
    rows = sorted(tuple(row) for row in frame.collect())
    plan = executed_plan(frame)
    assert join in plan
    assert "AdaptiveSparkPlan isFinalPlan=true" in plan
    if hint:
        assert ("BuildRight" if "(d)" in hint else "BuildLeft") in plan
        assert "SortMergeJoin" not in plan
    assert sorted(lake.connection.execute(query).fetchall()) == rows
    assert [name for name, _ in rows] == ["a", "b"]


def test_no_time_is_computed_where_the_cover_implies_the_conditions(lake: SparkLake) -> None:
    """The text that EXPLAIN REWRITE and certificates have computes it."""
    totals = lake.connection.execute("SELECT SUM(n), SUM(ms) FROM hours WHERE h >= '2024-01-01-05'").fetchall()
    for query, parameters in (
        (f"SELECT SUM(n) AS n, SUM(ms) AS ms FROM visits WHERE {TIME}", ()),
        ("SELECT SUM(n) AS n, SUM(ms) AS ms FROM visits WHERE at >= ? AND at < ?", ("2024-01-01 05:00", "2024-01-03")),
    ):
        frame = lake.connection.sql(query, parameters)
        assert [tuple(row) for row in frame.collect()] == totals
        assert "timestamp" not in executed_plan(frame)
        assert "to_timestamp(h" in str(frame.rewriter.rewritten_sql)
        assert lake.connection.execute(query, parameters).fetchall() == totals
    for condition, item in (("at < '2024-01-02 05:30'", "1"), (TIME, "MAX(to_date(at))")):
        frame = lake.sql(f"SELECT SUM(n) AS n, {item} AS x FROM visits WHERE {condition}")
        frame.collect()
        assert "timestamp" in executed_plan(frame)


def test_partition_values_that_sql_would_read_otherwise(lake: SparkLake) -> None:
    """All rows are in one packed file, of which a part is read."""
    values = ("it's", "${spark.app.name}", "a\\u0041b", "x", None)
    rows = ", ".join("(?, ?)" for _ in values)
    parameters = [item for number, value in enumerate(values, start=1) for item in (str(number), value)]
    lake.connection.execute(f"INSERT INTO places VALUES {rows}", parameters)
    query = "SELECT place FROM places WHERE `of` = ? OR `of` = 'x' ORDER BY place"
    for place, value in (("1", values[0]), ("2", values[1]), ("3", values[2])):
        assert lake.connection.execute(query, (value,)).fetchall() == [(place,), ("4",)], value
        assert [row[0] for row in lake.connection.sql(query, (value,)).collect()] == [place, "4"], value
    assert lake.connection.execute("SELECT place FROM places WHERE `of` IS NULL").fetchall() == [("5",)]


def test_errors_of_functions_of_the_user_have_their_type_and_message(lake: SparkLake, user: Any) -> None:
    def fail(value: object) -> int:
        raise ValueError(f"bad value {value}\nsecond line")

    user.udf.register("fail", fail, "int")
    for statement in ("SELECT fail(n) AS x FROM hours", "INSERT INTO pages SELECT page, fail(n) FROM hours"):
        with pytest.raises(rewriter.Error) as caught:
            lake.connection.execute(statement).fetchall()
        assert caught.value.condition == "PYTHON_EXCEPTION"
        assert "ValueError: bad value " in caught.value.message
        assert "\n" not in caught.value.message


def test_variants_are_refused_by_name(lake: SparkLake) -> None:
    for item in ("parse_json('{}')", "array(parse_json('1'))", "named_struct('a', parse_json('1'))"):
        with pytest.raises(NotSupportedError, match="The column v of the result is a VARIANT") as caught:
            lake.connection.execute(f"SELECT {item} AS v")
        assert caught.value.condition == "UNSUPPORTED_DATATYPE"
        assert "to_json" in str(caught.value.hint)
    assert lake.connection.execute("""SELECT to_json(parse_json('{"a":1}')) AS v""").fetchall() == [('{"a":1}',)]
    assert lake.sql("SELECT parse_json('{}') AS v").schema[0].dataType.simpleString() == "variant"
