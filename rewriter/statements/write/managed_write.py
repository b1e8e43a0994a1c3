"""A write into a managed table: the engine fills a new directory, then one catalog transaction commits it.

No reader sees anything before the commit. After a crash the directory is an orphan that nothing refers to
(``write_directories``).
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

from rewriter.catalog.commit.transaction import Writer, note_foreign_write
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.filesystems.removal import discard_files
from rewriter.catalog.filters.predicates import intersection
from rewriter.catalog.model.changes import AddPartitions, CommitBatch, WritePartitions
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, DataFile, PartitionValues, Table
from rewriter.catalog.model.stored_paths import link_not_followed, roots_of
from rewriter.directory_changes import discard_tree, make_directory
from rewriter.errors import CommitUnknownError, Error, OperationalError, disk_full, is_disk_full
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.validity import is_bounded, window
from rewriter.runtime.heartbeat import heartbeat
from rewriter.runtime.result import ShadowProof, Stats
from rewriter.scratch_directories import ScratchDirectory
from rewriter.statements.query.select import selected_partitions
from rewriter.statements.write.external_base_changes import Listing, listed_again
from rewriter.statements.write.rollup_proof import read_origins
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.exec.engine import WrittenFile
    from rewriter.planner.model.plan import Reading, TableUse
    from rewriter.runtime.prepared_queries import Prepared
    from rewriter.runtime.statement_context import Context

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

    ``readings`` are the query's readings, and ``listings`` the files that it reads of external tables: both decide
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
    if not isinstance(change, WritePartitions | AddPartitions) or change.origins or not readings:
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
    return None if first is None or second is None else merge_ranges((*first, *second))


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
    merged_ranges = merge_ranges((*use.ranges, *searched))
    starts = [key_range.start for key_range in merged_ranges]
    read_keys = {partition.key for partition in selected_partitions(use, context)}
    keys = [partition.key for partition in context.snapshot.partitions(use.table, merged_ranges)]
    ranges: list[KeyRange] = []
    # The keys between two stretches were not looked at: a run ends where its stretch does.
    places = [(key in read_keys, bisect_right(starts, key)) for key in keys]
    edges = [at for at, (before, after) in enumerate(pairwise(places), 1) if before != after]
    for first, end in pairwise((0, *edges, len(keys))):
        if first < end and places[first][0]:
            ranges.append(KeyRange(keys[first], keys[end - 1] + b"\x00"))
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


def group_files(files: Sequence[WrittenFile]) -> dict[PartitionValues, tuple[DataFile, ...]]:
    """Returns the files by partition."""
    partitions: dict[PartitionValues, list[DataFile]] = {}
    for file in files:
        partitions.setdefault(file.values, []).append(DataFile(file.path, file.rows, file.bytes, file.part))
    return {values: tuple(partition_files) for values, partition_files in partitions.items()}


# The directory of a write into a managed table, which is named by the write id.
#
# On this machine's disks an engine fills it in place. For a table in an object store, an engine fills a directory on
# this machine, and then its files are uploaded under the same names. Nothing is renamed, and no reader lists the
# place: files are seen once the catalog names them. After a failure what was uploaded is deleted, and nothing else:
# another catalog may have used the same write id meanwhile. What a killed process leaves is found by VACUUM.


@dataclass(frozen=True)
class WriteDirectory:
    """The place where one statement writes into a table.

    ``folder`` is the local directory that an engine fills, and ``location`` is where its files are in the end: the same
    for a local table. ``owned`` is what is removed after a failure, and holds nothing else: a local directory. In an
    object store, where nobody can own a directory, that are the files ``uploaded``.
    """

    table: Table
    write_id: int
    folder: str
    location: str
    owned: str
    roots: tuple[str, ...]
    scratch: ScratchDirectory | None = None
    uploaded: set[str] = field(default_factory=set)

    def path_of(self, path: str) -> str:
        """Returns where a file of ``folder`` is in the end; the path of any other file."""
        stem = os.path.join(self.folder, "")
        return self.location + path[len(self.folder) :] if path.startswith(stem) else path

    def moved(self, files: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """Returns files under the paths where they are in the end."""
        return tuple([file._replace(path=self.path_of(file.path)) for file in files])

    def publish(self, files: Iterable[DataFile], context: Context) -> None:
        """Uploads the files that are in ``folder``, each once. Does nothing for a local table.

        Raises ``OperationalError`` FAILED_WRITE_FILE; some files may have been uploaded then. Raises
        WRITE_DIRECTORY_EXISTS where another catalog has written meanwhile.
        """
        if self.scratch is None:
            return
        paths = dict.fromkeys(file.path for file in files)
        pairs = [(path, self.path_of(path)) for path in paths if self.path_of(path) != path]
        self.require_ours(context)
        self.uploaded.update(path for _, path in pairs)
        store_of(self.location).upload(pairs, context.progress.counter("uploading", "files", len(pairs)))

    def require_ours(self, context: Context) -> None:
        """Raises ``OperationalError`` WRITE_DIRECTORY_EXISTS if another catalog has written at ``location``: before the
        first file is, for a local one. Lists the place in an object store.
        """
        if is_uri(self.location):
            files = store_of(self.location).files_below(self.location)
            is_foreign = any(file.path not in self.uploaded for file in files)
        else:
            is_foreign = os.path.lexists(self.location)
        if is_foreign:
            note_foreign_write(context.catalog.database, self.table, self.write_id)
            raise directory_exists(self.table, self.location)

    def discard(self) -> None:
        """Removes what was written, as far as possible."""
        if is_uri(self.location):
            discard_files(self.uploaded)
        else:
            discard_tree(self.owned, self.roots)

    def close(self) -> None:
        """Removes the working directory of a table in an object store. Idempotent."""
        if self.scratch is not None:
            self.scratch.remove()


def make_write_directory(table: Table, transaction: Writer, context: Context, write_id: int) -> WriteDirectory:
    """Creates the directory of a write, which no other writer has: everything removed after a failure is ours.

    Raises ``OperationalError``: WRITE_DIRECTORY_EXISTS; LINK_NOT_FOLLOWED where a directory below the root is a link,
    because files behind it would lie outside of the warehouse, where nothing removes them; FAILED_WRITE_FILE for other
    errors of the disk, FAILED_READ_FILE for errors of an object store.
    """
    roots = roots_of(table, context.catalog.warehouse)
    folder = os.path.join(table.location, f"{WRITE_ID_LEVEL}={transaction.directory_name(table)}")
    if is_uri(folder):
        if store_of(folder).has_files(folder):
            note_foreign_write(context.catalog.database, table, write_id)
            raise directory_exists(table, folder)
        scratch = ScratchDirectory("upload")
        local = os.path.join(scratch.path, "files")
        return WriteDirectory(table, write_id, local, folder, local, (scratch.path,), scratch)
    try:
        make_directory(folder, roots)
    except FileExistsError:
        raise directory_exists(table, folder) from None
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The directory {folder}", table.name) from error
        if error.errno == errno.ELOOP:
            raise link_not_followed(str(error.filename), table) from error
        raise OperationalError(
            f"The directory {folder} cannot be created: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=table.name,
            hint="Check that this user can write to the table's location, and that it has free space.",
        ) from error
    return WriteDirectory(table, write_id, folder, folder, folder, roots)


def of_new_table(directory: WriteDirectory, table: Table) -> WriteDirectory:
    """Returns the directory of the first write of a new table: the table's whole directory bears its id, which no other
    table ever gets, and is this write's. In an object store that cannot be checked for one moment, and only the
    directory of the write is removed.
    """
    return directory if directory.scratch is not None else replace(directory, owned=table.location)


def directory_exists(table: Table, folder: str) -> OperationalError:
    """Returns the error of a write whose directory another catalog has made."""
    return OperationalError(
        f"The directory {folder} of this write already exists.",
        condition="WRITE_DIRECTORY_EXISTS",
        object=table.name,
        hint="Two catalogs use one warehouse directory, or the catalog was restored from an older copy: "
        "run the statement again to use the next write id.",
    )


@contextmanager
def removed_on_failure(directory: WriteDirectory) -> Iterator[None]:
    """Removes a write's directory if the block fails."""
    try:
        yield
    except BaseException:
        directory.discard()
        raise


