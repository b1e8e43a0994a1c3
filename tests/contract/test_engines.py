"""The contract of every engine, tested on both: reading relations, returning Arrow, writing partitions, errors."""

from __future__ import annotations

import datetime as dt
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract.conftest import NAN, Rows, columns, parquet, partitioned, scan_file

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Column, PartitionValues
from rewriter.errors import DataError, EngineError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Relation, ScanFile, Write, WrittenFile
from rewriter.exec.spark.engine import SparkEngine

Run = Callable[..., Rows]
T = "2013-01-02 03:04:05"


def at(*fields: int) -> dt.datetime:
    return dt.datetime(*fields, tzinfo=dt.UTC)  # type: ignore[misc]


# -- answers ----------------------------------------------------------------------------------------------------------


def test_results_are_plain_arrow_types(engine: Engine) -> None:
    table = engine.execute(
        EngineQuery(
            "SELECT 1 AS i, 3000000000 AS l, 1.50 AS m, CAST(1.5 AS DOUBLE) AS d, 'x' AS s, true AS b, "
            f"DATE '2013-01-02' AS dd, TIMESTAMP '{T}' AS t, NULL AS n, CAST(1 AS TINYINT) AS y, CAST(2 AS FLOAT) AS f"
        )
    ).read_all()
    assert table.schema == pa.schema(
        [
            ("i", pa.int32()),
            ("l", pa.int64()),
            ("m", pa.decimal128(3, 2)),
            ("d", pa.float64()),
            ("s", pa.string()),
            ("b", pa.bool_()),
            ("dd", pa.date32()),
            ("t", pa.timestamp("us", "UTC")),
            ("n", pa.null()),
            ("y", pa.int8()),
            ("f", pa.float32()),
        ]
    )
    assert [c[0].as_py() for c in table.columns[:8]] == [
        1, 3000000000, Decimal("1.50"), 1.5, "x", True, dt.date(2013, 1, 2), at(2013, 1, 2, 3, 4, 5)
    ]  # fmt: skip


def test_columns_tell_names_and_types_without_running(engine: Engine) -> None:
    described = engine.columns(EngineQuery("SELECT 1/0 AS a, count(*) AS n, sum(1.5) AS s, 'x' AS t"))
    assert described == columns("a double", "n bigint", "s decimal(12,1)", "t string")


def test_parameters_by_name(engine: Engine, rows: Run) -> None:
    sql = "SELECT :i + 1 AS a, :s AS b, :t AS c, :d AS d, :m AS e, :n IS NULL AS f, :day AS g, :u AS h"
    answer = rows(
        engine, sql, i=41, s="it's \\ \"x\"", t=at(2013, 1, 2, 3), d=0.5, m=Decimal("1.50"), n=None,
        day=dt.date(2013, 1, 2), u=2**40, unused=1,
    )  # fmt: skip
    assert answer == [(42, 'it\'s \\ "x"', at(2013, 1, 2, 3), 0.5, Decimal("1.50"), True, dt.date(2013, 1, 2), 2**40)]


def test_instants_without_a_zone_are_utc(engine: Engine, rows: Run) -> None:
    assert rows(engine, "SELECT :t AS t", t=dt.datetime(2013, 1, 2, 3)) == [(at(2013, 1, 2, 3),)]


# -- relations --------------------------------------------------------------------------------------------------------

TRAPS: list[tuple[str, list[str | None]]] = [
    ("string", ["007", "7", "2013-01-02", "2013-01-02 03:04:05", "true", "1e3", "NULL", "null", None]),
    ("string", ["é中", "😀", "a b", " lead", "trail ", "100%", "%41", "%", "a/b", "a:b", "a=b", "..", "."]),
    ("string", ["it's", 'say "x"', "a\\b", "a+b", "a&b", "a#b", "a?b", "a*b", "[a]", "{a,b}", "tab\tx", "nl\nx", "~"]),
    ("string", ["US", "us", "Us", "x" * 200]),
    ("varchar(5)", ["ab", "ab ", "00"]),
    ("char(4)", ["xy  ", "xyz "]),
    ("int", ["7", "-7", "0", "2147483647", None]),
    ("bigint", ["-9223372036854775808", "5"]),
    ("smallint", ["-3", "12"]),
    ("decimal(6,2)", ["7.00", "-0.50", "1234.56", None]),
    ("decimal(20,10)", ["0.0000000001", "-12345.5000000000"]),
    ("date", ["2013-01-02", "1969-12-31", "0001-01-01", None]),
    ("timestamp", ["2013-01-02 00:00:00", "2013-01-02 03:04:05.1", "1969-12-31 23:59:59.999999", None]),
    ("boolean", ["true", "false", None]),
    ("double", ["1.0", "-0.5", "1.0E10", "NaN", "0.0", None]),
    ("float", ["1.5", "1.0E10", None]),
]


