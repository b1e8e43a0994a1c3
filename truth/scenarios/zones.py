"""Days of time zones, and the days on which clocks change.

Berlin is an hour before UTC in winter and two in summer. In 2024 its clocks skip 02:00 to 03:00 on 31 March (01:00
UTC), and repeat that hour on 27 October (01:00 UTC). Kolkata is five hours and a half before UTC.
"""

from __future__ import annotations

from truth.model import Load, Question, Refresh, Scenario
from truth.scenarios.events import event, github

SPRING = Load(
    "2024-03-29 00:00:00",
    "2024-04-02 00:00:00",
    (
        event(1, "2024-03-30 22:30", 1.0),
        event(2, "2024-03-30 23:30", 2.0),
        event(3, "2024-03-31 00:30", 4.0),
        event(4, "2024-03-31 21:30", 8.0),
        event(5, "2024-03-31 22:30", 16.0),
    ),
)
AUTUMN = Load(
    "2024-10-25 00:00:00",
    "2024-10-29 00:00:00",
    (
        event(1, "2024-10-26 21:30", 1.0),
        event(2, "2024-10-26 22:30", 2.0),
        event(3, "2024-10-27 00:30", 4.0),
        event(4, "2024-10-27 01:30", 8.0),
        event(5, "2024-10-27 22:30", 16.0),
        event(6, "2024-10-27 23:30", 32.0),
    ),
)
EVENING = (
    Load(
        "2024-01-30 00:00:00",
        "2024-02-02 00:00:00",
        (event(1, "2024-01-31 22:30", 1.0), event(2, "2024-01-31 23:30", 2.0), event(3, "2024-02-01 12:00", 4.0)),
    ),
    Refresh("2024-02-02 00:30:00"),
)

SCENARIOS = (
    Scenario(
        "zone-day-of-23-hours",
        "zones",
        "Days of Berlin around the day of 23 hours, from rollups of Berlin's days",
        (github("cube-js/cube", 10096), github("apache/airflow", 68004), github("rilldata/rill", 3494, "pull")),
        (SPRING, Refresh("2024-04-02 00:30:00")),
        Question(("events", "amount"), "2024-03-29 23:00:00", "2024-04-01 22:00:00", "day", "Europe/Berlin"),
        (("2024-03-30", 1, 1.0), ("2024-03-31", 3, 14.0), ("2024-04-01", 1, 16.0)),
        "31 March of Berlin is [30 March 23:00, 31 March 22:00) in UTC: 2 + 4 + 8.",
        zone="Europe/Berlin",
    ),
    Scenario(
        "zone-day-of-25-hours",
        "zones",
        "Days of Berlin around the day of 25 hours, from rollups of Berlin's days",
        (github("cube-js/cube", 10096), github("influxdata/influxdb", 25303)),
        (AUTUMN, Refresh("2024-10-29 00:30:00")),
        Question(("events", "amount"), "2024-10-25 22:00:00", "2024-10-28 23:00:00", "day", "Europe/Berlin"),
        (("2024-10-26", 1, 1.0), ("2024-10-27", 4, 30.0), ("2024-10-28", 1, 32.0)),
        "27 October of Berlin is [26 October 22:00, 27 October 23:00) in UTC: 2 + 4 + 8 + 16.",
        zone="Europe/Berlin",
    ),
    Scenario(
        "zone-sum-of-long-day",
        "zones",
        "The sum over Berlin's day of 25 hours, from rollups of Berlin's days",
        (github("timescale/timescaledb", 8851),),
        (AUTUMN, Refresh("2024-10-29 00:30:00")),
        Question(("events", "amount"), "2024-10-26 22:00:00", "2024-10-27 23:00:00", None, "Europe/Berlin"),
        ((4, 30.0),),
        "2 + 4 + 8 + 16: the events of [26 October 22:00, 27 October 23:00) in UTC.",
        zone="Europe/Berlin",
    ),
    Scenario(
        "zone-other-than-rollups",
        "zones",
        "A question of Berlin's days, where the rollups have days of UTC",
        (
            github("OpenTSDB/opentsdb", 1639),
            github("cube-js/cube", 9638),
            github("elastic/elasticsearch", 40844, "pull"),
        ),
        EVENING,
        Question(("events", "amount"), "2024-01-30 23:00:00", "2024-02-01 23:00:00", "day", "Europe/Berlin"),
        (("2024-01-31", 1, 1.0), ("2024-02-01", 2, 6.0)),
        "31 January 23:30 UTC is 1 February 00:30 in Berlin: 2 + 4.",
    ),
    Scenario(
        "zone-month",
        "zones",
        "Months of Berlin, where an event of UTC's January lies in Berlin's February",
        (github("GladysAssistant/Gladys", 2760, "pull"),),
        EVENING,
        Question(("events", "amount"), "2024-01-30 23:00:00", "2024-02-01 23:00:00", "month", "Europe/Berlin"),
        (("2024-01", 1, 1.0), ("2024-02", 2, 6.0)),
        "31 January 23:30 UTC is in February in Berlin: 2 + 4.",
        zone="Europe/Berlin",
    ),
    Scenario(
        "zone-half-hour",
        "zones",
        "A day of Kolkata begins at 18:30 UTC, inside an hour of UTC",
        (github("OpenLabs-so/openanalytics", 2), github("influxdata/influxdb", 6074)),
        (
            Load(
                "2024-03-01 00:00:00",
                "2024-03-03 00:00:00",
                (
                    event(1, "2024-03-01 18:15", 1.0),
                    event(2, "2024-03-01 18:45", 2.0),
                    event(3, "2024-03-02 18:15", 4.0),
                ),
            ),
            Refresh("2024-03-03 00:30:00"),
        ),
        Question(("events", "amount"), "2024-03-01 18:30:00", "2024-03-02 18:30:00"),
        ((2, 6.0),),
        "18:15 of 1 March lies before 18:30; 18:15 of 2 March lies before the end.",
    ),
)
