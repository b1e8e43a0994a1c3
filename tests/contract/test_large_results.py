"""Results of any size on Spark, in the memory of some batches; the settings that hold for queries; the end of a JVM."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import closing
from hashlib import md5
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract.conftest import columns

import rewriter
from rewriter.dbapi import Connection
from rewriter.exec.engine import EngineQuery, Relation, ScanFile
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.spark.session import local_settings
from rewriter.session import Session

pytestmark = pytest.mark.spark

ORDERED = "SELECT id, repeat(md5(CAST(id AS STRING)), 4) AS s FROM range({count}) ORDER BY id DESC"
#: All rows are made in one partition.
EXPLODED = "SELECT id, repeat(CAST(id % 10 AS STRING), 1000) AS s FROM (SELECT explode(sequence(1, {count})) AS id)"
#: A gigabyte in one partition. Spark holds all rows that ``explode`` makes of one row, so these come from ``range``.
IN_ONE_PARTITION = "SELECT /*+ COALESCE(1) */ id, repeat(CAST(id % 10 AS STRING), 1000) AS s FROM range({count})"


@pytest.fixture(params=["spark", "connect"])
def engine(request: pytest.FixtureRequest) -> SparkEngine:
    chosen: SparkEngine = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def connection(tmp_path: Path, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    with Connection(Session(tmp_path / "w", engine)) as opened:
        yield opened


def test_rows_in_order_through_files(connection: Connection, tmp_path: Path) -> None:
    cursor = connection.execute(ORDERED.format(count=60_000))
    assert cursor.fetchmany(2) == [(number, md5(str(number).encode()).hexdigest() * 4) for number in (59_999, 59_998)]
    last = 59_998
    for batch in cursor.fetch_record_batches():
        ids = batch.column("id").to_pylist()
        assert ids == list(range(last - 1, last - 1 - len(ids), -1))
        last = ids[-1]
    assert last == 0
    assert not list((tmp_path / "tmp").glob("rewriter-scratch-rows-*"))


def test_one_partition_is_read_in_batches(connection: Connection, tmp_path: Path) -> None:
    """Its rows are in a file that is gone as soon as the result is closed."""
    reader = connection.execute(EXPLODED.format(count=40_000)).fetch_record_batches()
    first = reader.read_next_batch()
    assert first.nbytes < 16 << 20
    assert list((tmp_path / "tmp").glob("rewriter-scratch-rows-*"))
    connection.execute("SELECT 1").fetchall()
    rest = sum(batch.num_rows for batch in reader)
    assert first.num_rows + rest == 40_000
    cursor = connection.execute(EXPLODED.format(count=40_000))
    assert cursor.fetchmany(3) == [(number, str(number) * 1000) for number in (1, 2, 3)]
    cursor.close()
    assert not list((tmp_path / "tmp").glob("rewriter-scratch-rows-*"))


def test_long_values(connection: Connection) -> None:
    """10,000 rows of a batch would take 20 GB."""
    reader = connection.execute("SELECT id, repeat('x', 2000000) AS s FROM range(40)").fetch_record_batches()
    batches = list(reader)
    assert sum(batch.num_rows for batch in batches) == 40
    assert max(batch.nbytes for batch in batches) < 32 << 20


def test_values_of_every_type_through_a_file(engine: SparkEngine) -> None:
    values = """
        1Y AS a, 2S AS b, 3 AS c, 4L AS d, 1.5F AS e, 2.5D AS f, 1.25BD AS g, true AS h, 'é' AS i, X'00ff' AS j,
        DATE '2013-01-01' AS k, TIMESTAMP '2013-03-10 02:30:00.123456' AS l, array(1, NULL) AS m, map('x', 1D) AS n,
        named_struct('p', 1, 'q', array(named_struct('r', 'z'))) AS o, NULL AS p, INTERVAL 1 DAY AS q
    """
    few = engine.execute(EngineQuery(f"SELECT {values}")).read_all()
    many = engine.execute(EngineQuery(f"SELECT {values}, repeat('x', 1000) AS w FROM range(0, 4000, 1, 1)")).read_all()
    assert many.num_rows == 4000
    assert many.drop_columns("w").schema == few.schema
    assert many.drop_columns("w").slice(3999).to_pylist() == few.to_pylist()


@pytest.fixture
def small_table(tmp_path: Path) -> Relation:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"k": pa.array([1, 2, 2], pa.int64())}), path)
    return Relation("rw_1", "parquet", columns("k bigint"), (), (ScanFile(str(path), (), path.stat().st_size),))


GROUPED = "SELECT k, COUNT(*) AS n FROM rw_1 GROUP BY k"
JOINED = "SELECT COUNT(*) AS n FROM rw_1 AS a JOIN (SELECT k FROM rw_1 WHERE k > 0) AS b ON a.k = b.k"


def shuffled(engine: SparkEngine, sql: str, table: Relation) -> tuple[set[int], bool, bool]:
    """Returns the pieces of a query's shuffles, whether its plan is adaptive, and whether it broadcasts a table."""
    plan = engine.explain(EngineQuery(sql, (table,)))
    pieces = {int(number) for number in re.findall(r"hashpartitioning\([^()]*, (\d+)\)", plan)}
    return pieces, "AdaptiveSparkPlan" in plan, "BroadcastHashJoin" in plan


