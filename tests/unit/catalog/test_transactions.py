"""Write ids of several tables at once, rehearsals of commits, and lists of transactions as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.catalog.commit.merged_changes import merged_changes, with_written_keys
from rewriter.catalog.model.changes import AddPartitions, DropPartitions, PartitionWrite, WritePartitions
from rewriter.catalog.model.write_ids import ValidTxnList
from rewriter.errors import ConflictError, DataError, IntegrityError, NotSupportedError

from .support import Warehouse, key, names, write


def test_write_ids_of_several_tables_are_taken_once(w: Warehouse) -> None:
    t, u, v = (w.create(name) for name in "tuv")
    w.into(t, "a")
    with w.catalog.begin() as tx:
        assert tx.write_id(u) == 2
        assert tx.write_ids([t, u, v]) == tx.write_ids([t, u, v]) == (3, 2, 2)
        assert tx.write_ids([v, t]) == (2, 3)
        held = w.sql("SELECT object_id, write_id FROM write_ids WHERE transaction_id = :id", id=tx.id)
        assert sorted(held) == [(t.id, 3), (u.id, 2), (v.id, 2)]


def test_write_ids_are_taken_all_or_none(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")
    tx = w.catalog.begin()
    assert tx.write_id(t) == 2
    w.catalog.abort_dead(-1.0)  # even those of this millisecond
    with pytest.raises(ConflictError) as caught:
        tx.write_ids([t, u])
    assert (caught.value.condition, caught.value.sqlstate) == ("TRANSACTION_NOT_OPEN", "40001")
    assert w.sql("SELECT object_id FROM write_ids WHERE transaction_id = :id", id=tx.id) == [(t.id,)]


def test_a_rehearsal_says_what_a_commit_would_say_and_leaves_nothing(w: Warehouse) -> None:
    t = w.create("t")
    w.into(t, "a")
    before, events = w.catalog.snapshot().sequence, w.catalog.events()
    with w.catalog.begin() as tx:
        tx.rehearse([write(tx, t, "b")])
        with pytest.raises(IntegrityError):
            tx.rehearse([AddPartitions(t, (PartitionWrite(("a",)),))])
        assert (w.catalog.snapshot().sequence, w.catalog.events()) == (before, events)
        assert names(w.catalog.snapshot(), t) == ["a"]
        w.overwrite(t, "b")
        with pytest.raises(ConflictError):
            tx.rehearse([write(tx, t, "b")])
        # What was rehearsed in vain does not hinder the commit of something else.
        assert tx.commit([write(tx, t, "c")]) == before + 2
    assert names(w.catalog.snapshot(), t) == ["a", "b", "c"]


def test_a_rehearsal_of_a_transaction_that_others_have_aborted(w: Warehouse) -> None:
    t = w.create("t")
    tx = w.catalog.begin()
    change = write(tx, t, "a")
    w.catalog.abort_dead(-1.0)  # even those of this millisecond
    with pytest.raises(ConflictError) as caught:
        tx.rehearse([change])
    assert caught.value.condition == "TRANSACTION_NOT_OPEN"


def test_intos_of_one_partition_become_one(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")
    with w.catalog.begin() as tx:
        changes = [
            write(tx, t, "a", "b", sources={u.id: ()}, unproven=frozenset()),
            write(tx, u, "a"),
            write(tx, t, "a", "c", files=2),
            write(tx, t, "d", overwrite=True),
        ]
        merged = merged_changes(changes)
        assert [(c.table.name, [p.values[0] for p in c.partitions], c.overwrite) for c in merged] == [
            ("t", ["b"], False),
            ("u", ["a"], False),
            ("t", ["c"], False),
            ("t", ["d"], True),
            ("t", ["a"], False),
        ]
        assert len(merged[-1].partitions[0].files) == 3
        assert (merged[-1].sources, merged[-1].unproven) == ({u.id: None}, frozenset((t.id,)))
        assert merged_changes(changes[1:]) == changes[1:]
        tx.commit(merged)
    assert len(w.catalog.snapshot().files(t)) == 7


def test_other_meetings_in_a_partition_have_an_order(w: Warehouse) -> None:
    t, u = w.create("t"), w.create("u")

    def into(*values: str) -> WritePartitions:
        return WritePartitions(t, 1, tuple(PartitionWrite((v,)) for v in values), overwrite=False)

    first, _ = with_written_keys({}, [into("a", "b")])
    earlier, has_order = with_written_keys(first, [into("b", "c")])
    assert not has_order
    dropped, _ = with_written_keys(earlier, [DropPartitions(t, (key(t, "x"),))])
    for change in (into("x"), DropPartitions(t, (key(t, "x"),)), AddPartitions(t, (PartitionWrite(("c",)),))):
        assert with_written_keys(dropped, [change])[1]
    keys, has_order = with_written_keys(dropped, [into("a"), AddPartitions(u, (PartitionWrite(("a",)),))])
    assert (keys.keys(), has_order) == ({t.id, u.id}, False)


def test_a_partition_of_an_external_table_is_changed_once(w: Warehouse) -> None:
    t = replace(w.create("t"), external=True)
    keys, _ = with_written_keys({}, [DropPartitions(t, (key(t, "x"),))])
    with pytest.raises(NotSupportedError) as caught:
        with_written_keys(keys, [AddPartitions(t, (PartitionWrite(("x",)),))])
    assert caught.value.condition == "CHANGED_IN_TRANSACTION"


@given(st.integers(0, 12), st.data())
def test_a_list_of_transactions_as_text(high: int, data: st.DataObject) -> None:
    seen = ValidTxnList(high, data.draw(st.frozensets(st.integers(1, high) if high else st.nothing())))
    assert ValidTxnList.parse(str(seen)) == seen


def test_its_text_form() -> None:
    assert str(ValidTxnList(13, frozenset({12, 8}))) == "13:8:8,12"
    assert str(ValidTxnList(3, frozenset())) == "3:4:"


@pytest.mark.parametrize(
    "text", ["", "3", "3:4", "3:4::", "3:3:", "3:2:3,2", "3:4:4", "3:0:0", "03:4:", "3:1:1,", "x:1:"]
)
def test_texts_that_are_none(text: str) -> None:
    with pytest.raises(DataError) as caught:
        ValidTxnList.parse(text)
    assert caught.value.condition == "INVALID_TRANSACTION_LIST"
