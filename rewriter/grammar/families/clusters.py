"""Clusters: SHOW CLUSTERS, USE CLUSTER, the clusters of tables and partitions, REPLICATE, the catalog's properties."""

from __future__ import annotations

from rewriter.grammar.statement_parts import Clause, Terminal, require_values
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import ClusterName, Name, PartitionItem
from rewriter.grammar.unparse import name_text, option, partition_text, quote_name, words
from rewriter.lazy_dataclass import dataclass

RULES = r"""
?statement: show_clusters | show_catalog_properties | use_cluster
          | add_cluster | drop_cluster | set_primary_cluster | replicate

show_clusters: "SHOW" "CLUSTERS"
show_catalog_properties: "SHOW" "CATALOG" "PROPERTIES"
use_cluster: "USE" "CLUSTER" [cluster_name]
add_cluster: "ALTER" "TABLE" name [partition_spec] "ADD" "CLUSTER" cluster_name [location]
drop_cluster: "ALTER" "TABLE" name [partition_spec] "DROP" "CLUSTER" cluster_name
set_primary_cluster: "ALTER" "TABLE" name "SET" "PRIMARY" "CLUSTER" cluster_name
replicate: "REPLICATE" "TABLE" name [partition_spec] "TO" "CLUSTER" cluster_name [ONLY "STALE"]
cluster_name: NAME
on_cluster: "ON" "CLUSTER" cluster_name
"""


@builds("cluster_name")
def cluster_name(name: Terminal) -> ClusterName:
    return ClusterName(name.name, name.span)


@builds("on_cluster")
def on_cluster(cluster: ClusterName) -> Clause:
    return Clause("ON CLUSTER", cluster, cluster.span)


def cluster_text(cluster: ClusterName) -> str:
    return f"CLUSTER {quote_name(cluster.text)}"


def on_cluster_text(cluster: ClusterName | None) -> str | None:
    return None if cluster is None else f"ON {cluster_text(cluster)}"


@dataclass(frozen=True, kw_only=True)
class ShowClusters(Statement):
    """``SHOW CLUSTERS``."""


@builds("show_clusters")
def show_clusters() -> ShowClusters:
    return ShowClusters()


@renders(ShowClusters)
def show_clusters_text(s: ShowClusters) -> str:
    return "SHOW CLUSTERS"


@dataclass(frozen=True, kw_only=True)
class ShowCatalogProperties(Statement):
    """``SHOW CATALOG PROPERTIES``."""


@builds("show_catalog_properties")
def show_catalog_properties() -> ShowCatalogProperties:
    return ShowCatalogProperties()


@renders(ShowCatalogProperties)
def show_catalog_properties_text(s: ShowCatalogProperties) -> str:
    return "SHOW CATALOG PROPERTIES"


@dataclass(frozen=True, kw_only=True)
class UseCluster(Statement):
    """``USE CLUSTER c``; without a name, the choice of the session ends."""

    cluster: ClusterName | None = None


@builds("use_cluster")
def use_cluster(cluster: ClusterName | None) -> UseCluster:
    return UseCluster(cluster=cluster)


@renders(UseCluster)
def use_cluster_text(s: UseCluster) -> str:
    return "USE CLUSTER" if s.cluster is None else f"USE {cluster_text(s.cluster)}"


@dataclass(frozen=True, kw_only=True)
class AddCluster(Statement):
    """``ALTER TABLE t [PARTITION (…)] ADD CLUSTER c [LOCATION '…']``."""

    table: Name
    cluster: ClusterName
    partition: tuple[PartitionItem, ...] | None = None
    location: str | None = None


@builds("add_cluster")
def add_cluster(
    table: Name, partition: tuple[PartitionItem, ...] | None, cluster: ClusterName, location: Clause | None
) -> AddCluster:
    require_values(partition or ())
    text = None if location is None else location.value
    return AddCluster(table=table, partition=partition, cluster=cluster, location=text)


@renders(AddCluster)
def add_cluster_text(s: AddCluster) -> str:
    location = option("LOCATION", s.location)
    return words(altering(s.table, s.partition), f"ADD {cluster_text(s.cluster)}", location)


@dataclass(frozen=True, kw_only=True)
class DropCluster(Statement):
    """``ALTER TABLE t [PARTITION (…)] DROP CLUSTER c``."""

    table: Name
    cluster: ClusterName
    partition: tuple[PartitionItem, ...] | None = None


@builds("drop_cluster")
def drop_cluster(table: Name, partition: tuple[PartitionItem, ...] | None, cluster: ClusterName) -> DropCluster:
    require_values(partition or ())
    return DropCluster(table=table, partition=partition, cluster=cluster)


@renders(DropCluster)
def drop_cluster_text(s: DropCluster) -> str:
    return words(altering(s.table, s.partition), f"DROP {cluster_text(s.cluster)}")


@dataclass(frozen=True, kw_only=True)
class SetPrimaryCluster(Statement):
    """``ALTER TABLE t SET PRIMARY CLUSTER c``."""

    table: Name
    cluster: ClusterName


@builds("set_primary_cluster")
def set_primary_cluster(table: Name, cluster: ClusterName) -> SetPrimaryCluster:
    return SetPrimaryCluster(table=table, cluster=cluster)


@renders(SetPrimaryCluster)
def set_primary_cluster_text(s: SetPrimaryCluster) -> str:
    return words(altering(s.table), f"SET PRIMARY {cluster_text(s.cluster)}")


@dataclass(frozen=True, kw_only=True)
class Replicate(Statement):
    """``REPLICATE TABLE t [PARTITION (…)] TO CLUSTER c [ONLY STALE]``; the spec may be partial."""

    table: Name
    cluster: ClusterName
    partition: tuple[PartitionItem, ...] | None = None
    only_stale: bool = False


@builds("replicate")
def replicate(
    table: Name, partition: tuple[PartitionItem, ...] | None, cluster: ClusterName, only: Terminal | None
) -> Replicate:
    require_values(partition or ())
    return Replicate(table=table, partition=partition, cluster=cluster, only_stale=only is not None)


@renders(Replicate)
def replicate_text(s: Replicate) -> str:
    return words(
        f"REPLICATE TABLE {name_text(s.table)}",
        partition_text(s.partition),
        f"TO {cluster_text(s.cluster)}",
        "ONLY STALE" if s.only_stale else None,
    )


def altering(table: Name, partition: tuple[PartitionItem, ...] | None = None) -> str:
    return words(f"ALTER TABLE {name_text(table)}", partition_text(partition))
