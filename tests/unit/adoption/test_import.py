"""An import takes what a metastore has, and says what it does not take."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fake_metastore import FakeMetastore
from imported import commits, imported, importing, picture, reasons, served

from rewriter.catalog.catalog import Catalog
from rewriter.errors import OperationalError
from rewriter.metastore.adoption.definitions import IMPORTED
from rewriter.metastore.descriptors import kept
from rewriter.metastore.wire.interface import structure
from rewriter.session import Session


@pytest.fixture
def metastore() -> FakeMetastore:
    return FakeMetastore()


def test_a_catalog_that_is_served_comes_over_as_it_is(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    with Session(source, "duckdb") as session:
        for statement in (
            "CREATE DATABASE sales COMMENT 'of the shop'",
            f"CREATE EXTERNAL TABLE sales.o (x INT COMMENT 'n', y MAP<STRING, ARRAY<DECIMAL(10,2)>>) COMMENT 'orders' "
            f"PARTITIONED BY (c STRING, d DATE) STORED AS PARQUET LOCATION '{tmp_path}/o' "
            "TBLPROPERTIES ('team' = 'shop')",
            "ALTER TABLE sales.o ADD PARTITION (c='a/b=%', d='2026-01-01') PARTITION (c=NULL, d='2026-01-02') "
            f"PARTITION (c='ä', d='2026-01-03') LOCATION '{tmp_path}/elsewhere'",
            f"CREATE EXTERNAL TABLE t (x INT) STORED AS TEXTFILE LOCATION '{tmp_path}/t'",
        ):
            session.execute(statement)
    with served(source) as url:
        report = imported(target, url)
        assert list(report.rows()) == []
        assert report.summary == (
            "databases: 1 created, 0 changed, 0 dropped; tables and views: 2 created, 0 changed, 0 dropped; "
            "partitions: 3 created, 0 changed, 0 dropped"
        )
        assert picture(target) == picture(source)
        before = commits(target)
        assert imported(target, url).summary == "nothing has changed"
        assert commits(target) == before


def test_a_managed_table_becomes_an_external_one_that_is_not_purged(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("m", parameters={"external.table.purge": "true", "team": "a"})
    with metastore.serving() as url:
        assert imported(tmp_path, url).is_complete
        with closing(Catalog.open(tmp_path)) as catalog:
            table = catalog.snapshot().table("m")
    assert table.external
    assert kept(table.properties)["tableType"] == "EXTERNAL_TABLE"
    assert table.properties[IMPORTED] == url
    assert "external.table.purge" not in table.properties
    assert table.properties["team"] == "a"


def test_what_changes_at_the_source_changes_here(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_database("d", description="one")
    table = metastore.add_table("t", keys={"p": "int"}, parameters={"a": "1", "b": "2", "comment": "old"}, database="d")
    metastore.add_table("gone")
    for number in range(5):
        metastore.add_partition("t", f"p={number}", database="d")
    with metastore.serving() as url:
        imported(tmp_path, url, batch=2)
        metastore.databases["d"].description = "two"
        table.parameters = {"b": "3", "c": "4"}
        table.sd.cols = [*table.sd.cols, structure("FieldSchema")(name="y", type="string", comment="new")]
        del metastore.tables["default", "gone"]
        of_table = metastore.partitions["d", "t"]
        del of_table["p=0"]
        metastore.add_partition("t", "p=7", "file:/other/7", database="d")
        of_table["p=1"].sd.location = "file:/other/1"
        of_table["p=2"].parameters = {"numRows": "9"}
        report = imported(tmp_path, url, batch=2)
        assert report.is_complete
        assert report.summary == (
            "databases: 0 created, 1 changed, 0 dropped; tables and views: 0 created, 1 changed, 1 dropped; "
            "partitions: 1 created, 2 changed, 1 dropped"
        )
        columns, _, _, location, comment, properties, places = picture(tmp_path)["d.t"]
        assert columns == [("x", "int", None), ("y", "string", "new"), ("p", "int", None)]
        assert (comment, properties) == (None, {"b": "3", "c": "4"})
        assert places == {
            ("1",): ("/other/1", "3"),
            ("2",): (f"{location}/p=2", "9"),
            ("3",): (f"{location}/p=3", "3"),
            ("4",): (f"{location}/p=4", "3"),
            ("7",): ("/other/7", "3"),
        }
        with closing(Catalog.open(tmp_path)) as catalog:
            assert catalog.snapshot().database("d").comment == "two"
        of_table["p=1"].sd.location = f"{table.sd.location}/p=1"
        assert imported(tmp_path, url).summary == "partitions: 0 created, 1 changed, 0 dropped"
        assert imported(tmp_path, url).summary == "nothing has changed"


def test_a_table_that_moves_leaves_its_partitions_where_they_are(tmp_path: Path, metastore: FakeMetastore) -> None:
    table = metastore.add_table("t", keys={"p": "int"})
    metastore.add_partition("t", "p=1")
    with metastore.serving() as url:
        imported(tmp_path, url)
        table.sd.location = "file:/hive/moved"
        metastore.add_partition("t", "p=2")
        assert imported(tmp_path, url).is_complete
        assert picture(tmp_path)["t"][3] == "/hive/moved"
        places = {values: place for values, (place, _) in picture(tmp_path)["t"][-1].items()}
        assert places == {("1",): "/hive/default.db/t/p=1", ("2",): "/hive/moved/p=2"}


def test_a_table_that_was_made_anew_is_replaced(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", {"x": "int", "y": "int"}, {"p": "int"})
    metastore.add_partition("t", "p=1")
    with metastore.serving() as url:
        imported(tmp_path, url)
        metastore.add_table("t", {"z": "string"}, {"q": "string"}, format="orc")
        metastore.add_partition("t", "q=a")
        assert imported(tmp_path, url).is_complete
        columns, _, format, *_, places = picture(tmp_path)["t"]
        assert columns == [("z", "string", None), ("q", "string", None)]
        assert format == "orc"
        assert list(places) == [("a",)]


def test_a_database_that_is_gone_is_dropped_unless_it_has_objects(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_database("d")
    metastore.add_database("e")
    with metastore.serving() as url:
        imported(tmp_path, url)
        with Session(tmp_path, "duckdb") as session:
            session.execute("CREATE VIEW e.mine AS SELECT 1 AS x")
        del metastore.databases["d"], metastore.databases["e"]
        report = imported(tmp_path, url)
        assert report.databases.dropped == 1
        assert "[SCHEMA_NOT_EMPTY]" in reasons(report)["e", "database"]


def test_partitions_of_another_format_are_never_registered(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", keys={"p": "int"})
    for number in range(4):
        metastore.add_partition("t", f"p={number}")
    of_table = metastore.partitions["default", "t"]
    of_table["p=1"].sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    of_table["p=2"].sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
    metastore.add_table("csv", keys={"p": "int"}, format="textfile", field_delim=",")
    for number in range(3):
        metastore.add_partition("csv", f"p={number}")
    texts = metastore.partitions["default", "csv"]
    texts["p=1"].sd.serdeInfo.parameters = {"field.delim": ";"}
    texts["p=2"].sd.serdeInfo.parameters = {"field.delim": ",", "serialization.format": ","}
    with metastore.serving() as url:
        report = imported(tmp_path, url)
        assert set(picture(tmp_path)["t"][-1]) == {("0",), ("3",)}
        assert set(picture(tmp_path)["csv"][-1]) == {("0",), ("2",)}
        rows = {(object_, example): reason for object_, _, _, example, reason in report.rows()}
        assert "TextInputFormat" in rows["t", "p=1"]
        assert "OrcSerde" in rows["t", "p=2"]
        assert "other separators" in rows["csv", "p=1"]
        assert len(rows) == 3
        # A partition that gets another format later is not read any more.
        of_table["p=0"].sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
        imported(tmp_path, url)
        assert set(picture(tmp_path)["t"][-1]) == {("3",)}


_REFUSED: dict[str, dict[str, Any]] = {
    "hdfs": {"location": "hdfs://nn:8020/t"},
    "gs": {"location": "gs://bucket/t"},
    "abfs": {"location": "abfs://c@host/t"},
    "relative": {"location": "t"},
    "other_machine": {"location": "file://host/t"},
    "acid": {"parameters": {"transactional": "true"}},
    "stored_elsewhere": {"parameters": {"storage_handler": "org.apache.hadoop.hive.hbase.HBaseStorageHandler"}},
    "index": {"kind": "INDEX_TABLE"},
    "union_type": {"columns": {"x": "uniontype<int,string>"}},
    "interval_type": {"columns": {"x": "struct<a:array<interval_day_time>>"}},
    "binary_key": {"keys": {"p": "binary"}},
    "twice": {"columns": {"x": "int"}, "keys": {"X": "int"}},
    "root": {"location": "file:/"},
    "bad-name": {},
}
_REASONS = {
    "hdfs": "hdfs://",
    "gs": "gs://",
    "abfs": "not supported",
    "relative": "no absolute path",
    "other_machine": "another machine",
    "acid": "transactional",
    "stored_elsewhere": "HBaseStorageHandler",
    "index": "INDEX_TABLE",
    "union_type": "uniontype",
    "interval_type": "interval_day_time",
    "binary_key": "INVALID_PARTITION_COLUMN_DATA_TYPE",
    "twice": "INVALID_TABLE_DEFINITION",
    "root": "UNSAFE_LOCATION",
    "bad-name": "INVALID_SCHEMA_OR_RELATION_NAME",
}


def test_tables_that_the_catalog_cannot_have_are_reported(tmp_path: Path, metastore: FakeMetastore) -> None:
    for name, options in _REFUSED.items():
        metastore.add_table(name, **options)
    metastore.add_table("fine")
    with metastore.serving() as url:
        said = reasons(imported(tmp_path, url))
    assert set(picture(tmp_path)) == {"fine"}
    assert said.keys() == {(f"default.{name}" if name != "root" else name, "table") for name in _REFUSED}
    for (object_, _), reason in said.items():
        assert _REASONS[object_.rpartition(".")[2]] in reason, object_


def test_of_two_tables_that_share_files_one_is_taken(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("a", keys={"p": "int"}, location="file:/data/a")
    metastore.add_table("b", location="file:/data/a/inside")
    metastore.add_table("c", keys={"p": "int"}, location="file:/data/c")
    metastore.add_partition("c", "p=1", "file:/data/a/p=9")
    metastore.add_partition("c", "p=2", "file:/data/c/deep/2")
    metastore.add_partition("c", "p=3", "file:/data/c/deep")
    metastore.add_partition("c", "p=4", "file:/data/c")
    metastore.add_partition("c", "p=5")
    with metastore.serving() as url:
        report = imported(tmp_path, url)
        said = {(object_, example): reason for object_, _, _, example, reason in report.rows()}
        assert set(picture(tmp_path)) == {"a", "c"}
        assert set(picture(tmp_path)["c"][-1]) == {("2",), ("5",)}
        assert said.keys() == {("b", None), ("c", "p=1"), ("c", "p=3"), ("c", "p=4")}
        assert all("[SHARED_LOCATION]" in reason for reason in said.values())


def test_what_the_catalog_has_already_is_left_alone(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("mine", {"other": "int"})
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE mine (x INT)")
        session.execute("CREATE TABLE kept (x INT)")
    with metastore.serving() as url:
        report = imported(tmp_path, url)
        assert "did not make" in reasons(report)["mine", "table"]
        with closing(Catalog.open(tmp_path)) as catalog:
            assert not catalog.snapshot().table("mine").external
            assert catalog.snapshot().table("kept").columns[0].name == "x"


def test_two_sources_do_not_touch_each_other(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("a")
    other = FakeMetastore()
    other.add_table("b")
    with metastore.serving() as one, other.serving() as two:
        assert imported(tmp_path, one).is_complete
        assert imported(tmp_path, two).is_complete
        assert set(picture(tmp_path)) == {"a", "b"}
        del metastore.tables["default", "a"]
        imported(tmp_path, two)
        assert set(picture(tmp_path)) == {"a", "b"}
        imported(tmp_path, one)
        assert set(picture(tmp_path)) == {"b"}


def test_properties_with_a_meaning_here_are_not_taken(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table(
        "t", keys={"p": "int"}, parameters={"rewriter.partitions": "discovered", "owner": "me", "a": "1"}
    )
    metastore.add_partition("t", "p=1").parameters = {"cube.x": "1"}
    with metastore.serving() as url:
        said = {(object_, what): example for object_, what, _, example, _ in imported(tmp_path, url).rows()}
        assert said == {
            ("t", "properties"): "owner, rewriter.partitions",
            ("t", "properties of partitions"): "p=1: cube.x",
        }
        assert picture(tmp_path)["t"][5] == {"a": "1"}
        assert list(picture(tmp_path)["t"][-1]) == [("1",)]
        # A property that a user of the catalog sets stays.
        with Session(tmp_path, "duckdb") as session:
            session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.shared_location' = 'true')")
        imported(tmp_path, url)
        with closing(Catalog.open(tmp_path)) as catalog:
            assert catalog.snapshot().table("t").properties["rewriter.shared_location"] == "true"


def test_files_with_extra_lines_are_listed_and_not_read(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("h", format="textfile", parameters={"skip.header.line.count": "1"})
    metastore.add_table("plain", format="textfile", parameters={"skip.header.line.count": "0"})
    with metastore.serving() as url:
        assert imported(tmp_path, url).is_complete
        assert picture(tmp_path)["h"][2] == "textfile with other rows"
        assert picture(tmp_path)["plain"][2] == "textfile"


def test_each_batch_is_one_commit(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", keys={"p": "int"})
    for number in range(10):
        metastore.add_partition("t", f"p={number}")
    with metastore.serving() as url:
        imported(tmp_path, url, "default.missing")
        before = commits(tmp_path)
        imported(tmp_path, url, batch=4)
        # The table, and three batches.
        assert commits(tmp_path) == before + 1 + 3
        assert metastore.calls.count("get_partitions_by_names") == 3


def test_odd_values(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", keys={"p": "int"})
    metastore.add_partition("t", "p=07")
    metastore.add_partition("t", "p=7")
    metastore.add_partition("t", "p=x")
    metastore.add_partition("t", "p=__HIVE_DEFAULT_PARTITION__")
    metastore.add_partition("t", "p=8").sd.location = "hdfs://nn/t/p=8"
    with metastore.serving() as url:
        report = imported(tmp_path, url)
        places = picture(tmp_path)["t"][-1]
        assert {values: place.rpartition("/")[2] for values, (place, _) in places.items()} == {
            ("7",): "p=07",
            (None,): "p=__HIVE_DEFAULT_PARTITION__",
        }
        said = {example: reason for *_, example, reason in report.rows()}
        assert "same values" in said["p=7"]
        assert "hdfs" in said["p=8"]
        assert said.keys() == {"p=7", "p=x", "p=8"}


def test_a_selection(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_database("d")
    metastore.add_database("e")
    for database, table in (("default", "a"), ("d", "b"), ("d", "c"), ("e", "f")):
        metastore.add_table(table, database=database)
    metastore.functions.append(structure("Function")(functionName="f", dbName="default"))
    with metastore.serving() as url:
        report = imported(tmp_path, url, "d.B", "e.*", "default.nothing")
        assert set(picture(tmp_path)) == {"d.b", "e.f"}
        assert reasons(report) == {("default.nothing", "table"): "The source does not have it."}
        del metastore.tables["d", "b"]
        imported(tmp_path, url, "e.*")
        assert set(picture(tmp_path)) == {"d.b", "e.f"}
        imported(tmp_path, url, "d.b")
        assert set(picture(tmp_path)) == {"e.f"}


def test_no_directory_is_made_or_removed(tmp_path: Path, metastore: FakeMetastore) -> None:
    place = tmp_path / "files"
    (place / "t" / "p=1").mkdir(parents=True)
    (place / "t" / "p=1" / "f").write_bytes(b"x")
    warehouse = tmp_path / "warehouse"
    metastore.add_database("d")
    metastore.databases["d"].locationUri = f"file:{place}/d.db"
    metastore.add_table("t", keys={"p": "int"}, location=f"file:{place}/t", database="d")
    metastore.add_table("u", location=f"file:{place}/t/../new/u")
    for number in range(3):
        metastore.add_partition("t", f"p={number}", database="d")
    with metastore.serving() as url:
        imported(warehouse, url)
        before = _files(tmp_path)
        assert str(place / "new") not in before
        metastore.tables.clear()
        metastore.databases.pop("d")
        imported(warehouse, url)
        assert picture(warehouse) == {}
        assert _files(tmp_path) == before
        assert (place / "t" / "p=1" / "f").read_bytes() == b"x"


def _files(folder: Path) -> set[str]:
    found = {os.path.join(root, name) for root, folders, files in os.walk(folder) for name in (*folders, *files)}
    return {path for path in found if ".rewriter" not in path and "catalog.db" not in path}


_CUBE = ("CREATE CUBE sales DIMENSIONS (day TIMESTAMP) MEASURES (n BIGINT SUM) TIME day",)


def test_lies_about_names_are_not_believed(tmp_path: Path, metastore: FakeMetastore) -> None:
    table = metastore.add_table("t", keys={"p": "int"})
    other = metastore.add_table("other", keys={"p": "int"})
    for number in range(3):
        metastore.add_partition("t", f"p={number}")
    stranger = metastore.add_partition("other", "p=9")
    unasked = metastore.add_partition("t", "p=5")
    del metastore.partitions["default", "t"]["p=5"]
    there = metastore.partitions["default", "t"]
    metastore.overrides["get_partitions_by_names"] = lambda _: [there["p=0"], there["p=1"], stranger, unasked]
    metastore.overrides["get_table_objects_by_name"] = lambda arguments: [table, other][: len(arguments.tbl_names)]
    with metastore.serving() as url:
        report = imported(tmp_path, url, "default.t")
        assert set(picture(tmp_path)) == {"t"}
        assert set(picture(tmp_path)["t"][-1]) == {("0",), ("1",)}
        said = {example: reason for *_, example, reason in report.rows()}
        assert "another table" in said["default.other"]
        assert "was asked for others" in said["5"]
        assert "does not return it" in said["p=2"]
        metastore.overrides["get_table_objects_by_name"] = lambda _: [other]
        report = imported(tmp_path, url, "default.t")
        assert reasons(report) == {
            ("default.other", "table"): "The source returned it, but was asked for others.",
            ("default.t", "table"): "The source lists it, but does not return it.",
        }


def test_a_table_that_the_source_refuses_does_not_end_the_import(tmp_path: Path, metastore: FakeMetastore) -> None:
    for name in ("a", "b", "c"):
        metastore.add_table(name, keys={"p": "int"})
        metastore.add_partition(name, "p=1")

    def refuse(method: str, arguments: Any) -> None:
        if method == "get_partition_names" and arguments.tbl_name == "b":
            raise structure("MetaException")(message="its database is down")

    metastore.on_call = refuse
    with metastore.serving() as url:
        report = imported(tmp_path, url)
        assert "its database is down" in reasons(report)["b", "partitions"]
        assert [len(picture(tmp_path)[name][-1]) for name in ("a", "b", "c")] == [1, 0, 1]


def test_a_connection_that_is_cut_in_a_batch_is_made_again(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", keys={"p": "int"})
    for number in range(9):
        metastore.add_partition("t", f"p={number}")
    seen: list[str] = []

    def cut(method: str, _: Any) -> None:
        seen.append(method)
        if method == "get_partitions_by_names" and seen.count(method) in (2, 4):
            metastore.cut_after = 100

    metastore.on_call = cut
    with metastore.serving() as url:
        assert imported(tmp_path, url, batch=3).is_complete
        assert len(picture(tmp_path)["t"][-1]) == 9


def test_an_import_that_ended_goes_on_where_it_was(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", keys={"p": "int"})
    for number in range(9):
        metastore.add_partition("t", f"p={number}")

    def always_cut(method: str, arguments: Any) -> None:
        if method == "get_partitions_by_names" and "p=6" in arguments.names:
            metastore.cut_after = 60

    metastore.on_call = always_cut
    with metastore.serving() as url:
        with importing(tmp_path, url, batch=3) as one, pytest.raises(OperationalError) as raised:
            one.everything()
        assert raised.value.condition == "METASTORE_UNAVAILABLE"
        assert len(picture(tmp_path)["t"][-1]) == 6
        metastore.on_call = lambda _method, _arguments: None
        report = imported(tmp_path, url, batch=3)
        assert report.summary == "partitions: 3 created, 0 changed, 0 dropped"
        assert len(picture(tmp_path)["t"][-1]) == 9


def test_many_reasons_are_few_rows(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", keys={"p": "int"})
    for number in range(100):
        metastore.add_partition("t", f"p=x{number}")
    metastore.add_table("u", location="hdfs://" + "x" * 100_000)
    with metastore.serving() as url:
        rows = list(imported(tmp_path, url).rows())
    assert sum(count for object_, _, count, _, _ in rows if object_ == "t") == 100
    assert len(rows) == 22
    assert max(len(reason) for *_, reason in rows) <= 400


def test_two_imports_at_once_take_everything_once(tmp_path: Path, metastore: FakeMetastore) -> None:
    for name in ("a", "b"):
        metastore.add_table(name, keys={"p": "int"})
        for number in range(12):
            place = f"file:/other/{name}/{number}" if number % 2 else None
            metastore.add_partition(name, f"p={number}", place)
    with metastore.serving() as url:
        imported(tmp_path / "alone", url)
        Catalog.open(tmp_path / "both").close()
        with ThreadPoolExecutor(2) as pool:
            reports = [pool.submit(imported, tmp_path / "both", url, batch=3) for _ in range(2)]
            assert all(report.result().is_complete for report in reports)
        assert picture(tmp_path / "both") == picture(tmp_path / "alone")


def test_places_that_another_writer_takes_meanwhile(tmp_path: Path, metastore: FakeMetastore) -> None:
    metastore.add_table("t", keys={"p": "int"})
    for number in range(6):
        metastore.add_partition("t", f"p={number}")
    with metastore.serving() as url:
        imported(tmp_path, url, "default.nothing")

        def take(method: str, arguments: Any) -> None:
            if method == "get_partitions_by_names" and "p=4" in arguments.names:
                with Session(tmp_path, "duckdb") as session:
                    session.execute("ALTER TABLE t ADD PARTITION (p = 99) LOCATION '/hive/default.db/t/p=5'")

        metastore.on_call = take
        with importing(tmp_path, url, batch=2) as one:
            one.everything()
        rows = [(example, reason) for *_, example, reason in one.report.rows()]
        assert [example for example, _ in rows] == ["p=5"]
        assert "[SHARED_LOCATION]" in rows[0][1]
        assert set(picture(tmp_path)["t"][-1]) == {("0",), ("1",), ("2",), ("3",), ("4",), ("99",)}
