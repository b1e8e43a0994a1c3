"""Weeks, months and years, which do not nest in each other."""

from __future__ import annotations

from truth.model import Load, Question, Refresh, Scenario
from truth.scenarios.events import event, github

#: Monday 29 January 2024 begins the week that holds 1 February.
TURN = (
    Load(
        "2024-01-01 00:00:00",
        "2024-03-04 00:00:00",
        (
            event(1, "2024-01-28 08:00", 1.0),
            event(2, "2024-01-30 08:00", 2.0),
            event(3, "2024-02-01 08:00", 4.0),
            event(4, "2024-02-05 08:00", 8.0),
            event(5, "2024-02-29 08:00", 16.0),
        ),
    ),
    Refresh("2024-03-04 00:30:00"),
)
NEW_YEAR = (
    Load(
        "2024-12-23 00:00:00",
        "2025-01-13 00:00:00",
        (
            event(1, "2024-12-29 08:00", 1.0),
            event(2, "2024-12-30 08:00", 2.0),
            event(3, "2025-01-01 08:00", 4.0),
            event(4, "2025-01-06 08:00", 8.0),
        ),
    ),
    Refresh("2025-01-13 00:30:00"),
)

SCENARIOS = (
    Scenario(
        "month-with-cut-week",
        "calendar",
        "Months where a week crosses the end of the month",
        (github("lightdash/lightdash", 27537),),
        TURN,
        Question(("events", "amount"), "2024-01-01 00:00:00", "2024-03-01 00:00:00", by="month"),
        (("2024-01", 2, 3.0), ("2024-02", 3, 28.0)),
        "1 + 2; 4 + 8 + 16. The week of 29 January has 2 and 4.",
    ),
    Scenario(
        "week-across-months",
        "calendar",
        "Weeks where one crosses the end of the month",
        (github("lightdash/lightdash", 27538, "pull"),),
        TURN,
        Question(("events", "amount"), "2024-01-22 00:00:00", "2024-02-12 00:00:00", by="week"),
        (("2024-01-22", 1, 1.0), ("2024-01-29", 2, 6.0), ("2024-02-05", 1, 8.0)),
        "28 January is a Sunday; 2 + 4 are of the week of 29 January.",
    ),
    Scenario(
        "week-cut-by-range",
        "calendar",
        "Weeks of a range that begins inside one",
        (github("apache/superset", 18670), github("cube-js/cube", 103)),
        TURN,
        Question(("events", "amount"), "2024-02-01 00:00:00", "2024-02-12 00:00:00", by="week"),
        (("2024-01-29", 1, 4.0), ("2024-02-05", 1, 8.0)),
        "Of the week of 29 January, 30 January lies before the range.",
    ),
    Scenario(
        "leap-day",
        "calendar",
        "29 February belongs to February",
        ("no report known",),
        TURN,
        Question(("events", "amount"), "2024-02-01 00:00:00", "2024-03-01 00:00:00"),
        ((3, 28.0),),
        "4 + 8 + 16.",
    ),
    Scenario(
        "week-across-years",
        "calendar",
        "The week of 30 December 2024 holds days of two years",
        (github("Doist/bitmapist", 86, "pull"), github("jotaen/klog", 143)),
        NEW_YEAR,
        Question(("events", "amount"), "2024-12-23 00:00:00", "2025-01-13 00:00:00", by="week"),
        (("2024-12-23", 1, 1.0), ("2024-12-30", 2, 6.0), ("2025-01-06", 1, 8.0)),
        "30 December 2024 is a Monday: 2 + 4.",
    ),
    Scenario(
        "hours-of-a-day",
        "calendar",
        "Hours of a day, where rollups have days",
        (github("cube-js/cube", 2299), github("lightdash/lightdash", 27538, "pull")),
        TURN,
        Question(("events", "amount"), "2024-01-30 00:00:00", "2024-01-31 00:00:00", by="hour"),
        (("2024-01-30 08:00", 1, 2.0),),
        "One event at 08:00.",
    ),
)
