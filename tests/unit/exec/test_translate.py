"""The allow-list of DuckDB: other constructs are refused with name and position, never dropped or guessed."""

from __future__ import annotations

import datetime as dt

import pytest

from rewriter.catalog.model.objects import Column
from rewriter.errors import EngineError, Error, NotSupportedError, ParseError
from rewriter.exec.engine import EngineQuery, Relation
from rewriter.exec.translate.queries import Translation, translate

_T = Relation(
    "t",
    "parquet",
    (Column("a", "int"), Column("s", "string"), Column("d", "double"), Column("m", "decimal(38,10)"),
     Column("ts", "timestamp"), Column("f", "boolean"), Column("l", "interval"), Column("x", "binary")),
    (Column("dt", "string"),),
    (),
)  # fmt: skip


def run(sql: str, **parameters: object) -> Translation:
    return translate(EngineQuery(sql, (_T,), parameters))


REFUSED = [
    # functions that differ, are not deterministic, or were never compared
    ("SELECT rand(5) FROM t", "rand"),
    ("SELECT db.f(a) FROM t", "db.f(a"),
    # windows, grouping sets, samples, laterals, pivots
    ("SELECT count(*) FROM t QUALIFY row_number() OVER (ORDER BY count(*)) = 1", None),
    ("SELECT s, a, row_number() OVER (ORDER BY d) AS d FROM t QUALIFY d = 1", "d"),
    ("SELECT count(*) FROM t GROUP BY a QUALIFY row_number() OVER (ORDER BY a) = 1", None),
    ("SELECT a, sum(d) OVER (PARTITION BY a) AS x FROM t GROUP BY ALL", None),
    ("SELECT a AS `all` FROM t GROUP BY ALL", None),
    ("SELECT a AS `all`, s FROM t ORDER BY ALL", None),
    ("SELECT sum(a) OVER (w ORDER BY s) AS x FROM t WINDOW w AS (PARTITION BY d)", None),
    ("SELECT e FROM t LATERAL VIEW stack(a, 1) v AS e", None),
    ("SELECT a FROM t TABLESAMPLE (BUCKET 1 OUT OF 10 ON a)", None),
    ("SELECT row_number() OVER (ORDER BY array(a)) AS x FROM t", None),
    ("SELECT max_by(a, array(a)) FROM t", None),
    ("SELECT greatest(array(a), array(1)) FROM t", None),
    ("SELECT least(struct(a), struct(1)) FROM t", None),
    ("SELECT format_string('%s', CAST(a AS DECIMAL(20, 7))) FROM t", None),
    ("SELECT INTERVAL 1 DAY * 1.5D AS x FROM t", None),
    ("SELECT regexp_replace(s, '(a)', '$2') FROM t", None),
    ("SELECT regexp_replace(s, '(a)', '${x}') FROM t", None),
    ("SELECT regexp_replace(s, '(a)', '$') FROM t", None),
    ("SELECT regexp_replace(s, '(a*)+', 'x') FROM t", None),
    ("SELECT regexp_replace(s, '(a(b)?)+', 'x') FROM t", None),
    ("SELECT regexp_replace(s, 'a*$', 'x') FROM t", None),
    ("SELECT crc32(a) FROM t", None),
    ("SELECT a FROM t SORT BY a ORDER BY s", None),
    ("SELECT a FROM t DISTRIBUTE BY a ORDER BY s", None),
    ("SELECT DISTINCT ON (a) a FROM t", None),
    ("SELECT * EXCEPT (a) FROM t", None),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT * FROM r) SELECT * FROM r", None),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT DISTINCT n FROM r) SELECT * FROM r", None),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT max(n) FROM r) SELECT * FROM r", None),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n FROM (SELECT n FROM r)) SELECT * FROM r", None),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT r.n FROM r JOIN r q ON r.n = q.n) SELECT * FROM r", None),
    ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n FROM r LEFT JOIN t ON n = a) SELECT * FROM r", None),
    ("WITH RECURSIVE r AS (SELECT 1.5 AS n UNION ALL SELECT n * 2 FROM r) SELECT * FROM r", None),
    # joins
    ("SELECT t.a FROM t NATURAL JOIN t u", None),
    ("SELECT t.a FROM t, t u RIGHT JOIN t v ON u.a = v.a", None),
    # types
    ("SELECT l FROM t", "l"),
    ("SELECT * FROM t", "*"),
    ("SELECT upper(x) FROM t", None),
    ("SELECT x || 'a' FROM t", None),
    ("SELECT x = s FROM t", None),
    ("SELECT CAST(x AS INT) FROM t", None),
    ("SELECT CAST(a AS BINARY) FROM t", None),
    ("SELECT x FROM t UNION ALL SELECT s FROM t", None),
    ("SELECT CAST(a AS array<int>) FROM t", None),
    ("SELECT CAST(s AS array<varchar(3)>) FROM t", "varchar("),
    ("SELECT CAST(s AS variant) FROM t", None),
    ("SELECT sum(grouping(a)) FROM t GROUP BY ROLLUP (a)", "grouping("),
    # comparisons in which Spark casts a column
    ("SELECT a FROM t WHERE ts > 'yesterday'", None),
    # patterns
    (r"SELECT a FROM t WHERE s RLIKE '\\bx'", None),
    (r"SELECT a FROM t WHERE s RLIKE '(?i)x'", None),
    (r"SELECT a FROM t WHERE s RLIKE 'x*+'", None),
    ("SELECT a FROM t WHERE s RLIKE dt", None),
    ("SELECT a FROM t WHERE s ILIKE 'ä'", None),
    ("SELECT to_timestamp(s, 'yyyy-MM-dd h a') FROM t", None),
    ("SELECT to_timestamp(s, 'MM-dd') FROM t", None),
    ("SELECT to_timestamp(s, dt) FROM t", None),
    ("SELECT date_trunc(s, ts) FROM t", None),
    # intervals
    ("SELECT ts + INTERVAL '1 02:03' DAY TO SECOND FROM t", None),
    # what sqlglot reads otherwise than Spark
    ("SELECT a FROM TABLE t", "TABLE t"),
    ("SELECT a -> 1 FROM t", None),
    # statements
    ("INSERT INTO t SELECT 1", None),
    ("SELECT a FROM range(10)", None),
    ("SELECT a FROM db.t", None),
    ("SELECT t.l[0] FROM t", None),
    ("SELECT a FROM t ORDER BY a + b", "b"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "excerpt"), REFUSED, ids=[sql for sql, _ in REFUSED])
