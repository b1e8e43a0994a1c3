"""Nested values in files: both engines and plain Spark read and write them alike."""

from __future__ import annotations

import datetime as dt
import glob
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rewriter.errors import DataError, Error, NotSupportedError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine
from rewriter.exec.spark.engine import _OF_FILES, SparkEngine
from rewriter.session import Session
from tests.contract.test_written_formats import comparable

COLUMNS = (
    "id INT, a ARRAY<STRING>, m MAP<STRING,DECIMAL(38,18)>, "
    "r STRUCT<i:INT,Big:BIGINT,t:TINYINT,h:SMALLINT,b:BOOLEAN,f:FLOAT,d:DOUBLE,day:DATE,at:TIMESTAMP,"
    "n:ARRAY<MAP<STRING,STRUCT<x:INT,Yz:ARRAY<DECIMAL(5,2)>>>>>, k ARRAY<ARRAY<TIMESTAMP>>, y ARRAY<BINARY>, "
    "s STRING, e DOUBLE, p DECIMAL(10,2), w TIMESTAMP"
)
_TEXTS = ("", "null", "a\"b'c", "x\ny\r\nz", "\t\\,", "ä€😀\u2028", "{}", "[1]", "\x01\x7f", " sp ", "1.50", "k")
_DOUBLES = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.5, 5e-324, 1.7976931348623157e308, 0.1, -3.25)
_FLOATS = (float("nan"), float("inf"), -float("inf"), -0.0, 1.5, -3.25, 1.401298464324817e-45, 3.4028234663852886e38)


class RandomValues:
    """Random values of the columns, with the times of a format: days, and microseconds, since 1970."""

    def __init__(self, seed: int, days: tuple[int, int], micros: tuple[int, int], unit: int) -> None:
        self._random = random.Random(seed)
        self._days, self._micros, self._unit = days, micros, unit

    def rows(self, count: int) -> list[tuple[Any, ...]]:
        return [(number, *self._row()) for number in range(count)]

    def _row(self) -> tuple[Any, ...]:
        r = self._random
        return (
            self._list(self._text),
            self._map(lambda: self._decimal(38, 18)),
            self._or_null(self._struct),
            self._list(lambda: self._list(self._timestamp)),
            self._list(lambda: bytes(r.randrange(256) for _ in range(r.randrange(5)))),
            self._or_null(self._text),
            self._or_null(lambda: r.choice(_DOUBLES)),
            self._or_null(lambda: self._decimal(10, 2)),
            self._or_null(self._timestamp),
        )

    def _struct(self) -> tuple[Any, ...]:
        r = self._random
        integers = [
            self._or_null(lambda bits=bits: r.choice((-(2**bits), 2**bits - 1, r.randrange(-99, 99))))  # type: ignore[misc]
            for bits in (31, 63, 7, 15)
        ]
        return (
            *integers,
            self._or_null(lambda: r.random() < 0.5),
            self._or_null(lambda: r.choice(_FLOATS)),
            self._or_null(lambda: r.choice(_DOUBLES)),
            self._or_null(
                lambda: dt.date(1970, 1, 1) + dt.timedelta(days=r.choice((*self._days, r.randrange(20_000))))
            ),
            self._or_null(self._timestamp),
            self._list(lambda: self._map(lambda: (None, self._list(lambda: self._decimal(5, 2))))),
        )

    def _or_null(self, make: Any) -> Any:
        return None if self._random.random() < 0.15 else make()

    def _list(self, make: Any) -> Any:
        return self._or_null(lambda: [self._or_null(make) for _ in range(self._random.randrange(4))])

    def _map(self, make: Any) -> Any:
        keys = self._random.sample(_TEXTS, self._random.randrange(4))
        return self._or_null(lambda: {key: self._or_null(make) for key in keys})

    def _text(self) -> str:
        return self._random.choice(_TEXTS)

    def _decimal(self, precision: int, scale: int) -> Decimal:
        digits = self._random.choice((precision, self._random.randrange(1, precision + 1)))
        unscaled = self._random.randrange(10**digits) * self._random.choice((1, -1))
        return Decimal(unscaled).scaleb(-scale) if unscaled else Decimal(0)

    def _date(self) -> dt.date:
        days = self._random.choice((*self._days, self._random.randrange(20_000)))
        return dt.date(1970, 1, 1) + dt.timedelta(days=days)

    def _timestamp(self) -> dt.datetime:
        micros = self._random.choice((*self._micros, 0, self._random.randrange(2_000_000_000_000_000)))
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros // self._unit * self._unit)


