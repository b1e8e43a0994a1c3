"""The tables of TPC-H and ClickBench as Parquet files. Each value is a hash of its row's number, so that the files of a
scale are always the same.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from benchmarks.workloads import queries

#: ``h(n, salt, size)`` is a number below ``size``.
_MACROS = """
CREATE MACRO h(n, salt, size) AS CAST(hash(n * 1000 + salt) % size AS BIGINT);
CREATE MACRO supplier(part, i, suppliers) AS (part + i * (suppliers // 4 + (part - 1) // suppliers)) % suppliers + 1;
CREATE MACRO order_date(k) AS CAST(DATE '1992-01-01' + CAST(h(k, 4, 2406) AS INTEGER) AS DATE)
"""


def write_tpch(folder: Path, scale: float) -> None:
    """Writes the eight tables of TPC-H into ``folder/<table>/data.parquet``. Scale 1 has 6 million lines, in 10 s."""
    _write(folder, "tpch_tables", {"scale": scale})


def write_hits(folder: Path, rows: int) -> None:
    """Writes the table of ClickBench into ``folder/hits/data.parquet``, with the columns that its queries name."""
    _write(folder, "clickbench_tables", {"rows": rows})


def _write(folder: Path, tables: str, size: dict[str, float]) -> None:
    with duckdb.connect() as connection:
        connection.execute(_MACROS)
        for name, query in queries(tables).items():
            path = folder / name / "data.parquet"
            path.parent.mkdir(parents=True)
            connection.execute(f"COPY ({query.format(**size)}) TO '{path}' (FORMAT parquet)")
