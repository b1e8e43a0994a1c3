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
_KEYED = known_table({"k": "INT", **COLUMNS}, (), True)
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


#: Queries in which columns meet in one type.
QUERIES = """
SELECT s FROM v UNION ALL SELECT i FROM v
SELECT i FROM v UNION ALL SELECT s FROM v
SELECT i + 1 AS c, k FROM v UNION SELECT s, k FROM v
SELECT i, 7 FROM v UNION ALL SELECT s, 'x' FROM v
SELECT f FROM v UNION ALL SELECT s FROM v
SELECT n FROM v UNION ALL SELECT s FROM v
SELECT d AS c FROM v UNION ALL SELECT s FROM v
SELECT s FROM v UNION ALL SELECT t FROM v
SELECT i FROM v UNION ALL SELECT l FROM v UNION ALL SELECT s FROM v
SELECT s FROM v INTERSECT SELECT i FROM v
SELECT i FROM v INTERSECT SELECT l FROM v UNION ALL SELECT s FROM v
SELECT d FROM v UNION SELECT d FROM v UNION ALL SELECT s FROM v
SELECT s FROM v EXCEPT SELECT i FROM v
SELECT i FROM v EXCEPT ALL SELECT s FROM v
SELECT s FROM v MINUS SELECT l FROM v
WITH x AS (SELECT i AS c FROM v UNION ALL SELECT NULL) SELECT c FROM x UNION ALL SELECT s FROM v
SELECT c, c + 1 AS e FROM (SELECT i AS c FROM v UNION ALL SELECT s FROM v)
SELECT c = 12 AS e FROM (SELECT s AS c FROM v UNION ALL SELECT i FROM v)
(SELECT s FROM v) UNION ALL SELECT i FROM v
SELECT k FROM v WHERE s IN (SELECT i FROM v)
SELECT k FROM v WHERE i IN (SELECT s FROM v)
SELECT k FROM v WHERE s NOT IN (SELECT i FROM v WHERE i IS NOT NULL)
SELECT k FROM v WHERE f IN (SELECT s FROM v)
SELECT k FROM v WHERE d IN (SELECT s FROM v)
SELECT k FROM v WHERE (s, k) IN (SELECT i, k FROM v)
SELECT k FROM v WHERE l IN (SELECT CAST(i AS FLOAT) FROM v)
SELECT l FROM v UNION SELECT CAST(f AS FLOAT) FROM v
SELECT CAST(f AS FLOAT) + i AS c, l * CAST(f AS FLOAT) AS e, l % CAST(f AS FLOAT) AS g FROM v
SELECT i / CAST(f AS FLOAT) AS c, CAST(f AS FLOAT) + n AS e, 16777217 = CAST(l AS FLOAT) + 5 AS g FROM v
SELECT l = CAST(i AS FLOAT) AS c, 16777217 BETWEEN 16777216F AND 16777216F AS e FROM v
SELECT coalesce(i, CAST(f AS FLOAT)) AS c, 16777217 IN (16777216F) AS e, array(16777217, 1F) AS g FROM v
SELECT greatest(16777217, CAST(f AS FLOAT)) AS c, CASE WHEN i = 2 THEN 16777217 ELSE 1F END AS e FROM v
SELECT DISTINCT i AS c FROM v UNION ALL SELECT s FROM v ORDER BY c
SELECT i, count(*) AS c FROM v GROUP BY i UNION ALL SELECT s, 1 FROM v
SELECT map(i, 1, s, 2) AS c FROM v WHERE i = 2 AND s = 'x'
SELECT map('a', i, 'b', s) AS c FROM v
SELECT nullif(i, s) AS c FROM v
SELECT pmod(s, 3) AS c FROM v
SELECT mod(s, 3) AS c FROM v
SELECT pow(s, 2) AS c FROM v
SELECT power(2, s) AS c FROM v
SELECT atan2(s, 1) AS c FROM v
SELECT signum(s) AS c FROM v
SELECT log(s) AS c FROM v
SELECT substr('abc', s) AS c FROM v
SELECT repeat('a', s) AS c FROM v WHERE length(s) < 4
SELECT percentile(s, 0.5) AS c FROM v
SELECT corr(s, k) AS c FROM v
SELECT dayname(s) AS c FROM v
SELECT lag(i, 1, s) OVER (ORDER BY k) AS c FROM v
"""

