"""Cubes with a time zone and two times: every answer is that of plain Python with ``zoneinfo`` over the pairs, whatever
rollups REFRESH made of them and whatever was written since.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from rewriter.session import Session
from tests.differential.zones import HOUR, Function, World, functions, ordered, predicate

#: Zones, the days around a change of theirs, and whether the base is made of hours of UTC, or of the zone's days.
WORLDS = [
    ("America/New_York", date(2015, 3, 6), date(2015, 3, 10), True),
    ("America/New_York", date(2015, 10, 30), date(2015, 11, 3), True),
    # Only the second time knows of the change.
    ("America/New_York", date(2015, 11, 3), date(2015, 11, 6), True),
    ("America/Sao_Paulo", date(2015, 10, 16), date(2015, 10, 20), True),
    ("America/Havana", date(2015, 10, 30), date(2015, 11, 2), True),
    ("Asia/Tokyo", date(2015, 2, 27), date(2015, 3, 2), True),
    ("Pacific/Apia", date(2011, 12, 28), date(2012, 1, 2), True),
    ("Asia/Kolkata", date(2014, 12, 29), date(2015, 2, 2), False),
    ("Australia/Lord_Howe", date(2015, 3, 30), date(2015, 5, 2), False),
    ("Pacific/Apia", date(2011, 11, 29), date(2012, 1, 3), False),
]
#: By type, how a column names a day of the zone.
DAILY = {
    "STRING": "'%Y-%m-%d'",
    "DATE": "DATE '%Y-%m-%d'",
    "INT": "%Y%m%d",
    "TIMESTAMP": "TIMESTAMP '%Y-%m-%d 00:00:00'",
}
SPLIT_MONTHS = "ey = 'yyyy', em = 'MM'"
Test = Callable[["Pair"], bool | None]


@dataclass(frozen=True)
class Pair:
    """A row of the base: when it was processed, and when it happened; ``None`` is not known."""

    pt: datetime
    et: datetime | None
    origin: str
    n: int

    def at(self, time: str) -> datetime | None:
        return self.pt if time == "pt" else self.et


class Ledger:
    """A zoned cube with two times, and its rows."""

    def __init__(self, session: Session, here: World, seed: int) -> None:
        self.session, self.here, self.rng = session, here, random.Random(seed)
        self.pairs: list[Pair] = []
        self.base = "HOURLY" if here.hours else "DAILY"
        self.starts = self._starts()
        self._create()
        self.load(self.starts)

    def _starts(self) -> list[datetime]:
        """The starts of the base periods of the world's days."""
        here, day, starts = self.here, self.here.first, []
        at, end = here.midnight(day), here.midnight(here.last + timedelta(days=1))
        while at < end:
            starts.append(at)
            at = at + HOUR if here.hours else here.midnight(here.local(at).date() + timedelta(days=1))
        return starts

    def _create(self) -> None:
        data = "origin STRING, events BIGINT, n BIGINT"
        # The columns of the second time: in one text, apart and in another order, or of a type.
        hours = self.rng.choice([("et STRING", "et"), ("et TIMESTAMP", "et")])
        days = self.rng.choice([(f"et {type}", "et") for type in DAILY])
        months = self.rng.choice([("et STRING", "et"), ("et TIMESTAMP", "et"), ("em STRING, ey INT", SPLIT_MONTHS)])
        #: The types of the base's columns.
        self.types = ("STRING", (hours if self.here.hours else days)[0].split()[1])
        self.run(
            "CREATE CUBE c (origin STRING, events BIGINT MEASURE COUNT, n BIGINT MEASURE SUM, pt TIMESTAMP TIME, "
            f"et TIMESTAMP TIME) TIME ZONE '{self.here.zone}'"
        )
        tables = []
        for name, period, (columns, layout) in (
            ("hours", "HOURLY", hours),
            ("days", "DAILY", days),
            ("months", "MONTHLY", months),
        ):
            if period != "HOURLY" or self.here.hours:
                leading = "STRING" if period == self.base else self.rng.choice(("STRING", "TIMESTAMP"))
                self.run(f"CREATE TABLE {name} ({data}) PARTITIONED BY (pt {leading}, {columns})")
                tables.append(f"TABLE {name} PERIOD {period} PARTITIONED BY pt AS (pt) PARTITIONED BY et AS ({layout})")
        if self.here.hours and self.rng.random() < 0.5:
            self.run(f"CREATE TABLE alone ({data}) PARTITIONED BY (pt STRING)")
            tables.append("TABLE alone PERIOD DAILY PARTITIONED BY pt AS (pt)")
        self.run(f"CREATE FACT f OF CUBE c STORED IN ({', '.join(tables)})")

    def run(self, sql: str) -> list[tuple[object, ...]]:
        return list(self.session.execute(sql).fetch())

    def event(self, pt: datetime) -> datetime | None:
        """When what is processed at ``pt`` may have happened."""
        choice = self.rng.random()
        if choice < 0.1:
            return None
        if choice < 0.4:
            return pt
        if choice < 0.7 or not self.here.hours:
            return self.rng.choice(self.starts)
        return pt - self.rng.randrange(self.rng.choice((4, 40)) * 24) * HOUR

    def load(self, moments: list[datetime]) -> None:
        """One to three rows for each moment of the leading time."""
        new = [
            Pair(pt, self.event(pt), self.rng.choice(["JFK", "LGA"]), self.rng.randrange(100))
            for pt in moments
            for _ in range(self.rng.choice((1, 1, 2, 3)))
        ]
        self.pairs += new
        pt, et = self.types
        rows = [
            f"('{event.origin}', 1, {event.n}, {self.named(event.pt, pt)}, {self.named(event.et, et)})" for event in new
        ]
        self.run(f"INSERT INTO {'hours' if self.here.hours else 'days'} VALUES {', '.join(rows)}")

    def named(self, at: datetime | None, type: str) -> str:
        """The value of a partition column of the base, as a literal."""
        if at is None:
            return "NULL"
        if self.here.hours:
            return at.strftime({"STRING": "'%Y-%m-%d-%H'", "TIMESTAMP": "TIMESTAMP '%Y-%m-%d %H:00:00'"}[type])
        return self.here.local(at).strftime(DAILY[type])

    def condition(self) -> tuple[str, Test]:
        """Up to three conditions, on either time, joined."""
        sql, holds = self._condition()
        for _ in range(self.rng.randrange(3)):
            more, also = self._condition()
            match self.rng.randrange(4):
                case 0:
                    sql, holds = f"({sql} OR {more})", _or(holds, also)
                case 1:
                    sql, holds = f"{sql} AND NOT ({more})", _and(holds, _not(also))
                case _:
                    sql, holds = f"{sql} AND {more}", _and(holds, also)
        return sql, holds

    def _condition(self) -> tuple[str, Test]:
        if self.rng.random() < 0.25:
            return self.rng.choice(PAIRED)(self.here)
        time = self.rng.choice(("pt", "et"))
        sql, holds = predicate(self.here, self.rng)
        return _over(sql, time), lambda pair: None if pair.at(time) is None else holds(pair.at(time))  # type: ignore[arg-type]

    def question(self) -> tuple[str, list[tuple[object, ...]]]:
        groupings: dict[str, Callable[[Pair], object]] = {}
        for text, function in functions(self.here).items():
            groupings |= {_over(text, time): _of(function, time) for time in ("pt", "et")}
        groupings["datediff(pt, et)"] = lambda pair: None if pair.et is None else self._lateness(pair)
        named = self.rng.sample(sorted(groupings), self.rng.choice((0, 1, 1, 2)))
        wanted, holds = self.condition() if self.rng.random() < 0.85 else ("1 = 1", lambda pair: True)
        if "pt" in wanted:
            # Beyond its ends the leading time would be missing.
            wanted = f"({wanted}) AND pt >= '{self.here.first}' AND pt < '{self.here.last + timedelta(days=1)}'"
        grouped = f" GROUP BY {', '.join(named)}" if named else ""
        source = self.rng.choice(("c", "c", "(SELECT * FROM c) AS c", "(SELECT n, et, pt, origin FROM c) AS c"))
        sql = f"SELECT {', '.join([*named, 'SUM(n)', 'COUNT(*)'])} FROM {source} WHERE {wanted}{grouped}"
        rows: dict[tuple[object, ...], list[int]] = {} if named else {(): []}
        for pair in self.pairs:
            if holds(pair):
                rows.setdefault(tuple(groupings[name](pair) for name in named), []).append(pair.n)
        return sql, ordered([(*key, sum(ns) if ns else None, len(ns)) for key, ns in rows.items()])

    def _lateness(self, pair: Pair) -> int:
        assert pair.et is not None
        return (self.here.local(pair.pt).date() - self.here.local(pair.et).date()).days


