"""Tables, cubes and facts under their names."""

from __future__ import annotations

import json

import pytest

from rewriter.catalog import Transaction
from rewriter.catalog.model.changes import Change, CreateObject, DropObject
from rewriter.catalog.model.json_codec import decode_object, to_text
from rewriter.catalog.model.objects import Aggregate, Column, Cube, Fact, Measure, Storage, Table, View
from rewriter.errors import AnalysisError, ConflictError, IntegrityError, OperationalError

from .support import STRING, P, Warehouse, names, storage_table


def test_objects_come_back_as_they_went_in(w: Warehouse) -> None:
    with w.catalog.begin() as tx:
        columns = (Column("a", "decimal(10,2)", "é 'quoted'"), Column("b", "array<int>"))
        table = Table(tx.allocate_id(), "Mixed", columns, (STRING,), "orc", "/x y", True, "words", {"k": "v"})
        measures = (Measure("m", "bigint", Aggregate.SUM, "n", True), Measure("n", "bigint", Aggregate.COUNT))
        cube = Cube(tx.allocate_id(), "c", (Column("d", "string"),), measures, ("t",), ("d", "m", "n", "t"))
        fact = Fact(tx.allocate_id(), "f", "C", (Storage("s", (storage_table("mixed", [P.DAILY]),)),), ("m",), 7)
        tx.commit([CreateObject(table), CreateObject(cube), CreateObject(fact)])
    snapshot = w.opened().snapshot()
    assert (snapshot.table("mixed"), snapshot.cube("C"), snapshot.fact("F")) == (table, cube, fact)
    assert snapshot.find("MIXED") == table
    assert (snapshot.tables(), snapshot.cubes(), snapshot.facts()) == ((table,), (cube,), (fact,))
    assert snapshot.facts_of("c") == (fact,) == snapshot.facts_of("C")
    assert snapshot.fact_using("MIXED") == fact
    assert snapshot.fact_using("other") is None


def test_views_come_back_as_they_went_in(w: Warehouse) -> None:
    with w.catalog.begin() as tx:
        query = "SELECT 'é' AS a,\r\n b FROM t"
        view = View(tx.allocate_id(), "V", query, (("x", "first"), ("y", None)), "words", {"k": "v"})
        tx.commit([CreateObject(view)])
    snapshot = w.opened().snapshot()
    assert (snapshot.view("v"), snapshot.find_view("v"), snapshot.named("v")) == (view, view, view)
    assert snapshot.views() == (view,)
    assert snapshot.find("v") is None
    assert snapshot.tables() == ()
    with pytest.raises(AnalysisError) as caught:
        snapshot.table("v")
    assert (caught.value.condition, caught.value.sqlstate) == ("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", "42809")


def test_a_snapshot_keeps_its_version_of_a_view(w: Warehouse) -> None:
    def make(tx: Transaction, query: str) -> list[Change]:
        return [CreateObject(View(tx.allocate_id(), "v", query))]

    w.commit(lambda tx: make(tx, "SELECT 1 AS a"))
    before = w.catalog.snapshot()
    old = before.view("v")
    unread = w.catalog.snapshot()
    w.commit(lambda tx: [DropObject(old), *make(tx, "SELECT 2 AS a")])
    assert [snapshot.view("v").query for snapshot in (before, unread, w.catalog.snapshot())] == [
        "SELECT 1 AS a",
        "SELECT 1 AS a",
        "SELECT 2 AS a",
    ]
    w.commit(lambda tx: [DropObject(w.catalog.snapshot().view("v"))])
    assert (w.catalog.snapshot().views(), unread.views()) == ((), (old,))


def test_of_two_who_replace_a_view_one_wins(w: Warehouse) -> None:
    w.commit(lambda tx: [CreateObject(View(tx.allocate_id(), "v", "SELECT 1 AS a"))])
    old = w.catalog.snapshot().view("v")
    with w.catalog.begin() as first, w.catalog.begin() as second:
        first.commit([DropObject(old), CreateObject(View(first.allocate_id(), "v", "SELECT 2 AS a"))])
        with pytest.raises(ConflictError):
            second.commit([DropObject(old), CreateObject(View(second.allocate_id(), "v", "SELECT 3 AS a"))])
    assert w.catalog.snapshot().view("v").query == "SELECT 2 AS a"


