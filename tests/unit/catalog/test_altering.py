"""New columns and other comments: what they conflict with, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from postgres import on_sqlite

from rewriter.catalog import Transaction
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterColumns,
    AlterTable,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionWrite,
    RenameObject,
    WritePartitions,
)
from rewriter.catalog.model.objects import Column, Table
from rewriter.errors import ConflictError, DataError

from .support import Warehouse, key, names, write

NEW = Column("new", "double", "later")


def alter(table: Table) -> Callable[[Transaction], Change]:
    return lambda tx: AlterColumns(table, (NEW,))


def test_columns_come_behind_those_that_are_there(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a")
    with w.catalog.begin() as tx:
        tx.commit([AlterColumns(t, (NEW,), {"x": "one", "dt": "day", None: "all"})])
    table = w.catalog.snapshot().table("t")
    assert table == replace(
        t,
        columns=(Column("x", "int", "one"), NEW),
        partition_columns=(Column("dt", "string", "day"),),
        comment="all",
    )
    assert names(w.catalog.snapshot(), table) == ["a"]
    assert w.catalog.events()[-2].kind == "ALTER_TABLE"


def test_an_older_snapshot_sees_the_older_columns(w: Warehouse) -> None:
    t = w.create("t")
    before = w.catalog.snapshot()
    with w.catalog.begin() as tx:
        tx.commit([AlterColumns(t, (NEW,))])
    assert before.table("t").columns == t.columns
    assert w.catalog.snapshot().table("t").columns == (*t.columns, NEW)


WRITERS: dict[str, Callable[[Table], Callable[[Transaction], Change]]] = {
    "into": lambda t: lambda tx: write(tx, t, "b"),
    "overwrite": lambda t: lambda tx: write(tx, t, "a", overwrite=True),
    "columns": alter,
}


@on_sqlite
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("altering_first", [True, False])
def test_the_second_of_a_writer_and_a_new_column_fails(w: Warehouse, writer: str, altering_first: bool) -> None:
    t = w.create("t")
    w.into(t, "a")
    earlier, later = w.catalog.begin(), w.catalog.begin()
    first, second = (alter(t), WRITERS[writer](t)) if altering_first else (WRITERS[writer](t), alter(t))
    changes = first(earlier), second(later)
    earlier.commit([changes[0]])
    with later, pytest.raises(ConflictError) as caught:
        later.commit([changes[1]])
    assert (caught.value.sqlstate, caught.value.object) == ("40001", "t")


OTHERS: dict[str, Callable[[Table], Change]] = {
    "properties": lambda t: AlterTable(t, {"k": "v"}),
    "comment": lambda t: AlterColumns(t, comments={"x": "a comment"}),
    "add": lambda t: AddPartitions(t, (PartitionWrite(("n",)),)),
    "drop": lambda t: DropPartitions(t, (key(t, "a"),)),
}


@on_sqlite
@pytest.mark.parametrize("kind", OTHERS)
def test_what_knows_nothing_of_columns_goes_on_after_a_new_one(w: Warehouse, kind: str) -> None:
    t = w.create("t")
    w.into(t, "a", "b")
    earlier, later = w.catalog.begin(), w.catalog.begin()
    earlier.commit([AlterColumns(t, (NEW,))])
    later.commit([OTHERS[kind](t)])
    assert w.catalog.snapshot().table("t").columns[1:] == (NEW,)


@on_sqlite
def test_a_table_and_its_rows_come_in_one_commit(w: Warehouse) -> None:
    old = w.create("t")
    with w.catalog.begin() as tx:
        new = replace(old, id=tx.allocate_id())
        written = WritePartitions(new, tx.write_id(new), (PartitionWrite(("a",)),), overwrite=True)
        tx.commit([DropObject(old), CreateObject(new), written])
    snapshot = w.catalog.snapshot()
    assert snapshot.table("t") == new
    assert names(snapshot, new) == ["a"]


@on_sqlite
@pytest.mark.parametrize("value", ["x" * 253, "é" * 127, "/" * 85])
def test_no_partition_gets_a_value_that_no_directory_can_bear(w: Warehouse, value: str) -> None:
    t = w.create("t")
    with w.catalog.begin() as tx, pytest.raises(DataError) as caught:
        tx.commit([AddPartitions(t, (PartitionWrite((value,)),))])
    assert (caught.value.condition, caught.value.object) == ("PARTITION_VALUE_TOO_LONG", "dt")
    with w.catalog.begin() as tx:
        tx.commit([AddPartitions(t, (PartitionWrite(("x" * 252,)),))])


def renamed_meanwhile(w: Warehouse) -> tuple[Table, Transaction]:
    """Renames a table and gives its name to another one, after a transaction has seen it."""
    t = w.create("t")
    tx = w.catalog.begin()
    w.commit(lambda _: [RenameObject(t, "old")])
    w.create("t")
    return t, tx


def test_a_comment_stays_with_the_table_that_was_renamed_meanwhile(w: Warehouse) -> None:
    t, tx = renamed_meanwhile(w)
    tx.commit([AlterColumns(t, comments={None: "the old one"})])
    snapshot = w.catalog.snapshot()
    assert (snapshot.table("old").comment, snapshot.table("t").comment) == ("the old one", None)


def test_a_new_column_meets_who_renamed_the_table(w: Warehouse) -> None:
    t, tx = renamed_meanwhile(w)
    with pytest.raises(ConflictError) as caught, tx:
        tx.commit([alter(t)(tx)])
    assert caught.value.sqlstate == "40001"
    w.commit(lambda _: [RenameObject(w.catalog.snapshot().table("t"), "other")])
    with pytest.raises(ConflictError), w.catalog.begin(tx.snapshot) as again:
        again.commit([alter(t)(again)])


def test_a_name_that_came_back_is_another_ones_rename_all_the_same(w: Warehouse) -> None:
    t = w.create("t")
    with w.catalog.begin() as tx:
        w.commit(lambda _: [RenameObject(t, "other")])
        w.commit(lambda _: [RenameObject(w.catalog.snapshot().table("other"), "t")])
        with pytest.raises(ConflictError, match="has renamed the table 't'"):
            tx.commit([RenameObject(t, "mine")])
    with w.catalog.begin() as tx:
        w.commit(lambda _: [AlterTable(t, {"a": "b"})])
        tx.commit([RenameObject(t, "mine")])
    assert w.catalog.snapshot().table("mine").id == t.id
