"""Results of planning: covers, rewritten text, refusals. The catalog is in memory; no engine runs."""

from __future__ import annotations

import pytest

from rewriter.catalog.model.objects import Fact, Storage
from rewriter.errors import AnalysisError, DataError, Error, MissingDataError, NotSupportedError, ParseError
from rewriter.timeline.periods import UpdatePeriod

from .fakes import FACT, QUARTER, P, cover_of, plan, reader, storage_table, table

RANGE = "departed >= '2013-01-29 06:00' AND departed < '2013-03-01 06:00'"
BEST = {"monthly": 1, "daily": 2, "hourly": 24}


def test_the_main_query_is_one_month_two_days_and_24_hours() -> None:
    planned = plan(
        "SELECT carrier, SUM(distance) AS d FROM flights "
        "WHERE time_range_in(departed, '2013-01-29T06', '2013-03-01T06') GROUP BY carrier"
    )
    assert cover_of(planned) == BEST
    assert planned.sql == (
        "SELECT carrier, SUM(distance) AS d FROM ("
        "SELECT carrier, distance, to_timestamp(month, 'yyyy-MM') AS departed FROM monthly WHERE month = '2013-02'"
        " UNION ALL SELECT carrier, distance, to_timestamp(ds, 'yyyy-MM-dd') AS departed FROM daily"
        " WHERE ds >= '2013-01-30' AND ds <= '2013-01-31'"
        " UNION ALL SELECT carrier, distance, to_timestamp(dt, 'yyyy-MM-dd-HH') AS departed FROM hourly"
        " WHERE ((dt >= '2013-01-29-06' AND dt <= '2013-01-29-23')"
        " OR (dt >= '2013-03-01-00' AND dt <= '2013-03-01-05'))) AS flights "
        "WHERE (departed >= TIMESTAMP '2013-01-29 06:00:00' AND departed < TIMESTAMP '2013-03-01 06:00:00') "
        "GROUP BY carrier"
    )


@pytest.mark.parametrize(
    "where",
    [
        RANGE,
        "departed BETWEEN '2013-01-29 06:00' AND '2013-03-01 05:59:59'",
        "'2013-01-29 06:00' <= departed AND NOT (departed >= timestamp'2013-03-01 06:00:00')",
        "departed > '2013-01-29 05:00' AND departed <= '2013-03-01 05:00'",
        "time_range_in(departed, '2013-01-29T06', 'now.hour')",
        "time_range_in(departed, 'now.month - 1 month', 'now.hour') "
        "OR time_range_in(departed, '2013-01-29-06', '2013-02')",
        "departed >= TIMESTAMP '2013-01-28 06:00:00' + INTERVAL 1 DAY AND departed < date_trunc('hour', now())",
        "(departed >= '2013-01-29 06:00' AND departed < '2013-02-11') OR "
        "(departed >= DATE '2013-02-11' AND departed < '2013-03-01 06:00')",
        "year(departed) = 2013 AND departed >= '2013-01-29 06:00' AND departed < '2013-03-01 06:00'",
        f"{RANGE} AND date_trunc('day', departed) >= '2013-01-29' AND to_date(departed) <= '2013-03-01'",
    ],
)
def test_a_range_may_be_said_in_many_ways(where: str) -> None:
    assert cover_of(plan(f"SELECT SUM(distance) FROM flights WHERE {where}")) == BEST


@pytest.mark.parametrize(
    ("select", "rest"),
    [
        ("SUM(distance)", ""),
        ("SUM(distance * 2), SUM(-distance), SUM(CASE WHEN carrier = 'UA' THEN distance ELSE 0 END)", ""),
        ("SUM(IF(origin = 'JFK', distance, NULL))", ""),
        ("MAX(worst), MIN(carrier), MAX(origin), COUNT(DISTINCT carrier)", ""),
        ("COUNT(*), COUNT(1), COUNT(carrier), SUM(flights), AVG(delay)", ""),
        ("COUNT(*) FILTER (WHERE carrier LIKE 'U%'), SUM(distance) FILTER (WHERE origin <> 'JFK')", ""),
        ("DISTINCT carrier, origin", ""),
        ("carrier", "GROUP BY carrier HAVING SUM(distance) > 100 AND COUNT(*) > 3 ORDER BY SUM(distance) LIMIT 3"),
        ("upper(carrier) c, SUM(distance) distance", "GROUP BY 1 ORDER BY distance DESC"),
        ("carrier, origin, SUM(distance)", "GROUP BY ROLLUP (carrier, origin)"),
        ("carrier, origin, SUM(distance)", "GROUP BY GROUPING SETS ((carrier), (origin))"),
        ("1 + SUM(distance) / COUNT(*) AS mean", ""),
    ],
)
def test_additive_aggregates_use_rollups(select: str, rest: str) -> None:
    assert cover_of(plan(f"SELECT {select} FROM flights WHERE {RANGE} {rest}")) == BEST