def _over(text: str, time: str) -> str:
    return re.sub(r"\bt\b", time, text)


def _of(function: Function, time: str) -> Callable[[Pair], object]:
    return lambda pair: None if pair.at(time) is None else function(pair.at(time))  # type: ignore[arg-type]


def _not(test: Test) -> Test:
    return lambda pair: None if test(pair) is None else not test(pair)


def _and(first: Test, second: Test) -> Test:
    def both(pair: Pair) -> bool | None:
        results = (first(pair), second(pair))
        return False if False in results else None if None in results else True

    return both


def _or(first: Test, second: Test) -> Test:
    return _not(_and(_not(first), _not(second)))


def _days(here: World) -> Callable[[Pair, str], date | None]:
    def day(pair: Pair, time: str) -> date | None:
        at = pair.at(time)
        return None if at is None else here.local(at).date()

    return day


#: Conditions on both times at once, as instants and as the zone's days.
PAIRED: list[Callable[[World], tuple[str, Test]]] = [
    lambda here: ("et < pt", lambda pair: None if pair.et is None else pair.et < pair.pt),
    lambda here: ("pt = c.et", lambda pair: None if pair.et is None else pair.et == pair.pt),
    lambda here: (
        "to_date(et) < to_date(pt)",
        lambda pair: None if pair.et is None else _days(here)(pair, "et") < _days(here)(pair, "pt"),  # type: ignore[operator]
    ),
    lambda here: (
        "date_trunc('day', pt) = date_trunc('day', et)",
        lambda pair: None if pair.et is None else _days(here)(pair, "et") == _days(here)(pair, "pt"),
    ),
    lambda here: ("et IS NULL", lambda pair: pair.et is None),
    lambda here: ("et IS NOT NULL", lambda pair: pair.et is not None),
]


