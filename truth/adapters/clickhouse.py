"""ClickHouse by ``chdb``: an incremental materialized view, a refreshable one, and a projection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import assert_never

from chdb.session import Session

from truth.adapters.base import FINE_GROUPS, Adapter, NotExpressibleError, Trace, needs_events, serve, tidy, whole_days
from truth.adapters.sql import Columns
from truth.model import (
    AddColumn,
    Batch,
    ColumnChange,
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

OVER_EVENTS = {
    "events": "count()",
    "counted": "count(amount)",
    "amount": "sum(amount)",
    "average": "avg(amount)",
    "least": "min(amount)",
    "most": "max(amount)",
    "users": "uniqExact(user_id)",
    "amounts": "uniqExact(amount)",
}
OVER_STATES = {
    "events": "countMerge(events)",
    "counted": "countMerge(counted)",
    "amount": "sumMerge(amount)",
    "average": "avgMerge(average)",
    "least": "minMerge(least)",
    "most": "maxMerge(most)",
    "users": "uniqExactMerge(users)",
    "amounts": "uniqExactMerge(amounts)",
}
#: Rows of a view that is made again: sums and counts of a day.
OVER_DAYS = {
    "events": "sum(events)",
    "counted": "sum(counted)",
    "amount": "sum(amount)",
    "average": "sum(amount) / sum(counted)",
    "least": "min(least)",
    "most": "max(most)",
}
STATES = """countState() AS events, countState(e.amount) AS counted, sumState(e.amount) AS amount,
  avgState(e.amount) AS average, minState(e.amount) AS least, maxState(e.amount) AS most,
  uniqExactState(e.user_id) AS users, uniqExactState(e.amount) AS amounts"""
FINAL = """count() AS events, count(amount) AS counted, sum(amount) AS amount, avg(amount) AS average,
  min(amount) AS least, max(amount) AS most, uniqExact(user_id) AS users"""
SUMS = """count() AS events, count(e.amount) AS counted, sum(e.amount) AS amount, min(e.amount) AS least,
  max(e.amount) AS most"""
DAYS = """CREATE TABLE days (day Date, item Nullable(String), events AggregateFunction(count),
  counted AggregateFunction(count, Nullable({number})), amount AggregateFunction(sum, Nullable({number})),
  average AggregateFunction(avg, Nullable({number})), least AggregateFunction(min, Nullable({number})),
  most AggregateFunction(max, Nullable({number})), users AggregateFunction(uniqExact, Int64),
  amounts AggregateFunction(uniqExact, Nullable({number})))
  ENGINE = AggregatingMergeTree ORDER BY (day, item)
  SETTINGS allow_nullable_key = 1, non_replicated_deduplication_window = 100"""
EVENTS = """CREATE TABLE events (id Int64, ts DateTime64(6, 'UTC'), item Nullable(String), user_id Int64,
  amount Nullable({number}){projection}) ENGINE = MergeTree ORDER BY ts
  SETTINGS non_replicated_deduplication_window = 100"""


class IncrementalView(Adapter):
    """A materialized view into an AggregatingMergeTree by day. Each INSERT updates it; no job refreshes it.

    A batch of a stream has a deduplication token, which the view inherits.
    """

    column = "ClickHouse (chdb), incremental materialized view"
    page = "https://clickhouse.com/docs/concepts/features/projections/materialized-views-versus-projections"
    refusals = (RuntimeError,)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.session = Session(str(folder / "chdb"))
        self.columns = Columns()
        self.number = "Float32" if scenario.starts_narrow else "Float64"
        self.sql("CREATE DATABASE truth ENGINE = Atomic")
        self.sql("USE truth")
        self.create()

    def create(self) -> None:
        """Creates the events and the rollup."""
        self.sql(EVENTS.format(projection="", number=self.number))
        self.sql(DAYS.format(number=self.number))
        self.sql(f"CREATE MATERIALIZED VIEW days_view TO days AS {self.days(STATES)}")

    def refresh(self) -> None:
        """Brings the rollup up to date, if that needs a job."""

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        found = str(
            self.session.query(f"{text}\nSETTINGS output_format_json_quote_denormals = 1", "JSONCompact")
            if text.startswith("SELECT")
            else self.session.query(text, "JSONCompact")
        )
        if not found.strip():
            return []
        answer = json.loads(found)
        numeric = [
            not column["type"].endswith(("String", "String)")) and "Date" not in column["type"]
            for column in answer["meta"]
        ]
        return [
            tuple(
                float(value) if number and isinstance(value, str) else value
                for value, number in zip(row, numeric, strict=True)
            )
            for row in answer["data"]
        ]

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late():
                self._insert(step.events)
            case Reload():
                self.sql(f"DELETE FROM events WHERE ts >= {_time(step.start)} AND ts < {_time(step.end)}")
                self._insert(step.events)
            case Batch():
                token = f"insert_deduplication_token = 'batch-{step.number}'"
                self._insert(step.events, f" SETTINGS {token}, deduplicate_blocks_in_dependent_materialized_views = 1")
            case Refresh():
                self.refresh()
            case RefreshBeside():
                self.refresh_beside(step)
            case Widen() | Rename() | AddColumn():
                self.columns = self.columns.after(step)
                self.change(step)
            case Retain():
                self.sql(f"DELETE FROM events WHERE ts < {_time(step.now)} - INTERVAL {step.days} DAY")
            case Restart():
                self.session.close()
                self.session = Session(str(self.folder / "chdb"))
                self.sql("USE truth")
            case LoseFiles():
                raise NotExpressibleError("a part of a table does not belong to a day")

    def _insert(self, events: tuple[Event, ...], settings: str = "") -> None:
        if events:
            channel = ", 'web'" if self.columns.channel else ""
            self.sql(f"INSERT INTO events{settings} VALUES {_rows(events, channel)}")

    def refresh_beside(self, step: RefreshBeside) -> None:
        """Writes beside a refresh. There is none here: each INSERT brings the rollup up to date."""
        self.run(step.written)

    def change(self, step: ColumnChange) -> None:
        """Changes the events' columns, and the query of the view, which names the item."""
        self.sql(_altering(step))
        if isinstance(step, Rename):
            self.sql(f"ALTER TABLE days_view MODIFY QUERY {self.days(STATES)}")

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        return tidy(self.sql(self.text(question)), question.by)

    def text(self, question: Question) -> str:
        """Returns the question over the states by day where the range is whole days, else over events."""
        if self._fits(question):
            return _grouped(
                question,
                "days",
                "day",
                f"toDate('{question.start[:10]}')",
                f"toDate('{question.end[:10]}')",
                OVER_STATES,
            )
        return self.over_events(question)

    def _fits(self, question: Question) -> bool:
        utc = self.scenario.zone == question.zone == "UTC"
        return utc and whole_days(question) and question.by not in FINE_GROUPS

    def days(self, measures: str) -> str:
        """Returns the query of the rollup."""
        day = f"toDate(e.ts, '{self.scenario.zone}')"
        return f"SELECT {day} AS day, e.{self.columns.item} AS item, {measures} FROM events AS e GROUP BY day, item"

    def over_events(self, question: Question) -> str:
        """Returns the question over the events."""
        start, end = _time(question.start), _time(question.end)
        return _grouped(question, "events", "ts", start, end, OVER_EVENTS, self.columns.item)

    def close(self) -> None:
        self.session.close()


