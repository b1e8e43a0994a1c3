"""CSV files with options: both engines read them as Spark does with these options, or raise an error with file and
line, and write the bytes that Spark writes.
"""

from __future__ import annotations

import bz2
import datetime
import gzip
import math
import random
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rewriter.errors import DataError, EngineError, Error, NotSupportedError, ParseError
from rewriter.exec.engine import Engine
from rewriter.exec.spark.engine import SparkEngine
from rewriter.grammar.unparse import options_text
from rewriter.session import Session
from tests.contract.random_csv import random_columns, random_file, random_options, random_text
from tests.rotation import share

#: Options and columns, a file, and its rows or the error behind its path.
READ: dict[str, tuple[str, str, bytes, list[tuple[Any, ...]] | str]] = {
    "header and separator": (
        "header 'true', sep ';'", "id INT, s STRING", b"id;S\n1;a,b\n\n2;\n", [(1, "a,b"), (2, None)],
    ),
    "no header": ("sep '\\t'", "id INT, s STRING", b"\xef\xbb\xbf1\ta\r\n2\t\"b\tc\"\r\n", [(1, "a"), (2, "b\tc")]),
    "escape": ("", "s STRING, t STRING", rb'"a\"b","\\c\d"' b"\n", [('a"b', "\\c\\d")]),
    "doubled quotes": ("escape '\"'", "s STRING, t STRING", b'"a""b",c"d\n', [('a"b', 'c"d')]),
    "nulls": ("nullValue 'NA'", "s STRING, t STRING", b'NA,""\n,"NA"\n', [(None, ""), (None, None)]),
    "lines in quotes": (
        "multiLine 'true'", "s STRING, i INT", b'"a\r\n\r\nb",1\r\n\r\nc,2\r\n', [("a\n\nb", 1), ("c", 2)],
    ),
    "comments": ("comment '#'", "s STRING, t STRING", b"#x\na,#b\n", [("a", "#b")]),
    "times": (
        "dateFormat 'dd/MM/yyyy', timestampFormat 'yyyyMMddHHmmss'", "d DATE, t TIMESTAMP",
        b"31/01/2020,20200131235959\n",
        [(datetime.date(2020, 1, 31), datetime.datetime(2020, 1, 31, 23, 59, 59, tzinfo=datetime.UTC))],
    ),
    "an encoding": ("encoding 'ISO-8859-1'", "s STRING, t STRING", b"\xe9,\xff\n", [("é", "ÿ")]),
    "names by position": (
        "header 'true', enforceSchema 'true'", "id INT, s STRING", b"x,y\n1,a\n", [(1, "a")],
    ),
    "few fields": ("", "s STRING, t STRING", b"a,b\nc\n", "line 2 has 1 field, not 2"),
    "many fields": ("header 'true'", "s STRING, t STRING", b"s,t\na,b\n\nc,d,e\n", "line 4 has 3 fields, not 2"),
    "very many fields": ("", "s STRING, t STRING", b"a" + b"," * 10**6 + b"\n", "line 1 has 1000001 fields"),
    "an open quote": ("", "s STRING, t STRING", b'a,b\nc,"d\n', "the quote in line 2 is not closed in its line"),
    "an open quote of lines": (
        "multiLine 'true'", "s STRING, t STRING", b'a,"b\n' + b'x\\"\n' * 1000, "the quote in line 1 is not closed",
    ),
    "text behind a quote": ("", "s STRING, t STRING", b'"a"b,c\n', "line 1 has characters behind a closing quote"),
    "blanks before a quote": ("", "s STRING, t STRING", b'a, "b,c"\n', "line 1 has blanks before a quote"),
    "a trimmed field of blanks": (
        "nullValue '-', ignoreTrailingWhiteSpace 'true'", "s STRING, t STRING", b"a,b\nc,\t\n",
        "line 2 has a field of blanks",
    ),
    "another header": ("header 'true'", "s STRING, t STRING", b"t,s\na,b\n", "its header in line 1 is t,s"),
    "no number": ("", "i INT, s STRING", b"1,a\n2x,b\n", "line 2 has '2x' in the column i"),
    "a blank number": ("", "i INT, s STRING", b" 1,a\n", "line 1 has ' 1' in the column i"),
    "no date": ("dateFormat 'dd/MM/yyyy'", "d DATE, s STRING", b"2020-01-31,a\n", "line 1 has '2020-01-31'"),
    "wrong bytes": ("", "s STRING, t STRING", b"a,b\n\xff,c\n", "line 2 is not in UTF-8"),
    "a mark of another encoding": (
        "encoding 'ISO-8859-1'", "s STRING, t STRING", b"\xef\xbb\xbfa,b\n", "it begins with the mark of UTF-8",
    ),
    "blanks in quotes": (
        "ignoreTrailingWhiteSpace 'true'", "s STRING, t STRING", b'a,b\n" ",c\n', "line 2 has blanks in quotes",
    ),
    "a zero in quotes": ("escape '\"'", "s STRING, t STRING", b'a,b\n"a\0b",c\n', "line 2 has a zero character"),
    "a zero in a quoted line": (
        "multiLine 'true'", "s STRING, t STRING", b'a,"b\n\0"\n', "line 2 has a zero character",
    ),
    "a carriage return at the end": (
        "multiLine 'true'", "s STRING, t STRING", b"a,b\rc,d\r", "line 2 ends with a carriage return",
    ),
    "mixed line ends": ("multiLine 'true'", "s STRING, t STRING", b"a,b\nc,d\r\n", "line 2 has another end"),
    "blanks only": ("sep '\\t'", "s STRING, t STRING", b"a\tb\n\t\n", "line 2 has blanks only"),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_files_are_read_by_their_options(case: str, engine: Engine, tmp_path: Path) -> None:
    options, columns, content, expected = READ[case]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file.csv").write_bytes(content)
    with Session(tmp_path / "w", engine) as session:
        clause = f"OPTIONS (path '{tmp_path}/in', mode 'FAILFAST'{', ' if options else ''}{options})"
        session.execute(f"CREATE TABLE t ({columns}) USING csv {clause}")
        if isinstance(expected, str):
            with pytest.raises(EngineError) as caught:
                session.execute("SELECT * FROM t").fetch()
            assert caught.value.condition == "FAILED_READ_FILE"
            assert f"The file {tmp_path}/in/file.csv cannot be read: {expected}" in caught.value.message
        else:
            assert session.execute("SELECT * FROM t").fetch() == expected


@pytest.mark.parametrize(("ending", "compress"), [(".csv.gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_read(ending: str, compress: Any, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    data = compress(b"id|s\n" + b"1|a\n" * 3000)
    (tmp_path / "in" / f"a{ending}").write_bytes(data)
    with Session(tmp_path / "w", engine) as session:
        forms = {
            "c": "USING csv OPTIONS (header true, sep '|')",
            "x": "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' TBLPROPERTIES ('skip.header.line.count' = '1')",
        }
        for name, form in forms.items():
            session.execute(f"CREATE TABLE {name} (id INT, s STRING) {form} LOCATION '{tmp_path}/in'")
            assert session.execute(f"SELECT count(*), sum(id), max(s) FROM {name}").fetch() == [(3000, 3000, "a")]
            (tmp_path / "in" / f"a{ending}").write_bytes(data[:-20])
            with pytest.raises(EngineError, match="its compressed data are damaged"):
                session.execute(f"SELECT * FROM {name}").fetch()
            (tmp_path / "in" / f"a{ending}").write_bytes(data)
            session.execute(f"DROP TABLE {name}")


def test_hives_class_of_csv(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = b'h\n"1","a\\"b\\c"\n\n2,\n"x""y",z,surplus\n"a\n'
    (tmp_path / "in" / "f").write_bytes(rows[:-3])
    form = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'"
    with Session(tmp_path / "w", engine) as session:
        session.execute(
            f"CREATE EXTERNAL TABLE o (a STRING, b STRING) {form} STORED AS TEXTFILE LOCATION '{tmp_path}/in' "
            "TBLPROPERTIES ('skip.header.line.count' = '1')"
        )
        expected = [("", None), ("1", 'a"bc'), ("2", ""), ('x"y', "z")]
        assert sorted(session.execute("SELECT * FROM o").fetch()) == expected
        (tmp_path / "in" / "f").write_bytes(rows)
        with pytest.raises(EngineError, match="the quote in line 6 is not closed"):
            session.execute("SELECT * FROM o").fetch()
        session.execute(f"CREATE TABLE m (a STRING, b STRING) {form} WITH SERDEPROPERTIES ('separatorChar' = ';')")
        session.execute("INSERT INTO m VALUES ('a;b', 'c\"d'), ('', ' ')")
        assert sorted(session.execute("SELECT * FROM m").fetch()) == [("", " "), ("a;b", 'c"d')]
        for text in ("NULL", "'\\\\'", "'\\n'"):
            with pytest.raises(DataError) as damage:
                session.execute(f"INSERT INTO m VALUES ('a', {text})")
            assert damage.value.condition == "VALUE_OUTSIDE_CSV"
        with pytest.raises(NotSupportedError, match="is INT, but Hive reads STRING"):
            session.execute(f"CREATE TABLE n (a INT) {form}")


def test_a_table_reads_what_it_writes_or_refuses_it(engine: Engine, tmp_path: Path) -> None:
    values = (
        "(1, 'a;\"b\\\\', TIMESTAMP '2020-01-02 03:04:05.000006', 1e10, 0.00000001BD), (NULL, '', NULL, NULL, NULL), "
        "(2, NULL, TIMESTAMP '0001-01-01 00:00:00', CAST('-0.0' AS DOUBLE), 0BD)"
    )
    with Session(tmp_path, engine) as session:
        session.execute(
            "CREATE TABLE t (i INT, s STRING, t TIMESTAMP, d DOUBLE, n DECIMAL(9, 8), p STRING) USING csv OPTIONS "
            "(header true, sep ';', nullValue '\\\\N', compression 'gzip') PARTITIONED BY (p)"
        )
        session.execute(f"INSERT INTO t PARTITION (p) SELECT *, 'x' FROM VALUES {values} AS v(i, s, t, d, n)")
        at = datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.UTC)
        rows = session.execute("SELECT i, s, t, d, n FROM t WHERE p = 'x' ORDER BY i").fetch()
        assert rows[:2] == [(None, "", None, None, None), (1, 'a;"b\\', at, 1e10, Decimal("1E-8"))]
        assert rows[2][1] is None
        assert math.copysign(1, rows[2][3]) == -1
        for text in ("' a'", "'\\\\N'", "'a\\nb'"):
            with pytest.raises(DataError) as caught:
                session.execute(f"INSERT INTO t PARTITION (p = 'y') VALUES (1, {text}, NULL, NULL, NULL)")
            assert caught.value.condition == "VALUE_OUTSIDE_CSV"
        assert session.execute("SELECT count(*) FROM t").fetch() == [(3,)]
        assert len(list(tmp_path.rglob("*.csv.gz"))) == 1


def test_files_are_loaded_by_the_options_of_the_table(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"id;s\n1;x\n"))
    (tmp_path / "b.csv").write_bytes(b"id;s\n2;y\n3\n")
    with Session(tmp_path / "w", engine) as session:
        session.execute("CREATE TABLE t (id INT, s STRING) USING csv OPTIONS (header true, sep ';')")
        session.execute(f"LOAD DATA INPATH '{tmp_path}/a.gz' INTO TABLE t")
        with pytest.raises(EngineError, match="line 3 has 1 field, not 2"):
            session.execute(f"LOAD DATA INPATH '{tmp_path}/b.csv' INTO TABLE t")
        assert session.execute("SELECT * FROM t").fetch() == [(1, "x")]


def test_files_with_options_in_a_query(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id;s\n1;x\n2;\n")
    call = f"read_files('{tmp_path}/a.csv', format => 'csv', header => true, sep => ';'"
    with Session(tmp_path / "w", engine) as session:
        session.execute("CREATE TABLE k (id INT, v STRING)")
        session.execute("INSERT INTO k VALUES (1, 'one')")
        assert session.execute(f"SELECT * FROM {call})").fetch() == [("1", "x"), ("2", None)]
        typed = f"{call}, schema => 'id INT, s STRING') AS f"
        assert session.execute(f"SELECT f.id + 1, k.v FROM {typed} JOIN k ON k.id = f.id").fetch() == [(2, "one")]
        bare = f"read_files('{tmp_path}/*.csv', format => 'csv', sep => ';')"
        assert session.execute(f"SELECT _c1 FROM {bare} WHERE _c0 = 'id'").fetch() == [("s",)]
        form = f"USING csv OPTIONS (path '{tmp_path}/a.csv', header true, sep ';')"
        session.execute(f"CREATE TEMPORARY VIEW v (id INT, s STRING) {form}")
        assert session.execute("SELECT id + 1, s FROM v").fetch() == [(2, "x"), (3, None)]
        session.execute(f"CREATE OR REPLACE TEMP VIEW v {form}")
        assert session.execute("SELECT id FROM v").fetch() == [("1",), ("2",)]
        for query, condition in {
            f"SELECT * FROM {call}, sepp => 'x')": "UNSUPPORTED",
            f"SELECT * FROM {call}, schema => 'id')": "PARSE_SYNTAX_ERROR",
            f"SELECT * FROM {call}, schema => lower('x'))": "PARSE_SYNTAX_ERROR",
            f"SELECT * FROM read_files('{tmp_path}/a.csv')": "UNSUPPORTED",
            f"SELECT * FROM read_files('{tmp_path}/a.orc', format => 'orc', sep => ';')": "UNSUPPORTED",
            f"SELECT * FROM read_files('{tmp_path}/none', format => 'csv')": "PATH_NOT_FOUND",
            "CREATE TEMPORARY VIEW w USING csv": "PARSE_SYNTAX_ERROR",
            f"CREATE TEMPORARY VIEW w USING csv OPTIONS (path '{tmp_path}/a.csv', sepp ';')": "UNSUPPORTED",
            f"CREATE TEMPORARY VIEW w (a INT) USING orc OPTIONS (path '{tmp_path}/a.orc')": "UNSUPPORTED",
        }.items():
            with pytest.raises(Error) as caught:
                session.execute(query).fetch()
            assert caught.value.condition == condition
            assert caught.value.position is not None


def test_options_are_refused_by_name(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        for option in (
            "separator ';'", "sep '||'", "sep '\"'", "quote 'ab'", "escape ''", "header 'yes'", "encoding 'UTF-16'",
            "compression 'zstd'", "dateFormat 'EEE'", "dateFormat 'dMyyyy'", "timestampFormat 'HH:mm'", "nullValue ','",
            "mode 'PERMISSIVE'", "lineSep '\\r'", "inferSchema 'true'", "comment '#', multiLine true",
            "sep ';', delimiter ','",
        ):  # fmt: skip
            with pytest.raises(NotSupportedError) as caught:
                session.execute(f"CREATE TABLE t (a INT) USING csv OPTIONS ({option})")
            assert caught.value.position is not None
            assert caught.value.hint
        for statement, error in {
            "CREATE TABLE t (a INT) USING csv OPTIONS (path '/x') LOCATION '/x'": ParseError,
            "CREATE TABLE t (a INT) USING parquet OPTIONS (compression 'gzip')": NotSupportedError,
            "CREATE TABLE t (a ARRAY<INT>) USING csv OPTIONS (header true)": NotSupportedError,
            "CREATE TABLE t (a BINARY) USING csv OPTIONS (header true)": NotSupportedError,
            "CREATE TABLE t (a INT) USING csv OPTIONS (sep ';') TBLPROPERTIES ('skip.header.line.count' = '1')": (
                NotSupportedError
            ),
            "CREATE TABLE t (a STRING) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde' "
            "WITH SERDEPROPERTIES ('separator' = ';')": NotSupportedError,
            "CREATE TABLE t (a INT) ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' "
            "WITH SERDEPROPERTIES ('collection.delim' = ';')": NotSupportedError,
            "CREATE TABLE t (a INT) ROW FORMAT DELIMITED TBLPROPERTIES ('skip.header.line.count' = 'x')": (
                NotSupportedError
            ),
        }.items():
            with pytest.raises(error):
                session.execute(statement)


_TYPED = "a string, i bigint, d double, n decimal(12,2), b boolean, f date, g timestamp, h float, z string"


def _random_rows(chance: random.Random) -> list[tuple[Any, ...]]:
    day, at = datetime.date, datetime.datetime
    numbers = [None, 0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e7, 1e-3, 9999999.0, 12345678.9, 1e-4, 1e20]
    return [
        (
            random_text(chance),
            chance.choice([None, 1, -5, 2**40]),
            chance.choice([*numbers, chance.uniform(-1000, 1000), float(chance.randint(-(10**9), 10**9))]),
            chance.choice([None, Decimal("1.50"), Decimal("0.00"), Decimal("-0.01"), Decimal("12345.67")]),
            chance.choice([None, True, False]),
            chance.choice([None, day(2020, 1, 2), day(1, 1, 1), day(9999, 12, 31), day(1500, 3, 4)]),
            chance.choice(
                [None, at(2020, 1, 2, 3, 4, 5, 123456), at(1969, 12, 31, 23, 59, 59, 999999), at(2000, 1, 1)]
            ),
            chance.choice([None, 0.5, -0.0, 1e10, struct.unpack("f", struct.pack("f", 1.1))[0], math.nan]),
            random_text(chance),
        )
        for _ in range(8)
    ]


@pytest.mark.share(1)
@pytest.mark.spark
def test_directories_are_written_as_by_spark(spark: SparkEngine, duckdb: Engine, tmp_path: Path) -> None:
    plain_session = spark._running_spark().session
    for seed in share(range(160), 20):
        chance = random.Random(seed)
        options = random_options(chance, is_read=False)
        frame = plain_session.createDataFrame(_random_rows(chance), _TYPED)
        if chance.random() < 0.15:
            frame = frame.select("a")
        frame.coalesce(1).write.mode("overwrite").parquet(str(tmp_path / "rows"))
        frame.coalesce(1).write.mode("overwrite").options(**options).csv(str(tmp_path / "by_spark"))
        expected = b"".join(path.read_bytes() for path in sorted((tmp_path / "by_spark").glob("part-*")))
        (source,) = (tmp_path / "rows").glob("part-*")
        for engine in (duckdb, spark) if seed % 4 == 0 else (duckdb,):
            with Session(tmp_path / "w", engine) as session:
                session.execute("CREATE TABLE IF NOT EXISTS m (a INT)")
                statement = f"USING csv {options_text(tuple(options.items())) or ''} SELECT * FROM parquet.`{source}`"
                try:
                    session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/ours' {statement}")
                except NotSupportedError:
                    continue  # Options that do not go together.
                except DataError as error:
                    if error.condition != "VALUE_OUTSIDE_CSV":
                        raise
                    continue
            written = b"".join(path.read_bytes() for path in (tmp_path / "ours").glob("part-*"))
            assert written == expected, f"seed {seed}, {engine.name}, {options}"


@pytest.mark.share(1)
@pytest.mark.spark
def test_files_are_read_as_by_spark(spark: SparkEngine, duckdb: Engine, tmp_path: Path) -> None:
    plain_session = spark._running_spark().session
    (tmp_path / "in").mkdir()
    counts = {"rows": 0, "ours": 0}
    for seed in share(range(800), 40):
        chance = random.Random(seed)
        options, columns = random_options(chance, is_read=True), random_columns(chance)
        (tmp_path / "in" / "f.csv").write_bytes(random_file(chance, options, columns))
        reader = plain_session.read.schema(", ".join(columns)).options(mode="FAILFAST", **options)
        expected: list[tuple[Any, ...]] | None
        try:
            expected = [tuple(row) for row in reader.csv(f"{tmp_path}/in").collect()]
        except Exception:  # A damaged file.
            expected = None
        for engine in (duckdb, spark) if seed % 8 == 0 else (duckdb,):
            with Session(tmp_path / "w", engine) as session:
                clause = options_text((("path", f"{tmp_path}/in"), *options.items()))
                try:
                    session.execute(f"CREATE OR REPLACE TABLE t ({', '.join(columns)}) USING csv {clause}")
                    rows = session.execute("SELECT * FROM t").fetch()
                except (NotSupportedError, EngineError, DataError):
                    counts["ours"] += expected is not None
                    continue
            if expected is None:
                # Spark cannot read a file that has only a mark of its encoding, or the end of a line.
                assert not rows, f"seed {seed}, {engine.name}, {options}"
                continue
            naive = [tuple(_naive(value) for value in row) for row in rows]
            assert sorted(map(repr, naive)) == sorted(map(repr, expected)), f"seed {seed}, {engine.name}, {options}"
            counts["rows"] += 1
    assert counts["rows"] > counts["ours"]


def _naive(value: object) -> object:
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value
