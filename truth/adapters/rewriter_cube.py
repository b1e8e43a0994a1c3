"""rewriter through its DB-API: a cube over hours of events, with rollups of days, weeks and months."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import rewriter
from rewriter.exec.duckdb.engine import DuckDBEngine
from truth.adapters.base import Adapter, Trace, serve, tidy
from truth.adapters.sql import Columns
from truth.model import (
    AddColumn,
    Batch,
    Event,
    Late,
    Load,
    LoseFiles,
    Question,
    Refresh,
    RefreshBeside,
    Reload,
    Rename,
    Restart,
    Retain,
    Row,
    Scenario,
    Step,
    Widen,
)

MEASURES = {
    "events": "COUNT(*)",
    "counted": "SUM(counted)",
    "amount": "SUM(amount)",
    "average": "AVG(amount)",
    "least": "MIN(least)",
    "most": "MAX(most)",
    "users": "COUNT(DISTINCT user_id)",
    "amounts": "COUNT(DISTINCT price)",
}
#: ``price`` is the amount as an attribute, by which events are grouped and distinct values are counted.
CUBE = """CREATE CUBE sales (item STRING, user_id BIGINT, price {number}, n BIGINT MEASURE COUNT,
  counted BIGINT MEASURE COUNT, amount {number} MEASURE SUM COUNTED BY counted, least {number} MEASURE MIN,
  most {number} MEASURE MAX, ts TIMESTAMP TIME)"""
FACT = """CREATE FACT sales_all OF CUBE sales STORED IN (
  TABLE events PERIOD HOURLY PARTITIONED BY ts AS (h) RAW (price AS amount, least AS amount, most AS amount))
  ROLLUPS (DAILY (item), DAILY (user_id), DAILY (price), WEEKLY (item), MONTHLY (item))"""


class Cube(Adapter):
    """A cube, refreshed by REFRESH FACT. Each batch of a stream is appended with its id."""

    column = "rewriter"
    page = "../docs/how-to/events.md"
    refusals = (rewriter.Error,)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.connection = self._open()
        self.columns = Columns()
        self.files: dict[str, set[Path]] = {}
        number = "FLOAT" if scenario.starts_narrow else "DOUBLE"
        self.sql(
            f"CREATE TABLE events (id BIGINT, ts TIMESTAMP, item STRING, user_id BIGINT, amount {number})"
            " PARTITIONED BY (h STRING)"
        )
        self.sql(CUBE.format(number=number) + ("" if scenario.zone == "UTC" else f" TIME ZONE '{scenario.zone}'"))
        self.sql(FACT)

    def _open(self) -> rewriter.Connection:
        return rewriter.connect(str(self.folder / "warehouse"), engine="duckdb")

    def sql(self, text: str, connection: rewriter.Connection | None = None) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        cursor = (connection or self.connection).execute(text)
        self.trace.warnings.extend(map(str, cursor.warnings))
        return list(cursor.fetchall()) if cursor.description else []

    def run(self, step: Step) -> None:
        match step:
            case Load():
                zone = "" if self.scenario.zone == "UTC" else "Z"
                marked = f"MARK COMPLETE FROM '{step.start}{zone}' TO '{step.end}{zone}'"
                if step.events:
                    before = self._files()
                    self.sql(f"INSERT INTO events {marked} VALUES {self._rows(step.events)}")
                    self.files[step.start[:10]] = self._files() - before
                else:
                    self.sql(f"ALTER FACT sales_all {marked}")
            case Late() | Reload():
                self._deliver(step, self.connection)
            case Batch():
                self._append(step)
            case Refresh():
                self.sql(f"SET rewriter.now = '{step.now}'")
                self.sql("REFRESH FACT sales_all")
            case RefreshBeside():
                self.sql(f"SET rewriter.now = '{step.now}'")
                self._refresh_beside(step.written)
            case Widen():
                self.sql("ALTER CUBE sales ALTER amount TYPE DOUBLE")
            case Rename():
                self.sql("ALTER TABLE events RENAME COLUMN item TO product CASCADE")
                self.columns = self.columns.after(step)
            case AddColumn():
                self.sql("ALTER TABLE events ADD COLUMN channel STRING")
                self.columns = self.columns.after(step)
            case Retain():
                self.sql(f"SET rewriter.now = '{step.now}'")
                self.sql(f"ALTER FACT sales_all TABLE events SET RETAIN {step.days} DAYS")
                for row in self.sql("MAINTAIN FACT sales_all"):
                    self.trace.add(row)
            case Restart():
                self.connection.close()
                self.connection = self._open()
            case LoseFiles():
                for file in self.files[step.day]:
                    self.trace.add(f"rm {file}")
                    file.unlink()

    def _files(self) -> set[Path]:
        return set((self.folder / "warehouse").glob("events-*/**/*.parquet"))

    def _deliver(self, step: Late | Reload, connection: rewriter.Connection) -> None:
        if isinstance(step, Late):
            self.sql(f"INSERT INTO events VALUES {self._rows(step.events)}", connection)
            return
        hour = datetime.fromisoformat(step.start)
        while hour < datetime.fromisoformat(step.end):
            name = f"{hour:%Y-%m-%d-%H}"
            events = [event for event in step.events if _hour(event) == name]
            source = f"VALUES {self._rows(events, partition=False)}" if events else _NO_ROWS
            self.sql(f"INSERT OVERWRITE events PARTITION (h = '{name}') {source}", connection)
            hour += timedelta(hours=1)

    def _append(self, step: Batch) -> None:
        columns = {
            "id": [event.id for event in step.events],
            "ts": [datetime.fromisoformat(event.at) for event in step.events],
            "item": [event.item for event in step.events],
            "user_id": [event.user for event in step.events],
            "amount": [event.amount for event in step.events],
            "h": [_hour(event) for event in step.events],
        }
        self.trace.add(f"append('events', {columns}, batch_id='batch-{step.number}')")
        self.connection.append("events", pa.table(columns), batch_id=f"batch-{step.number}")

    def _refresh_beside(self, written: Late | Reload) -> None:
        """Refreshes. When the first rollup is computed, and not committed, another connection writes."""
        write, other = DuckDBEngine.write, self._open()

        def written_beside(engine: DuckDBEngine, *arguments: Any) -> Any:
            files = write(engine, *arguments)
            DuckDBEngine.write = write  # type: ignore[method-assign]
            self.trace.add("-- by another connection, before the refresh commits:")
            self._deliver(written, other)
            return files

        DuckDBEngine.write = written_beside  # type: ignore[assignment, method-assign]
        try:
            self.sql("REFRESH FACT sales_all")
        finally:
            DuckDBEngine.write = write  # type: ignore[method-assign]
            other.close()

    def ask(self, question: Question) -> list[Row]:
        zone = "" if self.scenario.zone == "UTC" else "Z"
        chosen = ", ".join(f"{MEASURES[name]} AS {name}" for name in question.measures)
        where = f"ts >= '{question.start}{zone}' AND ts < '{question.end}{zone}'"
        if question.by is None:
            rows = self.sql(f"SELECT {chosen} FROM sales WHERE {where}")
        else:
            names = {"item": "item", "amount": "price"}
            key = names.get(question.by) or f"date_trunc('{question.by}', {self._clock(question)})"
            shown = f"to_date({key})" if question.by in ("day", "week", "month") else key
            rows = self.sql(f"SELECT {shown} AS grouped, {chosen} FROM sales WHERE {where} GROUP BY {shown}")
        return tidy(rows, question.by)

    def _clock(self, question: Question) -> str:
        return "ts" if question.zone == self.scenario.zone else f"from_utc_timestamp(ts, '{question.zone}')"

    def _rows(self, events: Sequence[Event], partition: bool = True) -> str:
        return ", ".join(self._row(event, partition) for event in events)

    def _row(self, event: Event, partition: bool) -> str:
        item = "NULL" if event.item is None else f"'{event.item}'"
        amount = "NULL" if event.amount is None else f"CAST('{event.amount!r}' AS DOUBLE)"
        channel = ", 'web'" if self.columns.channel else ""
        hour = f", '{_hour(event)}'" if partition else ""
        return f"({event.id}, TIMESTAMP '{event.at}', {item}, {event.user}, {amount}{channel}{hour})"

    def close(self) -> None:
        self.connection.close()


_NO_ROWS = (
    "SELECT CAST(NULL AS BIGINT), CAST(NULL AS TIMESTAMP), CAST(NULL AS STRING), CAST(NULL AS BIGINT),"
    " CAST(NULL AS DOUBLE) WHERE false"
)


def _hour(event: Event) -> str:
    return f"{event.at[:10]}-{event.at[11:13]}"


ADAPTERS = (Cube,)

if __name__ == "__main__":
    serve(ADAPTERS)
