"""The note of a batch as part of a commit: it makes the commit of the batch the only one."""

from __future__ import annotations

import sqlalchemy as sa

from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.model.batches import is_committed
from rewriter.catalog.model.changes import CommitBatch
from rewriter.catalog.reading.batch_queries import has_batch, last_batch
from rewriter.catalog.store import schema
from rewriter.errors import ConflictError


def note(context: CommitContext, change: CommitBatch) -> None:
    """Notes a batch. Raises the errors of ``CommitBatch``. At most three statements."""
    table, batch = context.live_table(change.table), change.batch
    if batch.stream:
        is_repeated = is_committed(batch, last_batch(context.connection, table.id, batch.stream))
    else:
        is_repeated = has_batch(context.connection, table.id, batch.id)
    if is_repeated:
        raise ConflictError(
            f"The batch {batch.id} was committed to {table.name} in the meantime.",
            condition="BATCH_COMMITTED",
            object=table.name,
            hint="Its rows are in the table once.",
        )
    row = schema.batches
    if batch.stream:
        context.connection.execute(sa.delete(row).where(row.c.table_id == table.id, row.c.stream == batch.stream))
    values = {
        "table_id": table.id, "stream": batch.stream, "checkpoint": batch.checkpoint, "batch": batch.id,
        "commit_seq": context.sequence,
    }  # fmt: skip
    context.connection.execute(row.insert(), values)
