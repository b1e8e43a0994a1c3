"""Tables and partitions as a reader on one cluster finds them."""

from __future__ import annotations

from typing import TypeVar

from rewriter.catalog.clusters.definitions import Cluster, Clusters
from rewriter.catalog.model.objects import Partition, Table
from rewriter.errors import AnalysisError

_Found = TypeVar("_Found", Table, Partition)


def located(found: _Found, table: Table, cluster: Cluster, clusters: Clusters) -> _Found:
    """Returns a table, or one of its partitions, with its location on a cluster.

    Raises ``AnalysisError`` TABLE_NOT_IN_CLUSTER for a cluster that does not have it. Tables are on one cluster, their
    primary one: that is the default cluster.
    """
    if clusters.default == cluster.name:
        return found
    where = "no cluster" if clusters.default is None else f"the cluster {clusters.default}"
    raise AnalysisError(
        f"the table '{table.name}' is not on the cluster {cluster.name}: it is on {where}",
        condition="TABLE_NOT_IN_CLUSTER",
        object=table.name,
        hint="name another cluster, or none",
    )
