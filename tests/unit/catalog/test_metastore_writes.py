"""Writes under lists of write ids: a list is required for managed tables, must be valid, and must be the newest."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rewriter.catalog import CachedCatalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.metastore_writes import NO_WRITES
from rewriter.catalog.model.changes import SetCatalogProperty
from rewriter.catalog.model.objects import Column, Partition, Table
from rewriter.errors import AnalysisError, ConflictError, DataError, IntegrityError, NotSupportedError, ProgrammingError
from rewriter.session import Session

from .support import Warehouse

Write = Callable[[CachedCatalog, str | None, str | None], object]

#: Each write of a table t, which has the partition a.
WRITES: dict[str, Write] = {
    "alter_table": lambda calls, ids, cluster: calls.alter_table("t", {"team": "x", "comment": "c"}, ids, cluster),
    "drop_table": lambda calls, ids, cluster: calls.drop_table("t", ids, cluster),
    "add_partitions": lambda calls, ids, cluster: calls.add_partitions("t", [("b",), (None,)], ids, cluster),
    "append_partition": lambda calls, ids, cluster: calls.append_partition("t", ("b",), ids, cluster),
    "drop_partition": lambda calls, ids, cluster: calls.drop_partition("t", ("a",), ids, cluster),
    "alter_partition": lambda calls, ids, cluster: calls.alter_partition("t", ("a",), {"k": "v"}, ids, cluster),
    "alter_partitions": lambda calls, ids, cluster: calls.alter_partitions("t", {("a",): {"k": "v"}}, ids, cluster),
    "rename_partition": lambda calls, ids, cluster: calls.rename_partition("t", ("a",), ("z",), ids, cluster),
}

EVERY_WRITE = pytest.mark.parametrize("write", list(WRITES.values()), ids=list(WRITES))


def made(w: Warehouse, external: bool = False) -> CachedCatalog:
    table = w.create("t", external=external)
    w.add(table, "a")
    return CachedCatalog(w.catalog)


def state(w: Warehouse) -> tuple[object, ...]:
    table = w.catalog.snapshot().named("t")
    if not isinstance(table, Table):
        return ("dropped",)
    partitions = w.catalog.snapshot().partitions(table)
    return dict(table.properties), table.comment, [(p.values, dict(p.properties)) for p in partitions]


AFTER = {
    "alter_table": ({"team": "x"}, "c", [(("a",), {})]),
    "drop_table": ("dropped",),
    "add_partitions": ({}, None, [((None,), {}), (("a",), {}), (("b",), {})]),
    "append_partition": ({}, None, [(("a",), {}), (("b",), {})]),
    "drop_partition": ({}, None, []),
    "alter_partition": ({}, None, [(("a",), {"k": "v"})]),
    "alter_partitions": ({}, None, [(("a",), {"k": "v"})]),
    "rename_partition": ({}, None, [(("z",), {})]),
}


@pytest.mark.parametrize("name", list(WRITES))
def test_a_write_under_the_newest_list(w: Warehouse, name: str):
    calls = made(w)
    before = calls.valid_write_id_list("t")
    WRITES[name](calls, before, None)
    assert state(w) == AFTER[name]
    assert list(findings(w.catalog.database)) == []
    with pytest.raises(ConflictError) as raised:  # The list is that of before the write.
        WRITES[name](calls, before, None)
    assert raised.value.retryable


@EVERY_WRITE
def test_a_managed_table_needs_a_list(w: Warehouse, write: Write):
    calls, before = made(w), state(w)
    with pytest.raises(ProgrammingError) as raised:
        write(calls, None, None)
    assert raised.value.condition == "VALID_WRITE_ID_LIST_REQUIRED"
    assert state(w) == before


@EVERY_WRITE
def test_a_stale_list_is_a_conflict(w: Warehouse, write: Write):
    calls = made(w)
    stale = calls.valid_write_id_list("t")
    with closing(w.opened()) as other:
        CachedCatalog(other).append_partition("t", ("c",), stale)
    before = state(w)
    with pytest.raises(ConflictError, match="has written the table 't'"):
        write(calls, stale, None)
    assert state(w) == before
    write(calls, calls.valid_write_id_list("t"), None)


@EVERY_WRITE
def test_lists_that_are_none(w: Warehouse, write: Write):
    calls = made(w)
    newest = calls.valid_write_id_list("t")
    table, high, *rest = newest.split(":")
    uncommitted = ":".join((table, str(int(high) + 1), str(int(high) + 2), *rest[1:]))
    w.create("u")
    before = state(w)
    for text in ("", "t", NO_WRITES, uncommitted, calls.valid_write_id_list("u")):
        with pytest.raises((DataError, AnalysisError)) as raised:
            write(calls, text, None)
        assert raised.value.condition in ("INVALID_WRITE_ID_LIST", "TABLE_OR_VIEW_NOT_FOUND")
    assert state(w) == before


@EVERY_WRITE
def test_an_aborted_write_makes_no_list_stale(w: Warehouse, write: Write):
    calls = made(w)
    table = calls.get_table("t", calls.valid_write_id_list("t"))
    listed = calls.valid_write_id_list("t")
    with w.catalog.begin() as transaction:
        transaction.write_id(table)
    write(calls, listed, None)
    assert state(w) != ({}, None, [(("a",), {})])


def test_a_table_of_the_same_name_is_another_one(w: Warehouse):
    calls = made(w)
    listed = calls.valid_write_id_list("t")
    calls.drop_table("t", listed)
    made(w)
    with pytest.raises(ConflictError):
        calls.drop_partition("t", ("a",), listed)
    assert state(w) == ({}, None, [(("a",), {})])


@pytest.mark.parametrize("name", [name for name in WRITES if name != "rename_partition"])
@pytest.mark.parametrize("listed", [False, True])
def test_an_external_table_needs_no_list(w: Warehouse, name: str, listed: bool):
    calls = made(w, external=True)
    WRITES[name](calls, calls.valid_write_id_list("t") if listed else None, None)
    assert state(w) == AFTER[name]


def test_directories_of_external_partitions_stay_apart(w: Warehouse, tmp_path):
    with Session(w.catalog.warehouse, "duckdb", catalog=w.url) as session:
        folder = tmp_path / "files"
        folder.mkdir()
        session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p STRING) LOCATION '{folder}'")
        session.execute(f"ALTER TABLE e ADD PARTITION (p = 'a') LOCATION '{folder}/p=b'")
    calls = CachedCatalog(w.catalog)
    with pytest.raises(NotSupportedError, match="has its location"):
        calls.append_partition("e", ("b",))
    calls.append_partition("e", ("c",))


@EVERY_WRITE
def test_a_cluster_must_have_the_table(w: Warehouse, write: Write):
    calls = made(w)
    listed, before = calls.valid_write_id_list("t"), state(w)
    with pytest.raises(AnalysisError) as raised:
        write(calls, listed, "c1")
    assert raised.value.condition == "CLUSTER_NOT_FOUND"
    w.commit(lambda tx: [SetCatalogProperty("hive.cluster.properties", '{"c1": {"filesystem": "/c1"}, "c2": {}}')])
    w.commit(lambda tx: [SetCatalogProperty("hive.default.cluster.name", "c2")])
    with pytest.raises(AnalysisError, match="it is on the cluster c2") as raised:
        write(calls, listed, "c1")
    assert raised.value.condition == "TABLE_NOT_IN_CLUSTER"
    assert state(w) == before
    write(calls, listed, "C2")
    assert state(w) != before


def test_reads_on_a_cluster(w: Warehouse):
    calls = made(w)
    w.commit(lambda tx: [SetCatalogProperty("hive.cluster.properties", '{"c1": {"filesystem": "/c1"}, "c2": {}}')])
    w.commit(lambda tx: [SetCatalogProperty("hive.default.cluster.name", "c2")])
    ids = calls.valid_write_id_list("t")
    reads: list[Callable[[str | None], object]] = [
        lambda cluster: calls.get_table("t", ids, cluster),
        lambda cluster: calls.get_partition("t", ("a",), ids, cluster),
        lambda cluster: calls.get_partition("t", ("none",), ids, cluster),
        lambda cluster: calls.get_partitions("t", ids, cluster),
        lambda cluster: calls.get_partitions_by_filter("t", "dt = 'a'", ids, cluster),
        lambda cluster: calls.list_partitions_by_filter("t", "dt = 'none'", ids, cluster),
    ]
    for read in reads:
        assert read("c2") == read(None)
        for cluster, condition in (("c1", "TABLE_NOT_IN_CLUSTER"), ("c3", "CLUSTER_NOT_FOUND")):
            with pytest.raises(AnalysisError) as raised:
                read(cluster)
            assert raised.value.condition == condition
    assert isinstance(reads[1]("c2"), Partition)


def test_copies_on_a_secondary_cluster(tmp_path: Path):
    with Session(tmp_path / "w", "duckdb") as session:
        session.execute("CREATE DATABASE d")
        definition = json.dumps({"here": {}, "c1": {"filesystem": str(tmp_path / "c1")}})
        changes = {"hive.cluster.properties": definition, "hive.default.cluster.name": "here"}
        with session.catalog.begin() as transaction:
            transaction.commit([SetCatalogProperty(*change) for change in changes.items()])
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (dt STRING)")
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        session.execute("REPLICATE TABLE t PARTITION (dt = 'b') TO CLUSTER c1")
        session.execute("REPLICATE TABLE t PARTITION (dt = 'c') TO CLUSTER c1")
        calls = CachedCatalog(session.catalog)
        seen = calls.valid_write_id_list("t")
        assert calls.get_table("t", seen, "C1").location.startswith(str(tmp_path / "c1"))
        assert calls.get_table("t", seen, "here") == calls.get_table("t", seen)
        here = calls.get_table("t", seen).location
        session.execute("SET hive.default.cluster.name = c1")
        assert calls.get_table("t", seen).location == here, "SET is for this session alone"
        with session.catalog.begin() as transaction:
            transaction.commit([SetCatalogProperty("hive.default.cluster.name", "c1")])
        assert calls.get_table("t", seen) == calls.get_table("t", seen, "c1")
        assert calls.get_table("t", seen, "here").location == here
        with session.catalog.begin() as transaction:
            transaction.commit([SetCatalogProperty("hive.default.cluster.name", "here")])
        session.execute("INSERT INTO t VALUES (4, 'b')")  # The copy has not its rows.
        newest = calls.valid_write_id_list("t")

        def on(cluster: str, ids: str) -> list[object]:
            return [values for partition in calls.get_partitions("t", ids, cluster) for values in partition.values]

        assert (on("here", seen), on("c1", seen)) == (["a", "b", "c"], ["b", "c"])
        assert (on("here", newest), on("c1", newest)) == (["a", "b", "c"], ["c"])
        assert calls.get_partition("t", ("b",), newest, "c1") is None
        assert calls.get_partition("t", ("b",), newest, "here") is not None
        assert calls.get_partitions_by_filter("t", "dt <= 'b'", newest, "c1") == ()
        with pytest.raises(AnalysisError, match="is not on the cluster c1"):
            calls.append_partition("t", ("d",), newest, "c1")
        calls.append_partition("t", ("d",), newest, "here")


@pytest.mark.parametrize("name", ["n", "d.n"])
def test_a_new_table_is_where_its_statement_would_put_it(tmp_path: Path, name: str):
    with Session(tmp_path / "w", "duckdb") as session:
        session.execute(f"CREATE DATABASE d LOCATION '{tmp_path / 'd'}'")
        calls = CachedCatalog(session.catalog)
        for default in (None, "here", "c1"):
            if default is not None:
                definition = json.dumps({"here": {}, "c1": {"filesystem": str(tmp_path / "c1")}})
                changes = {"hive.cluster.properties": definition, "hive.default.cluster.name": default}
                with session.catalog.begin() as transaction:
                    transaction.commit([SetCatalogProperty(*change) for change in changes.items()])
            for cluster in (None,) if default is None else (None, "here", "C1"):
                on = "" if cluster is None else f" ON CLUSTER {cluster}"
                columns = {"columns": (Column("x", "int"),), "partition_columns": ()}
                table = Table(0, name, **columns, format="parquet", location="")  # type: ignore[arg-type]
                ours = calls.create_table(table, NO_WRITES, cluster)
                session.execute(f"DROP TABLE {name}")
                session.execute(f"CREATE TABLE {name} (x INT){on}")
                theirs = session.snapshot().table(name)
                assert ours.location.rpartition("-")[0] == theirs.location.rpartition("-")[0]
                assert (ours.cluster, ours.copies) == (theirs.cluster, theirs.copies)
                session.execute(f"DROP TABLE {name}")


class TestCreateTable:
    def table(self, name: str = "n", **changes: object) -> Table:
        parts = {"columns": (Column("x", "int"),), "partition_columns": (Column("dt", "date"),), "format": "parquet"}
        return Table(0, name, **{**parts, "location": "", **changes})  # type: ignore[arg-type]

    def test_the_table_serves(self, w: Warehouse) -> None:
        calls = CachedCatalog(w.catalog)
        made = calls.create_table(self.table(comment="c", properties={"team": "x"}), NO_WRITES)
        assert made == w.catalog.snapshot().table("n")
        assert made.location == str(w.catalog.warehouse / f"n-{made.id}")
        with Session(w.catalog.warehouse, "duckdb", catalog=w.url) as session:
            session.execute("INSERT INTO n VALUES (1, DATE '2024-01-01')")
            assert len(list(session.execute("SELECT * FROM n").rows())) == 1
            session.execute("CREATE DATABASE d")
        in_database = calls.create_table(self.table("d.n"), NO_WRITES)
        assert in_database.location == str(w.catalog.warehouse / "d.db" / f"n-{in_database.id}")

    def test_the_list(self, w: Warehouse) -> None:
        calls = made(w)
        with pytest.raises(ProgrammingError):
            calls.create_table(self.table())
        for text in ("x", calls.valid_write_id_list("t")):
            with pytest.raises(DataError):
                calls.create_table(self.table(), text)
        assert w.catalog.snapshot().named("n") is None

    def test_what_cannot_be_created(self, w: Warehouse) -> None:
        calls = made(w)
        with pytest.raises(IntegrityError):
            calls.create_table(self.table("T"), NO_WRITES)
        with pytest.raises(NotSupportedError):
            calls.create_table(self.table(external=True, location="/x"), NO_WRITES)
        with pytest.raises(AnalysisError) as raised:
            calls.create_table(self.table("nowhere.n"), NO_WRITES)
        assert raised.value.condition == "SCHEMA_NOT_FOUND"
        wrong = [
            {"name": "a b"},
            {"name": ""},
            {"columns": ()},
            {"columns": (Column("x", "int"), Column("X", "int"))},
            {"columns": (Column("x", "int"), Column("DT", "int"))},
            {"columns": (Column("x", "money"),)},
            {"columns": (Column("rewriter_write_id", "int"),)},
            {"partition_columns": (Column("p", "array<int>"),)},
            {"format": "delta"},
            {"properties": {"owner": "x"}},
            {"properties": {"rewriter.packed": "maybe"}},
        ]
        for changes in wrong:
            with pytest.raises((AnalysisError, NotSupportedError)):
                calls.create_table(self.table(**changes), NO_WRITES)
        assert [table.name for table in w.catalog.snapshot().tables()] == ["t"]


@pytest.mark.parametrize(
    "key", ["owner", "rewriter.shared_location", "Rewriter.moving.1", "immutable", "cube.x", "field.delim"]
)
def test_properties_with_a_meaning_are_set_by_statements(w: Warehouse, key: str):
    calls = made(w)
    ids, before = calls.valid_write_id_list("t"), state(w)
    for write in (
        lambda: calls.alter_table("t", {"a": "b", key: "true"}, ids),
        lambda: calls.alter_table("t", {key: None}, ids),
        lambda: calls.alter_partition("t", ("a",), {key: "true"}, ids),
    ):
        with pytest.raises((AnalysisError, NotSupportedError)):
            write()
    assert state(w) == before


def test_missing_and_repeated_partitions(w: Warehouse):
    calls = made(w)
    ids = calls.valid_write_id_list("t")
    for write in (
        lambda: calls.drop_partition("t", ("b",), ids),
        lambda: calls.alter_partition("t", ("b",), {"k": "v"}, ids),
        lambda: calls.rename_partition("t", ("b",), ("c",), ids),
    ):
        with pytest.raises(AnalysisError) as raised:
            write()
        assert raised.value.condition == "PARTITIONS_NOT_FOUND"
    for write in (
        lambda: calls.add_partitions("t", [("b",), ("a",)], ids),
        lambda: calls.rename_partition("t", ("a",), ("a",), ids),
    ):
        with pytest.raises(IntegrityError):
            write()
    with pytest.raises(DataError):
        calls.append_partition("t", ("a", "b"), ids)
    assert state(w) == ({}, None, [(("a",), {})])
    calls.add_partitions("t", [("b",), ("a",)], ids, if_not_exists=True)
    assert [values for values, _ in state(w)[2]] == [("a",), ("b",)]  # type: ignore[misc, union-attr, attr-defined]


@pytest.mark.parametrize("value", [1, 1.5, True, b"b", ("b",), ["b"], object()])
def test_values_that_are_no_texts(w: Warehouse, value: object):
    calls, before = made(w, external=True), state(w)
    for write in (
        lambda: calls.append_partition("t", (value,)),  # type: ignore[arg-type]
        lambda: calls.add_partitions("t", [("b",), (value,)]),  # type: ignore[list-item]
        lambda: calls.rename_partition("t", ("a",), (value,)),  # type: ignore[arg-type]
    ):
        with pytest.raises(DataError, match=f"is a {type(value).__name__}, and partition values are texts") as raised:
            write()
        assert raised.value.condition == "INVALID_PARTITION_SPEC"
    assert state(w) == before
