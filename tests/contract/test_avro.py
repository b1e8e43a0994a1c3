"""Avro files: written and read on both engines, written by other programs, and damaged."""

from __future__ import annotations

import datetime as dt
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

from rewriter.errors import AnalysisError, EngineError, InterfaceError, NotSupportedError
from rewriter.exec import data_files
from rewriter.exec.engine import Engine
from rewriter.session import Session

COLUMNS = (
    "id INT, b BOOLEAN, i1 TINYINT, i2 SMALLINT, i8 BIGINT, f FLOAT, d DOUBLE, s STRING, v VARCHAR(20), c CHAR(3), "
    "n DECIMAL(38,6), p DECIMAL(5,2), day DATE, at TIMESTAMP"
)
ROWS = (
    "(1, true, -128Y, -32768S, -9223372036854775808L, CAST('NaN' AS FLOAT), -0.0D, 'ä\\n\\'', 'v', 'ab', "
    "CAST('-99999999999999999999999999999999.123456' AS DECIMAL(38,6)), 1.05BD, DATE '0001-01-01', "
    "TIMESTAMP '0001-01-01 00:00:00')",
    "(2, false, 127Y, 32767S, 9223372036854775807L, CAST('0.1' AS FLOAT), 1e308D, '', '', 'abc', "
    "CAST('0.000001' AS DECIMAL(38,6)), -0.01BD, DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59.999999')",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
)
HIVE = "org.apache.hadoop.hive.ql.io.avro"


def same(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(map(_comparable, row)) for row in rows)


def _comparable(value: Any) -> str:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{math.copysign(1, value)} {value!r}"
    return repr(bytes(value) if isinstance(value, bytearray) else value)


def check_values(writer: Engine, readers: tuple[Engine, ...], warehouse: Path) -> None:
    """Checks that the readers find the values that an engine writes, those of Parquet, and fastavro the same."""
    with Session(warehouse, writer) as session:
        session.execute(f"CREATE TABLE kept ({COLUMNS})")
        session.execute(f"CREATE TABLE t ({COLUMNS}) STORED AS AVRO")
        session.execute(f"INSERT INTO kept VALUES {', '.join(ROWS)}")
        session.execute("INSERT INTO t SELECT * FROM kept")
        expected = same(session.execute("SELECT * FROM kept").fetch())
    for reader in readers:
        with Session(warehouse, reader) as session:
            assert same(session.execute("SELECT * FROM t").fetch()) == expected
            assert session.execute("SELECT count(*), max(at), min(p) FROM t WHERE id < 3").fetch() == [
                (2, dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC), Decimal("-0.01"))
            ]
            assert session.execute("SELECT id FROM t WHERE day = DATE '0001-01-01'").fetch() == [(1,)]
    paths = list(warehouse.rglob("*.avro"))
    rows = []
    for path in paths:
        with path.open("rb") as file:
            rows += list(fastavro.reader(file))
    first, second, _ = sorted(rows, key=lambda row: row["id"])
    assert (first["n"], first["day"]) == (Decimal("-99999999999999999999999999999999.123456"), dt.date(1, 1, 1))
    assert second["at"] == dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC)
    assert (second["i8"], second["s"]) == (2**63 - 1, "")


def test_values_written_and_read_on_duckdb(duckdb: Engine, tmp_path: Path) -> None:
    check_values(duckdb, (duckdb,), tmp_path)


@pytest.mark.spark
def test_values_written_on_spark_are_read_on_both(spark: Engine, duckdb: Engine, tmp_path: Path) -> None:
    check_values(spark, (spark, duckdb), tmp_path)


@pytest.mark.spark
def test_values_written_on_duckdb_are_read_on_spark(spark: Engine, duckdb: Engine, tmp_path: Path) -> None:
    check_values(duckdb, (spark,), tmp_path)


