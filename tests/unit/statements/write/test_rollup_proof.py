"""Statements that prove the rollups that they write, and the doubts of the others.

The base is the table d of days, w holds weeks and m months. Whatever the state of a rollup, results are those of the
base.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from results import named_rows

from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

FIRST, DAYS = date(2013, 1, 28), 35
COLUMNS = "k STRING, n BIGINT, x BIGINT, hi INT"
SETUP = f"""
CREATE TABLE d ({COLUMNS}) PARTITIONED BY (p STRING);
CREATE TABLE w ({COLUMNS}) PARTITIONED BY (p STRING);
CREATE TABLE m ({COLUMNS}) PARTITIONED BY (p STRING);
CREATE TABLE stage ({COLUMNS}, p STRING);
CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT, x BIGINT MEASURE SUM, hi INT MEASURE MAX, t TIMESTAMP TIME);
CREATE FACT f OF CUBE c STORED IN (
  TABLE d PERIOD DAILY PARTITIONED BY t AS (p),
  TABLE w PERIOD WEEKLY PARTITIONED BY t AS (p),
  TABLE m PERIOD MONTHLY PARTITIONED BY t AS (p));
CREATE VIEW v AS SELECT * FROM d;
CREATE VIEW by_day AS SELECT p AS day, k, SUM(n) AS n, SUM(x) AS x, MAX(hi) AS hi FROM d GROUP BY p, k;
CREATE VIEW a_week AS SELECT k, n, x, hi, p FROM d WHERE p >= '2013-01-28' AND p < '2013-02-04';
CREATE VIEW five_days AS SELECT k, n, x, hi, p FROM d WHERE p >= '2013-01-28' AND p < '2013-02-02'
"""
WEEK = "p >= '2013-01-28' AND p < '2013-02-04'"
FEBRUARY = "p >= '2013-02-01' AND p < '2013-03-01'"
OVER_TIME = "t >= '2013-01-28' AND t < '2013-02-04'"
SUMS = "k, SUM(n), SUM(x), MAX(hi)"
INTO_WEEK = "INSERT OVERWRITE w PARTITION (p = '2013-W05')"


def filled(session: Session) -> Session:
    list(session.script(SETUP))
    days = [FIRST + timedelta(days=number) for number in range(DAYS)]
    lines = [f"('{k}', 1, {10 + day.day}, {day.day}, '{day}')" for day in days for k in "ab"]
    session.execute(f"INSERT INTO d VALUES {', '.join(lines)}")
    return session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield filled(opened)


@pytest.fixture(scope="module")
def on_spark(tmp_path_factory: pytest.TempPathFactory, spark: SparkEngine) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("spark") / "warehouse", spark) as opened:
        yield filled(opened)


def standing(session: Session, table: str) -> tuple[dict[str, int], str | None]:
    """Returns the number of partitions of a rollup table by state, and the reason that is shown."""
    shown = named_rows(session.execute("SHOW TIMELINES OF f"))
    line = next(row for row in shown if row["table"] == table)
    counts = {"fresh": line["partitions"], **{state: line[state] for state in ("outdated", "unproven", "incomplete")}}
    return {state: number for state, number in counts.items() if number}, line["reason"]


def check_answers(session: Session) -> set[str]:
    """Asserts that rollups and base have the same results. Returns the tables that were read."""
    query = f"SELECT {SUMS} FROM c WHERE t >= '2013-01-28' AND t < '2013-03-04' GROUP BY k ORDER BY k"
    result = session.execute(query)
    session.execute("SET rewriter.periods = daily")
    expected = session.execute(query).fetch()
    session.execute("RESET rewriter.periods")
    assert result.fetch() == expected
    assert expected[0][1] == DAYS
    return {part.table for part in result.coverage.references[0].parts}


PROVEN_WEEKS = {
    "plain": f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k",
    "not aggregated": f"SELECT k, n, x, hi FROM d WHERE {WEEK}",
    "BETWEEN": f"SELECT {SUMS} FROM d WHERE p BETWEEN '2013-01-28' AND '2013-02-03' GROUP BY k",
    "list": f"SELECT {SUMS} FROM d WHERE p IN ('2013-01-28', '2013-01-29', '2013-01-30', '2013-01-31',"
    " '2013-02-01', '2013-02-02', '2013-02-03') GROUP BY k",
    "functions in conditions": f"SELECT {SUMS} FROM d WHERE to_date(p) >= DATE '2013-01-28' AND "
    "date_add(to_date(p), 1) <= DATE '2013-02-04' GROUP BY k",
    "week in a condition": f"SELECT {SUMS} FROM d WHERE weekofyear(to_date(p)) = 5 AND p LIKE '2013%' GROUP BY k",
    "a condition that is always true": f"SELECT {SUMS} FROM d WHERE 1 = 1 AND {WEEK} GROUP BY k",
    "GROUP BY 1": f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY 1",
    "ORDER BY": f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k ORDER BY k",
    "aliases": f"SELECT y.k AS a, SUM(y.n) AS b, SUM(y.x), (MAX(y.hi)) FROM d AS y WHERE y.{WEEK} GROUP BY y.k",
    "the columns' own types": "SELECT CAST(k AS STRING), CAST(SUM(n) AS BIGINT), SUM(x)::bigint, CAST(MAX(hi) AS INT) "
    f"FROM d WHERE {WEEK} GROUP BY k",
    "view with WHERE outside": f"SELECT {SUMS} FROM v WHERE {WEEK} GROUP BY k",
    "view with WHERE inside": f"SELECT {SUMS} FROM a_week GROUP BY k",
    "view that aggregates": f"SELECT {SUMS} FROM by_day WHERE {WEEK.replace('p ', 'day ')} GROUP BY k",
    "derived table": f"SELECT {SUMS} FROM (SELECT * FROM d) q WHERE {WEEK} GROUP BY k",
    "derived table of renamed columns": "SELECT a, SUM(b), SUM(x), MAX(hi) FROM (SELECT k, n, x, hi FROM d "
    f"WHERE {WEEK}) q (a, b, x, hi) GROUP BY a",
    "CTE": f"WITH q AS (SELECT * FROM d WHERE p >= '2013-01-28') SELECT {SUMS} FROM q "
    "WHERE p < '2013-02-04' GROUP BY k",
    "CTE of a CTE": "WITH q AS (SELECT k, p, n, x, hi FROM v), r AS (SELECT k, p, SUM(n) AS n, SUM(x) AS x, "
    f"MAX(hi) AS hi FROM q GROUP BY k, p) SELECT {SUMS} FROM r WHERE {WEEK} GROUP BY k",
    "UNION ALL": f"SELECT {SUMS} FROM d WHERE p >= '2013-01-28' AND p < '2013-02-01' GROUP BY k UNION ALL "
    f"SELECT {SUMS} FROM d WHERE p >= '2013-02-01' AND p < '2013-02-04' GROUP BY k",
    "UNION ALL in a derived table": f"SELECT {SUMS} FROM (SELECT * FROM d WHERE p >= '2013-01-28' AND p < '2013-02-01' "
    "UNION ALL SELECT * FROM v WHERE p >= '2013-02-01' AND p < '2013-02-04') q GROUP BY k",
    "UNION ALL under a condition": "SELECT k, SUM(n), SUM(x), MAX(hi) FROM (SELECT k, n, x, hi, p FROM d WHERE "
    f"p < '2013-02-01' UNION ALL SELECT k, n, x, hi, p FROM d WHERE p >= '2013-02-01') q WHERE {WEEK} GROUP BY k",
    "UNION ALL of all columns under a condition": f"SELECT {SUMS} FROM (SELECT * FROM d WHERE p < '2013-02-01' "
    f"UNION ALL SELECT * FROM d AS e WHERE p >= '2013-02-01' UNION ALL SELECT * FROM d WHERE p = '') q WHERE {WEEK} "
    "GROUP BY k",
    "cube": f"SELECT k, COUNT(*), SUM(x), MAX(hi) FROM c WHERE {OVER_TIME} GROUP BY k",
    "fact": f"SELECT {SUMS} FROM f WHERE {OVER_TIME} GROUP BY k",
}
PROVEN_MONTHS = {
    "substr": "substr(p, 1, 7)",
    "substring": "substring(p, 1, 7)",
    "left": "left(p, 7)",
    "concat": "concat(substr(p, 1, 4), '-', substr(p, 6, 2))",
    "||": "substr(p, 1, 4) || '-' || substr(p, 6, 2)",
    "concat_ws": "concat_ws('-', substr(p, 1, 4), substr(p, 6, 2))",
    "date_format of a date": "date_format(to_date(p), 'yyyy-MM')",
    "date_format of a cast": "date_format(CAST(p AS TIMESTAMP), 'yyyy-MM')",
    "date_trunc of a timestamp": "date_format(date_trunc('MONTH', CAST(p AS TIMESTAMP)), 'yyyy-MM')",
    "trunc": "substr(CAST(trunc(to_date(p), 'MM') AS STRING), 1, 7)",
    "year and month": "concat(year(to_date(p)), '-', lpad(month(to_date(p)), 2, '0'))",
    "replace": "replace(substr(p, 1, 7), '/', '-')",
    "CASE": "CASE WHEN p < '2013-03-01' THEN '2013-02' ELSE '2013-03' END",
    "constant": "'2013-02'",
}
UNPROVEN_WEEKS = {
    "HAVING": (f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k HAVING SUM(n) > 0", "HAVING"),
    "FILTER": (
        f"SELECT k, SUM(n) FILTER (WHERE p < '2013-02-02'), SUM(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY k",
        "FILTER",
    ),
    "CASE on p": (
        f"SELECT k, SUM(CASE WHEN p < '2013-02-02' THEN n ELSE 0 END), SUM(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY k",
        "does not compute n as SUM(n)",
    ),
    "LIMIT": (f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k LIMIT 1", "LIMIT"),
    "LIMIT in a view": (f"SELECT {SUMS} FROM (SELECT * FROM d WHERE {WEEK} LIMIT 9) q GROUP BY k", "LIMIT"),
    "DISTINCT": (f"SELECT DISTINCT k, n, x, hi FROM d WHERE {WEEK}", "DISTINCT"),
    "SUM DISTINCT": (
        f"SELECT k, SUM(DISTINCT n), SUM(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY k",
        "does not compute n as SUM(n)",
    ),
    "UNION": (
        f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k UNION SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k",
        "set operation",
    ),
    "the same twice": (
        f"SELECT k, n, x, hi FROM d WHERE {WEEK} UNION ALL SELECT k, n, x, hi FROM v WHERE {WEEK}",
        "twice",
    ),
    "JOIN": (
        "SELECT d.k, SUM(d.n), SUM(d.x), MAX(d.hi) FROM d JOIN (SELECT DISTINCT k FROM v) q ON d.k = q.k "
        f"WHERE {WEEK} GROUP BY d.k",
        "join",
    ),
    "comma": (f"SELECT k, SUM(n), SUM(x), MAX(hi) FROM d, (SELECT 1 AS one) q WHERE {WEEK} GROUP BY k", "join"),
    "subquery": (f"SELECT {SUMS} FROM d WHERE {WEEK} AND k IN (SELECT k FROM v) GROUP BY k", "subquery"),
    "window": (f"SELECT k, SUM(n) OVER (), x, hi FROM d WHERE {WEEK}", "window"),
    "GROUPING SETS": (f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY GROUPING SETS ((k), ())", "several groupings"),
    "GROUPING SETS behind columns": (
        f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k GROUPING SETS ((k), ())",
        "GROUPING SETS",
    ),
    "ROLLUP": (f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY ROLLUP (k)", "several groupings"),
    "WITH ROLLUP": (f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k WITH ROLLUP", "ROLLUP"),
    "CUBE": (f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY CUBE (k)", "several groupings"),
    "condition on a dimension": (f"SELECT {SUMS} FROM d WHERE {WEEK} AND k <> 'z' GROUP BY k", "k <> 'z'"),
    "condition on a measure": (f"SELECT {SUMS} FROM d WHERE {WEEK} AND n > 0 GROUP BY k", "n > 0"),
    "condition on both": (f"SELECT {SUMS} FROM d WHERE {WEEK} AND (p < '2013-02-02' OR n > 0) GROUP BY k", "n > 0"),
    "condition on a measure of a cube": (
        f"SELECT k, COUNT(*), SUM(x), MAX(hi) FROM c WHERE {OVER_TIME} AND k <> 'z' GROUP BY k",
        "whole partitions of d",
    ),
    "condition in a view's rows": (
        f"SELECT {SUMS} FROM (SELECT * FROM v WHERE k LIKE '%') q WHERE {WEEK} GROUP BY k",
        "k LIKE '%'",
    ),
    "COUNT(*) of a table": (
        f"SELECT k, COUNT(*), SUM(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY k",
        "does not compute n as SUM(n)",
    ),
    "SUM of a MAX measure": (f"SELECT k, SUM(n), SUM(x), SUM(hi) FROM d WHERE {WEEK} GROUP BY k", "MAX(hi)"),
    "MAX of a SUM measure": (f"SELECT k, SUM(n), MAX(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY k", "SUM(x)"),
    "measures of another name": (f"SELECT k, SUM(x), SUM(n), MAX(hi) FROM d WHERE {WEEK} GROUP BY k", "SUM(n)"),
    "SUM of MAX below": (
        f"SELECT {SUMS} FROM (SELECT k, MAX(n) AS n, SUM(x) AS x, MAX(hi) AS hi FROM d WHERE {WEEK} GROUP BY k, p) q "
        "GROUP BY k",
        "SUM(n)",
    ),
    "arithmetic": (f"SELECT k, SUM(n) * 1, SUM(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY k", "SUM(n)"),
    "a cast that loses": (
        f"SELECT k, CAST(SUM(n) AS TINYINT), SUM(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY k",
        "SUM(n)",
    ),
    "a measure that is grouped by": (f"SELECT k, SUM(n), x, MAX(hi) FROM d WHERE {WEEK} GROUP BY k, x", "measure x"),
    "a dimension that is computed": (
        f"SELECT upper(k), SUM(n), SUM(x), MAX(hi) FROM d WHERE {WEEK} GROUP BY upper(k)",
        "dimension k",
    ),
    "a dimension that is constant": (f"SELECT 'a', SUM(n), SUM(x), MAX(hi) FROM d WHERE {WEEK}", "dimension k"),
    "a dimension of the greatest": (f"SELECT MAX(k), SUM(n), SUM(x), MAX(hi) FROM d WHERE {WEEK}", "dimension k"),
    "too much": (f"SELECT {SUMS} FROM d WHERE p >= '2013-01-28' AND p <= '2013-02-04' GROUP BY k", "outside"),
    "too much through a view": (
        f"SELECT {SUMS} FROM v WHERE p >= '2013-01-27' AND p <= '2013-02-04' GROUP BY k",
        "outside",
    ),
    "too much of a cube": (
        f"SELECT {SUMS} FROM c WHERE t >= '2013-01-28' AND t < '2013-02-05' GROUP BY k",
        "outside",
    ),
    "no rows of a table": ("SELECT 'a', 7, 7, 7", "no table of the fact"),
    "VALUES": ("VALUES ('a', 7, 7, 7)", "no table of the fact"),
    "staging table": (f"SELECT {SUMS} FROM stage GROUP BY k", "not a table of the fact"),
    "staging table beside the base": (
        f"SELECT {SUMS} FROM (SELECT * FROM d WHERE {WEEK} UNION ALL SELECT * FROM stage) q GROUP BY k",
        "stage",
    ),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("query", PROVEN_WEEKS.values(), ids=PROVEN_WEEKS)
def test_a_plain_rollup_of_a_week_is_fresh(session: Session, query: str) -> None:
    session.execute(f"{INTO_WEEK} {query}")
    assert standing(session, "w") == ({"fresh": 1}, None)
    assert "w" in check_answers(session)


@pytest.mark.share(3)
@pytest.mark.parametrize("value", PROVEN_MONTHS.values(), ids=PROVEN_MONTHS)
def test_months_are_computed_from_days(session: Session, value: str) -> None:
    session.execute(f"INSERT OVERWRITE m SELECT {SUMS}, {value} FROM v WHERE {FEBRUARY} GROUP BY k, p")
    assert standing(session, "m") == ({"fresh": 1}, None)
    assert "m" in check_answers(session)


@pytest.mark.share(3)
@pytest.mark.parametrize(("query", "reason"), UNPROVEN_WEEKS.values(), ids=UNPROVEN_WEEKS)
def test_another_form_is_unproven(session: Session, query: str, reason: str) -> None:
    session.execute(f"{INTO_WEEK} {query}")
    states, told = standing(session, "w")
    assert states == {"unproven": 1}
    assert reason in str(told)
    assert check_answers(session) == {"d"}


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("d", "p < '2013-02-02'"),
        ("v", "p < '2013-02-02'"),
        ("five_days", "TRUE"),
        ("(SELECT * FROM v) q", "p < '2013-02-02'"),
    ],
)
def test_a_week_of_five_days_is_not_fresh(session: Session, source: str, where: str) -> None:
    session.execute(f"{INTO_WEEK} SELECT {SUMS} FROM {source} WHERE p >= '2013-01-28' AND {where} GROUP BY k")
    assert standing(session, "w")[0] == {"outdated": 1}
    assert check_answers(session) == {"d"}


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("concat('2013-0', month(to_date(p)) + 1)", "unproven"),
        ("'2013-03'", "unproven"),
        ("if(p = '2013-02-13', '2013-03', '2013-02')", "unproven"),
        ("if(n > 0, substr(p, 1, 7), '2013-02')", "unproven"),
        ("concat(substr(p, 1, 5), lpad(MAX(hi) * 0 + 2, 2, '0'))", "unproven"),
    ],
)  # fmt: skip
def test_rows_of_another_month_prove_nothing(session: Session, value: str, state: str) -> None:
    grouped = "k, p, n" if "n >" in value else "k, p"
    session.execute(f"INSERT OVERWRITE m SELECT {SUMS}, {value} FROM d WHERE {FEBRUARY} GROUP BY {grouped}")
    assert standing(session, "m")[0].keys() == {state}
    assert check_answers(session) == {"d"}


def test_one_statement_may_write_weeks_of_which_one_is_whole(session: Session) -> None:
    session.execute(
        f"INSERT OVERWRITE m SELECT {SUMS}, substr(p, 1, 7) FROM d WHERE p <= '2013-02-28' GROUP BY k, substr(p, 1, 7)"
    )
    assert standing(session, "m")[0] == {"fresh": 1, "incomplete": 1}  # January has four days in the base.
    assert check_answers(session) == {"m", "d"}


def test_a_measure_that_is_left_out_proves_nothing(session: Session) -> None:
    session.execute(f"{INTO_WEEK} (k, n, hi) SELECT k, SUM(n), MAX(hi) FROM d WHERE {WEEK} GROUP BY k")
    assert standing(session, "w") == ({"unproven": 1}, "its statement leaves out the measure x")
    assert check_answers(session) == {"d"}


def test_columns_by_name_are_proven(session: Session) -> None:
    session.execute(f"{INTO_WEEK} (hi, x, n, k) SELECT MAX(hi), SUM(x), SUM(n), k FROM d WHERE {WEEK} GROUP BY k")
    assert standing(session, "w") == ({"fresh": 1}, None)
    assert "w" in check_answers(session)


def test_copies_made_before_the_base_changed_are_unproven(session: Session) -> None:
    session.execute(f"CREATE TABLE copied AS SELECT * FROM d WHERE {WEEK}")
    session.execute("INSERT INTO d VALUES ('a', 0, 100, 99, '2013-01-30')")
    session.execute(f"{INTO_WEEK} SELECT {SUMS} FROM copied GROUP BY k")
    assert standing(session, "w") == ({"unproven": 1}, "its query reads copied, which is not a table of the fact f")
    assert check_answers(session) == {"d"}


def test_several_inserts_of_one_statement_are_proven_each(session: Session) -> None:
    session.execute(
        f"FROM v INSERT OVERWRITE w PARTITION (p = '2013-W05') SELECT {SUMS} WHERE {WEEK} AND n > 0 GROUP BY k "
        f"INSERT OVERWRITE m SELECT {SUMS}, substr(p, 1, 7) WHERE {FEBRUARY} GROUP BY k, substr(p, 1, 7)"
    )
    assert standing(session, "w")[0] == {"unproven": 1}
    assert standing(session, "m") == ({"fresh": 1}, None)
    assert check_answers(session) == {"m", "d"}


def test_two_inserts_into_one_week_are_one_too_many(session: Session) -> None:
    insert = f"INSERT INTO w PARTITION (p = '2013-W05') SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY k"
    session.execute(insert)
    assert standing(session, "w") == ({"fresh": 1}, None)
    session.execute(insert)
    assert "fresh" not in standing(session, "w")[0]
    assert check_answers(session) == {"d"}


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (PROVEN_WEEKS["view with WHERE outside"], None),
        (PROVEN_WEEKS["CTE of a CTE"], None),
        (PROVEN_WEEKS["cube"], None),
        (f"SELECT {SUMS} FROM d WHERE {WEEK} GROUP BY ALL", None),
        (f"SELECT {SUMS} FROM d WHERE {WEEK} AND rand() < 2 GROUP BY k", "rand"),
        (f"SELECT {SUMS} FROM d LATERAL VIEW explode(array(1, 2)) e AS i WHERE {WEEK} GROUP BY k", "LATERAL VIEW"),
        UNPROVEN_WEEKS["HAVING"],
        UNPROVEN_WEEKS["FILTER"],
        UNPROVEN_WEEKS["ROLLUP"],
        UNPROVEN_WEEKS["too much through a view"],
    ],
)
def test_weeks_on_spark(on_spark: Session, query: str, reason: str | None) -> None:
    on_spark.execute(f"{INTO_WEEK} {query}")
    states, told = standing(on_spark, "w")
    assert states == {"fresh" if reason is None else "unproven": 1}
    assert (reason or "None") in str(told)
    assert check_answers(on_spark) == ({"d", "w"} if reason is None else {"d"})


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("left(p, 7)", "fresh"),
        ("date_format(p, 'yyyy-MM')", "fresh"),
        ("date_format(date_trunc('month', p), 'yyyy-MM')", "fresh"),
        ("substring_index(p, '-', 2)", "fresh"),
        ("array_join(slice(split(p, '-'), 1, 2), '-')", "fresh"),
        # The target partition is computed with expressions that both engines evaluate alike.
        ("decode(encode(substring(p, 1, 7), 'UTF-16'), 'UTF-16')", "unproven"),
    ],
)
def test_months_on_spark(on_spark: Session, value: str, state: str) -> None:
    on_spark.execute(f"INSERT OVERWRITE m SELECT {SUMS}, {value} FROM v WHERE {FEBRUARY} GROUP BY k, p")
    assert standing(on_spark, "m")[0] == {state: 1}
    assert ("m" in check_answers(on_spark)) is (state == "fresh")
    on_spark.execute("ALTER TABLE m DROP PARTITION (p = '2013-02')")


@pytest.mark.parametrize("groups", ["ROLLUP (p)", "p WITH ROLLUP", "CUBE (p)", "GROUPING SETS ((p), ())"])
def test_no_condition_chooses_partitions_below_several_groupings(session: Session, groups: str) -> None:
    query = f"SELECT * FROM (SELECT p, SUM(n) AS s FROM d GROUP BY {groups}) q WHERE p IS NULL"
    assert session.execute(query).fetch() == [(None, 2 * DAYS)]
