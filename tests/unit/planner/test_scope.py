"""Scope: what is planned where, through subqueries, joins and correlated subqueries (semantics, rule 4)."""

# ruff: noqa: E501 -- a query of a table stays on its line

from __future__ import annotations

import pytest

from rewriter.errors import AnalysisError, NotSupportedError
from rewriter.planner.model.plan import Plan, ReasonKind

from .fakes import plan, reader

BEST = {"monthly": 1, "daily": 2, "hourly": 24}
BASE = {"hourly": 744}
ALL_HOURS = {"hourly": 2160}
ALL = {"monthly": 3}


def within(alias: str = "") -> str:
    name = f"{alias}.departed" if alias else "departed"
    return f"{name} >= '2013-01-29 06:00' AND {name} < '2013-03-01 06:00'"


def covers(planned: Plan) -> list[dict[str, int]]:
    """Returns the number of partitions per table of each reference's cover."""
    return [{part.table: part.partitions for part in reference.parts} for reference in planned.coverage.references]


def kinds(planned: Plan, reference: int = 0) -> set[ReasonKind]:
    return {reason.kind for reason in planned.coverage.references[reference].reasons}


@pytest.mark.parametrize(
    ("sql", "cover"),
    [
        (f"SELECT SUM(distance) FROM (SELECT * FROM flights) x WHERE {within()}", BEST),
        (f"SELECT SUM(distance) FROM (SELECT * FROM flights WHERE {within()}) x", BEST),
        (f"SELECT SUM(d) FROM (SELECT distance * 2 AS d, departed AS t FROM flights) x WHERE {within().replace('departed', 't')}", BEST),
        (f"WITH c AS (SELECT * FROM flights), d AS (SELECT carrier, departed FROM c) SELECT COUNT(*) FROM d WHERE {within()}", BEST),
        (f"SELECT SUM(x) FROM (SELECT CASE WHEN carrier = 'UA' THEN distance END AS x FROM flights WHERE {within()})", BEST),
        (f"SELECT MAX(w) FROM (SELECT worst w, departed FROM flights) WHERE {within()} AND w IS NOT NULL", BASE),
        (f"SELECT SUM(x) FROM (SELECT distance + 1 AS x FROM flights WHERE {within()})", BASE),
        (f"SELECT carrier, x FROM (SELECT carrier, distance AS x FROM flights WHERE {within()})", BASE),
        (f"SELECT DISTINCT * FROM (SELECT carrier FROM flights WHERE {within()})", BEST),
        (f"SELECT SUM(distance) FROM (SELECT * FROM flights WHERE distance > 3) WHERE {within()}", BASE),
        ("SELECT SUM(distance) FROM (SELECT distance, date_trunc('month', departed) AS m FROM flights) WHERE m = '2013-02-01'", {"monthly": 1}),
        (f"SELECT h, SUM(distance) FROM (SELECT distance, hour(departed) AS h FROM flights WHERE {within()}) GROUP BY h", BASE),
        # A column that the outer query does not read does not matter.
        (f"SELECT SUM(distance) FROM (SELECT distance, hour(departed) AS h FROM flights WHERE {within()})", BEST),
        # Renames that swap names.
        (f"SELECT SUM(worst) FROM (SELECT distance AS worst, worst AS distance FROM flights WHERE {within()})", BEST),
        (f"SELECT SUM(distance) FROM (SELECT distance AS worst, worst AS distance FROM flights WHERE {within()})", BASE),
        # A query that returns fewer rows than it reads is not a projection: LIMIT returns rows, and they are counted.
        (f"SELECT COUNT(*) FROM (SELECT carrier FROM flights WHERE {within()} LIMIT 5)", BASE),
        (f"SELECT COUNT(*) FROM (SELECT DISTINCT carrier FROM flights WHERE {within()})", BEST),
        (f"SELECT SUM(distance) FROM (SELECT distance, rand() AS r FROM flights WHERE {within()})", BASE),
    ],
)  # fmt: skip
def test_subqueries_that_project_and_filter_are_inlined(sql: str, cover: dict[str, int]) -> None:
    assert covers(plan(sql)) == [cover]


