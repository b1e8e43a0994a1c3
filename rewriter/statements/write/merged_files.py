"""Merges the files of partitions: other files with the same rows, in a transaction of its own.

An engine reads the files and writes new ones, all partitions in one query. In it a number represents the partition's
values, because these are names and must not go through an engine. Readers see either the old files or the new ones,
both with the same content. VACUUM removes the old ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import CompactedPartition, CompactPartitions
from rewriter.catalog.model.objects import Column, DataFile, Partition, Table
from rewriter.directory_changes import make_directory, move_file, remove_empty, remove_file
from rewriter.errors import OperationalError
from rewriter.exec.engine import EngineQuery, Packing, Write, WrittenFile, scan_file, table_relation
from rewriter.grammar.unparse import quote_name
from rewriter.runtime.heartbeat import heartbeat
from rewriter.statements.resolve.locations import refuse_spark_write
from rewriter.statements.write.managed_write import make_write_directory, removed_on_failure, removed_on_refusal
from rewriter.statements.write.sink_choice import grouped_sink

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

#: The most full files that one transaction writes.
_MOST_FILES_AT_ONCE = 8
_PADDED = re.compile(r"(var)?char\(\d+\)")


def chunks(partitions: Sequence[Partition], context: Context) -> Iterator[list[Partition]]:
    """Yields the partitions in key order, oldest first, so that a transaction writes no more than about
    ``_MOST_FILES_AT_ONCE`` full files.
    """
    most_bytes = _MOST_FILES_AT_ONCE * context.settings.target_file_bytes
    chunk: list[Partition] = []
    chunk_bytes = 0
    for partition in partitions:
        if chunk and chunk_bytes + partition.bytes > most_bytes:
            yield chunk
            chunk, chunk_bytes = [], 0
        chunk.append(partition)
        chunk_bytes += partition.bytes
    if chunk:
        yield chunk


def merge_files(
    table: Table,
    chosen: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    packing: Packing | None,
    context: Context,
) -> tuple[CompactedPartition, ...]:
    """Merges these files of the partitions, which are given by key, and commits. Returns what was replaced by fewer
    files, or by files of its own; other files of the partitions stay.

    Raises ``ConflictError`` where another transaction replaced the files that were read, MANAGED_FILE_CHANGED where
    files do not hold the rows that were written. After an error of ours nothing has changed.
    """
    refuse_spark_write(table, context)
    with context.catalog.begin(context.snapshot) as transaction:
        write_id = transaction.write_id(table)
        directory = make_write_directory(table, transaction, context, write_id)
        with closing(directory), removed_on_failure(directory), heartbeat(transaction):
            written_files = _write_files(table, chosen, files, directory.folder, packing, context)
            improved = _improved(chosen, files, written_files, packed=packing is not None)
            compacted = tuple(
                [
                    CompactedPartition(
                        partition.key, tuple(file.path for file in files[partition.key]), written_files[partition.key]
                    )
                    for partition in improved
                ]
            )
            _remove([file for partition in chosen for file in written_files[partition.key]], compacted, directory.roots)
            directory.publish((file for partition in compacted for file in partition.files), context)
            compacted = tuple([replace(partition, files=directory.moved(partition.files)) for partition in compacted])
        with removed_on_refusal(directory):
            if compacted:
                transaction.commit([CompactPartitions(table, write_id, compacted)])
    return compacted


def _improved(
    chosen: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    written_files: Mapping[bytes, Sequence[DataFile]],
    *,
    packed: bool,
) -> list[Partition]:
    """Returns the partitions whose new files replace the old ones: those with fewer files, or that were in
    packed files; or all of a packed table if there are fewer files together, or fewer bytes.
    """
    filled = [partition for partition in chosen if written_files[partition.key]]
    if not packed:
        return [
            partition
            for partition in filled
            if len(written_files[partition.key]) < len(files[partition.key])
            or any(file.part is not None for file in files[partition.key])
        ]
    before, after = (
        {file.path: file.file_bytes for partition in filled for file in listed[partition.key]}
        for listed in (files, written_files)
    )
    return filled if (len(after), sum(after.values())) < (len(before), sum(before.values())) else []


def _write_files(
    table: Table,
    chosen: Sequence[Partition],
    files: Mapping[bytes, Sequence[DataFile]],
    folder: str,
    packing: Packing | None,
    context: Context,
) -> dict[bytes, tuple[DataFile, ...]]:
    """Returns the files that the engine wrote for each partition, moved below its directory name."""
    taken = {column.name.lower() for column in table.all_columns}
    free = next(name for name in (f"rw_number_{i}" for i in range(len(taken) + 1)) if name not in taken)
    number = Column(free, "int")
    scanned = tuple(
        scan_file(file, (str(index),)) for index, partition in enumerate(chosen) for file in files[partition.key]
    )
    name, columns = f"rw_{next(context.serial)}_compacted", tuple(map(_plain, table.columns))
    relation = replace(
        table_relation(name, table, scanned),
        columns=columns,
        partition_columns=(number,),
        packed_columns=table.partition_columns,
    )
    items = ", ".join(quote_name(column.name) for column in (*columns, number))
    query = EngineQuery(f"SELECT {items} FROM {name}", (relation,))
    by_key: dict[bytes, list[WrittenFile]] = {partition.key: [] for partition in chosen}
    if packing is not None:
        packing = replace(packing, keys=tuple(partition.values for partition in chosen))
    key_of = {
        (str(index),) if packing is None else partition.values: partition.key for index, partition in enumerate(chosen)
    }
    for file in context.engine().write(
        query,
        Write(
            folder,
            table.format,
            columns,
            (number,),
            packing=packing,
            options=table.file_options,
            sink=grouped_sink(context),
        ),
    ):
        by_key[key_of[file.values]].append(file)
    for partition in chosen:
        _check_rows(table, partition, files[partition.key], by_key[partition.key])
    if packing is not None:
        return {key: tuple(_data_file(file) for file in written_files) for key, written_files in by_key.items()}
    return {partition.key: tuple(_placed(table, partition, folder, by_key[partition.key])) for partition in chosen}


def _data_file(file: WrittenFile) -> DataFile:
    return DataFile(file.path, file.rows, file.bytes, file.part)


def _plain(column: Column) -> Column:
    """Returns a column as its files store it: padding of a CHAR and the length check of a VARCHAR apply to new rows."""
    return replace(column, type="string") if _PADDED.fullmatch(column.type) else column


def _check_rows(table: Table, partition: Partition, before: Sequence[DataFile], after: Sequence[WrittenFile]) -> None:
    stored, counted = [file.rows for file in before], [file.rows for file in after]
    read, written = (sum(count or 0 for count in counts) for counts in (stored, counted))
    if None not in (*stored, *counted) and read != written:
        raise OperationalError(
            f"The files of {partition_name(table.partition_columns, partition.values) or table.name} "
            f"hold {written:,} rows, "
            f"but were written with {read:,}: nothing was compacted.",
            condition="MANAGED_FILE_CHANGED",
            object=table.name,
            hint="Another program changed or removed the files; rewrite the partition.",
        )


def _placed(table: Table, partition: Partition, folder: str, written: Sequence[WrittenFile]) -> list[DataFile]:
    """Moves the files to where an INSERT would have put them, so that engines read the values in their paths."""
    directory_path = os.path.join(folder, partition_name(table.partition_columns, partition.values))
    make_directory(directory_path, (folder,), exist_ok=True)
    placed = []
    for file in written:
        path = os.path.join(directory_path, os.path.basename(file.path))
        move_file(file.path, path, (folder,))
        remove_empty(os.path.dirname(file.path), (folder,))  # If it holds no other file.
        placed.append(DataFile(path, file.rows, file.bytes))
    return placed


def _remove(written: Sequence[DataFile], compacted: Sequence[CompactedPartition], roots: Sequence[str]) -> None:
    """Removes the surplus files: the files of partitions that stay as they are."""
    kept = {file.path for partition in compacted for file in partition.files}
    for path in dict.fromkeys(file.path for file in written):
        if path not in kept:
            remove_file(path, roots)