def history(
    zone: str,
    first: date,
    last: date,
    hours: bool,
    seed: int,
    rounds: int,
    questions: int,
    folder: Path,
    engine: object,
) -> Counter[str]:
    """Questions before and after a refresh, and after late writes."""
    told: Counter[str] = Counter()
    with Session(folder / "warehouse", engine) as session:  # type: ignore[arg-type]
        ledger = Ledger(session, World(zone, first, last, hours, ()), seed)
        for number in range(rounds):
            if number % 2 == 0:
                ledger.run("REFRESH FACT f")
                findings = [row[8] for row in ledger.run("CHECK FACT f")]
                assert "agrees" in findings, f"{zone}, seed {seed}: {findings}"
                problems = set(findings) - {"agrees", "nothing compared"}
                assert not problems, f"{zone}, seed {seed}: {problems}"
            else:
                ledger.load(ledger.rng.sample(ledger.starts, 3))
            for _ in range(questions):
                sql, expected = ledger.question()
                result = session.execute(sql)
                assert ordered(result.fetch()) == expected, f"{zone}, seed {seed}: {sql}"
                assert result.coverage is not None
                for reference in result.coverage.references:
                    told["by rollups"] += any(part.period.name != ledger.base for part in reference.parts)
                    told["on the other time"] += bool(reference.secondary_ranges)
    return told


@pytest.mark.share(3)
@pytest.mark.parametrize(("zone", "first", "last", "hours"), WORLDS, ids=lambda value: str(value))
def test_answers_are_those_of_the_zone(zone: str, first: date, last: date, hours: bool, tmp_path: Path) -> None:
    told = history(zone, first, last, hours, 1, 2, 16, tmp_path, "duckdb")
    assert told["by rollups"] or not hours, told
    assert told["on the other time"], told


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize(("zone", "first", "last", "hours"), WORLDS, ids=lambda value: str(value))
def test_many_answers(seed: int, zone: str, first: date, last: date, hours: bool, tmp_path: Path) -> None:
    history(zone, first, last, hours, seed, 4, 40, tmp_path, "duckdb")


def test_both_engines_agree(tmp_path: Path, spark: object) -> None:
    history(*WORLDS[1], 3, 1, 8, tmp_path, spark)
