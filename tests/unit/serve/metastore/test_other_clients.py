"""Clients and servers of which only one knows the fields for write ids and clusters.

``pymetastore`` has the interface of Hive, without these fields. ``send`` calls with them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pymetastore.hive_metastore import ThriftHiveMetastore, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory, TBinaryProtocolFactory
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException
from unit.serve.metastore.descriptions import EXTERNAL, partition, table

from rewriter.metastore import descriptors
from rewriter.metastore.wire.interface import structure


def test_the_stock_client_does_not_know_the_fields() -> None:
    for class_ in (ttypes.StorageDescriptor, ThriftHiveMetastore.get_table_args, ttypes.AddPartitionsRequest):
        names = {spec[2] for spec in class_.thrift_spec if spec}
        assert not names & {"validWriteIdList", "cluster", "primaryCluster", "secondaryClusters"}


@pytest.mark.parametrize("factory", [TBinaryProtocolFactory, TBinaryProtocolAcceleratedFactory])
def test_an_old_client_skips_the_new_fields_of_a_result(
    metastore: Any, client: Any, send: Any, tmp_path: Any, factory: Any
) -> None:
    client.create_table(table("t", keys={"d": "string"}, location=tmp_path / "t", kind=EXTERNAL))
    client.add_partition(partition("t", ["x"]))
    place = f"{tmp_path}/t"
    transport = TBufferedTransport(TSocket("127.0.0.1", metastore.port))
    with contextlib.closing(transport):
        transport.open()
        old = ThriftHiveMetastore.Client(factory().getProtocol(transport))
        with _clusters_shown():
            shown = send(client, "get_table", dbname="default", tbl_name="t")
            assert shown.sd.primaryCluster.clusterName == "east"
            assert [one.clusterName for one in shown.sd.secondaryClusters] == ["west", "north"]
            stock = old.get_table("default", "t")
            assert stock.sd.location == f"file:{place}"
            assert old.get_partitions("default", "t", -1)[0].sd.location == f"file:{place}/d=x"
            # What an old client reads, it may write back, without the fields.
            old.alter_table("default", "t", stock)
            assert old.get_all_tables("default") == ["t"]


@contextlib.contextmanager
def _clusters_shown() -> Iterator[None]:
    """Shows all tables as if they were on three clusters."""
    cluster = structure("ClusterDescriptor")
    original = descriptors.descriptor_of

    def with_clusters(*arguments: Any) -> Any:
        shown = original(*arguments)
        shown.primaryCluster = cluster(clusterName="east", location="/east")
        shown.secondaryClusters = [cluster(clusterName=name, location=f"/{name}") for name in ("west", "north")]
        return shown

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descriptors, "descriptor_of", with_clusters)
        yield


def test_a_client_with_the_fields_gets_what_it_asks_for(metastore: Any, client: Any, send: Any, sql: Any) -> None:
    """A managed table of SQL, under lists of write ids: each shows what it has seen."""
    sql("CREATE TABLE m (a INT) PARTITIONED BY (d STRING)")
    sql("INSERT INTO m VALUES (1, 'x')")
    old = metastore.service.listed.valid_write_id_list("m")
    sql("INSERT INTO m VALUES (2, 'y')")
    new = metastore.service.listed.valid_write_id_list("m")
    named = {"db_name": "default", "tbl_name": "m"}
    for text, expected in ((old, ["d=x"]), (new, ["d=x", "d=y"])):
        found = send(client, "get_partition_names", **named, max_parts=-1, validWriteIdList=text)
        assert found == expected
        found = send(
            client, "get_partitions_by_filter", **named, filter="d >= 'x'", max_parts=-1, validWriteIdList=text
        )
        assert [f"d={one.values[0]}" for one in found] == expected
        assert send(client, "get_table", dbname="default", tbl_name="m", validWriteIdList=text).tableName == "m"
        request = structure("GetTableRequest")(dbName="default", tblName="m", validWriteIdList=text)
        assert send(client, "get_table_req", req=request).table.tableName == "m"
    for garbage in ("", "x", "1:2", f"{new}:9", "999999:1:1::", "é", "default.other:5:9223372036854775807::"):
        with pytest.raises((structure("MetaException"), structure("NoSuchObjectException"))) as caught:
            send(client, "get_partition_names", **named, max_parts=-1, validWriteIdList=garbage)
        assert "Error:" not in str(caught.value), garbage
    with pytest.raises(structure("NoSuchObjectException"), match="CLUSTER_NOT_FOUND"):
        send(client, "get_table", dbname="default", tbl_name="m", validWriteIdList=new, cluster="none")


class _Stock:
    """A metastore without the fields: it has one table and one partition."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def get_table(self, dbname: str, tbl_name: str) -> Any:
        self.seen.append((dbname, tbl_name))
        return table(tbl_name, keys={"d": "string"}, database=dbname, location="/t")

    def get_partition_names(self, db_name: str, tbl_name: str, max_parts: int) -> list[str]:
        self.seen.append((db_name, tbl_name, max_parts))
        return ["d=x"]

    def add_partitions_req(self, request: Any) -> Any:
        self.seen.append((request.dbName, request.tblName, request.ifNotExists))
        return ttypes.AddPartitionsResult(request.parts)

    def alter_table(self, dbname: str, tbl_name: str, new_tbl: Any) -> None:
        self.seen.append((dbname, tbl_name, new_tbl.sd.location))


