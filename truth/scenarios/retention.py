"""Events that were dropped after their rollups were computed."""

from __future__ import annotations

from truth.model import Late, Load, Question, Refresh, Restart, Retain, Scenario
from truth.scenarios.events import event, github

WINTER = Load(
    "2024-01-01 00:00:00",
    "2024-03-01 00:00:00",
    (
        event(1, "2024-01-10 08:00", 1.0, "pen", 1),
        event(2, "2024-01-20 08:00", 2.0, "ink", 2),
        event(3, "2024-02-10 08:00", 4.0, "pen", 1),
        event(4, "2024-02-20 08:00", 8.0, "ink", 3),
    ),
)
#: At 1 March 00:30, 29 days before are [1 February 00:30, …): whole days of January are older.
DROPPED = (WINTER, Refresh("2024-03-01 00:30:00"), Retain("2024-03-01 00:00:00", 29))
MONTHS = Question(("events", "amount"), "2024-01-01 00:00:00", "2024-03-01 00:00:00", by="month")

SCENARIOS = (
    Scenario(
        "dropped-months-stay",
        "retention",
        "Events of January are dropped; its month is still in the rollups",
        (github("timescale/timescaledb", 2592),),
        DROPPED,
        MONTHS,
        (("2024-01", 2, 3.0), ("2024-02", 2, 12.0)),
        "1 + 2 and 4 + 8.",
    ),
    Scenario(
        "dropped-then-refreshed",
        "retention",
        "Events of January are dropped; the next refresh must not overwrite its rollups with nothing",
        (github("timescale/timescaledb", 2198), github("timescale/timescaledb", 2609)),
        (*DROPPED, Refresh("2024-03-02 00:30:00")),
        MONTHS,
        (("2024-01", 2, 3.0), ("2024-02", 2, 12.0)),
        "1 + 2 and 4 + 8.",
    ),
    Scenario(
        "dropped-and-newer-late-row",
        "retention",
        "Events of January are dropped; a late row of February arrives, and the next refresh runs",
        (github("timescale/timescaledb", 2592),),
        (*DROPPED, Late((event(5, "2024-02-15 08:00", 16.0),)), Refresh("2024-03-02 00:30:00")),
        MONTHS,
        (("2024-01", 2, 3.0), ("2024-02", 3, 28.0)),
        "1 + 2 and 4 + 8 + 16.",
    ),
    Scenario(
        "dropped-hour-asked",
        "retention",
        "A range cuts a day whose events were dropped: the part of that day is not known any more",
        (github("StarRocks/starrocks", 73687),),
        DROPPED,
        Question(("events", "amount"), "2024-01-10 06:00:00", "2024-03-01 00:00:00"),
        ((4, 15.0),),
        "1 + 2 + 4 + 8. Without the events of 10 January, the right result is a refusal or a warning.",
    ),
    Scenario(
        "dropped-users-asked",
        "retention",
        "Distinct users of a range whose events were dropped in part",
        (github("timescale/timescaledb", 2609),),
        DROPPED,
        Question(("users",), "2024-01-01 00:00:00", "2024-03-01 00:00:00"),
        ((3,),),
        "Users 1, 2 and 3. A rollup with sets of users knows it; without one, the right result is a refusal.",
    ),
    Scenario(
        "late-row-of-dropped-month",
        "retention",
        "A late row arrives for a day whose events were dropped, and the next refresh runs",
        (github("timescale/timescaledb", 2198), github("timescale/timescaledb", 2592)),
        (*DROPPED, Late((event(5, "2024-01-10 09:00", 16.0),)), Refresh("2024-03-02 00:30:00")),
        MONTHS,
        (("2024-01", 3, 19.0), ("2024-02", 2, 12.0)),
        "1 + 2 + 16 and 4 + 8. To refuse the late row is right, too; to recompute the day from it alone is not.",
    ),
    Scenario(
        "dropped-and-restarted",
        "retention",
        "Events of January are dropped, the program starts again, and the next refresh runs",
        (github("MaterializeInc/materialize", 13452),),
        (*DROPPED, Restart(), Refresh("2024-03-02 00:30:00")),
        MONTHS,
        (("2024-01", 2, 3.0), ("2024-02", 2, 12.0)),
        "1 + 2 and 4 + 8.",
    ),
)
