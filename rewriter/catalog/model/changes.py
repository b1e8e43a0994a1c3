"""The changes of a transaction, as values. ``Transaction.commit`` applies them in order, all or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.errors import IntegrityError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.key_ranges import KeyRange
    from rewriter.catalog.model.objects import (
        CatalogProperties,
        ClusterLocation,
        Column,
        Cube,
        DataFile,
        Fact,
        Function,
        Namespace,
        PartitionValues,
        Storage,
        Table,
        View,
    )
    from rewriter.catalog.model.origins import Origins
    from rewriter.catalog.model.proofs import NetProof


@dataclass(frozen=True)
class CreateObject:
    """A new database, table, view, cube, fact or function, whose id comes from ``Transaction.allocate_id``.

    The database in front of its name must exist.

    A fact takes over its storage tables: the name of each partition must match one of its layouts, and their timelines
    are built from the existing partitions, outdated rollups included.
    """

    object: Table | View | Cube | Fact | Function | Namespace | CatalogProperties


@dataclass(frozen=True)
class DropObject:
    """The end of a table that no fact uses, a view, a cube without facts, a fact (whose tables stay), a function, or an
    empty database.
    """

    object: Table | View | Cube | Fact | Function | Namespace | CatalogProperties


@dataclass(frozen=True)
class RenameObject:
    """A new name for a table that no fact uses, or a view; id, partitions and files stay.

    It conflicts with every write to the table that began before: a statement with the old name starts again.
    """

    object: Table | View
    name: str


@dataclass(frozen=True)
class SetCatalogProperty:
    """A property of the catalog gets a value; ``None`` removes it. It conflicts with every concurrent change of a
    property.
    """

    name: str
    value: str | None


@dataclass(frozen=True)
class AlterDatabase:
    """Another comment, location or other properties of a database, under its id, as ``database`` has them.

    The location concerns tables that are created later. It conflicts with every concurrent change of the database.
    """

    database: Namespace


@dataclass(frozen=True)
class PartitionWrite:
    """One partition as a write leaves or makes it: canonical values, the files that the write added.

    ``location`` is an absolute directory other than the default one; ``None`` keeps the previous one. ``properties``
    are added to the partition's properties, by a write that changes the partition. The property
    ``time_binding.UPDATE_PERIOD`` names its update period: it must be the period that the layout reads from the values,
    or the commit raises ``DataError`` INVALID_TIME_PARTITION.

    ``is_new`` says that the partition was dropped first: location and properties of the previous one are gone.
    """

    values: PartitionValues
    files: tuple[DataFile, ...] = ()
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    is_new: bool = False


@dataclass(frozen=True)
class WritePartitions:
    """An INSERT. ``write_id`` comes from ``Transaction.write_id(table)``; each partition is named once.

    ``overwrite`` replaces the content of the partitions written; otherwise files are added. ``wipes`` (with
    ``overwrite`` only) also removes all other partitions of these ranges, as Spark's static mode does.
    ``if_not_exists`` makes a partition that exists at commit a ``ConflictError``. An unpartitioned table has the one
    partition ``()``. Files given for an external table are not recorded: its readers list its directories.

    ``sources`` and ``unproven`` are as in ``Transaction.commit`` and, if given, replace the commit's ``sources`` and
    ``unproven``: they are the reads of this write's query alone. ``doubt`` is the reason, in words, why no rollup is
    proven by them.

    ``proofs`` are the proofs of partitions that several statements of a transaction made; they replace what would
    follow from the sources.

    ``batch`` is the batch of a stream whose rows these are; a ``CommitBatch`` follows in the same commit. If the table
    has a ``PartitionCommitRule``, the partitions that such a write makes are open until the rule commits them.

    ``origins`` are the contents of other facts that the query has read, for partitions that are no rollups of the
    tables that it read. With ``keeps_time``, the rows of each partition come from its own time alone.
    """

    table: Table
    write_id: int
    partitions: tuple[PartitionWrite, ...]
    overwrite: bool
    wipes: tuple[KeyRange, ...] = ()
    if_not_exists: bool = False
    sources: Mapping[int, Sequence[KeyRange] | None] | None = None
    unproven: frozenset[int] = frozenset()
    doubt: str | None = None
    batch: Batch | None = None
    proofs: Mapping[PartitionValues, NetProof] = field(default_factory=dict)
    origins: Origins = ()
    keeps_time: bool = False


@dataclass(frozen=True)
class AddPartitions:
    """ALTER TABLE … ADD PARTITION: registers partitions, without files. A duplicate in the list counts once.

    ``origins`` are the contents of other facts in which MARK COMPLETE of an INSERT found no rows for the partitions;
    with ``keeps_time`` each rests on its own time alone.
    """

    table: Table
    partitions: tuple[PartitionWrite, ...]
    if_not_exists: bool = False
    origins: Origins = ()
    keeps_time: bool = False


@dataclass(frozen=True)
class DropPartitions:
    """ALTER TABLE … DROP PARTITION of the partitions with these keys. For a base table it is retention.

    ``ranges`` are the searched keys: a concurrent write there is a conflict. ``passing`` are partitions that the
    transaction has made and removed again: they leave a tombstone, an event for rollups, as their content was one.
    """

    table: Table
    keys: tuple[bytes, ...]
    ranges: tuple[KeyRange, ...] = ()
    passing: tuple[PartitionValues, ...] = ()


@dataclass(frozen=True)
class PartitionMove:
    """The target of a moved partition: from its key to canonical values; ``location`` is its new custom location."""

    key: bytes
    values: PartitionValues
    location: str | None = None


@dataclass(frozen=True)
class MovePartitions:
    """ALTER TABLE … RENAME PARTITION (``source`` is ``target``) or EXCHANGE PARTITION (it is another table).

    Files, statistics and properties follow; no file is touched. A partition that moves to another table leaves its
    table as with DROP PARTITION. A renamed one leaves nothing under its old name, like an OVERWRITE without rows: its
    rows have another time now, and a rollup of the old one must not count them once more. ``source_ranges`` and
    ``target_ranges`` are the searched keys: a concurrent write there is a conflict.
    """

    source: Table
    target: Table
    moves: tuple[PartitionMove, ...]
    source_ranges: tuple[KeyRange, ...] = ()
    target_ranges: tuple[KeyRange, ...] = ()


@dataclass(frozen=True)
class TruncatePartitions:
    """TRUNCATE TABLE: empties these partitions of a managed table. For rollups that is a wipe.

    ``ranges`` are the searched keys: a concurrent write there is a conflict.
    """

    table: Table
    keys: tuple[bytes, ...]
    ranges: tuple[KeyRange, ...] = ()


@dataclass(frozen=True)
class PartitionAlteration:
    """The changes of one partition: a location that is not ``None``, properties that are added, and properties that are
    removed. ``has_other_files`` says of a partition of an external table that others have changed its files.
    """

    key: bytes
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    has_other_files: bool = False


@dataclass(frozen=True)
class AlterPartitions:
    """ALTER TABLE … [PARTITION …] SET LOCATION, SET SERDE, …: content, statistics and freshness stay as they were, but
    for partitions of external tables that get another location or have other files.

    ``ranges`` are keys that no other transaction may write meanwhile, besides the partitions themselves.
    """

    table: Table
    alterations: tuple[PartitionAlteration, ...]
    ranges: tuple[KeyRange, ...] = ()


@dataclass(frozen=True)
class AlterTable:
    """Sets properties of a table and removes others, independently of concurrent changes; a missing one is no error.

    Partitions, rollups and their freshness stay as they are. If the table then says that its timelines are not present,
    the timelines of its fact are rebuilt for it, and the table says that they are present. ``location`` is the new
    absolute directory of an external table; ``AlterPartitions`` in the same commit sets the locations of its
    partitions. The property ``comment`` is the table's comment.
    """

    table: Table
    set: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    location: str | None = None


@dataclass(frozen=True)
class AlterColumns:
    """New data columns behind the data columns of a table, other names, comments, defaults, wider types, and fewer data
    columns.

    ``comments`` are by column, in the spelling of the table; ``None`` is the table itself. ``types`` are by data
    column: every value in existing files is one of the new type. New columns and types conflict with concurrent writes
    of the table, and concurrent changes of its columns: the first commit wins. Existing files have NULL in new columns;
    partitions, rollups and their freshness stay as they are. No fact may use a column whose type changes. ``defaults``
    are by data column; ``None`` removes one. They concern later inserts only, and so do ``nullable``, the columns that
    are NOT NULL no more.

    ``renamed`` are the new names of data columns; their values in files keep the stored name. ``dropped`` are data
    columns that the table no longer has. Both conflict as new columns do. No fact may use such a column: that of a cube
    whose change comes first in the same commit uses the new name. ``judged`` is the fact of a RAW table, as it is then:
    its expressions were found to read none of these columns.
    """

    table: Table
    added: tuple[Column, ...] = ()
    comments: Mapping[str | None, str | None] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str | None] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    judged: Fact | None = None
    nullable: tuple[str, ...] = ()

    @property
    def alters_reads(self) -> bool:
        """True if queries and writers see other columns than before."""
        return bool(self.added or self.types or self.renamed or self.dropped)


@dataclass(frozen=True)
class SetTrusted:
    """The owner's guarantee that the rollups of one of a fact's tables are right, given or taken away. The timelines
    are judged again: without the guarantee, the proofs of the partitions count.
    """

    fact: Fact
    table: Table
    trusted: bool


@dataclass(frozen=True)
class AcceptPartitions:
    """CHECK FACT … ACCEPT: unproven rollup partitions that equal the base in the transaction's snapshot. ``files`` are
    the digests of the compared files of an external table, by key. A concurrent write of a partition is a conflict.
    """

    table: Table
    keys: tuple[bytes, ...]
    files: Mapping[bytes, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RejectPartitions:
    """CHECK FACT … ACCEPT, and shadow proofs: rollup partitions that differ from the base. ``doubt`` says who found it.
    A concurrent write of one is a conflict.
    """

    table: Table
    keys: tuple[bytes, ...]
    doubt: str


@dataclass(frozen=True)
class SetLateness:
    """A fact's declaration of how late its data may be; ``None`` removes it. Timelines and freshness stay."""

    fact: Fact
    lateness: str | None