#: Queries, each with a part of what is reported of it: nothing is changed in silence.
REPORTED = {
    "SELECT n FROM v UNION ALL SELECT n FROM v UNION ALL SELECT s FROM v": "UNION has texts and DECIMAL in n",
    "SELECT f FROM v UNION SELECT f FROM v UNION ALL SELECT s FROM v": "UNION has texts and DOUBLE in f",
    "SELECT i FROM v UNION SELECT l FROM v UNION ALL SELECT 1F": "UNION has FLOAT and BIGINT in l",
    "SELECT * FROM w UNION ALL SELECT s FROM v": "not known: the columns of UNION",
    "SELECT a FROM w UNION ALL SELECT s FROM v": "not known: a",
    "SELECT a FROM w EXCEPT SELECT a FROM x": "not known: a",
    "SELECT k FROM w WHERE a IN (SELECT s FROM v)": "not known: a",
    "SELECT k FROM v WHERE s IN (SELECT a FROM w)": "not known: a",
    "SELECT k FROM v WHERE s IN (SELECT * FROM w)": "not known: IN (SELECT …)",
    "SELECT k FROM v WHERE s IN (SELECT i AS c FROM v ORDER BY c LIMIT 2)": "IN (SELECT …) has texts and INT in i",
    "SELECT * FROM (SELECT s AS c FROM v) JOIN (SELECT i AS c FROM v) USING (c)": "USING has a text and a number in c",
    "SELECT * FROM (SELECT s AS c FROM v) NATURAL JOIN (SELECT i AS c FROM v)": "NATURAL JOIN has a text and a number",
    "SELECT k FROM v JOIN (SELECT CAST(f AS FLOAT) AS i FROM v) USING (i)": "USING has FLOAT and an integer in i",
    "SELECT * FROM w FULL JOIN x USING (a)": "not known: a",
    "SELECT l FROM v UNION ALL SELECT CAST(f AS FLOAT) FROM v UNION ALL SELECT f FROM v": "UNION has FLOAT and",
    "SELECT t.* FROM v t UNION ALL SELECT t.* FROM v t": "not known: the columns of UNION",
    "SELECT i AS c, c + 1 AS e FROM v UNION ALL SELECT s, k FROM v": "UNION has texts and INT in i",
}
#: Queries of which nothing is reported, and nothing changed.
UNCHANGED = [
    "SELECT a FROM w UNION ALL SELECT a FROM w",
    "SELECT i FROM v UNION ALL SELECT l FROM v",
    "SELECT s FROM v UNION ALL SELECT NULL",
    "SELECT a FROM w UNION ALL SELECT NULL",
    "SELECT * FROM w JOIN x USING (a)",
    "SELECT * EXCEPT (k) FROM v",
    "SELECT k FROM v WHERE CAST(f AS FLOAT) > 0",
    "SELECT d FROM v UNION ALL SELECT t FROM v",
    "SELECT k FROM v WHERE i IN (SELECT l FROM v)",
]


def cases() -> list[str]:
    return [line for line in EXPRESSIONS.strip().splitlines() if line]


def converted(expression: str) -> str:
    """Returns the query over the table v, without ANSI mode, as it is converted."""
    tables = {"v": known_table(COLUMNS, (), True)}
    conversion = convert_script(f"SELECT k, {expression} FROM v", is_hive=False, is_lenient=True, tables=tables)
    assert not conversion.unconverted, conversion.unconverted
    return conversion.text


def converted_query(query: str) -> str:
    conversion = convert_script(query, is_hive=False, is_lenient=True, tables={"v": _KEYED})
    assert not conversion.unconverted, conversion.unconverted
    return conversion.text


@pytest.mark.parametrize(("query", "reason"), REPORTED.items())
def test_columns_that_meet_in_an_uncertain_type_are_reported(query: str, reason: str) -> None:
    conversion = convert_script(query, is_hive=False, is_lenient=True, tables={"v": _KEYED})
    assert reason in "".join(entry.reason for entry in conversion.unconverted)
    assert conversion.unconverted


#: Statements of Hive over v and the table z (a INT, d DATE), each with what is reported of them.
OF_HIVE = {
    "INSERT INTO z SELECT s, d FROM v": "INSERT writes a text into the INT column a",
    "INSERT INTO z VALUES (1, NULL), (2, '2024-01-05')": "INSERT writes a text into the DATE column d",
    "INSERT INTO z (d, a) SELECT s, i FROM v": "INSERT writes a text into the DATE column d",
    "SELECT k FROM v WHERE s IN (SELECT i FROM v)": "IN (SELECT …) compares a text with numbers, in Hive",
    "INSERT INTO z SELECT i, d FROM v": "",
    "INSERT INTO z VALUES (1, NULL)": "",
    "SELECT s FROM v UNION ALL SELECT i FROM v": "",
    "SELECT k FROM v WHERE i IN (SELECT l FROM v)": "",
}


@pytest.mark.parametrize(("statement", "reason"), OF_HIVE.items())
def test_texts_that_hive_casts_are_reported(statement: str, reason: str) -> None:
    tables = {"v": _KEYED, "z": known_table({"a": "INT", "d": "DATE"}, (), is_of_spark=False)}
    conversion = convert_script(statement, is_hive=True, is_lenient=True, tables=tables)
    assert [reason in entry.reason for entry in conversion.unconverted] == ([True] if reason else [])


@pytest.mark.parametrize("query", UNCHANGED)
def test_columns_that_meet_in_one_type_stay(query: str) -> None:
    conversion = convert_script(query, is_hive=False, is_lenient=True, tables={"v": _KEYED})
    assert (conversion.text, conversion.unconverted) == (query, ())


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
@pytest.mark.parametrize("query", QUERIES.strip().splitlines())
def test_a_converted_query_has_the_rows_of_the_original(query: str, plain: SparkSession) -> None:
    expected = _returned(plain, query, is_ansi=False)
    assert _returned(plain, converted_query(query), is_ansi=True) == expected


@pytest.mark.spark
def test_both_engines_agree(plain: SparkSession, duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """What DuckDB runs has the same values, over a table of the same rows."""
    statements = [*map(converted, cases()), *map(converted_query, QUERIES.strip().splitlines())]
    differences: list[tuple[str, Any]] = []
    refused = 0
    plain.conf.set("spark.sql.ansi.enabled", "true")
    frame = plain.sql("SELECT * FROM v").toArrow()
    with Session(tmp_path, duckdb) as session:
        columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
        session.execute(f"CREATE TABLE v (k INT, {columns})")
        session.append("v", frame)
        for sql in statements:
            try:
                rows = sorted(map(printed, session.execute(sql).fetch()))
            except Error as error:
                if error.condition == "DUCKDB_UNSUPPORTED":
                    refused += 1
                else:
                    differences.append((sql, str(error)))
                continue
            _, expected = _returned(plain, sql, is_ansi=True)
            if rows != expected:
                differences.append((sql, [pair for pair in zip(rows, expected, strict=True) if pair[0] != pair[1]][:3]))
    assert not differences
    assert refused < len(statements) / 3
