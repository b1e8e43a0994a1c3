"""The note of a batch as part of a commit: it makes the commit of the batch the only one."""

from __future__ import annotations

import sqlalchemy as sa

from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.partition_commits import PartitionCommits, greatest
from rewriter.catalog.model.batches import is_committed
from rewriter.catalog.model.changes import CommitBatch
from rewriter.catalog.reading.batch_queries import has_batch, last_batch, progress_of
from rewriter.catalog.store import schema
from rewriter.errors import ConflictError


def note(context: CommitContext, change: CommitBatch, commits: PartitionCommits) -> None:
    """Notes a batch, and commits the partitions that are due. Raises the errors of ``CommitBatch``. At most five
    statements if no partition is open.
    """
    table, batch, connection = context.live_table(change.table), change.batch, context.connection
    if batch.stream:
        is_repeated = is_committed(batch, last_batch(connection, table.id, batch.stream))
    else:
        is_repeated = has_batch(connection, table.id, batch.id)
    if is_repeated:
        raise ConflictError(
            f"The batch {batch.id} was committed to {table.name} in the meantime.",
            condition="BATCH_COMMITTED",
            object=table.name,
            hint="Its rows are in the table once.",
        )
    row = schema.batches
    values = {
        "table_id": table.id, "stream": batch.stream, "checkpoint": batch.checkpoint, "batch": batch.id,
        "commit_seq": context.sequence,
    }  # fmt: skip
    if batch.stream:
        before = progress_of(connection, table.id, batch.stream)
        values["watermark"] = greatest(before.watermark, commits.watermark(table, batch.stream))
        values["late"] = before.late + commits.late(table, batch.stream)
        connection.execute(sa.delete(row).where(row.c.table_id == table.id, row.c.stream == batch.stream))
    connection.execute(row.insert(), values)
    if batch.stream:
        commits.commit_due(table)