def test_refused(sql: str, excerpt: str | None) -> None:
    with pytest.raises((NotSupportedError, EngineError, ParseError)) as caught:
        run(sql)
    error = caught.value
    assert error.condition in ("DUCKDB_UNSUPPORTED", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "PARSE_SYNTAX_ERROR")
    if excerpt is not None:
        assert error.position is not None
        assert sql[error.position.start : error.position.end].startswith(excerpt.rstrip("()"))


def test_a_refusal_names_the_construct_and_the_way_out() -> None:
    with pytest.raises(NotSupportedError) as caught:
        run("SELECT a, histogram_numeric(a, 5) FROM t")
    assert "histogram_numeric" in caught.value.message
    assert "Spark engine" in (caught.value.hint or "")


def test_a_name_in_order_by_is_an_alias_first() -> None:
    assert "-(CAST(" in run("SELECT -a AS a FROM t ORDER BY a + 1").sql.partition("ORDER BY")[2]
    for order in ("SUM(a)", "SUM(a) OVER ()", "(SELECT max(a) FROM t AS u)"):
        with pytest.raises(NotSupportedError, match="The alias a within"):
            run(f"SELECT -max(a) AS a FROM t GROUP BY s ORDER BY {order}")


def test_a_name_in_having_is_a_grouped_column_then_an_alias() -> None:
    assert "max(" in run("SELECT s, max(a) AS a FROM t GROUP BY s HAVING a > 1").sql.partition("HAVING")[2]
    assert 'HAVING (s1."a" > CAST(1 AS INTEGER))' in run("SELECT -a AS a FROM t GROUP BY a HAVING a > 1").sql
    with pytest.raises(NotSupportedError, match="a column and an alias"):
        run("SELECT -a AS a FROM t GROUP BY ROLLUP (a) HAVING a > 1")
    with pytest.raises(NotSupportedError, match="such as MEDIAN"):
        run("SELECT s FROM t GROUP BY s HAVING median(a) > 1")
    assert "HAVING" in run("SELECT s FROM t GROUP BY s HAVING max(a) / 2.0 > avg(m)").sql


