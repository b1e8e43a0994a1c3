"""Expressions without ANSI mode have the values that their conversions have with it, for all edge values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from converted_scripts import printed

from rewriter.convert.script import convert_script
from rewriter.convert.script_state import known_table
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery
from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = [
    "12", "12.7", ".5", "-.5", ".", "+.", "-.", "+", "-", "", " 7 ", "\t7.9\n", "- .5", "12.7abc", "12.x", "1e3",
    "1e3.5",
    "1.2.3", "99999999999", "99999999999.5", "-12.7", "+3.", "x", "12.7 5", "0x1F", "2147483648.1", "127.9", "128.1",
    "NaN", "Infinity", "1d", "1.5f", "-0", "7\x00", "5L", "1_0", "9223372036854775807.9", "  ", ".5.", "12.\n", "on",
    "true", "2024-01-05", "2024-02-30", "20240105", "20240230", "05/01/2024", "2024-01-05 10:11:12", "2024-1-2", "2024",
    "2024-01", "10:00", "a-b", "a-", "-", "http://a b", "http://a.b/c", "0", "0.0", "٣", "１", "7\x7f", None,
]  # fmt: skip
NUMBERS = [
    "(0, 0L, 0D, 0BD, DATE'2024-01-05', TIMESTAMP'2024-01-05 10:11:12', TRUE)",
    "(2, -3L, -0D, 1.50BD, DATE'1969-12-31', TIMESTAMP'1969-12-31 23:59:59', FALSE)",
    "(-7, 9223372036854775807L, double('NaN'), -99999999.99BD, NULL, NULL, NULL)",
    "(NULL, NULL, NULL, NULL, DATE'9999-12-31', TIMESTAMP'9999-12-31 00:00:00', TRUE)",
    "(12, 12L, 12D, 12BD, DATE'2024-02-29', TIMESTAMP'2024-02-29 00:00:00', FALSE)",
]
COLUMNS = {
    "s": "STRING", "i": "INT", "l": "BIGINT", "f": "DOUBLE", "n": "DECIMAL(10,2)", "d": "DATE", "t": "TIMESTAMP",
    "b": "BOOLEAN",
}  # fmt: skip
#: Expressions over the columns, each with those that DuckDB refuses today.
EXPRESSIONS = """
CAST(s AS INT)
cast(s as bigint)
CAST(s AS TINYINT)
s::smallint
int(s)
bigint(trim(s))
CAST(substr(s, 1, 3) AS INT)
CAST(regexp_extract(s, '([0-9]+)', 1) AS INT)
CAST(regexp_extract(s, 'x(\\\\d*)y', 1) AS INT)
CAST('12.7' AS INT)
CAST(concat(s, '1') AS INT)
CAST(s AS DOUBLE)
double(s)
CAST(s AS DECIMAL(10,2))
CAST(f AS DECIMAL(4,1))
CAST(n AS DECIMAL(3,1))
CAST(i AS DECIMAL(1,0))
CAST(s AS DATE)
date(s)
CAST(t AS DATE)
CAST(s AS TIMESTAMP)
CAST(d AS TIMESTAMP)
CAST(s AS BOOLEAN)
CAST(i AS BOOLEAN)
CAST(i AS STRING)
CAST(CAST(s AS DOUBLE) AS DECIMAL(5,1))
1 / i
i / 2
f / i
n / i
n / n
i / n
l / l
1.0 * n / i * 100
n / i / 2
-i / i
i / -i
(i - 2) / (i - 2)
100 / nullif(i, 0)
i % 2
7 % i
n % n
f % f
i DIV i
l DIV i
7 div (i - 2)
mod(7, i)
pmod(7, i)
s / 2
2 / s
s / s
s + 1
s - i
s * n
1 - s
-s
- s + 1
s % 2
i % s
s = 12
s > i
l >= s
s < 1.5 AS c
s <> f
n = s
s <=> 12
s = d
d > s
t <= s
s = b
d = '2024-01-05'
i = '12'
i > '1.5'
s BETWEEN 1 AND 12
i BETWEEN '0' AND '12'
s = CAST(i AS FLOAT)
s > CAST(i AS SMALLINT)
s IN (12, 7)
i IN ('12', '02', 'x')
d IN ('2024-01-05', '2024-1-5')
s IN ('12', 'x')
s NOT IN (12, 7)
coalesce(s, 0)
coalesce(i, s)
nvl(s, i)
nvl(i, 0)
if(i > 0, s, 0)
if(i > 0, i, s)
CASE WHEN i > 0 THEN s ELSE 0 END
CASE WHEN i > 0 THEN i END
CASE s WHEN 'x' THEN 1 ELSE 2 END
to_date(s)
to_date(s, 'yyyyMMdd')
to_date(t)
to_date(d)
to_timestamp(s)
to_timestamp(s, 'yyyy-MM-dd')
unix_timestamp(s)
unix_timestamp(s, 'dd/MM/yyyy')
unix_timestamp(t)
unix_timestamp(d)
to_unix_timestamp(s)
from_unixtime(unix_timestamp(s, 'yyyyMMdd'), 'yyyy-MM-dd')
from_unixtime(substr(s, 1, 5))
to_date(from_unixtime(unix_timestamp(s, 'dd/MM/yyyy')))
date_add(s, 1)
date_sub(d, 1)
date_add('2024-01-05', i)
datediff(s, d)
datediff('2024-01-05', s)
year(s)
month(d)
hour(s)
hour(t)
last_day(s)
trunc(s, 'MM')
date_trunc('DAY', s)
date_format(s, 'yyyy-MM')
months_between(s, d)
add_months(s, 1)
split(s, '-')[1]
split(s, '-')[0]
split(s, '-')[i]
element_at(split(s, '-'), 2)
parse_url(s, 'HOST')
abs(s)
round(s, 1)
sqrt(i)
length(s) / i
concat(s, '-', i)
s || i
round(1 / i, 2)
sum(1 / i) OVER (PARTITION BY s)
1 / count(*) OVER (PARTITION BY s)
CASE WHEN s = 12 THEN 1 / i ELSE i / (i - 12) END
"""


def cases() -> list[str]:
    return [line for line in EXPRESSIONS.strip().splitlines() if line]


def converted(expression: str) -> str:
    """Returns the query over the table v, without ANSI mode, as it is converted."""
    tables = {"v": known_table(COLUMNS, (), True)}
    conversion = convert_script(f"SELECT k, {expression} FROM v", is_hive=False, is_lenient=True, tables=tables)
    assert not conversion.unconverted, conversion.unconverted
    return conversion.text


def _source() -> str:
    """Returns a query of all edge values: each text, and each row of numbers."""
    from rewriter.planner.text.literals import string_literal

    texts = ", ".join("(NULL)" if text is None else f"({string_literal(text)})" for text in TEXTS)
    numbers = ", ".join(NUMBERS)
    return (
        "SELECT CAST(row_number() OVER (ORDER BY s, f, i) AS INT) AS k, s, i, l, f, CAST(n AS DECIMAL(10,2)) AS n, "
        f"d, t, b FROM (VALUES {texts}) AS x(s) CROSS JOIN (VALUES {numbers}) AS y(i, l, f, n, d, t, b)"
    )


@pytest.fixture(scope="module")
def plain(spark: SparkEngine) -> Iterator[SparkSession]:
    """Returns a session of Spark alone with the view v."""
    from pyspark.sql import SparkSession

    spark.columns(EngineQuery("SELECT 1 AS started"))
    session = SparkSession.builder.getOrCreate().newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.sql(_source()).localCheckpoint().createOrReplaceTempView("v")
    yield session
    session.catalog.dropTempView("v")


def _returned(session: SparkSession, sql: str, *, is_ansi: bool) -> tuple[Any, list[str]]:
    session.conf.set("spark.sql.ansi.enabled", str(is_ansi).lower())
    table = session.sql(sql).toArrow()
    columns = [column.to_pylist() for column in table.columns]
    rows = sorted(map(printed, zip(*columns, strict=True)))
    return [f"{field.name} {field.type}" for field in table.schema], rows


@pytest.mark.spark
@pytest.mark.parametrize("expression", cases())
def test_a_conversion_has_the_values_of_the_original(expression: str, plain: SparkSession) -> None:
    original = f"SELECT k, {expression} FROM v"
    expected = _returned(plain, original, is_ansi=False)
    assert _returned(plain, converted(expression), is_ansi=True) == expected


@pytest.mark.spark
def test_both_engines_agree(plain: SparkSession, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """What DuckDB runs has the same values, over a table of the same rows."""
    differences: list[tuple[str, Any]] = []
    refused = 0
    plain.conf.set("spark.sql.ansi.enabled", "true")
    frame = plain.sql("SELECT * FROM v").toArrow()
    with Session(tmp_path, duckdb) as session:
        columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
        session.execute(f"CREATE TABLE v (k INT, {columns})")
        session.append("v", frame)
        for expression in cases():
            sql = converted(expression)
            try:
                rows = sorted(map(printed, session.execute(sql).fetch()))
            except Error as error:
                if error.condition == "DUCKDB_UNSUPPORTED":
                    refused += 1
                else:
                    differences.append((expression, str(error)))
                continue
            _, expected = _returned(plain, sql, is_ansi=True)
            if rows != expected:
                differences.append(
                    (expression, [pair for pair in zip(rows, expected, strict=True) if pair[0] != pair[1]][:3])
                )
    assert not differences
    assert refused < len(cases()) / 3
