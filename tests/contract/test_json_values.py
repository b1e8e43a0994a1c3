"""TO_JSON, FROM_JSON and JSON_TUPLE on DuckDB return Spark's results: of random types, values and texts."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from contract.conftest import columns, parquet, scan_file
from rotation import share

from rewriter.errors import NotSupportedError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.sql_types import SqlType, array_of, arrow_type, decimal, map_of, parse_type, struct_of

_SCALARS = (
    *map(parse_type, ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "date")),
    *map(parse_type, ("timestamp", "binary", "string", "int")),
    decimal(5, 2), decimal(18, 18), decimal(38, 10), decimal(38, 0),
)  # fmt: skip
_NAMES = ("a", "b", "A-b", "c", "ü", "d`q", 'e"f', "x")
_TEXTS = (
    "", "a", "Ünï", "😀", "it's", 'q"q', "\\", "/", "\x00\x1f\x7f", "\b\t\n\f\r", "\u2028", "1", "true", "NaN",
    "2020-01-02", "2020-1-2 3:4:5", "2020-01-02T03:04:05.123Z", "2020-13-01", "12.5", "-INF", "AP8Q", "x" * 300,
)  # fmt: skip
_NUMBERS = (
    "0", "-0", "1", "-1", "127", "200", "-129", "32768", "2147483648", "9223372036854775807", "9223372036854775808",
    "123456789012345678901234567890", "1.0", "1.10", "-0.0", "1e2", "1E-7", "1.005", "-999.995", "0.1", "16777217",
    "1e39", "1e400", "12345.6789", "1577836800", "0.30000000000000004", "5e-324", "1.5e300",
)  # fmt: skip


def _relation(directory: Path, name: str, table: pa.Table, *declared: str) -> Relation:
    file = scan_file(parquet(directory / f"{name}.parquet", table))
    return Relation(name, "parquet", columns(*declared), (), (file,))


def _results(engine: Engine, relation: Relation, sql: str) -> list[tuple[str, str, list[str]]]:
    """Returns the name, the type and the values of each column of a query's result."""
    result = engine.execute(EngineQuery(sql, (relation,), {})).read_all()
    fields = zip(result.schema, result.columns, strict=True)
    return [(field.name, str(field.type), [repr(value) for value in column.to_pylist()]) for field, column in fields]


def _type(generator: random.Random, depth: int, for_reading: bool) -> SqlType:
    kind = generator.choice(("scalar", "scalar", "array", "map", "struct")) if depth else "scalar"
    if kind == "array":
        return array_of(_type(generator, depth - 1, for_reading))
    if kind == "map":
        keys = _SCALARS[7:8] if for_reading else [type_ for type_ in _SCALARS if type_.name not in _NO_KEYS]
        return map_of(generator.choice(keys), _type(generator, depth - 1, for_reading))
    if kind == "struct":
        names = generator.sample(_NAMES, generator.randrange(1, 5))
        return struct_of([(name, _type(generator, depth - 1, for_reading)) for name in names])
    return generator.choice(_SCALARS)


_NO_KEYS = ("float", "double", "binary")


def _value(generator: random.Random, type_: SqlType, is_key: bool = False) -> Any:
    if not is_key and generator.random() < 0.2:
        return None
    if type_.name == "struct":
        return {name: _value(generator, part) for name, part in type_.parts}
    if type_.name == "map":
        keys = {_value(generator, type_.parts[0][1], True) for _ in range(generator.randrange(4))}
        return [(key, _value(generator, type_.parts[1][1])) for key in keys]
    if type_.element is not None:
        return [_value(generator, type_.element) for _ in range(generator.randrange(4))]
    if type_.is_integer:
        limit = 2 ** {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}[type_.name]
        return generator.choice((0, -1, limit - 1, -limit, generator.randrange(-limit, limit)))
    if type_.is_decimal:
        digits = generator.choice((0, 1, 10**type_.precision - 1, generator.randrange(10**type_.precision)))
        return Decimal((generator.randrange(2), tuple(map(int, str(digits))), -type_.scale))
    if type_.is_floating:
        wide = generator.choice((0.0, -0.0, float("nan"), float("-inf"), 1.5, -2.5e-5, 1e7, 0.001, generator.random()))
        return wide if type_.name == "double" else float(pa.scalar(wide, pa.float32()).as_py())
    return {
        "boolean": lambda: generator.random() < 0.5,
        "string": lambda: generator.choice(_TEXTS),
        "date": lambda: dt.date.fromordinal(generator.choice((1, 719163, 3652059, generator.randrange(1, 3652059)))),
        "timestamp": lambda: (
            dt.datetime(1, 1, 1, tzinfo=dt.UTC)
            + dt.timedelta(microseconds=generator.randrange(9998 * 365 * 86_400_000_000))
        ),
        "binary": lambda: generator.randbytes(generator.randrange(5)),
    }[type_.name]()


