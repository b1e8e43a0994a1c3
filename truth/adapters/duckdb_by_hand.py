"""DuckDB with a daily rollup that a person keeps by SQL."""

from __future__ import annotations

from pathlib import Path

import duckdb

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy
from truth.adapters.sql import (
    Columns,
    altering_statement,
    by_hand,
    creating_statements,
    day_of,
    days_query,
    loading_statements,
    over_events,
)
from truth.model import (
    AddColumn,
    Batch,
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


class EventsOnly(Adapter):
    """No rollup: each question reads the events."""

    column = "DuckDB, events only"
    page = "https://duckdb.org/docs/stable/sql/statements/select"
    refusals = (duckdb.Error,)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.connection = duckdb.connect(str(folder / "db.duckdb"))
        self.columns = Columns()
        for statement in creating_statements(scenario):
            self.sql(statement)

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        return self.connection.execute(text).fetchall()

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late() | Reload() | Batch():
                for statement in loading_statements(step, self.columns):
                    self.sql(statement)
            case Refresh():
                self.refresh()
            case RefreshBeside():
                self.sql("BEGIN")
                self.refresh()
                with self.connection.cursor() as other:
                    for statement in loading_statements(step.written, self.columns):
                        self.trace.add(f"-- by another connection: {statement}")
                        other.execute(statement)
                self.sql("COMMIT")
            case Widen() | Rename() | AddColumn():
                self.sql(altering_statement(step))
                self.columns = self.columns.after(step)
            case Retain():
                self.sql(f"DELETE FROM events WHERE ts < TIMESTAMP '{step.now}' - INTERVAL {step.days} DAY")
            case Restart():
                self.connection.close()
                self.connection = duckdb.connect(str(self.folder / "db.duckdb"))
            case LoseFiles():
                raise NotExpressibleError("all tables are in one database file")

    def refresh(self) -> None:
        """Brings the rollup up to date."""

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        return tidy(self.sql(over_events(question, self.columns)), question.by)

    def close(self) -> None:
        self.connection.close()


class Rebuilt(EventsOnly):
    """The rollup is replaced by each refresh."""

    column = "DuckDB by hand, CREATE OR REPLACE"
    page = "https://duckdb.org/docs/stable/sql/statements/create_table"

    def refresh(self) -> None:
        self.sql(f"CREATE OR REPLACE TABLE days AS {days_query(self.scenario.zone, self.columns)}")

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        return tidy(self.sql(by_hand(question, self.scenario, self.columns)), question.by)


class Appended(Rebuilt):
    """Each refresh adds the days after the last one of the rollup."""

    column = "DuckDB by hand, INSERT after the last day"
    page = "https://duckdb.org/docs/stable/sql/statements/insert"

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.sql(f"CREATE TABLE days AS {days_query(scenario.zone, self.columns, 'WHERE false')}")

    def refresh(self) -> None:
        after = f"WHERE {day_of('ts', self.scenario.zone)} > (SELECT COALESCE(MAX(day), DATE '1970-01-01') FROM days)"
        self.sql(f"INSERT INTO days {days_query(self.scenario.zone, self.columns, after)}")


ADAPTERS = (EventsOnly, Rebuilt, Appended)

if __name__ == "__main__":
    serve(ADAPTERS)
