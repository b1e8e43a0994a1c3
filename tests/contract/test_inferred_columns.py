"""CREATE TABLE without columns has the columns that Spark infers from the files, and refuses what it cannot infer as
Spark does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from rewriter.errors import AnalysisError, EngineError, Error, NotSupportedError
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session


@pytest.fixture
def session(duckdb: object, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:  # type: ignore[arg-type]
        yield opened


def described(session: Session, name: str = "t") -> list[tuple[object, ...]]:
    rows = session.execute(f"DESCRIBE {name}").fetch()
    return [(column, str(type_)) for column, type_, *_ in rows]


def described_by_spark(spark: SparkEngine, clauses: str) -> list[tuple[object, ...]]:
    from pyspark.sql import SparkSession

    spark.columns(EngineQuery("SELECT 1 AS started"))
    plain = SparkSession.builder.getOrCreate()
    plain.sql("DROP TABLE IF EXISTS inferred")
    plain.sql(f"CREATE TABLE inferred {clauses}")
    try:
        return [(row[0], row[1]) for row in plain.sql("DESCRIBE inferred").collect()]
    finally:
        plain.sql("DROP TABLE inferred")


def write_parquet(path: Path, **columns: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_columns_of_parquet_files(session: Session, spark: SparkEngine, tmp_path: Path) -> None:
    write_parquet(
        tmp_path / "d" / "a.parquet",
        Id=pa.array([1], pa.int32()), small=pa.array([1], pa.uint8()), big=pa.array([1], pa.uint32()), text=["x"],
        price=pa.array([1], pa.decimal128(5, 2)), day=pa.array([0], pa.date32()), parts=[[1, 2]],
        at=pa.array([0], pa.timestamp("us", "UTC")), pair=[{"A": 1.5, "b": True}],
    )  # fmt: skip
    write_parquet(tmp_path / "d" / "b.parquet", Id=pa.array([2], pa.int32()), later=["y"])
    result = session.execute(f"CREATE TABLE t USING parquet LOCATION '{tmp_path}/d'")
    assert result.warnings == (
        f"The columns are those of the first file by path in {tmp_path}/d: Id INT, small SMALLINT, big BIGINT, text "
        "STRING, price DECIMAL(5,2), day DATE, parts ARRAY<BIGINT>, at TIMESTAMP, pair STRUCT<A:DOUBLE,B:BOOLEAN>.",
    )
    assert described(session) == described_by_spark(spark, f"USING parquet LOCATION '{tmp_path}/d'")
    assert session.execute("SELECT Id, text FROM t ORDER BY Id").fetch() == [(1, "x"), (2, None)]
    for name, clauses in (("u", "STORED AS PARQUET"), ("v", "USING parquet OPTIONS (compression 'snappy')"), ("x", "")):
        session.execute(
            f"CREATE EXTERNAL TABLE {name} {clauses} LOCATION '{tmp_path}/d' "
            "TBLPROPERTIES ('rewriter.shared_location' = 'true')"
        )
        assert described(session, name) == described(session)


def test_columns_of_summary_files(session: Session, spark: SparkEngine, tmp_path: Path) -> None:
    write_parquet(tmp_path / "d" / "a.parquet", a=[1])
    for name, column in (("_metadata", "b"), ("_common_metadata", "c")):
        pq.write_metadata(pa.schema([("a", pa.int64()), (column, pa.string())]), tmp_path / "d" / name)
        result = session.execute(f"CREATE OR REPLACE TABLE t LOCATION '{tmp_path}/d'")
        assert result.warnings == (f"The columns are those of {name} in {tmp_path}/d: a BIGINT, {column} STRING.",)
        assert described(session) == described_by_spark(spark, f"USING parquet LOCATION '{tmp_path}/d'")
        assert described(session)[1:] == [(column, "string")]


def test_columns_of_orc_files(session: Session, spark: SparkEngine, tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    for name in ("a", "b"):
        orc.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "o" / f"{name}.orc")
    clauses = f"USING orc LOCATION '{tmp_path}/o'"
    session.execute(f"CREATE TABLE t {clauses}")
    assert described(session) == described_by_spark(spark, clauses)
    orc.write_table(pa.table({"a": [1]}), tmp_path / "o" / "c.orc")
    with pytest.raises(NotSupportedError, match="have different columns"):
        session.execute(f"CREATE TABLE u {clauses}")


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["1", "02", "+3", "-4"], "int"),
        (["1", "3000000000"], "bigint"),
        (["2024-01-01", "__HIVE_DEFAULT_PARTITION__"], "date"),
        (["2024-01-01", "2024-02-30"], "string"),
        (["2024-01", "2024-02"], "string"),
        (["2024-01-01-05", "2024-01-01T06"], "string"),
        (["US", "d", "f", "epoch", "T10", "y%2Fz"], "string"),
        (["01", "a", "2024-01-01", "3000000000"], "string"),
        (["20240101"], "int"),
    ],
)
def test_types_of_partition_columns(
    session: Session, spark: SparkEngine, tmp_path: Path, values: list[str], type_: str
) -> None:
    for value in values:
        write_parquet(tmp_path / "d" / f"k={value}" / "n=1" / "a.parquet", id=[1])
    result = session.execute(f"CREATE TABLE t USING parquet LOCATION '{tmp_path}/d'")
    assert result.warnings[0].endswith(
        f"The directories name the partition columns k {type_.upper()}, n INT. MSCK REPAIR TABLE t adds the partitions."
    )
    assert described(session) == described_by_spark(spark, f"USING parquet LOCATION '{tmp_path}/d'")
    assert ("k", type_) in described(session)
    session.execute("MSCK REPAIR TABLE t")
    assert session.execute("SELECT count(*) AS c FROM t").fetch() == [(len(values),)]


@pytest.mark.parametrize(
    "values",
    [
        ["NaN"], ["1.5"], ["1d"], ["1e5"], ["12345678901234567890"], ["1", "2024-01-01"], ["2024-01-01 00:00:00"],
        ["0000-01-01"], ["__HIVE_DEFAULT_PARTITION__"], [" x"], ["2024-1-1"],
    ],
)  # fmt: skip
def test_uncertain_partition_columns_must_be_declared(session: Session, tmp_path: Path, values: list[str]) -> None:
    for value in values:
        write_parquet(tmp_path / "d" / f"k={value}" / "a.parquet", id=[1])
    with pytest.raises(NotSupportedError, match="type of the partition column k is not certain") as raised:
        session.execute(f"CREATE TABLE t USING parquet LOCATION '{tmp_path}/d'")
    assert raised.value.position is not None
    assert "PARTITIONED BY (k STRING)" in str(raised.value.hint)
    session.execute(f"CREATE TABLE t USING parquet PARTITIONED BY (k STRING) LOCATION '{tmp_path}/d'")
    session.execute("MSCK REPAIR TABLE t")
    assert described(session)[:2] == [("id", "bigint"), ("k", "string")]
    assert session.execute("SELECT count(*) AS c FROM t").fetch() == [(len(values),)]


def test_columns_of_csv_files(session: Session, spark: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / "c" / "a.csv", "id,Name\n1,x\n")
    write(tmp_path / "c" / "b.csv", "id,Name\n2,y\n")
    for name, options, count in (("t", "header 'true'", 2), ("u", "header 'false'", 4), ("v", "sep ';'", 4)):
        clauses = f"USING csv OPTIONS ({options}) LOCATION '{tmp_path}/c'"
        session.execute(f"CREATE TABLE {name} {clauses} TBLPROPERTIES ('rewriter.shared_location' = 'true')")
        assert described(session, name) == described_by_spark(spark, clauses)
        assert session.execute(f"SELECT count(*) AS c FROM {name}").fetch() == [(count,)]
    with pytest.raises(NotSupportedError, match="does not say whether the first line"):
        session.execute(f"CREATE TABLE w USING csv LOCATION '{tmp_path}/c'")
    with pytest.raises(NotSupportedError, match="inferSchema"):
        session.execute(f"CREATE TABLE w USING csv OPTIONS (header 'true', inferSchema 'true') LOCATION '{tmp_path}/c'")
    write(tmp_path / "c" / "b.csv", "id\n2\n")
    with pytest.raises(NotSupportedError, match="have different columns"):
        session.execute(f"CREATE TABLE w USING csv OPTIONS (header 'true') LOCATION '{tmp_path}/c'")


def test_columns_of_json_files(session: Session, spark: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / "j" / "a.json", '{"b": 1, "a": "x", "n": null, "e": "", "m": 1, "h": "2024-01-01"}\n\n')
    write(tmp_path / "j" / "b.json", '{"b": 1.5, "k": true, "e": 7, "B2": "", "m": false}\n')
    clauses = f"USING json LOCATION '{tmp_path}/j'"
    session.execute(f"CREATE TABLE t {clauses}")
    assert described(session) == described_by_spark(spark, clauses)
    assert dict(described(session)) == {
        "B2": "string", "a": "string", "b": "double", "e": "bigint", "h": "string", "k": "boolean", "m": "string",
        "n": "string",
    }  # fmt: skip
    for text in ('{"a": {"b": 1}}', '{"a": [1]}', '{"a": 12345678901234567890}', "[1]", "{"):
        write(tmp_path / "j" / "c.json", text + "\n")
        with pytest.raises(NotSupportedError, match="types of the columns are not certain"):
            session.execute(f"CREATE TABLE u {clauses}")


def test_nothing_to_infer_from(session: Session, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for clauses in ("USING parquet", f"LOCATION '{tmp_path}/empty'", f"LOCATION '{tmp_path}/nowhere'"):
        with pytest.raises(AnalysisError) as raised:
            session.execute(f"CREATE TABLE t {clauses}")
        assert (raised.value.condition, raised.value.sqlstate) == ("UNABLE_TO_INFER_SCHEMA", "42KD9")
        assert raised.value.position is not None
    write(tmp_path / "x" / "a.parquet", "damaged")
    with pytest.raises(EngineError, match="cannot be read"):
        session.execute(f"CREATE TABLE t LOCATION '{tmp_path}/x'")
    for place in (
        "mixed/a.parquet",
        "mixed/k=1/b.parquet",
        "deep/k/a.parquet",
        "two/k=1/a.parquet",
        "two/l=1/b.parquet",
    ):
        write_parquet(tmp_path / f"{place}.parquet", id=[1])
    for folder in ("mixed", "deep", "two"):
        with pytest.raises(NotSupportedError, match=r"names no partition|name different columns"):
            session.execute(f"CREATE TABLE t LOCATION '{tmp_path}/{folder}'")
    with pytest.raises(NotSupportedError, match="name no columns"):
        session.execute(f"CREATE TABLE t STORED AS TEXTFILE LOCATION '{tmp_path}/deep'")
    write_parquet(tmp_path / "again" / "id=1" / "a.parquet", id=[1])
    with pytest.raises(Error, match="already exists"):
        session.execute(f"CREATE TABLE t LOCATION '{tmp_path}/again'")
    session.execute("CREATE TABLE there (a INT)")
    session.execute(f"CREATE TABLE IF NOT EXISTS there LOCATION '{tmp_path}/nowhere'")
    assert described(session, "there") == [("a", "int")]
