"""COUNT, MIN and MAX over the files of an external table, first and again; plain DuckDB over the same files."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import rewriter
from benchmarks.timing import Figure, Table, ratio, seconds

FILES, ROWS = 10_000, 100
AGGREGATES = "COUNT(*), COUNT(distance), MIN(distance), MAX(departed), MIN(price)"


def build(root: Path) -> None:
    """Writes a file with 100 rows for each of 10,000 partitions."""
    import duckdb

    duckdb.connect().execute(f"""
        COPY (SELECT r.range * 7 % 1000 + f.range AS distance, TIMESTAMPTZ '2013-01-01 00:00:00+00' + INTERVAL 1 MINUTE
                * (f.range * {ROWS} + r.range) AS departed, CAST(r.range % 90 AS DECIMAL(10, 2)) AS price,
                'carrier ' || r.range % 20 AS carrier, f.range AS part FROM range({FILES}) AS f, range({ROWS}) AS r)
        TO '{root}' (FORMAT parquet, PARTITION_BY (part), ROW_GROUP_SIZE 100000)
    """)


def measure() -> Table:
    """Returns the figures. The files are in the cache of the system for all of them."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "events"
        build(root)
        files = f"read_parquet('{root}/*/*.parquet', hive_partitioning = true)"
        with rewriter.connect(Path(folder) / "warehouse", engine="duckdb") as connection:
            cursor = connection.cursor()

            def run(sql: str) -> list[Any]:
                cursor.execute(sql)
                return cursor.fetchall() if cursor.description else []

            columns = "distance BIGINT, departed TIMESTAMP, price DECIMAL(10,2), carrier STRING"
            run(f"CREATE EXTERNAL TABLE events ({columns}) PARTITIONED BY (part INT) LOCATION '{root}'")
            run("MSCK REPAIR TABLE events")
            time.sleep(2.5)  # Footers of files that have just changed are not kept.
            sql = f"SELECT {AGGREGATES} FROM events"
            first = seconds(lambda: run(sql))
            again = seconds(lambda: run(sql), 5)
            month = seconds(lambda: run(f"{sql} WHERE part >= 9000"), 5)
            rows = seconds(lambda: run("SELECT SUM(distance) FROM events"), 3)
            plain = duckdb.connect(config={"threads": 2})
            plain_first = seconds(lambda: plain.sql(f"SELECT {AGGREGATES} FROM {files}").fetchall())
            plain.sql("SET parquet_metadata_cache = true")
            plain.sql(f"SELECT {AGGREGATES} FROM {files}").fetchall()
            plain_again = seconds(lambda: plain.sql(f"SELECT {AGGREGATES} FROM {files}").fetchall(), 5)
            assert run(sql)[0][:3] == plain.sql(f"SELECT {AGGREGATES} FROM {files}").fetchall()[0][:3]
    return Table(
        f"COUNT, MIN and MAX over {FILES:,} external files",
        (
            Figure("first time", first, f"{FILES:,} footers read"),
            Figure("again", again, f"no file opened; {ratio(first, again)} faster"),
            Figure("again, 1,000 partitions", month),
            Figure("SUM, which reads rows", rows),
            Figure("plain DuckDB, first time", plain_first, f"{plain_first / first:.1f}× of rewriter's first time"),
            Figure(
                "plain DuckDB, again", plain_again, f"{ratio(plain_again, again)} of rewriter's time; footers cached"
            ),
        ),
    )
