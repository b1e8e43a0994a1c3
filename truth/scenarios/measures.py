"""Measures that cannot be added up, and values that few tests have: NULL, NaN, -0.0."""

from __future__ import annotations

from truth.model import Grouping, Load, Measure, Question, Refresh, Row, Scenario
from truth.scenarios.boundaries import REFRESHED
from truth.scenarios.events import event, github

START, END = "2024-03-01 00:00:00", "2024-03-03 00:00:00"
NAN = float("nan")


def two_days(
    name: str,
    title: str,
    reports: tuple[str, ...],
    amounts: tuple[float | None, ...],
    measures: tuple[Measure, ...],
    right: tuple[Row, ...],
    derivation: str,
    by: Grouping | None = None,
) -> Scenario:
    """Returns a scenario in which the first amount is of 1 March, and the others are of 2 March."""
    events = tuple(
        event(number + 1, f"2024-03-0{1 if number == 0 else 2} {10 + number}:00", amount)
        for number, amount in enumerate(amounts)
    )
    steps = (Load(START, END, events), Refresh("2024-03-03 00:30:00"))
    return Scenario(name, "measures", title, reports, steps, Question(measures, START, END, by), right, derivation)


SCENARIOS = (
    two_days(
        "average-over-days",
        "An average over days with different numbers of events is no average of averages",
        (github("cube-js/cube", 4454), github("elastic/elasticsearch", 45187)),
        (10.0, 40.0, 40.0, 40.0),
        ("average",),
        ((32.5,),),
        "(10 + 40 + 40 + 40) / 4; the average of the days' averages is 25.",
    ),
    two_days(
        "average-with-null",
        "An average counts the values that are not NULL",
        (github("ClickHouse/ClickHouse", 74495),),
        (10.0, 20.0, None),
        ("events", "counted", "average"),
        ((3, 2, 15.0),),
        "(10 + 20) / 2; COUNT(*) is 3.",
    ),
    two_days(
        "all-null",
        "A sum of NULLs alone is NULL, and not 0",
        (github("VoltDB/voltdb", 3880, "pull"),),
        (None, None),
        ("events", "counted", "amount", "least"),
        ((2, 0, None, None),),
        "Two events, no value.",
    ),
    two_days(
        "negative-maximum",
        "The maximum of negative amounts",
        (github("apache/iotdb", 18300, "pull"), github("dotnet/machinelearning", 5704)),
        (-10.0, -5.0, -20.0),
        ("least", "most"),
        ((-20.0, -5.0),),
        "-20 is the least, -5 the largest.",
    ),
    two_days(
        "negative-zero",
        "Amounts 0.0 and -0.0 are equal",
        (github("apache/doris", 5225), github("ClickHouse/ClickHouse", 51513)),
        (0.0, -0.0),
        ("events", "amount", "least", "most"),
        ((2, 0.0, 0.0, 0.0),),
        "0.0 = -0.0, so each of them is right.",
    ),
    two_days(
        "nan-in-a-sum",
        "One NaN makes the sum NaN, from events and from rollups",
        (github("ArcadeData/arcadedb", 7089), github("ClickHouse/ClickHouse", 8369)),
        (1.0, NAN, 2.0),
        ("events", "counted", "amount"),
        ((3, 3, NAN),),
        "NaN is a value, not NULL: it is counted, and the sum is NaN.",
    ),
    two_days(
        "large-and-small",
        "A whole number above 2^24 stays exact in a sum",
        ("no report known",),
        (9007199254740990.0, 1.0),
        ("amount",),
        ((9007199254740991.0,),),
        "9007199254740990 + 1 = 2^53 - 1, which a double holds exactly.",
    ),
    two_days(
        "distinct-of-negative-zero",
        "The number of distinct amounts, where 0.0 and -0.0 are one value",
        (
            github("ClickHouse/ClickHouse", 50192),
            github("apache/datafusion", 22826),
            github("matrixorigin/matrixone", 27425),
        ),
        (0.0, -0.0, 1.0),
        ("amounts",),
        ((2,),),
        "0.0 = -0.0, and 1.0.",
    ),
    two_days(
        "distinct-of-nan",
        "The number of distinct amounts, where NaN is one value",
        (github("apache/datafusion", 16254), github("facebookincubator/velox", 9159)),
        (NAN, NAN, 1.0),
        ("events", "amounts"),
        ((3, 2),),
        "NaN is not distinct from NaN: NaN and 1.0.",
    ),
    two_days(
        "groups-of-negative-zero",
        "Events by amount: 0.0 and -0.0 are one group",
        (github("ClickHouse/ClickHouse", 605), github("apache/doris", 5226, "pull")),
        (0.0, -0.0, 1.0),
        ("events",),
        ((0.0, 2), (1.0, 1)),
        "0.0 = -0.0, so they are one group of two events.",
        by="amount",
    ),
    two_days(
        "groups-of-nan",
        "Events by amount: NaN is one group",
        (github("prestodb/presto", 1508),),
        (NAN, NAN, 1.0),
        ("events",),
        ((1.0, 1), (NAN, 2)),
        "NaN is not distinct from NaN, so it is one group of two events.",
        by="amount",
    ),
    Scenario(
        "users-over-days",
        "measures",
        "Distinct users of three days: a user of two days counts once",
        (github("allinurl/goaccess", 1409), github("cube-js/cube", 3490, "pull")),
        REFRESHED,
        Question(("users",), "2024-03-01 00:00:00", "2024-03-04 00:00:00"),
        ((3,),),
        "Users 1, 2 and 3; the days have 2 + 2 + 2.",
    ),
    Scenario(
        "users-by-item",
        "measures",
        "Distinct users by item over three days",
        (github("cube-js/cube", 3795),),
        REFRESHED,
        Question(("users",), "2024-03-01 00:00:00", "2024-03-04 00:00:00", by="item"),
        (("ink", 2), ("pen", 2)),
        "ink: users 2, 2, 1; pen: users 1, 1, 3.",
    ),
    Scenario(
        "users-by-week",
        "measures",
        "Distinct users by week, from days",
        (github("awesomemotive/Google-Analytics-Dashboard-for-WP", 80), github("cube-js/cube", 3490, "pull")),
        REFRESHED,
        Question(("users",), "2024-03-01 00:00:00", "2024-03-04 00:00:00", by="week"),
        (("2024-02-26", 3),),
        "1 to 3 March 2024 are Friday to Sunday of one week: users 1, 2 and 3.",
    ),
    Scenario(
        "null-item",
        "measures",
        "Events without an item are a group of their own",
        (github("apache/hive", 1995, "pull"), github("ClickHouse/ClickHouse", 49280)),
        (
            Load(
                START,
                END,
                (
                    event(1, "2024-03-01 08:00", 1.0, None),
                    event(2, "2024-03-02 08:00", 2.0, None),
                    event(3, "2024-03-02 09:00", 4.0),
                ),
            ),
            Refresh("2024-03-03 00:30:00"),
        ),
        Question(("events", "amount"), START, END, by="item"),
        ((None, 2, 3.0), ("pen", 1, 4.0)),
        "1 + 2 have no item.",
    ),
)
