"""SQL functions, session variables, IDENTIFIER, EXECUTE IMMEDIATE and ``${x}`` return what Spark alone returns: rows,
names, types and conditions of errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from rewriter.errors import Error
from rewriter.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from rewriter.exec.spark.engine import SparkEngine

#: Functions that return a table, in the form of ``SCRIPT``.
TABLE_FUNCTIONS = r"""
CREATE TABLE t (a INT, b STRING) USING parquet
INSERT INTO t VALUES (1, 'x'), (2, NULL), (3, 'z')
CREATE FUNCTION f(x INT, y STRING DEFAULT 'd') RETURNS TABLE (p INT, q STRING) RETURN SELECT a, b FROM t WHERE a > x
SELECT * FROM f(1)
SELECT g.p, g.q FROM f(1, 'k') AS g
SELECT f.p FROM f(1)
SELECT q, p FROM default.f(2)
SELECT u, v FROM f(1) AS g(u, v)
SELECT * FROM f(y => 'x', x => '1')
!SELECT * FROM f()
SELECT * FROM f(1, 2, 3)
SELECT f(1)
SELECT * FROM f(1) g(u)
SELECT * FROM t JOIN f(1) ON t.a = f.p
SELECT t.a, g.p FROM t LEFT JOIN f(2) AS g ON t.a = g.p
SELECT * FROM t, f(1) g WHERE t.a = g.p
!SELECT * FROM t, f(t.a) g
!SELECT * FROM t, LATERAL f(t.a) g
!SELECT * FROM f((SELECT max(a) FROM t))
!SELECT * FROM f(rand() * 3)
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM f(1) WHERE p = a)
SELECT a FROM t WHERE a IN (SELECT p FROM f(1))
SELECT (SELECT max(p) FROM f(1)), 1 + (SELECT min(p) FROM f(1)) FROM t
WITH c AS (SELECT * FROM f(1)) SELECT count(*) FROM c
WITH t AS (SELECT 9 AS a, 'q' AS b) SELECT * FROM f(1), t
SELECT p FROM f(1) UNION ALL SELECT a FROM t
SELECT * FROM f(1) PIVOT (count(*) FOR p IN (2, 3))
SELECT * FROM f(x => 1) LATERAL VIEW explode(array(p, p * 10)) w AS z
FROM f(1) SELECT p
SELECT count(*) FROM f(1) CROSS JOIN f(2) AS g
SELECT * FROM f('x')
SELECT * FROM f(NULL)
CREATE VIEW v AS SELECT p AS w FROM f(1)
SELECT * FROM v
CREATE FUNCTION g1(x INT) RETURNS TABLE RETURN SELECT x AS k, x + 1 AS l
SELECT g1.*, l - k AS d FROM g1(3)
SELECT * FROM g1(3) a JOIN g1(4) b ON a.l = b.k
CREATE FUNCTION g2(x INT) RETURNS TABLE RETURN SELECT x, 'c' AS y
SELECT * FROM g2(4)
CREATE FUNCTION g3(x INT) RETURNS TABLE RETURN SELECT z.x, z.a AS w FROM (SELECT x, a FROM t) z
SELECT * FROM g3(4)
CREATE FUNCTION g4(x INT) RETURNS TABLE (k BIGINT, l STRING, m DECIMAL(4, 1)) RETURN SELECT x, x, x
SELECT * FROM g4(7)
CREATE FUNCTION g5() RETURNS TABLE (k TINYINT) RETURN SELECT 300
SELECT * FROM g5()
CREATE FUNCTION g6(x INT) RETURNS TABLE (k INT) RETURN WITH c AS (SELECT x AS z) SELECT z FROM c
SELECT * FROM g6(3)
CREATE FUNCTION g7(x INT) RETURNS TABLE (k INT) RETURN SELECT x UNION ALL SELECT a FROM t WHERE a < x ORDER BY 1 LIMIT 2
SELECT * FROM g7(3)
CREATE FUNCTION g8(a INT) RETURNS TABLE (k INT, b STRING) RETURN SELECT g8.a, b FROM t WHERE a > g8.a
SELECT * FROM g8(1)
CREATE FUNCTION g9(lo INT, hi INT) RETURNS TABLE (k INT) RETURN SELECT t.a FROM f(lo) r JOIN t ON a = p WHERE a <= hi
SELECT * FROM g9(1, 2)
SELECT * FROM g9(1, hi => 3)
CREATE FUNCTION h1(x INT) RETURNS INT RETURN SELECT max(p) FROM f(x)
SELECT h1(1)
CREATE FUNCTION h2(x INT) RETURNS TABLE (k INT) RETURN SELECT h1(x)
SELECT * FROM h2(1)
SELECT * FROM h1(1)
CREATE FUNCTION h3(x INT) RETURNS TABLE (k INT, s STRING) RETURN (SELECT a, b FROM t) UNION (SELECT x, '') ORDER BY a, b
SELECT * FROM h3(7)
CREATE FUNCTION h4(x INT) RETURNS TABLE (k INT, s STRING) RETURN SELECT * FROM VALUES (1, 'a') AS v(k, s) WHERE k < x
SELECT * FROM h4(2)
CREATE FUNCTION h5(xs ARRAY<INT>) RETURNS TABLE (k INT) RETURN SELECT explode(xs)
SELECT * FROM h5(array(1, 2))
CREATE FUNCTION h6(x DATE) RETURNS TABLE (d DATE) RETURN SELECT x
SELECT d > DATE '2024-01-01' FROM h6(current_date())
SELECT * FROM h6(date_add(DATE '2024-01-01', 3))
CREATE TEMPORARY FUNCTION tt(x INT) RETURNS TABLE (k INT) RETURN SELECT p FROM f(x)
SELECT tt.k FROM tt(2)
!CREATE FUNCTION bad(x INT) RETURNS TABLE (k INT) RETURN SELECT k FROM tt(x)
CREATE VIEW badv AS SELECT * FROM tt(1)
CREATE TEMPORARY VIEW tv AS SELECT * FROM tt(1)
SELECT * FROM tv
DECLARE s INT DEFAULT 1
SELECT p, s FROM f(s + 1)
INSERT INTO t SELECT p + 10, q FROM f(2)
SELECT * FROM t
DESCRIBE FUNCTION f
DESCRIBE FUNCTION g1
CREATE FUNCTION i1(x INT) RETURNS TABLE (k BIGINT) RETURN SELECT x, 1
CREATE FUNCTION i2(x INT) RETURNS TABLE (k INT, K INT) RETURN SELECT x, x
CREATE FUNCTION i3(x INT) RETURNS TABLE () RETURN SELECT x
CREATE FUNCTION i4(x INT) RETURNS TABLE (k INT DEFAULT 3) RETURN SELECT x
CREATE FUNCTION i5(x INT) RETURNS TABLE (k INT) RETURN x
CREATE FUNCTION i6(x INT) RETURNS TABLE (k INT) RETURN SELECT y
!CREATE FUNCTION i7(x INT) RETURNS TABLE (k INT) RETURN SELECT k FROM i7(x)
CREATE FUNCTION i8(x INT) RETURNS TABLE RETURN SELECT x, x
CREATE FUNCTION i9(x INT) RETURNS TABLE RETURN SELECT x + 1
CREATE FUNCTION cte(x BIGINT) RETURNS BIGINT RETURN (WITH t AS (SELECT 100 AS a) SELECT a + x FROM t)
!SELECT cte((SELECT count(*) FROM t))
CREATE OR REPLACE FUNCTION h1(x INT) RETURNS TABLE (z INT) RETURN SELECT x
SELECT * FROM h1(1)
DROP FUNCTION f
SELECT * FROM f(1)
SELECT * FROM v
"""

#: A statement a line. One behind ``!`` has another outcome here, one behind ``~`` is refused by DuckDB.
SCRIPT = r"""
CREATE TABLE t (a INT, b STRING, d DATE) USING parquet
INSERT INTO t VALUES (1, 'x', DATE '2024-01-01'), (2, NULL, DATE '2024-01-02')
CREATE TEMPORARY FUNCTION Foo(Xy INT, z DECIMAL(10, 2) DEFAULT 1.5) RETURNS INT COMMENT 'c' RETURN xy + 1
SELECT FOO(1), foo(a) + 1, foo('7'), foo(1.9D), sum(foo(a)) OVER () FROM t
SELECT CAST(foo(1) AS STRING), -foo(1), foo(foo(a)), foo(1 + 1, z => 3), foo(Xy => 3), (foo(1)), foo(1) IS NULL FROM t
SELECT foo(a), count(*) FROM t GROUP BY foo(a) HAVING foo(a) > 1
SELECT a FROM t WHERE foo(a) IN (SELECT foo(a) FROM t WHERE a = 1)
SELECT foo('x')
SELECT foo(3000000000L)
SELECT foo(2147483647)
SELECT foo()
SELECT foo(1, 2, 3)
SELECT foo(y => 3)
SELECT foo(z => 1, 1)
SELECT foo(1, xy => 1)
SELECT foo(xy => 1, xy => 1)
SELECT foo(z => 1)
SELECT foo(DISTINCT 1)
SELECT foo(1) FILTER (WHERE true)
SELECT foo(1) OVER ()
CREATE TEMPORARY FUNCTION foo(x INT) RETURNS INT RETURN x
CREATE TEMPORARY FUNCTION db.f2(x INT) RETURNS INT RETURN x
CREATE TEMPORARY FUNCTION IF NOT EXISTS f2(x INT) RETURNS INT RETURN x
CREATE FUNCTION foo(x INT) RETURNS INT RETURN x * 100
SELECT foo(1), default.foo(1), spark_catalog.default.foo(2)
DROP FUNCTION foo
DROP TEMPORARY FUNCTION foo
SELECT foo(1)
CREATE FUNCTION foo(x INT) RETURNS INT RETURN x
CREATE FUNCTION IF NOT EXISTS foo(x INT) RETURNS INT RETURN x
DESCRIBE FUNCTION foo
CREATE FUNCTION g(x BIGINT, y STRING DEFAULT 'd') RETURN concat(y, x)
SELECT g(1), g(1, 'z'), g(x => 1)
DESCRIBE FUNCTION g
CREATE OR REPLACE FUNCTION foo(x INT) RETURNS INT RETURN length(g(x))
SELECT foo(123)
CREATE OR REPLACE FUNCTION g(x BIGINT) RETURNS STRING RETURN CAST(foo(1) AS STRING)
CREATE FUNCTION most() RETURNS INT RETURN (SELECT max(a) FROM t)
SELECT most(), a FROM t
CREATE FUNCTION over_it(a INT) RETURNS BIGINT RETURN (SELECT count(*) FROM t WHERE t.a > over_it.a)
SELECT over_it(1), over_it(0)
CREATE FUNCTION total(x INT) RETURNS BIGINT RETURN sum(x)
CREATE FUNCTION dup(x INT, X INT) RETURNS INT RETURN x
CREATE FUNCTION dflt(x INT DEFAULT 3, y INT) RETURNS INT RETURN x
CREATE FUNCTION tiny(x INT) RETURNS TINYINT RETURN x
SELECT tiny(300)
CREATE TEMPORARY FUNCTION tf(x INT) RETURNS INT RETURN foo(x)
CREATE FUNCTION h3(x INT) RETURNS INT RETURN tf(x)
CREATE VIEW v1 AS SELECT tf(a) AS z FROM t
CREATE VIEW v2 AS SELECT foo(a) AS z FROM t
SELECT * FROM v2
CREATE TEMPORARY VIEW v3 AS SELECT tf(a) AS z FROM t
SELECT * FROM v3
DROP TEMPORARY FUNCTION tf
SELECT * FROM v3
SHOW USER FUNCTIONS
DROP FUNCTION nope
DROP FUNCTION IF EXISTS nope
DROP TEMPORARY FUNCTION nope
~CREATE TEMPORARY FUNCTION rd() RETURNS DOUBLE RETURN rand()
~SELECT rd() = rd()
DECLARE v INT DEFAULT 5
DECLARE v INT DEFAULT 6
DECLARE OR REPLACE VARIABLE v INT DEFAULT 6
DECLARE VARIABLE w DEFAULT 'a''b\\'
DECLARE OR REPLACE nothing DATE
DECLARE m1, m2 = 1.50
DECLARE day DATE DEFAULT DATE '2024-01-02'
DECLARE moment TIMESTAMP DEFAULT TIMESTAMP '2024-01-02 03:04:05.1234'
SELECT a FROM t VERSION AS OF v
SELECT a FROM t VERSION AS OF session.v AS x
SELECT a FROM t VERSION AS OF (v)
SELECT a FROM t FOR VERSION AS OF v + 1
!SELECT a FROM t TIMESTAMP AS OF moment
DECLARE dbl DOUBLE DEFAULT 1e20
DECLARE nan DOUBLE DEFAULT double('NaN')
DECLARE neg DOUBLE DEFAULT -0.0D
DECLARE small SMALLINT DEFAULT -6
DECLARE big BIGINT DEFAULT -9223372036854775808
DECLARE yes BOOLEAN DEFAULT true
DECLARE exact DECIMAL(5, 2) DEFAULT 1.234
SELECT v, V, `v`, session.v, system.session.v, v AS z, nothing, m1, m2, day, moment, nan, neg, small, yes, exact
SELECT v + 1, abs(v), -v, v BETWEEN 1 AND 9, CAST(v AS STRING), isnull(nothing), upper(w), abs(small), abs(dbl)
SELECT isnull(day), isnull(moment), isnull(nan), isnull(yes), isnull(exact), isnull(big), abs(v - small)
SELECT 1-small, 1 -small, neg FROM t
SELECT big - 1
DECLARE a INT DEFAULT 99
SELECT a, session.a FROM t
SELECT a FROM (SELECT b FROM t)
SELECT b AS v, v FROM t
SELECT v AS q, v + 1 AS r FROM t WHERE d < day
SELECT a AS v FROM t WHERE v = 6 ORDER BY v
SELECT a AS v, count(*) FROM t GROUP BY v
SELECT max(a) AS v FROM t HAVING v = 2
SELECT b, v FROM t GROUP BY b, v
SELECT b, a FROM t ORDER BY v, a
SELECT a FROM t AS v WHERE v.a < 2
SELECT t.v FROM t
SELECT (SELECT max(v) FROM t) AS k, a AS v FROM t
WITH c AS (SELECT v AS k) SELECT k, v FROM c
SELECT k FROM v2 CROSS JOIN (SELECT v AS k) AS s WHERE v > z
SELECT a FROM t UNION ALL SELECT v ORDER BY a
INSERT INTO t VALUES (v, w, NULL)
SELECT a, b FROM t
SET VAR v = '10', w = concat('is ', small)
SELECT v, w
SET VAR v = 'xx'
SET VAR v = 3000000000
SET VAR v = 1.9
SELECT v
SET VARIABLE v = (SELECT max(a) FROM t)
SELECT v
SET VAR (v, w) = (SELECT a, b FROM t WHERE a = 1)
SELECT v, w
SET VAR (v, w) = (SELECT a, b FROM t WHERE a > 100)
SELECT v, w
SET VAR (v, w) = (SELECT a, b FROM t)
SET VAR (v, v) = (SELECT 1, 2)
SET VAR (v, w) = (SELECT 1)
SET VAR v = DEFAULT
SELECT v
SET VAR none = 1
SET v = 3
DECLARE s.v INT
DECLARE plain
DECLARE z5 INT DEFAULT (SELECT max(a) FROM t)
DECLARE z6 TINYINT DEFAULT 300
CREATE VIEW v4 AS SELECT v AS k
CREATE TEMPORARY VIEW v5 AS SELECT v AS k
SET VAR v = 77
SELECT * FROM v5
CREATE TEMPORARY FUNCTION plus(x INT) RETURNS INT RETURN x + v
SELECT plus(1)
CREATE FUNCTION plus_v(x INT) RETURNS INT RETURN x + v
DROP TEMPORARY VARIABLE m2
DROP TEMPORARY VARIABLE m2
DROP TEMPORARY VARIABLE IF EXISTS m2
SET VAR w = 'b'
SELECT IDENTIFIER('a') + 1, IDENTIFIER('ab' || 's')(-2), IDENTIFIER(w), IDENTIFIER('t.a') FROM IDENTIFIER('t')
SELECT IDENTIFIER('a'), count(*) FROM IDENTIFIER('default.t') AS q GROUP BY IDENTIFIER('a')
SELECT 1 AS IDENTIFIER('zz')
WITH IDENTIFIER('c') AS (SELECT 1 AS o) SELECT * FROM c
CREATE TABLE IDENTIFIER('ti') (IDENTIFIER('k') INT) USING parquet
INSERT INTO IDENTIFIER('ti') VALUES (1)
SELECT * FROM ti
DROP TABLE IDENTIFIER('ti')
SELECT IDENTIFIER('a b') FROM t
SELECT IDENTIFIER('') FROM t
SELECT IDENTIFIER(NULL) FROM t
SELECT IDENTIFIER(1) FROM t
SELECT IDENTIFIER('a, b') FROM t
SELECT IDENTIFIER('`a`; DROP TABLE t') FROM t
EXECUTE IMMEDIATE 'SELECT 1 AS o'
EXECUTE IMMEDIATE 'SELECT a FROM t WHERE a = ?' USING 1
EXECUTE IMMEDIATE 'SELECT a, :q FROM t WHERE a = :p' USING (1 AS p, 'it''s' AS q)
EXECUTE IMMEDIATE 'SELECT :v, :v + 1' USING v
EXECUTE IMMEDIATE 'SELECT ?, ?' USING 1, v + 1
EXECUTE IMMEDIATE 'SELECT * FROM IDENTIFIER(:n) WHERE a = 1' USING 't' AS n
EXECUTE IMMEDIATE 'SELECT max(a) FROM t' INTO v
EXECUTE IMMEDIATE 'SELECT a, b FROM t WHERE a = 1' INTO v, w
SELECT v, w
EXECUTE IMMEDIATE 'SELECT a FROM t' INTO v
EXECUTE IMMEDIATE 'SELECT a FROM t WHERE a > 1000' INTO v
SELECT v
EXECUTE IMMEDIATE 'SELECT a, b FROM t WHERE a = 1' INTO v
SET VAR w = 'SELECT 42 AS r'
EXECUTE IMMEDIATE w
EXECUTE IMMEDIATE 'SELECT ' || '43'
EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''SELECT 1'''
EXECUTE IMMEDIATE 'SELECT ?' USING (SELECT 1)
EXECUTE IMMEDIATE 'SELECT ?'
EXECUTE IMMEDIATE 'SELECT :a' USING 1 AS b
EXECUTE IMMEDIATE 'SELECT :a + ?' USING 1 AS a, 2
EXECUTE IMMEDIATE NULL
EXECUTE IMMEDIATE 5
EXECUTE IMMEDIATE 'SELECT 1; SELECT 2'
EXECUTE IMMEDIATE 'SET VAR v = 55'
SELECT v
SET xx = 5
SELECT ${xx}, '${xx}', '<${xx}>', ${hiveconf:xx}
SET hivevar:yy = 6
SELECT ${yy}, ${hivevar:yy}
SET tt = default.t
SELECT count(*) FROM ${tt}
SET qq = 'lit'
SELECT ${qq}
SET first = date_add(DATE '2024-01-01', 1)
SELECT a FROM t WHERE d = ${first}
SET ab = ${xx}1
SELECT ${ab}, t.a AS a_${xx} FROM t
SELECT 'a' -- ${xx}
!SET cond = a = 1 OR true
!SELECT a FROM t WHERE a = 2 AND ${cond}
"""


def _outcome_of_spark(spark: Any, statement: str) -> tuple[Any, ...]:
    try:
        frame = spark.sql(statement)
        return (
            [(field.name, field.dataType.simpleString()) for field in frame.schema.fields],
            sorted(str([_plain(value) for value in row]) for row in frame.collect()),
        )
    except Exception as error:
        condition = re.search(r"\[([A-Z_0-9.]+)\]", str(error))
        return ("error", condition[1] if condition else str(error))


def _outcome(session: Session, statement: str) -> tuple[Any, ...]:
    try:
        result = session.execute(statement)
        columns = [(column.name, column.type) for column in result.columns or ()]
        return columns, sorted(str([_plain(value) for value in row]) for row in (result.fetch() if columns else ()))
    except Error as error:
        return ("error", error.condition)


def _plain(value: Any) -> str:
    return str(value.replace(tzinfo=None)) if hasattr(value, "tzinfo") else str(value)


@pytest.fixture(scope="module", params=["scripts", "table_functions"])
def alone(spark: SparkEngine, request: pytest.FixtureRequest) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """Each statement with its outcome in a session of Spark alone."""
    spark.prewarm()
    session: Any = spark._running_spark().session.newSession()
    session.conf.set("spark.sql.variable.substitute", "true")  # Its default.
    session.sql("CREATE DATABASE scripts_alone")
    session.sql("USE scripts_alone")
    lines = (SCRIPT if request.param == "scripts" else TABLE_FUNCTIONS).strip().split("\n")
    outcomes = []
    for line in lines:
        statement = line.lstrip("!~").replace("default.", "scripts_alone.")
        outcomes.append((line, _outcome_of_spark(session, statement)))
    yield outcomes
    session.sql("USE default")
    session.sql("DROP DATABASE scripts_alone CASCADE")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_scripts_return_what_spark_returns(
    engine: str, alone: list[tuple[str, tuple[Any, ...]]], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    differing = []
    with Session(tmp_path / "warehouse", request.getfixturevalue(engine)) as session:
        for line, expected in alone:
            outcome = _outcome(session, line.lstrip("!~"))
            in_default = eval(repr(expected).replace("scripts_alone", "default"))
            if line.startswith("~") and engine == "duckdb":
                continue
            if not line.startswith("!") and outcome != in_default and not _is_statement(outcome, in_default):
                differing.append((line, in_default, outcome))
    assert differing == []


def _is_statement(outcome: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    """Returns whether both succeeded without rows: Spark has no columns for some statements."""
    return outcome[0] == [] and expected[0] == []


@pytest.mark.spark
@pytest.mark.parametrize("engine_name", ["duckdb", "spark"])
def test_text_that_looks_like_a_variable_stays(engine_name: str, spark: SparkEngine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", spark if engine_name == "spark" else "duckdb") as session:
        session.execute("SET x = y")
        query = r"SELECT 'a\${x}', 'a\u0024{x}', '${foo:x}', '${ x }', '${x}'"
        assert session.execute(query).fetch() == [("a${x}", "a${x}", "${foo:x}", "${ x }", "y")]
        with pytest.raises(Error, match="Spark removes it") as caught:
            session.execute("SELECT regexp_replace('abc', '(b)', '${1}')")
    assert caught.value.condition == "UNBOUND_SQL_PARAMETER"
