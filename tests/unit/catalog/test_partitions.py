"""Partitions and files, and what snapshots see of them."""

from __future__ import annotations

import pytest

from rewriter.catalog.keys.encoding import prefix, prefix_of
from rewriter.catalog.model.changes import AddPartitions, DropPartitions, PartitionWrite, WritePartitions
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column, DataFile, Table
from rewriter.errors import AnalysisError, ConflictError, DataError, IntegrityError

from .support import P, Warehouse, key, names, paths, write


def test_into_adds_and_overwrite_replaces(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "b", "a")
    w.into(t, "a", files=2)
    snapshot = w.catalog.snapshot()
    assert paths(snapshot, t) == ["2/a/0", "3/a/0", "3/a/1", "2/b/0"]
    assert [(p.values, p.rows, p.bytes, p.files) for p in snapshot.partitions(t)] == [
        (("a",), 30, 300, 3),
        (("b",), 10, 100, 1),
    ]
    w.overwrite(t, "a")
    w.into(t, "a")
    assert paths(w.catalog.snapshot(), t) == ["4/a/0", "5/a/0", "2/b/0"]
    w.overwrite(t, "a", files=0)
    after = w.catalog.snapshot()
    assert [(p.values, p.rows, p.files) for p in after.partitions(t)] == [(("a",), 0, 0), (("b",), 10, 1)]
    assert paths(after, t) == ["2/b/0"]


def test_rows_are_unknown_where_one_file_was_not_counted(w: Warehouse) -> None:
    t = w.create("t")
    for rows in (5, None, 5):
        with w.catalog.begin() as tx:
            part = PartitionWrite(("a",), (DataFile(f"/w/t/{rows}{tx.id}", rows, 1),))
            tx.commit([WritePartitions(t, tx.write_id(t), (part,), overwrite=False)])
    (partition,) = w.catalog.snapshot().partitions(t)
    assert (partition.rows, partition.bytes, partition.files) == (None, 3, 3)


def test_wiping_is_of_the_range_only(w: Warehouse) -> None:
    t = w.create("t", (Column("c", "string"), Column("d", "int")))
    with w.catalog.begin() as tx:
        parts = tuple(PartitionWrite(v, (DataFile(f"/w/{v}", 1, 1),)) for v in [("a", "1"), ("a", "2"), ("b", "1")])
        tx.commit([WritePartitions(t, tx.write_id(t), parts, overwrite=False)])
    with w.catalog.begin() as tx:
        wipe = KeyRange.of_prefix(prefix_of(t.id, ["string", "int"], ["a"]))
        tx.commit([WritePartitions(t, tx.write_id(t), (PartitionWrite(("a", "3")),), overwrite=True, wipes=(wipe,))])
    snapshot = w.catalog.snapshot()
    assert [p.values for p in snapshot.partitions(t)] == [("a", "3"), ("b", "1")]
    assert [p.values for p in snapshot.partitions(t, [wipe])] == [("a", "3")]
    assert [file.path for _, file in snapshot.files(t)] == ["/w/('b', '1')"]


def test_partitions_come_in_value_order_and_once(w: Warehouse) -> None:
    t = w.create("t", (Column("d", "int"),))
    w.into(t, "100", "20", "-3", "9")
    w.into(t, "9")
    snapshot = w.catalog.snapshot()
    assert names(snapshot, t) == ["-3", "9", "20", "100"]
    ranges = [KeyRange(key(t, "9"), key(t, "21")), KeyRange(key(t, "-5"), key(t, "10")), KeyRange(b"\x01", b"\x00")]
    assert [p.values[0] for p in snapshot.partitions(t, ranges)] == ["-3", "9", "20"]
    assert paths(snapshot, t, [KeyRange(key(t, "9"), key(t, "10"))]) == ["2/9/0", "3/9/0"]
    assert snapshot.partitions(t, []) == ()


def test_ranges_never_reach_into_other_tables(w: Warehouse) -> None:
    a, b = w.create("a"), w.create("b")
    w.into(a, "x")
    w.into(b, "y")
    everything = [KeyRange(b"", b"\xff")]
    snapshot = w.catalog.snapshot()
    assert [p.values for p in snapshot.partitions(a, everything)] == [("x",)]
    assert paths(snapshot, b, everything) == ["2/y/0"]
    with w.catalog.begin() as tx:
        tx.commit([write(tx, a, "z", overwrite=True, wipes=(everything[0],))])
    assert (names(w.catalog.snapshot(), a), names(w.catalog.snapshot(), b)) == (["z"], ["y"])


def test_an_unpartitioned_table_has_one_partition(w: Warehouse) -> None:
    t = w.create("t", ())
    assert w.catalog.snapshot().partitions(t) == ()
    for overwrite in (False, False, True):
        with w.catalog.begin() as tx:
            part = PartitionWrite((), (DataFile(f"/w/t/{tx.id}", 1, 1),))
            tx.commit([WritePartitions(t, tx.write_id(t), (part,), overwrite)])
    (partition,) = w.catalog.snapshot().partitions(t)
    assert (partition.key, partition.values, partition.files) == (prefix(t.id), (), 1)


