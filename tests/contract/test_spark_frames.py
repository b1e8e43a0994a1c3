"""Queries as DataFrames of Spark: ``connection.sql`` and ``cursor.to_spark``, in the session that the user has."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from page_runner import DOCS, blocks, is_same_output

import rewriter
from rewriter.dbapi import Connection
from rewriter.errors import AnalysisError, MissingDataError
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
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.share(1)
@pytest.mark.parametrize("query", QUERIES)
def test_a_frame_has_the_rows_of_the_query(lake: Connection, query: str) -> None:
    cursor = lake.execute(query)
    expected = cursor.fetchall()
    for frame in (lake.sql(query), cursor.to_spark()):
        found = rows(frame)
        assert [[_utc(value) for value in row] for row in found] == [[_utc(value) for value in row] for row in expected]
        assert frame.columns == [column[0] for column in cursor.description or ()]


@pytest.mark.share(1)
@pytest.mark.parametrize("query", ["SELECT p.a FROM plain p CROSS JOIN (SELECT 1 AS b) ORDER BY 1", TOTAL])
def test_a_query_runs_after_its_frame_was_made(lake: Connection, query: str) -> None:
    """The engine keeps the views of a query, which a DataFrame of the same query needs, too."""
    expected = lake.execute(query).fetchall()
    for _ in range(2):
        assert rows(lake.sql(query)) == expected == lake.execute(query).fetchall()


@pytest.mark.share(1)
@pytest.mark.parametrize("second", [TOTAL, TOTAL.replace("07:00", "08:00"), f"{TOTAL} LIMIT 5"])
def test_two_frames_over_the_same_files_are_joined(lake: Connection, second: str) -> None:
    one, other = lake.sql(TOTAL), lake.sql(second)
    left, right = rows(one), rows(other)
    pairs = [(a, b) for a in left for b in right]
    assert one.join(other, one.page == other.page).count() == 3
    assert one.join(other, one.ms < other.ms).count() == sum(a[2] < b[2] for a, b in pairs)
    assert one.join(other, one.ms < other.n).count() == sum(a[2] < b[1] for a, b in pairs)
    assert sorted(rows(one.union(other))) == sorted(left + right)
    both = rows(one.crossJoin(other).select(one.ms, other.ms))
    assert sorted(both) == sorted((a[2], b[2]) for a, b in pairs)


@pytest.mark.share(1)
def test_new_texts_over_files_that_were_read(lake: Connection) -> None:
    """What is read of files is kept by the files: each query has its own range and its own columns."""
    for end, column in (("2024-01-05", "ms"), ("2024-01-20 03:00", "n"), ("2024-01-31", "ms"), ("2024-01-05", "n")):
        query = f"SELECT SUM({column}) FROM visits WHERE at < '{end}'"
        (total,) = lake.execute(query).fetchall()
        lake.execute("SET rewriter.periods = 'HOURLY'")
        assert lake.execute(query).fetchall() == [total]
        lake.execute("RESET rewriter.periods")
        assert rows(lake.sql(query)) == [total]
        assert lake.execute(f"{query} AND page IN ('p0', 'p1', 'p2', 'x')").fetchall() == [total]
    lake.execute("INSERT INTO hours VALUES ('p0', 1000, 0, 0, 0, '2024-01-15-08')")
    query = "SELECT SUM(n) FROM visits WHERE at < '2024-01-31'"
    assert lake.execute(query).fetchall()[0][0] == 1000 + lake.execute(f"{query} AND page <> 'p0'").fetchall()[0][
        0
    ] + sum(id % 5 for id in range(2000) if id % 3 == 0 and id % 780 < 720)


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


def test_jobs_name_the_cube_and_its_cover(lake: Connection, user: Any) -> None:
    def described(query_id: str | None) -> set[str]:
        context = user.sparkContext
        store = context._jsc.sc().statusStore()
        jobs = context.statusTracker().getJobIdsForGroup(f"rewriter-{query_id}")
        return {store.job(job).description().get() for job in jobs}

    user.sparkContext.setJobDescription("mine")
    cursor = lake.execute(TOTAL)
    assert len(cursor.fetchall()) == 3
    (found,) = described(cursor.query_id)
    assert found.startswith(f"{cursor.query_id}: visits: 31 days, 22 hours of f | SELECT page,")
    assert user.sparkContext.getLocalProperty("spark.job.description") == "mine"
    user.sparkContext.setJobDescription(None)
    written = lake.execute("CREATE TABLE kept AS SELECT SUM(n) AS n FROM visits WHERE at < '2024-01-08'")
    assert {text.partition(" | ")[0] for text in described(written.query_id)} == {
        f"{written.query_id}: visits: 7 days of f"
    }
    plain = lake.execute("SELECT a FROM plain ORDER BY a")
    plain.fetchall()
    assert described(plain.query_id) == {f"{plain.query_id}: SELECT a FROM plain ORDER BY a"}


def test_caching_says_what_keeps_rows(lake: Connection) -> None:
    (warning,) = lake.execute("CACHE TABLE plain").warnings
    assert warning == (
        "CACHE TABLE has no effect here: each query reads the current rows. connection.sql('SELECT …').cache() keeps "
        "the rows of a query in Spark."
    )
    (warning,) = lake.execute("CACHE TABLE v AS SELECT a FROM plain").warnings
    assert warning.startswith("v is a temporary view here")
    assert ".cache() keeps" in warning
    kept = lake.sql("SELECT a FROM v").cache()
    assert kept.count() == 3
    lake.execute("INSERT INTO plain VALUES (4, 'x', NULL)")
    assert (kept.count(), lake.sql("SELECT a FROM v").count()) == (3, 4)
    kept.unpersist()
    (warning,) = lake.execute("SET rewriter.spark_ui = true").warnings
    assert warning == "rewriter.spark_ui counts when Spark starts, and it has started."


_PAGES = """
import sys, urllib.request, rewriter
from pyspark.sql import SparkSession
with rewriter.connect(sys.argv[1], engine="local[1]", spark_ui=True) as connection:
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    url = connection.sql("SELECT a FROM t").sparkSession.sparkContext.uiWebUrl
    print("SELECT 1 AS a" in urllib.request.urlopen(url + "/jobs/").read().decode(), flush=True)
