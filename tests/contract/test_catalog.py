"""Random histories of interleaved transactions, compared with a naive model of snapshots, timelines and freshness.

The model keeps a full copy of the world for every commit, over the model of a fact (``fact_model``). It shares no code
with the catalog. The origin of a rollup that was computed from rollups is part of this model.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest
from fact_model import (
    ADDED,
    ALL,
    BLIND,
    FRESH,
    INCOMPLETE,
    OUTDATED,
    UNKNOWN,
    UNPROVEN,
    Base,
    Content,
    Key,
    Partitions,
    Shape,
)
from postgres import seeds

from rewriter.catalog import Catalog, Snapshot, Transaction
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionWrite,
    RefreshTimelines,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Cube, DataFile, Fact, Storage, StorageTable, Table
from rewriter.errors import ConflictError
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange

P = UpdatePeriod
LAYOUTS = {period: TimeLayout.of(period, [("dt", None)]) for period in P}
#: The periods of each table: days are the base, months have a table of their own, the other periods share one.
SHAPE = {"days": (P.DAILY,), "months": (P.MONTHLY,), "coarse": (P.QUARTERLY, P.YEARLY), "copies": (P.MONTHLY,)}
TRUSTED = "copies"
ROLLUPS = ("months", "coarse")
FIRST = 16435  # 2014-12-31, in days since 1970
DAYS = 95

SIZES = (P.DAILY, P.MONTHLY, P.QUARTERLY, P.YEARLY)

Slot = tuple[P, int]


def start(slot: Slot) -> int:
    return slot[0].start(slot[1])


def end(slot: Slot) -> int:
    return slot[0].end(slot[1])


def overlap(slot: Slot, another: Slot) -> bool:
    return start(slot) < end(another) and start(another) < end(slot)


def nests(inner: P, outer: P) -> bool:
    """Returns True if a period of days, months, quarters or years consists of whole periods of another length."""
    return SIZES.index(inner) <= SIZES.index(outer)


def days_of(slot: Slot) -> range:
    return range(P.DAILY.ordinal(start(slot)), P.DAILY.ordinal(end(slot)))


def value(slot: Slot) -> str:
    return LAYOUTS[slot[0]].values(slot[1])[0]


@cache
def inside(slot: Slot) -> tuple[Slot, ...]:
    """Returns the days that a rollup consists of."""
    return tuple((P.DAILY, day) for day in days_of(slot))


OVER_DAYS = Shape(inside)


def named(slot: Slot) -> Key:
    """Returns the name of a slot's partition."""
    return slot, ALL


@dataclass
class World:
    """The tables after one commit."""

    days: Base = field(default_factory=Base)
    rollups: dict[str, Partitions] = field(
        default_factory=lambda: {name: Partitions() for name in SHAPE if name != "days"}
    )

    #: By rollup partition: the partitions of the TRUSTED table that it rests on, each with the commit that was read.
    words: dict[tuple[str, Slot], frozenset[tuple[Slot, int]]] = field(default_factory=dict)
    #: The newest commit that changed a partition of the TRUSTED table.
    changed: dict[Slot, int] = field(default_factory=dict)

    def of(self, name: str) -> Partitions:
        return self.days if name == "days" else self.rollups[name]

    def slots(self, name: str) -> dict[Slot, Content]:
        """Returns the existing partitions of a table."""
        return {slot: content for (slot, _), content in self.of(name).live.items()}

    def state(self, name: str, slot: Slot) -> str:
        """Returns 'fresh', 'outdated', 'unproven' or 'incomplete'."""
        if name not in ROLLUPS:
            return FRESH
        if any(self.changed.get(about, -1) > as_of for about, as_of in self.words.get((name, slot), ())):
            return UNPROVEN
        return OVER_DAYS.state(self.days, self.rollups[name], slot)


@dataclass
class Pending:
    """An open transaction: what it saw and what it will write."""

    transaction: Transaction
    seen: int
    kind: str
    name: str
    slots: list[Slot]
    files: dict[Slot, tuple[str, ...]]
    change: Change
    sources: dict[str, list[Slot] | None]
    wiped: tuple[int, int] | None
    doubt: str | None = None