def given_session(engine: SparkEngine, **settings: str) -> Any:
    session: Any = engine._running_spark().session.newSession()
    for name, value in settings.items():
        session.conf.set(f"spark.sql.{name.replace('__', '.')}", value)
    return session


def test_the_settings_of_a_session_that_is_handed_in(engine: SparkEngine, small_table: Relation) -> None:
    session = given_session(engine, shuffle__partitions="7", adaptive__enabled="false", autoBroadcastJoinThreshold="-1")
    with closing(SparkEngine(session=session)) as own:
        assert shuffled(own, GROUPED, small_table) == ({7}, False, False)
        assert shuffled(own, JOINED, small_table) == ({7}, False, False)
    session = given_session(engine, shuffle__partitions="9", adaptive__enabled="true")
    with closing(SparkEngine(session=session)) as own:
        assert shuffled(own, GROUPED, small_table) == ({9}, True, False)
        assert shuffled(own, JOINED, small_table)[1:] == (True, True)
    assert session.conf.get("spark.sql.shuffle.partitions") == "9"
    session = given_session(engine, shuffle__partitions="4")
    with closing(SparkEngine(session=session)) as own:
        assert shuffled(own, GROUPED, small_table)[0] == {4}


def test_settings_that_would_change_results_do_not_hold(engine: SparkEngine) -> None:
    session = given_session(
        engine, ansi__enabled="false", session__timeZone="Asia/Tokyo", caseSensitive="true",
        execution__arrow__useLargeVarTypes="true",
    )  # fmt: skip
    with closing(SparkEngine(session=session)) as own:
        rows = own.execute(EngineQuery("SELECT CAST(TIMESTAMP '2013-01-01 00:00:00 UTC' AS STRING) AS T, 'x' AS s"))
        assert rows.read_all().to_pylist() == [{"T": "2013-01-01 00:00:00", "s": "x"}]
        with pytest.raises(rewriter.Error, match="cannot be cast"):
            own.execute(EngineQuery("SELECT CAST('x' AS INT) AS n"))


def test_the_session_of_a_user_survives_a_large_result(spark: SparkEngine, tmp_path: Path) -> None:
    session = given_session(spark)
    with rewriter.connect(tmp_path / "w", SparkEngine(session=session)) as connection:
        reader = connection.execute(ORDERED.format(count=200_000)).fetch_record_batches()
        assert sum(batch.num_rows for batch in reader) == 200_000
    assert session.sql("SELECT 1 AS a").collect()[0][0] == 1