@pytest.mark.parametrize(
    ("select", "reason"),
    [
        ("SUM(distance + 1)", "not a SUM measure"),
        ("SUM(distance + delay)", "declared NOT NULL"),
        ("SUM(worst)", "not a SUM measure"),
        ("SUM(price * 1.5)", "not a SUM measure"),
        ("SUM(1)", "not a SUM measure"),
        ("SUM(DISTINCT distance)", "not known to be additive"),
        ("MAX(distance)", "MAX is additive only for"),
        ("MIN(worst)", "MIN is additive only for"),
        ("MAX(worst + 1)", "MAX is additive only for"),
        ("AVG(distance)", "AVG is additive only for"),
        ("COUNT(distance)", "counts single rows"),
        ("COUNT(DISTINCT distance)", "depends on single rows"),
        ("stddev(distance)", "not known to be additive: stddev(distance)"),
        ("first(carrier)", "not known to be additive: first(carrier)"),
        (
            "my_function(carrier), SUM(distance)",
            "not known to be a deterministic function of single values: my_function(carrier)",
        ),
        ("SUM(CASE WHEN rand() > 0.5 THEN distance END)", "single values: rand()"),
        ("SUM(CASE WHEN distance > 5 THEN distance END)", "not a SUM measure"),
        ("SUM(distance) FILTER (WHERE delay > 5)", "delay is used outside an aggregate"),
        ("carrier, distance", "returns rows, not aggregates"),
        ("*", "returns rows, not aggregates"),
        ("SUM(distance) OVER ()", "window function"),
    ],
)
def test_what_is_not_additive_reads_the_base_period(select: str, reason: str) -> None:
    planned = plan(f"SELECT {select} FROM flights WHERE {RANGE}")
    assert cover_of(planned) == {"hourly": 744}
    assert any(reason in str(text) for text in planned.coverage.references[0].reasons)


def test_a_measure_in_where_group_by_or_join_condition_reads_the_base_period() -> None:
    for sql in (
        f"SELECT COUNT(*) FROM flights WHERE {RANGE} AND distance > 5",
        f"SELECT COUNT(*) FROM flights WHERE {RANGE} GROUP BY distance",
        f"SELECT COUNT(*) FROM flights JOIN airlines a ON distance > 5 WHERE {RANGE}",
    ):
        assert cover_of(plan(sql)) == {"hourly": 744}, sql


@pytest.mark.parametrize(
    ("unit", "tables"),
    [
        ("date_trunc('hour', departed)", {"hourly": 744}),
        ("hour(departed)", {"hourly": 744}),
        ("date_trunc('day', departed)", {"daily": 30, "hourly": 24}),
        ("to_date(departed)", {"daily": 30, "hourly": 24}),
        ("dayofweek(departed)", {"daily": 30, "hourly": 24}),
        ("CAST(departed AS DATE)", {"daily": 30, "hourly": 24}),
        ("date_trunc('week', departed)", {"daily": 30, "hourly": 24}),
        ("date_format(departed, 'yyyy-MM')", BEST),
        ("date_format(departed, 'yyyy-MM-dd')", {"daily": 30, "hourly": 24}),
        ("year(departed)", BEST),
        ("month(departed)", BEST),
        ("trunc(departed, 'MM')", BEST),
        ("quarter(departed)", BEST),
        ("extract(month FROM departed)", BEST),
        ("year(departed), date_trunc('day', departed)", {"daily": 30, "hourly": 24}),
        ("departed", {"hourly": 744}),
        ("second(departed)", {"hourly": 744}),
        ("unix_timestamp(departed)", {"hourly": 744}),
        ("date_format(departed, 'EEEE')", {"daily": 30, "hourly": 24}),
        ("CAST(departed AS STRING)", {"hourly": 744}),
        ("departed + INTERVAL 1 DAY", {"hourly": 744}),
    ],
)
def test_periods_must_nest_in_every_unit_asked_for(unit: str, tables: dict[str, int]) -> None:
    assert cover_of(plan(f"SELECT {unit}, SUM(distance) FROM flights WHERE {RANGE} GROUP BY {unit}")) == tables


