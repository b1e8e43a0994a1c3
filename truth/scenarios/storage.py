"""Restarts and lost files."""

from __future__ import annotations

from truth.model import Late, Load, LoseFiles, Question, Refresh, Restart, Scenario
from truth.scenarios.boundaries import REFRESHED
from truth.scenarios.events import MARCH, github
from truth.scenarios.late_rows import LATE, WHOLE

#: Each day is a delivery of its own, so that a tool can write it into files of its own.
BY_DAY = (
    Load("2024-03-01 00:00:00", "2024-03-02 00:00:00", MARCH[:2]),
    Load("2024-03-02 00:00:00", "2024-03-03 00:00:00", MARCH[2:4]),
    Load("2024-03-03 00:00:00", "2024-03-04 00:00:00", MARCH[4:]),
    Refresh("2024-03-04 00:30:00"),
)

SCENARIOS = (
    Scenario(
        "restart",
        "storage",
        "The program starts again between refresh and question",
        (github("MaterializeInc/materialize", 13452),),
        (*REFRESHED, Restart()),
        WHOLE,
        ((6, 210.0),),
        "All six events: 210.",
    ),
    Scenario(
        "restart-with-late-row",
        "storage",
        "A late row arrives, and the program starts again before the next refresh: what is outdated is not forgotten",
        (github("questdb/questdb", 7330, "pull"), github("MaterializeInc/materialize", 13452)),
        (*REFRESHED, Late((LATE,)), Restart(), Refresh("2024-03-05 00:30:00")),
        WHOLE,
        ((7, 310.0),),
        "210 + 100.",
    ),
    Scenario(
        "lost-files",
        "storage",
        "The files of a day's events vanish; a question of hours, which no rollup has",
        (github("apache/iceberg", 3394), github("apache/hudi", 10885)),
        (*BY_DAY, LoseFiles("2024-03-02")),
        Question(("events", "amount"), "2024-03-01 12:00:00", "2024-03-03 12:00:00", by="hour"),
        (
            ("2024-03-01 20:00", 1, 20.0),
            ("2024-03-02 08:00", 1, 30.0),
            ("2024-03-02 20:00", 1, 40.0),
            ("2024-03-03 08:00", 1, 50.0),
        ),
        "Without the files of 2 March, the right result is a refusal or a warning.",
    ),
    Scenario(
        "lost-files-then-refresh",
        "storage",
        "The files of a day's events vanish, and the next refresh runs: the rollup must not take the loss for truth",
        (github("apache/hudi", 10885),),
        (*BY_DAY, LoseFiles("2024-03-02"), Refresh("2024-03-05 00:30:00")),
        WHOLE,
        ((6, 210.0),),
        "The rollup of 2 March is still right: 210. To refuse is right, too.",
    ),
)
