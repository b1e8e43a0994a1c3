"""External tables are plain directories: they read the files of other programs, and other programs read their files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb as plain_duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.errors import DataError, Error
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Values that paths escape, or that some program takes for another value.
TEXTS = (
    "US", "é x", "中", "a/b:c", "100%", "%C3%A9", "%41", "x=y", "a+b", "it's", 'q"u', "back\\slash", "tab\tx", "007",
    "1.50", "2015-01-01", "null", "NULL", "nan", "..", " padded ", "{b}[c]^", "a#b?c*d", "~tilde", "&;,",
    "__HIVE_DEFAULT", "_x", ".y",
)  # fmt: skip


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def create(session: Session, folder: Path, *properties: str) -> None:
    clause = f" TBLPROPERTIES ({', '.join(properties)})" if properties else ""
    session.execute(f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (s STRING, n INT) LOCATION '{folder}'{clause}")


def sql_text(text: str | None) -> str:
    if text is None:
        return "CAST(NULL AS STRING)"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t") + "'"


def insert_all(session: Session) -> list[tuple[object, ...]]:
    """Inserts a row for every text and for NULL. Half of them have no number. Returns the rows."""
    written = [(i, text, None if i % 2 else i) for i, text in enumerate((*TEXTS, None))]
    values = (f"({a}, {sql_text(s)}, {'CAST(NULL AS INT)' if n is None else n})" for a, s, n in written)
    session.execute(f"INSERT INTO e VALUES {', '.join(values)}")
    return list(written)


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_directory_is_named_by_a_path_or_a_uri(session: Session, tmp_path: Path, scheme: str) -> None:
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{scheme}{tmp_path}/e'")
    session.execute("INSERT INTO e VALUES (1)")
    assert session.execute(f"SELECT x FROM parquet.`{scheme}{tmp_path}/e`").fetch() == [(1,)]


def test_plain_duckdb_and_spark_read_what_is_written(session: Session, spark: SparkEngine, tmp_path: Path) -> None:
    folder = tmp_path / "outside"
    create(session, folder)
    written = insert_all(session)
    assert rows(session, "SELECT * FROM e ORDER BY a") == written
    selected = plain_duckdb.sql(
        f"SELECT a, s, n FROM read_parquet('{folder}/*/*/*.parquet', hive_partitioning=true, "
        "hive_types_autocast=false, hive_types={'s': VARCHAR, 'n': INTEGER}) ORDER BY a"
    ).fetchall()
    assert selected == written
    assert plain_spark_rows(spark, folder) == written


def plain_spark_rows(spark: SparkEngine, folder: Path) -> list[tuple[object, ...]]:
    frame = plain_spark(spark).read.schema("a INT, s STRING, n INT").parquet(str(folder))
    return [tuple(row) for row in frame.orderBy("a").collect()]


def plain_spark(spark: SparkEngine) -> SparkSession:
    from pyspark.sql import SparkSession

    spark.columns(EngineQuery("SELECT 1 AS started"))  # Otherwise the session would lack the engine's settings.
    return SparkSession.builder.getOrCreate()


def test_what_plain_duckdb_wrote_is_read(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "outside"
    texts: list[str | None] = [*TEXTS, "", None]
    table = pa.table({"a": pa.array(range(len(texts)), pa.int32()), "s": texts, "n": [7] * len(texts)})
    with plain_duckdb.connect() as connection:
        connection.register("written", table)
        connection.execute(f"COPY (FROM written) TO '{folder}' (FORMAT parquet, PARTITION_BY (s, n))")
    create(session, folder)
    answer = session.execute("MSCK REPAIR TABLE e").fetch()
    # An empty text and NULL are one partition. Plain DuckDB makes two directories of them.
    assert sorted((str(row[0]), row[1]) for row in answer if row[1] != "added") == [
        ("s=__HIVE_DEFAULT_PARTITION__/n=7", "ambiguous"),
        ("s=__HIVE_DEFAULT_PARTITION__/n=7", "ambiguous"),
    ]
    assert rows(session, "SELECT a, s, n FROM e ORDER BY a") == [(i, text, 7) for i, text in enumerate(TEXTS)]
    (folder / "s=" / "n=7").rename(folder / "s=" / "n=8")
    assert [row[:2] for row in session.execute("MSCK REPAIR TABLE e").fetch()] == [
        ("s=__HIVE_DEFAULT_PARTITION__/n=7", "added"),
        ("s=__HIVE_DEFAULT_PARTITION__/n=8", "added"),
    ]
    assert rows(session, "SELECT a, s, n FROM e WHERE s IS NULL ORDER BY a") == [
        (len(TEXTS), None, 8),
        (len(TEXTS) + 1, None, 7),
    ]


def test_what_plain_spark_wrote_is_read(session: Session, spark: SparkEngine, tmp_path: Path) -> None:
    texts: list[str | None] = [*TEXTS, "", None]
    written = [(i, text, None if i % 2 else i) for i, text in enumerate(texts)]
    frame = plain_spark(spark).createDataFrame(written, "a INT, s STRING, n INT")
    frame.write.partitionBy("s", "n").parquet(str(tmp_path / "outside"))
    create(session, tmp_path / "outside")
    answer = session.execute("MSCK REPAIR TABLE e").fetch()
    assert {row[1] for row in answer} == {"added"}
    assert rows(session, "SELECT * FROM e ORDER BY a") == [(a, s or None, n) for a, s, n in written]


#: Partition columns of other types: type, and the values that plain programs write and read.
TYPES: dict[str, list[object]] = {
    "DATE": [date(2015, 1, 29), date(1969, 12, 31), None],
    "TIMESTAMP": [datetime(2015, 1, 29, 6, 30, 15, 120000), datetime(2015, 1, 29), None],
    "DECIMAL(10,2)": [Decimal("7.00"), Decimal("-0.50"), None],
    "BOOLEAN": [True, False, None],
    "DOUBLE": [1.0, -2.5, 1e20, None],
    "BIGINT": [-(2**40), 0, None],
}


@pytest.mark.share(3)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("writer", ["ours", "duckdb", "spark"])
def test_columns_of_other_types(session: Session, spark: SparkEngine, tmp_path: Path, type: str, writer: str) -> None:
    folder = tmp_path / "outside"
    plain = list(enumerate(TYPES[type]))
    naive = [(a, p.replace(tzinfo=UTC) if isinstance(p, datetime) else p) for a, p in plain]
    session.execute(f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (p {type}) LOCATION '{folder}'")
    if writer == "ours":
        texts = ("CAST(NULL AS STRING)" if p is None else f"'{p}'" for _, p in plain)
        session.execute(
            f"INSERT INTO e {' UNION ALL '.join(f'SELECT {a}, CAST({p} AS {type})' for a, p in enumerate(texts))}"
        )
    elif writer == "duckdb":
        with plain_duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE t (a INTEGER, p {type})")
            connection.executemany("INSERT INTO t VALUES (?, ?)", plain)
            connection.execute(f"COPY t TO '{folder}' (FORMAT parquet, PARTITION_BY (p))")
    else:
        plain_spark(spark).createDataFrame(plain, f"a INT, p {type}").write.partitionBy("p").parquet(str(folder))
    answer = rows(session, "MSCK REPAIR TABLE e")
    assert [row[1] for row in answer] == ([] if writer == "ours" else ["added"] * len(plain))
    assert rows(session, "SELECT * FROM e ORDER BY a") == naive
    if writer == "ours":
        source = f"read_parquet('{folder}/*/*.parquet', hive_partitioning=true, hive_types={{'p': '{type}'}})"
        assert plain_duckdb.sql(f"SELECT a, p FROM {source} ORDER BY a").fetchall() == plain
        frame = plain_spark(spark).read.schema(f"a INT, p {type}").parquet(str(folder))
        assert [tuple(row) for row in frame.orderBy("a").collect()] == plain


@pytest.mark.parametrize("partitions", ["registered", "discovered"])
def test_directories_that_are_values_alone(session: Session, tmp_path: Path, partitions: str) -> None:
    folder = tmp_path / "outside"
    create(session, folder, "'rewriter.directories' = 'values'", f"'rewriter.partitions' = '{partitions}'")
    written = insert_all(session)
    assert rows(session, "SELECT * FROM e ORDER BY a") == written
    assert (folder / "US" / "0").is_dir()
    assert not [path for path in folder.rglob("*") if "=" in path.name and path.is_dir()]
    # As files from other programs arrive: in a directory whose name spells the value differently.
    (folder / "2019-8-30" / "01").mkdir(parents=True)
    pq.write_table(pa.table({"a": pa.array([100], pa.int32())}), folder / "2019-8-30" / "01" / "data.parquet")
    if partitions == "registered":
        assert rows(session, "MSCK REPAIR TABLE e") == [
            ("s=2019-8-30/n=1", "added", str(folder / "2019-8-30" / "01"), None)
        ]
    assert rows(session, "SELECT * FROM e WHERE s = '2019-8-30'") == [(100, "2019-8-30", 1)]
    session.execute("INSERT INTO e PARTITION (s = '2019-8-30', n = 1) VALUES (101)")
    assert len(list((folder / "2019-8-30" / "01").glob("*.parquet"))) == 2
    session.execute("INSERT OVERWRITE e SELECT a + 1, s, n FROM e WHERE s = '2019-8-30'")
    assert rows(session, "SELECT a, n FROM e WHERE s = '2019-8-30' ORDER BY a") == [(101, 1), (102, 1)]
    assert rows(session, "SELECT count(*) FROM e") == [(len(written) + 2,)]


def test_partitions_of_seed_003(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "country_page_view" / "2019-8-30" / "china"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"user": ["u"], "cnt": pa.array([3], pa.int32())}), folder / "data.parquet")
    session.execute(
        "CREATE EXTERNAL TABLE country_page_view (user STRING, cnt INT) PARTITIONED BY (date STRING, country STRING) "
        f"LOCATION '{tmp_path}/country_page_view' TBLPROPERTIES ('rewriter.directories' = 'values')"
    )
    session.execute("ALTER TABLE country_page_view ADD PARTITION (date='2019-8-30', country='china')")
    assert rows(session, "SELECT * FROM country_page_view") == [("u", 3, "2019-8-30", "china")]


def test_partitions_with_and_without_a_location(session: Session, tmp_path: Path) -> None:
    folder, spaced = tmp_path / "outside", tmp_path / "other place"
    create(session, folder)
    for directory, a in [
        (folder / "s=x" / "n=1", 1),
        (folder / "elsewhere", 2),
        (spaced, 3),
        (folder / "S=y" / "N=01", 4),
    ]:
        directory.mkdir(parents=True)
        pq.write_table(pa.table({"a": pa.array([a], pa.int32())}), directory / "data.parquet")
    session.execute(
        f"ALTER TABLE e ADD PARTITION (s='x', n=1) PARTITION (s='x', n=2) LOCATION 'elsewhere' "
        f"PARTITION (s='x', n=3) LOCATION '{spaced}' PARTITION (s='y', n=1) LOCATION 'S=y/N=01'"
    )
    assert rows(session, "SELECT * FROM e ORDER BY a") == [(1, "x", 1), (2, "x", 2), (3, "x", 3), (4, "y", 1)]
    assert rows(session, "SELECT a FROM e WHERE n > 1 AND s = 'x' ORDER BY a") == [(2,), (3,)]


def test_discovered_partitions(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "outside"
    create(session, folder, "'rewriter.partitions' = 'discovered'")
    folder.mkdir(exist_ok=True)
    assert rows(session, "SELECT * FROM e") == []
    for level, a in [("s=x/n=1", 1), ("S=x/n=02", 2), ("s=%C3%A9/n=null", 3), ("s=/n=4", 4), ("s=z/n=5", 5)]:
        (folder / level).mkdir(parents=True)
        pq.write_table(pa.table({"a": pa.array([a], pa.int32())}), folder / level / "data.parquet")
    assert rows(session, "SELECT * FROM e ORDER BY a") == [
        (1, "x", 1), (2, "x", 2), (3, "é", None), (4, None, 4), (5, "z", 5),
    ]  # fmt: skip
    answer = session.execute("SELECT a FROM e WHERE n >= 2 AND s IS NOT NULL ORDER BY a")
    assert answer.fetch() == [(2,), (5,)]
    assert answer.stats.files == 2
    session.execute("INSERT INTO e VALUES (6, 'x', 2), (7, 'new', 1)")
    assert rows(session, "SELECT a FROM e WHERE s IN ('x', 'new') ORDER BY a") == [(1,), (2,), (6,), (7,)]
    assert len(list((folder / "S=x" / "n=02").iterdir())) == 2


def test_nested_columns_of_json_are_read(spark: SparkEngine, tmp_path: Path) -> None:
    folder = tmp_path / "delivered"
    folder.mkdir()
    line = '{"a": 1, "tags": ["x", "y,z", 7, null], "m": {"k": 2}, "s": {"b": "two", "day": "2024-01-31"}, "at": "%s"}'
    (folder / "one.json").write_text(f'{line % "2024-01-31 10:00:00"}\n{{"a": 2, "tags": [], "m": null}}\n')
    with Session(tmp_path / "warehouse", spark) as session:
        session.execute(
            "CREATE EXTERNAL TABLE j (a INT, tags ARRAY<STRING>, m MAP<STRING,BIGINT>, s STRUCT<day:DATE,b:STRING>, "
            f"at TIMESTAMP) PARTITIONED BY (p STRING) STORED AS JSON LOCATION '{tmp_path}/j'"
        )
        session.execute(f"ALTER TABLE j ADD PARTITION (p = 'x') LOCATION '{folder}'")
        assert rows(session, "SELECT a, get(tags, 1), m['k'], s.day, s.b, at, p FROM j ORDER BY a") == [
            (1, "y,z", 2, date(2024, 1, 31), "two", datetime(2024, 1, 31, 10, tzinfo=UTC), "x"),
            (2, None, None, None, None, None, "x"),
        ]
        exploded = rows(session, "SELECT a, tag FROM j LATERAL VIEW explode(tags) e AS tag ORDER BY tag NULLS LAST")
        assert exploded == [(1, "7"), (1, "x"), (1, "y,z"), (1, None)]
        (folder / "two.json").write_text('{"a": 3, "tags": "none"}\n')
        # Reading such a row as NULL would return a value that the file does not contain.
        with pytest.raises(Error, match="CANNOT_PARSE_JSON_FIELD"):
            rows(session, "SELECT tags FROM j WHERE p = 'x'")


#: Types, a text that fits, and one that does not fit.
MISFITS = [
    ("INT", "1", "x"),
    ("INT", "1", "99999999999"),
    ("TINYINT", "1", "300"),
    ("DATE", "2013-01-01", "2013-99-01"),
    ("TIMESTAMP", "2013-01-01 00:00:00", 'it\'s "noon"'),
    ("DECIMAL(3,1)", "1.5", "1234"),
]


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_value_that_does_not_fit_its_column_is_told_with_its_place(
    session: Session, tmp_path: Path, format: str
) -> None:
    for number, (type, fitting, misfit) in enumerate(MISFITS):
        folder = tmp_path / f"files-{number}"
        folder.mkdir()
        for name, values in (("good", [fitting]), ("bad", [fitting, misfit])):
            rows = [{"k": misfit, "v": value} for value in values]
            if format == "json":
                text = "".join(f"{json.dumps(row)}\n" for row in rows)
            else:
                quoted = ['"{}","{}"'.format(*(text.replace('"', '""') for text in row.values())) for row in rows]
                text = "\n".join(["K,V", *quoted, ""])
            (folder / f"{name}.{format}").write_text(text)
        session.execute(f"CREATE TABLE t{number} (k STRING, v {type}) USING {format} LOCATION '{folder}'")
        with pytest.raises(DataError) as caught:
            session.execute(f"SELECT v FROM t{number}").fetch()
        line = 3 if format == "csv" else 2
        position = f"It is in the column v in line {line} of the file {folder}/bad.{format}."
        assert position in caught.value.message
        assert caught.value.object == f"{folder}/bad.{format}"
        assert caught.value.sqlstate in ("22018", "22003")
    # An error of a cast in the query belongs to the query.
    with pytest.raises(DataError) as caught:
        session.execute("SELECT CAST(k AS INT) FROM t3").fetch()
    assert "in line" not in caught.value.message


def test_times_of_any_microsecond_are_compared(session: Session, tmp_path: Path) -> None:
    most = 2**63 - 1  # DuckDB's infinity.
    moments = [0, -1, 1_356_998_400_000_000, most, most - 1, -most, -most - 1, 253_402_300_799_999_999, None]
    (tmp_path / "times").mkdir()
    for number, batch in enumerate((moments, moments[3:4], moments[:3])):
        times = pa.array(batch, pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table({"t": times, "i": list(range(len(batch)))}), tmp_path / "times" / f"{number}.parquet")
    session.execute(f"CREATE EXTERNAL TABLE times (t TIMESTAMP, i BIGINT) LOCATION '{tmp_path / 'times'}'")
    for operator, compare in (("<", int.__lt__), (">=", int.__ge__), ("=", int.__eq__)):
        for bound, micros in (
            ("1970-01-01", 0),
            ("2013-01-01", moments[2]),
            ("9999-12-31 23:59:59.999999", moments[7]),
        ):
            rows = session.execute(f"SELECT i FROM times WHERE t {operator} TIMESTAMP '{bound}'").fetch()
            expected = sorted(
                (i,)
                for batch in (moments, moments[3:4], moments[:3])
                for i, moment in enumerate(batch)
                if moment is not None and micros is not None and compare(moment, micros)
            )
            assert sorted(rows) == expected, (operator, bound)
    assert session.execute("SELECT COUNT(t), COUNT(*) FROM times").fetch() == [(12, 13)]
