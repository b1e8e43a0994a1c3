"""Random histories of renames, exchanges, truncations, drops, refreshes: a cube's results are those of its base rows.

The model keeps what each month says, dropped ones included, because dropping is retention; a partition that was
exchanged away is dropped from its table, one that was renamed has left nothing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import rewriter
from rewriter.errors import MissingDataError
from rewriter.exec.duckdb.engine import DuckDBEngine

MONTHS = [f"{year}-{month:02d}" for year in (2013, 2014) for month in range(1, 13)]
QUARTERS = [f"{year}-Q{quarter}" for year in (2013, 2014) for quarter in range(1, 5)]


@dataclass
class World:
    """A fact of months, quarters and years with two tables beside it; ``says`` is the sum of each month that was ever
    written, ``live`` those that are there, ``aside`` the months in the archive.
    """

    cursor: rewriter.dbapi.Cursor
    rng: random.Random
    says: dict[str, int] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    aside: dict[str, int] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def run(self, sql: str) -> list[tuple[object, ...]]:
        self.log.append(sql)
        self.cursor.execute(sql)
        return self.cursor.fetchall() if self.cursor.description else []

    def there(self, table: str) -> list[str]:
        self.cursor.execute(f"SHOW PARTITIONS {table}")
        return [str(name).removeprefix("dt=") for (name,) in self.cursor.fetchall()]

    def make(self) -> None:
        for table in ("months", "archive", "coarse", "aside"):
            self.run(f"CREATE TABLE {table} (n BIGINT) PARTITIONED BY (dt STRING)")
        self.run("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        self.run(
            "CREATE FACT f OF CUBE c STORED IN (TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt), "
            "TABLE coarse PERIODS (QUARTERLY, YEARLY) PARTITIONED BY t AS (dt))"
        )
        self.write(MONTHS, "INTO")
        self.run("REFRESH FACT f")

    def write(self, months: list[str], verb: str) -> None:
        values = {month: self.rng.randrange(1, 1000) for month in months}
        self.run(f"INSERT {verb} months VALUES {', '.join(f'({n}, {month!r})' for month, n in values.items())}")
        for month, n in values.items():
            self.says[month] = n + (self.says[month] if verb == "INTO" and month in self.live else 0)
        self.live |= set(months)

    def step(self) -> None:
        rng = self.rng
        kind = rng.choice(
            ["write", "drop", "rename", "rename", "out", "in", "truncate", "refresh", "refresh", "copy", "rollup"]
        )
        month, another = rng.choice(MONTHS), rng.choice(MONTHS)
        if kind == "write":
            self.write(rng.sample(MONTHS, 3), rng.choice(["INTO", "OVERWRITE"]))
        elif kind == "drop" and month in self.live:
            self.run(f"ALTER TABLE months DROP PARTITION (dt = '{month}')")
            self.live.discard(month)
        elif kind == "rename" and month in self.live and another not in self.live:
            self.run(f"ALTER TABLE months PARTITION (dt = '{month}') RENAME TO PARTITION (dt = '{another}')")
            self.says[another] = self.says.pop(month)
            self.live = self.live - {month} | {another}
        elif kind == "out" and month in self.live and month not in self.aside:
            self.run(f"ALTER TABLE archive EXCHANGE PARTITION (dt = '{month}') WITH TABLE months")
            self.aside[month] = self.says[month]
            self.live.discard(month)
        elif kind == "in":
            moving = [key for key in self.aside if key not in self.live]
            if moving:
                self.run(f"ALTER TABLE months EXCHANGE PARTITION (dt = '{moving[0]}') WITH TABLE archive")
                self.says[moving[0]] = self.aside.pop(moving[0])
                self.live.add(moving[0])
        elif kind == "truncate" and month in self.live:
            self.run(f"TRUNCATE TABLE months PARTITION (dt = '{month}')")
            self.says[month] = 0
        elif kind == "refresh":
            self.run("REFRESH FACT f")
        elif kind == "copy":
            # A rollup from the existing months may lack some, and must not be used as the year.
            for year in ("2013", "2014"):
                if year not in self.there("aside"):
                    self.run(
                        f"INSERT INTO aside SELECT SUM(n), '{year}' FROM months WHERE dt LIKE '{year}%' "
                        "HAVING COUNT(*) > 0"
                    )
        elif kind == "rollup":
            self.rollup()

    def rollup(self) -> None:
        """A rollup is renamed, moved out of the fact or into it, truncated, or computed by its owner."""
        rng, there, beside = self.rng, self.there("coarse"), self.there("aside")
        key = rng.choice(there) if there else "2013"
        kind = rng.choice(["rename", "out", "in", "truncate", "own"])
        if kind == "rename" and there:
            new = rng.choice(QUARTERS if "Q" in key else ["2013", "2014", "2015"])
            if new not in there:
                self.run(f"ALTER TABLE coarse PARTITION (dt = '{key}') RENAME TO PARTITION (dt = '{new}')")
        elif kind == "out" and there and key not in beside:
            self.run(f"ALTER TABLE aside EXCHANGE PARTITION (dt = '{key}') WITH TABLE coarse")
        elif kind == "in":
            moving = [name for name in beside if name not in there]
            if moving:
                chosen = rng.choice(moving)
                self.run(f"ALTER TABLE coarse EXCHANGE PARTITION (dt = '{chosen}') WITH TABLE aside")
        elif kind == "truncate" and there:
            self.run(f"TRUNCATE TABLE coarse PARTITION (dt = '{key}')")
        elif kind == "own":
            year = rng.choice(["2013", "2014"])
            self.run(
                f"INSERT OVERWRITE coarse PARTITION (dt = '{year}') SELECT SUM(n) FROM months WHERE dt LIKE '{year}%' "
                "HAVING COUNT(*) > 0"
            )

    def ask(self, start: int, end: int) -> bool:
        """Returns True if a query about some months has a result. It must be correct, and refused only if a month is
        missing.
        """
        until = MONTHS[end] if end < len(MONTHS) else "2015-01"
        sql = f"SELECT SUM(n) AS n FROM c WHERE time_range_in(t, '{MONTHS[start]}', '{until}')"
        told = "\n".join([*self.log, sql])
        try:
            self.cursor.execute(sql)
        except MissingDataError:
            assert not self.live.issuperset(MONTHS[start:end]), told
            return False
        asked = [self.says[month] for month in MONTHS[start:end] if month in self.says]
        assert (self.cursor.fetchall()[0][0] or 0) == sum(asked), told
        return True


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(6))
def test_answers_are_those_of_the_base_rows_wherever_partitions_went(
    tmp_path: Path, duckdb: DuckDBEngine, seed: int
) -> None:
    run(tmp_path, duckdb, seed, steps=25)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
def test_answers_after_long_histories_of_moves(tmp_path: Path, duckdb: DuckDBEngine, seed: int) -> None:
    run(tmp_path, duckdb, seed, steps=120)


def run(warehouse: Path, duckdb: DuckDBEngine, seed: int, steps: int) -> None:
    with rewriter.connect(warehouse, engine=duckdb) as connection:
        world = World(connection.cursor(), random.Random(seed))
        world.make()
        assert world.ask(0, 24)
        answered = 0
        for _ in range(steps):
            world.step()
            ranges = [(0, 12), (12, 24), tuple(sorted(world.rng.sample(range(25), 2)))]
            answered += sum(world.ask(start, end) for start, end in ranges)
        assert answered > steps // 4, world.log
        # What the commits said of the timelines, one by one, is what all partitions together say.
        assert world.run("REFRESH TIMELINES OF f") == [], world.log