def shown(rows: list[tuple[Any, ...]]) -> list[str]:
    """Returns rows as texts that tell all values apart."""
    return sorted(map(repr, comparable(rows)))


#: The limits of times that a format holds: of days, and of microseconds.
LIMITS = {
    "json": ((-719_162, 2_932_896), (-62_135_596_800_000_000, 253_402_300_799_999_999)),
    "orc": ((-141_427, 2_932_896), (-9_223_286_400_000_000, 9_223_286_400_000_000)),
}


def plain_frame(spark: SparkEngine, rows: list[tuple[Any, ...]]) -> Any:
    from pyspark.sql.types import _parse_datatype_string

    return spark._running_spark().session.createDataFrame(rows, _parse_datatype_string(COLUMNS))  # type: ignore[arg-type]


def plain_rows(spark: SparkEngine, format: str, paths: list[str]) -> list[tuple[Any, ...]]:
    """Returns what Spark's own reader finds, as the Spark engine returns it."""
    session = spark._running_spark().session
    frame = session.read.schema(COLUMNS).format(format).load(paths)
    return [tuple(row.values()) for row in frame.toArrow().to_pylist()]


@pytest.mark.spark
def test_json_of_spark_is_read_alike(duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path) -> None:
    rows = RandomValues(1, *LIMITS["json"], 1).rows(300)
    with Session(tmp_path / "warehouse", spark) as session:
        session.execute(f"CREATE TABLE j ({COLUMNS}) USING json LOCATION '{tmp_path}/files'")
        plain_frame(spark, rows).write.json(f"{tmp_path}/files")
        expected = session.execute("SELECT * FROM j").fetch()
    assert len(expected) == len(rows)
    with Session(tmp_path / "warehouse", duckdb) as session:
        assert shown(session.execute("SELECT * FROM j").fetch()) == shown(expected)
        assert shown(session.execute("SELECT id, r.`day`, r.n, s FROM j WHERE r.i > 0").fetch()) == shown(
            [(row[0], row[3]["day"], row[3]["n"], row[6]) for row in expected if row[3] and (row[3]["i"] or 0) > 0]
        )


@pytest.mark.spark
@pytest.mark.parametrize("format", ["json", "orc"])
def test_every_reader_finds_the_nested_values_that_either_engine_wrote(
    format: str, duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path
) -> None:
    unit = 1_000_000 if format == "orc" else 1
    frame = plain_frame(spark, RandomValues(2, *LIMITS[format], unit).rows(300))
    with Session(tmp_path / "warehouse", spark) as session:
        session.execute(f"CREATE TABLE p ({COLUMNS}) USING parquet LOCATION '{tmp_path}/files'")
        frame.write.parquet(f"{tmp_path}/files")
        expected = shown(session.execute("SELECT * FROM p").fetch())
    contents = []
    for writer in (duckdb, spark):
        with Session(tmp_path / "warehouse", writer) as session:
            session.execute(f"CREATE TABLE by_{writer.name} ({COLUMNS}) STORED AS {format}")
            session.execute(f"INSERT INTO by_{writer.name} SELECT * FROM p")
        for reader in (duckdb, spark):
            with Session(tmp_path / "warehouse", reader) as session:
                assert shown(session.execute(f"SELECT * FROM by_{writer.name}").fetch()) == expected, (writer, reader)
        paths = glob.glob(f"{tmp_path}/warehouse/**/by_{writer.name}*/**/*.{format}", recursive=True)
        assert shown(plain_rows(spark, format, paths)) == expected
        if format == "json":
            contents.append(sorted(line for path in paths for line in Path(path).read_text().split("\n")))
    assert format != "json" or contents[0] == contents[1]