@dataclass(frozen=True)
class AlterCube:
    """A cube with more columns, in place of ``cube``, and its facts, in place of those of the same ids.

    Timelines and proofs stay. The partitions of a rollup table that has one more widening lack its columns; that
    conflicts with all concurrent writes of the table. ``AlterColumns`` in the same commit gives it the columns. Raises
    ``ConflictError`` if another transaction has changed the cube or one of its facts, or has made another fact of it.
    ``renamed`` has the new names of columns by the old ones.
    """

    cube: Cube
    altered: Cube
    facts: tuple[tuple[Fact, Fact], ...]
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SetRefreshOnCommit:
    """Sets whether a statement that changes the base of a fact refreshes its rollups. Timelines and freshness stay."""

    fact: Fact
    on_commit: bool


@dataclass(frozen=True)
class SetRetention:
    """Sets how long MAINTAIN FACT keeps the partitions of a table of a fact; ``None`` is for ever. Timelines and
    freshness stay.
    """

    fact: Fact
    table: str
    retain: str | None


@dataclass(frozen=True)
class AlterStorages:
    """New storages of a fact, in place of the storages of ``fact``: tables are added, or leave it.

    A table that is added is judged as by CREATE FACT. Its base partitions are events for the rollups of other tables,
    which otherwise stay as they are. Raises the errors of ``CreateObject`` for a fact.
    """

    fact: Fact
    storages: tuple[Storage, ...]


