"""The other engine, plain Spark and Arrow read equal values from the ORC and JSON files that an engine writes."""

from __future__ import annotations

import datetime as dt
import glob
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pytest

from rewriter.errors import DataError, NotSupportedError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session
from tests.contract.conftest import columns, scan_file

FORMATS = ("orc", "json")
COLUMNS = (
    "id INT, b BOOLEAN, i1 TINYINT, i2 SMALLINT, i8 BIGINT, f FLOAT, d DOUBLE, s STRING, v VARCHAR(20), c CHAR(3), "
    "n DECIMAL(38,6), p DECIMAL(5,2), day DATE, at TIMESTAMP"
)
SCHEMA = COLUMNS.replace("VARCHAR(20)", "STRING").replace("CHAR(3)", "STRING")
TEXTS = ("a\"b'c", "x\ny\r\nz", "t\tq,;\\", "", "\\N", "\x01\x02\x1b\x7f", "ä€😀\u2028", " sp ", "null", "NULL", "{}")
DOUBLES = (
    "'NaN'",
    "'Infinity'",
    "'-Infinity'",
    "'-0.0'",
    "'0'",
    "'1.7976931348623157e308'",
    "'4.9e-324'",
    "'0.1'",
    "'1'",
)
TIMES = ("1970-01-01 00:00:00", "2013-07-01 12:00:00.123456", "1969-12-31 23:59:59", "2013-07-01 12:00:00.5")
#: Further times that only some of the formats hold.
EXTREME = {
    "orc": (("1582-10-15", "1677-09-22 00:00:00"), ("9999-12-31", "2262-04-11 00:00:00")),
    "json": (("0001-01-01", "0001-01-01 00:00:00"), ("9999-12-31", "9999-12-31 23:59:59.999999")),
}


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def rows_of(format: str) -> list[str]:
    times = [(at[:10], at) for at in TIMES] + list(EXTREME[format])
    rows = [f"({', '.join(['99'] + ['NULL'] * 13)})"]
    for number in range(len(TEXTS)):
        day, at = times[number % len(times)]
        double = DOUBLES[number % len(DOUBLES)]
        sign = "-" if number % 2 else ""
        rows.append(
            f"({number}, {'true' if number % 2 else 'false'}, CAST({(-128, 127)[number % 2]} AS TINYINT), "
            f"CAST({(-32768, 32767)[number % 2]} AS SMALLINT), "
            f"CAST('{(-(2**63), 2**63 - 1)[number % 2]}' AS BIGINT), CAST({double} AS FLOAT), "
            f"CAST({double} AS DOUBLE), "
            f"{literal(TEXTS[number])}, {literal(TEXTS[number])}, 'ab', "
            f"CAST('{sign}99999999999999999999999999999999.123456' AS DECIMAL(38,6)), "
            f"CAST('{sign}{number}.05' AS DECIMAL(5,2)), CAST('{day}' AS DATE), CAST('{at}' AS TIMESTAMP))"
        )
    return rows


