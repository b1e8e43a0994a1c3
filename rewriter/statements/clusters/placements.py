"""The clusters of tables and partitions: ALTER TABLE … ADD, DROP and SET PRIMARY CLUSTER."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.catalog.clusters.definitions import CLUSTER_KEYS
from rewriter.catalog.model.changes import DropCopies, SetClusters
from rewriter.catalog.model.objects import ClusterLocation, Column, Table
from rewriter.errors import Error, IntegrityError
from rewriter.grammar.families import clusters as s
from rewriter.runtime.cluster_engines import defined_in_catalog, effective_properties, is_allowed
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.clusters.descriptors import (
    absent_partitions,
    named_partitions,
    new_descriptor,
    placed_table,
    require_descriptor,
    with_descriptor,
)
from rewriter.statements.clusters.replication import commit_copies, existing_copies, not_copied
from rewriter.statements.resolve.location_conflicts import check_apart, check_new_location, copies_of
from rewriter.statements.resolve.locations import absolute

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context


@runs(s.AddCluster)
def add_cluster(statement: s.AddCluster, context: Context) -> Result:
    """ALTER TABLE t [PARTITION (…)] ADD CLUSTER c [LOCATION '…']: a secondary cluster, and the copies that are there.

    Without LOCATION, the directory is the directory of a new table of the cluster. Files that were copied there by
    other means, under the same relative paths, are compared with the originals: a partition whose files are all there
    is registered. With a partition spec, all its partitions must be there. Raises ``IntegrityError`` COPY_NOT_FOUND
    otherwise, CLUSTER_ALREADY_EXISTS for a cluster that the table has at another location, and the errors of
    ``placed_table``. Reads the files of all these partitions on both clusters.
    """
    table, cluster = placed_table(statement, context)
    copy = table.copy_on(cluster)
    if copy is None or statement.location is not None:
        copy = _new_descriptor(table, cluster, statement, copy, context)
    named = named_partitions(table, statement.partition, context)
    partitions = absent_partitions(table, cluster, named, context)
    present = existing_copies(table, copy, partitions, context.snapshot)
    copied_keys = {part.key for part in present}
    absent = [partition for partition in partitions if partition.key not in copied_keys]
    if statement.partition is not None and absent:
        raise not_copied(table, copy, absent).at(statement.table.span)
    context, table = with_descriptor(table, copy, context)
    stale = commit_copies(table, copy, present, context) if present else ()
    result = Result("ALTER TABLE")
    lacking = len(absent) + len(stale)
    if lacking:
        result.warnings = (f"{cluster} has {len(named) - lacking} of {len(named)} partitions of {table.name}",)
    return result


@runs(s.DropCluster)
def drop_cluster(statement: s.DropCluster, context: Context) -> Result:
    """ALTER TABLE t [PARTITION (…)] DROP CLUSTER c: gives up the copies on a secondary cluster. VACUUM removes the
    files.

    Raises ``IntegrityError`` CLUSTER_NOT_SECONDARY, also for the primary cluster.
    """
    table = context.table(statement.table)
    copy = require_descriptor(table, statement.cluster, context)
    with context.begin() as transaction:
        if statement.partition is None:
            others = tuple(other for other in table.copies if other != copy)
            transaction.commit([SetClusters(table, others)])
        else:
            keys = tuple(partition.key for partition in named_partitions(table, statement.partition, context))
            transaction.commit([DropCopies(table, copy.cluster, keys)])
    return Result("ALTER TABLE")


@runs(s.SetPrimaryCluster)
def set_primary_cluster(statement: s.SetPrimaryCluster, context: Context) -> Result:
    """ALTER TABLE t SET PRIMARY CLUSTER c: writes go to c from now on. The previous primary cluster becomes a secondary
    one, which has everything.

    Raises ``IntegrityError`` CLUSTER_INCOMPLETE if c lacks a partition, CLUSTER_NOT_SECONDARY, and ``ConflictError`` if
    another transaction writes the table. O(files of the table).
    """
    table, cluster = placed_table(statement, context)
    if context.clusters.is_primary(table, cluster):
        return Result("ALTER TABLE")
    copy = require_descriptor(table, statement.cluster, context)
    previous = ClusterLocation(str(context.clusters.primary_of(table)), table.location)
    left = {copy.cluster.lower(), previous.cluster.lower()}
    copies = (*(other for other in table.copies if other.cluster.lower() not in left), previous)
    try:
        with context.begin() as transaction:
            transaction.commit([SetClusters(table, copies, primary=copy.cluster, previous=previous.cluster)])
    except Error as error:
        raise error.at(statement.table.span) from None
    return Result("ALTER TABLE")


def _new_descriptor(
    table: Table, cluster: str, statement: s.AddCluster, present: ClusterLocation | None, context: Context
) -> ClusterLocation:
    if context.clusters.is_primary(table, cluster):
        raise IntegrityError(
            f"{cluster} is the primary cluster of {table.name}.",
            condition="CLUSTER_ALREADY_EXISTS",
            position=statement.cluster.span,
            object=cluster,
            hint="A secondary cluster is another one. ALTER TABLE … SET PRIMARY CLUSTER exchanges two.",
        )
    if statement.location is None:
        try:
            return new_descriptor(table, cluster, context)
        except Error as error:
            raise error.at(statement.cluster.span) from None
    location = absolute(statement.location, context.catalog.warehouse, statement.table)
    if present is not None and present.location != location:
        raise IntegrityError(
            f"{cluster} has the copies of {table.name} at {present.location}.",
            condition="CLUSTER_ALREADY_EXISTS",
            position=statement.cluster.span,
            object=cluster,
            hint=f"Leave LOCATION out, or ALTER TABLE {table.name} DROP CLUSTER {cluster} first.",
        )
    if present is None:
        try:
            check_new_location(table, location, context)
            check_apart(location, [table.location, *copies_of(table)])
        except Error as error:
            raise error.at(statement.table.span) from None
    return ClusterLocation(cluster, location)


# SHOW CLUSTERS, USE CLUSTER, SHOW CATALOG PROPERTIES. All read the catalog's properties alone.


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
