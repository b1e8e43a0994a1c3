"""Hive's text files: both engines read and write the same rows, as Hive's LazySimpleSerDe does."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError, DataError, EngineError, NotSupportedError, ParseError
from rewriter.exec.engine import Engine
from rewriter.session import Session
from tests.contract.test_written_formats import comparable

COLUMNS = (
    "id INT, b BOOLEAN, i1 TINYINT, i8 BIGINT, f FLOAT, d DOUBLE, s STRING, v VARCHAR(9), c CHAR(3), n DECIMAL(38,6), "
    "day DATE, at TIMESTAMP"
)
ROWS = (
    "(1, true, CAST(-128 AS TINYINT), CAST('-9223372036854775808' AS BIGINT), "
    "CAST('NaN' AS FLOAT), CAST('-0.0' AS DOUBLE), 'a,b ', '', 'x', "
    "-0.000001BD, DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00')",
    "(2, false, 127Y, 9223372036854775807L, CAST('-Infinity' AS FLOAT), CAST('1.7976931348623157e308' AS DOUBLE), "
    "'\"ä€😀', 'NULL', 'xyz', 99999999999999999999999999999999.123456BD, DATE '9999-12-31', "
    "TIMESTAMP '9999-12-31 23:59:59.999999')",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(4, true, 0Y, 0L, CAST('0.1' AS FLOAT), CAST('4.9e-324' AS DOUBLE), '', ' ', '', 1BD, DATE '1582-10-10', "
    "TIMESTAMP '1969-12-31 23:59:59.5')",
)
ESCAPED = (
    r"ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' ESCAPED BY '\\' LINES TERMINATED BY '\n' NULL DEFINED AS 'null'"
)
#: A file, and its rows as Hive 2.3.10 reads them, by the row format.
FILE = b"1,a\r\n2\n\n,z,extra\n3,\\N\r4,y\n5,\\,x\\\\\n6,a\\\n7,\\q\\n\\r|\n 9 ,  p "
READ_BY_HIVE = {
    "": ["1 a", "2 -", " -", " z", "3 -", "4 y", "5 \\", "6 a\\", "7 \\q\\n\\r|", " 9    p "],
    r"ESCAPED BY '\\'": ["1 a", "2 -", " -", " z", "3 -", "4 y", "5 ,x\\", "6 a\\", "7 q\n\r|", " 9    p "],
}


@pytest.mark.share(3)
@pytest.mark.spark
@pytest.mark.parametrize("form", ["", "ROW FORMAT DELIMITED FIELDS TERMINATED BY ';'", ESCAPED])
def test_values_are_read_as_they_were_written(form: str, duckdb: Engine, spark: Engine, tmp_path: Path) -> None:
    expected = None
    for writer in (duckdb, spark):
        with Session(tmp_path, writer) as session:
            session.execute(f"CREATE TABLE source_{writer.name} ({COLUMNS})")
            session.execute(f"INSERT INTO source_{writer.name} VALUES {', '.join(ROWS)}")
            session.execute(f"CREATE TABLE by_{writer.name} ({COLUMNS}) {form} STORED AS TEXTFILE")
            session.execute(f"INSERT INTO by_{writer.name} SELECT * FROM source_{writer.name}")
            expected = comparable(session.execute(f"SELECT * FROM source_{writer.name}").fetch())
    for reader in (duckdb, spark):
        with Session(tmp_path, reader) as session:
            for writer in (duckdb, spark):
                assert comparable(session.execute(f"SELECT * FROM by_{writer.name}").fetch()) == expected


@pytest.mark.parametrize("escaping", READ_BY_HIVE)
def test_files_of_others_are_read_as_by_hive(escaping: str, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_bytes(b"\xef\xbb\xbf" + FILE)
    (tmp_path / "files" / "empty").write_bytes(b"")
    with Session(tmp_path / "w", engine) as session:
        session.execute(
            f"CREATE EXTERNAL TABLE t (i STRING, s STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' {escaping} "
            f"LOCATION '{tmp_path / 'files'}'"
        )
        rows = session.execute("SELECT concat(i, ' ', coalesce(s, '-')) FROM t").fetch()
        assert sorted(text for (text,) in rows) == sorted(READ_BY_HIVE[escaping])


def test_fields_of_other_types_are_null_where_they_are_empty(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a").write_text("\x01a\n7\x01\n")
    with Session(tmp_path / "w", engine) as session:
        session.execute(f"CREATE TABLE t (i INT, s STRING) STORED AS TEXTFILE LOCATION '{tmp_path / 'files'}'")
        assert session.execute("SELECT i, s FROM t ORDER BY i").fetch() == [(None, "a"), (7, "")]
        (tmp_path / "files" / "a").write_text("7\x01a\nseven\x01b\n")
        with pytest.raises(DataError, match="in the column i in line 2 of the file"):
            session.execute("SELECT i FROM t")
        (tmp_path / "files" / "a").rename(tmp_path / "files" / "a.gz")
        with pytest.raises(EngineError, match="compressed") as caught:
            session.execute("SELECT s FROM t")
        assert caught.value.condition == "FAILED_READ_FILE"


def test_partitions_are_written_compacted_and_loaded(engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, engine) as session:
        session.execute(f"CREATE TABLE t (id INT, s STRING) PARTITIONED BY (day STRING) {ESCAPED}")
        session.execute("INSERT INTO t VALUES (1, 'a,b', 'x'), (2, NULL, NULL)")
        session.execute(r"INSERT OVERWRITE t PARTITION (day = 'x') VALUES (3, 'c\nd')")
        session.execute("INSERT INTO t PARTITION (day = 'x') VALUES (4, '')")
        session.execute("ALTER TABLE t COMPACT")
        session.execute("ALTER TABLE t ADD COLUMNS (more INT)")
        (path,) = glob.glob(f"{tmp_path}/t-*/*/day=__HIVE_DEFAULT_PARTITION__/*")
        session.execute(f"LOAD DATA INPATH '{path}' INTO TABLE t PARTITION (day = 'y')")
        session.execute("CREATE TABLE u LIKE t")
        session.execute("INSERT INTO u SELECT * FROM t")
        session.execute("CREATE TABLE v LIKE t STORED AS TEXTFILE")
        (text,) = session.execute("SHOW CREATE TABLE v").fetch()[0]
        assert "ROW FORMAT" not in str(text)
        expected = [(2, None, None, None), (3, "c\nd", None, "x"), (4, "", None, "x"), (2, None, None, "y")]
        for table in ("t", "u"):
            assert session.execute(f"SELECT * FROM {table} ORDER BY day, id").fetch() == expected


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("", r"'a\nb'"),
        ("", r"'a\rb'"),
        ("", r"'a\u0001b'"),
        ("", r"'\\N'"),
        ("", r"'\ufeffa'"),
        (ESCAPED, "'null'"),
        ("ROW FORMAT DELIMITED FIELDS TERMINATED BY '-'", "DATE '2013-01-01'"),
        ("ROW FORMAT DELIMITED NULL DEFINED AS '0'", "0"),
    ],
)
def test_values_that_would_be_read_as_others_are_refused(form: str, value: str, engine: Engine, tmp_path: Path) -> None:
    type_ = "DATE" if "DATE" in value else "INT" if value == "0" else "STRING"
    with Session(tmp_path, engine) as session:
        session.execute(f"CREATE TABLE t (v {type_}, w {type_}) {form} STORED AS TEXTFILE")
        session.execute("INSERT INTO t VALUES (NULL, NULL)")
        with pytest.raises(DataError) as caught:
            session.execute(f"INSERT OVERWRITE t VALUES ({value}, {value})")
        assert caught.value.condition == "VALUE_OUTSIDE_TEXTFILE"
        assert session.execute("SELECT * FROM t").fetch() == [(None, None)]


@pytest.mark.parametrize(
    "form",
    [
        "FIELDS TERMINATED BY '||'",
        "FIELDS TERMINATED BY '€'",
        r"FIELDS TERMINATED BY '\n'",
        "FIELDS TERMINATED BY '300'",
        "FIELDS TERMINATED BY ',' ESCAPED BY ','",
        r"FIELDS TERMINATED BY 'n' ESCAPED BY '\\'",
        "FIELDS TERMINATED BY ',' ESCAPED BY 'r'",
        "FIELDS TERMINATED BY ',' NULL DEFINED AS 'a,b'",
        r"FIELDS TERMINATED BY ',' ESCAPED BY '\\' NULL DEFINED AS '\\'",
        r"LINES TERMINATED BY '\r\n'",
        "COLLECTION ITEMS TERMINATED BY ';'",
        "MAP KEYS TERMINATED BY ':'",
    ],
)
def test_row_formats_that_readers_take_differently_are_refused(form: str, duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session, pytest.raises(NotSupportedError):
        session.execute(f"CREATE TABLE t (a STRING) ROW FORMAT DELIMITED {form}")


def test_the_row_format_of_a_table_never_changes(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        session.execute(f"CREATE TABLE t (a STRING) PARTITIONED BY (day STRING) {ESCAPED}")
        (text,) = session.execute("SHOW CREATE TABLE t").fetch()[0]
        assert r"ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' ESCAPED BY '\\' NULL DEFINED AS 'null'" in str(text)
        session.execute("CREATE TABLE tabs (a STRING) PARTITIONED BY (day STRING) STORED AS TEXTFILE")
        session.execute("INSERT INTO t VALUES ('a,b', 'x')")
        for statement in (
            "ALTER TABLE t SET TBLPROPERTIES ('field.delim' = ';')",
            "ALTER TABLE t SET TBLPROPERTIES ('rewriter.serdeproperties.field.delim' = ';')",
            "ALTER TABLE t UNSET TBLPROPERTIES ('rewriter.serdeproperties.field.delim')",
            "ALTER TABLE t SET TBLPROPERTIES ('skip.header.line.count' = '1')",
            "ALTER TABLE t SET SERDEPROPERTIES ('field.delim' = ';')",
            "CREATE TABLE x (a STRING, b ARRAY<INT>) STORED AS TEXTFILE",
        ):
            with pytest.raises(NotSupportedError):
                session.execute(statement)
        session.execute("ALTER TABLE t SET SERDEPROPERTIES ('field.delim' = ',')")
        with pytest.raises(AnalysisError, match="separators"):
            session.execute("ALTER TABLE tabs EXCHANGE PARTITION (day = 'x') WITH TABLE t")
        with pytest.raises(ParseError, match="for text files"):
            session.execute("CREATE TABLE x (a STRING) ROW FORMAT DELIMITED STORED AS PARQUET")
        assert session.execute("SELECT * FROM t").fetch() == [("a,b", "x")]


@pytest.mark.parametrize("format", ["SEQUENCEFILE", "RCFILE"])
def test_formats_of_hive_without_a_reader_are_refused_by_name(format: str, duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        with pytest.raises(NotSupportedError, match=f"{format.lower()} is not supported: ") as caught:
            session.execute(f"CREATE TABLE t (a STRING) STORED AS {format}")
        assert caught.value.position is not None
