"""Events, and the question over events and over a daily rollup that a person keeps, as SQL of DuckDB and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from truth.adapters.base import needs_events, whole_days
from truth.model import AddColumn, Batch, ColumnChange, Delivery, Event, Question, Reload, Rename, Scenario, Widen

OVER_EVENTS = {
    "events": "COUNT(*)",
    "counted": "COUNT(amount)",
    "amount": "SUM(amount)",
    "average": "AVG(amount)",
    "least": "MIN(amount)",
    "most": "MAX(amount)",
    "users": "COUNT(DISTINCT user_id)",
    "amounts": "COUNT(DISTINCT amount)",
}
#: The rollup keeps sums and counts, so that averages stay exact; it has no set of users.
OVER_DAYS = {
    "events": "COALESCE(SUM(events), 0)",
    "counted": "COALESCE(SUM(counted), 0)",
    "amount": "SUM(amount)",
    "average": "SUM(amount) / NULLIF(SUM(counted), 0)",
    "least": "MIN(least)",
    "most": "MAX(most)",
}
DAY_MEASURES = """COUNT(*) AS events, COUNT(amount) AS counted, SUM(amount) AS amount,
  MIN(amount) AS least, MAX(amount) AS most"""


@dataclass(frozen=True)
class Columns:
    """The columns of ``events`` that a scenario changes, as they are now."""

    item: str = "item"
    channel: bool = False

    def after(self, change: ColumnChange) -> Columns:
        """Returns the columns after a change."""
        match change:
            case Widen():
                return self
            case Rename():
                return replace(self, item="product")
            case AddColumn():
                return replace(self, channel=True)
        assert_never(change)

    @property
    def named_item(self) -> str:
        """Returns the item as an item of a SELECT."""
        return self.item if self.item == "item" else f"{self.item} AS item"

    def values(self, events: Iterable[Event]) -> str:
        """Returns events as rows of VALUES. The texts are those of the scenarios, which hold no quotes."""
        channel = ", 'web'" if self.channel else ""
        return ", ".join(
            f"({event.id}, TIMESTAMP '{event.at}', {text_sql(event.item)}, {event.user}, {number_sql(event.amount)}"
            f"{channel})"
            for event in events
        )


def creating_statements(scenario: Scenario, schema: str = "") -> Iterator[str]:
    """Yields the statements that create the events, and the list of a stream's batches that were written."""
    amount = amount_type(scenario)
    yield f"CREATE TABLE {schema}events (id BIGINT, ts TIMESTAMP, item TEXT, user_id BIGINT, amount {amount})"
    if scenario.has_stream:
        yield f"CREATE TABLE {schema}batches (number BIGINT PRIMARY KEY)"


def amount_type(scenario: Scenario) -> str:
    """Returns the type of ``amount`` at the start."""
    return "REAL" if scenario.starts_narrow else "DOUBLE PRECISION"


def loading_statements(step: Delivery, columns: Columns, schema: str = "") -> list[str]:
    """Returns the statements that bring the events of a delivery into the table; several are one transaction."""
    if isinstance(step, Batch):
        new = f"NOT EXISTS (SELECT 1 FROM {schema}batches WHERE number = {step.number})"
        return [
            "BEGIN",
            f"INSERT INTO {schema}events SELECT * FROM (VALUES {columns.values(step.events)}) AS batch WHERE {new}",
            f"INSERT INTO {schema}batches SELECT {step.number} WHERE {new}",
            "COMMIT",
        ]
    insert = [f"INSERT INTO {schema}events VALUES {columns.values(step.events)}"] if step.events else []
    if isinstance(step, Reload):
        range_ = f"ts >= TIMESTAMP '{step.start}' AND ts < TIMESTAMP '{step.end}'"
        return ["BEGIN", f"DELETE FROM {schema}events WHERE {range_}", *insert, "COMMIT"]
    return insert


