"""``rewriter import`` from our own metastore, and from a Hive metastore 2.3.10 on Derby: a first import, and another.

The source is a process of its own, and has its partitions before the clock starts. A bare client then sends the calls
of the import again, and decodes nothing of their results: that is the time that the source takes alone.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import hive_metastore
from benchmarks.lookups import Shape
from benchmarks.thrift_service import THEIRS, Server, fill, running
from benchmarks.timing import WideTable, shown
from rewriter.catalog.catalog import Catalog
from rewriter.catalog.model.changes import AddPartitions, CreateObject, PartitionWrite
from rewriter.catalog.model.objects import Column, Table
from rewriter.metastore.adoption.run import Import
from rewriter.metastore.adoption.source import Address, Source
from rewriter.metastore.column_statistics import given_statistics, statistics_text
from rewriter.metastore.descriptors import STATISTICS
from rewriter.metastore.wire.interface import interface, reading_less, structure
from rewriter.metastore.wire.requests import Requests

#: The partitions of the other tables: with statistics of all columns, and in a Hive metastore.
WITH_STATISTICS, OF_HIVE = 30_000, 1_000
_COLUMNS = tuple(Column(f"c{number}", "int") for number in range(10))
_KEYS = (Column("region", "string"), Column("ds", "string"), Column("hr", "int"))
_BATCH = 10_000


class _Recording(Source):
    """A source that keeps its calls."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def _call(self, method_name: str, result: Any = None, **arguments: Any) -> Any:
        self.calls.append((method_name, arguments))
        return super()._call(method_name, result, **arguments)


def measure(partitions: int) -> Iterator[WideTable]:
    """Yields a table of imports of our own server with that many partitions, and of a Hive metastore if it runs."""
    with tempfile.TemporaryDirectory(prefix="rewriter-adoption-") as name:
        folder = Path(name)
        rows: list[tuple[str, ...]] = []
        for count, has_statistics in ((partitions, False), (WITH_STATISTICS, True)):
            home = folder / str(count)
            _fill(home / "source", count, has_statistics)
            label = f"rewriter, {count:,} partitions"
            with running(home / "source") as ours:
                rows += _imports(
                    f"{label}, statistics of 10 columns" if has_statistics else label, ours.port, home, count
                )
        notes = ["The source takes what a bare client waits for that sends the calls of the import again."]
        if (missing := hive_metastore.unavailable()) is None:
            with hive_metastore.running(statistics=False) as port:
                fill(Server(THEIRS, port, 0, 0.0), "t", folder / "files", OF_HIVE)
                rows += _imports(f"{THEIRS}, {OF_HIVE:,} partitions", port, folder / "hive", OF_HIVE)
        else:
            notes.append(missing)
        columns = ("source", "import", "the source alone", "the rest", "partitions a second")
        yield WideTable("Imports of a running metastore", columns, tuple(rows), tuple(notes))


def _fill(warehouse: Path, count: int, has_statistics: bool) -> None:
    """Fills a catalog with an external table of that many partitions."""
    shape = Shape(10, -(-count // 240))
    properties = {"numRows": "1000", "totalSize": "123456"}
    if has_statistics:
        given = given_statistics(list(map(_longs, _COLUMNS)), _COLUMNS, "t", 0)
        properties[STATISTICS] = statistics_text(given)
    with closing(Catalog.open(warehouse)) as catalog:
        with catalog.begin() as transaction:
            number = transaction.allocate_id()
            table = Table(number, "t", _COLUMNS, _KEYS, "parquet", str(warehouse.parent / "t"), external=True)
            transaction.commit([CreateObject(table)])
        writes = iter([PartitionWrite(values, properties=properties) for values in shape.values()[:count]])
        while some := tuple(islice(writes, _BATCH)):
            with catalog.begin() as transaction:
                transaction.commit([AddPartitions(table, some)])


def _longs(column: Column) -> Any:
    data = structure("LongColumnStatsData")(lowValue=1, highValue=1_000_000, numNulls=7, numDVs=5_000)
    return structure("ColumnStatisticsObj")(
        colName=column.name, colType=column.type, statsData=structure("ColumnStatisticsData")(longStats=data)
    )


def _imports(label: str, port: int, home: Path, count: int) -> Iterator[tuple[str, ...]]:
    """Yields the rows of a first import and of a second one, which changes nothing."""
    for which in ("first", "again"):
        seconds, calls = _imported(port, home / "target", count if which == "first" else 0)
        alone = _replayed(port, calls)
        rate = f"{count / seconds:,.0f}"
        yield (
            f"{label}: {which}",
            shown(seconds),
            shown(alone),
            shown(seconds - alone) if seconds > alone else "within noise",
            rate,
        )


def _imported(port: int, warehouse: Path, created: int) -> tuple[float, list[tuple[str, dict[str, Any]]]]:
    """Imports everything. Returns the seconds and the calls."""
    source = _Recording(Address("127.0.0.1", port))
    with closing(source), closing(Catalog.open(warehouse)) as catalog:
        importing = Import(catalog, source)
        started = time.perf_counter()
        importing.everything()
        seconds = time.perf_counter() - started
        assert list(importing.report.rows()) == [], list(importing.report.rows())
        assert importing.report.partitions.created == created
        assert created or importing.report.summary == "nothing has changed"
        return seconds, source.calls


def _replayed(port: int, calls: list[tuple[str, dict[str, Any]]]) -> float:
    """Sends calls again. Returns the seconds until the last result has come."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        requests = Requests(connection)
        started = time.perf_counter()
        for name, arguments in calls:
            method = replace(interface().methods[name], returns=False)
            requests.call(method, method.arguments(**arguments), reading_less(method.result, "success"), 600.0)
        return time.perf_counter() - started
