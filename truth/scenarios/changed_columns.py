"""Columns of the events whose type, name or number changes between deliveries.

The person who changes a column adapts the statements that name it or that fail otherwise, and nothing else.
"""

from __future__ import annotations

from truth.model import AddColumn, Late, Load, Question, Refresh, Rename, Scenario, Widen
from truth.scenarios.boundaries import REFRESHED
from truth.scenarios.events import event, github

#: 2^24 + 1 is no REAL: the nearest one is 2^24.
WIDE = 16777217.0
WIDE_DAY = Load("2024-03-04 00:00:00", "2024-03-05 00:00:00", (event(7, "2024-03-04 08:00", WIDE),))
NEXT_DAY = Load("2024-03-04 00:00:00", "2024-03-05 00:00:00", (event(7, "2024-03-04 08:00", 70.0),))
NEXT_REFRESH = Refresh("2024-03-05 00:30:00")
FOUR_DAYS = ("2024-03-01 00:00:00", "2024-03-05 00:00:00")
BY_ITEM = (("ink", 3, 120.0), ("pen", 4, 160.0))

SCENARIOS = (
    Scenario(
        "column-widened",
        "changed columns",
        "REAL becomes DOUBLE, and the next day has an amount that is no REAL; a question after the next refresh",
        (github("dbt-labs/dbt-core", 175), github("dbt-labs/docs.getdbt.com", 9755, "pull")),
        (*REFRESHED, Widen(), WIDE_DAY, NEXT_REFRESH),
        Question(("amount", "most"), *FOUR_DAYS),
        ((16777427.0, WIDE),),
        "210 + 16777217; the largest amount is 2^24 + 1.",
    ),
    Scenario(
        "column-widened-late-row",
        "changed columns",
        "REAL becomes DOUBLE, and a late row of an older day has an amount that is no REAL; after the next refresh",
        (github("cockroachdb/cockroach", 56166), github("pingcap/tidb", 69345)),
        (*REFRESHED, Widen(), Late((event(7, "2024-03-03 09:00", WIDE),)), NEXT_REFRESH),
        Question(("most",), "2024-03-01 00:00:00", "2024-03-04 00:00:00", by="day"),
        (("2024-03-01", 20.0), ("2024-03-02", 40.0), ("2024-03-03", WIDE)),
        "The late row is the largest of 3 March.",
    ),
    Scenario(
        "column-renamed",
        "changed columns",
        "The item gets another name, and the next day arrives; a question by item after the next refresh",
        (github("apache/doris", 17030, "pull"), github("timescale/timescaledb", 5367, "pull")),
        (*REFRESHED, Rename(), NEXT_DAY, NEXT_REFRESH),
        Question(("events", "amount"), *FOUR_DAYS, by="item"),
        BY_ITEM,
        "ink: 20 + 40 + 60; pen: 10 + 30 + 50 + 70.",
    ),
    Scenario(
        "column-renamed-before-refresh",
        "changed columns",
        "The item gets another name; a question by item before the next refresh",
        (github("StarRocks/starrocks", 42823),),
        (*REFRESHED, Rename()),
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-04 00:00:00", by="item"),
        (("ink", 3, 120.0), ("pen", 3, 90.0)),
        "ink: 20 + 40 + 60; pen: 10 + 30 + 50.",
    ),
    Scenario(
        "column-added",
        "changed columns",
        "The events get a column that no question needs, and the next day arrives; after the next refresh",
        (github("databricks/dbt-databricks", 567), github("openedx/tutor-contrib-aspects", 217, "pull")),
        (*REFRESHED, AddColumn(), NEXT_DAY, NEXT_REFRESH),
        Question(("events", "amount"), *FOUR_DAYS, by="item"),
        BY_ITEM,
        "ink: 20 + 40 + 60; pen: 10 + 30 + 50 + 70.",
    ),
)