class History:
    """A catalog and its model."""

    def __init__(self, directory: Path, url: str | None, seed: int) -> None:
        self.rng = random.Random(seed)
        self.catalog = Catalog.open(directory, url)
        self.tables = {name: self.create(name) for name in SHAPE}
        self.worlds: dict[int, World] = {}
        #: (commit, table, slot, whether exclusive), and wiped stretches of days as (commit, first, last).
        self.writes: list[tuple[int, str, Slot, bool]] = []
        self.wipes: list[tuple[int, int, int]] = []
        #: The number of compared partitions of each state.
        self.compared: Counter[str] = Counter()
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
        """Writes all days or most of them in one INSERT."""
        part = self.rng.choice([0.9, 1])
        with self.catalog.begin() as tx:
            seen = tx.snapshot.sequence
            slots = [(P.DAILY, FIRST + n) for n in range(DAYS) if self.rng.random() < part]
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
        # Adding absent partitions completes incomplete rollups.
        lengths = [1, 2, 9, 60] if kind == "add" else [1, 1, 1, 2, 9]
        slots = [(P.DAILY, day + n) for n in range(rng.choice(lengths))] if name == "days" else []
        for period in SHAPE[name] if name != "days" else ():
            slots.append((period, period.ordinal(P.DAILY.start(day))))
        seen = self.worlds[tx.snapshot.sequence].slots(name)
        if kind == "drop":
            slots = [slot for slot in slots if slot in seen]
        if kind == "add":
            slots = [slot for slot in slots if slot not in seen]
        table = self.tables[name]
        files: dict[Slot, tuple[str, ...]] = {}
        change: Change
        wiped = None
        doubt = rng.choice([None] * 9 + ["its query has HAVING"])
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
            change = WritePartitions(table, write_id, parts, kind != "into", wipes, doubt=doubt)
        sources = self.sources(name, slots)
        return Pending(tx, tx.snapshot.sequence, kind, name, slots, files, change, sources, wiped, doubt)

    def sources(self, name: str, slots: list[Slot]) -> dict[str, list[Slot] | None]:
        """Returns the tables that the write reads: completely (``None``), or the partitions inside what it writes."""
        if name == "days" or self.rng.random() < 0.1:
            return {}
        sensible = self.rng.choice([["days"], ["days"], ["months"], ["months", "days"]])
        wild = self.rng.sample(["days", "months", "coarse", "copies"], 2)
        chosen = sensible if self.rng.random() < 0.8 else wild
        sources: dict[str, list[Slot] | None] = {}
        for source in chosen:
            period = SHAPE[source][0]
            reads_all = self.rng.random() < 0.5
            inner = {
                (period, ordinal)
                for slot in slots
                for ordinal in range(period.ordinal(start(slot)), period.ordinal(end(slot) - 1) + 1)
            }
            sources[source] = None if reads_all else sorted(inner)
        return sources

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
        """Returns True if a commit that the transaction did not see wrote the same partitions."""
        exclusive = pending.kind != "into"
        for sequence, name, slot, overwrites in self.writes:
            if sequence > pending.seen and name == pending.name:
                if slot in pending.slots and (exclusive or overwrites):
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
        for slot in pending.slots:
            self.write_one(world, pending, slot, sequence)
            self.writes.append((sequence, pending.name, slot, pending.kind != "into"))
        if pending.wiped:
            self.wipes.append((sequence, *pending.wiped))
            for slot in world.slots("days"):
                if slot not in pending.slots and pending.wiped[0] <= slot[1] < pending.wiped[1]:
                    world.days.wipe(named(slot), sequence)
        self.newest = sequence
        self.worlds[sequence] = world

    def write_one(self, world: World, pending: Pending, slot: Slot, sequence: int) -> None:
        table, key, files = world.of(pending.name), named(slot), pending.files.get(slot, ())
        before = table.live.get(key, Content())
        if pending.kind == "into" and before.files and not files:
            return
        if pending.name == TRUSTED:
            world.changed[slot] = sequence
        if pending.kind != "into" or not before.files:
            world.words[pending.name, slot] = self.words(pending, slot)
        if pending.kind == "drop":
            table.drop(key)
        elif pending.kind == "add" and isinstance(table, Base):
            table.add(key, sequence)
        elif pending.kind == "add":
            table.put(key, ADDED)
        elif isinstance(table, Base):
            table.write(key, Content((before.files if pending.kind == "into" else ()) + files), sequence)
        elif pending.kind == "into" and before.files:
            table.put(key, before.appended(files))
        else:
            table.put(key, replace(self.knows(pending, slot), files=files))

    def knows(self, pending: Pending, slot: Slot) -> Content:
        """Returns the proof of what the transaction computed, from every partition that it read."""
        world = self.worlds[pending.seen]
        if not pending.sources or pending.doubt is not None:
            return BLIND
        read = [
            (world.state(name, part), part)
            for name, wanted in pending.sources.items()
            for part in world.slots(name)
            if wanted is None or part in wanted
        ]
        states = {state for state, part in read if overlap(part, slot)}
        if UNPROVEN in states:
            return BLIND
        if OUTDATED in states:
            return Content(as_of=UNKNOWN)
        if not all(nests(part[0], slot[0]) for _, part in read):
            return Content(as_of=UNKNOWN)  # A month that was computed from a year proves nothing.
        for base, _ in world.days.known():
            if overlap(base, slot) and not any(base[1] in days_of(part) for _, part in read):
                return Content(as_of=UNKNOWN)
        # A fresh rollup agreed with the base, whenever it was written.
        covered = {day for state, part in read if state == FRESH for day in days_of(part)}
        return Content(as_of=pending.seen, doubt="" if covered.issuperset(days_of(slot)) else INCOMPLETE)

    def words(self, pending: Pending, slot: Slot) -> frozenset[tuple[Slot, int]]:
        """Returns the partitions of the TRUSTED table inside a slot that were read, or that what was read rests on."""
        world = self.worlds[pending.seen]
        if self.knows(pending, slot).as_of == UNKNOWN:
            return frozenset()
        parts = [
            (name, part)
            for name, wanted in pending.sources.items()
            for part in world.slots(name)
            if (wanted is None or part in wanted) and overlap(part, slot)
        ]
        read = {part for name, part in parts if name == TRUSTED}
        read |= {about for part in parts for about, _ in world.words.get(part, ())}
        return frozenset((about, pending.seen) for about in read)

    # --- comparing --------------------------------------------------------------------------------------------

    def compare(self, snapshot: Snapshot) -> None:
        world = self.worlds[snapshot.sequence]
        for name, periods in SHAPE.items():
            table, model = self.tables[name], world.slots(name)
            partitions = snapshot.partitions(table)
            assert [p.values[0] for p in partitions] == sorted(value(slot) for slot in model)
            assert {p.values[0]: p.files for p in partitions} == {value(s): len(c.files) for s, c in model.items()}
            paths: dict[str | None, set[str]] = {}
            for partition, file in snapshot.files(table):
                paths.setdefault(partition.values[0], set()).add(file.path)
            assert paths == {value(slot): set(content.files) for slot, content in model.items() if content.files}
            for period in periods:
                there = {slot for slot in model if slot[0] is period}
                for state in STATES:
                    expected = {slot for slot in there if world.state(name, slot) == state}
                    assert _in_state(snapshot, state, name, period) == expected, (state, name, snapshot.sequence)
                    self.compared[state] += len(expected)
        assert _slots(snapshot.retired("days", P.DAILY, "t").ranges(), P.DAILY) == {
            slot for slot, _ in world.days.dropped
        }

    def check_log(self) -> None:
        events = self.catalog.events(limit=100_000)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        commits = [event.commit_sequence for event in events if event.kind == "COMMIT"]
        assert commits == list(range(1, self.newest + 1))


