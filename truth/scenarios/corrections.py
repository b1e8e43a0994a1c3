"""Deliveries that replace earlier ones, and deliveries that arrive twice."""

from __future__ import annotations

from truth.model import Question, Refresh, Reload, Scenario
from truth.scenarios.boundaries import REFRESHED, THREE_DAYS
from truth.scenarios.events import MARCH, event, github
from truth.scenarios.late_rows import WHOLE

DAY_1 = ("2024-03-01 00:00:00", "2024-03-02 00:00:00")
CORRECTED = Reload(*DAY_1, (event(1, "2024-03-01 08:00", 15.0), event(2, "2024-03-01 20:00", 20.0, "ink", 2)))
EMPTIED = Reload("2024-03-01 20:00:00", "2024-03-01 21:00:00", ())
ONE_EVENT = Reload(*DAY_1, MARCH[:1])

SCENARIOS = (
    Scenario(
        "corrected-before-refresh",
        "corrections",
        "A day is delivered again with another amount; a question before the next refresh",
        (github("apache/airflow", 65923), github("prestodb/presto", 26453)),
        (*REFRESHED, CORRECTED),
        WHOLE,
        ((6, 215.0),),
        "15 in place of 10: 210 + 5.",
    ),
    Scenario(
        "corrected-after-refresh",
        "corrections",
        "A day is delivered again with another amount; a question after the next refresh",
        (github("apache/airflow", 65923), github("ClickHouse/ClickHouse", 13931)),
        (*REFRESHED, CORRECTED, Refresh("2024-03-05 00:30:00")),
        WHOLE,
        ((6, 215.0),),
        "15 in place of 10: 210 + 5.",
    ),
    Scenario(
        "delivered-twice",
        "corrections",
        "The same delivery of a day arrives twice, and replaces itself",
        (github("ClickHouse/ClickHouse", 27232), github("trinodb/trino", 31257)),
        (*REFRESHED, Reload(*DAY_1, MARCH[:2]), Refresh("2024-03-05 00:30:00")),
        WHOLE,
        ((6, 210.0),),
        "Nothing changed: 210.",
    ),
    Scenario(
        "delivered-twice-before-first-refresh",
        "corrections",
        "The same delivery of a day arrives twice before the rollup is first computed",
        (github("ClickHouse/ClickHouse", 78381),),
        (THREE_DAYS, Reload(*DAY_1, MARCH[:2]), Refresh("2024-03-04 00:30:00")),
        WHOLE,
        ((6, 210.0),),
        "Nothing changed: 210.",
    ),
    Scenario(
        "hour-emptied-before-refresh",
        "corrections",
        "An hour is delivered again without any event; a question before the next refresh",
        (github("StarRocks/starrocks", 9931), github("StarRocks/starrocks", 73687)),
        (*REFRESHED, EMPTIED),
        WHOLE,
        ((5, 190.0),),
        "The event of 1 March 20:00 (20) is withdrawn: 210 - 20.",
    ),
    Scenario(
        "hour-emptied-after-refresh",
        "corrections",
        "An hour is delivered again without any event; a question after the next refresh",
        (github("ClickHouse/ClickHouse", 13931), github("tursodatabase/turso", 8531)),
        (*REFRESHED, EMPTIED, Refresh("2024-03-05 00:30:00")),
        WHOLE,
        ((5, 190.0),),
        "The event of 1 March 20:00 (20) is withdrawn: 210 - 20.",
    ),
    Scenario(
        "group-withdrawn",
        "corrections",
        "An item has no event of a day any more: its row must leave the rollup",
        (github("apache/hive", 2196, "pull"), github("tursodatabase/turso", 8531)),
        (*REFRESHED, ONE_EVENT, Refresh("2024-03-05 00:30:00")),
        Question(("events", "amount"), *DAY_1, by="item"),
        (("pen", 1, 10.0),),
        "The only event of ink on 1 March is withdrawn.",
    ),
    Scenario(
        "largest-withdrawn",
        "corrections",
        "The event with the largest amount is withdrawn: a maximum cannot be updated by subtraction",
        (github("timescale/timescaledb", 7019),),
        (*REFRESHED, ONE_EVENT, Refresh("2024-03-05 00:30:00")),
        Question(("least", "most"), *DAY_1),
        ((10.0, 10.0),),
        "10 is the only amount left of 1 March.",
    ),
    Scenario(
        "moved-to-another-day",
        "corrections",
        "A correction moves an event from 1 March to 2 March",
        (github("apache/airflow", 65923),),
        (
            *REFRESHED,
            Reload(
                "2024-03-01 00:00:00",
                "2024-03-03 00:00:00",
                (MARCH[0], event(2, "2024-03-02 01:00", 20.0, "ink", 2), MARCH[2], MARCH[3]),
            ),
            Refresh("2024-03-05 00:30:00"),
        ),
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-04 00:00:00", by="day"),
        (("2024-03-01", 1, 10.0), ("2024-03-02", 3, 90.0), ("2024-03-03", 2, 110.0)),
        "20 moves: 10; 20 + 30 + 40; 50 + 60.",
    ),
)
