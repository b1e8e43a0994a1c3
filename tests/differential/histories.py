"""Random histories of a fact with rollups, and beside each a model that says what its base rows are.

The history is made by random inserts, overwrites, drops and refreshes in random order, so rollups are missing,
outdated, computed from other rollups or doubled. The model keeps the base rows as the law of ``semantics.md`` wants
them: those of dropped base partitions are still there, because dropping is retention.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import rewriter
from rewriter.timeline.bounds import parse_instant
from rewriter.timeline.layouts import TimeLayout, default_pattern
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

Row = tuple[str | None, str | None, int, int, int | None, float | None, float | None]

COLUMNS = (
    "origin STRING, carrier STRING, flights BIGINT, departures BIGINT, distance BIGINT, delay DOUBLE, worst DOUBLE"
)
CUBE = """CREATE CUBE flights (origin STRING, carrier STRING, flights BIGINT MEASURE COUNT,
  departures BIGINT MEASURE COUNT, distance BIGINT MEASURE SUM, delay DOUBLE MEASURE SUM COUNTED BY departures,
  worst DOUBLE MEASURE MAX, departed TIMESTAMP TIME)"""
ROLLUP = "origin, carrier, SUM(flights), SUM(departures), SUM(distance), SUM(delay), MAX(worst)"


@dataclass(frozen=True)
class Shape:
    """A base period with the extent in which partitions are made, its rollups, and whether all share one table."""

    base: UpdatePeriod
    start: str
    partitions: int
    rollups: tuple[UpdatePeriod, ...]
    shared: bool = False

    def table(self, period: UpdatePeriod) -> str:
        return "f_all" if self.shared else f"f_{period.name.lower()}"


P = UpdatePeriod
SHAPES = (
    Shape(P.DAILY, "2012-12-25", 70, (P.MONTHLY, P.QUARTERLY, P.YEARLY)),
    Shape(P.DAILY, "2013-01-25", 40, (P.MONTHLY,)),
    Shape(P.DAILY, "2013-03-27", 12, (P.MONTHLY, P.QUARTERLY), shared=True),
    Shape(P.HOURLY, "2013-01-30", 60, (P.DAILY, P.MONTHLY)),
    Shape(P.HOURLY, "2013-02-27", 50, (P.DAILY,), shared=True),
    Shape(P.MONTHLY, "2012-07", 20, (P.QUARTERLY, P.YEARLY)),
)


@dataclass
class History:
    """A warehouse with a fact, and the model of its base rows by ordinal of the base period."""

    shape: Shape
    connection: rewriter.Connection
    rng: random.Random
    rows: dict[int, list[Row]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    log: list[str] = field(default_factory=list)

    def layout(self, period: UpdatePeriod) -> TimeLayout:
        return TimeLayout.of(period, [("dt", None)])

    def run(self, sql: str) -> None:
        self.log.append(sql)
        self.connection.cursor().execute(sql)

    def value(self, period: UpdatePeriod, ordinal: int) -> str:
        return self.layout(period).values(ordinal)[0]


def build(shape: Shape, warehouse: Path, seed: int, steps: int) -> History:
    """A random history of ``steps`` statements; the same seed makes the same one."""
    history = History(shape, rewriter.connect(warehouse, engine="duckdb"), random.Random(seed))
    tables = dict.fromkeys(shape.table(p) for p in (shape.base, *shape.rollups))
    for table in tables:
        history.run(f"CREATE TABLE {table} ({COLUMNS}) PARTITIONED BY (dt STRING)")
    history.run(CUBE)
    periods = (shape.base, *shape.rollups)
    if shape.shared:
        names = ", ".join(p.name for p in periods)
        storage = f"TABLE f_all PERIODS ({names}) PARTITIONED BY departed AS (dt)"
    else:
        storage = ", ".join(
            f"TABLE {shape.table(p)} PERIOD {p.name} PARTITIONED BY departed AS (dt = {_quoted(default_pattern(p))})"
            for p in periods
        )
    history.run(f"CREATE FACT flights_all OF CUBE flights STORED IN ({storage})")
    first = _first(shape)
    # Some histories begin without holes, others with a few, others with many.
    share = history.rng.choice([1.0, 1.0, 0.97, 0.8])
    load(history, [o for o in range(first, first + shape.partitions) if history.rng.random() < share])
    for _ in range(steps):
        step(history)
    return history


def load(history: History, ordinals: Sequence[int]) -> None:
    """One dynamic INSERT of many base partitions."""
    fresh = {ordinal: _rows(history.rng) or [_row(history.rng)] for ordinal in ordinals}
    values = [_literal(row, history.value(history.shape.base, o)) for o, rows in fresh.items() for row in rows]
    if values:
        history.run(f"INSERT INTO {history.shape.table(history.shape.base)} PARTITION (dt) VALUES {', '.join(values)}")
        history.rows |= {ordinal: rows for ordinal, rows in fresh.items() if rows}


#: Statements and how often they come.
STEPS = {
    "refresh": 30, "refresh_all": 6, "into": 8, "overwrite": 8, "drop": 8, "add": 4, "double": 3, "from_rollup": 8,
    "drop_rollup": 5,
}  # fmt: skip


def step(history: History) -> None:
    """One random statement."""
    rng, shape = history.rng, history.shape
    kind = rng.choices(list(STEPS), list(STEPS.values()))[0]
    base = shape.table(shape.base)
    ordinal = _first(shape) + rng.randrange(shape.partitions)
    spec = f"PARTITION (dt = '{history.value(shape.base, ordinal)}')"
    period = rng.choice(shape.rollups)
    target = period.ordinal(shape.base.start(ordinal))
    rollup = f"{shape.table(period)} PARTITION (dt = '{history.value(period, target)}')"
    if kind == "refresh":
        history.run(f"INSERT OVERWRITE {rollup} SELECT {ROLLUP} FROM {_within(history, shape.base, period, target)}")
    elif kind == "refresh_all":
        for one in shape.rollups:
            for number in {one.ordinal(shape.base.start(o)) for o in history.rows}:
                spec_ = f"{shape.table(one)} PARTITION (dt = '{history.value(one, number)}')"
                history.run(
                    f"INSERT OVERWRITE {spec_} SELECT {ROLLUP} FROM {_within(history, shape.base, one, number)}"
                )
    elif kind == "from_rollup":
        finer = [p for p in shape.rollups if p < period and p.nests_in(period)]
        if finer:
            source = _within(history, rng.choice(finer), period, target)
            history.run(f"INSERT OVERWRITE {rollup} SELECT {ROLLUP} FROM {source}")
    elif kind == "double":
        history.run(f"INSERT INTO {rollup} SELECT {ROLLUP} FROM {_within(history, shape.base, period, target)}")
    elif kind == "drop_rollup":
        history.run(
            f"ALTER TABLE {shape.table(period)} DROP IF EXISTS PARTITION (dt = '{history.value(period, target)}')"
        )
    elif kind == "drop":
        # Retention: the model keeps the rows.
        history.run(f"ALTER TABLE {base} DROP IF EXISTS {spec}")
        if ordinal in history.rows:
            history.dropped.add(ordinal)
    elif kind == "add":
        history.run(f"ALTER TABLE {base} ADD IF NOT EXISTS {spec}")
        if ordinal in history.dropped or ordinal not in history.rows:
            history.rows[ordinal] = []
            history.dropped.discard(ordinal)
    else:
        rows = _rows(rng) or [_row(rng)]
        verb = "OVERWRITE" if kind == "overwrite" else "INTO"
        history.run(f"INSERT {verb} {base} {spec} VALUES {', '.join(_literal(row) for row in rows)}")
        kept = [] if kind == "overwrite" or ordinal in history.dropped else history.rows.get(ordinal, [])
        history.rows[ordinal] = kept + rows
        history.dropped.discard(ordinal)


def model_rows(history: History, wanted: RangeSet, missing: RangeSet) -> list[tuple[object, ...]]:
    """The model's rows with their time (microseconds), without those whose time lies in ``missing``.

    Where dropping base partitions has moved an open end, rows of dropped partitions outside ``wanted`` are not asked
    for.
    """
    start = history.shape.base.start
    return [
        (*row, start(ordinal))
        for ordinal, rows in history.rows.items()
        if not missing.contains(start(ordinal)) and (ordinal not in history.dropped or wanted.contains(start(ordinal)))
        for row in rows
    ]


def extent(history: History) -> TimeRange:
    """From the first to behind the last partition that a history may make."""
    first, base = _first(history.shape), history.shape.base
    return TimeRange(base.start(first), base.start(first + history.shape.partitions))


def _first(shape: Shape) -> int:
    return shape.base.ordinal(parse_instant(shape.start))


def _within(history: History, source: UpdatePeriod, period: UpdatePeriod, target: int) -> str:
    """FROM … WHERE … GROUP BY over the partitions of ``source`` inside one period."""
    first = source.ordinal(period.start(target))
    last = source.ordinal(period.end(target) - 1)
    values = ", ".join(f"'{history.value(source, o)}'" for o in range(first, last + 1))
    return f"{history.shape.table(source)} WHERE dt IN ({values}) GROUP BY origin, carrier"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _rows(rng: random.Random) -> list[Row]:
    return [_row(rng) for _ in range(rng.randrange(4))]


def _row(rng: random.Random) -> Row:
    flights = rng.randrange(1, 4)
    departures = rng.randrange(flights + 1)
    return (
        rng.choice(["EWR", "JFK", None]),
        rng.choice(["UA", "AA", None]),
        flights,
        departures,
        rng.choice([None, rng.randrange(-5, 50)]),
        float(rng.randrange(-20, 90)) if departures else None,
        float(rng.randrange(-20, 90)) if departures else None,
    )


def _literal(row: Row, *more: str) -> str:
    items = ["NULL" if v is None else f"'{v}'" if isinstance(v, str) else _number(v) for v in (*row, *more)]
    return f"({', '.join(items)})"


def _number(value: float) -> str:
    return f"CAST({value} AS DOUBLE)" if isinstance(value, float) else str(value)