def test_a_range_outside_finds_the_cube_two_levels_inside_and_the_text_keeps_its_shape() -> None:
    planned = plan(
        "SELECT c, COUNT(*) AS n FROM ( -- outer\n  SELECT k AS c, t FROM (SELECT carrier AS k, departed AS t FROM flights) "
        "i ) o WHERE time_range_in(o.t, '2013-02', '2013-03') GROUP BY c"
    )
    assert planned.sql == (
        "SELECT c, COALESCE(SUM(rw_flights), 0) AS n FROM ( -- outer\n  SELECT i.rw_flights AS rw_flights, k AS c, t "
        "FROM (SELECT flights.flights AS rw_flights, carrier AS k, departed AS t FROM (SELECT carrier, flights, "
        "to_timestamp(month, 'yyyy-MM') AS departed FROM monthly WHERE month = '2013-02') AS flights) "
        "i ) o WHERE (o.t >= TIMESTAMP '2013-02-01 00:00:00' AND o.t < TIMESTAMP '2013-03-01 00:00:00') GROUP BY c"
    )


@pytest.mark.parametrize(
    ("join", "cover"),
    [
        # A range in WHERE restricts the cube on either side of any join: NULLs do not pass it.
        (f"flights f JOIN airlines a USING (carrier) WHERE {within('f')}", BEST),
        (f"airlines a LEFT JOIN flights f USING (carrier) WHERE {within('f')}", BEST),
        (f"flights f LEFT JOIN airlines a USING (carrier) WHERE {within('f')}", BEST),
        (f"flights f RIGHT JOIN airlines a USING (carrier) WHERE {within('f')}", BEST),
        (f"flights f FULL JOIN airlines a USING (carrier) WHERE {within('f')}", BEST),
        (f"flights f CROSS JOIN airlines a WHERE {within('f')}", BEST),
        (f"airlines a, flights f WHERE {within('f')}", BEST),
        # In ON it restricts only the side that need not match.
        (f"flights f JOIN airlines a ON f.carrier = a.carrier AND {within('f')}", BEST),
        (f"airlines a LEFT JOIN flights f ON f.carrier = a.carrier AND {within('f')}", BEST),
        (f"flights f LEFT JOIN airlines a ON f.carrier = a.carrier AND {within('f')}", ALL_HOURS),
        (f"flights f RIGHT JOIN airlines a ON f.carrier = a.carrier AND {within('f')}", BEST),
        (f"airlines a RIGHT JOIN flights f ON f.carrier = a.carrier AND {within('f')}", ALL_HOURS),
        (f"flights f FULL JOIN airlines a ON f.carrier = a.carrier AND {within('f')}", ALL_HOURS),
        (f"flights f LEFT SEMI JOIN airlines a ON f.carrier = a.carrier AND {within('f')}", BEST),
        (f"flights f LEFT ANTI JOIN airlines a ON f.carrier = a.carrier AND {within('f')}", ALL_HOURS),
        (f"(SELECT * FROM flights WHERE {within()}) f FULL JOIN airlines a ON f.carrier = a.carrier", BEST),
        # A predicate that NULLs pass must not empty the cube: the anti-join pattern.
        ("airlines a LEFT JOIN flights f USING (carrier) WHERE f.departed IS NULL", ALL_HOURS),
        ("airlines a LEFT JOIN flights f USING (carrier) WHERE f.departed IS NULL OR f.departed < '2013-02-01'", ALL_HOURS),
        ("airlines a LEFT JOIN flights f USING (carrier) WHERE coalesce(f.departed, DATE '2013-02-01') >= '2013-02-01'", ALL_HOURS),
        (f"flights f NATURAL JOIN airlines a WHERE {within('f')}", BEST),
    ],
)  # fmt: skip
def test_each_join_restricts_the_side_that_it_may(join: str, cover: dict[str, int]) -> None:
    assert covers(plan(f"SELECT SUM(f.distance) FROM {join}")) == [cover]


