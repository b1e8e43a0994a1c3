"""Copies of partitions on secondary clusters: what a snapshot sees of them after any history of changes.

The model of the random test knows only the rule: a cluster has a partition if it was copied, and its content was not
changed since.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from rewriter.catalog import Transaction
from rewriter.catalog.maintenance import file_garbage
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.model.changes import (
    AddCopies,
    AddPartitions,
    CopiedPartition,
    DropCopies,
    DropPartitions,
    MovePartitions,
    PartitionMove,
    PartitionWrite,
    SetClusters,
    TruncatePartitions,
)
from rewriter.catalog.model.objects import ClusterLocation, Table
from rewriter.errors import ConflictError, IntegrityError

from .support import Warehouse, key, paths, write
from .test_compact_changes import compacted

C2, C3 = ClusterLocation("c2", "/c2/t"), ClusterLocation("C3", "/c3/t")


def with_clusters(w: Warehouse, table: Table, *copies: ClusterLocation) -> Table:
    w.commit(lambda tx: [SetClusters(table, copies)])
    return w.catalog.snapshot().table(table.name)


def copied(tx: Transaction, table: Table, cluster: str, *values: str) -> AddCopies:
    """Copies all files that the transaction sees of these partitions."""
    write_id, parts = tx.write_id(table), []
    commits = {content.key: content.commit for content in tx.snapshot.contents(table)}
    for value in values:
        files = [file for partition, file in tx.snapshot.files(table) if partition.values == (value,)]
        copies = [file._replace(path=f"/{cluster}/{write_id}/{file.path.rpartition('/w/')[2]}") for file in files]
        partition = key(table, value)
        originals = tuple(file.path for file in files)
        parts.append(CopiedPartition(partition, commits[partition], originals, tuple(copies)))
    return AddCopies(table, cluster, write_id, tuple(parts))


def replicate(w: Warehouse, table: Table, cluster: str, *values: str) -> tuple[bytes, ...]:
    with w.catalog.begin() as tx:
        tx.commit([copied(tx, table, cluster, *values)])
        return tx.stale_copies


def on(w: Warehouse, table: Table, cluster: str) -> list[str | None]:
    """Returns the values of the partitions that a cluster has."""
    snapshot = w.catalog.snapshot()
    table = snapshot.table(table.name)
    ranges = snapshot.copied_ranges(table, cluster)
    return [p.values[0] for p in snapshot.partitions(table) if any(p.key in keys for keys in ranges)]


@pytest.fixture
def t(w: Warehouse) -> Table:
    table = w.create("t")
    w.into(table, *"abcde")
    return with_clusters(w, table, C2, C3)


def test_a_table_shows_its_clusters(w: Warehouse, t: Table) -> None:
    assert (t.cluster, t.copies) == (None, (C2, C3))
    assert on(w, t, "c2") == []


def test_copies_are_ranges(w: Warehouse, t: Table) -> None:
    replicate(w, t, "c2", *"abcde")
    assert on(w, t, "C2") == list("abcde")
    assert on(w, t, "c3") == []
    assert len(w.catalog.snapshot().copied_ranges(t, "c2")) == 1
    w.overwrite(t, "c")
    assert on(w, t, "c2") == list("abde")
    assert len(w.catalog.snapshot().copied_ranges(t, "c2")) == 2
    replicate(w, t, "c2", "c")
    assert len(w.catalog.snapshot().copied_ranges(t, "c2")) == 1


def test_a_new_partition_between_copies_is_not_one(w: Warehouse, t: Table) -> None:
    replicate(w, t, "c2", "a", "b", "c", "d", "e")
    w.into(t, "bb")
    w.commit(lambda tx: [AddPartitions(t, (PartitionWrite(("cc",)),))])
    assert on(w, t, "c2") == list("abcde")


def test_an_earlier_snapshot_sees_the_earlier_copies(w: Warehouse, t: Table) -> None:
    replicate(w, t, "c2", "a")
    before = w.catalog.snapshot()
    w.into(t, "a")
    (partition,) = [p for p in before.partitions(t) if p.values == ("a",)]
    assert [file.path for _, file in before.copied_files(t, "c2", [partition])] == ["/c2/4/t/2/a/0"]
    assert w.catalog.snapshot().copied_ranges(t, "c2") == ()


def test_a_partition_that_changed_while_it_was_copied_is_left_out(w: Warehouse, t: Table) -> None:
    with w.catalog.begin() as tx:
        change = copied(tx, t, "c2", "a", "b", "c")
        w.into(t, "a")
        w.commit(lambda other: [DropPartitions(t, (key(t, "b"),))])
        tx.commit([change])
        assert sorted(tx.stale_copies) == [key(t, "a"), key(t, "b")]
    assert on(w, t, "c2") == ["c"]


def test_a_writer_that_does_not_see_the_copies_gives_them_up(w: Warehouse, t: Table) -> None:
    with w.catalog.begin() as tx:
        change = write(tx, t, "a")
        replicate(w, t, "c2", "a", "b")
        tx.commit([change])
    assert on(w, t, "c2") == ["b"]


def test_compact_keeps_copies_and_their_files(w: Warehouse, t: Table) -> None:
    w.into(t, "a")
    replicate(w, t, "c2", "a", "b")
    w.commit(lambda tx: [compacted(tx, t, "a")])
    snapshot = w.catalog.snapshot()
    assert on(w, t, "c2") == ["a", "b"]
    (partition,) = [p for p in snapshot.partitions(t) if p.values == ("a",)]
    assert len(snapshot.copied_files(t, "c2", [partition])) == 2
    assert sum(file.rows or 0 for _, file in snapshot.copied_files(t, "c2", [partition])) == partition.rows


def test_a_cluster_must_be_a_secondary_one(w: Warehouse, t: Table) -> None:
    with pytest.raises(ConflictError, match="dropped the cluster c9"):
        replicate(w, t, "c9", "a")


def test_a_dropped_cluster_loses_its_copies(w: Warehouse, t: Table) -> None:
    replicate(w, t, "c2", *"abc")
    replicate(w, t, "c3", "a")
    t = with_clusters(w, t, C3)
    t = with_clusters(w, t, C2, C3)
    assert (on(w, t, "c2"), on(w, t, "c3")) == ([], ["a"])
    w.commit(lambda tx: [DropCopies(t, "c3", (key(t, "a"),))])
    assert on(w, t, "c3") == []


def test_two_changes_of_the_clusters_conflict(w: Warehouse, t: Table) -> None:
    with_clusters(w, t, C3)
    with pytest.raises(ConflictError, match="altered the clusters"):
        w.commit(lambda tx: [SetClusters(t, (C2,))])


class TestPrimary:
    def test_it_needs_every_partition(self, w: Warehouse, t: Table) -> None:
        replicate(w, t, "c2", *"abcd")
        with pytest.raises(IntegrityError) as caught:
            w.commit(lambda tx: [SetClusters(t, (ClusterLocation("c1", t.location),), primary="c2", previous="c1")])
        assert caught.value.condition == "CLUSTER_INCOMPLETE"
        assert "c2 lacks 1 of 5 partitions of 't'" in str(caught.value)

    def test_the_files_change_places(self, w: Warehouse, t: Table) -> None:
        w.into(t, "a")
        replicate(w, t, "c2", *"abcde")
        w.commit(lambda tx: [compacted(tx, t, "a")])
        before = w.catalog.snapshot()
        old = paths(before, t)
        w.commit(lambda tx: [SetClusters(t, (ClusterLocation("c1", t.location), C3), primary="c2", previous="c1")])
        after = w.catalog.snapshot()
        new = after.table("t")
        assert (new.cluster, new.location, [c.cluster for c in new.copies]) == ("c2", "/c2/t", ["c1", "C3"])
        assert all(file.path.startswith("/c2/") for _, file in after.files(new))
        assert on(w, new, "c1") == list("abcde")
        assert on(w, new, "c2") == []
        copies = after.copied_files(new, "c1", after.partitions(new))
        assert sorted(file.path.removeprefix("/w/t/") for _, file in copies) == sorted(old)
        assert next((p.values, p.rows, p.files) for p in after.partitions(new)) == (("a",), 20, 2)
        assert after.contents(new) == before.contents(t)

    def test_a_writer_that_does_not_see_the_change_conflicts(self, w: Warehouse, t: Table) -> None:
        replicate(w, t, "c2", *"abcde")
        with w.catalog.begin() as tx:
            change = write(tx, t, "f")
            w.commit(lambda other: [SetClusters(t, (), primary="c2", previous="c1")])
            with pytest.raises(ConflictError):
                tx.commit([change])


def test_files_of_given_up_copies_are_garbage_and_shared_ones_are_not(w: Warehouse, t: Table) -> None:
    replicate(w, t, "c2", "a", "b")
    w.into(t, "a")
    with w.catalog.database.read() as connection:
        tables = file_garbage.stored_tables(connection)
        limit = file_garbage.horizon(connection, 0.0)
        unneeded = file_garbage.unneeded_files(connection, tables, limit)
    assert [file.path for file in unneeded] == ["/c2/4/t/2/a/0"]
    removed = file_garbage.declare_removed(w.catalog.database, unneeded, 0.0, 3600.0)
    file_garbage.delete_rows(w.catalog.database, removed)
    assert w.sql("SELECT count(*) FROM copied_files") == [(1,)]
    w.commit(lambda tx: [SetClusters(w.catalog.snapshot().table("t"), ())])
    with w.catalog.database.read() as connection:
        rest = file_garbage.unneeded_files(connection, tables, file_garbage.horizon(connection, 0.0))
    assert [file.path for file in rest] == ["/c2/4/t/2/b/0"]


@dataclass
class History:
    """Random changes of two tables. The model knows the number of each partition's content, and the numbers of the
    contents that were copied.
    """

    w: Warehouse
    tables: dict[str, Table]
    live: dict[tuple[str, str], int] = field(default_factory=dict)
    copies: dict[tuple[str, str, str], int] = field(default_factory=dict)
    contents: int = 0

    def expected(self, name: str, cluster: str) -> list[str]:
        return sorted(
            v for (n, v), number in self.live.items() if n == name and self.copies.get((n, v, cluster)) == number
        )

    def changed(self, name: str, values: list[str]) -> None:
        for value in values:
            self.contents += 1
            self.live[name, value] = self.contents

    def keys(self, name: str, values: list[str]) -> tuple[bytes, ...]:
        return tuple(key(self.tables[name], value) for value in values)

    def into(self, name: str, values: list[str], random_: random.Random) -> None:
        (self.w.into if random_.random() < 0.5 else self.w.overwrite)(self.tables[name], *values)
        self.changed(name, values)

    def drop(self, name: str, values: list[str], random_: random.Random) -> None:
        self.w.commit(lambda tx: [DropPartitions(self.tables[name], self.keys(name, values))])
        for value in values:
            del self.live[name, value]

    def truncate(self, name: str, values: list[str], random_: random.Random) -> None:
        self.w.commit(lambda tx: [TruncatePartitions(self.tables[name], self.keys(name, values))])
        self.changed(name, values)

    def copy(self, name: str, values: list[str], random_: random.Random) -> None:
        cluster = random_.choice(("c2", "c3"))
        replicate(self.w, self.tables[name], cluster, *values)
        self.copies |= {(name, value, cluster): self.live[name, value] for value in values}

    def move(self, name: str, values: list[str], random_: random.Random) -> None:
        target, value = random_.choice(("t", "u")), values[0]
        free = next((other for other in VALUES if (target, other) not in self.live), None)
        if free is None:
            return
        moves = (PartitionMove(key(self.tables[name], value), (free,)),)
        self.w.commit(lambda tx: [MovePartitions(self.tables[name], self.tables[target], moves)])
        content = self.live.pop((name, value))
        self.live[target, free] = content
        for cluster in ("c2", "c3"):
            self.copies[target, free, cluster] = self.copies.get((name, value, cluster), 0)

    def compact(self, name: str, values: list[str], random_: random.Random) -> None:
        filled = {p.values[0] for p, _ in self.w.catalog.snapshot().files(self.tables[name])}
        parts = [value for value in values if value in filled]
        if parts:
            self.w.commit(lambda tx: [compacted(tx, self.tables[name], *parts)])

    def give_up(self, name: str, values: list[str], random_: random.Random) -> None:
        self.w.commit(lambda tx: [DropCopies(self.tables[name], "C2", self.keys(name, values))])
        for value in values:
            self.copies.pop((name, value, "c2"), None)


VALUES = "abcdefgh"
ACTIONS = (History.drop, History.truncate, History.copy, History.copy, History.move, History.compact, History.give_up)


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(w: Warehouse, seed: int) -> None:
    random_ = random.Random(seed)
    history = History(w, {name: with_clusters(w, w.create(name), C2, C3) for name in ("t", "u")})
    for _ in range(40):
        name = random_.choice(("t", "u"))
        values = random_.sample(VALUES, random_.randint(1, 4))
        existing = [value for value in values if (name, value) in history.live]
        action = random_.choice(ACTIONS) if existing and random_.random() < 0.7 else History.into
        action(history, name, values if action is History.into else existing, random_)
        for shown in ("t", "u"):
            for cluster in ("c2", "c3"):
                assert on(w, history.tables[shown], cluster) == history.expected(shown, cluster), (action, cluster)
        check_files(w, history.tables)


def check_files(w: Warehouse, tables: dict[str, Table]) -> None:
    """The copied files of a partition have its rows."""
    snapshot = w.catalog.snapshot()
    for table in tables.values():
        for cluster in ("c2", "c3"):
            ranges = snapshot.copied_ranges(table, cluster)
            held = [p for p in snapshot.partitions(table) if any(p.key in keys for keys in ranges)]
            rows = {p.key: 0 for p in held}
            for partition, file in snapshot.copied_files(table, cluster, held):
                rows[partition.key] += file.rows or 0
            assert rows == {p.key: p.rows for p in held}
    problems = [finding.problem for finding in findings(w.catalog.database)]
    assert [problem for problem in problems if "cannot be read" not in problem] == []


def test_a_copied_file_of_a_damaged_catalog_is_an_error(w: Warehouse, t: Table) -> None:
    replicate(w, t, "c2", "a")
    snapshot = w.catalog.snapshot()
    (partition,) = [p for p in snapshot.partitions(t) if p.values == ("b",)]
    with pytest.raises(Exception, match="is read on c2, which does not have it"):
        snapshot.copied_files(t, "c2", [partition])


def test_definitions_are_text_and_back(w: Warehouse, t: Table) -> None:
    assert w.opened().snapshot().table("t") == t


class TestCheck:
    """``catalog check`` finds rows of copies that contradict each other."""

    def problems(self, w: Warehouse) -> list[str]:
        return [f.problem for f in findings(w.catalog.database) if "cannot be read" not in f.problem]

    def test_nothing_is_wrong_at_first(self, w: Warehouse, t: Table) -> None:
        replicate(w, t, "c2", "a", "b", "d")
        assert self.problems(w) == []

    @pytest.mark.parametrize(
        ("damage", "problem"),
        [
            ("UPDATE copied_files SET rows = 1", "has other rows"),
            ("DELETE FROM copied_files", "has other rows"),
            ("UPDATE partition_copies SET cluster = 'c9'", "none of its clusters"),
            ("UPDATE partition_copies SET end_key = start_key", "overlap"),
            ("DELETE FROM partition_copies", "belongs to no copy"),
            ("UPDATE partition_copies SET made = 99", "does not match"),
        ],
    )
    def test_damage_is_found(self, w: Warehouse, t: Table, damage: str, problem: str) -> None:
        replicate(w, t, "c2", "a", "b", "d")
        w.sql(damage)
        assert any(problem in found for found in self.problems(w))
