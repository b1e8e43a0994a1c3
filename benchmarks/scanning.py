"""Spark reading all 6,936 hourly partitions: our relation compared with plain path lists."""

from __future__ import annotations

from typing import Any

from benchmarks.timing import Figure, Table, ratio, seconds
from rewriter.catalog import Catalog
from rewriter.exec.engine import EngineQuery, Relation, ScanFile


def relation(warehouse: Any, name: str = "hours") -> Relation:
    """Returns all files of the hourly table as a relation."""
    catalog = Catalog.open(warehouse)
    snapshot = catalog.snapshot()
    table = snapshot.table("flights_hourly")
    files = tuple(ScanFile(file.path, partition.values, file.bytes) for partition, file in snapshot.files(table))
    catalog.close()
    return Relation(name, table.format, table.columns, table.partition_columns, files)


def measure(warehouse: Any, engine: Any, spark: Any) -> Table:
    """Returns the figures. ``engine`` is our Spark engine, ``spark`` its session."""
    hours = relation(warehouse)
    count = "SELECT COUNT(*), SUM(distance) FROM hours"
    engine.execute(EngineQuery("SELECT 1")).read_all()
    few = Relation("hours", hours.format, hours.columns, hours.partition_columns, hours.files[:10])
    engine.execute(EngineQuery(count, (few,))).read_all()
    ours_plan = seconds(lambda: engine.columns(EngineQuery(count, (hours,))))
    ours_all = seconds(lambda: engine.execute(EngineQuery(count, (hours,))).read_all())
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
            Figure("whole query, plain path list", plain + plain_all, f"{ratio(plain + plain_all, ours_all)} slower"),
        ),
    )
