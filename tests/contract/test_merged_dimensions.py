"""Rollups merge 0.0 and -0.0, and maps with the same entries. A query that distinguishes them reads base rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.exec.engine import Engine
from rewriter.session import Session

DAY = "t >= '2013-01-01' AND t < '2013-01-02'"
COLUMNS = "f DOUBLE, k STRING, n BIGINT, m BIGINT"
NESTED = "mp MAP<STRING, INT>, s STRUCT<x: DOUBLE, y: STRING>, a ARRAY<FLOAT>, p STRUCT<`double`: INT>, n BIGINT"
ROLLED, BASE = 1, 24
#: The query of the cube ``c``, and the number of partitions that it reads.
ASKED = {
    "SELECT f, SUM(m) FROM c WHERE {day} GROUP BY f": ROLLED,
    "SELECT f AS g, SUM(m) FROM c WHERE {day} GROUP BY 1 ORDER BY g": ROLLED,
    "SELECT f AS g, SUM(m) FROM c WHERE {day} GROUP BY g HAVING f >= 0 ORDER BY f DESC": ROLLED,
    "SELECT DISTINCT f FROM c WHERE {day}": ROLLED,
    "SELECT SUM(m) FROM c WHERE {day} AND (f) = 0": ROLLED,
    "SELECT SUM(m) FROM c WHERE {day} AND f = '0.0' AND f BETWEEN '0' AND '0.0' AND f IN ('0.0', '1')": ROLLED,
    "SELECT SUM(m) FROM c WHERE {day} AND f IN (0, 1) AND f BETWEEN -1 AND 1 AND f IS NOT NULL AND NOT f <=> 2": ROLLED,
    "SELECT SUM(CASE WHEN f > -1 THEN m END), SUM(m) FILTER (WHERE f < 1) FROM c WHERE {day}": ROLLED,
    "SELECT COUNT(f), COUNT(DISTINCT f), COUNT(DISTINCT f, k) FROM c WHERE {day}": ROLLED,
    "SELECT f, k, SUM(m) FROM c WHERE {day} GROUP BY GROUPING SETS ((f, k), (f), ())": ROLLED,
    "SELECT f, RANK() OVER (PARTITION BY k ORDER BY f), SUM(m) FROM c WHERE {day} GROUP BY f, k": ROLLED,
    "SELECT x.g, SUM(x.m) FROM (SELECT f AS g, m FROM c WHERE {day}) x GROUP BY x.g": ROLLED,
    "SELECT k FROM d WHERE x IN (SELECT f FROM c WHERE {day})": ROLLED,
    "SELECT k FROM d WHERE EXISTS (SELECT 1 FROM c WHERE {day} AND c.f = d.x)": ROLLED,
    "SELECT SUM(c.m) FROM c JOIN d ON c.f = d.x WHERE {day}": ROLLED,
    "SELECT SUM(m) FROM c WHERE {day} AND EXISTS (SELECT 1 FROM d WHERE d.x = c.f)": ROLLED,
    "SELECT CAST(k AS STRING), SUM(m) FROM c WHERE {day} GROUP BY 1": ROLLED,
    "SELECT CAST(f AS STRING), SUM(m) FROM c WHERE {day} GROUP BY 1": BASE,
    "SELECT CAST(f AS STRING), SUM(m) FROM c WHERE {day} GROUP BY f": BASE,
    "SELECT concat(f, k), SUM(m) FROM c WHERE {day} GROUP BY 1": BASE,
    "SELECT SUM(m) FROM c WHERE {day} AND f LIKE '-%'": BASE,
    "SELECT COUNT(DISTINCT CAST(f AS STRING)) FROM c WHERE {day}": BASE,
    "SELECT SUM(CASE WHEN CAST(f AS STRING) = '-0.0' THEN m END) FROM c WHERE {day}": BASE,
    "SELECT atan2(f, -1), SUM(m) FROM c WHERE {day} GROUP BY 1": BASE,
    "SELECT hash(f), SUM(m) FROM c WHERE {day} GROUP BY 1": BASE,
    "SELECT -f, SUM(m) FROM c WHERE {day} GROUP BY 1": BASE,
    "SELECT MIN(f), MAX(f) FROM c WHERE {day}": BASE,
    "SELECT DISTINCT f AS g, CAST(g AS STRING) AS h FROM c WHERE {day}": BASE,
    "SELECT f, SUM(m) FROM c WHERE {day} GROUP BY f HAVING CAST(f AS STRING) = '0.0'": BASE,
    "SELECT f AS g, SUM(m) FROM c WHERE {day} GROUP BY f ORDER BY CAST(f AS STRING)": BASE,
    "SELECT x.g, SUM(x.m) FROM (SELECT CAST(f AS STRING) AS g, m FROM c WHERE {day}) x GROUP BY x.g": BASE,
    "SELECT SUM(x.m) FROM (SELECT f AS g, m FROM c WHERE {day} AND CAST(f AS STRING) = '0.0') x": BASE,
    "SELECT DISTINCT * FROM (SELECT CAST(f AS STRING) AS g FROM c WHERE {day}) x": BASE,
    "SELECT SUM(x.m) FROM (SELECT CAST(f AS STRING) AS z, m FROM c WHERE {day}) x JOIN d USING (z)": BASE,
    "SELECT z FROM d WHERE z IN (SELECT CAST(f AS STRING) FROM c WHERE {day})": BASE,
    "SELECT z FROM d WHERE EXISTS (SELECT 1 FROM c WHERE {day} AND CAST(c.f AS STRING) = d.z)": BASE,
    "SELECT SUM(m) FROM c WHERE {day} AND EXISTS (SELECT 1 FROM d WHERE d.z = CAST(c.f AS STRING))": BASE,
    "SELECT SUM(m) FROM c JOIN d ON CAST(c.f AS STRING) = d.z WHERE {day}": BASE,
}
#: The same for the cube ``nested``, which only Spark reads.
ASKED_OF_NESTED = {
    "SELECT mp, SUM(n) FROM nested WHERE {day} GROUP BY mp": ROLLED,
    "SELECT s, SUM(n) FROM nested WHERE {day} AND s IS NOT NULL GROUP BY s": ROLLED,
    "SELECT a, SUM(n) FROM nested WHERE {day} AND a = array(0F) GROUP BY a": ROLLED,
    "SELECT p, CAST(p AS STRING), SUM(n) FROM nested WHERE {day} GROUP BY 1, 2": ROLLED,
    "SELECT CAST(mp AS STRING), SUM(n) FROM nested WHERE {day} GROUP BY 1": BASE,
    "SELECT map_keys(mp), SUM(n) FROM nested WHERE {day} GROUP BY 1": BASE,
    "SELECT CAST(a[0] AS STRING), SUM(n) FROM nested WHERE {day} GROUP BY 1": BASE,
    "SELECT CAST(s.x AS STRING), SUM(n) FROM nested WHERE {day} AND s IS NOT NULL GROUP BY 1": BASE,
    "SELECT CAST(nested.s.x AS STRING), SUM(n) FROM nested WHERE {day} AND s IS NOT NULL GROUP BY 1": BASE,
    "SELECT s, SUM(n) FROM nested WHERE {day} AND EXISTS ("
    "SELECT 1 FROM d WHERE d.z = CAST(nested.s.x AS STRING)) GROUP BY s": BASE,
}


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def make(session: Session, cube: str, columns: str, *rows: str) -> None:
    """Makes a day of hours, the first of which have one row each, and its rollup."""
    declared = columns.replace("n BIGINT", "n BIGINT MEASURE COUNT").replace("m BIGINT", "m BIGINT MEASURE SUM")
    session.execute(f"CREATE CUBE {cube} ({declared}, t TIMESTAMP TIME)")
    for table in (f"{cube}_hours", f"{cube}_days"):
        session.execute(f"CREATE TABLE {table} ({columns}) PARTITIONED BY (dt STRING)")
    session.execute(
        f"CREATE FACT {cube}_fact OF CUBE {cube} STORED IN (TABLE {cube}_hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        f"TABLE {cube}_days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    empty = " ".join(f"PARTITION (dt = '2013-01-01-{hour:02}')" for hour in range(len(rows), 24))
    session.execute(f"ALTER TABLE {cube}_hours ADD {empty}")
    for hour, row in enumerate(rows):
        session.execute(f"INSERT INTO {cube}_hours PARTITION (dt = '2013-01-01-{hour:02}') VALUES ({row})")
    session.execute(f"REFRESH FACT {cube}_fact")


def load(session: Session) -> None:
    rows = ("-0.0D, 'a', 1, 10", "0.0D, 'a', 2, 20", "CAST('NaN' AS DOUBLE), 'b', 3, 30", "0.5D, 'b', 4, 40")
    make(session, "c", COLUMNS, *rows)
    session.execute("CREATE TABLE d (x DOUBLE, z STRING, k STRING)")
    session.execute("INSERT INTO d VALUES (0.0D, '-0.0', 'p'), (0.5D, '0.5', 'q')")


def rows(session: Session, query: str) -> list[str]:
    """Returns the rows as texts, which distinguish the two zeros."""
    return sorted(map(str, session.execute(query).fetch()))


def test_rollups_serve_where_equal_values_are_one(session: Session) -> None:
    load(session)
    for query, partitions in ASKED.items():
        plan = session.plan(query.format(day=DAY))
        reference = plan.coverage.references[0]
        assert sum(part.partitions for part in reference.parts) == partitions, query
        assert any("can be distinguished" in str(reason) for reason in reference.reasons) == (partitions == BASE), query


@pytest.mark.share(3)
@pytest.mark.parametrize("part", range(3))
def test_the_answers_are_those_of_the_base(spark: Engine, tmp_path: Path, part: int) -> None:
    """The same query over the base rows has the same result."""
    with Session(tmp_path / "warehouse", spark) as session:
        load(session)
        nested = (
            "map('a', 1, 'b', 2), named_struct('x', -0.0D, 'y', 'q'), array(-0.0F), named_struct('double', 1), 1",
            "map('b', 2, 'a', 1), named_struct('x', 0.0D, 'y', 'q'), array(0F), named_struct('double', 1), 2",
        )
        make(session, "nested", NESTED, *nested)
        for query, partitions in [*ASKED.items(), *ASKED_OF_NESTED.items()][part::3]:
            asked = query.format(day=DAY)
            (reference,) = session.plan(asked).coverage.references
            assert sum(part.partitions for part in reference.parts) == partitions, query
            cube = reference.cube
            base = query.format(day="1 = 1").replace("COUNT(f)", "SUM(CASE WHEN f IS NOT NULL THEN n END)")
            base = f"WITH {cube} AS (SELECT * FROM {cube}_hours) {base}"
            assert rows(session, asked) == rows(session, base), query


#: Queries over a table whose zeros are equal, and the rows as texts. Equal zeros are shown as 0.0.
ZEROS = {
    "SELECT f, g, COUNT(*) FROM z GROUP BY f, g": ["(0.0, 0.0, 2)"],
    "SELECT f AS x FROM z WHERE k = 'a' GROUP BY 1": ["(0.0,)"],
    "SELECT -f AS x FROM z GROUP BY -f": ["(0.0,)"],
    "SELECT f, k FROM z WHERE k = 'a' GROUP BY ROLLUP (f, k)": ["(0.0, 'a')", "(0.0, None)", "(None, None)"],
    "SELECT f, SUM(g) FROM z GROUP BY GROUPING SETS ((f, k), (f))": ["(0.0, 0.0)"] * 3,
    "SELECT DISTINCT f, k FROM z": ["(0.0, 'a')", "(0.0, 'b')"],
    "SELECT f FROM z WHERE k = 'a' UNION SELECT f FROM z WHERE k = 'a'": ["(0.0,)"],
    "SELECT f FROM z WHERE k = 'a' INTERSECT SELECT f FROM z": ["(0.0,)"],
    "SELECT f FROM z WHERE k = 'a' EXCEPT SELECT 1.0D": ["(0.0,)"],
    "SELECT f FROM z WHERE k = 'a' UNION ALL SELECT f FROM z WHERE k = 'b'": ["(-0.0,)", "(0.0,)"],
    "SELECT f FROM z WHERE k = 'a'": ["(-0.0,)"],
}


def test_of_equal_zeros_in_a_group_the_positive_one_is_shown(session: Session) -> None:
    session.execute("CREATE TABLE z (f DOUBLE, g FLOAT, k STRING)")
    session.execute("INSERT INTO z VALUES (-0.0D, -0.0F, 'a'), (0.0D, 0.0F, 'b')")
    assert {query: rows(session, query) for query in ZEROS} == ZEROS
