"""``system.transactions``: the transactions of the catalog as the snapshot sees them."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.catalog.model.temporary_names import session_of
from rewriter.runtime.result import Row
from rewriter.statements.system_tables.system_read import SystemRead, microseconds


def transactions(read: SystemRead) -> Iterator[Row]:
    """Yields the transactions, oldest first. One that committed after the snapshot is open here.

    ``objects`` are the objects that it wrote, by name; those that were dropped since, and temporary ones, are absent.
    """
    snapshot = read.context.snapshot
    named = (snapshot.tables(), snapshot.views(), snapshot.cubes(), snapshot.facts(), snapshot.functions())
    kinds = (*named, snapshot.databases())
    names = {
        object_.id: object_.name
        for kind in kinds
        for object_ in kind
        if session_of(object_.name) is None and object_.id
    }
    for transaction in snapshot.transaction_records():
        objects = sorted(names[object_id] for object_id in transaction.objects if object_id in names)
        yield (
            transaction.id,
            transaction.state,
            microseconds(transaction.begun_at),
            microseconds(transaction.heartbeat_at),
            microseconds(transaction.ended_at),
            transaction.snapshot_commit,
            transaction.commit,
            ", ".join(objects) or None,
        )
