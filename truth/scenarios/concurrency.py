"""A refresh beside a write: the job has read the events when others are written, and ends after them."""

from __future__ import annotations

from truth.model import Late, Refresh, RefreshBeside, Scenario
from truth.scenarios.boundaries import THREE_DAYS
from truth.scenarios.corrections import CORRECTED
from truth.scenarios.events import github
from truth.scenarios.late_rows import LATE, WHOLE

NOW, NEXT_REFRESH = "2024-03-04 00:30:00", Refresh("2024-03-05 00:30:00")

SCENARIOS = (
    Scenario(
        "written-during-refresh",
        "a refresh beside a write",
        "A late row is written while the rollups are computed; a question when both have ended",
        (github("questdb/questdb", 7330, "pull"), github("timescale/timescaledb", 2194, "pull")),
        (THREE_DAYS, RefreshBeside(NOW, Late((LATE,)))),
        WHOLE,
        ((7, 310.0),),
        "210 of the six events, and 100 that were written beside the refresh.",
    ),
    Scenario(
        "written-during-refresh-then-refreshed",
        "a refresh beside a write",
        "A late row is written while the rollups are computed: the next refresh must not take them for up to date",
        (github("timescale/timescaledb", 10219), github("dlt-hub/dlt", 2269)),
        (THREE_DAYS, RefreshBeside(NOW, Late((LATE,))), NEXT_REFRESH),
        WHOLE,
        ((7, 310.0),),
        "210 of the six events, and 100 that were written beside the first refresh.",
    ),
    Scenario(
        "corrected-during-refresh",
        "a refresh beside a write",
        "A day is delivered again with another amount while the rollups are computed; after the next refresh",
        (github("questdb/questdb", 7330, "pull"),),
        (THREE_DAYS, RefreshBeside(NOW, CORRECTED), NEXT_REFRESH),
        WHOLE,
        ((6, 215.0),),
        "15 in place of 10: 210 + 5.",
    ),
)
