"""A write into a managed table: the engine fills a new directory, then one catalog transaction commits it.

No reader sees anything before the commit. After a crash the directory is an orphan that nothing refers to
(``write_directories``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from itertools import groupby

from rewriter.catalog.commit.transaction import Writer
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.filters.predicates import intersection
from rewriter.catalog.model.changes import AddPartitions, CommitBatch, WritePartitions
from rewriter.catalog.model.key_ranges import KeyRange, merged
from rewriter.catalog.model.objects import DataFile, PartitionValues, Table
from rewriter.exec.engine import WrittenFile
from rewriter.planner.cover.validity import is_bounded, window
from rewriter.planner.model.plan import Reading, TableUse
from rewriter.runtime.heartbeat import heartbeat
from rewriter.runtime.statement_context import Context
from rewriter.statements.query.select import selected
from rewriter.statements.write.external_base_changes import Listing, listed_again
from rewriter.statements.write.read_origins import read_origins
from rewriter.statements.write.write_directories import (
    WriteDirectory,
    make_write_directory,
    removed_on_failure,
    removed_on_refusal,
)
from rewriter.timeline.ranges import RangeSet, TimeRange

#: The changes that a statement that writes files commits: partitions with files, partitions registered empty, and the
#: note of a batch.
WriteChange = WritePartitions | AddPartitions | CommitBatch
#: The keys of tables, by id: ``None`` for all.
Claims = dict[int, Sequence[KeyRange] | None]


def write_managed(
    table: Table,
    fill: Callable[[str], tuple[WrittenFile, ...]],
    change: Callable[[int, Sequence[WrittenFile]], Sequence[WriteChange]],
    readings: Sequence[Reading],
    context: Context,
    listings: Sequence[Listing] = (),
    transaction: Writer | None = None,
) -> tuple[WrittenFile, ...]:
    """Lets ``fill`` write files into a new directory and commits the changes that ``change`` makes of them.

    ``readings`` are those of the query, and ``listings`` the files that it reads of external tables: both decide
    about freshness. ``transaction`` is one that was begun on the context's snapshot; without it, one is begun now.

    Raises ``ConflictError`` where another transaction came between. After that error, and after any other error of
    ours but ``CommitUnknownError``, nothing is left. Raises ``OperationalError`` WRITE_DIRECTORY_EXISTS where the
    directory exists: another catalog made it, and it stays.
    """
    files: list[tuple[WrittenFile, ...]] = []

    def filled(directories: Mapping[int, WriteDirectory]) -> Sequence[WriteChange]:
        directory = directories[table.id]
        files.append(fill(directory.folder))
        return change(directory.write_id, files[0])

    write_tables([table], filled, readings, context, listings, transaction)
    return files[0]


def write_tables(
    tables: Sequence[Table],
    fill: Callable[[Mapping[int, WriteDirectory]], Sequence[WriteChange]],
    readings: Sequence[Reading],
    context: Context,
    listings: Sequence[Listing] = (),
    begun: Writer | None = None,
) -> None:
    """Lets ``fill`` write into new directories, one for each table, by id, and commits the changes that it returns.

    All or nothing, with the errors of ``write_managed``. ``readings`` or the changes state what each query has read.
    ``begun`` is a transaction on the context's snapshot; without it, one is begun now.
    """
    with ExitStack() as closing_stack, begun or context.begin() as transaction:
        directories: dict[int, WriteDirectory] = {}
        with ExitStack() as stack:
            for table, write_id in zip(tables, transaction.write_ids(tables), strict=True):
                directory = make_write_directory(table, transaction, context, write_id)
                closing_stack.callback(directory.close)
                directories[table.id] = directory
                stack.enter_context(removed_on_failure(directory))
            with heartbeat(transaction):
                changes = [_published(change, directories, context) for change in fill(directories)]
                notes = listed_again(listings, context) if changes else []
                changes = [_with_origins(change, readings, context) for change in changes]
        partition_changes = [change for change in changes if not isinstance(change, CommitBatch)]
        written_ids = {change.table.id for change in partition_changes if any(p.files for p in change.partitions)}
        for table_id, directory in directories.items():
            if table_id not in written_ids:
                directory.discard()
        if not changes:
            return
        with ExitStack() as stack:
            for directory in directories.values():
                stack.enter_context(removed_on_refusal(directory))
            total = sum(len(change.partitions) for change in partition_changes)
            context.progress.report("committing", total=total, unit="partitions")
            transaction.commit([*changes, *notes], *proven(readings, context))


def _with_origins(change: WriteChange, readings: Sequence[Reading], context: Context) -> WriteChange:
    """Returns a change with what its query has read of other facts, unless it says so itself."""
    if not isinstance(change, WritePartitions) or change.origins or not readings:
        return change
    return replace(change, origins=read_origins(change.table, readings, context))


def _published(change: WriteChange, directories: Mapping[int, WriteDirectory], context: Context) -> WriteChange:
    """Returns a change whose files are where readers look for them."""
    directory = directories.get(change.table.id) if isinstance(change, WritePartitions) else None
    if not isinstance(change, WritePartitions) or directory is None or directory.scratch is None:
        return change
    directory.publish((file for partition in change.partitions for file in partition.files), context)
    partitions = [replace(partition, files=directory.moved(partition.files)) for partition in change.partitions]
    return replace(change, partitions=tuple(partitions))


def proven(readings: Sequence[Reading], context: Context) -> tuple[Claims, frozenset[int]]:
    """Returns a query's sources for its commit, and the ids of the tables of which the query proves nothing."""
    sources = _sources(readings, context)
    uses = [use for reading in readings for use in reading.uses if use.table.id in sources]
    return sources, frozenset(use.table.id for use in uses if _reads_outside(use, context))


