"""The commits of partitions whose policies have not run yet."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from rewriter.catalog.store import schema


class PendingPolicies(NamedTuple):
    """A commit of a partition that its policies are to follow; ``late`` as in ``CommittedPartition``."""

    key: bytes
    commit: int
    late: bool


def pending_policies(connection: sa.Connection, table_id: int) -> tuple[PendingPolicies, ...]:
    """Returns the commits of a table's partitions whose policies have not run, the oldest first."""
    row = schema.pending_policies.c
    query = sa.select(row.key, row.commit_seq, row.late).where(row.table_id == table_id)
    return tuple(PendingPolicies(*values) for values in connection.execute(query.order_by(row.commit_seq, row.key)))


def settle(connection: sa.Connection, table_id: int, pending: PendingPolicies) -> None:
    """Notes that the policies of a commit have run. A newer commit of the partition stays."""
    row = schema.pending_policies
    is_it = sa.and_(row.c.table_id == table_id, row.c.key == pending.key, row.c.commit_seq == pending.commit)
    connection.execute(sa.delete(row).where(is_it))
