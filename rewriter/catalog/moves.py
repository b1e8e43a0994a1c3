"""RENAME and EXCHANGE PARTITION as whole operations: what must hold, the commit, and directories of external tables.

Of a managed table only rows of the catalog change, in one commit: a file stays where its write put it, and the catalog
says which values it has. Of an external one the default directories move, as ``directories`` says; a partition with a
location of its own keeps that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog import directories
from rewriter.catalog.changes import AlterTable, Change, MovePartitions, PartitionMove
from rewriter.catalog.directories import DirectoryMoves, default_directory, directory
from rewriter.catalog.keys import KeyRange, merged, prefix_of
from rewriter.catalog.models import Column, Partition, PartitionValues, Table
from rewriter.catalog.move_changes import already_exist
from rewriter.catalog.partition_paths import is_discovered, not_registered
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.temporary import session_of
from rewriter.catalog.values import partition_name, require_canonical
from rewriter.errors import AnalysisError, CommitUnknownError, ConflictError, Error, NotSupportedError

if TYPE_CHECKING:
    from rewriter.catalog.store import Catalog
    from rewriter.catalog.transaction import Writer

#: Begins the transaction of a move.
Begin = Callable[[], "Writer"]

#: Formats whose files name columns in letters that every reader takes as they are.
_NAMED_IN_FILES = ("csv", "json")


def existing(snapshot: Snapshot, table: Table, values: PartitionValues) -> Partition:
    """The partition of these canonical values; ``AnalysisError`` PARTITIONS_NOT_FOUND 428FT.

    ``NotSupportedError`` DISCOVERED_PARTITIONS where none is registered.
    """
    if is_discovered(table):
        raise not_registered(table)
    found = snapshot.partition(table, values)
    if found is None:
        raise _not_found(table, values)
    return found


def check_absent(snapshot: Snapshot, table: Table, values: PartitionValues) -> None:
    """Raises IntegrityError PARTITIONS_ALREADY_EXIST 428FT where there is a partition of these canonical values."""
    if snapshot.partition(table, values) is not None:
        raise already_exist(table, [values])


def rename(
    catalog: Catalog, begin: Begin, snapshot: Snapshot, table: Table, old: PartitionValues, new: PartitionValues
) -> None:
    """Gives a partition other values. One commit, of what ``begin`` begins; of an external table's, its default
    directory is renamed, too.

    Raises what ``existing`` and ``check_absent`` raise, ``DataError`` INVALID_TIME_PARTITION where a fact cannot read
    the new name, ``ConflictError`` where another wrote either partition since the snapshot, and of external tables what
    ``directories`` raises.
    """
    partition = existing(snapshot, table, old)
    check_absent(snapshot, table, new)
    _move(catalog, begin, snapshot, table, table, [(partition, new)], (), ())


def exchanged(snapshot: Snapshot, target: Table, source: Table, leading: PartitionValues) -> tuple[Partition, ...]:
    """The partitions with these leading values, which move from ``source`` into ``target``.

    ``AnalysisError`` PARTITIONS_NOT_FOUND 428FT where there is none, IntegrityError PARTITIONS_ALREADY_EXIST 428FT
    where the target has one of them.
    """
    require_canonical(source.partition_columns[: len(leading)], leading)
    found = snapshot.partitions(source, [_range(source, leading)])
    if not found:
        raise _not_found(source, leading)
    names = {one.values for one in found}
    taken = [one.values for one in snapshot.partitions(target, [_range(target, leading)]) if one.values in names]
    if taken:
        raise already_exist(target, taken)
    return found


def exchange(
    catalog: Catalog,
    begin: Begin,
    snapshot: Snapshot,
    target: Table,
    source: Table,
    prefixes: Sequence[PartitionValues],
) -> int:
    """Moves the partitions below each of the prefixes from one table into another, and answers how many. One commit,
    of what ``begin`` begins.

    Raises what ``check_alike`` and ``exchanged`` raise, ``ConflictError`` where another wrote below a prefix in either
    table, and what ``rename`` raises besides.
    """
    check_alike(target, source)
    found = {one.values: one for leading in prefixes for one in exchanged(snapshot, target, source, leading)}
    ranges = [merged(_range(table, leading) for leading in prefixes) for table in (source, target)]
    _move(catalog, begin, snapshot, source, target, [(one, one.values) for one in found.values()], *ranges)
    return len(found)


def check_alike(target: Table, source: Table) -> None:
    """Raises ``AnalysisError`` where partitions of one table cannot be those of another.

    EXCHANGE_WITH_ITSELF; TABLES_INCOMPATIBLE_SCHEMAS (Hive's name) unless columns and partition columns have the same
    names and types in the same order, and the files one format; EXCHANGE_MANAGED_WITH_EXTERNAL;
    EXCHANGE_FROM_TEMPORARY for files that end with a session, where the target does not; DISCOVERED_PARTITIONS.
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
            f"The files of the temporary table {source.name} go when its session is closed, and {target.name} stays.",
            condition="EXCHANGE_FROM_TEMPORARY",
            object=source.name,
            hint=f"INSERT INTO {target.name} … SELECT … FROM {source.name} copies them.",
        )
    differences = [
        *_differences("column", source.columns, target.columns, exactly=source.format in _NAMED_IN_FILES),
        *_differences("partition column", source.partition_columns, target.partition_columns),
    ]
    if source.format != target.format:
        differences.append(f"the format is {source.format} there and {target.format} here")
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


