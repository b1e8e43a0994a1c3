"""dbt on DuckDB: an incremental model by day, and a microbatch model."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import duckdb
from dbt.cli.main import dbtRunner

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy
from truth.adapters.sql import DAY_MEASURES, by_hand, day_of, loading_statements
from truth.model import Late, Load, LoseFiles, Question, Refresh, Reload, Restart, Retain, Row, Scenario, Step

PROJECT = "name: shop\nversion: '1.0.0'\nprofile: shop\nmodel-paths: [models]\n"
PROFILES = "shop: {{target: dev, outputs: {{dev: {{type: duckdb, path: '{path}', threads: 4}}}}}}\n"
SOURCES = """sources:
  - name: raw
    schema: main
    tables: [{name: events, config: {event_time: ts}}]
"""
INCREMENTAL = """{{{{ config(materialized='incremental') }}}}
SELECT {day} AS day, item, {measures}
FROM {{{{ source('raw', 'events') }}}}
{{% if is_incremental() %}} WHERE {day} > (SELECT MAX(day) FROM {{{{ this }}}}) {{% endif %}}
GROUP BY 1, 2
"""
MICROBATCH = """{{{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='day',
  batch_size='day', begin='{begin}', lookback={lookback}) }}}}
SELECT {day} AS day, item, {measures}
FROM {{{{ source('raw', 'events') }}}}
GROUP BY 1, 2
"""


class DbtError(Exception):
    """A run of dbt failed."""


class Incremental(Adapter):
    """``is_incremental()`` filters by the newest day of the table, as the guide of incremental models shows."""

    column = "dbt-duckdb, incremental"
    page = "https://docs.getdbt.com/docs/build/incremental-models-overview"
    refusals = (duckdb.Error, DbtError)
    text = INCREMENTAL
    batches = False
    lookback = 1

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.begin = min(step.start for step in scenario.steps if isinstance(step, Load))[:10]
        day = day_of("ts", scenario.zone)
        model = self.text.format(day=day, measures=DAY_MEASURES, begin=self.begin, lookback=self.lookback)
        trace.add(model)
        (folder / "models").mkdir()
        (folder / "dbt_project.yml").write_text(PROJECT)
        (folder / "profiles.yml").write_text(PROFILES.format(path=folder / "db.duckdb"))
        (folder / "models" / "sources.yml").write_text(SOURCES)
        (folder / "models" / "days.sql").write_text(model)
        self.refreshed = False
        self.sql("CREATE TABLE events (id BIGINT, ts TIMESTAMP, item VARCHAR, user_id BIGINT, amount DOUBLE)")

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        with duckdb.connect(str(self.folder / "db.duckdb")) as connection:
            return connection.execute(text).fetchall()

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late() | Reload():
                for statement in loading_statements(step):
                    self.sql(statement)
            case Refresh():
                self._refresh(date.fromisoformat(step.now[:10]))
            case Retain():
                self.sql(f"DELETE FROM events WHERE ts < TIMESTAMP '{step.now}' - INTERVAL {step.days} DAY")
            case Restart():
                self.trace.add("each run of dbt is a process of its own")
            case LoseFiles():
                raise NotExpressibleError("all tables are in one database file")

    def _refresh(self, today: date) -> None:
        arguments = ["run"]
        if self.batches:
            # The batches that `dbt run` makes on that day: all from `begin` on, later the current one and `lookback`.
            first = today - timedelta(days=self.lookback) if self.refreshed else date.fromisoformat(self.begin)
            arguments += ["--event-time-start", str(first), "--event-time-end", str(today + timedelta(days=1))]
        self.trace.add(f"dbt {' '.join(arguments)}")
        options = ["--quiet", "--log-path", str(self.folder / "logs"), "--log-level-file", "none"]
        places = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        done = dbtRunner().invoke([*options, *arguments, *places])
        if not done.success:
            raise DbtError(str(done.exception or done.result))
        self.refreshed = True

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered and not self.batches:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        if self.batches and self.scenario.zone != "UTC":
            raise NotExpressibleError("batches are days of UTC")
        return tidy(self.sql(by_hand(question, self.scenario)), question.by)


class Microbatch(Incremental):
    """Batches of days. The default ``lookback=1`` runs the day before again."""

    column = "dbt-duckdb, microbatch"
    page = "https://docs.getdbt.com/docs/build/incremental-microbatch"
    text = MICROBATCH
    batches = True


class Lookback(Microbatch):
    """The same with ``lookback=7``."""

    column = "dbt-duckdb, microbatch, lookback 7"
    lookback = 7


ADAPTERS = (Incremental, Microbatch, Lookback)

if __name__ == "__main__":
    serve(ADAPTERS)
