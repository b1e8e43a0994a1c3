"""The queries of TPC-H, ClickBench and analysts on DuckDB, beside plain DuckDB over the same files."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

import duckdb
import sqlglot

import rewriter
from benchmarks.timing import WideTable, shown
from benchmarks.workloads import WORKLOADS, queries
from benchmarks.workloads.data import write_hits, write_tpch
from rewriter.dbapi.connection import Connection

#: How many rows ``hits`` has at scale 1. The published table has 100 million.
HITS = 1_000_000
_RUNS = 3


def declare_tables(connection: Connection, folder: Path) -> None:
    """Declares the tables below a folder, each with the columns of its files."""
    for table in sorted(folder.iterdir()):
        columns = connection.execute(f"DESCRIBE SELECT * FROM parquet.`{table}`").fetchall()
        declared = ", ".join(f"{name} {type_}" for name, type_, *_ in columns)
        connection.execute(f"CREATE EXTERNAL TABLE {table.name} ({declared}) STORED AS PARQUET LOCATION '{table}'")


def measure(scale: float) -> WideTable:
    """Returns the CPU time of each workload, and its three queries that take longest beside plain DuckDB."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables"
        write_tpch(tables, scale)
        write_hits(tables, int(HITS * scale))
        with (
            closing(rewriter.connect(Path(folder) / "warehouse", engine="duckdb")) as connection,
            duckdb.connect() as plain,
        ):
            declare_tables(connection, tables)
            for table in tables.iterdir():
                plain.execute(f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet('{table}/*.parquet')")
            for workload in WORKLOADS:
                rows.append(_row(workload, connection, plain))
    total_ours, total_plain = (sum(total[side] for _, total in rows) for side in (0, 1))
    columns = ("workload", "rewriter", "plain DuckDB", "rewriter / plain", "slowest three beside plain DuckDB")
    return WideTable(
        f"TPC-H at scale {scale:g}, ClickBench's queries over {int(HITS * scale):,} rows, and 60 queries of analysts",
        columns,
        (
            *(row for row, _ in rows),
            ("total", shown(total_ours), shown(total_plain), f"{total_ours / total_plain:.2f}×", ""),
        ),
        (
            f"CPU time of the process: totals of medians of {_RUNS} turns, known texts. Plain DuckDB runs sqlglot's "
            "translation of the same text over the same files.",
        ),
    )


def _row(
    workload: str, connection: Connection, plain: duckdb.DuckDBPyConnection
) -> tuple[tuple[str, ...], tuple[float, float]]:
    """Returns the row of a workload, and the seconds of CPU of both sides."""
    times: dict[str, tuple[float, float]] = {}
    refused = 0
    for name, text in queries(workload).items():
        try:
            connection.execute(text).fetchall()
        except rewriter.NotSupportedError:
            refused += 1
            continue
        translated = sqlglot.transpile(text, read="spark", write="duckdb", unsupported_level=sqlglot.ErrorLevel.IGNORE)[
            0
        ]
        try:
            plain.execute(translated).fetchall()
        except duckdb.Error:
            continue  # DuckDB has no such function.
        turns = [(_cpu(connection, text), _cpu(plain, translated)) for _ in range(_RUNS)]
        times[name] = statistics.median(ours for ours, _ in turns), statistics.median(theirs for _, theirs in turns)
    ours, theirs = (sum(pair[side] for pair in times.values()) for side in (0, 1))
    slowest = sorted(times, key=lambda name: times[name][1] - times[name][0])[:3]
    row = (
        f"{workload}: {len(times)} queries that both run, {refused} refused",
        shown(ours),
        shown(theirs),
        f"{ours / theirs:.2f}×",
        "; ".join(f"{name}: {shown(times[name][0])} beside {shown(times[name][1])}" for name in slowest),
    )
    return row, (ours, theirs)


def _cpu(connection: Connection | duckdb.DuckDBPyConnection, text: str) -> float:
    """Runs a query and fetches its rows. Returns the seconds of CPU of all threads."""
    start = time.process_time()
    connection.execute(text).fetchall()
    return time.process_time() - start
