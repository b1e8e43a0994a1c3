"""A stream that starts again delivers a batch that it had delivered before."""

from __future__ import annotations

from truth.model import Batch, Refresh, Restart, Scenario
from truth.scenarios.boundaries import THREE_DAYS
from truth.scenarios.corrections import EMPTIED
from truth.scenarios.events import event, github
from truth.scenarios.late_rows import LATE, WHOLE

FIRST = Batch(1, (LATE,))
SECOND = Batch(2, (event(8, "2024-03-02 09:00", 200.0),))
OF_EMPTIED_HOUR = Batch(1, (event(7, "2024-03-01 20:30", 100.0),))
REFRESH, NEXT_REFRESH = Refresh("2024-03-04 00:30:00"), Refresh("2024-03-05 00:30:00")

SCENARIOS = (
    Scenario(
        "batch-again-after-restart",
        "streams",
        "A stream starts again and repeats its last batch; a question after the refresh",
        (github("apache/paimon", 9666), github("apache/hudi", 6098, "pull")),
        (THREE_DAYS, FIRST, SECOND, Restart(), SECOND, REFRESH),
        WHOLE,
        ((8, 510.0),),
        "210 of the six events, 100 of the first batch, 200 of the second.",
    ),
    Scenario(
        "batch-again-after-refresh",
        "streams",
        "A batch is in the rollups when the stream starts again and repeats it",
        (github("ClickHouse/ClickHouse", 76110), github("aws-samples/sample-voice-of-customer-datalake", 383, "pull")),
        (THREE_DAYS, FIRST, REFRESH, Restart(), FIRST),
        WHOLE,
        ((7, 310.0),),
        "210 of the six events, 100 of the batch.",
    ),
    Scenario(
        "batch-again-after-withdrawal",
        "streams",
        "The hour of a batch is delivered again without any event; then the stream repeats the batch",
        (github("Altinity/clickhouse-sink-connector", 1378, "pull"),),
        (THREE_DAYS, OF_EMPTIED_HOUR, REFRESH, EMPTIED, Restart(), OF_EMPTIED_HOUR, NEXT_REFRESH),
        WHOLE,
        ((5, 190.0),),
        "The later delivery withdrew the batch's event and that of 20:00 (20): 210 - 20.",
    ),
)