"""


@pytest.mark.long
def test_pages_of_spark_by_a_setting(tmp_path: Path, spark: SparkEngine) -> None:
    """In a process of its own: this one runs a Spark without pages."""
    program = [sys.executable, "-c", _PAGES, str(tmp_path / "w")]
    assert subprocess.run(program, capture_output=True, text=True, timeout=240).stdout.split() == ["True"]


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
        ("spark.sql.parquet.filterPushdown.decimal", "true", "SELECT s FROM nested", "set"),
    ],
)
def test_a_setting_that_would_change_the_rows(
    lake: Connection, user: Any, name: str, value: str, query: str, remedy: str
) -> None:
    lake.execute("CREATE TABLE nested AS SELECT named_struct('d', 1.5) AS s")
    before = user.conf.get(name)
    user.conf.set(name, value)
    with pytest.raises(rewriter.NotSupportedError, match=name) as caught:
        lake.sql(query)
    assert caught.value.condition == "SPARK_SETTING_CHANGES_RESULTS"
    assert f"spark.conf.{remedy}(" in (caught.value.hint or "")
    user.conf.set(name, before)
    assert rows(lake.sql(query))


def test_rows_that_a_filter_in_files_would_lose(lake: Connection, user: Any) -> None:
    """With the session's own settings: decimals of a column that was widened, and the two zeros of ORC."""
    user.conf.unset("spark.sql.parquet.filterPushdown.decimal")
    lake.execute("CREATE TABLE money (d DECIMAL(4,2))")
    lake.execute("INSERT INTO money VALUES (1.25), (99.99), (NULL)")
    lake.execute("ALTER TABLE money ALTER COLUMN d TYPE DECIMAL(12,2)")
    lake.execute("INSERT INTO money VALUES (42949673.00)")
    lake.execute("CREATE TABLE zeros (x DOUBLE) USING orc")
    lake.execute("INSERT INTO zeros VALUES (0.0)")
    lake.execute("INSERT INTO zeros VALUES (-0.0)")
    for query in (
        "SELECT COUNT(*) AS n, SUM(d) AS d FROM money WHERE d < 42949673.5",
        "SELECT COUNT(*) AS n, SUM(d) AS d FROM money WHERE d <> 42949674.25",
        "SELECT COUNT(*) AS n, MAX(d) AS d FROM money WHERE d > 99 AND d IS NOT NULL",
        "SELECT COUNT(*) AS n, MAX(x) AS d FROM zeros WHERE x = 0.0",
        "SELECT COUNT(*) AS n, MAX(x) AS d FROM zeros WHERE x >= 0.0",
        "SELECT COUNT(*) AS n, MAX(x) AS d FROM zeros WHERE x <= -0.0",
        f"SELECT SUM(n) AS n, SUM(paid) AS d FROM visits WHERE {RANGE} AND paid > 100.5",
    ):
        frame = lake.sql(query)
        assert rows(frame) == lake.execute(query).fetchall()
        pushed = re.findall(r"PushedFilters: \[(.*?)\]", frame._jdf.queryExecution().executedPlan().toString())
        assert pushed
        assert not re.search(r"\((d|x|paid),", "".join(pushed))
    assert rows(lake.sql("SELECT COUNT(*) AS n FROM zeros WHERE x = 0.0")) == [(2,)]
    assert rows(lake.sql("SELECT COUNT(*) AS n FROM money WHERE d < 42949673.5")) == [(3,)]


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


