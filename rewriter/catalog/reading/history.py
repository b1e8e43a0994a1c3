"""Versions of partitions, and the times of commits in seconds since 1970, by the database's clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.json_codec import damaged
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.stored_rows import origins_in
from rewriter.catalog.reading import queries
from rewriter.catalog.store import prepared_statements, schema
from rewriter.catalog.store.partition_versions import RowState, state_of
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.origins import Origins
    from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList
    from rewriter.catalog.store.database import Database


@dataclass(frozen=True)
class Content:
    """The content of a partition; ``commit`` is the number of the commit that wrote it."""

    key: bytes
    commit: int


@dataclass(frozen=True)
class History:
    """The history of one partition: since when it exists without a break, and when it last changed.

    ``write_id`` is the id of its last write. A time is ``None`` if it is no longer recorded.
    """

    created: float | None
    changed: float | None
    write_id: int


def contents(connection: sa.Connection, ids: ValidWriteIdList, ranges: Sequence[KeyRange]) -> Iterator[Content]:
    """Yields the contents of the visible partitions in sorted, disjoint key ranges, in key order.

    One statement for up to ``range_query.MOST`` ranges.
    """
    row = schema.partitions
    for chunk in queries.chunks(ranges, prepared_statements.MOST):
        query = prepared_statements.search(
            connection, row.c.key, (row.c.key, row.c.commit_seq), queries.visible(row, ids), chunk
        )
        for key, commit in connection.execute(query.order_by("key")):
            yield Content(key, commit)


def doubts(connection: sa.Connection, ids: ValidWriteIdList, ranges: Sequence[KeyRange]) -> tuple[str, ...]:
    """Returns the reasons why visible partitions in sorted, disjoint key ranges are unproven, the most frequent first.

    Partitions from before the doubts were noted have no reason.
    """
    row = schema.partitions
    counts: Counter[str] = Counter()
    for chunk in queries.chunks(ranges, prepared_statements.MOST):
        rows = prepared_statements.search(
            connection, row.c.key, (row.c.doubt,), queries.visible(row, ids), chunk
        ).subquery()
        query = sa.select(rows.c.doubt, sa.func.count()).where(rows.c.doubt.is_not(None)).group_by(rows.c.doubt)
        for doubt, count in connection.execute(query):
            if not isinstance(doubt, str):
                raise damaged("the doubt of a partition", repr(doubt), "it is not text")
            counts[doubt] += count
    return tuple(doubt for doubt, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def origins(
    connection: sa.Connection, ids: ValidWriteIdList, table_id: int, ranges: Sequence[KeyRange] | None = None
) -> dict[bytes, Origins]:
    """Returns what the visible partitions of a table rest on, by key: the partitions that rest on anything, in sorted,
    disjoint key ranges (``None``: all).
    """
    row = schema.partitions.c
    query = sa.select(row.key, row.origins)
    query = query.where(row.table_id == table_id, row.origins.is_not(None), *queries.visible(schema.partitions, ids))
    by_key = {key: origins_in(text, key) for key, text in connection.execute(query)}
    if ranges is None:
        return by_key
    return {key: by_key[key] for key in by_key if any(key in key_range for key_range in ranges)}


def keys_in_doubt(
    connection: sa.Connection, ids: ValidWriteIdList, table_id: int, reasons: Collection[str]
) -> frozenset[bytes]:
    """Returns the keys of the visible partitions of a table that are in doubt for one of some reasons. Reads the
    table's partitions inside the database.
    """
    row, keys = schema.partitions, [KeyRange.of_prefix(prefix(table_id))]
    conditions = [*queries.visible(row, ids), row.c.doubt.in_(sorted(reasons))]
    return frozenset(
        connection.execute(prepared_statements.search(connection, row.c.key, (row.c.key,), conditions, keys)).scalars()
    )


def partition_history(connection: sa.Connection, table_id: int, ids: ValidWriteIdList, key: bytes) -> History | None:
    """Returns the history of a visible partition; ``None`` if there is none. Reads all versions of the key."""
    row = schema.partitions
    visible = sa.select(row.c.made).where(row.c.key == key, *queries.visible(row, ids))
    newest: int | None = connection.execute(visible).scalar()
    if newest is None:
        return None
    versions = connection.execute(sa.select(row.c.ended, row.c.made).where(row.c.key == key)).all()
    # A version follows another if it was made by the write that ended it.
    predecessors = {ended: made for ended, made in versions if state_of(made, ended) is not RowState.WIPED}
    first = newest
    while first in predecessors:
        first = predecessors[first]
    moments = _commit_moments(connection, table_id, {first, newest})
    return History(moments.get(first), moments.get(newest), newest)


def object_created(connection: sa.Connection, object_id: int) -> float | None:
    """Returns the time at which a table, view, cube or fact was created."""
    row = schema.objects
    first = connection.execute(sa.select(sa.func.min(row.c.made)).where(row.c.object_id == object_id)).scalar()
    return None if first is None else _commit_moments(connection, object_id, {first}).get(first)


def _commit_moments(connection: sa.Connection, object_id: int, write_ids: Collection[int]) -> dict[int, float]:
    """Returns the times at which the transactions that hold these write ids of an object committed."""
    write_id_rows, transaction = schema.write_ids, schema.transactions
    query = (
        sa.select(write_id_rows.c.write_id, transaction.c.heartbeat_at)
        .join_from(write_id_rows, transaction, transaction.c.transaction_id == write_id_rows.c.transaction_id)
        .where(write_id_rows.c.object_id == object_id, write_id_rows.c.write_id.in_(sorted(write_ids)))
    )
    return {write_id: _stored_moment(moment) for write_id, moment in connection.execute(query)}


#: The seconds since 1970 at which the years 1 and 10000 begin, in UTC.
_FIRST_YEAR, _LAST_YEAR = -62_135_596_800, 253_402_300_800


def has_date(seconds: object) -> bool:
    """Tests whether a value is a number of seconds since 1970 that has a date."""
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and _FIRST_YEAR <= seconds < _LAST_YEAR


def _stored_moment(seconds: object) -> float:
    """Returns a stored time. Raises ``OperationalError`` DAMAGED_CATALOG if it is none, or has no date."""
    if not has_date(seconds):
        raise damaged("the time of a transaction", str(seconds), "it is not a number of seconds since 1970")
    return float(seconds)  # type: ignore[arg-type]


# The transactions of the catalog, as a snapshot sees them.

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
    """Yields the transactions that began before a snapshot, oldest first. Transactions that ended after it are open.
    Two statements.
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
            _stored_moment(begun_at),
            _stored_moment(heartbeat_at),
            snapshot,
            commit if has_ended else None,
            tuple(sorted(written.get(id_, ()))),
        )


