"""ALTER TABLE … COMPACT: merges the files of a partition into one, or few (``write.merged_files``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit.reserved_properties import can_be_packed
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Column, DataFile, Partition, Table
from rewriter.errors import DataError, Error, NotSupportedError
from rewriter.grammar.families import maintenance as s
from rewriter.runtime.progress import Progress
from rewriter.runtime.result import Result, Row, listing
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.named_objects import not_found
from rewriter.statements.resolve.partition_specs import read_spec, read_static, require_partitioned
from rewriter.statements.show.content_statistics import files_of
from rewriter.statements.write.merged_files import chunks, merge_files
from rewriter.statements.write.sink_choice import grouped_sink, packing_of

if TYPE_CHECKING:
    from rewriter.exec.engine import Packing
    from rewriter.runtime.statement_context import Context

_COLUMNS = (
    Column("partition", "string"),
    Column("files_before", "bigint"),
    Column("files_after", "bigint"),
    Column("bytes", "bigint"),
)


@runs(s.Compact, writes=lambda statement: (statement.table,))
def compact(statement: s.Compact, context: Context) -> Result:
    """ALTER TABLE t [PARTITION (…)] COMPACT: rows of (partition, files_before, files_after, bytes), in key order.

    Without a spec, partitions of periods that have not ended are left alone. The oldest are first, and each transaction
    writes a few files, so that an interrupted COMPACT keeps what it has done.

    Partitions of one file are left alone, and partitions that an engine would write into as many files again; but if a
    table is no longer packed, its packed partitions get files of their own. Raises COMPACT_EXTERNAL_TABLE 0A000,
    PARTITIONS_NOT_FOUND 428FT where the spec names nothing, ``ConflictError`` where another transaction replaced the
    files that were read, MANAGED_FILE_CHANGED where files do not hold the rows that were written.
    """
    table = context.table(statement.table)
    if table.external:
        raise NotSupportedError(
            f"The files of the external table {table.name} belong to the user: COMPACT does not replace them.",
            condition="COMPACT_EXTERNAL_TABLE",
            sqlstate="0A000",
            position=statement.table.span,
            object=table.name,
            hint="INSERT OVERWRITE … SELECT … rewrites its partitions.",
        )
    partitions = [partition for partition in _named_partitions(table, statement, context) if partition.files]
    packing = packing_of(table, grouped_sink(context))
    target_bytes = context.settings.target_file_bytes
    has_all = statement.partition is None
    if packing is None:
        packed = _in_packed_files(table, partitions, context)
        # Files that reached the size are full.
        chosen = [p for p in partitions if p.files > 1 + p.bytes // target_bytes or p.key in packed]
    else:
        files = files_of(table, partitions, context.snapshot)
        chosen = _to_pack(partitions, files, target_bytes, has_all=has_all)
    rows: list[Row] = []
    try:
        chosen = _ended(table, chosen, context) if has_all else chosen
        done = 0
        for chunk in chunks(chosen, context):
            compacting = Progress("compacting", done, len(chosen), "partitions", subject=table.name)
            with context.progress.within(compacting, len(chunk)):
                rows += _compact(table, chunk, packing, context)
            done += len(chunk)
    except Error as error:
        raise error.at(statement.table.span) from None
    return listing("COMPACT", _COLUMNS, rows)


def _in_packed_files(table: Table, partitions: Sequence[Partition], context: Context) -> set[bytes]:
    """Returns the keys of the partitions with files of the time when the table was packed."""
    if not can_be_packed(table):
        return set()
    files = files_of(table, partitions, context.snapshot)
    return {key for key, partition_files in files.items() if any(file.part is not None for file in partition_files)}


def _ended(table: Table, partitions: Sequence[Partition], context: Context) -> list[Partition]:
    """Returns the partitions without the partitions of periods that have not ended, which are still written. Only the
    fact that uses a table knows its periods.
    """
    fact = context.snapshot.fact_using(table.name)
    storage_table = None if fact is None else fact.storage_table(table.name)
    if fact is None or storage_table is None:
        return list(partitions)
    binding, now = TimeBinding(fact, storage_table, table), int(context.planning.now)

    def has_ended(partition: Partition) -> bool:
        try:
            slot = binding.locate(partition.values)
        except DataError:
            return True  # Its key names no period.
        return slot is None or slot.end <= now

    return list(filter(has_ended, partitions))


def _named_partitions(table: Table, statement: s.Compact, context: Context) -> tuple[Partition, ...]:
    if statement.partition is None:
        return context.snapshot.satisfying(table, None)
    require_partitioned(table, statement.partition[0].span)
    static = read_spec(table, statement.partition).static
    partitions = context.snapshot.satisfying(table, read_static(table, static))
    if not partitions:
        raise not_found(table, statement.partition)
    return partitions


def _compact(table: Table, chosen: Sequence[Partition], packing: Packing | None, context: Context) -> list[Row]:
    by_key = {partition.key: partition.values for partition in chosen}
    return [
        (
            partition_name(table.partition_columns, by_key[compacted.key]),
            len(compacted.replaced),
            len(compacted.files),
            sum(file.bytes for file in compacted.files),
        )
        for compacted in merge_files(table, chosen, files_of(table, chosen, context.snapshot), packing, context)
    ]


def _to_pack(
    partitions: Sequence[Partition], files: Mapping[bytes, Sequence[DataFile]], target_bytes: int, *, has_all: bool
) -> list[Partition]:
    """Returns the partitions that have several files, or are in a file that is small or holds dead rows.

    One small file alone is left as it is. Dead rows are only found if these are all partitions of the table.
    """
    live_parts = Counter(file.path for partition_files in files.values() for file in partition_files)
    dead, small = set(), set()
    for file in (file for partition_files in files.values() for file in partition_files):
        if has_all and file.part is not None and live_parts[file.path] < file.part.partitions:
            dead.add(file.path)
        elif file.file_bytes < target_bytes // 2:
            small.add(file.path)
    chosen_paths = dead | (small if dead or len(small) > 1 else set())
    return [
        partition
        for partition in partitions
        if len(files[partition.key]) > 1 or any(file.path in chosen_paths for file in files[partition.key])
    ]