# DataFrames into tables, and as tables of queries.


@pytest.fixture
def own(user: Any) -> Any:
    """A DataFrame of the user, whose times without a zone are of no zone."""
    return user.sql(
        "SELECT CAST(id AS INT) AS a, concat('s', id) AS s, DATE '2024-05-01' + CAST(id % 2 AS INT) AS d FROM range(4)"
    )


def test_a_frame_is_appended_once(lake: Connection, own: Any, user: Any) -> None:
    assert lake.append("plain", own).rowcount == 4
    assert lake.append("plain", own.select("d", "a"), batch_id="b1").rowcount == 4
    with pytest.warns(rewriter.Warning, match="committed to plain before"):
        assert lake.append("plain", own, batch_id="b1").rowcount == 0
    query = "SELECT COUNT(*), COUNT(s) FROM plain WHERE d >= DATE '2024-05-01' AND d < DATE '2024-06-01'"
    assert lake.execute(query).fetchall() == [(8, 4)]
    assert [view.name for view in user.catalog.listTables("global_temp")] == []
    with pytest.raises(AnalysisError):
        lake.append("plain", own.withColumnRenamed("a", "b"))
    with pytest.raises(rewriter.InterfaceError, match="streaming"):
        lake.append("plain", user.readStream.format("rate").load())


def test_rows_of_a_frame_do_not_pass_through_python(
    lake: Connection, own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.classic.dataframe import DataFrame

    def refuse(*_: object) -> None:
        raise AssertionError("rows were collected")

    for name in ("toArrow", "collect", "toPandas", "__arrow_c_stream__"):
        monkeypatch.setattr(DataFrame, name, refuse, raising=False)
    lake.append("plain", own)
    lake.overwrite("plain", own)
    lake.create_table("copied", own, ["d"])
    lake.register_source("mine", own)
    lake.execute("INSERT INTO plain SELECT a + 10, s, d FROM mine")


def test_overwrite_replaces_partitions(lake: Connection, own: Any) -> None:
    lake.append("plain", own)
    only = own.filter("a = 0").selectExpr("a + 100 AS a", "s", "d")
    assert lake.overwrite("plain", only).rowcount == 1
    rows_of_may = "SELECT a FROM plain WHERE d >= DATE '2024-05-01' AND d < DATE '2024-06-01' ORDER BY a"
    assert lake.execute(rows_of_may).fetchall() == [(1,), (3,), (100,)]
    assert lake.overwrite("plain", only.drop("d"), partition={"d": "2024-05-02"}).rowcount == 1
    assert lake.execute(rows_of_may).fetchall() == [(100,), (100,)]
    assert lake.overwrite("plain", only, partitions="static").rowcount == 1
    assert lake.execute("SELECT a FROM plain").fetchall() == [(100,)]
    assert lake.session.settings.get("rewriter.partition_overwrite_mode") == "dynamic"
    with pytest.raises(rewriter.Error, match="'x'"):
        lake.overwrite("plain", only.drop("d"), partition={"d": "x'; DROP TABLE plain --"})
    with pytest.raises(rewriter.Error) as caught:
        lake.overwrite("no.`such` table", only)
    assert caught.value.position is None
    assert lake.execute("SELECT a FROM plain").fetchall() == [(100,)]


def test_a_table_of_a_frame(lake: Connection, user: Any) -> None:
    frame = user.sql(
        "SELECT CAST(1 AS BYTE) AS tiny, CAST('2024-03-10 02:30:00' AS TIMESTAMP_NTZ) AS clock, "
        "CAST(1.5 AS DECIMAL(5,2)) AS amount, array(1, 2) AS list, named_struct('x', 1) AS part, CAST(NULL AS STRING) "
        "AS none, 'k' AS `odd name`"
    )
    lake.create_table("made", frame, partitioned_by=["odd name"])
    ((clock, amount, name),) = lake.execute("SELECT clock, amount, `odd name` FROM made").fetchall()
    assert (clock, amount, name) == (datetime(2024, 3, 10, 2, 30, tzinfo=UTC), Decimal("1.50"), "k")
    with pytest.raises(rewriter.Error, match="already exists"):
        lake.create_table("made", frame)


def test_a_frame_is_a_table_of_queries(lake: Connection, user: Any) -> None:
    names = user.sql("SELECT concat('p', id) AS page, id * 10 AS weight FROM range(3)")
    lake.register_source("names", names)
    query = f"SELECT names.weight, SUM(n) AS n FROM visits JOIN names USING (page) WHERE {RANGE} GROUP BY 1 ORDER BY 1"
    by_page = [n for _, n, _ in lake.execute(TOTAL).fetchall()]
    assert lake.execute(query).fetchall() == list(zip((0, 10, 20), by_page, strict=True))
    assert rows(lake.sql(query)) == list(zip((0, 10, 20), by_page, strict=True))
    lake.register_source("names", names.filter("weight = 0"))
    assert lake.execute(query).fetchall() == [(0, by_page[0])]
    with pytest.raises(rewriter.NotSupportedError, match="can only be read"):
        lake.execute("INSERT INTO names VALUES ('p', 1)")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "spark"])