def comparable(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns rows in which values that are the same, bit by bit, are equal."""
    return sorted((tuple(map(_comparable, row)) for row in rows), key=lambda row: (str(row[0]), repr(row)))


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (math.copysign(1, value), value)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, Decimal):
        return str(value)
    return value


def engine_named(request: pytest.FixtureRequest, name: str) -> Engine:
    engine: Engine = request.getfixturevalue(name)
    return engine


@pytest.mark.share(2)
@pytest.mark.spark
@pytest.mark.parametrize("format", FORMATS)
def test_every_reader_finds_the_values_that_either_engine_wrote(
    format: str, duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path
) -> None:
    expected = None
    for engine in (duckdb, spark):
        with Session(tmp_path / "warehouse", engine) as session:
            values = ", ".join(rows_of(format))
            for table, stored_as in (("source", "parquet"), (f"by_{engine.name}", format)):
                session.execute(f"CREATE TABLE {table}_{engine.name} ({COLUMNS}) STORED AS {stored_as}")
            session.execute(f"INSERT INTO source_{engine.name} VALUES {values}")
            session.execute(f"INSERT INTO by_{engine.name}_{engine.name} SELECT * FROM source_{engine.name}")
            source = comparable(session.execute(f"SELECT * FROM source_{engine.name}").fetch())
            expected = expected or source
            assert source == expected
    plain = spark._running_spark().session
    for writer in (duckdb, spark):
        table = f"by_{writer.name}_{writer.name}"
        for reader in (duckdb, spark):
            with Session(tmp_path / "warehouse", reader) as session:
                assert comparable(session.execute(f"SELECT * FROM {table}").fetch()) == expected, (writer, reader)
        paths = glob.glob(f"{tmp_path}/warehouse/**/*.{format}", recursive=True)
        own_paths = [path for path in paths if table in path]
        assert own_paths
        frame = plain.read.schema(SCHEMA).format(format).load(own_paths)
        at = [str(row.text) for row in frame.selectExpr("id", "CAST(at AS STRING) AS text").orderBy("id").collect()]
        items = "* EXCEPT (at)"
        assert comparable([tuple(row) for row in frame.selectExpr(items).collect()]) == [row[:-1] for row in expected]
        with Session(tmp_path / "warehouse", spark) as session:
            texts = session.execute(f"SELECT CAST(at AS STRING) FROM source_{writer.name} ORDER BY id").fetch()
        assert at == [str(text) for (text,) in texts]
        if format == "orc":
            table_of_arrow = pa.concat_tables(pyarrow.orc.ORCFile(path).read() for path in own_paths)
            stored = table_of_arrow.set_column(13, "at", table_of_arrow["at"].cast(pa.timestamp("us", tz="UTC")))
            assert comparable(list(zip(*(c.to_pylist() for c in stored.columns), strict=True))) == expected


@pytest.mark.share(4)
@pytest.mark.spark
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("form", ["(f DOUBLE, g FLOAT, k STRING)", "(f DOUBLE, g FLOAT) PARTITIONED BY (k STRING)"])
def test_conditions_on_nan_are_those_of_spark(
    format: str, form: str, duckdb: Engine, spark: Engine, tmp_path: Path
) -> None:
    from tests.contract.test_nan_in_files import check

    for writer in (duckdb, spark):
        with Session(tmp_path / "warehouse", writer) as session:
            session.execute(f"CREATE TABLE by_{writer.name} {form.replace(')', ') STORED AS ' + format, 1)}")
            rows = "(-1.0D, -1F, 'a'), (0.0D, 0F, 'a'), (CAST('NaN' AS DOUBLE), CAST('NaN' AS DOUBLE), 'a')"
            session.execute(f"INSERT INTO by_{writer.name} VALUES {rows}")
    for reader in (duckdb, spark):
        with Session(tmp_path / "warehouse", reader) as session:
            for writer in (duckdb, spark):
                check(session, f"by_{writer.name}")


@pytest.mark.share(2, "spark")
@pytest.mark.parametrize("format", FORMATS)
def test_tables_are_made_of_queries_and_overwritten_by_partition(format: str, engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, engine) as session:
        query = "SELECT id, day FROM VALUES (1, 'a/b=c'), (2, 'x'), (3, NULL) AS v(id, day)"
        session.execute(f"CREATE TABLE t USING {format} PARTITIONED BY (day) AS {query}")
        session.execute("INSERT OVERWRITE t PARTITION (day = 'x') SELECT 4")
        session.execute("ALTER TABLE t ADD COLUMNS (more STRING)")
        session.execute("INSERT INTO t VALUES (5, 'new', 'x')")
        session.execute("ALTER TABLE t PARTITION (day = 'a/b=c') RENAME TO PARTITION (day = 'moved')")
        rows = session.execute("SELECT id, more, day FROM t ORDER BY id").fetch()
        assert rows == [(1, None, "moved"), (3, None, None), (4, None, "x"), (5, "new", "x")]
        assert session.execute("SELECT count(*) FROM t WHERE day = 'x' AND id > 4").fetch() == [(1,)]
        session.execute("ALTER TABLE t COMPACT")
        assert session.execute("SELECT id, more, day FROM t ORDER BY id").fetch() == rows
        session.execute("INSERT OVERWRITE t SELECT * FROM t WHERE id > 9")
        assert session.execute("SELECT count(*) FROM t").fetch() == [(4,)]


@pytest.mark.parametrize("format", FORMATS)
def test_files_without_rows_are_read(format: str, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    if format == "orc":
        pyarrow.orc.write_table(pa.table({"a": pa.array([], pa.int32())}), tmp_path / "files" / "a.orc")
    else:
        (tmp_path / "files" / "a.json").write_bytes(b"")
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute(f"CREATE TABLE t (a INT, b STRING) STORED AS {format} LOCATION '{tmp_path / 'files'}'")
        assert session.execute("SELECT * FROM t").fetch() == []
        session.execute("INSERT INTO t VALUES (1, 'x')")
        assert session.execute("SELECT * FROM t").fetch() == [(1, "x")]
        session.execute("INSERT OVERWRITE t VALUES (2, 'y')")
        assert session.execute("SELECT * FROM t").fetch() == [(2, "y")]


@pytest.mark.parametrize("time", ["DATE '1582-10-14'", "TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMP '2263-01-01'"])
def test_orc_refuses_times_that_readers_disagree_on(time: str, engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, engine) as session:
        session.execute(f"CREATE TABLE t (v {time.split()[0]}) STORED AS ORC")
        session.execute(f"INSERT INTO t VALUES ({time.split()[0]} '2013-01-01')")
        with pytest.raises(DataError) as caught:
            session.execute(f"INSERT OVERWRITE t VALUES ({time})")
        assert caught.value.condition == "TIME_OUTSIDE_ORC"
        assert session.execute("SELECT count(*) FROM t").fetch() == [(1,)]


NESTED = (
    "id INT, a ARRAY<DATE>, m MAP<STRING,DOUBLE>, "
    "r STRUCT<x:INT,Ty:TIMESTAMP,d:DECIMAL(38,2),n:ARRAY<STRUCT<f:FLOAT>>>, b BINARY"
)
NESTED_ROWS = (
    "SELECT 1, array(DATE '2013-01-01', NULL), map('k\"', 1D, 'n', CAST('NaN' AS DOUBLE), '', NULL), "
    "named_struct('X', 1, 'tY', TIMESTAMP '2013-07-01 12:00:00.123456', "
    "'d', 123456789012345678901234567890123456.78BD, 'N', "
    "array(named_struct('F', -0.0F), NULL, named_struct('F', CAST(NULL AS FLOAT)))), unhex('00FF')",
    "SELECT 2, NULL, NULL, NULL, NULL",
    "SELECT 3, array(), map(), named_struct('x', CAST(NULL AS INT), 'ty', CAST(NULL AS TIMESTAMP), 'd', "
    "CAST(NULL AS DECIMAL(38,2)), 'n', CAST(NULL AS ARRAY<STRUCT<f:FLOAT>>)), unhex('')",
)


@pytest.mark.share(2)
@pytest.mark.spark
@pytest.mark.parametrize("format", FORMATS)
def test_nested_values_are_read_as_they_were_written(format: str, spark: SparkEngine, tmp_path: Path) -> None:
    query = "SELECT id, a, CAST(m AS STRING), r, CAST(r AS STRING) AS text, hex(b) FROM {} ORDER BY id"
    with Session(tmp_path, spark) as session:
        for table, stored_as in (("p", "parquet"), ("t", format)):
            session.execute(f"CREATE TABLE {table} ({NESTED}) STORED AS {stored_as}")
            session.execute(f"INSERT INTO {table} {' UNION ALL '.join(NESTED_ROWS)}")
        session.execute(f"CREATE TABLE c STORED AS {format} AS SELECT * FROM p")
        expected = session.execute(query.format("p")).fetch()
        assert session.execute(query.format("t")).fetch() == expected
        assert session.execute(query.format("c")).fetch() == expected
    plain = spark._running_spark().session
    paths = glob.glob(f"{tmp_path}/t-*/**/*.{format}", recursive=True)
    plain.read.schema(NESTED).format(format).load(paths).createOrReplaceTempView("plain_reader")
    rows = plain.sql(query.format("plain_reader")).toArrow().to_pylist()
    assert [tuple(row.values()) for row in rows] == expected


@pytest.mark.spark
def test_nested_values_that_a_format_does_not_hold_are_refused(spark: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, spark) as session:
        session.execute("CREATE TABLE o (r ARRAY<STRUCT<t:TIMESTAMP>>) STORED AS ORC")
        with pytest.raises(DataError) as caught:
            session.execute("INSERT INTO o SELECT array(named_struct('t', TIMESTAMP '1960-01-01 00:00:00.5'))")
        assert caught.value.condition == "TIME_OUTSIDE_ORC"
        session.execute("CREATE TABLE j (m ARRAY<MAP<INT,STRING>>) STORED AS JSON")
        with pytest.raises(NotSupportedError, match="as JSON"):
            session.execute("INSERT INTO j SELECT array(map(1, 'a'))")


@pytest.mark.share(4)
@pytest.mark.spark
@pytest.mark.parametrize("format", FORMATS)
def test_conditions_on_either_zero_keep_the_rows_of_both(format: str, engine: Engine, tmp_path: Path) -> None:
    from tests.contract.test_zeros_in_files import check

    with Session(tmp_path, engine) as session:
        session.execute(f"CREATE TABLE t (d DOUBLE, e DOUBLE, f FLOAT, g FLOAT) STORED AS {format}")
        row = "(0.0D, -0.0D, 0.0F, -0.0F)"
        session.execute(f"INSERT INTO t VALUES {row}, {row}")
        check(session, "t", ("d", "e", "f", "g"), 2)


@pytest.mark.parametrize(
    ("data", "declared", "reason"),
    [
        (pa.table({"a": pa.array([0], pa.timestamp("us"))}), "a timestamp", "clock"),
        (pa.table({"a": pa.array([-200_000], pa.date32())}), "a date", "1422-06-03"),
        (pa.table({"a": pa.array([-500_000], pa.timestamp("us", "UTC"))}), "a timestamp", "1969-12-31 23:59:59.5"),
        (pa.table({"_col0": [1]}), "a bigint", "_col0"),
        (pa.table({"a": [1], "A": [2]}), "a bigint", "case"),
    ],
)
def test_duckdb_refuses_orc_files_of_others_that_it_might_read_wrongly(
    data: pa.Table, declared: str, reason: str, duckdb: DuckDBEngine, tmp_path: Path
) -> None:
    path = str(tmp_path / "a.orc")
    pyarrow.orc.write_table(data, path)
    relation = Relation("t", "orc", columns(declared), (), (scan_file(path),))
    with pytest.raises(NotSupportedError, match=reason):
        duckdb.execute(EngineQuery("SELECT * FROM t", (relation,)))