def test_a_cube_that_may_be_absent_counts_one() -> None:
    planned = plan(
        "SELECT a.name, COUNT(*) AS n, COUNT(f.carrier) AS m FROM airlines a LEFT JOIN flights f "
        "ON f.carrier = a.carrier AND f.departed >= '2013-02-01' AND f.departed < '2013-03-01' GROUP BY a.name"
    )
    assert planned.sql == (
        "SELECT a.name, COALESCE(SUM(COALESCE(f.rw_events, 1)), 0) AS n, "
        "COALESCE(SUM(CASE WHEN (f.carrier) IS NOT NULL THEN COALESCE(f.rw_events, 1) END), 0) AS m FROM airlines a "
        "LEFT JOIN (SELECT carrier, to_timestamp(month, 'yyyy-MM') AS departed, COALESCE(flights, 0) AS rw_events "
        "FROM monthly WHERE month = '2013-02') f "
        "ON f.carrier = a.carrier AND f.departed >= '2013-02-01' AND f.departed < '2013-03-01' GROUP BY a.name"
    )


def test_a_constant_of_a_subquery_that_may_be_absent_is_no_count_of_rows() -> None:
    planned = plan(
        "SELECT COUNT(f.one) AS n FROM airlines a LEFT JOIN (SELECT carrier, 1 AS one FROM flights "
        "WHERE time_range_in(departed, '2013-02', '2013-03')) f ON a.carrier = f.carrier"
    )
    assert "SUM(CASE WHEN (f.one) IS NOT NULL THEN COALESCE(f.rw_events, 1) END)" in planned.sql


@pytest.mark.parametrize(
    "condition",
    [
        "y.seen IS NULL",
        "y.seen IS NOT TRUE",
        "NOT (y.seen IS NOT NULL)",
        "(y.one = 1) IS NULL",
        "coalesce(y.one, 0) = 0",
        "(y.late IS NULL OR NOT y.late)",
    ],
)
def test_a_constant_of_a_relation_that_may_be_absent_is_not_folded(condition: str) -> None:
    planned = plan(
        "SELECT SUM(a.distance) FROM flights a LEFT JOIN (SELECT carrier, TRUE AS seen, 1 AS one, "
        "departed >= '2013-03-01' AS late FROM flights WHERE departed < '2013-02-01') y ON a.carrier = y.carrier "
        f"WHERE {within('a')} AND {condition}"
    )
    assert covers(planned) == [BEST, {"hourly": 744}]


def test_a_counting_measure_is_not_taken_for_an_output_column_of_its_name() -> None:
    planned = plan("SELECT MAX(worst) AS flights, carrier FROM flights GROUP BY carrier ORDER BY COUNT(*)")
    assert planned.sql.startswith(
        "SELECT MAX(worst) AS flights, carrier FROM (SELECT carrier, worst, flights AS rw_flights FROM "
    )
    assert planned.sql.endswith("ORDER BY COALESCE(SUM(rw_flights), 0)")


def test_count_if_counts_events() -> None:
    planned = plan("SELECT count_if(carrier = 'UA') AS n FROM flights")
    assert planned.sql.startswith("SELECT COALESCE(SUM(CASE WHEN (carrier = 'UA') THEN flights END), 0) AS n FROM (")
    assert covers(planned) == [ALL]


def test_a_select_list_of_constants_is_extended() -> None:
    planned = plan("SELECT COUNT(*) AS n FROM (SELECT NULL FROM flights) x")
    assert "(SELECT flights.flights AS rw_flights, NULL FROM (" in planned.sql


@pytest.mark.parametrize(
    "sql",
    [
        "airlines a JOIN flights f USING (departed) WHERE departed >= '2013-03-01'",
        "airlines a LEFT JOIN (SELECT departed AS name, distance FROM flights) f USING (name) WHERE name >= '2013-03-01'",
    ],
)
def test_a_name_in_using_may_be_the_other_relations(sql: str) -> None:
    assert covers(plan(f"SELECT SUM(f.distance) FROM {sql}")) == [ALL_HOURS]


