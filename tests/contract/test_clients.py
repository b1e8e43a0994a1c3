"""The same programs over the DB-API, on DuckDB, on a classic Spark, and on Spark Connect."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rewriter
from rewriter.dbapi import Connection
from rewriter.exec.engine import Engine
from rewriter.exec.spark.connect_session import ConnectedSpark
from rewriter.exec.spark.engine import SparkEngine

CLIENTS = ["duckdb", "spark", pytest.param("connect", marks=pytest.mark.spark)]
#: Texts that would change a statement if they were pasted into it.
HOSTILE = [
    "'; DROP TABLE t; --",
    "' OR '1' = '1",
    "\\'; DROP TABLE t; --",
    "\\",
    "''",
    '" OR 1 = 1 --',
    "`t`",
    "/* */ -- ?",
    ":name ${name} {0} %s ?",
    "\x00\n\r\t\x1a",
    "ʼ; ＇ ‘ü中😀",
    "r'x' X'00' DATE '2020-01-01'",
    "",
]


@pytest.fixture(params=CLIENTS)
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def connection(tmp_path: Path, engine: Engine) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "w", engine) as opened:
        yield opened


def classic_session(spark: SparkEngine) -> Any:
    """Returns the session of a classic Spark. Skips the test on Spark Connect, which has no ``SparkContext``."""
    session: Any = spark._running_spark().session
    if not hasattr(session, "sparkContext"):
        pytest.skip("Spark Connect has no SparkContext")
    return session


def test_parameters_cannot_change_a_statement(connection: Connection) -> None:
    connection.execute("CREATE TABLE t (s STRING, n INT) PARTITIONED BY (p STRING)")
    rows = [(text, number) for number, text in enumerate(HOSTILE)]
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO t VALUES (?, ?, 'a')", rows)
    connection.execute("INSERT INTO t SELECT :s, :n, :p", {"s": HOSTILE[0], "n": 100, "p": HOSTILE[1]})
    assert cursor.execute("SELECT s, n FROM t WHERE p = 'a' ORDER BY n").fetchall() == rows
    for text, number in rows:
        assert cursor.execute("SELECT n FROM t WHERE p = 'a' AND s = ?", [text]).fetchall() == [(number,)]
        assert cursor.execute("SELECT :v AS v, ':v' AS w, '?' AS x", {"v": text}).fetchall() == [(text, ":v", "?")]
    found = cursor.execute("SELECT n FROM t WHERE s IN (?) AND p = 'a' ORDER BY n", [HOSTILE]).fetchall()
    assert found == [(number,) for _, number in rows]
    assert cursor.execute("SELECT s FROM t WHERE p = ?", [HOSTILE[1]]).fetchall() == [(HOSTILE[0],)]
    assert cursor.execute("SELECT n FROM t WHERE p = ?", ["a' OR p <> 'a"]).fetchall() == []
    for sql in ("SELECT * FROM ?", "SELECT * FROM :t", "DROP TABLE ?"):
        with pytest.raises(rewriter.DatabaseError):
            cursor.execute(sql, {"t": "t"} if ":" in sql else ["t"])
    assert cursor.execute("SELECT COUNT(*) FROM t").fetchone() == (len(rows) + 1,)


def test_values_keep_their_types(connection: Connection) -> None:
    instant = dt.datetime(2013, 1, 29, 6, 0, 0, 123456, tzinfo=dt.UTC)
    old = dt.datetime(1492, 10, 12, 1, 2, 3, tzinfo=dt.UTC)
    values: list[Any] = [
        None, True, -7, 2**40, 1.5, float("inf"), "ö", Decimal("12.34"), dt.date(2013, 1, 29), dt.date(1492, 10, 12),
        instant, old,
    ]  # fmt: skip
    cursor = connection.execute("SELECT " + ", ".join(f"? AS c{number}" for number in range(len(values))), values)
    assert [column[1] for column in cursor.description or []] == [
        "void", "boolean", "int", "bigint", "double", "double", "string", "decimal(4,2)", "date", "date", "timestamp",
        "timestamp",
    ]  # fmt: skip
    assert cursor.fetchall() == [tuple(values)]


def test_writes_and_reads_of_partitions(connection: Connection, tmp_path: Path) -> None:
    connection.execute("CREATE TABLE p (id INT, v STRING) PARTITIONED BY (c STRING, d INT)")
    connection.execute("INSERT INTO p VALUES (1, 'a', 'x:y', 1), (2, 'b', NULL, 2), (3, 'c', '', 3)")
    cursor = connection.execute("INSERT OVERWRITE p PARTITION (c = 'x:y', d) SELECT id + 10, v, d FROM p WHERE d = 1")
    assert cursor.rowcount == 1
    assert cursor.stats is not None
    assert cursor.stats.written_partitions == 1
    cursor.execute("SELECT id, c FROM p ORDER BY id")
    assert cursor.fetchall() == [(2, None), (3, None), (11, "x:y")]
    (tmp_path / "one.csv").write_text("a\n1\n\n3\n")
    assert cursor.execute(f"SELECT * FROM csv.`{tmp_path}/one.csv` ORDER BY 1").fetchall() == [(None,), ("1",), ("3",)]
    connection.execute(f"CREATE EXTERNAL TABLE e (a INT, b STRING) STORED AS TEXTFILE LOCATION '{tmp_path}/e'")
    connection.execute("INSERT INTO e VALUES (1, 'x'), (2, NULL)")
    assert connection.execute("SELECT * FROM e ORDER BY a").fetchall() == [(1, "x"), (2, None)]


def test_a_long_result_is_read_piece_by_piece(connection: Connection) -> None:
    connection.execute("CREATE TABLE n (a BIGINT)")
    connection.append("n", pa.table({"a": pa.array(range(300_000), pa.int64())}))
    cursor = connection.execute("SELECT a, a * 2 AS b FROM n ORDER BY a")
    assert [cursor.fetchone() for _ in range(3)] == [(0, 0), (1, 2), (2, 4)]
    other = connection.execute("SELECT COUNT(*) FROM n")
    assert cursor.fetchmany(2) == [(3, 6), (4, 8)]
    assert other.fetchall() == [(300_000,)]
    assert cursor.fetch_arrow_table().column("a").to_pylist() == list(range(5, 300_000))
    cursor.execute("SELECT a FROM n ORDER BY a").fetchone()
    cursor.close()
    assert connection.execute("SELECT a FROM n WHERE a < 0").fetchall() == []
    empty = connection.execute("SELECT a, CAST(NULL AS STRING) AS s FROM n WHERE a < 0").fetch_arrow_table()
    assert empty.schema.names == ["a", "s"]


def test_errors_have_conditions_and_positions(connection: Connection) -> None:
    connection.execute("CREATE TABLE t (s STRING)")
    connection.execute("INSERT INTO t VALUES ('x')")
    for sql, condition, marked in [
        ("SELECT nope FROM t", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nope"),
        ("SELECT CAST(s AS INT) AS i FROM t", "CAST_INVALID_INPUT", "INT"),
        ("SELECT 1 / (length(s) - 1) AS i FROM t", "DIVIDE_BY_ZERO", None),
    ]:
        with pytest.raises(rewriter.DatabaseError) as caught:
            connection.execute(sql).fetchall()
        assert caught.value.condition == condition
        assert "JVM" not in str(caught.value)
        position = caught.value.position
        if marked is not None:
            assert position is not None
            assert marked in sql[position.start : position.end]
    assert connection.execute("SELECT s FROM t").fetchall() == [("x",)]


def test_a_statement_that_is_canceled(connection: Connection) -> None:
    connection.execute("CREATE TABLE t (n BIGINT)")
    connection.append("t", pa.table({"n": pa.array(range(50_000), pa.int64())}))
    connection.execute("SELECT COUNT(*) FROM t").fetchall()
    threading.Timer(1.0, connection.cancel).start()
    started = time.monotonic()
    with pytest.raises(rewriter.OperationalError) as caught:
        connection.execute("SELECT SUM(pow(a.n, 0.5) * pow(b.n, 0.3)) AS s FROM t a CROSS JOIN t b WHERE b.n < 10000")
    assert caught.value.condition == "OPERATION_CANCELED"
    assert time.monotonic() - started < 20
    assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(50_000,)]


class TestSparkConnect:
    """Cases of Spark Connect alone."""

    def test_the_engine_is_remote(self, connect: SparkEngine) -> None:
        assert isinstance(connect._running_spark(), ConnectedSpark)

    def test_by_url(self, tmp_path: Path, connect: SparkEngine) -> None:
        url = connect._master
        with rewriter.connect(f"rewriter://{tmp_path}/w?engine={url}/;user_id=me") as connection:
            assert connection.session.engine_name == "spark"
            assert connection.execute("SELECT 1").fetchall() == [(1,)]

    def test_streams_are_refused(self, tmp_path: Path, connect: SparkEngine) -> None:
        with rewriter.connect(tmp_path / "w", connect) as connection:
            connection.execute("CREATE TABLE t (value STRING)")
            stream = connect._running_spark().session.readStream.format("rate").load()
            with pytest.raises(rewriter.NotSupportedError, match="Spark Connect"):
                connection.stream(stream).into("t", stream_id="s", checkpoint=tmp_path / "c")

    @pytest.mark.parametrize("url", ["sc://127.0.0.1:1", "sc://127.0.0.1:1/;token=g3heim"])
    def test_a_server_that_is_not_there(self, tmp_path: Path, url: str) -> None:
        pytest.importorskip("grpc")
        started = time.monotonic()
        with rewriter.connect(tmp_path / "w", url) as connection, pytest.raises(rewriter.OperationalError) as caught:
            connection.execute("SELECT 1")
        assert time.monotonic() - started < 20
        assert caught.value.condition == "ENGINE_UNREACHABLE"
        assert "127.0.0.1:1 cannot be reached" in str(caught.value)
        assert "g3heim" not in f"{caught.value} {caught.value.object}"

    def test_a_url_that_cannot_be_read(self, tmp_path: Path) -> None:
        pytest.importorskip("grpc")
        for url in ("sc://:15002", "sc:///x", "sc://h:port"):
            with rewriter.connect(tmp_path / "w", url) as connection, pytest.raises(rewriter.InterfaceError) as caught:
                connection.execute("SELECT 1")
            assert caught.value.hint == "Write sc://host:15002."

    def test_a_server_that_does_not_see_the_files(
        self, tmp_path: Path, connect: SparkEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("rewriter.exec.spark.connect_session.file_uri", lambda path: "file:/elsewhere")
        url = connect._master
        with rewriter.connect(tmp_path / "w", url) as connection, pytest.raises(rewriter.OperationalError) as caught:
            connection.execute("SELECT 1")
        assert caught.value.condition == "CONNECT_FILES_NOT_SHARED"


@pytest.mark.parametrize("kind", ["classic", "remote"])
class TestSessionsThatAreHandedIn:
    @pytest.fixture
    def handed_in(self, kind: str, request: pytest.FixtureRequest, spark: SparkEngine) -> Any:
        engine = spark if kind == "classic" else request.getfixturevalue("connect")
        return engine._running_spark().session.newSession()

    def test_it_stays_as_it_is(self, tmp_path: Path, handed_in: Any) -> None:
        handed_in.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        handed_in.sql("SELECT 1 AS own").createOrReplaceTempView("mine")
        with rewriter.connect(tmp_path / "w", handed_in) as connection:
            assert connection.session.engine_name == "spark"
            connection.execute("CREATE TABLE t AS SELECT TIMESTAMP '2013-01-01 00:00:00' AS ts, 'a' AS A")
            midnight = dt.datetime(2013, 1, 1, tzinfo=dt.UTC)
            assert connection.execute("SELECT ts, a FROM t WHERE hour(ts) = 0").fetchall() == [(midnight, "a")]
            assert connection.execute("SELECT * FROM mine").fetchall() == [(1,)]
        assert handed_in.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
        assert handed_in.sql("SELECT own FROM mine").collect()[0][0] == 1
        assert handed_in.sql("SHOW TABLES").count() == 1

    def test_settings_of_its_spark_change_no_result(self, tmp_path: Path, handed_in: Any, spark: SparkEngine) -> None:
        """A new session has the settings of its Spark; those that would change results are set back."""
        started = classic_session(spark)
        conf = started.sparkContext._jsc.sc().conf()
        names = ("spark.sql.caseSensitive", "spark.sql.ansi.enabled", "spark.sql.timestampType")
        for name, value in zip(names, ("true", "false", "TIMESTAMP_NTZ"), strict=True):
            conf.set(name, value)
        try:
            assert handed_in.newSession().conf.get("spark.sql.caseSensitive") == "true"
            with rewriter.connect(tmp_path / "w", handed_in) as connection:
                connection.execute("CREATE TABLE t AS SELECT 'x' AS s, TIMESTAMP '2013-01-01 00:00:00' AS ts")
                assert connection.execute("SELECT S FROM t").fetchall() == [("x",)]
                assert (
                    dict(connection.execute("DESCRIBE t").fetch_arrow_table().to_pydict())["data_type"][1]
                    == "timestamp"
                )
                with pytest.raises(rewriter.DataError):
                    connection.execute("SELECT CAST(s AS INT) AS i FROM t").fetchall()
        finally:
            for name in names:
                conf.remove(name)

    def test_a_master_beside_it(self, tmp_path: Path, handed_in: Any) -> None:
        with pytest.raises(rewriter.InterfaceError, match="started already"):
            rewriter.connect(tmp_path / "w", handed_in, master="local")


def test_another_master_in_one_process(tmp_path: Path, spark: SparkEngine) -> None:
    """It was ignored: the statement ran on the Spark that was there."""
    started = classic_session(spark)
    with rewriter.connect(tmp_path / "w", "spark://127.0.0.1:1") as connection:
        with pytest.raises(rewriter.OperationalError) as caught:
            connection.execute("SELECT 1")
        assert (caught.value.condition, caught.value.object) == ("SPARK_ALREADY_RUNNING", "spark://127.0.0.1:1")
        assert "sc://" in str(caught.value.hint)
    with rewriter.connect(tmp_path / "w", started.sparkContext.master) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    with rewriter.connect(tmp_path / "w", "spark") as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
    if started.sparkContext.master == "local[2]":
        with rewriter.connect(tmp_path / "w", "local[7]") as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_spark_shows_the_id_of_a_statement(tmp_path: Path, spark: SparkEngine) -> None:
    started = classic_session(spark)
    with rewriter.connect(tmp_path / "w", spark) as connection:
        cursor = connection.execute("SELECT 1 AS one")
        cursor.fetchall()
        assert started.sparkContext.statusTracker().getJobIdsForGroup(f"rewriter-{cursor.query_id}")


@pytest.mark.parametrize("client", CLIENTS[1:])
def test_the_cause_of_an_error_is_named(request: pytest.FixtureRequest, client: str, tmp_path: Path) -> None:
    """Spark wraps what its readers raise, and Spark Connect sends the causes in the text alone."""
    (tmp_path / "j").mkdir()
    (tmp_path / "j" / "a.json").write_text('{"a": {"b": 1}}\n{"a": {"b": "x"}}\n')
    with rewriter.connect(tmp_path / "w", request.getfixturevalue(client)) as connection:
        connection.execute(f"CREATE EXTERNAL TABLE j (a STRUCT<b: INT>) STORED AS JSON LOCATION '{tmp_path}/j'")
        with pytest.raises(rewriter.DatabaseError) as caught:
            connection.execute("SELECT * FROM j").fetchall()
    assert caught.value.condition == "CANNOT_PARSE_JSON_FIELD"
    assert "Caused by" not in str(caught.value)
