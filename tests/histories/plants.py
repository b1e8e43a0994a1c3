"""Bugs that are planted into the processes of a history, to see that its checks find them. Nothing is undone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rewriter.catalog import Snapshot, conflicts, factwork, reads, renewing
from rewriter.catalog.cache import CatalogCache
from rewriter.catalog.cache_metrics import Miss
from rewriter.catalog.context import CommitContext
from rewriter.catalog.store import Catalog
from rewriter.catalog.timelines import TimelineChange
from rewriter.catalog.writeids import ValidWriteIdList


def no_conflicts() -> None:
    """Nobody looks whether others wrote the same keys."""
    _replace(conflicts, "check", lambda *_: None)


def late_commits_are_seen() -> None:
    """A list of write ids that was read late has what committed since the snapshot, too."""
    real = reads.write_id_list

    def all_of_them(connection: Any, object_id: int, _sequence: int, transactions: Any) -> ValidWriteIdList:
        return real(connection, object_id, 1 << 60, transactions)

    _replace(reads, "write_id_list", all_of_them)


def stale_snapshots() -> None:
    """A snapshot serves for some milliseconds more."""
    real, kept = Catalog.snapshot, [(-1.0, Snapshot.__new__(Snapshot))]

    def snapshot(catalog: Catalog, session: str | None = None) -> Snapshot:
        if time.monotonic() - kept[0][0] > 0.03:
            kept[0] = (time.monotonic(), real(catalog, session))
        return kept[0][1]

    _replace(Catalog, "snapshot", snapshot)


def rollups_stay_fresh() -> None:
    """A commit of days forgets the months over them."""
    real = factwork.change_timeline

    def forgetful(connection: Any, table_id: int, period: Any, key: str, change: TimelineChange, *rest: Any) -> None:
        real(connection, table_id, period, key, TimelineChange(change.states), *rest)

    _replace(factwork, "change_timeline", forgetful)


def two_steps() -> None:
    """A commit is in the database before its events are."""
    real = CommitContext.write_log

    def late(context: CommitContext) -> None:
        context.connection.exec_driver_sql("COMMIT")
        sqlite = context.connection.dialect.name == "sqlite"
        context.connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "BEGIN")
        real(context)

    _replace(CommitContext, "write_log", late)


def zombies() -> None:
    """Whoever was aborted by others commits all the same."""
    real = CommitContext._close_transaction

    def revived(context: CommitContext) -> None:
        mine = {"id": context.transaction_id}
        context.connection.exec_driver_sql(
            f"UPDATE transactions SET state = 'open' WHERE transaction_id = {mine['id']} AND state = 'aborted'"
        )
        real(context)

    _replace(CommitContext, "_close_transaction", revived)


def lists_are_not_compared() -> None:
    """What a cache has is taken for what every snapshot sees."""
    _replace(CatalogCache, "_miss", lambda _self, _id, entry, _ids: Miss.ABSENT if entry is None else None)


def sets_are_not_renewed() -> None:
    """Of a set of partitions in memory nothing is read again."""
    _replace(renewing, "_may_differ", lambda *_: [])


def _replace(owner: Any, name: str, value: Callable[..., Any]) -> None:
    setattr(owner, name, value)


Plant = Callable[[], None]
PLANTS: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        no_conflicts,
        late_commits_are_seen,
        stale_snapshots,
        rollups_stay_fresh,
        two_steps,
        zombies,
        lists_are_not_compared,
        sets_are_not_renewed,
    )
}
