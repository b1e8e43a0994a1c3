"""Writes of tables and partitions by callers that pass their list of valid write ids as text (seed 001).

The list says what the caller has seen. A write under a list that is not equivalent to the newest one raises
``ConflictError``: another transaction has written the table since. The caller then fetches the list again, reads again,
and repeats the write. Writes that come after the check conflict as usual, at the commit. A write returns no new list.

Without a list, a managed table is an error, as for reads, and an external table is written in its newest state.
``cluster`` is as after USE CLUSTER: it must be the primary cluster of the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from rewriter.catalog import partition_moves
from rewriter.catalog.catalog import Catalog
from rewriter.catalog.clusters.definitions import clusters_of
from rewriter.catalog.clusters.located import cluster_root, not_on
from rewriter.catalog.commit.directory_moves import default_directory, pending
from rewriter.catalog.commit.reserved_properties import refuse_reserved
from rewriter.catalog.commit.stored_credentials import refused
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.paths import is_discovered, not_registered
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
from rewriter.catalog.model.file_parameters import has_other_files
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import PartitionValues, Table
from rewriter.catalog.model.qualified_names import database_of
from rewriter.catalog.model.table_directories import managed_directory
from rewriter.catalog.model.write_ids import ValidWriteIdList, equivalent
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.table_definitions import check_definition
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import ConflictError, DataError, NotSupportedError, ProgrammingError
from rewriter.uris import has_credentials

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
        key = partition_moves.existing(snapshot, table, values).key
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
            partition = partition_moves.existing(snapshot, table, values)
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
            raise refused(f"the property {key}")
        if is_interpreted(key):
            raise NotSupportedError(
                f"The property {key} has a meaning here, and a statement checks its value.",
                object=key,
                hint=f"Write ALTER TABLE … SET TBLPROPERTIES ('{key}' = '…').",
            )


def is_interpreted(key: str) -> bool:
    """Returns whether this project gives a property a meaning: only a statement, which checks the value, sets it."""
    return key.lower().startswith(_INTERPRETED)