def test_data_of_other_libraries(tmp_path: Path, kind: str, user: Any) -> None:
    import pyarrow as pa

    table = pa.table({"page": ["a", "b", None], "n": pa.array([1, 2, 3], pa.uint32()), "t": [datetime(2024, 1, 2)] * 3})
    polars = pytest.importorskip("polars") if kind == "polars" else None
    spark = user if kind == "spark" else None
    data: Any = {
        "pandas": table.to_pandas if kind == "pandas" else None,
        "polars": (lambda: polars.from_arrow(table)) if polars is not None else None,
        "arrow": lambda: table,
        "spark": lambda: spark.createDataFrame(table.set_column(1, "n", table["n"].cast("int64"))),
    }[kind]()
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.register_source("mine", data)
        assert connection.execute("SELECT SUM(n), COUNT(page) FROM mine").fetchall() == [(6, 2)]
        assert connection.create_table("t", data).rowcount == 3
        assert connection.append("t", data).rowcount == 3
        assert connection.overwrite("t", data).rowcount == 3
        assert connection.execute("SELECT COUNT(*), SUM(n) FROM t").fetchall() == [(3, 6)]
        with pytest.raises(rewriter.InterfaceError, match="int is not a source"):
            connection.register_source("other", 3)


def test_a_frame_is_computed_under_the_settings_of_its_session(lake: Connection, user: Any) -> None:
    from pyspark.sql import functions

    user.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    frame = user.sql(
        "SELECT to_date('2024-1-5', 'yyyy-MM-dd') AS day, current_timezone() AS zone, "
        "CAST(TIMESTAMP '2024-03-10 03:30:00' AS STRING) AS shown, CAST('x' AS INT) AS none"
    )

    hour: Any = functions.pandas_udf(lambda times: times.dt.hour, "int", functions.PandasUDFType.SCALAR)  # type: ignore[call-overload, unused-ignore]
    frame = frame.withColumn("hour", hour(functions.expr("TIMESTAMP '2024-03-10 03:30:00'")))
    expected = [tuple(row) for row in frame.collect()]
    assert expected[0][4] == 3
    lake.create_table("made", frame)
    assert lake.execute("SELECT * FROM made").fetchall() == expected
    lake.register_source("frame", frame)
    assert lake.execute("SELECT * FROM frame").fetchall() == expected


def test_rows_that_differ_each_time_are_computed_once_for_several_targets(lake: Connection, user: Any) -> None:
    frame = user.range(300).selectExpr("id", "rand() AS r")
    lake.register_source("random", frame)
    for name in ("low", "high"):
        lake.execute(f"CREATE TABLE {name} (id BIGINT, r DOUBLE)")
    lake.execute("FROM random INSERT INTO low SELECT id, r WHERE r < 0.5 INSERT INTO high SELECT id, r WHERE r >= 0.5")
    ids = [row[0] for name in ("low", "high") for row in lake.execute(f"SELECT id FROM {name}").fetchall()]
    assert sorted(ids) == list(range(300))


