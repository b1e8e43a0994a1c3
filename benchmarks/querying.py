"""The demo's query: rewritten, over only the hours, and the best SQL that a person would write over the same files."""

from __future__ import annotations

from typing import Any

import rewriter
from benchmarks.planning import SQL
from benchmarks.timing import Figure, Table, ratio, seconds

BY_HAND = """SELECT carrier, SUM(distance) AS distance, COALESCE(SUM(flights), 0) AS flights,
  SUM(delay) / NULLIF(SUM(departures), 0) AS delay, MAX(worst_delay) AS worst
FROM (SELECT carrier, distance, flights, delay, departures, worst_delay FROM flights_monthly WHERE dt = '2013-02'
  UNION ALL SELECT carrier, distance, flights, delay, departures, worst_delay FROM flights_daily
    WHERE dt >= '2013-01-30' AND dt <= '2013-01-31'
  UNION ALL SELECT carrier, distance, flights, delay, departures, worst_delay FROM flights_hourly
    WHERE dt >= '2013-01-29-06' AND dt <= '2013-01-29-23'
  UNION ALL SELECT carrier, distance, flights, delay, departures, worst_delay FROM flights_hourly
    WHERE dt >= '2013-03-01-00' AND dt <= '2013-03-01-05') AS by_hand
GROUP BY carrier ORDER BY carrier"""


def measure(warehouse: Any, engine: Any) -> Table:
    """Returns the medians of several runs on one warm engine."""
    with rewriter.connect(warehouse, engine=engine) as connection:
        cursor = connection.cursor()

        def run(sql: str) -> list[Any]:
            cursor.execute(sql)
            return cursor.fetchall()

        rewritten = run(SQL)
        cursor.execute("SET rewriter.periods = 'HOURLY'")
        hours_only = run(SQL)
        assert _close(rewritten, hours_only)
        hours = seconds(lambda: run(SQL), 3)
        cursor.execute("SET rewriter.periods = ''")
        ours = seconds(lambda: run(SQL), 5)
        assert _close(rewritten, run(BY_HAND))
        hand = seconds(lambda: run(BY_HAND), 5)
    name = engine if isinstance(engine, str) else engine.name
    return Table(
        f"The demo's query on {name}",
        (
            Figure("rewritten", ours, "1 month, 2 days, 24 hours"),
            Figure("hours only", hours, f"744 hours; the rewritten one is {ratio(hours, ours)} faster"),
            Figure("by hand, over the tables", hand, f"{hand / ours:.2f}× of the rewritten one"),
        ),
    )


def _close(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(
        a == b or (isinstance(a, float) and abs(a - b) < 1e-6)
        for x, y in zip(first, second, strict=True)
        for a, b in zip(x, y, strict=True)
    )
