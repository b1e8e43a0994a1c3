"""Tables and partitions as a reader on one cluster finds them (seed 004)."""

from __future__ import annotations

from dataclasses import replace

from rewriter.catalog.clusters.definitions import Cluster, Clusters
from rewriter.catalog.model.objects import ClusterLocation, Partition, Table
from rewriter.errors import AnalysisError


def is_primary(table: Table, cluster: Cluster, clusters: Clusters) -> bool:
    """Tests whether a cluster is the primary one of a table, which has all its partitions."""
    return (clusters.primary_of(table) or "").lower() == cluster.name.lower()


def copy_on(table: Table, cluster: Cluster) -> ClusterLocation | None:
    """Returns the descriptor of a secondary cluster; ``None`` if the table has none there."""
    return next((copy for copy in table.copies if copy.cluster.lower() == cluster.name.lower()), None)


def located(table: Table, cluster: Cluster, clusters: Clusters) -> Table:
    """Returns a table with its location on a cluster. Raises ``AnalysisError`` TABLE_NOT_IN_CLUSTER for a cluster that
    is neither its primary one nor a secondary one.
    """
    if is_primary(table, cluster, clusters):
        return table
    copy = copy_on(table, cluster)
    if copy is None:
        raise not_in_cluster(table, cluster, clusters)
    return replace(table, location=copy.location)


def located_partition(partition: Partition, table: Table, cluster: Cluster, clusters: Clusters) -> Partition:
    """Returns a partition with its location on a cluster. Copies are in the default directories of a secondary one."""
    return partition if is_primary(table, cluster, clusters) else partition._replace(location=None)


def not_in_cluster(table: Table, cluster: Cluster, clusters: Clusters, use: str = "is not") -> AnalysisError:
    """Returns the error for a table that is not on a cluster, or cannot be written there."""
    primary = clusters.primary_of(table)
    where = "it has no cluster" if primary is None else f"its primary cluster is {primary}"
    return AnalysisError(
        f"the table '{table.name}' {use} on the cluster {cluster.name}: {where}",
        condition="TABLE_NOT_IN_CLUSTER",
        object=table.name,
        hint="name another cluster, or none",
    )
