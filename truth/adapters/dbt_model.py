"""dbt on DuckDB: a model that is a table, an incremental model by day, and a microbatch model."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
from dbt.cli.main import dbtRunner

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy
from truth.adapters.sql import (
    DAY_MEASURES,
    Columns,
    altering_statement,
    by_hand,
    creating_statements,
    day_of,
    loading_statements,
)
from truth.model import (
    AddColumn,
    Batch,
    Delivery,
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

#: ``written`` is what is delivered beside a run: the run executes it when its models have been computed.
PROJECT = """name: shop
version: '1.0.0'
profile: shop
model-paths: [models]
on-run-end: "{{ var('written', '') }}"
"""
PROFILES = "shop: {{target: dev, outputs: {{dev: {{type: duckdb, path: '{path}', threads: 4}}}}}}\n"
SOURCES = """sources:
  - name: raw
    schema: main
    tables: [{name: events, config: {event_time: ts}}]
"""
TABLE = """{{{{ config(materialized='table') }}}}
SELECT {day} AS day, {item}, {measures}
FROM {{{{ source('raw', 'events') }}}}
GROUP BY 1, 2
"""
INCREMENTAL = """{{{{ config(materialized='incremental', incremental_strategy='delete+insert', unique_key='day') }}}}
SELECT {day} AS day, {item}, {measures}
FROM {{{{ source('raw', 'events') }}}}
{{% if is_incremental() %}} WHERE {day} >= (SELECT MAX(day) FROM {{{{ this }}}}) {{% endif %}}
GROUP BY 1, 2
"""
MICROBATCH = """{{{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='day',
  batch_size='day', begin='{begin}'{options}) }}}}
SELECT {day} AS day, {item}, {measures}
FROM {{{{ source('raw', 'events') }}}}
GROUP BY 1, 2
"""


class DbtError(Exception):
    """A run of dbt failed."""


class TableModel(Adapter):
    """A table that each run makes again. It is the materialization with which dbt's guide begins."""

    column = "dbt-duckdb, table"
    page = "https://docs.getdbt.com/docs/build/materializations"
    refusals = (duckdb.Error, DbtError)
    text = TABLE
    batches = False
    lookback = 1
    options = ""
    #: What dbt parsed, by the model's text: the projects of scenarios differ by it and by their database alone.
    parsed: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.begin = min(step.start for step in scenario.steps if isinstance(step, Load))[:10]
        (folder / "models").mkdir()
        (folder / "dbt_project.yml").write_text(PROJECT)
        (folder / "profiles.yml").write_text(PROFILES.format(path=folder / "db.duckdb"))
        (folder / "models" / "sources.yml").write_text(SOURCES)
        self.columns = Columns()
        self._define()
        self.refreshed = False
        for statement in creating_statements(scenario):
            self.sql(statement)

    def _define(self) -> None:
        self.model = self.text.format(
            day=day_of("ts", self.scenario.zone),
            item=self.columns.named_item,
            measures=DAY_MEASURES,
            begin=self.begin,
            options=self.options,
        )
        self.trace.add(self.model)
        (self.folder / "models" / "days.sql").write_text(self.model)

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        return self._sql([text])

    def _sql(self, texts: list[str]) -> list[Row]:
        with duckdb.connect(str(self.folder / "db.duckdb")) as connection:
            rows: list[Row] = []
            for text in texts:
                self.trace.add(text)
                rows = connection.execute(text).fetchall()
            return rows

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late() | Reload() | Batch():
                self._sql(loading_statements(step, self.columns))
            case Refresh():
                self._refresh(date.fromisoformat(step.now[:10]))
            case RefreshBeside():
                self._refresh(date.fromisoformat(step.now[:10]), step.written)
            case Widen() | AddColumn():
                self.sql(altering_statement(step))
                self.columns = self.columns.after(step)
            case Rename():
                self.sql(altering_statement(step))
                self.columns = self.columns.after(step)
                self._define()
            case Retain():
                self.sql(f"DELETE FROM events WHERE ts < TIMESTAMP '{step.now}' - INTERVAL {step.days} DAY")
            case Restart():
                self.trace.add("each run of dbt is a process of its own")
            case LoseFiles():
                raise NotExpressibleError("all tables are in one database file")

    def _refresh(self, today: date, written: Delivery | None = None) -> None:
        arguments = ["run"]
        if self.batches:
            # The batches that `dbt run` makes on that day: all from `begin` on, later the current one and `lookback`.
            first = today - timedelta(days=self.lookback) if self.refreshed else date.fromisoformat(self.begin)
            arguments += ["--event-time-start", str(first), "--event-time-end", str(today + timedelta(days=1))]
        if written:
            # A hook of the end of a run is a transaction of its own.
            statements = [text for text in loading_statements(written, self.columns) if text not in ("BEGIN", "COMMIT")]
            arguments += ["--vars", json.dumps({"written": "; ".join(statements)})]
            self.trace.add("on-run-end, when the models have been computed: {{ var('written') }}")
        self.trace.add(f"dbt {' '.join(arguments)}")
        places = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        options = ["--quiet", "--log-path", str(self.folder / "logs"), "--log-level-file", "none"]
        if self.model not in self.parsed:
            parsed = dbtRunner().invoke([*options, "parse", *places])
            if not parsed.success:
                raise DbtError(str(parsed.exception))
            self.parsed[self.model] = parsed.result
        done = dbtRunner(manifest=self.parsed[self.model]).invoke([*options, *arguments, *places])
        if not done.success:
            raise DbtError(str(done.exception or [result.message for result in done.result]))
        self.refreshed = True

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered and not self.batches:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        if self.batches and self.scenario.zone != "UTC":
            raise NotExpressibleError("batches are days of UTC")
        return tidy(self.sql(by_hand(question, self.scenario, self.columns)), question.by)


class Incremental(TableModel):
    """The newest day of the table and later ones replace their rows, as dbt's guide shows for a count by day."""

    column = "dbt-duckdb, incremental"
    page = "https://docs.getdbt.com/docs/build/incremental-models"
    text = INCREMENTAL


class Microbatch(TableModel):
    """Batches of days. The default ``lookback=1`` runs the day before again."""

    column = "dbt-duckdb, microbatch"
    page = "https://docs.getdbt.com/docs/build/incremental-microbatch"
    text = MICROBATCH
    batches = True


class Lookback(Microbatch):
    """The same with ``lookback=7``, and with the columns' types of the query of each run."""

    column = "dbt-duckdb, microbatch, lookback 7, sync_all_columns"
    lookback = 7
    options = ", lookback=7, on_schema_change='sync_all_columns'"


ADAPTERS = (TableModel, Incremental, Microbatch, Lookback)

if __name__ == "__main__":
    serve(ADAPTERS)
