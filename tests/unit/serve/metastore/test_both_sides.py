"""What a client and a session of SQL do to the same table: neither reads other rows than those that are there."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from descriptions import EXTERNAL, changed, partition, table
from pymetastore.hive_metastore import ttypes

from rewriter.errors import Error
from rewriter.metastore.formats import catalog_format

Run = Callable[[str], list[tuple[Any, ...]]]
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_TEXT = "org.apache.hadoop.mapred.TextInputFormat"


def of_spark(name: str, location: object = None, metadata: object = None, nullable: bool = True, **more: str) -> Any:
    """Returns a Parquet table of two columns as Spark describes one that it made by USING."""
    columns = [
        {"name": "Id", "type": "integer", "nullable": nullable, "metadata": metadata or {}},
        {"name": "s", "type": "string", "nullable": True, "metadata": {}},
    ]
    schema = json.dumps({"type": "struct", "fields": columns}, separators=(",", ":"))
    parameters = {"spark.sql.sources.provider": "parquet", "spark.sql.sources.schema": schema, **more}
    return table(name, {"id": "int", "s": "string"}, location=location, parameters=parameters)


def of_text(name: str, separator: str, **more: Any) -> Any:
    given = table(name, {"a": "string", "b": "string"}, **more)
    given.sd.inputFormat = _TEXT
    given.sd.serdeInfo = ttypes.SerDeInfo(serializationLib=_LAZY, parameters={"field.delim": separator})
    return given


def test_a_hostile_pattern_holds_up_nobody(client: Any) -> None:
    client.create_table(table("a" * 90))
    started = time.thread_time()
    assert client.get_tables("default", "*a" * 28 + "*b") == []
    assert client.get_tables("default", "A*|none") == ["a" * 90]
    assert client.get_tables("default", "*a*a") == ["a" * 90]
    assert client.get_tables("default", "[a]*") == []
    assert time.thread_time() - started < 5


def test_directories_named_by_values(client: Any, sql: Run, tmp_path: Path) -> None:
    sql(
        f"CREATE EXTERNAL TABLE t (x INT) PARTITIONED BY (p INT) LOCATION '{tmp_path}/t' "
        "TBLPROPERTIES ('rewriter.directories' = 'values')"
    )
    sql("INSERT INTO t VALUES (7, 1)")
    part = client.get_partition("default", "t", ["1"])
    assert part.sd.location == f"file:{tmp_path}/t/1"
    part.parameters["k"] = "v"
    client.alter_partition("default", "t", part)
    assert sql("SELECT x FROM t") == [(7,)]


def test_discovered_partitions_are_refused_and_not_empty(client: Any, sql: Run, tmp_path: Path) -> None:
    sql(
        f"CREATE EXTERNAL TABLE t (x INT) PARTITIONED BY (p INT) LOCATION '{tmp_path}/t' "
        "TBLPROPERTIES ('rewriter.partitions' = 'discovered')"
    )
    for call in (
        lambda: client.get_partitions("default", "t", -1),
        lambda: client.get_partition_names("default", "t", -1),
        lambda: client.add_partition(partition("t", ["1"])),
    ):
        with pytest.raises(ttypes.MetaException, match="discovered"):
            call()


def test_a_table_of_spark_lies_at_its_path(client: Any, sql: Run, tmp_path: Path) -> None:
    sql(f"CREATE EXTERNAL TABLE other (id INT, s STRING) LOCATION '{tmp_path}/files'")
    sql("INSERT INTO other VALUES (1, 'a')")
    sql("DROP TABLE other")
    given = changed(of_spark("t", tmp_path / "t-__PLACEHOLDER__"), tableType=EXTERNAL)
    given.sd.serdeInfo.parameters = {"path": f"file:{tmp_path}/files"}
    client.create_table(given)
    assert sql("SELECT id, s FROM t") == [(1, "a")]
    shown = client.get_table("default", "t")
    assert shown.sd.location == given.sd.location
    assert shown.sd.serdeInfo.parameters["path"] == f"file:{tmp_path}/files"
    sql(f"ALTER TABLE t SET LOCATION '{tmp_path}/elsewhere'")
    assert client.get_table("default", "t").sd.serdeInfo.parameters["path"] == f"file:{tmp_path}/elsewhere"


def test_a_renamed_table_of_spark_takes_its_files_along(client: Any, sql: Run) -> None:
    """Spark sends the new path, and the old location."""
    client.create_table(of_spark("t"))
    given = client.get_table("default", "t")
    given.sd.serdeInfo.parameters = {"path": given.sd.location}
    client.alter_table("default", "t", given)
    sql("INSERT INTO t VALUES (1, 'a')")
    renamed = changed(client.get_table("default", "t"), tableName="u")
    target = given.sd.location[:-1] + "u"
    renamed.sd.serdeInfo.parameters["path"] = target
    client.alter_table("default", "t", renamed)
    shown = client.get_table("default", "u")
    assert (shown.sd.location, shown.sd.serdeInfo.parameters["path"]) == (target, target)
    assert sql("SELECT id, s FROM u") == [(1, "a")]


def test_columns_of_spark_are_changed_by_spark(client: Any, sql: Run) -> None:
    client.create_table(of_spark("t"))
    for statement in (
        "ALTER TABLE t ADD COLUMNS (n INT)",
        "ALTER TABLE t ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE t ALTER COLUMN id COMMENT 'x'",
    ):
        with pytest.raises(Error, match="Change them in Spark"):
            sql(statement)


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", ["buckets", "not null", "default"])
def test_what_sessions_do_not_keep(client: Any, sql: Run, kind: str) -> None:
    given = of_spark(
        "t",
        nullable=kind != "not null",
        metadata={"EXISTS_DEFAULT": "42"} if kind == "default" else None,
        **({"spark.sql.sources.schema.numBuckets": "2"} if kind == "buckets" else {}),
    )
    client.create_table(given)
    with pytest.raises(Error) as caught:
        sql("INSERT INTO t VALUES (1, 'a')")
    assert caught.value.condition == ("UNSUPPORTED" if kind == "default" else "CLIENT_TABLE")
    if kind == "default":
        with pytest.raises(Error, match="with default values"):
            sql("SELECT * FROM t")
    else:
        assert sql("SELECT * FROM t") == []
    # A client changes it as before.
    client.alter_table("default", "t", changed(client.get_table("default", "t"), owner="b"))
    assert client.get_table("default", "t").owner == "b"


@pytest.mark.share(1)
@pytest.mark.parametrize(("before", "after"), [("string", "int"), ("bigint", "tinyint"), ("double", "float")])
def test_types_do_not_become_narrower(client: Any, before: str, after: str) -> None:
    client.create_table(table("t", {"a": before}))
    given = client.get_table("default", "t")
    given.sd.cols[0].type = after
    with pytest.raises(ttypes.InvalidOperationException, match="cannot become"):
        client.alter_table("default", "t", given)


def test_separators_follow_the_client(client: Any, sql: Run) -> None:
    client.create_table(of_text("t", "|"))
    sql("INSERT INTO t VALUES ('q', 'r')")
    given = client.get_table("default", "t")
    place = Path(given.sd.location.removeprefix("file:"))
    given.sd.serdeInfo.parameters["field.delim"] = ";"
    client.alter_table("default", "t", given)
    (place / "more").write_text("x;y\n")
    assert ("x", "y") in sql("SELECT a, b FROM t")


def test_partitions_with_other_separators_are_refused(client: Any, sql: Run) -> None:
    client.create_table(of_text("t", "|", keys={"p": "int"}))
    other = partition("t", ["1"])
    other.sd = changed(of_text("t", ";").sd, location=None)
    with pytest.raises(ttypes.InvalidObjectException, match="separators"):
        client.add_partition(other)
    same = partition("t", ["1"])
    same.sd = changed(of_text("t", "|").sd, location=None)
    client.add_partition(same)
    given = client.get_table("default", "t")
    given.sd.serdeInfo.parameters["field.delim"] = ";"
    with pytest.raises(ttypes.InvalidOperationException, match="has partitions"):
        client.alter_table("default", "t", given)


def test_statistics_of_sessions_do_not_lock_a_partition(client: Any, sql: Run) -> None:
    client.create_table(table("t", keys={"p": "string"}))
    client.add_partition(partition("t", ["x"]))
    sql("INSERT INTO t VALUES (1, 'x')")
    sql("ANALYZE TABLE t PARTITION (p = 'x') COMPUTE STATISTICS FOR ALL COLUMNS")
    part = client.get_partition("default", "t", ["x"])
    assert not any(key.startswith("rewriter.") for key in part.parameters)
    part.parameters["k"] = "v"
    client.alter_partition("default", "t", part)
    client.rename_partition("default", "t", ["x"], changed(part, values=["y"]))
    assert client.get_partition("default", "t", ["y"]).parameters["k"] == "v"
    assert sql("SELECT a, p FROM t") == [(1, "y")]


def test_a_refused_rename_renames_nothing(client: Any) -> None:
    client.create_table(table("t", keys={"p": "string"}))
    part = client.add_partition(partition("t", ["x"]))
    part.parameters["rewriter.packed"] = "true"
    with pytest.raises((ttypes.MetaException, ttypes.InvalidOperationException)):
        client.rename_partition("default", "t", ["x"], changed(part, values=["y"]))
    assert client.get_partition_names("default", "t", -1) == ["p=x"]


def test_tables_of_sql_whose_files_hive_does_not_read(client: Any, sql: Run, tmp_path: Path) -> None:
    sql(f"CREATE EXTERNAL TABLE t (x INT) STORED AS CSV LOCATION '{tmp_path}/t'")
    assert client.get_all_tables("default") == ["t"]
    with pytest.raises(ttypes.MetaException, match="CSV"):
        client.get_table("default", "t")
    assert client.get_table_objects_by_name("default", ["t"]) == []


def test_tables_of_sql_in_avro_files(client: Any, sql: Run, tmp_path: Path) -> None:
    sql(f"CREATE EXTERNAL TABLE t (x INT, d DATE) STORED AS AVRO LOCATION '{tmp_path}/t'")
    sql(f"CREATE EXTERNAL TABLE times (at TIMESTAMP) STORED AS AVRO LOCATION '{tmp_path}/times'")
    descriptor = client.get_table("default", "t").sd
    assert descriptor.serdeInfo.serializationLib == "org.apache.hadoop.hive.serde2.avro.AvroSerDe"
    assert descriptor.inputFormat == "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat"
    # Hive takes the microseconds of these files for milliseconds.
    with pytest.raises(ttypes.MetaException, match="AVRO"):
        client.get_table("default", "times")


def test_csv_of_spark_escapes_otherwise() -> None:
    assert catalog_format("", "", {"header": "true"}, "csv") == "csv of spark"
    assert catalog_format("", "", {"header": "true", "escape": '"'}, "csv") == "csv"
    assert re.fullmatch(r".* of spark", catalog_format("", "", {"header": "true", "escape": '"', "sep": ";"}, "csv"))


def test_tables_by_their_parameters(client: Any, sql: Run, tmp_path: Path) -> None:
    client.create_table(table("a", parameters={"presto_view": "true", "table_type": "ICEBERG"}))
    client.create_table(changed(table("b", parameters={"table_type": "x%y"}), owner="ada"))
    sql(f"CREATE EXTERNAL TABLE c (x INT) LOCATION '{tmp_path}/c'")
    sql("CREATE TABLE managed (x INT) TBLPROPERTIES ('presto_view' = 'true')")

    def names(text: str, most: int = -1) -> list[str]:
        found: list[str] = client.get_table_names_by_filter("default", text, most)
        return found

    view, type_ = "hive_filter_field_params__presto_view", "hive_filter_field_params__table_type"
    assert names(f'{view} = "true"') == ["a"]
    assert names(f'{type_} LIKE "x.y" AND hive_filter_field_owner__ = "ada"') == ["b"]
    assert names(f"{type_} like 'x.*' or {view} = 'true'") == ["a", "b"]
    assert names(f"{type_} like 'x.*' or {view} = 'true'", 1) == ["a"]
    assert names(f'{type_} != "ICEBERG"') == ["b"]
    assert names(f'{type_} = "x_y"') == []
    for text in ("", "x = 1", f'{view} = "true" or', f'{view} = "true" {view} = "true"', f'{type_} like "(a+)+"'):
        with pytest.raises(ttypes.MetaException):
            names(text)