def test_a_source_is_read_again_for_each_statement(lake: Connection, user: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "files")
    user.range(3).write.parquet(path)
    lake.register_source("files", user.read.parquet(path).groupBy().count())
    assert lake.execute("SELECT `count` FROM files").fetchall() == [(3,)]
    user.range(4).write.mode("append").parquet(path)
    lake.register_source("files", user.read.parquet(path).groupBy().count())
    assert lake.execute("SELECT `count` FROM files").fetchall() == [(7,)]


@pytest.mark.parametrize("format", ["TEXTFILE", "CSV", "JSON", "ORC", "AVRO"])
def test_frames_of_each_format(lake: Connection, user: Any, format: str) -> None:
    lake.execute(f"CREATE TABLE other (a STRING, b INT, d DOUBLE) STORED AS {format}" if format in ("TEXTFILE", "AVRO")
                 else f"CREATE TABLE other (a STRING, b INT, d DOUBLE) USING {format}")  # fmt: skip
    lake.execute("INSERT INTO other VALUES ('x', 1, 0.5), (NULL, 2, -0.0)")
    assert rows(lake.sql("SELECT * FROM other ORDER BY b")) == [("x", 1, 0.5), (None, 2, 0.0)]


def test_what_no_source_can_be(lake: Connection, user: Any) -> None:
    collated = user.sql("SELECT 'A' COLLATE UTF8_LCASE AS a")
    for make in (lambda: lake.create_table("c", collated), lambda: lake.register_source("c", collated),
                 lambda: lake.append("plain", collated)):  # fmt: skip
        with pytest.raises(rewriter.InterfaceError, match="no collation"):
            make()
    frame = user.range(2).selectExpr("CAST(id AS INT) AS a", "'x' AS s")
    for partition in ({"d": 1.5}, {"d": True}, {"d": datetime(2024, 5, 1)}, ["d"]):
        with pytest.raises(rewriter.InterfaceError):
            lake.overwrite("plain", frame, partition=partition)  # type: ignore[arg-type]
    assert lake.overwrite("plain", frame, partition={"d": date(2024, 5, 1)}).rowcount == 2
    for names in ("day", [1]):
        with pytest.raises(rewriter.InterfaceError):
            lake.create_table("c", frame, partitioned_by=names)  # type: ignore[arg-type]
    for name in ("", None):
        with pytest.raises(rewriter.InterfaceError):
            lake.register_source(name, frame)  # type: ignore[arg-type]
    lake.register_source("c", frame)
    with pytest.raises(rewriter.NotSupportedError, match="can only be read"):
        lake.execute("DROP VIEW c")


def test_frames_that_are_dropped_leave_nothing(lake: Connection) -> None:
    scratch: Any = lake.session._started_engine()

    def left() -> int:
        return len(list(Path(scratch._scratch.path).iterdir()))

    rows(lake.sql(TOTAL))
    before = left()
    for _ in range(3):
        rows(lake.sql(TOTAL))
    assert left() == before


def test_the_program_of_the_page(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    spark.columns(EngineQuery("SELECT 1 AS a"))
    page = DOCS / "how-to" / "spark-session.md"
    program, output = (block.text for block in blocks(page) if block.language in ("python", "output"))
    exec(compile(program, str(page), "exec"), {})
    assert is_same_output(output.splitlines(), capsys.readouterr().out.rstrip().splitlines())


def test_a_frame_of_spark_connect(tmp_path: Path, connect: SparkEngine) -> None:
    with rewriter.connect(tmp_path / "w", engine=connect) as connection:
        for statement in WORLD.split(";"):
            connection.execute(statement)
        cursor = connection.execute(TOTAL)
        frame, before = connection.sql(TOTAL), cursor.fetchall()
        assert rows(frame) == before == rows(cursor.to_spark())
        assert rows(frame.filter("page = 'p1'").select("n")) == [(before[1][1],)]
        connection.execute("INSERT INTO hours VALUES ('p0', 1000, 0, 0, 0, '2024-01-15-08')")
        assert rows(frame) == before
        # Rows of a DataFrame of Connect become Arrow data.
        own = frame.sparkSession.range(3).selectExpr("CAST(id AS INT) AS a", "'c' AS s", "DATE '2024-07-01' AS d")
        assert connection.append("plain", own).rowcount == 3
        connection.register_source("own", own)
        assert connection.execute("SELECT SUM(a) FROM own").fetchall() == [(3,)]
