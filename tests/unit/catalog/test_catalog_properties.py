"""The properties of a catalog are versioned as its objects are: snapshots, conflicts, the cache, dumps and checks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.maintenance.dump import dump
from rewriter.catalog.model.changes import CreateObject, SetCatalogProperty
from rewriter.catalog.model.objects import CatalogProperties, Namespace
from rewriter.errors import AnalysisError, ConflictError, DataError, IntegrityError
from rewriter.session import Session

from .support import Warehouse

DEFINITION = '{"c1": {"filesystem": "/data/c1"}, "c2": {"filesystem": "/data/c2", "engine": "duckdb"}}'
KEY, DEFAULT, USE = "hive.cluster.properties", "hive.default.cluster.name", "hive.use.default.cluster"


def put(w: Warehouse, name: str, value: str | None) -> int:
    return w.commit(lambda tx: [SetCatalogProperty(name, value)])


def properties(w: Warehouse) -> dict[str, str]:
    return dict(w.catalog.snapshot().properties())


def test_properties_are_set_and_removed(w: Warehouse):
    before = w.catalog.snapshot()
    assert properties(w) == {}
    put(w, "Hive.Default.Cluster.Name", "c1")
    assert properties(w) == {DEFAULT: "c1"}
    put(w, KEY, DEFINITION)
    put(w, USE, "true")
    assert properties(w) == {KEY: DEFINITION, DEFAULT: "c1", USE: "true"}
    assert list(properties(w)) == sorted(properties(w))
    put(w, DEFAULT, "c2")
    held = w.catalog.snapshot()
    for name in (KEY, DEFAULT, USE, USE):
        put(w, name, None)
    assert properties(w) == {}
    put(w, DEFAULT, "c9")
    assert properties(w) == {DEFAULT: "c9"}
    assert dict(held.properties()) == {KEY: DEFINITION, DEFAULT: "c2", USE: "true"}
    assert before.properties() == {}
    assert list(findings(w.catalog.database)) == []


def test_what_does_not_fit_is_not_stored(w: Warehouse):
    put(w, KEY, DEFINITION)
    with pytest.raises(DataError) as raised:
        put(w, DEFAULT, "c3")
    assert raised.value.condition == "INVALID_CLUSTER_PROPERTIES"
    with pytest.raises(DataError):
        put(w, KEY, '{"c1": {"engine": "nothing"}}')
    put(w, DEFAULT, "c2")
    with pytest.raises(DataError):  # The default cluster would not be defined any more.
        put(w, KEY, '{"c1": {}}')
    with pytest.raises(AnalysisError) as unknown:
        put(w, "hive.default.cluster.nam", "c1")
    assert unknown.value.condition == "UNKNOWN_CATALOG_PROPERTY"
    assert unknown.value.hint == f"Did you mean {DEFAULT}?"
    with pytest.raises(AnalysisError, match="no property spark"):
        put(w, "spark.jars", "x")
    assert properties(w) == {KEY: DEFINITION, DEFAULT: "c2"}


@pytest.mark.parametrize("before", [None, "c1"])
@pytest.mark.parametrize("first", ["c2", None])
def test_concurrent_changes_conflict(w: Warehouse, before: str | None, first: str | None):
    if before is None and first is None:
        first = "c3"
    if before is not None:
        put(w, DEFAULT, before)
    with w.catalog.begin() as late:
        put(w, DEFAULT, first)
        with pytest.raises(ConflictError):
            late.commit([SetCatalogProperty(USE, "true")])
    assert properties(w) == ({} if first is None else {DEFAULT: first})
    put(w, USE, "true")


def test_several_properties_of_one_commit(w: Warehouse):
    w.commit(lambda tx: [SetCatalogProperty(DEFAULT, "c1"), SetCatalogProperty(KEY, DEFINITION)])
    assert properties(w) == {KEY: DEFINITION, DEFAULT: "c1"}


def test_an_object_with_properties_cannot_be_a_second_one(w: Warehouse):
    put(w, DEFAULT, "c1")
    with pytest.raises(IntegrityError, match="already exists"):
        w.commit(lambda tx: [CreateObject(CatalogProperties(tx.allocate_id(), {USE: "true"}))])


def test_no_name_reaches_the_properties(w: Warehouse):
    put(w, DEFAULT, "c1")
    w.commit(lambda tx: [CreateObject(Namespace(tx.allocate_id(), "properties"))])
    w.create("properties")
    w.create("properties.properties")
    snapshot = w.catalog.snapshot()
    assert dict(snapshot.properties()) == {DEFAULT: "c1"}
    assert snapshot.find(".") is None
    with pytest.raises(AnalysisError):
        snapshot.database("")
    assert list(findings(w.catalog.database)) == []


def test_a_reader_with_a_cache_sees_each_change(w: Warehouse):
    with closing(w.opened()) as reader:
        reader.use_cache(1 << 20)
        assert reader.snapshot().properties() == {}
        for value in ("c1", "c2", None, "c3"):
            put(w, DEFAULT, value)
            held = reader.snapshot()
            assert held.properties().get(DEFAULT) == value
            assert reader.snapshot().properties().get(DEFAULT) == value
        put(w, DEFAULT, "c4")
        assert held.properties() == {DEFAULT: "c3"}


def test_only_properties_that_exist_are_read(w: Warehouse, monkeypatch: pytest.MonkeyPatch):
    reads: list[str] = []
    read = type(w.catalog.database).read
    monkeypatch.setattr(type(w.catalog.database), "read", lambda self: reads.append("read") or read(self))
    snapshot = w.catalog.snapshot()
    reads.clear()
    assert snapshot.properties() == {}
    assert reads == []
    put(w, DEFAULT, "c1")
    snapshot = w.catalog.snapshot()
    reads.clear()
    assert snapshot.properties() == snapshot.properties() == {DEFAULT: "c1"}
    assert reads == ["read"]


def test_a_dump_holds_the_properties(w: Warehouse, tmp_path: Path):
    put(w, KEY, DEFINITION)
    lines = list(dump(w.catalog.database, tmp_path))
    target = tmp_path / "restored"
    Catalog.restore(target, None, lines, adopt=True)
    with closing(Catalog.open(target)) as restored:
        assert restored.snapshot().properties() == {KEY: DEFINITION}
        assert list(findings(restored.database)) == []
    Catalog.adopt(target)
    with closing(Catalog.open(target)) as adopted:
        assert adopted.snapshot().properties() == {KEY: DEFINITION}


def test_damage_is_found(w: Warehouse):
    put(w, KEY, DEFINITION)
    w.sql("UPDATE objects SET definition = '{\"properties\": 3}' WHERE kind = 'properties'")
    assert any(finding.object == "properties" for finding in findings(w.catalog.database))


def test_a_transaction_keeps_its_properties(w: Warehouse):
    put(w, DEFAULT, "c1")
    with Session(w.catalog.warehouse, "duckdb", catalog=w.url) as session:
        session.execute("CREATE TABLE t (x INT)")
        session.execute("START TRANSACTION")
        session.execute("INSERT INTO t VALUES (1)")
        put(w, DEFAULT, "c2")
        session.execute("INSERT OVERWRITE t VALUES (2)")
        assert session.snapshot().properties() == {DEFAULT: "c1"}
        session.execute("COMMIT")
        assert session.snapshot().properties() == {DEFAULT: "c2"}
        assert list(session.execute("SELECT x FROM t").rows()) == [(2,)]
