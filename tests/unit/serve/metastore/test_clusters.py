"""Tables of several clusters over Thrift: what clients with and without a cluster see, and copies that they make."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewriter.catalog.model.changes import SetCatalogProperty
from rewriter.metastore.wire.interface import structure

Send = Callable[..., Any]
Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def copied(metastore: Any, sql: Sql, tmp_path: Path) -> tuple[Path, Path]:
    """Creates a managed table with two partitions on the cluster c1. The cluster c2 has a descriptor, and no copies.
    Returns both locations.
    """
    both = {name: {"filesystem": str(tmp_path / name), "engine": "duckdb"} for name in ("c1", "c2")}
    with metastore.catalog.begin() as transaction:
        transaction.commit([SetCatalogProperty("hive.cluster.properties", json.dumps(both))])
    sql("CREATE TABLE t (x INT) PARTITIONED BY (p INT) ON CLUSTER c1")
    sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    sql("ALTER TABLE t ADD CLUSTER c2")
    table = metastore.catalog.snapshot().table("t")
    return Path(table.location), Path(table.copies[0].location)


def ids(metastore: Any) -> str:
    return str(metastore.service.listed.valid_write_id_list("t"))


def partition(metastore: Any, client: Any, send: Send, value: str) -> Any:
    arguments = {"db_name": "default", "tbl_name": "t", "part_vals": [value], "validWriteIdList": ids(metastore)}
    return send(client, "get_partition", **arguments)


def names(client: Any, send: Send, list_of_ids: str, cluster: str | None) -> list[str]:
    arguments = {"db_name": "default", "tbl_name": "t", "max_parts": -1, "validWriteIdList": list_of_ids}
    named: list[str] = send(client, "get_partition_names", **arguments, cluster=cluster)
    return named


def test_descriptors_are_shown(metastore: Any, client: Any, send: Send, copied: tuple[Path, Path]) -> None:
    shown = send(client, "get_table", dbname="default", tbl_name="t", validWriteIdList=ids(metastore))
    assert (shown.sd.primaryCluster.clusterName, shown.sd.primaryCluster.location) == ("c1", f"file:{copied[0]}")
    assert [(c.clusterName, c.location) for c in shown.sd.secondaryClusters] == [("c2", f"file:{copied[1]}")]
    there = send(client, "get_table", dbname="default", tbl_name="t", validWriteIdList=ids(metastore), cluster="c2")
    assert there.sd.location == f"file:{copied[1]}"
    assert partition(metastore, client, send, "1").sd.secondaryClusters is None


def test_a_client_registers_a_copy(
    metastore: Any, client: Any, send: Send, sql: Sql, copied: tuple[Path, Path]
) -> None:
    source, target = copied
    shutil.copytree(source, target, dirs_exist_ok=True)
    part = partition(metastore, client, send, "1")
    part.sd.secondaryClusters = [structure("ClusterDescriptor")(clusterName="C2", location=f"file:{target}")]
    arguments = {"db_name": "default", "tbl_name": "t", "new_part": part}
    send(client, "alter_partition", **arguments, validWriteIdList=ids(metastore))
    assert names(client, send, ids(metastore), "c2") == ["p=1"]
    assert names(client, send, ids(metastore), None) == ["p=1", "p=2"]
    clusters = partition(metastore, client, send, "1").sd.secondaryClusters
    assert [cluster.clusterName for cluster in clusters] == ["c2"]
    sql("USE CLUSTER c2")
    assert sql("SELECT x FROM t WHERE p = 1") == [(1,)]
    sql("USE CLUSTER")
    sql("INSERT INTO t VALUES (9, 1)")
    assert names(client, send, ids(metastore), "c2") == []


@pytest.mark.share(1)
@pytest.mark.parametrize("damage", ["missing", "changed", "unknown"])
def test_copies_that_are_none_are_refused(
    metastore: Any, client: Any, send: Send, copied: tuple[Path, Path], damage: str
) -> None:
    source, target = copied
    if damage == "changed":
        shutil.copytree(source, target, dirs_exist_ok=True)
        for file in target.rglob("*.parquet"):
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
    part = partition(metastore, client, send, "1")
    name = "c3" if damage == "unknown" else "c2"
    part.sd.secondaryClusters = [structure("ClusterDescriptor")(clusterName=name, location="file:/x")]
    arguments = {"db_name": "default", "tbl_name": "t", "new_part": part}
    with pytest.raises(structure("InvalidOperationException")):
        send(client, "alter_partition", **arguments, validWriteIdList=ids(metastore))
    assert names(client, send, ids(metastore), "c2") == []


def test_an_old_list_writes_nothing(
    metastore: Any, client: Any, send: Send, sql: Sql, copied: tuple[Path, Path]
) -> None:
    old = ids(metastore)
    sql("INSERT INTO t VALUES (3, 3)")
    part = structure("Partition")(values=["4"], dbName="default", tableName="t", parameters={})
    with pytest.raises(structure("MetaException"), match="since the list"):
        send(client, "add_partition", new_part=part, validWriteIdList=old)
    assert names(client, send, old, None) == ["p=1", "p=2"]
    send(client, "add_partition", new_part=part, validWriteIdList=ids(metastore))
    assert names(client, send, ids(metastore), None) == ["p=1", "p=2", "p=3", "p=4"]
    assert sql("SHOW PARTITIONS t") == [("p=1",), ("p=2",), ("p=3",), ("p=4",)]


def test_an_unknown_cluster_is_an_error(metastore: Any, client: Any, send: Send, copied: tuple[Path, Path]) -> None:
    with pytest.raises(structure("NoSuchObjectException"), match="CLUSTER_NOT_FOUND"):
        names(client, send, ids(metastore), "c9")