@dataclass(frozen=True)
class RefreshTimelines:
    """Rebuilds the timelines of a fact from its partitions; ``Transaction.differences`` are the corrections."""

    fact: Fact


@dataclass(frozen=True)
class Counted:
    """The result of ANALYZE for one partition whose content the commit number ``commit`` wrote.

    ``rows`` corrects the number of its rows, unless ``None``; ``properties`` are added to its properties.
    """

    key: bytes
    commit: int
    rows: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NoteStatistics:
    """ANALYZE: statistics of partitions. Content, timelines and freshness stay, and it conflicts with nothing.

    A partition that has other content at commit, or was dropped, does not change.
    """

    table: Table
    partitions: tuple[Counted, ...]


@dataclass(frozen=True)
class ListedPartition:
    """The digests of an external partition's files: before and after a statement read them.

    ``before`` is ``None`` if its files were written; ``after`` if they were not listed since.
    """

    key: bytes
    before: str | None
    after: str | None


@dataclass(frozen=True)
class NoteFiles:
    """The listed files of partitions of an external table of a fact.

    A partition has new content if its files differ from those noted before, or were written or changed meanwhile:
    rollups over a base partition are outdated, a rollup partition is unproven. For all other base partitions the digest
    is kept. It conflicts with nothing; dropped partitions, rollups that were never accepted, and tables of no fact, do
    not change.
    """

    table: Table
    partitions: tuple[ListedPartition, ...]