def test_time_that_is_no_range_is_raw_use() -> None:
    planned = plan(f"SELECT SUM(distance) FROM flights WHERE {RANGE} AND (departed < '2013-02-01' OR carrier = 'UA')")
    assert cover_of(planned) == {"hourly": 744}
    assert any("time is used directly" in str(text) for text in planned.coverage.references[0].reasons)


def test_a_missing_day_falls_back_to_its_hours_and_nothing_else_changes() -> None:
    days = [("2013-01-01", "2013-01-30"), ("2013-01-31", "2013-04-01")]
    covered = {("hourly", P.HOURLY): QUARTER, ("daily", P.DAILY): days, ("monthly", P.MONTHLY): QUARTER}
    planned = plan(f"SELECT SUM(distance) FROM flights WHERE {RANGE}", reader(covered=covered))
    assert cover_of(planned) == {"monthly": 1, "daily": 1, "hourly": 48}


def test_a_missing_hour_is_named_exactly_in_strict_mode_and_a_warning_in_partial_mode() -> None:
    hours = [("2013-01-01", "2013-01-29T07"), ("2013-01-29T08", "2013-04-01")]
    covered = {("hourly", P.HOURLY): hours, ("daily", P.DAILY): QUARTER, ("monthly", P.MONTHLY): QUARTER}
    sql = f"SELECT SUM(distance) FROM flights WHERE {RANGE}"
    with pytest.raises(MissingDataError) as caught:
        plan(sql, reader(covered=covered))
    assert caught.value.missing == ("[2013-01-29T07, 2013-01-29T08)",)
    assert caught.value.position is not None
    assert caught.value.position.start == sql.index("flights")
    assert any("flights_all.daily DAILY" in cause for cause in caught.value.causes)
    planned = plan(sql, reader(covered=covered), partial_data=True)
    assert cover_of(planned) == {"monthly": 1, "daily": 2, "hourly": 23}
    assert planned.warnings == ("partial data: flights lacks [2013-01-29T07, 2013-01-29T08)",)


def test_outdated_is_told_from_missing() -> None:
    covered = {("daily", P.DAILY): QUARTER, ("monthly", P.MONTHLY): [("2013-01-01", "2013-02-01")]}
    stale = {("monthly", P.MONTHLY): [("2013-02-01", "2013-03-01")]}
    sql = "SELECT SUM(distance) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-03-01'"
    assert cover_of(plan(sql, reader(covered=covered, stale=stale))) == {"daily": 28}
    with pytest.raises(MissingDataError, match="of these outdated") as caught:
        plan(sql, reader(covered={}, stale=stale))
    assert any("PARTITIONS_OUTDATED" in cause for cause in caught.value.causes)


def test_an_open_range_means_the_extent_of_all_partitions() -> None:
    assert cover_of(plan("SELECT SUM(distance) FROM flights")) == {"monthly": 3}
    planned = plan("SELECT SUM(distance) FROM flights WHERE departed >= '2013-03-31 22:00'")
    assert cover_of(planned) == {"hourly": 2}
    covered = {("hourly", P.HOURLY): [("2013-03-01", "2013-04-01")], ("monthly", P.MONTHLY): QUARTER}
    with pytest.raises(MissingDataError) as caught:
        plan("SELECT SUM(distance), departed FROM flights GROUP BY departed", reader(covered=covered))
    assert caught.value.missing == ("[2013-01-01, 2013-03-01)",)


def test_a_null_time_partition_is_read_unless_a_range_excludes_it() -> None:
    catalog = reader(null_tables=["hourly"])
    planned = plan("SELECT SUM(distance) FROM flights", catalog)
    assert "dt IS NULL" in planned.sql
    assert "IS NULL" not in plan(f"SELECT SUM(distance) FROM flights WHERE {RANGE}", catalog).sql


def test_an_empty_range_is_an_empty_relation() -> None:
    planned = plan("SELECT COUNT(*) FROM flights WHERE departed > '2013-02-01' AND departed < '2013-01-01'")
    assert cover_of(planned) == {}
    assert "CAST(NULL AS BIGINT) AS flights" in planned.sql


def test_text_that_the_plan_does_not_touch_stays_as_typed() -> None:
    sql = (
        "select /* é中😀 it's */ carrier,\r\n  'it''s' AS x, -- a ; comment\r\n\tSUM(  distance )\r\n"
        f"FROM   flights   f\r\nWHERE {RANGE} AND carrier <> 'a\\'b' GROUP  BY carrier"
    )
    planned = plan(sql)
    before, after = sql.split("flights", 1)
    assert planned.sql.startswith(before)
    assert planned.sql.endswith(after)


