"""Random histories of two catalog instances with caches over one store: their results are those of an uncached one.

Snapshots are taken in pairs, of a cached instance and of one without any cache, at one moment; both of a pair are asked
the same, then or many writes later. Followers read a few events now and then, the log is purged, memory is small.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rewriter.catalog import Catalog, Snapshot, Transaction
from rewriter.catalog.metastore_writes import CachedCatalog
from rewriter.catalog.model.changes import AlterTable, DropObject, DropPartitions, RenameObject
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Fact, Table
from rewriter.catalog.model.write_ids import equivalent
from rewriter.errors import Error
from rewriter.timeline.periods import UpdatePeriod

from .support import Warehouse, key, write

NAMES = ("hours", "days", "other", "more")
HOURS = [f"2013-01-01-{hour:02d}" for hour in range(24)]
DAYS = ["2013-01-01", "2013-01-02"]
FACT = {"hours": (UpdatePeriod.HOURLY,), "days": (UpdatePeriod.DAILY,)}


class History:
    """One history. ``steps`` lists the actions, for the report of a failure."""

    def __init__(self, folder: Path, url: str | None, seed: int) -> None:
        self.random = random.Random(seed)
        self.steps: list[str] = []
        self._plain = Catalog.open(folder, url)
        self._warehouse = Warehouse(self._plain, url)
        self._cached = [Catalog.open(folder, url) for _ in range(2)]
        for catalog, capacity in zip(self._cached, (1 << 22, 12_000), strict=True):
            catalog.use_cache(capacity, follow=False)
        self._pairs: list[tuple[int, Snapshot, Snapshot]] = []
        self._open: list[Transaction] = []
        for name in ("hours", "days"):
            self._warehouse.create(name)
        self._warehouse.create_fact(FACT)

    def close(self) -> None:
        for transaction in self._open:
            transaction.rollback()
        for catalog in (self._plain, *self._cached):
            catalog.close()

    def run(self, steps: int) -> None:
        """Takes so many steps; ``AssertionError`` where two snapshots of a pair differ."""
        actions: list[tuple[Callable[[], str], int]] = [
            (self._write, 10), (self._define, 3), (self._hold, 2), (self._end, 2), (self._follow, 8),
            (self._refresh, 2), (self._prewarm, 1), (self._purge, 1), (self._take, 5), (self._compare, 24),
        ]  # fmt: skip
        for _ in range(steps):
            (action,) = self.random.choices([name for name, _ in actions], [weight for _, weight in actions])
            self.steps.append(action.__name__)
            self.steps[-1] = f"{action.__name__} {action()}"

    # ---- writes, by any instance

    def _table(self) -> Table | None:
        table = self._plain.snapshot().find(self.random.choice(NAMES))
        return table if isinstance(table, Table) else None

    def _values(self, table: Table) -> list[str]:
        return self.random.sample(DAYS if table.name == "days" else HOURS, self.random.randint(1, 2))

    def _write(self) -> str:
        table = self._table()
        if table is None:
            return "nothing"
        values = self._values(table)
        writer = Warehouse(self.random.choice([self._plain, *self._cached]))
        kind = self.random.choice(["into", "overwrite", "drop", "nothing"])
        with_sources = [self._plain.snapshot().table("hours")] if table.name == "days" and self._has("hours") else []
        if kind == "drop":
            there = [partition.key for partition in self._plain.snapshot().partitions(table)]
            if there:
                writer.commit(lambda tx: [DropPartitions(table, (self.random.choice(there),))])
        elif kind == "nothing":
            # A transaction that takes a write id and writes no row with it.
            writer.commit(lambda tx: [write(tx, table)])
        else:
            getattr(writer, kind)(table, *values, sources=with_sources)
        return f"{kind} {table.name} {values}"

    def _has(self, name: str) -> bool:
        return isinstance(self._plain.snapshot().find(name), Table)

    def _define(self) -> str:
        catalog = self.random.choice([self._plain, *self._cached])
        snapshot, name = self._plain.snapshot(), self.random.choice(NAMES)
        table = snapshot.find(name)
        try:
            if name in FACT and self.random.random() < 0.5:
                fact = snapshot.find("f")
                if isinstance(fact, Fact):
                    Warehouse(catalog).commit(lambda tx: [DropObject(fact)])
                    return "drop fact"
                Warehouse(catalog).create_fact(FACT)
                return "create fact"
            if not isinstance(table, Table):
                Warehouse(catalog).create(name, external=name == "more")
                return f"create {name}"
            change = self.random.choice(["alter", "alter", "drop", "rename"])
            if change == "alter":
                version = {"version": str(self.random.random())}
                Warehouse(catalog).commit(lambda tx: [AlterTable(table, version)])
            elif change == "drop":
                Warehouse(catalog).commit(lambda tx: [DropObject(table)])
            else:
                new_name = self.random.choice(NAMES)
                Warehouse(catalog).commit(lambda tx: [RenameObject(table, new_name)])
                return f"rename {name} to {new_name}"
        except Error as error:
            return f"refused: {error.condition}"
        return f"{change} {name}"

    def _hold(self) -> str:
        table = self._table()
        if table is None or len(self._open) > 3:
            return "nothing"
        transaction = self._plain.begin()
        transaction.write_id(table)
        self._open.append(transaction)
        return table.name

    def _end(self) -> str:
        if not self._open:
            return "nothing"
        transaction = self._open.pop(self.random.randrange(len(self._open)))
        if self.random.random() < 0.5:
            transaction.rollback()
            return "abort"
        transaction.commit([])
        return "commit"

    # ---- what a cache does by itself

    def _instance(self) -> int:
        return self.random.randrange(len(self._cached))

    def _follow(self) -> str:
        which, limit = self._instance(), self.random.choice([1, 1, 2, 5, 1000])
        follower = self._cached[which].follower
        assert follower is not None
        return f"{which}: {follower.step(limit)} of {limit}"

    def _refresh(self) -> str:
        which = self._instance()
        follower = self._cached[which].follower
        assert follower is not None
        return f"{which}: {follower.refresh()}"

    def _prewarm(self) -> str:
        from rewriter.catalog.following.prewarm import prewarm

        which = self._instance()
        cache = self._cached[which].cache
        assert cache is not None
        return f"{which}: {prewarm(self._cached[which]._database, cache)}"

    def _purge(self) -> str:
        return f"{self._plain.purge_events(-60)} events"

    # ---- reads

    def _take(self) -> str:
        which = self._instance()
        self._pairs.append((which, self._cached[which].snapshot(), self._plain.snapshot()))
        self._pairs = self._pairs[-6:]
        return f"{which}"

    def _compare(self) -> str:
        if not self._pairs or self.random.random() < 0.5:
            self._take()
        which, cached, plain = self.random.choice(self._pairs)
        assert cached.sequence == plain.sequence
        return f"{which}: {self._compared(self._cached[which], cached, plain)} at {plain.sequence}"

    def _compared(self, catalog: Catalog, cached: Snapshot, plain: Snapshot) -> str:
        question = self.random.choice(["tables", "facts", "one", "one", "one", "one", "one"])
        if question != "one":
            kind = getattr(Snapshot, question)
            assert kind(cached) == kind(plain), question
            return question
        name = self.random.choice(NAMES)
        table = plain.find(name)
        assert cached.find(name) == table, name
        if not isinstance(table, Table):
            return f"{name}: none"
        ids = plain.write_ids(table.id)
        assert equivalent(cached.write_ids(table.id), ids), (str(cached.write_ids(table.id)), str(ids))
        values = tuple(self._values(table)[:1])
        partition_key, some = key(table, *values), [KeyRange(key(table, HOURS[3]), key(table, HOURS[15]))]
        asked: dict[str, Callable[[Snapshot], object]] = {
            "partition": lambda s: s.partition(table, values),
            "partitions": lambda s: s.partitions(table),
            "range": lambda s: s.partitions(table, some),
            "filter": lambda s: s.get_partitions_by_filter(table, f"dt >= '{values[0]}'"),
            "files": lambda s: s.files(table),
            "files of one": lambda s: s.files(table, [KeyRange.of_key(partition_key)]),
        }
        period = {"hours": UpdatePeriod.HOURLY, "days": UpdatePeriod.DAILY}.get(name)
        if period is not None:
            asked["timeline"] = lambda s: list(s.timeline(name, period, "t").ranges())
            asked["outdated"] = lambda s: list(s.outdated(name, period, "t").ranges())
        asked_now = self.random.choice(sorted(asked))
        expected = asked[asked_now](plain)
        assert asked[asked_now](cached) == expected, f"{asked_now} of {name} {values}"
        if asked_now == "partition":
            text = str(replace(ids, table=str(table.id)))
            assert CachedCatalog(catalog).get_partition(name, values, text) == expected, f"listed {asked_now} of {name}"
        return f"{asked_now} of {name}"
