"""A write into a managed table: a directory of its own, filled by the engine, then one catalog transaction.

Until the commit no reader sees anything; after a crash the directory is an orphan that nothing refers to.
"""

from __future__ import annotations

import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import groupby

from rewriter.catalog.binding import TimeBinding
from rewriter.catalog.changes import WritePartitions
from rewriter.catalog.keys import KeyRange, merged
from rewriter.catalog.models import WRITE_ID_LEVEL, DataFile, PartitionValues, Table
from rewriter.catalog.scan_filters import intersection
from rewriter.catalog.transaction import Writer
from rewriter.context import Context
from rewriter.errors import CommitUnknownError, Error, OperationalError
from rewriter.exec.engine import WrittenFile
from rewriter.heartbeats import heartbeat
from rewriter.planner.plan import Reading, TableUse
from rewriter.planner.validity import is_bounded, window
from rewriter.reading import selected
from rewriter.timeline.ranges import RangeSet, TimeRange

#: The keys of tables, by id: ``None`` for all.
Claims = dict[int, Sequence[KeyRange] | None]


def write_managed(
    table: Table,
    fill: Callable[[str], tuple[WrittenFile, ...]],
    change: Callable[[int, Sequence[WrittenFile]], WritePartitions | None],
    readings: Sequence[Reading],
    context: Context,
) -> tuple[WrittenFile, ...]:
    """Lets ``fill`` write files into a new directory and commits what ``change`` makes of them; ``None`` is nothing.

    ``readings`` are those of the query, which decide about freshness. Raises ``ConflictError`` where another
    transaction came between; nothing is left then, nor after any other error of ours but ``CommitUnknownError``. Raises
    ``OperationalError`` WRITE_DIRECTORY_EXISTS where the directory is there: it is another catalog's, and stays.
    """
    files: list[tuple[WrittenFile, ...]] = []

    def filled(places: Mapping[int, Place]) -> Sequence[WritePartitions]:
        place = places[table.id]
        files.append(fill(place.folder))
        made = change(place.write_id, files[0])
        return () if made is None else (made,)

    write_tables([table], filled, readings, context)
    return files[0]


@dataclass(frozen=True)
class Place:
    """Where one statement writes into a table: the write id, and the new directory that is named by it."""

    write_id: int
    folder: str


def write_tables(
    tables: Sequence[Table],
    fill: Callable[[Mapping[int, Place]], Sequence[WritePartitions]],
    readings: Sequence[Reading],
    context: Context,
) -> None:
    """Lets ``fill`` write into new directories, one for each table, by id, and commits the changes that it answers.

    All or nothing, with the errors of ``write_managed``. What each query has read stands in ``readings``, or in the
    changes.
    """
    with context.begin() as transaction:
        places: dict[int, Place] = {}
        with ExitStack() as stack:
            for table, write_id in zip(tables, transaction.write_ids(tables), strict=True):
                places[table.id] = Place(write_id, make_folder(table, transaction))
                stack.enter_context(removed_on_failure(places[table.id].folder))
            with heartbeat(transaction):
                changes = fill(places)
        written = {change.table.id for change in changes if any(one.files for one in change.partitions)}
        _remove(place for table_id, place in places.items() if table_id not in written)
        if not changes:
            return
        with removed_on_refusal(*(place.folder for place in places.values())):
            total = sum(len(change.partitions) for change in changes)
            context.progress.tell("committing", total=total, unit="partitions")
            transaction.commit(changes, *proven(readings, context))


def _remove(places: Iterable[Place]) -> None:
    for place in places:
        shutil.rmtree(place.folder, ignore_errors=True)


def proven(readings: Sequence[Reading], context: Context) -> tuple[Claims, frozenset[int]]:
    """The sources of a query with these readings, and the tables of which it proves nothing: what a commit is told."""
    sources = _sources(readings, context)
    uses = [use for reading in readings for use in reading.uses if use.table.id in sources]
    return sources, frozenset(use.table.id for use in uses if _reads_outside(use, context))