#: The states of partitions, and the timelines of a snapshot for them.
STATES = {"fresh": "timeline", "outdated": "outdated", "unproven": "unproven", "incomplete": "incomplete"}


def _in_state(snapshot: Snapshot, state: str, name: str, period: P) -> set[Slot]:
    return _slots(getattr(snapshot, STATES[state])(name, period, "t").ranges(), period)


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
        # Read for the first time after many commits.
        history.compare(snapshot)
    history.compare(history.catalog.snapshot())
    history.check_log()
    assert steps < 70 or all(history.compared[state] for state in STATES), history.compared
    _check_rebuilt(history)


def _check_rebuilt(history: History) -> None:
    """Checks that rebuilt timelines are the same, and that an equal fact over the same partitions keeps the states of
    its rollups, proofs included.
    """
    fact = history.catalog.snapshot().fact("f")
    with history.catalog.begin() as tx:
        tx.commit([RefreshTimelines(fact)])
        assert list(tx.differences) == []
    before = history.catalog.snapshot()
    with history.catalog.begin() as tx:
        again = Fact(tx.allocate_id(), "g", fact.cube, fact.storages)
        tx.commit([DropObject(fact), CreateObject(again)])
    after = history.catalog.snapshot()
    for name, periods in SHAPE.items():
        for period in periods:
            old, new = ({state: _in_state(s, state, name, period) for state in STATES} for s in (before, after))
            assert new == old


@pytest.mark.share(3)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(6), indirect=["catalog_url"])
def test_random_histories(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    _run(tmp_path, catalog_url, seed, steps=70 if catalog_url is None else 30)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_long_random_histories(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    _run(tmp_path, catalog_url, seed, steps=200)