def _python(type_name: str, text: str | None) -> object:
    kind = type_name.split("(")[0]
    if text == "NaN":
        return NAN
    if text is None or kind in ("string", "varchar", "char"):
        return text
    if kind in ("int", "bigint", "smallint"):
        return int(text)
    if kind == "timestamp":
        return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
    readers = {"decimal": Decimal, "date": dt.date.fromisoformat, "double": float, "float": float}
    return text == "true" if kind == "boolean" else readers[kind](text)  # type: ignore[operator]


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("by_path", [True, False], ids=["by_path", "by_value"])
@pytest.mark.parametrize(("type_name", "texts"), TRAPS, ids=lambda v: v if isinstance(v, str) else v[0])
def test_partition_values_are_the_catalogs(
    engine: Engine, rows: Run, tmp_path: Path, type_name: str, texts: list[str | None], by_path: bool
) -> None:
    column = Column("p", type_name)
    relation = partitioned(tmp_path, [column], [(text,) for text in texts])
    if not by_path:
        files = []
        for number, file in enumerate(relation.files):
            moved = tmp_path / "elsewhere" / f"{number}.parquet"
            moved.parent.mkdir(exist_ok=True)
            os.rename(file.path, moved)
            files.append(scan_file(str(moved), file.values))
        relation = replace(relation, files=tuple(files))
    expected = sorted(((i, _python(type_name, text)) for i, text in enumerate(texts)), key=repr)
    assert rows(engine, "SELECT * FROM t", relation) == expected
    # A predicate finds exactly its partition: pruning reads the values the same way.
    if type_name == "string":
        values = {f"p{i}": text for i, text in enumerate(texts) if text is not None}
        sql = " UNION ALL ".join(f"SELECT x, {name[1:]} FROM t WHERE p = :{name}" for name in values)
        assert rows(engine, sql, relation, **values) == sorted(
            ((int(name[1:]), int(name[1:])) for name in values), key=repr
        )
    if None in texts:
        assert rows(engine, "SELECT x FROM t WHERE p IS NULL", relation) == [(texts.index(None),)]


def test_a_column_may_have_an_odd_name(engine: Engine, rows: Run, tmp_path: Path) -> None:
    relation = partitioned(tmp_path, columns("é=x string", "Two Words int"), [("a", "1"), ("b", "2")])
    assert rows(engine, "SELECT `é=x`, `two words` FROM t", relation) == [("a", 1), ("b", 2)]


def test_paths_with_characters_of_globs_and_uris(engine: Engine, rows: Run, tmp_path: Path) -> None:
    root = tmp_path / "a b[1]{x,y}*?%41#é'"
    relation = partitioned(root, columns("p string"), [("a",), ("b",)])
    assert rows(engine, "SELECT * FROM t", relation) == [(0, "a"), (1, "b")]
    (plain,) = partitioned(root, (), [()]).files
    assert rows(engine, "SELECT * FROM u", Relation("u", "parquet", columns("x bigint"), (), (plain,))) == [(0,)]


def test_the_catalogs_value_wins_over_the_path(engine: Engine, rows: Run, tmp_path: Path) -> None:
    relation = partitioned(tmp_path, columns("c string", "d int"), [("US", "1"), ("US", "2"), ("DE", "1")])
    renamed = relation.files[1]._replace(values=("FR", "9"))
    custom = scan_file(
        parquet(tmp_path / "custom" / "c=XX" / "f.parquet", {"x": pa.array([7], pa.int64())}), ("a", "3")
    )
    shared = relation.files[2]._replace(values=("DE", "2"))
    relation = replace(relation, files=(relation.files[0], renamed, relation.files[2], custom, shared))
    assert rows(engine, "SELECT * FROM t", relation) == [
        (0, "US", 1), (1, "FR", 9), (2, "DE", 1), (2, "DE", 2), (7, "a", 3)
    ]  # fmt: skip
    assert rows(engine, "SELECT x FROM t WHERE c = 'FR' AND d > 8", relation) == [(1,)]


def test_empty_relations_have_types(engine: Engine, tmp_path: Path) -> None:
    relation = Relation("t", "parquet", columns("a int", "m decimal(5,1)"), columns("t timestamp", "s varchar(3)"), ())
    table = engine.execute(EngineQuery("SELECT * FROM t", (relation,))).read_all()
    assert table.num_rows == 0
    assert table.schema == pa.schema(
        [("a", pa.int32()), ("m", pa.decimal128(5, 1)), ("t", pa.timestamp("us", "UTC")), ("s", pa.string())]
    )
    count = engine.execute(EngineQuery("SELECT count(*) AS n, sum(a) AS s FROM t", (relation,))).read_all()
    assert count.to_pylist() == [{"n": 0, "s": None}]


