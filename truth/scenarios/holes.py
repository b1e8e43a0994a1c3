"""Periods that were never delivered, empty periods, and periods that are not over."""

from __future__ import annotations

from truth.model import Late, Load, Question, Refresh, Scenario
from truth.scenarios.events import MARCH, event, github
from truth.scenarios.late_rows import WHOLE

MISSING_DAY = (
    Load("2024-03-01 00:00:00", "2024-03-02 00:00:00", MARCH[:2]),
    Load("2024-03-03 00:00:00", "2024-03-04 00:00:00", MARCH[4:]),
)
REFRESH = Refresh("2024-03-04 00:30:00")

SCENARIOS = (
    Scenario(
        "missing-day",
        "holes",
        "A day was never delivered; a sum over the days around it",
        (github("dbt-labs/dbt-core", 15518), github("SQLMesh/sqlmesh", 3433)),
        (*MISSING_DAY, REFRESH),
        WHOLE,
        ((6, 210.0),),
        "The events of 2 March (30 and 40) happened. The right result without them is a refusal or a warning.",
        undelivered=MARCH[2:4],
    ),
    Scenario(
        "missing-hour",
        "holes",
        "One hour of a day was never delivered",
        (github("home-assistant/core", 180981), github("apache/hudi", 10885)),
        (
            Load("2024-03-01 00:00:00", "2024-03-01 20:00:00", MARCH[:1]),
            Load("2024-03-01 21:00:00", "2024-03-04 00:00:00", MARCH[2:]),
            REFRESH,
        ),
        WHOLE,
        ((6, 210.0),),
        "The event of 1 March 20:00 (20) happened. The right result without it is a refusal or a warning.",
        undelivered=MARCH[1:2],
    ),
    Scenario(
        "missing-day-by-day",
        "holes",
        "A day was never delivered; by day, its row is absent as if nothing had happened",
        (github("netdata/netdata-cloud", 1136), github("dbt-labs/dbt-core", 15518)),
        (*MISSING_DAY, REFRESH),
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-04 00:00:00", by="day"),
        (("2024-03-01", 2, 30.0), ("2024-03-02", 2, 70.0), ("2024-03-03", 2, 110.0)),
        "2 March has 30 + 40, which were not delivered.",
        undelivered=MARCH[2:4],
    ),
    Scenario(
        "missing-day-arrives",
        "holes",
        "A missing day arrives after a newer day was refreshed; a question after the next refresh",
        (github("dbt-labs/dbt-core", 11129), github("SQLMesh/sqlmesh", 3433)),
        (
            *MISSING_DAY,
            REFRESH,
            Load("2024-03-02 00:00:00", "2024-03-03 00:00:00", MARCH[2:4]),
            Refresh("2024-03-05 00:30:00"),
        ),
        WHOLE,
        ((6, 210.0),),
        "All six events are there now: 210.",
    ),
    Scenario(
        "missing-day-outside",
        "holes",
        "A missing day lies outside the range: it must not make the result refused",
        ("no report known",),
        (*MISSING_DAY, REFRESH),
        Question(("events", "amount"), "2024-03-03 00:00:00", "2024-03-04 00:00:00"),
        ((2, 110.0),),
        "50 + 60; the range does not touch 2 March.",
    ),
    Scenario(
        "empty-day",
        "holes",
        "A day was delivered, and nothing happened on it",
        ("no report known",),
        (Load("2024-03-01 00:00:00", "2024-03-04 00:00:00", (*MARCH[:2], *MARCH[4:])), REFRESH),
        WHOLE,
        ((4, 140.0),),
        "10 + 20 + 50 + 60: an empty day is no missing day.",
    ),
    Scenario(
        "open-day",
        "holes",
        "The refresh runs at noon; the rest of the day arrives later; a question after the next refresh",
        (github("dbt-labs/dbt-core", 10867), github("timescale/timescaledb", 4239)),
        (
            Load("2024-03-01 00:00:00", "2024-03-03 12:00:00", MARCH[:5]),
            Refresh("2024-03-03 12:00:00"),
            Load("2024-03-03 12:00:00", "2024-03-04 00:00:00", MARCH[5:]),
            REFRESH,
        ),
        WHOLE,
        ((6, 210.0),),
        "All six events: 210.",
    ),
    Scenario(
        "open-day-before-refresh",
        "holes",
        "The refresh runs at noon; the rest of the day arrives later; a question before the next refresh",
        (github("timescale/timescaledb", 4239), github("cube-js/cube", 7713)),
        (
            Load("2024-03-01 00:00:00", "2024-03-03 12:00:00", MARCH[:5]),
            Refresh("2024-03-03 12:00:00"),
            Load("2024-03-03 12:00:00", "2024-03-04 00:00:00", MARCH[5:]),
        ),
        WHOLE,
        ((6, 210.0),),
        "All six events: 210.",
    ),
    Scenario(
        "day-after-the-rollup",
        "holes",
        "A whole day arrives after the last refresh: rollup and newer events must meet without gap or overlap",
        (github("cube-js/cube", 11317), github("timescale/timescaledb", 1865)),
        (
            Load("2024-03-01 00:00:00", "2024-03-03 00:00:00", MARCH[:4]),
            Refresh("2024-03-03 00:30:00"),
            Load("2024-03-03 00:00:00", "2024-03-04 00:00:00", MARCH[4:]),
        ),
        WHOLE,
        ((6, 210.0),),
        "All six events: 210.",
    ),
    Scenario(
        "never-refreshed",
        "holes",
        "The rollups exist, and no refresh has run",
        (github("erikdarlingdata/PerformanceMonitor", 1788, "pull"),),
        (Load("2024-03-01 00:00:00", "2024-03-04 00:00:00", MARCH),),
        WHOLE,
        ((6, 210.0),),
        "All six events: 210.",
    ),
    Scenario(
        "event-of-the-future",
        "holes",
        "A clock runs ahead: an event of next week must not stop the refresh of the days before it",
        (github("timescale/timescaledb", 4239),),
        (
            Load("2024-03-01 00:00:00", "2024-03-03 00:00:00", MARCH[:4]),
            Load("2024-03-10 00:00:00", "2024-03-10 01:00:00", (event(9, "2024-03-10 00:15", 1000.0),)),
            Refresh("2024-03-03 00:30:00"),
            Load("2024-03-03 00:00:00", "2024-03-04 00:00:00", MARCH[4:]),
            REFRESH,
            Late((event(10, "2024-03-03 09:00", 5.0),)),
            Refresh("2024-03-05 00:30:00"),
        ),
        WHOLE,
        ((7, 215.0),),
        "210 + 5; the event of 10 March lies outside.",
    ),
)