def test_names_are_one_space_without_case(w: Warehouse) -> None:
    w.create("Flights")
    with pytest.raises(IntegrityError) as caught, w.catalog.begin() as tx:
        tx.commit([CreateObject(Cube(tx.allocate_id(), "fLIGHTS", (), (), (), ()))])
    assert (caught.value.condition, caught.value.sqlstate) == ("TABLE_OR_VIEW_ALREADY_EXISTS", "42P07")
    assert w.catalog.snapshot().cubes() == ()


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("table", "TABLE_OR_VIEW_NOT_FOUND"),
        ("view", "VIEW_NOT_FOUND"),
        ("cube", "CUBE_NOT_FOUND"),
        ("fact", "FACT_NOT_FOUND"),
    ],
)
def test_unknown_names(w: Warehouse, kind: str, condition: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        getattr(w.catalog.snapshot(), kind)("nosuch")
    assert (caught.value.condition, caught.value.sqlstate, caught.value.object) == (condition, "42P01", "nosuch")
    assert caught.value.hint


FACT = to_text(Fact(1, "f", "c", (Storage("s", (storage_table("t", [P.DAILY]),)),)), "")
TABLE = to_text(Table(1, "t", (STRING,), (), "parquet", "/x"), "")
VIEW = to_text(View(1, "v", "SELECT 1 AS a", (("a", None),)), "")
CUBE = to_text(Cube(1, "c", (), (), ("t",), ("t",)), "")


DATABASE = '{"location": null, "comment": "x", "properties": {}}'


@pytest.mark.parametrize(
    ("kind", "text", "member", "value"),
    [
        ("fact", FACT, "storages", []),
        ("fact", FACT, "storages", [["s", [], None, None]]),
        ("fact", FACT, "columns", [None]),
        ("fact", FACT, "columns", "ab"),
        ("table", TABLE, "location", None),
        ("view", VIEW, "columns", [[None, "c"]]),
        ("view", VIEW, "columns", [["a", 1]]),
        ("view", VIEW, "properties", None),
        ("table", TABLE, "properties", None),
        ("database", DATABASE, "properties", None),
        ("cube", CUBE, "times", "t"),
        ("cube", CUBE, "times", ["u"]),
        ("cube", CUBE, "times", [1]),
        ("cube", CUBE, "column_order", [[]]),
    ],
)
def test_a_damaged_definition_is_named(kind: str, text: str, member: str, value: object) -> None:
    assert decode_object(kind, 1, "o", text, "") is not None
    with pytest.raises(OperationalError, match=f"the {kind} 'o' is damaged") as caught:
        decode_object(kind, 1, "o", json.dumps({**json.loads(text), member: value}), "")
    assert caught.value.condition == "DAMAGED_CATALOG"


def test_near_names_are_hinted(w: Warehouse) -> None:
    w.create("Flights_Hourly")
    with pytest.raises(AnalysisError, match="flight_hourly") as caught:
        w.catalog.snapshot().table("flight_hourly")
    assert caught.value.hint == "Did you mean Flights_Hourly?"
    with pytest.raises(AnalysisError) as caught:
        w.catalog.snapshot().cube("flights_hourly")
    assert caught.value.hint == "'Flights_Hourly' is a table."


def test_what_is_used_stays(w: Warehouse, fact: dict[str, Table]) -> None:
    snapshot = w.catalog.snapshot()
    for created, condition in [(fact["days"], "TABLE_IN_USE"), (snapshot.cube("c"), "CUBE_IN_USE")]:
        with pytest.raises(IntegrityError) as caught:
            w.commit(lambda tx, created=created: [DropObject(created)])
        assert caught.value.condition == condition
        assert caught.value.hint == "DROP FACT f first."
    w.commit(lambda tx: [DropObject(snapshot.fact("f")), DropObject(snapshot.cube("c")), DropObject(fact["days"])])
    assert [t.name for t in w.catalog.snapshot().tables()] == ["coarse", "hours"]


def test_a_recreated_table_has_nothing_of_the_old_one(w: Warehouse) -> None:
    old = w.create("t")
    w.into(old, "a")
    before = w.catalog.snapshot()
    w.commit(lambda tx: [DropObject(old)])
    assert w.catalog.snapshot().find("t") is None
    new = w.create("T")
    assert new.id > old.id
    assert names(w.catalog.snapshot(), new) == []
    assert (before.table("t"), names(before, old)) == (old, ["a"])


def test_ids_are_never_given_twice(w: Warehouse) -> None:
    with w.catalog.begin() as tx:
        first = tx.allocate_id()
    with w.catalog.begin() as tx:
        assert tx.allocate_id() > first
