"""Tables and partitions as a client may see them: with its list of write ids and its cluster, or without them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rewriter.catalog.clusters.definitions import located_by_default
from rewriter.catalog.commit.reserved_properties import is_exposed
from rewriter.catalog.keys.directory_moves import pending
from rewriter.catalog.keys.values import DEFAULT_PARTITION, canonical, parse_partition_name
from rewriter.catalog.metastore_writes import list_required
from rewriter.catalog.model.objects import Partition, PartitionValues, Table, View
from rewriter.catalog.reading.missing_objects import object_not_found
from rewriter.data_formats import known_format
from rewriter.errors import NotSupportedError
from rewriter.metastore.descriptors import KEPT, as_exposed, at_exposed, is_of_client, kept, thrift_table, thrift_view
from rewriter.metastore.wire.interface import structure

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Call

_MetaException: Any = structure("MetaException")


def is_shown(object_: Table | View) -> bool:
    """Returns whether clients without a list of write ids may see a table or view: no managed table that is not
    exposed.
    """
    if isinstance(object_, View):
        return is_of_client(object_)
    return is_readable(object_) and (KEPT in object_.properties or not _is_hidden(object_))


def _is_hidden(table: Table) -> bool:
    """Returns whether Hive's classes do not read the files of a table of SQL, or read other values in them."""
    data_format = known_format(table.format)
    if data_format is None or not data_format.is_hives:
        return data_format is not None
    misread = data_format.hive_misreads
    return misread is not None and any(re.search(misread, column.type.lower()) for column in table.columns)


def is_readable(table: Table) -> bool:
    """Returns whether plain directories hold the newest state of a table: of an external or an exposed one."""
    return table.external or is_exposed(table)


def seen_table(call: Call, name: str, is_write: bool = False) -> Table:
    """Returns a table under the list and on the cluster of the call.

    Without a list, it is the newest state of an external or exposed table; another one raises
    VALID_WRITE_ID_LIST_REQUIRED. Without a cluster, its location is that on the default cluster. A table that is to be
    written is in its newest state, which the list must equal. Raises the errors of ``CachedCatalog.get_table`` and of
    its writes.
    """
    if is_write:
        snapshot, table = call.service.listed.written(name, call.write_ids_of(name), call.cluster)
        call.renew(snapshot)
        return table
    if call.write_ids is not None or call.cluster is not None:
        return call.service.listed.get_table(name, call.write_ids_of(name), call.cluster)
    table = call.snapshot.table(name)
    if not is_readable(table):
        raise list_required(table.name)
    if KEPT not in table.properties and _is_hidden(table):
        raise NotSupportedError(
            f"Clients do not read the {table.format.upper()} files of {table.name}, a table of SQL.",
            object=table.name,
            hint="Tables of Parquet, ORC and text files are shown to clients.",
        )
    if pending(table) and not call.service.read_only:
        # Clients do not read the notes of a move that was interrupted.
        call.catalog.finish_moves(table)
        call.renew()
        table = call.snapshot.table(name)
    return table if not table.copies else located_by_default(table, call.clusters)


def as_seen(call: Call, table: Table) -> Table:
    """Returns a table of ``seen_table`` as the client of the call gets it: an exposed one is external without a list.

    One look-up for an unpartitioned exposed table.
    """
    if call.write_ids is not None or call.cluster is not None or not is_exposed(table):
        return table
    exposed = as_exposed(table, str(call.catalog.warehouse.absolute()))
    return exposed if table.partition_columns else at_exposed(exposed, call.snapshot.partition(table, ()))


def shown_table(call: Call, name: str) -> Any:
    """Returns a table or a view as the client sees it."""
    object_ = call.snapshot.named(name)
    if isinstance(object_, View):
        return thrift_view(object_)
    if object_ is not None and not isinstance(object_, Table):
        raise object_not_found(Table, name, "Cubes and facts have no tables of their own.")
    table = as_seen(call, seen_table(call, name))
    return thrift_table(table, None if kept(table.properties) else call.snapshot.created(table))


def canonical_values(table: Table, texts: Sequence[str] | None) -> PartitionValues:
    """Returns the canonical values of a partition. Raises ``MetaException`` unless there is one for each column."""
    given = list(texts or ())
    if len(given) != len(table.partition_columns):
        raise _MetaException(message=f"{len(given)} values for {len(table.partition_columns)} partition columns")
    return tuple(canonical(column, text) for column, text in zip(table.partition_columns, given, strict=True))


def named_values(table: Table, name: str | None) -> PartitionValues:
    """Returns the values that a partition's name has. Raises ``MetaException`` for a name of no partition."""
    pairs = {column.lower(): value for column, value in parse_partition_name(name or "")}
    texts = [pairs.get(column.name.lower(), "") for column in table.partition_columns]
    if len(pairs) != len(table.partition_columns) or "" in texts:
        raise _MetaException(message=f"Invalid partition name {name!r}")
    return canonical_values(table, [DEFAULT_PARTITION if text is None else text for text in texts])


def seen_partition(call: Call, table: Table, values: PartitionValues) -> Partition | None:
    """Returns a partition of a table under the list and on the cluster of the call; ``None`` if there is none."""
    if call.write_ids is not None or call.cluster is not None:
        return call.service.listed.get_partition(table.name, values, call.write_ids_of(table.name), call.cluster)
    return call.snapshot.partition(table, values)
