"""Databases over Thrift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes
from unit.serve.metastore.descriptions import EXTERNAL, partition, table, view

Sql = Any


def _folder(metastore: Any) -> Path:
    """Returns the directory in which clients create tables."""
    return Path(metastore.catalog.warehouse).absolute() / "metastore"


def test_a_database_is_read_back_equal(metastore: Any, client: Any, tmp_path: Path) -> None:
    parameters = {"it's": 'a "quote"', "lines": "one\ntwo\r\n", "é": "☃ \U0001f600", "": "empty", "empty": ""}
    given = ttypes.Database("Sales", "said 'no'\n", f"file:{tmp_path}/sales", parameters, ownerName="me", ownerType=2)
    client.create_database(given)
    shown = client.get_database("SALES")
    assert (shown.name, shown.description) == ("sales", "said 'no'\n")
    assert (shown.locationUri, shown.parameters) == (f"file:{tmp_path}/sales", parameters)
    assert (shown.ownerName, shown.ownerType) == ("me", 2)
    assert client.get_all_databases() == ["default", "sales"]
    assert metastore.connect().get_database("sales") == shown


def test_default_always_exists(client: Any) -> None:
    shown = client.get_database("default")
    assert (shown.ownerName, shown.ownerType) == ("public", 2)
    with pytest.raises(ttypes.AlreadyExistsException):
        client.create_database(ttypes.Database("default"))
    with pytest.raises(ttypes.MetaException):
        client.drop_database("default", True, True)
    with pytest.raises(ttypes.MetaException):
        client.alter_database("default", ttypes.Database("default", "other"))


def test_sql_and_clients_see_each_other_at_once(client: Any, sql: Sql) -> None:
    client.create_database(ttypes.Database("of_client", "a comment"))
    assert ("of_client",) in sql("SHOW DATABASES")
    sql("CREATE DATABASE of_sql COMMENT 'text' WITH DBPROPERTIES ('a' = 'b')")
    shown = client.get_database("of_sql")
    assert (shown.description, shown.parameters) == ("text", {"a": "b"})
    client.drop_database("of_sql", False, False)
    assert {("default",), ("of_client",)} <= set(sql("SHOW DATABASES"))
    assert ("of_sql",) not in sql("SHOW DATABASES")
    sql("DROP DATABASE of_client")
    with pytest.raises(ttypes.NoSuchObjectException):
        client.get_database("of_client")
    with pytest.raises(ttypes.NoSuchObjectException):
        client.drop_database("of_client", False, False)
    with pytest.raises(ttypes.NoSuchObjectException):
        client.alter_database("of_client", ttypes.Database("of_client"))


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (None, ["ab", "abc", "default", "x_y"]),
        ("", ["ab", "abc", "default", "x_y"]),
        ("*", ["ab", "abc", "default", "x_y"]),
        ("AB*", ["ab", "abc"]),
        ("ab|x.*", ["ab", "x_y"]),
        ("a", []),
        ("a?", []),
        # What clients of Hive 3 and later send.
        ("@hive#", ["ab", "abc", "default", "x_y"]),
        ("@hive#ab*|def*", ["ab", "abc", "default"]),
    ],
)
@pytest.mark.share(1)
def test_patterns(client: Any, pattern: str | None, found: list[str]) -> None:
    for name in ("ab", "abc", "x_y"):
        client.create_database(ttypes.Database(name))
    assert client.get_databases(pattern) == found


def test_names_with_a_catalog(client: Any) -> None:
    client.create_database(ttypes.Database("sales"))
    client.create_table(table("t", database="@hive#sales"))
    assert client.get_database("@hive#sales").name == "sales"
    assert client.get_table("@hive#sales", "t").dbName == "sales"
    assert [meta.tableName for meta in client.get_table_meta("@hive#s*", "*", None)] == ["t"]
    assert client.get_all_tables("@hive#sales") == ["t"]


@pytest.mark.parametrize(
    "name", ["", None, "../up", "a.b", "a/b", "a b", "x" * 101, "parquet", "system", "spark_catalog", "@hive#a/b"]
)
@pytest.mark.share(1)
def test_names_that_no_statement_would_give(client: Any, name: str | None) -> None:
    with pytest.raises(ttypes.InvalidObjectException, match="INVALID_SCHEMA_OR_RELATION_NAME"):
        client.create_database(ttypes.Database(name))
    assert client.get_all_databases() == ["default"]


def test_locations_that_no_statement_would_give(metastore: Any, client: Any, tmp_path: Path) -> None:
    client.create_table(table("t", location=tmp_path / "t", kind=EXTERNAL))
    client.create_database(ttypes.Database("d", locationUri=f"file:{tmp_path}/d"))
    for place in ("/", metastore.catalog.warehouse, tmp_path, tmp_path / "t", tmp_path / "t" / "x", "/a/../b", "rel"):
        for call in (client.create_database, lambda given: client.alter_database("d", given)):
            with pytest.raises(ttypes.MetaException, match=r"UNSAFE_LOCATION|INVALID_LOCATION"):
                call(ttypes.Database("d2", locationUri=f"file:{place}" if str(place)[0] == "/" else place))
    (tmp_path / "link").symlink_to(metastore.catalog.warehouse)
    with pytest.raises(ttypes.MetaException, match="UNSAFE_LOCATION"):
        client.create_database(ttypes.Database("d2", locationUri=f"file:{tmp_path}/link"))
    assert client.get_all_databases() == ["d", "default"]
    assert client.get_database("d").locationUri == f"file:{tmp_path}/d"


def test_an_alteration_changes_what_it_gives(metastore: Any, client: Any, tmp_path: Path) -> None:
    client.create_database(ttypes.Database("d", "before", parameters={"a": "1", "b": "2"}))
    before = client.get_database("d")
    # A client sends all of the database back, and its name may be another.
    client.alter_database("d", ttypes.Database("other", "after", before.locationUri, {"b": "3"}, ownerName="you"))
    shown = client.get_database("d")
    assert (shown.name, shown.description, shown.parameters) == ("d", "after", {"b": "3"})
    assert (shown.ownerName, shown.locationUri) == ("you", before.locationUri)
    # The default location is still none of its own: SQL keeps its own directories.
    assert metastore.catalog.snapshot().database("d").location is None
    client.alter_database("d", ttypes.Database("d", locationUri=f"file:{tmp_path}/new"))
    assert client.get_database("d").locationUri == f"file:{tmp_path}/new"
    client.alter_database("d", client.get_database("d"))
    assert client.get_all_databases() == ["d", "default"]


@pytest.mark.parametrize("key", ["rewriter.metastore", "rewriter.shared_location", "REWRITER.x"])
def test_properties_of_this_project_are_refused(client: Any, key: str) -> None:
    client.create_database(ttypes.Database("d"))
    for call in (client.create_database, lambda given: client.alter_database("d", given)):
        with pytest.raises(ttypes.MetaException, match="has a meaning here"):
            call(ttypes.Database("new", parameters={key: "true"}))
    assert client.get_all_databases() == ["d", "default"]
    assert client.get_database("d").parameters == {}


def test_drop_refuses_what_holds_objects(client: Any, sql: Sql) -> None:
    client.create_database(ttypes.Database("d"))
    client.create_table(table("t", database="d"))
    client.create_table(view("v", database="d"))
    with pytest.raises(ttypes.InvalidOperationException, match="not empty"):
        client.drop_database("d", True, False)
    assert client.get_all_tables("d") == ["t", "v"]
    client.drop_database("d", True, True)
    assert ("d",) not in sql("SHOW DATABASES")


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE d.m (a INT)", "CREATE CUBE d.c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)"]
)
def test_drop_refuses_what_clients_do_not_see(client: Any, sql: Sql, statement: str) -> None:
    client.create_database(ttypes.Database("d"))
    client.create_table(table("t", database="d"))
    sql(statement)
    with pytest.raises(ttypes.InvalidOperationException, match="only DROP DATABASE of a session"):
        client.drop_database("d", True, True)
    assert client.get_table("d", "t").tableName == "t"
    sql("DROP DATABASE d CASCADE")


def test_drop_removes_the_files_of_purged_tables_alone(metastore: Any, client: Any, sql: Sql, tmp_path: Path) -> None:
    folder = _folder(metastore)
    client.create_database(ttypes.Database("d"))
    assert (folder / "d.db").is_dir()
    client.create_table(table("gone", database="d"))
    client.create_table(table("stays", database="d", kind=EXTERNAL))
    client.create_table(table("outside", database="d", location=tmp_path / "outside"))
    for place in (folder / "d.db" / "gone", folder / "d.db" / "stays", tmp_path / "outside"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "file").write_text("x")
    client.drop_database("d", True, True)
    assert not (folder / "d.db" / "gone").exists()
    assert (folder / "d.db" / "stays" / "file").exists()
    assert (tmp_path / "outside" / "file").exists()
    client.create_database(ttypes.Database("e"))
    client.create_table(table("kept", database="e"))
    (folder / "e.db" / "kept" / "file").write_text("x")
    client.drop_database("e", False, True)
    assert (folder / "e.db" / "kept" / "file").exists()


def test_drop_of_a_database_whose_table_a_fact_of_another_uses(client: Any, sql: Sql) -> None:
    client.create_database(ttypes.Database("d"))
    client.create_table(table("days", {"n": "bigint"}, {"dt": "string"}, database="d"))
    sql("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    sql("CREATE FACT f OF CUBE c STORED IN (TABLE d.days PERIOD DAILY PARTITIONED BY t AS (dt = 'yyyy-MM-dd'))")
    with pytest.raises(ttypes.InvalidOperationException, match="TABLE_IN_USE"):
        client.drop_database("d", True, True)
    client.add_partition(partition("days", ["2020-01-01"], database="d"))
    assert client.get_partition_names("d", "days", -1) == ["dt=2020-01-01"]
