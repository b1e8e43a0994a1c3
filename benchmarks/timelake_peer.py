"""The peers' questions to Timelake, run by the interpreter that ``TIMELAKE_PYTHON`` names.

The events are a time-series table with a rollup of hours and one of days. Timelake answers from a rollup where a query
groups by ``time_bucket``, so each question is asked twice: as it is, and over such buckets in a subquery. The rollup of
days is made first, because the first one that fits is used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import pyarrow.parquet as pq
import timelake

from benchmarks.questions import (
    HOUR_MEASURES,
    QUESTIONS,
    Contender,
    Question,
    answered,
    files_given,
    over_events,
    print_contenders,
    rows_of,
)

STORED = """SUM(distance) AS distance, COUNT(*) AS flights, COUNT(delay) AS departures, SUM(delay) AS delay,
  MAX(delay) AS worst_delay"""
ROLLUP = """CREATE MATERIALIZED ROLLUP peers.{name} AS
SELECT origin, dest, carrier, time_bucket(INTERVAL '{width}', departed) AS bucket, {stored}
FROM peers.flights GROUP BY origin, dest, carrier, bucket WITH (refresh_interval = 'off')"""
WIDTHS = {"": "1 day", "month": "1 day", "hour": "1 hour", "carrier": "1 hour"}


def build(folder: str, events: str) -> timelake.Lake:
    """Builds a lake with the events and their rollups, and returns it."""
    table = pq.read_table(events)
    lake = timelake.Lake(folder)
    series = ["origin", "dest", "carrier"]
    flights = lake.create_table("peers.flights", table.schema, "departed", series, dedup=False, ingest_time=False)
    flights.append(table)
    for name, width in (("daily", "1 day"), ("hourly", "1 hour")):
        lake.sql(ROLLUP.format(name=name, width=width, stored=STORED))
    flights.maintain()
    return lake


def over_buckets(question: Question) -> str:
    """Returns the question over buckets of hours or days, which Timelake reads from its rollups."""
    carrier = "carrier, " if question.by == "carrier" else ""
    buckets = f"""SELECT {carrier}time_bucket(INTERVAL '{WIDTHS[question.by]}', departed) AS bucket, {STORED}
FROM peers.flights WHERE departed >= TIMESTAMP '{question.start}' AND departed < TIMESTAMP '{question.end}'
GROUP BY {carrier}bucket"""
    if not question.key:
        return f"SELECT SUM(distance) AS distance FROM ({buckets}) AS buckets"
    key = question.key.replace("departed", "bucket")
    return f"SELECT {key} AS grouped, {HOUR_MEASURES} FROM ({buckets}) AS buckets GROUP BY {key}"


def contender(lake: timelake.Lake, label: str, setup: str, text: Callable[[Question], str]) -> Contender:
    """Returns the answers to the texts of all questions."""
    texts = [text(question) for question in QUESTIONS]
    answers = tuple(answered(lambda sql=sql: rows_of(lake.sql(sql))) for sql in texts)
    routed = [
        question.name
        for question, sql in zip(QUESTIONS, texts, strict=True)
        if "TableScan: peers.hourly" in (plan := str(lake.sql(f"EXPLAIN {sql}").to_pylist()))
        or "TableScan: peers.daily" in plan
    ]
    return Contender(label, f"{setup}; rollups are used for: {', '.join(routed) or 'none'}", answers)


def main() -> None:
    """Prints the answers of Timelake."""
    files = files_given()
    lake = build(files.folder, files.events)
    name = f"Timelake {version('timelake')}"
    setup = "a time-series table of the events with rollups of hours and days"
    as_it_is = contender(lake, f"{name}, as asked", setup, lambda question: over_events(question, "peers.flights"))
    buckets = contender(lake, f"{name}, over time_bucket", "the same; the question is over buckets", over_buckets)
    print_contenders((as_it_is, buckets))


if __name__ == "__main__":
    main()
