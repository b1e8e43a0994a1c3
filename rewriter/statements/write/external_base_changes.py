"""Detects changes in the files of external tables of a fact, so that outdated and unproven rollups are found.

Others write these files, and no query checks for that. A statement that computes rollups notes with each base
partition the digest of the files that it has read. CHECK FACT … ACCEPT notes it with each rollup partition that it
accepts. MSCK, REFRESH TABLE and REFRESH FACT list the files again; another digest means new content. In the base, it
outdates rollups as an INSERT into a managed base does. An accepted rollup is then unproven.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.commit.external_file_changes import is_news, recorded_digest
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.changes import ListedPartition, NoteFiles
from rewriter.catalog.model.stored_paths import link_not_followed
from rewriter.catalog.storage.data_files import FoundFile, directory, external_files, external_paths
from rewriter.catalog.storage.partition_directories import in_parallel, printable
from rewriter.data_formats import known_format
from rewriter.directory_changes import link_in
from rewriter.errors import IntegrityError, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.statements.query.select import selected_partitions
from rewriter.statements.resolve.location_conflicts import check_partition_locations, check_partitions_apart
from rewriter.statements.resolve.partition_specs import check_unmoved
from rewriter.statements.show.content_statistics import listed_content
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Partition, PartitionValues, Table
    from rewriter.exec.engine import Relation
    from rewriter.planner.model.plan import TableUse
    from rewriter.runtime.statement_context import Context


@dataclass(frozen=True)
class Unlisted:
    """A partition whose directory does not exist or may not be read, and the error that says so."""

    partition: Partition
    error: OperationalError


@dataclass(frozen=True)
class Listing:
    """Partitions of one external table, by key, and the digest of the files found in each: base partitions, and rollup
    partitions that have a noted digest.

    ``unlisted`` are the partitions of which nothing is known, because their directories cannot be listed.
    """

    table: Table
    partitions: Mapping[bytes, Partition]
    digests: Mapping[bytes, str]
    unlisted: tuple[Unlisted, ...] = ()

    def complete(self) -> Listing:
        """Returns the listing. Raises the error of the first partition that cannot be listed."""
        for unlisted in self.unlisted:
            raise unlisted.error
        return self

    @property
    def changed(self) -> dict[bytes, Partition]:
        """Returns the partitions whose files differ from the noted ones; a partition without a note has not changed."""
        return {
            key: partition
            for key, partition in self.partitions.items()
            if is_news(
                ListedPartition(key, self.digests[key], self.digests[key]), recorded_digest(partition.properties)
            )
        }


def external_binding(table: Table, context: Context) -> TimeBinding | None:
    """Returns how an external table stores its fact; ``None`` for any other table."""
    fact = context.snapshot.fact_using(table.name) if table.external else None
    stored = fact.storage_table(table.name) if fact is not None else None
    return None if fact is None or stored is None else TimeBinding(fact, stored, table)


def holds_base(binding: TimeBinding, partition: Partition) -> bool:
    """Returns True for a partition of base rows, False for a rollup."""
    slot = binding.locate(partition.values)
    return binding.has_base and (slot is None or binding.is_base(slot.period))


def base_time(binding: TimeBinding, partitions: Iterable[Partition]) -> RangeSet:
    """Returns the time of the partitions that hold base rows."""
    slots = (binding.locate(partition.values) for partition in partitions if holds_base(binding, partition))
    return RangeSet(TimeRange(slot.start, slot.end) for slot in slots if slot is not None)


def list_files(binding: TimeBinding, partitions: Collection[Partition], context: Context) -> Listing:
    """Lists the files of the base partitions and the accepted rollups among the partitions. Costs a listing of the
    directory of each.

    Raises ``OperationalError`` FAILED_READ_FILE for an object store that does not respond, and ``ConflictError`` for
    partitions that have moved since the statement's snapshot. Other directories that cannot be listed are in the
    result.
    """
    return _listed(binding.table, list(_watched(binding, partitions).values()), context)


def listed_digests(table: Table, partitions: Sequence[Partition], context: Context) -> Mapping[bytes, str]:
    """Returns the digest of the files that each partition of an external table has now, by key. Costs the same.

    Raises ``OperationalError`` PATH_NOT_FOUND and FAILED_READ_FILE for a directory that cannot be listed.
    """
    return _listed(table, partitions, context).complete().digests


def _listed(table: Table, partitions: Sequence[Partition], context: Context) -> Listing:
    advance = context.progress.counter("listing", "directories", len(partitions))

    def content(partition: Partition) -> str | Unlisted:
        try:
            return listed_content(table, partition, [file for _, file in external_files(table, (partition,))])
        except OperationalError as error:
            if error.condition != "PATH_NOT_FOUND" and is_uri(table.location):
                raise  # Requests for the other partitions would fail as slowly.
            return Unlisted(partition, error)

    contents = list(zip(partitions, in_parallel(content, partitions, advance), strict=True))
    digests = {partition.key: found for partition, found in contents if not isinstance(found, Unlisted)}
    listed_partitions = {partition.key: partition for partition in partitions if partition.key in digests}
    unlisted = tuple([found for _, found in contents if isinstance(found, Unlisted)])
    if unlisted and table.partition_columns:
        check_unmoved(table, [lost.partition for lost in unlisted], context)
    return Listing(table, listed_partitions, digests, unlisted)


def read_files(
    target: Table, uses: Sequence[TableUse], relations: Sequence[Relation], context: Context
) -> tuple[Listing, ...]:
    """Returns what a query, whose rows are for ``target``, a table of a fact, reads of the external tables of facts: of
    base partitions and accepted rollups. Rows of another fact are a copy.

    ``relations`` are the files that its engine is given, one for each of ``uses``; there are none if its values came
    from the catalog or from footers, and then no rollup is computed from them. Lists no directory.
    """
    fact = context.snapshot.fact_using(target.name)
    uses = uses if relations else ()
    listings: list[Listing] = []
    for use, relation in zip(uses, relations, strict=True):
        binding = external_binding(use.table, context) if fact is not None else None
        if binding is None:
            continue
        files: dict[tuple[str | None, ...], list[FoundFile]] = {}
        for file in relation.files:
            files.setdefault(file.values, []).append(FoundFile(file.path, file.bytes, file.modified))
        watched = _watched(binding, selected_partitions(use, context))
        digests = {
            key: listed_content(use.table, partition, files.get(partition.values, ()))
            for key, partition in watched.items()
        }
        listings.append(Listing(use.table, watched, digests))
    return tuple(listings)


def note_changed(listings: Sequence[Listing], context: Context) -> bool:
    """Commits changes of partitions in a transaction of its own. Returns whether any partition has changed.

    A statement that computes over a newer snapshot then sees those changes. In a transaction of several statements,
    which all read one snapshot, nothing is committed: its rollups are outdated or unproven when they are written.
    """
    changed_listings = [listing for listing in _by_table(listings) if listing.changed]
    if not changed_listings or context.transaction is not None:
        return False
    with context.catalog.begin(context.snapshot) as transaction:
        transaction.commit([as_listed(listing) for listing in changed_listings])
    return True


def note_listed(listing: Listing, context: Context) -> bool:
    """Commits the digests that differ from the noted ones, within the open transaction if there is one. Returns whether
    any differ.
    """
    note = as_listed(listing)
    if note.partitions:
        context.progress.report("committing", total=len(note.partitions), unit="partitions")
        with context.begin() as transaction:
            transaction.commit([note])
    return bool(note.partitions)


def as_listed(listing: Listing) -> NoteFiles:
    """Returns the change that notes the digests of the partitions whose digest is not the noted one."""
    digests = listing.digests.items()
    return _note(listing, [ListedPartition(key, digest, digest) for key, digest in digests])


def listed_again(listings: Sequence[Listing], context: Context) -> list[NoteFiles]:
    """Lists the files again that rows were computed from, because they may have changed while the query ran.

    Returns the notes to commit with those rows; none where all files are as noted. Raises ``OperationalError``
    PATH_NOT_FOUND where a directory has vanished: the rows may lack the rows of its files.
    """
    notes: list[NoteFiles] = []
    for listing in _by_table(listings):
        binding = external_binding(listing.table, context)
        if binding is not None:
            now = list_files(binding, listing.partitions.values(), context).complete().digests
            notes.append(
                _note(listing, [ListedPartition(key, digest, now[key]) for key, digest in listing.digests.items()])
            )
    return [note for note in notes if note.partitions]


def note_written_files(table: Table, partitions: Collection[bytes]) -> NoteFiles:
    """Returns the change that notes that a statement of ours has written files into these partitions, given by key."""
    return NoteFiles(table, tuple(ListedPartition(key, None, None) for key in partitions))


def _note(listing: Listing, listed_partitions: Sequence[ListedPartition]) -> NoteFiles:
    noted_digests = {key: recorded_digest(partition.properties) for key, partition in listing.partitions.items()}
    differing = (
        note for note in listed_partitions if note.before != note.after or note.after != noted_digests[note.key]
    )
    return NoteFiles(listing.table, tuple(differing))


def _by_table(listings: Sequence[Listing]) -> list[Listing]:
    """Returns one listing for each table. A partition that was listed with two digests has none: it has changed."""
    by_table: dict[int, Listing] = {}
    for listing in listings:
        earlier = by_table.get(listing.table.id, listing)
        digests = {
            key: digest if earlier.digests.get(key, digest) == digest else "" for key, digest in listing.digests.items()
        }
        by_table[listing.table.id] = Listing(
            listing.table, {**earlier.partitions, **listing.partitions}, {**earlier.digests, **digests}
        )
    return list(by_table.values())


def _watched(binding: TimeBinding, partitions: Collection[Partition]) -> dict[bytes, Partition]:
    return {
        partition.key: partition
        for partition in partitions
        if holds_base(binding, partition) or recorded_digest(partition.properties) is not None
    }


# The files that an INSERT OVERWRITE of an external table removes, and the checks that prevent a removal.
#
# It removes the data files of the partitions that it writes: all files that a query reads there, in sub-directories
# too. Names that begin with ``.`` or ``_`` are no data and stay, as do directories. A link to a file is removed, but
# not the file. A file that is not of the table's format belongs to another owner, and then nothing is overwritten.


@dataclass(frozen=True)
class OldFile:
    """A file that an OVERWRITE removes, and the directory of its partition."""

    directory: str
    file: FoundFile


def old_files(table: Table, partitions: Iterable[Partition]) -> list[OldFile]:
    """Returns the data files of partitions of an external table, listed now. A partition that is not registered may
    have some, too.
    """
    return [
        OldFile(directory(table, partition), _measured(path))
        for partition in partitions
        for path in external_paths(table, (partition,))
    ]


def _measured(path: str) -> FoundFile:
    """Returns a file with its size. A link that leads nowhere, and a file that has vanished, have none."""
    try:
        status = os.stat(path)
    except OSError:
        return FoundFile(path, 0, 0)
    return FoundFile(path, status.st_size, status.st_mtime_ns)


def refuse_foreign(table: Table, old: Iterable[OldFile]) -> None:
    """Raises ``IntegrityError`` FOREIGN_FILE for the first file that is not of the table's format. Opens each file."""
    foreign = next((old_file.file.path for old_file in old if is_foreign(table, old_file.file)), None)
    if foreign is not None:
        raise IntegrityError(
            f"{printable(foreign)} is not a {table.format} file: INSERT OVERWRITE of {table.name} would remove it.",
            condition="FOREIGN_FILE",
            object=printable(foreign),
            hint="Move it away, or give it a name that begins with _. EXPLAIN INSERT OVERWRITE … lists the "
            "files to remove.",
        )


def is_foreign(table: Table, file: FoundFile) -> bool:
    """Returns whether a file is certainly not of the table's format. Empty files and plain-text formats never are
    foreign.
    """
    data_format = known_format(table.format)
    if data_format is None or not data_format.marks or file.bytes == 0:
        return False
    try:
        with open(file.path, "rb") as stream:
            return not stream.read(4).startswith(data_format.marks)
    except FileNotFoundError:
        return False


def refuse_links(table: Table, directories: Iterable[str]) -> None:
    """Raises ``OperationalError`` LINK_NOT_FOLLOWED where a directory of a partition is a link below the table's."""
    for location in directories:
        link = link_in(location, (table.location, location))
        if link is not None:
            raise link_not_followed(link, table)


def check_places(table: Table, directories: Mapping[PartitionValues, str], context: Context) -> None:
    """Raises SHARED_LOCATION and UNSAFE_LOCATION where other tables or partitions use the directories of partitions,
    too.
    """
    stem = os.path.join(table.location, "")
    directories_outside = {
        values: location for values, location in directories.items() if not location.startswith(stem)
    }
    if directories_outside and table.partition_columns:
        check_partition_locations(table, directories_outside.items(), context)
    check_partitions_apart(table, directories, context)
