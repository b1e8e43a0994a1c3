"""Both engines have the same rules of each time zone that DuckDB's translation accepts."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
from contract.conftest import columns, parquet, scan_file

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.translate.time_functions import ZONES

_FIRST, _LAST = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.datetime(2099, 12, 31, tzinfo=dt.UTC)


def _moments() -> list[dt.datetime]:
    """Returns moments of all years, and each half hour of the months of 2024 in which clocks change."""
    step = dt.timedelta(days=9, hours=7, minutes=30)
    half_hours = [
        dt.datetime(2024, month, 1, tzinfo=dt.UTC) + dt.timedelta(minutes=30 * number)
        for month in (3, 4, 9, 10, 11)
        for number in range(48 * 31)
    ]
    return [*(_FIRST + step * number for number in range((_LAST - _FIRST) // step)), *half_hours]


def test_time_zones(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    table = pa.table({"t": pa.array(_moments(), pa.timestamp("us", "UTC"))})
    files = (scan_file(parquet(tmp_path / "moments.parquet", table)),)
    relation = Relation("m", "parquet", columns("t timestamp"), (), files)
    zones = sorted(ZONES)
    items = [f"{way}_utc_timestamp(t, '{zone}')" for zone in zones for way in ("from", "to")]
    query = EngineQuery(f"SELECT {', '.join(items)} FROM m ORDER BY t", (relation,), {})
    duckdb_table, spark_table = (engine.execute(query).read_all() for engine in (duckdb, spark))
    assert [name for name in items if duckdb_table.num_rows != len(_moments())] == []
    different = [
        item for item, first, second in zip(items, duckdb_table.columns, spark_table.columns, strict=True)
        if first.combine_chunks() != second.combine_chunks()
    ]  # fmt: skip
    assert different == []
