"""Conflicts of commits, and the log of the successful ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import pytest
import sqlalchemy as sa
from postgres import on_sqlite

from rewriter.catalog import Transaction
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionWrite,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, Table
from rewriter.errors import ConflictError, DataError, IntegrityError, OperationalError

from .support import STRING, P, Warehouse, key, names, paths, write


def _race(w: Warehouse, first: Callable[[Transaction], Change], second: Callable[[Transaction], Change]) -> None:
    """Runs two transactions that do not see each other. The first to commit wins."""
    earlier, later = w.catalog.begin(), w.catalog.begin()
    changes = first(earlier), second(later)
    earlier.commit([changes[0]])
    with later:
        later.commit([changes[1]])


def _writers(t: Table) -> dict[str, Callable[[Transaction], Change]]:
    return {
        "into a": lambda tx: write(tx, t, "a"),
        "into b": lambda tx: write(tx, t, "b"),
        "overwrite a": lambda tx: write(tx, t, "a", overwrite=True),
        "overwrite b": lambda tx: write(tx, t, "b", overwrite=True),
        "wipe": lambda tx: write(tx, t, overwrite=True, wipes=(KeyRange.of_prefix(prefix(t.id)),)),
        "drop a": lambda tx: DropPartitions(t, (key(t, "a"),)),
        "add n": lambda tx: AddPartitions(t, (PartitionWrite(("n",)),)),
        "into n": lambda tx: write(tx, t, "n"),
    }


@on_sqlite
@pytest.mark.parametrize("first", ["into a", "overwrite a", "wipe", "drop a", "add n", "into n"])
@pytest.mark.parametrize(
    "second", ["into a", "into b", "overwrite a", "overwrite b", "wipe", "drop a", "add n", "into n"]
)
def test_who_conflicts_with_whom(w: Warehouse, first: str, second: str) -> None:
    t = w.create("t")
    w.into(t, "a", "b")
    writers = _writers(t)
    same_key = first[-1] == second[-1] or "wipe" in (first, second)
    if same_key and not (first.startswith("into") and second.startswith("into")):
        with pytest.raises(ConflictError) as caught:
            _race(w, writers[first], writers[second])
        assert caught.value.retryable
        assert caught.value.sqlstate == "40001"
    else:
        _race(w, writers[first], writers[second])


@pytest.mark.share(3)
@on_sqlite
@pytest.mark.parametrize("seed", range(60))
def test_commits_conflict_where_they_name_the_same_keys(w: Warehouse, seed: int) -> None:
    """Random commits of several changes each, against a set of (key, exclusive) that each change names."""
    chance, t = Random(seed), w.create("t")
    values = "abcdef"
    old = w.catalog.begin()
    there, told = set[str](), set[tuple[str, bool]]()

    def change(tx: Transaction, there: set[str]) -> tuple[Change, set[tuple[str, bool]]]:
        kind, chosen = chance.choice(["into", "overwrite", "add", "drop"]), set(chance.sample(values, 2))
        if kind == "drop":
            chosen &= there
            there -= chosen
            return DropPartitions(t, tuple(key(t, v) for v in chosen)), {(v, True) for v in chosen}
        new = chosen - there
        there |= chosen
        if kind == "add":
            writes = tuple(PartitionWrite((v,)) for v in sorted(chosen))
            return AddPartitions(t, writes, if_not_exists=True), {(v, v in new) for v in chosen}
        exclusive = kind == "overwrite"
        return write(tx, t, *chosen, overwrite=exclusive), {(v, exclusive) for v in chosen}

    for _ in range(2):
        with w.catalog.begin() as tx:
            changes = [change(tx, there) for _ in range(chance.choice([1, 1, 2, 3]))]
            tx.commit([written for written, _ in changes])
        named = {claim for _, claims in changes for claim in claims}
        # What is there already is added without a trace, but by the commit that also appends to it.
        appended = {
            v for change, claims in changes if isinstance(change, WritePartitions) for v, own in claims if not own
        }
        told |= {(v, own) for v, own in named if own} | {(v, False) for v in appended}
        told |= {(v, True) for change, c in changes if isinstance(change, AddPartitions) for v, _ in c if v in appended}
    kind, chosen = chance.choice(["into", "overwrite"]), chance.choice(values)
    exclusive = kind == "overwrite"
    conflicting = any(v == chosen and (exclusive or is_exclusive) for v, is_exclusive in told)
    mine = write(old, t, chosen, overwrite=exclusive)
    if conflicting:
        with pytest.raises(ConflictError), old:
            old.commit([mine])
    else:
        old.commit([mine])


def test_adding_what_is_there_disturbs_nobody(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a")
    again = AddPartitions(t, (PartitionWrite(("a",)), PartitionWrite(("b",))), if_not_exists=True)
    _race(w, lambda tx: again, lambda tx: DropPartitions(t, (key(t, "a"),)))
    assert names(w.catalog.snapshot(), t) == ["b"]
    with pytest.raises(ConflictError):
        _race(w, lambda tx: write(tx, t, "b"), lambda tx: again)


def test_each_column_checks_its_own_values(w: Warehouse) -> None:
    t = w.create("t", (Column("s", "string"), Column("n", "int")))

    def add(*values: tuple[str, ...]) -> int:
        return w.commit(lambda tx: [AddPartitions(t, tuple(map(PartitionWrite, values)))])

    add(("01", "1"), ("1", "1"), ("01", "2"))
    for wrong in (("01", "01"), ("", "1"), ("01",), ("01", "1", "1")):
        with pytest.raises(DataError) as caught:
            add(("01", "3"), ("x", "1"), wrong)
        assert caught.value.condition == "INVALID_PARTITION_SPEC"
    assert [p.values for p in w.catalog.snapshot().partitions(t)] == [("01", "1"), ("01", "2"), ("1", "1")]


def test_concurrent_intos_of_one_partition_both_count(w: Warehouse) -> None:
    t = w.create("t")
    _race(w, lambda tx: write(tx, t, "a"), lambda tx: write(tx, t, "a"))
    (partition,) = w.catalog.snapshot().partitions(t)
    assert (partition.rows, partition.files) == (20, 2)
    assert paths(w.catalog.snapshot(), t) == ["2/a/0", "3/a/0"]


def test_a_later_transaction_has_no_conflict(w: Warehouse) -> None:
    t = w.create("t")
    w.overwrite(t, "a")
    w.overwrite(t, "a")
    assert paths(w.catalog.snapshot(), t) == ["3/a/0"]


def test_a_transaction_on_an_old_snapshot_conflicts(w: Warehouse) -> None:
    t = w.create("t")
    old = w.catalog.snapshot()
    w.into(t, "a")
    with pytest.raises(ConflictError), w.catalog.begin(old) as tx:
        tx.commit([write(tx, t, "a", overwrite=True)])


def test_if_not_exists_is_judged_at_commit(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a")
    with pytest.raises(ConflictError), w.catalog.begin() as tx:
        tx.commit([write(tx, t, "a", overwrite=True, if_not_exists=True)])
    assert paths(w.catalog.snapshot(), t) == ["2/a/0"]


def test_dropping_a_table_conflicts_with_its_writers(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")
    writer = w.catalog.begin()
    change = write(writer, t, "a")
    w.commit(lambda tx: [DropObject(t)])
    with pytest.raises(ConflictError, match="dropped"), writer:
        writer.commit([change])
    with pytest.raises(ConflictError):
        _race(w, lambda tx: write(tx, u, "a"), lambda tx: DropObject(u))
    assert w.catalog.snapshot().table("u") == u
    with pytest.raises(ConflictError):
        _race(w, lambda tx: DropObject(u), lambda tx: DropObject(u))


def test_creating_the_same_name_at_once_conflicts(w: Warehouse) -> None:
    def create(tx: Transaction) -> Change:
        return CreateObject(Table(tx.allocate_id(), "t", (), (), "parquet", "/w/t"))

    with pytest.raises(ConflictError):
        _race(w, create, create)
    with pytest.raises(IntegrityError), w.catalog.begin() as tx:
        tx.commit([create(tx)])


def test_freshness_marks_conflict_with_nothing(w: Warehouse, fact: dict[str, Table]) -> None:
    w.into(fact["hours"], "2013-01-01-00")
    w.overwrite(fact["days"], "2013-01-01", sources=[fact["hours"]])
    _race(
        w,
        lambda tx: write(tx, fact["hours"], "2013-01-01-00"),
        lambda tx: write(tx, fact["days"], "2013-01-01", overwrite=True, sources={fact["hours"].id: None}),
    )
    assert w.outdated("days", P.DAILY) == ["2013-01-01"]


def test_a_zombie_cannot_commit(w: Warehouse) -> None:
    t = w.create("t")
    zombie, alive = w.catalog.begin(), w.catalog.begin()
    change = write(zombie, t, "a")
    time.sleep(0.06)
    alive.heartbeat()
    assert w.catalog.abort_dead(0.05) == 1
    for action in (lambda: zombie.commit([change]), zombie.heartbeat, lambda: zombie.write_id(w.create("u"))):
        with pytest.raises(ConflictError) as caught:
            action()
        assert caught.value.condition == "TRANSACTION_NOT_OPEN"
    alive.commit([write(alive, t, "b")])
    assert names(w.catalog.snapshot(), t) == ["b"]


def test_a_commit_that_fails_leaves_nothing(w: Warehouse) -> None:
    t = w.create("t")
    w.add(t, "a")
    before = w.catalog.snapshot()
    with pytest.raises(IntegrityError), w.catalog.begin() as tx:
        tx.commit([write(tx, t, "b"), AddPartitions(t, (PartitionWrite(("a",)),))])
    after = w.catalog.snapshot()
    assert (after.sequence, names(after, t)) == (before.sequence, ["a"])
    assert len(w.catalog.events()) == 4


def test_a_commit_that_the_database_does_not_make_is_none(w: Warehouse) -> None:
    """The database fails at the very end, when all is applied."""
    t = w.create("t")

    def fails(_connection: object) -> None:
        sa.event.remove(sa.Engine, "commit", fails)
        raise sa.exc.OperationalError("COMMIT", {}, RuntimeError("no room"))

    tx = w.catalog.begin()
    change = write(tx, t, "a")
    sa.event.listen(sa.Engine, "commit", fails)
    with pytest.raises(OperationalError, match="no room"), tx:
        tx.commit([change])
    assert names(w.catalog.snapshot(), t) == []
    assert not w.catalog.snapshot().transactions.open
    w.into(t, "a")
    assert [event.sequence for event in w.catalog.events()] == [1, 2, 3, 4]


def test_changes_of_one_commit_see_each_other(w: Warehouse) -> None:
    with w.catalog.begin() as tx:
        t = Table(tx.allocate_id(), "t", (), (STRING,), "parquet", "/w/t")
        tx.commit(
            [
                CreateObject(t),
                write(tx, t, "a", "b"),
                DropPartitions(t, (key(t, "a"),)),
                AddPartitions(t, (PartitionWrite(("a",)),)),
            ]
        )
    assert [(p.values[0], p.files) for p in w.catalog.snapshot().partitions(t)] == [("a", 0), ("b", 1)]


def test_the_log_has_no_gaps_and_closes_every_commit(w: Warehouse) -> None:
    t = w.create("t")
    with w.catalog.begin() as tx:
        write(tx, t, "lost")
    w.into(t, "a")
    with pytest.raises(IntegrityError):
        w.add(t, "a")
    w.drop(t, "a")
    events = w.catalog.events()
    assert [event.sequence for event in events] == list(range(1, 7))
    assert [event.kind for event in events] == [
        "CREATE_TABLE",
        "COMMIT",
        "INSERT",
        "COMMIT",
        "DROP_PARTITION",
        "COMMIT",
    ]
    assert [event.commit_sequence for event in events] == [1, 1, 2, 2, 3, 3]
    assert events[2].object_id == t.id
    assert events[2].payload["write_ids"] == f"{t.id}:3:4::2"
    assert events[3].payload["write_ids"] == {str(t.id): f"{t.id}:3:4::2"}
    assert w.catalog.events(after=4, limit=1) == events[4:5]