class RefreshableView(IncrementalView):
    """A materialized view by day that a job makes again as a whole."""

    column = "ClickHouse (chdb), refreshable materialized view"
    page = "https://clickhouse.com/docs/concepts/features/materialized-views/refreshable-materialized-view"

    def create(self) -> None:
        self.sql(EVENTS.format(projection="", number=self.number))
        engine = "ENGINE = MergeTree ORDER BY day"
        self.sql(f"CREATE MATERIALIZED VIEW days REFRESH AFTER 10 YEAR {engine} EMPTY AS {self.days(SUMS)}")

    def refresh(self) -> None:
        self.sql("SYSTEM REFRESH VIEW days")
        self.sql("SYSTEM WAIT VIEW days")

    def refresh_beside(self, step: RefreshBeside) -> None:
        raise NotExpressibleError("a refresh is one statement: nothing can be written at a certain moment of it")

    def change(self, step: ColumnChange) -> None:
        self.sql(_altering(step))
        if isinstance(step, Rename):
            self.sql(f"ALTER TABLE days MODIFY QUERY {self.days(SUMS)}")

    def text(self, question: Question) -> str:
        if self._fits(question) and not needs_events(question):
            start, end = (f"toDate('{bound[:10]}')" for bound in (question.start, question.end))
            return _grouped(question, "days", "day", start, end, OVER_DAYS)
        return self.over_events(question)