def altering_statement(change: ColumnChange, schema: str = "") -> str:
    """Returns the statement that changes the events' columns."""
    match change:
        case Widen():
            return f"ALTER TABLE {schema}events ALTER COLUMN amount TYPE DOUBLE PRECISION"
        case Rename():
            return f"ALTER TABLE {schema}events RENAME COLUMN item TO product"
        case AddColumn():
            return f"ALTER TABLE {schema}events ADD COLUMN channel TEXT"
    assert_never(change)


def local(column: str, zone: str) -> str:
    """Returns a time of UTC on the clocks of a zone."""
    return column if zone == "UTC" else f"({column} AT TIME ZONE 'UTC' AT TIME ZONE '{zone}')"


def day_of(column: str, zone: str) -> str:
    """Returns the day of a time of UTC in a zone."""
    return f"CAST({local(column, zone)} AS DATE)"


def days_query(zone: str, columns: Columns, where: str = "") -> str:
    """Returns the query of the daily rollup."""
    day, item = day_of("ts", zone), columns.item
    return f"SELECT {day} AS day, {columns.named_item}, {DAY_MEASURES}\nFROM events {where}\nGROUP BY {day}, {item}"


def over_events(question: Question, columns: Columns, table: str = "events") -> str:
    """Returns the question over the events."""
    range_ = f"ts >= TIMESTAMP '{question.start}' AND ts < TIMESTAMP '{question.end}'"
    if question.by in ("item", "amount"):
        key = columns.item if question.by == "item" else "amount"
    else:
        key = f"date_trunc('{question.by}', {local('ts', question.zone)})"
    return _grouped(question, table, range_, key, OVER_EVENTS)


def over_days(question: Question, table: str = "days") -> str:
    """Returns the question over the daily rollup, whose column ``day`` is a day of UTC."""
    range_ = f"day >= DATE '{question.start[:10]}' AND day < DATE '{question.end[:10]}'"
    key = "item" if question.by == "item" else f"date_trunc('{question.by}', day)"
    return _grouped(question, table, range_, key, OVER_DAYS)


def over_zone_days(question: Question, table: str = "days") -> str:
    """Returns the question over a daily rollup of the zone's days; the range is whole days there."""
    start, end = (
        f"CAST(TIMESTAMP '{bound}' AT TIME ZONE 'UTC' AT TIME ZONE '{question.zone}' AS DATE)"
        for bound in (question.start, question.end)
    )
    key = "item" if question.by == "item" else f"date_trunc('{question.by}', day)"
    return _grouped(question, table, f"day >= {start} AND day < {end}", key, OVER_DAYS)


def by_hand(question: Question, scenario: Scenario, columns: Columns, schema: str = "") -> str:
    """Returns the SQL that a careful person writes: over days where the question is of whole days, else over events."""
    events, days = f"{schema}events", f"{schema}days"
    if needs_events(question):
        return over_events(question, columns, events)
    if scenario.zone == question.zone == "UTC" and whole_days(question):
        return over_days(question, days)
    if scenario.zone == question.zone != "UTC" and question.by in ("day", "week", "month"):
        return over_zone_days(question, days)
    return over_events(question, columns, events)


def _grouped(question: Question, table: str, where: str, key: str, measures: dict[str, str]) -> str:
    chosen = ", ".join(f"{measures[name]} AS {name}" for name in question.measures)
    if question.by is None:
        return f"SELECT {chosen} FROM {table} WHERE {where}"
    return f"SELECT {key} AS grouped, {chosen} FROM {table} WHERE {where} GROUP BY {key}"


def text_sql(value: str | None) -> str:
    """Returns a literal of a text."""
    return "NULL" if value is None else f"'{value}'"


def number_sql(value: float | None) -> str:
    """Returns a DOUBLE literal, NaN and -0.0 included."""
    return "NULL" if value is None else f"CAST('{value!r}' AS DOUBLE PRECISION)"
