"""The note of a batch beside the partitions that it writes, for one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewriter.catalog.model.batches import Batch
from rewriter.catalog.model.changes import CommitBatch, WritePartitions
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.partition_commit import rule_of
from rewriter.exec.engine import WrittenFile
from rewriter.runtime.statement_context import Context
from rewriter.statements.write.commit_policies import remove_success_files
from rewriter.statements.write.event_times import latest_event
from rewriter.statements.write.managed_write import WriteChange


def with_batch(
    changes: Sequence[WriteChange], table: Table, batch: Batch, files: Sequence[WrittenFile], context: Context
) -> list[WriteChange]:
    """Returns the changes of a batch with its note. Those of a stream name the batch, with the time of its last event
    if the table's trigger needs it.

    ``files`` are those that the batch has written. Removes the success files of partitions that the batch begins.
    """
    if not batch.stream:
        return [*changes, CommitBatch(table, batch)]
    rule, written = rule_of(table.properties), {file.values for file in files}
    begun = (values for values in written if context.snapshot.partition(table, values) is None)
    remove_success_files(table, begun, context)
    if rule is not None and rule.by_partition_time:
        batch = replace(batch, event_time=latest_event(table, files, context))
    of_stream = [replace(change, batch=batch) if isinstance(change, WritePartitions) else change for change in changes]
    return [*of_stream, CommitBatch(table, batch)]
