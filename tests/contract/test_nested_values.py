"""Random arrays, maps and structs: both engines return the same values and types of the same expressions.

Also what tables do with such columns: both engines store, describe, compact and read them alike.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from contract.conftest import parquet, scan_file

from rewriter.catalog.model.objects import Column
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.sql_types import SqlType, arrow_type, parse_type
from rewriter.exec.translate.queries import translate
from rewriter.session import Session

_VALUES: dict[str, list[object]] = {
    "int": [0, 1, -(2**31), 2**31 - 1],
    "bigint": [0, -(2**63), 2**63 - 1],
    "string": ["", "a", "it's", "\n", "ü😀", '"q"'],
    "boolean": [True, False],
    "date": [dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31)],
    "timestamp": [
        dt.datetime(1, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2020, 2, 29, 1, 2, 3, 456789, tzinfo=dt.UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
    ],
    "double": [0.0, -0.0, float("nan"), float("inf"), -1.5, 1e300],
    "float": [0.0, -0.0, float("nan"), 1.5],
    "decimal(12,3)": [Decimal("0.000"), Decimal("999999999.999"), Decimal("-1.500"), Decimal("0.001")],
}
_KEYS = ("int", "string", "date", "bigint", "boolean", "timestamp")
_FIELDS = ("a", "B", "key", "value", "x", "Yy", "order", "`a b`", "select")
_ROWS, _COLUMNS = 8, 3


def _random_type(choice: random.Random, depth: int) -> str:
    kind = choice.random()
    if depth == 0 or kind < 0.3:
        return choice.choice(list(_VALUES))
    if kind < 0.6:
        return f"array<{_random_type(choice, depth - 1)}>"
    if kind < 0.75:
        return f"map<{choice.choice(_KEYS)},{_random_type(choice, depth - 1)}>"
    names = choice.sample(_FIELDS, choice.randint(1, 3))
    return f"struct<{','.join(f'{name}:{_random_type(choice, depth - 1)}' for name in names)}>"


def _random_value(choice: random.Random, type_: SqlType, nulls: float = 0.25) -> object:
    if choice.random() < nulls:
        return None
    count = choice.choice((0, 1, 2, 3))
    if type_.name == "array":
        return [_random_value(choice, type_.parts[0][1]) for _ in range(count)]
    if type_.name == "map":
        (_, key), (_, value) = type_.parts
        keys = dict.fromkeys(_random_value(choice, key, 0) for _ in range(count))
        return [(chosen, _random_value(choice, value)) for chosen in keys]
    if type_.name == "struct":
        return {name: _random_value(choice, part) for name, part in type_.parts}
    return choice.choice(_VALUES[str(type_)])


_OF_ARRAYS = """{x}|size({x})|get({x}, 1)|try_element_at({x}, -1)|array_distinct({x})|array_compact({x})
|slice({x}, -2, 2)|transform({x}, e -> e)
|transform({x}, (e, i) -> i)|filter({x}, e -> e is not null)|exists({x}, e -> e is null)
|forall({x}, e -> e is not null)|concat({x}, {x})|array_union({x}, {x})|array_except({x}, slice({x}, 1, 1))
|array_intersect({x}, slice({x}, 1, 1))|sort_array({x})|array_max({x})|cast({x} as string)|array_repeat({x}, 2)
|array_contains({x}, get({x}, 0))|array_position({x}, get({x}, 1))|array_remove({x}, get({x}, 0))|flatten({x})
|array_append({x}, get({x}, 0))|array_join({x}, ',')|arrays_overlap({x}, slice({x}, 1, 1))|{x} <=> array_compact({x})
|zip_with({x}, {x}, (a, b) -> coalesce(b, a))"""
_OF_MAPS = """{x}|map_keys({x})|map_values({x})|map_entries({x})|size({x})|map_filter({x}, (k, v) -> v is not null)
|transform_values({x}, (k, v) -> k)|transform_values({x}, (k, v) -> struct(k, v))|map_from_entries(map_entries({x}))
|map_from_arrays(map_keys({x}), map_values({x}))|cast({x} as string)|element_at({x}, get(map_keys({x}), 0))
|{x}[get(map_keys({x}), 1)]|map_contains_key({x}, get(map_keys({x}), 0))"""
_OF_STRUCTS = "{x}|cast({x} as string)|{x} = {x}|array({x}, null)|struct({x} as s)|map('k', {x})|{x} is null"
_TEMPLATES = {"array": _OF_ARRAYS, "map": _OF_MAPS, "struct": _OF_STRUCTS}


def _expressions(x: str, type_: SqlType, depth: int = 2) -> list[str]:
    listed = _TEMPLATES.get(type_.name, "{x}").replace("\n", "").replace("{x}", x).split("|")
    if depth and type_.name == "array":
        listed += _expressions(f"get({x}, 0)", type_.parts[0][1], depth - 1)
        listed += [f"transform({x}, e -> {inner})" for inner in _expressions("e", type_.parts[0][1], 0)]
    elif depth and type_.name == "map":
        listed += _expressions(f"get(map_values({x}), 0)", type_.parts[1][1], depth - 1)
    elif depth and type_.name == "struct":
        for name, part in type_.parts:
            listed += _expressions(f"{x}.`{name}`", part, depth - 1)
    return listed


def _outcome(engine: Engine, sql: str, relation: Relation) -> list[tuple[str, str]]:
    """Returns the type and the values of each column."""
    table = engine.execute(EngineQuery(sql, (relation,), {})).read_all()
    rows = table.to_pylist() if " order by " in sql else sorted(table.to_pylist(), key=repr)
    return [(str(field.type), repr([row[field.name] for row in rows])) for field in table.schema]


def _queries(names: list[str], types: list[str]) -> Iterator[str]:
    for name, type_ in zip(names, types, strict=True):
        yield f"select {name}, count(*) as n from v group by {name}"
        yield f"select distinct {name} from v"
        yield f"select a.r as r, b.r as s from v a join v b on a.{name} <=> b.{name}"
        if type_.startswith("array"):
            yield f"select r, e from v lateral view outer explode({name}) q as e"
        if type_.startswith("map"):
            yield f"select r, k, e from v lateral view explode({name}) q as k, e"


@pytest.mark.parametrize("seed", range(16))
def test_random_values(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    types = [_random_type(choice, 3) for _ in range(_COLUMNS)]
    names = [f"c{number}" for number in range(_COLUMNS)]
    declared = [Column("r", "int"), *map(Column, names, types)]
    values = {
        name: pa.array([_random_value(choice, parse_type(type_)) for _ in range(_ROWS)], arrow_type(parse_type(type_)))
        for name, type_ in zip(names, types, strict=True)
    }
    table = pa.table({"r": pa.array(range(_ROWS), pa.int32()), **values})
    relation = Relation("v", "parquet", tuple(declared), (), (scan_file(parquet(tmp_path / "v.parquet", table)),))
    listed = [
        expression
        for name, type_ in zip(names, types, strict=True)
        for expression in _expressions(name, parse_type(type_))
    ]
    computed = [expression for expression in listed if _is_translated(f"select {expression} as x from v", relation)]
    items = ", ".join(f"{expression} as x{number}" for number, expression in enumerate(computed))
    of_duckdb, of_spark = (
        _outcome(engine, f"select {items} from v order by r", relation) for engine in (duckdb, spark)
    )
    different = [case for case in zip(computed, of_duckdb, of_spark, strict=True) if case[1] != case[2]]
    assert different == [], (seed, types)
    for sql in _queries(names, types):
        if _is_translated(sql, relation):
            assert _outcome(duckdb, sql, relation) == _outcome(spark, sql, relation), (seed, types, sql)


def _is_translated(sql: str, relation: Relation) -> bool:
    try:
        translate(EngineQuery(sql, (relation,), {}))
    except Error:  # Maps cannot be compared.
        return False
    return True


#: Statements, each of which both engines execute with the same rows.
_STATEMENTS = """
INSERT INTO n VALUES (1, array(1, null), map('a', 1.5BD), struct(1 AS x, 'q' AS y, timestamp'2020-01-01' AS t), 1)
INSERT INTO n VALUES (2, array(), map(), null, 2)
INSERT INTO n SELECT 3, null, null, named_struct('X', null, 'Y', '', 'T', null), 2
SELECT * FROM n ORDER BY id
DESCRIBE n
SELECT id, a[0], m['a'], s.y, s.t, n.s.X FROM n WHERE id = 1
SELECT id, x FROM n LATERAL VIEW OUTER explode(a) q AS x ORDER BY id, x
SELECT id, s.*, p FROM n ORDER BY id
ALTER TABLE n COMPACT
SELECT * FROM n WHERE p = 2 ORDER BY id
CREATE TABLE c AS SELECT id, a, m, s FROM n
INSERT INTO c SELECT id, a, m, s FROM n WHERE s.x = 1
SELECT * FROM c ORDER BY id
CREATE VIEW w AS SELECT id, explode(m) AS (k, v) FROM c
SELECT * FROM w ORDER BY id
INSERT OVERWRITE DIRECTORY '{directory}/out' USING parquet SELECT id, a, m, s FROM n
SELECT * FROM parquet.`{directory}/out` ORDER BY id
INSERT OVERWRITE n PARTITION (p = 1) SELECT id, transform(a, e -> coalesce(e, 0L)), m, s FROM n WHERE p = 1
SELECT a FROM n WHERE p = 1
"""


def test_tables(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    outcomes = []
    for engine in (duckdb, spark):
        directory = tmp_path / engine.name
        with Session(directory / "warehouse", engine) as session:
            session.execute(
                "CREATE TABLE n (id INT, a ARRAY<BIGINT>, m MAP<STRING,DECIMAL(10,2)>, "
                "s STRUCT<x:INT,Y:STRING,t:TIMESTAMP>) PARTITIONED BY (p INT)"
            )
            statements = _STATEMENTS.strip().replace("{directory}", str(directory)).splitlines()
            outcomes.append([repr(session.execute(statement).fetch()) for statement in statements])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("insert", "condition"),
    [
        ("SELECT array('x'), null", "INCOMPATIBLE_DATA_FOR_TABLE"),
        ("SELECT array(1.5), null", "INCOMPATIBLE_DATA_FOR_TABLE"),
        ("SELECT null, named_struct('b', 1)", "INCOMPATIBLE_DATA_FOR_TABLE"),
        ("SELECT null, named_struct('a', 1, 'b', 2)", "INCOMPATIBLE_DATA_FOR_TABLE"),
    ],
)
def test_values_of_other_types(engine: Engine, tmp_path: Path, insert: str, condition: str) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute("CREATE TABLE n (a ARRAY<INT>, s STRUCT<a:BIGINT>)")
        with pytest.raises(Error, match=condition):
            session.execute(f"INSERT INTO n {insert}")
        assert session.execute("SELECT count(*) FROM n").fetch() == [(0,)]


def test_files_with_other_fields(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """Files may lack fields, spell them in another case and order, and have narrower types."""
    first = pa.table({"s": pa.array([{"B": 1, "a": "x"}, None], pa.struct([("B", pa.int32()), ("a", pa.string())]))})
    other = pa.struct([("a", pa.string()), ("other", pa.float64())])
    second = pa.table({"s": pa.array([{"a": "y", "other": 1.5}], other)})
    files = [scan_file(parquet(tmp_path / f"{n}.parquet", table)) for n, table in enumerate((first, second))]
    relation = Relation("v", "parquet", (Column("s", "struct<A:string,b:int,c:array<int>>"),), (), tuple(files))
    sql = "select s, s.a as a, s.b as b, s.c as c from v"
    assert _outcome(duckdb, sql, relation) == _outcome(spark, sql, relation)


def test_nan_within_values_of_files(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """A file's minimum and maximum leave out NaN, and DuckDB trusts them."""
    type_ = pa.struct([("x", pa.float64())])
    table = pa.table({"s": pa.array([{"x": 1.0}, {"x": float("nan")}], type_), "a": pa.array([[1.0], [float("nan")]])})
    path = tmp_path / "v.parquet"
    pq.write_table(table, path)
    declared = (Column("s", "struct<x:double>"), Column("a", "array<double>"))
    relation = Relation("v", "parquet", declared, (), (scan_file(str(path)),))
    sql = "select count(*) as n from v where s.x > 2 and a[0] > 2"
    assert _outcome(duckdb, sql, relation) == [("int64", "[1]")]