def test_unaliased_counts_keep_spark_s_names() -> None:
    sql = plan(f"SELECT COUNT(*), count(f.carrier), AVG(delay), (COUNT(*) + 1) FROM flights f WHERE {RANGE}").sql
    for name in ("`count(1)`", "`count(carrier)`", "`avg(delay)`", "`(count(1) + 1)`"):
        assert f" AS {name}" in sql


def test_now_is_one_instant_in_the_cover_and_in_the_text() -> None:
    planned = plan(
        "SELECT SUM(distance) FROM flights WHERE departed >= current_date - INTERVAL 1 DAY AND departed < now()"
    )
    assert cover_of(planned) == {"daily": 1, "hourly": 7}
    assert "DATE '2013-03-01' - INTERVAL 1 DAY AND departed < TIMESTAMP '2013-03-01 06:30:00'" in planned.sql


def test_parameters_take_part_in_ranges_and_stay_parameters() -> None:
    planned = plan(
        "SELECT SUM(distance) FROM flights WHERE departed >= :a AND departed < :b AND carrier = :c",
        parameters={"a": "2013-01-29 06:00", "b": "2013-03-01 06:00", "c": "UA"},
    )
    assert cover_of(planned) == BEST
    assert planned.sql.endswith("departed >= :a AND departed < :b AND carrier = :c")


def test_an_end_inside_the_base_period_warns_but_not_its_last_second() -> None:
    assert plan("SELECT SUM(distance) FROM flights WHERE departed < '2013-01-29 05:30'").warnings
    for bound in (
        "< '2013-01-29 05:59:59'",
        "<= '2013-01-29 05:59:59'",
        "<= '2013-01-29 05:00'",
        "= '2013-01-29 05:00'",
    ):
        assert not plan(f"SELECT SUM(distance) FROM flights WHERE departed {bound}").warnings, bound


@pytest.mark.parametrize(
    ("sql", "error", "at"),
    [
        ("SELECT SUM(distance) FROM flightz", AnalysisError, "flightz"),
        ("SELECT SUM(distanze) FROM flights", AnalysisError, "distanze"),
        ("SELECT f.x FROM flights f JOIN airlines USING (carrier)", AnalysisError, "f.x"),
        ("SELECT SUM(distance) FROM flights WHERE time_range_in(departed, '2013-13', '2014')", DataError, "'2013-13'"),
        ("SELECT SUM(distance) FROM flights WHERE time_range_in(departed, '2014', '2013')", DataError, "time_range_in"),
        (
            "SELECT SUM(distance) FROM flights WHERE time_range_in(departed, '2013-01-01T05:30', '2014')",
            AnalysisError,
            "time_range_in",
        ),
        (
            "SELECT SUM(distance) FROM flights WHERE time_range_in(carrier, '2013', '2014')",
            AnalysisError,
            "time_range_in",
        ),
        ("SELECT SUM(distance) FROM flights WHERE time_range_in(departed, carrier, '2014')", DataError, "carrier,"),
        ("SELECT COUNT(*) FROM flights a JOIN flights b USING (carrier)", NotSupportedError, "COUNT"),
        ("SELECT 1 FROM flights TABLESAMPLE (10 PERCENT)", NotSupportedError, "flights"),
        ("SELECT carrier FROM flights |> LIMIT 3", NotSupportedError, "|>"),
        ("SELECT SUM(distance FROM flights", ParseError, "FROM"),
    ],
)
def test_what_is_not_understood_is_refused_at_its_place(sql: str, error: type[Error], at: str) -> None:
    with pytest.raises(error) as caught:
        plan(sql)
    assert caught.value.position is not None
    if at:
        assert caught.value.position.start == sql.index(at)


def test_a_query_without_a_cube_keeps_its_text() -> None:
    sql = "SELECT a.name, 'it''s', percentile_cont(0.5) WITHIN GROUP (ORDER BY 1) FROM default.airlines a -- end"
    planned = plan(sql)
    assert planned.sql == sql.replace("default.airlines", "airlines")
    assert plan("SELECT airlines.name FROM airlines").sql == "SELECT airlines.name FROM airlines AS airlines"


