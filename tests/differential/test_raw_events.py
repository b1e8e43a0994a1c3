"""Random queries over a cube whose base is a RAW table, compared with plain SQL over the events."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import rewriter
from rewriter.catalog.model.objects import Fact
from rewriter.dbapi import Connection
from rewriter.errors import IntegrityError
from rewriter.exec.engine import Engine
from rewriter.planner import cube_reference
from rewriter.planner.cover import choose_facts
from rewriter.planner.rewrite import union_arms
from tests.rotation import turn

START, DAYS = datetime(2013, 1, 29), 32
END = START + timedelta(days=DAYS)
BASES = {"HOURLY": "yyyy-MM-dd-HH", "DAILY": "yyyy-MM-dd"}
PYTHON_FORMS = {"HOURLY": "%Y-%m-%d-%H", "DAILY": "%Y-%m-%d"}
ROLLUPS = {"HOURLY": "yyyy-MM-dd-HH", "DAILY": "yyyy-MM-dd", "MONTHLY": "yyyy-MM"}
#: The cube's columns as SQL over an event.
EVENTS = (
    "SELECT upper(code) AS carrier, kind, miles * 2 AS distance, delay, worst, happened AS departed, came AS arrived, "
    "concat(code, miles) AS person FROM events"
)
AGGREGATES = {
    "COUNT(*)": "COUNT(*)",
    "SUM(distance)": "SUM(distance)",
    "AVG(delay)": "AVG(delay)",
    "MEAN(delay)": "AVG(delay)",
    "SUM(delay)": "SUM(delay)",
    "MAX(worst)": "MAX(worst)",
    "SUM(departures)": "SUM(CASE WHEN delay IS NULL THEN 0 ELSE 1 END)",
    "COUNT(DISTINCT carrier)": "COUNT(DISTINCT carrier)",
    "MIN(departed)": "MIN(departed)",
    "SUM(CASE WHEN kind = 1 THEN distance END)": "SUM(CASE WHEN kind = 1 THEN distance END)",
    "COUNT(carrier)": "COUNT(carrier)",
    "THETA_SKETCH_ESTIMATE(THETA_UNION_AGG(people, 5))": "THETA_SKETCH_ESTIMATE(THETA_SKETCH_AGG(person, 5))",
    "HEX(THETA_UNION_AGG(people, 6))": "HEX(THETA_SKETCH_AGG(person, 6))",
    "HEX(THETA_UNION_AGG(people)) AS x": "HEX(THETA_SKETCH_AGG(person)) AS x",
    "HEX(THETA_SKETCH_AGG(carrier))": "HEX(THETA_SKETCH_AGG(carrier))",
    "PERCENTILE(kind, 0.4, flights)": "PERCENTILE(kind, 0.4)",
    **{
        aggregate: aggregate
        for aggregate in (
            "MEDIAN(distance)",
            "PERCENTILE(worst, 0.25)",
            "SIZE(COLLECT_SET(carrier))",
            "STDDEV_POP(kind)",
            "APPROX_COUNT_DISTINCT(kind)",
            "MAX(carrier) FILTER (WHERE kind < 2)",
            "BOOL_OR(kind = 2)",
            "ANY(kind = 2)",
            "EVERY(kind = 2)",
            "SORT_ARRAY(COLLECT_LIST(worst))",
            "CORR(kind, distance)",
            "COUNT(DISTINCT carrier, kind)",
        )
    },
}
KEYS = (
    "carrier", "kind", "kind % 2", "date_trunc('day', departed)", "hour(departed)", "minute(departed)",
    "month(departed)", "to_date(departed)",
)  # fmt: skip
#: Keys and aggregates of a second time, which events have and the rollups of their fact do not.
SECOND_KEYS = ("date_trunc('day', arrived)", "hour(arrived)", "minute(arrived)", "month(arrived)", "arrived")
SECOND_AGGREGATES = {call: call for call in ("MAX(arrived)", "COUNT(arrived)", "COUNT(DISTINCT to_date(arrived))")}


class World:
    """A warehouse with events and rollups, which random steps change."""

    def __init__(self, connection: Connection, source: random.Random) -> None:
        self.connection, self.source = connection, source
        self.base, self.has_second = source.choice(sorted(BASES)), source.random() < 0.5
        periods = list(ROLLUPS)
        self.rollups = source.choice([periods[periods.index(self.base) :], ["MONTHLY"], [self.base]])
        self.rolled = 0
        run = connection.execute
        run("CREATE TABLE events (code STRING, kind INT, miles BIGINT, delay DOUBLE, worst INT, happened TIMESTAMP, "
            "came TIMESTAMP) "
            "PARTITIONED BY (dt STRING)")  # fmt: skip
        data = "carrier STRING, kind INT, flights BIGINT, departures BIGINT, distance BIGINT, delay DOUBLE, worst INT, "
        data += "people BINARY"
        for period in self.rollups:
            run(f"CREATE TABLE {period} ({data}) PARTITIONED BY (dt STRING)")
        run("CREATE CUBE flights (carrier STRING, kind INT, flights BIGINT MEASURE COUNT, "
            "departures BIGINT MEASURE COUNT, distance BIGINT MEASURE SUM, "
            "delay DOUBLE MEASURE SUM COUNTED BY departures, worst INT MEASURE MAX, "
            "people BINARY MEASURE THETA_UNION PRECISION 6, "
            f"departed TIMESTAMP TIME{', arrived TIMESTAMP TIME' * self.has_second})")  # fmt: skip
        tables = [f"TABLE {p} PERIOD {p} PARTITIONED BY departed AS (dt = '{ROLLUPS[p]}')" for p in self.rollups]
        run(f"CREATE FACT f OF CUBE flights STORED IN (TABLE events PERIOD {self.base} PARTITIONED BY departed AS "
            f"(dt = '{BASES[self.base]}') RAW (carrier AS upper(code), distance AS miles * 2, "
            f"people AS theta_sketch_agg(concat(code, miles)), departed AS happened"
            f"{', arrived AS came' * self.has_second}), {', '.join(tables)})")  # fmt: skip
        if self.has_second:
            # Another fact of the cube has rows of days of both times.
            run(f"CREATE TABLE pairs ({data}) PARTITIONED BY (dt STRING, at STRING)")
            run("CREATE FACT g OF CUBE flights STORED IN (TABLE pairs PERIOD DAILY PARTITIONED BY departed AS (dt) "
                "PARTITIONED BY arrived AS (at))")  # fmt: skip
        self.insert(150)
        step = timedelta(hours=1) if self.base == "HOURLY" else timedelta(days=1)
        times = [START + step * number for number in range(timedelta(days=DAYS) // step)]
        specs = " ".join(f"PARTITION (dt = '{time:{PYTHON_FORMS[self.base]}}')" for time in times)
        run(f"ALTER TABLE events ADD IF NOT EXISTS {specs}")
        run("REFRESH FACT f")

    def insert(self, count: int) -> None:
        """Inserts random events, each into the partition of its time."""
        rows = []
        for _ in range(count):
            time = START + timedelta(seconds=self.source.randrange(DAYS * 86_400))
            code = self.source.choice(["'ua'", "'AA'", "'Ua'", "NULL"])
            delay = self.source.choice(["NULL", "1.5D", "-0.25D", "8D"])
            worst = self.source.choice(["NULL", "3", "-7"])
            rows.append(
                f"({code}, {self.source.randrange(3)}, {self.source.randrange(100)}, {delay}, {worst}, "
                f"TIMESTAMP '{time}', {self.came(time)}, '{time:{PYTHON_FORMS[self.base]}}')"
            )
        self.connection.execute(f"INSERT INTO events VALUES {', '.join(rows)}")
        if self.has_second:
            keys = "date_format(departed, 'yyyy-MM-dd'), date_format(arrived, 'yyyy-MM-dd')"
            self.connection.execute(
                "INSERT OVERWRITE pairs SELECT carrier, kind, COUNT(*), COUNT(delay), SUM(distance), SUM(delay), "
                f"MAX(worst), THETA_SKETCH_AGG(person, 6), {keys} FROM ({EVENTS}) AS e GROUP BY carrier, kind, {keys}"
            )

    def came(self, time: datetime) -> str:
        """Returns the second time of an event as SQL: near the first, sometimes a midnight, or NULL."""
        if not self.has_second or self.source.random() < 0.1:
            return "NULL"
        other = time + timedelta(seconds=self.source.randrange(-90_000, 90_000))
        return f"TIMESTAMP '{other if self.source.random() < 0.8 else other.replace(hour=0, minute=0, second=0)}'"

    def step(self) -> None:
        """Takes one random step."""
        kind = self.source.choice(["insert", "refresh", "refresh", "roll up", "roll up", "drop"])
        rollup = self.source.choice(self.rollups)
        if kind == "insert":
            self.insert(self.source.randrange(1, 9))
        elif kind == "refresh":
            self.connection.execute("REFRESH FACT f")
        elif kind == "drop":
            first = f"{self.time():{'%Y-%m' if rollup == 'MONTHLY' else '%Y-%m-%d'}}"
            self.connection.execute(f"ALTER TABLE {rollup} DROP IF EXISTS PARTITION (dt >= '{first}')")
        else:
            time = self.source.choice(["departed", "departed", "departed + INTERVAL 20 MINUTES"])
            key = f"date_format({time}, '{ROLLUPS[rollup]}')"
            second = f" AND arrived >= '{START}'" if self.has_second and self.source.random() < 0.2 else ""
            where = f"departed >= '{self.time()}' AND departed < '{END}'{second}"
            self.connection.execute(
                f"INSERT OVERWRITE {rollup} SELECT carrier, kind, SUM(flights), SUM(departures), SUM(distance), "
                f"SUM(delay), MAX(worst), THETA_UNION_AGG(people, 6), {key} FROM flights WHERE {where} "
                f"GROUP BY carrier, kind, {key}"
            )

    def time(self) -> datetime:
        """Returns a random bound: a day, an hour, or a time inside an hour."""
        seconds = self.source.randrange(DAYS * 86_400)
        return START + timedelta(seconds=seconds - seconds % self.source.choice([86_400, 86_400, 3_600, 60, 1]))

    def query(self) -> tuple[str, str]:
        """Returns a random query over the cube, and the same over the events."""
        choices = AGGREGATES | (SECOND_AGGREGATES if self.has_second else {})
        aggregates = self.source.sample(sorted(choices), self.source.randrange(1, 3))
        keys = self.source.sample(
            (*KEYS, *SECOND_KEYS) if self.has_second else KEYS, self.source.choice([0, 0, 0, 1, 1, 2])
        )
        start, end = sorted((self.time(), self.time()))
        where = self.source.choice([
            f"departed >= '{start}' AND departed < '{end}'",
            f"departed >= '{start}' AND departed < '{END}'",
            f"departed > '{start}' AND departed <= '{end}'",
            f"departed BETWEEN '{start}' AND '{end}' AND kind <> 0",
            f"departed >= '{START}' AND departed < '{END}' AND minute(departed) < 30",
        ])  # fmt: skip
        if self.has_second and self.source.random() < 0.5:
            start, end = sorted((self.time(), self.time()))
            second = self.source.choice([
                f"arrived >= '{start}' AND arrived < '{end}'",
                f"arrived <= '{end}'",
                f"arrived > '{start}'",
                f"to_date(arrived) = '{start:%Y-%m-%d}'",
                f"(arrived IS NULL OR arrived < '{end}')",
                "arrived IS NULL",
            ])  # fmt: skip
            where = f"{where} AND {second}"
        order = f" GROUP BY {', '.join(keys)}" if keys else ""
        over_cube = f"SELECT {', '.join([*keys, *aggregates])} FROM flights WHERE {where}{order}"
        items = [*keys, *(choices[aggregate] for aggregate in aggregates)]
        return over_cube, f"SELECT {', '.join(items)} FROM ({EVENTS}) AS e WHERE {where}{order}"

    def compare(self) -> None:
        """Raises if a random query has other rows over the cube than over the events."""
        over_cube, over_events = self.query()
        cursor = self.connection.execute(over_cube)
        rows = cursor.fetchall()
        self.rolled += any(use.table.name != "events" for use in cursor.plan.uses)
        expected = self.connection.execute(over_events).fetchall()
        assert sorted(map(_comparable, rows)) == sorted(map(_comparable, expected)), over_cube


def _comparable(row: tuple[Any, ...]) -> str:
    values = [round(v, 9) + 0.0 if isinstance(v, float) and not math.isnan(v) else v for v in row]
    return repr(values)


def _history(path: Path, engine: Engine | str, seed: int, steps: int, queries: int) -> int:
    source = random.Random(seed)
    with rewriter.connect(path / str(seed), engine=engine) as connection:
        world = World(connection, source)
        for _ in range(steps):
            world.step()
            for _ in range(queries):
                world.compare()
        return world.rolled


@pytest.mark.share(3)
@pytest.mark.parametrize("number", range(3))
def test_queries_over_events_are_those_over_the_cube(duckdb: Engine, tmp_path: Path, number: int) -> None:
    rolled = histories = 0
    while histories < 3 or rolled <= 5:
        assert histories < 15, "The queries use no rollups."
        rolled += _history(tmp_path, duckdb, 100 * turn() + 20 * number + histories, 4, 12)
        histories += 1


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_many_queries_over_events(duckdb: Engine, tmp_path: Path, seed: int) -> None:
    _history(tmp_path, duckdb, seed, 8, 25)


def test_queries_over_events_on_spark(spark: Engine, tmp_path: Path) -> None:
    _history(tmp_path, spark, turn(), 2, 4)


def _serve_uncut(patch: pytest.MonkeyPatch) -> None:
    """A rollup serves where the range takes a part of its period."""
    patch.setattr(choose_facts, "_serving", lambda source, timeline, base, requested: timeline)


def _cover_inward(patch: pytest.MonkeyPatch) -> None:
    """Events are covered as rows whose time is the start of their partition."""
    patch.setattr(choose_facts, "touched", choose_facts.snapped)


def _count_nulls(patch: pytest.MonkeyPatch) -> None:
    """A COUNT measure counts events although it counts the values of a measure."""
    patch.setattr(union_arms, "counted_measures", lambda cube, name: [])


def _prove_parts(patch: pytest.MonkeyPatch) -> None:
    """A rollup of a part of a partition's events is proven."""
    patch.setattr(cube_reference, "_splits_partitions", lambda query: False)


def _mix_up_rollups(patch: pytest.MonkeyPatch) -> None:
    """Rollups of the events' own period count as base rows."""
    patch.setattr(Fact, "is_base", lambda fact, table, period: period == fact.base_period)


def _snap_other_times(patch: pytest.MonkeyPatch) -> None:
    """Another time of an event is judged as the start of its period."""
    patch.setattr(choose_facts, "cut_by", lambda use, period: False)


@pytest.mark.share(5)
@pytest.mark.parametrize(
    "plant", [_serve_uncut, _cover_inward, _count_nulls, _prove_parts, _mix_up_rollups, _snap_other_times]
)
def test_planted_faults_are_found(
    duckdb: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    def run() -> None:
        for seed in range(30):
            _history(tmp_path, duckdb, seed, 5, 15)

    plant(monkeypatch)
    # The checker of certificates refuses some faults before their rows are compared.
    with pytest.raises((AssertionError, IntegrityError)):
        run()