def test_null_partitions_and_locations(w: Warehouse) -> None:
    t = w.create("t")
    with w.catalog.begin() as tx:
        tx.commit([AddPartitions(t, (PartitionWrite((None,), (), "/elsewhere"), PartitionWrite(("a",))))])
    w.commit(lambda tx: [WritePartitions(t, tx.write_id(t), (PartitionWrite((None,)),), overwrite=True)])
    assert [(p.values, p.location) for p in w.catalog.snapshot().partitions(t)] == [
        ((None,), "/elsewhere"),
        (("a",), None),
    ]


def test_external_tables_have_partitions_but_no_files(w: Warehouse) -> None:
    t = w.create("t", external=True)
    w.into(t, "a")
    snapshot = w.catalog.snapshot()
    assert [(p.values, p.rows, p.files) for p in snapshot.partitions(t)] == [(("a",), None, 0)]
    assert snapshot.files(t) == ()


def test_adding_and_dropping(w: Warehouse) -> None:
    t = w.create("t")
    twice = (PartitionWrite(("a",)), PartitionWrite(("a",)))
    w.commit(lambda tx: [AddPartitions(t, twice)])
    with pytest.raises(IntegrityError) as caught:
        w.add(t, "b", "a")
    assert (caught.value.condition, caught.value.sqlstate) == ("PARTITIONS_ALREADY_EXIST", "428FT")
    assert names(w.catalog.snapshot(), t) == ["a"]
    w.commit(lambda tx: [AddPartitions(t, (PartitionWrite(("a",)), PartitionWrite(("b",))), if_not_exists=True)])
    with pytest.raises(AnalysisError) as missing:
        w.drop(t, "a", "c")
    assert (missing.value.condition, missing.value.sqlstate) == ("PARTITIONS_NOT_FOUND", "428FT")
    w.drop(t, "a")
    assert names(w.catalog.snapshot(), t) == ["b"]


def test_values_that_are_not_canonical_are_refused(w: Warehouse) -> None:
    t = w.create("t", (Column("d", "int"),))
    for values in [("01",), ("x",), ("",), ("1", "2")]:
        with pytest.raises(DataError):
            w.commit(lambda tx, v=values: [AddPartitions(t, (PartitionWrite(v),))])


def test_an_older_snapshot_sees_what_it_saw(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a")
    early, unread = w.catalog.snapshot(), w.catalog.snapshot()
    seen = (names(early, t), paths(early, t))
    w.overwrite(t, "a")
    w.into(t, "b")
    w.drop(t, "a")
    # Also where nothing was read before the others committed.
    assert (names(unread, t), paths(unread, t)) == seen == (["a"], ["2/a/0"])
    assert (names(early, t), paths(early, t)) == seen
    assert w.catalog.snapshot().sequence == early.sequence + 3


def test_open_and_aborted_transactions_are_invisible(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a")
    first, second = w.catalog.begin(), w.catalog.begin()
    lost = write(first, t, "lost")
    kept = write(second, t, "kept")
    assert str(w.catalog.snapshot().write_ids(t.id)) == f"{t.id}:2:3::"
    second.commit([kept])
    ids = w.catalog.snapshot().write_ids(t.id)
    assert str(ids) == f"{t.id}:4:3:3:"
    before = w.catalog.snapshot()
    first.rollback()
    assert str(w.catalog.snapshot().write_ids(t.id)) == f"{t.id}:4:5::3"
    assert str(before.write_ids(t.id)) == f"{t.id}:4:3:3:"
    assert names(w.catalog.snapshot(), t) == ["a", "kept"]
    with pytest.raises(ConflictError):
        first.commit([lost])
    assert names(w.catalog.snapshot(), t) == ["a", "kept"]


def test_leaving_without_commit_rolls_back(w: Warehouse) -> None:
    t = w.create("t")
    with w.catalog.begin() as tx:
        write(tx, t, "a")
    assert str(w.catalog.snapshot().write_ids(t.id)) == f"{t.id}:1:2::"
    with pytest.raises(ConflictError):
        tx.heartbeat()
    failing = w.catalog.begin()
    with pytest.raises(AnalysisError), failing:
        failing.commit([DropPartitions(t, (key(t, "nosuch"),))])
    with pytest.raises(ConflictError):
        failing.heartbeat()


def test_commits_in_another_order_than_their_write_ids(w: Warehouse, fact: dict[str, Table]) -> None:
    hours = fact["hours"]
    first, second = w.catalog.begin(), w.catalog.begin()
    changes = write(first, hours, "2013-01-01-00"), write(second, hours, "2013-01-01-01")
    second.commit([changes[1]])
    between = w.catalog.snapshot()
    first.commit([changes[0]])
    assert names(between, hours) == ["2013-01-01-01"]
    assert len(between.timeline("hours", P.HOURLY, "t").ranges()) == 1
    assert between.timeline("hours", P.HOURLY, "t").count == 1
    assert w.fresh("hours", P.HOURLY) == ["2013-01-01-00", "2013-01-01-01"]
