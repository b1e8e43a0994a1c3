"""Decimals on DuckDB equal Spark's to the digit, the type, the column's name and the error, also beyond 38 digits."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Context, Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from contract import decimal_expressions
from contract.conftest import columns, parquet, scan_file
from contract.decimal_expressions import TYPES, name_of
from rotation import share

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine

_ROWS = 8
_COLUMNS = (
    "id int",
    "g int",
    "i int",
    "b bigint",
    *(f"{name_of(*type_)} decimal({type_[0]},{type_[1]})" for type_ in TYPES),
)


def _relation(directory: Path, table: pa.Table, *declared: str) -> Relation:
    return Relation("t", "parquet", columns(*declared), (), (scan_file(parquet(directory / "t.parquet", table)),))


def _columns(engine: Engine, relation: Relation, sql: str) -> list[tuple[str, str, str]]:
    """Returns the name, the type and the values of each column of a query's result."""
    result = engine.execute(EngineQuery(sql, (relation,), {})).read_all()
    fields = zip(result.schema, result.columns, strict=True)
    return [(field.name, str(field.type), repr(column.to_pylist())) for field, column in fields]


def _condition(engine: Engine, relation: Relation, sql: str) -> str | None:
    """Returns the condition of a query's error, without its subclass; ``None`` if it has none."""
    try:
        _columns(engine, relation, sql)
    except Error as error:
        return error.condition.split(".")[0]
    return None


def _check(duckdb: DuckDBEngine, spark: SparkEngine, directory: Path, seed: int, count: int) -> None:
    """Compares random expressions. Where one is an error, it is compared in single rows; some errors are, too."""
    generator = random.Random(seed)
    relation = _relation(directory, decimal_expressions.table(generator, _ROWS), *_COLUMNS)
    computed, failed, refused = defaultdict(list), [], []
    for _ in range(count):
        depth = generator.choice((1, 2, 3))
        make = decimal_expressions.condition if generator.random() < 0.15 else decimal_expressions.expression
        expression = make(generator, depth)
        clauses = ["ORDER BY id", f"WHERE id = {generator.randrange(2)}"]
        for clause in clauses:
            try:
                result = _columns(duckdb, relation, f"SELECT {expression} FROM t {clause}")
            except Error as error:
                # The quotients of DIV beyond BIGINT, and those of remainders beyond 39 digits, are errors here alone.
                if error.condition == "DUCKDB_UNSUPPORTED" and "39 digits" not in str(error):
                    refused.append((expression, str(error)))
                elif depth == 1 and not any(word in expression for word in ("CAST", "CASE", " div ")):
                    # Of several errors, or one beside NULL, Spark and DuckDB may meet another one first.
                    failed.append((f"SELECT {expression} FROM t {clause}", error.condition.split(".")[0]))
                continue
            computed[clause].append((expression, *result))
            break
    assert refused == []
    for clause, results in computed.items():
        listed = ", ".join(expression for expression, _ in results)
        on_spark = _columns(spark, relation, f"SELECT {listed} FROM t {clause}")
        pairs = zip(results, on_spark, strict=True)
        assert [(result, column) for result, column in pairs if result[1] != column] == []
    in_single_rows = [pair for pair in failed if "WHERE" in pair[0]]
    for sql, condition in generator.sample(in_single_rows, min(4, len(in_single_rows))):
        assert (sql, _condition(spark, relation, sql)) == (sql, condition)


@pytest.mark.parametrize("seed", share(range(12), 4))
def test_random_expressions(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, seed: int) -> None:
    _check(duckdb, spark, tmp_path, seed, 100)