@dataclass(frozen=True)
class SetClusters:
    """Other descriptors of a table: its primary cluster, and its secondary ones. ``primary`` is ``None`` if the primary
    cluster stays.

    ``cluster`` is the primary cluster of a table that names none. The table does not follow the default one any more.
    A new primary cluster must have copies of all partitions. Then the copies become the files of the table, its
    location is the copies' location, and the previous files become copies of the previous primary cluster. The copies
    of clusters that are no longer secondary ones are given up.

    ``previous`` is the name of the cluster that was the primary one until now, in the descriptor that it gets.
    """

    table: Table
    copies: tuple[ClusterLocation, ...]
    cluster: str | None = None
    primary: str | None = None
    previous: str | None = None


@dataclass(frozen=True)
class CopiedPartition:
    """A partition that was copied: the commit of its content, the paths of its files on the primary cluster, and their
    copies.
    """

    key: bytes
    commit: int
    originals: tuple[str, ...]
    files: tuple[DataFile, ...]


@dataclass(frozen=True)
class AddCopies:
    """REPLICATE, or ADD CLUSTER over files that are there: partitions that a secondary cluster now has, whole.

    A partition whose files differ at commit from the copied ones, or that was dropped, is left out
    (``Transaction.stale_copies``). The copies that a partition had before are given up. It conflicts with nothing.

    ``were_there`` says that the copies were not made for this change. A file that the catalog gave up once is not taken
    again: VACUUM may be removing it.
    """

    table: Table
    cluster: str
    write_id: int
    partitions: tuple[CopiedPartition, ...]
    were_there: bool = False


@dataclass(frozen=True)
class DropCopies:
    """The end of the copies of partitions on a secondary cluster. ``keys`` is ``None`` for all. Files stay until
    VACUUM.
    """

    table: Table
    cluster: str
    keys: tuple[bytes, ...] | None = None


@dataclass(frozen=True)
class CompactedPartition:
    """The files of one partition that were read, by their paths, and the compacted files."""

    key: bytes
    replaced: tuple[str, ...]
    files: tuple[DataFile, ...]


@dataclass(frozen=True)
class CompactPartitions:
    """COMPACT. ``write_id`` comes from ``Transaction.write_id(table)``.

    Content, timelines and freshness stay as they are. It conflicts only with a write that replaces the files that it
    read: files that were added in the meantime stay in addition to the compacted ones.
    """

    table: Table
    write_id: int
    partitions: tuple[CompactedPartition, ...]


