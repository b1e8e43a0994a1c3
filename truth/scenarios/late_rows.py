"""Rows that arrive after a rollup was computed."""

from __future__ import annotations

from truth.model import Late, Load, Question, Refresh, Scenario
from truth.scenarios.boundaries import REFRESHED
from truth.scenarios.events import event, github

WHOLE = Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-04 00:00:00")
LATE = event(7, "2024-03-01 09:00", 100.0)

SCENARIOS = (
    Scenario(
        "late-before-refresh",
        "late rows",
        "A late row, and a question before the next refresh",
        (github("prestodb/presto", 26453), github("StarRocks/starrocks", 54729)),
        (*REFRESHED, Late((LATE,))),
        WHOLE,
        ((7, 310.0),),
        "210 of the six events, and 100 that came late.",
    ),
    Scenario(
        "late-after-refresh",
        "late rows",
        "A late row of the oldest day, and a question after the next refresh",
        (github("timescale/timescaledb", 1428), github("dbt-labs/dbt-core", 11129)),
        (*REFRESHED, Late((LATE,)), Refresh("2024-03-05 00:30:00")),
        WHOLE,
        ((7, 310.0),),
        "210 of the six events, and 100 that came late.",
    ),
    Scenario(
        "late-by-day",
        "late rows",
        "A late row, by day: the stale day is not counted twice, once from the rollup and once from its events",
        (github("prestodb/presto", 27944, "pull"),),
        (*REFRESHED, Late((LATE,))),
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-04 00:00:00", by="day"),
        (("2024-03-01", 3, 130.0), ("2024-03-02", 2, 70.0), ("2024-03-03", 2, 110.0)),
        "1 March has 10 + 20 + 100; the other days stay.",
    ),
    Scenario(
        "late-and-newer-day",
        "late rows",
        "A newer day is refreshed while an older one is outdated: its freshness does not cover the older day",
        (github("StarRocks/starrocks", 76758, "pull"),),
        (
            *REFRESHED,
            Late((LATE,)),
            Load("2024-03-04 00:00:00", "2024-03-05 00:00:00", (event(8, "2024-03-04 08:00", 70.0),)),
            Refresh("2024-03-05 00:30:00"),
        ),
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-05 00:00:00"),
        ((8, 380.0),),
        "210 + 100 late + 70 of 4 March.",
    ),
)
