"""The queries of TPC-H, ClickBench and analysts on DuckDB, beside plain DuckDB over the same files."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import sqlglot

import rewriter
from benchmarks.timing import WideTable, ratio, seconds, shown
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
    """Returns the total of each workload, and its query that takes longest beside plain DuckDB."""
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
    columns = ("workload", "rewriter", "plain DuckDB", "rewriter / plain", "slowest beside plain DuckDB")
    return WideTable(
        f"TPC-H at scale {scale:g}, ClickBench's queries over {int(HITS * scale):,} rows, and 60 queries of analysts",
        columns,
        tuple(rows),
        (f"Totals of medians of {_RUNS} runs, known texts. Plain DuckDB runs sqlglot's translation.",),
    )


def _row(workload: str, connection: Connection, plain: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    times: dict[str, tuple[float, float]] = {}
    refused = 0
    for name, text in queries(workload).items():
        try:
            connection.execute(text).fetchall()
        except rewriter.NotSupportedError:
            refused += 1
            continue
        translated = sqlglot.transpile(text, read="spark", write="duckdb")[0]
        try:
            plain.execute(translated).fetchall()
        except duckdb.Error:
            continue  # DuckDB has no such function.
        ours = seconds(lambda text=text: connection.execute(text).fetchall(), _RUNS)  # type: ignore[misc]
        theirs = seconds(lambda text=translated: plain.execute(text).fetchall(), _RUNS)  # type: ignore[misc]
        times[name] = ours, theirs
    ours, theirs = (sum(pair[side] for pair in times.values()) for side in (0, 1))
    slowest = max(times, key=lambda name: times[name][0] - times[name][1])
    return (
        f"{workload}: {len(times)} queries that both run, {refused} refused",
        shown(ours),
        shown(theirs),
        ratio(ours, theirs),
        f"{slowest}: {shown(times[slowest][0])} beside {shown(times[slowest][1])}",
    )
