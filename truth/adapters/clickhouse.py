"""ClickHouse by ``chdb``: an incremental materialized view, a refreshable one, and a projection."""

from __future__ import annotations

import json
from pathlib import Path

from chdb.session import Session

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy, whole_days
from truth.model import Event, Late, Load, LoseFiles, Question, Refresh, Reload, Restart, Retain, Row, Scenario, Step

OVER_EVENTS = {
    "events": "count()",
    "counted": "count(amount)",
    "amount": "sum(amount)",
    "average": "avg(amount)",
    "least": "min(amount)",
    "most": "max(amount)",
    "users": "uniqExact(user_id)",
}
OVER_STATES = {
    "events": "countMerge(events)",
    "counted": "countMerge(counted)",
    "amount": "sumMerge(amount)",
    "average": "avgMerge(average)",
    "least": "minMerge(least)",
    "most": "maxMerge(most)",
    "users": "uniqExactMerge(users)",
}
STATES = """countState() AS events, countState(e.amount) AS counted, sumState(e.amount) AS amount,
  avgState(e.amount) AS average, minState(e.amount) AS least, maxState(e.amount) AS most,
  uniqExactState(e.user_id) AS users"""
FINAL = """count() AS events, count(amount) AS counted, sum(amount) AS amount, avg(amount) AS average,
  min(amount) AS least, max(amount) AS most, uniqExact(user_id) AS users"""
DAYS = """CREATE TABLE days (day Date, item Nullable(String), events AggregateFunction(count),
  counted AggregateFunction(count, Nullable(Float64)), amount AggregateFunction(sum, Nullable(Float64)),
  average AggregateFunction(avg, Nullable(Float64)), least AggregateFunction(min, Nullable(Float64)),
  most AggregateFunction(max, Nullable(Float64)), users AggregateFunction(uniqExact, Int64))
  ENGINE = AggregatingMergeTree ORDER BY (day, item) SETTINGS allow_nullable_key = 1"""
EVENTS = """CREATE TABLE events (id Int64, ts DateTime64(6, 'UTC'), item Nullable(String), user_id Int64,
  amount Nullable(Float64){projection}) ENGINE = MergeTree ORDER BY ts"""


class IncrementalView(Adapter):
    """A materialized view into an AggregatingMergeTree by day. It is updated by each INSERT; no job refreshes it."""

    column = "ClickHouse (chdb), incremental materialized view"
    page = "https://clickhouse.com/docs/concepts/features/projections/materialized-views-versus-projections"
    refusals = (RuntimeError,)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.session = Session(str(folder / "chdb"))
        self.sql("CREATE DATABASE truth ENGINE = Atomic")
        self.sql("USE truth")
        self.create()

    def create(self) -> None:
        """Creates the events and the rollup."""
        self.sql(EVENTS.format(projection=""))
        self.sql(DAYS)
        self.sql(f"CREATE MATERIALIZED VIEW days_view TO days AS {self._days()}")

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
                if step.events:
                    self.sql(f"INSERT INTO events VALUES {_rows(step.events)}")
            case Reload():
                self.sql(f"DELETE FROM events WHERE ts >= {_time(step.start)} AND ts < {_time(step.end)}")
                if step.events:
                    self.sql(f"INSERT INTO events VALUES {_rows(step.events)}")
            case Refresh():
                self.refresh()
            case Retain():
                self.sql(f"DELETE FROM events WHERE ts < {_time(step.now)} - INTERVAL {step.days} DAY")
            case Restart():
                self.session.close()
                self.session = Session(str(self.folder / "chdb"))
                self.sql("USE truth")
            case LoseFiles():
                raise NotExpressibleError("a part of a table does not belong to a day")

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
        return _over_events(question)

    def _fits(self, question: Question) -> bool:
        utc = self.scenario.zone == question.zone == "UTC"
        return utc and whole_days(question) and question.by != "hour"

    def _days(self) -> str:
        day = f"toDate(e.ts, '{self.scenario.zone}')"
        return f"SELECT {day} AS day, e.item AS item, {STATES} FROM events AS e GROUP BY day, item"

    def close(self) -> None:
        self.session.close()


class Projection(IncrementalView):
    """A projection of the events by day. ClickHouse reads it where a query fits."""

    column = "ClickHouse (chdb), projection"
    page = "https://clickhouse.com/docs/concepts/features/projections/materialized-views-versus-projections"

    def create(self) -> None:
        stored = FINAL.replace(" AS ", " AS p_")
        day = f"SELECT toStartOfDay(ts), item, {stored} GROUP BY toStartOfDay(ts), item"
        kept = "SETTINGS lightweight_mutation_projection_mode = 'rebuild'"
        self.sql(f"{EVENTS.format(projection=f', PROJECTION days ({day})')} {kept}")

    def text(self, question: Question) -> str:
        if self._fits(question):
            start, end = _time(question.start), _time(question.end)
            return _grouped(question, "events", "toStartOfDay(ts)", start, end, OVER_EVENTS)
        return _over_events(question)


ADAPTERS = (IncrementalView, Projection)


def _time(text: str) -> str:
    return f"toDateTime64('{text}', 6, 'UTC')"


def _rows(events: tuple[Event, ...]) -> str:
    return ", ".join(
        f"({event.id}, {_time(event.at)}, {_text(event.item)}, {event.user}, {_number(event.amount)})"
        for event in events
    )


def _text(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def _number(value: float | None) -> str:
    return "NULL" if value is None else f"toFloat64('{value!r}')"


def _over_events(question: Question) -> str:
    return _grouped(question, "events", "ts", _time(question.start), _time(question.end), OVER_EVENTS)


def _grouped(question: Question, table: str, time: str, start: str, end: str, measures: dict[str, str]) -> str:
    chosen = ", ".join(f"{measures[name]} AS m_{name}" for name in question.measures)
    where = f"{time} >= {start} AND {time} < {end}"
    if question.by is None:
        return f"SELECT {chosen} FROM {table} WHERE {where}"
    zoned = time if question.zone == "UTC" else f"toTimeZone({time}, '{question.zone}')"
    key = "item" if question.by == "item" else f"toString(date_trunc('{question.by}', {zoned}))"
    return f"SELECT {key} AS grouped, {chosen} FROM {table} WHERE {where} GROUP BY grouped"


if __name__ == "__main__":
    serve(ADAPTERS)
