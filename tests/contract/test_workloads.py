"""The queries of TPC-H, ClickBench and analysts have the same rows, types and names on DuckDB and on Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rewriter
from benchmarks.workloads import WORKLOADS, queries
from benchmarks.workloads.data import write_hits, write_tpch
from benchmarks.workloads.figures import declare_tables
from rewriter.dbapi import Connection
from rewriter.exec.spark.engine import SparkEngine

SCALE, HITS = 0.01, 10_000
CASES = [(workload, name) for workload in WORKLOADS for name in queries(workload)]
#: Queries that no value fulfils at this scale.
EMPTY = {("analysts", "dbt 9: a test of uniqueness"), ("analysts", "dbt 10: a test of relationships")}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workloads")
    write_tpch(folder / "tables", SCALE)
    write_hits(folder / "tables", HITS)
    with rewriter.connect(folder / "warehouse", engine="duckdb") as connection:
        declare_tables(connection, folder / "tables")
    return folder / "warehouse"


@pytest.fixture(scope="module")
def on_duckdb(warehouse: Path) -> Iterator[Connection]:
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        yield connection


@pytest.fixture(scope="module")
def on_spark(warehouse: Path, spark: SparkEngine) -> Iterator[Connection]:
    with rewriter.connect(warehouse, engine=spark) as connection:
        yield connection


def without_limit(query: str) -> str:
    """Rows of an equal order differ where LIMIT cuts between them."""
    return re.sub(r"\s+LIMIT \d+( OFFSET \d+)?$", "", query)


def comparable(rows: list[Any]) -> list[tuple[str, ...]]:
    """The rows in any order. Sums of DOUBLE depend on the order of the rows that they add up."""
    return sorted(tuple(repr(float(f"{x:.10g}") if isinstance(x, float) else x) for x in row) for row in rows)


@pytest.mark.share(16)
@pytest.mark.parametrize(("workload", "name"), CASES)
def test_both_engines_return_the_same(on_duckdb: Connection, on_spark: Connection, workload: str, name: str) -> None:
    query = queries(workload)[name]
    ours, sparks = (connection.execute(without_limit(query)) for connection in (on_duckdb, on_spark))
    assert [column[:2] for column in ours.description] == [column[:2] for column in sparks.description]
    rows = ours.fetchall()
    assert comparable(rows) == comparable(sparks.fetchall())
    assert bool(rows) is ((workload, name) not in EMPTY)
    every = comparable(rows)
    limited = comparable(on_duckdb.execute(query).fetchall())
    assert all(row in every for row in limited)


@pytest.mark.share(1)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_duckdb_runs_all(on_duckdb: Connection, workload: str) -> None:
    refused = []
    for name, query in queries(workload).items():
        try:
            on_duckdb.execute(query).fetchall()
        except rewriter.NotSupportedError as error:
            refused.append(f"{name}: {error}")
    assert refused == []
