"""The clusters of a table: its descriptors, and the partitions that a statement names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import SetClusters
from rewriter.catalog.model.key_ranges import outside
from rewriter.catalog.model.objects import ClusterLocation, Partition, Table
from rewriter.catalog.model.temporary_views import session_of
from rewriter.errors import Error, IntegrityError, NotSupportedError
from rewriter.statements.define.tables import default_location
from rewriter.statements.resolve.location_conflicts import check_apart, copies_of
from rewriter.statements.resolve.named_objects import not_found
from rewriter.statements.resolve.partition_specs import read_spec, read_static, require_partitioned

if TYPE_CHECKING:
    from rewriter.grammar.families import clusters as s
    from rewriter.grammar.terms import ClusterName, PartitionItem
    from rewriter.runtime.statement_context import Context


def placed_table(statement: s.AddCluster | s.SetPrimaryCluster | s.Replicate, context: Context) -> tuple[Table, str]:
    """Returns the table of a statement, and its cluster's name as declared.

    Raises ``AnalysisError`` CLUSTER_NOT_FOUND, and ``NotSupportedError`` NOT_REPLICABLE for temporary and
    external tables.
    """
    table = context.table(statement.table)
    try:
        cluster = context.clusters.named(statement.cluster.text).name
    except Error as error:
        raise error.at(statement.cluster.span) from None
    reason = None
    if session_of(table.name) is not None:
        reason = "it is a temporary table"
    elif table.external:
        reason = "it is external, so its files may change without the catalog's knowledge"
    if reason is not None:
        raise NotSupportedError(
            f"{statement.table.last} cannot be on several clusters: {reason}.",
            condition="NOT_REPLICABLE",
            sqlstate="0A000",
            position=statement.table.span,
            object=statement.table.last,
            hint="Copy its rows into a managed table: CREATE TABLE … ON CLUSTER … AS SELECT ….",
        )
    return table, cluster


def require_descriptor(table: Table, cluster: ClusterName, context: Context) -> ClusterLocation:
    """Returns the descriptor of a secondary cluster. Raises ``IntegrityError`` CLUSTER_NOT_SECONDARY without one."""
    copy = table.copy_on(cluster.text)
    if copy is not None:
        return copy
    is_primary = context.clusters.is_primary(table, cluster.text)
    others = ", ".join(copy.cluster for copy in table.copies)
    raise IntegrityError(
        f"{cluster.text} is {'the primary' if is_primary else 'no'} cluster of {table.name}.",
        condition="CLUSTER_NOT_SECONDARY",
        position=cluster.span,
        object=cluster.text,
        hint=f"Its secondary clusters: {others}." if others else "It has no secondary cluster.",
    )


def new_descriptor(table: Table, cluster: str, context: Context) -> ClusterLocation:
    """Returns the descriptor of a further cluster of a table, at the place of a new table there.

    Raises ``IntegrityError`` UNSAFE_LOCATION if that is the place of the table by another path.
    """
    location = default_location(table.name, table.id, context, cluster)
    check_apart(location, [table.location, *copies_of(table)])
    return ClusterLocation(cluster, location)


def with_descriptor(table: Table, copy: ClusterLocation, context: Context) -> tuple[Context, Table]:
    """Adds a secondary cluster to a table, unless it has this one. Returns the context over the newest state, and the
    table. One transaction.
    """
    if copy not in table.copies:
        with context.begin() as transaction:
            primary = context.clusters.primary_of(table)
            transaction.commit([SetClusters(table, (*table.copies, copy), cluster=primary)])
    context = context.renewed()
    return context, context.snapshot.table(table.name)


def named_partitions(table: Table, spec: Sequence[PartitionItem] | None, context: Context) -> tuple[Partition, ...]:
    """Returns the partitions that a spec names, in key order; all without a spec. An unpartitioned table has one, once
    it was written.

    Raises PARTITIONS_NOT_FOUND where a spec names nothing.
    """
    if spec is None:
        return context.snapshot.partitions(table)
    require_partitioned(table, spec[0].span)
    partitions = context.snapshot.satisfying(table, read_static(table, read_spec(table, spec).static))
    if not partitions:
        raise not_found(table, spec)
    return partitions


def absent_partitions(table: Table, cluster: str, partitions: Sequence[Partition], context: Context) -> list[Partition]:
    """Returns the partitions, in key order, that a secondary cluster does not have."""
    absent_keys = set(
        outside([partition.key for partition in partitions], context.snapshot.copied_ranges(table, cluster))
    )
    return [partition for partition in partitions if partition.key in absent_keys]