def test_a_cte_that_is_named_twice_is_planned_twice() -> None:
    planned = plan(
        "WITH c AS (SELECT carrier, departed AS t FROM flights) SELECT COUNT(*) AS n FROM c WHERE t < '2013-02-01' "
        "UNION ALL SELECT COUNT(carrier) FROM c WHERE t >= '2013-03-01'"
    )
    assert covers(planned) == [{"monthly": 1}, {"monthly": 1}]
    assert "WITH" not in planned.sql


def test_what_takes_a_names_place_does_not_grow_together_with_the_next_word() -> None:
    planned = plan("SELECT SUM(distance) FROM`flights`LEFT JOIN`airlines`a ON flights.carrier = a.carrier")
    assert ") AS flights LEFT JOIN airlines a ON" in planned.sql
    assert plan("SELECT a.name FROM`airlines`a").sql == "SELECT a.name FROM airlines a"


def test_a_counting_measure_behind_another_column_of_its_name_is_found() -> None:
    planned = plan("SELECT COUNT(*) AS n FROM (SELECT 1 AS flights, * FROM flights) x")
    assert planned.sql.startswith(
        "SELECT COALESCE(SUM(rw_flights), 0) AS n FROM (SELECT flights.flights AS rw_flights, 1 AS flights, * FROM ("
    )


def test_a_constant_that_is_not_true_reads_nothing() -> None:
    assert covers(plan("SELECT carrier, SUM(distance) FROM flights WHERE 1 = 0 GROUP BY carrier")) == [{}]


def test_time_range_in_outside_of_the_range_is_a_unit_of_its_edges() -> None:
    planned = plan("SELECT SUM(CASE WHEN time_range_in(departed, '2013-02', '2013-03') THEN distance END) FROM flights")
    assert covers(planned) == [ALL]
    planned = plan("SELECT SUM(distance) FILTER (WHERE NOT time_range_in(departed, '2013-02', '2013-02')) FROM flights")
    assert "NOT (departed < departed)" in planned.sql


@pytest.mark.parametrize("where", ["1 = 1", "departed >= '2013-01-01' OR TRUE", "departed IS NULL"])
def test_rows_without_a_time_are_read_unless_a_predicate_excludes_them(where: str) -> None:
    catalog = reader(null_tables=("hourly",))
    assert "dt IS NULL" in plan(f"SELECT SUM(distance) FROM flights WHERE {where}", catalog).sql
    assert "dt IS NULL" not in plan("SELECT SUM(distance) FROM flights WHERE departed >= '2013-01-01'", catalog).sql


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) FROM airlines a LEFT SEMI JOIN flights f ON f.carrier = a.carrier AND {within('f')}",
        f"SELECT a.* FROM airlines a LEFT ANTI JOIN flights f ON f.carrier = a.carrier AND {within('f')}",
        f"SELECT COUNT(*) FROM airlines a WHERE EXISTS (SELECT * FROM flights f WHERE f.carrier = a.carrier AND {within('f')})",
        f"SELECT COUNT(*) FROM airlines a WHERE NOT EXISTS (SELECT 1 FROM flights f WHERE {within('f')} LIMIT 1)",
        f"SELECT COUNT(*) FROM airlines a WHERE a.carrier NOT IN (SELECT carrier FROM flights WHERE {within()})",
        f"SELECT name, (SELECT SUM(distance) FROM flights f WHERE f.carrier = a.carrier AND {within('f')}) FROM airlines a",
    ],
)  # fmt: skip
def test_what_only_exists_is_read_from_rollups_and_other_counts_are_left_alone(sql: str) -> None:
    planned = plan(sql)
    assert covers(planned) == [BEST]
    assert "COALESCE" not in planned.sql


