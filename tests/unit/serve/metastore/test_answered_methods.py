"""Methods and fields on which clients of Hive 2 and 3 rely, beside those that Spark uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from descriptions import EXTERNAL, changed, fields, partition, table, view
from pymetastore.hive_metastore import ttypes
from pymetastore.metastore import HMS

from rewriter.metastore.wire.interface import Structure, structure

NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture
def filled(client: Any, tmp_path: Any) -> Any:
    client.create_table(table("t", keys={"d": "string", "n": "int"}, location=tmp_path / "t", kind=EXTERNAL))
    client.create_table(view("v"))
    client.create_table(table("u"))
    values = [["b", "2"], ["a", "10"], ["a", "9"], [NULL, "2"]]
    client.add_partitions([partition("t", one) for one in values])
    data = ttypes.ColumnStatisticsData(longStats=ttypes.LongColumnStatsData(numNulls=0, numDVs=1))
    description = ttypes.ColumnStatisticsDesc(isTblLevel=True, dbName="default", tableName="u")
    column = ttypes.ColumnStatisticsObj(colName="a", colType="int", statsData=data)
    client.update_table_column_statistics(ttypes.ColumnStatistics(description, [column]))
    client.create_function(ttypes.Function("fn", "default", "a.b.C", "ada", 1, 0, 1, []))
    return client


def _structures(value: Any) -> Iterator[Structure]:
    if isinstance(value, Structure):
        yield value
        value = [field for field in vars(value).values() if field is not None]
    if isinstance(value, list):
        for one in value:
            yield from _structures(one)


def test_each_structure_names_its_catalog(filled: Any, send: Callable[..., Any]) -> None:
    """pymetastore fails without the name."""
    named = {"db_name": "default", "tbl_name": "t"}
    part = {"values": ["c", "1"], "dbName": "default", "tableName": "t"}
    one = structure("Partition")(**part)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_database", {"name": "default"}),
        ("get_table", {"dbname": "default", "tbl_name": "t"}),
        ("get_table", {"dbname": "default", "tbl_name": "v"}),
        ("get_table_req", {"req": structure("GetTableRequest")(dbName="default", tblName="t")}),
        ("get_table_objects_by_name", {"dbname": "default", "tbl_names": ["t", "u", "v"]}),
        ("get_table_meta", {"db_patterns": "*", "tbl_patterns": "*", "tbl_types": []}),
        ("get_partition", {**named, "part_vals": ["a", "9"]}),
        ("get_partition_by_name", {**named, "part_name": "d=a/n=9"}),
        ("get_partitions", {**named, "max_parts": -1}),
        ("get_partitions_ps", {**named, "part_vals": ["a"], "max_parts": -1}),
        ("get_partitions_by_filter", {**named, "filter": "d = 'a'", "max_parts": -1}),
        ("get_partitions_by_names", {**named, "names": ["d=a/n=9"]}),
        ("add_partition", {"new_part": one}),
        ("append_partition_by_name", {**named, "part_name": "d=d/n=1"}),
        ("get_function", {"dbName": "default", "funcName": "fn"}),
        ("get_all_functions", {}),
        ("get_table_column_statistics", {"db_name": "default", "tbl_name": "u", "col_name": "a"}),
        ("get_next_notification", {"rqst": structure("NotificationEventRequest")(lastEvent=0)}),
    ]
    for method, arguments in calls:
        found = [
            (value, getattr(value, name))
            for value in _structures(send(filled, method, **arguments))
            for name in ("catName", "catalogName")
            if name in value.fields
        ]
        assert found, method
        assert {catalog for _, catalog in found} == {"hive"}, method


def test_pymetastore_reads_tables_and_partitions(metastore: Any, filled: Any) -> None:
    with HMS.create("127.0.0.1", metastore.port) as hms:
        assert [part.cat_name for part in hms.get_partitions("default", "t")] == ["hive"] * 4
        assert hms.get_partition("default", "t", "d=a/n=9").values == ["a", "9"]
        assert hms.list_partitions("default", "t") == [f"d={NULL}/n=2", "d=a/n=9", "d=a/n=10", "d=b/n=2"]
        shown = hms.get_table("default", "u")
        assert [(column.name, column.type.name) for column in shown.columns] == [("a", "INT")]
        assert [one.catName for one in hms.get_table_stats(shown)] == ["hive"]
        assert hms.get_database("default").name == "default"
        assert hms.list_columns("default", "t") == ["a"]


def test_catalogs(filled: Any) -> None:
    assert filled.get_catalogs().names == ["hive"]
    shown = filled.get_catalog(ttypes.GetCatalogRequest("hive")).catalog
    assert (shown.name, shown.locationUri) == ("hive", filled.get_database("default").locationUri)
    with pytest.raises(ttypes.NoSuchObjectException, match="Catalog other does not exist"):
        filled.get_catalog(ttypes.GetCatalogRequest("other"))
    assert "t" in filled.get_all_tables("@hive#default")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, [[NULL, "2"], ["a", "9"], ["a", "10"], ["b", "2"]]),
        ({"partitionKeys": fields({"d": "string"})}, [[NULL], ["a"], ["b"]]),
        ({"partitionKeys": fields({"d": "string"}), "applyDistinct": False}, [[NULL], ["a"], ["a"], ["b"]]),
        ({"partitionKeys": fields({"N": "int"}), "partitionOrder": fields({"n": "int"})}, [["2"], ["9"], ["10"]]),
        (
            {"partitionKeys": fields({"n": "int"}), "partitionOrder": fields({"n": "int"}), "ascending": False},
            [["10"], ["9"], ["2"]],
        ),
        ({"partitionKeys": fields({"n": "int", "d": "string"}), "filter": "d = 'a'"}, [["9", "a"], ["10", "a"]]),
        ({"partitionKeys": fields({"d": "string"}), "maxParts": 2}, [[NULL], ["a"]]),
        ({"maxParts": 0}, []),
    ],
)
def test_partition_values(filled: Any, more: dict[str, Any], expected: list[list[str]]) -> None:
    defaults: dict[str, Any] = {"partitionKeys": [], "applyDistinct": True, "ascending": True, "maxParts": -1}
    request = ttypes.PartitionValuesRequest(dbName="default", tblName="t", **{**defaults, **more})
    shown = filled.get_partition_values(request)
    assert [row.row for row in shown.partitionValues] == expected


def test_partition_values_of_unknown_columns(filled: Any) -> None:
    request = ttypes.PartitionValuesRequest("default", "t", fields({"a": "int"}))
    with pytest.raises(ttypes.MetaException, match="a is no partition column of t"):
        filled.get_partition_values(request)
    with pytest.raises(ttypes.NoSuchObjectException):
        filled.get_partition_values(changed(request, tblName="none"))


@pytest.mark.parametrize("key", ["hive.metastore.try.direct.sql", "", "metastore.expression.proxy"])
def test_settings_of_hive_are_refused(filled: Any, key: str) -> None:
    for call in (lambda: filled.setMetaConf(key, "true"), lambda: filled.getMetaConf(key)):
        with pytest.raises(ttypes.MetaException, match=f"Invalid configuration key {key}"):
            call()
    assert filled.get_config_value(key, "50") == "50"


def test_indexes(filled: Any, send: Callable[..., Any]) -> None:
    assert send(filled, "get_indexes", db_name="default", tbl_name="t", max_indexes=-1) == []
    assert send(filled, "get_index_names", db_name="default", tbl_name="t", max_indexes=-1) == []
    with pytest.raises(structure("NoSuchObjectException")):
        send(filled, "get_indexes", db_name="default", tbl_name="none", max_indexes=-1)