#: Runs in a process with a JVM of 1 GB, whose settings are those of a spark-defaults.conf.
PROGRAM = """
    import json, os, signal, sys, tempfile, time
    from pathlib import Path
    import rewriter
    from contract.test_large_results import EXPLODED, IN_ONE_PARTITION, ORDERED
    from contract.test_sink_memory import resident_bytes, sampled
    from rewriter.exec.spark.engine import SparkEngine

    engine, report = SparkEngine("local[2]"), {}
    with rewriter.connect(sys.argv[1], engine) as connection:
        connection.execute("CREATE TABLE t (k BIGINT)")
        connection.execute("INSERT INTO t VALUES (1), (2)")
        small = engine._started.small_session
        settings = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
        report["pieces"] = [small.conf.get(name) for name in settings]
        gateway = small.sparkContext._gateway
        report["option"] = gateway.jvm.java.lang.System.getProperty("own.option")
        report["heap"] = gateway.jvm.java.lang.Runtime.getRuntime().maxMemory()
        large = {"ordered": ORDERED.format(count=10_000_000), "single": IN_ONE_PARTITION.format(count=1_400_000)}
        for name, sql in large.items():
            with sampled(resident_bytes) as samples:
                result = connection.execute(sql).fetch_record_batches()
                report[name] = sum(batch.num_rows for batch in result)
            report[name + " bytes"] = max(samples) - samples[0]

        def failure(run):
            start = time.monotonic()
            try:
                run()
            except rewriter.Error as error:
                return [error.condition, error.message, error.hint or "", time.monotonic() - start]

        everything = "SELECT size(collect_list(repeat('x', 100000))) AS n FROM range(100000)"
        report["memory"] = failure(lambda: connection.execute(everything).fetchall())
        report["next"] = connection.execute("SELECT k FROM t ORDER BY k").fetchall()

        spread = EXPLODED.format(count=300_000) + " DISTRIBUTE BY id"
        reader = connection.execute(spread).fetch_record_batches()
        reader.read_next_batch()
        os.kill(engine._started.session.sparkContext._gateway.proc.pid, signal.SIGKILL)
        report["killed"] = failure(lambda: [batch for batch in reader])
        report["scratch"] = [path.name for path in Path(tempfile.gettempdir()).glob("rewriter-scratch-rows-*")]
    print(json.dumps(report))
"""


@pytest.mark.long
def test_a_jvm_of_a_gigabyte(tmp_path: Path) -> None:
    """1.4 GB in order, and 1.4 GB in one partition; too little memory; and a JVM that is killed during a fetch."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        "spark.driver.memory 1g\nspark.sql.shuffle.partitions 6\nspark.sql.adaptive.enabled true\n"
        "spark.driver.extraJavaOptions -Down.option=yes\n"
    )
    (tmp_path / "tmp").mkdir()
    path = os.pathsep.join(["tests", os.environ.get("PYTHONPATH", "")])
    own = {"PYTHONPATH": path, "SPARK_CONF_DIR": str(tmp_path / "conf"), "TMPDIR": str(tmp_path / "tmp")}
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), tmp_path / "w"],
        capture_output=True, text=True, check=False, env={**os.environ, **own},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert (report["pieces"], report["option"]) == (["6", "true"], "yes")
    assert report["heap"] <= 1 << 30
    assert (report["ordered"], report["single"]) == (10_000_000, 1_400_000)
    assert max(report["ordered bytes"], report["single bytes"]) < 250_000_000
    condition, message, hint, _ = report["memory"]
    assert condition == "OUT_OF_MEMORY"
    assert "Java heap space" in message
    assert "spark.driver.memory" in hint
    assert report["next"] == [[1], [2]]
    condition, _, _, seconds = report["killed"]
    assert condition == "ENGINE_UNREACHABLE"
    assert seconds < 30
    assert report["scratch"] == []


def test_pieces_of_a_shuffle_follow_the_cores() -> None:
    name = "spark.sql.shuffle.partitions"
    assert [local_settings(f"local{cores}").get(name) for cores in ("", "[2]", "[32]", "[8, 4]")] == [
        "4",
        "4",
        "64",
        "16",
    ]
    assert local_settings("spark://h:7077") == local_settings("local-cluster[2,1,1024]") == {}
    assert int(local_settings("local[*]")[name]) >= 4
