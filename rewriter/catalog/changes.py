"""What a transaction may change, as values. ``Transaction.commit`` applies them in order, all or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Column, Cube, DataFile, Fact, Namespace, PartitionValues, Table, View


@dataclass(frozen=True)
class CreateObject:
    """A new database, table, view, cube or fact, whose id comes from ``Transaction.allocate_id``.

    The database that a name has before it must be there.

    A fact takes over its storage tables: each of their partitions must be named as one of its layouts says, and their
    timelines are built from what exists, outdated rollups included.
    """

    object: Table | View | Cube | Fact | Namespace


@dataclass(frozen=True)
class DropObject:
    """The end of a table that no fact uses, a view, a cube without facts, a fact (whose tables stay), or a database in
    which nothing is left.
    """

    object: Table | View | Cube | Fact | Namespace


@dataclass(frozen=True)
class RenameObject:
    """Another name for a table that no fact uses, or a view; id, partitions and files stay.

    It meets every write to the table that its writer began before: who names a table by its old name starts again.
    """

    object: Table | View
    name: str


@dataclass(frozen=True)
class PartitionWrite:
    """One partition as a write leaves or makes it: canonical values, the files that the write added.

    ``location`` is an absolute directory where it is not the default one; ``None`` keeps what was. ``properties`` are
    added to those that the partition has, by a write that changes the partition. The property ``binding.UPDATE_PERIOD``
    names its update period: what the layout reads from the values must be the same, or the commit raises ``DataError``
    INVALID_TIME_PARTITION.
    """

    values: PartitionValues
    files: tuple[DataFile, ...] = ()
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WritePartitions:
    """An INSERT. ``write_id`` comes from ``Transaction.write_id(table)``; each partition is named once.

    ``overwrite`` replaces the content of the partitions written; otherwise files are added. ``wipes`` (with
    ``overwrite`` only) also removes all other partitions of these ranges, as Spark's static mode does.
    ``if_not_exists`` makes a partition that exists at commit a ``ConflictError``. An unpartitioned table has the one
    partition ``()``. Files given for an external table are not kept: its directories are listed by who reads it.

    ``sources`` and ``unproven`` are as in ``Transaction.commit`` and stand, where given, in the place of those of the
    commit: what the query of this write alone has read.
    """

    table: Table
    write_id: int
    partitions: tuple[PartitionWrite, ...]
    overwrite: bool
    wipes: tuple[KeyRange, ...] = ()
    if_not_exists: bool = False
    sources: Mapping[int, Sequence[KeyRange] | None] | None = None
    unproven: frozenset[int] = frozenset()


@dataclass(frozen=True)
class AddPartitions:
    """ALTER TABLE … ADD PARTITION: registers partitions, without files. A repetition in the list counts once."""

    table: Table
    partitions: tuple[PartitionWrite, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropPartitions:
    """ALTER TABLE … DROP PARTITION of the partitions with these keys. Of a base table it is retention.

    ``ranges`` is where they were looked for: another's write there, seen by neither, is a conflict.
    """

    table: Table
    keys: tuple[bytes, ...]
    ranges: tuple[KeyRange, ...] = ()


@dataclass(frozen=True)
class PartitionMove:
    """Where a partition goes: from its key to canonical values; ``location`` is a custom one that it then has."""

    key: bytes
    values: PartitionValues
    location: str | None = None


@dataclass(frozen=True)
class MovePartitions:
    """ALTER TABLE … RENAME PARTITION (``source`` is ``target``) or EXCHANGE PARTITION (it is another table).

    Files, statistics and properties follow; no file is touched. A partition that left another table
    is gone from it as DROP PARTITION leaves it; one that was renamed leaves nothing under its old name, as an OVERWRITE
    without rows does: its rows have another time now, and a rollup of the old one must not count them once more.
    ``source_ranges`` and ``target_ranges`` are where partitions were looked for: another's write there is a conflict.
    """

    source: Table
    target: Table
    moves: tuple[PartitionMove, ...]
    source_ranges: tuple[KeyRange, ...] = ()
    target_ranges: tuple[KeyRange, ...] = ()


@dataclass(frozen=True)
class TruncatePartitions:
    """TRUNCATE TABLE: these partitions of a managed table stay and hold nothing. To rollups that is a wipe.

    ``ranges`` is where they were looked for: another's write there, seen by neither, is a conflict.
    """

    table: Table
    keys: tuple[bytes, ...]
    ranges: tuple[KeyRange, ...] = ()


@dataclass(frozen=True)
class PartitionAlteration:
    """What changes of one partition besides its content: a location that is not ``None``, properties that are added."""

    key: bytes
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AlterPartitions:
    """ALTER TABLE … [PARTITION …] SET LOCATION, SET SERDE, …: content, statistics and freshness stay as they were.

    ``ranges`` is what no other transaction may write meanwhile, besides the partitions themselves.
    """

    table: Table
    alterations: tuple[PartitionAlteration, ...]
    ranges: tuple[KeyRange, ...] = ()


@dataclass(frozen=True)
class AlterTable:
    """Sets properties of a table and takes others away, whatever else changes meanwhile; an absent one is no error.

    Partitions, rollups and their freshness stay as they are. Where the table then says that its timelines are not
    there, those of its fact are rebuilt for it, and it says that they are. ``location`` is a new one, an absolute
    directory, of an external table; ``AlterPartitions`` in the same commit tells where its partitions are left.
    """

    table: Table
    set: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    location: str | None = None


@dataclass(frozen=True)
class AlterColumns:
    """New data columns behind those of a table, and other comments.

    ``comments`` are by column, in the spelling of the table, and for ``None`` that of the table itself. New columns
    conflict with whoever writes the table, or alters its columns, meanwhile: the first to commit wins. Files that are
    there already say NULL in new columns; partitions, rollups and their freshness stay as they are.
    """

    table: Table
    added: tuple[Column, ...] = ()
    comments: Mapping[str | None, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class RefreshTimelines:
    """Builds the timelines of a fact anew from its partitions; ``Transaction.differences`` tells what stood wrong."""

    fact: Fact


@dataclass(frozen=True)
class Counted:
    """What ANALYZE found of one partition whose content the commit number ``commit`` wrote.

    ``rows`` corrects the number of its rows, unless ``None``; ``properties`` are added to those that it has.
    """

    key: bytes
    commit: int
    rows: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NoteStatistics:
    """ANALYZE: figures of partitions. Content, timelines and freshness stay as they are, and it conflicts with nothing.

    A partition that has other content by the time of the commit, or is gone, stays as it is.
    """

    table: Table
    partitions: tuple[Counted, ...]


@dataclass(frozen=True)
class CompactedPartition:
    """The files of one partition that were read, by their paths, and those that were written of them."""

    key: bytes
    replaced: tuple[str, ...]
    files: tuple[DataFile, ...]


@dataclass(frozen=True)
class CompactPartitions:
    """COMPACT. ``write_id`` comes from ``Transaction.write_id(table)``.

    Content, timelines and freshness stay as they are. It conflicts with who replaces the files that it read, and with
    nobody else: what was added meanwhile stays beside what it wrote.
    """

    table: Table
    write_id: int
    partitions: tuple[CompactedPartition, ...]


Change = (
    CreateObject
    | DropObject
    | RenameObject
    | AlterTable
    | AlterColumns
    | RefreshTimelines
    | WritePartitions
    | AddPartitions
    | DropPartitions
    | MovePartitions
    | TruncatePartitions
    | AlterPartitions
    | NoteStatistics
    | CompactPartitions
)