@dataclass(frozen=True)
class CommitBatch:
    """The note that a batch of rows is committed, together with the writes of the same commit. It also commits the open
    partitions of the table that are due.

    Raises ``ConflictError`` BATCH_COMMITTED for a batch that was committed before, and the errors of
    ``batches.is_committed``.
    """

    table: Table
    batch: Batch


@dataclass(frozen=True)
class CommitPartitions:
    """The commit of open partitions: the partitions of ``keys``, or, with ``None``, the partitions that are due by the
    table's ``PartitionCommitRule``. Partitions that are not open stay as they are. It conflicts with nothing.
    """

    table: Table
    keys: tuple[bytes, ...] | None = None


#: Changes of objects and of properties of the catalog: no partition gets other content, and none moves.
DefinitionChange = (
    CreateObject
    | DropObject
    | RenameObject
    | SetCatalogProperty
    | AlterDatabase
    | AlterTable
    | AlterColumns
    | SetLateness
    | AlterCube
    | SetRefreshOnCommit
    | SetRetention
    | SetTrusted
    | AlterStorages
    | RefreshTimelines
    | SetClusters
)

#: Changes of which partitions a table has, and of their rows.
ContentChange = WritePartitions | AddPartitions | DropPartitions | MovePartitions | TruncatePartitions

#: Changes of what the catalog knows of partitions: judgements, statistics, files, copies, commits of batches.
PartitionNote = (
    AcceptPartitions
    | RejectPartitions
    | AlterPartitions
    | NoteStatistics
    | NoteFiles
    | CompactPartitions
    | AddCopies
    | DropCopies
    | CommitBatch
    | CommitPartitions
)

#: A new kind belongs to one of the three; each dispatch ends in ``assert_never``: mypy names a dispatch that misses it.
Change = DefinitionChange | ContentChange | PartitionNote


# Batches of rows that are committed at most once: by a stream, or under an id that the writer chose.


@dataclass(frozen=True)
class Batch:
    """The identity of a batch of rows within its table.

    A batch of a stream has the stream's id, the id of its checkpoint, and its number, from 0 on, as ``id``. Other
    batches have an ``id`` alone. ``event_time`` is the greatest time of the batch's rows, in microseconds since 1970,
    if it is known better than by the periods of their partitions.

    Example: ``Batch("7", "clicks", "0b6f…")`` is the eighth batch of the stream ``clicks``.
    """

    id: str
    stream: str = ""
    checkpoint: str = ""
    event_time: int | None = field(default=None, compare=False)


def is_committed(batch: Batch, last: Batch | None) -> bool:
    """Returns whether a stream's batch was committed before. ``last`` is the last batch that the catalog has of the
    stream in the table; ``None`` for no batch.

    Raises ``IntegrityError``: STREAM_CHECKPOINT_RESET if the stream had another checkpoint, whose batches hold rows
    that this one may bring again; STREAM_BATCH_GAP if batches between the two were not committed, so that their rows
    are lost.
    """
    number = int(batch.id)
    if last is not None and last.checkpoint != batch.checkpoint:
        raise IntegrityError(
            f"The stream {batch.stream} has committed {int(last.id) + 1} batches from another checkpoint. A new "
            "checkpoint would load their rows again.",
            condition="STREAM_CHECKPOINT_RESET",
            object=batch.stream,
            hint="Use the old checkpoint directory. To load everything again, use another stream id.",
        )
    next_number = 0 if last is None else int(last.id) + 1
    if number > next_number:
        raise IntegrityError(
            f"The checkpoint continues with batch {number}, but the table expects batch {next_number} of the stream "
            f"{batch.stream}: the rows between them are not in the table.",
            condition="STREAM_BATCH_GAP",
            object=batch.stream,
            hint="The table was restored or created again, or the checkpoint belongs to another table. Start with a "
            "new checkpoint directory and another stream id.",
        )
    return number < next_number