def _sources(readings: Sequence[Reading], context: Context) -> Claims:
    """Returns the keys of each table that certainly contributed to the result.

    For the tables of a fact, these are the keys that every reading of the fact has read. A reading that reads more,
    to compare, proves nothing about rows that another reading left out. Branches of a UNION ALL add up.
    """
    sources: dict[int, Sequence[KeyRange] | None] = {}
    by_fact: dict[str, list[tuple[int | None, Claims]]] = {}
    for reading in readings:
        for name, claims in _claims(reading, context).items():
            sources |= dict.fromkeys(claims, ())
            by_fact.setdefault(name, []).append((reading.branch, claims))
    for fact_claims in by_fact.values():
        branches: set[int | None] = {branch for branch, _ in fact_claims if branch is not None}
        for branch in branches or {None}:
            branch_claims = [claims for other, claims in fact_claims if other in (branch, None)]
            for table_id in branch_claims[0]:
                common_ranges = reduce(_common_claims, (claims.get(table_id, ()) for claims in branch_claims))
                sources[table_id] = _intersection(sources[table_id], common_ranges)
    return sources


def _claims(reading: Reading, context: Context) -> dict[str, Claims]:
    """Returns the keys that a reading has read of each table, by the name of its fact ('' where it has none)."""
    claimed = {use.table.id: (use.table, _keys(use, context)) for use in reading.uses if use.table.kind.is_in_catalog}
    claimed |= {table.id: (table, ()) for table in reading.unread}
    by_fact: dict[str, Claims] = {}
    for table, claim in claimed.values():
        fact = context.snapshot.fact_using(table.name)
        by_fact.setdefault("" if fact is None else fact.name.lower(), {})[table.id] = claim
    return by_fact


def _common_claims(first: Sequence[KeyRange] | None, second: Sequence[KeyRange] | None) -> Sequence[KeyRange] | None:
    if first is None or second is None:
        return second if first is None else first
    return intersection(tuple(first), tuple(second))


def _intersection(first: Sequence[KeyRange] | None, second: Sequence[KeyRange] | None) -> Sequence[KeyRange] | None:
    return None if first is None or second is None else merged((*first, *second))


def _keys(use: TableUse, context: Context) -> Sequence[KeyRange] | None:
    """Returns the keys that were read.

    Partitions of other periods among those keys were not read and may be outdated. Partitions that a filter ruled
    out were not read either: the result does not depend on them.
    """
    if use.ranges is None:
        return None
    if context.snapshot.fact_using(use.table.name) is None:
        return ()  # no commit asks for these keys
    searched = context.snapshot.lookup(use.table, use.wanted).ranges if use.wanted is not None else ()
    merged_ranges = merged((*use.ranges, *searched))
    starts = [key_range.start for key_range in merged_ranges]
    read_keys = {partition.key for partition in selected(use, context)}
    keys = [partition.key for partition in context.snapshot.partitions(use.table, merged_ranges)]
    ranges: list[KeyRange] = []
    # The keys between two stretches were not looked at: a run ends where its stretch does.
    for (is_read, _), run in groupby(keys, lambda key: (key in read_keys, bisect_right(starts, key))):
        if is_read:
            run_keys = list(run)
            ranges.append(KeyRange(run_keys[0], run_keys[-1] + b"\x00"))
    return ranges


def _reads_outside(use: TableUse, context: Context) -> bool:
    """Returns whether a query over a table itself reads a partition outside the window of the table's storage."""
    fact = context.snapshot.fact_using(use.table.name)
    is_cover = use.ranges is not None and use.wanted is None
    if fact is None or is_cover:
        return False
    name = use.table.name.lower()
    storage, stored = next((s, t) for s in fact.storages for t in s.tables if t.table.lower() == name)
    if not is_bounded(storage, stored):
        return False
    valid = window(storage, stored, context.planning.now, fact.calendar)
    binding = TimeBinding(fact, stored, use.table)
    slots = (binding.locate(partition.values) for partition in context.snapshot.satisfying(use.table, use.wanted))
    return any(slot is not None and RangeSet.of(TimeRange(slot.start, slot.end)) - valid for slot in slots)


def grouped(files: Sequence[WrittenFile]) -> dict[PartitionValues, tuple[DataFile, ...]]:
    """Returns the files by partition."""
    partitions: dict[PartitionValues, list[DataFile]] = {}
    for file in files:
        partitions.setdefault(file.values, []).append(DataFile(file.path, file.rows, file.bytes, file.part))
    return {values: tuple(partition_files) for values, partition_files in partitions.items()}
