"""Writes of tables and partitions by callers that pass their list of valid write ids as text (seed 001).

The list says what the caller has seen. A write under a list that is not equivalent to the newest one raises
``ConflictError``: another transaction has written the table since. The caller then fetches the list again, reads again,
and repeats the write. Writes that come after the check conflict as usual, at the commit. A write returns no new list.

Without a list, a managed table is an error, as for reads, and an external table is written in its newest state.
``cluster`` is as after USE CLUSTER: it must be the primary cluster of the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rewriter.catalog import partition_moves
from rewriter.catalog.clusters.definitions import (
    cluster_root,
    clusters_of,
    located_by_default,
    located_partitions,
    located_table,
    not_on,
)
from rewriter.catalog.commit.reserved_properties import credentials_refused, refuse_reserved
from rewriter.catalog.filters.predicates import ScanFilter, bind_text
from rewriter.catalog.keys.directory_moves import pending
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.paths import default_directory, is_discovered, not_registered
from rewriter.catalog.keys.values import require_canonical
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    AlterTable,
    Change,
    CreateObject,
    DropObject,
    DropPartitions,
    PartitionAlteration,
    PartitionWrite,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, PartitionValues, Table, database_of, managed_directory
from rewriter.catalog.model.write_ids import ValidWriteIdList, equivalent
from rewriter.catalog.table_definitions import check_definition
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import AnalysisError, ConflictError, DataError, Error, NotSupportedError, ProgrammingError
from rewriter.uris import has_credentials

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.catalog.reading.versioned_reads import ListedReads

NO_WRITES = str(ValidWriteIdList("0", 0))
"""The list of a table that does not exist yet, for ``create_table``."""
#: How the names of the properties begin that this project interprets.
_INTERPRETED = ("rewriter.", "cube.", "sink.", "partition.", "immutable", "field.", "escape.", "serialization.")


class MetastoreWrites(ABC):
    """The writes of ``CachedCatalog``. Partition values are canonical. Each call is one transaction, all or nothing."""

    _catalog: Catalog

    @abstractmethod
    def get_table(self, name: str, valid_write_id_list: str | None = None, cluster: str | None = None) -> Table:
        """Returns the table of that name under the list."""

    def create_table(self, table: Table, valid_write_id_list: str | None = None, cluster: str | None = None) -> Table:
        """Creates a managed table with the name, columns, format, comment and properties of ``table``, and returns it
        with its id and location. The list is ``NO_WRITES``.

        Raises ``IntegrityError`` TABLE_OR_VIEW_ALREADY_EXISTS, ``AnalysisError`` SCHEMA_NOT_FOUND, ``DataError``
        INVALID_WRITE_ID_LIST for a list with writes, and ``NotSupportedError`` for an external table: CREATE EXTERNAL
        TABLE checks its location.
        """
        if table.external:
            raise NotSupportedError(
                f"The external table {table.name} is created by CREATE EXTERNAL TABLE, which checks its location.",
                object=table.name,
                hint="Write CREATE EXTERNAL TABLE … LOCATION '…'.",
            )
        if valid_write_id_list is None:
            raise list_required(table.name)
        if ValidWriteIdList.parse(valid_write_id_list).count:
            raise DataError(
                f"'{valid_write_id_list}' has writes, and the table '{table.name}' does not exist",
                condition="INVALID_WRITE_ID_LIST",
                object=table.name,
                hint=f"Pass '{NO_WRITES}'.",
            )
        check_definition(table, DATA_FORMATS)
        check_properties(table.properties)
        snapshot = self._catalog.snapshot()
        database = snapshot.database(database_of(table.name))
        with self._catalog.begin(snapshot) as transaction:
            id = transaction.allocate_id()
            root, location = str(self._catalog.warehouse.absolute()), database.location
            clusters = clusters_of(snapshot.properties())
            name = clusters.default if cluster is None else clusters.named(cluster).name
            if clusters and name is not None:
                root = cluster_root(clusters.named(name), root, self._catalog.identity)
                location = location if name == clusters.default else None
            directory = managed_directory(table.name, id, location, root)
            created = replace(table, id=id, location=directory, cluster=name if clusters else None, copies=())
            transaction.commit([CreateObject(created)])
        return created

    def alter_table(
        self,
        name: str,
        properties: Mapping[str, str | None],
        valid_write_id_list: str | None = None,
        cluster: str | None = None,
    ) -> None:
        """Sets properties of a table; ``None`` removes one, and ``comment`` is the table's comment.

        Raises the errors of ``check_properties``, and ConflictError.
        """
        check_properties(properties)
        snapshot, table = self.written(name, valid_write_id_list, cluster)
        new = {key: value for key, value in properties.items() if value is not None}
        removed = tuple(key for key, value in properties.items() if value is None)
        self._commit(snapshot, AlterTable(table, new, removed))

    def drop_table(self, name: str, valid_write_id_list: str | None = None, cluster: str | None = None) -> None:
        """Drops a table that no fact uses. Files stay, as they do after DROP TABLE. Raises ``IntegrityError``
        TABLE_IN_USE, and ConflictError.
        """
        snapshot, table = self.written(name, valid_write_id_list, cluster)
        self._commit(snapshot, DropObject(table))

    def add_partitions(
        self,
        name: str,
        partitions: Sequence[PartitionValues],
        valid_write_id_list: str | None = None,
        cluster: str | None = None,
        *,
        if_not_exists: bool = False,
    ) -> None:
        """Registers partitions, without files, in their default directories.

        Raises ``IntegrityError`` PARTITIONS_ALREADY_EXIST, ``DataError`` INVALID_PARTITION_SPEC, ConflictError, and
        ``NotSupportedError`` if another partition of an external table has the directory of one.
        """
        snapshot, table = self.written(name, valid_write_id_list, cluster)
        for values in partitions:
            require_canonical(table.partition_columns, values)
        if table.external:
            self._check_directories(snapshot, table, partitions)
        writes = tuple(PartitionWrite(values) for values in partitions)
        self._commit(snapshot, AddPartitions(table, writes, if_not_exists))

    def append_partition(
        self, name: str, values: PartitionValues, valid_write_id_list: str | None = None, cluster: str | None = None
    ) -> None:
        """Registers one partition, as ``add_partitions`` does."""
        self.add_partitions(name, [values], valid_write_id_list, cluster)

    def drop_partition(
        self, name: str, values: PartitionValues, valid_write_id_list: str | None = None, cluster: str | None = None
    ) -> None:
        """Drops a partition. Files stay. Raises ``AnalysisError`` PARTITIONS_NOT_FOUND, and ConflictError."""
        snapshot, table = self.written(name, valid_write_id_list, cluster)
        key = partition_moves.existing_partition(snapshot, table, values).key
        self._commit(snapshot, DropPartitions(table, (key,), (KeyRange.of_key(key),)))

    def alter_partition(
        self,
        name: str,
        values: PartitionValues,
        properties: Mapping[str, str],
        valid_write_id_list: str | None = None,
        cluster: str | None = None,
    ) -> None:
        """Adds properties to a partition, as ``alter_partitions`` does."""
        self.alter_partitions(name, {values: properties}, valid_write_id_list, cluster)

    def alter_partitions(
        self,
        name: str,
        properties: Mapping[PartitionValues, Mapping[str, str]],
        valid_write_id_list: str | None = None,
        cluster: str | None = None,
    ) -> None:
        """Adds properties to partitions; their content and statistics stay. A partition of an external table counts as
        written if ``numFiles``, ``totalSize`` or ``transient_lastDdlTime`` get another value.

        Raises ``AnalysisError`` PARTITIONS_NOT_FOUND, the errors of ``check_properties``, and ConflictError.
        """
        for changed in properties.values():
            check_properties(changed)
        snapshot, table = self.written(name, valid_write_id_list, cluster)
        alterations: list[PartitionAlteration] = []
        for values, changed in properties.items():
            partition = partition_moves.existing_partition(snapshot, table, values)
            is_news = table.external and has_other_files(partition.properties, changed)
            alterations.append(PartitionAlteration(partition.key, None, dict(changed), has_other_files=is_news))
        self._commit(snapshot, AlterPartitions(table, tuple(alterations)))

    def rename_partition(
        self,
        name: str,
        values: PartitionValues,
        new_values: PartitionValues,
        valid_write_id_list: str | None = None,
        cluster: str | None = None,
    ) -> None:
        """Gives a partition other values. Raises the errors of ``partition_moves.rename``."""
        snapshot, table = self.written(name, valid_write_id_list, cluster)
        require_canonical(table.partition_columns, new_values)
        begin = partial(self._catalog.begin, snapshot)
        partition_moves.rename(begin, self._catalog.begin, snapshot, table, values, new_values)

    def _commit(self, snapshot: Snapshot, change: Change) -> None:
        with self._catalog.begin(snapshot) as transaction:
            transaction.commit([change])

    def written(self, name: str, text: str | None, cluster: str | None) -> tuple[Snapshot, Table]:
        """Returns the newest state, in which a write begins, and the table in it, whose list must be equivalent to
        ``text``.

        Raises the errors of all writes: VALID_WRITE_ID_LIST_REQUIRED, ConflictError, TABLE_NOT_IN_CLUSTER.
        """
        seen = None if text is None else self.get_table(name, text)
        table = self._catalog.snapshot().table(name) if seen is None else seen
        if text is None and not table.external:
            raise list_required(table.name)
        if pending(table):
            self._catalog.finish_moves(table)
        snapshot = self._catalog.snapshot()
        live = snapshot.named(name)
        if not isinstance(live, Table) or live.id != table.id:
            raise ConflictError(f"another transaction has dropped the table '{name}'", object=name)
        if text is not None and not equivalent(snapshot.write_ids(live.id), ValidWriteIdList.parse(text)):
            raise ConflictError(
                f"another transaction has written the table '{name}' since the list '{text}'",
                object=name,
                hint="Fetch the list with valid_write_id_list, read again, and repeat the write.",
            )
        self._on_cluster(live, snapshot, cluster)
        return snapshot, live

    def _on_cluster(self, table: Table, snapshot: Snapshot, cluster: str | None) -> None:
        """Raises ``AnalysisError`` TABLE_NOT_IN_CLUSTER unless a table is written on the cluster."""
        if cluster is not None:
            clusters = clusters_of(snapshot.properties())
            chosen = clusters.named(cluster)
            if not clusters.is_primary(table, chosen.name):
                raise not_on(table, chosen, clusters)

    def _check_directories(self, snapshot: Snapshot, table: Table, partitions: Sequence[PartitionValues]) -> None:
        if is_discovered(table):
            raise not_registered(table)
        own_keys = {encode(table.id, [c.type for c in table.partition_columns], values) for values in partitions}
        directories = [default_directory(table, values) for values in partitions]
        others = [other for other in snapshot.partitions_at(table, directories) if other.key not in own_keys]
        if others:
            raise NotSupportedError(
                f"Another partition of {table.name} has its location in {others[0].location}.",
                object=table.name,
                hint="Both would have the same files. Write ALTER TABLE … ADD PARTITION (…) LOCATION '…'.",
            )


def list_required(name: str) -> ProgrammingError:
    """Returns the error for a managed table without a list of write ids."""
    return ProgrammingError(
        f"the table '{name}' is managed: its content depends on the write ids that the caller sees",
        condition="VALID_WRITE_ID_LIST_REQUIRED",
        object=name,
        hint="Pass the list that valid_write_id_list returns; only external tables can be used without one.",
    )


def check_properties(properties: Mapping[str, str | None]) -> None:
    """Raises ``AnalysisError`` UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY for properties that Spark reserves, and
    ``NotSupportedError`` for URIs with credentials, and for the properties that this project interprets: statements
    check their values.
    """
    for key, text in properties.items():
        refuse_reserved(key)
        if text is not None and has_credentials(text):
            raise credentials_refused(f"the property {key}")
        if is_interpreted(key):
            raise NotSupportedError(
                f"The property {key} has a meaning here, and a statement checks its value.",
                object=key,
                hint=f"Write ALTER TABLE … SET TBLPROPERTIES ('{key}' = '…').",
            )


def is_interpreted(key: str) -> bool:
    """Returns whether this project gives a property a meaning: only a statement, which checks the value, sets it."""
    return key.lower().startswith(_INTERPRETED)


# Reads and writes of a catalog by callers that pass their list of valid write ids as text (seed 001).


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


# The parameters by which clients of a metastore say that a partition has other files: their number, their bytes, and
# the time of the last change, in seconds since 1970.

COUNT, BYTES = "numFiles", "totalSize"
CHANGED_AT = "transient_lastDdlTime"


def has_other_files(before: Mapping[str, str], given: Mapping[str, str]) -> bool:
    """Returns whether a partition with the parameters ``before`` has other files if a client gives it ``given``.

    A parameter that the client leaves out says nothing.

    >>> has_other_files({"numFiles": "1"}, {"numFiles": "2"}), has_other_files({"numFiles": "1"}, {"owner": "ada"})
    (True, False)
    """
    return any(key in given and given[key] != before.get(key) for key in (COUNT, BYTES, CHANGED_AT))
