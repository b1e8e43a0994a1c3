"""EXPLAIN of the statements that change partitions: what each would do to the catalog and to directories.

The statement runs as it is, with all its checks, but its changes are rehearsed (``Catalog.rehearse``): the catalog
makes them in a database transaction that it rolls back. So EXPLAIN raises the errors that the statement would raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.keys.directory_moves import directory
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model import changes as c
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.errors import InternalError
from rewriter.grammar.families import deletes, maintenance, partitions, storage
from rewriter.grammar.families.queries import ExplainChange
from rewriter.runtime.statement_runners import RUNNERS, runs
from rewriter.runtime.transaction_errors import not_in_transaction
from rewriter.statements.partitions import add_drop, delete_rows, rename_exchange, repair_table, storage_location
from rewriter.statements.query.explain import explain_query

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Partition, Table
    from rewriter.grammar.statements import Statement
    from rewriter.runtime.result import Result
    from rewriter.runtime.statement_context import Context

#: The most partitions that are shown of each change.
_PARTITIONS = 50

_RUN: dict[type[Statement], Callable[..., Result]] = {
    partitions.AddPartitions: add_drop.add_partitions,
    partitions.DropPartitions: add_drop.drop_partitions,
    partitions.RenamePartition: rename_exchange.rename_partition,
    partitions.ExchangePartitions: rename_exchange.exchange_partitions,
    partitions.Truncate: rename_exchange.truncate,
    deletes.Delete: delete_rows.delete_from,
    partitions.Touch: rename_exchange.touch,
    storage.SetLocation: storage_location.set_location,
    storage.SetFileFormat: storage_location.set_file_format,
    storage.SetSerde: storage_location.set_serde,
    maintenance.RepairTable: repair_table.repair_table,
}


@runs(ExplainChange, in_transaction=True)
def explain_change(statement: ExplainChange, context: Context) -> Result:
    """Returns rows of one column: the partitions that the statement would change, with their files or directories.

    Raises the errors that the statement would raise now. Costs what the statement costs; changes nothing.
    """
    kind = type(statement.statement)
    if context.transaction is not None and not RUNNERS[kind].in_transaction:
        raise not_in_transaction("This statement commits automatically").at(statement.statement.span)
    changes: list[c.Change] = []
    rehearsed = replace(context, rehearsed=changes)
    result = _RUN[kind](statement.statement, rehearsed)
    lines = [line for change in changes for line in _described(change, context)]
    if isinstance(statement.statement, maintenance.RepairTable):
        lines += [
            f"{status}: {location}: {reason}"
            for _, status, location, reason in result.rows()
            if status in (repair_table.AMBIGUOUS, repair_table.IGNORED)
        ]
    explanation = explain_query(lines or ["nothing changes in the catalog or on disk"], context)
    explanation.warnings = result.warnings
    return explanation


def _described(change: c.Change, context: Context) -> list[str]:
    match change:
        case c.AddPartitions():
            return _added(change, context)
        case c.DropPartitions():
            existing = _existing(change.table, change.keys, context)
            fate = "their directories stay" if change.table.external else _amount(existing)
            return _listed(change.table, len(existing), "dropped", fate, (_content(change.table, p) for p in existing))
        case c.TruncatePartitions():
            existing = _existing(change.table, change.keys, context)
            lines = (_content(change.table, partition) for partition in existing)
            return _listed(change.table, len(existing), "emptied", _amount(existing), lines)
        case c.MovePartitions():
            return _moved(change, context)
        case c.AlterPartitions():
            return _altered(change, context)
        case c.AlterTable():
            name = change.table.name
            place = [f"{name}: the location becomes {change.location}; no file is moved"] if change.location else []
            return [*place, *(f"{name}: {key} = {value}" for key, value in change.set.items())]
        case c.NoteFiles():
            noted = len(change.partitions)
            return [f"{change.table.name}: the files of {_counted(noted)} are compared with those that rollups include"]
        case _:
            raise InternalError(f"the change {type(change).__name__} has no description")


def _added(change: c.AddPartitions, context: Context) -> list[str]:
    table = change.table
    types = [column.type for column in table.partition_columns]
    writes = {encode(table.id, types, write.values): write for write in change.partitions}
    existing = {partition.key for partition in _existing(table, list(writes), context)}
    added = [write for key, write in writes.items() if key not in existing]
    lines = (
        partition_name(table.partition_columns, write.values)
        + (f": {write.location or default_directory(table, write.values)}" if table.external else "")
        for write in added
    )
    kept = f"{_counted(len(existing))} {_are(len(existing))} kept as before" if existing else ""
    return _listed(table, len(added), "added", kept, lines)


def _moved(change: c.MovePartitions, context: Context) -> list[str]:
    source, target = change.source, change.target
    existing = {p.key: p for p in _existing(source, [move.key for move in change.moves], context)}
    lines: list[str] = []
    for move in change.moves[:_PARTITIONS]:
        partition = existing[move.key]
        old, new = (partition_name(source.partition_columns, values) for values in (partition.values, move.values))
        line = f"  {old}" + (f" becomes {new}" if source.id == target.id else "")
        if source.external:
            place, new_place = directory(source, partition), move.location or default_directory(target, move.values)
            line += f": {place} stays" if place == new_place else f": {place} is renamed to {new_place}"
        lines.append(line)
    count = len(change.moves)
    what = "gets another name" if source.id == target.id else f"moved here from {source.name}"
    head = f"{target.name}: {_counted(count)} {what if source.id == target.id else f'{_are(count)} {what}'}"
    return [f"{head}{'' if source.external else '; no file is moved'}", *lines, *_rest(count)]


def _altered(change: c.AlterPartitions, context: Context) -> list[str]:
    existing = {p.key: p for p in _existing(change.table, [a.key for a in change.alterations], context)}
    lines: list[str] = []
    for alteration in change.alterations[:_PARTITIONS]:
        name = partition_name(change.table.partition_columns, existing[alteration.key].values)
        if alteration.location is not None:
            lines.append(f"{change.table.name}: {name} is read from {alteration.location}; no file is moved")
        lines += [f"{change.table.name}: {name}: {key} = {value}" for key, value in alteration.properties.items()]
    return [*lines, *_rest(len(change.alterations))]


def _existing(table: Table, keys: Sequence[bytes], context: Context) -> Sequence[Partition]:
    return context.snapshot.partitions(table, merge_ranges(map(KeyRange.of_key, keys))) if keys else ()


def _listed(table: Table, count: int, what: str, fate: str, lines: Iterable[str]) -> list[str]:
    head = f"{table.name}: {_counted(count)} {_are(count)} {what}"
    shown = [f"  {line}" for _, line in zip(range(_PARTITIONS), lines, strict=False)]
    return [f"{head}; {fate}" if fate else head, *shown, *_rest(count)]


def _content(table: Table, partition: Partition) -> str:
    name = partition_name(table.partition_columns, partition.values) or "(the whole table)"
    if table.external:
        return f"{name}: {directory(table, partition)}"
    return f"{name}: {_files(partition.files, partition.bytes)}"


def _amount(partitions: Sequence[Partition]) -> str:
    files = _files(sum(p.files for p in partitions), sum(p.bytes for p in partitions))
    return f"{files} leave the table, kept on disk until VACUUM"


def _files(count: int, size: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'} ({size:,} bytes)"


def _rest(count: int) -> list[str]:
    return [f"  and {count - _PARTITIONS:,} more"] if count > _PARTITIONS else []


def _counted(count: int) -> str:
    return f"{count:,} partition{'' if count == 1 else 's'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
