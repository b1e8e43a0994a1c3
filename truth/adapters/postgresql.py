"""PostgreSQL by ``pgserver``: a materialized view, and a rollup table that a job upserts."""

from __future__ import annotations

import atexit
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pgserver
import psycopg

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy
from truth.adapters.sql import (
    DAY_MEASURES,
    Columns,
    altering_statement,
    amount_type,
    by_hand,
    creating_statements,
    day_of,
    days_query,
    loading_statements,
)
from truth.model import (
    AddColumn,
    Batch,
    ColumnChange,
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

_SERVER = pgserver.get_server(tempfile.mkdtemp(prefix="truth-pg-"))
atexit.register(_SERVER.cleanup)


class MaterializedView(Adapter):
    """A materialized view by day. A dashboard reads it for whole days, and the events otherwise."""

    column = "PostgreSQL, materialized view"
    page = "https://www.postgresql.org/docs/16/rules-materializedviews.html"
    refusals = (psycopg.Error,)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.connection = psycopg.connect(_SERVER.get_uri(), autocommit=True)
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("DROP TABLE IF EXISTS events CASCADE")
        self.connection.execute("DROP TABLE IF EXISTS days, batches")
        self.columns = Columns()
        for statement in creating_statements(scenario):
            self.sql(statement)
        self.create()

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        cursor = self.connection.execute(text)
        return list(cursor.fetchall()) if cursor.description else []

    def create(self) -> None:
        """Creates the rollup, which is empty."""
        self.sql(f"CREATE MATERIALIZED VIEW days AS {days_query(self.scenario.zone, self.columns)}\nWITH NO DATA")

    def refresh(self, now: str) -> None:
        """Brings the rollup up to date."""
        self.sql("REFRESH MATERIALIZED VIEW days")

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late() | Reload() | Batch():
                for statement in loading_statements(step, self.columns):
                    self.sql(statement)
            case Refresh():
                self.refresh(step.now)
            case RefreshBeside():
                self.sql("BEGIN")
                self.refresh(step.now)
                with psycopg.connect(_SERVER.get_uri(), autocommit=True) as other:
                    for statement in loading_statements(step.written, self.columns):
                        self.trace.add(f"-- by another connection: {statement}")
                        other.execute(statement)
                self.sql("COMMIT")
            case Widen() | Rename() | AddColumn():
                self.change(step)
                self.columns = self.columns.after(step)
            case Retain():
                self.sql(f"DELETE FROM events WHERE ts < TIMESTAMP '{step.now}' - INTERVAL '{step.days} days'")
            case Restart():
                self.connection.close()
                self.connection = psycopg.connect(_SERVER.get_uri(), autocommit=True)
                self.connection.execute("SET TimeZone = 'UTC'")
            case LoseFiles():
                raise NotExpressibleError("a table's files do not belong to days")

    def change(self, step: ColumnChange) -> None:
        """Changes the events' columns. A view on a column has to be created again to change its type."""
        if isinstance(step, Widen):
            self.sql("DROP MATERIALIZED VIEW days")
        self.sql(altering_statement(step))
        if isinstance(step, Widen):
            self.create()

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        return tidy(self.sql(by_hand(question, self.scenario, self.columns)), question.by)

    def close(self) -> None:
        self.connection.close()


class Upserted(MaterializedView):
    """A job upserts the days from the day before yesterday on."""

    column = "PostgreSQL, upsert of 3 days"
    page = "https://www.postgresql.org/docs/16/sql-insert.html"

    def create(self) -> None:
        number = amount_type(self.scenario)
        self.sql(
            f"CREATE TABLE days (day DATE, item TEXT, events BIGINT, counted BIGINT, amount {number},"
            f" least {number}, most {number}, UNIQUE NULLS NOT DISTINCT (day, item))"
        )

    def change(self, step: ColumnChange) -> None:
        self.sql(altering_statement(step))

    def refresh(self, now: str) -> None:
        known = self.sql("SELECT MAX(day) FROM days")[0][0]
        since = (datetime.fromisoformat(now) - timedelta(days=2)).date()
        since = since if known is None or since < known else known
        where = f"WHERE {day_of('ts', self.scenario.zone)} >= DATE '{since}'" if known is not None else ""
        names = [part.split(" AS ")[1] for part in DAY_MEASURES.split(",")]
        changes = ", ".join(f"{name.strip()} = excluded.{name.strip()}" for name in names)
        days = days_query(self.scenario.zone, self.columns, where)
        self.sql(f"INSERT INTO days {days}\nON CONFLICT (day, item) DO UPDATE SET {changes}")


ADAPTERS = (MaterializedView, Upserted)

if __name__ == "__main__":
    serve(ADAPTERS)
