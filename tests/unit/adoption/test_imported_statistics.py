"""An import takes column statistics of tables and partitions, and asks no more often than it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_metastore import FakeMetastore
from imported import commits, imported, reasons, served
from thrift.Thrift import TApplicationException

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.model.changes import AlterPartitions, AlterTable, PartitionAlteration
from rewriter.metastore.column_statistics import ColumnStatistics, statistics_text
from rewriter.metastore.descriptors import STATISTICS
from rewriter.metastore.wire.interface import structure

_OF_PARTITIONS = "get_partitions_statistics_req"


@pytest.fixture
def metastore() -> FakeMetastore:
    return FakeMetastore()


def longs(column: str, low: int, high: int, distinct: int = 2) -> Any:
    data = structure("LongColumnStatsData")(
        lowValue=low, highValue=high, numNulls=0, numDVs=distinct, bitVectors=b"\x00\xff"
    )
    return structure("ColumnStatisticsObj")(
        colName=column, colType="int", statsData=structure("ColumnStatisticsData")(longStats=data)
    )


def strings(column: str) -> Any:
    data = structure("StringColumnStatsData")(maxColLen=9, avgColLen=2.0 / 3, numNulls=1, numDVs=4)
    return structure("ColumnStatisticsObj")(
        colName=column, colType="string", statsData=structure("ColumnStatisticsData")(stringStats=data)
    )


def text(*objects: Any) -> str:
    """Returns the property for statistics of columns of their own type."""
    return statistics_text({one.colName: ColumnStatistics(one, 0, one.colType) for one in objects})


def statistics(warehouse: Path, table: str = "t") -> dict[tuple[str | None, ...] | None, str | None]:
    """Returns the property of a table, ``None``, and of its partitions, by their values."""
    with closing(Catalog.open(warehouse)) as catalog:
        snapshot = catalog.snapshot()
        live = snapshot.table(table)
        of_partitions = {one.values: one.properties.get(STATISTICS) for one in snapshot.partitions(live)}
        return {None: live.properties.get(STATISTICS), **of_partitions}


@contextmanager
def unknown(metastore: FakeMetastore, *methods: str) -> Iterator[None]:
    def refuse(method: str, _: Any) -> None:
        if method in methods:
            raise TApplicationException(TApplicationException.UNKNOWN_METHOD, "unknown")

    metastore.on_call = refuse
    yield
    metastore.on_call = lambda _method, _arguments: None


def add_parts(metastore: FakeMetastore, count: int) -> None:
    metastore.add_table("t", {"x": "int", "s": "string"}, {"p": "int"})
    for number in range(count):
        metastore.add_partition("t", f"p={number}")


def test_statistics_of_tables_and_partitions(tmp_path: Path, metastore: FakeMetastore) -> None:
    add_parts(metastore, 3)
    metastore.statistics["default", "t", None] = [strings("s"), longs("x", -5, 9)]
    metastore.statistics["default", "t", "p=0"] = [longs("x", 1, 2)]
    metastore.statistics["default", "t", "p=2"] = [strings("s")]
    with metastore.serving() as url:
        assert imported(tmp_path, url).is_complete
        assert statistics(tmp_path) == {
            None: text(strings("s"), longs("x", -5, 9)),
            ("0",): text(longs("x", 1, 2)),
            ("1",): None,
            ("2",): text(strings("s")),
        }
        before = commits(tmp_path)
        metastore.statistics["default", "t", None].reverse()
        assert imported(tmp_path, url).summary == "nothing has changed"
        assert commits(tmp_path) == before
        del metastore.statistics["default", "t", "p=0"]
        metastore.statistics["default", "t", "p=2"] = [strings("s"), longs("x", 7, 8)]
        metastore.statistics["default", "t", None] = [longs("x", 0, 1)]
        report = imported(tmp_path, url)
        assert report.summary == (
            "tables and views: 0 created, 1 changed, 0 dropped; partitions: 0 created, 2 changed, 0 dropped"
        )
        assert statistics(tmp_path) == {
            None: text(longs("x", 0, 1)),
            ("0",): None,
            ("1",): None,
            ("2",): text(strings("s"), longs("x", 7, 8)),
        }
    # Our own server returns them to the next import.
    with served(tmp_path) as url:
        imported(tmp_path / "next", url)
        assert statistics(tmp_path / "next") == statistics(tmp_path)


def test_a_table_without_statistics_costs_one_request(tmp_path: Path, metastore: FakeMetastore) -> None:
    add_parts(metastore, 10)
    metastore.add_table("plain")
    with metastore.serving() as url:
        imported(tmp_path, url, batch=2)
        assert metastore.calls.count("get_partitions_by_names") == 5
        assert metastore.calls.count(_OF_PARTITIONS) == 1
        assert metastore.calls.count("get_table_statistics_req") == 2


def test_partitions_that_say_that_they_have_statistics_are_asked_for(tmp_path: Path, metastore: FakeMetastore) -> None:
    add_parts(metastore, 10)
    metastore.partitions["default", "t"]["p=4"].parameters = {"COLUMN_STATS_ACCURATE": '{"COLUMN_STATS":{"x":"true"}}'}
    for number in (4, 9):
        metastore.statistics["default", "t", f"p={number}"] = [longs("x", number, number)]
    with metastore.serving() as url:
        imported(tmp_path, url, batch=2)
        # The first batch, that of p=4, and those after it, as there are some.
        assert metastore.calls.count(_OF_PARTITIONS) == 1 + 3
    found = statistics(tmp_path)
    assert {key: value for key, value in found.items() if value} == {
        ("4",): text(longs("x", 4, 4)),
        ("9",): text(longs("x", 9, 9)),
    }


def test_partitions_that_are_not_asked_for_keep_theirs(tmp_path: Path, metastore: FakeMetastore) -> None:
    add_parts(metastore, 4)
    own = text(longs("x", 1, 1))
    with metastore.serving() as url:
        imported(tmp_path, url)
        with closing(Catalog.open(tmp_path)) as catalog, catalog.begin() as transaction:
            table = transaction.snapshot.table("t")
            keys = [one.key for one in transaction.snapshot.partitions(table)]
            alterations = tuple(PartitionAlteration(key, None, {STATISTICS: own}, ()) for key in keys)
            transaction.commit([AlterPartitions(table, alterations), AlterTable(table, {STATISTICS: own}, ())])
        with unknown(metastore, "get_table_statistics_req"):
            imported(tmp_path, url, batch=2)
        # The source was asked for the first batch alone.
        assert statistics(tmp_path) == {None: own, ("0",): None, ("1",): None, ("2",): own, ("3",): own}


def test_a_source_without_the_methods_is_said_once(tmp_path: Path, metastore: FakeMetastore) -> None:
    add_parts(metastore, 4)
    for name in ("a", "b"):
        metastore.add_table(name, keys={"p": "int"})
        metastore.add_partition(name, "p=1")
    methods = ("get_table_statistics_req", _OF_PARTITIONS)
    with metastore.serving() as url, unknown(metastore, *methods):
        report = imported(tmp_path, url, batch=2)
        assert [(row[0], row[1], row[2]) for row in report.rows()] == [(url, "column statistics", 1)] * 2
        assert [metastore.calls.count(method) for method in methods] == [1, 1]
        assert report.partitions.created == 6


def test_statistics_that_the_source_refuses_cost_no_partition(tmp_path: Path, metastore: FakeMetastore) -> None:
    add_parts(metastore, 4)

    def refuse(method: str, _: Any) -> None:
        if "statistics" in method:
            raise structure("MetaException")(message="not now")

    metastore.on_call = refuse
    with metastore.serving() as url:
        report = imported(tmp_path, url, batch=2)
        assert report.partitions.created == 4
        assert set(reasons(report)) == {("t", "column statistics")}
        assert metastore.calls.count(_OF_PARTITIONS) == 1


def test_statistics_that_cannot_be_are_reported(tmp_path: Path, metastore: FakeMetastore) -> None:
    add_parts(metastore, 2)
    none = structure("ColumnStatisticsObj")(colName="x", colType="int")
    result = {"p=0": [longs("nosuch", 1, 2), longs("x", 1, 2)], "p=7": [longs("x", 1, 2)], "p=1": [none]}
    metastore.overrides[_OF_PARTITIONS] = lambda _: structure("PartitionsStatsResult")(partStats=result)
    with metastore.serving() as url:
        report = imported(tmp_path, url)
        assert {(row[0], row[1], row[3]) for row in report.rows()} == {
            ("t", "column statistics", "p=7"),
            ("t", "column statistics", "p=0"),
            ("t", "column statistics", "p=1"),
        }
        assert statistics(tmp_path) == {None: None, ("0",): text(longs("x", 1, 2)), ("1",): None}
