"""Tables whose partitions name two times: the timelines of both, against a model that enumerates the pairs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from fact_model import ADDED, BLIND, Base, Content, Key, Partitions, Shape
from postgres import on_sqlite

from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.json_codec import decode_object, to_text
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import (
    Column,
    Completeness,
    Cube,
    DataFile,
    Fact,
    OtherTime,
    Storage,
    StorageTable,
    Table,
)
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
    w: Warehouse,
    table: Table,
    *pairs: Pair,
    overwrite: bool = True,
    files: int = 1,
    wiping: str | None = None,
    sources: Sequence[Table] = (),
) -> int:
    """Commits an INSERT of these pairs. ``wiping`` removes all other pairs of a leading time."""
    with w.catalog.begin() as tx:
        write_id = tx.write_id(table)
        parts = tuple(
            PartitionWrite(pair, tuple(DataFile(f"/w/{write_id}/{pair}/{n}", 1, 10) for n in range(files)))
            for pair in pairs
        )
        first = key(table, wiping, None)[:-1] if wiping is not None else b""
        wipes = () if wiping is None else (KeyRange(first, first + b"\xff"),)
        return tx.commit([WritePartitions(table, write_id, parts, overwrite, wipes=wipes)], {t.id for t in sources})


def drop(w: Warehouse, table: Table, *pairs: Pair) -> int:
    return w.commit(lambda tx: [DropPartitions(table, tuple(key(table, *pair) for pair in pairs))])


def add(w: Warehouse, table: Table, pair: Pair) -> int:
    return w.commit(lambda tx: [AddPartitions(table, (PartitionWrite(pair),), if_not_exists=True)])


def line(w: Warehouse, table: str, period: UpdatePeriod, time: str, kind: str = "timeline") -> set[str]:
    timeline = getattr(w.catalog.snapshot(), kind)(table, period, time)
    layout = TimeLayout.of(period, [("x", None)])
    return {layout.values(o)[0] for r in timeline.ranges() for o in range(r.start, r.end)}


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
    second = (OtherTime("et", layouts("et", P.HOURLY)),)
    make_fact(w, StorageTable("t", "pt", layouts("pt", P.HOURLY), complete=both, others=second))

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
    assert decode_object("fact", 7, "f", to_text(fact, "/w"), "/w") == fact
    assert fact.times == ("pt", "et")


# --- random histories ------------------------------------------------------------------------------------------------


#: The relation of pairs of days to pairs of hours: the second time of an hour determines the pair that it belongs to.
PAIRS = Shape(lambda day: [f"{day}-{hour:02}" for hour in range(24)], seen=lambda et: et and et[:10])


def second_times(table: Partitions) -> set[object]:
    return {et for _, et in table.live if et is not None}


def leading_times(pairs: Iterable[Key]) -> set[object]:
    return {pt for pt, _ in pairs if pt is not None}


def step(w: Warehouse, rng: random.Random, base: Base, rollup: Partitions, hours: Table, days: Table) -> None:
    is_base = rng.random() < 0.5
    table, parts = (hours, base) if is_base else (days, rollup)
    days_of = ("2013-01-01", "2013-01-02")
    times = [f"{day}-0{hour}" for day in days_of for hour in range(2)] if is_base else list(days_of)

    def pair() -> Pair:
        leading = None if is_base and rng.random() < 0.05 else rng.choice(times)
        return leading, None if rng.random() < 0.15 else rng.choice(times)

    live = list(parts.live)
    seen = w.catalog.snapshot().sequence
    sources = [hours] if rng.random() < 0.8 else []
    computed = {day: PAIRS.computed(base, day, seen) if sources else BLIND for day in days_of}

    def written(chosen: Sequence[Pair], commit: int, files: tuple[str, ...], *, appends: bool = False) -> None:
        for key in chosen:
            before = parts.live.get(key, Content())
            if is_base:
                base.write(key, Content(files), commit)
            elif appends and before.files:
                rollup.put(key, before.appended(files))
            else:
                rollup.put(key, replace(computed[str(key[0])], files=files))

    match rng.choice(("overwrite", "overwrite", "into", "drop", "drop", "wipe", "add")):
        case "overwrite":
            chosen = list({pair() for _ in range(rng.choice((1, 1, 2, 4)))})
            if not is_base and rng.random() < 0.7:
                # All that the hours of a day may be.
                day = rng.choice(times)
                chosen = [(day, None), *((day, time) for time in times)]
            files = 0 if rng.random() < 0.15 else 1
            written(chosen, write(w, table, *chosen, files=files, sources=sources), ("",) * files)
        case "into":
            key = pair()
            written([key], write(w, table, key, overwrite=False, sources=sources), ("",), appends=True)
        case "drop" if live:
            key = rng.choice(live)
            drop(w, table, key)
            parts.drop(key)
        case "wipe":
            leading = rng.choice(times)
            kept = [(leading, pair()[1])]
            commit = write(w, table, *kept, wiping=leading, sources=sources)
            for key in [key for key in parts.known() if key[0] == leading]:
                if is_base:
                    base.wipe(key, commit)
                else:
                    rollup.remove(key)
            written(kept, commit, ("",))
        case "add":
            key = pair()
            if key not in parts.live:
                commit = add(w, table, key)
                if is_base:
                    base.add(key, commit)
                else:
                    rollup.put(key, ADDED)


@pytest.mark.share(3)
@on_sqlite
@pytest.mark.parametrize("seed", range(6))
def test_random_histories_agree_with_a_model(w: Warehouse, hours: Table, days: Table, seed: int) -> None:
    rng, base, rollup = random.Random(seed), Base(), Partitions()
    seen: Counter[str] = Counter()
    for number in range(60):
        step(w, rng, base, rollup, hours, days)
        where = f"seed {seed}, step {number}"
        assert line(w, "hours", P.HOURLY, "et") == second_times(base), where
        assert line(w, "days", P.DAILY, "et") == second_times(rollup), where
        # Hours of which something is there, and nothing was dropped.
        assert line(w, "hours", P.HOURLY, "pt") == leading_times(base.live) - leading_times(base.dropped), where
        judged = {day: PAIRS.state(base, rollup, day) for day in leading_times(rollup.live)}
        for kind in ("outdated", "unproven", "incomplete"):
            assert line(w, "days", P.DAILY, "pt", kind) == {day for day, state in judged.items() if state == kind}, (
                where
            )
            assert not line(w, "days", P.DAILY, "et", kind), where
        # Days never have all 24 hours.
        assert not line(w, "days", P.DAILY, "pt"), where
        seen.update(judged.values())
    assert seen["outdated"], seed
    assert seen["unproven"], seed
    # Of one seed retention takes an hour of each day before a rollup could be right.
    assert seen["incomplete"] or seed == 1, seed
