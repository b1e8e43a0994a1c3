"""Spark reading all 6,936 hourly partitions: a file for each, with plain path lists for comparison, and packed."""

from __future__ import annotations

from typing import Any

import rewriter
from benchmarks.planning import DATA
from benchmarks.timing import Figure, Table, ratio, seconds
from rewriter.catalog import Catalog
from rewriter.exec.engine import EngineQuery, Relation, scan_file


def relation(warehouse: Any, table_name: str) -> Relation:
    """Returns all files of a table as a relation."""
    catalog = Catalog.open(warehouse)
    snapshot = catalog.snapshot()
    table = snapshot.table(table_name)
    files = tuple(scan_file(file, partition.values) for partition, file in snapshot.files(table))
    catalog.close()
    return Relation("hours", table.format, table.columns, table.partition_columns, files)


def unpack(warehouse: Any) -> None:
    """Creates the table ``unpacked_hours``, with the hourly flights, and a file for each partition."""
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        properties = "TBLPROPERTIES ('rewriter.packed' = 'false')"
        cursor.execute(f"CREATE TABLE unpacked_hours ({DATA}) PARTITIONED BY (dt STRING) {properties}")
        cursor.execute("INSERT INTO unpacked_hours SELECT * FROM flights_hourly")


def measure(warehouse: Any, engine: Any, spark: Any) -> Table:
    """Returns the figures. ``engine`` is our Spark engine, ``spark`` its session."""
    unpack(warehouse)
    hours, packed_hours = relation(warehouse, "unpacked_hours"), relation(warehouse, "flights_hourly")
    count = "SELECT COUNT(*), SUM(distance) FROM hours"
    engine.execute(EngineQuery("SELECT 1")).read_all()
    few = Relation("hours", hours.format, hours.columns, hours.partition_columns, hours.files[:10])
    engine.execute(EngineQuery(count, (few,))).read_all()
    ours_plan = seconds(lambda: engine.columns(EngineQuery(count, (hours,))))
    ours_all = seconds(lambda: engine.execute(EngineQuery(count, (hours,))).read_all())
    packed_all = seconds(lambda: engine.execute(EngineQuery(count, (packed_hours,))).read_all(), 3)
    paths = [file.path for file in hours.files]
    base = paths[0].split("/dt=")[0]
    keys = (
        "spark.sql.sources.parallelPartitionDiscovery.threshold",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism",
    )
    before = {key: spark.conf.get(key) for key in keys}
    for key in keys:
        spark.conf.unset(key)
    spark.conf.set(keys[0], "32")
    spark.conf.set(keys[1], "10000")
    frames: list[Any] = []
    plain = seconds(lambda: frames.append(spark.read.option("basePath", base).parquet(*paths)))
    plain_all = seconds(lambda: frames[0].selectExpr("COUNT(*)", "SUM(distance)").collect())
    for key, value in before.items():
        spark.conf.set(key, value)
    return Table(
        f"Spark, scan of {len(paths):,} hourly partitions",
        (
            Figure("scan planning, rewriter", ours_plan, "from the catalog's file list"),
            Figure("scan planning, plain path list", plain, f"{ratio(plain, ours_plan)} slower; Spark's defaults"),
            Figure("whole query, rewriter", ours_all),
            Figure("whole query, rewriter, packed", packed_all, f"{ratio(ours_all, packed_all)} faster: few files"),
            Figure("whole query, plain path list", plain + plain_all, f"{ratio(plain + plain_all, ours_all)} slower"),
        ),
    )
