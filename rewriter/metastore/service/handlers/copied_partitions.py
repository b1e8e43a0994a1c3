"""Partitions on secondary clusters: which have them, and copies that a client has made (seed 004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import AddCopies
from rewriter.catalog.model.key_ranges import outside
from rewriter.metastore.descriptors import uri
from rewriter.metastore.wire.interface import structure
from rewriter.statements.clusters.replication import existing_copies

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import ClusterLocation, Partition, Table
    from rewriter.metastore.service.calls.call import Call

_Cluster: Any = structure("ClusterDescriptor")
_InvalidOperation: Any = structure("InvalidOperationException")


def shown_copies(call: Call, table: Table, partitions: Sequence[Partition]) -> Mapping[bytes, list[Any]]:
    """Returns the secondary clusters of each partition that has any, by key. Partitions are in key order."""
    clusters: dict[bytes, list[Any]] = {}
    for copy in table.copies:
        keys = [partition.key for partition in partitions]
        absent = set(outside(keys, call.snapshot.copied_ranges(table, copy.cluster)))
        for key in keys:
            if key not in absent:
                clusters.setdefault(key, []).append(_Cluster(clusterName=copy.cluster, location=uri(copy.location)))
    return clusters


def register_copies(call: Call, table: Table, given: Sequence[tuple[Partition, Any]]) -> None:
    """Registers the copies of partitions that the client has made on secondary clusters: it names them in the
    descriptors of the partitions. Copies that are registered already stay.

    All files of a partition must be there, with the content of the originals, which is compared. Raises
    ``InvalidOperationException`` otherwise, and for a cluster that the table does not have.
    """
    call.check_writable()
    for copy in table.copies:
        partitions = [partition for partition, part in given if copy in _named(table, part)]
        keys = outside([partition.key for partition in partitions], call.snapshot.copied_ranges(table, copy.cluster))
        absent = [partition for partition in partitions if partition.key in set(keys)]
        if not absent:
            continue
        copies = existing_copies(table, copy, absent, call.snapshot)
        present = {copied.key for copied in copies}
        lacking = [partition for partition in absent if partition.key not in present]
        if lacking:
            name = partition_name(table.partition_columns, lacking[0].values)
            raise _InvalidOperation(
                message=f"{copy.location} does not have the files of {name}, or they differ from the originals."
            )
        with call.catalog.begin(call.snapshot) as transaction:
            write_id = transaction.write_id(table)
            transaction.commit([AddCopies(table, copy.cluster, write_id, tuple(copies), were_there=True)])
            if transaction.stale_copies:
                raise _InvalidOperation(message=f"Partitions of {table.name} have changed meanwhile: copy them again.")


def _named(table: Table, given: Any) -> Iterator[ClusterLocation]:
    """Yields the secondary clusters in a partition's descriptor."""
    for descriptor in (given.sd.secondaryClusters if given.sd is not None else None) or ():
        copy = table.copy_on(str(descriptor.clusterName))
        if copy is None:
            raise _InvalidOperation(
                message=f"{descriptor.clusterName} is no secondary cluster of {table.name}: ALTER TABLE … ADD CLUSTER."
            )
        yield copy
