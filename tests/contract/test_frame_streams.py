"""Streaming DataFrames of Spark into tables: each batch is committed once, whatever happens around it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot

from rewriter.dbapi import Connection
from rewriter.errors import AnalysisError, Error, IntegrityError, InterfaceError, NotSupportedError
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session
from rewriter.statements.stream.insert_stream import UNKNOWN_AGGREGATES, is_fold


@pytest.fixture
def session(tmp_path: Path, spark: SparkEngine) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", spark) as opened:
        opened.execute("CREATE TABLE t (v BIGINT) PARTITIONED BY (hr INT)")
        opened.execute("SELECT 1").fetch()
        yield opened


def rates(rows: int = 100) -> Any:
    """Returns a stream of numbered rows, so many in each batch."""
    from pyspark.sql import SparkSession

    source = SparkSession.active().readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    return source.load().selectExpr("CAST(value % 3 AS INT) AS hr", "value AS v")


def files(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    reader = SparkSession.active().readStream.schema("hr INT, v BIGINT").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def numbers(session: Session) -> list[int]:
    return sorted(row[0] for row in session.execute("SELECT v FROM t").fetch())


def wait_for(session: Session, rows: int) -> None:
    deadline = time.monotonic() + 60
    while len(numbers(session)) < rows:
        assert time.monotonic() < deadline, session.execute("SHOW STREAMS").fetch()
        time.sleep(0.2)


def put(folder: Path, name: str, start: int) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    table = pa.table({"hr": pa.array([1, 2] * 5, pa.int32()), "v": pa.array(range(start, start + 10), pa.int64())})
    pq.write_table(table, folder / f"_{name}")
    os.rename(folder / f"_{name}", folder / f"{name}.parquet")


def test_what_exists_is_loaded_once(session: Session, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", 0)
    put(tmp_path / "in", "b", 10)
    for _ in range(2):
        stream = session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "c")
        assert stream.wait(60)
        assert numbers(session) == list(range(20))
    put(tmp_path / "in", "c", 20)
    session.stream(files(tmp_path / "in")).into("default.t", stream_id="s", checkpoint=tmp_path / "c").wait()
    assert numbers(session) == list(range(30))
    assert session.execute("SHOW STREAMS").fetch()[0][:5] == ("s", "t", "finished", 3, 10)
    assert session.execute("SHOW PARTITIONS t").fetch() == [("hr=1",), ("hr=2",)]


def test_partitions_are_committed_when_the_stream_has_gone_on(session: Session, tmp_path: Path) -> None:
    session.execute(
        "CREATE TABLE hours (v BIGINT) PARTITIONED BY (h STRING) "
        "TBLPROPERTIES ('rewriter.partition_commit.trigger' = 'partition time')"
    )
    session.execute("CREATE CUBE c (v BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    session.execute("CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h))")
    for name, start, visible in (("a", 0, None), ("b", 10, 25), ("c", 20, 25)):
        put(tmp_path / "in", name, start)
        hour = "CASE WHEN v < 10 THEN '2026-01-01-00' ELSE '2026-01-01-01' END AS h"
        frame = files(tmp_path / "in").where("hr = 1 OR v % 10 = 5").selectExpr(hour, "v")
        session.stream(frame).into("hours", stream_id="s", checkpoint=tmp_path / "c").wait()
        assert session.execute("SELECT SUM(v) FROM c").fetch() == [(visible,)]
    status = [("h=2026-01-01-00", "committed"), ("h=2026-01-01-01", "open")]
    assert session.execute("SHOW PARTITIONS hours STATUS").fetch() == status


def test_a_stream_goes_on_until_it_is_stopped(session: Session, tmp_path: Path) -> None:
    def start() -> Any:
        return session.stream(rates()).into("t", stream_id="s", checkpoint=tmp_path / "c", trigger="0.2 seconds")

    stream = start()
    wait_for(session, 200)
    stream.stop()
    assert not stream.is_running
    before = len(numbers(session))
    stream = start()
    wait_for(session, before + 100)
    session.execute("STOP STREAM s")
    assert stream.wait(30)
    assert numbers(session) == list(range(len(numbers(session))))
    assert session.execute("SHOW STREAMS").fetch()[0][2] == "stopped"


def test_a_batch_that_was_committed_is_not_loaded_again(session: Session, tmp_path: Path) -> None:
    """Spark runs the last batch again if it did not note its end, as after a kill between the two notes."""
    put(tmp_path / "in", "a", 0)
    session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "c").wait()
    for name in ("0", ".0.crc"):
        (tmp_path / "c" / "commits" / name).unlink()
    session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "c").wait()
    assert numbers(session) == list(range(10))


def test_a_batch_that_failed_is_loaded_by_the_next_run(session: Session, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", 0)
    failing = files(tmp_path / "in").selectExpr("hr", "v + 9223372036854775807 AS v")
    with pytest.raises(Error) as caught:
        session.stream(failing).into("t", stream_id="s", checkpoint=tmp_path / "c").wait()
    assert caught.value.condition == "ARITHMETIC_OVERFLOW"
    assert session.execute("SHOW STREAMS").fetch()[0][2] == "failed"
    session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "c").wait()
    assert numbers(session) == list(range(10))


def test_a_gap_and_a_reset_are_errors(session: Session, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", 0)
    session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "c").wait()
    with pytest.raises(IntegrityError) as caught:
        session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "other").wait()
    assert caught.value.condition == "STREAM_CHECKPOINT_RESET"
    session.execute("DROP TABLE t")
    session.execute("CREATE TABLE t (v BIGINT) PARTITIONED BY (hr INT)")
    put(tmp_path / "in", "b", 10)
    with pytest.raises(IntegrityError) as caught:
        session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "c").wait()
    assert caught.value.condition == "STREAM_BATCH_GAP"


def test_wrong_frames_and_names_are_errors(session: Session, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    def start(frame: Any, table: str = "t", **options: Any) -> Any:
        return session.stream(frame).into(table, **{"stream_id": "x", "checkpoint": tmp_path / "x", **options})

    with pytest.raises(InterfaceError, match="not a streaming DataFrame"):
        start(SparkSession.active().range(3))
    with pytest.raises(InterfaceError, match="not a streaming DataFrame"):
        start(None)
    with pytest.raises(AnalysisError, match="cannot be found"):
        start(rates(), "missing")
    with pytest.raises(AnalysisError, match=r"the data does not return the partition column hr"):
        start(rates().drop("hr")).wait(60)
    with pytest.raises(Error, match="is not a trigger"):
        start(rates(), trigger="soon")
    with pytest.raises(InterfaceError, match="stream is a int"):
        start(rates(), stream_id=3)
    with pytest.raises(InterfaceError, match="checkpoint is a NoneType"):
        start(rates(), checkpoint=None)
    with pytest.raises(InterfaceError, match="name is a NoneType"):
        start(rates(), None)  # type: ignore[arg-type]
    with Session(tmp_path / "warehouse", "duckdb") as other, pytest.raises(NotSupportedError, match="Only Spark"):
        other.stream(rates()).into("t", stream_id="y", checkpoint=tmp_path / "y")
    assert numbers(session) == []


def test_every_aggregate_of_spark_is_known(session: Session) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.active()
    functions = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.functionSet().iterator()
    catalog = spark._jsparkSession.sessionState().catalog()
    aggregates = set()
    while functions.hasNext():
        function = functions.next()
        if catalog.lookupFunctionInfo(function).getGroup() == "agg_funcs":
            aggregates.add(function.funcName())
    assert aggregates > UNKNOWN_AGGREGATES
    for name in aggregates - {"grouping", "grouping_id"}:
        calls = []
        for number in range(4):
            with suppress(sqlglot.ParseError):
                calls.append(sqlglot.parse_one(f"{name}({', '.join('abc'[:number])})", read="spark"))
        assert calls
        for call in calls:
            assert any(is_fold(node) for node in call.walk()), name


def test_sql_loads_files_on_spark_as_on_duckdb(session: Session, tmp_path: Path) -> None:
    put(tmp_path / "in", "a", 0)
    options = f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path}/c')"
    text = f"INSERT INTO t BY NAME SELECT v, hr FROM STREAM parquet.`{tmp_path}/in` {options}"
    assert session.execute(text).rowcount == 10
    put(tmp_path / "in", "b", 10)
    with Session(tmp_path / "warehouse", "duckdb") as other:
        assert other.execute(text).rowcount == 10
    assert session.execute(text).rowcount == 0
    assert numbers(session) == list(range(20))


def most_files(session: Session) -> int:
    snapshot = session.catalog.snapshot()
    return max(partition.files for partition in snapshot.partitions(snapshot.table("t")))


def test_small_files_are_compacted(session: Session, tmp_path: Path) -> None:
    """Streams of Spark, of files in SQL, and appends, into one table."""
    for number in range(3):
        put(tmp_path / "in", str(number), 10 * number)
    session.stream(files(tmp_path / "in")).into("t", stream_id="a", checkpoint=tmp_path / "a").wait()
    assert most_files(session) == 3
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.auto_compact.files' = '2')")
    put(tmp_path / "in", "3", 30)
    session.stream(files(tmp_path / "in")).into("t", stream_id="a", checkpoint=tmp_path / "a").wait()
    assert most_files(session) == 1
    options = f"OPTIONS ('stream' = 'b', 'checkpoint' = '{tmp_path}/b', 'max files' = '2')"
    session.execute(f"INSERT INTO t BY NAME SELECT v + 40 AS v, hr FROM STREAM parquet.`{tmp_path}/in` {options}")
    assert most_files(session) == 1
    session.append("t", pa.table({"hr": pa.array([1], pa.int32()), "v": [80]}), batch_id="80")
    assert most_files(session) == 1
    assert numbers(session) == list(range(81))
    assert [row[2:5] + row[9:10] for row in session.execute("SHOW STREAMS").fetch()] == [
        ("finished", 4, 10, None),
        ("finished", 2, 40, None),
    ]


def test_arrow_data_with_nested_types_is_appended(session: Session) -> None:
    session.execute("CREATE TABLE n (i ARRAY<STRING>, k BINARY, m MAP<STRING, INT>, s STRUCT<a: INT, b: STRING>)")
    data = pa.table(
        {
            "s": pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.int32()), ("b", pa.large_string())])),
            "m": pa.array([[("y", 2)]], pa.map_(pa.string(), pa.int32())),
            "k": pa.array([b"z"], pa.binary(1)),
            "i": pa.array([["y", None]], pa.large_list(pa.large_string())),
        }
    )
    assert session.append("n", data, batch_id="1").rowcount == 1
    assert session.append("n", data, batch_id="1").rowcount == 0
    row = session.execute("SELECT i[0], k, m['y'], s.a, s.b FROM n").fetch()
    assert row == [("y", b"z", 2, 1, "x")]


def test_arrow_data_with_nested_nulls_is_appended(session: Session) -> None:
    session.execute("CREATE TABLE n (i ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<a: INT, b: ARRAY<DATE>>, u ARRAY<INT>)")
    data = pa.table(
        {
            "s": [{"a": None, "b": [None]}, None],
            "m": pa.array([[("y", None)], []], pa.map_(pa.string(), pa.null())),
            "i": [[], [None]],
            "u": pa.nulls(2),
        }
    )
    assert session.append("n", data).rowcount == 2
    rows = session.execute("SELECT size(i), get(i, 0), size(m), m['y'], s.a, size(s.b), s IS NULL, u FROM n").fetch()
    assert sorted(rows, key=str) == [
        (0, None, 1, None, None, 1, False, None),
        (1, None, 0, None, None, None, True, None),
    ]


_PROGRAM = """
    import sys
    import rewriter
    from pyspark.sql import SparkSession

    warehouse, source, checkpoint, id = sys.argv[1:]
    connection = rewriter.connect(warehouse, engine="spark", master="local[2]")
    connection.execute("SELECT 1").fetchall()
    frame = SparkSession.active().readStream.schema("hr INT, v BIGINT").option("maxFilesPerTrigger", 1).parquet(source)
    stream = connection.stream(frame).into("t", stream_id=id, checkpoint=checkpoint, trigger="0.1 seconds")
    print("started", flush=True)
    stream.wait()
"""


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long)])
def test_a_killed_process_of_spark_loads_each_row_once(session: Session, tmp_path: Path, kills: int) -> None:
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.auto_compact.files' = '2')")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(_PROGRAM))
    arguments = [str(tmp_path / name) for name in ("warehouse", "in", "c")]
    start = 0
    for kill in range(kills):
        for _ in range(5):
            put(tmp_path / "in", f"f{start}", start)
            start += 10
        process = subprocess.Popen([sys.executable, program, *arguments, "s"], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        wait_for(session, start - 40 + 10 * (kill % 3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    session.stream(files(tmp_path / "in")).into("t", stream_id="s", checkpoint=tmp_path / "c").wait()
    assert numbers(session) == list(range(start))


def test_the_connection_has_the_same_methods(tmp_path: Path, spark: SparkEngine) -> None:
    with Connection(Session(tmp_path, spark)) as connection:
        connection.execute("CREATE TABLE t (v BIGINT) PARTITIONED BY (hr INT)")
        stream = connection.stream(rates(10)).into("t", stream_id="s", checkpoint=tmp_path / "c", trigger="1 second")
        assert stream.id == "s"
        wait_for(connection.session, 10)
    assert not stream.is_running
    assert stream.error is None
