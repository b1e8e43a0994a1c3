"""The import of a real Hive metastore, in a process of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fake_metastore import descriptor
from imported import imported, picture, reasons

from benchmarks import hive_metastore
from rewriter.catalog.catalog import Catalog
from rewriter.metastore.column_statistics import read_statistics
from rewriter.metastore.descriptors import STATISTICS
from rewriter.metastore.wire.interface import interface, structure
from rewriter.metastore.wire.requests import Requests

pytestmark = pytest.mark.long
DAYS = [f"2026-{month:02d}-{day:02d}" for month in range(1, 4) for day in range(1, 29)]


class _Client:
    def __init__(self, port: int) -> None:
        self._requests = Requests(socket.create_connection(("127.0.0.1", port)))

    def call(self, method_name: str, **arguments: Any) -> Any:
        method = interface().methods[method_name]
        return self._requests.call(method, method.arguments(**arguments), method.result, 120.0)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    reason = hive_metastore.unavailable()
    if reason is not None:
        pytest.skip(reason)
    with hive_metastore.running(statistics=False) as port:
        yield port


def _table(
    name: str, location: str, columns: dict[str, str], keys: dict[str, str], database: str = "shop", **options: Any
) -> Any:
    return structure("Table")(
        tableName=name,
        dbName=database,
        owner="hive",
        sd=descriptor(location, columns, **options),
        partitionKeys=[structure("FieldSchema")(name=key, type=type) for key, type in keys.items()],
        parameters={"EXTERNAL": "TRUE", "team": "a"},
        tableType="EXTERNAL_TABLE",
    )


def _partition(table: Any, values: list[str], location: str) -> Any:
    sd = descriptor(location, {"x": "int"})
    sd.inputFormat, sd.serdeInfo = table.sd.inputFormat, table.sd.serdeInfo
    return structure("Partition")(
        values=values, dbName=table.dbName, tableName=table.tableName, sd=sd, parameters={"numRows": "3"}
    )


def test_a_real_metastore(tmp_path: Path, port: int) -> None:
    client, files, warehouse = _Client(port), tmp_path / "files", tmp_path / "warehouse"
    files.mkdir()
    root = f"file:{files}"
    client.call("create_database", database=structure("Database")(name="shop", description="a", locationUri=root))
    columns = {"x": "int", "y": "map<string,array<decimal(10,2)>>"}
    table = _table("orders", f"{root}/orders", columns, {"ds": "date", "c": "string"})
    client.call("create_table", tbl=table)
    parts = [_partition(table, [day, c], f"{root}/orders/ds={day}/c={c}") for day in DAYS for c in ("a", "b")]
    parts.append(_partition(table, ["2026-05-01", "x/y %"], f"{root}/odd"))
    other = _partition(table, ["2026-05-02", "text"], f"{root}/orders/text")
    other.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    for some in (parts, [other]):
        client.call("add_partitions", new_parts=some)
    client.call("create_table", tbl=_table("lines", f"{root}/lines", {"a": "string"}, {}, format="textfile"))
    view = _table("v", "", {"x": "int"}, {})
    view.sd.location, view.tableType = None, "VIRTUAL_VIEW"
    view.viewOriginalText = view.viewExpandedText = "SELECT x FROM shop.orders"
    client.call("create_table", tbl=view)

    url = f"thrift://127.0.0.1:{port}"
    report = imported(warehouse, url, batch=50)
    assert list(reasons(report)) == [("shop.orders", "partitions")]
    assert "another format" in reasons(report)["shop.orders", "partitions"]
    shown = picture(warehouse)
    assert set(shown) == {"shop.orders", "shop.lines", "shop.v"}
    described, _, format, location, *_, places = shown["shop.orders"]
    assert [(name, type) for name, type, _ in described] == [*columns.items(), ("ds", "date"), ("c", "string")]
    assert (format, location) == ("parquet", f"{files}/orders")
    assert {values: place for values, (place, _) in places.items()} == {
        tuple(part.values): part.sd.location.removeprefix("file:") for part in parts
    }
    assert {rows for _, rows in places.values()} == {"3"}
    assert imported(warehouse, url).summary == "nothing has changed"

    client.call("drop_partition", db_name="shop", tbl_name="orders", part_vals=["2026-01-01", "a"], deleteData=False)
    client.call("add_partition", new_part=_partition(table, ["2026-06-01", "a"], f"{root}/orders/ds=2026-06-01/c=a"))
    client.call("drop_table", dbname="shop", name="lines", deleteData=False)
    report = imported(warehouse, url)
    assert report.summary == (
        "tables and views: 0 created, 0 changed, 1 dropped; partitions: 1 created, 0 changed, 1 dropped"
    )
    assert set(picture(warehouse)) == {"shop.orders", "shop.v"}


def _longs(low: int, partition: str | None) -> Any:
    data = structure("LongColumnStatsData")(lowValue=low, highValue=9, numNulls=1, numDVs=5)
    one = structure("ColumnStatisticsObj")(
        colName="x", colType="int", statsData=structure("ColumnStatisticsData")(longStats=data)
    )
    description = structure("ColumnStatisticsDesc")(
        isTblLevel=partition is None, dbName="figures", tableName="t", partName=partition
    )
    return structure("ColumnStatistics")(statsDesc=description, statsObj=[one])


def test_functions_and_column_statistics_of_a_real_metastore(tmp_path: Path, port: int) -> None:
    client, files, warehouse = _Client(port), tmp_path / "files", tmp_path / "warehouse"
    files.mkdir()
    root = f"file:{files}"
    client.call("create_database", database=structure("Database")(name="figures", locationUri=root))
    table = _table("t", f"{root}/t", {"x": "int", "y": "string"}, {"ds": "string"}, "figures")
    client.call("create_table", tbl=table)
    days = [f"2026-01-{day:02d}" for day in range(1, 13)]
    client.call("add_partitions", new_parts=[_partition(table, [day], f"{root}/t/ds={day}") for day in days])
    client.call("update_table_column_statistics", stats_obj=_longs(-7, None))
    # Not in the first batch: its parameters say that it has some.
    client.call("update_partition_column_statistics", stats_obj=_longs(3, f"ds={days[7]}"))
    resource = structure("ResourceUri")(resourceType=1, uri="hdfs://n/a.jar")
    function = structure("Function")(
        functionName="twice",
        dbName="figures",
        className="org.example.Twice",
        ownerName="hive",
        ownerType=1,
        createTime=1_700_000_000,
        functionType=1,
        resourceUris=[resource],
    )
    client.call("create_function", func=function)

    url = f"thrift://127.0.0.1:{port}"
    report = imported(warehouse, url, "figures.*", batch=5)
    assert list(report.rows()) == []
    with closing(Catalog.open(warehouse)) as catalog:
        snapshot = catalog.snapshot()
        (taken,) = snapshot.functions("figures")
        assert (taken.name, taken.class_name, taken.owner, taken.resources) == (
            "figures.twice",
            "org.example.Twice",
            "hive",
            (("JAR", "hdfs://n/a.jar"),),
        )
        live = snapshot.table("figures.t")
        partitions = {one.values[0]: one.properties.get(STATISTICS) for one in snapshot.partitions(live)}
        lows = {
            owner: read_statistics(text, live.columns)["x"].object.statsData.longStats.lowValue
            for owner, text in {"table": live.properties.get(STATISTICS), **partitions}.items()
            if text is not None
        }
        assert lows == {"table": -7, days[7]: 3}
    assert imported(warehouse, url, "figures.*", batch=5).summary == "nothing has changed"
    client.call("drop_function", dbName="figures", funcName="twice")
    assert imported(warehouse, url, "figures.*").summary == "functions: 0 created, 0 changed, 1 dropped"