@pytest.mark.long
def test_many_random_expressions(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    for seed in range(1000, 1200):
        _check(duckdb, spark, tmp_path, seed, 100)


#: Operations of numbers of many digits, of which Spark cuts some before it rounds.
_ROUNDED = (
    "a * b", "a * c", "b * c", "c * d", "a / b", "b / c", "c / d", "d / a", "a + c", "b - d", "c + d", "a % b", "c % d",
    "-c", "abs(d)", "a * b * c", "a * (1 - b) * (1 + c)", "100.00 * c / d", "pmod(c, d)", "c div d", "a = c", "b < c",
    "coalesce(a, d)", "CAST(d AS DECIMAL(38,3))", "i * a", "d + i", "sum(d) OVER (ORDER BY i)",
    "avg(c) OVER (ORDER BY i)", "avg(CAST(a AS DECIMAL(28,28))) OVER (PARTITION BY i % 7)",
)  # fmt: skip


def test_long_numbers(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    generator = random.Random(1)
    types = {"a": (38, 38), "b": (38, 37), "c": (38, 20), "d": (38, 10)}
    digits = {"a": 38, "b": 37, "c": 27, "d": 24}

    def number(name: str) -> Decimal:
        most = 10 ** digits[name]
        return Decimal(generator.choice((-1, 1)) * generator.randrange(most // 10, most)).scaleb(
            -types[name][1], Context(prec=50)
        )

    count = 2000
    table = pa.table(
        {"i": pa.array(range(count), pa.int32())}
        | {name: pa.array([number(name) for _ in range(count)], pa.decimal128(*type_)) for name, type_ in types.items()}
    )
    relation = _relation(
        tmp_path, table, "i int", *(f"{name} decimal({type_[0]},{type_[1]})" for name, type_ in types.items())
    )
    sql = f"SELECT {', '.join(_ROUNDED)} FROM t ORDER BY i"
    for of_duckdb, of_spark in zip(*(_columns(e, relation, sql) for e in (duckdb, spark)), strict=True):
        assert of_duckdb == of_spark


#: Queries as people write them, over prices and shares.
_QUERIES = (
    "SELECT f, sum(q) AS sum_qty, sum(e) AS sum_base_price, sum(e * (1 - d)) AS sum_disc_price, "
    "sum(e * (1 - d) * (1 + x)), avg(q), avg(e), avg(d), count(*) FROM t GROUP BY f ORDER BY f",
    "SELECT 100.00 * sum(CASE WHEN f = 'A' THEN e * (1 - d) ELSE 0 END) / sum(e * (1 - d)) FROM t",
    "SELECT sum(CASE WHEN f = 'A' THEN e ELSE 0 END) / sum(e) AS share FROM t",
    "SELECT sum(e) / 7.0 FROM t",
    "SELECT f, avg(CAST(e AS DECIMAL(25,2))), avg(w), sum(w), avg(DISTINCT w), sum(DISTINCT w) FROM t "
    "GROUP BY f ORDER BY f",
    "SELECT f, avg(sum(CAST(e AS DECIMAL(17,2)))) OVER () FROM t GROUP BY f ORDER BY f",
    "SELECT f, sum(e), sum(e) * 100 / sum(sum(e)) OVER (PARTITION BY 1) FROM t GROUP BY f ORDER BY f",
    "SELECT f, avg(sum(e)) OVER (PARTITION BY f ORDER BY d ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t "
    "GROUP BY f, d ORDER BY f, d",
    "SELECT f FROM t GROUP BY f HAVING sum(e * q) > (SELECT sum(e * q) * 0.0000100000 FROM t) ORDER BY f",
    "SELECT f, avg(w) / avg(e) FROM t GROUP BY f HAVING avg(e) / avg(q) > 1.5 ORDER BY 2, f",
    "SELECT f, avg(e) FROM t WHERE e > 1.2 * (SELECT avg(e) FROM t AS u WHERE u.f = t.f) GROUP BY f ORDER BY f",
    "SELECT CAST(e AS DECIMAL(25,2)) * CAST(q AS DECIMAL(25,2)), CAST(e AS DECIMAL(32,4)) * CAST(d AS DECIMAL(16,2)), "
    "w / w, w / CAST(q AS DECIMAL(38,10)) FROM t ORDER BY n",
    "SELECT w FROM t WHERE n < 3 UNION SELECT CAST(q AS DECIMAL(38,30)) FROM t ORDER BY 1",
    "SELECT q FROM t INTERSECT SELECT CAST(q AS DECIMAL(38,36)) FROM t WHERE n > 90 ORDER BY 1",
    "SELECT t.n, u.n FROM t JOIN t AS u ON t.w = CAST(u.e AS DECIMAL(38,32)) AND u.n > 90 ORDER BY 1, 2",
    "SELECT n, CASE WHEN f = 'A' THEN w WHEN f = 'B' THEN CAST(d AS DECIMAL(38,37)) ELSE 1 END FROM t ORDER BY n",
    "SELECT array(w, CAST(d AS DECIMAL(38,37)))[0], greatest(w, CAST(d AS DECIMAL(38,30))) FROM t ORDER BY n",
    "SELECT * FROM VALUES (1234567890123456789012345678901234567.5), (0.123456789) AS v(c) ORDER BY c",
    "SELECT try_avg(e), try_sum(e), try_divide(w, d), NULL + w, NULL div w, w / NULL, -NULL * w FROM t GROUP BY ALL "
    "ORDER BY 1, 2, 3",
    "SELECT w IN (q, CAST(d AS DECIMAL(38,37))), w BETWEEN d AND CAST(q AS DECIMAL(38,36)), w IN (SELECT q FROM t) "
    "FROM t ORDER BY n",
    "SELECT f, min(w * q), max(w / q), count(DISTINCT w * q), first(w * 0) FROM t WHERE q > 0 GROUP BY f ORDER BY f",
)  # fmt: skip


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Relation:
    generator = random.Random(2)
    count = 100

    def cents(most: int, least: int = 0) -> pa.Array:
        # Values of tests for equality are among them.
        numbers = [None if n % 17 == 5 else Decimal(generator.randrange(least, most)).scaleb(-2) for n in range(count)]
        return pa.array([Decimal(1), *numbers[1:]], pa.decimal128(15, 2))

    longs = [Decimal(generator.randrange(10**12)).scaleb(-10) for _ in range(count - 1)]
    table = pa.table(
        {
            "n": pa.array(range(count), pa.int32()),
            "f": pa.array([generator.choice("ABC") for _ in range(count)]),
            "q": cents(5001, 100),
            "e": cents(10_500_000, 90_000),
            "d": cents(11, 1),
            "x": cents(9),
            "w": pa.array([Decimal(1), *longs], pa.decimal128(38, 10)),
        }
    )
    prices = [f"{name} decimal(15,2)" for name in "qedx"]
    directory = tmp_path_factory.mktemp("prices")
    return _relation(directory, table, "n int", "f string", *prices, "w decimal(38,10)")


@pytest.mark.share(2)
@pytest.mark.parametrize("sql", _QUERIES)
def test_queries_of_prices(spark: SparkEngine, duckdb: DuckDBEngine, prices: Relation, sql: str) -> None:
    assert _columns(duckdb, prices, sql) == _columns(spark, prices, sql)


_FAILING = (
    "SELECT a + a FROM t", "SELECT a - -1 FROM t", "SELECT a * 2 FROM t", "SELECT a * a FROM t",
    "SELECT a / 0.1 FROM t",
    "SELECT a / 0 FROM t", "SELECT a % 0 FROM t", "SELECT a div 0.0 FROM t", "SELECT -a FROM t", "SELECT avg(a) FROM t",
    "SELECT sum(a) FROM (SELECT a FROM t UNION ALL SELECT a FROM t)", "SELECT abs(-a) FROM t",
    "SELECT sum(a + 1) FROM t",
    "SELECT a = CAST('0.5' AS DECIMAL(38,1)) OR a + 1 > 0 FROM t", "SELECT count(a + 1) FROM t",
    "SELECT round(a, -1) FROM t", "SELECT count(a * 2) FROM t",
    "SELECT count(*) FROM t WHERE a + 1 > 0", "SELECT count(a / 0) FROM t", "SELECT 1 FROM t WHERE a * 1.0000001 > 1",
    "SELECT CAST(a AS DECIMAL(38,1)) FROM t", "SELECT row_number() OVER (ORDER BY a / 0) FROM t",
    "SELECT a FROM t GROUP BY a HAVING max(a) / 0 > 1", "SELECT max(a / 0) FROM t", "SELECT pmod(a, 0.0) FROM t",
    "SELECT sum(a) OVER (ORDER BY a) FROM (SELECT a FROM t UNION ALL SELECT a - 1 FROM t)",
)  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("sql", _FAILING)
def test_overflows(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, sql: str) -> None:
    table = pa.table({"a": pa.array([Decimal("9" * 38)], pa.decimal128(38, 0))})
    relation = _relation(tmp_path, table, "a decimal(38,0)")
    condition = _condition(spark, relation, sql)
    assert condition is not None
    # Which of the two Spark reports for a sum depends on where its rows are.
    if "sum(a)" in sql:
        assert {condition, _condition(duckdb, relation, sql)} <= {"ARITHMETIC_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE"}
    else:
        assert _condition(duckdb, relation, sql) == condition


_INTEGER_TYPES = ("tinyint", "smallint", "int", "bigint")
_INTEGER_QUERIES = (
    "SELECT a + 1 FROM t", "SELECT a - -1 FROM t", "SELECT a * 2 FROM t", "SELECT a + a FROM t", "SELECT a * a FROM t",
    "SELECT count(a + 1) FROM t", "SELECT sum(a + 1) FROM t", "SELECT count(*) FROM t WHERE a + 1 > 0",
    "SELECT sum(a * 3) FROM t", "SELECT max(a + 100Y) FROM t", "SELECT avg(a - 2147483647) FROM t",
    "SELECT a + 5L FROM t",
    "SELECT try_add(a, a) FROM t", "SELECT try_multiply(a, a) FROM t", "SELECT (a + 1) + 2147483600 FROM t",
)  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize("type_", _INTEGER_TYPES)
@pytest.mark.parametrize("sql", _INTEGER_QUERIES)
def test_integers_at_the_ends_of_their_types(
    spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, sql: str, type_: str
) -> None:
    """DuckDB's optimizer gets operations that cannot overflow: it assumes that none does."""
    arrow = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}[type_]
    largest = 2 ** (arrow.bit_width - 1) - 1
    for values in ([largest], [-largest - 1], [-largest - 1, largest, 3, None]):
        directory = tmp_path / f"{len(values)}{values[0]}"
        directory.mkdir()
        relation = _relation(directory, pa.table({"a": pa.array(values, arrow)}), f"a {type_}")
        condition = _condition(spark, relation, sql)
        assert _condition(duckdb, relation, sql) == condition
        if condition is None:
            assert _columns(duckdb, relation, sql) == _columns(spark, relation, sql)
