"""Queries about committed batches. A batch is committed for ever, so they need no snapshot."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog.model.batches import Batch
from rewriter.catalog.store import schema


def has_batch(connection: sa.Connection, table_id: int, id: str) -> bool:
    """Returns whether a batch without a stream was committed to a table. One look-up."""
    row = schema.batches.c
    query = sa.select(row.row_id).where(row.table_id == table_id, row.stream == "", row.checkpoint == "")
    return connection.execute(query.where(row.batch == id)).first() is not None


def last_batch(connection: sa.Connection, table_id: int, stream: str) -> Batch | None:
    """Returns the last batch of a stream that was committed to a table; ``None`` for no batch. One look-up."""
    row = schema.batches.c
    query = sa.select(row.batch, row.checkpoint).where(row.table_id == table_id, row.stream == stream)
    last = connection.execute(query).first()
    return None if last is None else Batch(last.batch, stream, last.checkpoint)


@dataclass(frozen=True)
class StreamProgress:
    """The progress of a stream in its table: its watermark, in microseconds since 1970 (``None``: unknown), and the
    number of times that late rows of it have committed a partition again.
    """

    watermark: int | None = None
    late: int = 0


def progress_of(connection: sa.Connection, table_id: int, stream: str) -> StreamProgress:
    """Returns the progress of a stream. One look-up."""
    row = schema.batches.c
    query = sa.select(row.watermark, row.late).where(row.table_id == table_id, row.stream == stream)
    last = connection.execute(query).first()
    return StreamProgress() if last is None else StreamProgress(last.watermark, last.late or 0)
