"""A column whose type became a wider one: both engines read the files of both types as they read a table that had the
wider type from the start, whichever engine wrote them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from rewriter.catalog.model.changes import CreateObject, PartitionWrite, WritePartitions
from rewriter.errors import ConflictError, Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session
from tests.contract.conftest import parquet

_NAN, _INF = float("nan"), float("inf")
_BYTES, _SHORTS, _INTS = [-128, 127, 0, 1], [-(2**15), 2**15 - 1, 0, 1], [-(2**31), 2**31 - 1, 0, 1]


def _decimals(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


#: By column: its type, the wider type, values of the old type and of the new type. Some of the new values have the low
#: bits of an old one.
COLUMNS: Mapping[str, tuple[str, str, list[object], list[object]]] = {
    "ts": ("tinyint", "smallint", _BYTES, [-(2**15), 300, 383]),
    "ti": ("tinyint", "int", _BYTES, [-(2**31), 65537, 383]),
    "tb": ("tinyint", "bigint", _BYTES, [-(2**63), 2**32 + 127, 2**32 + 1]),
    "si": ("smallint", "int", _SHORTS, [65536, 98303, 65537]),
    "sb": ("smallint", "bigint", _SHORTS, [2**32, 2**32 + 32767, 2**32 + 1]),
    "ib": ("int", "bigint", _INTS, [2**32 + 1, -(2**32) + 1, 2**63 - 1]),
    "td": ("tinyint", "double", _BYTES, [0.5, _NAN, 383.0]),
    "sd": ("smallint", "double", _SHORTS, [-0.0, 1e300, 65537.0]),
    "id": ("int", "double", _INTS, [2.0**32 + 1, _NAN, -_INF]),
    "fd": (
        "float",
        "double",
        [0.1, _NAN, -0.0, -_INF, 1.17549435e-38, 1e-45, 3.4028234663852886e38],
        [0.1, 1e300, -1e300, _NAN, 1e-46],
    ),
    "d1": (
        "decimal(4,2)",
        "decimal(12,2)",
        _decimals("-99.99", "99.99", "0.01"),
        _decimals("42949672.97", "-42949672.95"),
    ),
    "d2": (
        "decimal(4,2)",
        "decimal(30,2)",
        _decimals("-99.99", "99.99", "0.01"),
        _decimals("42949672.97", "184467440737095516.17"),
    ),
    "d3": (
        "decimal(12,2)",
        "decimal(30,2)",
        _decimals("-9999999999.99", "9999999999.99", "0.01"),
        _decimals("184467440737095516.17", "-184467440737095516.15"),
    ),
    "d4": (
        "decimal(20,2)",
        "decimal(38,2)",
        _decimals("-999999999999999999.99", "999999999999999999.99", "0.01"),
        _decimals("123456789012345678901234567890123456.78", "-340282366920938463463374607431768211.45"),
    ),
}  # fmt: skip
LAYOUTS = {
    "packed": "PARTITIONED BY (p INT)",
    "one file a partition": "PARTITIONED BY (p INT) TBLPROPERTIES ('rewriter.packed' = 'false')",
    "not partitioned": "",
}
_ARROW = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
}


def _arrow(type_: str) -> pa.DataType:
    if type_ in _ARROW:
        return _ARROW[type_]
    precision, scale = type_[len("decimal(") : -1].split(",")
    return pa.decimal128(int(precision), int(scale))


def _source(session: Session, folder: Path, name: str, new: bool, partitioned: bool) -> None:
    """Makes a table with one row for each value, and one of NULLs."""
    lists = {column: [*entry[2 + new], None] for column, entry in COLUMNS.items()}
    rows = max(map(len, lists.values()))
    arrays = {"n": pa.array([number + 10 * new for number in range(rows)], pa.int32())}
    for column, values in lists.items():
        arrays[column] = pa.array(
            [values[number % len(values)] for number in range(rows)], _arrow(COLUMNS[column][new])
        )
    if partitioned:
        arrays["p"] = arrays["n"]
    parquet(folder / name / "a.parquet", pa.table(arrays))
    _create(session, name, f"STORED AS PARQUET LOCATION '{folder / name}'", new, ", p INT" if partitioned else "")


def _create(session: Session, name: str, clause: str, wide: bool, more: str = "") -> None:
    columns = ", ".join(f"{column} {entry[wide]}" for column, entry in COLUMNS.items())
    session.execute(f"CREATE TABLE {name} (n INT, {columns}{more}) {clause}")


def _literal(value: object, type_: str) -> str:
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return f"CAST('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}' AS DOUBLE)"
        return f"{value!r}D"
    return f"CAST({value} AS {type_})"


def _conditions() -> list[str]:
    tests = []
    for column, (_, new_type, old_values, new_values) in COLUMNS.items():
        old, new = ([_literal(value, new_type) for value in values] for values in (old_values, new_values))
        tests += [f"{column} = {old[1]}", f"{column} = {new[0]}", f"{column} > {new[0]}", f"{column} < {new[1]}"]
    return tests


def _content(session: Session, name: str) -> list[object]:
    everything = session.execute(f"SELECT * FROM {name} ORDER BY n")
    aggregates = ", ".join(f"MIN({c}), MAX({c}), COUNT({c}), COUNT(DISTINCT {c})" for c in COLUMNS)
    types = [(column.name, column.type) for column in everything.columns or ()]
    return [types, repr(everything.fetch()), repr(session.execute(f"SELECT {aggregates} FROM {name}").fetch())]


def _kept(session: Session, name: str, tests: list[str]) -> dict[str, object]:
    """Returns the rows that each condition keeps. A reader gets each condition alone."""
    kept: dict[str, object] = {}
    for start in range(0, len(tests), 60):
        batch = tests[start : start + 60]
        union = " UNION ALL ".join(
            f"SELECT {number} AS test, n FROM {name} WHERE {test}" for number, test in enumerate(batch)
        )
        rows = session.execute(f"SELECT test, n FROM ({union}) ORDER BY test, n").fetch()
        for number, test in enumerate(batch):
            kept[test] = [n for found, n in rows if found == number]
    return kept


@pytest.mark.share(4)
@pytest.mark.spark
@pytest.mark.parametrize(
    ("layout", "writer"),
    [
        ("packed", "duckdb"),
        ("packed", "spark"),
        ("one file a partition", "duckdb"),
        ("not partitioned", "spark"),
    ],
)
def test_old_files_are_read_with_the_wider_type(
    duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path, layout: str, writer: str
) -> None:
    engines: dict[str, Engine] = {"duckdb": duckdb, "spark": spark}
    partitioned = bool(LAYOUTS[layout])
    with Session(tmp_path / "warehouse", engines[writer]) as session:
        _source(session, tmp_path, "old", False, partitioned)
        _source(session, tmp_path, "new", True, partitioned)
        _create(session, "t", LAYOUTS[layout], False)
        _create(session, "fresh", LAYOUTS[layout], True)
        for name in ("t", "fresh"):
            session.execute(f"INSERT INTO {name} SELECT * FROM old")
        for column, (_, new_type, *_) in COLUMNS.items():
            session.execute(f"ALTER TABLE t CHANGE COLUMN {column} {column} {new_type}")
        for name in ("t", "fresh"):
            session.execute(f"INSERT INTO {name} SELECT * FROM new")
    tests = _conditions()
    with Session(tmp_path / "warehouse", duckdb) as session:
        content, kept = _content(session, "fresh"), _kept(session, "fresh", tests)
    for engine in (duckdb, spark):
        with Session(tmp_path / "warehouse", engine) as session:
            assert _content(session, "t") == content, engine.name
            rows_read = _kept(session, "t", tests)
            assert {test: (rows_read[test], kept[test]) for test in tests if rows_read[test] != kept[test]} == {}, (
                engine.name
            )


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", duckdb) as opened:
        yield opened


def test_what_else_stays_as_it_is(session: Session) -> None:
    session.execute("CREATE TABLE t (a INT COMMENT 'first', b FLOAT) PARTITIONED BY (p INT)")
    session.execute("INSERT INTO t VALUES (1, 0.5F, 1)")
    session.execute("ALTER TABLE t ALTER COLUMN A TYPE BIGINT")
    session.execute("ALTER TABLE t CHANGE b b DOUBLE COMMENT 'second'")
    session.execute("ALTER TABLE t CHANGE p p INT")
    described = [row[:3] for row in session.execute("DESCRIBE t").fetch()]
    assert described[:2] == [("a", "bigint", "first"), ("b", "double", "second")]
    session.execute("ALTER TABLE t COMPACT")
    assert session.execute("SELECT a, b FROM t").fetch() == [(1, 0.5)]


@pytest.mark.parametrize(
    ("type_", "wider"),
    [
        ("bigint", "double"),
        ("bigint", "int"),
        ("double", "float"),
        ("date", "timestamp"),
        ("decimal(4,2)", "decimal(6,3)"),
        ("decimal(4,2)", "decimal(3,2)"),
        ("int", "decimal(10,0)"),
        ("int", "string"),
        ("array<int>", "array<bigint>"),
        ("varchar(3)", "varchar(4)"),
    ],
)
def test_other_types_are_refused(session: Session, type_: str, wider: str) -> None:
    session.execute(f"CREATE TABLE t (n INT, a {type_})")
    with pytest.raises(Error, match="existing files are not rewritten"):
        session.execute(f"ALTER TABLE t CHANGE a a {wider}")


def test_partition_columns_and_text_files_keep_their_types(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (p INT)")
    with pytest.raises(Error, match="names of the partitions"):
        session.execute("ALTER TABLE t CHANGE p p BIGINT")
    session.execute(f"CREATE EXTERNAL TABLE c (n FLOAT) STORED AS CSV LOCATION '{tmp_path / 'c'}'")
    with pytest.raises(Error, match="format csv"):
        session.execute("ALTER TABLE c CHANGE n n DOUBLE")


def test_columns_that_a_fact_reads_keep_their_types(session: Session) -> None:
    for statement in (
        "CREATE TABLE t (n INT, other INT) PARTITIONED BY (ds STRING)",
        "CREATE CUBE c (n INT MEASURE SUM, at TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY at AS (ds = 'yyyy-MM-dd'))",
    ):
        session.execute(statement)
    session.execute("ALTER TABLE t CHANGE other other BIGINT")
    with pytest.raises(Error) as error:
        session.execute("ALTER TABLE t CHANGE N n BIGINT")
    assert error.value.condition == "COLUMN_IN_USE"


def test_a_fact_is_not_created_over_a_type_that_has_changed(session: Session) -> None:
    for statement in (
        "CREATE TABLE t (n INT) PARTITIONED BY (ds STRING)",
        "CREATE CUBE c (n INT MEASURE SUM, at TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY at AS (ds = 'yyyy-MM-dd'))",
    ):
        session.execute(statement)
    catalog = session.catalog
    fact = catalog.snapshot().fact("f")
    session.execute("DROP FACT f")
    old = catalog.snapshot()
    session.execute("ALTER TABLE t CHANGE n n BIGINT")
    with catalog.begin(old) as transaction, pytest.raises(ConflictError):
        transaction.commit([CreateObject(replace(fact, id=transaction.allocate_id()))])


def test_a_write_that_began_before_conflicts(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT)")
    catalog = session.catalog
    old = catalog.snapshot()
    session.execute("ALTER TABLE t CHANGE n n BIGINT")
    with catalog.begin(old) as transaction:
        write_id = transaction.write_id(old.table("t"))
        write = WritePartitions(old.table("t"), write_id, (PartitionWrite(()),), overwrite=True)
        with pytest.raises(ConflictError):
            transaction.commit([write])
