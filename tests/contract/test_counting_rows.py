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
)
#: What is refused over a cube, and what the hint says.
REFUSED = {
    "SELECT COUNT(*) FROM (SELECT carrier FROM c UNION ALL SELECT carrier FROM c) x": "write SUM(flights) instead",
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


@pytest.mark.parametrize("query", QUERIES)
def test_count_is_that_of_the_plain_table(named: Session, query: str) -> None:
    assert named.execute(query.format("c")).fetch() == named.execute(query.format("base")).fetch()


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused_says_what_to_write(named: Session, query: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        named.execute(query)
    assert REFUSED[query] in str(caught.value.hint)


def test_a_view_with_a_column_list_counts_events(named: Session) -> None:
    for name in ("c", "base"):
        named.execute(f"CREATE VIEW listed_{name} (k, d, at) AS SELECT carrier, distance, t FROM {name}")
    query = "SELECT k, COUNT(*), SUM(d) FROM listed_{} WHERE at >= '2013-02' GROUP BY k ORDER BY k"
    assert named.execute(query.format("c")).fetch() == named.execute(query.format("base")).fetch()


@pytest.mark.parametrize(
    "query", ["SELECT SUM(n) FROM (SELECT flights AS n FROM {} UNION ALL SELECT flights FROM {}) x"]
)
def test_what_the_hint_says_counts_events(named: Session, query: str) -> None:
    assert named.execute(query.format("c", "c")).fetch() == named.execute(query.format("base", "base")).fetch()


def test_a_pivot_over_an_aggregated_cube_counts_events(named: Session) -> None:
    query = (
        "SELECT * FROM (SELECT carrier, month(t) AS m, SUM(distance) AS d FROM {} "
        "WHERE year(t) = 2013 AND month(t) < 4 GROUP BY carrier, month(t)) "
        "PIVOT (SUM(d) FOR m IN (1, 2, 3)) ORDER BY carrier"
    )
    assert named.execute(query.format("c")).fetch() == named.execute(query.format("base")).fetch()