@dataclass(frozen=True)
class LoggedChange:
    """A change of an object in the log. ``payload`` is the entry's, ``at`` the time of the commit in seconds since
    1970, ``read_commit`` the newest commit that the transaction saw; both are ``None`` if not recorded.
    """

    commit: int
    at: float | None
    kind: str
    payload: str
    read_commit: int | None


def logged_changes(
    database: Database, sequence: int, object_ids: Collection[int], limit: int | None
) -> list[LoggedChange]:
    """Returns the changes of objects up to a commit, the newest first, at most ``limit``. One statement, which reads
    the log.
    """
    row, transaction = schema.events.c, schema.transactions.c
    query = (
        sa.select(row.commit_seq, transaction.heartbeat_at, row.kind, row.payload, transaction.snapshot_seq)
        .join_from(schema.events, schema.transactions, transaction.transaction_id == row.transaction_id, isouter=True)
        .where(row.object_id.in_(sorted(object_ids)), row.commit_seq <= sequence)
        .order_by(row.event_seq.desc())
        .limit(limit)
    )
    with database.read() as connection:
        return [
            LoggedChange(commit, None if moment is None else _stored_moment(moment), kind, payload, read)
            for commit, moment, kind, payload, read in connection.execute(query)
        ]


def commit_before(database: Database, sequence: int, microseconds: int) -> int | None:
    """Returns the newest commit up to a number that was made at or before an instant; ``None`` if there is none."""
    row = schema.transactions.c
    # A time is shown in whole microseconds, and stored as a fraction.
    query = sa.select(sa.func.max(row.commit_seq)).where(
        row.commit_seq <= sequence, row.heartbeat_at < (microseconds + 1) / 1e6
    )
    with database.read() as connection:
        commit: int | None = connection.execute(query).scalar()
    return commit


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
            times |= {id: _stored_moment(moment) for id, moment in connection.execute(query)}
    return times
