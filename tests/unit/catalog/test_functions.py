"""Permanent functions are versioned as other objects are: names, snapshots, conflicts, the cache, dumps and checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.maintenance.dump import dump
from rewriter.catalog.model.changes import Change, CreateObject, DropObject
from rewriter.catalog.model.json_codec import decode_object, to_text
from rewriter.catalog.model.objects import Function, Namespace
from rewriter.errors import AnalysisError, ConflictError, IntegrityError, NotSupportedError, OperationalError
from rewriter.session import Session

from .support import Warehouse

RESOURCES = (("JAR", "hdfs://n/ä b.jar"), ("FILE", "s3://b/words.txt"))
MIB = 1 << 20


def create(w: Warehouse, name: str, class_name: str = "org.example.Upper") -> Function:
    with w.catalog.begin() as tx:
        function = Function(tx.allocate_id(), name, class_name, "o'neill", 1_700_000_000, RESOURCES)
        tx.commit([CreateObject(function)])
    return function


def drop(w: Warehouse, function: Function) -> None:
    w.commit(lambda tx: [DropObject(function)])


def create_database(w: Warehouse, name: str = "sales") -> None:
    w.commit(lambda tx: [CreateObject(Namespace(tx.allocate_id(), name))])


def names(functions: Sequence[Function]) -> list[str]:
    return [function.name for function in functions]


def test_functions_come_back_as_they_went_in(w: Warehouse) -> None:
    function = create(w, "Upper")
    with w.catalog.begin() as tx:
        plain = Function(tx.allocate_id(), "plain", "P")
        tx.commit([CreateObject(plain)])
    with closing(w.opened()) as reader:
        snapshot = reader.snapshot()
        assert (snapshot.function("uPPER"), snapshot.find_function("upper")) == (function, function)
        assert snapshot.functions() == (plain, function) == snapshot.functions("DEFAULT")
        assert snapshot.created(function) is not None
    assert list(findings(w.catalog.database)) == []


def test_a_name_is_taken_once(w: Warehouse) -> None:
    create(w, "f")
    with pytest.raises(IntegrityError) as caught:
        create(w, "F")
    assert (caught.value.condition, caught.value.sqlstate) == ("ROUTINE_ALREADY_EXISTS", "42723")
    assert (caught.value.object, bool(caught.value.hint)) == ("f", True)
    assert names(w.catalog.snapshot().functions()) == ["f"]


def test_unknown_names(w: Warehouse) -> None:
    create_database(w)
    create(w, "Upper")
    create(w, "sales.lower")
    snapshot = w.catalog.snapshot()
    assert snapshot.find_function("sales.upper") is None
    hints = {
        "uper": "Did you mean Upper?",
        "sales.low": "Did you mean sales.lower?",
        "q": "Check its name and database.",
    }
    for name, hint in hints.items():
        with pytest.raises(AnalysisError) as caught:
            snapshot.function(name)
        assert (caught.value.condition, caught.value.sqlstate) == ("ROUTINE_NOT_FOUND", "42883")
        assert (caught.value.object, caught.value.hint) == (name, hint)
    with pytest.raises(AnalysisError) as missing:
        create(w, "nowhere.f")
    assert missing.value.condition == "SCHEMA_NOT_FOUND"


def test_older_snapshots_keep_their_version(w: Warehouse) -> None:
    before = w.catalog.snapshot()
    old = create(w, "f")
    read, unread = w.catalog.snapshot(), w.catalog.snapshot()
    assert read.function("f") == old
    with w.catalog.begin() as tx:
        new = Function(tx.allocate_id(), "f", "org.example.Other")
        tx.commit([DropObject(old), CreateObject(new)])
    assert w.catalog.snapshot().function("f") == new
    drop(w, new)
    for snapshot in (read, unread):
        assert (snapshot.function("f"), snapshot.functions()) == (old, (old,))
    for snapshot in (before, w.catalog.snapshot()):
        assert (snapshot.find_function("f"), snapshot.functions()) == (None, ())
    assert list(findings(w.catalog.database)) == []


def test_of_two_who_change_a_function_one_wins(w: Warehouse) -> None:
    with w.catalog.begin() as late:
        old = create(w, "f")
        with pytest.raises(ConflictError):
            late.commit([CreateObject(Function(late.allocate_id(), "f", "Late"))])
    with w.catalog.begin() as late:
        drop(w, old)
        changes: list[Change] = [DropObject(old), CreateObject(Function(late.allocate_id(), "f", "Late"))]
        with pytest.raises(ConflictError):
            late.commit(changes)
    with pytest.raises(ConflictError):
        drop(w, old)
    assert w.catalog.snapshot().functions() == ()


def test_functions_and_other_objects_do_not_share_names(w: Warehouse) -> None:
    create_database(w)
    for name in ("f", "sales.f"):
        function, table = create(w, name), w.create(name)
        snapshot = w.catalog.snapshot()
        assert (snapshot.function(name), snapshot.table(name), snapshot.named(name)) == (function, table, table)
    for name in ("sales.g", "g"):
        table, function = w.create(name), create(w, name)
        drop(w, function)
        snapshot = w.catalog.snapshot()
        assert (snapshot.find_function(name), snapshot.table(name)) == (None, table)
    create(w, "sales")  # Neither a database nor the objects in it.
    snapshot = w.catalog.snapshot()
    assert snapshot.database("sales").name == "sales"
    assert names(snapshot.functions()) == ["f", "sales", "sales.f"]
    assert [table.name for table in snapshot.tables()] == ["f", "g", "sales.f", "sales.g"]
    assert names(snapshot.functions("Sales")) == ["sales.f"]
    assert names(snapshot.functions("default")) == ["f", "sales"]
    assert snapshot.functions("nowhere") == snapshot.functions("system") == ()
    assert list(findings(w.catalog.database)) == []


def test_a_typed_name_finds_no_function(w: Warehouse) -> None:
    create_database(w)
    create(w, "sales.f")
    with Session(w.catalog.warehouse, "duckdb", catalog=w.url) as session:
        for text in ("SELECT * FROM sales.`.f`", "SELECT * FROM sales.f", "DROP TABLE sales.f", "DROP VIEW sales.`.f`"):
            with pytest.raises(AnalysisError):
                session.execute(text)
        for text in ("SELECT sales.f('x')", "CREATE FUNCTION sales.g AS 'org.example.G'"):
            with pytest.raises(NotSupportedError):
                session.execute(text)
        assert names(session.snapshot().functions()) == ["sales.f"]
        session.execute("DROP FUNCTION sales.f")
        assert names(session.snapshot().functions()) == []


def test_a_database_with_a_function_is_not_empty(w: Warehouse) -> None:
    create_database(w)
    create_database(w, "salesroom")
    create(w, "salesroom.kept")
    create(w, "sales")
    create(w, "sales.f")
    database = w.catalog.snapshot().database("sales")
    with pytest.raises(IntegrityError, match=r"not empty: sales\.f\n") as caught:
        w.commit(lambda tx: [DropObject(database)])
    assert (caught.value.condition, caught.value.sqlstate) == ("SCHEMA_NOT_EMPTY", "2BP01")
    with Session(w.catalog.warehouse, "duckdb", catalog=w.url) as session:
        with pytest.raises(IntegrityError, match=r"contains objects: f\.") as restricted:
            session.execute("DROP DATABASE sales RESTRICT")
        assert restricted.value.condition == "SCHEMA_NOT_EMPTY"
        session.execute("DROP DATABASE sales CASCADE")
        session.execute("CREATE DATABASE sales")
        session.execute("DROP DATABASE sales RESTRICT")
    assert names(w.catalog.snapshot().functions()) == ["sales", "salesroom.kept"]
    assert list(findings(w.catalog.database)) == []


def test_a_database_that_gets_a_function_is_not_dropped(w: Warehouse) -> None:
    create_database(w)
    database = w.catalog.snapshot().database("sales")
    with w.catalog.begin() as late:
        create(w, "sales.f")
        with pytest.raises(IntegrityError, match="not empty"):
            late.commit([DropObject(database)])
    drop(w, w.catalog.snapshot().function("sales.f"))
    with w.catalog.begin() as late:
        w.commit(lambda tx: [DropObject(database)])
        with pytest.raises(AnalysisError, match="'sales' cannot be found"):
            late.commit([CreateObject(Function(late.allocate_id(), "sales.f", "F"))])


@pytest.mark.parametrize("follows", [False, True])
def test_a_cached_catalog_sees_each_change_at_once(w: Warehouse, follows: bool) -> None:
    create_database(w)
    with closing(w.opened()) as reader:
        reader.use_cache(MIB, follow=False)
        for name in ("f", "sales.f"):
            held = reader.snapshot()
            assert (held.find_function(name), held.functions()) == (None, ())
            for class_name in ("A", "B"):
                function = create(w, name, class_name)
                w.create(name)  # The cache does not mix up the two.
                if follows:
                    follow(reader)
                for _ in range(2):
                    assert reader.snapshot().function(name) == function
                    assert reader.snapshot().functions() == (function,)
                held = reader.snapshot()
                assert held.table(name).name == name
                drop(w, function)
                w.commit(lambda tx, name=name: [DropObject(w.catalog.snapshot().table(name))])
                if follows:
                    follow(reader)
                assert (reader.snapshot().find_function(name), reader.snapshot().functions()) == (None, ())
                assert (held.function(name), held.functions()) == (function, (function,))


def follow(catalog: Catalog) -> None:
    """Reads the log to its end, and renews what is cached."""
    assert catalog.follower is not None
    catalog.follower.catch_up()
    catalog.follower.refresh()


def test_a_prewarmed_cache_has_functions(w: Warehouse) -> None:
    create_database(w)
    functions = {name: create(w, name) for name in ("f", "sales.f")}
    w.create("t")
    with closing(w.opened()) as reader:
        reader.use_cache(MIB, follow=False, prewarm=True)
        assert reader.prewarming is not None
        assert reader.prewarming.wait(60)
        snapshot, before = reader.snapshot(), reader.cache_metrics()
        assert {name: snapshot.function(name) for name in functions} == functions
        after = reader.cache_metrics()
        assert (after["hits"], after["misses_absent"]) == (before["hits"] + 2, before["misses_absent"])


def test_the_log_names_functions(w: Warehouse) -> None:
    function = create(w, "f")
    drop(w, function)
    events = [(event.kind, event.object_id, event.payload.get("name")) for event in w.catalog.events()]
    named = [event for event in events if event[0] != "COMMIT"]
    assert named == [("CREATE_FUNCTION", function.id, "f"), ("DROP_FUNCTION", function.id, "f")]
    kept = create(w, "kept")
    with Session(w.catalog.warehouse, "duckdb", catalog=w.url) as session:
        rows = list(session.execute("SELECT objects FROM system.transactions ORDER BY transaction_id").rows())
    assert [objects for (objects,) in rows] == [None, None, kept.name]


def test_a_dump_holds_functions(w: Warehouse, tmp_path: Path) -> None:
    create_database(w)
    functions = (create(w, "F"), create(w, "sales.f"))
    gone = create(w, "gone")
    drop(w, gone)
    lines = list(dump(w.catalog.database, tmp_path))
    target = tmp_path / "restored"
    Catalog.restore(target, None, lines, adopt=True)
    with closing(Catalog.open(target)) as restored:
        assert restored.snapshot().functions() == functions
        assert restored.snapshot().function("f") == functions[0]
        assert list(findings(restored.database)) == []
    Catalog.adopt(target)
    with closing(Catalog.open(target)) as adopted:
        assert adopted.snapshot().functions() == functions


def test_a_function_without_its_database_is_found(w: Warehouse) -> None:
    create_database(w)
    create(w, "sales.f")
    w.sql("UPDATE objects SET ended = made WHERE kind = 'database'")
    found = [(finding.object, finding.problem) for finding in findings(w.catalog.database)]
    assert ("sales.f", "there is no database 'sales'") in found


TEXT = to_text(Function(1, "f", "C", None, 0, RESOURCES), "")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("class_name", None),
        ("owner", 1),
        ("created", "now"),
        ("resources", "ab"),
        ("resources", [["JAR"]]),
        ("resources", ["ab"]),
        ("resources", [["JAR", None]]),
        ("source", 1),
    ],
)
def test_a_damaged_definition_is_named(member: str, value: object) -> None:
    assert decode_object("function", 1, "f", TEXT, "") == Function(1, "f", "C", None, 0, RESOURCES)
    with pytest.raises(OperationalError, match="the function 'f' is damaged") as caught:
        decode_object("function", 1, "f", json.dumps({**json.loads(TEXT), member: value}), "")
    assert caught.value.condition == "DAMAGED_CATALOG"
