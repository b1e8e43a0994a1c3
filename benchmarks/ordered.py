"""Fetching 10⁷ ordered rows, 1.4 GB, from a Spark whose JVM has 1 GB, beside Spark's own ways to fetch.

Each way has a process and a JVM of its own.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import rewriter
from benchmarks.timing import WideTable, shown

ROWS = 10_000_000
QUERY = f"SELECT id, repeat(md5(CAST(id AS STRING)), 4) AS s FROM range({ROWS}) ORDER BY id DESC"
_PATIENCE_SECONDS = 1800.0
_MASTER, _MEMORY = "local[2]", {"spark.driver.memory": "1g", "spark.ui.enabled": "false"}


class Fetched(NamedTuple):
    """Seconds to the first row and to the last one, the number of rows, and the peak memory of both processes in MB."""

    first: float
    last: float
    rows: int
    python: float
    jvm: float


def _ours() -> tuple[Callable[[], Iterator[int]], Any]:
    """Returns a function that yields the rows of each piece that arrives, and the JVM."""
    from rewriter.exec.spark.engine import SparkEngine

    engine = SparkEngine(_MASTER, _MEMORY)
    connection = rewriter.connect(tempfile.mkdtemp(), engine)
    connection.execute("SELECT 1").fetchall()
    session: Any = engine._running_spark().session

    def fetch() -> Iterator[int]:
        for batch in connection.execute(QUERY).fetch_record_batches():
            yield batch.num_rows

    return fetch, session.sparkContext._gateway.proc


def _plain(way: str) -> tuple[Callable[[], Iterator[int]], Any]:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master(_MASTER)
    for name, value in _MEMORY.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sql("SELECT 1").collect()

    def fetch() -> Iterator[int]:
        frame = session.sql(QUERY)
        if way == "toArrow":
            yield frame.toArrow().num_rows
        else:
            for _ in frame.toLocalIterator():
                yield 1

    return fetch, session.sparkContext._gateway.proc


def _measured(way: str) -> Fetched:
    fetch, jvm = _ours() if way == "rewriter" else _plain(way)
    start, first, rows = time.perf_counter(), None, 0
    for count in fetch():
        if count and first is None:
            first = time.perf_counter() - start
        rows += count
    return Fetched(first or 0.0, time.perf_counter() - start, rows, _peak("self"), _peak(jvm.pid))


def _peak(process: object) -> float:
    """Returns the most memory of a process since it started, in MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


LABELS = {
    "rewriter": "rewriter, fetch_record_batches()",
    "toLocalIterator": "plain Spark, toLocalIterator()",
    "toArrow": "plain Spark, toArrow()",
}


def measure() -> WideTable:
    """Returns the figures of each way."""
    rows: list[tuple[str, ...]] = []
    for way, label in LABELS.items():
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            started = time.perf_counter()
            try:
                fetched = pool.submit(_measured, way).result(_PATIENCE_SECONDS)
            except Exception as error:  # Without memory, Spark may wait for ever.
                seconds = time.perf_counter() - started
                for process in multiprocessing.active_children():
                    process.kill()
                rows.append((label, f"{type(error).__name__} after {shown(seconds)}", "", "", "", ""))
                continue
        per_second = f"{fetched.rows / fetched.last:,.0f}"
        memory = (f"{fetched.python:.0f} MB", f"{fetched.jvm:.0f} MB")
        rows.append((label, shown(fetched.first), shown(fetched.last), per_second, *memory))
    columns = ("10⁷ ordered rows, 1.4 GB", "first row", "last row", "rows/s", "Python's peak", "JVM's peak")
    return WideTable("Fetching an ordered result from a JVM of 1 GB", columns, tuple(rows))