def _sources(readings: Sequence[Reading], context: Context) -> Claims:
    """The keys of each table that surely went into the answer: of the tables of a fact, what every reading of the fact
    has read. One that reads more, to compare with, says nothing of the rows that another has left out. Branches of a
    UNION ALL add up.
    """
    found: dict[int, Sequence[KeyRange] | None] = {}
    by_fact: dict[str, list[tuple[int | None, Claims]]] = {}
    for reading in readings:
        for name, claims in _claims(reading, context).items():
            found |= dict.fromkeys(claims, ())
            by_fact.setdefault(name, []).append((reading.branch, claims))
    for of_fact in by_fact.values():
        branches: set[int | None] = {branch for branch, _ in of_fact if branch is not None}
        for branch in branches or {None}:
            every = [claims for other, claims in of_fact if other in (branch, None)]
            for table_id in every[0]:
                common = reduce(_common, (claims.get(table_id, ()) for claims in every))
                found[table_id] = _both(found[table_id], common)
    return found


def _claims(reading: Reading, context: Context) -> dict[str, Claims]:
    """What a reading has read of each table, by the name of its fact ('' where it has none)."""
    every = {use.table.id: (use.table, _keys(use, context)) for use in reading.uses if use.table.id > 0}
    every |= {table.id: (table, ()) for table in reading.unread}
    found: dict[str, Claims] = {}
    for table, claim in every.values():
        fact = context.snapshot.fact_using(table.name)
        found.setdefault("" if fact is None else fact.name.lower(), {})[table.id] = claim
    return found


def _common(one: Sequence[KeyRange] | None, other: Sequence[KeyRange] | None) -> Sequence[KeyRange] | None:
    if one is None or other is None:
        return other if one is None else one
    return intersection(tuple(one), tuple(other))


def _both(one: Sequence[KeyRange] | None, other: Sequence[KeyRange] | None) -> Sequence[KeyRange] | None:
    return None if one is None or other is None else merged((*one, *other))


def _keys(use: TableUse, context: Context) -> Sequence[KeyRange] | None:
    """The keys that were read. Of those that lie among them, partitions of other periods were not, and may be outdated;
    nor were those that a filter ruled out: what was computed without them does not know them.
    """
    if use.ranges is None:
        return None
    if context.snapshot.fact_using(use.table.name) is None:
        return ()  # nobody will ask
    searched = context.snapshot.lookup(use.table, use.wanted).ranges if use.wanted is not None else ()
    stretches = merged((*use.ranges, *searched))
    starts = [one.start for one in stretches]
    read = {partition.key for partition in selected(use, context)}
    known = [partition.key for partition in context.snapshot.partitions(use.table, stretches)]
    found: list[KeyRange] = []
    # What lies between two stretches was not looked at: a run ends where its stretch does.
    for (kept, _), run in groupby(known, lambda key: (key in read, bisect_right(starts, key))):
        if kept:
            keys = list(run)
            found.append(KeyRange(keys[0], keys[-1] + b"\x00"))
    return found


def _reads_outside(use: TableUse, context: Context) -> bool:
    """Whether a query over a table itself reads a partition that lies outside the window of the table's storage."""
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
    slots = (binding.locate(one.values) for one in context.snapshot.satisfying(use.table, use.wanted))
    return any(slot is not None and RangeSet.of(TimeRange(slot.start, slot.end)) - valid for slot in slots)


def grouped(files: Sequence[WrittenFile]) -> dict[PartitionValues, tuple[DataFile, ...]]:
    """The files by partition."""
    partitions: dict[PartitionValues, list[DataFile]] = {}
    for file in files:
        partitions.setdefault(file.values, []).append(DataFile(file.path, file.rows, file.bytes))
    return {values: tuple(found) for values, found in partitions.items()}


def make_folder(table: Table, transaction: Writer) -> str:
    """Makes the directory of a write, which nobody else has: what is removed after a failure is ours."""
    folder = os.path.join(table.location, f"{WRITE_ID_LEVEL}={transaction.directory_name(table)}")
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.mkdir(folder)
    except FileExistsError:
        raise OperationalError(
            f"The directory {folder} of this write exists already.",
            condition="WRITE_DIRECTORY_EXISTS",
            object=table.name,
            hint="Two catalogs use one warehouse directory, or this one was restored from an older copy: "
            "give each catalog a directory of its own.",
        ) from None
    except OSError as error:
        raise OperationalError(
            f"The directory {folder} cannot be made: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=table.name,
            hint="See that the table's location may be written and has room.",
        ) from error
    return folder


@contextmanager
def removed_on_failure(folder: str) -> Iterator[None]:
    """Removes a write's directory where the block fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def removed_on_refusal(*folders: str) -> Iterator[None]:
    """Removes directories where the commit in the block surely failed: only an error of ours says so, and not of a
    commit that may have come to pass.
    """
    try:
        yield
    except CommitUnknownError:
        raise
    except Error:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        raise
