"""Fetching results from Python: the overhead of a statement, rows as Arrow and as tuples, and the memory of batches.

Each figure is measured in a process of its own, beside the same query by the engine itself over the same files.
"""

from __future__ import annotations

import glob
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import rewriter
from benchmarks.timing import WideTable, seconds, shown

ROWS, FEW = 10_000_000, 1_000_000
COLUMNS = "id BIGINT, name STRING, price DOUBLE, sold TIMESTAMP"
ALL = "SELECT id, name, price, sold FROM events"
FIRST = f"{ALL} WHERE part = 0"
AGGREGATE = "SELECT name, SUM(price) AS total FROM events WHERE part = 0 GROUP BY name ORDER BY name LIMIT 10"


class Measured(NamedTuple):
    """Seconds, the least of several runs, and the growth of the process's peak memory in MB."""

    seconds: float
    megabytes: float


def build(warehouse: Path) -> None:
    """Writes a table of ten partitions of 10⁶ rows."""
    import duckdb

    with rewriter.connect(warehouse, engine="duckdb") as connection:
        connection.execute(f"CREATE TABLE events ({COLUMNS}) PARTITIONED BY (part INT)")
        for part in range(ROWS // FEW):
            rows = duckdb.sql(f"""
                SELECT range AS id, 'name ' || range % 1000 AS name, range / 7 AS price,
                    TIMESTAMPTZ '2013-01-01 00:00:00+00' + INTERVAL 1 SECOND * range AS sold, {part} AS part
                FROM range({part * FEW}, {(part + 1) * FEW})
            """)
            connection.append("events", rows.to_arrow_reader(100_000))


def _own_duckdb(warehouse: str) -> Callable[[str], Any]:
    """Returns a function that makes DuckDB's relation of a query over the table's files."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET parquet_metadata_cache = true")
    connection.execute(f"CREATE VIEW events AS SELECT * FROM read_parquet('{warehouse}/events*/**/*.parquet')")
    return connection.sql


def _own_spark(warehouse: str) -> Callable[[str], Any]:
    from rewriter.exec.spark.session import start

    session = start(None, {}).session
    files = glob.glob(f"{warehouse}/events*/**/*.parquet", recursive=True)
    session.read.parquet(*files).createOrReplaceTempView("events")
    session.sql("SELECT 1").toArrow()
    return session.sql


def _runs(engine: str, by: str, warehouse: str) -> dict[str, Callable[[], object]]:
    """Returns the ways to fetch, by ``rewriter`` or by the engine."""
    if by == "rewriter":
        connection = rewriter.connect(warehouse, engine=engine)
        connection.execute("SELECT 1").fetchall()
        return {
            "aggregate": lambda: connection.execute(AGGREGATE).fetchall(),
            "Arrow": lambda: connection.execute(FIRST).fetch_arrow_table(),
            "tuples": lambda: connection.execute(FIRST).fetchall(),
            "batches": lambda: sum(batch.num_rows for batch in connection.execute(ALL).fetch_record_batches()),
        }
    if engine == "duckdb":
        query = _own_duckdb(warehouse)
        return {
            "aggregate": lambda: query(AGGREGATE).fetchall(),
            "Arrow": lambda: query(FIRST).to_arrow_table(),
            "tuples": lambda: query(FIRST).fetchall(),
            "batches": lambda: sum(batch.num_rows for batch in query(ALL).to_arrow_reader(122_880)),
        }
    query = _own_spark(warehouse)
    return {
        "aggregate": lambda: query(AGGREGATE).collect(),
        "Arrow": lambda: query(FIRST).toArrow(),
        "tuples": lambda: query(FIRST).collect(),
        "batches": lambda: query(ALL).toArrow().num_rows,
    }


def _measured(engine: str, by: str, way: str, warehouse: str) -> Measured:
    run = _runs(engine, by, warehouse)[way]
    if way == "batches":
        before, start = _peak(), time.perf_counter()
        run()
        return Measured(time.perf_counter() - start, _peak() - before)
    run()
    return Measured(min(seconds(run) for _ in range(15 if way == "aggregate" else 7)), 0)


def _peak() -> float:
    """Returns the most memory of this process since it started, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


LABELS = {
    "aggregate": "a GROUP BY of 10⁶ rows, 10 groups",
    "Arrow": "10⁶ rows as an Arrow table",
    "tuples": "10⁶ rows as tuples",
    "batches": "10⁷ rows in Arrow batches",
}


def measure(engine: str) -> WideTable:
    """Returns the figures of one engine."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder) / "warehouse"
        build(warehouse)
        for way, label in LABELS.items():
            own, ours = (_in_process(engine, by, way, str(warehouse)) for by in ("engine", "rewriter"))
            times = "" if own is None or ours is None else f"{ours.seconds / own.seconds:.2f}×"
            memory = [_memory(way, measured) for measured in (ours, own)]
            rows.append((label, _time(ours), _time(own), times, *memory))
    columns = ("what", "rewriter", engine, "rewriter's time", "rewriter's memory", f"{engine}'s memory")
    return WideTable(f"Fetching results on {engine}", columns, tuple(rows))


def _time(measured: Measured | None) -> str:
    return "failed" if measured is None else shown(measured.seconds)


def _memory(way: str, measured: Measured | None) -> str:
    return f"{measured.megabytes:.0f} MB" if way == "batches" and measured is not None else ""


def _in_process(engine: str, by: str, way: str, warehouse: str) -> Measured | None:
    """Returns the figures; ``None`` if the engine failed: Spark's JVM has not enough memory for all rows."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(_measured, engine, by, way, warehouse).result()
        except Exception as error:
            print(f"{engine} by {by}, {way}: {type(error).__name__}", flush=True)
            return None
