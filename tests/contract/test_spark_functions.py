"""Texts of numbers, hashes, replacements and intervals on DuckDB are those of Spark, over random values."""

from __future__ import annotations

import contextlib
import math
import random
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from contract.conftest import columns, parquet, scan_file

from rewriter.errors import NotSupportedError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.exec.spark.engine import SparkEngine

_ROWS = 400
_PARTS = ["a", "b", "ab", "[ab]", "[^a]", "\\d", "\\w", ".", "a+", "b+?", "(a|b)", "(ab)+", "(?:a|bc)+", "(b)", "a?b"]
_REPLACEMENTS = ["<$0>", "$1", "[$1-$2]", "\\$", "x\\\\y", "$10", ""]


def _doubles(chance: random.Random) -> list[float | None]:
    """Returns numbers of all kinds below 2^53, whose texts are the same in all releases of Java."""
    makers = (
        lambda: chance.uniform(-1, 1),
        lambda: round(chance.uniform(-1e6, 1e6), 2),
        lambda: chance.uniform(-1, 1) * 10 ** chance.randint(-300, 15),
        lambda: float(chance.randint(-(2**53) + 1, 2**53 - 1)),
        lambda: chance.randint(1, 9999) / chance.randint(1, 9999),
        # Some are half-way between two numbers of a digit less.
        lambda: chance.randint(-(10**7), 10**7) / 8,
        lambda: chance.choice([0.0, -0.0, math.nan, math.inf, -math.inf, 0.001, 1e7, 9999999.999999998, 5e-324, 1e22]),
        lambda: None,
    )
    return [chance.choice(makers)() for _ in range(_ROWS)]


def _relation(directory: Path, chance: random.Random) -> Relation:
    letters = ["a", "b", "c", "ab", "1", " ", "é", "😀", "-"]
    doubles = _doubles(chance)
    table = pa.table(
        {
            "r": pa.array(range(_ROWS), pa.int32()),
            "x": pa.array(doubles, pa.float64()),
            "f": pa.array([None if x is None else _float(x) for x in doubles], pa.float32()),
            "s": pa.array(
                [chance.choice([None, "".join(chance.choices(letters, k=chance.randint(0, 70)))]) for _ in range(_ROWS)]
            ),
            "n": pa.array([chance.choice([None, chance.getrandbits(63) - 2**62]) for _ in range(_ROWS)], pa.int64()),
            "t": pa.array([chance.randint(-(10**15), 10**15) for _ in range(_ROWS)], pa.timestamp("us", "UTC")),
        }
    )
    types = columns("r int", "x double", "f float", "s string", "n bigint", "t timestamp")
    return Relation("v", "parquet", types, (), (scan_file(parquet(directory / "v.parquet", table)),))


def _float(value: float) -> float:
    """Returns a FLOAT below 2^24 that is 0 or a normal one."""
    if abs(value) < 1e-37:
        return math.copysign(0, value)
    if math.isfinite(value) and abs(value) >= 2**24:
        return math.copysign(abs(value) % 2**23, value)
    return value


def _compare(spark: SparkEngine, duckdb: DuckDBEngine, relation: Relation, expressions: list[str]) -> None:
    items = ", ".join(f"{expression} AS c{place}" for place, expression in enumerate(expressions))
    query = EngineQuery(f"SELECT {items} FROM v ORDER BY r", (relation,), {})
    tables = [engine.execute(query).read_all() for engine in (duckdb, spark)]
    for place, expression in enumerate(expressions):
        rows = zip(*(table.column(place).to_pylist() for table in tables), strict=True)
        assert [pair for pair in rows if repr(pair[0]) != repr(pair[1])][:5] == [], expression


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 30))])
def test_random_values(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    parts = [chance.choices(_PARTS, k=chance.randint(1, 3)) for _ in range(9)]
    patterns = {"".join(chosen) + chance.choice(["", "", "$"]) for chosen in parts}
    replacing = []
    for pattern in sorted(patterns):
        literals = [text.replace("\\", "\\\\") for text in (pattern, chance.choice(_REPLACEMENTS))]
        expression = f"regexp_replace(s, '{literals[0]}', '{literals[1]}')"
        # Some patterns and replacements are refused.
        with contextlib.suppress(NotSupportedError):
            duckdb.execute(EngineQuery(f"SELECT {expression} FROM (VALUES ('a')) AS q(s)", (), {})).read_all()
            replacing.append(expression)
    moments = ["t - timestamp'2001-02-03 04:05:06.789'", "(t - date'2020-02-29') / 7", "-(date'2000-01-01' - t)"]
    _compare(
        spark,
        duckdb,
        _relation(tmp_path, chance),
        [
            "CAST(x AS STRING)",
            "CAST(f AS STRING)",
            "x || '|' || f",
            "hash(x, f, s, n, t)",
            "hash(s)",
            "xxhash64(x, f, s, n, t)",
            "xxhash64(s)",
            "conv(n, 10, 36)",
            "conv(n, 10, -7)",
            "soundex(s)",
            "url_encode(s)",
            "crc32(s)",
            "width_bucket(x, -1, 1, 17)",
            *moments,
            *(f"CAST({moment} AS STRING)" for moment in moments),
            *(f"extract({field} FROM t - date'2020-02-29')" for field in ("day", "hour", "minute", "second")),
            *replacing,
        ],
    )


def test_numbers_that_java_releases_print_differently(spark: SparkEngine, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """A large number has Spark's text, or none."""
    chance = random.Random(3)
    numbers = [struct.unpack(">d", chance.randbytes(8))[0] for _ in range(150)]
    numbers += [2.0**53 * 1.1**power for power in range(150)] + [2.0**power for power in range(-1074, 1024, 31)]
    numbers = [number for number in numbers if math.isfinite(number)]
    table = pa.table({"x": pa.array(numbers, pa.float64())})
    relation = Relation("v", "parquet", columns("x double"), (), (scan_file(parquet(tmp_path / "v.parquet", table)),))
    texts = spark.execute(EngineQuery("SELECT x, CAST(x AS STRING) FROM v", (relation,), {})).read_all()
    refused = 0
    for number, text in zip(*(column.to_pylist() for column in texts.columns), strict=True):
        query = EngineQuery("SELECT CAST(:x AS STRING)", (), {"x": number})
        refused += 1
        with contextlib.suppress(NotSupportedError):
            assert duckdb.execute(query).read_all().column(0).to_pylist() == [text]
            refused -= 1
    assert refused < len(numbers) / 3


def test_a_sample_has_its_share_of_the_rows(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    table = pa.table({"x": pa.array(range(100_000), pa.int32())})
    relation = Relation("v", "parquet", columns("x int"), (), (scan_file(parquet(tmp_path / "v.parquet", table)),))
    for sample in ("10 PERCENT", "BUCKET 1 OUT OF 10"):
        sql = f"SELECT COUNT(*), COUNT(DISTINCT x), MAX(x) - MIN(x) FROM v TABLESAMPLE ({sample})"
        count, distinct, spread = (
            column[0].as_py() for column in duckdb.execute(EngineQuery(sql, (relation,), {})).read_all().columns
        )
        # Nine standard deviations, and rows of the whole table.
        assert abs(count - 10_000) < 9 * 95
        assert distinct == count
        assert spread > 90_000