@pytest.mark.parametrize(
    "clause",
    [
        "STORED AS AVRO",
        "USING avro",
        f"STORED AS INPUTFORMAT '{HIVE}.AvroContainerInputFormat' OUTPUTFORMAT '{HIVE}.AvroContainerOutputFormat'",
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.avro.AvroSerDe' STORED AS INPUTFORMAT "
        f"'{HIVE}.AvroContainerInputFormat' OUTPUTFORMAT '{HIVE}.AvroContainerOutputFormat'",
    ],
)
def test_every_way_to_name_the_format(clause: str, duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        session.execute(f"CREATE TABLE t (a INT, s STRING) PARTITIONED BY (dt STRING) {clause}")
        session.execute("INSERT INTO t VALUES (1, 'x', '2024-01-01'), (2, NULL, '2024-01-02'), (3, 'z', NULL)")
        session.execute("INSERT INTO t PARTITION (dt = '2024-01-03') SELECT 4, 'w'")
        session.execute("INSERT OVERWRITE t PARTITION (dt = '2024-01-01') SELECT a + 10, s FROM t WHERE a = 1")
        assert sorted(session.execute("SELECT a, dt FROM t WHERE dt IS NOT NULL").fetch()) == [
            (2, "2024-01-02"), (4, "2024-01-03"), (11, "2024-01-01"),
        ]  # fmt: skip
        assert session.execute("SELECT a FROM t WHERE dt IS NULL").fetch() == [(3,)]
        session.execute("ALTER TABLE t SET SERDE 'org.apache.hadoop.hive.serde2.avro.AvroSerDe'")
        described = {row[0]: row[1] for row in session.execute("DESCRIBE EXTENDED t").fetch()}
        assert described["InputFormat"] == f"{HIVE}.AvroContainerInputFormat"
        assert "STORED AS avro" in str(session.execute("SHOW CREATE TABLE t AS SERDE").fetch())
        session.execute("ALTER TABLE t COMPACT 'major'")
        assert session.execute("SELECT sum(a) FROM t").fetch() == [(20,)]


@pytest.mark.spark
def test_binary_values_on_spark(spark: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, spark) as session:
        session.execute("CREATE TABLE t (x BINARY, n INT) STORED AS AVRO")
        session.execute("INSERT INTO t VALUES (X'00FF', 1), (X'', 2), (NULL, 3)")
        rows = session.execute("SELECT x FROM t ORDER BY n").fetch()
        assert [None if x is None else bytes(x) for (x,) in rows] == [b"\x00\xff", b"", None]


@pytest.mark.spark
def test_partitions_on_spark(spark: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, spark) as session:
        session.execute("CREATE TABLE t (a INT, s STRING) PARTITIONED BY (dt STRING) STORED AS AVRO")
        session.execute("INSERT INTO t VALUES (1, 'x', '2024-01-01'), (2, NULL, '2024-01-02'), (3, 'z', NULL)")
        assert sorted(session.execute("SELECT a, s FROM t WHERE dt >= '2024'").fetch()) == [(1, "x"), (2, None)]
        assert session.execute("SELECT count(*) FROM t").fetch() == [(3,)]


def written(path: Path, fields: list[dict[str, Any]], rows: list[dict[str, Any]], codec: str = "null") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows, codec=codec)
    return path


OTHERS = [
    {"name": "Id", "type": "int"},
    {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
    {"name": "x", "type": {"type": "fixed", "name": "x", "size": 2}},
    {"name": "ms", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
    {"name": "n", "type": {"type": "fixed", "name": "n", "size": 8, "logicalType": "decimal", "precision": 9,
                           "scale": 2}},
    {"name": "u", "type": ["null", "int", "long"]},
    {"name": "w", "type": ["float", "double"]},
]  # fmt: skip
AT = dt.datetime(2024, 2, 29, 12, 0, 0, 123000, dt.UTC)
OTHER_ROWS = [
    {"Id": 1, "e": "A", "x": b"ab", "ms": AT, "n": Decimal("1.25"), "u": 1, "w": 0.5},
    {"Id": 2, "e": "B", "x": b"cd", "ms": None, "n": Decimal("-1.25"), "u": 2**40, "w": 2.0},
]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "xz", "zstandard"])
def test_files_of_other_programs(codec: str, duckdb: Engine, tmp_path: Path) -> None:
    path = written(tmp_path / "in" / "a.avro", OTHERS, OTHER_ROWS, codec)
    with Session(tmp_path / "w", duckdb) as session:
        result = session.execute(f"SELECT Id, e, ms, n, u, w FROM avro.`{path}` ORDER BY Id")
        assert result.fetch() == [
            (1, "A", AT, Decimal("1.25"), 1, 0.5),
            (2, "B", None, Decimal("-1.25"), 2**40, 2.0),
        ]
    assert [(column.name, column.type) for column in duckdb.file_columns("avro", str(path))] == [
        ("Id", "int"), ("e", "string"), ("x", "binary"), ("ms", "timestamp"), ("n", "decimal(9,2)"),
        ("u", "bigint"), ("w", "double"),
    ]  # fmt: skip