def test_a_name_in_a_subquery_of_having_is_its_own() -> None:
    translated = run(
        "SELECT upper(s) AS z FROM t GROUP BY s HAVING max(a) > (SELECT max(z) FROM (SELECT a AS z FROM t) AS u)"
    )
    assert "upper" not in translated.sql.partition("HAVING")[2]


def test_only_used_parameters_are_passed() -> None:
    translated = run("SELECT a FROM t WHERE a = :p AND s = :q", p=1, q="x", r=2)
    assert translated.parameters == {"p": 1, "q": "x"}


def test_a_string_parameter_is_compared_with_a_timestamp_as_one() -> None:
    translated = run("SELECT a FROM t WHERE ts >= :p", p="2013-01-02")
    assert "TIMESTAMP '2013-01-02 00:00:00'" in translated.sql


def test_an_unbound_parameter() -> None:
    with pytest.raises(EngineError) as caught:
        run("SELECT :p")
    assert caught.value.condition == "UNBOUND_SQL_PARAMETER"


def test_a_parameter_of_an_unknown_type() -> None:
    with pytest.raises(NotSupportedError):
        run("SELECT :p", p=dt.timedelta(1))


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT 'it''s'", "it's"),
        (r"SELECT 'it\'s'", "it's"),
        (r"SELECT r'a\n'", r"a\n"),
        ('SELECT "a""b"', 'a"b'),
        (r"SELECT 'é\u4e2d'", "é中"),
        ("SELECT '; -- no comment'", "; -- no comment"),
    ],
)
def test_strings_are_spelled_as_spark_reads_them(sql: str, value: str) -> None:
    quoted = value.replace("'", "''")
    assert run(sql).sql == f"SELECT '{quoted}' AS c0"


def test_strings_keep_their_value_where_trees_are_copied() -> None:
    translated = run(r"SELECT s AS k, max(dt) AS best FROM t GROUP BY s HAVING best <> 'it''s' AND k <> 'a\\b'")
    assert "'it''s'" in translated.sql
    assert r"'a\b'" in translated.sql


def test_names_are_resolved_as_spark_does() -> None:
    translated = run("SELECT A, t.S AS s2, `dt` FROM t")
    assert [name for name, _ in translated.columns] == ["A", "s2", "dt"]
    with pytest.raises(Error) as caught:
        run("SELECT a FROM t JOIN t u ON t.a = u.a")
    assert caught.value.condition == "AMBIGUOUS_REFERENCE"


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("(SELECT max(a) FROM t)", "scalarsubquery()"),
        ("(SELECT max(u.a) FROM t u WHERE u.a = t.a)", "_c0"),
        ("EXISTS (SELECT 1 FROM t WHERE a = 1)", "exists()"),
        ("EXISTS (SELECT 1 FROM t u WHERE u.a = t.a)", "_c0"),
        ("a IN (SELECT a FROM t)", "(a IN (listquery()))"),
        ("a IN (SELECT u.a FROM t u WHERE u.s = t.s)", "_c0"),
    ],
)
def test_a_correlated_subquery_has_no_derived_name(item: str, name: str) -> None:
    """Spark's name lists the columns of the outer query in an order of its own: ``scalarsubquery(k, r, k)``."""
    assert [column for column, _ in run(f"SELECT {item} FROM t").columns] == [name]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (SELECT max(t.a)) FROM t",
        "SELECT (SELECT count(t.a) FROM t u) FROM t",
        "SELECT (SELECT sum(u.a + t.a) FROM t u WHERE u.s = t.s) FROM t",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.a IN (SELECT max(t.a) FROM t v))",
        "SELECT (SELECT max(t.a) OVER ()) FROM t",
    ],
)
def test_an_aggregate_of_the_outer_query_is_refused(query: str) -> None:
    """Spark refuses it: CORRELATED_REFERENCE. DuckDB would aggregate the rows of the outer query."""
    with pytest.raises(NotSupportedError, match="columns of the outer query"):
        run(query)


