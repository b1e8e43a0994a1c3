"""When things came to be: versions of partitions, and moments of commits in seconds since 1970, the database's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog import reads, schema, stretches
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.writeids import ValidWriteIdList


@dataclass(frozen=True)
class Content:
    """Which content a partition has: ``commit`` is the number of the commit that wrote it."""

    key: bytes
    commit: int


@dataclass(frozen=True)
class History:
    """Moments of one partition: since when it exists without a break, and when it changed last.

    ``write_id`` is that of the write that left it as it is. A moment is ``None`` where it is not known any more.
    """

    created: float | None
    changed: float | None
    write_id: int


def contents(connection: sa.Connection, ids: ValidWriteIdList, ranges: Sequence[KeyRange]) -> Iterator[Content]:
    """The contents of the visible partitions in key ranges, which are sorted and apart, in key order.

    One statement for up to ``stretches.MOST`` ranges.
    """
    row = schema.partitions
    for some in reads.chunks(ranges, stretches.MOST):
        query = stretches.search(connection, row.c.key, (row.c.key, row.c.commit_seq), reads.visible(row, ids), some)
        for key, commit in connection.execute(query.order_by("key")):
            yield Content(key, commit)


def partition_history(connection: sa.Connection, table_id: int, ids: ValidWriteIdList, key: bytes) -> History | None:
    """The history of a visible partition; ``None`` where there is none. Reads all versions of the key."""
    row = schema.partitions
    visible = sa.select(row.c.made).where(row.c.key == key, *reads.visible(row, ids))
    newest: int | None = connection.execute(visible).scalar()
    if newest is None:
        return None
    versions = connection.execute(sa.select(row.c.ended, row.c.made).where(row.c.key == key)).all()
    # A version follows another where it was made as that one ended; a row that ended as it was made tells of a wipe.
    before = {ended: made for ended, made in versions if ended != made}
    first = newest
    while first in before:
        first = before[first]
    moments = commit_moments(connection, table_id, {first, newest})
    return History(moments.get(first), moments.get(newest), newest)


def object_created(connection: sa.Connection, object_id: int) -> float | None:
    """When a table, view, cube or fact was created."""
    row = schema.objects
    first = connection.execute(sa.select(sa.func.min(row.c.made)).where(row.c.object_id == object_id)).scalar()
    return None if first is None else commit_moments(connection, object_id, {first}).get(first)


def commit_moments(connection: sa.Connection, object_id: int, write_ids: Collection[int]) -> dict[int, float]:
    """When the transactions that hold these write ids of an object committed."""
    held, transaction = schema.write_ids, schema.transactions
    query = (
        sa.select(held.c.write_id, transaction.c.heartbeat_at)
        .join_from(held, transaction, transaction.c.transaction_id == held.c.transaction_id)
        .where(held.c.object_id == object_id, held.c.write_id.in_(sorted(write_ids)))
    )
    return {write_id: float(moment) for write_id, moment in connection.execute(query)}
