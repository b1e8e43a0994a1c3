"""Dynamic INSERT of one quarter of hours, compared with plain Spark's INSERT OVERWRITE into its own catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rewriter
from benchmarks.planning import DATA
from benchmarks.timing import Figure, Table, ratio, seconds

QUARTER = "WHERE dt < '2013-04'"
COLUMNS = "origin, dest, carrier, flights, departures, distance, delay, worst_delay, dt"


def measure(warehouse: Path, engine: Any, spark: Any) -> Table:
    """Returns the figures. ``engine`` is our Spark engine, ``spark`` its session. The source is one file."""
    source = warehouse / "quarter.parquet"
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        cursor.execute(f"SELECT {COLUMNS} FROM flights_hourly {QUARTER}")
        table = cursor.fetch_arrow_table()
        _write(table, source)
        partitions = len(set(table.column("dt").to_pylist()))

        def insert(name: str, chosen: Any) -> float:
            with rewriter.connect(warehouse, engine=chosen) as connection:
                mine = connection.cursor()
                mine.execute(f"CREATE TABLE {name} ({DATA}) PARTITIONED BY (dt STRING)")
                return seconds(
                    lambda: mine.execute(f"INSERT OVERWRITE {name} PARTITION (dt) SELECT * FROM parquet.`{source}`"), 3
                )

        ours = insert("quarter_spark", engine)
        duck = insert("quarter_duckdb", "duckdb")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql(f"CREATE TABLE plain_quarter ({DATA}, dt STRING) USING parquet PARTITIONED BY (dt) "
              f"LOCATION '{warehouse / 'plain_quarter'}'")  # fmt: skip
    plain = seconds(lambda: spark.sql(f"INSERT OVERWRITE TABLE plain_quarter SELECT * FROM parquet.`{source}`"), 3)
    spark.sql("DROP TABLE plain_quarter")
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    return Table(
        f"Dynamic INSERT of {partitions:,} hourly partitions ({table.num_rows:,} rows)",
        (
            Figure("rewriter on Spark", ours, "files, statistics and timelines committed"),
            Figure("plain Spark, INSERT OVERWRITE dynamic", plain, f"{ratio(plain, ours)} of rewriter's time"),
            Figure("rewriter on DuckDB", duck, "files, statistics and timelines committed"),
        ),
    )


def _write(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)