#: A line, what queries of its columns ``a ARRAY<INT>, r STRUCT<x:INT,D:DECIMAL(3,1),s:STRING>, y BINARY, s STRING``
#: return; ``None`` where it cannot be read.
LINES = [
    ('{"a": [1, null], "r": {"x": 2, "D": 1.25, "d": 9, "s": 1.50}, "y": "AP8=", "s": {"k": 1.50} }',
     ([1, None], {"x": 2, "D": Decimal("1.3"), "s": "1.50"}, b"\x00\xff", '{"k": 1.50}')),
    ('{"s": 1.50, "y": ""}', (None, None, b"", "1.50")),
    ('{"s": -0 , "r": {"s": true}}', (None, {"x": None, "D": None, "s": "true"}, None, "-0")),
    ('{"s": [1, "x" ] }', (None, None, None, '[1, "x" ]')),
    ('{"s": 1E5}', (None, None, None, "1E5")),
    ('{"s": true, "a":[]}', ([], None, None, "true")),
    ('{"r": {"D": 0.04999999999999999999999}, "a": null}',
     (None, {"x": None, "D": Decimal("0.0"), "s": None}, None, None)),
    ('{"r": {"D": "12.34"}, "A": [1], "a": [2], "a": [3]}',
     ([3], {"x": None, "D": Decimal("12.3"), "s": None}, None, None)),
    ("{}", (None, None, None, None)),
    ('{"a": [1, "x"]}', None),
    ('{"a": "[1]"}', None),
    ('{"a": {}}', None),
    ('{"a": [1.0]}', None),
    ('{"r": {"x": 2147483648}}', None),
    ('{"r": {"x": ""}}', None),
    ('{"r": {"D": 123.4}}', None),
    ('{"r": []}', None),
    ('{"y": 1}', None),
    ('{"a": [1}', None),
    ('{"a": [1,]}', None),
    ("[1]", None),
    ("7", None),
]  # fmt: skip


CONDITIONS = (
    "CANNOT_PARSE_JSON_FIELD",
    "EMPTY_JSON_FIELD_VALUE",
    "FAILED_READ_FILE",
    "FAILED_READ_FILE.NO_HINT",  # Behind Spark Connect.
    "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
    *_OF_FILES,
)


@pytest.mark.spark
def test_lines_of_json_are_read_or_refused_by_both_engines(
    duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path
) -> None:
    others: list[tuple[str, str, object]] = []
    for engine in (duckdb, spark):
        with Session(tmp_path / "warehouse", engine) as session:
            for number, (line, expected) in enumerate(LINES):
                folder = tmp_path / f"files-{engine.name}-{number}"
                folder.mkdir()
                (folder / "a.json").write_text(f"{line}\n\n")
                session.execute(
                    f"CREATE TABLE t{number}_{engine.name} (a ARRAY<INT>, r STRUCT<x:INT,D:DECIMAL(3,1),s:STRING>, "
                    f"y BINARY, s STRING) USING json LOCATION '{folder}'"
                )
                query = f"SELECT * FROM t{number}_{engine.name}"
                if expected is not None:
                    assert session.execute(query).fetch() == [expected], (engine.name, line)
                    continue
                try:
                    others.append((engine.name, line, session.execute(query).fetch()))
                    continue
                except Error as error:
                    condition = error.condition
                if condition not in CONDITIONS:
                    others.append((engine.name, line, condition))
    assert not others


