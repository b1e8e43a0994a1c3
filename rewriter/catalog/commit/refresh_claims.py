"""Claims: the periods of a rollup table that a worker refreshes, so that no other worker computes them meanwhile.

A claim belongs to an open transaction. It ends with the commit or rollback, or when the transaction's last heartbeat is
older than the claim's own limit. The next claim aborts such a transaction, so that its process, if it was only
suspended, cannot commit any more.

**No period is computed twice.** A claim and the snapshot of its transaction are made in one database transaction. Each
earlier claim that has ended by then ended with a commit that the snapshot sees, or without one. So what the snapshot
shows as not fresh inside the claim is computed by no other worker, and was not computed before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.catalog.store.database_server import NOW
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.ranges import RangeSet

if TYPE_CHECKING:
    from rewriter.timeline.calendars import Period


@dataclass(frozen=True)
class ClaimRequest:
    """The wish to claim periods of one table.

    ``choose`` gets the time that others have claimed, and returns the time to claim. The claim ends when the
    transaction was silent for ``expiry_seconds``, on the clock of the database.
    """

    table_id: int
    period: Period
    choose: Callable[[RangeSet], RangeSet]
    expiry_seconds: float


def claim(connection: sa.Connection, transaction_id: int, request: ClaimRequest) -> RangeSet:
    """Claims periods for an open transaction, and returns their time; it is empty if nothing is left to claim.

    Aborts the transactions whose claims have expired. O(claims); the caller's transaction excludes other writers.
    """
    row, transaction = schema.refresh_claims, schema.transactions
    is_expired = sa.exists().where(row.c.transaction_id == transaction.c.transaction_id, ~_is_alive())
    connection.execute(sa.update(transaction).where(transaction.c.state == "open", is_expired).values(state="aborted"))
    is_held = sa.exists().where(transaction.c.transaction_id == row.c.transaction_id, transaction.c.state == "open")
    connection.execute(sa.delete(row).where(~is_held))
    chosen = request.choose(claimed_time(connection, request.table_id, request.period))
    if chosen:
        common = {
            "transaction_id": transaction_id,
            "table_id": request.table_id,
            "period": int(request.period),
            "expiry_seconds": request.expiry_seconds,
        }
        connection.execute(
            row.insert(), [{**common, "start_time": range_.start, "end_time": range_.end} for range_ in chosen]
        )
    return chosen


def claimed_time(connection: sa.Connection, table_id: int, period: Period) -> RangeSet:
    """Returns the time of the periods that live workers have claimed. One statement, O(claims)."""
    row, transaction = schema.refresh_claims, schema.transactions
    query = (
        sa.select(row.c.start_time, row.c.end_time)
        .join(transaction, transaction.c.transaction_id == row.c.transaction_id)
        .where(
            row.c.table_id == table_id,
            row.c.period == int(period),
            transaction.c.state == "open",
            _is_alive(),
        )
    )
    return RangeSet.of_bounds((start, end) for start, end in connection.execute(query))


def _is_alive() -> sa.ColumnElement[bool]:
    """Tests whether a claim's transaction has reported lately. A heartbeat from the future is one of a clock that was
    set back.
    """
    heartbeat_at, expiry = schema.transactions.c.heartbeat_at, schema.refresh_claims.c.expiry_seconds
    return heartbeat_at.between(NOW - expiry, NOW + expiry)