@pytest.mark.parametrize(
    ("sql", "cover", "kind"),
    [
        ("EXISTS (SELECT 1 FROM airlines a WHERE a.carrier = f.carrier)", BEST, None),
        ("f.carrier IN (SELECT carrier FROM airlines a WHERE a.name = f.origin)", BEST, None),
        ("f.origin = (SELECT MAX(name) FROM airlines a WHERE a.carrier = f.carrier)", BEST, None),
        ("f.carrier IN (SELECT carrier FROM airlines LIMIT 3)", BEST, None),  # not correlated: one set for all rows
        ("EXISTS (SELECT 1 FROM airlines a WHERE length(a.name) = f.distance)", BASE, ReasonKind.CORRELATED),
        ("EXISTS (SELECT 1 FROM airlines a WHERE a.carrier = f.carrier AND rand() < 0.5)", BASE, ReasonKind.CORRELATED),
        ("f.carrier = (SELECT carrier FROM airlines a WHERE a.name = f.origin LIMIT 1)", BASE, ReasonKind.CORRELATED),
        ("EXISTS (SELECT 1 FROM airlines a WHERE a.name = CAST(f.departed AS STRING))", BASE, ReasonKind.RAW_TIME),
    ],
)  # fmt: skip
def test_a_correlated_subquery_is_a_function_of_what_it_reads(
    sql: str, cover: dict[str, int], kind: ReasonKind | None
) -> None:
    planned = plan(f"SELECT f.carrier, SUM(f.distance) FROM flights f WHERE {within('f')} AND {sql} GROUP BY f.carrier")
    assert covers(planned) == [cover]
    assert (kind in kinds(planned)) if kind else not kinds(planned)


def test_a_time_unit_in_a_correlated_subquery_must_nest() -> None:
    planned = plan(
        "SELECT SUM(f.distance) FROM flights f WHERE f.departed >= '2013-02-01' AND f.departed < '2013-03-01' "
        "AND EXISTS (SELECT 1 FROM airlines a WHERE a.name = dayofweek(f.departed))"
    )
    assert covers(planned) == [{"daily": 28}]


@pytest.mark.parametrize(
    ("select", "first", "second"),
    [
        ("SUM(f.distance)", BEST, BASE),
        ("SUM(g.distance)", BASE, BEST),
        ("SUM(f.distance), SUM(g.distance)", BASE, BASE),
        ("SUM(f.distance * g.distance)", BASE, BASE),
        ("COUNT(DISTINCT f.carrier), MAX(g.worst)", BEST, BEST),
        ("f.carrier, g.distance", BASE, BASE),
    ],
)
def test_of_two_cubes_only_the_one_whose_measures_are_aggregated_may_use_rollups(
    select: str, first: dict[str, int], second: dict[str, int]
) -> None:
    planned = plan(
        f"SELECT {select} FROM flights f JOIN flights g ON f.carrier = g.carrier WHERE {within('f')} AND {within('g')}"
    )
    assert covers(planned) == [first, second]


def test_each_reference_has_its_own_range() -> None:
    planned = plan(
        "SELECT (SELECT SUM(distance) FROM flights WHERE departed < '2013-02-01') FROM flights "
        "WHERE departed >= '2013-03-01' GROUP BY 1 UNION ALL SELECT SUM(distance) FROM flights"
    )
    assert sorted(map(str, covers(planned))) == sorted(map(str, [{"monthly": 1}, {"monthly": 1}, ALL]))


@pytest.mark.parametrize(
    ("select", "cover"),
    [
        ("carrier, SUM(SUM(distance)) OVER (ORDER BY carrier), COUNT(*) OVER () FROM {} GROUP BY carrier", BEST),
        ("carrier, rank() OVER (ORDER BY SUM(distance)) FROM {} GROUP BY carrier", BEST),
        ("SUM(distance) OVER () FROM {}", BASE),
        ("COUNT(*) OVER (PARTITION BY carrier) FROM {}", BASE),
    ],
)
def test_windows_over_groups_are_free_and_over_rows_read_the_base(select: str, cover: dict[str, int]) -> None:
    planned = plan("SELECT " + select.format(f"(SELECT * FROM flights WHERE {within()})"))
    assert covers(planned) == [cover]