def test_columns_come_in_the_relations_order_and_case(engine: Engine, tmp_path: Path) -> None:
    first = parquet(tmp_path / "p=1" / "a.parquet", {"b": ["x"], "A": pa.array([1], pa.int32())})
    second = parquet(tmp_path / "p=2" / "a.parquet", {"a": pa.array([2], pa.int32()), "extra": [9], "B": ["y"]})
    files = (scan_file(first, ("1",)), scan_file(second, ("2",)))
    relation = Relation("t", "parquet", columns("a int", "B string"), columns("p int"), files)
    table = engine.execute(EngineQuery("SELECT * FROM t ORDER BY a", (relation,))).read_all()
    assert table.to_pylist() == [{"a": 1, "B": "x", "p": 1}, {"a": 2, "B": "y", "p": 2}]


def test_columns_missing_in_files_are_null(engine: Engine, rows: Run, tmp_path: Path) -> None:
    old = parquet(tmp_path / "old.parquet", {"a": pa.array([1], pa.int32())})
    new = parquet(tmp_path / "new.parquet", {"a": pa.array([2], pa.int32()), "b": ["x"]})
    both = Relation("t", "parquet", columns("a int", "b string", "c date"), (), (scan_file(old), scan_file(new)))
    assert rows(engine, "SELECT * FROM t", both) == [(1, None, None), (2, "x", None)]
    assert rows(engine, "SELECT * FROM t", replace(both, files=both.files[:1])) == [(1, None, None)]


def test_narrower_types_in_files_are_widened(engine: Engine, rows: Run, tmp_path: Path) -> None:
    path = parquet(
        tmp_path / "a.parquet",
        {"a": pa.array([1], pa.int32()), "b": pa.array([2], pa.int16()), "f": pa.array([0.5], pa.float32())},
    )
    relation = Relation("t", "parquet", columns("a bigint", "b int", "f double"), (), (scan_file(path),))
    assert rows(engine, "SELECT * FROM t", relation) == [(1, 2, 0.5)]


