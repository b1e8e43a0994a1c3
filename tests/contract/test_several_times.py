"""Two time dimensions: a cube with pairs, rollups, holes and late writes returns the rows of plain SQL over the base
rows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from rotation import share

from rewriter.errors import MissingDataError
from rewriter.session import Session

START = datetime(2013, 1, 28)  # a Monday
#: The range of ``pt < START``.
BEFORE = "[-∞, 2013-01-28)"
PLAIN = ("pt STRING, et STRING", "")
FORMS = {"HOURLY": "%Y-%m-%d-%H", "DAILY": "%Y-%m-%d", "MONTHLY": "%Y-%m"}


@dataclass
class World:
    """A cube with two times and a plain table of its events, over the same random rows."""

    session: Session
    rng: random.Random
    base: str
    rollups: tuple[str, ...]
    split: bool = False
    by_kind: bool = False
    shared: bool = False
    units: int = 48
    there: set[datetime] = field(default_factory=set)

    @property
    def step(self) -> timedelta:
        return timedelta(hours=1) if self.base == "HOURLY" else timedelta(days=1)

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.session.execute(statement).fetch()

    def build(self) -> None:
        data = "k STRING, n BIGINT, v BIGINT, w BIGINT"
        self.run(
            "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT NOT NULL, v BIGINT MEASURE SUM, w BIGINT MEASURE MAX, "
            "pt TIMESTAMP TIME, et TIMESTAMP TIME)",
            f"CREATE TABLE plain ({data}, pt TIMESTAMP, et TIMESTAMP)",
        )
        tables = []
        if self.shared:
            self.run(f"CREATE TABLE base ({data}) PARTITIONED BY (p STRING, e STRING)")
            tables.append(
                f"TABLE base PERIODS ({', '.join((self.base, *self.rollups))}) "
                "PARTITIONED BY pt AS (p) PARTITIONED BY et AS (e)"
            )
        elif self.split:
            # The columns of the second time have another order than in the layout.
            self.run(f"CREATE TABLE base ({data}) PARTITIONED BY (pd STRING, ph STRING, eh STRING, ed STRING)")
            tables.append(
                "TABLE base PERIOD HOURLY PARTITIONED BY pt AS (pd = 'yyyyMMdd', ph = 'HH') "
                "PARTITIONED BY et AS (ed = 'yyyy/MM/dd', eh = 'HH')"
            )
        else:
            self.run(f"CREATE TABLE base ({data}) PARTITIONED BY (pt STRING, et STRING)")
            tables.append(f"TABLE base PERIOD {self.base} PARTITIONED BY pt AS (pt) PARTITIONED BY et AS (et)")
        by_kind = data.removeprefix("k STRING, ") if self.by_kind else data
        columns, rule = ("pt STRING, k STRING, et STRING", " COMPLETE WITH ANY k") if self.by_kind else PLAIN
        for period in () if self.shared else self.rollups:
            self.run(
                f"CREATE TABLE {period.lower()} ({by_kind}) PARTITIONED BY ({columns})",
                f"CREATE TABLE a_{period.lower()} ({data}) PARTITIONED BY (pt STRING)",
            )
            tables.append(
                f"TABLE {period.lower()} PERIOD {period} PARTITIONED BY pt AS (pt) PARTITIONED BY et AS (et){rule}"
            )
            if self.rng.random() < 0.5:
                tables.append(f"TABLE a_{period.lower()} PERIOD {period} PARTITIONED BY pt AS (pt)")
        self.rng.shuffle(tables)
        self.run(f"CREATE FACT f OF CUBE c STORED IN ({', '.join(tables)})")

    def moment(self) -> datetime:
        return START + self.step * self.rng.randrange(self.units)

    def load(self, moments: list[datetime]) -> None:
        """Writes a few pairs for each moment of the leading time to the base and to the plain table."""
        into_base, into_plain = [], []
        timeless = [None] if self.rng.random() < 0.4 else []
        for pt in [*moments, *timeless]:
            for _ in range(self.rng.choice((1, 1, 2, 3))):
                et = None if self.rng.random() < 0.1 else self.moment() if self.rng.random() < 0.7 else pt
                for _ in range(self.rng.choice((1, 2))):
                    k, v = self.rng.choice(("'a'", "'b'", "NULL")), self.rng.choice((None, *range(9)))
                    w = self.rng.choice((None, *range(9)))
                    values = [k, "1", *("CAST(NULL AS BIGINT)" if x is None else f"{x}L" for x in (v, w))]
                    into_base.append(f"({', '.join([*values, *self.named(pt, et)])})")
                    times = ["CAST(NULL AS TIMESTAMP)" if t is None else f"TIMESTAMP '{t}'" for t in (pt, et)]
                    into_plain.append(f"({', '.join([*values, *times])})")
        self.run(f"INSERT INTO base VALUES {', '.join(into_base)}", f"INSERT INTO plain VALUES {', '.join(into_plain)}")
        self.there |= set(moments)

    def named(self, pt: datetime | None, et: datetime | None) -> list[str]:
        """Returns the partition values of a pair as literals."""
        forms = (("%Y%m%d", "%H"), ("%H", "%Y/%m/%d")) if self.split else ((FORMS[self.base],),) * 2
        return [
            "NULL" if time is None else f"'{time.strftime(form)}'"
            for time, own in zip((pt, et), forms, strict=True)
            for form in own
        ]

    def bound(self) -> str:
        moment = self.moment()
        if self.rng.random() < 0.6:
            moment = moment.replace(hour=0)
            if "MONTHLY" in self.rollups and self.rng.random() < 0.5:
                moment = max(START, moment.replace(day=1))
            elif "WEEKLY" in self.rollups:
                moment -= timedelta(days=moment.weekday())
        if self.rng.random() < 0.1:
            moment += timedelta(minutes=17)
        return f"'{moment}'"

    def condition(self, time: str) -> str:
        low, high = sorted((self.bound(), self.bound()))
        month = self.rng.choice(("2013-01-01", "2013-02-01"))
        day = f"{self.moment():%Y-%m-%d}"
        conditions = (
            f"{time} >= {low} AND {time} < {high}",
            f"{time} >= {low} AND {time} < {high}",
            f"{time} >= {low}",
            f"{time} < {high}",
            f"{time} BETWEEN {low} AND {high}",
            f"{time} = {low}",
            f"to_date({time}) = '{day}'",
            f"date_trunc('day', {time}) IN ('{day}', '2013-01-29')",
            f"NOT ({time} >= {low} AND {time} < {high})",
            f"({time} < {low} OR {time} >= {high})",
            f"{time} > {high} AND {time} < {low}",
            # Beyond the existing data, which the leading time would miss.
            f"date_trunc('month', {time}) = '{month}'",
            f"year({time}) = 2013 AND month({time}) = {month[5:7]}",
        )
        return self.rng.choice(conditions[: -2 if time == "pt" else None])

    def question(self) -> str:
        chosen = self.rng.choice(("pt", "et", "both", "both", "both", "none"))
        conditions = [self.condition(time) for time in ("pt", "et") if chosen in (time, "both")]
        rare = self.rng.random()
        if rare < 0.04:
            conditions.append("et IS NULL")
        elif rare < 0.08:
            conditions.append("et IS NOT NULL")
        elif rare < 0.12:
            conditions.append(f"(pt < {self.bound()} OR et >= {self.bound()})")
        elif rare < 0.16:
            conditions.append("et < pt")
        elif rare < 0.2:
            conditions.append("hour(et) < 12")
        keys = self.rng.choice(
            ("", "", "", "k", "to_date(et)", "to_date(pt)", "date_trunc('month', et)", "date_trunc('hour', et)", "et",
             "year(pt), month(et)", "date_trunc('week', et)", "k, CASE WHEN et >= '2013-02-01' THEN 1 ELSE 0 END",
             "to_date(pt), to_date(et)")
        )  # fmt: skip
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        measures = "COUNT(*) AS n, SUM(v) AS v, MAX(w) AS w"
        group = f" GROUP BY {keys}" if keys else ""
        return f"SELECT {f'{keys}, ' if keys else ''}{measures} FROM FACTS{where}{group}"

    def answer(self, query: str, relation: str) -> Counter[tuple[object, ...]]:
        return Counter(self.session.execute(query.replace("FACTS", relation)).fetch())


def world(session: Session, seed: int) -> World:
    rng = random.Random(seed)
    base, rollups = rng.choice(
        (("HOURLY", ("DAILY",)), ("HOURLY", ("DAILY", "MONTHLY")), ("DAILY", ("MONTHLY",)), ("DAILY", ("WEEKLY",)))
    )
    shared = rng.random() < 0.4
    split = base == "HOURLY" and not shared and rng.random() < 0.5
    world = World(session, rng, base, rollups, split, rng.random() < 0.3, shared, 72 if base == "HOURLY" else 36)
    world.build()
    moments = [START + world.step * number for number in range(world.units)]
    holes = set(rng.sample(moments, rng.choice((0, 0, 0, 0, 1))))
    world.load([moment for moment in moments if moment not in holes])
    world.run("REFRESH FACT f")
    return world


def asked(world: World, questions: int, seed: int) -> Counter[str]:
    told: Counter[str] = Counter()
    for _ in range(questions):
        query = world.question()
        where = f"seed {seed}: {query}"
        try:
            result = world.session.execute(query.replace("FACTS", "c"))
        except MissingDataError as error:
            # This happens only if an hour of the leading time is missing completely, or the requested range ends where
            # data begins.
            beyond = error.missing == (BEFORE,)
            assert beyond or len(world.there) < world.units, where
            told["beyond" if beyond else "refused"] += 1
            continue
        rows = Counter(result.fetch())
        assert rows == world.answer(query, "plain"), where
        assert result.coverage is not None
        told["answered"] += 1
        for reference in result.coverage.references:
            told["by rollups"] += any(part.period.name != world.base for part in reference.parts)
            told["on the other time"] += bool(reference.secondary_ranges)
    return told


def history(world: World, seed: int, rounds: int, questions: int) -> Counter[str]:
    """Runs queries between late writes, refreshes, and rollups that lose a pair."""
    told = asked(world, questions, seed)
    for _ in range(rounds):
        match world.rng.choice(("late", "late", "refresh", "lost")):
            case "late":
                world.load([world.moment() for _ in range(world.rng.choice((1, 2)))])
            case "refresh":
                world.run("REFRESH FACT f")
                checked = world.session.execute("CHECK FACT f").fetch()
                assert not [row for row in checked if row[8] == "differs"], f"seed {seed}"
            case "lost" if not world.shared:
                table = world.rng.choice(world.rollups).lower()
                names = world.session.execute(f"SHOW PARTITIONS {table}").fetch()
                if names:
                    pairs = dict(pair.split("=") for pair in str(world.rng.choice(names)[0]).split("/"))
                    if not pairs["et"].startswith("__"):
                        world.run(f"ALTER TABLE {table} DROP PARTITION (pt = '{pairs['pt']}', et = '{pairs['et']}')")
        told += asked(world, questions, seed)
    return told


def campaign(path: Path, engine: object, seeds: Sequence[int], rounds: int, questions: int) -> Counter[str]:
    told: Counter[str] = Counter()
    for seed in seeds:
        with Session(path / f"warehouse-{seed}", engine) as session:  # type: ignore[arg-type]
            told += history(world(session, seed), seed, rounds, questions)
    return told


def test_answers_are_those_of_the_base_rows(duckdb: object, tmp_path: Path) -> None:
    told = campaign(tmp_path, duckdb, share(range(6), 3), rounds=2, questions=8)
    assert min(told["answered"], told["by rollups"], told["on the other time"]) > 0, told


@pytest.mark.long
def test_all_answers_are_those_of_the_base_rows(duckdb: object, tmp_path: Path) -> None:
    told = campaign(tmp_path, duckdb, range(6), rounds=2, questions=8)
    assert told["answered"] > 3 * told["refused"], told
    assert told["by rollups"] > told["answered"] // 6, told
    assert told["on the other time"] > told["answered"] // 3, told


def test_answers_are_those_of_the_base_rows_on_spark(spark: object, tmp_path: Path) -> None:
    told = campaign(tmp_path, spark, range(1), rounds=1, questions=5)
    assert told["answered"] > 5, told


@pytest.mark.long
def test_answers_are_those_of_the_base_rows_for_long(duckdb: object, tmp_path: Path) -> None:
    campaign(tmp_path, duckdb, range(100, 300), rounds=6, questions=20)