@pytest.mark.parametrize(
    ("sql", "cover"),
    [
        ("x, SUM(distance) FROM {} LATERAL VIEW explode(array(1, 2)) e AS x GROUP BY x", BEST),
        ("x, COUNT(*) FROM {} LATERAL VIEW OUTER explode(split(carrier, '')) e AS x GROUP BY x", BEST),
        ("x, SUM(distance) FROM {} LATERAL VIEW explode(array(distance)) e AS x GROUP BY x", BASE),
        ("x, SUM(distance) FROM {} LATERAL VIEW explode(array(hour(departed))) e AS x GROUP BY x", BASE),
        ("explode(array(1, 2)), SUM(distance) FROM {}", BASE),
    ],
)
def test_lateral_views_multiply_rows_by_functions_of_dimensions(sql: str, cover: dict[str, int]) -> None:
    assert covers(plan("SELECT " + sql.format(f"(SELECT * FROM flights WHERE {within()}) f"))) == [cover]


@pytest.mark.parametrize(
    ("size", "cover"), [("1 day", {"daily": 28}), ("1 hour", {"hourly": 672}), ("90 minutes", {"hourly": 672})]
)
def test_windows_of_time_need_periods_that_nest_in_them(size: str, cover: dict[str, int]) -> None:
    planned = plan(
        "SELECT window.start, SUM(distance) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-03-01' "
        f"GROUP BY window(departed, '{size}')"
    )
    assert covers(planned) == [cover]


def test_count_and_avg_as_windows_over_rows_count_events() -> None:
    planned = plan(
        f"SELECT COUNT(*) OVER (PARTITION BY carrier) AS n, AVG(delay) OVER w AS a FROM flights WHERE {within()} WINDOW w AS ()"
    )
    assert planned.sql.startswith(
        "SELECT COALESCE(SUM(flights) OVER (PARTITION BY carrier), 0) AS n, "
        "(SUM(delay) OVER w / NULLIF(SUM(departures) OVER w, 0)) AS a FROM ("
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (f"SELECT COUNT(*) FROM flights f JOIN flights g ON f.carrier = g.carrier WHERE {within('f')}", NotSupportedError),
        ("SELECT COUNT(*) FROM (SELECT * FROM flights) AS x (a, b, c)", NotSupportedError),
        ("SELECT 1 FROM flights f NATURAL JOIN (SELECT 1 AS x) y", NotSupportedError),
        ("SELECT COUNT(*) FROM (SELECT carrier, rand() AS r FROM flights)", NotSupportedError),
        ("SELECT COUNT(carrier, origin) FROM flights", NotSupportedError),
        ("SELECT COUNT(flights.*) FROM flights", NotSupportedError),
        ("SELECT date_trunc(carrier, departed), SUM(distance) FROM flights GROUP BY 1", NotSupportedError),
        # What is added for COUNT must not show.
        ("SELECT x.*, COUNT(*) OVER () AS c FROM (SELECT carrier FROM flights) x", NotSupportedError),
        ("SELECT * FROM (SELECT carrier FROM flights) x GROUP BY ALL HAVING COUNT(*) > 2", NotSupportedError),
        ("SELECT *, COUNT(*) OVER () FROM airlines a LEFT JOIN flights f ON a.carrier = f.carrier", NotSupportedError),
        ("SELECT SUM(distanze) FROM (SELECT distance FROM flights)", AnalysisError),
        ("SELECT SUM(d) FROM (SELECT distanze AS d FROM flights)", AnalysisError),
        ("SELECT MAX(d) FROM (SELECT MAX(departed) AS d FROM flights) WHERE time_range_in(d, '2013', '2014')", AnalysisError),
    ],
)  # fmt: skip
def test_what_could_mean_two_things_is_refused(sql: str, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        plan(sql)
    assert caught.value.position is not None  # type: ignore[attr-defined]