def test_an_external_table_over_files_of_several_schemas(duckdb: Engine, tmp_path: Path) -> None:
    place = tmp_path / "in"
    written(place / "dt=2024-01-01" / "a.avro", [{"name": "A", "type": "int"}], [{"A": 1}])
    written(
        place / "dt=2024-01-02" / "b.avro",
        [{"name": "s", "type": ["null", "string"]}, {"name": "a", "type": "long"}],
        [{"s": "x", "a": 2**40}],
    )
    with Session(tmp_path / "w", duckdb) as session:
        session.execute(
            f"CREATE EXTERNAL TABLE t (a BIGINT, s STRING) PARTITIONED BY (dt STRING) STORED AS AVRO LOCATION '{place}'"
        )
        session.execute("MSCK REPAIR TABLE t")
        assert sorted(session.execute("SELECT * FROM t").fetch()) == [
            (1, None, "2024-01-01"), (2**40, "x", "2024-01-02"),
        ]  # fmt: skip
        session.execute("INSERT OVERWRITE t PARTITION (dt = '2024-01-01') SELECT 7, 'y'")
        assert session.execute("SELECT a FROM t WHERE dt = '2024-01-01'").fetch() == [(7,)]
        session.execute("ALTER TABLE t ADD COLUMNS (z DATE)")
        assert session.execute("SELECT count(z), count(*) FROM t").fetch() == [(0, 2)]
        written(tmp_path / "big" / "b.avro", [{"name": "a", "type": "long"}], [{"a": 2**40}])
        session.execute(f"CREATE EXTERNAL TABLE narrow (a INT) STORED AS AVRO LOCATION '{tmp_path / 'big'}'")
        with pytest.raises(EngineError, match="cannot be read"):
            session.execute("SELECT * FROM narrow").fetch()


def test_loaded_files_are_checked_and_counted(duckdb: Engine, tmp_path: Path) -> None:
    good = written(tmp_path / "good.avro", [{"name": "a", "type": ["null", "int"]}], [{"a": n} for n in range(30_000)])
    other = written(tmp_path / "other.avro", [{"name": "a", "type": "string"}], [{"a": "x"}])
    with Session(tmp_path / "w", duckdb) as session:
        session.execute("CREATE TABLE t (a INT) STORED AS AVRO")
        assert session.execute(f"LOAD DATA LOCAL INPATH '{good}' INTO TABLE t").rowcount == 30_000
        assert session.execute("SELECT count(*), sum(a) FROM t").fetch() == [(30_000, 449_985_000)]
        with pytest.raises(AnalysisError, match="does not have the columns"):
            session.execute(f"LOAD DATA LOCAL INPATH '{other}' INTO TABLE t")


def damaged(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 2
    return {
        "empty": b"",
        "of another format": b"PAR1" + content[4:],
        "without an end": content[:middle],
        "with another byte": content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :],
        "without a mark behind a block": content[:-16] + bytes(16),
    }