def test_a_relation_may_be_called_like_an_alias_of_ours() -> None:
    relation = Relation("s1", "parquet", (Column("a", "int"),), (), ())
    translated = translate(
        EngineQuery("WITH x AS (SELECT a FROM s1) SELECT x.a FROM x JOIN s1 ON x.a = s1.a", (relation,))
    )
    assert translated.sql.count('"s1" AS ') == 2
    assert "s1 AS (" not in translated.sql


def test_a_union_of_a_thousand_arms_is_no_deep_tree() -> None:
    arm = "SELECT a, dt FROM t WHERE dt = '2013'"
    translated = run(" UNION ALL ".join([arm] * 1000))
    assert translated.sql.count("UNION ALL") == 999


def test_a_long_chain_of_conditions() -> None:
    chain = " OR ".join(f"dt = '{n}'" for n in range(500))
    assert run(f"SELECT a FROM t WHERE {chain}").sql.count(" OR ") == 499


@pytest.mark.parametrize(
    ("item", "key"),
    [
        ("a", "((a))"),
        ("(a + 1) * 2", "a + 1"),
        ("substr(s, 1, 2) || 'x'", "substring(s, 1, 2)"),
        ("year(ts)", "EXTRACT(YEAR FROM ts)"),
        ("date_trunc('MONTH', ts)", "date_trunc('MONTH', ts)"),
        ("date_trunc('month', ts) + INTERVAL 1 DAY", "date_trunc('month', ts)"),
        ("a NOT IN (1, 2)", "a IN (1, 2)"),
        ("CASE WHEN a > 1 THEN s ELSE 'x' END", "a, s"),
        ("sum(a) OVER (PARTITION BY a)", "a"),
    ],
)
def test_an_item_that_consists_of_keys_of_group_by(item: str, key: str) -> None:
    run(f"SELECT {item}, count(*) FROM t GROUP BY {key}")


@pytest.mark.parametrize(
    ("item", "key"),
    [
        ("date_trunc('MONTH', ts)", "date_trunc('month', ts)"),  # Spark compares the unit as it is spelled
        ("date_trunc('DAY', ts) + INTERVAL 1 DAY", "date_trunc('day', ts)"),
        ("trunc(ts, 'MM')", "trunc(ts, 'mm')"),
        ("ts", "date_trunc('month', ts)"),
        ("a", "a + 1"),
        ("a + 2", "a + 1"),
        ("upper(s)", "lower(s)"),
        ("a, sum(d) OVER (PARTITION BY s)", "a"),
    ],
)
def test_an_item_with_a_column_outside_the_keys_of_group_by(item: str, key: str) -> None:
    for query in (f"SELECT {item}, count(*) FROM t GROUP BY {key}",
                  f"SELECT count(*) FROM t GROUP BY {key} ORDER BY {item}"):  # fmt: skip
        with pytest.raises(EngineError, match="is neither in GROUP BY nor in an aggregate") as caught:
            run(query)
        assert caught.value.condition == "MISSING_AGGREGATION"


def test_spellings_of_a_unit_are_keys_of_their_own() -> None:
    months = "date_trunc('MONTH', ts)"
    with pytest.raises(EngineError, match="names an expression that the query does not group by"):
        run(f"SELECT grouping(date_trunc('month', ts)) FROM t GROUP BY ROLLUP ({months})")
    with pytest.raises(NotSupportedError, match="by an expression that is not selected"):
        run(f"SELECT DISTINCT {months} FROM t ORDER BY date_trunc('month', ts)")
    assert run(f"SELECT DISTINCT {months} FROM t ORDER BY {months}").sql.endswith("ORDER BY c0 ASC NULLS FIRST")


def test_a_long_chain_beside_a_computed_key() -> None:
    chain = " OR ".join(f"length(s) = {n}" for n in range(500))
    run(f"SELECT {chain}, count(*) FROM t GROUP BY length(s), s")


def test_a_grouping_set_without_parentheses_may_be_a_call_with_a_unit() -> None:
    hours = "timestampadd(HOUR, 9, ts)"
    bare = run(f"SELECT count(*) FROM t GROUP BY GROUPING SETS ({hours}, (s, {hours}))").sql
    assert bare == run(f"SELECT count(*) FROM t GROUP BY GROUPING SETS (({hours}), (s, {hours}))").sql
