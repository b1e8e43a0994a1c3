"""Partitions: look-ups, lists by names, prefixes and filters, and their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from rewriter.catalog.commit.external_file_changes import recorded_digest
from rewriter.catalog.filters.predicates import AllOf, ScanFilter, equal
from rewriter.catalog.keys.directory_moves import directory
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.partition_names import NameMaker
from rewriter.catalog.keys.paths import default_directory, is_discovered, not_registered
from rewriter.catalog.keys.values import DEFAULT_PARTITION, canonical, parse_partition_name, partition_name
from rewriter.catalog.metastore_writes import BYTES, COUNT, check_properties, has_other_files
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterPartitions,
    DropPartitions,
    PartitionAlteration,
    PartitionWrite,
)
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.storage.data_files import external_files
from rewriter.errors import Error
from rewriter.metastore.descriptors import (
    KEPT,
    PartitionMaker,
    has_same_rows,
    is_hidden_of_partition,
    kept,
    partition_properties,
    path,
)
from rewriter.metastore.service.calls.basic_parameters import has_time, with_counts, with_time
from rewriter.metastore.service.calls.files import is_below_roots, make_table_directory, remove_locations
from rewriter.metastore.service.calls.lookup import as_seen, seen_table
from rewriter.metastore.service.calls.lookup import canonical_values as _values
from rewriter.metastore.service.calls.lookup import named_values as _named
from rewriter.metastore.service.calls.lookup import seen_partition as _find
from rewriter.metastore.service.calls.names import table_name
from rewriter.metastore.service.calls.table_filters import read_filter
from rewriter.metastore.service.handlers.copied_partitions import register_copies, shown_copies
from rewriter.metastore.wire.interface import structure
from rewriter.statements.show.content_statistics import listed_content

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Call, Handlers

_MetaException: Any = structure("MetaException")
_NoSuchObject: Any = structure("NoSuchObjectException")
_Invalid: Any = structure("InvalidObjectException")
_InvalidOperation: Any = structure("InvalidOperationException")


def _table(call: Call, is_write: bool = False) -> Table:
    """Returns the table of a call about partitions. Raises the errors of ``_with_partitions``."""
    return _with_partitions(call, table_name(call.arguments.db_name, call.arguments.tbl_name), is_write)


def _with_partitions(call: Call, name: str, is_write: bool = False) -> Table:
    """Returns a table by its name. Raises DISCOVERED_PARTITIONS if the catalog has none of its partitions."""
    table = seen_table(call, name, is_write)
    if is_discovered(table):
        raise not_registered(table)
    return table


def _existing(call: Call, table: Table, values: PartitionValues) -> Partition:
    partition = _find(call, table, values)
    if partition is None:
        name = partition_name(table.partition_columns, values)
        raise _NoSuchObject(message=f"partition values={list(values)} ({name}) of {table.name} cannot be found")
    return partition


def _satisfying(call: Call, table: Table, scan_filter: ScanFilter | None) -> Sequence[Partition]:
    if call.write_ids is not None or call.cluster is not None:
        return call.service.listed.satisfying(table.name, scan_filter, call.write_ids_of(table.name), call.cluster)
    return call.snapshot.satisfying(table, scan_filter)


def _limited(partitions: Iterable[Partition], most: int | None) -> list[Partition]:
    return list(partitions if most is None or most < 0 else islice(partitions, most))


def _shown(call: Call, table: Table, partitions: Sequence[Partition]) -> list[Any]:
    maker = PartitionMaker(as_seen(call, table), None if kept(table.properties) else call.snapshot.created(table))
    shown = [maker.partition(partition) for partition in partitions]
    if maker.table.copies:
        clusters = shown_copies(call, table, partitions)
        for partition, part in zip(partitions, shown, strict=True):
            part.sd.secondaryClusters = clusters.get(partition.key)
    return shown


def get_partition(call: Call) -> Any:
    table = _table(call)
    return _shown(call, table, [_existing(call, table, _values(table, call.arguments.part_vals))])[0]


def get_partition_by_name(call: Call) -> Any:
    table = _table(call)
    return _shown(call, table, [_existing(call, table, _named(table, call.arguments.part_name))])[0]


def get_partitions(call: Call) -> list[Any]:
    table = _table(call)
    return _shown(call, table, _limited(_satisfying(call, table, None), call.arguments.max_parts))


def get_partition_names(call: Call) -> list[str]:
    table, most = _table(call), call.arguments.max_parts
    if call.write_ids is not None or call.cluster is not None:
        return _names(table, _limited(_satisfying(call, table, None), most))
    ids = str(call.snapshot.write_ids(table.id))
    names = call.service.partition_names.of(table.id, ids, lambda: _names(table, _satisfying(call, table, None)))
    return names if most is None or most < 0 else names[:most]


def _names(table: Table, partitions: Iterable[Partition]) -> list[str]:
    columns = [replace(column, name=column.name.lower()) for column in table.partition_columns]
    return NameMaker(columns).names_of([partition.key for partition in partitions])


def _prefixed(call: Call, table: Table) -> list[Partition]:
    """Returns the partitions with the given leading values. An empty text is any value."""
    texts = list(call.arguments.part_vals or ())
    if len(texts) > len(table.partition_columns):
        raise _MetaException(message=f"{len(texts)} values for {len(table.partition_columns)} partition columns")
    conditions = tuple(
        equal(index, column, canonical(column, text))
        for index, (column, text) in enumerate(zip(table.partition_columns, texts, strict=False))
        if text
    )
    return _limited(_satisfying(call, table, AllOf(conditions) if conditions else None), call.arguments.max_parts)


def get_partitions_ps(call: Call) -> list[Any]:
    table = _table(call)
    return _shown(call, table, _prefixed(call, table))


def get_partition_names_ps(call: Call) -> list[str]:
    table = _table(call)
    return _names(table, _prefixed(call, table))


def _filtered(call: Call, table: Table) -> Sequence[Partition]:
    text = call.arguments.filter
    return _satisfying(call, table, read_filter(text, table.partition_columns) if text else None)


def get_partitions_by_filter(call: Call) -> list[Any]:
    table = _table(call)
    return _shown(call, table, _limited(_filtered(call, table), call.arguments.max_parts))


def get_num_partitions_by_filter(call: Call) -> int:
    return len(_filtered(call, _table(call)))


def get_partitions_by_names(call: Call) -> list[Any]:
    table = _table(call)
    wanted = {_named(table, name) for name in call.arguments.names or ()}
    partitions = [partition for values in wanted if (partition := _find(call, table, values)) is not None]
    return _shown(call, table, sorted(partitions, key=lambda partition: partition.key))


def get_partition_values(call: Call) -> Any:
    """Returns the values of some columns of the partitions that satisfy a filter: the values of all columns if the
    client names none, each combination once unless it says otherwise, in the order of the columns that it names.
    """
    request = call.arguments.request
    inner = replace(call, arguments=request)
    table = _with_partitions(inner, table_name(request.dbName, request.tblName))
    shown, order = _positions(table, request.partitionKeys), _positions(table, request.partitionOrder)
    types = [table.partition_columns[position].type for position in order]
    partitions = sorted(
        _filtered(inner, table),
        key=lambda partition: encode(table.id, types, tuple(partition.values[position] for position in order)),
        reverse=request.ascending is False,
    )
    rows = [tuple(_text(partition.values[position]) for position in shown) for partition in partitions]
    kept_rows = rows if request.applyDistinct is False else list(dict.fromkeys(rows))
    most = request.maxParts
    limited = kept_rows if most is None or most < 0 else kept_rows[:most]
    return structure("PartitionValuesResponse")(
        partitionValues=[structure("PartitionValuesRow")(row=list(row)) for row in limited]
    )


def _positions(table: Table, fields: Sequence[Any] | None) -> list[int]:
    """Returns the positions of partition columns that a client names; of all if it names none."""
    names = [column.name.lower() for column in table.partition_columns]
    wanted = [str(field.name or "").lower() for field in fields or ()] or names
    unknown = next((name for name in wanted if name not in names), None)
    if unknown is not None:
        raise _MetaException(message=f"{unknown} is no partition column of {table.name}.")
    return [names.index(name) for name in wanted]


def _text(value: str | None) -> str:
    return DEFAULT_PARTITION if value is None else value


def get_partitions_by_expr(call: Call) -> Any:
    """Serialized Java is never read. Clients list partitions by a filter then."""
    raise _MetaException(message="Expressions of Java are not supported: use get_partitions_by_filter.")


def _checked_write(maker: PartitionMaker, given: Any, call: Call, before: Partition | None = None) -> PartitionWrite:
    """Returns a partition that a client adds, or wants in place of another one. Only properties that differ are
    checked.

    Raises ``InvalidObjectException`` for another format, or other separators of text files, than the table's.
    """
    table = maker.table
    values = _values(table, given.values)
    descriptor = given.sd
    location = None
    if descriptor is not None:
        if not has_same_rows(descriptor, maker.descriptor):
            raise _Invalid(
                message=f"The partition {partition_name(table.partition_columns, values)} has another format, or other "
                f"separators, than the table {table.name}."
            )
        location = path(descriptor.location) if descriptor.location else None
    if not table.external and _own(table, values, location) is not None:
        raise _Invalid(message=f"Partitions of the managed table {table.name} have no locations of their own.")
    parameters = with_time(given.parameters, call.now)
    place = location or default_directory(table, values)
    stored = copy(given)  # The call may run again, and then sees what the client has given.
    stored.parameters = with_counts(parameters, place, call.service, is_changed=before is not None)
    properties = partition_properties(stored, call.now)
    known = {} if before is None else before.properties
    check_properties({key: text for key, text in properties.items() if key != KEPT and known.get(key) != text})
    return PartitionWrite(values, location=_own(table, values, location), properties=properties)


def _own(table: Table, values: PartitionValues, location: str | None) -> str | None:
    """Returns the location of a partition if it is not the default one."""
    return None if location is None or location == default_directory(table, values) else location


def _add(call: Call, given: Sequence[Any], if_not_exists: bool = False) -> list[Any]:
    """Adds partitions of one table, all or none. Returns the partitions that are new."""
    call.check_writable()
    if not given:
        return []
    table = seen_table(call, table_name(given[0].dbName, given[0].tableName), is_write=True)
    others = [part for part in given if table_name(part.dbName, part.tableName).lower() != table.name.lower()]
    if others:
        raise _MetaException(message="The partitions belong to several tables.")
    if not table.partition_columns:
        raise _Invalid(message=f"The table {table.name} is not partitioned.")
    maker = PartitionMaker(table)
    writes = [_checked_write(maker, part, call) for part in given]
    if if_not_exists:
        types = [column.type for column in table.partition_columns]
        keys = [KeyRange.of_key(encode(table.id, types, write.values)) for write in writes]
        existing = {partition.values for partition in call.snapshot.partitions(table, keys)}
        writes = [write for write in writes if write.values not in existing]
    elif len({write.values for write in writes}) < len(writes):
        raise _MetaException(message="A partition is given twice.")
    if not writes:
        return []
    call.check_partition_locations(table, writes)
    call.commit([AddPartitions(table, tuple(writes), if_not_exists)])
    added = [
        maker.partition(Partition(b"", write.values, write.location, properties=write.properties)) for write in writes
    ]
    for write in writes:
        make_table_directory(write.location or default_directory(table, write.values), call.service)
    return added


def add_partition(call: Call) -> Any:
    return _add(call, [call.arguments.new_part])[0]


def add_partitions(call: Call) -> int:
    return len(_add(call, call.arguments.new_parts or ()))


def add_partitions_req(call: Call) -> Any:
    request = call.arguments.request
    inner = replace(call, arguments=request)
    for part in request.parts or ():
        part.dbName, part.tableName = part.dbName or request.dbName, part.tableName or request.tblName
    added = _add(inner, request.parts or (), bool(request.ifNotExists))
    return structure("AddPartitionsResult")(partitions=added if request.needResult in (None, True) else None)


def append_partition(call: Call) -> Any:
    return _append(call, _values(_table(call, is_write=True), call.arguments.part_vals))


def append_partition_by_name(call: Call) -> Any:
    return _append(call, _named(_table(call, is_write=True), call.arguments.part_name))


def _append(call: Call, values: PartitionValues) -> Any:
    given = structure("Partition")(
        values=list(map(_text, values)),
        dbName=call.arguments.db_name,
        tableName=call.arguments.tbl_name,
    )
    return _add(call, [given])[0]


def drop_partition(call: Call) -> bool:
    table = _table(call, is_write=True)
    return _drop(call, table, [_existing(call, table, _values(table, call.arguments.part_vals))])


def drop_partition_by_name(call: Call) -> bool:
    table = _table(call, is_write=True)
    return _drop(call, table, [_existing(call, table, _named(table, call.arguments.part_name))])


def _drop(call: Call, table: Table, partitions: Sequence[Partition]) -> bool:
    """Drops partitions, and their files if the client says so and they belong to the table."""
    keys = tuple(sorted(partition.key for partition in partitions))
    call.commit([DropPartitions(table, keys, tuple(map(KeyRange.of_key, keys)))] if keys else [])
    if call.arguments.deleteData:
        places = [partition.location or default_directory(table, partition.values) for partition in partitions]
        remove_locations(table, places, call)
    return True


def drop_partitions_req(call: Call) -> Any:
    """Partitions are given by their names. Expressions of Java are never read."""
    request = call.arguments.req
    inner = replace(call, arguments=request)
    names = None if request.parts is None else request.parts.names
    if names is None:
        raise _MetaException(message="Expressions of Java are not supported: name the partitions.")
    table = seen_table(inner, table_name(request.dbName, request.tblName), is_write=True)
    partitions = [_find(inner, table, _named(table, name)) for name in names]
    if None in partitions and not request.ifExists:
        raise _NoSuchObject(message=f"Some partitions of {table.name} cannot be found.")
    existing = [partition for partition in partitions if partition is not None]
    _drop(inner, table, existing)
    return structure("DropPartitionsResult")(partitions=_shown(inner, table, existing) if request.needResult else None)


def alter_partition(call: Call) -> None:
    call.check_writable()
    _alter(call, _table(call, is_write=True), [call.arguments.new_part])


def alter_partitions(call: Call) -> None:
    call.check_writable()
    _alter(call, _table(call, is_write=True), call.arguments.new_parts or ())


def alter_partitions_req(call: Call) -> Any:
    call.check_writable()
    request = call.arguments.req
    inner = replace(call, arguments=request)
    table = _with_partitions(inner, table_name(request.dbName, request.tableName), is_write=True)
    _alter(inner, table, request.partitions or ())
    return structure("AlterPartitionsResponse")()


def _alter(call: Call, table: Table, given: Sequence[Any]) -> None:
    maker = PartitionMaker(table)
    alterations: list[PartitionAlteration] = []
    moved: list[PartitionWrite] = []
    copied: list[tuple[Partition, Any]] = []
    for part in given:
        values = _values(table, part.values)
        before = _find(call, table, values)
        if before is None:
            name = partition_name(table.partition_columns, values)
            raise _InvalidOperation(message=f"alter is not possible: partition {name} doesn't exist")
        write = _checked_write(maker, part, call, before)
        copied.append((before, part))
        location = write.location
        if location is None and before.location is not None and part.sd is not None and part.sd.location:
            location = default_directory(table, write.values)
        gone = (key for key in before.properties if key not in write.properties)
        removed = tuple(key for key in gone if not is_hidden_of_partition(key))
        moved_to = None if location == before.location else location
        is_written = _has_new_content(call, table, before, part.parameters, write.properties)
        alterations.append(PartitionAlteration(before.key, moved_to, write.properties, removed, is_written))
        if alterations[-1].location is not None:
            moved.append(replace(write, location=location))
    call.check_partition_locations(table, moved)
    if table.copies:
        register_copies(call, table, copied)
        call.renew()
    call.commit([AlterPartitions(table, tuple(alterations))] if alterations else [])


def rename_partition(call: Call) -> None:
    """Gives a partition other values. With equal values, it is altered."""
    call.check_writable()
    table = _table(call, is_write=True)
    values, given = _values(table, call.arguments.part_vals), call.arguments.new_part
    new_values = _values(table, given.values)
    if values == new_values:
        return _alter(call, table, [given])
    if call.snapshot.partition(table, values) is None:
        raise _InvalidOperation(
            message=f"Rename partition source partition [{', '.join(map(str, values))}] does not exist"
        )
    # The properties first: where they are refused, nothing is renamed.
    wanted = copy(given)
    wanted.values = call.arguments.part_vals
    if given.sd is not None:
        wanted.sd = copy(given.sd)
        wanted.sd.location = None  # The client sends the old one.
    _alter(call, table, [wanted])
    call.catalog.rename_partition(table.name, values, new_values)
    return None


def partition_name_to_vals(call: Call) -> list[str]:
    pairs = parse_partition_name(call.arguments.part_name) if call.arguments.part_name else ()
    return [_text(value) for _, value in pairs]


def partition_name_to_spec(call: Call) -> dict[str, str]:
    pairs = parse_partition_name(call.arguments.part_name) if call.arguments.part_name else ()
    return {column: _text(value) for column, value in pairs}


HANDLERS: Handlers = {
    "get_partition": get_partition,
    "get_partition_with_auth": get_partition,
    "get_partition_by_name": get_partition_by_name,
    "get_partitions": get_partitions,
    "get_partitions_with_auth": get_partitions,
    "get_partitions_ps": get_partitions_ps,
    "get_partitions_ps_with_auth": get_partitions_ps,
    "get_partition_names": get_partition_names,
    "get_partition_names_ps": get_partition_names_ps,
    "get_partitions_by_filter": get_partitions_by_filter,
    "get_num_partitions_by_filter": get_num_partitions_by_filter,
    "get_partitions_by_names": get_partitions_by_names,
    "get_partition_values": get_partition_values,
    "get_partitions_by_expr": get_partitions_by_expr,
    "add_partition": add_partition,
    "add_partition_with_environment_context": add_partition,
    "add_partitions": add_partitions,
    "add_partitions_req": add_partitions_req,
    "append_partition": append_partition,
    "append_partition_with_environment_context": append_partition,
    "append_partition_by_name": append_partition_by_name,
    "drop_partition": drop_partition,
    "drop_partition_with_environment_context": drop_partition,
    "drop_partition_by_name": drop_partition_by_name,
    "drop_partitions_req": drop_partitions_req,
    "alter_partition": alter_partition,
    "alter_partition_with_environment_context": alter_partition,
    "alter_partitions": alter_partitions,
    "alter_partitions_with_environment_context": alter_partitions,
    "alter_partitions_req": alter_partitions_req,
    "rename_partition": rename_partition,
    "partition_name_to_vals": partition_name_to_vals,
    "partition_name_to_spec": partition_name_to_spec,
}


# The content of a partition that a client alters: clients of Hive write files first, and call ALTER PARTITION then.


def _has_new_content(
    call: Call, table: Table, before: Partition, given: Mapping[str, str] | None, stored: Mapping[str, str]
) -> bool:
    """Returns whether the content of a partition counts as written by a client that alters it.

    It does if the client gives another number, size or time of files than the partition had, or no time, as Spark does
    after INSERT, or if the server has counted other files: ``stored`` are the properties with its counts. It does not
    if a rollup was computed from exactly the files that are there, below the directories that the server lists. The
    files of managed tables are the catalog's own. One listing at most.
    """
    if not table.external:
        return False
    parameters = given or {}
    counted = {key: stored[key] for key in (COUNT, BYTES) if key in stored and key in before.properties}
    is_told = not has_time(parameters) or has_other_files(before.properties, parameters)
    return (is_told or has_other_files(before.properties, counted)) and not _is_unchanged(call, table, before)


def _is_unchanged(call: Call, table: Table, partition: Partition) -> bool:
    """Returns whether the files of a partition are those from which rollups were computed last."""
    digest = recorded_digest(partition.properties)
    if digest is None or not is_below_roots(directory(table, partition), call.service):
        return False
    try:
        files = [file for _, file in external_files(table, (partition,))]
    except Error:
        return False
    return listed_content(table, partition, files) == digest
