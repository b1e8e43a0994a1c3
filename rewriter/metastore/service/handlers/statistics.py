"""Column statistics of tables and partitions, which clients compute. They are kept for them, and not used here."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.changes import AlterPartitions, AlterTable, PartitionAlteration
from rewriter.catalog.model.objects import Partition, Table
from rewriter.metastore.column_statistics import (
    ColumnStatistics,
    Statistics,
    given_statistics,
    merged,
    read_statistics,
    statistics_text,
)
from rewriter.metastore.descriptors import CATALOG, STATISTICS
from rewriter.metastore.service.calls.lookup import named_values, seen_partition, seen_table
from rewriter.metastore.service.calls.names import database_name, table_name
from rewriter.metastore.wire.interface import structure

if TYPE_CHECKING:
    from rewriter.metastore.service.calls.call import Call, Handlers

_NoSuchObject: Any = structure("NoSuchObjectException")
_InvalidInput: Any = structure("InvalidInputException")

# A change reads the property and writes it whole: one at a time. Of changes by several servers the last one remains.
_CHANGES = threading.Lock()


def _requested(call: Call) -> tuple[Call, Table]:
    """Returns the call that a request makes, and its table."""
    inner = replace(call, arguments=call.arguments.request)
    return inner, seen_table(inner, table_name(inner.arguments.dbName, inner.arguments.tblName))


def _name(call: Call) -> str:
    return table_name(call.arguments.db_name, call.arguments.tbl_name)


def _of(owner: Table | Partition, table: Table) -> dict[str, ColumnStatistics]:
    return read_statistics(owner.properties.get(STATISTICS), table.columns_in_files)


def _chosen(statistics: Statistics, columns: Sequence[str] | None) -> list[Any]:
    """Returns the statistics of the columns, in their order, as far as there are any."""
    return [statistics[name].object for name in _lower(columns) if name in statistics]


def _lower(columns: Sequence[str] | None) -> list[str]:
    return list(dict.fromkeys(column.lower() for column in columns or ()))


def _changed_table(call: Call, name: str) -> Table:
    """Returns the newest state of a table that the client may change."""
    return call.snapshot.table(seen_table(call, name, is_write=True).name)


def _partition(call: Call, table: Table, name: str | None, is_write: bool = False) -> Partition:
    """Returns a partition by its name; its newest state for a change. Raises ``NoSuchObjectException``."""
    values = named_values(table, name)
    partition = call.snapshot.partition(table, values) if is_write else seen_partition(call, table, values)
    if partition is None:
        raise _NoSuchObject(message=f"The partition {name} of {table.name} cannot be found.")
    return partition


def get_table_statistics_req(call: Call) -> Any:
    inner, table = _requested(call)
    return structure("TableStatsResult")(tableStats=_chosen(_of(table, table), inner.arguments.colNames))


def get_partitions_statistics_req(call: Call) -> Any:
    """Returns the statistics by the names that the client gives. Partitions without any are left out. One read for
    each partition.
    """
    inner, table = _requested(call)
    found = {name: _chosen(of, inner.arguments.colNames) for name, of in _of_partitions(inner, table).items()}
    return structure("PartitionsStatsResult")(partStats={name: objects for name, objects in found.items() if objects})


def _of_partitions(call: Call, table: Table) -> dict[str, dict[str, ColumnStatistics]]:
    found: dict[str, dict[str, ColumnStatistics]] = {}
    for name in call.arguments.partNames or ():
        partition = seen_partition(call, table, named_values(table, name))
        if partition is not None:
            found[name] = _of(partition, table)
    return found


def get_table_column_statistics(call: Call) -> Any:
    table = seen_table(call, _name(call))
    return _single(call, table, _of(table, table), None)


def get_partition_column_statistics(call: Call) -> Any:
    table = seen_table(call, _name(call))
    return _single(call, table, _of(_partition(call, table, call.arguments.part_name), table), call.arguments.part_name)


def _single(call: Call, table: Table, statistics: Statistics, partition: str | None) -> Any:
    column = statistics.get(str(call.arguments.col_name or "").lower())
    if column is None:
        raise _NoSuchObject(message=f"{table.name} has no statistics of the column {call.arguments.col_name}.")
    description = structure("ColumnStatisticsDesc")(
        isTblLevel=partition is None,
        dbName=database_name(call.arguments.db_name),
        tableName=str(call.arguments.tbl_name).lower(),
        partName=partition,
        lastAnalyzed=column.analyzed,
        catName=CATALOG,
    )
    return structure("ColumnStatistics")(statsDesc=description, statsObj=[column.object])


def update_table_column_statistics(call: Call) -> bool:
    return _update(call, [call.arguments.stats_obj], is_table=True)


def update_partition_column_statistics(call: Call) -> bool:
    return _update(call, [call.arguments.stats_obj], is_table=False)


def set_aggr_stats_for(call: Call) -> bool:
    """Sets the statistics of a table, or of several of its partitions, at once."""
    request = call.arguments.request
    given = request.colStats or ()
    if not given:
        return True
    is_table = bool(given[0].statsDesc and given[0].statsDesc.isTblLevel)
    inner = replace(call, arguments=request)
    if is_table and len(given) > 1:
        raise _InvalidInput(message="The statistics of a table are given more than once.")
    return _update(inner, given, is_table, bool(request.needMerge))


def _update(call: Call, given: Sequence[Any], is_table: bool, merge: bool = False) -> bool:
    """Adds statistics to the statistics of other columns. With ``merge``, they are combined with the statistics of the
    same columns.
    """
    call.check_writable()
    descriptions = [one.statsDesc for one in given]
    if any(description is None or bool(description.isTblLevel) != is_table for description in descriptions):
        raise _InvalidInput(message="The statistics do not say whether they are those of a table or of a partition.")
    names = {table_name(description.dbName, description.tableName).lower() for description in descriptions}
    if len(names) > 1:
        raise _InvalidInput(message="The statistics belong to several tables.")
    with _CHANGES:
        table = _changed_table(call, names.pop())
        changed: dict[bytes | None, dict[str, ColumnStatistics]] = {}
        for one, description in zip(given, descriptions, strict=True):
            owner = table if is_table else _partition(call, table, description.partName, is_write=True)
            analyzed = description.lastAnalyzed or int(call.now)
            new = given_statistics(one.statsObj, table.columns_in_files, table.name, analyzed)
            key = None if isinstance(owner, Table) else owner.key
            before = changed.get(key, _of(owner, table))
            changed[key] = {**before, **(_merged_with(before, new) if merge else new)}
        _commit(call, table, changed)
    return True


def _merged_with(before: Statistics, new: Statistics) -> dict[str, ColumnStatistics]:
    return {
        name: replace(column, object=merged([before[name].object, column.object])) if name in before else column
        for name, column in new.items()
    }


def _commit(call: Call, table: Table, changed: Mapping[bytes | None, Statistics]) -> None:
    """Commits the statistics of a table (``None``), or of partitions by their keys."""
    alterations: list[PartitionAlteration] = []
    for key, statistics in changed.items():
        new = {STATISTICS: statistics_text(statistics)} if statistics else {}
        removed = () if statistics else (STATISTICS,)
        if key is None:
            return call.commit([AlterTable(table, new, removed)])
        alterations.append(PartitionAlteration(key, None, new, removed))
    return call.commit([AlterPartitions(table, tuple(alterations))] if alterations else [])


def delete_table_column_statistics(call: Call) -> bool:
    with _CHANGES:
        table = _changed_table(call, _name(call))
        return _delete(call, table, None, _of(table, table))


def delete_partition_column_statistics(call: Call) -> bool:
    with _CHANGES:
        table = _changed_table(call, _name(call))
        partition = _partition(call, table, call.arguments.part_name, is_write=True)
        return _delete(call, table, partition.key, _of(partition, table))


def _delete(call: Call, table: Table, key: bytes | None, before: Statistics) -> bool:
    """Removes the statistics of a column; of all if the client names none."""
    name = str(call.arguments.col_name or "").lower()
    if not before or (name and name not in before):
        raise _NoSuchObject(message=f"{table.name} has no such column statistics.")
    _commit(call, table, {key: {column: of for column, of in before.items() if name and column != name}})
    return True


def get_aggr_stats_for(call: Call) -> Any:
    """Returns statistics over partitions, and the number of the partitions that have statistics of all the columns.

    A column's statistics cover the partitions that have them. One read for each partition.
    """
    inner, table = _requested(call)
    columns = _lower(inner.arguments.colNames)
    partitions = list(_of_partitions(inner, table).values())
    complete = sum(1 for of in partitions if all(column in of for column in columns))
    parts = {column: [of[column].object for of in partitions if column in of] for column in columns}
    objects = [merged(found) for found in parts.values() if found] if complete and columns else []
    return structure("AggrStats")(colStats=objects, partsFound=complete if columns else 0)


HANDLERS: Handlers = {
    "get_table_statistics_req": get_table_statistics_req,
    "get_partitions_statistics_req": get_partitions_statistics_req,
    "get_table_column_statistics": get_table_column_statistics,
    "get_partition_column_statistics": get_partition_column_statistics,
    "update_table_column_statistics": update_table_column_statistics,
    "update_partition_column_statistics": update_partition_column_statistics,
    "delete_table_column_statistics": delete_table_column_statistics,
    "delete_partition_column_statistics": delete_partition_column_statistics,
    "get_aggr_stats_for": get_aggr_stats_for,
    "set_aggr_stats_for": set_aggr_stats_for,
}