@pytest.fixture(params=[TBinaryProtocolFactory, TBinaryProtocolAcceleratedFactory], ids=["python", "c"])
def stock(request: pytest.FixtureRequest) -> Iterator[tuple[_Stock, Any]]:
    """A server that does not know the fields, and a connection to it."""
    handler, listener = _Stock(), TServerSocket("127.0.0.1", 0)
    listener.listen()
    transport = TBufferedTransport(TSocket("127.0.0.1", listener.handle.getsockname()[1]))
    transport.open()
    protocol = request.param().getProtocol(TBufferedTransport(listener.accept()))

    def serve() -> None:
        processor = ThriftHiveMetastore.Processor(handler)
        with contextlib.suppress(TTransportException):  # The end of the connection.
            while True:
                processor.process(protocol, protocol)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield handler, ThriftHiveMetastore.Client(TBinaryProtocolAcceleratedFactory().getProtocol(transport))
    transport.close()
    thread.join(20)
    protocol.trans.close()
    listener.close()


def test_an_old_server_skips_the_new_fields_of_a_call(stock: tuple[_Stock, Any], send: Any) -> None:
    handler, connection = stock
    new = {"validWriteIdList": "5:3:9223372036854775807::", "cluster": "east"}
    shown = send(connection, "get_table", dbname="d", tbl_name="t", **new)
    assert (shown.tableName, shown.dbName, shown.sd.location) == ("t", "d", "file:/t")
    assert (shown.sd.primaryCluster, shown.sd.secondaryClusters) == (None, None)
    assert send(connection, "get_partition_names", db_name="d", tbl_name="t", max_parts=-1, **new) == ["d=x"]
    part = structure("Partition")(values=["x"], dbName="d", tableName="t")
    request = structure("AddPartitionsRequest")(dbName="d", tblName="t", parts=[part], ifNotExists=True, **new)
    assert [one.values for one in send(connection, "add_partitions_req", request=request).partitions] == [["x"]]
    cluster = structure("ClusterDescriptor")(clusterName="east", location="/east")
    shown.sd.primaryCluster, shown.sd.secondaryClusters = cluster, [cluster, cluster]
    send(connection, "alter_table", dbname="d", tbl_name="t", new_tbl=shown, **new)
    assert handler.seen == [("d", "t"), ("d", "t", -1), ("d", "t", True), ("d", "t", "file:/t")]
