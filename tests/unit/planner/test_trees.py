"""Lists of nodes are what sqlglot's own generators answer, in the same order."""

import pytest
import sqlglot
from sqlglot import exp

from rewriter.planner.scalars import is_scalar
from rewriter.planner.trees import children, find_all, one_of, walk

TEXTS = [
    "SELECT 1",
    "SELECT a.x, COUNT(*) FILTER (WHERE b), SUM(c) OVER (PARTITION BY d ORDER BY e DESC NULLS LAST) FROM a, b x (y, z)",
    "WITH w AS (SELECT * FROM t) SELECT /*+ BROADCAST(w) */ CASE WHEN x THEN 1 ELSE y END FROM w "
    "JOIN u USING (k) LEFT JOIN v ON w.a = v.a AND v.b IN (1, 2, (SELECT MAX(c) FROM z)) "
    "WHERE EXISTS (SELECT 1 FROM q WHERE q.a = w.a) GROUP BY GROUPING SETS ((a), (b, c)) HAVING SUM(d) > 1 "
    "ORDER BY 1 LIMIT 3",
    "SELECT transform(a, x -> x + 1), map('k', named_struct('a', 1)), t.s.f, a[0] FROM t LATERAL VIEW explode(a) e AS i"
    " UNION ALL SELECT DATE '2015-01-01' + INTERVAL 3 DAYS, CAST(x AS DECIMAL(10, 2)), :p, current_date()"
    " FROM VALUES (1)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_they_are_those_of_sqlglot(text: str) -> None:
    tree = sqlglot.parse_one(text, dialect="spark")
    ours, theirs = walk(tree), list(tree.walk())
    assert list(map(id, ours)) == list(map(id, theirs))
    for node in theirs:
        assert list(map(id, children(node))) == list(map(id, node.iter_expressions()))
    for kind in (exp.Column, exp.Query, exp.Func):
        assert list(map(id, find_all(tree, kind))) == list(map(id, tree.find_all(kind)))


def test_classes_are_told_apart_with_those_derived_from_them() -> None:
    is_query = one_of(exp.Query, exp.Values)
    assert is_query(exp.Select)
    assert is_query(exp.Union)
    assert is_query(exp.Values)
    assert not is_query(exp.Column)
    assert not one_of()(exp.Select)


def test_a_class_does_not_decide_for_nodes_that_depend_on_what_is_around_them() -> None:
    pinned, hidden = (
        next(sqlglot.parse_one(f"SELECT {call}", dialect="spark").find_all(exp.CurrentTimestamp))
        for call in ("current_timestamp()", "unix_timestamp()")
    )
    assert is_scalar(pinned)
    assert not is_scalar(hidden)
    window, sliding = (
        sqlglot.parse_one(f"SELECT {call}", dialect="spark").expressions[0] for call in ("weekday(a)", "unheard_of(a)")
    )
    assert is_scalar(window)
    assert not is_scalar(sliding)
