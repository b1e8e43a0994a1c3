"""COMPACT in the catalog: what it replaces, what stays, who conflicts, and that to facts nothing has happened."""

from __future__ import annotations

import pytest

from rewriter.catalog import Transaction
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.model.changes import (
    AlterColumns,
    CompactedPartition,
    CompactPartitions,
    DropObject,
    DropPartitions,
    RefreshTimelines,
)
from rewriter.catalog.model.objects import Column, DataFile, Table
from rewriter.errors import ConflictError

from .support import P, Warehouse, key, paths, write


def compacted(tx: Transaction, table: Table, *values: str) -> CompactPartitions:
    """Merges all files of these partitions that the transaction sees into one."""
    write_id, parts = tx.write_id(table), []
    for value in values:
        files = [file for partition, file in tx.snapshot.files(table) if partition.values == (value,)]
        rows, size = sum(file.rows or 0 for file in files), sum(file.bytes for file in files)
        new = DataFile(f"{table.location}/{write_id}/{value}/all", rows, size - 1)
        parts.append(CompactedPartition(key(table, value), tuple(file.path for file in files), (new,)))
    return CompactPartitions(table, write_id, tuple(parts))


def test_files_are_replaced_and_the_content_is_the_same(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a", "b", files=2)
    w.into(t, "a")
    before = w.catalog.snapshot()
    w.commit(lambda tx: [compacted(tx, t, "a")])
    after = w.catalog.snapshot()
    assert paths(before, t) == ["2/a/0", "2/a/1", "3/a/0", "2/b/0", "2/b/1"]
    assert paths(after, t) == ["4/a/all", "2/b/0", "2/b/1"]
    assert [
        (partition.values, partition.rows, partition.bytes, partition.files) for partition in after.partitions(t)
    ] == [
        (("a",), 30, 299, 1),
        (("b",), 20, 200, 2),
    ]
    assert after.contents(t) == before.contents(t)
    assert after.write_ids(t.id) != before.write_ids(t.id)
    assert [event.kind for event in w.catalog.events()][-2:] == ["COMPACT", "COMMIT"]
    assert [
        finding.problem for finding in findings(w.catalog.database) if "cannot be read" not in finding.problem
    ] == []


def test_it_outdates_nothing_and_hides_nothing(w: Warehouse, fact: dict[str, Table]) -> None:
    hours, days = fact["hours"], fact["days"]
    w.into(hours, "2015-01-01-00", "2015-01-02-00", files=2)
    w.into(days, "2015-01-01", "2015-01-02", sources=[hours], files=2)
    w.into(hours, "2015-01-02-00")
    for table, values in ((hours, ("2015-01-01-00", "2015-01-02-00")), (days, ("2015-01-01", "2015-01-02"))):
        w.commit(lambda tx, t=table, v=values: [compacted(tx, t, *v)])  # type: ignore[misc]
        assert (w.fresh("days", P.DAILY), w.outdated("days", P.DAILY)) == (["2015-01-01"], ["2015-01-02"])
    with w.catalog.begin() as tx:
        tx.commit([RefreshTimelines(tx.snapshot.fact("f"))])
    assert tx.differences == ()
    # What was computed over a state before, or after, it knows the same base.
    w.overwrite(days, "2015-01-02", sources=[hours])
    assert w.fresh("days", P.DAILY) == ["2015-01-01", "2015-01-02"]


@pytest.mark.parametrize("first", ["into", "compact"])
def test_an_into_meanwhile_is_kept(w: Warehouse, first: str) -> None:
    t = w.create("t")
    w.into(t, "a", files=2)
    with w.catalog.begin() as compacting, w.catalog.begin() as adding:
        compact, add = compacted(compacting, t, "a"), write(adding, t, "a")
        for tx, change in ((adding, add), (compacting, compact))[:: 1 if first == "into" else -1]:
            tx.commit([change])  # type: ignore[list-item]
    assert paths(w.catalog.snapshot(), t) == ["3/a/all", "4/a/0"]
    (only,) = w.catalog.snapshot().partitions(t)
    assert (only.rows, only.bytes, only.files) == (30, 299, 2)


@pytest.mark.parametrize("meanwhile", ["overwrite", "drop", "compact", "columns", "table"])
def test_who_replaces_what_it_read_wins(w: Warehouse, meanwhile: str) -> None:
    t = w.create("t")
    w.into(t, "a", "b", files=2)
    with w.catalog.begin() as tx:
        change = compacted(tx, t, "a", "b")
        w.commit(
            lambda other_tx: [
                {
                    "overwrite": lambda: write(other_tx, t, "b", overwrite=True),
                    "drop": lambda: DropPartitions(t, (key(t, "b"),)),
                    "compact": lambda: compacted(other_tx, t, "b"),
                    "columns": lambda: AlterColumns(t, (Column("y", "int"),)),
                    "table": lambda: DropObject(t),
                }[meanwhile]()
            ]
        )
        before = w.catalog.snapshot().files(t)
        with pytest.raises(ConflictError) as caught:
            tx.commit([change])
    assert caught.value.sqlstate == "40001"
    assert w.catalog.snapshot().files(t) == before


@pytest.mark.parametrize("meanwhile", ["overwrite", "drop"])
def test_it_stands_in_the_way_of_nobody(w: Warehouse, meanwhile: str) -> None:
    t = w.create("t")
    w.into(t, "a", "b", files=2)
    with w.catalog.begin() as tx:
        change = write(tx, t, "b", overwrite=True) if meanwhile == "overwrite" else DropPartitions(t, (key(t, "b"),))
        w.commit(lambda compacting: [compacted(compacting, t, "a", "b")])
        tx.commit([change])
    present = paths(w.catalog.snapshot(), t)
    assert [path.split("/", 1)[1] for path in present] == (["a/all", "b/0"] if meanwhile == "overwrite" else ["a/all"])
