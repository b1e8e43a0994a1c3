"""The statistics of an engine's optimizer: sizes and row counts come from the given files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from contract.conftest import columns, parquet, scan_file

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Relation, ScanFile
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

DATA, DAYS = columns("k int", "x string"), columns("dt string")
JOIN = "SELECT big.x, small.x AS y FROM big JOIN small ON big.k = small.k"


def files(root: Path, name: str, rows: int, spelled: bool = True, count: int = 3) -> tuple[ScanFile, ...]:
    """Writes a file for each of some days."""
    table = pa.table({"k": pa.array(range(rows), pa.int32()), "x": pa.array([str(n * n) for n in range(rows)])})
    written = []
    for day in range(count):
        directory = root / name / (f"dt={day}" if spelled else f"day-{day}")
        written.append(scan_file(parquet(directory / "part-0.parquet", table), (str(day),)))
    return tuple(written)


def both(engine: Engine, big: tuple[ScanFile, ...], small: tuple[ScanFile, ...]) -> str:
    """Returns the engine's plan of a join of the two."""
    relations = (Relation("big", "parquet", DATA, DAYS, big), Relation("small", "parquet", DATA, DAYS, small))
    return engine.explain(EngineQuery(JOIN, relations))


def broadcast_below(spark: SparkEngine, size: str) -> None:
    spark.execute(EngineQuery(f"SET spark.sql.autoBroadcastJoinThreshold = {size}"))


@pytest.fixture
def sized(spark: SparkEngine) -> Iterator[SparkEngine]:
    """Returns Spark with a threshold for broadcasts that may be changed."""
    yield spark
    broadcast_below(spark, "10MB")


def test_spark_broadcasts_what_is_small_after_pruning(tmp_path: Path, sized: SparkEngine) -> None:
    big, small = files(tmp_path, "big", 20_000), files(tmp_path, "small", 20_000)
    few, moved = files(tmp_path, "few", 3), files(tmp_path, "moved", 3, spelled=False)
    broadcast_below(sized, f"{sum(file.bytes for file in small) // 2}b")
    assert "BroadcastHashJoin" not in both(sized, big, small)
    for kept in (small[:1], few, moved, few[:1] + moved[1:]):
        plan = both(sized, big, kept)
        assert "BroadcastHashJoin" in plan
        assert "SortMergeJoin" not in plan
    broadcast_below(sized, "1KB")
    assert sum(file.bytes for file in moved) > 1024 > moved[0].bytes
    assert "SortMergeJoin" in both(sized, big, moved)
    assert "SortMergeJoin" not in both(sized, big, moved[:1])
    broadcast_below(sized, "-1")
    assert "SortMergeJoin" in both(sized, big, moved[:1])


def test_spark_knows_that_nothing_is_left(tmp_path: Path, spark: SparkEngine) -> None:
    plan = both(spark, files(tmp_path, "big", 20_000), ())
    assert "Join" not in plan
    assert "LocalTableScan" in plan


def test_an_empty_relation_has_its_columns(spark: SparkEngine) -> None:
    declared = columns("k int", "x array<string>", "odd`name decimal(6,2)", "c char(3)")
    query = EngineQuery("SELECT * FROM t", (Relation("t", "parquet", declared, DAYS, ()),))
    assert [(column.name, column.type) for column in spark.columns(query)] == [
        ("k", "int"), ("x", "array<string>"), ("odd`name", "decimal(6,2)"), ("c", "string"), ("dt", "string"),
    ]  # fmt: skip
    assert spark.execute(query).read_all().num_rows == 0


def test_duckdb_counts_the_rows_of_the_files(tmp_path: Path, duckdb: DuckDBEngine) -> None:
    for spelled in (True, False):
        big = files(tmp_path, f"big-{spelled}", 5_000, spelled)
        for kept in (1, 3):
            relation = Relation("t", "parquet", DATA, DAYS, big[:kept])
            plan = duckdb.explain(EngineQuery("SELECT * FROM t", (relation,)))
            assert f"{kept * 5_000:,} rows" in plan, plan


def test_spark_broadcasts_a_few_partitions_of_a_packed_file(tmp_path: Path, sized: SparkEngine) -> None:
    """The catalog knows the bytes of each partition of the file, and Spark only those of the file."""
    sql = "EXPLAIN ENGINE SELECT big.id FROM big JOIN packed ON big.id = packed.id {where}"
    with Session(tmp_path / "warehouse", sized) as session:
        session.execute("CREATE TABLE packed (id BIGINT) PARTITIONED BY (p BIGINT)")
        session.execute("CREATE TABLE big (id BIGINT)")
        for table, items in (("packed", "id, id % 20"), ("big", "id")):
            session.execute(f"INSERT INTO {table} SELECT {items} FROM (SELECT explode(sequence(0L, 99999L)) AS id)")
        snapshot = session.catalog.snapshot()
        (size,) = {file.file_bytes for _, file in snapshot.files(snapshot.table("packed"))}
        broadcast_below(sized, f"{size // 4}b")
        plans = [
            str(session.execute(sql.format(where=where)).fetch())
            for where in ("", "WHERE packed.p < 15", "WHERE packed.p = 3", "WHERE packed.p IN (1, 9)")
        ]
        assert ["BroadcastHashJoin" in plan for plan in plans] == [False, False, True, True]
        assert ["SortMergeJoin" in plan for plan in plans] == [True, True, False, False]
        broadcast_below(sized, "-1")
        assert "SortMergeJoin" in str(session.execute(sql.format(where="WHERE packed.p = 4")).fetch())
