"""A metastore that makes no changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymetastore.hive_metastore import ttypes
from pymetastore.hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport
from unit.serve.metastore.descriptions import partition, table

from rewriter.metastore.service.calls.call import Service
from rewriter.metastore.service.server import MetastoreServer
from rewriter.metastore.wire.interface import ErrorStructure, interface, structure

_NAMED = {"db_name": "default", "tbl_name": "t"}
_TABLE = {"dbname": "default", "tbl_name": "t"}


def _table(name: str = "new") -> Any:
    field = structure("FieldSchema")
    return structure("Table")(
        dbName="default",
        tableName=name,
        sd=structure("StorageDescriptor")(cols=[field(name="a", type="int")]),
        partitionKeys=[field(name="d", type="string")],
        parameters={"new": "1"},
    )


def _partition(value: str = "y") -> Any:
    return structure("Partition")(dbName="default", tableName="t", values=[value], parameters={"new": "1"})


def _statistics() -> Any:
    numbers = structure("LongColumnStatsData")(numNulls=0, numDVs=1)
    data = structure("ColumnStatisticsData")(longStats=numbers)
    column = structure("ColumnStatisticsObj")(colName="a", colType="int", statsData=data)
    described = structure("ColumnStatisticsDesc")(isTblLevel=True, dbName="default", tableName="t")
    return structure("ColumnStatistics")(statsDesc=described, statsObj=[column])


def _of_partition() -> Any:
    statistics = _statistics()
    statistics.statsDesc.isTblLevel, statistics.statsDesc.partName = False, "d=x"
    return statistics


#: The methods that change the catalog or its files, each with arguments that it would take.
_CHANGES: dict[str, Callable[[], dict[str, Any]]] = {
    "create_database": lambda: {"database": structure("Database")(name="new")},
    "alter_database": lambda: {"dbname": "d", "db": structure("Database")(name="d", description="new")},
    "drop_database": lambda: {"name": "d", "deleteData": True, "cascade": True},
    "create_table": lambda: {"tbl": _table()},
    "create_table_with_environment_context": lambda: {"tbl": _table()},
    "alter_table": lambda: {**_TABLE, "new_tbl": _table("t")},
    "alter_table_with_environment_context": lambda: {**_TABLE, "new_tbl": _table("t")},
    "alter_table_with_cascade": lambda: {**_TABLE, "new_tbl": _table("t"), "cascade": True},
    "drop_table": lambda: {"dbname": "default", "name": "t", "deleteData": True},
    "drop_table_with_environment_context": lambda: {"dbname": "default", "name": "t", "deleteData": True},
    "add_partition": lambda: {"new_part": _partition()},
    "add_partition_with_environment_context": lambda: {"new_part": _partition()},
    "add_partitions": lambda: {"new_parts": [_partition()]},
    "add_partitions_req": lambda: {
        "request": structure("AddPartitionsRequest")(
            dbName="default", tblName="t", parts=[_partition("x")], ifNotExists=True
        )
    },
    "append_partition": lambda: {**_NAMED, "part_vals": ["y"]},
    "append_partition_with_environment_context": lambda: {**_NAMED, "part_vals": ["y"]},
    "append_partition_by_name": lambda: {**_NAMED, "part_name": "d=y"},
    "drop_partition": lambda: {**_NAMED, "part_vals": ["x"], "deleteData": True},
    "drop_partition_with_environment_context": lambda: {**_NAMED, "part_vals": ["x"], "deleteData": True},
    "drop_partition_by_name": lambda: {**_NAMED, "part_name": "d=x", "deleteData": True},
    "drop_partitions_req": lambda: {
        "req": structure("DropPartitionsRequest")(
            dbName="default", tblName="t", parts=structure("RequestPartsSpec")(names=["d=x"]), deleteData=True
        )
    },
    "alter_partition": lambda: {**_NAMED, "new_part": _partition("x")},
    "alter_partition_with_environment_context": lambda: {**_NAMED, "new_part": _partition("x")},
    "alter_partitions": lambda: {**_NAMED, "new_parts": [_partition("x")]},
    "alter_partitions_with_environment_context": lambda: {**_NAMED, "new_parts": [_partition("x")]},
    "alter_partitions_req": lambda: {
        "req": structure("AlterPartitionsRequest")(dbName="default", tableName="t", partitions=[_partition("x")])
    },
    "rename_partition": lambda: {**_NAMED, "part_vals": ["x"], "new_part": _partition("z")},
    "create_function": lambda: {"func": structure("Function")(functionName="g", dbName="default", className="a.B")},
    "alter_function": lambda: {
        "dbName": "default",
        "funcName": "f",
        "newFunc": structure("Function")(functionName="h", dbName="default", className="a.B"),
    },
    "drop_function": lambda: {"dbName": "default", "funcName": "f"},
    "update_table_column_statistics": lambda: {"stats_obj": _statistics()},
    "update_partition_column_statistics": lambda: {"stats_obj": _of_partition()},
    "delete_table_column_statistics": lambda: {**_NAMED, "col_name": "a"},
    "delete_partition_column_statistics": lambda: {**_NAMED, "part_name": "d=x", "col_name": "a"},
    "set_aggr_stats_for": lambda: {"request": structure("SetPartitionsStatsRequest")(colStats=[_statistics()])},
    "open_txns": lambda: {"rqst": structure("OpenTxnRequest")(num_txns=1, user="me", hostname="here")},
    "allocate_table_write_ids": lambda: {
        "rqst": structure("AllocateTableWriteIdsRequest")(dbName="default", tableName="t", txnIds=[1])
    },
}
#: The methods that change nothing in the catalog: reads, what only the memory of the server has, and what is refused
#: on every server. Transactions that no client can open cannot end.
_OTHERS = {
    *(
        "set_ugi",
        "getName",
        "getCounters",
        "getCounter",
        "getVersion",
        "getMetaConf",
        "setMetaConf",
        "getStatus",
        "aliveSince",
        "shutdown",
        "list_roles",
        "list_privileges",
    ),
    *("partition_name_to_vals", "partition_name_to_spec", "truncate_table"),
    *("lock", "check_lock", "unlock", "show_locks", "heartbeat"),
    *("commit_txn", "abort_txn", "abort_txns", "heartbeat_txn_range"),
}


@pytest.fixture
def reader(metastore: Any, client: Any, send: Any) -> Iterator[Any]:
    """A client of a read-only server over a warehouse with a database, a table, a partition and a function."""
    client.create_database(ttypes.Database("d"))
    client.create_table(table("t", keys={"d": "string"}))
    client.add_partition(partition("t", ["x"]))
    client.create_function(ttypes.Function("f", "default", "a.B"))
    send(client, "update_table_column_statistics", stats_obj=_statistics())
    send(client, "update_partition_column_statistics", stats_obj=_of_partition())
    server = MetastoreServer(Service(metastore.catalog, read_only=True), port=0)
    server.start()
    transport = TBufferedTransport(TSocket("127.0.0.1", server.port))
    with contextlib.closing(transport):
        transport.open()
        yield Client(TBinaryProtocolAcceleratedFactory().getProtocol(transport))
    server.stop()


def test_each_method_is_known_to_these_tests() -> None:
    """A new method must be listed, unless its name says that it reads."""
    reads = {name for name in interface().methods if name.startswith("get_")}
    assert interface().methods.keys() == reads | _OTHERS | _CHANGES.keys()
    assert not _CHANGES.keys() & (_OTHERS | reads)


def test_all_changes_are_refused(metastore: Any, reader: Any, send: Any) -> None:
    before = metastore.catalog.snapshot().sequence
    refused: dict[str, str] = {}
    for name, arguments in _CHANGES.items():
        try:
            send(reader, name, **arguments())
        except (ErrorStructure, TApplicationException) as error:
            refused[name] = str(error)
    assert refused.keys() == _CHANGES.keys()
    assert {name: text for name, text in refused.items() if "READ_ONLY_SERVER" not in text} == {}
    assert metastore.catalog.snapshot().sequence == before
    assert reader.get_table("default", "t").tableName == "t"
    assert reader.get_partition_names("default", "t", -1) == ["d=x"]


def test_the_same_changes_are_made_by_a_server_that_may(metastore: Any, client: Any, reader: Any, send: Any) -> None:
    """Each refused call has arguments that a change takes: it is refused for no other reason."""
    failed: dict[str, BaseException] = {}
    for name, arguments in _CHANGES.items():
        try:
            send(client, name, **arguments())
        except (ErrorStructure, TApplicationException) as error:  # Most find what an earlier one has made or dropped.
            failed[name] = error
    assert [name for name, error in failed.items() if isinstance(error, TApplicationException)] == []
    assert [name for name, error in failed.items() if "READ_ONLY_SERVER" in str(error)] == []
    made = _CHANGES.keys() - failed.keys()
    assert {"create_database", "alter_database", "create_table", "alter_function", "drop_table"} <= made


def test_what_changes_nothing_is_served(reader: Any) -> None:
    assert reader.get_all_databases() == ["d", "default"]
    assert reader.get_config_value("x", "y") == "y"
    request = ttypes.LockRequest([ttypes.LockComponent(1, 2, "default", "t")], None, "me", "here")
    lock = reader.lock(request)
    reader.heartbeat(ttypes.HeartbeatRequest(lock.lockid))
    assert len(reader.show_locks(ttypes.ShowLocksRequest()).locks) == 1
    reader.unlock(ttypes.UnlockRequest(lock.lockid))
