"""Random histories of interleaved transactions against a naive model of snapshots, timelines and freshness.

The model keeps a full copy of the world for every commit and computes what is fresh partition by partition from the
list of all base writes, so it shares nothing with the catalog but the words.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from postgres import seeds

from rewriter.catalog import Catalog, Snapshot, Transaction
from rewriter.catalog.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.keys import KeyRange, encode
from rewriter.catalog.models import Column, Cube, DataFile, Fact, Storage, StorageTable, Table
from rewriter.errors import ConflictError
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timelines import OrdinalRange

P = UpdatePeriod
LAYOUTS = {period: TimeLayout.of(period, [("dt", None)]) for period in P}
#: Which table holds which periods: days are the base, months have a table of their own, the rest share one.
SHAPE = {"days": (P.DAILY,), "months": (P.MONTHLY,), "coarse": (P.QUARTERLY, P.YEARLY), "copies": (P.MONTHLY,)}
TRUSTED = "copies"
FIRST = 16435  # 2014-12-31, in days since 1970
DAYS = 95

Slot = tuple[P, int]


def start(slot: Slot) -> int:
    return slot[0].start(slot[1])


def end(slot: Slot) -> int:
    return slot[0].end(slot[1])


def inside(slot: Slot, outer: Slot) -> bool:
    return start(slot) < end(outer) and start(outer) < end(slot)


def value(slot: Slot) -> str:
    return LAYOUTS[slot[0]].values(slot[1])[0]


@dataclass
class Content:
    """A partition of the model. ``as_of`` is -1 where nothing can be proven."""

    files: tuple[str, ...] = ()
    as_of: int = 0


@dataclass
class World:
    """Everything as one commit left it."""

    tables: dict[str, dict[Slot, Content]] = field(default_factory=lambda: {name: {} for name in SHAPE})
    retired: set[Slot] = field(default_factory=set)
    ever: set[Slot] = field(default_factory=set)
    base_writes: list[tuple[Slot, int]] = field(default_factory=list)

    def is_fresh(self, name: str, slot: Slot) -> bool:
        if name in ("days", TRUSTED):
            return True
        as_of = self.tables[name][slot].as_of
        return as_of >= 0 and not any(seq > as_of and inside(base, slot) for base, seq in self.base_writes)


@dataclass
class Pending:
    """An open transaction: what it saw and what it is going to do."""

    transaction: Transaction
    seen: int
    kind: str
    name: str
    slots: list[Slot]
    files: dict[Slot, tuple[str, ...]]
    change: Change
    sources: dict[str, list[Slot] | None]
    wiped: tuple[int, int] | None


class History:
    """A catalog and the model beside it."""

    def __init__(self, directory: Path, url: str | None, seed: int) -> None:
        self.rng = random.Random(seed)
        self.catalog = Catalog.open(directory, url)
        self.tables = {name: self.create(name) for name in SHAPE}
        self.worlds: dict[int, World] = {}
        #: (commit, table, slot, whether exclusive), and wiped stretches of days as (commit, first, last).
        self.writes: list[tuple[int, str, Slot, bool]] = []
        self.wipes: list[tuple[int, int, int]] = []
        with self.catalog.begin() as tx:
            cube = Cube(tx.allocate_id(), "c", (), (), ("t",), ("t",))
            tables = tuple(
                StorageTable(name, "t", {p: LAYOUTS[p] for p in periods}, name == TRUSTED)
                for name, periods in SHAPE.items()
            )
            fact = Fact(tx.allocate_id(), "f", "c", (Storage("s", tables),))
            self.newest = tx.commit([CreateObject(cube), CreateObject(fact)])
        self.worlds[self.newest] = World()

    def create(self, name: str) -> Table:
        with self.catalog.begin() as tx:
            table = Table(tx.allocate_id(), name, (), (Column("dt", "string"),), "parquet", f"/w/{name}")
            tx.commit([CreateObject(table)])
        return table

    def key(self, name: str, slot: Slot) -> bytes:
        return encode(self.tables[name].id, ["string"], [value(slot)])

    # --- beginning and committing -----------------------------------------------------------------------------

    def fill(self) -> None:
        """Most days, in one INSERT."""
        with self.catalog.begin() as tx:
            seen = tx.snapshot.sequence
            slots = [(P.DAILY, FIRST + n) for n in range(DAYS) if self.rng.random() < 0.9]
            files: dict[Slot, tuple[str, ...]] = {slot: (f"/w/first/{value(slot)}",) for slot in slots}
            parts = tuple(PartitionWrite((value(s),), (DataFile(files[s][0], 1, 1),)) for s in slots)
            change = WritePartitions(self.tables["days"], tx.write_id(self.tables["days"]), parts, overwrite=False)
            sequence = tx.commit([change])
        self.apply(Pending(tx, seen, "into", "days", slots, files, change, {}, None), sequence)

    def begin(self) -> Pending:
        rng = self.rng
        tx = self.catalog.begin()
        name = rng.choice(["days", "months", "months", "coarse", "coarse", "copies"])
        kind = rng.choices(["into", "overwrite", "add", "drop", "wipe"], [4, 6, 2, 3, 1 if name == "days" else 0])[0]
        day = FIRST + rng.randrange(DAYS)
        slots = [(P.DAILY, day + n) for n in range(rng.choice([1, 1, 1, 2, 9]))] if name == "days" else []
        for period in SHAPE[name] if name != "days" else ():
            slots.append((period, period.ordinal(P.DAILY.start(day))))
        seen = self.worlds[tx.snapshot.sequence].tables[name]
        if kind == "drop":
            slots = [slot for slot in slots if slot in seen]
        if kind == "add":
            slots = [slot for slot in slots if slot not in seen]
        table = self.tables[name]
        files: dict[Slot, tuple[str, ...]] = {}
        change: Change
        wiped = None
        if kind == "drop":
            change = DropPartitions(table, tuple(self.key(name, slot) for slot in slots))
        elif kind == "add":
            change = AddPartitions(table, tuple(PartitionWrite((value(slot),)) for slot in slots))
        else:
            write_id = tx.write_id(table)
            files = {s: tuple(f"/w/{tx.id}/{value(s)}/{n}" for n in range(rng.choice([0, 1, 1, 2]))) for s in slots}
            parts = tuple(PartitionWrite((value(s),), tuple(DataFile(p, 1, 1) for p in files[s])) for s in slots)
            wipes: tuple[KeyRange, ...] = ()
            if kind == "wipe":
                wiped = (day, day + rng.randrange(1, 30))
                wipes = (KeyRange(*(self.key(name, (P.DAILY, d)) for d in wiped)),)
            change = WritePartitions(table, write_id, parts, kind != "into", wipes)
        return Pending(tx, tx.snapshot.sequence, kind, name, slots, files, change, self.sources(name, slots), wiped)

    def sources(self, name: str, slots: list[Slot]) -> dict[str, list[Slot] | None]:
        """Tables that the write reads, whole (``None``) or only the partitions inside what it writes."""
        if name == "days" or self.rng.random() < 0.1:
            return {}
        sensible = self.rng.choice([["days"], ["days"], ["months"], ["months", "days"]])
        wild = self.rng.sample(["days", "months", "coarse", "copies"], 2)
        chosen = sensible if self.rng.random() < 0.8 else wild
        found: dict[str, list[Slot] | None] = {}
        for source in chosen:
            period = SHAPE[source][0]
            whole = self.rng.random() < 0.5
            inner = {
                (period, ordinal)
                for slot in slots
                for ordinal in range(period.ordinal(start(slot)), period.ordinal(end(slot) - 1) + 1)
            }
            found[source] = None if whole else sorted(inner)
        return found

    def finish(self, pending: Pending) -> None:
        expected = self.conflicts(pending)
        sources = {
            self.tables[name].id: None
            if slots is None
            else [KeyRange(self.key(name, slot), self.key(name, slot) + b"\0") for slot in slots]
            for name, slots in pending.sources.items()
        }
        ids_only = all(slots is None for slots in pending.sources.values())
        with pending.transaction as tx:
            if expected:
                with pytest.raises(ConflictError):
                    tx.commit([pending.change], sources)
                return
            sequence = tx.commit([pending.change], set(sources) if ids_only else sources)
        assert sequence == self.newest + 1
        self.apply(pending, sequence)

    # --- the model --------------------------------------------------------------------------------------------

    def conflicts(self, pending: Pending) -> bool:
        """Whether a commit that the transaction did not see wrote what it writes."""
        exclusive = pending.kind != "into"
        for sequence, name, slot, other in self.writes:
            if sequence > pending.seen and name == pending.name:
                if slot in pending.slots and (exclusive or other):
                    return True
                if pending.wiped and name == "days" and pending.wiped[0] <= slot[1] < pending.wiped[1]:
                    return True
        for sequence, first, last in self.wipes:
            if sequence > pending.seen and pending.name == "days":
                if any(first <= ordinal < last for _, ordinal in pending.slots):
                    return True
                if pending.wiped and first < pending.wiped[1] and pending.wiped[0] < last:
                    return True
        return False

    def apply(self, pending: Pending, sequence: int) -> None:
        world = deepcopy(self.worlds[self.newest])
        table = world.tables[pending.name]
        for slot in pending.slots:
            self.write_one(world, table, pending, slot, sequence)
            self.writes.append((sequence, pending.name, slot, pending.kind != "into"))
        if pending.wiped:
            self.wipes.append((sequence, *pending.wiped))
            for slot in [s for s in table if s not in pending.slots and pending.wiped[0] <= s[1] < pending.wiped[1]]:
                del table[slot]
                world.base_writes.append((slot, sequence))
        self.newest = sequence
        self.worlds[sequence] = world

    def write_one(self, world: World, table: dict[Slot, Content], pending: Pending, slot: Slot, sequence: int) -> None:
        before = table.get(slot)
        if pending.kind == "drop":
            del table[slot]
            if pending.name == "days":
                world.retired.add(slot)
            return
        files = pending.files.get(slot, ())
        appends = pending.kind == "into" and before is not None and before.files
        if appends and not files:
            return
        if pending.kind == "add":
            as_of = 0
        else:
            as_of = -1 if appends else self.knows(pending, slot)
        table[slot] = Content((before.files if appends and before else ()) + files, as_of)
        if pending.name == "days":
            world.retired.discard(slot)
            # Registering an empty base partition that never was is no news for the rollups over it.
            if pending.kind != "add" or slot in world.ever:
                world.base_writes.append((slot, sequence))
            world.ever.add(slot)

    def knows(self, pending: Pending, slot: Slot) -> int:
        """The commit up to which what the transaction computed knows the base, by looking at every partition."""
        world = self.worlds[pending.seen]
        if not pending.sources or pending.name == "days":
            return pending.seen
        read = [
            (name, one)
            for name, wanted in pending.sources.items()
            for one in world.tables[name]
            if wanted is None or one in wanted
        ]
        for base in {*world.tables["days"], *world.retired}:
            whole = any(start(one) <= start(base) and end(base) <= end(one) for _, one in read)
            if inside(base, slot) and not whole:
                return -1
        # A rollup that was fresh said what the base said, whenever it was written.
        stale = [one for name, one in read if name in ("months", "coarse") and not world.is_fresh(name, one)]
        return -1 if any(inside(one, slot) for one in stale) else pending.seen

    # --- comparing --------------------------------------------------------------------------------------------

    def compare(self, snapshot: Snapshot) -> None:
        world = self.worlds[snapshot.sequence]
        for name, periods in SHAPE.items():
            table, model = self.tables[name], world.tables[name]
            found = snapshot.partitions(table)
            assert [p.values[0] for p in found] == sorted(value(slot) for slot in model)
            assert {p.values[0]: p.files for p in found} == {value(s): len(c.files) for s, c in model.items()}
            paths: dict[str | None, set[str]] = {}
            for partition, file in snapshot.files(table):
                paths.setdefault(partition.values[0], set()).add(file.path)
            assert paths == {value(slot): set(content.files) for slot, content in model.items() if content.files}
            for period in periods:
                there = {slot for slot in model if slot[0] is period}
                fresh = {slot for slot in there if world.is_fresh(name, slot)}
                assert _slots(snapshot.timeline(name, period, "t").ranges(), period) == fresh
                assert _slots(snapshot.outdated(name, period, "t").ranges(), period) == there - fresh
        assert _slots(snapshot.retired("days", P.DAILY, "t").ranges(), P.DAILY) == world.retired

    def check_log(self) -> None:
        events = self.catalog.events(limit=100_000)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        commits = [event.commit_sequence for event in events if event.kind == "COMMIT"]
        assert commits == list(range(1, self.newest + 1))


def _slots(ranges: Iterable[OrdinalRange], period: P) -> set[Slot]:
    return {(period, o) for r in ranges for o in range(r.start, r.end)}


def _run(directory: Path, url: str | None, seed: int, steps: int) -> None:
    history = History(directory, url, seed)
    history.fill()
    open_ones: list[Pending] = []
    unread: list[Snapshot] = []
    for step in range(steps):
        while len(open_ones) < 3:
            open_ones.append(history.begin())
        pending = open_ones.pop(history.rng.randrange(len(open_ones)))
        if history.rng.random() < 0.1:
            pending.transaction.rollback()
            continue
        history.finish(pending)
        if step % 3 == 0:
            history.compare(history.catalog.snapshot())
            unread.append(history.catalog.snapshot())
    for snapshot in unread[::3]:
        # Read for the first time long after.
        history.compare(snapshot)
    history.compare(history.catalog.snapshot())
    history.check_log()
    _check_rebuilt(history)


def _check_rebuilt(history: History) -> None:
    """A fact made anew over the same partitions has timelines with the same partitions, none of them too fresh."""
    before = history.catalog.snapshot()
    fact = before.fact("f")
    with history.catalog.begin() as tx:
        again = Fact(tx.allocate_id(), "g", fact.cube, fact.storages)
        tx.commit([DropObject(fact), CreateObject(again)])
    after = history.catalog.snapshot()
    for name, periods in SHAPE.items():
        for period in periods:
            lines = [
                [_slots(getattr(s, line)(name, period, "t").ranges(), period) for line in ("timeline", "outdated")]
                for s in (before, after)
            ]
            (old_fresh, old_outdated), (new_fresh, new_outdated) = lines
            assert new_fresh | new_outdated == old_fresh | old_outdated
            assert new_fresh <= old_fresh


@pytest.mark.parametrize(("catalog_url", "seed"), seeds(6), indirect=["catalog_url"])
def test_random_histories(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    _run(tmp_path, catalog_url, seed, steps=70 if catalog_url is None else 30)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_long_random_histories(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    _run(tmp_path, catalog_url, seed, steps=200)
