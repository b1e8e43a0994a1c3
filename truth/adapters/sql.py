"""The question as SQL over events, and over a daily rollup that a person keeps, for DuckDB and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

from truth.adapters.base import values_sql, whole_days
from truth.model import Late, Load, Question, Reload, Scenario

OVER_EVENTS = {
    "events": "COUNT(*)",
    "counted": "COUNT(amount)",
    "amount": "SUM(amount)",
    "average": "AVG(amount)",
    "least": "MIN(amount)",
    "most": "MAX(amount)",
    "users": "COUNT(DISTINCT user_id)",
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


def loading_statements(step: Load | Late | Reload) -> Iterator[str]:
    """Yields the statements that bring the events of a delivery into the table ``events``."""
    if isinstance(step, Reload):
        yield f"DELETE FROM events WHERE ts >= TIMESTAMP '{step.start}' AND ts < TIMESTAMP '{step.end}'"
    if step.events:
        yield f"INSERT INTO events VALUES {values_sql(step.events)}"


def local(column: str, zone: str) -> str:
    """Returns a time of UTC on the clocks of a zone."""
    return column if zone == "UTC" else f"({column} AT TIME ZONE 'UTC' AT TIME ZONE '{zone}')"


def day_of(column: str, zone: str) -> str:
    """Returns the day of a time of UTC in a zone."""
    return f"CAST({local(column, zone)} AS DATE)"


def days_query(zone: str, where: str = "") -> str:
    """Returns the query of the daily rollup."""
    day = day_of("ts", zone)
    return f"SELECT {day} AS day, item, {DAY_MEASURES}\nFROM events {where}\nGROUP BY {day}, item"


def over_events(question: Question) -> str:
    """Returns the question over the table ``events``."""
    range_ = f"ts >= TIMESTAMP '{question.start}' AND ts < TIMESTAMP '{question.end}'"
    key = "item" if question.by == "item" else f"date_trunc('{question.by}', {local('ts', question.zone)})"
    return _grouped(question, "events", range_, key, OVER_EVENTS)


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


def by_hand(question: Question, scenario: Scenario) -> str:
    """Returns the SQL that a careful person writes: over days where the question is of whole days, else over events."""
    if "users" in question.measures or question.by == "hour":
        return over_events(question)
    if scenario.zone == question.zone == "UTC" and whole_days(question):
        return over_days(question)
    if scenario.zone == question.zone != "UTC" and question.by in ("day", "week", "month"):
        return over_zone_days(question)
    return over_events(question)


def _grouped(question: Question, table: str, where: str, key: str, measures: dict[str, str]) -> str:
    chosen = ", ".join(f"{measures[name]} AS {name}" for name in question.measures)
    if question.by is None:
        return f"SELECT {chosen} FROM {table} WHERE {where}"
    return f"SELECT {key} AS grouped, {chosen} FROM {table} WHERE {where} GROUP BY {key}"