def test_duckdb_names_the_value_that_does_not_fit(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.json").write_text('{"id": 1, "a": []}\n{"id": 2, "a": "none"}\n')
    with Session(tmp_path / "warehouse", duckdb) as session:
        session.execute(f"CREATE TABLE t (id INT, a ARRAY<INT>) USING json LOCATION '{tmp_path}/files'")
        with pytest.raises(DataError, match=r"column a in a JSON file is no ARRAY<INT>") as caught:
            session.execute("SELECT a FROM t").fetch()
    assert (caught.value.condition, caught.value.sqlstate) == ("CANNOT_PARSE_JSON_FIELD", "2203G")


def test_maps_of_other_keys_are_refused_in_json(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.json").write_text('{"id": 1, "a": [], "m": {"1": 2}}\n')
    with Session(tmp_path / "warehouse", duckdb) as session:
        session.execute(f"CREATE TABLE t (id INT, a ARRAY<INT>, m MAP<INT,INT>) USING json LOCATION '{tmp_path}/files'")
        assert session.execute("SELECT id, a FROM t").fetch() == [(1, [])]
        with pytest.raises(NotSupportedError, match="m"):
            session.execute("SELECT m FROM t").fetch()


@pytest.mark.spark
def test_texts_and_decimals_keep_the_digits_of_numbers_in_json(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    lines = '{"n": 0.123456789012345678, "s": 1.50}\n{"n": 1E-18, "s": {"k": 1.0 }}\n'
    (tmp_path / "files" / "a.json").write_text(lines)
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute(f"CREATE TABLE t (n DECIMAL(38,18), s STRING) USING json LOCATION '{tmp_path}/files'")
        assert session.execute("SELECT n, s FROM t ORDER BY n DESC").fetch() == [
            (Decimal("0.123456789012345678"), "1.50"),
            (Decimal("0.000000000000000001"), '{"k": 1.0 }'),
        ]


def _orc(path: Path, type_: Any, values: list[Any]) -> None:
    import pyarrow as pa
    import pyarrow.orc

    path.mkdir()
    numbers = pa.array(range(len(values)), pa.int32())
    pyarrow.orc.write_table(pa.table({"id": numbers, "r": pa.array(values, type_)}), path / "a.orc")


def _types_in_orc() -> dict[str, tuple[str, Any, list[Any], bool]]:
    """By name: the declared type, that of the file, its values, and whether DuckDB refuses them."""
    import pyarrow as pa

    integer, long, text, instant = pa.int32(), pa.int64(), pa.string(), pa.timestamp("ns", tz="UTC")
    pair, names = pa.struct([("x", integer), ("y", text)]), pa.struct([("X", integer), ("x", integer)])
    at = dt.datetime(2024, 5, 1, 12, 30, 1, 123456, tzinfo=dt.UTC)
    return {
        "nulls": ("STRUCT<x:INT,y:STRING>", pair, [{"x": 1, "y": "a"}, None, {"x": None, "y": None}], False),
        "fewer": ("STRUCT<x:INT,y:STRING>", pa.struct([("x", integer)]), [{"x": 1}, None], False),
        "more": ("STRUCT<x:INT>", pair, [{"x": 1, "y": "a"}], False),
        "order": ("STRUCT<y:STRING,x:INT>", pair, [{"x": 1, "y": "a"}], False),
        "letters": ("STRUCT<X:INT,Y:STRING>", pair, [{"x": 1, "y": "a"}], False),
        "two_names": ("STRUCT<x:INT>", names, [{"X": 1, "x": 2}], True),
        "renamed": ("STRUCT<z:INT>", pair, [{"x": 1, "y": "a"}], True),
        "wider": ("ARRAY<BIGINT>", pa.list_(integer), [[1, None], [], None], False),
        "narrower": ("ARRAY<INT>", pa.list_(long), [[1, None]], False),
        "too_narrow": ("ARRAY<INT>", pa.list_(long), [[2**40]], True),
        "in_a_map": ("MAP<STRING,STRUCT<y:STRING,x:INT>>", pa.map_(text, pair), [[("k", {"x": 1, "y": "a"})]], False),
        "key": ("MAP<BIGINT,INT>", pa.map_(integer, integer), [[(1, 2)]], False),
        "two_keys": ("MAP<STRING,INT>", pa.map_(text, integer), [[("a", 1), ("a", 2)]], True),
        "structs": ("ARRAY<STRUCT<x:INT,y:STRING>>", pa.list_(pair), [[None, {"x": 3, "y": None}], None], False),
        "instants": ("MAP<INT,ARRAY<TIMESTAMP>>", pa.map_(integer, pa.list_(instant)), [[(1, [at, None])]], False),
        "seconds": ("ARRAY<TIMESTAMP>", pa.list_(instant), [[dt.datetime(1960, 1, 1, 0, 0, 1, tzinfo=dt.UTC)]], False),
        "parts": ("ARRAY<TIMESTAMP>", pa.list_(instant), [[dt.datetime(1960, 1, 1, 0, 0, 0, 1, dt.UTC)]], True),
        "clocks": ("ARRAY<TIMESTAMP>", pa.list_(pa.timestamp("ns")), [[at.replace(tzinfo=None)]], True),
        "days": ("ARRAY<DATE>", pa.list_(pa.date32()), [[dt.date(1600, 1, 1), None]], False),
        "julian": ("ARRAY<DATE>", pa.list_(pa.date32()), [[dt.date(1500, 1, 1)]], True),
        "scale": ("ARRAY<DECIMAL(12,4)>", pa.list_(pa.decimal128(10, 2)), [[Decimal("1.50")]], False),
        "digits": ("ARRAY<DECIMAL(10,1)>", pa.list_(pa.decimal128(10, 2)), [[Decimal("1.25")]], True),
        "kind": ("MAP<STRING,INT>", pa.struct([("a", integer)]), [{"a": 1}], True),
        "text": ("ARRAY<INT>", pa.list_(text), [["12"]], True),
    }


@pytest.mark.spark
@pytest.mark.parametrize("name", _types_in_orc())
def test_orc_of_another_type_is_read_as_by_spark_or_refused(
    name: str, duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path
) -> None:
    declared, stored, values, is_refused = _types_in_orc()[name]
    _orc(tmp_path / "files", stored, values)
    with Session(tmp_path / "warehouse", duckdb) as session:
        session.execute(f"CREATE TABLE t (id INT, r {declared}) STORED AS ORC LOCATION '{tmp_path}/files'")
        if is_refused:
            with pytest.raises(Error):
                session.execute("SELECT r FROM t").fetch()
            return
        rows = session.execute("SELECT id, r FROM t").fetch()
        by_path = session.execute(f"SELECT id, r FROM orc.`{tmp_path}/files`").fetch()
    with Session(tmp_path / "warehouse", spark) as session:
        assert shown(rows) == shown(session.execute("SELECT id, r FROM t").fetch())
        assert shown(by_path) == shown(session.execute(f"SELECT id, r FROM orc.`{tmp_path}/files`").fetch())


@pytest.mark.spark
def test_events_in_orc_have_nested_columns(engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        for statement in (
            "CREATE CUBE visits (site STRING, visits BIGINT MEASURE COUNT, at TIMESTAMP TIME)",
            "CREATE TABLE events (at TIMESTAMP, site STRING, tags ARRAY<STRING>, by STRUCT<name:STRING,at:TIMESTAMP>) "
            "PARTITIONED BY (d STRING) STORED AS ORC",
            "CREATE TABLE days (site STRING, visits BIGINT) PARTITIONED BY (d STRING) STORED AS ORC",
            "CREATE FACT f OF CUBE visits STORED IN (TABLE events PERIOD DAILY PARTITIONED BY at AS (d) RAW, "
            "TABLE days PERIOD DAILY PARTITIONED BY at AS (d))",
            "INSERT INTO events VALUES (TIMESTAMP '2024-05-01 10:00:00', 'a', array('x', NULL), "
            "named_struct('name', 'Ann', 'at', TIMESTAMP '2024-05-01 09:59:59.000001'), '2024-05-01'), "
            "(TIMESTAMP '2024-05-01 11:00:00', 'a', NULL, NULL, '2024-05-01')",
            "REFRESH FACT f",
        ):
            session.execute(statement)
        query = "SELECT site, SUM(visits) FROM visits WHERE at >= '2024-05-01' AND at < '2024-05-02' GROUP BY site"
        assert session.execute(query).fetch() == [("a", 2)]
        rows = session.execute("SELECT tags, `by`.name, `by`.at FROM events WHERE d = '2024-05-01' ORDER BY at").fetch()
        at = dt.datetime(2024, 5, 1, 9, 59, 59, 1, tzinfo=dt.UTC)
        assert comparable(rows) == comparable([(["x", None], "Ann", at), (None, None, None)])


@pytest.mark.spark
@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        ("{time}", "TIMESTAMP_NTZ"),
        ("array({time})", "TIMESTAMP_NTZ"),
        ("map('k', {time})", "TIMESTAMP_NTZ"),
        ("named_struct('n', 1, 'x', array({time}))", "TIMESTAMP_NTZ"),
        ("INTERVAL 3 MONTH", "INTERVAL MONTH"),
        ("map(INTERVAL 2 DAY, 1)", "INTERVAL DAY"),
        ("named_struct('a', array(1L), 'b', map('k', 1Y), 'c', array(DATE '2024-05-01'), 'd', array(1.50BD))", None),
    ],
)
def test_types_that_spark_stores_in_orc_as_numbers_are_not_read_as_numbers(
    value: str, type_name: str | None, duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path
) -> None:
    text = value.format(time="TIMESTAMP_NTZ '2024-05-01 12:00:00'")
    plain = spark._running_spark().session.sql(f"SELECT 1 AS id, {text} AS v")
    plain.write.orc(f"{tmp_path}/files")
    for engine in (duckdb, spark):
        with Session(tmp_path / "warehouse", engine) as session:
            query = f"SELECT id, v FROM orc.`{tmp_path}/files`"
            table = f"CREATE TABLE t_{engine.name} USING orc LOCATION '{tmp_path}/files'"
            if type_name is None:
                expected = shown([tuple(row.values()) for row in plain.toArrow().to_pylist()])
                assert shown(session.execute(query).fetch()) == expected
                continue
            for statement in (query, table):
                with pytest.raises(Error, match=f"column v: its type {type_name} is not supported") as caught:
                    session.execute(statement)
                assert caught.value.condition == "FAILED_READ_FILE"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        ("INTERVAL 3 DAY", "INTERVAL DAY"),
        ("array(INTERVAL 2 MONTH)", "INTERVAL MONTH"),
        ("map('k', named_struct('x', INTERVAL '1 02:03' DAY TO MINUTE))", "INTERVAL DAY TO MINUTE"),
        ("parse_json('1')", "VARIANT"),
        ("named_struct('interval', array(1L), 'variant', 2)", None),
    ],
)
def test_types_that_spark_stores_in_parquet_as_others_are_not_read_as_these(
    value: str, type_name: str | None, duckdb: DuckDBEngine, spark: SparkEngine, tmp_path: Path
) -> None:
    plain = spark._running_spark().session.sql(f"SELECT 1 AS id, {value} AS v")
    plain.write.parquet(f"{tmp_path}/files")
    for engine in (duckdb, spark):
        with Session(tmp_path / "warehouse", engine) as session:
            query = f"SELECT id, v FROM parquet.`{tmp_path}/files`"
            table = f"CREATE TABLE t_{engine.name} USING parquet LOCATION '{tmp_path}/files'"
            if type_name is None:
                assert len(session.execute(query).fetch()) == 1
                continue
            for statement in (query, table):
                with pytest.raises(Error, match=f"column v: its type {type_name} is not supported") as caught:
                    session.execute(statement)
                assert "CREATE TABLE t (…)" in str(caught.value.hint)
            session.execute(f"CREATE TABLE IF NOT EXISTS u (id INT) USING parquet LOCATION '{tmp_path}/files'")
            assert session.execute("SELECT id FROM u").fetch() == [(1,)]
