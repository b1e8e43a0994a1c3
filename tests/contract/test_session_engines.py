"""The same statements have the same results on every engine: one insert and one query, end to end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from rewriter.errors import DataError, Error, MissingDataError
from rewriter.exec.engine import Engine
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.spark.session import register_data_sources
from rewriter.session import Session


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def test_inserts_of_every_kind(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE p (id INT, v STRING) PARTITIONED BY (c STRING, d INT)")
    session.execute("INSERT INTO p PARTITION (c='x:y', d='01') VALUES (1,'a')")
    session.execute("INSERT INTO p PARTITION (c, d) VALUES (11,'k',null,6), (12,'l','',7), (13,'é','FR/中',null)")
    session.execute("INSERT INTO p PARTITION (c, d=9) (v, c, id) VALUES ('o','IT',15) -- the end")
    session.execute("INSERT INTO p VALUES (?, ?, ?, ?)", [18, "it's", "PT", 1])
    session.execute("INSERT OVERWRITE p PARTITION (c='PT', d) SELECT id + 1, v, d FROM p WHERE c = 'PT'")
    session.execute("INSERT INTO p PARTITION (c='emp', d='0007') SELECT 1,'a' WHERE false")
    assert rows(session, "SELECT * FROM p ORDER BY id") == [
        (1, "a", "x:y", 1),
        (11, "k", None, 6),
        (12, "l", None, 7),
        (13, "é", "FR/中", None),
        (15, "o", "IT", 9),
        (19, "it's", "PT", 1),
    ]
    assert len(rows(session, "SHOW PARTITIONS p")) == 7
    before = set(tmp_path.rglob("*.parquet"))
    for sql, condition in [
        ("INSERT INTO p VALUES (1, 'a', 'b')", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"),
        ("INSERT INTO p VALUES (1, 'a', 'b', 'c')", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"),
        ("INSERT INTO p SELECT id, nope, c, d FROM p", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("INSERT INTO p SELECT CAST(v AS INT), v, c, d FROM p", "CAST_INVALID_INPUT"),
    ]:
        with pytest.raises(Error) as caught:
            session.execute(sql)
        assert caught.value.condition == condition
        assert caught.value.position is not None
    assert isinstance(caught.value, DataError)
    assert set(tmp_path.rglob("*.parquet")) == before


def test_several_statements_of_one_transaction_write_one_table(session: Session) -> None:
    """They share a write id. Each has a directory of its own from which engines read values."""
    session.execute("CREATE TABLE p (id INT) PARTITIONED BY (c STRING, d INT)")
    session.execute("INSERT INTO p VALUES (1, 'a', 1)")
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO p VALUES (2, 'a', 1), (3, 'b', 2)")
    session.execute("INSERT INTO p VALUES (4, 'a', 1)")
    session.execute("INSERT OVERWRITE p PARTITION (c='c', d=3) VALUES (5)")
    session.execute("COMMIT")
    expected = [(1, "a", 1), (2, "a", 1), (3, "b", 2), (4, "a", 1), (5, "c", 3)]
    assert rows(session, "SELECT * FROM p ORDER BY id") == expected
    assert rows(session, "SELECT id FROM p WHERE c = 'a' AND d = 1 ORDER BY id") == [(1,), (2,), (4,)]


def test_external_tables_and_files(session: Session, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("a,b\n1,x\n2,\n")
    session.execute(f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/e'")
    session.execute(f"INSERT INTO e SELECT CAST(a AS INT), b FROM csv.`{tmp_path}/f.csv`")
    assert rows(session, "SELECT * FROM e ORDER BY a") == [(1, "x"), (2, None)]
    session.execute("INSERT OVERWRITE e SELECT a + 10, p FROM e WHERE p = 'x'")
    assert rows(session, "SELECT * FROM e ORDER BY a") == [(2, None), (11, "x")]
    assert rows(session, f"SELECT a FROM parquet.`{tmp_path}/e/p=x`") == [(11,)]


def test_a_cube(session: Session) -> None:
    columns = "shop STRING, n BIGINT, amount BIGINT, best INT"
    session.execute(f"CREATE TABLE hours ({columns}) PARTITIONED BY (dt STRING)")
    session.execute(f"CREATE TABLE days ({columns}) PARTITIONED BY (dt STRING)")
    session.execute(
        "CREATE CUBE sales (shop STRING, n BIGINT MEASURE COUNT, amount BIGINT MEASURE SUM, best INT MEASURE MAX, "
        "sold TIMESTAMP TIME)"
    )
    session.execute(
        "CREATE FACT f OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY sold AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY sold AS (dt))"
    )
    values = ", ".join(f"('a', 1, {hour}, {hour}, '2013-01-01-{hour:02d}')" for hour in range(24))
    session.execute(f"INSERT INTO hours VALUES {values}, ('b', 1, 7, 7, '2013-01-02-00')")
    session.execute(
        "INSERT INTO days SELECT shop, SUM(n), SUM(amount), MAX(best), SUBSTR(dt, 1, 10) FROM hours "
        "WHERE dt < '2013-01-02' GROUP BY shop, SUBSTR(dt, 1, 10)"
    )
    query = (
        "SELECT shop, COUNT(*) AS n, SUM(amount) AS amount, MAX(best) AS best FROM sales "
        "WHERE time_range_in(sold, '2013-01-01', '2013-01-02T01') GROUP BY shop ORDER BY shop"
    )
    answer = [("a", 24, 276, 23), ("b", 1, 7, 7)]
    result = session.execute(query)
    assert result.fetch() == answer
    assert {part.table: part.partitions for part in result.coverage.references[0].parts} == {"days": 1, "hours": 1}
    assert result.stats.files == 2
    assert [column.name for column in result.columns or ()] == ["shop", "n", "amount", "best"]
    assert [column.type for column in result.columns or ()] == ["string", "bigint", "bigint", "int"]
    session.execute("INSERT OVERWRITE hours PARTITION (dt='2013-01-01-05') VALUES ('a', 1, 5, 5)")
    result = session.execute(query)
    assert result.fetch() == answer
    assert {part.table: part.partitions for part in result.coverage.references[0].parts} == {"hours": 25}
    session.execute("ALTER TABLE hours DROP PARTITION (dt='2013-01-01-05')")
    with pytest.raises(MissingDataError) as caught:
        session.execute(query)
    assert caught.value.missing == ("[2013-01-01T05, 2013-01-01T06)",)


def test_weeks_around_the_ends_of_years(session: Session) -> None:
    """An ISO week belongs to the year of its Thursday: 2012-12-31 belongs to 2013, 2016-01-03 to 2015."""
    session.execute("CREATE CUBE visits (visits BIGINT MEASURE COUNT, at TIMESTAMP TIME)")
    session.execute("CREATE TABLE days (visits BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE TABLE weeks (visits BIGINT) PARTITIONED BY (dt STRING)")
    session.execute(
        "CREATE FACT log OF CUBE visits STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (dt), "
        "TABLE weeks PERIOD WEEKLY PARTITIONED BY at AS (dt))"
    )
    for monday in (date(2012, 12, 31), date(2015, 12, 28), date(2016, 1, 4)):
        week = [f"({number}, '{monday + timedelta(number)}')" for number in range(7)]
        session.execute(f"INSERT INTO days VALUES {', '.join(week)}")
    session.execute("REFRESH FACT log")
    assert rows(session, "SHOW PARTITIONS weeks") == [("dt=2013-W01",), ("dt=2015-W53",), ("dt=2016-W01",)]
    session.execute("ALTER TABLE days DROP PARTITION (dt >= '2012-01-01')")
    sql = "SELECT CAST(to_date(date_trunc('week', at)) AS STRING) AS week, COUNT(*) AS n FROM visits"
    wanted = [("2012-12-31", 21), ("2015-12-28", 21), ("2016-01-04", 21)]
    ends = [("2012-12-31", "2013-01-07"), ("2015-12-28", "2016-01-11")]
    inside = " OR ".join(f"(at >= '{start}' AND at < '{end}')" for start, end in ends)
    assert rows(session, f"{sql} WHERE {inside} GROUP BY date_trunc('week', at) ORDER BY week") == wanted


def test_a_spark_session_may_have_our_data_sources_already(spark: SparkEngine, tmp_path: Path) -> None:
    """A session inherits them, or Spark finds them in a Python worker of a session that has ended."""
    from pyspark.sql import SparkSession

    with Session(tmp_path, spark) as session:
        session.execute("CREATE TABLE t (n INT) PARTITIONED BY (dt STRING)")
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        running = SparkSession.builder.getOrCreate()
        register_data_sources(running)
        register_data_sources(SparkSession(running.sparkContext, running._jsparkSession.cloneSession()))
        session.execute("INSERT INTO t VALUES (4, 'b')")
        assert rows(session, "SELECT dt, SUM(n) AS n FROM t GROUP BY dt ORDER BY dt") == [("a", 1), ("b", 6)]


def test_a_second_engine_of_a_process_writes(spark: SparkEngine, tmp_path: Path) -> None:
    """Spark looked for our data source in the session of the first engine, and registered none for the second."""
    second = SparkEngine()
    try:
        for engine in (spark, second):
            with Session(tmp_path, engine) as session:
                session.execute("CREATE TABLE IF NOT EXISTS t (x INT) PARTITIONED BY (p INT)")
                assert session.execute("INSERT INTO t VALUES (1, 1), (2, 2)").rowcount == 2
    finally:
        second.close()


def test_a_text_that_runs_again_has_a_new_present_moment(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", duckdb) as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("INSERT INTO t VALUES (1)")
        moments = {session.execute("SELECT now(), x FROM t").fetch()[0][0] for _ in range(3)}
        assert len(moments) == 3