class Projection(IncrementalView):
    """A projection of the events by day. ClickHouse reads it where a query fits."""

    column = "ClickHouse (chdb), projection"
    page = "https://clickhouse.com/docs/concepts/features/projections/materialized-views-versus-projections"

    def create(self) -> None:
        kept = ", lightweight_mutation_projection_mode = 'rebuild'"
        self.sql(f"{EVENTS.format(projection=f', {self._projection()}', number=self.number)}{kept}")

    def _projection(self) -> str:
        stored, item = FINAL.replace(" AS ", " AS p_"), self.columns.item
        day = f"SELECT toStartOfDay(ts), {item}, {stored} GROUP BY toStartOfDay(ts), {item}"
        return f"PROJECTION days ({day})"

    def change(self, step: ColumnChange) -> None:
        """Changes the events' columns. A projection that names a changed one is made again."""
        if isinstance(step, AddColumn):
            self.sql(_altering(step))
            return
        self.sql("ALTER TABLE events DROP PROJECTION days SETTINGS mutations_sync = 1")
        self.sql(_altering(step))
        self.sql(f"ALTER TABLE events ADD {self._projection()}")
        self.sql("ALTER TABLE events MATERIALIZE PROJECTION days SETTINGS mutations_sync = 1")

    def text(self, question: Question) -> str:
        if self._fits(question):
            start, end = _time(question.start), _time(question.end)
            return _grouped(question, "events", "toStartOfDay(ts)", start, end, OVER_EVENTS, self.columns.item)
        return self.over_events(question)


ADAPTERS = (IncrementalView, RefreshableView, Projection)


def _time(text: str) -> str:
    return f"toDateTime64('{text}', 6, 'UTC')"


def _rows(events: tuple[Event, ...], channel: str) -> str:
    return ", ".join(
        f"({event.id}, {_time(event.at)}, {_text(event.item)}, {event.user}, {_number(event.amount)}{channel})"
        for event in events
    )


def _altering(change: ColumnChange) -> str:
    match change:
        case Widen():
            return "ALTER TABLE events MODIFY COLUMN amount Nullable(Float64)"
        case Rename():
            return "ALTER TABLE events RENAME COLUMN item TO product"
        case AddColumn():
            return "ALTER TABLE events ADD COLUMN channel Nullable(String)"
    assert_never(change)


def _text(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def _number(value: float | None) -> str:
    return "NULL" if value is None else f"toFloat64('{value!r}')"


def _grouped(
    question: Question, table: str, time: str, start: str, end: str, measures: dict[str, str], item: str = "item"
) -> str:
    chosen = ", ".join(f"{measures[name]} AS m_{name}" for name in question.measures)
    where = f"{time} >= {start} AND {time} < {end}"
    if question.by is None:
        return f"SELECT {chosen} FROM {table} WHERE {where}"
    zoned = time if question.zone == "UTC" else f"toTimeZone({time}, '{question.zone}')"
    if question.by in ("item", "amount"):
        key = item if question.by == "item" else "amount"
    else:
        key = f"toString(date_trunc('{question.by}', {zoned}))"
    return f"SELECT {key} AS grouped, {chosen} FROM {table} WHERE {where} GROUP BY grouped"


if __name__ == "__main__":
    serve(ADAPTERS)
