"""Helpers of the engines' contract: relations from values, and each engine in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Column, PartitionValues
from rewriter.exec.engine import Engine, EngineQuery, Relation, ScanFile

#: Stands for NaN, which is not equal to itself.
NAN = "not a number"
Rows = list[tuple[object, ...]]


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen: Engine = request.getfixturevalue(request.param)
    return chosen


def columns(*declared: str) -> tuple[Column, ...]:
    """Returns columns: ``columns('a int', 'b string')``."""
    return tuple(Column(*text.rsplit(" ", 1)) for text in declared)


def parquet(path: Path, table: pa.Table | Mapping[str, Sequence[object]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(dict(table)), path)
    return str(path)


def scan_file(path: str, values: PartitionValues = ()) -> ScanFile:
    return ScanFile(path, values, os.path.getsize(path))


def partitioned(
    root: Path, partition_columns: Sequence[Column], values: Sequence[PartitionValues], name: str = "t"
) -> Relation:
    """Returns a relation of one row per partition. ``x`` is the partition's number. Paths spell the values."""
    files = []
    for number, value in enumerate(values):
        path = root / partition_name(partition_columns, value) / f"part-{number}.parquet"
        files.append(scan_file(parquet(path, {"x": pa.array([number], pa.int64())}), value))
    return Relation(name, "parquet", columns("x bigint"), tuple(partition_columns), tuple(files))


@pytest.fixture
def rows() -> Callable[..., Rows]:
    """Runs a query and returns its rows in a fixed order."""

    def run(engine: Engine, sql: str, *relations: Relation, **parameters: object) -> Rows:
        table = engine.execute(EngineQuery(sql, relations, parameters)).read_all()
        unsorted = zip(*(column.to_pylist() for column in table.columns), strict=True)
        return sorted((tuple(NAN if value != value else value for value in row) for row in unsorted), key=repr)

    return run
