"""Reads and writes of a catalog by callers that pass their list of valid write ids as text (seed 001)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.clusters.definitions import clusters_of
from rewriter.catalog.clusters.located import located_by_default, located_partitions, located_table
from rewriter.catalog.filters.predicates import ScanFilter, bind_text
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.values import require_canonical
from rewriter.catalog.metastore_writes import MetastoreWrites, list_required
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading.versioned_reads import ListedReads
from rewriter.errors import AnalysisError, DataError, Error


class CachedCatalog(MetastoreWrites):
    """Tables and partitions of a catalog, under write-id lists that the callers pass.

    A list is the text of ``valid_write_id_list``. The caller fetches it once for all its reads of a table. A result
    that was cached under an equivalent list is returned without any call to the database. Without a list:

    - a managed table is an error, ``ProgrammingError`` VALID_WRITE_ID_LIST_REQUIRED, because stale results could not be
      detected;
    - an external table is returned from the cache, which the log keeps current: eventually consistent.

    With a ``cluster``, results are what it has, as after USE CLUSTER: a table with its location there, and the
    partitions that are there. Raises ``AnalysisError`` CLUSTER_NOT_FOUND, and TABLE_NOT_IN_CLUSTER if it does not have
    the table. That costs a read of the catalog's properties.
    ``metastore_writes`` describes the writes.

    Also works with a catalog without a cache; every read then goes to the store.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def valid_write_id_list(self, name: str) -> str:
        """Returns the valid write ids of a table. Two reads, or one if the log has the list.

        Raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND.
        """
        snapshot = self._catalog.snapshot()
        return str(snapshot.write_ids(snapshot.table(name).id))

    def get_table(self, name: str, valid_write_id_list: str | None = None, cluster: str | None = None) -> Table:
        """Returns the table of that name under the list. Without a cluster, the location of a table on several is the
        one on the default cluster, or on its primary one if the default one does not have it. That costs a
        read of the catalog's properties for such a table.

        Raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND, VALID_WRITE_ID_LIST_REQUIRED, and ``DataError``
        INVALID_WRITE_ID_LIST for text that is not a list of that table, or for a list that includes uncommitted writes.
        """
        table, _ = self._listed(name, valid_write_id_list)
        if cluster is None and not table.copies:
            return table
        clusters = clusters_of(self._catalog.snapshot().properties())
        if cluster is None:
            return located_by_default(table, clusters)
        return located_table(table, clusters.named(cluster), clusters)

    def get_partition(
        self, name: str, values: PartitionValues, valid_write_id_list: str | None = None, cluster: str | None = None
    ) -> Partition | None:
        """Returns the partition with these canonical values, or ``None``.

        Raises the errors of ``get_table``, and ``DataError`` INVALID_PARTITION_SPEC.
        """
        table, listed = self._listed(name, valid_write_id_list)
        require_canonical(table.partition_columns, values)
        key = encode(table.id, [column.type for column in table.partition_columns], values)
        partition = listed.partition(table, key)
        partitions = [] if partition is None else [partition]
        return next(iter(self._located(partitions, table, listed, cluster)), None)

    def get_partitions(
        self, name: str, valid_write_id_list: str | None = None, cluster: str | None = None
    ) -> tuple[Partition, ...]:
        """Returns all partitions, in key order. Raises the errors of ``get_table``."""
        return self.satisfying(name, None, valid_write_id_list, cluster)

    def satisfying(
        self, name: str, scan_filter: ScanFilter | None, valid_write_id_list: str | None, cluster: str | None
    ) -> tuple[Partition, ...]:
        """Returns the partitions that satisfy a bound filter (``None``: all), in key order. Raises the errors of
        ``get_table``.
        """
        table, listed = self._listed(name, valid_write_id_list)
        return tuple(self._located(listed.satisfying(table, scan_filter), table, listed, cluster))

    def get_partitions_by_filter(
        self, name: str, text: str, valid_write_id_list: str | None = None, cluster: str | None = None
    ) -> tuple[Partition, ...]:
        """Returns the partitions for which a filter is TRUE, in key order.

        Raises the errors of ``get_table`` and ``bind_text``.
        """
        table, listed = self._listed(name, valid_write_id_list)
        partitions = listed.satisfying(table, bind_text(text, table.partition_columns))
        return tuple(self._located(partitions, table, listed, cluster))

    def list_partitions_by_filter(
        self, name: str, text: str, valid_write_id_list: str | None = None, cluster: str | None = None
    ) -> tuple[Partition, ...]:
        """Returns the same as ``get_partitions_by_filter``, with the name from the Flink proposal."""
        return self.get_partitions_by_filter(name, text, valid_write_id_list, cluster)

    def _located(
        self, partitions: Sequence[Partition], table: Table, listed: ListedReads, cluster: str | None
    ) -> Sequence[Partition]:
        """Returns the partitions that a cluster has; all without one."""
        if cluster is None:
            return partitions
        clusters = clusters_of(self._catalog.snapshot().properties())
        chosen = clusters.named(cluster)
        located_table(table, chosen, clusters)
        held = None if clusters.is_primary(table, chosen.name) else listed.copied_ranges(table, chosen.name)
        return located_partitions(partitions, table, held)

    def _listed(self, name: str, text: str | None) -> tuple[Table, ListedReads]:
        if text is None:
            return self._newest(name)
        ids = ValidWriteIdList.parse(text)
        if not (ids.table.isascii() and ids.table.isdigit()):
            raise _of_another(name, text)
        listed = self._catalog.reads_under(ids)
        table = listed.definition(_missing(name))
        if table.name.lower() != name.lower():
            raise _of_another(name, text)
        if not isinstance(table, Table):
            raise _missing(name)()
        return table, listed

    def _newest(self, name: str) -> tuple[Table, ListedReads]:
        """Returns an external table from the cache."""
        cache = self._catalog.cache
        table = None if cache is None else cache.newest(name.lower())
        if isinstance(table, Table):
            ids = None if cache is None else cache.newest_ids(table.id)
        else:
            snapshot = self._catalog.snapshot()
            table = snapshot.table(name)
            ids = snapshot.write_ids(table.id)
        if not table.external or ids is None:
            raise list_required(table.name)
        return table, self._catalog.reads_under(ids)


def _missing(name: str) -> Callable[[], Error]:
    def error() -> Error:
        return AnalysisError(
            f"the table or view '{name}' cannot be found",
            condition="TABLE_OR_VIEW_NOT_FOUND",
            sqlstate="42P01",
            object=name,
            hint="No such table is visible under this list: it may have been dropped or not yet created.",
        )

    return error


def _of_another(name: str, text: str) -> DataError:
    return DataError(
        f"'{text}' is not a list of write ids of '{name}'",
        condition="INVALID_WRITE_ID_LIST",
        object=name,
        hint="A list begins with the table's id; pass the list that valid_write_id_list returns for this table.",
    )
