"""What a transaction may change, as values. ``Transaction.commit`` applies them in order, all or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Cube, DataFile, Fact, PartitionValues, Table, View


@dataclass(frozen=True)
class CreateObject:
    """A new table, view, cube or fact, whose id comes from ``Transaction.allocate_id``.

    A fact takes over its storage tables: each of their partitions must be named as one of its layouts says, and their
    timelines are built from what exists, outdated rollups included.
    """

    object: Table | View | Cube | Fact


@dataclass(frozen=True)
class DropObject:
    """The end of a table that no fact uses, a view, a cube without facts, or a fact (whose tables stay)."""

    object: Table | View | Cube | Fact


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
    """

    table: Table
    write_id: int
    partitions: tuple[PartitionWrite, ...]
    overwrite: bool
    wipes: tuple[KeyRange, ...] = ()
    if_not_exists: bool = False


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
class AlterTable:
    """Sets properties of a table and takes others away, whatever else changes meanwhile; an absent one is no error.

    Partitions, rollups and their freshness stay as they are. Where the table then says that its timelines are not
    there, those of its fact are rebuilt for it, and it says that they are.
    """

    table: Table
    set: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()


@dataclass(frozen=True)
class RefreshTimelines:
    """Builds the timelines of a fact anew from its partitions; ``Transaction.differences`` tells what stood wrong."""

    fact: Fact


Change = CreateObject | DropObject | AlterTable | RefreshTimelines | WritePartitions | AddPartitions | DropPartitions
