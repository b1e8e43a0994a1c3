"""SQLMesh: a daily model INCREMENTAL_BY_TIME_RANGE over the events, without and with ``lookback``."""

from __future__ import annotations

import logging
from pathlib import Path

from sqlmesh import Context
from sqlmesh.core.config import Config, DuckDBConnectionConfig, GatewayConfig, ModelDefaultsConfig
from sqlmesh.utils.errors import SQLMeshError

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy, values_sql
from truth.adapters.sql import DAY_MEASURES, by_hand
from truth.model import Late, Load, LoseFiles, Question, Refresh, Reload, Restart, Retain, Row, Scenario, Step

MODEL = """MODEL (
  name shop.days, kind INCREMENTAL_BY_TIME_RANGE (time_column day{option}), start '{start}', cron '@daily');
SELECT CAST(ts AS DATE) AS day, item, {measures}
FROM shop.events WHERE ts BETWEEN @start_ts AND @end_ts GROUP BY 1, 2
"""


class Incremental(Adapter):
    """``sqlmesh plan`` at the first refresh, ``sqlmesh run`` at each later one. A dashboard reads it for whole days."""

    column = "SQLMesh, INCREMENTAL_BY_TIME_RANGE"
    page = "https://sqlmesh.readthedocs.io/en/stable/concepts/models/model_kinds/"
    refusals = (SQLMeshError,)
    option = ""

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        logging.disable(logging.CRITICAL)
        first = min(step.start for step in scenario.steps if isinstance(step, Load))
        text = MODEL.format(option=self.option, start=first[:10], measures=DAY_MEASURES)
        (folder / "models").mkdir()
        (folder / "models" / "days.sql").write_text(text)
        trace.add(text)
        self.context = self._open()
        self.planned = False
        self.sql("CREATE SCHEMA shop")
        self.sql("CREATE TABLE shop.events (id BIGINT, ts TIMESTAMP, item TEXT, user_id BIGINT, amount DOUBLE)")

    def _open(self) -> Context:
        connection = DuckDBConnectionConfig(database=str(self.folder / "db.duckdb"))
        config = Config(
            gateways={"local": GatewayConfig(connection=connection)},
            model_defaults=ModelDefaultsConfig(dialect="duckdb"),
            disable_anonymized_analytics=True,
        )
        return Context(paths=[str(self.folder)], config=config)

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        self.context.engine_adapter.execute(text, quote_identifiers=False)
        return list(self.context.engine_adapter.cursor.fetchall())

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late():
                if step.events:
                    self.sql(f"INSERT INTO shop.events VALUES {values_sql(step.events)}")
            case Reload():
                self.sql(
                    f"DELETE FROM shop.events WHERE ts >= TIMESTAMP '{step.start}' AND ts < TIMESTAMP '{step.end}'"
                )
                if step.events:
                    self.sql(f"INSERT INTO shop.events VALUES {values_sql(step.events)}")
            case Refresh():
                self._refresh(step.now)
            case Retain():
                self.sql(f"DELETE FROM shop.events WHERE ts < TIMESTAMP '{step.now}' - INTERVAL {step.days} DAY")
            case Restart():
                self.context.close()
                self.context = self._open()
            case LoseFiles():
                raise NotExpressibleError("all tables are in one database file")

    def _refresh(self, now: str) -> None:
        if self.planned:
            self.trace.add(f"sqlmesh run, execution_time={now}")
            self.context.run(execution_time=now)
        else:
            self.trace.add(f"sqlmesh plan --auto-apply, execution_time={now}")
            self.context.plan(auto_apply=True, no_prompts=True, execution_time=now)
            self.planned = True

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.zone != "UTC":
            raise NotExpressibleError("intervals of a daily model are days of UTC")
        if not self.planned:
            raise NotExpressibleError("the model's view is made by the first plan")
        text = by_hand(question, self.scenario)
        for name in ("events", "days"):
            text = text.replace(f" FROM {name} ", f" FROM shop.{name} ")
        return tidy(self.sql(text), question.by)

    def close(self) -> None:
        self.context.close()


class Lookback(Incremental):
    """The same with ``lookback 3``: each run computes three earlier days again."""

    column = "SQLMesh, lookback 3"
    page = "https://sqlmesh.readthedocs.io/en/stable/concepts/models/overview/"
    option = ", lookback 3"


ADAPTERS = (Incremental, Lookback)

if __name__ == "__main__":
    serve(ADAPTERS)