@pytest.mark.parametrize("seed", share(range(12), 3))
def test_values_as_texts(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    types = [struct_of([("x", _type(generator, 3, False)), ("y", _type(generator, 2, False))]) for _ in range(12)]
    types += [array_of(_type(generator, 2, False)), map_of(generator.choice(_SCALARS[:5]), _type(generator, 2, False))]
    values = {f"c{n}": [_value(generator, type_) for _ in range(30)] for n, type_ in enumerate(types)}
    arrays = {name: pa.array(column, arrow_type(types[int(name[1:])])) for name, column in values.items()}
    table = pa.table({"id": pa.array(range(30), pa.int32()), **arrays})
    relation = _relation(tmp_path, "t", table, "id int", *(f"c{n} {type_}" for n, type_ in enumerate(types)))
    items = [f"to_json(c{n}), to_json(c{n}, map('ignoreNullFields', 'false'))" for n in range(len(types))]
    sql = f"SELECT {', '.join(items)} FROM t ORDER BY id"
    for of_duckdb, of_spark in zip(*(_results(engine, relation, sql) for engine in (duckdb, spark)), strict=True):
        assert of_duckdb == of_spark


def _json(generator: random.Random, type_: SqlType | None, depth: int = 4) -> str:
    """Returns a text of about the type: some parts have other types, other names, or names that repeat."""
    chance = generator.random()
    if chance < 0.07 or depth == 0:
        return generator.choice(("null", "null", "true", "false", "NaN", "-Infinity", '""', "[]", "{}"))
    if type_ is None or chance < 0.15:
        kind = generator.choice(("number", "text", "array", "object"))
        if kind == "number":
            return generator.choice(_NUMBERS)
        if kind == "text":
            return json.dumps(generator.choice(_TEXTS), ensure_ascii=generator.random() < 0.5)
        parts = [_json(generator, None, depth - 1) for _ in range(generator.randrange(4))]
        if kind == "array":
            return f"[{', '.join(parts)}]"
        return _object(generator, list(zip(_NAMES, parts, strict=False)))
    if type_.name == "struct":
        fields = [(name, part) for name, part in type_.parts for _ in range(generator.choice((0, 1, 1, 1, 2)))]
        generator.shuffle(fields)
        shown = [(name, _json(generator, part, depth - 1)) for name, part in fields]
        return _object(generator, [*shown, *([(generator.choice(_NAMES), "[1, {}]")] if chance > 0.8 else [])])
    if type_.name == "map":
        names = generator.sample(_NAMES, generator.randrange(4))
        return _object(generator, [(name, _json(generator, type_.parts[1][1], depth - 1)) for name in names])
    if type_.element is not None:
        return f"[{', '.join(_json(generator, type_.element, depth - 1) for _ in range(generator.randrange(4)))}]"
    if type_.is_numeric:
        return generator.choice(_NUMBERS)
    if type_.name == "boolean":
        return generator.choice(("true", "false"))
    return json.dumps(generator.choice(_TEXTS))


def _object(generator: random.Random, fields: list[tuple[str, str]]) -> str:
    colon = generator.choice((":", " : "))
    return f"{{{', '.join(f'{json.dumps(name)}{colon}{value}' for name, value in fields)}}}"


def _damaged(generator: random.Random, text: str) -> str:
    """Returns most texts as they are, and others cut, with a character more or less, or in single quotes."""
    place = generator.randrange(len(text) + 1)
    match generator.randrange(12):
        case 0:
            return text[:place]
        case 1:
            return text[:place] + text[place + 1 :]
        case 2:
            return text[:place] + generator.choice("{}[],:\"'x1\\ \n\t\x01é") + text[place:]
        case 3:
            return text.replace('"', "'")
        case 4:
            return generator.choice(("", " ", "bad line", "\ufeff{}", "5", f"{text} x", f"\n {text}", f"x{text}"))
        case _:
            return text


def _accepted(duckdb: DuckDBEngine, directory: Path, expression: str, texts: list[str]) -> list[str]:
    """Returns the texts that DuckDB does not refuse."""
    accepted = []
    for text in texts:
        query = EngineQuery(f"SELECT {expression} FROM VALUES (:text) AS v(s)", (), {"text": text})
        try:
            duckdb.execute(query).read_all()
            accepted.append(text)
        except NotSupportedError:
            continue
    return accepted


@pytest.mark.parametrize("seed", share(range(24), 4))
def test_texts_as_values(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, seed: int) -> None:
    """Texts that DuckDB accepts have Spark's values. It accepts most of them."""
    generator = random.Random(seed)
    counts = [0, 0]
    for number in range(4):
        type_ = _type(generator, 3, True)
        while not type_.is_nested:
            type_ = _type(generator, 3, True)
        schema = str(type_).replace("\\", "\\\\").replace("'", "\\'")
        expression = f"from_json(s, '{schema}')"
        texts = [_damaged(generator, _json(generator, type_)) for _ in range(100)]
        accepted = _accepted(duckdb, tmp_path, expression, texts)
        counts[0] += len(accepted)
        counts[1] += len(texts)
        table = pa.table({"id": pa.array(range(len(accepted)), pa.int32()), "s": pa.array(accepted, pa.string())})
        relation = _relation(tmp_path, f"t{number}", table, "id int", "s string")
        sql = f"SELECT {expression} FROM t{number} ORDER BY id"
        (of_duckdb,), (of_spark,) = (_results(engine, relation, sql) for engine in (duckdb, spark))
        assert of_duckdb[:2] == of_spark[:2]
        pairs = zip(accepted, of_duckdb[2], of_spark[2], strict=True)
        different = [(schema, *pair) for pair in pairs if pair[1] != pair[2]]
        assert not different, different
    assert counts[0] > 0.7 * counts[1]


@pytest.mark.parametrize("seed", share(range(12), 3))
def test_tuples(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    type_ = struct_of([(name, _type(generator, 2, True)) for name in _NAMES])
    texts = [_damaged(generator, _json(generator, type_)) for _ in range(300)]
    names = ", ".join(f"'{name}'" for name in (*_NAMES, "a"))
    expression = f"json_tuple(s, {names})"
    accepted = _accepted(duckdb, tmp_path, expression, texts)
    table = pa.table({"id": pa.array(range(len(accepted)), pa.int32()), "s": pa.array(accepted, pa.string())})
    relation = _relation(tmp_path, "t", table, "id int", "s string")
    listed = ", ".join(f"x{number}" for number in range(len(_NAMES) + 1))
    for sql in (
        f"SELECT {expression}, s FROM t ORDER BY s, id",
        f"SELECT {listed} FROM t LATERAL VIEW {expression} j AS {listed} ORDER BY id",
        "SELECT count(x0), count(x1) FROM t LATERAL VIEW OUTER json_tuple(s, upper('B'), 'b') j AS x0, x1",
    ):
        for of_duckdb, of_spark in zip(*(_results(engine, relation, sql) for engine in (duckdb, spark)), strict=True):
            assert of_duckdb[:2] == of_spark[:2]
            pairs = zip(of_duckdb[2], of_spark[2], strict=True)
            assert [pair for pair in pairs if pair[0] != pair[1]] == []
    assert len(accepted) > 0.7 * len(texts)
