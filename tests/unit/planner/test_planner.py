"""Results of planning that golden files cannot hold: line ends, parameters, and which partitions a plan selects.

The other results are in ``tests/planner``. The catalog is in memory; no engine runs.
"""

from __future__ import annotations

from rewriter.catalog.model.objects import Fact, Storage

from .fakes import QUARTER, P, cover_of, plan, reader, storage_table, table

RANGE = "departed >= '2013-01-29 06:00' AND departed < '2013-03-01 06:00'"
BEST = {"monthly": 1, "daily": 2, "hourly": 24}


def test_text_that_the_plan_does_not_touch_stays_as_typed() -> None:
    sql = (
        "select /* é中😀 it's */ carrier,\r\n  'it''s' AS x, -- a ; comment\r\n\tSUM(  distance )\r\n"
        f"FROM   flights   f\r\nWHERE {RANGE} AND carrier <> 'a\\'b' GROUP  BY carrier"
    )
    planned = plan(sql)
    before, after = sql.split("flights", 1)
    assert planned.sql.startswith(before)
    assert planned.sql.endswith(after)


def test_parameters_take_part_in_ranges_and_stay_parameters() -> None:
    planned = plan(
        "SELECT SUM(distance) FROM flights WHERE departed >= :a AND departed < :b AND carrier = :c",
        parameters={"a": "2013-01-29 06:00", "b": "2013-03-01 06:00", "c": "UA"},
    )
    assert cover_of(planned) == BEST
    assert planned.sql.endswith("departed >= :a AND departed < :b AND carrier = :c")


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
    assert use.kept([(value,) for value in chosen]) == [True] * len(chosen)
    assert use.kept([(value,) for value in partitions]) == [False] * len(partitions)
