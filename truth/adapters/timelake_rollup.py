"""Timelake: a time-series table with a rollup by day, asked over ``time_bucket`` so that the rollup is used."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import timelake

from truth.adapters.base import Adapter, NotExpressibleError, Trace, needs_events, serve, tidy, whole_days
from truth.adapters.sql import OVER_EVENTS
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

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("item", pa.string()),
        ("user_id", pa.int64()),
        ("amount", pa.float64()),
    ]
)
STORED = """count(*) AS events, count(amount) AS counted, sum(amount) AS amount, min(amount) AS least,
  max(amount) AS most"""
ROLLUP = f"""CREATE MATERIALIZED ROLLUP shop.days AS
SELECT item, time_bucket(INTERVAL '1 day', ts) AS bucket, {STORED}
FROM shop.events GROUP BY item, bucket WITH (refresh_interval = 'off')"""
OVER_BUCKETS = {
    "events": "COALESCE(SUM(events), 0)",
    "counted": "COALESCE(SUM(counted), 0)",
    "amount": "SUM(amount)",
    "average": "SUM(amount) / SUM(counted)",
    "least": "MIN(least)",
    "most": "MAX(most)",
}


class Rollup(Adapter):
    """The rollup is refreshed by ``maintain``. Corrections replace the rows of the same item, id and time."""

    column = "Timelake, rollup"
    page = "https://docs.rs/crate/timelake/0.7.0/source/src/rollup.rs"
    refusals = (RuntimeError, ValueError, OSError)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.lake = timelake.Lake(str(folder / "lake"))
        trace.add("create_table('shop.events', time_column='ts', series_key=['item', 'id'], chunk='day', dedup=True)")
        self.lake.create_table("shop.events", SCHEMA, "ts", ["item", "id"], chunk="day", dedup=True)
        self.made = False

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        table = self.lake.sql(text)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late():
                self._append(step.events)
            case Reload():
                if any(
                    step.start <= event.at < step.end and not _kept(event, step)
                    for event in _earlier(self.scenario, step)
                ):
                    raise NotExpressibleError(
                        "no statement deletes rows; a row is replaced by one of the same key and time"
                    )
                self._append(step.events)
            case Batch():
                self._append(step.events, f"batch-{step.number}")
            case RefreshBeside():
                raise NotExpressibleError("maintain() is one call: nothing can be written at a certain moment of it")
            case Widen() | Rename() | AddColumn():
                raise NotExpressibleError("no call or statement changes the columns of a table")
            case Refresh():
                if not self.made:
                    self.sql(ROLLUP)
                    self.made = True
                self.trace.add(f"maintain() -> {self.lake.table('shop.events').maintain(retention=False)}")
            case Retain():
                raise NotExpressibleError(
                    "retention counts from the machine's clock, and drops raw rows and rollups by age"
                )
            case Restart():
                self.lake = timelake.Lake(str(self.folder / "lake"))
            case LoseFiles():
                for file in (self.folder / "lake").glob(f"shop/events/data/ts_day={step.day}/*"):
                    self.trace.add(f"rm {file}")
                    file.unlink()

    def _append(self, events: tuple[Event, ...], batch_id: str | None = None) -> None:
        if events:
            rows = [(e.id, datetime.fromisoformat(e.at).replace(tzinfo=UTC), e.item, e.user, e.amount) for e in events]
            self.trace.add(f"append({rows}{f', batch_id={batch_id!r}' if batch_id else ''})")
            table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)
            self.lake.table("shop.events").append(table, batch_id=batch_id)

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered:
            raise NotExpressibleError("a table has no record of which hours were written")
        if question.zone != "UTC" and question.by is not None:
            raise NotExpressibleError("time_bucket of a rollup has a fixed width, and no zone")
        where = f"ts >= TIMESTAMP '{question.start}' AND ts < TIMESTAMP '{question.end}'"
        table, time, measures = f"shop.events WHERE {where}", "ts", OVER_EVENTS
        if whole_days(question) and not needs_events(question):
            selected = f"SELECT item, time_bucket(INTERVAL '1 day', ts) AS bucket, {STORED}"
            buckets = f"{selected}\nFROM {table} GROUP BY item, bucket"
            table, time, measures = f"({buckets}) AS buckets", "bucket", OVER_BUCKETS
        chosen = ", ".join(f"{measures[name]} AS {name}" for name in question.measures)
        if question.by is None:
            return tidy(self.sql(f"SELECT {chosen} FROM {table}"), None)
        key = question.by if question.by in ("item", "amount") else f"date_trunc('{question.by}', {time})"
        return tidy(self.sql(f"SELECT {key} AS grouped, {chosen} FROM {table} GROUP BY {key}"), question.by)


def _earlier(scenario: Scenario, reload: Reload) -> list[Event]:
    before = scenario.steps[: scenario.steps.index(reload)]
    return [event for step in before if isinstance(step, (Load, Late, Batch)) for event in step.events]


def _kept(event: Event, reload: Reload) -> bool:
    return any((event.item, event.id, event.at) == (new.item, new.id, new.at) for new in reload.events)


ADAPTERS = (Rollup,)

if __name__ == "__main__":
    serve(ADAPTERS)
