"""Tables whose partitions name two times: the timelines of both, against a model that enumerates the pairs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from postgres import on_sqlite

from rewriter.catalog.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.codec import decoded, to_text
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Column, Completeness, Cube, DataFile, Fact, OtherTime, Storage, StorageTable, Table
from rewriter.errors import DataError
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod

from .support import P, Warehouse, key

Pair = tuple[str | None, str | None]
COLUMNS = (Column("pt", "string"), Column("et", "string"))


def layouts(column: str, *periods: UpdatePeriod) -> dict[UpdatePeriod, TimeLayout]:
    return {period: TimeLayout.of(period, [(column, None)]) for period in periods}


def paired(name: str, *periods: UpdatePeriod) -> StorageTable:
    return StorageTable(name, "pt", layouts("pt", *periods), others=(OtherTime("et", layouts("et", *periods)),))


def make_fact(w: Warehouse, *tables: StorageTable) -> Fact:
    with w.catalog.begin() as tx:
        changes: list[Change] = []
        if not w.catalog.snapshot().cubes():
            changes.append(CreateObject(Cube(tx.allocate_id(), "c", (), (), ("pt", "et"), ("pt", "et"))))
        fact = Fact(tx.allocate_id(), "f", "c", (Storage("default", tables),))
        tx.commit([*changes, CreateObject(fact)])
    return fact


def write(
    w: Warehouse, table: Table, *pairs: Pair, overwrite: bool = True, files: int = 1, wiping: str | None = None
) -> int:
    """An INSERT of these pairs; ``wiping`` removes what else there is of a leading time."""
    with w.catalog.begin() as tx:
        write_id = tx.write_id(table)
        parts = tuple(
            PartitionWrite(pair, tuple(DataFile(f"/w/{write_id}/{pair}/{n}", 1, 10) for n in range(files)))
            for pair in pairs
        )
        first = key(table, wiping, None)[:-1] if wiping is not None else b""
        wipes = () if wiping is None else (KeyRange(first, first + b"\xff"),)
        return tx.commit([WritePartitions(table, write_id, parts, overwrite, wipes=wipes)])


def drop(w: Warehouse, table: Table, *pairs: Pair) -> int:
    return w.commit(lambda tx: [DropPartitions(table, tuple(key(table, *pair) for pair in pairs))])


def add(w: Warehouse, table: Table, pair: Pair) -> int:
    return w.commit(lambda tx: [AddPartitions(table, (PartitionWrite(pair),), if_not_exists=True)])


def line(w: Warehouse, table: str, period: UpdatePeriod, time: str, kind: str = "timeline") -> set[str]:
    found = getattr(w.catalog.snapshot(), kind)(table, period, time)
    layout = TimeLayout.of(period, [("x", None)])
    return {layout.values(o)[0] for r in found.ranges() for o in range(r.start, r.end)}


# --- the rules, one by one -------------------------------------------------------------------------------------------


@pytest.fixture
def hours(w: Warehouse) -> Table:
    return w.create("hours", COLUMNS)


@pytest.fixture
def days(w: Warehouse, hours: Table) -> Table:
    table = w.create("days", COLUMNS)
    make_fact(w, paired("hours", P.HOURLY), paired("days", P.DAILY))
    return table


ONE, TWO = "2013-01-01-01", "2013-01-01-02"


def test_a_value_leaves_its_timeline_only_with_its_last_partition(w: Warehouse, hours: Table, days: Table) -> None:
    write(w, hours, (ONE, ONE), (TWO, ONE), (TWO, TWO))
    before = w.catalog.snapshot()
    assert line(w, "hours", P.HOURLY, "et") == {ONE, TWO}
    drop(w, hours, (ONE, ONE))
    assert line(w, "hours", P.HOURLY, "et") == {ONE, TWO}
    drop(w, hours, (TWO, ONE))
    assert line(w, "hours", P.HOURLY, "et") == {TWO}
    # A snapshot from before sees what it saw.
    assert before.timeline("hours", P.HOURLY, "ET").count == 2


def test_a_pair_makes_no_other_pair_exist(w: Warehouse, hours: Table, days: Table) -> None:
    write(w, hours, (ONE, TWO))
    assert (line(w, "hours", P.HOURLY, "pt"), line(w, "hours", P.HOURLY, "et")) == ({ONE}, {TWO})


def test_one_commit_may_drop_a_value_and_bring_it_back(w: Warehouse, hours: Table, days: Table) -> None:
    write(w, hours, (ONE, ONE), (ONE, TWO))
    write(w, hours, (ONE, TWO), wiping=ONE)
    assert line(w, "hours", P.HOURLY, "et") == {TWO}
    w.commit(
        lambda tx: [
            DropPartitions(hours, (key(hours, ONE, TWO),)),
            WritePartitions(hours, tx.write_id(hours), (PartitionWrite((ONE, TWO)),), overwrite=False),
        ]
    )
    assert line(w, "hours", P.HOURLY, "et") == {TWO}


def test_all_times_of_a_partition_are_of_one_period(w: Warehouse) -> None:
    table = w.create("mixed", COLUMNS)
    make_fact(w, paired("mixed", P.HOURLY, P.DAILY))
    write(w, table, (ONE, TWO), ("2013-01-01", "2013-01-02"), ("2013-01-01", None), (None, TWO), (None, None))
    for pair in ((ONE, "2013-01-01"), ("2013-01-01", ONE), (None, "2013-01-01"), (ONE, "x")):
        with pytest.raises(DataError) as caught:
            write(w, table, pair)
        assert caught.value.condition == "INVALID_TIME_PARTITION"
    assert line(w, "mixed", P.HOURLY, "et") == {TWO}
    assert line(w, "mixed", P.DAILY, "et") == {"2013-01-02"}


def test_a_fact_takes_over_the_pairs_that_its_tables_hold(w: Warehouse, hours: Table) -> None:
    write(w, hours, (ONE, TWO), (None, ONE), (TWO, None))
    fact = make_fact(w, paired("hours", P.HOURLY))
    assert (line(w, "hours", P.HOURLY, "pt"), line(w, "hours", P.HOURLY, "et")) == ({ONE, TWO}, {ONE, TWO})
    w.commit(lambda tx: [DropObject(fact)])
    assert (line(w, "hours", P.HOURLY, "pt"), line(w, "hours", P.HOURLY, "et")) == (set(), set())


def test_times_beside_a_country(w: Warehouse) -> None:
    """The columns of the second time may stand between others."""
    table = w.create("t", (Column("pt", "string"), Column("country", "string"), Column("et", "string")))
    both = (Completeness("country", ("us", "eu")),)
    other = (OtherTime("et", layouts("et", P.HOURLY)),)
    make_fact(w, StorageTable("t", "pt", layouts("pt", P.HOURLY), complete=both, others=other))

    def put(*values: tuple[str, str, str | None]) -> None:
        w.commit(
            lambda tx: [WritePartitions(table, tx.write_id(table), tuple(map(PartitionWrite, values)), overwrite=True)]
        )

    put((ONE, "us", ONE), (ONE, "us", TWO))
    assert (line(w, "t", P.HOURLY, "pt"), line(w, "t", P.HOURLY, "et")) == (set(), {ONE, TWO})
    put((ONE, "eu", None))
    assert line(w, "t", P.HOURLY, "pt") == {ONE}


def test_a_fact_of_two_times_comes_back_from_its_text() -> None:
    fact = Fact(7, "f", "c", (Storage("s", (paired("hours", P.HOURLY), paired("days", P.DAILY))),))
    assert decoded("fact", 7, "f", to_text(fact)) == fact
    assert fact.times == ("pt", "et")


# --- random histories ------------------------------------------------------------------------------------------------


@dataclass
class Part:
    """What the model knows of a pair. ``events`` counts for the base, ``as_of`` for the rollup."""

    live: bool = False
    wiped: bool = False
    content: bool = False
    event: int = -1
    as_of: int = -1


@dataclass
class Model:
    """Pairs of hours under pairs of days, by the words of docs/semantics.md."""

    hours: dict[Pair, Part] = field(default_factory=dict)
    days: dict[Pair, Part] = field(default_factory=dict)

    def exists(self) -> set[str]:
        """Hours of which something is there, and nothing was dropped."""
        leading = {pt for pt, _ in self.hours if pt is not None}
        of = {pt: [part for (one, _), part in self.hours.items() if one == pt] for pt in leading}
        return {
            pt
            for pt, parts in of.items()
            if any(part.live for part in parts) and all(part.live or part.wiped for part in parts)
        }

    def judged(self) -> tuple[set[str], set[str]]:
        """Days that are fresh, and outdated ones."""
        fresh: set[str] = set()
        outdated: set[str] = set()
        for day in {pt for (pt, _), part in self.days.items() if part.live and pt is not None}:
            parts = {et: part for (pt, et), part in self.days.items() if pt == day}
            base = [
                (et and et[:10], part) for (pt, et), part in self.hours.items() if pt is not None and pt[:10] == day
            ]
            right = (
                all(part.live or part.wiped or not part.content for part in parts.values())
                and all(
                    part.as_of >= max((one.event for et, one in base if et == mine), default=-1) and part.as_of != -1
                    for mine, part in parts.items()
                    if part.live
                )
                and all(et in parts and parts[et].live for et, one in base if one.content and not one.wiped)
            )
            (fresh if right else outdated).add(day)
        return fresh, outdated

    @staticmethod
    def values(table: dict[Pair, Part]) -> set[str]:
        return {et for (_, et), part in table.items() if part.live and et is not None}


def step(w: Warehouse, rng: random.Random, model: Model, hours: Table, days: Table) -> None:
    is_base = rng.random() < 0.5
    table, parts = (hours, model.hours) if is_base else (days, model.days)
    days_of = ("2013-01-01", "2013-01-02")
    times = [f"{day}-0{hour}" for day in days_of for hour in range(2)] if is_base else list(days_of)

    def pair() -> Pair:
        leading = None if is_base and rng.random() < 0.05 else rng.choice(times)
        return leading, None if rng.random() < 0.15 else rng.choice(times)

    live = [one for one, part in parts.items() if part.live]
    seen = w.catalog.snapshot().sequence

    def written(chosen: Sequence[Pair], commit: int, content: bool, as_of: int) -> None:
        for one in chosen:
            parts[one] = Part(True, False, content, commit, as_of)

    match rng.choice(("overwrite", "overwrite", "into", "drop", "drop", "wipe", "add")):
        case "overwrite":
            chosen = list({pair() for _ in range(rng.choice((1, 1, 2, 4)))})
            if not is_base and rng.random() < 0.7:
                # All that the hours of a day may be.
                day = rng.choice(times)
                chosen = [(day, None), *((day, one) for one in times)]
            files = 0 if rng.random() < 0.15 else 1
            written(chosen, write(w, table, *chosen, files=files), files > 0, seen)
        case "into":
            one = pair()
            before = parts.get(one, Part())
            commit = write(w, table, one, overwrite=False)
            written([one], commit, True, -1 if before.live and before.content else seen)
        case "drop" if live:
            one = rng.choice(live)
            drop(w, table, one)
            parts[one].live = False
        case "wipe":
            leading = rng.choice(times)
            kept = [(leading, pair()[1])]
            commit = write(w, table, *kept, wiping=leading)
            for one, part in parts.items():
                if one[0] == leading and not part.wiped:
                    parts[one] = Part(False, True, False, commit, -1)
            written(kept, commit, True, seen)
        case "add":
            one = pair()
            if one not in parts or not parts[one].live:
                commit = add(w, table, one)
                known = is_base and one in parts
                parts[one] = Part(True, False, False, commit if known else -1, 0)


@on_sqlite
@pytest.mark.parametrize("seed", range(6))
def test_random_histories_agree_with_a_model(w: Warehouse, hours: Table, days: Table, seed: int) -> None:
    rng, model = random.Random(seed), Model()
    seen_fresh = seen_outdated = 0
    for number in range(60):
        step(w, rng, model, hours, days)
        where = f"seed {seed}, step {number}"
        assert line(w, "hours", P.HOURLY, "et") == Model.values(model.hours), where
        assert line(w, "days", P.DAILY, "et") == Model.values(model.days), where
        assert line(w, "hours", P.HOURLY, "pt") == model.exists(), where
        fresh, outdated = model.judged()
        assert line(w, "days", P.DAILY, "pt") == fresh, where
        assert line(w, "days", P.DAILY, "pt", "outdated") == outdated, where
        assert not line(w, "days", P.DAILY, "et", "outdated"), where
        seen_fresh, seen_outdated = seen_fresh + len(fresh), seen_outdated + len(outdated)
    assert seen_fresh > 0, seed
    assert seen_outdated > 0, seed
