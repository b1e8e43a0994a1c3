"""Helpers of the engines' contract: relations from values, and each engine in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Column, PartitionValues
from rewriter.exec.engine import Engine, EngineQuery, Relation, ScanFile
from rewriter.session import Session

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


_COLUMNS = "carrier STRING, flights BIGINT, distance BIGINT, price DECIMAL(10,2), priced BIGINT"
#: Each row is one event.
_ROWS = (
    "('UA', 1, 100, 10.55, 1, '2012-12-31-23'), ('UA', 1, 200, 7.77, 1, '2013-01-01-00'), "
    "('UA', 1, 200, 7.77, 1, '2013-01-01-00'), ('UA', 1, NULL, NULL, 0, '2013-01-01-00'), "
    "('AA', 1, 300, NULL, 0, '2013-01-31-23'), ('UA', 1, 11, 1.01, 1, '2013-02-01-00'), "
    "('AA', 1, 17, 3.33, 1, '2013-02-28-23'), ('UA', 1, 19, 0.10, 1, '2013-02-15-13'), "
    "('DL', 1, 23, 9.99, 1, '2013-03-01-00'), ('DL', 1, 24, 0.01, 1, '2013-03-01-00'), "
    "(NULL, 1, 5, -9.99, 1, '2013-03-31-05'), ('ZZ', 1, NULL, NULL, 0, '2013-03-31-05')"
)


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def cube_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The cube ``c`` of hours, days and months, and ``base``, a plain table of its base rows, on each engine."""
    with Session(tmp_path_factory.mktemp("cube") / "warehouse", request.getfixturevalue(request.param)) as session:
        session.execute(
            "CREATE CUBE c (carrier STRING, flights BIGINT MEASURE COUNT EVENTS NOT NULL, distance BIGINT MEASURE SUM, "
            "price DECIMAL(10,2) MEASURE SUM COUNTED BY priced, priced BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME)"
        )
        for table in ("hours", "days", "months"):
            session.execute(f"CREATE TABLE {table} ({_COLUMNS}) PARTITIONED BY (dt STRING)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
            "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt), TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt))"
        )
        session.execute(
            f"INSERT INTO hours PARTITION (dt) MARK COMPLETE FROM '2012-12-01' TO '2013-04-01' VALUES {_ROWS}"
        )
        session.execute("REFRESH FACT f")
        session.execute(f"CREATE TABLE base ({_COLUMNS}, t TIMESTAMP)")
        session.execute(
            "INSERT INTO base SELECT carrier, flights, distance, price, priced, to_timestamp(dt, 'yyyy-MM-dd-HH') "
            "FROM hours"
        )
        yield session
