"""SQLMesh: a daily model INCREMENTAL_BY_TIME_RANGE over the events, without and with ``lookback``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from sqlmesh import Context
from sqlmesh.core.config import Config, DuckDBConnectionConfig, GatewayConfig, ModelDefaultsConfig
from sqlmesh.core.console import NoopConsole, set_console
from sqlmesh.utils.errors import SQLMeshError

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

MODEL = """MODEL (name shop.days, kind {kind}, start '{start}', cron '@daily');
SELECT {day} AS day, {item}, {measures}
FROM shop.events {range_}GROUP BY 1, 2
"""


class Watching(NoopConsole):
    """Prints nothing, and calls ``write`` when the model has been computed, before the run ends."""

    write: Callable[[], None] | None = None

    def update_snapshot_evaluation_progress(self, *_: Any, **__: Any) -> None:
        if self.write:
            write, self.write = self.write, None
            write()


class Incremental(Adapter):
    """``sqlmesh plan`` at the first refresh and after a change of the model, otherwise ``sqlmesh run``."""

    column = "SQLMesh, INCREMENTAL_BY_TIME_RANGE"
    page = "https://sqlmesh.readthedocs.io/en/stable/concepts/models/model_kinds/"
    refusals = (SQLMeshError, duckdb.Error)
    kind = "INCREMENTAL_BY_TIME_RANGE (time_column day)"
    range_ = "WHERE ts BETWEEN @start_ts AND @end_ts "
    intervals = True

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        logging.disable(logging.CRITICAL)
        (folder / "models").mkdir()
        self.columns = Columns()
        self.console = Watching()
        set_console(self.console)
        self._define()
        self.context = self._open()
        self.changed = True
        self.sql("CREATE SCHEMA shop")
        for statement in creating_statements(scenario, "shop."):
            self.sql(statement)

    def _define(self) -> None:
        start = min(step.start for step in self.scenario.steps if isinstance(step, Load))[:10]
        item = self.columns.named_item
        text = MODEL.format(
            kind=self.kind,
            range_=self.range_,
            start=start,
            day=day_of("ts", self.scenario.zone),
            item=item,
            measures=DAY_MEASURES,
        )
        (self.folder / "models" / "days.sql").write_text(text)
        self.trace.add(text)

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
            case Load() | Late() | Reload() | Batch():
                self._deliver(step)
            case Refresh():
                self._refresh(step.now)
            case RefreshBeside():
                self.console.write = lambda: self._deliver(step.written, "when the model has been computed")
                self._refresh(step.now)
            case Widen() | AddColumn():
                self.sql(altering_statement(step, "shop."))
                self.columns = self.columns.after(step)
            case Rename():
                self.sql(altering_statement(step, "shop."))
                self.columns = self.columns.after(step)
                self._define()
                self.context.load()
                self.changed = True
            case Retain():
                self.sql(f"DELETE FROM shop.events WHERE ts < TIMESTAMP '{step.now}' - INTERVAL {step.days} DAY")
            case Restart():
                self.context.close()
                self.context = self._open()
            case LoseFiles():
                raise NotExpressibleError("all tables are in one database file")

    def _deliver(self, step: Delivery, moment: str | None = None) -> None:
        if moment:
            self.trace.add(f"-- {moment}, before the run ends:")
        for statement in loading_statements(step, self.columns, "shop."):
            self.sql(statement)

    def _refresh(self, now: str) -> None:
        if self.changed:
            self.trace.add(f"sqlmesh plan --auto-apply, execution_time={now}")
            self.context.plan(auto_apply=True, no_prompts=True, execution_time=now)
            self.changed = False
        else:
            self.trace.add(f"sqlmesh run, execution_time={now}")
            self.context.run(execution_time=now)

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.zone != "UTC" and self.intervals:
            raise NotExpressibleError("intervals of a daily model are days of UTC")
        if self.scenario.undelivered and not self.intervals:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        return tidy(self.sql(by_hand(question, self.scenario, self.columns, "shop.")), question.by)

    def close(self) -> None:
        self.context.close()


class Lookback(Incremental):
    """The same with ``lookback 3``: each run computes three earlier days again."""

    column = "SQLMesh, lookback 3"
    page = "https://sqlmesh.readthedocs.io/en/stable/concepts/models/overview/"
    kind = "INCREMENTAL_BY_TIME_RANGE (time_column day, lookback 3)"


class FullModel(Incremental):
    """A model of kind FULL: each run computes the whole table again."""

    column = "SQLMesh, FULL"
    page = "https://sqlmesh.readthedocs.io/en/stable/concepts/models/model_kinds/"
    kind = "FULL"
    range_ = ""
    intervals = False


ADAPTERS = (Incremental, Lookback, FullModel)

if __name__ == "__main__":
    serve(ADAPTERS)
