"""Batches of rows that are committed at most once: by a stream, or under an id that the writer chose."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewriter.errors import IntegrityError


@dataclass(frozen=True)
class Batch:
    """The identity of a batch of rows within its table.

    A batch of a stream has the stream's id, the id of its checkpoint, and its number, from 0 on, as ``id``. Other
    batches have an ``id`` alone. ``event_time`` is the greatest time of the batch's rows, in microseconds since 1970,
    if it is known better than by the periods of their partitions.

    Example: ``Batch("7", "clicks", "0b6f…")`` is the eighth batch of the stream ``clicks``.
    """

    id: str
    stream: str = ""
    checkpoint: str = ""
    event_time: int | None = field(default=None, compare=False)


def is_committed(batch: Batch, last: Batch | None) -> bool:
    """Returns whether a stream's batch was committed before. ``last`` is the last batch that the catalog has of the
    stream in the table; ``None`` for no batch.

    Raises ``IntegrityError``: STREAM_CHECKPOINT_RESET if the stream had another checkpoint, whose batches hold rows
    that this one may bring again; STREAM_BATCH_GAP if batches between the two were not committed, so that their rows
    are lost.
    """
    number = int(batch.id)
    if last is not None and last.checkpoint != batch.checkpoint:
        raise IntegrityError(
            f"The stream {batch.stream} has committed {int(last.id) + 1} batches from another checkpoint. A new "
            "checkpoint would load their rows again.",
            condition="STREAM_CHECKPOINT_RESET",
            object=batch.stream,
            hint="Use the old checkpoint directory. To load everything again, use another stream id.",
        )
    next_number = 0 if last is None else int(last.id) + 1
    if number > next_number:
        raise IntegrityError(
            f"The checkpoint continues with batch {number}, but the table expects batch {next_number} of the stream "
            f"{batch.stream}: the rows between them are not in the table.",
            condition="STREAM_BATCH_GAP",
            object=batch.stream,
            hint="The table was restored or created again, or the checkpoint belongs to another table. Start with a "
            "new checkpoint directory and another stream id.",
        )
    return number < next_number
