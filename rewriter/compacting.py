"""ALTER TABLE … COMPACT: the files of a partition become one, or few, with the same rows, in a transaction of its own.

An engine reads the files and writes them anew, all partitions in one query, in which a number stands for the
partition's values: these are names, and never go through an engine. Readers see the old files or the new ones, both of
one content; the old ones are VACUUM's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from rewriter.catalog.changes import CompactedPartition, CompactPartitions
from rewriter.catalog.models import Column, DataFile, Partition, Table
from rewriter.catalog.values import partition_name
from rewriter.context import Context
from rewriter.errors import Error, NotSupportedError, OperationalError
from rewriter.exec.engine import EngineQuery, Relation, ScanFile, Write, WrittenFile
from rewriter.grammar import statements as s
from rewriter.grammar.render import quote_name
from rewriter.heartbeats import heartbeat
from rewriter.known import files_of
from rewriter.lookups import not_found
from rewriter.managed import make_folder, removed_on_failure, removed_on_refusal
from rewriter.result import Result, Row
from rewriter.showing import listing
from rewriter.specs import read_spec, read_static, require_partitioned

_PADDED = re.compile(r"(var)?char\(\d+\)")
_COLUMNS = (
    Column("partition", "string"),
    Column("files_before", "bigint"),
    Column("files_after", "bigint"),
    Column("bytes", "bigint"),
)


def compact(statement: s.Compact, context: Context) -> Result:
    """ALTER TABLE t [PARTITION (…)] COMPACT: rows of (partition, files_before, files_after, bytes), in key order.

    Partitions of one file are left alone, and those that an engine would write into as many again. Raises
    COMPACT_EXTERNAL_TABLE 0A000, PARTITIONS_NOT_FOUND 428FT where the spec names nothing, ``ConflictError`` where
    somebody replaced what was read, MANAGED_FILE_CHANGED where files do not hold the rows that were written.
    """
    table = context.table(statement.table)
    if table.external:
        raise NotSupportedError(
            f"The files of the external table {table.name} are their owner's: COMPACT does not replace them.",
            condition="COMPACT_EXTERNAL_TABLE",
            sqlstate="0A000",
            position=statement.table.span,
            object=table.name,
            hint="INSERT OVERWRITE … SELECT … writes its partitions anew.",
        )
    chosen = [one for one in _named(table, statement, context) if one.files > 1]
    if not chosen:
        return listing("COMPACT", _COLUMNS, [])
    try:
        return listing("COMPACT", _COLUMNS, _compact(table, chosen, context))
    except Error as error:
        raise error.at(statement.table.span) from None


def _named(table: Table, statement: s.Compact, context: Context) -> tuple[Partition, ...]:
    if statement.partition is None:
        return context.snapshot.satisfying(table, None)
    require_partitioned(table, statement.partition[0].span)
    static = read_spec(table, statement.partition).static
    found = context.snapshot.satisfying(table, read_static(table, static))
    if not found:
        raise not_found(table, statement.partition)
    return found


def _compact(table: Table, chosen: Sequence[Partition], context: Context) -> list[Row]:
    files = files_of(table, chosen, context)
    with context.catalog.begin(context.snapshot) as transaction:
        write_id = transaction.write_id(table)
        folder = make_folder(table, transaction)
        with removed_on_failure(folder):
            with heartbeat(transaction):
                written = _written(table, chosen, files, folder, context)
            compacted = [
                CompactedPartition(one.key, tuple(file.path for file in files[one.key]), written[one.key])
                for one in chosen
                if 0 < len(written[one.key]) < len(files[one.key])
            ]
            _remove([file for one in chosen for file in written[one.key]], compacted)
        with removed_on_refusal(folder):
            if compacted:
                transaction.commit([CompactPartitions(table, write_id, tuple(compacted))])
    by_key = {one.key: one.values for one in chosen}
    return [
        (
            partition_name(table.partition_columns, by_key[one.key]),
            len(one.replaced),
            len(one.files),
            sum(file.bytes for file in one.files),
        )
        for one in compacted
    ]


def _written(
    table: Table,
    chosen: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    folder: str,
    context: Context,
) -> dict[bytes, tuple[DataFile, ...]]:
    """What the engine wrote of each partition, under its name."""
    taken = {column.name.lower() for column in table.all_columns}
    free = next(name for name in (f"rw_number_{i}" for i in range(len(taken) + 1)) if name not in taken)
    number = Column(free, "int")
    scanned = tuple(
        ScanFile(file.path, (str(place),), file.bytes) for place, one in enumerate(chosen) for file in files[one.key]
    )
    name, columns = f"rw_{next(context.serial)}_compacted", tuple(map(_plain, table.columns))
    relation = Relation(name, table.format, columns, (number,), scanned, grown=True)
    items = ", ".join(quote_name(column.name) for column in (*columns, number))
    query = EngineQuery(f"SELECT {items} FROM {name}", (relation,))
    found: dict[bytes, list[WrittenFile]] = {one.key: [] for one in chosen}
    for file in context.engine().write(query, Write(folder, table.format, columns, (number,))):
        (place,) = file.values
        found[chosen[int(place or 0)].key].append(file)
    for one in chosen:
        _check_rows(table, one, files[one.key], found[one.key])
    return {one.key: tuple(_placed(table, one, folder, found[one.key])) for one in chosen}


def _plain(column: Column) -> Column:
    """A column as its files have it: what pads a CHAR, or refuses a long VARCHAR, is for new rows."""
    return replace(column, type="string") if _PADDED.fullmatch(column.type) else column


def _check_rows(table: Table, one: Partition, before: Sequence[DataFile], after: Sequence[WrittenFile]) -> None:
    stored, found = [file.rows for file in before], [file.rows for file in after]
    read, written = (sum(count or 0 for count in counts) for counts in (stored, found))
    if None not in (*stored, *found) and read != written:
        raise OperationalError(
            f"The files of {partition_name(table.partition_columns, one.values) or table.name} hold {written:,} rows, "
            f"and were written with {read:,}: nothing was compacted.",
            condition="MANAGED_FILE_CHANGED",
            object=table.name,
            hint="Somebody has changed or removed them from outside; write the partition anew.",
        )


def _placed(table: Table, one: Partition, folder: str, written: Sequence[WrittenFile]) -> list[DataFile]:
    """The files where an INSERT would have put them, so that engines read the values in their paths."""
    place = os.path.join(folder, partition_name(table.partition_columns, one.values))
    os.makedirs(place, exist_ok=True)
    found = []
    for file in written:
        path = os.path.join(place, os.path.basename(file.path))
        os.rename(file.path, path)
        with suppress(OSError):  # It holds another file.
            os.rmdir(os.path.dirname(file.path))
        found.append(DataFile(path, file.rows, file.bytes))
    return found


def _remove(written: Sequence[DataFile], compacted: Sequence[CompactedPartition]) -> None:
    """Removes what is left over: files of partitions that stay as they are."""
    kept = {file.path for one in compacted for file in one.files}
    for file in written:
        if file.path not in kept:
            os.remove(file.path)
