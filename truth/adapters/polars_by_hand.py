"""polars over a Parquet file for each delivery, with a daily rollup in a file that a job writes again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from truth.adapters.base import Adapter, NotExpressibleError, Trace, needs_events, serve, tidy, whole_days
from truth.adapters.sql import Columns
from truth.model import (
    AddColumn,
    Batch,
    Event,
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

SCHEMA = {"id": pl.Int64, "ts": pl.Datetime("us"), "item": pl.String, "user_id": pl.Int64, "amount": pl.Float64}
#: A sum as SQL has it: null over nothing. ``sum`` of polars is 0 there.
SUM = pl.when(pl.col("amount").count() > 0).then(pl.col("amount").sum())
OVER_EVENTS = {
    "events": pl.len(),
    "counted": pl.col("amount").count(),
    "amount": SUM,
    "average": pl.col("amount").mean(),
    "least": pl.col("amount").min(),
    "most": pl.col("amount").max(),
    "users": pl.col("user_id").n_unique(),
    "amounts": pl.col("amount").drop_nulls().n_unique(),
}
OVER_DAYS = {
    "events": pl.col("events").sum(),
    "counted": pl.col("counted").sum(),
    "amount": SUM,
    "average": pl.col("amount").sum() / pl.col("counted").sum(),
    "least": pl.col("least").min(),
    "most": pl.col("most").max(),
}
UNITS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo"}


class Rewritten(Adapter):
    """The rollup is computed from all files by each refresh."""

    column = "polars by hand, rollup written again"
    page = "https://docs.pola.rs/api/python/stable/reference/dataframe/api/polars.DataFrame.group_by_dynamic.html"
    refusals = (pl.exceptions.PolarsError, FileNotFoundError)

    def __init__(self, folder: Path, scenario: Scenario, trace: Trace) -> None:
        super().__init__(folder, scenario, trace)
        self.events = folder / "events"
        self.events.mkdir()
        self.written = 0
        self.columns = Columns()
        self.amount: type[pl.DataType] = pl.Float32 if scenario.starts_narrow else pl.Float64

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late():
                self._write(step.events)
            case Reload():
                self._replace(step)
            case Batch():
                if (self.events / f"batch-{step.number}.parquet").exists():
                    self.trace.add(f"batch-{step.number}.parquet exists: this batch was written before")
                else:
                    self._write(step.events, f"batch-{step.number}")
            case Refresh():
                self._days().write_parquet(self.folder / "days.parquet")
            case RefreshBeside():
                days = self._days()
                if isinstance(step.written, Reload):
                    self._replace(step.written)
                else:
                    self._write(step.written.events)
                self.trace.add("write_parquet of the frame that was computed before")
                days.write_parquet(self.folder / "days.parquet")
            case Widen():
                self.amount = pl.Float64
                self._rewrite(lambda frame: frame.cast({"amount": pl.Float64}), "cast({'amount': Float64})")
            case Rename():
                self._rewrite(lambda frame: frame.rename({"item": "product"}), "rename({'item': 'product'})")
                self.columns = self.columns.after(step)
            case AddColumn():
                channel = pl.lit(None, pl.String).alias("channel")
                self._rewrite(lambda frame: frame.with_columns(channel), "with_columns(channel=null)")
                self.columns = self.columns.after(step)
            case Retain():
                oldest = datetime.fromisoformat(step.now) - timedelta(days=step.days)
                self._keep(pl.col("ts") >= oldest, f"ts >= {oldest}")
            case Restart():
                self.trace.add("nothing is in memory")
            case LoseFiles():
                for file in self.events.glob(f"{step.day}*"):
                    self.trace.add(f"rm {file}")
                    file.unlink()

    def _write(self, events: tuple[Event, ...], name: str | None = None) -> None:
        if events:
            rows = [(e.id, datetime.fromisoformat(e.at), e.item, e.user, e.amount) for e in events]
            self.written += 1
            file = self.events / f"{name or f'{events[0].at[:10]}-{self.written}'}.parquet"
            self.trace.add(f"write_parquet({rows}, {file})")
            frame = pl.DataFrame(rows, schema=SCHEMA | {"amount": self.amount}, orient="row")
            if self.columns.channel:
                frame = frame.with_columns(pl.lit("web").alias("channel"))
            frame.rename({"item": self.columns.item}).write_parquet(file)

    def _replace(self, step: Reload) -> None:
        start, end = datetime.fromisoformat(step.start), datetime.fromisoformat(step.end)
        self._keep(~pl.col("ts").is_between(start, end, closed="left"), f"ts not in [{start}, {end})")
        self._write(step.events)

    def _keep(self, condition: pl.Expr, text: str) -> None:
        self._rewrite(lambda frame: frame.filter(condition), f"filter({text})")

    def _rewrite(self, change: Callable[[pl.DataFrame], pl.DataFrame], text: str) -> None:
        for file in self.events.glob("*.parquet"):
            self.trace.add(f"read_parquet({file}).{text}.write_parquet({file})")
            change(pl.read_parquet(file)).write_parquet(file)

    def _days(self) -> pl.DataFrame:
        self.trace.add("read_parquet('events/*.parquet').group_by(day, item).agg(…), written to days.parquet")
        day = _local(pl.col("ts"), self.scenario.zone).dt.truncate("1d").alias("day")
        stored = [OVER_EVENTS[name].alias(name) for name in ("events", "counted", "amount", "least", "most")]
        item = pl.col(self.columns.item).alias("item")
        return pl.read_parquet(self.events / "*.parquet").group_by(day, item).agg(*stored)

    def ask(self, question: Question) -> list[Row]:
        if self.scenario.undelivered:
            raise NotExpressibleError("a directory of files has no record of which hours were written")
        start, end = datetime.fromisoformat(question.start), datetime.fromisoformat(question.end)
        frame: pl.DataFrame
        if self._fits(question):
            self.trace.add(
                f"read_parquet('days.parquet').filter(day in [{start}, {end})), {question.measures} by {question.by}"
            )
            frame, time, measures = pl.read_parquet(self.folder / "days.parquet"), pl.col("day"), OVER_DAYS
        else:
            self.trace.add(
                f"read_parquet('events/*.parquet').filter(ts in [{start}, {end})), {question.measures} by {question.by}"
            )
            frame, time, measures = pl.read_parquet(self.events / "*.parquet"), pl.col("ts"), OVER_EVENTS
        frame = frame.filter(time.is_between(start, end, closed="left"))
        chosen = [measures[name].alias(f"m_{name}") for name in question.measures]
        if question.by is None:
            return tidy(frame.select(*chosen).rows(), None)
        if question.by in ("item", "amount"):
            fits = self._fits(question)
            key = pl.col("amount" if question.by == "amount" else "item" if fits else self.columns.item)
        else:
            key = _local(time, question.zone).dt.truncate(UNITS[question.by])
        return tidy(frame.group_by(key.alias("grouped")).agg(*chosen).rows(), question.by)

    def _fits(self, question: Question) -> bool:
        utc = self.scenario.zone == question.zone == "UTC"
        return utc and whole_days(question) and not needs_events(question)


def _local(time: pl.Expr, zone: str) -> pl.Expr:
    return (
        time
        if zone == "UTC"
        else time.dt.replace_time_zone("UTC").dt.convert_time_zone(zone).dt.replace_time_zone(None)
    )


ADAPTERS = (Rewritten,)

if __name__ == "__main__":
    serve(ADAPTERS)