@pytest.mark.parametrize("kind", list(damaged(bytes(100))))
def test_a_damaged_file_is_named(kind: str, duckdb: Engine, tmp_path: Path) -> None:
    fields = [{"name": "a", "type": "int"}, {"name": "s", "type": "string"}]
    rows = [{"a": n, "s": "x" * (n % 50)} for n in range(20_000)]
    written(tmp_path / "in" / "a.avro", fields, rows, "deflate")
    path = written(tmp_path / "in" / "b.avro", fields, rows, "deflate")
    path.write_bytes(damaged(path.read_bytes())[kind])
    with Session(tmp_path / "w", duckdb) as session:
        session.execute(f"CREATE EXTERNAL TABLE t (a INT, s STRING) STORED AS AVRO LOCATION '{tmp_path / 'in'}'")
        with pytest.raises(EngineError) as caught:
            session.execute("SELECT sum(a) FROM t").fetch()
    assert (caught.value.condition, caught.value.object) == ("FAILED_READ_FILE", str(path))


@pytest.mark.spark
def test_a_damaged_file_is_named_on_spark(spark: Engine, tmp_path: Path) -> None:
    path = written(tmp_path / "in" / "b.avro", [{"name": "a", "type": "int"}], [{"a": n} for n in range(9)])
    path.write_bytes(path.read_bytes()[:-20])
    with Session(tmp_path / "w", spark) as session:
        session.execute(f"CREATE EXTERNAL TABLE t (a INT) STORED AS AVRO LOCATION '{tmp_path / 'in'}'")
        with pytest.raises(EngineError, match=r"b\.avro") as caught:
            session.execute("SELECT sum(a) FROM t").fetch()
    assert caught.value.condition == "FAILED_READ_FILE"


def test_what_avro_files_cannot_hold_is_refused(duckdb: Engine, tmp_path: Path) -> None:
    nested = written(
        tmp_path / "n.avro", [{"name": "a", "type": {"type": "array", "items": "int"}}], [{"a": [1]}]
    )  # fmt: skip
    with Session(tmp_path / "w", duckdb) as session:
        for column in ("m MAP<STRING, INT>", "a ARRAY<INT>", "`a b` INT", "é INT"):
            with pytest.raises(NotSupportedError, match="cannot be in an Avro file"):
                session.execute(f"CREATE TABLE t ({column}) STORED AS AVRO")
        with pytest.raises(EngineError, match="column a: its type array"):
            session.execute(f"SELECT * FROM avro.`{nested}`")


def test_rows_are_put_into_directories_and_moved_to_other_formats(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "w", duckdb) as session:
        session.execute("CREATE TABLE c STORED AS AVRO AS SELECT DATE '2024-02-29' AS d, 1.5D AS f")
        session.execute("CREATE TABLE p AS SELECT * FROM c")
        assert session.execute("SELECT * FROM p").fetch() == [(dt.date(2024, 2, 29), 1.5)]
        session.execute("CREATE TABLE none STORED AS AVRO AS SELECT * FROM c WHERE false")
        assert session.execute("SELECT * FROM none").fetch() == []
        session.execute(f"INSERT OVERWRITE LOCAL DIRECTORY '{tmp_path / 'out'}' STORED AS AVRO SELECT 1 AS a, 'x' AS s")
        assert session.execute(f"SELECT * FROM avro.`{tmp_path / 'out'}`").fetch() == [(1, "x")]


def test_without_the_package_the_hint_names_the_extra(
    duckdb: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.avro", [{"name": "a", "type": "int"}], [{"a": 1}])
    monkeypatch.setattr(data_files, "find_spec", lambda name: None)
    with Session(tmp_path / "w", duckdb) as session:
        session.execute("CREATE TABLE t (a INT) STORED AS AVRO")
        for statement in (f"SELECT * FROM avro.`{path}`", "INSERT INTO t VALUES (1)"):
            with pytest.raises(InterfaceError, match="fastavro") as caught:
                session.execute(statement).fetch()
            assert caught.value.condition == "FORMAT_LIBRARY_NOT_FOUND"
            assert "pip install 'rewriter[avro]'" in str(caught.value.hint)


def test_the_package_is_imported_with_the_first_file() -> None:
    program = "import sys, rewriter.session, rewriter.exec.duckdb.engine; sys.exit('fastavro' in sys.modules)"
    subprocess.run((sys.executable, "-c", program), check=True)
