"""Streams of files into a table by hour, batch by batch; Spark's own file sink over the same files in the same run."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import rewriter
from benchmarks.timing import WideTable

#: The files of a stream, each of which is a batch, and the rows of a file.
FILES = 12
SIZES = (10_000, 200_000)
COLUMNS = "hr INT, user STRING, value BIGINT, price DOUBLE"


def build(folder: Path, rows: int) -> None:
    """Writes the files. The rows of each are of 24 hours, in no order."""
    import duckdb

    folder.mkdir()
    for number in range(FILES):
        duckdb.connect().execute(f"""
            COPY (SELECT CAST(hash(r.range, {number}) % 24 AS INT) AS hr, 'user ' || r.range % 1000 AS user,
                    r.range + {number * rows} AS value, r.range / 7 AS price FROM range({rows}) AS r)
            TO '{folder}/{number:04d}.parquet' (FORMAT parquet)
        """)


def _batches(query: Any) -> tuple[float, float]:
    """Returns the median seconds of a batch without the first, which warms up, and the seconds of all others."""
    times = [batch["durationMs"]["triggerExecution"] / 1000 for batch in query.recentProgress if batch["numInputRows"]]
    return statistics.median(times[1:]), sum(times[1:])


def _spark_sink(frame: Any, folder: Path) -> Any:
    writer = frame.writeStream.format("parquet").partitionBy("hr").option("checkpointLocation", f"{folder}/checkpoint")
    query = writer.trigger(availableNow=True).start(f"{folder}/table")
    query.awaitTermination()
    return query


def measure() -> WideTable:
    """Returns the figures: one row for each writer and size."""
    rows: list[tuple[str, ...]] = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as directory:
            rows += _measured(Path(directory), size)
    return WideTable(
        f"Streams: {FILES} files, one a batch, into 24 partitions",
        ("writer", "rows of a batch", "a batch, median", "rows/s", "files"),
        tuple(rows),
    )


def _measured(root: Path, size: int) -> list[tuple[str, ...]]:
    build(root / "in", size)
    with rewriter.connect(root / "spark", engine="spark") as connection:
        connection.execute("CREATE TABLE t (user STRING, value BIGINT, price DOUBLE) PARTITIONED BY (hr INT)")
        connection.execute("SELECT 1").fetchall()
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.getOrCreate()

        def frame() -> Any:
            return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(f"{root}/in")

        sink = _batches(_spark_sink(frame(), root / "sink"))
        own = _own(connection, frame(), root)
        count = connection.execute("SELECT COUNT(value) FROM t").fetchall()[0][0]
        assert count == spark.read.parquet(f"{root}/sink/table").count() == FILES * size
    spark_files = len(list((root / "sink" / "table").rglob("*.parquet")))
    own_files = len(list((root / "spark").rglob("*.parquet")))
    with rewriter.connect(root / "duckdb", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (user STRING, value BIGINT, price DOUBLE) PARTITIONED BY (hr INT)")
        started = time.perf_counter()
        connection.execute(
            f"INSERT INTO t BY NAME SELECT * FROM STREAM parquet.`{root}/in` "
            f"OPTIONS ('stream' = 's', 'checkpoint' = '{root}/checkpoint', 'max files' = '1')"
        )
        embedded = time.perf_counter() - started
    embedded_files = len(list((root / "duckdb").rglob("*.parquet")))

    def line(name: str, batch: float, rate: float, files: int) -> tuple[str, ...]:
        return name, f"{size:,}", f"{batch * 1000:.0f} ms", f"{rate:,.0f}", f"{files}"

    rest = (FILES - 1) * size
    return [
        line("Spark's file sink", sink[0], rest / sink[1], spark_files),
        line("rewriter on Spark", own[0], rest / own[1], own_files),
        line("rewriter on DuckDB, INSERT … FROM STREAM", embedded / FILES, FILES * size / embedded, embedded_files),
    ]


def _own(connection: rewriter.Connection, frame: Any, root: Path) -> tuple[float, float]:
    """Returns the figures of a stream into the table, from the progress that Spark reports."""
    from pyspark.sql.streaming import StreamingQueryListener

    times: list[float] = []

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None: ...

        def onQueryProgress(self, event: Any) -> None:
            if event.progress.numInputRows:
                times.append(event.progress.durationMs["triggerExecution"] / 1000)

        def onQueryIdle(self, event: Any) -> None: ...

        def onQueryTerminated(self, event: Any) -> None: ...

    listener = Listener()
    frame.sparkSession.streams.addListener(listener)
    connection.stream(frame).into("t", stream_id="s", checkpoint=root / "own").wait()
    deadline = time.monotonic() + 10
    while len(times) < FILES and time.monotonic() < deadline:
        time.sleep(0.1)
    frame.sparkSession.streams.removeListener(listener)
    return statistics.median(times[1:]), sum(times[1:])
