"""A fact whose weeks another program writes, in random histories: after the files were compared, every query returns
what the days hold, also where rollups were computed from the weeks.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.commit import external_file_changes
from rewriter.catalog.commit.origin_changes import OriginChanges
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery, Write, WrittenFile
from rewriter.session import Session
from rewriter.statements.write import external_base_changes

WEEKS = {f"2013-W0{number}": date(2013, 1, 28) + timedelta(days=7 * (number - 5)) for number in (5, 6, 7)}
COMPARISONS = ("MSCK REPAIR TABLE weeks", "REFRESH TABLE weeks", "REFRESH FACT f", "CHECK FACT f ACCEPT")


class Meddled(DuckDBEngine):
    """DuckDB that lets others change files before or after it reads for a write."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        act, self.before = self.before, lambda: None
        act()
        files = super().write(query, write)
        act, self.after = self.after, lambda: None
        act()
        return files


class World:
    """Managed days, external weeks, and managed weeks and months that may be computed from any of them."""

    def __init__(self, folder: Path, engine: Engine, seed: int) -> None:
        self.rng, self.folder, self.engine = random.Random(seed), folder, engine
        self.days = {day + timedelta(days=n): 1 for day in WEEKS.values() for n in range(7)}
        self.session = Session(folder / "warehouse", engine)
        for name, column, external in (("base", "d", 0), ("weeks", "w", 1), ("copies", "w", 0)):
            place = f" LOCATION '{folder}/weeks'" if external else ""
            self.run(f"CREATE TABLE {name} (n BIGINT) PARTITIONED BY ({column} STRING){place}")
        self.run("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        self.run(
            "CREATE FACT f OF CUBE c STORED IN (TABLE base PERIOD DAILY PARTITIONED BY t AS (d), "
            "TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (w), TABLE copies PERIOD WEEKLY PARTITIONED BY t AS (w))"
        )
        self.run("INSERT INTO base VALUES " + ", ".join(f"({n}, '{day}')" for day, n in self.days.items()))
        for week in WEEKS:
            self.put(week, self.total(WEEKS[week]))
        self.run("MSCK REPAIR TABLE weeks")
        self.run("CHECK FACT f ACCEPT")

    def run(self, sql: str) -> list[tuple[object, ...]]:
        return self.session.execute(sql).fetch()

    def total(self, first: date) -> int:
        return sum(self.days[first + timedelta(days=n)] for n in range(7))

    def put(self, week: str, n: int, name: str = "0.parquet") -> None:
        path = self.folder / "weeks" / f"w={week}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        pq.write_table(pa.table({"n": pa.array([n], pa.int64())}), path)
        if path.stat().st_mtime_ns <= before:
            os.utime(path, ns=(before + 1, before + 1))

    def meddle(self, errors: tuple[int, ...] = (0, 0, 0, 1000), *, remove: bool = True) -> None:
        """The other program writes a week: the right sum, another one, or one more file. A file that is removed while
        it is read fails the statement, so there is no result.
        """
        week = self.rng.choice(list(WEEKS))
        for file in (self.folder / "weeks" / f"w={week}").glob("*.parquet") if remove else ():
            file.unlink()
        self.put(week, self.total(WEEKS[week]) + self.rng.choice(errors))
        if self.rng.random() < 0.1:
            self.put(week, 1000, "1.parquet")

    def write_day(self) -> None:
        day, n = self.rng.choice(list(self.days)), self.rng.randrange(10)
        self.days[day] = n
        self.run(f"INSERT OVERWRITE base PARTITION (d = '{day}') VALUES ({n})")

    def write_week(self) -> None:
        verb, week = self.rng.choice(("INTO", "OVERWRITE")), self.rng.choice(list(WEEKS))
        self.run(f"INSERT {verb} weeks PARTITION (w = '{week}') VALUES (1000)")

    def copy(self) -> None:
        """Weeks are computed from the external ones, perhaps while the other program writes them."""
        if self.rng.random() < 0.5:
            self.accept()
        if isinstance(self.engine, Meddled) and self.rng.random() < 0.5:
            setattr(self.engine, self.rng.choice(("before", "after")), lambda: self.meddle((0, 1000), remove=False))
        insert_sql = "INSERT OVERWRITE copies SELECT SUM(n), w FROM weeks GROUP BY w"
        if self.rng.random() < 0.2:
            self.run("START TRANSACTION")
            self.run(insert_sql)
            self.run("COMMIT")
        else:
            self.run(insert_sql)

    def accept(self) -> None:
        self.run("CHECK FACT f ACCEPT")

    def step(self) -> None:
        kinds: dict[Callable[[], object], int] = {
            self.meddle: 6, self.write_day: 3, self.write_week: 1, self.copy: 4, self.accept: 4,
        }  # fmt: skip
        self.rng.choices(list(kinds), list(kinds.values()))[0]()

    def check(self) -> int:
        """Compares the sum of each week, and returns the number of those that rollups gave."""
        used = 0
        for first in WEEKS.values():
            query = f"SELECT SUM(n) FROM c WHERE t >= '{first}' AND t < '{first + timedelta(days=7)}'"
            assert self.run(query) == [(self.total(first),)]
            used += any("WEEKLY: 1 partition" in str(line) for (line,) in self.run(f"EXPLAIN COVER {query}"))
        return used


def history(folder: Path, engine: Engine, seed: int, rounds: int) -> int:
    world = World(folder, engine, seed)
    with world.session:
        used = world.check()
        assert used == len(WEEKS)
        for _ in range(rounds):
            for _ in range(world.rng.randrange(1, 5)):
                world.step()
            if isinstance(engine, Meddled):
                engine.before = engine.after = lambda: None
            world.run(world.rng.choice(COMPARISONS))
            used += world.check()
            assert world.run("REFRESH TIMELINES OF f") == []
    return used


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", range(4))
def test_every_query_returns_what_the_days_hold(tmp_path: Path, seed: int) -> None:
    engine = Meddled()
    try:
        assert history(tmp_path, engine, seed, 12) > 5
    finally:
        engine.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_every_query_returns_what_the_days_hold_long(tmp_path: Path, seed: int) -> None:
    engine = Meddled()
    try:
        history(tmp_path, engine, seed, 100)
    finally:
        engine.close()


def _no_file_is_news(patch: pytest.MonkeyPatch) -> None:
    for module in (external_file_changes, external_base_changes):
        patch.setattr(module, "is_news", lambda listed, recorded: False)


def _no_word_is_withdrawn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OriginChanges, "are_withdrawn", lambda *arguments: False)


@pytest.mark.parametrize("plant", [_no_file_is_news, _no_word_is_withdrawn])
def test_a_mistake_would_be_found(
    tmp_path: Path, plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    engine = Meddled()
    detected = 0
    try:
        for seed in range(12):
            try:
                history(tmp_path / str(seed), engine, seed, 12)
            except AssertionError:
                detected += 1
                break
    finally:
        engine.close()
    assert detected
