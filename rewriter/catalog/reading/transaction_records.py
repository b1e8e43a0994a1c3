"""The transactions of the catalog, as a snapshot sees them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog.model.write_ids import ValidTxnList
from rewriter.catalog.reading.history import stored_moment
from rewriter.catalog.store import schema
from rewriter.catalog.store.database import Database

#: The most transactions that one statement names.
_MOST_IDS = 1000


@dataclass(frozen=True)
class TransactionRecord:
    """A transaction. ``state`` is ``open``, ``committed`` or ``aborted``; times are seconds since 1970 by the
    database's clock. ``objects`` are the ids of the objects for which it holds a write id.
    """

    id: int
    state: str
    begun_at: float
    heartbeat_at: float
    snapshot_commit: int
    commit: int | None
    objects: tuple[int, ...]

    @property
    def ended_at(self) -> float | None:
        """The time of its end. The last heartbeat of a transaction that ended is its end."""
        return None if self.state == "open" else self.heartbeat_at


def transaction_records(
    connection: sa.Connection, sequence: int, transactions: ValidTxnList
) -> Iterator[TransactionRecord]:
    """Yields the transactions that began before a snapshot, oldest first. Those that ended after it are open. Two
    statements.
    """
    row, write_id = schema.transactions.c, schema.write_ids.c
    is_known = transactions.high_water_mark
    written: dict[int, list[int]] = {}
    holders = sa.select(write_id.transaction_id, write_id.object_id).where(write_id.transaction_id <= is_known)
    for transaction_id, object_id in connection.execute(holders):
        written.setdefault(transaction_id, []).append(object_id)
    query = sa.select(
        row.transaction_id, row.state, row.begun_at, row.heartbeat_at, row.snapshot_seq, row.commit_seq
    ).where(row.transaction_id <= is_known)
    for id_, state, begun_at, heartbeat_at, snapshot, commit in connection.execute(query.order_by(row.transaction_id)):
        has_ended = transactions.may_see(id_) and (commit is None or commit <= sequence)
        yield TransactionRecord(
            id_,
            state if has_ended else "open",
            stored_moment(begun_at),
            stored_moment(heartbeat_at),
            snapshot,
            commit if has_ended else None,
            tuple(sorted(written.get(id_, ()))),
        )


def transaction_state(database: Database, id: int) -> str | None:
    """Returns the newest state of a transaction; ``None`` if it is not recorded. One read."""
    row = schema.transactions.c
    with database.read() as connection:
        state: str | None = connection.execute(sa.select(row.state).where(row.transaction_id == id)).scalar()
    return state


def aborted_writers(database: Database, transactions: ValidTxnList) -> list[int]:
    """Returns the aborted transactions of a list that hold a write id, ascending. The others have written nothing.

    One read of all aborted transactions.
    """
    row, write_id = schema.transactions.c, schema.write_ids.c
    holds = sa.select(write_id.transaction_id).where(write_id.transaction_id == row.transaction_id).exists()
    query = sa.select(row.transaction_id).where(row.state == "aborted", holds).order_by(row.transaction_id)
    with database.read() as connection:
        return [id for id in connection.execute(query).scalars() if transactions.may_see(id)]


def commit_times(database: Database, ids: Collection[int]) -> dict[int, float]:
    """Returns the times at which transactions were committed, in seconds since 1970 by the database's clock. One
    read for a thousand transactions.
    """
    row = schema.transactions.c
    wanted, times = sorted(ids), dict[int, float]()
    with database.read() as connection:
        for start in range(0, len(wanted), _MOST_IDS):
            chunk = wanted[start : start + _MOST_IDS]
            query = sa.select(row.transaction_id, row.heartbeat_at).where(row.transaction_id.in_(chunk))
            times |= {id: stored_moment(moment) for id, moment in connection.execute(query)}
    return times
