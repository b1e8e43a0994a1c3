"""Sidemantic: a model of the events with a pre-aggregation by day, refreshed in full or incrementally."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
from sidemantic import Dimension, Metric, Model, SemanticLayer
from sidemantic.core.pre_aggregation import PreAggregation, RefreshKey

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy
from truth.adapters.sql import Columns, altering_statement, creating_statements, loading_statements
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

METRICS = {
    "events": Metric(name="events", agg="count"),
    "counted": Metric(name="counted", agg="count", sql="amount"),
    "amount": Metric(name="amount", agg="sum", sql="amount"),
    "average": Metric(name="average", agg="avg", sql="amount"),
    "least": Metric(name="least", agg="min", sql="amount"),
    "most": Metric(name="most", agg="max", sql="amount"),
    "users": Metric(name="users", agg="count_distinct", sql="user_id"),
    "amounts": Metric(name="amounts", agg="count_distinct", sql="amount"),
}


@dataclass
class Interrupted:
    """The connection of a refresh. ``write`` is called after the first statement that reads the events."""

    connection: Any
    write: Callable[[], None] | None

    def execute(self, text: str) -> Any:
        """Runs a statement of the refresh."""
        result = self.connection.execute(text)
        if self.write and "FROM events" in text:
            write, self.write = self.write, None
            write()
        return result


class Full(Adapter):
    """A pre-aggregation by day, which each refresh makes again. The layer decides whether a question reads it."""

    column = "Sidemantic, full refresh"
    page = "https://pypi.org/project/sidemantic/0.13.0/"
    refusals = (duckdb.Error, ValueError)
    mode: Literal["full", "incremental"] = "full"
    window: str | None = None

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.columns = Columns()
        self.layer = self._open()
        for statement in creating_statements(scenario):
            self.sql(statement)

    def _open(self) -> SemanticLayer:
        layer = SemanticLayer(connection=f"duckdb:///{self.folder / 'db.duckdb'}", use_preaggregations=True)
        key = RefreshKey(incremental=True, update_window=self.window) if self.mode == "incremental" else None
        rollup = PreAggregation(
            name="daily",
            measures=[name for name in METRICS if name not in ("users", "amounts")],
            dimensions=["item"],
            time_dimension="ts",
            granularity="day",
            refresh_key=key,
        )
        self.model = Model(
            name="sales",
            table="events",
            primary_key="id",
            dimensions=[
                Dimension(name="item", type="categorical", sql=self.columns.item),
                Dimension(name="price", type="numeric", sql="amount"),
                Dimension(name="ts", type="time", granularity="second", sql="ts"),
            ],
            metrics=list(METRICS.values()),
            pre_aggregations=[rollup],
        )
        layer.add_model(self.model)
        self.trace.add(f"pre-aggregation: {rollup}")
        return layer

    def sql(self, text: str) -> list[Row]:
        """Runs a statement and returns its rows."""
        self.trace.add(text)
        found: list[Any] = self.layer.adapter.execute(text).fetchall()
        return found

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late() | Reload() | Batch():
                for statement in loading_statements(step, self.columns):
                    self.sql(statement)
            case Refresh():
                self._refresh(self.layer.adapter)
            case RefreshBeside():
                self._refresh(Interrupted(self.layer.adapter, lambda: self._write(step.written)))
            case Widen() | AddColumn():
                self.sql(altering_statement(step))
                self.columns = self.columns.after(step)
            case Rename():
                self.sql(altering_statement(step))
                self.columns = self.columns.after(step)
                self.layer.adapter.close()
                self.layer = self._open()
            case Retain():
                self.sql(f"DELETE FROM events WHERE ts < TIMESTAMP '{step.now}' - INTERVAL {step.days} DAY")
            case Restart():
                self.layer.adapter.close()
                self.layer = self._open()
            case LoseFiles():
                raise NotExpressibleError("all tables are in one database file")

    def _write(self, written: Late | Reload) -> None:
        with self.layer.adapter.raw_connection.cursor() as other:
            for statement in loading_statements(written, self.columns):
                self.trace.add(f"-- by another connection, before the next statement of the refresh: {statement}")
                other.execute(statement)

    def _refresh(self, connection: Any) -> None:
        since = "ts >= {WATERMARK}" if self.mode == "incremental" else None
        for rollup in self.model.pre_aggregations:
            self.trace.add(f"pre-aggregation {rollup.name}: refresh(mode={self.mode!r})")
            rollup.refresh(
                connection=connection,
                source_sql=rollup.generate_materialization_sql(self.model, since),
                table_name=rollup.get_table_name(self.model.name),
                mode=self.mode,
                watermark_column="ts_day",
                dialect="duckdb",
                model=self.model,
            )

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered:
            raise NotExpressibleError("a table has no record of which hours were loaded")
        if question.zone != "UTC" and question.by is not None:
            raise NotExpressibleError("a granularity has no zone")
        names = {"item": "sales.item", "amount": "sales.price"}
        grouped = [] if question.by is None else [names.get(question.by, f"sales.ts__{question.by}")]
        asked: dict[str, Any] = {
            "metrics": [f"sales.{name}" for name in question.measures],
            "dimensions": grouped,
            "filters": [f"sales.ts >= '{question.start}'", f"sales.ts < '{question.end}'"],
        }
        self.trace.add(asked)
        self.trace.add(self.layer.compile(**asked))
        return tidy(self.layer.query(**asked).fetchall(), question.by)

    def close(self) -> None:
        self.layer.adapter.close()


class Incremental(Full):
    """An incremental refresh from the newest day on, which makes the 2 days before it again."""

    column = "Sidemantic, incremental refresh, lookback 2 days"
    mode = "incremental"
    window = "2 days"


ADAPTERS = (Full, Incremental)

if __name__ == "__main__":
    serve(ADAPTERS)
