"""polars over a Parquet file for each delivery, with a daily rollup in a file that a job writes again."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from truth.adapters.base import Adapter, NotExpressibleError, Trace, serve, tidy, whole_days
from truth.model import Event, Late, Load, LoseFiles, Question, Refresh, Reload, Restart, Retain, Row, Scenario, Step

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

    def run(self, step: Step) -> None:
        match step:
            case Load() | Late():
                self._write(step.events)
            case Reload():
                start, end = datetime.fromisoformat(step.start), datetime.fromisoformat(step.end)
                self._keep(~pl.col("ts").is_between(start, end, closed="left"), f"ts not in [{start}, {end})")
                self._write(step.events)
            case Refresh():
                self.trace.add(
                    "scan_parquet('events/*.parquet').group_by(day, item).agg(…).write_parquet('days.parquet')"
                )
                self._days().write_parquet(self.folder / "days.parquet")
            case Retain():
                oldest = datetime.fromisoformat(step.now) - timedelta(days=step.days)
                self._keep(pl.col("ts") >= oldest, f"ts >= {oldest}")
            case Restart():
                self.trace.add("nothing is in memory")
            case LoseFiles():
                for file in self.events.glob(f"{step.day}*"):
                    self.trace.add(f"rm {file}")
                    file.unlink()

    def _write(self, events: tuple[Event, ...]) -> None:
        if events:
            rows = [(e.id, datetime.fromisoformat(e.at), e.item, e.user, e.amount) for e in events]
            self.written += 1
            file = self.events / f"{events[0].at[:10]}-{self.written}.parquet"
            self.trace.add(f"write_parquet({rows}, {file})")
            pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(file)

    def _keep(self, condition: pl.Expr, text: str) -> None:
        for file in self.events.glob("*.parquet"):
            self.trace.add(f"read_parquet({file}).filter({text}).write_parquet({file})")
            pl.read_parquet(file).filter(condition).write_parquet(file)

    def _days(self) -> pl.DataFrame:
        day = _local(pl.col("ts"), self.scenario.zone).dt.truncate("1d").alias("day")
        stored = [
            expression.alias(name) for name, expression in OVER_EVENTS.items() if name not in ("average", "users")
        ]
        return pl.read_parquet(self.events / "*.parquet").group_by(day, "item").agg(*stored)

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
        key = pl.col("item") if question.by == "item" else _local(time, question.zone).dt.truncate(UNITS[question.by])
        return tidy(frame.group_by(key.alias("grouped")).agg(*chosen).rows(), question.by)

    def _fits(self, question: Question) -> bool:
        utc = self.scenario.zone == question.zone == "UTC"
        return utc and whole_days(question) and question.by != "hour" and "users" not in question.measures


def _local(time: pl.Expr, zone: str) -> pl.Expr:
    return (
        time
        if zone == "UTC"
        else time.dt.replace_time_zone("UTC").dt.convert_time_zone(zone).dt.replace_time_zone(None)
    )


ADAPTERS = (Rewritten,)

if __name__ == "__main__":
    serve(ADAPTERS)
