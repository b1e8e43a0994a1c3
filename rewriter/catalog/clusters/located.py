"""Tables and partitions as a client on one cluster finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.catalog.clusters.definitions import Cluster, Clusters
from rewriter.catalog.model.key_ranges import KeyRange, outside
from rewriter.catalog.model.objects import Partition, Table
from rewriter.catalog.model.real_paths import is_in
from rewriter.errors import AnalysisError

#: The digits of the identity of a warehouse in the names of directories.
_IDENTITY_DIGITS = 12


def cluster_root(cluster: Cluster, warehouse: str, identity: str) -> str:
    """Returns the directory above the managed tables of a cluster: the warehouse, or a directory below the root of the
    cluster that bears the identity of the warehouse. So several warehouses may share a root.

    >>> cluster_root(Cluster("c", "s3://bucket/c"), "/w", "0123456789abcdef")
    's3://bucket/c/0123456789ab'
    """
    if cluster.root is None or cluster.root.rstrip("/") == warehouse:
        return warehouse
    return f"{cluster.root.rstrip('/')}/{identity[:_IDENTITY_DIGITS]}"


def is_owned(path: str, warehouse: str, identity: str) -> bool:
    """Tests whether a path is in a warehouse, or in a directory of a cluster that bears its identity.

    >>> [is_owned(path, "/w", "0123456789abcdef") for path in ("s3://bucket/c/0123456789ab/t-1", "/data/t")]
    [True, False]
    """
    return is_in(path, warehouse) or identity[:_IDENTITY_DIGITS] in path.split("/")


def located_table(table: Table, cluster: Cluster, clusters: Clusters) -> Table:
    """Returns a table with its location on a cluster. Raises ``AnalysisError`` TABLE_NOT_IN_CLUSTER for a cluster that
    does not have it.
    """
    if clusters.is_primary(table, cluster.name):
        return table
    copy = table.copy_on(cluster.name)
    if copy is None:
        raise not_on(table, cluster, clusters)
    return replace(table, location=copy.location)


def located_by_default(table: Table, clusters: Clusters) -> Table:
    """Returns a table with its location on the default cluster; as it is if that cluster does not have it."""
    copy = table.copy_on(clusters.default or "")
    return table if copy is None else replace(table, location=copy.location)


def located_partitions(
    partitions: Sequence[Partition], table: Table, held: Sequence[KeyRange] | None
) -> list[Partition]:
    """Returns those of the partitions, in key order, that a cluster has. ``held`` are its copies; ``None`` on the
    primary cluster, which has all. A copy has no location of its own.
    """
    if held is None:
        return list(partitions)
    absent = set(outside([partition.key for partition in partitions], held))
    return [partition._replace(location=None) for partition in partitions if partition.key not in absent]


def not_on(table: Table, cluster: Cluster, clusters: Clusters) -> AnalysisError:
    """Returns the error for a cluster that is none of a table's, or not the primary one."""
    primary = clusters.primary_of(table)
    where = "no cluster" if primary is None else f"the cluster {primary}"
    return AnalysisError(
        f"the table '{table.name}' is not on the cluster {cluster.name}: it is on {where}",
        condition="TABLE_NOT_IN_CLUSTER",
        object=table.name,
        hint="Name another cluster, or none.",
    )
