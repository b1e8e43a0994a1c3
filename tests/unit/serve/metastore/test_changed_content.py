"""A client that has changed files calls ALTER PARTITION: rollups over them are outdated in the same commit.

``months`` is a table of a client, with a file for each month, and ``quarters`` a rollup of SQL over it. A query of the
cube reads the quarter as long as it is fresh, so its result shows what the catalog believes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from descriptions import EXTERNAL, changed, descriptor, partition, table
from pymetastore.hive_metastore import ttypes

from rewriter.metastore.service.calls.call import Call
from rewriter.metastore.service.handlers import partitions
from rewriter.metastore.wire.interface import structure

Sql = Callable[[str], list[tuple[Any, ...]]]
Send = Callable[..., Any]
_TOTAL = "SELECT SUM(n) FROM c WHERE t >= '2020-01-01' AND t < '2020-04-01'"
_TIME, _COUNT, _BYTES = "transient_lastDdlTime", "numFiles", "totalSize"


class World:
    """A fact over a table of a client. ``inside`` says that the table lies where the server counts files."""

    def __init__(self, metastore: Any, client: Any, sql: Sql, elsewhere: Path | None) -> None:
        self.metastore, self.client, self.sql = metastore, client, sql
        self.root = elsewhere or Path(metastore.catalog.warehouse).absolute() / "metastore" / "months"
        kind = {} if elsewhere is None else {"location": elsewhere, "kind": EXTERNAL}
        client.create_table(table("months", {"n": "bigint"}, {"dt": "string"}, **kind))
        for month in ("2020-01", "2020-02", "2020-03"):
            self.write(month, 1)
            client.add_partition(self.described(month))
        sql("CREATE TABLE quarters (n BIGINT) PARTITIONED BY (dt STRING)")
        sql("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        sql(
            "CREATE FACT f OF CUBE c STORED IN (TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt = 'yyyy-MM'), "
            "TABLE quarters PERIOD QUARTERLY PARTITIONED BY t AS (dt = 'yyyy-q'))"
        )
        sql("INSERT OVERWRITE quarters PARTITION (dt = '2020-1') SELECT SUM(n) FROM months WHERE dt < '2020-04'")
        assert self.is_fresh()

    def described(self, month: str) -> Any:
        """Returns a partition as Hive's client describes a new one: with the number and size of its files."""
        file = self.file(month)
        return partition(
            "months", [month], parameters={_COUNT: "1", _BYTES: str(file.stat().st_size), _TIME: "1600000000"}
        )

    def file(self, month: str, name: str = "file") -> Path:
        return self.root / f"dt={month}" / f"{name}.parquet"

    def write(self, month: str, n: int, name: str = "file") -> None:
        """Writes a file as a client does: all files of the same name and number of rows have the same size."""
        file = self.file(month, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        size = file.stat().st_size if file.exists() else None
        with contextlib.closing(duckdb.connect()) as connection:
            connection.execute(f"COPY (SELECT {n}::BIGINT AS n) TO '{file}'")
        assert size in (None, file.stat().st_size)
        if size is not None:
            os.utime(file, ns=(n, n))  # Another file, whatever the clock of the file system resolves.

    def is_fresh(self) -> bool:
        return any("f.quarters QUARTERLY: 1 partition" in str(row) for row in self.sql(f"EXPLAIN COVER {_TOTAL}"))

    def total(self) -> int:
        return int(self.sql(_TOTAL)[0][0])

    def read(self, month: str) -> Any:
        return self.client.get_partition("default", "months", [month])


@pytest.fixture(params=["inside", "elsewhere"])
def world(request: pytest.FixtureRequest, metastore: Any, client: Any, sql: Sql, tmp_path: Path) -> World:
    return World(metastore, client, sql, tmp_path / "months" if request.param == "elsewhere" else None)


def _alter_partition(world: World, send: Send, part: Any) -> None:
    world.client.alter_partition("default", "months", part)


def _alter_partitions(world: World, send: Send, part: Any) -> None:
    world.client.alter_partitions("default", "months", [part])


def _with_context(world: World, send: Send, part: Any) -> None:
    context = ttypes.EnvironmentContext({"DO_NOT_UPDATE_STATS": "true"})
    world.client.alter_partition_with_environment_context("default", "months", part, context)


def _several_with_context(world: World, send: Send, part: Any) -> None:
    world.client.alter_partitions_with_environment_context("default", "months", [part], ttypes.EnvironmentContext())


def _request(world: World, send: Send, part: Any) -> None:
    request = ttypes.AlterPartitionsRequest(catName="hive", dbName="default", tableName="months", partitions=[part])
    assert isinstance(world.client.alter_partitions_req(request), ttypes.AlterPartitionsResponse)


def _rename_to_itself(world: World, send: Send, part: Any) -> None:
    world.client.rename_partition("default", "months", part.values, part)


def _by_list(world: World, send: Send, part: Any) -> None:
    listed = world.metastore.service.listed.valid_write_id_list("months")
    own = structure("Partition")(values=part.values, parameters=part.parameters)
    send(world.client, "alter_partition", db_name="default", tbl_name="months", new_part=own, validWriteIdList=listed)


_CALLS = [
    _alter_partition,
    _alter_partitions,
    _with_context,
    _several_with_context,
    _request,
    _rename_to_itself,
    _by_list,
]


def _later(part: Any, **parameters: str | None) -> Any:
    """Returns a partition with other parameters; ``None`` leaves one out."""
    given = {**part.parameters, **parameters}
    return changed(part, parameters={key: value for key, value in given.items() if value is not None})


#: What says that files have changed: no time as from Spark, another time, and another number or size of files.
_NEWS: list[dict[str, str | None]] = [{_TIME: None}, {_TIME: "0"}, {_TIME: "1700000000"}, {_COUNT: "2"}, {_BYTES: "9"}]


@pytest.mark.share(1)
@pytest.mark.parametrize("call", _CALLS)
def test_changed_files_outdate_rollups(world: World, send: Send, call: Any) -> None:
    """The new file is as large as the old one, as one of INSERT OVERWRITE with one other value."""
    for n, given in enumerate(_NEWS, start=5):
        before = world.read("2020-01")
        world.write("2020-01", n)
        call(world, send, _later(before, **given))
        assert not world.is_fresh(), given
        assert world.total() == n + 2
        world.sql("REFRESH FACT f")
        assert world.is_fresh()
        assert world.total() == n + 2


@pytest.mark.parametrize("call", _CALLS)
def test_what_a_client_has_read_changes_nothing(world: World, send: Send, call: Any) -> None:
    call(world, send, _later(world.read("2020-01"), team="a"))
    assert world.read("2020-01").parameters["team"] == "a"
    assert world.is_fresh()


def test_files_that_the_server_counts(metastore: Any, client: Any, sql: Sql) -> None:
    """A client gives back what it has read, and the server finds another file."""
    world = World(metastore, client, sql, None)
    world.write("2020-01", 5, "more")
    client.alter_partition("default", "months", world.read("2020-01"))
    assert world.read("2020-01").parameters[_COUNT] == "2"
    assert world.total() == 8


@pytest.mark.parametrize("call", [_alter_partition, _alter_partitions])
def test_the_files_of_the_rollup_are_no_news(metastore: Any, client: Any, sql: Sql, send: Send, call: Any) -> None:
    """ANALYZE of Spark gives no time. A session has written a file since the client has counted."""
    world = World(metastore, client, sql, None)
    sql("INSERT INTO months VALUES (4, '2020-01')")
    sql("REFRESH FACT f")
    assert world.is_fresh()
    call(world, send, _later(world.read("2020-01"), **{_TIME: None, "spark.sql.statistics.numRows": "2"}))
    assert world.read("2020-01").parameters[_COUNT] == "2"
    assert world.is_fresh()
    assert world.total() == 7


def test_a_rollup_of_a_client_is_unproven(world: World, client: Any, sql: Sql, tmp_path: Path) -> None:
    """A client that writes into a rollup proves nothing about its rows."""
    sql(f"CREATE EXTERNAL TABLE years (n BIGINT) PARTITIONED BY (dt STRING) LOCATION '{tmp_path}/years'")
    sql("ALTER FACT f ADD STORAGE (TABLE years PERIOD YEARLY PARTITIONED BY t AS (dt = 'yyyy'))")
    sql("INSERT OVERWRITE years PARTITION (dt = '2020') SELECT SUM(n) FROM months")
    part = client.get_partition("default", "years", ["2020"])
    client.alter_partition("default", "years", _later(part, **{_TIME: "1700000000"}))
    shown = str(sql("EXPLAIN COVER SELECT SUM(n) FROM c WHERE t >= '2020-01-01' AND t < '2021-01-01'"))
    assert "a client of the metastore changed its files" in shown


def test_the_call_runs_again_after_a_conflict(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second attempt sees what the client has given, and not the time that the first one has added to it."""
    before = world.read("2020-01")
    world.write("2020-01", 5)
    monkeypatch.setattr(Call, "now", float(before.parameters[_TIME]))
    attempts = 0
    original = partitions._checked_write

    def checked(maker: Any, given: Any, call: Any, known: Any = None) -> Any:
        nonlocal attempts
        attempts += 1
        write = original(maker, given, call, known)
        if attempts == 1:
            world.metastore.service.listed.alter_partition("months", ("2020-01",), {"team": "b"})
        return write

    monkeypatch.setattr(partitions, "_checked_write", checked)
    world.client.alter_partition("default", "months", _later(before, **{_TIME: None}))
    assert attempts == 2
    assert world.total() == 7


@pytest.mark.parametrize("key", [_TIME, _COUNT, _BYTES])
def test_callers_in_python(world: World, key: str) -> None:
    listed = world.metastore.service.listed
    day = ("2020-01",)
    listed.alter_partition("months", day, {"team": "a", **world.read("2020-01").parameters})
    assert world.is_fresh()
    world.write("2020-01", 5)
    listed.alter_partitions("months", {day: {key: "77"}})
    assert world.total() == 7


def test_the_catalog_owns_the_files_of_managed_tables(world: World, client: Any, send: Send) -> None:
    """Clients write no files of a managed table: what one says about their number means nothing."""
    listed = world.metastore.service.listed.valid_write_id_list("quarters")
    own = structure("Partition")(values=["2020-1"], parameters={_COUNT: "7", _TIME: "1700000000"})
    send(client, "alter_partition", db_name="default", tbl_name="quarters", new_part=own, validWriteIdList=listed)
    assert world.is_fresh()


def test_descriptors_of_clients_come_with_the_parameters(world: World, client: Any) -> None:
    """Spark sends the whole partition, with the descriptor of the table."""
    before = world.read("2020-01")
    world.write("2020-01", 5)
    given = _later(before, **{_TIME: None})
    given.sd = changed(descriptor({"n": "bigint"}, before.sd.location))
    client.alter_partition("default", "months", given)
    assert world.total() == 7
