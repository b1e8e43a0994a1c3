"""Random placements of partitions on clusters: a query runs where brute force would run it, on the files of that
cluster alone, and returns the rows that the model has.

The model knows which content of a partition was copied where. The roots of all other clusters are moved away while a
query runs, so that a file of another cluster cannot be read unnoticed.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import rotation

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

CLUSTERS = ("c1", "c2", "c3")
#: The primary cluster of each table.
TABLES = {"t11": "c1", "t12": "c1", "t21": "c2", "t31": "c3"}
PARTS = range(6)
MONTHS = [f"2013-{month:02d}" for month in range(1, 13)]
QUARTERS = [f"2013-Q{quarter}" for quarter in range(1, 5)]


@dataclass
class World:
    """Tables of numbered partitions, and a fact with months on c1 and quarters on c2.

    ``content`` is the sum of each partition that is there, with the number of its version; ``copies`` are the versions
    that were copied, by table, partition and cluster.
    """

    session: Session
    root: Path
    rng: random.Random
    content: dict[tuple[str, object], tuple[int, int]] = field(default_factory=dict)
    copies: dict[tuple[str, object, str], int] = field(default_factory=dict)
    versions: Iterator[int] = field(default_factory=itertools.count)

    @classmethod
    def make(cls, session: Session, root: Path, rng: random.Random) -> World:
        world = cls(session, root, rng)
        clusters = {name: {"filesystem": str(root / name), "engine": "duckdb"} for name in CLUSTERS}
        for name in CLUSTERS:
            (root / name).mkdir()
        session.execute(f"SET hive.cluster.properties = '{json.dumps(clusters)}'")
        session.execute("SET hive.default.cluster.name = c1")
        for table, cluster in TABLES.items():
            session.execute(f"CREATE TABLE {table} (x BIGINT) PARTITIONED BY (p INT) ON CLUSTER {cluster}")
        session.execute("CREATE TABLE months (n BIGINT) PARTITIONED BY (dt STRING) ON CLUSTER c1")
        session.execute("CREATE TABLE quarters (n BIGINT) PARTITIONED BY (dt STRING) ON CLUSTER c2")
        session.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt), "
            "TABLE quarters PERIOD QUARTERLY PARTITIONED BY t AS (dt) TRUSTED)"
        )
        return world

    def primary(self, table: str) -> str:
        return {"months": "c1", "quarters": "c2", **TABLES}[table]

    def has(self, cluster: str, table: str, part: object) -> bool:
        """Returns whether a cluster has a partition that is there. A partition that is not there lacks nowhere."""
        if (table, part) not in self.content or self.primary(table) == cluster:
            return True
        return self.copies.get((table, part, cluster)) == self.content[table, part][1]

    def write(self) -> None:
        table = self.rng.choice([*TABLES, "months"])
        parts = self.rng.sample(MONTHS if table == "months" else list(PARTS), self.rng.randint(1, 3))
        verb = self.rng.choice(("INTO", "OVERWRITE"))
        numbers = {part: self.rng.randint(1, 1000) for part in parts}
        rows = ", ".join(f"({number}, {part!r})" for part, number in numbers.items())
        self.session.execute(f"INSERT {verb} {table} VALUES {rows}")
        for part, number in numbers.items():
            before = self.content.get((table, part), (0, 0))[0] if verb == "INTO" else 0
            self.content[table, part] = (before + number, next(self.versions))

    def roll_up(self) -> None:
        """Writes a quarter whose months are all there, with their sum."""
        quarter = self.rng.randrange(4)
        months = MONTHS[3 * quarter : 3 * quarter + 3]
        if all(("months", month) in self.content for month in months):
            total = sum(self.content["months", month][0] for month in months)
            self.session.execute(f"INSERT OVERWRITE quarters VALUES ({total}, '{QUARTERS[quarter]}')")
            self.content["quarters", QUARTERS[quarter]] = (total, next(self.versions))

    def drop(self) -> None:
        table = self.rng.choice(list(TABLES))
        there = [part for name, part in self.content if name == table]
        if there:
            part = self.rng.choice(there)
            self.session.execute(f"ALTER TABLE {table} DROP PARTITION (p = {part})")
            del self.content[table, part]

    def replicate(self) -> None:
        table = self.rng.choice([*TABLES, "months", "quarters"])
        cluster = self.rng.choice([name for name in CLUSTERS if name != self.primary(table)])
        there = [part for name, part in self.content if name == table]
        if not there:
            return
        if self.rng.random() < 0.5:
            self.session.execute(f"REPLICATE TABLE {table} TO CLUSTER {cluster}")
        else:
            there = [self.rng.choice(there)]
            column = "p" if table in TABLES else "dt"
            self.session.execute(f"REPLICATE TABLE {table} PARTITION ({column} = {there[0]!r}) TO CLUSTER {cluster}")
        for part in there:
            self.copies[table, part, cluster] = self.content[table, part][1]

    @contextmanager
    def alone(self, cluster: str | None) -> Iterator[None]:
        """Moves the roots of all other clusters away."""
        others = [name for name in CLUSTERS if name != cluster]
        for name in others:
            (self.root / name).rename(self.root / f"{name}.away")
        try:
            yield
        finally:
            for name in others:
                (self.root / f"{name}.away").rename(self.root / name)

    def outcome(self, sql: str, cluster: str | None) -> object:
        """Returns the one value of a query with only one cluster there; the condition of the error where none runs."""
        with self.alone(cluster):
            try:
                result = self.session.execute(sql)
                rows = result.fetch()
            except Error as error:
                return error.condition
            return rows[0][0], result.cluster

    def check_tables(self) -> None:
        tables = self.rng.sample(list(TABLES), self.rng.randint(1, 3))
        parts = self.rng.sample(list(PARTS), self.rng.randint(1, 4))
        chosen = self.rng.choice((None, None, *CLUSTERS))
        self.session.execute("USE CLUSTER" if chosen is None else f"USE CLUSTER {chosen}")
        names = ", ".join(map(str, parts))
        selects = [f"SELECT x FROM {table} WHERE p IN ({names})" for table in tables]
        order = dict.fromkeys(map(self.primary, tables)) if chosen is None else [chosen]
        able = [c for c in order if all(self.has(c, table, part) for table in tables for part in parts)]
        total = sum(self.content.get((table, part), (0, 0))[0] for table in tables for part in parts)
        refused = "NO_CLUSTER_HAS_EVERYTHING" if chosen is None else "CLUSTER_LACKS_PARTITIONS"
        expected = (total, able[0]) if able else refused
        sql = f"SELECT coalesce(sum(x), 0) FROM ({' UNION ALL '.join(selects)})"
        assert self.outcome(sql, able[0] if able else None) == expected, (sql, chosen)

    def check_cube(self) -> None:
        start = self.rng.randrange(12)
        end = self.rng.randint(start + 1, 12)
        chosen = self.rng.choice((None, None, *CLUSTERS))
        self.session.execute("USE CLUSTER" if chosen is None else f"USE CLUSTER {chosen}")
        until = "2014-01" if end == 12 else MONTHS[end]
        sql = f"SELECT sum(n) FROM c WHERE t >= '{MONTHS[start]}-01' AND t < '{until}-01'"
        costs = {cluster: self.cost(cluster, start, end) for cluster in CLUSTERS}
        anywhere = self.cost(None, start, end)
        if anywhere is None:
            assert self.outcome(sql, "c1") == "MISSING_PARTITIONS"
            return
        total = sum(self.content["months", month][0] for month in MONTHS[start:end])
        # Months come first in the order of the query; the cluster of the cheapest cover wins.
        able = [c for c in (("c1", "c2") if chosen is None else (chosen,)) if costs[c] is not None]
        refused = "NO_CLUSTER_HAS_EVERYTHING" if chosen is None else "CLUSTER_LACKS_PARTITIONS"
        best = min(able, key=lambda cluster: costs[cluster] or 0, default=None)
        outcome = self.outcome(sql, best)
        if best is None:
            assert outcome == refused, (sql, chosen, costs)
            return
        assert isinstance(outcome, tuple), (sql, chosen, costs, outcome)
        assert outcome[0] == total, (sql, chosen, costs)
        assert costs[outcome[1]] == costs[best], (sql, chosen, costs, outcome)

    def cost(self, cluster: str | None, start: int, end: int) -> int | None:
        """Returns the number of partitions of the cheapest cover on one cluster, or on all; ``None`` without one."""
        total, month = 0, start
        while month < end:
            quarter = QUARTERS[month // 3]
            whole = month % 3 == 0 and month + 3 <= end and self.serves(cluster, "quarters", quarter)
            # A quarter counts as long as no month of it was written again.
            if whole and self.is_current(month // 3):
                total, month = total + 1, month + 3
            elif self.serves(cluster, "months", MONTHS[month]):
                total, month = total + 1, month + 1
            else:
                return None
        return total

    def serves(self, cluster: str | None, table: str, part: object) -> bool:
        return (table, part) in self.content and (cluster is None or self.has(cluster, table, part))

    def is_current(self, quarter: int) -> bool:
        months = [self.content.get(("months", month)) for month in MONTHS[3 * quarter : 3 * quarter + 3]]
        written = self.content["quarters", QUARTERS[quarter]][1]
        return all(month is not None and month[1] < written for month in months)

    def settle(self) -> None:
        """Rolls up every quarter whose months changed, because a TRUSTED rollup never counts as outdated."""
        for quarter, name in enumerate(QUARTERS):
            if ("quarters", name) in self.content and not self.is_current(quarter):
                self.session.execute(f"ALTER TABLE quarters DROP PARTITION (dt = '{name}')")
                del self.content["quarters", name]


@pytest.mark.parametrize("seed", rotation.share(range(24), 4))
def test_random_placements(tmp_path: Path, duckdb: DuckDBEngine, seed: int) -> None:
    rng = random.Random(seed)
    with Session(tmp_path / "w", duckdb) as session:
        world = World.make(session, tmp_path, rng)
        for _ in range(25):
            session.execute("USE CLUSTER")
            rng.choice((world.write, world.write, world.roll_up, world.drop, world.replicate, world.replicate))()
            world.settle()
            world.check_tables()
            world.check_cube()