def finish(catalog: Catalog, table: Table) -> None:
    """Brings the moves of directories that a table notes to their end: renames what was left, takes the notes away.

    Raises ``OperationalError`` DIRECTORY_MOVE_PENDING where a directory cannot be moved; the notes then stay.
    """
    noted = directories.pending(table)
    for moves in noted:
        directories.carry_out(moves)
    if noted:
        _forget(catalog, [table], noted)


def _move(
    catalog: Catalog,
    begin: Begin,
    snapshot: Snapshot,
    source: Table,
    target: Table,
    found: Sequence[tuple[Partition, PartitionValues]],
    source_ranges: Sequence[KeyRange],
    target_ranges: Sequence[KeyRange],
) -> None:
    places = [
        (directory(source, one), default_directory(target, values))
        for one, values in found
        if source.external and not _is_custom(source, one)
    ]
    directories.check_unshared(places, _readers(snapshot, (source, target)))
    moved = tuple(
        PartitionMove(one.key, values, one.location if _is_custom(source, one) else None) for one, values in found
    )
    change = MovePartitions(source, target, moved, tuple(source_ranges), tuple(target_ranges))
    moves = directories.prepare(places)
    if moves is None:
        _commit(begin, [change])
        return
    tables = [target] if source.id == target.id else [target, source]
    with _unmarked_on_failure(moves):
        _commit(begin, [change, *(AlterTable(table, {moves.key: moves.text}) for table in tables)])
    directories.carry_out(moves)
    _forget(catalog, tables, [moves])


@contextlib.contextmanager
def _unmarked_on_failure(moves: DirectoryMoves) -> Iterator[None]:
    try:
        yield
    except CommitUnknownError:
        raise
    except Error:
        # Only an error of ours says surely that nothing was committed; otherwise the markers must stay.
        directories.unmark(moves)
        raise


def _commit(begin: Begin, changes: Sequence[Change]) -> None:
    with begin() as transaction:
        transaction.commit(changes)


def _forget(catalog: Catalog, tables: Sequence[Table], noted: Sequence[DirectoryMoves]) -> None:
    """Takes notes away, then the markers: as long as a note is there, its marker says where the data is."""
    gone = tuple(moves.key for moves in noted)
    for table in tables:
        # A table that was dropped meanwhile has no notes any more.
        with contextlib.suppress(ConflictError):
            _commit(catalog.begin, [AlterTable(table, unset=gone)])
    for moves in noted:
        directories.unmark(moves)


def _is_custom(table: Table, partition: Partition) -> bool:
    return partition.location not in (None, default_directory(table, partition.values))


def _readers(snapshot: Snapshot, own: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Who reads which directory besides the partitions of these tables that lie in their default ones.

    O(partitions of all external tables).
    """
    for table in snapshot.tables():
        if not table.external:
            continue
        if all(table.id != one.id for one in own):
            yield f"the table {table.name}", table.location
        for partition in snapshot.lookup(table, None).partitions():
            if partition.location is not None and _is_custom(table, partition):
                yield f"{partition_name(table.partition_columns, partition.values)} of {table.name}", partition.location


def _differences(kind: str, theirs: Sequence[Column], ours: Sequence[Column], exactly: bool = False) -> Iterator[str]:
    if len(theirs) != len(ours):
        yield f"{len(theirs)} {kind}s there and {len(ours)} here"
        return
    for number, (one, other) in enumerate(zip(theirs, ours, strict=True), start=1):
        same = one.name == other.name or (not exactly and one.name.lower() == other.name.lower())
        if not same or one.type != other.type:
            yield f"{kind} {number} is {one.name} {one.type.upper()} there and {other.name} {other.type.upper()} here"


def _range(table: Table, leading: PartitionValues) -> KeyRange:
    return KeyRange.of_prefix(prefix_of(table.id, [column.type for column in table.partition_columns], leading))


def _not_found(table: Table, values: PartitionValues) -> AnalysisError:
    named = zip(table.partition_columns, values, strict=False)
    spec = ", ".join(f"{column.name} = {'NULL' if value is None else value}" for column, value in named)
    return AnalysisError(
        f"The partition(s) PARTITION ({spec}) cannot be found in the table {table.name}.",
        condition="PARTITIONS_NOT_FOUND",
        sqlstate="428FT",
        object=table.name,
        hint=f"SHOW PARTITIONS {table.name} lists them.",
    )
