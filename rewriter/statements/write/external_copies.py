"""Copies of the partitions of an external table, whose files change outside of a commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rewriter.catalog.commit.move_changes import partition_key
from rewriter.catalog.model.changes import DropCopies
from rewriter.catalog.model.key_ranges import outside
from rewriter.catalog.model.objects import PartitionValues, Table
from rewriter.runtime.statement_context import Context


@contextmanager
def copies_given_up(table: Table, partitions: Iterable[PartitionValues], context: Context) -> Iterator[None]:
    """Gives up the copies of partitions on secondary clusters before the block changes their files, and those that
    another process has registered meanwhile after it. One read each; a commit if there are such copies.
    """
    if not table.partition_columns:
        yield
        return
    keys = sorted(partition_key(table, values) for values in partitions)
    _give_up(table, keys, context)
    try:
        yield
    finally:
        _give_up(table, keys, context)


def _give_up(table: Table, keys: list[bytes], context: Context) -> None:
    snapshot = context.catalog.snapshot(context.snapshot.session)
    current = snapshot.named(table.name)
    if not isinstance(current, Table) or current.id != table.id:
        return
    drops = []
    for copy in current.copies:
        absent = set(outside(keys, snapshot.copied_ranges(current, copy.cluster)))
        held = tuple(key for key in keys if key not in absent)
        drops += [DropCopies(current, copy.cluster, held)] if held else []
    if drops:
        with context.catalog.begin(snapshot) as transaction:
            transaction.commit(drops)