def test_a_file_of_another_type_is_an_error(engine: Engine, tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", {"a": ["5"]})
    relation = Relation("t", "parquet", columns("a int"), (), (scan_file(path),))
    with pytest.raises(EngineError):
        engine.execute(EngineQuery("SELECT * FROM t", (relation,)))


def test_the_write_id_level_is_no_column(engine: Engine, rows: Run, tmp_path: Path) -> None:
    first = partitioned(tmp_path / "rewriter_write_id=1", columns("p int"), [("1",), ("2",)])
    second = partitioned(tmp_path / "rewriter_write_id=22", columns("p int"), [("2",)])
    relation = replace(first, files=first.files + second.files)
    assert rows(engine, "SELECT * FROM t", relation) == [(0, 1), (0, 2), (1, 2)]
    (file,) = partitioned(tmp_path / "plain" / "rewriter_write_id=3", (), [()]).files
    assert rows(engine, "SELECT * FROM u", Relation("u", "parquet", columns("x bigint"), (), (file,))) == [(0,)]


def test_levels_above_the_table_are_no_columns(engine: Engine, rows: Run, tmp_path: Path) -> None:
    """Engines overwrite a data column with a directory level of that name. Here ``x`` stays the data's column."""
    relation = partitioned(tmp_path / "x=5", columns("p int"), [("1",), ("2",)])
    assert rows(engine, "SELECT * FROM t", relation) == [(0, 1), (1, 2)]
    (file,) = partitioned(tmp_path / "x=6", (), [()]).files
    assert rows(engine, "SELECT * FROM u", Relation("u", "parquet", columns("x bigint"), (), (file,))) == [(0,)]


def test_several_relations_and_the_same_one_twice(engine: Engine, rows: Run, tmp_path: Path) -> None:
    first = partitioned(tmp_path / "1", columns("p string"), [("a",), ("b",)], "one")
    two = partitioned(tmp_path / "2", columns("p string"), [("b",), ("c",)], "two")
    sql = (
        "SELECT p, x FROM one WHERE p = 'a' UNION ALL SELECT p, x FROM one WHERE p > 'a' UNION ALL SELECT p, x FROM two"
    )
    assert rows(engine, sql, first, two) == [("a", 0), ("b", 0), ("b", 1), ("c", 1)]


def test_views_are_gone_after_the_query(engine: Engine, rows: Run, tmp_path: Path) -> None:
    relation = partitioned(tmp_path, columns("p string"), [("a",)])
    rows(engine, "SELECT * FROM t", relation)
    with pytest.raises(EngineError) as caught:
        engine.execute(EngineQuery("SELECT * FROM t"))
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert caught.value.sqlstate == "42P01"


def test_a_missing_file_is_an_engine_error(engine: Engine, tmp_path: Path) -> None:
    relation = Relation("t", "parquet", columns("a int"), (), (ScanFile(str(tmp_path / "no.parquet"), (), 10),))
    with pytest.raises(EngineError, match=r"no\.parquet"):
        engine.execute(EngineQuery("SELECT * FROM t", (relation,)))


def test_csv_is_text_and_cast(engine: Engine, rows: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'b,a,t\n"x, ""y""",1,2013-01-02T03:04:05Z\n"",-2,2013-01-02 03:04:05.5\n,,\n"two\nlines",3,2013-01-02\n'
    )
    assert engine.file_columns("csv", str(path)) == columns("b string", "a string", "t string")
    relation = Relation("t", "csv", columns("a int", "b string", "t timestamp", "no int"), (), (scan_file(str(path)),))
    assert rows(engine, "SELECT * FROM t", relation) == sorted(
        [
            (1, 'x, "y"', at(2013, 1, 2, 3, 4, 5), None),
            (-2, "", at(2013, 1, 2, 3, 4, 5, 500000), None),
            (None, None, None, None),
            (3, "two\nlines", at(2013, 1, 2), None),
        ],
        key=repr,
    )
    path.write_text("a\nNA\n")
    with pytest.raises(DataError) as caught:
        rows(engine, "SELECT * FROM t", replace(relation, columns=columns("a int")))
    assert caught.value.condition == "CAST_INVALID_INPUT"


def test_csv_of_one_column_has_a_row_for_each_line(engine: Engine, rows: Run, tmp_path: Path) -> None:
    folder = tmp_path / "p=a%2F+ b"
    folder.mkdir()
    first, second = folder / "1.csv", folder / "2.csv"
    first.write_bytes(b'"a"\n1\n\n"3"\n\n')
    second.write_bytes(b"\xef\xbb\xbfa\r\n\r\n5")
    files = (scan_file(str(first), ("x",)), scan_file(str(second), ("y",)))
    relation = Relation("t", "csv", columns("a int"), columns("p string"), files)
    assert rows(engine, "SELECT * FROM t", relation) == sorted(
        [(1, "x"), (None, "x"), (3, "x"), (None, "x"), (None, "y"), (5, "y")], key=repr
    )
    assert rows(engine, "SELECT COUNT(*) FROM t", relation) == [(6,)]
    assert rows(engine, "SELECT COUNT(*) FROM t WHERE p = 'y' AND a IS NULL", relation) == [(1,)]
    first.write_text('a\n"x\n\n""y"\n\n""\n \n', newline="")
    relation = Relation("t", "csv", columns("a string", "b int"), (), (scan_file(str(first)),))
    assert rows(engine, "SELECT * FROM t", relation) == sorted(
        [('x\n\n"y', None), (None, None), ("", None), (" ", None)], key=repr
    )
    for text in ("a\n1,2\n", 'a\n"x\n'):
        first.write_text(text)
        with pytest.raises(EngineError) as caught:
            rows(engine, "SELECT * FROM t", relation)
        assert engine.name == "duckdb" or caught.value.condition == "FAILED_READ_FILE"


def test_a_float_of_csv_is_rounded_once(engine: Engine, rows: Run, tmp_path: Path) -> None:
    # The nearest double of the first text lies between two floats.
    (tmp_path / "a.csv").write_text("a,b\n1.00000017881393432617187500001,x\nNaN,\n1e39,\n")
    files = (scan_file(str(tmp_path / "a.csv")),)
    relation = Relation("t", "csv", columns("a float", "b string"), (), files)
    assert rows(engine, "SELECT a, b FROM t WHERE a < 2", relation) == [(1.0000002384185791, "x")]
    assert rows(engine, "SELECT COUNT(*) FROM t WHERE a > 3e38", relation) == [(2,)]


def test_a_long_value_in_csv_of_one_column(engine: Engine, rows: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"a\n{'x' * 300_000}\n\n")
    relation = Relation("t", "csv", columns("a string"), (), (scan_file(str(tmp_path / "a.csv")),))
    assert rows(engine, "SELECT LENGTH(a) FROM t", relation) == [(300_000,), (None,)]


def test_csv_with_another_delimiter_and_header(engine: Engine, rows: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("a;b\n1;x,y\n")
    second.write_text("a;c\n1;x\n")
    relation = Relation("t", "csv", columns("a string", "b string"), (), (scan_file(str(first)),), {"delimiter": ";"})
    assert rows(engine, "SELECT * FROM t", relation) == [("1", "x,y")]
    with pytest.raises(EngineError, match="header"):
        rows(engine, "SELECT * FROM t", replace(relation, files=(*relation.files, scan_file(str(second)))))


def test_json_lines(engine: Engine, rows: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1, "s": "x", "d": 1.5, "b": true}\n{"s": null, "a": -2, "d": 2, "t": "2013-01-02"}\n')
    described = engine.file_columns("json", str(path))
    assert described == columns("a bigint", "s string", "d double", "b boolean", "t string")
    relation = Relation("t", "json", described, (), (scan_file(str(path)),))
    assert rows(engine, "SELECT * FROM t", relation) == [(-2, None, 2.0, None, "2013-01-02"), (1, "x", 1.5, True, None)]


def test_columns_of_parquet_files(engine: Engine, rows: Run, tmp_path: Path) -> None:
    table = pa.table(
        {
            "i": pa.array([1], pa.int32()),
            "m": pa.array([Decimal("1.50")], pa.decimal128(5, 2)),
            "t": pa.array([dt.datetime(2013, 1, 2)], pa.timestamp("us")),
            "z": pa.array([at(2013, 1, 2)], pa.timestamp("us", "UTC")),
            "s": pa.array(["x"]).dictionary_encode(),
        }
    )
    path = parquet(tmp_path / "d" / "a.parquet", table)
    described = engine.file_columns("parquet", str(tmp_path / "d"))
    assert described == columns("i int", "m decimal(5,2)", "t timestamp", "z timestamp", "s string")
    relation = Relation("t", "parquet", described, (), (scan_file(path),))
    assert rows(engine, "SELECT * FROM t", relation) == [(1, Decimal("1.50"), at(2013, 1, 2), at(2013, 1, 2), "x")]
    with pytest.raises(EngineError) as caught:
        engine.file_columns("parquet", str(tmp_path / "nowhere"))
    assert caught.value.condition == "PATH_NOT_FOUND"


def test_a_file_with_a_column_of_no_type_of_spark(duckdb: Engine, tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", pa.table({"n": [1], "u": pa.array([2**64 - 1], pa.uint64())}))
    with pytest.raises(EngineError, match=r"column u: its type uint64 has no counterpart") as caught:
        duckdb.file_columns("parquet", path)
    assert caught.value.condition == "FAILED_READ_FILE"


# -- writes -----------------------------------------------------------------------------------------------------------


def write(
    engine: Engine, tmp_path: Path, sql: str, data: tuple[Column, ...], partition: tuple[Column, ...] = (),
    static: PartitionValues = (), name: str = "w", *relations: Relation,
) -> tuple[WrittenFile, ...]:  # fmt: skip
    target = Write(str(tmp_path / name), "parquet", data, partition, static)
    return engine.write(EngineQuery(sql, relations), target)


def read_back(files: tuple[WrittenFile, ...], data: tuple[Column, ...], partition: tuple[Column, ...]) -> Relation:
    scans = tuple(ScanFile(file.path, file.values, file.bytes) for file in files)
    return Relation("t", "parquet", data, partition, scans)


def test_write_unpartitioned(engine: Engine, rows: Run, tmp_path: Path) -> None:
    data = columns("a int", "s string")
    files = write(engine, tmp_path, "SELECT 1, 'x' UNION ALL SELECT 2, NULL", data)
    assert sum(file.rows or 0 for file in files) == 2
    assert all(file.path.startswith(str(tmp_path / "w") + "/") and file.values == () for file in files)
    assert all(file.bytes == os.path.getsize(file.path) for file in files)
    assert rows(engine, "SELECT * FROM t", read_back(files, data, ())) == [(1, "x"), (2, None)]


def test_write_static_dynamic_and_mixed(engine: Engine, rows: Run, tmp_path: Path) -> None:
    data, partition = columns("a int"), columns("c string", "d int")
    static = write(engine, tmp_path, "SELECT 1", data, partition, ("x:y", "7"), "static")
    assert {file.values for file in static} == {("x:y", "7")}
    assert all(f"/static/{partition_name(partition, ('x:y', '7'))}/" in file.path for file in static)
    mixed = write(engine, tmp_path, "SELECT 2, 8 UNION ALL SELECT 3, 9", data, partition, ("a/b",), "mixed")
    assert {file.values for file in mixed} == {("a/b", "8"), ("a/b", "9")}
    dynamic = write(engine, tmp_path, "SELECT 4, 'é', 1 UNION ALL SELECT 5, 'é', 1", data, partition, (), "dynamic")
    assert [(file.values, file.rows) for file in dynamic] == [(("é", "1"), 2)]
    for file in (*static, *mixed, *dynamic):
        assert partition_name(partition, file.values) in file.path
    assert rows(engine, "SELECT * FROM t", read_back(static + mixed + dynamic, data, partition)) == [
        (1, "x:y", 7), (2, "a/b", 8), (3, "a/b", 9), (4, "é", 1), (5, "é", 1)
    ]  # fmt: skip


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(("type_name", "texts"), TRAPS, ids=lambda v: v if isinstance(v, str) else v[0])
def test_written_partition_values_are_canonical(
    engine: Engine, rows: Run, tmp_path: Path, type_name: str, texts: list[str | None]
) -> None:
    source = partitioned(tmp_path / "source", [Column("p", type_name)], [(text,) for text in texts])
    files = write(
        engine, tmp_path, "SELECT x, p FROM t", columns("x bigint"), (Column("p", type_name),), (), "w", source
    )
    assert sorted((file.values[0] for file in files), key=repr) == sorted(texts, key=repr)
    for file in files:
        assert f"/w/{partition_name(('p',), file.values)}/" in file.path
    expected = sorted(((i, _python(type_name, text)) for i, text in enumerate(texts)), key=repr)
    assert rows(engine, "SELECT * FROM t", read_back(files, columns("x bigint"), (Column("p", type_name),))) == expected


def test_null_empty_and_default_are_one_partition(engine: Engine, rows: Run, tmp_path: Path) -> None:
    sql = "VALUES (1, CAST(NULL AS STRING)), (2, ''), (3, '__HIVE_DEFAULT_PARTITION__'), (4, 'x')"
    data, partition = columns("a int"), columns("p string")
    files = write(engine, tmp_path, sql, data, partition)
    assert {file.values for file in files} == {(None,), ("x",)}
    assert all("p=__HIVE_DEFAULT_PARTITION__/" in file.path for file in files if file.values == (None,))
    assert rows(engine, "SELECT * FROM t", read_back(files, data, partition)) == [
        (1, None), (2, None), (3, None), (4, "x")
    ]  # fmt: skip


def test_floating_zeros_are_one_partition(engine: Engine, tmp_path: Path) -> None:
    sql = "SELECT 1, CAST('-0.0' AS DOUBLE) UNION ALL SELECT 2, CAST(0 AS DOUBLE)"
    files = write(engine, tmp_path, sql, columns("a int"), columns("p double"))
    assert {file.values for file in files} == {("0.0",)}


def test_two_writes_then_read(engine: Engine, rows: Run, tmp_path: Path) -> None:
    data, partition = columns("a int"), columns("p string")
    files = ()
    for number in (1, 2):
        files += write(engine, tmp_path, f"SELECT {number}, 'x'", data, partition, (), f"rewriter_write_id={number}")
    assert rows(engine, "SELECT * FROM t", read_back(files, data, partition)) == [(1, "x"), (2, "x")]


def test_an_empty_answer_writes_no_rows(engine: Engine, tmp_path: Path) -> None:
    assert not write(engine, tmp_path, "SELECT 1, 'x' WHERE false", columns("a int"), columns("p string"))
    files = write(engine, tmp_path, "SELECT 1 WHERE false", columns("a int"), columns("p string"), ("x",), "static")
    assert sum(file.rows or 0 for file in files) == 0


def test_values_are_cast_to_the_columns_types(engine: Engine, tmp_path: Path) -> None:
    data = columns("a bigint", "b double", "c string", "d decimal(10,2)", "e timestamp", "f date", "g varchar(3)",
                   "h char(3)", "i int")  # fmt: skip
    sql = "SELECT 1, 2, 3, 4, DATE '2013-01-02', TIMESTAMP '2013-01-02 00:00:00', 'ab  ', 'x', CAST(5.0 AS DOUBLE)"
    (file,) = write(engine, tmp_path, sql, data)
    table = pq.read_table(file.path)
    assert table.to_pylist() == [
        {"a": 1, "b": 2.0, "c": "3", "d": Decimal("4.00"), "e": at(2013, 1, 2), "f": dt.date(2013, 1, 2), "g": "ab ",
         "h": "x  ", "i": 5}
    ]  # fmt: skip
    assert table.schema.names == [column.name for column in data]
    assert table.schema.field("e").type == pa.timestamp("us", "UTC")
    assert table.schema.field("i").type == pa.int32()


@pytest.mark.parametrize(
    ("value", "declared", "condition"),
    [
        ("CAST(1.5 AS DOUBLE)", "int", "INSERT_WOULD_ROUND"),
        ("1.5", "int", "INSERT_WOULD_ROUND"),
        ("1.255", "decimal(10,2)", "INSERT_WOULD_ROUND"),
        ("CAST(0.125 AS DOUBLE)", "decimal(5,2)", "INSERT_WOULD_ROUND"),
        ("TIMESTAMP '2013-01-02 03:00:00'", "date", "INSERT_WOULD_ROUND"),
        ("'abcd'", "varchar(3)", "EXCEED_LIMIT_LENGTH"),
        ("3000000000", "int", None),
        ("12345", "decimal(4,0)", None),
        ("CAST('NaN' AS DOUBLE)", "bigint", None),
    ],
)
def test_a_value_that_does_not_fit_is_a_data_error(
    engine: Engine, tmp_path: Path, value: str, declared: str, condition: str | None
) -> None:
    with pytest.raises(DataError) as caught:
        write(engine, tmp_path, f"SELECT {value} AS v", columns(f"v {declared}"))
    assert condition is None or caught.value.condition == condition
    with pytest.raises(DataError):
        write(engine, tmp_path, f"SELECT 1, {value} AS v", columns("a int"), columns(f"v {declared}"), (), "dynamic")


@pytest.mark.parametrize(
    ("value", "declared"),
    [("'1'", "int"), ("true", "int"), ("1", "boolean"), ("1", "date"), ("'2013-01-02'", "date"), ("1", "timestamp")],
)
def test_types_that_are_never_assigned(engine: Engine, tmp_path: Path, value: str, declared: str) -> None:
    with pytest.raises(EngineError) as caught:
        write(engine, tmp_path, f"SELECT {value}", columns(f"v {declared}"))
    assert caught.value.condition == "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
    assert caught.value.object == "v"


def test_a_write_of_another_arity(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        write(engine, tmp_path, "SELECT 1", columns("a int", "b int"))
    assert caught.value.sqlstate == "21S01"


def test_a_failing_write_leaves_files_in_its_directory_only(engine: Engine, rows: Run, tmp_path: Path) -> None:
    source = partitioned(tmp_path / "source", columns("p string"), [(str(n),) for n in range(20)])
    sql = "SELECT x, CAST(CASE WHEN x = 19 THEN 'bad' ELSE p END AS INT) FROM t"
    with pytest.raises(DataError) as caught:
        write(engine, tmp_path, sql, columns("x bigint"), columns("p int"), (), "w", source)
    assert caught.value.condition == "CAST_INVALID_INPUT"
    assert set(os.listdir(tmp_path)) <= {"source", "w"}
    assert len(rows(engine, "SELECT * FROM t", source)) == 20


def test_a_partition_value_too_long_for_a_path(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        write(engine, tmp_path, f"SELECT 1, '{'x' * 300}'", columns("a int"), columns("p string"))
    assert caught.value.condition == "PARTITION_VALUE_TOO_LONG"


def test_no_files_beside_the_data(engine: Engine, tmp_path: Path) -> None:
    files = write(engine, tmp_path, "SELECT 1, 'a'", columns("a int"), columns("p string"))
    files += write(engine, tmp_path, "SELECT 1", columns("a int"), (), (), "w/static")
    present = {os.path.join(folder, name) for folder, _, names in os.walk(tmp_path / "w") for name in names}
    assert present == {file.path for file in files}


def test_csv_is_written_and_read(engine: Engine, rows: Run, tmp_path: Path) -> None:
    data, partition = columns("a int", "s string", "t timestamp", "d double"), columns("p string")
    sql = f"VALUES (1, 'x, \"y\"', TIMESTAMP '{T}', CAST(1e20 AS DOUBLE), 'a'), (NULL, '', NULL, NULL, 'b')"
    files = engine.write(EngineQuery(sql), Write(str(tmp_path / "w"), "csv", data, partition))
    relation = replace(read_back(files, data, partition), format="csv")
    assert rows(engine, "SELECT * FROM t", relation) == [
        (1, 'x, "y"', at(2013, 1, 2, 3, 4, 5), 1e20, "a"), (None, "", None, None, "b")
    ]  # fmt: skip


@pytest.mark.parametrize("names", [("spark", "duckdb"), ("duckdb", "spark")], ids="-".join)
@pytest.mark.parametrize("type_", ["int", "string"])
def test_nulls_of_the_only_column_of_csv(
    names: tuple[str, str], type_: str, request: pytest.FixtureRequest, rows: Run, tmp_path: Path
) -> None:
    writer, *readers = (request.getfixturevalue(name) for name in (names[0], *names))
    data, partition = columns(f"a {type_}"), columns("p string")
    sql = "VALUES ('7', 'x'), (NULL, 'x'), (NULL, 'y'), (NULL, NULL)"
    sql = f"SELECT CAST(col1 AS {type_}), col2 FROM ({sql})"
    files = writer.write(EngineQuery(sql), Write(str(tmp_path / "w"), "csv", data, partition))
    assert sum(file.rows or 0 for file in files) == 4
    relation = replace(read_back(files, data, partition), format="csv")
    seven = 7 if type_ == "int" else "7"
    for reader in readers:
        assert rows(reader, "SELECT * FROM t", relation) == sorted(
            [(seven, "x"), (None, "x"), (None, "y"), (None, None)], key=repr
        )


@pytest.mark.parametrize("names", [("spark", "duckdb"), ("duckdb", "spark")], ids="-".join)
def test_what_one_engine_wrote_the_other_reads(
    names: tuple[str, str], request: pytest.FixtureRequest, rows: Run, tmp_path: Path
) -> None:
    writer, reader = (request.getfixturevalue(name) for name in names)
    data = columns("i int", "l bigint", "y tinyint", "m decimal(20,5)", "d double", "f float", "b boolean", "s string",
                   "dd date", "t timestamp")  # fmt: skip
    partition = columns("p string", "q timestamp")
    sql = (
        "SELECT -1, 9223372036854775807, CAST(-3 AS TINYINT), CAST(-12.34567 AS DECIMAL(20,5)), "
        "CAST('1e300' AS DOUBLE), CAST(0.5 AS FLOAT), true, 'é😀', DATE '0900-01-02', "
        "TIMESTAMP '1969-12-31 23:59:59.999999', 'x%/é', TIMESTAMP '2013-01-02 03:00:00' UNION ALL "
        "SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
    )
    files = write(writer, tmp_path, sql, data, partition)
    relation = read_back(files, data, partition)
    expected = [
        (-1, 2**63 - 1, -3, Decimal("-12.34567"), 1e300, 0.5, True, "é😀", dt.date(900, 1, 2),
         at(1969, 12, 31, 23, 59, 59, 999999), "x%/é", at(2013, 1, 2, 3)),
        (None,) * 12,
    ]  # fmt: skip
    assert rows(reader, "SELECT * FROM t", relation) == expected
    assert rows(writer, "SELECT * FROM t", relation) == expected


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "condition", "sqlstate"),
    [
        ("SELECT CAST('x' AS INT)", "CAST_INVALID_INPUT", "22018"),
        ("SELECT 1 / 0", "DIVIDE_BY_ZERO", "22012"),
        ("SELECT 2147483647 + 1", "ARITHMETIC_OVERFLOW", "22003"),
        ("SELECT to_timestamp('2013-13', 'yyyy-MM')", None, None),
        ("SELECT CAST(3000000000 AS INT)", "CAST_OVERFLOW", "22003"),
    ],
)
def test_values_at_fault_are_data_errors(engine: Engine, sql: str, condition: str | None, sqlstate: str | None) -> None:
    with pytest.raises(DataError) as caught:
        engine.execute(EngineQuery(sql))
    assert "\n" not in caught.value.message
    assert condition is None or (caught.value.condition, caught.value.sqlstate) == (condition, sqlstate)


def test_an_unknown_column_has_its_place(engine: Engine, tmp_path: Path) -> None:
    relation = partitioned(tmp_path, columns("p string"), [("a",)])
    sql = "SELECT x,\n  nope FROM t"
    with pytest.raises(EngineError) as caught:
        engine.execute(EngineQuery(sql, (relation,)))
    error = caught.value
    assert (error.condition, error.sqlstate) == ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703")
    assert error.position is not None
    assert sql[error.position.start : error.position.end] == "nope"
    assert "nope" in error.message
    assert "org.apache" not in error.message


def test_ctrl_c_stops_spark_and_leaves_it_usable(spark: SparkEngine, rows: Run) -> None:
    assert rows(spark, "SELECT 1") == [(1,)]
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            spark.execute(EngineQuery("SELECT id % 10 AS k, sum(hash(id)) AS s FROM range(2000000000000) GROUP BY 1"))
    finally:
        timer.cancel()
    assert time.monotonic() - started < 15
    assert rows(spark, "SELECT count(*) FROM range(1000)") == [(1000,)]


def test_explain_is_text(engine: Engine, tmp_path: Path) -> None:
    relation = partitioned(tmp_path, columns("p string"), [("a",)])
    assert "\n" in engine.explain(EngineQuery("SELECT count(*) FROM t WHERE p = :p", (relation,), {"p": "a"}))


@pytest.mark.parametrize("kind", [DuckDBEngine, SparkEngine])
def test_a_closed_engine_refuses(kind: type[DuckDBEngine] | type[SparkEngine]) -> None:
    engine = kind()
    engine.close()
    engine.close()
    with pytest.raises(EngineError) as caught:
        engine.execute(EngineQuery("SELECT 1"))
    assert caught.value.condition == "ENGINE_CLOSED"


def test_orc_is_read_by_both(engine: Engine, rows: Run, tmp_path: Path) -> None:
    import pyarrow.orc

    path = tmp_path / "a.orc"
    pyarrow.orc.write_table(pa.table({"A": pa.array([1, 2], pa.int32()), "x": ["n", None]}), path)
    relation = Relation("t", "orc", columns("a int", "missing string"), (), (scan_file(str(path)),))
    assert rows(engine, "SELECT * FROM t", relation) == [(1, None), (2, None)]
    assert rows(engine, "SELECT count(*) FROM t", relation) == [(2,)]
    relation = Relation("t", "orc", columns("missing string"), (), (scan_file(str(path)),))
    assert rows(engine, "SELECT count(*) FROM t", relation) == [(2,)]
