"""Writes of many rows on Spark: few tasks need no exchange; skewed partitions; a sort that spills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.test_sink_memory import MOST

import rewriter
from rewriter.dbapi import Connection
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine

pytestmark = pytest.mark.spark

EVEN = "id % 24"
#: Nine of ten rows are in one partition.
SKEWED = "CASE WHEN id % 10 < 9 THEN 0 ELSE id DIV 10 % 24 END"
ROWS = 24_000


@pytest.fixture
def user(spark: SparkEngine) -> Any:
    from pyspark.sql import SparkSession

    spark.explain(EngineQuery("SELECT 1"))
    return SparkSession.active().newSession()


@pytest.fixture
def connection(tmp_path: Path, user: Any) -> Iterator[Connection]:
    with rewriter.connect(tmp_path / "w", engine=user) as opened:
        opened.execute("CREATE TABLE t (n BIGINT, s STRING) PARTITIONED BY (p INT)")
        yield opened


def frame(user: Any, partition: str, tasks: int) -> Any:
    items = ("id AS n", "concat('key', id % 100) AS s", f"CAST({partition} AS INT) AS p")
    return user.range(0, ROWS, 1, tasks).selectExpr(*items)


def counts(partition: str) -> dict[int, int]:
    number = (lambda i: i % 24) if partition == EVEN else (lambda i: 0 if i % 10 < 9 else i // 10 % 24)
    return dict(Counter(map(number, range(ROWS))))


@pytest.mark.parametrize("partition", [EVEN, SKEWED])
def test_few_tasks_write_a_file_each(connection: Connection, user: Any, partition: str) -> None:
    cursor = connection.append("t", frame(user, partition, 3))
    assert (cursor.rowcount, cursor.stats and cursor.stats.written_files) == (ROWS, 3)
    assert dict(connection.execute("SELECT p, COUNT(*) FROM t GROUP BY p").fetchall()) == counts(partition)
    total = connection.execute("SELECT SUM(n), COUNT(DISTINCT n), COUNT(DISTINCT s) FROM t WHERE p = 0")
    ids = [i for i in range(ROWS) if (i % 24 == 0 if partition == EVEN else i % 10 < 9 or i // 10 % 24 == 0)]
    assert total.fetchone() == (sum(ids), len(ids), len({i % 100 for i in ids}))


@pytest.mark.parametrize("partition", [EVEN, SKEWED])
def test_many_tasks_exchange_their_rows(connection: Connection, user: Any, partition: str) -> None:
    """Otherwise each of 40 tasks would have a part of each partition."""
    cursor = connection.append("t", frame(user, partition, 40))
    assert cursor.rowcount == ROWS
    assert cursor.stats is not None
    assert cursor.stats.written_files < 10
    assert dict(connection.execute("SELECT p, COUNT(*) FROM t GROUP BY p").fetchall()) == counts(partition)


def test_a_frame_of_unknown_size_exchanges_its_rows(connection: Connection, user: Any) -> None:
    """Its few tasks may have any number of rows, for each 128 MiB of which a partition would get another part."""
    unknown = user.createDataFrame(frame(user, EVEN, 3).rdd)
    cursor = connection.append("t", unknown)
    assert cursor.rowcount == ROWS
    assert cursor.stats is not None
    assert cursor.stats.written_files < 3
    assert dict(connection.execute("SELECT p, COUNT(*) FROM t GROUP BY p").fetchall()) == counts(EVEN)


#: Runs in a process with a JVM of 1 GB. The rows have 1.2 GB in Arrow's format, more than the heap.
PROGRAM = """
    import json, os, sys
    from pathlib import Path
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession
    import rewriter
    from contract.test_large_writes import EVEN, SKEWED
    from contract.test_sink_memory import _workers_of, resident_bytes, sampled
    from rewriter.exec.engine import EngineQuery
    from rewriter.exec.spark.engine import SparkEngine

    engine, report = SparkEngine("local[2]"), {}
    engine.explain(EngineQuery("SELECT 1"))
    spark = SparkSession.active()
    report["heap"] = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    wide = "repeat(md5(CAST(id AS STRING)), 12)"
    with rewriter.connect(sys.argv[1], engine) as connection:
        for sink in ("sorted", "grouped"):
            for name, partition in (("even", EVEN), ("skewed", SKEWED)):
                table = f"{sink}_{name}"
                connection.execute(f"SET rewriter.sink = {sink}")
                connection.execute(f"CREATE TABLE {table} (n BIGINT, s STRING) PARTITIONED BY (p INT)")
                frame = spark.range(0, 3_000_000, 1, 4).selectExpr("id AS n", f"{wide} AS s", f"int({partition}) AS p")
                with sampled(lambda: max(map(resident_bytes, _workers_of(os.getpid())), default=0)) as samples:
                    connection.append(table, frame)
                rows = connection.execute(f"SELECT COUNT(*), SUM(n), SUM(length(s)), COUNT(DISTINCT p) FROM {table}")
                largest = connection.execute(f"SELECT COUNT(*) FROM {table} WHERE p = 0").fetchone()[0]
                report[table] = [*rows.fetchone(), largest, max(samples)]
        connection.execute("SET rewriter.sink = auto")
        many = "SELECT id, concat('key', id % 5000) AS s FROM range(10000000)"
        ordered = many + " ORDER BY s, id"
        for name, query in (("rows", many), ("ordered", ordered)):
            out = Path(sys.argv[1]).parent / name
            connection.sql(query).write.parquet(str(out))
            report[name] = sum(pq.read_metadata(path).num_rows for path in out.glob("*.parquet"))
    print(json.dumps(report))
"""


@pytest.mark.long
def test_a_jvm_of_a_gigabyte(tmp_path: Path) -> None:
    """Rows that do not fit into the heap, in the sorted and the grouped sink; 10,000,000 rows out by ``write``."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.driver.memory 1g\n")
    path = os.pathsep.join(["tests", os.environ.get("PYTHONPATH", "")])
    own = {"PYTHONPATH": path, "SPARK_CONF_DIR": str(tmp_path / "conf")}
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), tmp_path / "w"],
        capture_output=True, text=True, check=False, env={**os.environ, **own},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    print(report)
    assert report["heap"] <= 1 << 30
    expected = [3_000_000, 4_499_998_500_000, 3_000_000 * 384, 24]
    for sink, most in (("sorted", MOST + (256 << 20)), ("grouped", MOST)):
        for name, largest in (("even", 125_000), ("skewed", 2_712_500)):
            *rows, worker_bytes = report[f"{sink}_{name}"]
            assert rows == [*expected, largest]
            assert worker_bytes < most
    assert (report["rows"], report["ordered"]) == (10_000_000, 10_000_000)
