"""Timelines rebuilt from partitions equal the stored ones, and damaged ones are repaired.

Random histories are the proof: the timelines that commits changed one by one are the model of the rebuilt ones.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection

import pytest
from postgres import on_sqlite, seeds
from statements import watch

from rewriter.catalog import Snapshot
from rewriter.catalog.commit.stored_timelines import STATES, TimelineDifference
from rewriter.catalog.facts.timeline_properties import PRESENT, class_key
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    AlterStorages,
    AlterTable,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    ListedPartition,
    MovePartitions,
    NoteFiles,
    PartitionAlteration,
    PartitionMove,
    PartitionWrite,
    RefreshTimelines,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import (
    Column,
    Completeness,
    Cube,
    DataFile,
    Fact,
    PartitionValues,
    Storage,
    StorageTable,
    Table,
)
from rewriter.catalog.store import schema
from rewriter.errors import AnalysisError, ConflictError, OperationalError
from rewriter.timeline.timeline import OrdinalRange

from .support import BASE, STRING, P, Warehouse, key, layout, write

Tables = dict[str, Table]
Rows = Counter[tuple[object, ...]]
COUNTRY = Column("country", "string")
BOTH = (Completeness("country", ("us", "eu")),)
ANY = (Completeness("country", None),)


def refresh(w: Warehouse) -> tuple[TimelineDifference, ...]:
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
        return tx.differences


def alter(w: Warehouse, table: str, set: dict[str, str], *unset: str) -> tuple[TimelineDifference, ...]:
    with w.catalog.begin() as tx:
        tx.commit([AlterTable(tx.snapshot.table(table), set, unset)])
        return tx.differences


#: The timeline values of a snapshot.
LINES = ("timeline", "outdated", "retired", "unproven", "incomplete")
COLUMNS = "table_id, period, time_key, state, start_ordinal, end_ordinal"
LIVE = f"SELECT {COLUMNS} FROM timeline_ranges WHERE ended = {schema.NEVER}"


def stored(w: Warehouse) -> Rows:
    return Counter(w.sql(LIVE))


def insert(w: Warehouse, table: Table, period: int, time: str, state: int, start: int, end: int) -> None:
    values = ":table_id, :period, :time_key, :state, :start_ordinal, :end_ordinal"
    given = (table.id, period, time, state, start, end)
    w.sql(
        f"INSERT INTO timeline_ranges ({COLUMNS}, made, ended, commit_seq) VALUES ({values}, 1, {schema.NEVER}, 1)",
        **dict(zip(COLUMNS.split(", "), given, strict=True)),
    )


# --- random histories ----------------------------------------------------------------------------------------------


class History:
    """Two base tables of one time dimension, perhaps one of another, and rollups of all kinds; seeded."""

    def __init__(self, w: Warehouse, seed: int) -> None:
        self.w, self.rng = w, random.Random(seed)
        shapes: list[tuple[str, tuple[P, ...], tuple[Completeness, ...], str, bool]] = [
            ("hours", (P.HOURLY,), BOTH, "t", False),
            ("flat", (P.HOURLY, P.YEARLY), (), "t", False),
            ("days", (P.DAILY,), BOTH, "t", False),
            ("any", (P.DAILY, P.MONTHLY), ANY, "T", False),
            ("months", (P.WEEKLY, P.MONTHLY), (), "t", False),
            ("trusted", (P.MONTHLY,), BOTH, "t", True),
            ("external", (P.MONTHLY,), (), "t", False),
        ]
        if seed % 2:
            shapes.append(("outside", (P.HOURLY,), BOTH, "t", False))
        if seed % 3 == 0:
            shapes.append(("others", (P.HOURLY,), (), "u", False))
        self.tables: Tables = {}
        for name, _, complete, _, _ in shapes:
            columns = (STRING, COUNTRY) if complete else (STRING,)
            self.tables[name] = w.create(name, columns, external=name in ("external", "outside"))
        self.shapes = {name: (periods, complete) for name, periods, complete, _, _ in shapes}
        self.storage = Storage(
            "s",
            tuple(
                StorageTable(name, time, {period: layout(period) for period in periods}, trusted, complete)
                for name, periods, complete, time, trusted in shapes
            ),
        )
        w.commit(lambda tx: [CreateObject(Cube(tx.allocate_id(), "c", (), (), ("t", "u"), ("t", "u")))])
        self.create_fact()

    def create_fact(self) -> None:
        self.w.commit(lambda tx: [CreateObject(Fact(tx.allocate_id(), "f", "c", (self.storage,)))])

    def values(self, name: str) -> tuple[str | None, ...]:
        """Returns values of few hours, so that histories meet."""
        periods, complete = self.shapes[name]
        if name == "others" and self.rng.random() < 0.1:
            return (None,)
        period = self.rng.choice(periods)
        day = P.DAILY.start(15706 + self.rng.randrange(3) * 15)
        instant = day + self.rng.randrange(2) * 3_600_000_000
        value = layout(period).values(period.ordinal(instant))[0]
        return (value, self.rng.choice(["us", "eu", "jp"])) if complete else (value,)

    def alter(self) -> None:
        """Removes a table from the fact, or adds it again. One table of the base period stays."""
        fact = self.w.catalog.snapshot().fact("f")
        inside = {table.table for table in fact.tables}
        outside = [table for table in self.storage.tables if table.table not in inside]
        if outside and self.rng.random() < 0.6:
            tables = (*fact.tables, self.rng.choice(outside))
        else:
            gone = self.rng.choice([name for name in sorted(inside) if name != "hours"] or ["hours"])
            tables = tuple(table for table in fact.tables if table.table != gone)
        if tables:
            self.w.commit(lambda tx: [AlterStorages(fact, (Storage("s", tuple(tables)),))])

    def step(self) -> None:
        rng, w = self.rng, self.w
        if rng.random() < 0.05:
            self.alter()
        if rng.random() < 0.02:
            w.commit(lambda tx: [DropObject(tx.snapshot.fact("f"))])
            for _ in range(3):
                self.change()
            self.create_fact()
        else:
            self.change()

    def change(self) -> None:
        rng, w = self.rng, self.w
        name = rng.choice(list(self.tables))
        table = self.tables[name]
        types = len(table.partition_columns)
        chosen = list(dict.fromkeys(self.values(name) for _ in range(rng.choice([1, 2, 4]))))
        snapshot = w.catalog.snapshot()
        there = {partition.values for partition in snapshot.partitions(table)}
        with w.catalog.begin() as tx:
            kind = rng.choice(["into", "over", "over", "over", "wipe", "add", "drop", "move", "truncate"])
            change: Change
            if name == "outside" and kind in ("into", "over", "wipe", "truncate"):
                change = self.outside(table, there)
            elif kind == "move":
                change = self.move(snapshot, table, there, rng.choice(chosen)) or DropPartitions(table, ())
            elif kind == "truncate" and not table.external:
                change = TruncatePartitions(table, tuple(key(table, *values) for values in there if values in chosen))
            elif kind == "add":
                change = AddPartitions(table, tuple(PartitionWrite(values) for values in chosen), True)
            elif kind == "drop":
                gone = [values for values in chosen if values in there] or sorted(there, key=repr)[:1]
                change = DropPartitions(table, tuple(key(table, *values) for values in gone))
            else:
                write_id = tx.write_id(table)
                parts = tuple(
                    PartitionWrite(
                        values, tuple(DataFile(f"{write_id}/{values}/{n}", 1, 1) for n in range(rng.choice([0, 1, 1])))
                    )
                    for values in chosen
                )
                wipes: tuple[KeyRange, ...] = ()
                if kind == "wipe":
                    bounds = sorted([key(table, *self.values(name)), key(table, *self.values(name))])
                    if types and bounds[0] < bounds[1]:
                        wipes = (KeyRange(bounds[0], bounds[1]),)
                change = WritePartitions(table, write_id, parts, kind != "into", wipes)
            bases = [self.tables[name] for name in ("hours", "flat", "outside", "others") if name in self.tables]
            read = rng.choice([bases, bases, bases, rng.sample(list(self.tables.values()), 2), []])
            tx.commit([change], {source.id for source in read} if name not in ("hours", "outside", "others") else ())

    def outside(self, table: Table, there: Collection[PartitionValues]) -> Change:
        """Returns a change of the files of an external base: they are listed, or lie elsewhere."""
        rng = self.rng
        altered = rng.sample(sorted(there, key=repr), min(len(there), 2))
        if rng.random() < 0.3:
            places = ["/a", "/b", None]
            return AlterPartitions(
                table, tuple(PartitionAlteration(key(table, *values), rng.choice(places)) for values in altered)
            )
        digests = ["a", "a", "b", None]
        listed = (ListedPartition(key(table, *values), rng.choice(digests), rng.choice(digests)) for values in altered)
        return NoteFiles(table, tuple(listed))

    def move(
        self, snapshot: Snapshot, table: Table, there: Collection[PartitionValues], goal: PartitionValues
    ) -> Change | None:
        """Renames a partition to a free name of its table, or moves it to or from a table of the same columns."""
        alike = [
            candidate for candidate in self.tables.values() if candidate.partition_columns == table.partition_columns
        ]
        source = self.rng.choice([table, *(candidate for candidate in alike if candidate.external == table.external)])
        lengths = {len(layout(period).values(0)[0] or "") for period in self.shapes[table.name][0]}
        movable = [
            (partition.key, values)
            for partition in snapshot.partitions(source)
            for values in [goal if source is table else partition.values]
            if values not in there and len(values[0] or "") in lengths
        ]
        if not movable:
            return None
        moved, values = self.rng.choice(movable)
        return MovePartitions(source, table, (PartitionMove(moved, values),))

    def timelines(self) -> dict[object, object]:
        """Returns the values that a reader gets from every timeline."""
        snapshot = self.w.catalog.snapshot()
        return {
            (table.table, period, line): getattr(snapshot, line)(table.table, period, table.time).ranges()
            for table in self.storage.tables
            for period in table.layouts
            for line in LINES
        }

    def damage(self) -> None:
        rng, w = self.rng, self.w
        ids = [row_id for (row_id,) in w.sql(f"SELECT row_id FROM timeline_ranges WHERE ended = {schema.NEVER}")]
        kind = rng.choice(["delete", "delete", "bogus", "state", "longer", "twice", "all"])
        if kind == "bogus" or not ids:
            start = P.HOURLY.ordinal(P.DAILY.start(15706)) + rng.randrange(-5, 5)
            period, time = rng.choice([(2, "t"), (3, "t"), (5, "t"), (7, "t"), (99, "t"), (2, "T"), (2, "zz")])
            table = self.tables[rng.choice([stored.table for stored in w.catalog.snapshot().fact("f").tables])]
            insert(w, table, period, time, rng.choice([*STATES, 9]), start, start + rng.randrange(4))
            return
        row_id = rng.choice(ids)
        if kind == "delete":
            w.sql("DELETE FROM timeline_ranges WHERE row_id = :row_id", row_id=row_id)
        elif kind == "state":
            w.sql("UPDATE timeline_ranges SET state = (state + 1) % 5 WHERE row_id = :row_id", row_id=row_id)
        elif kind == "longer":
            w.sql("UPDATE timeline_ranges SET end_ordinal = end_ordinal + 2 WHERE row_id = :row_id", row_id=row_id)
        elif kind == "twice":
            columns = "table_id, period, time_key, state, start_ordinal, end_ordinal, made, ended, commit_seq"
            w.sql(
                f"INSERT INTO timeline_ranges ({columns}) SELECT {columns} FROM timeline_ranges WHERE row_id = :row_id",
                row_id=row_id,
            )
        else:
            w.sql(f"DELETE FROM timeline_ranges WHERE ended = {schema.NEVER}")


@pytest.mark.share(3)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(6), indirect=["catalog_url"])
def test_rebuilt_timelines_say_what_commits_made_them_say(w: Warehouse, seed: int) -> None:
    run(w, seed, steps=50 if w.url is None else 5)


@pytest.mark.long
@on_sqlite
@pytest.mark.parametrize("seed", range(100, 130))
def test_rebuilt_timelines_after_long_histories(w: Warehouse, seed: int) -> None:
    run(w, seed, steps=150)


def run(w: Warehouse, seed: int, steps: int) -> None:
    history = History(w, seed)
    states: set[object] = set()
    for step in range(steps):
        history.step()
        before = stored(w)
        states |= {row[3] for row in before}
        assert refresh(w) == (), f"seed {seed}, step {step}"
        assert stored(w) == before
        if step % 5 == 4:
            history.damage()
            damaged = stored(w)
            repairs = refresh(w)
            assert stored(w) == before, f"seed {seed}, step {step}"
            assert bool(repairs) == (_sets(damaged) != _sets(before))
            assert refresh(w) == ()
    # A short history need not write a rollup, nor a longer one drop a base partition for good.
    assert states >= {schema.FRESH, schema.OUTDATED, schema.UNPROVEN} or steps < 50
    assert schema.RETIRED in states or steps < 100
    told = history.timelines()
    for kind in ("StoreAll", "Ranges", "Bitmap"):
        for table in history.storage.tables:
            alter(w, table.table, {class_key(period, "DT"): kind for period in table.layouts})
        assert history.timelines() == told
        snapshot = w.catalog.snapshot()
        inside = any(table.table == "any" for table in snapshot.fact("f").tables)
        expected = f"{kind if inside else 'EndsAndHoles'}PartitionTimeline"  # A table outside has the default kind.
        assert snapshot.timeline("any", P.DAILY, "t").__class__.__name__ == expected
    assert refresh(w) == ()


def _sets(rows: Rows) -> set[tuple[object, ...]]:
    """Returns the single ordinals of each table, period, time and known state."""
    return {
        (*rest, ordinal)
        for *rest, start, end in rows
        if rest[3] in STATES
        for ordinal in range(int(str(start)), int(str(end)))
    }


# --- reports of damage ----------------------------------------------------------------------------------------


@pytest.fixture
def loaded(w: Warehouse, fact: Tables) -> Tables:
    """Writes hours of three days. The first is dropped, the second written again: its day and month are outdated."""
    hours, days, coarse = fact["hours"], fact["days"], fact["coarse"]
    w.into(hours, "2013-01-01-00", "2013-01-02-00", "2013-01-03-00", "2013-01-03-01")
    w.overwrite(days, "2013-01-01", "2013-01-02", "2013-01-03", sources=[hours])
    w.overwrite(coarse, "2013-01", sources=[days])
    w.into(hours, "2013-01-02-00")
    w.drop(hours, "2013-01-01-00")
    return fact


def day(value: str) -> int:
    return layout(P.DAILY).ordinal([value])


def test_what_was_lost_comes_back_and_is_told(w: Warehouse, loaded: Tables) -> None:
    before = stored(w)
    w.sql(f"DELETE FROM timeline_ranges WHERE ended = {schema.NEVER} AND state <> 1")
    assert (w.outdated("days", P.DAILY), w.line("hours", P.HOURLY, "retired")) == ([], [])
    hour = P.HOURLY.ordinal(P.DAILY.start(day("2013-01-01")))
    second = day("2013-01-02")
    month = P.MONTHLY.ordinal(P.DAILY.start(second))
    none: frozenset[int] = frozenset()
    incomplete = frozenset({schema.INCOMPLETE})
    assert refresh(w) == (
        TimelineDifference("hours", 2, "t", OrdinalRange(hour, hour + 1), none, frozenset({schema.RETIRED})),
        TimelineDifference("days", 3, "t", OrdinalRange(second - 1, second), none, incomplete),
        TimelineDifference("days", 3, "t", OrdinalRange(second, second + 1), none, frozenset({schema.OUTDATED})),
        TimelineDifference("days", 3, "t", OrdinalRange(second + 1, second + 2), none, incomplete),
        TimelineDifference("coarse", 5, "t", OrdinalRange(month, month + 1), none, frozenset({schema.OUTDATED})),
    )
    assert stored(w) == before
    assert w.outdated("days", P.DAILY) == ["2013-01-02"]
    assert w.line("hours", P.HOURLY, "retired") == ["2013-01-01-00"]
    assert refresh(w) == ()


def test_an_outdated_rollup_that_was_made_fresh_is_outdated_again(w: Warehouse, loaded: Tables) -> None:
    w.sql(f"UPDATE timeline_ranges SET state = 1 WHERE ended = {schema.NEVER} AND state = 0")
    assert w.fresh("coarse", P.MONTHLY) == ["2013-01"]
    assert {(repair.table, repair.was, repair.now) for repair in refresh(w)} == {
        ("days", frozenset({schema.FRESH}), frozenset({schema.OUTDATED})),
        ("coarse", frozenset({schema.FRESH}), frozenset({schema.OUTDATED})),
    }
    assert (w.fresh("coarse", P.MONTHLY), w.outdated("days", P.DAILY)) == ([], ["2013-01-02"])


def test_what_a_period_without_partitions_said_is_gone(w: Warehouse, loaded: Tables) -> None:
    before = stored(w)
    first = day("2013-02-01")
    insert(w, loaded["days"], 3, "t", schema.FRESH, first, first + 5)
    insert(w, loaded["days"], 42, "t", schema.FRESH, 1, 2)
    (unknown, bogus) = refresh(w)
    assert (unknown.period, unknown.ordinals) == (42, OrdinalRange(1, 2))
    fresh, none = frozenset({schema.FRESH}), frozenset[int]()
    assert bogus == TimelineDifference("days", 3, "t", OrdinalRange(first, first + 5), fresh, none)
    assert stored(w) == before


def test_a_row_that_no_range_can_be_made_of_is_told_and_mended(w: Warehouse, loaded: Tables) -> None:
    insert(w, loaded["days"], 3, "t", schema.FRESH, 7, 7)
    with pytest.raises(OperationalError) as caught:
        w.fresh("days", P.DAILY)
    assert (caught.value.condition, caught.value.object) == ("DAMAGED_TIMELINE", "days")
    assert "REFRESH TIMELINES" in str(caught.value.hint)
    refresh(w)
    assert w.fresh("days", P.DAILY) == ["2013-01-01", "2013-01-03"]


def test_a_snapshot_of_before_keeps_what_it_saw(w: Warehouse, loaded: Tables) -> None:
    w.sql(f"DELETE FROM timeline_ranges WHERE ended = {schema.NEVER} AND state = 1 AND period = 3")
    damaged = w.catalog.snapshot()
    refresh(w)
    assert damaged.timeline("days", P.DAILY, "t").is_empty
    assert w.fresh("days", P.DAILY) == ["2013-01-01", "2013-01-03"]


def test_an_equal_fact_goes_on(w: Warehouse, loaded: Tables) -> None:
    before = stored(w)
    w.commit(lambda tx: [DropObject(tx.snapshot.fact("f"))])
    w.create_fact(BASE)
    assert stored(w) == before
    assert w.line("hours", P.HOURLY, "retired") == ["2013-01-01-00"]
    assert refresh(w) == ()


def test_what_was_dropped_before_another_fact_is_forgotten(w: Warehouse, loaded: Tables) -> None:
    w.commit(lambda tx: [DropObject(tx.snapshot.fact("f"))])
    w.create_fact({name: BASE[name] for name in ("hours", "days")})
    assert w.line("hours", P.HOURLY, "retired") == []
    w.drop(loaded["hours"], "2013-01-03-00")
    assert w.line("hours", P.HOURLY, "retired") == ["2013-01-03-00"]
    assert refresh(w) == ()


# --- properties ----------------------------------------------------------------------------------------------------


def test_present_false_rebuilds_the_timelines_of_that_table(w: Warehouse, loaded: Tables) -> None:
    before = stored(w)
    w.sql(f"DELETE FROM timeline_ranges WHERE ended = {schema.NEVER}")
    unread = w.catalog.snapshot()
    repairs = alter(w, "days", {PRESENT: "false", "k": "v"})
    assert {repair.table for repair in repairs} == {"days"}
    assert w.catalog.snapshot().table("days").properties == {PRESENT: "true", "k": "v"}
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2013-01-01", "2013-01-03"], ["2013-01-02"])
    assert w.fresh("hours", P.HOURLY) == []
    assert unread.table("days").properties == {}
    refresh(w)
    assert stored(w) == before


def test_outside_facts_there_is_nothing_to_rebuild(w: Warehouse) -> None:
    days = w.create("days")
    w.into(days, "2013-01-01")
    assert alter(w, "days", {PRESENT: "false", class_key(P.DAILY, "dt"): "Bitmap"}) == ()
    assert w.catalog.snapshot().table("days").properties[PRESENT] == "false"
    assert w.catalog.snapshot().timeline("days", P.DAILY, "t").is_empty
    w.create_fact({"days": [P.DAILY]})
    assert w.catalog.snapshot().table("days").properties[PRESENT] == "true"
    assert type(w.catalog.snapshot().timeline("days", P.DAILY, "T")).__name__ == "BitmapPartitionTimeline"
    assert w.fresh("days", P.DAILY) == ["2013-01-01"]


def test_an_altered_table_leaves_rollups_fresh(w: Warehouse, fact: Tables) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2013-01-01-00", "2013-01-02-00")
    w.overwrite(days, "2013-01-01", sources=[hours])
    with w.catalog.begin() as tx:
        change = write(tx, days, "2013-01-02", overwrite=True)
        for name in BASE:
            alter(w, name, {class_key(P.DAILY, "dt"): "Ranges", "k": "v"})
        tx.commit([change], [hours.id])
    assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2013-01-01", "2013-01-02"], [])
    # What is computed of a rollup that was altered after it was written knows what that knew.
    alter(w, "days", {"k": "w"}, "no such key")
    w.overwrite(fact["coarse"], "2013-01", sources=[days])
    assert w.fresh("coarse", P.MONTHLY) == ["2013-01"]
    assert refresh(w) == ()


def test_two_who_alter_a_table_both_do(w: Warehouse) -> None:
    w.create("t")
    with w.catalog.begin() as first, w.catalog.begin() as second:
        first.commit([AlterTable(first.snapshot.table("t"), {"a": "1"})])
        second.commit([AlterTable(second.snapshot.table("t"), {"b": "2"}, ("c",))])
    before = w.catalog.snapshot()
    alter(w, "t", {"c": "3"}, "a")
    assert before.table("t").properties == {"a": "1", "b": "2"}
    assert w.catalog.snapshot().table("t").properties == {"b": "2", "c": "3"}
    assert [event.kind for event in w.catalog.events()].count("ALTER_TABLE") == 3


def test_what_is_gone_is_neither_altered_nor_refreshed(w: Warehouse, fact: Tables) -> None:
    before = w.catalog.snapshot()
    w.commit(lambda tx: [DropObject(before.fact("f")), DropObject(fact["days"])])
    for change in (AlterTable(fact["days"], {"a": "1"}), RefreshTimelines(before.fact("f"))):
        with pytest.raises(ConflictError, match="dropped"):
            w.commit(lambda tx, change=change: [change])


def test_two_properties_that_disagree_about_one_timeline_are_an_error(w: Warehouse, fact: Tables) -> None:
    alter(w, "days", {class_key(P.DAILY, "dt"): "Bitmap", class_key(P.DAILY, "T"): "Ranges"})
    with pytest.raises(AnalysisError) as caught:
        w.fresh("days", P.DAILY)
    assert (caught.value.condition, caught.value.object) == ("INVALID_TIMELINE_PROPERTY", "days")
    assert "UNSET TBLPROPERTIES" in str(caught.value.hint)


def test_all_timelines_of_a_table_are_one_read(w: Warehouse, loaded: Tables) -> None:
    alter(w, "coarse", {class_key(P.MONTHLY, "dt"): "Bitmap", class_key(P.YEARLY, "t"): "Ranges"})
    snapshot = w.catalog.snapshot()
    snapshot.table("coarse"), snapshot.facts()
    seen: list[str] = []

    end = watch(seen.append)
    try:
        for period in (P.MONTHLY, P.YEARLY):
            for line in (*LINES, "timeline"):
                getattr(snapshot, line)("coarse", period, "t").ranges()
    finally:
        end()
    assert len([statement for statement in seen if "timeline_ranges" in statement]) == 1
    assert len([statement for statement in seen if "SELECT" in statement]) == 3  # two for the list of valid write ids