def test_a_query_that_cannot_be_read_runs_as_typed_where_it_names_no_cube() -> None:
    sql = "SELECT v:a.b, window(t, '1 day') FROM airlines WHERE airlines.name = 'x'"
    planned = plan(sql)
    assert [use.table.name for use in planned.uses] == ["airlines"]
    assert planned.sql == sql.replace("FROM airlines", "FROM airlines AS airlines")


def test_a_cte_hides_a_table_of_the_same_name() -> None:
    planned = plan("WITH flights AS (SELECT 1 AS x) SELECT x FROM flights")
    assert planned.uses == ()


def test_blocks_are_planned_each_in_its_own_scope() -> None:
    planned = plan(
        "SELECT a.name, s.d FROM airlines a JOIN (SELECT carrier, SUM(distance) d FROM flights WHERE "
        f"{RANGE} GROUP BY carrier) s USING (carrier) WHERE a.carrier IN "
        "(SELECT f.carrier FROM flights f WHERE f.departed = '2013-01-01 05:00') UNION ALL "
        "SELECT 'all', SUM(distance) FROM flights_all WHERE to_date(departed) = '2013-02-03'"
    )
    covers = [cover_of(planned, i) for i in range(len(planned.coverage.references))]
    assert sorted(covers, key=str) == sorted([BEST, {"hourly": 1}, {"daily": 1}], key=str)


def test_joins_with_plain_tables_stay_additive() -> None:
    planned = plan(
        f"SELECT a.name, COUNT(*) FROM flights f JOIN airlines a USING (carrier) WHERE {RANGE} GROUP BY a.name"
    )
    assert cover_of(planned) == BEST
    assert "COALESCE(SUM(f.flights), 0)" in planned.sql
    planned = plan(f"SELECT SUM(distance) FROM flights f LEFT JOIN airlines a ON f.carrier = a.carrier WHERE {RANGE}")
    assert cover_of(planned) == BEST


def test_periods_that_share_a_table_are_told_apart() -> None:
    layouts = {p: [("dt", None)] for p in (P.HOURLY, P.DAILY, P.MONTHLY, P.QUARTERLY, P.YEARLY)}
    fact = Fact(2, "flights_all", "flights", (Storage("default", (storage_table("cold", layouts),)),))
    covered = {("cold", period): QUARTER for period in (P.HOURLY, P.DAILY, P.MONTHLY)}
    catalog = reader(facts=(fact,), tables=(table(10, "cold", "dt"),), covered=covered)
    planned = plan(f"SELECT SUM(distance) FROM flights WHERE {RANGE}", catalog)
    assert "dt = '2013-02' AND dt RLIKE '^[0-9]{4}-[0-9]{2}$'" in planned.sql
    (use,) = planned.uses
    chosen = ["2013-02", "2013-01-30", "2013-01-29-06", "2013-03-01-05"]
    partitions = ["2013-01", "2013-02-01", "2013-Q1", "2013", "2013-01-29", "2013-01-30-04", "2013-03-01-06", None, "x"]
    assert [use.keeps((value,)) for value in chosen] == [True] * len(chosen)
    assert [use.keeps((value,)) for value in partitions] == [False] * len(partitions)


def test_a_fact_that_lacks_a_column_is_no_candidate() -> None:
    light = Fact(3, "light", "flights", (Storage("cold", (storage_table("yearly", {P.MONTHLY: [("m", None)]}),)),),
                 columns=("carrier", "flights"))  # fmt: skip
    covered = {("hourly", P.HOURLY): QUARTER, ("yearly", P.MONTHLY): QUARTER}
    catalog = reader(facts=(FACT, light), tables=(*reader().tables(), table(13, "yearly", "m")), covered=covered)
    planned = plan(
        "SELECT SUM(distance) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-03-01'", catalog
    )
    assert cover_of(planned) == {"hourly": 672}
    assert any(cause.kind.name == "COLUMN_MISSING" for cause in planned.coverage.references[0].causes)
    planned = plan("SELECT COUNT(*) FROM flights WHERE departed >= '2013-02-01' AND departed < '2013-03-01'", catalog)
    assert cover_of(planned) == {"yearly": 1}


def test_the_setting_of_periods_narrows_the_choice() -> None:
    planned = plan(f"SELECT SUM(distance) FROM flights WHERE {RANGE}", periods=frozenset({UpdatePeriod.HOURLY}))
    assert cover_of(planned) == {"hourly": 744}


