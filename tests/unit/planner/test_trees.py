"""Lists of nodes equal those of sqlglot's own generators, in the same order."""

import pytest
import sqlglot
from sqlglot import exp

from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.text.sqlglot_trees import children, find_all, one_of, settle, walk

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
    walked, expected = walk(tree), list(tree.walk())
    assert list(map(id, walked)) == list(map(id, expected))
    for node in expected:
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


def depth(tree: exp.Expr) -> int:
    level, count = [tree], 0
    while level:
        level, count = [child for node in level for child in children(node)], count + 1
    return count


@pytest.mark.parametrize("word", ["AND", "OR"])
def test_a_long_chain_is_as_deep_as_the_logarithm_of_its_length(word: str) -> None:
    terms = [f"a = {n}" if n % 7 else f"(b = {n} AND c OR d)" for n in range(2000)]
    tree = sqlglot.parse_one(f"SELECT 1 FROM t WHERE x {'OR' if word == 'AND' else 'AND'} {f' {word} '.join(terms)}")
    chain = next(tree.find_all(exp.And if word == "AND" else exp.Or))
    before = [part.sql() for part in chain.flatten(unnest=False)]
    settle(tree)
    assert depth(tree) < 25
    chain = next(tree.find_all(exp.And if word == "AND" else exp.Or))
    assert [part.sql() for part in chain.flatten(unnest=False)] == before
    for node in tree.walk():
        assert all(child.parent is node for child in children(node))


def test_a_short_chain_stays_as_it_is() -> None:
    text = f"SELECT {' OR '.join(f'a{n}' for n in range(40))}, {' AND '.join(f'a{n}' for n in range(40))}"
    tree = sqlglot.parse_one(text)
    nodes = list(map(id, walk(tree)))
    settle(tree)
    assert list(map(id, walk(tree))) == nodes
