"""Bugs that are planted into the processes of a history, to test that the checks detect them. Nothing is undone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rewriter.catalog import Snapshot
from rewriter.catalog.cache.cache import CatalogCache
from rewriter.catalog.cache.entries import Miss
from rewriter.catalog.catalog import Catalog
from rewriter.catalog.commit import conflicts, fact_timelines
from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.fact_timelines import BasePresence
from rewriter.catalog.commit.stored_timelines import TimelineChange
from rewriter.catalog.model.proofs import Proof
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading import partition_refresh, snapshot
from rewriter.catalog.reading.queries import write_id_list


def no_conflicts() -> None:
    """Skips the check for other transactions that wrote the same keys."""
    _replace(conflicts, "check", lambda *_: None)


def late_commits_are_seen() -> None:
    """Includes commits since the snapshot in a list of write ids that is read late."""
    real = write_id_list

    def all_of_them(connection: Any, object_id: int, _sequence: int, transactions: Any) -> ValidWriteIdList:
        return real(connection, object_id, 1 << 60, transactions)

    _replace(snapshot, "write_id_list", all_of_them)


def stale_snapshots() -> None:
    """Uses a snapshot for some milliseconds more."""
    real, kept = Catalog.snapshot, [(-1.0, Snapshot.__new__(Snapshot))]

    def snapshot(catalog: Catalog, session: str | None = None) -> Snapshot:
        if time.monotonic() - kept[0][0] > 0.03:
            kept[0] = (time.monotonic(), real(catalog, session))
        return kept[0][1]

    _replace(Catalog, "snapshot", snapshot)


def rollups_stay_fresh() -> None:
    """Lets a commit of days leave the months over them fresh."""
    real = fact_timelines.change_timeline

    def forgetful(connection: Any, table_id: int, period: Any, key: str, change: TimelineChange, *rest: Any) -> None:
        real(connection, table_id, period, key, TimelineChange(change.states, completed=change.completed), *rest)

    _replace(fact_timelines, "change_timeline", forgetful)


def incomplete_months_are_fresh() -> None:
    """Skips the check whether the days of a month existed when it was computed."""
    _replace(BasePresence, "checked", lambda _self, _binding, _slot, states, _dependent: states)


def completed_months_stay_incomplete() -> None:
    """Lets days that are added empty complete no month."""
    _replace(fact_timelines.FactTimelineUpdate, "_completed", lambda *_: [])


def doubts_are_ignored() -> None:
    """Treats unproven rollups like computed ones."""
    _replace(Proof, "is_unproven", property(lambda _: False))


def two_steps() -> None:
    """Writes a commit to the database before its events."""
    real = CommitContext.write_log

    def late(context: CommitContext) -> None:
        context.connection.exec_driver_sql("COMMIT")
        sqlite = context.connection.dialect.name == "sqlite"
        context.connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "BEGIN")
        real(context)

    _replace(CommitContext, "write_log", late)


def zombies() -> None:
    """Lets a transaction commit that others have aborted."""
    real = CommitContext._close_transaction

    def revived(context: CommitContext) -> None:
        mine = {"id": context.transaction_id}
        context.connection.exec_driver_sql(
            f"UPDATE transactions SET state = 'open' WHERE transaction_id = {mine['id']} AND state = 'aborted'"
        )
        real(context)

    _replace(CommitContext, "_close_transaction", revived)


def lists_are_not_compared() -> None:
    """Uses the content of a cache for every snapshot."""
    _replace(CatalogCache, "_miss", lambda _self, _id, entry, _ids: Miss.ABSENT if entry is None else None)


def sets_are_not_renewed() -> None:
    """Never reads a cached set of partitions again."""
    _replace(partition_refresh, "_may_differ", lambda *_: [])


def _replace(owner: Any, name: str, value: Callable[..., Any]) -> None:
    assert hasattr(owner, name), f"{owner} has no {name}: nothing would be planted"
    setattr(owner, name, value)


Plant = Callable[[], None]
PLANTS: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        no_conflicts,
        late_commits_are_seen,
        stale_snapshots,
        rollups_stay_fresh,
        incomplete_months_are_fresh,
        completed_months_stay_incomplete,
        doubts_are_ignored,
        two_steps,
        zombies,
        lists_are_not_compared,
        sets_are_not_renewed,
    )
}
