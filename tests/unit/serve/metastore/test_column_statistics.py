"""Column statistics of tables and partitions, as clients set them and get them back."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymetastore.hive_metastore.ttypes as hive
import pytest

from rewriter.catalog.model.changes import AlterTable
from rewriter.metastore.descriptors import STATISTICS

Run = Callable[[str], list[tuple[Any, ...]]]
Data = hive.ColumnStatisticsData

#: Data of each kind, with values at the limits, and with fields that are left out.
KINDS = {
    "boolean": Data(booleanStats=hive.BooleanColumnStatsData(5, 0, 2, b"\x00\xff bits")),
    "bigint": Data(longStats=hive.LongColumnStatsData(-(1 << 63), (1 << 63) - 1, 0, 7, b"")),
    "double": Data(doubleStats=hive.DoubleColumnStatsData(-0.1, 1e308, 3, 4)),
    "float": Data(doubleStats=hive.DoubleColumnStatsData(-math.inf, math.inf, 3, 4)),
    "string": Data(stringStats=hive.StringColumnStatsData(9, 2.0 / 3, 1, 2)),
    "binary": Data(binaryStats=hive.BinaryColumnStatsData(9, 4.5, 1)),
    "decimal(20,2)": Data(
        decimalStats=hive.DecimalColumnStatsData(
            hive.Decimal(scale=2, unscaled=b"\xff\x80"), hive.Decimal(scale=0, unscaled=b"\x01"), 1, 2
        )
    ),
    "date": Data(dateStats=hive.DateColumnStatsData(hive.Date(-1), hive.Date(20000), 1, 2)),
    "int": Data(longStats=hive.LongColumnStatsData(numNulls=1, numDVs=2)),
}
OBJECTS = [hive.ColumnStatisticsObj(f"c{number}", type, data) for number, (type, data) in enumerate(KINDS.items())]
NAMES = [one.colName for one in OBJECTS]


def longs(column: str, low: int, high: int, nulls: int, distinct: int) -> Any:
    return hive.ColumnStatisticsObj(
        column, "bigint", Data(longStats=hive.LongColumnStatsData(low, high, nulls, distinct))
    )


def described(objects: list[Any], partition: str | None = None, analyzed: int | None = 123) -> Any:
    description = hive.ColumnStatisticsDesc(partition is None, "default", "Facts", partition, analyzed)
    return hive.ColumnStatistics(description, objects)


def of_table(client: Any, columns: list[str]) -> list[Any]:
    request = hive.TableStatsRequest("default", "facts", columns)
    objects: list[Any] = client.get_table_statistics_req(request).tableStats
    return objects


def of_partitions(client: Any, columns: list[str], names: list[str]) -> dict[str, list[Any]]:
    request = hive.PartitionsStatsRequest("default", "facts", columns, names)
    found: dict[str, list[Any]] = client.get_partitions_statistics_req(request).partStats
    return found


@pytest.fixture
def facts(client: Any, sql: Run, tmp_path: Path) -> None:
    columns = ", ".join(f"C{number} {type.upper()}" for number, type in enumerate(KINDS))
    sql(f"CREATE EXTERNAL TABLE Facts ({columns}, dt STRING) PARTITIONED BY (dt) LOCATION '{tmp_path}/facts'")
    sql("ALTER TABLE facts ADD PARTITION (dt = 'a') PARTITION (dt = 'b') PARTITION (dt = 'c')")


def test_all_kinds_come_back_as_they_were_given(metastore: Any, client: Any, facts: None) -> None:
    assert client.update_table_column_statistics(described(OBJECTS))
    assert client.update_partition_column_statistics(described(OBJECTS, "dt=a"))
    other = metastore.connect()
    assert of_table(other, NAMES) == OBJECTS
    assert of_partitions(other, NAMES, ["dt=a", "dt=b", "dt=none"]) == {"dt=a": OBJECTS}
    for one in OBJECTS:
        single = other.get_table_column_statistics("default", "FACTS", one.colName.upper())
        assert single.statsObj == [one]
        assert (single.statsDesc.isTblLevel, single.statsDesc.dbName, single.statsDesc.tableName) == (
            True, "default", "facts",
        )  # fmt: skip
        assert single.statsDesc.lastAnalyzed == 123
        part = other.get_partition_column_statistics("default", "facts", "dt=a", one.colName)
        assert part.statsObj == [one]
        assert (part.statsDesc.isTblLevel, part.statsDesc.partName) == (False, "dt=a")


def test_an_update_leaves_the_statistics_of_other_columns(client: Any, facts: None) -> None:
    client.update_table_column_statistics(described(OBJECTS[:2]))
    new = longs("c1", 1, 2, 3, 4)
    client.update_table_column_statistics(described([new], analyzed=None))
    assert of_table(client, ["C1", "c0", "c2", "none"]) == [new, OBJECTS[0]]
    assert client.get_table_column_statistics("default", "facts", "c1").statsDesc.lastAnalyzed > 1_500_000_000
    assert client.get_table_column_statistics("default", "facts", "c0").statsDesc.lastAnalyzed == 123


def test_deletes_of_one_column_and_of_all(metastore: Any, client: Any, facts: None) -> None:
    client.update_table_column_statistics(described(OBJECTS))
    client.update_partition_column_statistics(described(OBJECTS, "dt=a"))
    assert client.delete_table_column_statistics("default", "facts", "C0")
    assert of_table(client, NAMES) == OBJECTS[1:]
    assert client.delete_partition_column_statistics("default", "facts", "dt=a", "c1")
    assert of_partitions(client, NAMES, ["dt=a"]) == {"dt=a": [OBJECTS[0], *OBJECTS[2:]]}
    assert client.delete_table_column_statistics("default", "facts", None)
    assert client.delete_partition_column_statistics("default", "facts", "dt=a", None)
    assert (of_table(client, NAMES), of_partitions(client, NAMES, ["dt=a"])) == ([], {})
    snapshot = metastore.catalog.snapshot()
    assert STATISTICS not in snapshot.table("facts").properties
    assert not any(STATISTICS in one.properties for one in snapshot.partitions(snapshot.table("facts")))
    for name in ("c0", None):
        with pytest.raises(hive.NoSuchObjectException):
            client.delete_table_column_statistics("default", "facts", name)
        with pytest.raises(hive.NoSuchObjectException):
            client.delete_partition_column_statistics("default", "facts", "dt=a", name)


def test_what_does_not_exist(client: Any, facts: None) -> None:
    for call in (
        lambda: client.get_table_column_statistics("default", "facts", "c0"),
        lambda: client.get_table_column_statistics("default", "none", "c0"),
        lambda: client.get_partition_column_statistics("default", "facts", "dt=a", "c0"),
        lambda: client.get_partition_column_statistics("default", "facts", "dt=z", "c0"),
        lambda: client.update_partition_column_statistics(described(OBJECTS, "dt=z")),
        lambda: client.get_table_statistics_req(hive.TableStatsRequest("default", "none", ["c0"])),
    ):
        with pytest.raises(hive.NoSuchObjectException):
            call()


@pytest.mark.parametrize(
    "given",
    [
        longs("none", 1, 2, 3, 4),
        longs("dt", 1, 2, 3, 4),
        hive.ColumnStatisticsObj("c1", "bigint", Data()),
        hive.ColumnStatisticsObj("c1", "bigint"),
        hive.ColumnStatisticsObj("c1", "bigint", Data(KINDS["boolean"].booleanStats, KINDS["bigint"].longStats)),
    ],
)
def test_statistics_that_are_refused(client: Any, facts: None, given: Any) -> None:
    for call, statistics in (
        (client.update_table_column_statistics, described([OBJECTS[0], given])),
        (client.update_partition_column_statistics, described([OBJECTS[0], given], "dt=a")),
    ):
        with pytest.raises((hive.InvalidObjectException, hive.MetaException), match="INVALID_COLUMN_STATISTICS"):
            call(statistics)
    assert (of_table(client, NAMES), of_partitions(client, NAMES, ["dt=a"])) == ([], {})


def test_statistics_at_the_wrong_level_are_refused(client: Any, facts: None) -> None:
    with pytest.raises(hive.InvalidInputException):
        client.update_table_column_statistics(described(OBJECTS, "dt=a"))
    with pytest.raises(hive.InvalidInputException):
        client.update_partition_column_statistics(described(OBJECTS))


class TestHiddenProperty:
    def test_clients_do_not_see_it(self, client: Any, facts: None) -> None:
        client.update_table_column_statistics(described(OBJECTS))
        client.update_partition_column_statistics(described(OBJECTS, "dt=a"))
        seen = (
            client.get_table("default", "facts").parameters,
            client.get_partition("default", "facts", ["a"]).parameters,
        )
        assert not any("statistics" in key for parameters in seen for key in parameters)

    def test_it_stays_when_clients_alter_what_has_it(self, client: Any, facts: None) -> None:
        client.update_table_column_statistics(described(OBJECTS))
        client.update_partition_column_statistics(described(OBJECTS, "dt=a"))
        table = client.get_table("default", "facts")
        table.parameters["team"] = "a"
        client.alter_table("default", "facts", table)
        partition = client.get_partition("default", "facts", ["a"])
        partition.parameters["team"] = "b"
        client.alter_partition("default", "facts", partition)
        assert client.get_table("default", "facts").parameters["team"] == "a"
        assert client.get_partition("default", "facts", ["a"]).parameters["team"] == "b"
        assert of_table(client, NAMES) == OBJECTS
        assert of_partitions(client, NAMES, ["dt=a"]) == {"dt=a": OBJECTS}

    def test_statistics_of_a_column_with_another_type_end(self, metastore: Any, client: Any, facts: None) -> None:
        client.update_table_column_statistics(described(OBJECTS))
        client.update_partition_column_statistics(described(OBJECTS, "dt=a"))
        table = client.get_table("default", "facts")
        field = next(field for field in table.sd.cols if field.name == "c8")
        assert field.type == "int"
        field.type = "bigint"
        client.alter_table("default", "facts", table)
        assert of_table(client, NAMES) == OBJECTS[:-1]
        assert of_partitions(client, NAMES, ["dt=a"]) == {"dt=a": OBJECTS[:-1]}
        assert '"c8"' not in metastore.catalog.snapshot().table("facts").properties[STATISTICS]

    def test_a_table_created_anew_has_none(self, client: Any, sql: Run, facts: None, tmp_path: Path) -> None:
        client.update_table_column_statistics(described(OBJECTS))
        sql("DROP TABLE facts")
        sql(f"CREATE EXTERNAL TABLE facts (c0 BOOLEAN) LOCATION '{tmp_path}/facts'")
        assert of_table(client, NAMES) == []

    def test_a_client_cannot_set_it(self, client: Any, facts: None) -> None:
        client.update_partition_column_statistics(described(OBJECTS, "dt=a"))
        table = client.get_table("default", "facts")
        table.parameters[STATISTICS] = "{}"
        with pytest.raises((hive.InvalidOperationException, hive.MetaException)):
            client.alter_table("default", "facts", table)
        partition = client.get_partition("default", "facts", ["a"])
        partition.parameters[STATISTICS] = "{}"
        client.alter_partition("default", "facts", partition)
        assert of_partitions(client, NAMES, ["dt=a"]) == {"dt=a": OBJECTS}

    @pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"c0": 1}', '{"c0": {"object": {}}}'])
    def test_a_text_of_others_counts_as_none(self, metastore: Any, client: Any, facts: None, text: str) -> None:
        with metastore.catalog.begin() as transaction:
            table = metastore.catalog.snapshot().table("facts")
            transaction.commit([AlterTable(table, {STATISTICS: text})])
        assert of_table(client, NAMES) == []
        client.update_table_column_statistics(described(OBJECTS))
        assert of_table(client, NAMES) == OBJECTS


class TestAggregates:
    def aggregate(self, client: Any, columns: list[str], names: list[str]) -> tuple[list[Any], int]:
        found = client.get_aggr_stats_for(hive.PartitionsStatsRequest("default", "facts", columns, names))
        return found.colStats, found.partsFound

    def test_the_statistics_of_partitions_are_combined(self, client: Any, facts: None) -> None:
        date = hive.ColumnStatisticsObj("c7", "date", KINDS["date"])
        later = Data(dateStats=hive.DateColumnStatsData(hive.Date(5), hive.Date(30000), 2, 1))
        text = Data(stringStats=hive.StringColumnStatsData(3, 2.5, 4, 1))
        low, high = hive.Decimal(scale=1, unscaled=b"\xff\x7f"), hive.Decimal(scale=2, unscaled=b"\x64")
        small = Data(decimalStats=hive.DecimalColumnStatsData(low, high, 1))
        client.update_partition_column_statistics(
            described([longs("c1", -5, 10, 1, 4), date, OBJECTS[0], OBJECTS[4], OBJECTS[6]], "dt=a")
        )
        client.update_partition_column_statistics(
            described(
                [
                    longs("c1", 3, 12, 2, 3),
                    hive.ColumnStatisticsObj("c7", "date", later),
                    OBJECTS[0],
                    hive.ColumnStatisticsObj("c4", "string", text),
                    hive.ColumnStatisticsObj("c6", "decimal(20,2)", small),
                ],
                "dt=b",
            )
        )
        columns, found = self.aggregate(client, ["c1", "c7", "c0", "c4", "c6"], ["dt=a", "dt=b"])
        assert found == 2
        data = [one.statsData for one in columns]
        assert columns[0] == longs("c1", -5, 12, 3, 4)
        assert data[1].dateStats == hive.DateColumnStatsData(hive.Date(-1), hive.Date(30000), 3, 2)
        assert data[2].booleanStats == hive.BooleanColumnStatsData(10, 0, 4)
        assert data[3].stringStats == hive.StringColumnStatsData(9, 2.5, 5, 2)
        # −1.28 and −12.9; 1 and 1.00.
        assert data[4].decimalStats.lowValue == hive.Decimal(scale=1, unscaled=b"\xff\x7f")
        assert data[4].decimalStats.numNulls == 2

    def test_partitions_count_that_have_all_columns(self, client: Any, facts: None) -> None:
        client.update_partition_column_statistics(described([longs("c1", 1, 2, 0, 1), OBJECTS[0]], "dt=a"))
        client.update_partition_column_statistics(described([longs("c1", 5, 9, 0, 1)], "dt=b"))
        columns, found = self.aggregate(client, ["c1", "c0"], ["dt=a", "dt=b", "dt=c", "dt=z"])
        assert (found, columns) == (1, [longs("c1", 1, 9, 0, 1), OBJECTS[0]])
        assert self.aggregate(client, ["c1", "c3"], ["dt=a", "dt=b"]) == ([], 0)
        assert self.aggregate(client, ["c1"], []) == ([], 0)

    def test_statistics_of_several_partitions_are_set_at_once(self, client: Any, facts: None) -> None:
        given = [described([longs("c1", 1, 2, 3, 4)], "dt=a"), described([OBJECTS[0]], "dt=b")]
        assert client.set_aggr_stats_for(hive.SetPartitionsStatsRequest(given))
        assert of_partitions(client, NAMES, ["dt=a", "dt=b"]) == {
            "dt=a": [longs("c1", 1, 2, 3, 4)], "dt=b": [OBJECTS[0]],
        }  # fmt: skip
        with pytest.raises(hive.NoSuchObjectException):
            client.set_aggr_stats_for(
                hive.SetPartitionsStatsRequest([described([OBJECTS[1]], "dt=a"), described([OBJECTS[1]], "dt=z")])
            )
        assert of_partitions(client, ["c1"], ["dt=a"]) == {"dt=a": [longs("c1", 1, 2, 3, 4)]}

    def test_new_statistics_are_merged_on_demand(self, client: Any, facts: None) -> None:
        client.set_aggr_stats_for(hive.SetPartitionsStatsRequest([described([longs("c1", 1, 2, 3, 4)])]))
        client.set_aggr_stats_for(
            hive.SetPartitionsStatsRequest([described([longs("c1", 0, 1, 1, 9), OBJECTS[0]])], needMerge=True)
        )
        assert of_table(client, ["c1", "c0"]) == [longs("c1", 0, 2, 4, 9), OBJECTS[0]]
        with pytest.raises(hive.InvalidInputException):
            client.set_aggr_stats_for(hive.SetPartitionsStatsRequest([described(OBJECTS), described(OBJECTS)]))
        assert client.set_aggr_stats_for(hive.SetPartitionsStatsRequest([]))


def test_a_managed_table_needs_a_list(client: Any, sql: Run, send: Callable[..., Any]) -> None:
    sql("CREATE TABLE Facts (c1 BIGINT)")
    with pytest.raises(hive.MetaException, match="VALID_WRITE_ID_LIST_REQUIRED"):
        client.update_table_column_statistics(described([longs("c1", 1, 2, 3, 4)]))
    given = _ours(client, described([longs("c1", 1, 2, 3, 4)]))
    assert send(client, "update_table_column_statistics", stats_obj=given, validWriteIdList="default.facts:1")
    arguments = {"db_name": "default", "tbl_name": "facts", "col_name": "c1"}
    found = send(client, "get_table_column_statistics", **arguments, validWriteIdList="default.facts:2")
    assert found.statsObj[0].statsData.longStats.highValue == 2
    with pytest.raises(Exception, match="no statistics"):
        send(client, "get_table_column_statistics", **arguments, validWriteIdList="default.facts:1")


def _ours(client: Any, given: Any) -> Any:
    """Returns a structure of the generated client as one of our interface."""
    from thrift.TSerialization import deserialize, serialize

    from rewriter.metastore.wire.interface import structure

    return deserialize(structure(type(given).__name__)(), serialize(given))
