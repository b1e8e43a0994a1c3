"""SHOW CLUSTERS, USE CLUSTER, SHOW CATALOG PROPERTIES. All read the catalog's properties alone."""

from __future__ import annotations

from rewriter.catalog.clusters.definitions import CLUSTER_KEYS
from rewriter.catalog.model.objects import Column
from rewriter.errors import Error
from rewriter.grammar.families import clusters as s
from rewriter.runtime.cluster_access import defined_in_catalog, is_allowed
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.session_clusters import effective_properties
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs


@runs(s.ShowClusters, in_transaction=True, without_warehouse=True)
def show_clusters(statement: s.ShowClusters, context: Context) -> Result:
    """SHOW CLUSTERS: one row for each cluster, in the order of the definition.

    Without a filesystem, a cluster is in the warehouse directory; without an engine, it is the session's own one.
    """
    clusters, from_catalog = context.clusters, defined_in_catalog(context.settings)
    chosen = (context.session_clusters.chosen or "").lower()
    rows: list[Row] = [
        (
            cluster.name,
            cluster.root,
            cluster.engine,
            cluster.name == clusters.default,
            key == chosen,
            is_allowed(cluster, context.settings, from_catalog),
        )
        for key, cluster in clusters.by_name.items()
    ]
    flags = (Column(name, "boolean") for name in ("is_default", "is_current", "allowed"))
    return listing("SHOW CLUSTERS", (*strings("name", "filesystem", "engine"), *flags), rows)


@runs(s.UseCluster, in_transaction=True, without_warehouse=True)
def use_cluster(statement: s.UseCluster, context: Context) -> Result:
    """USE CLUSTER c: the following statements run there, or fail. Without a name, the clusters are chosen again.

    Raises ``AnalysisError`` CLUSTER_NOT_FOUND at the name.
    """
    try:
        name = None if statement.cluster is None else context.clusters.named(statement.cluster.text).name
    except Error as error:
        raise error.at(statement.cluster.span if statement.cluster is not None else None) from None
    context.session_clusters.chosen = name
    return Result("USE")


@runs(s.ShowCatalogProperties, in_transaction=True, without_warehouse=True)
def show_catalog_properties(statement: s.ShowCatalogProperties, context: Context) -> Result:
    """SHOW CATALOG PROPERTIES: those in effect, each with its source, ``catalog`` or ``session``."""
    effective = effective_properties(context.snapshot.properties(), context.settings)
    rows: list[Row] = [
        (key, effective[key], "session" if context.settings.get(key) else "catalog")
        for key in CLUSTER_KEYS
        if key in effective
    ]
    return listing("SHOW CATALOG PROPERTIES", strings("key", "value", "source"), rows)
