"""rewriter through its DB-API: a cube over hours of events, with rollups of days, weeks and months."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import rewriter
from truth.adapters.base import Adapter, Trace, serve, tidy
from truth.model import Event, Late, Load, LoseFiles, Question, Refresh, Reload, Restart, Retain, Row, Scenario, Step

MEASURES = {
    "events": "COUNT(*)",
    "counted": "SUM(counted)",
    "amount": "SUM(amount)",
    "average": "AVG(amount)",
    "least": "MIN(least)",
    "most": "MAX(most)",
    "users": "COUNT(DISTINCT user_id)",
}
CUBE = """CREATE CUBE sales (item STRING, user_id BIGINT, n BIGINT MEASURE COUNT, counted BIGINT MEASURE COUNT,
  amount DOUBLE MEASURE SUM COUNTED BY counted, least DOUBLE MEASURE MIN, most DOUBLE MEASURE MAX,
  ts TIMESTAMP TIME)"""
FACT = """CREATE FACT sales_all OF CUBE sales STORED IN (
  TABLE events PERIOD HOURLY PARTITIONED BY ts AS (h) RAW (least AS amount, most AS amount))
  ROLLUPS (DAILY (item), DAILY (user_id), WEEKLY (item), MONTHLY (item))"""


class Cube(Adapter):
    """A cube, refreshed by REFRESH FACT."""

    column = "rewriter"
    page = "../docs/how-to/events.md"
    refusals = (rewriter.Error,)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.connection = rewriter.connect(str(folder / "warehouse"), engine="duckdb")
        self.files: dict[str, set[Path]] = {}
        self.sql(
            "CREATE TABLE events (id BIGINT, ts TIMESTAMP, item STRING, user_id BIGINT, amount DOUBLE)"
            " PARTITIONED BY (h STRING)"
        )
        self.sql(CUBE + ("" if scenario.zone == "UTC" else f" TIME ZONE '{scenario.zone}'"))
        self.sql(FACT)

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        cursor = self.connection.execute(text)
        self.trace.warnings.extend(map(str, cursor.warnings))
        return list(cursor.fetchall()) if cursor.description else []

    def run(self, step: Step) -> None:
        match step:
            case Load():
                zone = "" if self.scenario.zone == "UTC" else "Z"
                marked = f"MARK COMPLETE FROM '{step.start}{zone}' TO '{step.end}{zone}'"
                if step.events:
                    before = self._files()
                    self.sql(f"INSERT INTO events {marked} VALUES {_rows(step.events)}")
                    self.files[step.start[:10]] = self._files() - before
                else:
                    self.sql(f"ALTER FACT sales_all {marked}")
            case Late():
                self.sql(f"INSERT INTO events VALUES {_rows(step.events)}")
            case Reload():
                self._replace(step)
            case Refresh():
                self.sql(f"SET rewriter.now = '{step.now}'")
                self.sql("REFRESH FACT sales_all")
            case Retain():
                self.sql(f"SET rewriter.now = '{step.now}'")
                self.sql(f"ALTER FACT sales_all TABLE events SET RETAIN {step.days} DAYS")
                for row in self.sql("MAINTAIN FACT sales_all"):
                    self.trace.add(row)
            case Restart():
                self.connection.close()
                self.connection = rewriter.connect(str(self.folder / "warehouse"), engine="duckdb")
            case LoseFiles():
                for file in self.files[step.day]:
                    self.trace.add(f"rm {file}")
                    file.unlink()

    def _files(self) -> set[Path]:
        return set((self.folder / "warehouse").glob("events-*/**/*.parquet"))

    def _replace(self, step: Reload) -> None:
        hour = datetime.fromisoformat(step.start)
        while hour < datetime.fromisoformat(step.end):
            name = f"{hour:%Y-%m-%d-%H}"
            events = [event for event in step.events if _hour(event) == name]
            source = f"VALUES {_rows(events, partition=False)}" if events else _NO_ROWS
            self.sql(f"INSERT OVERWRITE events PARTITION (h = '{name}') {source}")
            hour += timedelta(hours=1)

    def ask(self, question: Question) -> list[Row]:
        zone = "" if self.scenario.zone == "UTC" else "Z"
        chosen = ", ".join(f"{MEASURES[name]} AS {name}" for name in question.measures)
        where = f"ts >= '{question.start}{zone}' AND ts < '{question.end}{zone}'"
        if question.by is None:
            rows = self.sql(f"SELECT {chosen} FROM sales WHERE {where}")
        else:
            key = "item" if question.by == "item" else f"date_trunc('{question.by}', {self._clock(question)})"
            shown = key if question.by in ("item", "hour") else f"to_date({key})"
            rows = self.sql(f"SELECT {shown} AS grouped, {chosen} FROM sales WHERE {where} GROUP BY {shown}")
        return tidy(rows, question.by)

    def _clock(self, question: Question) -> str:
        return "ts" if question.zone == self.scenario.zone else f"from_utc_timestamp(ts, '{question.zone}')"

    def close(self) -> None:
        self.connection.close()


_NO_ROWS = (
    "SELECT CAST(NULL AS BIGINT), CAST(NULL AS TIMESTAMP), CAST(NULL AS STRING), CAST(NULL AS BIGINT),"
    " CAST(NULL AS DOUBLE) WHERE false"
)


def _hour(event: Event) -> str:
    return f"{event.at[:10]}-{event.at[11:13]}"


def _rows(events: tuple[Event, ...] | list[Event], partition: bool = True) -> str:
    return ", ".join(_row(event, partition) for event in events)


def _row(event: Event, partition: bool) -> str:
    item = "NULL" if event.item is None else f"'{event.item}'"
    amount = "NULL" if event.amount is None else f"CAST('{event.amount!r}' AS DOUBLE)"
    hour = f", '{_hour(event)}'" if partition else ""
    return f"({event.id}, TIMESTAMP '{event.at}', {item}, {event.user}, {amount}{hour})"


ADAPTERS = (Cube,)

if __name__ == "__main__":
    serve(ADAPTERS)
