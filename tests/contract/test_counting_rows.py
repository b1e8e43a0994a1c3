"""COUNT and joins over cubes in forms beside a plain FROM. Each base row is an event, so a plain table agrees."""

from __future__ import annotations

import pytest

from rewriter.errors import NotSupportedError
from rewriter.session import Session

WINDOW = "row_number() OVER (PARTITION BY carrier ORDER BY t DESC, distance) AS rn"
#: Queries over ``{}``, in which COUNT counts events.
QUERIES = (
    "SELECT COUNT(*), COUNT(k), AVG(p) FROM (SELECT carrier, price FROM {}) x (k, p)",
    "SELECT k, COUNT(*) FROM (SELECT carrier, distance, t FROM {}) AS x (k, `d d`, t) WHERE t >= '2013-02' "
    "GROUP BY k ORDER BY k",
    "WITH w (k, d) AS (SELECT carrier, distance FROM {} WHERE t >= '2013') SELECT k, COUNT(*), SUM(d) FROM w "
    "GROUP BY k ORDER BY k",
    "WITH w (k, d) AS (SELECT carrier, distance FROM {}) SELECT COUNT(*) FROM w AS y (a, b) WHERE a = 'UA'",
    "SELECT COUNT(*) FROM (SELECT k AS kk FROM (SELECT carrier FROM {}) x (k)) y (flights) WHERE flights <> 'UA'",
    "SELECT n.name, COUNT(*), COUNT(x.k) FROM names n LEFT JOIN (SELECT carrier, t FROM {}) x (k, t) "
    "ON n.carrier = x.k GROUP BY n.name ORDER BY n.name",
    # The first row of each group is one row.
    f"SELECT COUNT(*) FROM (SELECT carrier, {WINDOW} FROM {{}}) x WHERE rn = 1",
    f"SELECT carrier, COUNT(*) AS n FROM (SELECT carrier, {WINDOW} FROM {{}} WHERE t >= '2013') x WHERE 1 = x.rn "
    "GROUP BY carrier ORDER BY carrier",
    f"SELECT COUNT(*) FROM (SELECT carrier AS k, {WINDOW} FROM {{}}) x JOIN names n ON n.carrier = x.k WHERE x.rn <= 1",
    f"SELECT COUNT(*) FROM (SELECT carrier FROM (SELECT carrier, {WINDOW} FROM {{}}) x WHERE rn = 1 ORDER BY 1) y",
    # Joins in parentheses.
    "SELECT COUNT(*), SUM(distance) FROM ({} AS x JOIN names n ON x.carrier = n.carrier)",
    "SELECT n.name, COUNT(*), SUM(x.distance) FROM (names n LEFT JOIN {} AS x ON x.carrier = n.carrier "
    "AND x.t >= '2013-02') JOIN names m ON m.carrier = n.carrier GROUP BY n.name ORDER BY n.name",
    "SELECT COUNT(*) FROM (({}))",
    # UNION ALL, and joins.
    "SELECT COUNT(*) FROM (SELECT carrier FROM {} UNION ALL SELECT carrier FROM {}) x",
    "SELECT carrier, COUNT(*), COUNT(1) AS n, COUNT(*) + 1 FROM (SELECT carrier, t FROM {} WHERE t < '2013-02' "
    "UNION ALL SELECT carrier, NULL FROM names UNION ALL (SELECT x.carrier, t FROM {} x)) x GROUP BY carrier "
    "ORDER BY carrier",
    "SELECT COUNT(*), COUNT(*) FILTER (WHERE k = 'UA') FROM (SELECT k FROM (SELECT carrier AS k FROM {}) x "
    "UNION ALL SELECT carrier FROM {} WHERE distance > 500) x",
    "SELECT COUNT(*) FROM (SELECT * FROM {} UNION ALL SELECT * FROM {}) x",
    "SELECT k, COUNT(*) FROM (SELECT x.carrier AS k FROM {} x JOIN names n ON x.carrier = n.carrier) y GROUP BY k "
    "ORDER BY k",
    "SELECT name, COUNT(*) FROM (SELECT n.name FROM names n LEFT JOIN {} x ON x.carrier = n.carrier) y GROUP BY name "
    "ORDER BY name",
    "SELECT n.name, COUNT(*) FROM names n LEFT JOIN (SELECT carrier FROM {} UNION ALL SELECT carrier FROM {}) x "
    "ON n.carrier = x.carrier GROUP BY n.name ORDER BY n.name",
    "SELECT DISTINCT COUNT(*) OVER (PARTITION BY carrier) AS n FROM (SELECT carrier FROM {} UNION ALL "
    "SELECT carrier FROM names) x ORDER BY n",
    "SELECT COUNT(*) FROM (SELECT carrier, COUNT(*) AS n FROM {} GROUP BY carrier UNION ALL "
    "SELECT carrier, 1 FROM {}) x",
    "SELECT COUNT(*) FROM (SELECT x.carrier FROM {} x LEFT SEMI JOIN {} y ON x.carrier = y.carrier "
    "UNION ALL SELECT carrier FROM {} WHERE carrier IN (SELECT carrier FROM names)) z",
    "WITH w AS (SELECT carrier FROM {}) SELECT COUNT(*) FROM (SELECT carrier FROM w UNION ALL "
    "SELECT name FROM names) x",
    "SELECT COUNT(*) AS n FROM (SELECT carrier, n FROM {} LATERAL VIEW explode(array(1, 2)) e AS n) x",
    "SELECT carrier FROM (SELECT carrier FROM {} UNION ALL SELECT carrier FROM {}) x GROUP BY carrier "
    "HAVING COUNT(*) > 1 ORDER BY carrier",
    "SELECT carrier FROM (SELECT carrier FROM {} UNION ALL SELECT carrier FROM {}) x GROUP BY carrier "
    "ORDER BY COUNT(*) DESC, carrier",
)
#: What is refused over a cube, and what the hint says.
REFUSED = {
    "SELECT COUNT(*) FROM (SELECT carrier FROM c UNION ALL SELECT carrier FROM c) x (k)": "write SUM(flights) instead",
    "SELECT *, COUNT(*) OVER () FROM (SELECT carrier FROM c UNION ALL SELECT carrier FROM c) x": "write SUM(flights)",
    "SELECT COUNT(*) FROM (SELECT carrier FROM c UNION ALL SELECT carrier FROM c ORDER BY 1) x": "write SUM(flights)",
    "SELECT COUNT(*) FROM (SELECT x.carrier FROM c x JOIN c y ON x.carrier = y.carrier) z": "write SUM(flights)",
    "SELECT COUNT(*) FROM (SELECT carrier FROM c UNION ALL SELECT 'x') x JOIN c y USING (carrier)": "SUM(flights)",
    "SELECT COUNT(*) FROM (SELECT carrier FROM c GROUP BY 1 UNION ALL SELECT carrier FROM c) x": "SUM(flights)",
    "SELECT COUNT(*) FROM (SELECT * FROM (SELECT carrier FROM c) x UNION ALL SELECT 1) x": "Name the columns",
    f"SELECT COUNT(*) FROM (SELECT carrier, {WINDOW} FROM c) x WHERE rn <= 2": "write SUM(flights) instead of COUNT",
    f"SELECT COUNT(*) FROM (SELECT carrier, {WINDOW} FROM c) x WHERE rn = 1 OR carrier = 'UA'": "write SUM(flights)",
    "SELECT COUNT(*) FROM (SELECT carrier, rank() OVER (ORDER BY t) AS rn FROM c) x WHERE rn = 1": "write SUM(flights)",
    "SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY distance ORDER BY t) AS rn FROM c) x "
    "WHERE rn = 1": "write SUM(flights)",
    f"SELECT COUNT(*) FROM (SELECT carrier, {WINDOW} FROM c) x LEFT JOIN names n ON rn = 1": "write SUM(flights)",
    f"SELECT AVG(price) FROM (SELECT price, {WINDOW} FROM c) x WHERE rn = 1": "Aggregate inside the subquery",
    "SELECT SUM(distance) FROM names n JOIN (c JOIN names m ON c.carrier = m.carrier) "
    "ON n.carrier = c.carrier": "without parentheses",
    "SELECT SUM(distance) FROM c TABLESAMPLE (10 PERCENT)": "Sample a table of events",
    "SELECT * FROM c PIVOT (SUM(distance) FOR carrier IN ('UA'))": "in a subquery",
    "WITH RECURSIVE x AS (SELECT carrier FROM c) SELECT COUNT(*) FROM x": "write SUM(flights)",
    "WITH RECURSIVE x AS (SELECT carrier FROM c UNION ALL SELECT carrier FROM x WHERE carrier = 'ZZ') "
    "SELECT COUNT(*) FROM x": "write SUM(flights)",
    "SELECT * FROM (SELECT carrier, t FROM c) PIVOT (COUNT(*) FOR carrier IN ('UA'))": "write SUM(flights)",
    "SELECT * FROM (SELECT carrier, price FROM c) x PIVOT (AVG(price) FOR carrier IN ('UA')) AS y": "Aggregate inside",
}


