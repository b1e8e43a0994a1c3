"""COUNT and AVG over UNION ALL, joins and chains of subqueries over a cube whose rows stand for several events each."""

from __future__ import annotations

import random
from collections.abc import Iterator

import event_worlds
import pytest

from rewriter.errors import NotSupportedError
from rewriter.session import Session

#: Queries over ``{}``, a cube or a table of its events.
QUERIES = (
    "SELECT COUNT(*), COUNT(k), COUNT(d) AS d, COUNT_IF(k = 'UA'), AVG(m), AVG(x) AS x FROM (SELECT k, d, m, x FROM {} "
    "UNION ALL SELECT k, d, m, x FROM p) u",
    "SELECT k, COUNT(d), COUNT(*) + COUNT(k), AVG(x), SUM(n), MAX(hi) FROM (SELECT * FROM {} UNION ALL SELECT * FROM p "
    "UNION ALL SELECT * FROM {}) u GROUP BY k ORDER BY k, 2",
    "WITH u AS (SELECT k, d, m FROM {} WHERE t < '2013-02-01' UNION ALL SELECT k, 0, m FROM p) SELECT COUNT(*), "
    "COUNT(CASE WHEN d > 1 THEN k END), AVG(m) FROM u",
    # A CTE that is read twice, and chains of CTEs.
    "WITH u AS (SELECT k, d, m FROM {} UNION ALL SELECT k, NULL, NULL FROM names) SELECT k, COUNT(d) AS a, AVG(m) AS b "
    "FROM u GROUP BY k UNION ALL SELECT 'all', COUNT(k), 0.5 FROM u ORDER BY 1, 2",
    "WITH u AS (SELECT k, m FROM {} UNION ALL SELECT k, m FROM p), v AS (SELECT *, upper(k) AS kk FROM u WHERE k <> 'x'"
    ") SELECT kk, COUNT(*), COUNT(kk), AVG(m) FROM v GROUP BY kk ORDER BY kk",
    "WITH u AS (SELECT k, m FROM {} UNION ALL SELECT k, m FROM p), v AS (SELECT concat(k, '!') AS kk, (m) AS mm FROM u)"
    " SELECT COUNT(kk), AVG(mm) FROM (SELECT kk, mm FROM v UNION ALL SELECT name, m FROM names) w",
    "SELECT COUNT(*), COUNT(k) FROM (SELECT k FROM (SELECT k FROM (SELECT k FROM {} UNION ALL SELECT k FROM p)) x "
    "UNION ALL SELECT k FROM names)",
    "WITH u AS (SELECT k, m FROM {} WHERE k IN (SELECT k FROM names)) SELECT COUNT(*), COUNT(k), AVG(m) FROM u UNION "
    "ALL SELECT COUNT(k), 1, 0.5 FROM u WHERE k > 'B'",
    # Joins.
    "SELECT n.name, COUNT(*), COUNT(u.k), COUNT(n.name), AVG(u.m), COUNT(u.d) FROM names n LEFT JOIN (SELECT k, d, m "
    "FROM {} UNION ALL SELECT k, d, m FROM p) u ON n.k = u.k GROUP BY n.name ORDER BY n.name",
    "SELECT name, COUNT(*), COUNT(d), AVG(x) FROM (SELECT n.name, f.d, f.x FROM names n LEFT JOIN {} f ON n.k = f.k) y "
    "GROUP BY name ORDER BY name",
    "SELECT COUNT(*), COUNT(name), COUNT(k), AVG(m) FROM (SELECT u.k, n.name, u.m FROM (SELECT k, m FROM {} UNION ALL "
    "SELECT k, m FROM p) u RIGHT JOIN names n ON u.k = n.k) y",
    "SELECT COUNT(k), AVG(m) FROM (SELECT k, m FROM p WHERE k IN (SELECT k FROM {}) UNION ALL SELECT k, m FROM p "
    "LEFT SEMI JOIN {} c ON p.k = c.k)",
    # Forms of calls.
    "SELECT count(ALL k), count(k) FILTER (WHERE d = 1), AVG(ALL m) FILTER (WHERE d = 1), avg(x) + count(*) FROM "
    "(SELECT k, d, m, x FROM {} UNION ALL SELECT k, d, m, x FROM p)",
    "SELECT DISTINCT k, COUNT(d) OVER (PARTITION BY k) AS a, AVG(m) OVER (PARTITION BY k) AS b FROM (SELECT k, d, m "
    "FROM {} UNION ALL SELECT k, d, m FROM p) u ORDER BY k",
    "SELECT k FROM (SELECT k, d, x FROM {} UNION ALL SELECT k, d, x FROM p) u GROUP BY k HAVING COUNT(d) > 1 "
    "ORDER BY k",
    "SELECT k FROM (SELECT k, x FROM {} UNION ALL SELECT k, x FROM p) u GROUP BY k ORDER BY AVG(x), COUNT(k), k",
    "SELECT AVG((m)), AVG(((x))) + 1 FROM {} WHERE k IS NOT NULL",
    "SELECT COUNT(k), COUNT(j) FROM (SELECT k, j FROM {} LATERAL VIEW explode(array(1, NULL)) e AS j UNION ALL "
    "SELECT k, d FROM p)",
    # LIMIT, DISTINCT and groups return rows.
    "SELECT COUNT(*), COUNT(k) FROM (SELECT DISTINCT k, d FROM {} UNION ALL SELECT k, COUNT(*) FROM {} GROUP BY k "
    "UNION ALL SELECT k, d FROM p)",
    "SELECT COUNT(*) AS a, COUNT(t) AS b, COUNT(DISTINCT k) AS c, COUNT('x') AS d, COUNT(NULL) AS e, SUM(m) AS f FROM "
    "(SELECT * FROM {} UNION ALL SELECT * FROM p)",
)
#: What is refused over the cube, and what the hint says.
REFUSED = {
    "SELECT COUNT(m) FROM (SELECT m FROM c UNION ALL SELECT m FROM p)": "Select v in the subquery, and write SUM(v)",
    "SELECT COUNT(y) FROM (SELECT k AS y FROM p UNION ALL SELECT CAST(m AS STRING) FROM c)": "write SUM(n)",
    "SELECT COUNT(m + 1) FROM (SELECT m FROM c UNION ALL SELECT m FROM p)": "write SUM(n)",
    "SELECT COUNT(y) FROM (SELECT y FROM (SELECT hi + d AS y FROM c) UNION ALL SELECT d FROM p)": "write SUM(n)",
    "SELECT COUNT(y) FROM (SELECT y FROM (SELECT m AS y FROM c UNION ALL SELECT m FROM p) UNION ALL SELECT m FROM p)":
        "write SUM(v)",
    "SELECT COUNT_IF(m > 0) FROM (SELECT m FROM c UNION ALL SELECT m FROM p)": "Aggregate inside",
    "SELECT COUNT(k, d) FROM (SELECT k, d FROM c UNION ALL SELECT k, d FROM p)": "write SUM(n)",
    "SELECT COUNT(r) FROM (SELECT CASE WHEN rand() < 2 THEN 1 END AS r FROM c UNION ALL SELECT d FROM p)": "SUM(n)",
    "SELECT COUNT(CASE WHEN rand() < 2 THEN k END) FROM (SELECT k FROM c UNION ALL SELECT k FROM p)": "write SUM(n)",
    "SELECT COUNT((SELECT MAX(k) FROM p)) FROM (SELECT k FROM c UNION ALL SELECT k FROM p)": "write SUM(n)",
    "SELECT COUNT(y) FROM (SELECT m AS y, y AS z FROM c UNION ALL SELECT 1, 2)": "write SUM(v)",
    "SELECT COUNT(z) FROM (SELECT m AS y, y AS z FROM c UNION ALL SELECT 1, 2)": "write SUM(n)",
    "SELECT COUNT(j) FROM (SELECT j FROM c LATERAL VIEW explode(array(m, 1)) e AS j UNION ALL SELECT 1)": "SUM(n)",
    "SELECT COUNT(k) FROM (SELECT k, 1 AS rw_events FROM c UNION ALL SELECT k, 1 FROM p)": "write SUM(n)",
    "SELECT COUNT(k) FROM (SELECT * FROM (SELECT k, d FROM p) PIVOT (MAX(d) FOR k IN ('UA' AS k)) UNION ALL SELECT "
    "CAST(m AS INT) FROM c)": "write SUM(n)",
    "SELECT COUNT(k) FROM (SELECT * FROM (SELECT d FROM p UNION ALL BY NAME SELECT k, d FROM p) UNION ALL SELECT d, m "
    "FROM c)": "write SUM(n)",
    "SELECT COUNT(k) FROM (SELECT * FROM p AS y (a, b, e, k, f, g, h, i, j) UNION ALL SELECT * FROM c)": "SUM(n)",
    "SELECT AVG(hi) FROM (SELECT hi FROM c UNION ALL SELECT hi FROM p)": "Aggregate inside",
    "SELECT AVG(m + 1) FROM (SELECT m FROM c UNION ALL SELECT m FROM p)": "Aggregate inside",
    "SELECT AVG(d) FROM (SELECT d FROM c UNION ALL SELECT d FROM p)": "Aggregate inside",
    "SELECT AVG(m) FROM (SELECT m FROM c UNION ALL SELECT x FROM p)": "write SUM(m) / SUM(v) instead of AVG",
    "SELECT AVG(m) FROM (SELECT m FROM c UNION ALL SELECT m + 1 FROM p)": "Aggregate inside",
    "SELECT AVG(m) FROM (SELECT m FROM c UNION ALL SELECT SUM(m) FROM p)": "Aggregate inside",
    "SELECT AVG(y) FROM (SELECT NULL AS y FROM c UNION ALL SELECT m FROM p)": "Aggregate inside",
    "WITH u AS (SELECT k FROM c UNION ALL SELECT k FROM p) SELECT COUNT(*) FROM u UNION ALL SELECT MAX(k) FROM "
    "(SELECT * FROM u)": "write SUM(n)",
    "WITH u AS (SELECT k FROM c UNION ALL SELECT k FROM p) SELECT COUNT(*) FROM (SELECT * FROM u UNION ALL SELECT k "
    "FROM p)": "write SUM(n)",
}  # fmt: skip


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("world") / "warehouse", request.getfixturevalue(request.param)) as session:
        event_worlds.make(session, event_worlds.random_rows(random.Random(7)))
        yield session


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("query", QUERIES)
def test_counts_are_those_of_the_events(world: Session, query: str) -> None:
    over_cube, over_events = (world.execute(query.replace("{}", name)) for name in ("c", "e"))
    assert over_cube.fetch() == over_events.fetch()
    types = [(column.name, column.type) for column in over_events.columns]
    assert [(column.name, column.type) for column in over_cube.columns] == types


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_certain_is_refused(world: Session, query: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        world.execute(query)
    assert caught.value.condition == "AMBIGUOUS_COUNT"
    assert REFUSED[query] in str(caught.value.hint)


def test_a_view_of_a_union_counts_events(world: Session) -> None:
    for name in ("c", "e"):
        world.execute(f"CREATE VIEW united_{name} AS SELECT k, m, t FROM {name} UNION ALL SELECT k, m, t FROM p")
    query = "SELECT k, COUNT(*), COUNT(k), AVG(m) FROM united_{} WHERE t < '2013-02-01' GROUP BY k ORDER BY k"
    assert world.execute(query.replace("{}", "c")).fetch() == world.execute(query.replace("{}", "e")).fetch()