def test_layouts_of_several_columns_and_quarters() -> None:
    fact = Fact(2, "flights_all", "flights", (Storage("default", (
        storage_table("hourly", {P.HOURLY: [("ds", "yyyy-MM-dd"), ("hr", "HH")]}),
        storage_table("quarterly", {P.QUARTERLY: [("q", None)]}),
    )),))  # fmt: skip
    tables = (table(10, "hourly", "ds", "hr"), table(11, "quarterly", "q"))
    covered = {
        ("hourly", P.HOURLY): [("2013-01-01", "2014-01-01")],
        ("quarterly", P.QUARTERLY): [("2013-04-01", "2013-10-01")],
    }
    planned = plan(
        "SELECT SUM(distance) FROM flights WHERE departed >= '2013-03-31 22:00' AND departed < '2013-10-02 03:00'",
        reader(facts=(fact,), tables=tables, covered=covered),
    )
    assert cover_of(planned) == {"quarterly": 2, "hourly": 29}
    assert (
        "make_timestamp(CAST(substring(q, 1, 4) AS INT), CAST(substring(q, 7, 1) AS INT) * 3 - 2, 1, 0, 0, 0)"
        in planned.sql
    )
    assert "to_timestamp(concat(ds, ' ', hr), 'yyyy-MM-dd HH')" in planned.sql
    assert "(ds > '2013-10-01' OR (ds = '2013-10-01' AND hr >= '00'))" in planned.sql


def test_a_fact_that_begins_coarser_never_makes_an_answer_less_exact() -> None:
    coarse = Fact(3, "coarse", "flights", (Storage("default", (storage_table("daily", {P.DAILY: [("ds", None)]}),)),))
    fine = Fact(2, "fine", "flights", (Storage("default", (storage_table("hourly", {P.HOURLY: [("dt", None)]}),)),))
    catalog = reader(facts=(coarse, fine))

    def cover(sql: str) -> dict[str, int]:
        return cover_of(plan(f"SELECT {sql}", catalog))

    two_hours = "departed >= '2013-02-11' AND departed < '2013-02-11 02:00'"
    assert cover(f"SUM(distance) FROM flights WHERE {two_hours}") == {"hourly": 2}
    assert cover(f"hour(departed), SUM(distance) FROM flights WHERE {two_hours} GROUP BY 1") == {"hourly": 2}
    assert cover(f"SUM(distance) FROM flights WHERE {two_hours.replace('11 02', '13 02')}") == {"daily": 2, "hourly": 2}
    assert cover(f"distance FROM flights WHERE {two_hours}") == {"hourly": 2}
    planned = plan(f"SELECT distance FROM flights WHERE {two_hours}", catalog)
    assert "coarse: begins with DAILY, another fact with HOURLY [PERIOD_TOO_COARSE]" in map(
        str, planned.coverage.references[0].causes
    )


@pytest.mark.parametrize("select", ["SUM(distance)", "SUM(distance + 1)", "MAX(distance)", "distance"])
def test_an_open_end_means_the_extent_of_all_facts(select: str) -> None:
    facts = [
        Fact(number, name, "flights", (Storage("default", (storage_table(table_name, {P.DAILY: [("ds", None)]}),)),))
        for number, name, table_name in ((2, "whole", "hourly"), (3, "lagging", "daily"))
    ]
    catalog = reader(
        facts=facts,
        tables=(table(10, "hourly", "ds"), table(11, "daily", "ds")),
        covered={("hourly", P.DAILY): QUARTER, ("daily", P.DAILY): [("2013-01-01", "2013-01-02")]},
    )
    planned = plan(f"SELECT {select} FROM flights WHERE departed >= '2013-01-01'", catalog)
    assert sum(cover_of(planned).values()) == 90


def test_a_fact_without_the_rows_that_have_no_time_lacks_something() -> None:
    facts = [
        Fact(number, name, "flights", (Storage("default", (storage_table(table_name, {P.DAILY: [("ds", None)]}),)),))
        for number, name, table_name in ((2, "a", "hourly"), (3, "b", "daily"))
    ]
    catalog = reader(
        facts=facts,
        tables=(table(10, "hourly", "ds"), table(11, "daily", "ds")),
        covered={("hourly", P.DAILY): QUARTER, ("daily", P.DAILY): QUARTER},
        null_tables=("daily",),
    )
    sql = plan("SELECT distance FROM flights", catalog).sql
    assert "FROM daily WHERE (ds >= '2013-01-01' AND ds <= '2013-03-31') OR (ds IS NULL)" in sql
    assert "daily" not in plan("SELECT distance FROM flights WHERE departed >= '2013-01-01'", catalog).sql
