"""Automatic COMPACT of the small files that streams and appends leave, where a property of the table asks for it.

A batch that has committed compacts the partitions that it wrote into. That is best effort, in a transaction of its own:
the batch is committed already, and what fails now is tried again after the next batch of the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit.reserved_properties import auto_compact_files
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.errors import ConflictError, Error, foreign
from rewriter.statements.show.content_statistics import files_of
from rewriter.statements.write.merged_files import chunks, merge_files
from rewriter.statements.write.sink_choice import grouped_sink, packing_of

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import DataFile, Partition, Table
    from rewriter.exec.engine import WrittenFile
    from rewriter.grammar.terms import Name
    from rewriter.runtime.statement_context import Context


def compact_after(name: Name, files: Sequence[WrittenFile], context: Context) -> tuple[str, ...]:
    """Compacts those partitions of a table into which a committed batch has written these files. Returns a warning if
    that fails. Conflicts with other transactions are no failures.

    Does nothing in a transaction of several statements, which commits later. Without the property, nothing is read.
    """
    if not files or context.transaction is not None:
        return ()
    try:
        if auto_compact_files(context.table(name)) is not None:
            _compact(name, files, context.renewed())
    except ConflictError:
        return ()
    except Exception as error:
        reason = error if isinstance(error, Error) else foreign(error)
        return (f"{'.'.join(name.parts)}: its small files were not compacted: {reason.message}",)
    return ()


def _compact(name: Name, files: Sequence[WrittenFile], context: Context) -> None:
    table = context.table(name)
    least = auto_compact_files(table)
    if least is None:
        return
    partitions = [partition for partition in _written(table, files, context) if partition.files >= least]
    small = files_of(table, partitions, context.snapshot)
    to_merge = {key: files_to_merge(small[key], least, context.settings.target_file_bytes) for key in small}
    chosen = [partition for partition in partitions if to_merge[partition.key]]
    packing = packing_of(table, grouped_sink(context))
    for chunk in chunks(chosen, context):
        merge_files(table, chunk, to_merge, packing, context)


def _written(table: Table, files: Sequence[WrittenFile], context: Context) -> tuple[Partition, ...]:
    types = [column.type for column in table.partition_columns]
    keys = {encode(table.id, types, file.values) for file in files}
    return context.snapshot.partitions(table, [KeyRange.of_key(key) for key in keys])


def files_to_merge(files: Sequence[DataFile], least: int, target_bytes: int) -> list[DataFile]:
    """Returns the files of a partition to merge: none if it has fewer than ``least`` small ones, which are smaller than
    half of the target. Otherwise the smallest, so many that fewer than ``least`` small ones remain, and then each
    that is not larger than the smaller ones together.

    So the rows of a stream are written again a few times: 3 times for 4,096 equal batches if ``least`` is 20. If it is
    2, each batch writes all rows again.
    """
    small = sorted((file for file in files if file.bytes < target_bytes // 2), key=lambda file: (file.bytes, file.path))
    if len(small) < least:
        return []
    count = len(small) - least + 2
    total = sum(file.bytes for file in small[:count])
    while count < len(small) and small[count].bytes <= total:
        total += small[count].bytes
        count += 1
    return small[:count]
