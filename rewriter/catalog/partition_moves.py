"""RENAME and EXCHANGE PARTITION as complete operations: their conditions, the commit, and directories of external
tables.

For a managed table only rows of the catalog change, in one commit. Files stay in the directories of their writes; the
catalog stores their partition values. For an external table the default directories move (``directory_moves``). A
partition with its own location keeps it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit.move_changes import already_exist
from rewriter.catalog.commit.transaction import Writer
from rewriter.catalog.keys import directory_moves
from rewriter.catalog.keys.directory_moves import DirectoryMoves, directory
from rewriter.catalog.keys.encoding import prefix_of
from rewriter.catalog.keys.paths import default_directory, is_discovered, not_registered
from rewriter.catalog.keys.values import partition_name, require_canonical
from rewriter.catalog.model.changes import AlterTable, Change, MovePartitions, PartitionMove
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.temporary_views import session_of
from rewriter.data_formats import DATA_FORMATS
from rewriter.errors import (
    AnalysisError,
    CommitUnknownError,
    ConflictError,
    Error,
    NotSupportedError,
    partitions_not_found,
)

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Partition, PartitionValues, Table
    from rewriter.catalog.reading.snapshot import Snapshot

#: Begins a transaction.
Begin = Callable[[], Writer]


def existing_partition(snapshot: Snapshot, table: Table, values: PartitionValues) -> Partition:
    """Returns the partition with these canonical values.

    Raises ``AnalysisError`` PARTITIONS_NOT_FOUND 428FT, and ``NotSupportedError`` DISCOVERED_PARTITIONS if the table
    has no registered partitions.
    """
    if is_discovered(table):
        raise not_registered(table)
    partition = snapshot.partition(table, values)
    if partition is None:
        raise _not_found(table, values)
    return partition


def check_absent(snapshot: Snapshot, table: Table, values: PartitionValues) -> None:
    """Raises ``IntegrityError`` PARTITIONS_ALREADY_EXIST 428FT if a partition has these canonical values."""
    if snapshot.partition(table, values) is not None:
        raise already_exist(table, [values])


def rename(
    begin: Begin, begin_note: Begin | None, snapshot: Snapshot, table: Table, old: PartitionValues, new: PartitionValues
) -> None:
    """Gives a partition other values, in one commit of the transaction from ``begin``. The default directory of an
    external table's partition is also renamed, by means of a second transaction from ``begin_note``. If that is
    ``None``, the first one is a rehearsal: directories are checked, and stay.

    Raises the errors of ``existing_partition`` and ``check_absent``, ``DataError`` INVALID_TIME_PARTITION if a fact
    cannot read the new name, ``ConflictError`` if another transaction wrote either partition after the snapshot, and
    for external tables the errors of ``directory_moves``.
    """
    partition = existing_partition(snapshot, table, old)
    check_absent(snapshot, table, new)
    _move(begin, begin_note, snapshot, table, table, [(partition, new)], (), ())


def exchanged_partitions(
    snapshot: Snapshot, target: Table, source: Table, leading: PartitionValues
) -> tuple[Partition, ...]:
    """Returns the partitions with these leading values, which move from ``source`` into ``target``.

    Raises ``AnalysisError`` PARTITIONS_NOT_FOUND 428FT if there is none, and ``IntegrityError``
    PARTITIONS_ALREADY_EXIST 428FT if the target has one of them.
    """
    require_canonical(source.partition_columns[: len(leading)], leading)
    moved = snapshot.partitions(source, [_range(source, leading)])
    if not moved:
        raise _not_found(source, leading)
    moved_values = {partition.values for partition in moved}
    existing = snapshot.partitions(target, [_range(target, leading)])
    existing_values = [partition.values for partition in existing if partition.values in moved_values]
    if existing_values:
        raise already_exist(target, existing_values)
    return moved


def exchange(
    begin: Begin,
    begin_note: Begin | None,
    snapshot: Snapshot,
    target: Table,
    source: Table,
    prefixes: Sequence[PartitionValues],
) -> int:
    """Moves the partitions below each of the prefixes from one table into another, and returns their number. One commit
    of the transaction from ``begin``; ``begin_note`` is as in ``rename``.

    Raises the errors of ``check_alike``, ``exchanged_partitions`` and ``rename``, and ``ConflictError`` if another
    transaction wrote below a prefix in either table.
    """
    check_alike(target, source)
    # Prefixes may overlap: each partition moves once.
    moved = {
        partition.values: partition
        for leading in prefixes
        for partition in exchanged_partitions(snapshot, target, source, leading)
    }
    ranges = [merge_ranges(_range(table, leading) for leading in prefixes) for table in (source, target)]
    named = [(partition, values) for values, partition in moved.items()]
    _move(begin, begin_note, snapshot, source, target, named, *ranges)
    return len(moved)


def check_alike(target: Table, source: Table) -> None:
    """Raises ``AnalysisError`` if partitions of one table cannot be moved into the other.

    EXCHANGE_WITH_ITSELF; TABLES_INCOMPATIBLE_SCHEMAS (Hive's name) unless columns and partition columns have the same
    names and types in the same order, and the files have the same format; EXCHANGE_MANAGED_WITH_EXTERNAL;
    EXCHANGE_FROM_TEMPORARY if only the source is temporary; DISCOVERED_PARTITIONS.
    """
    if source.id == target.id:
        raise AnalysisError(
            f"The table {target.name} cannot exchange partitions with itself.",
            condition="EXCHANGE_WITH_ITSELF",
            object=target.name,
            hint="ALTER TABLE … PARTITION (…) RENAME TO PARTITION (…) gives a partition another name.",
        )
    for table in (target, source):
        if is_discovered(table):
            raise not_registered(table)
    if not source.external and session_of(source.name) not in (None, session_of(target.name)):
        raise NotSupportedError(
            f"The files of the temporary table {source.name} are removed when its session is closed, "
            f"but {target.name} is permanent.",
            condition="EXCHANGE_FROM_TEMPORARY",
            object=source.name,
            hint=f"INSERT INTO {target.name} … SELECT … FROM {source.name} copies them.",
        )
    differences = [
        *_differences(
            "column", source.columns, target.columns, exactly=DATA_FORMATS[source.format].names_are_case_sensitive
        ),
        *_differences("partition column", source.partition_columns, target.partition_columns),
    ]
    if [column.transform for column in source.partition_columns] != [c.transform for c in target.partition_columns]:
        differences.append("a hidden partition column of one is none of the other")
    if source.format != target.format:
        differences.append(f"the format is {source.format} in the source and {target.format} in the target")
    names_in_files = [
        ([column.stored_name.lower() for column in table.columns], set(map(str.lower, table.dropped_columns)))
        for table in (source, target)
    ]
    if names_in_files[0] != names_in_files[1]:
        differences.append("columns of one were renamed or dropped, and their files have other names for them")
    if source.file_options != target.file_options:
        differences.append("their files have other separators or options")
    if differences:
        raise AnalysisError(
            f"The tables {source.name} and {target.name} have incompatible schemas: {differences[0]}.",
            condition="TABLES_INCOMPATIBLE_SCHEMAS",
            sqlstate="42000",
            object=source.name,
            hint=f"Columns must agree in name, type and order; INSERT INTO {target.name} … SELECT … converts.",
        )
    if source.external != target.external:
        kinds = [("external" if table.external else "managed") for table in (source, target)]
        raise NotSupportedError(
            f"{source.name} is {kinds[0]} and {target.name} {kinds[1]}: moving between them is not atomic.",
            condition="EXCHANGE_MANAGED_WITH_EXTERNAL",
            object=source.name,
            hint=f"INSERT INTO {target.name} … SELECT …, then ALTER TABLE {source.name} DROP PARTITION (…).",
        )


def finish(begin: Begin, table: Table) -> None:
    """Finishes the directory moves that a table notes: renames the remaining directories and deletes the notes.

    Raises ``OperationalError`` DIRECTORY_MOVE_PENDING if a directory cannot be moved; the notes then stay.
    """
    pending_moves = directory_moves.pending(table)
    for moves in pending_moves:
        directory_moves.carry_out(moves)
    if pending_moves:
        _forget(begin, [table], pending_moves)


def _move(
    begin: Begin,
    begin_note: Begin | None,
    snapshot: Snapshot,
    source: Table,
    target: Table,
    moved_partitions: Sequence[tuple[Partition, PartitionValues]],
    source_ranges: Sequence[KeyRange],
    target_ranges: Sequence[KeyRange],
) -> None:
    path_pairs = [
        (directory(source, partition), default_directory(target, values))
        for partition, values in moved_partitions
        if source.external and not _is_custom(source, partition)
    ]
    directory_moves.check_unshared(path_pairs, _readers(snapshot, (source, target)))
    moved = tuple(
        PartitionMove(partition.key, values, partition.location if _is_custom(source, partition) else None)
        for partition, values in moved_partitions
    )
    change = MovePartitions(source, target, moved, tuple(source_ranges), tuple(target_ranges))
    if begin_note is None:
        directory_moves.check_movable(path_pairs)
        _commit(begin, [change])
        return
    moves = directory_moves.prepare(path_pairs)
    if moves is None:
        _commit(begin, [change])
        return
    tables = [target] if source.id == target.id else [target, source]
    with _unmarked_on_failure(moves):
        _commit(begin, [change, *(AlterTable(table, {moves.key: moves.text}) for table in tables)])
    directory_moves.carry_out(moves)
    _forget(begin_note, tables, [moves])


@contextlib.contextmanager
def _unmarked_on_failure(moves: DirectoryMoves) -> Iterator[None]:
    try:
        yield
    except CommitUnknownError:
        raise
    except Error:
        # Only one of our errors guarantees that nothing was committed; otherwise the markers must stay.
        directory_moves.unmark(moves)
        raise


def _commit(begin: Begin, changes: Sequence[Change]) -> None:
    with begin() as transaction:
        transaction.commit(changes)


def _forget(begin: Begin, tables: Sequence[Table], pending_moves: Sequence[DirectoryMoves]) -> None:
    """Deletes notes, then the markers. While a note exists, its marker states where the data is."""
    property_names = tuple(moves.key for moves in pending_moves)
    for table in tables:
        # A table that was dropped in the meantime has no notes.
        with contextlib.suppress(ConflictError):
            _commit(begin, [AlterTable(table, unset=property_names)])
    for moves in pending_moves:
        directory_moves.unmark(moves)


def _is_custom(table: Table, partition: Partition) -> bool:
    return partition.location not in (None, default_directory(table, partition.values))


def _readers(snapshot: Snapshot, tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Returns the readers of each directory, except those partitions of these tables that are in their default
    directories.

    O(partitions of all external tables).
    """
    for table in snapshot.tables():
        if not table.external:
            continue
        if all(table.id != moved_table.id for moved_table in tables):
            yield f"the table {table.name}", table.location
        for partition in snapshot.lookup(table, None).partitions():
            if partition.location is not None and _is_custom(table, partition):
                yield f"{partition_name(table.partition_columns, partition.values)} of {table.name}", partition.location


def _differences(
    kind: str, source_columns: Sequence[Column], target_columns: Sequence[Column], exactly: bool = False
) -> Iterator[str]:
    if len(source_columns) != len(target_columns):
        yield f"{len(source_columns)} {kind}s in the source and {len(target_columns)} in the target"
        return
    for number, (source_column, target_column) in enumerate(zip(source_columns, target_columns, strict=True), start=1):
        has_same_name = source_column.name == target_column.name or (
            not exactly and source_column.name.lower() == target_column.name.lower()
        )
        if not has_same_name or source_column.type != target_column.type:
            yield (
                f"{kind} {number} is {source_column.name} {source_column.type.upper()} in the source and "
                f"{target_column.name} {target_column.type.upper()} in the target"
            )


def _range(table: Table, leading: PartitionValues) -> KeyRange:
    return KeyRange.of_prefix(prefix_of(table.id, [column.type for column in table.partition_columns], leading))


def _not_found(table: Table, values: PartitionValues) -> AnalysisError:
    named_values = zip(table.partition_columns, values, strict=False)
    spec = ", ".join(f"{column.name} = {'NULL' if value is None else value}" for column, value in named_values)
    return partitions_not_found(f"The partition(s) PARTITION ({spec})", table.name)