@contextmanager
def removed_on_refusal(directory: WriteDirectory) -> Iterator[None]:
    """Removes a directory if the commit in the block certainly failed.

    Only one of our own errors shows that, except ``CommitUnknownError``: that commit may have succeeded.
    """
    try:
        yield
    except CommitUnknownError:
        raise
    except Error:
        directory.discard()
        raise


# The files that a statement wrote: their statistics, and the warning about tiny ones.

#: Files smaller than this are tiny where a statement writes so many of them.
_TINY_BYTES, _MANY_FILES = 1024 * 1024, 1000


def stats_of(
    files: Sequence[WrittenFile], seconds: float, prepared: Prepared | None = None, proof: ShadowProof | None = None
) -> Stats:
    """Returns the statistics of a statement that wrote these files into one table.

    ``prepared`` is the query that produced the files, ``proof`` its shadow proof.
    """
    return Stats(
        prepared.scans if prepared is not None else (),
        written_partitions=len({file.values for file in files}),
        written_files=len({file.path for file in files}),
        written_bytes=sum([file.bytes for file in files]),
        planning_seconds=prepared.planning_seconds if prepared is not None else 0.0,
        execution_seconds=seconds,
        verification=prepared.verification if prepared is not None else None,
        shadow_proof=proof,
    )


def rows_of(files: Sequence[WrittenFile]) -> int:
    """Returns the number of rows in the files; -1 where a file has no row count."""
    counts = [file.rows for file in files]
    return -1 if None in counts else sum([count or 0 for count in counts])


def tiny_files_warning(table: Table, files: Sequence[WrittenFile]) -> tuple[str, ...]:
    """Returns a warning where a write made many tiny files, which cost every later query time."""
    sizes = {file.path: file.bytes if file.part is None else file.part.file_bytes for file in files}
    tiny = [size for size in sizes.values() if size < _TINY_BYTES]
    if len(tiny) < _MANY_FILES:
        return ()
    hint = (
        "a table STORED AS PARQUET without 'rewriter.packed' = 'false' has few files"
        if not table.external
        else "coarser partitions have fewer files"
    )
    return (f"{table.name}: wrote {len(tiny):,} files of {sum(tiny) // len(tiny):,} bytes on average: {hint}.",)


# Directories that are read as a whole, and so may hold no file but the files that an engine names as its result.
#
# Where a task of a cluster runs twice, because a worker died or was slow, the files of both attempts exist.


def write_reported(fill: Callable[[str], tuple[WrittenFile, ...]], directory: str) -> tuple[WrittenFile, ...]:
    """Lets ``fill`` write into a directory beside a new one, and moves the files that it returns into the new one.

    Late attempts cannot write there. Raises ``OSError``. Costs a rename a file.
    """
    attempts = f"{directory}.attempts"
    try:
        files = fill(attempts)
        os.mkdir(directory)
        kept = []
        for file in files:
            path = os.path.join(directory, os.path.basename(file.path))
            os.rename(file.path, path)
            kept.append(replace(file, path=path))
        return tuple(kept)
    finally:
        discard_tree(attempts, (os.path.dirname(directory),))
