"""Rows at the bounds of a range, and ranges that do not fit the rollup's periods."""

from __future__ import annotations

from truth.model import Load, Question, Refresh, Scenario
from truth.scenarios.events import MARCH, event, github

THREE_DAYS = Load("2024-03-01 00:00:00", "2024-03-04 00:00:00", MARCH)
REFRESHED = (THREE_DAYS, Refresh("2024-03-04 00:30:00"))

SCENARIOS = (
    Scenario(
        "whole-days",
        "boundaries",
        "A range of whole days, which a daily rollup covers",
        ("no report known",),
        REFRESHED,
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-03 00:00:00"),
        ((4, 100.0),),
        "1 and 2 March: 10 + 20 + 30 + 40. The control scenario: no fault is in it.",
    ),
    Scenario(
        "range-cuts-first-day",
        "boundaries",
        "A range begins inside a day",
        (github("cube-js/cube", 103), github("NikolayS/pg_ash", 130)),
        REFRESHED,
        Question(("events", "amount"), "2024-03-01 12:00:00", "2024-03-04 00:00:00"),
        ((5, 200.0),),
        "All six events but that of 1 March 08:00: 210 - 10.",
    ),
    Scenario(
        "range-cuts-last-day",
        "boundaries",
        "A range ends inside a day",
        (github("useautumn/autumn", 3447, "pull"),),
        REFRESHED,
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-03 12:00:00"),
        ((5, 150.0),),
        "All six events but that of 3 March 20:00: 210 - 60.",
    ),
    Scenario(
        "range-inside-an-hour",
        "boundaries",
        "A range of some minutes inside one hour",
        (github("NikolayS/pg_ash", 130),),
        (
            Load(
                "2024-03-01 00:00:00",
                "2024-03-02 00:00:00",
                (
                    event(1, "2024-03-01 08:05", 1.0),
                    event(2, "2024-03-01 08:20", 2.0),
                    event(3, "2024-03-01 08:50", 4.0),
                ),
            ),
            Refresh("2024-03-02 00:30:00"),
        ),
        Question(("events", "amount"), "2024-03-01 08:10:00", "2024-03-01 08:50:00"),
        ((1, 2.0),),
        "08:05 lies before the range; 08:50 is its end, which it does not contain.",
    ),
    Scenario(
        "month-from-its-middle",
        "boundaries",
        "Months of a range that begins in the middle of a month",
        (github("cube-js/cube", 103), github("lightdash/lightdash", 19940)),
        (
            Load(
                "2024-01-01 00:00:00",
                "2024-03-01 00:00:00",
                (
                    event(1, "2024-01-10 08:00", 1.0),
                    event(2, "2024-01-20 08:00", 2.0),
                    event(3, "2024-02-10 08:00", 4.0),
                ),
            ),
            Refresh("2024-03-01 00:30:00"),
        ),
        Question(("events", "amount"), "2024-01-15 00:00:00", "2024-03-01 00:00:00", by="month"),
        (("2024-01", 1, 2.0), ("2024-02", 1, 4.0)),
        "10 January lies before the range. January stays in the result, with 20 January alone.",
    ),
    Scenario(
        "midnight-counts-once",
        "boundaries",
        "An event at midnight belongs to the day that begins",
        (github("SQLMesh/sqlmesh", 5739),),
        (
            Load(
                "2024-03-01 00:00:00",
                "2024-03-03 00:00:00",
                (
                    event(1, "2024-03-01 12:00", 1.0),
                    event(2, "2024-03-02 00:00", 2.0),
                    event(3, "2024-03-02 12:00", 4.0),
                ),
            ),
            Refresh("2024-03-03 00:30:00"),
        ),
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-03 00:00:00", by="day"),
        (("2024-03-01", 1, 1.0), ("2024-03-02", 2, 6.0)),
        "2 + 4 on 2 March; midnight is its first instant.",
    ),
    Scenario(
        "last-microsecond",
        "boundaries",
        "An event in the last microsecond of a day belongs to that day",
        (
            github("hackclub/hackatime", 1693, "pull"),
            github("carlos-emr/carlos", 2326),
            github("PostHog/posthog", 73833, "pull"),
        ),
        (
            Load(
                "2024-03-01 00:00:00",
                "2024-03-03 00:00:00",
                (event(1, "2024-03-01 23:59:59.999999", 1.0), event(2, "2024-03-02 00:00:00", 2.0)),
            ),
            Refresh("2024-03-03 00:30:00"),
        ),
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-02 00:00:00"),
        ((1, 1.0),),
        "23:59:59.999999 is before midnight; the event at midnight is outside.",
    ),
    Scenario(
        "range-past-the-end",
        "boundaries",
        "A range ends after the last loaded hour",
        (github("cube-js/cube", 3294), github("PostHog/posthog", 49661, "pull")),
        REFRESHED,
        Question(("events", "amount"), "2024-03-01 00:00:00", "2024-03-05 00:00:00"),
        ((7, 280.0),),
        "Six events that were loaded, and one of 4 March (70) that was not: 210 + 70.",
        undelivered=(event(7, "2024-03-04 08:00", 70.0),),
    ),
    Scenario(
        "empty-range",
        "boundaries",
        "A loaded day on which nothing happened",
        (github("StarRocks/starrocks", 34319, "pull"), github("VoltDB/voltdb", 3880, "pull")),
        (
            Load("2024-03-01 00:00:00", "2024-03-03 00:00:00", (event(1, "2024-03-01 08:00"),)),
            Refresh("2024-03-03 00:30:00"),
        ),
        Question(("events", "amount"), "2024-03-02 00:00:00", "2024-03-03 00:00:00"),
        ((0, None),),
        "COUNT(*) of no rows is 0, SUM of no rows is NULL.",
    ),
)