@pytest.fixture(scope="module")
def named(cube_session: Session) -> Session:
    cube_session.execute("CREATE TABLE names (carrier STRING, name STRING)")
    cube_session.execute("INSERT INTO names VALUES ('UA', 'United'), ('AA', 'American'), ('XX', 'None')")
    return cube_session


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("query", QUERIES)
def test_count_is_that_of_the_plain_table(named: Session, query: str) -> None:
    assert named.execute(query.replace("{}", "c")).fetch() == named.execute(query.replace("{}", "base")).fetch()


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused_says_what_to_write(named: Session, query: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        named.execute(query)
    assert REFUSED[query] in str(caught.value.hint)


def test_a_view_with_a_column_list_counts_events(named: Session) -> None:
    for name in ("c", "base"):
        named.execute(f"CREATE VIEW listed_{name} (k, d, at) AS SELECT carrier, distance, t FROM {name}")
    query = "SELECT k, COUNT(*), SUM(d) FROM listed_{} WHERE at >= '2013-02' GROUP BY k ORDER BY k"
    assert named.execute(query.replace("{}", "c")).fetch() == named.execute(query.replace("{}", "base")).fetch()


@pytest.mark.parametrize(
    "query", ["SELECT SUM(n) FROM (SELECT flights AS n FROM {} UNION ALL SELECT flights FROM {}) x"]
)
def test_what_the_hint_says_counts_events(named: Session, query: str) -> None:
    assert named.execute(query.format("c", "c")).fetch() == named.execute(query.format("base", "base")).fetch()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM c PIVOT (SUM(distance) FOR carrier IN ('UA', 'ZZ'))",
        "SELECT * FROM default.c x PIVOT (SUM(distance) AS d, MAX(price) FOR carrier IN ('UA', 'AA' AS `b c`)) p",
        "SELECT * FROM c PIVOT (COUNT(*) FOR carrier IN ('UA', 'AA'))",
        "SELECT * FROM c UNPIVOT (v FOR m IN (distance, flights AS p))",
    ],
)
def test_the_hint_for_a_pivot_of_a_cube_runs(named: Session, query: str) -> None:
    with pytest.raises(NotSupportedError, match=r"would (group by|keep) all other columns") as caught:
        named.execute(query)
    hint = str(caught.value.hint)
    over_cube = f"SELECT * {hint[hint.index('FROM (') :].removesuffix('.')}"
    over_events = over_cube.replace(" FROM c)", " FROM base)").replace("default.c)", "base)")
    if "COUNT(*)" in query:
        over_events = over_events.replace(", flights", "").replace("SUM(flights)", "COUNT(*)")
    assert sorted(named.execute(over_cube).fetch(), key=repr) == sorted(named.execute(over_events).fetch(), key=repr)


def test_a_pivot_over_an_aggregated_cube_counts_events(named: Session) -> None:
    query = (
        "SELECT * FROM (SELECT carrier, month(t) AS m, SUM(distance) AS d FROM {} "
        "WHERE year(t) = 2013 AND month(t) < 4 GROUP BY carrier, month(t)) "
        "PIVOT (SUM(d) FOR m IN (1, 2, 3)) ORDER BY carrier"
    )
    assert named.execute(query.replace("{}", "c")).fetch() == named.execute(query.replace("{}", "base")).fetch()
